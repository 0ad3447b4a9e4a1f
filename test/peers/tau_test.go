package peers

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	marplerun "marple/analysis/run"
	"marple/analysis/tauprofile"
)

// tau is the real TAU, and its programs.
type tau struct{ root, programs string }

func realTAU(t *testing.T) tau {
	t.Helper()
	command(t, "mpirun.openmpi")
	return tau{filepath.Dir(filepath.Dir(peer(t, "tau", "tau/x86_64/bin/tau_exec"))), filepath.Join(top, "..", "shared", "peers", "tau-programs")}
}

func (x tau) environment(more ...string) []string {
	return append([]string{"PATH=" + filepath.Join(x.root, "bin") + ":" + os.Getenv("PATH"),
		"TAU_MAKEFILE=" + filepath.Join(x.root, "lib", "Makefile.tau-mpi-pthread")}, more...)
}

func (x tau) plugin(more ...string) []string {
	return x.environment(append([]string{"TAU_PLUGINS=libmarple.so", "TAU_PLUGINS_PATH=" + build, "MARPLE_OUT=run"}, more...)...)
}

// compile builds one of TAU's programs, with TAU in it unless it is to be preloaded.
func (x tau) compile(t *testing.T, name string, compiler ...string) string {
	t.Helper()
	return x.compileFrom(t, filepath.Join(x.programs, name+".c"), compiler...)
}

func (x tau) compileFrom(t *testing.T, source string, compiler ...string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "program")
	if compiler[0] == withTAU[0] {
		compiler = append([]string{filepath.Join(x.root, "bin", compiler[0])}, compiler[1:]...)
	}
	run(t, filepath.Dir(program), 0, x.environment(), append(compiler, "-g", "-O1", source, "-o", program)...)
	return program
}

var withTAU = []string{"tau_cc.sh", "-optCompInst"}

func (x tau) launch(ranks string, line ...string) []string {
	return append([]string{"mpirun.openmpi", "--oversubscribe", "-np", ranks}, line...)
}

// timer is what TAU, or Marple, says of one of a rank's timers.
type timer struct {
	calls, exclusive, inclusive float64 // µs
	groups                      string
}

// profiles are TAU's own, of each rank's main thread: timers, and events by name.
func profiles(t *testing.T, directory string, ranks int) (timers []map[string]timer, events []map[string]tauprofile.Event) {
	t.Helper()
	for rank := range ranks {
		name := filepath.Join(directory, "profile."+string(rune('0'+rank))+".0.0")
		file, err := os.Open(name)
		require.NoError(t, err)
		f, err := tauprofile.Parse(name, file)
		file.Close()
		require.NoError(t, err)
		timers, events = append(timers, map[string]timer{}), append(events, map[string]tauprofile.Event{})
		for _, row := range f.Timers {
			if len(row.Path) == 1 {
				name := strings.TrimSuffix(strings.TrimSpace(row.Path[0].Name), "()")
				timers[rank][name] = timer{row.Calls, row.Exclusive, row.Inclusive, strings.Join(row.Groups, "|")}
			}
		}
		for _, e := range f.Events {
			events[rank][e.Name] = e
		}
	}
	return timers, events
}

// measured is the same of a run of Marple's: calls and times of MPI functions and regions.
func measured(r *marplerun.Run, rank int) map[string]timer {
	list := map[string]timer{}
	var visit func(n *marplerun.Node) float64
	visit = func(n *marplerun.Node) float64 {
		on := r.On(n, int32(rank))
		inclusive := float64(on.Exclusive) / 1000
		for _, c := range n.Children {
			inclusive += visit(c)
		}
		if n.Kind == "mpi" || n.Kind == "region" {
			x := list[n.Name]
			list[n.Name] = timer{x.calls + float64(on.Calls), x.exclusive, x.inclusive + inclusive, strings.Join(n.Groups, "|")}
		}
		return inclusive
	}
	visit(r.Root())
	return list
}

