package waitstate

import (
	"cmp"
	"slices"

	"marple/analysis/callgraph"
	"marple/analysis/mpi"
	"marple/analysis/record"
)

// OffCore stands for no call path, but for the time without a core.
const OffCore callgraph.ID = 0

// Log gives the events of a thread, in order.
type Log interface {
	Each(visit func(*record.Logged) bool) error
	Ended() (bool, uint64)
	Events() uint64
	Bytes() uint64
}

// kinds are what collective operations depend on, by what their calls wait for.
var kinds = map[mpi.Waits]Kind{mpi.Members: AllToAll, mpi.Others: ToRoot, mpi.Root: FromRoot, mpi.Lower: Prefix}

// stays says of what operation classes calls take as long on an ideal network.
var stays = map[record.Op]bool{record.OpFileRead: true, record.OpFileWrite: true, record.OpFileOther: true, record.OpDatatype: true, record.OpLocal: true,
	record.OpTest: true} // a row of tests may have had other work between them

// FromProcess takes one process's events out of the logs of its threads, by thread number.
func FromProcess(p *record.Process, logs map[int]Log) (*Rank, error) {
	return read(p, logs, Clock{}, nil)
}

// read takes out of the logs what a view shows. It takes memory for that alone, and some for operations that go on:
// mostGoingOn of a thread, and mostFlows in all.
func read(p *record.Process, logs map[int]Log, common Clock, v view) (*Rank, error) {
	b := &builder{p: p, h: p.Header(), clock: callgraph.CommonClockOf(p.Header()), common: common, view: v, places: callgraph.PlacesOf(p),
		paths: map[callgraph.ID]uint32{}, comms: map[uint16]int{}, operations: map[uint32]*operations{}, probed: map[Message][]int32{}}
	b.facts = make([]fact, len(p.Nodes()))
	b.r = &Rank{Sight: sightOf(b.h)}
	b.sends, b.receives = newList(&b.r.Sends), newList(&b.r.Receives)
	b.r.OffCore = b.path(OffCore)
	threads := p.Threads()
	slices.SortStableFunc(threads, func(x, y record.Thread) int {
		switch {
		case x.Main == y.Main:
			return 0
		case x.Main:
			return -1
		}
		return 1
	})
	b.end = b.common.Common(b.clock.At(b.h.BeginTick))
	extent := extentOf(p, b.common)
	b.reserve(logs, extent)
	for _, t := range threads {
		log := logs[t.Index]
		if log == nil {
			continue
		}
		if t.Main {
			b.mainThread = uint16(t.Index)
		}
		b.begin(t)
		if err := log.Each(func(e *record.Logged) bool { b.event(e); return true }); err != nil {
			return nil, err
		}
		if ended, _ := log.Ended(); ended || b.full {
			b.r.Lost.Ended = 1
		}
		b.r.Events += log.Events()
		b.r.Bytes += log.Bytes()
	}
	b.finish()
	if b.h.EndTick == 0 { // it did not get there
		extent.end = max(extent.end, b.end)
	}
	b.r.Begin, b.r.End = b.moment(extent.begin), b.moment(extent.end)
	return b.r, nil
}

// reserve makes room for what the logs have of what is replayed, so that nothing is moved while they are read. What stays
// unused takes addresses only.
func (b *builder) reserve(logs map[int]Log, of extent) {
	events := 0.
	for _, log := range logs {
		events += float64(log.Events())
	}
	if b.view != nil && of.end > of.begin {
		events *= min(float64(b.view.length())/float64(of.end-of.begin), 1) * 9 / 8
	}
	n := int(min(events, most))
	b.r.Calls, b.r.Sends, b.r.Receives = make([]Call, 0, n), make([]Message, 0, n/2), make([]Message, 0, n/2)
	if b.view != nil {
		b.orders = make([]uint32, 0, n)
	}
}

