package truth

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
		*harness.Library
		compiler, scalapack string
	}{{harness.OpenMPI, "mpifort.openmpi", "scalapack-openmpi"}, {harness.Mpich, "mpifort.mpich", "scalapack-mpich"}} {
		t.Run(on.Name, func(t *testing.T) {
			on.Need(t)
			if _, err := os.Stat("/usr/share/doc/lib" + on.scalapack + "-dev"); err != nil {
				harness.Missing(t, "lib"+on.scalapack+"-dev")
			}
			program := filepath.Join(t.TempDir(), "pdlahqr")
			output, err := exec.Command(on.Tool(on.compiler), "-O1", "-g", "-o", program, harness.Apps("pdlahqr.f90"), "-l"+on.scalapack).CombinedOutput()
			require.NoError(t, err, string(output))
			harness.Judge(t, func(t testing.TB) {
				c := harness.Command{Directory: t.TempDir(), Environment: []string{"OPENBLAS_NUM_THREADS=1"}}
				r := on.Under(t, c, 4, "run", []string{program, "32"})
				require.Zero(t, r.Code, r.Stderr)
				assert.Regexp(t, `^info 0 difference +\d\.\dE-1[2-6]\n$`, r.Stdout)

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
	program := harness.Mock.Compile(t, "models/bulges", "-lm")
	for ailment, want := range map[string]map[string]float64{
		"healthy": {},
		"bulges":  {"delegated-pipeline-in-geometric-exchange": 12 * 3 * .003},
		"blocks":  {"delegated-geometric-in-pipeline-receive": 5 * 3 * .002},
		"both": {"delegated-pipeline-in-geometric-exchange": 12 * 3 * .003, "delegated-geometric-in-pipeline-receive": 5 * 3 * .002,
			"composite-geometric-exchange": 12*3*.003 + 6*3*.002},
	} {
		t.Run(ailment, func(t *testing.T) {
			c := harness.Command{Directory: t.TempDir()}
			onClock := *harness.Mock
			onClock.Mpirun = append(onClock.Mpirun[:1:1], "--virtual", "--latency", "0")
			r := onClock.Under(t, c, 4, "run", []string{program, ailment})
			require.Zero(t, r.Code, r.Stderr)
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
