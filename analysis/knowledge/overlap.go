package knowledge

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"
)

// Conditions of managers' rules are looked at as sets of boxes: what each metric must be in, where one of them holds.

// interval of a metric's values.
type interval struct {
	low, high         float64
	openLow, openHigh bool // the end is not in it
}

var everything = interval{low: math.Inf(-1), high: math.Inf(1)}

func (i interval) and(j interval) interval {
	if j.low > i.low || j.low == i.low && j.openLow {
		i.low, i.openLow = j.low, j.openLow
	}
	if j.high < i.high || j.high == i.high && j.openHigh {
		i.high, i.openHigh = j.high, j.openHigh
	}
	return i
}

func (i interval) empty() bool {
	return !(i.low < i.high || i.low == i.high && !i.openLow && !i.openHigh)
}

// box is where all of its intervals hold.
type box struct {
	in      map[string]interval
	serving string          // who must serve; empty: anybody
	not     map[string]bool // who must not
	unsure  bool            // there are conditions beside, of which nothing is known here
}

func (b box) and(c box) (box, bool) {
	out := box{in: maps.Clone(b.in), serving: b.serving, not: maps.Clone(b.not), unsure: b.unsure || c.unsure}
	if out.in == nil {
		out.in = map[string]interval{}
	}
	if out.not == nil {
		out.not = map[string]bool{}
	}
	for name, i := range c.in {
		if j, ok := out.in[name]; ok {
			i = i.and(j)
		}
		if out.in[name] = i; i.empty() {
			return box{}, false
		}
	}
	maps.Copy(out.not, c.not)
	if c.serving != "" {
		if out.serving != "" && out.serving != c.serving {
			return box{}, false
		}
		out.serving = c.serving
	}
	return out, out.serving == "" || !out.not[out.serving]
}

// where says in words what is in a box.
func (b box) where(unit func(name string) Unit) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(b.in)) {
		i, u := b.in[name], unit(name)
		low, high := u.Print(i.low), u.Print(i.high)
		switch {
		case i.low == i.high:
			parts = append(parts, name+" is "+low)
		case math.IsInf(i.low, -1) && math.IsInf(i.high, 1):
		case math.IsInf(i.high, 1) && i.openLow:
			parts = append(parts, name+" is above "+low)
		case math.IsInf(i.high, 1):
			parts = append(parts, name+" is at least "+low)
		case math.IsInf(i.low, -1) && i.openHigh:
			parts = append(parts, name+" is below "+high)
		case math.IsInf(i.low, -1):
			parts = append(parts, name+" is at most "+high)
		default:
			parts = append(parts, name+" is between "+low+" and "+high)
		}
	}
	if b.serving != "" {
		parts = append(parts, b.serving+" serves")
	}
	if len(parts) == 0 {
		return "whatever the metrics are"
	}
	return "where " + strings.Join(parts, " and ")
}

// both are the boxes in which one of each holds.
func both(a, b []box) (list []box) {
	if len(a)*len(b) > maxConditions*maxConditions {
		return []box{{unsure: true}}
	}
	for _, x := range a {
		for _, y := range b {
			if z, ok := x.and(y); ok {
				list = append(list, z)
			}
		}
	}
	return limited(list)
}

func limited(list []box) []box {
	if len(list) > maxConditions {
		return []box{{unsure: true}} // nobody writes such by hand
	}
	return list
}

// boxes in which the condition holds, or does not.
func (c *RuleCondition) boxes(holds bool) []box {
	if c.tree == nil {
		if holds {
			return []box{{}}
		}
		return nil
	}
	return c.boxesOf(c.tree, holds)
}

func (c *RuleCondition) boxesOf(n ast.Node, holds bool) []box {
	unsure := []box{{unsure: true}}
	switch n := n.(type) {
	case *ast.UnaryNode:
		return c.boxesOf(n.Node, !holds)
	case *ast.MemberNode:
		_, name, _ := strings.Cut(full(n), ".")
		if holds {
			return []box{{serving: name}}
		}
		return []box{{not: map[string]bool{name: true}}}
	case *ast.BinaryNode:
		switch n.Operator {
		case "and", "&&", "or", "||":
			left, right := c.boxesOf(n.Left, holds), c.boxesOf(n.Right, holds)
			if (n.Operator == "and" || n.Operator == "&&") == holds {
				return both(left, right)
			}
			return limited(append(slices.Clone(left), right...))
		}
		left, okLeft := c.affine(n.Left)
		right, okRight := c.affine(n.Right)
		difference, ok := left.plus(right, -1)
		if !okLeft || !okRight || !ok {
			return unsure
		}
		return difference.compared(n.Operator, holds)
	}
	return unsure
}

// affine is factor * metric + constant; of no metric the factor is 0.
type affine struct {
	metric           string
	factor, constant float64
}

func (a affine) plus(b affine, times float64) (affine, bool) {
	if a.factor == 0 {
		a.metric = b.metric
	}
	ok := b.factor == 0 || a.metric == b.metric
	a.factor += times * b.factor
	a.constant += times * b.constant
	return a, ok
}

func (a affine) times(x float64) affine {
	return affine{a.metric, a.factor * x, a.constant * x}
}

