package invocation

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-json"
	"github.com/parquet-go/parquet-go"

	"marple/analysis/files"
	"marple/analysis/invocation/left"
	"marple/analysis/record"
	"marple/analysis/run"
	"marple/analysis/words"
)

// A Source is one rank's invocations, as they are read.
type Source struct {
	left.Source

	nodes  []record.Node
	paths  map[uint32]place
	values map[uint64]*value // by string and kind
}

// place is a method, and where it was called from.
type place struct {
	component, method, instance, whole parquet.Value
	text                               string // the whole path
	depth                              int    // methods on it
}

// maxSource is more than a description can have, whose tables are bounded.
const maxSource = 64 << 20

// FromProcess is left.FromProcess, to be read.
func FromProcess(p *record.Process, recordFile files.File, tails map[int]*left.Tail) *Source {
	if s := left.FromProcess(p, recordFile, tails); s != nil {
		return &Source{Source: *s}
	}
	return nil
}

// Load finds what ranks have stored in a run directory. Of what cannot be read the error tells.
func Load(directory files.Directory) ([]*Source, error) {
	found, err := filepath.Glob(filepath.Join(directory.String(), run.RawDir, "*"+left.Suffix))
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
		s := &Source{Source: left.Source{File: raw.File(strings.TrimSuffix(filepath.Base(file), left.Suffix))}}
		if err == nil {
			err = json.Unmarshal(data, &s.Source)
		}
		if err != nil {
			problems = errors.Join(problems, fmt.Errorf("%s: %w", file, err))
			continue
		}
		list = append(list, s)
	}
	return list, problems
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
