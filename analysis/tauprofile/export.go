package tauprofile

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"marple/analysis/callgraph"
	"marple/analysis/record"
	"marple/analysis/run"
)

// mostDepth bounds call paths, in both directions: every row names all functions of its path.
const mostDepth = 1000

// Write writes a run as profiles into a directory that exists: one file per rank, another for its other threads
// together, and all of that per metric where the run has others than time. The sizes of single messages are not
// known: that of all is the mean.
func Write(r *run.Run, directory string) error {
	if r.Root() == nil {
		return errEmpty
	}
	metrics, err := metricsOf(r)
	if err != nil {
		return err
	}
	directories := []string{directory}
	if len(metrics) > 1 {
		directories = directories[:0]
		for _, m := range metrics {
			d := filepath.Join(directory, "MULTI__"+metricPart(m))
			if slices.Contains(directories, d) {
				return fmt.Errorf("two metrics would be %s", d)
			}
			if err := os.Mkdir(d, 0o777); err != nil {
				return err
			}
			directories = append(directories, d)
		}
	}
	w := &writer{r: r, metrics: metrics, directories: directories}
	for i := range r.PerRank {
		for thread, root := range r.CallGraph[:min(len(r.CallGraph), 2)] {
			if err := w.profile(&r.PerRank[i], thread, root); err != nil {
				return err
			}
		}
	}
	return nil
}

// metricsOf a run: the time first, then those of its nodes.
func metricsOf(r *run.Run) ([]string, error) {
	metrics := []string{"TIME"}
	for _, root := range r.CallGraph {
		deep := false
		root.Walk(func(n *run.Node, depth int) bool {
			deep = deep || depth > mostDepth
			for _, m := range n.Metrics {
				if !slices.Contains(metrics, m.Name) {
					metrics = append(metrics, m.Name)
				}
			}
			return !deep
		})
		if deep {
			return nil, fmt.Errorf("call paths deeper than %d are no use to TAU's tools", mostDepth)
		}
	}
	slices.Sort(metrics[1:])
	return metrics, nil
}

// profile writes the files of a rank's thread, one for each metric; none of other threads that did nothing.
func (w *writer) profile(b *run.RankBalance, thread int, root *run.Node) error {
	rows := w.thread(root, b, thread)
	if thread > 0 && len(rows) == 1 {
		return nil
	}
	for m, metric := range w.metrics {
		f := &File{Metric: metric, Metadata: w.metadata(b), Timers: make([]Timer, len(rows))}
		for i, t := range rows {
			f.Timers[i] = t.of(m)
		}
		if thread == 0 {
			f.Events = w.events(b)
		}
		if err := write(f, filepath.Join(w.directories[m], location{b.Rank, 0, thread}.file())); err != nil {
			return err
		}
	}
	return nil
}

func write(f *File, path string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := f.Write(file); err != nil {
		file.Close()
		return err
	}
	return file.Close()
}

type writer struct {
	r                    *run.Run
	metrics, directories []string
}

// timer is a Timer of all metrics.
type timer struct {
	Timer
	exclusive, inclusive []float64
}

func (t *timer) of(metric int) Timer {
	t.Exclusive, t.Inclusive = t.exclusive[metric], t.inclusive[metric]
	if metric == 0 { // sums of whole nanoseconds
		t.Exclusive, t.Inclusive = math.Round(t.Exclusive*1000)/1000, math.Round(t.Inclusive*1000)/1000
	}
	return t.Timer
}

