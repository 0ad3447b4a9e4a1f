package callgraph

import (
	"cmp"
	"maps"
	"math"
	"math/bits"
	"slices"

	"marple/analysis/mpi"
	"marple/analysis/record"
	"marple/analysis/stat"
)

// Clock converts ticks to nanoseconds.
type Clock struct{ NsPerTick float64 }

// ClockOf finds the rate of a process's clock from two instants, or from the estimate made at the start
// when they are too close together to be better.
func ClockOf(h *record.Header) Clock {
	const enough = 10e6 // ns: the error of an instant is below 100 ns
	ns, ticks := float64(h.Last.RawNs)-float64(h.First.RawNs), float64(h.Last.Ticks)-float64(h.First.Ticks)
	switch {
	case h.ClockKind != record.ClockTSC:
		return Clock{1}
	case ns >= enough && ticks > 0:
		return Clock{ns / ticks}
	case h.TicksPerSecond > 0:
		return Clock{1e9 / float64(h.TicksPerSecond)}
	}
	return Clock{1}
}

// Ns rounds to the nearest nanosecond.
func (c Clock) Ns(ticks uint64) uint64 {
	if c.NsPerTick == 1 {
		return ticks
	}
	return uint64(float64(ticks)*c.NsPerTick + 0.5)
}

// CommonClock converts a process's ticks to nanoseconds on a clock that all processes of its host share.
type CommonClock struct {
	Clock
	ticks uint64
	ns    int64
}

// CommonClockOf a process.
func CommonClockOf(h *record.Header) CommonClock {
	if h.ClockKind != record.ClockTSC {
		return CommonClock{Clock: Clock{1}}
	}
	return CommonClock{ClockOf(h), h.First.Ticks, int64(h.First.RawNs)}
}

// At is the time of a tick.
func (c CommonClock) At(ticks uint64) int64 {
	if c.NsPerTick == 1 {
		return int64(ticks-c.ticks) + c.ns
	}
	return int64(float64(int64(ticks-c.ticks))*c.NsPerTick+0.5) + c.ns
}

// FromProcess builds the call graph of one process. Its statistics over ranks have one sample.
//
// Time outside MPI is charged to the deepest function or region that the two events around it have in
// common, in a child that names both. Of threads other than the one that called MPI_Init it is not known what they do
// between events, so only their MPI calls and what lies inside their regions is charged.
func FromProcess(p *record.Process) *Graph {
	b := &builder{p: p, clock: ClockOf(p.Header()), rank: p.Header().Rank, nodes: map[ID]*Node{}, modules: map[string]Module{}}
	b.table, b.counters = p.Nodes(), p.Counters()
	b.paths, b.began = map[ID][]ID{}, map[ID][2]uint64{}
	b.nodes[Root] = &Node{ID: Root, Kind: KindRoot}
	for _, t := range p.Threads() {
		b.thread(t)
	}
	stuck := b.stuck() // which may need modules that nothing else does
	graph := b.finish()
	graph.Stuck = stuck
	if p.Header().State != record.Finalized {
		graph.Left = b.left()
	}
	return graph
}

// left are the collective operations that the process has come back from, if all of them are known.
func (b *builder) left() []Left {
	if h := b.p.Header(); h.UnrecordedTicks > 0 || h.UnrecordedSince > 0 || h.ThreadsLost > 0 || slices.ContainsFunc(b.table, func(n record.Node) bool {
		return n.Kind == record.NodePhase && n.Key == 0 // recording was off
	}) {
		return nil
	}
	left := Left{b.rank, map[uint64]uint64{}}
	comms := b.p.Comms()
	for _, t := range b.p.Threads() {
		if t.EntriesLost > 0 || t.Dropped > 0 || t.Behind > 0 {
			return nil
		}
		for i := range t.Entries {
			e := &t.Entries[i]
			if e.Kind() != record.EntryCall || int(e.Path()) >= len(b.table) || int(e.Comm()) >= len(comms) {
				continue
			}
			if mpi.Known(b.p.String(b.table[e.Path()].Name), e.Op, e.Flags).Waits >= mpi.Members {
				left.Collectives[comms[e.Comm()].ID] += e.N
			}
		}
	}
	return []Left{left}
}

