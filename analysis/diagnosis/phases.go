package diagnosis

import (
	"cmp"
	"slices"
	"strings"

	"marple/analysis/callgraph"
	"marple/analysis/knowledge"
	"marple/analysis/record"
	"marple/analysis/run"
)

// Phase is a part of a run with a design of its own: certain calls, and what ranks compute before each of them.
type Phase struct {
	Where   string     `json:"where"`    // the functions in which these calls are made
	Share   float64    `json:"share"`    // of core time
	FirstNs uint64     `json:"first_ns"` // when its first call began, after the beginning, and when its last; means over ranks
	LastNs  uint64     `json:"last_ns"`
	Looks   []Likeness `json:"looks"` // the likeliest first
	run     *run.Run   // the run as if there were nothing else
}

// Recognized tells whether the phase looks like a model that is known.
func (p *Phase) Recognized() bool { return recognized(p.Looks) }

const (
	// leastPhase is the part of the core time below which a part of a run is no phase: who starts and ends a program
	// in a way of its own does not give it another design.
	leastPhase = 0.1
	// across is the part of the core time that calls may take which are made all the time, and do not tie together what
	// comes before a moment and what comes after it.
	across = 0.05
	// blurred is the part of its time by which the first calls of a path may be later, and the last ones earlier: ranks are
	// not all done with a phase at once.
	blurred = 0.1
	// mostly is the part of a run that may be taken for the whole.
	mostly = 0.8
	// repeated is how often ranks do, at least, what has a design.
	repeated = 4
	// closed is the part of the messages that must be sent and received by the same calls, for these to be by themselves.
	closed = 0.95
)

// Phases looks for parts of a run that have designs of their own, without being told: parts that follow one another in
// time, and, where they take turns, functions that have messages of their own. Phases that the program itself has
// numbered (MPI_Pcontrol) are parts before all others. Parts that look alike are one phase. It gives none if the run is
// better said to have one design, or none; nor where the call graph is so large that looking would take longer than many a run.
func Phases(r *run.Run, pieces ...*knowledge.Knowledge) ([]*Phase, error) {
	x := &splitter{r: r, pieces: pieces}
	root := r.Root()
	if root == nil || r.PathsNotListed > 0 || r.IsLarge() {
		return nil, nil
	}
	x.collect(root, nil)
	if x.core = seconds(r.Core.Useful + r.Core.MPI - min(r.Core.MPI, r.Core.Waited)); x.core <= 0 || !x.timed {
		return nil, nil
	}
	whole, err := x.phase(x.sites)
	if err != nil {
		return nil, err
	}
	parts, err := x.explain(x.sites, whole)
	if err != nil || len(parts) == 1 && len(parts[0].sites) == len(x.sites) {
		return nil, err
	}
	return x.join(parts)
}

// splitter takes a run apart.
type splitter struct {
	r      *run.Run
	pieces []*knowledge.Knowledge
	core   float64
	sites  []*site
	timed  bool
}

// site is the call path of an MPI function.
type site struct {
	*run.Node
	above       []*run.Node // the root first
	first, last float64     // ns
	weight      float64     // seconds of core time in these calls, and before them since the calls before
}

// part is a phase in the making.
type part struct {
	*Phase
	sites []*site
}

// collect lists the sites below a node.
func (x *splitter) collect(n *run.Node, above []*run.Node) {
	before := map[string]float64{}
	var walk func(n *run.Node, above []*run.Node)
	walk = func(n *run.Node, above []*run.Node) {
		switch callgraph.ParseKind(n.Kind) {
		case callgraph.KindGap:
			before[n.To] += seconds(n.Exclusive.Sum)
		case callgraph.KindMPI:
			if op := record.ParseOp(n.Op); op != record.OpInit && op != record.OpFinalize {
				x.timed = x.timed || n.Last > 0
				x.sites = append(x.sites, &site{Node: n, above: slices.Clone(above), first: float64(n.First), last: float64(n.Last),
					weight: seconds(n.Cost())})
			}
		}
		above = append(above, n)
		for _, c := range n.Children {
			walk(c, above)
		}
	}
	walk(n, above)
	for _, s := range x.sites {
		s.weight += before[s.ID]
	}
	slices.SortStableFunc(x.sites, func(a, b *site) int { return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(a.ID, b.ID)) })
}

func weight(sites []*site) (sum float64) {
	for _, s := range sites {
		sum += s.weight
	}
	return sum
}

