// Another user of the machine, with an id of his own, in a directory that all may write to: what he lays there before, moves away
// while a program runs, or leaves as a run of his leads nothing of ours out of the run directory.
package harm

import (
	"marple/test/harness"

	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const daemon = 1 // whose files are at stake; nobody is the other one

// users is a place with a directory that all may write to (open), one with files of the first user's (home), and one in which the two
// wait for each other (meet).
type users struct{ open, home, meet string }

func twoUsers(t *testing.T) users {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can be two users")
	}
	if _, err := exec.LookPath("setpriv"); err != nil {
		harness.Missing(t, "setpriv")
	}
	if line := append(as(daemon), "test", "-x", harness.Artifact(t, "marple")); exec.Command(line[0], line[1:]...).Run() != nil {
		t.Skipf("other users may not look into %s", harness.Top)
	}
	place, err := os.MkdirTemp("", "marple-users-") // above the test's own there are directories of root's alone
	require.NoError(t, err)
	t.Cleanup(func() { // a process that has been killed may be in the middle of a system call
		assert.Eventually(t, func() bool { return os.RemoveAll(place) == nil }, time.Minute, 10*time.Millisecond)
	})
	require.NoError(t, os.Chmod(place, 0o755))
	u := users{filepath.Join(place, "open"), filepath.Join(place, "home"), filepath.Join(place, "meet")}
	for _, d := range []string{u.open, u.meet} {
		require.NoError(t, os.Mkdir(d, 0o777))
		require.NoError(t, os.Chmod(d, 0o777))
	}
	victims(t, u.home)
	require.NoError(t, exec.Command("chown", "-R", fmt.Sprintf("%d:%d", daemon, daemon), u.home).Run())
	return u
}

// as is what makes a command one of a user's.
func as(user int) []string {
	return []string{"setpriv", fmt.Sprintf("--reuid=%d", user), fmt.Sprintf("--regid=%d", user), "--clear-groups"}
}

// other does what the other user does in the open directory, as a shell's command.
func (u users) other(t *testing.T, script string) {
	t.Helper()
	r := harness.Command{Directory: u.open, Environment: []string{"HOME_OF=" + u.home}}.Run(t, append(as(nobody), "sh", "-ec", script)...)
	require.Zero(t, r.Code, r.Stderr)
}

// tree is what is in a directory: names, kinds, and where links lead.
func tree(t *testing.T, directory string) string {
	t.Helper()
	out, err := exec.Command("find", directory, "-printf", `%P %y %l %s\n`).Output()
	require.NoError(t, err)
	return string(out)
}

// The links, pipes and directories that the other one makes under the name out.
const everyName = `run.json report.txt report.html replay.bin invocations.parquet`

var laid = map[string]string{
	"a link to the files":      `ln -s $HOME_OF out`,
	"a directory of links":     `mkdir -m 777 out; ln -s $HOME_OF/raw out/raw; for f in ` + everyName + `; do ln -s $HOME_OF/$f out/$f; done`,
	"a directory of its own":   `mkdir -m 777 out out/raw; for f in reporter merged rank-000000.mrl rank-000001.mrl; do ln -s $HOME_OF/raw/$f out/raw/$f; done`,
	"a directory of pipes":     `mkdir -m 777 out out/raw; for f in ` + everyName + ` raw/reporter raw/merged; do mkfifo out/$f; done`,
	"a pipe":                   `mkfifo out`,
	"a link to a new file":     `ln -s $HOME_OF/new out`,
	"a directory of hard ones": `mkdir -m 777 out out/raw; : > out/mine; for f in ` + everyName + `; do ln out/mine out/$f; done`,
}

// What lies there when the run directory is made, or takes its place while the program runs, is not followed, written or removed.
func TestAnotherUser(t *testing.T) {
	harness.Mock.Need(t)
	for name, script := range laid {
		for _, when := range []string{"before", "meanwhile", "before it exits"} {
			t.Run(name+", "+when, func(t *testing.T) {
				u := twoUsers(t)
				program := filepath.Join(u.meet, "swapped")
				data, err := os.ReadFile(harness.Mock.Compile(t, "swapped"))
				require.NoError(t, err)
				require.NoError(t, os.WriteFile(program, data, 0o777))
				before, out := contents(t, u.home), filepath.Join(u.open, "out")
				trick, end := "waits", "finalize"
				if when == "before" {
					u.other(t, script)
					trick = "nothing"
				} else if when == "before it exits" {
					end = "exit"
				}
				theirs := ""
				done, ended := make(chan struct{}), make(chan struct{})
				go func() { // the other one
					defer close(done)
					for when != "before" {
						if _, err := os.Stat(filepath.Join(u.meet, "ready")); err == nil {
							u.other(t, "mv out away; "+script+"; : > "+filepath.Join(u.meet, "go"))
							return
						}
						select {
						case <-ended:
							return
						case <-time.After(time.Millisecond):
						}
					}
				}()
				if when == "before" {
					theirs = tree(t, out)
				}
				line := append(as(daemon), harness.Mock.Launch(2, harness.Artifact(t, "marple"), "exec", "--out", out, "--log", "8", "--", program, out, u.meet, trick, end)...)
				r := harness.Command{Directory: u.home, Environment: []string{"HOME=" + u.home}}.Run(t, line...)
				close(ended)
				<-done
				if end != "exit" { // that is what it is with this launcher
					assert.Zero(t, r.Code, r.Stderr)
				}
				assert.NotContains(t, r.Stderr, "goroutine ")
				assert.NotEmpty(t, r.Said(), "not in silence")
				assert.Equal(t, before, contents(t, u.home))
				if end != "exit" {
					assert.True(t, r.Reported(), r.Stderr)
				}
				if when == "before" {
					assert.Equal(t, theirs, tree(t, out), "what is the other one's")
				}
			})
		}
	}
}

