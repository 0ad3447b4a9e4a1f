package model

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"marple/analysis/formula"
	"marple/analysis/machine"
	"marple/analysis/series"
)

// Machines says how a model of several machines goes by their properties.
type Machines struct {
	Names []string `json:"names"` // that it was fitted to
	// Error is in percent: root mean square of the relative errors at each machine, when it is left out of the fit.
	Error float64 `json:"error"`
	// Range of each property that the model goes by.
	Range map[string][2]float64 `json:"range,omitempty"`
	// Rivals go by other properties, and explain these machines nearly as well.
	Rivals []*formula.Expr `json:"rivals,omitempty"`
}

const (
	leastMachines = 3  // to tell what their differences go by
	mostTerms     = 3  // of a function of the parameters that is looked at
	mostRivals    = 16 // kept
	apart         = 2  // rivals that are further apart, by this factor, say nothing together
)

// fitMachines models a series of several machines: one model whose coefficients are functions of the machines'
// properties, or one for each machine where that explains nothing.
func (f *Fitter) fitMachines(t *labelled, known map[string]map[string]float64, o Options) (list []*Model) {
	parts := []*labelled{t}
	for _, label := range t.must {
		var finer []*labelled
		for _, p := range parts {
			finer = append(finer, p.by(label)...)
		}
		parts = finer
	}
	for _, part := range parts {
		on := part.by(series.Machine)
		m, why := f.across(on, known, o)
		if m != nil {
			list = append(list, part.named([]*Model{m})...)
			continue
		}
		for _, p := range on {
			models := p.named(f.FitModes(&Samples{Parameters: p.names, X: p.x, Y: p.y}, o))
			for _, m := range models {
				m.Notes = append(m.Notes, "of this machine alone: "+why)
			}
			list = append(list, models...)
		}
	}
	return list
}

// site is what was measured on one machine: points, and sums of their products of columns.
type site struct {
	name       string
	properties map[string]float64
	cells      []cell
	own        *Model
	rows       [][]float64 // columns, by point, over the mean there: what they are to add up to is 1
	products   [][]float64
	sums       []float64
}

// ingredient is a term of a function of the parameters, times a property or its inverse.
type ingredient struct {
	term     *formula.Expr
	property string // empty: the same for all machines
	scale    float64
	sign     float64 // of the term's coefficient on one machine
}

// law is a set of columns with their coefficients.
type law struct {
	columns      []ingredient
	chosen       []int
	coefficients []float64
	without      [][]float64 // coefficients when each machine is left out
	error        float64     // at the machines that were left out
	score        float64
}

func (l *law) constant() bool {
	return !slices.ContainsFunc(l.chosen, func(i int) bool { return l.columns[i].property != "" })
}

func (f *Fitter) across(parts []*labelled, known map[string]map[string]float64, o Options) (*Model, string) {
	if len(parts) < leastMachines {
		return nil, fmt.Sprintf("with %d machines it cannot be told what their difference goes by; it takes %d", len(parts), leastMachines)
	}
	var sites []*site
	for _, p := range parts {
		s := &site{name: p.where[series.Machine], properties: known[p.where[series.Machine]]}
		samples := &Samples{Parameters: p.names, X: p.x, Y: p.y}
		s.cells = samples.cells()
		if _, _, _, several := modes(s.cells); several && !o.AverageModes {
			return nil, fmt.Sprintf("on %s the samples fall into several modes", s.name)
		}
		s.cells = slices.DeleteFunc(s.cells, func(c cell) bool { mean, _ := summary(c.y); return !(mean > 0) })
		if s.own = f.Fit(samples, o); s.own.Expression == nil {
			return nil, fmt.Sprintf("there is no model of %s: %s", s.name, s.own.Reason)
		}
		sites = append(sites, s)
	}
	names := parts[0].names
	noise := missed(names, sites)
	var laws []*law
	seen := map[string]bool{}
	for _, s := range sites {
		if text := s.own.Form.String(); !seen[text] {
			seen[text] = true
			laws = append(laws, lawsOf(names, s.own, sites)...)
		}
	}
	if len(laws) == 0 {
		return nil, "no function of one of them fits the others"
	}
	slices.SortStableFunc(laws, func(a, b *law) int { return cmp.Compare(a.score, b.score) })
	same := slices.IndexFunc(laws, (*law).constant) // as if there were one machine
	best := laws[0]
	// What a machine's own model misses, none of all machines can be blamed for.
	beside := func(l *law) float64 { return max(0, l.error*l.error-noise*noise) }
	switch {
	case same >= 0 && laws[same].score <= best.score+nearly && laws[same].error <= 2*noise+1e-9:
		best, laws = laws[same], laws[same:same+1]
	case best.constant() || same >= 0 && beside(best) > beside(laws[same])/4 || best.error > 0.5:
		return nil, fmt.Sprintf("no property of the machines explains their differences: when one is left out, its times are missed by %.0f %%", 100*best.error)
	}
	m, err := best.model(names, sites, o)
	if err != nil {
		return nil, err.Error()
	}
	for _, l := range laws {
		if l == best || l.score > best.score+nearly || len(m.Machines.Rivals) == mostRivals {
			continue
		}
		if e, err := l.expression(l.coefficients); err == nil {
			m.Machines.Rivals = append(m.Machines.Rivals, e)
		}
	}
	return m, ""
}

