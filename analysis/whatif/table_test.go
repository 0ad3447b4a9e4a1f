package whatif

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Each row is the run with that much removed: nothing is the run, all is what the finding saves, half of an imbalance is half of it.
func TestSteps(t *testing.T) {
	r := uneven(20)
	Gains(r)
	table := Steps(r)
	require.NotNil(t, table)
	require.Len(t, table.Findings, 1)
	require.Equal(t, []float64{0, 0.25, 0.5, 0.75, 1}, table.Findings[0].Steps)
	require.Len(t, table.Rows, 5)
	wall := float64(r.WallNs) / 1e9
	assert.InDelta(t, wall, table.Rows[0].Seconds, 1e-3*wall)
	gain := r.Findings[0].Gain.Share
	for i, part := range table.Findings[0].Steps {
		assert.InDelta(t, wall*(1-part*gain), table.Rows[i].Seconds, 2e-3*wall, "%v of it", part)
	}
	assert.InDelta(t, 0.5, table.Rows[0].LoadBalance, 0.01, "15 of 30 ms")
	assert.InDelta(t, 1, table.Rows[4].LoadBalance, 0.01)

	again := *r
	again.Replay = nil
	assert.Nil(t, Steps(&again), "nothing is said of what cannot be replayed")
	assert.Nil(t, Variants(&again))
}

// What can be looked at is the same replay as what is told.
func TestVariants(t *testing.T) {
	r := uneven(20)
	Gains(r)
	list := Variants(r)
	require.Equal(t, 2, len(list))
	assert.Equal(t, "as it was", list[0].Name)
	assert.Equal(t, "without finding 1", list[1].Name)
	assert.InDelta(t, 1-r.Findings[0].Gain.Share, float64(list[1].Times.Length)/float64(list[0].Times.Length), 1e-3)
}
