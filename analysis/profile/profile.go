// Package profile is the third stage of analysis: what all ranks did, merged over them. A rank's own
// profile comes from its process; two profiles of different ranks merge into one; a tree of merges over
// all ranks ends at rank 0.
//
// It may use event, callgraph and stat; it holds no state and knows nothing of MPI.
//
// Invariant: merging is associative and commutative, to the bit, so that the shape of the tree does not
// matter. What grows with the number of ranks is the totals of each rank, by choice, and nothing else
// beyond a stated bound.
package profile

import (
	"bytes"
	"cmp"
	"math/bits"
	"slices"
	"strings"

	"marple/analysis/callgraph"
	"marple/analysis/record"
	"marple/analysis/stat"
	"marple/analysis/waitstate"
)

const (
	// MaxPeers is how many pairs of ranks are kept; those that exchanged most bytes.
	MaxPeers = 16384
	// MaxLinks is how many call paths between pairs of ranks are kept, likewise.
	MaxLinks = 65536
	// MaxComms is how many communicators are kept; those whose IDs are smallest, which is as good as any
	// choice and the only one that is the same whatever order ranks merge in.
	MaxComms = 16384
)

// Profile of one or more ranks of a run. Times are nanoseconds.
type Profile struct {
	World   int32 // ranks in MPI_COMM_WORLD
	Program string
	Library string // the MPI library's own description
	MPI     string // the family it was recognised as
	Params  string // name=number,...: what the user says of the run
	// Families is what the program has declared of its components; see package selection. Sorted.
	Families []string
	Threads  uint8  // thread level: 0 single to 3 multiple
	Clocks   uint8  // bit set of event.ClockTSC, ...
	Begun    uint64 // wall clock, nanoseconds since 1970, of the first rank to start
	Totals   []Total
	Hosts    []Host
	Comms    []Comm
	Peers    []Peer
	Pairs    uint64 // pairs of ranks that exchanged messages, kept or not
	Links    []Link
	Linked   uint64 // links, kept or not
	Graph    callgraph.Graph
	Lost     Lost
	Made     [record.OpCount]uint64 // calls that records were written of, but for those in Lost.Records
	Behind   uint64                 // records that were not aggregated
	Unmerged uint64                 // records that MPI_Finalize did not merge, whether or not they are in this
	Logged   uint64                 // ranks that have kept a log of events
	Waits    waitstate.Table

	Atomics  []Atomic   // by name
	Metadata []Metadata // by name
	Groups   []Groups   // by name

	Files     []File // by key
	FilesLost uint64 // times that a rank opened a file for which it had no room

	Sampling Sampling

	Counters  []Counter // by name
	Uncounted string    // what was asked for and is not counted, and why
}

// Total is one rank's balance. Wall is Useful + MPI + OffCore + Paused + Own of the thread that called
// MPI_Init.
type Total struct {
	Rank     int32
	Host     uint64 // Host.ID
	PID      uint32
	State    uint8  // event.Running, ...
	Abort    int32  // code of MPI_Abort; where an error was fatal, its class
	Error    string // what the MPI library says of it
	Threads  uint32
	Wall     uint64 // from when all had left MPI_Init to when all had entered MPI_Finalize
	Useful   uint64 // outside MPI, but for OffCore and Paused
	MPI      uint64
	OffCore  uint64 // outside MPI, runnable but without a core
	Waited   uint64 // inside MPI, runnable but without a core
	Blocked  uint64 // outside MPI, blocked: within Useful
	Paused   uint64 // while recording was switched off
	Own      uint64 // Marple itself
	Longest  uint64 // of that at once, on any thread
	Init     uint64 // MPI_Init, before Wall begins
	OtherMPI uint64 // MPI calls of other threads
	Others   uint64 // CPU time of other threads during Wall
	Cores    uint64 // CPUs that the rank may use
	Memory   uint64 // bytes that the process had in memory at most, with Marple's own
	Traffic  Traffic
	Files    FileUse

	Calls                    uint64 // MPI calls of all threads
	Invocations              uint64 // of components, that have ended
	Sent, SentBytes          uint64 // messages, point to point
	Received, ReceivedBytes  uint64
	SentSizes, ReceivedSizes Sizes
}

// Traffic is what the process moved by read, write and their like during Wall: files, pipes and sockets, the MPI library's too.
type Traffic struct {
	record.Traffic
	Known bool
}

// Sizes are the bytes of the smallest and the largest of several messages. Both are 0 where all are of a size, or it is not known,
// as it is of those that were recorded: a profile of TAU's tells.
type Sizes struct{ Least, Most uint64 }

