package diagnosis

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"marple/analysis/callgraph"
	"marple/analysis/inference"
	"marple/analysis/knowledge"
	"marple/analysis/record"
	"marple/analysis/run"
	"marple/analysis/words"
)

// Result is what a diagnosis found, in the form of `marple diagnose --format json`. Shares are of core time, from
// 0 to 1; seconds are core time, added up over ranks.
type Result struct {
	Program string `json:"program"`
	Ranks   int    `json:"ranks"`
	// Looks say how much the run looks like which model, the likeliest first; empty where the model was given.
	Looks []Likeness `json:"looks"`
	// Phases are the parts of the run that look different, in order of time; none if there are no such.
	Phases []*Phase `json:"phases"`
	// Models are the pieces of knowledge that were applied: the general one, then those of the program's design.
	Models   []Applied     `json:"models"`
	Findings []run.Finding `json:"findings"`
	MayBe    []run.Finding `json:"may_be"` // what would be a finding, but may as well be nothing
	// Requests are the measurements that would take the diagnosis further.
	Requests []Request `json:"to_go_deeper"`
}

// Settle gives a diagnosis the findings that the run ended with: there is one verdict, wherever it is shown. What else was
// concluded stands with the models.
func (d *Result) Settle(r *run.Run) {
	d.Findings, d.MayBe = append([]run.Finding{}, r.Findings...), append([]run.Finding{}, r.MayBe...)
}

// Applied is a piece of knowledge applied to the run.
type Applied struct {
	Model       string       `json:"model"`
	Title       string       `json:"title"`
	Phase       string       `json:"phase,omitempty"` // where, if it is about a phase of the run only
	Levels      []Level      `json:"levels"`
	Conclusions []Conclusion `json:"conclusions"`
}

// Level of a diagnosis. Levels are numbered through the models of a composition, outer ones first.
type Level struct {
	Level   int      `json:"level"`
	Model   string   `json:"model"`
	Title   string   `json:"title"`
	Missing []string `json:"missing"` // measurements that the run does not have
}

// Conclusion is a fact that was looked into: what became of it, and why.
type Conclusion struct {
	ID      string  `json:"id"`
	Model   string  `json:"model"`
	Kind    string  `json:"kind"`    // observation or factor
	Verdict string  `json:"verdict"` // holds, rejected or unknown
	Title   string  `json:"title"`
	Level   int     `json:"level"` // of all levels of the diagnosis; see Applied.Levels
	Seconds float64 `json:"seconds,omitempty"`
	Share   float64 `json:"share,omitempty"`
	Where   string  `json:"where,omitempty"`
	// Followed marks the most expensive branch, level by level.
	Followed bool `json:"followed,omitempty"`
	// JudgedBy is the model of the program's design whose own rules decide about this instead.
	JudgedBy string   `json:"judged_by,omitempty"`
	From     []string `json:"from"` // the facts it follows from, or would
	Reasons  []Reason `json:"reasons"`
	fact     int
	costs    Cost // whatever the verdict
}

// Reason is one rule that leads to a conclusion: what it asked for, and what was seen.
type Reason struct {
	Verdict string `json:"verdict"`
	Level   int    `json:"level"`
	Lines   []Line `json:"lines"`
}

// Line is one condition of a rule.
type Line struct {
	Text      string  `json:"text"`
	Verdict   string  `json:"verdict"`
	Premise   bool    `json:"premise,omitempty"` // another conclusion, or its contrary
	Metric    string  `json:"metric,omitempty"`
	Value     float64 `json:"value,omitempty"`
	Threshold float64 `json:"threshold,omitempty"`
	Unit      string  `json:"unit,omitempty"`
	Needs     string  `json:"needs,omitempty"` // the measurement that is missing
}

// Request asks for a measurement.
type Request struct {
	Measurement string   `json:"measurement"`
	Text        string   `json:"text"`
	How         string   `json:"how"`
	For         []string `json:"for"` // what it would tell about
}

