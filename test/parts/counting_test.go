package parts

import (
	"marple/test/harness"

	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"marple/analysis/run"
)

func compileCounters(t testing.TB) string {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		harness.Missing(t, "gcc")
	}
	program := filepath.Join(t.TempDir(), "counters")
	out, err := exec.Command("gcc", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-I"+filepath.Join(harness.Top, "cshim", "include"),
		harness.Apps("counters.c"), "-o", program, "-pthread", "-ldl").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return program
}

// counted is what test/apps/counters.c counts, in the order in which its invocations end, in units of its n.
var counted = []struct {
	path  string
	units int64
}{
	{"Worker.work", 1}, {"Worker.work", 2}, {"Worker.outer > Worker.work", 3}, {"Worker.outer", 1 + 3},
}

// requireCounts compares a counter with a known number of events per unit. The first two invocations of each
// thread, in which code and buffers are touched for the first time, may count more.
func requireCounts(t testing.TB, rows []invocation, name string, perUnit int64) {
	t.Helper()
	require.Len(t, rows, 2*(2+len(counted)))
	for k, i := range rows {
		thread, at := k/(2+len(counted)), k%(2+len(counted))-2
		if at < 0 {
			continue
		}
		require.Equal(t, counted[at].path, i["path"])
		require.Equal(t, counted[at].units*int64(1+thread)*perUnit, i["counter."+name], "%s of %v", name, i)
	}
}

// Page faults are caused on purpose, and counted one by one, whoever counts them.
func TestPageFaults(t *testing.T) {
	t.Parallel()
	program := compileCounters(t)
	for _, c := range []struct{ name, papi, mode, source string }{
		{"as usual", "", "faults", ""}, {"without PAPI", "none", "faults", ""}, {"perf_event forbidden", "none", "forbidden", "kernel"},
	} {
		t.Run(c.name, func(t *testing.T) {
			directory := t.TempDir()
			r := harness.Command{Directory: directory}.Run(t, harness.Artifact(t, "marple"), "exec", "--out", "run", "--papi", c.papi,
				"--counters", "perf::PAGE-FAULTS, perf::TASK-CLOCK", "--", program, c.mode, "500")
			require.Zero(t, r.Code, r.Stderr)
			require.NotContains(t, r.Stderr, "not counted")
			_, rows := readInvocations(t, filepath.Join(directory, "run"))
			addsUp(t, rows)
			requireCounts(t, rows, "perf::PAGE-FAULTS", 500)
			for _, i := range rows {
				require.Positive(t, i["counter.perf::TASK-CLOCK"])
			}
			measured := harness.ReadRun(t, filepath.Join(directory, "run"))
			require.Len(t, measured.Counters, 2)
			require.GreaterOrEqual(t, measured.Counters[0].Sum, uint64(3*12*500)) // 1, 2, 4 and 5 units, once more by twos
			if c.source != "" {
				require.Equal(t, []string{c.source}, measured.Counters[0].Sources)
			}
			for _, root := range measured.CallGraph {
				root.Walk(func(n *run.Node, _ int) bool {
					if n.Name == "region" {
						require.Equal(t, "perf::PAGE-FAULTS", n.Metrics[0].Name)
						require.Contains(t, []float64{5 * 500, 5 * 1000}, n.Metrics[0].Inclusive)
						require.Equal(t, n.Metrics[0].Inclusive, n.Metrics[0].Exclusive)
					}
					return true
				})
			}
		})
	}
}

// The arithmetic is checked with a stub: several counters, of two components, more than there are registers.
func TestCountersOfPAPI(t *testing.T) {
	t.Parallel()
	program := compileCounters(t)
	stub := filepath.Join(t.TempDir(), "libpapi.so")
	out, err := exec.Command("gcc", "-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", filepath.Join(harness.Top, "test", "papi", "stub.c"), "-o", stub).CombinedOutput()
	require.NoError(t, err, "%s", out)
	directory := t.TempDir()
	r := harness.Command{Directory: directory}.Run(t, harness.Artifact(t, "marple"), "exec", "--out", "run", "--papi", stub,
		"--counters", "STUB_SEVEN,STUB_DEAD,STUB_TEN,other:::TEN,STUB_NONE,NEVER", "--", program, "scripted", "500")
	require.Zero(t, r.Code, r.Stderr)
	require.Contains(t, r.Stderr, "marple: not counted: STUB_DEAD (stub's error -8), NEVER (no such event)\n")
	_, rows := readInvocations(t, filepath.Join(directory, "run"))
	for name, each := range map[string]int64{"STUB_TEN": 5000, "STUB_SEVEN": 3500, "other:::TEN": 5000, "STUB_NONE": 0} {
		requireCounts(t, rows, name, each)
	}
	measured := harness.ReadRun(t, filepath.Join(directory, "run"))
	sums := map[string]uint64{}
	for _, c := range measured.Counters {
		sums[c.Name] = c.Sum
		require.Equal(t, []string{"PAPI"}, c.Sources)
	}
	all := uint64(2*2 + 3*12*500)
	require.Equal(t, map[string]uint64{"STUB_TEN": 10 * all, "STUB_SEVEN": 7 * all, "other:::TEN": 10 * all, "STUB_NONE": 0}, sums)
}

// What cannot be counted is said in one line, and the run goes on.
func TestWhatCannotBeCounted(t *testing.T) {
	t.Parallel()
	program := compileCounters(t)
	for _, c := range []struct{ name, papi, counters, says string }{
		{"PAPI absent", "none", "other:::EVENT", "other:::EVENT (it takes PAPI to know it); PAPI is not used: none cannot be opened"},
		{"event unknown", "", "NO_SUCH_EVENT", "NO_SUCH_EVENT (no such event)"},
		{"too many", "", "perf::PAGE-FAULTS,perf::PERF_COUNT_SW_PAGE_FAULTS,perf::MINOR-FAULTS,perf::MAJOR-FAULTS,perf::CONTEXT-SWITCHES,perf::PAGE-FAULTS," +
			"perf::PERF_COUNT_SW_CONTEXT_SWITCHES,perf::TASK-CLOCK,perf::PERF_COUNT_SW_TASK_CLOCK,perf::PERF_COUNT_SW_PAGE_FAULTS_MIN",
			"perf::PERF_COUNT_SW_PAGE_FAULTS_MIN (one too many)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.papi == "" {
				if _, err := os.Stat("/usr/include/papi.h"); err != nil {
					harness.Missing(t, "PAPI")
				}
			}
			r := harness.Command{Directory: t.TempDir()}.Run(t, harness.Artifact(t, "marple"), "exec", "--out", "run", "--papi", c.papi, "--counters", c.counters, "--", program, "faults", "10")
			require.Zero(t, r.Code, r.Stderr)
			require.Contains(t, r.Stderr, "marple: not counted: "+c.says+"\n")
			require.Equal(t, 1, strings.Count(r.Stderr, "marple: "), r.Stderr)
			require.True(t, r.Reported(), r.Stderr)
		})
	}
	// Hardware counters are there, or they are not, and that is said.
	directory := t.TempDir()
	r := harness.Command{Directory: directory}.Run(t, harness.Artifact(t, "marple"), "exec", "--out", "run", "--counters", "PAPI_TOT_INS", "--", program, "faults", "10")
	require.Zero(t, r.Code, r.Stderr)
	if measured := harness.ReadRun(t, filepath.Join(directory, "run")); len(measured.Counters) == 0 {
		require.Contains(t, r.Stderr, "marple: not counted: PAPI_TOT_INS (this machine does not offer it)")
	} else {
		require.Greater(t, measured.Counters[0].Sum, uint64(1000))
	}
}
