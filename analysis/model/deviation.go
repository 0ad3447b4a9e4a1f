package model

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"marple/analysis/formula"
)

// Proportional is the family of deviations that are a factor times (a power of) the mean.
const Proportional = "proportional"

// scatter is a standard deviation measured at a point from so many samples.
type scatter struct {
	x         []float64
	n         float64
	deviation float64
	mean      float64 // of the model there
}

// fewestScatters and scatterSamples are how many standard deviations, from how many residuals each, it takes
// to model the deviation by itself.
const (
	fewestScatters = 5
	scatterSamples = 6
)

// scatters are the deviations of repeated samples, or, where little was repeated, those of the residuals of
// neighbouring points.
func scatters(p *problem, at func(x []float64) float64) (list []scatter, from string) {
	repeated := 0
	for i, n := range p.n {
		if n >= 2 {
			list = append(list, scatter{p.d.x[i], n, math.Sqrt(p.within[i]/(n-1)) / unbiased(n), at(p.d.x[i])})
			repeated++
		}
	}
	if p.freedom() >= 8 && 2*repeated >= p.points() {
		return list, "repetitions"
	}
	if len(p.names) > 1 || p.points() < fewestScatters*scatterSamples {
		return nil, "residuals"
	}
	list = nil
	size := max(scatterSamples, p.points()/20)
	for first := 0; first+size <= p.points(); first += size {
		end := first + size
		if p.points()-end < size {
			end = p.points()
		}
		s := scatter{x: make([]float64, 1)}
		squares := 0.0
		for i := first; i < end; i++ {
			r := p.mean[i] - at(p.d.x[i])
			squares += p.n[i]*r*r + p.within[i]
			s.n += p.n[i]
			s.x[0] += p.n[i] * p.d.x[i][0]
		}
		s.x[0] /= s.n
		s.mean = at(s.x)
		s.deviation = math.Sqrt(squares/s.n) / unbiased(s.n+1)
		list = append(list, s)
		if end == p.points() {
			break
		}
	}
	return list, "residuals"
}

// unbiased is what the standard deviation of n normal samples must be divided by to be right on average.
func unbiased(n float64) float64 {
	above, _ := math.Lgamma(n / 2)
	below, _ := math.Lgamma((n - 1) / 2)
	return math.Sqrt(2/(n-1)) * math.Exp(above-below)
}

