package world

import (
	"fmt"
	"slices"
)

// This file moves messages between two ranks. A mailbox belongs to one receiver
// and one context; its queues hold what arrived in order of (arrival, source)
// and what was posted in order of posting, and no message is in it that one of
// its posted receives would take.

// Wildcards of the standard ABI.
const (
	AnySource = -1
	AnyTag    = -2
)

// Mode is how a send completes.
type Mode int

// A Standard send is eager up to Config.Eager bytes; a Synchronous one always
// waits for its receive; a Ready or Buffered one is Eager at any size.
const (
	Standard Mode = iota
	Synchronous
	Eager
)

// Send posts a message to a rank of the world.
type Send struct {
	Mode    Mode
	Dest    int
	Tag     int
	Context uint64
	Data    []byte
}

// Recv posts a receive, of the held message Message if that is not 0.
type Recv struct {
	Source  int
	Tag     int
	Context uint64
	Message uint64
}

// Probe looks for a message that has arrived; Take holds it for a later Recv.
// Without Call.Block it costs a tick.
type Probe struct {
	Source  int
	Tag     int
	Context uint64
	Take    bool
}

type message struct {
	source, tag int
	data        []byte
	sent        uint64
	arrival     uint64
	sender      *request // of a rendezvous, to complete with the receive
}

type boxKey struct {
	rank    int
	context uint64
}

type mailbox struct {
	arrived  []*message
	posted   []posting
	probes   []probing
	inFlight int
	last     map[int]uint64 // arrival of the latest message of each source
}

type posting struct {
	source, tag int
	request     *request
}

type probing struct {
	op   *Probe
	call *call
}

func (m *message) matches(source, tag int) bool {
	return (source == AnySource || source == m.source) && (tag == AnyTag || tag == m.tag)
}

func (w *World) box(key boxKey) *mailbox {
	b := w.boxes[key]
	if b == nil {
		b = &mailbox{last: map[int]uint64{}}
		w.boxes[key] = b
	}
	return b
}

// tidy forgets a mailbox that holds nothing. Then no message is in flight, so
// the arrivals it remembers are past and bind no later message.
func (w *World) tidy(key boxKey) {
	b := w.boxes[key]
	if b != nil && b.inFlight == 0 && len(b.arrived)+len(b.posted)+len(b.probes) == 0 {
		delete(w.boxes, key)
	}
}

func (op *Send) begin(w *World, c *call) error {
	m := &message{source: c.rank, tag: op.Tag, data: op.Data, sent: w.now + w.cfg.Overhead}
	m.arrival = m.sent + w.cfg.Latency
	request := w.newRequest(c.rank)
	if op.Mode == Synchronous || op.Mode == Standard && len(op.Data) > w.cfg.Eager {
		m.sender = request
	} else {
		m.arrival += w.cfg.Transfer(uint64(len(op.Data)))
		w.complete(request, m.sent)
	}
	key := boxKey{op.Dest, op.Context}
	box := w.box(key)
	m.arrival = max(m.arrival, box.last[c.rank])
	box.last[c.rank] = m.arrival
	box.inFlight++
	w.at(m.arrival, classArrival, c.rank, func() error {
		box.inFlight--
		w.arrive(box, m)
		w.tidy(key)
		return nil
	})
	if request.done && !c.Block {
		w.reply(c, m.sent, Reply{})
		return nil
	}
	w.posted(c, request, m.sent)
	return nil
}

func (w *World) arrive(b *mailbox, m *message) {
	for i, p := range b.posted {
		if m.matches(p.source, p.tag) {
			b.posted = remove(b.posted, i)
			w.deliver(m, p.request)
			return
		}
	}
	b.arrived = append(b.arrived, m)
	b.probes = slices.DeleteFunc(b.probes, func(p probing) bool {
		if i := b.find(p.op.Source, p.op.Tag); i >= 0 {
			w.reply(p.call, w.now, w.probed(b, i, p.op.Take))
			return true
		}
		return false
	})
}

