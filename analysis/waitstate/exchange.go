package waitstate

import (
	"errors"
	"math"
	"math/bits"
	"slices"
	"time"

	"marple/analysis/callgraph"
)

// Mail is a Transport on which ranks need not know who will send them something next.
type Mail interface {
	Transport
	// Post sends a message, which Next gives, without waiting for that.
	Post(to int, data []byte) error
	// Next gives the next message that was posted to this rank, by whichever; those of one rank in order. No data is that none has
	// come for so long that there may be none.
	Next() (from int, data []byte, err error)
}

// exchange is what a rank that replays its own calls has to do with the others. What others need of it is known before: who needs
// when it enters which call, and its part in operations of communicators, which go along a tree. It goes on as far as it gets; before it
// waits it says what it has to say to each of the others, in a message. So ranks exchange as many messages as the program did, or
// fewer, and nobody holds calls of others.
//
// A replay is over when all ranks say so, along a tree. A rank of which nothing has been heard for long says that it is stuck; if all are,
// or are done, no messages are under way, and nothing has changed when all are asked again, then they wait in a circle, and the one that is
// least far goes on, as where one process replays all ranks.
type exchange struct {
	m     Mail
	asked []asking // in order of calls
	from  []source // of a rank's Needs, in order
	ties  []tie    // by Meet
	index map[meetingID]uint32
	peers map[int32]*peer

	replay      uint64 // how many there have been
	early       []letter
	heavy       []*peer // to whom something is to be said
	owed        int     // parts in operations that are to be done yet
	sent, taken int64
	length      int64
	failed      error // of a message

	// On the way to the end of a replay.
	reports  []report // of ranks below, and of this one
	reported bool
	stuck    bool   // nothing has come for long
	last     report // of all ranks; rank 0's
	circles  int

	posted, got, bytes uint64 // messages, in all replays

	latest time.Time // that replays end; zero: there is no limit. Rank 0's counts
}

// mostCircles are gone on from in a replay; where there are more, ranks do not agree on who waited for whom.
const mostCircles = 1 << 10

// enough bytes for another rank are sent, though this one does not wait yet.
const enough = 1 << 10

// asking is a rank that needs to know when a call is entered, or when its receive is posted.
type asking struct {
	call   uint32
	posted bool
	by     *peer
}

// source of what a call needs: the rank, and the how manieth of the calls that this one needs of it.
type source struct {
	peer *peer
	at   uint32
}

type letter struct {
	from int32
	data []byte
}

// peer is another rank.
type peer struct {
	rank  int32
	needs int     // so many of its calls are waited for
	times []int64 // when it has entered them, as far as it has said
	heard int64   // the last of its times, of whichever kind
	said  int64   // likewise of this rank's
	out   out
}

// tie is this rank's part in an operation of a communicator.
type tie struct {
	comm   *Comm
	number uint32
	kind   Kind
	top    int32 // of the tree: a rank in the communicator
	absent bool  // it was entered by a thread that is not replayed

	entered bool
	own     int64
	last    int64 // to enter, of this part of the tree
	bytes   uint64
	heard   uint32  // ranks next below that have said theirs
	below   []int64 // theirs, of a Prefix
	told    uint32  // likewise: so many know until when they wait
	done    bool    // all of this part of the tree have entered
	known   bool
	until   int64 // this rank waits, if that is known
}

// Items of a message.
const (
	itemCall = iota // the next call that the other one needs has been entered
	itemUp          // the last of a part of a tree has entered an operation
	itemDown        // until when others wait in it
)

