// Package report shows a run to people: the text printed when a program ends, in short or whole, and other texts.
//
// It shows what stands in the run and computes nothing new.
//
// Invariant: the text fits 80 columns, the short one 25 lines and the whole one 50; it leads with the answer, and ends
// with where the details are and what was not seen.
package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"marple/analysis/callgraph"
	"marple/analysis/run"
	"marple/analysis/words"
)

const (
	width        = 80
	mostFindings = 3 // more are counted; the first is what a reader will act on
	mostRows     = 5 // of each table
	mostNotes    = 3
	mostReported = 3
	mostLines    = 42
	longest      = 50 // lines of the whole report, whatever the run
	shortest     = 25 // lines of the short one

	// Lines that follow, mostly: what comes first may take the rest.
	belowPaths     = 11
	belowFunctions = 18
	belowFindings  = 22
)

// Full is the whole report, with its tables. directory is where the details are; empty if they are nowhere. What makes
// it longer than 50 lines is left to the details: rows of tables, further findings and notes.
func Full(r *run.Run, directory string) string {
	return fitting(longest, mostRows, "more in the details", func(less int) string { return whole(r, directory, less) })
}

// fitting gives the first of ever shorter texts that has no more lines than it may; the last one is cut, and says where
// there is more.
func fitting(lines, texts int, more string, write func(less int) string) (text string) {
	for less := range texts {
		if text = write(less); strings.Count(text, "\n") <= lines {
			return text
		}
	}
	return strings.Join(strings.SplitAfter(text, "\n")[:lines-1], "") + "… " + more + "\n"
}

// whole is the report with fewer rows of each table, findings and notes than there may be.
func whole(r *run.Run, directory string, less int) string {
	w := &writer{r: r, less: less}
	w.head()
	w.rule("")
	w.lead()
	w.findings()
	w.conditions()
	w.efficiency()
	w.waits()
	w.exchanged() // answers come before tables, which may be cut
	w.selection()
	w.functions()
	w.sites()
	w.communication()
	w.files()
	w.reported()
	w.counters()
	w.line("")
	w.design(directory)
	w.details(directory)
	w.notSeen()
	return w.String()
}

type writer struct {
	strings.Builder
	r    *run.Run
	less int // rows, findings and notes than there may be; one of each stays
}

// most is how many of something are told, of so many that may be.
func (w *writer) most(many int) int { return max(1, many-w.less) }

// room is how many lines may be written before so many others.
func (w *writer) room(below int) int { return mostLines - below - strings.Count(w.String(), "\n") }

func (w *writer) line(format string, arguments ...any) {
	text := strings.TrimRight(words.Clean(fmt.Sprintf(format, arguments...)), " ")
	w.WriteString(words.Fit(text, width) + "\n")
}

// row writes columns and a last one that gets what room is left.
func (w *writer) row(last, format string, columns ...any) {
	text := fmt.Sprintf(format, columns...)
	w.line("%s%s", text, words.Fit(last, width-words.Width(text)))
}

// block writes a text wrapped at the right margin, with a hanging first line.
func (w *writer) block(first, rest, text string) {
	for i, line := range words.Wrap(text, width-words.Width(rest)) {
		if i == 0 {
			w.line("%s%s", first, line)
		} else {
			w.line("%s%s", rest, line)
		}
	}
}

func (w *writer) head() {
	r := w.r
	w.notes("Marple: ", run.Note.Singleton)
	w.notes("Marple: ", run.Note.Failed)
	cores := 0
	for _, h := range r.Hosts {
		cores += h.Cores
	}
	with := ""
	if cores > 0 { // unknown in profiles of other tools
		with = " with " + words.Count(uint64(cores), "core", "cores")
	}
	w.line("Marple: %s, %s on %s%s, %s", r.Program, words.Count(uint64(r.Ranks), "rank", "ranks"),
		words.Count(uint64(len(r.Hosts)), "host", "hosts"), with, words.Duration(float64(r.WallNs)/1e9))
}

// rule draws a line across, with a text in it near its end.
func (w *writer) rule(text string) {
	if text != "" {
		text = " " + text + " ─"
	}
	w.line("%s%s", strings.Repeat("─", width-words.Width(text)), text)
}

