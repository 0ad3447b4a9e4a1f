// Package assemble finds the best assembly of components, and the best solvers of a program with PETSc: what has to run so that
// every implementation has been measured, what the records say, and what is best then. It runs nothing itself.
//
// It may use selection and what that uses; it holds no state.
//
// Invariant: an implementation that is chosen has run without failure in an assembly, or has a time in the file of families.
package assemble

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"marple/analysis/selection"
)

// Trial is a run of an assembly, or of a program with solvers.
type Trial struct {
	Name  string          `json:"name"`
	Taken selection.Taken `json:"taken"`
	// Point and Repeat tell runs of the same apart: the point's number among those of a study, and which run it is there, from 0.
	Point  int       `json:"point,omitempty"`
	Repeat int       `json:"repeat,omitempty"`
	Began  time.Time `json:"began,omitzero"`
	// What became of it: "" if it has not run.
	State string `json:"state,omitempty"`
	Why   string `json:"why,omitempty"` // it failed
	// Blame is the family whose implementation has failed, where that is known.
	Blame string `json:"blame,omitempty"`
	Ns    int64  `json:"elapsed_ns,omitempty"`
}

// Candidates are implementations of a family that have to run, beside the one that is given.
type Candidates struct {
	Family string
	Others []string
}

// States of trials.
const (
	Done   = "done"
	Failed = "failed"
)

// First is the name of the assembly that was given.
const First = "first"

// Trials are those that measure every implementation: first the assembly that was given, then others in which as
// many families as possible have one that no trial before has.
func Trials(families []Candidates, given selection.Taken) []*Trial {
	list := []*Trial{{Name: First, Taken: given}}
	for n := 0; ; n++ {
		t, any := &Trial{Name: fmt.Sprintf("other%d", n+1), Taken: maps.Clone(given)}, false
		for _, f := range families {
			if n < len(f.Others) {
				t.Taken[f.Family], any = f.Others[n], true
			}
		}
		if !any {
			return list
		}
		list = append(list, t)
	}
}

// Apart are the trials of what is new in one that has failed, one implementation at a time, but for the one that is to blame;
// none if it is only one.
func (t *Trial) Apart(given selection.Taken) (list []*Trial) {
	families := t.New(given)
	if len(families) < 2 {
		return nil
	}
	for _, family := range families {
		if family == t.Blame {
			continue
		}
		one := &Trial{Name: t.Name + "-" + family, Taken: maps.Clone(given), Point: t.Point, Repeat: t.Repeat}
		one.Taken[family] = t.Taken[family]
		list = append(list, one)
	}
	return list
}

// New are the families of which the trial has another implementation than the assembly that was given.
func (t *Trial) New(given selection.Taken) (families []string) {
	for family, name := range t.Taken {
		if given[family] != name {
			families = append(families, family)
		}
	}
	slices.Sort(families)
	return families
}

// Text names what is new in it.
func (t *Trial) Text(given selection.Taken) string {
	var list []string
	for _, family := range t.New(given) {
		list = append(list, family+": "+t.Taken[family])
	}
	if list == nil {
		return "the assembly as it is"
	}
	return strings.Join(list, ", ")
}
