package invocation

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-json"
	"github.com/parquet-go/parquet-go"

	"marple/analysis/callgraph"
	"marple/analysis/files"
	"marple/analysis/record"
	"marple/analysis/run"
	"marple/analysis/words"
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

	file   files.File // the rank's record file
	nodes  []record.Node
	paths  map[uint32]place
	values map[uint64]*value // by string and kind
}

// Thread is what one thread has kept, which lies in the file of its index.
type Thread struct {
	Index int    `json:"index"`
	Bytes uint64 `json:"bytes"`

	tail *Tail
}

// place is a method, and where it was called from.
type place struct {
	component, method, instance, whole parquet.Value
	text                               string // the whole path
	depth                              int    // methods on it
}

// logOf is the file that a thread's invocations are kept in, beside the process's record file.
func logOf(recordFile files.File, thread int) files.File {
	return recordFile.Beside(fmt.Sprintf(".%d.calls", thread))
}

const sourceSuffix = ".calls.json"

// maxSource is more than a description can have, whose tables are bounded.
const maxSource = 64 << 20

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
		Strings: p.Strings(), Nodes: p.RawNodes(), Counters: p.Counters(), file: recordFile}
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
	return s.file.Beside(sourceSuffix).ReplaceBy(data)
}

// Load finds what ranks have stored in a run directory. Of what cannot be read the error tells.
func Load(directory files.Directory) ([]*Source, error) {
	found, err := filepath.Glob(filepath.Join(directory.String(), run.RawDir, "*"+sourceSuffix))
	if err != nil || len(found) == 0 {
		return nil, err
	}
	slices.Sort(found)
	raw, err := directory.Directory(run.RawDir)
	if err != nil {
		return nil, err
	}
	var list []*Source
	var problems error
	for _, file := range found {
		data, err := files.Read(file, maxSource)
		s := &Source{file: raw.File(strings.TrimSuffix(filepath.Base(file), sourceSuffix))}
		if err == nil {
			err = json.Unmarshal(data, s)
		}
		if err != nil {
			problems = errors.Join(problems, fmt.Errorf("%s: %w", file, err))
			continue
		}
		list = append(list, s)
	}
	return list, problems
}

// Remove removes what was stored, when it has been read.
func (s *Source) Remove() {
	_ = s.file.Beside(sourceSuffix).Remove()
	for _, t := range s.Threads {
		_ = logOf(s.file, t.Index).Remove()
	}
}

// each visits a thread's invocations.
func (s *Source) each(t Thread, visit func(*record.Invocation) error) error {
	inFile, rest := int64(t.Bytes), []byte(nil)
	if t.tail != nil && t.tail.data != nil {
		inFile, rest = min(inFile, t.tail.from), t.tail.data
	}
	if inFile == 0 {
		return record.ReadInvocations(bytes.NewReader(rest), visit)
	}
	file, err := logOf(s.file, t.Index).Open(os.O_RDONLY)
	if err != nil {
		return err
	}
	defer file.Close()
	return record.ReadInvocations(io.MultiReader(io.NewSectionReader(file, 0, inFile), bytes.NewReader(rest)), visit)
}

// text of a string.
func (s *Source) text(at uint32) string { return record.TextAt(s.Strings, at) }

// path of a node: the methods and regions that it goes through.
func (s *Source) path(node uint32) place {
	if p, ok := s.paths[node]; ok {
		return p
	}
	if s.nodes == nil {
		s.nodes = record.NodesOf(s.Nodes)
		s.paths = map[uint32]place{}
	}
	component, method, instance, name, above, depth := "?", "", "", "", "", 0
	if int(node) < len(s.nodes) {
		n := s.nodes[node]
		if n.Parent < node && n.Parent != 0 { // parents are made first; anything else is damage
			p := s.path(n.Parent)
			above, depth = p.text, p.depth
		}
		switch n.Kind {
		case record.NodeComponent:
			component, method, instance = s.text(uint32(n.Key)), s.text(n.Name), s.text(uint32(n.Key>>32))
			name = words.Method(component, instance, method)
			depth++
		case record.NodeRegion:
			name = s.text(n.Name)
		case record.NodePhase:
			name = fmt.Sprintf("phase %d", int64(n.Key))
		case record.NodeOverflow:
			name = "paths that found no room"
		}
	}
	if above != "" && name != "" {
		above += " > "
	}
	whole := above + name
	p := place{cell(component), cell(method), cell(instance), cell(whole), whole, depth}
	s.paths[node] = p
	return p
}

func cell(text string) parquet.Value { return parquet.ByteArrayValue([]byte(text)) }
