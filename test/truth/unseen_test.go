package truth

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"marple/test/harness"
)

// Programs in the manner of well-known ones, which were used for no threshold. The truth of each is known from its source:
// the healthy ones compute equally long everywhere; the ailing ones have a rank that computes half as long again (the last
// but one, or where rank 0 does something alone, that), tiny messages, or a slow master. In simulated time nothing else
// disturbs them.
func TestJudgeUnseen(t *testing.T) {
	const ranks = 4
	for _, c := range []struct {
		program, ill string // the finding
		slow         []int
	}{
		{"hydro", "imbalance", []int{2}},
		{"fecg", "imbalance", []int{2}},
		{"mg", "imbalance", []int{2}},
		{"fft", "imbalance", []int{2}},
		{"mc", "imbalance", []int{2}},
		{"is", "imbalance", []int{2}},
		{"io", "imbalance", []int{0}},
		{"amr", "tiny-messages", nil},
		{"farm", "slow-master", []int{0}},
	} {
		for _, how := range []string{"healthy", "ill"} {
			t.Run(c.program+" "+how, func(t *testing.T) {
				harness.Judge(t, func(t testing.TB) {
					program := harness.Mock.Compile(t, filepath.Join("unseen", c.program), "-DMOCK", "-lm")
					where := harness.Command{Directory: t.TempDir()}
					r := where.Run(t, harness.Mock.Tool("mpirun"), "-n", fmt.Sprint(ranks), "--virtual", harness.Artifact(t, "marple"), "exec", "--clock", "external",
						"--report", "none", "--out", "run", program, how)
					require.Zero(t, r.Code, r.Stderr)
					d := diagnosisOf(t, where, "run")
					if how == "healthy" {
						assert.Empty(t, d.Findings)
						return
					}
					require.NotEmpty(t, d.Findings)
					t.Logf("%s (%.0f %%)", d.Findings[0].Title, 100*d.Findings[0].Share)
					assert.Equal(t, c.ill, d.Findings[0].ID)
					assert.Equal(t, c.slow, d.Findings[0].Ranks)
				})
			})
		}
	}
}
