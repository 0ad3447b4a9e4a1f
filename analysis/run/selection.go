package run

import (
	"fmt"

	"marple/analysis/words"
)

// Selection is the assembly of component implementations that takes least, as far as is known. Times are seconds with a
// core, the mean over ranks.
type Selection struct {
	Time     float64           `json:"time"`                         // expected, of the best assembly
	Fixed    float64           `json:"fixed"`                        // part of it: measured in components of the core without a choice
	Pruned   float64           `json:"pruned"`                       // part of it: measured in pruned branches
	Proven   bool              `json:"proven"`                       // no assembly takes less
	Bound    float64           `json:"bound"`                        // no assembly can take less than this
	Choices  []Choice          `json:"choices"`                      // the best assembly
	Models   []CostModel       `json:"models"`                       // what implementations cost, as far as it is not measured
	Core     []string          `json:"core"`                         // call paths that pruning keeps, callers first
	Others   []Assembly        `json:"others"`                       // the next best
	Quality  []Value           `json:"quality"`                      // of the best assembly
	Measured []MeasuredQuality `json:"measured_qualities,omitempty"` // that implementations have reported themselves
	Fronts   []Front           `json:"fronts"`                       // time against a quality
	Ranges   []Range           `json:"ranges"`                       // that the expectation is over
	Across   []RangePart       `json:"across"`                       // the best assembly by the value of the only range
	Spread   *Spread           `json:"spread"`                       // null: the models say nothing of deviations and errors
	Tried    []Tried           `json:"tried,omitempty"`              // solvers that marple assemble has run
	Method   SearchMethod      `json:"method"`                       // how it was found
	Duration float64           `json:"duration"`                     // that it took to find
	Notes    []string          `json:"notes"`                        // what the reader must know
}

// Choice is a family of implementations, or an instance of it, and which one to take.
type Choice struct {
	Name           string    `json:"name"` // of the family if its instances are bound, else of the instance
	Family         string    `json:"family"`
	Instances      []string  `json:"instances"`
	Implementation string    `json:"implementation"`
	Class          string    `json:"class,omitempty"`
	Time           float64   `json:"time"`  // its own, and what calls to it cost beside that
	Any            bool      `json:"any"`   // any other will do: it is not in the core, and cannot come to matter
	Worst          float64   `json:"worst"` // more that the worst implementation would take here
	Next           *NextBest `json:"next"`  // null: there is no other, or none within the limits
}

// CostModel says what one invocation of an implementation takes.
type CostModel struct {
	Implementation string  `json:"implementation"`      // family.implementation
	Method         string  `json:"method,omitempty"`    // empty: all that have no model of their own
	Expression     string  `json:"expression"`          // of the mean
	Deviation      string  `json:"deviation,omitempty"` // of single invocations
	Unit           string  `json:"unit"`
	Share          float64 `json:"share,omitempty"` // of the invocations, of one of several modes
	// Of models that were fitted; see marple fit.
	Family  string                `json:"family,omitempty"`
	Samples int                   `json:"samples,omitempty"`
	Points  int                   `json:"points,omitempty"`
	CVError float64               `json:"cv_error,omitempty"` // percent
	Range   map[string][2]float64 `json:"range,omitempty"`
}

// NextBest is the best assembly without the implementation that was chosen.
type NextBest struct {
	Implementation string  `json:"implementation"` // taken instead; empty: not found in time
	Costs          float64 `json:"costs"`          // more
	AtLeast        bool    `json:"at_least"`       // costs is only a bound from below
}

// Assembly is one other than the best: implementations by name of the choice, where they differ.
type Assembly struct {
	Time    float64           `json:"time"`
	Changes map[string]string `json:"changes"`
}

