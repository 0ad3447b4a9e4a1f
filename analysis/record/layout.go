// Package record is the first stage of analysis: it knows the records that measurement leaves behind
// and aggregates them.
//
// It uses the standard library only. It works on memory it is given, whether that is shared with a
// running process or read from a file, and trusts nothing in it: every index is checked or masked.
//
// Invariant: aggregating is a pure function of the records, and is atomic: killed at any moment, a later
// reader finds every committed record counted exactly once (see Aggregator).
package record

import "unsafe"

// Op is what an MPI call does, whatever its name. The values are those of enum mrl_op.
type Op uint8

const (
	OpNone Op = iota
	OpSend
	OpBsend
	OpSsend
	OpRsend
	OpRecv
	OpSendrecv
	OpProbe
	OpWait
	OpTest
	OpRequest
	OpBarrier
	OpNToN
	OpOneToN
	OpNToOne
	OpScan
	OpNeighbor
	OpPut
	OpGet
	OpFetch
	OpRMASync
	OpFence
	OpFileRead
	OpFileWrite
	OpFileOther
	OpComm
	OpDatatype
	OpWindow
	OpLocal
	OpInit
	OpFinalize
	OpCount
)

var opNames = [OpCount]string{"none", "send", "bsend", "ssend", "rsend", "recv", "sendrecv", "probe", "wait", "test",
	"request", "barrier", "n-to-n", "one-to-n", "n-to-one", "scan", "neighbor", "put", "get", "fetch", "rma-sync",
	"fence", "file-read", "file-write", "file-other", "communicator", "datatype", "window", "local", "init", "finalize"}

func (o Op) String() string {
	if o < OpCount {
		return opNames[o]
	}
	return "unknown"
}

// ParseOp is the inverse of String; unknown names give OpNone.
func ParseOp(name string) Op {
	for i, n := range opNames {
		if n == name {
			return Op(i)
		}
	}
	return OpNone
}

// Sends tells whether the call sends a message to its peer.
func (o Op) Sends() bool { return o >= OpSend && o <= OpRsend || o == OpSendrecv }

// Collective tells whether all members of the communicator make the call together.
func (o Op) Collective() bool { return o >= OpBarrier && o <= OpNeighbor || o == OpFence }

// PointToPoint tells whether the call moves, starts, probes or completes messages between two ranks.
func (o Op) PointToPoint() bool { return o >= OpSend && o <= OpRequest }

// OpFlags refine an Op. The values are those of enum mrl_op_flag.
type OpFlags uint8

const (
	Nonblocking OpFlags = 1 << iota // starts an operation, or asks without waiting
	Persistent                      // prepares an operation that MPI_Start repeats
)

// Peers that are no rank.
const (
	Any      = -1
	ProcNull = -2
	NoPeer   = -3
	RootPeer = -4
)

// Kinds of records.
const (
	kindEmpty = iota
	kindBefore
	kindInside
	kindWide
	kindCall
	kindEnter
	kindExit
	kindReceived
	kindPosted
	kindCompleted
	kindBegin
	kindLeaf
	kindValues
	kindAtomic
	kindCounts
	kindSampled
	kindAside
)

// Flags of records.
const (
	flagCollective = 1 << iota
	flagFailed
	flagStarted
	flagComplete
	flagHit
	flagIsSend
	flagCancelled
)

// flagBoth is a call's: record.halves tells what is in it.
const flagBoth = flagIsSend

// Flags of the end of an invocation, of its values, and of kindLeaf.
const (
	flagInvocation = 1
	flagReal       = 1
	flagQuality    = 2
	flagsOfValue   = 2 // bits
	flagPlain      = 16
)

// Flags of kindSampled.
const flagElsewhere = 1

// placesMost is how many places of samples one gap has at most.
const placesMost = 128

// notCounted stands where a counter has no value.
const notCounted = ^uint64(0)

// CountersMost is how many counters a process reads.
const CountersMost = 8

// record is struct mrl_record; the other kinds share its size, and its last word but the path.
type record struct {
	start    uint64
	duration uint32
	bytes    uint32
	peer     int32
	tag      int32
	what     what
}

// what is the last word of a record: path, communicator, kind and flags.
type what uint64

func makeWhat(path uint32, comm uint16, kind, flags uint8) what {
	return what(path) | what(comm)<<32 | what(kind)<<48 | what(flags)<<56
}
func (w what) path() uint32 { return uint32(w) }
func (w what) comm() uint16 { return uint16(w >> 32) }
func (w what) kind() uint8  { return uint8(w >> 48) }
func (w what) flags() uint8 { return uint8(w >> 56) }

// second and third 64-bit words of a record, as struct mrl_before, mrl_inside and mrl_wide use them.
func (r *record) second() uint64 { return *(*uint64)(unsafe.Pointer(&r.duration)) }
func (r *record) third() uint64  { return *(*uint64)(unsafe.Pointer(&r.peer)) }