// explain takes sites apart as long as that tells more than to leave them together.
func (x *splitter) explain(sites []*site, whole *part) ([]*part, error) {
	for _, way := range []struct {
		apart func([]*site) [][]*site
		turns bool
	}{{numbered, false}, {x.inTime, false}, {byCaller, true}} {
		groups := slices.DeleteFunc(way.apart(sites), func(g []*site) bool { return weight(g) < leastPhase*x.core })
		if len(groups) < 2 {
			continue
		}
		var parts []*part
		for _, g := range groups {
			one, err := x.phase(g)
			if err != nil {
				return nil, err
			}
			inner, err := x.explain(g, one)
			if err != nil {
				return nil, err
			}
			parts = append(parts, inner...)
		}
		if tellMore(whole, parts, way.turns) {
			return parts, nil
		}
	}
	return []*part{whole}, nil
}

// tellMore tells whether parts say more of a design than the whole does: that there are several, or that it is that of a
// part only. Parts that take turns may be those of one design: they must be several, and no names say what the whole is.
func tellMore(whole *part, parts []*part, turns bool) bool {
	covered, designs := 0.0, map[string]bool{}
	for _, p := range parts {
		if p.Recognized() {
			covered += p.Share
			designs[p.Looks[0].Model] = true
		}
	}
	if turns && whole.Recognized() && (len(designs) < 2 || whole.Looks[0].told) {
		return false
	}
	switch len(designs) {
	case 0:
		return false
	case 1:
		return !whole.Recognized() || !designs[whole.Looks[0].Model] || covered < mostly*whole.Share
	}
	return true
}

// join makes one phase of parts that look alike, and one of those that look like nothing.
func (x *splitter) join(parts []*part) ([]*Phase, error) {
	var names []string
	alike := map[string][]*part{}
	for _, p := range parts {
		name := ""
		if p.Recognized() {
			name = p.Looks[0].Model
		}
		if alike[name] == nil {
			names = append(names, name)
		}
		alike[name] = append(alike[name], p)
	}
	var list []*Phase
	for _, name := range names {
		one := alike[name][0]
		if len(alike[name]) > 1 {
			var sites []*site
			for _, p := range alike[name] {
				sites = append(sites, p.sites...)
			}
			joined, err := x.phase(sites)
			if err != nil {
				return nil, err
			}
			// Together they are what each of them is.
			joined.Looks = one.Looks
			one = joined
		}
		list = append(list, one.Phase)
	}
	slices.SortStableFunc(list, func(a, b *Phase) int { return cmp.Compare(a.FirstNs, b.FirstNs) })
	return list, nil
}

// numbered puts sites together that are in the same phase of the program's own numbering.
func numbered(sites []*site) [][]*site {
	return grouped(sites, func(s *site) string {
		for _, n := range slices.Backward(s.above) {
			if n.Kind == callgraph.KindPhase.String() {
				return n.Name
			}
		}
		return ""
	})
}

func grouped(sites []*site, key func(*site) string) (groups [][]*site) {
	number := map[string]int{}
	for _, s := range sites {
		k := key(s)
		if _, known := number[k]; !known {
			number[k] = len(groups)
			groups = append(groups, nil)
		}
		groups[number[k]] = append(groups[number[k]], s)
	}
	return groups
}

// inTime cuts sites where next to none is called both before and after.
func (x *splitter) inTime(sites []*site) [][]*site {
	type end struct{ at, change float64 }
	var ends []end
	for _, s := range sites {
		blur := blurred * (s.last - s.first)
		ends = append(ends, end{s.first + blur, s.weight}, end{s.last - blur, -s.weight})
	}
	slices.SortStableFunc(ends, func(a, b end) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(b.change, a.change)) })
	var begins []float64 // of segments
	running, open := 0.0, false
	for _, e := range ends {
		running += e.change
		if now := running > across*x.core; now != open {
			if open = now; open {
				begins = append(begins, e.at)
			}
		}
	}
	if len(begins) < 2 {
		return nil
	}
	groups := make([][]*site, len(begins))
	for _, s := range sites {
		middle := (s.first + s.last) / 2
		i, _ := slices.BinarySearch(begins, middle)
		i = max(i-1, 0)
		if i+1 < len(begins) && begins[i+1] == middle {
			i++
		}
		groups[i] = append(groups[i], s)
	}
	// What is not repeated starts or ends what comes after or before it.
	list := groups[:1]
	for _, g := range groups[1:] {
		if last := len(list) - 1; !repeats(g) || !repeats(list[last]) {
			list[last] = append(list[last], g...)
		} else {
			list = append(list, g)
		}
	}
	return list
}

