package waitstate

import (
	"marple/analysis/callgraph"
	"marple/analysis/record"
	"marple/analysis/stat"
)

// Find is what a process does at the end: it replays its logs together with all other ranks. Rank 0 gets what all
// have found, also where an error has ended the second replay, with cores.
func Find(p *record.Process, logs map[int]Log, t Transport) (Table, error) {
	return find(&Rank{Sight: sightOf(p.Header()), unread: &unread{p, logs}}, t)
}

// unread is what a rank has logged. How much of it is read is known when all ranks have said how much there is.
type unread struct {
	p    *record.Process
	logs map[int]Log
}

func (u *unread) extent() extent {
	e := extentOf(u.p, Clock{})
	for _, log := range u.logs {
		e.events += log.Events()
	}
	return e
}

func (u *unread) read(common Clock, v view) *Rank {
	r, err := read(u.p, u.logs, common, v)
	if err != nil { // the others count on this rank
		r = &Rank{Sight: sightOf(u.p.Header()), Lost: Lost{Ended: 1}}
	}
	return r
}

func find(r *Rank, t Transport) (Table, error) {
	top := stat.Top(t.Ranks())
	x, own, err := replayed(r, t)
	if err != nil {
		return Table{}, err
	}
	all, err := gather(t, own, top)
	if err != nil {
		return Table{}, err
	}
	if t.Rank() == 0 {
		all.Looked, all.Span = x.looked, x.span
	}
	all.scale(x.looked, x.span)
	cored, err := x.withCores(all.Program)
	if err != nil || cored == nil {
		return all, err
	}
	second, err := gather(t, Table{Cored: cored}, top)
	all.Cored = second.Cored
	(&Table{Cored: all.Cored}).scale(x.looked, x.span)
	return all, err
}

// gather merges tables along a binomial tree.
func gather(t Transport, own Table, top int) (Table, error) {
	rank, ranks := t.Rank(), t.Ranks()
	for bit := 1; bit < ranks; bit <<= 1 {
		if rank&bit != 0 {
			return Table{}, t.Send(rank-bit, own.Encode())
		}
		if rank+bit >= ranks {
			continue
		}
		data, err := t.Receive(rank + bit)
		if err != nil {
			return Table{}, err
		}
		var theirs Table
		if err := theirs.Decode(data); err != nil {
			return Table{}, err
		}
		own = Merge(own, theirs, top)
	}
	return own, nil
}

// Encode gives the table as bytes for another rank.
func (t *Table) Encode() []byte {
	o := out{}
	for _, x := range t.numbers() {
		o.number(*x)
	}
	o.number(uint64(len(t.Waits)))
	for _, w := range t.Waits {
		o.number(uint64(w.Pattern))
		o.word(uint64(w.Path))
		o.word(uint64(w.For))
		o.number(w.N)
		o.number(w.Ns)
		o.number(w.Max)
		o.ranks(w.Ranks)
	}
	o.number(uint64(len(t.Delays)))
	for _, d := range t.Delays {
		o.number(uint64(d.Pattern))
		o.word(uint64(d.Path))
		o.number(d.Direct)
		o.number(d.Passed)
		o.ranks(d.Ranks)
	}
	o.number(uint64(len(t.Critical)))
	for _, s := range t.Critical {
		o.word(uint64(s.Path))
		o.number(s.Ns)
		o.ranks(s.Ranks)
	}
	o.number(uint64(len(t.Pairs)))
	for _, p := range t.Pairs {
		o.number(uint64(p.Rank))
		o.number(uint64(p.For))
		o.number(p.N)
		o.number(p.Ns)
	}
	o.number(uint64(len(t.Costs)))
	for _, x := range t.Costs {
		o.word(uint64(x.Path))
		o.number(x.N)
		o.number(x.Ns)
		o.number(x.Sure)
	}
	o.number(uint64(len(t.Parts)))
	for _, p := range t.Parts {
		o.number(uint64(p.Rank))
		for _, ns := range p.Useful {
			o.number(ns)
		}
	}
	o.clocks(t.Clocks)
	o.flag(t.Cored != nil)
	if t.Cored != nil {
		o.cored(t.Cored)
	}
	o.flag(t.Program != nil)
	if t.Program != nil {
		o = append(o, t.Program.Encode()...)
	}
	return o
}

// Decode is the inverse of Encode. Damaged data gives an error and never more memory than a constant times its
// length.
func (t *Table) Decode(data []byte) error { return t.decode(data, true) }

func (t *Table) decode(data []byte, whole bool) error {
	i := in{data: data}
	*t = Table{}
	for _, x := range t.numbers() {
		*x = i.number()
	}
	for n := i.count(); n > 0; n-- {
		t.Waits = append(t.Waits, Wait{Pattern(i.number()), callgraph.ID(i.word()), callgraph.ID(i.word()), i.number(), i.number(), i.number(), i.ranks()})
	}
	for n := i.count(); n > 0; n-- {
		t.Delays = append(t.Delays, Delay{Pattern(i.number()), callgraph.ID(i.word()), i.number(), i.number(), i.ranks()})
	}
	for n := i.count(); n > 0; n-- {
		t.Critical = append(t.Critical, Step{callgraph.ID(i.word()), i.number(), i.ranks()})
	}
	for n := i.count(); n > 0; n-- {
		t.Pairs = append(t.Pairs, Pair{int32(i.number()), int32(i.number()), i.number(), i.number()})
	}
	for n := i.count(); n > 0; n-- {
		t.Costs = append(t.Costs, Cost{callgraph.ID(i.word()), i.number(), i.number(), i.number()})
	}
	for n := i.count(); n > 0; n-- {
		p := Parts{Rank: int32(i.number())}
		for k := range p.Useful {
			p.Useful[k] = i.number()
		}
		t.Parts = append(t.Parts, p)
	}
	t.Clocks = i.clocks()
	if i.flag() {
		if !whole {
			return errDamaged
		}
		t.Cored = i.cored()
	}
	if i.flag() {
		program, err := DecodeProgram(i.data)
		if err != nil || !whole {
			return errDamaged
		}
		t.Program, i.data = program, nil
	}
	if i.bad || len(i.data) > 0 {
		return errDamaged
	}
	return nil
}

func (t *Table) numbers() []*uint64 {
	return append([]*uint64{&t.Ranks, &t.Events, &t.Bytes, &t.Length, &t.Useful, &t.Explained, &t.Ideal, &t.Replayed, &t.Looked, &t.Span}, t.Lost.Fields()...)
}

func (o *out) ranks(list []stat.Ranked) {
	o.number(uint64(len(list)))
	for _, r := range list {
		o.number(uint64(r.Rank))
		o.number(r.Value)
		o.number(r.Other)
		o.number(r.Count)
	}
}

func (i *in) ranks() (list []stat.Ranked) {
	for n := i.count(); n > 0; n-- {
		list = append(list, stat.Ranked{Rank: int32(i.number()), Value: i.number(), Other: i.number(), Count: i.number()})
	}
	return list
}
