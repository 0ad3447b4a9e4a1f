package diagnosis

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"marple/analysis/inference"
	"marple/analysis/knowledge"
	"marple/analysis/words"
)

// evaluator gives expressions of a scope their values. A metric is evaluated once per argument.
type evaluator struct {
	*context
	d      *Diagnosis
	env    map[string]any // what names stand for
	values map[string]value
	places map[string]value
	given  map[string]float64 // values that a test gives instead
	totals map[string]any     // of the run
}

type value struct {
	v   any
	err error
}

func newEvaluator(d *Diagnosis, c *context) *evaluator {
	e := &evaluator{context: c, d: d, values: map[string]value{}, places: map[string]value{}}
	e.totals = e.ofRun()
	e.env = map[string]any{"all": component{e, "all"}, "run": e.totals}
	for name, f := range functionTable {
		e.env[name] = func(args ...any) (any, error) { return f(e, args) }
		if c.imagined && knowledge.NeedsRun(name) {
			e.env[name] = func(...any) (any, error) { return nil, missing{"given"} }
		}
	}
	for _, name := range knowledge.Classes {
		e.env[name] = class(name)
	}
	m := c.scope.Model
	for _, x := range m.Components {
		e.env[x.Name] = component{e, x.Name}
	}
	for _, x := range m.Roles {
		e.env[x.Name] = role(x.Name)
	}
	for _, x := range m.Events {
		e.env[x.Name] = abstract(x.Name)
	}
	for _, x := range m.Delays {
		e.env[x.Name] = delayed{e, x.Name}
	}
	for alias, s := range c.scope.Outside {
		for _, x := range s.Model.Components {
			e.put(alias+"."+x.Name, component{d.evaluators[s], x.Name})
		}
		for _, x := range s.Model.Delays {
			e.put(alias+"."+x.Name, delayed{d.evaluators[s], x.Name})
		}
		for _, x := range s.Model.Roles {
			e.put(alias+"."+x.Name, role(x.Name))
		}
		for _, x := range s.Model.Thresholds {
			e.put(alias+"."+x.Name, x.Value)
		}
	}
	for _, x := range m.Thresholds {
		e.env[x.Name] = x.Value
	}
	for _, x := range m.Metrics {
		if x.Parameter != "" {
			e.env[x.Name] = func(args ...any) (any, error) {
				argument, ok := args[0].(component)
				if !ok {
					return nil, fmt.Errorf("%s is of a component", x.Name)
				}
				return e.metric(x.Name, argument.name)
			}
		}
	}
	return e
}

// ofRun is what is known of the run as a whole.
func (e *evaluator) ofRun() map[string]any {
	r := e.r
	if e.imagined {
		none := map[string]any{}
		for _, name := range knowledge.Totals() {
			none[name] = math.NaN()
			if name == "as_with_cores" {
				none[name] = 0.0 // unless a test says so
			}
			if x, ok := e.d.given[""]["run."+name]; ok {
				none[name] = x
			}
		}
		return none
	}
	var messages, traffic uint64
	for _, p := range r.PerRank {
		messages += p.Sent
		traffic += p.Traffic.Bytes()
	}
	written, lookups := r.Files.Written()
	return map[string]any{"core": e.core, "wall": seconds(r.WallNs), "useful": e.useful, "mpi": e.mpi, "in_mpi": e.inMPI, "polled": max(e.polled(), e.looped()), "missed": e.missed(), "ranks": float64(len(e.ranks)),
		"span": e.core / float64(len(e.ranks)), "hosts": float64(len(r.Hosts)), "load_balance": r.Efficiency.LoadBalance,
		"core_availability": r.Efficiency.CoreAvailability, "as_with_cores": map[bool]float64{true: 1}[r.AsWithCores],
		"messages": float64(messages), "traffic": float64(traffic),
		"file_bytes": float64(written.Bytes), "file_writes": float64(written.Calls), "small_writes": float64(written.Small), "lookups": float64(lookups), "waits": map[bool]float64{true: 1}[r.Waits != nil],
		"outside": map[bool]float64{true: 1}[r.MessagesOutside()]}
}

// metric gives the value of a metric; argument is a component, or "".
func (e *evaluator) metric(name, argument string) (any, error) {
	key := knowledge.FactName{Name: name, Argument: argument}.String()
	if x, ok := e.given[key]; ok {
		return x, nil
	}
	if known, ok := e.values[key]; ok {
		return known.v, known.err
	}
	m := e.scope.Model.Metric(name)
	if m == nil {
		return nil, fmt.Errorf("no metric %s", name)
	}
	var bound map[string]any
	if m.Parameter != "" {
		bound = map[string]any{m.Parameter: component{e, argument}}
	}
	v, err := e.value(m.Value, bound)
	e.values[key] = value{v, err}
	return v, err
}

