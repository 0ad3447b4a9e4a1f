// Assemblies whose components are measured through proxies: a solver of the Euler equations.
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

	"marple/analysis/report"
	"marple/test/harness"
)

// proxies writes those of a header into the assembly's directory.
func (a *assembly) proxies(t testing.TB, out string, arguments ...string) {
	t.Helper()
	if _, err := exec.LookPath("clang++"); err != nil {
		harness.Missing(t, "clang++")
	}
	line := slices.Concat([]string{harness.Artifact(t, "marple"), "proxygen", "-o", a.path(out)}, arguments, []string{"--", "-I" + cca("include")})
	r := harness.Command{}.Run(t, line...)
	require.Zero(t, r.Code, r.Stderr)
}

// suffixed are class names with something behind them.
func suffixed(classes []string, suffix string) (list []string) {
	for _, class := range classes {
		list = append(list, class+suffix)
	}
	return list
}

// A wiring is an assembly with a proxy in front of each component: "CLASS INSTANCE PORT", and who uses whose port.
type wiring struct {
	components  []string
	connections []string // USER PORT PROVIDER PORT
	driver      string
	parameters  []string // NAME VALUE
}

// lines of the script; without proxies the same assembly is not measured.
func (w wiring) lines(proxied bool) (lines []string) {
	for _, text := range w.components {
		f := strings.Fields(text)
		lines = append(lines, create(f[0]+" "+f[1])...)
		if proxied {
			lines = append(lines, create(f[0]+"Proxy "+f[1]+"_proxy")...)
			lines = append(lines, fmt.Sprintf("connect %s_proxy %s_proxied %s %s", f[1], f[2], f[1], f[2]))
		}
	}
	proxy := ""
	if proxied {
		proxy = "_proxy"
	}
	for _, text := range w.connections {
		f := strings.Fields(text)
		lines = append(lines, fmt.Sprintf("connect %s %s %s%s %s", f[0], f[1], f[2], proxy, f[3]))
	}
	for _, parameter := range w.parameters {
		lines = append(lines, "parameters "+w.driver+" parameters "+parameter)
	}
	return append(lines, "go "+w.driver+proxy+" go")
}

var solver = []string{"Grace", "Icc", "Boundary", "Rk2", "Estimator", "Flux", "States", "EFMFlux", "GodunovFlux", "Characteristics",
	"Quantities", "Statistics", "Driver"}

// named is what the thesis calls them.
var named = []string{"--component", "Grace=grace", "--component", "Icc=icc", "--component", "Boundary=bc", "--component", "Rk2=rk2",
	"--component", "Estimator=ee", "--component", "Flux=flux", "--component", "States=sc", "--component", "GodunovFlux=godunov",
	"--component", "Characteristics=c", "--component", "Quantities=cq", "--component", "Statistics=stats", "--component", "Driver=driver"}

// hydro is the solver with one of its two methods.
func hydro(flux string, parameters ...string) wiring {
	return wiring{
		components: []string{"Grace grace mesh", "Icc icc icc", "Boundary bc bc", "Rk2 rk2 rk2", "Estimator ee ee", "Flux flux flux",
			"States sc sc", flux + " riemann riemann", "Characteristics c c", "Quantities cq cq", "Statistics stats stats", "Driver driver go"},
		connections: []string{"grace icc icc icc", "grace bc bc bc", "icc mesh grace mesh", "rk2 mesh grace mesh", "rk2 flux flux flux",
			"rk2 icc icc icc", "rk2 c c c", "ee mesh grace mesh", "flux sc sc sc", "flux riemann riemann riemann", "c cq cq cq",
			"stats mesh grace mesh", "stats cq cq cq", "driver mesh grace mesh", "driver rk2 rk2 rk2", "driver ee ee ee", "driver stats stats stats"},
		driver:     "driver",
		parameters: parameters,
	}
}

func shock(name string) string { return harness.Apps(filepath.Join("shock", name)) }

