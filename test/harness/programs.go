package harness

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"marple/analysis/run"
)

var (
	Top   string // of the source tree
	Build string // where the artifacts are
)

// Main is TestMain of a package that tests Marple as it is used: real programs under real MPI libraries (Open MPI,
// MPICH, and the mock as the third binary interface), started by their launchers with `marple exec` in between.
//
// The artifacts are those of build/, brought up to date first; MARPLE_BUILD names another directory, which
// is taken as it is. Where an MPI library or a program is not installed a test is skipped, unless CI=1.
func Main(m *testing.M) {
	if err := prepare(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(Counters.Directory)
	os.Exit(code)
}

func prepare() (err error) {
	Settle()
	if Counters.Directory, err = os.MkdirTemp("", "marple-counters-"); err != nil {
		return err
	}
	if Top, err = filepath.Abs("../.."); err != nil {
		return err
	}
	unlock, err := lock(filepath.Join(Top, "test")) // packages are tested beside each other
	if err != nil {
		return err
	}
	defer unlock()
	if Build = os.Getenv("MARPLE_BUILD"); Build == "" {
		Build = filepath.Join(Top, "build")
		if out, err := exec.Command("make", "-C", Top, "build").CombinedOutput(); err != nil {
			return fmt.Errorf("make build: %w\n%s", err, out)
		}
	}
	if Build, err = filepath.Abs(Build); err != nil {
		return err
	}
	forget()
	if stale(filepath.Join(Build, "mock", "bin", "mpirun"), filepath.Join(Top, "test", "mock")) {
		if out, err := exec.Command(filepath.Join(Top, "test", "mock", "build.sh"), filepath.Join(Build, "mock")).CombinedOutput(); err != nil {
			return fmt.Errorf("test/mock/build.sh: %w\n%s", err, out)
		}
	}
	return nil
}

// lock keeps other processes that call it from a directory until unlock.
func lock(directory string) (unlock func() error, err error) {
	held, err := os.Open(directory)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(held.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(err, held.Close())
	}
	return held.Close, nil
}

// stale tells whether anything below a directory is newer than what was made of it.
func stale(made, from string) bool {
	info, err := os.Stat(made)
	if err != nil {
		return true
	}
	newer := errors.New("newer")
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if source, err := entry.Info(); err != nil || source.ModTime().After(info.ModTime()) {
			return newer
		}
		return nil
	}) != nil
}

// Artifact is a file of the build. Looking at it here makes go test repeat a test when it has changed.
func Artifact(t testing.TB, name string) string {
	t.Helper()
	path := filepath.Join(Build, name)
	_, err := os.Stat(path)
	require.NoError(t, err)
	return path
}

// Scale is how large a program is made, or how often something random is tried: MARPLE_TEST_LONG=1 (make test-long)
// asks for more.
func Scale(usual, long int) int {
	if Long() {
		return long
	}
	return usual
}

// A library is an MPI library with its compiler and launcher.
type Library struct {
	Name   string
	Cc     string
	Mpirun []string
	Shared string // what its programs are linked with, as the loader's file name begins
}

var (
	OpenMPI = &Library{"Open MPI", "mpicc.openmpi", []string{"mpirun.openmpi", "--oversubscribe"}, "libmpi.so"}
	Mpich   = &Library{"MPICH", "mpicc.mpich", []string{"mpirun.mpich"}, "libmpich.so"}
	Mock    = &Library{"mock", "mpicc", []string{"mpirun"}, "libmpi_abi.so"}
)

var Libraries = []*Library{OpenMPI, Mpich, Mock}

// Each runs a test for each library that is installed.
func Each(t *testing.T, test func(t *testing.T, mpi *Library)) {
	for _, mpi := range Libraries {
		t.Run(mpi.Name, func(t *testing.T) {
			mpi.Need(t)
			test(t, mpi)
		})
	}
}

// Tool is the full name of one of the library's commands.
func (m *Library) Tool(name string) string {
	if m.Name == Mock.Name {
		return filepath.Join(Build, "mock", "bin", name)
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return ""
	}
	return path
}

// Need skips a test whose library is not installed.
func (m *Library) Need(t testing.TB) {
	t.Helper()
	for _, name := range []string{m.Cc, m.Mpirun[0]} {
		if m.Tool(name) == "" {
			Missing(t, name)
		}
	}
}

