package profile

import (
	"cmp"
	"math"
	"slices"

	"marple/analysis/record"
	"marple/analysis/stat"
)

// MaxReported is how many names of atomic events, and how many of metadata, are kept: those that sort first, which is
// the same whatever order ranks merge in.
const MaxReported = 4096

// Atomic describes the values that were reported under a name.
type Atomic struct {
	Name   string
	Values stat.Stat
}

// Metadata is a name with a value, that of the lowest rank which has one.
type Metadata struct {
	Name, Value string
	Rank        int32
	Ranks       uint64 // that have one
	Same        bool   // it is the same on all of them
}

func byName[T any](name func(T) string) func(x, y T) int {
	return func(x, y T) int { return cmp.Compare(name(x), name(y)) }
}

var (
	atomicsByName  = byName(func(a Atomic) string { return a.Name })
	metadataByName = byName(func(m Metadata) string { return m.Name })
)

// mergeAtomic keeps a sum at the largest number where it would be larger.
func mergeAtomic(a, b Atomic) Atomic {
	merged := Atomic{a.Name, a.Values.Merge(b.Values)}
	if merged.Values.Sum < a.Values.Sum {
		merged.Values.Sum = math.MaxUint64
	}
	return merged
}

func mergeMetadata(a, b Metadata) Metadata {
	if b.Rank < a.Rank {
		a, b = b, a
	}
	a.Same = a.Same && b.Same && a.Value == b.Value
	a.Ranks += b.Ranks
	return a
}

// reported are the atomic events and metadata of one process.
func (p *Profile) reported(process *record.Process) {
	nodes, rank := process.Nodes(), process.Header().Rank
	for _, t := range process.Threads() {
		for i := range t.Entries {
			e := &t.Entries[i]
			if e.Kind() != record.EntryAtomic || e.Path() >= uint32(len(nodes)) || e.N == 0 {
				continue
			}
			p.Atomics = append(p.Atomics, Atomic{process.String(nodes[e.Path()].Name), stat.Stat{N: e.N, Sum: e.Sum,
				Sq: stat.Uint128{Hi: e.SqHi, Lo: e.SqLo}, Min: e.Min, Max: e.Max, MinRank: rank, MaxRank: rank}})
		}
	}
	for _, n := range nodes {
		if n.Kind == record.NodeMetadata {
			p.Metadata = append(p.Metadata, Metadata{process.String(n.Name), process.String(uint32(n.Key)), rank, 1, true})
		}
	}
	p.SortReported()
}

// SortReported puts what one process has reported into the order that Merge needs. Values under one name are joined; of
// metadata under one name the last counts.
func (p *Profile) SortReported() {
	p.Atomics = joined(p.Atomics, atomicsByName, mergeAtomic)
	p.Metadata = joined(p.Metadata, metadataByName, func(_, last Metadata) Metadata { return last })
}

// joined sorts a list and joins what compares equal, in the order in which it stood.
func joined[T any](list []T, compare func(x, y T) int, join func(x, y T) T) []T {
	slices.SortStableFunc(list, compare)
	out := list[:0]
	for _, x := range list {
		if n := len(out); n > 0 && compare(out[n-1], x) == 0 {
			out[n-1] = join(out[n-1], x)
		} else {
			out = append(out, x)
		}
	}
	return out[:min(len(out), MaxReported)]
}

func (p *Profile) mergeReported(a, b *Profile) {
	p.Atomics = stat.MergeSorted(a.Atomics, b.Atomics, atomicsByName, mergeAtomic)
	p.Atomics = p.Atomics[:min(len(p.Atomics), MaxReported)]
	p.Metadata = stat.MergeSorted(a.Metadata, b.Metadata, metadataByName, mergeMetadata)
	p.Metadata = p.Metadata[:min(len(p.Metadata), MaxReported)]
}

func (c *coder) reported(p *Profile) {
	list(c, &p.Atomics, func(c *coder, a *Atomic) {
		c.text(&a.Name)
		sample(c, &a.Values)
	})
	list(c, &p.Metadata, func(c *coder, m *Metadata) {
		c.text(&m.Name)
		c.text(&m.Value)
		signed(c, &m.Rank)
		number(c, &m.Ranks)
		flag(c, &m.Same)
	})
}
