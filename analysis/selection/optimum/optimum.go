// Package optimum finds the cheapest way to make choices that cost something by themselves, in pairs or in
// larger groups, and that must reach given limits together. It is exact: by variable elimination while the
// tables fit, else by branch and bound, which can be stopped at any time and then knows how far from the optimum
// it can be at most.
//
//   - Bucket elimination, and mini-buckets as a bound where the tables would be too large: R. Dechter, "Bucket
//     elimination: a unifying framework for reasoning", Artificial Intelligence 113 (1999); R. Dechter, I. Rish,
//     "Mini-buckets", Journal of the ACM 50 (2003).
//   - Limits: Lagrangian bounds, G. Handler, I. Zang, "A dual algorithm for the constrained shortest path
//     problem", Networks 10 (1980).
//
// It uses the standard library only, knows nothing of components, and holds no state.
//
// Invariant: no assignment that meets the limits costs less than Result.Bound, but for rounding; when Proven, the
// solutions are the cheapest there are.
package optimum

import (
	"context"
	"math"
	"slices"
)

// Problem has one variable per entry of Choices, which is the number of its choices. The cost of an assignment
// is the sum of its terms. Terms are not changed.
type Problem struct {
	Choices []int
	Terms   []Term
	Limits  []Limit
}

// Term is a cost for each combination of choices of some different variables, the last one's changing fastest.
// +Inf forbids a combination.
type Term struct {
	Vars []int
	Cost []float64
}

// Limit demands that the gains of all choices, which are finite, add up to Least or more. Variables without a
// row gain nothing.
type Limit struct {
	Gain  [][]float64
	Least float64
}

// Options of Solve.
type Options struct {
	Best  int // how many of the cheapest assignments are wanted; 0: one
	Table int // most entries of one table; 0: MaxTable. What needs more is bounded, not tabulated
	Steps int // most assignments that branch and bound tries to extend; 0: no bound
}

// Bounds of memory: entries (of 8 bytes) in one table and in all of them.
const (
	MaxTable  = 1 << 22
	MaxTables = 1 << 24
	// smallTable is enough for the search of multipliers, which makes the tables many times.
	smallTable = 1 << 14
)

// Solution is an assignment: the number of the choice of each variable.
type Solution struct {
	Choice []int
	Cost   float64
}

// Result of Solve. Without a solution and Proven, there is none.
type Result struct {
	Best   []Solution // the cheapest first
	Bound  float64    // no assignment costs less
	Proven bool
	// Width is the size of the largest group of variables that the elimination looks at together, less one. For a
	// tree it is 1.
	Width     int
	Tabulated bool // by variable elimination alone; false: by branch and bound
	Steps     int  // of branch and bound
}

// Gap is how much cheaper than the best solution an assignment may at most be; +Inf without a solution.
func (r *Result) Gap() float64 {
	if len(r.Best) == 0 {
		return math.Inf(1)
	}
	return max(0, r.Best[0].Cost-r.Bound)
}

// tolerance is what sums may be off by rounding, relative to what is added up.
const tolerance = 1e-12

// Cost of an assignment, whether it meets the limits or not.
func (p *Problem) Cost(choice []int) float64 {
	sum := 0.0
	for _, t := range p.Terms {
		sum += t.Cost[p.index(t.Vars, choice)]
	}
	return sum
}

func (p *Problem) index(vars, choice []int) int {
	i := 0
	for _, v := range vars {
		i = i*p.Choices[v] + choice[v]
	}
	return i
}

// Meets tells whether an assignment reaches all limits, equality and rounding included.
func (p *Problem) Meets(choice []int) bool {
	for _, l := range p.Limits {
		if l.Total(choice) < l.least() {
			return false
		}
	}
	return true
}

// Total is what the choices gain.
func (l *Limit) Total(choice []int) float64 {
	sum := 0.0
	for v, gain := range l.Gain {
		if gain != nil {
			sum += gain[choice[v]]
		}
	}
	return sum
}

// of is what each choice of a variable gains; nil: nothing.
func (l *Limit) of(v int) []float64 {
	if v < len(l.Gain) {
		return l.Gain[v]
	}
	return nil
}

// least is Least but for rounding, so that what equals the limit meets it.
func (l *Limit) least() float64 { return l.Least - tolerance*max(1, math.Abs(l.Least)) }

// Without is the problem with one choice of a variable forbidden.
func (p *Problem) Without(v, choice int) *Problem {
	cost := make([]float64, p.Choices[v])
	cost[choice] = math.Inf(1)
	q := *p
	q.Terms = append(slices.Clip(p.Terms), Term{[]int{v}, cost})
	return &q
}

// Solve finds the cheapest assignments. When the context ends, or the steps are used up, it gives what it has.
func (p *Problem) Solve(ctx context.Context, o Options) *Result {
	o.Best = max(o.Best, 1)
	if o.Table == 0 {
		o.Table = MaxTable
	}
	order, width := p.order()
	s := &search{p: p, ctx: ctx, o: o, r: &Result{Width: width}, order: order, multipliers: make([]float64, len(p.Limits))}
	s.tighten()
	s.r.Tabulated = s.exact && len(p.Limits) == 0
	if !s.r.Tabulated {
		s.anneal()
	}
	s.run()
	return s.r
}
