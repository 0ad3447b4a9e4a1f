package selection

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"marple/analysis/invocation"
	"marple/analysis/model"
	"marple/analysis/run"
	"marple/analysis/series"
)

// fitted is a model from a file of `marple fit`: one, or several modes of behaviour with their shares. Where parameters
// tell the modes apart, an invocation of which they are known is modelled by its mode; of others the modes' shares count.
type fitted struct {
	what       string
	at         place
	from       *source              // that is still to be looked into; nil: models are there
	inclusive  *bool                // the estimate's
	all        []*model.Model       // those that were picked, of all machines
	models     []*model.Model       // those of them that count here
	where      []map[string]float64 // what parameters a model is for; nil: any
	predictors []*model.Predictor
	shares     []float64
	names      []string // of the parameters that any of them depends on
	optional   []string // parameters that tell modes apart
}

// source is what a file of models holds, and which of them are wanted.
type source struct {
	path, name, response string
	mode                 int
	models               []*model.Model
}

// model reads a model file's name, or {file, name, response, mode}.
func (p *Plan) model(what string, to **fitted, inclusive *bool) reader {
	f := p.file
	return func(n ast.Node) error {
		var file, name, response string
		mode := 0.0
		if _, ok := mapping(n); !ok {
			if err := f.text(what, &file)(n); err != nil {
				return err
			}
		} else if err := f.object(n, what, []field{{"file", f.text(what+": file", &file)}, {"name", f.text(what+": name", &name)},
			{"response", f.text(what+": response", &response)}, {"mode", f.number(what+": mode", &mode)}}, "file"); err != nil {
			return err
		}
		if !filepath.IsAbs(file) {
			file = filepath.Join(filepath.Dir(f.path), file)
		}
		document, err := model.Read(file)
		if err != nil {
			return f.fail(at(n), "%s: %v", what, err)
		}
		*to = &fitted{what: what, at: at(n), inclusive: inclusive, from: &source{file, name, response, int(mode), document.Models}}
		p.fitted = append(p.fitted, *to)
		return nil
	}
}

// Responses that a time of invocations has been measured as, the one that is meant first: without the components that
// are called, or with them.
var (
	exclusiveTimes = []string{invocation.Exclusive, "wall", "time", "compute"}
	inclusiveTimes = []string{"wall", "time"}
)

// look picks the models that are meant.
func (f *fitted) look(p *Plan) (err error) {
	from := f.from
	if from == nil {
		return nil
	}
	if from.response == "" {
		times := exclusiveTimes
		if f.inclusive != nil && *f.inclusive {
			times = inclusiveTimes
		}
		if from.response = meant(from.models, from.name, times); from.response != "" {
			p.notes = append(p.notes, fmt.Sprintf("%s is modelled by the response %s of %s", strings.TrimSuffix(f.what, ": model"), from.response, filepath.Base(from.path)))
		}
	}
	if f.models, err = pick(from.models, from.name, from.response, from.mode); err != nil {
		return fmt.Errorf("%s: %w", from.path, err)
	}
	f.all = f.models
	return nil
}

// meant is the response to take of models that differ in it; "" if they do not, or none is meant.
func meant(models []*model.Model, name string, times []string) string {
	there := map[string]bool{}
	for _, m := range models {
		if name == "" || m.Name == name {
			there[m.Response] = true
		}
	}
	for _, time := range times {
		if len(there) > 1 && there[time] {
			return time
		}
	}
	return ""
}

