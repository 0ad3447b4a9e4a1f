package invocation

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"

	"marple/analysis/files"
	"marple/analysis/series"
)

// responses are what is modelled unless something else is asked for.
var responses = []string{names[wall], names[mpi], names[compute], Exclusive}

// Exclusive is the response without what nested invocations took. Files of earlier versions have not got it.
const Exclusive = "exclusive"

// Read gives series of each component's methods: wall time, time in MPI, computation, and exclusive time, against the
// parameters that were recorded with the invocations. Counters and qualities are responses if they are asked for.
func Read(file string, choice series.Choice) ([]*series.Series, error) {
	return readFile(file, choice, true)
}

// Quality gives series of a quality, of the methods whose invocations have reported it, without parameters.
func Quality(file, name string) ([]*series.Series, error) {
	list, err := readFile(file, series.Choice{Responses: []string{qualityPrefix + name}, Negative: true}, false)
	return slices.DeleteFunc(list, func(s *series.Series) bool { return len(s.Y) == 0 }), err
}

func readFile(file string, choice series.Choice, parameters bool) (list []*series.Series, err error) {
	f, err := files.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	// The library panics on some damaged files.
	defer func() {
		if problem := recover(); problem != nil {
			list, err = nil, fmt.Errorf("%s: damaged: %v", file, problem)
		}
	}()
	list, err = read(f, info.Size(), choice, parameters)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return list, nil
}

// column is one that is used.
type column struct {
	name, unit string
	index      int // of the leaf in the file
}

func (c column) what() string {
	if c.unit == "s" {
		return "time"
	}
	return "value"
}

type layout struct {
	component, method, path int // leaf, -1 if there is none
	compute, overlap        int
	responses, parameters   []column
}

func read(r io.ReaderAt, size int64, choice series.Choice, parameters bool) ([]*series.Series, error) {
	file, err := parquet.OpenFile(r, size)
	if err != nil {
		return nil, fmt.Errorf("not a Parquet file: %w", err)
	}
	l, err := arrange(file.Schema(), choice)
	if err != nil {
		return nil, err
	}
	if !parameters {
		l.parameters = nil
	}
	if file.NumRows() > series.MaxSamples {
		return nil, fmt.Errorf("%d invocations: at most %d can be read", file.NumRows(), series.MaxSamples)
	}
	c := collector{layout: l, choice: choice, found: map[string]*series.Series{}, hidden: map[string]*hidden{}}
	rows := make([]parquet.Row, 256)
	for _, group := range file.RowGroups() {
		if err := c.group(group, rows); err != nil {
			return nil, err
		}
	}
	for _, s := range c.list {
		dropEmpty(s)
		if h := c.hidden[s.Name]; h.invocations > 0 {
			s.Notes = append(s.Notes, h.note())
		}
	}
	return c.list, nil
}

// arrange finds the columns.
func arrange(schema *parquet.Schema, choice series.Choice) (layout, error) {
	l := layout{-1, -1, -1, -1, -1, nil, nil}
	leaf, there, other := 0, []string{}, []column{}
	for _, field := range schema.Fields() {
		if !field.Leaf() || field.Repeated() {
			leaf += leaves(field)
			continue
		}
		name, index := field.Name(), leaf
		leaf++
		there = append(there, name)
		number := isNumber(field.Type().Kind())
		which := slices.Index(names[:], name)
		if number != (which < 0 || isNumber(kinds[which].Type().Kind())) {
			continue
		}
		switch {
		case which == component:
			l.component = index
		case which == method:
			l.method = index
		case which == path:
			l.path = index
		case slices.Contains(responses, name):
			l.responses = append(l.responses, column{name, "s", index})
			if which == compute {
				l.compute = index
			}
		case which == overlap, which == offCore:
			if which == overlap {
				l.overlap = index
			}
			other = append(other, column{name, "s", index})
		case strings.HasPrefix(name, qualityPrefix), strings.HasPrefix(name, counterPrefix):
			other = append(other, column{name, "", index})
		case which < 0 && len(name) <= 128:
			l.parameters = append(l.parameters, column{name, "", index})
		}
	}
	if l.component < 0 || len(l.responses) == 0 {
		return l, fmt.Errorf("no columns %s and %s; there are %s", names[component], strings.Join(responses, ", "), strings.Join(there, ", "))
	}
	if len(choice.Responses) > 0 {
		l.responses = append(l.responses, other...)
	}
	keep := func(list []column, wanted []string, what string) ([]column, error) {
		for _, name := range wanted {
			if !slices.ContainsFunc(list, func(c column) bool { return c.name == name }) {
				return nil, fmt.Errorf("no %s %q; there are %s", what, name, strings.Join(columnNames(list), ", "))
			}
		}
		return slices.DeleteFunc(list, func(c column) bool { return len(wanted) > 0 && !slices.Contains(wanted, c.name) }), nil
	}
	var err error
	if l.responses, err = keep(l.responses, choice.Responses, "quantity"); err != nil {
		return l, err
	}
	l.parameters, err = keep(l.parameters, choice.Parameters, "parameter")
	return l, err
}

