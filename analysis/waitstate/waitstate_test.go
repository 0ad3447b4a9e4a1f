package waitstate

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"marple/analysis/callgraph"
	"marple/analysis/record"
)

// link is a transport in memory; a send waits for its receive, as MPI's may.
type link struct {
	rank  int
	wires [][]chan []byte // from, to
}

func (l link) Rank() int  { return l.rank }
func (l link) Ranks() int { return len(l.wires) }
func (l link) Send(to int, data []byte) error {
	l.wires[l.rank][to] <- data
	return nil
}
func (l link) Receive(from int) ([]byte, error) { return <-l.wires[from][l.rank], nil }

// replayAll replays ranks together, and merges what they find in the order given.
func replayAll(t require.TestingT, ranks []*Rank) Table {
	wires := make([][]chan []byte, len(ranks))
	for i := range wires {
		wires[i] = make([]chan []byte, len(ranks))
		for j := range wires[i] {
			wires[i][j] = make(chan []byte)
		}
	}
	tables, errs := make([]Table, len(ranks)), make([]error, len(ranks))
	var all sync.WaitGroup
	for i, r := range ranks {
		r.number()
		all.Add(1)
		go func() {
			defer all.Done()
			tables[i], errs[i] = Replay(r, link{rank: i, wires: wires})
		}()
	}
	all.Wait()
	var merged Table
	for i := range tables {
		require.NoError(t, errs[i])
		var read Table
		require.NoError(t, read.Decode(tables[i].Encode()))
		merged = Merge(merged, read, 1000)
	}
	return merged
}

// A world is a naive global simulator: it runs a program of all ranks in one sequence, and knows everything.
type world struct {
	ranks []*Rank
	now   []int64
	gap   []uint32
	off   []int64
	waits []wait // of all ranks
	needs []wait // rank's call cannot end before theirs is entered
	sends map[stream][]end
	posts map[stream][]end
	comms []Comm
	all   [][]aligned // by rank

	latency int64  // of messages
	work    int64  // of calls, beside waiting
	crowded *world // where the same happens, but ranks have not always a core
}

type stream struct {
	from, to int
	tag      int32
}

// end is one end of a message.
type end struct {
	call uint32
	time int64
	sync bool
	use  int // index in Sends or Receives
}

// wait is what the simulator knows of one.
type wait struct {
	rank, by     int
	call, theirs uint32
	pattern      Pattern
	until        int64
	asked        int64 // end of the call
}

// aligned is an operation within which ranks were in step, from a time on.
type aligned struct {
	mine, theirs uint32
	with         int
	at           int64
}

const latency = 3 // unless a world has another one

// Paths: 0 is no core, 1 to 8 are computations, 10+k the calls of kind k.
func newWorld(ranks int, comms []Comm) *world {
	w := &world{now: make([]int64, ranks), gap: make([]uint32, ranks), off: make([]int64, ranks), comms: comms, latency: latency,
		sends: map[stream][]end{}, posts: map[stream][]end{}, all: make([][]aligned, ranks)}
	for range ranks {
		r := &Rank{}
		for i := range 30 {
			r.Paths = append(r.Paths, callgraph.ID(i))
		}
		w.ranks = append(w.ranks, r)
	}
	for rank, r := range w.ranks {
		for _, c := range comms {
			c.Me = -1
			for k := range int32(c.Size) {
				if worldRank(c.Members, k) == int32(rank) {
					c.Me = k
				}
			}
			r.Comms = append(r.Comms, c)
		}
		w.gap[rank] = 1
	}
	return w
}

func (w *world) compute(rank int, ns int64, path uint32) {
	w.now[rank] += ns
	w.gap[rank] = path
}

// enter begins a call, which takes no time unless leave says so.
func (w *world) enter(rank int, kind uint32) uint32 {
	r := w.ranks[rank]
	r.Calls = append(r.Calls, Call{Start: w.now[rank], End: w.now[rank], Path: 10 + kind, Gap: w.gap[rank], OffCore: w.off[rank]})
	r.Main++
	w.off[rank] = 0
	return uint32(len(r.Calls) - 1)
}

func (w *world) leave(rank int, call uint32, at int64) {
	w.now[rank] = max(w.now[rank], at)
	w.ranks[rank].Calls[call].End = w.now[rank]
}

func (w *world) waited(rank int, call uint32, p Pattern, by int, theirs uint32, until int64) {
	start := w.ranks[rank].Calls[call].Start
	if until <= start || by == rank {
		return
	}
	for i := range w.waits {
		if x := &w.waits[i]; x.rank == rank && x.call == call {
			if until > x.until || until == x.until && by < x.by {
				*x = wait{rank, by, call, theirs, p, until, 0}
			}
			return
		}
	}
	w.waits = append(w.waits, wait{rank, by, call, theirs, p, until, 0})
}

