// Package diagnosis says what held a run back and what to change.
//
// It may use run, callgraph and event; it holds no state. It sees what is stored of a run and nothing else,
// so that a stored run gets the findings that the live one got.
//
// Invariant: every finding carries the values and thresholds it rests on; what lies below all thresholds
// is no finding, however interesting.
package diagnosis

import (
	"cmp"
	"fmt"
	"slices"

	"marple/analysis/callgraph"
	"marple/analysis/event"
	"marple/analysis/run"
	"marple/analysis/words"
)

// Thresholds, with the reason for each. Shares are of core time.
const (
	// LeastShare is what a finding must cost to be worth reading: a gain below 5 % is lost in the difference
	// between two runs of the same program on most machines.
	LeastShare = 0.05
	// LeastSeconds of core time: less is a scheduler's time slice or two, which any rank may win or lose between
	// the beginning and the end of a run.
	LeastSeconds = 0.005
	// MPIShare: POP calls a communication efficiency below 80 % worth looking into.
	MPIShare = 0.20
	// Explained: when other findings account for this part of the time in MPI, that time is not a finding of
	// its own.
	Explained = 0.5
	// CollectiveShare: one collective call that takes half of the time in MPI, and three times LeastShare.
	CollectiveShare      = 0.15
	CollectiveShareOfMPI = 0.5
	// TinyBytes: up to 1 KiB the time of a message is its latency on every network of the last ten years
	// (1 µs against 0.1 µs for the bytes at 10 GB/s).
	TinyBytes = 1024
	// TinyPart of all point-to-point messages must be tiny, and TinyRate of them be sent per second and rank:
	// at 1 µs each, 10,000 a second are 1 % of a rank's time at least.
	TinyPart = 0.75
	TinyRate = 10000
	// PollMisses: tests and probes that found nothing, of all; and how many there must be per operation they
	// are waiting for, so that an occasional test inside a computation is no polling.
	PollMisses = 0.9
	PollRate   = 1000 // per second and rank
	// Crowded: beyond this share of time without a core, waits in MPI cannot be told from waits for ranks
	// that have no core, and only what rests on computation or counts is said.
	Crowded = 0.10
)

// evidence shortens the making of an Evidence.
func evidence(metric string, value, threshold float64, unit, format string, arguments ...any) run.Evidence {
	return run.Evidence{Metric: metric, Value: value, Threshold: threshold, Unit: unit, Text: fmt.Sprintf(format, arguments...)}
}

// Find gives the findings of a run, the most expensive first.
func Find(r *run.Run) []run.Finding {
	f := newFacts(r)
	findings := []run.Finding{}
	if f.core <= 0 || r.Root() == nil {
		return findings
	}
	for _, rule := range []func(*facts) *run.Finding{imbalance, polling, tinyMessages, dominantCollective} {
		if finding := rule(f); finding != nil && finding.Seconds >= LeastSeconds {
			findings = append(findings, *finding)
			f.explained += finding.Seconds
		}
	}
	findings = append(findings, waitStates(f, slices.ContainsFunc(findings, func(x run.Finding) bool { return x.ID == "imbalance" }))...)
	if finding := timeInMPI(f); finding != nil && finding.Seconds >= LeastSeconds {
		findings = append(findings, *finding)
	}
	slices.SortStableFunc(findings, func(a, b run.Finding) int { return cmp.Compare(b.Share, a.Share) })
	return findings
}

// facts are what several rules ask for. Times are seconds of core time.
type facts struct {
	r         *run.Run
	core      float64 // all that counts
	useful    float64
	mpi       float64 // but for waiting for a core inside MPI
	explained float64 // by findings so far
	crowded   bool
	paths     *run.Paths
}

func newFacts(r *run.Run) *facts {
	c := r.Core
	f := &facts{r: r, useful: seconds(c.Useful), mpi: seconds(c.MPI - min(c.MPI, c.Waited))}
	f.core = f.useful + f.mpi
	f.crowded = r.Efficiency.CoreAvailability < 1-Crowded
	return f
}