// Fit models the implementations that ask for it, by the records of their invocations: the time without the components
// that they call, where that was recorded, or else with them. One that cannot be modelled keeps its measured time,
// where the file allows that.
func (p *Plan) Fit(invocations []*series.Series) error {
	fitter := &model.Fitter{}
	response := "wall"
	if slices.ContainsFunc(invocations, func(s *series.Series) bool { return s.Response == invocation.Exclusive }) {
		response = invocation.Exclusive
	}
	for _, fam := range p.Families {
		for _, i := range fam.Implementations {
			for _, s := range invocations {
				cut := strings.LastIndexByte(s.Name, '.')
				if !i.fit || cut <= 0 || s.Response != response || !i.ran(s.Name[:cut]) ||
					s.Name[:cut] != i.Class && !slices.Contains(fam.Components, s.Name[:cut]) {
					continue
				}
				models, err := pick(fitter.FitSeries(s, model.Options{}), "", "", 0)
				f := &fitted{what: i.String(), at: i.at, models: models}
				if err == nil {
					err = f.prepare(p.machine)
				}
				if err != nil && i.measured {
					p.notes = append(p.notes, fmt.Sprintf("%s counts as it was measured: %v", i, err))
					continue
				}
				if err != nil {
					return p.file.fail(i.at, "%s: fit: %v", i, err)
				}
				i.methods[s.Name[cut+1:]] = &estimate{at: i.at, name: i.String(), fitted: f}
				i.inclusive = response == "wall"
			}
		}
	}
	return nil
}

// ran tells whether a component of this class may be the implementation: unless it is known to be another one.
func (i *Implementation) ran(class string) bool {
	return !slices.ContainsFunc(i.family.Implementations, func(o *Implementation) bool { return o != i && o.Class == class }) || i.Class == class
}

// pick finds the models that were asked for: one, or all modes of one. Those of single call paths are more than that.
func pick(models []*model.Model, name, response string, mode int) ([]*model.Model, error) {
	var list []*model.Model
	var there []string
	for _, m := range models {
		switch _, ofPath := m.Where["path"]; {
		case ofPath:
			continue
		case name != "" && m.Name != name, response != "" && m.Response != response:
		case mode != 0 && (m.Mode == nil || m.Mode.Index != mode):
		default:
			list = append(list, m)
			continue
		}
		there = append(there, m.Title())
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("there is no such model; there are %s", few(there))
	}
	for _, m := range list {
		if m.Expression == nil {
			return nil, fmt.Errorf("%s: no model: %s", m.Title(), m.Reason)
		}
		if m.Name != list[0].Name || m.Response != list[0].Response || len(list) > 1 && m.Mode == nil && len(m.Where) == 0 {
			return nil, fmt.Errorf("which of these models? %s: give {file, name, response}", few(titles(list)))
		}
	}
	return list, nil
}

func titles(models []*model.Model) (list []string) {
	for _, m := range models {
		list = append(list, m.Title())
	}
	return list
}

func few(list []string) string {
	const most = 8
	if len(list) > most {
		list = append(slices.Clone(list[:most]), fmt.Sprintf("%d more", len(list)-most))
	}
	return strings.Join(list, ", ")
}

// prepare makes the models ready for a machine.
func (f *fitted) prepare(machine map[string]float64) error {
	f.predictors, f.shares, f.names, f.where, f.optional = nil, nil, nil, nil, nil
	total := 0.0
	parts := map[string]int{} // samples, by what parameters they have
	for _, m := range f.models {
		parts[fmt.Sprint(m.Where)] += m.Samples
	}
	for _, m := range f.models {
		p, err := m.Predictor(machine)
		if err != nil {
			return err
		}
		share := 1.0
		if len(parts) > 1 {
			share = float64(max(parts[fmt.Sprint(m.Where)], 1))
		}
		if m.Mode != nil && len(f.models) > 1 {
			share *= m.Mode.Share
		}
		total += share
		f.predictors, f.shares = append(f.predictors, p), append(f.shares, share)
		f.names = append(f.names, p.Names()...)
		where := numbers(m.Where)
		f.where = append(f.where, where)
		f.optional = append(f.optional, slices.Collect(maps.Keys(where))...)
	}
	if !(total > 0) {
		return fmt.Errorf("the modes' shares add up to %v", total)
	}
	for i := range f.shares {
		f.shares[i] /= total
	}
	slices.Sort(f.names)
	f.names = slices.Compact(f.names)
	slices.Sort(f.optional)
	f.optional = slices.Compact(f.optional)
	return nil
}

// numbers are the parameters that a model is for; nil if one of them is no number, or there are none.
func numbers(where map[string]string) map[string]float64 {
	list := map[string]float64{}
	for name, text := range where {
		x, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil
		}
		list[name] = x
	}
	if len(list) == 0 {
		return nil
	}
	return list
}

