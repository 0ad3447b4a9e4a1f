package knowledge

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"marple/analysis/pattern"
	"marple/analysis/record"
	"marple/analysis/yaml"
)

// reader turns YAML into a model and collects what is wrong on the way.
type reader struct {
	file     string
	problems []Problem
	m        *Model
	// What refers to names is looked at when all names are known.
	later []func()
	// outside are the models of a composition, by alias.
	outside map[string]*Model
	aliased int // values that aliases stand for
}

const maxProblems = 20

func (r *reader) fail(at Position, format string, arguments ...any) {
	if len(r.problems) < maxProblems {
		r.problems = append(r.problems, Problem{r.file, at, fmt.Sprintf(format, arguments...)})
	}
}

func (r *reader) note(at Position, format string, arguments ...any) {
	r.m.Notes = append(r.m.Notes, Problem{r.file, at, fmt.Sprintf(format, arguments...)})
}

func place(n ast.Node) Position {
	p := n.GetToken().Position
	if m, ok := n.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) > 0 {
		p = m.Values[0].Key.GetToken().Position
	}
	return Position{p.Line, p.Column}
}

// parse reads the one document of a file.
func (r *reader) parse(data []byte) (body ast.Node) {
	tree, err := yaml.Parse(data)
	if err != nil {
		var e *yaml.Error
		errors.As(err, &e)
		r.fail(Position{e.Line, e.Column}, "not valid YAML: %s", e.Message)
		return nil
	}
	if len(tree.Docs) > 1 {
		r.fail(place(tree.Docs[1].Body), "expected one document; this is a second")
		return nil
	}
	if len(tree.Docs) == 0 || tree.Docs[0].Body == nil {
		r.fail(Position{1, 1}, "the file is empty")
		return nil
	}
	return r.resolved(tree.Docs[0].Body, map[string]ast.Node{})
}

// mostAliased is how many values aliases may stand for in a file: they can be nested, so that a short one means a huge one.
const mostAliased = 100_000

// nodesIn counts a node and those below, as far as it matters.
func nodesIn(n ast.Node) int {
	count := counter(0)
	ast.Walk(&count, n)
	return int(count)
}

type counter int

func (c *counter) Visit(ast.Node) ast.Visitor {
	if *c++; *c > mostAliased {
		return nil
	}
	return c
}

// resolved puts what is named by an anchor in the place of its aliases.
func (r *reader) resolved(n ast.Node, anchors map[string]ast.Node) ast.Node {
	switch v := n.(type) {
	case *ast.MappingNode:
		for _, pair := range v.Values {
			pair.Value = r.resolved(pair.Value, anchors)
		}
	case *ast.MappingValueNode:
		v.Value = r.resolved(v.Value, anchors)
	case *ast.SequenceNode:
		for i, item := range v.Values {
			v.Values[i] = r.resolved(item, anchors)
		}
	case *ast.AnchorNode:
		value := r.resolved(v.Value, anchors)
		anchors[v.Name.GetToken().Value] = value
		return value
	case *ast.AliasNode:
		name := v.Value.GetToken().Value
		if anchors[name] == nil {
			r.fail(place(n), "no anchor &%s stands before this", name)
			return n
		}
		if r.aliased += nodesIn(anchors[name]); r.aliased > mostAliased {
			r.fail(place(n), "aliases stand for more than %d values here, which is too many", mostAliased)
			return n
		}
		return anchors[name]
	}
	return n
}

// field reads the value of a key; key is where the key stands.
type field func(key, value ast.Node)

// pairs are the keys and values of a mapping.
func (r *reader) pairs(n ast.Node, what string) []*ast.MappingValueNode {
	switch v := n.(type) {
	case *ast.MappingNode:
		return v.Values
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{v}
	}
	r.fail(place(n), "%s: expected lines of the form  key: value", what)
	return nil
}

// fields hands the values of a mapping to their readers.
func (r *reader) fields(n ast.Node, what string, table map[string]field) {
	seen := map[string]bool{}
	for _, pair := range r.pairs(n, what) {
		key := pair.Key.GetToken().Value
		read, ok := table[key]
		switch {
		case !ok:
			var known []string
			for k := range table {
				known = append(known, k)
			}
			r.fail(place(pair.Key), "%s: %s", what, unknown("key", key, known))
		case seen[key]:
			r.fail(place(pair.Key), "%s: %q stands here twice", what, key)
		default:
			seen[key] = true
			read(pair.Key, pair.Value)
		}
	}
}

// named reads a mapping from names to things.
func (r *reader) named(n ast.Node, what string, form shape, read func(name string, at Position, value ast.Node)) {
	for _, pair := range r.pairs(n, what) {
		name := pair.Key.GetToken().Value
		if !form.fits(name) {
			r.fail(place(pair.Key), "%s: %q is no name; expected %s", what, name, form)
			continue
		}
		read(name, place(pair.Key), pair.Value)
	}
}

// shape of a name: small letters, digits and one other character, perhaps with a parameter in parentheses.
type shape struct {
	also      byte
	parameter bool
}

var (
	plainName  = shape{'_', false}
	metricName = shape{'_', true}
	factName   = shape{'-', true}
	modelName  = shape{'-', false}
)

func (s shape) String() string {
	text := "small letters, digits and " + string(s.also)
	if s.parameter {
		text += ", perhaps with a parameter in parentheses"
	}
	return text
}