func (w *writer) findings() {
	w.each(w.r.Findings, false)
	w.mayBe(w.r.MayBe)
}

// mostMayBe doubtful findings are named.
const mostMayBe = 2

// mayBe names what may hold the run back, or not at all.
func (w *writer) mayBe(findings []run.Finding) {
	for i, f := range findings {
		if i == mostMayBe {
			break
		}
		w.block("May be: ", "        ", fmt.Sprintf("%s (%s).", f.Title, f.Doubt()))
	}
}

// each writes findings, all of them or as many as fit the report.
func (w *writer) each(findings []run.Finding, all bool) {
	if len(findings) == 0 {
		w.nothing()
		return
	}
	for i, f := range findings {
		one := &writer{r: w.r}
		one.finding(i+1, f, len(f.Evidence))
		if !all && (i == w.most(mostFindings) || i > 0 && w.room(belowFindings) < strings.Count(one.String(), "\n")) {
			w.line("%d more in the details.", len(findings)-i)
			break
		}
		w.WriteString(one.String())
	}
	w.joint()
}

// joint says what the first findings would bring together.
func (w *writer) joint() {
	if j := w.r.JointGain; j != nil {
		w.line("The first %s together: %s.", words.Number(uint64(j.Findings)), j.Text())
	}
}

// nothing says that there are no findings, and how sure that is.
func (w *writer) nothing() {
	if w.leads() || slices.ContainsFunc(w.r.Conditions, func(c run.Note) bool { return c.Failed() || c.Singleton() || c.Hangs() || c.Incomplete() }) {
		w.line("Nothing else stands out.")
	} else if a := w.r.Efficiency.CoreAvailability; a > 0 && a < enoughCores && w.r.WithCores == nil {
		w.line("No significant problem that could be told from the lack of cores.")
	} else {
		w.line("No significant problem.")
	}
}

// finding writes a finding with so many pieces of its evidence.
func (w *writer) finding(number int, f run.Finding, evidence int) {
	w.title(number, f)
	w.gain(f)
	w.place(f)
	for j, e := range f.Evidence[:min(evidence, len(f.Evidence))] {
		first := "   seen    "
		if j > 0 {
			first = "           "
		}
		w.block(first, "           ", e.Text)
	}
	w.block("   advice  ", "           ", f.Advice)
}

func (w *writer) title(number int, f run.Finding) {
	w.block(fmt.Sprintf("%d. ", number), "   ", fmt.Sprintf("%s (%s, %s).", f.Title, words.Percent(f.Share), words.Duration(f.Seconds)))
}

func (w *writer) gain(f run.Finding) {
	if text := f.Gain.Text(); text != "" {
		w.block("   gain    ", "           ", text)
	}
	for i := range f.Instead {
		if text := f.Instead[i].Text(); text != "" {
			w.block("           ", "           ", text)
		}
	}
}

func (w *writer) place(f run.Finding) {
	if f.Where != "" {
		w.block("   where   ", "           ", f.Where)
	}
}

// enoughCores is from when on waiting in MPI is told from waiting for ranks without a core; see the general model.
const enoughCores = 0.9

// worthTelling is the least share of core time that no finding explains and that is told.
const worthTelling = 0.01

// told is the shortest interruption that is told, ns: a tenth of a millisecond.
const told = 100_000

// fewCores is how much of the time ranks must have had cores for anything else to be the first thing to say.
const fewCores = 0.8

// judged is how much of the time ranks must have had cores for a run to be judged.
const judged = 0.5

// starved says that nothing can be judged, and how to run the program so that it can.
func (w *writer) starved() {
	if a := w.r.Efficiency.CoreAvailability; a == 0 || a >= judged {
		return
	}
	cores, ranks := 0, w.r.Ranks
	for _, h := range w.r.Hosts {
		cores += h.Cores
	}
	known := ""
	if w.r.WithCores != nil {
		known = " What follows is what a replay with a core for each rank finds."
	}
	alone := ""
	if cores >= ranks {
		alone = ", while nothing else runs on these cores"
	}
	w.block("", "", fmt.Sprintf("Ranks had a core less than half of the time: nothing can be judged.%s Run it so%s:", known, alone))
	w.command(max(1, min(cores, ranks)))
}

