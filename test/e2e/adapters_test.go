// Adapters: programs that say what they do to any tool that listens, as they are.
package e2e

import (
	"marple/test/harness"

	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"marple/analysis/run"
)

// adapted is a program of test/apps/adapters, built by the compiler behind Open MPI's commands.
func adapted(t testing.TB, compiler, command, source string, flags ...string) string {
	t.Helper()
	harness.OpenMPI.Need(t)
	if _, err := exec.LookPath(compiler); err != nil {
		harness.Missing(t, compiler)
	}
	out := filepath.Join(t.TempDir(), strings.TrimSuffix(source, filepath.Ext(source)))
	source = harness.Apps("adapters/" + source)
	_, err := os.ReadFile(source) // see artifact
	require.NoError(t, err)
	build := exec.Command(command, slices.Concat([]string{"-O1", "-fno-optimize-sibling-calls", "-g", "-Wall", "-Wextra", "-o", out, source}, flags)...)
	build.Env = append(os.Environ(), "OMPI_CC="+compiler, "OMPI_CXX="+compiler)
	text, err := build.CombinedOutput()
	require.NoError(t, err, "%s", text)
	return out
}

func has(t testing.TB, file, of string) {
	if _, err := os.Stat(file); err != nil {
		harness.Missing(t, of)
	}
}

// told is a region as an adapter tells of it.
type told struct {
	name, group string
	calls       uint64
}

// tells holds a run to the regions that it must have, and says what regions of the adapter there are besides.
func tells(t testing.TB, r *run.Run, prefix string, want ...told) (others []string) {
	t.Helper()
	calls := map[told]uint64{}
	for _, root := range r.CallGraph {
		root.Walk(func(n *run.Node, _ int) bool {
			if n.Kind == "region" && len(n.Groups) > 0 && strings.HasPrefix(n.Groups[0], prefix) {
				calls[told{n.Name, n.Groups[0], 0}] += n.Calls.N
			}
			return true
		})
	}
	for _, w := range want {
		key := told{w.name, w.group, 0}
		assert.Equal(t, w.calls, calls[key], "%s in %s", w.name, w.group)
		delete(calls, key)
	}
	for other := range calls {
		others = append(others, other.name)
	}
	slices.Sort(others)
	return others
}

func reportedValue(t testing.TB, r *run.Run, name string) run.Reals {
	t.Helper()
	i := slices.IndexFunc(r.AtomicEvents, func(a run.AtomicEvent) bool { return a.Name == name })
	require.GreaterOrEqual(t, i, 0, "%s in %v", name, r.AtomicEvents)
	return r.AtomicEvents[i].Values
}

// The Kokkos of Trilinos, whose version 3.5 asks for a tool by a variable of its own.
func TestKokkos(t *testing.T) {
	t.Parallel()
	has(t, "/usr/include/trilinos/Kokkos_Core.hpp", "libtrilinos-kokkos-dev")
	program := adapted(t, "g++", "mpicxx.openmpi", "kokkos.cpp", "-std=c++17", "-fopenmp", "-Wno-unused-parameter", "-isystem", "/usr/include/trilinos", "-ltrilinos_kokkoscore")
	c := harness.Command{Directory: t.TempDir(), Environment: []string{"OMP_NUM_THREADS=1", "OMP_PROC_BIND=false"}}
	bare := harness.OpenMPI.Bare(t, c, 2, program)
	c.Environment = append(c.Environment, "KOKKOS_PROFILE_LIBRARY="+harness.Artifact(t, "libmarple.so"))
	r, end := harness.OpenMPI.Measured(t, c, 2, []string{program})
	assert.Equal(t, bare.Stdout, end.Stdout)
	assert.Equal(t, bare.Code, end.Code)
	tells(t, r, "Kokkos", told{"axpy", "Kokkos::parallel_for", 20}, told{"smooth", "Kokkos::parallel_for", 20},
		told{"norm", "Kokkos::parallel_reduce", 20}, told{"time step", "Kokkos region", 20}, told{"smoothing", "Kokkos section", 20},
		told{"deep_copy from Host to Host", "Kokkos::deep_copy", 20})
	copied := reportedValue(t, r, "Kokkos bytes copied from Host to Host")
	assert.Equal(t, uint64(20), copied.N)
	assert.Equal(t, 800000.0, copied.Max)
	assert.GreaterOrEqual(t, reportedValue(t, r, "Kokkos bytes allocated in Host").Max, 1600000.0)
	assert.Contains(t, end.Stderr, "Kokkos bytes allocated in Host")
}

