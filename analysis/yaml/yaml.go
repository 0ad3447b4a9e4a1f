// Package yaml parses YAML of any origin: what nests deeper than anybody writes by hand is refused before it is parsed,
// because the parser takes the square of the depth in time, and more in memory.
//
// It may use goccy/go-yaml, whose nodes it gives; it holds no state.
package yaml

import (
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// MaxDepth bounds how deep lists and mappings may be nested.
const MaxDepth = 100

// Error says where a text is no YAML that can be read, and why. Line and column count from 1; 0: not known.
type Error struct {
	Line, Column int
	Message      string
}

func (e *Error) Error() string { return fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.Message) }

// Parse parses a text of any size that its reader has bounded. Errors are *Error.
func Parse(data []byte) (tree *ast.File, err error) {
	defer func() {
		if problem := recover(); problem != nil { // neither is ours
			tree, err = nil, &Error{Message: "not valid YAML"}
		}
	}()
	tokens := lexer.Tokenize(string(data))
	if err := shallow(tokens); err != nil {
		return nil, err
	}
	if tree, err = parser.Parse(tokens, 0); err != nil {
		return nil, located(err)
	}
	return tree, nil
}

// Unmarshal stores a text in a structure that has a place for each of its keys. Errors are *Error.
func Unmarshal(data []byte, to any) error {
	if _, err := Parse(data); err != nil {
		return err
	}
	if err := yaml.UnmarshalWithOptions(data, to, yaml.Strict()); err != nil {
		return located(err)
	}
	return nil
}

// shallow looks at the indentation of blocks, at brackets, and at what can stand before a value in a row.
func shallow(tokens token.Tokens) error {
	var indents []int // columns of what blocks hang below
	brackets, row, line := 0, 0, 0
	for _, t := range tokens {
		before := false
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			brackets++
		case token.SequenceEndType, token.MappingEndType:
			brackets = max(brackets-1, 0)
		case token.MappingKeyType, token.TagType, token.AnchorType:
			before = true
		}
		if row++; !before {
			row = 0
		}
		if brackets == 0 && t.Type != token.CommentType && (t.Position.Line != line || t.Type == token.SequenceEntryType) {
			for len(indents) > 0 && indents[len(indents)-1] >= t.Position.Column {
				indents = indents[:len(indents)-1]
			}
			indents = append(indents, t.Position.Column)
		}
		line = t.Position.Line
		if len(indents)+brackets+row > MaxDepth {
			return &Error{line, t.Position.Column, fmt.Sprintf("nested deeper than %d", MaxDepth)}
		}
	}
	return nil
}

// located takes the parser's "[line:column] message", with an excerpt below, apart.
func located(err error) *Error {
	e := &Error{}
	e.Message, _, _ = strings.Cut(err.Error(), "\n")
	if n, _ := fmt.Sscanf(e.Message, "[%d:%d]", &e.Line, &e.Column); n == 2 {
		_, e.Message, _ = strings.Cut(e.Message, "] ")
	}
	return e
}
