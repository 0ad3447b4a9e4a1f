package tauprofile

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"marple/analysis/callgraph"
	"marple/analysis/mpi"
	"marple/analysis/record"
	"marple/analysis/run"
	"marple/analysis/stat"
)

// groups name kinds of nodes in what Marple writes, so that they can be told apart again, and chosen in ParaProf.
// Functions have none of these.
var groups = []struct {
	group string
	kind  callgraph.Kind
	loop  bool
}{
	{"MPI", callgraph.KindMPI, false},
	{"COMPUTATION", callgraph.KindGap, false},
	{"POLLING", callgraph.KindGap, true},
	{"REGION", callgraph.KindRegion, false},
	{"COMPONENT", callgraph.KindComponent, false},
	{"PHASE", callgraph.KindPhase, false},
	{"WAITING_FOR_CORE", callgraph.KindOffCore, false},
	{"MARPLE", callgraph.KindOwn, false},
	{"PATHS_LOST", callgraph.KindOverflow, false},
	{"CALLERS_CUT", callgraph.KindCut, false},
	{"TAU_DEFAULT", callgraph.KindRoot, false},
}

// callsUnknown is the group of functions whose calls are not counted: they are written with none.
const callsUnknown = "CALLS_UNKNOWN"

// application is what TAU calls the whole program.
const application = ".TAU application"

// ownCode names a function's time outside all that it calls, which is a node of its own here.
const ownCode = "own code"

// node is a call path of one thread.
type node struct {
	id, parent callgraph.ID
	step       Step
	kind       callgraph.Kind
	loop       bool
	counted    bool // calls are
	calls      uint64
	groups     []string
	values     []float64 // exclusive, of each metric: the time first
	waiting    float64   // of the time: in the barrier that TAU puts before collective operations
	offCore    float64   // of the time in MPI
}

// place is what callgraph has no room for, because it names code by addresses.
type place struct {
	name    string
	step    Step
	kind    callgraph.Kind
	counted bool
	waiting uint64 // ns
	groups  []string
	metrics []run.Metric
}

// tree gathers the call paths of a thread from its rows.
type tree struct {
	own     bool // written by Marple
	root    callgraph.ID
	metrics []string
	nodes   map[callgraph.ID]*node
	kinds   map[Step]callgraph.Kind // of functions, by their flat rows
	init    float64                 // µs in MPI_Init
	total   float64                 // µs in all nodes
	samples uint64                  // rows left out
}

func child(parent callgraph.ID, s Step, kind callgraph.Kind) callgraph.ID {
	h := fnv.New64a()
	var head [32]byte
	for i, x := range []uint64{uint64(parent), uint64(kind), uint64(s.Line), uint64(len(s.Name))} {
		binary.LittleEndian.PutUint64(head[8*i:], x)
	}
	h.Write(head[:])
	io.WriteString(h, s.Name)
	io.WriteString(h, s.File)
	return max(callgraph.ID(h.Sum64()), callgraph.Others+1)
}

// add gives the node below a parent, which may be new.
func (t *tree) add(parent callgraph.ID, s Step, kind callgraph.Kind, loop bool) *node {
	id := child(parent, s, kind)
	n := t.nodes[id]
	if n == nil {
		n = &node{id: id, parent: parent, step: s, kind: kind, loop: loop, values: make([]float64, len(t.metrics))}
		t.nodes[id] = n
	}
	return n
}

// kindOf is a row's kind by its groups.
func (t *tree) kindOf(r *row) (kind callgraph.Kind, loop bool) {
	if t.own {
		for _, g := range groups {
			if slices.Contains(r.groups, g.group) {
				return g.kind, g.loop
			}
		}
		return callgraph.KindFrame, false
	}
	if _, mpi := isMPI(r.leaf().Name); mpi || slices.Contains(r.groups, "MPI") {
		return callgraph.KindMPI, false
	}
	return callgraph.KindFrame, false
}

// row is a row of all metrics.
type row struct {
	path   []Step
	groups []string
	calls  float64
	values []float64 // exclusive, of each metric: the time first
}

func (r *row) leaf() Step { return r.path[len(r.path)-1] }

// sampled tells rows that repeat, in another way, what other rows have: TAU's samples.
func sampled(r *row) bool {
	for _, g := range r.groups {
		if strings.HasPrefix(g, "TAU_SAMPLE") || g == "TAU_UNWIND" {
			return true
		}
	}
	return slices.ContainsFunc(r.path, func(s Step) bool {
		return strings.HasPrefix(s.Name, "[SAMPLE]") || strings.HasPrefix(s.Name, "[CONTEXT]") || strings.HasPrefix(s.Name, "[SUMMARY]") || strings.HasPrefix(s.Name, "[UNWIND]")
	})
}

