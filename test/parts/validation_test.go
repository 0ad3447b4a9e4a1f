// The validation of the thesis: components of known cost, from their records to the choice.
package parts

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"marple/analysis/run"
	"marple/test/harness"
)

// What a component of known cost takes, in milliseconds, by implementation.
var costs = map[string]func(x float64) float64{
	"A1": func(x float64) float64 { return 2 * x },
	"A2": func(x float64) float64 { return x * x },
	"B1": func(x float64) float64 { return x * x * x },
	"B2": func(x float64) float64 { return 2 * x * x },
}

func validation(a, b, xs string) wiring {
	return wiring{
		components:  []string{a + " a work", b + " b work", "C c work", "D d work", "Driver driver go"},
		connections: []string{"a c c work", "b d d work", "driver a a work", "driver b b work"},
		driver:      "driver",
		parameters:  []string{"x " + xs},
	}
}

// componentNode finds a component's method in a run.
func componentNode(t testing.TB, r *run.Run, name string) *run.Node {
	t.Helper()
	var found *run.Node
	r.Root().Walk(func(n *run.Node, _ int) bool {
		if n.Component == name {
			require.Nil(t, found)
			found = n
		}
		return true
	})
	require.NotNil(t, found)
	return found
}

// The thesis' validation on the mock's virtual clock: records hold the known costs to the nanosecond, pruning leaves
// A and B, and the best implementations are those that the sizes ask for.
func TestKnownCosts(t *testing.T) {
	t.Parallel()
	harness.Mock.Need(t)
	a := validationAssembly(harness.Mock, t)
	onClock := *harness.Mock
	onClock.Mpirun = []string{"mpirun", "--virtual"}
	sets := map[string]string{"below": "0.25,0.5,0.75,1,1.25,1.5,1.75", "above": "2.5,3,3.5,4,4.5,5", "mixed": "0.5,1,1.5,3,4,5,6"}
	at := func(name string) string { return a.path(name) }
	do := func(line ...string) string {
		t.Helper()
		r := harness.Command{Directory: a.directory}.Run(t, append([]string{harness.Artifact(t, "marple")}, line...)...)
		require.Zero(t, r.Code, r.Stderr)
		return r.Stdout
	}
	for set, xs := range sets {
		for i, pair := range [][2]string{{"A1", "B1"}, {"A2", "B2"}} {
			name := fmt.Sprintf("%s%d", set, i+1)
			r := onClock.Under(t, harness.Command{Directory: a.directory}, 2, at(name), a.script(t, validation(pair[0], pair[1], xs).lines(true)...))
			require.Zero(t, r.Code, r.Stderr)
			c := componentNode(t, harness.ReadRun(t, at(name)), "C")
			require.EqualValues(t, 2000*(strings.Count(xs, ",")+1), c.Inclusive.Sum)
			exactly(t, at(name), pair)
			core, _, _ := strings.Cut(do("prune", at(name)), "\n    pruned")
			for _, kept := range []string{"A.compute", "B.compute", "Driver.go"} {
				require.Contains(t, core, kept)
			}
			require.NotContains(t, core, "C.compute")
			require.NotContains(t, core, "D.compute")
		}
	}
	for _, i := range []string{"1", "2"} {
		do("fit", at("mixed"+i), "--response", "compute", "-o", at("models"+i+".json"))
	}
	var plan strings.Builder
	plan.WriteString("families:\n")
	for _, family := range []string{"A", "B"} {
		fmt.Fprintf(&plan, "  %s:\n    implementations:\n", family)
		for _, i := range []string{"1", "2"} {
			fmt.Fprintf(&plan, "      %s%s: {model: {file: models%s.json, name: %s.compute}, class: %s%s}\n", family, i, i, family, family, i)
		}
	}
	fmt.Fprintf(&plan, `assembly:
  setup: [path set %s]
  instances: {driver: Driver, c: C, d: D}
  connections: [driver a A work, driver b B work, A c c work, B d d work]
  go: driver go
`, a.directory)
	require.NoError(t, os.WriteFile(at("families.yaml"), []byte(plan.String()), 0o600))
	for set, best := range map[string][]string{"below": {"A2", "B1"}, "above": {"A1", "B2"}, "mixed": {"A1", "B2"}} {
		text := do("select", at(set+"1"), "--families", at("families.yaml"))
		for i, family := range []string{"A", "B"} {
			require.Regexp(t, `(?m)^`+family+` +`+best[i]+`\b`, text, set)
		}
		do("select", at(set+"1"), "--families", at("families.yaml"), "--emit-rc", "-o", at("best.rc"))
		r := onClock.Bare(t, harness.Command{Directory: a.directory}, 1, a.ccafe, at("best.rc"))
		require.Zero(t, r.Code, r.Stderr)
		require.Equal(t, fmt.Sprintf("C 3 0.000001000\nA 3 %.9f\nB 3 %.9f\n", costs[best[0]](3)/1e3+1e-6, costs[best[1]](3)/1e3+1e-6), r.Stdout)
	}
}