// apart is the Program of this rank's calls, which it replays together with the other ranks.
func (x *replay) apart(told *telling) (*Program, error) {
	p := x.programOf(told)
	p.first, p.Lanes = int(x.rank), make([]Lane, 1)
	e := &exchange{m: x.t.(Mail), index: map[meetingID]uint32{}, peers: map[int32]*peer{}, latest: x.latest}
	p.with = e
	i := in{data: told.data}
	if !p.decodeLane(&i, &p.Lanes[0], x.t.Ranks(), e.index) || len(i.data) > 0 {
		return nil, errDamaged
	}
	if err := p.sort(); err != nil {
		return nil, err
	}
	e.ties = make([]tie, len(p.Meets))
	for k := range x.r.Collectives {
		c := &x.r.Collectives[k]
		comm := &x.r.Comms[c.Comm]
		if !among(x.usable[comm.ID], c.Number) {
			continue
		}
		at, known := e.index[meetingID{comm.ID, c.Number}]
		if !known {
			at = uint32(len(e.ties))
			e.index[meetingID{comm.ID, c.Number}] = at
			e.ties = append(e.ties, tie{})
		}
		t := &e.ties[at]
		*t = tie{comm: comm, number: c.Number, kind: c.Kind, absent: !known}
		if c.Kind == FromRoot || c.Kind == ToRoot {
			t.top = c.Root
		}
		if t.top < 0 || uint32(t.top) >= comm.Size || comm.Me < 0 {
			return nil, errDamaged
		}
	}
	if err := e.ask(&p.Lanes[0], x.partners); err != nil {
		return nil, err
	}
	return p, p.measure()
}

// ask has ranks tell each other which of their calls they need.
func (e *exchange) ask(l *Lane, partners []int32) error {
	needs := map[int32][]uint64{}
	for i := range l.Needs {
		if n := &l.Needs[i]; n.By >= 0 {
			needs[n.By] = append(needs[n.By], n.asks())
		}
	}
	for by, list := range needs {
		slices.Sort(list)
		needs[by] = slices.Compact(list)
	}
	rounds := []int{}
	for _, p := range partners {
		rounds = append(rounds, int(p)^e.m.Rank())
	}
	slices.Sort(rounds)
	for _, round := range rounds {
		by, o := int32(round^e.m.Rank()), out{}
		last := uint64(0)
		for _, call := range needs[by] {
			o.number(call - last)
			last = call
		}
		data, err := swap(e.m, int(by), o)
		if err != nil {
			return err
		}
		call := uint64(0)
		for i := (in{data: data}); len(i.data) > 0; {
			call += i.number()
			if i.bad || call>>1 >= uint64(len(l.Calls)) {
				return errDamaged
			}
			e.asked = append(e.asked, asking{uint32(call >> 1), call&1 != 0, e.peer(by)})
		}
		e.peer(by).needs = len(needs[by])
	}
	slices.SortStableFunc(e.asked, func(a, b asking) int { return int(a.call) - int(b.call) })
	e.from = make([]source, len(l.Needs))
	for i := range l.Needs {
		n := &l.Needs[i]
		if n.By < 0 {
			continue
		}
		at, _ := slices.BinarySearch(needs[n.By], n.asks())
		e.from[i] = source{e.peer(n.By), uint32(at)}
		if e.from[i].peer.needs == 0 {
			return errDamaged // it is no partner
		}
	}
	return nil
}

// asks is what another rank is asked for: twice the call, and one more if it is for when its receive is posted.
func (n *Need) asks() uint64 { return uint64(n.Theirs)<<1 | bit(n.Pattern == LateReceiver) }

func (e *exchange) peer(rank int32) *peer {
	p := e.peers[rank]
	if p == nil {
		p = &peer{rank: rank}
		e.peers[rank] = p
	}
	return p
}

// begin of a replay.
func (e *exchange) begin(x *player) error {
	e.replay++
	e.reports, e.reported, e.stuck, e.last, e.circles = e.reports[:0], false, false, report{}, 0
	e.sent, e.taken, e.length, e.owed = 0, 0, 0, 0
	for _, p := range e.peers {
		p.times, p.heard, p.said = p.times[:0], 0, 0
	}
	for k := range e.ties {
		t := &e.ties[k]
		*t = tie{comm: t.comm, number: t.number, kind: t.kind, top: t.top, absent: t.absent, last: math.MinInt64} // which is before the run, too
		e.owed += t.duties()
		if t.kind == Prefix {
			t.below, t.until, t.known = make([]int64, t.children()), math.MinInt64, t.comm.Me == 0
		}
	}
	for k := range e.ties {
		if e.ties[k].absent {
			e.arrive(uint32(k), math.MinInt64, 0) // nobody waits for it
		}
	}
	early := e.early
	e.early = nil
	for _, l := range early {
		if _, err := e.read(x, l); err != nil {
			return err
		}
	}
	return nil
}

