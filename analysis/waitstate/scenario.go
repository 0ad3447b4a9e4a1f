package waitstate

import (
	"math"
	"slices"

	"marple/analysis/callgraph"
)

// Scenario says what would be different, one change after the other; nil is the run as it was.
type Scenario []Change

// Change is one thing that would be different.
type Change struct {
	Kind What
	// Paths are the call paths, of calls and of the time between them, that it is about, each with the part of its time;
	// nil: all.
	Paths map[callgraph.ID]float64
	Ranks []int32 // likewise, in order; nil: all
	// Less is the part of the change that is not made: 0 is all of it, 1 none. Of what is waited for there are no parts.
	Less float64
	// Factor, for Scale: what the time there is multiplied by.
	Factor float64
	// Network: a message, or an operation, arrives Latency ns, and PerByte ns for each of its bytes, after it was sent.
	Latency, PerByte float64
	Pattern          Pattern // Prompt
	Whole            bool    // Balance: all that a rank does there counts as one: what varies from one time to the next stays
	// Until are the calls, for Nonblocking, before which a rank waits for what it has started; nil: its next call, whichever that is.
	Until map[callgraph.ID]float64
}

// What a change does.
type What uint8

const (
	// Scale multiplies times: of all paths those between calls.
	Scale What = iota
	// Balance gives each rank the mean of all that are on these paths between their calls: that of the k-th time where all
	// are there as often, else of all their time there; in each stretch of the run that was looked at. What only one rank does on
	// them, all share: the others do their part in the call that they are in as it begins, before what they wait for. Of all
	// paths, each is balanced by itself, among those that are there.
	Balance
	// Cores leaves out the time for which ranks had none, and lets all begin at once. No call takes longer beside waiting
	// than the quickest tenth on its path, of the rank in the middle.
	Cores
	// Steady takes from the time between calls what a disturbance may have added: what does not repeat of the times that a rank takes
	// on a path, but no more than the machine makes of it; see disturbed.
	Steady
	// Free calls take no time beside waiting, but for those that have nothing to do with a network.
	Free
	// Network has another one.
	Network
	// Remove leaves operations of communicators out.
	Remove
	// Prompt is that nobody waits by a pattern: what is waited for comes in time.
	Prompt
	// Nonblocking calls start something and end. Ranks wait for it before their next call, one of Until, or their last one. What the
	// call takes beside waiting goes on meanwhile, as soon as what it needs is there.
	Nonblocking
	// Early receives are posted when the rank leaves the call before. What the call takes beside waiting goes on from then, as soon as
	// what it needs is there.
	Early
)

// Hides tells whether a change is that a rank computes while something goes on that it waited for. Whether it does go on then depends
// on the library: the change gains between nothing and what is replayed.
func (c *Change) Hides() bool { return c.Kind == Nonblocking || c.Kind == Early }

// IdealNetwork is that messages take no time (Dimemas; POP's transfer efficiency).
func IdealNetwork() Scenario { return Scenario{{Kind: Free}} }

// CoreForEach is that every rank has a core.
func CoreForEach() Scenario { return Scenario{{Kind: Cores}} }

// WithoutDisturbance is that nothing takes longer now and then than it mostly does.
func WithoutDisturbance() Scenario { return Scenario{{Kind: Steady}} }

// Times are those of a program under a scenario, ns after the first rank's beginning.
type Times struct {
	Entered, Left [][]int64 // by rank and call
	Own           [][]int64 // likewise: what a call takes beside waiting
	Gaps          [][]int64 // likewise: before a call; then after the last one
	Deferred      [][]int64 // likewise: what is waited for a Nonblocking call later, before another one; none where there is no such call
	Ended         []int64   // by rank
	Length        int64     // to the last rank's end
}

// Under replays the program: every rank does between its calls what the scenario says, and goes on as soon as the calls that
// it depends on have been entered.
func (p *Program) Under(s Scenario) *Times {
	t, _ := p.under(s) // nothing fails where all ranks are here
	return t
}

