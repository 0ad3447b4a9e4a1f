package model

import (
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// The choice among hypotheses. Each is judged by
//
//	(N - thrift*p) * ln(E/S) + price
//
// E is the leave-one-out cross-validated sum of squared errors (closed form, from the leverages), S the sum of
// squares of the response itself, both in units of the weights; N samples, p coefficients, and price what the
// hypothesis costs for being complicated or unlikely, in the same units as twice a log-likelihood: 2*ln of how
// many times less often such a function is expected to be the truth. The lowest wins.
const thrift = 2.0 / 3

// Prices. A family of many members divides its share among them.
const (
	priceConstant    = 0
	priceLinear      = 1
	priceRatio       = 3
	priceLogarithm   = 2 // also n log n
	pricePower       = 2
	priceExponential = 4
	priceWhole       = 6  // single terms: whole and half powers
	priceTerm        = 7  // all others
	pricePolynomial  = 4  // complete, of degree 2; 1 more for each degree
	priceSparse      = 12 // polynomials with gaps
	pricePair        = 11 // beside half of the prices of its two terms
	priceOffset      = 8  // power or exponential on top of a constant, beside the price without
	priceBend        = 6
	priceJump        = 10
	priceSum         = 1 // of parameters, or a product; beside the prices of the terms
	priceMixed       = 2 // for each product beyond the first two
	priceNegative    = 6 // for each term that is subtracted, in a sum of several
	priceNegativeC   = 2 // for a negative constant
	priceBelowZero   = 6 // when nothing measured is negative, but four times beyond the range is
)

// kind tells how a shape is computed.
type kind uint8

const (
	sum         kind = iota // constant + products of terms, linear in its coefficients
	power                   // c0 * x^c1 [* y^c2 ...], or c0 + c1*x^c2
	exponential             // c0 * exp(c1*x), or c0 + c1*exp(c2*x)
	bend                    // two straight lines that meet
	jump                    // two pieces that do not
	ratio                   // c0*x: a straight line through the origin
)

// product says which column of each parameter it takes, -1 for none.
type product [MaxParameters]int16

var nothing = product{-1, -1, -1, -1}

const mostProducts = 4

// shape is a hypothesis without its coefficients.
type shape struct {
	kind     kind
	offset   bool // of power and exponential
	count    int  // products of a sum; for a jump, the first is the left piece's term and the second the right's
	products [mostProducts]product
	split    int // points left of a jump
}

// is tells whether two shapes differ at most in where a jump is.
func (s shape) is(t shape) bool {
	s.split, t.split = 0, 0
	return s == t
}

// candidate is a shape that has been tried.
type candidate struct {
	shape shape
	p     int
	error float64 // E
	price float64 // of the shape
	signs float64 // price of its coefficients' signs
	score float64
	coef  [mostColumns]float64 // of the shape's form, in the order of its text
}

// problem is a response to be modelled.
type problem struct {
	d            *design
	names        []string
	n            []float64 // samples at each point
	mean, within []float64 // their mean and sum of squared differences from it
	least        float64   // of the means

	scale  []float64 // the standard deviation of one sample, but for a factor common to all
	root   []float64 // sqrt(n)/scale
	y      []float64 // root*mean
	spread []float64 // within/scale²
	pure   float64   // sum of spread
	N      float64   // samples
	signal float64   // S
	exact  float64   // E/S below which hypotheses are equally right
}

// exact is what rounding in the computer leaves of E/S.
const exact = 1e-20

// rounding is what is left of E/S by the rounding of figures that were printed with few digits: from 5 to 9.
// Fewer are more likely exact as they are.
func rounding(values []float64) float64 {
	most := 0
	for _, v := range values {
		text := strconv.FormatFloat(v, 'e', -1, 64)
		mantissa, _, _ := strings.Cut(strings.TrimPrefix(text, "-"), "e")
		most = max(most, len(strings.Replace(mantissa, ".", "", 1)))
	}
	if most < 5 || most > 9 {
		return exact
	}
	return 0.1 * math.Pow(10, -2*float64(most))
}

func newProblem(d *design, names []string, cells []cell) *problem {
	p := &problem{d: d, names: names, least: math.Inf(1), exact: exact}
	informative := false
	for _, c := range cells {
		mean, within := summary(c.y)
		p.n = append(p.n, float64(len(c.y)))
		p.mean = append(p.mean, mean)
		p.within = append(p.within, within)
		p.least = min(p.least, mean)
		informative = informative || within > exact*mean*mean*float64(len(c.y))
	}
	if !informative { // samples that are all alike tell no more than one of them
		for i := range p.n {
			p.n[i], p.within[i] = 1, 0
		}
		p.exact = rounding(p.mean)
	}
	return p
}

// weigh sets the weights: scale is the standard deviation of a sample at each point, up to a factor.
func (p *problem) weigh(scale []float64) {
	p.scale = scale
	p.root, p.y, p.spread = make([]float64, len(scale)), make([]float64, len(scale)), make([]float64, len(scale))
	p.pure, p.N, p.signal = 0, 0, 0
	for i, s := range scale {
		p.root[i] = math.Sqrt(p.n[i]) / s
		p.y[i] = p.root[i] * p.mean[i]
		p.spread[i] = p.within[i] / (s * s)
		p.pure += p.spread[i]
		p.N += p.n[i]
		p.signal += p.y[i] * p.y[i]
	}
	if p.signal += p.pure; p.signal == 0 {
		p.signal = 1 // nothing but zeros
	}
}

// points is how many different points there are.
func (p *problem) points() int { return len(p.n) }

// search tries hypotheses on a problem and keeps the best.
type search struct {
	*problem
	only    func(shape) bool // which shapes are wanted
	stack   *stack
	ones    []float64
	scratch []float64
	best    []candidate          // by score
	limit   [mostColumns]float64 // E from which on a hypothesis of so many coefficients has no chance
	simple  bool                 // try single terms only
}

const keep = 12 // candidates

func newSearch(p *problem, only func(shape) bool) *search {
	s := &search{problem: p, only: only, stack: newStack(p.points()), ones: make([]float64, p.points()), scratch: make([]float64, p.points())}
	for i := range s.ones {
		s.ones[i] = 1
	}
	s.clear()
	return s
}

// clear forgets all candidates.
func (s *search) clear() {
	s.best = nil
	for p := range s.limit {
		s.limit[p] = math.Inf(1)
	}
}

// crossValidated is E for residuals and leverages of the points' means. Each sample has its share of its
// point's leverage.
func (p *problem) crossValidated(r, h []float64) float64 {
	e := 0.0
	for i, v := range r {
		left := max(1-h[i]/p.n[i], 0.02)
		e += (v*v + p.spread[i]) / (left * left)
	}
	return e
}

// judge scores the sum on the stack at a price, and keeps it if it is good.
func (s *search) judge(price float64, products ...product) {
	p := len(products) + 1
	if p >= s.points() && p > 1 {
		return
	}
	if s.stack.rss[s.stack.depth]+s.pure > s.limit[p]+1e-12*s.signal {
		return // cross-validation only makes it worse; rss is known up to rounding
	}
	c := candidate{shape: shape{kind: sum, count: len(products)}, p: p}
	copy(c.shape.products[:], products)
	s.offer(c, price, s.crossValidated(s.stack.residuals(), s.stack.leverages()))
}

// score is what E is worth for p coefficients at a price.
func (p *problem) score(e float64, coefficients int, price float64) float64 {
	return (p.N-thrift*float64(coefficients))*math.Log(e/p.signal+p.exact) + price
}

// offer keeps a candidate if it is among the best.
func (s *search) offer(c candidate, price, e float64) {
	full := len(s.best) == keep
	c.error, c.price, c.score = e, price, s.score(e, c.p, price)
	if math.IsNaN(c.score) || full && c.score >= s.best[keep-1].score || !s.only(c.shape) {
		return
	}
	if c.shape.kind == sum {
		c.signs = s.finishSum(&c)
		c.score += c.signs
	}
	if same := slices.IndexFunc(s.best, func(b candidate) bool { return b.shape.is(c.shape) }); same >= 0 {
		if s.best[same].score <= c.score {
			return
		}
		s.best = slices.Delete(s.best, same, same+1)
	}
	at := 0
	for at < len(s.best) && s.best[at].score <= c.score {
		at++
	}
	if at == keep {
		return
	}
	s.best = slices.Insert(s.best[:min(len(s.best), keep-1)], at, c)
	if len(s.best) == keep {
		for p := range s.limit {
			s.limit[p] = s.signal * math.Exp(s.best[keep-1].score/(s.N-thrift*float64(p)))
		}
	}
}

// finishSum takes the coefficients of a sum from the stack, and gives the price of those that are seldom seen
// in costs.
func (s *search) finishSum(c *candidate) float64 {
	s.stack.coefficients(&c.coef)
	price, ahead := 0.0, c.coef[0]
	if c.coef[0] < 0 {
		price += priceNegativeC
	}
	for i, f := range c.shape.products[:c.shape.count] {
		v := &c.coef[i+1]
		if *v < 0 && c.shape.count > 1 {
			price += priceNegative
		}
		scale := 1.0
		for p := range s.d.parameter {
			if f[p] >= 0 {
				scale *= s.d.parameter[p].columns[f[p]].scale
			}
		}
		ahead += *v * s.ahead(f)
		*v /= scale
	}
	if ahead < 0 && s.least >= 0 {
		price += priceBelowZero
	}
	return price
}

func (s *search) ahead(f product) float64 {
	v := 1.0
	for p := range s.d.parameter {
		if f[p] >= 0 {
			v *= s.d.parameter[p].columns[f[p]].ahead
		}
	}
	return v
}

// column is a product's column; it lies in scratch where several terms are multiplied.
func (s *search) column(f product) []float64 {
	var v []float64
	for p := range s.d.parameter {
		if f[p] < 0 {
			continue
		}
		u := s.d.parameter[p].values(int(f[p]))
		if v == nil {
			v = u
			continue
		}
		for i := range u {
			s.scratch[i] = v[i] * u[i]
		}
		v = s.scratch
	}
	return v
}

func single(parameter, column int) product {
	f := nothing
	f[parameter] = int16(column)
	return f
}

// run tries everything. The stack holds the constant while sums are tried.
func (s *search) run() {
	s.stack.reset(s.y)
	s.stack.push(s.root, s.ones)
	s.judge(priceConstant)
	if len(s.names) == 0 {
		return
	}
	if len(s.names) == 1 {
		s.terms(0)
		s.polynomials()
	} else {
		s.several()
	}
	s.growth(power)
	s.growth(exponential)
	if len(s.names) > 1 && !s.simple && !s.adequate() {
		s.stack.reset(s.y)
		s.stack.push(s.root, s.ones)
		s.mix()
	}
	if len(s.names) == 1 {
		s.ratio()
	}
	if len(s.names) == 1 && !s.simple {
		s.offsets(power)
		s.offsets(exponential)
		s.bends()
		s.jumps()
	}
}

// again judges candidates anew, after the weights or the points have changed.
func (s *search) again(list []candidate) {
	s.clear()
	for _, c := range list {
		switch sh := c.shape; sh.kind {
		case sum:
			s.stack.reset(s.y)
			s.stack.push(s.root, s.ones)
			s.try(c.price, sh.products[:sh.count]...)
		case ratio:
			s.ratio()
		case bend:
			s.bendAt(c.coef[3])
		case jump:
			at := c.coef[c.p-1]
			s.jumpAt(sort.Search(s.points(), func(i int) bool { return s.d.x[i][0] >= at }))
		default:
			s.descend(sh, s.along(sh.kind), s.exponents(&c), c.price)
		}
	}
}

// exponents of a power or exponential, along the columns that along gives.
func (s *search) exponents(c *candidate) []float64 {
	first := 1
	if c.shape.offset {
		first = 2
	}
	b := slices.Clone(c.coef[first:c.p])
	if c.shape.kind == exponential {
		for p := range b {
			b[p] *= s.d.parameter[p].most - s.d.parameter[p].least
		}
	}
	return b
}

// fitted are a candidate's values at all points.
func (s *search) fitted(c *candidate) []float64 {
	v := make([]float64, s.points())
	for i, x := range s.d.x {
		v[i] = s.value(c, x)
	}
	return v
}

// value of a candidate somewhere.
func (s *search) value(c *candidate, x []float64) float64 {
	term := func(f product) float64 {
		v := 1.0
		for p := range s.d.parameter {
			if f[p] >= 0 {
				v *= s.d.parameter[p].columns[f[p]].term.at(x[p])
			}
		}
		return v
	}
	k := c.coef[:]
	constant := 0.0
	if c.shape.offset {
		constant, k = k[0], k[1:]
	}
	switch c.shape.kind {
	case power:
		v := k[0]
		for p := range x {
			v *= math.Pow(x[p], k[1+p])
		}
		return constant + v
	case exponential:
		e := 0.0
		for p := range x {
			e += k[1+p] * x[p]
		}
		return constant + k[0]*math.Exp(e)
	case ratio:
		return k[0] * x[0]
	case bend:
		return k[0] + k[1]*x[0] + k[2]*max(0, x[0]-k[3])
	case jump:
		f := c.shape.products[0]
		if x[0] >= k[c.p-1] {
			if f != nothing {
				k = k[1:]
			}
			f, k = c.shape.products[1], k[1:]
		}
		if f == nothing {
			return k[0]
		}
		return k[0] + k[1]*term(f)
	}
	v := k[0]
	for i, f := range c.shape.products[:c.shape.count] {
		v += k[i+1] * term(f)
	}
	return v
}

// tried is how many columns of a parameter are worth trying. Falling ones only where the response falls.
func (s *search) tried(p int) int {
	if s.falls(p) {
		return s.d.parameter[p].fourth
	}
	return s.d.parameter[p].rising
}

// falls tells whether the response is higher at the least value of a parameter than later on.
func (s *search) falls(p int) bool {
	if s.d.parameter[p].least <= 0 {
		return false
	}
	for _, points := range s.d.slices(p) {
		first := s.mean[points[0]]
		for _, i := range points {
			if first > s.mean[i]+0.1*math.Abs(s.mean[i]) {
				return true
			}
		}
	}
	return false
}

// price of a term by itself.
func (t term) price() float64 {
	switch t {
	case term{1, 1, 0}:
		return priceLinear
	case term{0, 1, 1}, term{1, 1, 1}:
		return priceLogarithm
	}
	if t.below <= 2 {
		return priceWhole
	}
	return priceTerm
}

// terms tries all single terms of a parameter, and all pairs.
func (s *search) terms(p int) {
	a := &s.d.parameter[p]
	n := s.tried(p)
	for i := range n {
		c := &a.columns[i]
		if !s.stack.push(s.root, a.values(i)) {
			continue
		}
		one := single(p, i)
		s.judge(c.term.price(), one)
		if s.points() > 3 && !s.simple {
			for j := range i {
				other := &a.columns[j]
				if !s.stack.push(s.root, a.values(j)) {
					continue
				}
				if !(c.term.isWhole() && other.term.isWhole()) {
					s.judge(pricePair+(c.term.price()+other.term.price())/2, one, single(p, j))
				}
				s.stack.pop()
			}
		}
		s.stack.pop()
	}
}

// isWhole tells whether a term belongs into a polynomial.
func (t term) isWhole() bool { return t.below == 1 && t.log == 0 && t.above > 0 }

// polynomials tries x to x^4 in all combinations of two and more, and x^4 alone.
func (s *search) polynomials() {
	a := &s.d.parameter[0]
	var columns []int
	for degree := 1; degree <= 4; degree++ {
		i := a.column(term{degree, 1, 0})
		if i < 0 {
			return
		}
		columns = append(columns, i)
	}
	for set := 1; set < 16; set++ {
		var products []product
		degree, pushed := 0, true
		for d, c := range columns {
			if set&(1<<d) != 0 {
				products = append(products, single(0, c))
				pushed = pushed && s.stack.push(s.root, a.values(c))
				degree = d + 1
			}
		}
		price := priceSparse + float64(len(products))
		switch {
		case set == 8:
			price = priceWhole
		case len(products) == degree:
			price = pricePolynomial + float64(degree-2)
		}
		if pushed && (len(products) > 1 || set == 8) {
			s.judge(price, products...)
		}
		s.stack.cut(1)
	}
}
