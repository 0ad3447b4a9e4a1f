package formula

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Namespace of MathML.
const Namespace = "http://www.w3.org/1998/Math/MathML"

// Definition is an expression and what it is called; the name may be empty.
type Definition struct {
	Name string
	Expr *Expr
}

// WriteMathML writes definitions as MathML content markup: name = expression, one below the other.
func WriteMathML(definitions ...Definition) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "<math xmlns=%q>\n", Namespace)
	for _, d := range definitions {
		if d.Name == "" {
			d.Expr.writeXML(&b, 1)
			continue
		}
		b.WriteString(" <apply><eq/>\n  " + leaf("ci", d.Name) + "\n")
		d.Expr.writeXML(&b, 2)
		b.WriteString(" </apply>\n")
	}
	b.WriteString("</math>\n")
	return b.Bytes()
}

func leaf(element, text string) string {
	var b strings.Builder
	xml.EscapeText(&b, []byte(text)) // a strings.Builder takes everything
	return fmt.Sprintf("<%s>%s</%s>", element, b.String(), element)
}

func (e *Expr) writeXML(b *bytes.Buffer, indent int) {
	line := func(text string) { b.WriteString(strings.Repeat(" ", indent) + text + "\n") }
	switch o := e.operation; {
	case e.name != "":
		line(leaf("ci", e.name))
	case o == nil:
		line(leaf("cn", strconv.FormatFloat(e.value, 'g', -1, 64)))
	case o == opIf:
		line("<piecewise>")
		for ; e.operation == opIf; e = e.args[2] {
			line(" <piece>")
			e.args[1].writeXML(b, indent+2)
			e.args[0].writeXML(b, indent+2)
			line(" </piece>")
		}
		line(" <otherwise>")
		e.writeXML(b, indent+2)
		line(" </otherwise>")
		line("</piecewise>")
	default:
		head := "<" + o.element + "/>"
		switch o {
		case opLog2:
			head = "<log/><logbase><cn>2</cn></logbase>"
		case opLog10:
			head = "<log/>"
		}
		line("<apply>" + head)
		for _, a := range e.args {
			a.writeXML(b, indent+1)
		}
		line("</apply>")
	}
}

// ReadMathML reads MathML content markup: one expression, or definitions of the form name = expression (the
// left side may be a function, name(parameter); a lambda stands for its body). Numbers, parameters, the
// operations of Parse, root and log of any degree and base, piecewise, pi and exponentiale are understood;
// anything else is an error that says line and column.
func ReadMathML(data []byte) ([]Definition, error) {
	if len(data) > MaxText {
		return nil, fmt.Errorf("longer than %d bytes", MaxText)
	}
	r := &reader{d: xml.NewDecoder(bytes.NewReader(data))}
	root, err := r.start()
	switch {
	case err != nil:
		return nil, r.place(err)
	case root == nil || root.Name.Local != "math":
		return nil, r.place(errors.New("expected <math>"))
	}
	var list []Definition
	for {
		e, err := r.start()
		if err != nil {
			return nil, r.place(err)
		}
		if e == nil {
			break
		}
		d, err := r.definition(*e)
		if err != nil {
			return nil, r.place(err)
		}
		list = append(list, d)
	}
	if len(list) == 0 {
		return nil, r.place(errors.New("no expression in <math>"))
	}
	if extra, err := r.start(); err != io.EOF || extra != nil {
		return nil, r.place(errors.New("something follows </math>"))
	}
	return list, nil
}

type reader struct {
	d     *xml.Decoder
	depth int
	nodes int
}

func (r *reader) place(err error) error {
	var known *placed
	if errors.As(err, &known) {
		return err
	}
	var syntax *xml.SyntaxError
	if errors.As(err, &syntax) {
		err = errors.New(syntax.Msg)
	}
	if err == io.EOF {
		err = errors.New("the text ends too early")
	}
	line, column := r.d.InputPos()
	return &placed{line, column, err}
}

// placed is an error with its place in the text.
type placed struct {
	line, column int
	err          error
}

func (e *placed) Error() string { return fmt.Sprintf("%d:%d: %v", e.line, e.column, e.err) }

// start gives the next element's start; nil at the end of the element around it.
func (r *reader) start() (*xml.StartElement, error) {
	for {
		t, err := r.d.Token()
		if err != nil {
			return nil, err
		}
		switch t := t.(type) {
		case xml.StartElement:
			if t.Name.Space != "" && t.Name.Space != Namespace {
				return nil, fmt.Errorf("<%s> of %s: expected MathML", t.Name.Local, t.Name.Space)
			}
			if r.nodes++; r.nodes > 2*MaxNodes {
				return nil, fmt.Errorf("more than %d elements", 2*MaxNodes)
			}
			return &t, nil
		case xml.EndElement:
			return nil, nil
		case xml.CharData:
			if text := strings.TrimSpace(string(t)); text != "" {
				return nil, fmt.Errorf("%.40q: expected an element", text)
			}
		}
	}
}

