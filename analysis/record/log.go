package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"os"
	"sync/atomic"
	"syscall"
	"unsafe"

	"marple/analysis/files"
)

// A Log keeps a thread's events one by one, in the order in which they were recorded, for whoever has to know
// more than sums: the search for wait states, and the timeline. Events that differ only in two numbers, such as
// the times of a call, share one definition, so that an event takes 2 bytes and as many more as its two numbers
// need; mostly 6 or 7 in all, and 38 at most. Tests and probes that found nothing are left out: a loop of them
// would fill any log. One that ends a row of them because it finds something is logged as if it had taken as long as the row
// (see Entry.Polled): it is then a call that waits, as MPI_Wait or MPI_Probe.
//
// A log is a row of blocks of BlockSize bytes at most, each of which can be read without the others, so also
// backwards. Blocks lie in a mapped file, where there can be one, so that they survive the process; until the Budget is
// used up, then the log ends.
type Log struct {
	budget *Budget
	thread int
	nodes  []Node
	file   files.File
	inFile bool // there is one

	next   uint64 // position of the first record that is not looked at yet
	last   uint64 // tick: end of the last event
	number uint32 // of the last operation spoken of
	loop   uint64 // ticks: longer ones between two tests are no loop around them
	row    uint64 // tick at which a row of tests that found nothing began; 0: the last event was none
	rowEnd uint64 // and at which the last of them ended
	beside uint64 // ticks since then without a core, or of Marple's
	wide   bool   // the next call's numbers come from the next two
	wideAt uint64 // position of the record that they are from
	long   uint64
	many   uint32 // bytes, saturated

	block  []byte // the one that is being filled
	used   int
	mapped bool
	cache  [slots]definition
	blocks [][]byte // full ones; nil where they are in the file
	events uint64
	bytes  uint64 // in full blocks
	ended  bool
}

// definition is what events have in common that differ in their two numbers only.
type definition struct {
	what  uint64
	who   uint64 // peer and tag
	bytes uint32
	block uint32 // that it stands in; or leaveOut
}

const (
	// BlockSize is the most bytes in a block of a Log.
	BlockSize = 1 << 16

	slotBits    = 9
	slots       = 1 << slotBits
	defineBit   = 1 << slotBits
	firstShift  = slotBits + 1
	secondShift = firstShift + 3
	// A block begins with how many bytes of it count and how many of the thread's records have been logged, in one
	// word; the end of the last event before it; and the number of the last operation before it.
	blockHead   = 24
	commitEnded = 1 << 19 // the log ends with this block
	commitShift = 20
	mostEvent   = 2 + 20 + 8 + 8
	leaveOut    = ^uint32(0)
)

// A Budget is what the logs of one process may take between them.
type Budget struct {
	Memory int64      // bytes that may stay in memory where there can be no file
	Total  int64      // bytes in memory and in files
	Record files.File // the process's record file, beside which the files are; none if there can be none
	Every  bool       // also tests and probes that found nothing
	used   atomic.Int64
	memory atomic.Int64
}

// LogName is the file of a thread's log, beside the process's record file. Block i is at i·BlockSize.
func LogName(recordFile string, thread int) string { return recordFile + logSuffix(thread) }

func logSuffix(thread int) string { return fmt.Sprintf(".%d.log", thread) }

// NewLog makes the log of a thread; nodes is the process's table.
func NewLog(budget *Budget, thread int, nodes []Node) *Log {
	l := &Log{budget: budget, thread: thread, nodes: nodes, file: budget.Record.Beside(logSuffix(thread))}
	for i := range l.cache {
		l.cache[i].what = ^uint64(0)
	}
	return l
}

// Keep makes the aggregator log what it aggregates from now on.
func (a *Aggregator) Keep(l *Log) {
	l.next, l.last, l.loop = atomic.LoadUint64(&a.t.consumed), a.t.beginTick, uint64(a.loop)
	a.keep = l
}

// Events is how many events have been logged, in that many Bytes.
func (l *Log) Events() uint64 { return l.events }
func (l *Log) Bytes() uint64  { return l.bytes + uint64(l.used) }

