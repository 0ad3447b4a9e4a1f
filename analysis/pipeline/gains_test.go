package pipeline

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"marple/analysis/analysistest"
	"marple/analysis/knowledge"
	"marple/analysis/report"
	"marple/analysis/run"
)

// What ranks have left behind is replayed as the live run would have been: with gains, which the report tells.
func TestRecoveredRunsHaveGains(t *testing.T) {
	const ms = 1_000_000
	directory := t.TempDir()
	require.NoError(t, analysistest.KeepIn(directory, 4, func(r *analysistest.Rank) {
		for range 20 {
			slow := uint64(r.Rank/3) * 20 * ms
			r.Compute(10*ms + slow)
			r.Barrier(20, 21*ms-slow)
		}
	}))
	r, problems, err := Recover(analysistest.In(directory), 0, knowledge.Library{})
	require.NoError(t, err)
	require.Empty(t, problems)
	require.NotEmpty(t, r.Findings)
	require.NotNil(t, r.Findings[0].Gain)
	assert.InDelta(t, 15./31, r.Findings[0].Gain.Share, 0.03, "the first step begins elsewhere")
	assert.Regexp(t, `\n   gain    saves 4[5-8] % of the run, `, report.Full(r, directory))
	require.NoError(t, r.Write(analysistest.In(directory), ""))
	kept, err := run.ReadReplay(directory)
	require.NoError(t, err)
	assert.Equal(t, r.Replay, kept)
}
