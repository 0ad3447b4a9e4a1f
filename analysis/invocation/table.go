package invocation

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"

	"marple/analysis/files"
)

// Question is what a Table shows of a method's invocations.
type Question struct {
	Method  string // component.method
	Value   string // a column with numbers: times, qualities, counters
	Rows    string // a parameter
	Columns string // another one, or empty
	After   string // component.method: columns are before and after the end of one of its invocations on the same rank
	Number  int    // which one it is, from 1 on; 0: the last one
}

// Table is statistics of invocations, by their parameters.
type Table struct {
	Method  string   `json:"method"`
	Value   string   `json:"value"`
	Unit    string   `json:"unit"` // s or empty
	By      string   `json:"by"`
	Columns []string `json:"columns"` // what they are; one without a name if there is no other parameter
	Rows    []Row    `json:"rows"`
	LeftOut int      `json:"left_out"` // invocations that lack the value or a parameter
}

// Row has a cell for each column.
type Row struct {
	At    float64 `json:"at"`
	Cells []Cell  `json:"cells"`
}

// Cell is invocations with the same parameters; nothing but N of none.
type Cell struct {
	N         int     `json:"n"`
	Mean      float64 `json:"mean"`
	Deviation float64 `json:"deviation"` // standard deviation from one invocation to the next
	Min       float64 `json:"min"`
	Max       float64 `json:"max"`
	squares   float64 // of differences from the mean
}

func (c *Cell) add(x float64) {
	if c.N == 0 {
		c.Min, c.Max = x, x
	}
	c.N++
	c.Min, c.Max = min(c.Min, x), max(c.Max, x)
	d := x - c.Mean
	c.Mean += d / float64(c.N)
	c.squares += d * (x - c.Mean)
	c.Deviation = math.Sqrt(c.squares / float64(max(1, c.N-1)))
}

// Most rows and columns of a Table: of more it would be none.
const (
	MaxRows    = 10000
	MaxColumns = 8
)

// Tabulate answers a question from a file of invocations. The error says what there is instead of what was asked for.
func Tabulate(file string, q Question) (t *Table, err error) {
	f, err := files.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	defer func() { // see readFile
		if problem := recover(); problem != nil {
			t, err = nil, fmt.Errorf("%s: damaged: %v", file, problem)
		}
	}()
	if t, err = tabulate(f, info.Size(), q); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return t, nil
}

func tabulate(r io.ReaderAt, size int64, q Question) (*Table, error) {
	file, err := parquet.OpenFile(r, size)
	if err != nil {
		return nil, fmt.Errorf("not a Parquet file: %w", err)
	}
	x := tabulation{file: file, leaf: map[string]int{}, methods: map[string]bool{}, q: q}
	if err := x.check(); err != nil {
		return nil, err
	}
	t := &Table{Method: q.Method, Value: q.Value, By: q.Rows, Columns: []string{""}}
	if slices.Contains(append(slices.Clone(responses), names[overlap], names[offCore]), q.Value) {
		t.Unit = "s"
	}
	column := func(get numbered) float64 { return 0 }
	columns := []float64{0}
	switch {
	case q.Columns != "":
		column = func(get numbered) float64 { return get(q.Columns) }
	case q.After != "":
		moments, err := x.moments()
		if err != nil {
			return nil, err
		}
		column = func(get numbered) float64 {
			if moment, known := moments[get(names[rank])]; !known || get(names[start]) < moment {
				return 0
			}
			return 1
		}
		t.Columns, columns = []string{"before", "after"}, []float64{0, 1}
	}
	found, leftOut, err := x.cells(column)
	if err != nil {
		return nil, err
	}
	if t.LeftOut = leftOut; q.Columns != "" {
		columns, t.Columns = columnsOf(found), nil
		for _, x := range columns {
			t.Columns = append(t.Columns, fmt.Sprintf("%s %.6g", q.Columns, x))
		}
	}
	if len(found) > MaxRows || len(columns) > MaxColumns {
		return nil, fmt.Errorf("%d values of %s and %d columns: at most %d and %d make a table", len(found), q.Rows, len(columns), MaxRows, MaxColumns)
	}
	for row, cells := range found {
		r := Row{At: row}
		for _, column := range columns {
			c := cells[column]
			if c == nil {
				c = &Cell{}
			}
			r.Cells = append(r.Cells, *c)
		}
		t.Rows = append(t.Rows, r)
	}
	slices.SortFunc(t.Rows, func(a, b Row) int { return cmp.Compare(a.At, b.At) })
	return t, nil
}

