// Package survive runs programs that are unusual and legal, or wrong and common, each bare and under Marple, and compares:
// exit code, what was printed, and whether the calls that a program says it has made are all in the run.
//
// The table is in table_test.go, the programs in programs/. A line says what is odd about a program, how it ends or where it
// runs; what is brief is part of `make test`, the rest of `make test-long` (MARPLE_TEST_LONG=1). The filled table goes to
// survive.txt beside the artifacts, which are those of build/ or of MARPLE_BUILD.
package survive

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"marple/test/harness"
)

var top, build string

func TestMain(m *testing.M) {
	harness.Settle()
	var err error
	if top, err = filepath.Abs("../.."); err != nil {
		panic(err)
	}
	if build = os.Getenv("MARPLE_BUILD"); build == "" {
		build = filepath.Join(top, "build")
		if out, err := exec.Command("make", "-C", top, "build").CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "make build: %v\n%s", err, out)
			os.Exit(1)
		}
	}
	if build, err = filepath.Abs(build); err != nil {
		panic(err)
	}
	code := m.Run()
	table.write(filepath.Join(build, "survive.txt"))
	os.Exit(code)
}

// An mpi is an MPI library with its compilers and launcher; none stands for programs that are started directly.
type mpi struct {
	name, cc, cxx string
	launch        []string
}

var (
	openMPI = &mpi{"Open MPI", "mpicc.openmpi", "mpicxx.openmpi", []string{"mpirun.openmpi", "--oversubscribe"}}
	mpich   = &mpi{"MPICH", "mpicc.mpich", "mpicxx.mpich", []string{"mpirun.mpich"}}
	both    = []*mpi{openMPI, mpich}
)

// A subject is a line of the table.
type subject struct {
	name    string
	source  string   // in programs/; empty: the first argument is a command
	flags   []string // the compiler's
	made    []string // what else is compiled, as "FILE: arguments of the compiler", in which @/ stands for programs/, @build/ for build/
	args    []string // of the program; in these and in before ./ stands for where everything was made
	ranks   int      // 0: 1
	on      []*mpi   // nil: both
	before  []string // between the launcher and the program, or marple
	exec    []string // flags of marple exec
	inside  []string // between marple and the program
	env     []string
	needs   []string                          // commands, without which a line is left out
	brief   bool                              // in make test
	alone   bool                              // started without a launcher
	killed  bool                              // ends in the middle: what it has counted, the run has at least
	program func(t *testing.T, m *mpi) string // instead of source
}

// A line of the filled table.
type line struct{ name, mpi, bare, measured, output, counts string }

type filled struct {
	sync.Mutex
	lines []line
}

var table filled

func (f *filled) add(l line) {
	f.Lock()
	defer f.Unlock()
	f.lines = append(f.lines, l)
}

func (f *filled) write(file string) {
	if len(f.lines) == 0 {
		return
	}
	slices.SortFunc(f.lines, func(a, b line) int { return cmp.Or(strings.Compare(a.name, b.name), strings.Compare(a.mpi, b.mpi)) })
	var b strings.Builder
	fmt.Fprintf(&b, "%-56s %-9s %-12s %-12s %-7s %s\n", "program, ending, host", "MPI", "bare", "measured", "output", "calls")
	for _, l := range f.lines {
		fmt.Fprintf(&b, "%-56s %-9s %-12s %-12s %-7s %s\n", l.name, l.mpi, l.bare, l.measured, l.output, l.counts)
	}
	_ = os.WriteFile(file, []byte(b.String()), 0o666)
}

func missing(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("CI") == "1" {
		t.Fatalf("%s is not installed, and CI=1", what)
	}
	t.Skipf("%s is not installed", what)
}

func need(t *testing.T, commands ...string) {
	t.Helper()
	for _, c := range commands {
		if _, err := exec.LookPath(c); err != nil {
			missing(t, c)
		}
	}
}

// An outcome is how a command ended and what it printed.
type outcome struct {
	code     string // "exit 3", "signal 11", or "hangs"
	out, err string
}

func run(t *testing.T, directory string, environment, line []string) outcome {
	t.Helper()
	line, add := harness.RankByRank(t, line)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, line[0], line[1:]...)
	command.Dir = directory
	command.Env = append(os.Environ(), environment...)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	command.WaitDelay = 5 * time.Second
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	err := command.Run()
	add(&stdout, &stderr)
	o := outcome{code: "exit 0", out: stdout.String(), err: stderr.String()}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		o.code = "hangs"
	case errors.As(err, &exit):
		o.code = fmt.Sprintf("exit %d", exit.ExitCode())
		if status := exit.Sys().(syscall.WaitStatus); status.Signaled() {
			o.code = fmt.Sprintf("signal %d", status.Signal())
		}
	default:
		require.NoError(t, err, strings.Join(line, " "))
	}
	return o
}

