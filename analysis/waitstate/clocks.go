package waitstate

import (
	"cmp"
	"math"
	"slices"

	"marple/analysis/callgraph"
	"marple/analysis/record"
)

// Clock is how a host's clock relates to that of rank 0's host, on which all times are told.
type Clock struct {
	Host     uint64
	Ranks    uint64
	Ns       int64 // what to add at the moment At of the host's clock
	At       int64
	Drift    int64  // what to add for each second later, ns
	ErrorNs  uint64 // by which the measurement may be wrong, at either end of the run
	Measured bool   // by messages between the hosts; otherwise by the time of day
}

// Common is a time on rank 0's host.
func (c *Clock) Common(t int64) int64 {
	if c.Drift == 0 {
		return t + c.Ns
	}
	return t + c.Ns + int64(math.Round(float64(t-c.At)*float64(c.Drift)/1e9))
}

// sight is what a rank has seen of the clocks.
type sight struct {
	host        uint64
	wall        int64 // what to add for the time of day; 0: the clock is a simulated one
	first, last record.Offset
}

func sightOf(h *record.Header) sight {
	s := sight{host: h.Host, first: h.FirstOffset, last: h.LastOffset}
	if h.ClockKind != record.ClockExternal {
		s.wall = int64(h.First.WallNs) - callgraph.CommonClockOf(h).At(h.First.Ticks)
	}
	return s
}

// clocksOf all hosts, that of the first sight first: rank 0's, if it is there. A drift that was measured at the end only is not known.
// What was not measured is known by the time of day, against a host whose clock was.
func clocksOf(all []sight) []Clock {
	var list []Clock
	reference := all[0]
	if i := slices.IndexFunc(all, func(s sight) bool { return s.first.Known != 0 }); i >= 0 {
		reference = all[i]
	}
	for _, s := range all {
		i := slices.IndexFunc(list, func(c Clock) bool { return c.Host == s.host })
		if i < 0 {
			i = len(list)
			list = append(list, Clock{Host: s.host, Ns: s.wall - reference.wall + reference.first.Ns, Measured: i == 0 && reference.first.Known == 0})
		}
		c := &list[i]
		c.Ranks++
		if s.first.Known == 0 {
			continue
		}
		c.Measured, c.Ns, c.At, c.ErrorNs = true, s.first.Ns, int64(s.first.At), s.first.ErrorNs
		if d := int64(s.last.At) - c.At; s.last.Known != 0 && d > 0 {
			c.Drift = int64(math.Round(float64(s.last.Ns-s.first.Ns) / float64(d) * 1e9))
			c.ErrorNs = max(c.ErrorNs, s.last.ErrorNs)
		}
	}
	return list
}

// Clocks of the hosts of these processes, that of the lowest rank's first.
func Clocks(processes []*record.Header) []Clock {
	sorted := slices.SortedStableFunc(slices.Values(processes), func(a, b *record.Header) int { return cmp.Compare(a.Rank, b.Rank) })
	var all []sight
	for _, h := range sorted {
		all = append(all, sightOf(h))
	}
	return clocksOf(all)
}

