package waitstate

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"marple/analysis/callgraph"
)

// MostItems of all ranks together go to rank 0 to be replayed under scenarios, or LeastWaits of each rank: calls, of 90 bytes each
// with what they wait for, and while a scenario is replayed 32 more. Where there are more events, stretches of the run are taken
// that hold so many, evenly over it.
const MostItems = 1 << 20

// Program is what all ranks did, as rank 0 has it to replay it under a Scenario: their calls, what they did between them,
// and who could not go on before whom.
type Program struct {
	Lanes []Lane
	Meets []Meet
	// Span is the time that is replayed, ns, from the first rank's beginning.
	Span int64
	// Looked is what of the run's Whole time was looked at, evenly over it, where it was thinned; 0 where it was not.
	Looked, Whole int64
	// Stretches are when those parts of the run begin that were looked at, ns after the first rank's beginning as it is replayed;
	// none where all was.
	Stretches []int64
	// Threads tells that further threads called MPI, which are not in this.
	Threads bool

	told  [][]byte  // by rank; see lane
	first int       // rank of the first lane
	with  *exchange // with the other ranks' Programs, where this is of one; nil where it is of all
}

// Lane is one rank's way. The thread that called MPI_Init makes its calls, in order.
type Lane struct {
	Paths   []callgraph.ID
	Begin   int64 // ns, after the first rank's beginning
	Rest    int64 // ns, after the last call
	Calls   []Act
	Needs   []Need   // by rising call
	Arrives []Arrive // likewise

	own []int64 // by call: what it takes beside waiting, ns; less than nothing where clocks disagree
}

// Act is a call, and the time before it. All times are ns.
type Act struct {
	Gap      int64 // since the call before
	Took     int64
	OffCore  int64  // part of the gap without a core
	Coreless int64  // likewise of the call
	Path     uint32 // index into Lane.Paths
	GapPath  uint32 // likewise
	Stays    bool   // takes as long on an ideal network
}

// Need is that a call cannot end before another rank has entered one of its calls, or a meeting is over.
type Need struct {
	Call    uint32
	By      int32 // rank; -1: a meeting
	Theirs  uint32
	Bytes   uint64
	Pattern Pattern
}

// Arrive is a rank's entry to a meeting.
type Arrive struct {
	Call, Meet uint32
	Me         uint32 // rank in the communicator
	Root       bool
	Bytes      uint64
}

// Meet is a collective operation of a communicator.
type Meet struct {
	Kind     Kind
	Size     uint32 // how many enter it, of those that are replayed
	rootless bool   // its root is none of them
}

type meetingID struct {
	comm    uint64
	ordinal uint32
}

// dependence is a call that cannot end before another rank has entered one of its calls.
type dependence struct {
	call, theirs uint32
	by           int32
	bytes        uint64
	pattern      Pattern
}

func (x *replay) depend(call uint32, by int32, theirs uint32, main bool, bytes uint64, p Pattern) {
	if call != NotDone && int(call) < x.r.Main && main {
		x.depends = append(x.depends, dependence{call, theirs, by, bytes, p})
	}
}

// telling is what a rank has to tell of its calls, and what is known of all ranks together.
type telling struct {
	span    int64 // from the first rank's beginning
	threads bool  // further ones have called MPI
	calls   int64
	data    out
}

// tell has ranks agree when the run begins and ends; nil where there is nothing of any rank.
func (x *replay) tell() (*telling, error) {
	r := x.r
	begin, end := r.Begin, r.End
	if r.Main == 0 && end <= begin { // there is nothing of this rank
		begin, end = math.MaxInt64, -math.MaxInt64
	}
	extent, err := agree(x.t, []int64{begin, -end, int64(r.Main - len(r.Calls))}, least)
	if err != nil {
		return nil, err
	}
	calls, err := agree(x.t, []int64{int64(r.Main)}, sum)
	if err != nil || extent[0] == math.MaxInt64 {
		return nil, err
	}
	x.begin = extent[0]
	return &telling{max(-extent[1]-x.begin, 0), extent[2] < 0, calls[0], x.lane(x.begin)}, nil
}

