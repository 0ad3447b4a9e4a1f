package diagnosis

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"marple/analysis/analysistest"
	"marple/analysis/knowledge"
	"marple/analysis/record"
	"marple/analysis/run"
)

const ms = 1_000_000

type rank = analysistest.Rank

// Each ailment is shown with its size, and next to it a run without it that looks much the same.
var ailments = []struct {
	name   string
	ranks  int
	cores  int
	script func(*rank)
	waits  bool     // the logs are replayed
	want   []string // ids of the findings, the most expensive first
	share  float64  // of the first
	title  string
	seen   string // among its evidence
	where  string
	slow   []int
}{
	{name: "healthy", ranks: 4, cores: 4, script: func(r *rank) {
		analysistest.Steps(100, func() { r.Compute(10 * ms); r.Barrier(20, ms/10) })
	}},
	{name: "healthy although ranks outnumber cores", ranks: 4, cores: 2, script: func(r *rank) {
		analysistest.Steps(100, func() { r.OffCore(10 * ms); r.Barrier(19, 0); r.Compute(10 * ms); r.Barrier(20, 5*ms) })
	}},
	{name: "one slow rank", ranks: 4, cores: 4, script: func(r *rank) {
		analysistest.Steps(100, func() {
			extra := uint64(0)
			if r.Rank == 2 {
				extra = 10 * ms
			}
			r.Compute(10*ms + extra)
			r.Barrier(20, 10*ms-extra)
			r.Compute(5 * ms)
			r.Barrier(30, 0)
		})
	}, want: []string{"imbalance"}, share: 0.3 * 99 / 100, slow: []int{2},
		title: "Rank 2 computes longer than the others, which wait in MPI",
		where: "between MPI_Barrier (main.c:30) and MPI_Barrier (main.c:20) in main"},
	{name: "two slow ranks that wait for files", ranks: 8, cores: 8, script: func(r *rank) {
		analysistest.Steps(50, func() {
			if r.Rank < 2 {
				r.Blocked(10 * ms)
				r.Barrier(20, 0)
			} else {
				r.Barrier(20, 10*ms)
			}
			r.Compute(10 * ms)
		})
	}, want: []string{"imbalance"}, slow: []int{0, 1}},
	{name: "a little imbalance", ranks: 4, cores: 4, script: func(r *rank) {
		analysistest.Steps(100, func() {
			extra := uint64(r.Rank) * ms / 10
			r.Compute(10*ms + extra)
			r.Barrier(20, 3*ms/10-extra)
		})
	}},
	{name: "the same within a millisecond", ranks: 4, cores: 4, script: func(r *rank) {
		extra := uint64(r.Rank/3) * ms / 2
		r.Compute(ms/2 + extra)
		r.Barrier(20, ms/2-extra)
	}},
	{name: "other neighbours at the rim", ranks: 2, cores: 2, script: func(r *rank) {
		analysistest.Steps(100, func() {
			r.Compute(10 * ms)
			r.Function(5, "give", func() { r.Send(10+r.Rank, 1-r.Rank, 4096, ms/2) })
			r.Function(6, "take", func() { r.Recv(12+r.Rank, 1-r.Rank, 4096, ms/2) })
		})
	}},
	{name: "the same work between other calls", ranks: 2, cores: 2, waits: true, script: func(r *rank) {
		analysistest.Steps(100, func() {
			r.Compute(10 * ms)
			r.Send(10+2*r.Rank, 1-r.Rank, 4096, ms/2)
			r.Recv(11+2*r.Rank, 1-r.Rank, 4096, ms/2)
			r.Barrier(20, ms/2)
		})
	}},
	{name: "a slow rank that others wait for in messages", ranks: 2, cores: 2, waits: true, script: func(r *rank) {
		analysistest.Steps(100, func() {
			r.Compute(uint64(20-10*r.Rank) * ms)
			r.Send(10, 1-r.Rank, 4096, ms/10)
			r.Recv(11, 1-r.Rank, 4096, uint64(1+100*r.Rank)*ms/10)
		})
	}, want: []string{"imbalance"}, slow: []int{0}},
	{name: "a slow rank before messages and a collective", ranks: 2, cores: 2, waits: true, script: func(r *rank) {
		extra := uint64(10*(1-r.Rank)) * ms
		analysistest.Steps(100, func() {
			r.Function(4, "front", func() {
				r.Compute(10*ms + extra)
				r.Send(10, 1-r.Rank, 4096, ms/10)
				r.Recv(11, 1-r.Rank, 4096, 10*ms-extra+ms/10)
			})
			r.Function(5, "back", func() {
				r.Compute(10*ms + extra)
				r.Call(20, "MPI_Allreduce", record.OpNToN, 0, record.Call{Duration: 10*ms - extra + ms/10, Peer: record.NoPeer, Collective: true, Out: 8, In: 8})
			})
		})
	}, want: []string{"imbalance"}, slow: []int{0}},
	{name: "a slow rank that others wait for in a non-blocking collective", ranks: 2, cores: 2, waits: true, script: func(r *rank) {
		extra := uint64(10*(1-r.Rank)) * ms
		analysistest.Steps(100, func() {
			r.Call(30, "MPI_Iallreduce", record.OpNToN, record.Nonblocking, record.Call{Duration: 1000, Peer: record.NoPeer, Collective: true, Out: 8, In: 8})
			r.Compute(10*ms + extra)
			r.Call(31, "MPI_Wait", record.OpWait, 0, record.Call{Duration: 10*ms - extra + ms/10, Peer: record.NoPeer})
		})
	}, want: []string{"imbalance"}, slow: []int{0}},
	{name: "the root of a broadcast waits for a slow rank", ranks: 2, cores: 2, waits: true, script: func(r *rank) {
		extra := uint64(10*r.Rank) * ms
		analysistest.Steps(100, func() {
			r.Compute(10*ms + extra)
			r.Call(32, "MPI_Bcast", record.OpOneToN, 0, record.Call{Duration: 10*ms - extra + ms/10, Peer: 0, Collective: true, In: 1 << 20})
		})
	}, want: []string{"imbalance"}, slow: []int{1}},
	{name: "a different rank is slow each time, and some compute between other calls", ranks: 4, cores: 4, waits: true, script: func(r *rank) {
		for step := range 80 {
			extra := map[bool]uint64{true: 10 * ms}[step%4 == r.Rank]
			r.Compute(10*ms + extra)
			if r.Rank == 1 || r.Rank == 2 {
				late := map[bool]uint64{true: 10 * ms}[step%4 == 3-r.Rank]
				r.Send(10, 3-r.Rank, 8, 0)
				r.Recv(11, 3-r.Rank, 8, late)
				extra += late
			}
			r.Barrier(20, 10*ms-extra+ms/10)
		}
	}, want: []string{"wait-at-barrier"}, slow: []int{0, 3}},
	{name: "a rank that is slow at three places", ranks: 4, cores: 4, waits: true, script: func(r *rank) {
		analysistest.Steps(100, func() {
			for k := range uint64(3) {
				extra := map[bool]uint64{true: (3 - k) * ms}[r.Rank == 2]
				r.Compute(10*ms + extra)
				r.Barrier(20+int(k), (3-k)*ms-extra+ms/10)
			}
		})
	}, want: []string{"imbalance"}, slow: []int{2}, share: 6. * 3 / (4 * 36.3), seen: "at 3 places: 50 % between MPI_Barrier (main.c:22) and MPI_Barrier (main.c:20); " +
		"33 % between MPI_Barrier (main.c:20) and MPI_Barrier (main.c:21); 17 % between MPI_Barrier (main.c:21) and MPI_Barrier (main.c:22)"},
	{name: "another rank is slow at another place", ranks: 4, cores: 4, waits: true, script: func(r *rank) {
		analysistest.Steps(100, func() { slowAt(r, 4, 2); slowAt(r, 3, 1) })
	}, want: []string{"imbalance", "imbalance-elsewhere"}, slow: []int{2}, share: 4. * 3 / (4 * 27.2)},
	{name: "each rank is slow at a place of its own", ranks: 4, cores: 4, waits: true, script: func(r *rank) {
		analysistest.Steps(100, func() {
			for late := range r.Ranks {
				slowAt(r, 4, late)
			}
		})
	}, want: []string{"imbalance-elsewhere", "imbalance"}, slow: []int{0, 2, 3}, share: 3 * 4. * 3 / (4 * 56.4)},
	{name: "each rank is slow at a place of its own, by too little to be told by itself", ranks: 4, cores: 4, waits: true, script: func(r *rank) {
		analysistest.Steps(100, func() {
			for late := range r.Ranks {
				slowAt(r, 2, late)
			}
		})
	}, want: []string{"imbalance-elsewhere"}, slow: []int{0, 1, 2, 3}, share: 4 * 2. * 3 / (4 * 48.4)},
	{name: "locks of a window", ranks: 2, cores: 2, script: func(r *rank) {
		analysistest.Steps(100, func() {
			r.Compute(ms)
			r.Call(70, "MPI_Win_lock", record.OpRMASync, 0, record.Call{Duration: ms, Peer: 0})
			r.Call(71, "MPI_Win_unlock", record.OpRMASync, 0, record.Call{Duration: ms / 10, Peer: 0})
		})
	}, want: []string{"window-locks"}, share: 1.1 / 2.1, where: "MPI_Win_lock (main.c:70) in main"},
	{name: "polling", ranks: 2, cores: 2, script: func(r *rank) {
		analysistest.Steps(100, func() {
			r.Compute(ms)
			analysistest.Steps(500, func() {
				r.Call(40, "MPI_Test", record.OpTest, record.Nonblocking, record.Call{Duration: 1000, Peer: record.NoPeer})
			})
		})
	}, want: []string{"polling"}, share: 1. / 3, where: "MPI_Test (main.c:40) in main"},
	{name: "tests that find something", ranks: 2, cores: 2, script: func(r *rank) {
		analysistest.Steps(100, func() {
			r.Compute(10 * ms)
			analysistest.Steps(500, func() {
				r.Call(40, "MPI_Test", record.OpTest, record.Nonblocking, record.Call{Duration: 1000, Hit: true, Peer: record.NoPeer})
			})
		})
	}},
	{name: "tiny messages", ranks: 2, cores: 2, script: func(r *rank) {
		analysistest.Steps(100, func() {
			r.Compute(ms)
			analysistest.Steps(100, func() { r.Send(50, 1-r.Rank, 8, 1000); r.Recv(51, 1-r.Rank, 8, 1000) })
		})
	}, want: []string{"tiny-messages"}, share: 1. / 6, where: "MPI_Send (main.c:50) in main"},
	{name: "tiny messages, paid where they are waited for", ranks: 2, cores: 2, script: func(r *rank) {
		analysistest.Steps(100, func() {
			r.Compute(ms)
			analysistest.Steps(100, func() { r.Send(50, 1-r.Rank, 8, 0); r.Recv(51, 1-r.Rank, 8, 2000) })
		})
	}, want: []string{"tiny-messages"}, share: 1. / 6, where: "MPI_Send (main.c:50) in main"},
	{name: "the same in large messages", ranks: 2, cores: 2, script: func(r *rank) {
		analysistest.Steps(100, func() {
			r.Compute(ms)
			r.Send(50, 1-r.Rank, 800, 20_000)
			r.Recv(51, 1-r.Rank, 800, 20_000)
		})
	}},
	{name: "a dominant collective", ranks: 4, cores: 4, script: func(r *rank) {
		analysistest.Steps(100, func() {
			r.Compute(10 * ms)
			r.Call(60, "MPI_Alltoall", record.OpNToN, 0, record.Call{Duration: 5 * ms, Peer: record.NoPeer, Collective: true, Out: 1 << 20, In: 1 << 20})
		})
	}, want: []string{"dominant-collective"}, share: 1. / 3, where: "MPI_Alltoall (main.c:60) in main"},
	{name: "much time in many kinds of calls", ranks: 2, cores: 2, script: func(r *rank) {
		analysistest.Steps(100, func() {
			r.Compute(10 * ms)
			r.Send(50, 1-r.Rank, 1<<20, 2*ms)
			r.Recv(51, 1-r.Rank, 1<<20, 2*ms)
			r.Barrier(52, 2*ms)
		})
	}, want: []string{"time-in-mpi"}, share: 6. / 16},
}

