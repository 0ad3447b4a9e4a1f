package record

import (
	"fmt"
	"io"
	"math"
	"sync/atomic"
	"unsafe"
)

// An Aggregator turns a thread's records into its entries, both of which lie in the thread's block of
// shared memory. Besides, it keeps an index that can be derived from the entries.
//
// Before an entry is changed for the first time in a batch it is copied to the undo log. Storing `consumed`
// commits a batch; until then the log, which names the value of `consumed` that it belongs to, restores
// the state before. So a process killed at any moment leaves a block from which a new Aggregator and a
// last Consume give every committed record's contribution exactly once.
type Aggregator struct {
	t       *thread
	ring    *[records]record
	log     *[undoMax]undo
	entries *[entriesMax]Entry
	nodes   []Node // of the process
	keep    *Log   // nil: events are not logged

	loop    uint32   // LoopNs in ticks
	samples []record // before an event that has not come yet; no batch ends there
	batch   uint32   // a multiple of oneBatch
	unusual bool     // thread.pending holds something
	index   []uint32 // open addressing: entry + 1
	mask    uint32
	// Entries used recently, by path or peer: guesses, which are checked.
	calls    [callCache]uint32
	arrivals [callCache]uint32
	peers    [peerCache]uint32
	regions  [callCache]uint32

	// Invocations of components are kept one by one beside their aggregates.
	keeper   io.WriterAt // nil: nowhere
	keepMost uint64      // bytes, beyond which nothing is begun
	ended    uint64      // invocations in this batch
	packed   *packed
}

const (
	callCache = 256
	peerCache = 1024
)

type undo struct {
	index uint32
	_     uint32
	entry Entry
}

// Status is what Consume answers. The values are those of cshim/core.h.
type Status int

const (
	Done Status = iota
	MoreEntries
	Broken
)

// NewAggregator works on a thread's block of ThreadSpan bytes; nodes is the process's table. The undo log
// is applied if the block was left in mid-batch.
func NewAggregator(block []byte, nodes []Node, ticksPerSecond uint64) *Aggregator {
	if len(block) < ThreadSpan {
		return nil
	}
	base := unsafe.Pointer(unsafe.SliceData(block))
	a := &Aggregator{
		t:       (*thread)(base),
		ring:    (*[records]record)(unsafe.Add(base, ringAt)),
		log:     (*[undoMax]undo)(unsafe.Add(base, undoAt)),
		entries: (*[entriesMax]Entry)(unsafe.Add(base, entriesAt)),
		nodes:   nodes,
		loop:    uint32(min(ticksPerSecond/(1_000_000_000/LoopNs), 1<<31)),
	}
	a.recover()
	a.unusual = a.t.pending != [pendingWords]uint64{}
	a.clearMarks()
	a.reindex(1024)
	return a
}

// Entries are the aggregates so far. The slice is of the shared memory.
func (a *Aggregator) Entries() []Entry { return a.entries[:min(a.t.entries, entriesMax)] }

// recover undoes a batch that was not committed.
func (a *Aggregator) recover() {
	t := a.t
	if t.undoBatch == atomic.LoadUint64(&t.consumed) {
		for i := range min(t.undoCount, undoMax) {
			if u := &a.log[i]; u.index < entriesMax {
				a.entries[u.index] = u.entry
			}
		}
		t.entries, t.lastFrom, t.lastTick, t.entriesLost = uint32(t.saved[0]), Edge(t.saved[1]), t.saved[2], t.saved[3]
		t.pending = [pendingWords]uint64(t.saved[4:])
		t.invocations, t.kept, t.unkept, t.polling = t.saved[12], t.saved[13], t.saved[14], t.saved[15]
		t.undoCount = 0
	}
	// In a damaged block there may seem to be more than were ever made.
	t.entries = min(t.entries, entriesMax)
	for i := range t.entries {
		if a.entries[i].Kind() == 0 {
			t.entries = i
			break
		}
	}
	// What the batch had made must not be taken for its successor's.
	for i := t.entries; i < entriesMax && a.entries[i].mark != 0; i++ {
		a.entries[i].mark = 0
	}
}