// TAU's samples are rows that repeat, in another way, what other rows have: f => [CONTEXT] f => [SAMPLE] g tells how much
// of the time of f itself was in g. Where g is known it becomes a function below f, with a share in that time.
const (
	contextMark = "[CONTEXT] "
	sampleMark  = "[SAMPLE] "
	noFunction  = "UNRESOLVED"
)

// divide shares the time of rows among the functions that samples found there, and drops the rows of samples.
func (t *tree) divide(rows []row) []row {
	found := map[string][]row{} // by the path of what they were taken in
	kept, left := rows[:0], uint64(0)
	deeper := map[Step]bool{} // functions that call paths end in
	for _, r := range rows {
		if t.own || !sampled(&r) {
			kept = append(kept, r)
			if len(r.path) > 1 {
				deeper[r.leaf()] = true
			}
			continue
		}
		at := slices.IndexFunc(r.path, func(s Step) bool { return strings.HasPrefix(s.Name, contextMark) })
		if name, ok := strings.CutPrefix(r.leaf().Name, sampleMark); ok && at > 0 {
			s := r.leaf()
			s.Name = strings.TrimSpace(name)
			key := pathKey(r.path[:at])
			found[key] = append(found[key], row{path: append(slices.Clone(r.path[:at]), s), values: r.values})
		}
		left++
	}
	if len(found) == 0 {
		t.samples += left
	}
	var more []row
	for i := range kept {
		r := &kept[i]
		key := pathKey(r.path)
		list := found[key]
		delete(found, key)
		sum := 0.0
		for _, s := range list {
			sum += s.values[0]
		}
		// A function that has call paths has its time there; within MPI nobody looks.
		if kind, _ := t.kindOf(r); sum <= 0 || len(r.path) == 1 && deeper[r.leaf()] || kind == callgraph.KindMPI {
			continue
		}
		whole := slices.Clone(r.values)
		for _, s := range list {
			if strings.HasPrefix(s.leaf().Name, noFunction) {
				continue
			}
			share := s.values[0] / sum
			s.values = make([]float64, len(whole))
			for m, x := range whole {
				s.values[m] = x * share
				r.values[m] = max(0, r.values[m]-x*share)
			}
			more = append(more, s)
		}
	}
	for _, list := range found {
		t.samples += uint64(len(list))
	}
	return append(kept, more...)
}

// build makes the tree of a thread. A call path that does not begin at an outermost function was cut off at the
// depth that TAU was asked for (TAU_CALLPATH_DEPTH). Where only one path leads to its first function the rest is
// known; otherwise it hangs below a node that says so, as does what no call path accounts for.
func (t *tree) build(rows []row) error {
	rows = t.divide(rows)
	callers := map[Step][]*row{} // call paths that end in a function, but for those that begin there too
	flat := map[Step]*row{}
	rest := map[Step]*row{} // what no call path accounts for of these
	t.kinds = map[Step]callgraph.Kind{}
	for i := range rows {
		r := &rows[i]
		k := r.leaf()
		if len(r.path) == 1 {
			flat[k], rest[k] = r, &row{path: r.path, groups: r.groups, calls: r.calls, values: slices.Clone(r.values)}
			t.kinds[k], _ = t.kindOf(r)
		} else if r.path[0] != r.leaf() {
			callers[k] = append(callers[k], r)
		}
	}
	for i := range rows {
		r := &rows[i]
		if len(r.path) == 1 {
			continue
		}
		if left := rest[r.leaf()]; left != nil {
			left.calls -= r.calls
			for m := range left.values {
				left.values[m] -= r.values[m]
			}
		}
		parent, path := t.root, r.path
		switch {
		case t.own, path[0].Name == application:
			path = path[1:]
		default:
			if above, ok := above(callers, path[0], 0); ok {
				path = append(above, path...)
			} else {
				parent = t.add(t.root, Step{Name: cutDeeper}, callgraph.KindCut, false).id
			}
		}
		if err := t.place(parent, path, r); err != nil {
			return err
		}
	}
	for k, r := range flat {
		left, some := rest[k], false
		left.calls = max(left.calls, 0)
		for m, x := range left.values {
			// Call paths add up to their function but for rounding.
			if x < 1e-6*r.values[m]+0.0015 {
				left.values[m] = 0
			}
			some = some || left.values[m] > 0
		}
		parent, path := t.root, r.path
		switch {
		case path[0].Name == application:
			path = nil
		case t.own, !some && (callers[k] != nil || left.calls == 0):
			continue
		case callers[k] != nil:
			parent = t.add(t.root, Step{Name: cutUnknown}, callgraph.KindCut, false).id
		}
		if err := t.place(parent, path, left); err != nil {
			return err
		}
	}
	return nil
}