func seconds(ns uint64) float64 { return float64(ns) / 1e9 }

func (f *facts) finding(id string, lost float64) *run.Finding {
	return &run.Finding{ID: id, Seconds: lost, Share: lost / f.core, Confidence: "high"}
}

// nodes of a kind below the thread that called MPI_Init; calls may have taken no time that a clock shows.
func (f *facts) nodes(kind callgraph.Kind) []*run.Node {
	var list []*run.Node
	f.r.Root().Walk(func(n *run.Node, _ int) bool {
		if n.Kind == kind.String() {
			list = append(list, n)
		}
		return true
	})
	return list
}

// imbalance: some ranks compute longer than others on one path, and the others wait for them in MPI. Lost
// is what the other ranks would have to do to be as busy; they cannot wait longer than they are in MPI.
func imbalance(f *facts) *run.Finding {
	ranks := float64(f.r.Measured)
	var worst *run.Node
	var lost float64
	for _, n := range f.nodes(callgraph.KindGap) {
		if n.Loop {
			continue // around tests and probes: waiting, whatever else it looks like
		}
		excess := seconds(n.Exclusive.Max) - seconds(n.Exclusive.Sum)/ranks
		if l := excess * ranks; l > lost {
			worst, lost = n, l
		}
	}
	lost = min(lost, f.mpi)
	if worst == nil || ranks < 2 || lost/f.core < LeastShare {
		return nil
	}
	mean, most := seconds(worst.Exclusive.Sum)/ranks, seconds(worst.Exclusive.Max)
	finding := f.finding("imbalance", lost)
	slow := slowRanks(worst, mean)
	finding.Ranks = slow
	finding.Title = fmt.Sprintf("%s %s longer than the others, which wait in MPI", words.Sentence(words.Ranks(slow)), words.Plural(len(slow), "computes", "compute"))
	finding.Where, finding.Node = f.place(worst), worst.ID
	finding.Model, finding.Factor = "bulk-synchronous", "load imbalance"
	finding.Evidence = []run.Evidence{
		evidence("lost-core-time", lost/f.core, LeastShare, "share", "%.0f %% of the core time is spent waiting for it", 100*lost/f.core),
		evidence("slowest-rank", most, 0, "s", "rank %d spends %s there, ranks on average %s", worst.Exclusive.MaxRank, words.Duration(most), words.Duration(mean)),
		evidence("load-balance", f.r.Efficiency.LoadBalance, 0, "share", "load balance of the whole run is %.0f %%", 100*f.r.Efficiency.LoadBalance),
	}
	if blocked := seconds(worst.Blocked); blocked > 0.5*lost {
		finding.Evidence = append(finding.Evidence, evidence("blocked", blocked, 0, "s",
			"for %s of this time the ranks were blocked in the system (files, sleep, locks)", words.Duration(blocked)))
		finding.Advice = fmt.Sprintf("Look at what %s %s for there outside MPI: files, locks or sleeps; spread that work, or overlap it.",
			words.Ranks(slow), words.Plural(len(slow), "waits", "wait"))
	} else {
		finding.Advice = fmt.Sprintf("Give %s less of the work between these calls, or distribute it by measured cost; if the work is equal, compare the cores %s on.",
			words.Ranks(slow), words.Plural(len(slow), "it runs", "they run"))
	}
	if f.crowded {
		finding.Confidence = "medium"
	}
	return finding
}

// slowRanks are those whose time lies nearer to the slowest's than to the mean.
func slowRanks(n *run.Node, mean float64) []int {
	limit := (seconds(n.Exclusive.Max) + mean) / 2
	var list []int
	for _, r := range n.PerRank {
		if seconds(r.Exclusive) >= limit {
			list = append(list, int(r.Rank))
		}
	}
	return list
}