func (p *Program) under(s Scenario) (*Times, error) {
	x := p.player(s)
	if err := x.run(); err != nil {
		return nil, err
	}
	t := &Times{}
	for r := range x.lanes {
		l := &x.lanes[r]
		end := l.end()
		t.Entered, t.Left, t.Own, t.Gaps = append(t.Entered, l.entered), append(t.Left, l.left), append(t.Own, l.own), append(t.Gaps, l.gaps)
		t.Deferred = append(t.Deferred, l.deferred)
		t.Ended, t.Length = append(t.Ended, end), max(t.Length, end)
	}
	if x.with != nil {
		t.Length = x.with.length
	}
	return t, nil
}

// end is when a rank that has made all its calls is at its end.
func (w *way) end() int64 { return w.now + w.gaps[len(w.entered)] }

// Size is how many calls are replayed.
func (p *Program) Size() (n int) {
	for i := range p.Lanes {
		n += len(p.Lanes[i].Calls)
	}
	return n
}

// Has tells whether ranks are on one of the paths.
func (p *Program) Has(paths map[callgraph.ID]float64) bool {
	return slices.ContainsFunc(p.Lanes, func(l Lane) bool {
		return slices.ContainsFunc(l.Paths, func(id callgraph.ID) bool { return paths[id] > 0 })
	})
}

// Collective tells whether calls on a path are operations of a communicator.
func (p *Program) Collective(id callgraph.ID) bool {
	return slices.ContainsFunc(p.Lanes, func(l Lane) bool {
		return slices.ContainsFunc(l.Arrives, func(a Arrive) bool { return l.Paths[l.Calls[a.Call].Path] == id })
	})
}

// Before are the paths of what ranks do before they make calls on some paths.
func (p *Program) Before(paths map[callgraph.ID]float64) map[callgraph.ID]float64 {
	before := map[callgraph.ID]float64{}
	for i := range p.Lanes {
		l := &p.Lanes[i]
		for k := range l.Calls {
			if paths[l.Paths[l.Calls[k].Path]] > 0 {
				before[l.Paths[l.Calls[k].GapPath]] = 1
			}
		}
	}
	return before
}

// player replays a program once: all its ranks, or one of them together with those that other ranks replay.
type player struct {
	p        *Program
	lanes    []way
	meets    []meeting
	ready    []int32
	rules    []*Change // of how what is waited for holds
	measured bool      // calls are entered when they were
	with     *exchange // with the other ranks; nil: all are here
	err      error     // of that
}

// way is how far a rank has got.
type way struct {
	gaps, own     []int64 // by call; the last gap is behind them
	entered, left []int64
	now           int64  // it has left its last call
	next          uint32 // calls that were entered
	need, arrive  int    // that come next
	until, sent   int64  // that the present call waits, as far as is known, and without what the network takes
	inside        bool
	waiting       []waiter // that wait for this rank to get further
	asked         int      // which of the calls that other processes need comes next

	later, early []*Change // by path: that calls there are Nonblocking, or Early; nil where none is
	begun        []begun   // by Nonblocking calls, and not waited for yet
	due          int       // it waits for that one before its next call, from 1; 0: for none
	deferred     []int64   // see Times
}

// begun is what a Nonblocking call has started.
type begun struct {
	call        uint32
	need        int   // that comes next
	sent, until int64 // as in way
	own         int64
	change      *Change
}

type waiter struct {
	rank int32
	call uint32
}

// meeting is an operation as far as ranks have arrived.
type meeting struct {
	arrived uint32
	last    int64
	root    int64 // when it came, if it has
	rooted  bool
	bytes   uint64
	times   map[uint32]int64 // of a Prefix, by rank in the communicator
	before  []int64          // likewise, the last to come of those up to a rank, as far as all are known
	waiting []int32
}

