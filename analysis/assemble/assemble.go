// Package assemble finds the best assembly of components: which assemblies have to run so that every implementation
// has been measured, what their records say, and what is best then. It runs nothing itself.
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

	"marple/analysis/selection"
)

// Trial is a run of an assembly.
type Trial struct {
	Name  string          `json:"name"`
	Taken selection.Taken `json:"taken"`
	// What became of it: "" if it has not run.
	State string `json:"state,omitempty"`
	Why   string `json:"why,omitempty"` // it failed
	Ns    int64  `json:"elapsed_ns,omitempty"`
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
func Trials(families []*selection.Family, given selection.Taken) []*Trial {
	list := []*Trial{{Name: First, Taken: given}}
	todo := map[string][]string{}
	for _, f := range families {
		todo[f.Name] = slices.DeleteFunc(f.Unmeasured(), func(name string) bool { return name == given[f.Name] })
	}
	for n := 1; ; n++ {
		t, any := &Trial{Name: fmt.Sprintf("other%d", n), Taken: maps.Clone(given)}, false
		for _, f := range families {
			if rest := todo[f.Name]; len(rest) > 0 {
				t.Taken[f.Name], todo[f.Name], any = rest[0], rest[1:], true
			}
		}
		if !any {
			return list
		}
		list = append(list, t)
	}
}

// Apart are the trials of what is new in one that has failed, one implementation at a time; none if it is only one.
func (t *Trial) Apart(given selection.Taken) (list []*Trial) {
	for _, family := range t.New(given) {
		one := &Trial{Name: t.Name + "-" + family, Taken: maps.Clone(given)}
		one.Taken[family] = t.Taken[family]
		list = append(list, one)
	}
	if len(list) < 2 {
		return nil
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