// command writes how the program is measured again, on so many ranks. A word that is wider than the page stays whole.
func (w *writer) command(ranks int) {
	const indent = "    "
	line := fmt.Sprintf("%smpirun -n %d marple exec", indent, ranks)
	for _, word := range w.r.CommandLine() {
		if word = words.Shell(word); words.Width(line)+words.Width(word) > width-len(` \ `) {
			w.WriteString(words.Clean(line) + " \\\n")
			line = indent + "   "
		}
		line += " " + word
	}
	w.WriteString(words.Clean(line) + "\n")
}

// leads tells whether the lack of cores is the first thing to say: waiting in MPI is then mostly for ranks without one.
func (w *writer) leads() bool {
	e := w.r.Efficiency
	return e.CoreAvailability > 0 && e.CoreAvailability < fewCores && slices.ContainsFunc(w.r.Conditions, run.Note.OnCores)
}

func (w *writer) lead() {
	w.notes("", run.Note.Incomplete)
	w.notes("", run.Note.Hangs)
	w.starved()
	if w.leads() {
		w.notes("", run.Note.OnCores)
	}
}

func (w *writer) conditions() {
	w.notes("Note: ", func(c run.Note) bool {
		return !c.Failed() && !c.Singleton() && !c.Incomplete() && !c.Hangs() && (!w.leads() || !c.OnCores())
	})
}

func (w *writer) notes(title string, which func(c run.Note) bool) {
	for _, c := range w.r.Conditions {
		if which(c) {
			w.block(title, strings.Repeat(" ", len(title)), c.Text+".")
		}
	}
}

func (w *writer) efficiency() {
	e, c := w.r.Efficiency, w.r.Core
	w.line("")
	w.line("Efficiency   %s", parallel(e))
	if e.Transfer > 0 {
		first := ""
		if e.Replayed < 0.99 {
			first = fmt.Sprintf(" (of the first %s)", words.Percent(e.Replayed))
		}
		w.block("             ", "             ", fmt.Sprintf("communication %s = serialization %s × transfer %s%s", communication(e), words.Percent(e.Serialization), words.Percent(e.Transfer), first))
	}
	counted := c.Wall - min(c.Wall, c.OffCore+c.Waited+c.Paused+c.Own)
	mpi := ""
	if c.MPI > 0 {
		mpi = ", MPI " + words.Percent(part(c.MPI-min(c.MPI, c.Waited), counted))
	}
	w.line("Core time    useful %s%s", words.Percent(part(c.Useful, counted)), mpi)
	parts := []string{}
	for _, p := range []struct {
		name string
		ns   uint64
	}{{"waiting for a core", c.OffCore + c.Waited}, {"recording off", c.Paused}, {"Marple", c.Own}} {
		if p.ns*1000 >= c.Wall && p.ns > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", p.name, words.Percent(part(p.ns, c.Wall))))
		}
	}
	if len(parts) > 0 {
		w.block("Not counted  ", "             ", strings.Join(parts, ", ")+" of all time")
	}
	if longest := w.r.LongestInterruption(); longest >= told {
		w.line("Interrupted  by Marple for %s at most at once", words.Duration(float64(longest)/1e9))
	}
	w.withCores("With cores   ", w.r)
	w.unexplained()
	if e := w.r.ThreadEfficiency(); e > 0 {
		w.block("OpenMP       ", "             ", fmt.Sprintf("hybrid %s = parallel %s × threads %s; parallel regions: %s",
			words.Percent(e*w.r.Efficiency.Parallel), words.Percent(w.r.Efficiency.Parallel), words.Percent(e), threads(w.r.Team)))
	}
	if cores, tell := w.r.OtherThreads(); tell {
		w.block("Threads      ", "             ", fmt.Sprintf("others than the one that calls MPI computed on %.2f cores per rank; "+
			"efficiencies and shares are of the one that does", cores))
	}
	w.memory()
	w.sampled()
}

