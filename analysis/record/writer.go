package record

import (
	"bytes"
	"errors"
	"math"
	"os"
	"slices"
	"sync/atomic"
	"unsafe"
)

// A Writer makes a Process from events of another source than the C shim, in the same memory layout. Like
// the shim's tables its own are bounded; what exceeds them is left out and counted.
type Writer struct {
	tables []byte
	blocks [][]byte
	texts  map[string]uint32
	nodes  map[Node]uint32
	all    []*Aggregator // by thread
}

// NewWriter starts a process. Ticks are nanoseconds.
func NewWriter(rank, ranks int) *Writer {
	w := &Writer{tables: make([]byte, TablesSize), texts: map[string]uint32{"": 0}, nodes: map[Node]uint32{}}
	h := w.Header()
	copy(h.Magic[:], magic)
	h.Version, h.HeaderSize = version, uint32(unsafe.Sizeof(Header{}))
	h.Rank, h.Ranks = int32(rank), int32(ranks)
	h.ClockKind, h.TicksPerSecond = ClockMonotonic, 1e9
	h.State = Finalized
	h.Strings, h.Comms = 1, 1
	h.Nodes = overflowNode + 1
	nodes := AllNodes(w.tables)
	nodes[0].Kind, nodes[overflowNode].Kind = NodeRoot, NodeOverflow
	return w
}

// Header may be filled in by the caller.
func (w *Writer) Header() *Header { return (*Header)(unsafe.Pointer(unsafe.SliceData(w.tables))) }

// String keeps a text and gives its offset.
func (w *Writer) String(s string) uint32 {
	if at, ok := w.texts[s]; ok {
		return at
	}
	h := w.Header()
	at := h.Strings
	if int(at)+len(s)+1 > stringsMax {
		h.StringsLost++
		return 0
	}
	copy(w.tables[stringsAt+at:], s)
	h.Strings += uint32(len(s)) + 1
	w.texts[s] = at
	return at
}

// Module adds a module and gives its index.
func (w *Writer) Module(path string, buildID []byte) uint32 {
	h := w.Header()
	if h.Modules >= modulesMax {
		return ^uint32(0)
	}
	m := (*Module)(unsafe.Pointer(&w.tables[modulesAt+int(h.Modules)*64]))
	m.Path = w.String(path)
	m.BuildIDLen = uint8(copy(m.BuildID[:], buildID))
	h.Modules++
	return h.Modules - 1
}

// Node finds or makes a node.
func (w *Writer) Node(n Node) uint32 {
	if at, ok := w.nodes[n]; ok {
		return at
	}
	h := w.Header()
	if h.Nodes >= nodesMax {
		h.NodesLost++
		return overflowNode
	}
	at := h.Nodes
	AllNodes(w.tables)[at] = n
	h.Nodes++
	w.nodes[n] = at
	return at
}

// MPI is the node of an MPI function below a parent.
func (w *Writer) MPI(parent uint32, name string, op Op, flags OpFlags) uint32 {
	return w.MPIAt(parent, 0, 0, name, op, flags)
}

// MPIAt is MPI called at a place in a module.
func (w *Writer) MPIAt(parent, module uint32, site uint64, name string, op Op, flags OpFlags) uint32 {
	return w.Node(Node{Parent: parent, Kind: NodeMPI, Op: op, Flags: flags, Name: w.String(name), SiteModule: module, Site: site})
}

// Comm adds a communicator with the given members (world ranks) and gives its index.
func (w *Writer) Comm(c Comm, name string, members []Run) uint16 {
	h := w.Header()
	size := uint32(unsafe.Sizeof(Run{}))
	if h.Comms >= commsMax || h.Members+uint32(len(members))*size > membersMax {
		h.CommsLost++
		return 0
	}
	c.Name, c.Members, c.Runs, c.Flags = w.String(name), h.Members, uint32(len(members)), c.Flags|CommMembers
	for i, run := range members {
		*(*Run)(unsafe.Pointer(&w.tables[membersAt+h.Members+uint32(i)*size])) = run
	}
	h.Members += uint32(len(members)) * size
	*(*Comm)(unsafe.Pointer(&w.tables[commsAt+int(h.Comms)*64])) = c
	h.Comms++
	return uint16(h.Comms - 1)
}

// A ThreadWriter records one thread's events, in order.
type ThreadWriter struct {
	w    *Writer
	at   int // among the process's threads
	a    *Aggregator
	path []uint32 // open regions
	open []uint64 // since when
}

