package run

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"marple/analysis/callgraph"
	"marple/analysis/mpi"
	"marple/analysis/profile"
	"marple/analysis/record"
	"marple/analysis/words"
)

// waitsOf is whom a call waits for, if it blocks.
func waitsOf(call string) mpi.Waits {
	if f := mpi.Of(call); f != nil && f.Flags == 0 {
		return f.Waits
	}
	return mpi.Unknown
}

// gives and takes tell whether a call can give another one a message, or take one of its.
func (h *hanging) gives() bool { return h.waits == mpi.Receiver || h.waits == mpi.Both }
func (h *hanging) takes() bool { return h.waits == mpi.Sender || h.waits == mpi.Both }

// hanging is the call that a rank's thread which called MPI_Init did not come back from.
type hanging struct {
	callgraph.Stuck
	own     *Stuck
	waits   mpi.Waits
	members []int // of the communicator; nil if it is not known
	unsure  bool  // it is not known whether members have left a collective operation, or have not come to it
}

// stuck are the calls that ranks were in when they ended, unless they got through MPI_Finalize, and what they waited for.
func (b *builder) stuck(r *Run) []Stuck {
	found := slices.SortedFunc(slices.Values(b.p.Graph.Stuck), func(x, y callgraph.Stuck) int {
		return cmp.Or(cmp.Compare(x.Rank, y.Rank), cmp.Compare(x.Thread, y.Thread))
	})
	list := make([]Stuck, len(found))
	calls := map[int]*hanging{}
	for i, s := range found {
		list[i] = Stuck{Rank: s.Rank, Thread: s.Thread, Call: s.Name, Site: b.stuckAt(s.Site), Peer: s.Peer, SinceNs: s.Ns, WaitedNs: max(r.WallNs, s.Ns) - s.Ns, Ended: s.Ended}
		if s.Main && !s.Ended {
			calls[int(s.Rank)] = &hanging{Stuck: s, own: &list[i], waits: waitsOf(s.Name), members: b.members(s.Comm)}
		}
	}
	left := map[int]map[uint64]uint64{}
	for _, l := range b.p.Graph.Left {
		left[int(l.Rank)] = l.Collectives
	}
	for _, h := range calls {
		h.waitFor(calls, left)
	}
	b.deadlocks(r, calls)
	return list
}

func (b *builder) stuckAt(c callgraph.Code) string {
	if c.Offset == 0 {
		return ""
	}
	frames := b.names.Site(c)
	text := b.address(c)
	if len(frames) > 0 && frames[0].File != "" {
		text = place(frames[0])
	}
	if len(frames) > 0 && frames[0].Function != "" {
		text += " in " + frames[0].Function
	}
	return text
}

// members of a communicator, as ranks in MPI_COMM_WORLD; nil if they are not known.
func (b *builder) members(id uint64) (list []int) {
	i := slices.IndexFunc(b.p.Comms, func(c profile.Comm) bool { return c.ID == id })
	if i < 0 || id == 0 || b.p.Comms[i].Inter {
		return nil
	}
	for _, run := range b.p.Comms[i].Members {
		for k := range min(run.Count, uint32(b.p.World)) {
			list = append(list, int(int64(run.First)+int64(run.Stride)*int64(k)))
		}
	}
	return list
}

// came tells whether a member has come to the collective operation that this call is of, as far as that is known: it may
// have left it, too.
func (h *hanging) came(m int, other *hanging, left map[int]map[uint64]uint64) (came, known bool) {
	same := other != nil && other.Name == h.Name && other.Comm == h.Comm
	mine, theirs := left[int(h.Rank)], left[m]
	if mine == nil || theirs == nil {
		return same, false
	}
	ahead := theirs[h.Comm] - mine[h.Comm]
	return int64(ahead) > 0 || ahead == 0 && same, true
}

