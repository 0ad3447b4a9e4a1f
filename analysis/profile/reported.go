package profile

import (
	"cmp"
	"fmt"
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
	Values stat.Reals
}

// Groups are those that regions of a name are in, as a|b.
type Groups struct{ Name, Groups string }

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
	groupsByName   = byName(func(g Groups) string { return g.Name })
)

func mergeAtomic(a, b Atomic) Atomic { return Atomic{a.Name, a.Values.Merge(b.Values)} }

// mergeGroups takes one of different lists, which should be the same on all ranks.
func mergeGroups(a, b Groups) Groups { return Groups{a.Name, min(a.Groups, b.Groups)} }

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
	exactly := map[string]stat.Reals{}
	for _, n := range nodes {
		name, key := process.String(n.Name), uint32(n.Key)
		switch n.Kind {
		case record.NodeMetadata:
			p.Metadata = append(p.Metadata, Metadata{name, process.String(key), rank, 1, true})
		case record.NodeGroups:
			p.Groups = append(p.Groups, Groups{name, process.String(key)})
		case record.NodeExactly:
			v, _ := parseReals(process.String(key), rank)
			exactly[name] = exactly[name].Merge(v) // one of them at most is not empty
		}
	}
	for _, t := range process.Threads() {
		for i := range t.Entries {
			e := &t.Entries[i]
			if e.Kind() != record.EntryAtomic || e.Path() >= uint32(len(nodes)) || e.N == 0 {
				continue
			}
			name := process.String(nodes[e.Path()].Name)
			values, cut := exactly[name]
			if !t.Main || values.N == 0 {
				values = e.Reals(rank)
				if cut {
					p.Lost.Fractions += e.N
				}
			}
			p.Atomics = append(p.Atomics, Atomic{name, values})
		}
	}
	p.SortReported()
}

// parseReals reads what record.NodeExactly has.
func parseReals(text string, rank int32) (stat.Reals, bool) {
	v := stat.Reals{MinRank: rank, MaxRank: rank}
	if n, err := fmt.Sscan(text, &v.N, &v.Sum, &v.Squares, &v.Min, &v.Max); err != nil || n != 5 || v.N == 0 {
		return stat.Reals{}, false
	}
	for _, x := range []float64{v.Sum, v.Squares, v.Min, v.Max} {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return stat.Reals{}, false
		}
	}
	return v, true
}

// SortReported puts what one process has reported into the order that Merge needs. Values under one name are joined; of
// metadata under one name the last counts.
func (p *Profile) SortReported() {
	p.Atomics = joined(p.Atomics, atomicsByName, mergeAtomic)
	p.Metadata = joined(p.Metadata, metadataByName, func(_, last Metadata) Metadata { return last })
	p.Groups = joined(p.Groups, groupsByName, mergeGroups)
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
	p.Groups = stat.MergeSorted(a.Groups, b.Groups, groupsByName, mergeGroups)
	p.Groups = p.Groups[:min(len(p.Groups), MaxReported)]
}

func (c *coder) reported(p *Profile) {
	list(c, &p.Atomics, func(c *coder, a *Atomic) {
		c.text(&a.Name)
		v := &a.Values
		number(c, &v.N)
		for _, x := range []*float64{&v.Sum, &v.Squares, &v.Min, &v.Max} {
			float(c, x)
		}
		signed(c, &v.MinRank)
		signed(c, &v.MaxRank)
	})
	list(c, &p.Groups, func(c *coder, g *Groups) {
		c.text(&g.Name)
		c.text(&g.Groups)
	})
	list(c, &p.Metadata, func(c *coder, m *Metadata) {
		c.text(&m.Name)
		c.text(&m.Value)
		signed(c, &m.Rank)
		number(c, &m.Ranks)
		flag(c, &m.Same)
	})
}