func (a *Aggregator) begin() {
	t := a.t
	t.saved[0], t.saved[1], t.saved[2], t.saved[3] = uint64(t.entries), uint64(t.lastFrom), t.lastTick, t.entriesLost
	copy(t.saved[4:], t.pending[:])
	t.saved[12], t.saved[13], t.saved[14], t.saved[15] = t.invocations, t.kept, t.unkept, t.polling
	t.undoCount = 0
	a.batch += oneBatch
	if a.batch == 0 { // after 2^29 batches old marks would look new
		a.clearMarks()
		a.batch = oneBatch
	}
	atomic.StoreUint64(&t.undoBatch, atomic.LoadUint64(&t.consumed))
}

// commit makes records from up to to count, which lie in the ring.
func (a *Aggregator) commit(ring *[records]record, from, to uint64) {
	if a.ended > 0 {
		a.keepInvocations(ring, from, to)
	}
	atomic.StoreUint64(&a.t.consumed, to)
}

// KeepInvocations has the records of invocations written to a file, for ReadInvocations. When it has so many bytes,
// further ones are only counted.
func (a *Aggregator) KeepInvocations(file io.WriterAt, most uint64) {
	a.keeper, a.keepMost = file, most
}

// keepInvocations writes what a batch has left for the file. If the process is killed before the batch is committed, it is
// written again.
func (a *Aggregator) keepInvocations(ring *[records]record, from, to uint64) {
	t := a.t
	t.invocations += a.ended
	kept := a.keeper != nil && t.kept < a.keepMost
	if kept {
		if a.packed == nil {
			a.packed = new(packed)
		}
		data := a.packed.batch(ring, from, to)
		_, err := a.keeper.WriteAt(data, int64(t.kept))
		if kept = err == nil; kept {
			t.kept += uint64(len(data))
		}
	}
	if !kept {
		t.unkept += a.ended
	}
	a.ended = 0
}

func (a *Aggregator) clearMarks() {
	for i := range a.t.entries {
		a.entries[i].mark &= kindMask
	}
}

// touch gives an entry to be changed; before its first change in a batch it is copied to the undo log.
func (a *Aggregator) touch(i uint32) *Entry {
	i &= entriesMax - 1
	e := &a.entries[i]
	if e.mark&^kindMask != a.batch {
		n := a.t.undoCount & (undoMax - 1)
		a.log[n] = undo{index: i, entry: *e}
		e.mark = e.mark&kindMask | a.batch
		atomic.StoreUint32(&a.t.undoCount, n+1)
	}
	return e
}

func hash(kind EntryKind, key uint64, class uint8) uint32 {
	return uint32((key ^ key>>29 ^ uint64(class)<<20 ^ uint64(kind)<<40) * 0x9e3779b97f4a7c15 >> 32)
}

// lookup gives the index of an entry that has been made.
func (a *Aggregator) lookup(kind EntryKind, key uint64, class uint8) (uint32, bool) {
	for h := hash(kind, key, class); ; h++ {
		slot := a.index[h&a.mask]
		if slot == 0 {
			return 0, false
		}
		if e := &a.entries[(slot-1)&(entriesMax-1)]; e.key == key && e.Class == class && e.Kind() == kind {
			return slot - 1, true
		}
	}
}

// find gives the index of an entry, making it if need be. bytes matters to calls only.
func (a *Aggregator) find(kind EntryKind, key, bytes uint64) uint32 {
	class, low, span := classOf(bytes)
	if i, known := a.lookup(kind, key, class); known {
		return i
	}
	i := a.t.entries
	if i >= a.most()-entriesSpared && !isShared(kind, key) {
		a.t.entriesLost++
		return a.find(kind, a.shared(kind, key), 0)
	}
	if i == entriesMax {
		return i - 1 // damage: nobody makes so many
	}
	e := &a.entries[i]
	*e = Entry{key: key, mark: uint32(kind) | a.batch, Class: class, low: low, span: span, Min: ^uint64(0)}
	if path := e.Path(); kind == EntryCall && path < uint32(len(a.nodes)) {
		e.Op, e.Flags = a.nodes[path].Op, a.nodes[path].Flags
		if op, shared := e.Shared(); shared {
			e.Op = op
		}
		e.moves = movementOf(e.Op, e.Flags)
	}
	e.longest = ^uint32(0)
	if e.Op == OpTest {
		e.longest = a.loop
	}
	a.t.entries = i + 1
	if (i+1)*2 > a.mask {
		a.reindex(len(a.index) * 2)
	} else {
		a.insert(i)
	}
	return i
}