// fits tells whether a text is such a name.
func (s shape) fits(text string) bool {
	name, parameter, called := strings.Cut(text, "(")
	if called {
		inner, closed := strings.CutSuffix(parameter, ")")
		if !s.parameter || !closed || !plainName.fits(inner) {
			return false
		}
	}
	for i := range len(name) {
		c := name[i]
		if !(c >= 'a' && c <= 'z' || i > 0 && (c == s.also || c >= '0' && c <= '9')) {
			return false
		}
	}
	return name != ""
}

// ParseFact reads [MODEL.]NAME[(COMPONENT)].
func ParseFact(text string) (FactName, error) {
	scope, rest, qualified := strings.Cut(text, ".")
	if !qualified {
		scope, rest = "", text
	}
	if !factName.fits(rest) || qualified && !plainName.fits(scope) {
		return FactName{}, fmt.Errorf("%q is no fact's name; expected %s", text, factName)
	}
	name, argument, _ := strings.Cut(strings.TrimSuffix(rest, ")"), "(")
	return FactName{Scope: scope, Name: name, Argument: argument}, nil
}

// text reads a scalar as it is written.
func (r *reader) text(n ast.Node, what string) string {
	switch v := n.(type) {
	case *ast.StringNode:
		return v.Value
	case *ast.LiteralNode:
		return strings.TrimSpace(v.Value.Value)
	case *ast.NullNode:
	case ast.ScalarNode:
		return v.GetToken().Value
	}
	r.fail(place(n), "%s: expected a text", what)
	return ""
}

// texts reads a text, or a list of them.
func (r *reader) texts(n ast.Node, what string) (list []string) {
	r.items(n, func(item ast.Node) { list = append(list, r.text(item, what)) })
	return list
}

// items reads one thing, or a list of them.
func (r *reader) items(n ast.Node, read func(ast.Node)) {
	if list, ok := n.(*ast.SequenceNode); ok {
		for _, item := range list.Values {
			read(item)
		}
		return
	}
	read(n)
}

func (r *reader) into(to *string, what string) field {
	return func(_, value ast.Node) { *to = r.text(value, what) }
}

func (r *reader) intoList(to *[]string, what string) field {
	return func(_, value ast.Node) { *to = r.texts(value, what) }
}

// judges reads names of general factors, or patterns of them.
func (r *reader) judges(_, value ast.Node) {
	for _, text := range r.texts(value, "judges") {
		known := false
		for _, name := range Symptoms {
			if fits, err := path.Match(text, name); err == nil && fits {
				r.m.Judges = append(r.m.Judges, name)
				known = true
			}
		}
		if !known {
			r.fail(place(value), "judges: %s", unknown("general factor", text, Symptoms))
		}
	}
}

// expression compiles a text in which names are known by now; at is where it stands.
func (r *reader) expression(s *scope, text string, n ast.Node, what string) *Expression {
	e, err := s.compile(text, place(n))
	if err != nil {
		r.inside(n, err, what)
		return nil
	}
	return e
}

func (r *reader) template(s *scope, text string, n ast.Node, what string) *Template {
	t, err := s.template(text, place(n))
	if err != nil {
		r.inside(n, err, what)
		return nil
	}
	return t
}

// inside places a mistake within a scalar. Of a text over several lines it is the beginning that is known.
func (r *reader) inside(n ast.Node, err error, what string) {
	at := place(n)
	offset, message := 0, err.Error()
	var m *mistake
	var p *pattern.Error
	switch {
	case errors.As(err, &m):
		offset = m.at
	case errors.As(err, &p):
		offset = p.At
	}
	if s, ok := n.(*ast.StringNode); ok {
		if origin := strings.TrimSpace(s.Token.Origin); !strings.Contains(origin, "\n") {
			if strings.HasPrefix(origin, `"`) || strings.HasPrefix(origin, "'") {
				offset++
			}
			at.Column += offset
		}
	}
	r.fail(at, "%s: %s", what, message)
}

// model reads the body of a model; known says whether a key belongs to another kind of file.
func (r *reader) model(body ast.Node) {
	r.fields(body, "model", r.sections())
	if r.m.Name == "" {
		r.fail(place(body), "expected the model's name: model: NAME")
	}
	r.finish()
}

// sections are the parts of a file that models and compositions have in common.
func (r *reader) sections() map[string]field {
	m := r.m
	return map[string]field{
		"model": func(_, value ast.Node) {
			if m.Name = r.text(value, "model"); !modelName.fits(m.Name) {
				r.fail(place(value), "%q is no model's name; expected %s", m.Name, modelName)
			}
		},
		"title":        r.into(&m.Title, "title"),
		"about":        r.into(&m.About, "about"),
		"source":       r.into(&m.Source, "source"),
		"judges":       r.judges,
		"plain":        func(_, value ast.Node) { m.Plain = r.yes(value, "plain") },
		"roles":        func(_, value ast.Node) { r.named(value, "roles", plainName, r.role) },
		"components":   func(_, value ast.Node) { r.named(value, "components", plainName, r.component) },
		"groups":       func(_, value ast.Node) { r.named(value, "groups", plainName, r.group) },
		"places":       func(_, value ast.Node) { r.named(value, "places", plainName, r.place) },
		"events":       func(_, value ast.Node) { r.named(value, "events", plainName, r.event) },
		"delays":       func(_, value ast.Node) { r.named(value, "delays", plainName, r.delay) },
		"thresholds":   func(_, value ast.Node) { r.named(value, "thresholds", plainName, r.threshold) },
		"metrics":      func(_, value ast.Node) { r.named(value, "metrics", metricName, r.metric) },
		"signs":        func(_, value ast.Node) { r.named(value, "signs", modelName, r.look) },
		"levels":       func(_, value ast.Node) { r.items(value, r.level) },
		"observations": func(_, value ast.Node) { r.named(value, "observations", factName, r.conclusion(false)) },
		"factors":      func(_, value ast.Node) { r.named(value, "factors", factName, r.conclusion(true)) },
		"rules":        func(_, value ast.Node) { r.items(value, r.rule) },
	}
}

