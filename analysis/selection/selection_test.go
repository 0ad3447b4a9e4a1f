package selection

import (
	"context"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"marple/analysis/run"
	"marple/analysis/selection/graph"
	"marple/analysis/selection/prune"
)

var update = flag.Bool("update", false, "write the golden files anew")

// Comparing with brute force is cheap and finds what nobody thought of.
func init() { flag.Set("rapid.checks", "2000") }

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o666))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

func question(t *testing.T, graphFile, planFile string) Question {
	t.Helper()
	g, err := graph.Read(filepath.Join("testdata", graphFile))
	require.NoError(t, err)
	plan, err := ReadPlan(filepath.Join("testdata", planFile))
	require.NoError(t, err)
	return Question{Graph: g, Plan: plan, Rule: prune.Rule{Alpha: 0.1, Beta: 0.1}, Best: 3}
}

func answer(t *testing.T, q Question) *Answer {
	t.Helper()
	a, err := Select(context.Background(), q)
	require.NoError(t, err)
	require.True(t, a.Proven)
	return a
}

// taken is the choice as family: implementation.
func taken(a *Answer) map[string]string {
	list := map[string]string{}
	for _, c := range a.Choices {
		list[c.Name] = c.Implementation
	}
	return list
}

// Thesis chapter VI, with the given models and the sizes as they are recorded in the call graphs.
func TestValidation(t *testing.T) {
	for _, c := range []struct{ run, a, b string }{{"below", "A2", "B1"}, {"above", "A1", "B2"}, {"mixed", "A1", "B2"}} {
		a := answer(t, question(t, "validation-"+c.run+".json", "validation.yaml"))
		require.Equal(t, map[string]string{"A": c.a, "B": c.b, "C": "C1"}, taken(a), c.run)
		require.Equal(t, []string{"Driver.go", "A.go", "B.go"}, a.Core, c.run)
		require.Equal(t, []bool{false, false, true}, []bool{a.Choices[0].Any, a.Choices[1].Any, a.Choices[2].Any}, c.run)
	}
	q := question(t, "validation-mixed.json", "validation.yaml")
	require.NoError(t, q.Given.ParseSize("x=0.5..4"))
	a := answer(t, q)
	require.Len(t, a.Across, 2)
	require.InDelta(t, 2, a.Across[0].To, 1e-6)
	require.Equal(t, map[string]string{"A": "A2", "B": "B1"}, a.Across[0].Changes)
	require.Empty(t, a.Across[1].Changes)
	// The mean over the range is the integral: 10 calls of 2x and 2x².
	integral := func(x float64) float64 { return x*x + 2*x*x*x/3 }
	require.InDelta(t, 0.52+10*(integral(4)-integral(0.5))/3.5, a.Time, 1e-9)
}

// Thesis chapter VII: EFM by time, Godunov once the accuracy that is wanted excludes EFM.
func TestShockHydro(t *testing.T) {
	q := question(t, "shock-hydro.json", "shock-hydro.yaml")
	q.Front = []string{"accuracy"}
	a := answer(t, q)
	require.Equal(t, map[string]string{"flux-solver": "EFM"}, taken(a))
	require.InDelta(t, 90.785, a.Time, 0.01)
	require.Len(t, a.Fronts, 1)
	require.True(t, a.Fronts[0].Complete)
	require.Len(t, a.Fronts[0].Points, 2)
	require.Equal(t, 0.95, a.Fronts[0].Points[1].Value)
	a.Duration = 0.001
	golden(t, "shock-hydro.txt", Text(&a.Selection))

	require.NoError(t, q.Plan.Limit("accuracy>=0.9"))
	require.Equal(t, map[string]string{"flux-solver": "Godunov"}, taken(answer(t, q)))
	require.NoError(t, q.Plan.Limit("accuracy>=0.99"))
	_, err := Select(context.Background(), q)
	require.EqualError(t, err, "no assembly meets the limits: accuracy is at most 0.95, 0.04 short of accuracy ≥ 0.99")

	// The published model of Godunov is negative for small arrays.
	q = question(t, "shock-hydro.json", "shock-hydro.yaml")
	require.NoError(t, q.Given.ParseSize("Q=1000"))
	_, err = Select(context.Background(), q)
	require.EqualError(t, err, filepath.Join("testdata", "shock-hydro.yaml")+
		":10:7: flux-solver.Godunov: time is -0.648 at Q = 1000: expected 0 or more; it may be used outside the range it was made for")
}

