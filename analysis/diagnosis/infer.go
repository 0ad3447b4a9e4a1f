package diagnosis

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"marple/analysis/inference"
	"marple/analysis/knowledge"
	"marple/analysis/run"
)

// Diagnosis is a piece of knowledge applied to a run.
type Diagnosis struct {
	*data
	knowledge  *knowledge.Knowledge
	phase      *Phase   // nil: the whole run
	cored      *run.Run // what the run would have been with a core for each rank, if that is what was diagnosed
	evaluators map[*knowledge.Scope]*evaluator
	ground     *knowledge.Ground
	bound      []map[string]any // of a fact: what its parameter stands for
	rules      []rule
	evidence   []evidence
	seen       []sight // of evidence
	truths     []inference.Truth
	has        map[*knowledge.Scope]map[string]bool // measurements
	given      map[string]map[string]float64
	delays     map[*knowledge.Wait][]float64
}

// rule is a rule with its evidence.
type rule struct {
	knowledge.GroundRule
	evidence []int
}

// evidence is a condition of a rule that must be measured. One of test, level and cost is set.
type evidence struct {
	scope *knowledge.Scope
	test  *knowledge.Test
	level int // whose measurements must be there
	cost  int // 1 + the fact whose cost must be at least the threshold called than
	than  string
	among []string
	bound map[string]any
	after []int
}

// sight is what was seen of a piece of evidence.
type sight struct {
	truth       inference.Truth
	left, right float64
	err         error
	winner      string // of several, the one with the largest value
}

// prepare makes a piece of knowledge ready to be evaluated on a run.
func prepare(d *data, k *knowledge.Knowledge, given map[string]map[string]float64) *Diagnosis {
	g := &Diagnosis{data: d, knowledge: k, evaluators: map[*knowledge.Scope]*evaluator{}, has: map[*knowledge.Scope]map[string]bool{},
		given: given, delays: map[*knowledge.Wait][]float64{}}
	for _, s := range k.Scopes {
		var parent *context
		if s.Parent != nil {
			parent = g.evaluators[s.Parent].context
		}
		e := newEvaluator(g, newContext(d, s, parent))
		e.given = given[s.Name]
		g.evaluators[s] = e
		g.has[s] = g.measured(e)
	}
	for _, s := range k.Scopes {
		if span, ok := g.evaluators[s].totals["span"].(float64); ok {
			g.evaluators[s].totals["span"] = span - g.others(s)
		}
	}
	return g
}

// others is how long a rank works, on average, for the models that one runs interleaved with: no time that this one
// could lose.
func (g *Diagnosis) others(s *knowledge.Scope) (seconds float64) {
	for _, c := range g.knowledge.Others(s) {
		if all, err := g.evaluators[c.Scope].time(selection{component: c.Name}); err == nil {
			seconds += all / float64(len(g.ranks))
		}
	}
	return seconds
}

// apply diagnoses a run with a piece of knowledge.
func apply(d *data, k *knowledge.Knowledge, given map[string]map[string]float64) (*Diagnosis, error) {
	ground, err := k.Ground()
	if err != nil {
		return nil, err
	}
	g := prepare(d, k, given)
	g.ground = ground
	for _, f := range ground.Facts {
		var bound map[string]any
		if f.Parameter != "" {
			bound = map[string]any{f.Parameter: component{g.evaluators[f.Scope], f.Name.Argument}}
		}
		g.bound = append(g.bound, bound)
	}
	var rules []inference.Rule
	for _, r := range ground.Rules {
		x := g.withEvidence(r)
		rule := inference.Rule{Then: r.Then, Premises: r.Premises}
		for _, e := range x.evidence {
			rule.Evidence = append(rule.Evidence, inference.Evidence{ID: e, After: g.evidence[e].after})
		}
		g.rules = append(g.rules, x)
		rules = append(rules, rule)
	}
	program, err := inference.Compile(len(ground.Facts), rules)
	if err != nil {
		var cycle *inference.CycleError
		errors.As(err, &cycle)
		var circle []string
		for _, f := range cycle.Facts {
			circle = append(circle, g.full(f))
		}
		return nil, fmt.Errorf("%s: %s depends on its own absence: %s", k.Name, circle[0], strings.Join(circle, " ← "))
	}
	g.seen = make([]sight, len(g.evidence))
	g.truths = make([]inference.Truth, len(ground.Facts))
	g.truths = program.Run(func(e int, settled func(int) inference.Truth) inference.Truth {
		for _, f := range g.evidence[e].after {
			g.truths[f] = settled(f)
		}
		g.seen[e] = g.look(&g.evidence[e])
		return g.seen[e].truth
	})
	return g, nil
}

// measured says which measurements the run has, for a scope.
func (g *Diagnosis) measured(e *evaluator) map[string]bool {
	has := map[string]bool{"profile": len(e.nodes) > 0, "ranks": true, "peers": e.graph != nil, "events": e.events != nil, "wait-states": e.r.Waits != nil, "components": true}
	// Whether every rank's share is known depends on what is asked for: expressions say so themselves.
	byName := false
	for _, p := range e.parts {
		for _, one := range p.Match {
			byName = byName || one.Named()
		}
	}
	has["components"] = !byName || e.named
	if g.imagined {
		for name := range has {
			has[name] = true
		}
	}
	return has
}

func (g *Diagnosis) full(f int) string { return g.ground.Facts[f].Full() }

