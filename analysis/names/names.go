// Package names turns the addresses in a call graph into functions and source lines, by reading the files
// they came from.
//
// It may use callgraph and symbol. Files may be gone or changed since the run; whatever cannot be named is
// told, and stays module+offset.
package names

import (
	"cmp"
	"fmt"
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
	module string
	offset uint64
}

// Names are the names of one call graph's frames.
type Names struct {
	found map[place]symbol.Frame
	notes map[string][]string
}

// Of looks up every frame of a graph, module by module and in the order of addresses, so that each part of
// the debug information is read once.
func Of(g *callgraph.Graph, budget Budget) *Names {
	n := &Names{found: map[place]symbol.Frame{}, notes: map[string][]string{}}
	var places []place
	for i := range g.Nodes {
		if f := &g.Nodes[i]; f.Kind == callgraph.KindFrame && f.Module != "" {
			places = append(places, place{f.Module, f.Offset})
		}
	}
	slices.SortFunc(places, func(a, b place) int { return cmp.Or(cmp.Compare(a.module, b.module), cmp.Compare(a.offset, b.offset)) })
	places = slices.Compact(places)
	for _, m := range g.Modules {
		first, _ := slices.BinarySearchFunc(places, m.Key, func(p place, key string) int { return cmp.Compare(p.module, key) })
		count := 0
		for first+count < len(places) && places[first+count].module == m.Key {
			count++
		}
		if count > 0 {
			n.module(m, places[first:first+count], budget)
		}
	}
	return n
}

func (n *Names) module(m callgraph.Module, places []place, budget Budget) {
	table, err := symbol.Open(m.Path, m.BuildID, symbol.Limits{DebugBytes: budget.DebugBytes, CacheBytes: budget.CacheBytes})
	if err != nil {
		n.notes[m.Key] = []string{fmt.Sprintf("no names: %v", err)}
		return
	}
	defer table.Close()
	for _, p := range places {
		if frames := table.LookupReturn(p.offset).Frames; len(frames) > 0 {
			n.found[p] = frames[0]
		}
	}
	n.notes[m.Key] = table.Notes()
}

// Name is the innermost function at a return address, inlined or not, and the line of the call.
func (n *Names) Name(m callgraph.Module, offset uint64) (function, file string, line int) {
	f := n.found[place{m.Key, offset}]
	return f.Function, f.File, f.Line
}

// Notes say why names of a module may be missing.
func (n *Names) Notes(m callgraph.Module) []string { return n.notes[m.Key] }