// Ended tells whether the log has stopped for want of room, and the tick of the last event in it.
func (l *Log) Ended() (bool, uint64) { return l.ended, l.last }

// take logs the records from, ..., to-1, of which record i lies at ring[i%records].
func (l *Log) take(ring *[records]record, from, to uint64) {
	from = max(from, l.next)
	if l.ended || from >= to {
		return
	}
	l.next = to
	defer l.commit(to)
	for ; from < to; from++ {
		if from = l.usual(ring, from, to); from == to {
			return
		}
		if !l.event(&ring[from&(records-1)], from) {
			return
		}
	}
}

// common is what events that mean the same have in common: of those of regions the path, the kind and the flags alone.
func (r *record) common() (what, who uint64, bytes uint32) {
	switch r.what.kind() {
	case kindLeaf, kindAside: // flags of a leaf are of its value
		return uint64(r.what) &^ allFlags, nobody, 0
	case kindEnter, kindExit: // of an exit the rest is its duration, which follows from the enter
		return uint64(r.what), nobody, 0
	case kindReceived:
		return uint64(r.what), r.third(), 0
	}
	return uint64(r.what), r.third(), r.bytes
}

const (
	allFlags = 0xff << 56
	nobody   = uint64(1<<32 + NoPeer)
)

// event logs one event, of the record at a position. False: there is no room.
func (l *Log) event(r *record, from uint64) bool {
	what, who, bytes := r.common()
	var first, second uint64
	end, events := l.last, uint64(1)
	switch r.what.kind() {
	case kindCall:
		first, second = r.start-l.last, uint64(r.duration)
		events += uint64(r.what.flags()&flagBoth) / flagBoth
		if l.wide {
			second, bytes, l.wide = l.long, l.many, false
		}
		end = r.start + second
		if r.what.flags()&flagHit != 0 && l.row != 0 && !EndsRow(r.start, l.rowEnd, l.row, l.loop+l.beside) {
			first, second = l.row-l.last, end-l.row
		}
	case kindReceived:
		second = r.start
	case kindPosted, kindCompleted: // start is bytes, duration the operation's number, bytes the thread's
		first, second = zigzag(int32(r.duration-l.number)), r.start
	case kindEnter, kindExit:
		first, end, l.wide = r.start-l.last, r.start, false
	case kindLeaf:
		first, second, end, events, l.wide = r.start-uint64(r.duration)-l.last, uint64(r.duration), r.start, 2, false
	case kindAside:
		first, second, end, events, l.wide = r.start-r.second()-l.last, r.second(), r.start, 2, false
	case kindBefore, kindInside:
		what, who, first, second, bytes = uint64(makeWhat(0, 0, r.what.kind(), 0)), 0, r.start, r.second(), 0
		if r.what.kind() == kindBefore {
			l.beside += r.start + r.third()
		}
		if first == 0 || r.what.kind() == kindInside && r.what.flags()&flagInvocation != 0 {
			return true
		}
	case kindBegin:
		what, who, first, end, bytes = uint64(makeWhat(0, 0, kindBegin, 0)), 0, r.start-l.last, r.start, 0
	case kindWide:
		l.wide, l.wideAt, l.long, l.many = true, from, r.start, uint32(min(max(r.second(), r.third()), 1<<32-1))
		return true
	default:
		return true
	}
	slot := slotOf(what, who, bytes)
	d := &l.cache[slot]
	code := int(slot)
	if d.what != what || d.who != who || d.bytes != bytes || d.block != uint32(len(l.blocks)) {
		if d.what == what && d.block == leaveOut {
			l.vain(r.start, end)
			return true
		}
		if !l.budget.Every && l.idle(r) {
			*d = definition{what: what, block: leaveOut}
			l.vain(r.start, end)
			return true
		}
		code |= defineBit
	}
	if l.used+mostEvent > len(l.block) {
		if !l.turn(from) {
			return false
		}
		code |= defineBit
	}
	block, at := l.block, l.used+2
	if code&defineBit != 0 {
		*d = definition{what, who, bytes, uint32(len(l.blocks))}
		binary.LittleEndian.PutUint64(block[at:], what)
		binary.LittleEndian.PutUint64(block[at+8:], who)
		binary.LittleEndian.PutUint32(block[at+16:], bytes)
		at += 20
	}
	// Seven bytes are written as eight, so that a length fits three bits.
	n, m := min((bits.Len64(first)+7)>>3, 7), min((bits.Len64(second)+7)>>3, 7)
	binary.LittleEndian.PutUint64(block[at:], first)
	at += n + (n+1)>>3
	binary.LittleEndian.PutUint64(block[at:], second)
	at += m + (m+1)>>3
	binary.LittleEndian.PutUint16(block[l.used:], uint16(code|n<<firstShift|m<<secondShift))
	l.used, l.last = at, end
	switch r.what.kind() {
	case kindPosted, kindCompleted:
		l.number = r.duration
	case kindCall, kindEnter, kindExit, kindLeaf, kindAside, kindBegin:
		l.row, l.beside = 0, 0
	}
	l.events += events
	return true
}