var verdicts = [...]string{inference.False: "rejected", inference.Unknown: "unknown", inference.True: "holds"}

// conclusions are all facts about which there are rules, each after those it follows from, dear ones first.
func (g *Diagnosis) conclusions() []Conclusion {
	about := make([][]*rule, len(g.ground.Facts))
	children := make([][]int, len(g.ground.Facts))
	top := []int{}
	for i := range g.rules {
		r := &g.rules[i]
		about[r.Then] = append(about[r.Then], r)
	}
	for f := range g.ground.Facts {
		var from []int
		for _, r := range about[f] {
			for _, p := range r.Premises {
				if !p.Not && !slices.Contains(from, p.Fact) {
					from = append(from, p.Fact)
				}
			}
		}
		if len(about[f]) == 0 {
			continue
		}
		if len(from) == 0 {
			top = append(top, f)
		}
		for _, p := range from {
			children[p] = append(children[p], f)
		}
	}
	var list []Conclusion
	made := map[int]bool{}
	var visit func(facts []int)
	visit = func(facts []int) {
		slices.SortStableFunc(facts, func(a, b int) int {
			return cmp.Or(cmp.Compare(g.truths[b], g.truths[a]), cmp.Compare(g.seconds(b), g.seconds(a)))
		})
		for _, f := range facts {
			if made[f] {
				continue
			}
			made[f] = true
			list = append(list, g.conclusion(f, about[f]))
			visit(children[f])
		}
	}
	visit(top)
	return list
}

// seconds is what a fact costs, 0 where that is not known.
func (g *Diagnosis) seconds(f int) float64 {
	x, err := g.cost(f)
	if err != nil || x != x {
		return 0
	}
	return x
}

func (g *Diagnosis) conclusion(f int, rules []*rule) Conclusion {
	x := &g.ground.Facts[f]
	c := Conclusion{ID: g.full(f), Model: x.Scope.Model.Name, Kind: "observation", Verdict: verdicts[g.truths[f]],
		Title: g.title(f), From: []string{}, Reasons: []Reason{}, fact: f}
	if x.Factor {
		c.Kind = "factor"
	}
	seconds := g.seconds(f)
	c.costs = Cost{Verdict: c.Verdict, Seconds: seconds, Share: g.share(seconds)}
	if g.truths[f] == inference.True {
		c.Seconds, c.Share = c.costs.Seconds, c.costs.Share
		c.Where, _ = g.place(f)
	}
	for _, r := range rules {
		reason := g.reason(r)
		if c.Level == 0 || r.Rule.Level < c.Level {
			c.Level = r.Rule.Level
		}
		c.Reasons = append(c.Reasons, reason)
		for _, p := range r.Premises {
			if name := g.full(p.Fact); !p.Not && !slices.Contains(c.From, name) {
				c.From = append(c.From, name)
			}
		}
	}
	return c
}

// title says which component it is about, where the model is nested in one.
func (g *Diagnosis) title(f int) string {
	x := &g.ground.Facts[f]
	text := g.evaluators[x.Scope].text(x.Title, g.bound[f], knowledge.Unit{})
	if x.Scope.Parent != nil {
		return fmt.Sprintf("In %s: %s", x.Scope.Into, text)
	}
	return text
}

// truthOf is the truth of a rule: that of its least true condition.
func (g *Diagnosis) truthOf(r *rule) inference.Truth {
	truth := inference.True
	for _, p := range r.Premises {
		t := g.truths[p.Fact]
		if p.Not {
			t = t.Not()
		}
		truth = min(truth, t)
	}
	for _, e := range r.evidence {
		truth = min(truth, g.seen[e].truth)
	}
	return truth
}