// stuck are the calls that did not return, if the process did not end well.
func (b *builder) stuck() (list []Stuck) {
	for _, i := range b.p.Stuck() {
		s := Stuck{Rank: b.rank, Thread: i.Thread, Main: i.Main, Name: i.Name, Peer: i.Peer, World: b.p.WorldRank(i.Comm, i.Peer), Flying: i.Flying > 0, Ended: i.Ended}
		if i.Comm > 0 {
			s.Comm = b.p.Comms()[i.Comm].ID
		}
		if begin := b.p.Header().BeginTick; i.Tick > begin {
			s.Ns = b.clock.Ns(i.Tick - begin)
		}
		if module, offset := b.p.ModuleAt(i.From); module >= 0 {
			s.Site = b.code(uint32(module), offset)
		}
		list = append(list, s)
	}
	return list
}

type builder struct {
	p        *record.Process
	clock    Clock
	rank     int32
	table    []record.Node
	paths    map[ID][]ID // per root, the ID of each node of the table; 0 where it is not made yet
	nodes    map[ID]*Node
	counters []string
	began    map[ID][2]uint64 // ticks of a path's first and last call
	known    []Module         // of the process's modules; without a key where it was not asked for
	modules  map[string]Module
}

// add finds or makes a node.
func (b *builder) add(n Node) *Node {
	n.ID = n.identity()
	if have, ok := b.nodes[n.ID]; ok {
		return have
	}
	b.nodes[n.ID] = &n
	return &n
}

// path gives the node for an entry of the process's table, below the given root.
func (b *builder) path(root ID, index uint32) *Node {
	ids := b.paths[root]
	if ids == nil {
		ids = make([]ID, len(b.table))
		b.paths[root] = ids
	}
	if int(index) >= len(b.table) || index == 0 {
		return b.root(root)
	}
	if ids[index] != 0 {
		return b.nodes[ids[index]]
	}
	raw := b.table[index]
	n := Node{Op: raw.Op, Flags: raw.Flags}
	switch raw.Kind {
	case record.NodeFrame:
		n.Kind, n.Site = KindFrame, b.code(raw.SiteModule, raw.Site)
		n.Code, n.Name = b.function(raw.Name, raw.Key)
	case record.NodeRegion:
		n.Kind, n.Name, n.Site = KindRegion, b.p.String(raw.Name), b.code(raw.SiteModule, raw.Site)
	case record.NodeComponent:
		n.Kind, n.Name = KindComponent, b.p.String(raw.Name)
		n.Component, n.Instance = b.p.String(uint32(raw.Key)), b.p.String(uint32(raw.Key>>32))
	case record.NodePhase:
		n.Kind, n.Level = KindPhase, int64(raw.Key)
	case record.NodeMPI:
		n.Kind, n.Name, n.Site = KindMPI, b.p.String(raw.Name), b.code(raw.SiteModule, raw.Site)
	case record.NodeCut:
		n.Kind, n.Unknown = KindCut, raw.Key == record.CutUnknown
	default:
		n.Kind = KindOverflow
	}
	parent := root
	if raw.Parent < index { // parents are made first; anything else is damage
		parent = b.path(root, raw.Parent).ID
	}
	n.Parent = parent
	node := b.add(n)
	ids[index] = node.ID
	return node
}

// code is a place in the process's modules.
func (b *builder) code(module uint32, offset uint64) Code {
	modules := b.p.Modules()
	if offset == 0 || int(module) >= len(modules) {
		return Code{Offset: offset}
	}
	if b.known == nil {
		b.known = make([]Module, len(modules))
	}
	known := &b.known[module]
	if known.Key == "" {
		m := modules[module]
		*known = newModule(b.p.String(m.Path), m.BuildID[:min(m.BuildIDLen, uint8(len(m.BuildID)))])
		known.Source = m.Source != 0
		b.modules[known.Key] = *known
	}
	return Code{known.Key, offset}
}

// function is where a function begins, and its name if its module does not tell it.
func (b *builder) function(module uint32, key uint64) (Code, string) {
	if modules := b.p.Modules(); int(module) >= len(modules) || modules[module].Source == 0 || key>>32 == 0 {
		return b.code(module, key), "" // in no module it is an address
	}
	return b.code(module, key&math.MaxUint32), b.p.String(uint32(key >> 32))
}

func (b *builder) root(id ID) *Node {
	if n, ok := b.nodes[id]; ok {
		return n
	}
	b.nodes[id] = &Node{ID: id, Kind: KindRoot}
	return b.nodes[id]
}

