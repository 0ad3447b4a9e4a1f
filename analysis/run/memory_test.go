package run

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestUnevenMemory(t *testing.T) {
	with := func(mib ...uint64) *Run {
		r := &Run{}
		for rank, m := range mib {
			r.PerRank = append(r.PerRank, RankBalance{Rank: rank, PeakMemory: m << 20})
		}
		return r
	}
	list := with(100, 4096, 120, 80).unevenMemory()
	require.Len(t, list, 1)
	assert.Equal(t, "memory-uneven", list[0].ID)
	assert.Equal(t, "rank 1 had 4.00 GiB in memory at most, the others 100 MiB on average: it decides how many ranks fit on a host. "+
		"Divide what it alone holds among the ranks", list[0].Text)
	for name, r := range map[string]*Run{
		"alike": with(1000, 1000, 1000), "a report's worth more": with(20, 200, 20), "a third more": with(3000, 4000, 3000),
		"one rank": with(4096), "not known of all": with(100, 4096, 0), "no rank": with(),
	} {
		assert.Empty(t, r.unevenMemory(), name)
	}
}
