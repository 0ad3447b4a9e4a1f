package page

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"marple/analysis/waitstate"
)

// Rank 0 computes for 600, calls for 300, of which it waits 200, and is gone; rank 1 computes all the time.
func TestOverview(t *testing.T) {
	ranks := []*waitstate.Rank{{Begin: 1000, End: 1900, Main: 1, Calls: []waitstate.Call{{Start: 1600, End: 1900}}, Paths: nil}, {Begin: 1000, End: 2200}}
	o := NewOverview(ranks, []waitstate.Moments{
		{Waits: []waitstate.Moment{{Start: 1600, Until: 1800, Pattern: waitstate.LateSender, For: 1}}, Critical: []waitstate.Span{{From: 1800, To: 1900}}},
		{Critical: []waitstate.Span{{From: 1000, To: 1800}}},
	})
	require.EqualValues(t, 1200, o.Ns)
	require.Equal(t, 600, o.Cells, "each of 2 ns")
	at := func(rank, ns int) Cell { return o.Cell[rank*o.Cells+ns/2] }
	assert.Equal(t, Cell{Known: 2, Useful: 2}, at(0, 100))
	assert.Equal(t, Cell{Known: 2, Waiting: 2}, at(0, 700))
	assert.Equal(t, Cell{Known: 2, Critical: 2}, at(0, 850))
	assert.Equal(t, Cell{}, at(0, 1000), "it has ended")
	assert.Equal(t, Cell{Known: 2, Useful: 2, Critical: 2}, at(1, 0))
	assert.Equal(t, Cell{Known: 2, Useful: 2}, at(1, 1100))
	assert.Equal(t, []Wait{{Rank: 0, For: 1, Start: 600, Ns: 200, Pattern: "late-sender", Node: o.Waits[0].Node}}, o.Waits)
	assert.Equal(t, []Part{{1, 0, 800}, {0, 800, 900}}, o.Critical)
	b := o.bytes()
	assert.Equal(t, []byte{255, 0, 0, 0}, b[4*50:][:4])
	assert.Equal(t, []byte{0, 0, 255, 0}, b[4*350:][:4])
}

// However long spans are and wherever they lie, cells add up to them, and the page stays small.
func TestOverviewAddsUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 1500).Draw(t, "ranks")
		span := rapid.Int64Range(1, 1<<50).Draw(t, "span")
		ranks, moments := make([]*waitstate.Rank, n), make([]waitstate.Moments, n)
		for i := range ranks {
			begin := rapid.Int64Range(0, span).Draw(t, "begin")
			start := rapid.Int64Range(begin, span).Draw(t, "start")
			end := rapid.Int64Range(start, span).Draw(t, "end")
			ranks[i] = &waitstate.Rank{Begin: begin, End: end, Main: 1, Calls: []waitstate.Call{{Start: start, End: end}}}
			if i > 8 { // drawing is slow
				ranks[i] = ranks[i%8]
			}
		}
		o := NewOverview(ranks, moments)
		var known, useful, want float64
		for _, c := range o.Cell {
			known, useful = known+c.Known, useful+c.Useful
		}
		wantUseful := 0.0
		for _, r := range ranks {
			want += float64(r.End - r.Begin)
			wantUseful += float64(r.Calls[0].Start - r.Begin)
		}
		assert.InDelta(t, want, known, 1e-6*want+1)
		assert.InDelta(t, wantUseful, useful, 1e-6*want+1)
		assert.LessOrEqual(t, o.Lanes(), mostLanes)
		assert.LessOrEqual(t, len(o.bytes()), 4*mostCells)
	})
}
