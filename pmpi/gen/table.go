package main

import (
	"bufio"
	"fmt"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Function is one entry point, with the variants of the table written out.
type Function struct {
	Name   string
	Shape  string
	Params []string
	Bytes  map[string]string // by key: out, in, place, inplace: how many bytes a collective moves; waits, otf2, tau, since, op
	Unused []Unused          // arguments that a program may leave undefined
	row    string            // the name in the table
	Wide   bool              // a large-count binding
	Start  Start
	Line   int
}

// Unused are arguments that are ignored in some circumstance.
type Unused struct {
	Params []string
	When   string
}

// Start says when the operation begins and ends.
type Start int

const (
	Blocking   Start = iota // within the call
	Immediate               // begins here, completes elsewhere
	Persistent              // is prepared here
)

// Table is functions.txt.
type Table struct {
	Functions []Function
	Classes   map[string]map[string]string // by operation class: waits, pattern
	Left      []Left
}

// Left is a pattern of functions that are not intercepted, and why.
type Left struct{ Pattern, Reason string }

var row = regexp.MustCompile(`^(\w+)\s+(MPI_\w+)\(([^)]*)\)\s*(.*)$`)

// ReadTable parses a table; errors name file and line.
func ReadTable(file string) (*Table, error) {
	in, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	t := &Table{Classes: map[string]map[string]string{}}
	reason, when := "", ""
	lines := bufio.NewScanner(in)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimRight(lines.Text(), " ")
		switch {
		case line == "" || line[0] == '#':
		case strings.HasPrefix(line, "section "):
			reason, when = "", ""
		case strings.HasPrefix(line, "ignored "):
			reason = ""
			when, _, _ = strings.Cut(strings.TrimPrefix(line, "ignored "), " ")
		case line[0] == ' ' && when != "":
			if err := t.ignore(when, line); err != nil {
				return nil, fmt.Errorf("%s:%d: %v", file, n, err)
			}
		case strings.HasPrefix(line, "class "):
			if err := t.class(strings.Fields(line)); err != nil {
				return nil, fmt.Errorf("%s:%d: %v", file, n, err)
			}
		case strings.HasPrefix(line, "leave "):
			reason = strings.Trim(strings.TrimPrefix(line, "leave "), `"`)
		case line[0] == ' ' && reason != "":
			for _, pattern := range strings.Fields(line) {
				if _, err := path.Match(pattern, ""); err != nil {
					return nil, fmt.Errorf("%s:%d: bad pattern %q", file, n, pattern)
				}
				t.Left = append(t.Left, Left{pattern, reason})
			}
		default:
			m := row.FindStringSubmatch(line)
			if m == nil {
				return nil, fmt.Errorf("%s:%d: expected: shape MPI_Name(parameters) [+variant] [key=value]", file, n)
			}
			functions, err := expand(m[1], m[2], m[3], strings.Fields(m[4]), n)
			if err != nil {
				return nil, fmt.Errorf("%s:%d: %v", file, n, err)
			}
			t.Functions = append(t.Functions, functions...)
		}
	}
	return t, lines.Err()
}

// class takes a line: class NAME [waits=...] [pattern=...]
func (t *Table) class(words []string) error {
	facts := map[string]string{}
	for _, word := range words[2:] {
		key, value, _ := strings.Cut(word, "=")
		if !slices.Contains([]string{"waits", "pattern"}, key) || key == "waits" && !slices.Contains(waits, value) {
			return fmt.Errorf("%q: expected pattern=NAME or waits= with one of %s", word, strings.Join(waits, ", "))
		}
		facts[key] = value
	}
	t.Classes[words[1]] = facts
	return nil
}

// waits are the values of waits=; see functions.txt.
var waits = []string{"receiver", "sender", "both", "members", "root", "others", "lower"}

// keys are what a row may say.
var keys = []string{"out", "in", "place", "inplace", "file", "op", "waits", "otf2", "tau", "since"}

