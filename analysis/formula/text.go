package formula

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// SyntaxError says where in a text an expression went wrong. Columns count characters from 1.
type SyntaxError struct {
	Column  int
	Message string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("column %d: %s", e.Column, e.Message) }

// Parse reads an expression as people write it:
//
//	-963 + 0.315*Q        n^2 * log2(n)        if(n < 4096, 2*n, 8192 + 5*(n - 4096))
//
// Operators, loosest first: or; and; < <= > >= == !=; + -; * /; unary -; ^ (from the right; ** is the same).
// Functions: exp, log and ln (natural), log2, log10, sqrt, abs, floor, ceil, min, max, if(condition, then,
// else). A parameter is a word (letters, digits, "_", ".", ":"), or anything in `backquotes`. Errors are
// *SyntaxError.
func Parse(text string) (*Expr, error) {
	p := &parser{text: text}
	if len(text) > MaxText {
		return nil, p.fail("longer than %d bytes", MaxText)
	}
	if err := p.next(); err != nil {
		return nil, err
	}
	e, err := p.binary(levelOr)
	if err != nil {
		return nil, err
	}
	if p.token.kind != end {
		return nil, p.fail("expected an operator or the end, found %q", p.token.text)
	}
	return e, nil
}

type kind int

const (
	end kind = iota
	number
	word
	symbol
)

type token struct {
	kind   kind
	text   string
	quoted bool // a word in backquotes, which is always a parameter
}

type parser struct {
	text  string
	start int // of the current token
	after int // its end
	depth int
	token token
}

func (p *parser) fail(format string, arguments ...any) error {
	return &SyntaxError{utf8.RuneCountInString(p.text[:p.start]) + 1, fmt.Sprintf(format, arguments...)}
}

// next reads a token.
func (p *parser) next() error {
	rest := strings.TrimLeftFunc(p.text[p.after:], unicode.IsSpace)
	p.start = len(p.text) - len(rest)
	take := func(k kind, size int) {
		p.token = token{kind: k, text: rest[:size]}
		p.after = p.start + size
	}
	if rest == "" {
		p.token, p.after = token{text: "the end"}, p.start
		return nil
	}
	first, size := utf8.DecodeRuneInString(rest)
	switch {
	case first >= '0' && first <= '9' || first == '.':
		take(number, numberLength(rest))
	case isWordStart(first):
		take(word, wordLength(rest))
	case first == '`':
		close := strings.IndexByte(rest[1:], '`')
		if close < 0 {
			return p.fail("the backquote is never closed")
		}
		take(word, close+2)
		p.token = token{word, rest[1 : 1+close], true}
		if err := checkName(p.token.text); err != nil {
			return p.fail("%v", err)
		}
	case strings.Contains("+-*/^()<>=!,", string(first)) && first != utf8.RuneError:
		if len(rest) > 1 && strings.Contains(" <= >= == != ** ", " "+rest[:2]+" ") {
			size = 2
		}
		take(symbol, size)
		if p.token.text == "**" {
			p.token.text = "^"
		}
	default:
		return p.fail("unexpected %q", first)
	}
	if p.token.kind == word && len(p.token.text) > MaxName {
		return p.fail("a name longer than %d bytes", MaxName)
	}
	return nil
}

// checkName says whether a name, of whatever origin, can be a parameter's.
func checkName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("a parameter without a name")
	case len(name) > MaxName:
		return fmt.Errorf("a name longer than %d bytes", MaxName)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return r == '`' || unicode.IsControl(r) }):
		return fmt.Errorf("%q cannot be a parameter's name", name)
	}
	return nil
}

func isWordStart(r rune) bool { return r == '_' || unicode.IsLetter(r) }

func wordLength(s string) int {
	n := strings.IndexFunc(s, func(r rune) bool {
		return !(isWordStart(r) || unicode.IsDigit(r) || r == '.' || r == ':')
	})
	if n < 0 {
		return len(s)
	}
	return n
}

// numberLength is the length of the longest prefix that looks like a number: 12, 1.5, .5, 2e-3.
func numberLength(s string) int {
	digits := func(i int) int {
		for i < len(s) && s[i] >= '0' && s[i] <= '9' {
			i++
		}
		return i
	}
	n := digits(0)
	if n < len(s) && s[n] == '.' {
		n = digits(n + 1)
	}
	if n < len(s) && (s[n] == 'e' || s[n] == 'E') {
		i := n + 1
		if i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		if j := digits(i); j > i {
			n = j
		}
	}
	return n
}

// infix is the operator at the current token, and nil if there is none.
func (p *parser) infix() *operation {
	if p.token.kind == symbol || p.token.kind == word && !p.token.quoted {
		return operator(p.token.text)
	}
	return nil
}

// binary reads operators of a level and tighter ones, from the left.
func (p *parser) binary(level int) (*Expr, error) {
	if level == levelNegate {
		return p.unary()
	}
	left, err := p.binary(level + 1)
	for err == nil {
		o := p.infix()
		if o == opNegate && level == levelAdd {
			o = opAdd
		} else if o == nil || o.level != level {
			break
		}
		minus := p.token.text == "-"
		var right *Expr
		if err = p.next(); err == nil {
			right, err = p.binary(level + 1)
		}
		if err == nil && minus {
			right, err = p.make(opNegate, right)
		}
		if err == nil {
			left, err = p.make(o, left, right)
		}
	}
	return left, err
}

// make is operation.make with the place of an error.
func (p *parser) make(o *operation, args ...*Expr) (*Expr, error) {
	e, err := o.make(args...)
	if err != nil {
		return nil, p.fail("%v", err)
	}
	return e, nil
}

