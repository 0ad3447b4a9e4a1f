package run

import (
	"slices"

	"marple/analysis/callgraph"
	"marple/analysis/stat"
)

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

// Replayed is what the run would have been with a core for each rank, as far as a replay of its logs tells; the run itself
// where cores were not short, or there was no replay.
func (r *Run) Replayed() *Run {
	if r.WithCores == nil || r.Root() == nil {
		return r
	}
	c := *r
	c.AsWithCores, c.WithCores, c.Waits, c.WallNs, c.Core = true, nil, r.WithCores.Waits, r.WithCores.WallNs, Balance{}
	c.MissedNs = r.Core.OffCore + r.Core.Waited
	c.PerRank = slices.Clone(r.PerRank)
	index := map[int32]int{}
	for i, b := range c.PerRank {
		index[int32(b.Rank)] = i
	}
	for _, x := range r.WithCores.PerRank {
		if i, ok := index[x.Rank]; ok {
			c.PerRank[i].MPI = changed(c.PerRank[i].MPI, x.Was, x.Ns)
		}
	}
	for i := range c.PerRank {
		b := &c.PerRank[i].Balance
		b.Waited, b.OffCore, b.Wall = 0, 0, b.Useful+b.MPI+b.Paused+b.Own
		c.Core.Add(*b)
	}
	c.Efficiency = Efficiencies(c.PerRank)
	c.Efficiency.CoreAvailability = r.Efficiency.CoreAvailability // who got which work may depend on it
	calls := map[string]*CoredCall{}
	for i := range r.WithCores.Calls {
		calls[r.WithCores.Calls[i].Node] = &r.WithCores.Calls[i]
	}
	c.CallGraph = []*Node{r.Root().Clone(func(n *Node) {
		if x := calls[n.ID]; x != nil && callgraph.ParseKind(n.Kind) == callgraph.KindMPI {
			n.OffCore, n.Exclusive.Max = 0, 0
			n.Exclusive.Sum = changed(n.Exclusive.Sum, x.Was, x.Ns)
			n.PerRank = slices.Clone(n.PerRank)
			of := map[int32]CoredRank{}
			for _, one := range x.PerRank {
				of[one.Rank] = one
			}
			for i := range n.PerRank {
				p := &n.PerRank[i]
				if one, listed := of[p.Rank]; listed {
					p.Exclusive = changed(p.Exclusive, one.Was, one.Ns)
				} else { // of more than 64 ranks
					p.Exclusive = uint64(float64(p.Exclusive) * float64(x.Ns) / float64(max(x.Was, 1)))
				}
				n.Exclusive.Max = max(n.Exclusive.Max, p.Exclusive)
			}
		}
	})}
	included(r.Root(), c.Root())
	return &c
}

// included adds to the inclusive times of a copy what has changed in it and below it.
func included(was, now *Node) {
	all, then, is := now.Inclusive.Sum, was.Exclusive.Sum, now.Exclusive.Sum
	for i, c := range now.Children {
		included(was.Children[i], c)
		then, is = then+was.Children[i].Inclusive.Sum, is+c.Inclusive.Sum
	}
	now.Inclusive.Sum = changed(all, then, is)
}

// changed is a time of which a part has changed.
func changed(all, was, now uint64) uint64 { return all - min(all, was) + now }

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
