package model

import "math"

// mostColumns is how many columns a hypothesis may have, derivatives by non-linear coefficients included.
const mostColumns = 8

// stack solves weighted least squares one column at a time (modified Gram-Schmidt), so that hypotheses that
// share columns share the work: push one column, try many on top of it, pop. Nothing is allocated on the way.
type stack struct {
	depth int
	q     [mostColumns][]float64     // orthonormal columns
	r     [mostColumns + 1][]float64 // what is left of the response after so many columns
	h     [mostColumns + 1][]float64 // leverage of each point on its own fitted value
	known int                        // up to which depth r and h are computed; they are when asked for
	rss   [mostColumns + 1]float64   // squares of r, but for rounding
	upper [mostColumns][mostColumns]float64
	z     [mostColumns]float64
}

func newStack(points int) *stack {
	s := &stack{}
	for i := range s.q {
		s.q[i] = make([]float64, points)
	}
	for i := range s.r {
		s.r[i], s.h[i] = make([]float64, points), make([]float64, points)
	}
	return s
}

// reset empties the stack and takes another response.
func (s *stack) reset(y []float64) {
	s.depth, s.known = 0, 0
	copy(s.r[0], y)
	clear(s.h[0])
	s.rss[0] = dot(y, y)
}

// push adds the column w*v; false if it is a combination of those there.
func (s *stack) push(w, v []float64) bool {
	k := s.depth
	q, size := s.q[k], 0.0
	for i := range q {
		q[i] = w[i] * v[i]
		size += q[i] * q[i]
	}
	for j := range k {
		g := dot(s.q[j], q)
		s.upper[j][k] = g
		subtract(q, g, s.q[j])
	}
	left := dot(q, q)
	if !(left > 1e-18*size) {
		return false
	}
	if left < 1e-4*size { // much was lost: once more
		for j := range k {
			g := dot(s.q[j], q)
			s.upper[j][k] += g
			subtract(q, g, s.q[j])
		}
		if left = dot(q, q); !(left > 1e-22*size) {
			return false
		}
	}
	norm := math.Sqrt(left)
	s.upper[k][k] = norm
	r, z := s.r[s.known], 0.0
	for i := range q {
		q[i] /= norm
		z += q[i] * r[i]
	}
	s.z[k] = z
	s.rss[k+1] = s.rss[k] - z*z
	s.depth++
	return true
}

// cut takes columns off until so many are left.
func (s *stack) cut(depth int) {
	s.depth = depth
	s.known = min(s.known, depth)
}

func (s *stack) pop() { s.cut(s.depth - 1) }

func (s *stack) compute() {
	for ; s.known < s.depth; s.known++ {
		q, z := s.q[s.known], s.z[s.known]
		r, h := s.r[s.known+1], s.h[s.known+1]
		for i, u := range q {
			r[i] = s.r[s.known][i] - z*u
			h[i] = s.h[s.known][i] + u*u
		}
	}
}

// residuals and leverages with all columns there.
func (s *stack) residuals() []float64 { s.compute(); return s.r[s.depth] }
func (s *stack) leverages() []float64 { s.compute(); return s.h[s.depth] }

// coefficients of the columns.
func (s *stack) coefficients(c *[mostColumns]float64) {
	for j := s.depth - 1; j >= 0; j-- {
		v := s.z[j]
		for k := j + 1; k < s.depth; k++ {
			v -= s.upper[j][k] * c[k]
		}
		c[j] = v / s.upper[j][j]
	}
}

func dot(a, b []float64) float64 {
	sum := 0.0
	b = b[:len(a)]
	for i, v := range a {
		sum += v * b[i]
	}
	return sum
}

func subtract(a []float64, factor float64, b []float64) {
	b = b[:len(a)]
	for i := range a {
		a[i] -= factor * b[i]
	}
}