// thread gives the rows of one rank's tree: the root, whose values readers want whole, then functions, then call
// paths.
func (w *writer) thread(root *run.Node, b *run.RankBalance, thread int) []*timer {
	all := &timer{Timer: Timer{Path: []Step{{Name: application}}, Calls: 1, Groups: []string{"TAU_DEFAULT"}}}
	var paths []*timer
	var visit func(n *run.Node, t *timer, has bool) bool
	visit = func(n *run.Node, t *timer, has bool) bool {
		t.exclusive = w.exclusive(n, b.Rank)
		t.inclusive = slices.Clone(t.exclusive)
		for _, c := range n.Children {
			below := &timer{Timer: Timer{Path: append(slices.Clip(t.Path), step(c)), Groups: groupsOf(c)}}
			at := len(paths)
			paths = append(paths, below)
			on := w.r.On(c, int32(b.Rank))
			below.Calls = float64(on.Calls)
			here := slices.ContainsFunc(c.PerRank, func(x run.RankTime) bool { return int(x.Rank) == b.Rank }) || on != (run.RankTime{Rank: on.Rank})
			if !visit(c, below, here) {
				paths = paths[:at]
				continue
			}
			has = true
			if c.Calls == nil {
				below.Calls, below.Groups = 0, append(below.Groups, callsUnknown)
			}
			t.Subroutines += below.Calls
			for m, x := range below.inclusive {
				t.inclusive[m] += x
			}
		}
		return has
	}
	if !visit(root, all, false) {
		return []*timer{all}
	}
	if thread == 0 && b.InitNs > 0 {
		init := &timer{Timer: Timer{Path: []Step{{Name: application}, {Name: "MPI_Init()"}}, Calls: 1, Groups: []string{"MPI", callPath}}}
		init.exclusive = make([]float64, len(w.metrics))
		init.exclusive[0] = float64(b.InitNs) / 1000
		init.inclusive = init.exclusive
		paths = append(paths, init)
		all.inclusive[0] += init.inclusive[0]
		all.Subroutines++
	}
	for m := range all.inclusive {
		all.exclusive[m], all.inclusive[m] = math.Round(all.exclusive[m]), math.Round(all.inclusive[m])
	}
	return append(append([]*timer{all}, flat(paths)...), paths...)
}

// flat adds up call paths by function. Of a function that calls itself, only the outermost call's time counts.
func flat(paths []*timer) (list []*timer) {
	index := map[string]*timer{}
	for _, p := range paths {
		leaf := p.Path[len(p.Path)-1]
		k := leaf.text()
		t := index[k]
		if t == nil {
			t = &timer{Timer: Timer{Path: []Step{leaf}}, exclusive: make([]float64, len(p.exclusive)), inclusive: make([]float64, len(p.exclusive))}
			t.Groups = slices.DeleteFunc(slices.Clone(p.Groups), func(g string) bool { return g == callPath })
			index[k] = t
			list = append(list, t)
		}
		t.Calls += p.Calls
		t.Subroutines += p.Subroutines
		outermost := !slices.Contains(p.Path[:len(p.Path)-1], leaf)
		for m, x := range p.exclusive {
			t.exclusive[m] += x
			if outermost {
				t.inclusive[m] += p.inclusive[m]
			}
		}
	}
	return list
}

func (w *writer) exclusive(n *run.Node, rank int) []float64 {
	values := make([]float64, len(w.metrics))
	values[0] = float64(w.r.On(n, int32(rank)).Exclusive) / 1000
	for i := range n.Metrics {
		m := &n.Metrics[i]
		values[slices.Index(w.metrics, m.Name)] = w.r.OnMetric(n, m, int32(rank)).Exclusive
	}
	return values
}

// step names a node as TAU does: MPI_Send() [{halo.c} {33}].
func step(n *run.Node) Step {
	s := Step{Name: n.Name, File: n.File, Line: n.Line}
	if n.Kind == callgraph.KindMPI.String() {
		s.Name += "()"
	}
	if n.Line <= 0 {
		s.File, s.Line = n.Site, 0
	}
	return s
}

func groupsOf(n *run.Node) []string {
	kind, list := callgraph.ParseKind(n.Kind), []string{"TAU_USER"}
	for _, g := range groups {
		if g.kind == kind && g.loop == n.Loop {
			list = []string{g.group}
		}
	}
	return append(list, callPath)
}

