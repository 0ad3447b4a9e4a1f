// Package pattern is the language of abstract events: expressions over the components of a computational
// model, in the order in which a rank goes through them, and the machine that fits a stream of events into
// them (Li and Malony, section 3.1).
//
//	a b     a, then b
//	a | b   one of them
//	a & b   both, interleaved in any way
//	a*      any number of times
//	a+      at least once
//	a?      once or not at all
//
// Postfix operators bind closest, then sequence, then &, then |. Components of other models are written
// model.component.
//
// It uses the standard library only and holds no state.
//
// Invariant: whatever the expression, the machine's size is bounded, and it looks at each event once.
package pattern

import (
	"fmt"
	"strings"
)

// Operator of an Expr.
type Operator uint8

const (
	Component  Operator = iota
	Sequence            // two or more
	Choice              // two or more
	Concurrent          // two or more
	Repeat              // any number of times
	Several             // at least once
	Optional
)

// Expr is an abstract event. At is where it begins in the text, in bytes.
type Expr struct {
	Operator Operator
	Name     string // Component
	Args     []*Expr
	At       int
}

// Error says what is wrong at a byte of the text.
type Error struct {
	At      int
	Message string
}

func (e *Error) Error() string { return e.Message }

const (
	maxText   = 1 << 14
	maxDepth  = 64
	maxLeaves = 256
)

// Parse reads an expression. Errors are of type *Error.
func Parse(text string) (*Expr, error) {
	p := &parser{text: text}
	if len(text) > maxText {
		return nil, &Error{0, fmt.Sprintf("longer than %d bytes", maxText)}
	}
	e := p.choice()
	p.space()
	if p.err == nil && p.at < len(p.text) {
		p.fail("expected a component, an operator or the end, not %q", p.text[p.at:p.at+1])
	}
	if p.err != nil {
		return nil, p.err
	}
	return e, nil
}

type parser struct {
	text          string
	at            int
	depth, leaves int
	err           error
}

func (p *parser) fail(format string, arguments ...any) *Expr {
	if p.err == nil {
		p.err = &Error{p.at, fmt.Sprintf(format, arguments...)}
		p.at = len(p.text)
	}
	return &Expr{}
}

func (p *parser) space() {
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.at]) >= 0 {
		p.at++
	}
}

// next is the next byte that is no space, 0 at the end.
func (p *parser) next() byte {
	if p.space(); p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

func (p *parser) list(operator Operator, separator byte, part func() *Expr) *Expr {
	first := part()
	args := []*Expr{first}
	for p.next() == separator {
		p.at++
		args = append(args, part())
	}
	if len(args) == 1 {
		return first
	}
	return &Expr{Operator: operator, Args: args, At: first.At}
}

func (p *parser) choice() *Expr     { return p.list(Choice, '|', p.concurrent) }
func (p *parser) concurrent() *Expr { return p.list(Concurrent, '&', p.sequence) }

func (p *parser) sequence() *Expr {
	first := p.repeated()
	args := []*Expr{first}
	for c := p.next(); c == '(' || isName(c); c = p.next() {
		args = append(args, p.repeated())
	}
	if len(args) == 1 {
		return first
	}
	return &Expr{Operator: Sequence, Args: args, At: first.At}
}

func (p *parser) repeated() *Expr {
	e := p.atom()
	operator := p.postfix()
	if operator == Component {
		return e
	}
	p.at++
	if p.postfix() != Component {
		return p.fail("%q follows another repetition; use parentheses, or one of the two", p.text[p.at:p.at+1])
	}
	return &Expr{Operator: operator, Args: []*Expr{e}, At: e.At}
}

func (p *parser) postfix() Operator {
	switch p.next() {
	case '*':
		return Repeat
	case '+':
		return Several
	case '?':
		return Optional
	}
	return Component
}

func (p *parser) atom() *Expr {
	c := p.next()
	switch {
	case c == '(':
		if p.depth++; p.depth > maxDepth {
			return p.fail("more than %d parentheses inside each other", maxDepth)
		}
		open := p.at
		p.at++
		e := p.choice()
		if p.err == nil && p.next() != ')' {
			p.at = open
			return p.fail("this parenthesis is not closed")
		}
		p.at++
		p.depth--
		return e
	case isName(c):
		start := p.at
		for p.at < len(p.text) && (isName(p.text[p.at]) || p.text[p.at] == '.') {
			p.at++
		}
		if p.leaves++; p.leaves > maxLeaves {
			return p.fail("more than %d components", maxLeaves)
		}
		return &Expr{Name: p.text[start:p.at], At: start}
	case c == 0:
		return p.fail("expected a component or a parenthesis")
	}
	return p.fail("expected a component or a parenthesis, not %q", string(c))
}

func isName(c byte) bool { return c == '_' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' }

// Leaves are the occurrences of components, from left to right.
func (e *Expr) Leaves() []*Expr {
	if e.Operator == Component {
		return []*Expr{e}
	}
	var list []*Expr
	for _, a := range e.Args {
		list = append(list, a.Leaves()...)
	}
	return list
}

// Replace gives the expression with components replaced; replace returns nil for those that stay.
func (e *Expr) Replace(replace func(name string) *Expr) *Expr {
	if e.Operator == Component {
		if by := replace(e.Name); by != nil {
			return by
		}
		return e
	}
	out := &Expr{Operator: e.Operator, At: e.At}
	for _, a := range e.Args {
		out.Args = append(out.Args, a.Replace(replace))
	}
	return out
}

// Nullable tells whether the expression is fulfilled by no event at all.
func (e *Expr) Nullable() bool {
	switch e.Operator {
	case Component:
		return false
	case Repeat, Optional:
		return true
	case Choice:
		for _, a := range e.Args {
			if a.Nullable() {
				return true
			}
		}
		return false
	}
	for _, a := range e.Args {
		if !a.Nullable() {
			return false
		}
	}
	return true
}

var joints = [...]string{Sequence: " ", Choice: " | ", Concurrent: " & "}
var postfix = [...]string{Repeat: "*", Several: "+", Optional: "?"}

// binding is how closely an operator binds.
func (e *Expr) binding() int {
	switch e.Operator {
	case Choice:
		return 0
	case Concurrent:
		return 1
	case Sequence:
		return 2
	case Component:
		return 4
	}
	return 3
}

// String writes the expression with as few parentheses as possible.
func (e *Expr) String() string {
	inner := func(a *Expr, least int) string {
		if a.binding() < least {
			return "(" + a.String() + ")"
		}
		return a.String()
	}
	switch e.Operator {
	case Component:
		return e.Name
	case Repeat, Several, Optional:
		return inner(e.Args[0], 4) + postfix[e.Operator]
	}
	var parts []string
	for _, a := range e.Args {
		parts = append(parts, inner(a, e.binding()+1))
	}
	return strings.Join(parts, joints[e.Operator])
}