// yes reads yes or no.
func (r *reader) yes(value ast.Node, what string) bool {
	text := r.text(value, what)
	if text != "yes" && text != "no" {
		r.fail(place(value), "%s: %q: expected yes or no", what, text)
	}
	return text == "yes"
}

// define complains about a name that is taken already, or kept for the language.
func (r *reader) define(name string, at Position, facts bool) bool {
	m := r.m
	taken := m.Role(name) != nil || m.Component(name) != nil || find(m.Groups, name) != nil || m.Place(name) != nil || m.Event(name) != nil ||
		find(m.Delays, name) != nil || m.Threshold(name) != nil || m.Metric(name) != nil
	if facts {
		taken = m.Fact(name) != nil
	}
	switch {
	case taken:
		r.fail(at, "%s is defined twice", name)
	case !facts && reserved(name):
		r.fail(at, "%s means something in expressions; choose another name", name)
	default:
		return true
	}
	return false
}

func (r *reader) role(name string, at Position, value ast.Node) {
	if !r.define(name, at, false) {
		return
	}
	x := &RoleSet{Position: at, Name: name}
	r.m.Roles = append(r.m.Roles, x)
	if _, scalar := value.(ast.ScalarNode); scalar {
		r.ranks(x, value)
		return
	}
	r.fields(value, "role "+name, map[string]field{
		"about": r.into(&x.About, "about"),
		"ranks": func(_, v ast.Node) { r.ranks(x, v) },
	})
	if x.Structure == "" && x.Ranks == nil {
		r.fail(at, "role %s: expected  ranks: STRUCTURE  or a list of ranks", name)
	}
}

// ranks are a structure's name, or a list like 0-3,7.
func (r *reader) ranks(x *RoleSet, n ast.Node) {
	text := r.text(n, "ranks")
	if _, ok := StructuralRoles[text]; ok {
		x.Structure = text
		return
	}
	ranges, err := parseRanges(text)
	if err != nil {
		var known []string
		for k := range StructuralRoles {
			known = append(known, k)
		}
		slices.Sort(known)
		r.fail(place(n), "role %s: %q is neither a list of ranks like 0-3,8-14:2,20- nor one of %s", x.Name, text, strings.Join(known, ", "))
	}
	x.Ranks = ranges
}

// parseRanges reads 0-3,8-14:2,20-.
func parseRanges(text string) (list []Range, err error) {
	number := func(text string) int {
		n, failed := strconv.ParseUint(text, 10, 31)
		if failed != nil && err == nil {
			err = fmt.Errorf("%q is no number", text)
		}
		return int(n)
	}
	for _, one := range strings.Split(text, ",") {
		x := Range{Step: 1}
		first, rest, several := strings.Cut(strings.TrimSpace(one), "-")
		last, step, strided := strings.Cut(rest, ":")
		x.First = number(first)
		if x.Last = x.First; several {
			if x.Last = -1; last != "" {
				x.Last = number(last)
			}
		}
		if strided {
			x.Step = number(step)
		}
		if err == nil && (x.Step < 1 || x.Last >= 0 && x.Last < x.First) {
			err = fmt.Errorf("%q is an empty range", one)
		}
		list = append(list, x)
	}
	if err != nil {
		return nil, fmt.Errorf("%w; expected ranges like 0-3,8-14:2,20-", err)
	}
	return list, nil
}

func (r *reader) component(name string, at Position, value ast.Node) {
	if !r.define(name, at, false) {
		return
	}
	x := &Part{Position: at, Name: name}
	r.m.Components = append(r.m.Components, x)
	r.fields(value, "component "+name, map[string]field{
		"about":  r.into(&x.About, "about"),
		"within": r.into(&x.Within, "within"),
		"match":  func(_, v ast.Node) { x.Match = r.match(v, "component "+name) },
	})
	r.later = append(r.later, func() {
		if x.Within != "" && r.m.Component(x.Within) == nil {
			r.fail(at, "component %s: %s", name, unknown("component", x.Within, names(r.m.Components)))
		}
		for _, c := range x.Match {
			for _, role := range []string{c.Role, c.Peer} {
				if role != "" && r.m.Role(role) == nil {
					r.fail(c.Position, "component %s: %s", name, unknown("role", role, names(r.m.Roles)))
				}
			}
		}
	})
}

func (r *reader) match(n ast.Node, what string) (list []*Condition) {
	r.items(n, func(item ast.Node) { list = append(list, r.condition(item, what)) })
	return list
}