// missed is by how much each machine's own model misses the points there: root mean square, relative.
func missed(names []string, sites []*site) float64 {
	squares := 0.0
	for _, s := range sites {
		at, err := s.own.Expression.Func(names...)
		if err != nil {
			continue
		}
		for _, c := range s.cells {
			mean, _ := summary(c.y)
			squares += math.Pow(at(c.x)/mean-1, 2) / float64(len(s.cells)) / float64(len(sites))
		}
	}
	return math.Sqrt(squares)
}

// linearTerms of a function that are linear in their coefficients; the others keep their values.
func linearTerms(m *Model) (list []*formula.Expr, signs []float64) {
	names, fixed := coefficientNames(m.Coefficients), map[string]float64{}
	for _, name := range names {
		if d, err := m.Form.Derivative(name); err != nil || slices.Contains(d.Parameters(), name) {
			fixed[name] = m.Coefficients[name]
		}
	}
	form := m.Form.Bind(fixed)
	for _, name := range names {
		if _, ok := fixed[name]; ok {
			continue
		}
		d, err := form.Derivative(name)
		if err != nil || slices.ContainsFunc(d.Parameters(), func(p string) bool { return slices.Contains(names, p) }) {
			return nil, nil
		}
		list, signs = append(list, d.Simplify()), append(signs, m.Coefficients[name])
	}
	return list, signs
}

// lawsOf fits all sums of few columns that a function of one machine gives.
func lawsOf(names []string, from *Model, sites []*site) (found []*law) {
	list, signs := linearTerms(from)
	if len(list) == 0 || len(list) > mostTerms {
		return nil
	}
	var columns []ingredient
	for i, term := range list {
		columns = append(columns, ingredient{term, "", 1, signs[i]})
		for _, p := range slices.Sorted(maps.Keys(sites[0].properties)) {
			differ := false
			for _, s := range sites {
				if v, ok := s.properties[p]; !ok || !machine.Law(p) {
					differ = false
					break
				} else if v != sites[0].properties[p] {
					differ = true
				}
			}
			if differ {
				columns = append(columns, ingredient{term, p, 1, signs[i]})
			}
		}
	}
	if !fill(names, columns, sites) {
		return nil
	}
	most := min(len(list)+1, len(sites)-1)
	var extend func(next int, chosen []int)
	extend = func(next int, chosen []int) {
		if len(chosen) > 0 {
			l := &law{columns: columns, chosen: slices.Clone(chosen)}
			if l.fit(sites) {
				found = append(found, l)
			}
		}
		if len(chosen) == most {
			return
		}
		for i := next; i < len(columns); i++ {
			extend(i+1, append(chosen, i))
		}
	}
	extend(0, nil)
	// Those that nobody will ask for need not be kept.
	slices.SortStableFunc(found, func(a, b *law) int { return cmp.Compare(a.score, b.score) })
	same := slices.IndexFunc(found, (*law).constant)
	kept := found[:min(len(found), 4*mostRivals)]
	if same >= len(kept) {
		kept = append(kept, found[same])
	}
	return kept
}

// fill computes the columns at all points. All points of a machine together weigh as much as those of another.
func fill(names []string, columns []ingredient, sites []*site) bool {
	squares, points := make([]float64, len(columns)), 0
	for _, s := range sites {
		s.rows = nil
		for _, c := range s.cells {
			mean, _ := summary(c.y)
			row := make([]float64, len(columns))
			for i, k := range columns {
				at, err := k.term.Func(names...)
				if err != nil {
					return false
				}
				if row[i] = at(c.x) / mean * s.factor(k.property); !finite(row[i]) {
					return false
				}
				squares[i] += row[i] * row[i]
			}
			s.rows = append(s.rows, row)
			points++
		}
	}
	for i := range columns {
		if columns[i].scale = math.Sqrt(squares[i] / float64(points)); !(columns[i].scale > 0) {
			return false
		}
	}
	for _, s := range sites {
		n := float64(len(s.rows))
		s.products, s.sums = make([][]float64, len(columns)), make([]float64, len(columns))
		for i := range columns {
			s.products[i] = make([]float64, len(columns))
			for _, row := range s.rows {
				s.sums[i] += row[i] / columns[i].scale / n
				for j := range columns {
					s.products[i][j] += row[i] * row[j] / columns[i].scale / columns[j].scale / n
				}
			}
		}
	}
	return true
}