// definition reads a child of <math>.
func (r *reader) definition(s xml.StartElement) (Definition, error) {
	if s.Name.Local != "apply" {
		e, err := r.expression(s)
		return Definition{Expr: e}, err
	}
	head, err := r.start()
	if err != nil || head == nil {
		return Definition{}, errors.Join(err, emptyApply(head))
	}
	if head.Name.Local != "eq" {
		e, err := r.application(*head)
		return Definition{Expr: e}, err
	}
	if err := r.d.Skip(); err != nil {
		return Definition{}, err
	}
	name, err := r.definedName()
	if err != nil {
		return Definition{}, err
	}
	args, err := r.all()
	if err != nil {
		return Definition{}, err
	}
	if len(args) != 1 {
		return Definition{}, fmt.Errorf("%s = ...: expected one expression on the right side", name)
	}
	return Definition{name, args[0]}, nil
}

func emptyApply(head *xml.StartElement) error {
	if head == nil {
		return errors.New("<apply> without an operation")
	}
	return nil
}

// definedName reads the left side of a definition: <ci> name, or its application to parameters.
func (r *reader) definedName() (string, error) {
	s, err := r.start()
	if err != nil {
		return "", err
	}
	if s != nil && s.Name.Local == "apply" {
		name, err := r.definedName()
		if err == nil {
			_, err = r.all()
		}
		return name, err
	}
	if s == nil || s.Name.Local != "ci" {
		return "", errors.New("expected <ci> with the name of what is defined")
	}
	return r.name()
}

func (r *reader) name() (string, error) {
	parts, err := r.text()
	if err != nil {
		return "", err
	}
	name := strings.TrimSpace(strings.Join(parts, ""))
	return name, checkName(name)
}

// text reads the inside of <ci> or <cn>: parts with <sep/> between them.
func (r *reader) text() ([]string, error) {
	parts := []string{""}
	for {
		t, err := r.d.Token()
		if err != nil {
			return nil, err
		}
		switch t := t.(type) {
		case xml.CharData:
			last := &parts[len(parts)-1]
			if *last += string(t); len(*last) > 8*MaxName {
				return nil, fmt.Errorf("a name or number longer than %d bytes", 8*MaxName)
			}
		case xml.StartElement:
			if t.Name.Local != "sep" {
				return nil, fmt.Errorf("<%s>: expected text", t.Name.Local)
			}
			if err := r.d.Skip(); err != nil {
				return nil, err
			}
			parts = append(parts, "")
		case xml.EndElement:
			return parts, nil
		}
	}
}