func (w *writer) metadata(b *run.RankBalance) []Attribute {
	r := w.r
	cores := 0
	for _, h := range r.Hosts {
		if h.Name == b.Host {
			cores = h.Cores
		}
	}
	var parameters []string
	for name, x := range r.Parameters {
		parameters = append(parameters, fmt.Sprintf("%s=%s", name, strconv.FormatFloat(x, 'g', -1, 64)))
	}
	slices.Sort(parameters)
	list := []Attribute{
		{attributeProgram, r.Program}, {attributeHost, b.Host},
		{attributeStarted, fmt.Sprint(r.Started.UnixMicro())},
		{attributeRanks, fmt.Sprint(r.Ranks)}, {attributeCores, fmt.Sprint(cores)}, {attributeThreads, fmt.Sprint(b.Threads)},
		{attributeEnded, b.Ended}, {attributeAbort, nonzero(uint64(b.Abort))}, {attributeError, b.Error}, {attributeClocks, strings.Join(r.Clocks, ",")},
		{attributeLevel, r.ThreadLevel}, {attributeFamily, r.MPI.Family}, {attributeLibrary, r.MPI.Library},
		{attributeParameter, strings.Join(parameters, ",")}, {attributeTimeBase, r.TimeBase()},
	}
	for _, f := range figures {
		list = append(list, Attribute{f.name, nonzero(f.of(b))})
	}
	list = append(list, Attribute{attributeTraffic, asJSON(b.Traffic)}, Attribute{attributeFileUse, asJSON(b.Files)})
	if b == &r.PerRank[0] {
		list = append(list, Attribute{attributeFiles, asJSON(r.Files)})
	}
	for _, m := range r.Metadata {
		if (int(m.Rank) == b.Rank || m.Same && m.Ranks >= uint64(len(r.PerRank))) && !isOwn(m.Name) {
			list = append(list, Attribute{m.Name, m.Value})
		}
	}
	if len(r.AtomicEvents) > 0 && b == &r.PerRank[0] {
		list = append(list, Attribute{attributeAtomic, "of all ranks together, but for the sizes of messages"})
	}
	if r.Estimated() {
		list = append(list, Attribute{attributeNote, "of each call path the shares of the busiest ranks are known; those of all others are the mean of what is left"})
	}
	return slices.DeleteFunc(list, func(a Attribute) bool { return a.Value == "" })
}

// asJSON writes something as it stands in run.json; nothing, if it is not there.
func asJSON[T any](x *T) string {
	if x == nil {
		return ""
	}
	text, err := json.Marshal(x)
	if err != nil {
		return ""
	}
	return string(text)
}

func nonzero(x uint64) string {
	if x == 0 {
		return ""
	}
	return fmt.Sprint(x)
}

// events are the messages of a rank, whose sizes all count as the mean where no others are known; and in the first file what all ranks
// together reported.
func (w *writer) events(b *run.RankBalance) (list []Event) {
	add := func(name string, n, bytes, least, most uint64) {
		if n > 0 {
			mean := float64(bytes) / float64(n)
			e := Event{name, float64(n), mean, mean, mean, float64(n) * mean * mean}
			if least < most {
				e.Min, e.Max = float64(least), float64(most)
			}
			list = append(list, e)
		}
	}
	add(sentToAll, b.Sent, b.SentBytes, b.SentLeast, b.SentMost)
	add(receivedFromAll, b.Received, b.ReceivedBytes, b.ReceivedLeast, b.ReceivedMost)
	if b == &w.r.PerRank[0] {
		for _, a := range w.r.AtomicEvents {
			v, n := a.Values, float64(a.Values.N)
			list = append(list, Event{a.Name, n, v.Max, v.Min, v.Mean, n * (v.Mean*v.Mean + v.Deviation*v.Deviation)})
		}
	}
	for _, p := range w.r.Peers {
		if p.Rank != b.Rank {
			continue
		}
		for d, x := range [4][4]uint64{record.Sent: {p.Sent, p.SentBytes, p.SentLeast, p.SentMost},
			record.Received: {p.Received, p.ReceivedBytes, p.ReceivedLeast, p.ReceivedMost},
			record.Put:      {p.Puts, p.PutBytes}, record.Got: {p.Gets, p.GetBytes}} {
			add(directions[d]+fmt.Sprint(p.To), x[0], x[1], x[2], x[3])
		}
	}
	return list
}
