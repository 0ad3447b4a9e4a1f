// Package selection chooses implementations of components: from models of what each costs and the call graph
// follows the time of a whole assembly, and from that the assembly that takes least, within limits on other
// qualities. It goes beyond N. Trebon's thesis (University of Oregon, 2005), section V.C, in what that lists
// as future work: models come from a file, qualities count, the total has an uncertainty, and the search is
// exact without trying everything.
//
// It may use run, formula, model, words, and its own packages graph, prune and optimum; it holds no state.
//
// Invariant: the time that is given for an assembly is the sum of all parts of the call graph, each counted once,
// measured or modelled; and what is called the best is the best, or the gap to it is given.
package selection

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"marple/analysis/machine"
	"marple/analysis/run"
	"marple/analysis/selection/graph"
	"marple/analysis/selection/optimum"
	"marple/analysis/selection/prune"
	"marple/analysis/words"
)

// Question is what to choose for.
type Question struct {
	Graph *graph.Graph
	Plan  *Plan
	Rule  prune.Rule
	Given Sizes // what counts more than the file's
	// Machine is the one to predict for; nil: that of the run.
	Machine *machine.Machine
	Best    int // how many assemblies are wanted
	Front   []string
	Draws   int           // of the models' errors, for the probability that the choice is right
	Within  time.Duration // 0: as long as it takes
}

// Answer is what was found.
type Answer struct {
	run.Selection
	plan      *Plan
	variables []*variable
	choice    []int
}

// selector answers one question.
type selector struct {
	*composite
	ctx       context.Context
	q         *Question
	scenarios []scenario
	pieces    []piece // expected over the scenarios
	p         *optimum.Problem
	constant  float64
	best      []int
	a         *Answer
}

// Select answers a question. Errors are the file's, with their place, or *Infeasible.
func Select(ctx context.Context, q Question) (*Answer, error) {
	begin := time.Now()
	if q.Within > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, q.Within)
		defer cancel()
	}
	s, err := newSelector(ctx, &q)
	if err != nil {
		return nil, err
	}
	if err := s.solve(); err != nil {
		return nil, err
	}
	s.describe()
	s.others()
	if err := s.across(); err != nil {
		return nil, err
	}
	s.fronts()
	if err := s.uncertainty(); err != nil {
		return nil, err
	}
	s.a.Duration = time.Since(begin).Seconds()
	return s.a, nil
}

func newSelector(ctx context.Context, q *Question) (*selector, error) {
	if err := q.Plan.on(q.measured(), q.Machine); err != nil {
		return nil, err
	}
	core := prune.Judge(q.Graph.Root).Keep(q.Rule)
	c, err := newComposite(q.Plan, q.Graph, core, q.Given)
	if err != nil {
		return nil, err
	}
	a := &Answer{plan: q.Plan, variables: c.variables, Selection: run.Selection{Ranges: c.sizing.ranges(), Notes: slices.Concat([]string{}, q.Graph.About(), q.Plan.notes, q.Plan.unsure()),
		Measured: q.Plan.measuredQualities(),
		Models:   q.Plan.models(), Choices: []run.Choice{}, Core: []string{}, Others: []run.Assembly{}, Quality: []run.Value{}, Fronts: []run.Front{}, Across: []run.RangePart{}}}
	s := &selector{composite: c, ctx: ctx, q: q, a: a}
	return s, s.expect()
}

// expect makes the problem whose costs are expectations over the scenarios.
func (s *selector) expect() (err error) {
	if s.scenarios, err = scenarios(s.a.Ranges); err != nil {
		return err
	}
	for i, sc := range s.scenarios {
		pieces, err := s.build(sc)
		if err != nil {
			return err
		}
		for k := range pieces {
			p := &pieces[k]
			p.mean, p.variance, p.error = sc.weight*p.mean, sc.weight*p.variance, sc.weight*p.error
			if i > 0 {
				sum := &s.pieces[k]
				sum.mean, sum.variance, sum.error = sum.mean+p.mean, sum.variance+p.variance, sum.error+p.error
			}
		}
		if i == 0 {
			s.pieces = pieces
		}
	}
	s.p = s.problem(s.pieces, nil, s.plan.limits())
	s.a.Fixed, s.a.Pruned = s.composite.constant()
	s.constant = s.a.Fixed + s.a.Pruned
	return nil
}

// solve finds the best assemblies.
func (s *selector) solve() error {
	ctx := s.ctx
	if s.q.Within > 0 { // what comes after it needs some time too
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.q.Within/2)
		defer cancel()
	}
	r := s.p.Solve(ctx, optimum.Options{})
	if len(r.Best) == 0 {
		if r.Proven {
			return s.explain()
		}
		return fmt.Errorf("no assembly that meets the limits was found in the time there was, and none was excluded: allow more with --within")
	}
	s.best, s.a.choice = r.Best[0].Choice, r.Best[0].Choice
	s.a.Time, s.a.Bound, s.a.Proven = s.constant+r.Best[0].Cost, s.constant+r.Bound, r.Proven
	s.a.Method = run.SearchMethod{Tabulated: r.Tabulated, Width: r.Width, Assemblies: 1, Steps: r.Steps}
	for _, n := range s.p.Choices {
		s.a.Method.Assemblies *= float64(n)
	}
	return nil
}

