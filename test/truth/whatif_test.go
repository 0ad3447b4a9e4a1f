// What a replay says of a change, beside what the change brings: the ill program is measured and replayed, the mended one
// is measured; on the mock's virtual clock, where both are exact.
package truth

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"marple/analysis/run"
	"marple/analysis/waitstate"
	"marple/analysis/whatif"
	"marple/test/harness"
)

// change is a program of test/apps/mended.c, and what is asked of its replay.
type change struct {
	name    string
	ask     whatif.Question
	options []string // of the launcher, for the mended program
	finding string   // whose gain is the same
	instead string   // the finding whose other remedy's gain is
	within  float64  // of the mended program's wall time
	quick   bool     // part of `make test`
}

var changes = []change{
	{name: "balance", ask: whatif.Question{Balance: []string{"all"}}, finding: "imbalance", within: 0.01, quick: true},
	{name: "turns", ask: whatif.Question{Balance: []string{"MPI_Allreduce"}}, finding: "wait-at-nxn", within: 0.01},
	{name: "speed", ask: whatif.Question{Scale: []string{"rank 3=0.8"}}, within: 0.01, quick: true},
	{name: "function", ask: whatif.Question{Scale: []string{"smooth=0.5"}}, within: 0.01, quick: true},
	{name: "barrier", ask: whatif.Question{Remove: []string{"MPI_Barrier"}}, within: 0.01, quick: true},
	{name: "network", ask: whatif.Question{Network: "latency=50us,bandwidth=1GB/s"}, options: []string{"--latency", "50000", "--bandwidth", "1000"}, within: 0.01, quick: true},
	{name: "large", ask: whatif.Question{Network: "latency=50us,bandwidth=1GB/s"}, options: []string{"--latency", "50000", "--bandwidth", "1000"}, within: 0.1},
	{name: "overlap", ask: whatif.Question{Nonblocking: []string{"MPI_Allreduce"}}, instead: "wait-at-nxn", within: 0.01, quick: true},
	{name: "later", ask: whatif.Question{Nonblocking: []string{"MPI_Allreduce until MPI_Bcast"}}, within: 0.01, quick: true},
	{name: "sends", ask: whatif.Question{Nonblocking: []string{"MPI_Send"}}, instead: "late-receiver", within: 0.01, quick: true},
	{name: "receives", ask: whatif.Question{Nonblocking: []string{"MPI_Recv"}}, instead: "late-sender", within: 0.01, quick: true},
	{name: "early", ask: whatif.Question{Early: []string{"MPI_Recv"}}, within: 0.01, quick: true},
	{name: "hidden", ask: whatif.Question{Scale: []string{"first_part=0.5"}}, within: 0.1},
}

// replayable measures a program on the virtual clock, and gives it with its replay.
func replayable(t testing.TB, ranks int, line []string, options ...string) *run.Run {
	t.Helper()
	onClock := *harness.Mock
	onClock.Mpirun = append(append(append([]string{}, harness.Mock.Mpirun...), "--virtual"), options...)
	return replayableWith(t, &onClock, ranks, line)
}

func replayableWith(t testing.TB, mpi *harness.Library, ranks int, line []string) *run.Run {
	t.Helper()
	directory := filepath.Join(t.TempDir(), "run")
	end := mpi.Under(t, harness.Command{}, ranks, directory, line, "--report", "none")
	require.Zero(t, end.Code, end.Stderr)
	r := harness.ReadRun(t, directory)
	var err error
	r.Replay, err = run.ReadReplay(directory)
	require.NoError(t, err)
	require.Empty(t, whatif.Unknown(r))
	return r
}

// predicted is what is said of the ill program, and what is true of the mended one.
func (c *change) predicted(t testing.TB, program string) (a whatif.Answer, ill, mended *run.Run) {
	ill = replayable(t, ranksOfAilments, []string{program, c.name, "ill"})
	mended = replayable(t, ranksOfAilments, []string{program, c.name, "mended"}, c.options...)
	s, err := c.ask.Scenario(ill)
	require.NoError(t, err)
	return whatif.Ask(ill, s), ill, mended
}

