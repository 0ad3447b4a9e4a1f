package pipeline

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"marple/analysis/analysistest"
	"marple/analysis/diagnosis"
	"marple/analysis/knowledge"
	"marple/analysis/run"
	"marple/analysis/trace"
)

// Whatever a program does: its events, added up by call path, are what the call graph says.
func TestEventsAddUpToTheCallGraph(t *testing.T) {
	directory := t.TempDir()
	for seed := range 12 { // each writes and reads 14 MB
		steps := rapid.SliceOfN(rapid.IntRange(0, 5), 10, 30).Example(seed)
		lengths := rapid.SliceOfN(rapid.Uint64Range(0, 30_000), 1, 10).Example(seed)
		require.NoError(t, analysistest.KeepIn(directory, 2, func(r *analysistest.Rank) {
			n := r.Rank
			next := func() uint64 { n++; return lengths[n%len(lengths)] }
			var do func(steps []int)
			do = func(steps []int) {
				for i, step := range steps {
					switch step {
					case 0:
						r.Compute(next())
					case 1:
						r.Barrier(10+i%3, next())
					case 2:
						r.Send(20, 1-r.Rank, 8, next())
					case 3:
						r.Recv(21, 1-r.Rank, 8, next())
					case 4:
						r.Function(30, "inner", func() { do(steps[i+1:]) })
						return
					case 5:
						r.Region("solve", func() { do(steps[i+1:]) })
						return
					}
				}
			}
			do(steps)
		}))
		r, problems, err := Recover(analysistest.In(directory), 0, knowledge.Library{})
		require.NoError(t, err)
		require.Empty(t, problems)
		events := trace.Events(directory)
		sum := map[string]uint64{}
		for rank := range 2 {
			_, _, err := events.Replay(rank, func(e *diagnosis.Event) { sum[events.Node(e.Path)] += e.Duration })
			require.NoError(t, err)
		}
		r.Root().Walk(func(n *run.Node, _ int) bool {
			if n.Kind == "mpi" || n.Kind == "gap" && n.To != r.Root().ID {
				require.Equal(t, n.Exclusive.Sum, sum[n.ID], "%s", n.Name)
			}
			delete(sum, n.ID)
			return true
		})
		require.Empty(t, sum)
	}
}
