package diagnosis

import (
	"fmt"
	"slices"

	"marple/analysis/run"
	"marple/analysis/words"
)

// waitFacts say of a pattern what it means, for a finding. together: all wait for the slowest, which is what the
// imbalance rule says as well.
var waitFacts = map[string]struct {
	title, model, factor, advice string
	together                     bool
}{
	"late-sender": {"%s %s for messages that %s %s late", "any", "late sender",
		"Send earlier: move the send before the work on the delaying path, shorten that work, or let the receiver do " +
			"other work first (MPI_Irecv, MPI_Wait later).", false},
	"late-sender-wrong-order": {"%s %s for late messages of %s although others have come (%s)", "any", "messages in wrong order",
		"Receive in the order in which messages come (MPI_Waitany, MPI_ANY_SOURCE), or send in the order of the receives.", false},
	"late-receiver": {"%s %s to send because %s %s the receive late", "any", "late receiver",
		"Post the receive earlier (MPI_Irecv before the work), or send without waiting (MPI_Isend, and MPI_Wait later).", false},
	"early-reduce": {"%s %s in a collective that collects at it for %s, which %s late", "any", "early reduce",
		"Let the root do other work first, use the non-blocking form, or balance what the others do before.", false},
	"late-broadcast": {"%s %s for the root %s, which %s late", "any", "late broadcast",
		"Let the root broadcast as soon as the data exist, or use MPI_Ibcast and wait later.", false},
	"early-scan": {"%s %s in a scan for %s, which %s late", "any", "early scan",
		"Balance the work before the scan; lower ranks should not be the slow ones.", false},
	"wait-at-barrier": {"%s %s at barriers for %s, which %s late", "bulk-synchronous", "wait at barrier",
		"Is the barrier needed? If it is, balance the work before it.", true},
	"wait-at-nxn": {"%s %s in collective calls for %s, which %s late", "bulk-synchronous", "wait at N×N",
		"Balance the work before the call, or use the non-blocking form and compute meanwhile.", true},
	"wait-at-fence": {"%s %s at fences for %s, which %s late", "any", "wait at fence",
		"Balance the work before the fence, or synchronise only the ranks concerned (MPI_Win_post, MPI_Win_start).", true},
	"wait-at-creation": {"%s %s while communicators or windows are made for %s, which %s late", "any", "wait at creation",
		"Make communicators and windows once, at the start.", true},
	"wait-at-finalize": {"%s %s at the end for %s, which %s later", "any", "wait at the end",
		"Balance the last phase: the others have nothing left to do.", true},
}

// waitStates: what ranks wait for each other, by the pattern that costs most; `marple waits` has them all.
func waitStates(f *facts, imbalanced bool) []run.Finding {
	w := f.r.Waits
	if w == nil {
		return nil
	}
	var list []run.Finding
	for _, p := range w.Patterns {
		fact, known := waitFacts[p.Pattern]
		delay, caused := mainDelay(w, p.Pattern)
		lost := min(seconds(p.Ns)*caused, f.mpi)
		if !known || lost/f.core < LeastShare || lost < LeastSeconds || fact.together && imbalanced {
			continue
		}
		site := w.Sites[slices.IndexFunc(w.Sites, func(s run.WaitSite) bool { return s.Pattern == p.Pattern })]
		waiting := mostOf(site.PerRank)
		guilty := []int{int(mainPair(w))}
		if delay != nil {
			guilty = mostOf(delay.PerRank)
		}
		finding := f.finding(p.Pattern, lost)
		late := words.Plural(len(guilty), "comes", "come")
		switch p.Pattern {
		case "late-sender":
			late = words.Plural(len(guilty), "sends", "send")
		case "late-receiver":
			late = words.Plural(len(guilty), "posts", "post")
		case "late-sender-wrong-order":
			late = "wrong order"
		}
		finding.Title = fmt.Sprintf(fact.title, words.Sentence(words.Ranks(waiting)),
			words.Plural(len(waiting), "waits", "wait"), words.Ranks(guilty), late)
		finding.Ranks = guilty
		finding.Where, finding.Node = site.Where, site.Node
		finding.Model, finding.Factor, finding.Advice = fact.model, fact.factor, fact.advice
		finding.Evidence = []run.Evidence{
			evidence("waiting", lost/f.core, LeastShare, "share", "%.0f %% of the core time is spent waiting so, in %s",
				100*lost/f.core, words.Count(p.Instances, "call", "calls")),
		}
		if delay != nil {
			all := seconds(delay.Direct + delay.Passed)
			finding.Evidence = append(finding.Evidence, evidence("delay", all, 0, "s",
				"caused by %s on %s: %s of the waiting, %s of it passed on through other ranks",
				delay.Where, words.Ranks(guilty), words.Duration(all), words.Duration(seconds(delay.Passed))))
		}
		if f.crowded {
			finding.Confidence = "medium"
		}
		f.explained += lost
		if len(list) == 0 || finding.Seconds > list[0].Seconds {
			list = []run.Finding{*finding}
		}
	}
	return list
}

// mainDelay is the most expensive cause of a pattern's waits that the program can do something about, and the part
// of them for which there is any: that a rank had no core is not the program's doing.
func mainDelay(w *run.Waits, pattern string) (main *run.DelaySite, caused float64) {
	var all, coreless uint64
	for i := range w.Delays {
		d := &w.Delays[i]
		if d.Pattern != pattern {
			continue
		}
		all += d.Direct + d.Passed
		if d.Node == "" {
			coreless += d.Direct + d.Passed
		} else if main == nil {
			main = d
		}
	}
	if all == 0 {
		return main, 1
	}
	return main, float64(all-coreless) / float64(all)
}

// mainPair is the rank that was waited for longest.
func mainPair(w *run.Waits) int32 {
	if len(w.Pairs) == 0 {
		return 0
	}
	return w.Pairs[0].For
}

// mostOf are the ranks that have at least half as much as the first.
func mostOf(list []run.WaitRank) []int {
	var ranks []int
	for _, r := range list {
		if 2*r.Ns >= list[0].Ns {
			ranks = append(ranks, int(r.Rank))
		}
	}
	slices.Sort(ranks)
	return ranks
}
