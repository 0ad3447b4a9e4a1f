package export

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-json"

	"marple/analysis/run"
	"marple/analysis/series"
)

// experiment is what Extra-P models: seconds per rank, of call paths at points, several runs of which may have the
// same parameters.
type experiment struct {
	parameters []string
	points     [][]float64
	runs       [][]*run.Run                      // of each point
	paths      []string                          // of any run, the outer ones first
	figures    []map[*run.Run]map[string]float64 // of each metric
}

// metrics of an experiment, in Extra-P's words.
var metrics = []string{"time", "visits"}

func newExperiment(runs []*run.Run) (*experiment, error) {
	e := &experiment{figures: []map[*run.Run]map[string]float64{{}, {}}}
	var err error
	if e.parameters, err = series.Parameters(runs, nil); err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, r := range runs {
		point := make([]float64, len(e.parameters))
		for i, name := range e.parameters {
			point[i], _ = series.Parameter(r, name)
		}
		at := slices.IndexFunc(e.points, func(p []float64) bool { return slices.Equal(p, point) })
		if at < 0 {
			at = len(e.points)
			e.points, e.runs = append(e.points, point), append(e.runs, nil)
		}
		e.runs[at] = append(e.runs[at], r)
		roots, err := frames(r)
		if err != nil {
			return nil, err
		}
		time, visits := map[string]float64{}, map[string]float64{}
		e.figures[0][r], e.figures[1][r] = time, visits
		ranks := float64(max(r.Measured, 1))
		all := totals(roots)
		// Roots are named after the program, which may differ between runs.
		for i, root := range roots {
			name := []string{"main program", "other threads"}[min(i, 1)]
			walk([]*frame{root}, func(f *frame) {
				path := f.path(func(x *frame) string {
					if x.parent == nil {
						return name
					}
					return strings.ReplaceAll(x.label(), "->", `-\x3e`)
				}, "->")
				v := all[f.index]
				time[path] += seconds(v.inclusive) / ranks
				visits[path] += float64(v.calls) / ranks
				if !seen[path] {
					seen[path] = true
					e.paths = append(e.paths, path)
				}
			})
		}
	}
	order := make([]int, len(e.points))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return slices.Compare(e.points[a], e.points[b]) })
	sorted := *e
	sorted.points, sorted.runs = nil, nil
	for _, i := range order {
		sorted.points, sorted.runs = append(sorted.points, e.points[i]), append(sorted.runs, e.runs[i])
	}
	slices.SortStableFunc(sorted.paths, func(a, b string) int { return cmp.Compare(strings.Count(a, "->"), strings.Count(b, "->")) })
	return &sorted, nil
}

// values of a metric on a path at a point; nil if no run had it there.
func (e *experiment) values(metric int, path string, point int) (list []float64) {
	found := false
	for _, r := range e.runs[point] {
		x, ok := e.figures[metric][r][path]
		list, found = append(list, x), found || ok
	}
	if !found {
		return nil
	}
	return list
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// word is a name of a parameter as the text format can have it.
func word(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			return r
		}
		return '_'
	}, s)
}

// ExtraPText writes Extra-P's text format. A call path that a run did not have took no time there. What the times of each run are is
// a comment.
func ExtraPText(w io.Writer, runs []*run.Run) error {
	e, err := newExperiment(runs)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	for _, r := range runs {
		fmt.Fprintf(out, "# %s\n", plain(r.TimeBase()))
	}
	for _, p := range e.parameters {
		fmt.Fprintf(out, "PARAMETER %s\n", word(p))
	}
	out.WriteString("POINTS")
	for _, point := range e.points {
		var list []string
		for _, x := range point {
			list = append(list, number(x))
		}
		fmt.Fprintf(out, " (%s)", strings.Join(list, " "))
	}
	out.WriteByte('\n')
	for m, metric := range metrics {
		for _, path := range e.paths {
			if m > 0 && !e.any(m, path) {
				continue // functions whose calls are not counted
			}
			fmt.Fprintf(out, "\nMETRIC %s\nREGION %s\n", metric, path)
			for i := range e.points {
				list := e.values(m, path, i)
				if list == nil {
					list = make([]float64, len(e.runs[i]))
				}
				out.WriteString("DATA")
				for _, x := range list {
					out.WriteString(" " + number(x))
				}
				out.WriteByte('\n')
			}
		}
	}
	return out.Flush()
}

func (e *experiment) all(metric int, path string) bool {
	for i := range e.points {
		if list := e.values(metric, path, i); list == nil || slices.Contains(list, 0) {
			return false
		}
	}
	return true
}

func (e *experiment) any(metric int, path string) bool {
	for i := range e.points {
		if slices.ContainsFunc(e.values(metric, path, i), func(x float64) bool { return x != 0 }) {
			return true
		}
	}
	return false
}

// ExtraPLines writes Extra-P's JSON lines, one per call path, metric and point. Extra-P wants as many points of each path: one
// that a run did not have took no time there; visits are those of paths that are counted at all points. What the times are stands in
// the first line of each point, under a name that Extra-P passes over.
func ExtraPLines(w io.Writer, runs []*run.Run) error {
	e, err := newExperiment(runs)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for m := range metrics {
		for _, path := range e.paths {
			if m > 0 && !e.all(m, path) {
				continue
			}
			for i := range e.points {
				if err := encoder.Encode(e.line(m, path, i)); err != nil {
					return err
				}
			}
		}
	}
	return out.Flush()
}

// extraPLine is the measurements of a call path at a point.
type extraPLine struct {
	Parameters map[string]float64 `json:"params"`
	Path       string             `json:"callpath"`
	Metric     string             `json:"metric"`
	Value      []float64          `json:"value"`
	TimeBase   []string           `json:"time_base,omitempty"` // in the first line of a point
}

func (e *experiment) line(metric int, path string, point int) extraPLine {
	l := extraPLine{map[string]float64{}, path, metrics[metric], e.values(metric, path, point), nil}
	if l.Value == nil {
		l.Value = make([]float64, len(e.runs[point]))
	}
	for j, name := range e.parameters {
		l.Parameters[word(name)] = e.points[point][j]
	}
	if metric == 0 && path == e.paths[0] {
		for _, r := range e.runs[point] {
			l.TimeBase = append(l.TimeBase, r.TimeBase())
		}
	}
	return l
}
