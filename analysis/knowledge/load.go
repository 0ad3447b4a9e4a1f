package knowledge

import (
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// Load finds knowledge by the name of a model or composition. Errors are Problems, or say that there is none.
func (l Library) Load(name string) (*Knowledge, error) {
	return l.load(name, 0)
}

// maxNested is how many files may build on each other.
const maxNested = 8

func (l Library) load(name string, depth int) (*Knowledge, error) {
	if depth > maxNested {
		return nil, fmt.Errorf("%s: more than %d files build on each other; one of them on itself?", name, maxNested)
	}
	if !l.has(name) {
		if m := l.thaw(name); m != nil {
			return Alone(m), nil
		}
	}
	file, data, err := l.source(name)
	if err != nil {
		return nil, err
	}
	return l.read(file, data, depth)
}

// Read reads a file of knowledge of any kind. Errors are Problems.
func (l Library) Read(file string, data []byte) (*Knowledge, error) { return l.read(file, data, 0) }

func (l Library) read(file string, data []byte, depth int) (*Knowledge, error) {
	r := &reader{file: file, m: &Model{File: file}}
	body := r.parse(data)
	if body == nil {
		return nil, sorted(r.problems)
	}
	switch kind := firstKey(body); kind {
	case "model":
		r.model(body)
		if len(r.problems) > 0 {
			return nil, sorted(r.problems)
		}
		return Alone(r.m), nil
	case "extends":
		return l.extend(r, body, depth)
	case "composition":
		return l.compose(r, body, depth)
	default:
		r.fail(place(body), "a file of knowledge begins with  model: NAME,  composition: NAME  or  extends: MODEL, not with %q", kind)
		return nil, sorted(r.problems)
	}
}

func firstKey(body ast.Node) string {
	var pair *ast.MappingValueNode
	switch v := body.(type) {
	case *ast.MappingNode:
		if len(v.Values) > 0 {
			pair = v.Values[0]
		}
	case *ast.MappingValueNode:
		pair = v
	}
	if pair == nil {
		return ""
	}
	return pair.Key.GetToken().Value
}

// extend reads a file that fits a model to a program: what belongs to its components, which ranks have its
// roles, other thresholds.
func (l Library) extend(r *reader, body ast.Node, depth int) (*Knowledge, error) {
	var base *Knowledge
	var own Model
	r.fields(body, "extension", map[string]field{
		"extends": func(_, value ast.Node) {
			var err error
			if base, err = l.load(r.text(value, "extends"), depth+1); err != nil {
				r.fail(place(value), "extends: %v", err)
			}
		},
		"model": r.into(&own.Name, "model"),
		"title": r.into(&own.Title, "title"),
		"about": r.into(&own.About, "about"),
		"match": func(_, value ast.Node) {
			var first []ComponentRef
			r.adapt(base, value, "match", func(s *Scope, name string, at Position, value ast.Node) {
				r.adaptMatch(s.Model, name, at, value)
				if len(base.Sorted) > 0 && s.Parent == nil {
					first = append(first, ComponentRef{s, name})
				}
			})
			if len(r.problems) == 0 && len(first) > 0 {
				base.sort(first)
			}
		},
		"roles":      func(_, value ast.Node) { r.adapt(base, value, "roles", r.adaptRole) },
		"thresholds": func(_, value ast.Node) { r.adapt(base, value, "thresholds", r.adaptThreshold) },
	})
	if len(r.problems) > 0 {
		return nil, sorted(r.problems)
	}
	base.File = r.file
	if own.Name != "" {
		base.Name = own.Name
	}
	if own.Title != "" {
		base.Title = own.Title
	}
	return base, nil
}

// adapt reads changes to the elements of the models of a piece of knowledge, called NAME or SCOPE.NAME.
func (r *reader) adapt(k *Knowledge, n ast.Node, what string, change func(s *Scope, name string, at Position, value ast.Node)) {
	if k == nil {
		return
	}
	for _, pair := range r.pairs(n, what) {
		full := pair.Key.GetToken().Value
		name, scope := full, k.Scopes[0].Name
		if i := strings.LastIndex(full, "."); i >= 0 {
			scope, name = full[:i], full[i+1:]
		}
		if s := k.Scope(scope); s == nil {
			var known []string
			for _, s := range k.Scopes {
				known = append(known, s.Name)
			}
			r.fail(place(pair.Key), "%s: %s", what, unknown("model", scope, known))
		} else {
			change(s, name, place(pair.Key), pair.Value)
		}
	}
}

func (r *reader) adaptMatch(m *Model, name string, at Position, value ast.Node) {
	c := m.Component(name)
	if c == nil {
		r.fail(at, "match: %s", unknown("component", name, names(m.Components)))
		return
	}
	c.Match = r.match(value, "component "+name)
	for _, one := range c.Match {
		for _, role := range []string{one.Role, one.Peer} {
			if role != "" && m.Role(role) == nil {
				r.fail(one.Position, "component %s: %s", name, unknown("role", role, names(m.Roles)))
			}
		}
	}
}

func (r *reader) adaptRole(s *Scope, name string, at Position, value ast.Node) {
	m := s.Model
	x := m.Role(name)
	if x == nil {
		r.fail(at, "roles: %s", unknown("role", name, names(m.Roles)))
		return
	}
	x.Structure, x.Ranks = "", nil
	r.ranks(x, value)
}

func (r *reader) adaptThreshold(s *Scope, name string, at Position, value ast.Node) {
	m := s.Model
	if m.Threshold(name) == nil {
		r.fail(at, "thresholds: %s", unknown("threshold", name, names(m.Thresholds)))
		return
	}
	if err := m.Set(name, r.text(value, "thresholds")); err != nil {
		r.fail(place(value), "%v", err)
	}
}
