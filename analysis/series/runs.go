package series

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"marple/analysis/callgraph"
	"marple/analysis/run"
)

// Ranks is the parameter that every run has.
const Ranks = "ranks"

// OfFunctions gives, for each MPI function of a run, the mean time of a call against the mean message size, one
// sample per size class.
func OfFunctions(r *run.Run) []*Series {
	var list []*Series
	for _, f := range r.Functions {
		s := &Series{Name: f.Name, Response: "time", Unit: "s", Parameters: []string{"bytes"},
			Notes: []string{"each sample is the mean of a class of message sizes"}}
		for _, c := range f.Sizes {
			if c.Calls > 0 && c.Bytes > 0 {
				s.X = append(s.X, []float64{float64(c.Bytes) / float64(c.Calls)})
				s.Y = append(s.Y, float64(c.Ns)/1e9/float64(c.Calls))
			}
		}
		if len(s.Y) > 0 {
			list = append(list, s)
		}
	}
	return list
}

// quantities of a call path in a run: mean seconds per rank.
var quantities = []string{"time", "mpi", "compute"}

// OfRuns gives, for each call path that takes at least a share of the time, how its time per rank depends on
// the runs' parameters: all of it, and its parts inside and outside MPI. Parameters are the number of ranks and
// what was recorded with the runs; those that are the same in all runs are left out unless chosen.
func OfRuns(runs []*run.Run, least float64, choice Choice) ([]*Series, error) {
	parameters, err := Parameters(runs, choice.Parameters)
	if err != nil {
		return nil, err
	}
	responses := choice.Responses
	if len(responses) == 0 {
		responses = quantities
	}
	for _, name := range responses {
		if !slices.Contains(quantities, name) {
			return nil, unknown("quantity", name, quantities)
		}
	}
	found := map[string]*Series{}
	share := map[string]float64{}
	var order []string
	for _, r := range runs {
		x := make([]float64, len(parameters))
		for i, name := range parameters {
			x[i], _ = Parameter(r, name)
		}
		total := 0.0
		if root := r.Root(); root != nil {
			total = float64(root.Inclusive.Sum)
		}
		for _, root := range r.CallGraph {
			visit(root, "", func(path string, n *run.Node, mpi uint64) {
				if total > 0 {
					share[path] = max(share[path], float64(n.Inclusive.Sum)/total)
				}
				seconds := map[string]float64{"time": float64(n.Inclusive.Sum), "mpi": float64(mpi), "compute": float64(n.Inclusive.Sum - min(mpi, n.Inclusive.Sum))}
				for _, response := range responses {
					if n.Kind == callgraph.KindMPI.String() && response != "time" || response != "time" && mpi == 0 {
						continue // the same as its time, or nothing
					}
					key := path + "\x00" + response
					s := found[key]
					if s == nil {
						s = &Series{Name: path, Response: response, Unit: "s", Parameters: parameters}
						found[key] = s
						order = append(order, key)
					}
					s.X = append(s.X, x)
					s.Y = append(s.Y, seconds[response]/1e9/float64(max(r.Measured, 1)))
				}
			})
		}
	}
	slices.SortStableFunc(order, func(a, b string) int { // most time first, callers before those they call
		x, y := found[a].Name, found[b].Name
		return cmp.Or(cmp.Compare(share[y], share[x]), cmp.Compare(len(x), len(y)))
	})
	var list []*Series
	for _, key := range order {
		if s := found[key]; share[s.Name] >= least {
			if missing := len(runs) - len(s.Y); missing > 0 {
				s.LeftOut = append(s.LeftOut, LeftOut{"the run has no such call path", missing, ""})
			}
			list = append(list, s)
		}
	}
	return list, nil
}

// visit walks call paths, children before parents, with the time that is spent in MPI below each. Gaps between
// calls are no paths of their own.
func visit(n *run.Node, above string, tell func(path string, n *run.Node, mpi uint64)) (mpi uint64) {
	path := n.Name
	if above != "" {
		path = above + " > " + n.Name
	}
	if n.Kind == callgraph.KindMPI.String() {
		mpi = n.Inclusive.Sum
	}
	for _, c := range n.Children {
		mpi += visit(c, path, tell)
	}
	switch n.Kind {
	case callgraph.KindGap.String(), callgraph.KindOffCore.String(), callgraph.KindOwn.String():
		return mpi
	}
	tell(path, n, mpi)
	return mpi
}

// Parameter is the value of a run's parameter, if it has one.
func Parameter(r *run.Run, name string) (float64, bool) {
	if name == Ranks {
		return float64(r.Ranks), true
	}
	v, ok := r.Parameters[name]
	return v, ok
}

// Parameters are the chosen parameters, or all that differ between runs.
func Parameters(runs []*run.Run, chosen []string) ([]string, error) {
	known := []string{Ranks}
	for _, r := range runs {
		for name := range r.Parameters {
			if !slices.Contains(known, name) {
				known = append(known, name)
			}
		}
	}
	slices.Sort(known[1:])
	if len(chosen) > 0 {
		for _, name := range chosen {
			if !slices.Contains(known, name) {
				return nil, unknown("parameter", name, known)
			}
			for _, r := range runs {
				if _, ok := Parameter(r, name); !ok {
					return nil, fmt.Errorf("not all runs have a value of %s; record it with: marple exec --params %s=VALUE", name, name)
				}
			}
		}
		return chosen, nil
	}
	var differing []string
	for _, name := range known {
		seen := map[float64]bool{}
		for _, r := range runs {
			if v, ok := Parameter(r, name); ok {
				seen[v] = true
			}
		}
		_, all := Parameter(runs[0], name)
		if len(seen) > 1 && all {
			differing = append(differing, name)
		}
	}
	if len(differing) == 0 {
		return nil, errors.New("the runs differ in no parameter; record parameters with: marple exec --params n=1000")
	}
	return differing, nil
}
