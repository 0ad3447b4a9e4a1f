// What is said of programs whose ailment is known: exactly, on the mock's virtual clock; and on real MPI libraries as far
// as the machine lets it be seen, which is judged.
package truth

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"marple/analysis/run"
	"marple/test/harness"
)

// An ailment of test/apps/ailments.c, on the virtual clock with 4 ranks. All rules of its network are in
// test/mock/README.md: latency 1 µs, 10 bytes per ns, rendezvous beyond 4 KiB.
type ailment struct {
	name    string
	steps   int      // on the virtual clock, and on real ones
	options []string // of the mock's launcher
	id      string   // of the one finding; none if it is healthy
	lost    float64  // µs of core time per step, and
	once    float64  // µs at the end
	share   float64
	ranks   []int
	where   string // a pattern
	crowded bool   // it is also seen where ranks wait for cores
	or      string // what it may be on a real clock
}

const (
	ranksOfAilments = 4
	enoughCores     = 0.9                // of general knowledge
	mebibyte        = latency + 1<<20/10 // ns that as many bytes take
)

var ailments = []ailment{
	{name: "healthy", steps: 20, crowded: true},
	// Rank 3 works for 15 ms where the others work for 5 ms; the mean is 7.5 ms.
	{name: "slow-rank", steps: 20, id: "imbalance", lost: 4 * 7500, share: 0.375, ranks: []int{3},
		where: `^between exchange .* and residual .* in slow_rank `, crowded: true},
	// 4 × 2 MiB from each rank.
	{name: "collective", steps: 5, id: "dominant-collective", lost: 4 * (latency + 8<<20/10) / 1000., share: 0.456,
		where: `^MPI_Alltoall .* in collective `},
	// 500 exchanges per step, for which each rank waits a latency.
	{name: "tiny", steps: 4, id: "tiny-messages", lost: 4 * 500 * latency / 1000., share: 0.5,
		where: `^MPI_I(send|recv) .* in exchange `},
	// 5 ms of work while another rank probes every 10 µs, which is a row of probes that waits; two of four ranks at a time.
	{name: "polling", steps: 20, options: []string{"--tick", "10000"}, id: "late-sender", or: "polling", lost: 2 * 5000, share: 0.4976,
		ranks: []int{0, 1, 2, 3}, where: `^MPI_Iprobe .* in polling `, crowded: true},
	// Work in pieces of 5 µs, with a vain probe after each: time that is not waited.
	{name: "asking", steps: 5},
	// Of each two, one waits 8 ms for the other, the next time the other way round.
	{name: "progress", steps: 20, options: []string{"--weak"}, id: "late-progress", lost: 2 * 8000, share: 0.3998,
		ranks: []int{0, 1, 2, 3}, where: `^MPI_Waitall .* in progress `},
	// Four transfers of 1 MiB per step on each rank, but the root of the broadcast waits for one of them, which is its own
	// part of none; in the end a barrier and MPI_Finalize.
	// How a library's time divides among them is its own affair.
	{name: "mpi", steps: 20, id: "time-in-mpi", or: "dominant-collective", lost: (4*4 - 1) * mebibyte / 1000., once: 4 * 2 * latency / 1000., share: 0.637,
		where: `^MPI_Allreduce .* in mpi `},
}

func TestFindingsOnTheVirtualClock(t *testing.T) {
	t.Parallel()
	harness.Mock.Need(t)
	program := harness.Mock.Compile(t, "ailments")
	for _, a := range ailments {
		t.Run(a.name, func(t *testing.T) {
			steps := harness.Scale(a.steps, 5*a.steps)
			r := harness.Mock.Virtual(t, harness.Command{}, ranksOfAilments, []string{program, a.name, fmt.Sprint(steps)}, a.options...)
			if a.id == "" {
				assert.Empty(t, r.Findings)
				return
			}
			require.Len(t, r.Findings, 1)
			f := r.Findings[0]
			assert.Equal(t, a.id, f.ID)
			assert.InDelta(t, (a.lost*float64(steps)+a.once)*1e-6, f.Seconds, 1e-9)
			assert.InDelta(t, a.share, f.Share, 0.001)
			assert.Equal(t, a.ranks, f.Ranks)
			assert.Regexp(t, a.where, f.Where)
			assert.NotNil(t, r.Find(f.Node))
			assert.NotEmpty(t, f.Evidence)
			assert.NotEmpty(t, f.Advice)
		})
	}
}

// On real libraries the same finding, or none where other work on the machine hides it, and never another one.
func TestJudgeFindings(t *testing.T) {
	const ranks = 2
	harness.Each(t, func(t *testing.T, mpi *harness.Library) {
		program := mpi.Compile(t, "ailments")
		for _, a := range ailments {
			if mpi == harness.Mock && a.id == "late-progress" {
				continue // which moves messages by itself in real time
			}
			t.Run(a.name, func(t *testing.T) {
				harness.Judge(t, func(t testing.TB) { a.judge(t, mpi, ranks, program) })
			})
		}
	})
}

