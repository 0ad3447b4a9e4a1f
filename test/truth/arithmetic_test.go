package truth

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"marple/test/harness"
)

// Programs whose work is real arithmetic, on more ranks than there are cores: the mock's clock goes on by the CPU time of
// each rank's thread, so that whatever else the machine does costs nothing but caches. The truth is the same program without
// its ailment: what it takes less is what the finding should say that there is to gain.
func TestJudgeArithmetic(t *testing.T) {
	const ranks = 16
	harness.Mock.Need(t)
	program := harness.Mock.Compile(t, "arithmetic", "-O2", "-lm")
	run := func(t testing.TB, where harness.Command, name, how string) (seconds float64) {
		r := where.Run(t, harness.Mock.Tool("mpirun"), "-n", fmt.Sprint(ranks), "--cpu", harness.Artifact(t, "marple"), "exec", "--clock", "external",
			"--report", "none", "--out", how, program, name, how)
		require.Zero(t, r.Code, r.Stderr)
		_, err := fmt.Sscanf(strings.TrimSpace(r.Stdout), name+" %g", &seconds)
		require.NoError(t, err, r.Stdout)
		return seconds
	}
	for _, c := range []struct {
		program, ill string
		slow         []int
	}{
		{"jacobi", "imbalance", []int{ranks - 2}},
		{"transpose", "imbalance", []int{ranks - 2}},
		{"sort", "imbalance", []int{ranks - 2}},
		{"farm", "slow-master", []int{0}},
	} {
		t.Run(c.program, func(t *testing.T) {
			harness.Judge(t, func(t testing.TB) {
				where := harness.Command{Directory: t.TempDir()}
				healthy, ill := run(t, where, c.program, "healthy"), run(t, where, c.program, "ill")
				for _, f := range diagnosisOf(t, where, "healthy").Findings {
					t.Logf("healthy: %s (%.0f %%)", f.ID, 100*f.Share)
					assert.Empty(t, f.Ranks, "a rank is named: %s", f.Title)
				}
				d := diagnosisOf(t, where, "ill")
				require.NotEmpty(t, d.Findings)
				f := d.Findings[0]
				assert.Equal(t, c.ill, f.ID, f.Title)
				assert.Equal(t, c.slow, f.Ranks, f.Title)
				require.NotNil(t, f.Gain)
				t.Logf("%s: gain %.0f %%, and the program without it takes %.0f %% less", filepath.Base(f.ID), 100*f.Gain.Share, 100*(1-healthy/ill))
				assert.LessOrEqual(t, f.Gain.Low, 1-healthy/ill+0.1)
				assert.GreaterOrEqual(t, f.Gain.High, 1-healthy/ill-0.1)
			})
		})
	}
}