// exactly holds records of one run against the costs of the implementations that it had.
func exactly(t testing.TB, directory string, pair [2]string) {
	t.Helper()
	_, rows := readInvocations(t, directory)
	ns := func(seconds float64) int64 { return int64(math.Round(seconds * 1e9)) }
	nested := map[[2]float64]int64{} // what D took, by rank and x
	for _, row := range rows {
		if row["component"] == "D" {
			nested[[2]float64{row.real("rank"), row.real("x")}] = ns(row.real("wall"))
		}
	}
	for _, row := range rows {
		require.Equal(t, ns(row.real("wall")), ns(row.real("mpi"))+ns(row.real("compute")))
		switch row["component"] {
		case "A":
			require.Equal(t, ns(costs[pair[0]](row.real("x"))/1e3)+1000, ns(row.real("wall")))
			require.Zero(t, row.real("mpi"))
		case "B":
			require.Equal(t, ns(costs[pair[1]](row.real("x"))/1e3), ns(row.real("compute")))
			require.Equal(t, nested[[2]float64{row.real("rank"), row.real("x")}], ns(row.real("mpi")))
		case "C":
			require.EqualValues(t, 1000, ns(row.real("wall")))
		case "D":
			require.Positive(t, row.real("mpi"))
		}
	}
}

// With real sleeps, records and the components' own clocks agree, which see Marple's own time too.
func TestJudgeKnownCostsSleeping(t *testing.T) {
	harness.EachReal(t, func(t *testing.T, mpi *harness.Library) {
		harness.Judge(t, func(t testing.TB) {
			ratios := sleeping(mpi, t)
			t.Logf("half of the records are %.3f of what components say, or less", ratios[7])
			require.InDelta(t, 1, ratios[7], 0.2)
		})
	})
}

// sleeping gives records of components that sleep as parts of what the components' own clocks say, in order.
func sleeping(m *harness.Library, t testing.TB) (ratios []float64) {
	t.Helper()
	a := validationAssembly(m, t)
	w := validation("A1", "B2", "0.5,1,1.5,3,4,5,6")
	r := m.Under(t, harness.Command{Directory: a.directory}, 2, a.path("run"), a.script(t, w.lines(true)...))
	require.Zero(t, r.Code, r.Stderr)
	own := map[string]float64{}
	for line := range strings.Lines(r.Stdout) {
		var name string
		var x, seconds float64
		_, err := fmt.Sscan(line, &name, &x, &seconds)
		require.NoError(t, err, line)
		own[fmt.Sprint(name, x)] = seconds
	}
	_, rows := readInvocations(t, a.path("run"))
	for _, row := range rows {
		if row.real("rank") == 0 && (row["component"] == "A" || row["component"] == "B") {
			ratios = append(ratios, (row.real("wall")+row.real("off_core"))/own[fmt.Sprint(row["component"], row.real("x"))])
		}
	}
	require.Len(t, ratios, 14)
	slices.Sort(ratios)
	return ratios
}

func validationAssembly(m *harness.Library, t testing.TB) *assembly {
	t.Helper()
	a := framework(m, t)
	a.library(t, "validation", []string{"A1", "A2", "B1", "B2", "C", "D", "Driver"}, cca("validation.cpp"))
	a.proxies(t, "go_proxy.hpp", cca("include/cca.h"), "--port", "classic::gov::cca::GoPort")
	a.proxies(t, "work_proxy.hpp", cca("validation.hpp"), "--port", "validation::Work", "--param", "compute:x=x")
	a.library(t, "proxies", []string{"A1Proxy", "A2Proxy", "B1Proxy", "B2Proxy", "CProxy", "DProxy", "DriverProxy"}, "-I"+cca(""), cca("validation_proxies.cpp"))
	return a
}
