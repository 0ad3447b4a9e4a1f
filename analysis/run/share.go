package run

import "sort"

// On is what a rank spent on a path, for all that show ranks one by one. Beyond 64 ranks only the largest shares
// are listed; of what is left each other rank then gets an equal part, so that the sum over ranks stays that
// which was measured. It gives zeros for a rank that was not measured. Inclusive is the listed one only:
// it is the exclusive time of the path and of all below it.
func (r *Run) On(n *Node, rank int32) RankTime {
	at, ok := r.position(rank)
	if !ok {
		return RankTime{Rank: rank}
	}
	var listed RankTime
	before := 0
	for _, t := range n.PerRank {
		if t.Rank == rank {
			return t
		}
		if t.Rank < rank {
			before++
		}
		listed.Exclusive += t.Exclusive
		listed.Inclusive += t.Inclusive
		listed.Calls += t.Calls
	}
	others := len(r.PerRank) - len(n.PerRank)
	if uint64(len(n.PerRank)) >= n.Exclusive.N || others <= 0 {
		return RankTime{Rank: rank}
	}
	calls := uint64(0)
	if n.Calls != nil {
		calls = n.Calls.N
	}
	part := func(sum, listed uint64) uint64 {
		rest := sum - min(sum, listed)
		share := rest / uint64(others)
		if uint64(at-before) < rest%uint64(others) {
			share++
		}
		return share
	}
	return RankTime{rank, part(n.Exclusive.Sum, listed.Exclusive), part(n.Inclusive.Sum, listed.Inclusive), part(calls, listed.Calls)}
}

// OnMetric is the same for a metric.
func (r *Run) OnMetric(n *Node, m *Metric, rank int32) RankMetric {
	rest := RankMetric{rank, m.Exclusive, m.Inclusive}
	for _, t := range m.PerRank {
		if t.Rank == rank {
			return t
		}
		rest.Exclusive -= t.Exclusive
		rest.Inclusive -= t.Inclusive
	}
	others := float64(len(r.PerRank) - len(m.PerRank))
	if _, ok := r.position(rank); !ok || uint64(len(m.PerRank)) >= n.Exclusive.N || others <= 0 {
		return RankMetric{Rank: rank}
	}
	return RankMetric{rank, rest.Exclusive / others, rest.Inclusive / others}
}

// Estimated tells whether shares of ranks are not all known.
func (r *Run) Estimated() bool {
	estimated := false
	for _, root := range r.CallGraph {
		root.Walk(func(n *Node, _ int) bool {
			estimated = estimated || n.Exclusive.Sum > 0 && uint64(len(n.PerRank)) < n.Exclusive.N
			return !estimated
		})
	}
	return estimated
}

// position of a rank among those that were measured.
func (r *Run) position(rank int32) (int, bool) {
	at := sort.Search(len(r.PerRank), func(i int) bool { return r.PerRank[i].Rank >= int(rank) })
	return at, at < len(r.PerRank) && r.PerRank[at].Rank == int(rank)
}
