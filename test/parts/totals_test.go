package parts

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"marple/test/harness"
)

// What a component is told that it has spent is never less than before, wherever it was without a core: it was, by
// milliseconds, when the next event had noticed that.
func TestSpentNeverGetsLess(t *testing.T) {
	t.Parallel()
	harness.Each(t, func(t *testing.T, mpi *harness.Library) {
		program := mpi.Compile(t, "totals", "-ldl")
		directory := filepath.Join(t.TempDir(), "run")
		r := mpi.Under(t, harness.Command{}, 1, directory, []string{program})
		require.Zero(t, r.Code, r.Stdout+r.Stderr)
		_, calls := readInvocations(t, directory)
		require.Len(t, calls, 4)
		for _, i := range calls { // of 40 ms of CPU time, in at least twice that
			require.InDelta(t, 0.04, i["wall"], 0.02, i)
		}
	})
}