// program gathers what all ranks did at rank 0; it is nil on others, and where calls are not spread so evenly over the run that
// about as many lie in its stretches as there is room for.
func (x *replay) program(told *telling) (*Program, error) {
	if told == nil || told.calls > 4*int64(max(MostItems, LeastWaits*x.t.Ranks())) {
		return nil, nil
	}
	all, err := collect(x.t, packet{uint32(x.rank), 0, told.data})
	if err != nil || x.rank != 0 {
		return nil, err
	}
	p := x.programOf(told)
	p.told = make([][]byte, x.t.Ranks())
	for _, one := range all {
		if int(one.from) >= len(p.told) {
			return nil, errDamaged
		}
		p.told[one.from] = one.data
	}
	return p, p.read()
}

func (x *replay) programOf(told *telling) *Program {
	return &Program{Stretches: x.stretches(), Span: told.span, Looked: int64(x.looked), Whole: int64(x.span), Threads: told.threads}
}

// scenarios replays the run under an ideal network, and keeps what rank 0 can replay later under others.
func (x *replay) scenarios(table *Table) error {
	brief, err := x.briefly()
	if err != nil {
		return err
	}
	x.scene, x.brief = brief, brief
	if !x.again {
		if err := x.decide(); err != nil {
			return err
		}
	}
	told, err := brief.tell()
	if err != nil {
		return err
	}
	if !x.again || !x.across {
		if table.Program, err = brief.program(told); err != nil {
			return err
		}
	}
	if x.across {
		if err := x.ideal(table, told); !errors.Is(err, errTooLong) || x.again {
			return errWithout(err, errTooLong)
		}
		x.scene = brief
		x.leave()
	}
	if table.Program != nil {
		table.Ideal, table.Replayed, table.Players = uint64(table.Program.Under(IdealNetwork()).Length), uint64(table.Program.Span), 1
	}
	return nil
}

// ideal has ranks replay the ideal network together; told is of as much of the run as rank 0 can replay.
func (x *replay) ideal(table *Table, told *telling) (err error) {
	if x.scene = x; x.brief != x {
		if told, err = x.tell(); err != nil {
			return err
		}
	}
	if told == nil {
		return nil
	}
	own, err := x.apart(told)
	if err == nil {
		var times *Times
		if times, err = own.under(IdealNetwork()); err == nil && x.rank == 0 {
			table.Ideal, table.Replayed, table.Players = uint64(times.Length), uint64(told.span), uint64(x.t.Ranks())
		}
	}
	if err == nil {
		x.own = own
	}
	return errWithout(err, errCircles)
}

// leave the rest to rank 0.
func (x *replay) leave() { x.across, x.own = false, nil }

// errWithout is an error, unless it is one that all ranks have, and can do without what it has ended.
func errWithout(err, known error) error {
	if errors.Is(err, known) {
		return nil
	}
	return err
}

func (x *replay) stretches() (list []int64) {
	for _, s := range x.shows {
		list = append(list, s.at-x.begin)
	}
	return list
}

// lane encodes this rank's calls.
func (x *replay) lane(begin int64) out {
	r := x.r
	calls, first := r.Main, max(r.Begin, begin)
	o := make(out, 0, 12*calls+24*len(x.depends)+48*len(r.Collectives)+8*len(r.Paths)+64)
	o.signed(first - begin)
	o.number(uint64(len(r.Paths)))
	for _, id := range r.Paths {
		o.word(uint64(id))
	}
	o.number(uint64(calls))
	last := first
	for i := range r.Calls[:calls] {
		c := &r.Calls[i]
		o.number(uint64(c.Path)<<1 | bit(c.Stays))
		o.number(uint64(c.Gap)<<1 | bit(c.OffCore|c.Coreless != 0))
		o.signed(c.Start - last)
		o.signed(c.End - c.Start)
		if c.OffCore|c.Coreless != 0 {
			o.signed(c.OffCore)
			o.signed(c.Coreless)
		}
		last = c.End
	}
	o.signed(max(r.End, last) - last)
	// Of several messages from one rank the one that was sent last decides; a receive may have been posted before its call is entered.
	slices.SortFunc(x.depends, func(a, b dependence) int {
		return cmp.Or(cmp.Compare(a.call, b.call), cmp.Compare(a.by, b.by), cmp.Compare(b.theirs, a.theirs),
			cmp.Compare(bit(a.pattern == LateReceiver), bit(b.pattern == LateReceiver)))
	})
	var kept dependence
	some := false
	depends := slices.DeleteFunc(x.depends, func(d dependence) bool {
		if some && d.call == kept.call && d.by == kept.by && (kept.pattern != LateReceiver || d.pattern == LateReceiver) {
			return true
		}
		kept, some = d, true
		return int(d.call) >= calls
	})
	o.number(uint64(len(depends)))
	call := uint32(0)
	for _, d := range depends {
		o.number(uint64(d.call - call))
		o.number(uint64(d.by))
		o.number(uint64(d.theirs))
		o.number(d.bytes)
		o.number(uint64(d.pattern))
		call = d.call
	}
	x.depends = nil
	meets := x.meetings()
	o.number(uint64(len(meets)))
	for _, c := range meets {
		comm := &r.Comms[c.Comm]
		o.word(comm.ID)
		o.number(uint64(c.Number))
		o.number(uint64(c.Kind))
		o.number(uint64(c.Pattern))
		o.number(uint64(comm.Me)<<1 | bit(c.Root == comm.Me))
		o.number(uint64(comm.Size))
		o.number(c.Bytes)
		o.number(uint64(c.At))
		if c.Done == NotDone || int(c.Done) >= calls {
			o.number(0)
		} else {
			o.number(1 + uint64(c.Done))
		}
	}
	return o
}

