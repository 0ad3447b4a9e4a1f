package truth

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"marple/analysis/run"
	"marple/analysis/trace"
	"marple/test/harness"
)

var lateness = []string{"late-sender", "late-sender-wait", "late-sender-probe", "late-receiver", "exchange", "barrier", "allreduce", "iallreduce",
	"reduce", "broadcast", "scan", "fence"}

// waits runs test/apps/waits.c; it gives the pattern it is about, for how long ranks waited by the program's own
// account, and what Marple found.
func waits(t testing.TB, mpi *harness.Library, program string, ranks int, options []string, arguments ...string) (pattern string, own float64, r *run.Run) {
	t.Helper()
	directory := t.TempDir()
	line := []string{mpi.Tool(mpi.Mpirun[0])}
	line = append(append(line, mpi.Mpirun[1:]...), options...)
	line = append(line, "-n", fmt.Sprint(ranks), harness.Artifact(t, "marple"), "exec", "--out", "run")
	if slices.Contains(options, "--virtual") {
		line = append(line, "--clock", "external")
	}
	got := harness.Command{Directory: directory}.Run(t, append(append(line, program), arguments...)...)
	require.Zero(t, got.Code, got.Stderr)
	_, err := fmt.Sscanf(got.Stdout, "expected %s %f", &pattern, &own)
	require.NoError(t, err, got.Stdout)
	r, err = run.Read(filepath.Join(directory, "run"))
	require.NoError(t, err)
	require.NotNil(t, r.Waits, got.Stderr)
	return pattern, own, r
}

func waitedNs(r *run.Run, pattern string) (ns float64) {
	for _, p := range r.Waits.Patterns {
		if p.Pattern == pattern {
			ns = float64(p.Ns)
		}
	}
	return ns
}

// causes are what the delays of a rank cost, by path, and what those of the others cost.
func causes(r *run.Run, rank int32) (own map[string]float64, others float64) {
	own = map[string]float64{}
	for _, d := range r.Waits.Delays {
		for _, x := range d.PerRank {
			if x.Rank == rank {
				own[d.Where] += float64(x.Ns)
			} else {
				others += float64(x.Ns)
			}
		}
	}
	return own, others
}

// On a virtual clock everything is exact, on any number of ranks.
func TestWaitsExactly(t *testing.T) {
	t.Parallel()
	program := harness.Mock.Compile(t, "waits")
	for _, scenario := range append([]string{"late-progress"}, lateness...) {
		options := []string{"--virtual"}
		if scenario == "late-progress" {
			options = append(options, "--weak")
		}
		for _, ranks := range []int{2, 5, 16} {
			t.Run(fmt.Sprintf("%s/%d", scenario, ranks), func(t *testing.T) {
				pattern, own, r := waits(t, harness.Mock, program, ranks, options, scenario, "20", "3")
				assert.EqualValues(t, own, waitedNs(r, pattern))
				caused, others := causes(r, 1)
				var all float64
				for where, ns := range caused {
					all += ns
					if ns > 1e6 {
						assert.Contains(t, where, "between", "the time it slept lies outside MPI")
					}
				}
				assert.Less(t, others, 0.001*all, "innocent ranks")
				assert.InDelta(t, r.Waits.Ns, all+others, 1000)
				assert.GreaterOrEqual(t, float64(r.Waits.CriticalNs), 60e6)
				assert.InDelta(t, float64(r.WallNs), float64(r.Waits.CriticalNs), 1e5, "but for the meeting in MPI_Finalize")
				e := r.Efficiency
				assert.InDelta(t, 60e6, e.Transfer*float64(r.WallNs), 2, "on an ideal network only rank 1's lateness is left")
				assert.InDelta(t, e.Communication, e.Serialization*e.Transfer, 1e-12)
			})
		}
	}
}