// edge gives an edge, and the innermost node that is open beside it, on its gap's side.
func (b *builder) edge(root ID, e record.Edge, leaving bool) (Edge, *Node) {
	n := b.path(root, e.Path())
	switch {
	case n.Kind == KindRoot:
		return Edge{n.ID, SideCall}, n
	case e.Enters() && leaving, e.Exits() && !leaving:
		side := SideEnter
		if e.Exits() {
			side = SideExit
		}
		return Edge{n.ID, side}, n
	case e.Enters():
		return Edge{n.ID, SideEnter}, b.nodes[n.Parent]
	case e.Exits():
		return Edge{n.ID, SideExit}, b.nodes[n.Parent]
	}
	return Edge{n.ID, SideCall}, b.nodes[n.Parent]
}

// Places names the nodes of a process's call graph, for events that are looked at one by one.
type Places struct {
	b    *builder
	gaps map[[2]record.Edge]ID
}

// PlacesOf a process.
func PlacesOf(p *record.Process) *Places {
	b := &builder{p: p, nodes: map[ID]*Node{Root: {ID: Root, Kind: KindRoot}}, modules: map[string]Module{}, paths: map[ID][]ID{}}
	b.table = p.Nodes()
	return &Places{b, map[[2]record.Edge]ID{}}
}

// Call is the node of an entry of the process's table, and what it is.
func (s *Places) Call(path uint32) *Node { return s.b.path(Root, path) }

// Gap is the node that the time between two edges is charged to.
func (s *Places) Gap(from, to record.Edge) ID {
	key := [2]record.Edge{from, to}
	id, ok := s.gaps[key]
	if !ok {
		n := s.b.between(Root, from, to)
		id = n.identity()
		s.gaps[key] = id
	}
	return id
}

// common is the deepest node that is above, or is, both.
func (b *builder) common(x, y *Node) *Node {
	above := map[ID]bool{}
	for ; ; x = b.nodes[x.Parent] {
		above[x.ID] = true
		if x.Kind == KindRoot {
			break
		}
	}
	for ; ; y = b.nodes[y.Parent] {
		if above[y.ID] || y.Kind == KindRoot {
			return y
		}
	}
}

func (b *builder) thread(t record.Thread) {
	root := Others
	if t.Main {
		root = Root
	}
	samples := map[uint32][]*record.Entry{} // by gap
	for i := range t.Entries {
		if e := &t.Entries[i]; e.Kind() == record.EntrySamples {
			_, gap := e.Sampled()
			samples[gap] = append(samples[gap], e)
		}
	}
	b.elsewhere(samples[record.ElsewhereGap])
	for i := range t.Entries {
		e := &t.Entries[i]
		switch e.Kind() {
		case record.EntryCall:
			b.call(root, e)
		case record.EntryGap:
			from, to := e.Gap()
			b.gap(root, from, to, e, samples[uint32(i)])
		case record.EntryRegion:
			n := b.path(root, e.Path())
			n.Calls = n.Calls.Merge(b.stat(e))
		case record.EntryCounter:
			if i := e.Counter(); i < len(b.counters) {
				b.count(b.path(root, e.Path()), b.counters[i], e)
			}
		}
	}
	// What came after the last event: nothing, if the program went through MPI_Finalize.
	h := b.p.Header()
	end := max(h.EndTick, h.Last.Ticks)
	if h.EndTick != 0 {
		end = h.EndTick
	}
	if t.Main && t.LastTick < end {
		tail := record.Entry{N: 1, Sum: end - t.LastTick}
		b.gap(root, t.LastEdge, 0, &tail, nil)
	}
}

func (b *builder) stat(e *record.Entry) stat.Stat {
	if e.N == 0 {
		return stat.Stat{}
	}
	scale := b.clock.NsPerTick
	sq := stat.Uint128{Hi: e.SqHi, Lo: e.SqLo}
	if scale != 1 {
		sq = sq.Scaled(scale * scale)
	}
	return stat.Stat{N: e.N, Sum: b.clock.Ns(e.Sum), Sq: sq, Min: b.clock.Ns(e.Min), Max: b.clock.Ns(e.Max),
		MinRank: b.rank, MaxRank: b.rank}
}

// charge adds to a node's exclusive time, which until finish is the Sum of Exclusive.
func charge(n *Node, ns uint64) { n.Exclusive.Sum += ns }