// repeats tells whether most of the time goes into what ranks do again and again.
func repeats(sites []*site) bool {
	again := 0.0
	for _, s := range sites {
		if s.Calls != nil && s.Calls.N >= repeated*s.Exclusive.N {
			again += s.weight
		}
	}
	return again >= weight(sites)/2
}

// byCaller takes apart sites that take turns, by the functions below the last one that those with messages have in
// common. Functions belong together unless each receives what it sends, and if one answers the other. Collective operations, and what those in common
// call themselves, belong to the largest.
func byCaller(sites []*site) [][]*site {
	var talking, silent []*site
	for _, s := range sites {
		if len(s.Peers) > 0 {
			talking = append(talking, s)
		} else {
			silent = append(silent, s)
		}
	}
	if len(talking) == 0 {
		return nil
	}
	depth := common(talking)
	caller := func(s *site) string {
		if len(s.above) <= depth {
			return ""
		}
		return s.above[depth].ID
	}
	var apart [][]*site
	var open []*site
	for _, g := range grouped(talking, caller) {
		sent, stray := strays(g)
		if caller(g[0]) != "" && float64(stray) <= (1-closed)*float64(sent) && answered(talking, g) < 0.5 {
			apart = append(apart, g)
		} else {
			open = append(open, g...)
		}
	}
	if open != nil {
		apart = append(apart, open)
	}
	if len(apart) < 2 {
		return nil
	}
	within := map[string]int{}
	largest := 0
	for i, g := range apart {
		if weight(g) > weight(apart[largest]) {
			largest = i
		}
		within[caller(g[0])] = i
	}
	for _, s := range silent {
		i, known := within[caller(s)]
		if !known || len(s.above) <= depth || s.above[depth-1] != talking[0].above[depth-1] {
			i = largest
		}
		apart[i] = append(apart[i], s)
	}
	return apart
}

// common is how many functions, and what else is above calls, sites have in common.
func common(sites []*site) int {
	for depth := 1; ; depth++ {
		if slices.ContainsFunc(sites, func(s *site) bool { return len(s.above) <= depth || s.above[depth] != sites[0].above[depth] }) {
			return depth
		}
	}
}

// strays are how many messages sites send, and how many of those that they send or receive the others do not receive
// or send.
func strays(sites []*site) (sent, stray uint64) {
	balance := map[[2]int]int64{}
	for _, s := range sites {
		for _, l := range s.Peers {
			sent += l.Sent + l.Puts
			balance[[2]int{l.Rank, l.To}] += int64(l.Sent)
			balance[[2]int{l.To, l.Rank}] -= int64(l.Received)
		}
	}
	for _, b := range balance {
		stray += uint64(max(b, -b))
	}
	return sent, stray
}

// answered is the part of the messages that some of the sites send one way which come back between the same two ranks, but
// at the others.
func answered(all, some []*site) float64 {
	sent := func(sites []*site) map[[2]int]int64 {
		messages := map[[2]int]int64{}
		for _, s := range sites {
			for _, l := range s.Peers {
				messages[[2]int{l.Rank, l.To}] += int64(l.Sent)
			}
		}
		return messages
	}
	whole, part := sent(all), sent(some)
	total, back := int64(0), int64(0)
	for pair, n := range part {
		other := [2]int{pair[1], pair[0]}
		total += n
		back += min(max(n-part[other], 0), whole[other]-part[other])
	}
	return float64(back) / float64(max(total, 1))
}

// phase makes a phase of sites, and says what it looks like.
func (x *splitter) phase(sites []*site) (*part, error) {
	p := &Phase{Where: where(sites), FirstNs: ^uint64(0), Share: weight(sites) / x.core, run: x.only(sites)}
	for _, s := range sites {
		p.FirstNs, p.LastNs = min(p.FirstNs, s.First), max(p.LastNs, s.Last)
	}
	c := p.run.Core
	p.Share = seconds(c.Useful+c.MPI-min(c.MPI, c.Waited)) / x.core
	var err error
	p.Looks, err = Recognize(p.run, x.pieces...)
	return &part{p, sites}, err
}

// mostNames of functions are told, and none after the first that takes less than a tenth of the time.
const mostNames = 3

