package record

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"sync/atomic"
	"unsafe"

	"marple/analysis/files"
)

// Process is what one process has recorded: the tables, and a block per thread.
type Process struct {
	mem     []byte
	blocks  [][]byte // nil where a thread's block could not be made
	threads []*Aggregator
}

// Open takes the memory of a process's header and tables, of TablesSize bytes, and of its threads' blocks, of
// ThreadSpan bytes each. Nothing is copied, and the blocks are written to. The error says what is wrong
// with the header.
func Open(tables []byte, blocks [][]byte) (*Process, error) {
	if len(tables) < TablesSize {
		return nil, fmt.Errorf("%d bytes; a record file has at least %d", len(tables), TablesSize)
	}
	p := &Process{mem: tables[:TablesSize]}
	h := p.Header()
	if err := h.Check(); err != nil {
		return nil, err
	}
	if h.Ranks < 0 || h.Rank < 0 || h.Rank >= max(h.Ranks, 1) {
		return nil, fmt.Errorf("rank %d of %d", h.Rank, h.Ranks)
	}
	for _, block := range blocks[:min(len(blocks), threadsMax)] {
		if block != nil && len(block) < ThreadSpan {
			block = nil
		}
		p.blocks = append(p.blocks, block)
		p.threads = append(p.threads, NewAggregator(block, p.Nodes(), h.TicksPerSecond))
	}
	return p, nil
}

// Check tells whether the tables behind a header are laid out as here.
func (h *Header) Check() error {
	if string(h.Magic[:]) != magic {
		return fmt.Errorf("not a record file")
	}
	if h.Version != version || h.HeaderSize != uint32(unsafe.Sizeof(Header{})) {
		return &files.Unfit{What: "a record file", Version: int(h.Version), Reads: version}
	}
	return nil
}

// Header is the process's header, in shared memory.
func (p *Process) Header() *Header { return HeaderOf(p.mem) }

// HeaderOf is the header at the start of a process's tables.
func HeaderOf(tables []byte) *Header { return (*Header)(unsafe.Pointer(unsafe.SliceData(tables))) }

func table[T any](p *Process, at int, count *uint32, limit int) []T {
	n := min(int(atomic.LoadUint32(count)), limit)
	return unsafe.Slice((*T)(unsafe.Pointer(&p.mem[at])), n)
}

// Nodes are the call-path nodes; parents come before children. Unfinished ones have the kind NodeFree.
func (p *Process) Nodes() []Node { return table[Node](p, nodesAt, &p.Header().Nodes, nodesMax) }

// AllNodes is the node table of a process that still runs, with room for nodes it has yet to make.
func AllNodes(tables []byte) []Node {
	return unsafe.Slice((*Node)(unsafe.Pointer(&tables[nodesAt])), nodesMax)
}

// Comms are the communicators; number 0 stands for those that are not known.
func (p *Process) Comms() []Comm { return table[Comm](p, commsAt, &p.Header().Comms, commsMax) }

// Modules are the executables and libraries that call paths go through.
func (p *Process) Modules() []Module {
	return table[Module](p, modulesAt, &p.Header().Modules, modulesMax)
}

// String is the text at an offset of the string arena; "" if the offset is wrong.
func (p *Process) String(at uint32) string {
	return TextAt(p.mem[stringsAt:stringsAt+stringsMax], at)
}

// Members are the world ranks of a communicator's group, as runs; nil if they are not known.
func (p *Process) Members(c *Comm) []Run {
	size := int(unsafe.Sizeof(Run{}))
	if c.Flags&CommMembers == 0 || int(c.Runs) > membersMax/size || int(c.Members) > membersMax-int(c.Runs)*size || c.Members%4 != 0 {
		return nil
	}
	return unsafe.Slice((*Run)(unsafe.Pointer(&p.mem[membersAt+int(c.Members)])), c.Runs)
}

// Lost are calls of one operation class that were counted but not recorded.
type Lost struct{ Calls, Ticks, Bytes uint64 }

// LostCalls of an operation class.
func (p *Process) LostCalls(op Op) Lost {
	at := lostAt + int(op)*32
	word := func(i int) uint64 { return binary.NativeEndian.Uint64(p.mem[at+8*i:]) }
	return Lost{word(0), word(1), word(2)}
}

// Files are what was done with files, if that was counted: the first one is of all that have no entry of their own.
func (p *Process) Files() (list []File) {
	if p.Header().FilesKnown == 0 {
		return nil
	}
	for i, f := range unsafe.Slice((*File)(unsafe.Pointer(&p.mem[filesAt])), filesMost) {
		if i == 0 || f.Key != 0 {
			list = append(list, f)
		}
	}
	return list
}