// extentOf a process, without its events; on the clock that all ranks share.
func extentOf(p *record.Process, common Clock) extent {
	h, clock := p.Header(), callgraph.CommonClockOf(p.Header())
	e := extent{begin: common.Common(clock.At(h.BeginTick)), end: common.Common(clock.At(h.EndTick)), host: h.Host, cpus: h.CPUs}
	if h.EndTick == 0 {
		e.end = max(e.begin, common.Common(clock.At(h.Last.Ticks)))
	}
	return e
}

type operation struct{ thread, number uint32 }

// fact is what is known of an entry of the process's table.
type fact struct {
	known          bool
	path           uint32 // in Rank.Paths
	op             record.Op
	stays          bool
	persistent     bool
	matched        bool // see mpi.Function
	collectiveFact      // what a collective operation is
}

// collectiveFact is what an operation is that all members of a communicator take part in; its pattern is None for others.
type collectiveFact struct {
	neighbor bool
	kind     Kind
	pattern  Pattern
}

func collectiveOf(f *mpi.Function) collectiveFact {
	kind, ok := kinds[f.Waits]
	if !ok {
		return collectiveFact{neighbor: f.Op == record.OpNeighbor}
	}
	return collectiveFact{f.Op == record.OpNeighbor, kind, PatternOf(f.Pattern)}
}

// visit is a call, or a boundary of a region, which is one that takes no time.
type visit struct {
	start, end    int64
	off, coreless int64
	path          uint32
	from, to      record.Edge
	order         uint32 // among all
	thread        uint16
}

type builder struct {
	p      *record.Process
	h      *record.Header
	r      *Rank
	clock  callgraph.CommonClock
	common Clock
	view   view
	places *callgraph.Places
	gaps   gaps // of the thread that called MPI_Init
	paths  map[callgraph.ID]uint32
	facts  []fact
	comms  map[uint16]int // see comm
	made   []uint32       // by Rank.Comms: operations of it
	seen   []int          // likewise: where the last one was that is replayed

	thread     uint16
	mainThread uint16
	last       int64  // end of the visit before
	lastReal   int64  // the same on the clock
	aside      uint64 // tick at which a region began that is told at its end
	end        int64  // of the last event of any thread
	edge       record.Edge
	off        int64
	coreless   int64
	number     uint32 // operations started by this thread
	row        uint64 // tick at which a row of tests that found nothing began; 0: the last event was none
	rowEnd     uint64
	loop       uint64 // record.LoopNs in ticks
	visit      visit  // the last one
	visits     uint32
	stretch    int    // of the view: it began in this one, or before it and after the one before
	inside     bool   // it is replayed, with all that happened in it
	call       uint32 // what it is in Rank.Calls, or NotDone
	full       bool   // there is no room for more
	orders     []uint32
	unordered  bool // a call was added behind a later one

	sends, receives *list
	operations      map[uint32]*operations // by thread
	elsewhere       []completion           // of operations of threads whose logs are read later
	probed          map[Message][]int32    // messages that a probe has matched, not received yet; by Comm, Peer, Tag
}

type completion struct {
	op        operation
	call      uint32
	inside    bool
	comm      uint16
	peer, tag int32
	bytes     uint64
	cancelled bool
}

func (b *builder) path(id callgraph.ID) uint32 {
	at, ok := b.paths[id]
	if !ok {
		at = uint32(len(b.r.Paths))
		b.r.Paths = append(b.r.Paths, id)
		b.paths[id] = at
	}
	return at
}

var nothing = fact{known: true}

// fact of an entry, found once.
func (b *builder) fact(path uint32) *fact {
	if int(path) >= len(b.facts) {
		return &nothing
	}
	f := &b.facts[path]
	if !f.known {
		n := b.places.Call(path)
		function := mpi.Known(n.Name, n.Op, n.Flags)
		*f = fact{known: true, path: b.path(n.ID), op: n.Op, stays: stays[n.Op], persistent: n.Flags&record.Persistent != 0,
			matched: function.Matched, collectiveFact: collectiveOf(function)}
	}
	return f
}

