package record

import (
	"math"
	"math/bits"
	"unsafe"

	"marple/analysis/stat"
)

// EntryKind says what an Entry adds up.
type EntryKind uint8

const (
	EntryFree    EntryKind = iota
	EntryCall              // calls on one path, in one communicator, with messages of one class of sizes
	EntryGap               // times between the same two events
	EntryPeer              // messages of one path with one rank of a communicator, in one direction
	EntryRegion            // invocations of a region or phase
	EntryAtomic            // values reported under one name, see Reals
	EntryCounter           // what one counter counted in regions; on path 0 in whole threads
	EntrySamples           // N samples in one place, of Sum periods of the timer, in one kind of gaps or in other threads
)

// Direction of an EntryPeer.
type Direction uint8

const (
	Sent Direction = iota
	Received
	Put
	Got
)

// An Edge is where a gap begins or ends: the path of an MPI call, or the boundary of a region.
type Edge uint32

const (
	edgeEnter Edge = 1 << 31 // the region begins
	edgeExit  Edge = 1 << 30 // the region ends
	// The gap ends at a test or probe, and was longer than LoopNs. Between two tests that tells work from the
	// loop around them, which would otherwise add up in one entry.
	edgeLong Edge = 1 << 29
)

// LoopNs is the most that the loop around tests and probes takes from one to the next.
const LoopNs = 10_000

// EndsRow tells whether what lies before a test is too long for it to belong to the row of tests that began at a tick, and the
// last of which ended at another: longer than the loop around them, and not just the noise that an eighth of the row may be.
func EndsRow(start, last, row, loop uint64) bool { return start-last > loop+(start-row)>>3 }

// Path is the node the edge belongs to.
func (e Edge) Path() uint32 { return uint32(e &^ (edgeEnter | edgeExit | edgeLong)) }

// AtCall, AtEnter and AtExit are the edges at an MPI call, and at the boundaries of a region.
func AtCall(path uint32) Edge  { return Edge(path) }
func AtEnter(path uint32) Edge { return Edge(path) | edgeEnter }
func AtExit(path uint32) Edge  { return Edge(path) | edgeExit }

// Long tells of the end of a gap before a test or probe whether it took more than 10 µs.
func (e Edge) Long() bool { return e&edgeLong != 0 }

// Event is the edge without that.
func (e Edge) Event() Edge { return e &^ edgeLong }

// Enters tells whether the edge is the beginning of a region, Exits whether it is the end of one.
func (e Edge) Enters() bool { return e&edgeEnter != 0 }
func (e Edge) Exits() bool  { return e&edgeExit != 0 }

// Entry is one aggregate of a thread. All sums are of whole ticks or bytes, so that the order of adding
// does not matter. The first half is what every event changes.
type Entry struct {
	key   uint64 // see Path, Comm, Gap, Peer
	mark  uint32 // kind, and the batch that last saved this entry for undoing
	Class uint8  // EntryCall: bit length of the message sizes: 0 for none, k for 2^(k-1) to 2^k-1 bytes
	Op    Op
	Flags OpFlags
	moves movement

	N          uint64 // calls, gaps, messages or invocations
	Sum        uint64 // ticks, or what was counted
	SqLo, SqHi uint64 // 128-bit sum of their squares, but of gaps and messages
	Min, Max   uint64 // likewise; EntryGap: the first and the last tick at which one ended

	low, span uint32 // EntryCall: Class as a range of sizes; EntryRegion: low is the index of the gap within
	Out, In   uint64 // bytes; EntryPeer: in Out
	Done      uint64 // EntryCall: messages received, or tests that found something
	Runnable  uint64 // ticks off the core though runnable, within Sum
	Blocked   uint64 // ticks off the core and blocked, within Sum
	Own       uint64 // EntryGap: ticks spent by Marple, not within Sum; EntryCall: see Polled
	Failed    uint16 // EntryCall: calls that returned an error, at most 65,535
	gap       uint16 // EntryCall, EntryRegion: index of the gap that usually comes before
	longest   uint32 // EntryCall: ticks of a usual gap
}

const _ = uint(unsafe.Sizeof(Entry{})-entrySize) + uint(entrySize-unsafe.Sizeof(Entry{}))

// Kind says what the entry adds up.
func (e *Entry) Kind() EntryKind { return EntryKind(e.mark & kindMask) }

// A mark is kind | batch, so that one comparison tells that an entry is of the kind expected and may be
// changed.
const (
	kindMask = 1<<3 - 1
	oneBatch = kindMask + 1
)

// Path is the node of an EntryCall, EntryRegion, EntryAtomic or EntryCounter, and of an EntryPeer: there 0 if messages
// of several paths share it.
func (e *Entry) Path() uint32 {
	if e.Kind() == EntryPeer {
		return uint32(e.key >> peerPathAt)
	}
	return uint32(e.key)
}

// Counter is which counter an EntryCounter is of.
func (e *Entry) Counter() int { return int(e.key >> 32) }

// Sampled is where samples hit, 0 if that is not known, and the index of the EntryGap that they are of; gap is
// ElsewhereGap if they are of threads without events.
func (e *Entry) Sampled() (path, gap uint32) { return uint32(e.key), uint32(e.key >> 32) }

