package waitstate

import (
	"cmp"
	"encoding/binary"
	"maps"
	"math/bits"
	"slices"
	"time"

	"marple/analysis/callgraph"
	"marple/analysis/record"
)

// Replay finds this rank's waits. All ranks of the transport call it at the same time; an error is final for
// the transport.
//
// It takes about 100 bytes of memory for each logged event, and for each communicator 2 MiB; twice that where cores were
// short.
func Replay(r *Rank, t Transport) (Table, error) {
	x, table, err := replayed(r, t, limits{program: MostItems})
	if err == nil {
		err = x.scenarios(&table)
	}
	if err == nil {
		table.Cored, err = x.scene.withCores(table.Program)
	}
	return table, err
}

// withCores finds the same of the run with a core for each rank, of which rank 0 has the program; nil where there is none.
func (x *replay) withCores(p *Program) (*Cored, error) {
	then, err := x.cored(p)
	if err != nil || then == nil {
		return nil, err
	}
	y := newReplay(then, x.t)
	y.across, y.latest, y.again = x.across, x.latest, true
	found, err := y.find()
	if err == nil {
		err = y.scenarios(&found)
	}
	if err != nil {
		return nil, err
	}
	found.Program = nil
	return x.cores(then, found), nil
}

func newReplay(r *Rank, t Transport) *replay {
	return &replay{r: r, t: t, rank: int32(t.Rank()), found: make([]uint32, len(r.Calls)), steps: map[int32][]step{}, together: map[uint64]*common{}, moves: map[kin]*seen{}}
}

func replayed(r *Rank, t Transport, within limits) (*replay, Table, error) {
	x := newReplay(r, t)
	x.within = within
	var clocks Table
	if err := x.align(&clocks); err != nil {
		return x, Table{}, err
	}
	table, err := x.find()
	table.Clocks = clocks.Clocks
	return x, table, err
}

// find finds the waits, once all ranks' times are on one clock.
func (x *replay) find() (Table, error) {
	if err := x.match(); err != nil {
		return Table{}, err
	}
	waits := x.waits()
	table := x.r.table(x.rank, waits)
	table.Costs, table.Parts = x.r.costs(waits), []Parts{x.r.parts(x.rank)}
	if err := x.explain(waits, &table); err != nil {
		return table, err
	}
	table.Lost = x.r.Lost
	return table, nil
}

// match finds what calls depended on.
func (x *replay) match() error {
	if err := x.meet(); err != nil {
		return err
	}
	if err := x.messages(); err != nil {
		return err
	}
	return x.collectives()
}

// briefly looks at no more of the run than rank 0 can replay under scenarios.
func (x *replay) briefly() (*replay, error) {
	if x.less == nil || x.left == nil {
		return x, nil
	}
	y := newReplay(x.left.read(x.clock, x.less), x.t)
	y.shows, y.looked, y.span = x.less, uint64(x.less.length()), uint64(x.whole)
	return y, y.match()
}

type replay struct {
	r     *Rank
	t     Transport
	rank  int32
	found []uint32 // by call: index+1 of what it waited for longest
	needs []waited

	within limits
	left   *unread   // that was read
	clock  Clock     // of its host
	less   view      // of the run, for briefly; nil: no less than this
	skew   int64     // the most by which clocks of two hosts may disagree, ns
	whole  int64     // time that it is of
	brief  *replay   // what briefly gives
	scene  *replay   // that is replayed under scenarios: this one, or the brief one
	across bool      // by all ranks together, each its own calls; else by rank 0
	latest time.Time // that ranks do so; zero: there is no limit
	own    *Program  // of this rank's calls, if so
	again  bool      // this is of a run with a core for each rank

	depends []dependence
	begin   int64  // of the first rank
	shows   view   // what of the run this is of; nil: all
	looked  uint64 // see Table
	span    uint64
	asked   []asked // receives that were matched
	moves   map[kin]*seen
	stalls  []stall
	// rendezvous are sends of the rank that are known to wait for their receives; unsure those of which it may be so.
	rendezvous []int32
	unsure     []unsure
	partners   []int32            // ranks that messages went to or came from
	usable     map[uint64][]span  // by communicator: operations that all members have logged
	steps      map[int32][]step   // by partner: when it and this rank were in step
	together   map[uint64]*common // by communicator

	segments []segment // of the critical path, on this rank

	kept    []waited // that are explained, in the order of calls
	excuses []excuse // for waits of other ranks
	shares  []share  // of spent, which would otherwise be made anew for each wait
	windows [windows]window
	next    int    // that is given away
	tallied uint64 // calls, in all windows
	paired  []pair // see pairs
	alone   []int32
}