// polling: tests and probes that find nothing.
func polling(f *facts) *run.Finding {
	var calls, hits uint64
	var time float64
	var worst *run.Node
	for _, n := range f.nodes(callgraph.KindGap) {
		if n.Loop {
			time += seconds(n.Exclusive.Sum)
		}
	}
	for _, n := range f.nodes(callgraph.KindMPI) {
		if n.Op != event.OpTest.String() || n.Calls == nil {
			continue
		}
		calls += n.Calls.N
		hits += n.Hits
		time += seconds(n.Exclusive.Sum)
		if worst == nil || n.Exclusive.Sum > worst.Exclusive.Sum {
			worst = n
		}
	}
	rate := float64(calls) / (seconds(f.r.WallNs) * float64(f.r.Measured))
	misses := 1 - float64(hits)/float64(max(calls, 1))
	if worst == nil || time/f.core < LeastShare || misses < PollMisses || rate < PollRate {
		return nil
	}
	finding := f.finding("polling", time)
	finding.Title = "Ranks ask over and over whether a message has come"
	finding.Where, finding.Node = f.place(worst), worst.ID
	finding.Model, finding.Factor = "any", "polling"
	finding.Evidence = []run.Evidence{
		evidence("time-in-tests", time/f.core, LeastShare, "share", "%.0f %% of the core time is spent in tests and probes, and between them", 100*time/f.core),
		evidence("misses", misses, PollMisses, "share", "%s of %s found nothing", words.Percent(misses), words.Count(calls, "call", "calls")),
		evidence("test-rate", rate, PollRate, "1/s", "%s per second and rank", words.Count(uint64(rate), "call", "calls")),
	}
	finding.Advice = "Wait instead (MPI_Wait, MPI_Waitany, MPI_Probe) where there is nothing else to do; where there is, do more of it between two tests."
	return finding
}

// tinyMessages: many messages whose time is latency. It may be paid where they are sent, received or waited
// for; what is spent waiting for slow ranks is not theirs.
func tinyMessages(f *facts) *run.Finding {
	var messages, tiny uint64
	time := -f.explained
	var worst *run.Node
	for _, n := range f.nodes(callgraph.KindMPI) {
		op := event.ParseOp(n.Op)
		if op.Sends() || op == event.OpRecv || op == event.OpWait {
			time += seconds(n.Exclusive.Sum - min(n.OffCore, n.Exclusive.Sum))
		}
		if !op.Sends() {
			continue
		}
		for _, s := range n.Sizes {
			messages += s.Calls
			if s.Below <= TinyBytes {
				tiny += s.Calls
			}
		}
		if n.Calls != nil && (worst == nil || n.Calls.N > worst.Calls.N) {
			worst = n
		}
	}
	part := float64(tiny) / float64(max(messages, 1))
	time *= part
	rate := float64(tiny) / (seconds(f.r.WallNs) * float64(f.r.Measured))
	if worst == nil || time/f.core < LeastShare || part < TinyPart || rate < TinyRate {
		return nil
	}
	finding := f.finding("tiny-messages", time)
	finding.Title = "Many tiny messages: the time goes into latency"
	finding.Where, finding.Node = f.place(worst), worst.ID
	finding.Model, finding.Factor = "any", "latency-bound messages"
	finding.Evidence = []run.Evidence{
		evidence("time-in-tiny-messages", time/f.core, LeastShare, "share", "%.0f %% of the core time is spent sending, receiving and waiting for them", 100*time/f.core),
		evidence("tiny-part", part, TinyPart, "share", "%s of %s carry less than 1 KiB", words.Percent(part), words.Count(messages, "message", "messages")),
		evidence("tiny-rate", rate, TinyRate, "1/s", "%s per second and rank", words.Count(uint64(rate), "message", "messages")),
	}
	finding.Advice = "Send fewer, larger messages: pack what goes to the same rank into one, or exchange every few steps; a derived datatype saves the copying."
	return finding
}