// shared is the key of the entry that has what found no room of its own: one per kind, and of calls one per operation.
func (a *Aggregator) shared(kind EntryKind, key uint64) uint64 {
	if path := uint32(key); kind == EntryCall && path < uint32(len(a.nodes)) {
		return callKey(overflowNode, sharedCalls|uint16(a.nodes[path].Op))
	}
	return overflowNode
}

func isShared(kind EntryKind, key uint64) bool {
	return key == overflowNode || kind == EntryCall && uint32(key) == overflowNode && key>>32&sharedCalls != 0
}

// most is how many entries there can be.
func (a *Aggregator) most() uint32 {
	if a.t.entriesFull != 0 {
		return max(min(a.t.entriesReady, entriesMax), entriesSpared)
	}
	return entriesMax
}

func (a *Aggregator) insert(i uint32) {
	e := &a.entries[i]
	h := hash(e.Kind(), e.key, e.Class)
	for a.index[h&a.mask] != 0 {
		h++
	}
	a.index[h&a.mask] = i + 1
}

func (a *Aggregator) reindex(size int) {
	for size < 2*int(a.t.entries) {
		size *= 2
	}
	a.index = make([]uint32, size)
	a.mask = uint32(size - 1)
	for i := range a.t.entries {
		a.insert(i)
	}
}

// What records before an event leave for it, as words of thread.pending.
const (
	pendingRunnable = iota // in the gap before it: off the core though runnable
	pendingBlocked         // ... and blocked
	pendingOwn             // ... and spent by Marple
	insideRunnable         // in the call itself
	insideBlocked
	wideDuration
	wideOut
	wideIn
	pendingWords
)

// Most entries that one record can touch or make; and an event, for the samples before it, with what comes between them.
const (
	perRecord  = 5
	forSamples = placesMost + 2*perRecord
)

// Consume aggregates the records from `consumed` up to `head`. MoreEntries asks for more storage behind
// the entries (thread.entriesReady), or for thread.entriesFull to be set, and to be called again.
func (a *Aggregator) Consume() Status {
	head := atomic.LoadUint64(&a.t.head)
	at := max(atomic.LoadUint64(&a.t.consumed), atomic.LoadUint64(&a.t.spilled))
	if head-at > records {
		return Broken
	}
	return a.consume(a.ring, at, head)
}

// Spilled tells whether there are records in a spill file that are not yet consumed.
func (a *Aggregator) Spilled() bool {
	return atomic.LoadUint64(&a.t.consumed) < min(atomic.LoadUint64(&a.t.spilled), a.t.dropAt)
}

// ConsumeSpilled aggregates the records in a spill file, which come before the ring's; record i lies at
// offset i·recordSize. Of a file that is too short the rest counts as dropped, and is reported.
func (a *Aggregator) ConsumeSpilled(file io.ReaderAt) (Status, error) {
	t := a.t
	end := min(t.spilled, t.dropAt)
	chunk := new([records]record)
	raw := unsafe.Slice((*byte)(unsafe.Pointer(chunk)), records*recordSize)
	for at := t.consumed; at < end; at = t.consumed {
		first := at &^ (records - 1)
		stop := min(end, first+records)
		skip := (at - first) * recordSize
		n, err := file.ReadAt(raw[skip:(stop-first)*recordSize], int64(at*recordSize))
		have := at + uint64(n)/recordSize
		if have > at {
			if status := a.consume(chunk, at, have); status != Done {
				return status, nil
			}
		}
		if have < stop {
			t.dropped += end - have
			atomic.StoreUint64(&t.consumed, t.spilled)
			return Done, fmt.Errorf("%d of %d spilled records are missing: %w", end-have, end, err)
		}
	}
	atomic.StoreUint64(&t.consumed, t.spilled)
	return Done, nil
}