func (r *reader) condition(n ast.Node, what string) *Condition {
	c := &Condition{Position: place(n)}
	before := len(r.problems)
	globs := func(to *[]Glob) field {
		return func(_, v ast.Node) {
			for _, text := range r.texts(v, what) {
				if text == "" {
					r.fail(place(v), "%s: expected a name, in which * stands for any text", what)
				}
				*to = append(*to, Glob(text))
			}
		}
	}
	r.fields(n, what, map[string]field{
		"in": globs(&c.In), "function": globs(&c.Function), "region": globs(&c.Region), "file": globs(&c.File), "mpi": globs(&c.MPI),
		"communicator": globs(&c.Communicator), "after": globs(&c.After), "before": globs(&c.Before),
		"op": func(_, v ast.Node) {
			for _, name := range r.texts(v, what) {
				ops := opsNamed(name)
				if ops == nil {
					r.fail(place(v), "%s: %s", what, unknown("operation", name, opNames()))
				}
				c.Ops = append(c.Ops, ops...)
			}
		},
		"computation": func(_, v ast.Node) {
			if c.Computation = r.text(v, what); !slices.Contains([]string{"straight", "loop", "any"}, c.Computation) {
				r.fail(place(v), "%s: computation: expected straight, loop (around tests) or any", what)
			}
		},
		"role": r.into(&c.Role, what), "peer": r.into(&c.Peer, what),
		"tag": func(_, v ast.Node) {
			for _, text := range r.texts(v, what) {
				ranges, err := parseRanges(text)
				if err != nil {
					r.fail(place(v), "%s: tag: %v", what, err)
				}
				c.Tags = append(c.Tags, ranges...)
			}
		},
	})
	switch {
	case len(r.problems) > before:
	case c.Computation == "" && len(c.After)+len(c.Before) > 0:
		r.fail(c.Position, "%s: after and before are about a computation: add  computation: straight", what)
	case c.Computation != "" && (len(c.MPI) > 0 || len(c.Ops) > 0 || c.NeedsEvents()):
		r.fail(c.Position, "%s: a computation is no MPI call; write two conditions", what)
	case !c.Leaf() && !c.Named():
		r.fail(c.Position, "%s: this condition fits everything", what)
	}
	return c
}

// operation groups, by what they do to the call.
var opGroups = map[string]func(record.Op) bool{
	"sends":          record.Op.Sends,
	"receives":       func(o record.Op) bool { return o == record.OpRecv || o == record.OpSendrecv },
	"collective":     record.Op.Collective,
	"point-to-point": record.Op.PointToPoint,
	"one-sided":      func(o record.Op) bool { return o >= record.OpPut && o <= record.OpFence },
	"file":           func(o record.Op) bool { return o >= record.OpFileRead && o <= record.OpFileOther },
}

func opsNamed(name string) []record.Op {
	if in, ok := opGroups[name]; ok {
		var list []record.Op
		for o := range record.OpCount {
			if in(o) {
				list = append(list, o)
			}
		}
		return list
	}
	if o := record.ParseOp(name); o != record.OpNone {
		return []record.Op{o}
	}
	return nil
}

func opNames() []string {
	var list []string
	for name := range opGroups {
		list = append(list, name)
	}
	for o := record.OpNone + 1; o < record.OpCount; o++ {
		list = append(list, o.String())
	}
	return list
}

func (r *reader) group(name string, at Position, value ast.Node) {
	if !r.define(name, at, false) {
		return
	}
	x := &Group{Position: at, Name: name, Members: r.texts(value, "group "+name)}
	r.m.Groups = append(r.m.Groups, x)
	r.later = append(r.later, func() { r.components(x.Members, place(value), "group "+name) })
}

// components complains about names that are no components.
func (r *reader) components(list []string, at Position, what string) {
	for _, c := range list {
		if r.m.Component(c) == nil {
			r.fail(at, "%s: %s", what, unknown("component", c, names(r.m.Components)))
		}
	}
}

func (r *reader) place(name string, at Position, value ast.Node) {
	if !r.define(name, at, false) {
		return
	}
	x := &Place{Position: at, Name: name}
	r.m.Places = append(r.m.Places, x)
	what := "place " + name
	var largest ast.Node
	r.fields(value, what, map[string]field{
		"of":       r.into(&x.Of, what),
		"largest":  func(_, v ast.Node) { largest = v },
		"together": func(_, v ast.Node) { largest, x.Together = v, true },
		"each":     func(_, v ast.Node) { largest, x.Each = v, true },
		"but":      r.into(&x.But, what),
	})
	earlier := names(r.m.Places[:len(r.m.Places)-1])
	r.later = append(r.later, func() {
		if x.But != "" && (!x.Each || !slices.Contains(earlier, x.But)) {
			r.fail(at, "%s: but: expected a place above it, beside  each:", what)
		}
		if x.Of != "all" && r.m.Component(x.Of) == nil {
			r.fail(at, "%s: of: %s", what, unknown("component", x.Of, append(names(r.m.Components), "all")))
		}
		if largest == nil {
			r.fail(at, "%s: expected  largest: EXPRESSION over here, or  together:  or  each:", what)
			return
		}
		s := &scope{m: r.m, outside: r.outside, here: true}
		if x.Largest = r.expression(s, r.text(largest, what), largest, what); x.Largest != nil && x.Largest.Type.Kind != Number {
			r.fail(place(largest), "%s: expected a number, not %s", what, x.Largest.Type)
		} else if x.Largest != nil && (x.Together || x.Each) && x.Largest.Type.Dimension != seconds {
			r.fail(place(largest), "%s: expected seconds, not %s", what, x.Largest.Type)
		}
	})
}

