package selection

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"marple/analysis/formula"
	"marple/analysis/selection/graph"
	"marple/analysis/selection/optimum"
	"marple/analysis/selection/prune"
)

// composite is the performance model of the whole assembly: the call graph, walked from the root, with the
// implementations as variables. Its time is the sum of what every node takes by itself and what every call
// between components costs beside that.
type composite struct {
	plan      *Plan
	sizing    sizing
	unit      float64 // of the call graph's times, in seconds
	variables []*variable
	nodes     []*node // of components, callers first; the first is the root
	names     []string
	compiled  map[*estimate]*compiled
	models    map[*estimate]int // numbers of what errors are shared by
	terms     []optimum.Term    // with costs of zero; the first are the variables' own
	pairs     map[[2]int]int    // terms of two variables
	outside   map[string]bool   // notes on models that are used outside their range
}

// variable is a choice to make: of a family, or of one of its instances.
type variable struct {
	family    *Family
	instances []string
	core      bool // the rule keeps one of its nodes
	called    bool // it is in the call graph
}

func (v *variable) name() string {
	if v.family.Bound {
		return v.family.Name
	}
	return v.instances[0]
}

// node is a call path of a component.
type node struct {
	*prune.Node
	component string
	caller    *node
	variable  int     // -1: its time is the measured one
	own       float64 // seconds that it takes by itself, as measured
	below     float64 // seconds below it that no variable stands for
	core      bool
}

// compiled is an estimate as functions of the composite's parameters; nil where it says nothing. Values have
// this unit, in seconds.
type compiled struct {
	time, deviation, error func(x []float64) float64
	unsure                 func(x []float64) string // why nothing can be told there; or nil
	outside                func(x []float64) string // what range the model was made from, if x is not in it; or nil
	unit                   float64
}

// piece is a part of the total time that depends on one choice, or on two.
type piece struct {
	term, entry           int
	variable              int   // whose time it is: the callee's, if that has a choice
	node                  *node // where it is spent
	model                 int   // -1: without error
	mean, variance, error float64
}

// sample is some invocations with the same parameters, in the order of the composite's names.
type sample struct {
	calls float64
	x     []float64
}

// newComposite makes the model. Errors say where in the file of families something is missing.
func newComposite(plan *Plan, g *graph.Graph, core *prune.Core, given Sizes) (*composite, error) {
	c := &composite{plan: plan, sizing: sizing{given, plan.Sizes, g.Parameters}, unit: g.Unit, compiled: map[*estimate]*compiled{},
		models: map[*estimate]int{}, pairs: map[[2]int]int{}, outside: map[string]bool{}}
	if c.unit == 0 {
		c.unit = plan.Unit
	}
	c.compile()
	c.walk(core.Root, nil, core, !g.Root.HasComponents())
	c.findInstances()
	if err := c.checkComponents(); err != nil {
		return nil, err
	}
	variables := map[string]int{} // of components
	for _, fam := range plan.Families {
		var v *variable
		for i, component := range fam.Components {
			if i == 0 || !fam.Bound {
				v = &variable{family: fam}
				c.variables = append(c.variables, v)
				c.terms = append(c.terms, optimum.Term{Vars: []int{len(c.variables) - 1}, Cost: make([]float64, len(fam.Implementations))})
			}
			v.instances = append(v.instances, component)
			variables[component] = len(c.variables) - 1
		}
	}
	some, err := scenarios(c.sizing.ranges())
	if err != nil {
		return nil, err
	}
	for _, n := range c.nodes {
		v, ok := variables[n.component]
		if !ok {
			continue
		}
		c.variables[v].called = true
		n.variable = v
		var try []piece
		err := c.own(n, some[0], &try)
		if err == nil {
			err = c.call(n, some[0], &try)
		}
		switch {
		case err == nil:
			c.variables[v].core = c.variables[v].core || n.core
		case n.core:
			return nil, err
		default:
			n.variable = -1 // it does not matter: its time stays the measured one
		}
	}
	return c, c.fixed()
}

