package prune

import (
	"cmp"
	"math"
	"slices"
)

// Along says which thresholds a sweep moves; the other stays as the rule has it.
type Along string

const (
	Both  Along = "both" // α = β
	Alpha Along = "alpha"
	Beta  Along = "beta"
)

// Step is a core and the thresholds for which it is the core: above those of the step before, up to and
// including UpTo. The last step's is 1.
type Step struct {
	UpTo       float64  `json:"up_to"`
	Nodes      int      `json:"nodes"`
	Components int      `json:"components"`
	Recovered  float64  `json:"recovered"`
	Leaving    []string `json:"leaving"` // names of the nodes that the next step does not have
}

// Sweep gives every core that thresholds from 0 to 1 can leave, the largest first. It is exact: each node has
// a threshold above which it is gone.
func (n *Node) Sweep(r Rule, along Along) []Step {
	s := sweep{root: n, r: r, along: along, last: map[string]float64{}}
	s.visit(n)
	for component, t := range s.last {
		if component != "" {
			s.changes = append(s.changes, change{at: t, components: -1})
		}
	}
	slices.SortStableFunc(s.changes, func(a, b change) int { return cmp.Compare(a.at, b.at) })

	step := Step{Nodes: s.nodes, Components: len(s.last), Recovered: 1, Leaving: []string{}}
	if _, ok := s.last[""]; ok {
		step.Components--
	}
	lost, steps := 0.0, []Step{}
	for i, c := range s.changes {
		if c.at >= 1 {
			break
		}
		// What is equal but for rounding is one threshold.
		if c.at >= 0 && (i == 0 || s.changes[i-1].at < 0 || small(s.changes[i-1].at, c.at)) {
			steps = append(steps, step)
			steps[len(steps)-1].UpTo = c.at
		}
		step.Nodes += c.nodes
		step.Components += c.components
		lost += c.lost
		step.Recovered = recovered(n, lost)
		if c.node != nil && len(steps) > 0 {
			steps[len(steps)-1].Leaving = append(steps[len(steps)-1].Leaving, c.node.Name)
		}
	}
	step.UpTo = 1
	return append(steps, step)
}

// change is what happens to the core just above a threshold.
type change struct {
	at                float64
	node              *Node
	nodes, components int
	lost              float64
}

type sweep struct {
	root    *Node
	r       Rule
	along   Along
	nodes   int
	last    map[string]float64 // the threshold above which a component is gone
	changes []change
}

func (s *sweep) visit(n *Node) {
	t := math.Inf(1)
	if n.Judged {
		t = s.threshold(n)
	}
	if n.Judged || n == s.root {
		s.nodes++
		before, seen := s.last[n.Component]
		if !seen || t > before {
			s.last[n.Component] = t
		}
	}
	if n.Judged {
		// Its branch is cut here until its parent goes too.
		if of := s.parent(n); t < of {
			s.changes = append(s.changes, change{at: t, lost: n.Inclusive}, change{at: of, lost: -n.Inclusive})
		}
		s.changes = append(s.changes, change{at: t, node: n, nodes: -1})
	}
	for _, c := range n.Children {
		s.visit(c)
	}
}

func (s *sweep) parent(n *Node) float64 {
	if !n.Of.Judged {
		return math.Inf(1)
	}
	return s.threshold(n.Of)
}

// threshold is the greatest at which a judged node is kept; -Inf if there is none.
func (s *sweep) threshold(n *Node) float64 {
	switch {
	case s.along == Alpha && small(n.Beta, s.r.Beta), s.along == Beta && small(n.Alpha, s.r.Alpha):
		return math.Inf(-1)
	case s.along == Alpha:
		return n.Alpha
	case s.along == Beta:
		return n.Beta
	}
	return min(n.Alpha, n.Beta)
}
