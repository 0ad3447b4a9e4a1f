package waitstate

import (
	"cmp"
	"slices"
)

// MostItems of all ranks together go to rank 0 for the replay on an ideal network: 72 bytes each.
const MostItems = 1 << 20

// ideal finds how long the run would have taken if messages took no time: every rank does between its calls what it
// did, and goes on as soon as the calls that it depends on have been entered. So what is left of the time in MPI is
// waiting that the order of things makes necessary (POP's serialization), and what has gone is transfer.
//
// As in MPI a receive depends on its send, and a send on its receive if it is synchronous or did wait for it. A run
// with more calls that depend on others than rank 0 can take is followed up to the same moment on all ranks.
func (x *replay) ideal(table *Table) error {
	most := max(LeastWaits, MostItems/x.t.Ranks())
	items := x.items(most + 1)
	own := x.r.End
	if x.more = len(items) > most; x.more {
		own = x.r.Calls[items[most].call].Start
	}
	extent, err := agree(x.t, []int64{x.r.Begin, own}, least)
	if err != nil {
		return err
	}
	begin, until := extent[0], extent[1]
	x.begin = begin
	items = slices.DeleteFunc(items, func(i item) bool { return x.r.Calls[i.call].Start >= until || i.by >= 0 && i.entered >= until })
	o := out{}
	o.signed(x.r.Begin - begin)
	o.signed(x.busyAt(until))
	o.number(uint64(len(items)))
	encodeItems(&o, items)
	all, err := collect(x.t, packet{uint32(x.rank), 0, o})
	if err != nil || x.rank != 0 {
		return err
	}
	network, err := newNetwork(x.t.Ranks(), all)
	if err != nil {
		return err
	}
	table.Ideal, table.Replayed = uint64(network.run()), uint64(max(until-begin, 0))
	return nil
}

// item is a call that depends on others, or on which others depend in an operation of a communicator.
type item struct {
	call   uint32
	arrive bool  // in an operation; otherwise it waits, for one or for a message
	busy   int64 // time before the call that would be spent on an ideal network too
	// of a message
	by      int32 // rank, or -1: an operation
	theirs  uint32
	their   int64 // busy of that
	entered int64 // when it was; rank 0 does not hear of it
	// of an operation
	comm    uint64
	ordinal uint32
	kind    Kind
	me      uint32
	size    uint32
	root    bool
}

// dependence is a call that cannot end before another rank has entered one of its calls.
type dependence struct {
	call, theirs uint32
	by           int32
	their        int64 // busy of theirs
	entered      int64 // when it was
}

func (x *replay) depend(call uint32, by int32, h *half) {
	if call != NotDone && int(call) < x.r.Main && h.busy >= 0 {
		x.depends = append(x.depends, dependence{call, h.at, by, h.busy, h.start})
	}
}

// items are this rank's first ones, in the order in which they happen.
func (x *replay) items(most int) []item {
	slices.SortFunc(x.depends, func(a, b dependence) int {
		return cmp.Or(cmp.Compare(a.call, b.call), cmp.Compare(a.by, b.by), cmp.Compare(b.theirs, a.theirs))
	})
	// Of several messages from one rank the one that was sent last decides.
	x.depends = slices.CompactFunc(x.depends, func(a, b dependence) bool { return a.call == b.call && a.by == b.by })
	list := make([]item, 0, min(len(x.depends), most))
	for _, d := range x.depends[:min(len(x.depends), most)] {
		list = append(list, item{call: d.call, busy: x.busy[d.call], by: d.by, theirs: d.theirs, their: d.their, entered: d.entered})
	}
	last := uint32(len(x.r.Calls))
	if len(list) == most {
		last = list[most-1].call
	}
	x.depends = nil
	operations := make([]item, 0, min(len(x.r.Collectives), 2*most))
	for i := range x.r.Collectives {
		o := &x.r.Collectives[i]
		c := &x.r.Comms[o.Comm]
		if !among(x.usable[c.ID], o.Number) || int(o.At) >= x.r.Main || o.At > last {
			continue
		}
		if len(operations) > 2*most { // operations are in order: what comes is later than most of these
			break
		}
		one := item{call: o.At, arrive: true, busy: x.busy[o.At], by: -1, comm: c.ID, ordinal: o.Number, kind: o.Kind,
			me: uint32(c.Me), size: c.Size, root: o.Root == c.Me}
		operations = append(operations, one)
		if o.Done != NotDone && int(o.Done) < x.r.Main {
			one.call, one.arrive, one.busy = o.Done, false, x.busy[o.Done]
			operations = append(operations, one)
		}
	}
	late := func(i *item) int { // in an operation one arrives before one waits
		if i.arrive {
			return 0
		}
		return 1
	}
	compare := func(a, b item) int {
		return cmp.Or(cmp.Compare(a.call, b.call), late(&a)-late(&b), cmp.Compare(a.by, b.by), cmp.Compare(a.comm, b.comm), cmp.Compare(a.ordinal, b.ordinal))
	}
	slices.SortFunc(operations, compare) // which they mostly are
	list = inOrder(list, operations, compare)
	return list[:min(len(list), most)]
}

