package diagnosis

import (
	"fmt"
	"iter"
	"math"
	"slices"

	"marple/analysis/callgraph"
	"marple/analysis/knowledge"
	"marple/analysis/record"
	"marple/analysis/run"
	"marple/analysis/structure"
)

// data is a run in a form that sums are quick to make of: its call paths in one list, parents first. Only the
// thread that called MPI_Init counts: of other threads the time outside MPI is not known.
type data struct {
	r      *run.Run
	nodes  []node
	ranks  []int       // world ranks that were measured
	index  map[int]int // of a world rank in ranks
	graph  *structure.Graph
	events Events // nil if the sequence of events is not known
	// imagined is a run of which only the metrics that a test gives are known.
	imagined bool
	core     float64
	useful   float64
	mpi      float64
	inMPI    float64 // with waiting for a core there
	of       *data   // the whole run, if this is a phase of it: shares are of its time
	partial  bool    // totals of ranks are not known
	ids      map[string]int
	atPlace  map[int][]int // call paths by the first one that is the same place
	waited   *placedList   // of wait sites and of delays, at call paths of this data
	delayed  *placedList
	unknown  *float64
	costs    map[string]run.CallCost
	paths    *run.Paths
	ways     map[*knowledge.Condition]*ways
}

// node is a call path. Seconds do not count waiting for a core.
type node struct {
	*run.Node
	parent  int
	place   int // the first call path that is the same place
	kind    callgraph.Kind
	op      record.Op
	class   uint8
	seconds float64
	per     float64 // nanoseconds of Exclusive per second
	whole   bool    // every rank's share is known
	loop    bool    // nothing but a loop around two tests
}

// team is what threads did there, if it is a parallel region.
func (n *node) team() run.Team {
	if n.Team == nil {
		return run.Team{}
	}
	return *n.Team
}

// Classes of time, as bits. See knowledge.Classes.
const (
	classComputation = 1 << iota
	classCommunication
	classCollective
	classPointToPoint
	classTeam // a parallel region: its time is that of what is below
)

var classBits = map[string]uint8{"computation": classComputation, "communication": classCommunication,
	"collective": classCollective, "point_to_point": classPointToPoint}

func seconds(ns uint64) float64 { return float64(ns) / 1e9 }

// share is what a cost is of the core time. Ranks that wait in MPI for another one may not be given a core meanwhile,
// which then does not count; what a cost takes of that would have been core time, had there been cores for all.
func (d *data) share(cost float64) float64 {
	if d.of != nil {
		return d.of.share(cost)
	}
	return cost / (d.core + max(0, min(cost, d.inMPI)-d.mpi))
}

func newData(r *run.Run) *data {
	c := r.Core
	d := &data{r: r, index: map[int]int{}, useful: seconds(c.Useful), mpi: seconds(c.MPI - min(c.MPI, c.Waited)), inMPI: seconds(c.MPI)}
	d.core = d.useful + d.mpi
	for i, p := range r.PerRank {
		d.ranks = append(d.ranks, p.Rank)
		d.index[p.Rank] = i
	}
	if root := r.Root(); root != nil {
		d.add(root, -1)
	}
	d.places()
	d.loops()
	if r.PeersNotListed == 0 {
		var edges []structure.Edge
		for _, p := range r.Peers {
			from, ok := d.index[p.Rank]
			to, too := d.index[p.To]
			if ok && too {
				edges = append(edges, structure.Edge{From: from, To: to, Messages: p.Sent + p.Puts, Bytes: p.SentBytes + p.PutBytes})
			}
		}
		d.graph = structure.New(len(d.ranks), edges)
	}
	return d
}

func (d *data) add(n *run.Node, parent int) {
	x := node{Node: n, parent: parent, kind: callgraph.ParseKind(n.Kind), per: 1e9, whole: uint64(len(n.PerRank)) >= n.Exclusive.N}
	ns := n.Cost()
	switch x.kind {
	case callgraph.KindGap:
		x.class = classComputation
	case callgraph.KindMPI:
		x.op = record.ParseOp(n.Op)
		x.class = classCommunication
		if x.op.Collective() {
			x.class |= classCollective
		}
		if x.op.PointToPoint() {
			x.class |= classPointToPoint
		}
	}
	if n.Team != nil {
		x.class |= classTeam
	}
	x.seconds = seconds(ns)
	if ns > 0 {
		x.per *= float64(n.Exclusive.Sum) / float64(ns)
	} else {
		x.per = math.Inf(1)
	}
	d.nodes = append(d.nodes, x)
	at := len(d.nodes) - 1
	for _, c := range n.Children {
		d.add(c, at)
	}
}

