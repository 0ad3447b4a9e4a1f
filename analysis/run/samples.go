package run

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"marple/analysis/callgraph"
	"marple/analysis/stat"
	"marple/analysis/words"
)

// Sampling is where threads were looked at, a number of times a second of their CPU time.
type Sampling struct {
	Hz      uint64 `json:"hz"`
	Samples uint64 `json:"samples"` // taken in all threads
	Inside  uint64 `json:"inside"`  // of these in MPI or Marple, where nothing is looked at
	Placed  uint64 `json:"placed"`  // of these in a function that is known; the others leave their time where it is
	Threads uint64 `json:"threads_missed"`
}

// Computed is the time that a function has spent computing itself, by samples of the thread that called MPI_Init.
type Computed struct {
	Name string
	Ns   uint64
}

// Sampled are the functions that samples hit, the one with most time first. Of code that is inlined that is the
// innermost function.
func (r *Run) Sampled() (list []Computed) {
	at := map[string]int{}
	var visit func(n *Node, name string)
	visit = func(n *Node, name string) {
		if n.Kind == callgraph.KindFrame.String() {
			name = n.Name
		}
		if n.Of != "" {
			if len(n.Inlined) > 0 {
				name = n.Inlined[0].Function
			}
			i, known := at[name]
			if !known {
				i, at[name] = len(list), len(list)
				list = append(list, Computed{Name: name})
			}
			list[i].Ns += n.Exclusive.Sum
		}
		for _, c := range n.Children {
			visit(c, name)
		}
	}
	if root := r.Root(); root != nil {
		visit(root, r.Program)
	}
	slices.SortFunc(list, func(a, b Computed) int { return cmp.Or(cmp.Compare(b.Ns, a.Ns), cmp.Compare(a.Name, b.Name)) })
	return list
}

// OwnCode tells whether a node is code of the function above, or inlined there, that samples hit.
func (n *Node) OwnCode() bool { return n.Samples > 0 && n.Site != "" }

// ownCode names what was sampled: code of the function above, or of those that were inlined there.
const ownCode = "own code"

// callItself names the time in a call that is a region, as those on files are.
const callItself = "the call itself"

// sampling adds up what there is; nil if nothing was sampled.
func (b *builder) sampling() *Sampling {
	s := b.p.Sampling
	if s.Hz == 0 {
		return nil
	}
	out := &Sampling{Hz: s.Hz, Samples: s.Samples, Inside: s.Inside, Threads: s.Threads}
	for i := range b.p.Graph.Nodes {
		if n := &b.p.Graph.Nodes[i]; n.Site.Offset != 0 {
			out.Placed += n.Samples
		}
	}
	return out
}

// inlinedKey tells the functions apart that a sample's instruction may belong to, and what it is a sample of.
type inlinedKey struct {
	from, to callgraph.Edge
	loop     bool
	chain    string
}

// join makes one node of those of the instructions of one function: children are indices of nodes with the same
// parent, all of which are returned that stand for themselves or for several. The line is the one that was hit most.
func (b *builder) join(children []int) (joined []callgraph.Node) {
	at := map[inlinedKey]int{}
	for _, c := range children {
		n := b.p.Graph.Nodes[c]
		if n.Kind != callgraph.KindGap || n.Site.Offset == 0 {
			joined = append(joined, n)
			continue
		}
		key := inlinedKey{n.From, n.To, n.Loop, ""}
		var chain strings.Builder
		for _, f := range b.inlined(n.Site) {
			fmt.Fprintf(&chain, "%s@%s:%d\n", f.Function, f.File, f.Line)
		}
		key.chain = chain.String()
		first, known := at[key]
		if !known {
			at[key] = len(joined)
			joined = append(joined, n)
			continue
		}
		b.same[n.ID] = joined[first].ID
		joined[first] = joinSamples(joined[first], n)
	}
	return joined
}

// joinSamples adds up two places in the same ranks. Where not all ranks are listed, the number of those that have
// either is at least that, the extremes are those known, and the deviation is at most that.
func joinSamples(x, y callgraph.Node) callgraph.Node {
	whole := len(x.Ranks) == int(x.Exclusive.N) && len(y.Ranks) == int(y.Exclusive.N)
	most := max(len(x.Ranks), len(y.Ranks))
	byRank := map[int32]stat.Ranked{}
	for _, r := range append(slices.Clone(x.Ranks), y.Ranks...) {
		have := byRank[r.Rank]
		byRank[r.Rank] = stat.Ranked{Rank: r.Rank, Value: have.Value + r.Value, Other: have.Other + r.Other, Count: have.Count + r.Count}
	}
	sum := stat.Stat{}
	ranks := make([]stat.Ranked, 0, len(byRank))
	for _, r := range byRank {
		ranks = append(ranks, r)
		sum = sum.Merge(stat.Of(r.Value, r.Rank))
	}
	slices.SortFunc(ranks, func(a, b stat.Ranked) int { return cmp.Or(cmp.Compare(b.Value, a.Value), cmp.Compare(a.Rank, b.Rank)) })
	if !whole {
		known := sum
		sum = x.Exclusive.Merge(y.Exclusive)
		sum.N = max(x.Exclusive.N, y.Exclusive.N, known.N)
		if known.Max > sum.Max {
			sum.Max, sum.MaxRank = known.Max, known.MaxRank
		}
		ranks = ranks[:most]
		sum.Sq = atMost(x.Exclusive.Sq, y.Exclusive.Sq)
	}
	if y.Samples > x.Samples {
		x.Site, y.Site = y.Site, x.Site
	}
	x.Samples += y.Samples
	x.Exclusive, x.Inclusive, x.Ranks = sum, sum, ranks
	return x
}

