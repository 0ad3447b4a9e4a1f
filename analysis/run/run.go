// Package run is a measured run as it is stored and shown: run.json in the run directory. What MPI_Finalize
// does and what `marple report` does later works on this and nothing else.
//
// It may use profile, callgraph, event, setting, stat and symbol; it holds no state.
//
// Invariant: whatever is written can be read again and gives the same report; what this version does not
// know is refused, not guessed.
package run

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"marple/analysis/callgraph"
	"marple/analysis/files"
	"marple/analysis/machine"
	"marple/analysis/profile"
	"marple/analysis/stat"
	"marple/analysis/waitstate"
)

// Schema is the number of the format, which run.json begins with.
const Schema = 1

// Run is everything known about a run. Times are nanoseconds unless a name says otherwise; core time is
// added up over ranks.
type Run struct {
	Schema  int    `json:"schema"`
	Program string `json:"program"`
	// Command is the words that started rank 0, where it is that process which concludes the run. They are kept nowhere.
	Command []string `json:"-"`
	Ranks   int      `json:"ranks"` // in MPI_COMM_WORLD
	// Measured is how many of the ranks have reported.
	Measured    int       `json:"measured"`
	Started     time.Time `json:"started"`
	MPI         MPI       `json:"mpi"`
	ThreadLevel string    `json:"thread_level"`
	Clocks      []string  `json:"clocks"`
	Hosts       []Host    `json:"hosts"`
	WallNs      uint64    `json:"wall_ns"` // from when all had left MPI_Init to when all had entered MPI_Finalize
	InitNs      uint64    `json:"init_ns"` // longest MPI_Init

	// Parameters of the run that the user gave, such as the size of the problem.
	Parameters map[string]float64 `json:"parameters,omitempty"`
	// Machine is what was measured of the machine, where the run was given it.
	Machine *machine.Machine `json:"machine,omitempty"`
	// Families is what the program has declared of families of its components, as parts of a file for marple select.
	Families []string `json:"families,omitempty"`
	// Exchanged are families whose implementations a proxy has exchanged while the program ran.
	Exchanged []Exchanged `json:"exchanged,omitempty"`

	Efficiency Efficiency `json:"efficiency"`
	Findings   []Finding  `json:"findings"`
	JointGain  *JointGain `json:"joint_gain,omitempty"` // of the first findings; not there with fewer than two of them
	MayBe      []Finding  `json:"may_be,omitempty"`     // what would be a finding, but may as well be nothing
	Loss       *Loss      `json:"loss,omitempty"`       // what of it findings explain; not there if nothing was measured
	Models     []Model    `json:"models"`               // computational models that the program embodies, as it looks
	Deeper     []Note     `json:"to_go_deeper"`         // measurements that would take the diagnosis further
	Conditions []Note     `json:"conditions"`           // circumstances that the figures must be read with
	Stuck      []Stuck    `json:"stuck"`                // calls that ranks were in when they ended, unless through MPI_Finalize
	NotSeen    []Note     `json:"not_seen"`             // what is missing from this file, and why

	// What another tool, or the program through it, has reported.
	AtomicEvents []AtomicEvent `json:"atomic_events,omitempty"`
	Metadata     []Metadata    `json:"metadata,omitempty"`

	// Invocations is how many invocations of components have ended; each is a row of invocations.parquet.
	Invocations uint64 `json:"invocations"`

	// Sampling is there if timer samples were taken.
	Sampling *Sampling `json:"sampling,omitempty"`

	// Counters are what was counted in threads as a whole; in call_graph it is per path.
	Counters []Counter `json:"counters,omitempty"`

	// Files are there with marple exec --io on.
	Files *Files `json:"files,omitempty"`

	// Team is there if there were parallel regions of OpenMP that told of themselves.
	Team *Team `json:"team,omitempty"`

	Core           Balance       `json:"core_time"`
	PerRank        []RankBalance `json:"per_rank"`
	Functions      []Function    `json:"functions"`
	CallGraph      []*Node       `json:"call_graph"` // one tree for the thread that called MPI_Init, one for all others
	Communicators  []Comm        `json:"communicators"`
	Peers          []Peer        `json:"peers"`
	PeersNotListed uint64        `json:"peers_not_listed"`
	PathsNotListed uint64        `json:"peers_of_paths_not_listed"` // missing from the peers in call_graph
	Modules        []Module      `json:"modules"`
	Waits          *Waits        `json:"waits,omitempty"`      // not there if no logs were kept, or the run did not finish
	AsWithCores    bool          `json:"-"`                    // all times are as with a core for each rank
	MissedNs       uint64        `json:"-"`                    // then: time without a core, as it was
	WithCores      *Cored        `json:"with_cores,omitempty"` // not there if ranks had cores
	// Replay is what ranks did, to be replayed as it might be; Write keeps it beside run.json. Nil if it is not known.
	Replay    *waitstate.Program `json:"-"`
	Selection *Selection         `json:"selection,omitempty"` // where families of implementations are given
}

