package series

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxCSV is how much of a CSV file is read.
const MaxCSV = 1 << 30

// ReadCSV reads a table: a header line, then one measurement per line, columns separated by commas (or
// semicolons, or tabs, if the header has no comma). Lines that begin with # are comments. The response is the
// last column unless the choice names others; all other columns of numbers are parameters unless it names
// them; columns of text are labels. Errors say file:line:column, what stands there and what was expected.
// Values that are missing or not finite ("", NA, NaN, inf) leave their line out, which the series says.
func ReadCSV(path string, choice Choice) ([]*Series, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	list, err := readCSV(io.LimitReader(file, MaxCSV+1), choice)
	var at *csvError
	if errors.As(err, &at) {
		return nil, fmt.Errorf("%s:%w", path, err)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return list, nil
}

// csvError has its place in the file.
type csvError struct {
	line, column int
	message      string
}

func (e *csvError) Error() string {
	if e.column == 0 {
		return fmt.Sprintf("%d: %s", e.line, e.message)
	}
	return fmt.Sprintf("%d:%d: %s", e.line, e.column, e.message)
}

// table is a CSV file as columns.
type table struct {
	names   []string
	text    []bool      // columns of labels
	numbers [][]float64 // by column, of those that are no labels
	labels  [][]string  // by column, of those that are
	lines   []int
}

func readCSV(r io.Reader, choice Choice) ([]*Series, error) {
	t, err := readTable(r)
	if err != nil {
		return nil, err
	}
	return t.series(choice)
}

func readTable(r io.Reader) (*table, error) {
	b := bufio.NewReader(r)
	if mark, _ := b.Peek(3); string(mark) == "\xef\xbb\xbf" {
		b.Discard(3)
	}
	head, _ := b.Peek(4096)
	c := csv.NewReader(b)
	c.Comment, c.ReuseRecord, c.TrimLeadingSpace, c.FieldsPerRecord = '#', true, true, -1
	c.Comma = separator(string(head))
	header, err := c.Read()
	if errors.Is(err, io.EOF) {
		return nil, &csvError{1, 0, "empty: expected a header line with the names of the columns"}
	}
	if err != nil {
		return nil, parseError(err)
	}
	if len(header) > MaxColumns {
		return nil, &csvError{1, 0, fmt.Sprintf("%d columns: at most %d can be read", len(header), MaxColumns)}
	}
	t := &table{}
	if err := t.header(c, header); err != nil {
		return nil, err
	}
	for {
		record, err := c.Read()
		if errors.Is(err, io.EOF) {
			return t, t.check()
		}
		if err != nil {
			return nil, parseError(err)
		}
		if err := t.row(c, record); err != nil {
			return nil, err
		}
	}
}

// header takes the names of columns.
func (t *table) header(c *csv.Reader, header []string) error {
	for i, name := range header {
		name = strings.TrimSpace(name)
		line, column := c.FieldPos(i)
		switch {
		case name == "" || !utf8.ValidString(name) || strings.ContainsAny(name, "`\x00\n") || len(name) > 128:
			return &csvError{line, column, fmt.Sprintf("%.40q cannot be the name of a column: expected up to 128 bytes of text", name)}
		case slices.Contains(t.names, name):
			return &csvError{line, column, fmt.Sprintf("two columns are called %q", name)}
		}
		if _, err := strconv.ParseFloat(name, 64); err == nil {
			return &csvError{line, column, fmt.Sprintf("%q: expected a header line with the names of the columns, found numbers", name)}
		}
		t.names = append(t.names, name)
	}
	n := len(t.names)
	if n < 2 {
		line, _ := c.FieldPos(0)
		return &csvError{line, 0, "one column: expected at least one parameter and a response"}
	}
	t.text, t.numbers, t.labels = make([]bool, n), make([][]float64, n), make([][]string, n)
	return nil
}

// row takes a line of values; the first one says which columns are text.
func (t *table) row(c *csv.Reader, record []string) error {
	line, _ := c.FieldPos(0)
	if len(record) != len(t.names) {
		return &csvError{line, 0, fmt.Sprintf("%d fields: expected %d, as in the header", len(record), len(t.names))}
	}
	if len(t.lines) >= MaxSamples {
		return &csvError{line, 0, fmt.Sprintf("more than %d lines", MaxSamples)}
	}
	t.lines = append(t.lines, line)
	for i, field := range record {
		field = strings.TrimSpace(field)
		v, ok := parseNumber(field)
		if len(t.lines) == 1 {
			t.text[i] = !ok
		}
		if t.text[i] {
			t.labels[i] = append(t.labels[i], strings.Clone(field))
			continue
		}
		if !ok {
			line, column := c.FieldPos(i)
			return &csvError{line, column, fmt.Sprintf("%s: %.40q: expected a number", t.names[i], field)}
		}
		t.numbers[i] = append(t.numbers[i], v)
	}
	return nil
}

// check refuses columns that would be labels only because of a slip in the first line.
func (t *table) check() error {
	if len(t.lines) == 0 {
		return errors.New("no measurements below the header line")
	}
	for i, labels := range t.labels {
		numbers, slip := 0, -1
		for row, text := range labels {
			if _, ok := parseNumber(text); ok {
				numbers++
			} else if slip < 0 {
				slip = row
			}
		}
		if numbers > len(labels)/2 {
			return &csvError{t.lines[slip], 0, fmt.Sprintf("%s: %.40q: expected a number, as in most lines", t.names[i], labels[slip])}
		}
	}
	return nil
}

// separator guesses from the first line that is no comment.
func separator(head string) rune {
	for line := range strings.Lines(head) {
		if strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "" {
			continue
		}
		for _, s := range []rune{',', ';', '\t'} {
			if strings.ContainsRune(line, s) {
				return s
			}
		}
		break
	}
	return ','
}

func parseError(err error) error {
	var at *csv.ParseError
	if errors.As(err, &at) {
		return &csvError{at.Line, at.Column, at.Err.Error()}
	}
	return err
}

// parseNumber reads a number; missing ones are NaN.
func parseNumber(field string) (float64, bool) {
	switch strings.ToLower(field) {
	case "", "na", "n/a", "null", "none", "-":
		return math.NaN(), true
	}
	v, err := strconv.ParseFloat(field, 64)
	if errors.Is(err, strconv.ErrRange) {
		return math.Inf(1), true
	}
	return v, err == nil && !strings.ContainsAny(field, "_xXpP")
}

// roles are what columns of a table are, by index. Labels are what is neither.
type roles struct {
	responses, parameters, by, labels []int
	notes                             []string
}

// columns looks for those of these names.
func (t *table) columns(what string, names []string) (list []int, err error) {
	for _, name := range names {
		i := slices.Index(t.names, name)
		if i < 0 {
			return nil, unknown(what, name, t.names)
		}
		list = append(list, i)
	}
	return list, nil
}

// roles of columns, by choice. Without one the last column is the response, and the other ones with numbers are parameters.
func (t *table) roles(choice Choice) (r roles, err error) {
	if r.responses, err = t.columns("column", choice.Responses); err != nil {
		return r, err
	}
	if len(r.responses) == 0 {
		r.responses = []int{len(t.names) - 1}
	}
	for _, i := range r.responses {
		if t.text[i] {
			return r, &csvError{t.lines[0], 0, fmt.Sprintf("the response %q is no column of numbers: it begins with %.40q", t.names[i], t.labels[i][0])}
		}
	}
	if r.by, err = t.columns("column", choice.By); err != nil {
		return r, err
	}
	if r.parameters, err = t.columns("parameter", choice.Parameters); err != nil {
		return r, err
	}
	for _, i := range r.parameters {
		if t.text[i] {
			return r, fmt.Errorf("the parameter %q is no column of numbers", t.names[i])
		}
		if slices.Contains(r.responses, i) {
			return r, fmt.Errorf("%q cannot be both parameter and response", t.names[i])
		}
	}
	t.rest(&r, len(choice.Parameters) == 0)
	if len(r.parameters) == 0 {
		return r, errors.New("no parameter: expected a column of numbers beside the response")
	}
	return r, nil
}

// rest gives columns that were not chosen their roles: numbers are parameters where none were chosen.
func (t *table) rest(r *roles, parameters bool) {
	for i, name := range t.names {
		switch {
		case slices.Contains(r.responses, i) || slices.Contains(r.by, i) || slices.Contains(r.parameters, i):
		case t.text[i]:
			r.labels = append(r.labels, i)
		case repetition(name):
			if parameters {
				r.notes = append(r.notes, fmt.Sprintf("column %q is taken to number repeated measurements; name it with --param if it is a parameter", name))
			}
		case parameters:
			r.parameters = append(r.parameters, i)
		default:
			r.labels = append(r.labels, i)
		}
	}
}

// series makes series of a table.
func (t *table) series(choice Choice) ([]*Series, error) {
	r, err := t.roles(choice)
	if err != nil {
		return nil, err
	}
	var list []*Series
	found := map[string]*Series{}
	for row := range t.lines {
		var name []string
		for _, i := range r.by {
			name = append(name, t.label(i, row))
		}
		for _, response := range r.responses {
			key := strings.Join(name, "\x00") + "\x00" + t.names[response]
			s := found[key]
			if s == nil {
				if len(list) >= MaxSeries {
					return nil, fmt.Errorf("more than %d different values of %s", MaxSeries, strings.Join(choice.By, ", "))
				}
				s = &Series{Name: strings.Join(name, " "), Response: t.names[response], Labels: map[string][]string{}, Notes: r.notes}
				for _, i := range r.parameters {
					s.Parameters = append(s.Parameters, t.names[i])
				}
				found[key] = s
				list = append(list, s)
			}
			x := make([]float64, len(r.parameters))
			for k, i := range r.parameters {
				x[k] = t.numbers[i][row]
			}
			y := t.numbers[response][row]
			if why := usable(x, s.Parameters, y, choice.Negative); why != "" {
				s.LeaveOut(why, fmt.Sprintf("line %d", t.lines[row]))
				continue
			}
			s.X, s.Y = append(s.X, x), append(s.Y, y)
			for _, i := range r.labels {
				s.Labels[t.names[i]] = append(s.Labels[t.names[i]], t.label(i, row))
			}
		}
	}
	return list, nil
}

func (t *table) label(column, row int) string {
	if t.text[column] {
		return t.labels[column][row]
	}
	return strconv.FormatFloat(t.numbers[column][row], 'g', -1, 64)
}
