// Call paths: programs of test/apps/paths say in their first comment which paths must be found, with the number
// of calls on each; whatever compiler, optimisation and debug information.
package truth

import (
	"marple/test/harness"

	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"marple/analysis/run"
	"marple/analysis/words"
)

// A step of a path is a function, a region in brackets, or a function in parentheses that is inlined into the
// one before. At is the line that it goes on at, 0 if that does not matter or is not known.
type step struct {
	name string
	at   int
}

func (s step) inlined() bool { return strings.HasPrefix(s.name, "(") && strings.HasSuffix(s.name, ")") }

func (s step) String() string {
	if s.at == 0 {
		return s.name
	}
	return fmt.Sprintf("%s:%d", s.name, s.at)
}

type callPath struct {
	steps []step
	calls uint64 // on each rank
}

func (p callPath) String() string {
	var names []string
	for _, s := range p.steps {
		names = append(names, s.String())
	}
	return fmt.Sprintf("%s x %d", strings.Join(names, " > "), p.calls)
}

var (
	pathLine = regexp.MustCompile(`^\W*path: (.*) x (\d+)$`)
	label    = regexp.MustCompile(`(?:/\*|//|!) @(\w+)`)
)

// expectedPaths reads the paths from the comments of a program, the first of these sources.
func expectedPaths(t testing.TB, sources ...string) []callPath {
	t.Helper()
	labels := map[string]int{}
	var lines []string
	for i, source := range sources {
		text, err := os.ReadFile(source)
		require.NoError(t, err)
		for n, line := range strings.Split(string(text), "\n") {
			if m := label.FindStringSubmatch(line); m != nil {
				labels[m[1]] = n + 1
			}
			if m := pathLine.FindStringSubmatch(line); m != nil && i == 0 {
				lines = append(lines, line)
			}
		}
	}
	var paths []callPath
	for _, line := range lines {
		m := pathLine.FindStringSubmatch(line)
		calls, err := strconv.ParseUint(m[2], 10, 64)
		require.NoError(t, err)
		p := callPath{calls: calls}
		for _, text := range strings.Split(m[1], " > ") {
			name, at, labelled := strings.Cut(text, "@")
			s := step{name: name, at: labels[at]}
			require.True(t, !labelled || s.at > 0, "%s: no label @%s", line, at)
			p.steps = append(p.steps, s)
		}
		paths = append(paths, p)
	}
	require.NotEmpty(t, paths)
	return paths
}

// foundPaths are the call paths of a run, but for those of MPI_Finalize. All ranks must have all of them.
func foundPaths(t testing.TB, r *run.Run) []callPath {
	t.Helper()
	var paths []callPath
	var visit func(n *run.Node, above []step)
	visit = func(n *run.Node, above []step) {
		steps := slices.Clone(above)
		// Where the caller goes on is known of what it calls: through inlined functions, from the outside in.
		place := func(line int) {
			for i := len(steps) - 1; i >= 0; i-- {
				if !strings.HasPrefix(steps[i].name, "[") {
					steps[i].at = line
					return
				}
			}
		}
		for _, i := range slices.Backward(n.Inlined) {
			place(i.Line)
			steps = append(steps, step{name: "(" + i.Function + ")"})
		}
		switch n.Kind {
		case "frame", "mpi":
			place(n.Line)
			steps = append(steps, step{name: n.Name})
		case "region":
			steps = append(steps, step{name: "[" + n.Name + "]"})
		case "cut", "overflow":
			steps = append(steps, step{name: "<" + n.Name + ">"})
		case "root":
			if n != r.Root() {
				steps = append(steps, step{name: n.Name})
			}
		}
		if n.Kind == "mpi" && n.Name != "MPI_Finalize" {
			assert.EqualValues(t, r.Ranks, n.Exclusive.N, "ranks with %s", callPath{steps: steps})
			paths = append(paths, callPath{steps, n.Calls.N / uint64(r.Ranks)})
		}
		for _, c := range n.Children {
			visit(c, steps)
		}
	}
	for _, root := range r.CallGraph {
		checkSums(t, root)
		visit(root, nil)
	}
	return paths
}

// fits compares a step with an expected one, of which a line of 0 stands for any, and ~ before the name says that it
// may be inlined.
func (s step) fits(expected step) bool {
	if name, either := strings.CutPrefix(expected.name, "~"); either {
		return (s.name == name || s.name == "("+name+")") && (expected.at == 0 || s.at == expected.at)
	}
	return s.name == expected.name && (expected.at == 0 || s.at == expected.at)
}