func (p *Program) player(s Scenario) *player {
	x := &player{p: p, lanes: make([]way, len(p.Lanes)), with: p.with}
	if x.with == nil {
		x.meets = make([]meeting, len(p.Meets))
		for i := range x.meets {
			x.meets[i].last = math.MinInt64
			if p.Meets[i].rootless {
				x.meets[i].root, x.meets[i].rooted = math.MinInt64, true
			}
		}
	}
	for i := range p.Lanes {
		l, w := &p.Lanes[i], &x.lanes[i]
		w.entered, w.left, w.now = make([]int64, len(l.Calls)), make([]int64, len(l.Calls)), l.Begin
		w.gaps, w.own = make([]int64, len(l.Calls)+1), slices.Clone(l.own)
		for k := range l.Calls {
			w.gaps[k] = l.Calls[k].Gap
		}
		w.gaps[len(l.Calls)] = l.Rest
	}
	for i := range s {
		x.change(&s[i])
	}
	return x
}

// holds tells on which ranks a change is made.
func (c *Change) holds(rank int) bool {
	if c.Ranks == nil {
		return true
	}
	_, found := slices.BinarySearch(c.Ranks, int32(rank))
	return found
}

// part of the time on a path that a change is about.
func (c *Change) part(id callgraph.ID) float64 {
	if c.Paths == nil {
		return 1 - c.Less
	}
	return c.Paths[id] * (1 - c.Less)
}

// Gradual tells whether a part of the change can be made.
func (c *Change) Gradual() bool { return c.Kind == Scale || c.Kind == Balance || c.Kind == Free }

// change makes one change of what gaps and calls take, or notes it as one of what is waited for.
func (x *player) change(c *Change) {
	switch c.Kind {
	case Balance:
		x.balance(c)
		return
	case Cores:
		x.quicken()
	case Steady:
		x.settle()
		return
	case Free:
		if c.Paths == nil && c.Ranks == nil {
			x.rules = slices.DeleteFunc(x.rules, func(r *Change) bool { return r.Kind == Network })
		}
	case Network, Remove, Prompt:
		x.rules = append(x.rules, c)
	case Nonblocking, Early:
		x.hide(c)
		return
	}
	for rank := range x.lanes {
		l, w := &x.p.Lanes[rank], &x.lanes[rank]
		if !c.holds(x.p.first + rank) {
			continue
		}
		if c.Kind == Cores {
			w.now = 0
		}
		if c.Kind == Scale && c.Paths == nil {
			w.gaps[len(l.Calls)] = scaled(w.gaps[len(l.Calls)], 1-(1-c.Less)*(1-c.Factor))
		}
		parts := make([]float64, len(l.Paths))
		for i, id := range l.Paths {
			parts[i] = c.part(id)
		}
		for k := range l.Calls {
			a := &l.Calls[k]
			switch c.Kind {
			case Scale:
				w.gaps[k] = scaled(w.gaps[k], 1-parts[a.GapPath]*(1-c.Factor))
				if c.Paths != nil {
					w.own[k] = scaled(w.own[k], 1-parts[a.Path]*(1-c.Factor))
				}
			case Cores:
				w.gaps[k] -= a.OffCore
			case Free, Remove:
				if parts[a.Path] > 0 && !a.Stays {
					w.own[k] = scaled(w.own[k], 1-min(parts[a.Path], 1))
				}
			}
		}
		if c.Kind == Network {
			for _, n := range l.Needs {
				if !l.Calls[n.Call].Stays {
					w.own[n.Call] = 0 // it takes what the network takes, which is added where it waits
				}
			}
		}
	}
}

// hide notes which calls are not waited for where they are made, or are begun before that.
func (x *player) hide(c *Change) {
	for rank := range x.lanes {
		l, w := &x.p.Lanes[rank], &x.lanes[rank]
		if !c.holds(x.p.first + rank) {
			continue
		}
		by := &w.early
		if c.Kind == Nonblocking {
			by, w.deferred = &w.later, make([]int64, len(l.Calls))
		}
		if *by == nil {
			*by = make([]*Change, len(l.Paths))
		}
		for i, id := range l.Paths {
			if c.part(id) > 0 {
				(*by)[i] = c
			}
		}
	}
}