// walk lists the component nodes, with the measured time that each takes by itself.
func (c *composite) walk(p *prune.Node, caller *node, core *prune.Core, every bool) {
	if p.Judged || caller == nil {
		n := &node{Node: p, component: p.Component, caller: caller, variable: -1, own: p.Inclusive * c.unit, core: core.Kept(p)}
		if every {
			n.component = p.Name
		}
		if caller != nil {
			caller.own -= n.own
		}
		c.nodes = append(c.nodes, n)
		caller = n
	}
	for _, child := range p.Children {
		c.walk(child, caller, core, every)
	}
	if caller.Node == p {
		caller.own = max(0, caller.own) // children may overlap
	}
}

// class is that of a node's component, as far as its name tells: class[instance].method.
func (n *node) class() string {
	if class, _, ok := strings.Cut(n.Name, "["+n.component+"]."); ok {
		return class
	}
	return n.component
}

// findInstances of families whose file does not name them: components with the family's name, else those of its
// implementations' classes.
func (c *composite) findInstances() {
	for _, fam := range c.plan.Families {
		if fam.named || slices.ContainsFunc(c.nodes, func(n *node) bool { return n.component == fam.Name }) {
			continue
		}
		fam.Components = nil
		for _, n := range c.nodes {
			ours := slices.ContainsFunc(fam.Implementations, func(i *Implementation) bool { return i.Class != "" && i.Class == n.class() })
			if ours && c.plan.familyOf(n.component) == nil {
				fam.Components = append(fam.Components, n.component)
			}
		}
		if fam.Components == nil {
			fam.Components = []string{fam.Name}
		}
	}
}

// checkComponents finds interactions of what is not there.
func (c *composite) checkComponents() error {
	for _, i := range c.plan.interactions {
		for _, r := range []reference{i.caller, i.callee} {
			known := slices.ContainsFunc(c.plan.Families, func(f *Family) bool { return f.Name == r.family }) ||
				slices.ContainsFunc(c.nodes, func(n *node) bool { return n.component == r.whole && c.plan.familyOf(r.whole) == nil })
			if !known {
				return c.plan.file.fail(i.at, "%s: there is no family, and no component without a family, %q", i.name, r.whole)
			}
		}
	}
	return nil
}

// fixed adds up what is below each node and no variable stands for.
func (c *composite) fixed() error {
	for _, n := range slices.Backward(c.nodes) {
		if n.caller == nil {
			continue
		}
		n.caller.below += n.below
		if n.variable < 0 {
			n.caller.below += n.own
			continue
		}
		for above := n.caller; above != nil; above = above.caller {
			if above.variable < 0 {
				continue
			}
			for _, i := range c.variables[above.variable].family.Implementations {
				if i.inclusive {
					return c.plan.file.fail(i.at, "%s: inclusive: yes is not possible, since %s calls %s, which has a choice of its own",
						i, above.Name, n.Name)
				}
			}
		}
	}
	return nil
}

// compile makes functions of all expressions.
func (c *composite) compile() {
	var list []*estimate
	for _, fam := range c.plan.Families {
		for _, i := range fam.Implementations {
			for _, e := range i.methods {
				list = append(list, e)
			}
		}
	}
	for _, i := range c.plan.interactions {
		list = append(list, &i.estimate)
	}
	for _, t := range c.plan.translations {
		list = append(list, &t.estimate)
	}
	slices.SortStableFunc(list, func(a, b *estimate) int {
		if a.at.line != b.at.line {
			return a.at.line - b.at.line
		}
		return a.at.column - b.at.column
	})
	for _, e := range list {
		c.names = append(c.names, e.parameters()...)
		if e.fitted != nil {
			c.names = append(c.names, e.fitted.optional...)
		}
	}
	slices.Sort(c.names)
	c.names = slices.Compact(c.names)
	for i, e := range list {
		c.models[e] = i
		if e.fitted != nil {
			c.compiled[e] = e.fitted.compile(c.names)
			c.compiled[e].unit = e.fitted.unit()
		} else {
			c.compiled[e] = &compiled{time: c.function(e.time), deviation: c.function(e.deviation), error: c.function(e.error)}
		}
		if c.compiled[e].unit == 0 {
			c.compiled[e].unit = c.plan.Unit
		}
	}
}

