package survive

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	runs "marple/analysis/run"
	"marple/test/harness"
)

// A rank that does not answer while all replay together costs what follows from that, and not what was found before.
func TestRankHangsInReplay(t *testing.T) {
	for _, m := range both {
		t.Run(m.name, func(t *testing.T) {
			need(t, m.cc, m.launch[0])
			directory := t.TempDir()
			to := filepath.Join(directory, "run")
			program := subject{source: "sends.c", made: []string{"dumb.so: -shared -fPIC @/dumb.c -ldl"}}.compile(t, m, directory)
			launch := append(slices.Clone(m.launch), "-n", "3", "env", "LD_PRELOAD="+filepath.Join(directory, "dumb.so"))
			measured := run(t, directory, []string{"MARPLE_DEADLINE=4", "SILENT=" + to},
				slices.Concat(launch, []string{filepath.Join(build, "marple"), "exec", "--replay", "together", "--out", to, "--", program}))
			require.Equal(t, "exit 0", measured.code, measured.err)
			require.NotContains(t, measured.err, "\nmarple: ")
			r := harness.ReadRun(t, to)
			require.NotNil(t, r.Waits)
			require.Zero(t, r.Waits.ReplayedBy)
			require.Positive(t, r.Waits.Events)
			require.True(t, slices.ContainsFunc(r.NotSeen, func(n runs.Note) bool { return n.ID == "replay-unknown" }), "%v", r.NotSeen)
		})
	}
}
