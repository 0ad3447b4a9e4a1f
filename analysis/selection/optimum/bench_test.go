package optimum

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
)

// assembly makes n families with d implementations each: their own costs, and interactions along a random tree
// and along some more pairs, as instances bound to one choice make them.
func assembly(seed uint64, n, d, more int) *Problem {
	r := rand.New(rand.NewPCG(seed, 1))
	p := &Problem{}
	costs := func(size int, most float64) (list []float64) {
		for range size {
			list = append(list, most*r.Float64())
		}
		return list
	}
	for v := range n {
		p.Choices = append(p.Choices, d)
		p.Terms = append(p.Terms, Term{[]int{v}, costs(d, 1)})
		if v > 0 {
			p.Terms = append(p.Terms, Term{[]int{r.IntN(v), v}, costs(d*d, 1)})
		}
	}
	for range more {
		v := 1 + r.IntN(n-1)
		p.Terms = append(p.Terms, Term{[]int{r.IntN(v), v}, costs(d*d, 1)})
	}
	return p
}

// limited adds a limit on a sum, which about share of the possible gain reaches.
func limited(p *Problem, seed uint64, share float64) *Problem {
	r := rand.New(rand.NewPCG(seed, 2))
	l := Limit{}
	most := 0.0
	for v := range p.Choices {
		gain := make([]float64, p.Choices[v])
		best := 0.0
		for c := range gain {
			gain[c] = r.Float64()
			best = max(best, gain[c])
		}
		most += best
		l.Gain = append(l.Gain, gain)
	}
	l.Least = share * most
	p.Limits = append(p.Limits, l)
	return p
}

func BenchmarkSolve(b *testing.B) {
	for _, c := range []struct {
		name string
		p    *Problem
		k    int
	}{
		{"families=20/implementations=3/tree", assembly(1, 20, 3, 0), 1},
		{"families=200/implementations=10/tree", assembly(1, 200, 10, 0), 1},
		{"families=200/implementations=10/tree/best=10", assembly(1, 200, 10, 0), 10},
		{"families=20/implementations=5/bound", assembly(1, 20, 5, 12), 1},
		{"families=20/implementations=5/bound more", assembly(1, 20, 5, 25), 1},
		{"families=20/implementations=5/bound most", assembly(1, 20, 5, 60), 1},
		{"families=20/implementations=3/tree/limit", limited(assembly(1, 20, 3, 0), 1, 0.7), 1},
		{"families=200/implementations=10/tree/limit", limited(assembly(1, 200, 10, 0), 1, 0.7), 1},
		{"families=20/implementations=5/bound/two limits", limited(limited(assembly(1, 20, 5, 12), 1, 0.6), 2, 0.7), 1},
	} {
		b.Run(c.name, func(b *testing.B) {
			var r *Result
			for b.Loop() {
				r = c.p.Solve(context.Background(), Options{Best: c.k, Steps: 3_000_000})
			}
			b.ReportMetric(float64(r.Width), "width")
			b.ReportMetric(float64(r.Steps), "steps")
			b.ReportMetric(r.Gap()/r.Best[0].Cost, "gap")
		})
	}
}

func BenchmarkMarginals(b *testing.B) {
	p := assembly(1, 200, 10, 0)
	for b.Loop() {
		p.Marginals(Options{})
	}
}

// Brute force, while it lasts.
func BenchmarkBruteForce(b *testing.B) {
	for _, n := range []int{6, 8, 10, 12} {
		p := assembly(1, n, 3, 0)
		b.Run(fmt.Sprintf("families=%d/implementations=3", n), func(b *testing.B) {
			for b.Loop() {
				everything(p)
			}
		})
	}
}
