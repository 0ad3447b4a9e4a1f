// marple assemble: from an assembly's script to the best assembly.
package parts

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"marple/test/harness"
)

const validationFamilies = `families:
  A: {implementations: {A1: {fit: yes, class: A1}, A2: {fit: yes, class: A2}}}
  B: {implementations: {B1: {fit: yes, class: B1}, B2: {fit: yes, class: B2}}}
`

// assembled runs marple assemble on the mock's virtual clock, on a script that is given with its lines.
func (a *assembly) assembled(t testing.TB, ranks int, families, script string, more ...string) harness.Result {
	t.Helper()
	require.NoError(t, os.WriteFile(a.path("families.yaml"), []byte(families), 0o600))
	require.NoError(t, os.WriteFile(a.path("given.rc"), []byte(script), 0o600))
	line := slices.Concat([]string{harness.Artifact(t, "marple"), "assemble", "given.rc", cca("validation.hpp"), cca("include"), "--families", "families.yaml", "-o", "best",
		"--param", "compute:x=x", "--cxx", a.mpi.Tool(a.mpi.Cc), "--flag=-I" + cca("include"), "--flag=-I" + cca("")}, more,
		[]string{"--", a.mpi.Tool("mpirun"), "--virtual", "-n", fmt.Sprint(ranks), a.ccafe})
	return harness.Command{Directory: a.directory}.Run(t, line...)
}

func (a *assembly) text(t testing.TB, w wiring) string {
	t.Helper()
	return strings.Join(slices.Concat([]string{"#!ccaffeine bootstrap file.", "path set " + a.directory + " # where they are"}, w.lines(false), []string{"bye", ""}), "\n")
}

// The thesis' validation by one command: two runs measure all four implementations; the choice, its script, and what both
// assemblies take are those of the known costs, on any number of ranks.
func TestAssemble(t *testing.T) {
	harness.Mock.Need(t)
	a := framework(harness.Mock, t)
	a.library(t, "validation", []string{"A1", "A2", "B1", "B2", "C", "D", "Driver"}, cca("validation.cpp"))
	for _, c := range []struct {
		xs, a, b string
		ranks    int
	}{{"0.25,0.5,0.75,1,1.25,1.5,1.75", "A2", "B1", 2}, {"2.5,3,3.5,4,4.5,5", "A1", "B2", 1}, {"2.5,3,3.5,4,4.5,5", "A1", "B2", 4}, {"0.5,1,1.5,3,4,5,6", "A1", "B2", 2}} {
		for _, name := range []string{"assembly.rc", "models.json", "report.html", "report.txt", "runs", "state.json"} { // the proxies are the same
			require.NoError(t, os.RemoveAll(a.path(filepath.Join("best", name))))
		}
		r := a.assembled(t, c.ranks, validationFamilies, a.text(t, validation("A1", "B1", c.xs)), "--verify", "grep -q ^A")
		require.Zero(t, r.Code, r.Stderr)
		require.Contains(t, r.Stderr, "marple: run 2 of 2: A: A2, B: B2\n")
		require.Regexp(t, `(?m)^A +`+c.a+`\b`, r.Stdout)
		require.Regexp(t, `(?m)^B +`+c.b+`\b`, r.Stdout)
		script, err := os.ReadFile(a.path("best/assembly.rc"))
		require.NoError(t, err)
		want := strings.NewReplacer("create A1 a", "create "+c.a+" a", "get-global A1", "get-global "+c.a, "create B1 b", "create "+c.b+" b", "get-global B1", "get-global "+c.b).
			Replace(a.text(t, validation("A1", "B1", c.xs)))
		lines := strings.SplitAfter(string(script), "\n")
		require.True(t, strings.HasPrefix(lines[1], "# The assembly that takes least"), lines[1])
		require.Equal(t, want, lines[0]+strings.Join(lines[2:], ""))
		took := func(one, other string) (ms float64) {
			for x := range strings.SplitSeq(c.xs, ",") {
				var v float64
				_, err := fmt.Sscan(x, &v)
				require.NoError(t, err)
				ms += costs[one](v) + costs[other](v)
			}
			return ms
		}
		if c.b == "B1" && c.a == "A1" {
			require.Contains(t, r.Stdout, "it is the assembly that was given")
		} else {
			chosen, first := took(c.a, c.b), took("A1", "B1")
			require.Less(t, chosen, first)
			require.Regexp(t, `(?m)^Verified     the chosen assembly took [\d.]+ ms, the first one [\d.]+ m?s$`, r.Stdout)
		}
		for _, name := range []string{"models.json", "report.txt", "report.html", "runs/first/run.json", "runs/other1/run.json"} {
			require.FileExists(t, a.path(filepath.Join("best", name)))
		}
	}
	// Once more: everything is there.
	again := a.assembled(t, 2, validationFamilies, a.text(t, validation("A1", "B1", "0.5,1,1.5,3,4,5,6")), "--verify", "grep -q ^A")
	require.Zero(t, again.Code, again.Stderr)
	require.Contains(t, again.Stderr, "run 2 of 2, A: A2, B: B2: kept from before\n")
	other := a.assembled(t, 2, validationFamilies, a.text(t, validation("A1", "B1", "1,2,3,4,5,6")))
	require.Equal(t, 1, other.Code)
	require.Contains(t, other.Stderr, "marple: best belongs to another script, file of families or command; give another -o, or remove it\n")
}

