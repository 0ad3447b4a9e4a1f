package tauprofile

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"marple/analysis/callgraph"
	"marple/analysis/profile"
	"marple/analysis/record"
	"marple/analysis/run"
	"marple/analysis/stat"
	"marple/analysis/symbol"
	"marple/analysis/words"
)

// location is a thread: its files are profile.NODE.CONTEXT.THREAD.
type location struct{ node, context, thread int }

func (l location) file() string { return fmt.Sprintf("profile.%d.%d.%d", l.node, l.context, l.thread) }

// mostNodes bounds the ranks that file names may speak of.
const mostNodes = 10_000_000

func parseLocation(name string) (l location, ok bool) {
	parts := strings.Split(name, ".")
	if len(parts) != 4 || parts[0] != "profile" {
		return l, false
	}
	for i, to := range []*int{&l.node, &l.context, &l.thread} {
		x, err := strconv.ParseUint(parts[i+1], 10, 31)
		if err != nil || x >= mostNodes {
			return l, false
		}
		*to = int(x)
	}
	return l, true
}

// set is a directory's profiles: a subdirectory per metric, or "." where there is one.
type set struct {
	directory string
	metrics   []string // directories
	threads   []location
	read      map[location][]*File // of the other formats, which hold several profiles in a file
}

func find(directory string) (*set, error) {
	s := &set{directory: directory}
	if filepath.Base(directory) == mergedFile {
		return s, s.readXML(directory)
	}
	list, err := os.ReadDir(directory)
	if err != nil {
		return nil, err
	}
	var several []string
	for _, e := range list {
		if strings.HasPrefix(e.Name(), "MULTI__") && e.IsDir() {
			s.metrics = append(s.metrics, e.Name())
		} else if l, ok := parseLocation(e.Name()); ok {
			s.threads = append(s.threads, l)
		} else if isXML(e.Name()) {
			several = append(several, filepath.Join(directory, e.Name()))
		}
	}
	if len(s.threads) > 0 {
		s.metrics = []string{"."}
	} else if len(several) > 0 {
		return s, s.readXML(several...)
	} else if len(s.metrics) > 0 {
		if list, err = os.ReadDir(filepath.Join(directory, s.metrics[0])); err != nil {
			return nil, err
		}
		for _, e := range list {
			if l, ok := parseLocation(e.Name()); ok {
				s.threads = append(s.threads, l)
			}
		}
	}
	s.sort()
	return s, nil
}

func (s *set) sort() {
	slices.SortFunc(s.threads, func(a, b location) int {
		return cmp.Or(cmp.Compare(a.node, b.node), cmp.Compare(a.context, b.context), cmp.Compare(a.thread, b.thread))
	})
}

// Holds tells whether a directory holds profiles.
func Holds(directory string) bool {
	if filepath.Base(directory) == mergedFile {
		return true
	}
	list, _ := os.ReadDir(directory)
	return slices.ContainsFunc(list, func(e os.DirEntry) bool {
		_, ok := parseLocation(e.Name())
		return ok || isXML(e.Name()) || strings.HasPrefix(e.Name(), "MULTI__") && e.IsDir()
	})
}

// Open takes what run.Read takes, or a directory of profiles, whose run has no findings yet.
func Open(path string) (*run.Run, error) {
	if _, err := os.Stat(filepath.Join(path, run.File)); err != nil && Holds(path) {
		return Read(path)
	}
	return run.Read(path)
}

// times are the metrics that are time, the best first.
var times = []string{"TIME", "Time", "GET_TIME_OF_DAY", "LINUX_TIMERS", "CLOCK_GET_TIME", "WALL_CLOCK", "P_WALL_CLOCK_TIME", "BGL_TIMERS", "BGP_TIMERS",
	"CRAY_TIMERS", "MPI_WTIME", "SGI_TIMERS", "TAU_MPI_Wtime", "CPU_TIME", "P_VIRTUAL_TIME", ""}