// matches compares steps with a pattern, in which * stands for any steps.
func matches(pattern, steps []step) bool {
	if len(pattern) == 0 {
		return len(steps) == 0
	}
	if pattern[0].name == "*" {
		return matches(pattern[1:], steps) || len(steps) > 0 && matches(pattern, steps[1:])
	}
	return len(steps) > 0 && steps[0].fits(pattern[0]) && matches(pattern[1:], steps[1:])
}

// withoutLines is what can be known of paths without debug information: functions that have a frame.
func withoutLines(paths []callPath) []callPath {
	var list []callPath
	for _, p := range paths {
		q := callPath{calls: p.calls}
		for _, s := range p.steps {
			if !s.inlined() {
				q.steps = append(q.steps, step{name: s.name})
			}
		}
		list = append(list, q)
	}
	return list
}

// withoutNames is what can be known of paths without any symbols.
func withoutNames(paths []callPath) []callPath {
	list := withoutLines(paths)
	for _, p := range list {
		for i := range p.steps[:len(p.steps)-1] {
			p.steps[i].name = "?"
		}
	}
	return list
}

// joined makes one path of those with equal steps, as of several calls in one line.
func joined(paths []callPath) []callPath {
	var list []callPath
	for _, p := range paths {
		if i := slices.IndexFunc(list, func(q callPath) bool { return slices.Equal(p.steps, q.steps) }); i >= 0 {
			list[i].calls += p.calls
		} else {
			list = append(list, p)
		}
	}
	return list
}

// comparePaths compares lists in any order.
func comparePaths(t testing.TB, expected, found []callPath) {
	t.Helper()
	rest := slices.Clone(found)
	for _, e := range expected {
		i := slices.IndexFunc(rest, func(f callPath) bool { return f.calls == e.calls && matches(e.steps, f.steps) })
		if i < 0 {
			assert.Fail(t, "not found", "%s", e)
			continue
		}
		rest = slices.Delete(rest, i, i+1)
	}
	for _, f := range rest {
		assert.Fail(t, "found, but not there", "%s", f)
	}
}

func paths(name string) string { return harness.Apps(filepath.Join("paths", name)) }

// build compiles without the fixed flags of compile, since flags are what is tested here.
func buildWith(m *harness.Library, t testing.TB, compiler, source string, flags ...string) string {
	t.Helper()
	_, err := os.ReadFile(source) // see artifact
	require.NoError(t, err)
	out := filepath.Join(t.TempDir(), strings.TrimSuffix(filepath.Base(source), filepath.Ext(source)))
	line := append([]string{"-I" + filepath.Join(harness.Top, "cshim", "include"), source, "-o", out}, flags...)
	command := exec.Command(m.Tool(compiler), line...)
	command.Dir = filepath.Dir(out) // Fortran's module files go there
	output, err := command.CombinedOutput()
	require.NoError(t, err, "%s %s\n%s", compiler, strings.Join(line, " "), output)
	return out
}

// other is the library's command of another language.
func other(m *harness.Library, t testing.TB, language string) string {
	t.Helper()
	name := strings.Replace(m.Cc, "mpicc", map[string]string{"C++": "mpicxx", "Fortran": "mpifort"}[language], 1)
	if m == harness.Mock || m.Tool(name) == "" {
		harness.Missing(t, name)
	}
	return name
}

func pathsOf(m *harness.Library, t testing.TB, ranks int, program []string, flags ...string) []callPath {
	t.Helper()
	r, result := m.Measured(t, harness.Command{}, ranks, program, flags...)
	require.Zero(t, result.Code, result.Stderr)
	return foundPaths(t, r)
}