var numbers = regexp.MustCompile(`\b(0x)?[0-9a-f]*[0-9][0-9a-f]*\b`)

// printed is what the ranks have printed, in no order; numbers in what a launcher says differ from run to run.
func (o outcome) printed() []string {
	var list []string
	for _, l := range strings.Split(o.out, "\n") {
		if l = strings.TrimSpace(l); l != "" && !strings.HasPrefix(l, "marple: ") {
			if !strings.HasPrefix(l, "count ") && !strings.HasPrefix(l, "says ") {
				l = numbers.ReplaceAllString(l, "#")
			}
			list = append(list, l)
		}
	}
	slices.Sort(list)
	return list
}

// counted adds up what the ranks say they have called.
func (o outcome) counted() map[string]uint64 {
	sum := map[string]uint64{}
	for _, l := range strings.Split(o.out, "\n") {
		var name string
		var n uint64
		if _, err := fmt.Sscanf(l, "count %s %d", &name, &n); err == nil {
			sum[name] += n
		}
	}
	return sum
}

// kept is what run.json says of calls, and of what is missing.
type kept struct {
	Functions []struct {
		Name    string
		Calls   uint64
		BytesIn int `json:"bytes_in"`
	}
	Communicators []struct {
		Name, Parent string
		Calls        uint64
	}
	Conditions, NotSeen []struct {
		ID, Text string
		Count    uint64
	}
}

func read(directory string) (k kept, err error) {
	data, err := os.ReadFile(filepath.Join(directory, "run.json"))
	if err == nil {
		err = json.Unmarshal(bytes.ReplaceAll(data, []byte(`"not_seen"`), []byte(`"NotSeen"`)), &k)
	}
	return k, err
}

func (s subject) compile(t *testing.T, m *mpi, directory string) string {
	t.Helper()
	programs, err := filepath.Abs("programs")
	require.NoError(t, err)
	compiler := func(source string) string {
		if filepath.Ext(source) == ".cpp" {
			return m.cxx
		}
		return m.cc
	}
	make := func(out string, arguments []string) {
		source := arguments[len(arguments)-1]
		for _, a := range arguments {
			if strings.HasSuffix(a, ".c") || strings.HasSuffix(a, ".cpp") {
				source = a
			}
		}
		need(t, compiler(source))
		line := append([]string{"-g", "-O1", "-Wall", "-Wno-stringop-overflow", "-Wno-stringop-overread", "-o", filepath.Join(directory, out)}, arguments...)
		for i := range line {
			line[i] = strings.Replace(strings.Replace(strings.Replace(line[i], "@/", programs+"/", 1), "@build/", build+"/", 1), "./", directory+"/", 1)
		}
		output, err := exec.Command(compiler(source), line...).CombinedOutput()
		require.NoError(t, err, "%s %s\n%s", compiler(source), strings.Join(line, " "), output)
	}
	for _, other := range s.made {
		out, arguments, _ := strings.Cut(other, ": ")
		make(out, strings.Fields(arguments))
	}
	make("program", append([]string{"@/" + s.source}, s.flags...))
	return filepath.Join(directory, "program")
}

// survives runs a subject with one library, bare and measured.
func (s subject) survives(t *testing.T, m *mpi) {
	need(t, append(slices.Clone(s.needs), m.launch[0])...)
	directory := t.TempDir()
	var line []string
	switch {
	case s.program != nil:
		line = []string{s.program(t, m)}
	case s.source != "":
		line = []string{s.compile(t, m, directory)}
	}
	here := func(list []string) (out []string) {
		for _, a := range list {
			out = append(out, strings.Replace(strings.ReplaceAll(a, "@/", filepath.Join(top, "test", "survive", "programs")+"/"), "./", directory+"/", 1))
		}
		return out
	}
	line = slices.Concat(s.inside, line, here(s.args))
	launch := append(slices.Clone(m.launch), "-n", fmt.Sprint(max(s.ranks, 1)))
	if s.alone {
		launch = nil
	}
	launch = append(launch, here(s.before)...)
	env := here(s.env)
	bare := run(t, directory, env, append(slices.Clone(launch), line...))
	marple := []string{filepath.Join(build, "marple"), "exec", "--out", filepath.Join(directory, "run"), "--report", "none"}
	measured := run(t, directory, env, slices.Concat(launch, marple, s.exec, []string{"--"}, line))
	// Of ranks that end without MPI_Finalize MPICH's launcher says now this and now that, bare, too: what it says once is allowed.
	for tries := 0; bare.code != measured.code && tries < 4; tries++ {
		bare = run(t, directory, env, append(slices.Clone(launch), line...))
	}
	result := compared(s.name, m, bare, measured)
	same := slices.Equal(bare.printed(), measured.printed())
	if !same {
		result.output = "DIFFERS"
	}
	counted := measured.counted()
	problem := ""
	if len(counted) > 0 {
		result.counts, problem = s.compare(t, filepath.Join(directory, "run"), counted)
	}
	table.add(result)
	require.Equal(t, bare.code, measured.code, "bare:\n%s%s\nmeasured:\n%s%s", bare.out, bare.err, measured.out, measured.err)
	require.True(t, same, "bare:\n%s\nmeasured:\n%s\n%s", strings.Join(bare.printed(), "\n"), strings.Join(measured.printed(), "\n"), measured.err)
	require.Empty(t, problem, measured.err)
	require.NotContains(t, measured.err, "goroutine ", "a core that fails says one line")
}

