"""Marple's runs in Python, as frames of pandas.

    import marple
    run = marple.load("marple-heat-4711")    # a run directory, its run.json, or TAU profiles
    run.findings                             # what held it back: title, share, seconds, where, advice ...
    run.graph                                # a row for each call path
    run.times                                # a row for each call path and rank
    run.functions                            # a row for each MPI function
    run.invocations                          # a row for each invocation of a component's method
    run.compare(other).places                # where two runs differ

No compiler is needed. Runs are read as they are stored; what takes more than reading (TAU profiles, invocations,
comparisons) is asked of the command `marple`, which is looked for beside this file's tree and in PATH; the variable MARPLE
names another one. Times are seconds, sums over ranks unless a column says otherwise.
"""

import io
import json
import os
import shutil
import subprocess
from functools import cached_property

import pandas

__all__ = ["load", "Run", "Comparison", "Error"]

_SCHEMA = 1


class Error(Exception):
    """What could not be read or done, in one sentence."""


def load(path):
    """The run in a directory, or in its run.json. Directories with profiles of TAU are read through the command."""
    path = os.fspath(path)
    if os.path.basename(path) == "run.json":
        path = os.path.dirname(path) or "."
    try:
        with open(os.path.join(path, "run.json"), "rb") as file:
            data = json.load(file)
    except FileNotFoundError:
        data = json.loads(_ask("report", "--format", "json", path))
    except ValueError as problem:
        raise Error(f"{path}/run.json: {problem}") from None
    if not isinstance(data, dict) or data.get("schema") != _SCHEMA:
        found = data.get("schema") if isinstance(data, dict) else None
        raise Error(f"{path}: schema {found}: expected {_SCHEMA}")
    return Run(path, data)


def _command():
    here = os.path.dirname(os.path.abspath(__file__))
    places = [os.environ.get("MARPLE"), os.path.join(here, "..", "..", "bin", "marple"), os.path.join(here, "..", "..", "build", "marple")]
    for place in places:
        if place and os.access(place, os.X_OK):
            return place
    found = shutil.which("marple")
    if found is None:
        raise Error("the command marple is not in PATH; the variable MARPLE may name it")
    return found


