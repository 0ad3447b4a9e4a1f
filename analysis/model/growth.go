package model

import "math"

// Powers and exponentials are both f = exp(Σ b·along): along the logarithms of the parameters, or along the
// parameters themselves.

// along gives the columns of the exponent; nil where the parameters do not allow it.
func (s *search) along(k kind) [][]float64 {
	var columns [][]float64
	for p := range s.d.parameter {
		a := &s.d.parameter[p]
		v := a.shifted
		if k == power {
			v = a.logs
		}
		if v == nil {
			return nil
		}
		columns = append(columns, v)
	}
	return columns
}

// growth tries c0 * x^c1 * y^c2 ... (power) or c0 * exp(c1*x + c2*y ...) (exponential). A straight line in the
// response's logarithms gives the start.
func (s *search) growth(k kind) {
	sh := shape{kind: k}
	along := s.along(k)
	if !s.only(sh) || along == nil || !(s.least > 0) {
		return
	}
	logs, w := make([]float64, s.points()), make([]float64, s.points())
	for i, m := range s.mean {
		w[i] = s.root[i] * m // the error of the logarithm is the relative error
		logs[i] = w[i] * math.Log(m)
	}
	s.stack.reset(logs)
	pushed := s.stack.push(w, s.ones)
	for _, v := range along {
		pushed = pushed && s.stack.push(w, v)
	}
	if !pushed {
		return
	}
	var c [mostColumns]float64
	s.stack.coefficients(&c)
	price := map[kind]float64{power: pricePower, exponential: priceExponential}[k]
	if n := len(along); n > 1 {
		price = priceSum + float64(n)*price
	}
	s.descend(sh, along, append([]float64{}, c[1:len(along)+1]...), price)
}

// offsets tries c0 + c1*x^c2, or c0 + c1*exp(c2*x): the exponent is first looked for on a grid.
func (s *search) offsets(k kind) {
	sh := shape{kind: k, offset: true}
	along := s.along(k)
	if !s.only(sh) || along == nil || s.points() < 5 {
		return
	}
	price := pricePower + priceOffset
	if k == exponential {
		price = priceExponential + priceOffset
	}
	grid, columns := s.d.parameter[0].grid(k)
	best, least := -1, math.Inf(1)
	s.stack.reset(s.y)
	s.stack.push(s.root, s.ones)
	for i, v := range columns {
		if s.stack.push(s.root, v) {
			if e := dot(s.stack.residuals(), s.stack.residuals()); e < least {
				best, least = i, e
			}
			s.stack.pop()
		}
	}
	if best >= 0 {
		s.descend(sh, along, []float64{grid[best]}, float64(price))
	}
}

// descend takes Gauss-Newton steps in the exponents b, the other coefficients following, and judges the
// optimum.
func (s *search) descend(sh shape, along [][]float64, b []float64, price float64) {
	f, slope := make([]float64, s.points()), make([]float64, s.points())
	var c [mostColumns]float64
	first := 0 // position of f's coefficient
	if sh.offset {
		first = 1
	}
	// place solves for the other coefficients and gives the squared error.
	place := func(b []float64) float64 {
		for i := range f {
			e := 0.0
			for p, v := range along {
				e += b[p] * v[i]
			}
			f[i] = math.Exp(e)
		}
		s.stack.reset(s.y)
		if sh.offset && !s.stack.push(s.root, s.ones) || !s.stack.push(s.root, f) {
			return math.Inf(1)
		}
		s.stack.coefficients(&c)
		return dot(s.stack.residuals(), s.stack.residuals())
	}
	// lean adds the derivatives by b; the stack then stands for the hypothesis with all its freedom.
	lean := func() bool {
		scale := c[first]
		for _, v := range along {
			for i := range slope {
				slope[i] = scale * f[i] * v[i]
			}
			if !s.stack.push(s.root, slope) {
				return false
			}
		}
		return true
	}
	e := place(b)
	next := make([]float64, len(b))
	for range 40 {
		if math.IsInf(e, 1) || !lean() {
			return
		}
		s.stack.coefficients(&c)
		step := append([]float64{}, c[first+1:first+1+len(b)]...)
		size, better := 1.0, false
		for ; size > 1e-3 && !better; size /= 4 {
			for p := range b {
				next[p] = b[p] + size*step[p]
			}
			better = place(next) < e
		}
		if !better {
			break
		}
		moved := 0.0
		for p := range b {
			moved = max(moved, math.Abs(next[p]-b[p])/math.Abs(next[p]))
		}
		copy(b, next)
		if e = place(b); moved < 1e-14 {
			break
		}
	}
	if math.IsInf(place(b), 1) {
		return
	}
	coef, residuals := c, append([]float64{}, s.stack.residuals()...)
	if !lean() {
		return
	}
	// The residuals are the hypothesis', the leverages those of all its freedom.
	p := first + 1 + len(b)
	if p >= s.points() {
		return
	}
	for i := range b {
		a := &s.d.parameter[i]
		if sh.kind == power {
			coef[first] /= math.Pow(a.most, b[i])
			coef[first+1+i] = b[i]
		} else {
			rate := b[i] / (a.most - a.least)
			coef[first] *= math.Exp(-rate * a.most)
			coef[first+1+i] = rate
		}
	}
	for _, v := range coef[:p] {
		if !finite(v) {
			return
		}
	}
	if coef[first] != 0 {
		s.offer(candidate{shape: sh, p: p, coef: coef}, price, s.crossValidated(residuals, s.stack.leverages()))
	}
}