func compared(name string, m *mpi, bare, measured outcome) line {
	return line{name: name, mpi: m.name, bare: bare.code, measured: measured.code, output: "same", counts: "-"}
}

// compare holds what was counted against the run, which is recovered if nobody has made it yet.
func (s subject) compare(t *testing.T, directory string, counted map[string]uint64) (cell, problem string) {
	t.Helper()
	k, err := read(directory)
	if errors.Is(err, os.ErrNotExist) {
		out, failed := exec.Command(filepath.Join(build, "marple"), "recover", directory).CombinedOutput()
		if k, err = read(directory); err != nil {
			return "LOST", fmt.Sprintf("no run: %v %v\n%s", err, failed, out)
		}
	}
	have := map[string]uint64{}
	for _, f := range k.Functions {
		have[f.Name] += f.Calls
	}
	for _, name := range slices.Sorted(maps.Keys(counted)) {
		want := counted[name]
		cell += fmt.Sprintf("%s %d ", strings.TrimPrefix(name, "MPI_"), have[name])
		if have[name] != want && (!s.killed || have[name] < want) {
			problem += fmt.Sprintf("%s: %d calls made, %d in the run\n", name, want, have[name])
			cell += fmt.Sprintf("OF %d ", want)
		}
	}
	for _, c := range k.Conditions {
		if c.ID == "records-missing" || c.ID == "records-unmerged" {
			problem += c.Text + "\n"
		}
	}
	return strings.TrimSpace(cell), problem
}

func TestSurvive(t *testing.T) {
	for _, s := range subjects {
		if !s.brief && os.Getenv("MARPLE_TEST_LONG") != "1" && os.Getenv("MARPLE_SURVIVE") == "" {
			continue // in make test-long
		}
		t.Run(s.name, func(t *testing.T) {
			on := s.on
			if on == nil {
				on = both
			}
			for _, m := range on {
				t.Run(m.name, func(t *testing.T) { s.survives(t, m) })
			}
		})
	}
}

// A core that fails harms nobody: the program ends as it does bare, one line says so, and text and stack are kept.
func TestCoreFails(t *testing.T) {
	for _, m := range both {
		t.Run(m.name, func(t *testing.T) {
			need(t, m.cc, m.launch[0])
			directory := t.TempDir()
			s := subject{source: "fails.c", flags: []string{"-I", filepath.Join(top, "cshim")}}
			program, to := s.compile(t, m, directory), filepath.Join(directory, "run")
			measured := run(t, directory, nil, slices.Concat(m.launch, []string{"-n", "1", filepath.Join(build, "marple"), "exec", "--out", to, "--", program, to, "0"}))
			require.Equal(t, "exit 3", measured.code, measured.err)
			require.Contains(t, measured.out, "says done")
			require.NotContains(t, measured.err, "goroutine ")
			require.Equal(t, 1, strings.Count(measured.err, "marple: the core failed, see raw/rank-000000.mrl.panic"), measured.err)
			stack, err := os.ReadFile(filepath.Join(to, "raw", "rank-000000.mrl.panic"))
			require.NoError(t, err)
			require.Contains(t, string(stack), "runtime error: ")
			require.Contains(t, string(stack), "goroutine ")
		})
	}
}

// What a call that was left had taken of requests is there for the next one, and the report says that calls were left.
func TestCallsLeft(t *testing.T) {
	need(t, openMPI.cc, openMPI.launch[0]) // MPICH keeps a lock in a call that is left
	directory := t.TempDir()
	program, to := subject{source: "leaves.c", flags: []string{"-pthread"}}.compile(t, openMPI, directory), filepath.Join(directory, "run")
	measured := run(t, directory, nil, slices.Concat(openMPI.launch, []string{"-n", "1", filepath.Join(build, "marple"), "exec", "--out", to, "--", program, "held"}))
	require.Equal(t, "exit 0", measured.code, measured.err)
	k, err := read(to)
	require.NoError(t, err)
	received := -1
	for _, f := range k.Functions {
		if f.Name == "MPI_Irecv" {
			received = f.BytesIn
		}
	}
	require.Equal(t, 100*1000, received, "bytes of messages whose MPI_Waitany was left")
	require.Len(t, k.NotSeen, 1)
	require.Equal(t, "calls-left", k.NotSeen[0].ID)
	require.EqualValues(t, 100, k.NotSeen[0].Count)
}