// The callbacks of Kokkos 4, and the variable that marple exec sets for it.
func TestKokkosToolsLibs(t *testing.T) {
	t.Parallel()
	program := adapted(t, "gcc", "mpicc.openmpi", "kokkos_host.c", "-ldl")
	c := harness.Command{Directory: t.TempDir()}
	r, end := harness.OpenMPI.Measured(t, c, 2, []string{program})
	require.Zero(t, end.Code, end.Stderr)
	assert.Equal(t, "done\ndone\n", end.Stdout)
	assert.Empty(t, tells(t, r, "Kokkos", told{"outer", "Kokkos region", 6}, told{"inner", "Kokkos region", 6},
		told{"offsets", "Kokkos::parallel_scan", 6}, told{"wait for offsets", "Kokkos::fence", 6},
		told{"deep_copy from Host to Cuda", "Kokkos::deep_copy", 6}))
	assert.Equal(t, 3000.0, reportedValue(t, r, "Kokkos bytes allocated in Cuda").Max)
	assert.Equal(t, []run.Metadata{{Name: "GPU", Value: "none", Ranks: 2, Same: true}}, r.Metadata)

	c.Environment = []string{"KOKKOS_TOOLS_LIBS=/another/tool.so"}
	r, end = harness.OpenMPI.Measured(t, c, 2, []string{program})
	require.Zero(t, end.Code, end.Stderr)
	assert.Empty(t, tells(t, r, "Kokkos"), "the user's tool is the tool")
	c.Environment = nil
	r, _ = harness.OpenMPI.Measured(t, c, 2, []string{program}, "--adapters", "petsc,ompt")
	assert.Empty(t, tells(t, r, "Kokkos"), "not asked for")
}

func TestPerfStubs(t *testing.T) {
	t.Parallel()
	program := adapted(t, "gcc", "mpicc.openmpi", "perfstubs.c", "-ldl")
	c := harness.Command{Directory: t.TempDir()}
	want := []told{{"advance particles", "PerfStubs", 10}, {"deposit charge", "PerfStubs", 10}, {"push", "PerfStubs phase", 10}}
	r, end := harness.OpenMPI.Measured(t, c, 2, []string{program})
	require.Zero(t, end.Code, end.Stderr)
	assert.Empty(t, tells(t, r, "PerfStubs", want...))
	inPhase := 0
	for _, root := range r.CallGraph {
		root.Walk(func(n *run.Node, _ int) bool {
			if n.Name == "phase 7" {
				n.Walk(func(n *run.Node, _ int) bool {
					if n.Name == "MPI_Barrier" {
						inPhase += int(n.Calls.N)
					}
					return true
				})
			}
			return true
		})
	}
	assert.Equal(t, 2, inPhase, "calls of MPI_Barrier in the phase that was not paused")
	particles := reportedValue(t, r, "particles")
	assert.Equal(t, [2]float64{1000.5, 1004.5}, [2]float64{particles.Min, particles.Max})
	assert.Equal(t, []run.Metadata{{Name: "species", Value: "electrons", Ranks: 2, Same: true}}, r.Metadata)

	other := adapted(t, "gcc", "mpicc.openmpi", "other_tools.c", "-shared", "-fPIC")
	c.Environment = []string{"LD_PRELOAD=" + other}
	r, end = harness.OpenMPI.Measured(t, c, 2, []string{program})
	assert.Empty(t, tells(t, r, "PerfStubs", want...))
	assert.Equal(t, 2, strings.Count(end.Stderr, "the other tool saw 5 timers\n"), end.Stderr)
}

