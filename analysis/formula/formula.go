// Package formula holds arithmetic expressions of named parameters: what a performance model says, read from
// JSON or MathML, printed, and evaluated. An expression is data; nothing in it is ever run as code.
//
// It uses the standard library only, and holds no state.
//
// Invariant: every expression, wherever it came from, has at most MaxNodes nodes and MaxDepth levels, so that
// evaluating, printing and walking it is bounded; and what String prints, Parse reads as the same expression.
package formula

import (
	"fmt"
	"math"
	"slices"
)

// Bounds of an expression.
const (
	MaxText  = 1 << 20 // bytes of text or MathML
	MaxNodes = 20_000
	MaxDepth = 200
	MaxName  = 128 // bytes of a parameter's name
)

// Expr is an expression: a number, a parameter, or an operation on expressions. It never changes.
type Expr struct {
	operation    *operation // nil for numbers and parameters
	name         string     // of a parameter
	value        float64    // of a number
	args         []*Expr
	nodes, depth int
}

// operation is a row of the table of what can be computed. Truth is 1 and 0, as in C.
type operation struct {
	name        string // as a function; operators have a symbol instead
	symbol      string
	level       int // how tightly the symbol binds
	least, most int // number of arguments; most 0: any
	element     string
	apply       func(x []float64) float64 // nil where Func evaluates it by itself
}

// Levels of operators, loosest first.
const (
	levelOr = iota + 1
	levelAnd
	levelCompare
	levelAdd
	levelMultiply
	levelNegate
	levelPower
	levelAtom
)

var (
	opOr       = &operation{symbol: "or", level: levelOr, least: 2, element: "or"}
	opAnd      = &operation{symbol: "and", level: levelAnd, least: 2, element: "and"}
	opAdd      = &operation{symbol: "+", level: levelAdd, least: 2, element: "plus"}
	opNegate   = &operation{symbol: "-", level: levelNegate, least: 1, most: 1, element: "minus", apply: func(x []float64) float64 { return -x[0] }}
	opMultiply = &operation{symbol: "*", level: levelMultiply, least: 2, element: "times"}
	opDivide   = &operation{symbol: "/", level: levelMultiply, least: 2, most: 2, element: "divide", apply: func(x []float64) float64 { return x[0] / x[1] }}
	opPower    = &operation{symbol: "^", level: levelPower, least: 2, most: 2, element: "power", apply: func(x []float64) float64 { return math.Pow(x[0], x[1]) }}
	opIf       = &operation{name: "if", least: 3, most: 3}
	opLog2     = &operation{name: "log2", least: 1, most: 1, apply: one(math.Log2)}
	opLog10    = &operation{name: "log10", least: 1, most: 1, apply: one(math.Log10)}
	opLog      = &operation{name: "log", least: 1, most: 1, element: "ln", apply: one(math.Log)}
	opSqrt     = &operation{name: "sqrt", least: 1, most: 1, element: "root", apply: one(math.Sqrt)}
	opExp      = &operation{name: "exp", least: 1, most: 1, element: "exp", apply: one(math.Exp)}
	opAbs      = &operation{name: "abs", least: 1, most: 1, element: "abs", apply: one(math.Abs)}
	opMin      = &operation{name: "min", least: 1, element: "min", apply: slices.Min[[]float64]}
	opMax      = &operation{name: "max", least: 1, element: "max", apply: slices.Max[[]float64]}
	opLess     = &operation{symbol: "<", level: levelCompare, least: 2, most: 2, element: "lt", apply: test(func(a, b float64) bool { return a < b })}
	opEqual    = &operation{symbol: "==", level: levelCompare, least: 2, most: 2, element: "eq", apply: test(func(a, b float64) bool { return a == b })}
)

var operations = []*operation{
	opOr, opAnd, opAdd, opNegate, opMultiply, opDivide, opPower, opIf, opLog2, opLog10, opLog, opSqrt, opExp, opAbs, opMin,
	opMax, opLess, opEqual,
	{symbol: "<=", level: levelCompare, least: 2, most: 2, element: "leq", apply: test(func(a, b float64) bool { return a <= b })},
	{symbol: ">", level: levelCompare, least: 2, most: 2, element: "gt", apply: test(func(a, b float64) bool { return a > b })},
	{symbol: ">=", level: levelCompare, least: 2, most: 2, element: "geq", apply: test(func(a, b float64) bool { return a >= b })},
	{symbol: "!=", level: levelCompare, least: 2, most: 2, element: "neq", apply: test(func(a, b float64) bool { return a != b })},
	{name: "floor", least: 1, most: 1, element: "floor", apply: one(math.Floor)},
	{name: "ceil", least: 1, most: 1, element: "ceiling", apply: one(math.Ceil)},
}

func one(f func(float64) float64) func([]float64) float64 {
	return func(x []float64) float64 { return f(x[0]) }
}