func (a ailment) judge(t testing.TB, mpi *harness.Library, ranks int, program string) {
	t.Helper()
	r, end := mpi.Measured(t, harness.Command{}, ranks, []string{program, a.name, fmt.Sprint(harness.Scale(a.steps, 3*a.steps))})
	require.Zero(t, end.Code, end.Stderr)
	t.Logf("cores for %.0f %% of the time", 100*r.Efficiency.CoreAvailability)
	for _, p := range r.PerRank {
		if mpi != harness.Mock { // whose short calls block, which is not looked at
			assert.Less(t, p.Blocked, p.Useful/10, "rank %d never blocks; when Marple does, that is its own time", p.Rank)
		}
	}
	crowded := r.Efficiency.CoreAvailability < enoughCores
	if a.id == "" {
		assert.Empty(t, r.Findings)
		assert.Regexp(t, "\n(No significant problem|Nothing else stands out)[.]\n", end.Stderr)
		return
	}
	if len(r.Findings) == 0 && crowded && !a.crowded {
		return
	}
	require.NotEmpty(t, r.Findings, end.Stderr)
	f := r.Findings[0]
	for _, other := range r.Findings[1:] { // where a rank had no core for a moment, others waited for it
		assert.Regexp(t, "^(late|early|wait)-", other.ID, end.Stderr)
	}
	if a.or == "" || f.ID != a.or {
		assert.Equal(t, a.id, f.ID)
		assert.Regexp(t, a.where, f.Where)
	}
	switch len(a.ranks) {
	case 1:
		assert.Equal(t, []int{ranks - 1}, f.Ranks)
	case ranksOfAilments:
		assert.Len(t, f.Ranks, ranks)
	}
}

// More ranks than cores: that is stated.
func TestMoreRanksThanCores(t *testing.T) {
	t.Parallel()
	harness.Each(t, func(t *testing.T, mpi *harness.Library) {
		program := []string{mpi.Compile(t, "ailments"), "healthy", "1"}
		r, end := mpi.Measured(t, harness.Command{}, 2, program)
		require.Zero(t, end.Code, end.Stderr)
		require.Len(t, r.Hosts, 1)
		ranks := 2 * r.Hosts[0].Cores
		if ranks > 16 {
			return // as many ranks as that take their time, and tell nothing more
		}
		r, end = mpi.Measured(t, harness.Command{}, ranks, program)
		require.Zero(t, end.Code, end.Stderr)
		assert.True(t, slices.ContainsFunc(r.Conditions, func(n run.Note) bool { return n.ID == "ranks-outnumber-cores" }), "%+v", r.Conditions)
		assert.Regexp(t, fmt.Sprintf("\n(Note: )?%d ranks share %d core", ranks, ranks/2), end.Stderr)
	})
}

// Neither work nor imbalance is made of waiting for a core.
func TestJudgeOversubscription(t *testing.T) {
	harness.Each(t, func(t *testing.T, mpi *harness.Library) {
		program := mpi.Compile(t, "ailments")
		cores := 0
		for _, a := range ailments[:2] { // healthy, slow-rank
			t.Run(a.name, func(t *testing.T) {
				harness.Judge(t, func(t testing.TB) {
					ranks := max(2*cores, 4)
					r, end := mpi.Measured(t, harness.Command{}, ranks, []string{program, a.name, "10"})
					require.Zero(t, end.Code, end.Stderr)
					require.Len(t, r.Hosts, 1)
					if cores = r.Hosts[0].Cores; ranks <= cores {
						r, end = mpi.Measured(t, harness.Command{}, 2*cores, []string{program, a.name, "10"})
						ranks = 2 * cores
					}
					if assert.NotEmpty(t, r.Conditions) {
						assert.Equal(t, "ranks-outnumber-cores", r.Conditions[0].ID)
					}
					assert.Regexp(t, fmt.Sprintf("\n(Note: )?%d ranks share %d core", ranks, cores), end.Stderr)
					assert.Positive(t, r.Core.OffCore)
					assert.Less(t, r.Efficiency.CoreAvailability, 1.)
					for _, f := range r.Findings { // none where waiting ranks leave the cores to others
						assert.Equal(t, a.id, f.ID)
						assert.Equal(t, []int{ranks - 1}, f.Ranks)
					}
					worked(t, r, a)
				})
			})
		}
	})
}

// worked checks that what counts as work is what the program worked, however long ranks waited for cores.
func worked(t testing.TB, r *run.Run, a ailment) {
	t.Helper()
	for _, p := range r.PerRank {
		work := 0.1
		if a.name == "slow-rank" && p.Rank == r.Ranks-1 {
			work = 0.2
		}
		assert.InEpsilon(t, work, float64(p.Useful-p.Blocked)*1e-9, 0.1, "useful time: %+v", p)
	}
}
