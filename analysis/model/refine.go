package model

import (
	"fmt"
	"strconv"

	"marple/analysis/formula"
)

// curve is a form with its coefficients fitted to a problem.
type curve struct {
	form         *formula.Expr
	coefficients []string
	c            []float64
	free         []int       // coefficients that the samples determine; the others are where the search left them
	covariance   [][]float64 // of the coefficients, per unit of the residual variance
	residuals    []float64   // weighted
	leverages    []float64
	exact        bool // no residuals but for rounding
	at           func(x []float64) float64
}

// newCurve fits a form, starting from c: Gauss-Newton steps, each by orthogonal columns, halved until they
// help. Forms that are linear in their coefficients take one step.
func newCurve(p *problem, form *formula.Expr, coefficients []string, c []float64) (*curve, error) {
	f, slopes, err := form.Gradient(coefficients, append(append([]string{}, coefficients...), p.names...)...)
	if err != nil {
		return nil, err
	}
	if len(coefficients) > mostColumns {
		return nil, fmt.Errorf("%d coefficients; at most %d can be fitted", len(coefficients), mostColumns)
	}
	v := &curve{form: form, coefficients: coefficients, c: append([]float64{}, c...)}
	input := make([]float64, len(c)+len(p.names))
	point := func(c, x []float64) []float64 {
		copy(input, c)
		copy(input[len(c):], x)
		return input
	}
	n := p.points()
	residuals := func(c []float64) ([]float64, float64) {
		r := make([]float64, n)
		for i, x := range p.d.x {
			r[i] = p.y[i] - p.root[i]*f(point(c, x))
		}
		return r, dot(r, r)
	}
	st, ones := newStack(n), make([]float64, n)
	column := make([]float64, n)
	for i := range ones {
		ones[i] = 1
	}
	r, e := residuals(v.c)
	if !finite(e) {
		return nil, fmt.Errorf("%s has no finite value at some points", form)
	}
	tangent := func() {
		st.reset(r)
		v.free = v.free[:0]
		for k, slope := range slopes {
			for i, x := range p.d.x {
				column[i] = p.root[i] * slope(point(v.c, x))
			}
			if st.push(column, ones) {
				v.free = append(v.free, k)
			}
		}
	}
	for progress := true; progress; {
		tangent()
		var step [mostColumns]float64
		st.coefficients(&step)
		progress = false
		for size := 1.0; size > 1e-6; size /= 2 {
			next := append([]float64{}, v.c...)
			for j, k := range v.free {
				next[k] += size * step[j]
			}
			if tried, less := residuals(next); less < e {
				progress = less < e*(1-1e-12)
				v.c, r, e = next, tried, less
				break
			}
		}
	}
	tangent()
	v.residuals, v.leverages = r, append([]float64{}, st.leverages()...)
	v.covariance = st.covariance(v.free, len(c))
	v.at = func(x []float64) float64 { return f(point(v.c, x)) }
	return v, nil
}

// covariance is (J'J)^-1 of the columns on the stack, in the places of n coefficients.
func (s *stack) covariance(places []int, n int) [][]float64 {
	k := s.depth
	inverse := make([][]float64, k) // of the upper triangle
	for j := range inverse {
		inverse[j] = make([]float64, k)
	}
	for col := range k {
		inverse[col][col] = 1 / s.upper[col][col]
		for row := col - 1; row >= 0; row-- {
			v := 0.0
			for i := row + 1; i <= col; i++ {
				v += s.upper[row][i] * inverse[i][col]
			}
			inverse[row][col] = -v / s.upper[row][row]
		}
	}
	out := make([][]float64, n)
	for i := range out {
		out[i] = make([]float64, n)
	}
	for i := range k {
		for j := range k {
			v := 0.0
			for m := max(i, j); m < k; m++ {
				v += inverse[i][m] * inverse[j][m]
			}
			out[places[i]][places[j]] = v
		}
	}
	return out
}

// tidy rounds the coefficients of a curve that fits exactly to as few digits as still do, and says whether it
// did fit exactly. Terms that contribute nothing are zero then.
func (v *curve) tidy(p *problem) bool {
	if e := dot(v.residuals, v.residuals) + p.pure; e > 1e-18*p.signal {
		return false
	}
	f, err := v.form.Func(append(append([]string{}, v.coefficients...), p.names...)...)
	if err != nil {
		return true
	}
	off := func(c []float64) bool {
		e := 0.0
		for i, x := range p.d.x {
			r := p.y[i] - p.root[i]*f(append(append([]float64{}, c...), x...))
			e += r * r
		}
		return !(e <= 4e-18*p.signal)
	}
	for k := range v.c {
		old := v.c[k]
		for digits := 0; digits <= 12; digits++ {
			if v.c[k] = 0; digits > 0 {
				v.c[k], _ = strconv.ParseFloat(strconv.FormatFloat(old, 'g', digits, 64), 64)
			}
			if !off(v.c) {
				break
			}
			v.c[k] = old
		}
	}
	return true
}