// Counter is what was counted, on some rank at least.
type Counter struct {
	Name    string
	Sources uint8 // bit set: PAPI, perf_event, the kernel's accounts of threads
}

// Host is a computer that ranks run on.
type Host struct {
	ID    uint64
	Name  string
	Ranks uint32
	CPUs  [16]uint64 // that any of its ranks may use
}

// Cores is the number of CPUs that the ranks of this host may use between them.
func (h Host) Cores() int {
	n := 0
	for _, word := range h.CPUs {
		n += bits.OnesCount64(word)
	}
	return n
}

// Comm is a communicator.
type Comm struct {
	ID, Parent uint64
	Name       string
	Size       uint32
	Inter      bool
	Members    []record.Run // of world ranks, if known
	Ranks      uint32       // that reported it
	Calls, Ns  uint64
	Out, In    uint64 // bytes
}

// Peer is what one rank exchanged with another, as the first of them saw it. To is a world rank.
type Peer struct {
	Rank, To int32
	Messages [4]uint64 // by event.Direction
	Bytes    [4]uint64
	Sizes    [4]Sizes
	// Onward and Back are what the rank computed just before messages with the other that went the same way as the last
	// one between them, and the other way, in ns; Turns is how often messages went the other way than those before, exchanges aside. As far as its log goes.
	Onward, Back uint64
	Turns        uint64
	// Rounds are the times between two pieces of computing in which there were messages with the other; in so many of
	// these (Alone) messages went both ways with it, and none with anybody else. Likewise.
	Rounds, Alone uint64
}

// Link is what a rank exchanged with another on one call path, of the thread that called MPI_Init. Node is 0 where it is
// not known on which.
type Link struct {
	Node callgraph.ID
	Peer
}

// Lost is what was seen but could not be kept in detail.
type Lost struct {
	Paths, Comms, Strings, Members, Threads, Requests uint64 // found no room in a table
	Aggregates                                        uint64 // likewise
	Records                                           uint64 // counted by operation class only
	DeepRegions, BadExits, InMPIHooks                 uint64
	MPIOff                                            uint64 // ns of all ranks for which MPI calls were not recorded
	Statuses                                          uint64 // completions whose bytes are not known, because the status was not filled in
	Values                                            uint64 // of invocations that had too many
	CutShort                                          uint64 // invocations that ended with what they were in
	Unkept                                            uint64 // invocations whose records found no room
	Uncounted                                         uint64 // threads that could not count all that is counted
	UnknownPeers                                      uint64 // messages whose peer has no rank in MPI_COMM_WORLD, or none we know
	Sources                                           uint64 // functions of source files that share one
	Fractions                                         uint64 // values that were reported, of which the whole part is known
	CallsLeft                                         uint64 // MPI calls that did not return
	FilesConfined                                     uint64 // ranks that counted what is done with files only until they confined themselves
}

// Sampling is what became of timer samples.
type Sampling struct {
	Hz      uint64 // the highest rate of all ranks; 0: no samples
	Samples uint64 // taken
	Inside  uint64 // of these in MPI or Marple, where nothing is looked at
	Lost    uint64 // of these without room
	Threads uint64 // not sampled
	Ended   uint64 // ranks where they ended early
}

// Top is how many ranks' shares each node keeps.
func (p *Profile) Top() int {
	return stat.Top(int(p.World))
}

func text(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}