func (g *Diagnosis) reason(r *rule) Reason {
	out := Reason{Verdict: verdicts[g.truthOf(r)], Level: r.Rule.Level, Lines: []Line{}}
	for _, p := range r.Premises {
		t, text := g.truths[p.Fact], g.full(p.Fact)
		if p.Not {
			t, text = t.Not(), "not "+text
		}
		out.Lines = append(out.Lines, Line{Text: text, Verdict: verdicts[t], Premise: true})
	}
	cheap := false // below the least share: then how short it is need not be said
	for _, e := range r.evidence {
		x, holds := &g.evidence[e], g.seen[e].truth == inference.True
		if holds && (x.level > 0 || x.than == "moment") || x.than == "moment" && cheap {
			continue
		}
		cheap = cheap || x.than == "least" && !holds
		out.Lines = append(out.Lines, g.line(x, g.seen[e]))
	}
	return out
}

var signs = map[string]string{">=": "≥", "<=": "≤", ">": ">", "<": "<"}

// line puts a piece of evidence into words and numbers.
func (g *Diagnosis) line(x *evidence, s sight) Line {
	l := Line{Verdict: verdicts[s.truth]}
	var m missing
	if errors.As(s.err, &m) {
		l.Needs = m.measurement
	}
	if x.level > 0 {
		l.Text = fmt.Sprintf("level %d %s", x.level, s.err)
		return l
	}
	e := g.evaluators[x.scope]
	name, op, bound := "share of the core time", ">=", x.than
	unit, _ := knowledge.ParseUnit("share")
	if x.than == "moment" {
		name = "cost per rank"
		unit, _ = knowledge.ParseUnit("s")
	}
	if t := x.test; t != nil {
		left := t.Left
		if t.Largest != nil {
			left = t.Largest
		}
		name, unit = g.metricName(e, left, x), e.unit(left)
		op = t.Op
		if t.Right != nil {
			bound = strings.TrimSpace(t.Right.Text)
		}
	}
	l.Metric, l.Unit = name, unit.Name
	if s.err != nil {
		l.Text = fmt.Sprintf("%s: %s", name, s.err)
		return l
	}
	if s.left != s.left || s.right != s.right {
		l.Text = name + " is not defined here"
		return l
	}
	l.Value, l.Threshold = s.left, s.right
	if x.test != nil && x.test.Largest != nil {
		if l.Text = fmt.Sprintf("%s = %s, the largest", name, unit.Exact(s.left)); s.truth != inference.True {
			l.Text = fmt.Sprintf("%s = %s, not the largest: %s has %s", name, unit.Exact(s.left), s.winner, unit.Exact(s.right))
		}
		return l
	}
	than := unit.Exact(s.right)
	if isName(bound) {
		than += " (" + bound + ")"
	}
	word := ""
	if s.truth != inference.True {
		word = "not "
	}
	l.Text = fmt.Sprintf("%s = %s, %s%s %s", name, unit.Exact(s.left), word, signs[op], than)
	return l
}

func isName(text string) bool {
	return text != "" && strings.Trim(text, "abcdefghijklmnopqrstuvwxyz0123456789_.") == "" && strings.Trim(text, "0123456789.") != ""
}

// metricName is how evidence calls what it measures, with a component in place of a variable.
func (g *Diagnosis) metricName(_ *evaluator, left *knowledge.Expression, x *evidence) string {
	if len(left.Uses.Metrics) == 1 {
		use := left.Uses.Metrics[0]
		if c, ok := x.bound[use.Argument]; ok && strings.TrimSpace(left.Text) == use.Name+"("+use.Argument+")" {
			return fmt.Sprintf("%s(%s)", use.Name, c.(component).name)
		}
	}
	return strings.TrimSpace(left.Text)
}

// unit is how the value of an expression is written.
func (e *evaluator) unit(x *knowledge.Expression) knowledge.Unit {
	if len(x.Uses.Metrics) == 1 {
		scope, name := e.owner(x.Uses.Metrics[0].Name)
		text := strings.TrimSpace(x.Text)
		if m := scope.scope.Model.Metric(name); m != nil && (text == x.Uses.Metrics[0].Name || strings.HasPrefix(text, x.Uses.Metrics[0].Name+"(")) {
			return m.Unit
		}
	}
	return knowledge.UnitFor(x)
}

