package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"marple/analysis/diagnosis"
	"marple/test/harness"
)

// interplay is what a diagnosis says of the delays of models that run interleaved.
func interplay(result diagnosis.Result) map[string]diagnosis.Conclusion {
	found := map[string]diagnosis.Conclusion{}
	for _, m := range result.Models {
		for _, x := range m.Conclusions {
			if strings.HasPrefix(x.ID, "delegated-") || strings.HasPrefix(x.ID, "composite-") {
				found[x.ID] = x
			}
		}
	}
	return found
}

// ScaLAPACK as it comes, two designs in one: what each makes the other wait for is told apart.
func TestJudgePipelineOfBulges(t *testing.T) {
	for _, on := range []struct {
		*library
		compiler, scalapack string
	}{{openMPI, "mpifort.openmpi", "scalapack-openmpi"}, {mpich, "mpifort.mpich", "scalapack-mpich"}} {
		t.Run(on.name, func(t *testing.T) {
			on.need(t)
			if _, err := os.Stat("/usr/share/doc/lib" + on.scalapack + "-dev"); err != nil {
				missing(t, "lib"+on.scalapack+"-dev")
			}
			program := filepath.Join(t.TempDir(), "pdlahqr")
			output, err := exec.Command(on.tool(on.compiler), "-O1", "-g", "-o", program, apps("pdlahqr.f90"), "-l"+on.scalapack).CombinedOutput()
			require.NoError(t, err, string(output))
			harness.Judge(t, func(t testing.TB) {
				c := command{directory: t.TempDir(), environment: []string{"OPENBLAS_NUM_THREADS=1"}}
				r := on.under(t, c, 4, "run", []string{program, "32"})
				require.Zero(t, r.code, r.stderr)
				assert.Regexp(t, `^info 0 difference +\d\.\dE-1[2-6]\n$`, r.stdout)

				found, held := interplay(diagnosisOf(t, c, "run", "--model", "pdlahqr")), 0
				for _, id := range []string{"delegated-geometric-in-pipeline-receive", "delegated-pipeline-in-geometric-exchange"} {
					x := found[id]
					require.Len(t, x.Reasons, 1, id)
					assert.Len(t, x.Reasons[0].Lines, 2, id) // that stages wait, and the part of it
					if assert.Contains(t, []string{"holds", "rejected"}, x.Verdict, id); x.Verdict == "holds" {
						assert.Positive(t, x.Seconds, id)
						held++
					}
				}
				assert.Positive(t, held, "where ranks share cores, one part may be below what is worth telling")
				for _, id := range []string{"composite-pipeline-receive", "composite-geometric-exchange"} {
					assert.Contains(t, []string{"holds", "rejected"}, found[id].Verdict, id)
				}
			})
		})
	}
}

// On the virtual clock it is known how long each design makes the other wait: 12 bulges, 3 ranks that wait, 3 ms for a
// bulge and 2 ms for its blocks. Every second time both are waited for at once.
func TestBulgesOnTheVirtualClock(t *testing.T) {
	t.Parallel()
	program := mock.compile(t, "models/bulges", "-lm")
	for ailment, want := range map[string]map[string]float64{
		"healthy": {},
		"bulges":  {"delegated-pipeline-in-geometric-exchange": 12 * 3 * .003},
		"blocks":  {"delegated-geometric-in-pipeline-receive": 5 * 3 * .002},
		"both": {"delegated-pipeline-in-geometric-exchange": 12 * 3 * .003, "delegated-geometric-in-pipeline-receive": 5 * 3 * .002,
			"composite-geometric-exchange": 12*3*.003 + 6*3*.002},
	} {
		t.Run(ailment, func(t *testing.T) {
			c := command{directory: t.TempDir()}
			onClock := *mock
			onClock.mpirun = append(onClock.mpirun[:1:1], "--virtual", "--latency", "0")
			r := onClock.under(t, c, 4, "run", []string{program, ailment})
			require.Zero(t, r.code, r.stderr)
			got := map[string]float64{}
			for id, x := range interplay(diagnosisOf(t, c, "run", "--model", "pdlahqr")) {
				if x.Verdict == "holds" {
					got[id] = x.Seconds
				}
			}
			require.Len(t, got, len(want), "%v", got)
			for id, seconds := range want {
				assert.InDelta(t, seconds, got[id], 1e-6, id) // the replay rounds each wait
			}
		})
	}
}