func (c *RuleCondition) affine(n ast.Node) (affine, bool) {
	switch n := n.(type) {
	case *ast.IntegerNode:
		return affine{constant: float64(n.Value)}, true
	case *ast.FloatNode:
		return affine{constant: n.Value}, true
	case *ast.IdentifierNode:
		if c.isMetric(n.Value) {
			return affine{metric: n.Value, factor: 1}, true
		}
		return affine{constant: c.thresholds(n.Value)}, true
	case *ast.MemberNode:
		return affine{metric: full(n), factor: 1}, true
	case *ast.UnaryNode:
		x, ok := c.affine(n.Node)
		if n.Operator == "-" {
			x = x.times(-1)
		}
		return x, ok
	case *ast.BinaryNode:
		left, okLeft := c.affine(n.Left)
		right, okRight := c.affine(n.Right)
		if !okLeft || !okRight {
			return affine{}, false
		}
		switch {
		case n.Operator == "+":
			return left.plus(right, 1)
		case n.Operator == "-":
			return left.plus(right, -1)
		case n.Operator == "*" && right.factor == 0:
			return left.times(right.constant), true
		case n.Operator == "*" && left.factor == 0:
			return right.times(left.constant), true
		case n.Operator == "/" && right.factor == 0 && right.constant != 0:
			return left.times(1 / right.constant), true
		}
	}
	return affine{}, false
}

// compared are the values for which it compares so with 0.
func (a affine) compared(operator string, holds bool) []box {
	if !holds {
		operator = map[string]string{"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}[operator]
	}
	if a.factor == 0 {
		x := a.constant
		if map[string]bool{"<": x < 0, "<=": x <= 0, ">": x > 0, ">=": x >= 0, "==": x == 0, "!=": x != 0}[operator] {
			return []box{{}}
		}
		return nil
	}
	at := -a.constant / a.factor
	if math.IsNaN(at) || math.IsInf(at, 0) {
		return []box{{unsure: true}}
	}
	if a.factor < 0 {
		operator = map[string]string{"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}[operator]
	}
	below, above := everything, everything
	below.high, above.low = at, at
	below.openHigh, above.openLow = operator == "<" || operator == "!=", operator == ">" || operator == "!="
	of := func(i interval) box { return box{in: map[string]interval{a.metric: i}} }
	switch operator {
	case "<", "<=":
		return []box{of(below)}
	case ">", ">=":
		return []box{of(above)}
	case "!=":
		return []box{of(below), of(above)}
	}
	return []box{of(below.and(above))}
}

// conflicts finds rules that can be on at once and want different things, of which none comes first.
func (r *managerReader) conflicts() {
	unit := func(name string) Unit { return r.kinds[name].Unit }
	domain := box{in: map[string]interval{}}
	for name, metric := range r.kinds {
		switch metric.Kind {
		case OfTime, OfCalls, OfFailures, OfImbalance:
			domain.in[name] = interval{low: 0, high: math.Inf(1)}
		}
	}
	when, on := map[*ManagerRule][]box{}, map[*ManagerRule][]box{}
	for _, x := range r.manager.Rules {
		begins := possible(x.When.boxes(true), domain)
		if when[x], on[x] = begins, begins; len(begins) == 0 {
			r.fail(x.When.Position, "rule %s: when: this never holds", x.Name)
		}
		if x.Until != nil {
			if at, sure := overlap(begins, possible(x.Until.boxes(true), domain)); sure {
				r.fail(x.Until.Position, "rule %s: until: this holds as well as when does, %s: it would go on and off", x.Name, at.where(unit))
			}
			on[x] = append(slices.Clone(begins), possible(x.Until.boxes(false), domain)...)
		}
	}
	for i, b := range r.manager.Rules {
		for _, a := range r.manager.Rules[:i] {
			what := disagreement(b, a)
			if what == "" || a.Priority != b.Priority {
				continue
			}
			// One of them comes on while the other one is.
			at, sure := overlap(when[a], on[b])
			if other, too := overlap(when[b], on[a]); !sure && too || at == nil {
				at, sure = other, too
			}
			switch {
			case at == nil:
			case sure:
				r.fail(b.Position, "rules %s and %s (%s:%d:%d) can both be on, %s, and want different things: %s; give one a higher priority, or make their conditions exclude each other",
					b.Name, a.Name, r.file, a.Line, a.Column, at.where(unit), what)
			default:
				r.manager.Notes = append(r.manager.Notes, Problem{r.file, b.Position, fmt.Sprintf(
					"rules %s and %s (%s:%d:%d) may both be on, and want different things: %s; then %s counts, which stands first",
					b.Name, a.Name, r.file, a.Line, a.Column, what, a.Name)})
			}
		}
	}
}

func possible(list []box, domain box) (out []box) {
	for _, b := range list {
		d := box{in: map[string]interval{}}
		for name := range b.in {
			if i, ok := domain.in[name]; ok {
				d.in[name] = i
			}
		}
		if c, ok := b.and(d); ok {
			out = append(out, c)
		}
	}
	return out
}

// overlap is a box of both, if there is one; a sure one first.
func overlap(a, b []box) (at *box, sure bool) {
	for _, x := range both(a, b) {
		if at == nil || !x.unsure {
			at = &x
		}
		if !x.unsure {
			return at, true
		}
	}
	return at, false
}

// disagreement says what two rules want differently of the same thing.
func disagreement(a, b *ManagerRule) string {
	if a.Select != "" && b.Select != "" && a.Select != b.Select {
		return a.Select + " and " + b.Select
	}
	for _, s := range a.Set {
		for _, t := range b.Set {
			if s.Name == t.Name && s.Value != t.Value {
				return fmt.Sprintf("%s is set to %d and to %d", s.Name, s.Value, t.Value)
			}
		}
	}
	for _, name := range a.tuned() {
		if slices.Contains(b.tuned(), name) {
			return name + " is tuned twice"
		}
	}
	for _, pair := range [2][2]*ManagerRule{{a, b}, {b, a}} {
		for _, s := range pair[0].Set {
			if slices.Contains(pair[1].tuned(), s.Name) {
				return s.Name + " is set and tuned"
			}
		}
	}
	return ""
}

func (x *ManagerRule) tuned() []string {
	if x.Tune == nil {
		return nil
	}
	return x.Tune.Parameters
}
