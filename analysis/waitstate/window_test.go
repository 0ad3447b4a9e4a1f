package waitstate

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"marple/analysis/callgraph"
)

// Wherever windows have been before, they hold what a new sum would.
func TestWindows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := &Rank{Paths: []callgraph.ID{10, 11, 12, 13, 14}, Begin: -5, OffCore: 4}
		x := &replay{r: r}
		now := int64(0)
		short := rapid.IntRange(0, 9)
		for i := range rapid.IntRange(1, 700).Draw(t, "calls") {
			before, busy := int64(short.Draw(t, "before")), int64(short.Draw(t, "busy"))
			c := Call{Start: now + before, End: now + before + busy, Path: uint32(short.Draw(t, "path") % 4), Gap: uint32(i % 3), OffCore: before / 2}
			if busy > 5 {
				x.kept = append(x.kept, waited{call: uint32(i), until: c.Start + busy/2})
			}
			now = c.End
			r.Calls = append(r.Calls, c)
		}
		for range 50 {
			before := rapid.IntRange(0, len(r.Calls)-1).Draw(t, "to")
			first := rapid.IntRange(0, before).Draw(t, "from")
			want := map[share]bool{}
			fresh := &window{sums: make([]int64, len(r.Paths)*int(classes)), listed: make([]bool, len(r.Paths)*int(classes))}
			x.tally(fresh, first, before, 1)
			x.tallyGap(fresh, before, 1)
			for _, s := range x.sharesOf(fresh, nil) {
				want[s] = true
			}
			after := NotDone
			if first > 0 {
				after = uint32(first - 1)
			}
			got := map[share]bool{}
			shares, low, high := x.spent(after, uint32(before))
			for _, s := range shares {
				require.False(t, got[s], "each once")
				got[s] = true
			}
			require.Equal(t, want, got)
			for i, w := range x.kept {
				require.Equal(t, int(w.call) >= first && int(w.call) < before, i >= low && i < high)
			}
		}
	})
}

// Two ranks that wait for each other in turns, and are never in step: explaining takes no more for each wait than that
// of few waits does.
func TestWaitsFarFromTheLastStep(t *testing.T) {
	r := &Rank{Paths: []callgraph.ID{10, 11}}
	x := &replay{r: r}
	for i := range int64(4 * MostInterval) {
		r.Calls = append(r.Calls, Call{Start: 10 * i, End: 10*i + 4})
	}
	for before := range r.Calls {
		shares, _, _ := x.spent(NotDone, uint32(before))
		sum, from := int64(0), int64(0)
		for _, s := range shares {
			sum += s.ns
		}
		if before > MostInterval {
			from = r.Calls[before-MostInterval-1].End
		}
		require.Equal(t, r.Calls[before].Start-from, sum)
	}
	assert.Less(t, x.tallied, uint64(10*len(r.Calls)))
}
