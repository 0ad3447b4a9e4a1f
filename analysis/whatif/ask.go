package whatif

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"marple/analysis/callgraph"
	"marple/analysis/knowledge"
	"marple/analysis/mpi"
	"marple/analysis/run"
	"marple/analysis/waitstate"
	"marple/analysis/words"
)

// Question is what a user asks for, in words; of each there may be several.
type Question struct {
	Scale   []string // WHERE=FACTOR, where WHERE is a function, a call (NAME or NAME@FILE:LINE), or "rank 3", "ranks 0-2,5"
	Balance []string // WHERE, or all
	Network string   // latency=QUANTITY,bandwidth=QUANTITY; or ideal
	Remove  []string // calls
	// Nonblocking are calls, each with the call before which they are waited for, if that is not the next one: "CALL until CALL".
	Nonblocking []string
	Early       []string // calls whose receives are posted early
	Cores       bool     // a core for each rank
}

// Scenario is what a question is about. Errors name the flag, what was expected, and what is near.
func (q Question) Scenario(r *run.Run) (s waitstate.Scenario, err error) {
	at := newIndex(r)
	if q.Cores {
		s = append(s, waitstate.CoreForEach()...)
	}
	for _, asked := range []struct {
		texts []string
		read  func(string) (waitstate.Change, error)
	}{{q.Scale, at.scale}, {q.Balance, at.balance}, {q.Remove, at.remove}, {q.Nonblocking, at.nonblocking}, {q.Early, at.early}} {
		for _, text := range asked.texts {
			c, err := asked.read(text)
			if err != nil {
				return nil, err
			}
			s = append(s, c)
		}
	}
	if q.Network != "" {
		c, err := network(q.Network)
		if err != nil {
			return nil, fmt.Errorf("--network: %w", err)
		}
		s = append(s, c)
	}
	return s, nil
}

// scale reads WHERE=FACTOR.
func (at *index) scale(text string) (c waitstate.Change, err error) {
	where, factor, found := strings.Cut(text, "=")
	f, err := strconv.ParseFloat(factor, 64)
	if !found || err != nil || !(f >= 0 && f <= 1000) {
		return c, fmt.Errorf("--scale: %q: expected WHERE=FACTOR with a factor from 0 to 1000, as in assemble=0.5", text)
	}
	c = waitstate.Change{Kind: waitstate.Scale, Factor: f}
	if list, of := ranksOf(where); of {
		if c.Ranks, err = parseRanks(list, len(at.r.Replay.Lanes)); err != nil {
			return c, fmt.Errorf("--scale: %q: %w", text, err)
		}
	} else if c.Paths, err = at.find(where, callgraph.KindGap, callgraph.KindMPI); err != nil {
		return c, fmt.Errorf("--scale: %w", err)
	}
	return c, nil
}

// balance reads a place, or all.
func (at *index) balance(where string) (c waitstate.Change, err error) {
	c = waitstate.Change{Kind: waitstate.Balance}
	if where == "all" {
		return c, nil
	}
	if c.Paths, err = at.find(where, callgraph.KindGap); err != nil {
		if calls, failed := at.find(where, callgraph.KindMPI); failed == nil { // what is done before them
			c.Paths, err = at.r.Replay.Before(calls), nil
		}
	}
	if err != nil {
		return c, fmt.Errorf("--balance: %w", err)
	}
	return c, nil
}

// remove reads the place of a collective operation.
func (at *index) remove(where string) (c waitstate.Change, err error) {
	c = waitstate.Change{Kind: waitstate.Remove}
	if c.Paths, err = at.find(where, callgraph.KindMPI); err == nil {
		maps.DeleteFunc(c.Paths, func(id callgraph.ID, _ float64) bool { return !at.r.Replay.Collective(id) })
		if len(c.Paths) == 0 {
			err = fmt.Errorf("%q: expected a collective operation; messages are needed for what they carry", where)
		}
	}
	if err != nil {
		return c, fmt.Errorf("--remove: %w", err)
	}
	return c, nil
}