// Hosts whose clocks are 5 ms apart, and drift apart by 20 µs a second: waits between them are known as well as the
// clocks are, and the clocks are where they are said to be.
func TestClocksOfHosts(t *testing.T) {
	t.Parallel()
	program := harness.Mock.Compile(t, "waits")
	for _, c := range []struct{ ranks, hosts int }{{2, 2}, {8, 4}, {9, 7}} {
		t.Run(fmt.Sprintf("%d on %d", c.ranks, c.hosts), func(t *testing.T) {
			options := []string{"--virtual", "--hosts", fmt.Sprint(c.hosts), "--skew", "5000000", "--drift", "20000"}
			for _, scenario := range []string{"late-sender", "barrier"} {
				pattern, own, r := waits(t, harness.Mock, program, c.ranks, options, scenario, "2000", "3")
				require.Len(t, r.Waits.Clocks, c.hosts)
				var most float64
				for i, clock := range r.Waits.Clocks {
					assert.Equal(t, fmt.Sprintf("mock%d", i), clock.Host)
					assert.True(t, clock.Measured)
					e := float64(clock.ErrorNs)
					most = max(most, e)
					assert.Less(t, e, 100e3)
					assert.InDelta(t, float64(i)*5e6, float64(clock.AheadNs), e+float64(i)*20, "at the beginning: a millisecond is 20 ns")
					assert.InDelta(t, float64(i)*20, clock.DriftPPM, 2*e/6e9*1e6+0.02)
				}
				assert.InDelta(t, own, waitedNs(r, pattern), 6*float64(c.ranks)*most+1)
				for _, note := range r.NotSeen {
					assert.Equal(t, "clocks-error", note.ID, note.Text)
				}
			}
		})
	}
}

// Ranks that are killed leave what is needed to know their waits up to there: in their rings, and in the logs' files.
func TestWaitsAfterAKill(t *testing.T) {
	t.Parallel()
	program := harness.Mock.Compile(t, "waits")
	for _, repetitions := range []string{"3", "2000"} {
		directory := t.TempDir()
		got := harness.Command{Directory: directory}.Run(t, harness.Mock.Tool("mpirun"), "--virtual", "-n", "3", harness.Artifact(t, "marple"), "exec", "--out", "run", "--clock", "external",
			program, "iallreduce", "20", repetitions, "killed")
		var pattern string
		var own float64
		_, err := fmt.Sscanf(got.Stdout, "expected %s %f", &pattern, &own)
		require.NoError(t, err, got.Stdout)
		got = harness.Command{Directory: directory}.Run(t, harness.Artifact(t, "marple"), "recover", "run")
		require.Zero(t, got.Code, got.Stderr)
		r, err := run.Read(filepath.Join(directory, "run"))
		require.NoError(t, err)
		require.NotNil(t, r.Waits, got.Stderr)
		assert.EqualValues(t, own, waitedNs(r, pattern))
		caused, others := causes(r, 1)
		assert.NotEmpty(t, caused)
		assert.Less(t, others, 0.001*own)
	}
}

// With --trace there is every event, tests that found nothing too, and nothing else is different.
func TestTrace(t *testing.T) {
	t.Parallel()
	program := harness.Mock.Compile(t, "ailments")
	directory := t.TempDir()
	line := append(harness.Mock.Launch(2, "--virtual", "--tick", "10000"), harness.Artifact(t, "marple"), "exec", "--out", "run", "--trace", "64", program, "polling", "3")
	got := harness.Command{Directory: directory}.Run(t, line...)
	require.Zero(t, got.Code, got.Stderr)
	r, err := run.Read(filepath.Join(directory, "run"))
	require.NoError(t, err)
	require.NotNil(t, r.Waits)
	without := harness.Mock.Virtual(t, harness.Command{}, 2, []string{program, "polling", "3"}, "--tick", "10000")
	require.NotEmpty(t, without.Waits.Patterns)
	assert.Equal(t, without.Waits.Patterns, r.Waits.Patterns)
	got = harness.Command{Directory: directory}.Run(t, harness.Artifact(t, "marple"), "timeline", "run", "--format", "json", "--most", "10000000")
	require.Zero(t, got.Code, got.Stderr)
	var events []trace.TimelineEvent
	require.NoError(t, json.Unmarshal([]byte(got.Stdout), &events))
	calls := map[string]uint64{}
	for _, e := range events {
		calls[e.Name]++
	}
	for _, f := range r.Functions {
		assert.Equal(t, f.Calls, calls[f.Name], f.Name)
	}
}

// A message that is cut off has been received: what comes behind it on the same way is matched with its own.
func TestWaitsForTruncatedMessages(t *testing.T) {
	t.Parallel()
	harness.Each(t, func(t *testing.T, mpi *harness.Library) {
		program := mpi.Compile(t, "truncate")
		for _, arguments := range [][]string{{"100"}, {"100", "any"}} {
			r, end := mpi.Measured(t, harness.Command{}, 2, append([]string{program}, arguments...))
			require.Zero(t, end.Code, end.Stderr)
			require.Equal(t, "truncated\n", end.Stdout)
			require.NotNil(t, r.Waits)
			assert.Empty(t, r.NotSeen)
			assert.EqualValues(t, 3, harness.Function(r, "MPI_Recv").Fails)
			if mpi != harness.Mock {
				continue
			}
			instances := uint64(0)
			for _, s := range harness.Mock.Virtual(t, harness.Command{}, 2, append([]string{program}, arguments...)).Waits.Sites {
				if s.Pattern == "late-sender" && s.Longest > 50e6 && strings.Contains(s.Where, "truncate.c:29") {
					instances += s.Instances
				}
			}
			assert.EqualValues(t, 3, instances)
		}
	})
}

