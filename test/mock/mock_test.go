// Package mock tests the mock MPI as it is used: it builds it, compiles the
// programs of testdata with its mpicc, and runs them with its mpirun. The
// programs check themselves; vtime.c holds the exact times. With MOCK_CFLAGS in
// the environment both library and programs are built with those flags too.
package mock

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
)

type installation struct{ dir string }

func install(t *testing.T) *installation {
	m := &installation{t.TempDir()}
	readSources(t)
	if out, err := exec.Command("./build.sh", m.dir).CombinedOutput(); err != nil {
		t.Fatalf("build.sh: %v\n%s", err, out)
	}
	return m
}

// readSources reads what build.sh and mpicc will: go test keeps a result only for
// as long as the files that the test itself read stay the same.
func readSources(t *testing.T) {
	for _, pattern := range []string{"build.sh", "*/*.c", "*/*.h", "*/*.map", "*/*.go", "*/*.sh", "*/*.f90", "*/*.F90"} {
		files, err := filepath.Glob(pattern)
		if err != nil || files == nil {
			t.Fatalf("no %s: %v", pattern, err)
		}
		for _, f := range files {
			if _, err := os.ReadFile(f); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func (m *installation) path(elem ...string) string {
	return filepath.Join(append([]string{m.dir}, elem...)...)
}

// compile builds testdata/NAME.c with the given compiler and returns the result.
func (m *installation) compile(t *testing.T, compiler, name string, flags ...string) string {
	t.Helper()
	exe := m.path(name + "-" + filepath.Base(compiler))
	args := []string{"-std=gnu11", "-g", "-Wall", "-Wextra", "-Werror", "-pthread"}
	args = append(args, strings.Fields(os.Getenv("MOCK_CFLAGS"))...)
	args = append(append(args, flags...), filepath.Join("testdata", name+".c"), "-o", exe)
	if out, err := exec.Command(compiler, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", compiler, name, err, out)
	}
	return exe
}

type result struct {
	code           int
	stdout, stderr string
}

func run(cmd *exec.Cmd) result {
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	code := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	} else if err != nil {
		code = -1
		fmt.Fprintln(&stderr, err)
	}
	return result{code, stdout.String(), stderr.String()}
}

func (m *installation) mpirun(args ...string) result {
	return run(exec.Command(m.path("bin", "mpirun"), args...))
}

func TestMock(t *testing.T) {
	m := install(t)
	t.Run("programs", m.testPrograms)
	t.Run("fortran", m.testFortran)
	t.Run("flood", m.testFlood)
	t.Run("exits", m.testExits)
	t.Run("signal", m.testSignal)
	t.Run("deterministic", m.testDeterministic)
	t.Run("options", m.testOptions)
	t.Run("inheritance", m.testInheritance)
	t.Run("foreign", m.testForeign)
	t.Run("preload", m.testPreload)
	t.Run("headers", m.testHeaders)
}

func (m *installation) testPrograms(t *testing.T) {
	const both, realTime, virtual, cpu = "both", "real", "virtual", "cpu"
	for _, p := range []struct{ name, mode string }{
		{"p2p", both}, {"requests", both}, {"coll", both}, {"ops", both}, {"types", both},
		{"comm", both}, {"objects", both}, {"rma", both},
		{"threads", realTime}, {"vtime", virtual}, {"cpu", cpu},
	} {
		exe := m.compile(t, m.path("bin", "mpicc"), p.name)
		for _, n := range []string{"1", "2", "4", "7"} {
			if n == "4" && (p.mode == cpu || p.mode == both && p.name != "objects") { // which knows what its work takes
				m.expectSuccess(t, "--cpu", "--hosts", "2", "-n", n, exe)
			}
			if p.mode == cpu {
				continue
			}
			if p.mode != virtual {
				m.expectSuccess(t, "--hosts", "2", "-n", n, exe)
			}
			if p.mode != realTime {
				m.expectSuccess(t, "--virtual", "--hosts", "2", "-n", n, exe)
			}
		}
		if p.name == "threads" {
			m.expectSuccess(t, "--virtual", "-n", "2", exe, "serialized")
		}
	}
}

// As programs have MPI in Fortran: mpif.h, and the module.
func (m *installation) testFortran(t *testing.T) {
	compiler := m.path("bin", "mpifort")
	if _, err := os.Stat(compiler); err != nil {
		t.Skip("gfortran is not installed")
	}
	for _, how := range []string{"-DHEADER", "-DMODULE"} {
		exe := m.path("fortran" + how)
		if out, err := exec.Command(compiler, "-g", "-w", how, "testdata/fortran.F90", "-o", exe).CombinedOutput(); err != nil {
			t.Fatalf("mpifort: %v\n%s", err, out)
		}
		for _, clock := range []string{"--hosts=1", "--virtual", "--cpu"} {
			for _, n := range []string{"1", "2", "5"} {
				m.expectSuccess(t, clock, "-n", n, exe)
			}
		}
	}
}

func (m *installation) expectSuccess(t *testing.T, args ...string) result {
	t.Helper()
	r := m.mpirun(args...)
	if r.code != 0 || r.stderr != "" {
		t.Errorf("mpirun %s: code %d\n%s", strings.Join(args, " "), r.code, r.stderr)
	}
	return r
}

func (m *installation) testFlood(t *testing.T) {
	exe := m.compile(t, m.path("bin", "mpicc"), "flood")
	m.expectSuccess(t, "-n", "2", exe, "50000")
	m.expectSuccess(t, "--virtual", "-n", "2", exe, "10000")
}

func (m *installation) testExits(t *testing.T) {
	exe := m.compile(t, m.path("bin", "mpicc"), "exits")
	for _, tc := range []struct {
		name    string
		code    int
		stderr  string // a regular expression for all of it
		virtual bool   // only in virtual time
	}{
		{name: "no-mpi", code: 0, stderr: ``},
		{name: "no-mpi-5", code: 5, stderr: `mockrun: rank \d exited with code 5 before MPI_Finalize\n`},
		{name: "one-without", code: 1, stderr: `mockrun: rank 1 exited without MPI_Init, which others called\n`},
		{name: "early-call", code: 16, stderr: `(mockmpi: rank \d: MPI_Send called before MPI_Init\n|mockrun: .*\n)+`},
		{name: "late-call", code: 16, stderr: `(mockmpi: rank \d: MPI_Barrier called after MPI_Finalize\n)+`},
		{name: "finalize-4", code: 4, stderr: ``},
		{name: "abort-7", code: 7, stderr: `mockrun: rank 1 called MPI_Abort\(7\)\n`},
		{name: "stubborn", code: 7, stderr: `mockrun: rank 1 called MPI_Abort\(7\)\n`},
		{name: "exit-3", code: 3, stderr: `mockrun: rank 1 exited with code 3 before MPI_Finalize\n`},
		{name: "exit-0", code: 1, stderr: `mockrun: rank 1 exited before MPI_Finalize\n`},
		{name: "segv", code: 139, stderr: `mockrun: rank 1 was killed by signal 11 before MPI_Finalize\n`},
		{name: "kill", code: 137, stderr: `mockrun: rank 1 was killed by signal 9 before MPI_Finalize\n`},
		{name: "init-twice", code: 16, stderr: `mockmpi: rank 1: MPI_Init: MPI_ERR_OTHER: .*\nmockrun: rank 1 called MPI_Abort\(16\)\n`},
		{name: "bad-rank", code: 6, stderr: `mockmpi: rank 1: MPI_Send: MPI_ERR_RANK: invalid rank\nmockrun: rank 1 called MPI_Abort\(6\)\n`},
		{name: "bad-isend", code: 6, stderr: `mockmpi: rank 1: MPI_Isend: MPI_ERR_RANK: invalid rank\nmockrun: rank 1 called MPI_Abort\(6\)\n`},
		{name: "mismatch", code: 1, stderr: `mockrun: collective mismatch: rank \d in MPI_B\w+ \(root 0\), rank \d in MPI_B\w+ \(root 0\)\n`},
		{
			name: "deadlock", code: 86, virtual: true,
			stderr: "mockrun: deadlock at 1100 ns\n" +
				"  rank 0 blocked in MPI_Recv since 0 ns\n" +
				"  rank 1 blocked in MPI_Ssend since 100 ns\n" +
				"  rank 2 blocked in MPI_Barrier since 200 ns\n",
		},
	} {
		for _, args := range [][]string{{"-n", "3"}, {"-n", "3", "--virtual"}} {
			if tc.virtual && len(args) == 2 {
				continue
			}
			r := m.mpirun(append(args, exe, tc.name)...)
			if r.code != tc.code || !regexp.MustCompile("^"+tc.stderr+"$").MatchString(r.stderr) {
				t.Errorf("%s %v: code %d, want %d; stderr:\n%s", tc.name, args, r.code, tc.code, r.stderr)
			}
		}
	}
	if r := m.mpirun("-n", "2", m.path("no-such-program")); r.code != 127 {
		t.Errorf("no such program: code %d", r.code)
	}
	for _, args := range [][]string{{}, {"-n", "2"}, {"-n", "0", "true"}, {"--nonsense", "true"}} {
		if r := m.mpirun(args...); r.code != 2 {
			t.Errorf("mpirun %v: code %d", args, r.code)
		}
	}
}

// A signal to mpirun ends the ranks and then mpirun.
func (m *installation) testSignal(t *testing.T) {
	exe := m.compile(t, m.path("bin", "mpicc"), "exits")
	cmd := exec.Command(m.path("bin", "mpirun"), "-n", "3", exe, "ready")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "ready\n" {
		t.Errorf("got %q: %v", line, err)
	}
	cmd.Process.Signal(syscall.SIGTERM)
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 128+int(syscall.SIGTERM) {
		t.Errorf("code %d", code)
	}
}

func (m *installation) testDeterministic(t *testing.T) {
	exe := m.compile(t, m.path("bin", "mpicc"), "chaos")
	args := []string{"--virtual", "-n", "5", exe}
	first := m.expectSuccess(t, args...)
	if n := strings.Count(first.stdout, "\n"); n != 5 || !strings.Contains(first.stdout, "test") {
		t.Errorf("%d lines of output:\n%s", n, first.stdout)
	}
	for range 3 {
		if again := m.expectSuccess(t, args...); again.stdout != first.stdout {
			t.Errorf("output differs:\n%s\n%s", first.stdout, again.stdout)
		}
	}
	other := m.expectSuccess(t, append([]string{"--latency", "1001"}, args...)...)
	if other.stdout == first.stdout {
		t.Error("another latency makes no difference")
	}
}

func (m *installation) testOptions(t *testing.T) {
	exe := m.compile(t, m.path("bin", "mpicc"), "describe")
	version := "Marple mock MPI 1.0 (MPI standard ABI 1.0)"
	describe := func(rank, size, host, app int) string {
		return fmt.Sprintf("%d/%d mock%d app %d stdin -1 abi 1: %s\n", rank, size, host, app, version)
	}
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"-np", "2", exe}, describe(0, 2, 0, 0) + describe(1, 2, 0, 0)},
		{
			[]string{"-n", "3", "--hosts", "2", exe},
			describe(0, 3, 0, 0) + describe(1, 3, 0, 0) + describe(2, 3, 1, 0),
		},
		{
			[]string{"-n", "1", exe, ":", "-n", "2", exe, "x"},
			describe(0, 3, 0, 0) + describe(1, 3, 0, 1) + describe(2, 3, 0, 1),
		},
		{[]string{"--virtual", exe, "times"}, describe(0, 1, 0, 0) + "1000 100 1020\n"},
		{
			[]string{
				"--virtual", "--latency", "500", "--bandwidth", "1000", "--tick", "7",
				"--eager", "10", exe, "times",
			},
			describe(0, 1, 0, 0) + "500 7 700\n",
		},
	} {
		if r := m.expectSuccess(t, tc.args...); r.stdout != tc.want {
			t.Errorf("%v: got\n%swant\n%s", tc.args, r.stdout, tc.want)
		}
	}
}

