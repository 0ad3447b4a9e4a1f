package analysis

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"marple/analysis/analysistest"
	"marple/analysis/diagnosis"
	"marple/analysis/event"
	"marple/analysis/run"
)

// kept writes the record files and logs of a script.
func kept(t require.TestingT, directory string, ranks int, script func(*analysistest.Rank)) {
	require.NoError(t, os.MkdirAll(filepath.Join(directory, run.RawDir), 0o777))
	file := func(rank int) string { return rankFile(directory, rank) }
	require.NoError(t, analysistest.Keep(ranks, ranks, file, script))
}

// Whatever a program does: its events, added up by call path, are what the call graph says.
func TestEventsAddUpToTheCallGraph(t *testing.T) {
	directory := t.TempDir()
	for seed := range 12 { // each writes and reads 14 MB
		steps := rapid.SliceOfN(rapid.IntRange(0, 5), 10, 30).Example(seed)
		lengths := rapid.SliceOfN(rapid.Uint64Range(0, 30_000), 1, 10).Example(seed)
		kept(t, directory, 2, func(r *analysistest.Rank) {
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
		})
		r, problems, err := Recover(directory, time.Duration(0))
		require.NoError(t, err)
		require.Empty(t, problems)
		events := Events(directory)
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

func TestEventsThatWereNotKept(t *testing.T) {
	directory := t.TempDir()
	require.Nil(t, Events(directory))
	kept(t, directory, 1, func(r *analysistest.Rank) {
		analysistest.Steps(100_000, func() { r.Compute(1000); r.Barrier(10, 100) })
	})
	events := Events(directory)
	_, _, err := events.Replay(1, func(*diagnosis.Event) {})
	require.Error(t, err, "there is no such rank")
	log := event.LogName(rankFile(directory, 0), 0)
	require.NoError(t, os.Truncate(log, event.BlockSize))
	file, err := os.OpenFile(log, os.O_RDWR, 0)
	require.NoError(t, err)
	head := make([]byte, 8)
	_, err = file.ReadAt(head, 0)
	require.NoError(t, err)
	head[2] |= 1 << 3 // it says that there was no room for another block
	_, err = file.WriteAt(head, 0)
	require.NoError(t, err)
	require.NoError(t, file.Close())
	_, _, err = events.Replay(0, func(*diagnosis.Event) {})
	require.ErrorContains(t, err, "does not go to the end")
	require.NoError(t, os.Truncate(log, 20))
	_, _, err = events.Replay(0, func(*diagnosis.Event) {})
	require.Error(t, err)
}
