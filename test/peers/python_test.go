package peers

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The Python module's frames say what run.json says, and the example runs.
func TestPython(t *testing.T) {
	command(t, "mpirun.openmpi")
	if exec.Command("/usr/bin/python3", "-c", "import pandas").Run() != nil {
		missing(t, "python3-pandas")
	}
	directory := t.TempDir()
	program := filepath.Join(directory, "components")
	run(t, directory, 0, nil, "mpicc.openmpi", "-g", "-O1", "-I"+filepath.Join(top, "cshim", "include"), filepath.Join(top, "test", "apps", "components.c"), "-o", program, "-ldl", "-lm")
	for _, ranks := range []string{"1", "2"} {
		run(t, directory, 0, nil, "mpirun.openmpi", "--oversubscribe", "-np", ranks, filepath.Join(build, "marple"), "exec", "--out", "run-"+ranks, program)
	}
	script := filepath.Join(directory, "check.py")
	require.NoError(t, os.WriteFile(script, []byte(`
import json, marple, math
run = marple.load("run-2")
data = json.load(open("run-2/run.json"))
assert run.ranks == 2 and run.program == data["program"] and math.isclose(run.wall, data["wall_ns"] / 1e9)
assert math.isclose(run.graph["exclusive"].sum(), sum(r["inclusive_ns"]["sum"] for r in data["call_graph"]) / 1e9, rel_tol=1e-6)
assert run.graph.loc[data["call_graph"][0]["id"], "depth"] == 0
assert list(run.findings["id"]) == [f["id"] for f in data["findings"]]
assert run.functions["calls"].sum() == sum(f["calls"] for f in data["functions"])
assert set(run.times["rank"]) == {0, 1}
assert math.isclose(run.times["exclusive"].sum(), run.graph["exclusive"].sum(), rel_tol=1e-6)
assert len(run.invocations) == data["invocations"], (len(run.invocations), data["invocations"])
assert {"component", "method", "wall"} <= set(run.invocations.columns)
assert run.efficiency["parallel"] == data["efficiency"]["parallel"]
comparison = run.compare(marple.load("run-1"))
assert math.isclose(comparison.wall["a"], run.wall, rel_tol=1e-6)
try:
    marple.load("nothing")
except marple.Error as e:
    assert "nothing" in str(e)
else:
    raise AssertionError
print("all equal")
`), 0o666))
	environment := []string{"PYTHONPATH=" + filepath.Join(top, "cmd", "python"), "MARPLE=" + filepath.Join(build, "marple"), "PYTHONDONTWRITEBYTECODE=1"}
	assert.Contains(t, run(t, directory, 0, environment, "/usr/bin/python3", script), "all equal")
	printed := run(t, directory, 0, environment, "/usr/bin/python3", filepath.Join(top, "examples", "scaling.py"), "run-1", "run-2")
	assert.Contains(t, printed, "parallel")
	assert.Contains(t, printed, "share of core time")
}
