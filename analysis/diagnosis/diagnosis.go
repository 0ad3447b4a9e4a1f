// Package diagnosis says what held a run back and what to change: it applies the knowledge of parallel
// computational models to what was measured.
//
// It may use knowledge, inference, pattern, structure, run, callgraph, event and words; it holds no state. It
// sees what is stored of a run and nothing else, so that a stored run gets the findings that the live one got.
//
// Invariant: every conclusion carries the values and thresholds it rests on, every rejected one the reason;
// what lies below all thresholds is no finding, however interesting; what was not measured is unknown, not false.
package diagnosis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"marple/analysis/inference"
	"marple/analysis/knowledge"
	"marple/analysis/run"
	"marple/analysis/words"
)

// Conclude diagnoses a run, with the models of a library, as far as its data reach, and enters what was found into it: the findings, the most
// expensive first, how much of the loss they explain, the model it was recognized as, and what would take the diagnosis further. That it failed would be
// a mistake in Marple's own knowledge, and is noted in the run.
func Conclude(r *run.Run, library knowledge.Library) {
	if err := library.Check(); err != nil {
		first, _, more := strings.Cut(err.Error(), "\n")
		if more {
			first += "; marple knowledge check tells the rest"
		}
		r.NotSeen = append(r.NotSeen, run.Note{ID: "knowledge-failed", Text: "what knowledge of your own would have told: " + first})
		library = knowledge.Library{}
	}
	result, models, err := conclude(r, library)
	if err != nil {
		r.NotSeen = append(r.NotSeen, run.Note{ID: "diagnosis-failed", Text: "the diagnosis failed: " + err.Error()})
		result, models = &Result{Findings: []run.Finding{}, MayBe: []run.Finding{}}, []run.Model{}
	}
	r.Findings, r.MayBe, r.Models, r.Deeper = result.Findings, slices.Concat(result.MayBe), models, []run.Note{} // nil if there is none
	r.Loss = run.Account(r)
	if r.IsLarge() {
		r.NotSeen = append(r.NotSeen, run.Note{ID: "phases-not-sought", Text: fmt.Sprintf(
			"parts of the run with designs of their own were not looked for: the call graph has more than %d paths", run.Large)})
	}
	for _, q := range result.Requests {
		r.Deeper = append(r.Deeper, run.Note{ID: q.Measurement, Text: q.Text, Count: uint64(len(q.For))})
	}
}

// Find gives the findings that Conclude enters into a run.
func Find(r *run.Run) []run.Finding {
	again := *r
	Conclude(&again, knowledge.Library{})
	return again.Findings
}

func conclude(r *run.Run, library knowledge.Library) (*Result, []run.Model, error) {
	c, err := Choose(r, library)
	if err != nil {
		return nil, nil, err
	}
	models := c.Models(r)
	c.Pieces = slices.DeleteFunc(c.Pieces, func(p Piece) bool { return p.Phase == nil && p.Scopes[0].Model.Plain })
	result, err := c.Diagnose(r, nil)
	return result, models, err
}

// Diagnose diagnoses a run with what was chosen for it; see the function.
func (c *Choice) Diagnose(r *run.Run, events Events) (*Result, error) {
	result, err := Diagnose(r, events, c.Pieces...)
	if err == nil {
		result.Looks, result.Phases = c.Looks, append(result.Phases, c.Phases...)
	}
	return result, err
}

// general is the knowledge that holds for all programs. Its rules know by themselves what to think of ranks without cores.
const general = "general"