// Launch is the command line that starts n ranks; what follows is the program.
func (m *Library) Launch(n int, program ...string) []string {
	line := append([]string{m.Tool(m.Mpirun[0])}, m.Mpirun[1:]...)
	return append(append(line, "-n", fmt.Sprint(n)), program...)
}

// Compile builds sources of test/apps; further arguments are the compiler's.
func (m *Library) Compile(t testing.TB, program string, arguments ...string) string {
	t.Helper()
	return Compile(t, m.Tool(m.Cc), program, arguments...)
}

// Compile is Library.Compile with any compiler.
func Compile(t testing.TB, compiler, program string, arguments ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), filepath.Base(program))
	// MPICH's special addresses, such as MPI_STATUSES_IGNORE, look to gcc like arrays that are too short.
	line := []string{"-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-Wno-stringop-overflow", "-Wno-stringop-overread",
		"-I" + filepath.Join(Top, "cshim", "include"), Apps(program + ".c")}
	Cc(t, out, compiler, append(line, arguments...)...)
	return out
}

// Apps is the full name of a file of test/apps.
func Apps(name string) string { return filepath.Join(Top, "test", "apps", name) }

// A result is how a command ended and what it said. The code is the negative signal if one ended it.
type Result struct {
	Code           int
	Stdout, Stderr string
}

// Patience is after how long something is taken for hung, however much else the machine has to do.
const Patience = 15 * time.Minute

// a command to run: where, with which variables beside those of the test; and what stands between the launcher and the
// program, or marple; what it reads from standard input.
type Command struct {
	Directory   string
	Environment []string
	Before      []string
	Input       string
	Limit       time.Duration // it may hang, and is killed then; 0: if it hangs, the test fails
}

// Run runs a command to its end. A deadlock must not stop the whole suite, so there is a limit; no result
// depends on it otherwise.
func (c Command) Run(t testing.TB, line ...string) Result {
	t.Helper()
	line, add := RankByRank(t, line)
	ctx, cancel := context.WithTimeout(context.Background(), cmp.Or(c.Limit, Patience))
	defer cancel()
	command := exec.CommandContext(ctx, line[0], line[1:]...)
	command.Dir = c.Directory
	if c.Input != "" {
		command.Stdin = strings.NewReader(c.Input)
	}
	command.Env = append(os.Environ(), "MARPLE_DEADLINE=600", "MARPLE_FULL=on")
	command.Env = append(command.Env, c.Environment...)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	command.WaitDelay = time.Minute
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	err := command.Run()
	add(&stdout, &stderr)
	if c.Limit == 0 {
		require.NoError(t, ctx.Err(), "%s\n%s\n%s", strings.Join(line, " "), &stdout, &stderr)
	}
	text := strings.NewReplacer("\x00", "") // Open MPI 5's launcher now and then puts one before a line
	r := Result{Stdout: text.Replace(stdout.String()), Stderr: text.Replace(stderr.String())}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		r.Code = exit.ExitCode()
		if status := exit.Sys().(syscall.WaitStatus); status.Signaled() {
			r.Code = -int(status.Signal())
		}
	} else {
		require.NoError(t, err)
	}
	return r
}

// Progress is what Marple writes on stderr of what takes more than two seconds: on a busy machine, of anything.
var Progress = regexp.MustCompile(`(?m)^marple: \w+ \([\dms]+\)\n`)

// Said are the lines that Marple wrote on stderr, over all ranks.
func (r Result) Said() []string {
	var lines []string
	for _, line := range strings.Split(Progress.ReplaceAllString(r.Stderr, ""), "\n") {
		if strings.HasPrefix(line, "marple:") {
			lines = append(lines, line)
		}
	}
	return lines
}

// Reported tells whether the report was printed.
func (r Result) Reported() bool { return strings.Contains(r.Stderr, "\nEfficiency ") }

// Function gives what a run says of a function, by its name.
func Function(r *run.Run, name string) run.Function {
	for _, f := range r.Functions {
		if f.Name == name {
			return f
		}
	}
	return run.Function{}
}

// EachReal runs a test for each library that is installed, but the mock.
func EachReal(t *testing.T, test func(t *testing.T, mpi *Library)) {
	for _, mpi := range []*Library{OpenMPI, Mpich} {
		t.Run(mpi.Name, func(t *testing.T) {
			mpi.Need(t)
			test(t, mpi)
		})
	}
}

const DebianPython = "/usr/bin/python3" // which mpi4py is packaged for
