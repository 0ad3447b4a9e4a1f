// Package modeltest draws functions from every family that models may belong to, and samples of them, for
// tests and benchmarks. Nothing in it is used for fitting.
package modeltest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"

	"marple/analysis/formula"
	"marple/analysis/model"
)

// Truth is a function whose family is known.
type Truth struct {
	Family     string
	Parameters []string
	Form       string // with coefficients c0, c1, ...
	Points     [][]float64
	mean       func(x []float64) float64
	text       string
}

// Mean is the true value.
func (t *Truth) Mean(x []float64) float64 { return t.mean(x) }

func (t *Truth) String() string { return t.text }

// Exponents of the performance model normal form: numerator, denominator, power of the logarithm. This is
// Extra-P's set, written down a second time on purpose.
var exponents = [][3]int{
	{0, 1, 1}, {0, 1, 2}, {1, 4, 0}, {1, 3, 0}, {1, 4, 1}, {1, 3, 1}, {1, 4, 2}, {1, 3, 2}, {1, 2, 0}, {1, 2, 1}, {1, 2, 2},
	{2, 3, 0}, {3, 4, 0}, {2, 3, 1}, {3, 4, 1}, {4, 5, 0}, {2, 3, 2}, {3, 4, 2}, {1, 1, 0}, {1, 1, 1}, {1, 1, 2}, {5, 4, 0},
	{5, 4, 1}, {4, 3, 0}, {4, 3, 1}, {3, 2, 0}, {3, 2, 1}, {3, 2, 2}, {5, 3, 0}, {7, 4, 0}, {2, 1, 0}, {2, 1, 1}, {2, 1, 2},
	{9, 4, 0}, {7, 3, 0}, {5, 2, 0}, {5, 2, 1}, {5, 2, 2}, {8, 3, 0}, {11, 4, 0}, {3, 1, 0}, {3, 1, 1},
}

func term(r *rand.Rand, name string) string {
	e := exponents[r.IntN(len(exponents))]
	var factors []string
	switch {
	case e[0] == 0:
	case e[0] == e[1]:
		factors = append(factors, name)
	case e[1] == 1:
		factors = append(factors, fmt.Sprintf("%s^%d", name, e[0]))
	default:
		factors = append(factors, fmt.Sprintf("%s^(%d/%d)", name, e[0], e[1]))
	}
	switch e[2] {
	case 1:
		factors = append(factors, "log2("+name+")")
	case 2:
		factors = append(factors, "log2("+name+")^2")
	}
	return strings.Join(factors, "*")
}

// One are the families of one parameter, Two of two, Three of three.
var (
	One = []string{"constant", "linear", "logarithmic", "n log n", "power", "exponential", "polynomial 2", "polynomial 3",
		"polynomial 4", "pmnf 1 term", "pmnf 2 terms", "1/n", "piecewise bend", "piecewise jump"}
	Two   = []string{"sum", "product", "product and term", "power of both", "one matters", "product and other term"}
	Three = []string{"sum of 3", "product of 3", "product of 2 and term", "product of 3 and term"}
)

// grid gives from 5 to 7 values, as experiments have them: doubling, or evenly spaced.
func grid(r *rand.Rand, least int) []float64 {
	n := max(least, 5+r.IntN(3))
	x := make([]float64, n)
	first := []float64{4, 10, 16, 32, 100, 1000}[r.IntN(6)]
	even := r.IntN(3) == 0
	for i := range x {
		if even {
			x[i] = first * float64(i+1)
		} else {
			x[i] = first * math.Pow(2, float64(i))
		}
	}
	return x
}

func logUniform(r *rand.Rand, low, high float64) float64 {
	return low * math.Pow(high/low, r.Float64())
}

