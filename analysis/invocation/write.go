package invocation

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"

	"marple/analysis/files"
	"marple/analysis/record"
	"marple/analysis/run"
)

// MaxValues bounds how many different parameters, qualities and counters a file has columns for.
const MaxValues = 1024

// rowsTogether are held in memory until they are written.
const rowsTogether = 1 << 16

// Write writes invocations.parquet into a run directory, if there are any invocations, and returns how many there
// are in it. The error tells what is missing from it; it is written all the same, or not at all if rows is 0.
func Write(directory files.Directory, sources []*Source) (rows uint64, err error) {
	slices.SortFunc(sources, func(a, b *Source) int { return cmp.Compare(a.Rank, b.Rank) })
	t, problems := survey(sources)
	if t.rows == 0 {
		return 0, problems
	}
	err = directory.File(run.InvocationsFile).Replace(func(w io.Writer) error {
		buffer := bufio.NewWriterSize(w, 1<<16)
		return errors.Join(t.write(buffer, sources), buffer.Flush())
	})
	if err != nil {
		return 0, errors.Join(problems, err)
	}
	return t.rows, problems
}

// table is what the file will hold.
type table struct {
	rows   uint64
	values map[string]*value // by name of the column
	names  []string          // of these columns, in their order

	out    *parquet.GenericWriter[any]
	buffer []parquet.Row
}

type value struct {
	real  bool // some of its values is
	index int  // of the column
}

// survey finds which values there are. A log that is damaged counts up to there.
func survey(sources []*Source) (*table, error) {
	t := &table{values: map[string]*value{}}
	var problems error
	left := 0
	for _, s := range sources {
		s.values = map[uint64]*value{}
		for _, thread := range s.Threads {
			err := s.Each(thread, func(i *record.Invocation) error {
				t.rows++
				for _, v := range i.Values {
					if column := t.value(s, v); column != nil {
						column.real = column.real || v.Real
					} else {
						left++
					}
				}
				return nil
			})
			if err != nil {
				problems = errors.Join(problems, fmt.Errorf("rank %d, thread %d: %w", s.Rank, thread.Index, err))
			}
		}
	}
	if left > 0 {
		problems = errors.Join(problems, fmt.Errorf("%d values left out: there are columns for %d different parameters", left, MaxValues))
	}
	t.names = slices.Sorted(maps.Keys(t.values))
	for i, name := range t.names {
		t.values[name].index = fixed + i
	}
	return t, problems
}

// value finds, or makes, a value's column.
func (t *table) value(s *Source, v record.Value) *value {
	key := uint64(v.Name) << 2
	switch {
	case v.Quality:
		key |= 1
	case v.Counter:
		key |= 2
	}
	if column, ok := s.values[key]; ok {
		return column
	}
	name := s.text(v.Name)
	switch {
	case v.Quality:
		name = qualityPrefix + name
	case v.Counter:
		if name = counterPrefix; int(v.Name) < len(s.Counters) {
			name += s.Counters[v.Name]
		}
	case name == "", slices.Contains(names[:], name), strings.HasPrefix(name, qualityPrefix), strings.HasPrefix(name, counterPrefix):
		name = parameterPrefix + name
	}
	if t.values[name] == nil && len(t.values) < MaxValues {
		t.values[name] = &value{}
	}
	s.values[key] = t.values[name]
	return s.values[key]
}

// ordered is a group whose fields have an order.
type ordered struct {
	parquet.Group
	fields []parquet.Field
}

func (o ordered) Fields() []parquet.Field { return o.fields }
func (o ordered) GoType() reflect.Type    { return reflect.TypeFor[struct{}]() } // rows are no structures

func (t *table) schema() *parquet.Schema {
	group, order := parquet.Group{}, map[string]int{}
	for i, name := range names {
		group[name], order[name] = kinds[i], i
	}
	for name, v := range t.values {
		kind := integral
		if v.real {
			kind = real
		}
		group[name], order[name] = parquet.Optional(kind), v.index
	}
	fields := group.Fields()
	slices.SortFunc(fields, func(a, b parquet.Field) int { return cmp.Compare(order[a.Name()], order[b.Name()]) })
	return parquet.NewSchema("invocations", ordered{group, fields})
}

func (t *table) write(out io.Writer, sources []*Source) error {
	t.out = parquet.NewGenericWriter[any](out, t.schema(), parquet.Compression(&parquet.Snappy), parquet.MaxRowsPerRowGroup(rowsTogether))
	t.buffer = make([]parquet.Row, 0, 256)
	for _, s := range sources {
		for _, thread := range s.Threads {
			var full error
			var ended nesting
			_ = s.Each(thread, func(i *record.Invocation) error { // what is damaged was told by the survey
				full = t.add(s, thread.Index, i, &ended)
				return full
			})
			if full != nil {
				return full
			}
		}
	}
	return errors.Join(t.flush(), t.out.Close())
}

// nesting is the wall time of a thread's invocations that have ended and whose callers have not, by the number of
// methods on their paths. Callers end last.
type nesting []uint64

// exclusive is what an invocation took without those inside it.
func (n *nesting) exclusive(depth int, wall uint64) uint64 {
	for len(*n) <= depth {
		*n = append(*n, 0)
	}
	inside := uint64(0)
	for _, below := range (*n)[depth+1:] {
		inside += below
	}
	clear((*n)[depth+1:])
	(*n)[depth] += wall
	return wall - min(wall, inside)
}

// add writes an invocation, as soon as there are some.
func (t *table) add(s *Source, index int, i *record.Invocation, ended *nesting) error {
	if len(t.buffer) == cap(t.buffer) {
		if err := t.flush(); err != nil {
			return err
		}
	}
	at := len(t.buffer)
	t.buffer = t.buffer[:at+1]
	row := t.buffer[at]
	if row == nil {
		row = make(parquet.Row, fixed+len(t.names))
		t.buffer[at] = row
	}
	p := s.path(i.Path)
	duration := func(ticks uint64) parquet.Value { return parquet.DoubleValue(seconds(s, ticks)) }
	row[component], row[method], row[instance], row[path] = p.component, p.method, p.instance, p.whole
	row[rank], row[thread] = parquet.Int32Value(s.Rank), parquet.Int32Value(int32(index))
	row[start] = parquet.DoubleValue(since(s, i))
	row[wall], row[mpi], row[compute], row[overlap] = duration(i.Wall), duration(i.MPI), duration(i.Wall-min(i.Wall, i.MPI)), duration(i.Overlap)
	row[offCore] = duration(i.OffCore)
	row[exclusive] = duration(ended.exclusive(p.depth, i.Wall))
	for k := fixed; k < len(row); k++ {
		row[k] = parquet.NullValue()
	}
	for _, v := range i.Values {
		switch column := t.value(s, v); {
		case column == nil:
		case column.real:
			row[column.index] = parquet.DoubleValue(v.Float())
		default:
			row[column.index] = parquet.Int64Value(int64(v.Bits))
		}
	}
	for k := range row {
		definition := 0
		if k >= fixed && !row[k].IsNull() {
			definition = 1
		}
		row[k] = row[k].Level(0, definition, k)
	}
	return nil
}

func (t *table) flush() error {
	_, err := t.out.WriteRows(t.buffer)
	t.buffer = t.buffer[:0]
	return err
}
