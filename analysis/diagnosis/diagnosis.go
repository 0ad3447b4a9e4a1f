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
	"slices"

	"marple/analysis/inference"
	"marple/analysis/knowledge"
	"marple/analysis/run"
)

// Conclude diagnoses a run as far as its data reach, and enters what was found into it: the findings, the most
// expensive first, the model it was recognized as, and what would take the diagnosis further. That it failed would be
// a mistake in Marple's own knowledge, and is noted in the run.
func Conclude(r *run.Run) {
	result, err := conclude(r)
	if err != nil {
		r.NotSeen = append(r.NotSeen, run.Note{ID: "diagnosis-failed", Text: "the diagnosis failed: " + err.Error()})
		result = &Result{Findings: []run.Finding{}}
	}
	r.Findings, r.Models, r.Deeper = result.Findings, []run.Model{}, []run.Note{}
	for _, l := range result.Looks {
		if l.Confidence >= Recognized {
			r.Models = append(r.Models, run.Model{Name: l.Model, Title: l.Title, Confidence: l.Confidence})
		}
	}
	for _, q := range result.Requests {
		r.Deeper = append(r.Deeper, run.Note{ID: q.Measurement, Text: q.Text, Count: uint64(len(q.For))})
	}
}

// Find gives the findings that Conclude enters into a run.
func Find(r *run.Run) []run.Finding {
	again := *r
	Conclude(&again)
	return again.Findings
}

func conclude(r *run.Run) (*Result, error) {
	pieces, looks, err := Choose(r, knowledge.Library{})
	if err != nil {
		return nil, err
	}
	if len(pieces) > 1 && pieces[1].Scopes[0].Model.Plain {
		pieces = pieces[:1]
	}
	result, err := Diagnose(r, nil, pieces...)
	if err != nil {
		return nil, err
	}
	result.Looks = looks
	return result, nil
}

// Diagnose applies pieces of knowledge to a run; events is its sequence of events, if that is known. The error says
// that they contradict themselves.
func Diagnose(r *run.Run, events Events, pieces ...*knowledge.Knowledge) (*Result, error) {
	out := &Result{Program: r.Program, Ranks: r.Ranks, Looks: []Likeness{}, Findings: []run.Finding{}, Requests: []Request{}}
	d := newData(r)
	d.events = events
	if d.core <= 0 || len(d.nodes) == 0 {
		return out, nil
	}
	var made []*Diagnosis
	judges := map[string]string{} // models, by the facts of general knowledge that they decide about
	for _, k := range pieces {
		g, err := apply(d, k, nil)
		if err != nil {
			return nil, err
		}
		made = append(made, g)
		if !g.decided() {
			continue
		}
		for _, s := range k.Scopes {
			for _, id := range s.Model.Judges {
				judges[id] = s.Model.Name
			}
		}
	}
	for _, g := range made {
		out.Models = append(out.Models, g.applied(judges))
		out.Findings = append(out.Findings, g.findings()...)
		out.Requests = append(out.Requests, g.requests()...)
	}
	out.Findings = slices.DeleteFunc(out.Findings, func(f run.Finding) bool { return judges[f.ID] != "" })
	slices.SortStableFunc(out.Findings, func(a, b run.Finding) int { return cmp.Compare(b.Share, a.Share) })
	return out, nil
}

// decided tells whether a model's rules come to an end: they find a cause, or nothing that asks for one. Where they
// see a symptom only, or cannot see, what general knowledge says stays.
func (g *Diagnosis) decided() bool {
	open := false
	for f, x := range g.ground.Facts {
		if x.Factor && g.truths[f] == inference.True {
			return true
		}
		open = open || g.truths[f] == inference.True && g.seconds(f) >= x.Scope.Model.Threshold("least").Value*g.core
	}
	for _, r := range g.rules {
		open = open || r.Rule.Level == 1 && g.truths[r.Then] == inference.Unknown
	}
	return !open
}