// Tried is a solver that marple assemble has run, at one point. Numbers are means over ranks and runs.
type Tried struct {
	Family         string             `json:"family"`
	Implementation string             `json:"implementation"`
	Options        string             `json:"options,omitempty"` // that choose it
	Types          string             `json:"types,omitempty"`   // what PETSc said that it was
	At             map[string]float64 `json:"at,omitempty"`      // the point
	Runs           int                `json:"runs"`              // that it was measured in
	Time           float64            `json:"time"`
	Error          float64            `json:"standard_error,omitempty"` // of the time, over several runs
	Solves         float64            `json:"solves"`
	Iterations     float64            `json:"iterations"` // of a solve
	Phases         []TriedPhase       `json:"phases,omitempty"`
	Why            string             `json:"left_out,omitempty"`
}

// TriedPhase is the part of it below one row of stages and other regions, from the outermost on; "" is none.
type TriedPhase struct {
	Name   string  `json:"name"`
	Time   float64 `json:"time"`
	Solves float64 `json:"solves"`
}

// Value is a quality of an assembly.
type Value struct {
	Quality string  `json:"quality"`
	Value   float64 `json:"value"`
}

// MeasuredQuality is a quality that invocations of an implementation have reported: the mean, which counts, the
// standard deviation from one invocation to the next, and the extremes.
type MeasuredQuality struct {
	Implementation string  `json:"implementation"` // family.implementation
	Quality        string  `json:"quality"`
	N              int     `json:"n"` // invocations
	Mean           float64 `json:"mean"`
	Deviation      float64 `json:"deviation"`
	Min            float64 `json:"min"`
	Max            float64 `json:"max"`
}

// Front is the assemblies that no other beats both in time and in a quality, the fastest first.
type Front struct {
	Quality  string       `json:"quality"`
	Points   []FrontPoint `json:"points"`
	Complete bool         `json:"complete"`
}

// FrontPoint is an assembly of a front.
type FrontPoint struct {
	Value float64 `json:"value"`
	Assembly
}

// Range is a parameter of which only the bounds are known. It has one value during the whole run, as the size
// of a static mesh has, and every value between the bounds is as likely as any other.
type Range struct {
	Parameter string  `json:"parameter"`
	From      float64 `json:"from"`
	To        float64 `json:"to"`
}

// RangePart is a part of a range, and how the best assembly differs there.
type RangePart struct {
	From    float64           `json:"from"`
	To      float64           `json:"to"`
	Changes map[string]string `json:"changes"`
}

// Spread is the distribution of the best assembly's time, and how sure the choice is.
type Spread struct {
	Deviation float64 `json:"deviation"`
	Mode      float64 `json:"most_probable"`
	Low       float64 `json:"low"` // 90 % of the distribution is between these
	High      float64 `json:"high"`
	// Best is the probability that no other assembly's expected time is less, over the models' errors; -1: the
	// models say nothing of their errors.
	Best       float64 `json:"probability_best"`
	BestError  float64 `json:"probability_error"` // standard error of it
	Draws      int     `json:"draws"`
	WithNoise  bool    `json:"with_deviations"` // the models say something of deviations
	WithErrors bool    `json:"with_errors"`
}

// SearchMethod is how the best assembly was found.
type SearchMethod struct {
	Tabulated  bool    `json:"tabulated"` // by variable elimination; false: by branch and bound
	Width      int     `json:"width"`     // of the elimination; 1 for a tree
	Assemblies float64 `json:"assemblies"`
	Core       float64 `json:"core_assemblies"` // of them, those that differ in what pruning keeps
	Space      string  `json:"space"`           // both as powers: 3^12 → 3^7
	Steps      int     `json:"steps"`           // of branch and bound
}

// Title is what it is a model of.
func (m CostModel) Title() string {
	if m.Method == "" {
		return m.Implementation
	}
	return m.Implementation + " " + m.Method
}

// Text is the model on one line.
func (m CostModel) Text() string {
	text := m.Expression + " " + m.Unit
	if m.Share > 0 {
		text += " in " + words.Percent(m.Share) + " of the invocations"
	}
	if m.Samples > 0 {
		text += fmt.Sprintf(" (%s, %s, error %.2g %%)", m.Family, words.Count(uint64(m.Points), "point", "points"), m.CVError)
	}
	return text
}
