package waitstate

import (
	"cmp"
	"math"
	"slices"

	"marple/analysis/callgraph"
	"marple/analysis/stat"
)

// Bounds of what is explained; the longest waits are.
const (
	// MostWaits of all ranks together go to rank 0, which follows the causes from wait to wait: 64 bytes each.
	MostWaits = 1 << 20
	// LeastWaits of a rank are explained, however many ranks there are.
	LeastWaits = 64
	// MostInterval is how many calls back the behaviour of two ranks is compared.
	MostInterval = 1 << 14
)

// explain finds the delays that caused the waits, and the critical path (Böhme et al., Identifying the root
// causes of wait states in large-scale parallel applications, 2010; Böhme et al., Scalable critical-path based
// performance analysis, 2012).
//
// A rank that waits for another compares what both did since they were last in step. What the other did longer is
// the delay: outside MPI, inside it, and without a core each by itself, because ranks that do different things take
// different paths, and within these path by path. Of what the other waited meanwhile a share is passed on to those it waited for:
// the cost of a wait is divided between delays and waits in proportion to their time. So the cost of all delays
// is the time of all waits.
func (x *replay) explain(waits []waited, table *Table) error {
	kept := x.longest(waits)
	if err := x.compare(kept); err != nil {
		return err
	}
	var err error
	if x.segments, err = x.solve(); err != nil {
		return err
	}
	table.Delays = x.delayTable()
	table.Critical, table.Length, table.Useful = x.criticalTable(x.segments)
	table.Explained = 1
	return nil
}

// longest are the waits that are explained, in the order of calls.
func (x *replay) longest(waits []waited) []waited {
	most := max(LeastWaits, MostWaits/x.t.Ranks())
	kept := slices.DeleteFunc(slices.Clone(waits), func(w waited) bool { return int(w.call) >= x.r.Main })
	if len(kept) > most {
		slices.SortStableFunc(kept, func(a, b waited) int { return cmp.Compare(x.r.duration(&b), x.r.duration(&a)) })
		kept = kept[:most]
		slices.SortFunc(kept, func(a, b waited) int { return cmp.Compare(a.call, b.call) })
	}
	x.r.Lost.Small = uint64(len(waits) - len(kept))
	for i := range waits {
		x.r.Lost.SmallNs += uint64(x.r.duration(&waits[i]))
	}
	for i := range kept {
		x.r.Lost.SmallNs -= uint64(x.r.duration(&kept[i]))
	}
	x.kept = kept
	return kept
}

// share is a path's part in the time between two points.
type share struct {
	path  callgraph.ID
	class uint8
	ns    int64
}

// Classes of time that are compared with each other.
const (
	outside uint8 = iota // of MPI
	inside
	coreless
	classes
)

// spent adds up by path what this rank did after call `after` (NotDone: since the beginning) and before call
// `before`, without its waits, of which it gives the first and the last+1.
//
// The shares are good until it is called again.
func (x *replay) spent(after, before uint32) (shares []share, low, high int) {
	first := 0
	if after != NotDone {
		first = int(after) + 1
	}
	first = max(first, int(before)-MostInterval)
	w := x.covering(first, int(before))
	x.tallyGap(w, int(before), 1)
	shares = x.sharesOf(w, x.shares[:0])
	x.tallyGap(w, int(before), -1)
	low, high = x.keptFrom(first), x.keptFrom(int(before))
	x.shares = shares
	return shares, low, high
}

// lastInStep finds when this rank and the one it waits for were last in step before: as calls of both and the time within
// these, or as the number of an operation on a communicator, of which all go on together.
func (x *replay) lastInStep(w *waited) (mine, theirs uint32, when int64, comm uint64) {
	mine, theirs, when = NotDone, NotDone, math.MaxInt64
	list := x.steps[w.by]
	at, _ := slices.BinarySearchFunc(list, w.call, func(s step, c uint32) int { return cmp.Compare(s.mine, c) })
	for at--; at >= 0; at-- {
		if list[at].theirs < w.theirs {
			mine, theirs, when = list[at].mine, list[at].theirs, list[at].at
			break
		}
	}
	for id, c := range x.together {
		at, _ := slices.BinarySearch(c.done, w.call)
		if at == 0 || mine != NotDone && c.done[at-1] <= mine || !isMember(c.comm, w.by) {
			continue
		}
		mine, theirs, when, comm = c.done[at-1], c.ordinal[at-1], math.MaxInt64, id
	}
	return mine, theirs, when, comm
}

