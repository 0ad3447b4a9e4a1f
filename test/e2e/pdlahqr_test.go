package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ScaLAPACK as it comes, two designs in one: what each makes the other wait for is told apart.
func TestPipelineOfBulges(t *testing.T) {
	openMPI.need(t)
	program := filepath.Join(t.TempDir(), "pdlahqr")
	output, err := exec.Command(openMPI.tool("mpifort.openmpi"), "-O1", "-g", "-o", program, apps("pdlahqr.f90"), "-lscalapack-openmpi").CombinedOutput()
	if err != nil {
		if _, found := os.Stat("/usr/share/doc/libscalapack-openmpi-dev"); found != nil {
			missing(t, "libscalapack-openmpi-dev")
		}
		require.NoError(t, err, string(output))
	}
	c := command{directory: t.TempDir(), environment: []string{"OPENBLAS_NUM_THREADS=1"}}
	r := openMPI.under(t, c, 4, "run", []string{program, "64"})
	require.Zero(t, r.code, r.stderr)
	assert.Regexp(t, `^info 0 difference +\d\.\dE-1[2-6]\n$`, r.stdout)

	verdicts := map[string]string{}
	for _, m := range diagnosisOf(t, c, "run", "--model", "pdlahqr").Models {
		for _, x := range m.Conclusions {
			verdicts[x.ID] = x.Verdict
		}
	}
	assert.Equal(t, "holds", verdicts["delegated-geometric-in-pipeline-receive"], "%v", verdicts)
	assert.Equal(t, "holds", verdicts["delegated-pipeline-in-geometric-exchange"], "%v", verdicts)
	assert.NotEqual(t, "unknown", verdicts["composite-pipeline-receive"])
	assert.Contains(t, verdicts, "composite-pipeline-send")
}
