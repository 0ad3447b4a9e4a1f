package selection

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/integrate/quad"

	"marple/analysis/invocation"
	"marple/analysis/run"
	"marple/analysis/selection/graph"
	"marple/analysis/series"
)

// Record is a problem size that was met, as often as Calls says, by a component's method; by all that it is not
// known of otherwise, where Component or Name are empty.
type Record struct {
	Component, Name string
	graph.Size
}

// Sizes is what is known of the problem size.
type Sizes struct {
	Values  map[string]float64
	Ranges  []run.Range
	Records []Record
}

// ParseSize reads parameter=value or parameter=from..to into sizes.
func (s *Sizes) ParseSize(text string) error {
	parameter, value, ok := strings.Cut(text, "=")
	parameter = strings.TrimSpace(parameter)
	bad := fmt.Errorf("%q: expected parameter=value or parameter=from..to", text)
	if !ok || parameter == "" {
		return bad
	}
	from, to, isRange := strings.Cut(value, "..")
	a, err := strconv.ParseFloat(strings.TrimSpace(from), 64)
	if err != nil || !(a >= -most && a <= most) {
		return bad
	}
	if !isRange {
		if s.Values == nil {
			s.Values = map[string]float64{}
		}
		s.Values[parameter] = a
		return nil
	}
	b, err := strconv.ParseFloat(strings.TrimSpace(to), 64)
	if err != nil || !(b > a && b <= most) {
		return bad
	}
	s.Ranges = append(s.Ranges, run.Range{Parameter: parameter, From: a, To: b})
	return nil
}

// ReadRecords reads recorded problem sizes from a CSV file with a header. The columns component and name say
// whose they are, calls how often; each may be missing. All others are parameters. Errors say
// file:line:column.
func ReadRecords(path string) ([]Record, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return parseRecords(path, io.LimitReader(file, run.MaxSize))
}

func parseRecords(path string, in io.Reader) (list []Record, err error) {
	r := csv.NewReader(in)
	r.TrimLeadingSpace = true
	fail := func(column int, format string, arguments ...any) error {
		line, place := r.FieldPos(column)
		return fmt.Errorf("%s:%d:%d: %s", path, line, place, fmt.Sprintf(format, arguments...))
	}
	broken := func(err error) error {
		var syntax *csv.ParseError
		if errors.As(err, &syntax) {
			return fmt.Errorf("%s:%d:%d: %w", path, syntax.Line, syntax.Column, syntax.Err)
		}
		return fmt.Errorf("%s: %w", path, err)
	}
	header, err := r.Read()
	if err == io.EOF {
		return nil, fmt.Errorf("%s:1:1: expected a line with the names of the columns", path)
	}
	if err != nil {
		return nil, broken(err)
	}
	for i, name := range header {
		if name == "" || slices.Contains(header[:i], name) {
			return nil, fail(i, "column %q: expected a name that no other column has", name)
		}
	}
	for {
		row, err := r.Read()
		if err == io.EOF {
			return list, nil
		}
		if err != nil {
			return nil, broken(err)
		}
		one := Record{Size: graph.Size{Calls: 1, At: map[string]float64{}}}
		for i, text := range row {
			switch header[i] {
			case "component":
				one.Component = text
				continue
			case "name":
				one.Name = text
				continue
			}
			x, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
			switch {
			case err != nil || !(x >= -most && x <= most):
				return nil, fail(i, "%s: %q: expected a number", header[i], text)
			case header[i] != "calls":
				one.At[header[i]] = x
			case x < 0:
				return nil, fail(i, "calls: %q: expected 0 or more", text)
			default:
				one.Calls = x
			}
		}
		if one.Calls > 0 {
			list = append(list, one)
		}
	}
}

// Invocations reads what a run directory has kept of the invocations of its components, if anything.
func Invocations(directory string) ([]*series.Series, error) {
	path := filepath.Join(directory, run.InvocationsFile)
	if _, err := os.Stat(path); err != nil {
		return nil, nil
	}
	return invocation.Read(path, series.Choice{})
}

// Recorded are the problem sizes that were met.
func Recorded(list []*series.Series) (records []Record) {
	seen := map[string]bool{}
	for _, s := range list {
		if !seen[s.Name] && len(s.Parameters) > 0 { // there is a series for each response
			records = append(records, distinct(s)...)
		}
		seen[s.Name] = true
	}
	return records
}

// mostSizes bounds the different sizes of a method; of more, neighbours are counted together.
const mostSizes = 1 << 14

