package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"marple/analysis/formula"
)

// Options say how to fit. The zero value chooses among all families with 95 % intervals.
type Options struct {
	Family       string        // only this one; "" for any
	Degree       int           // of the polynomial, complete; 0 for any up to 4
	Form         *formula.Expr // this formula instead of a family; names that are no parameters are coefficients
	Confidence   float64       // of intervals; 0 for 0.95
	AverageModes bool          // one model even where samples fall into several modes
	keepAll      bool          // no sample is an outlier
}

// Fitter fits models. It keeps what depends on the parameters' values alone for the next response measured at
// the same points. It must not be used by several goroutines at once.
type Fitter struct {
	designs map[string]*design
}

// mostDesigns are kept. mostSearched points take part in the search; of more, evenly chosen ones. The final fit
// uses all.
const (
	mostDesigns  = 64
	mostSearched = 300
)

func (f *Fitter) design(cells []cell) *design {
	k := key(cells)
	if d := f.designs[k]; d != nil {
		return d
	}
	if f.designs == nil || len(f.designs) >= mostDesigns {
		f.designs = map[string]*design{}
	}
	x := make([][]float64, len(cells))
	for i := range cells {
		x[i] = cells[i].x
	}
	d := newDesign(x)
	if len(cells) <= mostSearched { // many call paths share few points, but not many
		f.designs[k] = d
	}
	return d
}

func (f *Fitter) problem(names []string, cells []cell) *problem {
	return newProblem(f.design(cells), names, cells)
}

// wanted tells which shapes the options allow.
func (o *Options) wanted(d *design) func(shape) bool {
	if o.Family == "" {
		return func(shape) bool { return true }
	}
	return func(s shape) bool {
		if s.kind == sum && s.count == 0 && o.Family != Constant || s.kind == ratio {
			return false // these are left to the choice among families
		}
		names, degree := s.families(d)
		return slices.Contains(names, o.Family) && (o.Degree == 0 || degree == o.Degree && s.count == degree)
	}
}

// Fit models samples of one response at one kind of behaviour: outliers are left out, modes are not looked for.
// The model has no name yet. Where there is no model, its family is None and its reason says why.
func (f *Fitter) Fit(s *Samples, o Options) *Model {
	if o.Confidence == 0 {
		o.Confidence = 0.95
	}
	m := &Model{Parameters: s.Parameters, Family: None, Confidence: o.Confidence}
	cells := s.cells()
	for _, c := range cells {
		m.Samples += len(c.y)
	}
	m.Points = len(cells)
	if n := len(s.Y) - m.Samples; n > 0 {
		m.LeftOut = append(m.LeftOut, LeftOut{Why: "not a finite number", Count: n})
	}
	m.Range = ranges(s.Parameters, cells)
	var err error
	switch m.Reason = unusable(s.Parameters, cells); {
	case len(s.Parameters) > MaxParameters:
		m.Reason = fmt.Sprintf("%d parameters: at most %d can be modelled together; choose some", len(s.Parameters), MaxParameters)
	case len(cells) == 0:
		m.Reason = "no usable samples"
	case o.Form != nil:
		m.Reason = ""
		err = f.fitForm(m, cells, o)
	case m.Reason == "" || o.Family != "" && len(cells) > 2:
		m.Reason = ""
		err = f.fitFamily(m, cells, o)
	}
	if err == nil && m.Expression != nil && !m.finite() {
		err = errors.New("the values are too extreme to compute with")
	}
	if err != nil {
		*m = Model{Parameters: m.Parameters, Family: None, Reason: err.Error(), Samples: m.Samples, Points: m.Points, Range: m.Range, LeftOut: m.LeftOut}
	}
	return m
}

// finite tells whether all figures are numbers.
func (m *Model) finite() bool {
	_, err := json.Marshal(m) // which refuses others
	return err == nil
}

func ranges(names []string, cells []cell) map[string][2]float64 {
	r := map[string][2]float64{}
	for p, name := range names {
		low, high := math.Inf(1), math.Inf(-1)
		for _, c := range cells {
			low, high = min(low, c.x[p]), max(high, c.x[p])
		}
		if low <= high {
			r[name] = [2]float64{low, high}
		}
	}
	return r
}

// trimmed takes outliers out of repeated samples and lists them in the model.
func trimmed(m *Model, cells []cell) []cell {
	kept, out := trim(cells, robustExponent(cells))
	m.leaveOut("outlier: far from the other samples at the same point", out)
	return kept
}

