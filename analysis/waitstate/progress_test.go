package waitstate

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"marple/analysis/callgraph"
	"marple/analysis/record"
)

const us = 1000

// exchanges are messages from rank 0 to rank 1, which are begun at once. Rank 0 then computes on path 4 and completes its send;
// rank 1 does so on path 5 and completes its receive when moved says.
func exchanges(n int, sender, receiver int64, moved func(step int, sender, receiver int64) int64) *world {
	w := newWorld(2, []Comm{{ID: 7, Members: []record.Run{{Stride: 1, Count: 2}}, Size: 2}})
	for k := range n {
		w.post(0, 1, 0)
		w.send(0, 1, 0, false, false)
		w.compute(0, sender, 4)
		w.compute(1, receiver, 5)
		atSender, atReceiver := w.now[0], w.now[1]
		done := w.enter(0, 3)
		w.ranks[0].Sends[k].Done = done
		w.ranks[0].Sends[k].Bytes, w.ranks[1].Receives[k].Bytes = 5000, 5000
		wait := w.enter(1, 3)
		w.ranks[1].Receives[k].Done = wait
		w.leave(1, wait, moved(k, atSender, atReceiver))
		w.collective(0, AllToAll, 0)
	}
	w.finish()
	return w
}

func TestLateProgress(t *testing.T) {
	const n = 20
	whenBack := func(_ int, sender, receiver int64) int64 { return max(sender, receiver) + 5*us }
	for name, c := range map[string]struct {
		sender, receiver int64
		moved            func(step int, sender, receiver int64) int64
		want             int64
	}{
		"the sender computes longer":   {110 * us, 50 * us, whenBack, 60 * us},
		"the receiver computes longer": {50 * us, 110 * us, whenBack, 0},
		"the message comes by itself":  {110 * us, 50 * us, func(_ int, _, receiver int64) int64 { return receiver + 5*us }, 0},
		"some come by themselves": {110 * us, 50 * us, func(step int, sender, receiver int64) int64 {
			if step%5 == 0 {
				return receiver + 5*us
			}
			return whenBack(step, sender, receiver)
		}, 0},
		"the message takes longer than that": {110 * us, 50 * us, func(_ int, _, receiver int64) int64 { return receiver + 150*us }, 0},
		"nobody leaves MPI for long":         {record.LoopNs, 0, whenBack, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := exchanges(n, c.sender, c.receiver, c.moved)
			table := replayAll(t, w.ranks)
			assert.EqualValues(t, n*c.want, ns(table, LateProgress))
			if c.want > 0 {
				assert.EqualValues(t, n*c.want, delayOn(table, 4).Direct+delayOn(table, 4).Passed, "since rank 0 computes longer")
				even := table.Program.Under(Scenario{{Kind: Balance, Paths: map[callgraph.ID]float64{4: 1, 5: 1}}})
				assert.EqualValues(t, table.Program.Under(nil).Length-n*c.want/2, even.Length)
			}
		})
	}
}

// Rank 0 waits for two at once. What comes late from rank 2 is not what rank 1 does meanwhile, and its message came by itself.
func TestNoLateProgressOfOthers(t *testing.T) {
	w := newWorld(3, []Comm{{ID: 7, Members: []record.Run{{Stride: 1, Count: 3}}, Size: 3}})
	for k := range 10 {
		for from := 1; from < 3; from++ {
			w.post(from, 0, 0)
		}
		w.send(1, 0, 0, false, false)
		w.compute(1, 150*us, 5)
		w.compute(2, 200*us, 6)
		w.send(2, 0, 0, false, false)
		wait := w.enter(0, 3)
		for from := 1; from < 3; from++ {
			w.finishReceive(stream{from, 0, 0}, k, wait)
			w.ranks[from].Sends[k].Done = w.enter(from, 3)
		}
		w.collective(0, AllToAll, 0)
	}
	w.finish()
	table := replayAll(t, w.ranks)
	assert.Zero(t, ns(table, LateProgress))
	assert.Positive(t, ns(table, LateSender))
	for _, n := range table.Program.Lanes[0].Needs {
		assert.NotEqual(t, LateProgress, n.Pattern)
	}
}

// All that has been begun goes on when the rank comes back from where it computes for longest, not when it asks for each.
func TestComeback(t *testing.T) {
	r := &Rank{Paths: []callgraph.ID{3, 4}, Main: 4, Calls: []Call{
		{Start: 0, End: 10 * us}, {Start: 5000 * us, End: 5001 * us, Path: 1}, {Start: 5030 * us, End: 5031 * us}, {Start: 5100 * us, End: 5200 * us}}}
	assert.Equal(t, comeback{1, 10 * us, 5000 * us, 4}, r.back(&Message{At: 0, Done: 2}))
	assert.Equal(t, comeback{2, 5001 * us, 5030 * us, 3}, r.back(&Message{At: 1, Done: 2}))
	for _, m := range []Message{{At: 0, Done: NotDone}, {At: 2, Done: 2}, {At: 0, Done: 2, Buffered: true}} {
		assert.Zero(t, r.back(&m))
	}
	r.Main = 2
	assert.Zero(t, r.back(&Message{At: 0, Done: 2}), "of other threads it is not known")
}

func TestComebackOnTheWire(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := comeback{rapid.Uint32Range(0, 1000).Draw(t, "call"), rapid.Int64Range(-1e9, 1e9).Draw(t, "idle"), 0, 77}
		b.end = b.idle + rapid.Int64Range(0, 1e9).Draw(t, "computes")
		if b.call == 0 {
			b = comeback{}
		}
		var o out
		at := b.call - min(b.call, 5)
		b.encode(&o, at, 12345)
		i := in{data: o}
		assert.Equal(t, b, decodeComeback(&i, at, 12345))
		assert.False(t, i.bad)
		assert.Empty(t, i.data)
	})
}