// begin goes on with another thread.
func (b *builder) begin(t record.Thread) {
	b.thread, b.number = uint16(t.Index), 0
	b.edge, b.off, b.coreless, b.stretch, b.row = 0, 0, 0, 0, 0
	b.loop = uint64(record.LoopNs / b.clock.NsPerTick)
	b.lastReal = b.common.Common(b.clock.At(t.Begin))
	b.last = b.moment(b.lastReal)
	if t.Main {
		b.edge = record.Edge(b.h.BegunIn)
		b.gaps = gapsOf(t)
	}
}

// gaps are the longest that a thread has added up: from one event to another, and to another from any.
type gaps map[[2]record.Edge]*gap

type gap struct {
	from, to record.Edge
	ticks    uint64
}

const anywhere = ^record.Edge(0)

func gapsOf(t record.Thread) gaps {
	g := gaps{}
	for i := range t.Entries {
		e := &t.Entries[i]
		if e.Kind() != record.EntryGap {
			continue
		}
		from, to := e.Gap()
		for _, key := range [][2]record.Edge{{from, to.Event()}, {anywhere, to.Event()}} {
			if x := g[key]; x == nil || e.Sum > x.ticks {
				g[key] = &gap{from, to, e.Sum}
			}
		}
	}
	return g
}

// between gives the edges of the gap between two logged events. Where that is none, tests that found nothing were between them,
// which are not logged: most of the time that ended with the second event is taken for all.
func (g gaps) between(from, to record.Edge) (record.Edge, record.Edge) {
	if x := cmp.Or(g[[2]record.Edge{from, to}], g[[2]record.Edge{anywhere, to}]); x != nil {
		return x.from, x.to
	}
	return from, to
}

// moment is a time in what is replayed.
func (b *builder) moment(t int64) int64 {
	if b.view == nil {
		return t
	}
	at, _ := b.view.at(t, b.view.next(t, 0))
	return at
}

// most is how many calls and messages are kept of a part of the run; a log may be full of them just there.
const most = 4 * MostReplayed

// beside notes a region that is told at its end as if it stood at the beginning of the time around it, which goes on after it.
func (b *builder) beside(e *record.Logged) {
	at, edge, off := b.lastReal+b.common.Common(b.clock.At(e.Start))-b.common.Common(b.clock.At(b.aside)), b.edge, b.off
	b.edge, b.off = record.AtEnter(e.Path), 0
	b.visited(at, at, e.Path, record.AtExit(e.Path))
	b.edge, b.off = edge, off
}

// add notes a visit.
func (b *builder) add(start, duration uint64, path uint32, edge record.Edge) {
	b.visited(b.common.Common(b.clock.At(start)), b.common.Common(b.clock.At(start+duration)), path, edge)
}

func (b *builder) visited(from, to int64, path uint32, edge record.Edge) {
	v := visit{start: from, end: to, path: path, from: b.edge, to: edge, order: b.visits, thread: b.thread}
	before := max(from-b.lastReal, 0)
	v.coreless = min(b.coreless+b.off-min(b.off, before), to-from) // a row of tests is one call, and what was before each is in it
	v.off = min(b.off+b.coreless-v.coreless, before)
	b.inside = true
	if b.view != nil {
		b.stretch = b.view.next(from, b.stretch)
		v.start, b.inside = b.view.at(from, b.stretch)
		v.end = b.view.until(to, v.start, b.stretch)
		b.inside = (b.inside || v.end > v.start) && !b.full
		v.coreless = portion(v.coreless, v.end-v.start, to-from)
		v.off = portion(v.off, v.start-b.last, from-b.lastReal)
		b.full = b.full || len(b.r.Calls)+len(b.r.Sends)+len(b.r.Receives) > most
	}
	b.visit, b.call = v, NotDone
	b.visits++
	b.last, b.lastReal, b.edge, b.off, b.coreless = v.end, to, edge, 0, 0
	b.end = max(b.end, to)
	if b.inside {
		b.keep()
	}
}

