package main

import (
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"

	"marple/analysis/run"
	"marple/analysis/words"
)

// mostHosts are told of by name.
const mostHosts = 8

// tellMissing says of what ranks there are no records, as they are called, in a run directory, and where they are. Of several
// directories that were read further ones may know that; again is the command that takes several directories.
func tellMissing(out io.Writer, list []int, called, path string, further []string, again string) {
	var main, part *run.Hosts
	for _, directory := range append([]string{path}, further...) {
		h, err := run.ReadHosts(directory)
		if err != nil {
			fmt.Fprintf(out, "marple: %v\n", err)
		}
		if h != nil && h.Part && part == nil {
			part = h
		} else if h != nil && !h.Part && main == nil {
			main = h
		}
	}
	if len(list) == 0 {
		return
	}
	rest, told, more := list, 0, 0
	if main != nil {
		for _, p := range main.Places {
			missing := p.Missing(list)
			if len(missing) == 0 {
				continue
			}
			rest = slices.DeleteFunc(slices.Clone(rest), func(rank int) bool { _, there := slices.BinarySearch(missing, rank); return there })
			if told == mostHosts {
				more++
				continue
			}
			told++
			fmt.Fprintf(out, "marple: no %s here of %s: host %s has them in %s%s\n", called, words.Spans(missing), words.Clean(p.Host), words.Clean(p.Directory), fetching(p, path))
		}
	}
	if more > 0 {
		fmt.Fprintf(out, "marple: and of %s: see %s\n", words.Count(uint64(more), "more host", "more hosts"), words.Clean(path+"/"+run.HostsFile))
	}
	if told > 0 {
		fmt.Fprintf(out, "marple: when they are here, repeat this command%s\n", again)
	}
	if len(rest) == 0 {
		return
	}
	fmt.Fprintf(out, "marple: no %s here of %s", called, words.Spans(rest))
	if main == nil && part != nil {
		fmt.Fprintf(out, ", but what one host has of a run whose directory is %s on host %s", words.Clean(part.Directory), words.Clean(part.Host))
	}
	if told == 0 {
		fmt.Fprint(out, again)
	}
	fmt.Fprintln(out)
}

// tellMissingLogs is tellMissing of what a run with --trace has kept on hosts that do not see its directory.
func tellMissingLogs(out io.Writer, path string) {
	here := map[int]bool{}
	files, _ := filepath.Glob(filepath.Join(path, run.RawDir, "rank-*.mrl"))
	for _, file := range files {
		var rank int
		if _, err := fmt.Sscanf(filepath.Base(file), "rank-%d.mrl", &rank); err == nil {
			here[rank] = true
		}
	}
	h, _ := run.ReadHosts(path) // which is told below
	if h == nil {
		return
	}
	var missing []int
	for _, p := range h.Places {
		for _, s := range p.Ranks {
			for rank := s.First; rank <= min(s.Last, mostRanks); rank++ {
				if !here[rank] {
					missing = append(missing, rank)
				}
			}
		}
	}
	slices.Sort(missing)
	tellMissing(out, slices.Compact(missing), "logs", path, nil, "")
}

const mostRanks = 1 << 20

var hostName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)

// fetching is the command that brings what is at a place into a run directory, without the holes of record files. There is none for
// names that are not to be pasted into a shell.
func fetching(p run.Place, path string) string {
	if !hostName.MatchString(p.Host) || words.Clean(p.Directory) != p.Directory || words.Clean(path) != path {
		return ""
	}
	return fmt.Sprintf("; to fetch them: ssh %s %s | tar -C %s -xSf -", p.Host, words.Shell("tar -C "+words.Shell(p.Directory)+" -cSf - "+run.RawDir), words.Shell(path))
}