// all reads expressions up to the end of the element around them.
func (r *reader) all() ([]*Expr, error) {
	var list []*Expr
	for {
		s, err := r.start()
		if err != nil || s == nil {
			return list, err
		}
		e, err := r.expression(*s)
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
}

// only reads the single expression in an element.
func (r *reader) only(element string) (*Expr, error) {
	list, err := r.all()
	if err != nil {
		return nil, err
	}
	if len(list) != 1 {
		return nil, fmt.Errorf("<%s>: expected one expression, found %d", element, len(list))
	}
	return list[0], nil
}

var constants = map[string]float64{"pi": 3.141592653589793, "exponentiale": 2.718281828459045, "true": 1, "false": 0}

func (r *reader) expression(s xml.StartElement) (*Expr, error) {
	if r.depth++; r.depth > MaxDepth {
		return nil, fmt.Errorf("nested deeper than %d", MaxDepth)
	}
	defer func() { r.depth-- }()
	switch name := s.Name.Local; name {
	case "ci":
		text, err := r.name()
		return newParameter(text), err
	case "cn":
		return r.number(s)
	case "apply":
		head, err := r.start()
		if err != nil || head == nil {
			return nil, errors.Join(err, emptyApply(head))
		}
		return r.application(*head)
	case "piecewise":
		return r.piecewise()
	case "semantics":
		return r.first(func(string) bool { return true })
	case "lambda":
		return r.first(func(element string) bool { return element != "bvar" })
	default:
		if v, ok := constants[name]; ok {
			return newNumber(v), r.d.Skip()
		}
		return nil, fmt.Errorf("<%s> is not understood: expected ci, cn, apply, piecewise, lambda or semantics", name)
	}
}

// first reads the first wanted child of an element and skips the others.
func (r *reader) first(wanted func(element string) bool) (*Expr, error) {
	var e *Expr
	for {
		s, err := r.start()
		switch {
		case err != nil:
			return nil, err
		case s == nil && e == nil:
			return nil, errors.New("no expression inside")
		case s == nil:
			return e, nil
		case e == nil && wanted(s.Name.Local):
			e, err = r.expression(*s)
		default:
			err = r.d.Skip()
		}
		if err != nil {
			return nil, err
		}
	}
}

// number reads <cn>.
func (r *reader) number(s xml.StartElement) (*Expr, error) {
	form := "real"
	for _, a := range s.Attr {
		switch {
		case a.Name.Local == "type":
			form = a.Value
		case a.Name.Local == "base" && a.Value != "10":
			return nil, fmt.Errorf("<cn>: base %s: expected 10", a.Value)
		}
	}
	parts, err := r.text()
	if err != nil {
		return nil, err
	}
	wanted := 1
	if form == "e-notation" || form == "rational" {
		wanted = 2
	}
	if len(parts) != wanted {
		return nil, fmt.Errorf("<cn type=%q>: expected %d numbers, found %d", form, wanted, len(parts))
	}
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	switch form {
	case "real", "integer", "double":
		return decimal(parts[0])
	case "e-notation":
		return decimal(parts[0] + "e" + parts[1])
	case "rational":
		above, err := decimal(parts[0])
		if err != nil {
			return nil, err
		}
		below, err := decimal(parts[1])
		if err != nil {
			return nil, err
		}
		return opDivide.make(above, below)
	}
	return nil, fmt.Errorf("<cn type=%q>: expected real, integer, double, e-notation or rational", form)
}

// decimal reads a number as it stands in an expression, with a sign.
func decimal(text string) (*Expr, error) {
	unsigned := strings.TrimLeft(text, "+-")
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || len(text)-len(unsigned) > 1 || numberLength(unsigned) != len(unsigned) {
		return nil, fmt.Errorf("<cn>: %.40q is no number that can be computed with", text)
	}
	return newNumber(v), nil
}

// piecewise reads pieces (value, then condition) into nested ifs. Where no piece holds and there is no
// otherwise, the value is not a number.
func (r *reader) piecewise() (*Expr, error) {
	var pieces [][]*Expr
	var otherwise *Expr
	for {
		s, err := r.start()
		if err != nil {
			return nil, err
		}
		if s == nil {
			break
		}
		switch s.Name.Local {
		case "piece":
			both, err := r.all()
			if err != nil {
				return nil, err
			}
			if len(both) != 2 {
				return nil, fmt.Errorf("<piece>: expected a value and a condition, found %d", len(both))
			}
			pieces = append(pieces, both)
		case "otherwise":
			if otherwise, err = r.only("otherwise"); err != nil {
				return nil, err
			}
		default:
			return nil, fmt.Errorf("<%s>: expected piece or otherwise", s.Name.Local)
		}
	}
	e := otherwise
	if e == nil {
		e, _ = opDivide.make(newNumber(0), newNumber(0))
	}
	var err error
	for i := len(pieces) - 1; i >= 0 && err == nil; i-- {
		e, err = opIf.make(pieces[i][1], pieces[i][0], e)
	}
	return e, err
}

// application reads the rest of an <apply> whose first child has begun.
func (r *reader) application(head xml.StartElement) (*Expr, error) {
	name := head.Name.Local
	if err := r.d.Skip(); err != nil {
		return nil, err
	}
	var args []*Expr
	qualifiers := map[string]*Expr{}
	for {
		s, err := r.start()
		if err != nil {
			return nil, err
		}
		if s == nil {
			break
		}
		var e *Expr
		switch q := s.Name.Local; q {
		case "logbase", "degree":
			e, err = r.only(q)
			qualifiers[q] = e
		default:
			e, err = r.expression(*s)
			args = append(args, e)
		}
		if err != nil {
			return nil, err
		}
	}
	switch {
	case name == "log":
		return logarithm(args, qualifiers["logbase"])
	case name == "root" && qualifiers["degree"] != nil:
		return root(args, qualifiers["degree"])
	case name == "minus" && len(args) == 2:
		negative, err := opNegate.make(args[1])
		if err != nil {
			return nil, err
		}
		return opAdd.make(args[0], negative)
	}
	o := element(name)
	switch {
	case o == nil:
		return nil, fmt.Errorf("<%s> is no operation that is understood; there are %s", name, strings.Join(elements(), ", "))
	case o.least == 2 && o.most == 0 && len(args) == 1:
		return args[0], nil // a sum of one
	case o.level == levelCompare && len(args) > 2: // a < b < c
		return chain(o, args)
	}
	return o.make(args...)
}

func chain(o *operation, args []*Expr) (*Expr, error) {
	var links []*Expr
	for i := range args[1:] {
		link, err := o.make(args[i], args[i+1])
		if err != nil {
			return nil, err
		}
		links = append(links, link)
	}
	return opAnd.make(links...)
}

func logarithm(args []*Expr, base *Expr) (*Expr, error) {
	switch {
	case base == nil || base.isNumber() && base.value == 10:
		return opLog10.make(args...)
	case base.isNumber() && base.value == 2:
		return opLog2.make(args...)
	}
	above, err := opLog.make(args...)
	if err != nil {
		return nil, err
	}
	below, err := opLog.make(base)
	if err != nil {
		return nil, err
	}
	return opDivide.make(above, below)
}

func root(args []*Expr, degree *Expr) (*Expr, error) {
	if degree.isNumber() && degree.value == 2 {
		return opSqrt.make(args...)
	}
	exponent, err := opDivide.make(newNumber(1), degree)
	if err != nil {
		return nil, err
	}
	return opPower.make(append(args, exponent)...)
}

func elements() []string {
	names := []string{"log"}
	for _, o := range operations {
		if o.element != "" {
			names = append(names, o.element)
		}
	}
	return names
}
