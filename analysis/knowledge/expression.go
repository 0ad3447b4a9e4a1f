package knowledge

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/compiler"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/vm"
)

// Expression is a typed expression over what was measured. Names in it are those of the model it stands in.
type Expression struct {
	Position
	Text string
	Type Type
	Uses Uses

	program func() (*vm.Program, error)
}

// Uses are the names that an expression refers to.
type Uses struct {
	Metrics    []MetricUse
	Components []string
	Places     []string
	Roles      []string
	Events     []string
	Delays     []string
	Thresholds []string
	Facts      []FactName
	Needs      []string // measurements
}

// MetricUse is a metric, with its argument if it has a parameter.
type MetricUse struct{ Name, Argument string }

// settings of the expression language. The library's own functions are switched off: what stays is arithmetic,
// comparison, conditions and our functions.
var settings = sync.OnceValue(func() *conf.Config {
	c := conf.CreateNew()
	for name := range c.Builtins {
		c.Disabled[name] = true
	}
	clear(c.Builtins)
	ours := map[string]any{} // known to the parser, so that none is taken for one of its own
	for name := range functions {
		ours[name] = func(...any) (any, error) { return nil, nil }
	}
	c.WithEnv(ours)
	c.Strict = false
	c.Optimize = false
	c.MaxNodes = 500
	return c
})

// Run evaluates the expression; env has a value for every name it uses.
func (e *Expression) Run(env map[string]any) (any, error) {
	program, err := e.program()
	if err != nil {
		return nil, err
	}
	out, err := vm.Run(program, env)
	var wrapped *file.Error
	if errors.As(err, &wrapped) && wrapped.Prev != nil {
		return nil, wrapped.Prev
	}
	return out, err
}

// scope gives names their meaning while an expression is checked.
type scope struct {
	m        *Model
	variable string            // stands for a component
	value    *Type             // of the name value, in what a metric says
	here     bool              // the place being looked for has a name
	outside  map[string]*Model // models of a composition, by alias
}

// mistake is an error at a character of an expression.
type mistake struct {
	at      int
	message string
}

func (m *mistake) Error() string { return m.message }

// compile checks an expression and makes it ready to run. The error is a *mistake.
func (s *scope) compile(text string, at Position) (*Expression, error) {
	e := &Expression{Position: at, Text: text}
	tree, err := parser.ParseWithConfig(text, settings())
	if err != nil {
		var wrong *file.Error
		if errors.As(err, &wrong) {
			return nil, &mistake{wrong.From, strings.ToLower(wrong.Message[:1]) + wrong.Message[1:]}
		}
		return nil, &mistake{0, err.Error()}
	}
	c := &checker{scope: s, uses: &e.Uses}
	e.Type = c.check(tree.Node)
	if c.err != nil {
		return nil, c.err
	}
	program, err := compiler.Compile(tree, settings())
	if err != nil {
		return nil, &mistake{0, err.Error()}
	}
	e.program = func() (*vm.Program, error) { return program, nil }
	return e, nil
}

// thawed has an expression that was checked before be compiled when it is first run: most never are.
func (e *Expression) thawed() {
	e.program = sync.OnceValues(func() (*vm.Program, error) {
		tree, err := parser.ParseWithConfig(e.Text, settings())
		if err != nil {
			return nil, err
		}
		return compiler.Compile(tree, settings())
	})
}

type checker struct {
	*scope
	uses *Uses
	err  error
}

func (c *checker) fail(n ast.Node, format string, arguments ...any) Type {
	if c.err == nil {
		c.err = &mistake{n.Location().From, fmt.Sprintf(format, arguments...)}
	}
	return Type{}
}

func add[T comparable](list *[]T, x T) {
	if !slices.Contains(*list, x) {
		*list = append(*list, x)
	}
}