// two is a call graph of a driver that calls A ten times, and a file with what is given of A.
func two(t *testing.T, yaml string) Question {
	t.Helper()
	plan, err := ParsePlan("f.yaml", []byte(yaml))
	require.NoError(t, err)
	root := &graph.Node{Name: "driver", Component: "driver", Inclusive: 101, Children: []*graph.Node{
		{Name: "A.go", Component: "A", Inclusive: 100, Calls: 10}}}
	return Question{Graph: &graph.Graph{Root: root}, Plan: plan, Draws: 20_000}
}

func TestUncertainty(t *testing.T) {
	a := answer(t, two(t, `
families:
  A:
    implementations:
      one: {time: 10, deviation: 3, error: 1}
      two: {time: 11, deviation: 0.5, error: 1}`))
	require.Equal(t, map[string]string{"A": "one"}, taken(a))
	require.Equal(t, 101.0, a.Time)
	// Ten invocations that vary independently, and an error that all of them share.
	deviation := math.Sqrt(10*3*3 + 10*10)
	require.InDelta(t, deviation, a.Spread.Deviation, 1e-9)
	require.Equal(t, 101.0, a.Spread.Mode)
	require.InDelta(t, 101-1.6448536*deviation, a.Spread.Low, 1e-6)
	require.InDelta(t, 101+1.6448536*deviation, a.Spread.High, 1e-6)
	// The difference of the expected times is 1 with a standard error of √2.
	require.InDelta(t, (1+math.Erf(1/2.0))/2, a.Spread.Best, 4*a.Spread.BestError)
	require.InDelta(t, 0.003, a.Spread.BestError, 0.0005)

	// Sizes that were met vary too.
	a = answer(t, two(t, `
sizes: {n: [1, 3]}
families: {A: {implementations: {one: {time: n}}}}`))
	require.InDelta(t, 20+1, a.Time, 1e-9)
	require.InDelta(t, math.Sqrt(10), a.Spread.Deviation, 1e-9)
	require.Equal(t, -1.0, a.Spread.Best)

	// A size of which only the range is known: the time is 10 n², most likely where n² changes least.
	a = answer(t, two(t, `
sizes: {n: {from: 0, to: 3}}
families: {A: {implementations: {one: {time: n^2}}}}`))
	require.InDelta(t, 1+10*3, a.Time, 1e-9)
	require.Less(t, a.Spread.Mode, 1.5)
	require.InDelta(t, 1+10*math.Pow(3*0.05, 2), a.Spread.Low, 0.2)
	require.InDelta(t, 1+10*math.Pow(3*0.95, 2), a.Spread.High, 1.5)

	require.Nil(t, answer(t, two(t, `families: {A: {implementations: {one: {time: 1}}}}`)).Spread)
}

// An implementation whose time includes what it calls takes the place of the whole branch.
func TestInclusive(t *testing.T) {
	plan, err := ParsePlan("f.yaml", []byte(`
families:
  A: {implementations: {one: {time: 7, inclusive: yes}, two: {time: 3}}}`))
	require.NoError(t, err)
	leaf := &graph.Node{Name: "C", Component: "C", Inclusive: 5}
	root := &graph.Node{Name: "driver", Component: "driver", Inclusive: 11, Children: []*graph.Node{
		{Name: "A", Component: "A", Inclusive: 10, Children: []*graph.Node{leaf}}}}
	q := Question{Graph: &graph.Graph{Root: root}, Plan: plan}
	a := answer(t, q)
	require.Equal(t, []any{"one", 8.0}, []any{a.Choices[0].Implementation, a.Time})
	require.InDelta(t, 1, a.Choices[0].Next.Costs, 1e-12)

	leaf.Component = "B"
	q.Plan, err = ParsePlan("f.yaml", []byte(`
families:
  A: {implementations: {one: {time: 7, inclusive: yes}}}
  B: {implementations: {one: {time: 7}}}`))
	require.NoError(t, err)
	_, err = Select(context.Background(), q)
	require.EqualError(t, err, "f.yaml:3:25: A.one: inclusive: yes is not possible, since A calls C, which has a choice of its own")
}

