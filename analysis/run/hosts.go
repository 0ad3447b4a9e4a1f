package run

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"marple/analysis/files"
)

// Hosts says which ranks' records are on hosts that do not see the run directory.
type Hosts struct {
	Host, Directory string  // of rank 0: the run directory
	Part            bool    // this is not that one, but one that another host has of its own
	Places          []Place // by their lowest ranks
}

// Place is a directory on one of those hosts, which is like a run directory.
type Place struct {
	Host, Directory string
	Ranks           []Span // rising
}

// Span is ranks that follow one another.
type Span struct{ First, Last int }

// maxHosts bounds the file: a line takes at most 13 kB, mostly 60 bytes.
const maxHosts = 256 << 20

// ReadHosts reads what a run directory, or what a host has of one, says of hosts apart (cshim/apart.c writes it); nil: nothing.
// Of a file that is cut off or damaged there is what comes before that; the error says where it is.
func ReadHosts(directory string) (*Hosts, error) {
	path := filepath.Join(directory, HostsFile)
	data, err := files.Read(path, maxHosts)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	h, number := &Hosts{}, 0
	at := map[string]int{} // in Places, by what lines of ranks call it
	defer func() {
		h.Places = slices.DeleteFunc(h.Places, func(p Place) bool { return len(p.Ranks) == 0 })
		slices.SortStableFunc(h.Places, func(a, b Place) int { return cmp.Compare(a.Ranks[0].First, b.Ranks[0].First) })
	}()
	for line := range bytes.Lines(data) {
		number++
		text, whole := strings.CutSuffix(string(line), "\n")
		err := errors.New("cut off")
		if whole {
			err = h.add(strings.Split(text, " "), number == 1, at)
		}
		if err != nil {
			return h, fmt.Errorf("%s:%d: %w", path, number, err)
		}
	}
	if number == 0 {
		return h, fmt.Errorf("%s:1: %s", path, firstLine)
	}
	return h, nil
}

const (
	firstLine  = `expected "run ID HOST DIRECTORY" or "part ID HOST DIRECTORY"`
	furtherOne = `expected "records PLACE HOST DIRECTORY", or "ranks PLACE FIRST LAST" behind such a line`
)

// add takes a line.
func (h *Hosts) add(words []string, first bool, at map[string]int) error {
	expected := furtherOne
	if first {
		expected = firstLine
	}
	if len(words) != 4 {
		return errors.New(expected)
	}
	if words[0] == "ranks" {
		i, known := at[words[1]]
		from, err := strconv.Atoi(words[2])
		to, err2 := strconv.Atoi(words[3])
		if first || !known || err != nil || err2 != nil || from < 0 || to < from || to > math.MaxInt32 {
			return errors.New(expected)
		}
		p := &h.Places[i]
		if len(p.Ranks) > 0 && from <= p.Ranks[len(p.Ranks)-1].Last {
			return errors.New("expected higher ranks than those before of the same place")
		}
		p.Ranks = append(p.Ranks, Span{from, to})
		return nil
	}
	host, err := url.PathUnescape(words[2])
	directory, err2 := url.PathUnescape(words[3])
	switch kind := words[0]; {
	case err != nil || err2 != nil:
		return errors.New(expected)
	case first && (kind == "run" || kind == "part"):
		h.Host, h.Directory, h.Part = host, directory, kind == "part"
	case !first && kind == "records":
		if _, twice := at[words[1]]; !twice { // containers that are called the same
			at[words[1]] = len(h.Places)
			h.Places = append(h.Places, Place{Host: host, Directory: directory})
		}
	default:
		return errors.New(expected)
	}
	return nil
}

// Missing are the ranks of a list, rising, that are at this place.
func (p *Place) Missing(list []int) (missing []int) {
	for _, s := range p.Ranks {
		i, _ := slices.BinarySearch(list, s.First)
		for ; i < len(list) && list[i] <= s.Last; i++ {
			missing = append(missing, list[i])
		}
	}
	return missing
}
