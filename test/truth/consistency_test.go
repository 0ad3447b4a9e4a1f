// What every run has in common: it follows the published schema, its times add up, and its report fits.
package truth

import (
	"marple/test/harness"

	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Between Init and Finalize lies what the program itself says: not less than from after the one to before
// the other, and not more than from before the one to after the other.
func TestTimeIsThatFromInitToFinalize(t *testing.T) {
	t.Parallel()
	const ranks = 3
	harness.Each(t, func(t *testing.T, mpi *harness.Library) {
		program := mpi.Compile(t, "brackets")
		measured, r := mpi.Measured(t, harness.Command{}, ranks, []string{program})
		require.Zero(t, r.Code, r.Stderr)
		require.Len(t, measured.PerRank, ranks)
		lines := strings.Split(strings.TrimSpace(r.Stdout), "\n")
		require.Len(t, lines, ranks)
		for _, line := range lines {
			var rank int
			var inner, outer float64
			_, err := fmt.Sscan(line, &rank, &inner, &outer)
			require.NoError(t, err, line)
			wall := float64(measured.PerRank[rank].Wall)
			const drift = 1e-3 // of one clock against the other
			assert.GreaterOrEqual(t, wall, inner*(1-drift), "rank %d", rank)
			assert.LessOrEqual(t, wall, outer*(1+drift), "rank %d", rank)
		}
	})
}

// On the virtual clock nothing is lost between the ticks.
func TestVirtualTimeIsExact(t *testing.T) {
	t.Parallel()
	const ms = 1_000_000
	harness.Mock.Need(t)
	r := harness.Mock.Virtual(t, harness.Command{}, 4, []string{harness.Mock.Compile(t, "brackets")})
	for _, p := range r.PerRank {
		assert.EqualValues(t, 3*ms*(p.Rank+1)+2*ms, p.Useful, "rank %d computes", p.Rank)
		assert.Zero(t, p.OffCore+p.Waited+p.Own+p.Paused, "rank %d", p.Rank)
		assert.EqualValues(t, 3*ms*(4-p.Rank-1)+2*latency, p.MPI, "rank %d waits in the barrier and in MPI_Finalize", p.Rank)
	}
	assert.Equal(t, []string{"external"}, r.Clocks)
	assert.Equal(t, "time-simulated", r.Conditions[0].ID)
	assert.Len(t, r.Conditions, 1, "nor do simulated ranks share cores")
}

// latency of the virtual network, in ns: a barrier lasts that long after the last rank has entered it.
const latency = 1000
