package run

import (
	"cmp"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"marple/analysis/callgraph"
	"marple/analysis/profile"
	"marple/analysis/record"
	"marple/analysis/setting"
	"marple/analysis/stat"
	"marple/analysis/symbol"
	"marple/analysis/words"
)

// Namer turns addresses into names.
type Namer interface {
	// Function is the name of the function that begins at a place; "" if it is not known.
	Function(callgraph.Code) string
	// Site is where the call with this return address stands: the innermost inlined function first.
	Site(callgraph.Code) []symbol.Frame
	// Notes say why names of a module may be missing.
	Notes(m callgraph.Module) []string
}

// waited is a counter that is none: how long ranks waited for the others, as TAU measured it (pmpi/tau.c).
const waited = "MPI Collective Sync (ns)"

// teamCounters are counters that are none, too: what threads of OpenMP did in parallel regions (cshim/adapters/ompt.c).
var teamCounters = map[string]func(t *Team) *uint64{
	"OpenMP thread time (ns)": func(t *Team) *uint64 { return &t.Threads },
	"OpenMP mean work (ns)":   func(t *Team) *uint64 { return &t.Work },
	"OpenMP imbalance (ns)":   func(t *Team) *uint64 { return &t.Imbalance },
}

// codeUnknown is a code of MPI_Abort that nobody has told: MRL_CODE_UNKNOWN.
const codeUnknown = math.MinInt32

// New makes a run of a merged profile, without findings.
func New(p *profile.Profile, names Namer) *Run {
	b := &builder{p: p, names: names, groups: map[string]string{}, modules: map[string]callgraph.Module{}, nodes: map[callgraph.ID]*Node{},
		same: map[callgraph.ID]callgraph.ID{}, places: map[callgraph.ID][]*callgraph.Node{}}
	for _, m := range p.Graph.Modules {
		b.modules[m.Key] = m
	}
	for _, g := range p.Groups {
		b.groups[g.Name] = g.Groups
	}
	r := &Run{
		Schema: Schema, Program: p.Program, Ranks: int(p.World), Measured: len(p.Totals),
		Started: time.Unix(0, int64(p.Begun)).UTC(), MPI: MPI{p.MPI, p.Library},
		ThreadLevel: threadLevels[p.Threads&3], Clocks: clockNames(p.Clocks),
		WallNs: p.Sum(func(t profile.Total) uint64 { return t.Wall }).Max,
		InitNs: p.Sum(func(t profile.Total) uint64 { return t.Init }).Max,
	}
	parameters, wrong := setting.ParsePairs(p.Params)
	r.Parameters = parameters
	var unread error
	r.Exchanged, r.Families, unread = exchanged(p.Families)
	for _, h := range p.Hosts {
		r.Hosts = append(r.Hosts, Host{h.Name, int(h.Ranks), h.Cores()})
	}
	slices.SortFunc(r.Hosts, func(x, y Host) int { return cmp.Compare(x.Name, y.Name) })
	b.balance(r)
	r.CallGraph = b.graph()
	r.fired()
	r.Team = team(r.CallGraph)
	r.Counters = b.counters()
	r.Files = newFiles(p)
	r.Sampling = b.sampling()
	r.Functions = b.functions(r.CoreTime())
	r.Communicators = b.communicators()
	b.peers(r)
	r.Modules = []Module{}
	for _, m := range p.Graph.Modules {
		r.Modules = append(r.Modules, Module{m.Path, m.BuildID, names.Notes(m)})
	}
	for _, a := range p.Atomics {
		r.AtomicEvents = append(r.AtomicEvents, AtomicEvent{a.Name, newReals(a.Values)})
	}
	for _, m := range p.Metadata {
		if m.Name != record.PythonUnread {
			r.Metadata = append(r.Metadata, Metadata(m))
		}
	}
	r.Waits, r.WithCores, r.Replay = b.waits(r), b.cored(), b.p.Waits.Program
	r.Models, r.Deeper = []Model{}, []Note{}
	r.Efficiency.split(p.Waits.Ideal, p.Waits.Replayed, r.WallNs)
	r.Stuck = b.stuck(r)
	r.Conditions = append(append([]Note{}, incomplete(p)...), conditions(r)...)
	r.NotSeen = b.notSeen(r)
	if unread != nil {
		r.NotSeen = append(r.NotSeen, Note{"exchanged", fmt.Sprintf("which implementations were exchanged is not all known: %v", unread), 0})
	}
	if p.Uncounted != "" {
		r.NotSeen = append(r.NotSeen, Note{"counters", "not counted: " + p.Uncounted, 0})
	}
	if wrong != nil {
		r.NotSeen = append(r.NotSeen, Note{"params", fmt.Sprintf("the run's parameters could not be read: %v", wrong), 0})
	}
	return r
}

