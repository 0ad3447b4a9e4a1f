package knowledge

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"marple/analysis/pattern"
)

// composer makes one piece of knowledge of several models (Li and Malony, section 3.3).
//
// Nesting: where a component of one model is implemented by another model, the other's inference tree is put
// below the observations about that component.
//
// Restructuring: models run interleaved. One of them is the host. The others' observations that mean the same as
// one of the host's are that one; what hangs below them hangs there, and what is left joins the host's tree where
// its parent has gone. The composed event says in which order components of both follow each other, and with it
// where the delays of one model are waited for in a component of another. What the composition matches is sorted: it
// belongs to one component of one model.
type composer struct {
	*reader
	library Library
	depth   int
	k       *Knowledge
	models  map[string]*Model // by alias
	order   []string          // aliases, as they stand in the file
	top     map[string]*Scope // scopes that are nested in nothing, by alias
	nests   []nesting
	host    string
	event   *pattern.Expr
}

type nesting struct {
	Position
	model string
	into  []string
}

func (l Library) compose(r *reader, body ast.Node, depth int) (*Knowledge, error) {
	c := &composer{reader: r, library: l, depth: depth, k: &Knowledge{File: r.file}, models: map[string]*Model{}, top: map[string]*Scope{}}
	r.outside = c.models
	sections := r.sections()
	for _, name := range []string{"model", "roles", "components", "groups", "places", "events", "delays"} {
		delete(sections, name) // these belong to single models
	}
	var event, match ast.Node
	var shared [][]string
	var adapt []func()
	thresholds := sections["thresholds"]
	sections["composition"] = func(_, v ast.Node) { r.m.Name = r.text(v, "composition") }
	sections["models"] = func(_, v ast.Node) { c.load(v) }
	sections["nest"] = func(_, v ast.Node) { r.items(v, c.nest) }
	sections["host"] = r.into(&c.host, "host")
	sections["event"] = func(_, v ast.Node) { event = v }
	sections["shared"] = func(_, v ast.Node) {
		r.items(v, func(item ast.Node) { shared = append(shared, r.texts(item, "shared")) })
	}
	sections["match"] = func(_, v ast.Node) { match = v }
	sections["roles"] = func(_, v ast.Node) { adapt = append(adapt, func() { r.adapt(c.k, v, "roles", r.adaptRole) }) }
	sections["set"] = func(_, v ast.Node) { adapt = append(adapt, func() { r.adapt(c.k, v, "set", r.adaptThreshold) }) }
	sections["thresholds"] = thresholds
	r.fields(body, "composition", sections)
	if len(r.problems) == 0 && len(c.models) == 0 {
		r.fail(place(body), "expected the models to compose: models: {ALIAS: MODEL, …}")
	}
	if len(r.problems) > 0 {
		return nil, sorted(r.problems)
	}
	c.k.Name, c.k.Title, c.k.About = r.m.Name, r.m.Title, r.m.About
	steps := []func(){
		c.placeTop,
		func() { c.match(match) },
		func() { c.composed(event) },
		func() { c.share(shared) },
		c.restructure,
		func() {
			if !l.signs { // signs look at the outermost models
				c.nested()
			}
		},
		func() {
			for _, change := range adapt {
				change()
			}
		},
		c.own,
		func() { c.k.sort(nil) },
	}
	for _, step := range steps {
		if step(); len(r.problems) > 0 {
			return nil, sorted(r.problems)
		}
	}
	c.k.Notes = r.m.Notes
	return c.k, nil
}

// load reads the models, each into a copy of its own.
func (c *composer) load(n ast.Node) {
	c.named(n, "models", plainName, func(alias string, at Position, value ast.Node) {
		k, err := c.library.load(c.text(value, "models"), c.depth+1)
		switch {
		case err != nil:
			c.fail(place(value), "model %s: %v", alias, err)
		case len(k.Scopes) != 1:
			c.fail(place(value), "model %s: %s is a composition itself; name its models here", alias, k.Name)
		case c.models[alias] != nil || alias == "run":
			c.fail(at, "%s is taken already", alias)
		default:
			c.models[alias] = k.Scopes[0].Model
			c.order = append(c.order, alias)
		}
	})
}