func (m *Model) leaveOut(why string, out []cell) {
	for _, c := range out {
		l := LeftOut{Why: why, Count: len(c.y), At: map[string]float64{}, Value: c.y[:min(len(c.y), 10)]}
		for p, name := range m.Parameters {
			l.At[name] = c.x[p]
		}
		m.LeftOut = append(m.LeftOut, l)
		m.Samples -= len(c.y)
	}
}

// fitFamily chooses a shape and fits it.
func (f *Fitter) fitFamily(m *Model, cells []cell, o Options) error {
	if !o.keepAll {
		cells = trimmed(m, cells)
	}
	l := f.look(f.problem(m.Parameters, cells), o)
	if kept, out := f.withoutSuspects(l, cells, o); out != nil {
		m.leaveOut("outlier: no simple function that fits the other points comes near", out)
		cells, l = kept.cells, kept.look
		m.Points = len(cells)
		m.Range = ranges(m.Parameters, cells)
	}
	if len(l.list) == 0 {
		if o.Family != "" {
			return fmt.Errorf("these samples cannot be described by the family %s: too few points, or values outside its domain", o.Family)
		}
		return errors.New("no function could be fitted")
	}
	p := l.problem
	var best candidate
	var v *curve
	// Weights follow the deviation, the deviation is measured from the mean.
	for range 2 {
		best = l.list[0]
		form, values, err := p.form(best)
		if err != nil {
			return err
		}
		names := coefficientNames(values)
		if v, err = newCurve(p, form, names, best.coef[:best.p]); err != nil {
			return err
		}
		v.exact = v.tidy(p)
		if err := f.spread(m, p, v, l.exponent); err != nil {
			return err
		}
		if !l.reweigh(m, v) {
			break
		}
	}
	m.Families, m.Degree = best.shape.families(p.d)
	m.Family = m.Families[0]
	m.finish(p, v, cells)
	if best.shape.kind == jump {
		x, at := p.d.x, v.coefficients[len(v.coefficients)-1]
		m.Intervals[at] = [2]float64{x[best.shape.split-1][0], x[best.shape.split][0]}
	}
	if len(l.list) > 1 && !v.exact {
		m.runnerUp(p, l.list[0], l.list[1])
	}
	return nil
}

// nearly is how much worse the runner-up's score may be to be worth telling: odds of 20.
const nearly = 6

func (m *Model) runnerUp(p *problem, first, second candidate) {
	if second.score > first.score+nearly {
		return
	}
	e, err := p.expression(second)
	if err != nil {
		return
	}
	families, _ := second.shape.families(p.d)
	m.RunnerUp = &RunnerUp{Family: families[0], Expression: e, Odds: math.Exp((second.score - first.score) / 2),
		CVError: m.CVError * math.Sqrt(second.error/first.error)}
}

// looked is the outcome of a search.
type looked struct {
	*problem
	list     []candidate
	exponent float64 // of the mean, that weights went by
	only     func(shape) bool
}

// look searches. The weights go by a power of the mean, which repetitions show; without them, both a constant
// and a proportional deviation are tried and the likelier taken.
func (f *Fitter) look(p *problem, o Options) looked {
	exponents := []float64{1, 0}
	if e, ok := p.exponent(); ok {
		exponents = []float64{e}
	}
	var best looked
	least := math.Inf(1)
	for _, e := range exponents {
		q := *p
		l := f.lookWith(&q, e, o)
		if len(l.list) == 0 {
			continue
		}
		c := l.list[0]
		v := q.N*math.Log(c.error/q.signal+q.exact) + q.N*math.Log(q.signal) + c.price + 2*float64(c.p) + 2*(1-e)
		for i, s := range q.scale {
			v += 2 * q.n[i] * math.Log(s)
		}
		if v < least {
			best, least = l, v
		}
	}
	return best
}