// function evaluates an expression, all of whose parameters are among the composite's; nil for nil.
func (c *composite) function(e *formula.Expr) func([]float64) float64 {
	if e == nil {
		return nil
	}
	f, err := e.Func(c.names...)
	if err != nil {
		panic(err)
	}
	return f
}

// samples are a node's invocations in a scenario.
func (c *composite) samples(n *node, sc scenario) []sample {
	none := &Sizes{}
	if fam := c.plan.familyOf(n.component); fam != nil {
		none = &fam.sizes
	}
	var list []sample
	for _, size := range c.sizing.of(n.component, n.Name, n.Node.Node, none, sc) {
		s := sample{size.Calls, make([]float64, len(c.names))}
		for i, name := range c.names {
			x, ok := size.At[name]
			if m, machine := c.plan.machine[name]; machine && !ok {
				x, ok = m, true
			}
			if !ok {
				x = math.NaN()
			}
			s.x[i] = x
		}
		list = append(list, s)
	}
	return list
}

// integrate adds up an estimate over invocations: their mean, its variance, and its standard error, in seconds.
// The variance is of invocations that are drawn independently from the sizes, and do not depend on each other;
// the error is the same for all invocations, and adds up as such.
func (c *composite) integrate(e *estimate, at *node, samples []sample) (p piece, err error) {
	f, calls, squares := c.compiled[e], 0.0, 0.0
	value := func(what string, function func([]float64) float64, x []float64) float64 {
		if function == nil || err != nil {
			return 0
		}
		v := function(x)
		if !(v >= 0 && v <= most) {
			err = c.noValue(e, at, what, v, x)
		}
		return v
	}
	for _, s := range samples {
		mean, deviation, wrong := value("time", f.time, s.x), value("deviation", f.deviation, s.x), value("error", f.error, s.x)
		if f.unsure != nil && err == nil {
			if why := f.unsure(s.x); why != "" {
				err = c.plan.file.fail(e.at, "%s: %s", e.name, why)
			}
		}
		if f.outside != nil && err == nil {
			if made := f.outside(s.x); made != "" {
				c.outside[e.name+" is used outside the range it was fitted for: "+made] = true
			}
		}
		calls += s.calls
		p.mean += s.calls * mean
		squares += s.calls * mean * mean
		p.variance += s.calls * deviation * deviation
		p.error += s.calls * wrong
	}
	if len(samples) > 1 {
		p.variance += max(0, squares-p.mean*p.mean/calls)
	}
	u := f.unit
	p.model, p.mean, p.variance, p.error = c.models[e], p.mean*u, p.variance*u*u, p.error*u
	return p, err
}

// noValue says why an expression has no useful value.
func (c *composite) noValue(e *estimate, n *node, what string, v float64, x []float64) error {
	var where []string
	for _, p := range e.parameters() {
		value := x[slices.Index(c.names, p)]
		if math.IsNaN(value) {
			return c.plan.file.fail(e.at, "%s needs %s at %s: give it under sizes:, with --at %s=…, or as sizes in the call graph", e.name, p, n.Name, p)
		}
		where = append(where, fmt.Sprintf("%s = %.6g", p, value))
	}
	return c.plan.file.fail(e.at, "%s: %s is %.4g at %s: expected 0 or more; it may be used outside the range it was made for", e.name, what, v,
		strings.Join(where, ", "))
}

// build gives all pieces of a scenario; how many there are, and of what, is the same for all scenarios.
func (c *composite) build(sc scenario) ([]piece, error) {
	var pieces []piece
	for _, n := range c.nodes {
		if n.variable >= 0 {
			if err := c.own(n, sc, &pieces); err != nil {
				return nil, err
			}
		}
		if err := c.call(n, sc, &pieces); err != nil {
			return nil, err
		}
	}
	return pieces, nil
}