// meetings are the operations that the thread has entered which called MPI_Init, and all members have logged.
func (x *replay) meetings() (list []*Collective) {
	r := x.r
	for i := range r.Collectives {
		c := &r.Collectives[i]
		if among(x.usable[r.Comms[c.Comm].ID], c.Number) && int(c.At) < r.Main {
			list = append(list, c)
		}
	}
	return list
}

func bit(x bool) uint64 {
	if x {
		return 1
	}
	return 0
}

const leastOfNeed = 5 // bytes

// decodeLane reads what lane has written on one of so many ranks; meets are the meetings that are known. It tells whether it could
// be read.
func (p *Program) decodeLane(i *in, l *Lane, ranks int, meets map[meetingID]uint32) bool {
	l.Begin = i.signed()
	for n := i.count(); n > 0; n-- {
		l.Paths = append(l.Paths, callgraph.ID(i.word()))
	}
	l.Calls = make([]Act, i.count())
	for k := range l.Calls {
		a := &l.Calls[k]
		path, gap := i.number(), i.number()
		a.Path, a.Stays, a.GapPath = uint32(path>>1), path&1 != 0, uint32(gap>>1)
		a.Gap, a.Took = i.signed(), i.signed()
		if gap&1 != 0 {
			a.OffCore, a.Coreless = i.signed(), i.signed()
		}
		i.bad = i.bad || int(a.Path) >= len(l.Paths) || int(a.GapPath) >= len(l.Paths)
	}
	l.Rest = i.signed()
	call := uint32(0)
	n := i.count()
	l.Needs = slices.Grow(l.Needs, min(n, len(i.data)/leastOfNeed))
	for ; n > 0; n-- {
		call += uint32(i.number())
		d := Need{call, int32(i.number()), uint32(i.number()), i.number(), Pattern(i.number())}
		i.bad = i.bad || int(call) >= len(l.Calls) || d.By < 0 || int(d.By) >= ranks
		l.Needs = append(l.Needs, d)
	}
	for n := i.count(); n > 0; n-- {
		id := meetingID{i.word(), uint32(i.number())}
		kind, pattern, me, size, bytes, at, done := Kind(i.number()), Pattern(i.number()), i.number(), i.number(), i.number(), i.number(), i.number()
		m, known := meets[id]
		if !known {
			m = uint32(len(p.Meets))
			p.Meets, meets[id] = append(p.Meets, Meet{Kind: kind, Size: uint32(size)}), m
		}
		i.bad = i.bad || at >= uint64(len(l.Calls)) || done > uint64(len(l.Calls)) || me>>1 >= size || uint32(size) != p.Meets[m].Size
		l.Arrives = append(l.Arrives, Arrive{uint32(at), m, uint32(me >> 1), me&1 != 0, bytes})
		if done > 0 {
			l.Needs = append(l.Needs, Need{uint32(done - 1), -1, uint32(len(l.Arrives) - 1), bytes, pattern})
		}
	}
	return !i.bad
}

// prepare brings what was read into order, and finds what calls take beside waiting.
func (p *Program) prepare() error {
	if err := p.sort(); err != nil {
		return err
	}
	return p.measure()
}

