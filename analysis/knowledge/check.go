package knowledge

import (
	"fmt"
	"slices"
	"strings"

	"marple/analysis/inference"
)

// whole checks what can only be seen when all parts are there: that nothing depends on itself, that every rule
// can be reached, that levels ask for what their rules need.
func (r *reader) whole() {
	r.withinCycles()
	r.metricCycles()
	if len(r.problems) > 0 {
		return
	}
	if r.factCycles(); len(r.problems) > 0 {
		return
	}
	r.unreachable()
	r.levels()
	r.unused()
}

func (r *reader) withinCycles() {
	for _, c := range r.m.Components {
		seen := []string{c.Name}
		for above := c.Within; above != ""; above = r.m.Component(above).Within {
			seen = append(seen, above)
			if above == c.Name {
				r.fail(c.Position, "component %s is within itself: %s", c.Name, strings.Join(seen, " within "))
				return
			}
			if len(seen) > len(r.m.Components) {
				break // into somebody else's circle
			}
		}
	}
}

// uses are the metrics that a metric's value is made of, directly and through places.
func (m *Model) uses(x *Metric) []string {
	var list []string
	expressions := []*Expression{x.Value}
	seen := map[string]bool{}
	for len(expressions) > 0 {
		e := expressions[0]
		expressions = expressions[1:]
		if e == nil {
			continue
		}
		for _, u := range e.Uses.Metrics {
			add(&list, u.Name)
		}
		for _, p := range e.Uses.Places {
			if !seen[p] {
				seen[p] = true
				expressions = append(expressions, m.Place(p).Largest)
			}
		}
	}
	return list
}

func (r *reader) metricCycles() {
	m := r.m
	state := map[string]int{} // 1 being visited, 2 done
	var stack []string
	var visit func(name string) bool
	visit = func(name string) bool {
		x := m.Metric(name)
		if x == nil { // of another model, which has been checked
			return true
		}
		switch state[name] {
		case 1:
			circle := append(stack[slices.Index(stack, name):], name)
			r.fail(x.Position, "metric %s depends on itself: %s", name, strings.Join(circle, " → "))
			return false
		case 2:
			return true
		}
		state[name] = 1
		stack = append(stack, name)
		for _, next := range m.uses(x) {
			if !visit(next) {
				return false
			}
		}
		stack = stack[:len(stack)-1]
		state[name] = 2
		return true
	}
	for _, x := range m.Metrics {
		if !visit(x.Name) {
			return
		}
	}
	for _, p := range m.Places {
		if p.Largest != nil && slices.Contains(p.Largest.Uses.Places, p.Name) {
			r.fail(p.Position, "place %s depends on itself", p.Name)
		}
	}
}

// behind goes through an expression and those of all metrics, places and costs that it is made of, in its own
// model and in those that outside gives.
func (m *Model) behind(e *Expression, outside func(alias string) *Model, visit func(m *Model, e *Expression)) {
	seen := map[*Expression]bool{}
	var walk func(m *Model, e *Expression)
	resolve := func(m *Model, name string) (*Model, string) {
		if alias, rest, qualified := strings.Cut(name, "."); qualified && outside != nil {
			return outside(alias), rest
		}
		return m, name
	}
	walk = func(m *Model, e *Expression) {
		if e == nil || m == nil || seen[e] {
			return
		}
		seen[e] = true
		visit(m, e)
		for _, u := range e.Uses.Metrics {
			if owner, name := resolve(m, u.Name); owner != nil && owner.Metric(name) != nil {
				walk(owner, owner.Metric(name).Value)
			}
		}
		for _, p := range e.Uses.Places {
			if owner, name := resolve(m, p); owner != nil && owner.Place(name) != nil {
				walk(owner, owner.Place(name).Largest)
			}
		}
		for _, f := range e.Uses.Facts {
			owner := m
			if f.Scope != "" && outside != nil {
				owner = outside(f.Scope)
			}
			if owner != nil && owner.Fact(f.Name) != nil {
				for _, e := range owner.Fact(f.Name).Costs() {
					walk(owner, e)
				}
			}
		}
	}
	walk(m, e)
}

// factsBehind are the facts of the model itself whose truth or cost an expression depends on.
func (m *Model) factsBehind(e *Expression) (list []FactName) {
	m.behind(e, nil, func(_ *Model, e *Expression) {
		for _, f := range e.Uses.Facts {
			if f.Scope == "" {
				add(&list, f)
			}
		}
	})
	return list
}

// FactsBehind are the facts whose truth or cost an expression of the scope depends on.
func (s *Scope) FactsBehind(e *Expression) (list []Ref) {
	scopes := map[*Model]*Scope{s.Model: s}
	for _, other := range s.Outside {
		scopes[other.Model] = other
	}
	outside := func(alias string) *Model {
		if other := s.Outside[alias]; other != nil {
			return other.Model
		}
		return nil
	}
	s.Model.behind(e, outside, func(m *Model, e *Expression) {
		for _, f := range e.Uses.Facts {
			owner := scopes[m]
			if f.Scope != "" {
				owner = s.Outside[f.Scope]
			}
			add(&list, owner.ref(FactName{Name: f.Name, Argument: f.Argument}))
		}
	})
	return list
}