func TestPathsOfC(t *testing.T) {
	t.Parallel()
	harness.OpenMPI.Need(t)
	harness.Mpich.Need(t)
	expected := expectedPaths(t, paths("plain.c"))
	for _, c := range []struct {
		name  string
		mpi   *harness.Library
		know  func([]callPath) []callPath
		flags []string
	}{
		{"O0", harness.OpenMPI, nil, []string{"-g", "-O0"}},
		{"O2", harness.Mpich, nil, []string{"-g", "-O2"}},
		{"O3 frame pointers", harness.OpenMPI, nil, []string{"-g", "-O3", "-fno-omit-frame-pointer"}},
		{"O2 without frame pointers", harness.Mpich, withoutLines, []string{"-O2", "-fomit-frame-pointer"}},
		{"O2 not PIE", harness.OpenMPI, nil, []string{"-g", "-O2", "-no-pie", "-fno-pie"}},
		{"O2 split", harness.Mpich, nil, []string{"-g", "-gsplit-dwarf", "-O2"}},
		{"O2 compressed", harness.OpenMPI, nil, []string{"-g", "-gz", "-O2"}},
		{"O3 stripped", harness.Mpich, withoutNames, []string{"-O3", "-s"}},
		{"O3 AVX", harness.OpenMPI, nil, []string{"-g", "-O3", "-mavx"}},
		{"Os", harness.Mpich, nil, []string{"-g", "-Os"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			want, got := expected, pathsOf(c.mpi, t, 2, []string{buildWith(c.mpi, t, c.mpi.Cc, paths("plain.c"), append(c.flags, "-Wno-stringop-overflow")...)})
			if c.know != nil {
				want, got = c.know(want), c.know(got)
			}
			comparePaths(t, want, got)
		})
	}
}

// Without tables a path says so above the function that made the call, and nothing is lost.
func TestPathsWithoutTables(t *testing.T) {
	t.Parallel()
	harness.OpenMPI.Need(t)
	program := buildWith(harness.OpenMPI, t, harness.OpenMPI.Cc, paths("plain.c"), "-g", "-O1", "-Wl,--no-eh-frame-hdr")
	r, result := harness.OpenMPI.Measured(t, harness.Command{}, 2, []string{program})
	require.Zero(t, result.Code, result.Stderr)
	calls := uint64(0)
	for _, p := range foundPaths(t, r) {
		assert.Len(t, p.steps, 3, p)
		assert.Equal(t, "<callers that could not be found>", p.steps[0].name)
		calls += p.calls
	}
	want := uint64(0)
	for _, p := range expectedPaths(t, paths("plain.c")) {
		want += p.calls
	}
	assert.Equal(t, want, calls)
	assert.Contains(t, fmt.Sprint(r.NotSeen), "the callers of "+words.Number(2*(want+1))+" MPI calls could not be found") // MPI_Finalize
}

func TestPathsOfInlinedFunctions(t *testing.T) {
	t.Parallel()
	for _, flags := range [][]string{{"-g", "-O2"}, {"-g", "-gdwarf-4", "-O1"}, {"-g", "-gsplit-dwarf", "-O3"}} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			harness.Mpich.Need(t)
			program := buildWith(harness.Mpich, t, harness.Mpich.Cc, paths("inlined.c"), flags...)
			comparePaths(t, expectedPaths(t, paths("inlined.c")), joined(pathsOf(harness.Mpich, t, 2, []string{program})))
		})
	}
}

func TestPathsOfCxx(t *testing.T) {
	t.Parallel()
	for flag, mpi := range map[string]*harness.Library{"-O0": harness.OpenMPI, "-O2": harness.Mpich, "-O3": harness.OpenMPI} {
		t.Run(flag, func(t *testing.T) {
			mpi.Need(t)
			program := buildWith(mpi, t, other(mpi, t, "C++"), paths("names.cc"), "-g", flag)
			comparePaths(t, expectedPaths(t, paths("names.cc")), pathsOf(mpi, t, 2, []string{program}))
		})
	}
}

func TestPathsOfFortran(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		source, flag string
		mpi          *harness.Library
	}{{"modules.f90", "-O0", harness.OpenMPI}, {"modules.f90", "-O2", harness.Mpich}, {"f08.f90", "-O2", harness.OpenMPI}, {"f08.f90", "-O1", harness.Mpich}} {
		t.Run(c.mpi.Name+" "+c.source, func(t *testing.T) {
			c.mpi.Need(t)
			program := buildWith(c.mpi, t, other(c.mpi, t, "Fortran"), paths(c.source), "-g", "-fno-inline", "-fno-optimize-sibling-calls", "-fno-ipa-icf", c.flag)
			comparePaths(t, expectedPaths(t, paths(c.source)), pathsOf(c.mpi, t, 2, []string{program}))
		})
	}
}