def _ask(*arguments):
    answer = subprocess.run([_command(), *arguments], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if answer.returncode:
        raise Error(answer.stderr.decode(errors="replace").strip())
    return answer.stdout


def _seconds(value):
    return value / 1e9


class Run:
    """A run. `data` is its run.json; the rest are frames and figures made of it."""

    def __init__(self, path, data):
        self.path = path
        self.data = data

    def __repr__(self):
        return f"<marple.Run {self.program}, {self.ranks} ranks, {self.wall:.3g} s>"

    @property
    def program(self):
        return self.data["program"]

    @property
    def ranks(self):
        return self.data["ranks"]

    @property
    def wall(self):
        """Seconds from MPI_Init to MPI_Finalize."""
        return _seconds(self.data["wall_ns"])

    @property
    def parameters(self):
        return dict(self.data.get("parameters") or {})

    @property
    def efficiency(self):
        """POP efficiencies, from 0 to 1, of those that are known."""
        e = dict(self.data["efficiency"])
        if not e.pop("communication_defined", True):
            e.pop("communication", None)
        if not e.get("transfer"):
            e.pop("transfer", None), e.pop("serialization", None)
        return pandas.Series(e, name="efficiency", dtype=float)

    @property
    def metadata(self):
        return {m["name"]: m["value"] for m in self.data.get("metadata") or []}

    def _nodes(self):
        """Call paths, the outer ones first, with the id and the names of those above. Trees may be deep."""
        stack = [(root, None, ()) for root in reversed(self.data["call_graph"])]
        while stack:
            node, parent, above = stack.pop()
            path = above + (node["name"],)
            yield node, parent, path
            stack.extend((child, node["id"], path) for child in reversed(node.get("children") or []))

    @cached_property
    def graph(self):
        """A row for each call path: its id, that of its parent, names from the root on, calls, times of all ranks."""
        rows = []
        for node, parent, path in self._nodes():
            exclusive, inclusive = node["exclusive_ns"], node["inclusive_ns"]
            rows.append({
                "id": node["id"], "parent": parent, "depth": len(path) - 1, "path": path, "kind": node["kind"], "name": node["name"],
                "file": node.get("file"), "line": node.get("line"), "groups": tuple(node.get("groups") or ()),
                "calls": (node.get("call_ns") or {}).get("n", float("nan")), "ranks": exclusive["n"],
                "exclusive": _seconds(exclusive["sum"]), "inclusive": _seconds(inclusive["sum"]),
                "exclusive_max": _seconds(exclusive["max"]), "exclusive_max_rank": exclusive["max_rank"],
                "waiting": _seconds(node.get("waiting_ns", 0)), "caused": _seconds(node.get("caused_ns", 0)),
                "off_core": _seconds(node.get("off_core_ns", 0)), "bytes_out": node.get("bytes_out", 0), "bytes_in": node.get("bytes_in", 0),
                **{m["name"]: m["inclusive"] for m in node.get("metrics") or []},
            })
        return pandas.DataFrame(rows).set_index("id")

    @cached_property
    def times(self):
        """A row for each call path and rank. Of runs with many ranks the busiest of each path are listed."""
        rows = [{"id": node["id"], "name": node["name"], "kind": node["kind"], "rank": r["rank"], "calls": r.get("calls", 0),
                 "exclusive": _seconds(r["exclusive_ns"]), "inclusive": _seconds(r["inclusive_ns"])}
                for node, _, _ in self._nodes() for r in node["per_rank"] or []]
        return pandas.DataFrame(rows, columns=["id", "name", "kind", "rank", "calls", "exclusive", "inclusive"])

    @cached_property
    def findings(self):
        """What held the run back, the dearest first. `gain` and `evidence` are as in run.json."""
        return self._frame("findings", ["id", "title", "share", "seconds", "ranks", "where", "node", "model", "factor", "evidence", "advice", "confidence"])

    @cached_property
    def functions(self):
        """A row for each MPI function: calls, seconds, share of core time, bytes."""
        frame = self._frame("functions", ["name", "op", "ranks", "calls", "ns", "share", "bytes_out", "bytes_in"])
        frame["ns"] = frame["ns"] / 1e9
        return frame.rename(columns={"ns": "seconds"})

    @cached_property
    def messages(self):
        """A row for each pair of ranks that exchanged messages."""
        return self._frame("peers", ["rank", "peer"])

    @cached_property
    def per_rank(self):
        """A row for each rank: how its time was spent, as in run.json."""
        return self._frame("per_rank", ["rank"])

    @cached_property
    def events(self):
        """Atomic events: values that the program reported, or TAU."""
        return pandas.DataFrame([{"name": e["name"], **e["values"]} for e in self.data.get("atomic_events") or []],
                                columns=["name", "n", "sum", "min", "max", "mean", "deviation", "min_rank", "max_rank"])

    @cached_property
    def not_seen(self):
        """What the run's records do not know."""
        return [note["text"] for note in self.data.get("not_seen") or []]

    @cached_property
    def invocations(self):
        """A row for each invocation of a component's method, with the columns of invocations.parquet."""
        if not os.path.exists(os.path.join(self.path, "invocations.parquet")):
            raise Error(f"{self.path}: no component's method was invoked, or their records were not kept")
        return pandas.read_csv(io.BytesIO(_ask("invocations", self.path, "--format", "csv")))

    def compare(self, other):
        """What became slower or faster from this run to another."""
        return Comparison(json.loads(_ask("compare", self.path, other.path, "--format", "json")))

    def _frame(self, name, columns):
        frame = pandas.DataFrame(self.data.get(name) or [])
        return frame.reindex(columns=columns + [c for c in frame.columns if c not in columns])


class Comparison:
    """Two runs, a and b. `data` is what `marple compare --format json` says."""

    def __init__(self, data):
        self.data = data

    @property
    def wall(self):
        """Seconds of both, their difference, its interval, and the verdict: changed, noise or unknown."""
        return dict(self.data["wall"])

    @cached_property
    def places(self):
        """A row for each call path that differs, the largest differences first; seconds per rank."""
        return pandas.json_normalize(self.data["places"] or [])

    @cached_property
    def findings(self):
        return pandas.DataFrame(self.data["findings"] or [])

    @cached_property
    def efficiencies(self):
        return pandas.json_normalize(self.data["efficiencies"] or [])
