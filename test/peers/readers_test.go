package peers

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Every export is opened by its real readers, and a figure is read back equal. Those in Python are of the others' own projects;
// go tool pprof, otf2-print, speedscope and TAU's pprof read theirs in test/e2e and tau_test.go.
func TestReaders(t *testing.T) {
	command(t, "mpirun.openmpi")
	command(t, "otf2-print")
	peer(t, "readers", "readers/extrap")
	modules := filepath.Join(peers, "readers")
	if out, err := exec.Command("/usr/bin/env", "PYTHONPATH="+modules, "/usr/bin/python3", "-c", "import hatchet, thicket, pycubexr, otf2, extrap.fileio.file_reader.text_file_reader").CombinedOutput(); err != nil {
		t.Logf("%s", out)
		missing(t, "a Python package that readers need (test/setup.sh)")
	}
	directory := t.TempDir()
	program := filepath.Join(directory, "heat")
	run(t, directory, 0, nil, "mpicc.openmpi", "-g", "-O1", filepath.Join(top, "test", "apps", "heat.c"), "-o", program, "-lm")
	marple := filepath.Join(build, "marple")
	for _, ranks := range []string{"1", "2"} {
		run(t, directory, 0, nil, "mpirun.openmpi", "--oversubscribe", "-np", ranks, marple, "exec", "--trace", "100", "--params", "p="+ranks, "--out", "run-"+ranks, program)
	}
	for _, x := range [][]string{{"hatchet", "hatchet", "run-2"}, {"caliper", "caliper.json", "run-2"}, {"caliper", "caliper-1.json", "run-1"},
		{"cube", "run.cubex", "run-2"}, {"csv", "run.csv", "run-2"}, {"chrome", "run.trace.json", "run-2"}, {"otf2", "otf2", "run-2"},
		{"extrap", "extrap.txt", "run-1", "run-2"}, {"extrap-jsonl", "extrap-jsonl", "run-1", "run-2"}} {
		run(t, directory, 0, nil, append([]string{marple, "export", "--to", x[0], "-o", x[1]}, x[2:]...)...)
	}
	script := filepath.Join(directory, "check.py")
	require.NoError(t, os.WriteFile(script, []byte(readers), 0o666))
	printed := run(t, directory, 0, []string{"PYTHONPATH=" + modules, "PYTHONDONTWRITEBYTECODE=1"}, "/usr/bin/python3", script)
	for _, reader := range []string{"hatchet", "thicket", "pycubexr", "Extra-P", "python-otf2", "the trace event format", "pandas"} {
		assert.Contains(t, printed, reader+" reads it")
	}
}

