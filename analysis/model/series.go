package model

import (
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat/distuv"

	"marple/analysis/series"
)

const (
	mostLabels = 16 // different values of a label that models may be split by
	mostPlaces = 64 // call paths that get models of their own
	certain    = 0.999
)

// FitSeries models a series: one model, or one for each value of a label that makes a difference, each mode of
// behaviour, and each call path where these differ.
func (f *Fitter) FitSeries(s *series.Series, o Options) []*Model {
	t := f.prepare(s, o)
	var list []*Model
	if len(s.Machines) > 1 {
		list = f.fitMachines(t, s.Machines, o)
		describe(list, s, t)
		return list
	}
	for _, part := range f.parts(t, &o) {
		samples := &Samples{Parameters: part.names, X: part.x, Y: part.y}
		models := f.FitModes(samples, o)
		if len(models) > 1 && !o.AverageModes {
			// Of labels that were not worth a split of their own, one may tell the modes apart.
			if label := part.explains(); label != "" {
				models = nil
				for _, sub := range part.by(label) {
					models = append(models, sub.named(f.FitModes(&Samples{Parameters: sub.names, X: sub.x, Y: sub.y}, o))...)
				}
			}
		}
		list = append(list, part.named(models)...)
	}
	describe(list, s, t)
	return append(list, f.places(t, list, o)...)
}

// describe says in models what the series says of itself.
func describe(list []*Model, s *series.Series, t *labelled) {
	for _, m := range list {
		m.Name, m.Response, m.Unit = s.Name, s.Response, s.Unit
		m.Notes = append(m.Notes, s.Notes...)
		m.Notes = append(m.Notes, t.notes...)
		for _, l := range s.LeftOut {
			why := l.Why
			if l.First != "" {
				why += " (first: " + l.First + ")"
			}
			m.LeftOut = append(m.LeftOut, LeftOut{Why: why, Count: l.Count})
		}
	}
}

// parts are what gets models of its own. With o.AverageModes that is nothing: what labels and parameters of few values
// would tell apart is averaged too, as N. Trebon did with arrays that are walked along rows and along columns in turn
// (thesis, chapter VII).
func (f *Fitter) parts(t *labelled, o *Options) []*labelled {
	if !o.AverageModes {
		return f.divide(t, *o)
	}
	for _, label := range t.must {
		values := slices.Clone(t.labels[label])
		slices.Sort(values)
		t.notes = append(t.notes, fmt.Sprintf("average over %s %s, as asked for", label, strings.Join(slices.Compact(values), ", ")))
		o.keepAll = true
	}
	return []*labelled{t}
}

// samples with their labels, for dividing.
type labelled struct {
	names  []string
	x      [][]float64
	y      []float64
	labels map[string][]string
	place  []string
	must   []string          // labels to divide by in any case
	where  map[string]string // what it has been divided by
	notes  []string
}

// prepare sets aside parameters that cannot be modelled: those with one value say nothing, and of those with
// two no function can be told, so they divide the samples instead.
func (f *Fitter) prepare(s *series.Series, o Options) *labelled {
	t := &labelled{names: s.Parameters, x: s.X, y: s.Y, labels: map[string][]string{}, place: s.Place, where: map[string]string{}}
	for name, values := range s.Labels {
		t.labels[name] = values
	}
	if o.Form != nil || len(t.y) == 0 {
		return t
	}
	for p := len(t.names) - 1; p >= 0 && len(t.names) > 1; p-- {
		values := map[float64]bool{}
		for _, x := range t.x {
			if values[x[p]] = true; len(values) >= leastOthers {
				break
			}
		}
		name := t.names[p]
		switch {
		case len(values) == 1:
			t.notes = append(t.notes, fmt.Sprintf("%s was %s in all samples", name, number(t.x[0][p])))
		case len(values) < leastOthers:
			label := make([]string, len(t.x))
			for i, x := range t.x {
				label[i] = number(x[p])
			}
			t.labels[name] = label
			t.must = append(t.must, name)
		default:
			continue
		}
		t.names = slices.Delete(slices.Clone(t.names), p, p+1)
		x := make([][]float64, len(t.x))
		for i := range x {
			x[i] = slices.Delete(slices.Clone(t.x[i]), p, p+1)
		}
		t.x = x
	}
	slices.Sort(t.must)
	return t
}

