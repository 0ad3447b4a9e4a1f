package selection

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"marple/analysis/run"
	"marple/analysis/selection/optimum"
)

// uncertainty computes the distribution of the total. In each scenario it is taken as normal, being a sum of many
// independent invocations; over the scenarios it is a mixture of those.
func (s *selector) uncertainty() error {
	spread := &run.Spread{Best: -1}
	chosen := map[int]int{}
	for t := range s.terms {
		chosen[t] = s.entry(t, s.best)
	}
	var parts []normal
	for _, sc := range s.scenarios {
		pieces := s.pieces
		if len(s.scenarios) > 1 {
			var err error
			if pieces, err = s.build(sc); err != nil {
				return err
			}
		}
		part, shared := normal{weight: sc.weight, mean: s.constant}, map[int]float64{}
		for _, p := range pieces {
			spread.WithNoise = spread.WithNoise || p.variance > 0
			spread.WithErrors = spread.WithErrors || p.error > 0
			if chosen[p.term] != p.entry {
				continue
			}
			part.mean += p.mean
			part.variance += p.variance
			if p.model >= 0 {
				shared[p.model] += p.error
			}
		}
		for _, e := range shared {
			part.variance += e * e
		}
		parts = append(parts, part)
	}
	if !spread.WithNoise && !spread.WithErrors && len(parts) == 1 {
		return nil
	}
	s.a.Spread = spread
	spread.Mode, spread.Deviation, spread.Low, spread.High = describe(parts)
	if spread.WithErrors {
		s.draw(spread)
	}
	return nil
}

// draw repeats the choice with the models' means off by random numbers of standard errors.
func (s *selector) draw(spread *run.Spread) {
	random := rand.New(rand.NewPCG(2005, 5))
	hits := 0
	off := make([]float64, len(s.models))
	for spread.Draws < s.q.Draws && s.ctx.Err() == nil {
		for i := range off {
			off[i] = random.NormFloat64()
		}
		p := s.problem(s.pieces, off, s.plan.limits())
		r := p.Solve(s.ctx, optimum.Options{})
		if !r.Proven || len(r.Best) == 0 {
			break
		}
		spread.Draws++
		if cost := p.Cost(s.best); cost <= r.Best[0].Cost+1e-9*math.Abs(cost) {
			hits++
		}
	}
	if spread.Draws > 0 {
		n := float64(spread.Draws)
		spread.Best = float64(hits) / n
		// Wilson's, so that it is not 0 where all draws agree.
		spread.BestError = math.Sqrt(spread.Best*(1-spread.Best)/n+1/(4*n*n)) / (1 + 1/n)
	}
}

// normal is a part of a mixture of normal distributions.
type normal struct{ weight, mean, variance float64 }

// describe gives a mixture's mode, standard deviation, and the bounds of its middle 90 %.
func describe(parts []normal) (mode, deviation, low, high float64) {
	mean, square := 0.0, 0.0
	from, to := math.Inf(1), math.Inf(-1)
	for _, p := range parts {
		d := math.Sqrt(p.variance)
		from, to = min(from, p.mean-9*d), max(to, p.mean+9*d)
		mean += p.weight * p.mean
	}
	for _, p := range parts {
		square += p.weight * (p.variance + (p.mean-mean)*(p.mean-mean))
	}
	deviation = math.Sqrt(square)
	return peak(parts), deviation, quantile(parts, 0.05, from, to), quantile(parts, 0.95, from, to)
}

// peak is where the density is highest. The parts stand for all of a range, so that each is as wide as it is far
// from its neighbours.
func peak(parts []normal) float64 {
	if len(parts) == 1 {
		return parts[0].mean
	}
	parts = slices.SortedFunc(slices.Values(parts), func(a, b normal) int { return cmp.Compare(a.mean, b.mean) })
	near, last := len(parts)/16, len(parts)-1
	widths := make([]float64, len(parts))
	for i, p := range parts {
		widths[i] = max(math.Sqrt(p.variance), (parts[min(i+near, last)].mean-parts[max(i-near, 0)].mean)/4)
	}
	best, highest := parts[0].mean, 0.0
	for _, at := range parts {
		density := 0.0
		for i, p := range parts {
			if widths[i] == 0 {
				return p.mean // at all of these values the time is the same
			}
			z := (at.mean - p.mean) / widths[i]
			density += p.weight / widths[i] * math.Exp(-z*z/2)
		}
		if density > highest {
			best, highest = at.mean, density
		}
	}
	return best
}

// quantile finds where the distribution function reaches a share, between two bounds.
func quantile(parts []normal, share, from, to float64) float64 {
	below := func(x float64) (sum float64) {
		for _, p := range parts {
			switch d := math.Sqrt(2 * p.variance); {
			case d > 0:
				sum += p.weight * (1 + math.Erf((x-p.mean)/d)) / 2
			case p.mean <= x:
				sum += p.weight
			}
		}
		return sum
	}
	for range 200 {
		middle := from + (to-from)/2
		if below(middle) < share {
			from = middle
		} else {
			to = middle
		}
	}
	return to
}