func (r *reader) event(name string, at Position, value ast.Node) {
	if !r.define(name, at, false) {
		return
	}
	x := &AbstractEvent{Position: at, Name: name}
	r.m.Events = append(r.m.Events, x)
	what := "event " + name
	is := value
	if _, scalar := value.(ast.ScalarNode); !scalar {
		is = nil
		r.fields(value, what, map[string]field{
			"about": r.into(&x.About, what),
			"on":    r.into(&x.On, what),
			"is":    func(_, v ast.Node) { is = v },
		})
	}
	if is == nil {
		r.fail(at, "%s: expected  is: EXPRESSION over components", what)
		return
	}
	x.Text = r.text(is, what)
	r.later = append(r.later, func() {
		if x.On != "" && r.m.Role(x.On) == nil {
			r.fail(at, "%s: on: %s", what, unknown("role", x.On, names(r.m.Roles)))
		}
		e, err := pattern.Parse(x.Text)
		if err != nil {
			r.inside(is, err, what)
			return
		}
		x.Is = e
		for _, leaf := range e.Leaves() {
			if r.m.Component(leaf.Name) == nil {
				r.inside(is, &mistake{leaf.At, unknown("component", leaf.Name, names(r.m.Components))}, what)
			}
		}
		if e.Nullable() {
			r.fail(place(is), "%s: no event at all would fit", what)
		} else if _, err := pattern.Compile(e, names(r.m.Components)); err != nil {
			r.fail(place(is), "%s: %v", what, err)
		}
	})
}

func (r *reader) delay(name string, at Position, value ast.Node) {
	if !r.define(name, at, false) {
		return
	}
	x := &Delay{Position: at, Name: name}
	r.m.Delays = append(r.m.Delays, x)
	what := "delay " + name
	r.fields(value, what, map[string]field{
		"about":     r.into(&x.About, what),
		"caused_by": r.intoList(&x.CausedBy, what),
		"shows_in":  r.intoList(&x.ShowsIn, what),
	})
	if len(x.CausedBy) == 0 || len(x.ShowsIn) == 0 {
		r.fail(at, "%s: expected caused_by and shows_in, components each", what)
	}
	r.later = append(r.later, func() { r.components(append(slices.Clone(x.CausedBy), x.ShowsIn...), at, what) })
}

func (r *reader) threshold(name string, at Position, value ast.Node) {
	if !r.define(name, at, false) {
		return
	}
	x := &Threshold{Position: at, Name: name}
	r.m.Thresholds = append(r.m.Thresholds, x)
	what := "threshold " + name
	is := value
	if _, scalar := value.(ast.ScalarNode); !scalar {
		is = nil
		r.fields(value, what, map[string]field{
			"about": r.into(&x.About, what),
			"value": func(_, v ast.Node) { is = v },
		})
	}
	if is == nil {
		r.fail(at, "%s: expected  value: QUANTITY", what)
		return
	}
	var err error
	if x.Value, x.Unit, err = ParseQuantity(r.text(is, what)); err != nil {
		r.fail(place(is), "%s: %v", what, err)
	}
}

func (r *reader) metric(name string, at Position, value ast.Node) {
	name, parameter, _ := strings.Cut(strings.TrimSuffix(name, ")"), "(")
	if !r.define(name, at, false) {
		return
	}
	x := &Metric{Position: at, Name: name, Parameter: parameter}
	r.m.Metrics = append(r.m.Metrics, x)
	what := "metric " + name
	var is, says, unit ast.Node
	r.fields(value, what, map[string]field{
		"about": r.into(&x.About, what),
		"value": func(_, v ast.Node) { is = v },
		"unit":  func(_, v ast.Node) { unit = v },
		"says":  func(_, v ast.Node) { says = v },
	})
	if is == nil || unit == nil {
		r.fail(at, "%s: expected value and unit", what)
		return
	}
	switch name := r.text(unit, what); name {
	case "ranks":
		x.Type = Type{Kind: Ranks}
	case "text":
		x.Type = Type{Kind: Text}
	default:
		each, per := strings.CutPrefix(name, "each ")
		u, ok := unitOf(each)
		if !ok {
			r.fail(place(unit), "%s: %q is no unit; expected one of %s, each of them after \"each \", ranks, text", what, name, unitNames())
		}
		x.Unit, x.Type = u, Type{Number, u.Dimension}
		if per {
			x.Type.Kind = Vector
		}
	}
	r.later = append(r.later, func() {
		s := &scope{m: r.m, outside: r.outside, variable: parameter}
		x.Value = r.expression(s, r.text(is, what), is, what)
		if x.Value != nil && x.Value.Type != x.Type {
			r.fail(place(is), "%s: is said to be %s, but this is %s", what, x.Type, x.Value.Type)
		}
		if says != nil {
			s.value = &x.Type
			x.Says = r.template(s, r.text(says, what), says, what)
		}
	})
}

func (r *reader) look(name string, _ Position, value ast.Node) {
	x := &Look{Name: name}
	r.m.Looks = append(r.m.Looks, x)
	what := "signs " + name
	r.items(value, func(item ast.Node) {
		sign := &Sign{Position: place(item)}
		x.Signs = append(x.Signs, sign)
		var is, says ast.Node
		r.fields(item, what, map[string]field{
			"is":    func(_, v ast.Node) { is = v },
			"says":  func(_, v ast.Node) { says = v },
			"doubt": func(_, v ast.Node) { sign.Doubt = r.yes(v, what+": doubt") },
		})
		if is == nil || says == nil {
			r.fail(sign.Position, "%s: expected is and says", what)
			return
		}
		r.later = append(r.later, func() {
			s := &scope{m: r.m, outside: r.outside}
			sign.Is = r.expression(s, r.text(is, what), is, what)
			if sign.Is != nil && sign.Is.Type != (Type{Kind: Number}) {
				r.fail(place(is), "%s: expected a share, not %s", what, sign.Is.Type)
			}
			sign.Says = r.template(s, r.text(says, what), says, what)
		})
	})
}