func test(f func(a, b float64) bool) func([]float64) float64 {
	return func(x []float64) float64 { return truth(f(x[0], x[1])) }
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// function, operator and element look an operation up; nil if there is none.
func function(name string) *operation {
	return lookup(func(o *operation) bool { return o.name != "" && o.name == name })
}

func operator(symbol string) *operation {
	return lookup(func(o *operation) bool { return o.symbol != "" && o.symbol == symbol })
}

func element(name string) *operation {
	return lookup(func(o *operation) bool { return o.element != "" && o.element == name })
}

func lookup(match func(*operation) bool) *operation {
	if i := slices.IndexFunc(operations, match); i >= 0 {
		return operations[i]
	}
	return nil
}

func newNumber(v float64) *Expr      { return &Expr{value: v, nodes: 1, depth: 1} }
func newParameter(name string) *Expr { return &Expr{name: name, nodes: 1, depth: 1} }

// make applies the operation. The arguments become part of the result and must be nobody else's. Errors: wrong
// number of arguments, too large, too deep.
func (o *operation) make(args ...*Expr) (*Expr, error) {
	if len(args) < o.least || o.most > 0 && len(args) > o.most {
		return nil, fmt.Errorf("%s takes %s, not %d", o.name+o.symbol, o.arity(), len(args))
	}
	first := args[0]
	e := &Expr{operation: o, args: args, nodes: 1}
	switch {
	case o == opNegate && first.isNumber():
		return newNumber(-first.value), nil
	case o == opNegate && first.operation == opMultiply && first.args[0].isNumber(): // -(3*x) is -3*x
		first.args[0] = newNumber(-first.args[0].value)
		return first, nil
	case o.symbol != "" && o.most == 0 && first.operation == o: // (a+b)+c is one sum of three
		e.args, e.nodes, e.depth = append(first.args, args[1:]...), first.nodes, first.depth-1
		args = args[1:]
	}
	for _, a := range args {
		e.nodes += a.nodes
		e.depth = max(e.depth, a.depth)
	}
	e.depth++
	if e.nodes > MaxNodes {
		return nil, fmt.Errorf("larger than %d operations and values", MaxNodes)
	}
	if e.depth > MaxDepth {
		return nil, fmt.Errorf("nested deeper than %d", MaxDepth)
	}
	return e, nil
}

func (o *operation) arity() string {
	switch {
	case o.most == 0:
		return fmt.Sprintf("%d or more arguments", o.least)
	case o.most == 1:
		return "1 argument"
	}
	return fmt.Sprintf("%d arguments", o.most)
}

func (e *Expr) isNumber() bool { return e.operation == nil && e.name == "" }

// Parameters are the names in the expression, sorted, each once.
func (e *Expr) Parameters() []string {
	var names []string
	e.walk(func(x *Expr) {
		if x.name != "" {
			names = append(names, x.name)
		}
	})
	slices.Sort(names)
	return slices.Compact(names)
}

func (e *Expr) walk(visit func(*Expr)) {
	visit(e)
	for _, a := range e.args {
		a.walk(visit)
	}
}

// Eval computes the expression. Errors: a parameter without a value; a result that is not a finite number.
func (e *Expr) Eval(values map[string]float64) (float64, error) {
	names := e.Parameters()
	x := make([]float64, len(names))
	for i, name := range names {
		v, ok := values[name]
		if !ok {
			return 0, fmt.Errorf("no value for parameter %q", name)
		}
		x[i] = v
	}
	f, err := e.Func(names...)
	if err != nil {
		return 0, err
	}
	v := f(x)
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, fmt.Errorf("%s has no finite value there", e)
	}
	return v, nil
}

// Func gives the expression as a function of values in the order of names, for evaluating it often. The
// function may be called by several goroutines. Its result may be NaN or infinite. Errors: the expression has
// a parameter that is not among the names.
func (e *Expr) Func(names ...string) (func(x []float64) float64, error) {
	switch {
	case e.name != "":
		i := slices.Index(names, e.name)
		if i < 0 {
			return nil, fmt.Errorf("no value for parameter %q", e.name)
		}
		return func(x []float64) float64 { return x[i] }, nil
	case e.operation == nil:
		v := e.value
		return func([]float64) float64 { return v }, nil
	}
	args := make([]func([]float64) float64, len(e.args))
	for i, a := range e.args {
		var err error
		if args[i], err = a.Func(names...); err != nil {
			return nil, err
		}
	}
	switch e.operation {
	case opAdd:
		return func(x []float64) float64 {
			sum := args[0](x)
			for _, a := range args[1:] {
				sum += a(x)
			}
			return sum
		}, nil
	case opMultiply:
		return func(x []float64) float64 {
			product := args[0](x)
			for _, a := range args[1:] {
				product *= a(x)
			}
			return product
		}, nil
	case opIf:
		return func(x []float64) float64 {
			if args[0](x) != 0 {
				return args[1](x)
			}
			return args[2](x)
		}, nil
	case opAnd:
		return func(x []float64) float64 {
			return truth(!slices.ContainsFunc(args, func(a func([]float64) float64) bool { return a(x) == 0 }))
		}, nil
	case opOr:
		return func(x []float64) float64 {
			return truth(slices.ContainsFunc(args, func(a func([]float64) float64) bool { return a(x) != 0 }))
		}, nil
	}
	apply := e.operation.apply
	if len(args) == 1 {
		a := args[0]
		return func(x []float64) float64 { v := [1]float64{a(x)}; return apply(v[:]) }, nil
	}
	return func(x []float64) float64 {
		v := make([]float64, len(args))
		for i, a := range args {
			v[i] = a(x)
		}
		return apply(v)
	}, nil
}
