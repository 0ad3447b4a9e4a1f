package waitstate

import (
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
var stays = map[record.Op]bool{record.OpFileRead: true, record.OpFileWrite: true, record.OpFileOther: true, record.OpDatatype: true, record.OpLocal: true}

// FromProcess takes one process's events out of the logs of its threads, by thread number.
func FromProcess(p *record.Process, logs map[int]Log) (*Rank, error) {
	b := &builder{p: p, h: p.Header(), clock: callgraph.CommonClockOf(p.Header()), places: callgraph.PlacesOf(p), paths: map[callgraph.ID]uint32{},
		comms: map[uint16]int{}, functions: map[uint32]*mpi.Function{}, started: map[operation]started{}, probed: map[Message][]int32{}}
	b.r = &Rank{Begin: b.clock.At(b.h.BeginTick), End: b.clock.At(b.h.EndTick), Sight: sightOf(b.h)}
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
	for _, t := range threads {
		log := logs[t.Index]
		if log == nil {
			continue
		}
		b.thread = uint16(t.Index)
		b.main, b.last, b.edge, b.off, b.coreless = t.Main, b.clock.At(t.Begin), 0, 0, 0
		if t.Main {
			b.edge = record.Edge(b.h.BegunIn)
		}
		if err := log.Each(func(e *record.Logged) bool { b.event(e); return true }); err != nil {
			return nil, err
		}
		if t.Main {
			b.r.Main = len(b.r.Calls)
		}
		if ended, _ := log.Ended(); ended {
			b.r.Lost.Ended = 1
		}
		b.r.Events += log.Events()
		b.r.Bytes += log.Bytes()
	}
	if b.h.EndTick == 0 { // it did not get there
		b.r.End = max(b.r.Begin, b.clock.At(b.h.Last.Ticks), b.end)
	}
	b.finish()
	return b.r, nil
}

type operation struct{ thread, number uint32 }

type started struct {
	list  *[]Message // or nil: a collective operation
	index int32
}

type builder struct {
	p         *record.Process
	h         *record.Header
	r         *Rank
	clock     callgraph.CommonClock
	places    *callgraph.Places
	paths     map[callgraph.ID]uint32
	comms     map[uint16]int           // see comm
	functions map[uint32]*mpi.Function // by path

	thread   uint16
	main     bool
	last     int64
	end      int64 // of the last event of any thread
	edge     record.Edge
	off      int64
	coreless int64
	number   uint32 // operations started by this thread
	call     uint32 // the last one
	started  map[operation]started
	done     []completion
	probed   map[Message][]int32 // messages that a probe has matched, not received yet; by Comm, Peer, Tag
}

type completion struct {
	op        operation
	call      uint32
	comm      uint16
	peer, tag int32
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

// add notes a call, or a boundary of a region, which is one that takes no time.
func (b *builder) add(start, duration uint64, path uint32, edge record.Edge) {
	c := Call{Start: b.clock.At(start), End: b.clock.At(start + duration), Path: b.path(b.places.Call(path).ID), Thread: b.thread}
	c.Coreless = min(b.coreless, c.End-c.Start)
	c.OffCore = min(b.off+b.coreless-c.Coreless, max(c.Start-b.last, 0))
	if b.main {
		c.Gap = b.path(b.places.Gap(b.edge, edge))
	}
	b.last, b.edge, b.off, b.coreless = c.End, edge, 0, 0
	b.end = max(b.end, c.End)
	b.call = uint32(len(b.r.Calls))
	b.r.Calls = append(b.r.Calls, c)
}

func (b *builder) event(e *record.Logged) {
	switch e.Kind {
	case record.LogCall:
		b.add(e.Start, e.Duration, e.Path, record.AtCall(e.Path))
		b.r.Calls[b.call].Stays = stays[b.places.Call(e.Path).Op]
		if !e.Failed() || e.Peer != record.NoPeer { // of a message that was longer than the room for it
			b.logged(e)
		}
	case record.LogEnter:
		b.add(e.Start, 0, e.Path, record.AtEnter(e.Path))
	case record.LogExit:
		b.add(e.Start, 0, e.Path, record.AtExit(e.Path))
	case record.LogReceived:
		b.message(&b.r.Receives, e, b.call, b.call)
	case record.LogPosted:
		b.posted(e)
	case record.LogCompleted:
		b.done = append(b.done, completion{operation{e.Thread, e.Number}, b.call, e.Comm, e.Peer, e.Tag, e.Cancelled()})
	case record.LogOffCore:
		b.off += int64(float64(e.Duration) * b.clock.NsPerTick)
	case record.LogCoreless:
		b.coreless += int64(float64(e.Duration) * b.clock.NsPerTick)
	case record.LogBegin:
		b.last, b.edge = b.clock.At(e.Start), 0
	}
}

// message notes one; those to nobody are left out. It gives the index, or -1.
func (b *builder) message(list *[]Message, e *record.Logged, at, done uint32) int32 {
	if e.Peer < record.Any {
		return -1
	}
	id, peer := b.peer(e.Comm, e.Peer)
	*list = append(*list, Message{Comm: id, Peer: peer, Tag: e.Tag, At: at, Done: done})
	return int32(len(*list) - 1)
}

// peer is the id of a communicator, and the rank of a member in MPI_COMM_WORLD; -1 if it is not known.
func (b *builder) peer(comm uint16, rank int32) (uint64, int32) {
	comms := b.p.Comms()
	if rank < 0 || comm == 0 || int(comm) >= len(comms) {
		return 0, -1
	}
	return comms[comm].ID, worldRank(b.p.Members(&comms[comm]), rank)
}

// begin notes an operation that goes on after its call.
func (b *builder) begin(list *[]Message, index int32, number uint32) {
	if index >= 0 {
		b.started[operation{uint32(b.thread), number}] = started{list, index}
	}
}

func (b *builder) logged(e *record.Logged) {
	node := b.places.Call(e.Path)
	at, done := b.call, b.call
	number := b.number
	if e.Started() {
		b.number++
		done = NotDone
	}
	if node.Flags&record.Persistent != 0 {
		return
	}
	function := b.functions[e.Path]
	if function == nil {
		function = mpi.Known(node.Name, node.Op, node.Flags)
		b.functions[e.Path] = function
	}
	switch op := node.Op; {
	case op.Sends():
		i := b.message(&b.r.Sends, e, at, done)
		if i >= 0 {
			b.r.Sends[i].Buffered, b.r.Sends[i].Synchronous = op == record.OpBsend, op == record.OpSsend
		}
		if !e.Started() || e.Finished() {
			return
		}
		if op == record.OpSendrecv { // its request is followed as the receive's; the peer comes with the completion
			b.r.Receives = append(b.r.Receives, Message{Peer: -1, Tag: -1, At: at, Done: NotDone})
			b.begin(&b.r.Receives, int32(len(b.r.Receives)-1), number)
			return
		}
		b.begin(&b.r.Sends, i, number)
	case op == record.OpRecv && function.Matched:
		b.matched(e, done, number)
	case op == record.OpRecv:
		i := b.message(&b.r.Receives, e, at, done)
		if e.Started() && !e.Finished() {
			b.begin(&b.r.Receives, i, number)
		}
	case op == record.OpProbe:
		if i := b.message(&b.r.Receives, e, at, done); i >= 0 {
			b.r.Receives[i].Peeks = true
		}
		if function.Matched {
			b.take(e)
		}
	case op == record.OpTest:
		if function.Matched && e.Hit() {
			b.take(e)
		}
	default:
		b.collective(function, e.Comm, e.Peer, at, done, number, e.Started() && !e.Finished())
	}
}

// take matches a message at a probe; matched finds it when it is received.
func (b *builder) take(e *record.Logged) {
	if i := b.message(&b.r.Receives, e, b.call, NotDone); i >= 0 {
		m := b.r.Receives[i]
		key := Message{Comm: m.Comm, Peer: m.Peer, Tag: m.Tag}
		b.probed[key] = append(b.probed[key], i)
	}
}

func (b *builder) matched(e *record.Logged, done, number uint32) {
	id, peer := b.peer(e.Comm, e.Peer)
	key := Message{Comm: id, Peer: peer, Tag: e.Tag}
	if waiting := b.probed[key]; len(waiting) > 0 {
		b.probed[key] = waiting[1:]
		b.r.Receives[waiting[0]].Done = done
		if e.Started() && !e.Finished() {
			b.begin(&b.r.Receives, waiting[0], number)
		}
	}
}

// collective notes an operation that all members of a communicator take part in.
func (b *builder) collective(f *mpi.Function, comm uint16, root int32, at, done, number uint32, goesOn bool) {
	if f.Op == record.OpNeighbor {
		b.r.Lost.Uncovered++
	}
	kind, ok := kinds[f.Waits]
	if !ok {
		return
	}
	i := b.comm(comm)
	if i < 0 {
		return
	}
	b.r.Collectives = append(b.r.Collectives, Collective{Comm: uint32(i), Kind: kind, Pattern: PatternOf(f.Pattern), Root: root, At: at, Done: done})
	if goesOn {
		b.begin(nil, int32(len(b.r.Collectives)-1), number)
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
		if i == notKnown {
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
		b.r.Comms = append(b.r.Comms, Comm{ID: c.ID, Members: slices.Clone(b.p.Members(c)), Size: c.Size, Me: c.Rank})
	}
	b.comms[raw] = i
	return b.comm(raw)
}

// posted is a persistent operation that the call before has started.
func (b *builder) posted(e *record.Logged) {
	b.number = max(b.number, e.Number+1)
	if e.Collective() {
		b.collective(mpi.Known("", e.Op, 0), e.Comm, e.Peer, b.call, NotDone, e.Number, true)
		return
	}
	list := &b.r.Sends
	if e.Brings() {
		list = &b.r.Receives
	}
	i := b.message(list, e, b.call, NotDone)
	if i >= 0 {
		(*list)[i].Buffered, (*list)[i].Synchronous = e.Op == record.OpBsend, e.Op == record.OpSsend
		(*list)[i].Parts = e.Op == record.OpRequest
	}
	b.begin(list, i, e.Number)
}

const gone = -9 // the peer of a message that was cancelled

// finish brings completions to the operations, and leaves out what was never matched.
func (b *builder) finish() {
	for _, d := range b.done {
		s, ok := b.started[d.op]
		switch {
		case !ok:
		case s.list == nil:
			b.r.Collectives[s.index].Done = d.call
		case d.cancelled:
			(*s.list)[s.index].Peer = gone
		default:
			m := &(*s.list)[s.index]
			m.Done = d.call
			if s.list == &b.r.Receives && m.Peer != gone {
				m.Comm, m.Peer = b.peer(d.comm, d.peer)
				m.Tag = d.tag
				if d.peer == record.ProcNull {
					m.Peer = gone
				}
			}
		}
	}
	b.r.Sends = b.known(b.r.Sends)
	b.r.Receives = b.known(slices.DeleteFunc(b.r.Receives, func(m Message) bool {
		return m.Done == NotDone && (m.Peer < 0 || m.Tag < 0) // from anybody: nothing came
	}))
}

func (b *builder) known(list []Message) []Message {
	kept := list[:0]
	for _, m := range list {
		switch {
		case m.Peer == gone:
		case m.Peer < 0 || m.Tag < 0:
			b.r.Lost.Unmatched++
		default:
			kept = append(kept, m)
		}
	}
	return kept
}
