package e2e

import (
	"marple/test/harness"

	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"marple/analysis/run"
)

// What a run's events say after they have been an OTF2 trace: the same waits, causes and finding; and every function of MPI comes
// through.
func TestImportOfOTF2(t *testing.T) {
	t.Parallel()
	otf2(t)
	harness.Mock.Need(t)
	imported := func(t *testing.T, ranks int, program ...string) (was, is *run.Run) {
		directory := t.TempDir()
		do := func(line ...string) {
			t.Helper()
			got := harness.Command{Directory: directory}.Run(t, line...)
			require.Zero(t, got.Code, got.Stderr)
			require.Empty(t, harness.Progress.ReplaceAllString(got.Stderr, ""))
		}
		onClock := *harness.Mock
		onClock.Mpirun = append(append([]string{}, harness.Mock.Mpirun...), "--virtual")
		got := harness.Command{Directory: directory}.Run(t, onClock.Launch(ranks, append([]string{harness.Artifact(t, "marple"), "exec", "--trace", "100", "--out", "run"}, program...)...)...)
		require.Zero(t, got.Code, got.Stderr)
		do(harness.Artifact(t, "marple"), "export", "--to", "otf2", "-o", "trace", "run")
		do(harness.Artifact(t, "marple"), "import", "-o", "again", filepath.Join("trace", "traces.otf2"))
		return harness.ReadRun(t, filepath.Join(directory, "run")), harness.ReadRun(t, filepath.Join(directory, "again"))
	}
	t.Run("finding", func(t *testing.T) {
		was, is := imported(t, 4, harness.Mock.Compile(t, "models/geometric", "-lm"), "imbalance")
		require.NotEmpty(t, is.Findings)
		assert.Equal(t, was.Findings[0].ID, is.Findings[0].ID)
		assert.Equal(t, was.Findings[0].Ranks, is.Findings[0].Ranks)
		assert.InDelta(t, was.Findings[0].Share, is.Findings[0].Share, 0.01)
		require.NotNil(t, is.Findings[0].Gain)
		assert.InDelta(t, was.Findings[0].Gain.Share, is.Findings[0].Gain.Share, 0.02)
		patterns := func(r *run.Run) map[string]uint64 {
			list := map[string]uint64{}
			for _, p := range r.Waits.Patterns {
				list[p.Pattern] = p.Ns
			}
			return list
		}
		assert.Equal(t, patterns(was), patterns(is))
		assert.Equal(t, "not-in-trace", is.NotSeen[len(is.NotSeen)-1].ID)
	})
	t.Run("everything", func(t *testing.T) {
		was, is := imported(t, everythingRanks, everythingWith(harness.Mock, t), t.TempDir())
		for _, f := range is.Functions {
			assert.Equal(t, harness.Function(was, f.Name).Calls, f.Calls, f.Name)
		}
		for i, b := range is.PerRank {
			assert.Equal(t, was.PerRank[i].Sent, b.Sent, "rank %d", i)
		}
	})
}

// A trace that Marple has not written: on two hosts, with a clock of 2.5 GHz, and regions; and one that is damaged.
func TestImportOfForeignTraces(t *testing.T) {
	t.Parallel()
	otf2(t)
	if exec.Command(harness.DebianPython, "-c", "import otf2").Run() != nil {
		harness.Missing(t, "python3-otf2")
	}
	directory := t.TempDir()
	do := func(line ...string) harness.Result { return harness.Command{Directory: directory}.Run(t, line...) }
	require.Zero(t, do(harness.DebianPython, harness.Apps("foreign.py"), "scorep").Code)
	got := do(harness.Artifact(t, "marple"), "import", "scorep")
	require.Zero(t, got.Code, got.Stderr)
	require.Empty(t, got.Stderr)
	r := harness.ReadRun(t, filepath.Join(directory, "marple-scorep"))
	assert.Equal(t, []any{"scorep", 2, 2, uint64(50_010_000)}, []any{r.Program, r.Ranks, len(r.Hosts), r.WallNs})
	require.NotEmpty(t, r.Waits.Patterns)
	assert.Equal(t, "late-sender", r.Waits.Patterns[0].Pattern)
	assert.EqualValues(t, 50*800_000, r.Waits.Patterns[0].Ns)
	require.NotEmpty(t, r.Findings)
	assert.Equal(t, []int{0}, r.Findings[0].Ranks)
	assert.Contains(t, r.Findings[0].Where, "solve in main")

	got = do(harness.Artifact(t, "marple"), "import", "scorep")
	assert.Equal(t, 1, got.Code, "the run directory is there")
	for _, file := range []string{"scorep/traces/0.evt", "scorep/traces.def", "scorep/traces.otf2"} {
		data, err := os.ReadFile(filepath.Join(directory, file))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(directory, file), data[:len(data)/2], 0o600))
		got = do(harness.Artifact(t, "marple"), "import", "-o", "again", "scorep")
		assert.Equal(t, 1, got.Code, file)
		assert.Equal(t, 1, strings.Count(got.Stderr, "\n"), "%s: %s", file, got.Stderr)
		assert.NoDirExists(t, filepath.Join(directory, "again"), file)
	}
}
