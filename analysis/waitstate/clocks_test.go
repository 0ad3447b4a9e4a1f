package waitstate

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"marple/analysis/record"
)

// A host whose clock is 5 ms ahead at the beginning, and 50 µs a second faster, measured to 1 and 3 µs.
func TestClocksOfHosts(t *testing.T) {
	const second = 1_000_000_000
	theirs := func(true int64) int64 { return true + 5_000_000 + true/20_000 }
	offset := func(true int64, e uint64) record.Offset {
		return record.Offset{At: uint64(theirs(true)), Ns: true - theirs(true), ErrorNs: e, Known: 1}
	}
	measured := sight{host: 2, wall: 77, first: offset(10*second, 1000), last: offset(110*second, 3000)}
	began := sight{host: 3, first: offset(10*second, 1000)}
	all := []sight{{host: 1, wall: 100, first: record.Offset{Known: 1}, last: record.Offset{At: second, Known: 1}}, {host: 2, wall: 77}, measured, {host: 1, wall: 100}, began, {host: 4, wall: 60}}
	clocks := clocksOf(all)
	require.Len(t, clocks, 4)
	assert.Equal(t, Clock{Host: 1, Ranks: 2, Measured: true}, clocks[0])
	assert.Equal(t, []Clock{{Host: 1, Ranks: 1, Measured: true}, {Host: 4, Ranks: 1, Ns: -40}}, clocksOf([]sight{{host: 1, wall: 100}, {host: 4, wall: 60}}), "nothing was measured")
	assert.EqualValues(t, 2, clocks[1].Ranks)
	assert.EqualValues(t, 3000, clocks[1].ErrorNs)
	for _, at := range []int64{0, 10, 60, 110, 500} {
		assert.InDelta(t, at*second, clocks[1].Common(theirs(at*second)), 500, "linear in between, and beyond")
	}
	assert.EqualValues(t, 10*second, clocks[2].Common(theirs(10*second)))
	assert.Zero(t, clocks[2].Drift, "not known of a rank that did not get to the end")
	assert.Equal(t, Clock{Host: 4, Ranks: 1, Ns: -40}, clocks[3])
}

// Of a run of which rank 0's host has left nothing, the others are told on its clock all the same: all of them.
func TestClocksWithoutRank0(t *testing.T) {
	const skew, day = 5_000_000_000, 1_000_000
	measured := sight{host: 2, wall: 77, first: record.Offset{At: 10, Ns: -skew, ErrorNs: 1000, Known: 1}}
	other := sight{host: 3, wall: 78, first: record.Offset{At: 10, Ns: -2 * skew, ErrorNs: 2000, Known: 1}}
	clocks := clocksOf([]sight{{host: 2, wall: 77}, measured, other, {host: 4, wall: 60}})
	require.Len(t, clocks, 3)
	assert.EqualValues(t, day, clocks[0].Common(day+skew))
	assert.EqualValues(t, 1000, clocks[0].ErrorNs)
	assert.EqualValues(t, day, clocks[1].Common(day+2*skew))
	assert.Equal(t, clocks[0].Common(day-77), clocks[2].Common(day-60), "by the time of day, against one whose clock is known")
	assert.True(t, clocks[0].Measured)
	assert.False(t, clocks[2].Measured)
}

// Clocks that are apart, and known to be, make no difference.
func TestReplayAcrossHosts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ranks := rapid.IntRange(2, 6).Draw(t, "ranks")
		w := newWorld(ranks, randomComms(t, ranks))
		w.random(t, 20)
		want := w.check(t)
		for rank, r := range w.ranks {
			skew := rapid.Int64Range(-1000, 1000).Draw(t, "skew")
			if rank == 0 {
				skew = 0
			}
			r.Lost = Lost{}
			r.Sight = sight{host: uint64(rank + 1), first: record.Offset{Ns: -skew, Known: 1}, last: record.Offset{At: 1_000_000, Ns: -skew, Known: 1}}
			r.Begin, r.End = r.Begin+skew, r.End+skew
			for c := range r.Calls {
				r.Calls[c].Start, r.Calls[c].End = r.Calls[c].Start+skew, r.Calls[c].End+skew
			}
		}
		got := replayAll(t, w.ranks)
		require.Len(t, got.Clocks, ranks)
		got.Clocks = nil
		require.Equal(t, want, got)
	})
}

// A message that comes before it was sent says something only where clocks are known better than that.
func TestBackwardBeyondTheClocksError(t *testing.T) {
	for e, want := range map[uint64]uint64{30: 0, 5: 1} {
		w := newWorld(2, []Comm{{ID: 7, Members: []record.Run{{Stride: 1, Count: 2}}, Size: 2}})
		w.compute(1, 100, 5)
		w.send(1, 0, 0, false, true)
		w.finishReceive(stream{1, 0, 0}, 0, w.post(1, 0, 0))
		w.finish()
		for rank, r := range w.ranks {
			r.Sight = sight{host: uint64(rank + 1), first: record.Offset{Ns: int64(50 * rank), ErrorNs: e * uint64(rank), Known: 1}}
		}
		assert.Equal(t, want, replayAll(t, w.ranks).Lost.Backward, "error %d", e)
	}
}
