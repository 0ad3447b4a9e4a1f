package optimum

import (
	"math"
	"math/rand/v2"
	"slices"
)

// anneal looks for a good assignment by simulated annealing, beginning with the best that is known. What it finds
// is only where branch and bound begins; it decides nothing. It is always the same for the same problem.
func (s *search) anneal() {
	const perChoice = 400 // changes tried
	const near = 0.01     // of the bound is close enough
	if s.keep(s.dive()); len(s.r.Best) == 0 || s.r.Best[0].Cost-s.start <= near*math.Abs(s.start) {
		return
	}
	p := s.p
	terms, choices := make([][]Term, len(p.Choices)), 0
	for _, t := range p.Terms {
		for _, v := range t.Vars {
			terms[v] = append(terms[v], t)
		}
	}
	for _, n := range p.Choices {
		choices += n
	}
	x := slices.Clone(s.r.Best[0].Choice)
	best, cost := slices.Clone(x), 0.0
	gained := make([]float64, len(p.Limits))
	for i := range p.Limits {
		gained[i] = p.Limits[i].Total(x)
	}
	around := func(v int) (sum float64) {
		for _, t := range terms[v] {
			sum += t.Cost[p.index(t.Vars, x)]
		}
		return sum
	}
	meets := func(v, from, to int) bool {
		for i := range p.Limits {
			if gain := p.Limits[i].of(v); gain != nil && gained[i]+gain[to]-gain[from] < p.Limits[i].least() {
				return false
			}
		}
		return true
	}
	random := rand.New(rand.NewPCG(1, 2))
	total, warmth, least := perChoice*choices, 0.0, 0.0
	for i := range total {
		v := random.IntN(len(x))
		from, to := x[v], random.IntN(p.Choices[v])
		if from == to || !meets(v, from, to) {
			continue
		}
		before := around(v)
		x[v] = to
		change := around(v) - before
		// It cools down from the usual size of a change to a hundredth of it.
		if !math.IsInf(change, 0) {
			warmth = warmth + (math.Abs(change)-warmth)/100
		}
		if change > 0 && random.Float64() >= math.Exp(-change/(warmth*math.Pow(1e-2, float64(i)/float64(total)))) {
			x[v] = from
			continue
		}
		for j := range p.Limits {
			if gain := p.Limits[j].of(v); gain != nil {
				gained[j] += gain[to] - gain[from]
			}
		}
		if cost += change; cost < least {
			least = cost
			copy(best, x)
		}
		if i%1024 == 0 && s.ctx.Err() != nil {
			break
		}
	}
	s.keep(best)
}
