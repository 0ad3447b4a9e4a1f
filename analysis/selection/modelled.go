package selection

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"marple/analysis/selection/graph"
	"marple/analysis/selection/prune"
)

// Modelled is the question's call graph with modelled times in place of measured ones, where families have
// models, for one assembly: the implementations that choose names (by family, or by instance), else those that
// ran, else the first of each family.
func Modelled(q Question, choose map[string]string) (*graph.Graph, error) {
	q.Rule = prune.Rule{} // everything is wanted
	s, err := newSelector(context.Background(), &q)
	if err != nil {
		return nil, err
	}
	choice, err := s.choose(choose)
	if err != nil {
		return nil, err
	}
	own, modelled := map[*node]float64{}, map[*node]bool{}
	for _, p := range s.pieces {
		modelled[p.node] = true
		if s.entry(p.term, choice) == p.entry {
			own[p.node] += p.mean
		}
	}
	change := map[*prune.Node]float64{} // of the inclusive time, in the call graph's unit
	for _, n := range slices.Backward(s.nodes) {
		if n.variable < 0 {
			own[n] += n.own
		}
		if modelled[n] {
			change[n.Node] += (own[n] - n.own) / s.unit
		}
		if n.caller != nil {
			change[n.caller.Node] += change[n.Node]
		}
	}
	g := *q.Graph
	g.Root, _ = remodel(s.nodes[0].Node, change)
	return &g, nil
}

// remodel copies a tree with changed times. A node of no component changes as those below it do.
func remodel(p *prune.Node, change map[*prune.Node]float64) (*graph.Node, float64) {
	out, below := *p.Node, 0.0
	out.Children = nil
	for _, child := range p.Children {
		n, changed := remodel(child, change)
		out.Children, below = append(out.Children, n), below+changed
	}
	if mine, ok := change[p]; ok || p.Judged {
		below = mine
	}
	out.Inclusive = max(0, out.Inclusive+below)
	return &out, below
}

// choose makes an assembly of names.
func (s *selector) choose(names map[string]string) ([]int, error) {
	choice := make([]int, len(s.variables))
	for v, variable := range s.variables {
		for k, i := range variable.family.Implementations {
			if i.measured {
				choice[v] = k
			}
		}
	}
	for name, implementation := range names {
		found := false
		for v, variable := range s.variables {
			if variable.name() != name && variable.family.Name != name {
				continue
			}
			found = true
			var known []string
			for _, i := range variable.family.Implementations {
				known = append(known, i.Name)
			}
			if choice[v] = slices.Index(known, implementation); choice[v] < 0 {
				return nil, fmt.Errorf("%s=%s: expected one of %s", name, implementation, strings.Join(known, ", "))
			}
		}
		if !found {
			return nil, fmt.Errorf("%s=%s: there is no family %q", name, implementation, name)
		}
	}
	return choice, nil
}
