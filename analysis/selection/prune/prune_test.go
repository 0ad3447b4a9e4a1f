package prune

import (
	"encoding/xml"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"marple/analysis/selection/graph"
)

var update = flag.Bool("update", false, "write the golden files anew")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o777))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o666))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

func read(t *testing.T, name string) *graph.Graph {
	t.Helper()
	g, err := graph.Read(filepath.Join("../testdata", name))
	require.NoError(t, err)
	return g
}

// names lists a tree as "A(B C(D))".
func names(n *graph.Node) string {
	if len(n.Children) == 0 {
		return n.Name
	}
	var below []string
	for _, c := range n.Children {
		below = append(below, names(c))
	}
	return n.Name + "(" + strings.Join(below, " ") + ")"
}

func TestThePapersExamples(t *testing.T) {
	for _, c := range []struct {
		file              string
		threshold         float64
		core              string
		nodes, components int
	}{
		// CompFrame IV.A and thesis V.B: C goes with what is below it, D and E go together.
		{"six-nodes.json", 0.1, "A(B)", 2, 2},
		// CompFrame IV.B and IV.C: 8 nodes of 8 components of 19 and 12; ICC more at 5 %; 7 components at 20 %.
		{"shock-hydro.json", 0.1, "driver.go(rk2.Advance(flux.compute(sc.compute efm.compute) grace.GC_Synch(icc.prolong)) ee.Regrid)", 8, 8},
		{"shock-hydro.json", 0.05, "driver.go(rk2.Advance(flux.compute(sc.compute efm.compute) grace.GC_Synch(icc.prolong) icc.restrict) ee.Regrid)", 9, 8},
		{"shock-hydro.json", 0.2, "driver.go(rk2.Advance(flux.compute(sc.compute efm.compute) grace.GC_Synch) ee.Regrid)", 7, 7},
	} {
		core := Judge(read(t, c.file).Root).Keep(Rule{c.threshold, c.threshold})
		require.Equal(t, c.core, names(core.Tree()), "%s at %v", c.file, c.threshold)
		require.Equal(t, []int{c.nodes, c.components}, []int{core.Nodes, core.Components}, "%s at %v", c.file, c.threshold)
	}
	core := Judge(read(t, "shock-hydro.json").Root).Keep(Rule{0.1, 0.1})
	require.Equal(t, []int{19, 12}, []int{core.OfNodes, core.OfComponents})
	// 2544 ms are in pruned branches.
	require.InDelta(t, 1-2544.0/90785, core.Recovered, 1e-12)
}

func parse(t *testing.T, text string) *graph.Node {
	t.Helper()
	n, err := graph.Parse("test", []byte(text))
	require.NoError(t, err)
	return n
}

