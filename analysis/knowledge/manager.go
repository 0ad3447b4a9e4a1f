package knowledge

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
	yaml "github.com/goccy/go-yaml/ast"
)

// Manager is a file of rules by which a proxy manages a component, or the connections of an assembly, while the program
// runs: Liu and Parashar's component and composition managers.
type Manager struct {
	File        string
	Composition bool   // its rules connect ports; else they choose the implementation of a family and its settings
	Family      string // that is managed; of a composition empty
	Every       int    // calls from one look at the rules to the next, where each call may be served by another one
	Changes     int    // that are made at most
	Rules       []*ManagerRule
	// Metrics that the rules look at, in the order in which they are told.
	Metrics []ManagerMetric
	// Notes are what is legal and may not be meant.
	Notes []Problem
}

// ManagerRule is on from when its condition has held in For looks in a row until its end holds. Of those that are on and
// want something of the same thing, the first one counts: Manager.Rules are in this order.
type ManagerRule struct {
	Position
	Name, About string
	When, Until *RuleCondition // of no Until, the end is that When does not hold
	For         int            // looks in a row
	Ranks       Quantifier
	Priority    int
	Select      string // implementation; empty: no action
	Migrate     bool   // its state must move
	Connect     string // the family whose port is connected with Select
	Set         []SettingTo
	Tune        *Tuning
	Uses        []int // indices of the metrics that it looks at
}

// Quantifier says on how many ranks a condition must hold where they agree, of those that know.
type Quantifier int

// MostRanks is more than half.
const (
	MostRanks Quantifier = iota
	AnyRank
	AllRanks
)

var quantifiers = []string{"most", "any", "all"}

func (q Quantifier) String() string { return quantifiers[q] }

// SettingTo gives a parameter of a component a value.
type SettingTo struct {
	Name  string
	Value int64
}

// Tuning looks for the values of parameters for which a call takes the least time, by Nelder and Mead's simplex.
type Tuning struct {
	Parameters  []string
	Calls       int // of which the time of a point is the mean, at least
	Evaluations int // points at most
}

// MetricKind is what a metric is of.
type MetricKind int

// Metrics of managers.
const (
	OfParameter MetricKind = iota // of the calls, as the proxy records it
	OfTime                        // time_per_call
	OfCalls                       // calls_since_change
	OfFailures                    // failures
	OfImbalance                   // imbalance
	OfTold                        // what the component tells
	OfSetting                     // setting.NAME
	OfServing                     // serving.IMPLEMENTATION
)

// ManagerMetric is a quantity that rules look at.
type ManagerMetric struct {
	Name string // as it is written in conditions
	Kind MetricKind
	Of   string // the name without setting. or serving.
	Unit Unit
}

// vocabularyOfManagers are the metrics that every manager has.
var vocabularyOfManagers = []struct {
	name string
	kind MetricKind
	unit string
}{
	{"time_per_call", OfTime, "s"},
	{"calls_since_change", OfCalls, "count"},
	{"failures", OfFailures, "count"},
	{"imbalance", OfImbalance, "share"},
}

// Managed is what there is to manage.
type Managed struct {
	Family          string
	Implementations []string
	Barred          func(implementation string) string // why it must not serve; empty: it may
	Parameters      []string                           // of calls, that are recorded
	Stateless       bool                               // each call may be served by another one
	Agree           bool                               // ranks take the same one
	// Families are all there are, with their implementations: what a composition connects.
	Families map[string][]string
}

// Bounds of a file of rules.
const (
	maxRules      = 64
	maxUses       = 8  // metrics of a rule: its firing is recorded with them
	maxTuned      = 4  // parameters
	maxSettings   = 16 // of all rules
	maxRuleName   = 64
	mostCalls     = 1_000_000
	usualChanges  = 1000
	usualPoints   = 100
	mostPoints    = 500
	maxConditions = 256 // boxes of a condition; see overlap.go
)