// The same over and over while the program runs and ends: at no moment does one of the names lead out.
func TestAnotherUserRaces(t *testing.T) {
	harness.Mock.Need(t)
	u := twoUsers(t)
	program := filepath.Join(u.meet, "swapped")
	data, err := os.ReadFile(harness.Mock.Compile(t, "swapped"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(program, data, 0o777))
	before := contents(t, u.home)
	for i := range harness.Scale(4, 200) {
		name := fmt.Sprintf("out-%d", i)
		away := fmt.Sprintf(`while :; do mv %[1]s away-%[1]s && ln -s $HOME_OF %[1]s; rm -f %[1]s; mv away-%[1]s %[1]s; done 2>/dev/null`, name)
		other := exec.Command("setpriv", append(as(nobody)[1:], "sh", "-c", away)...)
		other.Dir, other.Env = u.open, append(os.Environ(), "HOME_OF="+u.home)
		other.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		require.NoError(t, other.Start())
		end := []string{"finalize", "exit"}[i%2]
		line := append(as(daemon), harness.Mock.Launch(2, harness.Artifact(t, "marple"), "exec", "--out", filepath.Join(u.open, name), "--log", "8", "--", program, "-", "-", "nothing", end)...)
		r := harness.Command{Directory: u.home, Environment: []string{"HOME=" + u.home}}.Run(t, line...)
		require.NoError(t, syscall.Kill(-other.Process.Pid, syscall.SIGKILL)) // and what the shell has started
		_ = other.Wait()
		assert.NotContains(t, r.Stderr, "goroutine ")
		if end != "exit" {
			assert.Zero(t, r.Code, r.Stderr)
			assert.True(t, r.Reported(), r.Stderr)
		}
		require.Equal(t, before, contents(t, u.home))
	}
}

// A run that the other user has left: whatever its files are, reading it, or recovering it, changes nothing of the reader's, and ends.
func TestRunOfAnotherUser(t *testing.T) {
	harness.Mock.Need(t)
	u := twoUsers(t)
	program := harness.Mock.Compile(t, "swapped")
	genuine := filepath.Join(u.meet, "run")
	r := harness.Mock.Under(t, harness.Command{}, 2, genuine, []string{program, "-", "-", "nothing", "finalize"}, "--log", "8", "--keep-raw", "on")
	require.Zero(t, r.Code, r.Stderr)
	before, worked := contents(t, u.home), 0
	for i, spoil := range []string{
		`for f in run.json report.txt replay.bin; do rm -f $f; ln -s $HOME_OF/$f $f; done`,
		`for f in run.json report.txt replay.bin; do rm -f $f; mkfifo $f; done`,
		`for f in run.json report.txt replay.bin; do rm -f $f; mkdir $f; done`,
		`rm -r raw; ln -s $HOME_OF/raw raw; rm run.json`,
		`for f in raw/*; do rm $f; ln -s $HOME_OF/$f $f; done; rm run.json`,
		`for f in raw/*.log; do rm $f; mkfifo $f; done; rm run.json`,
		`for f in raw/*.mrl; do rm $f; mkfifo $f; done; rm run.json`,
		`rm run.json; ln -s $HOME_OF/raw/merged raw/merged; mkfifo raw/rank-000002.mrl; ln -s $HOME_OF/run.json run.json`,
	} {
		name := fmt.Sprintf("out-%d", i)
		u.other(t, "cp -r "+genuine+" "+name+"; chmod -R a+rwX "+name+"; cd "+name+"; "+spoil)
		theirs := filepath.Join(u.open, name)
		for _, command := range [][]string{{"report"}, {"page"}, {"diagnose"}, {"timeline"}, {"export", "--to", "csv"}, {"whatif", "--cores"}, {"recover", "--clear"}, {"recover"}} {
			line := append(as(daemon), harness.Artifact(t, "marple"), command[0], theirs)
			r := harness.Command{Directory: u.home, Environment: []string{"HOME=" + u.home}}.Run(t, append(line, command[1:]...)...)
			if r.Code == 0 {
				worked++
			}
			assert.NotContains(t, r.Stderr, "goroutine ", "%s %s", spoil, command)
			assert.Equal(t, before, contents(t, u.home), "%s %s", spoil, command)
		}
	}
	assert.Greater(t, worked, 8, "some runs can be read, or recovered")
}