// Diagnose applies pieces of knowledge to a run; events is its sequence of events, if that is known. The error says
// that they contradict themselves.
func Diagnose(r *run.Run, events Events, pieces ...Piece) (*Result, error) {
	out := &Result{Program: r.Program, Ranks: r.Ranks, Looks: []Likeness{}, Phases: []*Phase{}, Findings: []run.Finding{}, MayBe: []run.Finding{}, Requests: []Request{}}
	r = r.Replayed()
	d := newData(r)
	d.events = events
	if d.core <= 0 || len(d.nodes) == 0 {
		return out, nil
	}
	var made []*Diagnosis
	var judges judges
	cored := withCores(r)
	for _, p := range pieces {
		g, err := d.examine(p, cored)
		if err != nil {
			return nil, err
		}
		made, judges = append(made, g), append(judges, g.judges(p.Scopes)...)
	}
	for _, g := range made {
		out.Models = append(out.Models, g.applied(judges))
		sure, doubtful := g.findings()
		for k, f := range append(sure, doubtful...) {
			if judges.of(f.ID, f.Node) != "" {
				continue
			}
			g.temper(&f, r)
			if k < len(sure) {
				out.Findings = append(out.Findings, f)
			} else {
				out.MayBe = append(out.MayBe, f)
			}
		}
		out.Requests = append(out.Requests, g.requests()...)
	}
	byShare := func(a, b run.Finding) int { return cmp.Compare(b.Share, a.Share) }
	slices.SortStableFunc(out.Findings, byShare)
	slices.SortStableFunc(out.MayBe, byShare)
	return out, nil
}

// examine applies a piece of knowledge to a run, of which cored is what a replay with a core for each rank made.
func (d *data) examine(p Piece, cored *run.Run) (*Diagnosis, error) {
	about := d
	if p.Phase != nil {
		about = p.Phase.data(d)
	}
	g, err := apply(about, p.Knowledge, nil)
	if err != nil {
		return nil, err
	}
	// Knowledge of a design may see a cause that was hidden while ranks waited without a core.
	if cored != d.r && p.Phase == nil && p.Name != general {
		about = newData(cored)
		about.events = d.events
		if seen, err := apply(about, p.Knowledge, nil); err == nil {
			if sure, _ := seen.findings(); len(sure) > 0 {
				g, seen.cored = seen, cored
			}
		}
	}
	g.phase = p.Phase
	return g, nil
}

// temper says of a finding what it is of, where ranks had no core for a part of the run, and makes it no surer than that allows.
func (g *Diagnosis) temper(f *run.Finding, r *run.Run) {
	if g.cored != nil {
		span := seconds(g.cored.WallNs)
		f.Evidence = append(f.Evidence, run.Evidence{Metric: "span-with-cores", Value: span, Unit: "s",
			Text: fmt.Sprintf("with a core for each rank the run would take %s at least: shares are of that", words.Duration(span))})
	}
	if r.AsWithCores || g.cored != nil {
		highest := map[bool]string{true: "low", false: "medium"}[r.Efficiency.CoreAvailability < hardlyCores]
		f.Confidence = confidences[max(0, min(slices.Index(confidences, f.Confidence), slices.Index(confidences, highest)))]
	}
}

// judges say which models decide about which facts of general knowledge: about those in their phase, where they are
// about a phase.
type judges []judge

type judge struct {
	fact, model string
	by          *Diagnosis
}

// of is the model that decides about a fact that was seen on a call path, "" if none does.
func (list judges) of(fact, node string) string {
	for _, j := range list {
		if j.fact != fact {
			continue
		}
		if _, in := j.by.byID()[node]; j.by.phase == nil || in {
			return j.model
		}
	}
	return ""
}

// judges are what the models of a diagnosis decide about, once its rules have come to an end.
func (g *Diagnosis) judges(scopes []*knowledge.Scope) (list judges) {
	if !g.decided() {
		return nil
	}
	for _, s := range scopes {
		if !g.has[s]["components"] { // nothing of what it is about is there
			continue
		}
		for _, id := range s.Model.Judges {
			list = append(list, judge{id, s.Model.Name, g})
		}
	}
	return list
}

// decided tells whether a model's rules come to an end: they find a cause, or nothing that asks for one. Where they
// see a symptom only, or cannot see, what general knowledge says stays.
func (g *Diagnosis) decided() bool {
	open := false
	for f, x := range g.ground.Facts {
		if x.Factor && g.truths[f] == inference.True && !g.doubtful(f) {
			return true
		}
		open = open || g.truths[f] == inference.True && g.seconds(f) >= x.Scope.Model.Threshold("least").Value*g.core
	}
	for _, r := range g.rules {
		open = open || r.Rule.Level == 1 && g.truths[r.Then] == inference.Unknown
	}
	return !open
}