// ReadManager reads a file of rules for a family. Errors are Problems.
func ReadManager(name string, data []byte, what Managed) (*Manager, error) {
	r := &managerReader{reader: reader{file: name, m: &Model{File: name}}, Managed: what,
		manager: &Manager{File: name, Every: 1, Changes: usualChanges}, kinds: map[string]ManagerMetric{}}
	if len(data) > maxFile {
		r.fail(Position{}, "larger than %d bytes", maxFile)
		return nil, Problems(r.problems)
	}
	if body := r.parse(data); body != nil {
		r.read(body)
	}
	if len(r.problems) > 0 {
		return nil, sorted(r.problems)
	}
	r.manager.Notes = sorted(r.manager.Notes)
	return r.manager, nil
}

type managerReader struct {
	reader
	Managed
	manager  *Manager
	settings []string
	kinds    map[string]ManagerMetric // by name
}

func (r *managerReader) read(body yaml.Node) {
	if kind := firstKey(body); kind != "manager" {
		r.fail(place(body), "a file of rules begins with  manager: component  or  manager: composition, not with %q", kind)
		return
	}
	m := r.manager
	var rules, told yaml.Node
	var about string
	r.fields(body, "manager", map[string]field{
		"manager": func(_, v yaml.Node) {
			switch text := r.text(v, "manager"); text {
			case "component", "composition":
				m.Composition = text == "composition"
			default:
				r.fail(place(v), "manager: %q: expected component or composition", text)
			}
		},
		"family": func(_, v yaml.Node) {
			if m.Family = r.text(v, "family"); m.Family != r.Managed.Family {
				r.fail(place(v), "family: these are the rules of %s; expected %s, of which the proxy is", m.Family, r.Managed.Family)
			}
		},
		"about":      r.into(&about, "about"),
		"every":      r.count(&m.Every, "every", 1, mostCalls),
		"changes":    r.count(&m.Changes, "changes", 0, math.MaxInt32),
		"thresholds": func(_, v yaml.Node) { r.named(v, "thresholds", plainName, r.threshold) },
		"told":       func(_, v yaml.Node) { told = v },
		"rules":      func(_, v yaml.Node) { rules = v },
	})
	switch {
	case len(r.problems) > 0:
		return
	case !m.Composition && m.Family == "":
		r.fail(place(body), "expected the family that the component is of: family: %s", r.Managed.Family)
	case m.Composition && m.Family != "":
		r.fail(place(body), "family: a composition connects several; expected  connect: FAMILY -> IMPLEMENTATION  in its rules")
	case rules == nil:
		r.fail(place(body), "expected rules")
	}
	for _, one := range vocabularyOfManagers {
		unit, _ := unitOf(one.unit)
		r.metricOf(one.name, Position{}, ManagerMetric{one.name, one.kind, one.name, unit})
	}
	if told != nil {
		r.named(told, "told", plainName, func(name string, at Position, v yaml.Node) {
			unit, ok := unitOf(r.text(v, "told"))
			if !ok {
				r.fail(place(v), "told: %s: expected its unit, one of %s", name, unitNames())
			}
			r.metricOf(name, at, ManagerMetric{name, OfTold, name, unit})
		})
	}
	count, _ := unitOf("count")
	for _, name := range r.Parameters { // what the file itself calls so comes first
		_, function := functions[name] // which is called, so that it is clear what is meant
		if _, taken := r.kinds[name]; !taken && r.m.Threshold(name) == nil && (function || !reserved(name)) {
			r.metricOf(name, Position{}, ManagerMetric{name, OfParameter, name, count})
		}
	}
	if len(r.problems) > 0 {
		return
	}
	names := map[string]Position{}
	r.items(rules, func(item yaml.Node) {
		if len(m.Rules) == maxRules {
			r.fail(place(item), "more than %d rules", maxRules)
			return
		}
		x := r.rule(item)
		if x == nil {
			return
		}
		if other, taken := names[x.Name]; taken {
			r.fail(x.Position, "rule %s: there is one of this name at %s:%d:%d", x.Name, r.file, other.Line, other.Column)
		}
		names[x.Name] = x.Position
		m.Rules = append(m.Rules, x)
	})
	r.outside = map[string]*Model{"setting": {}, "serving": {}}
	for _, name := range r.settings {
		r.outside["setting"].Metrics = append(r.outside["setting"].Metrics, &Metric{Name: name, Type: Type{Kind: Number}})
		r.kinds["setting."+name] = ManagerMetric{"setting." + name, OfSetting, name, count}
	}
	for _, name := range r.Implementations {
		r.outside["serving"].Metrics = append(r.outside["serving"].Metrics, &Metric{Name: name, Type: Type{Kind: Boolean}})
		r.kinds["serving."+name] = ManagerMetric{"serving." + name, OfServing, name, count}
	}
	for _, then := range r.later {
		then()
	}
	if slices.ContainsFunc(m.Rules, func(x *ManagerRule) bool { return x.Tune != nil }) { // when inputs are others it begins anew
		for _, name := range r.Parameters {
			if x, ok := r.kinds[name]; ok && x.Kind == OfParameter && !slices.ContainsFunc(m.Metrics, func(m ManagerMetric) bool { return m.Name == name }) {
				m.Metrics = append(m.Metrics, x)
			}
		}
	}
	m.Rules = slices.DeleteFunc(m.Rules, func(x *ManagerRule) bool { return x.Connect != "" && x.Connect != r.Managed.Family })
	if len(r.problems) > 0 {
		return
	}
	if len(m.Rules) == 0 {
		r.fail(place(body), "no rule is about family %s", r.Managed.Family)
		return
	}
	r.conflicts()
	slices.SortStableFunc(m.Rules, func(a, b *ManagerRule) int { return b.Priority - a.Priority })
}

