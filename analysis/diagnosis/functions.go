package diagnosis

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"marple/analysis/callgraph"
	"marple/analysis/knowledge"
	"marple/analysis/record"
	"marple/analysis/run"
	"marple/analysis/structure"
	"marple/analysis/words"
)

// Values of the expression language beside float64, bool and string.
type (
	component struct { // or "all" of the scope
		of   *evaluator
		name string
	}
	delayed struct { // a delay
		of   *evaluator
		name string
	}
	role     string
	class    string
	abstract string // event
	vector   []float64
	rankSet  []int // world ranks
)

// place is a value of the expression language, too: call paths, the heaviest first, and what the expression is at each that they were
// found by.
type place struct {
	at    []int
	worth []float64
}

// function of the expression language; knowledge says what it takes and gives.
type function func(e *evaluator, args []any) (any, error)

// of makes a function out of one that works on a selection.
func of(compute func(e *evaluator, s selection) (any, error)) function {
	return func(e *evaluator, args []any) (any, error) {
		e, s, err := e.selection(args)
		if err != nil {
			return nil, err
		}
		return compute(e, s)
	}
}

// total makes a function that adds something up over call paths.
func total(pick func(n *node) float64) function {
	return of(func(e *evaluator, s selection) (any, error) { return e.sum(s, pick) })
}

// aside makes a function of what calls take beside waiting.
func aside(pick func(d *data, n *node) float64) function {
	return of(func(e *evaluator, s selection) (any, error) {
		return e.sum(s, func(n *node) float64 { return pick(e.data, n) })
	})
}

// extreme makes a function of the shortest or longest call.
func extreme(pick func(s *run.Stat) uint64, better func(a, b uint64) bool) function {
	return of(func(e *evaluator, s selection) (any, error) {
		var best uint64
		found := false
		err := e.each(s, func(n *node, _ func(int) bool) {
			if n.Calls != nil && n.kind == callgraph.KindMPI && (!found || better(pick(n.Calls), best)) {
				best, found = pick(n.Calls), true
			}
		})
		if !found {
			return math.NaN(), err
		}
		return seconds(best), err
	})
}

// totals makes a function of the totals of each rank.
func totals(pick func(run.RankBalance) float64) function {
	return func(e *evaluator, args []any) (any, error) {
		if e.partial {
			return nil, missing{"ranks"}
		}
		v := e.perRank(pick)
		if len(args) == 0 {
			return vector(v), nil
		}
		return e.only(v, args[0].(role))
	}
}

// ofRanks makes a function that adds up a total of some ranks.
func ofRanks(pick func(*run.RankBalance) uint64) function {
	return func(e *evaluator, args []any) (any, error) {
		total := 0.0
		for i := range e.r.PerRank {
			if b := &e.r.PerRank[i]; slices.Contains(args[0].(rankSet), b.Rank) {
				total += float64(pick(b))
			}
		}
		return total, nil
	}
}

func busiestFile(e *evaluator, _ []any) (any, error) {
	if e.r.Files == nil || len(e.r.Files.List) == 0 {
		return "files that are not known", nil
	}
	return e.r.Files.List[0].Path, nil
}

func reduce(compute func(v vector) float64) function {
	return func(_ *evaluator, args []any) (any, error) {
		v := args[0].(vector)
		if len(v) == 0 {
			return math.NaN(), nil
		}
		return compute(v), nil
	}
}

func sum(v vector) (s float64) {
	for _, x := range v {
		s += x
	}
	return s
}

func mean(v vector) float64 { return sum(v) / float64(len(v)) }

// calls counts MPI calls, or passages through computations where there are no calls.
func calls(n *node) float64 {
	if n.Calls == nil || n.class == classTeam {
		return 0
	}
	return float64(n.Calls.N)
}

// functionTable has an entry for every function of the language (a test compares).
var functionTable map[string]function

