// Package compare says what differs between two sets of runs: by how much they take longer, where in the call graph,
// and whether that is more than runs differ by themselves.
//
// It may use run, callgraph, words and gonum's distributions; it holds no state.
//
// Invariant: differences of places add up to the difference of the whole, and nothing is called a change that the runs
// do not show; with one run on each side nothing is.
package compare

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat/distuv"

	"marple/analysis/run"
	"marple/analysis/words"
)

//go:embed schema.json
var schemaJSON []byte

// SchemaJSON is the JSON Schema of `marple compare --format json`.
func SchemaJSON() []byte { return schemaJSON }

// Side is one of the two sets of runs.
type Side struct {
	Name string
	Runs []*run.Run
}

// Verdicts on a difference.
const (
	Changed = "changed" // more than the runs of a side differ by themselves: adjusted p below 0.05
	Noise   = "noise"   // it cannot be told from the differences within the sides
	Unknown = "unknown" // one run on each side
)

// significant is the level of tests, and confidence that of intervals.
const (
	significant = 0.05
	confidence  = 0.95
)

// Comparison is what differs between A and B. Times are seconds.
type Comparison struct {
	A            Set          `json:"a"`
	B            Set          `json:"b"`
	Wall         Change       `json:"wall"`         // from MPI_Init to MPI_Finalize
	Efficiencies []Efficiency `json:"efficiencies"` // shares from 0 to 1
	Places       []Place      `json:"places"`       // of the main call tree; the largest differences first
	Rest         Change       `json:"rest"`         // all that is in no place
	Findings     []Finding    `json:"findings"`
	Differences  []Difference `json:"differences"`    // of the circumstances
	Same         []string     `json:"same"`           // circumstances that do not differ
	Caveats      []string     `json:"caveats"`        // what cannot be known, or must be kept in mind
	Least        float64      `json:"least"`          // seconds per rank by which a place must differ to be listed
	Gate         *Gate        `json:"gate,omitempty"` // where a limit was given
}

// Set describes a side.
type Set struct {
	Name      string    `json:"name"`
	Program   string    `json:"program"`
	Ranks     []int     `json:"ranks"` // different numbers of them
	Runs      int       `json:"runs"`
	Wall      []float64 `json:"wall"`      // of each run
	Deviation float64   `json:"deviation"` // of wall: standard deviation of single runs; 0 for one run
}

// Change is a quantity on both sides: means over runs.
type Change struct {
	A          float64 `json:"a"`
	B          float64 `json:"b"`
	Difference float64 `json:"difference"` // B - A
	// Interval holds the difference with 95 % confidence; not there with one run on each side.
	Interval *[2]float64 `json:"interval,omitempty"`
	// P is the probability of a difference at least as large if there were none: of Welch's t test (of Student's, where
	// one side has one run), adjusted after Holm for the number of places. Not there with one run on each side.
	P       *float64 `json:"p,omitempty"`
	Verdict string   `json:"verdict"` // changed, noise or unknown
}

// Efficiency is one of the POP metrics.
type Efficiency struct {
	Name string `json:"name"`
	Change
}

// Place is a call path. Times are means over ranks, with all below it but what is a place of its own.
type Place struct {
	Path []string  `json:"path"` // the innermost first
	Kind string    `json:"kind"`
	Node [2]string `json:"node"` // id in call_graph of the first run of A and of B that has it; empty: there is none
	Change
	Ranks []int  `json:"ranks,omitempty"` // that have more than half of the difference, if these are few
	Runs  [2]int `json:"runs"`            // how many of A and B have it
}

// Finding is one that some runs have.
type Finding struct {
	ID    string     `json:"id"`
	Title string     `json:"title"` // in the last run that has it
	Model string     `json:"model"` // likewise: the parallel computational model whose finding it is
	Runs  [2]int     `json:"runs"`  // of A and B that have it
	Share [2]float64 `json:"share"` // of core time, mean over all runs
}

// Difference is one of the circumstances.
type Difference struct {
	What string `json:"what"`
	A    string `json:"a"`
	B    string `json:"b"`
}

// Compare needs at least one run on each side. Places are listed if they differ by a share of A's time.
func Compare(a, b Side, least float64) (*Comparison, error) {
	if len(a.Runs) == 0 || len(b.Runs) == 0 {
		return nil, errors.New("expected at least one run on each side")
	}
	for _, s := range []Side{a, b} {
		for _, r := range s.Runs {
			if r.Root() == nil || r.Measured == 0 {
				return nil, fmt.Errorf("%s: a run without a call graph cannot be compared", s.Name)
			}
		}
	}
	c := &Comparison{A: set(a), B: set(b), Efficiencies: []Efficiency{}, Places: []Place{}, Findings: []Finding{}, Differences: []Difference{},
		Same: []string{}, Caveats: []string{}}
	over := func(value func(*run.Run) float64) Change {
		return change(each(a.Runs, value), each(b.Runs, value))
	}
	c.Wall = over(func(r *run.Run) float64 { return float64(r.WallNs) / 1e9 })
	for _, e := range efficiencies {
		if defined(a.Runs, e.defined) && defined(b.Runs, e.defined) {
			c.Efficiencies = append(c.Efficiencies, Efficiency{e.name, over(e.value)})
		}
	}
	c.places(a.Runs, b.Runs, least)
	c.findings(a.Runs, b.Runs)
	c.circumstances(a, b)
	return c, nil
}

