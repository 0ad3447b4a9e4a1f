// Python's functions in call paths and samples, with every interpreter that there is: at least Debian's own.
package truth

import (
	"marple/test/harness"

	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"marple/analysis/run"
)

// pythons are interpreters by version, 3.11 say.
func pythons(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for minor := 9; minor <= 13; minor++ {
		version := fmt.Sprintf("3.%d", minor)
		for _, name := range []string{"/usr/bin/python" + version, "python" + version} {
			out, err := exec.Command(name, "-c", "import sys, ctypes; print(sys.executable)").Output()
			if err == nil {
				found[version] = strings.TrimSpace(string(out))
				break
			}
		}
	}
	require.NotEmpty(t, found)
	return found
}

// marked are the lines of a source that end in a comment, and what it says.
func marked(t *testing.T, source string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(source)
	require.NoError(t, err)
	lines := map[string]string{}
	for i, line := range strings.Split(string(text), "\n") {
		if _, comment, ok := strings.Cut(line, "  # "); ok {
			lines[fmt.Sprintf("%s:%d", filepath.Base(source), i+1)] = comment
		}
	}
	return lines
}

// pythonPaths are the calls of MPI_Barrier by the functions of Python's that lead there, the outermost first, each with
// the mark of the line where it goes on.
func pythonPaths(t *testing.T, r *run.Run, source string) map[string]uint64 {
	t.Helper()
	marks, tree, got := marked(t, source), r.Paths(), map[string]uint64{}
	for _, root := range r.CallGraph {
		root.Walk(func(n *run.Node, _ int) bool {
			if n.Name != "MPI_Barrier" || n.Calls == nil {
				return true
			}
			var steps []string
			for below := n; below != root; below = tree.Parent(below) {
				above := tree.Parent(below)
				if above.Kind == "cut" {
					steps = append(steps, "…")
				}
				if !strings.HasPrefix(above.Module, "<") && !strings.HasSuffix(above.Module, ".py") {
					assert.NotContains(t, above.Name, "_PyEval", "the interpreter's own functions are left out")
					continue
				}
				if mark, ok := marks[below.Site]; ok {
					steps = append(steps, above.Name+"@"+mark)
				} else if strings.HasPrefix(below.Site, "<string>") || strings.HasPrefix(below.Site, "end.py") {
					steps = append(steps, above.Name+"@"+below.Site)
				}
			}
			path := ""
			for _, step := range steps {
				path = step + " > " + path
			}
			got[strings.TrimSuffix(path, " > ")] += n.Calls.N
			return true
		})
	}
	return got
}

func TestPathsOfPython(t *testing.T) {
	t.Parallel()
	const ranks = 2
	source := paths("python.py")
	check := func(t *testing.T, mpi *harness.Library, version, python, how string) {
		r, result := mpi.Measured(t, harness.Command{}, ranks, []string{python, source, how})
		require.Zero(t, result.Code, result.Stderr)
		got := pythonPaths(t, r, source)
		line := func(mark string) string {
			for at, is := range marked(t, source) {
				if is == mark {
					return at[strings.Index(at, ":")+1:]
				}
			}
			return ""
		}
		class := "Größe."
		if version == "3.9" || version == "3.10" {
			class = "" // code did not know yet what it is defined in
		}
		want := map[string]uint64{
			"<module>@loop > " + class + "schritt@schritt > lines@first":                                                     5,
			"<module>@loop > " + class + "schritt@schritt > lines@second":                                                    50,
			"<module>@loop > " + class + "schritt@schritt > lines@third":                                                     50,
			"<module>@sorted > " + class + "__call__@called by C":                                                            3,
			"<module>@for > generated@generator":                                                                             7,
			"<module>@calls hostile > " + `\x1b[31m\x0a\u202ered` + strings.Repeat("x", 103) + "…@end.py:" + line("hostile"): 1,
		}
		for i := range 60 {
			want[fmt.Sprintf("<module>@exec > <module>@<string>:%d > f%d@<string>:%d", i%3+3, i, i%3+2)] = 1
		}
		for path, n := range maps.Clone(got) {
			assert.Zero(t, n%ranks, path)
			got[path] = n / ranks
			switch {
			case strings.Contains(path, "deep@deeper"):
				assert.True(t, strings.HasPrefix(path, "… > deep@deeper > deep@deeper > "), path)
				assert.True(t, strings.HasSuffix(path, " > deep@deepest"), path)
				assert.EqualValues(t, ranks, n)
				delete(got, path)
			case strings.HasSuffix(path, "in_thread@thread"):
				assert.EqualValues(t, 2*20*ranks, n)
				delete(got, path)
			}
		}
		assert.Equal(t, want, got)
	}
	harness.EachReal(t, func(t *testing.T, mpi *harness.Library) {
		shared, err := filepath.Glob("/usr/lib/*-linux-gnu/" + mpi.Shared + ".*")
		require.NoError(t, err)
		require.NotEmpty(t, shared)
		if mpi == harness.OpenMPI { // which Debian's mpi4py is built with
			if exec.Command(harness.DebianPython, "-c", "import mpi4py.MPI").Run() != nil {
				harness.Missing(t, "mpi4py")
			}
			t.Run("mpi4py", func(t *testing.T) { check(t, mpi, "3.11", harness.DebianPython, "mpi4py") })
		}
		for version, python := range pythons(t) {
			t.Run(version, func(t *testing.T) { check(t, mpi, version, python, shared[0]) })
		}
	})
}