// place is where a fact was seen, in words, and the ID of the call path.
func (g *Diagnosis) place(f int) (text, id string) {
	x := &g.ground.Facts[f]
	e := g.evaluators[x.Scope]
	i := none
	switch name := x.Where; {
	case name == "" && x.Scope.Parent == nil:
	case name == "":
		i = e.largestIn("all")
	case e.scope.Model.Place(name) != nil:
		if p, _ := e.place(name); len(p.at) > 0 {
			i = p.at[0]
		}
	default:
		if c, ok := g.bound[f][name].(component); ok {
			name = c.name
		}
		i = e.largestIn(name)
	}
	if i == none {
		return "", ""
	}
	return g.where(i), g.nodes[i].ID
}

// findings are the factors that hold, the most expensive first; doubtful ones by themselves.
func (g *Diagnosis) findings() (list, doubtful []run.Finding) {
	for f := range g.ground.Facts {
		switch {
		case !g.ground.Facts[f].Factor || g.truths[f] != inference.True:
		case g.doubtful(f):
			doubtful = append(doubtful, g.finding(f))
		default:
			list = append(list, g.finding(f))
		}
	}
	byShare := func(a, b run.Finding) int { return cmp.Compare(b.Share, a.Share) }
	slices.SortStableFunc(list, byShare)
	slices.SortStableFunc(doubtful, byShare)
	return list, doubtful
}

func (g *Diagnosis) finding(f int) run.Finding {
	x := &g.ground.Facts[f]
	e := g.evaluators[x.Scope]
	lost := g.seconds(f)
	out := run.Finding{ID: g.full(f), Title: g.title(f), Seconds: lost, Share: g.share(lost), Low: g.share(g.surely(f)), Worth: x.Scope.Model.Threshold("least").Value,
		Model: x.Scope.Model.Name, Factor: x.Label, Confidence: g.confidence(f), Evidence: []run.Evidence{}}
	if x.Model != "" {
		out.Model = x.Model
	}
	out.Where, out.Node = g.place(f)
	if x.Ranks != nil {
		if set, err := e.value(x.Ranks, g.bound[f]); err == nil {
			out.Ranks, _ = set.(rankSet)
		}
	}
	g.support(f, &out)
	if calls := g.callsOf(f); calls != "" {
		out.Evidence = append(out.Evidence, run.Evidence{Metric: "heaviest-call", Text: calls})
	}
	for i, one := range x.Remedies {
		switch r := e.remedy(one); {
		case i == 0:
			out.Remedy = r
		case r != nil:
			out.Instead = append(out.Instead, run.Instead{Remedy: *r})
		}
	}
	out.Gain = g.gain(f)
	for _, a := range x.Advice {
		if a.If == nil || g.holds(f, *a.If) {
			out.Advice = e.text(a.Text, g.bound[f], knowledge.Unit{})
			break
		}
	}
	return out
}

// support gives a finding its evidence: that of the rules which it follows from, what they follow from first, and what else its factor tells.
func (g *Diagnosis) support(f int, out *run.Finding) {
	told, seen := map[string]bool{}, map[int]bool{}
	var chain func(f int)
	chain = func(f int) {
		i := slices.IndexFunc(g.rules, func(r rule) bool { return r.Then == f && g.truthOf(&r) == inference.True })
		if seen[f] || i < 0 {
			return
		}
		seen[f] = true
		r := &g.rules[i]
		for _, p := range r.Premises {
			if !p.Not {
				chain(p.Fact)
			}
		}
		for _, i := range r.evidence {
			if t := g.evidence[i].test; t != nil && t.Left != nil {
				g.tell(out, g.evaluators[r.Scope], t.Left, g.evidence[i].bound, g.seen[i].right, told)
			}
		}
	}
	chain(f)
	x := &g.ground.Facts[f]
	e := g.evaluators[x.Scope]
	for _, t := range x.Tell {
		if told[t.Metric] || t.If != nil && !g.holds(f, *t.If) {
			continue
		}
		m, argument := x.Scope.Model.Metric(t.Metric), ""
		if m.Parameter != "" {
			argument = x.Name.Argument
		}
		if v, err := e.metric(t.Metric, argument); err == nil {
			out.Evidence = append(out.Evidence, e.told(m, argument, knowledge.Float(v), 0))
		}
	}
}