func set(s Side) Set {
	x := Set{Name: s.Name, Program: s.Runs[0].Program, Runs: len(s.Runs), Wall: each(s.Runs, func(r *run.Run) float64 { return float64(r.WallNs) / 1e9 })}
	for _, r := range s.Runs {
		if !slices.Contains(x.Ranks, r.Ranks) {
			x.Ranks = append(x.Ranks, r.Ranks)
		}
	}
	slices.Sort(x.Ranks)
	_, variance := moments(x.Wall)
	x.Deviation = math.Sqrt(variance)
	return x
}

func each(runs []*run.Run, value func(*run.Run) float64) (list []float64) {
	for _, r := range runs {
		list = append(list, value(r))
	}
	return list
}

func defined(runs []*run.Run, is func(*run.Run) bool) bool {
	return !slices.ContainsFunc(runs, func(r *run.Run) bool { return !is(r) })
}

func always(*run.Run) bool { return true }

var efficiencies = []struct {
	name    string
	value   func(*run.Run) float64
	defined func(*run.Run) bool
}{
	{"parallel", func(r *run.Run) float64 { return r.Efficiency.Parallel }, always},
	{"load balance", func(r *run.Run) float64 { return r.Efficiency.LoadBalance }, always},
	{"communication", func(r *run.Run) float64 { return r.Efficiency.Communication }, func(r *run.Run) bool { return r.Efficiency.Defined }},
}

// moments are mean and variance (of single values, unbiased; 0 for one).
func moments(x []float64) (mean, variance float64) {
	for _, v := range x {
		mean += v / float64(len(x))
	}
	if len(x) < 2 {
		return mean, 0
	}
	for _, v := range x {
		variance += (v - mean) * (v - mean) / float64(len(x)-1)
	}
	return mean, variance
}

// change tests a difference. Where one side has a single run, the other's variance has to do for both.
func change(a, b []float64) Change {
	meanA, varA := moments(a)
	meanB, varB := moments(b)
	c := Change{A: meanA, B: meanB, Difference: meanB - meanA, Verdict: Unknown}
	na, nb := float64(len(a)), float64(len(b))
	var freedom float64
	switch {
	case len(a) == 1 && len(b) == 1:
		return c
	case len(a) == 1:
		varA, freedom = varB, nb-1
	case len(b) == 1:
		varB, freedom = varA, na-1
	default:
		freedom = na + nb - 2
		if s := varA/na + varB/nb; s > 0 {
			freedom = s * s / (varA*varA/(na*na*(na-1)) + varB*varB/(nb*nb*(nb-1)))
		}
	}
	half, p := 0.0, 1.0
	// Differences below 10⁻¹² of the values are rounding.
	if e := math.Sqrt(varA/na + varB/nb); e > 1e-12*max(math.Abs(meanA), math.Abs(meanB)) {
		t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: freedom}
		half = e * t.Quantile(1-(1-confidence)/2)
		p = 2 * t.Survival(math.Abs(c.Difference)/e)
	} else if math.Abs(c.Difference) > 1e-12*max(math.Abs(meanA), math.Abs(meanB)) {
		p = 0 // all runs of a side are the same, as simulated ones may be
	}
	c.Interval, c.P = &[2]float64{c.Difference - half, c.Difference + half}, &p
	c.judge()
	return c
}

func (c *Change) judge() {
	if c.P != nil {
		c.Verdict = Noise
		if *c.P < significant {
			c.Verdict = Changed
		}
	}
}