// With real libraries, against the program's own timestamps.
func TestJudgeWaitsOnTwoRanks(t *testing.T) {
	for _, mpi := range harness.Libraries[:2] {
		t.Run(mpi.Name, func(t *testing.T) {
			mpi.Need(t)
			program := mpi.Compile(t, "waits")
			for _, scenario := range append([]string{"late-progress"}, lateness...) { // nothing makes progress there but calls
				t.Run(scenario, func(t *testing.T) {
					harness.Judge(t, func(t testing.TB) {
						var waited, delayed []float64 // for what the program says
						for range 3 {
							pattern, own, r := waits(t, mpi, program, 2, nil, scenario, "50", "3")
							waited = append(waited, waitedNs(r, pattern)/own)
							var sum float64
							for _, d := range r.Waits.Delays {
								if d.Pattern == pattern && d.PerRank[0].Rank == 1 {
									sum += float64(d.Direct) // what is passed on ends in waits of other kinds
								}
							}
							delayed = append(delayed, sum/own)
						}
						slices.Sort(waited)
						slices.Sort(delayed)
						t.Logf("waits %.3f, delays %.3f of the program's own", waited, delayed)
						assert.InDelta(t, 1, waited[1], 0.05, "%v", waited)
						assert.InDelta(t, 1, delayed[1], 0.05, "%v", delayed)
					})
				})
			}
		})
	}
}

// With more ranks than cores times mean little, but who is to blame is as clear as ever.
func TestJudgeWaitsOnManyRanks(t *testing.T) {
	for _, mpi := range harness.Libraries[:2] {
		t.Run(mpi.Name, func(t *testing.T) {
			mpi.Need(t)
			program := mpi.Compile(t, "waits")
			for _, scenario := range []string{"late-sender", "late-receiver", "allreduce", "reduce", "broadcast"} {
				t.Run(scenario, func(t *testing.T) {
					harness.Judge(t, func(t testing.TB) {
						pattern, _, r := waits(t, mpi, program, 6, nil, scenario, "300", "4")
						assert.Positive(t, waitedNs(r, pattern))
						require.NotEmpty(t, r.Waits.Delays)
						first := r.Waits.Delays[0]
						t.Logf("because of rank %d %s", first.PerRank[0].Rank, first.Where)
						assert.EqualValues(t, 1, first.PerRank[0].Rank)
						assert.Contains(t, first.Where, "between")
						assert.Contains(t, first.Where, strings.ReplaceAll(strings.TrimSuffix(scenario, "-wait"), "-", "_"))
						for _, d := range r.Waits.Delays {
							for _, x := range d.PerRank {
								if x.Rank != 1 && d.Node != "" {
									assert.Less(t, float64(x.Ns), 0.2*float64(first.PerRank[0].Ns), "innocent: rank %d %s", x.Rank, d.Where)
								}
							}
						}
					})
				})
			}
		})
	}
}

// A log that has no room for the run says so; one that is switched off leaves no wait states.
func TestWaitsWithoutRoom(t *testing.T) {
	t.Parallel()
	program := harness.Mock.Compile(t, "ailments")
	directory := t.TempDir()
	got := harness.Command{Directory: directory}.Run(t, harness.Mock.Launch(2, harness.Artifact(t, "marple"), "exec", "--out", "run", "--log", "0", program, "healthy", "2")...)
	require.Zero(t, got.Code, got.Stderr)
	r, err := run.Read(filepath.Join(directory, "run"))
	require.NoError(t, err)
	assert.Nil(t, r.Waits)

	got = harness.Command{Directory: directory}.Run(t, harness.Mock.Launch(2, harness.Artifact(t, "marple"), "exec", "--out", "full", "--log", "1", program, "tiny", "200")...)
	require.Zero(t, got.Code, got.Stderr)
	r, err = run.Read(filepath.Join(directory, "full"))
	require.NoError(t, err)
	require.NotNil(t, r.Waits)
	assert.True(t, slices.ContainsFunc(r.NotSeen, func(n run.Note) bool { return n.ID == "log-ended" }), "%+v", r.NotSeen)
	assert.LessOrEqual(t, r.Waits.LogBytes, uint64(2<<20))
}