// unary reads what stands between binary operators. All nesting of the parser goes through here.
func (p *parser) unary() (*Expr, error) {
	if p.depth++; p.depth > MaxDepth {
		return nil, p.fail("nested deeper than %d", MaxDepth)
	}
	defer func() { p.depth-- }()
	if p.infix() == opNegate {
		if err := p.next(); err != nil {
			return nil, err
		}
		e, err := p.unary()
		if err != nil {
			return nil, err
		}
		return p.make(opNegate, e)
	}
	base, err := p.atom()
	if err != nil || p.infix() != opPower {
		return base, err
	}
	if err := p.next(); err != nil {
		return nil, err
	}
	exponent, err := p.unary()
	if err != nil {
		return nil, err
	}
	return p.make(opPower, base, exponent)
}

func (p *parser) atom() (*Expr, error) {
	t := p.token
	switch {
	case t.kind == number:
		v, err := strconv.ParseFloat(t.text, 64)
		if err != nil {
			return nil, p.fail("%s is no number that can be computed with", t.text)
		}
		return newNumber(v), p.next()
	case t.kind == word && (t.quoted || operator(t.text) == nil):
		start := p.start
		if err := p.next(); err != nil {
			return nil, err
		}
		if p.token.text == "(" && !t.quoted {
			return p.call(t.text, start)
		}
		return newParameter(t.text), nil
	case t.text == "(" && t.kind == symbol:
		if err := p.next(); err != nil {
			return nil, err
		}
		e, err := p.binary(levelOr)
		if err != nil {
			return nil, err
		}
		return e, p.expect(")")
	}
	return nil, p.fail("expected a number, a parameter, a function or \"(\", found %q", t.text)
}

// call reads the arguments of a function whose name stands at start; the current token is its "(".
func (p *parser) call(name string, start int) (*Expr, error) {
	if name == "ln" {
		name = opLog.name
	}
	o := function(name)
	if o == nil {
		p.start = start
		return nil, p.fail("no function %q; there are %s", name, strings.Join(functions(), ", "))
	}
	var args []*Expr
	for separator := "("; len(args) == 0 || p.token.text == ","; separator = "," {
		if err := p.expect(separator); err != nil {
			return nil, err
		}
		a, err := p.binary(levelOr)
		if err != nil {
			return nil, err
		}
		args = append(args, a)
	}
	e, err := p.make(o, args...)
	if err != nil {
		return nil, err
	}
	return e, p.expect(")")
}

func (p *parser) expect(text string) error {
	if p.token.kind != symbol || p.token.text != text {
		return p.fail("expected %q, found %q", text, p.token.text)
	}
	return p.next()
}

func functions() []string {
	var names []string
	for _, o := range operations {
		if o.name != "" {
			names = append(names, o.name)
		}
	}
	return names
}

// String writes the expression so that Parse reads it as the same one.
func (e *Expr) String() string {
	var b strings.Builder
	e.write(&b)
	return b.String()
}

// Quote writes a parameter's name as it must stand in an expression.
func Quote(name string) string {
	first, _ := utf8.DecodeRuneInString(name)
	if isWordStart(first) && wordLength(name) == len(name) && operator(name) == nil {
		return name
	}
	return "`" + name + "`"
}

// level is how tightly the expression holds together when it is written.
func (e *Expr) level() int {
	switch {
	case e.isNumber() && math.Signbit(e.value):
		return levelNegate
	case e.operation == nil || e.operation.symbol == "":
		return levelAtom
	}
	return e.operation.level
}

func (e *Expr) write(b *strings.Builder) {
	o := e.operation
	switch {
	case e.name != "":
		b.WriteString(Quote(e.name))
	case o == nil:
		b.WriteString(strconv.FormatFloat(e.value, 'g', -1, 64))
	case o.symbol == "":
		for i, a := range e.args {
			b.WriteString([]string{o.name + "(", ", "}[min(i, 1)])
			a.write(b)
		}
		b.WriteString(")")
	case o == opNegate:
		b.WriteString("-")
		e.args[0].writeAt(b, levelNegate)
	case o == opPower:
		e.args[0].writeAt(b, levelAtom)
		b.WriteString("^")
		e.args[1].writeAt(b, levelNegate)
	default:
		e.args[0].writeAt(b, o.level)
		for _, a := range e.args[1:] {
			if negative := a.negated(); o == opAdd && negative != nil {
				b.WriteString(" - ")
				negative.writeAt(b, o.level+1)
				continue
			}
			if o.level == levelMultiply {
				b.WriteString(o.symbol)
			} else {
				b.WriteString(" " + o.symbol + " ")
			}
			a.writeAt(b, o.level+1)
		}
	}
}

// writeAt writes the expression in parentheses where it would not hold together without.
func (e *Expr) writeAt(b *strings.Builder, level int) {
	if e.level() >= level {
		e.write(b)
		return
	}
	b.WriteString("(")
	e.write(b)
	b.WriteString(")")
}

// negated is what to write after a minus in the place of a term, nil if the term has no minus of its own.
func (e *Expr) negated() *Expr {
	switch {
	case e.isNumber() && math.Signbit(e.value):
		return newNumber(-e.value)
	case e.operation == opNegate:
		return e.args[0]
	case e.operation == opMultiply && e.args[0].isNumber() && math.Signbit(e.args[0].value):
		positive := *e
		positive.args = append([]*Expr{newNumber(-e.args[0].value)}, e.args[1:]...)
		return &positive
	}
	return nil
}

// MarshalText and UnmarshalText make an expression a string in JSON.
func (e *Expr) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// UnmarshalText reads what MarshalText has written, or a person.
func (e *Expr) UnmarshalText(text []byte) error {
	parsed, err := Parse(string(text))
	if err == nil {
		*e = *parsed
	}
	return err
}