// slowAt computes at a place at which one rank is slow by so many ms, which all others wait for.
func slowAt(r *rank, by uint64, late int) {
	extra := map[bool]uint64{true: by * ms}[r.Rank == late]
	r.Compute(10*ms + extra)
	r.Barrier(20+late, by*ms-extra+ms/10)
}

func TestAilmentsAreNamedAndHealthIsNot(t *testing.T) {
	for _, a := range ailments {
		t.Run(a.name, func(t *testing.T) {
			play := analysistest.Run
			if a.waits {
				play = analysistest.RunWithWaits
			}
			r := play(a.ranks, a.cores, a.script)
			Conclude(r, knowledge.Library{})
			findings, attributed := r.Findings, 0.0
			for _, f := range findings {
				attributed += f.Share
			}
			require.InDelta(t, 1-r.Replayed().Efficiency.Parallel, r.Loss.Lost, 1e-6)
			require.InDelta(t, r.Loss.Lost, r.Loss.Explained+r.Loss.Unexplained, 1e-12)
			require.InDelta(t, min(attributed, r.Loss.Lost), r.Loss.Explained, 1e-12)
			require.GreaterOrEqual(t, r.Loss.Unexplained, 0.0)
			ids := []string{}
			for _, f := range findings {
				ids = append(ids, f.ID)
				require.NotEmpty(t, f.Advice)
				require.NotEmpty(t, f.Evidence)
				require.GreaterOrEqual(t, f.Share, 0.05)
			}
			require.Equal(t, append([]string{}, a.want...), ids)
			if len(findings) == 0 {
				return
			}
			if a.share != 0 {
				require.InDelta(t, a.share, findings[0].Share, 0.01)
			}
			if a.title != "" {
				require.Equal(t, a.title, findings[0].Title)
			}
			if a.seen != "" {
				require.True(t, slices.ContainsFunc(findings[0].Evidence, func(e run.Evidence) bool { return e.Text == a.seen }), "%v", findings[0].Evidence)
			}
			if a.where != "" {
				require.Equal(t, a.where, findings[0].Where)
			}
			require.Equal(t, a.slow, findings[0].Ranks)
		})
	}
}