// consume aggregates records at to head, of which record i lies at ring[i%records].
func (a *Aggregator) consume(ring *[records]record, at, head uint64) Status {
	t := a.t
	if a.keep != nil {
		a.keep.take(ring, at, head)
	}
	a.begin()
	from := at
	for at < head {
		if t.undoCount+perRecord+forSamples > undoMax {
			a.commit(ring, from, at)
			from = at
			a.begin()
		}
		room := undoMax - t.undoCount
		if t.entriesReady < entriesMax && t.entriesFull == 0 {
			room = min(room, t.entriesReady-min(t.entriesReady, t.entries))
		}
		if room < perRecord+forSamples {
			a.commit(ring, from, at)
			return MoreEntries
		}
		at = a.some(ring, at, min(head, at+uint64((room-forSamples)/perRecord)))
		for len(a.samples) > 0 && at < head {
			at = a.some(ring, at, at+1)
		}
	}
	a.commit(ring, from, head)
	return Done
}

// some takes records at to end, for which there is room without looking again.
func (a *Aggregator) some(ring *[records]record, at, end uint64) uint64 {
	for at < end {
		if at = a.usual(ring, at, end); at < end {
			a.other(&ring[at&(records-1)])
			at++
		}
	}
	return at
}

// usual takes records up to the first one that needs a second look. It takes a call that was made before, or a
// region in which nothing happened, after the same event as last time; and the arrival of a message for such
// a call; if all entries concerned are where they are guessed to be and have been saved for undoing in this
// batch. This loop is what aggregation costs; it calls nothing, so that everything stays in registers.
func (a *Aggregator) usual(ring *[records]record, at, end uint64) uint64 {
	t, entries := a.t, a.entries
	from, last, polling := t.lastFrom, t.lastTick, t.polling
	call, gap, peer, region := a.batch|uint32(EntryCall), a.batch|uint32(EntryGap), a.batch|uint32(EntryPeer), a.batch|uint32(EntryRegion)
	if a.unusual {
		return at
	}
loop:
	for ; at < end; at++ {
		r := &ring[at&(records-1)]
		what := r.what
		path := what.path()
		if what.kind() == kindCall {
			e := &entries[a.calls[path&(callCache-1)]&(entriesMax-1)]
			g := &entries[e.gap&(entriesMax-1)]
			in := uint32(r.tag) & -(uint32(what>>56) & flagCollective) // flagCollective is 1
			if e.key != uint64(what)&callMask || e.mark != call || g.key != gapKey(from, Edge(path)) || g.mark != gap ||
				(r.bytes|in)-e.low >= e.span || r.start-last > uint64(e.longest) ||
				uint64(what>>56)&flagBoth != 0 && e.moves != movesToAndFrom { // on the path of those that found no room
				break
			}
			duration := uint64(r.duration)
			if e.moves != movesTest {
				polling = 0
			}
			switch e.moves {
			case movesNothing:
			case movesTest:
				if polling == 0 {
					polling = r.start
				}
				if uint64(what>>56)&flagHit != 0 {
					e.Done++
					e.Own += r.start + duration - polling
					polling = 0
				}
			case movesOut:
				e.Out += uint64(r.bytes)
			case movesBothWays:
				e.Out += uint64(r.bytes)
				e.In += uint64(in)
			case movesToPeer, movesToAndFrom:
				if !a.exchanged(e, r) {
					break loop
				}
			case movesFromPeer:
				key := peerKey(what, r.peer, Received)
				p := &entries[a.peers[peerSlot(key)]&(entriesMax-1)]
				if p.key != key || p.mark != peer {
					break loop
				}
				p.N++
				p.Sum += duration
				p.Out += uint64(r.bytes)
				e.In += uint64(r.bytes)
				e.Done++
			default:
				break loop
			}
			g.N++
			g.Sum += r.start - last
			g.Max = r.start
			from, last = Edge(path), r.start+duration
			e.add(duration)
		} else if what.kind() == kindLeaf {
			e := &entries[a.regions[path&(callCache-1)]&(entriesMax-1)]
			g, within := &entries[e.gap&(entriesMax-1)], &entries[e.low&(entriesMax-1)]
			enter, exit := Edge(path)|edgeEnter, Edge(path)|edgeExit
			if e.key != uint64(path) || e.mark != region || g.key != gapKey(from, enter) || g.mark != gap ||
				within.key != gapKey(enter, exit) || within.mark != gap {
				break
			}
			duration := uint64(r.duration)
			g.N++
			g.Sum += r.start - duration - last
			g.Max = r.start - duration
			within.N++
			within.Sum += duration
			within.Max = r.start
			from, last, polling = exit, r.start, 0
			a.ended += uint64(what.flags()&flagPlain^flagPlain) / flagPlain
			e.add(duration)
		} else if what.kind() != kindValues {
			e := &entries[a.arrivals[path&(callCache-1)]&(entriesMax-1)]
			key := peerKey(what, r.peer, Received)
			p := &entries[a.peers[peerSlot(key)]&(entriesMax-1)]
			if (what.kind() != kindReceived && what.kind() != kindCompleted) || what.flags() != 0 || e.key != callKey(path, what.comm()) ||
				e.mark != call || r.start-uint64(e.low) >= uint64(e.span) || p.key != key || p.mark != peer {
				break
			}
			e.In += r.start
			e.Done++
			p.N++
			p.Out += r.start
		}
	}
	t.lastFrom, t.lastTick, t.polling = from, last, polling
	return at
}