func (r *reader) level(n ast.Node) {
	x := &Level{Position: place(n)}
	r.m.Levels = append(r.m.Levels, x)
	what := fmt.Sprintf("level %d", len(r.m.Levels))
	r.fields(n, what, map[string]field{
		"title": r.into(&x.Title, what),
		"needs": r.intoList(&x.Needs, what),
	})
	if x.Title == "" {
		r.fail(x.Position, "%s: expected a title", what)
	}
	for _, need := range x.Needs {
		if _, ok := MeasurementOf(need); !ok {
			var known []string
			for _, m := range Measurements {
				known = append(known, m.Name)
			}
			r.fail(x.Position, "%s: %s", what, unknown("measurement", need, known))
		}
	}
}

// stated are a conclusion's texts and expressions, which are read when all names are known; nil: none is given.
type stated struct{ title, cost, ranks, bound, surely, gain, within ast.Node }

func (r *reader) conclusion(factor bool) func(string, Position, ast.Node) {
	return func(text string, at Position, value ast.Node) {
		name, _ := ParseFact(text)
		if !r.define(name.Name, at, true) {
			return
		}
		x := &Conclusion{Position: at, Name: name.Name, Parameter: name.Argument, Factor: factor, Confidence: "high"}
		r.m.Facts = append(r.m.Facts, x)
		what := "observation " + name.Name
		if factor {
			what = "factor " + name.Name
		}
		s, of := &stated{}, &scope{m: r.m, outside: r.outside, variable: name.Argument}
		keys := map[string]field{
			"means": r.into(&x.Means, what),
			"of":    r.intoList(&x.Of, what),
			"title": func(_, v ast.Node) { s.title = v },
			"cost":  func(_, v ast.Node) { s.cost = v },
			"where": r.into(&x.Where, what),
			"ranks": func(_, v ast.Node) { s.ranks = v },
			"tell":  func(_, v ast.Node) { r.items(v, func(item ast.Node) { r.telling(x, item, what) }) },
		}
		if factor {
			r.factorKeys(keys, x, s, of, what)
		}
		if _, scalar := value.(ast.ScalarNode); scalar && !factor {
			s.title = value
		} else {
			r.fields(value, what, keys)
		}
		if s.title == nil {
			r.fail(at, "%s: expected a title", what)
		}
		if factor && s.cost == nil {
			r.fail(at, "%s: expected its cost: an expression in s", what)
		}
		if factor && len(x.Advice) == 0 {
			r.fail(at, "%s: expected advice", what)
		}
		if x.Label == "" {
			x.Label = strings.ReplaceAll(x.Name, "-", " ")
		}
		r.later = append(r.later, func() { r.conclude(x, s, of, what) })
	}
}

// factorKeys adds what is said of factors only.
func (r *reader) factorKeys(keys map[string]field, x *Conclusion, s *stated, of *scope, what string) {
	keys["factor"] = r.into(&x.Label, what)
	keys["model"] = r.into(&x.Model, what)
	keys["remedy"] = func(k, v ast.Node) {
		if list, ok := v.(*ast.SequenceNode); ok && len(list.Values) == 0 {
			r.fail(place(k), "%s: remedy: expected a change: %s", what, strings.Join(Remedies, ", "))
		}
		r.items(v, func(one ast.Node) { r.remedy(x, k, one, what) })
	}
	keys["bound"] = func(_, v ast.Node) { s.bound = v }
	keys["surely"] = func(_, v ast.Node) { s.surely = v }
	keys["gain"] = func(k, v ast.Node) {
		if _, scalar := v.(ast.ScalarNode); scalar {
			s.gain = v
			return
		}
		r.fields(v, what+": gain", map[string]field{
			"is":      func(_, v ast.Node) { s.gain = v },
			"within":  func(_, v ast.Node) { s.within = v },
			"at_most": func(_, v ast.Node) { s.gain, x.GainAtMost = v, true },
		})
		if s.gain == nil || x.GainAtMost && s.within != nil {
			r.fail(place(k), "%s: gain: expected an expression in s, or one of  is  with  within, and  at_most", what)
		}
	}
	keys["advice"] = func(_, v ast.Node) { r.items(v, func(item ast.Node) { r.advice(x, of, item, what) }) }
	keys["confidence"] = func(_, v ast.Node) {
		if x.Confidence = r.text(v, what); !slices.Contains([]string{"high", "medium", "low"}, x.Confidence) {
			r.fail(place(v), "%s: confidence: expected high, medium or low", what)
		}
	}
	keys["doubts"] = func(_, v ast.Node) {
		r.items(v, func(item ast.Node) {
			if f := r.factNamed(item, what); f != nil {
				x.Doubts = append(x.Doubts, *f)
			}
		})
	}
}

