package profile

import (
	"math"

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
	with     map[int32]*turn
	members  map[member]*turn // nil: not a rank in MPI_COMM_WORLD
	recent   [recentTurns]recent
	pieces   float64 // that were computed before messages
	roots    float64 // of these, added up
	round    round
}

// round is what a rank exchanges between two pieces of computing: with whom, and on which call paths.
type round struct {
	partners, links [mostInRound]inRound
	with, on        int // how many there are
}

// mostInRound partners of a round are kept: whoever has more exchanges with many at once.
const mostInRound = 64

type inRound struct {
	peer *Peer
	with *turn
	ways uint8 // in which there were messages, a bit each
}

// piece is the part of a usual piece of computing from which on one divides rounds: to copy a message together does not. What is
// usual goes by square roots, so that few long pieces do not hide many short ones.
const piece = 1. / 3

// recent is what the last message of a call path with a member was added to: the next one mostly is of a few of these.
type recent struct {
	path       uint32
	who        member
	with       *turn
	peer, link *Peer
}

const recentTurns = 16

// member is a rank in a communicator.
type member struct {
	comm uint16
	rank int32
}

// turn is a rank, which way the last message between a rank and another one went, and what had been computed by the time of the
// last one to it, and of the last one from it, plus one tick; 0 if there was none. flow is the way of the last round in which messages
// went one way only, as a bit.
type turn struct {
	to       int32
	known    bool // there was a message
	computed [2]uint64
	way      record.Direction
	flow     uint8
}

// follow adds to the peers what the log of the main thread tells. A log that ends early tells as much as it has; a damaged
// one, and one that is longer than mostTurns, too.
func (c *comms) follow(main record.Thread, log waitstate.Log) {
	t := turns{c: c, nodes: c.p.Nodes(), last: main.Begin, with: map[int32]*turn{}, members: map[member]*turn{}}
	events := 0
	_ = log.Each(func(e *record.Logged) bool {
		t.event(e)
		events++
		return events < mostTurns
	})
	t.round.end()
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
	r := t.find(e.Path, member{e.Comm, e.Peer})
	if r.with == nil {
		return
	}
	now, last := t.computed+1, r.with
	before := &last.computed
	since := t.computed - t.charged
	if r.link == nil {
		r.peer, r.link = t.c.peer(last.to), t.c.link(e.Path, last.to)
	}
	if since > 0 {
		root := math.Sqrt(float64(since))
		if root*t.pieces >= piece*t.roots {
			t.round.end()
		}
		t.pieces++
		t.roots += root
	}
	t.round.add(r, way)
	if last.known && since > 0 {
		// After an exchange both are as long ago.
		same, other := now-before[way], now-before[1-way]
		onward := before[way] > 0 && (before[1-way] == 0 || same < other-other/3)
		ns := t.c.clock.Ns(since)
		r.peer.turned(onward, ns)
		r.link.turned(onward, ns)
	}
	before[way], last.way, last.known = now, way, true
	t.charged = t.computed
}

func (x *round) add(r *recent, way record.Direction) {
	put := func(list *[mostInRound]inRound, n int, p *Peer) int {
		for i := range list[:n] {
			if list[i].peer == p {
				list[i].ways |= 1 << way
				return n
			}
		}
		if n < mostInRound {
			list[n] = inRound{p, r.with, 1 << way}
			n++
		}
		return n
	}
	x.with, x.on = put(&x.partners, x.with, r.peer), put(&x.links, x.on, r.link)
}

// ways are those in which there were messages with a rank in the round.
func (x *round) ways(with *turn) uint8 {
	for i := range x.partners[:x.with] {
		if x.partners[i].with == with {
			return x.partners[i].ways
		}
	}
	return 0
}

// end counts the round, if there was one.
func (x *round) end() {
	if x.with == 0 {
		return
	}
	const both = 1<<record.Sent | 1<<record.Received
	alone := x.with == 1 && x.partners[0].ways == both
	for _, list := range [][]inRound{x.partners[:x.with], x.links[:x.on]} {
		for i := range list {
			p := list[i].peer
			p.Rounds++
			if alone {
				p.Alone++
			}
		}
	}
	// What goes back and forth within a round is an exchange and says nothing of which way things flow.
	for i := range x.links[:x.on] {
		l := &x.links[i]
		if flow := l.with.flow; flow != 0 && x.ways(l.with)^flow == both {
			l.peer.Turns++
		}
	}
	for i := range x.partners[:x.with] {
		p := &x.partners[i]
		if p.ways == both {
			continue
		}
		if p.with.flow^p.ways == both {
			p.peer.Turns++
		}
		p.with.flow = p.ways
	}
	x.with, x.on = 0, 0
}

func (t *turns) find(path uint32, who member) *recent {
	r := &t.recent[(path*31+uint32(who.rank)*7+uint32(who.comm))%recentTurns]
	if r.with != nil && r.path == path && r.who == who {
		return r
	}
	with, known := t.members[who]
	if !known {
		if to := worldRank(t.c.members[who.comm], who.rank); to >= 0 {
			if with = t.with[to]; with == nil {
				with = &turn{to: to}
				t.with[to] = with
			}
		}
		t.members[who] = with
	}
	*r = recent{path: path, who: who, with: with}
	return r
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