// above is the path to a function from the outermost one on, if there is only one.
func above(callers map[Step][]*row, s Step, depth int) ([]Step, bool) {
	switch list := callers[s]; {
	case len(list) == 0:
		return nil, true
	case len(list) == 1 && depth < mostDepth:
		path := list[0].path
		if path[0].Name == application {
			return slices.Clone(path[1 : len(path)-1]), true
		}
		outer, ok := above(callers, path[0], depth+1)
		if len(outer)+len(path) > mostDepth {
			return nil, false
		}
		return append(outer, path[:len(path)-1]...), ok
	}
	return nil, false
}

// Names that run.New gives to cuts.
const (
	cutDeeper  = "callers beyond the depth that was asked for"
	cutUnknown = "callers that could not be found"
)

// place adds a row's values at a path. MPI calls end it: what MPI functions call is theirs.
func (t *tree) place(parent callgraph.ID, path []Step, r *row) error {
	var kind callgraph.Kind
	var loop bool
	if len(path) > 0 {
		kind, loop = t.kindOf(r)
	}
	var n *node
	waits := false
	for i, s := range path {
		last := i == len(path)-1
		k, l := callgraph.KindFrame, false
		if last {
			k, l = kind, loop
		} else if t.own {
			if known := t.find(parent, s); known != nil {
				k = known.kind
			}
		} else if _, mpi := isMPI(s.Name); mpi || t.kinds[s] == callgraph.KindMPI {
			k = callgraph.KindMPI
		}
		if k == callgraph.KindMPI {
			if name, ok := isMPI(s.Name); ok && !t.own {
				s.Name = name
			}
			s.Name = strings.TrimSuffix(s.Name, "()")
			waits = r.leaf().Name == collectiveSync
			if !last {
				r = &row{path: r.path, values: r.values}
			}
		}
		n = t.add(parent, s, k, l)
		parent = n.id
		if k == callgraph.KindMPI {
			break
		}
	}
	if n != nil && n.kind == callgraph.KindMPI && (n.step.Name == "MPI_Init" || n.step.Name == "MPI_Init_thread") {
		delete(t.nodes, n.id)
		t.init += r.values[0]
		return nil
	}
	if n != nil {
		if waits {
			n.waiting += r.values[0]
		}
		if n.kind == callgraph.KindRegion || n.kind == callgraph.KindFrame && !t.own {
			n.groups = groupsOfRow(r)
		}
		if !slices.Contains(r.groups, callsUnknown) {
			n.calls += count(r.calls)
			n.counted = n.counted || r.calls > 0
		}
		if t.own || n.kind == callgraph.KindMPI {
			return t.charge(n, r.values)
		}
	} else if t.root == callgraph.Others {
		return nil // what a thread does outside all functions is not known to be work
	}
	if slices.ContainsFunc(r.values, func(x float64) bool { return x != 0 }) {
		return t.charge(t.add(parent, Step{Name: ownCode}, callgraph.KindGap, false), r.values)
	}
	return nil
}

// collectiveSync is the barrier that TAU puts before collective operations, in which ranks wait for each other.
const collectiveSync = "MPI Collective Sync"

// groupsOfRow are groups that say something of a timer.
func groupsOfRow(r *row) (list []string) {
	for _, g := range r.groups {
		known := g == callPath || g == callsUnknown
		for _, x := range groups {
			known = known || g == x.group
		}
		if !known && !slices.Contains(list, g) {
			list = append(list, g)
		}
	}
	return list
}

// cpuTimes are metrics that count the time on a core.
var cpuTimes = []string{"CPU_TIME", "P_VIRTUAL_TIME"}

// offCore takes the time without a core out of work, and notes it in MPI, where a metric tells it.
func (t *tree) offCore() {
	cpu := slices.IndexFunc(t.metrics, func(m string) bool { return slices.Contains(cpuTimes, m) })
	if cpu <= 0 || t.own {
		return
	}
	var nodes []*node
	for _, n := range t.nodes {
		nodes = append(nodes, n)
	}
	for _, n := range nodes {
		off := n.values[0] - n.values[cpu]
		switch {
		case off <= 0:
		case n.kind == callgraph.KindMPI:
			n.offCore = off
		default:
			n.values[0] -= off
			t.add(n.parent, Step{Name: "waiting for a core"}, callgraph.KindOffCore, false).values[0] += off
		}
	}
}

