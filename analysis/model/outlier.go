package model

import (
	"math"
	"slices"
)

// An outlier is a sample that the others contradict: among repetitions, one far from their median; where
// nothing was repeated, one without which a simple function fits so much better that an error in this sample
// is the likelier explanation.

// mostOut is the share of samples that may be outliers; more than that is not an accident.
const mostOut = 0.25

// A repeated sample is an outlier when it is so many standard deviations away from the others: by the scatter
// of all cells, and by that of the rest of its own.
const (
	outlying    = 5.5
	standingOut = 4
)

// trim takes outliers out of cells of three samples and more, given how the deviation grows with the mean.
func trim(cells []cell, exponent float64) (kept []cell, out []cell) {
	medians := make([]float64, len(cells))
	for i, c := range cells {
		medians[i] = median(c.y)
	}
	scale := relative(medians, exponent)
	var distances []float64
	for i, c := range cells {
		if len(c.y) < 3 {
			continue
		}
		// The median is one of few samples itself: distances from it are short by this factor, on average.
		short := math.Sqrt(float64(len(c.y)-1) / float64(len(c.y)))
		for _, y := range c.y {
			distances = append(distances, math.Abs(y-medians[i])/scale[i]/short)
		}
	}
	if len(distances) < 8 {
		return cells, nil
	}
	slices.Sort(distances)
	// Of each odd cell one distance is zero by construction; they are left out of the median.
	zeros := 0
	for _, c := range cells {
		if len(c.y) >= 3 && len(c.y)%2 == 1 {
			zeros++
		}
	}
	sigma := 1.4826 * median(distances[min(zeros, len(distances)-1):])
	total, removed := 0, 0
	for i, c := range cells {
		far := func(y float64) bool {
			d := math.Abs(y - medians[i])
			return d > outlying*sigma*scale[i] && d > 1e-9*math.Abs(medians[i])
		}
		mean, squares := summary(slices.DeleteFunc(slices.Clone(c.y), far))
		near := 0
		for _, y := range c.y {
			if !far(y) {
				near++
			}
		}
		own := standingOut * math.Sqrt(squares/float64(max(near-1, 1)))
		bad := func(y float64) bool { return far(y) && math.Abs(y-mean) > own }
		total += len(c.y)
		good := slices.DeleteFunc(slices.Clone(c.y), bad)
		if len(c.y) < 3 || len(good) == len(c.y) || len(good) < 2 {
			kept = append(kept, c)
			continue
		}
		removed += len(c.y) - len(good)
		kept = append(kept, cell{c.x, good})
		out = append(out, cell{c.x, slices.DeleteFunc(slices.Clone(c.y), func(y float64) bool { return !bad(y) })})
	}
	if float64(removed) > mostOut*float64(total) {
		return cells, nil
	}
	return kept, out
}

// suspects finds points that stand alone: simple functions are fitted so that a minority cannot pull them
// (absolute differences first, then Tukey's biweight), and the points far from the best of them are given.
func (p *problem) suspects() []int {
	n := p.points()
	if n < 6 {
		return nil
	}
	scale := relative(p.around(), 1)
	s := newSearch(p, func(shape) bool { return true })
	size := 0.0 // of the response, in units of scale
	for i, m := range p.mean {
		size = max(size, math.Abs(m)/scale[i])
	}
	var best []int
	least := math.Inf(1)
	try := func(columns ...[]float64) {
		r, spread := p.robust(s, scale, size, columns)
		if r == nil || spread >= least {
			return
		}
		least, best = spread, best[:0]
		for i, v := range r {
			if math.Abs(v) > 6*spread && math.Abs(v) > 1e-8*size {
				best = append(best, i)
			}
		}
	}
	try(s.ones)
	for q := range s.d.parameter {
		a := &s.d.parameter[q]
		for i := range s.tried(q) {
			if a.columns[i].term.price() < priceTerm {
				try(s.ones, a.values(i))
			}
		}
	}
	if float64(len(best)) > mostOut*float64(n) || n-len(best) < leastValues {
		return nil
	}
	return best
}