// memory says what the processes had in memory at most, and what they moved, if that is known of each, and no row has to go for it.
func (w *writer) memory() {
	if w.less > 0 {
		return
	}
	most, others, known := w.r.Memory()
	if ranks := float64(len(w.r.PerRank)); known {
		w.block("Memory       ", "             ", fmt.Sprintf("at most %s per rank, %s of rank %d; with Marple's own",
			words.Size((others*(ranks-1)+float64(most.PeakMemory))/ranks), words.Size(float64(most.PeakMemory)), most.Rank))
	}
	w.traffic()
}

// traffic says what ranks moved by system calls, and which one most, if that is known of each.
func (w *writer) traffic() {
	read, written, calls, most := uint64(0), uint64(0), uint64(0), run.RankBalance{}
	for _, b := range w.r.PerRank {
		if b.Traffic == nil {
			return
		}
		read, written, calls = read+b.Traffic.Read, written+b.Traffic.Written, calls+b.Traffic.Reads+b.Traffic.Writes
		if most.Traffic == nil || b.Traffic.Bytes() > most.Traffic.Bytes() {
			most = b
		}
	}
	if calls == 0 {
		return
	}
	w.block("Traffic      ", "             ", fmt.Sprintf("%s read, %s written (files, pipes, sockets) in %s; %s of it by rank %d", words.Size(float64(read)),
		words.Size(float64(written)), words.Count(calls, "system call", "system calls"), words.Percent(part(most.Traffic.Bytes(), read+written)), most.Rank))
}

// unexplained says how much of what is lost no finding tells of.
func (w *writer) unexplained() {
	if l := w.r.Loss; l != nil && l.Unexplained >= worthTelling {
		w.line("Lost in MPI  %s of the core time; not explained by any finding: %s at least", words.Percent(l.Lost), words.Percent(l.Unexplained))
	}
}

// withCores says what findings are about where the run was replayed with a core for each rank.
func (w *writer) withCores(title string, r *run.Run) {
	if then := r.Replayed(); then != r {
		w.block(title, strings.Repeat(" ", len(title)), fmt.Sprintf("about %s with one for each rank, which the findings are of: %s",
			words.Duration(float64(then.WallNs)/1e9), parallel(then.Efficiency)))
	}
}

// threads tells of parallel regions.
func threads(t *run.Team) string {
	return fmt.Sprintf("%.3g threads, load balance %s", t.Size(), words.Percent(t.LoadBalance()))
}

func parallel(e run.Efficiency) string {
	return fmt.Sprintf("parallel %s = load balance %s × communication %s", words.Percent(e.Parallel), words.Percent(e.LoadBalance), communication(e))
}

func communication(e run.Efficiency) string {
	if !e.Defined {
		return "unknown"
	}
	return words.Percent(e.Communication)
}

// sampled says in which functions the useful time was spent.
func (w *writer) sampled() {
	const most = 4
	s := w.r.Sampling
	if s == nil {
		return
	}
	parts, known := []string{}, 0.0
	for i, f := range w.r.Sampled() {
		if share := part(f.Ns, w.r.Core.Useful); i < most && share >= 0.01 {
			known += share
			parts = append(parts, fmt.Sprintf("%s %s", words.Name(f.Name, 24), words.Percent(share)))
		}
	}
	if len(parts) == 0 {
		parts = append(parts, "not known")
	} else if known < 0.99 {
		parts = append(parts, "other "+words.Percent(1-known))
	}
	w.block("Computing    ", "             ", fmt.Sprintf("%s (%s at %d Hz)", strings.Join(parts, ", "),
		words.Count(s.Samples-min(s.Samples, s.Inside), "sample", "samples"), s.Hz))
}

func part(ns, of uint64) float64 { return float64(ns) / float64(max(of, 1)) }

func (w *writer) functions() {
	if len(w.r.Functions) == 0 {
		return
	}
	w.line("")
	w.line("%-28s %12s %9s %7s %9s %9s", "MPI function", "calls", "time", "share", "per call", "B/call")
	rows := min(w.most(mostRows), max(2, w.room(belowFunctions)))
	for i, f := range w.r.Functions {
		if i == rows {
			w.line("… %s", words.Count(uint64(len(w.r.Functions)-rows), "more function", "more functions"))
			break
		}
		w.line("%-28s %12s %9s %7s %9s %9s", words.Fit(f.Name, 28), words.Number(f.Calls), words.Duration(float64(f.Ns)/1e9),
			words.Percent(f.Share), mean(float64(f.Ns)/1e9, f.Calls, words.Duration), mean(float64(f.Out+f.In), f.Calls, words.Size))
	}
}