// find looks for a node of any kind, which Marple writes before all that is below it.
func (t *tree) find(parent callgraph.ID, s Step) *node {
	for _, k := range []callgraph.Kind{callgraph.KindFrame, callgraph.KindRegion, callgraph.KindComponent, callgraph.KindPhase, callgraph.KindCut, callgraph.KindOverflow} {
		if n := t.nodes[child(parent, s, k)]; n != nil {
			return n
		}
	}
	return nil
}

func (t *tree) charge(n *node, values []float64) error {
	for m, x := range values {
		n.values[m] += x
	}
	if t.total += values[0]; t.total > mostTime {
		return fmt.Errorf("%g µs, with %.100q: more than a thread can take (%g)", t.total, n.step.Name, float64(mostTime))
	}
	return nil
}

// Bounds below which sums of nanoseconds do not overflow.
const (
	mostTime  = 1e14   // µs of a thread: three years
	mostCore  = 1.8e16 // µs of all ranks
	mostCalls = 1e18
)

func count(x float64) uint64 { return uint64(min(max(x, 0), mostCalls) + 0.5) }

// graph turns trees of one rank into its call graph, and keeps what that has no room for in places.
func (t *tree) graph(rank int32, g *callgraph.Graph, places map[callgraph.ID]*place) {
	children := map[callgraph.ID][]*node{t.root: nil}
	for _, n := range t.nodes {
		children[n.parent] = append(children[n.parent], n)
	}
	sums := make([]float64, len(t.metrics))
	var visit func(n *node) (ns uint64, values []float64)
	below := func(id callgraph.ID, ns uint64, values []float64) (uint64, []float64) {
		list := children[id]
		slices.SortFunc(list, func(a, b *node) int { return cmp.Compare(a.id, b.id) })
		for _, c := range list {
			more, theirs := visit(c)
			ns += more
			for m := range values {
				values[m] += theirs[m]
			}
		}
		return ns, values
	}
	visit = func(n *node) (uint64, []float64) {
		exclusive := uint64(n.values[0]*1000 + 0.5)
		inclusive, values := below(n.id, exclusive, slices.Clone(n.values))
		g.Nodes = append(g.Nodes, n.callgraph(rank, exclusive, inclusive))
		p := places[n.id]
		if p == nil {
			p = &place{name: n.step.Name, step: n.step, kind: n.kind}
			places[n.id] = p
		}
		p.counted = p.counted || n.counted
		p.waiting += uint64(n.waiting*1000 + 0.5)
		if len(n.groups) > 0 {
			p.groups = n.groups
		}
		p.add(rank, t.metrics, n.values, values)
		return inclusive, values
	}
	ns, _ := below(t.root, 0, sums)
	root := node{id: t.root, kind: callgraph.KindRoot}
	g.Nodes = append(g.Nodes, root.callgraph(rank, 0, ns))
}

func (n *node) callgraph(rank int32, exclusive, inclusive uint64) callgraph.Node {
	if n.kind == callgraph.KindMPI {
		n.calls = max(n.calls, 1)
	}
	out := callgraph.Node{ID: n.id, Parent: n.parent, Kind: n.kind, Loop: n.loop, Name: n.step.Name,
		Exclusive: stat.Of(exclusive, rank), Inclusive: stat.Of(inclusive, rank),
		Ranks: []stat.Ranked{{Rank: rank, Value: exclusive, Other: inclusive, Count: n.calls}}}
	sum := inclusive
	switch n.kind {
	case callgraph.KindMPI:
		sum = exclusive
		if f := mpi.Of(n.step.Name); f != nil {
			out.Op = f.Op
		} else if n.step.Name == collectiveSync {
			out.Op = record.OpBarrier
		}
		out.Runnable = min(uint64(n.offCore*1000+0.5), exclusive)
	case callgraph.KindPhase:
		fmt.Sscanf(n.step.Name, "phase %d", &out.Level)
	case callgraph.KindCut:
		out.Unknown = n.step.Name == cutUnknown
	case callgraph.KindComponent:
		out.Component, out.Instance, out.Name = methodOf(n.step.Name)
	case callgraph.KindGap:
		out.From, out.To = callgraph.Edge{Node: callgraph.Root}, callgraph.Edge{Node: callgraph.Root}
	}
	if n.calls > 0 {
		// All calls of a rank count as equally long: nothing else is known.
		mean := sum / n.calls
		out.Calls = stat.Stat{N: n.calls, Sum: sum, Sq: stat.Square(mean).Scaled(float64(n.calls)), Min: mean, Max: mean, MinRank: rank, MaxRank: rank}
	}
	return out
}