// conclude reads what a conclusion states, when all names are known.
func (r *reader) conclude(x *Conclusion, s *stated, of *scope, what string) {
	if s.title != nil {
		x.Title = r.template(of, r.text(s.title, what), s.title, what)
	}
	inSeconds := func(name string, n ast.Node) *Expression {
		if n == nil {
			return nil
		}
		e := r.expression(of, r.text(n, what), n, what)
		if e != nil && e.Type != (Type{Number, seconds}) {
			r.fail(place(n), "%s: %s: expected a number in s, not %s", what, name, e.Type)
		}
		return e
	}
	x.Cost, x.Bound, x.Surely = inSeconds("cost", s.cost), inSeconds("bound", s.bound), inSeconds("surely", s.surely)
	x.Gain, x.GainError = inSeconds("gain", s.gain), inSeconds("gain: within", s.within)
	if s.ranks != nil {
		x.Ranks = r.expression(of, r.text(s.ranks, what), s.ranks, what)
		if x.Ranks != nil && x.Ranks.Type.Kind != Ranks {
			r.fail(place(s.ranks), "%s: ranks: expected a set of ranks, not %s", what, x.Ranks.Type)
		}
	}
	r.components(x.Of, x.Position, what)
	if x.Where != "" && x.Where != x.Parameter && r.m.Place(x.Where) == nil && r.m.Component(x.Where) == nil {
		r.fail(x.Position, "%s: where: %s", what, unknown("place", x.Where, append(names(r.m.Places), names(r.m.Components)...)))
	}
}

// factNamed reads the name of a fact, which is looked up later.
func (r *reader) factNamed(n ast.Node, what string) *FactName {
	f, err := ParseFact(r.text(n, what))
	if err != nil {
		r.fail(place(n), "%s: %v", what, err)
		return nil
	}
	f.Position = place(n)
	r.later = append(r.later, func() { r.knows(f, what) })
	return &f
}

func (r *reader) knows(f FactName, what string) bool {
	m := r.m
	if f.Scope != "" {
		if m = r.outside[f.Scope]; m == nil {
			var known []string
			for alias := range r.outside {
				known = append(known, alias)
			}
			r.fail(f.Position, "%s: %s", what, unknown("model", f.Scope, known))
			return false
		}
	}
	x := m.Fact(f.Name)
	switch {
	case x == nil:
		r.fail(f.Position, "%s: %s", what, unknown("fact", f.Name, names(m.Facts)))
	case x.Parameter != "" && f.Argument == "":
		r.fail(f.Position, "%s: %s is of a component: write %s(COMPONENT)", what, f.Name, f.Name)
	case x.Parameter == "" && f.Argument != "":
		r.fail(f.Position, "%s: %s is of no component", what, f.Name)
	default:
		return true
	}
	return false
}

// remedy reads what would be different: one change, and where.
func (r *reader) remedy(x *Conclusion, key, n ast.Node, what string) {
	what += ": remedy"
	remedy := &Remedy{Position: place(n)}
	table := map[string]field{}
	for _, change := range Remedies {
		table[change] = func(k, v ast.Node) {
			if remedy.Change != "" {
				r.fail(place(k), "%s: expected one change, not %s and %s", what, remedy.Change, change)
			}
			remedy.Change = change
			r.items(v, func(item ast.Node) {
				name := r.text(item, what)
				remedy.Of = append(remedy.Of, name)
				r.later = append(r.later, func() {
					switch {
					case change == "prompt" && !slices.Contains(Patterns, name):
						r.fail(place(item), "%s: %s", what, unknown("pattern of waiting", name, slices.Clone(Patterns)))
					case change != "prompt" && name != "all" && r.m.Place(name) == nil && r.m.Component(name) == nil:
						r.fail(place(item), "%s: %s", what, unknown("place", name, append(names(r.m.Places), names(r.m.Components)...)))
					}
				})
			})
			if len(remedy.Of) == 0 {
				r.fail(place(v), "%s: expected where, or of what pattern, not an empty list", what)
			}
		}
	}
	if len(r.pairs(n, what)) == 0 {
		r.fail(place(key), "%s: expected a change: %s", what, strings.Join(Remedies, ", "))
	} else {
		r.fields(n, what, table)
	}
	if remedy.Change != "" {
		x.Remedies = append(x.Remedies, remedy)
	}
}

func (r *reader) telling(x *Conclusion, n ast.Node, what string) {
	t := &Telling{Position: place(n)}
	x.Tell = append(x.Tell, t)
	if _, scalar := n.(ast.ScalarNode); scalar {
		t.Metric = r.text(n, what)
	} else {
		r.fields(n, what+": tell", map[string]field{
			"metric": r.into(&t.Metric, what),
			"if":     func(_, v ast.Node) { t.If = r.factNamed(v, what) },
		})
	}
	r.later = append(r.later, func() {
		if m := r.m.Metric(t.Metric); m == nil {
			r.fail(t.Position, "%s: tell: %s", what, unknown("metric", t.Metric, names(r.m.Metrics)))
		} else if m.Parameter != "" && x.Parameter == "" {
			r.fail(t.Position, "%s: tell: %s is of a component, but %s is not", what, t.Metric, x.Name)
		}
	})
}

func (r *reader) advice(x *Conclusion, s *scope, n ast.Node, what string) {
	a := &Advice{Position: place(n)}
	x.Advice = append(x.Advice, a)
	text := n
	if _, scalar := n.(ast.ScalarNode); !scalar {
		text = nil
		r.fields(n, what+": advice", map[string]field{
			"if":   func(_, v ast.Node) { a.If = r.factNamed(v, what) },
			"text": func(_, v ast.Node) { text = v },
		})
	}
	if text == nil {
		r.fail(a.Position, "%s: advice: expected a text", what)
		return
	}
	r.later = append(r.later, func() { a.Text = r.template(s, r.text(text, what), text, what+": advice") })
}

