// Package callgraph is the second stage of analysis: from a process's aggregates to its call graph, a
// tree with one node per call path, in which every nanosecond from MPI_Init to MPI_Finalize is charged
// to exactly one node.
//
// It may use event and stat; it holds no state.
//
// Invariant: inclusive time is exclusive time plus the children's inclusive time, exactly, because it is
// computed that way; the root's is the measured time.
package callgraph

import (
	"encoding/hex"
	"hash/fnv"
	"slices"
	"sort"

	"marple/analysis/record"
	"marple/analysis/stat"
)

// ID names a call path in all processes: it is a hash of what the path goes through.
type ID uint64

const (
	Root   ID = 1 // the thread that called MPI_Init
	Others ID = 2 // all other threads
)

// Kind of node.
type Kind uint8

const (
	KindNone      Kind = iota
	KindRoot           // a thread, or several
	KindFrame          // a function, called at Site
	KindRegion         // named by the application
	KindPhase          // numbered by MPI_Pcontrol; phase 0 is the time while recording was off
	KindMPI            // calls of an MPI function
	KindGap            // outside MPI, between two given events
	KindOffCore        // outside MPI, runnable but without a core
	KindOwn            // Marple itself
	KindOverflow       // paths for which there was no room
	KindCut            // callers that are left out of the path
	KindComponent      // a method of a component
)

var kindNames = [...]string{"", "root", "frame", "region", "phase", "mpi", "gap", "off-core", "marple", "overflow", "cut", "component"}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "unknown"
}

// ParseKind is the inverse of String; unknown names give KindNone.
func ParseKind(name string) Kind {
	return Kind(max(0, slices.Index(kindNames[:], name)))
}

// Node is one call path. Times are nanoseconds. Statistics over ranks have one sample per rank that has
// the node; how many ranks that is, is their N.
type Node struct {
	ID, Parent ID
	Kind       Kind
	Name       string // function, region, method
	Component  string // KindComponent
	Instance   string // KindComponent, "" if there is only one
	Code       Code   // KindFrame: the function's beginning
	Site       Code   // KindFrame, KindMPI, and regions of calls on files: the return address of the call; KindGap: see Samples; zero if that is not known
	Level      int64  // KindPhase
	Unknown    bool   // KindCut: the callers could not be found; else they are beyond the depth asked for
	Op         record.Op
	Flags      record.OpFlags
	From, To   Edge // KindGap
	Loop       bool // KindGap between two tests or probes: each was shorter than 10 µs, a loop around them

	// Of a KindGap: how many timer samples hit there. Those that hit another place than the gap's own function have nodes
	// of their own below that function, with Site (as a return address) and the gap that they are Of, whose computing
	// time they share by their numbers. Of threads without events there is no gap.
	Samples uint64
	Of      ID

	Calls     stat.Stat     // durations of the calls, or of the invocations of a region
	Exclusive stat.Stat     // over ranks
	Inclusive stat.Stat     // over ranks
	Ranks     []stat.Ranked // the largest exclusive times; see stat.MergeTop
	// KindMPI: when each rank's first and its last call began, after the beginning, added up over ranks.
	First, Last uint64
	Out, In     uint64    // bytes
	Done        uint64    // messages received, tests that found something
	Failed      uint64    // calls that returned an error
	Polled      uint64    // tests: see record.Entry.Polled
	Runnable    uint64    // off the core though runnable: KindMPI within Exclusive, KindGap beside it
	Blocked     uint64    // off the core and blocked, within Exclusive
	Sizes       []Size    // KindMPI, by rising class
	Counters    []Counter // KindRegion, KindPhase, KindComponent: of their invocations; KindRoot: of threads; by name
}

// Counter is what one counter counted on a path, over ranks. What was counted below counts for the nearest path
// above that has counters.
type Counter struct {
	Name      string
	Exclusive stat.Stat
	Inclusive stat.Stat
	Ranks     []stat.Ranked // as of times
}

// Code is a place in machine code: an ELF virtual address in the module with this key of Graph.Modules, or a line where
// that is a source file. Code that
// belongs to no module has "" and its address.
type Code struct {
	Module string
	Offset uint64
}

