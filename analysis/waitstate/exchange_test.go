package waitstate

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"marple/analysis/callgraph"
	"marple/analysis/record"
)

// apart has ranks replay scenarios together, each its own calls, and gives what rank 0 would replay alone.
func apart(t require.TestingT, ranks []*Rank, scenarios []Scenario) (p *Program, times [][]*Times) {
	times = make([][]*Times, len(ranks))
	for _, r := range ranks {
		r.number()
	}
	require.NoError(t, together(ranks, func(r *Rank, d desk) error {
		x, table, err := replayed(r, d, limits{program: MostItems, who: Together})
		if err == nil {
			err = x.scenarios(&table)
		}
		if err != nil {
			return err
		}
		if d.rank == 0 {
			p = table.Program
		}
		for _, s := range scenarios {
			then, err := x.own.under(s)
			if err != nil {
				return err
			}
			times[d.rank] = append(times[d.rank], then)
		}
		return nil
	}))
	return p, times
}

// requireSame wants ranks to find together what rank 0 finds alone, to the tick.
func requireSame(t require.TestingT, ranks []*Rank, scenarios []Scenario) {
	p, times := apart(t, ranks, scenarios)
	for i, s := range scenarios {
		want := p.Under(s)
		for rank := range ranks {
			got := times[rank][i]
			require.Equal(t, want.Length, got.Length, "%v", s)
			require.Equal(t, want.Ended[rank], got.Ended[0], "%v on rank %d", s, rank)
			require.Equal(t, want.Entered[rank], got.Entered[0], "%v on rank %d", s, rank)
			require.Equal(t, want.Left[rank], got.Left[0], "%v on rank %d", s, rank)
			require.Equal(t, want.Own[rank], got.Own[0], "%v on rank %d", s, rank)
			require.Equal(t, want.Gaps[rank], got.Gaps[0], "%v on rank %d", s, rank)
		}
	}
}

func randomScenario(ranks int) *rapid.Generator[Scenario] {
	return rapid.Custom(func(t *rapid.T) (s Scenario) {
		for range rapid.IntRange(0, 3).Draw(t, "changes") {
			c := Change{Kind: What(rapid.IntRange(int(Scale), int(Early)).Draw(t, "kind"))}
			if rapid.Bool().Draw(t, "some paths") {
				c.Paths = map[callgraph.ID]float64{}
				for range rapid.IntRange(1, 3).Draw(t, "paths") {
					c.Paths[callgraph.ID(rapid.IntRange(1, 19).Draw(t, "path"))] = rapid.SampledFrom([]float64{1, 1, 0.5, 0.3}).Draw(t, "part")
				}
			}
			if rapid.IntRange(0, 3).Draw(t, "some ranks") == 0 {
				c.Ranks = slices.Compact(slices.Sorted(slices.Values(rapid.SliceOfN(rapid.Int32Range(0, int32(ranks-1)), 1, 4).Draw(t, "ranks"))))
			}
			c.Factor = rapid.SampledFrom([]float64{0, 0.5, 0.7, 2}).Draw(t, "factor")
			c.Latency, c.PerByte = float64(rapid.IntRange(0, 20).Draw(t, "latency")), rapid.SampledFrom([]float64{0, 0.25}).Draw(t, "per byte")
			c.Pattern = Pattern(rapid.IntRange(1, int(patterns)-1).Draw(t, "pattern"))
			c.Whole = rapid.Bool().Draw(t, "whole")
			if rapid.Bool().Draw(t, "until some call") {
				c.Until = map[callgraph.ID]float64{callgraph.ID(rapid.IntRange(10, 19).Draw(t, "until")): 1}
			}
			s = append(s, c)
		}
		return s
	})
}

// Whatever the program and the scenario, ranks that replay their own calls find what one finds that has all; as it was, to the tick.
func TestRanksReplayTogether(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 9).Draw(t, "ranks")
		comms := randomComms(t, n)
		w := newWorld(n, comms)
		w.crowded = newWorld(n, comms)
		w.random(t, rapid.IntRange(1, 40).Draw(t, "steps"))
		if rapid.Bool().Draw(t, "crowded") {
			w = w.crowded
		}
		for _, r := range w.ranks {
			for _, list := range [][]Message{r.Sends, r.Receives} {
				for i := range list {
					list[i].Bytes = uint64(10 * list[i].Tag)
				}
			}
			for i := range r.Collectives {
				r.Collectives[i].Bytes = uint64(rapid.IntRange(0, 40).Draw(t, "bytes"))
			}
		}
		defer func(n int) { mostShared = n }(mostShared)
		mostShared = rapid.SampledFrom([]int{4, 1 << 22}).Draw(t, "most shared")
		requireSame(t, w.own(), append([]Scenario{nil}, rapid.SliceOfN(randomScenario(n), 1, 4).Draw(t, "scenarios")...))
	})
}