// usual logs calls, messages and regions up to the first record whose definition does not stand in this block;
// everything stays in registers meanwhile.
func (l *Log) usual(ring *[records]record, from, to uint64) uint64 {
	if l.wide {
		return from
	}
	block, used, last, number, in := l.block, l.used, l.last, l.number, uint32(len(l.blocks))
	row, rowEnd, loop := l.row, l.rowEnd, l.loop+l.beside // what is beside is of the next event
	events := l.events
loop:
	for ; from < to; from++ {
		r := &ring[from&(records-1)]
		what, who, bytes := r.common()
		if r.what.kind() == kindValues {
			continue
		}
		slot := slotOf(what, who, bytes)
		d := &l.cache[slot]
		if d.what != what || d.who != who || d.bytes != bytes || d.block != in || used+mostEvent > len(block) {
			if d.what == what && d.block == leaveOut {
				if row == 0 || EndsRow(r.start, rowEnd, row, loop) {
					row = r.start
				}
				rowEnd, loop = r.start+uint64(r.duration), l.loop
				continue
			}
			break
		}
		var first, second uint64
		switch r.what.kind() {
		case kindCall:
			first, second = r.start-last, uint64(r.duration)
			end := r.start + second
			if row != 0 {
				if r.what.flags()&flagHit != 0 && !EndsRow(r.start, rowEnd, row, loop) {
					first, second = row-last, end-row
				}
				row = 0
			}
			loop = l.loop
			last = end
			events += uint64(r.what.flags()&flagBoth) / flagBoth
		case kindReceived:
			second = r.start
		case kindPosted, kindCompleted:
			first, second = zigzag(int32(r.duration-number)), r.start
			number = r.duration
		case kindLeaf:
			first, second = r.start-uint64(r.duration)-last, uint64(r.duration)
			last = r.start
			events++
			row, loop = 0, l.loop
		case kindEnter, kindExit:
			first, last, row, loop = r.start-last, r.start, 0, l.loop
		default:
			break loop
		}
		events++
		n, m := min((bits.Len64(first)+7)>>3, 7), min((bits.Len64(second)+7)>>3, 7)
		at := used + 2
		binary.LittleEndian.PutUint64(block[at:], first)
		at += n + (n+1)>>3
		binary.LittleEndian.PutUint64(block[at:], second)
		binary.LittleEndian.PutUint16(block[used:], uint16(int(slot)|n<<firstShift|m<<secondShift))
		used = at + m + (m+1)>>3
	}
	l.used, l.last, l.number, l.events, l.row, l.rowEnd, l.beside = used, last, number, events, row, rowEnd, loop-l.loop
	return from
}

// slotOf is where the definition of an event is kept.
func slotOf(what, who uint64, bytes uint32) uint64 {
	return (what ^ bits.RotateLeft64(who, 21) ^ uint64(bytes)<<7) * 0x9e3779b97f4a7c15 >> (64 - slotBits)
}

func zigzag(x int32) uint64   { return uint64(uint32(x<<1 ^ x>>31)) }
func unzigzag(x uint64) int32 { return int32(uint32(x)>>1) ^ -int32(x&1) }

// vain notes a test or probe that found nothing.
func (l *Log) vain(start, end uint64) {
	if l.row == 0 || EndsRow(start, l.rowEnd, l.row, l.loop+l.beside) {
		l.row = start
	}
	l.rowEnd, l.beside = end, 0
}