const readers = `
import json, math, re, subprocess, sys, warnings
warnings.simplefilter("ignore")
data = json.load(open("run-2/run.json"))
total = sum(r["inclusive_ns"]["sum"] for r in data["call_graph"]) / 1e9
functions = {f["name"]: f for f in data["functions"]}
calls = sum(f["calls"] for f in data["functions"])

def near(what, a, b):
    assert math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-7), (what, a, b)

def passed(reader):
    print(reader, "reads it")

import hatchet
literal = hatchet.GraphFrame.from_literal(json.load(open("hatchet")))
near("hatchet, literal", literal.dataframe["time"].sum(), total)
caliper = hatchet.GraphFrame.from_caliper("caliper.json")
near("hatchet, Caliper", caliper.dataframe["time"].sum(), total)
of = caliper.dataframe[caliper.dataframe["name"].str.startswith("MPI_Allreduce")]
assert of["calls"].sum() == functions["MPI_Allreduce"]["calls"]
passed("hatchet")

import thicket
study = thicket.Thicket.from_caliper(["caliper-1.json", "caliper.json"], disable_tqdm=True)
rows = study.metadata.set_index("ranks")
assert sorted(rows.index) == [1, 2] and sorted(rows["parameter.p"]) == [1, 2], rows
near("thicket", rows.loc[2, "parallel_efficiency"], data["efficiency"]["parallel"])
assert rows.loc[2, "time_base"].startswith("elapsed time of each rank")
passed("thicket")

from pycubexr import CubexParser
with CubexParser("run.cubex") as cube:
    values = cube.get_metric_values(cube.get_metric_by_name("time"))
    near("pycubexr", sum(sum(values.cnode_values(c)) for c in cube.all_cnodes()), total)
passed("pycubexr")

from extrap.fileio.file_reader.jsonlines_file_reader import read_jsonlines_file
from extrap.fileio.file_reader.text_file_reader import TextFileReader
from extrap.fileio.file_reader.cube_file_reader2 import CubeFileReader2
from extrap.entities.metric import Metric
from extrap.util.progress_bar import DUMMY_PROGRESS
for name, experiment in ("lines", read_jsonlines_file("extrap-jsonl")), ("text", TextFileReader().read_experiment("extrap.txt")):
    at = [p.name for p in experiment.parameters].index("p")
    roots = {m.coordinate[at]: m.mean for (path, metric), points in experiment.measurements.items()
             if str(path) == "main program" and metric == Metric("time") for m in points}
    near("Extra-P, " + name, roots[2] * 2, total)
    for (path, metric), points in experiment.measurements.items():
        assert len(points) == 2, (path, metric, "must be known at each point")
        assert metric == Metric("time") or any(m.mean for m in points), (path, "visits 0")
assert sum(line.startswith("# elapsed time of each rank") for line in open("extrap.txt")) == 2
assert [json.loads(line).get("time_base", [""])[0][:26] for line in open("extrap-jsonl")][:3] == ["elapsed time of each rank,"] * 2 + [""]
passed("Extra-P")

import otf2
with otf2.reader.open("otf2/traces.otf2") as trace:
    entered, sent, bytes_sent, stacks = 0, 0, {}, {}
    for location, event in trace.events:
        stack = stacks.setdefault(location.group.name, [])
        if isinstance(event, otf2.events.Enter):
            stack.append(event.region.name)
            if event.region.paradigm == otf2.Paradigm.MPI:
                entered += 1
                assert stack[0] == "main", stack
        elif isinstance(event, otf2.events.Leave):
            assert stack.pop() == event.region.name
        elif isinstance(event, otf2.events.Metric):
            assert [m.name for m in event.metric.members] == ["bytes sent"] and event.metric.members[0].unit == "bytes"
            bytes_sent[location.group.name] = event.values[0]
        sent += isinstance(event, (otf2.events.MpiSend, otf2.events.MpiIsend))
    assert not any(stacks.values()), stacks
    assert bytes_sent == {f"MPI Rank {b['rank']}": b["bytes_sent"] for b in data["per_rank"]}, bytes_sent
    assert {r.name for r in trace.definitions.regions if r.paradigm == otf2.Paradigm.COMPILER} >= {"main"}
    assert "MPI_COMM_WORLD" in [c.name for c in trace.definitions.comms]
    assert entered == calls and sent == sum(b["messages_sent"] for b in data["per_rank"]), (entered, calls, sent)
assert "elapsed time of each rank" in subprocess.run(["otf2-print", "-I", "otf2/traces.otf2"], stdout=subprocess.PIPE, text=True, check=True).stdout
passed("python-otf2")

timeline = json.load(open("run.trace.json"))
events = timeline["traceEvents"]
assert timeline["otherData"]["time_base"].startswith("elapsed time of each rank")
assert {e["args"]["name"] for e in events if e["name"] == "process_name"} == {f"rank {b['rank']} on {b['host']}" for b in data["per_rank"]}
assert sum(e.get("cat") == "MPI" for e in events) == calls
begins = {e["id"]: e for e in events if e["ph"] == "s"}
ends = {e["id"]: e for e in events if e["ph"] == "f"}
assert len(begins) == sent and begins.keys() == ends.keys(), (len(begins), len(ends), sent)
for id, e in ends.items():
    assert e["pid"] != begins[id]["pid"], id
stack = {}
for e in sorted((e for e in events if e["ph"] == "X"), key=lambda e: (e["pid"], e["tid"], e["ts"], -e["dur"])):
    open_ = stack.setdefault((e["pid"], e["tid"]), [])
    while open_ and open_[-1]["ts"] + open_[-1]["dur"] <= e["ts"] + 1e-3:
        open_.pop()
    if open_:
        assert e["ts"] + e["dur"] <= open_[-1]["ts"] + open_[-1]["dur"] + 1e-3, "slices are inside one another"
    if e["cat"] == "MPI":
        assert open_ and open_[0]["name"] == "main", e
    open_.append(e)
for b in data["per_rank"]:
    assert max(e["args"]["bytes"] for e in events if e["name"] == "bytes sent" and e["pid"] == b["rank"]) == b["bytes_sent"]
passed("the trace event format")

import pandas
table = pandas.read_csv("run.csv")
near("pandas", table["exclusive_s"].sum(), total)
assert set(table["time_base"].str.startswith("elapsed time of each rank")) == {True}
passed("pandas")
`