func init() {
	functionTable = map[string]function{
		"time":         of(func(e *evaluator, s selection) (any, error) { return e.time(s) }),
		"times":        of(timesOf),
		"slowest":      of(slowest),
		"own_time":     aside(ownTime),
		"sure_time":    aside(sureTime),
		"stalled":      total(func(n *node) float64 { return seconds(n.Blocked) }),
		"team_work":    total(func(n *node) float64 { return seconds(n.team().Work) }),
		"team_excess":  total(func(n *node) float64 { return seconds(n.team().Imbalance) }),
		"calls":        of(func(e *evaluator, s selection) (any, error) { return e.sum(e.countable(s), calls) }),
		"calls_each":   of(callsEach),
		"calls_below":  callsBelow,
		"polled":       total(polled),
		"hits":         total(func(n *node) float64 { return float64(n.Hits) }),
		"bytes":        total(func(n *node) float64 { return float64(n.Out + n.In) }),
		"shortest":     extreme(func(s *run.Stat) uint64 { return s.Min }, func(a, b uint64) bool { return a < b }),
		"longest":      extreme(func(s *run.Stat) uint64 { return s.Max }, func(a, b uint64) bool { return a > b }),
		"ranks_in":     of(func(e *evaluator, s selection) (any, error) { return ranksIn(e, s) }),
		"evenly":       of(evenly),
		"reaching":     reaching,
		"name":         nameOfPlace,
		"worth":        ofPlace(func(_ *evaluator, p place) any { return sum(p.worth) }),
		"places_in":    ofPlace(func(e *evaluator, p place) any { return float64(len(e.spots(p))) }),
		"late_at":      ofPlace(func(e *evaluator, p place) any { return e.lateAt(p) }),
		"listed":       ofPlace(func(e *evaluator, p place) any { return e.listed(p) }),
		"size":         sizeOf,
		"members":      membersOf,
		"useful":       totals(useful),
		"in_mpi":       totals(inMPI),
		"sent":         totals(func(b run.RankBalance) float64 { return float64(b.Sent) }),
		"received":     totals(func(b run.RankBalance) float64 { return float64(b.Received) }),
		"sent_bytes":   totals(func(b run.RankBalance) float64 { return float64(b.SentBytes) }),
		"traffic":      ofRanks(func(b *run.RankBalance) uint64 { return b.Traffic.Bytes() }),
		"file_bytes":   ofRanks(func(b *run.RankBalance) uint64 { return b.Files.Bytes() }),
		"busiest_file": busiestFile,
		"passed":       passed,
		"position":     position,
		"depth":        depth,
		"link":         ofGraph(link),
		"onward":       onward,
		"turns":        turns,
		"in_pairs":     inPairs,
		"cube":         ofGraph(func(g *structure.Graph) float64 { return map[bool]float64{true: 1}[g.Cube()] }),
		"butterfly":    ofGraph((*structure.Graph).Butterfly),
		"dimensions":   ofGraph(func(g *structure.Graph) float64 { return float64(g.Stages()) }),
		"folded":       ofGraph(func(g *structure.Graph) float64 { return float64(g.Ranks - 1<<g.Stages()) }),
		"grades":       ofGraph((*structure.Graph).Grades),
		"fewest":       ofGraph(func(g *structure.Graph) float64 { return float64(g.Fewest()) }),
		"returned":     ofGraph((*structure.Graph).Returned),
		"mutual":       ofGraph((*structure.Graph).Mutual),
		"star":         ofGraph(func(g *structure.Graph) float64 { messages, _ := g.Star(); return messages }),
		"star_points":  ofGraph(func(g *structure.Graph) float64 { _, partners := g.Star(); return partners }),
		"active":       ofGraph((*structure.Graph).Active),
		"degree":       ofGraph((*structure.Graph).Degree),
		"even":         ofGraph((*structure.Graph).Even),
		"chained":      ofGraph((*structure.Graph).Chained),
		"branches":     ofGraph((*structure.Graph).Branches),
		"tree_levels":  ofGraph(func(g *structure.Graph) float64 { return float64(g.TreeLevels()) }),
		"wait_cost":    waitCost,
		"wait_time":    waited,
		"wait_caused":  waitCaused,
		"blamed":       blamed,
		"wait_calls":   ofWaits((*waits).calls),
		"wait_ranks":   ofWaits((*waits).waiters),
		"late_ranks":   ofWaits((*waits).latecomers),
		"latecomers":   ofWaits((*waits).latecomersInWords),
		"in_turn":      ofWaits((*waits).whetherInTurn),
		"chance":       func(e *evaluator, args []any) (any, error) { return e.chance(args[0].(rankSet)), nil },
		"unknown_wait": func(e *evaluator, _ []any) (any, error) { return e.unknownWaiting(), nil },
		"late_call":    ofWaits((*waits).lateCall),
		"delay_time":   ofDelay(func(d *run.DelaySite) float64 { return seconds(d.Direct + d.Passed) }),
		"delay_passed": ofDelay(func(d *run.DelaySite) float64 { return seconds(d.Passed) }),
		"delay_ranks":  ofWaits((*waits).delayRanks),
		"delay_place":  ofDelay(func(d *run.DelaySite) string { return d.Where }),
		"beyond":       beyond,
		"seen":         of(seen),
		"ramp":         ramp,
		"front_time":   frontTime,
		"best_block":   bestBlock,
		"instances":    ofEvent(func(x *Occurrences) any { return float64(x.Count) }),
		"duration":     ofEvent(func(x *Occurrences) any { return seconds(x.Duration) }),
		"fitting":      ofEvent(func(x *Occurrences) any { return float64(x.Fitted) / float64(x.Fitted+x.Stray) }),
		"head":         ofEvent(func(x *Occurrences) any { return vector(x.Head) }),
		"tail":         ofEvent(func(x *Occurrences) any { return vector(x.Tail) }),
		"delayed":      whileDelayed,
		"attributed":   attributed,
		"sum":          reduce(sum),
		"mean":         reduce(mean),
		"others":       reduce(others),
		"deviation":    reduce(deviation),
		"max":          reduceAny(slices.Max[[]float64]),
		"min":          reduceAny(slices.Min[[]float64]),
		"above":        above,
		"ratio":        ratio,
		"correlation":  func(_ *evaluator, args []any) (any, error) { return correlation(args[0].(vector), args[1].(vector)) },
		"lost":         func(e *evaluator, args []any) (any, error) { return e.lost(args[0].(string)) },
		"holds":        holds,
		"plural":       plural,
	}
}

