package model

import (
	"math"
	"math/rand/v2"
	"slices"

	"marple/analysis/formula"
)

// A form that somebody wrote may have coefficients inside powers, exponentials and conditions, from most values of
// which the steps of newCurve lead nowhere. So many values of those are tried, the others computed for each, and
// the best tries pursued.
const (
	mostTried   = 1000
	mostPursued = 8
	thresholds  = 8 // between values of a parameter
)

// pursue fits a form from several starting points.
func pursue(p *problem, form *formula.Expr, coefficients []string) (*curve, error) {
	starts, err := starts(p, form, coefficients)
	if err != nil {
		return nil, err
	}
	var best *curve
	var problem error
	for _, c := range starts {
		v, err := newCurve(p, form, coefficients, c)
		if err != nil {
			problem = err
			continue
		}
		if best == nil || dot(v.residuals, v.residuals) < dot(best.residuals, best.residuals)*(1-1e-9) {
			best = v
		}
	}
	if best == nil {
		return nil, problem
	}
	return best, nil
}

// starts are the values of coefficients to begin with, the most promising first.
func starts(p *problem, form *formula.Expr, coefficients []string) ([][]float64, error) {
	f, slopes, err := form.Gradient(coefficients, append(slices.Clone(coefficients), p.names...)...)
	if err != nil {
		return nil, err
	}
	n := len(coefficients)
	ones := slices.Repeat([]float64{1}, n)
	linear := linearOnes(p, slopes, n)
	if n > mostColumns || !slices.Contains(linear, false) {
		return [][]float64{ones}, nil
	}
	type start struct {
		c     []float64
		error float64
	}
	list := []start{}
	some := min(p.points(), mostSearched) // of the points
	point := func(i int) int { return i * (p.points() - 1) / max(some-1, 1) }
	st, unit := newStack(some), slices.Repeat([]float64{1}, some)
	left, column := make([]float64, some), make([]float64, some)
	for _, c := range append(guesses(p, linear), ones) {
		for k := range c {
			if linear[k] {
				c[k] = 0
			}
		}
		for i := range left {
			at := point(i)
			left[i] = p.y[at] - p.root[at]*f(append(slices.Clone(c), p.d.x[at]...))
		}
		if e := dot(left, left); !finite(e) {
			continue
		}
		st.reset(left)
		var free []int
		for k, slope := range slopes {
			for i := range column {
				at := point(i)
				column[i] = p.root[at] * slope(append(slices.Clone(c), p.d.x[at]...))
			}
			if linear[k] && finite(dot(column, column)) && st.push(column, unit) {
				free = append(free, k)
			}
		}
		var found [mostColumns]float64
		st.coefficients(&found)
		for j, k := range free {
			c[k] = found[j]
		}
		list = append(list, start{c, dot(st.residuals(), st.residuals())})
	}
	slices.SortStableFunc(list, func(a, b start) int {
		switch {
		case a.error < b.error:
			return -1
		case a.error > b.error:
			return 1
		}
		return 0
	})
	out := [][]float64{}
	for _, s := range list[:min(len(list), mostPursued)] {
		out = append(out, s.c)
	}
	return append(out, slices.Repeat([]float64{1}, n)), nil
}

// linearOnes finds coefficients that the form is a sum of multiples of: the slopes by them do not depend on any of
// them.
func linearOnes(p *problem, slopes []func(x []float64) float64, n int) []bool {
	linear := make([]bool, n)
	for k := range linear {
		linear[k] = true
		a, b := slices.Repeat([]float64{1.25}, n), slices.Repeat([]float64{1.25}, n)
		for j, is := range linear {
			if is {
				b[j] = 2.375
			}
		}
		for j, is := range linear {
			if !is {
				continue
			}
			for _, x := range p.d.x {
				u, v := slopes[j](append(slices.Clone(a), x...)), slopes[j](append(slices.Clone(b), x...))
				linear[k] = linear[k] && math.Abs(u-v) <= 1e-12*math.Abs(u)
			}
		}
	}
	return linear
}

// guesses are values of the coefficients that are not linear: small numbers, as exponents are, and the sizes of the
// parameters and their inverses, as thresholds and rates are.
func guesses(p *problem, linear []bool) (list [][]float64) {
	values := []float64{1, 2, 0.5, 3, -1, -0.5, 0.1, -0.1, 1.5, 10}
	for q := range p.d.parameter {
		a := &p.d.parameter[q]
		middle := a.least + (a.most-a.least)/2
		sizes := []float64{a.least, a.most, 1 / a.most, 1 / middle, -1 / middle, 3 / a.most, -3 / a.most}
		met := slices.Compact(slices.Sorted(slices.Values(a.x)))
		for i := range min(len(met)-1, thresholds) {
			k := i * (len(met) - 1) / min(len(met)-1, thresholds)
			sizes = append(sizes, met[k]+(met[k+1]-met[k])/2)
		}
		values = append(values, slices.DeleteFunc(sizes, func(v float64) bool { return !finite(v) || v == 0 })...)
	}
	count, all := 0, 1.0
	for _, is := range linear {
		if !is {
			count++
			all *= float64(len(values))
		}
	}
	random := rand.New(rand.NewPCG(1, 1))
	for i := range int(min(all, mostTried)) {
		c := make([]float64, len(linear))
		for k, is := range linear {
			switch {
			case is:
			case all <= mostTried:
				c[k] = values[i%len(values)]
				i /= len(values)
			default:
				c[k] = values[random.IntN(len(values))]
			}
		}
		list = append(list, c)
	}
	return list
}
