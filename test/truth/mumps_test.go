package truth

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"marple/test/harness"
)

// MUMPS as it comes, three designs in one: the components of each are found by its functions' names, and what the tree of
// fronts has the masters' workers wait for is told.
func TestJudgeMultifrontalFactorization(t *testing.T) {
	harness.OpenMPI.Need(t)
	for file, of := range map[string]string{"/usr/include/dmumps_c.h": "libmumps-headers-dev", "/usr/lib/x86_64-linux-gnu/libdmumps.so": "libmumps-dev"} {
		if _, err := os.Stat(file); err != nil {
			harness.Missing(t, of)
		}
	}
	program := harness.OpenMPI.Compile(t, "mumps", "-ldmumps", "-lm")
	harness.Judge(t, func(t testing.TB) {
		c := harness.Command{Directory: t.TempDir(), Environment: []string{"OPENBLAS_NUM_THREADS=1"}}
		r := harness.OpenMPI.Under(t, c, 4, "run", []string{program, "24"})
		require.Zero(t, r.Code, r.Stderr)
		assert.Regexp(t, `^info 0 difference \de-1[2-6]\n$`, r.Stdout)

		result := diagnosisOf(t, c, "run", "--model", "mumps")
		verdicts := map[string]string{}
		for _, m := range result.Models {
			for _, x := range m.Conclusions {
				verdicts[x.ID] = x.Verdict
			}
		}
		assert.Equal(t, "holds", verdicts["tree.fetches"])
		assert.Equal(t, "holds", verdicts["tree.children-fetched"])
		assert.Equal(t, "holds", verdicts["farm.workers-wait"])
		for _, id := range []string{"tree.late-nodes", "farm.tail", "grid.exchange-is-slow", "delegated-tree-in-farm-wait-for-task", "composite-tree-remote-child"} {
			assert.Contains(t, []string{"holds", "rejected"}, verdicts[id], id)
		}
	})
}
