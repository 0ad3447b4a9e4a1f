package waitstate

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"marple/analysis/callgraph"
	"marple/analysis/record"
)

func randomWorld(t *rapid.T) *world {
	ranks := rapid.IntRange(2, 9).Draw(t, "ranks")
	w := newWorld(ranks, randomComms(t, ranks))
	w.random(t, rapid.IntRange(1, 40).Draw(t, "steps"))
	return w
}

// Where nothing is different, every call is entered and left when it was, to the tick; also after it was stored.
func TestAsItWas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := randomWorld(t)
		ranks := w.own()
		p := replayAll(t, ranks).Program
		times := p.Under(nil)
		var length int64
		for rank, r := range ranks {
			for i, c := range r.Calls {
				require.Equal(t, c.Start-x0(ranks), times.Entered[rank][i])
				require.Equal(t, c.End-x0(ranks), times.Left[rank][i])
			}
			require.Equal(t, r.End-x0(ranks), times.Ended[rank])
			length = max(length, r.End-x0(ranks))
		}
		require.Equal(t, length, times.Length)
		again, err := DecodeProgram(p.Encode())
		require.NoError(t, err)
		require.Equal(t, p, again)
	})
}

func x0(ranks []*Rank) int64 {
	begin := ranks[0].Begin
	for _, r := range ranks {
		begin = min(begin, r.Begin)
	}
	return begin
}

// What was kept of a program may be damaged: that is an error, or another program, and nothing worse.
func FuzzDecodeProgram(f *testing.F) {
	for seed := range 4 {
		f.Add(replayAll(f, rapid.Custom(randomWorld).Example(seed).own()).Program.Encode())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if p, err := DecodeProgram(data); err == nil {
			p.Under(nil)
			p.Under(Scenario{{Kind: Cores}, {Kind: Free}, {Kind: Balance}})
		}
	})
}

// steps are some of two ranks that meet after each: rank 0 computes for a there, and rank 1 for b. The meeting takes 3.
func steps(a, b []int64) *world {
	w := newWorld(2, []Comm{{ID: 7, Members: []record.Run{{Stride: 1, Count: 2}}, Size: 2}})
	for i := range a {
		w.compute(0, a[i], 4)
		w.compute(1, b[i], 4)
		w.collective(0, AllToAll, 0)
	}
	w.finish()
	return w
}

func TestScenarios(t *testing.T) {
	all := func(id callgraph.ID) map[callgraph.ID]float64 { return map[callgraph.ID]float64{id: 1} }
	const nxn = 13
	for name, c := range map[string]struct {
		a, b []int64
		s    Scenario
		want int64
	}{
		"as it was":                {[]int64{100, 100}, []int64{40, 40}, nil, 2*103 + 3},
		"ideal network":            {[]int64{100, 100}, []int64{40, 40}, IdealNetwork(), 200},
		"balanced":                 {[]int64{100, 100}, []int64{40, 40}, Scenario{{Kind: Balance}}, 2*73 + 3},
		"balanced at each step":    {[]int64{100, 40}, []int64{40, 100}, Scenario{{Kind: Balance, Paths: all(4)}}, 2*73 + 3},
		"balanced elsewhere":       {[]int64{100, 40}, []int64{40, 100}, Scenario{{Kind: Balance, Paths: all(5)}}, 2*103 + 3},
		"a rank twice as fast":     {[]int64{100, 100}, []int64{40, 40}, Scenario{{Kind: Scale, Ranks: []int32{0}, Factor: 0.5}}, 2*53 + 3},
		"the other one":            {[]int64{100, 100}, []int64{40, 40}, Scenario{{Kind: Scale, Ranks: []int32{1}, Factor: 0.5}}, 2*103 + 3},
		"half of a path":           {[]int64{100, 100}, []int64{40, 40}, Scenario{{Kind: Scale, Paths: map[callgraph.ID]float64{4: 0.5}, Factor: 0}}, 2*53 + 3},
		"a call half as long":      {[]int64{100, 100}, []int64{40, 40}, Scenario{{Kind: Scale, Paths: all(nxn), Factor: 2}}, 2*106 + 6},
		"free":                     {[]int64{100, 100}, []int64{40, 40}, Scenario{{Kind: Free, Paths: all(nxn)}}, 200},
		"no operations":            {[]int64{100, 40}, []int64{40, 100}, Scenario{{Kind: Remove, Paths: all(nxn)}}, 140},
		"nobody waits":             {[]int64{100, 40}, []int64{40, 100}, Scenario{{Kind: Prompt, Pattern: WaitAtNxN}}, 140 + 3*3},
		"another network":          {[]int64{100, 100}, []int64{40, 40}, Scenario{{Kind: Network, Latency: 10}}, 2*110 + 10},
		"balance, another network": {[]int64{100, 40}, []int64{40, 100}, Scenario{{Kind: Balance}, {Kind: Network, Latency: 10}}, 2*80 + 10},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.want, replayAll(t, steps(c.a, c.b).ranks).Program.Under(c.s).Length)
		})
	}
}