func (r *managerReader) metricOf(name string, at Position, x ManagerMetric) {
	if r.m.Threshold(name) != nil || r.m.Metric(name) != nil {
		if at == (Position{}) {
			at = r.m.Threshold(name).Position
		}
		r.fail(at, "%s is defined twice, or a metric that every manager has", name)
		return
	}
	r.m.Metrics = append(r.m.Metrics, &Metric{Name: name, Unit: x.Unit, Type: Type{Number, x.Unit.Dimension}})
	r.kinds[name] = x
}

func (r *reader) count(to *int, what string, least, most int) field {
	return func(_, v yaml.Node) {
		n, err := strconv.Atoi(strings.ReplaceAll(r.text(v, what), ",", ""))
		if err != nil || n < least || n > most {
			r.fail(place(v), "%s: expected a whole number from %d to %d", what, least, most)
			return
		}
		*to = n
	}
}

// rule reads a rule; its conditions when all names are known.
func (r *managerReader) rule(n yaml.Node) *ManagerRule {
	x := &ManagerRule{Position: place(n), For: 1}
	var when, until, then yaml.Node
	r.fields(n, "rule", map[string]field{
		"rule": func(_, v yaml.Node) {
			if x.Name = r.text(v, "rule"); !modelName.fits(x.Name) || len(x.Name) > maxRuleName {
				r.fail(place(v), "rule: %q is no name; expected %s, %d at most", x.Name, modelName, maxRuleName)
			}
		},
		"about": r.into(&x.About, "about"),
		"when":  func(_, v yaml.Node) { when = v },
		"until": func(_, v yaml.Node) { until = v },
		"then":  func(_, v yaml.Node) { then = v },
		"for":   r.count(&x.For, "for", 1, mostCalls),
		"ranks": func(_, v yaml.Node) {
			at := slices.Index(quantifiers, r.text(v, "ranks"))
			if at < 0 {
				r.fail(place(v), "ranks: expected most, any or all")
			} else if !r.Agree {
				r.fail(place(v), "ranks: each rank has its own choice here: write the proxy with --agree")
			}
			x.Ranks = Quantifier(max(at, 0))
		},
		"priority": r.count(&x.Priority, "priority", -1000, 1000),
	})
	if x.Name == "" || when == nil || then == nil {
		r.fail(x.Position, "rule: expected rule: NAME, when: CONDITION and then: ACTIONS")
		return nil
	}
	r.actions(x, then)
	if x.Connect != "" && x.Connect != r.Managed.Family { // its names are those of another port
		return x
	}
	r.later = append(r.later, func() {
		x.When = r.condition(when, "rule "+x.Name+": when")
		if until != nil {
			x.Until = r.condition(until, "rule "+x.Name+": until")
		}
		for _, c := range []*RuleCondition{x.When, x.Until} {
			if c != nil {
				r.metrics(x, c)
			}
		}
		if len(x.Uses) > maxUses {
			r.fail(x.Position, "rule %s: looks at %d metrics; at most %d are recorded with a firing", x.Name, len(x.Uses), maxUses)
		}
	})
	return x
}

