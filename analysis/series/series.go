// Package series brings measurements into the one form that models are fitted to: values of a response at
// values of parameters, from CSV files, stored runs and records of invocations.
//
// It may use run, stat and words; it holds no state.
//
// Invariant: a sample is either in a series or counted in its LeftOut with the reason; nothing is corrected or
// made up.
package series

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// Series is one response measured at many values of its parameters.
type Series struct {
	Name       string // of what was measured: component and method, call path, MPI function
	Response   string // what was measured of it
	Unit       string // of the response; empty if not known
	Parameters []string
	X          [][]float64 // values of the parameters, by sample
	Y          []float64
	// Labels are properties of the samples that are no numbers, or not to be modelled: text columns, columns that
	// were not chosen as parameters. All have one value per sample.
	Labels map[string][]string
	// Place is the call path of each sample, empty if the series has one place only.
	Place   []string
	LeftOut []LeftOut
	// Machines are the properties of the machines that Labels[Machine] names; nil where there is one machine, or nothing is known.
	Machines map[string]map[string]float64
	Notes    []string
}

// Machine is the label that says on which machine a sample was measured.
const Machine = "machine"

// On gives a series the machines that its label names, all of which must be known.
func (s *Series) On(known map[string]map[string]float64) error {
	s.Machines = map[string]map[string]float64{}
	for _, name := range s.Labels[Machine] {
		if s.Machines[name] = known[name]; known[name] == nil {
			return fmt.Errorf("nothing is known of the machine %q; there are %s", name, strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		}
	}
	return nil
}

// Join puts series of several machines together, by what was measured and the parameters it was measured by. Where a
// call was made is not told apart.
func Join(from map[string][]*Series, known map[string]map[string]float64) (list []*Series, err error) {
	found := map[string]*Series{}
	for _, name := range slices.Sorted(maps.Keys(from)) {
		for _, s := range from[name] {
			key := fmt.Sprintf("%q", append([]string{s.Name, s.Response}, s.Parameters...))
			all := found[key]
			if all == nil {
				all = &Series{Name: s.Name, Response: s.Response, Unit: s.Unit, Parameters: s.Parameters, Labels: map[string][]string{}}
				found[key] = all
				list = append(list, all)
			}
			all.X, all.Y = append(all.X, s.X...), append(all.Y, s.Y...)
			all.Labels[Machine] = append(all.Labels[Machine], slices.Repeat([]string{name}, len(s.Y))...)
			for _, l := range s.LeftOut {
				for range l.Count {
					all.LeaveOut(l.Why, l.First)
				}
			}
		}
	}
	for _, s := range list {
		if err := s.On(known); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// LeftOut counts samples that could not be used.
type LeftOut struct {
	Why   string
	Count int
	First string // where the first of them is
}

// LeaveOut counts a sample that cannot be used; where is the place of the first.
func (s *Series) LeaveOut(why, where string) {
	for i := range s.LeftOut {
		if s.LeftOut[i].Why == why {
			s.LeftOut[i].Count++
			return
		}
	}
	s.LeftOut = append(s.LeftOut, LeftOut{why, 1, where})
}

// Bounds of what is read.
const (
	MaxSamples = 1 << 22
	MaxColumns = 256
	MaxSeries  = 100_000
)

// Choice says what of a source is to be modelled.
type Choice struct {
	Responses  []string // columns or quantities; empty: the source's usual one
	Parameters []string // empty: all that can be parameters
	By         []string // columns whose values make series of their own
	Negative   bool     // take negative responses too
}

// repetition tells columns that only number repeated measurements.
func repetition(name string) bool {
	return slices.Contains([]string{"rep", "repeat", "repetition", "run", "trial", "iteration", "iter", "sample", "seed"}, strings.ToLower(name))
}

// usable says why a sample cannot be used, and "" if it can.
func usable(x []float64, names []string, y float64, negative bool) string {
	for i, v := range x {
		if math.IsNaN(v) {
			return names[i] + " is missing or not a number"
		}
		if math.IsInf(v, 0) {
			return names[i] + " is infinite"
		}
	}
	switch {
	case math.IsNaN(y):
		return "the response is missing or not a number"
	case math.IsInf(y, 0):
		return "the response is infinite"
	case y < 0 && !negative:
		return "the response is negative, which no time or count is"
	}
	return ""
}

// unknown is the error for a name that is not among those there.
func unknown(what, name string, there []string) error {
	return fmt.Errorf("no %s %q; there are %s", what, name, strings.Join(there, ", "))
}