// send starts a message. A synchronous one that blocks has its receive posted already.
func (w *world) send(from, to int, tag int32, synchronous, blocking bool) {
	s := stream{from, to, tag}
	kind := uint32(1)
	if blocking && synchronous {
		kind = 9
	}
	call := w.enter(from, kind)
	k := len(w.sends[s])
	r := w.ranks[from]
	m := Message{Comm: 7, Peer: int32(to), Tag: tag, At: call, Done: NotDone}
	if blocking {
		m.Done = call
	}
	m.Synchronous = synchronous
	r.Sends = append(r.Sends, m)
	w.sends[s] = append(w.sends[s], end{call, w.now[from], synchronous, len(r.Sends) - 1})
	if blocking {
		w.leave(from, call, w.now[from]+min(w.latency, 1))
	}
	if blocking && synchronous {
		w.finishSend(s, k, call)
	}
}

// finishSend: call waits until the receive is posted.
func (w *world) finishSend(s stream, k int, call uint32) {
	post := w.posts[s][k]
	w.needs = append(w.needs, wait{rank: s.from, call: call, by: s.to, theirs: post.call})
	w.ranks[s.from].Sends[w.sends[s][k].use].Done = call
	start := w.ranks[s.from].Calls[call].Start
	w.leave(s.from, call, max(w.now[s.from], post.time+w.latency)+w.work)
	if post.time > start {
		w.waited(s.from, call, LateReceiver, s.to, post.call, post.time)
		w.inStep(s.from, call, s.to, post.call, post.time)
	}
}

func (w *world) inStep(a int, mine uint32, b int, theirs uint32, at int64) {
	w.all[a] = append(w.all[a], aligned{mine, theirs, b, at})
	w.all[b] = append(w.all[b], aligned{theirs, mine, a, at})
}

func (w *world) post(from, to int, tag int32) uint32 {
	s := stream{from, to, tag}
	call := w.enter(to, 2)
	r := w.ranks[to]
	r.Receives = append(r.Receives, Message{Comm: 7, Peer: int32(from), Tag: tag, At: call, Done: NotDone})
	w.posts[s] = append(w.posts[s], end{call, w.now[to], false, len(r.Receives) - 1})
	return call
}

// finishReceive: call waits until the message was sent.
func (w *world) finishReceive(s stream, k int, call uint32) {
	sent := w.sends[s][k]
	w.needs = append(w.needs, wait{rank: s.to, call: call, by: s.from, theirs: sent.call})
	w.ranks[s.to].Receives[w.posts[s][k].use].Done = call
	start := w.ranks[s.to].Calls[call].Start
	w.leave(s.to, call, max(w.now[s.to], sent.time+w.latency)+w.work)
	if sent.time > start {
		w.waited(s.to, call, LateSender, s.from, sent.call, sent.time)
		w.inStep(s.to, call, s.from, sent.call, sent.time)
	}
}

var patternOf = map[Kind]Pattern{AllToAll: WaitAtNxN, ToRoot: EarlyReduce, FromRoot: LateBroadcast, Prefix: EarlyScan}

func (w *world) collective(comm int, kind Kind, root int32) {
	c := w.comms[comm]
	var members []int
	for k := range int32(c.Size) {
		members = append(members, int(worldRank(c.Members, k)))
	}
	calls := make([]uint32, len(members))
	enter := make([]int64, len(members))
	for k, rank := range members {
		calls[k] = w.enter(rank, 3+uint32(kind))
		enter[k] = w.now[rank]
		r := w.ranks[rank]
		r.Collectives = append(r.Collectives,
			Collective{Comm: uint32(comm), Kind: kind, Pattern: patternOf[kind], Root: root, At: calls[k], Done: calls[k]})
	}
	for k, rank := range members {
		last := -1
		for j, other := range members {
			depends := kind == AllToAll || kind == ToRoot && k == int(root) && j != k ||
				kind == FromRoot && k != int(root) && j == int(root) || kind == Prefix && j < k
			if depends && j != k {
				w.needs = append(w.needs, wait{rank: rank, call: calls[k], by: other, theirs: calls[j]})
			}
			if depends && (last < 0 || enter[j] > enter[last] || enter[j] == enter[last] && other < members[last]) {
				last = j
			}
		}
		at := enter[k]
		if last >= 0 {
			at = max(at, enter[last]+w.latency)
		}
		w.leave(rank, calls[k], at+w.work)
		if last >= 0 {
			w.waited(rank, calls[k], patternOf[kind], members[last], calls[last], enter[last])
		}
		if last >= 0 && kind != AllToAll && enter[last] > enter[k] {
			w.all[rank] = append(w.all[rank], aligned{calls[k], calls[last], members[last], enter[last]}) // of which the other does not know
		}
		if kind == AllToAll {
			for j, other := range members {
				if j != k {
					w.all[rank] = append(w.all[rank], aligned{calls[k], calls[j], other, math.MaxInt64})
				}
			}
		}
	}
}

