package model

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"marple/analysis/files"
	"marple/analysis/formula"
)

//go:embed schema.json
var schemaJSON []byte

// SchemaJSON is the JSON Schema of model files and of `marple fit --format json`.
func SchemaJSON() []byte { return schemaJSON }

// MaxDocument is how large a model file may be, and MaxModels how many models it may hold.
const (
	MaxDocument = 64 << 20
	MaxModels   = 100_000
)

// Names of the two formulas in a MathML file.
const (
	meanName      = "mean"
	deviationName = "deviation"
)

// IsMathML tells whether a file is to be read and written as MathML, by its name.
func IsMathML(path string) bool {
	ext := strings.ToLower(filepath.Ext(path))
	return ext == ".mml" || ext == ".mathml" || ext == ".xml"
}

// Read reads a model file: JSON, or MathML if it begins with "<". Errors say what is wrong and where.
func Read(path string) (*Document, error) {
	file, err := files.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, MaxDocument+1))
	if err != nil {
		return nil, err
	}
	if len(data) > MaxDocument {
		return nil, fmt.Errorf("%s: larger than %d bytes", path, MaxDocument)
	}
	d, err := Decode(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return d, nil
}

// Decode reads a model file's content: a document, a single model, or MathML.
func Decode(data []byte) (*Document, error) {
	text := bytes.TrimLeft(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), " \t\r\n")
	if len(text) > 0 && text[0] == '<' {
		m, err := decodeMathML(data)
		if err != nil {
			return nil, err
		}
		return &Document{Schema, []*Model{m}}, m.check()
	}
	d := json.NewDecoder(bytes.NewReader(data))
	var raw struct {
		Schema *int              `json:"schema"`
		Models []json.RawMessage `json:"models"`
	}
	if err := d.Decode(&raw); err != nil {
		return nil, jsonError(data, err)
	}
	if raw.Models == nil { // a model by itself
		raw.Models = []json.RawMessage{data}
	} else if raw.Schema != nil && *raw.Schema != Schema {
		return nil, &files.Unfit{What: "a file of models", Version: *raw.Schema, Reads: Schema}
	}
	if len(raw.Models) > MaxModels {
		return nil, fmt.Errorf("%d models: at most %d", len(raw.Models), MaxModels)
	}
	doc := &Document{Schema: Schema, Models: []*Model{}}
	for i, one := range raw.Models {
		m := &Model{}
		if err := json.Unmarshal(one, m); err != nil {
			return nil, fmt.Errorf("model %d: %w", i+1, jsonError(one, err))
		}
		if err := m.check(); err != nil {
			return nil, fmt.Errorf("model %d: %w", i+1, err)
		}
		doc.Models = append(doc.Models, m)
	}
	return doc, nil
}

// jsonError adds line and column to an error of the JSON decoder.
func jsonError(data []byte, err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return errors.New("not a model file: the text ends too early")
	}
	return files.JSONError(data, -1, err)
}

// UnmarshalJSON adds the name of the field to mistakes in formulas, which the decoder leaves out.
func (m *Model) UnmarshalJSON(data []byte) error {
	type plain Model // without this method
	err := json.Unmarshal(data, (*plain)(m))
	var wrong *formula.SyntaxError
	if !errors.As(err, &wrong) {
		return err
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(data, &fields) != nil {
		return err
	}
	for _, name := range []string{"expression", "form", "deviation", "runner_up"} {
		var text string
		var inner struct{ Expression string }
		if json.Unmarshal(fields[name], &text) != nil && json.Unmarshal(fields[name], &inner) == nil {
			text = inner.Expression
		}
		if _, bad := formula.Parse(text); text != "" && bad != nil {
			return fmt.Errorf("%s: %w", name, bad)
		}
	}
	return err
}

// check says what is wrong with a model that was read, and fills in what follows from the rest.
func (m *Model) check() error {
	if m.Expression == nil {
		if m.Family == None {
			return nil
		}
		return errors.New("no expression")
	}
	if m.Family == "" {
		m.Family = Given
	}
	machine := func(name string) bool { _, ok := m.Machine[name]; return ok }
	for name, v := range m.Machine {
		if !finite(v) {
			return fmt.Errorf("machine parameter %s is %v", name, v)
		}
	}
	names := m.Expression.Parameters()
	if e := m.deviation(); e != nil {
		names = append(names, e.Parameters()...)
	} else if m.Deviation != nil {
		return errors.New("deviation without an expression")
	}
	for _, name := range names {
		if slices.Contains(m.Parameters, name) || machine(name) {
			continue
		}
		m.Parameters = append(m.Parameters, name)
	}
	if len(m.Covariance) == 0 {
		return nil
	}
	order := coefficientNames(m.Coefficients)
	if m.Form == nil || len(m.Covariance) != len(order) || len(order) > mostColumns {
		return errors.New("covariance without a form, or not of its coefficients")
	}
	for _, row := range m.Covariance {
		if len(row) != len(order) || slices.ContainsFunc(row, func(v float64) bool { return !finite(v) }) {
			return errors.New("covariance is no square matrix of numbers")
		}
	}
	for _, name := range m.Form.Parameters() {
		if !slices.Contains(order, name) && !slices.Contains(m.Parameters, name) && !machine(name) {
			return fmt.Errorf("form: %s is neither parameter nor coefficient", name)
		}
	}
	if !(m.Confidence > 0 && m.Confidence < 1) || !(m.Freedom > 0) || math.IsInf(m.Freedom, 0) {
		return errors.New("covariance without confidence between 0 and 1 and degrees of freedom")
	}
	return nil
}

// UnmarshalJSON reads a deviation as it is written, or as a formula by itself.
func (d *Deviation) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		d.Family, d.Expression = Given, &formula.Expr{}
		return json.Unmarshal(data, d.Expression)
	}
	type plain Deviation // without this method
	return json.Unmarshal(data, (*plain)(d))
}

// decodeMathML reads mean and deviation from MathML: definitions of these names, or one expression for the mean.
func decodeMathML(data []byte) (*Model, error) {
	list, err := formula.ReadMathML(data)
	if err != nil {
		return nil, err
	}
	m := &Model{}
	for i, d := range list {
		switch {
		case d.Name == deviationName && m.Deviation == nil:
			m.Deviation = &Deviation{Family: Given, Expression: d.Expr}
		case m.Expression == nil && (d.Name == meanName || d.Name == "" || i == 0):
			m.Expression = d.Expr
			if d.Name != meanName {
				m.Response = d.Name
			}
		default:
			return nil, fmt.Errorf("expected one expression, or one each for %s and %s; found another, %q", meanName, deviationName, d.Name)
		}
	}
	if m.Expression == nil {
		return nil, fmt.Errorf("no expression for %s", meanName)
	}
	return m, nil
}

// Encode gives the content of a model file in JSON.
func (d *Document) Encode() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	err := e.Encode(d)
	return b.Bytes(), err
}

// MathML gives a model's formulas in MathML, which has no place for anything else.
func (m *Model) MathML() ([]byte, error) {
	if m.Expression == nil {
		return nil, fmt.Errorf("no model to write: %s", m.Reason)
	}
	list := []formula.Definition{{Name: meanName, Expr: m.Expression}}
	if e := m.deviation(); e != nil {
		list = append(list, formula.Definition{Name: deviationName, Expr: e})
	}
	return formula.WriteMathML(list...), nil
}