// Thread starts a thread at a tick; main is the one that called MPI_Init.
func (w *Writer) Thread(begin uint64, main bool) *ThreadWriter {
	block := make([]byte, ThreadSpan)
	t := (*thread)(unsafe.Pointer(unsafe.SliceData(block)))
	t.undoBatch, t.dropAt, t.entriesReady = ^uint64(0), ^uint64(0), entriesMax
	t.beginTick, t.lastTick = begin, begin
	if main {
		t.mainThread = 1
		w.Header().BeginTick = begin
	}
	w.blocks = append(w.blocks, block)
	w.Header().Threads = uint32(len(w.blocks))
	a := NewAggregator(block, AllNodes(w.tables), w.Header().TicksPerSecond)
	w.all = append(w.all, a)
	return &ThreadWriter{w: w, at: len(w.blocks) - 1, a: a, path: []uint32{0}}
}

// Inside notes that the thread entered an MPI call, and did not leave it.
func (t *ThreadWriter) Inside(name string, at uint64) {
	x := (*thread)(unsafe.Pointer(unsafe.SliceData(t.w.blocks[t.at])))
	x.inside, x.called, x.calling, x.callingPeer = 1, at, t.w.String(name), Any
}

// Call describes an MPI call for a ThreadWriter. Peer is a rank of Comm, or Any, ProcNull, NoPeer, ...
type Call struct {
	Path              uint32
	Start, Duration   uint64 // ticks
	Comm              uint16
	Peer, Tag         int32
	Out, In           uint64 // bytes
	Collective        bool
	Hit, Failed       bool
	Started, Complete bool   // it has started an operation, which is complete at once
	Runnable, Blocked uint64 // ticks off the core inside the call
}

// Where is the innermost open region.
func (t *ThreadWriter) Where() uint32 { return t.path[len(t.path)-1] }

// Gap says what became of the time since the last event.
func (t *ThreadWriter) Gap(runnable, blocked, own uint64) {
	t.put(wordsRecord(kindBefore, runnable, blocked, own))
}

// Sampled says where samples hit since the last event, each for one period of the timer; path 0 is not known.
func (t *ThreadWriter) Sampled(path uint32, samples uint64) {
	r := wordsRecord(kindSampled, samples, samples, 0)
	r.what |= what(path)
	t.put(r)
}

// SampledElsewhere says the same of threads without events.
func (t *ThreadWriter) SampledElsewhere(path uint32, samples uint64) {
	r := wordsRecord(kindSampled, samples, samples, 0)
	r.what |= makeWhat(path, 0, 0, flagElsewhere)
	t.put(r)
}

// Call records an MPI call.
func (t *ThreadWriter) Call(c Call) {
	t.a.t.made[AllNodes(t.w.tables)[c.Path].Op]++
	if c.Runnable|c.Blocked != 0 {
		t.put(wordsRecord(kindInside, c.Runnable, c.Blocked, 0))
	}
	if (c.Duration|c.Out|c.In)>>31 != 0 {
		t.put(wordsRecord(kindWide, c.Duration, c.Out, c.In))
	}
	var flags uint8
	bytes, tag := uint32(c.Out|c.In), c.Tag
	if c.Collective {
		flags |= flagCollective
		bytes, tag = uint32(c.Out), int32(uint32(c.In))
	}
	if c.Hit {
		flags |= flagHit
	}
	if c.Failed {
		flags |= flagFailed
	}
	if c.Started {
		flags |= flagStarted
	}
	if c.Complete {
		flags |= flagComplete
	}
	t.put(record{start: c.Start, duration: uint32(c.Duration), bytes: bytes, peer: c.Peer, tag: tag,
		what: makeWhat(c.Path, c.Comm, kindCall, flags)})
}

// Received records the receiving half of a call on this path, which has just been recorded.
func (t *ThreadWriter) Received(path uint32, comm uint16, peer int32, bytes uint64) {
	t.ReceivedAs(path, comm, peer, 0, bytes)
}

// ReceivedAs says the same of a message with a tag.
func (t *ThreadWriter) ReceivedAs(path uint32, comm uint16, peer, tag int32, bytes uint64) {
	t.put(record{start: bytes, peer: peer, tag: tag, what: makeWhat(path, comm, kindReceived, 0)})
}

// Completed records that an operation started by a call on this path is complete.
func (t *ThreadWriter) Completed(path uint32, comm uint16, peer int32, bytes uint64, send bool) {
	t.CompletedAs(0, path, comm, peer, 0, bytes, send)
}