func isMember(c *Comm, rank int32) bool {
	for _, run := range c.Members {
		step := int64(run.Stride)
		offset := int64(rank) - int64(run.First)
		if run.Count == 1 || step == 0 {
			if offset == 0 {
				return true
			}
		} else if offset%step == 0 && offset/step >= 0 && offset/step < int64(run.Count) {
			return true
		}
	}
	return false
}

// delay is a path's part in an excess.
type delay struct {
	path callgraph.ID
	ns   float64
}

// excuse is what this rank knows of a wait for it: what it did longer than the one that waited.
type excuse struct {
	pattern   Pattern
	rank      int32 // that waited
	index     int   // of its wait
	call      uint32
	shares    []delay
	sum       int64
	low, high int // own waits meanwhile
	// rest is for how long the call in which both were last in step, that of wait low-1, waited on for another rank.
	rest   int64
	direct float64
	passed float64
}

// compare tells those that were waited for what the waiting rank did meanwhile, and has them compare.
func (x *replay) compare(kept []waited) error {
	for _, list := range x.steps {
		slices.SortFunc(list, func(a, b step) int {
			return cmp.Or(cmp.Compare(a.mine, b.mine), cmp.Compare(a.theirs, b.theirs), cmp.Compare(a.at, b.at))
		})
	}
	told := map[int32]*out{}
	for i := range kept {
		w := &kept[i]
		mine, theirs, when, comm := x.lastInStep(w)
		shares, _, _ := x.spent(mine, w.call)
		if told[w.by] == nil {
			told[w.by] = &out{}
		}
		o := told[w.by]
		o.number(uint64(i))
		o.number(uint64(w.pattern))
		o.number(uint64(w.theirs))
		o.word(comm)
		o.number(uint64(theirs))
		o.signed(when)
		o.number(uint64(len(shares)))
		for _, s := range shares {
			o.word(uint64(s.path))
			o.number(uint64(s.class))
			o.number(uint64(s.ns))
		}
	}
	arrived, err := x.deliver(told)
	if err != nil {
		return err
	}
	slices.SortFunc(arrived, func(a, b packet) int { return cmp.Compare(a.from, b.from) })
	theirs := map[callgraph.ID]int64{}
	for _, p := range arrived {
		for i := (in{data: p.data}); len(i.data) > 0; {
			e := excuse{rank: int32(p.from), index: int(i.number()), pattern: Pattern(i.number()), call: uint32(i.number())}
			comm, after, when := i.word(), uint32(i.number()), i.signed()
			clear(theirs)
			var sums [classes]int64
			for n := i.count(); n > 0; n-- {
				path, class, ns := callgraph.ID(i.word()), i.number()%uint64(classes), int64(i.number())
				theirs[path] += ns
				sums[class] += ns
			}
			if i.bad {
				return errDamaged
			}
			if int(e.call) >= x.r.Main {
				continue // another thread's: what it did before is not known
			}
			if comm != 0 {
				after = x.operation(comm, after)
			}
			if after != NotDone && after >= e.call {
				after = e.call - 1
			}
			x.excuses = append(x.excuses, x.excess(e, after, when, theirs, sums))
		}
	}
	return nil
}

// operation gives the call that completed an operation of a communicator.
func (x *replay) operation(comm uint64, ordinal uint32) uint32 {
	c := x.together[comm]
	if c == nil {
		return NotDone
	}
	if at, ok := slices.BinarySearch(c.ordinal, ordinal); ok {
		return c.done[at]
	}
	return NotDone
}

// excess compares what was done since a call, within which both were in step. theirs is the other rank's time by path, and by
// class.
func (x *replay) excess(e excuse, after uint32, when int64, theirs map[callgraph.ID]int64, classTheirs [classes]int64) excuse {
	var own []share
	own, e.low, e.high = x.spent(after, e.call)
	if e.low > 0 && x.kept[e.low-1].call == after {
		w := &x.kept[e.low-1]
		e.rest = max(0, w.until-max(when, x.r.Calls[after].Start))
	}
	var sums, over [classes]int64 // of the class as a whole, and of those of its paths that took longer
	for _, s := range own {
		sums[s.class] += s.ns
		over[s.class] += max(s.ns-theirs[s.path], 0)
	}
	for class := range sums {
		sums[class] = max(sums[class]-classTheirs[class], 0)
		e.sum += sums[class]
	}
	for _, s := range own {
		if longer := s.ns - theirs[s.path]; longer > 0 && sums[s.class] > 0 {
			e.shares = append(e.shares, delay{s.path, float64(longer) * float64(sums[s.class]) / float64(over[s.class])})
		}
	}
	if e.sum == 0 && e.low == e.high && e.rest == 0 { // nothing took longer: then what came last
		e.shares, e.sum = []delay{{x.r.Paths[x.r.Calls[e.call].Gap], 1}}, 1
	}
	return e
}

