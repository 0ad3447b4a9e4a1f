package graph

// By is what is one node of a call graph.
type By string

const (
	// Method: a component's method below the methods that lead to it, wherever in these it is called. The call graphs
	// of N. Trebon's thesis (University of Oregon, 2005; figure 19) are of this kind.
	Method By = "method"
	// Path: a call path, with the functions and places of the calls between components.
	Path By = "path"
)

// Grouped is the call graph with a node for each component and method below one that is called: calls of the same
// method from several places count together, and what belongs to no component is part of its caller. If no node belongs
// to a component, every node counts as one.
func (g *Graph) Grouped() *Graph {
	out := *g
	out.By, out.Paths = Method, g.Root.counted(!g.Root.HasComponents())
	out.Root = g.Root.grouped(!g.Root.HasComponents())
	return &out
}

func (n *Node) grouped(every bool) *Node {
	out := *n
	out.Children = nil
	type key struct{ component, name string }
	at := map[key]int{}
	for _, c := range n.nearest(every, nil) {
		k := key{c.Component, c.Name}
		i, known := at[k]
		if !known {
			at[k] = len(out.Children)
			one := *c
			out.Children = append(out.Children, &one)
			continue
		}
		same := out.Children[i]
		same.Inclusive += c.Inclusive
		same.Calls += c.Calls
		same.Sizes = append(same.Sizes[:len(same.Sizes):len(same.Sizes)], c.Sizes...)
		same.CallPaths = append(same.CallPaths[:len(same.CallPaths):len(same.CallPaths)], c.CallPaths...)
		same.Children = append(same.Children[:len(same.Children):len(same.Children)], c.Children...)
	}
	for i, c := range out.Children {
		out.Children[i] = c.grouped(every)
	}
	return &out
}

// nearest are the nodes below that count, without those below them.
func (n *Node) nearest(every bool, list []*Node) []*Node {
	for _, c := range n.Children {
		if every || c.Component != "" {
			list = append(list, c)
		} else {
			list = c.nearest(every, list)
		}
	}
	return list
}

// counted is how many nodes of a tree count, and its root.
func (n *Node) counted(every bool) int {
	count := 1
	for _, c := range n.nearest(every, nil) {
		count += c.counted(every)
	}
	return count
}
