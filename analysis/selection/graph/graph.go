// Package graph is a call graph as pruning and selection need it: a tree of nodes with inclusive times, read
// from a run or from JSON that anybody can write.
//
// It may use run and words; it holds no state.
//
// Invariant: a graph that was read has a root, no negative or infinite time, and at most MaxDepth levels; what
// a JSON file says beyond what is known here is kept and written again.
package graph

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"marple/analysis/machine"
	"marple/analysis/run"
	"marple/analysis/words"
)

// MaxDepth is what no real call path reaches.
const MaxDepth = 10_000

// Node is a call path. Times have the unit of their source: Graph.Unit.
type Node struct {
	Name string
	// Component is the instance of a component whose method this is; empty for anything else, such as an MPI call.
	Component string
	Inclusive float64
	// Calls is how often it was invoked; 0: not known.
	Calls float64
	// Sizes are the problem sizes of these invocations, where they were recorded.
	Sizes     []Size
	Other     []Member
	Children  []*Node
	CallPaths []*run.Node // the call paths of a run that it stands for
}

// Size is a problem size: the values of its parameters, and how many invocations met it.
type Size struct {
	Calls float64            `json:"calls"`
	At    map[string]float64 `json:"at"`
}

// Member is a member of a JSON object that means nothing here.
type Member struct {
	Key   string
	Value json.RawMessage
}

// Graph is a call graph. Unit is its unit of time in seconds; 0: not known.
type Graph struct {
	Root *Node
	Unit float64
	// Ranks is over how many ranks times and calls of a run are means; 0: not known.
	Ranks int
	// Lost is for how long, beside these times, a rank had no core, waited for one that had none, or Marple took it: the mean
	// over ranks.
	Lost float64
	// By says what is one node, and Paths how many nodes there are if it is the call path.
	By    By
	Paths int
	// Parameters of the whole run, such as the size of the problem, that were recorded with it.
	Parameters map[string]float64
	Machine    *machine.Machine // of the run, if it says
	Families   []string         // what the program has declared of its components
	Notes      []string         // what of the source is not in it
}

// Walk visits a tree, parents first.
func (n *Node) Walk(visit func(n *Node, depth int)) { n.walk(0, visit) }

func (n *Node) walk(depth int, visit func(*Node, int)) {
	visit(n, depth)
	for _, c := range n.Children {
		c.walk(depth+1, visit)
	}
}

// HasComponents tells whether any node of the tree is a component's. If none is, every node counts as one.
func (n *Node) HasComponents() bool {
	return n.Component != "" || slices.ContainsFunc(n.Children, (*Node).HasComponents)
}

// inside are the kinds of a run's nodes that are no step on the way to another component: their time is part
// of the inclusive time of what they belong to.
var inside = map[string]bool{"mpi": true, "gap": true, "off-core": true, "marple": true}

// FromRun takes the tree of the thread that called MPI_Init, with a node for each call path. Times are what call paths
// cost (run.Node.Cost), nanoseconds, as with a core for each rank where the run can tell; they and the numbers of calls are
// means over ranks.
func FromRun(r *run.Run) (*Graph, error) {
	measured, root := r.Root(), r.Replayed().Root()
	if root == nil {
		return nil, errNoGraph
	}
	g := &Graph{Unit: 1e-9, Ranks: max(r.Measured, 1), By: Path, Parameters: r.Parameters, Machine: r.Machine, Families: r.Families}
	made := map[*run.Node]*Node{}
	root.Costs(func(n *run.Node, inclusive uint64) {
		out := &Node{Name: n.Name, Component: component(n), Inclusive: float64(inclusive) / float64(g.Ranks), CallPaths: []*run.Node{n}}
		if n.Calls != nil {
			out.Calls = float64(n.Calls.N) / float64(g.Ranks)
		}
		for _, c := range n.Children {
			if !inside[c.Kind] {
				out.Children = append(out.Children, made[c])
			}
		}
		made[n] = out
	})
	g.Root = made[root]
	g.Lost = max(float64(measured.Inclusive.Sum)/float64(g.Ranks)-g.Root.Inclusive, 0)
	g.Paths = g.Root.counted(!g.Root.HasComponents())
	for _, others := range r.CallGraph[1:] {
		if others.Inclusive.Sum > 0 {
			g.Notes = append(g.Notes, "what other threads did is not in this call graph")
			break
		}
	}
	return g, nil
}

// About is what whoever reads times of the graph must know: what they are, and what is not in them.
func (g *Graph) About() []string {
	var list []string
	if g.Ranks > 0 {
		text := "Times are elapsed time with a core, the mean over " + words.Count(uint64(g.Ranks), "rank", "ranks")
		if g.Lost >= leastLost*g.Root.Inclusive {
			text += fmt.Sprintf("; for %s more a rank had no core, waited for one that had none, or Marple took it", words.Duration(g.Lost*g.Unit))
		}
		list = append(list, text)
	}
	return append(list, g.Notes...)
}

// leastLost is the share of the whole from which on time that is no cost is told.
const leastLost = 0.01

// component is the instance that a node belongs to: the nodes of components' methods are called
// component.method or, where there are several instances, component[instance].method.
func component(n *run.Node) string {
	dot := strings.LastIndexByte(n.Name, '.')
	if n.Kind != "component" || dot < 0 {
		return ""
	}
	name := n.Name[:dot]
	if open := strings.IndexByte(name, '['); open >= 0 && strings.HasSuffix(name, "]") {
		return name[open+1 : len(name)-1]
	}
	return name
}
