package report

import (
	"fmt"
	"math"
	"strings"

	"marple/analysis/run"
	"marple/analysis/words"
)

// Text is the report in short, which is printed when a program ends: what held it back, where, one piece of evidence, what
// to change; how efficient it was, and what was not seen. directory is where the details are; empty if they are nowhere.
// It has 25 lines at most: a run with more findings tells less of each but the first.
func Text(r *run.Run, directory string) string {
	more := "more: marple report --full " + directory
	if directory == "" {
		more = "more than fits here"
	}
	return fitting(shortest, len(shares), more, func(less int) string { return brief(r, directory, less) })
}

// shares of the short report, ever smaller: how many findings are told whole, and how many with their title and place or
// their title alone.
var shares = []struct{ whole, placed, titled int }{{3, 0, 0}, {2, 1, 0}, {1, 2, 0}, {1, 1, 1}, {1, 0, 2}, {1, 0, 1}, {1, 0, 0}}

func brief(r *run.Run, directory string, less int) string {
	w := &writer{r: r, less: less}
	w.head()
	base := ""
	if core := r.Replayed().CoreTime(); core > 0 && r.Ranks > 0 {
		base = fmt.Sprintf("%% of %s, the ranks' time with a core", words.Duration(float64(core)/1e9))
	}
	w.rule(base)
	w.lead()
	w.first()
	w.mayBe(r.MayBe[:min(len(r.MayBe), w.most(mostMayBe))])
	w.conditions()
	w.line("")
	w.bars(r.Efficiency)
	w.withCores("With cores   ", r)
	w.choices()
	w.notSeen()
	if directory != "" {
		w.block("Details      ", "             ", "marple report --full "+directory)
	} else {
		w.line("Details      not kept")
	}
	return w.String()
}

// first tells of the findings that there is room for.
func (w *writer) first() {
	findings := w.r.Findings
	if len(findings) == 0 {
		w.nothing()
	}
	s := shares[w.less]
	for i, f := range findings {
		switch {
		case i < s.whole:
			w.finding(i+1, f, 1)
		case i < s.whole+s.placed+s.titled:
			w.title(i+1, f)
			if i < s.whole+s.placed {
				w.place(f)
			}
		default:
			w.line("%d more in the details.", len(findings)-i)
			return
		}
	}
}

// barWidth is how many characters a whole bar has: what is left of a line.
const barWidth = 5

// bars is parallel efficiency and its factors, as numbers and as bars.
func (w *writer) bars(e run.Efficiency) {
	if !e.Defined {
		w.line("Efficiency   %s %s", words.Percent(e.Parallel), bar(e.Parallel))
		return
	}
	w.line("Efficiency   %s %s = load balance %s %s × communication %s %s", words.Percent(e.Parallel), bar(e.Parallel),
		words.Percent(e.LoadBalance), bar(e.LoadBalance), words.Percent(e.Communication), bar(e.Communication))
}

// bar draws a share of 1.
func bar(share float64) string {
	eighths := int(math.Round(min(max(share, 0), 1) * 8 * barWidth))
	text := strings.Repeat("█", eighths/8)
	if eighths%8 > 0 {
		text += string([]rune("▏▎▍▌▋▊▉")[eighths%8-1])
	}
	return text + strings.Repeat("░", barWidth-words.Width(text))
}
