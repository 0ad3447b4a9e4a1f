package waitstate

import (
	"math/bits"
	"slices"

	"marple/analysis/stat"
)

// What the replay at the end of a run may take. Where the logs have more, it is thinned: stretches are replayed that lie evenly
// over the run, and what is found is multiplied.
const (
	// MostReplayed is how many events of a rank are replayed, which bounds its memory: 400 bytes an event.
	MostReplayed = 1 << 16
	// eventCost is how long a core takes for an event that is replayed, ns.
	eventCost = 1000
	// The replay may take a fiftieth of the run, and leastBudget ns in any case. Ranks of a host share its cores.
	budgetPart  = 50
	leastBudget = 50_000_000
	// stretches is how many there are: few, so that what belongs together mostly lies in one; fewer where a rank would have less
	// than leastStretch events in one.
	stretches    = 32
	leastStretch = 64
	// MostTogether is how many events are replayed of what all ranks of a run have left behind, in one process.
	MostTogether = MostItems
)

// limits of a replay; 0 is none.
type limits struct {
	each, all uint64 // events of a rank, and of all together
	program   uint64 // of all together in the Program, or LeastWaits of each if that is more
	inTime    bool   // see budgetPart
	who       Players
}

var atTheEnd = limits{each: MostReplayed, program: MostItems, inTime: true}

// stretch is a part of the run, on the clock that all ranks share. Behind one another, with seam between them, they make the
// run that is replayed; at is where this one begins in it.
type stretch struct{ from, to, at int64 }

// seam is the time that stands for all between two stretches: what begins there does so in the middle of it, so that who
// waited for that has waited to the end of the stretch.
const seam = 2

// view is what of a run is replayed, by time; nil is all.
type view []stretch

// length is of what is replayed.
func (v view) length() (ns int64) {
	for _, s := range v {
		ns += s.to - s.from
	}
	return ns
}

// next is the first stretch that ends after t; hint is a guess, mostly right.
func (v view) next(t int64, hint int) int {
	if hint > 0 && v[hint-1].to > t {
		hint = 0
	}
	for hint < len(v) && v[hint].to <= t {
		hint++
	}
	return hint
}

// at is a moment before the end of stretch i, and not before the end of the one before it.
func (v view) at(t int64, i int) (at int64, inside bool) {
	switch {
	case i < len(v) && t >= v[i].from:
		return v[i].at + t - v[i].from, true
	case i == 0:
		return v[0].at, false
	}
	return v[i-1].at + v[i-1].to - v[i-1].from + seam/2, false
}

// until is when something ends that began at the moment begin, in or before stretch i.
func (v view) until(t, begin int64, i int) int64 {
	k := v.next(t, i)
	at, inside := v.at(t, k)
	if !inside && k > 0 && at > begin {
		at += seam - seam/2
	}
	return max(at, begin)
}

// extent is what a rank's logs would cost to replay, and from when to when it was measured.
type extent struct {
	events     uint64
	begin, end int64
	host       uint64
	cpus       [16]uint64 // that it may use
}

// planned says what of a run is replayed, and how long the run is. Ranks of which there is nothing have no say.
func planned(all []extent, within limits) (v view, span int64) {
	all = slices.DeleteFunc(slices.Clone(all), func(e extent) bool { return e.events == 0 && e.end <= e.begin })
	if len(all) == 0 {
		return nil, 0
	}
	begin, end, most, events := all[0].begin, all[0].end, uint64(0), uint64(0)
	type node struct {
		events uint64
		cpus   [16]uint64
	}
	nodes := map[uint64]*node{}
	for _, e := range all {
		begin, end, most, events = min(begin, e.begin), max(end, e.end), max(most, e.events), events+e.events
		if nodes[e.host] == nil {
			nodes[e.host] = &node{}
		}
		n := nodes[e.host]
		n.events += e.events
		for i := range n.cpus {
			n.cpus[i] |= e.cpus[i]
		}
	}
	part := 1.
	if within.each > 0 {
		part = min(part, float64(within.each)/float64(max(most, 1)))
	}
	if within.all > 0 {
		part = min(part, float64(within.all)/float64(max(events, 1)))
	}
	budget := float64(max((end-begin)/budgetPart, leastBudget))
	for _, n := range nodes {
		if !within.inTime {
			break
		}
		cores := 0
		for _, word := range n.cpus {
			cores += bits.OnesCount64(word)
		}
		part = min(part, budget*float64(max(cores, 1))/(eventCost*float64(max(n.events, 1))))
	}
	pieces := int64(min(max(part*float64(events)/float64(len(all))/leastStretch, 1), stretches))
	period := (end - begin) / pieces
	length := int64(part * float64(period))
	if part >= 1 || length < 1 {
		return nil, 0
	}
	// Each lies somewhere else in its part of the run: what repeats itself in step with them would be seen always or never.
	const golden = 0.6180339887498949
	place, at := 0.5, begin
	for i := range pieces {
		from := begin + i*period + int64(place*float64(period-length))
		v = append(v, stretch{from, from + length, at})
		at += length + seam
		if place += golden; place >= 1 {
			place--
		}
	}
	return v, end - begin
}