func scaled(ns int64, f float64) int64 {
	if f == 1 {
		return ns
	}
	return int64(math.Round(float64(ns) * f))
}

// Alone tells whether one rank only is on these paths between its calls.
func (p *Program) Alone(paths map[callgraph.ID]float64) bool {
	return (&player{p: p, with: p.with}).alone(paths)
}

func (x *player) alone(paths map[callgraph.ID]float64) bool {
	there := []int64{0, int64(len(x.p.Lanes))}
	for i := range x.p.Lanes {
		l := &x.p.Lanes[i]
		if slices.ContainsFunc(l.Calls, func(a Act) bool { return paths[l.Paths[a.GapPath]] > 0 }) {
			there[0]++
		}
	}
	there = x.fold(there, sum)
	return there[0] == 1 && there[1] > 1
}

// portion is the time before a call that a change is about.
func (x *player) portion(c *Change, rank int, call uint32) int64 {
	l := &x.p.Lanes[rank]
	return scaled(x.lanes[rank].gaps[call], c.part(l.Paths[l.Calls[call].GapPath]))
}

// What the machine may add to what a rank computes on a core of its own: as much as interrupts and cold caches take, or a third, as
// memory and clock rates that are shared do.
const (
	disturbed = 100_000 // ns
	stretched = 4. / 3
)

// settle takes out what disturbances may have added: on each of a rank's paths what is beyond the quickest tenth; where its times
// there repeat after some, beyond what it mostly takes when that comes round.
func (x *player) settle() {
	for rank := range x.lanes {
		l, w := &x.p.Lanes[rank], &x.lanes[rank]
		byPath := make([][]uint32, len(l.Paths))
		for k := range l.Calls {
			path := l.Calls[k].GapPath
			byPath[path] = append(byPath[path], uint32(k))
		}
		for _, calls := range byPath {
			if len(calls) < fewestTimes {
				continue
			}
			times := make([]int64, len(calls))
			for i, k := range calls {
				times[i] = w.gaps[k]
			}
			var usual func(i int) int64
			if apart := repeats(times); apart > 0 {
				usual = func(i int) int64 {
					var near []int64
					for j := i - 2*apart; j <= i+2*apart; j += apart {
						if j >= 0 && j < len(times) {
							near = append(near, times[j])
						}
					}
					slices.Sort(near)
					return near[min(1, len(near)-1)]
				}
			} else {
				sorted := slices.Sorted(slices.Values(times))
				usual = func(int) int64 { return sorted[len(sorted)/10] }
			}
			for i, k := range calls {
				g := times[i]
				w.gaps[k] = min(g, max(usual(i), min(g-disturbed, int64(float64(g)/stretched))))
			}
		}
	}
}

const (
	fewestTimes = 12 // of which it can be told whether they repeat
	mostApart   = 64 // times after which it is looked for
)

// repeats finds after how many times they are as they were; 0: they are not. Then two differ by less than half of what any two do.
// What a program does repeats, or changes slowly; what disturbs it does not.
func repeats(list []int64) (after int) {
	sorted := slices.Sorted(slices.Values(list))
	n, all := float64(len(list)), 0.0 // mean difference of two, by their ranks
	for i, g := range sorted {
		all += float64(g) * (2*float64(i) - n + 1)
	}
	least := all * 2 / (n * n) / 2
	for apart := 1; apart <= min(mostApart, len(list)/4); apart++ {
		sum := 0.0
		for i := apart; i < len(list); i++ {
			sum += math.Abs(float64(list[i] - list[i-apart]))
		}
		if mean := sum / float64(len(list)-apart); mean < least {
			after, least = apart, mean
		}
	}
	return after
}