// inOrder merges two sorted lists.
func inOrder(a, b []item, compare func(a, b item) int) []item {
	list := make([]item, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if compare(a[0], b[0]) <= 0 {
			list, a = append(list, a[0]), a[1:]
		} else {
			list, b = append(list, b[0]), b[1:]
		}
	}
	return append(append(list, a...), b...)
}

// spendings are, by call of the thread that called MPI_Init, the time before it that would be spent on an ideal network too; -1 for others.
func (r *Rank) spendings() []int64 {
	busy := make([]int64, len(r.Calls))
	sum, last := int64(0), r.Begin
	for i := range r.Calls {
		c := &r.Calls[i]
		if i >= r.Main {
			busy[i] = -1
			continue
		}
		sum += max(c.Start-last, 0)
		busy[i] = sum
		if c.Stays {
			sum += c.End - c.Start
		}
		last = max(last, c.End)
	}
	return busy
}

// busyAt is how much of it there is before a moment.
func (x *replay) busyAt(t int64) int64 {
	r := x.r
	i, _ := slices.BinarySearchFunc(r.Calls[:r.Main], t, func(c Call, t int64) int { return cmp.Compare(c.Start, t) })
	if i == 0 {
		return max(t-r.Begin, 0)
	}
	c := &r.Calls[i-1]
	sum := x.busy[i-1] + max(t-c.End, 0)
	if c.Stays {
		sum += min(c.End, t) - c.Start
	}
	return sum
}

// agree gives all ranks what rank 0 folds together of what they tell.
func agree(t Transport, own []int64, fold func(x, y int64) int64) ([]int64, error) {
	o := out{}
	for _, x := range own {
		o.signed(x)
	}
	all, err := collect(t, packet{uint32(t.Rank()), 0, o})
	if err != nil {
		return nil, err
	}
	var answers []packet
	if t.Rank() == 0 {
		folded := slices.Clone(own)
		for _, p := range all[1:] {
			i := in{data: p.data}
			for k := range folded {
				folded[k] = fold(folded[k], i.signed())
			}
		}
		o = nil
		for _, x := range folded {
			o.signed(x)
		}
		for rank := range t.Ranks() {
			answers = append(answers, packet{0, uint32(rank), o})
		}
	}
	if answers, err = route(t, answers); err != nil {
		return nil, err
	}
	if len(answers) != 1 {
		return nil, errDamaged
	}
	i := in{data: answers[0].data}
	folded := make([]int64, len(own))
	for k := range folded {
		folded[k] = i.signed()
	}
	return folded, nil
}

func least(x, y int64) int64 { return min(x, y) }
func sum(x, y int64) int64   { return x + y }

func encodeItems(o *out, items []item) {
	var call uint32
	var busy int64
	for k := range items {
		i := &items[k]
		o.number(uint64(i.call - call))
		o.signed(i.busy - busy)
		call, busy = i.call, i.busy
		o.signed(int64(i.by))
		if i.by >= 0 {
			o.number(uint64(i.theirs))
			o.signed(i.their - i.busy)
			continue
		}
		o.word(i.comm)
		o.number(uint64(i.ordinal))
		o.number(uint64(i.kind))
		o.number(uint64(i.me))
		o.number(uint64(i.size))
		o.flag(i.arrive)
		o.flag(i.root)
	}
}

func decodeItems(i *in) []item {
	var list []item
	one := item{}
	for n := i.count(); n > 0; n-- {
		call, busy := one.call+uint32(i.number()), one.busy+i.signed()
		one = item{call: call, busy: busy, by: int32(i.signed())}
		if one.by >= 0 {
			one.theirs, one.their = uint32(i.number()), busy+i.signed()
		} else {
			one.comm, one.ordinal, one.kind = i.word(), uint32(i.number()), Kind(i.number())
			one.me, one.size, one.arrive, one.root = uint32(i.number()), uint32(i.number()), i.flag(), i.flag()
		}
		list = append(list, one)
	}
	return list
}

// network is rank 0's view of all items, for the replay without transfer.
type network struct {
	ranks    []lane
	meetings map[meetingID]*meeting
}

// lane is one rank's way through its items.
type lane struct {
	begin, busy int64 // after the first rank's beginning; busy until the end
	items       []item
	next        int
	waited      []int64 // before each item
	now         int64   // waited so far
	waiting     []int32 // ranks that wait for this one to get further
}

type meetingID struct {
	comm    uint64
	ordinal uint32
}

// meeting is an operation of a communicator.
type meeting struct {
	arrived uint32
	last    int64
	root    int64            // when it came; -1: not yet
	times   map[uint32]int64 // of a Prefix, by rank in the communicator
	before  []int64          // likewise, the last to come of those up to a rank, as far as all are known
	waiting []int32
}

