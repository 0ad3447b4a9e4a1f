package profile

import (
	"testing"

	"github.com/stretchr/testify/require"

	"marple/analysis/callgraph"
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

// More paths and communicators than a thread has aggregates for: what shares an entry is told by its operation.
func TestRecordsOfAFullTableAreNotMissing(t *testing.T) {
	w := record.NewWriter(0, 1)
	w.Header().State = record.Finalized
	thread := w.Thread(0, true)
	const paths, calls = 20000, 60000
	for i := range uint64(calls) {
		path := w.MPI(w.Node(record.Node{Kind: record.NodeFrame, Key: i % paths}), "MPI_Barrier", record.OpBarrier, 0)
		thread.Call(record.Call{Start: 10 * i, Duration: 4, Path: path, Comm: uint16(1 + i/paths), Peer: record.NoPeer, Collective: true})
	}
	process, err := w.Process(1000)
	require.NoError(t, err)
	p := FromProcess(process, nil)
	require.Positive(t, p.Lost.Aggregates)
	count, what := p.Missing()
	require.Zero(t, count, what)
	made, shared := uint64(0), uint64(0)
	for i := range p.Graph.Nodes {
		if n := &p.Graph.Nodes[i]; n.Kind == callgraph.KindMPI {
			require.Equal(t, record.OpBarrier, n.Op)
			made += n.Calls.N
			if n.Name == "MPI: barrier" {
				shared += n.Calls.N
			}
		}
	}
	require.Equal(t, uint64(calls), made)
	require.Positive(t, shared)
}
