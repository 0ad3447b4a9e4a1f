// Timer samples: where programs compute between MPI calls, and that the programs do not notice.
package truth

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"marple/analysis/run"
	"marple/test/harness"
)

// computed is for how long samples were in these functions, inlined or not, and what they call.
func computed(root *run.Node, functions ...string) map[string]uint64 {
	ns := map[string]uint64{}
	var visit func(n *run.Node, in string)
	visit = func(n *run.Node, in string) {
		names := []string{n.Name} // of the outermost that it is in
		for _, i := range n.Inlined {
			names = append(names, i.Function)
		}
		for _, name := range names {
			if in == "" && slices.Contains(functions, name) {
				in = name
			}
		}
		if n.Samples > 0 && in != "" {
			ns[in] += n.Exclusive.Sum
		}
		for _, c := range n.Children {
			visit(c, in)
		}
	}
	visit(root, "")
	return ns
}

func TestSamplesTellWhatIsComputed(t *testing.T) {
	t.Parallel()
	harness.Each(t, func(t *testing.T, mpi *harness.Library) {
		r, end, ns := shares(mpi, t)
		heavy, light, inlined := ns["heavy"], ns["light"], ns["inlined"]
		assert.NotZero(t, heavy)
		assert.NotZero(t, light)
		assert.NotZero(t, inlined)
		assert.LessOrEqual(t, heavy+light+inlined, r.Core.Useful)
		assert.Contains(t, end.Stderr, "Computing    ")
		assert.Less(t, len(r.NotSeen), 1, "%v", r.NotSeen)
		checkSums(t, r.Root())
		require.NotNil(t, r.Waits)
		var where []string
		for _, c := range r.Waits.Critical {
			where = append(where, c.Where)
		}
		assert.Contains(t, strings.Join(where, "; "), "in heavy")
		assert.NotContains(t, strings.Join(where, "; "), "not recorded")
	})
}

// shares samples a program that computes in three functions.
func shares(m *harness.Library, t testing.TB) (r *run.Run, end harness.Result, ns map[string]uint64) {
	t.Helper()
	r, end = m.Measured(t, harness.Command{}, 2, []string{m.Compile(t, "samples", "-lm"), "shares"}, "--sample", "200")
	require.Zero(t, end.Code, end.Stderr)
	return r, end, computed(r.Root(), "heavy", "light", "inlined")
}

// Of the time, heavy takes 60 %, and light and what is inlined 20 % each.
func TestJudgeShares(t *testing.T) {
	harness.Each(t, func(t *testing.T, mpi *harness.Library) {
		harness.Judge(t, func(t testing.TB) {
			r, _, ns := shares(mpi, t)
			of := func(name string) float64 { return float64(ns[name]) / float64(r.Core.Useful) }
			t.Logf("heavy %.0f %%, light %.0f %%, inlined %.0f %%", 100*of("heavy"), 100*of("light"), 100*of("inlined"))
			assert.InDelta(t, 0.6, of("heavy"), 0.1)
			assert.InDelta(t, 0.2, of("light"), 0.1)
			assert.InDelta(t, 0.2, of("inlined"), 0.1)
		})
	})
}

func TestSamplesOfThreadsWithoutMPI(t *testing.T) {
	t.Parallel()
	harness.Each(t, func(t *testing.T, mpi *harness.Library) {
		program := mpi.Compile(t, "samples", "-lm")
		r, end := mpi.Measured(t, harness.Command{}, 1, []string{program, "threads"}, "--sample", "100")
		require.Zero(t, end.Code, end.Stderr)
		assert.NotZero(t, computed(r.Root(), "light")["light"])
		i := slices.IndexFunc(r.CallGraph, func(n *run.Node) bool { return n.Name == "other threads" })
		require.GreaterOrEqual(t, i, 0)
		checkSums(t, r.CallGraph[i])
		// The main thread looks for others ten times a second that it computes.
		assert.Contains(t, computed(r.CallGraph[i], "heavy"), "heavy")
	})
}

func TestSamplesDisturbNothing(t *testing.T) {
	t.Parallel()
	harness.Each(t, func(t *testing.T, mpi *harness.Library) {
		program := mpi.Compile(t, "samples", "-lm")
		for _, what := range []string{"neutral", "takes", "has"} {
			bare := mpi.Bare(t, harness.Command{}, 1, program, what)
			end := mpi.Under(t, harness.Command{}, 1, t.TempDir()+"/run", []string{program, what}, "--sample", "1000")
			assert.Equal(t, bare.Code, end.Code, "%s: %s", what, end.Stderr)
			assert.Equal(t, bare.Stdout, end.Stdout, what)
			switch what {
			case "neutral":
				assert.Contains(t, end.Stdout, "interrupted 0, errno 0, rounding 0, child 4, shell 6\n")
				assert.NotContains(t, end.Stderr, "samples end")
			case "takes":
				assert.Contains(t, end.Stdout, "0 signals nobody sent")
				assert.Regexp(t, `marple: samples end here: the program itself has a use for signal \d+\n`, end.Stderr)
			case "has":
				assert.Contains(t, end.Stderr, "marple: no samples are taken: the program uses all real-time signals\n")
			}
		}
	})
}

func TestNoSamplesOfSimulatedTime(t *testing.T) {
	t.Parallel()
	program := harness.Mock.Compile(t, "samples", "-lm")
	onClock := *harness.Mock
	onClock.Mpirun = append(slices.Clone(harness.Mock.Mpirun), "--virtual")
	end := onClock.Under(t, harness.Command{}, 1, t.TempDir()+"/run", []string{program, "shares"}, "--sample", "100")
	require.Zero(t, end.Code)
	assert.Contains(t, end.Stderr, "marple: no samples are taken: time is simulated\n")
}