// asked is when a receive was posted, and when its message was sent.
type asked struct{ when, sent int64 }

// step is a message for which one of two ranks waited: then, within these calls, both were in step.
type step struct {
	mine, theirs uint32
	at           int64
}

// common are the operations on a communicator after which all its members were in step.
type common struct {
	comm    *Comm
	ordinal []uint32 // that lie on the thread that called MPI_Init
	done    []uint32 // calls, in order
}

// offer says that a call could not go on before another rank had entered one of its calls.
func (x *replay) offer(call uint32, p Pattern, until int64, by int32, theirs uint32, path callgraph.ID) {
	if call == NotDone {
		return
	}
	c := &x.r.Calls[call]
	until = min(until, c.End)
	if until <= c.Start || by == x.rank {
		return
	}
	w := waited{call, p, by, theirs, path, until}
	if at := x.found[call]; at == 0 {
		x.needs = append(x.needs, w)
		x.found[call] = uint32(len(x.needs))
	} else if have := &x.needs[at-1]; until > have.until || until == have.until && by < have.by {
		*have = w
	}
}

// waits are this rank's, in the order of calls.
func (x *replay) waits() []waited {
	slices.SortFunc(x.needs, func(a, b waited) int { return cmp.Compare(a.call, b.call) })
	return x.needs
}

// worldRank is the rank in MPI_COMM_WORLD of a member; -1 if it has none.
func worldRank(members []record.Run, rank int32) int32 {
	for _, run := range members {
		if uint32(rank) < run.Count {
			return int32(run.First + uint32(rank)*uint32(run.Stride))
		}
		rank -= int32(run.Count)
	}
	return -1
}

// meet lets every rank know who has something to match with it, and which operations of each communicator
// all its members have logged; the member of rank 0 counts.
func (x *replay) meet() error {
	numbers := make([][]uint32, len(x.r.Comms))
	for _, c := range x.r.Collectives {
		numbers[c.Comm] = append(numbers[c.Comm], c.Number)
	}
	told := map[int32]*out{}
	tell := func(to int32) *out {
		if told[to] == nil {
			told[to] = &out{}
		}
		return told[to]
	}
	for _, list := range [][]Message{x.r.Sends, x.r.Receives} {
		for i := range list {
			if p := list[i].Peer; p >= 0 && int(p) < x.t.Ranks() {
				tell(p)
			}
		}
	}
	sizes := map[uint64]int{}
	for i, c := range x.r.Comms {
		if leader := worldRank(c.Members, 0); len(numbers[i]) > 0 && leader >= 0 && int(leader) < x.t.Ranks() {
			o := tell(leader)
			o.word(c.ID)
			o.spans(spansOf(numbers[i]))
			sizes[c.ID] = int(c.Size)
		}
	}
	arrived, err := x.deliver(told)
	if err != nil {
		return err
	}
	type report struct {
		members int
		common  []span
	}
	reports := map[uint64]*report{}
	partners := map[int32]bool{}
	for p := range told {
		partners[p] = true
	}
	for _, p := range arrived {
		partners[int32(p.from)] = true
		for i := (in{data: p.data}); len(i.data) > 0; {
			id, own := i.word(), i.spans()
			if reports[id] == nil {
				reports[id] = &report{0, own}
			}
			reports[id].members++
			reports[id].common = both(reports[id].common, own)
		}
	}
	// A leader answers those that reported. It is a member, so it knows the size if it took part itself.
	answers := map[int32]*out{}
	for _, p := range arrived {
		for i := (in{data: p.data}); len(i.data) > 0; {
			id := i.word()
			i.spans()
			common := reports[id].common
			if reports[id].members != sizes[id] {
				common = nil
			}
			if answers[int32(p.from)] == nil {
				answers[int32(p.from)] = &out{}
			}
			answers[int32(p.from)].word(id)
			answers[int32(p.from)].spans(common)
		}
	}
	if arrived, err = x.deliver(answers); err != nil {
		return err
	}
	x.usable = map[uint64][]span{}
	for _, p := range arrived {
		for i := (in{data: p.data}); len(i.data) > 0; {
			id := i.word()
			x.usable[id] = i.spans()
		}
	}
	for i, c := range x.r.Comms {
		covered := uint64(0)
		for _, s := range x.usable[c.ID] {
			covered += uint64(s.to - s.from)
		}
		if x.span == 0 { // otherwise some are missing at the edges of what is replayed
			x.r.Lost.Uncovered += uint64(len(numbers[i])) - covered
		}
	}
	delete(partners, x.rank)
	x.partners = slices.Sorted(maps.Keys(partners))
	return nil
}