// files are those of a thread, the time first.
func (s *set) files(l location) ([]*File, error) {
	files := s.read[l]
	delete(s.read, l)
	for _, m := range s.metrics {
		f, err := parseFile(filepath.Join(s.directory, m, l.file()))
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s: no profile of thread %s", s.directory, l.file())
	}
	rank := func(f *File) int {
		if at := slices.Index(times, f.Metric); at >= 0 {
			return at
		}
		return len(times)
	}
	slices.SortStableFunc(files, func(a, b *File) int { return cmp.Compare(rank(a), rank(b)) })
	if rank(files[0]) == len(times) {
		names := []string{}
		for _, f := range files {
			names = append(names, f.Metric)
		}
		return nil, fmt.Errorf("%s: no metric is a time: found %.200q; expected one of %s", filepath.Join(s.directory, l.file()), names, strings.Join(times[:4], ", "))
	}
	return files, nil
}

// reader makes a run of a set.
type reader struct {
	*set
	places   map[callgraph.ID]*place
	own      bool
	samples  uint64 // rows that were left out
	negative uint64 // values
	events   bool   // of messages, by rank
	core     float64
	unread   []string // attributes
}

// Read makes a run of the profiles in a directory, without findings. What profiles cannot say is among what was
// not seen. Of profiles that Marple has written, the run is that which they were written from, but for that.
func Read(directory string) (*run.Run, error) {
	s, err := find(directory)
	if err != nil {
		return nil, err
	}
	if len(s.threads) == 0 {
		return nil, fmt.Errorf("%s: no TAU profiles: expected files such as profile.0.0.0, or MULTI__TIME/profile.0.0.0", directory)
	}
	r := &reader{set: s, places: map[callgraph.ID]*place{}}
	var merge merger
	var first *File
	for i := 0; i < len(s.threads); {
		next := i
		for next < len(s.threads) && s.threads[next].node == s.threads[i].node {
			next++
		}
		p, f, err := r.rank(s.threads[i:next])
		if err != nil {
			return nil, err
		}
		if first == nil {
			first = f
		}
		merge.add(p)
		i = next
	}
	p := merge.all()
	p.World = max(p.World, int32(s.threads[len(s.threads)-1].node)+1)
	out := run.New(p, unnamed{})
	r.finish(out, first)
	return out, nil
}

// merger merges profiles as a binary counter adds: of two with as many ranks each.
type merger struct{ list []*profile.Profile }

func (m *merger) add(p *profile.Profile) {
	m.list = append(m.list, p)
	for n := len(m.list); n > 1 && len(m.list[n-1].Totals) >= len(m.list[n-2].Totals); n = len(m.list) {
		m.list = append(m.list[:n-2], profile.Merge(m.list[n-2], m.list[n-1]))
	}
}

func (m *merger) all() *profile.Profile {
	for n := len(m.list); n > 1; n = len(m.list) {
		m.list = append(m.list[:n-2], profile.Merge(m.list[n-2], m.list[n-1]))
	}
	return m.list[0]
}

// rank is the profile of one node: its first thread is the one that counts, the others are other threads. Also
// the first thread's file of times.
func (r *reader) rank(threads []location) (*profile.Profile, *File, error) {
	rank := int32(threads[0].node)
	g := callgraph.Graph{}
	total := profile.Total{Rank: rank, State: record.Finalized, Threads: 1}
	var main *File
	var others *tree
	for i, l := range threads {
		files, err := r.files(l)
		if err != nil {
			return nil, nil, err
		}
		t := &tree{own: files[0].value(escapedNames) == escapedPercent, root: callgraph.Root, nodes: map[callgraph.ID]*node{}}
		for _, f := range files {
			t.metrics = append(t.metrics, f.Metric)
		}
		if i == 0 {
			main, r.own = files[0], t.own
		} else if others == nil {
			t.root, others = callgraph.Others, t
		} else if len(t.metrics) == len(others.metrics) {
			t = others
		} else {
			return nil, nil, fmt.Errorf("%s: other metrics than the threads before", filepath.Join(r.directory, l.file()))
		}
		rows, negative := join(files)
		r.negative += negative
		if err := t.build(rows); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", filepath.Join(append(append([]string{r.directory}, r.metrics[:min(1, len(r.metrics))]...), l.file())...), err)
		}
		t.offCore()
		if i == 0 {
			t.graph(rank, &g, r.places)
			total.Init = nanoseconds(t.init)
			r.samples += t.samples
		}
	}
	if others != nil {
		others.graph(rank, &g, r.places)
		r.samples += others.samples
		for _, n := range others.nodes {
			if n.kind == callgraph.KindMPI && n.calls > 0 {
				total.Threads = uint32(len(threads))
			}
		}
	}
	slices.SortFunc(g.Nodes, func(a, b callgraph.Node) int { return cmp.Compare(a.ID, b.ID) })
	total.Balance(&g)
	if r.core += float64(total.Wall) / 1000; r.core > mostCore {
		return nil, nil, fmt.Errorf("%s: with this rank, %g µs of core time: more than a run can hold (%g)", filepath.Join(r.directory, threads[0].file()), r.core, float64(mostCore))
	}
	p := &profile.Profile{World: rank + 1, Graph: g}
	r.facts(p, &total, main)
	p.Totals = []profile.Total{total}
	return p, main, nil
}