// MPI is the library the program ran with.
type MPI struct {
	Family  string `json:"family"`  // whose binary interface it has
	Library string `json:"library"` // what it says of itself
}

// Host is a computer that ranks ran on.
type Host struct {
	Name  string `json:"name"`
	Ranks int    `json:"ranks"`
	Cores int    `json:"cores"` // that its ranks may use between them
}

// Balance says what time was spent on. Wall is the sum of all others but those marked "within".
type Balance struct {
	Wall    uint64 `json:"wall_ns"`
	Useful  uint64 `json:"useful_ns"`   // outside MPI
	MPI     uint64 `json:"mpi_ns"`      //
	OffCore uint64 `json:"off_core_ns"` // outside MPI, ready to run but without a core
	Waited  uint64 `json:"waited_ns"`   // within MPI: the same
	Blocked uint64 `json:"blocked_ns"`  // within Useful: blocked, in a system call that is not MPI's
	Paused  uint64 `json:"paused_ns"`   // recording was off
	Own     uint64 `json:"marple_ns"`   // Marple itself
}

// RankBalance is one rank's.
type RankBalance struct {
	Rank    int    `json:"rank"`
	Host    string `json:"host"`
	Ended   string `json:"ended"`                // finalized, exited, aborted, failed (of an error that MPI_ERRORS_ARE_FATAL met), vanished (after its last event), or running when this was written
	Abort   int    `json:"abort_code,omitempty"` // of MPI_Abort; failed: the error's class
	Error   string `json:"error,omitempty"`      // failed: what the MPI library says of the error
	Threads int    `json:"threads"`              // that called MPI or had regions
	Balance
	Longest       uint64   `json:"longest_interruption_ns,omitempty"` // that Marple has caused, of any thread
	InitNs        uint64   `json:"init_ns"`
	OtherMPI      uint64   `json:"other_threads_mpi_ns"`
	OtherCPU      uint64   `json:"other_threads_cpu_ns,omitempty"` // CPU time of all threads but the one that called MPI_Init, during wall_ns
	Cores         int      `json:"cores,omitempty"`                // that the rank may use
	PeakMemory    uint64   `json:"peak_memory_bytes,omitempty"`    // that the process had in memory at most, with Marple's own, and before an exec; 0: not known
	Traffic       *Traffic `json:"traffic,omitempty"`              // nil: not known
	Files         *FileUse `json:"files,omitempty"`                // with marple exec --io on
	Calls         uint64   `json:"mpi_calls"`
	Sent          uint64   `json:"messages_sent"`
	SentBytes     uint64   `json:"bytes_sent"`
	Received      uint64   `json:"messages_received"`
	ReceivedBytes uint64   `json:"bytes_received"`
	MessageSizes
}

// Traffic is what a process moved by read, write and their like during wall_ns: files, pipes and sockets, the MPI library's too,
// and those of children that it has waited for.
type Traffic struct {
	Read    uint64 `json:"read_bytes"`
	Written uint64 `json:"written_bytes"`
	Reads   uint64 `json:"reads"` // system calls
	Writes  uint64 `json:"writes"`
}

// MessageSizes are the bytes of the smallest and the largest message, where a profile of TAU's tells and they differ.
type MessageSizes struct {
	SentLeast     uint64 `json:"least_sent,omitempty"`
	SentMost      uint64 `json:"most_sent,omitempty"`
	ReceivedLeast uint64 `json:"least_received,omitempty"`
	ReceivedMost  uint64 `json:"most_received,omitempty"`
}