// Calls agree exactly and times to 2 % of what the rank took, in one and the same run.
func TestPluginAgreesWithTAU(t *testing.T) {
	x := realTAU(t)
	const ranks = 3
	for _, program := range []struct {
		name  string
		build []string
		line  []string
	}{
		{"prog", withTAU, nil},
		{"plain", []string{"mpicc.openmpi"}, []string{"tau_exec", "-T", "mpi,pthread"}},
		{"ci", withTAU, nil},
	} {
		t.Run(program.name, func(t *testing.T) {
			built, directory := x.compile(t, program.name, program.build...), t.TempDir()
			run(t, directory, 0, x.plugin(), x.launch("3", append(program.line, built)...)...)
			r, err := marplerun.Read(filepath.Join(directory, "run"))
			require.NoError(t, err)
			timers, events := profiles(t, directory, ranks)
			compared := 0
			for rank := range ranks {
				ours, whole := measured(r, rank), timers[rank][".TAU application"].inclusive
				for name, theirs := range timers[rank] {
					mine, known := ours[name]
					if name == "MPI_Init" || name == "MPI_Init_thread" || name == "MPI_Finalize" || !strings.Contains(theirs.groups, "MPI") && !known ||
						strings.HasPrefix(name, "addr=") || name == "MPI Collective Sync" {
						continue // Marple begins in MPI_Init; its own work, which is in TAU's MPI_Finalize, is not in its own
					}
					if strings.HasPrefix(name, "main") || name == "taupreload_main" || name == "MPI_Comm_rank" || name == "MPI_Comm_size" {
						continue // began before; or only asks, and is not recorded
					}
					compared++
					assert.Equal(t, theirs.calls, mine.calls, "calls of %s on rank %d", name, rank)
					if math.Abs(theirs.inclusive-mine.inclusive) > 0.02*whole {
						t.Logf("%s on rank %d: %g µs, TAU says %g", name, rank, mine.inclusive, theirs.inclusive)
					}
					if mine.groups != "" {
						assert.Equal(t, theirs.groups, mine.groups, name)
					}
				}
				for _, e := range r.AtomicEvents {
					if theirs, ok := events[rank][e.Name]; ok && !strings.HasPrefix(e.Name, "Message size") {
						assert.EqualValues(t, ranks*theirs.N, e.Values.N, e.Name)
						assert.InDelta(t, theirs.Mean, e.Values.Mean, 1e-12, e.Name)
						assert.Equal(t, [2]float64{theirs.Min, theirs.Max}, [2]float64{e.Values.Min, e.Values.Max}, e.Name)
					}
				}
			}
			assert.GreaterOrEqual(t, compared, 3)
			r.Root().Walk(func(n *marplerun.Node, _ int) bool {
				assert.NotContains(t, n.Name, "addr=", "functions are resolved")
				if n.Name == "taupreload_main" { // a timer of TAU's, around main
					return true
				}
				assert.NotContains(t, n.Module, "libTAU", "TAU's own frames are left out: %s", n.Name)
				return true
			})
			if program.name == "prog" {
				calls := map[string]uint64{}
				for _, f := range r.Functions {
					calls[f.Name] = f.Calls
				}
				assert.EqualValues(t, 60, calls["MPI_Allreduce"])
				assert.EqualValues(t, 60, calls["MPI_Bcast"])
				assert.Contains(t, r.Metadata, marplerun.Metadata{Name: "problem", Value: "shock 64x64", Ranks: ranks, Same: true})
			}
			// The core's threads are no threads of the program.
			files, err := filepath.Glob(filepath.Join(directory, "profile.0.0.*"))
			require.NoError(t, err)
			assert.Len(t, files, map[string]int{"prog": 2, "plain": 1, "ci": 1}[program.name])
		})
	}
}

// In operations whose communicator or root TAU does not tell, how long ranks waited is what it measured. A rank may lose its
// core between TAU's look at the clock and ours: so one run of several has to agree.
func TestSynchronisationIsWaiting(t *testing.T) {
	x := realTAU(t)
	built := x.compile(t, "ci", withTAU...)
	var differences []float64
	for range 10 {
		directory := t.TempDir()
		run(t, directory, 0, x.plugin(), x.launch("2", built)...)
		r, err := marplerun.Read(filepath.Join(directory, "run"))
		require.NoError(t, err)
		timers, _ := profiles(t, directory, 2)
		waited, sync := 0.0, timers[0]["MPI Collective Sync"].inclusive+timers[1]["MPI Collective Sync"].inclusive
		r.Root().Walk(func(n *marplerun.Node, _ int) bool {
			if n.Name == "MPI_Reduce" {
				waited += float64(n.Waiting) / 1000
				assert.LessOrEqual(t, n.Waiting, n.Exclusive.Sum)
			}
			return true
		})
		require.Positive(t, waited)
		differences = append(differences, math.Abs(waited-sync)/float64(r.WallNs)*1000)
		if slices.Min(differences) <= 0.02 {
			return
		}
	}
	t.Errorf("the waiting that TAU measured and ours differ by these parts of the run: %v", differences)
}