func nanoseconds(us float64) uint64 { return uint64(min(max(us, 0), mostTime)*1000 + 0.5) }

// figures of a rank that no row has, and the attributes that keep them.
var figures = []struct {
	name string
	of   func(*run.RankBalance) uint64
	to   func(*profile.Total) *uint64
}{
	{"Marple Waited For Core In MPI (ns)", func(b *run.RankBalance) uint64 { return b.Waited }, func(t *profile.Total) *uint64 { return &t.Waited }},
	{"Marple Blocked (ns)", func(b *run.RankBalance) uint64 { return b.Blocked }, func(t *profile.Total) *uint64 { return &t.Blocked }},
	{"Marple Other Threads (ns)", func(b *run.RankBalance) uint64 { return b.OtherCPU }, func(t *profile.Total) *uint64 { return &t.Others }},
	{"Marple Peak Memory (B)", func(b *run.RankBalance) uint64 { return b.PeakMemory }, func(t *profile.Total) *uint64 { return &t.Memory }},
	{"Marple Cores Of Rank", func(b *run.RankBalance) uint64 { return uint64(b.Cores) }, func(t *profile.Total) *uint64 { return &t.Cores }},
}

// Other attributes. The first ones are TAU's.
const (
	attributeHost      = "Hostname"
	attributeProgram   = "Executable"
	attributeStarted   = "Starting Timestamp" // µs since 1970
	attributeRanks     = "Marple Ranks"
	attributeCores     = "Marple Cores"
	attributeThreads   = "Marple Threads"
	attributeEnded     = "Marple Ended"
	attributeAbort     = "Marple Abort Code"
	attributeError     = "Marple Error"
	attributeClocks    = "Marple Clocks"
	attributeLevel     = "MPI Thread Level"
	attributeFamily    = "MPI Binary Interface"
	attributeLibrary   = "MPI Library"
	attributeParameter = "Marple Parameters"
	attributeTimeBase  = "Marple Time Base"
	attributeNote      = "Marple Note"
	attributeTraffic   = "Marple Traffic" // these as they stand in run.json
	attributeFileUse   = "Marple Files Of Rank"
	attributeFiles     = "Marple Files"         // of all ranks, in the first file
	attributeAtomic    = "Marple Atomic Events" // in the file that has those of all ranks
)

// isOwn tells attributes that facts reads, or that are the format's own.
func isOwn(name string) bool {
	switch name {
	case metricName, escapedNames, attributeProgram, attributeHost, attributeStarted, attributeLevel, attributeFamily, attributeLibrary:
		return true
	}
	return strings.HasPrefix(name, "Marple ")
}

