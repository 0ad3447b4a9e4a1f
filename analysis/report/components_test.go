package report

import (
	"testing"

	"github.com/stretchr/testify/require"

	"marple/analysis/run"
)

func branch(kind, component string, exclusive uint64, children ...*run.Node) *run.Node {
	n := &run.Node{Kind: kind, Name: kind, Exclusive: run.Stat{Sum: exclusive * ms}, Children: children}
	if component != "" {
		n.Component, n.Method, n.Calls = component, "compute", &run.Stat{N: 2}
	}
	return n
}

// A driver calls a mesh and a flux, which calls the mesh; the mesh calls itself once. Time without a core counts nowhere.
func assembled(communication uint64) *run.Run {
	waits := branch("mpi", "", communication+5)
	waits.OffCore = 5 * ms
	return &run.Run{Measured: 2, CallGraph: []*run.Node{branch("root", "", 1, branch("frame", "", 3,
		branch("component", "driver", 10,
			branch("frame", "", 2, branch("component", "mesh", 4, waits, branch("component", "mesh", 6))),
			branch("component", "flux", 40, branch("gap", "", 20), branch("off-core", "", 100), branch("component", "mesh", 8)),
		)))}}
}

func TestComponents(t *testing.T) {
	c := ComponentsOf(assembled(14))
	require.InDelta(t, 0.054, c.Time, 1e-12)
	require.InDelta(t, 0.007, c.MPI, 1e-12)
	require.Empty(t, c.Scaling)
	want := []Routine{
		{"driver", "compute", 0.006, 0.052, 52. / 54, 0, 0.007, 2, 1},
		{"flux", "compute", 0.030, 0.034, 34. / 54, 0, 0, 2, 1},
		{"mesh", "compute", 0.016, 0.016, 16. / 54, 0.007, 0.007, 6, 3},
	}
	require.Len(t, c.Routines, len(want))
	for i, w := range want {
		got := c.Routines[i]
		for j, pair := range [][2]float64{{w.Exclusive, got.Exclusive}, {w.Inclusive, got.Inclusive}, {w.Share, got.Share},
			{w.ExclusiveMPI, got.ExclusiveMPI}, {w.InclusiveMPI, got.InclusiveMPI}} {
			require.InDelta(t, pair[0], pair[1], 1e-12, "%s %d", w.Component, j)
		}
		require.Equal(t, []any{w.Component, w.Method, w.Invocations, w.Places}, []any{got.Component, got.Method, got.Invocations, got.Places})
	}
	// Without components it is functions that compute and communicate.
	plain := &run.Run{Measured: 2, CallGraph: []*run.Node{branch("root", "", 1, branch("frame", "", 30, branch("mpi", "", 25)))}}
	plain.CallGraph[0].Children[0].Name = "exchange(int)"
	require.Equal(t, "This run is unlikely to scale: 45 % of its time is spent in MPI, and exchange(int) communicates 0.8 times as long as exchange(int) computes.",
		ComponentsOf(plain).Scaling)
	golden(t, "components.txt", ComponentsText(assembled(94)))
	golden(t, "components-none.txt", ComponentsText(&run.Run{Measured: 1}))
	_, err := ComponentsJSON(assembled(14))
	require.NoError(t, err)
}
