package report

import (
	"fmt"
	"strings"

	"github.com/goccy/go-json"

	"marple/analysis/invocation"
	"marple/analysis/run"
	"marple/analysis/words"
)

// Invocations is a table of a method's invocations, with what the run says of their scaling.
type Invocations struct {
	*invocation.Table
	Per     bool   `json:"per"`   // shown divided by the parameter; the cells are not
	Least   bool   `json:"least"` // the least is shown
	Scaling string `json:"scaling,omitempty"`
}

// InvocationsOf puts them together.
func InvocationsOf(t *invocation.Table, r *run.Run, per, least bool) Invocations {
	return Invocations{t, per, least, ComponentsOf(r).Scaling}
}

// JSON is the table as JSON.
func (t Invocations) JSON() (string, error) {
	text, err := json.MarshalIndent(t, "", " ")
	return string(text) + "\n", err
}

// Text is the table for people: a mean and the number of invocations in each cell, and the ratio of two columns.
func (t Invocations) Text() string {
	w := &writer{}
	what := t.Value
	if t.Per {
		what += " per " + t.By
	}
	statistic := "mean ± standard deviation from one invocation to the next"
	if t.Least {
		statistic = "the least of all invocations"
	}
	w.block("", "", fmt.Sprintf("%s: %s by %s; %s, and how many there are", t.Method, what, t.By, statistic))
	w.line("")
	head := fmt.Sprintf("%12s", words.Fit(t.By, 12))
	for _, column := range t.Columns {
		if column == "" {
			column = t.Value
		}
		head += fmt.Sprintf(" %26s", words.Fit(column, 26))
	}
	if len(t.Columns) == 2 {
		head += fmt.Sprintf(" %7s", "ratio")
	}
	w.line("%s", head)
	for _, r := range t.Rows {
		line := fmt.Sprintf("%12.10g", r.At)
		for _, c := range r.Cells {
			line += fmt.Sprintf(" %26s", t.cell(c, r.At))
		}
		if len(r.Cells) == 2 && r.Cells[0].N > 0 && r.Cells[1].N > 0 && t.shown(r.Cells[0]) > 0 {
			line += fmt.Sprintf(" %7.2f", t.shown(r.Cells[1])/t.shown(r.Cells[0]))
		}
		w.line("%s", strings.TrimRight(line, " "))
	}
	if t.LeftOut > 0 {
		w.line("")
		w.block("", "", fmt.Sprintf("Left out: %s without %s or a parameter.", words.Count(uint64(t.LeftOut), "invocation", "invocations"), t.Value))
	}
	if t.Scaling != "" {
		w.line("")
		w.block("", "", t.Scaling)
	}
	return w.String()
}

func (t Invocations) shown(c invocation.Cell) float64 {
	if t.Least {
		return c.Min
	}
	return c.Mean
}

func (t Invocations) cell(c invocation.Cell, at float64) string {
	if c.N == 0 {
		return "–"
	}
	mean, deviation := t.shown(c), c.Deviation
	if t.Per && at != 0 {
		mean, deviation = mean/at, deviation/at
	}
	number := func(x float64) string {
		switch {
		case x == 0:
			return "0"
		case t.Unit == "s" && x < 100e-9:
			return fmt.Sprintf("%.2f ns", x*1e9)
		case t.Unit == "s":
			return words.Duration(x)
		}
		return fmt.Sprintf("%.4g", x)
	}
	if t.Least {
		return fmt.Sprintf("%s %6s", number(mean), words.Number(uint64(c.N)))
	}
	return fmt.Sprintf("%s ± %s %6s", number(mean), number(deviation), words.Number(uint64(c.N)))
}
