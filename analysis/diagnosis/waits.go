package diagnosis

import (
	"cmp"
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
// more than they are in MPI, or test.
func (w *waits) waiting(pattern string) any {
	i := slices.IndexFunc(w.Patterns, func(p run.WaitPattern) bool { return p.Pattern == pattern })
	if i < 0 {
		return 0.0
	}
	_, caused := w.mainDelay(pattern)
	return min(seconds(w.Patterns[i].Ns)*caused, w.mpi+w.polled())
}

func (w *waits) calls(pattern string) any {
	for _, p := range w.Patterns {
		if p.Pattern == pattern {
			return float64(p.Instances)
		}
	}
	return 0.0
}

// unknownWaiting is for how long ranks may have waited for reasons that the replay does not know: where it did not find
// the cause, and in calls that it does not follow. Without a replay of the whole run that is all their time in MPI; also
// where ranks had no cores, since they may have waited for those instead, and where collective operations do not block,
// since what delays those may be before or after the last wait for one.
func (d *data) unknownWaiting() float64 {
	if d.unknown == nil {
		x := d.findUnknownWaiting()
		d.unknown = &x
	}
	return *d.unknown
}

func (d *data) findUnknownWaiting() float64 {
	w := d.r.Waits
	if w == nil || d.r.Efficiency.CoreAvailability < enoughCores && !d.r.AsWithCores ||
		slices.ContainsFunc(d.r.NotSeen, func(n run.Note) bool { return slices.Contains(run.WaitsIncomplete, n.ID) }) ||
		slices.ContainsFunc(d.nodes, func(n node) bool {
			return n.op.Collective() && mpi.Known(n.Name, n.op, 0).Flags&record.Nonblocking != 0
		}) {
		return d.inMPI
	}
	unknown := seconds(w.Ns)
	for i := range w.Delays {
		unknown -= d.located(&w.Delays[i])
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
	unknown += max(0, d.looped()-d.polled())
	return max(0, unknown)
}

// located is what of a delay can be where the replay has it. The logs leave out tests that find nothing, so that it may name the
// computation around one for that before or after it: no rank can be late for longer than it computes.
func (d *data) located(x *run.DelaySite) float64 {
	delay := seconds(x.Direct + x.Passed)
	if i, ok := d.byID()[x.Node]; ok && d.nodes[i].kind == callgraph.KindGap {
		delay = min(delay, d.nodes[i].seconds*float64(len(d.ranks)-1))
	}
	return delay
}

// looped is for how long ranks went around loops in which they tested or probed in vain, with nothing longer than 10 µs in between.
// What is found in between ends a row of tests: where that is no more than a refusal, say, the ranks have nothing to do all the same.
func (d *data) looped() float64 {
	loops, tests, hits := 0.0, 0.0, 0.0
	for i := range d.nodes {
		n := &d.nodes[i]
		if n.op == record.OpTest {
			tests, hits = tests+calls(n), hits+float64(n.Hits)
		}
		if n.kind == callgraph.KindGap && n.Loop || n.op == record.OpTest {
			loops += n.seconds
		}
	}
	if tests == 0 {
		return 0
	}
	return loops * (1 - min(1, hits/tests))
}

// polled is for how long ranks tested or probed until one of these calls found something.
func (d *data) polled() float64 {
	ns := 0.0
	for i := range d.nodes {
		ns += float64(d.nodes[i].Polled)
	}
	return ns / 1e9
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

// known is what is known of the calls of a node beside waiting, and for what part of them.
func (d *data) known(n *node) (c run.CallCost, part float64) {
	if d.r.Waits == nil || n.Calls == nil || n.Calls.N == 0 {
		return c, 0
	}
	if d.costs == nil {
		d.costs = map[string]run.CallCost{}
		for _, c := range d.r.Waits.Costs {
			d.costs[c.Node] = c
		}
	}
	c = d.costs[n.ID]
	return c, min(1, float64(c.Calls)/float64(n.Calls.N))
}

// ownTime is what the calls of a node take beside waiting for other ranks. What is not known of that is bounded, in
// operations that all wait for all of, by the rank that spends least there.
func ownTime(d *data, n *node) float64 {
	if n.kind != callgraph.KindMPI {
		return n.seconds
	}
	most := n.seconds
	if all := n.op == record.OpBarrier || n.op == record.OpNToN; all && n.whole && len(n.PerRank) > 0 {
		least := slices.MinFunc(n.PerRank, func(a, b run.RankTime) int { return cmp.Compare(a.Exclusive, b.Exclusive) })
		most = min(most, float64(least.Exclusive)/n.per*float64(len(n.PerRank)))
	}
	if n.op == record.OpTest { // the logs have a row of them as one call
		return most - min(most, seconds(n.Waiting))
	}
	if c, part := d.known(n); part > 0 {
		return min(most, seconds(c.Ns)/part)
	}
	return most
}

// sureTime is what of that is no outlier; where it is not known, what the shortest call takes.
func sureTime(d *data, n *node) float64 {
	if c, part := d.known(n); part > 0 {
		return min(ownTime(d, n), seconds(c.Sure)/part)
	}
	if n.Calls == nil {
		return 0
	}
	return min(ownTime(d, n), seconds(n.Calls.Min)*float64(n.Calls.N))
}

// missed is for how long ranks were without a core, as it was.
func (d *data) missed() float64 {
	return max(seconds(d.r.Core.OffCore+d.r.Core.Waited), seconds(d.r.MissedNs))
}

// chance is for how long all ranks may have waited for some without these having more to do: twice the standard error of
// how much longer those compute than the mean, over parts of the run. It is no more than ranks were without a core, since
// nothing else disturbs them; so much where parts are not known, or all ranks are meant and there is none to compare them with.
func (d *data) chance(slow rankSet) float64 {
	missed := d.missed()
	if d.r.Waits == nil {
		return missed
	}
	scatter, known := d.r.Waits.Scatter(slow, len(d.ranks))
	if !known {
		return missed
	}
	return min(missed, scatter)
}

// delays is for how long ranks are known to have waited because others computed longer in a selection; in the way of a
// pattern, if one is given.
func (e *evaluator) delays(s selection, pattern string) (total float64) {
	if e.r.Waits == nil {
		return 0
	}
	_, list := e.placedWaits()
	return e.sumOf(list, s, pattern)
}

// placed is time of waiting at a call path, or because of one.
type placed struct {
	pattern string
	node    int
	seconds float64
}

// placedList is all of one kind, in order, and by place: there are as many places as call paths.
type placedList struct {
	all []placed
	at  map[int][]placed
}

func (l *placedList) add(d *data, pattern, id string, ns uint64) {
	if i, ok := d.byID()[id]; ok {
		one := placed{pattern, i, seconds(ns)}
		l.all = append(l.all, one)
		l.at[d.nodes[i].place] = append(l.at[d.nodes[i].place], one)
	}
}

// placedWaits are the wait sites and the delays whose call paths are of this data.
func (d *data) placedWaits() (waited, delayed *placedList) {
	if d.waited == nil {
		d.waited, d.delayed = &placedList{at: map[int][]placed{}}, &placedList{at: map[int][]placed{}}
		for _, s := range d.r.Waits.Sites {
			d.waited.add(d, s.Pattern, s.Node, s.Ns)
		}
		for _, s := range d.r.Waits.Delays {
			d.delayed.add(d, s.Pattern, s.Node, s.Direct+s.Passed)
		}
	}
	return d.waited, d.delayed
}

// sumOf adds up what a selection has of a pattern, or of all.
func (e *evaluator) sumOf(list *placedList, s selection, pattern string) (total float64) {
	within := list.all
	if s.at != nil {
		within = nil
		for _, at := range s.at {
			within = append(within, list.at[e.nodes[at].place]...)
		}
	}
	for _, p := range within {
		if (pattern == "" || p.pattern == pattern) && e.selected(s, p.node) {
			total += p.seconds
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

// sides are the ranks that wait, where most is waited in the way of a pattern, and those whose delay it is or, if none is
// known, the one that was waited for longest. No rank waits for itself: one that does both is on the side of the others.
func (w *waits) sides(pattern string) (waiting, late rankSet) {
	for _, s := range w.Sites {
		if s.Pattern == pattern {
			waiting = mostOf(s.PerRank)
			break
		}
	}
	if delay, _ := w.mainDelay(pattern); delay != nil {
		late = mostOf(delay.PerRank)
	}
	if alone := len(waiting) == 1 && slices.Equal(waiting, late); alone || late == nil { // its own delay came back to it
		late = nil
		for _, p := range w.Pairs {
			if slices.Contains(waiting, int(p.Rank)) && p.Ns > w.otherwise(p.Rank, pattern) {
				late = rankSet{int(p.For)}
				break
			}
		}
	}
	without := func(set, other rankSet) rankSet {
		return slices.DeleteFunc(slices.Clone(set), func(r int) bool { return slices.Contains(other, r) })
	}
	switch {
	case slices.Equal(waiting, late): // for each other
	case len(without(waiting, late)) > 0:
		waiting = without(waiting, late)
	default:
		late = without(late, waiting)
	}
	return waiting, late
}

// otherwise is how long a rank waits in other ways than this: pairs do not tell in which way one waits for the other.
func (w *waits) otherwise(rank int32, pattern string) (ns uint64) {
	for _, s := range w.Sites {
		for _, r := range s.PerRank {
			if r.Rank == rank && s.Pattern != pattern {
				ns += r.Ns
			}
		}
	}
	return ns
}

func (w *waits) waiters(pattern string) any {
	waiting, _ := w.sides(pattern)
	return waiting
}

// latecomers are no ranks where none is late for longer than others.
func (w *waits) latecomers(pattern string) any {
	waiting, late := w.sides(pattern)
	if w.inTurn(pattern) && !slices.Equal(waiting, late) {
		return rankSet{}
	}
	return late
}

// inTurn tells whether the delays behind a pattern's waits come now from one rank, now from another: where ranks compute
// equally long over the whole run at the places of these delays, or nearly so, none of them is the late one; but in a chain
// each rank waits for the one before it, always.
func (w *waits) inTurn(pattern string) bool {
	if waiting, _ := w.sides(pattern); w.forOne(waiting) {
		return false
	}
	_, delays := w.placedWaits()
	var all, steady float64
	for _, d := range delays.all {
		if d.pattern == pattern {
			n := w.nodes[d.node]
			excess := (float64(n.Exclusive.Max)*float64(w.r.Ranks) - float64(n.Exclusive.Sum)) / n.per
			all += d.seconds
			steady += min(d.seconds, max(excess, 0))
		}
	}
	return w.r.Ranks > 2 && 2*steady < all
}

// forOne tells whether each of some ranks mostly waits for the same one.
func (w *waits) forOne(waiting rankSet) bool {
	var all, most uint64
	for _, rank := range waiting {
		var longest uint64
		for _, p := range w.Pairs {
			if int(p.Rank) == rank {
				all, longest = all+p.Ns, max(longest, p.Ns)
			}
		}
		most += longest
	}
	return 3*most > 2*all
}

// whetherInTurn is a sentence for advice, if that is so.
func (w *waits) whetherInTurn(pattern string) any {
	if !w.inTurn(pattern) {
		return ""
	}
	return " No rank is late in all: now one is, now another. If the work does not vary like that, something else takes the cores: pin the processes, and leave a core to the system."
}

// latecomersInWords says of the ranks that all wait for and are waited for that they do so for each other.
func (w *waits) latecomersInWords(pattern string) any {
	waiting, late := w.sides(pattern)
	switch {
	case slices.Equal(late, waiting) && len(late) > 0:
		return "each other"
	case w.inTurn(pattern):
		return "a different rank each time"
	case len(late) == 0:
		return "other ranks"
	case len(late) == 1:
		return words.Ranks(late) + ", which is late"
	}
	return words.Ranks(late) + ", which are late"
}

// lateCall is the call that is waited for, where most is waited in the way of a pattern.
func (w *waits) lateCall(pattern string) any {
	for _, s := range w.Sites {
		if s.Pattern == pattern {
			return s.ForWhere
		}
	}
	return "a call that is not known"
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

// delayRanks are those on which that delay is; it may be the waiting rank itself, to which its own delay came back.
func (w *waits) delayRanks(pattern string) any {
	delay, _ := w.mainDelay(pattern)
	if delay == nil {
		return rankSet{}
	}
	return mostOf(delay.PerRank)
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
	list, _ := e.placedWaits()
	return e.sumOf(list, s, pattern), nil
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
		return ok && e.selected(selection{component: c.Name}, i)
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
