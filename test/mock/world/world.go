// Package world is the state machine behind the mock MPI: ranks submit calls,
// and the world matches messages, joins collectives, and says when each call
// returns and with what. It does no I/O.
//
// There is one rule of order. Everything that happens is an event with a key
// (time, class, rank, sequence), and events are handled in the order of their
// keys. In virtual time an event waits until no running rank could still submit
// a call with a smaller key, so the outcome does not depend on how fast the
// ranks really run. In real time the clock is a count of calls and nothing
// waits.
package world

import (
	"container/heap"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Config is what a simulated machine costs. Times are in nanoseconds.
type Config struct {
	Ranks     int
	Virtual   bool
	Latency   uint64
	Bandwidth uint64 // bytes per µs; 0 is infinite
	Overhead  uint64 // what a message keeps its sender busy, and its receiver
	Eager     int    // largest standard send that does not wait for its receive
	Tick      uint64 // what every test and non-blocking probe costs
	Weak      bool   // a rendezvous goes on only while both ranks are in a call (weak progress)
}

// Transfer is G(b), the time that b bytes need beyond the latency.
func (c Config) Transfer(bytes uint64) uint64 {
	if c.Bandwidth == 0 {
		return 0
	}
	return bytes * 1000 / c.Bandwidth
}

// Call is one MPI call of a rank. A rank has one at a time, or in real time one
// for each of its threads.
type Call struct {
	ID    uint32 // returned in the reply
	Name  string // of the MPI function, for messages
	Time  uint64 // the rank's clock; not used in real time
	Block bool   // the reply waits for the operation to complete
	Op    Op
}

// Op is what a call asks for: one of the types of this package that have the
// method.
type Op interface {
	begin(w *World, c *call) error
}

// Init is a rank's first call. It costs nothing.
type Init struct{}

// Reply answers one call.
type Reply struct {
	Rank    int
	ID      uint32
	Time    uint64
	Request uint64 // names the posted operation; 0 if it is complete
	Flag    bool
	Results []Result
	Late    []Result // receives freed while active that are complete by now
}

// Result describes a completed operation or a probed message.
type Result struct {
	Key       uint64 // position in the list waited for, or the freed request
	Source    int
	Tag       int
	Cancelled bool
	Bytes     uint64
	Base      uint64 // a collective's range of fresh numbers, or a held message
	Chunks    [][]byte
}

// Deadlock is the error of a virtual world in which no rank can go on.
type Deadlock struct {
	Now     uint64
	Blocked []Blocked
}

// Blocked is a rank that waits in a call.
type Blocked struct {
	Rank  int
	Name  string
	Since uint64
}

func (d *Deadlock) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "deadlock at %d ns", d.Now)
	for _, r := range d.Blocked {
		fmt.Fprintf(&b, "\n  rank %d blocked in %s since %d ns", r.Rank, r.Name, r.Since)
	}
	return b.String()
}

type call struct {
	Call
	rank int
}

type rank struct {
	running bool
	clock   uint64 // a running rank's next call is not earlier
	calls   []*call
	late    []*request
}

// World holds every operation that is in flight, and nothing else.
type World struct {
	cfg      Config
	now      uint64
	events   eventHeap
	sequence uint64
	ranks    []rank
	boxes    map[boxKey]*mailbox
	requests map[uint64]*request
	held     map[uint64]*message
	unmoved  []transfer
	gangs    map[gangKey][]*gang
	lastID   uint64
	nextBase uint64
	replies  []Reply
}

// FirstBase is the first of the numbers that collectives hand out; those below
// are for whoever runs the world to give meaning to.
const FirstBase = 16

// New makes a world in which every rank is running at time 0.
func New(cfg Config) *World {
	w := &World{
		cfg:      cfg,
		ranks:    make([]rank, cfg.Ranks),
		boxes:    map[boxKey]*mailbox{},
		requests: map[uint64]*request{},
		held:     map[uint64]*message{},
		gangs:    map[gangKey][]*gang{},
		nextBase: FirstBase,
	}
	for i := range w.ranks {
		w.ranks[i].running = true
	}
	return w
}