// A node is one wait, as rank 0 sees it.
type node struct {
	call, theirs uint32
	by           int32
	start, until int64
	excuse       int32 // index among those of the rank waited for; -1: none
	sum          int64 // of its excess
	low, high    int32 // its waits meanwhile
	rest         int64 // of its wait low-1
	passed       float64
}

// latest is the last wait of the rank waited for to which a wait passes on; -1: there is none.
func (n *node) latest() int32 {
	if n.excuse >= 0 && (n.high > n.low || n.rest > 0) {
		return n.high - 1
	}
	return -1
}

// segment is a part of the critical path.
type segment struct{ from, to int64 }

// solve has rank 0 follow all causes, and gives this rank's share in the critical path.
func (x *replay) solve() ([]segment, error) {
	o := out{}
	r := x.r
	end := r.End
	if r.Main > 0 {
		end = r.Calls[r.Main-1].Start
	}
	o.signed(r.Begin)
	o.signed(end)
	o.number(uint64(max(r.Main, 1) - 1))
	o.number(uint64(len(x.kept)))
	for i := range x.kept {
		w := &x.kept[i]
		o.number(uint64(w.call))
		o.number(uint64(w.theirs))
		o.number(uint64(w.by))
		o.signed(r.Calls[w.call].Start)
		o.signed(w.until)
	}
	o.number(uint64(len(x.excuses)))
	for i := range x.excuses {
		e := &x.excuses[i]
		o.number(uint64(e.rank))
		o.number(uint64(e.index))
		o.number(uint64(e.sum))
		o.number(uint64(e.low))
		o.number(uint64(e.high))
		o.number(uint64(e.rest))
	}
	all, err := collect(x.t, packet{uint32(x.rank), 0, o})
	if err != nil {
		return nil, err
	}
	var answers []packet
	if x.rank == 0 {
		s, err := newSolver(x.t.Ranks(), all)
		if err != nil {
			return nil, err
		}
		answers = s.answers()
	}
	answers, err = route(x.t, answers)
	if err != nil {
		return nil, err
	}
	var segments []segment
	for _, p := range answers {
		i := in{data: p.data}
		for n := range x.excuses {
			x.excuses[n].direct = math.Float64frombits(i.word())
			x.excuses[n].passed = math.Float64frombits(i.word())
		}
		for n := i.count(); n > 0; n-- {
			segments = append(segments, segment{i.signed(), i.signed()})
		}
		if i.bad {
			return nil, errDamaged
		}
	}
	return segments, nil
}

// collect brings one packet of each rank to rank 0, along a binomial tree.
func collect(t Transport, own packet) ([]packet, error) {
	rank, ranks := t.Rank(), t.Ranks()
	list := []packet{own}
	for bit := 1; bit < ranks; bit <<= 1 {
		if rank&bit != 0 {
			return nil, t.Send(rank-bit, encodePackets(list))
		}
		if rank+bit < ranks {
			more, err := receivePackets(t, uint32(rank+bit))
			if err != nil {
				return nil, err
			}
			list = append(list, more...)
		}
	}
	return list, nil
}

// solver is rank 0's view of all waits.
type solver struct {
	begin, end []int64 // by rank: when it began, and entered its last call
	last       []uint32
	waits      [][]node // by rank, in the order of calls
	direct     [][]float64
	passed     [][]float64 // by rank and excuse
	segments   [][]segment
}

