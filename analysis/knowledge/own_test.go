package knowledge

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// What lies in a directory of one's own and is no regular file is neither waited for nor read: a job would hang at its end.
func TestOwnThatIsNoFile(t *testing.T) {
	directory := t.TempDir()
	require.NoError(t, syscall.Mkfifo(filepath.Join(directory, "pipe.yaml"), 0o666))
	require.NoError(t, os.Symlink("/dev/zero", filepath.Join(directory, "device.yaml")))
	own := Library{Directory: directory}
	err := own.Check()
	require.ErrorContains(t, err, "pipe.yaml: not a regular file but a named pipe")
	require.ErrorContains(t, err, "device.yaml: not a regular file but a device")
	require.ErrorContains(t, Library{Directory: filepath.Join(directory, "pipe.yaml")}.Check(), "not a directory")
}

// A remedy says where, and of what.
func TestEmptyRemedy(t *testing.T) {
	for _, change := range Remedies {
		text := "model: mine\nfactors:\n  f:\n    title: F\n    model: any\n    cost: 1\n    remedy: {" + change + ": []}\n"
		_, err := Library{}.Read("mine.yaml", []byte(text))
		require.ErrorContains(t, err, "mine.yaml:7:")
		require.ErrorContains(t, err, "remedy: ")
	}
}