func (c *composer) nest(n ast.Node) {
	x := nesting{Position: place(n)}
	c.fields(n, "nest", map[string]field{
		"model": c.into(&x.model, "nest"),
		"into":  c.intoList(&x.into, "nest"),
	})
	if x.model == "" || len(x.into) == 0 {
		c.fail(x.Position, "nest: expected model and into")
	}
	c.nests = append(c.nests, x)
}

// component reads ALIAS.COMPONENT.
func (c *composer) component(full string, at Position, what string) (alias, name string, ok bool) {
	alias, name, ok = strings.Cut(full, ".")
	m := c.models[alias]
	switch {
	case !ok || m == nil:
		c.fail(at, "%s: %q: expected MODEL.COMPONENT with one of the models %s", what, full, strings.Join(c.order, ", "))
		return "", "", false
	case m.Component(name) == nil:
		c.fail(at, "%s: %s", what, unknown("component", full, prefixed(alias, names(m.Components))))
		return "", "", false
	}
	return alias, name, true
}

func prefixed(alias string, list []string) []string {
	var out []string
	for _, name := range list {
		out = append(out, alias+"."+name)
	}
	return out
}

// placeTop makes scopes of the models that are nested in nothing.
func (c *composer) placeTop() {
	inner := map[string]bool{}
	for _, n := range c.nests {
		if c.models[n.model] == nil {
			c.fail(n.Position, "nest: %s", unknown("model", n.model, slices.Clone(c.order)))
		}
		inner[n.model] = true
	}
	for _, alias := range c.order {
		if !inner[alias] {
			s := &Scope{Name: alias, Model: c.models[alias], Same: map[string]Ref{}}
			c.top[alias] = s
			c.k.Scopes = append(c.k.Scopes, s)
		}
	}
	if len(c.top) == 0 {
		c.fail(Position{1, 1}, "every model is nested in another; one must be outermost")
	}
}

// match reads what belongs to components of the models.
func (c *composer) match(n ast.Node) {
	if n == nil {
		return
	}
	var sorted []ComponentRef
	for _, pair := range c.pairs(n, "match") {
		alias, name, ok := c.component(pair.Key.GetToken().Value, place(pair.Key), "match")
		if !ok {
			continue
		}
		c.adaptMatch(c.models[alias], name, place(pair.Key), pair.Value)
		if s := c.top[alias]; s != nil {
			sorted = append(sorted, ComponentRef{s, name})
		}
	}
	if len(c.top) > 1 {
		c.k.Sorted = sorted
	}
}

// composed reads the composed event.
func (c *composer) composed(n ast.Node) {
	if n == nil {
		return
	}
	e, err := pattern.Parse(c.text(n, "event"))
	if err != nil {
		c.inside(n, err, "event")
		return
	}
	for _, leaf := range e.Leaves() {
		alias, _, ok := c.component(leaf.Name, place(n), "event")
		if ok && c.top[alias] == nil {
			c.fail(place(n), "event: %s is nested in another model; the event is about those that run interleaved", alias)
		}
	}
	c.event = e
	c.k.Event = e
}

// share makes components of several models one: each stands for what belongs to any of them.
func (c *composer) share(groups [][]string) {
	at := Position{1, 1}
	for _, group := range groups {
		var parts []*Part
		for _, full := range group {
			if alias, name, ok := c.component(full, at, "shared"); ok {
				parts = append(parts, c.models[alias].Component(name))
			}
		}
		unite(parts)
	}
}

func unite(parts []*Part) {
	var all []*Condition
	for _, p := range parts {
		for _, one := range p.Match {
			if !slices.ContainsFunc(all, func(have *Condition) bool { return same(have, one) }) {
				all = append(all, one)
			}
		}
	}
	for _, p := range parts {
		p.Match = all
	}
}

func same(a, b *Condition) bool {
	x, y := *a, *b
	x.Position, y.Position = Position{}, Position{}
	return fmt.Sprint(x) == fmt.Sprint(y)
}

