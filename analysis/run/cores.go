package run

import "marple/analysis/stat"

// Cored is what the run would have been with a core for each rank, where ranks had none for a good part of it: the time
// between their calls is what they computed, and they wait as the order of things makes necessary.
type Cored struct {
	WallNs  uint64      `json:"wall_ns"`  // from the first rank's MPI_Init to the end
	PerRank []CoredRank `json:"per_rank"` // all calls of each rank
	Calls   []CoredCall `json:"calls"`
	Waits   *Waits      `json:"waits"`
}

// CoredCall is the time in the calls of a node.
type CoredCall struct {
	Node    string      `json:"node"` // id in call_graph
	Ns      uint64      `json:"ns"`
	Was     uint64      `json:"was_ns"`   // as measured
	PerRank []CoredRank `json:"per_rank"` // up to 64 ranks all, beyond that the largest 8
}

// CoredRank is one rank's part of it.
type CoredRank struct {
	Rank int32  `json:"rank"`
	Ns   uint64 `json:"ns"`
	Was  uint64 `json:"was_ns"`
}

// cored shows what the replay with cores has found; nil if there was none.
func (b *builder) cored() *Cored {
	t := b.p.Waits.Cored
	if t == nil {
		return nil
	}
	c := &Cored{WallNs: t.Length, PerRank: coredRanks(t.Ranks), Calls: []CoredCall{}, Waits: b.found(&t.Found, t.Length*uint64(len(t.Ranks)))}
	for _, x := range t.Calls {
		if n := b.nodes[x.Path]; n != nil && x.Was+x.Ns > 0 {
			c.Calls = append(c.Calls, CoredCall{n.ID, x.Ns, x.Was, coredRanks(x.Ranks)})
		}
	}
	return c
}

func coredRanks(list []stat.Ranked) []CoredRank {
	ranks := []CoredRank{}
	for _, r := range list {
		ranks = append(ranks, CoredRank{r.Rank, r.Value, r.Other})
	}
	return ranks
}