func (c *checker) check(n ast.Node) Type {
	if c.err != nil {
		return Type{}
	}
	switch n := n.(type) {
	case *ast.IntegerNode, *ast.FloatNode:
		return Type{Kind: Number}
	case *ast.StringNode:
		return Type{Kind: Text}
	case *ast.IdentifierNode:
		return c.name(n, n.Value)
	case *ast.MemberNode:
		return c.member(n)
	case *ast.UnaryNode:
		return c.unary(n)
	case *ast.BinaryNode:
		return c.binary(n)
	case *ast.ConditionalNode:
		c.want(n.Cond, Boolean)
		yes, no := c.check(n.Exp1), c.check(n.Exp2)
		if c.err == nil && yes != no {
			return c.fail(n.Exp2, "%s or %s: both must be of one kind", yes, no)
		}
		return yes
	case *ast.CallNode:
		if callee, ok := n.Callee.(*ast.IdentifierNode); ok {
			return c.call(callee, n.Arguments)
		}
	}
	return c.fail(n, "this is not part of the expression language")
}

func (c *checker) want(n ast.Node, kind Kind) Type {
	t := c.check(n)
	if c.err == nil && t.Kind != kind {
		return c.fail(n, "expected %s, not %s", kind, t.Kind)
	}
	return t
}

// name is an identifier that stands by itself.
func (c *checker) name(n ast.Node, name string) Type {
	switch {
	case name == c.variable && name != "", name == "here" && c.here:
		return Type{Kind: Component}
	case name == "value" && c.value != nil:
		return *c.value
	case name == "all":
		return Type{Kind: Component}
	case slices.Contains(Classes, name):
		return Type{Kind: Class}
	}
	t, ok := c.defined(c.m, "", name, n)
	if ok {
		return t
	}
	if c.m.Fact(name) != nil {
		return c.fail(n, "%s is a fact, which has no value; lost(%q) is what it costs", name, name)
	}
	var known []string
	known = append(known, names(c.m.Metrics)...)
	known = append(known, names(c.m.Components)...)
	known = append(known, names(c.m.Places)...)
	known = append(known, names(c.m.Roles)...)
	known = append(known, names(c.m.Events)...)
	known = append(known, names(c.m.Delays)...)
	known = append(known, names(c.m.Thresholds)...)
	for alias := range c.outside {
		known = append(known, alias)
	}
	return c.fail(n, "%s", unknown("name", name, known))
}

// defined looks a name up in a model; prefix is put before it in what is used.
func (c *checker) defined(m *Model, prefix, name string, n ast.Node) (Type, bool) {
	switch full := prefix + name; {
	case m.Metric(name) != nil:
		if m.Metric(name).Parameter != "" {
			return c.fail(n, "%s is of a component: write %s(COMPONENT)", full, full), true
		}
		add(&c.uses.Metrics, MetricUse{Name: full})
		return m.Metric(name).Type, true
	case m.Component(name) != nil:
		add(&c.uses.Components, full)
		return Type{Kind: Component}, true
	case m.Place(name) != nil:
		add(&c.uses.Places, full)
		return Type{Kind: Component}, true
	case m.Role(name) != nil:
		add(&c.uses.Roles, full)
		return Type{Kind: Role}, true
	case m.Event(name) != nil:
		add(&c.uses.Events, full)
		return Type{Kind: Event}, true
	case find(m.Delays, name) != nil:
		add(&c.uses.Delays, full)
		for _, part := range find(m.Delays, name).ShowsIn {
			add(&c.uses.Components, prefix+part)
		}
		return Type{Kind: Delayed}, true
	case m.Threshold(name) != nil:
		add(&c.uses.Thresholds, full)
		return Type{Number, m.Threshold(name).Unit.Dimension}, true
	}
	return Type{}, false
}

// member is run.TOTAL, or MODEL.NAME in a composition.
func (c *checker) member(n *ast.MemberNode) Type {
	owner, ok := n.Node.(*ast.IdentifierNode)
	name, okToo := n.Property.(*ast.StringNode)
	if !ok || !okToo || n.Optional {
		return c.fail(n, "expected NAME.NAME")
	}
	if owner.Value == "run" {
		d, ok := totals[name.Value]
		if !ok {
			var known []string
			for t := range totals {
				known = append(known, t)
			}
			return c.fail(n.Property, "%s", unknown("total", name.Value, known))
		}
		add(&c.uses.Needs, "profile")
		return Type{Number, d}
	}
	m := c.outside[owner.Value]
	if m == nil {
		var known []string
		for alias := range c.outside {
			known = append(known, alias)
		}
		return c.fail(owner, "%s", unknown("model", owner.Value, append(known, "run")))
	}
	t, ok := c.defined(m, owner.Value+".", name.Value, n.Property)
	if !ok {
		return c.fail(n.Property, "%s has no %q", owner.Value, name.Value)
	}
	return t
}