func mean(sum float64, n uint64, print func(float64) string) string {
	if n == 0 {
		return "-"
	}
	return print(sum / float64(n))
}

// sites lists the call paths on which most time was spent in MPI.
func (w *writer) sites() {
	var sites []*run.Node
	for _, root := range w.r.CallGraph {
		root.Walk(func(n *run.Node, _ int) bool {
			if n.Kind == callgraph.KindMPI.String() {
				sites = append(sites, n)
			}
			return true
		})
	}
	slices.SortStableFunc(sites, func(a, b *run.Node) int { return cmp.Compare(b.Exclusive.Sum, a.Exclusive.Sum) })
	core, paths := w.r.CoreTime(), w.r.Paths()
	if len(sites) == 0 || core == 0 {
		return
	}
	w.line("")
	w.line("%5s %11s  %9s %15s  %s", "share", "calls", "mean/rank", "most (rank)", "call path")
	rows := min(w.most(mostRows), max(1, w.room(belowPaths)/2))
	for i, n := range sites {
		if i == rows {
			w.line("… %s", words.Count(uint64(len(sites)-rows), "more call path", "more call paths"))
			break
		}
		most := fmt.Sprintf("%s (%d)", words.Duration(float64(n.Exclusive.Max)/1e9), n.Exclusive.MaxRank)
		w.row(n.LabelIn(34), "%5s %11s  %9s %15s  ", words.Percent(float64(n.Cost())/float64(core)),
			words.Number(n.Calls.N), words.Duration(float64(n.Exclusive.Sum)/1e9/float64(max(w.r.Measured, 1))), most)
		if above := paths.Steps(n)[1:]; len(above) > 0 {
			w.line("%6s%s", "", within(above, width-6))
		}
	}
}

// within writes as much of a path as there is room for.
func within(steps []string, room int) string {
	text := ""
	for i, s := range steps {
		more := " in " + words.Name(s, 48)
		if i == 0 {
			more = more[1:]
		}
		if words.Width(text)+words.Width(more) > room-2 && i > 0 {
			return strings.TrimSuffix(text, " in …") + " …"
		}
		text += more
	}
	return text
}

func (w *writer) communication() {
	var messages, bytes uint64
	var most run.Peer
	for _, p := range w.r.PerRank {
		messages += p.Sent
		bytes += p.SentBytes
	}
	for _, p := range w.r.Peers {
		if p.SentBytes > most.SentBytes {
			most = p
		}
	}
	if messages == 0 {
		return
	}
	w.line("")
	w.block("Messages     ", "             ", fmt.Sprintf("%s with %s between %s of ranks; most from rank %d to %d: %s in %s",
		words.Number(messages), words.Size(float64(bytes)), words.Count(uint64(sending(w.r)), "pair", "pairs"), most.Rank, most.To,
		words.Size(float64(most.SentBytes)), words.Count(most.Sent, "message", "messages")))
}

func (w *writer) counters() {
	var parts []string
	for _, c := range w.r.Counters {
		parts = append(parts, fmt.Sprintf("%s %s (%s)", c.Name, words.Number(c.Sum), strings.Join(c.Sources, ", ")))
	}
	if len(parts) > 0 {
		w.line("")
		w.block("Counters     ", "             ", strings.Join(parts, ", "))
	}
}

func sending(r *run.Run) int {
	n := int(r.PeersNotListed)
	for _, p := range r.Peers {
		if p.Sent > 0 {
			n++
		}
	}
	return n
}

// reported tells of values that the program reported under names of its own; TAU's sizes of messages stand in the table
// of functions.
func (w *writer) reported() {
	var parts []string
	more := 0
	for _, a := range w.r.AtomicEvents {
		switch {
		case strings.HasPrefix(a.Name, "Message size "):
		case len(parts) == mostReported:
			more++
		default:
			parts = append(parts, fmt.Sprintf("%s %s to %s, mean %s, in %s", words.Clean(words.Fit(a.Name, 40)), words.Real(a.Values.Min), words.Real(a.Values.Max),
				words.Real(a.Values.Mean), words.Count(a.Values.N, "value", "values")))
		}
	}
	if len(parts) == 0 {
		return
	}
	if more > 0 {
		parts = append(parts, fmt.Sprintf("%d more in run.json", more))
	}
	w.block("Reported     ", "             ", strings.Join(parts, "; "))
}

