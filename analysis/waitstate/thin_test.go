package waitstate

import (
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"marple/analysis/record"
)

// relay has rank 0 send to rank 1, which has posted its receive a step ahead and waits for it, and sends on to rank 2, which
// receives from anybody; every tenth step all meet at a barrier. The senders' computing is uneven. Seldom one step takes as long as
// a thousand others, and everybody waits for it.
func relay(t testing.TB, steps int) (processes []*record.Process, logs []map[int]Log) {
	const ranks = 3
	type rank struct {
		w       *record.Writer
		t       *record.ThreadWriter
		log     *record.Log
		comm    uint16
		now     uint64
		started uint32
	}
	var all []*rank
	for i := range ranks {
		w := record.NewWriter(i, ranks)
		r := &rank{w: w, t: w.Thread(0, true)}
		w.Header().CPUs[0] = 1 << i
		r.log = r.t.Keep(&record.Budget{Memory: 1 << 30, Total: 1 << 30})
		r.comm = w.Comm(record.Comm{ID: 7, Size: ranks, Rank: int32(i)}, "MPI_COMM_WORLD", []record.Run{{Stride: 1, Count: ranks}})
		all = append(all, r)
	}
	path := func(r *rank, name string, op record.Op) uint32 { return r.w.MPI(0, name, op, 0) }
	call := func(r *rank, name string, op record.Op, end uint64, c record.Call) {
		c.Path, c.Start, c.Comm = path(r, name, op), r.now, r.comm
		c.Duration = max(end, r.now+2) - r.now
		r.t.Call(c)
		r.now += c.Duration
	}
	post := func(r *rank) {
		call(r, "MPI_Start", record.OpRequest, 0, record.Call{Peer: record.NoPeer})
		r.t.Posted(path(r, "MPI_Start", record.OpRequest), record.OpRecv, r.comm, 0, 5, r.started, 8)
		r.started++
	}
	random := rand.New(rand.NewPCG(1, 2))
	post(all[1])
	for step := range steps {
		all[0].now += uint64(random.IntN(400))
		if random.IntN(2000) == 0 {
			all[0].now += 200_000
		}
		sent := all[0].now
		call(all[0], "MPI_Send", record.OpSend, 0, record.Call{Peer: 1, Tag: 5})
		all[1].now += uint64(random.IntN(200))
		post(all[1])
		call(all[1], "MPI_Wait", record.OpWait, sent+3, record.Call{Peer: record.NoPeer})
		all[1].t.CompletedAs(uint32(step), path(all[1], "MPI_Start", record.OpRequest), all[1].comm, 0, 5, 8, false)
		all[1].now += uint64(random.IntN(50))
		sent = all[1].now
		call(all[1], "MPI_Send", record.OpSend, 0, record.Call{Peer: 2, Tag: 6})
		all[2].now += uint64(random.IntN(100))
		call(all[2], "MPI_Recv", record.OpRecv, sent+3, record.Call{Peer: 1, Tag: 6})
		if step%10 == 0 {
			last := max(all[0].now, all[1].now, all[2].now)
			for _, r := range all {
				call(r, "MPI_Barrier", record.OpBarrier, last+4, record.Call{Peer: record.NoPeer, Collective: true})
			}
		}
	}
	for _, r := range all {
		p, err := r.w.Process(max(all[0].now, all[1].now, all[2].now))
		require.NoError(t, err)
		processes, logs = append(processes, p), append(logs, map[int]Log{0: r.log})
	}
	return processes, logs
}

// replayLogs finds waits as ranks do at the end of a run.
func replayLogs(t *testing.T, processes []*record.Process, logs []map[int]Log) Table {
	return replayWithin(t, processes, logs, atTheEnd)
}

func replayWithin(t *testing.T, processes []*record.Process, logs []map[int]Log, within limits) (all Table) {
	ranks := len(processes)
	wires := make([][]chan []byte, ranks)
	for i := range wires {
		for range ranks {
			wires[i] = append(wires[i], make(chan []byte))
		}
	}
	var wait sync.WaitGroup
	for i := range processes {
		wait.Add(1)
		go func() {
			defer wait.Done()
			table, err := find(ofProcess(processes[i], logs[i]), link{rank: i, wires: wires}, within)
			assert.NoError(t, err)
			if i == 0 {
				all = table
			}
		}()
	}
	wait.Wait()
	return all
}

func whole(t *testing.T, processes []*record.Process, logs []map[int]Log) (all []*Rank, table Table) {
	for i := range processes {
		r, err := FromProcess(processes[i], logs[i])
		require.NoError(t, err)
		all = append(all, r)
	}
	table, err := FindAll(all)
	require.NoError(t, err)
	return all, table
}