// lookWith searches with weights by a power of the points' means, then of the best fit's.
func (f *Fitter) lookWith(p *problem, exponent float64, o Options) looked {
	only := o.wanted(p.d)
	full := p
	if p.points() > mostSearched {
		p = f.thinned(p)
		only = o.wanted(p.d)
	}
	p.weigh(relative(p.mean, exponent))
	s := newSearch(p, only)
	s.run()
	if len(s.best) > 0 && exponent != 0 {
		fitted := s.fitted(&s.best[0])
		far := false
		for i, m := range p.mean {
			far = far || math.Abs(fitted[i]-m) > 0.25*math.Abs(m)
		}
		p.weigh(relative(fitted, exponent))
		if list := s.best; far {
			s.clear()
			s.run()
		} else {
			s.again(list)
		}
	}
	l := looked{p, s.best, exponent, only}
	if full != p && len(l.list) > 0 {
		l.problem, l.only = full, o.wanted(full.d)
		fitted := make([]float64, full.points())
		for i, x := range full.d.x {
			fitted[i] = s.value(&s.best[0], x)
		}
		full.weigh(relative(fitted, exponent))
		l.judgeAgain()
	}
	return l
}

// judgeAgain orders the candidates anew after the weights have changed.
func (l *looked) judgeAgain() {
	s := newSearch(l.problem, l.only)
	s.again(l.list)
	if len(s.best) > 0 {
		l.list = s.best
	}
}

// thinned is a problem of fewer points, chosen evenly in their order, and with the ends of every parameter, so
// that the same columns can be used.
func (f *Fitter) thinned(p *problem) *problem {
	var chosen []int
	for k := range mostSearched {
		chosen = append(chosen, k*(p.points()-1)/(mostSearched-1))
	}
	for q := range p.d.parameter {
		a := &p.d.parameter[q]
		chosen = append(chosen, slices.Index(a.x, a.least), slices.Index(a.x, a.most))
	}
	slices.Sort(chosen)
	var cells []cell
	q := &problem{names: p.names, least: math.Inf(1), exact: p.exact}
	for _, i := range slices.Compact(chosen) {
		cells = append(cells, cell{x: p.d.x[i]})
		q.n, q.mean, q.within = append(q.n, p.n[i]), append(q.mean, p.mean[i]), append(q.within, p.within[i])
		q.least = min(q.least, p.mean[i])
	}
	q.d = f.design(cells)
	return q
}

// spread models the deviation around a curve.
func (f *Fitter) spread(m *Model, p *problem, v *curve, exponent float64) error {
	mean, err := v.expression()
	if err != nil {
		return err
	}
	m.Expression = mean
	freedom := p.N - float64(len(v.free))
	sigma := 0.0
	if freedom > 0 && !v.exact {
		sigma = math.Sqrt((dot(v.residuals, v.residuals) + p.pure) / freedom)
	}
	// relative() divides by the largest value; the factor takes that back.
	if most := largest(p, v); most > 0 {
		sigma /= math.Pow(most, exponent)
	}
	m.Deviation, err = f.deviation(p, mean, v.at, exponent, sigma)
	return err
}

func largest(p *problem, v *curve) float64 {
	most := 0.0
	for _, x := range p.d.x {
		most = max(most, math.Abs(v.at(x)))
	}
	return most
}

// reweigh takes weights from the model of the deviation, if it is one of its own, and says whether that
// changed them.
func (l *looked) reweigh(m *Model, v *curve) bool {
	if m.Deviation.Family == Proportional || v.exact {
		return false
	}
	at, err := m.Deviation.Expression.Func(l.names...)
	if err != nil {
		return false
	}
	scale, changed := make([]float64, l.points()), false
	middle := make([]float64, 0, l.points())
	for i, x := range l.d.x {
		scale[i] = at(x)
		middle = append(middle, scale[i])
	}
	slices.Sort(middle)
	typical := median(middle)
	if !(typical > 0) {
		return false
	}
	ratio := scale[0] / l.scale[0]
	for i := range scale {
		if !finite(scale[i]) {
			return false
		}
		scale[i] = max(scale[i], typical/100)
		changed = changed || math.Abs(scale[i]/l.scale[i]/ratio-1) > 0.1
	}
	if changed {
		l.weigh(scale)
		l.judgeAgain()
	}
	return changed
}

// expression is the form with its coefficients in place.
func (v *curve) expression() (*formula.Expr, error) {
	values := map[string]float64{}
	for i, name := range v.coefficients {
		if !finite(v.c[i]) {
			return nil, fmt.Errorf("%s could not be fitted", v.form)
		}
		values[name] = v.c[i]
	}
	return v.form.Bind(values).Simplify(), nil
}