// Thread is one thread's aggregates and what else is known of it.
type Thread struct {
	Index                            int
	Main                             bool   // called MPI_Init
	Owners                           int    // threads that have used this block, one after the other
	Begin                            uint64 // tick
	LastEdge                         Edge   // where its last event left it
	LastTick                         uint64
	Entries                          []Entry
	EntriesLost                      uint64          // aggregates that found no room of their own
	DeepRegions, BadExits, InMPIHook uint64          // see struct mrl_thread
	ValuesLost, CutShort             uint64          // likewise
	Longest                          uint64          // likewise
	Invocations                      uint64          // of components, that have ended
	Kept                             uint64          // bytes of their records in a file, see KeepInvocations
	Unkept                           uint64          // invocations that found no room there
	Dropped                          uint64          // records counted but not kept
	Behind                           uint64          // records that are not aggregated
	Made                             [OpCount]uint64 // calls that records were written of
	Inside                           bool            // in an MPI call, or in Marple: one record may not be committed
}

// Threads are those whose blocks exist, in the order in which they first called.
func (p *Process) Threads() []Thread {
	var list []Thread
	for i, a := range p.threads {
		if a == nil {
			continue
		}
		t := a.t
		thread := Thread{Index: i, Main: t.mainThread != 0, Owners: int(max(t.owners, 1)), Begin: t.beginTick, LastEdge: t.lastFrom, LastTick: t.lastTick,
			Entries: a.Entries(), EntriesLost: t.entriesLost, DeepRegions: t.deepRegions, BadExits: t.badExits, InMPIHook: t.insideHooks, Dropped: t.dropped,
			ValuesLost: t.valuesLost, CutShort: t.cutShort, Longest: t.longest, Invocations: t.invocations, Kept: t.kept, Unkept: t.unkept,
			Behind: t.head - min(t.head, t.consumed), Made: t.made, Inside: t.inside != 0}
		list = append(list, thread)
	}
	return list
}

// KeepInvocations has the i-th thread's invocations kept in a file; see Aggregator.
func (p *Process) KeepInvocations(i int, file io.WriterAt, most uint64) {
	if i >= 0 && i < len(p.threads) && p.threads[i] != nil {
		p.threads[i].KeepInvocations(file, most)
	}
}

// Counters are the names of what was counted.
func (p *Process) Counters() []string {
	h := p.Header()
	names := make([]string, min(h.CounterCount, CountersMost))
	for i := range names {
		names[i] = p.String(h.Counters[i])
	}
	return names
}

// Strings and RawNodes are the tables that invocations refer to, as bytes.
func (p *Process) Strings() []byte {
	return p.mem[stringsAt : stringsAt+min(int(atomic.LoadUint32(&p.Header().Strings)), stringsMax)]
}
func (p *Process) RawNodes() []byte {
	return p.mem[nodesAt : nodesAt+len(p.Nodes())*int(unsafe.Sizeof(Node{}))]
}

// NodesOf are nodes that were stored as bytes; those that are incomplete are left out.
func NodesOf(raw []byte) []Node {
	nodes := make([]Node, len(raw)/int(unsafe.Sizeof(Node{})))
	if len(nodes) > 0 {
		copy(unsafe.Slice((*byte)(unsafe.Pointer(&nodes[0])), len(nodes)*int(unsafe.Sizeof(Node{}))), raw)
	}
	return nodes
}

// TextAt is the text at an offset of stored strings; "" if the offset is wrong.
func TextAt(stored []byte, at uint32) string {
	if at == 0 || int64(at) >= int64(len(stored)) {
		return ""
	}
	text := stored[at:min(len(stored), int(at)+1025)]
	if n := bytes.IndexByte(text, 0); n >= 0 {
		return string(text[:n])
	}
	return ""
}

// Inside is an MPI call that a thread has entered and not left.
type Inside struct {
	Thread int
	Main   bool
	Name   string
	From   uint64 // address that it returns to
	Tick   uint64 // when it was entered
	Peer   int32  // of a blocking message, or the root: rank in the communicator, or Any, ...
	Comm   int    // index of the communicator; 0: not known, or none
	Flying uint32 // operations that the thread had started and not seen complete
	Ended  bool   // the process has ended from within it
}

