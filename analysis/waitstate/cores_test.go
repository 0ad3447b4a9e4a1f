package waitstate

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"marple/analysis/record"
)

// Whatever ranks lose their cores for, what is found of the run with a core for each is what is found of a run in which
// each had one.
func TestWithACoreForEach(t *testing.T) {
	short := 0
	rapid.Check(t, func(t *rapid.T) {
		ranks := rapid.IntRange(2, 9).Draw(t, "ranks")
		comms := randomComms(t, ranks)
		w := newWorld(ranks, comms)
		w.crowded = newWorld(ranks, comms)
		w.latency, w.crowded.latency = 0, 0
		w.work, w.crowded.work = 2, 2
		w.random(t, rapid.IntRange(1, 40).Draw(t, "steps"))
		var off, all int64
		for _, r := range w.crowded.ranks {
			for _, c := range r.Calls {
				off += c.OffCore
			}
			all += r.End
		}
		table := replayAll(t, w.crowded.own())
		if off == 0 || float64(off) < CoresShort*float64(all) {
			require.Nil(t, table.Cored)
			return
		}
		short++
		require.NotNil(t, table.Cored)
		want, got := replayAll(t, w.own()), table.Cored.Found
		want.Program = nil // that with a core for each is no other run
		require.Equal(t, want, got)
		var length int64
		inside := make([]int64, ranks)
		for rank, r := range w.ranks {
			length = max(length, r.End)
			for _, c := range r.Calls {
				inside[rank] += c.End - c.Start
			}
		}
		require.EqualValues(t, length, table.Cored.Length)
		require.Len(t, table.Cored.Ranks, ranks)
		for rank, x := range table.Cored.Ranks {
			require.EqualValues(t, rank, x.Rank)
			require.EqualValues(t, inside[rank], x.Value)
		}
	})
	assert.Positive(t, short)
}

// Rank 1 is ready to send at 100, but has no core until 400; the message takes 3. Rank 0 would have waited until 100.
// When it is sent, rank 0 has no core for 50.
func TestLateSenderWithoutACore(t *testing.T) {
	w := newWorld(2, []Comm{{ID: 7, Members: []record.Run{{Stride: 1, Count: 2}}, Size: 2}})
	w.compute(0, 10, 4)
	w.compute(1, 400, 5)
	w.off[1] = 300
	w.send(1, 0, 0, false, true)
	call := w.post(1, 0, 0)
	w.finishReceive(stream{1, 0, 0}, 0, call)
	w.leave(0, call, w.now[0]+50)
	w.ranks[0].Calls[call].Coreless = 50
	w.compute(0, 20, 4)
	w.finish()
	table := replayAll(t, w.ranks)
	assert.EqualValues(t, 390, ns(table, LateSender))
	require.NotNil(t, table.Cored)
	assert.EqualValues(t, 90, ns(table.Cored.Found, LateSender))
	assert.EqualValues(t, 100+3+20+3, table.Cored.Length)
	assert.EqualValues(t, Delay{Pattern: LateSender, Path: 5, Direct: 90, Ranks: delayOn(table.Cored.Found, 5).Ranks}, delayOn(table.Cored.Found, 5))
	for _, c := range table.Cored.Calls {
		if c.Path == 12 {
			assert.EqualValues(t, 93, c.Ns)
			assert.EqualValues(t, 390+3+50, c.Was)
		}
	}
}

// Rank 0 sends at 10, and again what rank 1 receives from 400 on, 300 of which it had no core. With one, rank 0 waits until 100,
// although the quickest of its sends take nothing.
func TestLateReceiverWithoutACore(t *testing.T) {
	w := newWorld(2, []Comm{{ID: 7, Members: []record.Run{{Stride: 1, Count: 2}}, Size: 2}})
	w.latency = 0
	w.compute(0, 10, 4)
	for range 2 {
		w.send(0, 1, 0, false, true)
	}
	w.compute(1, 400, 5)
	w.off[1] = 300
	for k := range 2 {
		w.finishReceive(stream{0, 1, 0}, k, w.post(0, 1, 0))
	}
	w.work = 3
	w.finishSend(stream{0, 1, 0}, 1, 1)
	w.finish()
	require.Less(t, w.posts[stream{0, 1, 0}][1].time, w.ranks[0].Calls[1].End, "or it was not seen to wait")
	table := replayAll(t, w.ranks)
	assert.EqualValues(t, 390, ns(table, LateReceiver))
	require.NotNil(t, table.Cored)
	assert.EqualValues(t, 90, ns(table.Cored.Found, LateReceiver))
}

// Where what the ranks did is too much for rank 0, there is no run with a core for each; nobody waits for it in vain.
func TestWithACoreForEachWithoutAProgram(t *testing.T) {
	starved := func() *Rank { return &Rank{End: 100, Main: 1, Calls: []Call{{End: 50, OffCore: 50}}} }
	require.NoError(t, together([]*Rank{starved(), starved()}, func(r *Rank, d desk) error {
		cored, err := newReplay(r, d).cored(nil)
		assert.Nil(t, cored)
		return err
	}))
}
