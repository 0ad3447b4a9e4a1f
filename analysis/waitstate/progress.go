package waitstate

import (
	"math/bits"

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

// moving is what is seen of messages with one partner in one direction: what this rank waited for, and the other one.
type moving struct {
	sizes [2][65]struct {
		alone, bound  int
		waited, after int64 // of those bound: until the other rank came back, and from then on
	}
	stalls []stall
}

// stall is a wait for a rank that computed.
type stall struct {
	m      *Message
	theirs uint32 // the other rank's call: in which it came back, or waited
	path   callgraph.ID
	end    int64  // it came back
	mine   uint32 // this rank's call likewise
	who    uint8
}

const (
	iWait uint8 = iota
	theyWait
)

// look looks at both halves of a message.
func (v *moving) look(r *Rank, m *Message, h *half) {
	if m.Done == NotDone || h.done == NotDone {
		return
	}
	d := &r.Calls[m.Done]
	if v.bound(iWait, m.Bytes, d.Start, d.End, &h.back) {
		v.stalls = append(v.stalls, stall{m, h.back.call, h.back.path, h.back.end, m.Done, iWait})
	}
	if b := r.back(m); v.bound(theyWait, m.Bytes, h.from, h.to, &b) {
		v.stalls = append(v.stalls, stall{m, h.done, 0, b.end, b.call, theyWait})
	}
}

// bound tells whether a call that waits may have waited for a rank that computed, and counts it.
func (v *moving) bound(who uint8, bytes uint64, start, end int64, b *comeback) bool {
	start = max(start, b.idle)
	if b.call == 0 || start >= b.end || end <= start {
		return false
	}
	x := &v.sizes[who][bits.Len64(bytes)]
	if end < b.end {
		x.alone++
		return false
	}
	x.bound++
	x.waited, x.after = x.waited+b.end-start, x.after+end-b.end
	return true
}

// conclude offers the waits of sizes that are not moved while a rank computes.
func (v *moving) conclude(x *replay, p int32) {
	for _, s := range v.stalls {
		if seen := &v.sizes[s.who][bits.Len64(s.m.Bytes)]; seen.alone*mostMovedAlone > seen.bound || seen.after > seen.waited {
			continue
		}
		x.inStep(p, s.mine, s.theirs)
		if s.who == iWait {
			x.offer(s.m.Done, LateProgress, s.end, p, s.theirs, s.path)
			x.depend(s.m.Done, p, s.theirs, true, s.m.Bytes, LateProgress)
		}
	}
}
