package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/goccy/go-json"

	"marple/analysis/run"
	"marple/analysis/words"
)

// Routine is a component's method, wherever it was called. Times are seconds, means over the ranks, and without
// waiting for a core. Exclusive ones leave out the routines called from it.
type Routine struct {
	Component    string  `json:"component"`
	Method       string  `json:"method"`
	Exclusive    float64 `json:"exclusive"`
	Inclusive    float64 `json:"inclusive"`
	Share        float64 `json:"share"`         // of the run's time
	ExclusiveMPI float64 `json:"exclusive_mpi"` // in MPI, within Exclusive
	InclusiveMPI float64 `json:"inclusive_mpi"`
	Invocations  uint64  `json:"invocations"` // of all ranks
	Places       int     `json:"places"`      // call paths of components that lead to it
}

// Components is a run as its components see it.
type Components struct {
	Time     float64   `json:"time"` // seconds, mean over the ranks
	MPI      float64   `json:"mpi"`
	Routines []Routine `json:"routines"`
	// Scaling is what the ratio of communication to computation means for more ranks; "" if nothing.
	Scaling string `json:"scaling,omitempty"`
}

// ComponentsOf adds up the call graph of the thread that called MPI_Init by routine.
func ComponentsOf(r *run.Run) Components {
	s := summary{ranks: float64(max(r.Measured, 1)), at: map[[2]string]int{}, places: map[string]bool{}}
	if root := r.Root(); root != nil {
		all := s.add(root, nil, "", map[int]bool{})
		s.Time, s.MPI = all.time/1e9/s.ranks, all.mpi/1e9/s.ranks
	}
	for i := range s.Routines {
		if s.Time > 0 {
			s.Routines[i].Share = s.Routines[i].Inclusive / s.Time
		}
	}
	var functions []Routine
	if root := r.Root(); root != nil && len(s.Routines) == 0 {
		functions = functionsOf(root, s.ranks)
	}
	s.Scaling = scaling(&s.Components, functions)
	slices.SortStableFunc(s.Routines, func(a, b Routine) int { return cmp.Compare(b.Inclusive, a.Inclusive) })
	return s.Components
}

type summary struct {
	Components
	ranks  float64
	at     map[[2]string]int
	places map[string]bool
}

type spent struct{ time, mpi float64 }

// add takes a node's time into account: all of it for `inside` it and what is above, its own for the innermost routine.
func (s *summary) add(n *run.Node, inside *int, place string, open map[int]bool) spent {
	all := spent{}
	outermost := false
	if n.Component != "" {
		key := [2]string{n.Component, n.Method}
		i, known := s.at[key]
		if !known {
			i = len(s.Routines)
			s.at[key] = i
			s.Routines = append(s.Routines, Routine{Component: n.Component, Method: n.Method})
		}
		inside, outermost = &i, !open[i]
		open[i] = true
		place += "\n" + n.Component + "." + n.Method
		if !s.places[place] {
			s.places[place] = true
			s.Routines[i].Places++
		}
		if n.Calls != nil {
			s.Routines[i].Invocations += n.Calls.N
		}
	}
	all.time = float64(n.Cost())
	if n.Kind == "mpi" {
		all.mpi = all.time
	}
	if inside != nil {
		s.Routines[*inside].Exclusive += all.time / 1e9 / s.ranks
		s.Routines[*inside].ExclusiveMPI += all.mpi / 1e9 / s.ranks
	}
	for _, child := range n.Children {
		below := s.add(child, inside, place, open)
		all.time += below.time
		all.mpi += below.mpi
	}
	if outermost {
		s.Routines[*inside].Inclusive += all.time / 1e9 / s.ranks
		s.Routines[*inside].InclusiveMPI += all.mpi / 1e9 / s.ranks
		delete(open, *inside)
	}
	return all
}

