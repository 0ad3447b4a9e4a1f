// Programs of known design with ailments of known cost (test/apps/models), diagnosed without being told either.
package truth

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"marple/analysis/diagnosis"
	"marple/analysis/knowledge"
	"marple/analysis/record"
	"marple/analysis/run"
	"marple/analysis/trace"
	"marple/test/harness"
)

// A design is what a program must be recognized as, and how it is run on real libraries: ranks and the length of its
// work, for which 200 ms and more are lost.
type design struct {
	model         string
	ranks, length int
}

var designs = map[string]design{
	"masterworker": {"master-worker", 4, 25},
	"pipeline":     {"pipeline", 2, 10},
	"wavefront":    {"wavefront", 4, 15},
	"divide":       {"divide-and-conquer", 4, 25},
	"geometric":    {"geometric-decomposition", 2, 25},
	"bulk":         {"bulk-synchronous", 2, 30},
	"tree":         {"parallel-recursive-tree", 2, 10},
}

// A pair is a program with an ailment and without, and the factor that must be named.
type pair struct {
	program, ailment, off, factor string
	traits
}

type traits uint

const (
	beyond     traits = 1 << iota // what the program loses without the ailment has another cause
	messages                      // the ailment is what messages cost: real ones are dear beside short work only
	neighbours                    // it takes more than one neighbour
	idle                          // the master has little to do, with the ailment and without
)

var pairs = []pair{
	{"masterworker", "slow-master", "healthy", "slow-master", 0},
	{"masterworker", "fine-grain", "healthy", "fine-grain", messages},
	{"masterworker", "coarse-grain", "healthy", "coarse-grain", 0},
	{"masterworker", "slow-worker", "rounds", "slow-worker", idle},
	{"masterworker", "starvation", "healthy", "starvation", 0},
	{"masterworker", "tail", "healthy", "tail", 0},
	{"pipeline", "slow-stage", "healthy", "slow-stage", 0},
	{"pipeline", "coarse-grain", "healthy", "coarse-grain", 0},
	{"pipeline", "fine-grain", "healthy", "fine-grain", messages},
	{"pipeline", "drained", "healthy", "drained", 0},
	{"wavefront", "coarse-blocks", "healthy", "coarse-blocks", 0},
	{"wavefront", "fine-blocks", "healthy", "fine-blocks", messages},
	{"wavefront", "turning", "healthy", "turning", 0},
	{"wavefront", "uneven", "healthy", "uneven-blocks", 0},
	{"divide", "uneven-split", "healthy", "uneven-split", 0},
	{"divide", "dear-merge", "healthy", "dear-merge", 0},
	{"divide", "dear-split", "healthy", "dear-split", 0},
	{"geometric", "imbalance", "healthy", "uneven-pieces", 0},
	{"geometric", "serial", "healthy", "serial-exchange", messages | neighbours},
	{"geometric", "tiny", "healthy", "latency-bound", messages},
	{"geometric", "surface", "healthy", "surface-to-volume", messages},
	{"bulk", "imbalance", "healthy", "uneven-work", 0},
	{"bulk", "dear", "healthy", "dear-collective", messages},
	{"bulk", "often", "healthy", "too-many-steps", messages},
	{"bulk", "serial", "healthy", "serial-phase", 0},
	{"tree", "levels", "healthy", "contiguity-between-levels", beyond | messages},
	{"tree", "siblings", "healthy", "contiguity-within-level", messages},
	{"tree", "building", "healthy", "tree-building", beyond | messages},
	{"tree", "late", "healthy", "late-nodes", 0},
}

// A modelRun is one run of a program: what was recognized and found, and what part of the time it loses.
type modelRun struct {
	cores    bool   // ranks nearly always had one
	design   string // that it was recognized as, one for each phase; "none" if nothing
	findings []run.Finding
	lost     float64 // of the core time, from the start to the entry of the last rank into MPI_Finalize
}

var ideal = regexp.MustCompile(`(?m)^ideal (\d+) ns$`)

// diagnosed runs a program and diagnoses the run as `marple diagnose` does.
func diagnosed(t testing.TB, mpi *harness.Library, ranks int, line ...string) modelRun {
	t.Helper()
	directory := filepath.Join(t.TempDir(), "run")
	end := mpi.Under(t, harness.Command{}, ranks, directory, line, "--report", "none")
	require.Zero(t, end.Code, "%s\n%s", end.Stdout, end.Stderr)
	r := harness.ReadRun(t, directory)
	choice, err := diagnosis.Choose(r, knowledge.Library{})
	require.NoError(t, err)
	result, err := choice.Diagnose(r, trace.Events(directory))
	require.NoError(t, err)
	m := ideal.FindStringSubmatch(end.Stdout)
	require.NotNil(t, m, end.Stdout)
	work, _ := strconv.ParseFloat(m[1], 64)
	return modelRun{r.Efficiency.CoreAvailability >= enoughCores, designsOf(choice, r), result.Findings, 1 - work/elapsed(r)}
}