// Whether a rank that is slow reads or writes files is not known, but what it moves is.
func TestSlowRankThatMovesData(t *testing.T) {
	r := analysistest.Run(4, 4, func(r *rank) {
		analysistest.Steps(100, func() {
			extra := uint64(0)
			if r.Rank == 2 {
				extra = 10 * ms
			}
			r.Compute(10*ms + extra)
			r.Barrier(20, 10*ms-extra)
		})
	})
	find := func(bytes uint64) *run.Finding {
		for i := range r.PerRank {
			r.PerRank[i].Traffic = &run.Traffic{Read: 100}
		}
		r.PerRank[2].Traffic = &run.Traffic{Read: bytes / 2, Written: bytes / 2}
		found := Find(r)
		require.Len(t, found, 1)
		require.Equal(t, "imbalance", found[0].ID)
		return &found[0]
	}
	f := find(1 << 30)
	require.Contains(t, f.Advice, "Find out whether rank 2 reads or writes files there (marple exec --io on)")
	require.Equal(t, "rank 2 moved 1.00 GiB by read, write and their like in the whole run (files, pipes, sockets), 100 % of what all ranks did",
		f.Evidence[len(f.Evidence)-1].Text)
	require.NotContains(t, find(1<<20).Advice, "files", "in 2 s of it that is nothing")
	r.PerRank[2].Traffic = nil
	require.NotContains(t, Find(r)[0].Advice, "files", "not known")
}

