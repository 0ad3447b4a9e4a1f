package graph

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"marple/analysis/run"
	"marple/analysis/tauprofile"
)

var errNoGraph = errors.New("the run has no call graph")

// Read takes a run directory, a run.json, a JSON call graph, or "-" for one from standard input. Errors begin
// with the path, and for JSON say file:line:column.
func Read(path string) (*Graph, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		r, err := tauprofile.Open(path)
		if err != nil {
			return nil, err
		}
		return named(path, r)
	}
	file := os.Stdin
	if path != "-" {
		var err error
		if file, err = os.Open(path); err != nil {
			return nil, err
		}
		defer file.Close()
	}
	data, err := io.ReadAll(io.LimitReader(file, run.MaxSize+1))
	if err != nil {
		return nil, err
	}
	if len(data) > run.MaxSize {
		return nil, fmt.Errorf("%s: larger than %d bytes", path, run.MaxSize)
	}
	if isRun(data) {
		r, err := run.Decode(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		return named(path, r)
	}
	root, err := Parse(path, data)
	if err != nil {
		return nil, err
	}
	return &Graph{Root: root}, nil
}

func named(path string, r *run.Run) (*Graph, error) {
	g, err := FromRun(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return g, nil
}

// isRun tells a run.json by its first member, which is the schema number.
func isRun(data []byte) bool {
	d := json.NewDecoder(bytes.NewReader(data))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return false
	}
	key, err := d.Token()
	return err == nil && key == "schema"
}

// Parse reads a call graph: nested objects with "name", "inclusive" and, if wanted, "component", "calls",
// "sizes" ([{"calls": 3, "at": {"n": 100}}]) and "children". Names are only used in errors.
//
// The tokens are the standard library's, because they know where they stand.
func Parse(file string, data []byte) (*Node, error) {
	r := &reader{file: file, data: data, d: json.NewDecoder(bytes.NewReader(data))}
	r.d.UseNumber()
	root, err := r.node(0)
	if err != nil {
		return nil, err
	}
	r.mark()
	if _, err := r.d.Token(); err != io.EOF {
		return nil, r.fail("expected nothing after the call graph")
	}
	return root, nil
}

type reader struct {
	file string
	data []byte
	d    *json.Decoder
	at   int // where the token begins that was read last, or will be read next
}

// mark sets the place of errors to the next token.
func (r *reader) mark() {
	r.at = int(r.d.InputOffset())
	for r.at < len(r.data) && bytes.IndexByte([]byte(" \t\r\n,:"), r.data[r.at]) >= 0 {
		r.at++
	}
}

func (r *reader) fail(format string, arguments ...any) error {
	before := r.data[:min(r.at, len(r.data))]
	line := bytes.Count(before, []byte("\n")) + 1
	column := len(before) - bytes.LastIndexByte(before, '\n')
	return fmt.Errorf("%s:%d:%d: %s", r.file, line, column, fmt.Sprintf(format, arguments...))
}

func (r *reader) token() (json.Token, error) {
	r.mark()
	t, err := r.d.Token()
	if err != nil {
		return nil, r.broken(err)
	}
	return t, nil
}

// decode reads a whole value.
func (r *reader) decode(to any) error {
	r.mark()
	err := r.d.Decode(to)
	var wrong *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wrong):
		return r.fail("expected a %v, not a %s", wrong.Type, wrong.Value)
	}
	return r.broken(err)
}

// broken is an error of JSON's own syntax, in the token or value that begins here.
func (r *reader) broken(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		r.at = len(r.data)
		return r.fail("not valid JSON: the file ends too early")
	}
	return r.fail("not valid JSON: %v", err)
}

const shape = `expected a call graph: {"name": …, "component": …, "inclusive": …, "children": […]}`

func (r *reader) node(depth int) (*Node, error) {
	if depth > MaxDepth {
		return nil, r.fail("nested deeper than %d", MaxDepth)
	}
	t, err := r.token()
	if err != nil {
		return nil, err
	}
	if t != json.Delim('{') {
		return nil, r.fail("%s", shape)
	}
	begin, n, seen := r.at, &Node{}, map[string]bool{}
	for r.d.More() {
		t, err := r.token()
		if err != nil {
			return nil, err
		}
		key, _ := t.(string)
		if seen[key] {
			return nil, r.fail("%q stands here twice", key)
		}
		seen[key] = true
		if err := r.member(n, key, depth); err != nil {
			return nil, err
		}
	}
	if _, err := r.token(); err != nil {
		return nil, err
	}
	for _, key := range []string{"name", "inclusive"} {
		if !seen[key] {
			r.at = begin
			return nil, r.fail("a node without %q; %s", key, shape)
		}
	}
	return n, nil
}

func (r *reader) member(n *Node, key string, depth int) (err error) {
	switch key {
	case "name":
		n.Name, err = r.text(key, false)
	case "component":
		if n.Component, err = r.text(key, true); n.Component == "" {
			n.Other = append(n.Other, Member{key, json.RawMessage(`null`)})
		}
	case "inclusive":
		n.Inclusive, err = r.number(key)
	case "calls":
		n.Calls, err = r.number(key)
	case "sizes":
		n.Sizes, err = r.sizes()
	case "children":
		err = r.list(key, func() error {
			child, err := r.node(depth + 1)
			n.Children = append(n.Children, child)
			return err
		})
	default:
		other := Member{Key: key}
		if err := r.decode(&other.Value); err != nil {
			return err
		}
		n.Other = append(n.Other, other)
	}
	return err
}

func (r *reader) text(key string, optional bool) (string, error) {
	t, err := r.token()
	if err != nil {
		return "", err
	}
	s, ok := t.(string)
	if !ok && !(optional && t == nil) {
		return "", r.fail("%q: expected a text", key)
	}
	return s, nil
}

func (r *reader) number(key string) (float64, error) {
	t, err := r.token()
	if err != nil {
		return 0, err
	}
	literal, ok := t.(json.Number)
	if !ok {
		return 0, r.fail("%q: expected a number", key)
	}
	x, err := literal.Float64()
	if err != nil || x < 0 || math.IsInf(x, 0) {
		return 0, r.fail("%q: %s: expected a number from 0 to %.0e", key, literal, math.MaxFloat64)
	}
	return x, nil
}

// list reads an array, or null for an empty one.
func (r *reader) list(key string, element func() error) error {
	t, err := r.token()
	switch {
	case err != nil:
		return err
	case t == nil:
		return nil
	case t != json.Delim('['):
		return r.fail("%q: expected a list", key)
	}
	for r.d.More() {
		if err := element(); err != nil {
			return err
		}
	}
	_, err = r.token()
	return err
}

func (r *reader) sizes() (list []Size, err error) {
	err = r.list("sizes", func() error {
		var s Size
		if err := r.decode(&s); err != nil {
			return err
		}
		if !(s.Calls > 0) || len(s.At) == 0 {
			return r.fail(`"sizes": expected {"calls": 3, "at": {"n": 100}}`)
		}
		list = append(list, s)
		return nil
	})
	return list, err
}
