package whatif

import (
	"fmt"
	"slices"

	"marple/analysis/run"
	"marple/analysis/waitstate"
)

// Table is how a run goes where parts of what ails it are removed. Each row is a replay.
type Table struct {
	Findings []Part // by rising index
	// Base and Rows are the run as its findings are told of (as it was, or with a core for each rank), and with every
	// combination of parts: the first finding's change fastest. The first row is Base.
	Rows []Row
	// Cored tells that ranks have a core each in all rows.
	Cored bool
	// Replayed is the part of the run's time that was replayed.
	Replayed float64
}

// Part is a finding of which parts can be removed.
type Part struct {
	Finding int       // index in run.Findings
	Steps   []float64 // parts, from 0 to 1
}

// Row is how the run goes.
type Row struct{ Seconds, Parallel, LoadBalance float64 }

// mostTable is how many calls are replayed for a table, 100 ns each.
const mostTable = 1 << 22

// parts are tried from the finest on; some changes know all or nothing.
var parts = [][]float64{{0, 0.25, 0.5, 0.75, 1}, {0, 0.5, 1}, {0, 1}}

// Steps replays a run with parts of its first findings removed, in all combinations: as many findings and as fine parts as there
// is room for. Nil where nothing is known; see Unknown.
func Steps(r *run.Run) *Table {
	if Unknown(r) != "" {
		return nil
	}
	p := newPlayer(r)
	t := &Table{Cored: p.base != nil, Replayed: 1}
	if replay := r.Replay; replay.Looked > 0 {
		t.Replayed = min(float64(replay.Looked)/float64(max(replay.Whole, 1)), 1)
	}
	var scenarios []waitstate.Scenario
	for i := range r.Findings {
		if len(scenarios) == together {
			break
		}
		if f := &r.Findings[i]; f.Remedy != nil && f.Gain != nil {
			if s := Remedy(r, f.Remedy); s != nil {
				p.balance(&s)
				scenarios = append(scenarios, s)
				t.Findings = append(t.Findings, Part{Finding: i})
			}
		}
	}
	scenarios = t.fit(scenarios, r.Replay.Size())
	if len(scenarios) == 0 {
		return nil
	}
	per := 0.0 // s of the run, for each ns that is replayed
	for k := range t.combinations() {
		s := slices.Clone(p.base)
		for i, f := range t.Findings {
			part := f.Steps[k%len(f.Steps)]
			k /= len(f.Steps)
			if part > 0 {
				c := scenarios[i][0]
				c.Less = 1 - part
				s = append(s, c)
			}
		}
		then := r.Replay.Under(s)
		if per == 0 {
			per = p.wall / float64(max(then.Length, 1))
		}
		sum, most := useful(then)
		row := Row{Seconds: float64(then.Length) * per}
		if most > 0 && then.Length > 0 {
			row.Parallel, row.LoadBalance = sum/float64(len(then.Gaps))/float64(then.Length), sum/float64(len(then.Gaps))/most
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// combinations are as many as there are of the findings' parts.
func (t *Table) combinations() int {
	n := 1
	for _, f := range t.Findings {
		n *= len(f.Steps)
	}
	return n
}

// fit divides findings into as fine parts as there is room for, and leaves the last ones out where there is none. size is that of a replay.
func (t *Table) fit(scenarios []waitstate.Scenario, size int) []waitstate.Scenario {
	for n := len(scenarios); n > 0; n-- {
		scenarios, t.Findings = scenarios[:n], t.Findings[:n]
		for _, steps := range parts {
			for i, s := range scenarios {
				if t.Findings[i].Steps = steps; !s[0].Gradual() {
					t.Findings[i].Steps = []float64{0, 1}
				}
			}
			if t.combinations()*size <= mostTable {
				return scenarios
			}
		}
	}
	return nil
}

// Variant is the run under a scenario that can be looked at.
type Variant struct {
	Name    string
	Finding int // index of the one that is removed; -1: none
	Times   *waitstate.Times
}

// mostVariants of a run are looked at.
const mostVariants = 5

// Variants are the run as it was, with a core for each rank where that is another one, and without what its first findings are
// about, as far as there is room. None where nothing is known.
func Variants(r *run.Run) (list []Variant) {
	if Unknown(r) != "" {
		return nil
	}
	p := newPlayer(r)
	list = append(list, Variant{"as it was", -1, p.of(nil)})
	most := min(mostVariants, 1+mostTable/max(2*r.Replay.Size(), 1))
	suffix := ""
	if p.base != nil {
		list, suffix = append(list, Variant{"with a core for each rank", -1, p.of(p.base)}), ", with a core for each rank"
	}
	for i := range r.Findings {
		if f := &r.Findings[i]; f.Remedy != nil && f.Gain != nil && len(list) < most {
			if s := Remedy(r, f.Remedy); s != nil {
				p.balance(&s)
				list = append(list, Variant{fmt.Sprintf("without finding %d%s", i+1, suffix), i, p.under(slices.Concat(p.base, s))})
			}
		}
	}
	return list
}