// restructure merges the trees of the models that are nested in nothing.
func (c *composer) restructure() {
	if len(c.top) < 2 {
		for _, s := range c.top {
			c.k.Waits = append(c.k.Waits, s.waits()...)
		}
		return
	}
	if c.event == nil {
		c.fail(Position{1, 1}, "%d models run interleaved: expected  event: EXPRESSION  that says in which order their components follow each other", len(c.top))
		return
	}
	host := c.top[c.host]
	if c.host != "" && host == nil {
		c.fail(Position{1, 1}, "host: %s", unknown("model", c.host, slices.Clone(c.order)))
		return
	}
	if host == nil { // the most complex tree
		for _, alias := range c.order {
			if s := c.top[alias]; s != nil && (host == nil || len(s.Model.Rules) > len(host.Model.Rules)) {
				host = s
			}
		}
	}
	c.k.Host = host
	merged := []*Scope{host}
	for _, alias := range c.order {
		guest := c.top[alias]
		if guest == nil || guest == host {
			continue
		}
		for _, f := range guest.Model.Facts {
			for _, into := range merged {
				if c.join(guest, f, into) {
					break
				}
			}
		}
		merged = append(merged, guest)
	}
	c.switches()
}

// join makes a fact of the guest one with a fact of the same meaning in another scope.
func (c *composer) join(guest *Scope, f *Conclusion, into *Scope) bool {
	alike := guest.Model.Name == into.Model.Name
	for _, have := range into.Model.Facts {
		if _, gone := into.Same[have.Name]; gone || have.Factor != f.Factor {
			continue
		}
		switch {
		case alike && have.Name == f.Name:
			arguments := []string{""}
			if f.Parameter != "" {
				arguments = names(guest.Model.Components)
			}
			for _, a := range arguments {
				name := FactName{Name: f.Name, Argument: a}
				guest.Same[name.String()] = Ref{into, name}
			}
			for _, p := range guest.Model.Components { // its components work together with the host's
				unite([]*Part{into.Model.Component(p.Name), p})
			}
			return true
		case f.Means != "" && f.Means == have.Means && f.Parameter == "" && have.Parameter == "":
			guest.Same[f.Name] = Ref{into, FactName{Name: have.Name}}
			return true
		}
	}
	return false
}

// switches finds out of the composed event which components delay which: from a component in which ranks wait
// back to those that work, but not beyond where ranks waited before.
func (c *composer) switches() {
	leaves := c.event.Leaves()
	follow, err := c.event.Follow(true)
	if err != nil {
		c.fail(Position{1, 1}, "event: %v", err)
		return
	}
	before := make([][]int, len(leaves))
	for _, p := range follow {
		before[p.Next] = append(before[p.Next], p.Last)
		last, next := c.owner(leaves[p.Last].Name), c.owner(leaves[p.Next].Name)
		if last.Scope != next.Scope {
			add(&c.k.Switches, [2]string{last.String(), next.String()})
		}
	}
	waits, works := map[string]bool{}, map[string]bool{}
	for alias, s := range c.top {
		for _, d := range s.Model.Delays {
			for _, name := range d.ShowsIn {
				waits[alias+"."+name] = true
			}
			for _, name := range d.CausedBy {
				works[alias+"."+name] = true
			}
		}
	}
	for i, leaf := range leaves {
		if !waits[leaf.Name] {
			continue
		}
		at := c.owner(leaf.Name)
		n := slices.IndexFunc(c.k.Waits, func(w *Wait) bool { return w.At == at })
		if n < 0 {
			n = len(c.k.Waits)
			c.k.Waits = append(c.k.Waits, &Wait{At: at})
		}
		seen := map[int]bool{}
		queue := slices.Clone(before[i])
		for ; len(queue) > 0; queue = queue[1:] {
			p := queue[0]
			if seen[p] {
				continue
			}
			seen[p] = true
			if works[leaves[p].Name] {
				add(&c.k.Waits[n].Causes, c.owner(leaves[p].Name))
			}
			if !waits[leaves[p].Name] {
				queue = append(queue, before[p]...)
			}
		}
	}
}

// owner is the component that is called ALIAS.NAME. Where a scope's facts are all those of another, the other's
// component stands for both.
func (c *composer) owner(full string) ComponentRef {
	alias, name, _ := strings.Cut(full, ".")
	s := c.top[alias]
	if host := c.k.Host; host != nil && s != host && s.Model.Name == host.Model.Name {
		s = host
	}
	return ComponentRef{s, name}
}

