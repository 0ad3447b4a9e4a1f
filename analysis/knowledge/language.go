package knowledge

import (
	"slices"
	"strings"
)

// Described is a function of the expression language, for people.
type Described struct {
	Name      string   `json:"name"`
	Arguments []string `json:"arguments"` // what each is; in brackets: may be left out, …: may be repeated
	Gives     string   `json:"gives"`
	About     string   `json:"about"`
	Needs     []string `json:"needs"` // measurements of a run
}

// Language describes every function of the expression language, in the order of their names.
func Language() (list []Described) {
	for _, name := range Functions() {
		f := functions[name]
		x := Described{Name: name, Arguments: []string{}, Gives: f.gives(), About: f.about, Needs: slices.Concat([]string{}, f.needs)}
		for i, k := range f.args {
			text := k.String()
			if i >= len(f.args)-f.optional {
				text = "[" + text + "]"
			}
			x.Arguments = append(x.Arguments, text)
		}
		if f.more {
			x.Arguments = append(x.Arguments, "…")
		}
		if f.filters {
			x.Arguments = append(x.Arguments, "[role, class or event]…")
		}
		list = append(list, x)
	}
	return list
}

// gives is the type of a function's value: one, or that of its arguments.
func (f function) gives() string {
	var types []string
	for _, d := range []Dimension{plain, seconds, bytes} {
		args := make([]Type, len(f.args))
		for i, k := range f.args {
			if args[i] = (Type{k, d}); k == Any {
				args[i].Kind = Vector
			}
		}
		if t, err := f.result(args); err == nil && !slices.Contains(types, t.String()) {
			types = append(types, t.String())
		}
	}
	switch len(types) {
	case 0: // arguments of several units
		t, _ := f.result([]Type{{Number, seconds}, {Number, seconds}, {Number, plain}, {Number, seconds}}[:len(f.args)])
		return t.String()
	case 1:
		return types[0]
	}
	kind, _, _ := strings.Cut(types[0], " in ")
	return kind + " in the unit of the arguments"
}