func newSolver(ranks int, all []packet) (*solver, error) {
	s := &solver{begin: make([]int64, ranks), end: make([]int64, ranks), last: make([]uint32, ranks), waits: make([][]node, ranks),
		direct: make([][]float64, ranks), passed: make([][]float64, ranks), segments: make([][]segment, ranks)}
	readers := make([]in, ranks)
	for _, p := range all {
		rank := int(p.from)
		if rank >= ranks {
			return nil, errDamaged
		}
		i := &readers[rank]
		i.data = p.data
		s.begin[rank], s.end[rank], s.last[rank] = i.signed(), i.signed(), uint32(i.number())
		for n := i.count(); n > 0; n-- {
			w := node{excuse: -1}
			w.call, w.theirs, w.by = uint32(i.number()), uint32(i.number()), int32(i.number())
			w.start, w.until = i.signed(), i.signed()
			if w.by < 0 || int(w.by) >= ranks {
				return nil, errDamaged
			}
			s.waits[rank] = append(s.waits[rank], w)
		}
	}
	for rank := range readers {
		i := &readers[rank]
		n := i.count()
		s.direct[rank], s.passed[rank] = make([]float64, n), make([]float64, n)
		for k := range n {
			waiter, index := int(i.number()), int(i.number())
			sum, low, high, rest := i.number(), i.number(), i.number(), i.number()
			if i.bad || waiter >= ranks || index >= len(s.waits[waiter]) || low > high || high > uint64(len(s.waits[rank])) || rest > 0 && low == 0 {
				return nil, errDamaged
			}
			w := &s.waits[waiter][index]
			w.excuse, w.sum, w.low, w.high, w.rest = int32(k), int64(sum), int32(low), int32(high), int64(rest)
		}
	}
	s.spread()
	s.follow()
	return s, nil
}

// spread divides the cost of every wait between the delay of the rank that was waited for and that rank's own
// waits, the latest wait first: what a wait passes on goes to earlier ones only.
func (s *solver) spread() {
	order := s.latestFirst()
	waiting := make([][]int64, len(s.waits)) // time waited before each
	for rank, list := range s.waits {
		sums := make([]int64, len(list)+1)
		for i := range list {
			sums[i+1] = sums[i] + list[i].until - list[i].start
		}
		waiting[rank] = sums
	}
	// rates[rank][i]: cost per ns that begins to apply below wait i; running, that applies now.
	// parts[rank][i]: cost that is passed on to wait i for a part of it only.
	rates, parts := make([][]float64, len(s.waits)), make([][]float64, len(s.waits))
	running := make([]float64, len(s.waits))
	for rank, list := range s.waits {
		rates[rank], parts[rank] = make([]float64, len(list)+1), make([]float64, len(list))
	}
	next := make([]int, len(s.waits))
	for rank, list := range s.waits {
		next[rank] = len(list)
	}
	for _, at := range order {
		w := &s.waits[at.rank][at.index]
		for next[at.rank] > int(at.index) {
			running[at.rank] += rates[at.rank][next[at.rank]]
			next[at.rank]--
		}
		own := float64(w.until - w.start)
		w.passed = running[at.rank]*own + parts[at.rank][at.index]
		if w.excuse < 0 {
			continue
		}
		if int(w.low) > next[w.by] { // clocks disagree: what is behind has had its share
			w.rest = 0
		}
		meanwhile := waiting[w.by][w.high] - waiting[w.by][w.low] + w.rest
		whole := float64(w.sum + meanwhile)
		if whole == 0 {
			continue
		}
		part := float64(w.sum) / whole
		s.direct[w.by][w.excuse] += own * part
		s.passed[w.by][w.excuse] += w.passed * part
		rate := (own + w.passed) / whole
		if w.rest > 0 {
			parts[w.by][w.low-1] += rate * float64(w.rest)
		}
		if w.high > w.low {
			for _, edge := range []struct {
				at   int
				rate float64
			}{{int(w.high), rate}, {int(w.low), -rate}} {
				if edge.at > next[w.by] { // clocks disagree: what is behind has had its share
					running[w.by] += edge.rate
				} else {
					rates[w.by][edge.at] += edge.rate
				}
			}
		}
	}
}

type place struct{ rank, index int32 }

// latestFirst orders all waits such that each comes before those it passes cost on to. Those ended before it did,
// or at the same instant.
func (s *solver) latestFirst() []place {
	type key struct {
		until int64
		depth int32 // of waits that ended at the same instant and led to this one
		known bool
	}
	keys := make([][]key, len(s.waits))
	for rank, list := range s.waits {
		keys[rank] = make([]key, len(list))
	}
	var order, chain []place
	for rank, list := range s.waits {
		for i := range list {
			at := place{int32(rank), int32(i)}
			order = append(order, at)
			for chain = chain[:0]; !keys[at.rank][at.index].known; {
				w := &s.waits[at.rank][at.index]
				keys[at.rank][at.index] = key{w.until, 0, true}
				chain = append(chain, at)
				last := w.latest()
				if last < 0 || s.waits[w.by][last].until < w.until {
					break
				}
				at = place{w.by, last}
			}
			for n := len(chain) - 1; n >= 0; n-- {
				w, k := &s.waits[chain[n].rank][chain[n].index], &keys[chain[n].rank][chain[n].index]
				if last := w.latest(); last >= 0 {
					if earlier := keys[w.by][last]; earlier.known && earlier.until >= w.until {
						k.until, k.depth = earlier.until, earlier.depth+1
					}
				}
			}
		}
	}
	slices.SortFunc(order, func(a, b place) int {
		x, y := keys[a.rank][a.index], keys[b.rank][b.index]
		return cmp.Or(cmp.Compare(y.until, x.until), cmp.Compare(y.depth, x.depth), cmp.Compare(a.rank, b.rank), cmp.Compare(b.index, a.index))
	})
	return order
}

