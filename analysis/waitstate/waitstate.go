// Package waitstate finds out where ranks wait for each other, for whom, and why: each rank keeps its own log
// of events, and at the end all replay the matching of messages and collective calls together, in batches
// between pairs of ranks and along trees. No trace is gathered.
//
// It may use event, callgraph and stat; it holds no state and knows nothing of MPI but the rules of matching.
//
// Invariant: a wait is a part of a call's time, at the beginning of it, and ends when another rank enters the
// call that is waited for. It is counted at one rank, for one cause. What cannot be matched is counted, not
// guessed.
package waitstate

import (
	"cmp"
	"slices"

	"marple/analysis/callgraph"
	"marple/analysis/record"
	"marple/analysis/stat"
)

// Pattern is a kind of wait state. The names are those of the field (Wolf and Mohr 2003; Scalasca).
type Pattern uint8

const (
	None           Pattern = iota
	LateSender             // a receive, probe or wait entered before the message was sent
	WrongOrder             // likewise, while a message that was sent earlier is received later
	LateReceiver           // a send, or the wait for it, that had to wait for the receive to be posted
	WaitAtBarrier          // entered before the last rank
	WaitAtNxN              // likewise, where all need data from all
	EarlyReduce            // the root entered before the last of the others
	LateBroadcast          // entered before the root
	EarlyScan              // entered before the last of the lower ranks
	WaitAtFence            // a one-sided fence, entered before the last rank
	WaitAtCreation         // the creation of a communicator or window, likewise
	WaitAtFinalize         // the end of the program, likewise
	LateProgress           // a wait for a message that was moved only when the other rank, which computed, called MPI again
	patterns
)

var names = [patterns]string{"", "late-sender", "late-sender-wrong-order", "late-receiver", "wait-at-barrier", "wait-at-nxn",
	"early-reduce", "late-broadcast", "early-scan", "wait-at-fence", "wait-at-creation", "wait-at-finalize", "late-progress"}

func (p Pattern) String() string {
	if p < patterns {
		return names[p]
	}
	return "unknown"
}

// PatternOf is the inverse of String; None for other names.
func PatternOf(name string) Pattern { return Pattern(max(0, slices.Index(names[:], name))) }

// Transport moves messages between ranks, as profile.Transport does.
type Transport interface {
	Rank() int
	Ranks() int
	Send(to int, data []byte) error
	Receive(from int) ([]byte, error)
}

// Call is an MPI call of one rank. Times are nanoseconds on a clock that all ranks share.
type Call struct {
	Start, End int64
	Path       uint32 // index into Rank.Paths
	Gap        uint32 // likewise: what the time since the call before is charged to
	OffCore    int64  // part of that time without a core
	Coreless   int64  // part of the call's own time without a core
	Stays      bool   // its time would be the same on an ideal network: files, types, ...
	Thread     uint16
}

// NotDone stands for a call in which nothing was waited for.
const NotDone = ^uint32(0)

// Message is a rank's half of a message, in the order in which sends were started, or receives posted.
type Message struct {
	Comm        uint64 // id
	Peer        int32  // rank in MPI_COMM_WORLD
	Tag         int32
	Number      uint32 // among those of its envelope, from 0; of a probe that of the next one
	Bytes       uint64
	At          uint32 // call that sent, or posted the receive; of a matched receive the probe that matched
	Done        uint32 // call that waited for completion, or NotDone
	Buffered    bool   // the send does not depend on the receiver
	Synchronous bool   // it always does
	Peeks       bool   // a probe: it waits for the next message, but does not take it
	Parts       bool   // partitioned: such sends and receives meet only each other
}

// Kind is what a collective operation depends on.
type Kind uint8

const (
	AllToAll Kind = iota
	ToRoot
	FromRoot
	Prefix // Scan: the lower ranks
)

// Collective is a rank's part in a collective operation, in the order in which it took part on the communicator.
type Collective struct {
	Comm    uint32 // index into Rank.Comms
	Kind    Kind
	Pattern Pattern
	Root    int32  // rank in the communicator
	Number  uint32 // on the communicator, from 0
	Bytes   uint64 // that it has or gets, whichever is more
	At      uint32
	Done    uint32
}

// Comm is a communicator that collective operations were made on.
type Comm struct {
	ID      uint64
	Members []record.Run // ranks in MPI_COMM_WORLD
	Size    uint32
	Me      int32 // own rank in it
}