// gain is what a factor's own formula says that its advice saves, of what it costs; nil where it has none, or what it needs was not measured.
func (g *Diagnosis) gain(f int) *run.Gain {
	x := &g.ground.Facts[f]
	if x.Gain == nil {
		return nil
	}
	e := g.evaluators[x.Scope]
	saved, err := e.number(x.Gain, g.bound[f])
	if err != nil || saved != saved {
		return nil
	}
	most := min(g.share(g.seconds(f)), 1) // what it costs
	out := &run.Gain{Share: min(max(g.share(saved), 0), most), AtMost: x.GainAtMost}
	out.Low, out.High = out.Share, out.Share
	if x.GainAtMost {
		out.Low = 0
	}
	if x.GainError != nil {
		within, err := e.number(x.GainError, g.bound[f])
		if err != nil || within != within {
			return nil
		}
		out.Low, out.High = max(out.Low-g.share(within), 0), min(out.High+g.share(within), most)
	}
	out.Seconds = out.Share * float64(g.r.WallNs) / 1e9
	return out
}

// remedy is a remedy with the call paths that it is about in this run; nil where there are none.
func (e *evaluator) remedy(x *knowledge.Remedy) *run.Remedy {
	out := &run.Remedy{Change: x.Change}
	if x.Change == "prompt" {
		out.Pattern = x.Of[0]
		return out
	}
	kind := map[bool]callgraph.Kind{true: callgraph.KindGap, false: callgraph.KindMPI}[x.Change == "balance"]
	allowed := make([]bool, len(e.ranks))
	unknown := false
	for _, name := range x.Of {
		s := selection{component: name}
		if e.scope.Model.Place(name) != nil {
			p, err := e.place(name)
			if err != nil || len(p.at) == 0 {
				return nil
			}
			s = selection{component: "all", at: p.at}
		}
		if err := e.each(s, func(n *node, ranks func(int) bool) {
			if n.kind == kind {
				unknown = unknown || e.besideVainTests(n)
				out.Nodes = append(out.Nodes, n.ID)
				for i := range allowed {
					allowed[i] = allowed[i] || ranks == nil || ranks(i)
				}
			}
		}); err != nil {
			return nil
		}
	}
	if len(out.Nodes) == 0 || unknown {
		return nil
	}
	if slices.Equal(x.Of, []string{"all"}) && e.scope.Parent == nil {
		out.Nodes = nil
	}
	if slices.Contains(allowed, false) {
		for i, ok := range allowed {
			if ok {
				out.Ranks = append(out.Ranks, e.ranks[i])
			}
		}
	}
	return out
}

// besideVainTests tells whether a computation begins or ends at tests that mostly find nothing. The logs leave those out, so that a
// replay has it as part of another one.
func (d *data) besideVainTests(n *node) bool {
	return slices.ContainsFunc([]string{n.From, n.To}, func(id string) bool {
		i, ok := d.byID()[id]
		return ok && d.nodes[i].op == record.OpTest && 2*float64(d.nodes[i].Hits) < calls(&d.nodes[i])
	})
}

