package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"
)

// Checker runs commands and compares.
type Checker struct {
	Under string // what goes in the place of {}
	Limit time.Duration
}

// absolute makes the first word of a command a full path if it is one at all.
func absolute(command string) string {
	first, rest, _ := strings.Cut(command, " ")
	if strings.Contains(first, "/") {
		if path, err := filepath.Abs(first); err == nil {
			first = path
		}
	}
	return strings.TrimSpace(first + " " + rest)
}

// outcome is how a run ended and what it left: parts by name, which are the streams and the files.
type outcome struct {
	status   string // "exit 0", "signal 11", "timeout"
	parts    map[string]string
	reports  int // that Marple has written
	duration time.Duration
}

// run runs a command in a directory of its own.
func (c Checker) run(command Command, measured bool) (o outcome, err error) {
	directory, err := os.MkdirTemp("", "neutral-")
	if err != nil {
		return o, err
	}
	defer os.RemoveAll(directory)
	work, runs := filepath.Join(directory, "work"), filepath.Join(directory, "run")
	if err := os.Mkdir(work, 0o777); err != nil {
		return o, err
	}
	for _, pattern := range command.Copy {
		files, err := filepath.Glob(os.Expand(pattern, command.variable))
		if err == nil && len(files) == 0 {
			err = errors.New("no such file")
		}
		if err != nil {
			return o, fmt.Errorf("%%copy %s: %w", pattern, err)
		}
		for _, file := range files {
			if err := copyFile(file, filepath.Join(work, filepath.Base(file))); err != nil {
				return o, err
			}
		}
	}
	line, under := command.Line, ""
	if measured {
		under = c.Under
	}
	if strings.Contains(line, placeholder) {
		line = strings.ReplaceAll(line, placeholder, under)
	} else {
		line = under + " " + line
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.Limit)
	defer cancel()
	shell := exec.CommandContext(ctx, "/bin/sh", "-c", "exec "+line)
	shell.Dir = work
	shell.Env = append(os.Environ(), "MARPLE_OUT="+runs, "MARPLE_FULL=on", "EACH="+command.Each, "EACHDIR="+filepath.Dir(command.Each), "PWD="+work)
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	shell.Cancel = func() error { return syscall.Kill(-shell.Process.Pid, syscall.SIGKILL) }
	shell.WaitDelay = 5 * time.Second
	var stdout, stderr bytes.Buffer
	shell.Stdout, shell.Stderr = &stdout, &stderr
	begin := time.Now()
	err = shell.Run()
	o.duration = time.Since(begin)
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		o.status = "timeout"
	case err == nil:
		o.status = "exit 0"
	case errors.As(err, &exit):
		o.status = fmt.Sprintf("exit %d", exit.ExitCode())
		if status := exit.Sys().(syscall.WaitStatus); status.Signaled() {
			o.status = fmt.Sprintf("signal %d", status.Signal())
		}
	default:
		return o, err
	}
	o.parts = map[string]string{"stdout": stdout.String(), "stderr": stderr.String()}
	if measured {
		o.leaveOutMarple(runs)
	}
	if err := o.readFiles(work); err != nil {
		return o, err
	}
	for name, text := range o.parts {
		text = strings.ReplaceAll(text, directory, "DIRECTORY")
		for _, expression := range command.Drop {
			text = dropLines(text, expression)
		}
		for _, expression := range command.Mask {
			text = expression.ReplaceAllString(text, "#")
		}
		o.parts[name] = text
	}
	return o, nil
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// again is how a report says that a run is to be repeated: with the program's arguments where it is printed, without where it is kept.
var again = regexp.MustCompile(`(?m)^ +mpirun -n [0-9]+ marple exec (?:.*\\\n)*.*\n`)

// leaveOutMarple takes the reports, which are also in the run directories, and Marple's own lines out of
// what was written.
func (o *outcome) leaveOutMarple(runs string) {
	reports, _ := filepath.Glob(runs + "*/report.txt")
	for _, file := range reports {
		report, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		o.reports++
		pieces := again.Split(string(report), 2)
		for i, text := range pieces {
			pieces[i] = regexp.QuoteMeta(text)
		}
		printed := regexp.MustCompile(strings.Join(pieces, again.String()))
		for _, stream := range []string{"stdout", "stderr"} {
			if at := printed.FindStringIndex(o.parts[stream]); at != nil {
				o.parts[stream] = o.parts[stream][:at[0]] + o.parts[stream][at[1]:]
			}
		}
	}
	o.parts["stderr"] = dropLines(o.parts["stderr"], regexp.MustCompile(`^marple: `))
}