func TestTheRule(t *testing.T) {
	for _, c := range []struct{ name, graph, core string }{
		{"the sum counts for α, not each child: 15 equal children stay",
			`{"name":"r","inclusive":150,"children":[` + strings.Repeat(`{"name":"c","inclusive":10},`, 14) + `{"name":"c","inclusive":10}]}`,
			"r(" + strings.TrimSpace(strings.Repeat("c ", 15)) + ")"},
		{"the sum is below α", `{"name":"r","inclusive":1000,"children":[{"name":"a","inclusive":50},{"name":"b","inclusive":49}]}`, "r"},
		{"the sum equals α", `{"name":"r","inclusive":1000,"children":[{"name":"a","inclusive":50},{"name":"b","inclusive":50}]}`, "r(a b)"},
		{"it does in decimals that binary cannot hold", `{"name":"r","inclusive":3,"children":[{"name":"a","inclusive":0.1},{"name":"b","inclusive":0.2}]}`, "r(a b)"},
		{"a child equals β times the mean", `{"name":"r","inclusive":200,"children":[{"name":"a","inclusive":190},{"name":"b","inclusive":10}]}`, "r(a b)"},
		{"a child is below it", `{"name":"r","inclusive":200,"children":[{"name":"a","inclusive":190.1},{"name":"b","inclusive":9.9}]}`, "r(a)"},
		// The mean of all four is 26, of the larger two 50: 4 would go if siblings were removed first.
		{"the mean is over all siblings, pruned ones too", `{"name":"r","inclusive":104,"children":[{"name":"a","inclusive":90},{"name":"b","inclusive":10},
			{"name":"c","inclusive":4},{"name":"d","inclusive":0}]}`, "r(a b c)"},
		{"a large node below a pruned one goes too", `{"name":"r","inclusive":1000,"children":[{"name":"a","inclusive":990},
			{"name":"b","inclusive":10,"children":[{"name":"c","inclusive":10}]}]}`, "r(a)"},
		{"zeros", `{"name":"r","inclusive":0,"children":[{"name":"a","inclusive":0,"children":[{"name":"b","inclusive":0}]},{"name":"c","inclusive":0}]}`, "r(a(b) c)"},
		{"a zero parent of something", `{"name":"r","inclusive":0,"children":[{"name":"a","inclusive":5}]}`, "r(a)"},
		{"zero children of something", `{"name":"r","inclusive":5,"children":[{"name":"a","inclusive":0}]}`, "r"},
		{"children that take longer than their parent, in parallel", `{"name":"r","inclusive":5,"children":[{"name":"a","inclusive":50},{"name":"b","inclusive":1}]}`, "r(a)"},
		{"MPI is no child", `{"name":"r","component":"R","inclusive":1000,"children":[{"name":"MPI_Send","inclusive":900},
			{"name":"a","component":"A","inclusive":5},{"name":"b","component":"B","inclusive":5}]}`, "r"},
		{"nor is it a sibling", `{"name":"r","component":"R","inclusive":1000,"children":[{"name":"MPI_Send","inclusive":900},
			{"name":"a","component":"A","inclusive":90},{"name":"b","component":"B","inclusive":10}]}`, "r(a b)"},
		{"a component is reached through what is none", `{"name":"main","inclusive":1000,"children":[{"name":"loop","inclusive":999,"children":[
			{"name":"a","component":"A","inclusive":900},{"name":"MPI_Send","inclusive":40},{"name":"b","component":"B","inclusive":59}]},
			{"name":"end","inclusive":1,"children":[{"name":"c","component":"C","inclusive":1}]}]}`, "main(loop(a b))"},
		{"only the root is a component's: it has no children", `{"name":"r","component":"R","inclusive":10,"children":[{"name":"MPI_Send","inclusive":9}]}`, "r"},
		{"no node is a component's: every node counts", `{"name":"r","component":null,"inclusive":10,"children":[{"name":"a","component":"","inclusive":9}]}`, "r(a)"},
		{"instances of one component are judged one by one", `{"name":"r","component":"R","inclusive":1000,"children":[
			{"name":"x","component":"X","inclusive":500},{"name":"y","component":"Y","inclusive":490,"children":[{"name":"x","component":"X","inclusive":10}]}]}`, "r(x y)"},
	} {
		require.Equal(t, c.core, names(Judge(parse(t, c.graph)).Keep(Rule{0.1, 0.1}).Tree()), c.name)
	}
}

func TestPages(t *testing.T) {
	g := read(t, "shock-hydro.json")
	judged := Judge(g.Root)
	core := judged.Keep(Rule{0.1, 0.1})
	text := core.Text(g)
	golden(t, "shock-hydro.txt", text)
	golden(t, "shock-hydro.dot", core.DOT(g))
	golden(t, "shock-hydro.svg", core.SVG(g))
	sweep := SweepText(judged.Sweep(core.Rule, Both), Both)
	golden(t, "shock-hydro-sweep.txt", sweep)
	for _, line := range strings.Split(text+sweep, "\n") {
		require.LessOrEqual(t, len([]rune(line)), width, line)
	}
}

// Names from outside break no format.
func TestNamesAreQuoted(t *testing.T) {
	g := &graph.Graph{Root: &graph.Node{Name: "a\"<&\\\n]]>", Inclusive: 1, Children: []*graph.Node{{Name: "b\x1b[31m", Inclusive: 1}}}}
	core := Judge(g.Root).Keep(Rule{0.1, 0.1})
	d := xml.NewDecoder(strings.NewReader(core.SVG(g)))
	for {
		if _, err := d.Token(); err == io.EOF {
			break
		} else {
			require.NoError(t, err)
		}
	}
	require.Contains(t, core.DOT(g), `label="a\"<&\\·]]>\n1"`)
	require.NotContains(t, core.Text(g), "\x1b")
}

