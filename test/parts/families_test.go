package parts

import (
	"marple/test/harness"

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
	harness.Each(t, func(t *testing.T, mpi *harness.Library) {
		program := mpi.Compile(t, "families", "-ldl")
		// What matters of a program depends on who else computes here, but for the virtual clock.
		exact, best := mpi.Name == harness.Mock.Name, "\nBest choice  "
		if exact {
			onClock := *mpi
			onClock.Mpirun = append(slices.Clone(mpi.Mpirun), "--virtual")
			mpi, best = &onClock, "\nBest choice  A: A2"
		}
		directory := t.TempDir()
		families := filepath.Join(directory, "families.yaml")
		require.NoError(t, os.WriteFile(families, []byte(`
families:
  A: {implementations: {A1: {measured: yes}, A2: {time: 1e-6}}}
  B: {implementations: {B1: {measured: yes}, B2: {time: 2e-6}}}
`), 0o666))
		c := harness.Command{Directory: directory}
		r := c.Run(t, mpi.Launch(2, harness.Artifact(t, "marple"), "exec", "--out", "run", "--families", "families.yaml", "--", program)...)
		require.Zero(t, r.Code)
		require.Contains(t, r.Stderr, best)
		measured := harness.ReadRun(t, filepath.Join(directory, "run"))
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
		r = c.Run(t, mpi.Launch(2, harness.Artifact(t, "marple"), "exec", "--out", "again", "--families", "families.yaml", "--", program)...)
		require.Zero(t, r.Code)
		require.True(t, r.Reported())
		require.Contains(t, r.Stderr, "implementations were not chosen")
		require.NotContains(t, r.Stderr, "Best choice")

		// What the parts of a program declare is joined, from all ranks, and can be asked again later.
		r = c.Run(t, mpi.Launch(2, harness.Artifact(t, "marple"), "exec", "--out", "declared", "--", program, "declare")...)
		require.Zero(t, r.Code)
		require.Contains(t, r.Stderr, best)
		r = c.Run(t, harness.Artifact(t, "marple"), "select", "declared", "--limit", "accuracy>=0.9")
		require.Zero(t, r.Code, r.Stderr)
		if exact {
			require.Regexp(t, `(?m)^A +A1 `, r.Stdout)
		}
	})
}

// The validation of the thesis at the end of the run itself: components declare their families, models come from the
// records of what ran, and the report names the best assembly. On the virtual clock all of it is exact.
func TestValidation(t *testing.T) {
	t.Parallel()
	harness.Mock.Need(t)
	program := harness.Mock.Compile(t, "validation", "-ldl")
	for _, c := range []struct{ run, sizes, best string }{
		{"below", "0.4 0.7 1 1.3 1.6", "A: A2, B: B1"},
		{"above", "2.2 2.5 3 3.3 3.6", "A: A1, B: B2"},
		{"mixed", "0.5 1 1.5 3 3.5 4", "A: A1, B: B2"},
	} {
		there := harness.Command{Directory: t.TempDir()}
		line := append([]string{harness.Mock.Tool("mpirun"), "-n", "2", "--virtual", harness.Artifact(t, "marple"), "exec", "--clock", "external", "--out", "run", "--", program},
			strings.Fields(c.sizes)...)
		r := there.Run(t, line...)
		require.Zero(t, r.Code, r.Stderr)
		require.Contains(t, r.Stderr, "\nBest choice  "+c.best+"; ", c.run)
		require.Contains(t, strings.Join(strings.Fields(r.Stderr), " "), "; any will do for C, D ")
		require.Regexp(t, `\nModels       A.A1 go = 0.002\*x s \(linear, \d points, error 0 %\)\n +B.B1 go = 0.001\*x\^3 s \(`, r.Stderr)
		core := there.Run(t, harness.Artifact(t, "marple"), "prune", "run", "--format", "json")
		require.Zero(t, core.Code, core.Stderr)
		for component, kept := range map[string]bool{"Driver": true, "A": true, "B": true, "C": false, "D": false} {
			require.Equal(t, kept, strings.Contains(core.Stdout, `"component": "`+component+`"`), component)
		}
	}
}
