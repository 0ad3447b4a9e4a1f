package waitstate

import (
	"cmp"
	"slices"

	"marple/analysis/callgraph"
	"marple/analysis/stat"
)

// Cored is what a run would have been if every rank had had a core: each does between its calls what it did, without
// the time for which it had none; it waits as long as the order of things makes necessary; and what a call takes beside
// waiting it takes then, too.
//
// Ranks that share cores mostly wait for one that waits for a core, so that what they would wait for otherwise cannot
// be seen in their times.
type Cored struct {
	Length uint64        // ns, from the first rank's beginning to the last one's end
	Ranks  []stat.Ranked // all, in order: Value is ns in calls then, Other what it was
	Calls  []CoredCall
	Found  Table // what ranks would have waited for each other
}

// CoredCall is the time in calls on a path.
type CoredCall struct {
	Path    callgraph.ID
	Ns, Was uint64
	Ranks   []stat.Ranked // Value and Other likewise
}

// CoresShort is the part of all ranks' time without a core from which on a run with cores is looked for.
const CoresShort = 0.1

// cored gives this rank's calls as they would have been if every rank had had a core; nil where that adds nothing, or
// cannot be known: where logs have ended or are longer than rank 0 can take, or several threads call MPI.
func (x *replay) cored() (*Rank, error) {
	r := x.r
	missed, known := int64(0), int64(1)
	for i := range r.Calls {
		missed += r.Calls[i].OffCore + r.Calls[i].Coreless
	}
	if r.Lost.Ended > 0 || x.more || r.Main < len(r.Calls) || r.Main == 0 {
		known = 0
	}
	sums, err := agree(x.t, []int64{missed, r.End - r.Begin, known}, sum)
	if err != nil || sums[0] == 0 || float64(sums[0]) < CoresShort*float64(sums[1]) || sums[2] < int64(x.t.Ranks()) {
		return nil, err
	}
	// All messages are matched once more, now with the time that calls would have been entered at.
	again := *r
	y := newReplay(&again, x.t)
	own, err := x.own()
	if err != nil {
		return nil, err
	}
	y.busy, y.usable, y.partners = x.busyWith(own), x.usable, x.partners
	if err := y.messages(); err != nil {
		return nil, err
	}
	items := y.items(MostItems)
	waits, err := y.waitsOf(items)
	if err != nil {
		return nil, err
	}
	again.Lost, again.Begin = Lost{}, x.begin
	again.Calls = y.retimed(x.begin, items, waits, own)
	if n := len(r.Calls); n > 0 {
		again.End = again.Calls[n-1].End + max(r.End-r.Calls[n-1].End, 0)
	}
	return &again, nil
}

// own is what calls take beside waiting, and with a core. What of it passed without one is not known to have been
// before or after what was waited for; it is taken for after that, as far as it goes. A call may also go on because
// another rank, which has to see to the transfer, has no core: so no call takes longer than the quickest tenth of those
// of its path do, on the rank in the middle of those that have any.
func (x *replay) own() ([]int64, error) {
	own := make([]int64, len(x.r.Calls))
	byPath := make([][]int64, len(x.r.Paths))
	needs := x.needs
	for i := range x.r.Calls {
		c := &x.r.Calls[i]
		from := c.Start
		if len(needs) > 0 && needs[0].call == uint32(i) {
			from, needs = needs[0].until, needs[1:]
		}
		own[i] = max(c.End-from-c.Coreless, 0)
		if !c.Stays {
			byPath[c.Path] = append(byPath[c.Path], own[i])
		}
	}
	quick := map[callgraph.ID]int64{}
	for path, list := range byPath {
		if len(list) > 0 {
			slices.Sort(list)
			quick[x.r.Paths[path]] = list[len(list)/10]
		}
	}
	told := quick
	if len(quick) > max(LeastWaits, MostItems/x.t.Ranks()) { // more than rank 0 can take of each
		told = nil
	}
	middle, err := x.middle(told)
	if err != nil {
		return nil, err
	}
	for i := range own {
		c := &x.r.Calls[i]
		if c.Stays {
			continue
		}
		most, known := middle[x.r.Paths[c.Path]]
		if !known {
			most = quick[x.r.Paths[c.Path]]
		}
		own[i] = min(own[i], most)
	}
	return own, nil
}

// middle gives of each of this rank's paths the median, the lower one, of what ranks tell.
func (x *replay) middle(own map[callgraph.ID]int64) (map[callgraph.ID]int64, error) {
	encode := func(all map[callgraph.ID]int64) out {
		o := out{}
		for id, ns := range all {
			o.word(uint64(id))
			o.signed(ns)
		}
		return o
	}
	decode := func(p packet) map[callgraph.ID]int64 {
		all := map[callgraph.ID]int64{}
		for i := (in{data: p.data}); len(i.data) > 0; {
			id := callgraph.ID(i.word())
			all[id] = i.signed()
		}
		return all
	}
	told, err := collect(x.t, packet{uint32(x.rank), 0, encode(own)})
	if err != nil {
		return nil, err
	}
	var answers []packet
	if x.rank == 0 {
		values := map[callgraph.ID][]int64{}
		for _, p := range told {
			for id, ns := range decode(p) {
				values[id] = append(values[id], ns)
			}
		}
		for _, list := range values {
			slices.Sort(list)
		}
		for _, p := range told {
			theirs := decode(p)
			for id := range theirs {
				theirs[id] = values[id][(len(values[id])-1)/2]
			}
			answers = append(answers, packet{0, p.from, encode(theirs)})
		}
	}
	if answers, err = route(x.t, answers); err != nil {
		return nil, err
	}
	if len(answers) != 1 {
		return nil, errDamaged
	}
	return decode(answers[0]), nil
}