func portion(x, part, whole int64) int64 {
	if x == 0 || part >= whole {
		return x
	}
	return int64(float64(x) * float64(max(part, 0)) / float64(whole))
}

// keep has the present visit replayed.
func (b *builder) keep() uint32 {
	if b.call == NotDone {
		b.call = b.insert(&b.visit)
	}
	return b.call
}

func (b *builder) insert(v *visit) uint32 {
	f := b.fact(v.path)
	c := Call{Start: v.start, End: v.end, Path: f.path, OffCore: v.off, Coreless: v.coreless, Thread: v.thread}
	c.Stays = f.stays && v.to == record.AtCall(v.path)
	if v.thread == b.mainThread {
		c.Gap = b.path(b.places.Gap(b.gaps.between(v.from, v.to)))
	}
	b.r.Calls = append(b.r.Calls, c)
	if b.view != nil {
		n := len(b.orders)
		b.unordered = b.unordered || n > 0 && b.orders[n-1] > v.order
		b.orders = append(b.orders, v.order)
	}
	return uint32(len(b.r.Calls) - 1)
}

// vain leaves out tests and probes that found nothing, of a log that has them all, and makes one call of a row of them and the
// one that ends it, as other logs do.
func (b *builder) vain(e *record.Logged) bool {
	test := b.fact(e.Path).op == record.OpTest
	goesOn := b.row != 0 && !record.EndsRow(e.Start, b.rowEnd, b.row, b.loop)
	if test && !e.Hit() {
		if !goesOn {
			b.row = e.Start
		}
		b.rowEnd = e.Start + e.Duration
		return true
	}
	if test && goesOn {
		e.Start, e.Duration = b.row, e.Start+e.Duration-b.row
	}
	b.row = 0
	return false
}

func (b *builder) event(e *record.Logged) {
	switch e.Kind {
	case record.LogCall:
		if b.vain(e) {
			return
		}
		b.add(e.Start, e.Duration, e.Path, record.AtCall(e.Path))
		if !e.Failed() || e.Peer != record.NoPeer { // of a message that was longer than the room for it
			b.logged(e)
		}
	case record.LogEnter:
		b.row = 0
		if e.Aside {
			b.aside = e.Start
			return
		}
		b.add(e.Start, 0, e.Path, record.AtEnter(e.Path))
	case record.LogExit:
		b.row = 0
		if e.Aside {
			b.beside(e)
			return
		}
		b.add(e.Start, 0, e.Path, record.AtExit(e.Path))
	case record.LogReceived:
		b.message(b.receives, e, Message{Done: b.call}, settled)
	case record.LogPosted:
		b.posted(e)
	case record.LogCompleted:
		b.complete(completion{operation{e.Thread, e.Number}, b.call, b.inside, e.Comm, e.Peer, e.Tag, e.Bytes, e.Cancelled()})
	case record.LogOffCore:
		b.off += int64(float64(e.Duration) * b.clock.NsPerTick)
	case record.LogCoreless:
		b.coreless += int64(float64(e.Duration) * b.clock.NsPerTick)
	case record.LogBegin:
		b.lastReal, b.edge = b.common.Common(b.clock.At(e.Start)), 0
		b.last = b.moment(b.lastReal)
	}
}

// shown tells whether something that happens now, and that belongs to a row of such things, is replayed: if it happens in what is
// replayed, or is the first of its row behind that, for which others may have waited.
func (b *builder) shown(last *int) bool {
	if b.view != nil && !b.inside && (*last == b.stretch || b.full) {
		return false
	}
	*last = b.stretch
	b.keep()
	return true
}

