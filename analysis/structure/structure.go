// Package structure finds out of who sends messages to whom what roles ranks have: the hub of a star, the order
// of a chain, the levels of a tree.
//
// It uses the standard library only and holds no state.
//
// Invariant: ranks are told apart by their messages alone, never by their numbers, but where two are alike: then
// the lower number comes first; and in a butterfly, which is one by the numbers.
package structure

import (
	"cmp"
	"math/bits"
	"slices"
)

// Edge is what one rank has sent another. Ranks are numbered from 0.
type Edge struct {
	From, To        int
	Messages, Bytes uint64
}

// Graph is who sends to whom.
type Graph struct {
	Ranks int
	Out   [][]Edge // by sender, by rising receiver
	In    [][]Edge // by receiver, by rising sender
}

// New makes a graph. Edges of ranks that do not exist, to itself and without messages are left out; several
// between the same ranks are added up.
func New(ranks int, edges []Edge) *Graph {
	g := &Graph{Ranks: ranks, Out: make([][]Edge, ranks), In: make([][]Edge, ranks)}
	edges = slices.DeleteFunc(slices.Clone(edges), func(e Edge) bool {
		return e.From < 0 || e.To < 0 || e.From >= ranks || e.To >= ranks || e.From == e.To || e.Messages == 0
	})
	slices.SortFunc(edges, func(a, b Edge) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To)) })
	for _, e := range edges {
		if out := g.Out[e.From]; len(out) > 0 && out[len(out)-1].To == e.To {
			out[len(out)-1].Messages += e.Messages
			out[len(out)-1].Bytes += e.Bytes
			continue
		}
		g.Out[e.From] = append(g.Out[e.From], e)
	}
	for _, out := range g.Out {
		for _, e := range out {
			g.In[e.To] = append(g.In[e.To], e)
		}
	}
	return g
}

// Messages is how many there are in all.
func (g *Graph) Messages() uint64 {
	var n uint64
	for _, out := range g.Out {
		for _, e := range out {
			n += e.Messages
		}
	}
	return n
}

// Sent is how many messages one rank has sent another.
func (g *Graph) Sent(from, to int) uint64 { return g.edge(from, to).Messages }