// What one rank does alone, all do a part of, each in the call that it is in then.
func TestBalanceOfWhatOneRankDoes(t *testing.T) {
	w := newWorld(3, []Comm{{ID: 7, Members: []record.Run{{Stride: 1, Count: 3}}, Size: 3}})
	for range 2 {
		w.compute(1, 90, 6)
		w.collective(0, AllToAll, 0)
		for rank := range 3 {
			w.compute(rank, 10, 4)
		}
		w.collective(0, AllToAll, 0)
	}
	w.finish()
	p := replayAll(t, w.ranks).Program
	length := func(paths ...callgraph.ID) int64 {
		c := Change{Kind: Balance, Paths: map[callgraph.ID]float64{}}
		for _, id := range paths {
			c.Paths[id] = 1
		}
		return p.Under(Scenario{c}).Length
	}
	was := length()
	assert.Equal(t, was-2*60, length(6), "90 by one are 30 by each of three")
	defer func(n int) { mostShared = n }(mostShared)
	mostShared = 2
	assert.InDelta(t, was-2*60, length(6), 35, "both times together, of which others do their part before the first")
	mostShared = 1 << 22
	assert.Equal(t, was, length(4), "that all do")
	// Rank 0 computes for 40 of the 90 elsewhere: two do 65 each.
	w = newWorld(2, []Comm{{ID: 7, Members: []record.Run{{Stride: 1, Count: 2}}, Size: 2}})
	w.compute(1, 90, 6)
	w.compute(0, 40, 8)
	w.collective(0, AllToAll, 0)
	w.finish()
	busy := replayAll(t, w.ranks).Program
	assert.Equal(t, busy.Under(nil).Length-25, busy.Under(Scenario{{Kind: Balance, Paths: map[callgraph.ID]float64{6: 1}}}).Length)
	assert.True(t, p.Alone(map[callgraph.ID]float64{6: 1}))
	assert.False(t, p.Alone(map[callgraph.ID]float64{4: 1}))
}

// What takes longer at random is cut to what it takes otherwise, by no more than a disturbance may add; what takes longer every third
// time, or more and more, and a rank that always does, stay as they are.
func TestSteady(t *testing.T) {
	const us, n = 1000, 60
	length := func(a, b func(i int) int64) int64 {
		var x, y []int64
		for i := range n {
			x, y = append(x, a(i)*us), append(y, b(i)*us)
		}
		return replayAll(t, steps(x, y).ranks).Program.Under(WithoutDisturbance()).Length/us - n*1000
	}
	random := rand.New(rand.NewPCG(1, 1))
	var now [n]bool
	for i := range now {
		now[i] = random.IntN(5) == 0
	}
	at := func(longer int64, when func(i int) bool) func(i int) int64 {
		return func(i int) int64 {
			if when(i) {
				return 1000 + longer
			}
			return 1000
		}
	}
	times := int64(0)
	for _, now := range now {
		if now {
			times++
		}
	}
	chance, always := func(i int) bool { return now[i] }, at(0, func(int) bool { return true })
	assert.Zero(t, length(at(300, chance), always))
	assert.Equal(t, times*2000, length(at(3000, chance), always), "of 4 ms, 3 ms stay")
	assert.InDelta(t, n/3*3000, length(func(i int) int64 {
		return at(3000, func(i int) bool { return i%3 == 0 })(i) + at(300, chance)(i) - 1000
	}, always),
		float64(times)*150, "beside what is by chance")
	assert.EqualValues(t, n/3*300, length(at(300, func(i int) bool { return i%3 == 0 }), always))
	assert.EqualValues(t, n*300, length(at(300, func(int) bool { return true }), always))
	assert.InDelta(t, n*(n-1)/2*5, length(func(i int) int64 { return 1000 + int64(i)*5 }, always), n*5)
}

// Who does as much as all would on average, but for a fraction, is one of those who do no more, and then not, and then again.
func TestLevelEnds(t *testing.T) {
	times := []turn{{part: 3, each: 3, others: []other{{busy: 2}}}}
	(&player{p: &Program{}}).level(times)
	assert.EqualValues(t, 2, times[0].each)
}

// Nobody is asked again before what it waits for is known, or a replay would take the square of the number of ranks.
func TestWoken(t *testing.T) {
	const ranks = 5
	for _, kind := range []Kind{FromRoot, Prefix} { // which all wait for rank 0
		w := newWorld(ranks, []Comm{{ID: 7, Members: []record.Run{{Stride: 1, Count: ranks}}, Size: ranks}})
		w.collective(0, kind, 0)
		w.finish()
		x := replayAll(t, w.ranks).Program.player(nil)
		for rank := ranks - 1; rank > 0; rank-- {
			x.advance(int32(rank))
			assert.Empty(t, x.ready, "%v: after rank %d", kind, rank)
		}
		x.advance(0)
		assert.Len(t, x.ready, ranks-1, kind)
	}
}

