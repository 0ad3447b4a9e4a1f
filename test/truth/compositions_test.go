package truth

import (
	"marple/test/harness"

	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// stagesOfFarms says which functions of test/apps/models/stages.c are a stage's farm, and which ranks are what there.
const stagesOfFarms = `extends: pipeline-of-farms
match: {pipeline.work: {in: [farm, worker]}}
roles: {pipeline.work.master: "0,4,8", pipeline.work.worker: "1-3,5-7,9-11"}
`

// A composition is a program of composed designs, as it is told to be, with an ailment and its causes.
type composition struct {
	program, ranks, model, ailment string
	causes                         []string
}

var compositions = []composition{
	{"stages", "12", "farms.yaml", "healthy", nil},
	{"stages", "12", "farms.yaml", "slow-master", []string{"pipeline.work.slow-master"}},
	{"merged", "4", "merged-pipelines", "healthy", nil},
	{"merged", "4", "merged-pipelines", "slow-first", []string{"first.slow-stage"}},
	{"merged", "4", "merged-pipelines", "slow-second", []string{"first.slow-stage"}}, // one pipeline's stages are the other's
}

// Programs of composed designs: the cause is named in its place in the composition, and nothing where nothing is wrong.
func TestCompositionsOnTheVirtualClock(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(directory, "farms.yaml"), []byte(stagesOfFarms), 0o644))
	for _, c := range compositions {
		t.Run(c.program+" "+c.ailment, func(t *testing.T) {
			program, run := harness.Mock.Compile(t, "models/"+c.program, "-lm"), c.program+"-"+c.ailment
			at := harness.Command{Directory: directory}
			r := at.Run(t, harness.Mock.Tool("mpirun"), "-n", c.ranks, "--virtual", harness.Artifact(t, "marple"), "exec", "--report", "none", "--out", run, "--", program, c.ailment)
			require.Zero(t, r.Code, r.Stderr)
			result := diagnosisOf(t, at, run, "--model", c.model)
			var causes []string
			for _, m := range result.Models[1:] { // the first is general
				for _, x := range m.Conclusions {
					if x.Kind == "factor" && x.Verdict == "holds" {
						causes = append(causes, x.ID)
					}
					require.False(t, strings.HasPrefix(x.ID, "second."), x.ID)
				}
			}
			slices.Sort(causes)
			require.Equal(t, c.causes, causes)
		})
	}
}
