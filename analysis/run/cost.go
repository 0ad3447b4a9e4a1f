package run

// Lost is the part of a call path's own time that is no cost: ranks were ready to run and had no core, or Marple took
// it. Nanoseconds of all ranks.
func (n *Node) Lost() uint64 {
	switch n.Kind {
	case "off-core", "marple":
		return n.Exclusive.Sum
	case "mpi":
		return min(n.OffCore, n.Exclusive.Sum)
	}
	return 0
}

// Cost is what a call path took by itself, as findings, models, pruning and selection count it: elapsed time with a
// core. Nanoseconds of all ranks.
func (n *Node) Cost() uint64 { return n.Exclusive.Sum - n.Lost() }

// Costs visits a tree, children before parents, with what each node cost including all below it.
func (n *Node) Costs(visit func(n *Node, inclusive uint64)) {
	var walk func(n *Node) uint64
	walk = func(n *Node) uint64 {
		lost := n.Lost()
		for _, c := range n.Children {
			lost += walk(c)
		}
		lost = min(lost, n.Inclusive.Sum)
		visit(n, n.Inclusive.Sum-lost)
		return lost
	}
	walk(n)
}
