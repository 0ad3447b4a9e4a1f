package series

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"marple/analysis/callgraph"
	"marple/analysis/machine"
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

// Runs are measured runs as far as series go, whether they were in directories or in a database.
type Runs struct {
	Paths  []Path
	Points []Point
}

// Path is a call path.
type Path struct {
	Name string // the names from the root, with " > " between them
	MPI  bool   // it ends in an MPI call
}

// Point is one run.
type Point struct {
	Ranks, Measured int
	Parameters      map[string]float64
	Machine         *machine.Machine // nil: not known
	Total           uint64           // cost of the main call tree, ns
	Times           []Time           // each path at most once
}

// Time is what a call path cost a run (run.Node.Cost), and the part of it inside MPI, in ns of all ranks.
type Time struct {
	Path    int // in Runs.Paths
	Ns, MPI uint64
}

// Separator stands between the names of a call path.
const Separator = " > "

// Collect takes from runs what series are made of. Calls of the same name from one place in the call graph count as
// one path, on whichever line they stand: lines move when a program is changed.
func Collect(runs []*run.Run) *Runs {
	all := &Runs{}
	index := map[string]int{}
	for _, r := range runs {
		p := point(r)
		at := map[int]int{} // in p.Times
		for _, root := range r.CallGraph {
			costs := map[*run.Node]uint64{}
			root.Costs(func(n *run.Node, inclusive uint64) { costs[n] = inclusive })
			if root == r.Root() {
				p.Total = costs[root]
			}
			visit(root, "", func(path string, n *run.Node, mpi uint64) {
				i, known := index[path]
				if !known {
					i = len(all.Paths)
					index[path] = i
					all.Paths = append(all.Paths, Path{path, n.Kind == callgraph.KindMPI.String()})
				}
				t, seen := at[i]
				if !seen {
					t = len(p.Times)
					at[i] = t
					p.Times = append(p.Times, Time{Path: i})
				}
				p.Times[t].Ns += costs[n]
				p.Times[t].MPI += mpi
			})
		}
		all.Points = append(all.Points, p)
	}
	return all
}

// OfRuns is Series of runs that are at hand.
func OfRuns(runs []*run.Run, least float64, choice Choice) ([]*Series, error) {
	return Collect(runs).Series(least, choice)
}

// Series gives, for each call path that takes at least a share of the time in some run, how its time per rank depends
// on the runs' parameters: all of it, and its parts inside and outside MPI. Parameters are the number of ranks and
// what was recorded with the runs; those that are the same in all runs are left out unless chosen.
func (r *Runs) Series(least float64, choice Choice) ([]*Series, error) {
	parameters, err := r.parameters(choice.Parameters)
	if err != nil {
		return nil, err
	}
	machines, err := r.machines()
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
	found, order := r.wanted(least, responses, parameters)
	for _, p := range r.Points {
		x := make([]float64, len(parameters))
		for i, name := range parameters {
			x[i], _ = p.parameter(name)
		}
		for _, t := range p.Times {
			for _, s := range found[t.Path] {
				s.X = append(s.X, x)
				s.Y = append(s.Y, t.quantity(s.Response)/1e9/float64(max(p.Measured, 1)))
				if machines != nil {
					if s.Labels == nil {
						s.Labels, s.Machines = map[string][]string{}, machines
					}
					s.Labels[Machine] = append(s.Labels[Machine], p.Machine.Name)
				}
			}
		}
	}
	var list []*Series
	for _, i := range order {
		for _, s := range found[i] {
			if missing := len(r.Points) - len(s.Y); missing > 0 {
				s.LeftOut = append(s.LeftOut, LeftOut{"the run has no such call path", missing, ""})
			}
			list = append(list, s)
		}
	}
	return list, nil
}

// wanted are empty series of the paths that take at least a share of the time in some run, by path; and these paths: most time first,
// callers before those they call.
func (r *Runs) wanted(least float64, responses, parameters []string) (found [][]*Series, order []int) {
	share := make([]float64, len(r.Paths))
	inside := make([]bool, len(r.Paths)) // something of it is MPI, in some run
	for _, p := range r.Points {
		for _, t := range p.Times {
			share[t.Path] = max(share[t.Path], float64(t.Ns)/float64(max(p.Total, 1)))
			inside[t.Path] = inside[t.Path] || t.MPI > 0
		}
	}
	found = make([][]*Series, len(r.Paths))
	for i, path := range r.Paths {
		if share[i] < least {
			continue
		}
		order = append(order, i)
		for _, response := range responses {
			if response == "time" || inside[i] && !path.MPI { // else it would be the same as its time, or nothing
				found[i] = append(found[i], &Series{Name: path.Name, Response: response, Unit: "s", Parameters: parameters})
			}
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(share[b], share[a]), cmp.Compare(len(r.Paths[a].Name), len(r.Paths[b].Name)))
	})
	return found, order
}