// An implementation that cannot be made, or whose result is wrong, is named and left out; the others go on.
func TestAssembleFailures(t *testing.T) {
	harness.Mock.Need(t)
	a := framework(harness.Mock, t)
	a.library(t, "validation", []string{"A1", "A2", "B1", "B2", "C", "D", "Driver"}, cca("validation.cpp"))
	families := strings.Replace(validationFamilies, "A2: {fit: yes, class: A2}", "A3: {fit: yes, class: Absent}", 1)
	script := a.text(t, validation("A1", "B1", "2.5,3,3.5,4,4.5,5"))
	r := a.assembled(t, 1, families, script)
	require.Zero(t, r.Code, r.Stderr)
	require.Contains(t, r.Stderr, "marple: run 4 of 4: B: B2\n")
	require.Regexp(t, `(?m)^B +B2\b`, r.Stdout)
	require.Contains(t, strings.Join(strings.Fields(r.Stdout), " "), "A.A3 is left out: ")
	require.Contains(t, r.Stdout, "no class Absent")

	require.NoError(t, os.RemoveAll(a.path("best")))
	r = a.assembled(t, 1, validationFamilies, script, "--verify", "! grep -q '^B 3 0.018'")
	require.Zero(t, r.Code, r.Stderr)
	require.Regexp(t, `(?m)^A +A1\b`, r.Stdout)
	require.Regexp(t, `(?m)^B +B1\b`, r.Stdout)
	require.Contains(t, strings.Join(strings.Fields(r.Stdout), " "), "B.B2 is left out: its result is wrong: --verify: exit status 1")

	r = a.assembled(t, 1, strings.Replace(validationFamilies, "class: A1", "class: X1", 1), script, "-o", "none")
	require.Equal(t, 1, r.Code)
	require.Contains(t, r.Stderr, "families.yaml:2:3: A: the script creates no instance of a class of this family (X1, A2)")
	require.NoDirExists(t, a.path("none"))
}