// metrics adds those that a rule's condition is over.
func (r *managerReader) metrics(x *ManagerRule, c *RuleCondition) {
	for _, u := range c.uses {
		metric := r.kinds[u]
		at := slices.IndexFunc(r.manager.Metrics, func(m ManagerMetric) bool { return m.Name == u })
		if at < 0 {
			at = len(r.manager.Metrics)
			r.manager.Metrics = append(r.manager.Metrics, metric)
		}
		add(&x.Uses, at)
		if metric.Kind == OfImbalance && !r.Agree {
			r.fail(c.Position, "rule %s: imbalance is known where ranks agree: write the proxy with --agree", x.Name)
		}
	}
}

func (r *managerReader) actions(x *ManagerRule, n yaml.Node) {
	what := "rule " + x.Name + ": then"
	choice := func(v yaml.Node, action string) {
		if x.Select != "" {
			r.fail(place(v), "%s: %s: one implementation is chosen already", what, action)
		}
		x.Select = r.text(v, what)
		r.implementation(what, place(v), x.Select, r.Implementations)
	}
	only := func(v yaml.Node, action string, composition bool) bool {
		if r.manager.Composition == composition {
			return true
		}
		if composition {
			r.fail(place(v), "%s: %s: a composition manager does this: manager: composition", what, action)
		} else {
			r.fail(place(v), "%s: %s: a component manager does this: manager: component; expected connect: FAMILY -> IMPLEMENTATION", what, action)
		}
		return false
	}
	any := false
	r.fields(n, what, map[string]field{
		"select": func(_, v yaml.Node) {
			if any = true; only(v, "select", false) {
				choice(v, "select")
			}
		},
		"migrate": func(_, v yaml.Node) {
			any = true
			if !only(v, "migrate", false) {
				return
			}
			if r.Stateless {
				r.fail(place(v), "%s: migrate: the proxy is written with --stateless: there is no state to move; expected select", what)
			}
			x.Migrate = true
			choice(v, "migrate")
		},
		"connect": func(_, v yaml.Node) {
			if any = true; only(v, "connect", true) {
				r.connect(x, v, what)
			}
		},
		"set": func(_, v yaml.Node) {
			if any = true; only(v, "set", false) {
				r.named(v, what+": set", settingName, func(name string, at Position, v yaml.Node) {
					value, err := strconv.ParseInt(r.text(v, what), 10, 64)
					if err != nil || value < -mostSetting || value > mostSetting {
						r.fail(place(v), "%s: set: %s: expected a whole number, within ±%d", what, name, int64(mostSetting))
					}
					if slices.ContainsFunc(x.Set, func(s SettingTo) bool { return s.Name == name }) {
						r.fail(at, "%s: set: %s is set twice", what, name)
					}
					x.Set = append(x.Set, SettingTo{name, value})
					r.setting(name, at)
				})
			}
		},
		"tune": func(_, v yaml.Node) {
			if any = true; only(v, "tune", false) {
				r.tune(x, v, what+": tune")
			}
		},
	})
	if !any {
		r.fail(place(n), "%s: expected an action: select, migrate, connect, set or tune", what)
	}
	if x.Tune != nil {
		for _, s := range x.Set {
			if slices.Contains(x.Tune.Parameters, s.Name) {
				r.fail(place(n), "%s: %s is set and tuned at once", what, s.Name)
			}
		}
	}
}

// mostSetting is what a double has room for, one by one.
const mostSetting = 1 << 53

var settingName = plainName

func (r *managerReader) setting(name string, at Position) {
	if add(&r.settings, name); len(r.settings) > maxSettings {
		r.fail(at, "more than %d settings", maxSettings)
	}
}