// FromProcess is the profile of one process. Of those of its threads that have one the log is read, too.
func FromProcess(p *record.Process, logs Logs) *Profile {
	h := p.Header()
	host := Host{ID: h.Host, Name: text(h.HostName[:]), Ranks: 1, CPUs: h.CPUs}
	profile := &Profile{
		World: max(h.Ranks, 1), Program: text(h.Program[:]), Library: text(h.Library[:]), MPI: text(h.MPIName[:]), Params: text(h.Params[:]),
		Threads: uint8(h.ThreadLevel), Clocks: 1 << (h.ClockKind & 7), Begun: h.First.WallNs,
		Hosts: []Host{host},
		Graph: *callgraph.FromProcess(p),
	}
	clock := callgraph.ClockOf(h)
	total := Total{Rank: h.Rank, Host: h.Host, PID: h.PID, State: uint8(h.State), Abort: h.AbortCode, Error: text(h.Error[:]), Init: clock.Ns(h.InitTicks),
		Others: h.OthersCPUNs, Memory: h.PeakMemory, Traffic: Traffic{h.Traffic, h.TrafficKnown != 0}, Cores: uint64(host.Cores())}
	comms := newComms(p, clock)
	for _, t := range p.Threads() {
		total.Threads += uint32(t.Owners)
		profile.Lost.add(t)
		total.Invocations += t.Invocations
		total.Longest = max(total.Longest, clock.Ns(t.Longest))
		for i := range t.Entries {
			comms.count(&t.Entries[i], t.Main)
		}
		if log := logs[t.Index]; t.Main && log != nil {
			comms.follow(t, log)
		}
	}
	profile.Families = families(p)
	profile.Comms = comms.list
	slices.SortFunc(profile.Comms, func(a, b Comm) int { return cmp.Compare(a.ID, b.ID) })
	profile.Comms = joinComms(profile.Comms)
	profile.Peers = comms.pairs(h.Rank)
	profile.Pairs = uint64(len(profile.Peers))
	profile.Links = comms.linked(h.Rank)
	profile.Linked = uint64(len(profile.Links))
	profile.Links = profile.Links[:min(len(profile.Links), MaxLinks)]
	profile.Lost.UnknownPeers = comms.unknown
	for _, peer := range profile.Peers {
		total.Sent += peer.Messages[record.Sent]
		total.SentBytes += peer.Bytes[record.Sent]
		total.Received += peer.Messages[record.Received]
		total.ReceivedBytes += peer.Bytes[record.Received]
	}
	profile.Lost.Paths, profile.Lost.Comms, profile.Lost.Strings = h.NodesLost, h.CommsLost, h.StringsLost
	profile.Lost.Members, profile.Lost.Threads, profile.Lost.Requests = h.MembersLost, h.ThreadsLost, h.RequestsLost
	profile.Lost.CallsLeft = h.CallsLeft
	profile.Lost.FilesConfined = h.FilesKnown >> 1 & 1
	profile.Lost.Statuses, profile.Lost.Sources, profile.Lost.MPIOff = h.StatusesLost, h.SourcesLost, clock.Ns(unrecorded(h))
	profile.reported(p)
	profile.Sampling = Sampling{h.SampleHz, h.Samples, h.SamplesInside, h.SamplesLost, h.ThreadsUnsampled, h.SamplesEnded}
	profile.Lost.Uncounted = h.ThreadsUncounted
	profile.Uncounted = text(h.Uncounted[:])
	for i, name := range p.Counters() {
		profile.Counters = mergeCounters(profile.Counters, []Counter{{name, 1 << (h.CounterSources[i] & 7) >> 1}})
	}
	profile.account(p)
	profile.Files, total.Files = filesOf(p, clock)
	profile.FilesLost = h.FilesLost
	total.Balance(&profile.Graph)
	profile.Totals = []Total{total}
	return profile
}

// MaxFamilies is how many texts about families of components are kept.
const MaxFamilies = 1024

func families(p *record.Process) (list []string) {
	for _, n := range p.Nodes() {
		if text := p.String(n.Name); n.Kind == record.NodeFamilies && text != "" {
			list = append(list, text)
		}
	}
	slices.Sort(list)
	return list[:min(len(list), MaxFamilies)]
}

// unrecorded is for how long the program did not want MPI calls recorded.
func unrecorded(h *record.Header) uint64 {
	off := h.UnrecordedTicks
	if h.UnrecordedSince != 0 && h.EndTick > h.UnrecordedSince {
		off += h.EndTick - h.UnrecordedSince
	}
	return off
}

func (l *Lost) add(t record.Thread) {
	l.Aggregates += t.EntriesLost
	l.Records += t.Dropped
	l.DeepRegions += t.DeepRegions
	l.BadExits += t.BadExits
	l.InMPIHooks += t.InMPIHook
	l.Values += t.ValuesLost
	l.CutShort += t.CutShort
	l.Unkept += t.Unkept
}

// Balance adds up the graph of one rank by what its time was spent on.
func (t *Total) Balance(g *callgraph.Graph) {
	paused := map[callgraph.ID]bool{}
	for i := range g.Nodes {
		if n := &g.Nodes[i]; n.Kind == callgraph.KindPhase && n.Level == 0 {
			paused[n.ID] = true
		}
	}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		ns := n.Exclusive.Sum
		main := rootOf(g, n) == callgraph.Root
		switch n.Kind {
		case callgraph.KindMPI:
			t.Calls += n.Calls.N
			if main {
				t.MPI += ns
				t.Waited += n.Runnable
			} else {
				t.OtherMPI += ns
			}
		case callgraph.KindGap:
			switch {
			case !main:
			case paused[n.Parent]:
				t.Paused += ns
			default:
				t.Useful += ns
				t.Blocked += n.Blocked
			}
		case callgraph.KindOffCore:
			if main {
				t.OffCore += ns
			}
		case callgraph.KindOwn:
			if main {
				t.Own += ns
			}
		}
	}
	if root := g.Find(callgraph.Root); root != nil {
		t.Wall = root.Inclusive.Sum
	}
}