// loops finds what is no computation between two tests. Where it is not known who waits for whom, ranks that sleep between two of
// them are taken to wait for a message: that others wait for what they do meanwhile is no more than possible.
func (d *data) loops() {
	tests := map[string]bool{}
	for i := range d.nodes {
		if d.nodes[i].op == record.OpTest {
			tests[d.nodes[i].ID] = true
		}
	}
	for i := range d.nodes {
		n := &d.nodes[i]
		asleep := n.kind == callgraph.KindGap && tests[n.From] && tests[n.To] && n.Blocked > 0 && 2*n.Blocked >= n.Exclusive.Sum
		n.loop = n.Loop || asleep && d.r.Waits == nil
	}
}

// places puts computations together that have the same name below the same node. Seen from there they are between the
// same calls, though these lead to different MPI calls on ranks with other neighbours, say.
func (d *data) places() {
	type named struct {
		parent int
		name   string
	}
	first := map[named]int{}
	for i := range d.nodes {
		n := &d.nodes[i]
		n.place = i
		if n.kind != callgraph.KindGap {
			continue
		}
		key := named{n.parent, n.Name}
		if _, known := first[key]; !known {
			first[key] = i
		}
		n.place = first[key]
	}
}

// missing says that a measurement is not in the run.
type missing struct{ measurement string }

func (m missing) Error() string {
	if m.measurement == "given" {
		return "is not given"
	}
	about, _ := knowledge.MeasurementOf(m.measurement)
	return "needs " + about.About
}

// context is a scope of the knowledge on a run: which call paths belong to which of its components.
type context struct {
	*data
	scope  *knowledge.Scope
	parent *context
	parts  []*knowledge.Part
	number map[string]int // of a component
	above  []int          // component that a component is part of, or none
	inside [][]bool       // inside[a][b]: component a is b, or within it
	// Ranks with the same roles share an assignment of call paths to components.
	class       []int   // of each rank
	assign      [][]int // per class and call path: the innermost component, or none
	roles       map[string][]bool
	named       bool // some call path was found by name
	sums        map[string][]float64
	parted      bool // components depend on the rank
	failed      map[string]error
	has         []map[string]bool // per class: roles
	occurrences map[string]*Occurrences
}

// None of the components; outside says that a call path is not even in the context.
const (
	none    = -1
	outside = -2
)

func newContext(d *data, s *knowledge.Scope, parent *context) *context {
	c := &context{data: d, scope: s, parent: parent, parts: s.Model.Components, number: map[string]int{}, roles: map[string][]bool{},
		sums: map[string][]float64{}, failed: map[string]error{}, occurrences: map[string]*Occurrences{}}
	for i, p := range c.parts {
		c.number[p.Name] = i
	}
	for i, p := range c.parts {
		up := none
		if p.Within != "" {
			up = c.number[p.Within]
		}
		c.above = append(c.above, up)
		row := make([]bool, len(c.parts))
		row[i] = true
		for at := up; at != none; at = c.above0(at) {
			row[at] = true
		}
		c.inside = append(c.inside, row)
	}
	c.classes()
	c.walk()
	return c
}

func (c *context) above0(i int) int {
	if up := c.parts[i].Within; up != "" {
		return c.number[up]
	}
	return none
}

// role gives which ranks have a role; an error if that cannot be known.
func (c *context) role(name string) ([]bool, error) {
	if has, ok := c.roles[name]; ok {
		return has, c.failed[name]
	}
	x := c.scope.Model.Role(name)
	has := make([]bool, len(c.ranks))
	c.roles[name] = has
	if x == nil {
		return has, fmt.Errorf("no role %s", name)
	}
	if x.Structure == "" {
		for i, r := range c.ranks {
			has[i] = slices.ContainsFunc(x.Ranks, func(one knowledge.Range) bool { return one.Contains(r) })
		}
		return has, nil
	}
	if c.graph == nil && x.Structure != "all" {
		c.failed[name] = missing{"peers"}
		return has, c.failed[name]
	}
	if x.Structure == "all" {
		for i := range has {
			has[i] = true
		}
		return has, nil
	}
	for _, i := range c.graph.Role(x.Structure) {
		has[i] = true
	}
	return has, nil
}

