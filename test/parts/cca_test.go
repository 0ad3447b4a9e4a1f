// Assemblies of components, made by the framework in test/cca out of shared libraries and a script.
package parts

import (
	"marple/test/harness"

	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"marple/analysis/run"
)

func cca(name string) string { return filepath.Join(harness.Top, "test", "cca", name) }

// cxx builds C++ sources as users do; the names are those of files, the other arguments the compiler's.
func cxx(m *harness.Library, t testing.TB, out string, arguments ...string) {
	t.Helper()
	line := []string{"-x", "c++", "-std=c++17", "-O1", "-g1", "-Wall", "-Wextra", "-Wpedantic", "-Werror",
		"-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX", "-I" + cca("include"), "-I" + filepath.Join(harness.Top, "cshim", "include")}
	harness.Cc(t, out, m.Tool(m.Cc), slices.Concat(line, arguments, []string{"-ldl", "-lstdc++", "-lm"})...)
}

// An assembly is a directory with the framework, libraries of components, and scripts.
type assembly struct {
	mpi              *harness.Library
	directory, ccafe string
}

// frameworks are those that are built, by MPI library.
var frameworks = struct {
	sync.Mutex
	made map[string]string
}{made: map[string]string{}}

func framework(m *harness.Library, t testing.TB) *assembly {
	t.Helper()
	frameworks.Lock()
	defer frameworks.Unlock()
	if frameworks.made[m.Name] == "" {
		out := filepath.Join(harness.Counters.Directory, "ccafe-"+m.Cc)
		cxx(m, t, out, "-rdynamic", cca("framework.cpp"), cca("main.cpp"))
		frameworks.made[m.Name] = out
	}
	return &assembly{m, t.TempDir(), frameworks.made[m.Name]}
}

func (a *assembly) path(name string) string { return filepath.Join(a.directory, name) }

// library builds a library of components; each class has a function create_CLASS in it.
func (a *assembly) library(t testing.TB, name string, classes []string, arguments ...string) {
	t.Helper()
	cxx(a.mpi, t, a.path("lib"+name+".so"), append([]string{"-shared", "-fPIC", "-I" + a.directory}, arguments...)...)
	text := "!componentType=classic\nlib" + name + ".so\n"
	for _, class := range classes {
		text += "create_" + class + " " + class + "\n"
	}
	require.NoError(t, os.WriteFile(a.path(name+".cca"), []byte(text), 0o600))
}

// script writes one that has the assembly's classes in its path.
func (a *assembly) script(t testing.TB, lines ...string) []string {
	t.Helper()
	text := strings.Join(slices.Concat([]string{"#!ccaffeine bootstrap file.", "path set " + a.directory}, lines, []string{"bye", ""}), "\n")
	require.NoError(t, os.WriteFile(a.path("assembly.rc"), []byte(text), 0o600))
	return []string{a.ccafe, "--ccafe-rc", "assembly.rc"}
}

// create loads classes and makes an instance of each: "CLASS INSTANCE".
func create(pairs ...string) (lines []string) {
	for _, pair := range pairs {
		class, _, _ := strings.Cut(pair, " ")
		lines = append(lines, "repository get-global "+class, "create "+pair)
	}
	return lines
}

var parts = []string{"Doubled", "Squared", "Caller", "Ring", "Faulty", "Unwilling", "Missing"}

