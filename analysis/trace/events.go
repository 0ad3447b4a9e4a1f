package trace

import (
	"fmt"
	"path/filepath"

	"marple/analysis/callgraph"
	"marple/analysis/diagnosis"
	"marple/analysis/record"
	"marple/analysis/run"
)

// Events is the sequence of events that a run directory holds, or nil if it holds none: the ranks' record files, and
// with them their logs, must have been kept.
func Events(directory string) diagnosis.Events {
	files, err := filepath.Glob(filepath.Join(directory, run.RawDir, "*.mrl"))
	if err != nil {
		return nil
	}
	e := &logs{files: map[int]string{}, number: map[callgraph.ID]uint32{}}
	for _, file := range files {
		p, err := readTables(file)
		if err != nil {
			continue
		}
		if logs, _ := filepath.Glob(file + ".*.log"); len(logs) > 0 {
			e.files[int(p.Header().Rank)] = file
		}
	}
	if len(e.files) == 0 {
		return nil
	}
	return e
}

// logs are the ranks' logs as a sequence of events. Call paths are numbered as they come, the same for all ranks.
type logs struct {
	files  map[int]string // record files by rank
	number map[callgraph.ID]uint32
	ids    []string
	p      *record.Process // being replayed
}

// Node is the ID of a call path in the run.
func (e *logs) Node(path uint32) string {
	if int(path) >= len(e.ids) {
		return ""
	}
	return e.ids[path]
}

// Communicator is a communicator's name.
func (e *logs) Communicator(comm uint16) string {
	if comms := e.p.Comms(); int(comm) < len(comms) {
		return e.p.String(comms[comm].Name)
	}
	return ""
}

// Replay goes through the events of one rank's thread that called MPI_Init.
func (e *logs) Replay(rank int, visit func(*diagnosis.Event)) (begin, end uint64, err error) {
	path, ok := e.files[rank]
	if !ok {
		return 0, 0, fmt.Errorf("no log of rank %d", rank)
	}
	if e.p, err = readTables(path); err != nil {
		return 0, 0, err
	}
	log, err := record.ResumeLog(path, 0, e.p.Nodes()) // the first thread to call anything
	if err != nil {
		return 0, 0, fmt.Errorf("%s: %w", record.LogName(path, 0), err)
	}
	if ended, _ := log.Ended(); ended {
		return 0, 0, fmt.Errorf("%s: the log does not go to the end", record.LogName(path, 0))
	}
	r := replay{e: e, visit: visit, from: record.Edge(e.p.Header().BegunIn), places: callgraph.PlacesOf(e.p), clock: callgraph.ClockOf(e.p.Header()),
		calls: make([]uint32, len(e.p.Nodes())), gaps: map[[2]record.Edge]uint32{}, last: e.p.Header().BeginTick}
	thread := newThread(e.p, 0, record.LogName(path, 0), func(tick uint64) int64 { return int64(r.clock.Ns(tick)) }, log.Each)
	for x, err := range thread.Events() {
		if err != nil {
			return 0, 0, err
		}
		r.logged(x.Logged)
	}
	h := e.p.Header()
	return r.clock.Ns(h.BeginTick), r.clock.Ns(max(h.EndTick, r.last)), nil
}

// replay turns logged events into those of a diagnosis.
type replay struct {
	e      *logs
	visit  func(*diagnosis.Event)
	places *callgraph.Places
	clock  callgraph.Clock
	calls  []uint32 // number of a node's call path + 1
	gaps   map[[2]record.Edge]uint32
	from   record.Edge
	last   uint64 // tick at which the last event ended
	event  diagnosis.Event
}

// numbered is the number of a call path.
func (e *logs) numbered(id callgraph.ID) uint32 {
	n, ok := e.number[id]
	if !ok {
		n = uint32(len(e.ids))
		e.number[id] = n
		e.ids = append(e.ids, run.NodeID(id))
	}
	return n
}

func (r *replay) logged(x *record.Logged) {
	to := record.Edge(x.Path)
	switch x.Kind {
	case record.LogEnter:
		to = record.AtEnter(x.Path)
	case record.LogExit:
		to = record.AtExit(x.Path)
	case record.LogCall:
	default:
		return
	}
	if x.Start > r.last {
		between := [2]record.Edge{r.from, to}
		n, ok := r.gaps[between]
		if !ok {
			n = r.e.numbered(r.places.Gap(r.from, to))
			r.gaps[between] = n
		}
		r.tell(diagnosis.Event{Path: n, Peer: -1, Tag: -1}, r.last, x.Start)
	}
	r.from, r.last = to, x.Start
	if x.Kind != record.LogCall || int(x.Path) >= len(r.calls) {
		return
	}
	r.last = x.Start + x.Duration
	if r.calls[x.Path] == 0 {
		r.calls[x.Path] = r.e.numbered(r.places.Call(x.Path).ID) + 1
	}
	e := diagnosis.Event{Path: r.calls[x.Path] - 1, Comm: x.Comm, Peer: r.e.p.WorldRank(int(x.Comm), x.Peer), Tag: x.Tag}
	if x.Collective() {
		e.Tag = -1
	}
	r.tell(e, x.Start, r.last)
}

// tell visits an event from one tick to another.
func (r *replay) tell(e diagnosis.Event, from, to uint64) {
	e.Start = r.clock.Ns(from)
	e.Duration = r.clock.Ns(to) - e.Start
	r.event = e
	r.visit(&r.event)
}