// waitFor finds out whom a call waits for, by how many collective operations ranks have left.
func (h *hanging) waitFor(calls map[int]*hanging, left map[int]map[uint64]uint64) {
	var absent, below []int // members that have not come to this call; of them those before this rank
	lower := true
	for _, m := range h.members {
		lower = lower && m != int(h.Rank)
		if m == int(h.Rank) {
			continue
		}
		came, known := h.came(m, calls[m], left)
		h.unsure = h.unsure || h.waits >= mpi.Members && !known
		if !came {
			absent = append(absent, m)
			if lower {
				below = append(below, m)
			}
		}
	}
	root := int(h.World)
	atRoot := root == int(h.Rank)
	switch {
	case (h.gives() || h.takes()) && h.World >= 0:
		h.own.WaitsFor = []int{root}
	case h.takes() && h.Peer == record.Any:
		h.own.WaitsFor, h.own.Any = slices.DeleteFunc(slices.Clone(h.members), func(m int) bool { return m == int(h.Rank) }), true
	case h.waits == mpi.Members, (h.waits == mpi.Root || h.waits == mpi.Others) && atRoot:
		h.own.WaitsFor = absent
	case (h.waits == mpi.Root || h.waits == mpi.Others) && slices.Contains(absent, root):
		h.own.WaitsFor = []int{root}
	case h.waits == mpi.Lower:
		h.own.WaitsFor = below
	}
}

// serves tells whether a call may be what another one waits for: then both go on.
func (h *hanging) serves(other *hanging) bool {
	if h.waits == mpi.Both { // with whom it does the other half is not known
		return other.gives() || other.takes()
	}
	meant := h.World == other.Rank || h.Peer == record.Any
	return meant && (h.gives() && other.takes() || h.takes() && other.gives())
}

// deadlocks marks the calls that cannot end: those that are left when all that could are taken away again and again.
func (b *builder) deadlocks(r *Run, calls map[int]*hanging) {
	ended := map[int]bool{}
	for _, p := range r.PerRank {
		ended[p.Rank] = slices.Contains([]string{endings[record.Finalized], endings[record.Exited], endings[record.Aborted], endings[record.Fatal]}, p.Ended)
	}
	for _, h := range calls {
		h.own.Deadlock = len(h.own.WaitsFor) > 0
	}
	for again := true; again; {
		again = false
		for _, h := range calls {
			hopeless := 0
			for _, m := range h.own.WaitsFor {
				other := calls[m]
				if ended[m] || other != nil && other.own.Deadlock && !other.serves(h) {
					hopeless++
				}
			}
			if h.own.Deadlock && (hopeless == 0 || h.own.Any && hopeless < len(h.own.WaitsFor)) {
				h.own.Deadlock, again = false, true
			}
		}
	}
	for _, h := range calls {
		h.own.Uncertain = h.own.Deadlock && h.unsure
		for _, m := range h.own.WaitsFor {
			other := calls[m]
			h.own.Uncertain = h.own.Uncertain || h.own.Deadlock && h.takes() && (other != nil && other.Flying || b.underWay(m, int(h.Rank)))
		}
	}
}

// underWay tells whether more messages were sent by a rank to another than came in there.
func (b *builder) underWay(from, to int) bool {
	var sent, received uint64
	for _, p := range b.p.Peers {
		if int(p.Rank) == from && int(p.To) == to {
			sent = p.Messages[record.Sent]
		}
		if int(p.Rank) == to && int(p.To) == from {
			received = p.Messages[record.Received]
		}
	}
	return sent > received
}

const deadlock = "deadlock"

// mostStuck is how many different calls, or deadlocks, are named.
const mostStuck = 4

