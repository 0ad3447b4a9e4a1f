package profile

import (
	"testing"

	"github.com/stretchr/testify/require"

	"marple/analysis/record"
)

// fifty is a rank that made 50 sends and as many waits, of which the sends' records have lost their operation.
func fifty(t *testing.T, state uint32, lose bool) *Profile {
	t.Helper()
	w := record.NewWriter(0, 1)
	w.Header().State = state
	thread := w.Thread(0, true)
	send, wait := w.MPI(0, "MPI_Send", record.OpSend, 0), w.MPI(0, "MPI_Wait", record.OpWait, 0)
	for i := range uint64(50) {
		thread.Call(record.Call{Start: 10 * i, Duration: 1, Path: send, Peer: record.NoPeer})
		thread.Call(record.Call{Start: 10*i + 5, Duration: 1, Path: wait, Peer: record.NoPeer})
	}
	p, err := w.Process(1000)
	require.NoError(t, err)
	if lose {
		p.Nodes()[send].Kind = record.NodeRegion
	}
	return FromProcess(p, nil)
}

func TestRecordsThatWereNotMergedAreTold(t *testing.T) {
	count, what := fifty(t, record.Finalized, false).Missing()
	require.Zero(t, count, what)
	lost := fifty(t, record.Finalized, true)
	count, what = lost.Missing()
	require.Equal(t, uint64(50), count)
	require.Equal(t, "send 50", what)
	again, err := Decode(Encode(Merge(lost, fifty(t, record.Finalized, true))))
	require.NoError(t, err)
	count, what = again.Missing()
	require.Equal(t, uint64(100), count)
	require.Equal(t, "send 100", what)
}

func TestRecordsThatAreNotAggregatedAreTold(t *testing.T) {
	p := &Profile{Behind: 7}
	count, what := Merge(p, &Profile{}).Missing()
	require.Equal(t, uint64(7), count)
	require.Empty(t, what)
}