func rootOf(g *callgraph.Graph, n *callgraph.Node) callgraph.ID {
	for n != nil && n.Kind != callgraph.KindRoot {
		n = g.Find(n.Parent)
	}
	if n == nil {
		return 0
	}
	return n.ID
}

// comms gathers what went through communicators.
type comms struct {
	p       *record.Process
	clock   callgraph.Clock
	list    []Comm
	members [][]record.Run
	peers   map[int32]*Peer
	places  *callgraph.Places
	links   map[link]*Link
	unknown uint64
}

type link struct {
	node callgraph.ID
	to   int32
}

func newComms(p *record.Process, clock callgraph.Clock) *comms {
	c := &comms{p: p, clock: clock, peers: map[int32]*Peer{}, places: callgraph.PlacesOf(p), links: map[link]*Link{}}
	for i := range p.Comms() {
		raw := &p.Comms()[i]
		members := p.Members(raw)
		comm := Comm{ID: raw.ID, Parent: raw.Parent, Name: p.String(raw.Name), Size: raw.Size,
			Inter: raw.Flags&record.CommInter != 0, Members: slices.Clone(members), Ranks: 1}
		if i == 0 {
			comm = Comm{Name: "unknown", Ranks: 1}
		}
		if comm.Name == "MPI_COMM_SELF" {
			comm.Members = nil // each rank's own
		}
		c.list = append(c.list, comm)
		c.members = append(c.members, members)
	}
	return c
}

func (c *comms) count(e *record.Entry, main bool) {
	comm := int(e.Comm())
	if comm >= len(c.list) {
		comm = 0
	}
	switch e.Kind() {
	case record.EntryCall:
		if comm < len(c.list) {
			c.list[comm].Calls += e.N
			c.list[comm].Ns += c.clock.Ns(e.Sum)
			c.list[comm].Out += e.Out
			c.list[comm].In += e.In
		}
	case record.EntryPeer:
		rank, d := e.Peer()
		to := int32(-1)
		if comm < len(c.members) {
			to = worldRank(c.members[comm], rank)
		}
		if to < 0 {
			c.unknown += e.N
			return
		}
		c.peer(to).add(d, e)
		if main {
			c.link(e.Path(), to).add(d, e)
		}
	}
}

func (p *Peer) add(d record.Direction, e *record.Entry) {
	p.Messages[d&3] += e.N
	p.Bytes[d&3] += e.Out
}

// worldRank is the rank in MPI_COMM_WORLD of a member of a communicator; -1 if it has none.
func worldRank(members []record.Run, rank int32) int32 {
	for _, run := range members {
		if uint32(rank) < run.Count {
			return int32(run.First + uint32(rank)*uint32(run.Stride))
		}
		rank -= int32(run.Count)
	}
	return -1
}

func (c *comms) pairs(rank int32) []Peer {
	var list []Peer
	for _, peer := range c.peers {
		peer.Rank = rank
		list = append(list, *peer)
	}
	SortPeers(list)
	return list
}

func (c *comms) linked(rank int32) []Link {
	var list []Link
	for _, l := range c.links {
		l.Rank = rank
		list = append(list, *l)
	}
	SortLinks(list)
	return list
}

func mergeCounters(a, b []Counter) []Counter {
	return stat.MergeSorted(a, b, func(x, y Counter) int { return cmp.Compare(x.Name, y.Name) },
		func(x, y Counter) Counter { return Counter{x.Name, x.Sources | y.Sources} })
}

// SortPeers puts a list into the order that Merge needs.
func SortPeers(list []Peer) { slices.SortFunc(list, largestPeer) }

// SortLinks likewise.
func SortLinks(list []Link) { slices.SortFunc(list, largestLink) }

func largestLink(a, b Link) int {
	return cmp.Or(largestPeer(a.Peer, b.Peer), cmp.Compare(a.Node, b.Node))
}

func (p Peer) volume() uint64 { return p.Bytes[0] + p.Bytes[1] + p.Bytes[2] + p.Bytes[3] }

func largestPeer(a, b Peer) int {
	return cmp.Or(cmp.Compare(b.volume(), a.volume()), cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.To, b.To))
}

// joinComms joins neighbours with the same ID: a communicator that was met twice.
func joinComms(list []Comm) []Comm {
	joined := list[:0]
	for _, c := range list {
		if n := len(joined); n > 0 && joined[n-1].ID == c.ID {
			ranks := joined[n-1].Ranks
			joined[n-1] = mergeComm(joined[n-1], c)
			joined[n-1].Ranks = ranks
		} else if c.Calls > 0 || c.ID != 0 {
			joined = append(joined, c)
		}
	}
	return joined
}

