package page

import (
	"cmp"
	"slices"

	"marple/analysis/run"
	"marple/analysis/waitstate"
)

// Bounds of an overview. Its cells make the page larger by 5 bytes each.
const (
	mostLanes = 256
	mostCells = 160_000
	mostTold  = 2000 // waits, and parts of the critical path: the longest
)

// Overview is what all ranks did at which time, from the first event of any to the last, in cells of one length and of
// one rank or several neighbours. Times are nanoseconds since that first event.
type Overview struct {
	Ns       int64 // from the first event to the last
	Ranks    int
	PerLane  int // ranks
	Cells    int // of a lane
	Cell     []Cell
	Waits    []Wait // the longest, by rising start
	MoreWait int
	Critical []Part // likewise
	MorePart int
}

// Cell is the time of a lane's ranks in it, ns: Known is what is known of; Useful of it outside MPI, Waiting inside. The
// critical path was on one of the ranks for Critical; Lit has a bit for each of the first findings that is there.
type Cell struct {
	Known, Useful, Waiting, Critical float64
	Lit                              uint8
}

// Wait is one rank's wait for another.
type Wait struct {
	Rank, For int
	Start, Ns int64
	Pattern   string
	Node      string // id in the call graph, of the waiting call
	Where     string // its name, in longestWaits
}

// Part is a part of the critical path.
type Part struct {
	Rank     int
	From, To int64
}

// NewOverview lays out what ranks have logged. Nil if there is nothing.
func NewOverview(ranks []*waitstate.Rank, moments []waitstate.Moments) *Overview {
	if len(ranks) == 0 {
		return nil
	}
	first, last := ranks[0].Begin, ranks[0].End
	for _, r := range ranks {
		first, last = min(first, r.Begin), max(last, r.End)
	}
	o := overviewOf(len(ranks), last-first, mostCells)
	for i, r := range ranks {
		o.lay(i, r, first)
		for _, w := range moments[i].Waits {
			o.each(i, w.Start-first, w.Until-first, func(c *Cell, ns float64) { c.Waiting += ns })
			o.Waits = append(o.Waits, Wait{Rank: i, For: int(w.For), Start: w.Start - first, Ns: w.Until - w.Start, Pattern: w.Pattern.String(), Node: run.NodeID(w.Path)})
		}
		for _, s := range moments[i].Critical {
			o.each(i, s.From-first, s.To-first, func(c *Cell, ns float64) { c.Critical += ns })
			if s.To > s.From {
				o.Critical = append(o.Critical, Part{i, s.From - first, s.To - first})
			}
		}
	}
	o.Waits, o.MoreWait = longest(o.Waits, func(w Wait) int64 { return w.Ns }, func(w Wait) int64 { return w.Start })
	o.Critical, o.MorePart = longest(o.Critical, func(p Part) int64 { return p.To - p.From }, func(p Part) int64 { return p.From })
	return o
}

// Lanes are how many rows the overview has.
func (o *Overview) Lanes() int { return (o.Ranks + o.PerLane - 1) / o.PerLane }

// lay adds up one rank's time. What came after its log was full is not known.
func (o *Overview) lay(rank int, r *waitstate.Rank, first int64) {
	known := func(c *Cell, ns float64) { c.Known += ns }
	useful := func(c *Cell, ns float64) { c.Known, c.Useful = c.Known+ns, c.Useful+ns }
	at := r.Begin
	for i := range r.Calls[:r.Main] {
		c := &r.Calls[i]
		o.each(rank, at-first, c.Start-first, useful)
		o.each(rank, max(c.Start, at)-first, c.End-first, known)
		at = max(at, c.End)
	}
	if r.Lost.Ended == 0 {
		o.each(rank, at-first, r.End-first, useful)
	}
}

// each visits the cells of a span of time with the part of it that is in them.
func (o *Overview) each(rank int, from, to int64, visit func(c *Cell, ns float64)) {
	o.cells(rank, from, to, func(at int, ns float64) { visit(&o.Cell[at], ns) })
}

// cells does so with their indices.
func (o *Overview) cells(rank int, from, to int64, visit func(at int, ns float64)) {
	from, to = max(from, 0), min(to, o.Ns)
	row := rank / o.PerLane * o.Cells
	width := float64(o.Ns) / float64(o.Cells)
	for i := int(float64(from) / width); i < o.Cells && from < to; i++ {
		until := to
		if edge := int64(width * float64(i+1)); i+1 < o.Cells {
			until = min(to, edge)
		}
		if until > from {
			visit(row+i, float64(until-from))
			from = until
		}
	}
}

// longest keeps the longest of a list, by rising start.
func longest[T any](list []T, length, start func(T) int64) (kept []T, more int) {
	if len(list) > mostTold {
		slices.SortStableFunc(list, func(a, b T) int { return cmp.Compare(length(b), length(a)) })
		list, more = list[:mostTold], len(list)-mostTold
	}
	slices.SortStableFunc(list, func(a, b T) int { return cmp.Compare(start(a), start(b)) })
	return list, more
}

// longestWaits are those, the longest first, with the names of their places.
func (o *Overview) longestWaits(r *run.Run, most int) []Wait {
	where := map[string]string{}
	if r.Waits != nil {
		for _, s := range r.Waits.Sites {
			where[s.Node] = s.Where
		}
	}
	list := slices.Clone(o.Waits)
	slices.SortStableFunc(list, func(a, b Wait) int { return cmp.Compare(b.Ns, a.Ns) })
	list = list[:min(most, len(list))]
	for i := range list {
		if list[i].Where = where[list[i].Node]; list[i].Where == "" {
			list[i].Where = "a path that was not recorded"
		}
	}
	return list
}

// bytes are the cells for the scripts: of each, in 255ths of a lane's time in it, Useful, the rest of MPI, Waiting and,
// in 255ths of one rank's time, Critical.
func (o *Overview) bytes() []byte {
	out := make([]byte, 0, 4*len(o.Cell))
	width := float64(o.Ns) / float64(o.Cells)
	part := func(ns float64, of float64) byte { return byte(min(max(255*ns/of+0.5, 0), 255)) }
	for i, c := range o.Cell {
		lane := i / o.Cells
		whole := width * float64(min(o.PerLane, o.Ranks-lane*o.PerLane))
		critical := part(c.Critical, width)
		if c.Critical > 0 {
			critical = max(critical, 1)
		}
		out = append(out, part(c.Useful, whole), part(c.Known-c.Useful-c.Waiting, whole), part(c.Waiting, whole), critical)
	}
	return out
}