// The markers are as the macros of LIKWID's own header make them, and its library is called as ever.
func TestLIKWID(t *testing.T) {
	t.Parallel()
	has(t, "/usr/include/likwid-marker.h", "likwid")
	program := adapted(t, "gcc", "mpicc.openmpi", "likwid.c", "-DLIKWID_PERFMON", "-llikwid")
	c := harness.Command{Directory: t.TempDir()}
	bare := harness.OpenMPI.Bare(t, c, 2, program)
	require.Zero(t, bare.Code, bare.Stderr)
	r, end := harness.OpenMPI.Measured(t, c, 2, []string{program})
	assert.Equal(t, bare.Stdout, end.Stdout)
	assert.Equal(t, bare.Code, end.Code)
	said := strings.Split(strings.TrimSpace(bare.Stderr), "\n")[0]
	assert.Equal(t, strings.Count(bare.Stderr, said), strings.Count(end.Stderr, said), "LIKWID is asked as ever")
	assert.Empty(t, tells(t, r, "LIKWID", told{"sweep", "LIKWID", 20}, told{"reduce", "LIKWID", 20}))

	r, _ = harness.OpenMPI.Measured(t, c, 2, []string{program}, "--adapters", "nvtx")
	assert.Empty(t, tells(t, r, "LIKWID"), "not asked for")
}

func TestNVTX(t *testing.T) {
	t.Parallel()
	program := adapted(t, "gcc", "mpicc.openmpi", "nvtx.c", "-ldl", "-lpthread")
	c := harness.Command{Directory: t.TempDir()}
	bare := harness.OpenMPI.Bare(t, c, 1, program)
	require.Zero(t, bare.Code, bare.Stderr)
	r, end := harness.OpenMPI.Measured(t, c, 1, []string{program})
	assert.Equal(t, bare.Stdout, end.Stdout, "calls give what they give without a tool")
	assert.Zero(t, end.Code, end.Stderr)
	assert.Empty(t, tells(t, r, "NVTX", told{"step", "NVTX", 10}, told{"in?", "NVTX", 10}, told{"checkpoint", "NVTX", 10}, told{"NVTX", "NVTX", 2}))
	assert.Empty(t, tells(t, r, "solver", told{"smooth", "solver", 10}))
	number := reportedValue(t, r, "smooth")
	assert.Equal(t, [3]float64{10, 0.5, 9.5}, [3]float64{float64(number.N), number.Min, number.Max})
	for _, name := range []string{"transfer (s)", "overlapping (s)"} {
		seconds := reportedValue(t, r, name)
		assert.EqualValues(t, 1, seconds.N, name)
		assert.GreaterOrEqual(t, seconds.Min, 0.02, name)
	}

	c.Environment = []string{"NVTX_INJECTION64_PATH=/another/tool.so"}
	r, end = harness.OpenMPI.Measured(t, c, 1, []string{program})
	require.Zero(t, end.Code, end.Stderr)
	assert.Empty(t, tells(t, r, "NVTX"), "the user's tool is the tool")
	c.Environment = nil
	r, _ = harness.OpenMPI.Measured(t, c, 1, []string{program}, "--adapters", "petsc,ompt")
	assert.Empty(t, tells(t, r, "NVTX"), "not asked for")
}