// abstract gives the rules without their arguments: what depends on what, in general.
func (m *Model) abstract() (facts map[string]int, rules []inference.Rule) {
	facts = map[string]int{}
	for i, f := range m.Facts {
		facts[f.Name] = i
	}
	for _, x := range m.Rules {
		rule := inference.Rule{Then: facts[x.Then.Name]}
		for _, t := range x.If {
			if t.Fact != nil && t.Fact.Scope == "" {
				rule.Premises = append(rule.Premises, inference.Premise{Fact: facts[t.Fact.Name], Not: t.Not})
			}
			for _, e := range []*Expression{t.Left, t.Right, t.Largest} {
				for _, f := range m.factsBehind(e) {
					rule.Evidence = append(rule.Evidence, inference.Evidence{After: []int{facts[f.Name]}})
				}
			}
		}
		for _, c := range m.Facts[rule.Then].Costs() {
			for _, f := range m.factsBehind(c) {
				rule.Evidence = append(rule.Evidence, inference.Evidence{After: []int{facts[f.Name]}})
			}
		}
		rules = append(rules, rule)
	}
	return facts, rules
}

func (r *reader) factCycles() {
	m := r.m
	_, rules := m.abstract()
	circle := inference.Cycle(len(m.Facts), rules)
	if circle == nil {
		if _, err := inference.Compile(len(m.Facts), rules); err != nil {
			circle = err.(*inference.CycleError).Facts
		}
	}
	if circle == nil {
		return
	}
	var words []string
	for _, f := range append(circle, circle[0]) {
		words = append(words, m.Facts[f].Name)
	}
	r.fail(m.Facts[circle[0]].Position, "fact %s depends on itself: %s", words[0], strings.Join(words, " ← "))
}

// unreachable finds facts that no rule concludes, rules that cannot fire, and observations that lead nowhere.
func (r *reader) unreachable() {
	m := r.m
	concluded, used := map[string]bool{}, map[string]bool{}
	for _, x := range m.Rules {
		concluded[x.Then.Name] = true
		for _, t := range x.If {
			if t.Fact != nil && t.Fact.Scope == "" {
				used[t.Fact.Name] = true
			}
		}
	}
	for _, f := range m.Facts {
		if !concluded[f.Name] {
			r.fail(f.Position, "no rule concludes %s", f.Name)
		}
		for _, d := range f.Doubts {
			used[d.Name] = true
		}
		for _, a := range f.Advice {
			if a.If != nil {
				used[a.If.Name] = true
			}
		}
		for _, t := range f.Tell {
			if t.If != nil {
				used[t.If.Name] = true
			}
		}
		for _, e := range append(f.Costs(), f.Ranks) {
			if e != nil {
				for _, name := range e.Uses.Facts {
					used[name.Name] = true
				}
			}
		}
	}
	for _, x := range m.Metrics {
		if x.Value != nil {
			for _, name := range x.Value.Uses.Facts {
				used[name.Name] = true
			}
		}
	}
	for _, f := range m.Facts {
		if !f.Factor && !used[f.Name] && f.Means == "" && f.Cost == nil {
			r.note(f.Position, "observation %s leads to nothing", f.Name)
		}
	}
	for _, x := range m.Rules {
		if why := r.contradiction(x); why != "" {
			r.fail(x.Position, "this rule can never fire: %s", why)
		}
	}
}

// contradiction finds two conditions of a rule, and of the only rules that lead to its premises, that exclude
// each other.
func (r *reader) contradiction(x *Rule) string {
	type bound struct {
		low, high           float64
		lowText, highText   string
		openBelow, openHigh bool
	}
	bounds := map[string]*bound{}
	facts := map[string]bool{}
	rulesFor := map[string][]*Rule{}
	for _, rule := range r.m.Rules {
		rulesFor[rule.Then.String()] = append(rulesFor[rule.Then.String()], rule)
	}
	var visit func(x *Rule) string
	visit = func(x *Rule) string {
		for _, t := range x.If {
			switch {
			case t.Fact != nil:
				name := t.Fact.String()
				if was, seen := facts[name]; seen && was == t.Not {
					return fmt.Sprintf("it wants %s and not %s", name, name)
				}
				facts[name] = !t.Not
				if only := rulesFor[name]; !t.Not && len(only) == 1 {
					if why := visit(only[0]); why != "" {
						return why
					}
				}
			case t.Left != nil && len(t.Right.Uses.Thresholds) == 1 && t.Right.Uses.Thresholds[0] == strings.TrimSpace(t.Right.Text):
				value := r.m.Threshold(t.Right.Uses.Thresholds[0]).Value
				key := strings.Join(strings.Fields(t.Left.Text), "")
				b := bounds[key]
				if b == nil {
					b = &bound{low: -1e308, high: 1e308}
					bounds[key] = b
				}
				if strings.HasPrefix(t.Op, ">") && value >= b.low {
					b.low, b.lowText, b.openBelow = value, t.Text, t.Op == ">"
				}
				if strings.HasPrefix(t.Op, "<") && value <= b.high {
					b.high, b.highText, b.openHigh = value, t.Text, t.Op == "<"
				}
				if b.low > b.high || b.low == b.high && (b.openBelow || b.openHigh) {
					return fmt.Sprintf("%s excludes %s", b.lowText, b.highText)
				}
			}
		}
		return ""
	}
	return visit(x)
}