// elapsed is the time in ns until the last rank entered MPI_Finalize.
func elapsed(r *run.Run) float64 {
	in := map[int32]uint64{}
	r.Root().Walk(func(n *run.Node, _ int) bool {
		if n.Op == record.OpFinalize.String() {
			for _, one := range n.PerRank {
				in[one.Rank] += one.Exclusive
			}
		}
		return true
	})
	last := 0.0
	for _, p := range r.PerRank {
		last = max(last, float64(p.Wall)-float64(in[int32(p.Rank)]))
	}
	return last
}

// designsOf is what a run was recognized as: a model, or those of its phases, or none.
func designsOf(c *diagnosis.Choice, r *run.Run) string {
	models := c.Models(r)
	if len(models) == 0 {
		return noModel
	}
	names := []string{models[0].Name}
	for _, m := range models[1:] {
		if c.Phases != nil {
			names = append(names, m.Name)
		}
	}
	return strings.Join(names, " + ")
}

func (m modelRun) names() string {
	var ids []string
	for _, f := range m.findings {
		ids = append(ids, fmt.Sprintf("%s %.0f %%", f.ID, 100*f.Share))
	}
	return strings.Join(ids, ", ")
}

// On the virtual clock every ailment is named, and first, with its cost; where it is off, it is not named.
func TestAilmentsOfModelsOnTheVirtualClock(t *testing.T) {
	t.Parallel()
	harness.Mock.Need(t)
	const ranks = 8
	suite := t
	onClock := *harness.Mock
	onClock.Mpirun = append(slices.Clone(harness.Mock.Mpirun), "--virtual")
	programs, healthy := map[string]string{}, map[string]modelRun{}
	table := []string{fmt.Sprintf("%-13s %-14s %-25s %6s %6s  %s", "program", "ailment", "named", "share", "truth", "recognized as")}
	misses, alarms := 0, 0
	for _, p := range pairs {
		t.Run(p.program+" "+p.ailment, func(t *testing.T) {
			if programs[p.program] == "" {
				programs[p.program] = harness.Mock.Compile(suite, "models/"+p.program, "-lm")
			}
			off, known := healthy[p.program+p.off]
			if !known {
				off = diagnosed(t, &onClock, ranks, programs[p.program], p.off)
				healthy[p.program+p.off] = off
			}
			on := diagnosed(t, &onClock, ranks, programs[p.program], p.ailment)
			named, share := "", 0.0
			if len(on.findings) > 0 {
				named, share = on.findings[0].ID, on.findings[0].Share
			}
			truth := on.lost
			if p.traits&beyond != 0 {
				truth = 1 - (1-on.lost)/(1-off.lost)
			}
			table = append(table, fmt.Sprintf("%-13s %-14s %-25s %5.1f%% %5.1f%%  %s", p.program, p.ailment, named, 100*share, 100*truth, on.design))
			if !assert.Equal(t, p.factor, named, on.names()) {
				misses++
			}
			assert.InEpsilon(t, truth, share, 0.1, "of the time that it costs")
			others := slices.DeleteFunc(off.findings, func(f run.Finding) bool { return p.traits&idle != 0 && f.ID == "idle-master" })
			if !assert.Empty(t, others, "without it") {
				alarms++
			}
			assert.Equal(t, designs[p.program].model, on.design)
		})
	}
	tell(t, "ailments", append(table, fmt.Sprintf("%d ailments, %d missed, %d false alarms", len(pairs), misses, alarms)))
}

// Of few ranks a master that only waits is a large part: on the virtual clock all of its time but what it is busy for.
func TestMasterThatWaits(t *testing.T) {
	t.Parallel()
	harness.Mock.Need(t)
	r := harness.Mock.Virtual(t, harness.Command{}, 4, []string{harness.Mock.Compile(t, "models/masterworker", "-lm"), "rounds"})
	require.Equal(t, "idle-master", r.Findings[0].ID)
	waits := 0.0
	for _, f := range []string{"MPI_Recv", "MPI_Probe", "MPI_Finalize"} {
		r.Root().Walk(func(n *run.Node, _ int) bool {
			if n.Name == f {
				for _, one := range n.PerRank {
					if one.Rank == 0 {
						waits += float64(one.Exclusive)
					}
				}
			}
			return true
		})
	}
	require.InEpsilon(t, waits/(4*float64(r.WallNs)), r.Findings[0].Share, 0.05)
	require.InEpsilon(t, r.Findings[0].Share, r.Findings[0].Gain.High, 0.01)
}