// factor is what a property of the machine makes of times; "" is none.
func (s *site) factor(property string) float64 {
	switch {
	case property == "":
		return 1
	case machine.Rate(property):
		return 1 / s.properties[property]
	}
	return s.properties[property]
}

// fit finds the coefficients, of all machines and with each of them left out, whose times are then foretold.
func (l *law) fit(sites []*site) bool {
	all, ok := l.solve(sites, nil)
	if !ok {
		return false
	}
	for k, i := range l.chosen {
		if all[k]*l.columns[i].sign < 0 {
			return false
		}
	}
	squares := 0.0
	for _, left := range sites {
		c, ok := l.solve(sites, left)
		if !ok {
			return false
		}
		l.without = append(l.without, l.scaled(c))
		miss := 1.0 // squared: the measured value is 1 in every row
		for a, i := range l.chosen {
			miss -= 2 * c[a] * left.sums[i]
			for b, j := range l.chosen {
				miss += c[a] * c[b] * left.products[i][j]
			}
		}
		squares += max(miss, 0)
	}
	n := float64(len(sites))
	l.coefficients = l.scaled(all)
	l.error = math.Sqrt(squares / n)
	l.score = n*math.Log(max(squares/n, 1e-16)) + 2*float64(len(l.chosen))
	return true
}

func (l *law) scaled(c []float64) []float64 {
	out := slices.Clone(c)
	for k, i := range l.chosen {
		out[k] /= l.columns[i].scale
	}
	return out
}

// solve the normal equations of all machines but one, by Cholesky's method.
func (l *law) solve(sites []*site, without *site) ([]float64, bool) {
	const least = 1e-9 // of a column's square that is to be left beside the others
	n := len(l.chosen)
	a, c := make([][]float64, n), make([]float64, n)
	for r, i := range l.chosen {
		a[r] = make([]float64, n)
		for _, s := range sites {
			if s == without {
				continue
			}
			c[r] += s.sums[i]
			for k, j := range l.chosen[:r+1] {
				a[r][k] += s.products[i][j]
			}
		}
	}
	for r := range n {
		whole := a[r][r]
		for k := range r {
			for j := range k {
				a[r][k] -= a[r][j] * a[k][j]
			}
			a[r][k] /= a[k][k]
			a[r][r] -= a[r][k] * a[r][k]
		}
		if !(a[r][r] > least*whole) {
			return nil, false
		}
		a[r][r] = math.Sqrt(a[r][r])
		for k := range r {
			c[r] -= a[r][k] * c[k]
		}
		c[r] /= a[r][r]
	}
	for r := n - 1; r >= 0; r-- {
		for k := r + 1; k < n; k++ {
			c[r] -= a[k][r] * c[k]
		}
		c[r] /= a[r][r]
	}
	return c, true
}

// form writes the law with coefficients as given: names or numbers.
func (l *law) form(coefficient func(k int) string) (*formula.Expr, error) {
	var sum []string
	for k, i := range l.chosen {
		text := coefficient(k)
		if t := l.columns[i].term.String(); t != "1" {
			text += "*(" + t + ")"
		}
		switch p := l.columns[i].property; {
		case p != "" && machine.Rate(p):
			text += "/" + p
		case p != "":
			text += "*" + p
		}
		sum = append(sum, text)
	}
	return formula.Parse(strings.Join(sum, " + "))
}

func (l *law) expression(c []float64) (*formula.Expr, error) {
	e, err := l.form(func(k int) string { return fmt.Sprintf("(%g)", c[k]) })
	if err != nil {
		return nil, err
	}
	return e.Simplify(), nil
}

// properties that a law goes by.
func (l *law) properties() (list []string) {
	for _, i := range l.chosen {
		if p := l.columns[i].property; p != "" && !slices.Contains(list, p) {
			list = append(list, p)
		}
	}
	return list
}

