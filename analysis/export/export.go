// Package export writes runs in the formats of other tools.
//
// It may use run, series, callgraph and google/pprof/profile; it holds no state.
//
// Invariant: times add up to what was measured, and no name, whatever bytes it has, breaks a format: what a format
// cannot carry is written as \x1b.
package export

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"marple/analysis/run"
)

var errEmpty = errors.New("the run has no call graph")

// mostDepth bounds call paths: most formats name all of one on every line, or nest as deep.
const mostDepth = 1000

// frame is a call path as other tools know it: functions that were inlined are frames too.
type frame struct {
	name, file string // file and line are where it was called
	line       int
	kind       string
	node       *run.Node // nil for an inlined function
	parent     *frame
	children   []*frame
	index      int // in the order of a walk
}

// frames gives the trees of a run.
func frames(r *run.Run) ([]*frame, error) {
	if r.Root() == nil {
		return nil, errEmpty
	}
	var roots []*frame
	for _, root := range r.CallGraph {
		if len(roots) == 0 || len(root.Children) > 0 {
			f := &frame{name: plain(root.Name), kind: root.Kind, node: root}
			if f.grow(0) > mostDepth {
				return nil, fmt.Errorf("call paths deeper than %d are no use in other tools", mostDepth)
			}
			roots = append(roots, f)
		}
	}
	n := 0
	walk(roots, func(f *frame) { f.index = n; n++ })
	return roots, nil
}

// grow makes what is below a frame, as far as it may be, and tells how deep that is.
func (f *frame) grow(depth int) (deepest int) {
	if deepest = depth; depth > mostDepth {
		return depth
	}
	type call struct {
		above      *frame
		name, file string
		line       int
	}
	inlined := map[call]*frame{}
	for _, n := range f.node.Children {
		above, at := f, depth+1
		for i := len(n.Inlined) - 1; i >= 0; i-- {
			x := &n.Inlined[i]
			key := call{above, plain(x.Function), plain(x.File), x.Line}
			if inlined[key] == nil {
				inlined[key] = &frame{name: key.name, file: key.file, line: key.line, kind: "inlined", parent: above}
				above.children = append(above.children, inlined[key])
			}
			above, at = inlined[key], at+1
		}
		c := &frame{name: plain(n.Name), file: plain(n.File), line: n.Line, kind: n.Kind, node: n, parent: above}
		above.children = append(above.children, c)
		deepest = max(deepest, c.grow(at))
	}
	return deepest
}

// walk visits frames, parents first.
func walk(list []*frame, visit func(*frame)) {
	for _, f := range list {
		visit(f)
		walk(f.children, visit)
	}
}

// label is a frame's name with the place of its call.
func (f *frame) label() string {
	switch {
	case f.kind == "inlined":
		return f.name + " (inlined)"
	case f.node.Site != "":
		return fmt.Sprintf("%s (%s)", f.name, plain(f.node.Site))
	}
	return f.name
}

// path is the labels from the root on, or those of a kind of name.
func (f *frame) path(name func(*frame) string, separator string) string {
	if f.parent == nil {
		return name(f)
	}
	return f.parent.path(name, separator) + separator + name(f)
}

// values of one rank, or of all: exclusive and inclusive nanoseconds, and calls.
type values struct{ exclusive, inclusive, calls uint64 }

// totals gives what all ranks spent on each frame, by index.
func totals(roots []*frame) []values {
	return sums(roots, func(n *run.Node) (v values) {
		if n.Calls != nil {
			v.calls = n.Calls.N
		}
		v.exclusive = n.Exclusive.Sum
		return v
	})
}

// byRank gives what a rank spent on each frame, by index.
func byRank(r *run.Run, roots []*frame, rank int32) []values {
	return sums(roots, func(n *run.Node) values {
		on := r.On(n, rank)
		return values{exclusive: on.Exclusive, calls: on.Calls}
	})
}

func sums(roots []*frame, own func(n *run.Node) values) (list []values) {
	var visit func(f *frame) uint64
	visit = func(f *frame) uint64 {
		at := len(list)
		list = append(list, values{})
		var v values
		if f.node != nil {
			v = own(f.node)
		}
		v.inclusive = v.exclusive
		for _, c := range f.children {
			v.inclusive += visit(c)
		}
		list[at] = v
		return v.inclusive
	}
	for _, root := range roots {
		visit(root)
	}
	return list
}

// plain writes what is no text, and control characters, as \x1b.
func plain(s string) string {
	bad := func(r rune, size int) bool {
		return r < ' ' || r >= 0x7f && r < 0xa0 || r == utf8.RuneError && size == 1
	}
	clean := true
	for i := 0; i < len(s) && clean; {
		r, size := utf8.DecodeRuneInString(s[i:])
		clean = !bad(r, size)
		i += size
	}
	if clean {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if bad(r, size) {
			for _, c := range []byte(s[i : i+size]) {
				fmt.Fprintf(&b, `\x%02x`, c)
			}
		} else {
			b.WriteString(s[i : i+size])
		}
		i += size
	}
	return b.String()
}

func seconds(ns uint64) float64 { return float64(ns) / 1e9 }