func (p *Program) sort() error {
	for r := range p.Lanes {
		l := &p.Lanes[r]
		order := make([]uint32, len(l.Arrives)) // needs name an entry by where it stands
		for i := range order {
			order[i] = uint32(i)
		}
		slices.SortStableFunc(order, func(a, b uint32) int { return cmp.Compare(l.Arrives[a].Call, l.Arrives[b].Call) })
		sorted, to := make([]Arrive, len(order)), make([]uint32, len(order))
		for i, k := range order {
			sorted[i], to[k] = l.Arrives[k], uint32(i)
		}
		l.Arrives = sorted
		for i := range l.Needs {
			if n := &l.Needs[i]; n.By < 0 {
				n.Theirs = to[n.Theirs]
			} else if p.with == nil && int(n.Theirs) >= len(p.Lanes[n.By].Calls) {
				return errDamaged
			}
		}
		slices.SortStableFunc(l.Needs, func(a, b Need) int { return cmp.Compare(a.Call, b.Call) })
	}
	return nil
}

// measure finds what calls take beside waiting. As it was, every call was entered when it was: so it is known until when it waited, and
// what it took after that.
func (p *Program) measure() error {
	s := p.player(nil)
	s.measured = true
	if err := s.run(); err != nil {
		return err
	}
	for r := range p.Lanes {
		l, w := &p.Lanes[r], &s.lanes[r]
		l.own = make([]int64, len(l.Calls))
		for i := range l.Calls {
			l.own[i] = l.Calls[i].Took - (w.left[i] - w.entered[i])
		}
	}
	return nil
}

// programFormat of what Encode gives. Before, it was 0, without Stretches; or 1, of the beginning of a run alone.
const programFormat = 2

// Encode gives the program as bytes: what each rank has told.
func (p *Program) Encode() []byte {
	o := out{}
	o.number(programFormat)
	o.flag(p.Threads)
	o.signed(p.Span)
	o.signed(p.Looked)
	o.signed(p.Whole)
	o.number(uint64(len(p.Stretches)))
	for _, at := range p.Stretches {
		o.signed(at)
	}
	o.number(uint64(len(p.told)))
	for _, data := range p.told {
		o.number(uint64(len(data)))
		o = append(o, data...)
	}
	return o
}

// DecodeProgram is the inverse of Encode. Damaged data gives an error and never more memory than a constant times its length.
func DecodeProgram(data []byte) (*Program, error) {
	i := in{data: data}
	format := i.number()
	p := &Program{Threads: i.flag(), Span: i.signed(), Looked: i.signed(), Whole: i.signed()}
	if format == programFormat {
		for n := i.count(); n > 0; n-- {
			p.Stretches = append(p.Stretches, i.signed())
		}
	}
	for n := i.count(); n > 0; n-- {
		p.told = append(p.told, i.bytes())
	}
	if i.bad || len(i.data) > 0 {
		return nil, errDamaged
	}
	if format == 1 {
		return nil, errors.New("it is of the run's beginning only, as an earlier Marple left it; measure again")
	}
	return p, p.read()
}

// read makes lanes of what ranks have told.
func (p *Program) read() error {
	p.Lanes = make([]Lane, len(p.told))
	meets := map[meetingID]uint32{}
	for rank, data := range p.told {
		i := in{data: data}
		if !p.decodeLane(&i, &p.Lanes[rank], len(p.Lanes), meets) || len(i.data) > 0 {
			return errDamaged
		}
	}
	p.present()
	return p.prepare()
}

// present leaves members out of operations that another of their ranks' threads has entered: nobody is kept waiting by them.
func (p *Program) present() {
	here, rooted := make([]uint32, len(p.Meets)), make([]bool, len(p.Meets))
	p.arrivals(func(a *Arrive) { here[a.Meet], rooted[a.Meet] = here[a.Meet]+1, rooted[a.Meet] || a.Root })
	lower := map[uint32][]uint32{} // members of a Prefix that lacks some
	p.arrivals(func(a *Arrive) {
		if m := &p.Meets[a.Meet]; m.Kind == Prefix && here[a.Meet] < m.Size {
			lower[a.Meet] = append(lower[a.Meet], a.Me)
		}
	})
	for _, list := range lower {
		slices.Sort(list)
	}
	p.arrivals(func(a *Arrive) {
		if list := lower[a.Meet]; list != nil {
			at, _ := slices.BinarySearch(list, a.Me)
			a.Me = uint32(at)
		}
	})
	for i := range p.Meets {
		m := &p.Meets[i]
		m.Size = min(m.Size, here[i])
		m.rootless = m.Kind == FromRoot && !rooted[i]
	}
}

func (p *Program) arrivals(visit func(*Arrive)) {
	for r := range p.Lanes {
		for k := range p.Lanes[r].Arrives {
			visit(&p.Lanes[r].Arrives[k])
		}
	}
}
