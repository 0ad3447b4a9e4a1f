package page

import (
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

// ReadSources finds the lines of the run's call paths in the files below a directory, of those with most time first. Files are
// told apart by as much of their paths as there is.
func ReadSources(r *run.Run, directory string) (map[string]Source, error) {
	root, err := os.OpenRoot(directory)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	named := map[string][]string{} // by base name: paths below the directory
	looked := 0
	err = fs.WalkDir(root.FS(), ".", func(path string, e fs.DirEntry, err error) error {
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
			named[e.Name()] = append(named[e.Name()], path)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	read := map[string][]string{}
	lines := func(file string) []string {
		path := nearest(file, named[filepath.Base(file)])
		if path == "" {
			return nil
		}
		if _, known := read[path]; !known {
			read[path] = nil
			if data, err := files.Read(filepath.Join(directory, path), mostSource); err == nil {
				read[path] = strings.Split(strings.ToValidUTF8(string(data), "�"), "\n")
			}
		}
		return read[path]
	}
	var list []*run.Node
	caller := map[string]*run.Node{}
	for _, root := range r.CallGraph {
		root.Walk(func(n *run.Node, _ int) bool {
			list = append(list, n)
			for _, below := range n.Children {
				caller[below.ID] = n
			}
			return true
		})
	}
	slices.SortStableFunc(list, func(a, b *run.Node) int {
		return int(min(max(int64(b.Inclusive.Sum)-int64(a.Inclusive.Sum), -1), 1))
	})
	nodes := map[string]*run.Node{}
	for _, n := range list {
		nodes[n.ID] = n
	}
	out := map[string]Source{}
	for _, n := range list {
		if len(out) >= mostPlaces {
			break
		}
		file, from, to := n.File, n.Line, n.Line
		if n.Kind == callgraph.KindGap.String() && n.Of == "" {
			a, b := nodes[n.From], nodes[n.To]
			switch {
			case a == nil || b == nil:
				continue
			case caller[a.ID] != caller[b.ID]: // the lines between are not one function's: the end in the gap's own tells where it is
				if caller[a.ID] == caller[n.ID] {
					b = a
				}
				a = b
			case a.File != b.File || b.Line < a.Line || b.Line-a.Line > mostBetween:
				continue
			}
			file, from, to = a.File, a.Line, b.Line
		}
		if file == "" || from < 1 {
			continue
		}
		text := lines(file)
		if to > len(text) {
			continue // another version of it
		}
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
		out[n.ID] = s
	}
	return out, nil
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
