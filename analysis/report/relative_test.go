package report

import (
	"testing"

	"github.com/stretchr/testify/require"

	"marple/analysis/analysistest"
	"marple/analysis/diagnosis"
	"marple/analysis/knowledge"
	"marple/analysis/record"
	"marple/analysis/run"
)

// A program whose imbalance was mended, and whose reductions take longer since.
func TestRelative(t *testing.T) {
	const ms = 1_000_000
	program := func(more, reduce uint64) *run.Run {
		r := analysistest.RunWithWaits(4, 4, func(r *analysistest.Rank) {
			for range 50 {
				extra := uint64(0)
				if r.Rank == 3 {
					extra = more
				}
				r.Compute(10*ms + extra)
				r.Call(20, "MPI_Allreduce", record.OpNToN, 0, record.Call{Duration: more - extra + reduce, Peer: record.NoPeer, Collective: true, Out: 8, In: 8})
			}
		})
		return r
	}
	a, b := program(6*ms, ms/10), program(0, 6*ms)
	choose := func(r *run.Run) *diagnosis.Choice {
		c, err := diagnosis.Choose(r, knowledge.Library{})
		require.NoError(t, err)
		return c
	}
	x, err := diagnosis.Relate(a, b, choose(a), choose(b), nil, nil)
	require.NoError(t, err)
	became := map[string][2]string{}
	for _, c := range x.Changes {
		became[c.ID] = [2]string{c.A.Verdict, c.B.Verdict}
	}
	require.Equal(t, [2]string{"holds", "rejected"}, became["uneven-work"])
	require.Equal(t, "factor", x.Changes[0].Kind)
	golden(t, "relative.txt", Relative(x))

	same, err := diagnosis.Relate(a, a, choose(a), choose(a), nil, nil)
	require.NoError(t, err)
	for _, c := range same.Changes {
		require.Equal(t, c.A, c.B)
	}
	require.NotContains(t, Relative(same), "gone")
}