// Size adds up the calls with one class of message sizes: bit length k, that is 2^(k-1) to 2^k-1 bytes.
type Size struct {
	Class    uint8
	Calls    uint64
	Ns       uint64 // in these calls
	NsSq     stat.Uint128
	Messages uint64 // received for these calls, or for calls made earlier
	Bytes    uint64 // out and in
}

// Side tells what an Edge is the boundary of.
type Side uint8

const (
	SideCall  Side = iota // an MPI call
	SideEnter             // the beginning of a region
	SideExit              // the end of a region
)

// Edge is where a gap begins or ends. Node is Root at the beginning and the end of the run.
type Edge struct {
	Node ID
	Side Side
}

// Module is an executable or library, or a source file that an interpreter runs. Key identifies it on all hosts: its
// build id, or else its path.
type Module struct {
	Key, Path, BuildID string
	Source             bool // offsets in it are lines
}

// Graph is a call graph. Nodes are ordered by ID, modules by key.
type Graph struct {
	Nodes   []Node
	Modules []Module
	// Of ranks that did not end through MPI_Finalize. They send their graphs to nobody, so these are never encoded.
	Stuck []Stuck
	Left  []Left
}

// Left is how many collective operations a rank has come back from, by the communicator's id: all members make them in
// the same order (MPI-4.1, section 6.13).
type Left struct {
	Rank        int32
	Collectives map[uint64]uint64
}

// Stuck is an MPI call that a thread was in when its process ended.
type Stuck struct {
	Rank   int32
	Thread int
	Main   bool
	Name   string
	Site   Code   // that it returns to; offset 0: not known
	Ns     uint64 // after the beginning of the measurement
	Peer   int32  // of a blocking message, or the root: rank in the communicator
	World  int32  // the same in MPI_COMM_WORLD; -1: none, or not known
	Comm   uint64 // id of the communicator; 0: none, or not known
	Flying bool   // operations that it has started may be under way
	Ended  bool   // the process has ended from within it
}

// Find gives the node with this ID, or nil.
func (g *Graph) Find(id ID) *Node {
	// A search of package slices would copy a node at each step.
	if i := sort.Search(len(g.Nodes), func(i int) bool { return g.Nodes[i].ID >= id }); i < len(g.Nodes) && g.Nodes[i].ID == id {
		return &g.Nodes[i]
	}
	return nil
}

// Children maps each node to the indices of its children, in order of ID.
func (g *Graph) Children() map[ID][]int {
	children := make(map[ID][]int, len(g.Nodes))
	for i := range g.Nodes {
		if n := &g.Nodes[i]; n.Kind != KindRoot {
			children[n.Parent] = append(children[n.Parent], i)
		}
	}
	return children
}

func newModule(path string, buildID []byte) Module {
	m := Module{Key: path, Path: path, BuildID: hex.EncodeToString(buildID)}
	if m.BuildID != "" {
		m.Key = m.BuildID
	}
	return m
}

// identity hashes what makes a child different from its siblings together with its parent's ID.
func (n *Node) identity() ID {
	h := fnv.New64a()
	put := func(numbers ...uint64) {
		for _, x := range numbers {
			var word [8]byte
			for i := range word {
				word[i] = byte(x >> (8 * i))
			}
			h.Write(word[:])
		}
	}
	code := func(c Code) {
		put(c.Offset, uint64(len(c.Module)))
		h.Write([]byte(c.Module))
	}
	put(uint64(n.Parent), uint64(n.Kind))
	switch n.Kind {
	case KindFrame:
		code(n.Code)
		code(n.Site)
		h.Write([]byte(n.Name))
	case KindMPI:
		code(n.Site)
		h.Write([]byte(n.Name))
	case KindCut:
		if n.Unknown {
			put(1)
		}
	case KindComponent:
		put(uint64(len(n.Component)), uint64(len(n.Instance)))
		h.Write([]byte(n.Component + n.Instance + n.Name))
	case KindPhase:
		put(uint64(n.Level))
	case KindGap:
		put(uint64(n.From.Node), uint64(n.From.Side), uint64(n.To.Node), uint64(n.To.Side))
		if n.Loop {
			put(1)
		}
		if n.Site.Offset != 0 {
			code(n.Site)
		}
	case KindRegion:
		if n.Site.Offset != 0 {
			code(n.Site)
		}
		h.Write([]byte(n.Name))
	default:
		h.Write([]byte(n.Name))
	}
	return max(ID(h.Sum64()), Others+1)
}
