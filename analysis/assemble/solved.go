package assemble

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"

	"marple/analysis/invocation"
	"marple/analysis/run"
	"marple/analysis/selection/graph"
	"marple/analysis/series"
)

// Solved is what a run tells of the solves with one prefix. Numbers and times are means over ranks; solves within a solve are
// part of it.
type Solved struct {
	Component  string
	Types      string  // gmres + bjacobi: what the first of its solvers was
	Time       float64 // seconds with a core, setting up included
	Solves     float64
	Iterations float64 // of all solves
	Phases     []SolvedPhase
}

// SolvedPhase is the part of the solves below one row of stages and other regions.
type SolvedPhase struct {
	Name     string // the regions from the outermost on; "" is none
	Time     float64
	Solves   float64
	Diverged int    // solves of all ranks that did not converge
	Reason   string // of one that did not
}

// Diverged is what to say of solves that did not converge; "" if all did.
func (s *Solved) Diverged() string {
	var list []string
	for _, p := range s.Phases {
		if p.Diverged > 0 {
			text := p.Reason
			if p.Name != "" {
				text += " in " + p.Name
			}
			list = append(list, text)
		}
	}
	if list == nil {
		return ""
	}
	return "it did not converge: " + strings.Join(list, ", ")
}

// reasons are PETSc's names of its KSPConvergedReason below 0.
var reasons = map[int]string{-2: "DIVERGED_NULL", -3: "DIVERGED_ITS", -4: "DIVERGED_DTOL", -5: "DIVERGED_BREAKDOWN", -6: "DIVERGED_BREAKDOWN_BICG",
	-7: "DIVERGED_NONSYMMETRIC", -8: "DIVERGED_INDEFINITE_PC", -9: "DIVERGED_NANORINF", -10: "DIVERGED_INDEFINITE_MAT", -11: "DIVERGED_PC_FAILED"}

// about begins the name of what a run says of a prefix' solver.
const about = noPrefix

// ReadSolved finds the solves of a run in a directory, and what all of it has taken, in seconds with a core, the mean over
// ranks.
func ReadSolved(r *run.Run, directory string) (list []*Solved, total float64, err error) {
	g, err := graph.FromRun(r)
	if err != nil {
		return nil, 0, err
	}
	of := map[string]*Solved{}
	for _, m := range r.Metadata {
		component, ok := strings.CutPrefix(m.Name, about+" ")
		if m.Name == about {
			component = about
		} else if !ok {
			continue
		}
		of[component] = &Solved{Component: component, Types: m.Value}
		list = append(list, of[component])
	}
	slices.SortFunc(list, func(a, b *Solved) int { return cmp.Compare(a.Component, b.Component) })
	addSolves(of, g.Root, nil, g.Unit)
	if len(list) > 0 {
		if err := addQualities(of, filepath.Join(directory, run.InvocationsFile), float64(max(r.Measured, 1))); err != nil {
			return nil, 0, err
		}
	}
	return list, g.Root.Inclusive * g.Unit, nil
}

// addSolves adds what solves below a node have taken, in units of a number of seconds, to those of their component, by the regions around.
func addSolves(of map[string]*Solved, n *graph.Node, regions []string, unit float64) {
	if s := of[n.Component]; s != nil && n.Component != "" && strings.HasSuffix(n.Name, ".solve") {
		s.Time += n.Inclusive * unit
		s.Solves += n.Calls
		p := s.phase(strings.Join(regions, series.Separator))
		p.Time += n.Inclusive * unit
		p.Solves += n.Calls
		return
	}
	if kind := n.CallPaths[0].Kind; kind == "region" || kind == "component" {
		regions = append(slices.Clone(regions), n.Name)
	}
	for _, c := range n.Children {
		addSolves(of, c, regions, unit)
	}
}

// addQualities adds the iterations of a rank, and where solves have diverged, from the records of invocations.
func addQualities(of map[string]*Solved, file string, ranks float64) error {
	iterations, err := invocation.Quality(file, "iterations")
	if err != nil {
		return err
	}
	for _, one := range iterations {
		if s := solvedOf(of, one.Name); s != nil {
			s.Iterations += floats.Sum(one.Y) / ranks
		}
	}
	ends, err := invocation.Quality(file, "reason")
	if err != nil {
		return err
	}
	for _, one := range ends {
		s := solvedOf(of, one.Name)
		if s == nil {
			continue
		}
		for i, y := range one.Y {
			if y >= 0 {
				continue
			}
			place := ""
			if i < len(one.Place) {
				place = strings.TrimSuffix(strings.TrimSuffix(one.Place[i], one.Name), series.Separator)
			}
			p := s.phase(place)
			p.Diverged++
			if p.Reason = reasons[int(y)]; p.Reason == "" {
				p.Reason = fmt.Sprintf("KSPConvergedReason %d", int(y))
			}
		}
	}
	return nil
}

// solvedOf is the component whose solves have a name; nil: none.
func solvedOf(of map[string]*Solved, name string) *Solved {
	if component, ok := strings.CutSuffix(name, ".solve"); ok {
		return of[component]
	}
	return nil
}

func (s *Solved) phase(name string) *SolvedPhase {
	for i := range s.Phases {
		if s.Phases[i].Name == name {
			return &s.Phases[i]
		}
	}
	s.Phases = append(s.Phases, SolvedPhase{Name: name})
	return &s.Phases[len(s.Phases)-1]
}
