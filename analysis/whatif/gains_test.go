package whatif

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"marple/analysis/analysistest"
	"marple/analysis/diagnosis"
	"marple/analysis/knowledge"
	"marple/analysis/record"
	"marple/analysis/run"
)

const ms = 1_000_000

// uneven has rank 3 compute for 30 ms where others compute for 10 ms, and meets; each of n steps takes 1 ms beside that.
func uneven(n int) *run.Run {
	r := analysistest.RunWithWaits(4, 4, func(r *analysistest.Rank) {
		analysistest.Steps(n, func() {
			slow := uint64(r.Rank/3) * 20 * ms
			r.Region("solve", func() { r.Compute(10*ms + slow) })
			r.Barrier(20, 21*ms-slow)
		})
	})
	diagnosis.Conclude(r, knowledge.Library{})
	return r
}

func TestGains(t *testing.T) {
	r := uneven(20)
	require.NotEmpty(t, r.Findings)
	require.NotNil(t, r.Findings[0].Remedy)
	Gains(r)
	f := r.Findings[0]
	require.NotNil(t, f.Gain)
	assert.InDelta(t, 15./31, f.Gain.Share, 0.002, "from 30 ms to the mean, of 31 ms")
	assert.InDelta(t, f.Gain.Share*float64(r.WallNs)/1e9, f.Gain.Seconds, 1e-9)
	assert.LessOrEqual(t, f.Gain.Low, f.Gain.Share)
	assert.GreaterOrEqual(t, f.Gain.High, f.Gain.Share)
	again := *r
	again.Replay = nil
	for i := range again.Findings {
		again.Findings[i].Gain = nil
	}
	Gains(&again)
	assert.Nil(t, again.Findings[0].Gain, "nothing is said of what was not replayed")
}

// Whoever has too much in all can be given less; what varies from step to step stays, and is in the range. Where no rank has too
// much in all, less work for one of them brings nothing: that is in the range.
func TestGainOfWhatVaries(t *testing.T) {
	for _, c := range []struct {
		name       string
		extra      func(rank, step int) uint64 // ms
		share, low float64
		high       float64
		id         string
	}{
		{"one, in every other step", func(rank, step int) uint64 { return uint64(rank / 3 * 20 * ((step + 1) % 2)) }, 8.75 / 42, 8.75 / 42, 15. / 42, "imbalance"},
		{"in turn", func(rank, step int) uint64 { return uint64(5 * ((rank + step) % 4 / 3)) }, 3.75 / 16, 0, 3.75 / 16, "wait-at-nxn"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := analysistest.RunWithWaits(4, 4, func(r *analysistest.Rank) {
				for step := range 400 {
					longest := uint64(0)
					for rank := range 4 {
						longest = max(longest, c.extra(rank, step))
					}
					extra := c.extra(int(r.Rank), step)
					r.Compute((10 + extra) * ms)
					r.Call(20, "MPI_Allreduce", record.OpNToN, 0, record.Call{Duration: (1 + longest - extra) * ms, Peer: record.NoPeer, Collective: true, Out: 8, In: 8})
				}
			})
			diagnosis.Conclude(r, knowledge.Library{})
			Gains(r)
			require.NotEmpty(t, r.Findings)
			f := r.Findings[0]
			require.Equal(t, c.id, f.ID)
			assert.InDelta(t, c.share, f.Gain.Share, 0.002)
			assert.InDelta(t, c.low, f.Gain.Low, 0.002)
			assert.InDelta(t, c.high, f.Gain.High, 0.002)
		})
	}
}

// What varies as machines make it vary may be the program's doing, and may not: no finding. What varies by more, or more often, is
// one; and so is what one rank has too much of, however much the others vary.
func TestDisturbancesAreNoFinding(t *testing.T) {
	const ranks = 8
	for _, c := range []struct {
		name  string
		extra func(random *rand.Rand, rank, step int) float64 // of 1 ms
		found string
	}{
		{"a disturbance now and then", func(random *rand.Rand, _, _ int) float64 { return 0.4 * math.Pow(random.Float64(), 8) }, ""},
		{"twice as long, every second time", func(_ *rand.Rand, rank, step int) float64 { return float64((rank + step) % 2) }, "wait-at-nxn"},
		{"three times as long, in turn", func(_ *rand.Rand, rank, step int) float64 { return 2 * float64((rank+step)%ranks/(ranks-1)) }, "wait-at-nxn"},
		{"a rank that has more to do, among disturbances", func(random *rand.Rand, rank, _ int) float64 {
			return 0.4*math.Pow(random.Float64(), 8) + 0.4*float64(rank/(ranks-1))
		}, "imbalance"},
	} {
		t.Run(c.name, func(t *testing.T) {
			const steps = 300
			var took [steps][ranks]uint64
			var longest [steps]uint64
			random := rand.New(rand.NewPCG(1, 2))
			for step := range steps {
				for rank := range ranks {
					took[step][rank] = uint64(ms * (1 + c.extra(random, rank, step)))
				}
				longest[step] = slices.Max(took[step][:])
			}
			r := analysistest.RunWithWaits(ranks, ranks, func(r *analysistest.Rank) {
				for step := range steps {
					ns := took[step][r.Rank]
					r.Compute(ns)
					r.Call(20, "MPI_Allreduce", record.OpNToN, 0, record.Call{Duration: ms/100 + longest[step] - ns, Peer: record.NoPeer, Collective: true, Out: 8, In: 8})
				}
			})
			diagnosis.Conclude(r, knowledge.Library{})
			require.NotEmpty(t, r.Findings)
			Gains(r)
			if c.found != "" {
				require.NotEmpty(t, r.Findings)
				assert.Equal(t, c.found, r.Findings[0].ID)
				return
			}
			require.Empty(t, r.Findings)
			require.NotEmpty(t, r.MayBe)
			assert.Less(t, r.MayBe[0].Low, r.MayBe[0].Share/2)
			assert.Contains(t, r.MayBe[0].Doubt(), "the machine's doing")
		})
	}
}