// tree draws a call graph with small whole times, so that equalities and zeros happen. Some nodes belong to
// no component, and children may overlap.
func tree(t *rapid.T) *graph.Node {
	components := rapid.Bool().Draw(t, "components")
	left := rapid.IntRange(1, 30).Draw(t, "nodes")
	var node func(depth int) *graph.Node
	node = func(depth int) *graph.Node {
		left--
		n := &graph.Node{Name: "n", Inclusive: float64(rapid.IntRange(0, 40).Draw(t, "time"))}
		if components && rapid.IntRange(0, 3).Draw(t, "none") > 0 {
			n.Component = rapid.SampledFrom([]string{"A", "B", "C"}).Draw(t, "component")
		}
		for left > 0 && depth < 6 && rapid.IntRange(0, 3).Draw(t, "more") > 0 {
			n.Children = append(n.Children, node(depth+1))
		}
		return n
	}
	return node(0)
}

func thresholds(t *rapid.T) Rule {
	percents := rapid.IntRange(0, 100)
	return Rule{float64(percents.Draw(t, "α")) / 100, float64(percents.Draw(t, "β")) / 100}
}

// naive is the rule as it stands in the papers, in whole numbers: times and percents.
func naive(root *graph.Node, alpha, beta int64) map[*graph.Node]bool {
	every := !root.HasComponents()
	var children func(n *graph.Node) []*graph.Node
	children = func(n *graph.Node) (list []*graph.Node) {
		for _, c := range n.Children {
			if every || c.Component != "" {
				list = append(list, c)
			} else {
				list = append(list, children(c)...)
			}
		}
		return list
	}
	kept := map[*graph.Node]bool{root: true}
	var prune func(j *graph.Node)
	prune = func(j *graph.Node) {
		sum, n := int64(0), int64(len(children(j)))
		for _, i := range children(j) {
			sum += int64(i.Inclusive)
		}
		if j.Inclusive > 0 && 100*sum < alpha*int64(j.Inclusive) {
			return
		}
		for _, i := range children(j) {
			if sum > 0 && 100*int64(i.Inclusive)*n < beta*sum {
				continue
			}
			kept[i] = true
			prune(i)
		}
	}
	prune(root)
	return kept
}

func TestTheRuleOnRandomGraphs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		root, r := tree(t), thresholds(t)
		judged := Judge(root)
		core := judged.Keep(r)
		want := naive(root, int64(r.Alpha*100+0.5), int64(r.Beta*100+0.5))
		nodes, judgedNodes := 0, 0
		var check func(n, above *Node)
		check = func(n, above *Node) {
			if n.Judged || above == nil {
				judgedNodes++
				require.Equal(t, want[n.Node], core.Kept(n))
			}
			if core.Kept(n) {
				require.True(t, above == nil || core.Kept(above), "the core is connected")
				if n.Judged || above == nil {
					nodes++
				}
			}
			for _, c := range n.Children {
				check(c, n)
			}
		}
		check(judged, nil)
		require.Equal(t, []int{nodes, judgedNodes}, []int{core.Nodes, core.OfNodes})
		require.True(t, core.Recovered >= 0 && core.Recovered <= 1)
	})
}

// With α alone pruning twice is pruning once. With β it is not, since the mean of those left is higher; then
// the second core is part of the first.
func TestPruningAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		root, r := tree(t), thresholds(t)
		once := Judge(root).Keep(r)
		twice := Judge(once.Tree()).Keep(r)
		require.LessOrEqual(t, twice.Nodes, once.Nodes)
		r.Beta = 0
		once = Judge(root).Keep(r)
		require.Equal(t, names(once.Tree()), names(Judge(once.Tree()).Keep(r).Tree()))
	})
}

func TestSweepIsKeepAtEveryThreshold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		root, r := tree(t), thresholds(t)
		along := rapid.SampledFrom([]Along{Both, Alpha, Beta}).Draw(t, "along")
		judged := Judge(root)
		steps := judged.Sweep(r, along)
		require.Equal(t, 1.0, steps[len(steps)-1].UpTo)
		last := 0.0
		for i, s := range steps {
			require.True(t, i == 0 || s.UpTo > last)
			for _, at := range []float64{s.UpTo, (last + s.UpTo) / 2} {
				if i == 0 && s.UpTo == 0 || i > 0 && !small(last, at) {
					continue
				}
				with := r
				if along != Beta {
					with.Alpha = at
				}
				if along != Alpha {
					with.Beta = at
				}
				core := judged.Keep(with)
				require.Equal(t, []int{core.Nodes, core.Components}, []int{s.Nodes, s.Components}, "%+v", with)
				require.InDelta(t, core.Recovered, s.Recovered, 1e-9)
			}
			last = s.UpTo
		}
	})
}