// idle tells of a test or probe that found nothing.
func (l *Log) idle(r *record) bool {
	path := r.what.path()
	return r.what.kind() == kindCall && r.what.flags()&flagHit == 0 && path < uint32(len(l.nodes)) && l.nodes[path].Op == OpTest
}

// turn puts the block away and begins another, for the record at a position. False: there is no room.
func (l *Log) turn(at uint64) bool {
	if l.wide {
		at = l.wideAt // which belongs to it
	}
	used := l.budget.used.Add(BlockSize)
	var block []byte
	if used <= l.budget.Total {
		block = l.mapBlock(len(l.blocks) + min(l.used, 1))
	}
	mapped := block != nil
	if used <= l.budget.Total && !mapped && l.budget.memory.Add(BlockSize) <= l.budget.Memory {
		block = make([]byte, BlockSize)
	}
	l.ended = block == nil
	if l.block != nil {
		l.commit(at)
		l.bytes += uint64(l.used)
		if l.mapped {
			_ = syscall.Munmap(l.block)
			l.block = nil
		}
		l.blocks = append(l.blocks, l.block)
	}
	l.block, l.mapped, l.used = block, mapped, 0
	if l.ended {
		return false
	}
	binary.LittleEndian.PutUint64(block[8:], l.last)
	binary.LittleEndian.PutUint32(block[16:], l.number)
	l.used = blockHead
	l.commit(at)
	return true
}

// commit makes what was logged count: all records before a position. One store does it, so that whoever reads the file
// after the process was killed knows which records he has still to look at.
func (l *Log) commit(next uint64) {
	if l.block == nil {
		return
	}
	word := next<<commitShift | uint64(l.used)
	if l.ended {
		word |= commitEnded
	}
	atomic.StoreUint64((*uint64)(unsafe.Pointer(unsafe.SliceData(l.block))), word)
}

// mapBlock gives a block of the log's file; nil if there can be none, for want of a directory, of room, or because files
// may not grow so large.
func (l *Log) mapBlock(i int) []byte {
	at := int64(i) * BlockSize
	var limit syscall.Rlimit
	if l.budget.Record.None() || syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit) != nil || limit.Cur < uint64(at+BlockSize) {
		return nil
	}
	file, err := l.file.Open(os.O_RDWR | os.O_CREATE)
	if err != nil {
		return nil
	}
	defer file.Close()
	l.inFile = true
	err = syscall.Fallocate(int(file.Fd()), 0, at, BlockSize)
	if err == syscall.EOPNOTSUPP {
		_, err = file.WriteAt(make([]byte, BlockSize), at)
	}
	if err != nil {
		return nil
	}
	block, err := syscall.Mmap(int(file.Fd()), at, BlockSize, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return nil
	}
	_ = syscall.Madvise(block, syscall.MADV_RANDOM) // it is empty: there is nothing to read ahead
	return block
}

// store writes a block to its place in the file.
func (l *Log) store(i int, block []byte) error {
	file, err := l.file.Open(os.O_WRONLY | os.O_CREATE)
	if err != nil {
		return err
	}
	_, err = file.WriteAt(block, int64(i)*BlockSize)
	return errors.Join(err, file.Close())
}

// Store completes the log's file, so that it can be read when the process is gone.
func (l *Log) Store() error {
	for i, block := range l.blocks {
		if block != nil {
			if err := l.store(i, block[:sizeOf(block)]); err != nil {
				return err
			}
		}
	}
	if l.block == nil || l.mapped {
		return nil
	}
	return l.store(len(l.blocks), l.block[:l.used])
}

// Remove removes the log's file, if there is one.
func (l *Log) Remove() {
	if l.inFile {
		_ = l.file.Remove()
	}
}

// sizeOf is how many bytes of a block count.
func sizeOf(block []byte) int { return int(binary.LittleEndian.Uint64(block) & (commitEnded - 1)) }

