package optimum

import (
	"context"
	"flag"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Comparing with brute force is cheap and finds what nobody thought of.
func init() { flag.Set("rapid.checks", "3000") }

// everything lists all assignments.
func everything(p *Problem) (list []Solution) {
	choice := make([]int, len(p.Choices))
	for {
		if p.Meets(choice) {
			if cost := p.Cost(choice); !math.IsInf(cost, 1) {
				list = append(list, Solution{slices.Clone(choice), cost})
			}
		}
		v := len(choice) - 1
		for ; v >= 0; v-- {
			if choice[v]++; choice[v] < p.Choices[v] {
				break
			}
			choice[v] = 0
		}
		if v < 0 {
			break
		}
	}
	slices.SortStableFunc(list, func(a, b Solution) int {
		if a.Cost < b.Cost {
			return -1
		}
		return 1
	})
	return list
}

// problem draws a small one: some terms of one to three variables, some costs equal, zero, negative or
// forbidden, up to two limits that may or may not be reachable.
func problem(t *rapid.T) *Problem {
	p := &Problem{}
	n := rapid.IntRange(1, 7).Draw(t, "variables")
	for range n {
		p.Choices = append(p.Choices, rapid.IntRange(1, 3).Draw(t, "choices"))
	}
	cost := rapid.OneOf(rapid.Map(rapid.IntRange(-3, 9), func(i int) float64 { return float64(i) }), rapid.Float64Range(0, 5),
		rapid.SampledFrom([]float64{0, math.Inf(1)}))
	for range rapid.IntRange(0, 12).Draw(t, "terms") {
		vars := rapid.Permutation(everyVariable(n)).Draw(t, "vars")[:min(n, rapid.IntRange(1, 3).Draw(t, "arity"))]
		size := 1
		for _, v := range vars {
			size *= p.Choices[v]
		}
		p.Terms = append(p.Terms, Term{vars, rapid.SliceOfN(cost, size, size).Draw(t, "cost")})
	}
	gain := rapid.OneOf(rapid.Map(rapid.IntRange(-2, 4), func(i int) float64 { return float64(i) }), rapid.Float64Range(0, 3))
	for range rapid.IntRange(0, 2).Draw(t, "limits") {
		l := Limit{Least: rapid.Float64Range(-2, 10).Draw(t, "least")}
		for v := range n {
			if rapid.Bool().Draw(t, "gains") {
				l.Gain = append(l.Gain, rapid.SliceOfN(gain, p.Choices[v], p.Choices[v]).Draw(t, "gain"))
			} else {
				l.Gain = append(l.Gain, nil)
			}
		}
		p.Limits = append(p.Limits, l)
	}
	return p
}

func everyVariable(n int) (list []int) {
	for v := range n {
		list = append(list, v)
	}
	return list
}

func TestEqualsBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := problem(t)
		o := Options{Best: rapid.IntRange(1, 6).Draw(t, "best"), Table: rapid.SampledFrom([]int{0, 1, 4, 9}).Draw(t, "table")}
		want := everything(p)
		r := p.Solve(context.Background(), o)
		require.True(t, r.Proven)
		require.Len(t, r.Best, min(len(want), o.Best))
		for i, s := range r.Best {
			require.InDelta(t, want[i].Cost, s.Cost, 1e-9, "%d. of %v", i, want[:min(len(want), o.Best)])
			require.InDelta(t, s.Cost, p.Cost(s.Choice), 1e-9)
			require.True(t, p.Meets(s.Choice))
			for _, other := range r.Best[:i] {
				require.NotEqual(t, other.Choice, s.Choice)
			}
		}
	})
}

func TestMarginalsEqualBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := problem(t)
		p.Limits = nil
		marginals, ok := p.Marginals(Options{})
		require.True(t, ok)
		all := everything(p)
		for v, list := range marginals {
			for c, x := range list {
				i := slices.IndexFunc(all, func(s Solution) bool { return s.Choice[v] == c })
				if i < 0 {
					require.True(t, math.IsInf(x, 1))
				} else {
					require.InDelta(t, all[i].Cost, x, 1e-9)
				}
			}
		}
	})
}

// Stopped early, the bound holds.
func TestBoundHoldsWhenStopped(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := problem(t)
		want := everything(p)
		r := p.Solve(context.Background(), Options{Table: rapid.SampledFrom([]int{0, 1}).Draw(t, "table"), Steps: rapid.IntRange(1, 20).Draw(t, "steps")})
		if len(want) == 0 {
			require.Empty(t, r.Best)
			return
		}
		require.LessOrEqual(t, r.Bound, want[0].Cost+1e-9)
		if r.Proven {
			require.InDelta(t, want[0].Cost, r.Best[0].Cost, 1e-9)
		}
		require.GreaterOrEqual(t, r.Gap(), 0.0)
	})
}

func ExampleProblem_Solve() {
	p := &Problem{
		Choices: []int{2, 2},
		Terms:   []Term{{[]int{0}, []float64{1, 2}}, {[]int{1}, []float64{3, 1}}, {[]int{0, 1}, []float64{0, 5, 5, 0}}},
	}
	r := p.Solve(context.Background(), Options{Best: 2})
	fmt.Println(r.Best, r.Proven, r.Width)
	// Output: [{[1 1] 3} {[0 0] 4}] true 1
}