// withEvidence numbers the evidence of a rule: that its level is measured, its comparisons and, for a factor, that
// it costs enough.
func (g *Diagnosis) withEvidence(r knowledge.GroundRule) rule {
	x := rule{GroundRule: r}
	var bound map[string]any
	if r.Member != "" {
		bound = map[string]any{r.Rule.Variable: component{g.evaluators[r.Scope], r.Member}}
	}
	see := func(e evidence, expressions ...*knowledge.Expression) {
		e.scope, e.bound = r.Scope, bound
		for _, expression := range expressions {
			for _, f := range r.Scope.FactsBehind(expression) {
				if n, err := g.ground.Find(f.Scope, f.Fact, r.Rule.Variable, r.Member); err == nil && !slices.Contains(e.after, n) {
					e.after = append(e.after, n)
				}
			}
		}
		x.evidence = append(x.evidence, len(g.evidence))
		g.evidence = append(g.evidence, e)
	}
	see(evidence{level: r.Rule.Level})
	for _, t := range r.Rule.If {
		if t.Fact == nil {
			see(evidence{test: t, among: r.Members}, t.Left, t.Right, t.Largest)
		}
	}
	if f := g.ground.Facts[r.Then]; f.Factor {
		see(evidence{cost: r.Then + 1, than: "least"}, f.Costs()...)
		see(evidence{cost: r.Then + 1, than: "moment"}, f.Costs()...)
	}
	return x
}

// look evaluates a piece of evidence.
func (g *Diagnosis) look(x *evidence) sight {
	e := g.evaluators[x.scope]
	switch {
	case x.level > 0:
		for _, l := range x.scope.Model.Levels[:x.level] {
			for _, need := range l.Needs {
				if !g.has[x.scope][need] {
					return sight{truth: inference.Unknown, err: missing{need}}
				}
			}
		}
		return sight{truth: inference.True}
	case x.cost > 0:
		s := sight{right: x.scope.Model.Threshold(x.than).Value}
		if g.imagined {
			s.left = 1 // what is not given costs enough
			if share, ok := g.given[""]["cost("+g.full(x.cost-1)+")"]; ok {
				s.left = share
			}
			return s.compare(">=")
		}
		cost, err := g.cost(x.cost - 1)
		s.left, s.err = g.share(cost), err
		if x.than == "moment" {
			s.left = cost / float64(len(g.ranks))
		}
		return s.compare(">=")
	case x.test.Largest != nil:
		return g.largest(e, x)
	}
	var s sight
	var errs [2]error
	s.left, errs[0] = e.number(x.test.Left, x.bound)
	s.right, errs[1] = e.number(x.test.Right, x.bound)
	s.err = errors.Join(errs[:]...)
	if g.imagined && s.err == nil && (math.IsNaN(s.left) || math.IsNaN(s.right)) {
		s.err = missing{"given"}
	}
	return s.compare(x.test.Op)
}

// compare holds what was seen against the threshold. What is not measured is unknown; what is not defined, such
// as a share of nothing, does not hold.
func (s sight) compare(op string) sight {
	var m missing
	switch {
	case errors.As(s.err, &m):
		s.truth = inference.Unknown
		s.err = m
		return s
	case s.err != nil || math.IsNaN(s.left) || math.IsNaN(s.right):
		return s
	}
	holds := map[string]bool{">=": s.left >= s.right, ">": s.left > s.right, "<=": s.left <= s.right, "<": s.left < s.right}[op]
	if holds {
		s.truth = inference.True
	}
	return s
}

// largest finds out whether a metric is largest for the component that the rule is about.
func (g *Diagnosis) largest(e *evaluator, x *evidence) (s sight) {
	use := x.test.Largest.Uses.Metrics[0]
	s.left, s.err = e.number(x.test.Largest, x.bound)
	s.right = math.Inf(-1)
	for _, member := range x.among {
		v, err := e.metric(use.Name, member)
		if y := knowledge.Float(v); err == nil && y > s.right {
			s.right, s.winner = y, member
		}
	}
	if math.IsInf(s.right, -1) {
		s.right = math.NaN()
	}
	own := x.bound[use.Argument].(component).name
	s = s.compare(">=")
	if s.truth == inference.True && s.winner != own { // of equal ones the first
		s.truth = inference.False
	}
	return s
}

func (g *Diagnosis) truth(f int) inference.Truth { return g.truths[f] }

// cost is what a fact costs, in seconds: what is attributed to it, and no more than its bound, which is at most all the
// time that there is.
func (g *Diagnosis) cost(f int) (float64, error) {
	x := &g.ground.Facts[f]
	if x.Cost == nil {
		return 0, nil
	}
	e := g.evaluators[x.Scope]
	cost, err := e.number(x.Cost, g.bound[f])
	if x.Bound != nil && err == nil {
		var most float64
		if most, err = e.number(x.Bound, g.bound[f]); most < cost {
			cost = most
		}
	}
	return min(cost, e.core), err
}

// surely is what a fact costs at least.
func (g *Diagnosis) surely(f int) float64 {
	cost := g.seconds(f)
	if x := &g.ground.Facts[f]; x.Surely != nil {
		if least, err := g.evaluators[x.Scope].number(x.Surely, g.bound[f]); err == nil && least < cost {
			cost = least
		}
	}
	return max(cost-g.turn(), 0)
}

// turn is what chance alone may make ranks wait where they share cores: all but one for that one's turn on a core.
func (g *Diagnosis) turn() float64 {
	available := g.r.Efficiency.CoreAvailability
	if !g.r.AsWithCores && (available == 0 || available >= enoughCores) {
		return 0
	}
	return slice * float64(max(len(g.r.PerRank)-1, 0))
}
