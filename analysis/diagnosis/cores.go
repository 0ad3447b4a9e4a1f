package diagnosis

import (
	"marple/analysis/callgraph"
	"marple/analysis/run"
)

const (
	// enoughCores is the availability of cores from which on times are taken as they are.
	enoughCores = 0.9
	// hardlyCores is that below which little is sure.
	hardlyCores = 0.25
	// hidden is by how much ranks with a core each would take longer, at least, than their time with a core says.
	hidden = 1.05
	// slice is how long a thread keeps a core while others wait for it, s: what Linux's schedulers come to on most machines
	// (base slice or minimal granularity, rounded up to a tick).
	slice = 0.004
)

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