// classes puts ranks together whose roles are the same, as far as components ask for roles.
func (c *context) classes() {
	var asked []string
	for _, p := range c.parts {
		for _, one := range p.Match {
			if one.Role != "" && !slices.Contains(asked, one.Role) {
				asked = append(asked, one.Role)
			}
		}
	}
	known := map[string]int{}
	for i := range c.ranks {
		signature := ""
		if c.parent != nil {
			signature = fmt.Sprint(c.parent.class[i], " ")
		}
		for _, role := range asked {
			if has, _ := c.role(role); has[i] {
				signature += role + " "
			}
		}
		if _, ok := known[signature]; !ok {
			known[signature] = len(known)
		}
		c.class = append(c.class, known[signature])
	}
	c.assign = make([][]int, max(len(known), 1))
	c.parted = len(known) > 1
}

// walk assigns call paths to components, for each class of ranks.
func (c *context) walk() {
	member := make([]int, len(c.assign)) // a rank of each class
	for i, class := range c.class {
		member[class] = i
	}
	for class := range c.assign {
		at := make([]int, len(c.nodes))
		c.assign[class] = at
		has := map[string]bool{}
		for role, ranks := range c.roles {
			has[role] = len(c.ranks) > 0 && ranks[member[class]]
		}
		c.has = append(c.has, has)
		for i := range c.nodes {
			at[i] = none
			if p := c.nodes[i].parent; p >= 0 {
				at[i] = at[p]
			}
			if c.parent != nil && (at[i] == none || at[i] == outside) && !c.parent.holds(member[class], i, c.scope.Into) {
				at[i] = outside
				continue
			} else if at[i] == outside {
				at[i] = none
			}
			at[i] = c.inner(at[i], i, has, nil)
		}
	}
}

// inner goes from a component that a call path belongs to on to the parts of it that it belongs to.
func (c *context) inner(at, i int, has map[string]bool, e *Event) int {
	if at >= 0 && c.elsewhere(at, i, has) {
		at = none
	}
	for k := 0; k < len(c.parts); k++ {
		if c.above[k] == at && c.fits(k, i, has, e) {
			at, k = k, -1
		}
	}
	return at
}

// componentOf is the innermost component that a single event belongs to.
func (c *context) componentOf(rank, i int, e *Event) int {
	class := c.class[rank]
	at := none
	if p := c.nodes[i].parent; p >= 0 {
		at = c.assign[class][p]
	}
	if at == outside {
		if c.assign[class][i] == outside {
			return outside
		}
		at = none
	}
	return c.inner(at, i, c.has[class], e)
}

// holds tells whether a call path, on a rank, belongs to a component.
func (c *context) holds(rank, i int, component string) bool {
	at := c.assign[c.class[rank]][i]
	if at == outside {
		return false
	}
	return component == "all" || at >= 0 && c.inside[at][c.number[component]]
}

// ways tells, for each call path, whether a function, region or file on the way to it fits what a condition asks for; nil
// where it asks for none.
type ways struct{ in, function, region, file []bool }

func (d *data) waysOf(one *knowledge.Condition) *ways {
	if w := d.ways[one]; w != nil {
		return w
	}
	if d.ways == nil {
		d.ways = map[*knowledge.Condition]*ways{}
	}
	w := &ways{
		in:       d.onTheWay(one.In, func(n *node, fit func(string)) { eachFunction(n, fit); eachRegion(n, fit) }),
		function: d.onTheWay(one.Function, eachFunction),
		region:   d.onTheWay(one.Region, eachRegion),
		file:     d.onTheWay(one.File, func(n *node, fit func(string)) { fit(n.File) }),
	}
	d.ways[one] = w
	return w
}

func (d *data) onTheWay(globs []knowledge.Glob, each func(n *node, fit func(string))) []bool {
	if len(globs) == 0 {
		return nil
	}
	way := make([]bool, len(d.nodes))
	for i := range d.nodes {
		if p := d.nodes[i].parent; p >= 0 && way[p] {
			way[i] = true
			continue
		}
		each(&d.nodes[i], func(name string) {
			way[i] = way[i] || name != "" && slices.ContainsFunc(globs, func(g knowledge.Glob) bool { return g.Fits(name) })
		})
	}
	return way
}