// finish ends the run with an operation of all.
func (w *world) finish() {
	w.collective(0, AllToAll, 0)
	for rank, r := range w.ranks {
		r.End = w.now[rank]
	}
}

// number gives messages and operations their numbers, as reading them from a log does.
func (r *Rank) number() {
	for _, list := range [][]Message{r.Sends, r.Receives} {
		counts := map[any]uint32{}
		for i := range list {
			m := &list[i]
			key := struct {
				envelope
				peer int32
			}{m.envelope(), m.Peer}
			m.Number = counts[key]
			if !m.Peeks {
				counts[key]++
			}
		}
	}
	counts := map[uint32]uint32{}
	for i := range r.Collectives {
		c := &r.Collectives[i]
		c.Number = counts[c.Comm]
		counts[c.Comm]++
	}
}

// table is what has to be found, by definition.
func (w *world) table() []Wait {
	rows := map[string]*Wait{}
	for i := range w.waits {
		x := &w.waits[i]
		c := &w.ranks[x.rank].Calls[x.call]
		p := x.pattern
		if p == LateSender && w.wrongOrder(x, c.End) {
			p = WrongOrder
		}
		path, other := callgraph.ID(c.Path), callgraph.ID(w.ranks[x.by].Calls[x.theirs].Path)
		key := fmt.Sprint(p, path, other)
		if rows[key] == nil {
			rows[key] = &Wait{Pattern: p, Path: path, For: other}
		}
		ns := uint64(x.until - c.Start)
		rows[key].N++
		rows[key].Ns += ns
		rows[key].Max = max(rows[key].Max, ns)
	}
	list := []Wait{}
	for _, r := range rows {
		list = append(list, *r)
	}
	slices.SortFunc(list, compareWait)
	return list
}

func (w *world) wrongOrder(x *wait, after int64) bool {
	for s, posts := range w.posts {
		for k, p := range posts {
			if s.to == x.rank && k < len(w.sends[s]) && p.time >= after && w.sends[s][k].time < x.until {
				return true
			}
		}
	}
	return false
}

// critical walks the critical path backwards, a nanosecond at a time.
func (w *world) critical() map[callgraph.ID]uint64 {
	rank := 0
	last := func(r int) uint32 { return uint32(len(w.ranks[r].Calls) - 1) }
	at := func(r int) int64 { return w.ranks[r].Calls[last(r)].Start }
	for r := range w.ranks {
		if at(r) > at(rank) {
			rank = r
		}
	}
	sums := map[callgraph.ID]uint64{}
	call, inside, now := last(rank), false, at(rank) // before `call`, or inside it
	for now > 0 || call > 0 || inside {
		c := &w.ranks[rank].Calls[call]
		if inside {
			var found *wait
			for i := range w.waits {
				if x := &w.waits[i]; x.rank == rank && x.call == call {
					found = x
				}
			}
			if found != nil && now == found.until {
				rank, call, inside = found.by, found.theirs, false
				continue
			}
			if now == c.Start {
				inside = false
				continue
			}
			sums[callgraph.ID(c.Path)]++
			now--
			continue
		}
		end := int64(0)
		if call > 0 {
			end = w.ranks[rank].Calls[call-1].End
		}
		if now > end {
			sums[callgraph.ID(c.Gap)]++
			now--
			continue
		}
		if call == 0 {
			break
		}
		call, inside = call-1, true
	}
	return sums
}

// ideal is how long the program takes when messages take no time: all that is known of the times is relaxed until
// nothing changes.
func (w *world) ideal() uint64 {
	enter := make([][]int64, len(w.ranks))
	by := map[[2]int][]wait{}
	for _, n := range w.needs {
		key := [2]int{n.rank, int(n.call)}
		by[key] = append(by[key], n)
	}
	for rank, r := range w.ranks {
		enter[rank] = make([]int64, len(r.Calls))
	}
	for changed := true; ; {
		changed = false
		end := int64(0)
		for rank, r := range w.ranks {
			now, last := int64(0), int64(0)
			for c := range r.Calls {
				now += r.Calls[c].Start - last
				last = r.Calls[c].End
				changed = changed || enter[rank][c] != now
				enter[rank][c] = now
				for _, n := range by[[2]int{rank, c}] {
					now = max(now, enter[n.by][n.theirs])
				}
			}
			end = max(end, now)
		}
		if !changed {
			return uint64(end)
		}
	}
}

// costs spreads the cost of each wait by recursion, from the definition.
func (w *world) costs() (direct, passed map[callgraph.ID]float64) {
	direct, passed = map[callgraph.ID]float64{}, map[callgraph.ID]float64{}
	for i := range w.waits {
		x := &w.waits[i]
		w.blame(x, float64(x.until-w.ranks[x.rank].Calls[x.call].Start), direct, passed, direct)
	}
	return direct, passed
}