// Rank is what one rank has logged.
type Rank struct {
	Paths       []callgraph.ID
	Calls       []Call // in order of time; those of other threads than the one that called MPI_Init behind
	Main        int    // how many of the Calls are that thread's
	Begin, End  int64  // of the measured time
	Sends       []Message
	Receives    []Message
	Collectives []Collective
	Comms       []Comm
	OffCore     uint32 // index into Paths: where OffCore of a Call is charged
	Sight       sight  // of the clocks
	Events      uint64 // logged
	Bytes       uint64 // that they take
	Lost        Lost

	unread *unread // what has to be read before anything can be replayed; or nil
}

// Lost is what limits the findings.
type Lost struct {
	Ended     uint64 // ranks whose log had no room for all events
	Unmatched uint64 // messages of which only one side is known
	Ambiguous uint64 // messages of an envelope that several threads of a rank used at once
	Uncovered uint64 // collective operations whose dependences are not known (neighbourhoods, intercommunicators)
	Backward  uint64 // messages received before they were sent: clocks disagree by more than is known
	Small     uint64 // waits too many to be explained, the smallest ones
	SmallNs   uint64
}

// Fields gives all counters, for coding and adding.
func (l *Lost) Fields() []*uint64 {
	return []*uint64{&l.Ended, &l.Unmatched, &l.Ambiguous, &l.Uncovered, &l.Backward, &l.Small, &l.SmallNs}
}

// Wait adds up the waits of one pattern on one call path, for calls on one path of the other rank.
type Wait struct {
	Pattern Pattern
	Path    callgraph.ID // of the waiting call
	For     callgraph.ID // of the call that was waited for
	N, Ns   uint64
	Max     uint64
	Ranks   []stat.Ranked // that waited; Value is their time, Count their waits
}

// Delay is the time that other ranks waited, by one pattern, because a rank spent longer on a path than they did.
type Delay struct {
	Pattern Pattern
	Path    callgraph.ID
	Direct  uint64        // ns that ranks waited for this one
	Passed  uint64        // ns that others waited because those had waited
	Ranks   []stat.Ranked // that caused it; Value is Direct + Passed, Other is Direct
}

// Pair is how long a rank waited for another.
type Pair struct {
	Rank, For int32
	N, Ns     uint64
}

// Step is the time that a path has on the critical path: what would shorten the run if it were faster.
type Step struct {
	Path  callgraph.ID
	Ns    uint64
	Ranks []stat.Ranked
}

// Table is what the replay has found, for one rank or, merged, for several.
type Table struct {
	Ranks     uint64 // that took part
	Events    uint64 // logged
	Bytes     uint64 // of log
	Waits     []Wait
	Delays    []Delay
	Pairs     []Pair
	Critical  []Step
	Costs     []Cost  // what calls take beside waiting
	Parts     []Parts // by rank
	Length    uint64  // of the critical path, ns; rank 0's, as the next two are
	Useful    uint64  // of it outside MPI
	Explained uint64  // ranks whose Delays, and part in Critical, are known
	// Of the time Replayed, Ideal would be left on a network on which messages take no time, ns; rank 0's.
	Ideal, Replayed uint64
	Players         uint64 // ranks that have replayed it: one, or all; rank 0's
	// Only so much of a span of time was replayed, ns, evenly over the run, and what was found there is multiplied; rank 0's,
	// and 0 where everything was.
	Looked, Span uint64
	Clocks       []Clock // of the hosts, rank 0's first; rank 0's, and none if there is one host only
	Lost         Lost
	Cored        *Cored   // nil where ranks had cores
	Program      *Program // that was replayed; rank 0's
}

// Cost is what the calls on a path take beside waiting for other ranks: from when the last of those has come.
type Cost struct {
	Path  callgraph.ID
	N, Ns uint64
	// Sure is Ns with each call counted for no more than three quarters of the rank's calls on the path take: a few long
	// ones may be so because somebody had no core.
	Sure uint64
}

// Parts is a rank's time outside MPI in parts of the run that are spread over all of it: what is the same in each is no
// chance.
type Parts struct {
	Rank   int32
	Useful [NumParts]uint64 // ns
}

// NumParts is a number of parts from which a mean has an error that is known to a third.
const NumParts = 8

// MostPairs bounds Pairs; those that waited longest are kept.
const MostPairs = 16384