// message notes one, unless it is to nobody: m says what it is beyond its envelope; of one that is complete, Done is not
// NotDone. It gives where it stands.
func (b *builder) message(l *list, e *record.Logged, m Message, how state) (at pending, ok bool) {
	if e.Peer < record.Any {
		return pending{message: -1}, false
	}
	f := b.flow(l, rawEnvelope{e.Comm, m.Parts, e.Peer, e.Tag})
	m.Comm, m.Peer, m.Tag, m.Bytes = 0, -1, e.Tag, e.Bytes
	if f != nil {
		m.Comm, m.Peer = f.Comm, f.Peer
	} else if e.Comm > 0 {
		m.Comm, m.Peer = b.peer(e.Comm, e.Peer)
	}
	at = pending{list: l, message: -1, visit: b.visit, what: m}
	complete := m.Done != NotDone
	if f != nil && b.shown(&f.kept) || f == nil && b.inside {
		m.At = b.keep()
		if complete {
			m.Done = b.call
		}
		at.message = l.add(m)
	}
	at.position = l.post(queued{f, at.message, how})
	return at, true
}

// peer is the id of a communicator, and the rank of a member in MPI_COMM_WORLD; -1 if it is not known.
func (b *builder) peer(comm uint16, rank int32) (uint64, int32) {
	comms := b.p.Comms()
	if rank < 0 || comm == 0 || int(comm) >= len(comms) {
		return 0, -1
	}
	return comms[comm].ID, worldRank(b.p.Members(&comms[comm]), rank)
}

// goesOn notes an operation that goes on after its call.
func (b *builder) goesOn(p pending, number uint32) {
	id := uint32(b.thread)
	if b.operations[id] == nil {
		b.operations[id] = &operations{}
	}
	b.operations[id].put(p, number)
}

func (b *builder) logged(e *record.Logged) {
	f := b.fact(e.Path)
	number := b.number
	m := Message{Done: b.call}
	if m.Done == NotDone {
		m.Done = NotDone - 1 // complete, whatever it is in Rank.Calls
	}
	if e.Started() {
		b.number++
		m.Done = NotDone
	}
	if f.persistent {
		return
	}
	goesOn := e.Started() && !e.Finished()
	how := settled
	if goesOn {
		how = waiting
	}
	switch op := f.op; {
	case op.Sends():
		m.Buffered, m.Synchronous = op == record.OpBsend, op == record.OpSsend
		if op == record.OpSendrecv && goesOn { // its request is followed as the receive's; the peer comes with the completion
			b.message(b.sends, e, m, settled)
			p := pending{list: b.receives, message: -1, visit: b.visit, what: Message{Peer: -1, Tag: -1, Done: NotDone}}
			if b.inside {
				p.what.At = b.keep()
				p.message = b.receives.add(p.what)
			}
			p.position = b.receives.post(queued{nil, p.message, waiting})
			b.goesOn(p, number)
			return
		}
		if p, ok := b.message(b.sends, e, m, how); ok && goesOn {
			b.goesOn(p, number)
		}
	case op == record.OpRecv && f.matched:
		b.matched(e, m.Done, goesOn, number)
	case op == record.OpRecv:
		if p, ok := b.message(b.receives, e, m, how); ok && goesOn {
			b.goesOn(p, number)
		}
	case op == record.OpProbe:
		m.Peeks = true
		b.message(b.receives, e, m, peeks)
		if f.matched {
			b.take(e)
		}
	case op == record.OpTest && e.Hit() && f.matched:
		b.take(e)
	case op == record.OpTest && e.Hit() && e.Peer >= 0: // MPI_Iprobe: it has waited as a probe does
		m.Peeks = true
		b.message(b.receives, e, m, peeks)
	case op == record.OpTest:
	default:
		b.collective(f.collectiveFact, e, m.Done, number, goesOn)
	}
}

// take matches a message at a probe; matched finds it when it is received.
func (b *builder) take(e *record.Logged) {
	if p, ok := b.message(b.receives, e, Message{Done: NotDone}, settled); ok && len(b.probed) < mostFlows {
		key := Message{Comm: p.what.Comm, Peer: p.what.Peer, Tag: p.what.Tag}
		b.probed[key] = append(b.probed[key], p.message)
	}
}