// dominantCollective: one collective call takes most of the time in MPI, and not because ranks come late.
func dominantCollective(f *facts) *run.Finding {
	if f.crowded {
		return nil
	}
	var worst *run.Node
	for _, n := range f.nodes(callgraph.KindMPI) {
		if event.ParseOp(n.Op).Collective() && (worst == nil || n.Exclusive.Sum > worst.Exclusive.Sum) {
			worst = n
		}
	}
	if worst == nil {
		return nil
	}
	time := seconds(worst.Exclusive.Sum)
	if time/f.core < CollectiveShare || time < CollectiveShareOfMPI*f.mpi || f.explained > Explained*time {
		return nil
	}
	bytes := float64(worst.Out+worst.In) / float64(worst.Calls.N)
	finding := f.finding("dominant-collective", time)
	finding.Title = fmt.Sprintf("%s alone takes %.0f %% of the core time", worst.Name, 100*time/f.core)
	finding.Where, finding.Node = f.place(worst), worst.ID
	finding.Model, finding.Factor = "bulk-synchronous", "cost of a collective operation"
	finding.Evidence = []run.Evidence{
		evidence("time-in-collective", time/f.core, CollectiveShare, "share", "%s in %s on %d ranks", words.Duration(time), words.Count(worst.Calls.N, "call", "calls"), worst.Exclusive.N),
		evidence("part-of-mpi", time/f.mpi, CollectiveShareOfMPI, "share", "%.0f %% of the time in MPI", 100*time/f.mpi),
		evidence("mean-call", worst.Calls.Mean/1e9, 0, "s", "%s per call on average, %s per call and rank", words.Duration(worst.Calls.Mean/1e9), words.Size(bytes)),
	}
	if bytes <= TinyBytes {
		finding.Advice = "Combine several of these calls into one with a longer vector, make them less often, or use the non-blocking form and compute meanwhile."
	} else {
		finding.Advice = "Move fewer bytes (does every rank need all of them?), or use the non-blocking form and compute meanwhile."
	}
	finding.Confidence = "medium"
	return finding
}

// timeInMPI: what no other finding explains.
func timeInMPI(f *facts) *run.Finding {
	if f.crowded || f.mpi/f.core < MPIShare || f.explained > Explained*f.mpi {
		return nil
	}
	var point, collective, other float64
	var worst *run.Node
	for _, n := range f.nodes(callgraph.KindMPI) {
		time := seconds(n.Exclusive.Sum)
		switch op := event.ParseOp(n.Op); {
		case op.Collective():
			collective += time
		case op.PointToPoint():
			point += time
		default:
			other += time
		}
		if worst == nil || n.Exclusive.Sum > worst.Exclusive.Sum {
			worst = n
		}
	}
	finding := f.finding("time-in-mpi", f.mpi)
	finding.Title = fmt.Sprintf("%.0f %% of the core time is spent in MPI", 100*f.mpi/f.core)
	finding.Where, finding.Node = f.place(worst), worst.ID
	finding.Model, finding.Factor = "any", "communication cost"
	finding.Evidence = []run.Evidence{
		evidence("time-in-mpi", f.mpi/f.core, MPIShare, "share", "point to point %.0f %%, collective %.0f %%, other calls %.0f %% of the core time",
			100*point/f.core, 100*collective/f.core, 100*other/f.core),
		evidence("largest-call", seconds(worst.Exclusive.Sum)/f.core, 0, "share", "%.0f %% of the core time in the largest call", 100*seconds(worst.Exclusive.Sum)/f.core),
	}
	switch {
	case point >= collective && point >= other:
		finding.Advice = "Start receives before the matching sends and compute before waiting; check that neighbours send at the same time."
	case collective >= other:
		finding.Advice = "Make fewer collective calls, on fewer ranks, or start them early in their non-blocking form."
	default:
		finding.Advice = "Look at the functions below: files, windows or communicators may be made more often than needed."
	}
	finding.Confidence = "medium"
	return finding
}

// place is a node's call path for people.
func (f *facts) place(n *run.Node) string {
	if f.paths == nil {
		f.paths = f.r.Paths()
	}
	return f.paths.Path(n)
}