// Merge adds the findings of other ranks. top is how many ranks each row keeps.
func Merge(a, b Table, top int) Table {
	m := Table{Ranks: a.Ranks + b.Ranks, Events: a.Events + b.Events, Bytes: a.Bytes + b.Bytes, Length: a.Length + b.Length,
		Useful: a.Useful + b.Useful, Explained: a.Explained + b.Explained, Ideal: a.Ideal + b.Ideal, Replayed: a.Replayed + b.Replayed, Players: a.Players + b.Players, Looked: a.Looked + b.Looked, Span: a.Span + b.Span, Lost: a.Lost}
	m.Clocks = append(slices.Clone(a.Clocks), b.Clocks...) // one of them is empty
	theirs := b.Lost
	for i, x := range m.Lost.Fields() {
		*x += *theirs.Fields()[i]
	}
	m.Waits = stat.MergeSorted(a.Waits, b.Waits, compareWait, func(x, y Wait) Wait {
		x.N, x.Ns, x.Max, x.Ranks = x.N+y.N, x.Ns+y.Ns, max(x.Max, y.Max), stat.MergeTop(x.Ranks, y.Ranks, top)
		return x
	})
	m.Delays = stat.MergeSorted(a.Delays, b.Delays, compareDelay, func(x, y Delay) Delay {
		x.Direct, x.Passed, x.Ranks = x.Direct+y.Direct, x.Passed+y.Passed, stat.MergeTop(x.Ranks, y.Ranks, top)
		return x
	})
	m.Critical = stat.MergeSorted(a.Critical, b.Critical, func(x, y Step) int { return cmp.Compare(x.Path, y.Path) }, func(x, y Step) Step {
		x.Ns, x.Ranks = x.Ns+y.Ns, stat.MergeTop(x.Ranks, y.Ranks, top)
		return x
	})
	m.Costs = stat.MergeSorted(a.Costs, b.Costs, func(x, y Cost) int { return cmp.Compare(x.Path, y.Path) }, func(x, y Cost) Cost {
		return Cost{x.Path, x.N + y.N, x.Ns + y.Ns, x.Sure + y.Sure}
	})
	m.Parts = stat.MergeSorted(a.Parts, b.Parts, func(x, y Parts) int { return cmp.Compare(x.Rank, y.Rank) }, nil)
	m.Pairs = stat.MergeSorted(a.Pairs, b.Pairs, longest, nil)
	m.Pairs = m.Pairs[:min(len(m.Pairs), MostPairs)]
	m.Cored, m.Program = mergeCored(a.Cored, b.Cored, top), cmp.Or(a.Program, b.Program)
	return m
}

func compareWait(x, y Wait) int {
	return cmp.Or(cmp.Compare(x.Pattern, y.Pattern), cmp.Compare(x.Path, y.Path), cmp.Compare(x.For, y.For))
}

func compareDelay(x, y Delay) int {
	return cmp.Or(cmp.Compare(x.Pattern, y.Pattern), cmp.Compare(x.Path, y.Path))
}

func longest(x, y Pair) int {
	return cmp.Or(cmp.Compare(y.Ns, x.Ns), cmp.Compare(x.Rank, y.Rank), cmp.Compare(x.For, y.For))
}

// waited is one wait: where, until when, and for what.
type waited struct {
	call    uint32
	pattern Pattern
	by      int32  // rank
	theirs  uint32 // its call
	path    callgraph.ID
	until   int64 // when that was entered, or the end of the waiting call
}

func (r *Rank) duration(w *waited) int64 { return w.until - r.Calls[w.call].Start }

// table adds up one rank's waits.
func (r *Rank) table(rank int32, waits []waited) Table {
	t := Table{Ranks: 1, Events: r.Events, Bytes: r.Bytes}
	type row struct {
		pattern     Pattern
		path, other callgraph.ID
	}
	rows, pairs := map[row]*Wait{}, map[int32]*Pair{}
	for i := range waits {
		w := &waits[i]
		ns := uint64(r.duration(w))
		key := row{w.pattern, r.Paths[r.Calls[w.call].Path], w.path}
		if rows[key] == nil {
			rows[key] = &Wait{Pattern: key.pattern, Path: key.path, For: key.other}
		}
		x := rows[key]
		x.N, x.Ns, x.Max = x.N+1, x.Ns+ns, max(x.Max, ns)
		if pairs[w.by] == nil {
			pairs[w.by] = &Pair{Rank: rank, For: w.by}
		}
		pairs[w.by].N++
		pairs[w.by].Ns += ns
	}
	for _, x := range rows {
		x.Ranks = []stat.Ranked{{Rank: rank, Value: x.Ns, Count: x.N}}
		t.Waits = append(t.Waits, *x)
	}
	slices.SortFunc(t.Waits, compareWait)
	for _, p := range pairs {
		t.Pairs = append(t.Pairs, *p)
	}
	slices.SortFunc(t.Pairs, longest)
	return t
}