func (t Time) quantity(response string) float64 {
	switch response {
	case "mpi":
		return float64(t.MPI)
	case "compute":
		return float64(t.Ns - min(t.MPI, t.Ns))
	}
	return float64(t.Ns)
}

// visit walks call paths, children before parents, with the time that is spent in MPI below each. Gaps between
// calls are no paths of their own.
func visit(n *run.Node, above string, tell func(path string, n *run.Node, mpi uint64)) (mpi uint64) {
	path := n.Name
	if above != "" {
		path = above + Separator + n.Name
	}
	if n.Kind == callgraph.KindMPI.String() {
		mpi = n.Cost()
	}
	for _, c := range n.Children {
		mpi += visit(c, path, tell)
	}
	if IsPath(n.Kind) {
		tell(path, n, mpi)
	}
	return mpi
}

// IsPath tells whether nodes of a kind are call paths. Others say what time was spent on between calls.
func IsPath(kind string) bool {
	switch kind {
	case callgraph.KindGap.String(), callgraph.KindOffCore.String(), callgraph.KindOwn.String():
		return false
	}
	return true
}

// Parameter is the value of a run's parameter, if it has one.
func Parameter(r *run.Run, name string) (float64, bool) {
	return point(r).parameter(name)
}

// Parameters are the chosen parameters, or all that differ between runs.
func Parameters(runs []*run.Run, chosen []string) ([]string, error) {
	all := &Runs{}
	for _, r := range runs {
		all.Points = append(all.Points, point(r))
	}
	return all.parameters(chosen)
}

func point(r *run.Run) Point {
	return Point{Ranks: r.Ranks, Measured: r.Measured, Parameters: r.Parameters, Machine: r.Machine}
}

// Machines are the properties of the machines that runs were on, by name; nil where all were on one, or none says.
func Machines(runs []*run.Run) (map[string]map[string]float64, error) {
	all := &Runs{}
	for _, r := range runs {
		all.Points = append(all.Points, point(r))
	}
	return all.machines()
}

func (r *Runs) machines() (map[string]map[string]float64, error) {
	found, silent := map[string]map[string]float64{}, 0
	for _, p := range r.Points {
		if p.Machine == nil {
			silent++
		} else if found[p.Machine.Name] == nil {
			found[p.Machine.Name] = p.Machine.Properties()
		}
	}
	switch {
	case len(found) < 2:
		return nil, nil
	case silent > 0:
		return nil, fmt.Errorf("%d of %d runs do not say on which machine they were, and the others were on several; leave them out, or measure them with marple exec --machine FILE", silent, len(r.Points))
	}
	return found, nil
}

func (p Point) parameter(name string) (float64, bool) {
	if name == Ranks {
		return float64(p.Ranks), true
	}
	v, ok := p.Parameters[name]
	return v, ok
}

// parameters are the chosen ones, or all that differ between runs.
func (r *Runs) parameters(chosen []string) ([]string, error) {
	known := []string{Ranks}
	for _, p := range r.Points {
		for name := range p.Parameters {
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
			for _, p := range r.Points {
				if _, ok := p.parameter(name); !ok {
					return nil, fmt.Errorf("not all runs have a value of %s; record it with: marple exec --params %s=VALUE", name, name)
				}
			}
		}
		return chosen, nil
	}
	var differing []string
	for _, name := range known {
		seen := map[float64]bool{}
		all := true
		for _, p := range r.Points {
			v, ok := p.parameter(name)
			if ok {
				seen[v] = true
			}
			all = all && ok
		}
		switch {
		case len(seen) > 1 && !all:
			return nil, fmt.Errorf("some runs have no value of %s, in which the others differ; leave those runs out, or choose parameters (marple fit --param)", name)
		case len(seen) > 1:
			differing = append(differing, name)
		}
	}
	if len(differing) == 0 {
		return nil, errors.New("the runs differ in no parameter; record parameters with: marple exec --params n=1000")
	}
	return differing, nil
}