// Partners are the ranks that a rank exchanges messages with, rising.
func (g *Graph) Partners(rank int) []int {
	var list []int
	for _, e := range g.Out[rank] {
		list = append(list, e.To)
	}
	for _, e := range g.In[rank] {
		list = append(list, e.From)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// touching is how many messages come from or go to a rank.
func (g *Graph) touching(rank int) uint64 {
	var n uint64
	for _, e := range g.Out[rank] {
		n += e.Messages
	}
	for _, e := range g.In[rank] {
		n += e.Messages
	}
	return n
}

// hubPart is how much of all messages must come from or go to the hub of a star: other messages may start and
// end the program.
const hubPart = 0.9

// Hub is the rank at the middle of a star of at least three ranks, or -1.
func (g *Graph) Hub() int {
	g, best := g.star()
	if best < 0 || len(g.Partners(best)) < 2 || float64(g.touching(best)) < hubPart*float64(g.Messages()) {
		return -1
	}
	return best
}

// star is the rank that most messages come from or go to, and the messages that were looked at: where results go to a
// rank of their own, which sends nothing, those to it are left out if the rest is more of a star.
func (g *Graph) star() (*Graph, int) {
	best := g.busiest()
	collector := -1
	for r := range g.Ranks {
		if len(g.Out[r]) == 0 && len(g.In[r]) > max(1, g.from(collector)) {
			collector = r
		}
	}
	if best < 0 || collector < 0 {
		return g, best
	}
	var rest []Edge
	for _, out := range g.Out {
		for _, e := range out {
			if e.To != collector {
				rest = append(rest, e)
			}
		}
	}
	without := New(g.Ranks, rest)
	middle := without.busiest()
	if middle < 0 || float64(without.touching(middle))/float64(without.Messages()) <= float64(g.touching(best))/float64(g.Messages()) {
		return g, best
	}
	return without, middle
}

// from is how many ranks send to a rank; -1 is none.
func (g *Graph) from(rank int) int {
	if rank < 0 {
		return 0
	}
	return len(g.In[rank])
}

// busiest is the rank that most messages come from or go to, or -1.
func (g *Graph) busiest() int {
	best, most := -1, uint64(0)
	for r := range g.Ranks {
		if n := g.touching(r); n > most {
			best, most = r, n
		}
	}
	return best
}

// oneWay is by how much messages one way must outnumber those back, so that something flows.
const oneWay = 4

// flows tells whether messages flow from one rank to another.
func (g *Graph) flows(from, to int) bool {
	return g.Sent(from, to) > oneWay*g.Sent(to, from)
}

// Layers gives each rank's place in the order in which messages flow, from 0: the longest way that leads to it.
// Ranks without messages have -1. Where messages flow as much back as forth, the order is that of the distance
// from an end of the graph. It is nil where messages flow in circles.
func (g *Graph) Layers() []int {
	layer := make([]int, g.Ranks)
	waiting := make([]int, g.Ranks)
	directed := false
	for r := range g.Ranks {
		layer[r] = -1
		for _, e := range g.In[r] {
			if g.flows(e.From, r) {
				waiting[r]++
				directed = true
			}
		}
	}
	if !directed {
		return g.distances()
	}
	var ready []int
	for r := range g.Ranks {
		if waiting[r] == 0 && len(g.Partners(r)) > 0 {
			layer[r] = 0
			ready = append(ready, r)
		}
	}
	for ; len(ready) > 0; ready = ready[1:] {
		r := ready[0]
		for _, e := range g.Out[r] {
			if g.flows(r, e.To) {
				layer[e.To] = max(layer[e.To], layer[r]+1)
				if waiting[e.To]--; waiting[e.To] == 0 {
					ready = append(ready, e.To)
				}
			}
		}
	}
	if slices.ContainsFunc(waiting, func(n int) bool { return n > 0 }) {
		return nil
	}
	return layer
}

// distances from the rank that is farthest from another one, in each part of the graph that hangs together.
func (g *Graph) distances() []int {
	layer := make([]int, g.Ranks)
	for r := range layer {
		layer[r] = -1
	}
	for r := range g.Ranks {
		if layer[r] >= 0 || len(g.Partners(r)) == 0 {
			continue
		}
		// The farthest from the farthest: exact in trees and grids.
		end, _ := g.farthest(r)
		end, _ = g.farthest(end)
		other, _ := g.farthest(end)
		_, far := g.farthest(min(end, other))
		for rank, d := range far {
			layer[rank] = d
		}
	}
	return layer
}

// farthest is the rank with the longest shortest way from here, the lowest of several, and all distances.
func (g *Graph) farthest(from int) (rank int, distance map[int]int) {
	distance = map[int]int{from: 0}
	rank = from
	for queue := []int{from}; len(queue) > 0; queue = queue[1:] {
		r := queue[0]
		if d := distance[r]; d > distance[rank] || d == distance[rank] && r < rank {
			rank = r
		}
		for _, next := range g.Partners(r) {
			if _, seen := distance[next]; !seen {
				distance[next] = distance[r] + 1
				queue = append(queue, next)
			}
		}
	}
	return rank, distance
}

// Tree gives each rank's parent in the tree that messages form, -1 for the root; nil if they form none. The root
// is the rank with the most partners.
func (g *Graph) Tree() []int {
	root, most, edges := -1, 0, 0
	for r := range g.Ranks {
		n := len(g.Partners(r))
		edges += n
		if n > most {
			root, most = r, n
		}
	}
	if root < 0 || edges != 2*(g.Ranks-1) {
		return nil
	}
	parent := make([]int, g.Ranks)
	for r := range parent {
		parent[r] = -2
	}
	parent[root] = -1
	reached := 1
	for queue := []int{root}; len(queue) > 0; queue = queue[1:] {
		for _, next := range g.Partners(queue[0]) {
			if parent[next] == -2 {
				parent[next] = queue[0]
				reached++
				queue = append(queue, next)
			}
		}
	}
	if reached < g.Ranks {
		return nil
	}
	return parent
}

// Role gives the ranks that have a structural role, nil if there is no such structure.
func (g *Graph) Role(name string) []int {
	var list []int
	switch name {
	case "all":
		for r := range g.Ranks {
			list = append(list, r)
		}
	case "hub":
		if h := g.Hub(); h >= 0 {
			list = []int{h}
		}
	case "spoke":
		if h := g.Hub(); h >= 0 {
			list = g.Partners(h)
		}
	case "first", "inner", "last":
		layers := g.Layers()
		if layers == nil {
			return nil
		}
		for r, l := range layers {
			after := slices.ContainsFunc(g.Partners(r), func(p int) bool { return layers[p] > l })
			is := map[bool]string{true: "inner", false: "last"}[after]
			if l == 0 && after {
				is = "first"
			}
			if l >= 0 && is == name {
				list = append(list, r)
			}
		}
	case "root", "branch", "leaf":
		parent := g.Tree()
		if parent == nil {
			return nil
		}
		children := make([]int, g.Ranks)
		for _, p := range parent {
			if p >= 0 {
				children[p]++
			}
		}
		for r, p := range parent {
			is := "leaf"
			if p < 0 {
				is = "root"
			} else if children[r] > 0 {
				is = "branch"
			}
			if is == name {
				list = append(list, r)
			}
		}
	}
	return list
}

// Star is the part of all messages that come from or go to the busiest rank, and with how much of the others that
// have messages it exchanges any; see star. A pair of ranks is no star.
func (g *Graph) Star() (messages, partners float64) {
	g, best := g.star()
	active := 0
	for r := range g.Ranks {
		if g.touching(r) > 0 {
			active++
		}
	}
	if best < 0 || active < 3 {
		return 0, 0
	}
	return float64(g.touching(best)) / float64(g.Messages()), float64(len(g.Partners(best))) / float64(active-1)
}

// Active is the part of the ranks that send or receive messages.
func (g *Graph) Active() float64 {
	n := 0
	for r := range g.Ranks {
		if len(g.Out[r])+len(g.In[r]) > 0 {
			n++
		}
	}
	return float64(n) / float64(max(g.Ranks, 1))
}

// Degree is with how many others a rank exchanges messages, on average of those that do.
func (g *Graph) Degree() float64 {
	n, sum := 0, 0
	for r := range g.Ranks {
		if p := len(g.Partners(r)); p > 0 {
			n++
			sum += p
		}
	}
	return float64(sum) / float64(max(n, 1))
}

// Grades is by how much the mean message to one partner is larger than that to another one, for the rank in the middle, where messages
// between two ranks are about as large both ways: between faces, edges and corners of boxes. 1 where they are not.
func (g *Graph) Grades() float64 {
	alike, pairs := 0, 0
	var grades []float64
	for r := range g.Ranks {
		least, most := 0.0, 0.0
		for _, e := range g.Out[r] {
			size := e.size()
			if answer := g.edge(e.To, r); answer.Messages > 0 {
				back := answer.size()
				if pairs++; max(size, back) <= 1.25*min(size, back) {
					alike++
				}
			} else {
				pairs++
			}
			if least == 0 || size < least {
				least = size
			}
			most = max(most, size)
		}
		if least > 0 {
			grades = append(grades, most/least)
		}
	}
	if pairs == 0 || 10*alike < 9*pairs {
		return 1
	}
	slices.Sort(grades)
	return grades[len(grades)/2]
}

// Fewest is with how many others the rank exchanges messages that has the fewest partners, of those that have any.
func (g *Graph) Fewest() int {
	least := 0
	for r := range g.Ranks {
		if p := len(g.Partners(r)); p > 0 && (least == 0 || p < least) {
			least = p
		}
	}
	return least
}

// Cube tells whether every rank has as many partners as the corners of a hypercube that has a rank at each, of four ranks and more.
func (g *Graph) Cube() bool {
	if g.Ranks < 4 || g.Ranks&(g.Ranks-1) != 0 {
		return false
	}
	for r := range g.Ranks {
		if 1<<len(g.Partners(r)) != g.Ranks {
			return false
		}
	}
	return true
}

// Returned is the part of the messages that go where as many come from.
func (g *Graph) Returned() float64 {
	var both, all uint64
	for _, out := range g.Out {
		for _, e := range out {
			both += min(e.Messages, g.Sent(e.To, e.From))
			all += e.Messages
		}
	}
	if all == 0 {
		return 0
	}
	return float64(both) / float64(all)
}

// Mutual is the part of the pairs of ranks with messages between which these do not flow one way.
func (g *Graph) Mutual() float64 {
	mutual, all := 0, 0
	for _, out := range g.Out {
		for _, e := range out {
			back := g.Sent(e.To, e.From)
			if back > 0 && e.From > e.To {
				continue // counted from the other end
			}
			all++
			if !g.flows(e.From, e.To) && !g.flows(e.To, e.From) {
				mutual++
			}
		}
	}
	if all == 0 {
		return 0
	}
	return float64(mutual) / float64(all)
}

// Even is the part of the pairs of ranks that exchange about as many messages as the median pair: between half and
// twice as many.
func (g *Graph) Even() float64 {
	var counts []uint64
	for _, out := range g.Out {
		for _, e := range out {
			if back := g.Sent(e.To, e.From); back == 0 || e.From < e.To {
				counts = append(counts, e.Messages+back)
			}
		}
	}
	if len(counts) == 0 {
		return 0
	}
	slices.Sort(counts)
	median, n := counts[len(counts)/2], 0
	for _, c := range counts {
		if 2*c >= median && c <= 2*median {
			n++
		}
	}
	return float64(n) / float64(len(counts))
}

// Chained is the part of the messages that flow between ranks of which the first has no other successor and the
// second no other predecessor.
func (g *Graph) Chained() float64 {
	next, before := make([]int, g.Ranks), make([]int, g.Ranks)
	for r := range g.Ranks {
		for _, e := range g.Out[r] {
			if g.flows(r, e.To) {
				next[r]++
				before[e.To]++
			}
		}
	}
	var in, all uint64
	for _, out := range g.Out {
		for _, e := range out {
			all += e.Messages
			if g.flows(e.From, e.To) && next[e.From] == 1 && before[e.To] == 1 {
				in += e.Messages
			}
		}
	}
	if all == 0 {
		return 0
	}
	return float64(in) / float64(all)
}

// Branches is the part of the ranks that more than two others hang on, in the tree that messages form; 0 if they form
// none.
func (g *Graph) Branches() float64 {
	n := 0
	for r := range g.Tree() {
		if len(g.Partners(r)) > 2 {
			n++
		}
	}
	return float64(n) / float64(max(g.Ranks, 1))
}

// TreeLevels is how many levels the tree has that messages form among the ranks that have any; 0 if they form none.
func (g *Graph) TreeLevels() int {
	number := map[int]int{}
	for r := range g.Ranks {
		if len(g.Partners(r)) > 0 {
			number[r] = len(number)
		}
	}
	var edges []Edge
	for _, out := range g.Out {
		for _, e := range out {
			edges = append(edges, Edge{number[e.From], number[e.To], e.Messages, e.Bytes})
		}
	}
	parent := New(len(number), edges).Tree()
	levels := 0
	for r := range parent {
		depth := 1
		for p := parent[r]; p >= 0; p = parent[p] {
			depth++
		}
		levels = max(levels, depth)
	}
	return levels
}

// Stages are of a butterfly: with how many ranks each rank exchanges messages in turn, twice as far away each time. Of ranks that are no
// power of two the rest exchange with one of the others before and after, and are not counted.
func (g *Graph) Stages() int {
	return max(bits.Len(uint(g.Ranks))-1, 0)
}

// Butterfly is the part of the messages that ranks exchange with those whose numbers differ from their own in one bit, about as many and
// as large both ways, times the part of such pairs that have messages at all. Of ranks that are no power of two, some are folded onto
// others first, in one of the usual ways, and only the others count. 0 for fewer than four.
func (g *Graph) Butterfly() float64 {
	if g.Ranks < 4 {
		return 0
	}
	size := 1 << g.Stages()
	rest := g.Ranks - size
	mates := []func(r int) int{ // of a folded rank; -1: it is none
		func(r int) int { return map[bool]int{true: r + 1, false: -1}[r < 2*rest && r%2 == 0] },
		func(r int) int { return map[bool]int{true: r - 1, false: -1}[r < 2*rest && r%2 == 1] },
		func(r int) int { return map[bool]int{true: r - size, false: -1}[r >= size] },
	}
	best := 0.0
	for _, mate := range mates {
		best = max(best, g.butterfly(size, mate))
		if rest == 0 {
			break
		}
	}
	return best
}

func (g *Graph) butterfly(size int, mate func(r int) int) float64 {
	all := g.Messages()
	var core []int
	var in uint64
	for r := range g.Ranks {
		if m := mate(r); m < 0 {
			core = append(core, r)
		} else if there, back := g.Sent(r, m), g.Sent(m, r); there > 0 && back > 0 {
			in += there + back
		} else {
			return 0
		}
	}
	seen, pairs := 0, 0
	for i, r := range core {
		for bit := 1; bit < size; bit *= 2 {
			if i&bit != 0 {
				continue // counted from the other end
			}
			pairs++
			if there, back := g.edge(r, core[i|bit]), g.edge(core[i|bit], r); alike(there, back) {
				seen++
				in += there.Messages + back.Messages
			}
		}
	}
	return float64(in) / float64(max(all, 1)) * float64(seen) / float64(max(pairs, 1))
}

// alike tells whether there are messages both ways, half as many one way at least as the other, and half as large on average.
func alike(a, b Edge) bool {
	if a.Messages == 0 || b.Messages == 0 {
		return false
	}
	half := func(x, y float64) bool { return 2*x >= y && 2*y >= x }
	return half(float64(a.Messages), float64(b.Messages)) && half(a.size(), b.size())
}

// size is the mean of the messages'.
func (e Edge) size() float64 { return float64(e.Bytes) / float64(e.Messages) }

// edge is what one rank has sent another; without messages if nothing.
func (g *Graph) edge(from, to int) Edge {
	i, ok := slices.BinarySearchFunc(g.Out[from], to, func(e Edge, to int) int { return cmp.Compare(e.To, to) })
	if !ok {
		return Edge{From: from, To: to}
	}
	return g.Out[from][i]
}