func TestChangesOnTheVirtualClock(t *testing.T) {
	t.Parallel()
	harness.Mock.Need(t)
	program := harness.Mock.Compile(t, "mended")
	for _, c := range changes {
		if !c.quick {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			a, ill, mended := c.predicted(t, program)
			assert.InEpsilon(t, float64(ill.WallNs)/1e9, a.Before.Seconds, 1e-3)
			assert.InEpsilon(t, float64(mended.WallNs)/1e9, a.After.Seconds, c.within)
			assert.Greater(t, math.Abs(a.Before.Seconds-a.After.Seconds), 1e-3, "it makes a difference")
			saved := 1 - float64(mended.WallNs)/float64(ill.WallNs)
			if c.instead != "" {
				i := slices.IndexFunc(ill.Findings, func(f run.Finding) bool { return f.ID == c.instead })
				require.GreaterOrEqual(t, i, 0)
				require.Len(t, ill.Findings[i].Instead, 1)
				x := ill.Findings[i].Instead[0]
				assert.Equal(t, "nonblocking", x.Change)
				require.NotNil(t, x.Gain)
				assert.InDelta(t, saved, x.Gain.High, c.within)
				assert.Zero(t, x.Gain.Low)
			}
			if c.finding == "" {
				return
			}
			require.NotEmpty(t, ill.Findings)
			f := ill.Findings[0]
			assert.Equal(t, c.finding, f.ID)
			require.NotNil(t, f.Gain)
			assert.InDelta(t, saved, f.Gain.Share, c.within)
			assert.LessOrEqual(t, f.Gain.Low, f.Gain.Share)
			assert.GreaterOrEqual(t, f.Gain.High, f.Gain.Share)
		})
	}
}

// What brings nothing by itself says what is behind it: rank 1 is slow in one function, rank 0 in the next.
func TestGainsThatHide(t *testing.T) {
	t.Parallel()
	harness.Mock.Need(t)
	r := replayable(t, ranksOfAilments, []string{harness.Mock.Compile(t, "mended"), "hidden", "ill"})
	require.NotEmpty(t, r.Findings)
	f := r.Findings[0]
	require.NotNil(t, f.Gain)
	assert.Less(t, f.Gain.Share, 0.005)
	assert.Regexp(t, "^what some ranks compute longer between ", f.Gain.Behind)
	both, err := whatif.Question{Balance: []string{"first_part", "ring"}}.Scenario(r)
	require.NoError(t, err)
	assert.InEpsilon(t, 1.25e9, float64(r.Replay.Under(both).Length), 0.01, "two parts of 6.25 ms, 100 times")
}

// What a formula says of the best grain: the healthy programs have about that.
func TestGainsOfGrain(t *testing.T) {
	t.Parallel()
	harness.Mock.Need(t)
	for program, ailments := range map[string][]string{"pipeline": {"coarse-grain", "fine-grain"}, "wavefront": {"coarse-blocks", "fine-blocks"}} {
		compiled := harness.Mock.Compile(t, "models/"+program, "-lm")
		healthy := replayable(t, ranksOfAilments, []string{compiled, "healthy"})
		for _, ailment := range ailments {
			ill := replayable(t, ranksOfAilments, []string{compiled, ailment})
			require.NotEmpty(t, ill.Findings)
			f := ill.Findings[0]
			require.Equal(t, ailment, f.ID)
			require.NotNil(t, f.Gain)
			saved := 1 - float64(healthy.WallNs)/float64(ill.WallNs)
			assert.InDelta(t, saved, f.Gain.Share, 0.05, ailment)
			assert.Greater(t, f.Gain.High, saved-0.005, ailment)
		}
	}
}

// twins are programs in which an ailment's work is divided equally, where the one without the ailment has less of it.
var twins = map[string]string{"slow-worker": "even-rounds", "serial-phase": "shared"}

// stepsOfGains is by how much programs run longer than elsewhere: their first step, which lies in another place, is then a part of
// the run that does not count.
const stepsOfGains = "3"