// facts fills in what metadata and atomic events say.
func (r *reader) facts(p *profile.Profile, t *profile.Total, f *File) {
	number := func(name string, most uint64) uint64 {
		x, _ := strconv.ParseUint(f.value(name), 10, 64)
		return min(x, most)
	}
	p.World = max(p.World, int32(number(attributeRanks, mostNodes)))
	p.Program = filepath.Base(f.value(attributeProgram))
	if f.value(attributeProgram) == "" {
		p.Program = "unknown program"
	}
	p.Library, p.MPI, p.Params = f.value(attributeLibrary), f.value(attributeFamily), f.value(attributeParameter)
	p.Begun = number(attributeStarted, math.MaxInt64/1000) * 1000
	p.Threads = uint8(max(slices.Index(levels[:], f.value(attributeLevel)), 0))
	for i, clock := range clocks {
		if slices.Contains(strings.Split(f.value(attributeClocks), ","), clock) {
			p.Clocks |= 1 << i
		}
	}
	host := profile.Host{Name: f.value(attributeHost), Ranks: 1}
	host.ID = uint64(child(callgraph.Root, Step{Name: host.Name}, callgraph.KindNone))
	for cpu := range number(attributeCores, uint64(64*len(host.CPUs))) {
		host.CPUs[cpu/64] |= 1 << (cpu % 64)
	}
	p.Hosts = []profile.Host{host}
	t.Host = host.ID
	if r.own {
		t.Threads = uint32(max(number(attributeThreads, mostNodes), 1))
		t.Abort = int32(number(attributeAbort, math.MaxInt32))
		t.Error = f.value(attributeError)
		for state, how := range endings {
			if how == f.value(attributeEnded) {
				t.State = state
			}
		}
		for _, x := range figures {
			*x.to(t) = number(x.name, math.MaxUint64)
		}
		var traffic run.Traffic
		if r.fromJSON(f, attributeTraffic, &traffic) {
			t.Traffic = profile.Traffic{Known: true, Traffic: record.Traffic(traffic)}
		}
		var use run.FileUse
		if r.fromJSON(f, attributeFileUse, &use) {
			t.Files = profile.FileUse{Known: true, Ns: use.Ns, Read: use.Read, Written: use.Written, Reads: use.Reads, Writes: use.Writes, Lookups: use.Lookups}
		}
		t.Waited = min(t.Waited, t.MPI)
		t.Blocked = min(t.Blocked, t.Useful)
	}
	for _, a := range f.Metadata {
		if !isOwn(a.Name) {
			p.Metadata = append(p.Metadata, profile.Metadata{Name: a.Name, Value: a.Value, Rank: t.Rank, Ranks: 1, Same: true})
		}
	}
	r.messages(p, t, f)
	p.SortReported()
}

// fromJSON fills in what an attribute says as run.json does, if it is there. One that says something else counts as unread.
func (r *reader) fromJSON(f *File, name string, into any) bool {
	text := f.value(name)
	if text == "" {
		return false
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		r.unread = append(r.unread, name)
		return false
	}
	return true
}

var (
	levels  = [...]string{"single", "funneled", "serialized", "multiple"}
	clocks  = [...]string{"tsc", "monotonic", "external"}
	endings = map[uint8]string{record.Running: "vanished", record.Finalized: "finalized", record.Exited: "exited", record.Aborted: "aborted",
		record.Fatal: "failed", record.Alive: "running"}
)