// place in the tree of an operation: that of a rank whose number lacks its lowest bit is next above it.
func (t *tie) place() uint32 { return t.placeOf(t.comm.Me) }

func (t *tie) placeOf(member int32) uint32 {
	if member < t.top {
		return uint32(member) + t.comm.Size - uint32(t.top)
	}
	return uint32(member - t.top)
}

func (t *tie) rankAt(place uint32) int32 {
	return worldRank(t.comm.Members, int32((uint64(place)+uint64(t.top))%uint64(t.comm.Size)))
}

func (t *tie) above() int32 { return t.rankAt(t.place() & (t.place() - 1)) }

// children are how many ranks are next below; the k-th is that with bit k in its place.
func (t *tie) children() uint32 { return below(t.place(), t.comm.Size) }

func below(place, size uint32) uint32 {
	n := uint32(bits.TrailingZeros32(place))
	if left := size - 1 - place; n > uint32(bits.Len32(left)) {
		n = uint32(bits.Len32(left))
	}
	return n
}

func (t *tie) child(k uint32) int32 { return t.rankAt(t.place() | 1<<k) }

// duties are what this rank has to do: say who came last in its part of the tree, and take from above until when it waits.
func (t *tie) duties() int {
	switch {
	case t.kind == ToRoot, t.kind == FromRoot, t.place() == 0:
		return 1
	}
	return 2
}

// entered says that a call was, to those that need to know.
func (e *exchange) entered(x *player, call uint32) {
	w := &x.lanes[0]
	for ; w.asked < len(e.asked) && e.asked[w.asked].call == call; w.asked++ {
		at := w.entered[call]
		if e.asked[w.asked].posted {
			at = x.posted(0, call)
		}
		e.say(e.asked[w.asked].by, func(o *out) { o.number(itemCall) }, at)
	}
}

// say has something said to another rank, with a time.
func (e *exchange) say(p *peer, what func(*out), at int64) {
	if p.out == nil {
		p.out = out{}
		p.out.number(e.replay << 1)
		e.heavy = append(e.heavy, p)
	}
	what(&p.out)
	p.out.signed(at - p.said)
	p.said = at
	if len(p.out) >= enough {
		e.failed = errors.Join(e.failed, e.send(p))
	}
}

func (e *exchange) send(p *peer) error {
	data := p.out
	p.out = nil
	e.sent++
	return e.post(int(p.rank), data)
}

func (e *exchange) post(to int, data []byte) error {
	e.posted++
	e.bytes += uint64(len(data))
	return e.m.Post(to, data)
}

func (e *exchange) flush() error {
	for _, p := range e.heavy {
		if p.out != nil {
			if err := e.send(p); err != nil {
				return err
			}
		}
	}
	e.heavy = e.heavy[:0]
	return e.failed
}

func (e *exchange) sayOf(rank int32, item uint64, t *tie, at int64, bytes uint64) {
	e.say(e.peer(rank), func(o *out) {
		o.number(item)
		o.word(t.comm.ID)
		o.number(uint64(t.number))
		o.number(bytes)
	}, at)
}

// arrive has this rank enter an operation.
func (e *exchange) arrive(k uint32, at int64, bytes uint64) {
	t := &e.ties[k]
	t.entered, t.own, t.last, t.bytes = true, at, max(t.last, at), max(t.bytes, bytes)
	if t.kind == FromRoot {
		if t.place() == 0 {
			e.down(k, at, bytes)
		}
		return
	}
	e.up(k)
}

// up says who was last below, when all are known.
func (e *exchange) up(k uint32) {
	t := &e.ties[k]
	if t.kind == Prefix {
		e.spread(t)
	}
	if t.done || !t.entered || t.heard != 1<<t.children()-1 {
		return
	}
	t.done = true
	switch {
	case t.place() > 0:
		e.owed--
		e.sayOf(t.above(), itemUp, t, t.last, t.bytes)
	case t.kind == AllToAll:
		e.down(k, t.last, t.bytes)
	case t.kind == ToRoot:
		t.until, t.known = t.last, true
		fallthrough
	default:
		e.owed--
	}
}