func (b *builder) call(root ID, e *record.Entry) {
	n := b.path(root, e.Path())
	if op, shared := e.Shared(); shared {
		n = b.add(Node{Parent: n.ID, Kind: KindMPI, Op: op, Name: "MPI: " + op.String()})
	}
	s := b.stat(e)
	n.Calls = n.Calls.Merge(s)
	charge(n, s.Sum)
	n.Out += e.Out
	n.In += e.In
	n.Done += e.Done
	n.Failed += uint64(e.Failed)
	if e.Op == record.OpTest {
		n.Polled += b.clock.Ns(e.Polled())
	}
	n.Runnable += b.clock.Ns(e.Runnable)
	n.Blocked += b.clock.Ns(e.Blocked)
	size := Size{Class: e.Class, Calls: e.N, Ns: s.Sum, NsSq: s.Sq, Messages: e.Done, Bytes: e.Out + e.In}
	n.Sizes = mergeSizes(n.Sizes, []Size{size})
}

func (b *builder) gap(root ID, from, to record.Edge, e *record.Entry, samples []*record.Entry) {
	node := b.between(root, from, to)
	parent := b.nodes[node.Parent]
	if root == Others && parent.Kind == KindRoot {
		return
	}
	if node.To.Side == SideCall && e.Max > 0 {
		began, known := b.began[node.To.Node]
		if !known {
			began[0] = e.Min
		}
		b.began[node.To.Node] = [2]uint64{min(began[0], e.Min), max(began[1], e.Max)}
	}
	off := b.clock.Ns(min(e.Runnable, e.Sum))
	total := b.clock.Ns(e.Sum)
	n := b.add(node)
	n.Calls = n.Calls.Merge(stat.Stat{N: e.N, Sum: total - off, MinRank: b.rank, MaxRank: b.rank})
	charge(n, total-off-b.split(root, n, samples, total-off-min(total-off, b.clock.Ns(e.Blocked))))
	n.Runnable += off
	n.Blocked += b.clock.Ns(e.Blocked)
	if off > 0 {
		charge(b.add(Node{Parent: parent.ID, Kind: KindOffCore}), off)
	}
	if e.Own > 0 {
		charge(b.add(Node{Parent: parent.ID, Kind: KindOwn}), b.clock.Ns(e.Own))
	}
}

// split shares computing time among the places that samples hit, and returns how much of it.
func (b *builder) split(root ID, gap *Node, samples []*record.Entry, ns uint64) (shared uint64) {
	var all, before uint64 // periods of the timer
	for _, e := range samples {
		all += periods(e)
	}
	for _, e := range samples {
		if periods(e) == 0 {
			continue
		}
		share := portion(ns, before+periods(e), all) - portion(ns, before, all)
		before += periods(e)
		path, _ := e.Sampled()
		node := b.sampled(root, path)
		if node == nil || !b.below(node.Parent, gap.Parent) && !b.beside(node.Parent, gap.Parent) {
			gap.Samples += e.N
			continue
		}
		node.From, node.To, node.Loop, node.Of = gap.From, gap.To, gap.Loop, gap.ID
		n := b.add(*node)
		n.Samples += e.N
		charge(n, share)
		shared += share
	}
	return shared
}

// periods of the timer in which samples hit; more than fit a sum are damage.
func periods(e *record.Entry) uint64 { return min(e.Sum, 1<<40) }

// portion is ns·part/whole, rounded down; part is at most the whole.
func portion(ns, part, whole uint64) uint64 {
	hi, lo := bits.Mul64(ns, part)
	quotient, _ := bits.Div64(hi, lo, whole)
	return quotient
}

// below tells whether a node is another one, or below it.
func (b *builder) below(id, above ID) bool {
	for ; id != above; id = b.nodes[id].Parent {
		if b.nodes[id].Kind == KindRoot {
			return false
		}
	}
	return true
}

// beside tells whether a thread can have been in one function, in a gap that is charged to another: the latter may have
// returned, and been called again before the next event, which only a sample shows. What is open stays open.
func (b *builder) beside(id, gap ID) bool {
	for ; b.nodes[gap].Kind == KindFrame; gap = b.nodes[gap].Parent {
	}
	for ; b.nodes[id].Kind == KindFrame; id = b.nodes[id].Parent {
	}
	return id == gap
}

// elsewhere charges threads without events with a period of the timer for each sample.
func (b *builder) elsewhere(samples []*record.Entry) {
	for _, e := range samples {
		path, _ := e.Sampled()
		node := b.sampled(Others, path)
		if node == nil {
			node = &Node{Parent: b.root(Others).ID, Kind: KindGap}
		}
		n := b.add(*node)
		n.Samples += e.N
		charge(n, uint64(1e9*float64(periods(e))/float64(max(b.p.Header().SampleHz, 1))))
	}
}

