package analysis

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"marple/analysis/analysistest"
)

// At the end of a run, implementations are chosen if families are configured; if they cannot be, the report says
// why, and is there all the same.
func TestChoose(t *testing.T) {
	const ms = 1_000_000
	r := analysistest.Run(2, 2, func(r *analysistest.Rank) {
		r.Region("solve", func() { r.Compute(100 * ms) })
		r.Region("print", func() { r.Compute(ms) })
	})
	path := filepath.Join(t.TempDir(), "families.yaml")
	require.NoError(t, os.WriteFile(path, []byte(`
families:
  solve: {implementations: {slow: {measured: yes}, fast: {time: 0.02, error: 0.001}}}
  print: {implementations: {one: {measured: yes}, other: {time: 0.002}}}
`), 0o666))
	Choose(r, "", "")
	require.Nil(t, r.Selection)
	require.NotContains(t, Report(r, "d"), "Best choice")

	Choose(r, path, "")
	require.NotNil(t, r.Selection)
	require.InDelta(t, 0.042, r.Selection.Time, 1e-9)
	require.Contains(t, Report(r, "d"), "\nBest choice  solve: fast; 42.0 ms of core time expected; without fast it takes\n             160 ms more; any will do for print\n")

	r.Selection = nil
	require.NoError(t, os.WriteFile(path, []byte("families: {solve: {}}"), 0o666))
	Choose(r, path, "")
	require.Nil(t, r.Selection)
	require.Contains(t, r.NotSeen[len(r.NotSeen)-1].Text, "implementations were not chosen: "+path+`:1:19: family solve: "implementations" is missing`)
}