func (r *managerReader) connect(x *ManagerRule, v yaml.Node, what string) {
	from, to, ok := strings.Cut(r.text(v, what), "->")
	x.Connect, x.Select = strings.TrimSpace(from), strings.TrimSpace(to)
	if !ok || x.Connect == "" || x.Select == "" {
		r.fail(place(v), "%s: connect: expected FAMILY -> IMPLEMENTATION: the port that is used, and who provides it", what)
		return
	}
	list, known := r.Families[x.Connect]
	if !known {
		r.fail(place(v), "%s: connect: %s", what, unknown("family", x.Connect, slices.Collect(maps.Keys(r.Families))))
		return
	}
	r.implementation(what, place(v), x.Select, list)
}

func (r *managerReader) implementation(what string, at Position, name string, list []string) {
	if !slices.Contains(list, name) {
		r.fail(at, "%s: %s", what, unknown("implementation", name, slices.Clone(list)))
	} else if r.Barred != nil && slices.Contains(r.Implementations, name) {
		if why := r.Barred(name); why != "" {
			r.fail(at, "%s: %s must not serve: %s", what, name, why)
		}
	}
}

func (r *managerReader) tune(x *ManagerRule, n yaml.Node, what string) {
	t := &Tuning{Calls: 1, Evaluations: usualPoints}
	r.fields(n, what, map[string]field{
		"parameters": func(_, v yaml.Node) {
			r.items(v, func(item yaml.Node) {
				name := r.text(item, what)
				switch {
				case !settingName.fits(name):
					r.fail(place(item), "%s: %q is no name; expected %s", what, name, settingName)
				case slices.Contains(t.Parameters, name):
					r.fail(place(item), "%s: %s stands here twice", what, name)
				default:
					t.Parameters = append(t.Parameters, name)
					r.setting(name, place(item))
				}
			})
		},
		"policy": func(_, v yaml.Node) {
			if text := r.text(v, what); text != "simplex" {
				r.fail(place(v), "%s: policy: %q: expected simplex", what, text)
			}
		},
		"calls":       r.count(&t.Calls, what+": calls", 1, mostCalls),
		"evaluations": r.count(&t.Evaluations, what+": evaluations", 2, mostPoints),
	})
	if len(t.Parameters) == 0 || len(t.Parameters) > maxTuned {
		r.fail(place(n), "%s: expected one to %d parameters", what, maxTuned)
		return
	}
	x.Tune = t
}

// RuleCondition is when a rule of a manager begins or ends.
type RuleCondition struct {
	Position
	Text       string
	uses       []string
	tree       ast.Node // nil: it always holds
	thresholds func(name string) float64
}

func (r *managerReader) condition(n yaml.Node, what string) *RuleCondition {
	c := &RuleCondition{Position: place(n), Text: strings.Join(strings.Fields(r.text(n, what)), " "),
		thresholds: func(name string) float64 { return r.m.Threshold(name).Value }}
	if c.Text == "always" || len(r.problems) > 0 {
		return c
	}
	text := r.text(n, what)
	tree, err := parser.ParseWithConfig(text, settings())
	var wrong *file.Error
	if errors.As(err, &wrong) {
		err = &mistake{wrong.From, strings.ToLower(wrong.Message[:1]) + wrong.Message[1:]}
	}
	if err != nil {
		r.inside(n, err, what)
		return nil
	}
	var uses Uses
	check := &checker{scope: &scope{m: r.m, outside: r.outside}, uses: &uses}
	if check.want(tree.Node, Boolean); check.err == nil {
		check.err = plainFunctions(tree.Node)
	}
	if check.err != nil {
		r.inside(n, check.err, what)
		return nil
	}
	for _, u := range uses.Metrics {
		c.uses = append(c.uses, u.Name)
	}
	c.tree = tree.Node
	return c
}

// plainFunctions refuses what needs a whole run.
func plainFunctions(n ast.Node) error {
	var v runless
	ast.Walk(&n, &v)
	return v.err
}

type runless struct{ err error }