// exchanged counts what a usual call has sent, and received if it is one record. False: it needs a second look.
func (a *Aggregator) exchanged(e *Entry, r *record) bool {
	mark, to, b := a.batch|uint32(EntryPeer), r.peer, (*both)(unsafe.Pointer(r))
	one := r.what.flags()&flagBoth != 0
	if one {
		to = int32(b.to)
	}
	key := peerKey(r.what, to, Sent)
	p := &a.entries[a.peers[peerSlot(key)]&(entriesMax-1)]
	if p.key != key || p.mark != mark {
		return false
	}
	if one {
		in := b.bytes + uint32(int32(b.more))
		key := peerKey(r.what, int32(b.from), Received)
		q := &a.entries[a.peers[peerSlot(key)]&(entriesMax-1)]
		if q.key != key || q.mark != mark || in-e.low >= e.span {
			return false
		}
		q.N++
		q.Out += uint64(in)
		e.In += uint64(in)
		e.Done++
	}
	p.N++
	p.Sum += uint64(r.duration)
	p.Out += uint64(r.bytes)
	e.Out += uint64(r.bytes)
	return true
}

// call is the full story of a call.
func (a *Aggregator) call(r *record) {
	t := a.t
	p := &t.pending
	path := r.what.path()
	collective := r.what.flags()&flagCollective != 0
	duration, out, in := uint64(r.duration), uint64(r.bytes), uint64(0)
	if p[wideDuration]|p[wideOut]|p[wideIn] != 0 {
		duration, out, in = p[wideDuration], p[wideOut], p[wideIn]
		if !collective {
			out, in = out|in, 0 // one of them is zero, as in the narrow record
		}
	} else if collective {
		in = uint64(uint32(r.tag))
	}
	i := a.find(EntryCall, callKey(path, r.what.comm()), out|in)
	a.calls[path&(callCache-1)] = i
	e := a.touch(i)
	// Without a core, or while Marple takes records in, nothing else is done.
	if between := uint64(e.longest) + p[pendingRunnable] + p[pendingOwn]; r.start-t.lastTick > between && e.Op == OpTest {
		a.gap(Edge(path)|edgeLong, r.start)
		if t.polling != 0 && EndsRow(r.start, t.lastTick, t.polling, between) {
			t.polling = 0
		}
	} else {
		e.gap = uint16(a.gap(Edge(path), r.start))
	}
	a.poll(e, r, duration)
	t.lastFrom, t.lastTick = Edge(path), r.start+duration
	e.add(duration)
	e.Runnable += p[insideRunnable]
	e.Blocked += p[insideBlocked]
	a.clearPending()
	a.move(e, r, duration, out, in)
}

// poll notes since when a row of tests lasts, and how long it has when it ends with one that finds something.
func (a *Aggregator) poll(e *Entry, r *record, duration uint64) {
	t := a.t
	switch {
	case e.Op != OpTest:
		t.polling = 0
	case r.what.flags()&flagHit != 0:
		if t.polling == 0 {
			t.polling = r.start
		}
		e.Own += r.start + duration - t.polling
		t.polling = 0
	case t.polling == 0:
		t.polling = r.start
	}
}

func (a *Aggregator) clearPending() {
	a.t.pending = [pendingWords]uint64{}
	a.unusual = false
}