func (b *builder) matched(e *record.Logged, done uint32, goesOn bool, number uint32) {
	id, peer := b.peer(e.Comm, e.Peer)
	key := Message{Comm: id, Peer: peer, Tag: e.Tag}
	here := b.probed[key]
	if len(here) == 0 {
		return
	}
	if at := here[0]; at >= 0 {
		if done != NotDone {
			done = b.call
		}
		b.r.Receives[at].Done = done
		if goesOn {
			b.goesOn(pending{list: b.receives, message: at, what: b.r.Receives[at], position: noPlace}, number)
		}
	}
	if b.probed[key] = here[1:]; len(here) == 1 {
		delete(b.probed, key)
	}
}

// collective notes an operation that all members of a communicator take part in.
func (b *builder) collective(f collectiveFact, e *record.Logged, done, number uint32, goesOn bool) {
	if f.neighbor && b.inside {
		b.r.Lost.Uncovered++
	}
	if f.pattern == None {
		return
	}
	i := b.comm(e.Comm)
	if i < 0 {
		return
	}
	c := Collective{Comm: uint32(i), Kind: f.kind, Pattern: f.pattern, Root: e.Peer, Done: done, Number: b.made[i], Bytes: e.Bytes}
	if e.Collective() {
		c.Bytes = max(c.Bytes, uint64(max(e.Tag, 0)))
	}
	b.made[i]++
	p := pending{message: -1, operation: c, visit: b.visit}
	if b.shown(&b.seen[i]) {
		c.At = b.keep()
		if c.Done != NotDone {
			c.Done = b.call
		}
		b.r.Collectives = append(b.r.Collectives, c)
		p.message = int32(len(b.r.Collectives) - 1)
	}
	if goesOn {
		b.goesOn(p, number)
	}
}

// What comm answers where there is nothing to replay.
const (
	notKnown = -1 // whose members are not known, or an intercommunicator
	alone    = -2 // has one rank only
)

// comm is the index of a communicator in Rank.Comms, or one of the above.
func (b *builder) comm(raw uint16) int {
	i, ok := b.comms[raw]
	if ok {
		if i == notKnown && b.inside {
			b.r.Lost.Uncovered++
		}
		return i
	}
	i = alone
	comms := b.p.Comms()
	switch {
	case raw == 0 || int(raw) >= len(comms):
		i = notKnown
	case comms[raw].Flags&record.CommInter != 0 || comms[raw].Flags&record.CommMembers == 0:
		i = notKnown
	case comms[raw].Size > 1:
		c := &comms[raw]
		i = len(b.r.Comms)
		b.made, b.seen = append(b.made, 0), append(b.seen, 0)
		b.r.Comms = append(b.r.Comms, Comm{ID: c.ID, Members: slices.Clone(b.p.Members(c)), Size: c.Size, Me: c.Rank})
	}
	b.comms[raw] = i
	return b.comm(raw)
}

// posted is a persistent operation that the call before has started.
func (b *builder) posted(e *record.Logged) {
	b.number = max(b.number, e.Number+1)
	if e.Collective() {
		b.collective(collectiveOf(mpi.Known("", e.Op, 0)), e, NotDone, e.Number, true)
		return
	}
	l := b.sends
	if e.Brings() {
		l = b.receives
	}
	m := Message{Done: NotDone, Buffered: e.Op == record.OpBsend, Synchronous: e.Op == record.OpSsend, Parts: e.Op == record.OpRequest}
	if p, ok := b.message(l, e, m, waiting); ok {
		b.goesOn(p, e.Number)
	}
}

const gone = -9 // the peer of a message that was cancelled

