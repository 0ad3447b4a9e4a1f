package truth

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"marple/analysis/run"
	"marple/test/harness"
)

// alike is what is said of a run, without what differs from one to the next, and without who has replayed it.
func alike(r *run.Run) run.Run {
	same := *r
	same.PerRank = nil // what ranks take of memory, and read
	if r.Waits != nil {
		waits := *r.Waits
		waits.ReplayedBy = 0
		same.Waits = &waits
	}
	return same
}

// Ranks that replay scenarios together at the end of a run find what rank 0 finds alone, figure for figure.
func TestRanksReplayAsRank0Does(t *testing.T) {
	t.Parallel()
	harness.Mock.Need(t)
	type program struct {
		name, source string
		arguments    []string
		options      []string // of the launcher
	}
	var programs []program
	for _, a := range ailments {
		programs = append(programs, program{a.name, "ailments", []string{a.name, fmt.Sprint(max(a.steps/4, 1))}, a.options})
	}
	for i, p := range pairs {
		if i > 0 && p.program == pairs[i-1].program && !harness.Long() {
			continue // one of each program
		}
		programs = append(programs, program{p.program + " " + p.ailment, "models/" + p.program, []string{p.ailment}, nil})
	}
	for _, p := range programs {
		compiled := harness.Mock.Compile(t, p.source, "-lm")
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			measured := func(who string) *run.Run {
				onClock := *harness.Mock
				onClock.Mpirun = append(append(append([]string{}, harness.Mock.Mpirun...), "--virtual"), p.options...)
				r, end := onClock.Measured(t, harness.Command{}, ranksOfAilments, append([]string{compiled}, p.arguments...), "--replay", who)
				require.Zero(t, end.Code, end.Stderr)
				return r
			}
			alone, together := measured("alone"), measured("together")
			assert.EqualValues(t, 1, alone.Waits.ReplayedBy)
			assert.EqualValues(t, ranksOfAilments, together.Waits.ReplayedBy)
			together.Started = alone.Started
			assert.Equal(t, alike(alone), alike(together))
		})
	}
}

// What ranks have found together while they lived, they find again in what they have left.
func TestRanksReplayAsRecoverDoes(t *testing.T) {
	harness.EachReal(t, func(t *testing.T, mpi *harness.Library) {
		out := filepath.Join(t.TempDir(), "run")
		end := mpi.Under(t, harness.Command{}, ranksOfAilments, out, []string{mpi.Compile(t, "ailments"), "slow-rank", "5"}, "--replay", "together", "--keep-raw", "on")
		require.Zero(t, end.Code, end.Stderr)
		again := filepath.Join(t.TempDir(), "run")
		require.NoError(t, os.CopyFS(filepath.Join(again, run.RawDir), os.DirFS(filepath.Join(out, run.RawDir))))
		recovered := harness.Command{}.Run(t, harness.Artifact(t, "marple"), "recover", again)
		require.Zero(t, recovered.Code, recovered.Stderr)
		then, now := harness.ReadRun(t, out), harness.ReadRun(t, again)
		assert.EqualValues(t, ranksOfAilments, then.Waits.ReplayedBy)
		assert.Equal(t, then.Waits, now.Waits)
		assert.Equal(t, then.WithCores, now.WithCores)
		assert.Equal(t, then.Efficiency, now.Efficiency)
	})
}