// Above this share of the time in MPI, and if an invocation of the routine that communicates most takes at least half as
// long as one of the routine that computes most, more ranks will mostly wait. Both are N. Trebon's (thesis, chapter VII:
// message passing times are like those of the computing components, and a quarter of all time). Of functions nobody knows
// how often they are called; there it is all the time of either.
const (
	muchMPI = 0.2
	rivals  = 0.5
)

func scaling(c *Components, functions []Routine) string {
	routines, once := c.Routines, [2]string{"one invocation of ", "one of "}
	if len(routines) == 0 {
		routines, once = functions, [2]string{}
	}
	var computes, communicates *Routine
	for i := range routines {
		r := &routines[i]
		if computes == nil || r.Exclusive-r.ExclusiveMPI > computes.Exclusive-computes.ExclusiveMPI {
			computes = r
		}
		if communicates == nil || r.ExclusiveMPI > communicates.ExclusiveMPI {
			communicates = r
		}
	}
	if computes == nil || c.MPI < muchMPI*c.Time || computes.Invocations == 0 || communicates.Invocations == 0 {
		return ""
	}
	one := (computes.Exclusive - computes.ExclusiveMPI) / float64(computes.Invocations)
	other := communicates.ExclusiveMPI / float64(communicates.Invocations)
	if one <= 0 || other < rivals*one {
		return ""
	}
	return fmt.Sprintf("This run is unlikely to scale: %s of its time is spent in MPI, and %s%s communicates %.1f times as long as %s%s computes.",
		words.Percent(c.MPI/c.Time), once[0], communicates.name(), other/one, once[1], computes.name())
}

func (r *Routine) name() string {
	if r.Method == "" {
		return r.Component
	}
	return r.Component + "." + r.Method
}

// functionsOf adds up the call graph by function and region, for programs without components. Each counts as invoked once.
func functionsOf(root *run.Node, ranks float64) []Routine {
	at, list := map[string]int{}, []Routine{}
	var add func(n *run.Node, inside string)
	add = func(n *run.Node, inside string) {
		switch n.Kind {
		case "frame", "region":
			inside = n.Name
		case "off-core", "marple":
			return
		}
		i, known := at[inside]
		if !known && inside != "" {
			i = len(list)
			at[inside] = i
			list = append(list, Routine{Component: inside, Invocations: 1})
		}
		if inside != "" {
			time := n.Cost()
			if n.Kind == "mpi" {
				list[i].ExclusiveMPI += float64(time) / 1e9 / ranks
			}
			list[i].Exclusive += float64(time) / 1e9 / ranks
		}
		for _, child := range n.Children {
			add(child, inside)
		}
	}
	add(root, "")
	return list
}

// ComponentsText is the table of routines, most time first.
func ComponentsText(r *run.Run) string {
	c := ComponentsOf(r)
	w := &writer{r: r}
	if len(c.Routines) == 0 {
		w.line("No component's method was invoked.")
		if c.Scaling != "" {
			w.block("", "", c.Scaling)
		}
		return w.String()
	}
	w.line("%-26s %9s %9s %5s %9s %9s %6s", "component.method", "excl. ms", "incl. ms", "%", "MPI ms", "calls", "places")
	for _, x := range c.Routines {
		w.line("%-26s %9.3f %9.3f %5.1f %9.3f %9s %6d", words.Fit(x.Component+"."+x.Method, 26), 1e3*x.Exclusive, 1e3*x.Inclusive, 100*x.Share, 1e3*x.InclusiveMPI,
			words.Number(x.Invocations), x.Places)
	}
	w.line("")
	if c.Scaling != "" {
		w.block("", "", c.Scaling)
	}
	w.block("", "", fmt.Sprintf("Means over %s; calls are those of all. Waiting for a core is left out.", words.Count(uint64(r.Measured), "rank", "ranks")))
	return w.String()
}

// ComponentsJSON is Components as JSON.
func ComponentsJSON(r *run.Run) (string, error) {
	text, err := json.MarshalIndent(ComponentsOf(r), "", " ")
	return string(text) + "\n", err
}