// callsOf says of the calls where most of a fact's time is spent how many there are, what they carry, and where they stand;
// of a fact without a place, of the calls in which ranks spend most time.
func (g *Diagnosis) callsOf(f int) string {
	_, id := g.place(f)
	at, known := g.byID()[id]
	if !known {
		for i := range g.nodes {
			if n := &g.nodes[i]; n.kind == callgraph.KindMPI && (!known || n.seconds > g.nodes[at].seconds) {
				at, known = i, true
			}
		}
	}
	if !known || g.nodes[at].kind != callgraph.KindMPI || g.nodes[at].Calls == nil {
		return ""
	}
	n := &g.nodes[at]
	text := fmt.Sprintf("%s %s", words.Number(n.Calls.N), n.Name)
	if carried := max(n.Out, n.In); carried > 0 && n.Calls.N > 0 {
		text += " of " + words.Size(float64(carried)/float64(n.Calls.N))
	}
	if n.Site != "" {
		text += " at " + n.Site
	}
	var ranks rankSet
	for _, r := range n.PerRank {
		ranks = append(ranks, int(r.Rank))
	}
	switch {
	case uint64(len(ranks)) < n.Exclusive.N:
		text += fmt.Sprintf(" on %d ranks", n.Exclusive.N)
	case len(ranks) == len(g.ranks):
		text += " on all ranks"
	default:
		slices.Sort(ranks)
		text += " on " + words.Ranks(ranks)
	}
	return text
}

// doubtful tells whether what a finding costs may as well be nothing, or less than is told.
func (g *Diagnosis) doubtful(f int) bool {
	return g.share(g.surely(f)) < g.ground.Facts[f].Scope.Model.Threshold("least").Value
}

// tell adds a metric that says something for people to a finding.
func (g *Diagnosis) tell(out *run.Finding, e *evaluator, left *knowledge.Expression, bound map[string]any, threshold float64, told map[string]bool) {
	if len(left.Uses.Metrics) != 1 {
		return
	}
	use := left.Uses.Metrics[0]
	argument := use.Argument
	if c, ok := bound[argument].(component); ok {
		argument = c.name
	}
	scope, name := e.owner(use.Name)
	m := scope.scope.Model.Metric(name)
	key := scope.scope.Name + "." + name + argument
	if m == nil || m.Says == nil || told[key] || !strings.HasPrefix(strings.TrimSpace(left.Text), use.Name) {
		return
	}
	told[key], told[name] = true, true
	if v, err := scope.metric(name, argument); err == nil {
		out.Evidence = append(out.Evidence, scope.told(m, argument, knowledge.Float(v), threshold))
	}
}

// told is a metric as evidence.
func (e *evaluator) told(m *knowledge.Metric, argument string, v, threshold float64) run.Evidence {
	bound := map[string]any{"value": v}
	if m.Parameter != "" {
		bound[m.Parameter] = component{e, argument}
	}
	text := fmt.Sprintf("%s: %s", strings.ReplaceAll(m.Name, "_", " "), m.Unit.Print(v))
	if m.Says != nil {
		text = m.Says.Print(func(x *knowledge.Expression) (any, error) { return e.value(x, bound) }, e.write, m.Unit)
	}
	if v != v {
		v = 0
	}
	return run.Evidence{Metric: strings.ReplaceAll(m.Name, "_", "-"), Value: v, Threshold: threshold, Unit: m.Unit.Name, Text: text}
}

// holds tells whether a fact that another one refers to is true.
func (g *Diagnosis) holds(f int, name knowledge.FactName) bool {
	x := &g.ground.Facts[f]
	n, err := g.ground.Find(x.Scope, name, x.Parameter, x.Name.Argument)
	return err == nil && g.truths[n] == inference.True
}

var confidences = []string{"low", "medium", "high"}

// confidence goes down a step for each doubt.
func (g *Diagnosis) confidence(f int) string {
	at := slices.Index(confidences, g.ground.Facts[f].Confidence)
	for _, doubt := range g.ground.Facts[f].Doubts {
		if g.holds(f, doubt) {
			at--
		}
	}
	return confidences[max(at, 0)]
}