// ElsewhereGap is no EntryGap's index.
const ElsewhereGap = ^uint32(0)

func samplesKey(path, gap uint32) uint64 { return uint64(path) | uint64(gap)<<32 }

// Polled is, for calls of OpTest, the ticks of the rows of tests and probes that ended because one found something: with no
// other event between them, see EndsRow.
func (e *Entry) Polled() uint64 { return e.Own }

// Comm is the communicator of an EntryCall or EntryPeer.
func (e *Entry) Comm() uint16 {
	if e.Kind() == EntryPeer {
		return uint16(e.key >> 32 % commsMax)
	}
	return uint16(e.key >> 32)
}

// sharedCalls stands where an EntryCall of the overflow node would have its communicator, and beside it the operation.
const sharedCalls = 1 << 15

const _ = uint(sharedCalls - commsMax)

// Shared tells of an EntryCall that calls of one operation share for which there was no room.
func (e *Entry) Shared() (op Op, shared bool) {
	comm := uint16(e.key >> 32)
	return Op(comm &^ sharedCalls), e.Kind() == EntryCall && e.Path() == overflowNode && comm&sharedCalls != 0
}

// Gap is where an EntryGap begins and ends.
func (e *Entry) Gap() (from, to Edge) { return Edge(e.key), Edge(e.key >> 32) }

// Peer is the rank of an EntryPeer in its communicator, and the direction of the messages.
func (e *Entry) Peer() (int32, Direction) { return int32(uint32(e.key)), Direction(e.key >> 44 & 3) }

// peerSlot is where a peer's key is looked for first.
func peerSlot(key uint64) uint64 { return (key ^ key>>29 ^ key>>41) & (peerCache - 1) }

func gapKey(from, to Edge) uint64 { return uint64(from) | uint64(to)<<32 }

// peerPathAt is where the path begins in the key of an EntryPeer.
const peerPathAt = 46

func peerKey(w what, peer int32, d Direction) uint64 {
	return uint64(uint32(peer)) | uint64(w.comm()%commsMax)<<32 | uint64(d)<<44 | uint64(w.path()%nodesMax)<<peerPathAt
}

// A call's key is the last word of its record but for the flags: nothing need be taken apart to compare it.
// That the call has failed is left in, so that a failed call's record equals no key.
const callMask = 1<<56 - 1 | flagFailed<<56

func callKey(path uint32, comm uint16) uint64 {
	return uint64(makeWhat(path, comm, kindCall, 0))
}

// classOf is the class of a message size, and the sizes in it: low to low+span-1. Sizes of 4 GiB and more
// share the last class, whose range is empty: they come in records that are looked at twice anyway.
func classOf(bytes uint64) (class uint8, low, span uint32) {
	class = uint8(min(bits.Len64(bytes), 33))
	switch class {
	case 0:
		return 0, 0, 1
	case 33:
		return 33, 0, 0
	}
	return class, 1 << (class - 1), 1 << (class - 1)
}

func (e *Entry) add(ticks uint64) {
	e.N++
	e.Sum += ticks
	hi, lo := bits.Mul64(ticks, ticks)
	var carry uint64
	e.SqLo, carry = bits.Add64(e.SqLo, lo, 0)
	e.SqHi += hi + carry
	if ticks < e.Min {
		e.Min = ticks
	}
	if ticks > e.Max {
		e.Max = ticks
	}
}

// Reals are the values of an EntryAtomic, which are of any unit and sign.
func (e *Entry) Reals(rank int32) stat.Reals {
	float := math.Float64frombits
	return stat.Reals{N: e.N, Sum: float(e.Sum), Squares: float(e.SqLo), Min: float(e.Min), Max: float(e.Max), MinRank: rank, MaxRank: rank}
}

func (e *Entry) addReal(x float64) {
	v := stat.RealOf(x, 0)
	if e.N > 0 {
		v = e.Reals(0).Merge(v)
	}
	e.N, e.Sum, e.SqLo = v.N, math.Float64bits(v.Sum), math.Float64bits(v.Squares)
	e.Min, e.Max = math.Float64bits(v.Min), math.Float64bits(v.Max)
}

// movement says which way the bytes of a call go.
type movement uint8

const (
	movesOut      movement = iota // to no particular rank
	movesNothing                  // yet: the completion, or MPI_Start, will tell
	movesBothWays                 // collectives
	movesToPeer
	movesFromPeer
	movesToAndFrom // peers
	movesIntoPeer  // one-sided
	movesOutOfPeer // one-sided
	movesIn
	movesTest // nothing; but one that finds something ends a row of tests
)

func movementOf(op Op, flags OpFlags) movement {
	switch {
	case flags&Persistent != 0, op == OpRecv && flags&Nonblocking != 0:
		return movesNothing
	case op.Collective(), op == OpFetch:
		return movesBothWays
	case op == OpSendrecv && flags&Nonblocking == 0:
		return movesToAndFrom
	case op.Sends():
		return movesToPeer
	case op == OpRecv:
		return movesFromPeer
	case op == OpPut:
		return movesIntoPeer
	case op == OpGet:
		return movesOutOfPeer
	case op == OpFileRead:
		return movesIn
	case op == OpTest:
		return movesTest
	}
	return movesOut
}