// spread tells those below until when they wait in a Prefix, as soon as that is known: of those behind them it need not be.
func (e *exchange) spread(t *tie) {
	if !t.known || !t.entered {
		return
	}
	until := max(t.until, t.own)
	for i := range uint32(len(t.below)) {
		if i == t.told {
			e.sayOf(t.child(i), itemDown, t, until, 0)
			t.told++
		}
		if t.heard>>i&1 == 0 {
			return
		}
		until = max(until, t.below[i])
	}
}

// down says until when ranks wait.
func (e *exchange) down(k uint32, at int64, bytes uint64) {
	t := &e.ties[k]
	e.owed--
	t.until, t.bytes, t.known = at, max(t.bytes, bytes), true
	if t.kind == Prefix {
		e.spread(t)
		return
	}
	for i := t.children(); i > 0; i-- {
		e.sayOf(t.child(i-1), itemDown, t, at, bytes)
	}
}

// until is when what a call of this rank needs was sent, if that is known.
func (e *exchange) until(l *Lane, need int) (at int64, bytes uint64, known bool) {
	n := &l.Needs[need]
	if n.By >= 0 {
		s := e.from[need]
		if int(s.at) >= len(s.peer.times) {
			return 0, 0, false
		}
		return s.peer.times[s.at], n.Bytes, true
	}
	a := &l.Arrives[n.Theirs]
	t := &e.ties[a.Meet]
	if t.kind == FromRoot || t.kind == Prefix {
		return t.until, a.Bytes, t.known
	}
	return t.until, t.bytes, t.known
}

// turn says what there is to be said, and waits for what others say. It is over when all ranks are done.
func (e *exchange) turn(x *player) (over bool, err error) {
	if err := e.flush(); err != nil {
		return false, err
	}
	if over, err = e.report(x); over || err != nil {
		return over, err
	}
	if e.m.Rank() == 0 && !e.latest.IsZero() && time.Now().After(e.latest) {
		return e.judged(x, verdict{kind: tooLong})
	}
	from, data, err := e.m.Next()
	if err != nil {
		return false, err
	}
	if data == nil {
		e.stuck = true
		return false, nil
	}
	e.got++
	return e.read(x, letter{int32(from), data})
}

// drain takes what is under way when a replay has been given up. Nobody says anything any more.
func (e *exchange) drain() error {
	for {
		all := []int64{int64(e.posted), int64(e.got)}
		i, err := e.together(func() (o out) {
			o.signed(all[0])
			o.signed(all[1])
			return o
		}, func(i *in) { all[0], all[1] = all[0]+i.signed(), all[1]+i.signed() })
		if err != nil {
			return err
		}
		if all[0], all[1] = i.signed(), i.signed(); all[0] == all[1] {
			return nil
		}
		for data := []byte{0}; data != nil; {
			if _, data, err = e.m.Next(); err != nil {
				return err
			}
			if data != nil {
				e.got++
			}
		}
	}
}

// read takes what another rank has said.
func (e *exchange) read(x *player, l letter) (over bool, err error) {
	i := in{data: l.data}
	head := i.number()
	switch replay := head >> 1; {
	case replay > e.replay:
		e.early = append(e.early, l)
		return false, nil
	case replay < e.replay || i.bad:
		return false, errDamaged
	case head&1 != 0:
		if l.from == e.parent() {
			return e.judged(x, i.verdict())
		}
		e.reports = append(e.reports, i.report())
		return false, nil
	}
	e.taken++
	e.stuck = false
	x.ready = append(x.ready, 0)
	p := e.peer(l.from)
	for len(i.data) > 0 {
		item, k, bytes := i.number(), uint32(0), uint64(0)
		if item != itemCall {
			var known bool
			k, known = e.index[meetingID{i.word(), uint32(i.number())}]
			bytes = i.number()
			i.bad = i.bad || !known
		}
		p.heard += i.signed()
		switch {
		case i.bad || item > itemDown || item == itemCall && len(p.times) >= p.needs:
			return false, errDamaged
		case item == itemCall:
			p.times = append(p.times, p.heard)
		case item == itemDown:
			if e.ties[k].known {
				return false, errDamaged
			}
			e.down(k, p.heard, bytes)
		default:
			t := &e.ties[k]
			c := uint32(0)
			for c < t.children() && t.child(c) != l.from {
				c++
			}
			if c == t.children() || t.heard>>c&1 != 0 {
				return false, errDamaged
			}
			t.heard |= 1 << c
			t.last, t.bytes = max(t.last, p.heard), max(t.bytes, bytes)
			if t.kind == Prefix {
				t.below[c] = p.heard
			}
			e.up(k)
		}
	}
	return false, nil
}