func eachFunction(n *node, fit func(string)) {
	for i := range n.Inlined {
		fit(n.Inlined[i].Function)
	}
	if n.kind == callgraph.KindFrame {
		fit(n.Function)
	}
}

func eachRegion(n *node, fit func(string)) {
	switch n.kind {
	case callgraph.KindRegion, callgraph.KindPhase, callgraph.KindComponent:
		fit(n.Name)
	}
}

// fits tells whether a call path, or a single event of it, belongs to a component of which its parent is not part.
func (c *context) fits(part, i int, has map[string]bool, e *Event) bool {
	for _, one := range c.parts[part].Match {
		if one.NeedsEvents() && (e == nil || !c.fitsEvent(one, e)) || !c.fitsPath(one, i, has) || c.elsewhere(part, i, has) {
			continue
		}
		c.named = c.named || one.Named()
		return true
	}
	return false
}

// elsewhere tells whether a call path that fits a component was sorted into another one.
func (c *context) elsewhere(part, i int, has map[string]bool) bool {
	return slices.ContainsFunc(c.parts[part].Unless, func(one *knowledge.Condition) bool {
		return !one.NeedsEvents() && c.fitsPath(one, i, has)
	})
}

// differ tells whether events of a call path may belong to different components.
func (c *context) differ(class, i int) bool {
	for _, p := range c.parts {
		for _, one := range p.Match {
			if one.NeedsEvents() && c.fitsPath(one, i, c.has[class]) {
				return true
			}
		}
	}
	return false
}

// fitsPath holds what the call path tells against a condition.
func (c *context) fitsPath(one *knowledge.Condition, i int, has map[string]bool) bool {
	if one.Named() {
		w := c.waysOf(one)
		for _, way := range [][]bool{w.in, w.function, w.region, w.file} {
			if way != nil && !way[i] {
				return false
			}
		}
	}
	switch {
	case one.Role != "" && !has[one.Role],
		one.Leaf() && !c.leaf(one, i):
		return false
	}
	return true
}

// fitsEvent holds what only a single event tells against a condition.
func (c *context) fitsEvent(one *knowledge.Condition, e *Event) bool {
	if len(one.Tags) > 0 && !slices.ContainsFunc(one.Tags, func(r knowledge.Range) bool { return r.Contains(int(e.Tag)) }) {
		return false
	}
	if len(one.Communicator) > 0 && !anyFits(one.Communicator, []string{c.events.Communicator(e.Comm)}) {
		return false
	}
	if one.Peer != "" {
		peer, ok := c.index[int(e.Peer)]
		has, err := c.role(one.Peer)
		return ok && err == nil && has[peer]
	}
	return true
}

// leaf holds the part of a condition that is about the call or computation itself against it.
func (c *context) leaf(one *knowledge.Condition, i int) bool {
	n := &c.nodes[i]
	if one.Computation != "" {
		return n.kind == callgraph.KindGap && (one.Computation == "any" || (one.Computation == "loop") == n.loop) &&
			c.edge(one.After, i, n.From) && c.edge(one.Before, i, n.To)
	}
	return n.kind == callgraph.KindMPI && (len(one.MPI) == 0 || anyFits(one.MPI, []string{n.Name})) &&
		(len(one.Ops) == 0 || slices.Contains(one.Ops, n.op))
}

// edge tells whether a computation begins or ends at a call with such a name, or in a function or region with such a
// name: in the one that makes the call, or in one above it that is left, or entered, between the two.
func (c *context) edge(globs []knowledge.Glob, gap int, id string) bool {
	if len(globs) == 0 {
		return true
	}
	call, ok := c.byID()[id]
	if !ok {
		return false
	}
	around := c.common(gap, call)
	fits := func(name string) bool {
		return slices.ContainsFunc(globs, func(g knowledge.Glob) bool { return g.Fits(name) })
	}
	for i := call; i >= 0 && i != around; i = c.nodes[i].parent {
		n := &c.nodes[i]
		if fits(n.Name) || fits(n.Function) || slices.ContainsFunc(n.Inlined, func(in run.Inlined) bool { return fits(in.Function) }) {
			return true
		}
	}
	p := c.nodes[call].parent
	return fits(c.nodes[call].Name) || p >= 0 && fits(c.nodes[p].Function)
}

