package otf2

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"time"
)

// reader reads what `marple-otf2 --read` says: lines of numbers behind a letter; see cmd/otf2.
type reader struct {
	in    *bufio.Reader
	line  int
	t     *trace
	left  Left
	texts int
	inAll int // members of groups

	at   *writer // of the process that is being read
	here *thread
	done map[uint64]bool // processes
}

var errNumber = errors.New("expected a number")

// source is what an archive is called, and when it was written.
type source struct {
	name    string
	written time.Time
}

// read makes a writer for each rank, and hands it on when its events are all told.
func read(in io.Reader, from source, make func(*trace, uint64) (*writer, error), keep func(*writer) error) (Left, error) {
	r := &reader{in: bufio.NewReaderSize(in, 1<<18), line: 1, done: map[uint64]bool{}, t: &trace{source: from, resolution: 1e9,
		texts: map[uint64]string{}, nodes: map[uint64][3]uint64{}, processes: map[uint64][2]uint64{}, locations: map[uint64]located{},
		regions: map[uint64]region{}, groups: map[uint64]group{}, comms: map[uint64]communicator{}}}
	err := r.all(make, keep)
	if err != nil {
		err = fmt.Errorf("line %d of what is said of it: %w", r.line, err)
	}
	return r.left, err
}

func (r *reader) all(make func(*trace, uint64) (*writer, error), keep func(*writer) error) error {
	finish := func() error {
		if r.at == nil {
			return nil
		}
		w := r.at
		r.at = nil
		if w.threads == 0 {
			return fmt.Errorf("nothing is told of rank %d", w.rank)
		}
		return keep(w)
	}
	for {
		kind, err := r.in.ReadByte()
		if err != nil {
			return errors.New("it ends too early")
		}
		switch kind {
		case '\n':
			r.line++
			continue
		case '.':
			if err := r.close(finish); err != nil {
				return err
			}
			return r.complete()
		case 'l':
			if err := r.location(make, finish); err != nil {
				return err
			}
			continue
		case 'u':
			n, err := r.numbers(1)
			if err != nil {
				return err
			}
			r.left.Untold += n[0]
			continue
		case 'k':
			n, err := r.numbers(1)
			if err != nil {
				return err
			}
			r.t.compared = r.t.compared || n[0] > 0
			continue
		}
		if kind >= 'a' {
			err = r.definition(kind)
		} else {
			err = r.event(kind)
		}
		if err != nil {
			return err
		}
	}
}

// complete tells whether all ranks were there.
func (r *reader) complete() error {
	if r.t.ranks == nil {
		if err := r.t.settle(); err != nil {
			return err
		}
	}
	hosts := map[string]bool{}
	for rank, process := range r.t.world {
		if !r.done[process] {
			return fmt.Errorf("nothing is told of rank %d", rank)
		}
		hosts[r.t.host(process)] = true
	}
	if len(hosts) > 1 && !r.t.compared {
		r.left.Hosts = uint64(len(hosts))
	}
	return nil
}

func (r *reader) close(finish func() error) error {
	if r.here != nil {
		r.here.close()
		r.here = nil
	}
	return finish()
}

// location goes on with another one. Those of a process follow each other.
func (r *reader) location(make func(*trace, uint64) (*writer, error), finish func() error) error {
	if r.t.ranks == nil {
		if err := r.t.settle(); err != nil {
			return err
		}
	}
	n, err := r.numbers(1)
	if err != nil {
		return err
	}
	l, known := r.t.locations[n[0]]
	if !known {
		return fmt.Errorf("events of location %d, of which nothing is said", n[0])
	}
	if r.here != nil {
		r.here.close()
	}
	r.here = nil
	_, ranked := r.t.ranks[l.process]
	if r.at == nil || r.t.world[r.at.rank] != l.process {
		if err := finish(); err != nil {
			return err
		}
		if !ranked {
			r.left.Untold += l.events // of a process that is no rank
			return nil
		}
		if r.done[l.process] {
			return fmt.Errorf("the locations of process %d are not told one after the other", l.process)
		}
		r.done[l.process] = true
		if r.at, err = make(r.t, l.process); err != nil {
			return err
		}
	}
	r.here = &thread{w: r.at, left: &r.left, main: r.t.mains[l.id], requests: map[uint64]request{}}
	return nil
}

func (r *reader) number() (uint64, error) {
	n, digits := uint64(0), 0
	for {
		c, err := r.in.ReadByte()
		if err != nil {
			return 0, errNumber
		}
		switch {
		case c == ' ' && digits == 0:
		case c >= '0' && c <= '9':
			if digits++; digits > 20 || n > (math.MaxUint64-uint64(c-'0'))/10 {
				return 0, errNumber
			}
			n = n*10 + uint64(c-'0')
		default:
			if digits == 0 {
				return 0, errNumber
			}
			return n, r.in.UnreadByte()
		}
	}
}

