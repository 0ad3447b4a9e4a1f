package trace

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"marple/analysis/analysistest"
	"marple/analysis/record"
	"marple/analysis/run"
)

// withLogs is a run directory with the logs of two ranks, each of which sends at 10, 30, 50, ... inside a region.
func withLogs(t *testing.T) string {
	directory := t.TempDir()
	require.NoError(t, analysistest.KeepIn(directory, 2, analysistest.Sends))
	return directory
}

func TestTimeline(t *testing.T) {
	directory := withLogs(t)
	events, more, err := Timeline(directory, Window{Most: 100})
	require.NoError(t, err)
	assert.Zero(t, more)
	require.Len(t, events, 14)
	assert.Equal(t, TimelineEvent{Rank: 0, Start: 5, Ns: 195, Name: "solve", Region: true, Peer: record.NoPeer}, events[0])
	assert.Equal(t, TimelineEvent{Rank: 1, Start: 10, Ns: 5, Name: "MPI_Send", Peer: 0, Tag: 7, Bytes: 100}, events[3])

	events, more, err = Timeline(directory, Window{From: 36, Until: 60, Most: 3})
	require.NoError(t, err)
	require.Len(t, events, 3)
	assert.Equal(t, 1, more, "the region and the send at 50, of two ranks")
}

func TestTimelineOfDamagedLogs(t *testing.T) {
	directory := withLogs(t)
	require.NoError(t, os.Truncate(record.LogName(analysistest.RankFile(directory, 1), 0), 20))
	_, _, err := Timeline(directory, Window{Most: 100})
	assert.ErrorContains(t, err, "rank-000001.mrl.0.log: damaged log")

	_, _, err = Timeline(t.TempDir(), Window{Most: 100})
	assert.ErrorIs(t, err, ErrNoLogs)
}

// Each host counts its clock from when it was started: what they share is the time of day.
func TestTimelineOfTwoHosts(t *testing.T) {
	directory := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(directory, run.RawDir), 0o777))
	for rank := range 2 {
		w := record.NewWriter(rank, 2)
		up := uint64(1_000_000 * rank) // longer than the other
		h := w.Header()
		h.ClockKind, h.Host = record.ClockMonotonic, uint64(rank)
		h.First = record.Instant{Ticks: up, RawNs: up, WallNs: 1_700_000_000_000_000_000}
		thread := w.Thread(up, true)
		l := thread.Keep(&record.Budget{Memory: 1 << 20, Total: 1 << 20, Record: analysistest.File(analysistest.RankFile(directory, rank))})
		thread.Call(record.Call{Path: w.MPI(0, "MPI_Barrier", record.OpBarrier, 0), Start: up + 10, Duration: 5, Peer: record.NoPeer, Collective: true})
		_, err := w.Process(up + 100)
		require.NoError(t, err)
		require.NoError(t, l.Store())
		require.NoError(t, os.WriteFile(analysistest.RankFile(directory, rank), w.File(), 0o666))
	}
	events, _, err := Timeline(directory, Window{Most: 10})
	require.NoError(t, err)
	require.Len(t, events, 2)
	assert.Equal(t, events[0].Start, events[1].Start)
}