func (x *replay) deliver(told map[int32]*out) ([]packet, error) {
	var packets []packet
	for to, data := range told {
		packets = append(packets, packet{uint32(x.rank), uint32(to), *data})
	}
	return route(x.t, packets)
}

// envelope is what messages between two ranks are matched by.
type envelope struct {
	comm  uint64
	tag   int32
	parts bool
}

func (m *Message) envelope() envelope { return envelope{m.Comm, m.Tag, m.Parts} }

// half is what the other rank has to know of one end of a message.
type half struct {
	number     uint32
	at, done   uint32 // calls
	start      int64  // of at
	main       bool   // at is of the thread that called MPI_Init
	from, to   int64  // of done: it started and ended
	path       callgraph.ID
	back       comeback
	concurrent bool // with other threads' messages of this envelope
}

// Bytes that a half takes on its way: usually no more than so many, and at least so many.
const (
	mostOfHalf  = 32
	leastOfHalf = 6
)

// messages matches messages with each partner in turn: the k-th send of an envelope with the k-th receive.
// In round i a rank talks to rank XOR i, so that no circle of ranks waits for each other.
func (x *replay) messages() error {
	sends, receives := byPeer(x.r.Sends), byPeer(x.r.Receives)
	x.asked, x.depends = make([]asked, 0, len(x.r.Receives)), make([]dependence, 0, len(x.r.Receives))
	talks := map[int]bool{}
	for _, p := range x.partners {
		talks[int(p)^int(x.rank)] = true
	}
	for _, round := range slices.Sorted(maps.Keys(talks)) {
		p := int32(round ^ int(x.rank))
		mine := [2][]int32{sends[p], receives[p]}
		o := make(out, 0, mostOfHalf*(len(mine[0])+len(mine[1])))
		x.encode(&o, x.r.Sends, mine[0])
		x.encode(&o, x.r.Receives, mine[1])
		data, err := swap(x.t, int(p), o)
		if err != nil {
			return err
		}
		i := in{data: data}
		theirSends, theirReceives := decode(&i), decode(&i)
		if i.bad {
			return errDamaged
		}
		x.pair(p, mine, theirSends, theirReceives)
	}
	x.lateReceivers()
	x.progress()
	x.wrongOrder()
	return nil
}

func byPeer(list []Message) map[int32][]int32 {
	count := map[int32]int{}
	for i := range list {
		count[list[i].Peer]++
	}
	all, by := make([]int32, len(list)), make(map[int32][]int32, len(count))
	for peer, n := range count {
		by[peer], all = all[:0:n], all[n:]
	}
	for i := range list {
		by[list[i].Peer] = append(by[list[i].Peer], int32(i))
	}
	return by
}