// fits tells whether an invocation's parameters are those that a model is for.
func fits(where map[string]float64, names []string, x []float64) bool {
	for name, value := range where {
		if i := slices.Index(names, name); i < 0 || x[i] != value {
			return false
		}
	}
	return where != nil
}

// compile makes functions of the composite's parameters. Several modes are a mixture where it is not known which one an
// invocation meets.
func (f *fitted) compile(names []string) *compiled {
	pick := func(p *model.Predictor) func(x []float64) []float64 {
		from := make([]int, len(p.Names()))
		for i, name := range p.Names() {
			from[i] = slices.Index(names, name)
		}
		return func(x []float64) []float64 {
			own := make([]float64, len(from))
			for i, k := range from {
				own[i] = x[k]
			}
			return own
		}
	}
	inputs := make([]func([]float64) []float64, len(f.predictors))
	for i, p := range f.predictors {
		inputs[i] = pick(p)
	}
	sum := func(of func(p *model.Predictor, x []float64) float64) func(x []float64) float64 {
		return func(x []float64) float64 {
			total, shares := 0.0, 0.0
			known := slices.ContainsFunc(f.where, func(where map[string]float64) bool { return fits(where, names, x) })
			for i, p := range f.predictors {
				if known && !fits(f.where[i], names, x) {
					continue
				}
				total += f.shares[i] * of(p, inputs[i](x))
				shares += f.shares[i]
			}
			return total / shares
		}
	}
	mean := sum((*model.Predictor).Mean)
	square := sum(func(p *model.Predictor, x []float64) float64 {
		return p.Deviation(x)*p.Deviation(x) + p.Mean(x)*p.Mean(x)
	})
	return &compiled{
		time:      mean,
		deviation: func(x []float64) float64 { return math.Sqrt(max(0, square(x)-mean(x)*mean(x))) },
		error:     sum((*model.Predictor).Error),
		outside:   f.outside(names),
		unsure: func(x []float64) string {
			for i, p := range f.predictors {
				if why := p.Unsure(inputs[i](x)); why != "" {
					return why
				}
			}
			return ""
		},
	}
}

// outside tells which parameters lie outside the range that the models were made from.
func (f *fitted) outside(names []string) func(x []float64) string {
	return func(x []float64) string {
		for _, m := range f.models {
			for i, name := range names {
				if r, ok := m.Range[name]; ok && (x[i] < r[0] || x[i] > r[1]) {
					return fmt.Sprintf("%s from %.6g to %.6g", name, r[0], r[1])
				}
			}
		}
		return ""
	}
}

// unit of the models' values, in seconds; 0: they do not say.
func (f *fitted) unit() float64 { return units[f.models[0].Unit] }

// digits of numbers in formulas for people.
const digits = 5

// models are all there are of implementations, in the order of the file.
func (p *Plan) models() []run.CostModel {
	list := []run.CostModel{}
	for _, fam := range p.Families {
		for _, i := range fam.Implementations {
			for _, method := range slices.Sorted(maps.Keys(i.methods)) {
				for _, m := range i.methods[method].describe(p) {
					m.Implementation, m.Method = i.String(), method
					list = append(list, m)
				}
			}
		}
	}
	return list
}

func (e *estimate) describe(p *Plan) (list []run.CostModel) {
	if e.fitted == nil {
		m := run.CostModel{Expression: e.time.Round(digits).String(), Unit: p.unit()}
		if e.deviation != nil {
			m.Deviation = e.deviation.Round(digits).String()
		}
		return append(list, m)
	}
	for i, f := range e.fitted.models {
		m := run.CostModel{Expression: f.Expression.Round(digits).String(), Unit: f.Unit, Family: f.Family, Samples: f.Samples, Points: f.Points,
			CVError: f.CVError, Range: f.Range}
		if e.fitted.unit() == 0 {
			m.Unit = p.unit()
		}
		if f.Deviation != nil {
			m.Deviation = f.Deviation.Expression.Round(digits).String()
		}
		if len(e.fitted.models) > 1 {
			m.Share = e.fitted.shares[i]
		}
		list = append(list, m)
	}
	return list
}
