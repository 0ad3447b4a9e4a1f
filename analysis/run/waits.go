package run

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"marple/analysis/callgraph"
	"marple/analysis/profile"
	"marple/analysis/stat"
	"marple/analysis/waitstate"
	"marple/analysis/words"
)

// WaitsIncomplete are the notes (Run.NotSeen) on why calls may have waited for what the replay of the logs does not know.
var WaitsIncomplete = []string{"waits-unknown", "log-ended", "messages-unmatched", "messages-ambiguous", "collectives-uncovered",
	"trace-messages", "trace-paused", "trace-flushed", "trace-clocks"}

// Waits is what ranks waited for each other, as found by replaying their logs of events. Times are core time.
type Waits struct {
	Ns       uint64         `json:"ns"`
	Patterns []WaitPattern  `json:"patterns"` // the longest first
	Sites    []WaitSite     `json:"sites"`    // likewise
	Pairs    []WaitPair     `json:"pairs"`    // likewise
	Delays   []DelaySite    `json:"delays"`   // what caused the waits, the most expensive first
	Critical []CriticalSite `json:"critical_path"`
	Costs    []CallCost     `json:"costs"` // what calls take beside waiting
	Parts    []RankParts    `json:"parts"` // of the run, which take turns
	// CriticalNs is the length of the critical path: from the first event to the entry of the last rank into
	// MPI_Finalize. CriticalUsefulNs of it are outside MPI.
	CriticalNs       uint64 `json:"critical_path_ns"`
	CriticalUsefulNs uint64 `json:"critical_path_useful_ns"`
	// Clocks of the hosts, rank 0's first; none if there is one host.
	Clocks   []HostClock `json:"clocks"`
	Events   uint64      `json:"events"`    // logged
	LogBytes uint64      `json:"log_bytes"` // that they took
	// ReplayedBy is how many ranks have replayed the ideal network, and a core for each: rank 0 alone, or all ranks, each its own
	// calls; 0: none.
	ReplayedBy uint64 `json:"replayed_by,omitempty"`
}

// HostClock is how a host's clock relates to that of rank 0's host, by which all times are told.
type HostClock struct {
	Host     string  `json:"host"`
	Ranks    int     `json:"ranks"`
	AheadNs  int64   `json:"ahead_ns"`  // at the beginning of the run
	DriftPPM float64 `json:"drift_ppm"` // how much faster it is
	ErrorNs  uint64  `json:"error_ns"`  // by which times between the two hosts may be wrong
	// Measured: by messages between the hosts, at the beginning and the end. Otherwise the times of day are taken for equal.
	Measured bool `json:"measured"`
}

// WaitPattern adds up the waits of one pattern.
type WaitPattern struct {
	Pattern   string  `json:"pattern"` // late-sender, wait-at-barrier, ...
	Ns        uint64  `json:"ns"`
	Share     float64 `json:"share"` // of the wall time of all ranks
	Instances uint64  `json:"instances"`
}

// WaitSite is the waits of one pattern on one call path, for calls on one path of other ranks.
type WaitSite struct {
	Pattern   string     `json:"pattern"`
	Node      string     `json:"node"`  // id in call_graph
	Where     string     `json:"where"` // the same for people
	For       string     `json:"for_node"`
	ForWhere  string     `json:"for_where"`
	Ns        uint64     `json:"ns"`
	Instances uint64     `json:"instances"`
	Longest   uint64     `json:"longest_ns"`
	PerRank   []WaitRank `json:"per_rank"` // that waited; up to 64 ranks all, beyond that the longest 8
}

// RankParts is a rank's time outside MPI in parts that the run is divided into, each spread over all of it.
type RankParts struct {
	Rank   int32    `json:"rank"`
	Useful []uint64 `json:"useful_ns"`
}