func timesOf(e *evaluator, s selection) (any, error) {
	v, err := e.times(s)
	if err != nil {
		return nil, err
	}
	return e.chosen(v, s.roles)
}

func callsEach(e *evaluator, s selection) (any, error) {
	v, err := e.vector("calls", e.countable(s), func(_ *node, r run.RankTime) float64 { return float64(r.Calls) })
	if err != nil {
		return nil, err
	}
	return e.chosen(v, s.roles)
}

func callsBelow(e *evaluator, args []any) (any, error) {
	limit := knowledge.Float(args[1])
	e, s, err := e.selection(append([]any{args[0]}, args[2:]...))
	if err != nil {
		return nil, err
	}
	return e.sum(s, func(n *node) (below float64) {
		for _, size := range n.Sizes {
			if float64(size.Below) <= limit {
				below += float64(size.Calls)
			}
		}
		return below
	})
}

// ofPlace makes a function of a place, or of several as one.
func ofPlace(compute func(e *evaluator, p place) any) function {
	return func(e *evaluator, args []any) (any, error) {
		var all place
		for _, a := range args {
			p, ok := a.(place)
			if !ok {
				return nil, fmt.Errorf("%T is no place", a)
			}
			all.at, all.worth = slices.Concat(all.at, p.at), slices.Concat(all.worth, p.worth)
		}
		return compute(e, all), nil
	}
}

func nameOfPlace(e *evaluator, args []any) (any, error) {
	if p, ok := args[0].(place); ok && len(p.at) > 0 {
		return e.nodes[p.at[0]].Name, nil
	}
	return e.write(args[0]), nil
}

func sizeOf(e *evaluator, args []any) (any, error) {
	set, err := e.members(args[0].(role))
	return float64(len(set)), err
}

func membersOf(e *evaluator, args []any) (any, error) {
	set, err := e.members(args[0].(role))
	return set, err
}

func waitCost(e *evaluator, args []any) (any, error) {
	if e.r.Waits == nil {
		return 0.0, nil
	}
	return (&waits{e.data, e.r.Waits}).waiting(args[0].(string)), nil
}

func beyond(_ *evaluator, args []any) (any, error) {
	limit, total := knowledge.Float(args[0]), 0.0
	for _, a := range args[1:] {
		if x := knowledge.Float(a); x >= limit {
			total += x
		}
	}
	return total, nil
}

func seen(e *evaluator, s selection) (any, error) {
	found := 0.0
	err := e.each(s, func(*node, func(int) bool) { found = 1 })
	return found, err
}

func ramp(_ *evaluator, args []any) (any, error) {
	x, low, high := knowledge.Float(args[0]), knowledge.Float(args[1]), knowledge.Float(args[2])
	return min(1, max(0, (x-low)/(high-low))), nil
}

func frontTime(_ *evaluator, args []any) (any, error) {
	work, messages, depth, block := knowledge.Float(args[0]), knowledge.Float(args[1]), knowledge.Float(args[2]), knowledge.Float(args[3])
	return (work/block + depth - 1) * (block + messages), nil
}