// hang says why ranks did not get on, as far as that is known, and then where the others were.
func (r *Run) hang() (notes []Note) {
	at := map[int]*Stuck{}
	for i := range r.Stuck {
		if s := &r.Stuck[i]; s.Deadlock {
			at[int(s.Rank)] = s
		}
	}
	next := func(s *Stuck) int {
		for _, m := range s.WaitsFor {
			if at[m] != nil {
				return m
			}
		}
		return s.WaitsFor[0] // has ended
	}
	told := map[int]bool{}
	for i := range r.Stuck {
		var order []int
		s := &r.Stuck[i]
		for rank := int(s.Rank); s != nil && s.Deadlock && !told[rank] && !slices.Contains(order, rank); s = at[rank] {
			order = append(order, rank)
			rank = next(s)
			if j := slices.Index(order, rank); j >= 0 {
				notes = append(notes, r.circle(at, order[j:], next))
				for _, m := range order[j:] {
					told[m] = true
				}
			}
		}
		if len(notes) == mostStuck {
			break
		}
	}
	rest := slices.DeleteFunc(slices.Clone(r.Stuck), func(s Stuck) bool { return s.Ended || s.Deadlock && told[int(s.Rank)] })
	return append(notes, stuckIn(rest)...)
}

// circle says which ranks wait for each other.
func (r *Run) circle(at map[int]*Stuck, ranks []int, next func(*Stuck) int) Note {
	var parts []string
	uncertain, waited := false, uint64(0)
	for i, rank := range ranks {
		s := at[rank]
		uncertain, waited = uncertain || s.Uncertain, max(waited, s.SinceNs)
		if i == mostStuck {
			parts = append(parts, fmt.Sprintf("and so on, %d ranks in all", len(ranks)))
		}
		if i >= mostStuck {
			continue
		}
		text := fmt.Sprintf("rank %d waits for rank %d in %s", rank, next(s), s.Call)
		if s.Site != "" {
			text += " at " + s.Site
		}
		parts = append(parts, text)
	}
	first := "Deadlock: "
	if uncertain {
		first = "A deadlock, unless messages or collective operations were still under way: "
	}
	return Note{deadlock, fmt.Sprintf("%s%s; all of them since %s after the beginning", first, strings.Join(parts, ", "), words.Duration(float64(waited)/1e9)), uint64(len(ranks))}
}

// stuckIn says where ranks were when they ended, those in the same call together.
func stuckIn(stuck []Stuck) (notes []Note) {
	type call struct {
		name, site, peer string
	}
	ranks, since := map[call][]int{}, map[call]uint64{}
	var order []call
	for _, s := range stuck {
		c := call{s.Call, s.Site, s.whom()}
		if ranks[c] == nil {
			order, since[c] = append(order, c), s.SinceNs
		}
		since[c] = max(since[c], s.SinceNs)
		if n := len(ranks[c]); n == 0 || ranks[c][n-1] != int(s.Rank) {
			ranks[c] = append(ranks[c], int(s.Rank))
		}
	}
	for i, c := range order {
		if i == mostStuck {
			notes = append(notes, Note{"stuck", fmt.Sprintf("%d other calls were not left", len(order)-mostStuck), uint64(len(order) - mostStuck)})
			break
		}
		text := words.Sentence(words.Ranks(ranks[c])) + words.Plural(len(ranks[c]), " was", " were") + " in " + c.name + c.peer
		if c.site != "" {
			text += " at " + c.site
		}
		notes = append(notes, Note{"stuck", strings.TrimSuffix(text, ",") + ", since " + words.Duration(float64(since[c])/1e9) + " after the beginning", uint64(len(ranks[c]))})
	}
	return notes
}

// whom says in words whom a call waits for.
func (s *Stuck) whom() string {
	const most = 8
	switch {
	case s.Any:
		return ", from any rank,"
	case len(s.WaitsFor) > most:
		return fmt.Sprintf(", waiting for %d ranks,", len(s.WaitsFor))
	case len(s.WaitsFor) > 0:
		return ", waiting for " + words.Ranks(s.WaitsFor) + ","
	case s.Peer >= 0:
		return fmt.Sprintf(", with rank %d of the communicator,", s.Peer)
	case s.Peer == record.Any:
		return ", from any rank,"
	}
	return ""
}
