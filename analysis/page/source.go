package page

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"marple/analysis/callgraph"
	"marple/analysis/files"
	"marple/analysis/run"
)

// Source is where a call path is in a file. Lines From to To are it; some before and after are there, too.
type Source struct {
	File  string   `json:"file"` // and line, for people
	First int      `json:"first"`
	From  int      `json:"from"`
	To    int      `json:"to"`
	Lines []string `json:"lines"`
}

// Bounds of what is read of source files, and taken from them.
const (
	mostFiles   = 50_000  // looked at
	mostSource  = 4 << 20 // bytes of a file
	mostPlaces  = 300
	mostBetween = 40 // lines of one place
	around      = 3  // lines
	widest      = 160
)

// sourceTree is the files below a directory.
type sourceTree struct {
	directory string
	named     map[string][]string // paths below it, by base name
	read      map[string][]string // lines of those that were read
}

func lookAt(root *os.Root, directory string) (*sourceTree, error) {
	t := &sourceTree{directory, map[string][]string{}, map[string][]string{}}
	looked := 0
	err := fs.WalkDir(root.FS(), ".", func(path string, e fs.DirEntry, err error) error {
		if looked++; looked > mostFiles {
			return fs.SkipAll
		}
		if err != nil {
			return nil // what cannot be read is not there
		}
		if e.IsDir() && path != "." && strings.HasPrefix(e.Name(), ".") {
			return fs.SkipDir
		}
		if e.Type().IsRegular() {
			t.named[e.Name()] = append(t.named[e.Name()], path)
		}
		return nil
	})
	return t, err
}

// lines of the file that is most like one in a call path; nil: there is none.
func (t *sourceTree) lines(file string) []string {
	path := nearest(file, t.named[filepath.Base(file)])
	if path == "" {
		return nil
	}
	if _, known := t.read[path]; !known {
		t.read[path] = nil
		if data, err := files.Read(filepath.Join(t.directory, path), mostSource); err == nil {
			t.read[path] = strings.Split(strings.ToValidUTF8(string(data), "�"), "\n")
		}
	}
	return t.read[path]
}

// ReadSources finds the lines of the run's call paths in the files below a directory, of those with most time first. Files are
// told apart by as much of their paths as there is.
func ReadSources(r *run.Run, directory string) (map[string]Source, error) {
	root, err := os.OpenRoot(directory)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	tree, err := lookAt(root, directory)
	if err != nil {
		return nil, err
	}
	list, g := []*run.Node{}, callTree{map[string]*run.Node{}, map[string]*run.Node{}}
	for _, root := range r.CallGraph {
		root.Walk(func(n *run.Node, _ int) bool {
			list, g.nodes[n.ID] = append(list, n), n
			for _, below := range n.Children {
				g.caller[below.ID] = n
			}
			return true
		})
	}
	slices.SortStableFunc(list, func(a, b *run.Node) int { return cmp.Compare(b.Inclusive.Sum, a.Inclusive.Sum) })
	out := map[string]Source{}
	for _, n := range list {
		if len(out) >= mostPlaces {
			break
		}
		file, from, to := g.place(n)
		if file == "" || from < 1 {
			continue
		}
		if text := tree.lines(file); to <= len(text) { // else another version of it
			out[n.ID] = excerpt(file, text, from, to)
		}
	}
	return out, nil
}

// callTree is the nodes of call graphs, and the caller of each, by ID.
type callTree struct{ nodes, caller map[string]*run.Node }

// place is the lines of a node: of what lies between two calls, those from one to the other. "": they are not known.
func (g callTree) place(n *run.Node) (file string, from, to int) {
	if n.Kind != callgraph.KindGap.String() || n.Of != "" {
		return n.File, n.Line, n.Line
	}
	a, b := g.nodes[n.From], g.nodes[n.To]
	switch {
	case a == nil || b == nil:
		return "", 0, 0
	case g.caller[a.ID] != g.caller[b.ID]: // the lines between are not one function's: the end in the gap's own tells where it is
		if g.caller[a.ID] == g.caller[n.ID] {
			b = a
		}
		a = b
	case a.File != b.File || b.Line < a.Line || b.Line-a.Line > mostBetween:
		return "", 0, 0
	}
	return a.File, a.Line, b.Line
}

// excerpt is some lines of a file, and some around them.
func excerpt(file string, text []string, from, to int) Source {
	first := max(1, from-around)
	s := Source{File: filepath.Base(file), First: first, From: from, To: to}
	for _, line := range text[first-1 : min(len(text), to+around)] {
		line = strings.TrimRight(strings.ReplaceAll(line, "\t", "    "), " \r")
		if r := []rune(line); len(r) > widest {
			line = string(r[:widest]) + "…"
		}
		s.Lines = append(s.Lines, line)
	}
	outdent(s.Lines)
	return s
}

// outdent takes away what all lines begin with: there is little room beside a finding.
func outdent(lines []string) {
	indent := widest
	for _, line := range lines {
		if line != "" {
			indent = min(indent, len(line)-len(strings.TrimLeft(line, " ")))
		}
	}
	for i, line := range lines {
		lines[i] = line[min(indent, len(line)):]
	}
}

// nearest of some paths is that with most directories in common with the file's own, from its end.
func nearest(file string, paths []string) (best string) {
	want, most := strings.Split(filepath.ToSlash(file), "/"), 0
	for _, path := range paths {
		have, same := strings.Split(path, "/"), 0
		for same < min(len(want), len(have)) && want[len(want)-1-same] == have[len(have)-1-same] {
			same++
		}
		if same > most {
			best, most = path, same
		}
	}
	return best
}