// move counts what a call has moved.
func (a *Aggregator) move(e *Entry, r *record, duration, out, in uint64) {
	if flags := r.what.flags(); flags&(flagFailed|flagHit) != 0 {
		if flags&flagHit != 0 {
			e.Done++
		} else if e.Failed < ^uint16(0) {
			e.Failed++
		}
		return
	}
	switch e.moves {
	case movesOut:
		e.Out += out
	case movesNothing:
	case movesBothWays:
		e.Out += out
		e.In += in
	case movesToPeer, movesToAndFrom:
		e.Out += out
		a.message(Sent, r, out, duration)
	case movesFromPeer:
		e.In += out
		e.Done++
		a.message(Received, r, out, duration)
	case movesIntoPeer:
		e.Out += out
		a.message(Put, r, out, duration)
	case movesOutOfPeer:
		e.In += out
		a.message(Got, r, out, duration)
	case movesIn:
		e.In += out
	}
}

// peer gives the index of an EntryPeer. When half of the room is taken, messages of further paths to the same rank share
// one, so that peers crowd nothing else out.
func (a *Aggregator) peer(key uint64) uint32 {
	if i, known := a.lookup(EntryPeer, key, 0); known {
		return i
	}
	if a.t.entries >= a.most()/2 {
		key &= 1<<peerPathAt - 1
	}
	return a.find(EntryPeer, key, 0)
}

// message counts one message to or from a rank of a communicator.
func (a *Aggregator) message(d Direction, r *record, bytes, ticks uint64) {
	if r.peer < 0 {
		return
	}
	key := peerKey(r.what, r.peer, d)
	cache := &a.peers[peerSlot(key)]
	p := &a.entries[*cache&(entriesMax-1)]
	if p.key != key || p.mark != a.batch|uint32(EntryPeer) {
		*cache = a.peer(key)
		p = a.touch(*cache)
	}
	p.N++
	p.Sum += ticks
	p.Out += bytes
}

// gap charges the time since the last event; to is what comes next. It returns the entry's index.
func (a *Aggregator) gap(to Edge, start uint64) uint32 {
	t := a.t
	i := a.find(EntryGap, gapKey(t.lastFrom, to), 0)
	e := a.touch(i)
	ticks := start - t.lastTick
	own := min(t.pending[pendingOwn], ticks)
	e.N++
	e.Sum += ticks - own
	e.Min, e.Max = min(e.Min, start), max(e.Max, start)
	e.Own += own
	e.Runnable += t.pending[pendingRunnable]
	e.Blocked += t.pending[pendingBlocked]
	for j := range a.samples {
		a.sampled(&a.samples[j], i)
	}
	a.samples = a.samples[:0]
	return i
}

// sampled adds samples to those of a gap, or of threads without events.
func (a *Aggregator) sampled(r *record, gap uint32) {
	key := samplesKey(r.what.path(), gap)
	if a.t.entries > entriesMax/2 { // what is left is for events: of further places it is not known which
		key = samplesKey(0, gap)
	}
	i := a.find(EntrySamples, key, 0)
	if a.entries[i].key != key {
		return // counted as lost
	}
	e := a.touch(i)
	e.N += r.start
	e.Sum += r.second()
}

// other takes a record that is not a usual call.
func (a *Aggregator) other(r *record) {
	t := a.t
	path := r.what.path()
	switch r.what.kind() {
	case kindCall:
		if r.what.flags()&flagBoth != 0 {
			call, received := r.halves()
			a.call(&call)
			a.arrived(path, &received)
		} else {
			a.call(r)
		}
	case kindReceived, kindCompleted:
		// The path is that of the call which started the operation. Sends and collectives were counted there.
		if r.what.flags()&(flagIsSend|flagCollective|flagCancelled) == 0 {
			a.arrived(path, r)
		}
	case kindPosted:
		a.posted(r)
	case kindEnter:
		a.boundary(Edge(path)|edgeEnter, r.start)
	case kindLeaf:
		a.leaf(r)
	case kindAside:
		a.aside(r)
	case kindCounts:
		a.counts(r)
	case kindExit:
		duration := max(uint64(r.duration), t.pending[wideDuration])
		if r.what.flags()&flagInvocation != 0 {
			a.ended++
		}
		a.boundary(Edge(path)|edgeExit, r.start)
		a.touch(a.find(EntryRegion, uint64(path), 0)).add(duration)
	case kindAtomic:
		a.touch(a.find(EntryAtomic, uint64(path), 0)).addReal(math.Float64frombits(r.start))
	case kindBefore:
		t.pending[pendingRunnable] += r.start
		t.pending[pendingBlocked] += r.second()
		t.pending[pendingOwn] += r.third()
		a.unusual = true
	case kindSampled:
		if r.what.flags()&flagElsewhere != 0 {
			a.sampled(r, ElsewhereGap)
		} else if len(a.samples) < placesMost {
			a.samples = append(a.samples, *r)
			a.unusual = true
		}
	case kindInside:
		t.pending[insideRunnable], t.pending[insideBlocked] = r.start, r.second()
		a.unusual = true
	case kindBegin:
		a.clearPending()
		t.lastFrom, t.lastTick = 0, r.start
	case kindWide:
		t.pending[wideDuration], t.pending[wideOut], t.pending[wideIn] = r.start, r.second(), r.third()
		a.unusual = true
	}
}