// quicken takes the time without a core out of calls. What of it passed without one is not known to have been before or
// after what was waited for; it is taken for after that, as far as it goes. A call may also go on because another rank,
// which has to see to the transfer, has no core: so no call takes longer than the quickest tenth of those of its path do,
// on the rank in the middle of those that have any.
func (x *player) quicken() {
	quick := map[callgraph.ID][]int64{} // by path, and in the order of ranks
	var ids []callgraph.ID
	for rank := range x.lanes {
		l, w := &x.p.Lanes[rank], &x.lanes[rank]
		byPath := make([][]int64, len(l.Paths))
		for k := range l.Calls {
			a := &l.Calls[k]
			w.own[k] = max(w.own[k]-a.Coreless, 0)
			if !a.Stays {
				byPath[a.Path] = append(byPath[a.Path], w.own[k])
			}
		}
		for path, list := range byPath {
			if len(list) > 0 {
				slices.Sort(list)
				quick[l.Paths[path]] = append(quick[l.Paths[path]], list[len(list)/10])
				ids = append(ids, l.Paths[path])
			}
		}
	}
	ids = x.union(ids)
	lists := make([][]int64, len(ids))
	for i, id := range ids {
		lists[i] = quick[id]
	}
	middle := x.middle(lists)
	for rank := range x.lanes {
		l, w := &x.p.Lanes[rank], &x.lanes[rank]
		limits := make([]int64, len(l.Paths))
		for i, id := range l.Paths {
			if at, ok := slices.BinarySearch(ids, id); ok {
				limits[i] = middle[at]
			}
		}
		for k := range l.Calls {
			if a := &l.Calls[k]; !a.Stays {
				w.own[k] = min(w.own[k], limits[a.Path])
			}
		}
	}
}

func (x *player) run() error {
	if x.err != nil {
		return x.err
	}
	for rank := range x.lanes {
		x.ready = append(x.ready, int32(rank))
	}
	if x.with != nil {
		if err := x.with.begin(x); err != nil {
			return err
		}
	}
	for {
		for len(x.ready) > 0 {
			rank := x.ready[len(x.ready)-1]
			x.ready = x.ready[:len(x.ready)-1]
			if x.measured {
				x.look(rank)
			} else {
				x.advance(rank)
			}
		}
		if x.with != nil {
			if over, err := x.with.turn(x); over || err != nil {
				return err
			}
			continue
		}
		// All wait in a circle, or for what is missing: the one that is least far goes on.
		least := -1
		for r := range x.lanes {
			if w := &x.lanes[r]; w.waits() && (least < 0 || w.until < x.lanes[least].until) {
				least = r
			}
		}
		if least < 0 {
			return nil
		}
		x.goOn(int32(least))
	}
}

// waits tells whether a rank waits for others.
func (w *way) waits() bool { return w.inside || w.due > 0 }

// goOn has a rank not wait for what it waits for.
func (x *player) goOn(rank int32) {
	if w := &x.lanes[rank]; w.due > 0 {
		w.begun[w.due-1].need++
	} else {
		w.need++
	}
	x.ready = append(x.ready, rank)
}

// advance takes a rank as far as it gets.
func (x *player) advance(rank int32) {
	l, w := &x.p.Lanes[rank], &x.lanes[rank]
	first := w.next
	for w.inside || int(w.next) < len(l.Calls) {
		if !w.inside {
			at, known := x.reach(rank)
			if !known {
				x.wake(w)
				return
			}
			w.inside = true
			x.enter(rank, at)
			w.sent = x.posted(rank, w.next-1)
			w.until = w.sent
			if x.begin(rank) {
				continue
			}
		}
		k := w.next - 1
		for ; w.need < len(l.Needs) && l.Needs[w.need].Call == k; w.need++ {
			sent, takes, known := x.until(int(rank), w.need)
			if !known {
				x.wake(w)
				return
			}
			w.sent, w.until = max(w.sent, sent), max(w.until, sent+takes)
		}
		w.own[k] += w.until - w.sent
		w.until = w.sent
		w.now = w.until + w.own[k]
		if w.early != nil && w.early[l.Calls[k].Path] != nil {
			w.now = max(w.now, w.entered[k])
			w.own[k] = min(w.own[k], w.now-w.entered[k])
		}
		w.left[k], w.inside = w.now, false
	}
	if w.next > first {
		x.wake(w)
	}
}

