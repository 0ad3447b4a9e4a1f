package waitstate

import (
	"errors"

	"marple/analysis/callgraph"
	"marple/analysis/record"
	"marple/analysis/stat"
)

// Find is what a process does at the end: it replays its logs together with all other ranks. Rank 0 gets what all
// have found, also where an error has ended what they replay under scenarios. Together, and Auto, need a Mail.
func Find(p *record.Process, logs map[int]Log, t Transport, who Players) (Table, error) {
	within := atTheEnd
	within.who = who
	return find(ofProcess(p, logs), t, within)
}

func ofProcess(p *record.Process, logs map[int]Log) *Rank {
	return Later(p, logs, func() (*record.Process, map[int]Log, error) { return p, logs, nil })
}

// Later is a rank whose logs are read when all ranks have said how much there is, as much of them as is replayed. open gives the
// process and its logs again, perhaps more than once; they are not kept.
func Later(p *record.Process, logs map[int]Log, open func() (*record.Process, map[int]Log, error)) *Rank {
	u := &unread{sight: sightOf(p.Header()), extent: extentOf(p, Clock{}), open: open}
	for _, log := range logs {
		u.extent.events += log.Events()
	}
	return &Rank{Sight: u.sight, unread: u}
}

type unread struct {
	sight  sight
	extent extent
	open   func() (*record.Process, map[int]Log, error)
	err    error         // of the logs
	turn   chan struct{} // so many ranks of this process read at once; nil: there are no others
}

func (u *unread) read(common Clock, v view) *Rank {
	if u.turn != nil {
		u.turn <- struct{}{}
		defer func() { <-u.turn }()
	}
	p, logs, err := u.open()
	if err == nil {
		var r *Rank
		if r, err = read(p, logs, common, v); err == nil {
			return r
		}
	}
	u.err = err
	return &Rank{Sight: u.sight, Lost: Lost{Ended: 1}} // the others count on this rank
}

// Unread says why a rank's logs could not be read, which were to be read Later.
func (r *Rank) Unread() error {
	if r.unread == nil {
		return nil
	}
	return r.unread.err
}

func find(r *Rank, t Transport, within limits) (Table, error) {
	x, own, err := replayed(r, t, within)
	if err != nil {
		return Table{}, err
	}
	return x.ofAll(own)
}

// ofAll is what all ranks have found, and what follows from scenarios; rank 0's.
func (x *replay) ofAll(own Table) (Table, error) {
	t, top := x.t, stat.Top(x.t.Ranks())
	all, err := gather(t, own, top)
	if err != nil {
		return Table{}, err
	}
	if t.Rank() == 0 {
		all.Looked, all.Span = x.looked, x.span
	}
	all.scale(x.looked, x.span)
	if err := x.scenarios(&all); err != nil {
		return all, err
	}
	y := x.scene
	enlarge(y.looked, y.span, &all.Ideal, &all.Replayed)
	cored, err := y.withCores(all.Program)
	if errors.Is(err, errTooLong) { // on all ranks
		y = x.brief
		y.leave()
		cored, err = y.withCores(all.Program)
	}
	if err != nil || cored == nil {
		return all, err
	}
	second, err := gather(t, Table{Cored: cored}, top)
	all.Cored = second.Cored
	(&Table{Cored: all.Cored}).scale(y.looked, y.span)
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
	return append([]*uint64{&t.Ranks, &t.Events, &t.Bytes, &t.Length, &t.Useful, &t.Explained, &t.Ideal, &t.Replayed, &t.Players, &t.Looked, &t.Span}, t.Lost.Fields()...)
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