// A plugin that comes to lie where another one was is told apart, although every address is the same.
func TestPathsOfUnloadedModules(t *testing.T) {
	t.Parallel()
	for _, mpi := range []*harness.Library{harness.OpenMPI, harness.Mpich} {
		t.Run(mpi.Name, func(t *testing.T) {
			mpi.Need(t)
			program := []string{buildWith(mpi, t, mpi.Cc, paths("loading.c"), "-g", "-O2", "-ldl")}
			for _, name := range []string{"one", "two", "three"} {
				program = append(program, buildWith(mpi, t, mpi.Cc, paths("plugin.c"), "-g", "-O2", "-shared", "-fPIC", "-DNAME="+name))
			}
			r, result := mpi.Measured(t, harness.Command{}, 2, program)
			require.Zero(t, result.Code, result.Stderr)
			require.Equal(t, "8\n", result.Stdout, "the plugins must lie at one place for this to be a test")
			comparePaths(t, expectedPaths(t, paths("loading.c"), paths("plugin.c")), joined(foundPaths(t, r)))
		})
	}
}

func TestPathsOfThreads(t *testing.T) {
	t.Parallel()
	for _, mpi := range []*harness.Library{harness.OpenMPI, harness.Mpich} {
		t.Run(mpi.Name, func(t *testing.T) {
			mpi.Need(t)
			program := buildWith(mpi, t, mpi.Cc, paths("threads.c"), "-g", "-O2", "-pthread")
			comparePaths(t, expectedPaths(t, paths("threads.c")), pathsOf(mpi, t, 2, []string{program}))
		})
	}
}

func TestPathsAndRegions(t *testing.T) {
	t.Parallel()
	for flag, mpi := range map[string]*harness.Library{"-O0": harness.OpenMPI, "-O2": harness.Mpich} {
		t.Run(flag, func(t *testing.T) {
			mpi.Need(t)
			program := buildWith(mpi, t, mpi.Cc, paths("regions.c"), "-g", flag, "-ldl")
			comparePaths(t, expectedPaths(t, paths("regions.c")), pathsOf(mpi, t, 2, []string{program}))
		})
	}
}

func TestPathsThroughAWrapper(t *testing.T) {
	t.Parallel()
	harness.Mpich.Need(t)
	for _, flag := range []string{"-O0", "-O2"} {
		comparePaths(t, expectedPaths(t, paths("wrapped.c")), pathsOf(harness.Mpich, t, 2, []string{buildWith(harness.Mpich, t, harness.Mpich.Cc, paths("wrapped.c"), "-g", flag)}))
	}
}

// Of a stack that is deeper than a path may be, the innermost functions are told, and that there are others.
func TestPathsAreBounded(t *testing.T) {
	t.Parallel()
	harness.Mpich.Need(t)
	program := buildWith(harness.Mpich, t, harness.Mpich.Cc, paths("deep.c"), "-O1")
	again := func(n int) []step { return slices.Repeat([]step{{name: "again"}}, n) }
	whole := func(n int) []step { return append([]step{{name: "main"}}, again(n-1)...) }
	cut := func(n int) []step {
		return append([]step{{name: "<callers beyond the depth that was asked for>"}}, again(n)...)
	}
	for _, c := range []struct {
		flags  []string
		depths []string
		want   []callPath
	}{
		{nil, []string{"3", "31", "32", "33", "34", "500"}, []callPath{{whole(3), 1}, {whole(31), 1}, {whole(32), 1}, {cut(32), 3}}},
		{[]string{"--callpath", "4"}, []string{"2", "3", "4", "5", "60"}, []callPath{{whole(2), 1}, {whole(3), 1}, {whole(4), 1}, {cut(4), 2}}},
		{[]string{"--callpath", "128"}, []string{"128", "129", "200"}, []callPath{{whole(128), 1}, {cut(128), 2}}},
		{[]string{"--callpath", "2"}, []string{"2", "3", "9"}, []callPath{{whole(2), 1}, {cut(2), 2}}},
		{[]string{"--callpath", "site"}, []string{"2", "9"}, []callPath{{again(1), 2}}},
		{[]string{"--callpath", "off"}, []string{"2", "9"}, []callPath{{nil, 2}}},
	} {
		t.Run(strings.Join(c.flags, " "), func(t *testing.T) {
			for i := range c.want {
				c.want[i].steps = append(c.want[i].steps, step{name: "MPI_Barrier"})
			}
			comparePaths(t, c.want, withoutLines(pathsOf(harness.Mpich, t, 1, append([]string{program}, c.depths...), c.flags...)))
		})
	}
}