// reach takes a rank to its next call, and gives when it enters it, if what it has to wait for before is known.
func (x *player) reach(rank int32) (at int64, known bool) {
	l, w := &x.p.Lanes[rank], &x.lanes[rank]
	k := w.next
	at = w.now + w.gaps[k]
	if len(w.begun) == 0 {
		return at, true
	}
	last, path := int(k) == len(l.Calls)-1, l.Paths[l.Calls[k].Path]
	due := func(b *begun) bool { return last || b.change.Until == nil || b.change.Until[path] > 0 }
	for i := range w.begun {
		b := &w.begun[i]
		for ; due(b) && b.need < len(l.Needs) && l.Needs[b.need].Call == b.call; b.need++ {
			sent, takes, known := x.until(int(rank), b.need)
			if !known {
				w.due, w.until = i+1, max(at, b.until)
				return 0, false
			}
			b.sent, b.until = max(b.sent, sent), max(b.until, sent+takes)
		}
	}
	w.due = 0
	rest := w.begun[:0]
	for _, b := range w.begun {
		if !due(&b) {
			rest = append(rest, b)
			continue
		}
		done := max(at, b.until+b.own)
		w.deferred[b.call], at = done-at, done
	}
	w.begun = rest
	return at, true
}

// begin has a rank go on from a call that it has entered, if it is not to wait there.
func (x *player) begin(rank int32) bool {
	l, w := &x.p.Lanes[rank], &x.lanes[rank]
	k := w.next - 1
	if w.later == nil || w.later[l.Calls[k].Path] == nil || int(w.next) == len(l.Calls) {
		return false
	}
	w.begun = append(w.begun, begun{k, w.need, w.sent, w.until, w.own[k], w.later[l.Calls[k].Path]})
	for w.need < len(l.Needs) && l.Needs[w.need].Call == k {
		w.need++
	}
	w.now, w.own[k] = w.entered[k], 0
	w.left[k], w.inside = w.now, false
	return true
}

// posted is when a rank posts the receive of a call that it has entered.
func (x *player) posted(rank int32, k uint32) int64 {
	w := &x.lanes[rank]
	switch {
	case w.early == nil || w.early[x.p.Lanes[rank].Calls[k].Path] == nil:
		return w.entered[k]
	case k == 0:
		return w.entered[k] - w.gaps[k]
	}
	return w.left[k-1]
}

// enter has a rank enter its next call.
func (x *player) enter(rank int32, at int64) {
	l, w := &x.p.Lanes[rank], &x.lanes[rank]
	k := w.next
	w.entered[k] = at
	w.next++
	if x.with != nil {
		x.with.entered(x, k)
	}
	for ; w.arrive < len(l.Arrives) && l.Arrives[w.arrive].Call == k; w.arrive++ {
		for _, c := range x.rules {
			if c.Kind == Remove && c.holds(x.p.first+int(rank)) && c.part(l.Paths[l.Calls[k].Path]) > 0 {
				at = math.MinInt64 // nobody waits for it
			}
		}
		if a := &l.Arrives[w.arrive]; x.with != nil {
			x.with.arrive(a.Meet, at, a.Bytes)
		} else {
			x.arrive(a, at)
		}
	}
}

// look has a rank enter its calls when it did, and finds how long it waited in them.
func (x *player) look(rank int32) {
	l, w := &x.p.Lanes[rank], &x.lanes[rank]
	if w.next == 0 {
		w.inside = true
		for t := l.Begin; int(w.next) < len(l.Calls); {
			k := w.next
			x.enter(rank, t+l.Calls[k].Gap)
			w.left[k] = w.entered[k]
			t += l.Calls[k].Gap + l.Calls[k].Took
		}
		x.wake(w)
	}
	for ; w.need < len(l.Needs); w.need++ {
		t, _, known := x.until(int(rank), w.need)
		if !known {
			return
		}
		k := l.Needs[w.need].Call
		w.left[k] = max(w.left[k], t)
	}
	w.inside = false
}