// deliver matches a message with a receive: when both are known.
func (w *World) deliver(m *message, r *request) {
	if m.sender == nil {
		w.received(m, r, max(m.arrival, r.posted))
		return
	}
	t := transfer{m, r}
	switch {
	case !w.cfg.Weak:
		t.from(w, max(m.sent, r.posted))
	case w.inside(m.source) && w.inside(r.rank):
		t.from(w, w.now)
	default:
		r.cancel = nil
		w.unmoved = append(w.unmoved, t)
	}
}

// transfer is a rendezvous of which both halves are known.
type transfer struct {
	m *message
	r *request
}

func (t transfer) from(w *World, start uint64) {
	at := max(t.m.arrival, start+w.cfg.Latency+w.cfg.Transfer(uint64(len(t.m.data))))
	w.complete(t.m.sender, at)
	w.received(t.m, t.r, at)
}

// inside tells whether a rank is in a call.
func (w *World) inside(rank int) bool {
	return slices.ContainsFunc(w.ranks[rank].calls, func(c *call) bool { return !w.cfg.Virtual || c.Time <= w.now })
}

// move lets transfers go on that have waited for a rank, which now makes a call.
func (w *World) move(rank int) {
	w.unmoved = slices.DeleteFunc(w.unmoved, func(t transfer) bool {
		ready := (t.m.source == rank || t.r.rank == rank) && w.inside(t.m.source) && w.inside(t.r.rank)
		if ready {
			t.from(w, w.now)
		}
		return ready
	})
}

func (w *World) received(m *message, r *request, at uint64) {
	r.result = Result{
		Source: m.source, Tag: m.tag,
		Bytes: uint64(len(m.data)), Chunks: [][]byte{m.data},
	}
	w.complete(r, at+w.cfg.Overhead)
}

func (op *Recv) begin(w *World, c *call) error {
	r := w.newRequest(c.rank)
	r.isReceive = true
	if op.Message != 0 {
		m := w.held[op.Message]
		if m == nil {
			return fmt.Errorf("rank %d holds no message %d in %s", c.rank, op.Message, c.Name)
		}
		delete(w.held, op.Message)
		w.deliver(m, r)
		w.posted(c, r, w.now)
		return nil
	}
	key := boxKey{c.rank, op.Context}
	box := w.box(key)
	if i := box.find(op.Source, op.Tag); i >= 0 {
		w.deliver(box.take(i), r)
	} else {
		box.posted = append(box.posted, posting{op.Source, op.Tag, r})
		r.cancel = func() {
			box.posted = slices.DeleteFunc(box.posted, func(p posting) bool { return p.request == r })
			w.tidy(key)
		}
	}
	w.tidy(key)
	w.posted(c, r, w.now)
	return nil
}

func (op *Probe) begin(w *World, c *call) error {
	key := boxKey{c.rank, op.Context}
	box := w.box(key)
	i := box.find(op.Source, op.Tag)
	switch {
	case i < 0 && c.Block:
		box.probes = append(box.probes, probing{op, c})
	case i < 0:
		w.reply(c, w.now+w.cfg.Tick, Reply{})
	case c.Block:
		w.reply(c, w.now, w.probed(box, i, op.Take))
	default:
		w.reply(c, w.now+w.cfg.Tick, w.probed(box, i, op.Take))
	}
	w.tidy(key)
	return nil
}

func (w *World) probed(b *mailbox, i int, take bool) Reply {
	m := b.arrived[i]
	result := Result{Source: m.source, Tag: m.tag, Bytes: uint64(len(m.data))}
	if take {
		b.take(i)
		w.lastID++
		w.held[w.lastID] = m
		result.Base = w.lastID
	}
	return Reply{Flag: true, Results: []Result{result}}
}

func (b *mailbox) find(source, tag int) int {
	return slices.IndexFunc(b.arrived, func(m *message) bool { return m.matches(source, tag) })
}

func (b *mailbox) take(i int) *message {
	m := b.arrived[i]
	b.arrived = remove(b.arrived, i)
	return m
}

// remove deletes s[i]; taking the first, which is the usual case, moves nothing.
func remove[T any](s []T, i int) []T {
	if i == 0 {
		var zero T
		s[0] = zero
		return s[1:]
	}
	return slices.Delete(s, i, i+1)
}