// What is found in a part that lies evenly over the run is about what is found in all of it.
func TestThinnedReplay(t *testing.T) {
	processes, logs := relay(t, 50_000)
	_, want := whole(t, processes, logs)
	got := replayLogs(t, processes, logs)
	require.Zero(t, want.Span)
	require.Positive(t, got.Span)
	require.Less(t, got.Looked, got.Span/2)
	require.Zero(t, got.Lost.Unmatched)
	require.Zero(t, got.Lost.Uncovered)
	require.Zero(t, got.Lost.Ended)
	for _, p := range []Pattern{LateSender, WaitAtBarrier} {
		require.Positive(t, ns(want, p))
		assert.InEpsilon(t, ns(want, p), ns(got, p), 0.1, p.String())
	}
	assert.InEpsilon(t, want.Ideal, got.Ideal, 0.1)
	assert.InEpsilon(t, want.Length, got.Length, 0.1)
	assert.InEpsilon(t, want.Events, got.Events, 1e-9, "all that was logged")
	direct := func(table Table) (sum uint64) {
		for _, d := range table.Delays {
			sum += d.Direct
		}
		return sum
	}
	assert.InEpsilon(t, direct(want), direct(got), 0.15)

	// However long a run is, what is remembered of it is bounded.
	var extents []extent
	for i := range processes {
		extents = append(extents, Later(processes[i], logs[i], nil).unread.extent)
	}
	v, _ := planned(extents, atTheEnd)
	for i := range processes {
		r, err := read(processes[i], logs[i], Clock{}, v)
		require.NoError(t, err)
		require.Less(t, len(r.Calls), 2*MostReplayed)
		require.Greater(t, len(r.Calls), MostReplayed/8)
	}
}

// What rank 0 replays of a run with more calls than it has room for lies evenly over the run: here the first half of it says nothing
// about the second.
func TestProgramOfStretches(t *testing.T) {
	processes, logs := growing(t, 4, 4000)
	within := limits{program: 1 << 30}
	want := replayWithin(t, processes, logs, within)
	within.program = 4000
	got := replayWithin(t, processes, logs, within)
	require.Zero(t, want.Program.Looked)
	require.Less(t, got.Program.Size(), 5000)
	require.Greater(t, got.Program.Size(), 2000)
	assert.InEpsilon(t, want.Program.Span, got.Program.Whole, 0.01)
	assert.InEpsilon(t, float64(got.Program.Whole)/16, got.Program.Looked, 0.1)
	assert.Zero(t, got.Span, "waits are those of the whole run")
	assert.Equal(t, want.Waits, got.Waits)
	assert.InEpsilon(t, want.Replayed, got.Replayed, 0.02)
	assert.InEpsilon(t, want.Ideal, got.Ideal, 0.02)
	saved := func(p *Program) float64 {
		return 1 - float64(p.Under(Scenario{{Kind: Balance}}).Length)/float64(p.Under(nil).Length)
	}
	require.Greater(t, saved(want.Program), 0.1)
	assert.InDelta(t, saved(want.Program), saved(got.Program), 0.02)
	// And so with a core for each.
	require.NotNil(t, want.Cored)
	require.NotNil(t, got.Cored)
	assert.InEpsilon(t, want.Cored.Length, got.Cored.Length, 0.03)
	assert.InEpsilon(t, ns(want.Cored.Found, WaitAtNxN), ns(got.Cored.Found, WaitAtNxN), 0.03)
}

// growing has all ranks compute, pass something on in a ring and meet, in each step. Rank 1 computes longer and longer from the half
// of the run on. All have no core for a quarter of their time outside MPI.
func growing(t *testing.T, ranks, steps int) (processes []*record.Process, logs []map[int]Log) {
	type rank struct {
		w    *record.Writer
		t    *record.ThreadWriter
		log  *record.Log
		comm uint16
		now  uint64
	}
	var all []*rank
	for i := range ranks {
		w := record.NewWriter(i, ranks)
		r := &rank{w: w, t: w.Thread(0, true)}
		r.log = r.t.Keep(&record.Budget{Memory: 1 << 30, Total: 1 << 30})
		r.comm = w.Comm(record.Comm{ID: 7, Size: uint32(ranks), Rank: int32(i)}, "MPI_COMM_WORLD", []record.Run{{Stride: 1, Count: uint32(ranks)}})
		all = append(all, r)
	}
	call := func(r *rank, name string, op record.Op, end uint64, c record.Call) {
		c.Path, c.Start, c.Comm, c.Duration = r.w.MPI(0, name, op, 0), r.now, r.comm, end-r.now
		r.t.Call(c)
		r.now = end
	}
	for step := range steps {
		met, sent := uint64(0), make([]uint64, ranks)
		for i, r := range all {
			work := uint64(1000 + i)
			if i == 1 && step > steps/2 {
				work += uint64(2000 * (step - steps/2) / steps)
			}
			r.now += work
			r.t.Gap(work/4, 0, 0)
			call(r, "MPI_Send", record.OpSend, r.now+10, record.Call{Peer: int32((i + 1) % ranks), Tag: 5, Out: 8})
			sent[i] = r.now
		}
		for i, r := range all {
			from := (i + ranks - 1) % ranks
			call(r, "MPI_Recv", record.OpRecv, max(r.now, sent[from])+20, record.Call{Peer: int32(from), Tag: 5, In: 8})
			met = max(met, r.now)
		}
		for _, r := range all {
			call(r, "MPI_Allreduce", record.OpNToN, met+30, record.Call{Peer: record.NoPeer, Collective: true, Out: 8})
		}
	}
	for _, r := range all {
		p, err := r.w.Process(r.now)
		require.NoError(t, err)
		processes, logs = append(processes, p), append(logs, map[int]Log{0: r.log})
	}
	return processes, logs
}

