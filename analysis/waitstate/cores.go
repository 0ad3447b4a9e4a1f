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
// cannot be known: where logs have ended, or several threads call MPI.
func (x *replay) cored(p *Program) (*Rank, error) {
	r := x.r
	missed, known := int64(0), int64(1)
	for i := range r.Calls {
		missed += r.Calls[i].OffCore + r.Calls[i].Coreless
	}
	if r.Lost.Ended > 0 || r.Main < len(r.Calls) || r.Main == 0 || x.own == nil && x.rank == 0 && p == nil {
		known = 0
	}
	sums, err := agree(x.t, []int64{missed, r.End - r.Begin, known}, sum)
	if err != nil || sums[0] == 0 || float64(sums[0]) < CoresShort*float64(sums[1]) || sums[2] < int64(x.t.Ranks()) {
		return nil, err
	}
	return x.under(p, CoreForEach())
}

// under gives this rank's calls as they would have been under a scenario, which ranks replay together, or rank 0, which has all. They
// begin when the first rank did.
func (x *replay) under(p *Program, s Scenario) (*Rank, error) {
	var answers []packet
	var err error
	if x.own != nil {
		var times *Times
		if times, err = x.own.under(s); err == nil {
			answers = []packet{{data: times.encode(0)}}
		}
	} else {
		if x.rank == 0 {
			times := p.Under(s)
			for rank := range p.Lanes {
				answers = append(answers, packet{0, uint32(rank), times.encode(rank)})
			}
		}
		answers, err = route(x.t, answers)
	}
	if err != nil {
		return nil, err
	}
	if len(answers) != 1 {
		return nil, errDamaged
	}
	r, i, at := *x.r, in{data: answers[0].data}, x.begin
	r.Lost, r.Begin, r.Calls = Lost{}, x.begin, slices.Clone(r.Calls)
	for k := range r.Calls {
		c := &r.Calls[k]
		c.Start = at + i.signed()
		c.End = c.Start + i.signed()
		c.OffCore, c.Coreless = 0, 0
		at = c.End
	}
	r.End = at + i.signed()
	if i.bad {
		return nil, errDamaged
	}
	r.Sends = slices.Clone(r.Sends)
	for _, k := range x.rendezvous {
		r.Sends[k].Synchronous = true // as it was found to be
	}
	return &r, nil
}

// encode gives when a rank enters and leaves its calls.
func (t *Times) encode(rank int) out {
	o, last := out{}, int64(0)
	for k, entered := range t.Entered[rank] {
		left := t.Left[rank][k]
		o.signed(entered - last)
		o.signed(left - entered)
		last = left
	}
	o.signed(t.Ended[rank] - last)
	return o
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