// CompletedAs says the same of the operation with a number, whose message has a tag.
func (t *ThreadWriter) CompletedAs(number, path uint32, comm uint16, peer, tag int32, bytes uint64, send bool) {
	var flags uint8
	if send {
		flags = flagIsSend
	}
	t.put(record{start: bytes, duration: number, peer: peer, tag: tag, what: makeWhat(path, comm, kindCompleted, flags)})
}

// Posted records that the call before has started a persistent operation, which a call of class op had prepared. The
// number counts the operations that the thread has started; bytes are to be sent, or room to receive.
func (t *ThreadWriter) Posted(path uint32, op Op, comm uint16, peer, tag int32, number uint32, bytes uint64) {
	var flags uint8
	if op.Sends() {
		flags = flagIsSend
	} else if op.Collective() {
		flags = flagCollective
	}
	t.put(record{start: bytes, duration: number, bytes: uint32(op) << 16, peer: peer, tag: tag, what: makeWhat(path, comm, kindPosted, flags)})
}

// Enter opens a region or phase below the innermost open one.
func (t *ThreadWriter) Enter(node uint32, at uint64) {
	t.path, t.open = append(t.path, node), append(t.open, at)
	t.put(record{start: at, peer: NoPeer, what: makeWhat(node, 0, kindEnter, 0)})
}

// Atomic reports a value; node is that of its name.
func (t *ThreadWriter) Atomic(node uint32, value float64) {
	t.put(record{start: math.Float64bits(value), peer: NoPeer, what: makeWhat(node, 0, kindAtomic, 0)})
}

// Exit closes the innermost open region.
func (t *ThreadWriter) Exit(at uint64) {
	last := len(t.open) - 1
	duration := at - t.open[last]
	if duration>>32 != 0 {
		t.put(wordsRecord(kindWide, duration, 0, 0))
	}
	t.put(record{start: at, duration: uint32(duration), peer: NoPeer, what: makeWhat(t.path[last+1], 0, kindExit, 0)})
	t.path, t.open = t.path[:last+1], t.open[:last]
}

// Aside records a region that ends now and in which nothing was recorded, and which the time around it does not end or begin with.
func (t *ThreadWriter) Aside(node uint32, end, duration, runnable, blocked uint64) {
	if runnable|blocked != 0 {
		t.put(wordsRecord(kindInside, runnable, blocked, 0))
	}
	r := wordsRecord(kindAside, end, duration, 0)
	r.what = makeWhat(node, 0, kindAside, 0)
	t.put(r)
}

func wordsRecord(kind uint8, a, b, c uint64) record {
	r := record{start: a, what: makeWhat(0, 0, kind, 0)}
	*(*uint64)(unsafe.Pointer(&r.duration)) = b
	*(*uint64)(unsafe.Pointer(&r.peer)) = c
	return r
}

func (t *ThreadWriter) put(r record) {
	th := t.a.t
	t.a.ring[th.head&(records-1)] = r
	atomic.StoreUint64(&th.head, th.head+1)
	if th.head-th.consumed == records {
		t.a.Consume()
	}
}

// Process ends the measurement at a tick and gives what was recorded.
func (w *Writer) Process(end uint64) (*Process, error) {
	h := w.Header()
	h.EndTick = end
	h.Last.Ticks = end
	p, err := Open(w.tables, w.blocks)
	if err != nil {
		return nil, err
	}
	for _, a := range w.all {
		a.Consume()
	}
	return p, nil
}

// File is a record file of what was recorded so far, as a killed process leaves it.
func (w *Writer) File() []byte { return slices.Concat(append([][]byte{w.tables}, w.blocks...)...) }

// Store writes a record file of what was recorded so far. Most of one is empty, and takes no room on disk.
func (w *Writer) Store(path string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	const page = 1 << 12
	at, empty := int64(0), make([]byte, page)
	for _, part := range append([][]byte{w.tables}, w.blocks...) {
		for from := 0; from < len(part) && err == nil; from += page {
			if piece := part[from:min(from+page, len(part))]; !bytes.Equal(piece, empty[:len(piece)]) {
				_, err = file.WriteAt(piece, at+int64(from))
			}
		}
		at += int64(len(part))
	}
	return errors.Join(err, file.Truncate(at), file.Close())
}

// Keep logs what is recorded from now on.
func (t *ThreadWriter) Keep(budget *Budget) *Log {
	l := NewLog(budget, t.at, AllNodes(t.w.tables))
	t.a.Keep(l)
	return l
}