// wake has those go on who have waited for a rank that has got far enough.
func (x *player) wake(w *way) {
	rest := w.waiting[:0]
	for _, one := range w.waiting {
		if one.call < w.next {
			x.ready = append(x.ready, one.rank)
		} else {
			rest = append(rest, one)
		}
	}
	w.waiting = rest
}

// until is when what a call needs was sent, if that is known by now, and what another network then takes; otherwise the rank
// will be woken.
func (x *player) until(rank, need int) (t, takes int64, known bool) {
	l := &x.p.Lanes[rank]
	n := &l.Needs[need]
	bytes := n.Bytes
	switch {
	case n.By < 0 && !x.p.Meets[l.Arrives[n.Theirs].Meet].waits(&l.Arrives[n.Theirs]):
		return math.MinInt64, 0, true // nobody waits before the beginning
	case x.with != nil:
		if t, bytes, known = x.with.until(l, need); !known {
			return 0, 0, false
		}
	case n.By >= 0:
		other := &x.lanes[n.By]
		if n.Theirs >= other.next {
			other.waiting = append(other.waiting, waiter{int32(rank), n.Theirs})
			return 0, 0, false
		}
		if t = other.entered[n.Theirs]; n.Pattern == LateReceiver {
			t = x.posted(n.By, n.Theirs)
		}
	default:
		a := &l.Arrives[n.Theirs]
		m := &x.meets[a.Meet]
		if t, bytes, known = m.over(x.p.Meets[a.Meet], a); !known {
			m.waiting = append(m.waiting, int32(rank))
			return 0, 0, false
		}
	}
	path := l.Paths[l.Calls[n.Call].Path]
	for _, c := range x.rules {
		switch {
		case !c.holds(x.p.first+rank) || c.part(path) == 0:
		case c.Kind == Remove && n.By < 0:
			return math.MinInt64, 0, true
		case c.Kind == Prompt && c.Pattern == n.Pattern:
			t = math.MinInt64
		case c.Kind == Network && !l.Calls[n.Call].Stays:
			takes = int64(c.Latency + math.Floor(c.PerByte*float64(bytes)))
		}
	}
	return t, takes, true
}

// arrive has a rank enter an operation.
func (x *player) arrive(a *Arrive, now int64) {
	what, m := x.p.Meets[a.Meet], &x.meets[a.Meet]
	m.arrived++
	m.last, m.bytes = max(m.last, now), max(m.bytes, a.Bytes)
	known := what.Kind == FromRoot && a.Root // until when some wait: who asks sooner would ask again and again
	if a.Root {
		m.root, m.rooted = now, true
	}
	if what.Kind == Prefix {
		if m.times == nil {
			m.times = map[uint32]int64{}
		}
		m.times[a.Me] = now
		for {
			t, known := m.times[uint32(len(m.before))]
			if !known {
				break
			}
			if n := len(m.before); n > 0 {
				t = max(t, m.before[n-1])
			}
			m.before, known = append(m.before, t), true
		}
	}
	if known || m.arrived >= what.Size {
		x.ready = append(x.ready, m.waiting...)
		m.waiting = nil
	}
}

// waits tells whether a member waits for others.
func (m Meet) waits(a *Arrive) bool {
	switch m.Kind {
	case FromRoot:
		return !a.Root
	case ToRoot:
		return a.Root
	case Prefix:
		return a.Me > 0
	}
	return true
}

// over tells until when a member waits who does, if that is known, and for how many bytes.
func (m *meeting) over(what Meet, a *Arrive) (t int64, bytes uint64, known bool) {
	switch what.Kind {
	case FromRoot:
		return m.root, a.Bytes, m.rooted
	case Prefix:
		if int(a.Me) > len(m.before) {
			return 0, 0, false
		}
		return m.before[a.Me-1], a.Bytes, true
	}
	return m.last, m.bytes, m.arrived >= what.Size
}
