// marple assemble --petsc: from a program with PETSc to the solvers that take least.
package parts

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"marple/test/harness"
)

// solving is a directory with the program of test/apps/adapters/solvers.c, and a launcher that notes with which options each run
// was started.
type solving struct {
	harness.Command
	launch []string
	t      testing.TB
}

func petscSolvers(t testing.TB) *solving {
	t.Helper()
	harness.OpenMPI.Need(t)
	const configured = "/usr/lib/petscdir/petsc3.18/x86_64-linux-gnu-real/lib/pkgconfig"
	if _, err := os.Stat(configured); err != nil {
		harness.Missing(t, "libpetsc-real-dev")
	}
	ask := exec.Command("pkg-config", "--cflags", "--libs", "PETSc")
	ask.Env = append(os.Environ(), "PKG_CONFIG_PATH="+configured)
	flags, err := ask.Output()
	require.NoError(t, err)
	s := &solving{harness.Command{Directory: t.TempDir()}, nil, t}
	source := harness.Apps("adapters/solvers.c")
	_, err = os.ReadFile(source) // so that a test that is kept is run again when it changes
	require.NoError(t, err)
	build := slices.Concat([]string{"-O1", "-g", "-Wall", "-Wextra", "-Wno-unused-parameter", "-o", s.path("solvers"), source}, strings.Fields(string(flags)))
	out, err := exec.Command(harness.OpenMPI.Tool(harness.OpenMPI.Cc), build...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.NoError(t, os.WriteFile(s.path("counted"), []byte("#!/bin/sh\necho \"started $PETSC_OPTIONS\" >>starts\nexec \"$@\"\n"), 0o700))
	s.launch = append([]string{s.path("counted")}, harness.OpenMPI.Launch(2, s.path("solvers"), "-n", "9", "-steps", "2")...)
	return s
}

func (s *solving) path(name string) string { return filepath.Join(s.Directory, name) }

// starts are the options of all runs that were started.
func (s *solving) starts() []string {
	data, err := os.ReadFile(s.path("starts"))
	require.NoError(s.t, err)
	return strings.Split(strings.TrimSpace(string(data)), "\n")
}

func (s *solving) assemble(more ...string) []string {
	return slices.Concat([]string{harness.Artifact(s.t, "marple"), "assemble", "-o", "best", "--format", "json", "--petsc", "heat_: gmres,cg × jacobi,ilu", "--petsc", "wind_: gmres,cg x jacobi,ilu"},
		more, []string{"--"}, s.launch)
}

// chosen is what marple assemble prints as JSON, as far as it is looked at here.
type chosen struct {
	Choices []struct{ Family, Implementation string }
	Tried   []struct {
		Family, Implementation, Types string
		Time, Solves, Iterations      float64
		Runs                          int
		Why                           string `json:"left_out"`
	}
	Trials []struct {
		State, Why, Blame string
		Taken             map[string]string
	}
	Notes    []string
	Verified *struct{ First, Chosen float64 }
}

// All solvers are run; CG, which does not converge for an unsymmetric matrix, is named and left out for that one only; what is
// chosen has taken least by the runs' own figures; PETSc takes the options that are left; nothing is run twice.
func TestAssembleSolvers(t *testing.T) {
	t.Parallel()
	s := petscSolvers(t)
	// The time is up after the first run: the program's own solvers are all that is known.
	r := s.Run(t, s.assemble("--within", "1ns")...)
	require.Zero(t, r.Code, r.Stderr)
	var c chosen
	require.NoError(t, json.Unmarshal([]byte(r.Stdout), &c), r.Stdout)
	require.Len(t, s.starts(), 1)
	for _, one := range c.Tried {
		require.Equal(t, one.Implementation != "its own", one.Why == "not run: the time was up (--within)", "%+v", one)
	}

	// Interrupted in a later run, it goes on there.
	line := s.assemble("--verify", "grep -q ^Transport")
	line[3] = "whole"
	command := exec.Command(line[0], line[1:]...)
	command.Dir = s.Directory
	said, err := command.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	lines, text := bufio.NewScanner(said), ""
	for lines.Scan() {
		text += lines.Text() + "\n"
		if strings.HasPrefix(lines.Text(), "marple: run 3") {
			require.NoError(t, command.Process.Signal(syscall.SIGINT))
		}
	}
	require.Error(t, command.Wait())
	require.Contains(t, text, "marple: interrupted; the same command goes on with run 3\n")
	before := len(s.starts())
	r = s.Run(t, line...)
	require.Zero(t, r.Code, r.Stderr)
	require.Contains(t, r.Stderr, "run 2, heat_: gmres + jacobi, wind_: gmres + jacobi: kept from before\n")
	c = chosen{}
	require.NoError(t, json.Unmarshal([]byte(r.Stdout), &c), r.Stdout)
	require.Equal(t, len(c.Trials)-2, len(s.starts())-before, "but for the two that were there")

	least := map[string]float64{}
	for _, one := range c.Tried {
		cg := strings.HasPrefix(one.Implementation, "cg")
		if one.Family == "wind_" && cg {
			require.Equal(t, "it did not converge: DIVERGED_ITS in Transport", one.Why)
			continue
		}
		require.Empty(t, one.Why, "%+v", one)
		require.Positive(t, one.Time)
		require.Equal(t, 2.0, one.Solves)
		require.Greater(t, one.Iterations, 1.0)
		require.Equal(t, map[string]string{"its own": "gmres + bjacobi", "gmres + jacobi": "gmres + jacobi", "gmres + ilu": "gmres + bjacobi", "cg + jacobi": "cg + jacobi", "cg + ilu": "cg + bjacobi"}[one.Implementation], one.Types)
		if t, known := least[one.Family]; !known || one.Time < t {
			least[one.Family] = one.Time
		}
	}
	require.Len(t, c.Tried, 10)
	require.Len(t, c.Choices, 2)
	for _, choice := range c.Choices {
		for _, one := range c.Tried {
			if one.Family == choice.Family && one.Implementation == choice.Implementation {
				require.Equal(t, least[one.Family], one.Time, "%+v", choice)
			}
		}
	}
	failed := 0
	for _, one := range c.Trials {
		if one.State == "failed" {
			failed++
			require.Equal(t, "wind_", one.Blame)
		}
	}
	require.Equal(t, 2, failed)
	require.Contains(t, strings.Join(c.Notes, "\n"), "ilu and icc are done in each rank's block")

	// What is left chooses them: PETSc reads it, and marple select finds the same.
	options := s.Run(t, append(slices.Clone(s.launch), "-options_file", "whole/petsc.options", "-heat_ksp_converged_reason", "-options_left")...)
	require.Zero(t, options.Code, options.Stderr)
	require.NotContains(t, options.Stdout, "Option left: name:-heat_ksp_type")
	file, err := os.ReadFile(s.path("whole/petsc.options"))
	require.NoError(t, err)
	for _, choice := range c.Choices {
		if krylov, _, ok := strings.Cut(choice.Implementation, " + "); ok {
			require.Contains(t, string(file), "\n-"+choice.Family+"ksp_type "+krylov+"\n")
		}
	}
	again := s.Run(t, harness.Artifact(t, "marple"), "select", "whole/runs/1", "--families", "whole/families.yaml", "--format", "json")
	require.Zero(t, again.Code, again.Stderr)
	var selected chosen
	require.NoError(t, json.Unmarshal([]byte(again.Stdout), &selected))
	require.Equal(t, c.Choices, selected.Choices)
	for _, name := range []string{"report.txt", "report.html", "models.json"} {
		require.FileExists(t, s.path("whole/"+name))
	}

	// Once more: nothing is run; and another command is refused.
	before = len(s.starts())
	r = s.Run(t, line...)
	require.Zero(t, r.Code, r.Stderr)
	require.Len(t, s.starts(), before)
	other := s.Run(t, append(slices.Clone(line), "-n", "8")...)
	require.Equal(t, 1, other.Code)
	require.Contains(t, other.Stderr, "whole belongs to another command, --petsc, --vary, --verify or PETSC_OPTIONS; give another -o, or remove it\n")
}

// A solver that there is not, and one whose result is wrong, are named, and others go on; options that the user has stay; the
// program is told apart by points, and what failed at one is not run beyond it.
func TestAssembleSolversThatFail(t *testing.T) {
	t.Parallel()
	s := petscSolvers(t)
	s.Environment = []string{"PETSC_OPTIONS=-heat_ksp_rtol 1e-6"}
	line := slices.Concat([]string{harness.Artifact(t, "marple"), "assemble", "--format", "json", "--petsc", "heat_: richardson -ksp_max_it 3 -ksp_convergence_test skip,nosuch,gmres", "--vary", "n=5,7", "--verify", `test $(cut -d' ' -f2 | head -1 | cut -c1) = $(cut -d' ' -f2 "$MARPLE_FIRST" | head -1 | cut -c1)`, "--"}, s.launch)
	line[len(line)-3] = "{n}"
	dry := s.Run(t, slices.Insert(slices.Clone(line), 2, "--dry-run")...)
	require.Zero(t, dry.Code, dry.Stderr)
	require.Contains(t, dry.Stdout, "run 6: PETSC_OPTIONS='-heat_ksp_rtol 1e-6 -heat_ksp_type richardson -heat_ksp_max_it 3 -heat_ksp_convergence_test skip' ")
	require.NoFileExists(t, s.path("starts"))
	require.NoDirExists(t, s.path("marple-solvers"))
	r := s.Run(t, line...)
	require.Zero(t, r.Code, r.Stderr)
	var c chosen
	require.NoError(t, json.Unmarshal([]byte(r.Stdout), &c), r.Stdout)
	require.Equal(t, []string{"started -heat_ksp_rtol 1e-6", "started -heat_ksp_rtol 1e-6 -heat_ksp_type richardson -heat_ksp_max_it 3 -heat_ksp_convergence_test skip",
		"started -heat_ksp_rtol 1e-6 -heat_ksp_type nosuch", "started -heat_ksp_rtol 1e-6 -heat_ksp_type gmres", "started -heat_ksp_rtol 1e-6", "started -heat_ksp_rtol 1e-6 -heat_ksp_type gmres"}, s.starts())
	why := map[string]string{}
	for _, one := range c.Tried[4:] {
		why[one.Implementation] = one.Why
	}
	require.Equal(t, "", why["gmres"])
	require.Contains(t, why["nosuch"], "at n 5 PETSc: ")
	require.Contains(t, why["richardson -ksp_max_it 3 -ksp_convergence_test skip"], "at n 5 its result is wrong: --verify: exit status 1")

	none := s.Run(t, slices.Concat([]string{harness.Artifact(t, "marple"), "assemble", "-o", "none", "--petsc", "gmres,cg", "--"}, s.launch)...)
	require.Equal(t, 1, none.Code)
	require.Contains(t, none.Stderr, "marple: no KSP without a prefix was solved with; there are heat_, wind_: expected --petsc 'heat_: …'\n")
	for _, wrong := range [][]string{{"--petsc", "gmres cg"}, {"--petsc", "cg", "--vary", "n=1"}, {"--petsc", "cg", "--families", "f.yaml"}, {"--petsc", "cg", "--repeat", "0"}, {"--petsc", "cg", "--petsc", "gmres"}} {
		require.Equal(t, 2, s.Run(t, slices.Concat([]string{harness.Artifact(t, "marple"), "assemble"}, wrong, []string{"--"}, s.launch)...).Code, "%q", wrong)
	}
}