// where names the functions below the last one that sites have in common, those with most time first; or that one, if
// the calls are its own.
func where(sites []*site) string {
	depth := common(sites)
	name := func(s *site) string {
		if len(s.above) > depth {
			return nameOf(s.above[depth])
		}
		return s.Label()
	}
	if depth > 2 { // below main
		return nameOf(sites[0].above[depth-1])
	}
	groups := grouped(sites, name)
	slices.SortStableFunc(groups, func(a, b []*site) int { return cmp.Compare(weight(b), weight(a)) })
	var names []string
	for i, g := range groups {
		if i > 0 && weight(g) < weight(sites)/10 {
			break
		}
		if i == mostNames {
			names = append(names, "…")
			break
		}
		names = append(names, name(g[0]))
	}
	return strings.Join(names, ", ")
}

func nameOf(n *run.Node) string {
	if n.Function != "" {
		return n.Function
	}
	return n.Name
}

// only is the run as if it had no other calls than these.
func (x *splitter) only(sites []*site) *run.Run {
	r := *x.r
	in, other := map[string]bool{}, map[string]bool{} // call paths that are, or lead to, these; and to others
	for _, s := range x.sites {
		other[s.ID] = true
	}
	for _, s := range sites {
		in[s.ID], other[s.ID] = true, false
	}
	for _, s := range x.sites {
		for _, n := range s.above {
			in[n.ID] = in[n.ID] || in[s.ID]
			other[n.ID] = other[n.ID] || other[s.ID]
		}
	}
	has := func(id string) (yes, known bool) { return in[id], in[id] != other[id] }
	keep := func(n, parent *run.Node) bool {
		switch callgraph.ParseKind(n.Kind) {
		case callgraph.KindMPI:
			return in[n.ID]
		case callgraph.KindGap: // it leads to a call or region, or away from one
			for _, id := range []string{n.To, n.From, parent.ID} {
				if yes, known := has(id); known {
					return yes
				}
			}
			return false
		}
		yes, known := has(parent.ID)
		return yes && known
	}
	r.Core, r.PerRank = run.Balance{}, make([]run.RankBalance, len(x.r.PerRank))
	index := map[int32]int{}
	for i, b := range x.r.PerRank {
		r.PerRank[i] = run.RankBalance{Rank: b.Rank, Host: b.Host, Ended: b.Ended, Threads: b.Threads}
		index[int32(b.Rank)] = i
	}
	var clone func(n *run.Node) *run.Node
	clone = func(n *run.Node) *run.Node {
		c := *n
		c.Children = nil
		for _, child := range n.Children {
			switch kind := callgraph.ParseKind(child.Kind); {
			case kind != callgraph.KindMPI && kind != callgraph.KindGap && kind != callgraph.KindOffCore && kind != callgraph.KindOwn:
				if below := clone(child); len(below.Children) > 0 {
					c.Children = append(c.Children, below)
				}
			case keep(child, n):
				c.Children = append(c.Children, child)
				charge(&r.Core, kind, child, child.Exclusive.Sum)
				for _, one := range child.PerRank {
					if i, ok := index[one.Rank]; ok {
						charge(&r.PerRank[i].Balance, kind, child, one.Exclusive)
						r.PerRank[i].Calls += one.Calls
					}
				}
			}
		}
		return &c
	}
	r.CallGraph = []*run.Node{clone(x.r.Root())}
	traffic(&r, sites, index)
	most, useful := uint64(0), uint64(0)
	r.WallNs = 0
	for _, b := range r.PerRank {
		useful, most, r.WallNs = useful+b.Useful, max(most, b.Useful), max(r.WallNs, b.Wall)
	}
	r.Efficiency.LoadBalance = float64(useful) / float64(max(most, 1)) / float64(max(len(r.PerRank), 1))
	if r.Waits != nil {
		r.Waits = waitsIn(r.Waits, &r)
	}
	return &r
}

// data is the phase of a run.
func (p *Phase) data(whole *data) *data {
	d := newData(p.run)
	d.of, d.events = whole, newEventsIn(whole.events, p.run)
	d.partial = slices.ContainsFunc(d.nodes, func(n node) bool { return n.class != 0 && !n.whole })
	return d
}