// ofMessages tells the atomic events that count what messages and collective operations move.
func ofMessages(name string) bool {
	if sizes()[name] != "" || name == sentToAll || name == receivedFromAll {
		return true
	}
	return slices.ContainsFunc(directions[:], func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// reals are an event's values.
func (e *Event) reals(rank int32) stat.Reals {
	n := max(count(e.N), 1)
	return stat.Reals{N: n, Sum: float64(n) * e.Mean, Squares: e.SumSquares, Min: e.Min, Max: e.Max, MinRank: rank, MaxRank: rank}
}

// sizes are the least and the most value, if they differ.
func (e *Event) sizes() (s profile.Sizes) {
	if e.Min < e.Max {
		s = profile.Sizes{Least: count(e.Min), Most: count(e.Max)}
	}
	return s
}

// messages takes counts and bytes of messages from atomic events, and the others as they are.
func (r *reader) messages(p *profile.Profile, t *profile.Total, f *File) {
	peers := map[int32]*profile.Peer{}
	var all [4]struct{ messages, bytes uint64 }
	for _, e := range f.Events {
		if !ofMessages(e.Name) {
			p.Atomics = append(p.Atomics, profile.Atomic{Name: e.Name, Values: e.reals(t.Rank)})
			continue
		}
		sum := count(e.N * e.Mean)
		if function := sizes()[e.Name]; function != "" {
			moved(&p.Graph, function, sum)
		}
		switch e.Name {
		case sentToAll:
			t.Sent, t.SentBytes, t.SentSizes = count(e.N), sum, e.sizes()
		case receivedFromAll:
			t.Received, t.ReceivedBytes, t.ReceivedSizes = count(e.N), sum, e.sizes()
		}
		for d, prefix := range directions {
			rest, ok := strings.CutPrefix(e.Name, prefix)
			to, err := strconv.ParseUint(rest, 10, 31)
			if !ok || err != nil || to >= mostNodes {
				continue
			}
			x := peers[int32(to)]
			if x == nil {
				x = &profile.Peer{Rank: t.Rank, To: int32(to)}
				peers[int32(to)] = x
			}
			x.Messages[d] += count(e.N)
			x.Bytes[d] += sum
			x.Sizes[d] = e.sizes()
			all[d].messages += count(e.N)
			all[d].bytes += sum
			r.events = true
		}
	}
	if t.Sent == 0 {
		t.Sent, t.SentBytes = all[record.Sent].messages, all[record.Sent].bytes
	}
	if t.Received == 0 {
		t.Received, t.ReceivedBytes = all[record.Received].messages, all[record.Received].bytes
	}
	for _, x := range peers {
		p.Peers = append(p.Peers, *x)
	}
	profile.SortPeers(p.Peers)
	p.Pairs = uint64(len(p.Peers))
}

// finish gives a run the names of its nodes, and says what it does not know.
func (r *reader) finish(out *run.Run, first *File) {
	most := 0
	for _, root := range out.CallGraph {
		root.Walk(func(n *run.Node, depth int) bool {
			var id uint64
			fmt.Sscanf(n.ID, "%x", &id)
			if p := r.places[callgraph.ID(id)]; p != nil {
				p.apply(n)
				most = max(most, len(p.metrics))
			}
			return true
		})
	}
	note := func(id string, count uint64, text string) {
		out.NotSeen = append(out.NotSeen, run.Note{ID: id, Text: text, Count: count})
	}
	missing := "how long single calls took, when, bytes of most call paths, and who waited for whom"
	if !r.events {
		missing = "how long single calls took, when, messages between ranks, and who waited for whom"
	}
	note("from-profiles", 0, "made from TAU profiles, which do not say "+missing)
	if r.samples > 0 {
		note("samples-unused", r.samples, words.Count(r.samples, "row of samples was", "rows of samples were")+" not used: their time is in the timers that they were taken in")
	}
	if r.negative > 0 {
		note("negative-values", r.negative, words.Count(r.negative, "negative value counts", "negative values count")+" as 0")
	}
	if text := first.value(attributeNote); r.own && text != "" {
		note("shares-estimated", 0, text)
	}
	var files run.Files
	if r.own && r.fromJSON(first, attributeFiles, &files) {
		files.List = files.List[:min(len(files.List), profile.MaxFiles)]
		out.Files = &files
	}
	if slices.Sort(r.unread); len(r.unread) > 0 {
		note("attributes-unread", uint64(len(r.unread)), strings.Join(slices.Compact(r.unread), ", ")+" in the metadata of these profiles could not be read")
	}
	cores := "waiting for a core counts as work or as MPI"
	if slices.ContainsFunc(out.CallGraph, hasOffCore) {
		cores = "time that is not CPU time counts as waiting for a core, though ranks may have been blocked (in files, or asleep)"
	}
	if !r.own {
		out.Conditions = append(out.Conditions, run.Note{ID: "whole-program",
			Text: "a TAU profile lasts from the program's start to its end (MPI_Init is left out); " + cores + "; places are where functions stand, not where they are called"})
	}
}

func hasOffCore(root *run.Node) (has bool) {
	root.Walk(func(n *run.Node, _ int) bool {
		has = has || n.Kind == callgraph.KindOffCore.String() || n.OffCore > 0
		return !has
	})
	return has
}

// unnamed leaves names to finish.
type unnamed struct{}

func (unnamed) Function(callgraph.Code) string     { return "" }
func (unnamed) Site(callgraph.Code) []symbol.Frame { return nil }
func (unnamed) Notes(callgraph.Module) []string    { return nil }

var errEmpty = errors.New("the run has no call graph")