// align brings all times to the clock of rank 0's host, and reads what has to be read, as much of it as can be replayed.
func (x *replay) align(table *Table) error {
	o := out{}
	s := x.r.Sight
	o.word(s.host)
	o.signed(s.wall)
	o.offset(s.first)
	o.offset(s.last)
	own := extent{begin: x.r.Begin, end: x.r.End, host: s.host}
	if x.r.unread != nil {
		own = x.r.unread.extent
	}
	o.extent(own)
	all, err := collect(x.t, packet{uint32(x.rank), 0, o})
	if err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b packet) int { return cmp.Compare(a.from, b.from) })
	var sights []sight
	var extents []extent
	for _, p := range all {
		i := in{data: p.data}
		sights = append(sights, sight{i.word(), i.signed(), i.offset(), i.offset()})
		e := i.extent()
		e.host = sights[len(sights)-1].host
		extents = append(extents, e)
	}
	var answers []packet
	if x.rank == 0 {
		clocks := clocksOf(sights)
		if len(clocks) > 1 {
			table.Clocks = clocks
		}
		of := make([]Clock, len(all))
		for i := range all {
			of[i] = clocks[slices.IndexFunc(clocks, func(c Clock) bool { return c.Host == sights[i].host })]
			extents[i].begin, extents[i].end = of[i].Common(extents[i].begin), of[i].Common(extents[i].end)
		}
		v, span := planned(extents, x.within)
		// What the program of all ranks takes is bounded too.
		less, whole := planned(extents, limits{all: max(x.within.program, uint64(LeastWaits*len(all)))})
		if v != nil && less != nil && v.length() <= less.length() {
			less, whole = nil, 0
		}
		var skew uint64
		for _, c := range clocks {
			skew = max(skew, 2*min(c.ErrorNs, 1<<50))
		}
		for i, p := range all {
			answer := out{}
			answer.number(skew)
			answer.signed(of[i].Ns)
			answer.signed(of[i].At)
			answer.signed(of[i].Drift)
			answer.number(uint64(span))
			answer.view(v)
			answer.number(uint64(whole))
			answer.view(less)
			answers = append(answers, packet{0, p.from, answer})
		}
	}
	if answers, err = route(x.t, answers); err != nil {
		return err
	}
	for _, p := range answers {
		i := in{data: p.data}
		x.skew = int64(i.number())
		c := Clock{Ns: i.signed(), At: i.signed(), Drift: i.signed()}
		span, v := i.number(), i.view()
		x.whole, x.less = int64(i.number()), i.view()
		if i.bad {
			return errDamaged
		}
		if v != nil {
			x.shows, x.looked, x.span = v, uint64(v.length()), span
		}
		if x.r.unread != nil {
			x.left, x.clock = x.r.unread, c
			x.r = x.left.read(c, v)
			x.found = make([]uint32, len(x.r.Calls))
			continue
		}
		if c.Ns == 0 && c.Drift == 0 {
			continue
		}
		x.r.Begin, x.r.End = c.Common(x.r.Begin), c.Common(x.r.End)
		for k := range x.r.Calls {
			call := &x.r.Calls[k]
			call.Start, call.End = c.Common(call.Start), c.Common(call.End)
		}
	}
	return nil
}

func (o *out) extent(e extent) {
	o.number(e.events)
	o.signed(e.begin)
	o.signed(e.end)
	for _, word := range e.cpus {
		o.number(word)
	}
}

// extent is one of a host that is not said here.
func (i *in) extent() extent {
	e := extent{events: i.number(), begin: i.signed(), end: i.signed()}
	for k := range e.cpus {
		e.cpus[k] = i.number()
	}
	return e
}

func (o *out) offset(x record.Offset) {
	o.flag(x.Known != 0)
	if x.Known != 0 {
		o.number(x.At)
		o.signed(x.Ns)
		o.number(x.ErrorNs)
	}
}

func (i *in) offset() (x record.Offset) {
	if i.flag() {
		x = record.Offset{At: i.number(), Ns: i.signed(), ErrorNs: i.number(), Known: 1}
	}
	return x
}

func (o *out) clocks(list []Clock) {
	o.number(uint64(len(list)))
	for _, c := range list {
		o.word(c.Host)
		o.number(c.Ranks)
		o.signed(c.Ns)
		o.signed(c.At)
		o.signed(c.Drift)
		o.number(c.ErrorNs)
		o.flag(c.Measured)
	}
}

func (i *in) clocks() (list []Clock) {
	for n := i.count(); n > 0; n-- {
		list = append(list, Clock{i.word(), i.number(), i.signed(), i.signed(), i.signed(), i.number(), i.flag()})
	}
	return list
}