// complete brings a completion to its operation.
func (b *builder) complete(d completion) {
	of := b.operations[d.op.thread]
	if of == nil {
		if d.op.thread != uint32(b.thread) && len(b.elsewhere) < most {
			b.elsewhere = append(b.elsewhere, d)
		}
		return
	}
	p := of.take(d.op.number)
	if p == nil {
		return
	}
	late := p.message < 0 && d.inside && b.view != nil // it was begun before what is replayed
	if p.list == nil {
		if late {
			p.operation.At = b.insert(&p.visit)
			b.r.Collectives = append(b.r.Collectives, p.operation)
			p.message = int32(len(b.r.Collectives) - 1)
		}
		if p.message >= 0 && d.inside {
			b.r.Collectives[p.message].Done = d.call
		}
		return
	}
	m := p.what
	l := p.list
	var f *flow
	switch {
	case d.cancelled || l == b.receives && d.peer == record.ProcNull:
		m.Peer = gone
	case l == b.receives:
		m.Comm, m.Peer = b.peer(d.comm, d.peer)
		m.Tag, m.Bytes = d.tag, d.bytes
		f = b.flow(l, rawEnvelope{d.comm, m.Parts, d.peer, d.tag})
	default:
		f = l.flowOf(p.position)
	}
	if late && m.Peer != gone {
		m.At = b.insert(&p.visit)
		p.message = l.add(m)
	}
	if p.message >= 0 {
		at := &(*l.to)[p.message]
		at.Comm, at.Peer, at.Tag, at.Bytes = m.Comm, m.Peer, m.Tag, m.Bytes
		if d.inside && !d.cancelled {
			at.Done = d.call
		}
	}
	if m.Peer == gone {
		f = nil
	}
	l.settle(p.position, f, p.message)
}

// finish brings completions to operations of threads that were read later, and leaves out what was never matched.
func (b *builder) finish() {
	late := b.elsewhere
	for _, d := range late {
		if b.operations[d.op.thread] != nil {
			b.complete(d)
		}
	}
	b.sends.finish()
	b.receives.finish()
	if b.unordered {
		b.reorder()
	}
	for i := range b.r.Calls {
		if b.r.Calls[i].Thread == b.mainThread {
			b.r.Main++
		}
	}
	b.r.Sends = b.known(b.r.Sends)
	b.r.Receives = b.known(slices.DeleteFunc(b.r.Receives, func(m Message) bool {
		return m.Done == NotDone && (m.Peer < 0 || m.Tag < 0) // from anybody: nothing came
	}))
}

// reorder brings calls that were added late to their places, and what belongs to them.
func (b *builder) reorder() {
	from := make([]int, len(b.r.Calls))
	for i := range from {
		from[i] = i
	}
	slices.SortFunc(from, func(x, y int) int { return cmp.Compare(b.orders[x], b.orders[y]) })
	calls, to := make([]Call, len(from)), make([]uint32, len(from))
	for i, x := range from {
		calls[i], to[x] = b.r.Calls[x], uint32(i)
	}
	b.r.Calls = calls
	move := func(at *uint32) {
		if *at != NotDone {
			*at = to[*at]
		}
	}
	for _, l := range []*list{b.sends, b.receives} {
		for i := range *l.to {
			move(&(*l.to)[i].At)
			move(&(*l.to)[i].Done)
		}
		slices.SortStableFunc(*l.to, func(x, y Message) int { return cmp.Compare(x.At, y.At) })
	}
	for i := range b.r.Collectives {
		move(&b.r.Collectives[i].At)
		move(&b.r.Collectives[i].Done)
	}
	slices.SortStableFunc(b.r.Collectives, func(x, y Collective) int { return cmp.Compare(x.At, y.At) })
}

func (b *builder) known(list []Message) []Message {
	kept := list[:0]
	for _, m := range list {
		switch {
		case m.Peer == gone:
		case m.Peer < 0 || m.Tag < 0 || m.Number == noNumber:
			b.r.Lost.Unmatched++
		default:
			kept = append(kept, m)
		}
	}
	return kept
}
