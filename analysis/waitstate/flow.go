package waitstate

// Bounds of what is remembered of a log beside what is replayed.
const (
	// mostFlows is how many envelopes a rank's sends, and its receives, may have; messages of further ones are not matched.
	mostFlows = 1 << 16
	// mostQueued is how many messages may have been posted after one that is not complete; then it counts as if it were.
	mostQueued = 1 << 16
	// mostGoingOn is how many operations of a thread are followed to their completion; of more the latest are.
	mostGoingOn = 1 << 16
)

// rawEnvelope is an envelope in the terms of a log: a communicator's index, and a rank in it.
type rawEnvelope struct {
	comm      uint16
	parts     bool
	peer, tag int32
}

// flow is the row of all messages of one envelope: the k-th that was sent is the k-th for which a receive was posted.
type flow struct {
	Comm  uint64
	Peer  int32
	count uint32
	kept  int // where the last one was that is replayed; see builder.shown
}

type state uint8

const (
	waiting state = iota // it is not known yet whether it will be a message, or whose
	settled
	peeks // a probe: it has the number of the message after it, and counts as none
)

// queued is a message that was posted after one that is waiting.
type queued struct {
	flow    *flow // nil: none that could be matched
	message int32 // in the rank's list, or -1
	state   state
}

// list is a rank's sends or its receives, and numbers them in the order in which they were posted.
type list struct {
	to     *[]Message
	flows  map[rawEnvelope]*flow
	recent [1 << recentBits]struct {
		envelope rawEnvelope
		flow     *flow
	}
	ring        []queued // a power of two of them
	first, next uint64
}

const (
	recentBits = 6
	noPlace    = ^uint64(0) // of a message that is not queued
	noNumber   = ^uint32(0) // of one that cannot be matched
)

func newList(to *[]Message) *list {
	return &list{to: to, flows: map[rawEnvelope]*flow{}}
}

func (l *list) add(m Message) int32 {
	m.Number = noNumber
	*l.to = append(*l.to, m)
	return int32(len(*l.to) - 1)
}

// flow of an envelope, or nil where it is not known what to match.
func (b *builder) flow(l *list, e rawEnvelope) *flow {
	if e.peer < 0 || e.tag < 0 || e.comm == 0 {
		return nil
	}
	recent := &l.recent[(uint32(e.peer)*0x9e3779b1^uint32(e.tag)*0x85ebca6b^uint32(e.comm)*0xc2b2ae35)>>(32-recentBits)]
	if recent.flow != nil && recent.envelope == e {
		return recent.flow
	}
	f, ok := l.flows[e]
	if !ok && len(l.flows) < mostFlows {
		if id, peer := b.peer(e.comm, e.peer); peer >= 0 {
			f = &flow{Comm: id, Peer: peer}
		}
		l.flows[e] = f
	}
	recent.envelope, recent.flow = e, f
	return f
}

func (l *list) number(q queued) {
	if q.flow == nil {
		return
	}
	n := q.flow.count
	if q.state != peeks {
		q.flow.count++
	}
	if q.message >= 0 {
		(*l.to)[q.message].Number = n
	}
}

// post has a message numbered, at once or when all before it are settled. It gives its place.
func (l *list) post(q queued) uint64 {
	if l.first == l.next && q.state != waiting {
		l.number(q)
		return noPlace
	}
	if l.next-l.first == mostQueued {
		l.at(l.first).state = settled
		l.drain()
	}
	if n := l.next - l.first; n == uint64(len(l.ring)) {
		ring := make([]queued, max(16, 2*n))
		for i := l.first; i < l.next; i++ {
			ring[i&uint64(len(ring)-1)] = *l.at(i)
		}
		l.ring = ring
	}
	l.next++
	*l.at(l.next - 1) = q
	return l.next - 1
}

func (l *list) at(place uint64) *queued { return &l.ring[place&uint64(len(l.ring)-1)] }

func (l *list) drain() {
	for ; l.first < l.next && l.at(l.first).state != waiting; l.first++ {
		l.number(*l.at(l.first))
	}
}

// flowOf a message that was posted.
func (l *list) flowOf(place uint64) *flow {
	if place == noPlace || place < l.first {
		return nil
	}
	return l.at(place).flow
}

// settle says what has become of one.
func (l *list) settle(place uint64, f *flow, message int32) {
	if place == noPlace || place < l.first {
		return
	}
	*l.at(place) = queued{f, message, settled}
	l.drain()
}

// finish numbers what was never completed, too, as far as it is known what it was.
func (l *list) finish() {
	for i := l.first; i < l.next; i++ {
		if q := l.at(i); q.state == waiting {
			q.state = settled
		}
	}
	l.drain()
}

// pending is an operation that goes on after its call: a message, or, without a list, a collective operation.
type pending struct {
	list      *list
	what      Message
	operation Collective
	message   int32 // in its list, or in Collectives; -1 if it is not replayed
	position  uint64
	visit     visit
	number    uint32
	goesOn    bool
}

// operations are those of a thread that go on, by number.
type operations struct {
	ring []pending // a power of two of them
}

func (o *operations) slot(number uint32) *pending { return &o.ring[number&uint32(len(o.ring)-1)] }

func (o *operations) put(p pending, number uint32) {
	p.number, p.goesOn = number, true
	for len(o.ring) == 0 || o.slot(number).goesOn && len(o.ring) < mostGoingOn {
		old := o.ring
		o.ring = make([]pending, max(16, 2*len(old)))
		for i := range old {
			if old[i].goesOn {
				*o.slot(old[i].number) = old[i]
			}
		}
	}
	*o.slot(number) = p
}

// take gives an operation, which is complete; it is good until the next is put.
func (o *operations) take(number uint32) *pending {
	if len(o.ring) == 0 {
		return nil
	}
	p := o.slot(number)
	if !p.goesOn || p.number != number {
		return nil
	}
	p.goesOn = false
	return p
}
