package trace

import (
	"fmt"
	"io"
	"iter"

	"marple/analysis/files"
	"marple/analysis/record"
	"marple/analysis/words"
)

// Thread is what one thread of a rank has logged.
type Thread struct {
	*record.Process
	Number int

	file  string
	at    func(tick uint64) int64
	each  func(visit func(*record.Logged) bool) error
	nodes []record.Node
	names []string // by node; empty until asked for
}

// Event is a logged event with what its numbers stand for. It is good until the next one comes.
type Event struct {
	*record.Logged
	Begin, End int64       // nanoseconds, on the clock of the Rank
	Node       record.Node // the call, or the region; zero if it is not known
	Name       string      // of the MPI function, region, phase or component's method
}

func newThread(p *record.Process, number int, file string, at func(tick uint64) int64, each func(visit func(*record.Logged) bool) error) *Thread {
	nodes := p.Nodes()
	return &Thread{Process: p, Number: number, file: file, at: at, each: each, nodes: nodes, names: make([]string, len(nodes))}
}

// Events are those of the thread, in the order in which they were recorded. With an error, which names the file, they
// end.
func (t *Thread) Events() iter.Seq2[*Event, error] {
	return func(yield func(*Event, error) bool) {
		more := true
		var e Event
		err := t.each(func(l *record.Logged) bool {
			e = Event{Logged: l, Begin: t.at(l.Start), End: t.at(l.Start + l.Duration)}
			if int(l.Path) < len(t.nodes) {
				e.Node, e.Name = t.nodes[l.Path], t.name(l.Path)
			}
			more = yield(&e, nil)
			return more
		})
		if err != nil && more {
			yield(nil, fmt.Errorf("%s: %w", t.file, err))
		}
	}
}

func (t *Thread) name(path uint32) string {
	if t.names[path] == "" {
		t.names[path] = nameOf(t.Process, t.nodes[path])
	}
	return t.names[path]
}

func nameOf(p *record.Process, n record.Node) string {
	switch n.Kind {
	case record.NodeComponent:
		return words.Method(p.String(uint32(n.Key)), p.String(uint32(n.Key>>32)), p.String(n.Name))
	case record.NodePhase:
		return fmt.Sprintf("phase %d", int64(n.Key))
	}
	return p.String(n.Name)
}

// Threads opens the logs of a rank's threads, one after the other; each can be read until the next one comes. With an
// error, which names the file, they end.
func (l Rank) Threads() iter.Seq2[*Thread, error] {
	return func(yield func(*Thread, error) bool) {
		p, err := readTables(l.file)
		if err != nil {
			yield(nil, fmt.Errorf("%s: %w", l.file, err))
			return
		}
		for number := range record.ThreadsMost {
			name := record.LogName(l.file, number)
			log, err := files.Open(name)
			if err != nil {
				if number >= int(p.Header().Threads) {
					return
				}
				continue
			}
			more := yield(newThread(p, number, name, l.At, func(visit func(*record.Logged) bool) error { return record.EachIn(io.ReaderAt(log), visit) }), nil)
			log.Close()
			if !more {
				return
			}
		}
	}
}