func newMessageSizes(sent, received profile.Sizes) MessageSizes {
	return MessageSizes{sent.Least, sent.Most, received.Least, received.Most}
}

// LongestInterruption is the longest that Marple has caused on any rank between MPI_Init and MPI_Finalize, ns.
func (r *Run) LongestInterruption() (longest uint64) {
	for i := range r.PerRank {
		longest = max(longest, r.PerRank[i].Longest)
	}
	return longest
}

// Efficiency is the POP metrics, as shares from 0 to 1. Core time without a core (Balance.OffCore, Waited),
// while paused and in Marple counts for nobody; with none of those they are the usual ones: with U the
// useful time per rank, T the wall time and P ranks,
//
//	Parallel = ΣU/(T·P) = LoadBalance ΣU/(P·max U) × Communication max U/T.
//
// Where ranks outnumber cores, max U may exceed the mean time that ranks had a core; Communication is then
// not defined and 0, and Defined is false.
type Efficiency struct {
	Parallel      float64 `json:"parallel"`
	LoadBalance   float64 `json:"load_balance"`
	Communication float64 `json:"communication"`
	Defined       bool    `json:"communication_defined"`
	// Where the logs were replayed, Communication = Serialization·Transfer. Transfer is the part of the time that would be
	// left if messages took none; what is lost then, ranks wait because of the order of things. Both are 0 if not known.
	// Replayed is the share of the run that the replay covers, from its beginning.
	Serialization float64 `json:"serialization"`
	Transfer      float64 `json:"transfer"`
	Replayed      float64 `json:"replayed"`
	// CoreAvailability is the share of the time for which ranks had a core, or waited of their own accord.
	CoreAvailability float64 `json:"core_availability"`
}

// Counter is something that was counted in all threads that were recorded.
type Counter struct {
	Name    string   `json:"name"`    // PAPI's
	Sources []string `json:"sources"` // PAPI, perf_event, kernel: on different ranks they may differ
	Sum     uint64   `json:"sum"`
}

// Function adds up the calls of one MPI function.
type Function struct {
	Name  string  `json:"name"`
	Op    string  `json:"op"`
	Ranks int     `json:"ranks"` // that called it
	Calls uint64  `json:"calls"`
	Ns    uint64  `json:"ns"`
	Share float64 `json:"share"` // of core time
	Out   uint64  `json:"bytes_out"`
	In    uint64  `json:"bytes_in"`
	Hits  uint64  `json:"hits,omitempty"` // tests and probes that found something
	Fails uint64  `json:"failed,omitempty"`
	Sizes []Size  `json:"sizes,omitempty"`
}

// Size adds up calls by message size: less than Below bytes, and not less than half of that.
type Size struct {
	Below    uint64 `json:"below"`
	Calls    uint64 `json:"calls"`
	Ns       uint64 `json:"ns"`
	Messages uint64 `json:"messages_received"`
	Bytes    uint64 `json:"bytes"`
}

// Stat describes samples.
type Stat struct {
	N         uint64  `json:"n"`
	Sum       uint64  `json:"sum"`
	Min       uint64  `json:"min"`
	Max       uint64  `json:"max"`
	Mean      float64 `json:"mean"`
	Deviation float64 `json:"deviation"` // standard deviation of the samples (population)
	MinRank   int32   `json:"min_rank"`
	MaxRank   int32   `json:"max_rank"`
}

func newStat(s stat.Stat) Stat {
	return Stat{s.N, s.Sum, s.Min, s.Max, s.Mean(), s.Deviation(), s.MinRank, s.MaxRank}
}

// Reals describes values of any unit and sign.
type Reals struct {
	N         uint64  `json:"n"`
	Sum       float64 `json:"sum"`
	Min       float64 `json:"min"`
	Max       float64 `json:"max"`
	Mean      float64 `json:"mean"`
	Deviation float64 `json:"deviation"`
	MinRank   int32   `json:"min_rank"`
	MaxRank   int32   `json:"max_rank"`
}

func newReals(r stat.Reals) Reals {
	return Reals{r.N, r.Sum, r.Min, r.Max, r.Mean(), r.Deviation(), r.MinRank, r.MaxRank}
}

// AtomicEvent describes the values that were reported under a name, in whatever unit they have.
type AtomicEvent struct {
	Name   string `json:"name"`
	Values Reals  `json:"values"`
}