// streams sorts messages with one partner by envelope, in order; probes take no part.
func streams(list []Message, which []int32) (keys []envelope, by map[envelope][]int32) {
	if len(which) > 0 {
		one := list[which[0]].envelope()
		if !slices.ContainsFunc(which, func(i int32) bool { return list[i].Peeks || list[i].envelope() != one }) {
			return []envelope{one}, map[envelope][]int32{one: which}
		}
	}
	at := map[envelope]int{}
	var streams [][]int32
	last := -1 // messages of one envelope often come one after the other
	for _, i := range which {
		m := &list[i]
		if m.Peeks {
			continue
		}
		if e := m.envelope(); last < 0 || keys[last] != e {
			k, known := at[e]
			if !known {
				k, at[e] = len(keys), len(keys)
				keys, streams = append(keys, e), append(streams, nil)
			}
			last = k
		}
		streams[last] = append(streams[last], i)
	}
	by = make(map[envelope][]int32, len(keys))
	for k, e := range keys {
		by[e] = streams[k]
	}
	return keys, by
}

func (x *replay) encode(o *out, list []Message, which []int32) {
	keys, by := streams(list, which)
	paths, named := make([]uint32, len(x.r.Paths)), uint32(0) // from 1
	o.number(uint64(len(keys)))
	for _, e := range keys {
		mine := by[e]
		o.word(e.comm)
		o.signed(int64(e.tag))
		o.flag(e.parts)
		concurrent := false
		for _, i := range mine {
			if x.r.Calls[list[i].At].Thread != x.r.Calls[list[mine[0]].At].Thread {
				concurrent = true
			}
		}
		o.flag(concurrent)
		o.number(uint64(len(mine)))
		var last int64
		var at, number uint32
		for _, i := range mine {
			m := &list[i]
			c := &x.r.Calls[m.At]
			o.number(uint64(m.Number - number))
			number = m.Number
			o.signed(c.Start - last)
			o.signed(int64(m.At) - int64(at))
			o.flag(int(m.At) < x.r.Main)
			last, at = c.Start, m.At
			n := paths[c.Path]
			if n == 0 {
				named++
				n, paths[c.Path] = named, named
				o.number(uint64(n - 1))
				o.word(uint64(x.r.Paths[c.Path]))
			} else {
				o.number(uint64(n - 1))
			}
			if m.Done == NotDone || m.Buffered {
				o.number(0)
				continue
			}
			d := &x.r.Calls[m.Done]
			o.number(1 + uint64(m.Done-min(m.Done, m.At)))
			o.signed(d.Start - c.Start)
			o.number(uint64(d.End - d.Start))
			x.r.back(m).encode(o, m.At, c.Start)
		}
	}
}

func decode(i *in) map[envelope][]half {
	by := map[envelope][]half{}
	var paths []callgraph.ID
	for n := i.count(); n > 0; n-- {
		e := envelope{i.word(), int32(i.signed()), i.flag()}
		concurrent, halves := i.flag(), by[e]
		var last int64
		var at, number uint32
		k := i.count()
		halves = slices.Grow(halves, min(k, len(i.data)/leastOfHalf))
		for ; k > 0; k-- {
			number += uint32(i.number())
			h := half{number: number, done: NotDone, concurrent: concurrent}
			last += i.signed()
			at += uint32(i.signed())
			h.start, h.at, h.main = last, at, i.flag()
			switch p := i.number(); {
			case p < uint64(len(paths)):
				h.path = paths[p]
			default:
				h.path = callgraph.ID(i.word())
				paths = append(paths, h.path)
			}
			if d := i.number(); d > 0 {
				h.done = at + uint32(d-1)
				h.from = h.start + i.signed()
				h.to = h.from + int64(i.number())
				h.back = decodeComeback(i, at, h.start)
			}
			halves = append(halves, h)
		}
		by[e] = halves
	}
	return by
}

