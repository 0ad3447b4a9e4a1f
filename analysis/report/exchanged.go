package report

import (
	"fmt"
	"strings"

	"marple/analysis/run"
	"marple/analysis/words"
)

// Most families and spells that are told; run.json has the others.
const (
	mostExchanged = 4
	mostSpells    = 6
	mostFirings   = 8
	leastCompared = 0.1 // of others' calls: what is known of fewer says little
)

// exchanged tells who served the calls of families, and what that brought against one implementation for all of them.
func (w *writer) exchanged() {
	if len(w.r.Exchanged) > 0 {
		w.line("")
	}
	for n, e := range w.r.Exchanged {
		if n == mostExchanged {
			w.block("             ", "             ", fmt.Sprintf("… %d more families", len(w.r.Exchanged)-n))
			break
		}
		w.family(e)
	}
}

func (w *writer) family(e run.Exchanged) {
	const indent = "             "
	head := fmt.Sprintf("%s by %s", e.Family, strings.Join(e.Policies, ", then "))
	if e.Calls == 0 {
		w.block("Exchanged    ", indent, head+": no records of its calls")
		w.firings(&e, indent)
		return
	}
	w.block("Exchanged    ", indent, fmt.Sprintf("%s: %s took %s", head, words.Count(e.Calls, "call", "calls"), words.Duration(e.Time)))
	var unserved []string
	for _, i := range e.Implementations {
		if i.Calls == 0 {
			unserved = append(unserved, i.Name)
			continue
		}
		text := fmt.Sprintf("%s served %s", i.Name, words.Percent(float64(i.Calls)/float64(e.Calls)))
		if others := e.Calls - i.Calls; others > 0 {
			if float64(i.Compared-i.Calls) < leastCompared*float64(others) {
				text += "; what it would have taken for most other calls is not known"
			} else {
				calls := "all calls"
				if i.Compared < e.Calls {
					calls = fmt.Sprintf("the %s of calls that can be compared", words.Percent(float64(i.Compared)/float64(e.Calls)))
				}
				text += fmt.Sprintf("; by it %s would have taken %s", calls, words.Duration(i.Always))
				if i.Error > 0 {
					text += " ± " + words.Duration(i.Error)
				}
				text += instead(i)
			}
		}
		w.block(indent, indent+"  ", text)
	}
	if len(unserved) > 0 {
		w.block(indent, indent+"  ", fmt.Sprintf("never served: %s", strings.Join(unserved, ", ")))
	}
	if len(e.Spells) > 1 {
		var parts []string
		for n, s := range e.Spells {
			if n == mostSpells && len(e.Spells) > mostSpells+1 {
				parts = append(parts, fmt.Sprintf("… %d more", len(e.Spells)-n))
				break
			}
			part := fmt.Sprintf("%s until %s", s.Implementation, words.Duration(s.Until))
			if n == len(e.Spells)-1 {
				part = "then " + s.Implementation
			}
			parts = append(parts, part)
		}
		w.block(indent, indent+"  ", "most calls: "+strings.Join(parts, ", "))
	}
	w.firings(&e, indent)
	if e.Crowded > 0 {
		w.block(indent, indent+"  ", fmt.Sprintf("%s not compared: there were too many methods and sizes", words.Count(e.Crowded, "call", "calls")))
	}
}

// instead is what a fixed choice would have cost or saved, unless that is less than its own uncertainty.
func instead(i run.Served) string {
	more := i.Always - i.Took
	switch {
	case more > 2*i.Error && more > 0.001*i.Took:
		return fmt.Sprintf(", %s more than they took", words.Duration(more))
	case -more > 2*i.Error && -more > 0.001*i.Took:
		return fmt.Sprintf(", %s less than they took", words.Duration(-more))
	}
	return ", about what they took"
}

// firings tells what the rules have done, and why; of what was tuned the ends.
func (w *writer) firings(e *run.Exchanged, indent string) {
	if len(e.Rules) == 0 {
		return
	}
	var told []run.Firing
	for _, f := range e.Firings {
		if f.Tuning != "begins" && f.Tuning != "measured" {
			told = append(told, f)
		}
	}
	for n, f := range told {
		if most := w.most(mostFirings); n == most && len(told) > most+1 {
			w.block(indent, indent+"  ", fmt.Sprintf("… %d more firings, in run.json", len(told)-n))
			break
		}
		w.block(indent, indent+"  ", w.firing(e, f))
	}
	var never []string
	for _, x := range e.Rules {
		if x.Fired == 0 {
			never = append(never, x.Name)
		}
	}
	if len(never) > 0 {
		w.block(indent, indent+"  ", fmt.Sprintf("%s that did nothing: %s", words.Plural(len(never), "rule", "rules"), strings.Join(never, ", ")))
	}
	if e.Changes > 0 && e.Made >= e.Changes {
		w.block(indent, indent+"  ", fmt.Sprintf("the rules have made all %s that they may make: from then on nothing changed", words.Count(uint64(e.Changes), "change", "changes")))
	}
	if lost := e.Fired() - min(e.Fired(), e.Recorded); lost > 0 {
		w.block(indent, indent+"  ", fmt.Sprintf("%s not told: there are no records of %s", words.Count(lost, "firing is", "firings are"), words.Plural(int(lost), "it", "them")))
	}
}

func (w *writer) firing(e *run.Exchanged, f run.Firing) string {
	rule := "rule " + f.Rule
	for _, x := range e.Rules {
		if x.Name == f.Rule && x.At != "" {
			rule += " (" + x.At + ")"
		}
	}
	text := fmt.Sprintf("%s: %s at %s", rule, f.Did, words.Duration(f.At))
	var why []string
	measured, evaluations := 0.0, 0.0
	for _, r := range f.Why {
		name, serving := strings.CutPrefix(r.Metric, "serving.")
		switch {
		case r.Metric == "measured":
			measured = r.Value
		case r.Metric == "evaluations":
			evaluations = r.Value
		case serving && r.Value == 1:
			why = append(why, name+" served")
		case serving:
			why = append(why, name+" did not serve")
		case r.Metric == "time_per_call":
			why = append(why, r.Metric+" was "+words.Duration(r.Value))
		case r.Metric == "imbalance":
			why = append(why, r.Metric+" was "+words.Percent(r.Value))
		default:
			why = append(why, r.Metric+" was "+words.Real(r.Value))
		}
	}
	switch f.Tuning {
	case "found":
		text += fmt.Sprintf(", the best of %s: %s a call", words.Count(uint64(evaluations), "point", "points"), words.Duration(measured))
	case "stopped":
		text += fmt.Sprintf(", the best so far when there were no more of %s: %s a call", words.Count(uint64(evaluations), "point", "points"), words.Duration(measured))
	case "inputs":
		text += "; it is tuned anew, because the calls' parameters are others"
	case "times":
		text += "; it is tuned anew, because its calls take another time"
	}
	if len(why) > 0 {
		text += "; " + strings.Join(why, ", ")
	}
	if f.Overruled > 0 {
		text += fmt.Sprintf("; %s of less priority wanted otherwise", words.Count(uint64(f.Overruled), "rule", "rules"))
	}
	if w.r.Ranks > 1 {
		switch {
		case f.Holding > 0:
			text += fmt.Sprintf(", on %d of %d ranks", f.Holding, w.r.Ranks)
		case f.Ranks > 1:
			text += fmt.Sprintf("; so on %d ranks", f.Ranks)
		default:
			text += fmt.Sprintf("; rank %d", f.Rank)
		}
	}
	return text
}