func bestBlock(_ *evaluator, args []any) (any, error) {
	work, messages, depth := knowledge.Float(args[0]), knowledge.Float(args[1]), knowledge.Float(args[2])
	return min(work, math.Sqrt(work*messages/max(depth-1, 0))), nil
}

func others(v vector) float64 {
	return (sum(v) - slices.Max(v)) / float64(len(v)-1)
}

func deviation(v vector) float64 {
	m, sq := mean(v), 0.0
	for _, x := range v {
		sq += (x - m) * (x - m)
	}
	return math.Sqrt(sq / float64(len(v)))
}

func above(e *evaluator, args []any) (any, error) {
	v, limit := args[0].(vector), knowledge.Float(args[1])
	if len(v) != len(e.ranks) {
		return nil, errors.New("above takes a value for every rank")
	}
	set := rankSet{}
	for i, x := range v {
		if x >= limit {
			set = append(set, e.ranks[i])
		}
	}
	return set, nil
}

func ratio(_ *evaluator, args []any) (any, error) {
	x, y := args[0].(vector), args[1].(vector)
	if len(x) != len(y) {
		return nil, errors.New("ratio takes values of the same ranks")
	}
	out := vector{}
	for i := range x {
		if y[i] != 0 {
			out = append(out, x[i]/y[i])
		}
	}
	return out, nil
}

func holds(e *evaluator, args []any) (any, error) {
	return map[bool]float64{true: 1}[e.holdsFact(args[0].(string))], nil
}

func plural(_ *evaluator, args []any) (any, error) {
	n := 0.0
	switch x := args[0].(type) {
	case rankSet:
		n = float64(len(x))
	default:
		n = knowledge.Float(x)
	}
	if n == 1 {
		return args[1], nil
	}
	return args[2], nil
}

// selection reads a component or place, and filters; and says in which scope it is.
func (e *evaluator) selection(args []any) (*evaluator, selection, error) {
	s := selection{component: "all"}
	switch x := args[0].(type) {
	case component:
		e, s.component = x.of, x.name
	case place:
		if s.at = x.at; len(s.at) == 0 {
			return e, s, errNowhere
		}
	default:
		return e, s, fmt.Errorf("%T is no component", x)
	}
	for _, a := range args[1:] {
		switch x := a.(type) {
		case role:
			s.roles = append(s.roles, string(x))
		case class:
			s.class |= classBits[string(x)]
		case abstract:
			s.events = append(s.events, string(x))
		}
	}
	if len(s.events) > 0 && e.events == nil {
		return e, s, missing{"events"}
	}
	return e, s, nil
}

// polled is how long the tests of a call path were repeated until they found something, beside waiting for what was not
// sent yet; what they took themselves where none did.
func polled(n *node) float64 {
	switch {
	case n.op != record.OpTest:
		return 0
	case n.Polled == 0:
		return n.seconds
	}
	return float64(n.Polled-min(n.Polled, n.Waiting)) / 1e9
}

// errNowhere says that a place was not found: no call path belongs to its component.
var errNowhere = errors.New("there is no such call path")

// time is seconds of core time.
func (e *evaluator) time(s selection) (float64, error) {
	if len(s.events) > 0 {
		return e.within(s)
	}
	if e.split(s) {
		v, err := e.times(s)
		return sum(v), err
	}
	return e.sum(s, func(n *node) float64 { return n.seconds })
}

// countable restricts a selection to calls, if there are any.
func (e *evaluator) countable(s selection) selection {
	if s.class == 0 {
		inMPI := s
		inMPI.class = classCommunication
		any := false
		e.each(inMPI, func(*node, func(int) bool) { any = true })
		if any {
			return inMPI
		}
	}
	return s
}

// slowest is known of a single call path, however many ranks there are.
func slowest(e *evaluator, s selection) (any, error) {
	most, count := 0.0, 0
	err := e.each(s, func(n *node, ranks func(int) bool) {
		most = max(most, float64(n.Exclusive.Max)/n.per)
		if count++; ranks != nil {
			count = 2
		}
	})
	if err != nil {
		return nil, err
	}
	if count == 1 {
		return most, nil
	}
	v, err := e.times(s)
	if _, unknown := err.(missing); unknown && s.at != nil {
		return most, nil
	}
	if err != nil || len(v) == 0 {
		return 0.0, err
	}
	return slices.Max(v), nil
}

