// Package main is libmarple-core.so: the only door between C and Go. The C shim hands over the memory it
// records into; this package aggregates it, and at the end merges over ranks, reports and stores. Without what only rank 0
// needs, which is most of it, it is libmarple-ranks.so (tag "ranks"), which the other ranks open.
//
// It may use analysis. Everything it exports recovers from panics, checks what it is given, and keeps
// the calling thread no longer than its own work takes.
//
// Invariant: whatever happens here, the caller gets an answer; the worst one is that there is no core.
package main

/*
#cgo CFLAGS: -I${SRCDIR}/../cshim
#cgo LDFLAGS: -Wl,--wrap=pthread_create -ldl
#include "core.h"

// Go's cache does not see that a header has changed: with the number here, what is built of it is built anew.
_Static_assert(MRL_CORE_VERSION == 11, "count this up, too");
*/
import "C"

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"unsafe"

	pointer "github.com/mattn/go-pointer"

	"marple/analysis/files"
	"marple/analysis/invocation/left"
	"marple/analysis/profile"
	"marple/analysis/record"
)

func main() {}

// A guest in somebody else's process: few threads, and no garbage collection while the program runs. What a hand-over
// needs is made once; of the rest there are some hundred bytes for each new block of a file.
func init() {
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(collectedFrom)
}

const (
	collectedFrom   = 64 << 20 // bytes of heap from which on it is collected all the same
	unlimitedMemory = 1<<63 - 1
	smallHeap       = 8 << 20 // bytes that are not collected once the program has entered MPI_Finalize; most ranks need less
	collectedAtEnd  = 50      // GOGC beyond that, so that the heap stays small while there is much to do
)

// ballast counts as heap and is never touched: a collection is worth its while only after some megabytes.
var ballast []byte

// ending makes the heap stay small while there is much to do. It is called once.
func ending() {
	debug.SetMemoryLimit(unlimitedMemory)
	debug.SetGCPercent(100 * smallHeap / (4 << 20)) // the first time is at this part of 4 MiB
	runtime.SetFinalizer(new([4]uint64), func(*[4]uint64) {
		ballast = make([]byte, smallHeap)
		debug.SetGCPercent(collectedAtEnd)
	})
}

// logMemory is how many bytes of logs stay in memory where there can be no files.
const logMemory = 8 << 20

// session is one process's measurement.
type session struct {
	tables   []byte
	record   files.File                             // the process's record file; none: memory only
	keepMost uint64                                 // bytes of invocations per thread
	consumer [C.MRL_CORE_THREADS]*record.Aggregator // by thread, each used by one caller at a time
	logs     [C.MRL_CORE_THREADS]*record.Log
	budget   *record.Budget   // of the logs; nil: none are kept
	merged   *profile.Profile // rank 0, after gathering
}

// opened is the last session, so that handing over a batch takes no lock.
type opened struct {
	handle unsafe.Pointer
	*session
}

var last atomic.Pointer[opened]

// placed is a directory that the C side has looked at.
func placed(p C.struct_mrl_place) files.Directory {
	return files.Known(C.GoString(p.path), uint64(p.device), uint64(p.inode))
}

func find(handle unsafe.Pointer) *session {
	if o := last.Load(); o != nil && o.handle == handle {
		return o.session
	}
	s, _ := pointer.Restore(handle).(*session)
	return s
}

// guarded makes a fault in memory that is not Go's, such as a mapped file on a full disk, a panic too.
func guarded() { debug.SetPanicOnFault(true) }

// guard turns a panic into an answer, and keeps what it says beside the record file.
func guard(handle unsafe.Pointer, result *C.int) {
	if text := recover(); text != nil {
		*result = C.MRL_CORE_BROKEN
		find(handle).remember(text)
	}
}

// mostOfPanic is how much of a panic's text and stack is kept, bytes.
const mostOfPanic = 64 << 10

// remember keeps a panic; that it fails, too, changes nothing.
func (s *session) remember(text any) {
	defer func() { recover() }()
	if s == nil || s.record.None() {
		return
	}
	said := fmt.Appendf(nil, "%v\n\n%s", text, debug.Stack())
	if file, err := s.record.Beside(C.MRL_CORE_PANIC).Open(os.O_WRONLY | os.O_CREATE | os.O_EXCL); err == nil { // the first one is the cause
		_, _ = file.Write(said[:min(len(said), mostOfPanic)])
		_ = file.Close()
	}
}

//export marple_core_open
func marple_core_open(version C.uint32_t, base unsafe.Pointer, size, logBytes C.uint64_t, every C.int32_t, invocationBytes C.uint64_t, raw C.struct_mrl_place, rawFile *C.char) (handle unsafe.Pointer) {
	guarded()
	defer func() { recover() }()
	if version != C.MRL_CORE_VERSION || base == nil || size < record.TablesSize {
		return nil
	}
	tables := unsafe.Slice((*byte)(base), int(size))
	if record.HeaderOf(tables).Check() != nil {
		return nil
	}
	s := &session{tables: tables, record: placed(raw).File(C.GoString(rawFile)), keepMost: uint64(invocationBytes)}
	if logBytes > 0 {
		s.budget = &record.Budget{Memory: min(int64(logBytes), logMemory), Total: int64(logBytes), Record: s.record, Every: every != 0}
	}
	h := pointer.Save(s)
	last.Store(&opened{h, s})
	return h
}

//export marple_core_consume
func marple_core_consume(handle unsafe.Pointer, index C.uint32_t, block unsafe.Pointer, size C.uint64_t, spill *C.char) (result C.int) {
	guarded()
	defer guard(handle, &result)
	s := find(handle)
	if s == nil || block == nil || size < record.ThreadSpan || int(index) >= len(s.consumer) {
		return C.MRL_CORE_BROKEN
	}
	a := s.consumer[index]
	if a == nil {
		a = record.NewAggregator(unsafe.Slice((*byte)(block), record.ThreadSpan), record.AllNodes(s.tables), record.HeaderOf(s.tables).TicksPerSecond)
		if !s.record.None() {
			a.KeepInvocations(left.Log(s.record, int(index)), s.keepMost)
		}
		s.consumer[index] = a
		if s.budget != nil {
			s.logs[index] = record.NewLog(s.budget, int(index), record.AllNodes(s.tables))
			a.Keep(s.logs[index])
		}
	}
	if spill != nil && a.Spilled() {
		file, err := s.record.Beside(C.GoString(spill)).Open(os.O_RDONLY)
		if err != nil {
			return C.MRL_CORE_BROKEN
		}
		defer file.Close()
		if status, _ := a.ConsumeSpilled(file); status != record.Done {
			return C.int(status)
		}
	}
	return C.int(a.Consume())
}
