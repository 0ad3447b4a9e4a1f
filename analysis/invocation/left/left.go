// Package left is what ranks leave behind of invocations of components: their records, beside each rank's record file, and what
// the numbers in them mean. It is the part of invocation that every rank of a job loads.
//
// It may use callgraph, files, record and go-json; it holds no state.
//
// Invariant: what lies in a thread's file and what its Tail holds are its records, in order.
package left

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/goccy/go-json"

	"marple/analysis/callgraph"
	"marple/analysis/files"
	"marple/analysis/record"
)

// A Source is one rank's invocations, and what their numbers mean.
type Source struct {
	Rank      int32    `json:"rank"`
	NsPerTick float64  `json:"ns_per_tick"`
	Begin     uint64   `json:"begin"` // tick from which times count
	Strings   []byte   `json:"strings"`
	Nodes     []byte   `json:"nodes"`
	Counters  []string `json:"counters,omitempty"`
	Threads   []Thread `json:"threads"`

	File files.File `json:"-"` // the rank's record file
}

// Thread is what one thread has kept, which lies in the file of its index.
type Thread struct {
	Index int    `json:"index"`
	Bytes uint64 `json:"bytes"`

	Tail *Tail `json:"-"` // or nil
}

// logOf is the file that a thread's invocations are kept in, beside the process's record file.
func logOf(recordFile files.File, thread int) files.File {
	return recordFile.Beside(fmt.Sprintf(".%d.calls", thread))
}

// Suffix is what the name of a rank's record file goes on with in that of a Source.
const Suffix = ".calls.json"

// Log is a thread's file of invocations. It is opened for each write: a descriptor kept open would be among
// the application's.
func Log(recordFile files.File, thread int) io.WriterAt { return log(logOf(recordFile, thread)) }

type log files.File

func (l log) WriteAt(data []byte, at int64) (n int, err error) {
	file, err := files.File(l).Open(os.O_WRONLY | os.O_CREATE)
	if err != nil {
		return 0, err
	}
	n, err = file.WriteAt(data, at)
	return n, errors.Join(err, file.Close())
}

// Tail holds the end of a thread's log that is not in its file, of a process that did not get to write it.
type Tail struct {
	from int64
	data []byte
}

func (t *Tail) WriteAt(data []byte, at int64) (int, error) {
	if t.data == nil {
		t.from = at
	}
	if at != t.from+int64(len(t.data)) {
		return 0, errors.New("not at the end")
	}
	t.data = append(t.data, data...)
	return len(data), nil
}

// FromProcess describes a process's invocations, which have all been aggregated; nil if it has none. tails are the
// ends of its threads' logs that are not in files, if there are any.
func FromProcess(p *record.Process, recordFile files.File, tails map[int]*Tail) *Source {
	h := p.Header()
	s := &Source{Rank: h.Rank, NsPerTick: callgraph.ClockOf(h).NsPerTick, Begin: h.BeginTick,
		Strings: p.Strings(), Nodes: p.RawNodes(), Counters: p.Counters(), File: recordFile}
	for _, t := range p.Threads() {
		if t.Kept > 0 {
			s.Threads = append(s.Threads, Thread{t.Index, t.Kept, tails[t.Index]})
		}
	}
	if s.Threads == nil {
		return nil
	}
	return s
}

// Store leaves the description beside the record file, which may be removed then, for Load.
func (s *Source) Store() error {
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return s.File.Beside(Suffix).ReplaceBy(data)
}

// Remove removes what was stored, when it has been read.
func (s *Source) Remove() {
	_ = s.File.Beside(Suffix).Remove()
	for _, t := range s.Threads {
		_ = logOf(s.File, t.Index).Remove()
	}
}

// Each visits a thread's invocations.
func (s *Source) Each(t Thread, visit func(*record.Invocation) error) error {
	inFile, rest := int64(t.Bytes), []byte(nil)
	if t.Tail != nil && t.Tail.data != nil {
		inFile, rest = min(inFile, t.Tail.from), t.Tail.data
	}
	if inFile == 0 {
		return record.ReadInvocations(bytes.NewReader(rest), visit)
	}
	file, err := logOf(s.File, t.Index).Open(os.O_RDONLY)
	if err != nil {
		return err
	}
	defer file.Close()
	return record.ReadInvocations(io.MultiReader(io.NewSectionReader(file, 0, inFile), bytes.NewReader(rest)), visit)
}
