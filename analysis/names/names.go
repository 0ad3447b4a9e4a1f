// Package names turns the addresses in a call graph into functions and source lines, by reading the files
// they came from.
//
// It may use callgraph and symbol. Files may be gone or changed since the run; whatever cannot be named is
// told, and stays module+offset.
package names

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"marple/analysis/callgraph"
	"marple/analysis/symbol"
)

// Budget bounds what reading may cost.
type Budget struct {
	DebugBytes int64 // of debug information per module; more is left unread
	CacheBytes int64
}

// Guest is for work inside somebody else's process, Host for a command of our own.
var (
	Guest = Budget{DebugBytes: 64 << 20, CacheBytes: 2 << 20}
	Host  = Budget{}
)

type place struct {
	callgraph.Code
	kind uint8
}

const (
	function = iota // the place is where one begins
	site            // the place is a return address
)

// Names are the names of one call graph's places.
type Names struct {
	found map[place][]symbol.Frame
	notes map[string][]string
}

// Of looks up every place of a graph, module by module and in the order of addresses, so that each part of
// the debug information is read once.
func Of(g *callgraph.Graph, budget Budget) *Names {
	n := &Names{found: map[place][]symbol.Frame{}, notes: map[string][]string{}}
	var places []place
	for i := range g.Nodes {
		if f := &g.Nodes[i]; f.Kind == callgraph.KindFrame {
			places = append(places, place{f.Code, function})
		}
		places = append(places, place{g.Nodes[i].Site, site})
	}
	for _, s := range g.Stuck {
		places = append(places, place{s.Site, site})
	}
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.Module, b.Module), cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.kind, b.kind))
	})
	places = slices.Compact(places)
	for _, m := range g.Modules {
		first, _ := slices.BinarySearchFunc(places, m.Key, func(p place, key string) int { return cmp.Compare(p.Module, key) })
		count := 0
		for first+count < len(places) && places[first+count].Module == m.Key {
			count++
		}
		if count > 0 {
			n.module(m, places[first:first+count], budget)
		}
	}
	return n
}

func (n *Names) module(m callgraph.Module, places []place, budget Budget) {
	if m.Source {
		for _, p := range places {
			n.found[p] = []symbol.Frame{{File: m.Path, Line: int(min(p.Offset, math.MaxInt32))}}
		}
		return
	}
	table, err := symbol.Open(m.Path, m.BuildID, symbol.Limits{DebugBytes: budget.DebugBytes, CacheBytes: budget.CacheBytes})
	if err != nil {
		n.notes[m.Key] = []string{fmt.Sprintf("no names: %v", err)}
		return
	}
	defer table.Close()
	for _, p := range places {
		if p.kind == site {
			n.found[p] = table.LookupReturn(p.Offset).Frames
		} else {
			n.found[p] = table.Lookup(p.Offset).Frames
		}
	}
	n.notes[m.Key] = table.Notes()
}

// Function is the function that begins at a place; "" if it is not known.
func (n *Names) Function(code callgraph.Code) string {
	frames := n.found[place{code, function}]
	if len(frames) == 0 {
		return ""
	}
	return frames[len(frames)-1].Function // others would be inlined into its first instruction
}

// Site is where the call with this return address stands in the source: the innermost inlined function first,
// the one that has the code last. It is empty if nothing is known.
func (n *Names) Site(code callgraph.Code) []symbol.Frame { return n.found[place{code, site}] }

// Notes say why names of a module may be missing.
func (n *Names) Notes(m callgraph.Module) []string { return n.notes[m.Key] }