// ratio tries a straight line through the origin.
func (s *search) ratio() {
	a := &s.d.parameter[0]
	i := a.column(term{1, 1, 0})
	if i < 0 || !s.only(shape{kind: ratio}) {
		return
	}
	s.stack.reset(s.y)
	if s.stack.push(s.root, a.values(i)) {
		c := candidate{shape: shape{kind: ratio}, p: 1}
		s.stack.coefficients(&c.coef)
		c.coef[0] /= a.columns[i].scale
		s.offer(c, priceRatio, s.crossValidated(s.stack.residuals(), s.stack.leverages()))
	}
}

// bends tries two straight lines that meet.
func (s *search) bends() {
	if !s.only(shape{kind: bend}) || s.points() < 6 {
		return
	}
	x := s.d.x
	for k := 2; k <= s.points()-2; k++ {
		s.bendAt(x[k-1][0])
		left, right := s.line(0, k), s.line(k, s.points())
		if at := (right[0] - left[0]) / (left[1] - right[1]); at > x[k-1][0] && at < x[k][0] {
			s.bendAt(at)
		}
	}
}

// bendAt tries two straight lines that meet at a place.
func (s *search) bendAt(at float64) {
	a := &s.d.parameter[0]
	straight := a.column(term{1, 1, 0})
	if straight < 0 {
		return // the parameter's values are too far apart for one
	}
	hinge, moved := make([]float64, s.points()), make([]float64, s.points())
	for i, x := range a.x {
		if x > at {
			hinge[i], moved[i] = x-at, 1
		}
	}
	s.stack.reset(s.y)
	if straight < 0 || !s.stack.push(s.root, s.ones) || !s.stack.push(s.root, a.values(straight)) || !s.stack.push(s.root, hinge) {
		return
	}
	c := candidate{shape: shape{kind: bend}, p: 4}
	s.stack.coefficients(&c.coef)
	c.coef[1] /= a.columns[straight].scale
	c.coef[3] = at
	residuals := append([]float64{}, s.stack.residuals()...)
	s.stack.push(s.root, moved) // the direction in which the place moves the curve, for the leverages
	s.offer(c, priceBend, s.crossValidated(residuals, s.stack.leverages()))
}

// line fits a straight line to points from first up to but not with end.
func (s *search) line(first, end int) [2]float64 {
	var w, wx, wy float64
	for i := first; i < end; i++ {
		r := s.root[i] * s.root[i]
		w += r
		wx += r * s.d.x[i][0]
		wy += r * s.mean[i]
	}
	x, y := wx/w, wy/w
	var above, below float64
	for i := first; i < end; i++ {
		r, dx := s.root[i]*s.root[i], s.d.x[i][0]-x
		above += r * dx * (s.mean[i] - y)
		below += r * dx * dx
	}
	slope := above / below
	return [2]float64{y - slope*x, slope}
}

// pieces are the terms that either side of a jump may have.
var pieces = []term{{0, 1, 0}, {1, 1, 0}, {1, 1, 1}, {0, 1, 1}, {1, 2, 0}, {3, 2, 0}, {2, 1, 0}, {3, 1, 0}}

// jumps tries two pieces that do not meet, each a constant or a term on top of one.
func (s *search) jumps() {
	if !s.only(shape{kind: jump}) {
		return
	}
	for k := 3; k <= s.points()-3; k++ {
		s.jumpAt(k)
	}
}

// jumpAt tries pieces of the first k points and of the others.
func (s *search) jumpAt(k int) {
	if k < 3 || k > s.points()-3 {
		return
	}
	left, right := s.piece(0, k), s.piece(k, s.points())
	for _, l := range left {
		for _, r := range right {
			c := candidate{shape: shape{kind: jump, count: 2, split: k}, p: l.p + r.p + 1}
			c.shape.products[0], c.shape.products[1] = l.product, r.product
			if c.p >= s.points() {
				continue
			}
			copy(c.coef[:], l.coef[:l.p])
			copy(c.coef[l.p:], r.coef[:r.p])
			c.coef[l.p+r.p] = (s.d.x[k-1][0] + s.d.x[k][0]) / 2
			s.offer(c, priceJump+(l.price+r.price)/2, l.error+r.error)
		}
	}
}

type piece struct {
	product      product
	p            int
	coef         [2]float64
	error, price float64
}

// piece gives the best two fits on one side of a jump.
func (s *search) piece(first, end int) []piece {
	a := &s.d.parameter[0]
	part := problem{n: s.n[first:end], spread: s.spread[first:end]}
	root := s.root[first:end]
	st := newStack(end - first)
	var list []piece
	for _, t := range pieces {
		p := piece{product: nothing, p: 1}
		st.reset(s.y[first:end])
		st.push(root, s.ones[first:end])
		scale := 1.0
		if t.above != 0 || t.log != 0 {
			i := a.column(t)
			if i < 0 || end-first < 3 || !st.push(root, a.values(i)[first:end]) {
				continue
			}
			p.product, p.p, p.price, scale = single(0, i), 2, t.price(), a.columns[i].scale
		}
		var c [mostColumns]float64
		st.coefficients(&c)
		p.coef = [2]float64{c[0], c[1] / scale}
		p.error = part.crossValidated(st.residuals(), st.leverages())
		list = append(list, p)
	}
	return list
}
