// Other users of the machine can write where the run directory is made: whatever they lay there, before or while a
// program runs, nothing outside the run directory is written.
package harm

import (
	"marple/test/harness"

	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"marple/analysis/run"
)

// victims makes a directory with files of all the names that Marple writes, and gives what is in it.
func victims(t *testing.T, directory string) map[string]string {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Join(directory, "raw"), 0o755))
	for _, name := range []string{"run.json", "report.txt", "replay.bin", "report.html", "invocations.parquet", "raw/rank-000000.mrl", "raw/rank-000001.mrl",
		"raw/rank-000000.mrl.0.log", "raw/rank-000001.mrl.0.log", "raw/rank-000000.mrl.0.spill", "raw/rank-000000.mrl.0.calls", "raw/merged", "raw/reporter"} {
		require.NoError(t, os.WriteFile(filepath.Join(directory, name), []byte("a file of the victim's, of 42 bytes, named "+name), 0o644))
	}
	return contents(t, directory)
}

func contents(t *testing.T, directory string) map[string]string {
	t.Helper()
	all := map[string]string{}
	require.NoError(t, filepath.WalkDir(directory, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			data, err := os.ReadFile(path)
			all[strings.TrimPrefix(path, directory)] = string(data)
			return err
		}
		return err
	}))
	return all
}

// What is there already when the run directory is made: it is taken only if it is an empty directory of ours.
func TestRunDirectoryIsOurs(t *testing.T) {
	harness.Mock.Need(t)
	program := harness.Mock.Compile(t, "swapped")
	for name, c := range map[string]struct {
		lay   func(t *testing.T, out, victim string)
		taken bool
		said  bool
	}{
		"nothing": {func(*testing.T, string, string) {}, true, false},
		"an empty directory of ours": {func(t *testing.T, out, _ string) {
			require.NoError(t, os.Mkdir(out, 0o755))
		}, true, false},
		"files of somebody's": {func(t *testing.T, out, _ string) {
			require.NoError(t, os.Mkdir(out, 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(out, "report.txt"), []byte("a thesis"), 0o644))
		}, false, true},
		"a directory of another user's": {func(t *testing.T, out, _ string) {
			require.NoError(t, os.Mkdir(out, 0o777))
			require.NoError(t, os.Chown(out, nobody, nobody))
		}, false, true},
		"a directory that all may write to": {func(t *testing.T, out, _ string) {
			require.NoError(t, os.Mkdir(out, 0o777))
			require.NoError(t, os.Chmod(out, 0o777))
		}, false, true},
		"a link": {func(t *testing.T, out, victim string) {
			require.NoError(t, os.Symlink(victim, out))
		}, false, true},
		"a link to nowhere": {func(t *testing.T, out, victim string) {
			require.NoError(t, os.Symlink(filepath.Join(victim, "new"), out))
		}, false, true},
		"a named pipe": {func(t *testing.T, out, _ string) {
			require.NoError(t, syscall.Mkfifo(out, 0o666))
		}, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			if os.Geteuid() != 0 && strings.Contains(name, "another user") {
				t.Skip("only root can give a directory away")
			}
			place := t.TempDir()
			out, victim := filepath.Join(place, "out"), filepath.Join(place, "victim")
			before := victims(t, victim)
			c.lay(t, out, victim)
			r := harness.Mock.Under(t, harness.Command{}, 2, out, []string{program, "-", "-", "nothing", "finalize"})
			assert.Zero(t, r.Code, r.Stderr)
			assert.True(t, r.Reported(), r.Stderr)
			kept := out
			if !c.taken {
				kept = out + "-2"
			}
			if c.said {
				require.Len(t, r.Said(), 1, r.Stderr)
				assert.Contains(t, r.Said()[0], "this run is kept in "+kept)
			} else {
				assert.Empty(t, r.Said())
			}
			assert.FileExists(t, filepath.Join(kept, run.File))
			assert.Equal(t, before, contents(t, victim))
			if name == "files of somebody's" {
				assert.Equal(t, map[string]string{"/report.txt": "a thesis"}, contents(t, out))
			}
		})
	}
}

// What becomes of the run directory meanwhile.
func TestRunDirectoryIsSwapped(t *testing.T) {
	harness.Each(t, func(t *testing.T, mpi *harness.Library) {
		program := mpi.Compile(t, "swapped")
		for _, trick := range []string{"link", "raw-link", "swap", "gone", "file-links", "file-pipes"} {
			for _, end := range []string{"finalize", "error", "exit"} {
				if mpi != harness.Mock && (end == "error" || trick == "gone") {
					continue // what these have of their own is no matter of the MPI library
				}
				t.Run(trick+" "+end, func(t *testing.T) {
					place := t.TempDir()
					out, victim := filepath.Join(place, "out"), filepath.Join(place, "victim")
					before := victims(t, victim)
					r := mpi.Under(t, harness.Command{}, 2, out, []string{program, out, victim, trick, end}, "--log", "8")
					if end == "finalize" {
						assert.Zero(t, r.Code, r.Stderr)
					}
					assert.NotContains(t, r.Stderr, "goroutine ")
					if strings.HasPrefix(trick, "file-") { // in a directory where nobody else may do so
						assert.Equal(t, before, contents(t, victim))
						assert.NotEqual(t, end != "exit", strings.Contains(r.Stderr, "records are kept, make the report with: marple recover "+out), r.Stderr)
						assert.Equal(t, end != "exit", r.Reported(), r.Stderr)
						return
					}
					if trick == "swap" {
						victim = out
					}
					assert.Equal(t, before, contents(t, victim))
					if end != "exit" { // what was measured is reported all the same
						assert.True(t, r.Reported(), r.Stderr)
					}
					if trick != "raw-link" || end == "exit" { // not in silence
						assert.NotEmpty(t, r.Said(), "%s", r.Stderr)
					}
				})
			}
		}
	})
}

// The umask holds for all that is written, and nobody else may write to it whatever the umask.
func TestModes(t *testing.T) {
	harness.Mock.Need(t)
	program := harness.Mock.Compile(t, "swapped")
	for umask, most := range map[int]fs.FileMode{0o077: 0o700, 0o022: 0o755, 0: 0o755} {
		out := filepath.Join(t.TempDir(), "out")
		old := syscall.Umask(umask)
		r := harness.Mock.Under(t, harness.Command{}, 2, out, []string{program, "-", "-", "nothing", "finalize"}, "--keep-raw", "on")
		syscall.Umask(old)
		require.Zero(t, r.Code, r.Stderr)
		require.NoError(t, filepath.WalkDir(out, func(path string, entry fs.DirEntry, err error) error {
			require.NoError(t, err)
			info, err := entry.Info()
			require.NoError(t, err)
			if entry.IsDir() {
				assert.Zero(t, info.Mode().Perm()&^most, "%s %v under %o", path, info.Mode(), umask)
			} else {
				assert.Equal(t, 0o666&^fs.FileMode(umask), info.Mode().Perm(), "%s under %o", path, umask)
			}
			return nil
		}))
	}
}