// Metadata is a name with a value; where ranks have different ones, that of the lowest rank.
type Metadata struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Rank  int32  `json:"rank"`  // whose it is
	Ranks uint64 `json:"ranks"` // that have one
	Same  bool   `json:"same"`  // on all of these
}

// Node is a call path. Statistics over ranks stand for those ranks that have the node, whose number is
// their n; the other ranks spent no time there.
type Node struct {
	ID       string    `json:"id"`
	Kind     string    `json:"kind"`               // see callgraph.Kind
	Name     string    `json:"name"`               // for people
	Function string    `json:"function,omitempty"` // frame: its name, if it is known
	Module   string    `json:"module,omitempty"`   // frame: the file its code is in
	Offset   string    `json:"offset,omitempty"`   // frame: where the function begins there
	Site     string    `json:"site,omitempty"`     // frame, mpi: where it was called, for people
	File     string    `json:"file,omitempty"`     // frame, mpi: the source file of that place
	Line     int       `json:"line,omitempty"`
	Inlined  []Inlined `json:"inlined,omitempty"` // the innermost first: functions that the call stands in, but that have no frame
	// Component, Method and Instance are those of an invocation's path.
	Component string `json:"component,omitempty"`
	Method    string `json:"method,omitempty"`
	Instance  string `json:"instance,omitempty"`
	Op        string `json:"op,omitempty"`
	From      string `json:"from,omitempty"` // id, of a gap
	To        string `json:"to,omitempty"`
	Loop      bool   `json:"loop,omitempty"` // gap between two tests or probes, each shorter than 10 µs
	// Samples of a gap: how many hit there. Those in a known place have gaps of their own, whose site, file and line are
	// those of the instruction hit most; they share the computing time of the gap with the id in Of by their numbers.
	Samples uint64 `json:"samples,omitempty"`
	Of      string `json:"of,omitempty"`
	// Groups are what the tool that tells of a region has it in, such as TAU_IO.
	Groups []string `json:"groups,omitempty"`

	Exclusive Stat       `json:"exclusive_ns"`
	Inclusive Stat       `json:"inclusive_ns"`
	PerRank   []RankTime `json:"per_rank"`
	Calls     *Stat      `json:"call_ns,omitempty"` // durations of the calls or invocations
	Out       uint64     `json:"bytes_out,omitempty"`
	In        uint64     `json:"bytes_in,omitempty"`
	Messages  uint64     `json:"messages_received,omitempty"`
	Hits      uint64     `json:"hits,omitempty"`
	Polled    uint64     `json:"polled_ns,omitempty"` // tests: from the first of a row of them to the end of the one that found something
	Fails     uint64     `json:"failed,omitempty"`
	OffCore   uint64     `json:"off_core_ns,omitempty"` // mpi: within; gap: beside the time itself
	Blocked   uint64     `json:"blocked_ns,omitempty"`
	// Waiting is the part of the exclusive time, or of polled_ns, that was spent waiting for other ranks; Caused is for how long others
	// waited because a rank spent longer here than they did, directly or through further ranks. See Waits.
	Waiting  uint64   `json:"waiting_ns,omitempty"`
	Caused   uint64   `json:"caused_ns,omitempty"`
	First    uint64   `json:"first_ns,omitempty"` // mpi: when ranks, on average, began their first call, after the beginning
	Last     uint64   `json:"last_ns,omitempty"`  // and their last one
	Sizes    []Size   `json:"sizes,omitempty"`
	Peers    []Peer   `json:"peers,omitempty"`   // mpi, of the thread that called MPI_Init
	Metrics  []Metric `json:"metrics,omitempty"` // by name
	Team     *Team    `json:"team,omitempty"`    // of a parallel region
	Children []*Node  `json:"children,omitempty"`
}

// TimeBase says what times of the run are, for other tools.
func (r *Run) TimeBase() string {
	return fmt.Sprintf("elapsed time of each rank, from the end of MPI_Init to MPI_Finalize; begun %s; clock: %s",
		r.Started.Format("2006-01-02T15:04:05.000000Z07:00"), strings.Join(r.Clocks, ", "))
}

