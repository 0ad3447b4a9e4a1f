package waitstate

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"marple/analysis/callgraph"
	"marple/analysis/record"
)

// What MPI_Start starts is the operation that was prepared; MPI_Start itself does not say which.
func TestPersistentOperations(t *testing.T) {
	w := record.NewWriter(0, 2)
	thread := w.Thread(0, true)
	l := thread.Keep(&record.Budget{Memory: 1 << 20, Total: 1 << 20})
	world := w.Comm(record.Comm{ID: 7, Size: 2}, "MPI_COMM_WORLD", []record.Run{{Stride: 1, Count: 2}})
	path := w.MPI(0, "MPI_Start", record.OpRequest, record.Nonblocking)
	for i, op := range []record.Op{record.OpBsend, record.OpSsend, record.OpRecv, record.OpRequest, record.OpNToN, record.OpNeighbor} {
		thread.Call(record.Call{Path: path, Start: uint64(10 * i), Duration: 1, Peer: record.NoPeer})
		thread.Posted(path, op, world, 1, 5, uint32(i), 8)
	}
	p, err := w.Process(100)
	require.NoError(t, err)
	r, err := FromProcess(p, map[int]Log{0: l})
	require.NoError(t, err)
	message := Message{Comm: 7, Peer: 1, Tag: 5, Bytes: 8, Done: NotDone}
	buffered, received, parts := message, message, message
	buffered.Buffered, message.Synchronous = true, true
	message.At, received.At, parts.At, message.Number = 1, 2, 3, 1
	parts.Parts = true
	assert.Equal(t, []Message{buffered, message}, r.Sends)
	assert.Equal(t, []Message{received, parts}, r.Receives)
	require.Len(t, r.Collectives, 1)
	assert.Equal(t, Collective{Kind: AllToAll, Pattern: WaitAtNxN, Root: 1, Bytes: 8, At: 4, Done: NotDone}, r.Collectives[0])
	assert.EqualValues(t, 1, r.Lost.Uncovered)
}

// Nobody waits on a communicator of one rank, which is nothing that is missing; on one whose members are not known
// somebody may.
func TestCommunicatorsThatAreNotReplayed(t *testing.T) {
	w := record.NewWriter(0, 2)
	thread := w.Thread(0, true)
	l := thread.Keep(&record.Budget{Memory: 1 << 20, Total: 1 << 20})
	world := w.Comm(record.Comm{ID: 7, Size: 2}, "MPI_COMM_WORLD", []record.Run{{Stride: 1, Count: 2}})
	self := w.Comm(record.Comm{ID: 8, Size: 1}, "MPI_COMM_SELF", []record.Run{{Count: 1}})
	inter := w.Comm(record.Comm{ID: 9, Size: 1, Flags: record.CommInter}, "", []record.Run{{First: 1, Count: 1}})
	path := w.MPI(0, "MPI_Barrier", record.OpBarrier, 0)
	for i, comm := range []uint16{world, self, self, inter, inter, 0} {
		thread.Call(record.Call{Path: path, Start: uint64(10 * i), Duration: 1, Comm: comm, Peer: record.NoPeer, Collective: true})
	}
	p, err := w.Process(100)
	require.NoError(t, err)
	r, err := FromProcess(p, map[int]Log{0: l})
	require.NoError(t, err)
	assert.Len(t, r.Comms, 1)
	assert.Len(t, r.Collectives, 1)
	assert.EqualValues(t, 3, r.Lost.Uncovered)
}

// A receive that was cancelled, or is left pending, has taken no message, be it from anybody or from one rank.
func TestReceivesOfNothing(t *testing.T) {
	w := record.NewWriter(0, 2)
	thread := w.Thread(0, true)
	l := thread.Keep(&record.Budget{Memory: 1 << 20, Total: 1 << 20})
	world := w.Comm(record.Comm{ID: 7, Size: 2}, "MPI_COMM_WORLD", []record.Run{{Stride: 1, Count: 2}})
	path := w.MPI(0, "MPI_Irecv", record.OpRecv, record.Nonblocking)
	for i, peer := range []int32{1, record.Any} {
		thread.Call(record.Call{Path: path, Start: uint64(10 * i), Duration: 1, Peer: record.NoPeer})
		thread.Posted(path, record.OpRecv, world, peer, 5, uint32(i), 8)
	}
	p, err := w.Process(100)
	require.NoError(t, err)
	r, err := FromProcess(p, map[int]Log{0: l})
	require.NoError(t, err)
	assert.Equal(t, []Message{{Comm: 7, Peer: 1, Tag: 5, Bytes: 8, Done: NotDone}}, r.Receives)
	assert.Zero(t, replayAll(t, []*Rank{r, {}}).Lost.Unmatched)
}

// Tests that found nothing are not logged, but known to the call graph: what ranks do between logged events is on a path of it.
func TestGapsAroundVainTestsAreOfTheCallGraph(t *testing.T) {
	w := record.NewWriter(0, 2)
	thread := w.Thread(0, true)
	l := thread.Keep(&record.Budget{Memory: 1 << 20, Total: 1 << 20})
	send, test := w.MPI(0, "MPI_Send", record.OpSend, 0), w.MPI(0, "MPI_Test", record.OpTest, record.Nonblocking)
	at := uint64(0)
	for range 5 {
		thread.Call(record.Call{Path: send, Start: at, Duration: 10, Peer: 1})
		thread.Call(record.Call{Path: test, Start: at + 100_000, Duration: 10, Peer: record.NoPeer})
		at += 500_000
	}
	p, err := w.Process(at)
	require.NoError(t, err)
	r, err := FromProcess(p, map[int]Log{0: l})
	require.NoError(t, err)
	graph := callgraph.FromProcess(p)
	require.Len(t, r.Calls, 5)
	for _, c := range r.Calls[1:] {
		gap := graph.Nodes[slices.IndexFunc(graph.Nodes, func(n callgraph.Node) bool { return n.ID == r.Paths[c.Gap] })]
		assert.EqualValues(t, 4*(500_000-100_000-10), gap.Exclusive.Sum, "from the test to the send")
	}
}
