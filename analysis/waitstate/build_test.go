package waitstate

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"marple/analysis/event"
)

// Nobody waits on a communicator of one rank, which is nothing that is missing; on one whose members are not known
// somebody may.
func TestCommunicatorsThatAreNotReplayed(t *testing.T) {
	w := event.NewWriter(0, 2)
	thread := w.Thread(0, true)
	l := thread.Keep(&event.Budget{Memory: 1 << 20, Total: 1 << 20})
	world := w.Comm(event.Comm{ID: 7, Size: 2}, "MPI_COMM_WORLD", []event.Run{{Stride: 1, Count: 2}})
	self := w.Comm(event.Comm{ID: 8, Size: 1}, "MPI_COMM_SELF", []event.Run{{Count: 1}})
	inter := w.Comm(event.Comm{ID: 9, Size: 1, Flags: event.CommInter}, "", []event.Run{{First: 1, Count: 1}})
	path := w.MPI(0, "MPI_Barrier", event.OpBarrier, 0)
	for i, comm := range []uint16{world, self, self, inter, inter, 0} {
		thread.Call(event.Call{Path: path, Start: uint64(10 * i), Duration: 1, Comm: comm, Peer: event.NoPeer, Collective: true})
	}
	p, err := w.Process(100)
	require.NoError(t, err)
	r, err := FromProcess(p, map[int]Log{0: l})
	require.NoError(t, err)
	assert.Len(t, r.Comms, 1)
	assert.Len(t, r.Collectives, 1)
	assert.EqualValues(t, 3, r.Lost.Uncovered)
}