// common is the innermost call path that two have in common; parents come before what is below them.
func (d *data) common(a, b int) int {
	for a != b {
		a, b = min(a, b), d.nodes[max(a, b)].parent
	}
	return a
}

func (d *data) byID() map[string]int {
	if d.ids == nil {
		d.ids = make(map[string]int, len(d.nodes))
		for i := range d.nodes {
			d.ids[d.nodes[i].ID] = i
		}
	}
	return d.ids
}

// samePlace are the call paths that are the same place as one.
func (d *data) samePlace(i int) []int {
	if d.atPlace == nil {
		d.atPlace = map[int][]int{}
		for i := range d.nodes {
			d.atPlace[d.nodes[i].place] = append(d.atPlace[d.nodes[i].place], i)
		}
	}
	return d.atPlace[d.nodes[i].place]
}

func anyFits(globs []knowledge.Glob, names []string) bool {
	return slices.ContainsFunc(globs, func(g knowledge.Glob) bool { return slices.ContainsFunc(names, g.Fits) })
}

// selection is what a function of the expression language adds up: a component or a single call path, of some
// ranks, of some classes of time.
type selection struct {
	component string
	at        []int // call paths; nil: all of the component
	roles     []string
	class     uint8
	events    []string
}

func (s selection) key() string {
	return fmt.Sprint(s.component, s.at, s.roles, s.class, s.events)
}

// selects tells whether a call path is selected, on ranks of a class.
func (c *context) selects(s selection, class, i int) bool {
	if c.nodes[i].class&s.class != s.class || c.nodes[i].class == 0 ||
		s.at != nil && !slices.ContainsFunc(s.at, func(at int) bool { return c.nodes[i].place == c.nodes[at].place }) {
		return false
	}
	at := c.assign[class][i]
	if at == outside {
		return false
	}
	return s.component == "all" || at >= 0 && c.inside[at][c.number[s.component]]
}

// split tells whether a selection depends on the rank, so that sums over ranks do not do.
func (c *context) split(s selection) bool { return c.parted || len(s.roles) > 0 }

// candidates are the call paths that a selection may have.
func (c *context) candidates(s selection) iter.Seq[int] {
	if len(s.at) == 1 {
		return slices.Values(c.samePlace(s.at[0]))
	}
	return func(yield func(int) bool) {
		if s.at != nil {
			for _, at := range s.at {
				for _, i := range c.samePlace(at) {
					if !yield(i) {
						return
					}
				}
			}
			return
		}
		for i := range c.nodes {
			if !yield(i) {
				return
			}
		}
	}
}

// each goes through the selected call paths; ranks is nil if all of them count.
func (c *context) each(s selection, visit func(n *node, ranks func(rank int) bool)) error {
	if !c.split(s) {
		for i := range c.candidates(s) {
			if c.selects(s, 0, i) {
				visit(&c.nodes[i], nil)
			}
		}
		return nil
	}
	allowed := make([]bool, len(c.ranks))
	for i := range allowed {
		allowed[i] = true
	}
	for _, name := range s.roles {
		has, err := c.role(name)
		if err != nil {
			return err
		}
		for i := range allowed {
			allowed[i] = allowed[i] && has[i]
		}
	}
	for _, p := range c.parts {
		for _, one := range p.Match {
			if err := c.failed[one.Role]; err != nil {
				return err
			}
		}
	}
	for i := range c.candidates(s) {
		any := false
		in := make([]bool, len(c.assign))
		for class := range c.assign {
			in[class] = c.selects(s, class, i)
			any = any || in[class]
		}
		if any {
			visit(&c.nodes[i], func(rank int) bool { return allowed[rank] && in[c.class[rank]] })
		}
	}
	return nil
}

// vector adds something up per rank. Whether every rank's share is known must be checked by pick.
func (c *context) vector(what string, s selection, pick func(n *node, r run.RankTime) float64) ([]float64, error) {
	key := what + s.key()
	if v, ok := c.sums[key]; ok {
		return v, nil
	}
	v := make([]float64, len(c.ranks))
	whole := true
	err := c.each(s, func(n *node, ranks func(int) bool) {
		whole = whole && n.whole
		for _, r := range n.PerRank {
			if i, ok := c.index[int(r.Rank)]; ok && (ranks == nil || ranks(i)) {
				v[i] += pick(n, r)
			}
		}
	})
	if err == nil && !whole {
		err = missing{"ranks"}
	}
	if err != nil {
		return nil, err
	}
	c.sums[key] = v
	return v, nil
}