func TestFramework(t *testing.T) {
	t.Parallel()
	harness.Each(t, func(t *testing.T, mpi *harness.Library) {
		a := framework(mpi, t)
		a.library(t, "parts", parts, cca("parts.cpp"))
		c := harness.Command{Directory: a.directory}
		r := mpi.Bare(t, c, 3, a.script(t, append(create("Ring ring"), "go ring go")...)...)
		require.Zero(t, r.Code, r.Stderr)
		require.Equal(t, "sum of 3 ranks: 3\n", r.Stdout)

		r = mpi.Bare(t, c, 2, a.script(t, append(create("Faulty f"), "go f go")...)...)
		require.Equal(t, 1, r.Code, r.Stderr)
		require.Contains(t, r.Stderr, "assembly.rc:5: go: out of paper\n")

		r = mpi.Bare(t, c, 1, a.script(t, append(create("Doubled d", "Squared s", "Caller c"),
			"create Doubled e # a comment", "",
			"connect c number d number", "parameters c parameters x 7", "go c go",
			"disconnect c number d number", "remove d", "connect c number s number", "run c go", "pallet", "rep list", "arena")...)...)
		require.Zero(t, r.Code, r.Stderr)
		require.Equal(t, `c: 14
c: 49
classes that are loaded:
    Caller
    Doubled
    Squared
classes in the path:
    Caller
    Doubled
    Faulty
    Missing
    Ring
    Squared
    Unwilling
s of Squared
    provides number (Number)
c of Caller
    provides go (GoPort)
    provides parameters (ParameterPort)
    uses number (Number) of s number
e of Doubled
    provides number (Number)
`, r.Stdout)
	})
}

// What is wrong in a script is said once, with its line, and every process ends.
func TestFrameworkErrors(t *testing.T) {
	t.Parallel()
	harness.Mock.Need(t)
	a := framework(harness.Mock, t)
	a.library(t, "parts", parts, cca("parts.cpp"))
	require.NoError(t, os.WriteFile(a.path("zzz.cca"), []byte("libzzz.so\ncreate_Lost Lost\n"), 0o600))
	made := create("Doubled d", "Ring r", "Caller c")
	for _, test := range []struct {
		name  string
		lines []string
		line  string // of the script's, after those that make the instances: the last one is wrong
	}{
		{"command", []string{"conect c number d number"}, "conect: unknown command conect; there are: path, repository, pallet, create, connect, disconnect, remove, parameters, arena, go, bye"},
		{"usage", []string{"connect c number d"}, "connect: expected: connect USER USESPORT PROVIDER PROVIDESPORT"},
		{"class", []string{"repository get-global Tripled"}, "repository: no class Tripled in the path; there are: Caller, Doubled, Faulty, Lost, Missing, Ring, Squared, Unwilling"},
		{"subcommand", []string{"repository put Tripled"}, "repository: expected get-global, get or list, not put"},
		{"nothing", []string{"repository get-global"}, "repository: repository get-global: which class?"},
		{"path", []string{"path set /none"}, "path: path: /none: No such file or directory"},
		{"library", []string{"repository get-global Lost"}, "repository: cannot load it: "},
		{"function", []string{"repository get Missing"}, "has no function create_Missing; its .cca file names it"},
		{"not loaded", []string{"create Squared s"}, "create: class Squared is not loaded; say before: repository get-global Squared"},
		{"twice", []string{"create Doubled c"}, "create: there is an instance c already, of class Caller"},
		{"throws", []string{"repository get Unwilling", "create Unwilling u"}, "create: not today"},
		{"instance", []string{"connect c number f number"}, "connect: no instance f; there are: c, d, r"},
		{"uses port", []string{"connect c numbr d number"}, "connect: c has no uses port numbr; it has: number"},
		{"provides port", []string{"connect c number r number"}, "connect: r has no provides port number; it has: go"},
		{"type", []string{"connect c number r go"}, "connect: c uses a port of type Number, and r provides one of type GoPort"},
		{"connected", []string{"connect c number d number", "connect c number d number"}, "connect: c's port number is connected to d already; disconnect it first"},
		{"not connected", []string{"disconnect c number d number"}, "disconnect: c's port number is not connected to d's number"},
		{"used", []string{"connect c number d number", "remove d"}, "remove: d is in use by c; disconnect it first"},
		{"go", []string{"go d number"}, "go: d's port number is no GoPort, but of type Number"},
		{"parameter", []string{"parameters c parameters y 1"}, "parameters: no parameter y; there are: keep, x"},
		{"value", []string{"parameters c parameters x 1.5"}, "parameters: x: expected a whole number, not 1.5"},
	} {
		t.Run(test.name, func(t *testing.T) {
			at := "assembly.rc:" + strconv.Itoa(2+len(made)+len(test.lines)) + ": "
			r := harness.Mock.Bare(t, harness.Command{Directory: a.directory}, 2, a.script(t, slices.Concat(made, test.lines)...)...)
			require.Equal(t, 1, r.Code)
			require.Empty(t, r.Stdout)
			require.Contains(t, r.Stderr, at)
			require.Contains(t, r.Stderr, test.line)
			require.LessOrEqual(t, strings.Count(r.Stderr, "assembly.rc:"), 2, "said once, or by both ranks at the same moment: %s", r.Stderr)
		})
	}
	one := func(lines ...string) harness.Result {
		return harness.Mock.Bare(t, harness.Command{Directory: a.directory}, 1, a.script(t, slices.Concat(made, lines)...)...)
	}
	connected := "connect c number d number"
	require.Contains(t, one("go c go").Stderr, "assembly.rc:9: go: port number is not connected\n")
	require.Contains(t, one(connected, "parameters c parameters x -1", "go c go").Stderr, "go: c go returned 3\n")
	require.Contains(t, one(connected, "parameters c parameters keep 1", "go c go", "disconnect c number d number").Stderr,
		"disconnect: c's port number is in use\n")
	r := harness.Mock.Bare(t, harness.Command{Directory: a.directory}, 2, a.ccafe, "none.rc")
	require.Equal(t, 2, r.Code)
	require.Equal(t, "ccafe: cannot read none.rc: No such file or directory\n", r.Stderr)
}

