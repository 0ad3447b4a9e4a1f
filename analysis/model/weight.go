package model

import "math"

// Samples scatter more where they are larger. Until there is a model of the deviation, it is taken to be
// proportional to a power of the mean.

// relative gives scales for weighing: mean^exponent, bounded from below where the mean comes close to zero.
func relative(mean []float64, exponent float64) []float64 {
	most, smallest := 0.0, math.Inf(1)
	for _, m := range mean {
		if m = math.Abs(m); m > 0 {
			most, smallest = max(most, m), min(smallest, m)
		}
	}
	scale := make([]float64, len(mean))
	for i, m := range mean {
		scale[i] = 1
		if most > 0 {
			scale[i] = math.Pow(max(math.Abs(m)/most, min(1e-6, smallest/most/2)), exponent)
		}
	}
	return scale
}

// exponent estimates from repeated samples with which power of the mean the deviation grows, by maximum
// likelihood, leaning to 1 where they say little. ok is false without repetitions.
func (p *problem) exponent() (best float64, ok bool) {
	freedom := p.freedom()
	if freedom < 4 {
		return 1, false
	}
	least := math.Inf(1)
	for e := -1.0; e <= 2; e += 0.25 {
		scale := relative(p.mean, e)
		squares, logs := 0.0, 0.0
		for i, s := range scale {
			squares += p.within[i] / (s * s)
			logs += (p.n[i] - 1) * math.Log(s)
		}
		if squares <= 0 {
			return 1, false
		}
		if v := freedom*math.Log(squares) + 2*logs + 4*min(math.Abs(e-1), math.Abs(e)+0.5); v < least {
			best, least = e, v
		}
	}
	return best, true
}

// freedom is how many degrees of freedom repetitions have.
func (p *problem) freedom() float64 {
	sum := 0.0
	for _, n := range p.n {
		sum += n - 1
	}
	return sum
}
