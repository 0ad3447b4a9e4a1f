package waitstate

import (
	"math"
	"slices"

	"marple/analysis/callgraph"
)

// balance makes ranks do equally much: on the paths that it is about together, else on each path.
func (x *player) balance(c *Change) {
	parts := x.parts(c)
	if x.alone(c.Paths) {
		for _, ranks := range parts {
			x.share(c, ranks)
		}
		return
	}
	x.even(c, parts)
}

// parts of the run that are balanced by themselves, one for each stretch and path, or all paths of the change together: the calls before
// which a rank is there, by rank.
func (x *player) parts(c *Change) [][][]uint32 {
	ids := []callgraph.ID{0}
	if c.Paths == nil {
		ids = nil
		for rank := range x.lanes {
			if c.holds(x.p.first + rank) {
				ids = append(ids, x.p.Lanes[rank].Paths...)
			}
		}
		ids = x.union(ids)
	}
	stretches := len(x.p.Stretches) + 1
	parts := make([][][]uint32, len(ids)*stretches)
	for rank := range x.lanes {
		l := &x.p.Lanes[rank]
		if !c.holds(x.p.first + rank) {
			continue
		}
		t, stretch := l.Begin, 0
		for k := range l.Calls {
			t += l.Calls[k].Gap
			for stretch < len(x.p.Stretches) && x.p.Stretches[stretch] <= t {
				stretch++
			}
			t += l.Calls[k].Took
			id := l.Paths[l.Calls[k].GapPath]
			if c.part(id) == 0 {
				continue
			}
			if c.Paths != nil {
				id = 0
			}
			at, _ := slices.BinarySearch(ids, id)
			at = at*stretches + stretch
			if parts[at] == nil {
				parts[at] = make([][]uint32, len(x.lanes))
			}
			parts[at][rank] = append(parts[at][rank], uint32(k))
		}
	}
	return parts
}

// shares are the numbers by which parts are made even. Where all ranks are there equally often, the k-th time is one by itself, else all
// that a rank does there; a part where one rank is has none.
type shares struct {
	present []int64 // ranks, by part
	often   []int64 // the times all are there; -1: they differ
	first   []int   // number of the first of a part, and one more for the end
}

func (x *player) shares(c *Change, parts [][][]uint32) shares {
	n := len(parts)
	s := shares{present: make([]int64, n), often: make([]int64, n), first: make([]int, n+1)}
	extremes := make([]int64, 2*n) // how often at most, and less than nothing, at least
	for at, ranks := range parts {
		extremes[n+at] = -math.MaxInt64
		for _, calls := range ranks {
			if k := int64(len(calls)); k > 0 {
				s.present[at]++
				extremes[at], extremes[n+at] = max(extremes[at], k), max(extremes[n+at], -k)
			}
		}
	}
	s.present, extremes = x.fold(s.present, sum), x.fold(extremes, highest)
	for at := range parts {
		if s.often[at] = -1; !c.Whole && extremes[at] == -extremes[n+at] {
			s.often[at] = extremes[at]
		}
		s.first[at+1] = s.first[at]
		switch {
		case s.present[at] < 2: // it has the mean
		case s.often[at] >= 0:
			s.first[at+1] += int(s.often[at])
		default:
			s.first[at+1]++
		}
	}
	return s
}

// even gives each rank the mean of those that are there.
func (x *player) even(c *Change, parts [][][]uint32) {
	s := x.shares(c, parts)
	each := func(visit func(at, number int, all int64, rank int, call uint32)) {
		for at, ranks := range parts {
			for rank, calls := range ranks {
				if s.present[at] < 2 || len(calls) == 0 {
					continue
				}
				own := make([]int64, s.first[at+1]-s.first[at])
				for k, call := range calls {
					own[min(k, len(own)-1)] += x.portion(c, rank, call)
				}
				for k, call := range calls {
					k = min(k, len(own)-1)
					visit(at, s.first[at]+k, own[k], rank, call)
				}
			}
		}
	}
	sums := make([]int64, s.first[len(parts)])
	each(func(_, number int, _ int64, rank int, call uint32) { sums[number] += x.portion(c, rank, call) })
	sums = x.fold(sums, sum)
	each(func(at, number int, all int64, rank int, call uint32) {
		g, own := &x.lanes[rank].gaps[call], float64(x.portion(c, rank, call))
		switch mean := float64(sums[number]) / float64(s.present[at]); {
		case s.often[at] >= 0:
			*g += int64(math.Round(mean - own))
		case all > 0:
			*g += int64(math.Round(own * (mean/float64(all) - 1)))
		}
	})
}