// by divides samples by the values of a label.
func (t *labelled) by(label string) []*labelled {
	parts := map[string]*labelled{}
	var order []string
	for i, value := range t.labels[label] {
		p := parts[value]
		if p == nil {
			p = &labelled{names: t.names, labels: map[string][]string{}, where: map[string]string{label: value}}
			for k, v := range t.where {
				p.where[k] = v
			}
			parts[value] = p
			order = append(order, value)
		}
		p.x, p.y = append(p.x, t.x[i]), append(p.y, t.y[i])
		if t.place != nil {
			p.place = append(p.place, t.place[i])
		}
		for name, values := range t.labels {
			if name != label {
				p.labels[name] = append(p.labels[name], values[i])
			}
		}
	}
	sortNaturally(order)
	var list []*labelled
	for _, value := range order {
		list = append(list, parts[value])
	}
	return list
}

// sortNaturally puts numbers in their order.
func sortNaturally(list []string) {
	sort.SliceStable(list, func(i, j int) bool {
		a, aerr := strconv.ParseFloat(list[i], 64)
		b, berr := strconv.ParseFloat(list[j], 64)
		if aerr == nil && berr == nil {
			return a < b
		}
		return list[i] < list[j]
	})
}

func distinctLabels(values []string) int {
	seen := map[string]bool{}
	for _, v := range values {
		if seen[v] = true; len(seen) > mostLabels {
			break
		}
	}
	return len(seen)
}