func (c *checker) unary(n *ast.UnaryNode) Type {
	switch n.Operator {
	case "-", "+":
		return c.want(n.Node, Number)
	case "not", "!":
		return c.want(n.Node, Boolean)
	}
	return c.fail(n, "no operator %q here", n.Operator)
}

func (c *checker) binary(n *ast.BinaryNode) Type {
	switch n.Operator {
	case "and", "or", "&&", "||":
		c.want(n.Left, Boolean)
		return c.want(n.Right, Boolean)
	case "+", "-":
		l, r := c.want(n.Left, Number), c.want(n.Right, Number)
		if c.err == nil && l != r {
			return c.fail(n, "adds %s and %s", l.Dimension, r.Dimension)
		}
		return l
	case "*", "/":
		l, r := c.want(n.Left, Number), c.want(n.Right, Number)
		if n.Operator == "*" {
			return Type{Number, l.times(r.Dimension)}
		}
		return Type{Number, l.over(r.Dimension)}
	case "<", "<=", ">", ">=", "==", "!=":
		l, r := c.want(n.Left, Number), c.want(n.Right, Number)
		if c.err == nil && l != r {
			return c.fail(n, "compares %s with %s", l.Dimension, r.Dimension)
		}
		return Type{Kind: Boolean}
	}
	return c.fail(n, "no operator %q here", n.Operator)
}

// call is a function, or a metric of a component.
func (c *checker) call(callee *ast.IdentifierNode, arguments []ast.Node) Type {
	name := callee.Value
	if m := c.m.Metric(name); m != nil && m.Parameter != "" {
		if len(arguments) != 1 {
			return c.fail(callee, "%s is of one component", name)
		}
		argument, ok := arguments[0].(*ast.IdentifierNode)
		if !ok {
			return c.fail(arguments[0], "expected the name of a component")
		}
		c.want(argument, Component)
		add(&c.uses.Metrics, MetricUse{name, argument.Value})
		return m.Type
	}
	f, ok := functions[name]
	if !ok {
		var known []string
		for k := range functions {
			known = append(known, k)
		}
		return c.fail(callee, "%s", unknown("function", name, known))
	}
	if len(arguments) < len(f.args)-f.optional || len(arguments) > len(f.args) && !f.filters && !f.more {
		return c.fail(callee, "%s takes %s, not %d", name, signature(f), len(arguments))
	}
	var types []Type
	for i, a := range arguments {
		t := c.check(a)
		if c.err != nil {
			return Type{}
		}
		filter := i >= len(f.args) && !f.more && f.args[0] == Component
		if filter && t.Kind != Role && t.Kind != Class && t.Kind != Event {
			return c.fail(a, "expected a role, a class of time or an abstract event, not %s", t.Kind)
		}
		if len(f.args) > 0 && !filter {
			switch want := f.args[min(i, len(f.args)-1)]; {
			case want == Fact:
				t = c.fact(a)
			case want == Pattern:
				t = c.pattern(a)
			case want != Any && want != t.Kind:
				return c.fail(a, "expected %s, not %s", want, t.Kind)
			}
		}
		types = append(types, t)
	}
	for _, need := range f.needs {
		add(&c.uses.Needs, need)
	}
	if slices.ContainsFunc(types, func(t Type) bool { return t.Kind == Event }) {
		add(&c.uses.Needs, "events")
	}
	t, err := f.result(types)
	if c.err == nil && err != nil {
		return c.fail(callee, "%s: %v", name, err)
	}
	return t
}

// fact is a fact's name in quotes.
func (c *checker) fact(n ast.Node) Type {
	text, ok := n.(*ast.StringNode)
	if !ok {
		return c.fail(n, "expected the name of a fact in quotes")
	}
	name, err := ParseFact(text.Value)
	if err != nil {
		return c.fail(n, "%v", err)
	}
	m := c.m
	if name.Scope != "" {
		if m = c.outside[name.Scope]; m == nil {
			return c.fail(n, "there is no model %s here", name.Scope)
		}
	}
	if m.Fact(name.Name) == nil {
		return c.fail(n, "%s", unknown("fact", name.Name, names(m.Facts)))
	}
	add(&c.uses.Facts, name)
	return Type{Kind: Fact}
}

