package report

import (
	"fmt"
	"math"
	"strings"

	"marple/analysis/compare"
	"marple/analysis/words"
)

// Bounds of the page.
const (
	mostPlaces   = 8
	mostCaveats  = 5
	mostCompared = 4 // findings
)

// Comparison is one page on what differs between two sets of runs.
func Comparison(c *compare.Comparison) string {
	w := &writer{}
	for _, s := range []struct {
		letter string
		set    compare.Set
	}{{"A", c.A}, {"B", c.B}} {
		w.line("%s  %s: %s", s.letter, s.set.Name, describe(s.set))
	}
	w.line("%s", strings.Repeat("─", width))
	w.block("", "", verdict(c))
	for _, e := range c.Efficiencies {
		if math.Abs(e.Difference) >= 0.01 && e.Verdict != compare.Noise {
			w.line("%-14s %s → %s", words.Sentence(e.Name), words.Percent(e.A), words.Percent(e.B))
		}
	}
	w.comparedPlaces(c)
	w.comparedFindings(c)
	w.line("")
	if len(c.Differences) > 0 {
		var parts []string
		for _, d := range c.Differences {
			parts = append(parts, fmt.Sprintf("%s (%s → %s)", d.What, short20(d.A), short20(d.B)))
		}
		w.block("Not the same ", "             ", strings.Join(parts, ", "))
	}
	if len(c.Same) > 0 {
		w.block("The same     ", "             ", strings.Join(c.Same, ", "))
	}
	for i, text := range c.Caveats {
		if i == mostCaveats {
			w.line("… %d more in --format json", len(c.Caveats)-i)
			break
		}
		w.block("Caution      ", "             ", text)
	}
	return w.String()
}

func short20(text string) string {
	if text == "" {
		return "unknown"
	}
	return words.Fit(text, 20)
}

func describe(s compare.Set) string {
	var ranks []string
	for _, n := range s.Ranks {
		ranks = append(ranks, fmt.Sprint(n))
	}
	text := fmt.Sprintf("%s of %s, %s ranks", words.Count(uint64(s.Runs), "run", "runs"), s.Program, words.Fit(strings.Join(ranks, ", "), 20))
	mean := 0.0
	for _, wall := range s.Wall {
		mean += wall / float64(s.Runs)
	}
	text += ", " + words.Duration(mean)
	if s.Runs > 1 && mean > 0 {
		text += fmt.Sprintf(" ± %s", words.Percent(s.Deviation/mean))
	}
	return text
}

// verdict is the answer.
func verdict(c *compare.Comparison) string {
	x := c.Wall
	how := "as long as A"
	if x.A > 0 && x.Difference != 0 {
		more := "more"
		if x.Difference < 0 {
			more = "less"
		}
		how = fmt.Sprintf("%s %s time than A", words.Percent(math.Abs(x.Difference)/x.A), more)
	}
	times := fmt.Sprintf("%s → %s", words.Duration(x.A), words.Duration(x.B))
	switch x.Verdict {
	case compare.Unknown:
		return fmt.Sprintf("B took %s (%s). Whether that is noise cannot be known from one run on each side.", how, times)
	case compare.Changed:
		return fmt.Sprintf("B takes %s: %s, %s (95 %%: %s). That is more than noise (p = %s).", how, times, difference(x.Difference),
			interval(x), probability(*x.P))
	}
	return fmt.Sprintf("No difference that could be told from noise: %s, %s (95 %%: %s; p = %s). A change of less than %s would not be seen in these runs.",
		times, difference(x.Difference), interval(x), probability(*x.P), words.Percent((x.Interval[1]-x.Interval[0])/2/math.Max(x.A, 1e-12)))
}

func probability(p float64) string {
	if p < 0.001 {
		return "<0.001"
	}
	return fmt.Sprintf("%.2g", p)
}

func difference(seconds float64) string {
	if seconds < 0 {
		return "−" + words.Duration(-seconds)
	}
	return "+" + words.Duration(seconds)
}

func interval(x compare.Change) string {
	return difference(x.Interval[0]) + " to " + difference(x.Interval[1])
}

var verdicts = map[string]string{compare.Changed: "changed", compare.Noise: "maybe noise", compare.Unknown: "unknown"}

func (w *writer) comparedPlaces(c *compare.Comparison) {
	if len(c.Places) == 0 {
		w.line("")
		w.line("No call path differs by %s per rank or more.", words.Duration(c.Least))
		return
	}
	w.line("")
	w.line("%9s %9s %9s  %-24s %-11s", "A", "B", "change", "95 %", "")
	for i, p := range c.Places {
		if i == mostPlaces {
			w.line("… %s", words.Count(uint64(len(c.Places)-i), "more call path", "more call paths"))
			break
		}
		within := ""
		if p.Interval != nil {
			within = interval(p.Change)
		}
		w.line("%9s %9s %9s  %-24s %-11s", words.Duration(p.A), words.Duration(p.B), difference(p.Difference), within, verdicts[p.Verdict])
		text := p.Label()
		switch {
		case p.Runs[0] == 0:
			text += "; only in B"
		case p.Runs[1] == 0:
			text += "; only in A"
		case len(p.Ranks) > 0:
			text += "; mostly on " + words.Ranks(p.Ranks)
		}
		w.block("      ", "        ", text)
	}
	if math.Abs(c.Rest.Difference) >= c.Least/10 {
		w.line("%9s %9s %9s  everything else", words.Duration(math.Max(c.Rest.A, 0)), words.Duration(math.Max(c.Rest.B, 0)), difference(c.Rest.Difference))
	}
	w.line("Times are per rank; paths that differ by less than %s are everything else.", words.Duration(c.Least))
}

// anyModel is the model of findings that may be of any.
const anyModel = "any"

// comparedFindings tells what changed by model: which of their findings came, went, or became another size.
func (w *writer) comparedFindings(c *compare.Comparison) {
	told := 0
	for _, f := range c.Findings {
		if told == mostCompared {
			break
		}
		model := ""
		if f.Model != "" && f.Model != anyModel {
			model = ", " + f.Model
		}
		var what string
		switch {
		case f.Runs[0] == 0:
			what = fmt.Sprintf("only in B (%s%s): ", words.Percent(f.Share[1]), model)
		case f.Runs[1] == 0:
			what = fmt.Sprintf("only in A (%s%s): ", words.Percent(f.Share[0]), model)
		case math.Abs(f.Share[1]-f.Share[0]) >= 0.05:
			what = fmt.Sprintf("%s → %s%s: ", words.Percent(f.Share[0]), words.Percent(f.Share[1]), model)
		default:
			continue
		}
		if told == 0 {
			w.line("")
		}
		told++
		w.block("Finding      ", "             ", what+f.Title)
	}
}
