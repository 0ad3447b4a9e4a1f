package waitstate

import (
	"math/bits"
	"slices"

	"marple/analysis/callgraph"
	"marple/analysis/record"
)

// A message that is not put into the receiver's memory at once, since it is larger than some limit, is moved only while both
// ranks are in MPI, unless a thread or the network does that (MPI 4.1, 2.9; Hoefler and Lumsdaine, Message progression in
// parallel computing, 2008). A rank then waits for one that computes, although both have begun the message before.
//
// Such waits are told from messages that only take long by all of about this size between two ranks: where one rank waits
// while the other computes, hardly any ends before that one comes back to MPI, and what they take from then on is less
// than what they have taken until then.

// mostMovedAlone is for how many of those that end later one may end before.
const mostMovedAlone = 10

// comeback is when a rank called MPI again after it had computed for longest, between the beginning of a message and its completion.
type comeback struct {
	call      uint32 // 0: it did not compute meanwhile
	idle, end int64  // it computed from then to then
	path      callgraph.ID
}

// mostLooked is at how many calls before that which completes a message is looked.
const mostLooked = 64

func (r *Rank) back(m *Message) (b comeback) {
	if m.Done == NotDone || m.Buffered || m.Done <= m.At || int(m.Done) >= r.Main {
		return b
	}
	longest := int64(record.LoopNs)
	for k := m.Done; k > m.At && m.Done-k < mostLooked; k-- {
		if idle, end := r.Calls[k-1].End, r.Calls[k].Start; end-idle > longest {
			b, longest = comeback{k, idle, end, r.Paths[r.Calls[k].Path]}, end-idle
		}
	}
	return b
}

func (b comeback) encode(o *out, at uint32, start int64) {
	o.flag(b.call > 0)
	if b.call > 0 {
		o.number(uint64(b.call - at))
		o.signed(b.idle - start)
		o.number(uint64(b.end - b.idle))
		o.word(uint64(b.path))
	}
}

func decodeComeback(i *in, at uint32, start int64) (b comeback) {
	if i.flag() {
		b.call = at + uint32(i.number())
		b.idle = start + i.signed()
		b.end = b.idle + int64(i.number())
		b.path = callgraph.ID(i.word())
	}
	return b
}

// kin are messages that are moved alike: with one partner, in one direction, of about one size; and who waits for them.
type kin struct {
	partner  int32
	send     bool
	theyWait bool
	digits   uint8 // of the size, binary ones
}

// seen is what waits for messages of a kin show.
type seen struct {
	alone, bound  int   // they ended before the other rank came back from computing, and after that
	waited, after int64 // of those bound: until then, and from then on
}

// stall is what may be a wait for a rank that computed.
type stall struct {
	kin
	m          *Message
	mine       uint32 // this rank's call: that waits, or in which it came back
	theirs     uint32 // the other rank's likewise
	path       callgraph.ID
	start, end int64 // of the wait, while that rank computed, and as a whole
	back       int64 // it came back
}

// look looks at both halves of a message, this rank's and that of a partner.
func (x *replay) look(p int32, send bool, m *Message, h *half) {
	if m.Done == NotDone || h.done == NotDone {
		return
	}
	d, b := &x.r.Calls[m.Done], x.r.back(m)
	k := kin{p, send, false, uint8(bits.Len64(m.Bytes))}
	x.stalled(stall{k, m, m.Done, h.back.call, h.back.path, max(d.Start, h.back.idle), d.End, h.back.end}, h.back.call)
	k.theyWait = true
	x.stalled(stall{k, m, b.call, h.done, 0, max(h.from, b.idle), h.to, b.end}, b.call)
}

func (x *replay) stalled(s stall, back uint32) {
	if back == 0 || s.start >= s.back || s.end <= s.start {
		return
	}
	if x.moves[s.kin] == nil {
		x.moves[s.kin] = &seen{}
	}
	if s.end < s.back {
		x.moves[s.kin].alone++
	} else {
		x.stalls = append(x.stalls, s)
	}
}

// progress offers the waits for messages that are not moved while a rank computes, when all others are known: what waited
// longer for another reason shows nothing.
func (x *replay) progress() {
	x.stalls = slices.DeleteFunc(x.stalls, func(s stall) bool {
		if at := x.found[s.m.Done]; !s.theyWait && at > 0 && x.needs[at-1].until > s.back {
			return true
		}
		all := x.moves[s.kin]
		all.bound++
		all.waited, all.after = all.waited+s.back-s.start, all.after+s.end-s.back
		return false
	})
	for _, s := range x.stalls {
		if all := x.moves[s.kin]; all.alone*mostMovedAlone > all.bound || all.after > all.waited {
			continue
		}
		x.inStep(s.partner, s.mine, s.theirs, s.back)
		if !s.theyWait {
			x.offer(s.m.Done, LateProgress, s.back, s.partner, s.theirs, s.path)
			x.depend(s.m.Done, s.partner, s.theirs, true, s.m.Bytes, LateProgress)
		}
	}
	x.stalls, x.moves = nil, nil
}