// Where ranks wait in circles, because clocks or the matching are wrong, the same one goes on.
func TestRanksThatWaitInCircles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 7).Draw(t, "ranks")
		w := newWorld(n, randomComms(t, n))
		w.random(t, rapid.IntRange(1, 10).Draw(t, "steps"))
		ranks := w.own()
		for range rapid.IntRange(1, 5).Draw(t, "circles") { // what a rank sends is received after the next message
			a := rapid.IntRange(0, n-1).Draw(t, "a")
			b := (a + rapid.IntRange(1, n-1).Draw(t, "b")) % n
			at := rapid.Int64Range(1, 20).Draw(t, "later")
			for _, pair := range [][2]int{{a, b}, {b, a}} {
				r, to := ranks[pair[0]], int32(pair[1])
				for i := range 2 {
					r.End += at
					r.Calls = append(r.Calls, Call{Start: r.End, End: r.End + 2*at, Path: 10, Gap: 1})
					r.End += 2 * at
					r.Main++
					m := Message{Comm: 7, Peer: to, Tag: 5, At: uint32(r.Main - 1), Done: uint32(r.Main - 1), Synchronous: true}
					if i == 0 {
						r.Sends = append(r.Sends, m)
					} else {
						r.Receives = append(r.Receives, m)
					}
				}
			}
		}
		requireSame(t, ranks, []Scenario{nil, IdealNetwork(), CoreForEach(), rapid.Map(randomScenario(n), func(s Scenario) Scenario { return s }).Draw(t, "scenario")})
	})
}

func copies(ranks []*Rank) (list []*Rank) {
	for _, r := range ranks {
		one := *r
		one.Sends, one.Receives, one.Calls = slices.Clone(r.Sends), slices.Clone(r.Receives), slices.Clone(r.Calls)
		list = append(list, &one)
	}
	return list
}

// Who has no room for other ranks' Program finds the same tables.
func TestTablesOfRanksTogether(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 9).Draw(t, "ranks")
		comms := randomComms(t, n)
		w := newWorld(n, comms)
		w.crowded = newWorld(n, comms)
		w.latency, w.crowded.latency = 0, 0
		w.work, w.crowded.work = 2, 2
		w.random(t, rapid.IntRange(1, 40).Draw(t, "steps"))
		ranks := w.crowded.own()
		if rapid.Bool().Draw(t, "threads") {
			elsewhere(t, ranks)
		}
		for _, r := range ranks {
			r.number()
		}
		find := func(who Players) (all Table) {
			require.NoError(t, together(copies(ranks), func(r *Rank, d desk) error {
				table, err := find(r, d, limits{program: MostItems, who: who})
				if d.rank == 0 {
					all = table
				}
				return err
			}))
			return all
		}
		alone, together := find(Alone), find(Together)
		assert.EqualValues(t, 1, alone.Players)
		assert.EqualValues(t, n, together.Players)
		for _, table := range []*Table{&alone, &together} {
			table.Players = 0
			if table.Cored != nil {
				table.Cored.Found.Players = 0
			}
		}
		require.Equal(t, alone, together)
	})
}

// What scenarios take away may be more than there was, so that calls are entered before the run begins: that is when they were, for all.
func TestOperationsBeforeTheRun(t *testing.T) {
	for _, kind := range []Kind{AllToAll, ToRoot, FromRoot, Prefix} {
		w := newWorld(5, []Comm{{ID: 7, Members: []record.Run{{Stride: 1, Count: 5}}, Size: 5}})
		for rank := range w.ranks {
			w.compute(rank, 10, 4)
			w.off[rank] = 4 + int64(rank)
		}
		w.collective(0, kind, 0)
		w.finish()
		requireSame(t, w.ranks, []Scenario{{{Kind: Scale}, {Kind: Cores}}})
	}
}

// Ranks that have given up a replay have taken all messages of it, and leave it to rank 0, which finds the same.
func TestRanksGiveUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 9).Draw(t, "ranks")
		comms := randomComms(t, n)
		w := newWorld(n, comms)
		w.crowded = newWorld(n, comms)
		w.random(t, rapid.IntRange(1, 40).Draw(t, "steps"))
		ranks := w.crowded.own()
		for _, r := range ranks {
			r.number()
		}
		find := func(who Players, latest time.Time) (all Table) {
			require.NoError(t, together(copies(ranks), func(r *Rank, d desk) error {
				x, own, err := replayed(r, d, limits{program: MostItems, who: who})
				if err != nil {
					return err
				}
				x.latest = latest
				table, err := x.ofAll(own)
				if d.rank == 0 {
					all = table
				}
				assert.Empty(t, d.boxes[d.rank].posted)
				return err
			}))
			return all
		}
		require.Equal(t, find(Alone, time.Time{}), find(Together, time.Unix(1, 0)))
	})
}

