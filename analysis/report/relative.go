package report

import (
	"fmt"
	"math"
	"slices"

	"marple/analysis/diagnosis"
	"marple/analysis/run"
	"marple/analysis/words"
)

// mostChanges is how many conclusions of a kind are told that changed, or stayed; JSON has all.
const mostChanges = 12

// Relative is a relative diagnosis for people: what holds two runs back that does so in both, in the first only, or in the second only.
func Relative(x *diagnosis.Relative) string {
	w := &writer{r: &run.Run{}}
	w.line("Marple: what holds them back, A and B")
	w.rule("")
	w.side("A  ", x.A)
	w.side("B  ", x.B)
	w.changes("What costs time", "factor", x)
	w.changes("What was seen", "observation", x)
	switch {
	case len(x.Changes) == 0:
		w.line("")
		w.line("Nothing holds either of them back.")
	case slices.ContainsFunc(x.Changes, func(c diagnosis.Change) bool { return c.A.Verdict == "rejected" || c.B.Verdict == "rejected" }):
		w.line("")
		w.line("In brackets: no cause there, by the thresholds.")
	}
	return w.String()
}

func (w *writer) side(name string, s diagnosis.Side) {
	text := fmt.Sprintf("%s, %s, %s", s.Program, words.Count(uint64(s.Ranks), "rank", "ranks"), words.Duration(s.Wall))
	if len(s.Looks) > 0 && s.Looks[0].Confidence >= diagnosis.Recognized {
		text += fmt.Sprintf("; looks like %s (%s)", s.Looks[0].Model, words.Percent(s.Looks[0].Confidence))
	}
	w.block(name, "   ", text)
}

func (w *writer) changes(title, kind string, x *diagnosis.Relative) {
	list := slices.DeleteFunc(slices.Clone(x.Changes), func(c diagnosis.Change) bool {
		return c.Kind != kind || c.A.Share == c.B.Share && c.A.Verdict == c.B.Verdict && c.A.Share == 0
	})
	if len(list) == 0 {
		return
	}
	w.line("")
	w.line("%-38s%8s%8s   time of each rank", title, "A", "B")
	for i, c := range list {
		if i == mostChanges {
			w.line("… %d more in --format json", len(list)-i)
			break
		}
		w.line("%-38s%8s%8s   %s → %s", became(c), costs(c.A), costs(c.B), words.Duration(c.A.Seconds), words.Duration(c.B.Seconds))
		w.block("    ", "    ", c.Title)
		if c.Where != "" && kind == "factor" {
			w.block("    ", "    ", c.Where)
		}
	}
}

// hardly is a change that is less than what two runs of the same program differ by, as a part.
const hardly = 0.1

// became says what became of something from the first run to the second.
func became(c diagnosis.Change) string {
	word := "less"
	a, b := c.A.Share, c.B.Share
	switch most := max(a, b); {
	case c.A.Verdict == "unknown" || c.B.Verdict == "unknown":
		word = "?"
	case c.B.Verdict != "holds" && 2*b < most:
		word = "gone"
	case c.A.Verdict != "holds" && 2*a < most:
		word = "new"
	case math.Abs(b-a) <= hardly*most:
		word = "as much"
	case b > a:
		word = "more"
	}
	return fmt.Sprintf("%-9s%s", word, words.Fit(c.ID, 28))
}

func costs(c diagnosis.Cost) string {
	switch c.Verdict {
	case "unknown":
		return "unknown"
	case "holds":
		return words.Percent(c.Share)
	}
	return "(" + words.Percent(c.Share) + ")"
}