// ranksIn is how many ranks come to a selection.
func ranksIn(e *evaluator, s selection) (float64, error) {
	var most uint64
	seen := map[int32]bool{}
	err := e.each(s, func(n *node, ranks func(int) bool) {
		if ranks == nil {
			most = max(most, n.Exclusive.N)
		}
		for _, r := range n.PerRank {
			if i, ok := e.index[int(r.Rank)]; ok && (ranks == nil || ranks(i)) && r.Exclusive > 0 {
				seen[r.Rank] = true
			}
		}
	})
	return max(float64(most), float64(len(seen))), err
}

// evenly is how often the rank that comes to a selection least does so, in times of the one that does most. Where the ranks
// that come there are not all listed, it tells only whether all of them do.
func evenly(e *evaluator, s selection) (any, error) {
	passages, err := e.vector("passages", s, func(_ *node, r run.RankTime) float64 { return float64(r.Calls) })
	if _, unknown := err.(missing); unknown {
		n, err := ranksIn(e, s)
		return map[bool]float64{true: 1}[n >= float64(len(e.ranks))], err
	}
	if err != nil || len(passages) == 0 || slices.Max(passages) == 0 {
		return 0.0, err
	}
	return slices.Min(passages) / slices.Max(passages), nil
}

// reaching gives the ranks that spend at least some time in the selection, of those whose share is known.
func reaching(e *evaluator, args []any) (any, error) {
	limit := knowledge.Float(args[1])
	e, s, err := e.selection(append([]any{args[0]}, args[2:]...))
	if err != nil {
		return nil, err
	}
	v := make([]float64, len(e.ranks))
	err = e.each(s, func(n *node, ranks func(int) bool) {
		for _, r := range n.PerRank {
			if i, ok := e.index[int(r.Rank)]; ok && (ranks == nil || ranks(i)) {
				v[i] += float64(r.Exclusive) / n.per
			}
		}
	})
	set := rankSet{}
	for i, x := range v {
		if x > 0 && x >= limit*(1-1e-9) {
			set = append(set, e.ranks[i])
		}
	}
	return set, err
}

// ofEvent makes a function of the occurrences of an abstract event.
func ofEvent(pick func(*Occurrences) any) function {
	return func(e *evaluator, args []any) (any, error) {
		x, err := e.recognize(e.scope.Model.Event(string(args[0].(abstract))))
		if err != nil {
			return nil, err
		}
		return pick(x), nil
	}
}

// within is the time of a component inside the occurrences of an abstract event.
func (e *evaluator) within(s selection) (float64, error) {
	if s.at != nil || len(s.events) > 1 || len(s.roles) > 0 || s.class != 0 {
		return 0, errors.New("within an event it is the time of a whole component that is known")
	}
	x, err := e.recognize(e.scope.Model.Event(s.events[0]))
	if err != nil {
		return 0, err
	}
	return seconds(x.Time[s.component]), nil
}

// only keeps the values of the ranks with a role.
func (e *evaluator) only(v []float64, name role) (any, error) {
	return e.chosen(v, []string{string(name)})
}

func (e *evaluator) chosen(v []float64, roles []string) (any, error) {
	if len(roles) == 0 {
		return vector(v), nil
	}
	out := vector{}
	for i, x := range v {
		in := true
		for _, name := range roles {
			has, err := e.role(name)
			if err != nil {
				return nil, err
			}
			in = in && has[i]
		}
		if in {
			out = append(out, x)
		}
	}
	return out, nil
}

func (e *evaluator) members(name role) (rankSet, error) {
	has, err := e.role(string(name))
	set := rankSet{}
	for i, in := range has {
		if in {
			set = append(set, e.ranks[i])
		}
	}
	return set, err
}

func passed(e *evaluator, args []any) (any, error) {
	from, err := e.role(string(args[0].(role)))
	if err != nil {
		return nil, err
	}
	to, err := e.role(string(args[1].(role)))
	if err != nil {
		return nil, err
	}
	if e.graph == nil {
		return nil, missing{"peers"}
	}
	var n uint64
	for i, out := range e.graph.Out {
		for _, edge := range out {
			if from[i] && to[edge.To] {
				n += edge.Messages
			}
		}
	}
	return float64(n), nil
}

func position(e *evaluator, args []any) (any, error) {
	if e.graph == nil {
		return nil, missing{"peers"}
	}
	v := make([]float64, len(e.ranks))
	for i, l := range e.graph.Layers() {
		v[i] = float64(l)
	}
	if len(args) == 0 {
		return vector(v), nil
	}
	return e.only(v, args[0].(role))
}