// charges are nanoseconds that are charged to functions themselves on the first rank, and how often they began.
func charges(r *run.Run) map[string]string {
	got := map[string]string{}
	var visit func(n *run.Node, above string)
	visit = func(n *run.Node, above string) {
		if n.Kind == "frame" {
			above = strings.TrimPrefix(above+" > "+n.Name, " > ")
			sum, calls := uint64(0), uint64(0)
			for _, c := range n.Children {
				if c.Kind == "gap" {
					sum += c.PerRank[0].Exclusive
				}
			}
			if n.Calls != nil {
				calls = n.Calls.N / uint64(r.Ranks)
			}
			if sum > 0 {
				got[above] = fmt.Sprintf("%d in %d", sum, calls)
			}
		}
		for _, c := range n.Children {
			visit(c, above)
		}
	}
	visit(r.Root(), "")
	return got
}

func TestTimeBetweenCallsIsChargedToFunctions(t *testing.T) {
	t.Parallel()
	harness.Mock.Need(t)
	text, err := os.ReadFile(paths("gaps.c"))
	require.NoError(t, err)
	for kind, flags := range map[string][]string{"time": {"-O1", "-g"}, "exact": {"-O1", "-g", "-finstrument-functions", "-finstrument-functions-exclude-function-list=work_ns,cpu_ns"}} {
		t.Run(kind, func(t *testing.T) {
			want := map[string]string{}
			for _, m := range regexp.MustCompile(`(?m)^ \*     (\w+): (.*?) (\d+)( in \d+)?$`).FindAllStringSubmatch(string(text), -1) {
				if m[1] == kind {
					want[m[2]] = m[3] + m[4]
					if m[4] == "" {
						want[m[2]] += " in 0"
					}
				}
			}
			require.NotEmpty(t, want)
			program := buildWith(harness.Mock, t, harness.Mock.Cc, paths("gaps.c"), append(flags, "-fno-optimize-sibling-calls")...)
			directory := filepath.Join(t.TempDir(), "run")
			line := append(harness.Mock.Launch(2, "--virtual"), harness.Artifact(t, "marple"), "exec", "--clock", "external", "--out", directory, "--", program)
			result := harness.Command{}.Run(t, line...)
			require.Zero(t, result.Code, result.Stderr)
			r := harness.ReadRun(t, directory)
			require.Equal(t, want, charges(r))
			require.Zero(t, r.Core.OffCore)
			require.Equal(t, r.Core.Wall, r.Root().Inclusive.Sum)
			checkSums(t, r.Root())
		})
	}
}

// checkSums holds a tree against what a call graph promises: inclusive is exclusive and children, to the nanosecond.
func checkSums(t testing.TB, n *run.Node) {
	t.Helper()
	sum := n.Exclusive.Sum
	for _, c := range n.Children {
		sum += c.Inclusive.Sum
		checkSums(t, c)
	}
	require.Equal(t, n.Inclusive.Sum, sum, n.Name)
}

// Functions that say when they begin and end, left by returning, by exceptions and by longjmp, too deep for all to be
// kept, and among others that say nothing.
func TestInstrumentedFunctions(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(paths("hooks.cc"))
	require.NoError(t, err)
	want := map[string]uint64{}
	for _, m := range regexp.MustCompile(`(?m)^ \*     calls: (\w+) (\d+)$`).FindAllStringSubmatch(string(text), -1) {
		want[m[1]], _ = strconv.ParseUint(m[2], 10, 64)
	}
	require.NotEmpty(t, want)
	for flag, mpi := range map[string]*harness.Library{"-O0": harness.OpenMPI, "-O2": harness.Mpich} {
		t.Run(flag, func(t *testing.T) {
			mpi.Need(t)
			program := buildWith(mpi, t, other(mpi, t, "C++"), paths("hooks.cc"), "-g", flag, "-finstrument-functions", "-ldl")
			r, result := mpi.Measured(t, harness.Command{}, 2, []string{program})
			require.Zero(t, result.Code, result.Stderr)
			comparePaths(t, expectedPaths(t, paths("hooks.cc")), foundPaths(t, r))
			got := map[string]uint64{}
			r.Root().Walk(func(n *run.Node, _ int) bool {
				if n.Kind == "frame" && n.Calls != nil {
					got[n.Name] += n.Calls.N / 2
				}
				return true
			})
			require.LessOrEqual(t, got["deep"], uint64(301))
			require.Greater(t, got["deep"], uint64(100))
			delete(got, "deep")
			require.Equal(t, want, got)
			require.Contains(t, fmt.Sprint(r.NotSeen), "nested too deeply")
			require.NotContains(t, fmt.Sprint(r.NotSeen), "matched no open region")
		})
	}
}
