// Package e2e tests Marple as it is used: real programs under real MPI libraries (Open MPI, MPICH, and the
// mock as the third binary interface), started by their launchers with `marple exec` in between.
//
// The artifacts are those of build/, brought up to date first; MARPLE_BUILD names another directory, which
// is taken as it is. Where an MPI library or a program is not installed a test is skipped, unless CI=1.
package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"marple/test/harness"
)

var (
	top   string // of the source tree
	build string // where the artifacts are
)

func TestMain(m *testing.M) {
	if err := prepare(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(counters.directory)
	os.Exit(code)
}

func prepare() (err error) {
	if counters.directory, err = os.MkdirTemp("", "marple-counters-"); err != nil {
		return err
	}
	if top, err = filepath.Abs("../.."); err != nil {
		return err
	}
	if build = os.Getenv("MARPLE_BUILD"); build == "" {
		build = filepath.Join(top, "build")
		if out, err := exec.Command("make", "-C", top, "build").CombinedOutput(); err != nil {
			return fmt.Errorf("make build: %w\n%s", err, out)
		}
	}
	if build, err = filepath.Abs(build); err != nil {
		return err
	}
	if stale(filepath.Join(build, "mock", "bin", "mpirun"), filepath.Join(top, "test", "mock")) {
		if out, err := exec.Command(filepath.Join(top, "test", "mock", "build.sh"), filepath.Join(build, "mock")).CombinedOutput(); err != nil {
			return fmt.Errorf("test/mock/build.sh: %w\n%s", err, out)
		}
	}
	return nil
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

// artifact is a file of the build. Looking at it here makes go test repeat a test when it has changed.
func artifact(t testing.TB, name string) string {
	t.Helper()
	path := filepath.Join(build, name)
	_, err := os.Stat(path)
	require.NoError(t, err)
	return path
}

// missing skips a test for what is not installed; a machine that calls itself CI has to have it.
func missing(t testing.TB, what string) {
	t.Helper()
	harness.Missing(t, what)
}

// scale is how large a program is made, or how often something random is tried: MARPLE_TEST_LONG=1 (make test-long)
// asks for more.
func scale(usual, long int) int {
	if harness.Long() {
		return long
	}
	return usual
}

// A library is an MPI library with its compiler and launcher.
type library struct {
	name   string
	cc     string
	mpirun []string
	shared string // what its programs are linked with, as the loader's file name begins
}

var (
	openMPI = &library{"Open MPI", "mpicc.openmpi", []string{"mpirun.openmpi", "--oversubscribe"}, "libmpi.so"}
	mpich   = &library{"MPICH", "mpicc.mpich", []string{"mpirun.mpich"}, "libmpich.so"}
	mock    = &library{"mock", "mpicc", []string{"mpirun"}, "libmpi_abi.so"}
)

var libraries = []*library{openMPI, mpich, mock}

// each runs a test for each library that is installed.
func each(t *testing.T, test func(t *testing.T, mpi *library)) {
	for _, mpi := range libraries {
		t.Run(mpi.name, func(t *testing.T) {
			mpi.need(t)
			test(t, mpi)
		})
	}
}

// tool is the full name of one of the library's commands.
func (m *library) tool(name string) string {
	if m.name == mock.name {
		return filepath.Join(build, "mock", "bin", name)
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return ""
	}
	return path
}

func (m *library) need(t testing.TB) {
	t.Helper()
	for _, name := range []string{m.cc, m.mpirun[0]} {
		if m.tool(name) == "" {
			missing(t, name)
		}
	}
}

// launch is the command line that starts n ranks; what follows is the program.
func (m *library) launch(n int, program ...string) []string {
	line := append([]string{m.tool(m.mpirun[0])}, m.mpirun[1:]...)
	return append(append(line, "-n", fmt.Sprint(n)), program...)
}

// compile builds sources of test/apps; further arguments are the compiler's.
func (m *library) compile(t testing.TB, program string, arguments ...string) string {
	t.Helper()
	return compile(t, m.tool(m.cc), program, arguments...)
}

func compile(t testing.TB, compiler, program string, arguments ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), filepath.Base(program))
	// MPICH's special addresses, such as MPI_STATUSES_IGNORE, look to gcc like arrays that are too short.
	line := []string{"-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-Wno-stringop-overflow", "-Wno-stringop-overread",
		"-I" + filepath.Join(top, "cshim", "include"), "-o", out}
	for _, argument := range append([]string{apps(program + ".c")}, arguments...) {
		if strings.HasSuffix(argument, ".c") {
			_, err := os.ReadFile(argument) // see artifact
			require.NoError(t, err)
		}
		line = append(line, argument)
	}
	output, err := exec.Command(compiler, line...).CombinedOutput()
	require.NoError(t, err, "%s %s\n%s", compiler, strings.Join(line, " "), output)
	return out
}

func apps(name string) string { return filepath.Join(top, "test", "apps", name) }

// A result is how a command ended and what it said. The code is the negative signal if one ended it.
type result struct {
	code           int
	stdout, stderr string
}

// patience is after how long something is taken for hung, however much else the machine has to do.
const patience = 15 * time.Minute

// a command to run: where, with which variables beside those of the test; and what stands between the launcher and the
// program, or marple; what it reads from standard input.
type command struct {
	directory   string
	environment []string
	before      []string
	input       string
}

// run runs a command to its end. A deadlock must not stop the whole suite, so there is a limit; no result
// depends on it otherwise.
func (c command) run(t testing.TB, line ...string) result {
	t.Helper()
	line, add := harness.RankByRank(t, line)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	command := exec.CommandContext(ctx, line[0], line[1:]...)
	command.Dir = c.directory
	if c.input != "" {
		command.Stdin = strings.NewReader(c.input)
	}
	command.Env = append(os.Environ(), "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "MARPLE_DEADLINE=600", "MARPLE_FULL=on",
		"OMPI_MCA_pml=ob1") // it looks for no network, which takes it a fifth of a second
	command.Env = append(command.Env, c.environment...)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	command.WaitDelay = time.Minute
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	err := command.Run()
	add(&stdout, &stderr)
	require.NoError(t, ctx.Err(), "%s\n%s\n%s", strings.Join(line, " "), &stdout, &stderr)
	r := result{stdout: stdout.String(), stderr: stderr.String()}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		r.code = exit.ExitCode()
		if status := exit.Sys().(syscall.WaitStatus); status.Signaled() {
			r.code = -int(status.Signal())
		}
	} else {
		require.NoError(t, err)
	}
	return r
}

// said are the lines that Marple wrote on stderr, over all ranks.
func (r result) said() []string {
	var lines []string
	for _, line := range strings.Split(r.stderr, "\n") {
		if strings.HasPrefix(line, "marple:") {
			lines = append(lines, line)
		}
	}
	return lines
}

// reported tells whether the report was printed.
func (r result) reported() bool { return strings.Contains(r.stderr, "\nEfficiency ") }