func ofGraph(compute func(g *structure.Graph) float64) function {
	return func(e *evaluator, _ []any) (any, error) {
		if e.graph == nil {
			return nil, missing{"peers"}
		}
		return compute(e.graph), nil
	}
}

func depth(e *evaluator, _ []any) (any, error) {
	if e.graph == nil {
		return nil, missing{"peers"}
	}
	layers := e.graph.Layers()
	if len(layers) == 0 {
		return math.NaN(), nil
	}
	return float64(slices.Max(layers) + 1), nil
}

func reduceAny(best func([]float64) float64) function {
	return func(_ *evaluator, args []any) (any, error) {
		if v, ok := args[0].(vector); ok {
			if len(v) == 0 {
				return math.NaN(), nil
			}
			return best(v), nil
		}
		var list []float64
		for _, a := range args {
			x := knowledge.Float(a)
			if math.IsNaN(x) {
				return x, nil
			}
			list = append(list, x)
		}
		return best(list), nil
	}
}

func correlation(x, y vector) (any, error) {
	if len(x) != len(y) || len(x) < 2 {
		return math.NaN(), nil
	}
	mx, my := mean(x), mean(y)
	var xx, yy, xy float64
	for i := range x {
		xx += (x[i] - mx) * (x[i] - mx)
		yy += (y[i] - my) * (y[i] - my)
		xy += (x[i] - mx) * (y[i] - my)
	}
	return xy / math.Sqrt(xx*yy), nil
}

// write puts a value into words.
func (d *data) write(v any) string {
	switch x := v.(type) {
	case rankSet:
		return words.Ranks(x)
	case component:
		return x.name
	case place:
		if len(x.at) == 0 {
			return "nowhere"
		}
		return d.where(x.at[0])
	}
	return fmt.Sprint(v)
}

// link is how many messages go forth and back between the two ranks that have most.
func link(g *structure.Graph) float64 {
	most := uint64(0)
	for _, out := range g.Out {
		for _, edge := range out {
			most = max(most, edge.Messages+g.Sent(edge.To, edge.From))
		}
	}
	return float64(most)
}

// onward is the part of what ranks compute before messages that is before those that go the way of the last one.
func onward(e *evaluator, args []any) (any, error) {
	on, back := 0.0, 0.0
	for _, p := range e.r.Peers {
		on, back = on+float64(p.OnwardNs), back+float64(p.BackNs)
	}
	if on+back == 0 {
		return args[0], nil
	}
	return on / (on + back), nil
}

// turns is how often messages between two ranks go the other way than those before.
func turns(e *evaluator, _ []any) (any, error) {
	if e.graph == nil {
		return nil, missing{"peers"}
	}
	// Both ranks of a pair see the same turns, and by chance one of them more.
	seen, most := map[[2]int]uint64{}, uint64(0)
	for _, p := range e.r.Peers {
		pair := [2]int{min(p.Rank, p.To), max(p.Rank, p.To)}
		if n, again := seen[pair]; again {
			most = max(most, min(n, p.Turns))
		}
		seen[pair] = p.Turns
	}
	return float64(most), nil
}

// inPairs is the part of the rounds between two pieces of computing in which a rank exchanges messages with one other only, that of the
// rank for which it is least.
func inPairs(e *evaluator, _ []any) (any, error) {
	if e.graph == nil {
		return nil, missing{"peers"}
	}
	type side struct{ alone, rounds, ns, most, partners uint64 }
	ranks := map[int]side{}
	for _, p := range e.r.Peers {
		s := ranks[p.Rank]
		before := p.OnwardNs + p.BackNs
		s.alone, s.rounds, s.partners = s.alone+p.Alone, s.rounds+p.Rounds, s.partners+1
		s.ns, s.most = s.ns+before, max(s.most, before)
		ranks[p.Rank] = s
	}
	least, several := 1.0, false
	for _, s := range ranks {
		if s.partners < 2 || s.rounds == 0 {
			continue
		}
		several = true
		if float64(s.ns-s.most) < beforeOthers*float64(s.ns) {
			return 0.0, nil
		}
		least = min(least, float64(s.alone)/float64(s.rounds))
	}
	if !several {
		return 0.0, nil
	}
	return least, nil
}

// beforeOthers is the part of what a rank computes from which on it computes for its exchanges with several partners, each by itself,
// and does not only copy messages together between them.
const beforeOthers = 0.05