// match brings the halves of messages with one partner together.
func (x *replay) pair(p int32, mine [2][]int32, theirSends, theirReceives map[envelope][]half) {
	r := x.r
	keys, own := streams(r.Sends, mine[0])
	for _, e := range keys {
		pairs, alone := x.pairs(r.Sends, own[e], theirReceives[e])
		r.Lost.Unmatched += uint64(len(alone))
		if len(pairs) > 0 && (x.concurrent(r.Sends, own[e]) || pairs[0].half.concurrent) {
			r.Lost.Ambiguous += uint64(len(pairs))
			continue
		}
		for _, pair := range pairs {
			m, h := &r.Sends[pair.mine], pair.half
			x.look(p, true, m, h)
			start := r.Calls[m.At].Start
			if h.done != NotDone && start > h.from && start <= h.to {
				x.inStep(p, m.At, h.done, start) // it waited for this send
			}
			if m.Done == NotDone || m.Buffered {
				continue
			}
			// A send that ends just when the receive is posted has waited for it only if it is known to wait.
			d := &r.Calls[m.Done]
			waited := h.start > d.Start && (h.start < d.End || m.Synchronous && h.start == d.End)
			switch {
			case m.Synchronous:
				x.waitsForReceive(pair.mine, p, h, waited)
			case waited:
				x.unsure = append(x.unsure, unsure{pair.mine, p, h})
			}
		}
	}
	keys, own = streams(r.Receives, mine[1])
	for _, e := range keys {
		pairs, alone := x.pairs(r.Receives, own[e], theirSends[e])
		for _, i := range alone {
			if r.Receives[i].Done != NotDone { // what was cancelled and never completed is no message
				r.Lost.Unmatched++
			}
		}
		if len(pairs) > 0 && (x.concurrent(r.Receives, own[e]) || pairs[0].half.concurrent) {
			r.Lost.Ambiguous += uint64(len(pairs))
			continue
		}
		for _, pair := range pairs {
			m, h := &r.Receives[pair.mine], pair.half
			x.look(p, false, m, h)
			x.late(m, h, p)
			x.depend(m.Done, p, h.at, h.main, m.Bytes, LateSender)
			start := r.Calls[m.At].Start
			x.asked = append(x.asked, asked{start, h.start})
			if h.done != NotDone && start > h.from && start < h.to {
				x.inStep(p, m.At, h.done, start) // it waited for this receive
			}
		}
	}
	// A probe waits for the message that the next receive of its envelope takes.
	for _, i := range mine[1] {
		m := &r.Receives[i]
		if !m.Peeks {
			continue
		}
		theirs := theirSends[m.envelope()]
		if k, ok := slices.BinarySearchFunc(theirs, m.Number, func(h half, n uint32) int { return cmp.Compare(h.number, n) }); ok {
			x.late(m, &theirs[k], p)
			x.depend(m.Done, p, theirs[k].at, theirs[k].main, 0, LateSender)
		}
	}
}

// waitsForReceive notes that a send cannot end before it is received, and waited for that.
func (x *replay) waitsForReceive(send, p int32, h *half, waited bool) {
	m := &x.r.Sends[send]
	x.depend(m.Done, p, h.at, h.main, m.Bytes, LateReceiver)
	x.rendezvous = append(x.rendezvous, send)
	if waited {
		x.offer(m.Done, LateReceiver, h.start, p, h.at, h.path)
		x.inStep(p, m.Done, h.at, h.start)
	}
}

// unsure is a send that ended after it was received, which may be a coincidence.
type unsure struct {
	send, partner int32
	half          *half
}

// lateReceivers says which sends have waited for their receives, when it is known what else was waited for: a call that
// completes a send and a receive goes on when the other rank has come, who sends and receives then, and most of the wait was
// for its message. Without that the send has waited. Of messages of one size to one rank either all are meant to wait or none.
func (x *replay) lateReceivers() {
	type class struct {
		partner int32
		bits    int
	}
	classOf := func(u *unsure) class { return class{u.partner, bits.Len64(x.r.Sends[u.send].Bytes)} }
	explained := func(u *unsure) (wait int64, other bool) {
		call := x.r.Sends[u.send].Done
		start := x.r.Calls[call].Start
		wait = u.half.start - start
		if at := x.found[call]; at > 0 {
			other = 2*(x.needs[at-1].until-start) >= wait
		}
		return wait, other
	}
	alone, beside := map[class]int64{}, map[class]int64{}
	others := make([]bool, len(x.unsure))
	for i := range x.unsure {
		u := &x.unsure[i]
		wait, other := explained(u)
		if others[i] = other; other {
			beside[classOf(u)] += wait
		} else {
			alone[classOf(u)] += wait
		}
	}
	for i := range x.unsure {
		if u := &x.unsure[i]; !others[i] || alone[classOf(u)] >= beside[classOf(u)] {
			x.waitsForReceive(u.send, u.partner, u.half, !others[i])
		}
	}
	x.unsure = nil
}