func (w *world) blame(x *wait, cost float64, direct, passed, here map[callgraph.ID]float64) {
	mine, theirs, at := NotDone, NotDone, int64(math.MaxInt64)
	for _, a := range w.all[x.rank] {
		if a.with == x.by && a.mine < x.call && a.theirs < x.theirs && (mine == NotDone || a.mine > mine || a.mine == mine && (a.theirs > theirs || a.theirs == theirs && a.at > at)) {
			mine, theirs, at = a.mine, a.theirs, a.at
		}
	}
	own, _ := w.did(x.rank, mine, x.call)
	other, meanwhile := w.did(x.by, theirs, x.theirs)
	sum, idle := 0.0, 0.0
	var mineIn, theirsIn, longer [2]float64 // outside MPI, inside it
	class := func(path callgraph.ID) int { return int(path) / 10 % 2 }
	for path, ns := range own {
		mineIn[class(path)] += ns
	}
	for path, ns := range other {
		theirsIn[class(path)] += ns
		longer[class(path)] += max(0, ns-own[path])
	}
	for path, ns := range other {
		c := class(path)
		if other[path] = 0; longer[c] > 0 {
			other[path] = max(0, ns-own[path]) / longer[c] * max(0, theirsIn[c]-mineIn[c])
		}
		sum += other[path]
	}
	lasted := func(y *wait) float64 {
		return float64(y.until - max(w.ranks[y.rank].Calls[y.call].Start, from(y, theirs, at)))
	}
	for i := range w.waits { // the call in which they were in step may have waited on
		if y := &w.waits[i]; y.rank == x.by && y.call == theirs && y.until > at {
			meanwhile = append(meanwhile, y)
		}
	}
	for _, y := range meanwhile {
		idle += lasted(y)
	}
	if sum+idle == 0 {
		here[callgraph.ID(w.ranks[x.by].Calls[x.theirs].Gap)] += cost
		return
	}
	for path, ns := range other {
		here[path] += cost * ns / (sum + idle)
	}
	for _, y := range meanwhile {
		w.blame(y, cost*lasted(y)/(sum+idle), direct, passed, passed)
	}
}

// from is when a wait begins to count: at a time within a call, else at its beginning.
func from(y *wait, call uint32, at int64) int64 {
	if y.call == call {
		return at
	}
	return math.MinInt64
}

func (w *world) did(rank int, after, before uint32) (map[callgraph.ID]float64, []*wait) {
	sums := map[callgraph.ID]float64{}
	var meanwhile []*wait
	r := w.ranks[rank]
	for i := range r.Calls {
		if after != NotDone && uint32(i) <= after || uint32(i) > before {
			continue
		}
		end := int64(0)
		if i > 0 {
			end = r.Calls[i-1].End
		}
		c := &r.Calls[i]
		if ns := c.Start - end; ns > 0 {
			sums[callgraph.ID(c.Gap)] += float64(ns)
		}
		if uint32(i) == before {
			continue
		}
		inside := c.End - c.Start
		for k := range w.waits {
			if x := &w.waits[k]; x.rank == rank && x.call == uint32(i) {
				meanwhile = append(meanwhile, x)
				inside -= x.until - c.Start
			}
		}
		if inside > 0 {
			sums[callgraph.ID(c.Path)] += float64(inside)
		}
	}
	return sums, meanwhile
}

// randomComms are MPI_COMM_WORLD, halves, every third rank, and a pair.
func randomComms(t *rapid.T, ranks int) []Comm {
	comms := []Comm{{ID: 7, Members: []record.Run{{Stride: 1, Count: uint32(ranks)}}, Size: uint32(ranks)}}
	half := uint32(ranks+1) / 2
	if half > 1 {
		comms = append(comms, Comm{ID: 3, Members: []record.Run{{Stride: 1, Count: half}}, Size: half})
	}
	if n := uint32(ranks+2) / 3; n > 1 { // backwards
		comms = append(comms, Comm{ID: 11, Members: []record.Run{{First: (n - 1) * 3, Stride: -3, Count: n}}, Size: n})
	}
	a, b := uint32(rapid.IntRange(0, ranks-1).Draw(t, "a")), uint32(rapid.IntRange(0, ranks-1).Draw(t, "b"))
	if a != b {
		comms = append(comms, Comm{ID: 9, Members: []record.Run{{First: a, Count: 1}, {First: b, Count: 1}}, Size: 2})
	}
	return comms
}

// both does the same where there are cores, and where there are not enough.
func (w *world) both(do func(*world)) {
	do(w)
	if w.crowded != nil {
		do(w.crowded)
	}
}