// Ranks inherit directory and environment, rank 0 also the input, and the socket
// passes through a shell to the program that uses MPI.
func (m *installation) testInheritance(t *testing.T) {
	cmd := exec.Command(m.path("bin", "mpirun"), "-n", "2", "sh", "-c",
		`read line; echo "$PWD $MARK $line $(readlink /proc/$$/fd/100 | cut -d: -f1)"`)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "MARK=here")
	cmd.Stdin = strings.NewReader("input\n")
	r := run(cmd)
	lines := strings.Split(strings.TrimSpace(r.stdout), "\n")
	slices.Sort(lines)
	want := []string{cmd.Dir + " here  socket", cmd.Dir + " here input socket"}
	if r.code != 0 || !slices.Equal(lines, want) {
		t.Errorf("got %q, want %q", lines, want)
	}
}

func (m *installation) testForeign(t *testing.T) {
	exe := m.compile(t, m.path("bin", "mpicc-foreign"), "describe")
	want := "0/1 mock0 app 0 stdin -1 abi 0: Foreign MPI 1.0\n"
	if r := m.expectSuccess(t, exe); r.stdout != want {
		t.Errorf("got %q, want %q", r.stdout, want)
	}
	for program, soname := range map[string]string{
		exe: "libforeignmpi.so",
		m.compile(t, m.path("bin", "mpicc"), "describe"): "libmpi_abi.so.1",
	} {
		out, err := exec.Command("ldd", program).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "\t"+soname+" => "+m.dir) {
			t.Errorf("%s does not use %s: %v\n%s", program, soname, err, out)
		}
	}
}

func (m *installation) testPreload(t *testing.T) {
	exe := m.compile(t, m.path("bin", "mpicc"), "preloaded")
	tool := m.compile(t, "gcc", "preload", "-shared", "-fPIC", "-I"+m.path("include"))
	preload := tool
	if strings.Contains(os.Getenv("MOCK_CFLAGS"), "address") {
		out, err := exec.Command("gcc", "-print-file-name=libasan.so").Output()
		if err != nil {
			t.Fatal(err)
		}
		preload = strings.TrimSpace(string(out)) + " " + tool
	}
	want := "3 sends, 3 receives, 0 others\n"
	r := m.expectSuccess(t, "env", "LD_PRELOAD="+preload, exe)
	if r.stdout != want {
		t.Errorf("got %q, want %q", r.stdout, want)
	}
}

func (m *installation) testHeaders(t *testing.T) {
	if r := run(exec.Command(m.compile(t, m.path("bin", "mpicc"), "abi"))); r.code != 0 {
		t.Errorf("abi: code %d", r.code)
	}
	if r := run(exec.Command(m.compile(t, "gcc", "weak"))); r.code != 0 {
		t.Errorf("weak: code %d", r.code)
	}
}