// others finds the next best assemblies among those that differ in what matters.
func (s *selector) others() {
	if s.q.Best < 2 {
		return
	}
	p := s.p
	for v, c := range s.a.Choices {
		for k := range s.p.Choices[v] {
			if c.Any && k != s.best[v] {
				p = p.Without(v, k)
			}
		}
	}
	r := p.Solve(s.ctx, optimum.Options{Best: s.q.Best})
	for _, other := range r.Best {
		if changes := s.changes(other.Choice); len(changes) > 0 && len(s.a.Others) < s.q.Best-1 {
			s.a.Others = append(s.a.Others, run.Assembly{Time: s.constant + other.Cost, Changes: changes})
		}
	}
	if !r.Proven {
		s.a.Notes = append(s.a.Notes, "there was no time to make sure of the next best assemblies")
	}
}

// changes are what is different from the best assembly.
func (s *selector) changes(choice []int) map[string]string {
	list := map[string]string{}
	for v, variable := range s.variables {
		if choice[v] != s.best[v] {
			list[variable.name()] = variable.family.Implementations[choice[v]].Name
		}
	}
	return list
}

// describe tells of each choice what it takes and what others would cost.
func (s *selector) describe() {
	for _, n := range s.nodes {
		if n.core {
			s.a.Core = append(s.a.Core, n.Name)
		}
	}
	own := make([]float64, len(s.variables))
	for _, p := range s.pieces {
		if p.entry == s.entry(p.term, s.best) {
			own[p.variable] += p.mean
		}
	}
	worst := s.worst()
	marginals, _ := s.p.Marginals(optimum.Options{})
	for v, variable := range s.variables {
		i := variable.family.Implementations[s.best[v]]
		choice := run.Choice{Name: variable.name(), Family: variable.family.Name, Instances: variable.instances, Implementation: i.Name, Class: i.Class, Time: own[v],
			Worst: worst[v], Next: s.next(v, marginals)}
		choice.Any = !variable.core && choice.Worst <= s.q.Rule.Alpha*s.a.Time
		if !variable.core && !choice.Any {
			s.a.Notes = append(s.a.Notes, fmt.Sprintf("%s was insignificant in this run, but its worst implementation would not be", variable.name()))
		}
		if !variable.called {
			s.a.Notes = append(s.a.Notes, fmt.Sprintf("%s is not in the call graph", variable.name()))
		}
		s.a.Choices = append(s.a.Choices, choice)
	}
	s.space()
	if m := s.q.Machine; m != nil && elsewhere(s.q.measured(), m) {
		s.a.Notes = append(s.a.Notes, fmt.Sprintf("predicted for the machine %s; %s of it have no model, and count as on the machine that was measured",
			m.Name, words.Duration(s.a.Fixed+s.a.Pruned)))
	}
	s.a.Notes = append(s.a.Notes, slices.Sorted(maps.Keys(s.outside))...)
	for _, q := range s.plan.Qualities {
		if x := s.quality(q, s.best); !math.IsInf(x, 0) {
			s.a.Quality = append(s.a.Quality, run.Value{Quality: q.Name, Value: x})
		}
	}
}

// space tells how many assemblies there are, and how many differ in what pruning keeps.
func (s *selector) space() {
	var all, core []int
	s.a.Method.Core = 1
	for v, c := range s.a.Choices {
		all = append(all, s.p.Choices[v])
		if !c.Any {
			core = append(core, s.p.Choices[v])
			s.a.Method.Core *= float64(s.p.Choices[v])
		}
	}
	s.a.Method.Space = powers(all) + " → " + powers(core)
}

// powers writes the product of how many there are to choose from: 3^12, or 2·3^2.
func powers(choices []int) string {
	slices.Sort(choices)
	var factors []string
	for i := 0; i < len(choices); {
		n := 1
		for i+n < len(choices) && choices[i+n] == choices[i] {
			n++
		}
		switch {
		case choices[i] == 1:
		case n > 1:
			factors = append(factors, fmt.Sprintf("%d^%d", choices[i], n))
		default:
			factors = append(factors, fmt.Sprint(choices[i]))
		}
		i += n
	}
	if factors == nil {
		return "1"
	}
	return strings.Join(factors, "·")
}

func (s *selector) entry(term int, choice []int) int {
	i := 0
	for _, v := range s.terms[term].Vars {
		i = i*s.p.Choices[v] + choice[v]
	}
	return i
}

