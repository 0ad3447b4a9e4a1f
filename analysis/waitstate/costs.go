package waitstate

import (
	"cmp"
	"slices"
)

// mostCosts of a path's calls are looked at for what most of them take.
const mostCosts = 1 << 12

// costs are what the calls of the thread that called MPI_Init take beside waiting, by path; waits are in the order of
// calls.
func (r *Rank) costs(waits []waited) []Cost {
	rows := make([]Cost, len(r.Paths))
	some := make([][]int64, len(r.Paths))
	each := func(visit func(path uint32, ns int64)) {
		rest := waits
		for i := range r.Calls[:r.Main] {
			c := &r.Calls[i]
			from := c.Start
			for len(rest) > 0 && int(rest[0].call) <= i {
				if int(rest[0].call) == i {
					from = rest[0].until
				}
				rest = rest[1:]
			}
			visit(c.Path, max(c.End-from-c.Coreless, 0))
		}
	}
	each(func(path uint32, ns int64) {
		row := &rows[path]
		row.N++
		row.Ns += uint64(ns)
	})
	seen := make([]uint64, len(rows))
	each(func(path uint32, ns int64) {
		if seen[path]++; seen[path]%(1+rows[path].N/mostCosts) == 0 {
			some[path] = append(some[path], ns)
		}
	})
	for path := range some {
		slices.Sort(some[path])
	}
	each(func(path uint32, ns int64) {
		if list := some[path]; len(list) > 0 {
			ns = min(ns, list[len(list)*3/4])
		}
		rows[path].Sure += uint64(ns)
	})
	list := []Cost{}
	for path, row := range rows {
		if row.N > 0 {
			row.Path = r.Paths[path]
			list = append(list, row)
		}
	}
	slices.SortFunc(list, func(a, b Cost) int { return cmp.Compare(a.Path, b.Path) })
	return list
}

// turnsOfParts is how often each part comes: so often that a phase of the run is in all of them.
const turnsOfParts = 8

// parts divides a rank's time outside MPI among parts of the run, which take turns. Ranks that make the same calls
// have the same parts.
func (r *Rank) parts(rank int32) Parts {
	p := Parts{Rank: rank}
	last := r.Begin
	for i := range r.Calls[:r.Main] {
		c := &r.Calls[i]
		p.Useful[i*NumParts*turnsOfParts/r.Main%NumParts] += uint64(max(c.Start-last-c.OffCore, 0))
		last = max(last, c.End)
	}
	return p
}