// All of a part, whatever stretches it is made of, is found as it is in the whole run.
func TestViewsAddUp(t *testing.T) {
	processes, logs := relay(t, 300)
	all, want := whole(t, processes, logs)
	end := int64(0)
	for _, r := range all {
		end = max(end, r.End)
	}
	rapid.Check(t, func(t *rapid.T) {
		// Two views that together are the run: what is waited for in one and in the other is all that is waited for.
		var views [2]view
		for from, which := int64(0), 0; from < end; which = 1 - which {
			to := min(end, from+rapid.Int64Range(1, 30_000).Draw(t, "length"))
			if end-to < 2 { // nothing lies behind the last stretch
				to = end
			}
			v := &views[which]
			at := int64(0)
			if n := len(*v); n > 0 {
				at = (*v)[n-1].at + (*v)[n-1].to - (*v)[n-1].from + seam
			}
			*v = append(*v, stretch{from, to, at})
			from = to
		}
		sums := map[Pattern]uint64{}
		for _, v := range views {
			if v == nil {
				continue
			}
			var part []*Rank
			for i := range processes {
				r, err := read(processes[i], logs[i], Clock{}, v)
				require.NoError(t, err)
				for k := 1; k < len(r.Calls); k++ {
					require.GreaterOrEqual(t, r.Calls[k].Start, r.Calls[k-1].Start)
				}
				part = append(part, r)
			}
			table, err := FindAll(part)
			require.NoError(t, err)
			for p := range patterns {
				sums[p] += ns(table, p)
			}
		}
		seams := float64(seam * 3 * (len(views[0]) + len(views[1])))
		for _, p := range []Pattern{LateSender, WaitAtBarrier} {
			require.InDelta(t, ns(want, p), sums[p], seams, p.String())
		}
	})
}

func TestPlannedView(t *testing.T) {
	host := func(events uint64, span int64, ranks, cpus int) []extent {
		var all []extent
		for range ranks {
			all = append(all, extent{events: events, end: span, cpus: [16]uint64{1<<cpus - 1}})
		}
		return all
	}
	for _, c := range []struct {
		name string
		all  []extent
		part float64
	}{
		{"few events", host(10_000, 1e9, 2, 2), 1},
		{"many events in little time", host(100_000, 1e9, 1, 1), 0.5},
		{"two ranks on one core", host(100_000, 1e9, 2, 1), 0.25},
		{"two ranks on two cores", host(100_000, 1e9, 2, 2), 0.5},
		{"as many as memory allows", host(10*MostReplayed, 1e12, 1, 1), 0.1},
		{"a run of no length", host(1<<30, 0, 1, 1), 1},
	} {
		v, span := planned(c.all, atTheEnd)
		if c.part == 1 {
			assert.Nil(t, v, c.name)
			continue
		}
		require.Len(t, v, stretches, c.name)
		assert.InEpsilon(t, c.part, float64(v.length())/float64(span), 0.001, c.name)
		for i := 1; i < len(v); i++ {
			assert.Greater(t, v[i].from, v[i-1].to, c.name)
			assert.Equal(t, v[i-1].at+v[i-1].to-v[i-1].from+seam, v[i].at, c.name)
		}
		assert.LessOrEqual(t, v[len(v)-1].to, span, c.name)
	}
}

// What is decoded only costs little beside what is replayed.
func BenchmarkReadThinned(b *testing.B) {
	processes, logs := relay(b, 200_000)
	var extents []extent
	events := uint64(0)
	for i := range processes {
		extents = append(extents, Later(processes[i], logs[i], nil).unread.extent)
		events += extents[i].events
	}
	v, _ := planned(extents, atTheEnd)
	b.ReportAllocs()
	for b.Loop() {
		for i := range processes {
			_, err := read(processes[i], logs[i], Clock{}, v)
			require.NoError(b, err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(events), "ns/event")
}