func (r *reader) rule(n ast.Node) {
	x := &Rule{Position: place(n), Level: 1}
	r.m.Rules = append(r.m.Rules, x)
	var tests []ast.Node
	r.fields(n, "rule", map[string]field{
		"if": func(_, v ast.Node) { r.items(v, func(item ast.Node) { tests = append(tests, item) }) },
		"then": func(_, v ast.Node) {
			if f, err := ParseFact(r.text(v, "then")); err != nil {
				r.fail(place(v), "rule: then: %v", err)
			} else if f.Scope != "" {
				r.fail(place(v), "rule: then: a fact of another model is concluded there")
			} else {
				f.Position = place(v)
				x.Then = f
			}
		},
		"level": func(_, v ast.Node) {
			var err error
			if x.Level, err = strconv.Atoi(r.text(v, "level")); err != nil || x.Level < 1 {
				r.fail(place(v), "rule: level: expected a number from 1")
				x.Level = 1
			}
		},
		"each": func(_, v ast.Node) {
			var ok bool
			if x.Variable, x.Each, ok = strings.Cut(r.text(v, "each"), " of "); !ok || !plainName.fits(x.Variable) {
				r.fail(place(v), "rule: each: expected NAME of GROUP")
			}
		},
	})
	if x.Then.Name == "" || len(tests) == 0 {
		r.fail(x.Position, "rule: expected if and then")
		return
	}
	what := "rule for " + x.Then.String()
	r.later = append(r.later, func() {
		r.knows(x.Then, what)
		s := &scope{m: r.m, outside: r.outside, variable: x.Variable}
		if x.Variable != "" && r.m.Range(x.Each) == nil {
			r.fail(x.Position, "%s: each: %s", what, unknown("group", x.Each, append(names(r.m.Groups), names(r.m.Components)...)))
		}
		for _, argument := range []string{x.Then.Argument} {
			if argument != "" && argument != x.Variable && r.m.Component(argument) == nil {
				r.fail(x.Then.Position, "%s: %s", what, unknown("component", argument, names(r.m.Components)))
			}
		}
		for _, t := range tests {
			if test := r.test(x, s, t, what); test != nil {
				x.If = append(x.If, test)
			}
		}
	})
}

// compared takes a comparison apart.
func compared(text string) (left, op, right string, ok bool) {
	at := strings.IndexAny(text, "<>")
	if at < 0 {
		return "", "", "", false
	}
	op = text[at : at+1]
	if strings.HasPrefix(text[at+1:], "=") {
		op += "="
	}
	return text[:at], op, text[at+len(op):], true
}

func (r *reader) test(x *Rule, s *scope, n ast.Node, what string) *Test {
	text := strings.TrimSpace(r.text(n, what))
	t := &Test{Position: place(n), Text: text}
	if metric, ok := strings.CutSuffix(text, " is largest"); ok {
		t.Largest = r.expression(s, metric, n, what)
		if t.Largest == nil {
			return nil
		}
		if x.Variable == "" || len(t.Largest.Uses.Metrics) != 1 || t.Largest.Uses.Metrics[0].Argument != x.Variable {
			r.fail(t.Position, "%s: expected METRIC(%s) is largest, in a rule with each", what, "VARIABLE")
			return nil
		}
		return t
	}
	if left, op, right, ok := compared(text); ok {
		t.Op = op
		t.Left = r.expression(s, left, n, what)
		if right, err := s.compile(right, t.Position); err != nil {
			var wrong *mistake
			errors.As(err, &wrong)
			r.inside(n, &mistake{len([]rune(left)) + len(op) + wrong.at, wrong.message}, what)
		} else {
			t.Right = right
		}
		if t.Left == nil || t.Right == nil {
			return nil
		}
		if t.Left.Type.Kind != Number || t.Left.Type != t.Right.Type {
			r.fail(t.Position, "%s: compares %s with %s", what, t.Left.Type, t.Right.Type)
		}
		return t
	}
	name := text
	if rest, ok := strings.CutPrefix(text, "not "); ok {
		t.Not, name = true, strings.TrimSpace(rest)
	}
	f, err := ParseFact(name)
	if err != nil {
		r.fail(t.Position, "%s: %q is neither a fact nor a comparison", what, text)
		return nil
	}
	f.Position = t.Position
	if !r.knows(f, what) {
		return nil
	}
	if f.Argument != "" && f.Argument != x.Variable && r.m.Component(f.Argument) == nil {
		r.fail(t.Position, "%s: %s", what, unknown("component", f.Argument, names(r.m.Components)))
	}
	t.Fact = &f
	return t
}

// presets are thresholds that every model has: what a factor must cost to be told.
var presets = []Threshold{
	{Name: "least", Value: 0.05, Unit: units[0].Unit, About: "of the core time: a smaller gain is lost in the difference between two runs"},
	{Name: "moment", Value: 0.001, Unit: units[2].Unit, About: "of each rank's core time: a page that is read, or a slice of time that a hypervisor gives to somebody else, is as long, and nobody is told of it"},
}

// finish looks at everything that refers to names, and then at the whole.
func (r *reader) finish() {
	for _, preset := range presets {
		if r.m.Threshold(preset.Name) == nil {
			t := preset
			r.m.Thresholds = append(r.m.Thresholds, &t)
		}
	}
	// Metrics have their types by now, expressions follow; what they make known is not needed by the others.
	for i := 0; i < len(r.later); i++ {
		r.later[i]()
	}
	r.later = nil
	if len(r.problems) == 0 {
		r.whole()
	}
}