// holm adjusts probabilities for their number: S. Holm, A simple sequentially rejective multiple test procedure, 1979.
func holm(list []Place) {
	order := make([]int, 0, len(list))
	for i := range list {
		if list[i].P != nil {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(x, y int) int { return cmp.Compare(*list[x].P, *list[y].P) })
	most := 0.0
	for k, i := range order {
		most = max(most, min(1, *list[i].P*float64(len(order)-k)))
		*list[i].P = most
		list[i].judge()
	}
}

func (c *Comparison) findings(a, b []*run.Run) {
	byID := map[string]*Finding{}
	for side, runs := range [][]*run.Run{a, b} {
		for _, r := range runs {
			seen := map[string]bool{}
			for _, f := range r.Findings {
				x := byID[f.ID]
				if x == nil {
					x = &Finding{ID: f.ID}
					byID[f.ID] = x
				}
				x.Share[side] += f.Share / float64(len(runs))
				if !seen[f.ID] {
					seen[f.ID] = true
					x.Title, x.Model = f.Title, f.Model
					x.Runs[side]++
				}
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		c.Findings = append(c.Findings, *byID[id])
	}
	slices.SortStableFunc(c.Findings, func(x, y Finding) int {
		return cmp.Compare(math.Abs(y.Share[1]-y.Share[0]), math.Abs(x.Share[1]-x.Share[0]))
	})
}

// circumstance is what a run was made in, as text.
type circumstance struct {
	what  string
	value func(*run.Run) string
}

var circumstances = []circumstance{
	{"program", func(r *run.Run) string { return r.Program }},
	{"executable", executable},
	{"ranks", func(r *run.Run) string { return fmt.Sprint(r.Ranks) }},
	{"hosts", func(r *run.Run) string {
		var names []string
		for _, h := range r.Hosts {
			names = append(names, h.Name)
		}
		return strings.Join(names, " ")
	}},
	{"cores", func(r *run.Run) string {
		cores := 0
		for _, h := range r.Hosts {
			cores += h.Cores
		}
		return fmt.Sprint(cores)
	}},
	{"MPI library", func(r *run.Run) string { return r.MPI.Library }},
	{"design", design},
	{"thread level", func(r *run.Run) string { return r.ThreadLevel }},
}

// executable is the program's build id, as far as it has one.
func executable(r *run.Run) string {
	for _, m := range r.Modules {
		if path.Base(m.Path) == path.Base(r.Program) {
			return m.BuildID
		}
	}
	return ""
}

// design is what the run is recognized as, in whole or in phases.
func design(r *run.Run) string {
	var names []string
	for _, m := range r.Models {
		if !slices.Contains(names, m.Name) {
			names = append(names, m.Name)
		}
	}
	return strings.Join(names, " + ")
}

const few = 0.95 // of the time with a core; below it, waiting for one counts

func (c *Comparison) circumstances(a, b Side) {
	list := slices.Clone(circumstances)
	names := map[string]bool{}
	for _, r := range append(slices.Clone(a.Runs), b.Runs...) {
		for name := range r.Parameters {
			names[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		list = append(list, circumstance{"parameter " + name, func(r *run.Run) string {
			if v, ok := r.Parameters[name]; ok {
				return fmt.Sprint(v)
			}
			return "none"
		}})
	}
	for _, x := range list {
		values := [2][]string{}
		for side, s := range []Side{a, b} {
			for _, r := range s.Runs {
				if v := x.value(r); !slices.Contains(values[side], v) {
					values[side] = append(values[side], v)
				}
			}
			slices.Sort(values[side])
			if len(values[side]) > 1 {
				c.Caveats = append(c.Caveats, fmt.Sprintf("the runs of %s differ among themselves in %s: %s", "AB"[side:side+1], x.what,
					words.Fit(strings.Join(values[side], ", "), 60)))
			}
		}
		switch {
		case !slices.Equal(values[0], values[1]):
			c.Differences = append(c.Differences, Difference{x.what, strings.Join(values[0], ", "), strings.Join(values[1], ", ")})
		case values[0][0] != "":
			c.Same = append(c.Same, x.what)
		}
	}
	c.caveats(a, b)
}

func (c *Comparison) caveats(a, b Side) {
	add := func(format string, arguments ...any) {
		c.Caveats = append(c.Caveats, fmt.Sprintf(format, arguments...))
	}
	switch {
	case len(a.Runs) == 1 && len(b.Runs) == 1:
		add("with one run on each side it cannot be known what is noise: repeat both, in turns, three times or more")
	case len(a.Runs) == 1 || len(b.Runs) == 1:
		add("one side has one run; it is supposed to vary as much as the runs of the other side do")
	}
	if len(a.Runs)+len(b.Runs) > 2 {
		if before(a.Runs, b.Runs) || before(b.Runs, a.Runs) {
			add("all runs of one side were made before those of the other: what the machine did meanwhile counts as change; make them in turns")
		}
	}
	core := [2]float64{}
	for side, s := range []Side{a, b} {
		core[side], _ = moments(each(s.Runs, func(r *run.Run) float64 { return r.Efficiency.CoreAvailability }))
	}
	if core[0] > 0 && core[1] > 0 && min(core[0], core[1]) < few {
		add("ranks waited for a core: %s of the time in A, %s in B", words.Percent(1-core[0]), words.Percent(1-core[1]))
	}
	for side, s := range []Side{a, b} {
		missing, threads := 0, false
		for _, r := range s.Runs {
			if r.Measured < r.Ranks || slices.ContainsFunc(r.PerRank, func(x run.RankBalance) bool { return x.Ended != "" && x.Ended != "finalized" }) {
				missing++
			}
			threads = threads || len(r.CallGraph) > 1
		}
		name := "AB"[side : side+1]
		if missing > 0 {
			add("%s of %s did not end as usual, or not all of its ranks were measured", words.Count(uint64(missing), "run", "runs"), name)
		}
		if threads {
			add("threads of %s beside the one that called MPI_Init are not compared", name)
		}
	}
}

func before(a, b []*run.Run) bool {
	for _, x := range a {
		for _, y := range b {
			if !x.Started.Before(y.Started) {
				return false
			}
		}
	}
	return true
}