// nested puts scopes into the components that they implement, outer ones first.
func (c *composer) nested() {
	pending := slices.Clone(c.nests)
	placed := map[string][]*Scope{}
	for alias, s := range c.top {
		placed[alias] = []*Scope{s}
	}
	for len(pending) > 0 {
		progress := false
		var rest []nesting
		for _, n := range pending {
			ready := true
			for _, full := range n.into {
				alias, _, ok := c.component(full, n.Position, "nest")
				if !ok {
					return
				}
				ready = ready && len(placed[alias]) > 0 && !slices.ContainsFunc(pending, func(p nesting) bool { return p.model == alias })
			}
			if !ready {
				rest = append(rest, n)
				continue
			}
			progress = true
			for _, full := range n.into {
				alias, name, _ := strings.Cut(full, ".")
				for _, parent := range placed[alias] {
					s := c.nestedIn(n, parent, name)
					placed[n.model] = append(placed[n.model], s)
					c.k.Scopes = append(c.k.Scopes, s)
					c.k.Waits = append(c.k.Waits, s.waits()...)
				}
			}
		}
		if !progress {
			c.fail(rest[0].Position, "nest: %s is nested in itself", rest[0].model)
			return
		}
		pending = rest
	}
}

func (c *composer) nestedIn(n nesting, parent *Scope, name string) *Scope {
	s := &Scope{Name: parent.Name + "." + name, Model: c.models[n.model], Parent: parent, Into: name, Same: map[string]Ref{}}
	for _, f := range parent.Model.FactsAbout(name) {
		s.Gates = append(s.Gates, parent.ref(f))
	}
	if len(s.Gates) == 0 {
		c.fail(n.Position, "nest: no observation of %s looks at %s, so nothing would lead to what is nested there", parent.Model.Name, name)
	}
	return s
}

// ref is a fact of the scope, or that of another one that it is.
func (s *Scope) ref(f FactName) Ref {
	if other, ok := s.Same[f.String()]; ok {
		return other
	}
	return Ref{s, f}
}

// mentions are the components that a rule's evidence is about, when its variable stands for a member.
func (m *Model) mentions(r *Rule, member string) map[string]bool {
	found := map[string]bool{}
	var visit func(e *Expression, variable, stands string)
	seen := map[string]bool{}
	visit = func(e *Expression, variable, stands string) {
		if e == nil {
			return
		}
		for _, c := range e.Uses.Components {
			found[c] = true
		}
		for _, p := range e.Uses.Places {
			if x := m.Place(p); x != nil && !seen["place "+p] {
				seen["place "+p] = true
				found[x.Of] = true
				visit(x.Largest, "", "")
			}
		}
		for _, u := range e.Uses.Metrics {
			argument := u.Argument
			if argument == variable && variable != "" {
				argument = stands
			}
			if argument != "" {
				found[argument] = true
			}
			x := m.Metric(u.Name)
			if key := u.Name + "(" + argument; x != nil && !seen[key] {
				seen[key] = true
				visit(x.Value, x.Parameter, argument)
			}
		}
	}
	for _, t := range r.If {
		for _, e := range []*Expression{t.Left, t.Right, t.Largest} {
			visit(e, r.Variable, member)
		}
	}
	return found
}

// FactsAbout are the observations of something that costs time whose evidence is about a component, but for those
// that only follow from others of them; if there are none, those about the component that it is part of.
func (m *Model) FactsAbout(component string) []FactName {
	for name := component; name != ""; name = m.Component(name).Within {
		premises := map[string][]string{} // by fact
		var about []FactName
		m.instances(func(r *Rule, member string, stand func(FactName) FactName) {
			then := stand(r.Then)
			for _, t := range r.If {
				if t.Fact != nil && !t.Not {
					premises[then.String()] = append(premises[then.String()], stand(*t.Fact).String())
				}
			}
			if f := m.Fact(then.Name); f.Cost != nil && !f.Factor && (slices.Contains(f.Of, name) || m.mentions(r, member)[name]) {
				add(&about, then)
			}
		})
		first := slices.DeleteFunc(slices.Clone(about), func(f FactName) bool { return follows(f.String(), about, premises, map[string]bool{f.String(): true}) })
		if len(first) > 0 {
			return first
		}
	}
	return nil
}

// instances gives each rule once for everything that its variable stands for, and what facts are called there.
func (m *Model) instances(do func(r *Rule, member string, stand func(FactName) FactName)) {
	for _, r := range m.Rules {
		members := []string{""}
		if r.Variable != "" {
			members = m.Range(r.Each)
		}
		for _, member := range members {
			do(r, member, func(f FactName) FactName {
				if f.Argument == r.Variable && r.Variable != "" {
					f.Argument = member
				}
				return FactName{Scope: f.Scope, Name: f.Name, Argument: f.Argument}
			})
		}
	}
}