// own adds the pieces of what a node takes by itself.
func (c *composite) own(n *node, sc scenario, to *[]piece) error {
	samples := c.samples(n, sc)
	for k, i := range c.variables[n.variable].family.Implementations {
		p, e := piece{model: -1, mean: n.own}, i.estimate(n.Name)
		switch {
		case e != nil:
			var err error
			if p, err = c.integrate(e, n, samples); err != nil {
				return err
			}
			if i.inclusive {
				p.mean -= n.below
			}
		case i.measured && i.ran(n.class()):
		case i.measured:
			return c.plan.file.fail(i.at, "%s: measured: yes, but what ran as %s is of class %s: expected time: or model:", i, n.Name, n.class())
		case i.fit:
			return c.plan.file.fail(i.at, "%s: fit: yes needs records of invocations of %s, and the run has kept none", i, n.Name)
		default:
			return c.plan.file.fail(i.at, "%s: no time for %s: expected it under methods:", i, n.Name)
		}
		p.term, p.entry, p.variable, p.node = n.variable, k, n.variable, n
		*to = append(*to, p)
	}
	return nil
}

// side is one end of a call: a component, and what it can be.
type side struct {
	component string
	variable  int
	choices   []*Implementation // a single nil if it is fixed
}

func (c *composite) side(n *node) side {
	if n.variable < 0 {
		return side{n.component, -1, []*Implementation{nil}}
	}
	return side{n.component, n.variable, c.variables[n.variable].family.Implementations}
}

func (c *composite) layout(s side, choice int) string {
	if i := s.choices[choice]; i != nil {
		return i.layout
	}
	return c.plan.layouts[s.component]
}

// call adds the pieces of what the calls of a node cost beside its own time and its caller's.
func (c *composite) call(n *node, sc scenario, to *[]piece) error {
	if n.caller == nil {
		return nil
	}
	caller, callee := c.side(n.caller), c.side(n)
	if callee.variable < 0 && (caller.variable < 0 || !n.core) {
		return nil // measured as it is
	}
	x := calling{c: c, n: n, sc: sc, caller: caller, callee: callee, known: map[*estimate]piece{}, to: to}
	for _, i := range c.plan.interactions {
		for a, from := range caller.choices {
			if !i.caller.fits(caller.component, from) {
				continue
			}
			for b, into := range callee.choices {
				if !i.callee.fits(callee.component, into) {
					continue
				}
				if err := x.add(&i.estimate, i.forbidden, a, b); err != nil {
					return err
				}
			}
		}
	}
	for a := range caller.choices {
		for b := range callee.choices {
			if err := x.translate(a, b); err != nil {
				return err
			}
		}
	}
	return nil
}

// calling is a call whose pieces are added up: by the choices of its two ends.
type calling struct {
	c              *composite
	n              *node
	sc             scenario
	caller, callee side
	samples        []sample            // when they are needed
	known          map[*estimate]piece // what was integrated before
	to             *[]piece
}

// add adds an estimate where the caller is its choice a and the callee its choice b.
func (x *calling) add(e *estimate, forbidden bool, a, b int) error {
	if x.samples == nil {
		x.samples = x.c.samples(x.n, x.sc)
	}
	p, ok := x.known[e]
	if !ok {
		p = piece{model: -1, mean: math.Inf(1)}
		if !forbidden {
			var err error
			if p, err = x.c.integrate(e, x.n, x.samples); err != nil {
				return err
			}
		}
		x.known[e] = p
	}
	if x.caller.variable == x.callee.variable && a != b {
		return nil
	}
	p.node = x.n
	p.term, p.entry = x.c.place(x.caller.variable, x.callee.variable, a, b)
	if p.variable = x.callee.variable; p.variable < 0 {
		p.variable = x.caller.variable
	}
	*x.to = append(*x.to, p)
	return nil
}

