package selection

import (
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"marple/analysis/files"
	"marple/analysis/formula"
	"marple/analysis/machine"
	"marple/analysis/run"
)

// Plan is what a file of families says.
type Plan struct {
	file         file
	Unit         float64 // of all times in the file and in a JSON call graph, in seconds
	Sizes        Sizes
	machine      map[string]float64
	home         *machine.Machine // that machine: names a file of; nil: none
	Families     []*Family
	interactions []*interaction
	translations []*translation
	layouts      map[string]string // of components without a family
	Qualities    []*Quality
	assembly     *assembly
	fitted       []*fitted // all models that come from files
	reported     []*reported
	notes        []string // what whoever reads the answer must know
}

// Family is implementations of which any can take another's place.
type Family struct {
	Name            string
	at              place
	Components      []string // the instances, by their names in the call graph
	named           bool     // they stand in the file
	Bound           bool     // all instances take the same implementation
	Implementations []*Implementation
	sizes           Sizes
}

// Implementation is a member of a family.
type Implementation struct {
	Name, Class string
	at          place
	family      *Family
	// Estimates of the time of one invocation, by method; "" is for all others.
	methods   map[string]*estimate
	measured  bool // it ran: where it has no model its time is the measured one
	fit       bool // it ran: its model comes from the records of its invocations
	inclusive bool // its time includes the components that it calls
	layout    string
	qualities map[string]float64
	wiring    wiring
}

// estimate is the expected time of one invocation, its standard deviation from one to the next, and the standard
// error of the expectation, which all invocations share: as expressions, of which the latter two may be nil, or as
// a fitted model.
type estimate struct {
	at                     place
	name                   string
	time, deviation, error *formula.Expr
	fitted                 *fitted
}

// given tells whether there is an estimate at all.
func (e *estimate) given() bool { return e.time != nil || e.fitted != nil }

// interaction is the time that a call takes beside its caller's and its callee's own, for instance to translate
// data. Callers and callees are families, implementations (family.implementation) or components.
type interaction struct {
	estimate
	caller, callee reference
	forbidden      bool
}

// translation is an interaction between any two implementations with these layouts of data.
type translation struct {
	estimate
	from, to  string
	forbidden bool
}

// reference names a family, one of its implementations, or a component that has no family.
type reference struct{ whole, family, implementation string }

func (r reference) fits(component string, i *Implementation) bool {
	if i == nil {
		return r.whole == component
	}
	return r.family == i.family.Name && (r.implementation == "" || r.implementation == i.Name)
}

// wiring is instances and connections of an assembly.
type wiring struct {
	instances   []instance
	connections []connection
}

type instance struct {
	name, class string
	at          place
}

type connection struct {
	user, uses, provider, provides string
	at                             place
}

// assembly is what a script needs beside the choice.
type assembly struct {
	wiring
	setup          []string
	goName, goPort string
	at             place
}

func (i *Implementation) String() string { return i.family.Name + "." + i.Name }

// estimate gives the model for a node with this name.
func (i *Implementation) estimate(node string) *estimate {
	method := node
	if cut := strings.LastIndexAny(node, ".:"); cut >= 0 {
		method = node[cut+1:]
	}
	for _, name := range []string{node, method, ""} {
		if e := i.methods[name]; e != nil {
			return e
		}
	}
	return nil
}

