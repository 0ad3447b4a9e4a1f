package knowledge

import (
	"fmt"
	"slices"
	"strings"

	"marple/analysis/inference"
)

// Ground is a piece of knowledge with every variable replaced: facts and rules that nothing is left open in.
type Ground struct {
	Facts  []GroundFact
	Rules  []GroundRule
	number map[string]int // of a fact, by its full name
}

// GroundFact is a conclusion of a scope, about a component if it has a parameter.
type GroundFact struct {
	Scope *Scope
	Name  FactName
	*Conclusion
}

// Full is the name in the whole knowledge.
func (f GroundFact) Full() string { return f.Scope.Full(f.Name) }

// GroundRule is a rule of a scope, about a member of the components it ranges over if it has a variable.
type GroundRule struct {
	Scope    *Scope
	Rule     *Rule
	Member   string
	Members  []string
	Then     int
	Premises []inference.Premise
}

// Ground replaces all variables. The error says that a rule is about a fact that there is not.
func (k *Knowledge) Ground() (*Ground, error) {
	g := &Ground{number: map[string]int{}}
	for _, s := range k.Scopes {
		g.facts(s)
	}
	for _, s := range k.Scopes {
		for _, r := range s.Model.Rules {
			if _, same := s.Same[r.Then.String()]; same {
				continue // the other scope decides
			}
			members := []string{""}
			if r.Variable != "" {
				members = s.Model.Range(r.Each)
			}
			for _, member := range members {
				if err := g.rule(s, r, member, members); err != nil {
					return nil, fmt.Errorf("%s: %w", k.Name, err)
				}
			}
		}
	}
	return g, nil
}

func (g *Ground) facts(s *Scope) {
	for _, c := range s.Model.Facts {
		arguments := []string{""}
		if c.Parameter != "" {
			arguments = names(s.Model.Components)
		}
		for _, argument := range arguments {
			f := GroundFact{s, FactName{Name: c.Name, Argument: argument}, c}
			if _, same := s.Same[f.Name.String()]; !same {
				g.number[f.Full()] = len(g.Facts)
				g.Facts = append(g.Facts, f)
			}
		}
	}
}

func (g *Ground) rule(s *Scope, r *Rule, member string, members []string) error {
	x := GroundRule{Scope: s, Rule: r, Member: member, Members: members}
	var err error
	if x.Then, err = g.Find(s, r.Then, r.Variable, member); err != nil {
		return err
	}
	positive := false
	for _, t := range r.If {
		if t.Fact == nil {
			continue
		}
		f, err := g.Find(s, *t.Fact, r.Variable, member)
		if err != nil {
			return err
		}
		positive = positive || !t.Not
		x.Premises = append(x.Premises, inference.Premise{Fact: f, Not: t.Not})
	}
	if positive || len(s.Gates) == 0 {
		g.Rules = append(g.Rules, x)
		return nil
	}
	for _, gate := range s.Gates { // any of them opens the way
		n, err := g.Find(gate.Scope, gate.Fact, "", "")
		if err != nil {
			return err
		}
		open := x
		open.Premises = append(slices.Clone(x.Premises), inference.Premise{Fact: n})
		g.Rules = append(g.Rules, open)
	}
	return nil
}

// Find gives the number of a fact that a scope knows by this name, when a variable stands for a member.
func (g *Ground) Find(s *Scope, f FactName, variable, member string) (int, error) {
	if f.Argument == variable && variable != "" {
		f.Argument = member
	}
	if f.Scope != "" {
		if s.Outside[f.Scope] == nil {
			return 0, fmt.Errorf("no model %s", f.Scope)
		}
		s, f.Scope = s.Outside[f.Scope], ""
	}
	ref := s.ref(f)
	n, ok := g.number[ref.Scope.Full(ref.Fact)]
	if !ok {
		return 0, fmt.Errorf("no fact %s", ref.Scope.Full(ref.Fact))
	}
	return n, nil
}

// Named gives the number of a fact by its full name.
func (g *Ground) Named(full string) (int, bool) {
	n, ok := g.number[full]
	return n, ok
}

// Node is a fact as part of the inference tree: what leads to it.
type Node struct {
	ID     string   `json:"id"`
	Model  string   `json:"model"`
	Kind   string   `json:"kind"` // observation or factor
	Title  string   `json:"title"`
	Level  int      `json:"level"` // of its model
	From   []string `json:"from"`  // facts that it follows from
	Unless []string `json:"unless,omitempty"`
	If     []string `json:"if"` // evidence, of each of the rules
}

// Tree lists the facts that rules conclude, each after those it follows from.
func (k *Knowledge) Tree() ([]Node, error) {
	g, err := k.Ground()
	if err != nil {
		return nil, err
	}
	nodes := make([]Node, len(g.Facts))
	concluded := make([]bool, len(g.Facts))
	children := make([][]int, len(g.Facts))
	for _, r := range g.Rules {
		f := g.Facts[r.Then]
		n := &nodes[r.Then]
		if !concluded[r.Then] {
			concluded[r.Then] = true
			*n = Node{ID: f.Full(), Model: f.Scope.Model.Name, Kind: "observation", Title: f.Title.Text, Level: r.Rule.Level, From: []string{}, If: []string{}}
			if f.Factor {
				n.Kind = "factor"
			}
		}
		for _, p := range r.Premises {
			if p.Not {
				add(&n.Unless, g.Facts[p.Fact].Full())
				continue
			}
			add(&n.From, g.Facts[p.Fact].Full())
			add(&children[p.Fact], r.Then)
		}
		var tests []string
		for _, t := range r.Rule.If {
			if t.Fact == nil {
				tests = append(tests, t.stands(r.Rule.Variable, r.Member))
			}
		}
		if tests != nil {
			add(&n.If, strings.Join(tests, "; "))
		}
	}
	var list []Node
	made := make([]bool, len(g.Facts))
	var visit func(f int)
	visit = func(f int) {
		if made[f] || !concluded[f] {
			return
		}
		made[f] = true
		list = append(list, nodes[f])
		for _, c := range children[f] {
			visit(c)
		}
	}
	for f := range g.Facts {
		if concluded[f] && len(nodes[f].From) == 0 {
			visit(f)
		}
	}
	for f := range g.Facts { // whatever hangs on facts of other scopes
		visit(f)
	}
	return list, nil
}

// stands is the text of a test with a component in place of the variable.
func (t *Test) stands(variable, member string) string {
	if variable == "" {
		return t.Text
	}
	return strings.ReplaceAll(t.Text, "("+variable+")", "("+member+")")
}
