package page

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"marple/analysis/callgraph"
	"marple/analysis/run"
	"marple/analysis/waitstate"
	"marple/analysis/whatif"
)

// Bounds of what is taken from replays.
const (
	mostLit     = 8    // findings that light up their places
	mostSlices  = 8192 // of all lanes: stretches of the run, of which a selection is made
	mostInSlice = 8    // call paths of a slice; further ones are added up
)

// Variant is what ranks would have done at which time.
type Variant struct {
	Name    string
	Finding int // index of the finding that is removed; -1: none
	Overview
}

// Slices are what ranks spent their time on in equally long stretches of the run, by lane and stretch.
type Slices struct {
	Count int // of a lane
	Of    [][]Slice
}

// Slice is time on a call path, ns: Waiting of it for other ranks. Without a node it is of further paths: calls, or time between them.
type Slice struct {
	Node        string
	Call        bool
	Ns, Waiting int64
}

// Replay adds to a page what replays of the run tell: its variants, what there is to select, and where findings are.
func (p *Page) Replay(variants []whatif.Variant) {
	if len(variants) == 0 {
		return
	}
	program, was := p.Run.Replay, variants[0].Times
	p.Thinned = program.Looked > 0
	if p.Overview != nil && p.Thinned {
		return // the replay has a time of its own
	}
	longest := int64(1)
	for _, v := range variants {
		longest = max(longest, v.Times.Length)
	}
	if p.Overview != nil {
		longest = max(longest, p.Overview.Ns)
	}
	for _, v := range variants {
		o := overviewOf(len(program.Lanes), longest, mostCells/len(variants))
		for rank := range program.Lanes {
			o.replayed(rank, v.Times)
		}
		p.Variants = append(p.Variants, Variant{v.Name, v.Finding, *o})
	}
	if p.Overview != nil {
		p.Variants[0].Overview = *p.Overview // it is of the events themselves, and has the critical path
	}
	first := &p.Variants[0].Overview
	first.light(p.Run, program, was)
	p.Slices = first.slices(program, was)
}

// overviewOf is an empty one.
func overviewOf(ranks int, ns int64, most int) *Overview {
	o := &Overview{Ns: max(ns, 1), Ranks: ranks, PerLane: (ranks + mostLanes - 1) / mostLanes}
	o.Cells = max(1, min(600, most/o.Lanes()))
	o.Cell = make([]Cell, o.Lanes()*o.Cells)
	return o
}

// doing visits what a rank does, one thing after the other: calls, of whose time it waits until some moment, and what is between them.
func doing(rank int, t *waitstate.Times, visit func(from, waits, to int64, call int, inside bool)) {
	entered, left := t.Entered[rank], t.Left[rank]
	at := t.Ended[rank]
	if n := len(entered); n > 0 {
		at = left[n-1]
	}
	for k := range entered {
		from := entered[k] - t.Gaps[rank][k]
		if later := t.Deferred[rank]; later != nil && k > 0 {
			from = left[k-1]
		}
		to := from + t.Gaps[rank][k]
		visit(from, from, to, k, false)
		if to < entered[k] { // what it has begun before is not over
			visit(to, entered[k], entered[k], k-1, true)
		}
		visit(entered[k], min(max(left[k]-t.Own[rank][k], entered[k]), left[k]), left[k], k, true)
	}
	visit(at, at, t.Ended[rank], len(entered), false)
}

func (o *Overview) replayed(rank int, t *waitstate.Times) {
	doing(rank, t, func(from, waits, to int64, _ int, inside bool) {
		if !inside {
			o.each(rank, from, to, func(c *Cell, ns float64) { c.Known, c.Useful = c.Known+ns, c.Useful+ns })
			return
		}
		o.each(rank, from, waits, func(c *Cell, ns float64) { c.Waiting += ns })
		o.each(rank, from, to, func(c *Cell, ns float64) { c.Known += ns })
	})
}

// paths gives what a rank's call, or the time before it, is charged to; false after the last one.
func pathOf(l *waitstate.Lane, call int, inside bool) (callgraph.ID, bool) {
	switch {
	case call >= len(l.Calls):
		return 0, false
	case inside:
		return l.Paths[l.Calls[call].Path], true
	}
	return l.Paths[l.Calls[call].GapPath], true
}