// distinct counts the different sizes of a series.
func distinct(s *series.Series) []Record {
	x := slices.Clone(s.X)
	slices.SortFunc(x, slices.Compare[[]float64])
	together := (len(x) + mostSizes - 1) / mostSizes
	var list []Record
	for i, at := range x {
		if last := len(list) - 1; last >= 0 && (slices.Equal(at, x[i-1]) || len(s.X) > mostSizes && i%together > 0) {
			list[last].Calls++
			continue
		}
		one := Record{Name: s.Name, Size: graph.Size{Calls: 1, At: map[string]float64{}}}
		for k, name := range s.Parameters {
			one.At[name] = at[k]
		}
		list = append(list, one)
	}
	return list
}

// scenario is a value for each parameter of which only the bounds are known, and how likely it is.
type scenario struct {
	values map[string]float64
	weight float64
}

// scenarios are so chosen that sums over them are integrals over the ranges: Gauss and Legendre's points, exact
// for polynomials up to twice their number.
func scenarios(ranges []run.Range) ([]scenario, error) {
	points := map[int]int{0: 1, 1: 64, 2: 16, 3: 8}[len(ranges)]
	if points == 0 {
		return nil, fmt.Errorf("%d parameters have a range; expected at most 3", len(ranges))
	}
	list := []scenario{{map[string]float64{}, 1}}
	x, w := make([]float64, points), make([]float64, points)
	for _, r := range ranges {
		quad.Legendre{}.FixedLocations(x, w, r.From, r.To)
		var next []scenario
		for _, s := range list {
			for i := range x {
				values := map[string]float64{r.Parameter: x[i]}
				for p, v := range s.values {
					values[p] = v
				}
				next = append(next, scenario{values, s.weight * w[i] / (r.To - r.From)})
			}
		}
		list = next
	}
	return list, nil
}

// sizing gives each node its problem sizes. What the command line says counts more than what was recorded, that
// more than what the file says of the family, that more than what it says of all.
type sizing struct {
	given, file Sizes
	run         map[string]float64 // parameters that were recorded of the whole run
}

func (s *sizing) ranges() []run.Range {
	list := slices.Clone(s.given.Ranges)
	for _, r := range s.file.Ranges {
		_, fixed := s.given.Values[r.Parameter]
		if _, recorded := s.run[r.Parameter]; !fixed && !recorded && !slices.ContainsFunc(list, func(g run.Range) bool { return g.Parameter == r.Parameter }) {
			list = append(list, r)
		}
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Parameter < list[j].Parameter })
	return list
}

// of are the sizes of a node's invocations in a scenario. Their calls add up to the node's.
func (s *sizing) of(component, name string, n *graph.Node, family *Sizes, sc scenario) []graph.Size {
	list := []graph.Size{{Calls: 1}}
	for _, known := range [][]graph.Size{
		matching(s.given.Records, component, name), n.Sizes, matching(family.Records, component, name), matching(s.file.Records, component, name),
	} {
		if len(known) > 0 {
			list = known
			break
		}
	}
	total := 0.0
	for _, size := range list {
		total += size.Calls
	}
	calls := n.Calls
	if calls == 0 && (len(list) > 1 || total > 1) {
		calls = total
	}
	out := make([]graph.Size, len(list))
	for i, size := range list {
		at := map[string]float64{}
		for _, values := range []map[string]float64{s.file.Values, family.Values, sc.values, s.run, size.At, s.given.Values} {
			for p, v := range values {
				at[p] = v
			}
		}
		for _, r := range s.given.Ranges {
			at[r.Parameter] = sc.values[r.Parameter]
		}
		out[i] = graph.Size{Calls: size.Calls / total * max(calls, 1), At: at}
	}
	return out
}

// matching are the records of a node: those that name it, else those of its component, else those of all.
func matching(records []Record, component, name string) []graph.Size {
	for _, fits := range []func(Record) bool{
		func(r Record) bool {
			return (r.Name == name || r.Name == ofClass(name)) && (r.Component == component || r.Component == "")
		},
		func(r Record) bool { return r.Name == "" && r.Component == component },
		func(r Record) bool { return r.Name == "" && r.Component == "" },
	} {
		var list []graph.Size
		for _, r := range records {
			if fits(r) {
				list = append(list, r.Size)
			}
		}
		if len(list) > 0 {
			return list
		}
	}
	return nil
}

// ofClass is the method's name without the instance: class[instance].method is class.method.
func ofClass(name string) string {
	from, to := strings.IndexByte(name, '['), strings.LastIndexByte(name, ']')
	if from < 0 || to < from {
		return name
	}
	return name[:from] + name[to+1:]
}