func (w *world) random(t *rapid.T, steps int) {
	ranks := len(w.ranks)
	anyRank := rapid.IntRange(0, ranks-1)
	type open struct {
		s stream
		k int
	}
	var receives, sends []open // to be waited for
	for range steps {
		for range rapid.IntRange(0, 2).Draw(t, "computations") {
			rank, ns, path := anyRank.Draw(t, "rank"), int64(rapid.IntRange(0, 30).Draw(t, "ns")), uint32(rapid.IntRange(1, 8).Draw(t, "path"))
			w.compute(rank, ns, path)
			if w.crowded != nil {
				off := int64(rapid.IntRange(0, 60).Draw(t, "off core"))
				w.crowded.compute(rank, ns+off, path)
				w.crowded.off[rank] += off
			}
		}
		a, b := anyRank.Draw(t, "from"), anyRank.Draw(t, "to")
		s := stream{a, b, int32(rapid.IntRange(0, 1).Draw(t, "tag"))}
		sent, posted := len(w.sends[s]), len(w.posts[s])
		switch action := rapid.IntRange(0, 6).Draw(t, "action"); {
		case action == 0 && a != b: // a send that needs no receive
			w.both(func(w *world) { w.send(a, b, s.tag, false, true) })
		case action == 1 && a != b: // a receive of what was sent, or will be
			w.both(func(w *world) {
				if call := w.post(a, b, s.tag); posted < sent {
					w.finishReceive(s, posted, call)
				} else {
					w.leave(b, call, w.now[b]+w.work)
				}
			})
			if posted >= sent {
				receives = append(receives, open{s, posted})
			}
		case action == 2 && a != b: // a synchronous send
			if sent < posted {
				w.both(func(w *world) { w.send(a, b, s.tag, true, true) })
			} else {
				w.both(func(w *world) { w.send(a, b, s.tag, true, false) })
				sends = append(sends, open{s, sent})
			}
		case action == 3: // completion
			for i, o := range receives {
				if o.k < len(w.sends[o.s]) {
					w.both(func(w *world) { w.finishReceive(o.s, o.k, w.enter(o.s.to, 8)) })
					receives = slices.Delete(receives, i, i+1)
					break
				}
			}
		case action == 4:
			for i, o := range sends {
				if o.k < len(w.posts[o.s]) {
					w.both(func(w *world) { w.finishSend(o.s, o.k, w.enter(o.s.from, 8)) })
					sends = slices.Delete(sends, i, i+1)
					break
				}
			}
		case action == 5:
			comm := rapid.IntRange(0, len(w.comms)-1).Draw(t, "comm")
			kind, root := Kind(rapid.IntRange(0, 3).Draw(t, "kind")), int32(rapid.IntRange(0, int(w.comms[comm].Size)-1).Draw(t, "root"))
			w.both(func(w *world) { w.collective(comm, kind, root) })
		}
	}
	w.both((*world).finish)
}

func withoutRanks(list []Wait) []Wait {
	list = slices.Clone(list)
	for i := range list {
		list[i].Ranks = nil
	}
	return list
}

// own leaves to each rank what its log has: those communicators only that it is a member of.
func (w *world) own() []*Rank {
	for _, r := range w.ranks {
		renumber := map[uint32]uint32{}
		var comms []Comm
		for i, c := range r.Comms {
			if c.Me >= 0 {
				renumber[uint32(i)] = uint32(len(comms))
				comms = append(comms, c)
			}
		}
		for i := range r.Collectives {
			r.Collectives[i].Comm = renumber[r.Collectives[i].Comm]
		}
		r.Comms = comms
	}
	return w.ranks
}

func (w *world) check(t require.TestingT) Table {
	table := replayAll(t, w.own())
	require.Equal(t, w.table(), withoutRanks(table.Waits))
	require.EqualValues(t, len(w.ranks), table.Explained)
	require.Equal(t, w.ideal(), table.Ideal)

	critical := map[callgraph.ID]uint64{}
	for _, s := range table.Critical {
		critical[s.Path] = s.Ns
	}
	require.Equal(t, w.critical(), critical)

	direct, passed := w.costs()
	got := map[callgraph.ID]Delay{}
	for _, d := range table.Delays {
		got[d.Path] = Delay{Direct: got[d.Path].Direct + d.Direct, Passed: got[d.Path].Passed + d.Passed}
	}
	for path := range direct {
		require.InDelta(t, direct[path], got[path].Direct, float64(4*len(w.ranks)), "direct cost of path %d", path)
		require.InDelta(t, passed[path], got[path].Passed, float64(4*len(w.ranks)), "passed cost of path %d", path)
	}
	return table
}

// Random programs, against the simulator that knows everything.
func TestReplayFindsWhatHappened(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ranks := rapid.IntRange(2, 9).Draw(t, "ranks")
		w := newWorld(ranks, randomComms(t, ranks))
		w.random(t, rapid.IntRange(1, 40).Draw(t, "steps"))
		w.check(t)
	})
}

