// Package model finds out how a measured quantity depends on parameters: mean and standard deviation as
// formulas, chosen among families, with the uncertainty of every coefficient and prediction.
//
// It may use formula and gonum's distributions; it holds no state beyond a Fitter's.
//
// Invariant: a model never claims more than its samples show. Where they are too few, there is no model but a
// reason; samples that were left out are listed; what lies outside the measured range is marked.
package model

import (
	"marple/analysis/formula"
)

// Schema is the number of the format of model files.
const Schema = 1

// Document is a model file, and what `marple fit --format json` prints.
type Document struct {
	Schema int      `json:"schema"`
	Models []*Model `json:"models"`
}

// Families of models that none of the fitted ones is of.
const (
	None  = "none"  // could not be modelled; the reason says why
	Given = "given" // a formula that somebody wrote
)

// Model says how a response depends on parameters. One written by hand needs an expression only; its
// parameters are then the names in it that are not machine parameters.
type Model struct {
	Name     string `json:"name,omitempty"`     // of what was measured: a component's method, a call path, an MPI function
	Response string `json:"response,omitempty"` // what was measured of it
	Unit     string `json:"unit,omitempty"`
	// Where restricts the model to samples with these labels.
	Where map[string]string `json:"where,omitempty"`
	// Mode tells which of several behaviours at the same parameters the model describes.
	Mode       *Mode    `json:"mode,omitempty"`
	Parameters []string `json:"parameters,omitempty"`
	// Machine holds properties of the machine that the expression may use: clock rate, size of a cache. They are
	// given anew when the model is used for another machine.
	Machine map[string]float64 `json:"machine,omitempty"`
	// Machines is there if the coefficients are functions of the machine's properties, found on several.
	Machines *Machines `json:"machines,omitempty"`

	Family     string        `json:"family"`             // see Families; none: see reason
	Families   []string      `json:"families,omitempty"` // all that the expression belongs to, the narrowest first
	Degree     int           `json:"degree,omitempty"`   // of a polynomial
	Reason     string        `json:"reason,omitempty"`   // why there is no model
	Expression *formula.Expr `json:"expression,omitempty"`
	// Form is the expression with names for its coefficients.
	Form         *formula.Expr      `json:"form,omitempty"`
	Coefficients map[string]float64 `json:"coefficients,omitempty"`
	// Intervals of the coefficients hold the true values with this confidence, if the family is right.
	Intervals  map[string][2]float64 `json:"intervals,omitempty"`
	Confidence float64               `json:"confidence,omitempty"`
	// Covariance of the coefficients, in the order of their names (shorter before longer).
	Covariance [][]float64 `json:"covariance,omitempty"`
	Freedom    float64     `json:"degrees_of_freedom,omitempty"`
	Deviation  *Deviation  `json:"deviation,omitempty"`

	SMAPE      float64 `json:"smape"`       // percent, of the samples
	AdjustedR2 float64 `json:"adjusted_r2"` // of the samples
	CVError    float64 `json:"cv_error"`    // percent: root mean square of the relative errors in leave-one-out cross-validation
	Samples    int     `json:"samples"`     // used
	Points     int     `json:"points"`      // different values of the parameters among them
	// Range of each parameter in the samples. The model says nothing certain outside.
	Range    map[string][2]float64 `json:"range,omitempty"`
	RunnerUp *RunnerUp             `json:"runner_up,omitempty"`
	LeftOut  []LeftOut             `json:"left_out,omitempty"`
	Notes    []string              `json:"notes,omitempty"`

	Predictions []Prediction `json:"predictions,omitempty"` // that were asked for
}

// Mode is one of several behaviours.
type Mode struct {
	Index int     `json:"index"` // from 1, the fastest first
	Of    int     `json:"of"`
	Share float64 `json:"share"` // of the samples where the modes can be told apart
}

// RunnerUp is a model that explains the samples nearly as well.
type RunnerUp struct {
	Family     string        `json:"family"`
	Expression *formula.Expr `json:"expression"`
	CVError    float64       `json:"cv_error"`
	// Odds is how much likelier the chosen model is.
	Odds float64 `json:"odds"`
}

// LeftOut says which samples a model does not rest on.
type LeftOut struct {
	Why   string             `json:"why"`
	Count int                `json:"count"`
	At    map[string]float64 `json:"at,omitempty"`     // parameters, of a single one
	Value []float64          `json:"values,omitempty"` // at most ten
}

// Deviation models the standard deviation of single samples.
type Deviation struct {
	Family     string        `json:"family"` // as of models, or proportional (to the mean, or a power of it)
	Expression *formula.Expr `json:"expression"`
	From       string        `json:"from,omitempty"` // repetitions or residuals
}
