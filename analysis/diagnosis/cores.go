package diagnosis

import (
	"slices"

	"marple/analysis/callgraph"
	"marple/analysis/run"
)

const (
	// enoughCores is the availability of cores from which on times are taken as they are.
	enoughCores = 0.9
	// hidden is by how much ranks with a core each would take longer, at least, than their time with a core says.
	hidden = 1.05
)

// asWithCores is what a run would have been with a core for each rank, as far as a replay of its logs tells; the run itself
// where cores were not short, or there was no replay.
func asWithCores(r *run.Run) *run.Run {
	if r.WithCores == nil || r.Root() == nil {
		return r
	}
	c := *r
	c.AsWithCores, c.WithCores, c.Waits, c.WallNs, c.Core = true, nil, r.WithCores.Waits, r.WithCores.WallNs, run.Balance{}
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
	c.Efficiency = run.Efficiencies(c.PerRank)
	c.Efficiency.CoreAvailability = r.Efficiency.CoreAvailability // who got which work may depend on it
	calls := map[string]*run.CoredCall{}
	for i := range r.WithCores.Calls {
		calls[r.WithCores.Calls[i].Node] = &r.WithCores.Calls[i]
	}
	c.CallGraph = []*run.Node{r.Root().Clone(func(n *run.Node) {
		if x := calls[n.ID]; x != nil && callgraph.ParseKind(n.Kind) == callgraph.KindMPI {
			n.OffCore, n.Exclusive.Max = 0, 0
			n.Exclusive.Sum = changed(n.Exclusive.Sum, x.Was, x.Ns)
			n.PerRank = slices.Clone(n.PerRank)
			of := map[int32]run.CoredRank{}
			for _, one := range x.PerRank {
				of[one.Rank] = one
			}
			for i := range n.PerRank {
				p := &n.PerRank[i]
				p.Exclusive = changed(p.Exclusive, of[p.Rank].Was, of[p.Rank].Ns)
				n.Exclusive.Max = max(n.Exclusive.Max, p.Exclusive)
			}
		}
	})}
	return &c
}

// changed is a time of which a part has changed.
func changed(all, was, now uint64) uint64 { return all - min(all, was) + now }

// withCores is what a run would have been, at least, if every rank had had a core. A rank that waits without one is not
// told from one that could go on, so that its waiting is in no figure; but however many cores there are, the run takes as
// long as the rank that computes longest. Until then the others wait, where they did. It is the run itself where cores
// were not short, or that adds nothing.
func withCores(r *run.Run) *run.Run {
	var span, had uint64
	for _, b := range r.PerRank {
		span = max(span, b.Useful)
		had += b.Useful + b.MPI - min(b.MPI, b.Waited)
	}
	if available := r.Efficiency.CoreAvailability; r.AsWithCores || available == 0 || available >= enoughCores || r.Root() == nil ||
		float64(span)*float64(len(r.PerRank)) < hidden*float64(had) {
		return r
	}
	c := *r
	c.WallNs, c.Core, c.PerRank = span, run.Balance{}, make([]run.RankBalance, len(r.PerRank))
	factor := map[int32]float64{}
	var before, after uint64
	for i, b := range r.PerRank {
		inMPI := max(span-b.Useful, b.MPI-min(b.MPI, b.Waited))
		factor[int32(b.Rank)] = float64(inMPI) / float64(max(b.MPI, 1))
		before, after = before+b.MPI, after+inMPI
		b.MPI, b.Waited, b.OffCore = inMPI, 0, 0
		b.Wall = b.Useful + b.MPI
		c.Core.Wall, c.Core.Useful, c.Core.MPI, c.Core.Blocked = c.Core.Wall+b.Wall, c.Core.Useful+b.Useful, c.Core.MPI+b.MPI, c.Core.Blocked+b.Blocked
		c.PerRank[i] = b
	}
	all := float64(after) / float64(max(before, 1))
	c.CallGraph = []*run.Node{r.Root().Clone(func(n *run.Node) {
		if callgraph.ParseKind(n.Kind) == callgraph.KindMPI {
			rest, listed := n.Exclusive.Sum, n.PerRank
			n.OffCore, n.Exclusive.Sum, n.Exclusive.Max, n.PerRank = 0, 0, 0, make([]run.RankTime, len(listed))
			for i, p := range listed {
				rest -= min(rest, p.Exclusive)
				p.Exclusive = uint64(float64(p.Exclusive) * factor[p.Rank])
				n.Exclusive.Sum, n.Exclusive.Max = n.Exclusive.Sum+p.Exclusive, max(n.Exclusive.Max, p.Exclusive)
				n.PerRank[i] = p
			}
			n.Exclusive.Sum += uint64(float64(rest) * all) // of ranks that are not listed
		}
	})}
	return &c
}