// A component that the rule finds insignificant as it ran may come to matter with another implementation.
func TestInsignificantUntilItIsNot(t *testing.T) {
	yaml := `
families:
  A: {implementations: {one: {measured: yes}, two: {time: %v}}}`
	root := &graph.Node{Name: "driver", Component: "driver", Inclusive: 100, Children: []*graph.Node{{Name: "A", Component: "A", Inclusive: 1}}}
	for _, c := range []struct {
		time float64
		any  bool
	}{{10, true}, {50, false}} {
		plan, err := ParsePlan("f.yaml", fmt.Appendf(nil, yaml, c.time))
		require.NoError(t, err)
		a := answer(t, Question{Graph: &graph.Graph{Root: root}, Plan: plan, Rule: prune.Rule{Alpha: 0.1, Beta: 0.1}})
		require.Equal(t, []string{"driver"}, a.Core)
		require.Equal(t, c.any, a.Choices[0].Any)
		require.Equal(t, !c.any, slices.Contains(a.Notes, "A was insignificant in this run, but its worst implementation would not be"))
		require.InDelta(t, c.time-1, a.Choices[0].Worst, 1e-12)
	}
}

// Limits that each can be met, but not together.
func TestLimitsThatExcludeEachOther(t *testing.T) {
	q := two(t, `
qualities: {accuracy: {rule: min, at_least: 0.9}, memory: {rule: sum, at_most: 4}, safety: {rule: product, at_least: 0.1}}
families:
  A:
    implementations:
      one: {time: 1, qualities: {accuracy: 0.95, memory: 6, safety: 0.9}}
      two: {time: 2, qualities: {accuracy: 0.5, memory: 3, safety: 0.9}}`)
	_, err := Select(context.Background(), q)
	require.EqualError(t, err, "no assembly meets the limits: with memory ≤ 4, accuracy is at most 0.5, 0.4 short of accuracy ≥ 0.9; "+
		"with accuracy ≥ 0.9, memory is at least 6, 2 short of memory ≤ 4")
}

// The script makes every instance once, from a class it has fetched, before it is connected; then it starts one.
func TestScript(t *testing.T) {
	a := answer(t, question(t, "validation-below.json", "validation.yaml"))
	script, err := a.Script()
	require.NoError(t, err)
	golden(t, "validation-below.rc", script)

	classes, instances, connections, gone, over := []string{}, map[string]string{}, 0, false, false
	for i, line := range strings.Split(strings.TrimSuffix(script, "\n"), "\n") {
		w := strings.Fields(line)
		require.False(t, over)
		switch {
		case i == 0:
			require.Equal(t, "#!ccaffeine", w[0])
		case w[0] == "#":
		case w[0] == "repository":
			require.Equal(t, "get-global", w[1])
			classes = append(classes, w[2])
		case w[0] == "create":
			require.Contains(t, classes, w[1])
			require.NotContains(t, instances, w[2])
			instances[w[2]] = w[1]
		case w[0] == "connect":
			require.Len(t, w, 5)
			require.Contains(t, instances, w[1])
			require.Contains(t, instances, w[3])
			connections++
		case w[0] == "go":
			require.Contains(t, instances, w[1])
			gone = true
		case w[0] == "bye":
			over = true
		default:
			t.Fatalf("unknown command: %s", line)
		}
	}
	require.True(t, gone && over)
	require.Equal(t, map[string]string{"Driver": "ValidationDriver", "A": "A2", "B": "B1", "C": "C1", "D": "D"}, instances)
	require.Equal(t, 4, connections)
}