func (o *out) view(v view) {
	o.number(uint64(len(v)))
	for _, s := range v {
		o.signed(s.from)
		o.number(uint64(s.to - s.from))
		o.signed(s.at)
	}
}

func (i *in) view() (v view) {
	for n := i.count(); n > 0; n-- {
		s := stretch{from: i.signed()}
		s.to, s.at = s.from+int64(i.number()), i.signed()
		v = append(v, s)
	}
	return v
}

// scale makes of what was found in a part of the run what there is in all of it, by and large.
func (t *Table) scale(part, whole uint64) {
	enlarge(part, whole, t.quantities()...)
}

func enlarge(part, whole uint64, list ...*uint64) {
	if part == 0 || part >= whole {
		return
	}
	for _, x := range list {
		hi, lo := bits.Mul64(*x, whole)
		if hi >= part {
			*x = 1<<64 - 1
			continue
		}
		*x, _ = bits.Div64(hi, lo, part)
	}
}

// quantities are all that a run of twice the length has twice of, if it goes on like that; but for what is of the Program, of
// which less may have been looked at.
func (t *Table) quantities() (list []*uint64) {
	ranks := func(of []stat.Ranked) {
		for k := range of {
			list = append(list, &of[k].Value, &of[k].Other, &of[k].Count)
		}
	}
	l := &t.Lost
	list = append(list, &t.Length, &t.Useful, &l.Unmatched, &l.Ambiguous, &l.Uncovered, &l.Backward, &l.Small, &l.SmallNs)
	for i := range t.Waits {
		list = append(list, &t.Waits[i].N, &t.Waits[i].Ns)
		ranks(t.Waits[i].Ranks)
	}
	for i := range t.Delays {
		list = append(list, &t.Delays[i].Direct, &t.Delays[i].Passed)
		ranks(t.Delays[i].Ranks)
	}
	for i := range t.Critical {
		list = append(list, &t.Critical[i].Ns)
		ranks(t.Critical[i].Ranks)
	}
	for i := range t.Pairs {
		list = append(list, &t.Pairs[i].N, &t.Pairs[i].Ns)
	}
	for i := range t.Costs {
		list = append(list, &t.Costs[i].N, &t.Costs[i].Ns, &t.Costs[i].Sure)
	}
	for i := range t.Parts {
		for k := range t.Parts[i].Useful {
			list = append(list, &t.Parts[i].Useful[k])
		}
	}
	if c := t.Cored; c != nil {
		list = append(list, &c.Length, &c.Found.Ideal, &c.Found.Replayed)
		ranks(c.Ranks)
		for i := range c.Calls {
			list = append(list, &c.Calls[i].Ns, &c.Calls[i].Was)
			ranks(c.Calls[i].Ranks)
		}
		list = append(list, c.Found.quantities()...)
	}
	return list
}

// span is a row of numbers, of operations of a communicator.
type span struct{ from, to uint32 }

// spansOf numbers that rise.
func spansOf(numbers []uint32) (list []span) {
	for _, n := range numbers {
		if k := len(list) - 1; k >= 0 && list[k].to == n {
			list[k].to++
		} else {
			list = append(list, span{n, n + 1})
		}
	}
	return list
}

// both are the numbers that are in a and in b.
func both(a, b []span) (list []span) {
	for len(a) > 0 && len(b) > 0 {
		if s := (span{max(a[0].from, b[0].from), min(a[0].to, b[0].to)}); s.from < s.to {
			list = append(list, s)
		}
		if a[0].to < b[0].to {
			a = a[1:]
		} else {
			b = b[1:]
		}
	}
	return list
}

func among(list []span, n uint32) bool {
	i, _ := slices.BinarySearchFunc(list, n, func(s span, n uint32) int {
		if s.to <= n {
			return -1
		}
		return 1
	})
	return i < len(list) && list[i].from <= n
}

func (o *out) spans(list []span) {
	o.number(uint64(len(list)))
	for _, s := range list {
		o.number(uint64(s.from))
		o.number(uint64(s.to - s.from))
	}
}

func (i *in) spans() (list []span) {
	for n := i.count(); n > 0; n-- {
		from := uint32(i.number())
		list = append(list, span{from, from + uint32(i.number())})
	}
	return list
}