// finish fills in what is known of the fit.
func (m *Model) finish(p *problem, v *curve, cells []cell) {
	m.Form = v.form
	m.Coefficients, m.Intervals = map[string]float64{}, map[string][2]float64{}
	squares := dot(v.residuals, v.residuals)
	k := float64(len(v.free))
	m.Freedom = p.N - k
	variance := 0.0
	if m.Freedom > 0 {
		variance = (squares + p.pure) / m.Freedom
	}
	points := float64(p.points())
	if pure := p.freedom(); p.pure > 0 && pure > 0 && points > k && !v.exact {
		lack := squares / (points - k)
		if f := lack / (p.pure / pure); f > (distuv.F{D1: points - k, D2: pure}).Quantile(0.999) {
			m.Freedom, variance = points-k, lack
			m.Notes = append(m.Notes, "the points lie further from the curve than repetitions scatter: the true function is another one, and the intervals are widened")
		}
	}
	if v.exact {
		variance = 0
	}
	// The weights have been estimated from the same samples, which takes freedom: about half where repetitions
	// show how the scatter grows, and one where a guess was made.
	if m.Freedom /= 2; p.freedom() == 0 {
		m.Freedom = max(2*m.Freedom-1, 1)
	}
	t := quantile(m.Confidence, m.Freedom)
	m.Covariance = make([][]float64, len(v.c))
	for i, name := range v.coefficients {
		m.Coefficients[name] = v.c[i]
		m.Covariance[i] = make([]float64, len(v.c))
		for j := range v.c {
			m.Covariance[i][j] = v.covariance[i][j] * variance
		}
		half := t * math.Sqrt(m.Covariance[i][i])
		m.Intervals[name] = [2]float64{v.c[i] - half, v.c[i] + half}
	}
	m.quality(p, v, cells)
}

// quality computes the figures that people compare fits by.
func (m *Model) quality(p *problem, v *curve, cells []cell) {
	var symmetric, squares, validated float64
	var all []float64
	relativeTo := 0
	for i, c := range cells {
		fitted := v.at(c.x)
		for _, y := range c.y {
			e := y - fitted
			if size := math.Abs(y) + math.Abs(fitted); size > 0 {
				symmetric += 2 * math.Abs(e) / size
			}
			squares += e * e
			if fitted != 0 {
				e /= max(1-v.leverages[i]/float64(len(c.y)), 0.02)
				validated += e * e / (fitted * fitted)
				relativeTo++
			}
			all = append(all, y)
		}
	}
	n := float64(len(all))
	m.SMAPE = 100 * symmetric / n
	if relativeTo > 0 {
		m.CVError = 100 * math.Sqrt(validated/float64(relativeTo))
	}
	_, total := summary(all)
	k := float64(len(v.free))
	switch {
	case v.exact:
		m.AdjustedR2 = 1
	case total > 0 && n > k:
		m.AdjustedR2 = 1 - squares/total*(n-1)/(n-k)
	}
	if v.exact {
		m.SMAPE, m.CVError = 0, 0
	}
}

// fitForm fits a formula that the user has chosen.
func (f *Fitter) fitForm(m *Model, cells []cell, o Options) error {
	values := map[string]float64{}
	for _, name := range o.Form.Parameters() {
		if !slices.Contains(m.Parameters, name) {
			values[name] = 1
		}
	}
	names := coefficientNames(values)
	if len(names) == 0 {
		return fmt.Errorf("%s has no coefficients to be fitted", o.Form)
	}
	cells = trimmed(m, cells)
	p := f.problem(m.Parameters, cells)
	if len(names) >= p.points() {
		return fmt.Errorf("too few points: %d for %d coefficients", p.points(), len(names))
	}
	exponent, ok := p.exponent()
	if !ok {
		exponent = 1
	}
	p.weigh(relative(p.mean, exponent))
	v, err := pursue(p, o.Form, names)
	if err != nil {
		return err
	}
	for range 3 {
		fitted := make([]float64, p.points())
		for i, x := range p.d.x {
			fitted[i] = v.at(x)
		}
		p.weigh(relative(fitted, exponent))
		if v, err = newCurve(p, o.Form, names, v.c); err != nil {
			return err
		}
	}
	v.exact = v.tidy(p)
	if err := f.spread(m, p, v, exponent); err != nil {
		return err
	}
	if len(v.free) < len(names) {
		m.Notes = append(m.Notes, "the samples do not determine all coefficients of the formula")
	}
	m.Family = Given
	m.finish(p, v, cells)
	return nil
}