// A run of Python's is one of a script or a module.
func TestNameOfPythonsProgram(t *testing.T) {
	t.Parallel()
	harness.OpenMPI.Need(t)
	if exec.Command(harness.DebianPython, "-c", "import mpi4py.MPI").Run() != nil {
		harness.Missing(t, "mpi4py")
	}
	directory, application := filepath.Dir(paths("computing.py")), filepath.Join(t.TempDir(), "heat")
	require.NoError(t, os.Mkdir(application, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(application, "__main__.py"), []byte("from mpi4py import MPI"), 0o600))
	for name, words := range map[string][]string{
		"computing.py": {"-u", "-X", "utf8", "-Wignore", filepath.Join(directory, "computing.py"), "0.01"},
		"computing":    {"-Bm", "computing", "0.01"},
		"python3":      {"-c", "from mpi4py import MPI"},
		"heat":         {application + "//"},
		"python3.":     {"-", "input.dat"},
	} {
		c := harness.Command{Environment: []string{"PYTHONPATH=" + directory}, Input: "from mpi4py import MPI"}
		r, result := harness.OpenMPI.Measured(t, c, 1, append([]string{harness.DebianPython}, words...))
		require.Zero(t, result.Code, result.Stderr)
		require.Equal(t, strings.TrimSuffix(name, "."), strings.TrimSuffix(r.Program, ".11"), "%v", words)
	}
}

// Where a program computes is known by its samples: with Debian's interpreter and a virtual environment of it, in the
// main thread and in one without MPI.
func TestSamplesOfPython(t *testing.T) {
	t.Parallel()
	harness.OpenMPI.Need(t)
	if exec.Command(harness.DebianPython, "-c", "import mpi4py.MPI").Run() != nil {
		harness.Missing(t, "mpi4py")
	}
	environment := t.TempDir()
	out, err := exec.Command(harness.DebianPython, "-m", "venv", "--without-pip", "--system-site-packages", environment).CombinedOutput()
	require.NoError(t, err, "%s", out)
	source := paths("computing.py")
	marks := marked(t, source)
	for _, python := range []string{harness.DebianPython, filepath.Join(environment, "bin", "python3")} {
		r, result := harness.OpenMPI.Measured(t, harness.Command{}, 1, []string{python, source, "0.5"}, "--sample", "200")
		require.Zero(t, result.Code, result.Stderr)
		tree, found, lines := r.Paths(), map[string]uint64{}, map[string]uint64{}
		for _, root := range r.CallGraph {
			root.Walk(func(n *run.Node, _ int) bool {
				if n.OwnCode() && tree.Parent(n).Name == "solve" {
					lines[marks[n.Site]] += n.Samples
					found[marks[tree.Parent(n).Site]] += n.Samples
				}
				return true
			})
		}
		t.Logf("%v of %d samples", found, r.Sampling.Samples)
		assert.Greater(t, 4*lines["computed"], lines[""], "the loop's other line does less")
		assert.Greater(t, found["main"], uint64(0))
		assert.Greater(t, found["besides"], uint64(0))
		assert.Greater(t, 2*(found["main"]+found["besides"]), r.Sampling.Samples, "most are there, at 100 of CPU time in each second")
	}
}

// What is not known of an interpreter is said, and nothing of it is read: one that claims to be of another version.
func TestPythonNotKnown(t *testing.T) {
	t.Parallel()
	source := filepath.Join(t.TempDir(), "program.c")
	require.NoError(t, os.WriteFile(source, []byte(`
const unsigned long Py_Version = 0x04020000;
void *PyGILState_GetThisThreadState(void) { __builtin_trap(); }
void *_PyEval_EvalFrameDefault(void) { return 0; }
#include <mpi.h>
int main(int argc, char **argv) { MPI_Init(&argc, &argv); return MPI_Finalize(); }
`), 0o600))
	harness.EachReal(t, func(t *testing.T, mpi *harness.Library) {
		program := filepath.Join(t.TempDir(), "program")
		out, err := exec.Command(mpi.Tool(mpi.Cc), "-rdynamic", "-o", program, source).CombinedOutput()
		require.NoError(t, err, "%s", out)
		r, result := mpi.Measured(t, harness.Command{}, 1, []string{program})
		require.Zero(t, result.Code, result.Stderr)
		require.Len(t, r.NotSeen, 1)
		assert.Equal(t, "Python functions are not named: CPython 4.2 is not known, 3.9 to 3.13 are", r.NotSeen[0].Text)
	})
}
