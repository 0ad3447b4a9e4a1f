package files

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What is no regular file is refused, and nothing waits for it.
func TestOpen(t *testing.T) {
	d := t.TempDir()
	require.NoError(t, syscall.Mkfifo(filepath.Join(d, "pipe"), 0o666))
	require.NoError(t, os.WriteFile(filepath.Join(d, "file"), []byte("text"), 0o666))
	require.NoError(t, os.Symlink("pipe", filepath.Join(d, "link")))
	for path, problem := range map[string]string{
		"pipe": "a named pipe", "link": "a named pipe", ".": "a directory", "/dev/zero": "a device", "/dev/tty": "a device", "none": "no such file",
	} {
		if !filepath.IsAbs(path) {
			path = filepath.Join(d, path)
		}
		_, err := Open(path)
		assert.ErrorContains(t, err, problem, path)
	}
	data, err := Read(filepath.Join(d, "file"), 4)
	require.NoError(t, err)
	assert.Equal(t, "text", string(data))
	_, err = Read(filepath.Join(d, "file"), 3)
	assert.ErrorContains(t, err, "larger than 3 bytes")
}

// Everything that writes, with everything that somebody else can lay in its way: nothing outside is touched.
func TestNothingOutsideIsWritten(t *testing.T) {
	for name, operation := range map[string]func(f File) error{
		"open": func(f File) error {
			file, err := f.Open(os.O_WRONLY | os.O_CREATE | os.O_TRUNC)
			if err == nil {
				_, err = file.WriteString("ours")
				file.Close()
			}
			return err
		},
		"replace": func(f File) error { return f.ReplaceBy([]byte("ours")) },
		"remove":  func(f File) error { return f.Remove() },
	} {
		for trick, c := range map[string]struct {
			lay   func(t *testing.T, directory, victim string)
			fails bool // also where links are replaced, not followed
		}{
			"link": {func(t *testing.T, directory, victim string) {
				require.NoError(t, os.Symlink(filepath.Join(victim, "file"), filepath.Join(directory, "file")))
			}, false},
			"dangling link": {func(t *testing.T, directory, victim string) {
				require.NoError(t, os.Symlink(filepath.Join(victim, "new"), filepath.Join(directory, "file")))
			}, false},
			"pipe": {func(t *testing.T, directory, victim string) {
				require.NoError(t, syscall.Mkfifo(filepath.Join(directory, "file"), 0o666))
			}, false},
			"swapped by a link": {func(t *testing.T, directory, victim string) {
				require.NoError(t, os.Rename(directory, directory+"-"))
				require.NoError(t, os.Symlink(victim, directory))
			}, true},
			"swapped": {func(t *testing.T, directory, victim string) {
				require.NoError(t, os.Rename(directory, directory+"-"))
				require.NoError(t, os.Rename(victim, directory))
				require.NoError(t, os.Symlink(directory, victim))
			}, true},
			"gone": {func(t *testing.T, directory, victim string) {
				require.NoError(t, os.Remove(directory))
			}, true},
		} {
			t.Run(name+" "+trick, func(t *testing.T) {
				top := t.TempDir()
				directory, victim := filepath.Join(top, "run"), filepath.Join(top, "victim")
				require.NoError(t, os.Mkdir(directory, 0o777))
				require.NoError(t, os.Mkdir(victim, 0o777))
				require.NoError(t, os.WriteFile(filepath.Join(victim, "file"), []byte("theirs"), 0o666))
				f, err := At(filepath.Join(directory, "file"))
				require.NoError(t, err)
				c.lay(t, directory, victim)
				err = operation(f)
				if c.fails || name == "open" {
					assert.Error(t, err)
				}
				data, err := os.ReadFile(filepath.Join(victim, "file"))
				require.NoError(t, err)
				assert.Equal(t, "theirs", string(data))
				list, err := os.ReadDir(victim)
				require.NoError(t, err)
				assert.Len(t, list, 1)
			})
		}
	}
}

// The umask holds, and what cannot be written leaves nothing behind.
func TestReplace(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o077))
	d := t.TempDir()
	f, err := At(filepath.Join(d, "file"))
	require.NoError(t, err)
	require.NoError(t, f.ReplaceBy([]byte("one")))
	require.NoError(t, f.ReplaceBy([]byte("another")))
	info, err := os.Stat(f.String())
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode())
	require.NoError(t, os.Mkdir(f.Beside("-taken").String(), 0o777))
	assert.Error(t, f.Beside("-taken").ReplaceBy(nil))
	list, err := os.ReadDir(d)
	require.NoError(t, err)
	assert.Len(t, list, 2)
	assert.NoError(t, f.Remove())
	assert.Error(t, f.Remove())
}
