package truth

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"marple/analysis/diagnosis"
	"marple/test/harness"
)

// diagnosisOf gives the findings of a run.
func diagnosisOf(t testing.TB, c harness.Command, directory string, flags ...string) diagnosis.Result {
	t.Helper()
	r := c.Run(t, append([]string{harness.Artifact(t, "marple"), "diagnose", directory, "--format", "json"}, flags...)...)
	require.Zero(t, r.Code, r.Stderr)
	var result diagnosis.Result
	require.NoError(t, json.Unmarshal([]byte(r.Stdout), &result))
	return result
}

// A program with an adaptive mesh, of which nobody has told Marple anything: what is switched off is what is named,
// and the mesh computes the same whatever its blocks' places.
func TestMesh(t *testing.T) {
	t.Parallel()
	program := harness.Mock.Compile(t, "amr", "-lm")
	for _, c := range []struct {
		ranks, latency, flag, factor string
	}{
		{"4", "30000", "steps=40", ""}, {"8", "10000", "steps=40", ""},
		{"4", "30000", "balance=off", "load balance of blocks"}, {"8", "10000", "balance=off", "load balance of blocks"},
		{"4", "30000", "order=scrambled", "block contiguity between levels"}, {"8", "10000", "order=scrambled", "block contiguity between levels"},
	} {
		t.Run(c.flag+" on "+c.ranks, func(t *testing.T) {
			where := harness.Command{Directory: t.TempDir()}
			r := where.Run(t, harness.Mock.Tool("mpirun"), "-n", c.ranks, "--virtual", "-latency", c.latency, harness.Artifact(t, "marple"), "exec", "--clock", "external", "--report", "none",
				"--out", "run", program, c.flag)
			require.Zero(t, r.Code, r.Stderr)
			assert.Equal(t, "blocks 168 mass 0.015725 error 0.0115 checksum babde3571827c2de\n", r.Stdout)
			d := diagnosisOf(t, where, "run")
			if c.factor == "" {
				assert.Empty(t, d.Findings)
				return
			}
			require.NotEmpty(t, d.Findings)
			assert.Equal(t, "flash", d.Looks[0].Model)
			assert.Equal(t, c.factor, d.Findings[0].Factor)
		})
	}
}

// On real libraries, whose ranks share cores: the missing balance is named, and first, whoever had a core when.
func TestJudgeMeshOnRealLibraries(t *testing.T) {
	harness.EachReal(t, func(t *testing.T, mpi *harness.Library) {
		program := mpi.Compile(t, "amr", "-lm")
		for _, n := range []int{4, 8} {
			t.Run(fmt.Sprint(n, " ranks"), func(t *testing.T) {
				harness.Judge(t, func(t testing.TB) {
					c := harness.Command{Directory: t.TempDir()}
					bare := mpi.Bare(t, c, n, program, "steps=16", "work=500000", "balance=off")
					r := mpi.Under(t, c, n, "run", []string{program, "steps=16", "work=500000", "balance=off"})
					require.Zero(t, r.Code, r.Stderr)
					assert.Equal(t, bare.Stdout, r.Stdout)
					d := diagnosisOf(t, c, "run")
					require.NotEmpty(t, d.Findings)
					t.Logf("%s, %.0f %%", d.Findings[0].Factor, 100*d.Findings[0].Share)
					assert.Equal(t, "load balance of blocks", d.Findings[0].Factor)
				})
			})
		}
	})
}
