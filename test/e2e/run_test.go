// Reading what a measured run has left behind.
package e2e

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"marple/analysis/run"
)

// measured runs a program under `marple exec`, with flags of exec in front of it, and returns what was
// measured beside how it ended.
func (m *library) measured(t *testing.T, c command, n int, program []string, flags ...string) (*run.Run, result) {
	t.Helper()
	directory := filepath.Join(t.TempDir(), "run")
	line := append([]string{artifact(t, "marple"), "exec", "--out", directory}, flags...)
	line = append(append(line, "--"), program...)
	r := c.run(t, m.launch(n, line...)...)
	require.Empty(t, r.said())
	return readRun(t, directory), r
}

func readRun(t *testing.T, directory string) *run.Run {
	t.Helper()
	r, err := run.Read(directory)
	require.NoError(t, err)
	return r
}

// entries are the names in a directory.
func entries(t *testing.T, directory string) []string {
	t.Helper()
	list, err := os.ReadDir(directory)
	require.NoError(t, err)
	var names []string
	for _, entry := range list {
		names = append(names, entry.Name())
	}
	return names
}