// value runs an expression; bound are names beside those of the model.
func (e *evaluator) value(x *knowledge.Expression, bound map[string]any) (any, error) {
	for _, name := range x.Uses.Places {
		scope, own := e.owner(name)
		p, err := scope.place(own)
		if err != nil {
			return nil, err
		}
		e.put(name, p)
	}
	for _, use := range x.Uses.Metrics {
		if use.Argument != "" {
			continue
		}
		scope, name := e.owner(use.Name)
		v, err := scope.metric(name, "")
		if err != nil {
			return nil, err
		}
		e.put(use.Name, v)
	}
	for k, v := range bound {
		before, was := e.env[k]
		e.env[k] = v
		defer func() {
			if e.env[k] = before; !was {
				delete(e.env, k)
			}
		}()
	}
	v, err := x.Run(e.env)
	if err != nil || x.Type.Kind != knowledge.Number {
		return v, err
	}
	if f := knowledge.Float(v); !math.IsInf(f, 0) {
		return f, nil
	}
	return math.NaN(), nil
}

// put enters a value under a name that may be NAME.NAME.
func (e *evaluator) put(name string, v any) {
	alias, rest, qualified := strings.Cut(name, ".")
	if !qualified {
		e.env[name] = v
		return
	}
	inner, _ := e.env[alias].(map[string]any)
	if inner == nil {
		inner = map[string]any{}
		e.env[alias] = inner
	}
	inner[rest] = v
}

// owner is the evaluator that a name NAME.NAME belongs to, and the name there.
func (e *evaluator) owner(name string) (*evaluator, string) {
	if alias, rest, qualified := strings.Cut(name, "."); qualified {
		if s := e.scope.Outside[alias]; s != nil {
			return e.d.evaluators[s], rest
		}
	}
	return e, name
}

// mostTogether is how many call paths are tried as one: those at which the expression is largest.
const mostTogether = 32

// place finds the call paths of a component that its expression asks for; none if there are no such.
func (e *evaluator) place(name string) (place, error) {
	if known, ok := e.places[name]; ok {
		return known.v.(place), known.err
	}
	p := e.scope.Model.Place(name)
	found, failed := e.among(p)
	switch {
	case p.Together:
		found = e.together(p, found)
	case !p.Each && len(found.at) > 1:
		found = place{found.at[:1], found.worth[:1]}
	}
	e.places[name] = value{found, failed}
	return found, failed
}

// worth is the value of a place's expression, were the place these call paths.
func (e *evaluator) worth(p *knowledge.Place, at ...int) (float64, error) {
	v, err := e.value(p.Largest, map[string]any{"here": place{at: at}})
	return knowledge.Float(v), err
}

// among are the call paths of a place's component, that at which its expression is largest first.
func (e *evaluator) among(p *knowledge.Place) (found place, failed error) {
	var but place
	if p.But != "" {
		but, _ = e.place(p.But)
	}
	type one struct {
		at    int
		worth float64
	}
	var list []one
	for i := range e.nodes {
		in := false
		if e.nodes[i].place != i || slices.Contains(but.at, i) {
			continue // looked at with the first
		}
		for class := range e.assign {
			in = in || e.selects(selection{component: p.Of}, class, i)
		}
		if !in {
			continue
		}
		x, err := e.worth(p, i)
		if err != nil {
			failed = err
			continue
		}
		if !p.Each || x > 0 {
			list = append(list, one{i, x})
		}
	}
	if len(list) > 0 {
		failed = nil
	}
	slices.SortStableFunc(list, func(a, b one) int { return cmp.Compare(b.worth, a.worth) })
	for _, x := range list {
		found.at, found.worth = append(found.at, x.at), append(found.worth, x.worth)
	}
	return found, failed
}

// together adds to the first call path those with which the expression is larger than without, and at which the same rank is slow.
func (e *evaluator) together(p *knowledge.Place, of place) place {
	var out place
	most := math.Inf(-1)
	var slow rankSet // at the first of them
	for k, at := range of.at[:min(len(of.at), mostTogether)] {
		if k == 0 {
			slow = e.slowAt(at)
		} else if !slices.ContainsFunc(e.slowAt(at), func(r int) bool { return slices.Contains(slow, r) }) {
			continue
		}
		if x, err := e.worth(p, append(slices.Clone(out.at), at)...); err == nil && (k == 0 || of.worth[k] > 0 && x > most) {
			out.at, out.worth, most = append(out.at, at), append(out.worth, of.worth[k]), x
		}
	}
	return out
}

// number is the value of an expression that gives one.
func (e *evaluator) number(x *knowledge.Expression, bound map[string]any) (float64, error) {
	v, err := e.value(x, bound)
	if err != nil {
		return math.NaN(), err
	}
	return knowledge.Float(v), nil
}