// follows tells whether a fact follows, through others or by itself, from one of these.
func follows(fact string, from []FactName, premises map[string][]string, seen map[string]bool) bool {
	for _, p := range premises[fact] {
		if seen[p] {
			continue
		}
		seen[p] = true
		if slices.ContainsFunc(from, func(f FactName) bool { return f.String() == p }) || follows(p, from, premises, seen) {
			return true
		}
	}
	return false
}

// own reads what the composition itself knows, and adds the delegated and composite delays.
func (c *composer) own() {
	s := &Scope{Model: c.m, Same: map[string]Ref{}, Outside: map[string]*Scope{}}
	for alias, scope := range c.top {
		s.Outside[alias] = scope
	}
	for alias := range c.models {
		if c.top[alias] != nil {
			continue
		}
		for _, scope := range c.k.Scopes { // if it is nested once only
			if scope.Model == c.models[alias] {
				if s.Outside[alias] != nil {
					delete(s.Outside, alias)
					break
				}
				s.Outside[alias] = scope
			}
		}
	}
	for alias := range c.models {
		if s.Outside[alias] == nil {
			delete(c.models, alias) // in several places: there is no telling which is meant
		}
	}
	c.delays(s)
	if len(c.m.Levels) == 0 && len(c.m.Facts) > 0 {
		c.m.Levels = []*Level{{Title: "what the models do to each other", Needs: []string{"profile", "ranks"}}}
	}
	c.finish()
	if len(c.m.Facts)+len(c.m.Looks) > 0 {
		c.k.Scopes = append(c.k.Scopes, s)
	}
}

const sharedPart = "delegated_part"

// delays adds observations about waits that other models cause.
func (c *composer) delays(own *Scope) {
	for _, w := range c.k.Waits {
		d := deputed{composer: c, wait: w, byModel: map[*Scope][]string{}}
		for _, cause := range w.Causes {
			if d.byModel[cause.Scope] == nil {
				d.causing = append(d.causing, cause.Scope)
			}
			d.byModel[cause.Scope] = append(d.byModel[cause.Scope], cause.String())
		}
		if !slices.ContainsFunc(d.causing, func(s *Scope) bool { return s != w.At.Scope }) {
			continue
		}
		d.about = w.At.Scope.Model.FactsAbout(w.At.Name)
		d.measure()
		for _, s := range d.causing {
			if s != w.At.Scope {
				d.delegated(s)
			}
		}
		if len(d.causing) > 1 {
			d.composite(own)
		}
	}
}

// deputed is a wait in one model's component that other models cause.
type deputed struct {
	*composer
	wait    *Wait
	causing []*Scope
	byModel map[*Scope][]string // delays
	about   []FactName          // observations of the model that waits
}

func (d deputed) metric(s *Scope) string {
	return s.Name + "_causes_in_" + strings.ReplaceAll(d.wait.At.String(), ".", "_")
}

func (d deputed) dashed() string {
	return strings.NewReplacer("_", "-", ".", "-").Replace(d.wait.At.String())
}

// large is the condition that a model's part is worth telling.
func (d deputed) large(s *Scope) string { return fmt.Sprintf("%s >= %s", d.metric(s), sharedPart) }

// measure adds what each model causes of the wait.
func (d deputed) measure() {
	if d.m.Threshold(sharedPart) == nil {
		d.m.Thresholds = append(d.m.Thresholds, &Threshold{Name: sharedPart, Value: 0.2, Unit: units[0].Unit,
			About: "what a model causes of a wait in another's component, or of one that several cause, to be told"})
	}
	for _, s := range d.causing {
		d.generate("metric", d.metric(s), fmt.Sprintf(`
value: "attributed(%s, %s) / time(%[1]s)"
unit: share
says: "{value} of the time in %[1]s is waiting for %[2]s of other ranks"
`, d.wait.At, strings.Join(d.byModel[s], ", ")), func(n ast.Node) { d.composer.metric(d.metric(s), Position{}, n) })
	}
}

