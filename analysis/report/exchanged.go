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