// sampled is the node of a place where samples hit, but for the gap that they are of; nil if it is not known.
func (b *builder) sampled(root ID, path uint32) *Node {
	if int(path) >= len(b.table) || path == 0 {
		return nil
	}
	raw := b.table[path]
	if raw.Kind == record.NodePlace && raw.Parent < path {
		if site := b.code(raw.Name, raw.Key); site.Offset != 0 {
			return &Node{Parent: b.path(root, raw.Parent).ID, Kind: KindGap, Site: site}
		}
		path = raw.Parent
	}
	if n := b.path(root, path); n.Kind == KindFrame {
		site := n.Code // it is all that is known
		if !b.modules[site.Module].Source {
			site.Offset++ // as if by a return
		}
		return &Node{Parent: n.ID, Kind: KindGap, Site: site}
	}
	return nil
}

// between is the node of a gap.
func (b *builder) between(root ID, from, to record.Edge) Node {
	begin, before := b.edge(root, from, true)
	end, after := b.edge(root, to, false)
	loop := b.isTest(begin) && b.isTest(end) && !to.Long()
	return Node{Parent: b.common(before, after).ID, Kind: KindGap, From: begin, To: end, Loop: loop}
}

func (b *builder) isTest(e Edge) bool {
	return e.Side == SideCall && b.nodes[e.Node].Op == record.OpTest
}

// count adds to what was counted on a path, which until finish is a sum.
func (b *builder) count(n *Node, name string, e *record.Entry) {
	sum := stat.Stat{N: e.N, Sum: e.Sum}
	i, found := slices.BinarySearchFunc(n.Counters, name, func(c Counter, name string) int { return cmp.Compare(c.Name, name) })
	if !found {
		n.Counters = slices.Insert(n.Counters, i, Counter{Name: name})
	}
	c := &n.Counters[i]
	c.Exclusive, c.Inclusive = c.Exclusive.Merge(sum), c.Inclusive.Merge(sum)
}

// counter is what was counted under a name, or nil.
func (n *Node) counter(name string) *Counter {
	for i := range n.Counters {
		if n.Counters[i].Name == name {
			return &n.Counters[i]
		}
	}
	return nil
}

// finishCounters takes from each path what was counted below.
func (b *builder) finishCounters() {
	for _, n := range b.nodes {
		if n.Kind == KindRoot {
			continue
		}
		for _, c := range n.Counters {
			above := b.nodes[n.Parent]
			x := above.counter(c.Name)
			for x == nil && above.Kind != KindRoot {
				above = b.nodes[above.Parent]
				x = above.counter(c.Name)
			}
			if x != nil {
				x.Exclusive.Sum -= min(x.Exclusive.Sum, c.Inclusive.Sum)
			}
		}
	}
	for _, n := range b.nodes {
		for i := range n.Counters {
			c := &n.Counters[i]
			c.Ranks = []stat.Ranked{{Rank: b.rank, Value: c.Exclusive.Sum, Other: c.Inclusive.Sum, Count: c.Inclusive.N}}
			c.Exclusive, c.Inclusive = stat.Of(c.Exclusive.Sum, b.rank), stat.Of(c.Inclusive.Sum, b.rank)
		}
	}
}

// finish turns sums into statistics over ranks with this rank as their only sample.
func (b *builder) finish() *Graph {
	b.finishCounters()
	beginning := b.p.Header().BeginTick
	for id, began := range b.began {
		n := b.nodes[id]
		if n.Kind != KindMPI {
			continue
		}
		n.First, n.Last = b.clock.Ns(began[0]-min(began[0], beginning)), b.clock.Ns(began[1]-min(began[1], beginning))
	}
	g := &Graph{Modules: slices.SortedFunc(maps.Values(b.modules), func(x, y Module) int { return cmp.Compare(x.Key, y.Key) })}
	for _, n := range b.nodes {
		g.Nodes = append(g.Nodes, *n)
	}
	slices.SortFunc(g.Nodes, func(x, y Node) int { return cmp.Compare(x.ID, y.ID) })
	children := g.Children()
	var inclusive func(i int) uint64
	inclusive = func(i int) uint64 {
		n := &g.Nodes[i]
		exclusive := n.Exclusive.Sum
		sum := exclusive
		for _, c := range children[n.ID] {
			sum += inclusive(c)
		}
		n.Exclusive = stat.Of(exclusive, b.rank)
		n.Inclusive = stat.Of(sum, b.rank)
		n.Ranks = []stat.Ranked{{Rank: b.rank, Value: exclusive, Other: sum, Count: n.Calls.N}}
		return sum
	}
	for i := range g.Nodes {
		if g.Nodes[i].Kind == KindRoot {
			inclusive(i)
		}
	}
	return g
}
