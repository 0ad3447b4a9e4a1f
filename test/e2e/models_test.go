// Programs of known design with ailments of known cost (test/apps/models), diagnosed without being told either.
package e2e

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

	"marple/analysis"
	"marple/analysis/diagnosis"
	"marple/analysis/event"
	"marple/analysis/knowledge"
	"marple/analysis/run"
)

// A pair is a program with an ailment and without.
type pair struct {
	program, model string // the model that it must be recognized as
	ailment, off   string
	factor         string // that must be named
	beyond         bool   // what the program loses without the ailment has another cause
}

var pairs = []pair{
	{"masterworker", "master-worker", "slow-master", "healthy", "slow-master", false},
	{"masterworker", "master-worker", "fine-grain", "healthy", "fine-grain", false},
	{"masterworker", "master-worker", "coarse-grain", "healthy", "coarse-grain", false},
	{"masterworker", "master-worker", "slow-worker", "rounds", "slow-worker", false},
	{"masterworker", "master-worker", "starvation", "healthy", "starvation", false},
	{"masterworker", "master-worker", "tail", "healthy", "tail", false},
	{"pipeline", "pipeline", "slow-stage", "healthy", "slow-stage", false},
	{"pipeline", "pipeline", "coarse-grain", "healthy", "coarse-grain", false},
	{"pipeline", "pipeline", "fine-grain", "healthy", "fine-grain", false},
	{"pipeline", "pipeline", "drained", "healthy", "drained", false},
	{"wavefront", "wavefront", "coarse-blocks", "healthy", "coarse-blocks", false},
	{"wavefront", "wavefront", "fine-blocks", "healthy", "fine-blocks", false},
	{"wavefront", "wavefront", "turning", "healthy", "turning", false},
	{"wavefront", "wavefront", "uneven", "healthy", "uneven-blocks", false},
	{"divide", "divide-and-conquer", "uneven-split", "healthy", "uneven-split", false},
	{"divide", "divide-and-conquer", "dear-merge", "healthy", "dear-merge", false},
	{"divide", "divide-and-conquer", "dear-split", "healthy", "dear-split", false},
	{"geometric", "geometric-decomposition", "imbalance", "healthy", "uneven-pieces", false},
	{"geometric", "geometric-decomposition", "serial", "healthy", "serial-exchange", false},
	{"geometric", "geometric-decomposition", "tiny", "healthy", "latency-bound", false},
	{"geometric", "geometric-decomposition", "surface", "healthy", "surface-to-volume", false},
	{"bulk", "bulk-synchronous", "imbalance", "healthy", "uneven-work", false},
	{"bulk", "bulk-synchronous", "dear", "healthy", "dear-collective", false},
	{"bulk", "bulk-synchronous", "often", "healthy", "too-many-steps", false},
	{"bulk", "bulk-synchronous", "serial", "healthy", "serial-phase", false},
	{"tree", "parallel-recursive-tree", "levels", "healthy", "contiguity-between-levels", true},
	{"tree", "parallel-recursive-tree", "siblings", "healthy", "contiguity-within-level", false},
	{"tree", "parallel-recursive-tree", "building", "healthy", "tree-building", true},
	{"tree", "parallel-recursive-tree", "late", "healthy", "late-nodes", false},
}

// A case is one run of a model program: what was recognized and found, and what part of the time it loses.
type modelRun struct {
	looks    []diagnosis.Likeness
	findings []run.Finding
	lost     float64 // of the core time, from the start to the entry of the last rank into MPI_Finalize
}

var ideal = regexp.MustCompile(`(?m)^ideal (\d+) ns$`)

// diagnosed runs a program and diagnoses the run as `marple diagnose` does.
func diagnosed(t *testing.T, mpi *library, ranks int, line ...string) modelRun {
	t.Helper()
	directory := filepath.Join(t.TempDir(), "run")
	end := mpi.under(t, command{}, ranks, directory, line, "--report", "none")
	require.Zero(t, end.code, "%s\n%s", end.stdout, end.stderr)
	r := readRun(t, directory)
	pieces, looks, err := diagnosis.Choose(r, knowledge.Library{})
	require.NoError(t, err)
	result, err := diagnosis.Diagnose(r, analysis.Events(directory), pieces...)
	require.NoError(t, err)
	m := ideal.FindStringSubmatch(end.stdout)
	require.NotNil(t, m, end.stdout)
	work, _ := strconv.ParseFloat(m[1], 64)
	return modelRun{looks, result.Findings, 1 - work/elapsed(r)}
}

// elapsed is the time in ns until the last rank entered MPI_Finalize.
func elapsed(r *run.Run) float64 {
	in := map[int32]uint64{}
	r.Root().Walk(func(n *run.Node, _ int) bool {
		if n.Op == event.OpFinalize.String() {
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

// model is what a run was recognized as, "none" if nothing.
func (m modelRun) model() string {
	if len(m.looks) > 0 && m.looks[0].Confidence >= diagnosis.Recognized {
		return m.looks[0].Model
	}
	return "none"
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
	mock.need(t)
	const ranks = 8
	suite := t
	onClock := *mock
	onClock.mpirun = append(slices.Clone(mock.mpirun), "--virtual")
	programs, healthy := map[string]string{}, map[string]modelRun{}
	table := []string{fmt.Sprintf("%-13s %-14s %-25s %6s %6s  %s", "program", "ailment", "named", "share", "truth", "recognized as")}
	misses, alarms := 0, 0
	for _, p := range pairs {
		t.Run(p.program+" "+p.ailment, func(t *testing.T) {
			if programs[p.program] == "" {
				programs[p.program] = mock.compile(suite, "models/"+p.program, "-lm")
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
			if p.beyond {
				truth = 1 - (1-on.lost)/(1-off.lost)
			}
			table = append(table, fmt.Sprintf("%-13s %-14s %-25s %5.1f%% %5.1f%%  %s", p.program, p.ailment, named, 100*share, 100*truth, on.model()))
			if !assert.Equal(t, p.factor, named, on.names()) {
				misses++
			}
			assert.InEpsilon(t, truth, share, 0.1, "of the time that it costs")
			if !assert.Empty(t, off.names(), "without it") {
				alarms++
			}
			assert.Equal(t, p.model, on.model())
		})
	}
	t.Logf("\n%s\n%d ailments, %d missed, %d false alarms", strings.Join(table, "\n"), len(pairs), misses, alarms)
}

// On real libraries, where ranks share cores and clocks run: named, and first; where it is off, not named.
func TestAilmentsOfModelsOnRealLibraries(t *testing.T) {
	if testing.Short() || os.Getenv("MARPLE_LONG") == "" {
		t.Skip("takes minutes: set MARPLE_LONG=1")
	}
	for _, mpi := range []*library{openMPI, mpich} {
		t.Run(mpi.name, func(t *testing.T) {
			mpi.need(t)
			var table []string
			programs, healthy := map[string]string{}, map[string]modelRun{}
			for _, p := range pairs {
				if programs[p.program] == "" {
					programs[p.program] = mpi.compile(t, "models/"+p.program, "-lm")
				}
				off, known := healthy[p.program+p.off]
				if !known {
					off = diagnosed(t, mpi, 4, programs[p.program], p.off, "20")
					healthy[p.program+p.off] = off
				}
				on := diagnosed(t, mpi, 4, programs[p.program], p.ailment, "20")
				table = append(table, fmt.Sprintf("%-13s %-14s on: %s; off: %s; as %s", p.program, p.ailment, on.names(), off.names(), on.model()))
			}
			t.Log("\n" + strings.Join(table, "\n"))
		})
	}
}