// worst is how much more each variable's worst choice costs when all others stay.
func (s *selector) worst() []float64 {
	list := make([]float64, len(s.variables))
	around := make([][]int, len(s.variables))
	for t, term := range s.terms {
		for _, v := range term.Vars {
			around[v] = append(around[v], t)
		}
	}
	choice := slices.Clone(s.best)
	for v := range s.variables {
		cost := func(k int) (sum float64) {
			choice[v] = k
			for _, t := range around[v] {
				sum += s.p.Terms[t].Cost[s.entry(t, choice)]
			}
			return sum
		}
		now := cost(s.best[v])
		for k := range s.p.Choices[v] {
			if more := cost(k) - now; !math.IsInf(more, 0) {
				list[v] = max(list[v], more)
			}
		}
		choice[v] = s.best[v]
	}
	return list
}

// next is the best assembly without the chosen implementation.
func (s *selector) next(v int, marginals [][]float64) *run.NextBest {
	if s.p.Choices[v] < 2 {
		return nil
	}
	next, now := run.NextBest{Costs: math.Inf(1)}, s.p.Cost(s.best)
	if marginals != nil {
		for k, i := range s.variables[v].family.Implementations {
			if more := marginals[v][k] - now; k != s.best[v] && more < next.Costs {
				next.Implementation, next.Costs = i.Name, max(0, more)
			}
		}
	} else if r := s.p.Without(v, s.best[v]).Solve(s.ctx, optimum.Options{}); len(r.Best) > 0 || !r.Proven {
		next.Costs, next.AtLeast = max(0, r.Bound-now), !r.Proven
		if len(r.Best) > 0 {
			next.Implementation = s.variables[v].family.Implementations[r.Best[0].Choice[v]].Name
		}
	}
	if math.IsInf(next.Costs, 1) {
		return nil
	}
	return &next
}

var errTime = errors.New("no time")

// across finds where in the only range which assembly is best. Between two points of a grid it looks for one
// change.
func (s *selector) across() error {
	if len(s.a.Ranges) != 1 {
		return nil
	}
	const points, halvings = 65, 30
	r := s.a.Ranges[0]
	at := func(x float64) ([]int, error) {
		pieces, err := s.build(scenario{map[string]float64{r.Parameter: x}, 1})
		if err != nil {
			return nil, err
		}
		solved := s.problem(pieces, nil, s.plan.limits()).Solve(s.ctx, optimum.Options{})
		if !solved.Proven || len(solved.Best) == 0 {
			return nil, errTime
		}
		return solved.Best[0].Choice, nil
	}
	from := r.From
	last, err := at(from)
	for i := 1; i < points && err == nil; i++ {
		x := r.From + (r.To-r.From)*float64(i)/(points-1)
		var here []int
		if here, err = at(x); err != nil || slices.Equal(here, last) {
			continue
		}
		low, high := r.From+(r.To-r.From)*float64(i-1)/(points-1), x
		for range halvings {
			middle := (low + high) / 2
			there, err := at(middle)
			if err != nil {
				break
			}
			if slices.Equal(there, last) {
				low = middle
			} else {
				high = middle
			}
		}
		s.a.Across = append(s.a.Across, run.RangePart{From: from, To: high, Changes: s.changes(last)})
		from, last = high, here
	}
	if err == errTime {
		s.a.Notes = append(s.a.Notes, fmt.Sprintf("there was no time to look at all values of %s", r.Parameter))
		return nil
	}
	if err == nil {
		s.a.Across = append(s.a.Across, run.RangePart{From: from, To: r.To, Changes: s.changes(last)})
	}
	return err
}

// mostPoints bounds a front.
const mostPoints = 200

// fronts goes from the fastest assembly to the best quality: each next point is the fastest that is better.
func (s *selector) fronts() {
	for _, name := range s.q.Front {
		q, err := s.plan.Quality(name)
		if err != nil {
			continue // the caller has checked it
		}
		front := run.Front{Quality: name, Points: []run.FrontPoint{}}
		p := *s.p
		for len(front.Points) < mostPoints && s.ctx.Err() == nil {
			r := p.Solve(s.ctx, optimum.Options{})
			if !r.Proven || len(r.Best) == 0 {
				front.Complete = r.Proven
				break
			}
			value := s.quality(q, r.Best[0].Choice)
			point := run.FrontPoint{Value: value, Assembly: run.Assembly{Time: s.constant + r.Best[0].Cost, Changes: s.changes(r.Best[0].Choice)}}
			if last := len(front.Points) - 1; last >= 0 && point.Time <= front.Points[last].Time*(1+1e-9) {
				front.Points = front.Points[:last] // as fast, and better
			}
			front.Points = append(front.Points, point)
			if math.IsInf(value, 0) {
				front.Complete = true
				break
			}
			p = *s.problem(s.pieces, nil, append(s.plan.limits(), better(q, value)))
		}
		s.a.Fronts = append(s.a.Fronts, front)
	}
}

// better is the limit that a quality is better than a value, and not only by rounding.
func better(q *Quality, value float64) limit {
	step := 1e-9 * max(1, math.Abs(value))
	if q.rule.name == "product" {
		step = 1e-9 * value
	}
	if q.Lower {
		return limit{q, -1, value - step}
	}
	return limit{q, 1, value + step}
}
