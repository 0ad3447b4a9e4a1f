package pattern

// Instance is one occurrence of an abstract event on one rank. Times are in the unit of the stream; Parts are
// per symbol of the machine.
type Instance struct {
	Start, End uint64
	Parts      []Part
}

// Part adds up the events of one component within an instance.
type Part struct{ Time, Count uint64 }

// Matcher fits a stream of events into instances: each begins at the first event that can begin one, and is
// as long as it can be. It does not go back: events that belong to no instance are stray.
type Matcher struct {
	// Complete is called with each instance, whose memory is used again afterwards.
	Complete func(*Instance)
	// Stray counts, per symbol, the events that are part of no instance.
	Stray []uint64

	m        *Machine
	state    int
	started  bool
	open     Instance // from its first event on
	accepted Instance // what of it was complete, when later events did not yet complete it again
	kept     bool     // accepted holds something
}

// NewMatcher starts with no instance open.
func NewMatcher(m *Machine, complete func(*Instance)) *Matcher {
	n := len(m.Symbols)
	return &Matcher{Complete: complete, Stray: make([]uint64, n), m: m,
		open: Instance{Parts: make([]Part, n)}, accepted: Instance{Parts: make([]Part, n)}}
}

// Feed takes the next event. Symbols are numbered as in the machine.
func (f *Matcher) Feed(symbol int, start, duration uint64) {
	next := f.m.Next(f.state, symbol)
	if next < 0 {
		f.Flush()
		if next = f.m.Next(0, symbol); next < 0 {
			f.Stray[symbol]++
			return
		}
	}
	if !f.started {
		f.started = true
		f.open.Start = start
	} else if f.m.accepts[f.state] && !f.m.accepts[next] {
		f.keep()
	}
	f.state = next
	f.open.End = start + duration
	part := &f.open.Parts[symbol]
	part.Time += duration
	part.Count++
}

func (f *Matcher) keep() {
	f.kept = true
	f.accepted.Start, f.accepted.End = f.open.Start, f.open.End
	copy(f.accepted.Parts, f.open.Parts)
}

// Flush ends what is open: at the end of the stream, or where something cut it off.
func (f *Matcher) Flush() {
	if !f.started {
		return
	}
	if f.m.accepts[f.state] {
		f.Complete(&f.open)
	} else {
		for s, part := range f.open.Parts {
			if f.kept {
				part.Count -= f.accepted.Parts[s].Count
			}
			f.Stray[s] += part.Count
		}
		if f.kept {
			f.Complete(&f.accepted)
		}
	}
	f.state, f.started, f.kept = 0, false, false
	clear(f.open.Parts)
}