// numbers reads so many, 6 at most.
func (r *reader) numbers(count int) (n [7]uint64, err error) {
	for i := range count {
		if n[i], err = r.number(); err != nil {
			return n, err
		}
	}
	return n, nil
}

func (r *reader) text() (string, error) {
	size, err := r.number()
	if err != nil {
		return "", err
	}
	if c, err := r.in.ReadByte(); err != nil || c != ':' || size > mostText || r.texts+int(size) > mostTexts {
		return "", errors.New("expected a text of reasonable length")
	}
	r.texts += int(size)
	text := make([]byte, size)
	_, err = io.ReadFull(r.in, text)
	return string(text), err
}

func put[V any](m map[uint64]V, id uint64, v V) error {
	if len(m) >= mostThings {
		return errors.New("there are too many of these")
	}
	m[id] = v
	return nil
}

func (r *reader) definition(kind byte) error {
	if r.t.ranks != nil {
		return errors.New("a definition after events")
	}
	count := map[byte]int{'t': 4, 's': 1, 'n': 4, 'g': 3, 'o': 4, 'r': 3, 'p': 4, 'c': 3}[kind]
	if count == 0 {
		return fmt.Errorf("unknown definition %q", kind)
	}
	n, err := r.numbers(count)
	if err != nil {
		return err
	}
	switch t := r.t; kind {
	case 't':
		if n[0] == 0 {
			return errors.New("a clock that does not tick")
		}
		t.resolution, t.offset, t.realtime = n[0], n[1], n[3]
		if n[3] > math.MaxInt64/2 { // libraries of OTF2 before 3.0 did not store it
			t.realtime, r.left.Undated = uint64(max(t.written.UnixNano(), 0)), 1
		}
	case 's':
		text, err := r.text()
		if err != nil {
			return err
		}
		return put(t.texts, n[0], text)
	case 'n':
		return put(t.nodes, n[0], [3]uint64{n[1], n[2], n[3]})
	case 'g':
		return put(t.processes, n[0], [2]uint64{n[1], n[2]})
	case 'o':
		return put(t.locations, n[0], located{n[0], n[1], n[2], n[3]})
	case 'r':
		return put(t.regions, n[0], region{t.texts[n[1]], n[2] == 1})
	case 'p':
		if r.inAll += int(min(n[3], mostMembers+1)); r.inAll > mostMembers {
			return errors.New("the groups have too many members")
		}
		g := group{kind: n[2]}
		for range n[3] {
			m, err := r.number()
			if err != nil {
				return err
			}
			g.members = append(g.members, m)
		}
		return put(t.groups, n[0], g)
	case 'c':
		return put(t.comms, n[0], communicator{n[1], n[2]})
	}
	return nil
}

// argumentsOf events, beside the time.
var argumentsOf = [256]int{'E': 1, 'L': 1, 'S': 4, 'R': 4, 'I': 5, 'Q': 5, 'J': 1, 'P': 1, 'X': 1, 'K': 1, 'D': 5, 'N': 6, 'M': 1, 'B': 1}

func (r *reader) event(kind byte) error {
	if argumentsOf[kind] == 0 && kind != 'C' {
		return fmt.Errorf("unknown event %q", kind)
	}
	n, err := r.numbers(1 + argumentsOf[kind])
	if err != nil {
		return err
	}
	t := r.here
	if t == nil {
		if r.t.ranks != nil {
			return nil // of a process that is no rank
		}
		return errors.New("an event before any location")
	}
	switch kind {
	case 'E':
		return t.enter(n[0], n[1])
	case 'L':
		return t.leave(n[0], n[1])
	case 'M':
		t.record(n[0], n[1] == 1)
		return nil
	case 'B':
		if now := t.at(n[0]); t.out != nil && !t.ended {
			r.left.Flushed += t.w.t.ns(n[1]) - min(t.w.t.ns(n[1]), now)
		}
		return nil
	}
	c := &t.call
	if !c.open {
		r.left.Outside++
		return nil
	}
	if len(c.sent)+len(c.received)+len(c.done)+len(c.posted)+len(c.begun) >= mostThings {
		return fmt.Errorf("too much happens in one call of %s", c.name)
	}
	m := message{peer: n[1], comm: n[2], tag: n[3], bytes: n[4], request: n[5]}
	switch kind {
	case 'S':
		c.sent = append(c.sent, m)
	case 'R':
		c.received = append(c.received, m)
	case 'I':
		c.begun = append(c.begun, m)
	case 'P':
		c.posted = append(c.posted, n[1])
	case 'Q':
		c.done = append(c.done, completion{request: m.request, received: &m})
	case 'J', 'X':
		c.done = append(c.done, completion{request: n[1], cancelled: kind == 'X'})
	case 'D':
		c.operation = &operation{n[1], n[2], n[3], n[4], n[5]}
	}
	return nil
}