// times is seconds per rank.
func (c *context) times(s selection) ([]float64, error) {
	v, err := c.vector("times", s, func(n *node, r run.RankTime) float64 { return float64(r.Exclusive) / n.per })
	if _, unknown := err.(missing); unknown {
		if totals := c.totalTimes(s); totals != nil {
			return totals, nil
		}
	}
	return v, err
}

// totalTimes is the time of ranks whose selected call paths are all computation, all communication, or none: then
// their totals say it, which are known however many ranks there are. Otherwise it is nil.
func (c *context) totalTimes(s selection) []float64 {
	if len(s.roles) > 0 || c.partial {
		return nil
	}
	pick := make([]func(run.RankBalance) float64, len(c.assign))
	for class := range c.assign {
		var in, out uint8 // classes of selected call paths, and of others
		for i := range c.nodes {
			if c.nodes[i].class == 0 {
				continue
			}
			if c.selects(s, class, i) {
				in |= c.nodes[i].class
			} else {
				out |= c.nodes[i].class
			}
		}
		computation, communication := in&classComputation != 0, in&classCommunication != 0
		switch {
		case in&out != 0:
			return nil
		case computation && communication:
			pick[class] = func(b run.RankBalance) float64 { return useful(b) + inMPI(b) }
		case computation:
			pick[class] = useful
		case communication:
			pick[class] = inMPI
		default:
			pick[class] = func(run.RankBalance) float64 { return 0 }
		}
	}
	v := make([]float64, len(c.ranks))
	for i, b := range c.r.PerRank {
		v[i] = pick[c.class[i]](b)
	}
	return v
}

func useful(b run.RankBalance) float64 { return seconds(b.Useful) }
func inMPI(b run.RankBalance) float64  { return seconds(b.MPI - min(b.MPI, b.Waited)) }

func (d *data) perRank(pick func(run.RankBalance) float64) []float64 {
	v := make([]float64, len(d.ranks))
	for i, b := range d.r.PerRank {
		v[i] = pick(b)
	}
	return v
}

// sum adds up what is known of call paths as a whole; of some ranks only it is divided by their share of the
// calls, where every rank's is known.
func (c *context) sum(s selection, pick func(n *node) float64) (total float64, err error) {
	whole := true
	err = c.each(s, func(n *node, ranks func(int) bool) {
		if ranks == nil {
			total += pick(n)
			return
		}
		whole = whole && n.whole
		var mine, all uint64
		for _, r := range n.PerRank {
			all += r.Calls
			if i, ok := c.index[int(r.Rank)]; ok && ranks(i) {
				mine += r.Calls
			}
		}
		if all > 0 {
			total += pick(n) * float64(mine) / float64(all)
		}
	})
	if err == nil && !whole {
		err = missing{"ranks"}
	}
	return total, err
}

// where is a call path for people.
func (d *data) where(i int) string { return d.pathsOf().Path(d.nodes[i].Node) }

func (d *data) steps(i int) []string { return d.pathsOf().Brief(d.nodes[i].Node) }

func (d *data) pathsOf() *run.Paths {
	if d.paths == nil {
		d.paths = d.r.Paths()
	}
	return d.paths
}

// largestIn is the call path where most of a component's time is spent, by the ranks whose time there belongs to it;
// or none.
func (c *context) largestIn(component string) int {
	var best *run.Node
	most := 0.0
	_ = c.each(selection{component: component}, func(n *node, ranks func(int) bool) {
		time := n.seconds
		if ranks != nil && len(n.PerRank) > 0 {
			time = 0
			for _, r := range n.PerRank {
				if i, ok := c.index[int(r.Rank)]; ok && ranks(i) {
					time += float64(r.Exclusive) / n.per
				}
			}
		}
		if time > most {
			best, most = n.Node, time
		}
	})
	return slices.IndexFunc(c.nodes, func(n node) bool { return n.Node == best }) // none is -1
}
