package report

import (
	"fmt"
	"strings"

	"marple/analysis/whatif"
	"marple/analysis/words"
)

// WhatIf is an answer for people.
func WhatIf(a whatif.Answer) string {
	w := &writer{}
	w.line("Marple: %s, %s, replayed with changes", a.Program, words.Count(uint64(a.Ranks), "rank", "ranks"))
	w.line("%s", strings.Repeat("─", width))
	gain := a.Gain.Text()
	switch longer := a.After.Seconds - a.Before.Seconds; {
	case longer > 0:
		gain = fmt.Sprintf("none: it takes %s longer, %s", words.Percent(longer/a.Before.Seconds), words.Duration(longer))
	case a.Gain.High < 0.005:
		gain = "none"
	}
	w.line("Gain         %s", gain)
	w.line("")
	w.line("%-24s %12s %12s", "", "before", "after")
	w.line("%-24s %12s %12s", "wall time", words.Duration(a.Before.Seconds), words.Duration(a.After.Seconds))
	for _, x := range []struct {
		name          string
		before, after float64
	}{
		{"parallel efficiency", a.Before.Parallel, a.After.Parallel}, {"  load balance", a.Before.LoadBalance, a.After.LoadBalance},
		{"  communication", a.Before.Communication, a.After.Communication}, {"    serialization", a.Before.Serialization, a.After.Serialization},
		{"    transfer", a.Before.Transfer, a.After.Transfer},
	} {
		w.line("%-24s %12s %12s", x.name, words.Percent(x.before), words.Percent(x.after))
	}
	what := map[string]string{"imbalance": "computing longer on some ranks", "waiting": "waiting in", "call": "beside waiting in"}
	for i, h := range a.Then {
		if i == 0 {
			w.line("")
			w.line("Then it is held back by")
		}
		w.block(fmt.Sprintf("  %5s  ", words.Percent(h.Share)), "         ", what[h.What]+" "+h.Where)
	}
	for i, text := range a.Assumes {
		if i == 0 {
			w.line("")
		}
		w.block("", "", text)
	}
	if a.Replayed < 1 {
		w.line("")
		w.line("%s of the run was replayed.", words.Percent(a.Replayed))
	}
	return w.String()
}