type pair struct {
	mine int32
	half *half
}

// pairs are the messages of an envelope of which both halves are known; alone are those of which the other one is missing,
// and not because it lies where nothing is replayed. Both are good until the next call.
func (x *replay) pairs(list []Message, own []int32, theirs []half) (pairs []pair, alone []int32) {
	pairs, alone = slices.Grow(x.paired[:0], len(own)), x.alone[:0]
	for _, i := range own {
		n := list[i].Number
		for len(theirs) > 0 && theirs[0].number < n {
			theirs = theirs[1:]
		}
		if len(theirs) > 0 && theirs[0].number == n {
			pairs = append(pairs, pair{i, &theirs[0]})
		} else if x.span == 0 {
			alone = append(alone, i)
		}
	}
	x.paired, x.alone = pairs, alone
	return pairs, alone
}

func (x *replay) concurrent(list []Message, which []int32) bool {
	for _, i := range which {
		if x.r.Calls[list[i].At].Thread != x.r.Calls[list[which[0]].At].Thread {
			return true
		}
	}
	return false
}

// late looks at a receive or probe.
func (x *replay) late(m *Message, h *half, p int32) {
	if m.Done == NotDone {
		return
	}
	d := &x.r.Calls[m.Done]
	if h.start > d.End+x.skew {
		x.r.Lost.Backward++
	}
	if h.start <= d.Start {
		return
	}
	x.offer(m.Done, LateSender, h.start, p, h.at, h.path)
	x.inStep(p, m.Done, h.at, h.start)
}

// inStep notes when both ranks were in step, and within which calls.
func (x *replay) inStep(p int32, mine, theirs uint32, at int64) {
	if int(mine) < x.r.Main {
		x.steps[p] = append(x.steps[p], step{mine, theirs, at})
	}
}

// wrongOrder tells among the late senders those that were waited for while a message which had been sent
// earlier was asked for only later.
func (x *replay) wrongOrder() {
	slices.SortFunc(x.asked, func(a, b asked) int { return cmp.Compare(a.when, b.when) })
	for i := len(x.asked) - 2; i >= 0; i-- {
		x.asked[i].sent = min(x.asked[i].sent, x.asked[i+1].sent)
	}
	for i := range x.needs {
		w := &x.needs[i]
		at, _ := slices.BinarySearchFunc(x.asked, x.r.Calls[w.call].End, func(a asked, t int64) int { return cmp.Compare(a.when, t) })
		if w.pattern == LateSender && at < len(x.asked) && x.asked[at].sent < w.until {
			w.pattern = WrongOrder
		}
	}
	x.asked = nil
}

// entry is who entered an operation last of those it depends on, as far as is known.
type entry struct {
	time int64
	rank int32 // in MPI_COMM_WORLD; -1: nobody yet
	call uint32
	path callgraph.ID
}

const entrySize = 24

func later(a, b entry) entry {
	if b.rank >= 0 && (a.rank < 0 || b.time > a.time || b.time == a.time && b.rank < a.rank) {
		return b
	}
	return a
}

// batch is how many operations of a communicator go into one message.
const batch = 1 << 15

// collectives finds the last to enter each operation, communicator by communicator in the order of their ids,
// so that no circle of ranks waits for each other.
func (x *replay) collectives() error {
	operations := make([][]int32, len(x.r.Comms))
	for i := range x.r.Collectives {
		c := &x.r.Collectives[i]
		if among(x.usable[x.r.Comms[c.Comm].ID], c.Number) {
			operations[c.Comm] = append(operations[c.Comm], int32(i))
		}
	}
	order := []int{}
	for i, c := range x.r.Comms {
		if len(operations[i]) > 0 && c.Size > 1 {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(x.r.Comms[a].ID, x.r.Comms[b].ID) })
	for _, i := range order {
		list := operations[i]
		for first := 0; first < len(list); first += batch {
			if err := x.collective(&x.r.Comms[i], list[first:min(len(list), first+batch)]); err != nil {
				return err
			}
		}
	}
	return nil
}