// requests are the measurements that facts wait for whose premises hold, or may.
func (g *Diagnosis) requests() []Request {
	wanted := map[string][]string{}
	for i := range g.rules {
		r := &g.rules[i]
		if g.truths[r.Then] != inference.Unknown || g.truthOf(r) != inference.Unknown {
			continue
		}
		open := true // a rule further down waits for one that waits
		for _, p := range r.Premises {
			t := g.truths[p.Fact]
			if p.Not {
				t = t.Not()
			}
			open = open && t == inference.True
		}
		if !open {
			continue
		}
		for _, e := range r.evidence {
			var m missing
			if g.seen[e].truth == inference.Unknown && errors.As(g.seen[e].err, &m) {
				if name := g.full(r.Then); !slices.Contains(wanted[m.measurement], name) {
					wanted[m.measurement] = append(wanted[m.measurement], name)
				}
			}
		}
	}
	var list []Request
	for _, m := range knowledge.Measurements {
		if f := wanted[m.Name]; f != nil {
			list = append(list, Request{Measurement: m.Name, Text: m.About, How: m.How, For: f})
		}
	}
	return list
}

// applied is the result of one piece of knowledge.
func (g *Diagnosis) applied(judges judges) Applied {
	a := Applied{Model: g.knowledge.Name, Title: g.knowledge.Title, Levels: []Level{}}
	if g.phase != nil {
		a.Phase = g.phase.Where
	}
	number := map[[2]any]int{} // of a model's own level
	for _, s := range g.knowledge.Scopes {
		for i, l := range s.Model.Levels {
			key := [2]any{s.Model, i + 1}
			has := func(need string) bool { return g.has[s][need] }
			if n := number[key]; n > 0 { // the model is nested in several places
				a.Levels[n-1].Missing = slices.DeleteFunc(a.Levels[n-1].Missing, has)
				continue
			}
			number[key] = len(a.Levels) + 1
			a.Levels = append(a.Levels, Level{Level: number[key], Model: s.Model.Name, Title: l.Title,
				Missing: slices.DeleteFunc(slices.Clone(l.Needs), has)})
		}
	}
	a.Conclusions = g.conclusions()
	for i := range a.Conclusions {
		c := &a.Conclusions[i]
		c.Level = number[[2]any{g.ground.Facts[c.fact].Scope.Model, c.Level}]
		if g.ground.Facts[c.fact].Scope.Name == "" && c.Kind == "factor" {
			_, node := g.place(c.fact)
			c.JudgedBy = judges.of(c.ID, node)
		}
	}
	follow(a.Conclusions)
	return a
}

// follow marks a branch from the top down: at each step the most expensive of those that lead to a factor or, if
// none does, of all.
func follow(list []Conclusion) {
	below := map[string][]int{}
	for i, c := range list {
		for _, from := range c.From {
			below[from] = append(below[from], i)
		}
	}
	leads := map[string]bool{}
	var leadsTo func(i int) bool
	leadsTo = func(i int) bool {
		id := list[i].ID
		if known, ok := leads[id]; ok {
			return known
		}
		leads[id] = list[i].Verdict == "holds" && list[i].Kind == "factor"
		for _, next := range below[id] {
			leads[id] = leadsTo(next) && list[next].Verdict == "holds" || leads[id]
		}
		return leads[id]
	}
	best := func(candidates []int) int {
		at := -1
		for _, i := range candidates {
			if list[i].Verdict != "holds" || list[i].Followed || list[i].Seconds == 0 || list[i].JudgedBy != "" {
				continue
			}
			if at < 0 || leadsTo(i) && !leadsTo(at) || leadsTo(i) == leadsTo(at) && list[i].Seconds > list[at].Seconds {
				at = i
			}
		}
		return at
	}
	var top []int
	for i, c := range list {
		if len(c.From) == 0 {
			top = append(top, i)
		}
	}
	for at := best(top); at >= 0; at = best(below[list[at].ID]) {
		list[at].Followed = true
	}
}