// follow goes back from the rank that came last: where it had waited, the path goes on at the rank that it waited
// for.
func (s *solver) follow() {
	rank, most := 0, 1
	for i, end := range s.end {
		if end > s.end[rank] {
			rank = i
		}
		most += len(s.waits[i])
	}
	at, before := s.end[rank], s.last[rank]
	for ; most > 0; most-- { // damage might make a circle of them
		list := s.waits[rank]
		i, _ := slices.BinarySearchFunc(list, before, func(w node, c uint32) int { return cmp.Compare(w.call, c) })
		if i == 0 {
			s.segments[rank] = append(s.segments[rank], segment{s.begin[rank], at})
			return
		}
		w := &list[i-1]
		s.segments[rank] = append(s.segments[rank], segment{w.until, at})
		rank, at, before = int(w.by), w.until, w.theirs
	}
}

// answers tell each rank what its excuses cost, and its parts of the critical path.
func (s *solver) answers() []packet {
	var list []packet
	for rank := range s.waits {
		o := out{}
		for i := range s.direct[rank] {
			o.word(math.Float64bits(s.direct[rank][i]))
			o.word(math.Float64bits(s.passed[rank][i]))
		}
		o.number(uint64(len(s.segments[rank])))
		for _, g := range s.segments[rank] {
			o.signed(g.from)
			o.signed(g.to)
		}
		list = append(list, packet{0, uint32(rank), o})
	}
	return list
}

// delayTable divides the cost of this rank's delays between its paths.
func (x *replay) delayTable() []Delay {
	type row struct {
		pattern Pattern
		path    callgraph.ID
	}
	type cost struct{ direct, passed float64 }
	costs := map[row]cost{}
	for i := range x.excuses {
		e := &x.excuses[i]
		for _, s := range e.shares {
			part := s.ns / float64(e.sum)
			c := costs[row{e.pattern, s.path}]
			costs[row{e.pattern, s.path}] = cost{c.direct + e.direct*part, c.passed + e.passed*part}
		}
	}
	var list []Delay
	for r, c := range costs {
		d := Delay{Pattern: r.pattern, Path: r.path, Direct: uint64(c.direct + 0.5), Passed: uint64(c.passed + 0.5)}
		if d.Direct+d.Passed > 0 {
			d.Ranks = []stat.Ranked{{Rank: x.rank, Value: d.Direct + d.Passed, Other: d.Direct}}
			list = append(list, d)
		}
	}
	slices.SortFunc(list, compareDelay)
	return list
}

// criticalTable divides this rank's parts of the critical path between its paths.
func (x *replay) criticalTable(segments []segment) (steps []Step, length, useful uint64) {
	r := x.r
	sums := map[callgraph.ID]uint64{}
	for _, g := range segments {
		length += uint64(max(g.to-g.from, 0))
		i, _ := slices.BinarySearchFunc(r.Calls[:r.Main], g.from, func(c Call, t int64) int { return cmp.Compare(c.End, t) })
		for ; i < r.Main; i++ {
			c := &r.Calls[i]
			before := r.Begin
			if i > 0 {
				before = r.Calls[i-1].End
			}
			if before >= g.to {
				break
			}
			if ns := min(c.Start, g.to) - max(before, g.from); ns > 0 {
				off := min(c.OffCore, ns)
				sums[r.Paths[c.Gap]] += uint64(ns - off)
				useful += uint64(ns - off)
				if off > 0 {
					sums[r.Paths[r.OffCore]] += uint64(off)
				}
			}
			if ns := min(c.End, g.to) - max(c.Start, g.from); ns > 0 {
				sums[r.Paths[c.Path]] += uint64(ns)
			}
		}
	}
	for path, ns := range sums {
		steps = append(steps, Step{Path: path, Ns: ns, Ranks: []stat.Ranked{{Rank: x.rank, Value: ns}}})
	}
	slices.SortFunc(steps, func(a, b Step) int { return cmp.Compare(a.Path, b.Path) })
	return steps, length, useful
}
