package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"marple/analysis/run"
)

// Families that are configured are chosen from when the program ends, and the choice stands in the report; a mistake
// in their file costs the choice, not the report.
func TestFamilies(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, mpi *library) {
		program := mpi.compile(t, "families", "-ldl")
		// What matters of a program depends on who else computes here, but for the virtual clock.
		exact, best := mpi.name == mock.name, "\nBest choice  "
		if exact {
			onClock := *mpi
			onClock.mpirun = append(slices.Clone(mpi.mpirun), "--virtual")
			mpi, best = &onClock, "\nBest choice  A: A2"
		}
		directory := t.TempDir()
		families := filepath.Join(directory, "families.yaml")
		require.NoError(t, os.WriteFile(families, []byte(`
families:
  A: {implementations: {A1: {measured: yes}, A2: {time: 1e-6}}}
  B: {implementations: {B1: {measured: yes}, B2: {time: 2e-6}}}
`), 0o666))
		c := command{directory: directory}
		r := c.run(t, mpi.launch(2, artifact(t, "marple"), "exec", "--out", "run", "--families", "families.yaml", "--", program)...)
		require.Zero(t, r.code)
		require.Contains(t, r.stderr, best)
		measured := readRun(t, filepath.Join(directory, "run"))
		require.NotNil(t, measured.Selection)
		require.True(t, measured.Selection.Proven)
		if exact {
			require.Contains(t, measured.Selection.Core, "A")
			choice := map[string]run.Choice{}
			for _, one := range measured.Selection.Choices {
				choice[one.Name] = one
			}
			require.InDelta(t, 5e-6, choice["A"].Time, 1e-12)
			require.Greater(t, choice["A"].Next.Costs, 0.0075)
		}

		require.NoError(t, os.WriteFile(families, []byte("families:\n  A: 5\n"), 0o666))
		r = c.run(t, mpi.launch(2, artifact(t, "marple"), "exec", "--out", "again", "--families", "families.yaml", "--", program)...)
		require.Zero(t, r.code)
		require.True(t, r.reported())
		require.Contains(t, r.stderr, "implementations were not chosen")
		require.NotContains(t, r.stderr, "Best choice")

		// What the parts of a program declare is joined, from all ranks, and can be asked again later.
		r = c.run(t, mpi.launch(2, artifact(t, "marple"), "exec", "--out", "declared", "--", program, "declare")...)
		require.Zero(t, r.code)
		require.Contains(t, r.stderr, best)
		r = c.run(t, artifact(t, "marple"), "select", "declared", "--limit", "accuracy>=0.9")
		require.Zero(t, r.code, r.stderr)
		if exact {
			require.Regexp(t, `(?m)^A +A1 `, r.stdout)
		}
	})
}

// The validation of the thesis at the end of the run itself: components declare their families, models come from the
// records of what ran, and the report names the best assembly. On the virtual clock all of it is exact.
func TestValidation(t *testing.T) {
	t.Parallel()
	mock.need(t)
	program := mock.compile(t, "validation", "-ldl")
	for _, c := range []struct{ run, sizes, best string }{
		{"below", "0.4 0.7 1 1.3 1.6", "A: A2, B: B1"},
		{"above", "2.2 2.5 3 3.3 3.6", "A: A1, B: B2"},
		{"mixed", "0.5 1 1.5 3 3.5 4", "A: A1, B: B2"},
	} {
		there := command{directory: t.TempDir()}
		line := append([]string{mock.tool("mpirun"), "-n", "2", "--virtual", artifact(t, "marple"), "exec", "--clock", "external", "--out", "run", "--", program},
			strings.Fields(c.sizes)...)
		r := there.run(t, line...)
		require.Zero(t, r.code, r.stderr)
		require.Contains(t, r.stderr, "\nBest choice  "+c.best+"; ", c.run)
		require.Contains(t, strings.Join(strings.Fields(r.stderr), " "), "; any will do for C, D ")
		require.Regexp(t, `\nModels       A.A1 go = 0.002\*x s \(linear, \d points, error 0 %\)\n +B.B1 go = 0.001\*x\^3 s \(`, r.stderr)
		core := there.run(t, artifact(t, "marple"), "prune", "run", "--format", "json")
		require.Zero(t, core.code, core.stderr)
		for component, kept := range map[string]bool{"Driver": true, "A": true, "B": true, "C": false, "D": false} {
			require.Equal(t, kept, strings.Contains(core.stdout, `"component": "`+component+`"`), component)
		}
	}
}