func TestReplayOnManyRanks(t *testing.T) {
	for _, ranks := range []int{2, 16, 33, 64} {
		rapid.Check(t, func(t *rapid.T) {
			if rapid.IntRange(0, 9).Draw(t, "seldom") > 0 {
				return
			}
			w := newWorld(ranks, randomComms(t, ranks))
			w.random(t, 60)
			w.check(t)
		})
	}
}

// Scenarios computed by hand.

func two(t *testing.T, program func(w *world)) Table {
	w := newWorld(2, []Comm{{ID: 7, Members: []record.Run{{Stride: 1, Count: 2}}, Size: 2}})
	program(w)
	w.finish()
	return w.check(t)
}

func ns(t Table, p Pattern) (sum uint64) {
	for _, w := range t.Waits {
		if w.Pattern == p {
			sum += w.Ns
		}
	}
	return sum
}

func delayOn(t Table, path callgraph.ID) Delay {
	for _, d := range t.Delays {
		if d.Path == path {
			return d
		}
	}
	return Delay{}
}

// Rank 1 computes for 100 on path 5 before it sends; rank 0, after 10 on path 4, waits for 90.
func TestLateSender(t *testing.T) {
	table := two(t, func(w *world) {
		w.compute(0, 10, 4)
		w.compute(1, 100, 5)
		w.send(1, 0, 0, false, true)
		w.finishReceive(stream{1, 0, 0}, 0, w.post(1, 0, 0))
	})
	assert.EqualValues(t, 90, ns(table, LateSender))
	assert.Equal(t, []Pair{{Rank: 0, For: 1, N: 1, Ns: 90}, {Rank: 1, For: 0, N: 1, Ns: 2}}, table.Pairs)
	assert.EqualValues(t, 90, delayOn(table, 5).Direct)
	assert.EqualValues(t, 103, table.Length) // 100, and the message
	assert.Equal(t, Step{Path: 5, Ns: 100, Ranks: table.Critical[0].Ranks}, table.Critical[0])
}

// Rank 0 waits for rank 1 because rank 1 has waited for rank 2: the cost is passed on.
func TestPropagatedDelay(t *testing.T) {
	w := newWorld(3, []Comm{{ID: 7, Members: []record.Run{{Stride: 1, Count: 3}}, Size: 3}})
	w.compute(2, 100, 6)
	w.send(2, 1, 0, false, true)
	w.finishReceive(stream{2, 1, 0}, 0, w.post(2, 1, 0))
	w.send(1, 0, 0, false, true)
	w.finishReceive(stream{1, 0, 0}, 0, w.post(1, 0, 0))
	w.compute(1, 2, 7) // so that all end at once
	w.compute(2, 5, 7)
	w.finish()
	table := w.check(t)
	assert.EqualValues(t, 100+103, ns(table, LateSender))
	delay := delayOn(table, 6)
	assert.EqualValues(t, 100, delay.Direct)
	assert.EqualValues(t, 100, delay.Passed) // 103 for rank 1's 100 of waiting and 3 of receiving
}

// The same, in time: each rank waits from the beginning until the one above has sent, and there the critical path changes.
// In a row of ranks that exchange with their neighbours, now and then one rank takes long. Its neighbour waits for it in the call
// in which it has just been in step with the next one, and so on: all of the waiting is the first one's.
func TestDelayPassedOnThroughExchanges(t *testing.T) {
	const ranks, steps, usual, long = 6, 40, 100, 2000
	w := newWorld(ranks, []Comm{{ID: 7, Members: []record.Run{{Stride: 1, Count: ranks}}, Size: ranks}})
	for step := range steps {
		for rank := range ranks {
			w.compute(rank, usual, 4)
			if rank == 0 && step%10 == 5 {
				w.compute(rank, long, 5)
			}
			for _, to := range []int{rank - 1, rank + 1} {
				if to >= 0 && to < ranks {
					w.send(rank, to, 0, false, false)
					w.post(to, rank, 0)
				}
			}
		}
		for rank := range ranks {
			call := w.enter(rank, 3)
			for _, from := range []int{rank - 1, rank + 1} {
				if from >= 0 && from < ranks {
					w.finishReceive(stream{from, rank, 0}, step, call)
				}
			}
		}
	}
	w.finish()
	var all, first uint64
	for _, d := range replayAll(t, w.ranks).Delays {
		all += d.Direct + d.Passed
		if d.Path == 5 {
			first += d.Direct + d.Passed
		}
	}
	require.Greater(t, all, uint64(4*long*(ranks-1)/2))
	assert.Greater(t, float64(first), 0.95*float64(all))
}

