package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"marple/analysis/analysistest"
	"marple/analysis/diagnosis"
	"marple/analysis/knowledge"
	"marple/analysis/report"
	"marple/analysis/run"
	"marple/analysis/selection"
	"marple/analysis/store/storetest"
	"marple/analysis/whatif"
)

func TestMain(m *testing.M) {
	testscript.Main(withPostgres{m}, map[string]func(){"marple": main})
}

var postgres storetest.Server

type withPostgres struct{ m *testing.M }

func (w withPostgres) Run() int { return postgres.Main(w.m) }

// The scripts in testdata/script read like sessions at a terminal. $RUN is a run directory.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:  "testdata/script",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
		Condition: func(condition string) (bool, error) {
			if condition != "root" {
				return false, fmt.Errorf("unknown condition %q", condition)
			}
			return os.Getuid() == 0, nil
		},
		Setup: func(e *testscript.Env) error {
			directory := filepath.Join(e.WorkDir, "marple-app-1")
			e.Setenv("RUN", directory)
			if err := os.Mkdir(directory, 0o777); err != nil {
				return err
			}
			e.Setenv("VALIDATION", e.WorkDir)
			return errors.Join(storeRun(directory), storeValidation(e.WorkDir), storeSeries(filepath.Join(e.WorkDir, "series")),
				storeSides(e.WorkDir))
		},
	})
}

// exits CODE COMMAND... runs a command that must end with this code.
func exits(ts *testscript.TestScript, neg bool, arguments []string) {
	if neg || len(arguments) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	err := ts.Exec(arguments[1], arguments[2:]...)
	code := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if fmt.Sprint(code) != arguments[0] {
		ts.Fatalf("exit code %d, expected %s", code, arguments[0])
	}
}

func storeRun(directory string) error {
	const ms = 1_000_000
	r := analysistest.RunWithWaits(4, 4, func(r *analysistest.Rank) {
		analysistest.Steps(10, func() {
			slow := uint64(r.Rank/3) * 10 * ms
			r.Region("solve", func() {
				r.Compute(10*ms + slow)
				r.Barrier(20, 10*ms-slow)
			})
			r.Send(30, (r.Rank+1)%4, 1000, ms)
			r.Recv(31, (r.Rank+3)%4, 1000, ms)
		})
	})
	diagnosis.Conclude(r, knowledge.Library{})
	whatif.Gains(r)
	return r.Write(analysistest.In(directory), report.Full(r, directory))
}

// storeSides keeps four runs each of a program before and after its solver became slower by a fifth of the run.
func storeSides(directory string) error {
	for _, side := range []struct {
		name  string
		solve uint64 // µs
	}{{"fast", 80_000}, {"slow", 100_000}} {
		for i := range uint64(4) {
			r := analysistest.Run(2, 2, func(r *analysistest.Rank) {
				r.Region("solve", func() { r.Compute((side.solve + 100*i) * 1000) })
				r.Compute((20_000 - 50*i) * 1000)
			})
			path := filepath.Join(directory, side.name, strconv.FormatUint(i, 10))
			if err := os.MkdirAll(path, 0o777); err != nil {
				return err
			}
			if err := r.Write(analysistest.In(path), ""); err != nil {
				return err
			}
		}
	}
	return nil
}

// storeValidation keeps runs of the application of N. Trebon's thesis (chapter VI): a driver calls A and B, which take
// the time their implementations are known by, and C and D inside them, which are insignificant.
func storeValidation(directory string) error {
	cost := map[string]func(x float64) float64{
		"A1": func(x float64) float64 { return 2 * x }, "A2": func(x float64) float64 { return x * x },
		"B1": func(x float64) float64 { return x * x * x }, "B2": func(x float64) float64 { return 2 * x * x },
	}
	for _, v := range []struct{ name, a, b, at string }{
		{"first", "A1", "B1", "0.5 1 1.5 2 2.5 3 3.5 4"}, {"second", "A2", "B2", "0.5 1 1.5 2 2.5 3 3.5 4"},
		{"below", "A1", "B1", "0.4 0.7 1 1.3 1.6"}, {"above", "A1", "B1", "2.5 3 3.5"}, {"mixed", "A1", "B1", "0.5 1 1.5 3 3.5 4"},
	} {
		var records []invocationRow
		r := analysistest.Run(1, 1, func(r *analysistest.Rank) {
			r.Invoke("Driver", "", "go", func() {
				for _, text := range strings.Fields(v.at) {
					x, _ := strconv.ParseFloat(text, 64)
					for _, one := range []struct{ component, class, inside string }{{"A", v.a, "C"}, {"B", v.b, "D"}} {
						took := cost[one.class](x)
						r.Invoke(one.component, "", "go", func() {
							r.Compute(uint64(took*1e9) - 1_000_000)
							r.Invoke(one.inside, "", "go", func() { r.Compute(1_000_000) })
						})
						records = append(records, invocationRow{one.component, "go", took, &x}, invocationRow{one.inside, "go", 0.001, nil})
					}
				}
			})
		})
		path := filepath.Join(directory, v.name)
		if err := os.Mkdir(path, 0o777); err != nil {
			return err
		}
		if err := r.Write(analysistest.In(path), report.Full(r, path)); err != nil {
			return err
		}
		if err := parquet.WriteFile(filepath.Join(path, "invocations.parquet"), records); err != nil {
			return err
		}
	}
	return nil
}

type invocationRow struct {
	Component string   `parquet:"component,dict"`
	Method    string   `parquet:"method,dict"`
	Wall      float64  `parquet:"wall"`
	X         *float64 `parquet:"x,optional"`
}

// The file of families in the help of select is one that can be read.
func TestHelpOfSelect(t *testing.T) {
	var lines []string
	for _, line := range strings.Split(selectHelp, "\n") {
		if strings.HasPrefix(line, "    ") && !strings.Contains(line, "records:") {
			lines = append(lines, strings.TrimPrefix(line, "    "))
		}
	}
	_, err := selection.ParsePlan("help", []byte(strings.Join(lines, "\n")))
	require.NoError(t, err)
}

// The file of rules in the help of proxygen is one that can be read.
func TestHelpOfProxygen(t *testing.T) {
	_, text, found := strings.Cut(proxygenCommand().Long, "\n    manager: component")
	require.True(t, found)
	text, _, _ = strings.Cut("    manager: component"+text, "\n\n")
	_, err := knowledge.ReadManager("help", []byte(strings.ReplaceAll(text, "\n    ", "\n")[4:]),
		knowledge.Managed{Family: "flux", Implementations: []string{"efm", "godunov"}, Parameters: []string{"n"}})
	require.NoError(t, err)
}

// A run.json of any content is read or refused, never believed.
func FuzzReadRun(f *testing.F) {
	directory := f.TempDir()
	if err := storeRun(directory); err != nil {
		f.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(directory, run.File))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"schema":1,"ranks":1,"call_graph":[{"children":[null]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if r, err := run.Decode(data); err == nil {
			report.Full(r, "d")
			diagnosis.Find(r)
		}
	})
}

func FuzzConfig(f *testing.F) {
	f.Add([]byte("out: x\nkeep-raw: on\n"))
	f.Add([]byte("report: [1, 2]\n"))
	f.Fuzz(func(t *testing.T, data []byte) { parseConfig("f", data) })
}
