package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"marple/analysis/model"
	"marple/analysis/plot"
	"marple/analysis/series"
)

// mostCurves are drawn into one picture.
const mostCurves = 6

// Plot draws a series and the models of it against their first parameter; for each of several values of the
// others a curve of its own. Either may be missing: s is nil for models from a file. The result is nil if
// there is nothing to draw.
func Plot(s *series.Series, models []*model.Model, machine map[string]float64) *plot.Plot {
	p := &plot.Plot{}
	var parameter string
	for _, m := range models {
		if m.Expression == nil || len(m.Parameters) == 0 || parameter != "" && m.Parameters[0] != parameter {
			continue
		}
		f, err := m.Predictor(machine)
		if err != nil || len(f.Names()) == 0 {
			continue
		}
		if parameter == "" {
			parameter = m.Parameters[0]
			p.X, p.Y, p.Title = parameter, strings.TrimSpace(m.Response+unit(m)), m.Title()
			if p.Y == "" {
				p.Y = "value"
			}
		}
		for _, others := range otherValues(s, m, f.Names()) {
			if len(p.Curves) < mostCurves {
				p.Curves = append(p.Curves, curve(m, f, others))
			}
		}
	}
	if len(p.Curves) == 0 || len(p.Curves) == 1 {
		for i := range p.Curves {
			p.Curves[i].Name = models[0].Expression.Round(4).String()
		}
	}
	if s == nil {
		if len(p.Curves) == 0 {
			return nil
		}
		return p
	}
	if parameter == "" && len(s.Parameters) > 0 {
		parameter = s.Parameters[0]
		p.X, p.Y, p.Title = parameter, s.Response, strings.TrimSpace(s.Name+" "+s.Response)
	}
	k := slices.Index(s.Parameters, parameter)
	if k < 0 {
		return nil
	}
	out := map[[2]float64]bool{}
	for _, m := range models {
		for _, l := range m.LeftOut {
			for _, y := range l.Value {
				out[[2]float64{l.At[parameter], y}] = true
			}
		}
	}
	for i, y := range s.Y {
		x := s.X[i][k]
		p.Points = append(p.Points, plot.Point{X: x, Y: y, Out: out[[2]float64{x, y}]})
	}
	return p
}

// otherValues are the values of all inputs but the first at which curves are drawn: of a series up to four that
// occur in it, otherwise the middle of the range.
func otherValues(s *series.Series, m *model.Model, names []string) []map[string]float64 {
	if len(names) == 1 {
		return []map[string]float64{{}}
	}
	var list []map[string]float64
	if s != nil {
		seen := map[string]bool{}
		for _, x := range s.X {
			values, key := map[string]float64{}, ""
			for _, name := range names[1:] {
				if i := slices.Index(s.Parameters, name); i >= 0 {
					values[name] = x[i]
					key += fmt.Sprintf("%g ", x[i])
				}
			}
			if !seen[key] && len(values) == len(names)-1 {
				seen[key] = true
				list = append(list, values)
			}
		}
		if n := len(list); n > 4 {
			list = []map[string]float64{list[0], list[n/3], list[2*n/3], list[n-1]}
		}
	}
	if len(list) > 0 {
		return list
	}
	values := map[string]float64{}
	for _, name := range names[1:] {
		r := m.Range[name]
		values[name] = (r[0] + r[1]) / 2
	}
	return []map[string]float64{values}
}

func curve(m *model.Model, f *model.Predictor, others map[string]float64) plot.Curve {
	x := make([]float64, len(f.Names()))
	var parts []string
	for i, name := range f.Names() {
		x[i] = others[name]
		if i > 0 {
			parts = append(parts, fmt.Sprintf("%s = %s", name, short(x[i])))
		}
	}
	if m.Mode != nil {
		parts = append(parts, fmt.Sprintf("mode %d", m.Mode.Index))
	}
	for k, v := range m.Where {
		parts = append(parts, k+" "+v)
	}
	slices.Sort(parts)
	r := m.Range[m.Parameters[0]]
	return plot.Curve{Name: strings.Join(parts, ", "), From: r[0], To: r[1], At: func(v float64) (y, low, high float64) {
		at := slices.Clone(x)
		at[slices.Index(f.Names(), m.Parameters[0])] = v
		q, err := f.At(at)
		if err != nil {
			return math.NaN(), math.NaN(), math.NaN()
		}
		low, high = q.Mean, q.Mean
		if q.Interval != nil {
			low, high = q.Interval[0], q.Interval[1]
		}
		return q.Mean, low, high
	}}
}
