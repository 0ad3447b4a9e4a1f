package diagnosis

import (
	"slices"

	"marple/analysis/callgraph"
	"marple/analysis/knowledge"
	"marple/analysis/mpi"
	"marple/analysis/record"
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

// incomplete are the notes on waiting that the replay of the logs does not know.
var incomplete = []string{"waits-unknown", "log-ended", "messages-unmatched", "messages-ambiguous", "collectives-uncovered"}

// unknownWaiting is for how long ranks may have waited for reasons that the replay does not know: where it did not find
// the cause, and in calls that it does not follow. Without a replay of the whole run that is all their time in MPI; also
// where ranks had no cores, since they may have waited for those instead, and where collective operations do not block,
// since what delays those may be before or after the last wait for one.
func (d *data) unknownWaiting() float64 {
	w := d.r.Waits
	if w == nil || d.r.Efficiency.CoreAvailability < enoughCores && !d.r.AsWithCores ||
		slices.ContainsFunc(d.r.NotSeen, func(n run.Note) bool { return slices.Contains(incomplete, n.ID) }) ||
		slices.ContainsFunc(d.nodes, func(n node) bool {
			return n.op.Collective() && mpi.Known(n.Name, n.op, 0).Flags&record.Nonblocking != 0
		}) {
		return d.inMPI
	}
	unknown := seconds(w.Ns)
	for i := range w.Delays {
		unknown -= seconds(w.Delays[i].Direct + w.Delays[i].Passed)
	}
	waited := map[string]uint64{}
	for _, s := range w.Sites {
		waited[s.Node] += s.Ns
	}
	for i := range d.nodes {
		if n := &d.nodes[i]; n.kind == callgraph.KindMPI && unfollowed(n.op) {
			unknown += max(0, n.seconds-seconds(waited[n.ID]))
		}
	}
	return max(0, unknown)
}

// unfollowed tells the calls in which ranks may wait without the replay of the logs knowing: those that it does not
// look at, and those where it knows of waiting for the root only, or of the root.
func unfollowed(op record.Op) bool {
	switch op {
	case record.OpProbe, record.OpTest, record.OpOneToN, record.OpNToOne, record.OpScan:
		return true
	}
	return op >= record.OpPut && op <= record.OpFileOther && op != record.OpFence
}

// delays is for how long ranks are known to have waited because others computed longer in a selection; in the way of a
// pattern, if one is given.
func (e *evaluator) delays(s selection, pattern string) (total float64) {
	if e.r.Waits == nil {
		return 0
	}
	for _, d := range e.r.Waits.Delays {
		if i, ok := e.byID()[d.Node]; ok && (pattern == "" || d.Pattern == pattern) && e.selected(s, i) {
			total += seconds(d.Direct + d.Passed)
		}
	}
	return total
}

// blamed is for how long ranks may have waited because others computed longer somewhere.
func blamed(e *evaluator, args []any) (any, error) {
	e, s, err := e.selection(args)
	if err != nil {
		return nil, err
	}
	return e.unknownWaiting() + e.delays(s, ""), nil
}

// waitCaused is for how long ranks waited in the way of a pattern because others computed longer somewhere.
func waitCaused(e *evaluator, args []any) (any, error) {
	e, s, err := e.selection(args[1:])
	if err != nil {
		return nil, err
	}
	return e.delays(s, args[0].(string)), nil
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