// shockAssembly builds framework, components, and proxies if they are wanted.
func shockAssembly(m *harness.Library, t testing.TB, proxied bool) *assembly {
	t.Helper()
	a := framework(m, t)
	a.library(t, "shock", solver, "-I"+cca("include"), shock("mesh.cpp"), shock("solver.cpp"), shock("driver.cpp"))
	if proxied {
		a.proxies(t, "go_proxy.hpp", cca("include/cca.h"), "--port", "classic::gov::cca::GoPort")
		a.proxies(t, "shock_proxies.hpp", shock("shock.hpp"), "--config", shock("proxies.yaml"))
		a.library(t, "proxies", suffixed(solver, "Proxy"), "-I"+harness.Apps("shock"), shock("proxies.cpp"))
	}
	return a
}

// interpose has proxies made for the assembly of a script, which it returns with them in between; they are those that
// marple proxygen writes and nothing else.
func (a *assembly) interpose(t testing.TB, lines []string, arguments ...string) []string {
	t.Helper()
	bare := a.script(t, lines...)
	text, err := os.ReadFile(a.path(bare[2]))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(a.path("bare.rc"), text, 0o600))
	line := slices.Concat([]string{harness.Artifact(t, "marple"), "proxygen", "--mastermind", "bare.rc", "-o", "generated"}, arguments,
		[]string{cca("include"), "--", "-I" + cca("include")})
	r := harness.Command{Directory: a.directory}.Run(t, line...)
	require.Zero(t, r.Code, r.Stderr)
	cxx(a.mpi, t, a.path("generated/libproxies.so"), "-shared", "-fPIC", "-I"+cca(""), "-I"+harness.Apps("shock"), a.path("generated/proxies.cpp"))
	return []string{a.ccafe, "--ccafe-rc", "generated/bare.rc"}
}

// Proxies that marple proxygen puts into an assembly record what those do that are put there by hand, to the nanosecond.
func TestInterposed(t *testing.T) {
	t.Parallel()
	harness.Mock.Need(t)
	a := validationAssembly(harness.Mock, t)
	onClock := *harness.Mock
	onClock.Mpirun = []string{"mpirun", "--virtual"}
	w := validation("A1", "B2", "0.5,1,1.5,3")
	var lists [2][]string
	for k, line := range [][]string{a.script(t, w.lines(true)...), nil} {
		if k == 1 {
			line = a.interpose(t, w.lines(false), "--component", "A1=A", "--component", "B2=B", "--param", "compute:x=x", cca("validation.hpp"))
		}
		directory := filepath.Join(t.TempDir(), "run")
		r := onClock.Under(t, harness.Command{Directory: a.directory}, 2, directory, line)
		require.Zero(t, r.Code, r.Stderr)
		_, rows := readInvocations(t, directory)
		begin := map[any]int64{} // scripts with more lines come to it later
		for _, i := range rows {
			if i.name() == "Driver.go" {
				begin[i["rank"]] = i.ns("start")
			}
		}
		for _, i := range rows {
			lists[k] = append(lists[k], fmt.Sprint(i["rank"], i.ns("start")-begin[i["rank"]], i["path"], i.ns("wall"), i.ns("mpi"), i.ns("overlap"), i["x"]))
		}
		slices.Sort(lists[k])
	}
	require.Len(t, lists[0], 2*(4*4+1))
	require.Equal(t, lists[0], lists[1])
}

// solve runs it, and returns what it says: steps, time, mass, energy, mach and, against the exact solution, error.
func (a *assembly) solve(t testing.TB, ranks int, w wiring) map[string]float64 {
	t.Helper()
	r := a.mpi.Bare(t, harness.Command{Directory: a.directory}, ranks, a.script(t, w.lines(false)...)...)
	require.Zero(t, r.Code, r.Stderr)
	return said(t, r.Stdout)
}

func said(t testing.TB, stdout string) map[string]float64 {
	t.Helper()
	values, fields := map[string]float64{}, strings.Fields(stdout)
	require.Zero(t, len(fields)%2, stdout)
	for i := 0; i < len(fields); i += 2 {
		var x float64
		_, err := fmt.Sscan(fields[i+1], &x)
		require.NoError(t, err, stdout)
		values[fields[i]] = x
	}
	return values
}

