package trace

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"marple/analysis/analysistest"
	"marple/analysis/diagnosis"
	"marple/analysis/record"
)

func TestEventsThatWereNotKept(t *testing.T) {
	directory := t.TempDir()
	require.Nil(t, Events(directory))
	require.NoError(t, analysistest.KeepIn(directory, 1, func(r *analysistest.Rank) {
		analysistest.Steps(100_000, func() { r.Compute(1000); r.Barrier(10, 100) })
	}))
	events := Events(directory)
	_, _, err := events.Replay(1, func(*diagnosis.Event) {})
	require.Error(t, err, "there is no such rank")
	log := record.LogName(analysistest.RankFile(directory, 0), 0)
	require.NoError(t, os.Truncate(log, record.BlockSize))
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