func (v *runless) Visit(n *ast.Node) {
	fail := func(format string, arguments ...any) {
		if v.err == nil {
			v.err = &mistake{(*n).Location().From, fmt.Sprintf(format, arguments...)}
		}
	}
	switch n := (*n).(type) {
	case *ast.CallNode:
		if name := n.Callee.(*ast.IdentifierNode).Value; name != "min" && name != "max" {
			fail("%s needs a whole run; a rule may use min and max", name)
		}
	case *ast.MemberNode:
		if n.Node.(*ast.IdentifierNode).Value == "run" {
			fail("run: nothing is known of the whole run while it goes on")
		}
	}
}

// Uses are the metrics that the condition is about.
func (c *RuleCondition) Uses() []string { return c.uses }

// CPP is the condition as an expression of C++, of numbers of type double that name gives, where marple_rules.hpp is
// included. What stands for serving.NAME is a bool.
func (c *RuleCondition) CPP(name func(metric string) string) string {
	if c.tree == nil {
		return "true"
	}
	return c.cpp(c.tree, name)
}

// comparisons that raise no exception of the floating-point unit, whatever they compare.
var comparisons = map[string]string{"<": "std::isless", "<=": "std::islessequal", ">": "std::isgreater", ">=": "std::isgreaterequal"}

func (c *RuleCondition) cpp(n ast.Node, name func(string) string) string {
	switch n := n.(type) {
	case *ast.IntegerNode:
		return strconv.FormatFloat(float64(n.Value), 'e', -1, 64)
	case *ast.FloatNode:
		return strconv.FormatFloat(n.Value, 'e', -1, 64)
	case *ast.IdentifierNode:
		if c.isMetric(n.Value) {
			return name(n.Value)
		}
		return strconv.FormatFloat(c.thresholds(n.Value), 'e', -1, 64)
	case *ast.MemberNode:
		return name(full(n))
	case *ast.UnaryNode:
		operator := n.Operator
		if operator == "not" {
			operator = "!"
		}
		return operator + "(" + c.cpp(n.Node, name) + ")"
	case *ast.ConditionalNode:
		return fmt.Sprintf("(%s ? %s : %s)", c.cpp(n.Cond, name), c.cpp(n.Exp1, name), c.cpp(n.Exp2, name))
	case *ast.CallNode:
		text := c.cpp(n.Arguments[0], name)
		for _, a := range n.Arguments[1:] {
			text = fmt.Sprintf("marple::%s_of(%s, %s)", n.Callee.(*ast.IdentifierNode).Value, text, c.cpp(a, name))
		}
		return text
	case *ast.BinaryNode:
		left, right := c.cpp(n.Left, name), c.cpp(n.Right, name)
		if function, ok := comparisons[n.Operator]; ok {
			return fmt.Sprintf("%s(%s, %s)", function, left, right)
		}
		operator := n.Operator
		switch operator {
		case "/":
			return fmt.Sprintf("marple::over(%s, %s)", left, right)
		case "and":
			operator = "&&"
		case "or":
			operator = "||"
		}
		return fmt.Sprintf("(%s %s %s)", left, operator, right)
	}
	return "false" // the checker lets nothing else through
}

func (c *RuleCondition) isMetric(name string) bool { return slices.Contains(c.uses, name) }

func full(n *ast.MemberNode) string {
	return n.Node.(*ast.IdentifierNode).Value + "." + n.Property.(*ast.StringNode).Value
}

// Then says what a rule does.
func (x *ManagerRule) Then() string {
	var parts []string
	switch {
	case x.Connect != "":
		parts = append(parts, "connect "+x.Connect+" -> "+x.Select)
	case x.Migrate:
		parts = append(parts, "migrate to "+x.Select)
	case x.Select != "":
		parts = append(parts, "select "+x.Select)
	}
	for _, s := range x.Set {
		parts = append(parts, fmt.Sprintf("set %s to %d", s.Name, s.Value))
	}
	if x.Tune != nil {
		parts = append(parts, "tune "+strings.Join(x.Tune.Parameters, ", "))
	}
	return strings.Join(parts, ", ")
}

// Settings are the names of parameters that rules set or tune.
func (m *Manager) Settings() (list []string) {
	for _, x := range m.Rules {
		for _, s := range x.Set {
			add(&list, s.Name)
		}
		if x.Tune != nil {
			for _, name := range x.Tune.Parameters {
				add(&list, name)
			}
		}
	}
	return list
}
