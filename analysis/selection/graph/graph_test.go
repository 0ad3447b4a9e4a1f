package graph

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"marple/analysis/analysistest"
	"marple/analysis/run"
)

func TestWhatIsReadIsWrittenAgain(t *testing.T) {
	const text = `{"name": "A<>", "inclusive": 1000, "calls": 3, "sizes": [{"calls":2,"at":{"n":10}},{"calls":1,"at":{"n":0.5}}], "colour": {"r":[1,2]}, "children": [
 {"name": "B", "component": "b", "inclusive": 0.125, "children": [
  {"name": "C", "inclusive": 12345678901234567, "children": []}]},
 {"name": "D", "inclusive": 0, "component": null, "children": []}]}
`
	n, err := Parse("f", []byte(text))
	require.NoError(t, err)
	again, err := n.JSON()
	require.NoError(t, err)
	require.Equal(t, strings.Replace(text, "12345678901234567", "12345678901234568", 1), string(again))
	require.True(t, n.HasComponents())
	require.Equal(t, []Size{{2, map[string]float64{"n": 10}}, {1, map[string]float64{"n": 0.5}}}, n.Sizes)
}

func TestMistakesHaveAPlace(t *testing.T) {
	for text, want := range map[string]string{
		``:                 `f:1:1: not valid JSON: the file ends too early`,
		`[]`:               `f:1:1: expected a call graph: {"name"`,
		`{"name": "A"}`:    `f:1:1: a node without "inclusive"`,
		`{"inclusive": 1}`: `f:1:1: a node without "name"`,
		"{\"name\": \"A\",\n \"inclusive\": \"1\"}":                                    `f:2:15: "inclusive": expected a number`,
		`{"name": "A", "inclusive": -1}`:                                               `f:1:28: "inclusive": -1: expected a number from 0 to 2e+308`,
		`{"name": "A", "inclusive": 1e999}`:                                            `f:1:28: "inclusive": 1e999: expected`,
		`{"name": 5, "inclusive": 1}`:                                                  `f:1:10: "name": expected a text`,
		`{"name": "A", "component": 5, "inclusive": 1}`:                                `f:1:28: "component": expected a text`,
		`{"name": "A", "name": "B", "inclusive": 1}`:                                   `f:1:15: "name" stands here twice`,
		`{"name": "A", "inclusive": 1, "children": {}}`:                                `f:1:43: "children": expected a list`,
		"{\"name\": \"A\", \"inclusive\": 1, \"children\": [\n\n  {\"name\": \"B\"}]}": `f:3:3: a node without "inclusive"`,
		`{"name": "A", "inclusive": 1, "children": [null]}`:                            `f:1:44: expected a call graph`,
		`{"name": "A", "inclusive": 1} {}`:                                             `f:1:31: expected nothing after the call graph`,
		`{"name": "A", "inclusive": 1,}`:                                               `f:1:30: not valid JSON: invalid character`,
		`{"name": "A", "inclusive": 1, "x": [}`:                                        `f:1:36: not valid JSON: invalid character`,
		`{"name": "A", "inclusive": 1`:                                                 `f:1:29: not valid JSON: the file ends too early`,
		`{"name": "A", "inclusive": 1, "sizes": [{"calls": 0, "at": {"n": 1}}]}`:       `f:1:41: "sizes": expected {"calls": 3`,
		strings.Repeat(`{"name":"A","inclusive":1,"children":[`, MaxDepth+2):           `nested deeper than 10000`,
	} {
		_, err := Parse("f", []byte(text))
		require.ErrorContains(t, err, want, "%.100s", text)
	}
}

func TestReadTakesRunsToo(t *testing.T) {
	const ms = 1_000_000
	r := analysistest.Run(2, 2, func(r *analysistest.Rank) {
		r.Region("solve", func() {
			r.Compute(30 * ms)
			r.Region("exchange", func() { r.Barrier(20, 10*ms) })
		})
	})
	directory := t.TempDir()
	require.NoError(t, r.Write(analysistest.In(directory), ""))
	for _, path := range []string{directory, filepath.Join(directory, "run.json")} {
		g, err := Read(path)
		require.NoError(t, err)
		require.Equal(t, 1e-9, g.Unit)
		solve := g.Root.Children[0].Children[0] // in main
		require.Equal(t, []any{"solve", 40.0 * ms, 1.0}, []any{solve.Name, solve.Inclusive, solve.Calls})
		// What is inside a call path, MPI calls and computation between them, is no node.
		require.Len(t, solve.Children, 1)
		exchange := solve.Children[0]
		require.Equal(t, []any{"exchange", 10.0 * ms}, []any{exchange.Name, exchange.Inclusive})
	}
	r.CallGraph = nil
	require.NoError(t, r.Write(analysistest.In(directory), ""))
	_, err := Read(directory)
	require.ErrorContains(t, err, directory+": the run has no call graph")

	path := filepath.Join(directory, "graph.json")
	require.NoError(t, os.WriteFile(path, []byte(`{"name": "A", "inclusive": 7}`), 0o666))
	g, err := Read(path)
	require.NoError(t, err)
	require.Equal(t, &Graph{Root: &Node{Name: "A", Inclusive: 7}}, g)
	_, err = Read(filepath.Join(directory, "nothing"))
	require.ErrorContains(t, err, "no such file")
}