func newNetwork(ranks int, all []packet) (*network, error) {
	n := &network{ranks: make([]lane, ranks), meetings: map[meetingID]*meeting{}}
	for _, p := range all {
		if int(p.from) >= ranks {
			return nil, errDamaged
		}
		i := in{data: p.data}
		l := &n.ranks[p.from]
		l.begin, l.busy = i.signed(), i.signed()
		l.items = decodeItems(&i)
		if i.bad {
			return nil, errDamaged
		}
		for k := range l.items {
			if l.items[k].by >= int32(ranks) {
				return nil, errDamaged
			}
		}
		l.waited = make([]int64, len(l.items))
	}
	return n, nil
}

// run gives the time from the first rank's beginning to the last one's end.
func (n *network) run() (end int64) {
	var ready []int32
	for rank := range n.ranks {
		ready = append(ready, int32(rank))
	}
	for len(ready) > 0 {
		rank := ready[len(ready)-1]
		ready = n.advance(rank, ready[:len(ready)-1])
		if len(ready) > 0 {
			continue
		}
		// All wait in a circle, or for what is missing: the one that is least far goes on.
		least := -1
		for r := range n.ranks {
			l := &n.ranks[r]
			if l.next < len(l.items) && (least < 0 || l.time() < n.ranks[least].time()) {
				least = r
			}
		}
		if least >= 0 {
			n.ranks[least].pass()
			ready = append(ready, int32(least))
		}
	}
	for r := range n.ranks {
		l := &n.ranks[r]
		end = max(end, l.begin+l.busy+l.now)
	}
	return end
}

// time is when a rank enters its next item.
func (l *lane) time() int64 { return l.begin + l.items[l.next].busy + l.now }

func (l *lane) pass() {
	l.waited[l.next] = l.now
	l.next++
}

// entered gives when a rank enters a call, if it has got so far.
func (l *lane) entered(call uint32, busy int64) (int64, bool) {
	if l.next < len(l.items) && l.items[l.next].call < call {
		return 0, false
	}
	i, _ := slices.BinarySearchFunc(l.items[:l.next], call, func(i item, c uint32) int { return cmp.Compare(i.call, c) })
	waited := l.now
	if i < l.next {
		waited = l.waited[i]
	}
	return l.begin + busy + waited, true
}

// advance takes a rank as far as it gets, and adds those that may go on because of that.
func (n *network) advance(rank int32, ready []int32) []int32 {
	l := &n.ranks[rank]
	first := l.next
	for l.next < len(l.items) {
		i := &l.items[l.next]
		var until int64
		var known bool
		switch {
		case i.by >= 0:
			other := &n.ranks[i.by]
			if until, known = other.entered(i.theirs, i.their); !known {
				other.waiting = append(other.waiting, rank)
			}
		case i.arrive:
			ready = append(ready, n.meeting(i).arrive(i, l.time())...)
			known = true
		default:
			m := n.meeting(i)
			if until, known = m.over(i); !known {
				m.waiting = append(m.waiting, rank)
			}
		}
		if !known {
			break
		}
		l.waited[l.next] = l.now
		l.now += max(until-l.time(), 0)
		l.next++
	}
	if l.next > first {
		ready = append(ready, l.waiting...)
		l.waiting = l.waiting[:0]
	}
	return ready
}

func (n *network) meeting(i *item) *meeting {
	id := meetingID{i.comm, i.ordinal}
	if n.meetings[id] == nil {
		n.meetings[id] = &meeting{root: -1}
	}
	return n.meetings[id]
}

// arrive gives those who may go on.
func (m *meeting) arrive(i *item, now int64) []int32 {
	m.arrived++
	m.last = max(m.last, now)
	if i.root {
		m.root = now
	}
	if i.kind == Prefix {
		if m.times == nil {
			m.times = map[uint32]int64{}
		}
		m.times[i.me] = now
		for {
			t, known := m.times[uint32(len(m.before))]
			if !known {
				break
			}
			if n := len(m.before); n > 0 {
				t = max(t, m.before[n-1])
			}
			m.before = append(m.before, t)
		}
	}
	if i.kind != Prefix && i.kind != FromRoot && m.arrived < i.size {
		return nil
	}
	free := m.waiting
	m.waiting = nil
	return free
}

// over tells until when a member waits, if that is known.
func (m *meeting) over(i *item) (int64, bool) {
	switch {
	case i.kind == FromRoot && !i.root:
		return m.root, m.root >= 0
	case i.kind == AllToAll, i.kind == ToRoot && i.root:
		return m.last, m.arrived == i.size
	case i.kind == Prefix && i.me > 0:
		if int(i.me) > len(m.before) {
			return 0, false
		}
		return m.before[i.me-1], true
	}
	return 0, true
}