// both is struct mrl_both: a call that has sent a message and received one, in one record.
type both struct {
	start    uint64
	duration uint32
	bytes    uint32
	to, from int16
	tag      uint16
	more     int16
	what     what
}

// halves are a call with flagBoth as two records.
func (r *record) halves() (call, received record) {
	b := (*both)(unsafe.Pointer(r))
	call, received = *r, record{start: uint64(int64(b.bytes) + int64(b.more)), peer: int32(b.from), tag: int32(b.tag)}
	call.peer, call.tag, call.what = int32(b.to), received.tag, r.what&^(flagBoth<<56)
	received.what = makeWhat(r.what.path(), r.what.comm(), kindReceived, 0)
	return call, received
}

// NodeKind is the kind of a node of a call path.
type NodeKind uint8

const (
	NodeFree NodeKind = iota
	NodeRoot
	NodeFrame
	NodeRegion
	NodePhase
	NodeMPI
	NodeComponent
	NodeOverflow
	NodeCut
	NodeFamilies // no path: what the program declares of families of components
	NodeAtomic
	NodeMetadata
	NodePlace   // in the function above it, where samples hit; Name is the module, Key the offset of what would return there
	NodeExactly // no path: what the first thread reported under a name: Key is "number sum squares min max", or "" where records are cut to whole numbers
	NodeGroups  // no path: groups that regions of a name are in: Key is "a|b"
)

// Node is struct mrl_node.
type Node struct {
	Parent uint32
	Kind   NodeKind
	Op     Op
	Flags  OpFlags
	_      uint8
	// NodeFrame: where the function begins in its module; NodePhase: level; NodeCut: see CutUnknown;
	// NodeComponent: strings of component and, in the upper half, instance; NodeMetadata: string of the value.
	Key  uint64
	Name uint32 // string, or index of the module
	// Where a frame or an MPI call was called, as its return address; Site is 0 if that is not known.
	SiteModule uint32
	Site       uint64
}

// CutUnknown is the Key of a NodeCut whose callers could not be found; others are deeper than was asked for.
const CutUnknown = 1

// Flags of communicators.
const (
	CommInter = 1 << iota
	CommFreed
	CommMembers
)

// Comm is struct mrl_comm.
type Comm struct {
	ID, Parent            uint64
	Size                  uint32
	Rank                  int32
	Members               uint32
	Runs                  uint32
	Name                  uint32
	Flags                 uint32
	Ordinal               uint32
	Children              uint32
	Sources, Destinations int32
	Handle                uint64
}

// Run is struct mrl_run: world ranks First, First+Stride, ..., Count of them.
type Run struct {
	First  uint32
	Stride int32
	Count  uint32
}

// PythonUnread is the name of the metadata that say why Python's functions are not in call paths: cshim/python.h.
const PythonUnread = "Python functions are not named"

// Module is struct mrl_module.
type Module struct {
	Low, High, Bias uint64
	Path            uint32
	BuildIDLen      uint8
	BuildID         [20]byte
	Source          uint8 // 1: a source file that an interpreter runs; offsets in it are lines
	_               [14]byte
}

// Instant is struct mrl_instant: one moment on three clocks.
type Instant struct{ Ticks, RawNs, WallNs uint64 }

// Offset is struct mrl_offset: what to add to the host's clock for that of rank 0's host.
type Offset struct {
	At      uint64 // on this clock, ns
	Ns      int64
	ErrorNs uint64
	Known   uint64
}

// Traffic is struct mrl_traffic: bytes and system calls of read, write and their like.
type Traffic struct{ Read, Written, Reads, Writes uint64 }

// What is done with files: enum mrl_io_kind. The last four are MPI's, of one rank or collective.
const (
	FileRead = iota
	FileWrite
	FileOpen
	FileClose
	FileSync
	FileMetadata
	FileMPIRead
	FileMPIWrite
	FileMPIReadAll
	FileMPIWriteAll
	FileKinds
)

// FileSum is struct mrl_io_sum.
type FileSum struct{ Calls, Bytes, Ticks, Small uint64 }

// File is struct mrl_file: what was done with a file. The one without a key stands for all that have no entry of their own.
type File struct {
	Key       uint64
	Path      uint32
	_         uint32
	Unaligned uint64
	Sums      [FileKinds]FileSum
}

// How a process ended.
const (
	Running = iota // or vanished
	Finalized
	Exited
	Aborted
	Fatal // in a call: an error met MPI_ERRORS_ARE_FATAL
	Alive // known to run still; not in files
)

// Clocks.
const (
	ClockTSC = iota
	ClockMonotonic
	ClockExternal
)

