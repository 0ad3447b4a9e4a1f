package e2e

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"marple/analysis/run"
	"marple/test/harness"
)

// What a rank is known to have read and written goes through the kernel's account of it, beside the MPI library's own.
func TestTraffic(t *testing.T) {
	t.Parallel()
	harness.Each(t, func(t *testing.T, m *harness.Library) {
		r, end := m.Measured(t, harness.Command{}, 2, []string{m.Compile(t, "storage"), t.TempDir(), "totals"})
		require.Zero(t, end.Code, end.Stderr)
		require.Len(t, r.PerRank, 2)
		one, other := r.PerRank[0].Traffic, r.PerRank[1].Traffic
		if one == nil {
			t.Skip("the kernel does not say")
		}
		const mib = 1 << 20
		own := uint64(mib / 8) // of the MPI library, at most
		assert.GreaterOrEqual(t, one.Written, uint64(3*mib))
		assert.Less(t, one.Written, 3*mib+own)
		assert.GreaterOrEqual(t, one.Read, uint64(mib))
		assert.Less(t, one.Read, mib+own)
		assert.GreaterOrEqual(t, one.Writes, uint64(3))
		assert.GreaterOrEqual(t, one.Reads, uint64(1))
		assert.Less(t, other.Bytes(), own)
	})
}

func TestMemory(t *testing.T) {
	t.Parallel()
	m := harness.Mock
	r, _ := m.Measured(t, harness.Command{}, 3, []string{m.Compile(t, "storage"), t.TempDir(), "memory"})
	assert.True(t, slices.ContainsFunc(r.Conditions, func(n run.Note) bool { return n.ID == "memory-uneven" }), "%v", r.Conditions)
	assert.GreaterOrEqual(t, r.PerRank[1].PeakMemory, uint64(400<<20))
	r, _ = m.Measured(t, harness.Command{}, 3, []string{m.Compile(t, "storage"), t.TempDir(), "totals"})
	assert.False(t, slices.ContainsFunc(r.Conditions, func(n run.Note) bool { return n.ID == "memory-uneven" }), "%v", r.Conditions)
}
