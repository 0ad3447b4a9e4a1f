package report

import (
	"fmt"
	"math"
	"strings"

	"marple/analysis/run"
	"marple/analysis/words"
)

// waits is what ranks waited for each other, and what caused most of it, in two lines.
func (w *writer) waits() {
	t := w.r.Waits
	wall := w.r.Core.Wall
	if t == nil || wall == 0 || t.Ns*1000 < wall {
		return
	}
	parts := []string{}
	for i, p := range t.Patterns {
		if i > 0 && (i == mostNotes || p.Ns*1000 < wall) {
			break
		}
		parts = append(parts, fmt.Sprintf("%s %s", words.WaitState(p.Pattern), words.Percent(p.Share)))
	}
	w.block("Waiting      ", "             ", strings.Join(parts, ", ")+" of all time")
	if len(t.Delays) > 0 {
		d := t.Delays[0]
		w.block("             ", "             ", fmt.Sprintf("%s of it because of rank %d: %s",
			words.Percent(float64(d.Direct+d.Passed)/float64(t.Ns)), d.PerRank[0].Rank, d.Where))
	}
}

// mostWaits of each table of WaitsText.
const mostWaits = 12

// WaitsText shows who waits, for whom, and because of what.
func WaitsText(r *run.Run) string {
	w := &writer{r: r}
	t := r.Waits
	wall := float64(max(r.Core.Wall, 1))
	for _, c := range r.Conditions {
		if c.Hangs() {
			w.block("", "", c.Text+".")
		}
	}
	w.line("Ranks waited for each other for %s, %s of their wall time.", nanoseconds(t.Ns), words.Percent(float64(t.Ns)/wall))
	if t.Ns > 0 {
		w.waitTables(t, wall)
	}
	w.critical(t)
	w.clocks(t)
	w.line("")
	w.line("From %s in %s of logs.", words.Count(t.Events, "event", "events"), words.Size(float64(t.LogBytes)))
	return w.String()
}

func nanoseconds(ns uint64) string { return words.Duration(float64(ns) / 1e9) }

// waitTables writes who waited where for whom, and what caused it, as shares of all wall time.
func (w *writer) waitTables(t *run.Waits, wall float64) {
	share := func(ns uint64) string { return words.Percent(float64(ns) / wall) }
	w.line("")
	w.line("%-26s %6s %9s %10s", "pattern", "share", "time", "instances")
	for _, p := range t.Patterns {
		w.line("%-26s %6s %9s %10s", words.WaitState(p.Pattern), share(p.Ns), nanoseconds(p.Ns), words.Number(p.Instances))
	}
	w.line("")
	w.line("%6s %9s %6s  %s", "share", "time", "rank", "waits (for)")
	for i, s := range t.Sites {
		if w.more(i, len(t.Sites)) {
			break
		}
		w.row(s.Where, "%6s %9s %6d  %s: ", share(s.Ns), nanoseconds(s.Ns), s.PerRank[0].Rank, words.WaitState(s.Pattern))
		w.row(s.ForWhere, "%24s for ", "")
	}
	w.line("")
	w.line("%6s %9s %9s %6s  %s", "share", "direct", "passed on", "rank", "caused by longer time in")
	for i, d := range t.Delays {
		if w.more(i, len(t.Delays)) {
			break
		}
		w.row(d.Where, "%6s %9s %9s %6d  %s: ", share(d.Direct+d.Passed), nanoseconds(d.Direct), nanoseconds(d.Passed), d.PerRank[0].Rank, words.WaitState(d.Pattern))
	}
	w.line("")
	w.line("%9s %6s %6s", "time", "waits", "for")
	for i, p := range t.Pairs {
		if w.more(i, len(t.Pairs)) {
			break
		}
		w.line("%9s %6d %6d", nanoseconds(p.Ns), p.Rank, p.For)
	}
}

// critical writes the critical path.
func (w *writer) critical(t *run.Waits) {
	if t.CriticalNs == 0 {
		return
	}
	w.line("")
	w.line("Critical path: %s, %s outside MPI", nanoseconds(t.CriticalNs), words.Percent(float64(t.CriticalUsefulNs)/float64(t.CriticalNs)))
	w.line("%6s %9s %6s  %s", "share", "time", "rank", "on it")
	for i, s := range t.Critical {
		if w.more(i, len(t.Critical)) {
			break
		}
		w.row(s.Where, "%6s %9s %6d  ", words.Percent(s.Share), nanoseconds(s.Ns), s.PerRank[0].Rank)
	}
}

// clocks writes by how much those of hosts differ.
func (w *writer) clocks(t *run.Waits) {
	if len(t.Clocks) == 0 {
		return
	}
	w.line("")
	w.line("%12s %12s %9s %6s  %s", "clock ahead", "drift", "known to", "ranks", "host")
	for i, c := range t.Clocks {
		if w.more(i, len(t.Clocks)) {
			break
		}
		known := "±" + nanoseconds(c.ErrorNs)
		if !c.Measured {
			known = "guessed"
		}
		ahead := words.Duration(math.Abs(float64(c.AheadNs)) / 1e9)
		if c.AheadNs < 0 {
			ahead = "-" + ahead
		}
		w.row(c.Host, "%12s %8.3f ppm %9s %6d  ", ahead, c.DriftPPM, known, c.Ranks)
	}
}

// more says what a table leaves out, once it has enough rows.
func (w *writer) more(i, n int) bool {
	if i == mostWaits {
		w.line("… %d more", n-mostWaits)
	}
	return i >= mostWaits
}