// Two problems have exact solutions. Both methods approach them as cells become smaller, Godunov's is nearer, and a
// hierarchy of three levels is as good as its finest level everywhere.
func TestShockPhysics(t *testing.T) {
	t.Parallel()
	harness.Mock.Need(t)
	a := shockAssembly(harness.Mock, t, false)
	for _, problem := range []struct {
		name, time string
		coarse     float64 // greatest error with 16 cells to the height
	}{{"sod", "0.8", 0.023}, {"interface", "1.6", 0.068}} {
		errors := map[string]float64{}
		for _, flux := range []string{"EFMFlux", "GodunovFlux"} {
			run := func(width, height, levels int) map[string]float64 {
				return a.solve(t, 1, hydro(flux, "problem "+problem.name, "time "+problem.time,
					fmt.Sprintf("width %d", width), fmt.Sprintf("height %d", height), fmt.Sprintf("levels %d", levels)))
			}
			coarse, fine, adaptive := run(64, 16, 1), run(128, 32, 1), run(32, 8, 3)
			require.Less(t, coarse["error"], problem.coarse)
			require.Less(t, fine["error"], 0.6*coarse["error"])
			require.InEpsilon(t, fine["error"], adaptive["error"], 0.01)
			require.InDelta(t, fine["steps"], adaptive["steps"], 1)
			if problem.name == "sod" {
				require.InDelta(t, 1, fine["mass"], 1e-5)
				require.InDelta(t, 1, fine["energy"], 1e-5)
			}
			errors[flux] = fine["error"]
		}
		require.Less(t, errors["GodunovFlux"], 0.95*errors["EFMFlux"])
	}
}

// The routines of the thesis' table 1, with the components that call them.
var routines = []string{"bc.compute", "c.compute", "cq.compute", "driver.go", "ee.Regrid", "flux.compute", "grace.GC_Synch", "grace.GC_regrid_above",
	"icc.prolong", "icc.restrict_to", "rk2.Advance", "rk2.GetStableTimestep", "sc.compute", "stats.compute"}

func TestShock(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		mpi       *harness.Library
		ranks     int
		flux      string
		named     string
		generated bool // the proxies as components, and the script with them
	}{{harness.OpenMPI, 3, "EFMFlux", "efm", false}, {harness.Mpich, 4, "GodunovFlux", "godunov", true}} {
		if !test.generated && !harness.Long() {
			continue
		}
		t.Run(test.mpi.Name, func(t *testing.T) {
			test.mpi.Need(t)
			a := shockAssembly(test.mpi, t, !test.generated)
			w := hydro(test.flux, "width 64", "height 16", "time 0.12", "unbalanced 3")
			alone := a.solve(t, 1, w)
			together := a.solve(t, test.ranks, w)
			require.Equal(t, alone, together, "the number of ranks changes the result")
			directory := filepath.Join(t.TempDir(), "run")
			var script []string
			if test.generated {
				script = a.interpose(t, w.lines(false), append(named, "--config", shock("proxies.yaml"), shock("shock.hpp"))...)
			} else {
				script = a.script(t, w.lines(true)...)
			}
			r := test.mpi.Under(t, harness.Command{Directory: a.directory}, test.ranks, directory, script)
			require.Zero(t, r.Code, r.Stderr)
			require.Equal(t, together, said(t, r.Stdout), "proxies change the result")
			measured := harness.ReadRun(t, directory)
			harness.Sound(t, directory, measured)

			c := report.ComponentsOf(measured)
			var names []string
			components, places := map[string]bool{}, 0
			for _, x := range c.Routines {
				names = append(names, x.Component+"."+x.Method)
				components[x.Component] = true
				require.LessOrEqual(t, x.Exclusive, x.Inclusive+1e-12, x)
				require.LessOrEqual(t, x.InclusiveMPI, x.Inclusive+1e-12, x)
				if x.Component == "icc" {
					places += x.Places
				}
			}
			slices.Sort(names)
			wanted := append([]string{test.named + ".compute"}, routines...)
			slices.Sort(wanted)
			require.Equal(t, wanted, names)
			require.Len(t, components, 12)
			require.GreaterOrEqual(t, places, 4)
			sum := 0.0
			for _, x := range c.Routines {
				sum += x.Exclusive
			}
			root := slices.IndexFunc(c.Routines, func(x report.Routine) bool { return x.Component == "driver" })
			require.InEpsilon(t, c.Routines[root].Inclusive, sum, 1e-9, "each time belongs to one routine")
			shockFigures(t, directory, test.named)
		})
	}
}

