package harm

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"marple/test/harness"
)

// Who may conclude has the whole core, and only they: rank 0, or all where the smaller one is not installed. Without the
// whole one nobody concludes: records are kept.
func TestCores(t *testing.T) {
	for name, c := range map[string]struct {
		without string
		has     []string
		said    string
	}{
		"both":       {"", []string{"rank 0: core", "rank 1: ranks", "rank 2: ranks"}, ""},
		"whole only": {"libmarple-ranks.so", []string{"rank 0: core", "rank 1: core", "rank 2: core"}, ""},
		"ranks only": {"libmarple-core.so", []string{"rank 0:", "rank 1: ranks", "rank 2: ranks"}, "No such file or directory"},
	} {
		marple := moved(t, "cores")
		if c.without != "" {
			require.NoError(t, os.Remove(filepath.Join(filepath.Dir(marple), c.without)))
		}
		for _, mpi := range harness.Libraries {
			t.Run(name+"/"+mpi.Name, func(t *testing.T) {
				mpi.Need(t)
				directory := filepath.Join(t.TempDir(), "run")
				r := mpi.Bare(t, harness.Command{}, 3, marple, "exec", "--out", directory, mpi.Compile(t, "cores"))
				require.Zero(t, r.Code, r.Stderr)
				got := strings.Split(strings.TrimSpace(r.Stdout), "\n")
				slices.Sort(got)
				require.Equal(t, c.has, got)
				if c.said == "" {
					require.Empty(t, r.Said())
				} else {
					require.Contains(t, strings.Join(r.Said(), "\n"), c.said)
				}
				require.Equal(t, 3, harness.ReadRun(t, directory).Ranks)
			})
		}
	}
}

// What ranks merge is the same with either core: in simulated time all of it, but for what memory it took.
func TestCoresAgree(t *testing.T) {
	harness.Mock.Need(t)
	program := []string{harness.Mock.Compile(t, "deterministic"), "3"}
	measured := func(environment ...string) string {
		r := harness.Mock.Virtual(t, harness.Command{Environment: environment}, 4, program)
		r.Started = time.Time{}
		for i := range r.PerRank {
			r.PerRank[i].PeakMemory = 0
		}
		data, err := r.Encode()
		require.NoError(t, err)
		return string(data)
	}
	require.Equal(t, measured("MARPLE_CORE="+harness.Artifact(t, "libmarple-core.so")), measured())
}
