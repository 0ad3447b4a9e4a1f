// Jobs that a site measures, and jobs whose processes do not know of each other.
package e2e

import (
	"marple/test/harness"

	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"marple/analysis/files"
	"marple/analysis/summary"
)

// For the site a run leaves one summary, and the user sees nothing of it: whatever the spool directory is, the job is as bare.
func TestSite(t *testing.T) {
	harness.Each(t, func(t *testing.T, mpi *harness.Library) {
		program := mpi.Compile(t, "results")
		top := t.TempDir()
		spool := func(name string, mode os.FileMode) string {
			path := filepath.Join(top, name)
			require.NoError(t, os.Mkdir(path, 0o700))
			require.NoError(t, os.Chmod(path, mode))
			return path
		}
		good, open := spool("good", 0o773|os.ModeSticky|os.ModeSetgid), spool("open", 0o777)
		file := filepath.Join(top, "file")
		require.NoError(t, os.WriteFile(file, nil, 0o600))
		home := spool("home", 0o700)
		ask := func(spool string, more ...string) {
			t.Helper()
			r := mpi.Bare(t, harness.Command{Directory: home, Environment: append([]string{"MARPLE_SITE=1", "MARPLE_SPOOL=" + spool, "SLURM_JOB_ID=78",
				"SLURM_JOB_ACCOUNT=geo", "OMPI_MCA_btl=^tcp"}, more...)}, // on some machines that says that it finds no way
				2, harness.Artifact(t, "marple"), "exec", program)
			assert.Zero(t, r.Code, spool)
			assert.Equal(t, "the sum is 45\n", r.Stdout, spool)
			assert.Equal(t, "a word\n", r.Stderr, spool)
			assert.Empty(t, harness.Entries(t, home), spool)
		}
		ask(good)
		in, err := files.In(good)
		require.NoError(t, err)
		require.Len(t, harness.Entries(t, good), 1)
		s, data, err := summary.Read(in, harness.Entries(t, good)[0])
		require.NoError(t, err)
		assert.Less(t, len(data), summary.MaxSize)
		assert.Equal(t, []any{"results", 2, 2, "78", "geo", uint32(os.Geteuid())}, []any{s.Program, s.Ranks, s.Measured, s.Job, s.Account, s.UID})
		assert.NotEmpty(t, s.BuildID)
		assert.Positive(t, s.Wall)
		if mpi == harness.Mock {
			line := append([]string{"diagnose", "--"}, mpi.Launch(2, program)...)
			r := harness.Command{Directory: t.TempDir(), Environment: []string{"MARPLE_SITE=1", "MARPLE_SPOOL=" + good}}.Run(t, append([]string{harness.Artifact(t, "marple")}, line...)...)
			assert.Zero(t, r.Code, r.Stderr)
			assert.Contains(t, r.Stdout, "results", "what a user asks for is the user's")
			assert.Len(t, harness.Entries(t, good), 1)
		}
		if mpi != harness.OpenMPI {
			return
		}
		for _, spool := range []string{"", filepath.Join(top, "none"), file, open, "/proc"} {
			ask(spool)
		}
		ask(good, "MARPLE_ENABLE=off")
		ask(good, "MARPLE_SITE=1000000") // one job in so many, of which this is none
		assert.Len(t, harness.Entries(t, good), 1)
		assert.Empty(t, harness.Entries(t, open))
	})
}

// Under the launcher of another MPI each process is alone; nothing else matters before that is said.
func TestSingletons(t *testing.T) {
	harness.OpenMPI.Need(t)
	harness.Mpich.Need(t)
	for _, c := range []struct{ launcher, of *harness.Library }{{harness.OpenMPI, harness.Mpich}, {harness.Mpich, harness.OpenMPI}} {
		r := c.launcher.Under(t, harness.Command{}, 2, filepath.Join(t.TempDir(), "run"), []string{c.of.Compile(t, "results")})
		assert.Zero(t, r.Code, r.Stderr)
		text := strings.Join(strings.Fields(r.Stderr), " ")
		assert.Equal(t, 2, strings.Count(text, "Marple: 2 singletons instead of 2 ranks: the launcher is "+c.launcher.Name+"'s, the program's library "+c.of.Name+"'s"), r.Stderr)
		assert.Less(t, strings.Index(text, "singletons"), strings.Index(text, "Marple: results, 1 rank"), r.Stderr)
	}
}