func TestMoments(t *testing.T) {
	w := newWorld(3, []Comm{{ID: 7, Members: []record.Run{{Stride: 1, Count: 3}}, Size: 3}})
	w.compute(2, 100, 6)
	w.send(2, 1, 0, false, true)
	w.finishReceive(stream{2, 1, 0}, 0, w.post(2, 1, 0))
	w.send(1, 0, 0, false, true)
	w.finishReceive(stream{1, 0, 0}, 0, w.post(1, 0, 0))
	w.compute(1, 2, 7)
	w.compute(2, 5, 7)
	w.finish()
	for _, r := range w.ranks {
		r.number()
	}
	table, err := FindAll(slices.Clone(w.ranks))
	require.NoError(t, err)
	moments, err := FindMoments(w.ranks)
	require.NoError(t, err)
	require.Len(t, moments, 3)
	late, length := uint64(0), int64(0)
	for rank, m := range moments {
		for _, x := range m.Waits {
			if x.Pattern == LateSender {
				late += uint64(x.Until - x.Start)
				assert.EqualValues(t, rank+1, x.For)
			}
		}
		for _, s := range m.Critical {
			length += s.To - s.From
		}
	}
	assert.Equal(t, ns(table, LateSender), late)
	assert.EqualValues(t, table.Length, length)
	assert.Equal(t, Span{0, 100}, moments[2].Critical[0])
	assert.EqualValues(t, 100, moments[1].Critical[0].From)
}

func TestWrongOrder(t *testing.T) {
	table := two(t, func(w *world) {
		w.send(1, 0, 0, false, true) // earlier
		w.compute(1, 50, 5)
		w.send(1, 0, 1, false, true)
		w.finishReceive(stream{1, 0, 1}, 0, w.post(1, 0, 1))
		w.finishReceive(stream{1, 0, 0}, 0, w.post(1, 0, 0))
	})
	assert.EqualValues(t, 51, ns(table, WrongOrder))
	assert.Zero(t, ns(table, LateSender))
}

// What cannot be matched is counted: a log that ended early on one side, a partner that has none at all, threads
// that use one envelope at once.
func TestWhatIsMissingIsCounted(t *testing.T) {
	program := func() *world {
		w := newWorld(2, []Comm{{ID: 7, Members: []record.Run{{Stride: 1, Count: 2}}, Size: 2}})
		for i := range 10 {
			w.compute(1, 10, 5)
			w.send(1, 0, 0, false, true)
			w.finishReceive(stream{1, 0, 0}, i, w.post(1, 0, 0))
			w.collective(0, AllToAll, 0)
		}
		return w
	}
	w := program()
	w.ranks[1].Sends = w.ranks[1].Sends[:4]
	w.ranks[1].Collectives = w.ranks[1].Collectives[:5]
	table := replayAll(t, w.ranks)
	assert.EqualValues(t, 6, table.Lost.Unmatched)
	assert.EqualValues(t, 5, table.Lost.Uncovered)
	assert.EqualValues(t, 4, table.Waits[0].N)

	w = program()
	w.ranks[1] = &Rank{}
	table = replayAll(t, w.ranks)
	assert.EqualValues(t, 10, table.Lost.Unmatched)
	assert.EqualValues(t, 10, table.Lost.Uncovered)
	assert.Empty(t, table.Waits)

	w = program()
	w.ranks[0].Calls[w.ranks[0].Receives[3].At].Thread = 1
	table = replayAll(t, w.ranks)
	assert.EqualValues(t, 20, table.Lost.Ambiguous, "seen from both sides")
	assert.Zero(t, ns(table, LateSender))
}

// Rank 0 sends at 100 what rank 1 waits for and works on for 50 before it answers; each message takes 3.
func TestIdealNetwork(t *testing.T) {
	table := two(t, func(w *world) {
		w.compute(0, 100, 4)
		w.compute(1, 20, 5)
		w.send(0, 1, 0, false, true)
		w.finishReceive(stream{0, 1, 0}, 0, w.post(0, 1, 0))
		w.compute(1, 50, 5)
		w.send(1, 0, 0, false, true)
		w.finishReceive(stream{1, 0, 0}, 0, w.post(1, 0, 0))
		w.compute(0, 30, 4)
	})
	assert.EqualValues(t, 100+50+30, table.Ideal)
	assert.EqualValues(t, 100+3+50+3+30+3, table.Replayed, "and the last operation of both")
}

func TestManyMessagesBetweenOnePair(t *testing.T) {
	const n = 100_000
	table := func() Table {
		w := newWorld(2, []Comm{{ID: 7, Members: []record.Run{{Stride: 1, Count: 2}}, Size: 2}})
		for i := range n {
			w.compute(1, 10, 5)
			w.send(1, 0, 0, false, true)
			w.ranks[0].Receives = append(w.ranks[0].Receives, Message{Comm: 7, Peer: 1, At: uint32(i), Done: uint32(i)})
			w.now[0] = max(w.now[0], w.now[1]-1)
			start := w.now[0]
			call := w.enter(0, 2)
			w.ranks[0].Calls[call].Start = start - min(start, 5)
			w.leave(0, call, w.now[1]+latency)
		}
		return replayAll(t, w.ranks)
	}()
	assert.Zero(t, table.Lost.Unmatched)
	assert.EqualValues(t, n, table.Waits[0].N)
}