var threadLevels = [4]string{"single", "funneled", "serialized", "multiple"}

func clockNames(set uint8) []string {
	names := []string{}
	for i, name := range []string{"tsc", "monotonic", "external"} {
		if set&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

type builder struct {
	p       *profile.Profile
	names   Namer
	groups  map[string]string // of regions
	modules map[string]callgraph.Module
	nodes   map[callgraph.ID]*Node
	same    map[callgraph.ID]callgraph.ID      // of a node that another one stands for
	places  map[callgraph.ID][]*callgraph.Node // where samples of a gap hit
}

var endings = map[uint8]string{record.Running: "vanished", record.Finalized: "finalized", record.Exited: "exited", record.Aborted: "aborted",
	record.Fatal: "failed", record.Alive: "running"}

func (b *builder) balance(r *Run) {
	hosts := map[uint64]string{}
	for _, h := range b.p.Hosts {
		hosts[h.ID] = h.Name
	}
	for _, t := range b.p.Totals {
		one := Balance{Wall: t.Wall, Useful: t.Useful, MPI: t.MPI, OffCore: t.OffCore, Waited: t.Waited,
			Blocked: t.Blocked, Paused: t.Paused, Own: t.Own}
		r.Core.Add(one)
		r.PerRank = append(r.PerRank, RankBalance{Rank: int(t.Rank), Host: hosts[t.Host], Ended: endings[t.State],
			Abort: int(t.Abort), Error: t.Error, Threads: int(t.Threads), Balance: one, Longest: t.Longest, InitNs: t.Init, OtherMPI: t.OtherMPI, OtherCPU: t.Others, PeakMemory: t.Memory, Cores: int(t.Cores), Calls: t.Calls,
			Sent: t.Sent, SentBytes: t.SentBytes, Received: t.Received, ReceivedBytes: t.ReceivedBytes,
			Traffic: newTraffic(t.Traffic), Files: newFileUse(t.Files), MessageSizes: newMessageSizes(t.SentSizes, t.ReceivedSizes)})
	}
	r.Efficiency = Efficiencies(r.PerRank)
	for _, t := range b.p.Totals {
		r.Invocations += t.Invocations
	}
}

// Add adds another balance.
func (b *Balance) Add(x Balance) {
	b.Wall += x.Wall
	b.Useful += x.Useful
	b.MPI += x.MPI
	b.OffCore += x.OffCore
	b.Waited += x.Waited
	b.Blocked += x.Blocked
	b.Paused += x.Paused
	b.Own += x.Own
}

// CoreTime is what shares are of: the time during which ranks had a core, or waited of their own accord.
func (r *Run) CoreTime() uint64 { return r.Core.coreTime() }

func (b Balance) coreTime() uint64 {
	return b.Wall - min(b.Wall, b.OffCore+b.Waited+b.Paused+b.Own)
}

// Efficiencies are the POP metrics of these ranks.
func Efficiencies(ranks []RankBalance) Efficiency {
	var sum Balance
	var most uint64
	for _, r := range ranks {
		sum.Add(r.Balance)
		most = max(most, r.Useful)
	}
	core, measured := float64(sum.coreTime()), float64(sum.Wall-sum.Paused-sum.Own)
	if core <= 0 || measured <= 0 {
		return Efficiency{}
	}
	e := Efficiency{Parallel: float64(sum.Useful) / core, CoreAvailability: core / measured}
	if most == 0 {
		return e
	}
	busiest := float64(most) * float64(len(ranks)) // core time, had all ranks been as busy
	e.LoadBalance = float64(sum.Useful) / busiest
	if busiest <= core*(1+1e-9) {
		e.Communication, e.Defined = busiest/core, true
	}
	return e
}

// split divides the communication efficiency, given the time that would be left on an ideal network, the time that it
// is part of, and that of the whole run.
func (e *Efficiency) split(ideal, replayed, wall uint64) {
	if !e.Defined || replayed == 0 || wall == 0 {
		return
	}
	e.Replayed = min(float64(replayed)/float64(wall), 1)
	// More than 1 for either would be the two measurements' disagreement.
	e.Transfer = min(max(float64(ideal)/float64(replayed), e.Communication), 1)
	e.Serialization = e.Communication / e.Transfer
}

func (b *builder) graph() []*Node {
	g := &b.p.Graph
	children := g.Children()
	for i := range g.Nodes {
		if n := &g.Nodes[i]; n.Of != 0 && g.Find(n.Of) != nil {
			b.places[n.Of] = append(b.places[n.Of], n)
		}
	}
	var build func(from *callgraph.Node) *Node
	build = func(from *callgraph.Node) *Node {
		n := b.node(from)
		b.nodes[from.ID] = n
		for _, c := range b.join(children[from.ID]) {
			n.Children = append(n.Children, build(&c))
		}
		slices.SortStableFunc(n.Children, func(x, y *Node) int {
			return cmp.Or(cmp.Compare(y.Inclusive.Sum, x.Inclusive.Sum), cmp.Compare(x.ID, y.ID))
		})
		return n
	}
	var roots []*Node
	for i := range g.Nodes {
		if g.Nodes[i].Kind == callgraph.KindRoot {
			roots = append(roots, build(&g.Nodes[i]))
		}
	}
	for id, stands := range b.same {
		b.nodes[id] = b.nodes[stands]
	}
	// Gaps are named after the calls around them, which must all have names by now.
	for i := range g.Nodes {
		if n := &g.Nodes[i]; n.Kind == callgraph.KindGap {
			if named := b.nodes[n.ID]; named != nil {
				named.Name = b.gapName(n)
			}
		}
	}
	return roots
}

// team adds up what teams of threads did.
func team(graph []*Node) *Team {
	var all *Team
	for _, root := range graph {
		root.Walk(func(n *Node, _ int) bool {
			if t := n.Team; t != nil {
				if all == nil {
					all = &Team{}
				}
				all.Threads, all.Region, all.Work, all.Imbalance = all.Threads+t.Threads, all.Region+t.Region, all.Work+t.Work, all.Imbalance+t.Imbalance
			}
			return true
		})
	}
	return all
}

func (b *builder) counters() (list []Counter) {
	for _, c := range b.p.Counters {
		if c.Name == waited || teamCounters[c.Name] != nil {
			continue
		}
		one := Counter{Name: c.Name}
		for i, source := range []string{"PAPI", "perf_event", "kernel", "TAU"} {
			if c.Sources&(1<<i) != 0 {
				one.Sources = append(one.Sources, source)
			}
		}
		timed := uint64(0) // TAU tells what its timers counted, and nothing of whole threads
		for _, n := range b.p.Graph.Nodes {
			for _, counted := range n.Counters {
				if counted.Name == c.Name && n.Kind == callgraph.KindRoot {
					one.Sum += counted.Inclusive.Sum
				} else if counted.Name == c.Name {
					timed += counted.Exclusive.Sum
				}
			}
		}
		one.Sum = cmp.Or(one.Sum, timed)
		list = append(list, one)
	}
	return list
}

// NodeID is how run.json names a call path.
func NodeID(id callgraph.ID) string { return fmt.Sprintf("%016x", uint64(id)) }

func (b *builder) node(n *callgraph.Node) *Node {
	out := &Node{ID: NodeID(n.ID), Kind: n.Kind.String(), Name: n.Name, Exclusive: newStat(n.Exclusive),
		Inclusive: newStat(n.Inclusive), First: n.First / max(n.Exclusive.N, 1),
		Last: n.Last / max(n.Exclusive.N, 1), Out: n.Out, In: n.In, Fails: n.Failed, OffCore: n.Runnable, Blocked: n.Blocked,
		Sizes: newSizes(n.Sizes)}
	for _, r := range n.Ranks {
		out.PerRank = append(out.PerRank, RankTime{r.Rank, r.Value, r.Other, r.Count})
	}
	slices.SortFunc(out.PerRank, func(x, y RankTime) int { return cmp.Compare(x.Rank, y.Rank) })
	for _, c := range n.Counters {
		if c.Name == waited {
			out.Waiting += c.Exclusive.Sum
			continue
		}
		if field := teamCounters[c.Name]; field != nil {
			if out.Team == nil {
				out.Team = &Team{Region: n.Inclusive.Sum}
			}
			*field(out.Team) += c.Exclusive.Sum
			continue
		}
		m := Metric{Name: c.Name, Exclusive: float64(c.Exclusive.Sum), Inclusive: float64(c.Inclusive.Sum)}
		for _, r := range c.Ranks {
			m.PerRank = append(m.PerRank, RankMetric{r.Rank, float64(r.Value), float64(r.Other)})
		}
		slices.SortFunc(m.PerRank, func(x, y RankMetric) int { return cmp.Compare(x.Rank, y.Rank) })
		out.Metrics = append(out.Metrics, m)
	}
	if n.Calls.N > 0 {
		calls := newStat(n.Calls)
		out.Calls = &calls
	}
	b.site(out, n.Site)
	switch n.Kind {
	case callgraph.KindRoot:
		out.Name = b.p.Program
		if n.ID == callgraph.Others {
			out.Name = "other threads"
		}
	case callgraph.KindFrame:
		module := b.modules[n.Code.Module]
		if out.Module = module.Path; !module.Source {
			out.Offset = fmt.Sprintf("0x%x", n.Code.Offset)
		}
		out.Function = cmp.Or(n.Name, b.names.Function(n.Code))
		if out.Name = out.Function; out.Name == "" {
			out.Name = b.address(n.Code)
		}
	case callgraph.KindCut:
		out.Name = "callers beyond the depth that was asked for"
		if n.Unknown {
			out.Name = "callers that could not be found"
		}
	case callgraph.KindComponent:
		out.Component, out.Method, out.Instance = n.Component, n.Name, n.Instance
		out.Name = words.Method(n.Component, n.Instance, n.Name)
	case callgraph.KindRegion:
		if list := b.groups[n.Name]; list != "" {
			out.Groups = strings.Split(list, "|")
		}
	case callgraph.KindPhase:
		out.Name = fmt.Sprintf("phase %d", n.Level)
		if n.Level == 0 {
			out.Name = "recording off"
		}
	case callgraph.KindMPI:
		out.Op = n.Op.String()
		if n.Op == record.OpTest {
			out.Hits, out.Polled = n.Done, n.Polled
		} else {
			out.Messages = n.Done
		}
	case callgraph.KindOffCore:
		out.Name = "waiting for a core"
	case callgraph.KindOwn:
		out.Name = "Marple itself"
	case callgraph.KindGap:
		out.From, out.To, out.Loop, out.Samples = NodeID(n.From.Node), NodeID(n.To.Node), n.Loop, n.Samples
		if n.Of != 0 {
			out.Of = NodeID(n.Of)
		}
	case callgraph.KindOverflow:
		out.Name = "paths that found no room"
	}
	return out
}

// address names a place by itself: libfoo+0x1234.
func (b *builder) address(c callgraph.Code) string {
	if c.Module == "" {
		return fmt.Sprintf("0x%x", c.Offset)
	}
	module, _, _ := strings.Cut(path.Base(b.modules[c.Module].Path), ".so")
	module, _, _ = strings.Cut(module, ".cpython-") // of Python's extension modules
	return fmt.Sprintf("%s+0x%x", module, c.Offset)
}

// site says where a node was called.
func (b *builder) site(out *Node, c callgraph.Code) {
	if c.Offset == 0 {
		return
	}
	frames := b.names.Site(c)
	if len(frames) == 0 || frames[0].File == "" {
		out.Site = b.address(c)
	} else {
		out.File, out.Line = frames[0].File, frames[0].Line
		out.Site = place(frames[0])
	}
	out.Inlined = b.inlined(c)
}

// inlined are the functions whose code a place is in, but for the one that has a frame.
func (b *builder) inlined(c callgraph.Code) (list []Inlined) {
	frames := b.names.Site(c)
	for i := 0; i+1 < len(frames); i++ {
		list = append(list, Inlined{frames[i].Function, frames[i+1].File, frames[i+1].Line, place(frames[i+1])})
	}
	return list
}

func place(f symbol.Frame) string {
	if f.File == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d", path.Base(f.File), f.Line)
}

// gapName says between which calls a gap lies, as seen from the function or region that it is in.
func (b *builder) gapName(n *callgraph.Node) string {
	if n.Site.Offset != 0 {
		return ownCode
	}
	if n.Samples > 0 && n.From.Node == 0 {
		return "places that are not known"
	}
	if n.From.Node == n.Parent && n.To.Node == n.Parent && n.From.Side == callgraph.SideEnter && n.To.Side == callgraph.SideExit {
		if parent := b.p.Graph.Find(n.Parent); parent != nil && parent.Kind == callgraph.KindRegion && parent.Site.Offset != 0 {
			return callItself
		}
	}
	from, to := b.edgeName(n, n.From, "the start"), b.edgeName(n, n.To, "the end")
	if n.Loop {
		return "loop around " + from
	}
	if from == to {
		return "between two of " + from
	}
	return fmt.Sprintf("between %s and %s", from, to)
}

// edgeName names what of a gap's parent a gap begins or ends with: an MPI call, a call of a function that leads
// to one, or the boundary of a region.
func (b *builder) edgeName(gap *callgraph.Node, e callgraph.Edge, terminal string) string {
	n := b.p.Graph.Find(e.Node)
	if n == nil || n.Kind == callgraph.KindRoot {
		return terminal
	}
	side := e.Side
	for n.ID != gap.Parent && n.Parent != gap.Parent {
		side = callgraph.SideCall
		if n = b.p.Graph.Find(n.Parent); n == nil || n.Kind == callgraph.KindRoot {
			return terminal
		}
	}
	named := b.nodes[n.ID]
	switch {
	case side == callgraph.SideCall:
		return named.Label()
	case side == callgraph.SideExit:
		return "the end of " + named.Name
	case n.Kind == callgraph.KindFrame && n.Calls.N == 0:
		return "MPI_Init" // where measuring began: such functions have no beginning that is known
	}
	return "the start of " + named.Name
}

func newSizes(sizes []callgraph.Size) []Size {
	var list []Size
	for _, s := range sizes {
		list = append(list, Size{Below: 1 << s.Class, Calls: s.Calls, Ns: s.Ns, Messages: s.Messages, Bytes: s.Bytes})
	}
	return list
}

func (b *builder) functions(core uint64) []Function {
	byName := map[string]*Function{}
	ranks := map[string]map[int32]bool{}
	waited := map[string]uint64{} // for a core, which is not part of core time
	for i := range b.p.Graph.Nodes {
		n := &b.p.Graph.Nodes[i]
		if n.Kind != callgraph.KindMPI {
			continue
		}
		f := byName[n.Name]
		if f == nil {
			f = &Function{Name: n.Name, Op: n.Op.String()}
			byName[n.Name], ranks[n.Name] = f, map[int32]bool{}
		}
		f.Calls += n.Calls.N
		f.Ns += n.Calls.Sum
		waited[n.Name] += n.Runnable
		f.Out += n.Out
		f.In += n.In
		f.Fails += n.Failed
		if n.Op == record.OpTest {
			f.Hits += n.Done
		}
		f.Ranks = max(f.Ranks, int(n.Exclusive.N))
		for _, r := range n.Ranks {
			ranks[n.Name][r.Rank] = true
		}
		f.Sizes = joinSizes(f.Sizes, newSizes(n.Sizes))
	}
	var list []Function
	for name, f := range byName {
		// Up to AllRanks ranks all are listed; beyond, the widest single path is what is known for certain.
		f.Ranks = max(f.Ranks, len(ranks[name]))
		if core > 0 {
			f.Share = float64(f.Ns-min(f.Ns, waited[name])) / float64(core)
		}
		list = append(list, *f)
	}
	slices.SortFunc(list, func(x, y Function) int { return cmp.Or(cmp.Compare(y.Ns, x.Ns), cmp.Compare(x.Name, y.Name)) })
	return list
}

func joinSizes(a, b []Size) []Size {
	return stat.MergeSorted(a, b, func(x, y Size) int { return cmp.Compare(x.Below, y.Below) }, func(x, y Size) Size {
		return Size{x.Below, x.Calls + y.Calls, x.Ns + y.Ns, x.Messages + y.Messages, x.Bytes + y.Bytes}
	})
}

func (b *builder) communicators() []Comm {
	list := []Comm{}
	for _, c := range b.p.Comms {
		comm := Comm{ID: NodeID(callgraph.ID(c.ID)), Name: c.Name, Size: int(c.Size), Inter: c.Inter, Members: members(c.Members),
			Calls: c.Calls, Ns: c.Ns, Out: c.Out, In: c.In}
		if c.Parent != 0 {
			comm.Parent = NodeID(callgraph.ID(c.Parent))
		}
		list = append(list, comm)
	}
	slices.SortFunc(list, func(x, y Comm) int { return cmp.Or(cmp.Compare(y.Ns, x.Ns), cmp.Compare(x.ID, y.ID)) })
	return list
}

// members writes runs of ranks as 0-7:2,9.
func members(runs []record.Run) string {
	var parts []string
	for _, r := range runs {
		last := int64(r.First) + int64(r.Stride)*int64(r.Count-1)
		switch {
		case r.First == ^uint32(0):
			parts = append(parts, "?")
		case r.Count <= 1:
			parts = append(parts, fmt.Sprint(r.First))
		case r.Stride == 1:
			parts = append(parts, fmt.Sprintf("%d-%d", r.First, last))
		default:
			parts = append(parts, fmt.Sprintf("%d-%d:%d", r.First, last, r.Stride))
		}
	}
	return strings.Join(parts, ",")
}

func (b *builder) peers(r *Run) {
	r.Peers = []Peer{}
	for _, p := range b.p.Peers {
		r.Peers = append(r.Peers, newPeer(p))
	}
	slices.SortFunc(r.Peers, byRanks)
	r.PeersNotListed = b.p.Pairs - uint64(len(b.p.Peers))
	r.PathsNotListed = b.p.Linked
	for _, l := range b.p.Links {
		if n := b.nodes[l.Node]; n != nil {
			n.Peers = append(n.Peers, newPeer(l.Peer))
			r.PathsNotListed--
		}
	}
	for _, n := range b.nodes {
		slices.SortFunc(n.Peers, byRanks)
	}
}

func newPeer(p profile.Peer) Peer {
	return Peer{int(p.Rank), int(p.To),
		p.Messages[record.Sent], p.Bytes[record.Sent], p.Messages[record.Received], p.Bytes[record.Received],
		p.Messages[record.Put], p.Bytes[record.Put], p.Messages[record.Got], p.Bytes[record.Got], p.Onward, p.Back, p.Turns, p.Rounds, p.Alone,
		newMessageSizes(p.Sizes[record.Sent], p.Sizes[record.Received])}
}

func byRanks(x, y Peer) int { return cmp.Or(cmp.Compare(x.Rank, y.Rank), cmp.Compare(x.To, y.To)) }

// Conditions that are about cores.
const (
	ranksOutnumberCores = "ranks-outnumber-cores"
	threadsBound        = "threads-bound"
	threadsShareCores   = "threads-share-cores"
	coresShared         = "cores-shared"
)

var onCores = []string{ranksOutnumberCores, threadsBound, threadsShareCores, coresShared}

// conditions are circumstances that change how the figures must be read.
// incomplete says which records were made and are missing, or were at first.
func incomplete(p *profile.Profile) []Note {
	if count, what := p.Missing(); count > 0 {
		if what != "" {
			what = " (" + what + ")"
		}
		return []Note{{recordsMissing, words.Counted("%d {record|records} of what the ranks did", count) + what +
			words.Counted(" {is|are} missing from all that follows; the record files are kept", count), count}}
	}
	if p.Unmerged > 0 {
		return []Note{{recordsUnmerged, words.Counted("MPI_Finalize could not merge %d {record|records}, so this was made of the record files, which are kept; nothing is missing", p.Unmerged), p.Unmerged}}
	}
	return nil
}

func conditions(r *Run) []Note {
	list := []Note{}
	list = append(append(list, r.untimely()...), r.hang()...)
	simulated := slices.Contains(r.Clocks, "external")
	if simulated {
		list = append(list, Note{"time-simulated", "times are those of a simulated MPI, not of this machine", 0})
	}
	coreless := fmt.Sprintf("for %.0f %% of the time runnable ranks waited for a CPU", 100*(1-r.Efficiency.CoreAvailability))
	for _, h := range r.Hosts {
		if !simulated && h.Cores > 0 && h.Ranks > h.Cores {
			list = append(list, Note{ranksOutnumberCores, fmt.Sprintf(
				"%d ranks share %d %s on %s: %s. Start no more ranks than there are cores; shares below leave that time out",
				h.Ranks, h.Cores, words.Plural(h.Cores, "core", "cores"), h.Name, coreless), uint64(h.Ranks - h.Cores)})
		}
	}
	if len(list) == 0 && r.Efficiency.CoreAvailability > 0 && r.Efficiency.CoreAvailability < 0.95 {
		list = append(list, crowded(r, coreless))
	}
	if paused := r.Core.Paused; paused > 0 {
		list = append(list, Note{"recording-paused", fmt.Sprintf("recording was switched off (MPI_Pcontrol) for %.0f %% of the time",
			100*float64(paused)/float64(r.Core.Wall)), 0})
	}
	if part := float64(r.betweenTests()) / float64(max(r.Core.Useful+r.Core.MPI, 1)); part > worthTelling {
		list = append(list, Note{"tests-repeated", fmt.Sprintf("for %.0f %% of the time ranks went around loops that test for messages; "+
			"what passes between two tests counts as computing in the efficiency", 100*part), 0})
	}
	list = append(list, r.unevenMemory()...)
	if own := r.Core.Own; float64(own) > 0.01*float64(r.Core.Wall) {
		list = append(list, Note{"overhead", fmt.Sprintf("Marple itself took %.1f %% of the time", 100*float64(own)/float64(r.Core.Wall)), 0})
	}
	return list
}

const peersUnknown = "peers-unknown"

// MessagesOutside tells whether messages went to or came from processes outside MPI_COMM_WORLD: of those nobody knows when they were
// sent or received there.
func (r *Run) MessagesOutside() bool {
	return slices.ContainsFunc(r.NotSeen, func(n Note) bool { return n.ID == peersUnknown })
}

// betweenTests is for how long ranks tested or probed again until they found something, without those calls themselves.
func (r *Run) betweenTests() (ns uint64) {
	if root := r.Root(); root != nil {
		root.Walk(func(n *Node, _ int) bool {
			ns += n.Polled - min(n.Polled, n.Exclusive.Sum)
			return true
		})
	}
	return ns
}

// Other threads of a rank are spoken of if they compute on that much of a core, and for that long: Marple's own
// and the MPI library's compute for milliseconds, too.
const (
	worthTelling   = 0.05
	worthTellingNs = 50e6
)

// OtherThreads is the number of cores that a rank's other threads computed on: the mean over time and ranks.
func (r *Run) OtherThreads() (cores float64, tell bool) {
	sum := uint64(0)
	for _, p := range r.PerRank {
		sum += p.OtherCPU
	}
	cores = float64(sum) / float64(max(r.Core.Wall, 1))
	return cores, cores >= worthTelling && float64(sum) >= worthTellingNs*float64(len(r.PerRank)) && !slices.Contains(r.Clocks, "external")
}

// crowded says who had the cores that ranks waited for, although there is one for each rank.
func crowded(r *Run, coreless string) Note {
	if _, threads := r.OtherThreads(); !threads {
		return Note{coresShared, "Other work ran on these cores: " + coreless + ". Measure on cores of your own; shares below leave that time out", 0}
	}
	full, least := []int{}, 0
	for _, p := range r.PerRank {
		own := float64(p.Wall-min(p.Wall, p.OffCore+p.Waited+p.Blocked)) + float64(p.OtherCPU)
		if p.Cores > 0 && float64(p.OtherCPU) >= worthTelling*float64(p.Wall) && own >= 0.9*float64(p.Wall)*float64(p.Cores) {
			if full = append(full, p.Rank); least == 0 || p.Cores < least {
				least = p.Cores
			}
		}
	}
	if len(full) > 0 {
		return Note{threadsBound, fmt.Sprintf("%s %s for all %s threads: %s. Give ranks more cores (mpirun --map-by slot:PE=N, "+
			"srun --cpus-per-task=N) or fewer threads (OMP_NUM_THREADS); shares below leave that time out",
			words.Sentence(words.Ranks(full)), words.Plural(len(full), "has ", "have ")+words.Count(uint64(least), "core", "cores")+
				words.Plural(len(full), "", " each"), words.Plural(len(full), "its", "their"), coreless), uint64(len(full))}
	}
	return Note{threadsShareCores, "The ranks' own other threads, and what else runs, share the cores with them: " + coreless +
		". Start no more threads (OMP_NUM_THREADS) than there are cores for each rank; shares below leave that time out", 0}
}

// untimely says of the ranks that did not get through MPI_Finalize how they ended: those that have failed first, which
// may have been why others ended; where there are none, those that are gone.
func (r *Run) untimely() []Note {
	by := map[string][]int{}
	notes := []Note{}
	for _, kind := range []struct{ id, ended string }{{failed, "failed"}, {failed, "aborted"}, {failed, "exited"}, {failed, "vanished"}, {"ended", "running"}} {
		var order []string
		for _, p := range r.PerRank {
			if p.Ended != kind.ended {
				continue
			}
			how := r.howEnded(p)
			if by[how] == nil {
				order = append(order, how)
			}
			by[how] = append(by[how], p.Rank)
		}
		for i, how := range order {
			if i == mostStuck {
				break
			}
			text := words.Ranks(by[how]) + how
			if len(notes) == 0 && kind.id == failed {
				what := "The run failed: "
				if how == exitedEarly {
					what = "The run ended early: "
				}
				notes = append(notes, Note{failed, what + text, uint64(len(by[how]))})
			} else {
				notes = append(notes, Note{"ended", words.Sentence(text), uint64(len(by[how]))})
			}
		}
	}
	return notes
}

const exitedEarly = " exited without MPI_Finalize"

// howEnded says how a rank ended, and in which call.
func (r *Run) howEnded(p RankBalance) string {
	in, call := "", ""
	for _, s := range r.Stuck {
		if s.Ended && int(s.Rank) == p.Rank {
			if call, in = s.Call, " in "+s.Call; s.Site != "" {
				in += " at " + s.Site
			}
		}
	}
	switch p.Ended {
	case "failed":
		if in == "" {
			in = " in a call of MPI that is not recorded"
		}
		if p.Error != "" {
			in += fmt.Sprintf(": %s (error class %d)", p.Error, p.Abort)
		}
		return in
	case "aborted":
		how := " called MPI_Abort"
		if p.Abort != codeUnknown {
			how += fmt.Sprintf(" with code %d", p.Abort)
		}
		if call == "MPI_Abort" {
			return how + strings.TrimPrefix(in, " in MPI_Abort")
		}
		return how + in
	case "exited":
		if in != "" {
			return " exited" + in + ", without MPI_Finalize"
		}
		return exitedEarly
	case "running":
		return " still ran when this was made: all records stay in raw/, and marple recover --clear reads and removes them once every rank has ended"
	}
	return " vanished after the last event (killed, crashed or _exit)"
}

// callsBelowCut counts the MPI calls whose path has lost its outer part, for one reason or the other.
func (b *builder) callsBelowCut(unknown bool) uint64 {
	g := &b.p.Graph
	calls := uint64(0)
	if !slices.ContainsFunc(g.Nodes, func(n callgraph.Node) bool { return n.Kind == callgraph.KindCut }) {
		return 0
	}
	for i := range g.Nodes {
		if g.Nodes[i].Kind != callgraph.KindMPI {
			continue
		}
		for n := g.Find(g.Nodes[i].Parent); n != nil && n.Kind != callgraph.KindRoot; n = g.Find(n.Parent) {
			if n.Kind == callgraph.KindCut && n.Unknown == unknown {
				calls += g.Nodes[i].Calls.N
				break
			}
		}
	}
	return calls
}

// spawns tells whether the program has started further processes.
func (b *builder) spawns() bool {
	return slices.ContainsFunc(b.p.Graph.Nodes, func(n callgraph.Node) bool {
		return n.Kind == callgraph.KindMPI && strings.HasPrefix(n.Name, "MPI_Comm_spawn")
	})
}

const invocationsUnkept = "invocations-unkept"

// notSeen lists what a reader might think is in the figures and is not.
func (b *builder) notSeen(r *Run) []Note {
	list := []Note{}
	add := func(id string, count uint64, text string) {
		if count > 0 {
			list = append(list, Note{id, words.Counted(text, count), count})
		}
	}
	l := b.p.Lost
	add("ranks-missing", uint64(r.Ranks-r.Measured), "%d {rank has|ranks have} not reported")
	add("records-dropped", l.Records, "%d {record|records} found no room on disk; their calls are counted by kind only")
	add("callers-unknown", b.callsBelowCut(true), "the callers of %d MPI {call|calls} could not be found: there are no unwind tables of theirs")
	add("callers-cut", b.callsBelowCut(false), "the outer callers of %d MPI {call|calls} are left out (--callpath)")
	add("paths-lost", l.Paths, "%d call {path|paths} found no room and share one entry")
	add("aggregates-lost", l.Aggregates, "%d {call|calls} and times between them found no room for their path, communicator and size, and are told by operation only")
	add("communicators-lost", l.Comms, "%d {communicator|communicators} found no room")
	add("members-lost", l.Members, "the members of %d {communicator|communicators} are not recorded")
	add("names-lost", l.Strings, "%d {name|names} found no room")
	add("sources-lost", l.Sources, "functions of more than 256 source files are told as of one, “(further source files)”")
	add("threads-lost", l.Threads, "%d {thread found no room and is|threads found no room and are} not measured")
	add("requests-lost", l.Requests, "%d {operation in flight was not followed to its|operations in flight were not followed to their} completion")
	add("calls-left", l.CallsLeft, "the program left %d MPI {call that|calls, which} did not return (longjmp, an exception, pthread_exit): from where, and for whom, is not known")
	add("files-confined", l.FilesConfined, "on %d {rank|ranks} the program has confined itself (seccomp): what it did with files after that is not counted")
	add("statuses-empty", l.Statuses, "the MPI library gave no status for %d completed {receive|receives}; their bytes are missing")
	add(peersUnknown, l.UnknownPeers, "%d {message|messages} went to or came from processes outside MPI_COMM_WORLD")
	add("regions-deep", l.DeepRegions, "%d {region or function was|regions and functions were} nested too deeply to be recorded")
	add("regions-mismatched", l.BadExits, "%d {region end|region ends} matched no open region")
	add("threads-uncounted", l.Uncounted, "%d {thread|threads} could not count all that was asked for")
	add("invocations-cut-short", l.CutShort, "%d {invocation|invocations} of components ended with what they were in, or with the run, and are not recorded one by one")
	add(invocationsUnkept, l.Unkept, "%d {invocation|invocations} of components found no room; they are in the call graph and not in "+InvocationsFile)
	add("fractions-lost", l.Fractions, "of %d {value|values} of atomic events only the whole part is known: TAU tells plugins no more, but for the main thread at the end")
	add("values-lost", l.Values, "%d {parameter|parameters} of invocations found no room")
	add("regions-in-mpi", l.InMPIHooks, "%d {region|regions} inside MPI calls (callbacks) were not recorded")
	if off := l.MPIOff; off > 0 {
		list = append(list, Note{"mpi-off", fmt.Sprintf("the program switched the recording of MPI calls off for %s; that counts as useful time",
			words.Duration(float64(off)/1e9)), off})
	}
	if b.spawns() {
		add("processes-spawned", 1, "processes that MPI_Comm_spawn has started have an MPI_COMM_WORLD of their own, and a run of their own if marple exec starts them")
	}
	for _, m := range b.p.Metadata {
		if m.Name == record.PythonUnread {
			add("python-unread", m.Ranks, m.Name+": "+m.Value)
		}
	}
	b.waitsNotSeen(add)
	b.samplesNotSeen(add)
	var calling, other uint64
	for _, p := range r.PerRank {
		switch {
		case p.Threads > 1 && p.OtherMPI > 0:
			calling++
		case p.Threads > 1:
			other++
		}
	}
	add("other-threads", calling, "on %d {rank|ranks} other threads called MPI; their time outside MPI is not known and not in the efficiencies")
	add("other-threads", other, "on %d {rank|ranks} other threads were in regions; what they computed is not in the efficiencies")
	return list
}