func columnNames(list []column) []string {
	var names []string
	for _, c := range list {
		names = append(names, c.name)
	}
	return names
}

func leaves(f parquet.Field) int {
	if f.Leaf() {
		return 1
	}
	n := 0
	for _, c := range f.Fields() {
		n += leaves(c)
	}
	return n
}

func isNumber(k parquet.Kind) bool {
	switch k {
	case parquet.Int32, parquet.Int64, parquet.Float, parquet.Double:
		return true
	}
	return false
}

type collector struct {
	layout
	choice series.Choice
	found  map[string]*series.Series
	list   []*series.Series
	hidden map[string]*hidden // by the names of series
	row    int
}

// hidden is communication that went on while a method computed, which a model of its times does not know.
type hidden struct {
	invocations, of  int
	overlap, compute float64
}

func (h *hidden) note() string {
	return fmt.Sprintf("%d of %d invocations computed while non-blocking operations were in flight (%.0f%% of the computation): "+
		"communication that they hid is in no time", h.invocations, h.of, 100*h.overlap/h.compute)
}

func (c *collector) group(group parquet.RowGroup, buffer []parquet.Row) error {
	rows := group.Rows()
	defer rows.Close()
	for {
		n, err := rows.ReadRows(buffer)
		for _, row := range buffer[:n] {
			if err := c.add(row); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if n == 0 {
			return io.ErrNoProgress
		}
	}
}

// add puts an invocation into the series of its method, one for each response.
func (c *collector) add(row parquet.Row) error {
	c.row++
	values := map[int]parquet.Value{}
	for _, v := range row {
		values[v.Column()] = v
	}
	name := text(values, c.component)
	if m := text(values, c.method); m != "" {
		name += "." + m
	}
	place := text(values, c.path)
	h := c.hidden[name]
	if h == nil {
		h = &hidden{}
		c.hidden[name] = h
	}
	h.of++
	if c.overlap >= 0 && c.compute >= 0 {
		if y := number(values[c.overlap]); y > 0 {
			h.invocations++
			h.overlap += y
		}
		h.compute += number(values[c.compute])
	}
	x := make([]float64, len(c.parameters))
	for i, p := range c.parameters {
		x[i] = number(values[p.index])
	}
	for _, r := range c.responses {
		key := name + "\x00" + r.name
		s := c.found[key]
		if s == nil {
			if len(c.list) >= series.MaxSeries {
				return fmt.Errorf("more than %d methods", series.MaxSeries)
			}
			s = &series.Series{Name: name, Response: r.name, Unit: r.unit}
			for _, p := range c.parameters {
				s.Parameters = append(s.Parameters, p.name)
			}
			c.found[key] = s
			c.list = append(c.list, s)
		}
		y := number(values[r.index])
		if math.IsNaN(y) || math.IsInf(y, 0) || y < 0 && !c.choice.Negative {
			s.LeaveOut("the "+r.what()+" is missing, negative or infinite", fmt.Sprintf("row %d", c.row))
			continue
		}
		s.X, s.Y, s.Place = append(s.X, x), append(s.Y, y), append(s.Place, place)
	}
	return nil
}

func text(values map[int]parquet.Value, index int) string {
	v, ok := values[index]
	if index < 0 || !ok || v.IsNull() {
		return ""
	}
	return v.String()
}

func number(v parquet.Value) float64 {
	if v.IsNull() {
		return math.NaN()
	}
	switch v.Kind() {
	case parquet.Int32:
		return float64(v.Int32())
	case parquet.Int64:
		return float64(v.Int64())
	case parquet.Float:
		return float64(v.Float())
	case parquet.Double:
		return v.Double()
	}
	return math.NaN()
}

// dropEmpty removes parameters that a method does not have, and then samples that lack one it has.
func dropEmpty(s *series.Series) {
	has := make([]bool, len(s.Parameters))
	for _, x := range s.X {
		for i, v := range x {
			has[i] = has[i] || !math.IsNaN(v)
		}
	}
	var names []string
	for i, name := range s.Parameters {
		if has[i] {
			names = append(names, name)
		}
	}
	s.Parameters = names
	x, y, place := s.X, s.Y, s.Place
	s.X, s.Y, s.Place = nil, nil, nil
	for row := range x {
		var kept []float64
		complete := true
		for i, v := range x[row] {
			if has[i] {
				kept = append(kept, v)
				complete = complete && !math.IsNaN(v) && !math.IsInf(v, 0)
			}
		}
		if !complete {
			s.LeaveOut("a parameter is missing", "")
			continue
		}
		s.X, s.Y, s.Place = append(s.X, kept), append(s.Y, y[row]), append(s.Place, place[row])
	}
}
