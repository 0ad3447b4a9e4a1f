package knowledge

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"marple/analysis/pattern"
)

// Knowledge is what a diagnosis works with: a model by itself, or a composition of several, each in its place.
type Knowledge struct {
	Name, Title, About, File string
	// Scopes are the models; those a scope is nested in or refers to come before it.
	Scopes []*Scope
	// Waits say where delays show.
	Waits []*Wait
	// Host is the model whose tree the others joined; Event is the order in which components of models that run
	// interleaved follow each other, and Switches are the pairs where it goes from one model to another.
	Host     *Scope
	Event    *pattern.Expr
	Switches [][2]string
	// Sorted are components of models that run interleaved, told apart: what several of them fit belongs to the first.
	Sorted []ComponentRef
	// Links are the lines from a fact that is a deputy to those it stands for, and to composite facts.
	Links []Link
	Notes []Problem
}

// Link joins two facts across models.
type Link struct {
	From, To Ref
	Kind     string // delegated or composite
}

// Scope is a model in its place.
type Scope struct {
	Name  string // of the scope; "" for a model by itself
	Model *Model
	// Parent and Into: the model describes what happens inside a component of another.
	Parent *Scope
	Into   string
	// Gates are facts of other scopes, one of which must hold before this model's own first rules apply.
	Gates []Ref
	// Same are facts that are one with a fact of another scope, which decides about them.
	Same map[string]Ref
	// Outside are the scopes that this one may refer to as NAME.SOMETHING.
	Outside map[string]*Scope
}

// Ref is a fact of a scope.
type Ref struct {
	Scope *Scope
	Fact  FactName
}

// ComponentRef is a component of a scope.
type ComponentRef struct {
	Scope *Scope
	Name  string
}

func (c ComponentRef) String() string {
	if c.Scope.Name == "" {
		return c.Name
	}
	return c.Scope.Name + "." + c.Name
}

// Wait is a component in which ranks wait, and the components that delay them there, of one model or several.
type Wait struct {
	At     ComponentRef
	Causes []ComponentRef
}

// Alone is a model by itself.
func Alone(m *Model) *Knowledge {
	s := &Scope{Model: m}
	return &Knowledge{Name: m.Name, Title: m.Title, About: m.About, File: m.File, Notes: m.Notes, Scopes: []*Scope{s}, Waits: s.waits()}
}

// sort puts components before those that were sorted until now, and takes what the earlier ones fit from the later.
// Components that fit the same are shared, and a part may have what the whole has.
func (k *Knowledge) sort(first []ComponentRef) {
	rest := slices.DeleteFunc(slices.Clone(k.Sorted), func(c ComponentRef) bool { return slices.Contains(first, c) })
	k.Sorted = append(first, rest...)
	for i, c := range k.Sorted {
		part := c.part()
		part.Unless = nil
		for _, earlier := range k.Sorted[:i] {
			if earlier.Scope.Model == c.Scope.Model && (earlier.within(c) || c.within(earlier)) {
				continue
			}
			for _, one := range earlier.part().Match {
				if !slices.ContainsFunc(part.Match, func(own *Condition) bool { return same(own, one) }) {
					part.Unless = append(part.Unless, one)
				}
			}
		}
	}
}

// Others are the components that work for other models than this one, where the two are told apart.
func (k *Knowledge) Others(s *Scope) (list []ComponentRef) {
	if !slices.ContainsFunc(k.Sorted, func(c ComponentRef) bool { return c.Scope == s }) {
		return nil
	}
	for _, c := range k.Sorted {
		works := slices.ContainsFunc(c.Scope.Model.Delays, func(d *Delay) bool { return slices.Contains(d.CausedBy, c.Name) })
		shared := slices.ContainsFunc(s.Model.Components, func(p *Part) bool { return slices.Equal(p.Match, c.part().Match) })
		if works && !shared {
			list = append(list, c)
		}
	}
	return list
}

func (c ComponentRef) part() *Part { return c.Scope.Model.Component(c.Name) }

// within tells whether a component is another one of its model, or part of it.
func (c ComponentRef) within(other ComponentRef) bool {
	for name := c.Name; name != ""; name = c.Scope.Model.Component(name).Within {
		if name == other.Name {
			return true
		}
	}
	return false
}

// waits are those of a model's own delays.
func (s *Scope) waits() (list []*Wait) {
	for _, d := range s.Model.Delays {
		for _, at := range d.ShowsIn {
			i := slices.IndexFunc(list, func(w *Wait) bool { return w.At.Name == at })
			if i < 0 {
				i = len(list)
				list = append(list, &Wait{At: ComponentRef{s, at}})
			}
			for _, cause := range d.CausedBy {
				add(&list[i].Causes, ComponentRef{s, cause})
			}
		}
	}
	return list
}

// Scope finds a scope by name.
func (k *Knowledge) Scope(name string) *Scope {
	for _, s := range k.Scopes {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// Full is a fact's name in the whole knowledge.
func (s *Scope) Full(f FactName) string {
	if s.Name == "" {
		return f.String()
	}
	return s.Name + "." + f.String()
}

// Split finds the scope that a full name SCOPE.NAME belongs to, and the name in it. A name without scope belongs to
// the composition itself, or else to the first model.
func (k *Knowledge) Split(full string) (*Scope, string) {
	base, argument, called := strings.Cut(full, "(")
	if i := strings.LastIndex(base, "."); i >= 0 {
		rest := base[i+1:]
		if called {
			rest += "(" + argument
		}
		return k.Scope(base[:i]), rest
	}
	if s := k.Scope(""); s != nil {
		return s, full
	}
	return k.Scopes[0], full
}

// Set changes a threshold, called [SCOPE.]NAME. Without a scope it is changed in every model that has it.
func (k *Knowledge) Set(full, value string) error {
	if strings.Contains(full, ".") {
		s, name := k.Split(full)
		if s == nil {
			return fmt.Errorf("no model called %s", full[:strings.LastIndex(full, ".")])
		}
		return s.Model.Set(name, value)
	}
	found := false
	var known []string
	for _, s := range k.Scopes {
		known = append(known, names(s.Model.Thresholds)...)
		if s.Model.Threshold(full) == nil {
			continue
		}
		found = true
		if err := s.Model.Set(full, value); err != nil {
			return err
		}
	}
	if !found {
		return errors.New(unknown("threshold", full, known))
	}
	return nil
}

// Apart gives the models of a composition by themselves.
func (k *Knowledge) Apart() (list []*Knowledge) {
	seen := map[string]bool{}
	for _, s := range k.Scopes {
		if !seen[s.Model.Name] && len(s.Model.Components) > 0 {
			seen[s.Model.Name] = true
			list = append(list, Alone(s.Model))
		}
	}
	return list
}
