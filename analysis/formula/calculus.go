package formula

import (
	"math"
	"strconv"
)

// Bind puts numbers in the place of parameters; parameters that are not among them stay. The numbers must be
// finite.
func (e *Expr) Bind(values map[string]float64) *Expr {
	return e.replace(func(x *Expr) *Expr {
		if v, ok := values[x.name]; ok && x.name != "" {
			return newNumber(v)
		}
		return x
	})
}

// Round is the expression with its numbers rounded to some significant digits, for people to read.
func (e *Expr) Round(digits int) *Expr {
	return e.replace(func(x *Expr) *Expr {
		if x.isNumber() {
			v, err := strconv.ParseFloat(strconv.FormatFloat(x.value, 'g', digits, 64), 64)
			if err == nil {
				return newNumber(v)
			}
		}
		return x
	})
}

// replace makes a copy with other leaves.
func (e *Expr) replace(leaf func(*Expr) *Expr) *Expr {
	if e.operation == nil {
		return leaf(e)
	}
	changed := *e
	changed.args = make([]*Expr, len(e.args))
	for i, a := range e.args {
		changed.args[i] = a.replace(leaf)
	}
	return &changed
}

// Gradient gives the expression and its derivatives by some of its parameters as functions of values in the
// order of names. Comparisons, rounding and the corners of abs, min, max and if count as constant. Errors: as
// of Func; derivatives that exceed the bounds of expressions.
func (e *Expr) Gradient(by []string, names ...string) (f func(x []float64) float64, d []func(x []float64) float64, err error) {
	if f, err = e.Func(names...); err != nil {
		return nil, nil, err
	}
	for _, parameter := range by {
		slope, err := e.Derivative(parameter)
		if err != nil {
			return nil, nil, err
		}
		g, err := slope.Func(names...)
		if err != nil {
			return nil, nil, err
		}
		d = append(d, g)
	}
	return f, d, nil
}

// builder joins expressions and remembers the first error.
type builder struct{ err error }

func (b *builder) make(o *operation, args ...*Expr) *Expr {
	e, err := o.make(args...)
	if err != nil {
		if b.err == nil {
			b.err = err
		}
		return newNumber(0)
	}
	return e
}

// times and plus leave out ones and zeros, of which derivatives are full.
func (b *builder) times(x, y *Expr) *Expr {
	switch {
	case x.isZero() || y.isZero():
		return newNumber(0)
	case x.isNumber() && x.value == 1:
		return y
	case y.isNumber() && y.value == 1:
		return x
	}
	return b.make(opMultiply, x.copy(), y.copy())
}

func (b *builder) plus(x, y *Expr) *Expr {
	switch {
	case x.isZero():
		return y
	case y.isZero():
		return x
	}
	return b.make(opAdd, x.copy(), y.copy())
}

func (e *Expr) isZero() bool { return e.isNumber() && e.value == 0 }

// copy makes an expression that operation.make may take over.
func (e *Expr) copy() *Expr { return e.replace(func(x *Expr) *Expr { return x }) }

// Derivative of an expression by one of its parameters.
func (e *Expr) Derivative(by string) (*Expr, error) {
	b := &builder{}
	d := b.derivative(e, by)
	return d, b.err
}

func (b *builder) derivative(e *Expr, by string) *Expr {
	o := e.operation
	switch {
	case b.err != nil || o == nil && e.name != by:
		return newNumber(0)
	case o == nil:
		return newNumber(1)
	}
	d := make([]*Expr, len(e.args))
	constant := true
	for i, a := range e.args {
		d[i] = b.derivative(a, by)
		constant = constant && d[i].isZero()
	}
	if constant {
		return newNumber(0)
	}
	x := e.args[0]
	inverse := func(v *Expr) *Expr { return b.make(opDivide, newNumber(1), v.copy()) }
	chain := func(slope *Expr) *Expr { return b.times(slope, d[0]) }
	scaledLog := func(base float64) *Expr {
		return chain(b.make(opDivide, newNumber(1/math.Log(base)), x.copy()))
	}
	switch o {
	case opAdd:
		sum := d[0]
		for _, y := range d[1:] {
			sum = b.plus(sum, y)
		}
		return sum
	case opNegate:
		return b.make(opNegate, d[0].copy())
	case opMultiply:
		sum := newNumber(0)
		for i := range e.args {
			product := d[i]
			for j, a := range e.args {
				if j != i {
					product = b.times(product, a)
				}
			}
			sum = b.plus(sum, product)
		}
		return sum
	case opDivide: // x'/y - x*y'/y^2
		y := e.args[1]
		quotient := b.times(b.times(x, d[1]), b.make(opPower, y.copy(), newNumber(-2)))
		return b.plus(b.times(d[0], inverse(y)), b.make(opNegate, quotient.copy()))
	case opPower: // y*x^(y-1)*x' + x^y*log(x)*y'
		y := e.args[1]
		lower := b.make(opPower, x.copy(), b.make(opAdd, y.copy(), newNumber(-1)))
		slope := b.times(b.times(y, lower), d[0])
		if d[1].isZero() {
			return slope
		}
		return b.plus(slope, b.times(b.times(e, b.make(opLog, x.copy())), d[1]))
	case opLog:
		return chain(inverse(x))
	case opLog2:
		return scaledLog(2)
	case opLog10:
		return scaledLog(10)
	case opSqrt:
		return chain(b.make(opDivide, newNumber(0.5), e.copy()))
	case opExp:
		return chain(e)
	case opAbs:
		return b.make(opIf, b.make(opLess, x.copy(), newNumber(0)), b.make(opNegate, d[0].copy()), d[0].copy())
	case opIf:
		return b.make(opIf, x.copy(), d[1].copy(), d[2].copy())
	case opMin, opMax:
		best := d[len(d)-1]
		for i := len(d) - 2; i >= 0; i-- {
			holds := b.make(opEqual, e.args[i].copy(), e.copy())
			best = b.make(opIf, holds, d[i].copy(), best.copy())
		}
		return best
	}
	return newNumber(0)
}

// Simplify leaves out what changes nothing: zeros that are added, ones that multiply, first powers.
func (e *Expr) Simplify() *Expr {
	if e.operation == nil {
		return e
	}
	args := make([]*Expr, len(e.args))
	for i, a := range e.args {
		args[i] = a.Simplify()
	}
	b := &builder{}
	switch e.operation {
	case opAdd:
		sum := newNumber(0)
		for _, a := range args {
			sum = b.plus(sum, a)
		}
		return sum
	case opMultiply:
		product := newNumber(1)
		for _, a := range args {
			product = b.times(product, a)
		}
		return product
	case opPower:
		if args[1].isNumber() && args[1].value == 1 {
			return args[0]
		}
	}
	changed := *e
	changed.args = args
	return &changed
}