// share has all ranks do a part of what one does, each time so much that all who then compute less are done with it at once.
func (x *player) share(c *Change, ranks [][]uint32) {
	s := sharing{x: x, c: c, one: slices.IndexFunc(ranks, func(calls []uint32) bool { return len(calls) > 0 })}
	if s.one >= 0 {
		s.calls, s.began = ranks[s.one], x.p.Lanes[s.one].Begin
	}
	for rank := range x.lanes {
		if rank != s.one && c.holds(x.p.first+rank) {
			s.others = append(s.others, other{rank: rank, left: x.p.Lanes[rank].Begin})
		}
	}
	n := x.fold([]int64{int64(len(s.calls)), int64(len(s.others))}, sum)
	s.together = int(1 + n[0]*n[1]/int64(mostShared))
	turns := (int(n[0]) + s.together - 1) / s.together
	for first := 0; first < turns; first += mostTurns {
		times := make([]turn, min(mostTurns, turns-first))
		s.look(times, first)
		x.level(times)
		s.divide(times)
	}
}

// sharing is what one rank does that others are to do a part of.
type sharing struct {
	x        *player
	c        *Change
	one      int      // lane of that rank; -1: it is elsewhere
	calls    []uint32 // before which it does it
	together int      // so many of them are one turn
	others   []other  // that are here

	next  int // call of the one that began so
	began int64
}

// look finds in each turn what the one does, and how busy the others are meanwhile.
func (s *sharing) look(times []turn, first int) {
	x := s.x
	told := make([]int64, 3*len(times))
	if s.one >= 0 {
		l := &x.p.Lanes[s.one]
		for i := range times {
			t := &times[i]
			t.calls = s.calls[(first+i)*s.together : min(len(s.calls), (first+i+1)*s.together)]
			for _, k := range t.calls {
				told[3*i] += x.portion(s.c, s.one, k)
			}
			last := t.calls[len(t.calls)-1]
			told[3*i+1], told[3*i+2] = s.start(l, t.calls[0]), s.start(l, last)+l.Calls[last].Gap
		}
	}
	told = x.fold(told, sum) // one rank only says what is not 0
	for i := range times {
		t := &times[i]
		t.part, t.each = told[3*i], told[3*i]
		for k := range s.others {
			s.others[k].look(x.p.Lanes[s.others[k].rank].Calls, told[3*i+1], told[3*i+2])
			t.others = append(t.others, s.others[k])
		}
	}
}

// start is when the gap before a call of the one begins; calls rise.
func (s *sharing) start(l *Lane, k uint32) int64 {
	for ; s.next < int(k); s.next++ {
		s.began += l.Calls[s.next].Gap + l.Calls[s.next].Took
	}
	return s.began
}

// divide gives others what they do more, and takes it from the one.
func (s *sharing) divide(times []turn) {
	x, more := s.x, make([]int64, len(times))
	for i := range times {
		for _, o := range times[i].others {
			if less := times[i].each - o.busy; less > 0 {
				x.lanes[o.rank].gaps[o.next] += less // the last gap is behind the calls
				more[i] += less
			}
		}
	}
	more = x.fold(more, sum)
	for i := range times {
		part := float64(times[i].part)
		if part <= 0 {
			continue
		}
		for _, k := range times[i].calls {
			x.lanes[s.one].gaps[k] -= int64(math.Round(float64(x.portion(s.c, s.one, k)) * (float64(more[i]) / part)))
		}
	}
}

// turn is one time, or some, that a rank does something alone.
type turn struct {
	calls      []uint32
	part, each int64   // all of it, and what all do who do no more, if they share it
	others     []other // as they are meanwhile
}

// mostTurns are looked at at once.
const mostTurns = 1 << 10

// level finds what each does: it gets less while there are any who do less.
func (x *player) level(times []turn) {
	for found := false; !found; {
		tallies := make([]int64, 2*len(times))
		for i := range times {
			for _, o := range times[i].others {
				if o.busy < times[i].each {
					tallies[2*i] += o.busy
					tallies[2*i+1]++
				}
			}
		}
		tallies = x.fold(tallies, sum)
		found = true
		for i := range times {
			t := &times[i]
			if each := (t.part + tallies[2*i]) / (1 + tallies[2*i+1]); each < t.each {
				t.each, found = each, false
			}
		}
	}
}

// mostShared times is looked at what another rank does meanwhile; beyond that, times of several come together.
var mostShared = 1 << 22

// other is a rank beside the one that does something alone.
type other struct {
	rank int
	next int   // call that it has not left when that begins
	left int64 // it left the one before
	busy int64 // it computes meanwhile
}

// look finds what the rank does from a time to another; times rise.
func (o *other) look(calls []Act, from, to int64) {
	for ; o.next < len(calls); o.next++ {
		end := o.left + calls[o.next].Gap + calls[o.next].Took
		if end > from {
			break
		}
		o.left = end
	}
	o.busy = 0
	left := o.left
	for k := o.next; k < len(calls) && left < to; k++ {
		entered := left + calls[k].Gap
		o.busy += max(0, min(entered, to)-max(left, from))
		left = entered + calls[k].Took
	}
}
