package run

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"marple/analysis/callgraph"
	"marple/analysis/profile"
	"marple/analysis/stat"
	"marple/analysis/symbol"
	"marple/analysis/waitstate"
)

type places map[uint64][]symbol.Frame

func (places) Function(callgraph.Code) string         { return "step" }
func (p places) Site(c callgraph.Code) []symbol.Frame { return p[c.Offset] }
func (places) Notes(callgraph.Module) []string        { return nil }
func over(ranks ...uint64) (s stat.Stat, l []stat.Ranked) {
	for rank, ns := range ranks {
		if ns > 0 {
			s = s.Merge(stat.Of(ns, int32(rank)))
			l = append(l, stat.Ranked{Rank: int32(rank), Value: ns, Other: ns})
		}
	}
	stat.SortTop(l)
	return s, l
}

// Instructions of one function become one node, with the line that was hit most; what is inlined stays apart; and what
// a rank did longer than others is what it did longest there.
func TestSampledPlaces(t *testing.T) {
	const gap, first = 100, 10
	p := &profile.Profile{World: 2, Program: "app", Sampling: profile.Sampling{Hz: 100, Samples: 20, Inside: 3}}
	node := func(id callgraph.ID, site, samples uint64, ranks ...uint64) callgraph.Node {
		n := callgraph.Node{ID: id, Parent: 3, Kind: callgraph.KindGap, Site: callgraph.Code{Offset: site}, Samples: samples, Of: gap}
		n.Exclusive, n.Ranks = over(ranks...)
		n.Inclusive = n.Exclusive
		return n
	}
	own := callgraph.Node{ID: gap, Parent: 3, Kind: callgraph.KindGap}
	own.Exclusive, own.Ranks = over(5, 5)
	own.Inclusive = own.Exclusive
	p.Graph.Nodes = []callgraph.Node{{ID: callgraph.Root, Kind: callgraph.KindRoot}, {ID: 3, Parent: callgraph.Root, Kind: callgraph.KindFrame},
		node(first, 1, 2, 20, 0), node(first+1, 2, 5, 30, 20), node(first+2, 3, 9, 100, 400), own}
	for rank := range int32(2) {
		p.Totals = append(p.Totals, profile.Total{Rank: rank, Wall: 500, Useful: 425})
	}
	p.Waits = waitstate.Table{Ranks: 2, Length: 425}
	p.Waits.Delays = []waitstate.Delay{{Path: gap, Direct: 200, Passed: 100, Ranks: []stat.Ranked{{Rank: 1, Value: 300}}}}
	p.Waits.Critical = []waitstate.Step{{Path: gap, Ns: 425, Ranks: []stat.Ranked{{Rank: 1, Value: 425}}}}
	r := New(p, places{1: {{File: "a.c", Line: 7}}, 2: {{File: "a.c", Line: 8}}, 3: {{Function: "flux", File: "b.c", Line: 9}, {File: "a.c", Line: 10}}})

	type place struct {
		label, inlined string
		samples, ns, n uint64
	}
	var found []place
	for _, n := range r.Root().Children[0].Children {
		one := place{n.Label(), "", n.Samples, n.Exclusive.Sum, n.Exclusive.N}
		if len(n.Inlined) > 0 {
			one.inlined = n.Inlined[0].Function
		}
		found = append(found, one)
	}
	require.Equal(t, []place{{"own code (b.c:9)", "flux", 9, 500, 2}, {"own code (a.c:8)", "", 7, 70, 2}, {"between the start and the end", "", 0, 10, 2}}, found)
	assert.Equal(t, &Sampling{Hz: 100, Samples: 20, Inside: 3, Placed: 16}, r.Sampling)
	assert.Equal(t, []Computed{{"flux", 500}, {"step", 70}}, r.Sampled())

	require.Len(t, r.Waits.Delays, 1, "only there rank 1 was the slower one")
	assert.Contains(t, r.Waits.Delays[0].Where, "own code (b.c:9) in flux (a.c:10, inlined)")
	assert.EqualValues(t, 200, r.Waits.Delays[0].Direct)
	assert.EqualValues(t, 100, r.Waits.Delays[0].Passed)
	var critical []uint64
	for _, c := range r.Waits.Critical {
		critical = append(critical, c.Ns)
	}
	assert.Equal(t, []uint64{400, 20, 5}, critical)
}