// report is what ranks that wait, or are done, say of a replay.
type report struct {
	sent, taken int64 // messages
	open        int64 // ranks that are not done
	until       int64 // the least far of those that wait in a call, by when they would go on
	rank        int32 // that one; or -1
	length      int64 // of the run, by those that are done
}

func (r report) with(s report) report {
	if s.rank >= 0 && (r.rank < 0 || s.until < r.until || s.until == r.until && s.rank < r.rank) {
		r.until, r.rank = s.until, s.rank
	}
	r.sent, r.taken, r.open, r.length = r.sent+s.sent, r.taken+s.taken, r.open+s.open, max(r.length, s.length)
	return r
}

// verdict of rank 0 on all reports.
type verdict struct {
	kind   uint64
	rank   int32 // that goes on
	length int64
}

const (
	askAgain = iota
	isOver
	goesOn
	givenUp
	tooLong
)

var (
	errCircles = errors.New("ranks do not agree on who waited for whom")
	errTooLong = errors.New("to replay together takes ranks longer than it may")
)

func (e *exchange) parent() int32 {
	if e.m.Rank() == 0 {
		return -1
	}
	return int32(e.m.Rank() & (e.m.Rank() - 1))
}

func (e *exchange) children() int { return int(below(uint32(e.m.Rank()), uint32(e.m.Ranks()))) }

// report says how far this part of the tree is, when all of it has nothing to do. Rank 0 says what follows.
func (e *exchange) report(x *player) (over bool, err error) {
	w := &x.lanes[0]
	done := int(w.next) == len(w.entered) && !w.waits() && e.owed == 0
	if e.reported || len(e.reports) < e.children() || !done && !e.stuck {
		return false, nil
	}
	all := report{sent: e.sent, taken: e.taken, rank: -1}
	if done {
		all.length = max(w.end(), 0)
	} else if all.open = 1; w.waits() {
		all.until, all.rank = w.until, int32(e.m.Rank())
	}
	for _, r := range e.reports {
		all = all.with(r)
	}
	e.reports, e.reported = e.reports[:0], true
	if e.m.Rank() > 0 {
		o := out{}
		o.number(e.replay<<1 | 1)
		o.report(all)
		return false, e.post(int(e.parent()), o)
	}
	v := verdict{length: all.length}
	still := all.sent == all.taken
	switch {
	case all.open == 0 && still:
		v.kind = isOver
	case !still || all != e.last:
		v.kind = askAgain
	case all.rank < 0 || e.circles == mostCircles:
		v.kind = givenUp
	default:
		v.kind, v.rank = goesOn, all.rank
		e.circles++
	}
	e.last = all
	return e.judged(x, v)
}

// judged passes a verdict on, and takes it.
func (e *exchange) judged(x *player, v verdict) (over bool, err error) {
	o := out{}
	o.number(e.replay<<1 | 1)
	o.number(v.kind)
	o.number(uint64(v.rank))
	o.signed(v.length)
	for k := e.children(); k > 0; k-- {
		if err := e.post(e.m.Rank()|1<<(k-1), o); err != nil {
			return false, err
		}
	}
	e.reported = false
	switch v.kind {
	case isOver:
		e.length = v.length
		return true, nil
	case givenUp:
		return true, errCircles
	case tooLong:
		return true, errors.Join(errTooLong, e.drain())
	case goesOn:
		if int(v.rank) == e.m.Rank() && x.lanes[0].waits() {
			e.stuck = false
			x.goOn(0)
		}
	}
	return false, nil
}