// translate adds what it costs that the two lay out their data differently.
func (x *calling) translate(a, b int) error {
	from, into := x.c.layout(x.caller, a), x.c.layout(x.callee, b)
	if from == into || from == "" || into == "" || x.caller.variable == x.callee.variable && a != b {
		return nil
	}
	k := slices.IndexFunc(x.c.plan.translations, func(t *translation) bool { return t.from == from && t.to == into })
	if k < 0 {
		return fmt.Errorf("%s: translations: none from %s to %s, which %s needs to call %s: give its time, or forbidden: yes",
			x.c.plan.file.path, from, into, x.n.caller.Name, x.n.Name)
	}
	t := x.c.plan.translations[k]
	return x.add(&t.estimate, t.forbidden, a, b)
}

// place finds the term and its entry for choices of two variables, of which one may be -1.
func (c *composite) place(v, w, a, b int) (term, entry int) {
	switch {
	case v < 0 || v == w:
		return w, b
	case w < 0:
		return v, a
	case v > w:
		v, w, a, b = w, v, b, a
	}
	choices := len(c.variables[w].family.Implementations)
	term, ok := c.pairs[[2]int{v, w}]
	if !ok {
		term = len(c.terms)
		c.pairs[[2]int{v, w}] = term
		c.terms = append(c.terms, optimum.Term{Vars: []int{v, w}, Cost: make([]float64, len(c.variables[v].family.Implementations)*choices)})
	}
	return term, a*choices + b
}

// problem is what the optimiser is asked: the pieces' means, what number of standard errors each model is off, and
// limits.
func (c *composite) problem(pieces []piece, off []float64, limits []limit) *optimum.Problem {
	p := &optimum.Problem{}
	for _, v := range c.variables {
		p.Choices = append(p.Choices, len(v.family.Implementations))
	}
	for _, t := range c.terms {
		p.Terms = append(p.Terms, optimum.Term{Vars: t.Vars, Cost: make([]float64, len(t.Cost))})
	}
	for _, x := range pieces {
		mean := x.mean
		if off != nil && x.model >= 0 {
			mean += off[x.model] * x.error
		}
		p.Terms[x.term].Cost[x.entry] += mean
	}
	for _, l := range limits {
		c.demand(p, l)
	}
	return p
}

// constant is the time that no variable stands for: of kept nodes, and of pruned ones.
func (c *composite) constant() (core, pruned float64) {
	for _, n := range c.nodes {
		switch {
		case n.variable >= 0:
		case n.core:
			core += n.own
		default:
			pruned += n.own
		}
	}
	return core, pruned
}

// demand adds a limit to a problem. What a minimum excludes is forbidden; of products and sums the optimiser
// sees sums.
func (c *composite) demand(p *optimum.Problem, l limit) {
	for v := range c.variables {
		gain := c.gain(v, l.quality, l.sign)
		if !l.quality.rule.sum {
			for k, x := range gain {
				if x < l.value {
					p.Terms[v].Cost[k] = math.Inf(1)
				}
			}
		}
	}
	if l.quality.rule.sum {
		o := optimum.Limit{Least: l.sign * l.quality.rule.scale(l.value)}
		for v := range c.variables {
			o.Gain = append(o.Gain, c.gain(v, l.quality, l.sign))
		}
		p.Limits = append(p.Limits, o)
	}
}

// gain is what each choice of a variable adds to a quality, or does to it if it is a minimum.
func (c *composite) gain(v int, q *Quality, sign float64) []float64 {
	variable := c.variables[v]
	gain := make([]float64, len(variable.family.Implementations))
	for k, i := range variable.family.Implementations {
		x, ok := i.qualities[q.Name]
		switch {
		case q.rule.sum && ok:
			gain[k] = sign * float64(len(variable.instances)) * q.rule.scale(x)
		case q.rule.sum:
		case ok:
			gain[k] = x
		default:
			gain[k] = q.rule.start
		}
	}
	return gain
}

// quality is that of a whole assembly; instances whose implementations have none do not count.
func (c *composite) quality(q *Quality, choice []int) float64 {
	whole := q.rule.start
	for v, variable := range c.variables {
		if x, ok := variable.family.Implementations[choice[v]].qualities[q.Name]; ok {
			for range variable.instances {
				whole = q.rule.add(whole, x)
			}
		}
	}
	return whole
}