// Team is what teams of threads did in parallel regions of OpenMP, added up over regions and ranks. Work of a thread is its time
// on a core but for waiting at barriers and for locks, and for MPI. In a region the thread that worked longest did so for
// Work + Imbalance.
type Team struct {
	Threads   uint64 `json:"thread_ns"`    // duration × number of threads
	Region    uint64 `json:"region_ns"`    // duration
	Work      uint64 `json:"mean_work_ns"` // of a thread
	Imbalance uint64 `json:"imbalance_ns"`
}

// Size is the number of threads, on average over time.
func (t *Team) Size() float64 { return float64(t.Threads) / float64(max(t.Region, 1)) }

// LoadBalance is the mean work of a thread by the most.
func (t *Team) LoadBalance() float64 { return float64(t.Work) / float64(max(t.Work+t.Imbalance, 1)) }

// ThreadEfficiency is the share of the time outside MPI that threads spent working, where one thread of several works outside of
// parallel regions: POP's parallel efficiency of OpenMP. 0: there were no parallel regions.
func (r *Run) ThreadEfficiency() float64 {
	outside := float64(r.Core.Useful + r.Core.OffCore)
	if r.Team == nil || outside == 0 {
		return 0
	}
	serial := max(0, outside-float64(r.Team.Region))
	return min(1, (serial/max(1, r.Team.Size())+float64(r.Team.Work))/outside)
}

// Metric is a quantity other than time, such as a hardware counter's, on a call path. It is added up over ranks.
type Metric struct {
	Name      string       `json:"name"`
	Exclusive float64      `json:"exclusive"`
	Inclusive float64      `json:"inclusive"`
	PerRank   []RankMetric `json:"per_rank"` // up to 64 ranks all, beyond that the largest 8
}

// RankMetric is one rank's share of a metric.
type RankMetric struct {
	Rank      int32   `json:"rank"`
	Exclusive float64 `json:"exclusive"`
	Inclusive float64 `json:"inclusive"`
}

// Stuck is an MPI call that a rank had entered and not left when it ended, or when it was looked at.
type Stuck struct {
	Rank   int32  `json:"rank"`
	Thread int    `json:"thread"`
	Call   string `json:"call"`
	Site   string `json:"site"` // where it was called, for people; empty if that is not known
	Peer   int32  `json:"peer"` // of a blocking message, or the root: rank in the communicator, -1: any; otherwise negative
	// WaitsFor are the ranks in MPI_COMM_WORLD that could let the call end: all of them have to, or any of them.
	WaitsFor []int `json:"waits_for,omitempty"`
	Any      bool  `json:"waits_for_any,omitempty"`
	// WaitedNs is for how long, at least: up to the last sign of life of any rank.
	WaitedNs uint64 `json:"waited_ns"`
	// Deadlock: none of those it waits for can let it end, because they wait, too, or have ended. Uncertain if messages may
	// have been under way.
	Deadlock  bool   `json:"deadlock,omitempty"`
	Uncertain bool   `json:"uncertain,omitempty"`
	SinceNs   uint64 `json:"since_ns"`        // after the beginning
	Ended     bool   `json:"ended,omitempty"` // from within it the rank has ended
}

// Inlined is a function whose code the compiler has put into its caller's, and where it was called there.
type Inlined struct {
	Function string `json:"function"`
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
	Site     string `json:"site,omitempty"` // the same for people
}

// RankTime is one rank's share of a node. Up to 64 ranks all are listed, beyond that the largest 8.
type RankTime struct {
	Rank      int32  `json:"rank"`
	Exclusive uint64 `json:"exclusive_ns"`
	Inclusive uint64 `json:"inclusive_ns"`
	Calls     uint64 `json:"calls"`
}

// Comm is a communicator.
type Comm struct {
	ID      string `json:"id"`
	Parent  string `json:"parent,omitempty"`
	Name    string `json:"name,omitempty"`
	Size    int    `json:"size"`
	Inter   bool   `json:"inter,omitempty"`
	Members string `json:"members,omitempty"` // world ranks: 0-7:2,9
	Calls   uint64 `json:"calls"`
	Ns      uint64 `json:"ns"`
	Out     uint64 `json:"bytes_out"`
	In      uint64 `json:"bytes_in"`
}