// A rank goes on from what it waits for, and waits for it before its next call, or that which it is told; it does so before its last one.
func TestNonblocking(t *testing.T) {
	const nxn, toRoot, fromRoot = 13, 14, 15
	one := func(id callgraph.ID) map[callgraph.ID]float64 { return map[callgraph.ID]float64{id: 1} }
	for name, c := range map[string]struct {
		a, b []int64
		s    Scenario
		want int64
	}{
		// Each operation is over 3 after the last entry, while both compute; the last of them, and the end, are waited for.
		"in turn":     {[]int64{100, 40}, []int64{40, 100}, Scenario{{Kind: Nonblocking, Paths: one(nxn)}}, 140 + 2*3},
		"one is slow": {[]int64{100, 100}, []int64{40, 40}, Scenario{{Kind: Nonblocking, Paths: one(nxn)}}, 200 + 2*3},
		// Rank 1 enters the second operation at 103, when the first is over.
		"on one rank":              {[]int64{100, 40}, []int64{40, 10}, Scenario{{Kind: Nonblocking, Paths: one(nxn), Ranks: []int32{1}}}, 100 + 3 + 40 + 2*3},
		"elsewhere":                {[]int64{100, 40}, []int64{40, 100}, Scenario{{Kind: Nonblocking, Paths: one(fromRoot)}}, 2*103 + 3},
		"and free":                 {[]int64{100, 40}, []int64{40, 100}, Scenario{{Kind: Nonblocking, Paths: one(nxn)}, {Kind: Free}}, 140},
		"and on another network":   {[]int64{100, 40}, []int64{40, 100}, Scenario{{Kind: Nonblocking, Paths: one(nxn)}, {Kind: Network, Latency: 50}}, 150 + 2*50},
		"until what is not called": {[]int64{100, 40}, []int64{40, 100}, Scenario{{Kind: Nonblocking, Paths: one(nxn), Until: one(toRoot)}}, 140 + 2*3},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.want, replayAll(t, steps(c.a, c.b).ranks).Program.Under(c.s).Length)
		})
	}
	// Between the operation and the call that needs it lies another one, before which it need not be over.
	w := newWorld(3, []Comm{{ID: 7, Members: []record.Run{{Stride: 1, Count: 3}}, Size: 3}, {ID: 8, Members: []record.Run{{Stride: 1, Count: 2}}, Size: 2}})
	w.compute(2, 100, 4)
	w.collective(0, AllToAll, 0)
	w.compute(0, 30, 4)
	w.compute(1, 30, 4)
	w.collective(1, FromRoot, 0)
	w.compute(0, 30, 4)
	w.compute(1, 30, 4)
	w.collective(1, Prefix, 0)
	w.finish()
	p := replayAll(t, w.ranks).Program
	assert.EqualValues(t, 103+30+3+30+3, p.Under(nil).Length)
	next := p.Under(Scenario{{Kind: Nonblocking, Paths: one(nxn)}})
	assert.EqualValues(t, 103+3+30+3, next.Length, "of rank 1")
	assert.EqualValues(t, 103-30, next.Deferred[0][0])
	later := p.Under(Scenario{{Kind: Nonblocking, Paths: one(nxn), Until: one(10 + 3 + callgraph.ID(Prefix))}})
	assert.EqualValues(t, 103+3, later.Length)
	assert.EqualValues(t, 103-60, later.Deferred[0][0])
}

// Whoever waits for a receive goes on when that is posted, which is when the receiver leaves the call before; the message is there
// when the receiver comes.
func TestEarly(t *testing.T) {
	w := newWorld(2, []Comm{{ID: 7, Members: []record.Run{{Stride: 1, Count: 2}}, Size: 2}})
	for range 3 {
		w.compute(0, 20, 4)
		w.compute(1, 100, 4)
		at := w.post(0, 1, 5)
		w.send(0, 1, 5, true, true)
		k := len(w.posts[stream{0, 1, 5}]) - 1
		w.finishReceive(stream{0, 1, 5}, k, at)
	}
	w.finish()
	p := replayAll(t, w.ranks).Program
	require.EqualValues(t, 303+3, p.Under(nil).Length)
	early := p.Under(Scenario{{Kind: Early, Paths: map[callgraph.ID]float64{12: 1}}})
	assert.Equal(t, []int64{23, 103, 203}, early.Left[0][:3], "when the receiver has left the call before")
	assert.Equal(t, []int64{100, 200, 300}, early.Left[1][:3])
	assert.EqualValues(t, 300+3, early.Length)
}
