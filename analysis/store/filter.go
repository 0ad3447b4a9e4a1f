package store

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/vm"
)

// Filter is a condition on trials.
type Filter struct{ program *vm.Program }

// Fields are the names that expressions may use, with what they mean.
func Fields() (list [][2]string) {
	t := reflect.TypeFor[Trial]()
	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() {
			list = append(list, [2]string{f.Tag.Get("json"), f.Tag.Get("doc")})
		}
	}
	return list
}

// Bounds of an expression: whoever may ask a question may not keep others waiting for long, or take all memory.
const (
	maxExpression = 10_000 // bytes
	maxNodes      = 500
	maxNested     = 3 // conditions on lists within each other
)

// builtins are the functions that expressions may use: none whose answer grows beyond what is there.
var builtins = []string{"all", "none", "any", "one", "filter", "find", "count", "sum", "len", "abs", "ceil", "floor", "round", "int", "float", "string",
	"trim", "upper", "lower", "indexOf", "hasPrefix", "hasSuffix", "max", "min", "mean", "median", "now", "duration", "date", "first", "last", "keys", "values"}

// bounds looks for what may take long.
type bounds struct {
	ranges int // that are not asked whether something is in them
	nested int
	names  bool
	other  string // function
}

func (b *bounds) Visit(n *ast.Node) {
	isRange := func(n ast.Node) bool {
		x, ok := n.(*ast.BinaryNode)
		return ok && x.Operator == ".."
	}
	switch x := (*n).(type) {
	case *ast.BinaryNode:
		if isRange(x) {
			b.ranges++
		} else if isRange(x.Right) && (x.Operator == "in" || x.Operator == "not in") {
			b.ranges--
		}
	case *ast.VariableDeclaratorNode:
		b.names = true
	case *ast.BuiltinNode:
		if !slices.Contains(builtins, x.Name) {
			b.other = x.Name
		}
	case *ast.PredicateNode:
		inside := 1
		ast.Walk(&x.Node, counter{&inside})
		b.nested = max(b.nested, inside)
	}
}

type counter struct{ predicates *int }

func (c counter) Visit(n *ast.Node) {
	if _, ok := (*n).(*ast.PredicateNode); ok {
		*c.predicates++
	}
}

// ParseFilter reads an expression of expr-lang, such as ranks >= 64 && any(findings, .share > 0.2). Errors show where in
// it the mistake is.
func ParseFilter(text string) (*Filter, error) {
	if len(text) > maxExpression {
		return nil, fmt.Errorf("an expression of %d bytes: expected at most %d", len(text), maxExpression)
	}
	mistaken := func(err error) error {
		return fmt.Errorf("%w\nexpected a condition on %s", err, strings.Join(names(), ", "))
	}
	tree, err := parser.Parse(text)
	if err != nil {
		return nil, mistaken(err)
	}
	var b bounds
	ast.Walk(&tree.Node, &b)
	switch {
	case b.names:
		return nil, errors.New("let: expected a single condition")
	case b.other != "":
		return nil, fmt.Errorf("%s: expected one of the functions %s", b.other, strings.Join(builtins, ", "))
	case b.ranges > 0:
		return nil, errors.New("..: expected it behind in, as in: ranks in 8..64")
	case b.nested > maxNested:
		return nil, fmt.Errorf("conditions on lists: expected at most %d within each other", maxNested)
	}
	program, err := expr.Compile(text, expr.Env(environment(&Trial{})), expr.AsBool(), expr.MaxNodes(maxNodes))
	if err != nil {
		return nil, mistaken(err)
	}
	return &Filter{program}, nil
}

func names() (list []string) {
	for _, f := range Fields() {
		list = append(list, f[0])
	}
	return list
}

// Match tells whether a trial meets the condition. It has an error if that cannot be told: the trial lacks a parameter.
func (f *Filter) Match(t *Trial) (bool, error) {
	answer, err := vm.Run(f.program, environment(t))
	if err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n")
		return false, fmt.Errorf("%s", first)
	}
	return answer.(bool), nil
}

// environment is a trial's fields by name. A parameter that is not there has no value, rather than zero.
func environment(t *Trial) map[string]any {
	fields := map[string]any{}
	v := reflect.ValueOf(t).Elem()
	for i := range v.NumField() {
		if f := v.Type().Field(i); f.IsExported() {
			fields[f.Tag.Get("json")] = v.Field(i).Interface()
		}
	}
	parameters := map[string]any{}
	for name, value := range t.Parameters {
		parameters[name] = value
	}
	fields["params"] = parameters
	if t.Communication != nil {
		fields["communication"] = *t.Communication
	}
	return fields
}