// methodOf takes a method's name apart: States[fine].compute.
func methodOf(name string) (component, instance, method string) {
	if at := strings.LastIndexByte(name, '.'); at >= 0 {
		name, method = name[:at], name[at+1:]
	} else {
		return name, "", ""
	}
	if outer, inner, ok := strings.Cut(name, "["); ok && strings.HasSuffix(inner, "]") {
		return outer, strings.TrimSuffix(inner, "]"), method
	}
	return name, "", method
}

// add counts a rank's values of all metrics but the time.
func (p *place) add(rank int32, metrics []string, exclusive, inclusive []float64) {
	for m, name := range metrics {
		if m == 0 || exclusive[m] == 0 && inclusive[m] == 0 {
			continue
		}
		at := slices.IndexFunc(p.metrics, func(x run.Metric) bool { return x.Name == name })
		if at < 0 {
			at = len(p.metrics)
			p.metrics = append(p.metrics, run.Metric{Name: name})
		}
		x := &p.metrics[at]
		x.Exclusive += exclusive[m]
		x.Inclusive += inclusive[m]
		x.PerRank = append(x.PerRank, run.RankMetric{Rank: rank, Exclusive: exclusive[m], Inclusive: inclusive[m]})
	}
}

// apply gives a place the form in which a run has it.
func (p *place) apply(n *run.Node) {
	n.Name = p.name
	if p.kind == callgraph.KindFrame {
		n.Function, n.Module, n.Offset = p.name, "", ""
	}
	if p.kind == callgraph.KindGap {
		n.From, n.To = "", ""
	}
	if p.step.File != "" {
		n.Site = p.step.File
		if p.step.Line > 0 {
			n.File, n.Line = p.step.File, p.step.Line
			n.Site = fmt.Sprintf("%s:%d", path.Base(p.step.File), p.step.Line)
		}
	}
	n.Metrics, n.Groups = p.metrics, p.groups
	n.Waiting = min(p.waiting, n.Exclusive.Sum)
}

// join gives the rows of a thread from its files, one per metric, the time first. The same path may stand in
// several rows, which then add up.
func join(files []*File) (rows []row, negative uint64) {
	index := map[string]int{}
	for m, f := range files {
		for _, t := range f.Timers {
			k := pathKey(t.Path)
			at, known := index[k]
			if !known {
				at = len(rows)
				index[k] = at
				rows = append(rows, row{path: t.Path, groups: t.Groups, values: make([]float64, len(files))})
			}
			if t.Exclusive < 0 {
				negative++
			}
			rows[at].values[m] += max(t.Exclusive, 0)
			if m == 0 {
				rows[at].calls += max(t.Calls, 0)
			}
		}
	}
	return rows, negative
}

// pathKey is the same for the same paths, and different for others.
func pathKey(path []Step) string {
	var b strings.Builder
	for _, s := range path {
		b.WriteString(s.Name)
		b.WriteByte(0)
		b.WriteString(s.File)
		b.WriteByte(0)
		b.WriteString(strconv.Itoa(s.Line))
		b.WriteByte(0)
	}
	return b.String()
}

// directions of messages, and the atomic events that count them by rank.
var directions = [4]string{
	record.Sent:     "Message size sent to node ",
	record.Received: "Message size received from node ",
	record.Put:      "Message size put to node ",
	record.Got:      "Message size got from node ",
}

// Atomic events for all ranks together.
const (
	sentToAll       = "Message size sent to all nodes"
	receivedFromAll = "Message size received from all nodes"
)

// sizes are the atomic events for what collective operations move, by the functions that they are counted in.
var sizes = sync.OnceValue(func() map[string]string {
	m := map[string]string{}
	for _, f := range mpi.All() {
		if f.TAU != "" {
			m["Message size for "+f.TAU] = f.Name
		}
	}
	return m
})

// moved gives a function's bytes to its call path, if it has only one.
func moved(g *callgraph.Graph, function string, n uint64) {
	var only *callgraph.Node
	for i := range g.Nodes {
		if x := &g.Nodes[i]; x.Kind == callgraph.KindMPI && x.Name == function {
			if only != nil {
				return
			}
			only = x
		}
	}
	if only != nil {
		only.Out = n
	}
}