func TestPETSc(t *testing.T) {
	t.Parallel()
	const configured = "/usr/lib/petscdir/petsc3.18/x86_64-linux-gnu-real/lib/pkgconfig"
	has(t, configured, "libpetsc-real-dev")
	ask := exec.Command("pkg-config", "--cflags", "--libs", "PETSc")
	ask.Env = append(os.Environ(), "PKG_CONFIG_PATH="+configured)
	flags, err := ask.Output()
	require.NoError(t, err)
	program := adapted(t, "gcc", "mpicc.openmpi", "petsc.c", append([]string{"-Wno-unused-parameter"}, strings.Fields(string(flags))...)...)
	c := harness.Command{Directory: t.TempDir()}
	bare := harness.OpenMPI.Bare(t, c, 2, program)
	require.Zero(t, bare.Code, bare.Stderr)
	want := []told{{"Assembly", "PETSc stage", 2}, {"FillRows", "PETSc event", 4}}
	r, end := harness.OpenMPI.Measured(t, c, 2, []string{program})
	assert.Equal(t, bare, harness.Result{Code: end.Code, Stdout: end.Stdout, Stderr: bare.Stderr})
	assert.Subset(t, tells(t, r, "PETSc", want...), []string{"KSPSolve", "MatAssemblyEnd", "MatMult", "PCApply"})

	// A solve is an invocation; those within it, by which the blocks are solved, are not. No frame of ours is on the way.
	assert.EqualValues(t, 2, r.Invocations)
	assert.Equal(t, []run.Metadata{{Name: "KSP", Value: "cg + bjacobi", Ranks: 2, Same: true}}, r.Metadata)
	inside := 0
	r.Root().Walk(func(n *run.Node, _ int) bool {
		assert.NotContains(t, n.Module, "libmarple")
		if n.Name == "KSP.solve" {
			n.Walk(func(n *run.Node, _ int) bool {
				if n.Name == "KSPSolve" && n.Kind == "region" {
					inside++
				}
				return true
			})
		}
		return true
	})
	assert.GreaterOrEqual(t, inside, 2, "the event of the solve, and that of the blocks' wherever they are solved")

	// PETSc's own table comes out as ever, and ours as well.
	r, end = harness.OpenMPI.Measured(t, c, 2, []string{program, "-log_view"})
	require.Zero(t, end.Code, end.Stderr)
	assert.Regexp(t, `(?m)^FillRows +2 `, end.Stdout)
	assert.Regexp(t, `(?m)^ 1: +Assembly:`, end.Stdout)
	tells(t, r, "PETSc", want...)
}

func TestOMPT(t *testing.T) {
	t.Parallel()
	program := adapted(t, "clang", "mpicc.openmpi", "openmp.c", "-fopenmp")
	c := harness.Command{Directory: t.TempDir()}
	bare := harness.OpenMPI.Bare(t, c, 1, program, "50")
	require.Equal(t, 3, bare.Code, bare.Stderr)
	r, end := harness.OpenMPI.Measured(t, c, 1, []string{program, "50"})
	assert.Equal(t, bare.Code, end.Code)
	assert.Equal(t, bare.Stdout, end.Stdout)
	assert.Empty(t, tells(t, r, "OpenMP", told{"OpenMP parallel", "OpenMP", 60}))
	assert.Equal(t, 1, r.PerRank[0].Threads, "threads of a team have no records of their own")
	require.NotNil(t, r.Team)
	assert.Less(t, r.Team.LoadBalance(), 0.7)
	assert.Greater(t, r.Team.Size(), 1.5)
	assert.Contains(t, end.Stderr, "\nOpenMP       hybrid ")
	assert.Contains(t, end.Stderr, "Threads of a parallel region wait for the one that works longest")
	assert.Contains(t, end.Stderr, "OpenMP parallel in uneven (openmp.c:")
	var tasks *run.Team
	r.Root().Walk(func(n *run.Node, _ int) bool {
		if n.Function == "tasks" {
			tasks = n.Children[0].Team
		}
		return true
	})
	require.NotNil(t, tasks)
	assert.Greater(t, tasks.LoadBalance(), 0.6, "a task that is run at a barrier is work")

	other := adapted(t, "gcc", "mpicc.openmpi", "other_tools.c", "-shared", "-fPIC")
	c.Environment = []string{"LD_PRELOAD=" + other}
	r, end = harness.OpenMPI.Measured(t, c, 1, []string{program})
	assert.Regexp(t, `the other tool saw \d\d+ parallel regions`, end.Stderr)
	assert.Nil(t, r.Team, "there can be one tool")
}

// GCC's runtime tells nobody of what it does.
func TestOpenMPWithoutOMPT(t *testing.T) {
	t.Parallel()
	program := adapted(t, "gcc", "mpicc.openmpi", "openmp.c", "-fopenmp")
	c := harness.Command{Directory: t.TempDir()}
	bare := harness.OpenMPI.Bare(t, c, 1, program)
	r, end := harness.OpenMPI.Measured(t, c, 1, []string{program})
	assert.Equal(t, bare.Code, end.Code)
	assert.Equal(t, bare.Stdout, end.Stdout)
	assert.Nil(t, r.Team)
}
