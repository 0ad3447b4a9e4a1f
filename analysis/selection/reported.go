package selection

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"marple/analysis/invocation"
	"marple/analysis/run"
	"marple/analysis/series"
)

// reported is a quality that an implementation's invocations have reported through the hooks of marple.h.
type reported struct {
	implementation *Implementation
	quality        string
	at             place
	run            string // directory; empty: the one whose call graph is looked at
	component      string // empty: any that may be the implementation
	result         *run.MeasuredQuality
}

// report reads "measured" or {run, component} in the place of a quality's number, if that stands there.
func (p *Plan) report(i *Implementation, quality string, value ast.Node) (bool, error) {
	r := &reported{implementation: i, quality: quality, at: at(value)}
	what := i.String() + ": " + quality
	if _, ok := mapping(value); ok {
		if err := p.file.object(value, what, []field{{"run", p.file.text(what+": run", &r.run)},
			{"component", p.file.text(what+": component", &r.component)}}); err != nil {
			return true, err
		}
		if r.run != "" && !filepath.IsAbs(r.run) {
			r.run = filepath.Join(filepath.Dir(p.file.path), r.run)
		}
	} else if s, _ := scalar(value); s != "measured" {
		return false, nil
	}
	p.reported = append(p.reported, r)
	return true, nil
}

// Measure looks up the qualities that are to be taken from records: those of the run in this directory, if there is one,
// where the file names no other.
func (p *Plan) Measure(directory string) error {
	known := map[[2]string][]*series.Series{} // by directory and quality
	taken := map[[3]string]*Implementation{}  // by directory, quality and component
	for _, r := range p.reported {
		from := r.run
		if from == "" {
			from = directory
		}
		if from == "" {
			return p.fail(r, "expected the run that has its records, as {run: DIRECTORY}")
		}
		path := filepath.Join(from, run.InvocationsFile)
		if _, err := os.Stat(path); err != nil {
			return p.fail(r, "%s has no records of invocations: name a run that has, as {run: DIRECTORY}", from)
		}
		key := [2]string{from, r.quality}
		if _, done := known[key]; !done {
			list, err := invocation.Quality(path, r.quality)
			if err != nil {
				return p.fail(r, "%v", err)
			}
			known[key] = list
		}
		components, err := p.measure(r, known[key])
		if err != nil {
			return err
		}
		for _, component := range components {
			key := [3]string{from, r.quality, component}
			if other := taken[key]; other != nil && other != r.implementation {
				return p.fail(r, "the records of %s count for %s; say with class, or {run: DIRECTORY, component: NAME}, which ones are whose", component, other)
			}
			taken[key] = r.implementation
		}
	}
	return p.checkQualities()
}

func (p *Plan) fail(r *reported, format string, arguments ...any) error {
	return p.file.fail(r.at, "%s: %s: %s", r.implementation, r.quality, fmt.Sprintf(format, arguments...))
}

// measure tells what components' records it has used.
func (p *Plan) measure(r *reported, list []*series.Series) (components []string, err error) {
	var all []float64
	var others []string
	for _, s := range list {
		component, _, _ := strings.Cut(s.Name, ".")
		if r.is(component) {
			all, components = append(all, s.Y...), append(components, component)
		} else if !slices.Contains(others, component) {
			others = append(others, component)
		}
	}
	if len(all) == 0 {
		if len(others) == 0 {
			others = []string{"no component"}
		}
		return nil, p.fail(r, "none of its invocations has reported it; who has: %s", few(others))
	}
	m := &run.MeasuredQuality{Implementation: r.implementation.String(), Quality: r.quality, N: len(all), Min: slices.Min(all), Max: slices.Max(all)}
	for _, x := range all {
		m.Mean += x / float64(len(all))
	}
	for _, x := range all {
		m.Deviation += (x - m.Mean) * (x - m.Mean)
	}
	if m.Deviation = math.Sqrt(m.Deviation / float64(max(1, len(all)-1))); m.Min == m.Max {
		m.Mean, m.Deviation = m.Min, 0
	}
	r.result = m
	r.implementation.qualities[r.quality] = m.Mean
	return components, nil
}

// is tells whether records of a component are of the implementation.
func (r *reported) is(component string) bool {
	i := r.implementation
	if r.component != "" {
		return component == r.component
	}
	return component == i.Class || component == i.Name || slices.Contains(i.family.Components, component) && i.ran(component)
}

// measuredQualities are those that were looked up.
func (p *Plan) measuredQualities() []run.MeasuredQuality {
	list := []run.MeasuredQuality{}
	for _, r := range p.reported {
		if r.result != nil {
			list = append(list, *r.result)
		}
	}
	return list
}

// unsure says where a limit is so near to what was measured that more measurements might be on its other side.
func (p *Plan) unsure() (notes []string) {
	for _, l := range p.limits() {
		for _, m := range p.measuredQualities() {
			if e := m.Deviation / math.Sqrt(float64(m.N)); m.Quality == l.quality.Name && !l.quality.rule.sum && math.Abs(m.Mean-l.value) < 2*e {
				notes = append(notes, fmt.Sprintf("whether %s has %s is not sure: it is %.4g ± %.2g", m.Implementation, l, m.Mean, 2*e))
			}
		}
	}
	return notes
}
