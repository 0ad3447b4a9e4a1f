// Calls as Marple counts them, and as test/counter does, which has nothing to do with pmpi/.
package e2e

import (
	"marple/test/harness"

	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A second tool below Marple sees every call that Marple sees, and each once.
func TestCallsAreThoseOfAnIndependentCounter(t *testing.T) {
	t.Parallel()
	functions := harness.ReadTable(t)
	steps := harness.Scale(3, 100)
	programs := []struct {
		name      string
		ranks     int
		program   func(t *testing.T, m *harness.Library) []string
		paused    map[string]int // calls of each rank while recording is off
		different bool           // calls differ from run to run
	}{
		{name: "heat", ranks: 3, program: func(t *testing.T, m *harness.Library) []string {
			return []string{m.Compile(t, "heat"), "64", fmt.Sprint(10 * steps)}
		}},
		{name: "deterministic", ranks: 3, program: func(t *testing.T, m *harness.Library) []string {
			return []string{m.Compile(t, "deterministic"), fmt.Sprint(steps)}
		}, paused: map[string]int{"MPI_Barrier": steps}},
		{name: "polling", ranks: 2, program: func(t *testing.T, m *harness.Library) []string {
			return []string{m.Compile(t, "ailments"), "polling", "4"}
		}, different: true},
	}
	harness.Each(t, func(t *testing.T, mpi *harness.Library) {
		for _, p := range programs {
			t.Run(p.name, func(t *testing.T) {
				program := p.program(t, mpi)
				c, account := mpi.Counting(t, harness.Command{})
				measured, r := mpi.Measured(t, c, p.ranks, program)
				require.Zero(t, r.Code, r.Stderr)
				counted, found := account().ToRecord(functions), harness.Recorded(t, measured)
				for _, list := range found {
					for name, n := range p.paused {
						list[name] += uint64(n)
					}
				}
				assert.Equal(t, counted, found)
				if p.different {
					return
				}
				c, account = mpi.Counting(t, harness.Command{})
				require.Zero(t, mpi.Bare(t, c, p.ranks, program...).Code)
				assert.Equal(t, counted, account().ToRecord(functions), "the same program without Marple")
			})
		}
	})
}