// nonblocking reads the place of a blocking call, and where it is waited for.
func (at *index) nonblocking(text string) (c waitstate.Change, err error) {
	c = waitstate.Change{Kind: waitstate.Nonblocking}
	where, until, later := strings.Cut(text, " until ")
	c.Paths, err = at.calls(where, blocks,
		"a call that blocks and has a form that does not, as MPI_Allreduce has MPI_Iallreduce")
	if err == nil && later {
		c.Until, err = at.find(until, callgraph.KindMPI)
	}
	if err != nil {
		return c, fmt.Errorf("--nonblocking: %w", err)
	}
	return c, nil
}

// early reads the place of receives.
func (at *index) early(where string) (c waitstate.Change, err error) {
	c = waitstate.Change{Kind: waitstate.Early}
	if c.Paths, err = at.calls(where, (*mpi.Function).Posts, "a call that posts a receive, as MPI_Recv or MPI_Irecv"); err != nil {
		return c, fmt.Errorf("--early: %w", err)
	}
	return c, nil
}

// calls finds those of MPI that are of some sort.
func (at *index) calls(where string, fit func(*mpi.Function) bool, expected string) (map[callgraph.ID]float64, error) {
	paths, err := at.find(where, callgraph.KindMPI)
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(paths, func(id callgraph.ID, _ float64) bool { return !is(at.nodes[id], fit) })
	if !at.r.Replay.Has(paths) {
		return nil, fmt.Errorf("%q: expected %s", where, expected)
	}
	return paths, nil
}

func blocks(f *mpi.Function) bool { return f.Nonblocking() != nil }

// is tells whether a node is a call of a function of some sort.
func is(n *run.Node, fit func(*mpi.Function) bool) bool {
	if n == nil {
		return false
	}
	f := mpi.Of(n.Name)
	return f != nil && fit(f)
}

// network reads what a network is like.
func network(text string) (c waitstate.Change, err error) {
	if text == "ideal" {
		return waitstate.Change{Kind: waitstate.Free}, nil
	}
	c.Kind = waitstate.Network
	given := map[string]bool{}
	for _, part := range strings.Split(text, ",") {
		key, value, _ := strings.Cut(part, "=")
		x, unit, err := knowledge.ParseQuantity(value)
		switch {
		case given[key]:
			return c, fmt.Errorf("%q: %s stands there twice", text, key)
		case key == "latency" && err == nil && unit.Name == "s" && x >= 0 && x <= 3600:
			c.Latency = x * 1e9
		case key == "bandwidth" && err == nil && unit.Name == "B/s" && x >= 1:
			c.PerByte = 1e9 / x
		default:
			return c, fmt.Errorf("%q: expected latency=1us,bandwidth=10GB/s, or ideal", text)
		}
		given[key] = true
	}
	if len(given) < 2 {
		return c, fmt.Errorf("%q: expected both, a latency and a bandwidth, as in latency=1us,bandwidth=10GB/s", text)
	}
	return c, nil
}

func ranksOf(where string) (list string, of bool) {
	for _, word := range []string{"rank ", "ranks "} {
		if list, of = strings.CutPrefix(where, word); of {
			return list, true
		}
	}
	return "", false
}

