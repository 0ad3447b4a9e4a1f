package optimum

import (
	"cmp"
	"context"
	"math"
	"slices"
)

// search is depth-first branch and bound. Variables are assigned in the reverse of the elimination's order, so
// that a bucket's functions are known when its variable is assigned, and what the buckets before it have told
// bounds the rest from below. If nothing was split, that bound is the truth, and the search walks straight to
// the optimum.
type search struct {
	p     *Problem
	ctx   context.Context
	o     Options
	r     *Result
	order []int

	table       int
	multipliers []float64
	*elimination

	choice  []int
	gained  [][]float64 // per limit and place in the order: by the choices from there on
	most    [][]float64 // the same: what the variables before it can gain
	stopped bool
	open    float64 // the least bound of what was left unexplored
}

// prepare makes the buckets for the multipliers.
func (s *search) prepare() {
	s.elimination = s.p.eliminate(s.order, s.multipliers, s.table)
}

// run explores everything that may be among the best.
func (s *search) run() {
	n := len(s.order)
	s.choice, s.open = make([]int, n), math.Inf(1)
	for _, l := range s.p.Limits {
		most := make([]float64, n+1)
		for k, v := range s.order {
			most[k+1] = most[k]
			if gain := l.of(v); gain != nil {
				most[k+1] += slices.Max(gain)
			}
		}
		s.most, s.gained = append(s.most, most), append(s.gained, make([]float64, n+1))
	}
	if !s.hopeless(s.start) {
		s.extend(n-1, s.start)
	}
	s.r.Proven = !s.stopped
	s.r.Bound = s.open
	if len(s.r.Best) > 0 {
		s.r.Bound = min(s.open, s.r.Best[0].Cost)
	}
}

// hopeless tells whether nothing that begins like this can be among the best.
func (s *search) hopeless(bound float64) bool {
	if math.IsInf(bound, 1) {
		return true
	}
	if len(s.r.Best) < s.o.Best {
		return false
	}
	worst := s.r.Best[len(s.r.Best)-1].Cost
	return bound-s.slack >= worst-tolerance*math.Abs(worst)
}

// reachable tells whether the limits can still be met after this choice at place k.
func (s *search) reachable(k, choice int) bool {
	for i, l := range s.p.Limits {
		s.gained[i][k] = s.gained[i][k+1]
		if gain := l.of(s.order[k]); gain != nil {
			s.gained[i][k] += gain[choice]
		}
		if most := s.gained[i][k] + s.most[i][k]; most < l.least()-rounding*math.Abs(most) {
			return false
		}
	}
	return true
}

type branch struct {
	choice int
	bound  float64
}

// extend assigns the variable at place k of the order, and all before it.
func (s *search) extend(k int, bound float64) {
	if k < 0 {
		s.keep(s.choice)
		return
	}
	if s.stop() {
		s.open = min(s.open, bound-s.slack)
		return
	}
	b := &s.buckets[k]
	for _, f := range b.out {
		bound -= f.cost[s.p.index(f.vars, s.choice)]
	}
	branches := make([]branch, s.p.Choices[b.v])
	for c := range branches {
		s.choice[b.v] = c
		branches[c] = branch{c, bound}
		for _, f := range b.in {
			branches[c].bound += f.cost[s.p.index(f.vars, s.choice)]
		}
	}
	slices.SortStableFunc(branches, func(a, b branch) int { return cmp.Compare(a.bound, b.bound) })
	for _, next := range branches {
		if s.hopeless(next.bound) {
			break
		}
		s.choice[b.v] = next.choice
		if s.reachable(k, next.choice) {
			s.extend(k-1, next.bound)
		}
	}
}

func (s *search) stop() bool {
	s.r.Steps++
	if s.o.Steps > 0 && s.r.Steps > s.o.Steps || s.r.Steps%256 == 0 && s.ctx.Err() != nil {
		s.stopped = true
	}
	return s.stopped
}