// So are one that throws and one that does not come back.
func TestAssembleWhatThrowsOrHangs(t *testing.T) {
	t.Parallel()
	harness.Mock.Need(t)
	a := framework(harness.Mock, t)
	a.library(t, "validation", []string{"A1", "A2", "B1", "B2", "B3", "B4", "C", "D", "Driver"}, cca("validation.cpp"))
	families := strings.Replace(validationFamilies, "B2: {fit: yes, class: B2}", "B3: {fit: yes, class: B3}, B4: {fit: yes, class: B4}, B2: {fit: yes, class: B2}", 1)
	// Who hangs does so for as long as it is let; what others take is a thousandth of that.
	r := a.assembled(t, 1, families, a.text(t, validation("A1", "B1", "2.5,3,3.5,4,4.5,5")), "--longest", "60s")
	require.Zero(t, r.Code, r.Stderr)
	require.Regexp(t, `(?m)^A +A1\b`, r.Stdout)
	require.Regexp(t, `(?m)^B +B2\b`, r.Stdout)
	text := strings.Join(strings.Fields(r.Stdout), " ")
	require.Contains(t, text, "B.B3 is left out: ")
	require.Contains(t, text, "go: out of range (best/runs/other1-B.err)")
	require.Contains(t, text, "B.B4 is left out: it was not done within 1m0s (--longest)")
	report, err := os.ReadFile(a.path("best/report.txt"))
	require.NoError(t, err)
	require.Regexp(t, `(?m)^  \d+-\d\d-\d\d \d\d:\d\d:\d\d +[\d.]+ m?s  other1: failed: A: A2, B: B3$`, string(report))
}

// The published choice of a flux: with data to translate on the way to one of them, whichever that is, the other one is taken,
// unless a limit on its accuracy forbids it; and the script that is left computes what that one computes.
func TestAssembleShock(t *testing.T) {
	t.Parallel()
	harness.Mock.Need(t)
	a := shockAssembly(harness.Mock, t, false)
	size := []string{"width 32", "height 8", "levels 2", "time 0.1"}
	plain := map[string]string{}
	for _, class := range []string{"EFMFlux", "GodunovFlux"} {
		r := harness.Mock.Bare(t, harness.Command{Directory: a.directory}, 2, a.script(t, hydro(class, size...).lines(false)...)...)
		require.Zero(t, r.Code, r.Stderr)
		plain[class] = r.Stdout
	}
	require.NoError(t, os.WriteFile(a.path("given.rc"), []byte(a.text(t, hydro("EFMFlux", size...))), 0o600))
	for _, c := range []struct {
		caller, from, to string // a second for each call beside what the flux takes, which is a thousandth of that
		limit            []string
		class            string
	}{{"columns", "columns", "rows", nil, "GodunovFlux"}, {"rows", "rows", "columns", nil, "EFMFlux"}, {"rows", "rows", "columns", []string{"--limit", "accuracy>=0.9"}, "GodunovFlux"}} {
		families := `families:
  riemann:
    implementations:
      EFM: {fit: yes, class: EFMFlux, layout: rows, qualities: {accuracy: 0.8}}
      Godunov: {fit: yes, class: GodunovFlux, layout: columns, qualities: {accuracy: 0.95}}
layouts: {Flux: ` + c.caller + `}
translations: [{from: ` + c.from + `, to: ` + c.to + `, time: 1}]
qualities: {accuracy: {rule: min}}
`
		require.NoError(t, os.WriteFile(a.path("families.yaml"), []byte(families), 0o600))
		require.NoError(t, os.RemoveAll(a.path("best/state.json"))) // the proxies are the same
		line := slices.Concat([]string{harness.Artifact(t, "marple"), "assemble", "given.rc", shock("shock.hpp"), cca("include"), "--families", "families.yaml", "-o", "best", "--config",
			shock("proxies.yaml"), "--cxx", a.mpi.Tool(a.mpi.Cc), "--flag=-I" + cca("include"), "--flag=-I" + cca("")}, c.limit, []string{"--", a.mpi.Tool("mpirun"), "--cpu", "-n", "2", a.ccafe})
		r := harness.Command{Directory: a.directory}.Run(t, line...)
		require.Zero(t, r.Code, r.Stderr)
		script, err := os.ReadFile(a.path("best/assembly.rc"))
		require.NoError(t, err)
		require.Contains(t, string(script), "\ncreate "+c.class+" riemann\n", r.Stdout)
		require.Contains(t, string(script), "\nparameters driver parameters time 0.1\n")
		chosen := harness.Mock.Bare(t, harness.Command{Directory: a.directory}, 2, a.ccafe, "--ccafe-rc", "best/assembly.rc")
		require.Zero(t, chosen.Code, chosen.Stderr)
		require.Equal(t, plain[c.class], chosen.Stdout)
	}
	require.NotEqual(t, plain["EFMFlux"], plain["GodunovFlux"])
}

