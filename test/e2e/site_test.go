// Jobs that a site measures, and jobs whose processes do not know of each other.
package e2e

import (
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
	each(t, func(t *testing.T, mpi *library) {
		program := mpi.compile(t, "results")
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
			r := mpi.bare(t, command{directory: home, environment: append([]string{"MARPLE_SITE=1", "MARPLE_SPOOL=" + spool, "SLURM_JOB_ID=78", "SLURM_JOB_ACCOUNT=geo"}, more...)},
				2, artifact(t, "marple"), "exec", program)
			assert.Zero(t, r.code, spool)
			assert.Equal(t, "the sum is 45\n", r.stdout, spool)
			assert.Equal(t, "a word\n", r.stderr, spool)
			assert.Empty(t, entries(t, home), spool)
		}
		ask(good)
		in, err := files.In(good)
		require.NoError(t, err)
		require.Len(t, entries(t, good), 1)
		s, data, err := summary.Read(in, entries(t, good)[0])
		require.NoError(t, err)
		assert.Less(t, len(data), summary.MaxSize)
		assert.Equal(t, []any{"results", 2, 2, "78", "geo", uint32(os.Geteuid())}, []any{s.Program, s.Ranks, s.Measured, s.Job, s.Account, s.UID})
		assert.NotEmpty(t, s.BuildID)
		assert.Positive(t, s.Wall)
		if mpi == mock {
			line := append([]string{"diagnose", "--"}, mpi.launch(2, program)...)
			r := command{directory: t.TempDir(), environment: []string{"MARPLE_SITE=1", "MARPLE_SPOOL=" + good}}.run(t, append([]string{artifact(t, "marple")}, line...)...)
			assert.Zero(t, r.code, r.stderr)
			assert.Contains(t, r.stdout, "results", "what a user asks for is the user's")
			assert.Len(t, entries(t, good), 1)
		}
		if mpi != openMPI {
			return
		}
		for _, spool := range []string{"", filepath.Join(top, "none"), file, open, "/proc"} {
			ask(spool)
		}
		ask(good, "MARPLE_ENABLE=off")
		ask(good, "MARPLE_SITE=1000000") // one job in so many, of which this is none
		assert.Len(t, entries(t, good), 1)
		assert.Empty(t, entries(t, open))
	})
}

// Under the launcher of another MPI each process is alone; nothing else matters before that is said.
func TestSingletons(t *testing.T) {
	openMPI.need(t)
	mpich.need(t)
	for _, c := range []struct{ launcher, of *library }{{openMPI, mpich}, {mpich, openMPI}} {
		r := c.launcher.under(t, command{}, 2, filepath.Join(t.TempDir(), "run"), []string{c.of.compile(t, "results")})
		assert.Zero(t, r.code, r.stderr)
		text := strings.Join(strings.Fields(r.stderr), " ")
		assert.Equal(t, 2, strings.Count(text, "Marple: 2 singletons instead of 2 ranks: the launcher is "+c.launcher.name+"'s, the program's library "+c.of.name+"'s"), r.stderr)
		assert.Less(t, strings.Index(text, "singletons"), strings.Index(text, "Marple: results, 1 rank"), r.stderr)
	}
}
