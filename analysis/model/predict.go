package model

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat/distuv"

	"marple/analysis/formula"
)

// Prediction is what a model says of one point.
type Prediction struct {
	At        map[string]float64 `json:"at"`
	Mean      float64            `json:"mean"`
	Deviation *float64           `json:"deviation,omitempty"` // of a single sample
	// MeanInterval holds the true mean, Interval a single new sample, with the model's confidence.
	MeanInterval *[2]float64 `json:"mean_interval,omitempty"`
	Interval     *[2]float64 `json:"interval,omitempty"`
	// Extrapolated names the parameters that lie outside the measured range.
	Extrapolated []string `json:"extrapolated,omitempty"`
	RunnerUp     *float64 `json:"runner_up,omitempty"` // what the runner-up says
}

// Inputs are the names that the model's value depends on: parameters and machine parameters.
func (m *Model) Inputs() []string {
	if m.Expression == nil {
		return nil
	}
	names := slices.Clone(m.Parameters)
	for _, e := range []*formula.Expr{m.Expression, m.deviation()} {
		if e == nil {
			continue
		}
		for _, name := range e.Parameters() {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

func (m *Model) deviation() *formula.Expr {
	if m.Deviation == nil {
		return nil
	}
	return m.Deviation.Expression
}

// Predictor evaluates a model often.
type Predictor struct {
	model            *Model
	names            []string // inputs
	mean             func(x []float64) float64
	deviation        func(x []float64) float64 // nil if not known
	slopes           []func(x []float64) float64
	coefficients     []float64
	quantile         float64
	runnerUp         func(x []float64) float64
	coefficientNames []string
	rivals           []func(x []float64) float64 // explanations of the machines that are nearly as good
}

// Predictor prepares a model for evaluation. machine gives machine parameters that differ from the model's own.
func (m *Model) Predictor(machine map[string]float64) (*Predictor, error) {
	if m.Expression == nil {
		return nil, fmt.Errorf("no model: %s", m.Reason)
	}
	bound := map[string]float64{}
	for name, v := range m.Machine {
		bound[name] = v
	}
	for name, v := range machine {
		if !slices.Contains(m.Parameters, name) {
			bound[name] = v
		}
	}
	if m.Machines != nil && len(machine) > 0 {
		if why := m.foreign(machine); why != "" {
			return nil, errors.New(why)
		}
	}
	p := &Predictor{model: m}
	p.names = slices.DeleteFunc(m.Inputs(), func(name string) bool { _, ok := bound[name]; return ok })
	var err error
	if p.mean, err = m.Expression.Bind(bound).Func(p.names...); err != nil {
		return nil, err
	}
	if e := m.deviation(); e != nil {
		if p.deviation, err = e.Bind(bound).Func(p.names...); err != nil {
			return nil, err
		}
	}
	if m.RunnerUp != nil && m.RunnerUp.Expression != nil {
		if p.runnerUp, err = m.RunnerUp.Expression.Bind(bound).Func(p.names...); err != nil {
			p.runnerUp = nil // it is only told for comparison
		}
	}
	if m.Machines != nil {
		for _, e := range m.Machines.Rivals {
			if rival, err := e.Bind(bound).Func(p.names...); err == nil { // else it goes by what was not measured there
				p.rivals = append(p.rivals, rival)
			}
		}
	}
	if m.Form == nil || len(m.Covariance) == 0 {
		return p, nil
	}
	p.coefficientNames = coefficientNames(m.Coefficients)
	for _, name := range p.coefficientNames {
		p.coefficients = append(p.coefficients, m.Coefficients[name])
	}
	if _, p.slopes, err = m.Form.Bind(bound).Gradient(p.coefficientNames, slices.Concat(p.coefficientNames, p.names)...); err != nil {
		return nil, err
	}
	p.quantile = quantile(m.Confidence, m.Freedom)
	return p, nil
}

// coefficientNames puts names in the order of their numbers.
func coefficientNames(values map[string]float64) []string {
	list := make([]string, 0, len(values))
	for name := range values {
		list = append(list, name)
	}
	slices.SortFunc(list, func(a, b string) int {
		if len(a) != len(b) {
			return len(a) - len(b)
		}
		if a < b {
			return -1
		}
		return 1
	})
	return list
}

// quantile of Student's t that leaves out (1-confidence)/2 on either side.
func quantile(confidence, freedom float64) float64 {
	if freedom <= 0 {
		freedom = 1
	}
	return distuv.StudentsT{Sigma: 1, Nu: freedom}.Quantile(0.5 + confidence/2)
}

// Names are the parameters that At and Mean expect, in their order.
func (p *Predictor) Names() []string { return p.names }

// Mean and Deviation at a point; the deviation is 0 where the model has none.
func (p *Predictor) Mean(x []float64) float64 { return p.mean(x) }

// Deviation is never negative: where the formula is, it is 0.
func (p *Predictor) Deviation(x []float64) float64 {
	if p.deviation == nil {
		return 0
	}
	if v := p.deviation(x); v > 0 {
		return v
	}
	return 0
}

// Error is the standard error of the mean; 0 where the model has no covariance.
func (p *Predictor) Error(x []float64) float64 {
	if p.slopes == nil {
		return 0
	}
	input := slices.Concat(p.coefficients, x)
	g := make([]float64, len(p.slopes))
	for i, slope := range p.slopes {
		g[i] = slope(input)
	}
	v := 0.0
	for i := range g {
		for j := range g {
			v += g[i] * g[j] * p.model.Covariance[i][j]
		}
	}
	if p.model.Machines != nil { // which another machine is missed by, and what rivals disagree about
		low, high := p.span(x)
		v += math.Pow(p.model.Machines.Error/100*p.mean(x), 2) + math.Pow((high-low)/2, 2)
	}
	return math.Sqrt(max(v, 0))
}

// span is from the least to the most that any explanation of the machines says.
func (p *Predictor) span(x []float64) (low, high float64) {
	low = p.mean(x)
	high = low
	for _, rival := range p.rivals {
		v := rival(x)
		low, high = min(low, v), max(high, v)
	}
	return low, high
}

// Unsure says why nothing can be told of a point on this machine: empty where it can.
func (p *Predictor) Unsure(x []float64) string {
	if low, high := p.span(x); len(p.rivals) > 0 && high > apart*low {
		return fmt.Sprintf("the machines of the model (%s) do not tell which of their properties the time goes by, and this machine would take from %.4g to %.4g",
			strings.Join(p.model.Machines.Names, ", "), low, high)
	}
	return ""
}

// At predicts for a point. Errors: the formula has no finite value there.
func (p *Predictor) At(x []float64) (Prediction, error) {
	out := Prediction{At: map[string]float64{}, Mean: p.mean(x)}
	for i, name := range p.names {
		out.At[name] = x[i]
		if r, ok := p.model.Range[name]; ok && (x[i] < r[0] || x[i] > r[1]) {
			out.Extrapolated = append(out.Extrapolated, name)
		}
	}
	if !finite(out.Mean) {
		return out, fmt.Errorf("%s has no finite value at %v", p.model.Expression, out.At)
	}
	if why := p.Unsure(x); why != "" {
		return out, errors.New(why)
	}
	if p.deviation != nil {
		d := p.Deviation(x)
		if !finite(d) {
			return out, fmt.Errorf("%s has no finite value at %v", p.model.Deviation.Expression, out.At)
		}
		out.Deviation = &d
	}
	if p.runnerUp != nil {
		if v := p.runnerUp(x); finite(v) {
			out.RunnerUp = &v
		}
	}
	if p.slopes != nil {
		e := p.Error(x)
		d := p.Deviation(x)
		half, whole := p.quantile*e, p.quantile*math.Sqrt(e*e+d*d)
		if finite(whole) {
			out.MeanInterval = &[2]float64{out.Mean - half, out.Mean + half}
			out.Interval = &[2]float64{out.Mean - whole, out.Mean + whole}
		}
	}
	return out, nil
}