// A program of two designs, one after the other or in turns, is said to be both, and each is diagnosed by its own model.
func TestPhases(t *testing.T) {
	t.Parallel()
	harness.Mock.Need(t)
	onClock := *harness.Mock
	onClock.Mpirun = append(slices.Clone(harness.Mock.Mpirun), "--virtual")
	program := harness.Mock.Compile(t, "models/mixed", "-lm")
	for _, c := range []struct {
		ailment string
		ranks   int
		named   []string
	}{{"healthy", 4, []string{"idle-master"}}, {"turns", 8, nil}, {"slow-master", 8, []string{"slow-master"}}, {"imbalance", 4, []string{"uneven-pieces", "idle-master"}},
		{"both", 8, []string{"slow-master", "uneven-pieces"}}, {"turns-both", 4, []string{"slow-master", "uneven-pieces"}}} {
		t.Run(c.ailment, func(t *testing.T) {
			m := diagnosed(t, &onClock, c.ranks, program, c.ailment)
			assert.Equal(t, twoDesigns, m.design)
			var named []string
			for _, f := range m.findings {
				named = append(named, f.ID)
			}
			assert.ElementsMatch(t, c.named, named, m.names())
		})
	}
}

// On real libraries: named, and first, also where ranks share cores; where it is off, not named. What messages cost is up
// to the machine: other work on it, or fewer cores than ranks, may mimic such an ailment, or hide it.
func TestJudgeAilmentsOfModels(t *testing.T) {
	for _, mpi := range []*harness.Library{harness.OpenMPI, harness.Mpich} {
		t.Run(mpi.Name, func(t *testing.T) {
			mpi.Need(t)
			programs, healthy := map[string]string{}, map[string]modelRun{}
			for n, p := range pairs {
				d := designs[p.program]
				// Each pair on one of them. MPICH's ranks do not leave their cores to others while they wait.
				if here := map[bool]*harness.Library{true: harness.Mpich, false: harness.OpenMPI}[d.ranks == 2 && n%2 == 1]; here != mpi && os.Getenv("MARPLE_TEST_LONG") != "1" {
					continue
				}
				if programs[p.program] == "" {
					programs[p.program] = mpi.Compile(t, "models/"+p.program, "-lm")
				}
				t.Run(p.program+" "+p.ailment, func(t *testing.T) {
					harness.Judge(t, func(t testing.TB) {
						off, known := healthy[p.program+p.off]
						if !known {
							off = diagnosed(t, mpi, d.ranks, programs[p.program], p.off, "1", fmt.Sprint(d.length))
							healthy[p.program+p.off] = off
						}
						size, length := 1, d.length
						if p.traits&messages != 0 {
							size, length = 10, 1
						}
						ranks := d.ranks
						if p.traits&neighbours != 0 {
							ranks = max(ranks, 4)
						}
						on := diagnosed(t, mpi, ranks, programs[p.program], p.ailment, fmt.Sprint(size), fmt.Sprint(length))
						named, cores := "", "too few"
						if len(on.findings) > 0 {
							named = on.findings[0].ID
						}
						if on.cores && off.cores {
							cores = "enough"
						}
						t.Logf("%s; cores %s; without it: %s", on.names(), cores, off.names())
						assert.Equal(t, p.factor, named)
						assert.NotContains(t, off.names(), p.factor, "without it")
					})
				})
			}
		})
	}
}

// marple diagnose -- LAUNCHER measures what the next level asks for, and no more: one run for the profile, a second one
// with the sequence of events.
func TestExperiments(t *testing.T) {
	t.Parallel()
	harness.Mock.Need(t)
	line := append([]string{"--"}, harness.Mock.Launch(4, harness.Mock.Compile(t, "models/pipeline", "-lm"), "coarse-grain")...)
	line = slices.Insert(line, 2, "--virtual")
	for _, c := range []struct {
		flags  []string
		runs   int
		deeper bool
	}{{nil, 2, false}, {[]string{"--max-runs", "1"}, 1, true}, {[]string{"--model", "bulk-synchronous"}, 1, false}} {
		directory := t.TempDir()
		end := harness.Command{Directory: directory}.Run(t, slices.Concat([]string{harness.Artifact(t, "marple"), "diagnose", "--out", "d"}, c.flags, line)...)
		require.Zero(t, end.Code, end.Stderr)
		require.Len(t, harness.Entries(t, directory), c.runs, "each run is kept")
		require.Equal(t, c.runs, strings.Count(end.Stderr, "marple: run "), end.Stderr)
		require.Equal(t, c.deeper, strings.Contains(end.Stdout, "\nTo go deeper\n"), end.Stdout)
		if c.runs == 2 {
			require.Contains(t, end.Stderr, "marple: the sequence of events would tell more: late-first-item\n")
			require.Contains(t, end.Stdout, "\n1. There are too few items to keep all stages busy (")
		}
	}
	end := harness.Command{Directory: t.TempDir()}.Run(t, harness.Artifact(t, "marple"), "diagnose", "--", "/nowhere/mpirun", "-n", "4", "app")
	require.Equal(t, 1, end.Code)
	require.Contains(t, end.Stderr, "/nowhere/mpirun")
}

// tell leaves a table behind, under build.
func tell(t testing.TB, name string, lines []string) {
	t.Helper()
	text := strings.Join(lines, "\n") + "\n"
	t.Log("\n" + text)
	require.NoError(t, os.WriteFile(filepath.Join(harness.Build, name+".txt"), []byte(text), 0o666))
}