// collective finds the last to enter for a batch of operations. Up a binomial tree goes the last to enter
// below; down goes the last of all, or, for a Prefix, the last of the lower ranks.
func (x *replay) collective(c *Comm, list []int32) error {
	own := make([]entry, len(list))
	for i, at := range list {
		o := &x.r.Collectives[at]
		own[i].rank = -1
		if o.Kind == AllToAll || o.Kind == Prefix || (o.Kind == FromRoot) == (o.Root == c.Me) {
			call := &x.r.Calls[o.At]
			own[i] = entry{call.Start, x.rank, o.At, x.r.Paths[call.Path]}
		}
	}
	me := uint32(c.Me)
	below := slices.Clone(own)
	type child struct {
		rank   int32
		before []entry // of Prefix operations: the last to enter of my own part, below the child
	}
	var children []child
	bit := uint32(1)
	for ; bit < c.Size && me&bit == 0; bit <<= 1 {
		if me+bit >= c.Size {
			continue
		}
		k := child{worldRank(c.Members, int32(me+bit)), slices.Clone(below)}
		data, err := x.t.Receive(int(k.rank))
		if err != nil {
			return err
		}
		theirs, err := decodeEntries(data, len(list))
		if err != nil {
			return err
		}
		for i := range below {
			below[i] = later(below[i], theirs[i])
		}
		children = append(children, k)
	}
	last, before := below, make([]entry, len(list))
	for i := range before {
		before[i].rank = -1
	}
	if me != 0 {
		parent := int(worldRank(c.Members, int32(me-bit)))
		if err := x.t.Send(parent, encodeEntries(below)); err != nil {
			return err
		}
		data, err := x.t.Receive(parent)
		if err != nil {
			return err
		}
		if last, err = decodeEntries(data, len(list)); err != nil {
			return err
		}
		copy(before, last) // for a Prefix
	}
	for _, k := range slices.Backward(children) {
		down := slices.Clone(last)
		for i, at := range list {
			if x.r.Collectives[at].Kind == Prefix {
				down[i] = later(before[i], k.before[i])
			}
		}
		if err := x.t.Send(int(k.rank), encodeEntries(down)); err != nil {
			return err
		}
	}
	together := x.together[c.ID]
	if together == nil {
		together = &common{comm: c}
		x.together[c.ID] = together
	}
	for i, at := range list {
		o := &x.r.Collectives[at]
		e := last[i]
		if o.Kind == Prefix {
			e = before[i]
		}
		waits := o.Kind == AllToAll || o.Kind == Prefix || (o.Kind == ToRoot) == (o.Root == c.Me)
		if waits && e.rank >= 0 {
			x.offer(o.Done, o.Pattern, e.time, e.rank, e.call, e.path)
			if o.Kind != AllToAll && o.Done != NotDone && e.time > x.r.Calls[o.Done].Start {
				x.inStep(e.rank, o.Done, e.call, e.time)
			}
		}
		if o.Kind == AllToAll && o.Done != NotDone && int(o.Done) < x.r.Main {
			together.ordinal = append(together.ordinal, o.Number)
			together.done = append(together.done, o.Done)
		}
	}
	return nil
}

func encodeEntries(list []entry) []byte {
	data := make([]byte, 0, entrySize*len(list))
	for _, e := range list {
		data = binary.LittleEndian.AppendUint64(data, uint64(e.time))
		data = binary.LittleEndian.AppendUint32(data, uint32(e.rank))
		data = binary.LittleEndian.AppendUint32(data, e.call)
		data = binary.LittleEndian.AppendUint64(data, uint64(e.path))
	}
	return data
}

func decodeEntries(data []byte, n int) ([]entry, error) {
	if len(data) != n*entrySize {
		return nil, errDamaged
	}
	list := make([]entry, n)
	for i := range list {
		d := data[i*entrySize:]
		list[i] = entry{int64(binary.LittleEndian.Uint64(d)), int32(binary.LittleEndian.Uint32(d[8:])), binary.LittleEndian.Uint32(d[12:]),
			callgraph.ID(binary.LittleEndian.Uint64(d[16:]))}
	}
	return list, nil
}