func dropLines(text string, expression *regexp.Regexp) string {
	var kept []string
	for _, line := range strings.SplitAfter(text, "\n") {
		if !expression.MatchString(strings.TrimSuffix(line, "\n")) {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}

// mostOfFile bounds what is kept of a file to compare; of longer ones the size is compared too.
const mostOfFile = 16 << 20

func (o *outcome) readFiles(directory string) error {
	return filepath.WalkDir(directory, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		defer file.Close()
		text, err := io.ReadAll(io.LimitReader(file, mostOfFile))
		if err != nil {
			return err
		}
		if info, err := file.Stat(); err == nil && info.Size() > mostOfFile {
			text = fmt.Appendf(text, "\n%d bytes", info.Size())
		}
		name, err := filepath.Rel(directory, path)
		o.parts["file "+name] = string(text)
		return err
	})
}

// A level is a way to look at texts so that some differences do not count.
type level struct {
	name string
	view func(string) string
}

var levels = []level{
	{"every byte", func(text string) string { return text }},
	{"lines in any order", sortLines},
	{"but for numbers", func(text string) string { return sortLines(maskNumbers(text)) }},
}

// statusOnly is the level below all others.
var statusOnly = len(levels)

func sortLines(text string) string {
	lines := strings.Split(text, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

var (
	number = regexp.MustCompile(`[-+]?(0x[0-9a-fA-F]+|[0-9]+(\.[0-9]*)?([eEdD][-+]?[0-9]+)?|\b(nan|inf)\b)`)
	blanks = regexp.MustCompile(`[ \t]+`)
	dots   = regexp.MustCompile(`#(#|\.)+`)
)

func maskNumbers(text string) string {
	if !utf8.ValidString(text) { // binary: its size is what can be told
		return fmt.Sprintf("%d bytes", len(text))
	}
	return blanks.ReplaceAllString(dots.ReplaceAllString(number.ReplaceAllString(text, "#"), "#"), " ")
}

// differing lists the parts that two runs do not agree on at a level.
func differing(a, b outcome, at level) []string {
	var names []string
	for name, text := range a.parts {
		other, both := b.parts[name]
		if !both || text != other && at.view(text) != at.view(other) {
			names = append(names, name)
		}
	}
	for name := range b.parts {
		if _, both := a.parts[name]; !both {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Result is what became of one command.
type Result struct {
	Skipped  string // why
	Err      error
	Level    int // in levels, or statusOnly
	Status   [2]string
	Parts    []string // in which the measured run differs
	Reports  int
	Duration [2]time.Duration
	Details  string
}

// Same tells whether nothing differs.
func (r Result) Same() bool { return r.Err == nil && r.Status[0] == r.Status[1] && len(r.Parts) == 0 }

// attempts is how often a command is tried whose measured run writes something else than its bare ones: that these agree
// about times, or the order in which ranks speak, may be chance. What Marple changes, it changes each time.
const attempts = 4

// Check runs one command.
func (c Checker) Check(command Command) (r Result) {
	for range attempts {
		if r = c.once(command); len(r.Parts) == 0 || r.Status[0] != r.Status[1] {
			break
		}
	}
	return r
}

func (c Checker) once(command Command) (r Result) {
	if missing := command.Missing(); missing != "" {
		r.Skipped = missing + " is not here"
		return r
	}
	var runs [3]outcome
	for i, measured := range []bool{false, true, false} {
		if runs[i], r.Err = c.run(command, measured); r.Err != nil {
			return r
		}
	}
	bare, measured, again := runs[0], runs[1], runs[2]
	r.Reports, r.Duration = measured.reports, [2]time.Duration{min(bare.duration, again.duration), measured.duration}
	r.Status = [2]string{bare.status, measured.status}
	if bare.status != again.status {
		r.Err = fmt.Errorf("ends differently by itself: %s, %s", bare.status, again.status)
		return r
	}
	for r.Level < statusOnly && len(differing(bare, again, levels[r.Level])) > 0 {
		r.Level++
	}
	if r.Level < statusOnly {
		if r.Parts = differing(bare, measured, levels[r.Level]); len(r.Parts) > 0 {
			name := r.Parts[0]
			r.Details = fmt.Sprintf("bare:\n%s\nmeasured:\n%s\n", bare.parts[name], measured.parts[name])
		}
	}
	return r
}

// Table checks all commands, prints a line for each and a verdict at the end; true if all are the same.
func (c Checker) Table(out io.Writer, commands []Command, verbose bool) bool {
	same, skipped, loose := 0, 0, 0
	fmt.Fprintf(out, "%-50s %-10s %-18s %8s %8s %8s  %s\n", "command", "status", "compared", "bare", "measured", "reports", "")
	for _, command := range commands {
		r := c.Check(command)
		title := []rune(command.Title())
		if len(title) > 50 {
			title = append([]rune("…"), title[len(title)-49:]...)
		}
		fmt.Fprintf(out, "%-50s ", string(title))
		switch {
		case r.Skipped != "":
			skipped++
			fmt.Fprintf(out, "skipped: %s\n", r.Skipped)
			continue
		case r.Err != nil:
			fmt.Fprintf(out, "FAILED: %v\n", r.Err)
			continue
		}
		compared := "status only"
		if r.Level < statusOnly {
			compared = levels[r.Level].name
		} else {
			loose++
		}
		verdict := "same"
		switch {
		case r.Status[0] != r.Status[1]:
			verdict = fmt.Sprintf("DIFFERS: %s instead of %s", r.Status[1], r.Status[0])
		case len(r.Parts) > 0:
			verdict = "DIFFERS: " + strings.Join(r.Parts, ", ")
		default:
			same++
		}
		fmt.Fprintf(out, "%-10s %-18s %7.2fs %7.2fs %8d  %s\n", r.Status[0], compared, r.Duration[0].Seconds(), r.Duration[1].Seconds(), r.Reports, verdict)
		if verbose && r.Details != "" {
			fmt.Fprint(out, r.Details)
		}
	}
	fmt.Fprintf(out, "\n%d of %d commands are the same", same, len(commands)-skipped)
	if skipped > 0 {
		fmt.Fprintf(out, "; %d skipped", skipped)
	}
	if loose > 0 {
		fmt.Fprintf(out, "; of %d nothing but the exit status can be compared", loose)
	}
	fmt.Fprintln(out)
	return same == len(commands)-skipped
}
