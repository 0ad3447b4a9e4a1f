package diagnosis

import (
	"slices"

	"marple/analysis/knowledge"
	"marple/analysis/pattern"
)

// Events is the sequence of events of a run, rank by rank. Times are nanoseconds of the rank's clock.
type Events interface {
	// Replay goes through the events of a rank of MPI_COMM_WORLD, computation between two calls included. It
	// tells when its measurement began and ended.
	Replay(rank int, visit func(*Event)) (begin, end uint64, err error)
	// Node is the ID of the call path that events with this number belong to, as in the run.
	Node(path uint32) string
	// Communicator is the name of a communicator of the rank that is being replayed.
	Communicator(comm uint16) string
}

// Event is a call of an MPI function, or the computation between two. Peer is a rank of MPI_COMM_WORLD, or -1.
type Event struct {
	Path            uint32
	Comm            uint16
	Peer, Tag       int32
	Start, Duration uint64
}

// Occurrences of an abstract event. Times are nanoseconds.
type Occurrences struct {
	Count, Duration uint64
	Fitted, Stray   uint64            // events of its components that are part of an occurrence, and that are not
	Time            map[string]uint64 // within occurrences, by component
	Head, Tail      []float64         // seconds, per rank that it is looked for on
}

// noise is the longest computation between two calls that is none: the loop around them.
const noise = 2000 // ns

// maxPaths bounds the numbers of call paths.
const maxPaths = 1 << 20

// recognizer fits the events of one rank into one abstract event of a scope, as they flow. Components that consist of
// several events, because they are known by the function or region around these, are one event each time.
type recognizer struct {
	entries  []entry // by path
	resolve  func(e *Event) entry
	told     map[told]entry // of paths whose events differ
	wide     []bool         // by symbol: may consist of several events
	matcher  *pattern.Matcher
	open     int32 // the component that may go on, none
	from, to uint64
}

// entry says what the events of a call path are.
type entry struct {
	symbol      int32 // of the machine, or none
	known       bool  // whatever the event
	computation bool
}

// told is what may tell events of a path apart.
type told struct {
	path      uint32
	comm      uint16
	peer, tag int32
}

// mostTold bounds how many of these are remembered.
const mostTold = 1 << 16

// differs finds out what an event is whose path does not say it.
func (r *recognizer) differs(e *Event) entry {
	key := told{e.Path, e.Comm, e.Peer, e.Tag}
	x, ok := r.told[key]
	if !ok {
		x = r.resolve(e)
		r.remember(e.Path, x)
		if len(r.told) < mostTold {
			r.told[key] = x
		}
	}
	return x
}

// feed takes the next event.
func (r *recognizer) feed(e *Event) {
	var x entry
	if int(e.Path) < len(r.entries) {
		x = r.entries[e.Path]
	}
	if !x.known {
		x = r.differs(e)
	}
	switch {
	case x.symbol == r.open && x.symbol >= 0:
		r.to = e.Start + e.Duration
	case x.computation && e.Duration < noise:
	default:
		r.flush()
		switch {
		case x.symbol < 0:
		case r.wide[x.symbol]:
			r.open, r.from, r.to = x.symbol, e.Start, e.Start+e.Duration
		default:
			r.matcher.Feed(int(x.symbol), e.Start, e.Duration)
		}
	}
}

// flush ends a component that consists of several events.
func (r *recognizer) flush() {
	if r.open >= 0 {
		r.matcher.Feed(int(r.open), r.from, r.to-r.from)
		r.open = none
	}
}

func (r *recognizer) remember(path uint32, x entry) {
	if path >= maxPaths || !x.known {
		return
	}
	if more := int(path) + 1 - len(r.entries); more > 0 {
		r.entries = append(r.entries, make([]entry, max(more, 64))...)
	}
	r.entries[path] = x
}

// recognize finds the occurrences of an abstract event on all ranks that it is looked for on.
func (c *context) recognize(e *knowledge.AbstractEvent) (*Occurrences, error) {
	if known, ok := c.occurrences[e.Name]; ok {
		return known, nil
	}
	if c.events == nil {
		return nil, missing{"events"}
	}
	names := symbols(e)
	machine, err := pattern.Compile(e.Is, names)
	if err != nil {
		return nil, err
	}
	on := make([]bool, len(c.ranks))
	for i := range on {
		on[i] = true
	}
	if e.On != "" {
		if on, err = c.role(e.On); err != nil {
			return nil, err
		}
	}
	out := &Occurrences{Time: map[string]uint64{}, Head: []float64{}, Tail: []float64{}}
	for i, rank := range c.ranks {
		if !on[i] {
			continue
		}
		var first, last uint64
		any := false
		r := c.newRecognizer(i, names, machine, func(x *pattern.Instance) {
			if !any {
				first, any = x.Start, true
			}
			last = x.End
			out.Count++
			out.Duration += x.End - x.Start
			for s, part := range x.Parts {
				out.Time[names[s]] += part.Time
				out.Fitted += part.Count
			}
		})
		begin, end, err := c.events.Replay(rank, r.feed)
		if err != nil {
			return nil, missing{"events"}
		}
		r.flush()
		r.matcher.Flush()
		for _, n := range r.matcher.Stray {
			out.Stray += n
		}
		if !any { // the whole time is before the first, and none after the last
			first, last = end, end
		}
		out.Head = append(out.Head, seconds(first-min(first, begin)))
		out.Tail = append(out.Tail, seconds(end-min(end, last)))
	}
	c.occurrences[e.Name] = out
	return out, nil
}

// symbols are the components of an abstract event, each once.
func symbols(e *knowledge.AbstractEvent) (names []string) {
	for _, leaf := range e.Is.Leaves() {
		if !slices.Contains(names, leaf.Name) {
			names = append(names, leaf.Name)
		}
	}
	return names
}

// newRecognizer makes a recognizer for a rank; names are the machine's symbols.
func (c *context) newRecognizer(rank int, names []string, machine *pattern.Machine, complete func(*pattern.Instance)) *recognizer {
	r := &recognizer{matcher: pattern.NewMatcher(machine, complete), told: map[told]entry{}, open: none}
	symbol := map[int]int32{} // of a component
	for s, name := range names {
		part := c.number[name]
		symbol[part] = int32(s)
		r.wide = append(r.wide, slices.ContainsFunc(c.parts[part].Match, func(one *knowledge.Condition) bool { return !one.Leaf() }))
	}
	class := c.class[rank]
	r.resolve = func(e *Event) entry {
		x := entry{symbol: none, known: true}
		i, ok := c.byID()[c.events.Node(e.Path)]
		if !ok {
			return x
		}
		part := c.assign[class][i]
		if c.differ(class, i) {
			part, x.known = c.componentOf(rank, i, e), false
		}
		for ; part >= 0; part = c.above[part] {
			if s, ok := symbol[part]; ok {
				x.symbol = s
				break
			}
		}
		x.computation = c.nodes[i].class == classComputation
		return x
	}
	return r
}