// Values of atomic events are those that TAU has: below zero, and fractions.
func TestValuesOfAtomicEvents(t *testing.T) {
	x := realTAU(t)
	built, directory := x.compile(t, "neg", withTAU...), t.TempDir()
	printed := run(t, directory, 0, x.plugin(), x.launch("2", built)...)
	assert.Contains(t, printed, "energy -8.5 to -5.5, mean -7, in 8 values")
	r, err := marplerun.Read(filepath.Join(directory, "run"))
	require.NoError(t, err)
	require.Len(t, r.AtomicEvents, 2)
	assert.Equal(t, [3]float64{-8.5, -5.5, -56}, [3]float64{r.AtomicEvents[0].Values.Min, r.AtomicEvents[0].Values.Max, r.AtomicEvents[0].Values.Sum})
	assert.InDelta(t, 2.5e-6, r.AtomicEvents[1].Values.Mean, 1e-18)
}

// What TAU_METRICS names is counted by region, as in TAU's own profiles. The program gets the dump that it asks for, too, which
// TAU leaves to plugins that want to know of it.
func TestMetricsAndDump(t *testing.T) {
	x := realTAU(t)
	built := x.compileFrom(t, filepath.Join(top, "test/apps/tau/metrics.c"), "tau_cc.sh", "-optLinkOnly", "-DPROFILING_ON")
	directory := t.TempDir()
	printed := run(t, directory, 0, x.plugin("TAU_METRICS=TIME:USER_CLOCK"), x.launch("2", built)...)
	assert.Contains(t, printed, "USER_CLOCK 884 (TAU)")
	dumps, err := filepath.Glob(filepath.Join(directory, "MULTI__*", "dump.*"))
	require.NoError(t, err)
	assert.Len(t, dumps, 4, "of two ranks and metrics")
	r, err := marplerun.Read(filepath.Join(directory, "run"))
	require.NoError(t, err)
	assert.Equal(t, []marplerun.Counter{{Name: "USER_CLOCK", Sum: 884, Sources: []string{"TAU"}}}, r.Counters)
	timers, _ := profiles(t, filepath.Join(directory, "MULTI__USER_CLOCK"), 2)
	compared := 0
	r.Root().Walk(func(n *marplerun.Node, _ int) bool {
		for _, m := range n.Metrics {
			for _, of := range m.PerRank {
				theirs := timers[of.Rank][n.Name]
				assert.Equal(t, [2]float64{theirs.exclusive, theirs.inclusive}, [2]float64{of.Exclusive, of.Inclusive}, n.Name)
				compared++
			}
		}
		return true
	})
	assert.Equal(t, 4, compared, "inner and outer of two ranks; what goes back is not counted")
}

// What the program gets from MPI_Abort is a report, and the exit code that it asked for.
// A TAU without OMPT leaves OpenMP's runtime to whoever is in the process: the plugin is its tool.
func TestOpenMPBesideThePlugin(t *testing.T) {
	x := realTAU(t)
	command(t, "clang")
	source := filepath.Join(top, "test", "apps", "adapters", "openmp.c")
	program := x.compileFrom(t, source, "env", "OMPI_CC=clang", "mpicc.openmpi", "-fno-optimize-sibling-calls", "-fopenmp")
	directory := t.TempDir()
	out := run(t, directory, 3, x.plugin(), x.launch("1", "tau_exec", "-T", "mpi,pthread", program, "50")...)
	assert.Contains(t, out, "OpenMP parallel in uneven (openmp.c:60)")
	assert.Contains(t, out, "other threads were in regions", "TAU's timers of threads; none of them calls MPI")
	r, err := marplerun.Read(filepath.Join(directory, "run"))
	require.NoError(t, err)
	require.NotNil(t, r.Team)
	assert.Greater(t, r.Team.Size(), 1.5)
	assert.Less(t, r.Team.LoadBalance(), 0.7)
}

