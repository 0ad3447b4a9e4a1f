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
	(&walk{outside, visit, map[*Expression]bool{}}).expression(m, e)
}

// walk goes through expressions.
type walk struct {
	outside func(alias string) *Model
	visit   func(m *Model, e *Expression)
	seen    map[*Expression]bool
}

func (w *walk) expression(m *Model, e *Expression) {
	if e == nil || m == nil || w.seen[e] {
		return
	}
	w.seen[e] = true
	w.visit(m, e)
	for _, u := range e.Uses.Metrics {
		if owner, name := w.resolve(m, u.Name); owner != nil && owner.Metric(name) != nil {
			w.expression(owner, owner.Metric(name).Value)
		}
	}
	for _, p := range e.Uses.Places {
		if owner, name := w.resolve(m, p); owner != nil && owner.Place(name) != nil {
			w.expression(owner, owner.Place(name).Largest)
		}
	}
	for _, f := range e.Uses.Facts {
		owner := m
		if f.Scope != "" && w.outside != nil {
			owner = w.outside(f.Scope)
		}
		if owner != nil && owner.Fact(f.Name) != nil {
			for _, e := range owner.Fact(f.Name).Costs() {
				w.expression(owner, e)
			}
		}
	}
}

// resolve finds whose name it is, and what it is called there.
func (w *walk) resolve(m *Model, name string) (*Model, string) {
	if alias, rest, qualified := strings.Cut(name, "."); qualified && w.outside != nil {
		return w.outside(alias), rest
	}
	return m, name
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
	concluded, used := map[string]bool{}, r.m.factsUsed()
	for _, x := range r.m.Rules {
		concluded[x.Then.Name] = true
	}
	for _, f := range r.m.Facts {
		if !concluded[f.Name] {
			r.fail(f.Position, "no rule concludes %s", f.Name)
		}
		if !f.Factor && !used[f.Name] && f.Means == "" && f.Cost == nil {
			r.note(f.Position, "observation %s leads to nothing", f.Name)
		}
	}
	for _, x := range r.m.Rules {
		if why := r.contradiction(x); why != "" {
			r.fail(x.Position, "this rule can never fire: %s", why)
		}
	}
}

// factsUsed are the names of facts that rules, facts and metrics of the model refer to.
func (m *Model) factsUsed() map[string]bool {
	used := map[string]bool{}
	within := func(e *Expression) {
		if e != nil {
			for _, name := range e.Uses.Facts {
				used[name.Name] = true
			}
		}
	}
	where := func(condition *FactName) {
		if condition != nil {
			used[condition.Name] = true
		}
	}
	for _, x := range m.Rules {
		for _, t := range x.If {
			if t.Fact != nil && t.Fact.Scope == "" {
				used[t.Fact.Name] = true
			}
		}
	}
	for _, f := range m.Facts {
		for _, d := range f.Doubts {
			used[d.Name] = true
		}
		for _, a := range f.Advice {
			where(a.If)
		}
		for _, t := range f.Tell {
			where(t.If)
		}
		for _, e := range append(f.Costs(), f.Ranks) {
			within(e)
		}
	}
	for _, x := range m.Metrics {
		within(x.Value)
	}
	return used
}

// contradiction finds two conditions of a rule, and of the only rules that lead to its premises, that exclude
// each other.
func (r *reader) contradiction(x *Rule) string {
	p := premises{m: r.m, bounds: map[string]*left{}, facts: map[string]bool{}, rules: map[string][]*Rule{}}
	for _, rule := range r.m.Rules {
		p.rules[rule.Then.String()] = append(p.rules[rule.Then.String()], rule)
	}
	return p.add(x)
}

// premises are all that must hold for a rule to fire.
type premises struct {
	m      *Model
	bounds map[string]*left   // by what they are of
	facts  map[string]bool    // whether they must hold
	rules  map[string][]*Rule // by what they conclude
}