// Scatter is twice the standard error of how much longer some of so many ranks compute than the mean, over parts of the run, in
// seconds of all ranks. It is not known where parts are not, nor of all ranks: there is none to compare them with.
func (w *Waits) Scatter(slow []int, ranks int) (seconds float64, known bool) {
	if w == nil || len(w.Parts) == 0 || len(w.Parts) < ranks || len(slow) == 0 || len(slow) >= ranks {
		return 0, false
	}
	longer := make([]float64, len(w.Parts[0].Useful))
	for _, p := range w.Parts {
		for k, ns := range p.Useful[:min(len(p.Useful), len(longer))] {
			longer[k] -= float64(ns) / 1e9 / float64(len(w.Parts))
			if slices.Contains(slow, int(p.Rank)) {
				longer[k] += float64(ns) / 1e9 / float64(len(slow))
			}
		}
	}
	n, m, squares := float64(len(longer)), 0.0, 0.0
	for _, x := range longer {
		m += x / n
	}
	for _, x := range longer {
		squares += (x - m) * (x - m)
	}
	return 2 * math.Sqrt(n*squares/(n-1)) * float64(ranks), true
}

// CallCost is what the calls of a node take beside waiting for other ranks, without the time for which they had no core.
type CallCost struct {
	Node  string `json:"node"` // id in call_graph
	Calls uint64 `json:"calls"`
	Ns    uint64 `json:"ns"`
	// Sure is the same with each call counted for no more than three quarters of its rank's calls there take.
	Sure uint64 `json:"sure_ns"`
}

// WaitRank is one rank's share of a wait site, a delay or the critical path.
type WaitRank struct {
	Rank      int32  `json:"rank"`
	Ns        uint64 `json:"ns"`
	Instances uint64 `json:"instances,omitempty"`
}

// WaitPair is how long a rank waited for another.
type WaitPair struct {
	Rank      int32  `json:"rank"`
	For       int32  `json:"for"`
	Ns        uint64 `json:"ns"`
	Instances uint64 `json:"instances"`
}

// DelaySite is a path on which ranks spent longer than those that waited for them, and how long others waited because
// of that: directly for this rank, or passed on, for ranks that had waited for it. Over all paths both add up to the
// time of all waits that are explained.
type DelaySite struct {
	Pattern string     `json:"pattern"` // of the waits
	Node    string     `json:"node"`    // id in call_graph; empty: waiting for a core
	Where   string     `json:"where"`
	Direct  uint64     `json:"direct_ns"`
	Passed  uint64     `json:"passed_on_ns"`
	PerRank []WaitRank `json:"per_rank"` // that caused it
}

// CriticalSite is a path's time on the critical path: what would shorten the run if it were faster.
type CriticalSite struct {
	Node    string     `json:"node"` // id in call_graph; empty: waiting for a core
	Where   string     `json:"where"`
	Ns      uint64     `json:"ns"`
	Share   float64    `json:"share"` // of the critical path
	PerRank []WaitRank `json:"per_rank"`
}

// waits shows what the replay has found; nil if there was none.
func (b *builder) waits(r *Run) *Waits {
	t := &b.p.Waits
	if t.Ranks == 0 {
		return nil
	}
	for _, x := range t.Waits {
		if n := b.nodes[x.Path]; n != nil {
			n.Waiting += x.Ns
		}
	}
	for _, d := range t.Delays {
		for _, s := range b.sites(d.Path, d.Direct+d.Passed, d.Ranks, b.above) {
			if n := b.nodes[s.path]; n != nil {
				n.Caused += s.ns
			}
		}
	}
	return b.found(t, r.Core.Wall)
}

