package harness

import (
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"marple/analysis/run"
)

// Bare runs a program as it is.
func (m *Library) Bare(t testing.TB, c Command, n int, program ...string) Result {
	t.Helper()
	return m.run(t, c, n, program)
}

// run has a launcher run a program. That of MPICH may end with SIGPIPE, of itself, when processes end at once: 3 times of 240.
func (m *Library) run(t testing.TB, c Command, n int, program []string) (r Result) {
	t.Helper()
	for again := 0; again == 0 || again < 4 && r.Code == -int(syscall.SIGPIPE); again++ {
		r = c.Run(t, m.Launch(n, slices.Concat(c.Before, program)...)...)
	}
	return r
}

// Under runs a program under `marple exec`, with flags of exec in front of it, into a run directory.
func (m *Library) Under(t testing.TB, c Command, n int, directory string, program []string, flags ...string) Result {
	t.Helper()
	return m.run(t, c, n, slices.Concat([]string{Artifact(t, "marple"), "exec", "--out", directory}, flags, []string{"--"}, program))
}

// Measured is for programs with which nothing is wrong: it returns what was measured beside how it ended.
// Every run is held to what all runs have in common.
func (m *Library) Measured(t testing.TB, c Command, n int, program []string, flags ...string) (*run.Run, Result) {
	t.Helper()
	directory := filepath.Join(t.TempDir(), "run")
	r := m.Under(t, c, n, directory, program, flags...)
	require.Empty(t, r.Said(), "%s", r.Stderr)
	measured := ReadRun(t, directory)
	Sound(t, directory, measured)
	return measured, r
}

// Virtual is measured on the mock's virtual clock, which the mock's launcher may be given options for.
func (m *Library) Virtual(t testing.TB, c Command, n int, program []string, options ...string) *run.Run {
	t.Helper()
	onClock := *m
	onClock.Mpirun = slices.Concat(m.Mpirun, []string{"--virtual"}, options)
	r, end := onClock.Measured(t, c, n, program)
	require.Zero(t, end.Code, end.Stderr)
	return r
}

func ReadRun(t testing.TB, directory string) *run.Run {
	t.Helper()
	r, err := run.Read(directory)
	require.NoError(t, err)
	return r
}

// NotSeen are a run's notes on what was not seen; but for that only a part of it was replayed, which depends on the machine.
func NotSeen(r *run.Run) []run.Note {
	return slices.DeleteFunc(slices.Clone(r.NotSeen), func(n run.Note) bool { return n.ID == "waits-thinned" })
}

// Entries are the names in a directory.
func Entries(t testing.TB, directory string) []string {
	t.Helper()
	list, err := os.ReadDir(directory)
	require.NoError(t, err)
	var names []string
	for _, entry := range list {
		names = append(names, entry.Name())
	}
	return names
}