// delegated adds that a part of the wait is another model's delay.
func (d deputed) delegated(s *Scope) {
	at, delays := d.wait.At, strings.Join(d.byModel[s], ", ")
	name := "delegated-" + strings.ReplaceAll(s.Name, "_", "-") + "-in-" + d.dashed()
	d.observation(name, fmt.Sprintf("Part of the waiting in %s is %s's delay: it is caused by %s", at, s.Name, delays), fmt.Sprintf("attributed(%s, %s)", at, delays))
	d.conclude(name, at.Scope, d.about, d.large(s))
	for _, deputy := range d.about {
		for _, delegator := range s.delegators(d.byModel[s]) {
			d.link(at.Scope.ref(deputy), s.ref(delegator), "delegated")
		}
	}
}

// composite adds that several models cause the wait together: any two of them.
func (d deputed) composite(own *Scope) {
	name := "composite-" + d.dashed()
	var models []string
	for _, s := range d.causing {
		models = append(models, s.Name)
	}
	title := fmt.Sprintf("The waiting in %s is caused by %s together", d.wait.At, strings.Join(models, " and "))
	d.observation(name, title, fmt.Sprintf("attributed(%s, %s)", d.wait.At, strings.Join(refs(d.wait.Causes), ", ")))
	for i, s := range d.causing {
		for _, other := range d.causing[i+1:] {
			d.conclude(name, d.wait.At.Scope, d.about, d.large(s), d.large(other))
		}
		for _, f := range s.delegators(d.byModel[s]) {
			d.link(s.ref(f), Ref{own, FactName{Name: name}}, "composite")
		}
	}
}

// link joins two facts, once.
func (c *composer) link(from, to Ref, kind string) {
	if from != to {
		add(&c.k.Links, Link{from, to, kind})
	}
}

func refs(list []ComponentRef) []string {
	var out []string
	for _, x := range list {
		out = append(out, x.String())
	}
	return out
}

// delegators are the facts that stand for the delays that these components (ALIAS.NAME) cause: those that are
// evident from, cost or tell them; if there are none, what is about the components themselves.
func (s *Scope) delegators(causes []string) (list []FactName) {
	m := s.Model
	caused := func(d *Delay) bool {
		return slices.ContainsFunc(causes, func(full string) bool { return slices.Contains(d.CausedBy, strings.TrimPrefix(full, s.Name+".")) })
	}
	uses := func(e *Expression) (found bool) {
		m.behind(e, nil, func(_ *Model, e *Expression) {
			for _, name := range e.Uses.Delays {
				found = found || caused(find(m.Delays, name))
			}
		})
		return found
	}
	for _, f := range m.Facts {
		expressions := f.Costs()
		for _, t := range f.Tell {
			expressions = append(expressions, m.Metric(t.Metric).Value)
		}
		for _, r := range m.Rules {
			if r.Then.Name == f.Name {
				for _, t := range r.If {
					expressions = append(expressions, t.Left, t.Right)
				}
			}
		}
		if f.Parameter == "" && slices.ContainsFunc(expressions, uses) {
			add(&list, FactName{Name: f.Name})
		}
	}
	if len(list) > 0 {
		return list
	}
	for _, full := range causes {
		for _, f := range m.FactsAbout(strings.TrimPrefix(full, s.Name+".")) {
			add(&list, f)
		}
	}
	return list
}

// generate reads a piece of YAML that was made here.
func (c *composer) generate(what, name, text string, read func(ast.Node)) {
	inner := &reader{file: c.file, m: c.m}
	if body := inner.parse([]byte(text)); body != nil {
		read(body)
		return
	}
	c.fail(Position{}, "%s %s: %v", what, name, sorted(inner.problems))
}

func (c *composer) observation(name, title, cost string) {
	c.generate("observation", name, fmt.Sprintf("title: %q\ncost: %q\n", title, cost), func(n ast.Node) { c.conclusion(false)(name, Position{}, n) })
}

// conclude adds a rule for each observation that leads to the conclusion.
func (c *composer) conclude(name string, s *Scope, from []FactName, tests ...string) {
	for _, f := range from {
		ref := s.ref(f)
		f := FactName{Scope: ref.Scope.Name, Name: ref.Fact.Name, Argument: ref.Fact.Argument}
		text := fmt.Sprintf("then: %s\nif:\n- %q\n", name, f.String())
		for _, t := range tests {
			text += fmt.Sprintf("- %q\n", t)
		}
		c.generate("rule", name, text, c.rule)
	}
}
