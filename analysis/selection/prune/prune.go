// Package prune finds the core of a call graph: what is left when branches that do not matter are cut off, by
// the rule of N. Trebon, A. Morris, J. Ray, S. Shende, A. Malony, "Performance Modeling of Component
// Assemblies with TAU" (CompFrame 2005), section III.A, which is also in Trebon's thesis (University of
// Oregon, 2005), section V.A. For a node J with inclusive time T_J and N_J children of times T_i:
//
//  1. If Σ T_i / T_J < α, all children are pruned.
//  2. Otherwise each child with T_i / T̄ < β is pruned, where T̄ = Σ T_i / N_J is the mean over all children.
//
// A child takes its whole subtree along, so the core is connected. The papers leave open what equality does;
// here it keeps, as does a zero under the fraction bar: nothing is small relative to nothing. Children are
// component nodes only: an MPI call is part of its caller's inclusive time, and a node that belongs to no
// component is passed through, its component nodes being children of the component above. If no node
// belongs to a component, every node counts. Each node is judged by itself, also when several are of
// one component: an instance may matter in one context and not in another.
//
// It may use graph and words; it holds no state.
//
// Invariant: raising α or β never brings a node back, and the core holds the parent of each of its nodes.
package prune

import (
	"cmp"
	"math"
	"slices"

	"marple/analysis/selection/graph"
)

// Rule is the two thresholds, usually 0.1 each.
type Rule struct{ Alpha, Beta float64 }

// rounding is how far quotients of decimals may be off when they are held in binary: what is equal but for
// this, is equal.
const rounding = 1e-12

// Node is a node with what the rule says of it.
type Node struct {
	*graph.Node
	// Judged is false for the root, which is always kept, and for nodes that belong to no component, which are
	// kept when they lead to one that is.
	Judged bool
	Share  float64 // of it and its siblings together in their parent's time; +Inf if that is zero
	Ratio  float64 // of its time to the mean of it and its siblings; +Inf if that is zero
	Of     *Node   // the parent in the sense of the rule
	// Alpha and Beta are the least Share and Ratio from the root to here: the node is kept as long as α and β
	// are no greater.
	Alpha, Beta float64
	Children    []*Node
}

// Judge applies the rule for all thresholds at once.
func Judge(root *graph.Node) *Node {
	every := !root.HasComponents()
	n := wrap(root)
	n.Alpha, n.Beta = math.Inf(1), math.Inf(1)
	n.judge(every)
	return n
}

func wrap(g *graph.Node) *Node {
	n := &Node{Node: g}
	for _, c := range g.Children {
		n.Children = append(n.Children, wrap(c))
	}
	return n
}

func (n *Node) judge(every bool) {
	children := n.below(every, nil)
	sum := 0.0
	for _, c := range children {
		sum += c.Inclusive
	}
	share, mean := ratio(sum, n.Inclusive), sum/float64(max(len(children), 1))
	for _, c := range children {
		c.Judged, c.Of, c.Share, c.Ratio = true, n, share, ratio(c.Inclusive, mean)
		c.Alpha, c.Beta = min(n.Alpha, share), min(n.Beta, c.Ratio)
		c.judge(every)
	}
}

// below lists the nearest nodes below n that count.
func (n *Node) below(every bool, list []*Node) []*Node {
	for _, c := range n.Children {
		if every || c.Component != "" {
			list = append(list, c)
		} else {
			list = c.below(every, list)
		}
	}
	return list
}

func ratio(a, b float64) float64 {
	if b == 0 {
		return math.Inf(1)
	}
	return a / b
}

// small tells whether a quotient is below a threshold.
func small(quotient, threshold float64) bool { return quotient < threshold*(1-rounding) }

// Core is what a rule leaves.
type Core struct {
	Root *Node
	Rule Rule
	kept map[*Node]bool
	// Nodes and Components count those that the rule judges, and the root; Of… those of the whole graph.
	Nodes, Components, OfNodes, OfComponents int
	// Recovered is the share of the root's time that is not in pruned branches.
	Recovered float64
	// Pruned are the roots of pruned branches, the longest first.
	Pruned []*Node
}

// Keep applies one rule to a judged graph.
func (n *Node) Keep(r Rule) *Core {
	c := &Core{Root: n, Rule: r, kept: map[*Node]bool{}}
	all, core := map[string]bool{}, map[string]bool{}
	c.keep(n, all, core)
	c.Components, c.OfComponents = len(core), len(all)
	lost := 0.0
	for _, p := range c.Pruned {
		lost += p.Inclusive
	}
	c.Recovered = recovered(n, lost)
	slices.SortStableFunc(c.Pruned, func(a, b *Node) int { return cmp.Compare(b.Inclusive, a.Inclusive) })
	return c
}

// recovered is the share of the root's time that is left. Where children overlap, as in parallel, they may
// take more than their parent does.
func recovered(root *Node, lost float64) float64 {
	if root.Inclusive == 0 {
		return 1
	}
	return max(0, 1-lost/root.Inclusive)
}

func (c *Core) keep(n *Node, all, core map[string]bool) bool {
	kept := n == c.Root
	if n.Judged {
		kept = !small(n.Alpha, c.Rule.Alpha) && !small(n.Beta, c.Rule.Beta)
	}
	if n.Judged || n == c.Root {
		c.OfNodes++
		if kept {
			c.Nodes++
		}
	}
	if n.Component != "" {
		all[n.Component] = true
		if kept {
			core[n.Component] = true
		}
	}
	if n.Judged && !kept && c.kept[n.Of] {
		c.Pruned = append(c.Pruned, n)
	}
	c.kept[n] = kept
	for _, child := range n.Children {
		if c.keep(child, all, core) && !n.Judged {
			kept = true
		}
	}
	c.kept[n] = kept
	return kept
}

// Kept tells whether a node is in the core.
func (c *Core) Kept(n *Node) bool { return c.kept[n] }

// ByAlpha tells whether a node at the root of a pruned branch was pruned with all of its siblings.
func (c *Core) ByAlpha(n *Node) bool { return small(n.Share, c.Rule.Alpha) }

// Tree is the core as a call graph of its own.
func (c *Core) Tree() *graph.Node { return c.tree(c.Root) }

func (c *Core) tree(n *Node) *graph.Node {
	out := *n.Node
	out.Children = nil
	for _, child := range n.Children {
		if c.kept[child] {
			out.Children = append(out.Children, c.tree(child))
		}
	}
	return &out
}