// atMost is what the sum of the squares of sums is at most, given those of their parts: (√x+√y)².
func atMost(x, y stat.Uint128) stat.Uint128 {
	whole := x.Plus(y)
	// 2√(xy) ≤ x+y
	hi, carry := bits.Add64(whole.Hi, whole.Hi, 0)
	if carry != 0 {
		return stat.Uint128{Hi: ^uint64(0), Lo: ^uint64(0)}
	}
	return stat.Uint128{Hi: hi | whole.Lo>>63, Lo: whole.Lo << 1}
}

// spread divides a value of one rank on a gap among the gap and the places in it that were sampled, in the ratio of
// weights; what remains is the gap's.
func (b *builder) spread(gap callgraph.ID, value uint64, weight func(n *callgraph.Node) uint64, add func(id callgraph.ID, part uint64)) {
	places := b.places[gap]
	var whole, before uint64
	for _, n := range places {
		whole += weight(n)
	}
	whole += weight(b.p.Graph.Find(gap))
	rest := value
	for _, n := range places {
		if w := weight(n); w > 0 {
			part := portion(value, before+w, whole) - portion(value, before, whole)
			before += w
			rest -= part
			add(n.ID, part)
		}
	}
	if rest > 0 {
		add(gap, rest)
	}
}

// site is what a place has of something that was found for a gap.
type site struct {
	path  callgraph.ID
	ns    uint64
	ranks []stat.Ranked
}

// sites spreads what was found for one path of some ranks over the places that samples hit there. What is not known of
// which rank it is stays where it is, as do paths without samples.
func (b *builder) sites(path callgraph.ID, ns uint64, ranks []stat.Ranked, weight func(n *callgraph.Node, rank int32) uint64) []site {
	if len(b.places[path]) == 0 || len(ranks) == 0 {
		return []site{{path, ns, ranks}}
	}
	at := map[callgraph.ID]int{}
	var list []site
	find := func(id callgraph.ID) *site {
		if same, ok := b.same[id]; ok {
			id = same
		}
		i, known := at[id]
		if !known {
			i, at[id] = len(list), len(list)
			list = append(list, site{path: id})
		}
		return &list[i]
	}
	rest := ns
	for _, r := range ranks {
		b.spread(path, r.Value, func(n *callgraph.Node) uint64 { return weight(n, r.Rank) }, func(id callgraph.ID, part uint64) {
			s := find(id)
			part = min(part, rest)
			rest, s.ns = rest-part, s.ns+part
			if last := len(s.ranks) - 1; last >= 0 && s.ranks[last].Rank == r.Rank {
				s.ranks[last].Value += part
			} else {
				s.ranks = append(s.ranks, stat.Ranked{Rank: r.Rank, Value: part, Count: r.Count})
			}
		})
	}
	if rest > 0 {
		s := find(path)
		if s.ns += rest; len(s.ranks) == 0 {
			s.ranks = []stat.Ranked{{Rank: ranks[0].Rank}} // others are not listed
		}
	}
	return list
}

func portion(value, part, whole uint64) uint64 {
	hi, lo := bits.Mul64(value, part)
	quotient, _ := bits.Div64(hi, lo, whole)
	return quotient
}

// on is a rank's share of a node; 0 if it is not listed.
func on(n *callgraph.Node, rank int32) uint64 {
	for _, r := range n.Ranks {
		if r.Rank == rank {
			return r.Value
		}
	}
	return 0
}

// above is by how much a rank's share of a node exceeds that of the rank that has least.
func (b *builder) above(n *callgraph.Node, rank int32) uint64 {
	least := uint64(0)
	if len(n.Ranks) == len(b.p.Totals) {
		least = n.Exclusive.Min
	}
	return max(on(n, rank), least) - least
}

// samplesNotSeen says what samples do not tell.
func (b *builder) samplesNotSeen(add func(id string, count uint64, text string)) {
	s := b.p.Sampling
	add("samples-lost", s.Lost, "%d samples found no room: of more than 256 stacks or Python functions, or 127 places, between two events it is not known where they were")
	add("samples-ended", s.Ended, "on %d ranks samples ended early, because the program had a use for the signal")
	add("threads-not-sampled", s.Threads, fmt.Sprintf("%%d %s not sampled", words.Plural(int(s.Threads), "thread was", "threads were")))
}