// Mastermind and TAU's component under Marple and without it: what they say of times is checked by the component that
// knows them; what Marple has recorded of the same is in the run.
func TestMastermind(t *testing.T) {
	t.Parallel()
	harness.Each(t, func(t *testing.T, mpi *harness.Library) {
		a := framework(mpi, t)
		a.library(t, "measured", []string{"Driver", "Tau", "Mastermind"}, cca("measured.cpp"))
		script := a.script(t, append(create("Driver driver", "Tau tau", "Mastermind mastermind"),
			"connect driver monitor mastermind MonitorPort",
			"connect driver perfparam mastermind PerfParamPort",
			"connect driver measurement tau MeasurementPort",
			"go driver go")...)
		c := harness.Command{Directory: a.directory}
		r := mpi.Bare(t, c, 2, script...)
		require.Zero(t, r.Code, r.Stderr)
		for rank := range 2 {
			rows := textLines(t, a.path(fmt.Sprintf("outer.csv.%d", rank)))
			require.Equal(t, "n,wall,mpi,compute", rows[0])
			require.Len(t, rows, 5)
			require.Equal(t, rows, textLines(t, a.path(fmt.Sprintf("now.csv.%d", rank))))
			require.Contains(t, textLines(t, a.path(fmt.Sprintf("timers.%d.0.0", rank)))[2], `".TAU application" 1 `)
		}
		measured, r := mpi.Measured(t, c, 2, script)
		require.Zero(t, r.Code, r.Stderr)
		checkMastermind(t, measured)
		if mpi == harness.Mock {
			checkMastermind(t, mpi.Virtual(t, c, 2, script))
		}
	})
}

func checkMastermind(t testing.TB, r *run.Run) {
	t.Helper()
	calls := map[string]uint64{}
	r.Root().Walk(func(n *run.Node, _ int) bool {
		switch {
		case n.Component != "":
			calls[n.Component+"."+n.Method] += n.Calls.N
		case n.Kind == "region":
			calls[n.Name] += n.Calls.N
		}
		return true
	})
	require.EqualValues(t, 2*4, calls["Outer.compute"], "%v", calls)
	require.EqualValues(t, 2*4, calls["Inner.solve"])
	require.NotContains(t, calls, "Quiet.run")
	require.EqualValues(t, 2*4, calls["inner"])
	var notes []string
	for _, n := range r.NotSeen {
		notes = append(notes, n.ID)
	}
	require.Contains(t, notes, "mpi-off")
}

func textLines(t testing.TB, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}