// pattern is the name of a pattern of waiting in quotes.
func (c *checker) pattern(n ast.Node) Type {
	text, ok := n.(*ast.StringNode)
	if !ok {
		return c.fail(n, "expected the name of a pattern of waiting in quotes")
	}
	if !slices.Contains(Patterns, text.Value) {
		return c.fail(n, "%s", unknown("pattern of waiting", text.Value, slices.Clone(Patterns)))
	}
	return Type{Kind: Pattern}
}

func signature(f function) string {
	var parts []string
	for _, k := range f.args {
		parts = append(parts, k.String())
	}
	text := strings.Join(parts, ", ")
	if f.filters {
		text += " and any number of filters"
	}
	if f.more {
		text += " and more of them"
	}
	if text == "" {
		text = "nothing"
	}
	return text
}

// Template is a text with expressions in braces.
type Template struct {
	Position
	Text  string
	Parts []Segment
}

// Segment of a template is a text, or an expression whose value is written in a unit.
type Segment struct {
	Text string
	Expr *Expression
	Unit Unit
}

// template reads a text for people.
func (s *scope) template(text string, at Position) (*Template, error) {
	t := &Template{Position: at, Text: text}
	rest, offset := text, 0
	for {
		before, after, found := strings.Cut(rest, "{")
		if before != "" {
			t.Parts = append(t.Parts, Segment{Text: before})
		}
		if !found {
			return t, nil
		}
		inside, behind, closed := strings.Cut(after, "}")
		open := offset + len([]rune(before))
		if !closed {
			return nil, &mistake{open, "this brace is not closed"}
		}
		e, err := s.compile(inside, at)
		if err != nil {
			var m *mistake
			errors.As(err, &m)
			return nil, &mistake{open + 1 + m.at, m.message}
		}
		switch e.Type.Kind {
		case Number, Ranks, Text, Component:
		default:
			return nil, &mistake{open + 1, fmt.Sprintf("%s cannot be written in a text", e.Type)}
		}
		t.Parts = append(t.Parts, Segment{Expr: e, Unit: s.unit(e)})
		offset = open + len([]rune(inside)) + 2
		rest = behind
	}
}

// unit is how a value in a text is written: as its metric says, else as its dimension does. Quotients without
// dimension are shares.
func (s *scope) unit(e *Expression) Unit {
	if m := s.m.Metric(strings.TrimSpace(e.Text)); m != nil {
		return m.Unit
	}
	if t := s.m.Threshold(strings.TrimSpace(e.Text)); t != nil {
		return t.Unit
	}
	if strings.TrimSpace(e.Text) == "value" && s.value != nil {
		return Unit{}
	}
	return UnitFor(e)
}

// Expressions are those within the text.
func (t *Template) Expressions() []*Expression {
	var list []*Expression
	for _, p := range t.Parts {
		if p.Expr != nil {
			list = append(list, p.Expr)
		}
	}
	return list
}

// Print fills in the values; write turns one that is no number into words.
func (t *Template) Print(value func(*Expression) (any, error), write func(any) string, own Unit) string {
	var out strings.Builder
	for _, p := range t.Parts {
		if p.Expr == nil {
			out.WriteString(p.Text)
			continue
		}
		v, err := value(p.Expr)
		unit := p.Unit
		if unit.Name == "" {
			unit = own
		}
		switch x := v.(type) {
		case float64:
			out.WriteString(unit.Print(x))
		case int:
			out.WriteString(unit.Print(float64(x)))
		default:
			if err != nil {
				out.WriteString("unknown")
			} else {
				out.WriteString(write(v))
			}
		}
	}
	return out.String()
}

// Float turns what an expression gives into a number; NaN if it is none.
func Float(v any) float64 {
	switch x := v.(type) {
	case float64:
		return x
	case int:
		return float64(x)
	case bool:
		if x {
			return 1
		}
		return 0
	}
	return math.NaN()
}
