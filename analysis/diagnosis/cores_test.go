package diagnosis

import (
	"testing"

	"github.com/stretchr/testify/require"

	"marple/analysis/analysistest"
	"marple/analysis/knowledge"
	"marple/analysis/run"
)

// unevenFarm has three workers of which one has two of four tasks, and the others one each.
func unevenFarm() *run.Run {
	late := func(yes bool) uint64 { return map[bool]uint64{true: 100 * ms}[yes] }
	return analysistest.Run(4, 4, func(r *rank) {
		if r.Rank > 0 {
			analysistest.Steps(map[bool]int{true: 2, false: 1}[r.Rank == 1], func() {
				r.Send(3, 0, 8, 0)
				r.Recv(4, 0, 8, 0)
				r.Compute(100 * ms)
			})
			r.Send(3, 0, 8, 0)
			r.Recv(4, 0, 8, late(r.Rank != 1))
			return
		}
		for _, w := range []int{1, 2, 3, 1, 2, 3, 1} {
			r.Recv(1, w, 8, 200*ms/7)
			r.Send(2, w, 8, 0)
		}
	})
}

// withoutCores makes of a run one whose ranks had no core whenever they could wait.
func withoutCores(r *run.Run) *run.Run {
	r.Efficiency.CoreAvailability = 0.3
	r.Core.Waited = r.Core.MPI
	for i := range r.PerRank {
		r.PerRank[i].Waited = r.PerRank[i].MPI
	}
	r.Root().Walk(func(n *run.Node, _ int) bool {
		if n.Kind == "mpi" {
			n.OffCore = n.Exclusive.Sum
		}
		return true
	})
	return r
}

func TestCausesThatWereHiddenForWantOfCores(t *testing.T) {
	k, err := knowledge.Library{}.Load("master-worker")
	require.NoError(t, err)
	with, without := unevenFarm(), withoutCores(unevenFarm())
	require.Same(t, with, withCores(with))
	want, err := Diagnose(with, nil, Whole(k)...)
	require.NoError(t, err)
	got, err := Diagnose(without, nil, Whole(k)...)
	require.NoError(t, err)
	require.Equal(t, "coarse-grain", want.Findings[0].ID)
	require.Equal(t, "coarse-grain", got.Findings[0].ID)
	require.InDelta(t, want.Findings[0].Share, got.Findings[0].Share, 0.001)
	require.Equal(t, "high", want.Findings[0].Confidence)
	require.Equal(t, "medium", got.Findings[0].Confidence)
	require.Contains(t, got.Findings[0].Evidence[len(got.Findings[0].Evidence)-1].Text, "would take 200 ms at least")
	// Where all are busy alike, nothing is made up.
	even := withoutCores(analysistest.Run(4, 4, func(r *rank) {
		analysistest.Steps(5, func() { r.Compute(10 * ms); r.Barrier(1, ms) })
	}))
	require.Same(t, even, withCores(even))
}

// lateSender has a rank that computes for ten times as long as the one that waits for its messages; off is how long it has
// no core each time.
func lateSender(off, unit uint64) *run.Run {
	return analysistest.RunWithWaits(2, 2, func(r *rank) {
		analysistest.Steps(20, func() {
			if r.Rank == 0 {
				r.Compute(unit)
				r.Recv(4, 1, 8, (9+off)*unit)
				return
			}
			r.Compute(10 * unit)
			if off > 0 {
				r.OffCore(off * unit)
			}
			r.Send(3, 0, 8, 0)
		})
	})
}

func TestDiagnosedAsWithCores(t *testing.T) {
	with, without := lateSender(0, ms), lateSender(30, ms)
	require.Nil(t, with.WithCores)
	require.Same(t, with, with.Replayed())
	require.InDelta(t, 200*ms, without.WithCores.WallNs, 10)
	c, err := Choose(without, knowledge.Library{})
	require.NoError(t, err)
	want, err := c.Diagnose(with, nil)
	require.NoError(t, err)
	got, err := c.Diagnose(without, nil)
	require.NoError(t, err)
	require.NotEmpty(t, want.Findings)
	require.Len(t, got.Findings, len(want.Findings))
	for i, w := range want.Findings {
		g := got.Findings[i]
		require.Equal(t, []any{w.ID, w.Title, w.Where, w.Ranks}, []any{g.ID, g.Title, g.Where, g.Ranks})
		require.InDelta(t, w.Share, g.Share, 0.001)
		require.Equal(t, "high", w.Confidence)
	}
	require.Equal(t, "medium", got.Findings[0].Confidence)
	require.InDelta(t, 20*39*ms, without.Waits.Ns, 10, "what was measured stays")
}

// What one turn on a core explains is no finding where ranks share cores.
func TestNoMoreThanATurnOnACore(t *testing.T) {
	diagnosed := func(r *run.Run) *Result {
		c, err := Choose(r, knowledge.Library{})
		require.NoError(t, err)
		got, err := c.Diagnose(r, nil)
		require.NoError(t, err)
		return got
	}
	own := diagnosed(lateSender(0, ms/40)).Findings[0]
	require.Equal(t, own.ID, diagnosed(lateSender(30, ms)).Findings[0].ID)
	short := diagnosed(lateSender(30, ms/40))
	require.Empty(t, short.Findings)
	require.Equal(t, own.ID, short.MayBe[0].ID)
	require.Zero(t, short.MayBe[0].Low)
}
