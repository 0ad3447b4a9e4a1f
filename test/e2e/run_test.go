// Running a program under Marple, and reading what it has left behind.
package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"marple/analysis/run"
)

// bare runs a program as it is.
func (m *library) bare(t testing.TB, c command, n int, program ...string) result {
	t.Helper()
	return c.run(t, m.launch(n, slices.Concat(c.before, program)...)...)
}

// under runs a program under `marple exec`, with flags of exec in front of it, into a run directory.
func (m *library) under(t testing.TB, c command, n int, directory string, program []string, flags ...string) result {
	t.Helper()
	return m.bare(t, c, n, slices.Concat([]string{artifact(t, "marple"), "exec", "--out", directory}, flags, []string{"--"}, program)...)
}

// measured is for programs with which nothing is wrong: it returns what was measured beside how it ended.
// Every run is held to what all runs have in common.
func (m *library) measured(t testing.TB, c command, n int, program []string, flags ...string) (*run.Run, result) {
	t.Helper()
	directory := filepath.Join(t.TempDir(), "run")
	r := m.under(t, c, n, directory, program, flags...)
	require.Empty(t, r.said(), "%s", r.stderr)
	measured := readRun(t, directory)
	sound(t, directory, measured)
	return measured, r
}

// virtual is measured on the mock's virtual clock, which the mock's launcher may be given options for.
func (m *library) virtual(t testing.TB, c command, n int, program []string, options ...string) *run.Run {
	t.Helper()
	onClock := *m
	onClock.mpirun = slices.Concat(m.mpirun, []string{"--virtual"}, options)
	r, end := onClock.measured(t, c, n, program)
	require.Zero(t, end.code, end.stderr)
	return r
}

func readRun(t testing.TB, directory string) *run.Run {
	t.Helper()
	r, err := run.Read(directory)
	require.NoError(t, err)
	return r
}

// entries are the names in a directory.
func entries(t testing.TB, directory string) []string {
	t.Helper()
	list, err := os.ReadDir(directory)
	require.NoError(t, err)
	var names []string
	for _, entry := range list {
		names = append(names, entry.Name())
	}
	return names
}