// deviation models how samples scatter around a mean that is already modelled. exponent is the power of the
// mean with which the scatter grew in the search, sigma its factor.
func (f *Fitter) deviation(p *problem, mean *formula.Expr, at func(x []float64) float64, exponent, sigma float64) (*Deviation, error) {
	list, from := scatters(p, at)
	proportional := func(factor, exponent float64) (*Deviation, error) {
		d := &Deviation{Family: Proportional, From: from}
		if factor == 0 || exponent == 0 {
			d.Family = Constant
		}
		text := number(factor)
		if v, err := mean.Eval(nil); err == nil { // the mean is constant
			text, exponent = number(factor*math.Pow(math.Abs(v), exponent)), 0
		}
		switch {
		case !finite(factor):
			return nil, errors.New("the values are too extreme to compute with")
		case exponent == 1 && factor != 0:
			text += "*(" + mean.String() + ")"
		case exponent != 0 && factor != 0:
			text += "*(" + mean.String() + ")^" + number(exponent)
		}
		var err error
		if d.Expression, err = formula.Parse(text); err == nil {
			d.Expression = d.Expression.Simplify()
		}
		return d, err
	}
	if len(list) < fewestScatters {
		return proportional(sigma, exponent)
	}
	factor := proportion(list)
	if factor == 0 {
		return proportional(0, 0)
	}
	best := f.fitScatters(p.names, list, factor)
	if best == nil {
		return proportional(factor, 1)
	}
	families, _ := best.shape.families(best.d)
	d := &Deviation{Family: families[0], From: from}
	var err error
	d.Expression, err = best.expression(best.candidate)
	return d, err
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// chosen is a candidate with the problem it belongs to.
type chosen struct {
	*problem
	candidate
}

// weighScatters sets the weights: a standard deviation of n samples is known to 1/sqrt(2(n-1)) of itself.
func weighScatters(p *problem, list []scatter, at func(i int) float64) {
	scale := make([]float64, len(list))
	for i, s := range list {
		scale[i] = at(i)
		p.n[i] = s.n
		p.within[i] = scale[i] * scale[i] * s.n / 2
	}
	p.weigh(scale)
}

// proportion is the best factor between deviation and mean.
func proportion(list []scatter) float64 {
	above, below := 0.0, 0.0
	for _, s := range list {
		if s.mean != 0 {
			above += (s.n - 1) * s.deviation / math.Abs(s.mean)
			below += s.n - 1
		}
	}
	return above / max(below, 1)
}

// deviance is minus twice the logarithm of the likelihood of standard deviations.
func deviance(list []scatter, at func(i int) float64) float64 {
	d := 0.0
	for i, s := range list {
		v, seen := at(i), s.deviation*unbiased(s.n)
		d += (s.n - 1) * (2*math.Log(v) + seen*seen/(v*v))
	}
	return d
}

// fitScatters chooses a simple function for deviations; nil if a factor of the mean does as well.
func (f *Fitter) fitScatters(names []string, list []scatter, factor float64) *chosen {
	cells := make([]cell, len(list))
	for i, s := range list {
		cells[i] = cell{s.x, []float64{s.deviation}}
	}
	d := f.design(cells)
	p := newProblem(d, names, cells)
	// At first the deviations are weighed by themselves as far as they can be trusted, else by the means.
	weighScatters(p, list, func(i int) float64 {
		own, usual := list[i].deviation, max(factor*math.Abs(list[i].mean), 1e-300)
		if own <= 0 {
			return usual
		}
		trust := list[i].n / (list[i].n + 10)
		return math.Exp(trust*math.Log(own) + (1-trust)*math.Log(usual))
	})
	s := newSearch(p, func(sh shape) bool {
		return !sh.offset && sh.kind != bend && sh.kind != jump && (sh.count < 2 || len(names) == 1 && onlyWhole(sh, d))
	})
	s.simple = true
	s.run()
	if len(s.best) == 0 {
		return nil
	}
	for i, v := range s.fitted(&s.best[0]) {
		p.scale[i] = max(v, p.scale[i]/10)
	}
	weighScatters(p, list, func(i int) float64 { return p.scale[i] })
	s.again(s.best)
	var best *chosen
	least := deviance(list, func(i int) float64 { return factor * math.Abs(list[i].mean) })
	for _, c := range s.best {
		fitted := s.fitted(&c)
		if slices.ContainsFunc(fitted, func(v float64) bool { return v <= 0 }) {
			continue
		}
		if v := deviance(list, func(i int) float64 { return fitted[i] }) + c.price + 2 + 2*float64(c.p-1); v < least {
			best, least = &chosen{p, c}, v
		}
	}
	return best
}

func onlyWhole(sh shape, d *design) bool {
	for _, f := range sh.products[:sh.count] {
		if !d.parameter[0].columns[f[0]].term.isWhole() {
			return false
		}
	}
	return true
}

// expression is a candidate with its coefficients in place.
func (p *problem) expression(c candidate) (*formula.Expr, error) {
	form, values, err := p.form(c)
	if err != nil {
		return nil, err
	}
	return form.Bind(values).Simplify(), nil
}

// form is a candidate's expression with named coefficients, and their values.
func (p *problem) form(c candidate) (*formula.Expr, map[string]float64, error) {
	pre := prefix(p.names)
	form, err := formula.Parse(c.shape.text(p.d, p.names, pre))
	values := map[string]float64{}
	for i, v := range c.coef[:c.p] {
		values[fmt.Sprintf("%s%d", pre, i)] = v
	}
	return form, values, err
}
