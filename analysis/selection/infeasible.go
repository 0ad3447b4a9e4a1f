package selection

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"marple/analysis/selection/optimum"
)

// Infeasible says that no assembly meets the limits, and by how much which of them would have to give way.
type Infeasible struct{ Reasons []string }

func (e *Infeasible) Error() string {
	return "no assembly meets the limits: " + strings.Join(e.Reasons, "; ")
}

// explain finds out why there is no assembly: a limit that cannot be met even by itself, or else a smallest set of
// limits that exclude each other.
func (s *selector) explain() error {
	all, e := s.plan.limits(), &Infeasible{}
	if s.reach(limit{}, nil) == nil {
		return &Infeasible{[]string{"forbidden interactions exclude every assembly"}}
	}
	for _, l := range all {
		if choice := s.reach(l, nil); !s.meets(l, choice) {
			e.Reasons = append(e.Reasons, s.short(l, choice, nil))
		}
	}
	if len(e.Reasons) > 0 {
		return e
	}
	conflict := slices.Clone(all)
	for _, l := range all {
		without := slices.DeleteFunc(slices.Clone(conflict), func(o limit) bool { return o == l })
		if s.reach(limit{}, without) == nil {
			conflict = without
		}
	}
	for _, l := range conflict {
		others := slices.DeleteFunc(slices.Clone(conflict), func(o limit) bool { return o == l })
		if choice := s.reach(l, others); choice != nil {
			e.Reasons = append(e.Reasons, s.short(l, choice, others))
		}
	}
	if s.ctx.Err() != nil {
		return &Infeasible{[]string{"there was no time to find out which; allow more"}}
	}
	return e
}

// reach gives the assembly that is best in a limit's quality, whatever its time, among those that meet the
// others; nil if none does. Without a quality it is any of those.
func (s *selector) reach(l limit, others []limit) []int {
	var forbidden []piece
	for _, p := range s.pieces {
		if math.IsInf(p.mean, 1) {
			forbidden = append(forbidden, p)
		}
	}
	solve := func(p *optimum.Problem) []int {
		if r := p.Solve(s.ctx, optimum.Options{}); len(r.Best) > 0 {
			return r.Best[0].Choice
		}
		return nil
	}
	p := s.problem(forbidden, nil, others)
	if l.quality == nil {
		return solve(p)
	}
	if l.quality.rule.sum {
		for v := range s.variables {
			for k, gain := range s.gain(v, l.quality, l.sign) {
				p.Terms[v].Cost[k] -= gain
			}
		}
		return solve(p)
	}
	var values []float64
	for v := range s.variables {
		values = append(values, s.gain(v, l.quality, l.sign)...)
	}
	slices.Sort(values)
	for _, x := range slices.Backward(slices.Compact(values)) {
		if choice := solve(s.problem(forbidden, nil, append(slices.Clone(others), limit{l.quality, 1, x}))); choice != nil {
			return choice
		}
	}
	return nil
}

func (s *selector) meets(l limit, choice []int) bool {
	return choice != nil && l.sign*s.quality(l.quality, choice) >= l.sign*l.value-1e-9*math.Abs(l.value)
}

// short says how far from a limit its quality remains.
func (s *selector) short(l limit, choice []int, others []limit) string {
	value := s.quality(l.quality, choice)
	with := ""
	if len(others) > 0 {
		var names []string
		for _, o := range others {
			names = append(names, o.String())
		}
		with = "with " + strings.Join(names, " and ") + ", "
	}
	most := map[float64]string{1: "at most", -1: "at least"}[l.sign]
	return fmt.Sprintf("%s%s is %s %.6g, %.6g short of %s", with, l.quality.Name, most, value, math.Abs(l.value-value), l)
}