// add adds a rule's conditions and says what they contradict; "": nothing.
func (p *premises) add(x *Rule) string {
	for _, t := range x.If {
		why := ""
		switch {
		case t.Fact != nil:
			why = p.fact(t)
		case t.Left != nil && len(t.Right.Uses.Thresholds) == 1 && t.Right.Uses.Thresholds[0] == strings.TrimSpace(t.Right.Text):
			key := strings.Join(strings.Fields(t.Left.Text), "")
			if p.bounds[key] == nil {
				p.bounds[key] = &left{interval: everything}
			}
			why = p.bounds[key].cut(t, p.m.Threshold(t.Right.Uses.Thresholds[0]).Value)
		}
		if why != "" {
			return why
		}
	}
	return ""
}

func (p *premises) fact(t *Test) string {
	name := t.Fact.String()
	if was, seen := p.facts[name]; seen && was == t.Not {
		return fmt.Sprintf("it wants %s and not %s", name, name)
	}
	p.facts[name] = !t.Not
	if only := p.rules[name]; !t.Not && len(only) == 1 {
		return p.add(only[0])
	}
	return ""
}

// left is what comparisons with thresholds leave of a value, and the last two that cut it.
type left struct {
	interval
	lowText, highText string
}

func (l *left) cut(t *Test, value float64) string {
	within := everything
	if strings.HasPrefix(t.Op, ">") && value >= l.low {
		within.low, within.openLow, l.lowText = value, t.Op == ">", t.Text
	}
	if strings.HasPrefix(t.Op, "<") && value <= l.high {
		within.high, within.openHigh, l.highText = value, t.Op == "<", t.Text
	}
	if l.interval = l.and(within); l.empty() {
		return fmt.Sprintf("%s excludes %s", l.lowText, l.highText)
	}
	return ""
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
	used := m.namesUsed()
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

// used are names that something refers to.
type used map[string]bool

func (u used) names(lists ...[]string) {
	for _, list := range lists {
		for _, name := range list {
			u[name] = true
		}
	}
}

func (u used) expressions(list ...*Expression) {
	for _, e := range list {
		if e == nil {
			continue
		}
		for _, m := range e.Uses.Metrics {
			u[m.Name], u[m.Argument] = true, true
		}
		u.names(e.Uses.Components, e.Uses.Places, e.Uses.Roles, e.Uses.Events, e.Uses.Thresholds)
	}
}

func (u used) text(t *Template) {
	if t != nil {
		u.expressions(t.Expressions()...)
	}
}

// namesUsed are names of components, metrics, places, thresholds, roles and groups that the model refers to.
func (m *Model) namesUsed() used {
	u := used{"least": true, "moment": true}
	for _, x := range m.Metrics {
		u.expressions(x.Value)
		u.text(x.Says)
	}
	for _, p := range m.Places {
		u.expressions(p.Largest)
		u[p.Of], u[p.But] = true, true
	}
	for _, l := range m.Looks {
		for _, s := range l.Signs {
			u.expressions(s.Is)
			u.text(s.Says)
		}
	}
	for _, f := range m.Facts {
		u.conclusion(f)
	}
	for _, x := range m.Rules {
		u[x.Each] = true
		for _, t := range x.If {
			u.expressions(t.Left, t.Right, t.Largest)
			if t.Fact != nil {
				u[t.Fact.Argument] = true
			}
		}
	}
	for _, e := range m.Events {
		u[e.On] = true
		if e.Is != nil {
			for _, leaf := range e.Is.Leaves() {
				u[leaf.Name] = true
			}
		}
	}
	for _, d := range m.Delays {
		u.names(d.CausedBy, d.ShowsIn)
	}
	for _, g := range m.Groups {
		if u[g.Name] {
			u.names(g.Members)
		}
	}
	for _, c := range m.Components {
		u[c.Within] = true
		for _, one := range c.Match {
			u[one.Role], u[one.Peer] = true, true
		}
	}
	return u
}

func (u used) conclusion(f *Conclusion) {
	u.expressions(append(f.Costs(), f.Ranks)...)
	u.text(f.Title)
	u[f.Where] = true
	for _, x := range f.Remedies {
		u.names(x.Of)
	}
	u.names(f.Of)
	for _, a := range f.Advice {
		u.text(a.Text)
	}
	for _, t := range f.Tell {
		u[t.Metric] = true
	}
}
