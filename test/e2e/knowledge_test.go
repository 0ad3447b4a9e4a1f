package e2e

import (
	"marple/test/harness"

	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"marple/analysis/run"
)

// A model of one's own is there when the program ends, wherever that has gone meanwhile, and when the run is recovered.
func TestKnowledgeOfOnesOwn(t *testing.T) {
	directory := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(directory, "models"), 0o777))
	require.NoError(t, os.WriteFile(filepath.Join(directory, "models", "mine.yaml"), []byte(`model: mine
title: Whatever exchanges messages
components: {work: {about: computing, match: {computation: any}}, talk: {about: messages, match: {op: [sends, recv]}}}
thresholds: {least: 0.1 %}
metrics:
  talking_time: {value: time(talk), unit: s}
  lost_share: {value: talking_time / run.core, unit: share}
signs: {any: [{is: "1", says: it is a program}]}
levels: [{title: all, needs: [profile]}]
factors: {talking: {title: Ranks talk, factor: talk, cost: talking_time, advice: "Talk less."}}
rules: [{if: [lost_share >= least], then: talking}]
`), 0o666))
	harness.Mock.Need(t)
	program := harness.Mock.Compile(t, "waits")
	for name, flags := range map[string][]string{"flag": {"--knowledge", "models"}, "variable": nil} {
		t.Run(name, func(t *testing.T) {
			c := harness.Command{Directory: directory}
			if flags == nil {
				c.Environment = []string{"MARPLE_KNOWLEDGE=" + filepath.Join(directory, "models")}
			}
			line := append([]string{harness.Mock.Tool("mpirun"), "-n", "2", "--virtual", harness.Artifact(t, "marple"), "exec", "--clock", "external", "--out", name}, flags...)
			end := c.Run(t, append(line, program, "late-sender", "200")...)
			require.Zero(t, end.Code, end.Stderr)
			r, err := run.Read(filepath.Join(directory, name))
			require.NoError(t, err)
			require.NotEmpty(t, r.Models, end.Stderr)
			require.Equal(t, "mine", r.Models[0].Name)
			require.Contains(t, end.Stderr, "Ranks talk (")
		})
	}
}