// A call that starts processes lasts until they have come; and what is waited for in messages of theirs is not known.
func TestOtherProcesses(t *testing.T) {
	r := analysistest.RunWithWaits(2, 2, func(r *rank) {
		r.Compute(50 * ms)
		r.Call(60, "MPI_Comm_spawn", record.OpComm, 0, record.Call{Duration: 200 * ms, Peer: record.NoPeer, Collective: true})
	})
	r.NotSeen = append(r.NotSeen, run.Note{ID: "peers-unknown", Text: "3 messages came from processes outside MPI_COMM_WORLD"})
	Conclude(r, knowledge.Library{})
	require.NotEmpty(t, r.Findings)
	f := r.Findings[0]
	require.Equal(t, "time-in-mpi", f.ID)
	require.Contains(t, f.Title, "waiting for processes outside MPI_COMM_WORLD is not known")
	require.Contains(t, f.Advice, "compute while they start")
}

// Of a run that ended early nobody knows who waits for whom. Workers that sleep between two probes have nothing to do, and are not
// what the others wait for.
func TestSleepersAreNotWaitedFor(t *testing.T) {
	r := analysistest.Run(3, 3, func(r *rank) {
		if r.Rank == 0 {
			for line := 10; line < 20; line++ {
				r.Compute(50 * ms)
				r.Call(line, "MPI_Recv", record.OpRecv, 0, record.Call{Duration: 10 * ms, Peer: 0})
			}
			return
		}
		analysistest.Steps(600, func() {
			r.Call(40, "MPI_Iprobe", record.OpTest, 0, record.Call{Duration: ms / 100, Peer: record.NoPeer})
			r.Blocked(ms)
		})
		r.Call(40, "MPI_Iprobe", record.OpTest, 0, record.Call{Duration: ms / 100, Peer: record.NoPeer})
	})
	Conclude(r, knowledge.Library{})
	for _, f := range append(r.Findings, r.MayBe...) {
		require.NotContains(t, f.Title, "blocked outside MPI", f.Where)
	}
}