// needsBehind are the measurements that an expression needs, through metrics and places too.
func (m *Model) needsBehind(e *Expression) (list []string) {
	m.behind(e, nil, func(m *Model, e *Expression) {
		for _, need := range e.Uses.Needs {
			add(&list, need)
		}
		for _, c := range e.Uses.Components {
			if x := m.Component(c); x != nil && len(x.Match) > 0 && !slices.ContainsFunc(x.Match, func(c *Condition) bool { return !c.NeedsEvents() }) {
				add(&list, "events")
			}
		}
	})
	return list
}

func (r *reader) levels() {
	m := r.m
	if len(m.Levels) == 0 {
		if len(m.Rules) > 0 {
			r.fail(m.Rules[0].Position, "there are rules, but no levels that say what they need")
		}
		return
	}
	for _, x := range m.Rules {
		if x.Level > len(m.Levels) {
			r.fail(x.Position, "level %d of %d", x.Level, len(m.Levels))
			continue
		}
		var has []string
		for _, l := range m.Levels[:x.Level] {
			has = append(has, l.Needs...)
		}
		expressions := m.Fact(x.Then.Name).Costs()
		for _, t := range x.If {
			expressions = append(expressions, t.Left, t.Right, t.Largest)
		}
		for _, e := range expressions {
			for _, need := range m.needsBehind(e) {
				if !slices.Contains(has, need) {
					r.fail(x.Position, "rule for %s: %q needs %s, which level %d does not ask for", x.Then, e.Text, need, x.Level)
				}
			}
		}
	}
}

// unused notes what nothing refers to.
func (r *reader) unused() {
	m := r.m
	used := map[string]bool{"least": true, "moment": true}
	see := func(e *Expression) {
		if e == nil {
			return
		}
		for _, u := range e.Uses.Metrics {
			used[u.Name] = true
			used[u.Argument] = true
		}
		for _, list := range [][]string{e.Uses.Components, e.Uses.Places, e.Uses.Roles, e.Uses.Events, e.Uses.Thresholds} {
			for _, name := range list {
				used[name] = true
			}
		}
	}
	seeText := func(t *Template) {
		if t != nil {
			for _, e := range t.Expressions() {
				see(e)
			}
		}
	}
	for _, x := range m.Metrics {
		see(x.Value)
		seeText(x.Says)
	}
	for _, p := range m.Places {
		see(p.Largest)
		used[p.Of] = true
	}
	for _, l := range m.Looks {
		for _, s := range l.Signs {
			see(s.Is)
			seeText(s.Says)
		}
	}
	for _, f := range m.Facts {
		for _, e := range f.Costs() {
			see(e)
		}
		see(f.Ranks)
		seeText(f.Title)
		used[f.Where] = true
		if f.Remedy != nil {
			for _, name := range f.Remedy.Of {
				used[name] = true
			}
		}
		for _, c := range f.Of {
			used[c] = true
		}
		for _, a := range f.Advice {
			seeText(a.Text)
		}
		for _, t := range f.Tell {
			used[t.Metric] = true
		}
	}
	for _, x := range m.Rules {
		used[x.Each] = true
		for _, t := range x.If {
			see(t.Left)
			see(t.Right)
			see(t.Largest)
			if t.Fact != nil {
				used[t.Fact.Argument] = true
			}
		}
	}
	for _, e := range m.Events {
		used[e.On] = true
		if e.Is != nil {
			for _, leaf := range e.Is.Leaves() {
				used[leaf.Name] = true
			}
		}
	}
	for _, d := range m.Delays {
		for _, c := range append(slices.Clone(d.CausedBy), d.ShowsIn...) {
			used[c] = true
		}
	}
	for _, g := range m.Groups {
		if used[g.Name] {
			for _, c := range g.Members {
				used[c] = true
			}
		}
	}
	for _, c := range m.Components {
		used[c.Within] = true
		for _, one := range c.Match {
			used[one.Role], used[one.Peer] = true, true
		}
	}
	report := func(what, name string, at Position) {
		if !used[name] {
			r.note(at, "%s %s is not used", what, name)
		}
	}
	for _, x := range m.Metrics {
		report("metric", x.Name, x.Position)
	}
	for _, x := range m.Thresholds {
		report("threshold", x.Name, x.Position)
	}
	for _, x := range m.Components {
		report("component", x.Name, x.Position)
	}
	for _, x := range m.Places {
		report("place", x.Name, x.Position)
	}
	for _, x := range m.Roles {
		report("role", x.Name, x.Position)
	}
	for _, x := range m.Groups {
		report("group", x.Name, x.Position)
	}
}