// Header is struct mrl_header.
type Header struct {
	Magic                                                                     [8]byte
	Version                                                                   uint32
	HeaderSize                                                                uint32
	PID                                                                       uint32
	Rank, Ranks                                                               int32
	State                                                                     uint32
	AbortCode                                                                 int32
	ClockKind                                                                 uint32
	Host                                                                      uint64
	PIDSpace                                                                  uint64
	CPUs                                                                      [16]uint64
	TicksPerSecond                                                            uint64
	First, Last                                                               Instant
	BeginTick, EndTick                                                        uint64
	InitTicks                                                                 uint64
	ThreadLevel                                                               uint64
	OthersCPUNs                                                               uint64
	PeakMemory                                                                uint64
	UnrecordedTicks, UnrecordedSince                                          uint64
	Strings, Nodes, Comms, Modules, Members, Threads                          uint32
	NodesLost, CommsLost, StringsLost, MembersLost, ThreadsLost, RequestsLost uint64
	StatusesLost, SourcesLost                                                 uint64
	ThreadsUncounted                                                          uint64
	Counters                                                                  [CountersMost]uint32
	CounterSources                                                            [CountersMost]uint8
	CounterCount                                                              uint64
	Uncounted                                                                 [1024]byte
	HostName                                                                  [64]byte
	Program                                                                   [128]byte
	Library                                                                   [256]byte
	MPIName                                                                   [32]byte
	FirstOffset, LastOffset                                                   Offset
	Params                                                                    [1024]byte
	BegunIn                                                                   uint64
	SampleHz                                                                  uint64
	Samples, SamplesInside, SamplesLost                                       uint64
	ThreadsUnsampled, SamplesEnded                                            uint64
	Unmerged, EndedBy                                                         uint64
	Error                                                                     [128]byte
	CallsLeft                                                                 uint64
	Run                                                                       uint64
	Traffic                                                                   Traffic
	TrafficKnown                                                              uint64
	FilesKnown                                                                uint64
	FilesLost                                                                 uint64
}

const (
	magic   = "MARPLE\r\n"
	version = 20

	recordSize    = 32
	stringsMax    = 1 << 20
	nodesMax      = 65536
	commsMax      = 4096
	modulesMax    = 512
	membersMax    = 1 << 20
	threadsMax    = ThreadsMost
	headerSize    = HeaderSize
	stringsAt     = headerSize
	nodesAt       = stringsAt + stringsMax
	commsAt       = nodesAt + nodesMax*32
	modulesAt     = commsAt + commsMax*64
	membersAt     = modulesAt + modulesMax*64
	lostAt        = membersAt + membersMax
	filesAt       = lostAt + 4096
	filesMost     = 257
	threadsAt     = filesAt + (filesMost*fileSize+4095)/4096*4096
	fileSize      = 24 + FileKinds*32
	records       = 4096
	undoMax       = 256
	entriesMax    = 65536
	threadHot     = 16384
	ringAt        = threadHot
	undoAt        = ringAt + records*recordSize
	entriesAt     = undoAt + undoMax*(8+entrySize) + 2048
	entrySize     = 128
	overflowNode  = 1
	entriesSpared = 64
)

// ThreadsMost is how many threads of a process are measured.
const ThreadsMost = 1024

// HeaderSize is the size in bytes of the header, and what follows it up to the tables.
const HeaderSize = 4096

// ThreadSpan is the size in bytes of a thread's block.
const ThreadSpan = entriesAt + entriesMax*entrySize

// HotSize is how many bytes of a block its thread, and its consumer, keep up to date; the rest is data.
const HotSize = threadHot

// TablesSize is the size in bytes of the header and tables.
const TablesSize = threadsAt

const savedWords = 16

// thread is the part of struct mrl_thread that the consumer uses.
type thread struct {
	head, flushAt  uint64
	inside         uint64
	lastEnd        uint64
	where, started uint32
	ownTicks       uint64
	gapFrom        uint64
	offInside      uint64
	offBlocked     uint64
	mpiSum, ownSum uint64
	offSum         uint64
	overlapSum     uint64
	flightFrom     uint64
	flightElse     uint64
	called         uint64
	calledFrom     uint64
	calling        uint32
	callingPeer    int32
	callingComm    uint64
	unentered      uint32
	inFlight       uint32
	landed, _      uint32
	epoch, depth   uint32
	index, _       uint32
	cpuNs, wallNs  uint64
	delay          uint64
	switches       uint64
	noticedOff     uint64
	noticedBlocked uint64
	noticedAt      uint64
	toldWall       uint64
	toldMpi        uint64
	seenMpi        uint64
	deepRegions    uint64
	badExits       uint64
	insideHooks    uint64
	valuesLost     uint64
	cutShort       uint64
	longest        uint64
	consumed       uint64
	undoBatch      uint64
	undoCount      uint32
	entries        uint32
	entriesReady   uint32
	lastFrom       Edge
	lastTick       uint64
	entriesLost    uint64
	pending        [8]uint64
	invocations    uint64
	kept, unkept   uint64
	polling        uint64
	saved          [savedWords]uint64
	spilled        uint64
	dropAt         uint64
	dropped        uint64
	consumer       uint32
	mainThread     uint32
	owned, owners  uint32
	entriesFull    uint32
	osTID          uint64
	beginTick      uint64
	made           [OpCount]uint64
}