// divide splits samples by every label that must be, or that makes a difference.
func (f *Fitter) divide(t *labelled, o Options) []*labelled {
	for _, label := range t.must {
		if _, ok := t.labels[label]; ok {
			var list []*labelled
			for _, p := range t.by(label) {
				p.must = t.must
				list = append(list, f.divide(p, o)...)
			}
			return list
		}
	}
	var names []string
	for name, values := range t.labels {
		if n := distinctLabels(values); n > 1 && n <= mostLabels {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		if f.matters(t, t.labels[name], o) {
			var list []*labelled
			for _, p := range t.by(name) {
				list = append(list, f.divide(p, o)...)
			}
			return list
		}
	}
	return []*labelled{t}
}

// matters tells whether samples with different labels follow different curves: Chow's test, with the best
// function for all of them and coefficients free for each label or common to all.
func (f *Fitter) matters(t *labelled, labels []string, o Options) bool {
	s := &Samples{Parameters: t.names, X: t.x, Y: t.y}
	cells := s.cells()
	if unusable(t.names, cells) != "" || o.Form != nil {
		return false
	}
	l := f.look(f.problem(t.names, cells), o)
	if len(l.list) == 0 {
		return false
	}
	best := l.list[0]
	form, values, err := l.form(best)
	if err != nil {
		return false
	}
	names := coefficientNames(values)
	var squares, n, k float64
	parts := map[string]*Samples{}
	for i, label := range labels {
		p := parts[label]
		if p == nil {
			p = &Samples{Parameters: t.names}
			parts[label] = p
		}
		p.X, p.Y = append(p.X, t.x[i]), append(p.Y, t.y[i])
	}
	scale := map[string]float64{} // of each point, as in the common fit
	for i, x := range l.d.x {
		scale[key([]cell{{x: x}})] = l.scale[i]
	}
	fit := func(s *Samples) (float64, int, bool) {
		cells := s.cells()
		p := f.problem(t.names, cells)
		if p.points() < best.p {
			return 0, 0, false
		}
		for i, c := range cells { // newProblem may have joined samples that are alike
			p.n[i] = float64(len(c.y))
			_, p.within[i] = summary(c.y)
		}
		weights := make([]float64, len(cells))
		for i, c := range cells {
			weights[i] = scale[key([]cell{{x: c.x}})]
		}
		p.weigh(weights)
		v, err := newCurve(p, form, names, best.coef[:best.p])
		if err != nil {
			return 0, 0, false
		}
		return dot(v.residuals, v.residuals) + p.pure, len(v.free), true
	}
	all, common, ok := fit(s)
	if !ok {
		return false
	}
	for _, p := range parts {
		one, coefficients, ok := fit(p)
		if !ok {
			continue // too few to say anything of them
		}
		squares += one
		n += float64(len(p.Y))
		k += float64(coefficients)
	}
	more, freedom := k-float64(common), n-k
	if more <= 0 || freedom <= 0 || n < float64(len(t.y)) {
		return false
	}
	if squares <= exact*l.signal {
		return all > 1e4*exact*l.signal
	}
	return (all-squares)/more/(squares/freedom) > (distuv.F{D1: more, D2: freedom}).Quantile(certain)
}

// explains names a label whose values tell the modes apart, if one does: nearly all samples with one value lie
// on the same side.
func (t *labelled) explains() string {
	var names []string
	for name, values := range t.labels {
		if n := distinctLabels(values); n > 1 && n <= mostLabels {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		whole := true
		for _, part := range t.by(name) {
			_, _, _, several := modes((&Samples{Parameters: part.names, X: part.x, Y: part.y}).cells())
			whole = whole && !several
		}
		if whole {
			return name
		}
	}
	return ""
}

// named puts what the samples were divided by into their models.
func (t *labelled) named(models []*Model) []*Model {
	for _, m := range models {
		for k, v := range t.where {
			if m.Where == nil {
				m.Where = map[string]string{}
			}
			m.Where[k] = v
		}
	}
	return models
}

// places compares call paths: where they differ, each gets a model of its own; the common ones say what was
// found.
func (f *Fitter) places(t *labelled, common []*Model, o Options) []*Model {
	at := map[string]*labelled{}
	var order []string
	for i, place := range t.place {
		p := at[place]
		if p == nil {
			p = &labelled{names: t.names, where: map[string]string{"path": place}}
			at[place] = p
			order = append(order, place)
		}
		p.x, p.y = append(p.x, t.x[i]), append(p.y, t.y[i])
	}
	if len(order) < 2 || len(order) > mostPlaces {
		return nil
	}
	if !f.matters(t, t.place, o) {
		for _, m := range common {
			m.Notes = append(m.Notes, fmt.Sprintf("the context makes no difference: the same model holds for all %d call paths", len(order)))
		}
		return nil
	}
	for _, m := range common {
		m.Notes = append(m.Notes, fmt.Sprintf("the context changes the model: %d call paths differ, and have models of their own", len(order)))
	}
	var list []*Model
	slices.Sort(order)
	for _, place := range order {
		p := at[place]
		for _, m := range p.named(f.FitModes(&Samples{Parameters: p.names, X: p.x, Y: p.y}, o)) {
			if len(common) > 0 {
				m.Name, m.Response, m.Unit = common[0].Name, common[0].Response, common[0].Unit
			}
			list = append(list, m)
		}
	}
	return list
}

// Title names a model for people.
func (m *Model) Title() string {
	title := m.Response
	if m.Name != "" {
		title = strings.TrimSpace(m.Name + " " + m.Response)
	}
	var where []string
	for k, v := range m.Where {
		where = append(where, k+" "+v)
	}
	slices.Sort(where)
	if m.Mode != nil {
		where = append(where, fmt.Sprintf("mode %d of %d", m.Mode.Index, m.Mode.Of))
	}
	if len(where) > 0 {
		title += " (" + strings.Join(where, ", ") + ")"
	}
	return title
}
