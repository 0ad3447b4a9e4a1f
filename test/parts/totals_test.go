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
		r := mpi.Under(t, harness.Command{}, 1, filepath.Join(t.TempDir(), "run"), []string{program})
		require.Zero(t, r.Code, r.Stdout+r.Stderr)
	})
}
