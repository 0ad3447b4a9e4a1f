package selection

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"marple/analysis/formula"
	"marple/analysis/yaml"
)

// MaxFile bounds a file of families.
const MaxFile = 1 << 20

// place is where something stands in the file.
type place struct{ line, column int }

// file reads YAML with errors that begin with file:line:column.
type file struct{ path string }

func (f file) fail(p place, format string, arguments ...any) error {
	return fmt.Errorf("%s:%d:%d: %s", f.path, p.line, p.column, fmt.Sprintf(format, arguments...))
}

func at(n ast.Node) place {
	if pairs, ok := mapping(n); ok && len(pairs) > 0 {
		n = pairs[0].Key
	}
	p := n.GetToken().Position
	return place{p.Line, p.Column}
}

// body parses a file with one document and gives its root; nil if there is nothing in it.
func (f file) body(data []byte) (ast.Node, error) {
	if len(data) > MaxFile {
		return nil, fmt.Errorf("%s: larger than %d bytes", f.path, MaxFile)
	}
	tree, err := yaml.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s:%w", f.path, err)
	}
	var root ast.Node
	for _, d := range tree.Docs {
		switch d.Body.(type) {
		case nil, *ast.CommentGroupNode:
			continue
		}
		if root != nil {
			return nil, f.fail(at(d.Body), "expected one document only")
		}
		root = d.Body
	}
	return root, nil
}

// mapping gives the pairs of a mapping, which stands for itself if it is only one.
func mapping(n ast.Node) ([]*ast.MappingValueNode, bool) {
	switch m := n.(type) {
	case *ast.MappingNode:
		return m.Values, true
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{m}, true
	}
	return nil, false
}

// reader stores what a node says, or tells what is wrong with it.
type reader func(n ast.Node) error

// field is a key of a mapping that means something.
type field struct {
	key  string
	read reader
}

// object reads a mapping whose keys are known. Keys that must be there are named.
func (f file) object(n ast.Node, what string, fields []field, must ...string) error {
	var seen, known []string
	for _, k := range fields {
		known = append(known, k.key)
	}
	err := f.entries(n, what, func(key string, keyNode, value ast.Node) error {
		i := slices.Index(known, key)
		if i < 0 {
			return f.fail(at(keyNode), "%s: unknown key %q; expected one of %s", what, key, strings.Join(known, ", "))
		}
		seen = append(seen, key)
		return fields[i].read(value)
	})
	if err != nil {
		return err
	}
	for _, key := range must {
		if !slices.Contains(seen, key) {
			return f.fail(at(n), "%s: %q is missing", what, key)
		}
	}
	return nil
}

// entries reads a mapping whose keys are names.
func (f file) entries(n ast.Node, what string, entry func(key string, keyNode, value ast.Node) error) error {
	pairs, ok := mapping(n)
	if !ok {
		return f.fail(at(n), "%s: expected lines of the form  key: value", what)
	}
	for _, pair := range pairs {
		key, ok := scalar(pair.Key)
		if !ok || key == "" {
			return f.fail(at(pair.Key), "%s: expected a name", what)
		}
		if err := entry(key, pair.Key, pair.Value); err != nil {
			return err
		}
	}
	return nil
}

// list reads a sequence.
func (f file) list(what string, read reader) reader {
	return func(n ast.Node) error {
		s, ok := n.(*ast.SequenceNode)
		if !ok {
			return f.fail(at(n), "%s: expected a list", what)
		}
		for _, v := range s.Values {
			if err := read(v); err != nil {
				return err
			}
		}
		return nil
	}
}

// scalar gives a value as it is written.
func scalar(n ast.Node) (string, bool) {
	switch v := n.(type) {
	case *ast.StringNode:
		return v.Value, true
	case *ast.LiteralNode:
		return strings.TrimSpace(v.Value.Value), true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value, true
	}
	return "", false
}

func (f file) text(what string, to *string) reader {
	return func(n ast.Node) error {
		s, ok := scalar(n)
		if !ok || s == "" || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return f.fail(at(n), "%s: expected a text on one line", what)
		}
		*to = s
		return nil
	}
}

// word is a text without spaces, so that it can stand in a script.
func (f file) word(what string, to *string) reader {
	return func(n ast.Node) error {
		if err := f.text(what, to)(n); err != nil {
			return err
		}
		if strings.ContainsAny(*to, " \t") {
			return f.fail(at(n), "%s: %q: expected a word without spaces", what, *to)
		}
		return nil
	}
}

// most is a bound of numbers, so that sums of products of them stay finite.
const most = 1e60

func (f file) number(what string, to *float64) reader {
	return func(n ast.Node) error {
		s, _ := scalar(n)
		x, err := strconv.ParseFloat(s, 64)
		if err != nil || !(math.Abs(x) <= most) {
			return f.fail(at(n), "%s: %q: expected a number", what, s)
		}
		*to = x
		return nil
	}
}

func (f file) truth(what string, to *bool) reader {
	return func(n ast.Node) error {
		s, _ := scalar(n)
		switch s {
		case "yes", "true", "on":
			*to = true
		case "no", "false", "off":
			*to = false
		default:
			return f.fail(at(n), "%s: %q: expected yes or no", what, s)
		}
		return nil
	}
}

func (f file) expression(what string, to **formula.Expr) reader {
	return func(n ast.Node) error {
		s, ok := scalar(n)
		if !ok {
			return f.fail(at(n), "%s: expected an expression such as 2*n + 3", what)
		}
		e, err := formula.Parse(s)
		if err != nil {
			p := at(n)
			if syntax, ok := err.(*formula.SyntaxError); ok {
				err = fmt.Errorf("%s", syntax.Message)
				switch n.GetToken().Type {
				case token.SingleQuoteType, token.DoubleQuoteType:
					p.column += syntax.Column
				case token.StringType, token.IntegerType, token.FloatType:
					p.column += syntax.Column - 1
				}
			}
			return f.fail(p, "%s: %v", what, err)
		}
		*to = e
		return nil
	}
}