// found is what a replay has found, in which all ranks together have taken some time.
func (b *builder) found(t *waitstate.Table, wallNs uint64) *Waits {
	w := &Waits{Patterns: []WaitPattern{}, Sites: []WaitSite{}, Pairs: []WaitPair{}, Delays: []DelaySite{}, Critical: []CriticalSite{}, Costs: []CallCost{}, Parts: []RankParts{}, Clocks: b.clocks(t.Clocks),
		CriticalNs: t.Length, CriticalUsefulNs: t.Useful, Events: t.Events, LogBytes: t.Bytes, ReplayedBy: t.Players}
	byPattern := map[waitstate.Pattern]int{}
	wall := float64(max(wallNs, 1))
	for _, x := range t.Waits {
		w.Ns += x.Ns
		i, known := byPattern[x.Pattern]
		if !known {
			i = len(w.Patterns)
			byPattern[x.Pattern] = i
			w.Patterns = append(w.Patterns, WaitPattern{Pattern: x.Pattern.String()})
		}
		p := &w.Patterns[i]
		p.Ns, p.Instances, p.Share = p.Ns+x.Ns, p.Instances+x.N, float64(p.Ns+x.Ns)/wall
		w.Sites = append(w.Sites, WaitSite{p.Pattern, NodeID(x.Path), b.placeName(x.Path), NodeID(x.For), b.placeName(x.For),
			x.Ns, x.N, x.Max, waitRanks(x.Ranks)})
	}
	for _, p := range t.Pairs {
		w.Pairs = append(w.Pairs, WaitPair{p.Rank, p.For, p.Ns, p.N})
	}
	for _, d := range t.Delays {
		// What a rank spent longer than others, it did where it was longer than they were.
		var before uint64
		for _, s := range b.sites(d.Path, d.Direct+d.Passed, d.Ranks, b.above) {
			direct := uint64(0)
			if s.ns > 0 {
				direct = portion(d.Direct, before+s.ns, d.Direct+d.Passed) - portion(d.Direct, before, d.Direct+d.Passed)
			}
			before += s.ns
			w.Delays = append(w.Delays, DelaySite{d.Pattern.String(), b.placeID(s.path), b.placeName(s.path), direct, s.ns - direct, waitRanks(s.ranks)})
		}
	}
	for _, c := range t.Critical {
		for _, s := range b.sites(c.Path, c.Ns, c.Ranks, on) {
			w.Critical = append(w.Critical, CriticalSite{b.placeID(s.path), b.placeName(s.path), s.ns,
				float64(s.ns) / float64(max(t.Length, 1)), waitRanks(s.ranks)})
		}
	}
	for _, c := range t.Costs {
		if b.nodes[c.Path] != nil {
			w.Costs = append(w.Costs, CallCost{NodeID(c.Path), c.N, c.Ns, c.Sure})
		}
	}
	for _, p := range t.Parts {
		w.Parts = append(w.Parts, RankParts{p.Rank, p.Useful[:]})
	}
	slices.SortStableFunc(w.Patterns, func(x, y WaitPattern) int { return cmp.Compare(y.Ns, x.Ns) })
	slices.SortStableFunc(w.Sites, func(x, y WaitSite) int { return cmp.Compare(y.Ns, x.Ns) })
	slices.SortStableFunc(w.Delays, func(x, y DelaySite) int { return cmp.Compare(y.Direct+y.Passed, x.Direct+x.Passed) })
	slices.SortStableFunc(w.Critical, func(x, y CriticalSite) int { return cmp.Compare(y.Ns, x.Ns) })
	return w
}

func (b *builder) clocks(list []waitstate.Clock) []HostClock {
	clocks := []HostClock{}
	for _, c := range list {
		one := HostClock{Ranks: int(c.Ranks), AheadNs: -c.Ns, DriftPPM: float64(-c.Drift) / 1000, ErrorNs: c.ErrorNs, Measured: c.Measured}
		if i := slices.IndexFunc(b.p.Hosts, func(h profile.Host) bool { return h.ID == c.Host }); i >= 0 {
			one.Host = b.p.Hosts[i].Name
		}
		clocks = append(clocks, one)
	}
	return clocks
}

func waitRanks(list []stat.Ranked) []WaitRank {
	ranks := []WaitRank{}
	for _, r := range list {
		ranks = append(ranks, WaitRank{r.Rank, r.Value, r.Count})
	}
	return ranks
}

