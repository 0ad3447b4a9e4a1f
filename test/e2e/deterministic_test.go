// One libmarple.so, built with no MPI, gives the same run under every MPI.
package e2e

import (
	"marple/test/harness"

	"debug/elf"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"marple/analysis/run"
)

// What may differ between two runs of one program, and why: names in run.json, each with what it is a field
// of, and patterns as in a shell.
var mayDiffer = []struct{ of, field, why string }{
	{"*", "*_ns", "a time"},
	{"*", "ns", "a time"},
	{"*", "started", "a time"},
	{"*", "share", "a share of time"},
	{"*", "rounds*", "messages between two times of computing that are long for this rank"},
	{"*", "turns", "likewise"},
	{"run", "efficiency", "shares of time"},
	{"run", "core_time", "times"},
	{"run", "findings", "about times"},
	{"run", "may_be", "about times"},
	{"run", "joint_gain", "about times"},
	{"run", "loss", "shares of time"},
	{"run", "models", "about times"},
	{"run", "to_go_deeper", "about times"},
	{"run", "conditions", "about times"},
	{"run", "waits", "about times"},
	{"run", "with_cores", "about times"},
	{"run", "clocks", "the machine's, or the simulation's"},
	{"run", "hosts", "where it ran"},
	{"per_rank", "host", "where it ran"},
	{"per_rank", "peak_memory_bytes", "the process's, with what the report takes"},
	{"per_rank", "traffic", "the process's, with what the MPI library reads and writes"},
	{"per_rank", "cores", "where it ran, and what the launcher bound it to"},
	{"run", "mpi", "the library"},
	{"run", "modules", "the executable's path and build id: there is one for each library"},
	{"call_graph", "module", "the executable"},
	{"call_graph", "offset", "a call site's address in it"},
	{"call_graph", "id", "a hash of call sites' addresses"},
	{"call_graph", "from", "such a hash"},
	{"call_graph", "to", "such a hash"},
}

// Statistics of times: how many times there were stays.
var statistics = []string{"exclusive_ns", "inclusive_ns", "call_ns"}

// Call-graph nodes that are there only when they have taken time.
var onlyTime = []string{"off-core", "marple"}

// comparable is a run as JSON without what may differ, lists whose order depends on times in another order.
func comparable(t testing.TB, r *run.Run) string {
	t.Helper()
	data, err := r.Encode()
	require.NoError(t, err)
	var value any
	require.NoError(t, json.Unmarshal(data, &value))
	out, err := json.MarshalIndent(without(value, "run"), "", " ")
	require.NoError(t, err)
	return string(out)
}

func without(value any, of string) any {
	switch v := value.(type) {
	case map[string]any:
		left := map[string]any{}
		for field, value := range v {
			inner := field
			if field == "children" {
				inner = of
			}
			switch stat, isStat := value.(map[string]any); {
			case isStat && slices.Contains(statistics, field):
				left[field] = stat["n"]
			case !differs(of, field):
				left[field] = without(value, inner)
			}
		}
		return left
	case []any:
		left := []any{}
		for _, value := range v {
			if node, ok := value.(map[string]any); ok && of == "call_graph" && slices.Contains(onlyTime, fmt.Sprint(node["kind"])) {
				continue
			}
			left = append(left, without(value, of))
		}
		slices.SortFunc(left, func(a, b any) int { return strings.Compare(asText(a), asText(b)) })
		return left
	}
	return value
}

func asText(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func differs(of, field string) bool {
	return slices.ContainsFunc(mayDiffer, func(d struct{ of, field, why string }) bool {
		owner, _ := path.Match(d.of, of)
		name, _ := path.Match(d.field, field)
		return owner && name
	})
}

func TestTheSameRunEverywhere(t *testing.T) {
	t.Parallel()
	for _, ranks := range []int{2, 3, harness.Scale(4, 7)} {
		t.Run(fmt.Sprint(ranks, " ranks"), func(t *testing.T) {
			want, from := "", ""
			same := func(mpi string, r *run.Run) {
				got := comparable(t, r)
				if want == "" {
					want, from = got, mpi
				}
				assert.Equal(t, want, got, "%s and %s", from, mpi)
			}
			for _, mpi := range harness.Libraries {
				if mpi.Tool(mpi.Cc) == "" {
					t.Logf("without %s, which is not installed", mpi.Name)
					require.NotEqual(t, "1", os.Getenv("CI"))
					continue
				}
				program := []string{mpi.Compile(t, "deterministic"), fmt.Sprint(harness.Scale(3, 30))}
				measured, r := mpi.Measured(t, harness.Command{}, ranks, program)
				require.Zero(t, r.Code, r.Stderr)
				require.Empty(t, harness.NotSeen(measured))
				same(mpi.Name, measured)
				if mpi == harness.Mock {
					same("mock, on its virtual clock", harness.Mock.Virtual(t, harness.Command{}, ranks, program))
				}
			}
			for _, what := range []string{`"phase 11"`, `"overlapped"`, `"twin"`, `"MPI_Waitany"`, `"name": "MPI_Ibcast"`, `"function": "persistent"`} {
				assert.Contains(t, want, what, "a comparison of nothing proves nothing")
			}
		})
	}
}

// The library that all of them have loaded is built of the C library alone.
func TestTheLibraryIsBuiltWithoutMPI(t *testing.T) {
	t.Parallel()
	file, err := elf.Open(harness.Artifact(t, "libmarple.so"))
	require.NoError(t, err)
	defer file.Close()
	needed, err := file.ImportedLibraries()
	require.NoError(t, err)
	for _, library := range needed {
		assert.Contains(t, []string{"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0"}, library)
	}
	undefined, err := file.ImportedSymbols()
	require.NoError(t, err)
	for _, symbol := range undefined {
		assert.NotRegexp(t, `(?i)^_*p?mpi_`, symbol.Name, "is looked up at run time, or not at all")
	}

	var sources []string
	line := []string{"-M", "-D_GNU_SOURCE"}
	for _, directory := range []string{filepath.Join(harness.Top, "cshim"), filepath.Join(harness.Top, "pmpi"), filepath.Join(harness.Build, "gen")} {
		some, err := filepath.Glob(filepath.Join(directory, "*.c"))
		require.NoError(t, err)
		sources = append(sources, some...)
		line = append(line, "-I"+directory)
	}
	require.Greater(t, len(sources), 15)
	line = append(line, sources...)
	included, err := exec.Command("gcc", line...).Output()
	require.NoError(t, err)
	assert.Contains(t, string(included), "stdio.h")
	assert.NotRegexp(t, `/mpi[^/ ]*\.h`, string(included))
}
