package diagnosis

import (
	"slices"

	"marple/analysis/knowledge"
	"marple/analysis/run"
	"marple/analysis/words"
)

// ofWaits makes a function of what ranks wait for each other in the way of a pattern.
func ofWaits(compute func(w *waits, pattern string) any) function {
	return func(e *evaluator, args []any) (any, error) {
		if e.r.Waits == nil {
			return nil, missing{"wait-states"}
		}
		return compute(&waits{e.data, e.r.Waits}, args[0].(string)), nil
	}
}

// waits are the wait states of a run.
type waits struct {
	*data
	*run.Waits
}

// waiting is what a pattern costs: the part of its time that ranks lose for reasons that lie in the program, and no
// more than they are in MPI.
func (w *waits) waiting(pattern string) any {
	i := slices.IndexFunc(w.Patterns, func(p run.WaitPattern) bool { return p.Pattern == pattern })
	if i < 0 {
		return 0.0
	}
	_, caused := w.mainDelay(pattern)
	return min(seconds(w.Patterns[i].Ns)*caused, w.mpi)
}

func (w *waits) calls(pattern string) any {
	for _, p := range w.Patterns {
		if p.Pattern == pattern {
			return float64(p.Instances)
		}
	}
	return 0.0
}

// mainDelay is the most expensive cause of a pattern's waits that the program can do something about, and the part
// of them for which there is any: that a rank had no core is not the program's doing.
func (w *waits) mainDelay(pattern string) (main *run.DelaySite, caused float64) {
	var all, coreless uint64
	for i := range w.Delays {
		d := &w.Delays[i]
		if d.Pattern != pattern {
			continue
		}
		all += d.Direct + d.Passed
		if d.Node == "" {
			coreless += d.Direct + d.Passed
		} else if main == nil {
			main = d
		}
	}
	if all == 0 {
		return main, 1
	}
	return main, float64(all-coreless) / float64(all)
}

func (w *waits) waiters(pattern string) any {
	for _, s := range w.Sites {
		if s.Pattern == pattern {
			return mostOf(s.PerRank)
		}
	}
	return rankSet{}
}

// latecomers are the ranks whose delay it is or, if none is known, the one that was waited for longest.
func (w *waits) latecomers(pattern string) any {
	if delay, _ := w.mainDelay(pattern); delay != nil {
		return mostOf(delay.PerRank)
	}
	if len(w.Pairs) > 0 {
		return rankSet{int(w.Pairs[0].For)}
	}
	return rankSet{}
}

// latecomersInWords says of the ranks that all wait for and are waited for that they do so for each other.
func (w *waits) latecomersInWords(pattern string) any {
	late, waiting := w.latecomers(pattern).(rankSet), w.waiters(pattern).(rankSet)
	switch {
	case len(late) > 1 && slices.Equal(late, waiting):
		return "each other"
	case len(late) == 1:
		return words.Ranks(late) + ", which comes late"
	}
	return words.Ranks(late) + ", which come late"
}

// ofDelay makes a function of a pattern's main delay.
func ofDelay[T any](pick func(d *run.DelaySite) T) function {
	return ofWaits(func(w *waits, pattern string) any {
		var none run.DelaySite
		if delay, _ := w.mainDelay(pattern); delay != nil {
			return pick(delay)
		}
		return pick(&none)
	})
}

// mostOf are the ranks that have at least half as much as the first.
func mostOf(list []run.WaitRank) rankSet {
	ranks := rankSet{}
	for _, r := range list {
		if 2*r.Ns >= list[0].Ns {
			ranks = append(ranks, int(r.Rank))
		}
	}
	slices.Sort(ranks)
	return ranks
}

// waited is the time of wait states of a pattern, in a component or at a place if one is given.
func waited(e *evaluator, args []any) (any, error) {
	if e.r.Waits == nil {
		return nil, missing{"wait-states"}
	}
	pattern, total := args[0].(string), 0.0
	if len(args) == 1 {
		for _, p := range e.r.Waits.Patterns {
			if p.Pattern == pattern {
				total += seconds(p.Ns)
			}
		}
		return total, nil
	}
	e, s, err := e.selection(args[1:])
	if err != nil {
		return nil, err
	}
	for _, site := range e.r.Waits.Sites {
		if i, ok := e.byID()[site.Node]; ok && site.Pattern == pattern && e.selected(s, i) {
			total += seconds(site.Ns)
		}
	}
	return total, nil
}

// selected tells whether a call path is selected, for any rank.
func (c *context) selected(s selection, i int) bool {
	for class := range c.assign {
		if c.selects(s, class, i) {
			return true
		}
	}
	return false
}

// replayed divides the time that ranks wait in a component among its causes by what the replay of the logs has found:
// the waits of each pattern like the delays of that pattern. It is nil if there was no replay, or it found no such
// waits.
func (g *Diagnosis) replayed(w *knowledge.Wait) []float64 {
	if g.r.Waits == nil {
		return nil
	}
	in := func(c knowledge.ComponentRef, node string) bool {
		e := g.evaluators[c.Scope]
		i, ok := e.byID()[node]
		return ok && e.selected(selection{component: c.Name, place: none}, i)
	}
	waited := map[string]float64{}
	for _, s := range g.r.Waits.Sites {
		if in(w.At, s.Node) {
			waited[s.Pattern] += seconds(s.Ns)
		}
	}
	if len(waited) == 0 {
		return nil
	}
	parts := make([]float64, len(w.Causes))
	for pattern, lost := range waited {
		caused, all := make([]float64, len(w.Causes)), 0.0
		for _, d := range g.r.Waits.Delays {
			if d.Pattern != pattern {
				continue
			}
			for i, c := range w.Causes {
				if in(c, d.Node) {
					caused[i] += seconds(d.Direct + d.Passed)
					all += seconds(d.Direct + d.Passed)
					break // one cause only
				}
			}
		}
		for i := range caused {
			if all > 0 {
				parts[i] += lost * caused[i] / all
			}
		}
	}
	return parts
}