// Submit reports a rank's next call. It returns the replies that are now due,
// of any rank. After an error the world is of no further use.
func (w *World) Submit(rank int, c Call) ([]Reply, error) {
	r := &w.ranks[rank]
	if !w.cfg.Virtual {
		w.now++
		c.Time = w.now
	} else if c.Time < r.clock {
		return nil, fmt.Errorf("clock of rank %d went back from %d to %d ns in %s",
			rank, r.clock, c.Time, c.Name)
	}
	p := &call{Call: c, rank: rank}
	r.running = false
	r.calls = append(r.calls, p)
	w.at(c.Time, classCall, rank, func() error {
		w.move(rank)
		return c.Op.begin(w, p)
	})
	return w.run()
}

// Exit reports that a rank is gone and will not call again.
func (w *World) Exit(rank int) ([]Reply, error) {
	w.ranks[rank].running = false
	return w.run()
}

// Classes of events at the same time, in their order: what arrives at an instant
// is seen by whoever wakes or calls at that instant.
const (
	classArrival = iota
	classWake
	classCall
)

type event struct {
	time     uint64
	class    int
	rank     int
	sequence uint64
	do       func() error
}

func (e *event) before(f *event) bool {
	switch {
	case e.time != f.time:
		return e.time < f.time
	case e.class != f.class:
		return e.class < f.class
	case e.rank != f.rank:
		return e.rank < f.rank
	}
	return e.sequence < f.sequence
}

type eventHeap []*event

func (h eventHeap) Len() int           { return len(h) }
func (h eventHeap) Less(i, j int) bool { return h[i].before(h[j]) }
func (h eventHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *eventHeap) Push(e any)        { *h = append(*h, e.(*event)) }
func (h *eventHeap) Pop() any {
	old := *h
	e := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return e
}

func (w *World) at(time uint64, class, rank int, do func() error) {
	w.sequence++
	heap.Push(&w.events, &event{time, class, rank, w.sequence, do})
}

// run handles every event that is due and collects the replies.
func (w *World) run() ([]Reply, error) {
	for len(w.events) > 0 && !w.events[0].mayBePreceded(w) {
		e := heap.Pop(&w.events).(*event)
		w.now = e.time
		if err := e.do(); err != nil {
			return nil, err
		}
	}
	if err := w.stuck(); err != nil {
		return nil, err
	}
	replies := w.replies
	w.replies = nil
	return replies, nil
}

func (e *event) mayBePreceded(w *World) bool {
	if !w.cfg.Virtual {
		return false
	}
	for i := range w.ranks {
		next := event{time: w.ranks[i].clock, class: classCall, rank: i, sequence: math.MaxUint64}
		if w.ranks[i].running && next.before(e) {
			return true
		}
	}
	return false
}

func (w *World) stuck() error {
	if !w.cfg.Virtual || len(w.events) > 0 {
		return nil
	}
	d := &Deadlock{Now: w.now}
	for i, r := range w.ranks {
		if r.running {
			return nil
		}
		for _, c := range r.calls {
			d.Blocked = append(d.Blocked, Blocked{i, c.Name, c.Time})
		}
	}
	if d.Blocked == nil {
		return nil
	}
	return d
}

// reply lets the rank go on at a time that is not earlier than now.
func (w *World) reply(c *call, at uint64, r Reply) {
	k := &w.ranks[c.rank]
	k.calls = slices.DeleteFunc(k.calls, func(d *call) bool { return d == c })
	_, last := c.Op.(*Finalize)
	k.running, k.clock = !last, at
	r.Rank, r.ID, r.Time = c.rank, c.ID, at
	r.Late = w.takeLate(k, at)
	w.replies = append(w.replies, r)
}

func (*Init) begin(w *World, c *call) error {
	w.reply(c, w.now, Reply{})
	return nil
}
