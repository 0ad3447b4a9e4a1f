// Package site tries Marple as a whole site has it, with the batch system's own daemons.
package site

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"marple/test/harness"
)

// Every job of three users is measured, also those during which slurmd was killed, and is shown to its owner only.
func TestSlurm(t *testing.T) {
	if !harness.Long() {
		return
	}
	for _, name := range []string{"slurmctld", "slurmd", "munged", "curl", "setpriv", "mpicc.openmpi"} {
		if _, err := exec.LookPath(name); err != nil {
			harness.Missing(t, name)
		}
	}
	stage := t.TempDir()
	out, err := exec.Command("make", "-C", "../..", "install", "DESTDIR="+stage, "PREFIX=/").CombinedOutput()
	require.NoError(t, err, "%s", out)
	out, err = exec.Command("sh", "-c", "d=$(mktemp -d /tmp/marple-tree-XXXXXX) && chmod 755 $d && cp -a "+stage+"/. $d && ./slurm.sh $d; code=$?; rm -rf $d; exit $code").CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Equal(t, `summaries: 6
6 jobs ingested, 0 refused
games sees: 2 games 
mail sees: 2 mail 
news sees: 2 news 
root sees: 2 games 2 mail 2 news 
`, string(out))
}