// light notes in which cells the findings are: where ranks spend most of what they do in the findings' places.
func (o *Overview) light(r *run.Run, program *waitstate.Program, t *waitstate.Times) {
	list := r.Findings[:min(len(r.Findings), mostLit)]
	places := make([]map[callgraph.ID]bool, len(list))
	for i, f := range list {
		places[i] = placesOf(r, &f)
	}
	sums := make([][]float64, len(list))
	for i := range sums {
		sums[i] = make([]float64, len(o.Cell))
	}
	for rank := range program.Lanes {
		l := &program.Lanes[rank]
		doing(rank, t, func(from, _, to int64, call int, inside bool) {
			path, known := pathOf(l, call, inside)
			if !known {
				return
			}
			for i, f := range list {
				if places[i][path] && (len(f.Ranks) == 0 || slices.Contains(f.Ranks, rank)) {
					o.cells(rank, from, to, func(at int, ns float64) { sums[i][at] += ns })
				}
			}
		})
	}
	for i, s := range sums {
		most := slices.Max(s)
		for at, ns := range s {
			if ns > 0 && ns >= most/4 {
				o.Cell[at].Lit |= 1 << i
			}
		}
	}
}

// placesOf are a finding's call paths: its own, those that its remedy changes, and all below them.
func placesOf(r *run.Run, f *run.Finding) map[callgraph.ID]bool {
	places := map[callgraph.ID]bool{}
	ids := []string{f.Node}
	if f.Remedy != nil {
		ids = append(ids, f.Remedy.Nodes...)
	}
	add := func(id string) {
		if n, err := strconv.ParseUint(id, 16, 64); err == nil {
			places[callgraph.ID(n)] = true
		}
	}
	for _, id := range ids {
		add(id)
		if n := r.Find(id); n != nil {
			n.Walk(func(n *run.Node, _ int) bool {
				add(n.ID)
				add(n.Of)
				return true
			})
		}
	}
	return places
}

// slices are what ranks spent their time on, in stretches.
func (o *Overview) slices(program *waitstate.Program, t *waitstate.Times) *Slices {
	type key struct {
		path callgraph.ID
		call bool
	}
	lanes := o.Lanes()
	grid := &Overview{Ns: o.Ns, Ranks: o.Ranks, PerLane: o.PerLane, Cells: max(1, min(128, mostSlices/lanes))}
	grid.Cell = make([]Cell, lanes*grid.Cells)
	sums := make([]map[key][2]float64, len(grid.Cell))
	for rank := range program.Lanes {
		l := &program.Lanes[rank]
		doing(rank, t, func(from, waits, to int64, call int, inside bool) {
			path, _ := pathOf(l, call, inside)
			add := func(which int) func(at int, ns float64) {
				return func(at int, ns float64) {
					if sums[at] == nil {
						sums[at] = map[key][2]float64{}
					}
					s := sums[at][key{path, inside}]
					s[which] += ns
					sums[at][key{path, inside}] = s
				}
			}
			grid.cells(rank, from, to, add(0))
			grid.cells(rank, from, waits, add(1))
		})
	}
	out := &Slices{Count: grid.Cells, Of: make([][]Slice, len(sums))}
	for at, paths := range sums {
		keys := slices.SortedFunc(maps.Keys(paths), func(a, b key) int {
			return cmp.Or(cmp.Compare(paths[b][0], paths[a][0]), cmp.Compare(a.path, b.path))
		})
		var rest [2]Slice
		for i, k := range keys {
			s := Slice{Node: run.NodeID(k.path), Call: k.call, Ns: int64(paths[k][0] + 0.5), Waiting: int64(paths[k][1] + 0.5)}
			if i < mostInSlice && k.path != 0 {
				out.Of[at] = append(out.Of[at], s)
				continue
			}
			which := &rest[0]
			if k.call {
				which = &rest[1]
			}
			which.Call, which.Ns, which.Waiting = k.call, which.Ns+s.Ns, which.Waiting+s.Waiting
		}
		for _, s := range rest {
			if s.Ns > 0 {
				out.Of[at] = append(out.Of[at], s)
			}
		}
	}
	return out
}