func TestMergeIsAssociative(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var tables []Table
		for rank := range int32(3) {
			table := Table{Ranks: 1}
			for path := range callgraph.ID(4) {
				if ns := rapid.Uint64Max(9).Draw(t, "ns"); ns > 0 {
					table.Waits = append(table.Waits, Wait{Pattern: LateSender, Path: path, N: 1, Ns: ns, Max: ns})
					table.Delays = append(table.Delays, Delay{Path: path, Direct: ns})
					table.Pairs = append(table.Pairs, Pair{Rank: rank, For: int32(path), Ns: ns})
				}
			}
			slices.SortFunc(table.Pairs, longest)
			tables = append(tables, table)
		}
		a, b, c := tables[0], tables[1], tables[2]
		require.Equal(t, Merge(Merge(a, b, 8), c, 8), Merge(a, Merge(b, c, 8), 8))
		require.Equal(t, Merge(a, b, 8), Merge(b, a, 8))
	})
}

func BenchmarkReplay(b *testing.B) {
	for _, ranks := range []int{2, 8, 32} {
		for _, steps := range []int{100, 1000, 10000} {
			b.Run(fmt.Sprintf("ranks=%d/steps=%d", ranks, steps), func(b *testing.B) {
				w := ring(ranks, steps)
				events := 0
				for _, r := range w {
					events += len(r.Calls)
				}
				for b.Loop() {
					copies := make([]*Rank, len(w))
					for i := range w {
						c := *w[i]
						copies[i] = &c
					}
					replayAll(b, copies)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(events), "ns/event")
			})
		}
	}
}

// ring is a program in which every rank sends to the next in each step, computes unequally, and reduces.
func ring(ranks, steps int) []*Rank {
	var list []*Rank
	world := Comm{ID: 7, Members: []record.Run{{Stride: 1, Count: uint32(ranks)}}, Size: uint32(ranks)}
	for rank := range ranks {
		r := &Rank{Paths: []callgraph.ID{0, 1, 2, 3, 4, 5}, Comms: []Comm{world}}
		r.Comms[0].Me = int32(rank)
		now := int64(0)
		call := func(duration int64, path uint32) uint32 {
			r.Calls = append(r.Calls, Call{Start: now, End: now + duration, Path: path, Gap: 5})
			now += duration
			return uint32(len(r.Calls) - 1)
		}
		for step := range steps {
			now = int64(step)*10_000 + int64((rank*7+step*3)%11)*100
			receive, send := call(50, 1), call(60, 2)
			now += 1000
			wait := call(3000-now%1000, 3)
			r.Receives = append(r.Receives, Message{Comm: 7, Peer: int32((rank + ranks - 1) % ranks), At: receive, Done: wait})
			r.Sends = append(r.Sends, Message{Comm: 7, Peer: int32((rank + 1) % ranks), At: send, Done: wait})
			all := call(int64(step)*10_000+9000-now, 4)
			r.Collectives = append(r.Collectives, Collective{Kind: AllToAll, Pattern: WaitAtNxN, At: all, Done: all})
		}
		r.Main, r.End = len(r.Calls), now
		list = append(list, r)
	}
	return list
}

// What ranks have left behind may be damaged: who sends to nobody, or waits for one who will not send, is told so.
func TestTogetherEnds(t *testing.T) {
	for name, do := range map[string]func(d desk) error{
		"all wait":           func(d desk) error { _, err := d.Receive((d.rank + 1) % 3); return err },
		"a rank beyond":      func(d desk) error { _, err := d.Receive(105); return err },
		"a rank before":      func(d desk) error { return d.Send(-1, nil) },
		"a rank after":       func(d desk) error { return d.Send(3, nil) },
		"one has ended":      func(d desk) error { return waitUnless(d, 0) },
		"two after messages": func(d desk) error { return errors.Join(d.Send((d.rank+1)%3, []byte{1}), twice(d, (d.rank+2)%3)) },
	} {
		t.Run(name, func(t *testing.T) {
			err := together(make([]*Rank, 3), func(_ *Rank, d desk) error { return do(d) })
			require.ErrorIs(t, err, errDamaged)
		})
	}
	require.NoError(t, together(make([]*Rank, 108), func(_ *Rank, d desk) error {
		return errors.Join(d.Send((d.rank+1)%108, []byte{1}), once(d, (d.rank+107)%108))
	}))
}

func once(d desk, from int) error  { _, err := d.Receive(from); return err }
func twice(d desk, from int) error { return errors.Join(once(d, from), once(d, from)) }

func waitUnless(d desk, rank int) error {
	if d.rank == rank {
		return nil
	}
	return once(d, rank)
}
