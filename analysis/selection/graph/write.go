package graph

import (
	"bytes"
	"encoding/json"
	"strings"
)

// JSON writes a tree as Parse reads it. "children" is always there; "component", "calls" and "sizes" are where
// they are known.
func (n *Node) JSON() ([]byte, error) {
	w := &writer{}
	if err := w.node(n, ""); err != nil {
		return nil, err
	}
	w.WriteByte('\n')
	return w.Bytes(), nil
}

// mostIndent is where indentation stops helping a reader, and would only fill the disk.
const mostIndent = 100

type writer struct{ bytes.Buffer }

func (w *writer) node(n *Node, indent string) error {
	members := []struct {
		key   string
		value any
		there bool
	}{
		{"name", n.Name, true},
		{"component", n.Component, n.Component != ""},
		{"inclusive", n.Inclusive, true},
		{"calls", n.Calls, n.Calls > 0},
		{"sizes", n.Sizes, len(n.Sizes) > 0},
	}
	w.WriteString("{")
	for _, m := range members {
		if m.there {
			if err := w.member(m.key, m.value); err != nil {
				return err
			}
		}
	}
	for _, m := range n.Other {
		if err := w.member(m.Key, m.Value); err != nil {
			return err
		}
	}
	w.WriteString(`"children": [`)
	if len(indent) < mostIndent {
		indent += " "
	}
	for i, c := range n.Children {
		if i > 0 {
			w.WriteString(",")
		}
		w.WriteString("\n" + indent)
		if err := w.node(c, indent); err != nil {
			return err
		}
	}
	w.WriteString("]}")
	return nil
}

func (w *writer) member(key string, value any) error {
	name, err := encode(key)
	if err != nil {
		return err
	}
	text, err := encode(value)
	if err != nil {
		return err
	}
	w.WriteString(name + ": " + text + ", ")
	return nil
}

// encode gives one value on one line, with <, > and & as they are.
func encode(value any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(value)
	return strings.TrimSuffix(b.String(), "\n"), err
}
