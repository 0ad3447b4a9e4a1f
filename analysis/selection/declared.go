package selection

import (
	"fmt"

	"github.com/goccy/go-yaml/ast"
)

// declaration is what errors call a text that is in no file.
const declaration = "declared by the program"

// MaxDeclaration bounds one text that a program declares, in bytes; longer ones arrive cut off.
const MaxDeclaration = 1024

// PlanOf reads a file of families or, if there is none, what a program has declared.
func PlanOf(path string, declared []string) (*Plan, error) {
	if path == "" {
		return Declared(declared)
	}
	return ReadPlan(path)
}

// Declared makes a plan of what a program has declared of its components, each in the form of a file of families
// or of a part of one. What several components say is joined.
func Declared(texts []string) (*Plan, error) {
	f := file{declaration}
	var joined ast.Node
	for _, text := range texts {
		if len(text) >= MaxDeclaration {
			return nil, fmt.Errorf("%s: %.40q… is longer than %d bytes; it can be said in several parts", declaration, text, MaxDeclaration-1)
		}
		n, err := f.body([]byte(text))
		if err == nil && joined != nil && n != nil {
			n, err = f.join("", joined, n)
		}
		if err != nil {
			return nil, err
		}
		if n != nil {
			joined = n
		}
	}
	if joined == nil {
		return nil, f.fail(place{1, 1}, `expected "families:"`)
	}
	return f.plan(joined)
}

// join puts two nodes together: mappings key by key, lists one behind the other without repetitions. Other values
// have to be the same.
func (f file) join(what string, a, b ast.Node) (ast.Node, error) {
	if pairs, ok := mapping(a); ok {
		return f.joinMappings(what, pairs, a, b)
	}
	one, both := a.(*ast.SequenceNode)
	other, ok := b.(*ast.SequenceNode)
	if both && ok {
		list, there := *one, map[string]bool{}
		list.Values = nil
		for _, n := range append(append([]ast.Node{}, one.Values...), other.Values...) {
			if text := n.String(); !there[text] {
				there[text] = true
				list.Values = append(list.Values, n)
			}
		}
		return &list, nil
	}
	before, known := scalar(a)
	if now, ok := scalar(b); !ok || !known || now != before {
		return nil, f.fail(at(b), "%s: something else is declared of it already: %.40q", what, a.String())
	}
	return a, nil
}

func (f file) joinMappings(what string, pairs []*ast.MappingValueNode, a, b ast.Node) (ast.Node, error) {
	out := ast.Mapping(a.GetToken(), false, append([]*ast.MappingValueNode{}, pairs...)...)
	err := f.entries(b, what, func(key string, keyNode, value ast.Node) error {
		for i, pair := range out.Values {
			if known, _ := scalar(pair.Key); known != key {
				continue
			}
			joined, err := f.join(key, pair.Value, value)
			if err == nil {
				out.Values[i] = ast.MappingValue(pair.Start, pair.Key, joined)
			}
			return err
		}
		out.Values = append(out.Values, ast.MappingValue(keyNode.GetToken(), keyNode.(ast.MapKeyNode), value))
		return nil
	})
	return out, err
}