// text fills in a template.
func (e *evaluator) text(t *knowledge.Template, bound map[string]any, unit knowledge.Unit) string {
	if t == nil {
		return ""
	}
	return words.Sentence(t.Print(func(x *knowledge.Expression) (any, error) { return e.value(x, bound) }, e.write, unit))
}

// lost is what a fact costs, in seconds, if it holds.
func (e *evaluator) lost(name string) (float64, error) {
	g, err := e.fact(name)
	if err != nil || e.d.truth(g) != inference.True {
		return 0, err
	}
	x, err := e.d.cost(g)
	if errors.Is(err, errNowhere) {
		return 0, nil
	}
	return x, err
}

func (e *evaluator) holdsFact(name string) bool {
	g, err := e.fact(name)
	return err == nil && e.d.truth(g) == inference.True
}

// fact finds a fact by its name in this scope.
func (e *evaluator) fact(text string) (int, error) {
	name, err := knowledge.ParseFact(text)
	if err != nil {
		return 0, err
	}
	return e.d.ground.Find(e.scope, name, "", "")
}

// lateAt are the ranks that are nearer to the slowest than to the mean, at each of the main call paths of a place by itself.
func (e *evaluator) lateAt(p place) rankSet {
	set := rankSet{}
	for _, at := range p.at[:p.main()] {
		set = append(set, e.slowAt(at)...)
	}
	slices.Sort(set)
	return slices.Compact(set)
}

func (e *evaluator) slowAt(at int) rankSet {
	here := place{at: []int{at}}
	s := selection{component: "all", at: here.at}
	most, err := slowest(e, s)
	all, failed := e.time(s)
	if err != nil || failed != nil {
		return nil
	}
	set, _ := reaching(e, []any{here, (most.(float64) + all/float64(len(e.ranks))) / 2})
	ranks, _ := set.(rankSet)
	return ranks
}

// mostListed is how many call paths are listed; of more, the rest is counted. nearlyAll is the part of a place's worth that those have
// which are worth counting.
const (
	mostListed = 4
	nearlyAll  = 0.95
)

// main is how many of the first call paths of a place have nearly all of its worth.
func (p place) main() int {
	all, so := sum(p.worth), 0.0
	for k, x := range p.worth {
		if so += x; so >= nearlyAll*all {
			return k + 1
		}
	}
	return len(p.worth)
}

// spot is a part of a place as people are told of it: call paths that read alike, and at which the same ranks are slow, are one.
type spot struct {
	steps []string // innermost first
	ranks rankSet  // that are slow there
	worth float64
}

// spots of the main call paths of a place, the heaviest first.
func (e *evaluator) spots(p place) (list []spot) {
	for k, at := range p.at[:p.main()] {
		x := spot{e.steps(at), e.slowAt(at), p.worth[k]}
		same := slices.IndexFunc(list, func(y spot) bool { return slices.Equal(x.steps, y.steps) && slices.Equal(x.ranks, y.ranks) })
		if same < 0 {
			list = append(list, x)
		} else {
			list[same].worth += x.worth
		}
	}
	slices.SortStableFunc(list, func(a, b spot) int { return cmp.Compare(b.worth, a.worth) })
	return list
}

// listed says where the main call paths of a place are, each with its share, and with the ranks that are slow there if those are not the
// same everywhere. Callers that all have in common are not repeated.
func (e *evaluator) listed(p place) string {
	all, list := sum(p.worth), e.spots(p)
	if len(list) == 0 || all <= 0 {
		return "nowhere"
	}
	differ := slices.ContainsFunc(list, func(x spot) bool { return !slices.Equal(x.ranks, list[0].ranks) })
	shown := list[:min(len(list), mostListed)]
	common := commonCallers(shown)
	var parts []string
	for _, x := range shown {
		text := fmt.Sprintf("%.0f %% %s", 100*x.worth/all, strings.Join(x.steps[:len(x.steps)-common], " in "))
		if differ && len(x.ranks) > 0 {
			text = words.Ranks(x.ranks) + " " + text
		}
		parts = append(parts, text)
	}
	if more := list[len(shown):]; len(more) > 0 {
		rest := 0.0
		for _, x := range more {
			rest += x.worth
		}
		parts = append(parts, fmt.Sprintf("%.0f %% at %s more", 100*rest/all, words.Count(uint64(len(more)), "place", "places")))
	}
	return strings.Join(parts, "; ")
}

// commonCallers is how many of the outermost steps all have in common, but for the innermost one of each.
func commonCallers(list []spot) int {
	for common := 0; len(list) > 1; common++ {
		for _, x := range list {
			if at := len(x.steps) - 1 - common; at < 1 || x.steps[at] != list[0].steps[len(list[0].steps)-1-common] {
				return common
			}
		}
	}
	return 0
}
