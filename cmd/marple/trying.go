package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/goccy/go-json"
	"github.com/spf13/cobra"

	"marple/analysis/assemble"
	"marple/analysis/pipeline"
	"marple/analysis/run"
	"marple/analysis/words"
	"marple/cmd/launch"
)

// trying is what marple assemble does with runs, whatever differs between them: each is in runs/NAME of a directory, with what it
// prints beside it.
type trying struct {
	c               *cobra.Command
	out, verify     string
	within, longest time.Duration
	dry             bool
	began           time.Time
	rule            *ruleFlags
	first           time.Duration // that the first run took
	original        string        // file with what that one has printed; "": it has not run
}

func (a *trying) say(format string, arguments ...any) {
	fmt.Fprintf(a.c.ErrOrStderr(), "marple: "+format+"\n", arguments...)
}

func (a *trying) path(name ...string) string {
	return filepath.Join(append([]string{a.out}, name...)...)
}

// before is what was done in the directory for the same question; nil: nothing. what is asked of another one.
func (a *trying) before(digest, what string) (*assembleState, error) {
	data, err := os.ReadFile(a.path("state.json"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	state := &assembleState{}
	if err == nil {
		err = json.Unmarshal(data, state)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", a.path("state.json"), err)
	}
	if state.Digest != digest {
		return nil, fmt.Errorf("%s belongs to another %s; give another -o, or remove it", a.out, what)
	}
	return state, nil
}

func (a *trying) save(state *assembleState) error {
	data, err := json.MarshalIndent(state, "", " ")
	if err != nil {
		return err
	}
	return run.WriteFile(a.path("state.json"), data)
}

// late tells whether the time is up: whether another run, as long as the first, would end behind --within.
func (a *trying) late() bool { return a.within > 0 && time.Since(a.began)+a.first > a.within }

// most is for how long a run may go on.
func (a *trying) most() time.Duration {
	switch {
	case a.longest > 0:
		return a.longest
	case a.first > 0:
		return max(10*a.first, time.Minute)
	}
	return 0
}

// execute runs a command under Marple, with further variables in its environment.
func (a *trying) execute(ctx context.Context, name string, line []string, environment map[string]string) error {
	directory := a.path("runs", name)
	if err := os.RemoveAll(directory); err != nil {
		return err
	}
	if most := a.most(); most > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, most)
		defer cancel()
	}
	out, err := os.Create(directory + ".out")
	if err != nil {
		return err
	}
	defer out.Close()
	complaints, err := os.Create(directory + ".err")
	if err != nil {
		return err
	}
	defer complaints.Close()
	command := exec.CommandContext(ctx, line[0], line[1:]...)
	command.Stdout, command.Stderr = out, complaints
	// What it has started goes with it.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	command.WaitDelay = 5 * time.Second
	library, err := launch.Library()
	if err != nil {
		return err
	}
	if others := os.Getenv("LD_PRELOAD"); others != "" {
		library += ":" + others
	}
	own := map[string]string{"LD_PRELOAD": library, "MARPLE_OUT": directory, "MARPLE_REPORT": "none", "MARPLE_SITE": "0"}
	maps.Copy(own, environment)
	command.Env = os.Environ()
	for variable, value := range own {
		command.Env = launch.SetVariable(command.Env, variable, value)
	}
	if err := command.Run(); err != nil {
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return fmt.Errorf("it was not done within %v (--longest)", a.most().Round(time.Second))
		}
		return fmt.Errorf("%s: %w: %s (%s)", line[0], err, last(complaints.Name()), complaints.Name())
	}
	if _, err := pipeline.Open(directory); err != nil {
		return fmt.Errorf("nothing was measured: %w", err)
	}
	return a.right(ctx, out.Name())
}

// right asks --verify whether what was printed is right; the command finds what the first run has printed in $MARPLE_FIRST.
func (a *trying) right(ctx context.Context, printed string) error {
	if a.verify == "" {
		return nil
	}
	in, err := os.Open(printed)
	if err != nil {
		return err
	}
	defer in.Close()
	first := a.original
	if first == "" {
		first = printed
	}
	verify := exec.CommandContext(ctx, "sh", "-c", a.verify)
	verify.Stdin, verify.Env = in, launch.SetVariable(os.Environ(), "MARPLE_FIRST", first)
	if text, err := verify.CombinedOutput(); err != nil {
		return fmt.Errorf("its result is wrong: --verify: %w %s", err, words.Clean(strings.TrimSpace(string(text))))
	}
	return nil
}

// last is the last line of a file that says something, of its last bytes.
func last(path string) string {
	const most = 1 << 14
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.Size() > most {
		_, _ = file.Seek(-most, io.SeekEnd)
	}
	text, _ := io.ReadAll(io.LimitReader(file, most))
	for _, line := range slices.Backward(strings.Split(string(text), "\n")) {
		if strings.Trim(line, "-= \t\r") != "" {
			return words.Clean(strings.TrimSpace(line))
		}
	}
	return ""
}

// ran tells what was run when, for people.
func ran(trials []*assemble.Trial, what func(t *assemble.Trial) string) string {
	var b strings.Builder
	b.WriteString("\nRuns\n")
	for _, t := range trials {
		if t.State == "" || t.Began.IsZero() {
			continue
		}
		state := ""
		if t.State == assemble.Failed {
			state = "failed: "
		}
		head := fmt.Sprintf("  %s %9s  ", t.Began.Local().Format("2006-01-02 15:04:05"), words.Duration(float64(t.Ns)/1e9))
		for _, line := range words.Wrap(words.Clean(t.Name+": "+state+what(t)), 80-words.Width(head)) {
			b.WriteString(head + line + "\n")
			head = strings.Repeat(" ", words.Width(head))
		}
	}
	return b.String()
}
