package report

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"

	"marple/analysis/model"
	"marple/analysis/words"
)

// Numbers in text have so many significant digits.
const digits = 5

// mostDetailed is how many models are shown with all their details; of more, each gets its formula only.
const mostDetailed = 6

// Models is the text for models. details shows all of each, however many there are.
func Models(list []*model.Model, details bool) string {
	w := &writer{}
	none := 0
	for _, m := range list {
		if m.Expression == nil {
			none++
		}
	}
	if brief := len(list) > mostDetailed && !details; brief {
		w.line("%s, most time first; --details or --name NAME shows more of each", words.Count(uint64(len(list)-none), "model", "models"))
		for _, m := range list {
			w.brief(m)
		}
	} else {
		for i, m := range list {
			if i > 0 {
				w.line("")
			}
			w.model(m)
		}
	}
	if none > 0 && none < len(list) {
		w.line("")
		w.line("%s without a model", words.Count(uint64(none), "response", "responses"))
	}
	return w.String()
}

func short(v float64) string {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', digits, 64), 64)
	if err != nil || v == math.Trunc(v) {
		rounded = v
	}
	return strconv.FormatFloat(rounded, 'g', -1, 64)
}

func unit(m *model.Model) string {
	if m.Unit == "" {
		return ""
	}
	return " " + m.Unit
}

func (w *writer) brief(m *model.Model) {
	w.block("", "    ", m.Title())
	if m.Expression == nil {
		w.block("    no model: ", "              ", m.Reason)
		return
	}
	w.block("    = ", "      ", fmt.Sprintf("%s%s   (%s, error %s %%)", m.Expression.Round(digits), unit(m), m.Family, short(round(m.CVError))))
}

func round(percent float64) float64 {
	v, err := strconv.ParseFloat(strconv.FormatFloat(percent, 'g', 2, 64), 64)
	if err != nil {
		return percent
	}
	return v
}

func (w *writer) model(m *model.Model) {
	title := m.Title()
	if title == "" {
		title = "model"
	}
	if len(m.Parameters) > 0 {
		title += " against " + strings.Join(m.Parameters, ", ")
	}
	w.block("", "  ", title)
	const first, rest = "  %-14s ", "                 "
	row := func(name, text string) {
		title := fmt.Sprintf(first, name)
		if words.Width(title) > words.Width(rest) {
			w.line("%s", title)
			title = rest
		}
		w.block(title, rest, text)
	}
	if m.Expression == nil {
		row("no model", m.Reason)
		w.leftOut(m, row)
		return
	}
	row("=", m.Expression.Round(digits).String()+unit(m))
	family := m.Family
	if m.Degree > 1 {
		family += fmt.Sprintf(" of degree %d", m.Degree)
	}
	if m.Samples > 0 {
		family += fmt.Sprintf(", from %s at %s", words.Count(uint64(m.Samples), "sample", "samples"), words.Count(uint64(m.Points), "point", "points"))
	}
	row("family", family)
	if len(m.Range) > 0 {
		row("valid for", validity(m))
	}
	if len(m.Intervals) > 0 {
		row("coefficients", fmt.Sprintf("with %g %% intervals, if the family is right", 100*m.Confidence))
		for _, name := range coefficients(m) {
			i := m.Intervals[name]
			w.line("%s%-4s %-14s %s … %s", rest, name, short(m.Coefficients[name]), short(i[0]), short(i[1]))
		}
		if m.Form != nil {
			row("in", m.Form.String())
		}
	}
	if d := m.Deviation; d != nil {
		text := d.Expression.Round(digits).String() + unit(m)
		if d.From != "" {
			text += ", from " + d.From
		}
		row("deviation", text)
	}
	if m.Samples > 0 {
		row("fit", fmt.Sprintf("SMAPE %s %%, adjusted R² %s, cross-validated error %s %%", short(round(m.SMAPE)),
			strconv.FormatFloat(m.AdjustedR2, 'f', 4, 64), short(round(m.CVError))))
	}
	if r := m.RunnerUp; r != nil {
		row("nearly as good", fmt.Sprintf("%s (%s, error %s %%)", r.Expression.Round(digits), r.Family, short(round(r.CVError))))
	}
	if len(m.Machine) > 0 {
		var parts []string
		for name, v := range m.Machine {
			parts = append(parts, name+" = "+short(v))
		}
		slices.Sort(parts)
		row("machine", strings.Join(parts, ", "))
	}
	w.leftOut(m, row)
	for _, note := range m.Notes {
		row("note", note)
	}
	for _, p := range m.Predictions {
		w.prediction(m, p, row)
	}
}

func validity(m *model.Model) string {
	var parts []string
	for _, name := range m.Parameters {
		if r, ok := m.Range[name]; ok {
			parts = append(parts, fmt.Sprintf("%s from %s to %s", name, short(r[0]), short(r[1])))
		}
	}
	return strings.Join(parts, ", ") + "; beyond it extrapolates"
}

// coefficients in the order of their names.
func coefficients(m *model.Model) []string {
	var names []string
	for name := range m.Coefficients {
		names = append(names, name)
	}
	sort.Slice(names, func(i, j int) bool {
		if len(names[i]) != len(names[j]) {
			return len(names[i]) < len(names[j])
		}
		return names[i] < names[j]
	})
	return names
}

// leftOut adds up what was left out, reason by reason.
func (w *writer) leftOut(m *model.Model, row func(name, text string)) {
	var order []string
	count, where := map[string]int{}, map[string][]string{}
	for _, l := range m.LeftOut {
		if count[l.Why] == 0 {
			order = append(order, l.Why)
		}
		count[l.Why] += l.Count
		for _, name := range m.Parameters {
			if v, ok := l.At[name]; ok && len(where[l.Why]) < 4 {
				where[l.Why] = append(where[l.Why], fmt.Sprintf("%s %s", name, short(v)))
			}
		}
	}
	for _, why := range order {
		text := fmt.Sprintf("%s: %s", words.Count(uint64(count[why]), "sample", "samples"), why)
		if list := where[why]; len(list) > 0 {
			text += " (" + strings.Join(list, ", ") + ")"
		}
		row("left out", text)
	}
}

func (w *writer) prediction(m *model.Model, p model.Prediction, row func(name, text string)) {
	var at []string
	for _, name := range m.Inputs() {
		if v, ok := p.At[name]; ok {
			at = append(at, fmt.Sprintf("%s %s", name, short(v)))
		}
	}
	text := short(p.Mean) + unit(m)
	if i := p.MeanInterval; i != nil {
		text += fmt.Sprintf(", the mean from %s to %s", short(i[0]), short(i[1]))
	}
	switch i := p.Interval; {
	case i != nil:
		text += fmt.Sprintf(", single samples from %s to %s", short(i[0]), short(i[1]))
	case p.Deviation != nil:
		text += ", deviation " + short(*p.Deviation)
	}
	if len(p.Extrapolated) > 0 {
		text += "; extrapolated"
		if p.RunnerUp != nil {
			text += ": the runner-up says " + short(*p.RunnerUp)
		}
	}
	row("at "+strings.Join(at, ", "), text)
}
