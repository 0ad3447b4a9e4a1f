package report

import (
	"fmt"
	"slices"
	"strings"

	"marple/analysis/diagnosis"
	"marple/analysis/run"
	"marple/analysis/words"
)

// Diagnosis is a diagnosis for people: the findings, then level by level what was concluded and costs time, the most
// expensive branch marked, then what would take it further. With explain it shows everything that was looked into:
// the evidence of every conclusion, and of what was rejected or is unknown the reason.
func Diagnosis(d *diagnosis.Result, r *run.Run, explain bool) string {
	w := &writer{r: r}
	w.line("Marple: %s, %s, %s of core time", d.Program, words.Count(uint64(d.Ranks), "rank", "ranks"), words.Duration(float64(r.CoreTime())/1e9))
	w.rule("")
	w.each(d.Findings, true)
	w.mayBe(d.MayBe)
	for _, c := range r.Conditions {
		w.block("Note: ", "      ", c.Text+".")
	}
	w.withCores("With cores: ", r)
	if len(d.Phases) == 0 && len(d.Looks) > 0 {
		w.line("")
		w.looks("Looks like ", d.Looks, explain)
	}
	for _, p := range d.Phases {
		w.line("")
		w.block("Phase      ", "           ", fmt.Sprintf("%s of the core time, in %s", words.Percent(p.Share), p.Where))
		w.looks("looks like ", p.Looks, explain)
	}
	for _, a := range d.Models {
		w.applied(a, explain)
	}
	if len(d.Requests) > 0 {
		w.line("")
		w.line("To go deeper")
	}
	for _, q := range d.Requests {
		w.block("  needs    ", "           ", q.Text)
		w.block("           ", "           ", q.How)
		w.block("  for      ", "           ", strings.Join(q.For, ", "))
	}
	return w.String()
}

// looks says which model the run, or a phase of it, looks like, and why.
func (w *writer) looks(title string, list []diagnosis.Likeness, explain bool) {
	if len(list) == 0 {
		return
	}
	const like = 0.1 // with less, a model is not even like it
	best := list[0]
	switch {
	case best.Confidence >= diagnosis.Recognized:
		w.block(title, "           ", fmt.Sprintf("%s (%s), %s sure", best.Model, best.Title, words.Percent(best.Confidence)))
	case best.Confidence < like && !explain:
		w.block(title, "           ", "none of the models that are known")
		return
	default:
		w.block(title, "           ", fmt.Sprintf("none of the models that are known; most like %s (%s)", best.Model, words.Percent(best.Confidence)))
	}
	for i, l := range list {
		if i > 0 && (!explain || l.Confidence == 0) {
			continue
		}
		if i > 0 {
			w.block("           ", "           ", fmt.Sprintf("%s: %s", l.Model, words.Percent(l.Confidence)))
		}
		for _, s := range l.Signs {
			mark := "+"
			if s.Value < diagnosis.Recognized {
				mark = "-"
			}
			w.block("           "+mark+" ", "             ", s.Text)
		}
	}
}

var marks = map[string]string{"holds": "+", "rejected": "-", "unknown": "?"}

// applied shows one piece of knowledge. Without explain a level is left out at which nothing was concluded.
func (w *writer) applied(a diagnosis.Applied, explain bool) {
	shown := func(c diagnosis.Conclusion) bool {
		return explain || c.Verdict == "holds" && c.Seconds > 0 && c.JudgedBy == ""
	}
	w.line("")
	about := fmt.Sprintf("%s (%s)", a.Title, a.Model)
	if a.Phase != "" {
		about += " in " + a.Phase
	}
	if !slices.ContainsFunc(a.Conclusions, shown) {
		w.block("", "", about+": nothing beyond its thresholds")
		return
	}
	w.block("", "", about)
	for _, l := range a.Levels {
		missing := ""
		if len(l.Missing) > 0 {
			missing = "; not measured: " + strings.Join(l.Missing, ", ")
		}
		any := slices.ContainsFunc(a.Conclusions, func(c diagnosis.Conclusion) bool { return c.Level == l.Level && shown(c) })
		if !any && (missing == "" || !explain) {
			continue
		}
		w.block(fmt.Sprintf("Level %d  ", l.Level), "         ", fmt.Sprintf("%s (%s)%s", l.Title, l.Model, missing))
		var closed []string
		for _, c := range a.Conclusions {
			switch {
			case c.Level != l.Level || !shown(c):
			case c.Verdict != "holds" && !reached(c):
				closed = append(closed, c.ID)
			default:
				w.conclusion(c, explain)
			}
		}
		if closed != nil {
			w.block("-         ", "          ", "not looked into, since what would lead there is rejected: "+strings.Join(gathered(closed, a, l.Level), ", "))
		}
	}
}

// gathered puts facts of a level together that are all those of a model in one place.
func gathered(ids []string, a diagnosis.Applied, level int) (list []string) {
	scope := func(id string) string {
		id, _, _ = strings.Cut(id, "(")
		return id[:strings.LastIndex(id, ".")+1]
	}
	all, here := map[string]int{}, map[string]int{}
	for _, c := range a.Conclusions {
		if c.Level == level {
			all[scope(c.ID)]++
		}
	}
	for _, id := range ids {
		here[scope(id)]++
	}
	for _, id := range ids {
		if s := scope(id); s != "" && here[s] > 1 && here[s] == all[s] {
			id = s + "*"
		}
		if !slices.Contains(list, id) {
			list = append(list, id)
		}
	}
	return list
}

// reached tells whether what a conclusion follows from holds, or may, for one of its rules.
func reached(c diagnosis.Conclusion) bool {
	return slices.ContainsFunc(c.Reasons, func(r diagnosis.Reason) bool {
		return !slices.ContainsFunc(r.Lines, func(l diagnosis.Line) bool { return l.Premise && l.Verdict == "rejected" })
	})
}

func (w *writer) conclusion(c diagnosis.Conclusion, explain bool) {
	mark := marks[c.Verdict]
	if c.Followed {
		mark = "▸"
	}
	share := ""
	if c.Seconds > 0 {
		share = words.Percent(c.Share)
	}
	first := fmt.Sprintf("%s %6s  ", mark, share)
	if c.Verdict == "holds" {
		w.block(first, "          ", c.Title)
	} else {
		w.block(first, "          ", c.ID)
	}
	if !explain {
		return
	}
	if c.Verdict == "holds" {
		text := c.ID
		if c.Seconds > 0 {
			text += ", " + words.Duration(c.Seconds)
		}
		w.block("          ", "          ", text)
	}
	if c.Verdict == "holds" && c.JudgedBy != "" {
		w.block("          ", "          ", "left to "+c.JudgedBy)
	}
	first = ""
	for _, r := range c.Reasons {
		if c.Verdict == "holds" && r.Verdict != "holds" {
			continue
		}
		if first != "" {
			w.line("%s", first)
		}
		first = "          or"
		for _, l := range r.Lines {
			if c.Verdict == "holds" || l.Verdict != "holds" {
				w.block("          "+marks[l.Verdict]+" ", "            ", l.Text)
			}
		}
	}
}