// shockFigures are what the thesis' figures 14 to 18 are drawn from. Both modes of the states' constructor have records for
// each array size; all levels have times of message passing, before and after the mesh was spread anew.
func shockFigures(t testing.TB, directory, solver string) {
	t.Helper()
	sizes := map[string]map[int64][2]float64{} // by component and array size: invocations, seconds
	modes := map[int64][2]int{}
	spread, levels := 0.0, [2]map[int64]float64{{}, {}}
	_, rows := readInvocations(t, directory)
	for _, row := range rows {
		require.InDelta(t, row.real("wall"), row.real("mpi")+row.real("compute"), 1e-12, "%+v", row)
		require.GreaterOrEqual(t, row.real("compute"), 0.0)
		if row["q"] != nil {
			component, q := row["component"].(string), row["q"].(int64)
			if sizes[component] == nil {
				sizes[component] = map[int64][2]float64{}
			}
			at := sizes[component][q]
			sizes[component][q] = [2]float64{at[0] + 1, at[1] + row.real("wall")}
		}
		if row["component"] == "sc" {
			n := modes[row["q"].(int64)]
			n[row["mode"].(int64)]++
			modes[row["q"].(int64)] = n
		}
		if row["method"] == "GC_regrid_above" {
			spread = max(spread, row.real("start")) // the last one; then it is balanced
		}
	}
	for q, n := range modes {
		require.Equal(t, n[0], n[1], "array size %d", q)
	}
	for _, component := range []string{"sc", solver, "flux", "c", "cq"} {
		require.GreaterOrEqual(t, len(sizes[component]), 3, component)
	}
	for _, row := range rows {
		if row["method"] == "GC_Synch" {
			after := 0
			if row.real("start") > spread {
				after = 1
			}
			levels[after][row["level"].(int64)] += row.real("mpi")
		}
	}
	for _, times := range levels {
		require.Len(t, times, 3)
	}
}

// Time alone speaks for the equilibrium flux method, as in the thesis; who wants Sod's problem solved more accurately
// than it can takes Godunov's. Costs are fitted to the invocations of two runs, accuracies are measured.
func TestJudgeShockChoice(t *testing.T) {
	harness.OpenMPI.Need(t)
	harness.Judge(t, judgeShockChoice)
}

func judgeShockChoice(t testing.TB) {
	a := shockAssembly(harness.OpenMPI, t, true)
	do := func(line ...string) string {
		t.Helper()
		r := harness.Command{Directory: a.directory}.Run(t, append([]string{harness.Artifact(t, "marple")}, line...)...)
		require.Zero(t, r.Code, r.Stderr)
		return r.Stdout
	}
	accuracy := map[string]float64{}
	var plan strings.Builder
	plan.WriteString("qualities: {accuracy: {rule: min}}\nfamilies:\n  flux:\n    components: [efm]\n    implementations:\n")
	for _, one := range [][2]string{{"efm", "EFMFlux"}, {"godunov", "GodunovFlux"}} {
		name, class := one[0], one[1]
		accuracy[name] = 1 - a.solve(t, 1, hydro(class, "problem sod", "time 0.8", "width 64", "height 16", "levels 1"))["error"]
		w := hydro(class, "width 64", "height 16", "time 0.12")
		r := harness.OpenMPI.Under(t, harness.Command{Directory: a.directory}, 1, a.path(name), a.script(t, w.lines(true)...))
		require.Zero(t, r.Code, r.Stderr)
		do("fit", a.path(name), "--response", "compute", "--param", "q", "--average-modes", "--name", name, "-o", a.path(name+".json"))
		fmt.Fprintf(&plan, "      %s: {model: {file: %s.json, name: %s.compute}, class: %s, qualities: {accuracy: %.4f}}\n", name, name, name, class, accuracy[name])
	}
	require.Greater(t, accuracy["godunov"], accuracy["efm"])
	require.NoError(t, os.WriteFile(a.path("families.yaml"), []byte(plan.String()), 0o600))
	require.Regexp(t, `(?m)^flux +efm\b`, do("select", a.path("efm"), "--families", a.path("families.yaml")))
	limit := fmt.Sprintf("accuracy>=%.4f", (accuracy["efm"]+accuracy["godunov"])/2)
	require.Regexp(t, `(?m)^flux +godunov\b`, do("select", a.path("efm"), "--families", a.path("families.yaml"), "--limit", limit))
}
