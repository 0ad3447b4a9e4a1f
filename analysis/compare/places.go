package compare

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"marple/analysis/run"
)

// place is one call path in all runs.
type place struct {
	above *place
	label string
	kind  string
	nodes [][]*run.Node // by run, those of A first
	below []*place
}

// lineNumber is that of a call in the name of the gap beside it.
var lineNumber = regexp.MustCompile(` \([^()\s]+:(\d+)\)`)

// match finds which nodes below a place belong together. Names tell; but lines move when a program is changed, so of
// several nodes of one name those on the same lines belong together if all runs have the same lines; else, if there
// are as many in all runs, the first with the first, and so on; else they are all one place.
func (p *place) match() {
	groups := map[string][][]*run.Node{} // by run
	var order []string
	for i, nodes := range p.nodes {
		for _, n := range nodes {
			for _, child := range n.Children {
				key := child.Kind + "\x00" + lineNumber.ReplaceAllString(child.Name, "")
				if groups[key] == nil {
					groups[key] = make([][]*run.Node, len(p.nodes))
					order = append(order, key)
				}
				groups[key][i] = append(groups[key][i], child)
			}
		}
	}
	for _, key := range order {
		group := groups[key]
		parts, equal := alike(group)
		if parts == 0 && !equal {
			p.add(group)
			continue
		}
		for k := range parts {
			part := make([][]*run.Node, len(group))
			for i, nodes := range group {
				if k < len(nodes) {
					part[i] = nodes[k : k+1]
				}
			}
			p.add(part)
		}
	}
}

// alike sorts nodes of the same function by where they stand, and says how many there are where all runs that have any have as many (0:
// they have not), and whether these have the same labels.
func alike(group [][]*run.Node) (parts int, equal bool) {
	equal = true
	var lines []string // labels
	for _, nodes := range group {
		if len(nodes) == 0 {
			continue
		}
		slices.SortStableFunc(nodes, func(x, y *run.Node) int { return slices.Compare(position(x), position(y)) })
		var labels []string
		for _, n := range nodes {
			labels = append(labels, n.Label())
		}
		if lines == nil {
			lines, parts = labels, len(nodes)
		}
		if len(nodes) != parts {
			parts = 0
		}
		equal = equal && slices.Equal(lines, labels)
	}
	return parts, equal
}

// position is by what nodes of one name are told apart: their lines.
func position(n *run.Node) (lines []int) {
	for _, m := range lineNumber.FindAllStringSubmatch(n.Label(), -1) {
		line, _ := strconv.Atoi(m[1])
		lines = append(lines, line)
	}
	return lines
}

func (p *place) add(nodes [][]*run.Node) {
	child := &place{above: p, nodes: nodes}
	for i := len(nodes) - 1; i >= 0 && child.label == ""; i-- { // as the last run of B has it
		if len(nodes[i]) > 0 {
			child.label, child.kind = nodes[i][0].Label(), nodes[i][0].Kind
		}
	}
	most := 0
	for _, list := range nodes {
		most = max(most, len(list))
	}
	if most > 1 {
		child.label = fmt.Sprintf("%s (up to %d places)", lineNumber.ReplaceAllString(child.label, ""), most)
	}
	p.below = append(p.below, child)
	child.match()
}

// matcher finds the places that differ.
type matcher struct {
	a, b  []*run.Run
	least float64 // seconds
	found []Place
}

func (c *Comparison) places(a, b []*run.Run, least float64) {
	all := append(slices.Clone(a), b...)
	root := &place{label: b[len(b)-1].Program, nodes: make([][]*run.Node, len(all))}
	for i, r := range all {
		root.nodes[i] = []*run.Node{r.Root()}
	}
	root.match()
	m := &matcher{a: a, b: b}
	values := m.values(root)
	mean, _ := moments(values[:len(a)])
	m.least = least * mean
	c.Least = m.least
	rest := subtract(values, m.visit(root))
	c.Rest = change(rest[:len(a)], rest[len(a):])
	holm(m.found)
	slices.SortStableFunc(m.found, func(x, y Place) int { return cmp.Compare(math.Abs(y.Difference), math.Abs(x.Difference)) })
	c.Places = append(c.Places, m.found...)
}