// boundary is the beginning or end of a region.
func (a *Aggregator) boundary(e Edge, at uint64) {
	a.gap(e, at)
	a.clearPending()
	a.t.lastFrom, a.t.lastTick, a.t.polling = e, at, 0
}

// leaf is a region in which nothing else happened: its beginning and its end.
func (a *Aggregator) leaf(r *record) {
	path, begin := r.what.path(), r.start-uint64(r.duration)
	i := a.find(EntryRegion, uint64(path), 0)
	a.regions[path&(callCache-1)] = i
	before := a.gap(Edge(path)|edgeEnter, begin)
	a.clearPending()
	a.t.lastFrom, a.t.lastTick = Edge(path)|edgeEnter, begin
	within := a.gap(Edge(path)|edgeExit, r.start)
	a.t.lastFrom, a.t.lastTick, a.t.polling = Edge(path)|edgeExit, r.start, 0
	e := a.touch(i)
	e.gap, e.low = uint16(before), within
	e.add(uint64(r.duration))
	if r.what.flags()&flagPlain == 0 {
		a.ended++
	}
}

// aside is a region that is told at its end. The time around it is one gap, which begins with the event before and ends with the next
// one, as if the region had not been there: ranks that have it and ranks that do not are compared by what they do besides.
func (a *Aggregator) aside(r *record) {
	t, path, duration := a.t, r.what.path(), r.second()
	a.touch(a.find(EntryRegion, uint64(path), 0)).add(duration)
	e := a.touch(a.find(EntryGap, gapKey(Edge(path)|edgeEnter, Edge(path)|edgeExit), 0))
	e.N++
	e.Sum += duration
	e.Min, e.Max = min(e.Min, r.start), max(e.Max, r.start)
	e.Runnable += t.pending[insideRunnable]
	e.Blocked += t.pending[insideBlocked]
	t.pending[insideRunnable], t.pending[insideBlocked] = 0, 0
	t.lastTick, t.polling = t.lastTick+duration, 0
}

// counts adds up counters.
func (a *Aggregator) counts(r *record) {
	for i, x := range [3]uint64{r.start, r.second(), r.third()} {
		if x == notCounted {
			continue
		}
		key := uint64(r.what.path()) | (uint64(r.what.comm())+uint64(i))<<32
		// Different counters cannot share an entry.
		if at := a.find(EntryCounter, key, 0); a.entries[at].key == key {
			a.touch(at).add(x)
		}
	}
}

// arrived counts a message that came in after, or beside, the call on this path that asked for it.
func (a *Aggregator) arrived(path uint32, r *record) {
	bytes := r.start
	key := callKey(path, r.what.comm())
	cache := &a.arrivals[path&(callCache-1)]
	e := &a.entries[*cache&(entriesMax-1)]
	if e.key != key || e.mark != a.batch|uint32(EntryCall) || bytes-uint64(e.low) >= uint64(e.span) {
		*cache = a.find(EntryCall, key, bytes)
		e = a.touch(*cache)
	}
	e.In += bytes
	e.Done++
	a.message(Received, r, bytes, 0)
}

// posted is a persistent operation started again by the call before.
func (a *Aggregator) posted(r *record) {
	flags, bytes := r.what.flags(), r.start
	if flags&(flagIsSend|flagCollective) == 0 {
		return
	}
	e := a.touch(a.find(EntryCall, callKey(r.what.path(), r.what.comm()), bytes))
	e.Out += bytes
	if flags&flagCollective != 0 {
		e.In += uint64(uint32(r.tag))
	} else {
		a.message(Sent, r, bytes, 0)
	}
}
