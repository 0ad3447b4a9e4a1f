package diagnosis

import (
	"testing"

	"github.com/stretchr/testify/require"

	"marple/analysis/analysistest"
	"marple/analysis/knowledge"
	"marple/analysis/record"
	"marple/analysis/run"
)

// Whoever causes a wait may be the rank that waits: a master handles a result, so the only worker gets its next task later,
// and the master waits for that one's result. It waits for the worker all the same.
func TestNoRankWaitsForItself(t *testing.T) {
	site := func(ranks ...int32) []run.WaitRank {
		var list []run.WaitRank
		for _, r := range ranks {
			list = append(list, run.WaitRank{Rank: r, Ns: 100})
		}
		return list
	}
	for _, c := range []struct {
		name           string
		waiting, cause []int32
		pairs          []run.WaitPair
		title          string
		waiters        rankSet
		barrier        []int32
	}{
		{"one for another", []int32{0}, []int32{1}, []run.WaitPair{{Rank: 0, For: 1, Ns: 100}}, "rank 1, which is late", rankSet{0}, nil},
		{"one, and the cause is its own", []int32{0}, []int32{0}, []run.WaitPair{{Rank: 1, For: 0, Ns: 120}, {Rank: 0, For: 1, Ns: 100}}, "rank 1, which is late", rankSet{0}, nil},
		{"two for each other", []int32{0, 1}, []int32{0, 1}, []run.WaitPair{{Rank: 0, For: 1, Ns: 100}}, "each other", rankSet{0, 1}, nil},
		{"two, for one of them", []int32{0, 1}, []int32{1}, []run.WaitPair{{Rank: 0, For: 1, Ns: 100}}, "rank 1, which is late", rankSet{0}, nil},
		{"one, and the pair may be of a barrier", []int32{0}, []int32{0}, []run.WaitPair{{Rank: 0, For: 1, Ns: 100}}, "other ranks", rankSet{0}, []int32{0}},
		{"one, for whom is not known", []int32{0}, []int32{0}, nil, "other ranks", rankSet{0}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := &waits{data: &data{}, Waits: &run.Waits{Pairs: c.pairs,
				Sites:  []run.WaitSite{{Pattern: "late-sender", PerRank: site(c.waiting...)}, {Pattern: "wait-at-barrier", PerRank: site(c.barrier...)}},
				Delays: []run.DelaySite{{Pattern: "late-sender", Node: "n", Direct: 100, PerRank: site(c.cause...)}}}}
			w.data.r = &run.Run{Waits: w.Waits}
			require.Equal(t, c.title, w.latecomersInWords("late-sender"))
			require.Equal(t, c.waiters, w.waiters("late-sender"))
			require.Equal(t, mostOf(site(c.cause...)), w.delayRanks("late-sender"), "where the delay is")
		})
	}
}

// Steps that take longer now on one rank, now on another, make ranks wait though all compute equally long: no rank is named.
func TestLateInTurn(t *testing.T) {
	for _, c := range []struct {
		name  string
		late  func(step int) int
		title string
		ranks []int
	}{
		{"in turn", func(step int) int { return []int{0, 1, 0, 2, 0, 1, 3, 2}[step%8] }, "a different rank each time", []int{}},
		{"all in turn", func(step int) int { return step % 4 }, "each other", []int{0, 1, 2, 3}},
		{"always one", func(int) int { return 2 }, "rank 2, which is late", []int{2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := analysistest.RunWithWaits(4, 4, func(r *rank) {
				for step := range 40 {
					extra := uint64(0)
					if r.Rank == c.late(step) {
						extra = 4 * ms
					}
					r.Compute(10*ms + extra)
					r.Call(20, "MPI_Allreduce", record.OpNToN, 0, record.Call{Duration: 4*ms - extra + ms/10, Peer: record.NoPeer, Collective: true, Out: 8, In: 8})
				}
			})
			w := &waits{newData(r), r.Waits}
			require.Equal(t, c.title, w.latecomersInWords("wait-at-nxn"))
			require.EqualValues(t, c.ranks, w.latecomers("wait-at-nxn"))
			require.Equal(t, c.name != "always one", w.whetherInTurn("wait-at-nxn") != "")
		})
	}
}

// In a chain all compute equally long, and each waits for the one before it: always the same one.
func TestLateInAChain(t *testing.T) {
	const ranks = 4
	r := analysistest.RunWithWaits(ranks, ranks, func(r *rank) {
		for step := range 40 {
			before, after, wait := uint64(3*ms), uint64(2*ms), uint64(6*ms)
			if r.Rank == 0 {
				r.Compute(before + after)
				r.Send(20, 1, 4, ms/100)
				r.Recv(21, ranks-1, 4, wait)
				continue
			}
			if step == 0 {
				wait = uint64(r.Rank) * 2 * ms
			}
			r.Compute(before)
			r.Recv(22, r.Rank-1, 4, wait)
			r.Compute(after)
			r.Send(23, (r.Rank+1)%ranks, 4, ms/100)
		}
	})
	w := &waits{newData(r), r.Waits}
	require.NotEmpty(t, r.Waits.Sites)
	require.Equal(t, "late-sender", r.Waits.Sites[0].Pattern)
	require.NotContains(t, w.latecomersInWords("late-sender"), "each time")
	require.Empty(t, w.whetherInTurn("late-sender"))
}

// Who asks for a message of a rank without a core asks as long as that has none.
func TestVainTestsWhileOthersHaveNoCoreMayBeNothing(t *testing.T) {
	for _, c := range []struct {
		name     string
		off      uint64
		finding  int
		doubtful int
	}{{"with cores", 0, 1, 0}, {"without", 2 * ms, 0, 1}} {
		t.Run(c.name, func(t *testing.T) {
			r := analysistest.Run(2, 2, func(r *rank) {
				analysistest.Steps(100, func() {
					r.Compute(ms)
					if r.Rank == 1 && c.off > 0 {
						r.OffCore(c.off)
					}
					analysistest.Steps(500, func() {
						r.Call(40, "MPI_Test", record.OpTest, record.Nonblocking, record.Call{Duration: 1000, Peer: record.NoPeer})
					})
				})
			})
			Conclude(r, knowledge.Library{})
			ids := func(list []run.Finding) (n int) {
				for _, f := range list {
					if f.ID == "polling" {
						n++
					}
				}
				return n
			}
			require.Equal(t, []int{c.finding, c.doubtful}, []int{ids(r.Findings), ids(r.MayBe)})
		})
	}
}

// Of all ranks it cannot be said that they compute longer than the mean: nothing tells chance from the program.
func TestChanceOfAllRanksIsAllThatWasMissed(t *testing.T) {
	parts := []run.RankParts{{Rank: 0, Useful: []uint64{10, 20, 30}}, {Rank: 1, Useful: []uint64{30, 20, 10}}}
	d := &data{r: &run.Run{Core: run.Balance{OffCore: 5e9}, Waits: &run.Waits{Parts: parts}}, ranks: []int{0, 1}}
	require.Equal(t, 5.0, d.chance(rankSet{0, 1}))
	require.Less(t, d.chance(rankSet{0}), 1.0)
	require.Equal(t, 5.0, d.chance(nil))
}