func mergeComm(a, b Comm) Comm {
	a.Name = max(a.Name, b.Name)
	a.Ranks += b.Ranks
	a.Calls += b.Calls
	a.Ns += b.Ns
	a.Out += b.Out
	a.In += b.In
	// The two sides of an intercommunicator know each other's members: any rule will do if it is the same.
	if slices.CompareFunc(b.Members, a.Members, compareRun) > 0 {
		a.Members, a.Size = b.Members, b.Size
	}
	return a
}

func compareRun(a, b record.Run) int {
	return cmp.Or(cmp.Compare(a.First, b.First), cmp.Compare(a.Stride, b.Stride), cmp.Compare(a.Count, b.Count))
}

// Merge is the profile of the ranks of both, which must be different ones. Neither argument is changed.
func Merge(a, b *Profile) *Profile {
	m := &Profile{
		World: max(a.World, b.World), Program: leastText(a.Program, b.Program), Library: leastText(a.Library, b.Library),
		MPI: leastText(a.MPI, b.MPI), Params: leastText(a.Params, b.Params), Threads: max(a.Threads, b.Threads), Clocks: a.Clocks | b.Clocks,
		Counters: mergeCounters(a.Counters, b.Counters), Uncounted: leastText(a.Uncounted, b.Uncounted),
		Begun: min(a.Begun, b.Begun), Pairs: a.Pairs + b.Pairs, Lost: a.Lost.plus(b.Lost),
	}
	m.Families = stat.MergeSorted(a.Families, b.Families, strings.Compare, func(x, _ string) string { return x })
	m.Families = m.Families[:min(len(m.Families), MaxFamilies)]
	m.Totals = stat.MergeSorted(a.Totals, b.Totals, func(x, y Total) int { return cmp.Compare(x.Rank, y.Rank) }, nil)
	m.Hosts = stat.MergeSorted(a.Hosts, b.Hosts, func(x, y Host) int { return cmp.Compare(x.ID, y.ID) }, mergeHost)
	m.Comms = stat.MergeSorted(a.Comms, b.Comms, func(x, y Comm) int { return cmp.Compare(x.ID, y.ID) }, mergeComm)
	m.Comms = m.Comms[:min(len(m.Comms), MaxComms)]
	m.Peers = stat.MergeSorted(a.Peers, b.Peers, largestPeer, nil)
	m.Peers = m.Peers[:min(len(m.Peers), MaxPeers)]
	m.Linked = a.Linked + b.Linked
	m.Links = stat.MergeSorted(a.Links, b.Links, largestLink, nil)
	m.Links = m.Links[:min(len(m.Links), MaxLinks)]
	for op := range m.Made {
		m.Made[op] = a.Made[op] + b.Made[op]
	}
	m.Behind, m.Unmerged = a.Behind+b.Behind, a.Unmerged+b.Unmerged
	m.Logged = a.Logged + b.Logged
	m.Waits = waitstate.Merge(a.Waits, b.Waits, m.Top())
	m.mergeReported(a, b)
	m.Sampling = a.Sampling.plus(b.Sampling)
	m.Files, m.FilesLost = mergeFiles(a.Files, b.Files), a.FilesLost+b.FilesLost
	m.Graph = *callgraph.Merge(&a.Graph, &b.Graph, m.Top())
	return m
}

// leastText prefers what is there, then what sorts first: ranks of one run may run different programs.
func leastText(a, b string) string {
	if a == "" || b == "" {
		return max(a, b)
	}
	return min(a, b)
}

func mergeHost(a, b Host) Host {
	a.Name = leastText(a.Name, b.Name)
	a.Ranks += b.Ranks
	for i := range a.CPUs {
		a.CPUs[i] |= b.CPUs[i]
	}
	return a
}

func (s Sampling) plus(t Sampling) Sampling {
	return Sampling{max(s.Hz, t.Hz), s.Samples + t.Samples, s.Inside + t.Inside, s.Lost + t.Lost, s.Threads + t.Threads, s.Ended + t.Ended}
}

func (l Lost) plus(m Lost) Lost {
	more := m.fields()
	for i, x := range l.fields() {
		*x += *more[i]
	}
	return l
}

// Sum adds up one figure of all ranks.
func (p *Profile) Sum(figure func(Total) uint64) stat.Stat {
	var s stat.Stat
	for _, t := range p.Totals {
		s = s.Merge(stat.Of(figure(t), t.Rank))
	}
	return s
}