// ReadPlan reads a file of families. Errors say file:line:column.
func ReadPlan(path string) (*Plan, error) {
	in, err := files.Open(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	data, err := io.ReadAll(io.LimitReader(in, MaxFile+1))
	if err != nil {
		return nil, err
	}
	return ParsePlan(path, data)
}

// unit is the name of the file's unit of time.
func (p *Plan) unit() string {
	for _, name := range []string{"s", "ms", "us", "ns"} {
		if units[name] == p.Unit {
			return name
		}
	}
	return ""
}

var units = map[string]float64{"s": 1, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}

// ParsePlan reads a file of families from memory; files that it names are read, beside it.
func ParsePlan(path string, data []byte) (*Plan, error) {
	f := file{path}
	root, err := f.body(data)
	if err != nil {
		return nil, err
	}
	if root == nil {
		return nil, f.fail(place{1, 1}, `expected "families:"`)
	}
	return f.plan(root)
}

func (f file) plan(root ast.Node) (*Plan, error) {
	p := &Plan{file: f, Unit: 1, machine: map[string]float64{}, layouts: map[string]string{}}
	err := f.object(root, "file", []field{
		{"unit", func(n ast.Node) error {
			s, _ := scalar(n)
			if p.Unit = units[s]; p.Unit == 0 {
				return f.fail(at(n), "unit: %q: expected one of s, ms, us, ns", s)
			}
			return nil
		}},
		{"sizes", f.sizes(&p.Sizes)},
		{"records", func(n ast.Node) error {
			var name string
			if err := f.text("records", &name)(n); err != nil {
				return err
			}
			if !filepath.IsAbs(name) {
				name = filepath.Join(filepath.Dir(f.path), name)
			}
			records, err := ReadRecords(name)
			if err != nil {
				return f.fail(at(n), "records: %v", err)
			}
			p.Sizes.Records = append(p.Sizes.Records, records...)
			return nil
		}},
		{"machine", func(n ast.Node) error {
			if _, ok := mapping(n); !ok {
				return f.machine(n, p)
			}
			return f.entries(n, "machine", func(key string, _, value ast.Node) error {
				var x float64
				err := f.number("machine: "+key, &x)(value)
				p.machine[key] = x
				return err
			})
		}},
		{"families", func(n ast.Node) error { return f.entries(n, "families", p.family) }},
		{"interactions", f.list("interactions", p.interaction)},
		{"translations", f.list("translations", p.translation)},
		{"layouts", func(n ast.Node) error {
			return f.entries(n, "layouts", func(key string, _, value ast.Node) error {
				var layout string
				err := f.text("layouts: "+key, &layout)(value)
				p.layouts[key] = layout
				return err
			})
		}},
		{"qualities", func(n ast.Node) error { return f.entries(n, "qualities", p.quality) }},
		{"assembly", p.readAssembly},
	}, "families")
	if err != nil {
		return nil, err
	}
	return p, p.check()
}

// machine reads what marple doctor --machine has written.
func (f file) machine(n ast.Node, p *Plan) error {
	var name string
	if err := f.text("machine", &name)(n); err != nil {
		return err
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(filepath.Dir(f.path), name)
	}
	m, err := machine.Read(name)
	if err != nil {
		return f.fail(at(n), "machine: %v", err)
	}
	p.home, p.machine = m, m.Properties()
	return nil
}

// sizes reads parameter: value, {from, to}, or a list of values; lists are read side by side.
func (f file) sizes(to *Sizes) reader {
	return func(n ast.Node) error {
		to.Values = map[string]float64{}
		return f.entries(n, "sizes", func(key string, keyNode, value ast.Node) error {
			what := "sizes: " + key
			if list, ok := value.(*ast.SequenceNode); ok {
				return f.listed(to, key, what, list)
			}
			if _, ok := mapping(value); !ok {
				var x float64
				err := f.number(what, &x)(value)
				to.Values[key] = x
				return err
			}
			r := run.Range{Parameter: key}
			err := f.object(value, what, []field{{"from", f.number(what, &r.From)}, {"to", f.number(what, &r.To)}}, "from", "to")
			if err == nil && !(r.From < r.To) {
				err = f.fail(at(value), "%s: expected from to be below to", what)
			}
			to.Ranges = append(to.Ranges, r)
			return err
		})
	}
}

// listed takes the values of a parameter that were met one after the other.
func (f file) listed(to *Sizes, key, what string, list *ast.SequenceNode) error {
	if to.Records == nil {
		to.Records = make([]Record, len(list.Values))
	}
	if len(list.Values) != len(to.Records) || len(list.Values) == 0 {
		return f.fail(at(list), "%s: %d values; expected as many as the other lists have, and at least 1", what, len(list.Values))
	}
	for i, v := range list.Values {
		var x float64
		if err := f.number(what, &x)(v); err != nil {
			return err
		}
		r := &to.Records[i]
		if r.Calls = 1; r.At == nil {
			r.At = map[string]float64{}
		}
		r.At[key] = x
	}
	return nil
}

func (p *Plan) family(name string, keyNode, value ast.Node) error {
	f, what := p.file, "family "+name
	if strings.ContainsAny(name, ". \t") {
		return f.fail(at(keyNode), "%s: expected a name without dots and spaces", what)
	}
	if slices.ContainsFunc(p.Families, func(other *Family) bool { return other.Name == name }) {
		return f.fail(at(keyNode), "%s stands here twice", what)
	}
	fam := &Family{Name: name, at: at(keyNode), Bound: true}
	err := f.object(value, what, []field{
		{"components", f.list(what+": components", func(n ast.Node) error {
			var component string
			err := f.text(what+": components", &component)(n)
			fam.Components = append(fam.Components, component)
			return err
		})},
		{"bound", f.truth(what+": bound", &fam.Bound)},
		{"sizes", func(n ast.Node) error {
			err := f.sizes(&fam.sizes)(n)
			if err == nil && len(fam.sizes.Ranges) > 0 {
				err = f.fail(at(n), "%s: a range is of the whole run, not of one family: expected values or lists", what)
			}
			return err
		}},
		{"implementations", func(n ast.Node) error {
			return f.entries(n, what+": implementations", func(key string, keyNode, value ast.Node) error {
				return p.implementation(fam, key, keyNode, value)
			})
		}},
	}, "implementations")
	if err != nil {
		return err
	}
	if len(fam.Implementations) == 0 {
		return f.fail(fam.at, "%s: expected at least one implementation", what)
	}
	if fam.named = len(fam.Components) > 0; !fam.named {
		fam.Components = []string{name}
	}
	for _, component := range fam.Components {
		for _, other := range append(p.Families, fam) {
			count := 0
			for _, theirs := range other.Components {
				if theirs == component {
					count++
				}
			}
			if other != fam && count > 0 || count > 1 {
				return f.fail(fam.at, "%s: component %q is in family %s too", what, component, other.Name)
			}
		}
	}
	p.Families = append(p.Families, fam)
	return nil
}

func (p *Plan) implementation(fam *Family, name string, keyNode, value ast.Node) error {
	f := p.file
	i := &Implementation{Name: name, at: at(keyNode), family: fam, methods: map[string]*estimate{}, qualities: map[string]float64{}}
	what := i.String()
	if slices.ContainsFunc(fam.Implementations, func(other *Implementation) bool { return other.Name == name }) {
		return f.fail(i.at, "%s stands here twice", what)
	}
	all := &estimate{at: i.at, name: what}
	fields := append(p.estimate(what, all, &i.inclusive),
		field{"class", f.word(what+": class", &i.Class)},
		field{"methods", func(n ast.Node) error {
			return f.entries(n, what+": methods", func(key string, keyNode, value ast.Node) error {
				e := &estimate{at: at(keyNode), name: what}
				i.methods[key] = e
				if err := f.object(value, what+": "+key, p.estimate(what+": "+key, e, &i.inclusive)); err != nil {
					return err
				}
				return p.checkEstimate(what+": "+key, e, false)
			})
		}},
		field{"measured", f.truth(what+": measured", &i.measured)},
		field{"fit", f.truth(what+": fit", &i.fit)},
		field{"inclusive", f.truth(what+": inclusive", &i.inclusive)},
		field{"layout", f.text(what+": layout", &i.layout)},
		field{"qualities", func(n ast.Node) error {
			return f.entries(n, what+": qualities", func(key string, _, value ast.Node) error {
				if done, err := p.report(i, key, value); done || err != nil {
					return err
				}
				var x float64
				err := f.number(what+": "+key, &x)(value)
				i.qualities[key] = x
				return err
			})
		}},
		field{"instances", p.file.instances(&i.wiring)},
		field{"connections", p.file.list("connections", p.file.connection(&i.wiring))})
	if err := f.object(value, what, fields); err != nil {
		return err
	}
	if err := p.checkEstimate(what, all, len(i.methods) > 0 || i.measured || i.fit); err != nil {
		return err
	}
	if all.given() {
		i.methods[""] = all
	}
	fam.Implementations = append(fam.Implementations, i)
	return nil
}

// checkEstimate looks whether an estimate says something, if it has to, and not two things.
func (p *Plan) checkEstimate(what string, e *estimate, optional bool) error {
	switch {
	case e.fitted != nil && (e.time != nil || e.deviation != nil || e.error != nil):
		return p.file.fail(e.at, "%s: model: says what time, deviation and error are: expected one or the other", what)
	case e.time == nil && (e.deviation != nil || e.error != nil):
		return p.file.fail(e.at, "%s: a deviation or error without time", what)
	case !e.given() && !optional:
		return p.file.fail(e.at, "%s: expected time: of one invocation, model:, methods:, or, if it is the one that ran, measured: yes or fit: yes", what)
	}
	return nil
}

func (p *Plan) estimate(what string, to *estimate, inclusive *bool) []field {
	f := p.file
	return []field{
		{"model", p.model(what+": model", &to.fitted, inclusive)},
		{"time", f.expression(what+": time", &to.time)},
		{"deviation", f.expression(what+": deviation", &to.deviation)},
		{"error", f.expression(what+": error", &to.error)},
	}
}

// reference reads family, family.implementation or the name of a component. What there is, check decides when
// everything is read.
func (f file) reference(what string, to *reference) reader {
	return func(n ast.Node) error {
		err := f.text(what, &to.whole)(n)
		to.family, to.implementation, _ = strings.Cut(to.whole, ".")
		return err
	}
}

func (p *Plan) interaction(n ast.Node) error {
	f, what := p.file, fmt.Sprintf("interaction %d", len(p.interactions)+1)
	i := &interaction{estimate: estimate{at: at(n), name: what}}
	fields := append(p.estimate(what, &i.estimate, nil), field{"caller", f.reference(what+": caller", &i.caller)},
		field{"callee", f.reference(what+": callee", &i.callee)}, field{"forbidden", f.truth(what+": forbidden", &i.forbidden)})
	if err := f.object(n, what, fields, "caller", "callee"); err != nil {
		return err
	}
	if i.forbidden == i.given() {
		return f.fail(i.at, "%s: expected either time, model or forbidden: yes", what)
	}
	p.interactions = append(p.interactions, i)
	return nil
}

func (p *Plan) translation(n ast.Node) error {
	f, what := p.file, fmt.Sprintf("translation %d", len(p.translations)+1)
	t := &translation{estimate: estimate{at: at(n), name: what}}
	fields := append(p.estimate(what, &t.estimate, nil), field{"from", f.text(what+": from", &t.from)},
		field{"to", f.text(what+": to", &t.to)}, field{"forbidden", f.truth(what+": forbidden", &t.forbidden)})
	if err := f.object(n, what, fields, "from", "to"); err != nil {
		return err
	}
	if t.forbidden == t.given() {
		return f.fail(t.at, "%s: expected either time, model or forbidden: yes", what)
	}
	p.translations = append(p.translations, t)
	return nil
}

func (p *Plan) readAssembly(n ast.Node) error {
	f, a := p.file, &assembly{at: at(n)}
	p.assembly = a
	return f.object(n, "assembly", []field{
		{"setup", f.list("setup", func(n ast.Node) error {
			var line string
			err := f.text("setup", &line)(n)
			a.setup = append(a.setup, line)
			return err
		})},
		{"instances", f.instances(&a.wiring)},
		{"connections", f.list("connections", f.connection(&a.wiring))},
		{"go", func(n ast.Node) error {
			s, _ := scalar(n)
			words := strings.Fields(s)
			if len(words) != 2 {
				return f.fail(at(n), "go: %q: expected an instance and its port, such as driver GoPort", s)
			}
			a.goName, a.goPort = words[0], words[1]
			return nil
		}},
	}, "go")
}

func (f file) instances(to *wiring) reader {
	return func(n ast.Node) error {
		return f.entries(n, "instances", func(name string, keyNode, value ast.Node) error {
			i := instance{name: name, at: at(keyNode)}
			if strings.ContainsAny(name, " \t") {
				return f.fail(i.at, "instances: %q: expected a word without spaces", name)
			}
			err := f.word("instances: "+name, &i.class)(value)
			to.instances = append(to.instances, i)
			return err
		})
	}
}

func (f file) connection(to *wiring) reader {
	return func(n ast.Node) error {
		s, _ := scalar(n)
		words := strings.Fields(s)
		if len(words) != 4 {
			return f.fail(at(n), "connections: %q: expected a user, its uses port, a provider, its provides port", s)
		}
		to.connections = append(to.connections, connection{words[0], words[1], words[2], words[3], at(n)})
		return nil
	}
}

// check looks at what parts of the file say of each other.
func (p *Plan) check() error {
	for _, f := range p.fitted {
		err := f.look(p)
		if err == nil {
			err = f.prepare(p.machine)
		}
		if err != nil {
			return p.file.fail(f.at, "%s: %v", f.what, err)
		}
	}
	for _, fam := range p.Families {
		for _, i := range fam.Implementations {
			if err := p.described(i); err != nil {
				return err
			}
		}
	}
	for _, i := range p.interactions {
		for _, r := range []reference{i.caller, i.callee} {
			if err := p.checkReference(i.estimate, r); err != nil {
				return err
			}
		}
	}
	for n, t := range p.translations {
		if slices.ContainsFunc(p.translations[:n], func(o *translation) bool { return o.from == t.from && o.to == t.to }) {
			return p.file.fail(t.at, "%s: from %s to %s stands here twice", t.name, t.from, t.to)
		}
	}
	for component := range p.layouts {
		if fam := p.familyOf(component); fam != nil {
			return p.file.fail(fam.at, "layouts: component %q belongs to family %s: expected layout: of its implementations", component, fam.Name)
		}
	}
	return p.checkQualities()
}

// described looks whether the qualities of an implementation are.
func (p *Plan) described(i *Implementation) error {
	names := slices.Collect(maps.Keys(i.qualities))
	for _, r := range p.reported {
		if r.implementation == i {
			names = append(names, r.quality)
		}
	}
	for _, name := range names {
		if !slices.ContainsFunc(p.Qualities, func(q *Quality) bool { return q.Name == name }) {
			return p.file.fail(i.at, "%s: quality %q is not described under qualities:", i, name)
		}
	}
	return nil
}

func (p *Plan) checkReference(e estimate, r reference) error {
	i := slices.IndexFunc(p.Families, func(f *Family) bool { return f.Name == r.family })
	switch {
	case i < 0 || r.implementation == "":
		return nil // a family, or a component of the call graph
	case !slices.ContainsFunc(p.Families[i].Implementations, func(o *Implementation) bool { return o.Name == r.implementation }):
		return p.file.fail(e.at, "%s: family %s has no implementation %q", e.name, r.family, r.implementation)
	}
	return nil
}

// familyOf is the family of a component; nil if it has none.
func (p *Plan) familyOf(component string) *Family {
	for _, f := range p.Families {
		if slices.Contains(f.Components, component) {
			return f
		}
	}
	return nil
}

// expressions are those that there are.
func (e *estimate) expressions() (list []*formula.Expr) {
	for _, x := range []*formula.Expr{e.time, e.deviation, e.error} {
		if x != nil {
			list = append(list, x)
		}
	}
	return list
}

// parameters are the names that the estimate depends on, sorted.
func (e *estimate) parameters() []string {
	if e.fitted != nil {
		return e.fitted.names
	}
	var list []string
	for _, x := range e.expressions() {
		list = append(list, x.Parameters()...)
	}
	slices.Sort(list)
	return slices.Compact(list)
}