// charge adds what a path's time was spent on to a balance.
func charge(b *run.Balance, kind callgraph.Kind, n *run.Node, ns uint64) {
	part := float64(ns) / float64(max(n.Exclusive.Sum, 1))
	b.Wall += ns
	switch kind {
	case callgraph.KindMPI:
		b.MPI += ns
		b.Waited += uint64(part * float64(n.OffCore))
	case callgraph.KindGap:
		b.Useful += ns
		b.Blocked += uint64(part * float64(n.Blocked))
	case callgraph.KindOffCore:
		b.OffCore += ns
	case callgraph.KindOwn:
		b.Own += ns
	}
}

// traffic counts who talks to whom on certain call paths.
func traffic(r *run.Run, sites []*site, index map[int32]int) {
	pairs := map[[2]int]int{}
	r.Peers = []run.Peer{}
	for _, s := range sites {
		for _, l := range s.Peers {
			key := [2]int{l.Rank, l.To}
			if _, known := pairs[key]; !known {
				pairs[key] = len(r.Peers)
				r.Peers = append(r.Peers, run.Peer{Rank: l.Rank, To: l.To})
			}
			p := &r.Peers[pairs[key]]
			p.Sent, p.SentBytes, p.Puts, p.PutBytes = p.Sent+l.Sent, p.SentBytes+l.SentBytes, p.Puts+l.Puts, p.PutBytes+l.PutBytes
			p.Received, p.ReceivedBytes, p.Gets, p.GetBytes = p.Received+l.Received, p.ReceivedBytes+l.ReceivedBytes, p.Gets+l.Gets, p.GetBytes+l.GetBytes
			p.OnwardNs, p.BackNs, p.Turns = p.OnwardNs+l.OnwardNs, p.BackNs+l.BackNs, p.Turns+l.Turns
			p.Rounds, p.Alone = p.Rounds+l.Rounds, p.Alone+l.Alone
			if i, ok := index[int32(l.Rank)]; ok {
				b := &r.PerRank[i]
				b.Sent, b.SentBytes = b.Sent+l.Sent, b.SentBytes+l.SentBytes
				b.Received, b.ReceivedBytes = b.Received+l.Received, b.ReceivedBytes+l.ReceivedBytes
			}
		}
	}
	r.PeersNotListed = 0
}

// waitsIn are the waits at the call paths of a run, and the delays there.
func waitsIn(w *run.Waits, r *run.Run) *run.Waits {
	in := map[string]bool{}
	r.Root().Walk(func(n *run.Node, _ int) bool {
		in[n.ID] = true
		return true
	})
	out := *w
	out.Patterns, out.Sites, out.Delays = nil, nil, nil
	out.Ns = 0
	number := map[string]int{}
	for _, s := range w.Sites {
		if !in[s.Node] {
			continue
		}
		out.Sites = append(out.Sites, s)
		out.Ns += s.Ns
		if _, known := number[s.Pattern]; !known {
			number[s.Pattern] = len(out.Patterns)
			out.Patterns = append(out.Patterns, run.WaitPattern{Pattern: s.Pattern})
		}
		p := &out.Patterns[number[s.Pattern]]
		p.Ns, p.Instances = p.Ns+s.Ns, p.Instances+s.Instances
	}
	for _, d := range w.Delays {
		if d.Node == "" || in[d.Node] {
			out.Delays = append(out.Delays, d)
		}
	}
	return &out
}

// eventsIn are the events of a run that belong to its call paths, of a sequence that may have others.
type eventsIn struct {
	Events
	in map[string]bool
}

func newEventsIn(e Events, r *run.Run) Events {
	if e == nil {
		return nil
	}
	x := eventsIn{e, map[string]bool{}}
	r.Root().Walk(func(n *run.Node, _ int) bool {
		x.in[n.ID] = true
		return true
	})
	return x
}

// Replay begins with the first event of them, and ends with the last.
func (x eventsIn) Replay(rank int, visit func(*Event)) (begin, end uint64, err error) {
	var known []int8 // by number of the call path: 1 is one of them, -1 is not
	any := false
	_, _, err = x.Events.Replay(rank, func(e *Event) {
		if int(e.Path) >= len(known) {
			if e.Path >= maxPaths {
				return
			}
			known = append(known, make([]int8, int(e.Path)+1-len(known))...)
		}
		if known[e.Path] == 0 {
			known[e.Path] = -1
			if x.in[x.Node(e.Path)] {
				known[e.Path] = 1
			}
		}
		if known[e.Path] < 0 {
			return
		}
		if !any {
			begin, any = e.Start, true
		}
		end = e.Start + e.Duration
		visit(e)
	})
	return begin, end, err
}
