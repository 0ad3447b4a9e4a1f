package tauprofile

import (
	"bufio"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"marple/analysis/files"
)

// MaxLine bounds a line, which may hold a long call path or a file's metadata.
const MaxLine = 16 << 20

// parser reads a file line by line; errors say file:line.
type parser struct {
	name  string
	lines *bufio.Scanner
	line  int
	f     *File
}

func (p *parser) fail(format string, arguments ...any) error {
	return fmt.Errorf("%s:%d: %s", p.name, p.line, fmt.Sprintf(format, arguments...))
}

// next is the next line; expected says what should be there.
func (p *parser) next(expected string) (string, error) {
	p.line++
	if p.lines.Scan() {
		return strings.TrimSuffix(p.lines.Text(), "\r"), nil
	}
	switch err := p.lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return "", p.fail("a line longer than %d bytes", MaxLine)
	case err != nil:
		return "", p.fail("%v", err)
	}
	return "", p.fail("the file ends too early: expected %s", expected)
}

// Parse reads a profile. The name is for errors, which say name:line.
func Parse(name string, r io.Reader) (*File, error) {
	p := &parser{name: name, lines: bufio.NewScanner(r), f: &File{}}
	p.lines.Buffer(make([]byte, 1<<16), MaxLine)
	functions, err := p.head()
	if err != nil {
		return nil, err
	}
	escaped := p.f.value(escapedNames) == escapedPercent
	for range functions {
		line, err := p.next("as many functions as the first line says")
		if err != nil {
			return nil, err
		}
		t, err := p.timer(line, escaped)
		if err != nil {
			return nil, err
		}
		p.f.Timers = append(p.f.Timers, t)
	}
	return p.f, p.tail(escaped)
}

// head reads the first two lines.
func (p *parser) head() (functions uint64, err error) {
	line, err := p.next(`"123 templated_functions_MULTI_TIME"`)
	if err != nil {
		return 0, err
	}
	count, kind, _ := strings.Cut(line, " ")
	kind, metric, _ := strings.Cut(kind, "_MULTI_")
	functions, err = strconv.ParseUint(count, 10, 63)
	if err != nil || !strings.HasPrefix(kind, "templated_functions") {
		return 0, p.fail(`not a TAU profile: expected a line such as "123 templated_functions_MULTI_TIME"`)
	}
	if p.f.Metric = metric; strings.Contains(kind, "hw_counters") {
		p.f.Metric = "hw_counters"
	}
	if line, err = p.next(`"# Name Calls Subrs Excl Incl ProfileCalls"`); err != nil {
		return 0, err
	}
	if !strings.HasPrefix(line, "# Name Calls Subrs Excl Incl") {
		return 0, p.fail(`expected "# Name Calls Subrs Excl Incl ProfileCalls"`)
	}
	if at := strings.Index(line, "<metadata>"); at >= 0 {
		p.f.Metadata = metadata(line[at:])
		if name := p.f.value(metricName); name != "" {
			p.f.Metric = name
		}
	}
	return functions, nil
}

// metadata is what can be read of it; the figures do not depend on it.
func metadata(text string) (list []Attribute) {
	var one struct {
		Name  string `xml:"name"`
		Value string `xml:"value"`
	}
	escaped := false
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		token, err := d.Token()
		if err != nil {
			return list
		}
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == "attribute" {
			one.Name, one.Value = "", ""
			if d.DecodeElement(&one, &start) != nil {
				return list
			}
			if one.Name == escapedNames {
				escaped = one.Value == escapedPercent
			}
			if escaped {
				one.Name, one.Value = unescape(one.Name), unescape(one.Value)
			}
			list = append(list, Attribute{one.Name, one.Value})
		}
	}
}

// name cuts the quoted name off a line. Names of other tools may contain quotes: the last one of the line, but for
// those of the groups, ends it.
func (p *parser) quoted(line string) (name, rest string, err error) {
	end := strings.LastIndexByte(line, '"')
	if !strings.HasPrefix(line, `"`) || end < 1 {
		return "", "", p.fail(`expected a name in quotes, found %.40q`, line)
	}
	return line[1:end], line[end+1:], nil
}

func (p *parser) numbers(text string, into ...*float64) (rest []string, err error) {
	fields := strings.Fields(text)
	if len(fields) < len(into) {
		return nil, p.fail("expected %d numbers after the name, found %d", len(into), len(fields))
	}
	for i, to := range into {
		x, err := strconv.ParseFloat(fields[i], 64)
		if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
			return nil, p.fail("%.40q: expected a number", fields[i])
		}
		*to = x
	}
	return fields[len(into):], nil
}

func (p *parser) timer(line string, escaped bool) (t Timer, err error) {
	if at := strings.LastIndex(line, ` GROUP="`); at >= 0 {
		groups := strings.TrimSuffix(strings.TrimRight(line[at+len(` GROUP="`):], " "), `"`)
		if escaped {
			groups = unescape(groups)
		}
		for _, g := range strings.Split(groups, "|") {
			if g = strings.TrimSpace(g); g != "" {
				t.Groups = append(t.Groups, g)
			}
		}
		line = line[:at]
	}
	name, rest, err := p.quoted(line)
	if err != nil {
		return t, err
	}
	if t.Path = parsePath(name, escaped); len(t.Path) > mostDepth {
		return t, p.fail("a call path of %d functions: expected at most %d", len(t.Path), mostDepth)
	}
	fields, err := p.numbers(rest, &t.Calls, &t.Subroutines, &t.Exclusive, &t.Inclusive)
	if err != nil {
		return t, err
	}
	// ProfileCalls, or before it the sum of squares; lines about single calls follow in some old files.
	if len(fields) > 0 {
		calls, err := strconv.ParseFloat(fields[len(fields)-1], 64)
		if err != nil || calls != 0 {
			return t, p.fail("profiles of single calls are not read: expected 0 as the last number, found %.40q", fields[len(fields)-1])
		}
	}
	return t, nil
}

// tail reads what follows the functions. Files may end early there, as those without atomic events do.
func (p *parser) tail(escaped bool) error {
	if !p.lines.Scan() {
		return p.lines.Err()
	}
	p.line++
	if text, ok := strings.CutSuffix(strings.TrimSpace(p.lines.Text()), " aggregates"); !ok || text != "0" {
		return p.fail(`expected "0 aggregates"; are there more functions than the first line says?`)
	}
	if !p.lines.Scan() {
		return p.lines.Err()
	}
	p.line++
	count, what, _ := strings.Cut(strings.TrimSpace(p.lines.Text()), " ")
	if count == "" {
		return nil
	}
	events, err := strconv.ParseUint(count, 10, 63)
	if err != nil || what != "userevents" {
		return p.fail(`expected a line such as "5 userevents"`)
	}
	if _, err := p.next("# eventname numevents max min mean sumsqr"); err != nil {
		return err
	}
	for range events {
		line, err := p.next("as many events as there were announced")
		if err != nil {
			return err
		}
		var e Event
		var rest string
		if e.Name, rest, err = p.quoted(line); err != nil {
			return err
		}
		if escaped {
			e.Name = unescape(e.Name)
		}
		if _, err := p.numbers(rest, &e.N, &e.Max, &e.Min, &e.Mean, &e.SumSquares); err != nil {
			return err
		}
		p.f.Events = append(p.f.Events, e)
	}
	return nil
}

func parseFile(path string) (*File, error) {
	file, err := files.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return Parse(path, file)
}
