package assemble

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"marple/analysis/run"
	"marple/analysis/words"
)

const width = 80

type text struct{ strings.Builder }

func (b *text) line(format string, arguments ...any) {
	b.WriteString(words.Fit(strings.TrimRight(words.Clean(fmt.Sprintf(format, arguments...)), " "), width) + "\n")
}

// block writes a text behind a title, wrapped.
func (b *text) block(indent int, title, text string) {
	for i, line := range words.Wrap(text, width-indent) {
		if i > 0 {
			title = ""
		}
		b.line("%-*s%s", indent, title, line)
	}
}

// Text is the choice of solvers at a point for people: what was chosen, what each took, and where another one is best.
func Text(s *Study, a *run.Selection, point int, between []Between) string {
	b := &text{}
	at := s.Points[point].Text()
	if at != "" {
		at = " at " + at
	}
	b.line("Best solvers%s: with them the program takes %s", at, words.Duration(a.Time))
	b.line("%s", strings.Repeat("─", width))
	b.line("%-14s %-26s %9s  %s", "prefix", "take", "time", "the next best costs")
	for _, c := range a.Choices {
		next := "-"
		if c.Next != nil {
			next = fmt.Sprintf("%s: %s more", c.Next.Implementation, words.Duration(c.Next.Costs))
		}
		take := c.Implementation
		if c.Any {
			next = "any will do: it does not matter to the whole"
		}
		b.line("%-14s %-26s %9s  %s", words.Fit(c.Name, 14), words.Fit(take, 26), words.Duration(c.Time), next)
	}
	for _, f := range s.Families {
		b.line("")
		b.line("%-36s %9s %11s %7s %10s", f.Component()+at, "time", "", "solves", "iterations")
		for _, t := range a.Tried {
			if t.Family == f.Component() && maps.Equal(t.At, s.Points[point].At()) {
				b.tried(t)
			}
		}
	}
	s.bySize(b)
	whereBest(b, between)
	b.line("")
	for _, note := range a.Notes {
		b.block(13, "Note", note)
	}
	return b.String()
}

func (b *text) tried(t run.Tried) {
	const column = 34
	name := t.Implementation
	if name == Own && t.Types != "" {
		name += " (" + t.Types + ")"
	}
	if t.Why != "" {
		b.block(column, "  "+words.Fit(name, column-3), "left out: "+t.Why)
		return
	}
	spread := ""
	if t.Error > 0 {
		spread = "± " + words.Duration(t.Error)
	}
	b.line("  %-34s %9s %11s %7s %10s", words.Fit(name, column), words.Duration(t.Time), spread, words.Real(round(t.Solves)), words.Real(round(t.Iterations)))
	if len(t.Phases) > 1 {
		for _, p := range t.Phases {
			b.line("    in %-29s %9s %11s %7s", words.Fit(phaseName(p.Name), 29), words.Duration(p.Time), "", words.Real(round(p.Solves)))
		}
	}
}

func round(x float64) float64 { return float64(int64(x*10+0.5)) / 10 }

// bySize is what was best at each point.
func (s *Study) bySize(b *text) {
	if len(s.Points) < 2 {
		return
	}
	b.line("")
	b.line("Best at each point, and what the next best took more")
	for k, p := range s.Points {
		for _, f := range s.Families {
			list := s.Tried(f, k)
			what := "nothing was measured"
			if list[0].Why == "" {
				what = fmt.Sprintf("%9s  %s", words.Duration(list[0].Time), list[0].Implementation)
				if len(list) > 1 && list[1].Why == "" {
					what += fmt.Sprintf("; %s: +%s", list[1].Implementation, words.Duration(list[1].Time-list[0].Time))
				}
			}
			title := p.Text()
			if len(s.Families) > 1 {
				title += ": " + f.Component()
			}
			b.line("  %-26s %s", words.Fit(title, 26), what)
		}
	}
}

// whereBest is what models say between the points.
func whereBest(b *text, between []Between) {
	if len(between) == 0 {
		return
	}
	b.line("")
	b.line("Best between the points, as models have it")
	for _, w := range between {
		var others []string
		for name, v := range w.Others {
			others = append(others, fmt.Sprintf("%s %.6g", name, v))
		}
		slices.Sort(others)
		title := strings.Join(append([]string{w.Family}, others...), ", ")
		const column = 24
		if w.Why != "" {
			b.block(column+3, "  "+words.Fit(title, column), "not known: "+w.Why)
			continue
		}
		for _, p := range w.Parts {
			b.line("  %-24s %s %.4g to %.4g: %s", words.Fit(title, column), w.Parameter, p.From, p.To, p.Best)
			title = ""
		}
		about := fmt.Sprintf("models miss points that are left out by up to %.2g %%", w.Error)
		for i, x := range w.Otherwise {
			about += map[bool]string{true: "; the runs say otherwise at " + w.Parameter + " ", false: ", "}[i == 0] + fmt.Sprintf("%.6g", x)
		}
		b.block(column+3, "", about)
	}
}