func (o *out) report(r report) {
	o.signed(r.sent)
	o.signed(r.taken)
	o.signed(r.open)
	o.signed(r.until)
	o.signed(int64(r.rank))
	o.signed(r.length)
}

func (i *in) report() report {
	return report{i.signed(), i.signed(), i.signed(), i.signed(), int32(i.signed()), i.signed()}
}

func (i *in) verdict() verdict { return verdict{i.number(), int32(i.number()), i.signed()} }

// together has what ranks tell put together along a tree to rank 0, and tells it to all.
func (e *exchange) together(tell func() out, hear func(*in)) (*in, error) {
	rank, ranks := e.m.Rank(), e.m.Ranks()
	for k := range e.children() {
		data, err := e.m.Receive(rank | 1<<k)
		if err != nil {
			return nil, err
		}
		i := in{data: data}
		if hear(&i); i.bad || len(i.data) > 0 {
			return nil, errDamaged
		}
	}
	data := []byte(tell())
	if rank > 0 {
		if err := e.m.Send(int(e.parent()), data); err != nil {
			return nil, err
		}
		var err error
		if data, err = e.m.Receive(int(e.parent())); err != nil {
			return nil, err
		}
	}
	for k := e.children(); k > 0 && ranks > 1; k-- {
		if err := e.m.Send(rank|1<<(k-1), data); err != nil {
			return nil, err
		}
	}
	return &in{data: data}, nil
}

// fold puts numbers of all ranks together, each with its likes.
func (x *player) fold(own []int64, f func(x, y int64) int64) []int64 {
	if x.with == nil || x.err != nil || len(own) == 0 {
		return own
	}
	all := slices.Clone(own)
	i, err := x.with.together(func() (o out) {
		for _, n := range all {
			o.signed(n)
		}
		return o
	}, func(i *in) {
		for k := range all {
			all[k] = f(all[k], i.signed())
		}
	})
	if err != nil {
		x.err = err
		return own
	}
	for k := range all {
		all[k] = i.signed()
	}
	return all
}

// union is of the ids of all ranks, in order.
func (x *player) union(ids []callgraph.ID) []callgraph.ID {
	slices.Sort(ids)
	ids = slices.Compact(ids)
	if x.with == nil || x.err != nil {
		return ids
	}
	i, err := x.with.together(func() (o out) {
		for _, id := range ids {
			o.word(uint64(id))
		}
		return o
	}, func(i *in) {
		for len(i.data) > 0 {
			ids = append(ids, callgraph.ID(i.word()))
		}
		slices.Sort(ids)
		ids = slices.Compact(ids)
	})
	if err != nil {
		x.err = err
		return ids
	}
	for ids = nil; len(i.data) > 0; {
		ids = append(ids, callgraph.ID(i.word()))
	}
	return ids
}

// middle gives of each list of numbers, of which each rank has some, the one in the middle. None is less than 0.
func (x *player) middle(lists [][]int64) []int64 {
	n, high, low := make([]int64, len(lists)), make([]int64, len(lists)), make([]int64, len(lists))
	for i, list := range lists {
		slices.Sort(list)
		if n[i] = int64(len(list)); n[i] > 0 {
			high[i] = list[len(list)-1]
		}
	}
	n, high = x.fold(n, sum), x.fold(high, highest)
	for !slices.Equal(low, high) && x.err == nil {
		counts := make([]int64, len(lists))
		for i, list := range lists {
			k, _ := slices.BinarySearch(list, (low[i]+high[i])/2+1)
			counts[i] = int64(k)
		}
		counts = x.fold(counts, sum)
		for i := range lists {
			if mid := (low[i] + high[i]) / 2; counts[i] > (n[i]-1)/2 {
				high[i] = mid
			} else {
				low[i] = mid + 1
			}
		}
	}
	return high
}
