package main

/*
#include "core.h"
static int send_to(const struct mrl_transport *t, int32_t to, void *data, uint64_t size) {
	return t->send(to, data, size);
}
static int receive_size_from(const struct mrl_transport *t, int32_t from, uint64_t *size) {
	return t->receive_size(from, size);
}
static int post_to(const struct mrl_transport *t, int32_t to, void *data, uint64_t size) {
	return t->post(to, data, size);
}
static int next_from(const struct mrl_transport *t, int32_t *from, void *data, uint64_t *size, uint64_t wait_ns) {
	return t->next(from, data, size, wait_ns);
}
static int receive_from(const struct mrl_transport *t, int32_t from, void *data, uint64_t size) {
	return t->receive(from, data, size);
}
*/
import "C"

import (
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"marple/analysis/invocation/left"
	"marple/analysis/profile"
	"marple/analysis/record"
	"marple/analysis/waitstate"
)

// mpi is the transport that the C side lends.
type mpi struct{ t *C.struct_mrl_transport }

var errGone = errors.New("another rank did not answer")

func (m mpi) Rank() int  { return int(m.t.rank) }
func (m mpi) Ranks() int { return int(m.t.ranks) }

func (m mpi) Send(to int, data []byte) error {
	if C.send_to(m.t, C.int32_t(to), unsafe.Pointer(unsafe.SliceData(data)), C.uint64_t(len(data))) != 0 {
		return errGone
	}
	return nil
}

func (m mpi) Receive(from int) ([]byte, error) {
	var size C.uint64_t
	if C.receive_size_from(m.t, C.int32_t(from), &size) != 0 || size > profile.MaxMessage {
		return nil, errGone
	}
	data := make([]byte, int(size))
	if C.receive_from(m.t, C.int32_t(from), unsafe.Pointer(unsafe.SliceData(data)), size) != 0 {
		return nil, errGone
	}
	return data, nil
}

// mail is a waitstate.Mail on it.
type mail struct {
	mpi
	early []letter // that have come while there was no room for one of this rank's
	room  [C.MRL_LETTER]byte
}

type letter struct {
	from int
	data []byte
}

// After so many ns without a letter there may be none any more; while there is no room for one, fewer.
const (
	silence = 10_000_000
	instant = 100_000
)

// Post takes letters while there is no room for one: others may wait for that as well.
func (m *mail) Post(to int, data []byte) error {
	for {
		switch C.post_to(m.t, C.int32_t(to), unsafe.Pointer(unsafe.SliceData(data)), C.uint64_t(len(data))) {
		case 0:
			return nil
		case C.MRL_FULL:
			l, err := m.take(instant)
			if err != nil {
				return err
			}
			if l.data != nil {
				m.early = append(m.early, l)
			}
		default:
			return errGone
		}
	}
}

func (m *mail) Next() (from int, data []byte, err error) {
	if len(m.early) == 0 {
		l, err := m.take(silence)
		return l.from, l.data, err
	}
	l := m.early[0]
	m.early = m.early[1:]
	return l.from, l.data, nil
}

func (m *mail) take(ns int) (letter, error) {
	var from C.int32_t
	var size C.uint64_t
	if C.next_from(m.t, &from, unsafe.Pointer(&m.room[0]), &size, C.uint64_t(ns)) != 0 {
		return letter{}, errGone
	}
	if size == 0 {
		return letter{}, nil
	}
	return letter{int(from), slices.Clone(m.room[:size:size])}, nil
}

//export marple_core_gather
func marple_core_gather(handle unsafe.Pointer, f *C.struct_mrl_finish) (result C.int) {
	guarded()
	defer guard(handle, &result)
	ending()
	s := find(handle)
	if s == nil || f == nil || f.base == nil || f.size < record.TablesSize {
		return C.MRL_CORE_BROKEN
	}
	p, err := process(f)
	if err != nil {
		explain(f, fmt.Sprintf("MPI_Finalize could not read the records: %v", err))
		return C.MRL_CORE_BROKEN
	}
	s.merged = profile.FromProcess(p, s.kept())
	if !s.record.None() {
		if source := left.FromProcess(p, s.record, nil); source != nil {
			_ = source.Store() // what is missing will be told
		}
	}
	if s.budget != nil {
		s.merged.Logged = 1
	}
	if f.transport == nil {
		s.endLogs(f.keep_raw != 0) // nobody to look for wait states with
	} else {
		if s.merged, err = profile.Gather(s.merged, mpi{f.transport}); err != nil {
			if !errors.Is(err, errGone) { // of which the C side knows more
				explain(f, fmt.Sprintf("MPI_Finalize could not merge: %v", err))
			}
			return C.MRL_CORE_BROKEN
		}
		if directory := placed(f.directory); s.merged != nil && directory.String() != "" {
			if len(s.merged.Totals) < int(s.merged.World) {
				return C.MRL_CORE_BROKEN // the files have it all
			}
			if missing, what := s.merged.Missing(); missing > 0 && !s.record.None() {
				p.Header().Unmerged = missing
				explain(f, fmt.Sprintf("MPI_Finalize could not merge %d records (%s)", missing, what))
				return C.MRL_CORE_BROKEN
			}
			keep(s.merged, directory)
		}
	}
	if f.transport != nil && s.merged != nil && s.merged.Logged == uint64(s.merged.World) {
		return C.MRL_CORE_REPLAY
	}
	return C.MRL_CORE_DONE
}

// explain says why a step gives up.
func explain(f *C.struct_mrl_finish, text string) {
	why := unsafe.Slice((*byte)(unsafe.Pointer(&f.why[0])), len(f.why))
	why[copy(why[:len(why)-1], text)] = 0
}

//export marple_core_replay
func marple_core_replay(handle unsafe.Pointer, f *C.struct_mrl_finish) (result C.int) {
	guarded()
	defer guard(handle, &result)
	s := find(handle)
	if s == nil || s.budget == nil || f == nil || f.transport == nil || f.base == nil || f.size < record.TablesSize {
		return C.MRL_CORE_BROKEN
	}
	defer s.endLogs(f.keep_raw != 0)
	p, err := process(f)
	if err != nil {
		return C.MRL_CORE_BROKEN
	}
	waits, err := waitstate.Find(p, s.kept(), &mail{mpi: mpi{f.transport}}, waitstate.Players(f.replay))
	if s.merged != nil && waits.Ranks > 0 {
		s.merged.Waits = waits
		if directory := placed(f.directory); directory.String() != "" {
			keep(s.merged, directory)
		}
	}
	if err != nil {
		return C.MRL_CORE_BROKEN
	}
	return C.MRL_CORE_DONE
}

// kept are the logs that there are.
func (s *session) kept() profile.Logs {
	logs := profile.Logs{}
	for i, l := range s.logs {
		if l != nil {
			logs[i] = l
		}
	}
	return logs
}

// endLogs completes the logs' files, or removes them.
func (s *session) endLogs(keep bool) {
	for _, l := range s.logs {
		switch {
		case l == nil:
		case keep:
			_ = l.Store()
		default:
			l.Remove()
		}
	}
}

// process reads what the threads of this process have recorded, spilled records included.
func process(f *C.struct_mrl_finish) (*record.Process, error) {
	tables := unsafe.Slice((*byte)(f.base), int(f.size))
	var blocks [][]byte
	for _, block := range unsafe.Slice(f.threads, int(f.thread_count)) {
		if block == nil {
			blocks = append(blocks, nil)
			continue
		}
		blocks = append(blocks, unsafe.Slice((*byte)(block), record.ThreadSpan))
	}
	return record.Open(tables, blocks)
}