// busyWith is spendings for calls that take time of their own, and gaps with a core.
func (x *replay) busyWith(own []int64) []int64 {
	busy := make([]int64, len(own))
	sum, last := int64(0), x.r.Begin
	for i := range x.r.Calls {
		c := &x.r.Calls[i]
		sum += max(c.Start-last-c.OffCore, 0)
		busy[i] = sum
		sum += own[i]
		last = max(last, c.End)
	}
	return busy
}

// waitsOf has rank 0 replay all ranks' items, and gives how long this rank waits in each of its own.
func (x *replay) waitsOf(items []item) ([]int64, error) {
	o := out{}
	o.signed(0) // that they began at different times is for want of cores, too
	o.signed(0)
	o.number(uint64(len(items)))
	encodeItems(&o, items)
	all, err := collect(x.t, packet{uint32(x.rank), 0, o})
	if err != nil {
		return nil, err
	}
	var answers []packet
	if x.rank == 0 {
		n, err := newNetwork(x.t.Ranks(), all)
		if err != nil {
			return nil, err
		}
		n.run()
		for rank := range n.ranks {
			l := &n.ranks[rank]
			o := out{}
			for k := range l.items {
				until := l.now
				if k+1 < len(l.items) {
					until = l.waited[k+1]
				}
				o.number(uint64(until - l.waited[k]))
			}
			answers = append(answers, packet{0, uint32(rank), o})
		}
	}
	if answers, err = route(x.t, answers); err != nil {
		return nil, err
	}
	if len(answers) != 1 {
		return nil, errDamaged
	}
	waits, i := make([]int64, len(items)), in{data: answers[0].data}
	for k := range waits {
		waits[k] = int64(i.number())
	}
	if i.bad {
		return nil, errDamaged
	}
	return waits, nil
}

// retimed are the calls at the times at which they would have been.
func (x *replay) retimed(begin int64, items []item, waits, own []int64) []Call {
	calls := slices.Clone(x.r.Calls)
	waited := int64(0)
	for i := range calls {
		c := &calls[i]
		c.Start = begin + x.busy[i] + waited
		for len(items) > 0 && items[0].call == uint32(i) {
			waited += waits[0]
			items, waits = items[1:], waits[1:]
		}
		c.End = begin + x.busy[i] + waited + own[i]
		c.OffCore, c.Coreless = 0, 0
	}
	return calls
}

// cores compares a rank's calls with what they would have been.
func (x *replay) cores(then *Rank, found Table) *Cored {
	c := &Cored{Length: uint64(max(then.End-x.begin, 0)), Found: found}
	rows := map[uint32]*CoredCall{}
	all := stat.Ranked{Rank: x.rank}
	for i := range then.Calls {
		now, was := &then.Calls[i], &x.r.Calls[i]
		row := rows[was.Path]
		if row == nil {
			row = &CoredCall{Path: x.r.Paths[was.Path]}
			rows[was.Path] = row
		}
		row.Ns, row.Was = row.Ns+uint64(now.End-now.Start), row.Was+uint64(was.End-was.Start)
	}
	for _, row := range rows {
		row.Ranks = []stat.Ranked{{Rank: x.rank, Value: row.Ns, Other: row.Was}}
		all.Value, all.Other = all.Value+row.Ns, all.Other+row.Was
		c.Calls = append(c.Calls, *row)
	}
	slices.SortFunc(c.Calls, compareCored)
	c.Ranks = []stat.Ranked{all}
	return c
}

func compareCored(x, y CoredCall) int { return cmp.Compare(x.Path, y.Path) }

func mergeCored(a, b *Cored, top int) *Cored {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	return &Cored{
		Length: max(a.Length, b.Length),
		Ranks:  stat.MergeSorted(a.Ranks, b.Ranks, func(x, y stat.Ranked) int { return cmp.Compare(x.Rank, y.Rank) }, nil),
		Calls: stat.MergeSorted(a.Calls, b.Calls, compareCored, func(x, y CoredCall) CoredCall {
			return CoredCall{x.Path, x.Ns + y.Ns, x.Was + y.Was, stat.MergeTop(x.Ranks, y.Ranks, top)}
		}),
		Found: Merge(a.Found, b.Found, top),
	}
}

func (o *out) cored(c *Cored) {
	o.number(c.Length)
	o.ranks(c.Ranks)
	o.number(uint64(len(c.Calls)))
	for _, x := range c.Calls {
		o.word(uint64(x.Path))
		o.number(x.Ns)
		o.number(x.Was)
		o.ranks(x.Ranks)
	}
	found := c.Found.Encode()
	o.number(uint64(len(found)))
	*o = append(*o, found...)
}

func (i *in) cored() *Cored {
	c := &Cored{Length: i.number(), Ranks: i.ranks()}
	for n := i.count(); n > 0; n-- {
		c.Calls = append(c.Calls, CoredCall{callgraph.ID(i.word()), i.number(), i.number(), i.ranks()})
	}
	if found := i.bytes(); i.bad || c.Found.decode(found, false) != nil {
		i.data, i.bad = nil, true
	}
	return c
}
