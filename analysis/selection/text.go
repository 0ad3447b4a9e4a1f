package selection

import (
	"fmt"
	"slices"
	"strings"

	"marple/analysis/run"
	"marple/analysis/words"
)

const (
	width    = 80
	mostRows = 30 // of a table; the rest is counted
)

type page struct{ strings.Builder }

func (p *page) line(format string, arguments ...any) {
	p.WriteString(words.Fit(strings.TrimRight(words.Clean(fmt.Sprintf(format, arguments...)), " "), width) + "\n")
}

// block writes a text behind a title, wrapped.
func (p *page) block(title, text string) {
	const indent = 13
	for i, line := range words.Wrap(text, width-indent) {
		if i > 0 {
			title = ""
		}
		p.line("%-*s%s", indent, title, line)
	}
}

// Text is a selection for people.
func Text(a *run.Selection) string {
	p := &page{}
	if a.Proven {
		p.line("Best assembly: %s; none of the %s takes less", words.Duration(a.Time), count(a.Method.Assemblies))
	} else {
		p.line("Best assembly found: %s; none can take less than %s", words.Duration(a.Time), words.Duration(a.Bound))
	}
	p.line("%s", strings.Repeat("─", width))
	p.choices(a.Choices)
	p.line("")
	var any []string
	for _, c := range a.Choices {
		if c.Any {
			any = append(any, c.Name)
		}
	}
	if len(any) > 0 {
		p.block("Any will do", strings.Join(any, ", "))
	}
	if len(a.Quality) > 0 {
		var list []string
		for _, q := range a.Quality {
			list = append(list, fmt.Sprintf("%s %.6g", q.Quality, q.Value))
		}
		p.block("Qualities", strings.Join(list, ", "))
	}
	p.block("Measured", fmt.Sprintf("%s of it in components without a choice, %s in pruned branches", words.Duration(a.Fixed), words.Duration(a.Pruned)))
	if len(a.Ranges) > 0 {
		var list []string
		for _, r := range a.Ranges {
			list = append(list, fmt.Sprintf("%s from %.6g to %.6g", r.Parameter, r.From, r.To))
		}
		p.block("Mean over", strings.Join(list, ", "))
	}
	p.spread(a.Spread)
	how := fmt.Sprintf("branch and bound, %s", words.Count(uint64(a.Method.Steps), "step", "steps"))
	if a.Method.Tabulated {
		how = fmt.Sprintf("variable elimination, width %d", a.Method.Width)
	}
	if a.Method.Space != "" {
		p.block("Assemblies", fmt.Sprintf("%s in what pruning keeps (%s)", count(a.Method.Core), a.Method.Space))
	}
	p.block("Method", fmt.Sprintf("%s, %s", how, words.Duration(a.Duration)))
	for _, note := range a.Notes {
		p.block("Note", note)
	}
	p.table("Next best", len(a.Others), func(i int) {
		o := a.Others[i]
		p.line("%12s  %s", "+"+words.Duration(o.Time-a.Time), changed(o.Changes))
	})
	p.table("Where in the range", len(a.Across), func(i int) {
		x := a.Across[i]
		p.line("%12s  %s", fmt.Sprintf("%.4g–%.4g", x.From, x.To), changed(x.Changes))
	})
	for _, f := range a.Fronts {
		title := "Time against " + f.Quality
		if !f.Complete {
			title += " (not complete)"
		}
		p.table(title, len(f.Points), func(i int) {
			x := f.Points[i]
			p.line("%12s %12.6g  %s", words.Duration(x.Time), x.Value, changed(x.Changes))
		})
	}
	p.table("Qualities that were measured, mean ± standard deviation", len(a.Measured), func(i int) {
		m := a.Measured[i]
		p.line("  %-20s %s %.4g ± %.2g in %s, %.4g to %.4g", m.Implementation, m.Quality, m.Mean, m.Deviation,
			words.Count(uint64(m.N), "invocation", "invocations"), m.Min, m.Max)
	})
	p.table("Models of the time of one invocation", len(a.Models), func(i int) {
		m := a.Models[i]
		title, text := m.Title(), m.Text()
		if words.Width(title)+words.Width(text)+3 > width {
			p.line("  %s", title)
			title = ""
		}
		p.line("  %-24s %s", title, text)
	})
	return p.String()
}

func (p *page) table(title string, rows int, row func(i int)) {
	if rows == 0 {
		return
	}
	p.line("")
	p.line("%s", title)
	for i := range rows {
		if i == mostRows {
			p.line("%12s  %d more", "…", rows-i)
			return
		}
		row(i)
	}
}

func (p *page) choices(list []run.Choice) {
	p.line("%-20s %-20s %9s  %s", "family", "take", "time", "the next best choice costs")
	rows := 0
	for _, c := range list {
		if c.Any {
			continue
		}
		if rows++; rows > mostRows {
			continue
		}
		next := "-"
		if c.Next != nil {
			next = fmt.Sprintf("%s: %s more", c.Next.Implementation, words.Duration(c.Next.Costs))
			switch {
			case c.Next.AtLeast && c.Next.Costs == 0:
				next = "not known: the time was up"
			case c.Next.AtLeast:
				next = fmt.Sprintf("at least %s more", words.Duration(c.Next.Costs))
			}
		}
		p.line("%-20s %-20s %9s  %s", words.Fit(c.Name, 20), words.Fit(c.Implementation, 20), words.Duration(c.Time), next)
	}
	if rows > mostRows {
		p.line("… %d more", rows-mostRows)
	}
}

func (p *page) spread(s *run.Spread) {
	if s == nil {
		p.block("Uncertainty", "unknown: the models say nothing of deviations and errors")
		return
	}
	text := fmt.Sprintf("most probable %s; 90 %% between %s and %s", words.Duration(s.Mode), words.Duration(s.Low), words.Duration(s.High))
	switch {
	case s.Best >= 0:
		text += fmt.Sprintf("; truly best with probability %s (± %s)", words.Percent(s.Best), words.Percent(s.BestError))
	case !s.WithErrors:
		text += "; how sure the choice is, is unknown, since the models say nothing of their errors"
	}
	p.block("Uncertainty", text)
}

// changed lists what is different from the best assembly.
func changed(changes map[string]string) string {
	if len(changes) == 0 {
		return "the best assembly"
	}
	var list []string
	for family, implementation := range changes {
		list = append(list, family+": "+implementation)
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

// count prints a number of assemblies, which may be too large to write out.
func count(n float64) string {
	if n < 1e15 {
		return words.Count(uint64(n), "assembly", "assemblies")
	}
	return fmt.Sprintf("%.1e assemblies", n)
}
