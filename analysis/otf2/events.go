package otf2

import (
	"fmt"
	"strings"

	"marple/analysis/mpi"
	"marple/analysis/record"
)

// thread makes the records of one location.
type thread struct {
	w     *writer
	left  *Left
	out   *record.ThreadWriter // nil before its measurement begins
	main  bool
	ended bool
	first uint64 // when its first event was, ns
	last  uint64
	seen  bool
	stack []uint64 // regions, of which the outermost `deepest` are told
	off   bool     // nothing is recorded
	since uint64   // then, ns

	call     call
	requests map[uint64]request
	started  uint32 // operations
}

// call is an MPI call that is being read: what happened in it is known when it ends.
type call struct {
	open      bool
	name      string
	inside    int // calls inside it
	start     uint64
	sent      []message
	received  []message
	done      []completion
	posted    []uint64 // requests, of receives
	begun     []message
	operation *operation
}

type message struct {
	peer, comm, tag, bytes, request uint64
}

type operation struct{ what, comm, root, sent, received uint64 }

// completion of a request; received tells what has come.
type completion struct {
	request   uint64
	received  *message
	cancelled bool
}

// request is an operation that goes on.
type request struct {
	number uint32
	path   uint32
	comm   uint16
	peer   int32
	tag    int32
	bytes  uint64
	send   bool
}

func (t *thread) at(ticks uint64) uint64 {
	now := t.w.t.ns(ticks)
	if !t.seen {
		t.first, t.seen = now, true
	}
	t.last = max(t.last, now)
	return t.last
}

// begin starts the measurement of this thread; the regions that it is in have begun now, as far as that is known.
func (t *thread) begin(at uint64) error {
	if t.w.threads >= record.ThreadsMost {
		t.left.Threads++
		t.ended = true
		return nil
	}
	t.w.threads++
	t.out = t.w.Thread(at, t.main)
	t.w.logs = append(t.w.logs, t.out.Keep(t.w.budget))
	for _, region := range t.stack[:min(len(t.stack), deepest)] {
		t.enterRegion(region, at)
	}
	return nil
}

func (t *thread) enterRegion(id, at uint64) {
	t.out.Enter(t.w.Node(record.Node{Parent: t.out.Where(), Kind: record.NodeRegion, Name: t.w.String(t.w.t.regions[id].name)}), at)
}

// function is the name of an MPI function, as the standard has it.
func function(name string) string {
	name, _, _ = strings.Cut(name, "(")
	return strings.TrimSpace(name)
}

// initialises tells of the functions that a measurement begins behind.
func initialises(name string) bool {
	switch strings.ToLower(name) {
	case "mpi_init", "mpi_init_thread", "mpi_session_init":
		return true
	}
	return false
}

func (t *thread) isMPI(id uint64) bool {
	r := t.w.t.regions[id]
	return r.mpi || strings.HasPrefix(r.name, "MPI_")
}

func (t *thread) enter(ticks, id uint64) error {
	at := t.at(ticks)
	if t.ended {
		t.left.Early++
		return nil
	}
	if t.call.open {
		t.call.inside++
		return nil
	}
	if t.isMPI(id) {
		t.call = call{open: true, name: function(t.w.t.regions[id].name), start: at}
		if t.out == nil && !initialises(t.call.name) {
			return t.begin(t.first)
		}
		return nil
	}
	t.stack = append(t.stack, id)
	switch {
	case t.out == nil:
		t.left.Early++
	case len(t.stack) > deepest:
		t.left.Deep++
	default:
		t.enterRegion(id, at)
	}
	return nil
}

func (t *thread) leave(ticks, id uint64) error {
	at := t.at(ticks)
	switch {
	case t.ended:
		t.left.Early++
	case t.call.open && t.call.inside > 0:
		t.call.inside--
	case t.call.open:
		if !t.isMPI(id) {
			return fmt.Errorf("%s is left in the middle of %s", t.w.t.regions[id].name, t.call.name)
		}
		return t.finish(at)
	case len(t.stack) == 0:
		return fmt.Errorf("%s is left, and was not entered", t.w.t.regions[id].name)
	default:
		if t.out != nil && len(t.stack) <= deepest {
			t.out.Exit(at)
		}
		t.stack = t.stack[:len(t.stack)-1]
	}
	return nil
}