// Peer is what a rank exchanged with another, as the first of them saw it.
type Peer struct {
	Rank          int    `json:"rank"`
	To            int    `json:"peer"`
	Sent          uint64 `json:"messages_sent"`
	SentBytes     uint64 `json:"bytes_sent"`
	Received      uint64 `json:"messages_received"`
	ReceivedBytes uint64 `json:"bytes_received"`
	Puts          uint64 `json:"puts,omitempty"`
	PutBytes      uint64 `json:"bytes_put,omitempty"`
	Gets          uint64 `json:"gets,omitempty"`
	GetBytes      uint64 `json:"bytes_got,omitempty"`
	// What the rank computed just before messages with the other that went the way of the last one between them, or back,
	// and how often messages went the other way than those before, exchanges aside.
	OnwardNs uint64 `json:"onward_ns,omitempty"`
	BackNs   uint64 `json:"back_ns,omitempty"`
	Turns    uint64 `json:"turns,omitempty"`
	// In how many rounds between two pieces of computing there were messages with the other; of these, in how many both ways,
	// and with nobody else.
	Rounds uint64 `json:"rounds,omitempty"`
	Alone  uint64 `json:"rounds_alone,omitempty"`
	MessageSizes
}

// Module is an executable or library that call paths lead through.
type Module struct {
	Path    string   `json:"path"`
	BuildID string   `json:"build_id,omitempty"`
	Notes   []string `json:"notes,omitempty"` // why names may be missing
}

// Note is a sentence with a name that programs can rely on.
type Note struct {
	ID    string `json:"id"`
	Text  string `json:"text"`
	Count uint64 `json:"count,omitempty"`
}

// OnCores tells whether it is about ranks that had to wait for a core.
func (n Note) OnCores() bool {
	return slices.Contains(onCores, n.ID)
}

const (
	failed          = "failed"
	recordsMissing  = "records-missing"
	recordsUnmerged = "records-unmerged"
)

// Incomplete tells whether it is about records that are missing, or were when ranks merged.
func (n Note) Incomplete() bool { return n.ID == recordsMissing || n.ID == recordsUnmerged }

// Failed tells whether it is about how the run ended other than through MPI_Finalize.
func (n Note) Failed() bool { return n.ID == failed }

// Hangs tells whether it is about ranks that wait for each other without end.
func (n Note) Hangs() bool { return n.ID == deadlock }

// Finding is something worth changing.
type Finding struct {
	ID         string     `json:"id"`
	Title      string     `json:"title"`
	Share      float64    `json:"share"`           // of total core time, 0 to 1
	Seconds    float64    `json:"seconds"`         // of core time
	Low        float64    `json:"low"`             // share that is the least it can be; the most is Share
	Worth      float64    `json:"worth,omitempty"` // share from which on it is told: its model's threshold "least"
	Ranks      []int      `json:"ranks,omitempty"`
	Where      string     `json:"where,omitempty"` // call path, file:line
	Node       string     `json:"node,omitempty"`  // its id in call_graph
	Model      string     `json:"model"`           // the parallel computational model
	Factor     string     `json:"factor"`          // and its performance factor
	Evidence   []Evidence `json:"evidence"`
	Advice     string     `json:"advice"`
	Confidence string     `json:"confidence"` // high, medium or low
	// Remedy is what the advice would change; Gain is what that would bring: not there where it is not known.
	Remedy *Remedy `json:"remedy,omitempty"`
	Gain   *Gain   `json:"gain,omitempty"`
	// Instead is what else the advice may be taken to.
	Instead []Instead `json:"instead,omitempty"`
}

// Instead is another remedy of a finding, and what that would bring: not there where it is not known.
type Instead struct {
	Remedy
	Gain *Gain `json:"gain,omitempty"`
}

// Remedy is a change in a replay of the run.
type Remedy struct {
	// Change is balance (ranks compute equally long there), free (calls there take no time beside waiting), remove
	// (collective operations there are left out), prompt (nobody waits by the pattern), or nonblocking (calls there are waited for
	// before the rank's next call).
	Change  string   `json:"change"`
	Nodes   []string `json:"nodes,omitempty"` // ids in call_graph; none: all
	Ranks   []int    `json:"ranks,omitempty"` // none: all
	Pattern string   `json:"pattern,omitempty"`
}