// Who replays is decided by what is foreseen: as many messages, one after the other, as there are, and calls.
func TestQuick(t *testing.T) {
	const ms, us = 1_000_000, 1000
	assert.True(t, quick(1000, 5*us, 10_000, 2, 50*ms), "18 ms")
	assert.False(t, quick(1000, 50*us, 10_000, 2, 50*ms), "108 ms")
	assert.False(t, quick(1000, 5*us, 65_536, 2, 50*ms), "62 ms")
	assert.True(t, quick(1000, 50*us, 10_000, 2, 200*ms))
	assert.False(t, quick(1<<40, 1<<40, 1<<40, 5, 50*ms))
}

// Operations that another thread has entered on one of the ranks keep nobody waiting.
func TestOperationOfAnotherThread(t *testing.T) {
	w := newWorld(3, []Comm{{ID: 7, Members: []record.Run{{Stride: 1, Count: 3}}, Size: 3}})
	w.compute(0, 10, 4)
	w.collective(0, AllToAll, 0)
	w.compute(1, 20, 4)
	w.finish()
	r := w.ranks[2]
	r.Calls = append(r.Calls[1:], r.Calls[0])
	r.Main = 1
	r.Calls[1].Thread = 1
	for i := range r.Collectives {
		r.Collectives[i].At, r.Collectives[i].Done = 1-r.Collectives[i].At, 1-r.Collectives[i].Done
	}
	_, times := apart(t, copies(w.ranks), []Scenario{IdealNetwork()})
	assert.EqualValues(t, 10+20, times[0][0].Length)
	requireSame(t, w.ranks, []Scenario{nil, IdealNetwork()})
}

// elsewhere has another thread make some calls.
func elsewhere(t *rapid.T, ranks []*Rank) {
	for rank, r := range ranks {
		if !rapid.Bool().Draw(t, "another thread") {
			continue
		}
		var order [2][]int // by thread
		for i := range r.Calls {
			thread := 0
			if rapid.IntRange(0, 4).Draw(t, "here") == 0 {
				thread = 1
			}
			order[thread] = append(order[thread], i)
		}
		calls, to := make([]Call, 0, len(r.Calls)), make([]uint32, len(r.Calls))
		for thread, list := range order {
			for _, i := range list {
				c := r.Calls[i]
				c.Thread = uint16(thread)
				to[i] = uint32(len(calls))
				calls = append(calls, c)
			}
		}
		one := *r
		one.Calls, one.Main = calls, len(order[0])
		move := func(at uint32) uint32 {
			if at == NotDone {
				return at
			}
			return to[at]
		}
		one.Sends, one.Receives, one.Collectives = slices.Clone(r.Sends), slices.Clone(r.Receives), slices.Clone(r.Collectives)
		for _, list := range [][]Message{one.Sends, one.Receives} {
			for i := range list {
				list[i].At, list[i].Done = move(list[i].At), move(list[i].Done)
			}
		}
		for i := range one.Collectives {
			c := &one.Collectives[i]
			c.At, c.Done = move(c.At), move(c.Done)
		}
		ranks[rank] = &one
	}
}

// Several threads of a rank make no difference to who replays, whatever the program and the scenario.
func TestThreadsReplayTogether(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 9).Draw(t, "ranks")
		w := newWorld(n, randomComms(t, n))
		w.random(t, rapid.IntRange(1, 40).Draw(t, "steps"))
		ranks := w.own()
		elsewhere(t, ranks)
		requireSame(t, ranks, append([]Scenario{nil, IdealNetwork()}, rapid.SliceOfN(randomScenario(n), 1, 3).Draw(t, "scenarios")...))
	})
}

// However quick the machine is, ranks decide the same, and have the run's figures.
func TestPlayersAgree(t *testing.T) {
	processes, logs := relay(t, 5000)
	whole := replayWithin(t, processes, logs, limits{program: 1 << 30})
	for _, who := range []Players{Alone, Together, Auto} {
		ranks, across, said := make([]*Rank, len(processes)), make([]bool, len(processes)), Table{}
		for i := range ranks {
			ranks[i] = ofProcess(processes[i], logs[i])
		}
		require.NoError(t, together(ranks, func(r *Rank, d desk) error {
			x, own, err := replayed(r, d, limits{program: 4000, who: who})
			if err != nil {
				return err
			}
			assert.NotNil(t, x.less, "rank 0 has no room for all")
			table, err := x.ofAll(own)
			if across[d.rank] = x.across; d.rank == 0 {
				said = table
			}
			return err
		}))
		assert.Equal(t, []bool{across[0], across[0], across[0]}, across)
		switch who {
		case Alone:
			assert.EqualValues(t, 1, said.Players)
		case Together:
			assert.EqualValues(t, 3, said.Players)
			assert.Equal(t, whole.Ideal, said.Ideal)
		case Auto:
			assert.Contains(t, []uint64{1, 3}, said.Players)
		}
		assert.InEpsilon(t, float64(whole.Ideal)/float64(whole.Replayed), float64(said.Ideal)/float64(said.Replayed), 0.1)
	}
}