// What is said to be gained, and what is: to 1 % of the mended program's time where nothing but times is changed, else to 10 %.
func TestJudgeGains(t *testing.T) {
	harness.Mock.Need(t)
	program := harness.Mock.Compile(t, "mended")
	for _, c := range changes {
		t.Run(c.name, func(t *testing.T) {
			harness.Judge(t, func(t testing.TB) {
				a, ill, mended := c.predicted(t, program)
				t.Logf("wall %s predicted %.4f s, true %.4f s (as it was %.4f s)", c.name, a.After.Seconds, float64(mended.WallNs)/1e9, float64(ill.WallNs)/1e9)
				assert.InEpsilon(t, float64(mended.WallNs)/1e9, a.After.Seconds, c.within)
			})
		})
	}
	suite, programs := t, map[string]string{}
	const ranks = 8
	for _, p := range pairs {
		t.Run(p.program+" "+p.ailment, func(t *testing.T) {
			if programs[p.program] == "" {
				programs[p.program] = harness.Mock.Compile(suite, "models/"+p.program, "-lm")
			}
			harness.Judge(t, func(t testing.TB) {
				on := replayable(t, ranks, []string{programs[p.program], p.ailment, stepsOfGains})
				off := replayable(t, ranks, []string{programs[p.program], cmp.Or(twins[p.factor], p.off), stepsOfGains})
				gains(t, on.Findings, 1-float64(off.WallNs)/float64(on.WallNs))
			})
		})
	}
	directory := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(directory, "farms.yaml"), []byte(stagesOfFarms), 0o644))
	for _, c := range compositions {
		if c.causes == nil {
			continue
		}
		t.Run(c.program+" "+c.ailment, func(t *testing.T) {
			compiled := harness.Mock.Compile(t, "models/"+c.program, "-lm")
			harness.Judge(t, func(t testing.TB) {
				at, wall := harness.Command{Directory: t.TempDir()}, map[string]uint64{}
				require.NoError(t, os.CopyFS(at.Directory, os.DirFS(directory)))
				for _, ailment := range []string{"healthy", c.ailment} {
					end := at.Run(t, harness.Mock.Tool("mpirun"), "-n", c.ranks, "--virtual", harness.Artifact(t, "marple"), "exec", "--report", "none", "--out", ailment, "--", compiled, ailment)
					require.Zero(t, end.Code, end.Stderr)
					wall[ailment] = harness.ReadRun(t, filepath.Join(at.Directory, ailment)).WallNs
				}
				gains(t, diagnosisOf(t, at, c.ailment, "--model", c.model).Findings, 1-float64(wall["healthy"])/float64(wall[c.ailment]))
			})
		})
	}
}

// On real libraries: what is said to be gained is so to 15 %, or in the range that is said with it. Where ranks shared cores with
// other work, that is judged of what either run would take with a core for each.
func TestJudgeGainsOnRealLibraries(t *testing.T) {
	const (
		ranks      = 2
		steps      = "40"
		within     = 0.15 // of what is gained
		repeatable = 0.01 // part of a run that two runs of the same program differ by
	)
	harness.EachReal(t, func(t *testing.T, mpi *harness.Library) {
		program := mpi.Compile(t, "mended")
		for _, c := range changes {
			if c.ask.Network != "" { // which nobody can have
				continue
			}
			c.ask.Scale = slices.Clone(c.ask.Scale)
			for i, x := range c.ask.Scale {
				c.ask.Scale[i] = strings.Replace(x, "rank 3", "rank 1", 1) // the last one
			}
			t.Run(c.name, func(t *testing.T) {
				harness.Judge(t, func(t testing.TB) {
					ill := replayableWith(t, mpi, ranks, []string{program, c.name, "ill", steps})
					mended := replayableWith(t, mpi, ranks, []string{program, c.name, "mended", steps})
					s, err := c.ask.Scenario(ill)
					require.NoError(t, err)
					gain, saved := whatif.Ask(ill, s).Gain, 1-float64(mended.WallNs)/float64(ill.WallNs)
					if ill.WithCores != nil || mended.WithCores != nil {
						length := func(r *run.Run, s waitstate.Scenario) float64 {
							return float64(r.Replay.Under(slices.Concat(waitstate.CoreForEach(), s)).Length)
						}
						was := length(ill, nil)
						gain.Share, saved = 1-length(ill, s)/was, 1-length(mended, nil)/was
						gain.Low, gain.High = min(gain.Low, gain.Share), max(gain.High, gain.Share)
					}
					t.Logf("predicted %.1f %% (%.1f–%.1f %%), true %.1f %%; cores for %.0f %% and %.0f %% of the time", 100*gain.Share, 100*gain.Low, 100*gain.High,
						100*saved, 100*ill.Efficiency.CoreAvailability, 100*mended.Efficiency.CoreAvailability)
					if saved < gain.Low-repeatable || saved > gain.High+repeatable {
						assert.InDelta(t, saved, gain.Share, max(within*saved, repeatable))
					}
				})
			})
		}
	})
}

// gains compares the first finding's gain with what was saved, as a share of the ill program's time.
func gains(t testing.TB, findings []run.Finding, saved float64) {
	t.Helper()
	truth := fmt.Sprintf("true %.1f %%", 100*saved)
	require.NotEmpty(t, findings)
	f := findings[0]
	if f.Gain == nil {
		t.Logf("%s: gain unknown, %s", f.ID, truth)
		t.SkipNow()
	}
	t.Logf("%s: predicted %.1f %% (%.1f–%.1f %%), %s", f.ID, 100*f.Gain.Share, 100*f.Gain.Low, 100*f.Gain.High, truth)
	within := 0.1 * (1 - saved)
	if f.Remedy != nil && !f.Gain.AtMost && (f.Remedy.Change == "balance" || f.Remedy.Change == "remove") {
		within /= 10
	}
	if assert.Less(t, saved, f.Gain.High+within); !f.Gain.AtMost {
		assert.InDelta(t, saved, f.Gain.Share, within)
	}
}