// ResumeLog goes on with the log that a process has left in a file beside its record file; it takes what the process has
// recorded since, in memory. The error says that there is none.
func ResumeLog(recordFile string, thread int, nodes []Node) (*Log, error) {
	l := NewLog(&Budget{Memory: 1 << 62, Total: 1 << 62}, thread, nodes)
	file, err := files.Open(LogName(recordFile, thread))
	if err != nil {
		return nil, err
	}
	if l.file, err = files.At(file.Name()); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	defer file.Close()
	for block := make([]byte, BlockSize); ; {
		n, err := file.ReadAt(block, int64(len(l.blocks))*BlockSize)
		if n < blockHead || sizeOf(block) == 0 {
			if err != nil && err != io.EOF {
				return nil, err
			}
			break
		}
		word := binary.LittleEndian.Uint64(block)
		l.next, l.ended = word>>commitShift, word&commitEnded != 0
		l.last, l.number = binary.LittleEndian.Uint64(block[8:]), binary.LittleEndian.Uint32(block[16:])
		if _, err := eachIn(block[:n], func(e *Logged) bool {
			l.events++
			switch e.Kind {
			case LogCall, LogEnter, LogExit, LogBegin:
				l.last = e.Start + e.Duration
			case LogReceived, LogPosted, LogCompleted:
				l.number = e.Number
			}
			return true
		}); err != nil {
			return nil, err
		}
		l.bytes += uint64(sizeOf(block))
		l.blocks = append(l.blocks, nil)
	}
	if len(l.blocks) == 0 {
		return nil, errLog
	}
	return l, nil
}

// LogKind says what a Logged event is.
type LogKind uint8

const (
	LogCall      LogKind = kindCall
	LogEnter     LogKind = kindEnter     // a region begins
	LogExit      LogKind = kindExit      // it ends
	LogReceived  LogKind = kindReceived  // the receiving half of the call before
	LogPosted    LogKind = kindPosted    // the call before has started a persistent operation
	LogCompleted LogKind = kindCompleted // the call before has completed an operation
	LogOffCore   LogKind = kindBefore    // Duration of the gap before the next event was spent runnable, without a core
	LogCoreless  LogKind = kindInside    // likewise of the next call; what is longer than that belongs to calls left out before it
	LogBegin     LogKind = kindBegin     // another thread goes on
)

// Logged is an event of a Log.
type Logged struct {
	Kind            LogKind
	Start, Duration uint64 // ticks
	Path            uint32 // LogPosted, LogCompleted: of the call that started the operation
	Comm            uint16
	Peer, Tag       int32
	Bytes           uint64
	Number, Thread  uint32 // LogPosted, LogCompleted: of the operation, within the thread that started it
	Op              Op     // LogPosted: of the call that prepared the operation
	Aside           bool   // LogEnter, LogExit: of a region that the time around it does not end or begin with
	flags           uint8
}

// Collective tells of a collective call, or an operation that is one; Tag then is bytes received.
func (e *Logged) Collective() bool { return e.flags&flagCollective != 0 }

// Failed tells whether the call returned an error.
func (e *Logged) Failed() bool { return e.flags&flagFailed != 0 }

// Started tells whether the call started an operation; Finished, whether that was complete at once.
func (e *Logged) Started() bool  { return e.flags&flagStarted != 0 }
func (e *Logged) Finished() bool { return e.flags&flagComplete != 0 }

// Hit tells of a test or probe that found something.
func (e *Logged) Hit() bool { return e.flags&flagHit != 0 }

// Brings tells of an operation whether it receives a message; Cancelled, whether it was cancelled.
func (e *Logged) Brings() bool    { return e.flags&(flagIsSend|flagCollective) == 0 }
func (e *Logged) Cancelled() bool { return e.flags&flagCancelled != 0 }

var errLog = errors.New("damaged log")

// Each visits the logged events in order, until visit returns false. An event is good until visit returns.
func (l *Log) Each(visit func(*Logged) bool) error {
	var file *os.File
	var buffer []byte
	for i, block := range l.blocks {
		if block == nil {
			if file == nil {
				var err error
				if file, err = l.file.Open(os.O_RDONLY); err != nil {
					return err
				}
				defer file.Close()
				buffer = make([]byte, BlockSize)
			}
			n, err := file.ReadAt(buffer, int64(i)*BlockSize)
			if err != nil && err != io.EOF {
				return err
			}
			block = buffer[:n]
		}
		if more, err := eachIn(block, visit); err != nil || !more {
			return err
		}
	}
	if l.block != nil {
		_, err := eachIn(l.block, visit)
		return err
	}
	return nil
}

