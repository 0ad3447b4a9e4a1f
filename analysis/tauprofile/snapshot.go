package tauprofile

import (
	"bufio"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// TAU's other formats: snapshots (TAU_PROFILE_FORMAT=snapshot), a file per thread, and merged profiles, one file for all
// (=merged). Both are documents of XML one after the other: definitions of metrics, timers and events by number, for one
// thread or for all; then profiles, rows of numbers. Of several profiles of a thread the last one counts: it has all that
// was before.
const (
	mergedFile = "tauprofile.xml"
	snapshots  = "snapshot."
	everyone   = "*"
)

func isXML(name string) bool {
	rest, isSnapshot := strings.CutPrefix(name, snapshots)
	_, ok := parseLocation("profile." + rest)
	return name == mergedFile || isSnapshot && ok
}

// Bounds of what a file may hold.
const (
	mostXML     = 4 << 30 // bytes
	mostDefined = 10_000_000
	mostMetrics = 256
)

// definitions are what numbers stand for.
type definitions struct {
	metrics, users map[int]string
	timers         map[int]Timer
}

// snapshot reads one file.
type snapshot struct {
	name    string
	d       *xml.Decoder
	defined map[string]*definitions // by thread, or everyone
	where   map[string]location
	facts   map[string][]Attribute
	files   map[location][]*File
	count   int // definitions
}

func (s *snapshot) fail(format string, arguments ...any) error {
	line, _ := s.d.InputPos()
	return fmt.Errorf("%s:%d: %s", s.name, line, fmt.Sprintf(format, arguments...))
}

// withoutZeros leaves out the bytes 0 that TAU puts between the documents of merged profiles.
type withoutZeros struct{ r io.Reader }

func (z withoutZeros) Read(p []byte) (int, error) {
	n, err := z.r.Read(p)
	return len(slices.DeleteFunc(p[:n], func(b byte) bool { return b == 0 })), err
}

// parseSnapshots reads a file of snapshots, or a merged profile: the files of each thread, one per metric. The name is
// for errors, which say name:line.
func parseSnapshots(name string, r io.Reader) (map[location][]*File, error) {
	s := &snapshot{name: name, d: xml.NewDecoder(bufio.NewReader(withoutZeros{io.LimitReader(r, mostXML)})), defined: map[string]*definitions{},
		where: map[string]location{}, facts: map[string][]Attribute{}, files: map[location][]*File{}}
	for {
		token, err := s.d.Token()
		if errors.Is(err, io.EOF) {
			return s.files, nil
		}
		if err != nil {
			return nil, s.broken(err)
		}
		if start, ok := token.(xml.StartElement); ok {
			if err := s.element(start); err != nil {
				return nil, err
			}
		}
	}
}

// broken says where the XML, or a number in it, is not what it should be.
func (s *snapshot) broken(err error) error {
	var syntax *xml.SyntaxError
	if errors.As(err, &syntax) {
		return s.fail("%.200s", syntax.Msg)
	}
	return s.fail("%.200s", err.Error())
}

// decode reads an element.
func (s *snapshot) decode(to any, e xml.StartElement) error {
	if err := s.d.DecodeElement(to, &e); err != nil {
		return s.broken(err)
	}
	return nil
}

func (s *snapshot) element(e xml.StartElement) error {
	switch e.Name.Local {
	case "thread":
		return s.thread(e)
	case "definitions":
		return s.definitions(e)
	case "profile":
		return s.profile(e)
	}
	if strings.HasPrefix(e.Name.Local, "derived") || strings.HasSuffix(e.Name.Local, "_derivedprofile") {
		if err := s.d.Skip(); err != nil { // means and extremes over threads
			return s.broken(err)
		}
	}
	return nil
}

func attribute(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

func (s *snapshot) thread(e xml.StartElement) error {
	l, ok := parseLocation("profile." + attribute(e, "node") + "." + attribute(e, "context") + "." + attribute(e, "thread"))
	if !ok {
		return s.fail("expected a thread with the numbers of its node, context and thread")
	}
	var facts struct {
		Attributes []struct {
			Name  string `xml:"name"`
			Value string `xml:"value"`
		} `xml:"metadata>attribute"`
	}
	if err := s.decode(&facts, e); err != nil {
		return err
	}
	id := attribute(e, "id")
	s.where[id] = l
	for _, a := range facts.Attributes {
		s.facts[id] = append(s.facts[id], Attribute{a.Name, a.Value})
	}
	return nil
}

func (s *snapshot) definitions(e xml.StartElement) error {
	type named struct {
		ID    int    `xml:"id,attr"`
		Name  string `xml:"name"`
		Group string `xml:"group"`
	}
	var all struct {
		Metrics []named `xml:"metric"`
		Timers  []named `xml:"event"`
		Users   []named `xml:"userevent"`
	}
	if err := s.decode(&all, e); err != nil {
		return err
	}
	thread := attribute(e, "thread")
	d := s.defined[thread]
	if d == nil {
		d = &definitions{metrics: map[int]string{}, users: map[int]string{}, timers: map[int]Timer{}}
		s.defined[thread] = d
	}
	if s.count += len(all.Metrics) + len(all.Timers) + len(all.Users); s.count > mostDefined {
		return s.fail("more than %d definitions", mostDefined)
	}
	for _, m := range all.Metrics {
		d.metrics[m.ID] = m.Name
	}
	for _, u := range all.Users {
		d.users[u.ID] = u.Name
	}
	for _, t := range all.Timers {
		timer := Timer{Path: parsePath(t.Name, false)}
		if len(timer.Path) > mostDepth {
			return s.fail("a call path of %d functions: expected at most %d", len(timer.Path), mostDepth)
		}
		for _, g := range strings.Split(t.Group, "|") {
			if g = strings.TrimSpace(g); g != "" {
				timer.Groups = append(timer.Groups, g)
			}
		}
		d.timers[t.ID] = timer
	}
	return nil
}

// lookup finds a number, first among what is defined for the thread.
func lookup[T any](s *snapshot, thread string, of func(*definitions) map[int]T, id int) (x T, ok bool) {
	for _, whose := range []string{thread, everyone} {
		if d := s.defined[whose]; d != nil {
			if x, ok = of(d)[id]; ok {
				return x, true
			}
		}
	}
	return x, false
}

func (s *snapshot) profile(e xml.StartElement) error {
	var p struct {
		Intervals struct {
			Metrics string `xml:"metrics,attr"`
			Rows    string `xml:",chardata"`
		} `xml:"interval_data"`
		Atomics string `xml:"atomic_data"`
	}
	if err := s.decode(&p, e); err != nil {
		return err
	}
	thread := attribute(e, "thread")
	l, ok := s.where[thread]
	if !ok {
		return s.fail("a profile of thread %.40q, which was not introduced", thread)
	}
	var files []*File
	for _, number := range strings.Fields(p.Intervals.Metrics) {
		if len(files) == mostMetrics {
			return s.fail("more than %d metrics", mostMetrics)
		}
		id, err := strconv.Atoi(number)
		metric, ok := lookup(s, thread, func(d *definitions) map[int]string { return d.metrics }, id)
		if err != nil || !ok {
			return s.fail("metric %.40q is not defined", number)
		}
		files = append(files, &File{Metric: metric, Metadata: s.facts[thread]})
	}
	if len(files) == 0 {
		return s.fail("interval_data of no metric")
	}
	err := s.rows(p.Intervals.Rows, 3+2*len(files), func(id int, x []float64) bool {
		t, ok := lookup(s, thread, func(d *definitions) map[int]Timer { return d.timers }, id)
		t.Calls, t.Subroutines = x[0], x[1]
		for m, f := range files {
			t.Exclusive, t.Inclusive = x[2+2*m], x[3+2*m]
			f.Timers = append(f.Timers, t)
		}
		return ok
	})
	if err != nil {
		return err
	}
	s.files[l] = files
	return s.rows(p.Atomics, 6, func(id int, x []float64) bool {
		name, ok := lookup(s, thread, func(d *definitions) map[int]string { return d.users }, id)
		files[0].Events = append(files[0].Events, Event{Name: name, N: x[0], Max: x[1], Min: x[2], Mean: x[3], SumSquares: x[4]})
		return ok
	})
}

// rows gives lines of so many numbers, of which the first one stands for something that is defined.
func (s *snapshot) rows(text string, numbers int, each func(id int, x []float64) (defined bool)) error {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		if len(fields) < numbers {
			return s.fail("%.60q: expected %d numbers", strings.TrimSpace(line), numbers)
		}
		id, err := strconv.Atoi(fields[0])
		if err != nil {
			return s.fail("%.40q: expected the number of a definition", fields[0])
		}
		x := make([]float64, numbers-1)
		for i := range x {
			if x[i], err = strconv.ParseFloat(fields[i+1], 64); err != nil || math.IsNaN(x[i]) || math.IsInf(x[i], 0) {
				return s.fail("%.40q: expected a number", fields[i+1])
			}
		}
		if !each(id, x) {
			return s.fail("%d is not defined", id)
		}
	}
	return nil
}

func (s *set) readXML(paths ...string) error {
	s.read = map[location][]*File{}
	for _, path := range paths {
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		files, err := parseSnapshots(path, file)
		file.Close()
		if err != nil {
			return err
		}
		if len(files) == 0 {
			return fmt.Errorf("%s: no profiles in it", path)
		}
		for l, list := range files {
			if len(s.read[l]) > 0 {
				return fmt.Errorf("%s: a second profile of %s", filepath.Base(path), l.file())
			}
			s.read[l] = list
			s.threads = append(s.threads, l)
		}
	}
	s.sort()
	return nil
}