// What one rank does alone may not be divisible: all of it is the most that can be saved.
func TestGainOfDividingWork(t *testing.T) {
	r := analysistest.RunWithWaits(2, 2, func(r *analysistest.Rank) {
		analysistest.Steps(20, func() {
			if r.Rank == 1 {
				r.Region("search", func() {
					r.Barrier(10, ms)
					r.Compute(30 * ms)
					r.Barrier(20, ms)
				})
			} else {
				r.Barrier(10, ms)
				r.Barrier(20, 31*ms)
			}
		})
	})
	diagnosis.Conclude(r, knowledge.Library{})
	Gains(r)
	require.NotEmpty(t, r.Findings)
	f := r.Findings[0]
	require.Equal(t, "imbalance", f.ID)
	require.NotNil(t, f.Gain)
	assert.True(t, f.Gain.AtMost)
	assert.Zero(t, f.Gain.Low)
	assert.InDelta(t, 15./32, f.Gain.Share, 0.01, "half of 30 ms, of 32 ms")
}

// What is not known of the replay makes gains unknown.
func TestUnknownGains(t *testing.T) {
	for _, id := range run.WaitsIncomplete {
		r := uneven(2)
		r.NotSeen = append(r.NotSeen, run.Note{ID: id, Text: "something is missing"})
		Gains(r)
		for _, f := range r.Findings {
			assert.Nil(t, f.Gain)
		}
		assert.Equal(t, "something is missing", Unknown(r))
	}
	r := uneven(2)
	r.Replay.Threads = true
	assert.Equal(t, "several threads of a rank called MPI", Unknown(r))
}

// Findings come in the order of what they bring; of what it is only known how much that is at most, no more than they cost.
func TestOrderOfFindings(t *testing.T) {
	list := []run.Finding{
		{ID: "unknown", Share: 0.3},
		{ID: "nothing", Share: 0.4, Gain: &run.Gain{}},
		{ID: "at most", Share: 0.2, Gain: &run.Gain{Share: 0.9, AtMost: true}},
		{ID: "sure", Share: 0.1, Gain: &run.Gain{Share: 0.35}},
	}
	want := []float64{0.3, 0, 0.2, 0.35}
	for i := range list {
		assert.Equal(t, want[i], weight(&list[i]), list[i].ID)
	}
}

// Of a run that was thinned a gain is as wide as it differs between parts of it.
func TestRangeOfAPart(t *testing.T) {
	r := uneven(64)
	r.Replay.Looked, r.Replay.Whole = 1, 2
	Gains(r)
	steady := r.Findings[0].Gain
	assert.Less(t, steady.High-steady.Low, 0.02)
	r = analysistest.RunWithWaits(4, 4, func(r *analysistest.Rank) {
		for i := range uint64(64) {
			slow := uint64(r.Rank/3) * i * ms
			r.Compute(10*ms + slow)
			r.Barrier(20, (i+1)*ms-slow)
		}
	})
	diagnosis.Conclude(r, knowledge.Library{})
	r.Replay.Looked, r.Replay.Whole = 1, 2
	Gains(r)
	growing := r.Findings[0].Gain
	assert.Greater(t, growing.High-growing.Low, 0.05)
}

func TestDoubtful(t *testing.T) {
	for _, c := range []struct {
		gain     *run.Gain
		doubtful bool
	}{
		{nil, false},
		{&run.Gain{Share: 0.005, High: 0.08}, true},
		{&run.Gain{Share: 0.005, High: 0.005}, true},
		{&run.Gain{Share: 0.005, High: 0.005, Behind: "another"}, false}, // it brings nothing by itself, and it is said why
		{&run.Gain{Share: 0.03, High: 0.08}, false},                      // it may be little
		{&run.Gain{Share: 0.005, High: 0.08, AtMost: true}, false},       // it is not said to be more
		{&run.Gain{Share: 0.005, High: 0.005, AtMost: true}, true},
	} {
		assert.Equal(t, c.doubtful, doubtful(c.gain), "%+v", c.gain)
	}
}

// What would be saved of MPI's time at most is of the run that the finding is about: with a core for each rank no more than ranks are
// in MPI then.
func TestMostOfARunWithCores(t *testing.T) {
	const steps = 20
	r := analysistest.RunWithWaits(2, 2, func(r *analysistest.Rank) {
		for i := range uint64(steps) {
			r.Compute(10 * ms)
			r.OffCore(30 * ms)
			r.Barrier(20, ms+i%2*40*ms) // some while the other one had no core
		}
	})
	require.NotNil(t, r.WithCores)
	r.Findings = []run.Finding{{ID: "time-in-mpi", Share: 0.5, Worth: 0.05, Remedy: &run.Remedy{Change: "free"}}}
	Gains(r)
	require.Len(t, r.Findings, 1)
	g := r.Findings[0].Gain
	require.NotNil(t, g)
	require.True(t, g.AtMost)
	wall := float64(r.WithCores.WallNs) / 1e9
	assert.InDelta(t, g.Share*wall, g.Seconds, 1e-9)
	assert.Positive(t, g.Seconds)
	assert.LessOrEqual(t, g.Seconds, wall-steps*0.010+1e-9)
}