// numbered is a number of an invocation, by the name of its column.
type numbered func(column string) float64

// tabulation is a question on its way to the answer.
type tabulation struct {
	file    *parquet.File
	leaf    map[string]int  // columns by name
	methods map[string]bool // that were met
	q       Question
}

// check says what of the question is not in the file.
func (x *tabulation) check() error {
	var numbers []string
	for i, field := range x.file.Schema().Fields() {
		if !field.Leaf() {
			return fmt.Errorf("column %s is no plain one: not written by Marple", field.Name())
		}
		x.leaf[field.Name()] = i
		if isNumber(field.Type().Kind()) {
			numbers = append(numbers, field.Name())
		}
	}
	for _, name := range []string{names[component], names[method]} {
		if _, there := x.leaf[name]; !there {
			return fmt.Errorf("no column %s", name)
		}
	}
	wanted := []string{x.q.Value, x.q.Rows}
	if x.q.Columns != "" {
		wanted = append(wanted, x.q.Columns)
	}
	if x.q.After != "" {
		wanted = append(wanted, names[rank], names[start], names[wall])
	}
	for _, name := range wanted {
		if !slices.Contains(numbers, name) {
			return fmt.Errorf("no numbers %q; there are %s", name, strings.Join(numbers, ", "))
		}
	}
	return nil
}

// each visits the invocations of a method; the error says that there are none, too.
func (x *tabulation) each(of string, use func(numbered)) error {
	any := false
	err := rowsOf(x.file, func(values map[int]parquet.Value) {
		name := text(values, x.leaf[names[component]]) + "." + text(values, x.leaf[names[method]])
		x.methods[name] = true
		if name == of {
			any = true
			use(func(column string) float64 { return number(values[x.leaf[column]]) })
		}
	})
	if err == nil && !any {
		return fmt.Errorf("no invocation of %s; there are those of %s", of, strings.Join(slices.Sorted(maps.Keys(x.methods)), ", "))
	}
	return err
}

// moments are when the invocation ends on each rank that divides before from after.
func (x *tabulation) moments() (map[float64]float64, error) {
	ends := map[float64][]float64{}
	if err := x.each(x.q.After, func(get numbered) {
		ends[get(names[rank])] = append(ends[get(names[rank])], get(names[start])+get(names[wall]))
	}); err != nil {
		return nil, err
	}
	moments := map[float64]float64{}
	for rank, list := range ends {
		slices.Sort(list)
		at := len(list) - 1
		if x.q.Number > 0 {
			at = x.q.Number - 1
		}
		if at >= len(list) {
			return nil, fmt.Errorf("%s was invoked %d times on rank %.0f, not %d", x.q.After, len(list), rank, x.q.Number)
		}
		moments[rank] = list[at]
	}
	return moments, nil
}

// cells are the values by row and column, and how many invocations had none.
func (x *tabulation) cells(column func(numbered) float64) (found map[float64]map[float64]*Cell, leftOut int, err error) {
	found = map[float64]map[float64]*Cell{}
	err = x.each(x.q.Method, func(get numbered) {
		row, column, value := get(x.q.Rows), column(get), get(x.q.Value)
		if math.IsNaN(row+column+value) || math.IsInf(value, 0) {
			leftOut++
			return
		}
		if found[row] == nil {
			found[row] = map[float64]*Cell{}
		}
		if found[row][column] == nil {
			found[row][column] = &Cell{}
		}
		found[row][column].add(value)
	})
	return found, leftOut, err
}

func columnsOf(found map[float64]map[float64]*Cell) []float64 {
	columns := map[float64]bool{}
	for _, cells := range found {
		for x := range cells {
			columns[x] = true
		}
	}
	return slices.Sorted(maps.Keys(columns))
}

func rowsOf(file *parquet.File, use func(values map[int]parquet.Value)) error {
	buffer := make([]parquet.Row, 256)
	for _, group := range file.RowGroups() {
		rows := group.Rows()
		for {
			n, err := rows.ReadRows(buffer)
			for _, row := range buffer[:n] {
				values := map[int]parquet.Value{}
				for _, v := range row {
					values[v.Column()] = v
				}
				use(values)
			}
			if errors.Is(err, io.EOF) {
				break
			}
			if err == nil && n == 0 {
				err = io.ErrNoProgress
			}
			if err != nil {
				return errors.Join(err, rows.Close())
			}
		}
		if err := rows.Close(); err != nil {
			return err
		}
	}
	return nil
}
