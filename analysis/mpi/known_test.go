package mpi_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"marple/analysis/analysistest"
	"marple/analysis/callgraph"
	"marple/analysis/mpi"
	"marple/analysis/profile"
	"marple/analysis/record"
	"marple/analysis/run"
	"marple/analysis/waitstate"
)

func TestOf(t *testing.T) {
	assert.Nil(t, mpi.Of("MPI_Dance"))
	assert.Nil(t, mpi.Of(""))
	assert.Equal(t, record.OpSend, mpi.Of("MPI_SEND").Op, "Fortran's names have one case")
	number, ok := mpi.Of("MPI_Reduce_scatter_block_c").OTF2()
	assert.True(t, ok)
	assert.EqualValues(t, 16, number)
	_, ok = mpi.Of("MPI_Neighbor_alltoall").OTF2()
	assert.False(t, ok)
	assert.Equal(t, mpi.Members, mpi.Known("MPI_Dance", record.OpNToN, 0).Waits, "what its class says")
	assert.Equal(t, "all-reduce", mpi.Of("MPI_Allreduce").TAU)
}

// late is the rank of two that the other one waits for in a collective operation with root 0 ...
func late(f *mpi.Function) int {
	if f.Waits == mpi.Root || f.Waits == mpi.Lower {
		return 0
	}
	return 1
}

// ... and whether that is a collective operation at all, which this thread makes itself.
func collective(f *mpi.Function) bool {
	return f.Waits >= mpi.Members && f.Flags == 0 && f.Op != record.OpFinalize
}

// Whatever the table says that a call waits for is found by the replay, under the name that the table has for it.
func TestTheReplayKnowsEveryCollective(t *testing.T) {
	for _, f := range mpi.All() {
		if f.Pattern != "" {
			assert.NotEqual(t, waitstate.None, waitstate.PatternOf(f.Pattern), "%s: %s is no wait state", f.Name, f.Pattern)
		}
		if strings.HasSuffix(f.Name, "_c") || !collective(&f) { // which says the same of its other form
			continue
		}
		r := analysistest.RunWithWaits(2, 2, func(r *analysistest.Rank) {
			waits := uint64(70)
			if r.Rank == late(&f) {
				r.Compute(70)
				waits = 0
			}
			r.Call(1, f.Name, f.Op, f.Flags, record.Call{Duration: 5 + waits, Peer: 0, Collective: true})
		})
		require.NotNil(t, r.Waits, f.Name)
		require.Len(t, r.Waits.Patterns, 1, f.Name)
		assert.Equal(t, f.Pattern, r.Waits.Patterns[0].Pattern, f.Name)
		assert.EqualValues(t, 70, r.Waits.Patterns[0].Ns, f.Name)
	}
}

// Whoever hangs in such a call is said to wait for the rank that did not come.
func TestStuckCallsKnowEveryCollective(t *testing.T) {
	for _, f := range mpi.All() {
		if !collective(&f) {
			continue
		}
		absent := int32(late(&f))
		p := &profile.Profile{World: 2, Comms: []profile.Comm{{ID: 9, Members: []record.Run{{Stride: 1, Count: 2}}}}}
		p.Graph.Stuck = []callgraph.Stuck{{Rank: 1 - absent, Main: true, Name: f.Name, Peer: 0, World: 0, Comm: 9, Ns: 100}}
		for rank := range int32(2) {
			p.Totals = append(p.Totals, profile.Total{Rank: rank, State: uint8(record.Running), Wall: 150})
		}
		r := run.New(p, analysistest.Names{})
		require.Len(t, r.Stuck, 1, f.Name)
		assert.Equal(t, []int{int(absent)}, r.Stuck[0].WaitsFor, f.Name)
	}
}