// finish records the call that has just ended.
func (t *thread) finish(end uint64) error {
	c := t.call
	t.call = call{}
	f := mpi.Of(c.name)
	if f == nil {
		f = mpi.Known(c.name, record.OpLocal, 0)
		if c.operation != nil {
			f = mpi.OfOTF2(int64(c.operation.what))
		}
	}
	if initialises(c.name) {
		if t.out != nil {
			return nil // of another session
		}
		return t.begin(end)
	}
	if t.out == nil {
		return nil
	}
	path := t.w.MPI(t.out.Where(), c.name, f.Op, f.Flags)
	made := record.Call{Path: path, Start: c.start, Duration: end - c.start, Peer: record.NoPeer, Hit: f.Op == record.OpTest && len(c.done) > 0}
	var rest []message // received beside the call's own
	switch {
	case f.Op == record.OpFinalize:
		made.Comm = t.w.world() // all wait for each other there
	case c.operation != nil:
		o := c.operation
		made.Collective, made.Comm, made.Out, made.In = true, t.w.comm(o.comm), o.sent, o.received
		if o.root < undefined-16 { // the last ones say that there is none, or that it is somewhere else
			made.Peer = int32(min(o.root, 1<<31-1))
		}
	case f.Op.Sends() && len(c.begun) == 1:
		m := c.begun[0]
		made.Comm, made.Peer, made.Tag, made.Out, made.Started = t.w.comm(m.comm), peer(m.peer), peer(m.tag), m.bytes, true
		t.goesOn(m.request, path, &made, true)
		c.begun = nil
	case f.Op.Sends() && len(c.sent) > 0:
		m := c.sent[0]
		made.Comm, made.Peer, made.Tag, made.Out = t.w.comm(m.comm), peer(m.peer), peer(m.tag), m.bytes
		made.Started = f.Flags&record.Nonblocking != 0
		made.Complete = made.Started // nothing is told of its end
		if made.Started {
			t.started++
		}
		c.sent, rest = c.sent[1:], c.received
	case f.Op == record.OpRecv && len(c.posted) == 1:
		made.Peer, made.Tag, made.Started = record.Any, record.Any, true
		t.goesOn(c.posted[0], path, &made, false)
		c.posted = nil
	case f.Op == record.OpRecv && len(c.received) > 0:
		m := c.received[0]
		made.Comm, made.Peer, made.Tag, made.In = t.w.comm(m.comm), peer(m.peer), peer(m.tag), m.bytes
		rest = c.received[1:]
	default:
		rest = c.received
	}
	t.out.Call(made)
	for _, m := range rest {
		t.out.ReceivedAs(path, t.w.comm(m.comm), peer(m.peer), peer(m.tag), m.bytes)
	}
	for _, m := range c.begun { // persistent operations, several at once
		t.start(m.request, request{path: path, comm: t.w.comm(m.comm), peer: peer(m.peer), tag: peer(m.tag), bytes: m.bytes, send: true}, record.OpSend)
	}
	for _, id := range c.posted {
		t.start(id, request{path: path, peer: record.Any, tag: record.Any}, record.OpRecv)
	}
	for _, d := range c.done {
		r, known := t.requests[d.request]
		if !known {
			continue
		}
		delete(t.requests, d.request)
		if d.cancelled {
			r.comm, r.peer = 0, record.ProcNull
		} else if m := d.received; m != nil {
			r.comm, r.peer, r.tag, r.bytes = t.w.comm(m.comm), peer(m.peer), peer(m.tag), m.bytes
		}
		t.out.CompletedAs(r.number, r.path, r.comm, r.peer, r.tag, r.bytes, r.send)
	}
	if f.Op == record.OpFinalize && t.main {
		t.leaveAll(end)
		t.ended, t.w.end = true, end
	}
	return nil
}

// goesOn notes the operation that a call has started.
func (t *thread) goesOn(id uint64, path uint32, c *record.Call, send bool) {
	t.requests[id] = request{t.started, path, c.Comm, c.Peer, c.Tag, c.Out, send}
	t.started++
}

// start records one of several operations that a call has started.
func (t *thread) start(id uint64, r request, op record.Op) {
	r.number = t.started
	t.requests[id] = r
	t.out.Posted(r.path, op, r.comm, r.peer, r.tag, r.number, r.bytes)
	t.started++
}

// record notes that events are recorded from here on, or are not.
func (t *thread) record(ticks uint64, on bool) {
	now := t.at(ticks)
	if t.off && t.out != nil && !t.ended {
		t.left.Off += now - t.since
	}
	t.off, t.since = !on, now
}

// close ends what is open where the trace ends. Where that is within a call other than MPI_Finalize, the rank has not come back.
func (t *thread) close() {
	if t.out == nil && !t.main {
		t.left.Silent++
	}
	if t.out == nil || t.ended && t.main {
		return
	}
	if c := &t.call; c.open {
		if f := mpi.Of(c.name); f == nil || f.Op != record.OpFinalize {
			t.out.Inside(c.name, c.start)
			t.w.Header().State = record.Running
		}
	}
	t.leaveAll(t.last)
	if t.main {
		t.w.end = max(t.w.end, t.last)
	}
}

// leaveAll closes the regions that this is in.
func (t *thread) leaveAll(at uint64) {
	for range min(len(t.stack), deepest) {
		t.out.Exit(at)
	}
}

// peer is a rank or a tag as records have it.
func peer(x uint64) int32 { return int32(min(x, 1<<31-1)) }