// robust fits a sum of columns to the points' means so that a minority cannot pull it; it gives the residuals, and their spread,
// both in units of scale; none where the columns depend on each other.
func (p *problem) robust(s *search, scale []float64, size float64, columns [][]float64) (r []float64, spread float64) {
	n := p.points()
	weight, y := make([]float64, n), make([]float64, n)
	r = make([]float64, n)
	sizes := make([]float64, n)
	for i := range weight {
		weight[i] = 1 / scale[i]
	}
	for step := range 30 {
		for i := range y {
			y[i] = weight[i] * p.mean[i]
		}
		s.stack.reset(y)
		for _, c := range columns {
			if !s.stack.push(weight, c) {
				return nil, 0
			}
		}
		for i, v := range s.stack.residuals() {
			r[i] = v / (weight[i] * scale[i])
			sizes[i] = math.Abs(r[i])
		}
		slices.Sort(sizes)
		// As many residuals are zero as there are coefficients.
		spread = 1.4826*median(sizes[len(columns):]) + 1e-12*size
		for i := range weight {
			u := r[i] / (4.7 * spread)
			switch {
			case step < 15:
				weight[i] = 1 / (scale[i] * math.Sqrt(max(math.Abs(r[i]), 1e-3*spread)))
			case math.Abs(u) < 1:
				weight[i] = (1 - u*u) / scale[i]
			default:
				weight[i] = 1e-9 / scale[i]
			}
		}
	}
	return r, spread
}

// around is the median of each point's mean and its four neighbours' in the order of the points.
func (p *problem) around() []float64 {
	v := make([]float64, p.points())
	for i := range v {
		first := max(0, min(i-2, p.points()-5))
		near := slices.Clone(p.mean[first:min(first+5, p.points())])
		slices.Sort(near)
		v[i] = math.Abs(median(near))
	}
	return v
}

// robustExponent estimates with which power of the median the scatter grows, so that no outlier matters: the
// median slope between all pairs of cells, in logarithms.
func robustExponent(cells []cell) float64 {
	var x, y []float64
	for _, c := range cells {
		if len(c.y) < 3 {
			continue
		}
		m := median(c.y)
		distances := make([]float64, len(c.y))
		for i, v := range c.y {
			distances[i] = math.Abs(v - m)
		}
		slices.Sort(distances)
		if d := median(distances); d > 0 && m != 0 {
			x, y = append(x, math.Log(math.Abs(m))), append(y, math.Log(d))
		}
	}
	var slopes []float64
	for i := range x {
		for j := range i {
			if math.Abs(x[i]-x[j]) > 0.5 && len(slopes) < 10_000 {
				slopes = append(slopes, (y[i]-y[j])/(x[i]-x[j]))
			}
		}
	}
	if len(slopes) < 3 {
		return 1
	}
	slices.Sort(slopes)
	return max(0, min(median(slopes), 1.5))
}

// without is what is left of a problem without its outliers.
type without struct {
	cells []cell
	look  looked
}

// withoutSuspects tries to do without points that stand alone, each at the price of one more coefficient and of
// the choice among all points, and gives what it found if that is better.
func (f *Fitter) withoutSuspects(l looked, cells []cell, o Options) (without, []cell) {
	if l.problem == nil || o.keepAll || l.freedom() > 0 || l.points() > mostSearched || len(l.list) == 0 {
		return without{}, nil
	}
	suspects := l.suspects()
	if len(suspects) == 0 {
		return without{}, nil
	}
	var w without
	var out []cell
	for i, c := range cells {
		if slices.Contains(suspects, i) {
			out = append(out, c)
		} else {
			w.cells = append(w.cells, c)
		}
	}
	w.look = f.look(f.problem(l.names, w.cells), o)
	if len(w.look.list) == 0 {
		return without{}, nil
	}
	n, k := float64(l.points()), float64(len(out))
	best := w.look.list[0]
	signal := w.look.signal / (n - k) * n
	score := (n-thrift*(float64(best.p)+k))*math.Log(best.error/signal+w.look.exact) + best.price + best.signs + k*(2*math.Log(n)+8)
	for _, i := range suspects {
		if len(l.names) == 1 && (i == 0 || i == l.points()-1) {
			score += 6 // nothing beyond it vouches for the others
		}
	}
	if score >= l.list[0].score {
		return without{}, nil
	}
	return w, out
}