// Draw draws a function of a family and the points to measure it at.
func Draw(r *rand.Rand, family string) *Truth {
	t := &Truth{Family: family, Parameters: []string{"n"}}
	least := 5
	switch family {
	case "polynomial 3", "polynomial 4":
		least = 7
	case "piecewise bend", "piecewise jump":
		least = 10
	}
	axes := [][]float64{grid(r, least)}
	switch {
	case slices.Contains(Two, family):
		t.Parameters = []string{"n", "p"}
		axes = append(axes, grid(r, 5))
	case slices.Contains(Three, family):
		t.Parameters = []string{"n", "p", "q"}
		axes = append(axes, grid(r, 5), grid(r, 5))
		for i := range axes {
			axes[i] = axes[i][:5]
		}
	}
	points := [][]float64{{}}
	for _, axis := range axes {
		var next [][]float64
		for _, p := range points {
			for _, v := range axis {
				next = append(next, append(slices.Clone(p), v))
			}
		}
		points = next
	}
	t.Points = points
	n := func() string { return term(r, "n") }
	p := func() string { return term(r, "p") }
	q := func() string { return term(r, "q") }
	low, high := axes[0][0], axes[0][len(axes[0])-1]
	scale := logUniform(r, 1e-3, 1e3)
	switch family {
	case "constant":
		t.sum(r, scale)
	case "linear":
		t.sum(r, scale, "n")
	case "logarithmic":
		t.sum(r, scale, "log2(n)")
	case "n log n":
		t.sum(r, scale, "n*log2(n)")
	case "1/n":
		t.sum(r, scale, "n^-1")
	case "polynomial 2":
		t.sum(r, scale, "n", "n^2")
	case "polynomial 3":
		t.sum(r, scale, "n", "n^2", "n^3")
	case "polynomial 4":
		t.sum(r, scale, "n", "n^2", "n^3", "n^4")
	case "pmnf 1 term":
		t.sum(r, scale, n())
	case "pmnf 2 terms":
		f, g := n(), n()
		for g == f {
			g = n()
		}
		t.sum(r, scale, f, g)
	case "power":
		t.set("c0*n^c1", scale, 0.2+2.8*r.Float64())
	case "exponential":
		t.set("c0*exp(c1*n)", scale, logUniform(r, 0.5, 3)/(high-low))
	case "piecewise bend":
		k := 2 + r.IntN(len(axes[0])-4)
		at := axes[0][k] + (axes[0][k+1]-axes[0][k])*(0.1+0.8*r.Float64())
		if k+2 >= len(axes[0])-1 {
			at = axes[0][k]
		}
		slope := scale / high
		t.set("c0 + c1*n + c2*max(0, n - c3)", scale*logUniform(r, 0.01, 0.5), slope, slope*logUniform(r, 1, 5), at)
	case "piecewise jump":
		k := 3 + r.IntN(len(axes[0])-5)
		at := (axes[0][k-1] + axes[0][k]) / 2
		c, slope := scale*logUniform(r, 0.01, 0.5), scale/high
		t.set("if(n < c4, c0 + c1*n, c2 + c3*n)", c, slope, c, slope*logUniform(r, 1.5, 4), at)
	case "sum":
		t.sum(r, scale, n(), p())
	case "product":
		t.sum(r, scale, n()+"*"+p())
	case "product and term":
		f, g := n(), p()
		t.sum(r, scale, f, f+"*"+g)
	case "product and other term":
		f, g := n(), p()
		t.sum(r, scale, n(), f+"*"+g)
	case "one matters":
		t.sum(r, scale, n())
	case "power of both":
		t.set("c0*n^c1*p^c2", scale, 0.2+2*r.Float64(), 0.2+1.5*r.Float64())
	case "sum of 3":
		t.sum(r, scale, n(), p(), q())
	case "product of 3":
		t.sum(r, scale, n()+"*"+p()+"*"+q())
	case "product of 2 and term":
		t.sum(r, scale, n()+"*"+p(), q())
	case "product of 3 and term":
		f, g, h := n(), p(), q()
		t.sum(r, scale, f, f+"*"+g+"*"+h)
	default:
		panic(family)
	}
	return t
}

// sum makes a constant plus terms, all of which contribute at the last point: the constant from a hundredth to
// a half of the whole, the terms within a factor of ten of each other.
func (t *Truth) sum(r *rand.Rand, scale float64, terms ...string) {
	form, c := "c0", []float64{scale}
	if len(terms) > 0 {
		c[0] *= logUniform(r, 0.01, 0.5)
	}
	last := t.Points[len(t.Points)-1]
	for i, text := range terms {
		form += fmt.Sprintf(" + c%d*%s", i+1, text)
		at := map[string]float64{}
		for k, name := range t.Parameters {
			at[name] = last[k]
			if text == "n^-1" {
				at[name] = t.Points[0][k]
			}
		}
		e, err := formula.Parse(text)
		if err != nil {
			panic(err)
		}
		v, err := e.Eval(at)
		if err != nil {
			panic(err)
		}
		share := 1.0
		if i > 0 {
			share = logUniform(r, 0.1, 1)
		}
		c = append(c, scale*share/v)
	}
	t.set(form, c...)
}

func (t *Truth) set(form string, c ...float64) {
	e, err := formula.Parse(form)
	if err != nil {
		panic(err)
	}
	values := map[string]float64{}
	for i, v := range c {
		values[fmt.Sprintf("c%d", i)] = v
	}
	bound := e.Bind(values)
	t.Form, t.text = e.String(), bound.String()
	if t.mean, err = bound.Func(t.Parameters...); err != nil {
		panic(err)
	}
}

// Samples measures the function: so many repetitions at every point, with normal relative errors.
func (t *Truth) Samples(r *rand.Rand, repetitions int, noise float64) *model.Samples {
	s := &model.Samples{Parameters: t.Parameters}
	for _, x := range t.Points {
		for range repetitions {
			s.X = append(s.X, x)
			s.Y = append(s.Y, t.mean(x)*(1+noise*r.NormFloat64()))
		}
	}
	return s
}

// Beyond is the point that lies so many times further than the last one, in all parameters.
func (t *Truth) Beyond(times float64) []float64 {
	x := slices.Clone(t.Points[len(t.Points)-1])
	for i := range x {
		x[i] *= times
	}
	return x
}

var coefficient = regexp.MustCompile(`\bc[0-9]+\b`)

// Same tells whether two forms are the same function of different coefficients: the same terms in any order.
func Same(a, b string) bool {
	normal := func(form string) string {
		terms := strings.Split(coefficient.ReplaceAllString(form, "c"), " + ")
		for i, t := range terms {
			factors := strings.Split(t, "*")
			slices.Sort(factors)
			terms[i] = strings.Join(factors, "*")
		}
		slices.Sort(terms)
		return strings.Join(terms, " + ")
	}
	// A constant that cannot be seen is left out.
	return normal(a) == normal(b) || normal(a) == "c + c*n" && normal(b) == "c*n"
}