// mostModels are told; the others stand in the details.
const mostModels = 4

// selection tells of the implementations to take, and of the models that the choice rests on.
func (w *writer) selection() {
	if w.r.Selection == nil {
		return
	}
	w.line("")
	w.choices()
	w.models()
}

// choices names the implementations to take, and what the most important choice is worth.
func (w *writer) choices() {
	s := w.r.Selection
	if s == nil {
		return
	}
	var take, any []string
	var most run.Choice
	for _, c := range s.Choices {
		if c.Any {
			any = append(any, c.Name)
			continue
		}
		take = append(take, c.Name+": "+c.Implementation)
		if c.Next != nil && (most.Next == nil || c.Next.Costs > most.Next.Costs) {
			most = c
		}
	}
	text := words.Duration(s.Time) + " a rank expected"
	if !s.Proven {
		text += ", which is not proven to be the least"
	}
	if most.Next != nil {
		text += fmt.Sprintf("; without %s it takes %s more", most.Implementation, words.Duration(most.Next.Costs))
	}
	if len(any) > 0 {
		text += "; any will do for " + strings.Join(any, ", ")
	}
	w.block("Best choice  ", "             ", strings.TrimPrefix(strings.Join(take, ", ")+"; "+text, "; "))
}

// models are those that were fitted for a choice that matters.
func (w *writer) models() {
	const indent = "             "
	s := w.r.Selection
	fitted := slices.DeleteFunc(slices.Clone(s.Models), func(m run.CostModel) bool {
		matters := slices.ContainsFunc(s.Choices, func(c run.Choice) bool { return !c.Any && strings.HasPrefix(m.Implementation, c.Family+".") })
		return m.Samples == 0 || !matters
	})
	title := "Models       "
	for i, m := range fitted {
		if i == mostModels {
			w.block(title, indent, fmt.Sprintf("… %d more", len(fitted)-i))
			break
		}
		w.block(title, indent, m.Title()+" = "+m.Text())
		title = indent
	}
}

// follows tells whether a phase comes after another one. Ranks are not all done with it at once.
func follows(m, before run.Model) bool {
	return m.FirstNs+(before.LastNs-before.FirstNs)/10 >= before.LastNs
}

// design says which computational model the run, or each phase of it, looks like, if that could be told.
func (w *writer) design(directory string) {
	if len(w.r.Models) == 0 {
		return
	}
	text := "looks like "
	for i, m := range w.r.Models {
		switch {
		case i > 0 && m.Phase == "": // what else the whole looks like
			continue
		case i > 0 && follows(m, w.r.Models[i-1]):
			text += ", then "
		case i > 0:
			text += " and "
		}
		if m.Phase == "" {
			text += fmt.Sprintf("%s (%s, %s)", m.Name, m.Title, words.Percent(m.Confidence))
		} else {
			text += fmt.Sprintf("%s for %s of the time (in %s; %s sure)", m.Name, words.Percent(m.Share), m.Phase, words.Percent(m.Confidence))
		}
	}
	if directory != "" {
		text += "; more: marple diagnose " + directory
	}
	w.block("Design       ", "             ", text)
}

func (w *writer) details(directory string) {
	if directory != "" {
		w.block("Details      ", "             ", directory)
	} else {
		w.line("Details      not kept")
	}
}

func (w *writer) notSeen() {
	notSeen := []string{}
	for i, n := range w.r.NotSeen {
		if i == w.most(mostNotes) {
			notSeen = append(notSeen, fmt.Sprintf("%d more", len(w.r.NotSeen)-i))
			break
		}
		notSeen = append(notSeen, n.Text)
	}
	if len(notSeen) == 0 {
		notSeen = append(notSeen, "none known")
	}
	w.block("Not measured: ", "             ", strings.Join(notSeen, "; "))
}