// check refuses a row that leaves out what all rows of its shape must say, so that no part of analysis has to guess.
func (f Function) check() error {
	if w, ok := f.Bytes["waits"]; ok && !slices.Contains(waits, w) {
		return fmt.Errorf("waits=%s: expected one of %s", w, strings.Join(waits, ", "))
	}
	if !shapes[f.Shape].collective {
		return nil
	}
	if n, err := strconv.Atoi(f.Bytes["otf2"]); f.Bytes["otf2"] != "none" && (err != nil || n < 0 || n > 100) {
		return fmt.Errorf("a collective operation needs otf2=, its number in OTF2 (OTF2_COLLECTIVE_OP_...), or otf2=none")
	}
	return nil
}

var ignored = regexp.MustCompile(`(MPI_\w+)\(([^)]*)\)`)

// ignore notes the arguments of a line of an `ignored` group, for all variants of the functions in it.
func (t *Table) ignore(when, line string) error {
	if rest := strings.TrimSpace(ignored.ReplaceAllString(line, "")); rest != "" {
		return fmt.Errorf("expected: MPI_Name(parameters) ..., not %q", rest)
	}
	for _, m := range ignored.FindAllStringSubmatch(line, -1) {
		u := Unused{strings.Split(m[2], ", "), when}
		known := false
		for i := range t.Functions {
			f := &t.Functions[i]
			if f.row != m[1] {
				continue
			}
			known = true
			for _, p := range u.Params {
				if !f.Has(p) {
					return fmt.Errorf("%s has no parameter %q", f.Name, p)
				}
			}
			f.Unused = append(f.Unused, u)
		}
		if !known {
			return fmt.Errorf("%s is not in the table", m[1])
		}
	}
	return nil
}

// expand makes the functions that one row stands for.
func expand(shape, name, params string, rest []string, line int) ([]Function, error) {
	base := Function{Name: name, row: name, Shape: shape, Bytes: map[string]string{}, Line: line}
	for _, p := range strings.Split(params, ",") {
		if p = strings.TrimSpace(p); p != "" {
			base.Params = append(base.Params, p)
		}
	}
	if _, ok := shapes[shape]; !ok {
		return nil, fmt.Errorf("unknown shape %q", shape)
	}
	var variants []string
	for _, word := range rest {
		key, value, isPair := strings.Cut(word, "=")
		switch {
		case isPair && slices.Contains(keys, key):
			base.Bytes[key] = value
		case slices.Contains([]string{"+c", "+i", "+init"}, word):
			variants = append(variants, word)
		default:
			return nil, fmt.Errorf("unknown variant or key %q", word)
		}
	}
	if err := base.check(); err != nil {
		return nil, err
	}
	all := []Function{base}
	if slices.Contains(variants, "+i") {
		f := base
		f.Name = "MPI_I" + strings.ToLower(name[4:5]) + name[5:]
		f.Params = append(slices.Clone(base.Params), "request")
		f.Start = Immediate
		all = append(all, f)
	}
	if slices.Contains(variants, "+init") {
		f := base
		f.Name = name + "_init"
		f.Params = slices.Clone(base.Params)
		if !slices.Contains(base.Params, "dest") {
			f.Params = append(f.Params, "info")
		}
		f.Params = append(f.Params, "request")
		f.Start = Persistent
		all = append(all, f)
	}
	// Shapes that are non-blocking in themselves.
	for i := range all {
		switch {
		case shapes[shape].start != Blocking:
			all[i].Start = shapes[shape].start
		}
	}
	if slices.Contains(variants, "+c") {
		for _, f := range all {
			if strings.HasPrefix(f.Name, "MPI_Barrier") {
				continue
			}
			f.Name += "_c"
			f.Wide = true
			all = append(all, f)
		}
	}
	return all, nil
}

// Has tells whether the function has a parameter of this name.
func (f Function) Has(param string) bool { return slices.Contains(f.Params, param) }

// Ignores tells whether an argument may be undefined in a circumstance.
func (f Function) Ignores(param, when string) bool {
	return slices.ContainsFunc(f.Unused, func(u Unused) bool { return u.When == when && slices.Contains(u.Params, param) })
}

// Op is the C name of the operation class.
func (f Function) Op() string {
	if op := f.Bytes["op"]; op != "" {
		return "MRL_OP_" + op
	}
	return "MRL_OP_" + shapes[f.Shape].op
}

// OpFlags is the C expression of enum mrl_op_flag.
func (f Function) OpFlags() string {
	return [...]string{"0", "MRL_NONBLOCKING", "MRL_PERSISTENT"}[f.Start]
}