// EachIn visits the events of a stored log.
func EachIn(file io.ReaderAt, visit func(*Logged) bool) error {
	buffer := make([]byte, BlockSize)
	for at := int64(0); ; at += BlockSize {
		n, err := file.ReadAt(buffer, at)
		if n == 0 && err == io.EOF {
			return nil
		}
		if err != nil && err != io.EOF {
			return err
		}
		if more, err := eachIn(buffer[:n], visit); err != nil || !more {
			return err
		}
	}
}

// eachIn visits the events of one block.
func eachIn(block []byte, visit func(*Logged) bool) (more bool, err error) {
	if len(block) < blockHead {
		return false, errLog
	}
	size, last, number := sizeOf(block), binary.LittleEndian.Uint64(block[8:]), binary.LittleEndian.Uint32(block[16:])
	if size == 0 {
		return false, nil // was about to be begun
	}
	if size < blockHead || size > len(block) {
		return false, errLog
	}
	var cache [slots]definition
	var e, enter Logged // one for all, which are looked at one after the other
	for rest := block[blockHead:size]; len(rest) > 0; {
		if len(rest) < 2 {
			return false, errLog
		}
		code := binary.LittleEndian.Uint16(rest)
		rest = rest[2:]
		d := &cache[code&(slots-1)]
		if code&defineBit != 0 {
			if len(rest) < 20 {
				return false, errLog
			}
			*d = definition{binary.LittleEndian.Uint64(rest), binary.LittleEndian.Uint64(rest[8:]), binary.LittleEndian.Uint32(rest[16:]), 0}
			rest = rest[20:]
		}
		var first, second uint64
		var ok bool
		if first, rest, ok = readNumber(rest, code>>firstShift&7); ok {
			second, rest, ok = readNumber(rest, code>>secondShift)
		}
		if !ok {
			return false, errLog
		}
		w := what(d.what)
		e = Logged{Kind: LogKind(w.kind()), Path: w.path(), Comm: w.comm(), flags: w.flags(), Peer: int32(uint32(d.who)), Tag: int32(d.who >> 32)}
		switch e.Kind {
		case LogCall:
			e.Start, e.Duration, e.Bytes = last+first, second, uint64(d.bytes)
			last = e.Start + second
			if e.flags&flagBoth != 0 {
				call, received := (&record{bytes: d.bytes, peer: e.Peer, tag: e.Tag, what: w}).halves()
				e.Peer, e.Tag, e.flags = call.peer, call.tag, call.what.flags()
				if !visit(&e) {
					return false, nil
				}
				e = Logged{Kind: LogReceived, Path: e.Path, Comm: e.Comm, Peer: received.peer, Tag: received.tag, Bytes: received.start, Number: number}
			}
		case LogEnter, LogExit, LogBegin:
			e.Start = last + first
			last = e.Start
		case LogReceived, LogPosted, LogCompleted:
			number += uint32(unzigzag(first))
			e.Number, e.Thread, e.Op, e.Bytes = number, d.bytes&0xffff, Op(d.bytes>>16), second
		case kindLeaf, kindAside:
			e.Aside = e.Kind == kindAside
			enter = e
			enter.Kind, enter.Start = LogEnter, last+first
			if !visit(&enter) {
				return false, nil
			}
			last += first + second
			e.Kind, e.Start = LogExit, last
		case LogOffCore, LogCoreless:
			e.Duration = first
		default:
			return false, errLog
		}
		if !visit(&e) {
			return false, nil
		}
	}
	return true, nil
}

func readNumber(data []byte, code uint16) (x uint64, rest []byte, ok bool) {
	n := int(code + (code+1)>>3)
	if len(data) >= 8 {
		return binary.LittleEndian.Uint64(data) & (1<<(8*n) - 1), data[n:], true
	}
	if len(data) < n {
		return 0, nil, false
	}
	for i := range n {
		x |= uint64(data[i]) << (8 * i)
	}
	return x, data[n:], true
}
