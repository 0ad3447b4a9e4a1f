// Package tauprofile reads and writes the profiles of TAU: a file profile.N.C.T per node, context and thread, in a
// directory MULTI__METRIC per metric where there are several. The format is the one that TAU's own library
// writes and that pprof, ParaProf and hatchet read.
//
// It may use run, profile, callgraph, event and stat; it holds no state.
//
// Invariant: a run that is written can be read again, and is the same in all that a profile can say of it. Files
// of any content are read or refused, with file and line; no name breaks a file.
package tauprofile

import "strings"

// File is one profile: what a thread spent of one metric. Values of times are microseconds.
type File struct {
	Metric   string // "TIME"; empty where the file does not say
	Metadata []Attribute
	Timers   []Timer // the outermost first, for readers that take it for the root
	Events   []Event
}

// Attribute is a piece of metadata.
type Attribute struct{ Name, Value string }

// Timer is a row: a function or a call path, which has more than one step.
type Timer struct {
	Path                                     []Step
	Calls, Subroutines, Exclusive, Inclusive float64
	Groups                                   []string
}

// Step is a function of a call path, with a place in the source if that is known. A place without a line is no
// source file: an address, or a module.
type Step struct {
	Name, File string
	Line       int
}

// Event is the statistics of an atomic event. SumSquares is that of the values.
type Event struct {
	Name                          string
	N, Max, Min, Mean, SumSquares float64
}

// Attributes with a meaning of their own.
const (
	metricName     = "Metric Name" // first in every file: readers take the first value for the metric
	escapedNames   = "Marple Names"
	escapedPercent = "percent-encoded"
)

// value of an attribute; "" if there is none.
func (f *File) value(name string) string {
	for _, a := range f.Metadata {
		if a.Name == name {
			return a.Value
		}
	}
	return ""
}

// callPath is the group of rows that are call paths.
const callPath = "TAU_CALLPATH"

// isMPI tells an MPI function by its name as TAU writes it, and gives the name that the standard has for it.
func isMPI(name string) (string, bool) {
	name = strings.TrimSuffix(strings.TrimSpace(name), "()")
	name = strings.TrimPrefix(name, "P")
	rest, ok := strings.CutPrefix(name, "MPI_")
	if !ok || rest == "" || rest[0] < 'A' || rest[0] > 'Z' || strings.ContainsAny(rest, " :(<") {
		return "", false
	}
	return name, true
}