// values are a place's times in seconds per rank, by run.
func (m *matcher) values(p *place) []float64 {
	values := make([]float64, len(p.nodes))
	for i, nodes := range p.nodes {
		for _, n := range nodes {
			values[i] += float64(n.Inclusive.Sum) / 1e9 / float64(m.run(i).Measured)
		}
	}
	return values
}

func (m *matcher) run(i int) *run.Run {
	if i < len(m.a) {
		return m.a[i]
	}
	return m.b[i-len(m.a)]
}

// visit finds the innermost places that differ by enough, and gives the time that is in these. What is left of a place
// counts for itself: many small differences below it may make a large one.
func (m *matcher) visit(p *place) []float64 {
	values := m.values(p)
	inside := make([]float64, len(values))
	for _, child := range p.below {
		for i, v := range m.visit(child) {
			inside[i] += v
		}
	}
	own := subtract(values, inside)
	x := change(own[:len(m.a)], own[len(m.a):])
	if math.Abs(x.Difference) < m.least || x.Difference == 0 || p.above == nil {
		return inside
	}
	found := Place{Kind: p.kind, Change: x, Ranks: m.ranks(p)}
	for q := p; q.above != nil; q = q.above {
		found.Path = append(found.Path, q.label)
	}
	for i, nodes := range p.nodes {
		if side := m.side(i); len(nodes) > 0 {
			found.Runs[side]++
			if found.Node[side] == "" {
				found.Node[side] = nodes[0].ID
			}
		}
	}
	m.found = append(m.found, found)
	return values
}

func (m *matcher) side(run int) int {
	if run < len(m.a) {
		return 0
	}
	return 1
}

func subtract(x, y []float64) []float64 {
	z := make([]float64, len(x))
	for i := range x {
		z[i] = x[i] - y[i]
	}
	return z
}

// mostRanks is up to how many ranks a difference is said to be of these.
const mostRanks = 3

// ranks are those few that have more than half of a place's difference, where all have the same number of ranks and
// each is known.
func (m *matcher) ranks(p *place) []int {
	ranks := m.run(0).Ranks
	difference := make([]float64, min(ranks, 1<<16))
	for i, nodes := range p.nodes {
		r := m.run(i)
		if r.Ranks != ranks || r.Measured != ranks {
			return nil
		}
		sign := -1 / float64(len(m.a))
		if m.side(i) == 1 {
			sign = 1 / float64(len(m.b))
		}
		for _, n := range nodes {
			if uint64(len(n.PerRank)) < n.Inclusive.N {
				return nil
			}
			for _, x := range n.PerRank {
				if x.Rank < 0 || int(x.Rank) >= len(difference) {
					return nil
				}
				difference[x.Rank] += sign * float64(x.Inclusive)
			}
		}
	}
	total := 0.0
	order := make([]int, len(difference))
	for rank, d := range difference {
		total += d
		order[rank] = rank
	}
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(difference[y]*total, difference[x]*total) })
	sum := 0.0
	for k := 0; k < mostRanks && 4*(k+1) <= len(order); k++ {
		if sum += difference[order[k]]; sum/total > 0.5 {
			return slices.Sorted(slices.Values(order[:k+1]))
		}
	}
	return nil
}

// Label is a place in one line: "MPI_Send (halo.c:33) in exchange (step.c:12) in main".
func (p *Place) Label() string {
	const most, inner = 7, 5
	steps := p.Path
	if len(steps) > most {
		steps = slices.Concat(steps[:inner], []string{"…"}, steps[len(steps)-1:])
	}
	return strings.Join(steps, " in ")
}
