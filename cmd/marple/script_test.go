package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"marple/analysis"
	"marple/analysis/analysistest"
	"marple/analysis/diagnosis"
	"marple/analysis/run"
	"marple/analysis/selection"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"marple": main})
}

// The scripts in testdata/script read like sessions at a terminal. $RUN is a run directory.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:  "testdata/script",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
		Setup: func(e *testscript.Env) error {
			directory := filepath.Join(e.WorkDir, "marple-app-1")
			e.Setenv("RUN", directory)
			if err := os.Mkdir(directory, 0o777); err != nil {
				return err
			}
			return storeRun(directory)
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
	diagnosis.Conclude(r)
	return r.Write(directory, analysis.Report(r, directory))
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
			analysis.Report(r, "d")
			diagnosis.Find(r)
		}
	})
}

func FuzzConfig(f *testing.F) {
	f.Add([]byte("out: x\nkeep-raw: on\n"))
	f.Add([]byte("report: [1, 2]\n"))
	f.Fuzz(func(t *testing.T, data []byte) { parseConfig("f", data) })
}