func (b *builder) placeID(id callgraph.ID) string {
	if id == waitstate.OffCore {
		return ""
	}
	return NodeID(id)
}

// placeName is a node for people: a call with where it stands, or the gap between two.
func (b *builder) placeName(id callgraph.ID) string {
	if id == waitstate.OffCore {
		return "waiting for a core"
	}
	n := b.nodes[id]
	if n == nil {
		return "a path that was not recorded"
	}
	const most = 3 // functions named
	name, kind := n.Label(), n.Kind
	if n.Of != "" {
		name = strings.Join(append([]string{name}, n.inlinedSteps()...), " in ")
	}
	if kind != callgraph.KindMPI.String() && kind != callgraph.KindGap.String() {
		return name
	}
	for range most {
		g := b.p.Graph.Find(id)
		above := b.nodes[g.Parent]
		if n.Kind != kind || above == nil || above.Kind == callgraph.KindRoot.String() {
			break
		}
		id, n, kind = g.Parent, above, callgraph.KindFrame.String()
		name += " in " + above.Label()
	}
	return name
}

// waitsNotSeen says what limits the wait states.
func (b *builder) waitsNotSeen(add func(id string, count uint64, text string)) {
	t := &b.p.Waits
	if t.Ranks == 0 {
		if b.p.World > 1 && b.p.Logged > 0 {
			add("waits-unknown", uint64(b.p.World)-min(b.p.Logged, uint64(b.p.World))+1, "wait states are not known: not all ranks could replay their logs (%d missing or late)")
		}
		return
	}
	if t.Span > 0 {
		add("waits-thinned", max(1, t.Looked*100/t.Span), "wait states are those of %d % of the run, evenly over it, multiplied: the logs have more events than a replay at the end may take")
	}
	if t.Players == 0 {
		add("replay-unknown", 1, "what the run would take on another network is not known: it could not be replayed to the end")
	}
	l := &t.Lost
	silent := uint64(b.p.World) - min(uint64(b.p.World), uint64(len(b.p.Totals))) // whose logs count as if they had ended at once
	add("log-ended", l.Ended-min(l.Ended, silent), "on %d {rank|ranks} the log was full before the end: wait states are known up to there; give more room with --log")
	if t.Span == 0 { // else messages over the edges of what was replayed have nobody to be matched with
		add("messages-unmatched", l.Unmatched, "%d {message was matched by neither side's log and is|messages were matched by neither side's log and are} not in the wait states")
	}
	add("messages-ambiguous", l.Ambiguous, "%d {message shared an envelope with another thread's and is|messages shared an envelope with another thread's and are} not in the wait states")
	add("collectives-uncovered", l.Uncovered, "%d collective {call is|calls are} not in the wait states (neighbourhoods, intercommunicators, communicators that are not known, logs that ended)")
	add("clocks-backward", l.Backward, "%d {message seems to have been received before it was|messages seem to have been received before they were} sent")
	var uncertain, unmeasured, most uint64
	for _, c := range t.Clocks {
		if !c.Measured {
			unmeasured++
		} else if c.ErrorNs > 0 {
			uncertain, most = uncertain+1, max(most, c.ErrorNs)
		}
	}
	add("clocks-error", uncertain, fmt.Sprintf("the {clock|clocks} of %%d other {host is|hosts are} known to ±%s: shorter waits between hosts mean nothing", words.Duration(float64(most)/1e9)))
	add("clocks-of-hosts", unmeasured, "the {clock|clocks} of %d {host is|hosts are} aligned by the time of day: short waits between hosts mean nothing")
	add("waits-not-explained", l.Small, fmt.Sprintf("the causes of %%d short {wait|waits} (%.1f %% of the waiting time) were not followed",
		100*float64(l.SmallNs)/float64(max(1, totalNs(t)))))
}

func totalNs(t *waitstate.Table) (sum uint64) {
	for _, w := range t.Waits {
		sum += w.Ns
	}
	return sum
}