// ccaffeine is the real one, built once by test/peers.sh; where its sources are not there the test is skipped.
func ccaffeine(t testing.TB) string {
	t.Helper()
	if _, err := os.Stat(filepath.Join(harness.Top, "..", "shared", "peers")); err != nil {
		harness.Missing(t, "../shared/peers")
	}
	out, err := exec.Command(filepath.Join(harness.Top, "test", "peers.sh"), "ccaffeine").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return filepath.Join(harness.Top, "build", "peers", "ccaffeine")
}

// The same under Ccaffeine: the components, and the proxies that marple assemble makes, are compiled with its headers.
func TestAssembleUnderCcaffeine(t *testing.T) {
	harness.OpenMPI.Need(t)
	real := ccaffeine(t)
	a := &assembly{mpi: harness.OpenMPI, directory: t.TempDir(), ccafe: filepath.Join(real, "ccafe-batch")}
	flags := []string{"-I" + cca("ccaffeine"), `-DCCAFFEINE_CCA="` + filepath.Join(real, "inc", "cca.h") + `"`, "-I" + cca(""), "-DOMPI_SKIP_MPICXX"}
	line := slices.Concat([]string{"-x", "c++", "-std=c++17", "-O1", "-shared", "-fPIC", "-o", a.path("libvalidation.so")}, flags,
		[]string{"-iquote", cca("include"), cca("validation.cpp"), "-lstdc++"})
	out, err := exec.Command(harness.OpenMPI.Tool(harness.OpenMPI.Cc), line...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	text := "!componentType=classic\nlibvalidation.so\n"
	for _, class := range []string{"A1", "A2", "B1", "B2", "C", "D", "Driver"} {
		text += "create_" + class + " " + class + "\n"
	}
	require.NoError(t, os.WriteFile(a.path("validation.cca"), []byte(text), 0o600))
	w := validation("A1", "B1", "")
	w.parameters = nil
	require.NoError(t, os.WriteFile(a.path("families.yaml"), []byte(validationFamilies), 0o600))
	given := strings.Replace(a.text(t, w), " # where they are", "", 1) // Ccaffeine has comments on lines of their own only
	require.NoError(t, os.WriteFile(a.path("given.rc"), []byte(given), 0o600))
	arguments := []string{harness.Artifact(t, "marple"), "assemble", "given.rc", cca("validation.hpp"), filepath.Join(real, "inc", "cca.h"), "--families", "families.yaml",
		"-o", "best", "--param", "compute:x=x", "--cxx", harness.OpenMPI.Tool("mpicxx.openmpi")}
	for _, flag := range flags {
		arguments = append(arguments, "--flag="+flag)
	}
	// Components sleep for milliseconds, and the worse choice takes three times as long.
	r := harness.Command{Directory: a.directory, Environment: []string{"VALIDATION_X=4,5,6,7"}}.Run(t, slices.Concat(arguments, []string{"--"}, harness.OpenMPI.Launch(2, a.ccafe))...)
	require.Zero(t, r.Code, r.Stderr)
	for family, best := range map[string]string{"A": "A1", "B": "B2"} {
		require.Regexp(t, `(?m)^`+family+` +`+best+`\b`, r.Stdout)
	}
	script, err := os.ReadFile(a.path("best/assembly.rc"))
	require.NoError(t, err)
	require.Contains(t, string(script), "\ncreate A1 a\n")
	require.Contains(t, string(script), "\ncreate B2 b\n")
}