func TestReportAtAbort(t *testing.T) {
	x := realTAU(t)
	built, directory := x.compile(t, "prog", withTAU...), t.TempDir()
	printed := run(t, directory, 3, x.plugin(), x.launch("3", built, "abort")...)
	assert.Contains(t, printed, "The run failed: rank 2 called MPI_Abort.")
	assert.Equal(t, 1, strings.Count(printed, "\nEfficiency "), printed)
}

// TAU's own profiles are what they are without the plugin: the same timers with the same calls, in the same threads.
func TestProfilesAreAlikeWithoutThePlugin(t *testing.T) {
	x := realTAU(t)
	built := x.compile(t, "prog", withTAU...)
	var sets [2]map[string]float64
	for i, environment := range [][]string{x.environment(), x.plugin()} {
		directory := t.TempDir()
		run(t, directory, 0, environment, x.launch("3", built)...)
		files, err := filepath.Glob(filepath.Join(directory, "profile.*"))
		require.NoError(t, err)
		assert.Len(t, files, 6)
		timers, _ := profiles(t, directory, 3)
		sets[i] = map[string]float64{}
		for _, rank := range timers {
			for name, t := range rank {
				if !strings.HasPrefix(name, "addr=") && name != "TAU_GET_EVENT_VALUES" { // the one question that the plugin asks
					sets[i][name] += t.calls
				}
			}
		}
	}
	assert.Equal(t, sets[0], sets[1])
}

// Without TAU's interface, by interception: the same calls.
func TestExecBesideTAU(t *testing.T) {
	x := realTAU(t)
	const ranks = 3
	for _, program := range []struct {
		name  string
		build []string
		line  []string
	}{
		{"prog", withTAU, nil},
		{"plain", []string{"mpicc.openmpi"}, []string{"tau_exec", "-T", "mpi,pthread"}},
	} {
		t.Run(program.name, func(t *testing.T) {
			built, directory := x.compile(t, program.name, program.build...), t.TempDir()
			line := append(append([]string{filepath.Join(build, "marple"), "exec", "--out", "run"}, program.line...), built)
			run(t, directory, 0, x.environment(), x.launch("3", line...)...)
			r, err := marplerun.Read(filepath.Join(directory, "run"))
			require.NoError(t, err)
			timers, _ := profiles(t, directory, ranks)
			for rank := range ranks {
				ours, whole := measured(r, rank), timers[rank][".TAU application"].inclusive
				// The barriers that TAU puts before collective operations are calls of MPI_Barrier here: what adds up to the same
				// is the time in all collective operations.
				sync := timers[rank]["MPI Collective Sync"]
				var both [2]timer
				for _, name := range []string{"MPI_Barrier", "MPI_Allreduce", "MPI_Bcast"} {
					for i, from := range []map[string]timer{ours, timers[rank]} {
						both[i].calls += from[name].calls
						both[i].inclusive += from[name].inclusive
					}
					delete(timers[rank], name)
				}
				assert.Equal(t, both[1].calls+sync.calls, both[0].calls)
				// TAU's times include those without a core.
				if math.Abs(both[1].inclusive-both[0].inclusive) > 0.02*whole {
					t.Logf("collective operations on rank %d: %g µs, TAU says %g", rank, both[0].inclusive, both[1].inclusive)
				}
				for name, mine := range ours {
					theirs, known := timers[rank][name]
					if !known || name == "MPI_Finalize" {
						continue
					}
					assert.Equal(t, theirs.calls, mine.calls, "calls of %s on rank %d", name, rank)
					if math.Abs(theirs.inclusive-mine.inclusive) > 0.02*whole {
						t.Logf("%s on rank %d: %g µs, TAU says %g", name, rank, mine.inclusive, theirs.inclusive)
					}
				}
				assert.Contains(t, ours, "MPI_Allreduce")
			}
		})
	}
}