// Stuck are the calls that threads of a process were in when it ended, other than through MPI_Finalize.
func (p *Process) Stuck() (list []Inside) {
	if p.Header().State == Finalized {
		return nil
	}
	for i, a := range p.threads {
		if a == nil || a.t.inside == 0 || a.t.calling == 0 {
			continue
		}
		t := a.t
		list = append(list, Inside{i, t.mainThread != 0, p.String(t.calling), t.calledFrom, t.called, t.callingPeer, p.commOf(t.callingComm), t.inFlight, uint64(i)+1 == p.Header().EndedBy})
	}
	return list
}

// commOf is the communicator that has a handle, 0 if there is none. Of several the last one was made when the others
// had been freed.
func (p *Process) commOf(handle uint64) int {
	comms := p.Comms()
	for i := len(comms) - 1; i > 0 && handle != 0; i-- {
		if comms[i].Handle == handle {
			return i
		}
	}
	return 0
}

// WorldRank is the rank in MPI_COMM_WORLD of a member of a communicator; -1 if it is not known.
func (p *Process) WorldRank(comm int, rank int32) int32 {
	comms := p.Comms()
	if rank < 0 || comm <= 0 || comm >= len(comms) {
		return -1
	}
	for _, r := range p.Members(&comms[comm]) {
		if uint32(rank) < r.Count {
			return int32(int64(r.First) + int64(r.Stride)*int64(rank))
		}
		rank -= int32(r.Count)
	}
	return -1
}

// ModuleAt is the module that holds an address, and the address as an offset there.
func (p *Process) ModuleAt(address uint64) (index int, offset uint64) {
	for i, m := range p.Modules() {
		if address >= m.Low && address < m.High {
			return i, address - m.Bias
		}
	}
	return -1, 0
}

// Consume aggregates what the i-th thread's ring still holds.
func (p *Process) Consume(i int) Status {
	if i < 0 || i >= len(p.threads) || p.threads[i] == nil {
		return Broken
	}
	return p.threads[i].Consume()
}

// Keep makes the i-th thread log what it has yet to aggregate, after what the process has left in the log beside its
// record file. It gives nil if the beginning is missing.
func (p *Process) Keep(i int, recordFile string) *Log {
	if i < 0 || i >= len(p.threads) || p.threads[i] == nil {
		return nil
	}
	a := p.threads[i]
	l, err := ResumeLog(recordFile, i, p.Nodes())
	if err == nil {
		a.keep = l
		return l
	}
	if a.t.consumed > 0 {
		return nil
	}
	l = NewLog(&Budget{Memory: 1 << 62, Total: 1 << 62}, i, p.Nodes())
	a.Keep(l)
	return l
}

// Spilled tells whether the i-th thread has records in a spill file that are not yet consumed.
func (p *Process) Spilled(i int) bool {
	return i >= 0 && i < len(p.threads) && p.threads[i] != nil && p.threads[i].Spilled()
}

// ConsumeSpilled aggregates the i-th thread's spill file; see Aggregator.
func (p *Process) ConsumeSpilled(i int, file io.ReaderAt) (Status, error) {
	return p.threads[i].ConsumeSpilled(file)
}

// GiveRoom says that storage for all entries of the i-th thread exists.
func (p *Process) GiveRoom(i int) {
	if i < len(p.threads) && p.threads[i] != nil {
		p.threads[i].t.entriesReady, p.threads[i].t.entriesFull = entriesMax, 0
	}
}

// Extent is how many bytes of a thread's block are in use, given its first HotSize bytes.
func Extent(hot []byte) int64 {
	t := (*thread)(unsafe.Pointer(unsafe.SliceData(hot[:HotSize])))
	return entriesAt + int64(min(atomic.LoadUint32(&t.entries), entriesMax))*entrySize
}

// Activity changes whenever a thread's entries change otherwise than the undo log tells, or its ring is overwritten.
// A copy of a block that was made between two equal ones is as good as one of a process that was killed.
type Activity [4]uint64

// ActivityOf a block, given its first HotSize bytes.
func ActivityOf(hot []byte) Activity {
	t := (*thread)(unsafe.Pointer(unsafe.SliceData(hot[:HotSize])))
	return Activity{t.consumed, t.undoBatch, uint64(t.undoCount), t.spilled}
}

// Usable tells whether the first n bytes of a thread's block are enough to make sense of: all but entries
// that may not have been in use.
func Usable(n int64) bool { return n >= entriesAt }

// SpillName is the file that a thread's records spill into, beside the process's record file.
func SpillName(recordFile string, thread int) string {
	return fmt.Sprintf("%s.%d.spill", recordFile, thread)
}
