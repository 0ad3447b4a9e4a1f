package profile

import (
	"marple/analysis/callgraph"
	"marple/analysis/record"
	"marple/analysis/waitstate"
)

// Logs are those of a process's threads, by number.
type Logs map[int]waitstate.Log

// mostTurns is how many events of a log are followed: those of the first 1.5 MiB, about, in some hundredths of a second.
const mostTurns = 1 << 18

// turns follows the messages of a rank in order, and what it computes before each: does the message go the way the last one
// between the same two ranks went, as along a pipeline, or the other way, as in an exchange?
type turns struct {
	c        *comms
	nodes    []record.Node
	last     uint64 // tick at which the last event ended
	off      uint64 // ticks since without a core
	computed uint64 // ticks
	charged  uint64 // of these, before the last message
	with     map[int32]turn
	world    map[member]int32 // ranks in MPI_COMM_WORLD
}

// member is a rank in a communicator.
type member struct {
	comm uint16
	rank int32
}

// turn is which way the last message between a rank and another one went, and what had been computed by the time of the
// last one to it, and of the last one from it, plus one tick; 0 if there was none.
type turn struct {
	computed [2]uint64
	way      record.Direction
}

// follow adds to the peers what the log of the main thread tells. A log that ends early tells as much as it has; a damaged
// one, and one that is longer than mostTurns, too.
func (c *comms) follow(main record.Thread, log waitstate.Log) {
	t := turns{c: c, nodes: c.p.Nodes(), last: main.Begin, with: map[int32]turn{}, world: map[member]int32{}}
	events := 0
	_ = log.Each(func(e *record.Logged) bool {
		t.event(e)
		events++
		return events < mostTurns
	})
}

func (t *turns) event(e *record.Logged) {
	switch e.Kind {
	case record.LogOffCore:
		t.off += e.Duration
	case record.LogBegin:
		t.last, t.off = e.Start, 0
	case record.LogEnter, record.LogExit, record.LogCall:
		t.computed += max(e.Start, t.last+t.off) - (t.last + t.off)
		t.last, t.off = e.Start, 0
		if e.Kind == record.LogCall {
			t.last += e.Duration
			t.call(e)
		}
	case record.LogReceived, record.LogCompleted:
		if e.Brings() && !e.Cancelled() {
			t.message(record.Received, e)
		}
	case record.LogPosted:
		if !e.Brings() && !e.Collective() {
			t.message(record.Sent, e)
		}
	}
}

func (t *turns) call(e *record.Logged) {
	if e.Failed() || e.Hit() || int(e.Path) >= len(t.nodes) {
		return
	}
	switch n := &t.nodes[e.Path]; {
	case n.Flags&record.Persistent != 0:
	case n.Op.Sends():
		t.message(record.Sent, e)
	case n.Op == record.OpRecv && n.Flags&record.Nonblocking == 0:
		t.message(record.Received, e)
	}
}

func (t *turns) message(way record.Direction, e *record.Logged) {
	if e.Peer < 0 || int(e.Comm) >= len(t.c.members) {
		return
	}
	who := member{e.Comm, e.Peer}
	to, known := t.world[who]
	if !known {
		to = worldRank(t.c.members[e.Comm], e.Peer)
		t.world[who] = to
	}
	if to < 0 {
		return
	}
	now, last := t.computed+1, t.with[to]
	before := last.computed
	if last != (turn{}) && last.way != way {
		t.c.peer(to).Turns++
		t.c.link(e.Path, to).Turns++
	}
	if since := t.computed - t.charged; last != (turn{}) && since > 0 {
		// After an exchange both are as long ago.
		same, other := now-before[way], now-before[1-way]
		onward := before[way] > 0 && (before[1-way] == 0 || same < other-other/3)
		ns := t.c.clock.Ns(since)
		t.c.peer(to).turned(onward, ns)
		t.c.link(e.Path, to).turned(onward, ns)
	}
	before[way] = now
	t.with[to] = turn{before, way}
	t.charged = t.computed
}

func (p *Peer) turned(onward bool, ns uint64) {
	if onward {
		p.Onward += ns
	} else {
		p.Back += ns
	}
}

// peer makes the entry of a rank if need be.
func (c *comms) peer(to int32) *Peer {
	if c.peers[to] == nil {
		c.peers[to] = &Peer{To: to}
	}
	return c.peers[to]
}

// link makes the entry of a rank on a path if need be.
func (c *comms) link(path uint32, to int32) *Peer {
	key := link{to: to}
	if n := c.places.Call(path); n.Kind == callgraph.KindMPI {
		key.node = n.ID
	}
	if c.links[key] == nil {
		c.links[key] = &Link{Node: key.node, Peer: Peer{To: to}}
	}
	return &c.links[key].Peer
}
