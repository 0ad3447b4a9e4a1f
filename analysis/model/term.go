package model

import (
	"fmt"
	"math"
	"strings"

	"marple/analysis/formula"
)

// term is x^(above/below) * log2(x)^log: a building block of the performance model normal form.
type term struct{ above, below, log int }

// terms is Extra-P's exponent set, ordered by growth within each power of the logarithm. falling are the
// negative powers, which only strong scaling needs; they are tried where the response falls somewhere.
var terms = []term{
	{0, 1, 1}, {1, 1, 0}, {1, 1, 1}, {2, 1, 0}, {3, 1, 0}, {1, 2, 0},
	{0, 1, 2},
	{1, 4, 0}, {1, 4, 1}, {1, 4, 2},
	{1, 3, 0}, {1, 3, 1}, {1, 3, 2},
	{1, 2, 1}, {1, 2, 2},
	{2, 3, 0}, {2, 3, 1}, {2, 3, 2},
	{3, 4, 0}, {3, 4, 1}, {3, 4, 2},
	{4, 5, 0},
	{1, 1, 2},
	{5, 4, 0}, {5, 4, 1},
	{4, 3, 0}, {4, 3, 1},
	{3, 2, 0}, {3, 2, 1}, {3, 2, 2},
	{5, 3, 0},
	{7, 4, 0},
	{2, 1, 1}, {2, 1, 2},
	{9, 4, 0},
	{7, 3, 0},
	{5, 2, 0}, {5, 2, 1}, {5, 2, 2},
	{8, 3, 0},
	{11, 4, 0},
	{3, 1, 1},
}

var falling = []term{
	{-1, 1, 0}, {-1, 2, 0}, {-2, 1, 0}, {-1, 1, 1}, {-1, 4, 0}, {-1, 3, 0}, {-2, 3, 0}, {-3, 4, 0}, {-4, 5, 0},
	{-5, 4, 0}, {-4, 3, 0}, {-3, 2, 0}, {-5, 3, 0}, {-7, 4, 0}, {-3, 1, 0},
}

// at is the term's value; NaN where it has none.
func (t term) at(x float64) float64 {
	v := 1.0
	switch {
	case t.below == 1:
		v = intPower(x, t.above)
	case t.below == 2 && t.above == 1:
		v = math.Sqrt(x)
	default:
		v = math.Pow(x, float64(t.above)/float64(t.below))
	}
	for range t.log {
		v *= math.Log2(x)
	}
	return v
}

func intPower(x float64, n int) float64 {
	v := 1.0
	for range max(n, -n) {
		v *= x
	}
	if n < 0 {
		return 1 / v
	}
	return v
}

// usable tells whether the term rises and is defined on all of x; squares of logarithms fall below 1.
func (t term) usable(least float64) bool {
	switch {
	case t.log > 0:
		return least >= 1
	case t.above < 0:
		return least > 0
	}
	return least >= 0 || t.below == 1
}

// text writes the term of a parameter as an expression.
func (t term) text(parameter string) string {
	p := formula.Quote(parameter)
	var factors []string
	switch {
	case t.above == 1 && t.below == 1:
		factors = append(factors, p)
	case t.below == 1 && t.above > 0:
		factors = append(factors, fmt.Sprintf("%s^%d", p, t.above))
	case t.below == 1 && t.above < 0:
		factors = append(factors, fmt.Sprintf("%s^(%d)", p, t.above))
	case t.above != 0:
		factors = append(factors, fmt.Sprintf("%s^(%d/%d)", p, t.above, t.below))
	}
	switch t.log {
	case 1:
		factors = append(factors, fmt.Sprintf("log2(%s)", p))
	case 2:
		factors = append(factors, fmt.Sprintf("log2(%s)^2", p))
	}
	return strings.Join(factors, "*")
}