func TestScriptNeedsItsParts(t *testing.T) {
	for yaml, want := range map[string]string{
		`families: {A: {implementations: {one: {time: 1}}}}`: `f.yaml: a script needs "assembly:", with instances, connections and go; or the script that was measured (--from)`,
		`
families: {A: {implementations: {one: {time: 1}}}}
assembly: {go: A go}`: `f.yaml:2:34: A.one: a script needs its class`,
		`
families: {A: {implementations: {one: {time: 1, class: A1}}}}
assembly: {go: driver go}`: `f.yaml:3:12: go: there is no instance "driver"; there are A`,
		`
families: {A: {implementations: {one: {time: 1, class: A1}}}}
assembly: {go: A go, instances: {A: Other}}`: `f.yaml:2:34: instance "A" stands in the assembly twice`,
		`
families: {A: {implementations: {one: {time: 1, class: A1}}}}
assembly: {go: A go, connections: [A x B y]}`: `f.yaml:3:36: connections: there is no instance "B"; there are A`,
	} {
		_, err := answer(t, two(t, yaml)).Script()
		require.EqualError(t, err, want)
	}
	a := answer(t, two(t, `
families: {A: {implementations: {one: {time: 1, class: A1, instances: {grid: Grid}, connections: [self g grid g]}}}}
assembly: {go: A go, setup: [path append /opt/cca]}`))
	script, err := a.Script()
	require.NoError(t, err)
	require.Contains(t, script, "\npath append /opt/cca\nrepository get-global A1\nrepository get-global Grid\ncreate A1 A\ncreate Grid grid\nconnect A g grid g\ngo A go\nbye\n")
}

func TestModelledTimes(t *testing.T) {
	q := question(t, "validation-mixed.json", "validation.yaml")
	require.NoError(t, q.Given.ParseSize("x=3"))
	g, err := Modelled(q, map[string]string{"A": "A2"})
	require.NoError(t, err)
	a, b := g.Root.Children[0], g.Root.Children[1]
	require.InDelta(t, 10*9+0.01, a.Inclusive, 1e-9)
	require.InDelta(t, 10*27+0.01, b.Inclusive, 1e-9)
	require.InDelta(t, a.Inclusive+b.Inclusive+0.5, g.Root.Inclusive, 1e-9)
	require.Equal(t, 0.01, a.Children[0].Inclusive) // C1 is the one that ran
	require.Equal(t, 433.645, q.Graph.Root.Inclusive, "the question stays as it was")
	_, err = Modelled(q, map[string]string{"A": "A3"})
	require.EqualError(t, err, "A=A3: expected one of A1, A2")
	_, err = Modelled(q, map[string]string{"E": "A3"})
	require.EqualError(t, err, `E=A3: there is no family "E"`)
}

// Where the time is up before all is proven, the answer says what it knows.
func TestWithoutTime(t *testing.T) {
	q := two(t, `
sizes: {n: {from: 1, to: 2}}
qualities: {memory: {rule: sum, at_most: 100}}
families:
  A: {implementations: {one: {time: n, qualities: {memory: 1}}, two: {time: 2*n}}}`)
	ctx, cancel := context.WithCancel(context.Background())
	s, err := newSelector(ctx, &q)
	require.NoError(t, err)
	require.NoError(t, s.solve())
	cancel()
	s.describe()
	require.NoError(t, s.across())
	q.Front = []string{"memory"}
	s.fronts()
	s.a.Proven, s.a.Bound = false, 10
	s.a.Choices[0].Next = &run.NextBest{AtLeast: true}
	text := Text(&s.a.Selection)
	require.Regexp(t, `(?m)^A .* not known: the time was up$`, text)
	require.Contains(t, text, "Best assembly found: 16.0 s; none can take less than 10.0 s\n")
}

// Whatever the names and numbers, the text has 80 columns.
func TestTextFits(t *testing.T) {
	long := strings.Repeat("long-", 30)
	a := answer(t, two(t, `
qualities: {`+long+`: {rule: sum}}
families:
  A: {implementations: {`+long+`1: {time: 1e9, qualities: {`+long+`: 1e40}}, `+long+`2: {time: 2e30}}}`))
	for _, line := range strings.Split(Text(&a.Selection), "\n") {
		require.LessOrEqual(t, len([]rune(line)), width, line)
	}
}