// keep puts an assignment among the best if it belongs there.
func (s *search) keep(choice []int) {
	if !s.p.Meets(choice) {
		return
	}
	cost := s.p.Cost(choice)
	if s.hopeless(cost) || slices.ContainsFunc(s.r.Best, func(b Solution) bool { return slices.Equal(b.Choice, choice) }) {
		return
	}
	if len(s.r.Best) == s.o.Best {
		s.r.Best = s.r.Best[:s.o.Best-1]
	}
	i := 0
	for i < len(s.r.Best) && s.r.Best[i].Cost <= cost {
		i++
	}
	s.r.Best = slices.Insert(s.r.Best, i, Solution{slices.Clone(choice), cost})
}

// tighten chooses the tables' size and the multipliers of the limits, and makes the buckets with them. For any
// multipliers that are not negative, cost + Σ multiplier · (least - gain) is no more than the cost of an
// assignment that meets the limits, so its minimum is a bound. As a function of one multiplier it is the lower
// hull of lines, one per assignment: it is highest where a line that rises meets one that does not.
func (s *search) tighten() {
	s.table = s.o.Table
	if all, largest := s.p.tables(s.order); largest > float64(s.table) || all > MaxTables {
		s.table = min(s.table, MaxTables/(2*len(s.order)))
	}
	full := s.table
	if len(s.p.Limits) > 0 {
		s.table = min(s.table, smallTable)
	}
	s.prepare()
	const rounds = 3 // of several limits, since what one needs depends on the others
	for round, moved := 0, true; moved && round < rounds; round++ {
		moved = false
		for i := range s.p.Limits {
			moved = s.climb(i) && len(s.p.Limits) > 1 || moved
		}
	}
	if s.table < full && !s.exact {
		s.table = full
		s.prepare()
	}
}

// line is the bound that an assignment gives, by the multiplier of one limit.
type line struct{ height, slope float64 }

// climb sets one limit's multiplier where the bound is highest, as far as it finds that. It tells whether that
// is somewhere else than before.
func (s *search) climb(i int) bool {
	const most = 30 // steps; each makes all tables once
	before, best, bound := s.multipliers[i], s.multipliers[i], s.start-s.slack
	look := func(multiplier float64) line {
		s.multipliers[i] = multiplier
		s.prepare()
		if s.start-s.slack > bound {
			best, bound = multiplier, s.start-s.slack
		}
		choice := s.dive()
		s.keep(choice)
		return line{s.p.Cost(choice) - s.others(i, choice), s.p.Limits[i].least() - s.p.Limits[i].Total(choice)}
	}
	low := look(0)
	high := low
	// Raise the multiplier until the limit is met. Where to begin is a guess.
	at := 1e-3 * max(largest([]float64{low.height, bound}), 1e-9) / max(low.slope, 1e-9)
	for n := 0; n < most && high.slope > 0 && s.ctx.Err() == nil; n++ {
		low, high = high, look(at)
		at *= 4
	}
	for n := 0; n < most && high.slope <= 0 && low.slope > 0 && s.ctx.Err() == nil; n++ {
		at := (high.height - low.height) / (low.slope - high.slope)
		if !(at > 0) || math.IsInf(at, 1) {
			break // an assignment is forbidden, or is not where the bound comes from since that was split
		}
		middle := look(at)
		if middle == low || middle == high {
			break
		}
		if middle.slope > 0 {
			low = middle
		} else {
			high = middle
		}
	}
	s.multipliers[i] = best
	s.prepare()
	return best != before
}

// others is what the other limits' multipliers take off an assignment's cost.
func (s *search) others(i int, choice []int) (sum float64) {
	for j, l := range s.p.Limits {
		if j != i {
			sum += s.multipliers[j] * (l.Total(choice) - l.least())
		}
	}
	return sum
}

// dive is the assignment that follows the least bound everywhere. If nothing was split, none has less.
func (s *search) dive() []int {
	choice := make([]int, len(s.order))
	for k := len(s.order) - 1; k >= 0; k-- {
		b, best, least := &s.buckets[k], 0, math.Inf(1)
		for c := range s.p.Choices[b.v] {
			choice[b.v] = c
			sum := 0.0
			for _, f := range b.in {
				sum += f.cost[s.p.index(f.vars, choice)]
			}
			if sum < least {
				best, least = c, sum
			}
		}
		choice[b.v] = best
	}
	return choice
}