// Gain is by how much the run would be shorter.
type Gain struct {
	Seconds float64 `json:"seconds"` // of wall time
	Share   float64 `json:"share"`   // likewise, 0 to 1
	Low     float64 `json:"low"`     // share that it is at least
	High    float64 `json:"high"`    // and at most
	AtMost  bool    `json:"at_most,omitempty"`
	// Steady is the share that is left if the machine has made all that takes longer now and then, on one rank or another;
	// not there where that makes no difference.
	Steady *float64 `json:"steady,omitempty"`
	// Behind says what else has to be removed for this to bring anything, where it is known.
	Behind string `json:"behind,omitempty"`
}

// JointGain is that of several findings together.
type JointGain struct {
	Findings int `json:"findings"` // the first ones
	Gain
}

// Model is a parallel computational model that a run looks like.
type Model struct {
	Name       string  `json:"name"`
	Title      string  `json:"title"`
	Confidence float64 `json:"confidence"`      // 0 to 1
	Phase      string  `json:"phase,omitempty"` // the part of the run that looks so, by where its calls are made; empty: the whole
	Share      float64 `json:"share"`           // of core time
	FirstNs    uint64  `json:"first_ns"`        // when it began, after the beginning
	LastNs     uint64  `json:"last_ns"`         // and when its last call began
}

// Evidence is a measured value that a finding rests on.
type Evidence struct {
	Metric    string  `json:"metric"`
	Value     float64 `json:"value"`
	Threshold float64 `json:"threshold"` // 0 where the value is only told
	Unit      string  `json:"unit"`      // s, %, calls, bytes, ...
	Text      string  `json:"text"`
}

// Unkept is how many invocations of components found no room among the records.
func (r *Run) Unkept() uint64 {
	for _, note := range r.NotSeen {
		if note.ID == invocationsUnkept {
			return note.Count
		}
	}
	return 0
}

// Walk visits a tree, parents first, until visit returns false.
func (n *Node) Walk(visit func(n *Node, depth int) bool) { n.walk(0, visit) }

// Clone copies a node and those below; change may then change each copy, but not what its lists hold.
func (n *Node) Clone(change func(*Node)) *Node {
	c := *n
	c.Children = make([]*Node, len(n.Children))
	for i, child := range n.Children {
		c.Children[i] = child.Clone(change)
	}
	change(&c)
	return &c
}

func (n *Node) walk(depth int, visit func(*Node, int) bool) bool {
	if !visit(n, depth) {
		return false
	}
	for _, c := range n.Children {
		if !c.walk(depth+1, visit) {
			return false
		}
	}
	return true
}

// Root is the tree of the thread that called MPI_Init; nil if there is none.
func (r *Run) Root() *Node {
	if len(r.CallGraph) == 0 {
		return nil
	}
	return r.CallGraph[0]
}

// Find gives the node with an ID in any tree, or nil.
func (r *Run) Find(id string) *Node {
	var found *Node
	for _, root := range r.CallGraph {
		root.Walk(func(n *Node, _ int) bool {
			if n.ID == id {
				found = n
			}
			return found == nil
		})
	}
	return found
}

// Check tells what is wrong with a run that was read, beyond what its types say.
func (r *Run) Check() error {
	switch {
	case r.Schema != Schema:
		return &files.Unfit{What: "a run", Version: r.Schema, Reads: Schema}
	case r.Ranks < 1 || r.Measured < 0 || r.Measured > r.Ranks:
		return fmt.Errorf("%d of %d ranks measured", r.Measured, r.Ranks)
	}
	if r.Machine != nil {
		if err := r.Machine.Check(); err != nil {
			return err
		}
	}
	for _, root := range r.CallGraph {
		if err := root.check(0); err != nil {
			return err
		}
	}
	return nil
}

// maxDepth is what no real call path reaches, and no stack overflows at.
const maxDepth = 100_000

func (n *Node) check(depth int) error {
	switch {
	case n == nil:
		return fmt.Errorf("call_graph: a node is null")
	case depth > maxDepth:
		return fmt.Errorf("call_graph: deeper than %d", maxDepth)
	case n.Kind == callgraph.KindMPI.String() && n.Calls == nil:
		return fmt.Errorf("call_graph: node %s: MPI calls without call_ns", n.ID)
	}
	for _, c := range n.Children {
		if err := c.check(depth + 1); err != nil {
			return err
		}
	}
	return nil
}