// model is what the law says, with covariances from leaving machines out (the jackknife): points of one machine are not
// independent of each other.
func (l *law) model(names []string, sites []*site, o Options) (*Model, error) {
	if !fill(names, l.columns, sites) { // others may have been looked at since
		return nil, fmt.Errorf("the values are too extreme to compute with")
	}
	if o.Confidence == 0 {
		o.Confidence = 0.95
	}
	m := &Model{Parameters: names, Confidence: o.Confidence, Coefficients: map[string]float64{}, Intervals: map[string][2]float64{},
		Machine: map[string]float64{}, Machines: &Machines{Error: 100 * l.error, Range: map[string][2]float64{}},
		CVError: 100 * l.error, Freedom: float64(len(sites) - 1)}
	pre := prefix(names)
	var err error
	if m.Form, err = l.form(func(k int) string { return fmt.Sprintf("%s%d", pre, k) }); err != nil {
		return nil, err
	}
	if m.Expression, err = l.expression(l.coefficients); err != nil {
		return nil, err
	}
	for _, p := range l.properties() {
		m.Machine[p] = sites[0].properties[p]
		r := [2]float64{math.Inf(1), 0}
		for _, s := range sites {
			r[0], r[1] = min(r[0], s.properties[p]), max(r[1], s.properties[p])
		}
		m.Machines.Range[p] = r
	}
	n, t := float64(len(sites)), quantile(o.Confidence, m.Freedom)
	mean := make([]float64, len(l.chosen))
	for _, c := range l.without {
		for k := range c {
			mean[k] += c[k] / n
		}
	}
	for a := range l.chosen {
		name := fmt.Sprintf("%s%d", pre, a)
		row := make([]float64, len(l.chosen))
		for b := range row {
			for _, c := range l.without {
				row[b] += (c[a] - mean[a]) * (c[b] - mean[b]) * (n - 1) / n
			}
		}
		m.Covariance = append(m.Covariance, row)
		half := t * math.Sqrt(row[a])
		m.Coefficients[name], m.Intervals[name] = l.coefficients[a], [2]float64{l.coefficients[a] - half, l.coefficients[a] + half}
	}
	m.Families, m.Family = sites[0].own.Families, sites[0].own.Family
	noise := 0.0 // of single samples
	for _, s := range sites {
		noise += s.own.CVError / 100 / n
	}
	if noise > 0 {
		e, err := formula.Parse(fmt.Sprintf("%g*(%s)", noise, m.Expression))
		if err != nil {
			return nil, err
		}
		m.Deviation = &Deviation{Family: Proportional, Expression: e, From: "residuals"}
	}
	var all []cell
	var rows [][]float64
	for _, s := range sites {
		m.Machines.Names = append(m.Machines.Names, s.name)
		m.Samples += s.own.Samples
		m.LeftOut = append(m.LeftOut, s.own.LeftOut...)
		all, rows = append(all, s.cells...), append(rows, s.rows...)
	}
	m.Points, m.Range = len(all), ranges(names, all)
	l.quality(m, all, rows)
	m.Notes = append(m.Notes, fmt.Sprintf("of %d machines; when one is left out, its times are missed by %.2g %%", len(sites), m.Machines.Error))
	if !m.finite() {
		return nil, fmt.Errorf("the values are too extreme to compute with")
	}
	return m, nil
}

func (l *law) quality(m *Model, cells []cell, rows [][]float64) {
	var means []float64
	residuals := 0.0
	for i, c := range cells {
		mean, _ := summary(c.y)
		fitted := 0.0
		for k, j := range l.chosen {
			fitted += l.coefficients[k] * rows[i][j] * mean
		}
		m.SMAPE += 200 * math.Abs(fitted-mean) / (math.Abs(fitted) + mean) / float64(len(cells))
		residuals += (fitted - mean) * (fitted - mean)
		means = append(means, mean)
	}
	n, k := float64(len(means)), float64(len(l.chosen))
	if _, total := summary(means); total > 0 && n > k {
		m.AdjustedR2 = 1 - residuals/total*(n-1)/(n-k)
	}
}

// foreign says why a model cannot tell anything of a machine with these properties; empty: it can.
func (m *Model) foreign(properties map[string]float64) string {
	for _, p := range slices.Sorted(maps.Keys(m.Machines.Range)) {
		r := m.Machines.Range[p]
		v, ok := properties[p]
		switch {
		case !ok:
			return fmt.Sprintf("the model goes by %s, which was not measured of this machine", p)
		case !(v >= r[0]*r[0]/r[1] && v <= r[1]*r[1]/r[0]): // no further out than they are apart
			return fmt.Sprintf("%s is %.4g, far outside %.4g to %.4g of the machines that the model was made from (%s)", p, v, r[0], r[1],
				strings.Join(m.Machines.Names, ", "))
		}
	}
	return ""
}