// parseRanks reads "0-2,5".
func parseRanks(text string, ranks int) (list []int32, err error) {
	for _, part := range strings.Split(text, ",") {
		low, high, several := strings.Cut(strings.TrimSpace(part), "-")
		if !several {
			high = low
		}
		first, e1 := strconv.Atoi(low)
		last, e2 := strconv.Atoi(high)
		if e1 != nil || e2 != nil || first < 0 || last < first || last >= ranks {
			return nil, fmt.Errorf("expected ranks from 0 to %d, as in 0-2,5", ranks-1)
		}
		for rank := first; rank <= last; rank++ {
			list = append(list, int32(rank))
		}
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

// index finds call paths by what people call them.
type index struct {
	r     *run.Run
	under map[string][]*run.Node // by name of a function or region: what lies below it; of a call: its nodes
	nodes map[callgraph.ID]*run.Node
}

func newIndex(r *run.Run) *index {
	x := &index{r, map[string][]*run.Node{}, map[callgraph.ID]*run.Node{}}
	var visit func(n *run.Node, above []string)
	visit = func(n *run.Node, above []string) {
		if id, err := strconv.ParseUint(n.ID, 16, 64); err == nil {
			x.nodes[callgraph.ID(id)] = n
		}
		switch kind := callgraph.ParseKind(n.Kind); kind {
		case callgraph.KindRoot:
		case callgraph.KindGap, callgraph.KindMPI:
			names := slices.Clone(above)
			if kind == callgraph.KindMPI {
				names = append(names, n.Name, n.Name+"@"+n.File, fmt.Sprintf("%s@%s:%d", n.Name, n.File, n.Line), n.Name+"@"+n.Site)
			}
			for _, i := range n.Inlined {
				names = append(names, i.Function)
			}
			slices.Sort(names)
			for _, name := range append(slices.Compact(names), n.ID) {
				x.under[name] = append(x.under[name], n)
			}
		default:
			above = append(above[:len(above):len(above)], n.Name)
		}
		for _, c := range n.Children {
			visit(c, above)
		}
	}
	for _, root := range r.CallGraph {
		visit(root, nil)
	}
	return x
}

// find gives the paths of some kinds in or below what is named, each with the part of its time that is there.
func (x *index) find(name string, kinds ...callgraph.Kind) (map[callgraph.ID]float64, error) {
	paths := map[callgraph.ID]float64{}
	for _, n := range x.under[name] {
		id, err := strconv.ParseUint(n.ID, 16, 64)
		if err != nil || !slices.Contains(kinds, callgraph.ParseKind(n.Kind)) {
			continue
		}
		if n.Of == "" {
			paths[callgraph.ID(id)] = 1
			continue
		}
		of, err := strconv.ParseUint(n.Of, 16, 64)
		if err != nil || paths[callgraph.ID(of)] == 1 {
			continue
		}
		if all := x.whole(callgraph.ID(of)); all > 0 {
			paths[callgraph.ID(of)] = min(1, paths[callgraph.ID(of)]+float64(n.Exclusive.Sum)/float64(all))
		}
	}
	if len(paths) > 0 && x.r.Replay.Has(paths) {
		return paths, nil
	}
	if len(x.under[name]) > 0 {
		return nil, fmt.Errorf("%q: nothing that is replayed is known to be there; --sample tells which functions ranks compute in between calls", name)
	}
	known := slices.Sorted(maps.Keys(x.under))
	known = slices.DeleteFunc(known, func(k string) bool { _, e := strconv.ParseUint(k, 16, 64); return len(k) == 16 && e == nil })
	if near := words.Closest(name, known); near != "" {
		return nil, fmt.Errorf("%q: no such function or call in the run; did you mean %q?", name, near)
	}
	if i := slices.IndexFunc(known, func(k string) bool { return strings.HasPrefix(k, name) || strings.HasPrefix(name, k+"@") }); i >= 0 {
		known = slices.Insert(slices.Delete(known, i, i+1), 0, known[i])
	}
	return nil, fmt.Errorf("%q: no such function or call in the run; expected one of %s", name, strings.Join(known[:min(8, len(known))], ", "))
}

// whole is the time of a gap with that of the places in it that were sampled.
func (x *index) whole(gap callgraph.ID) (sum uint64) {
	for _, n := range x.nodes {
		if n.Of == run.NodeID(gap) {
			sum += n.Exclusive.Sum
		}
	}
	if n := x.nodes[gap]; n != nil {
		sum += n.Exclusive.Sum
	}
	return sum
}
