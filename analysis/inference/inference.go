// Package inference derives conclusions from evidence by production rules: forward chaining until nothing new
// can be concluded. Facts are propositions; evidence is what measurement says, which may be that it does not
// know. So there are three truth values, and rules combine them as Kleene's logic does.
//
// It uses the standard library only and holds no state.
//
// Invariant: rules make no new facts, and facts that a rule wants to be absent are settled before it (rules
// for which that is impossible are refused), so every run ends, and the result does not depend on the order of
// the rules.
package inference

import "slices"

// Truth of a fact or of evidence. They are ordered: a conjunction is as true as its least true part.
type Truth uint8

const (
	False   Truth = iota
	Unknown       // for want of measurements
	True
)

func (t Truth) String() string { return [...]string{"false", "unknown", "true"}[t] }

// Not is the truth of the contrary.
func (t Truth) Not() Truth { return True - t }

// Premise is a fact that a rule wants to hold or, with Not, not to hold.
type Premise struct {
	Fact int
	Not  bool
}

// Evidence is a measured statement. After are facts that must be settled before it can be looked at.
type Evidence struct {
	ID    int
	After []int
}

// Rule concludes Then when all premises and all evidence hold. Several rules may conclude the same fact.
type Rule struct {
	Then     int
	Premises []Premise
	Evidence []Evidence
}

// CycleError names facts each of which is concluded from the next, and the last from the first.
type CycleError struct{ Facts []int }

func (e *CycleError) Error() string {
	return "a fact depends on its own absence"
}

// Program is a set of rules in the order in which their facts can be settled.
type Program struct {
	facts  int
	rules  []Rule
	groups [][]int // facts that depend on each other, after those they depend on
	about  [][]int // rules that conclude a fact
}

// Compile orders the rules over facts 0 to facts-1. The error is a *CycleError.
func Compile(facts int, rules []Rule) (*Program, error) {
	p := &Program{facts: facts, rules: rules, about: make([][]int, facts)}
	uses := make([][]int, facts)
	strict := make([][]int, facts)
	for i, r := range rules {
		p.about[r.Then] = append(p.about[r.Then], i)
		for _, premise := range r.Premises {
			uses[r.Then] = append(uses[r.Then], premise.Fact)
			if premise.Not {
				strict[r.Then] = append(strict[r.Then], premise.Fact)
			}
		}
		for _, e := range r.Evidence {
			uses[r.Then] = append(uses[r.Then], e.After...)
			strict[r.Then] = append(strict[r.Then], e.After...)
		}
	}
	p.groups = components(uses)
	for _, group := range p.groups {
		for _, fact := range group {
			for _, needed := range strict[fact] {
				if slices.Contains(group, needed) {
					return nil, &CycleError{path(uses, needed, fact)}
				}
			}
		}
	}
	return p, nil
}

// components are the strongly connected components of a graph, each after those it has edges to (Tarjan 1972).
func components(edges [][]int) [][]int {
	var list [][]int
	number, low := make([]int, len(edges)), make([]int, len(edges))
	on := make([]bool, len(edges))
	var stack []int
	count := 0
	var visit func(v int)
	visit = func(v int) {
		count++
		number[v], low[v], on[v] = count, count, true
		stack = append(stack, v)
		for _, w := range edges[v] {
			if number[w] == 0 {
				visit(w)
				low[v] = min(low[v], low[w])
			} else if on[w] {
				low[v] = min(low[v], number[w])
			}
		}
		if low[v] == number[v] {
			at := slices.Index(stack, v)
			group := slices.Clone(stack[at:])
			for _, w := range group {
				on[w] = false
			}
			stack = stack[:at]
			list = append(list, group)
		}
	}
	for v := range edges {
		if number[v] == 0 {
			visit(v)
		}
	}
	return list
}

// path is a shortest way along edges, both ends included; there must be one.
func path(edges [][]int, from, to int) []int {
	before := map[int]int{from: from}
	for queue := []int{from}; len(queue) > 0; queue = queue[1:] {
		for _, next := range edges[queue[0]] {
			if _, seen := before[next]; !seen {
				before[next] = queue[0]
				queue = append(queue, next)
			}
		}
	}
	list := []int{to}
	for at := to; at != from; at = before[at] {
		list = append(list, before[at])
	}
	slices.Reverse(list)
	return list
}

// Cycle gives facts each of which is concluded from the next, and the last from the first; nil if there are
// none.
func Cycle(facts int, rules []Rule) []int {
	uses := make([][]int, facts)
	for _, r := range rules {
		for _, premise := range r.Premises {
			uses[r.Then] = append(uses[r.Then], premise.Fact)
		}
	}
	for _, group := range components(uses) {
		for _, next := range uses[group[0]] {
			if slices.Contains(group, next) {
				return path(uses, next, group[0])
			}
		}
	}
	return nil
}

// Run settles all facts. see is asked once for each piece of evidence, when the facts it comes after are
// settled; settled tells their truth.
func (p *Program) Run(see func(evidence int, settled func(fact int) Truth) Truth) []Truth {
	truth := make([]Truth, p.facts)
	seen := map[int]Truth{}
	settled := func(fact int) Truth { return truth[fact] }
	for _, group := range p.groups {
		var rules []int
		for _, fact := range group {
			rules = append(rules, p.about[fact]...)
		}
		for _, i := range rules {
			for _, e := range p.rules[i].Evidence {
				if _, ok := seen[e.ID]; !ok {
					seen[e.ID] = see(e.ID, settled)
				}
			}
		}
		// What holds for certain, and what holds if everything unknown does; in between lies the unknown.
		certain := p.chain(group, rules, truth, seen, True)
		possible := p.chain(group, rules, truth, seen, Unknown)
		for i, fact := range group {
			switch {
			case certain[i]:
				truth[fact] = True
			case possible[i]:
				truth[fact] = Unknown
			}
		}
	}
	return truth
}

// chain concludes facts of a group from premises and evidence that are at least this true, until no rule gives
// anything new.
func (p *Program) chain(group, rules []int, truth []Truth, seen map[int]Truth, least Truth) []bool {
	within := map[int]int{} // fact: place in the group
	for i, fact := range group {
		within[fact] = i
	}
	concluded := make([]bool, len(group))
	open := map[int]int{}      // rule: premises in the group that are not concluded yet
	waiting := map[int][]int{} // fact: rules that wait for it
	var agenda []int           // rules all of whose premises hold
	for _, i := range rules {
		r := &p.rules[i]
		holds := true
		for _, e := range r.Evidence {
			holds = holds && seen[e.ID] >= least
		}
		for _, premise := range r.Premises {
			if _, here := within[premise.Fact]; here {
				open[i]++
				waiting[premise.Fact] = append(waiting[premise.Fact], i)
				continue
			}
			t := truth[premise.Fact]
			if premise.Not {
				t = t.Not()
			}
			holds = holds && t >= least
		}
		if !holds {
			open[i] = -1 // never
		} else if open[i] == 0 {
			agenda = append(agenda, i)
		}
	}
	for len(agenda) > 0 {
		fact := p.rules[agenda[len(agenda)-1]].Then
		agenda = agenda[:len(agenda)-1]
		if concluded[within[fact]] {
			continue
		}
		concluded[within[fact]] = true
		for _, i := range waiting[fact] {
			if open[i] > 0 {
				if open[i]--; open[i] == 0 {
					agenda = append(agenda, i)
				}
			}
		}
	}
	return concluded
}