// The same job costs the same on any number of ranks, with cores for all of them or not.
func TestCostIsPerRankAndWithACore(t *testing.T) {
	const ms = 1_000_000
	var graphs []*Graph
	for _, ranks := range []int{1, 2, 4} {
		for _, coreless := range []uint64{0, 500 * ms} {
			g, err := FromRun(analysistest.Run(ranks, 1, func(r *analysistest.Rank) {
				r.Invoke("driver", "", "go", func() {
					r.Invoke("flux", "", "compute", func() { r.Compute(30 * ms); r.OffCore(coreless) })
					r.Invoke("mesh", "", "synch", func() { r.Barrier(20, 10*ms); r.OffCore(coreless) })
				})
			}))
			require.NoError(t, err)
			require.Equal(t, ranks, g.Ranks)
			require.Equal(t, float64(2*coreless), g.Lost)
			graphs = append(graphs, g)
		}
	}
	for _, g := range graphs {
		want, err := graphs[0].Root.JSON()
		require.NoError(t, err)
		got, err := g.Root.JSON()
		require.NoError(t, err)
		require.Equal(t, string(want), string(got))
	}
	require.Equal(t, []string{"Times are elapsed time with a core, the mean over 1 rank"}, graphs[0].About())
	require.Equal(t, []string{"Times are elapsed time with a core, the mean over 4 ranks; for 1.00 s more a rank had no core, waited for one that had none, or Marple took it"}, graphs[5].About())
}

// A method is one node below the methods that led to it, wherever it is called there.
func TestByMethod(t *testing.T) {
	g, err := FromRun(analysistest.Run(1, 1, func(r *analysistest.Rank) {
		r.Invoke("driver", "", "go", func() {
			for line := 10; line < 12; line++ {
				r.Function(line, "advance", func() {
					r.Invoke("flux", "", "compute", func() { r.Compute(30); r.Invoke("sc", "", "compute", func() { r.Compute(5) }) })
				})
			}
			r.Invoke("sc", "", "compute", func() { r.Compute(1) })
		})
	}))
	require.NoError(t, err)
	m := g.Grouped()
	require.Equal(t, []any{Path, Method, 7, 7}, []any{g.By, m.By, g.Paths, m.Paths})
	text, err := m.Root.JSON()
	require.NoError(t, err)
	require.JSONEq(t, `{"name": "app", "inclusive": 71, "children": [{"name": "driver.go", "component": "driver", "inclusive": 71, "calls": 1, "children": [
		{"name": "flux.compute", "component": "flux", "inclusive": 70, "calls": 2, "children": [{"name": "sc.compute", "component": "sc", "inclusive": 10, "calls": 2, "children": []}]},
		{"name": "sc.compute", "component": "sc", "inclusive": 1, "calls": 1, "children": []}]}]}`, string(text))
}

func TestComponentsOfARun(t *testing.T) {
	for name, want := range map[string]string{"flux.compute": "flux", "flux[f1].compute": "f1", "gov.cca.Flux[f.1].compute": "f.1", "odd": ""} {
		require.Equal(t, want, component(&run.Node{Kind: "component", Name: name}))
		require.Empty(t, component(&run.Node{Kind: "region", Name: name}))
	}
}

// A file of any content is read and written alike, or refused with its place.
func FuzzParse(f *testing.F) {
	for _, name := range []string{"six-nodes.json", "shock-hydro.json"} {
		data, err := os.ReadFile(filepath.Join("../testdata", name))
		require.NoError(f, err)
		f.Add(data)
	}
	f.Add([]byte(`{"name":"A","component":null,"inclusive":1e3,"calls":2,"sizes":[{"calls":1,"at":{"n":3}}],"other":[1],"children":null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		n, err := Parse("f", data)
		if err != nil {
			require.Regexp(t, `^f:\d+:\d+: `, err.Error())
			return
		}
		first, err := n.JSON()
		require.NoError(t, err)
		n, err = Parse("f", first)
		require.NoError(t, err)
		second, err := n.JSON()
		require.NoError(t, err)
		require.Equal(t, string(first), string(second))
	})
}

// What ranks wait for one that has no core is no cost of the assembly.
func TestCostWithoutWaitingForWhoHasNoCore(t *testing.T) {
	const ms = 1_000_000
	alone := func(coreless uint64) *Graph {
		g, err := FromRun(analysistest.RunWithWaits(2, 2, func(r *analysistest.Rank) {
			analysistest.Steps(5, func() {
				r.Invoke("flux", "", "compute", func() {
					r.Compute(4 * ms)
					if r.Rank == 1 && coreless > 0 {
						r.OffCore(coreless)
					}
				})
				r.Barrier(20, map[bool]uint64{true: 1000, false: 1000 + coreless}[r.Rank == 1])
			})
		}))
		require.NoError(t, err)
		return g
	}
	want, got := alone(0), alone(50*ms)
	require.InDelta(t, 20*ms, want.Root.Inclusive, ms)
	require.InDelta(t, want.Root.Inclusive, got.Root.Inclusive, ms)
	require.InDelta(t, 250*ms, got.Lost, ms)
}
