package selection

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"marple/analysis/run"
	"marple/analysis/selection/graph"
	"marple/analysis/selection/prune"
)

// world is a random small assembly, told once as a file and once as what the oracle computes with.
type world struct {
	root         *graph.Node
	yaml         strings.Builder
	families     []worldFamily
	interactions []worldInteraction
	translations map[[2]string]float64 // +Inf: forbidden
	layouts      map[string]string
	qualities    []worldQuality
}

type worldFamily struct {
	name       string
	components []string
	bound      bool
	choices    []worldChoice
}

type worldChoice struct {
	name      string
	a, b      float64 // a + b·n per invocation
	layout    string
	qualities map[string]float64
}

type worldInteraction struct {
	caller, callee string
	perN           float64
}

type worldQuality struct {
	name, rule  string
	least, most float64
	has         int // 1: least, 2: most
}

func draw(t *rapid.T) *world {
	w := &world{translations: map[[2]string]float64{}, layouts: map[string]string{}}
	number := func(from, to int, what string) float64 { return float64(rapid.IntRange(from, to).Draw(t, what)) }
	components := []string{"c0", "c1", "c2", "c3", "c4"}
	left := rapid.IntRange(1, 9).Draw(t, "nodes")
	var node func(depth int) *graph.Node
	node = func(depth int) *graph.Node {
		left--
		n := &graph.Node{Name: fmt.Sprintf("m%d", left), Inclusive: 100 - 10*float64(depth), Calls: number(1, 4, "calls")}
		if depth == 0 || rapid.IntRange(0, 5).Draw(t, "none") > 0 {
			n.Component = rapid.SampledFrom(components).Draw(t, "component")
		}
		for range rapid.IntRange(0, 2).Draw(t, "sizes") {
			n.Sizes = append(n.Sizes, graph.Size{Calls: number(1, 3, "calls"), At: map[string]float64{"n": number(0, 5, "n")}})
		}
		for left > 0 && depth < 4 && rapid.IntRange(0, 3).Draw(t, "more") > 0 {
			n.Children = append(n.Children, node(depth+1))
		}
		return n
	}
	w.root = node(0)

	y := &w.yaml
	y.WriteString("sizes: {n: 2}\n")
	rules := []string{"min", "product", "sum"}
	for i := range rapid.IntRange(0, 2).Draw(t, "qualities") {
		q := worldQuality{name: fmt.Sprintf("q%d", i), rule: rapid.SampledFrom(rules).Draw(t, "rule"), has: rapid.IntRange(0, 2).Draw(t, "limit")}
		value := rapid.SampledFrom([]float64{0.2, 0.5, 1, 1.5, 2, 3, 4.5, 6})
		q.least, q.most = value.Draw(t, "least"), value.Draw(t, "most")
		if q.rule == "min" && q.has == 2 {
			q.has = 1
		}
		w.qualities = append(w.qualities, q)
	}
	if len(w.qualities) > 0 {
		y.WriteString("qualities:\n")
	}
	for _, q := range w.qualities {
		limit := []string{"", fmt.Sprintf(", at_least: %v", q.least), fmt.Sprintf(", at_most: %v", q.most)}[q.has]
		fmt.Fprintf(y, "  %s: {rule: %s%s}\n", q.name, q.rule, limit)
	}
	y.WriteString("families:\n")
	layouts := []string{"", "rows", "columns"}
	free := components[:rapid.IntRange(1, len(components)).Draw(t, "with families")]
	for len(free) > 0 {
		f := worldFamily{name: fmt.Sprintf("f%d", len(w.families)), bound: rapid.Bool().Draw(t, "bound")}
		take := rapid.IntRange(1, min(3, len(free))).Draw(t, "instances")
		f.components, free = free[:take], free[take:]
		fmt.Fprintf(y, "  %s:\n    components: [%s]\n    bound: %v\n    implementations:\n", f.name, strings.Join(f.components, ", "), f.bound)
		for i := range rapid.IntRange(1, 3).Draw(t, "implementations") {
			c := worldChoice{name: fmt.Sprintf("i%d", i), a: number(0, 9, "a"), b: number(0, 4, "b"), layout: rapid.SampledFrom(layouts).Draw(t, "layout"),
				qualities: map[string]float64{}}
			fmt.Fprintf(y, "      %s:\n        time: %v + %v*n\n", c.name, c.a, c.b)
			if c.layout != "" {
				fmt.Fprintf(y, "        layout: %s\n", c.layout)
			}
			for _, q := range w.qualities {
				if rapid.Bool().Draw(t, "has quality") {
					if len(c.qualities) == 0 {
						y.WriteString("        qualities:\n")
					}
					c.qualities[q.name] = rapid.SampledFrom([]float64{0.5, 0.9, 1, 1.5, 2}).Draw(t, "quality")
					fmt.Fprintf(y, "          %s: %v\n", q.name, c.qualities[q.name])
				}
			}
			f.choices = append(f.choices, c)
		}
		w.families = append(w.families, f)
	}
	y.WriteString("translations:\n")
	for _, pair := range [][2]string{{"rows", "columns"}, {"columns", "rows"}} {
		w.translations[pair] = number(0, 3, "translation")
		if rapid.IntRange(0, 9).Draw(t, "forbidden") == 0 {
			w.translations[pair] = math.Inf(1)
			fmt.Fprintf(y, "  - {from: %s, to: %s, forbidden: yes}\n", pair[0], pair[1])
		} else {
			fmt.Fprintf(y, "  - {from: %s, to: %s, time: %v*n}\n", pair[0], pair[1], w.translations[pair])
		}
	}
	var refer []string
	for _, f := range w.families {
		refer = append(refer, f.name, f.name+"."+f.choices[0].name)
	}
	if rapid.Bool().Draw(t, "interactions") {
		y.WriteString("interactions:\n")
		for range rapid.IntRange(1, 3).Draw(t, "interactions") {
			i := worldInteraction{rapid.SampledFrom(refer).Draw(t, "caller"), rapid.SampledFrom(refer).Draw(t, "callee"), number(0, 6, "per n")}
			w.interactions = append(w.interactions, i)
			fmt.Fprintf(y, "  - {caller: %s, callee: %s, time: %v*n}\n", i.caller, i.callee, i.perN)
		}
	}
	// A component of the call graph that has no family may have a layout too.
	if left := components[len(components)-1]; w.choice(left, nil) == nil && rapid.Bool().Draw(t, "layout") {
		w.layouts[left] = "rows"
		fmt.Fprintf(y, "layouts: {%s: rows}\n", left)
	}
	return w
}

// choice is what a component is, by a choice for each component; nil if it has no family.
func (w *world) choice(component string, choose map[string]int) *worldChoice {
	for i := range w.families {
		if slices.Contains(w.families[i].components, component) {
			return &w.families[i].choices[choose[component]]
		}
	}
	return nil
}

func (w *world) family(component string) string {
	for _, f := range w.families {
		if slices.Contains(f.components, component) {
			return f.name
		}
	}
	return ""
}

// sum adds a + b·n up over a node's invocations.
func sum(n *graph.Node, a, b float64) float64 {
	if len(n.Sizes) == 0 {
		return n.Calls * (a + b*2)
	}
	total, value := 0.0, 0.0
	for _, s := range n.Sizes {
		total += s.Calls
		value += s.Calls * (a + b*s.At["n"])
	}
	return value / total * n.Calls
}

// time is the composite model, evaluated recursively: what a node takes by itself, and for each component that it
// calls, what the call costs, and what the callee takes.
func (w *world) time(n *graph.Node, choose map[string]int, core func(*graph.Node) bool) float64 {
	total := n.Inclusive
	var called []*graph.Node
	var find func(n *graph.Node)
	find = func(n *graph.Node) {
		for _, c := range n.Children {
			if c.Component != "" {
				called = append(called, c)
			} else {
				find(c)
			}
		}
	}
	find(n)
	for _, c := range called {
		total -= c.Inclusive
	}
	total = max(0, total)
	me := w.choice(n.Component, choose)
	if me != nil {
		total = sum(n, me.a, me.b)
	}
	for _, c := range called {
		total += w.time(c, choose, core)
		other := w.choice(c.Component, choose)
		if other == nil && (me == nil || !core(c)) {
			continue
		}
		from, to := w.layouts[n.Component], w.layouts[c.Component]
		fits := func(reference, component string, i *worldChoice) bool {
			return i != nil && (reference == w.family(component) || reference == w.family(component)+"."+i.name)
		}
		if me != nil {
			from = me.layout
		}
		if other != nil {
			to = other.layout
		}
		if from != "" && to != "" && from != to {
			if math.IsInf(w.translations[[2]string{from, to}], 1) {
				return math.Inf(1)
			}
			total += sum(c, 0, w.translations[[2]string{from, to}])
		}
		for _, i := range w.interactions {
			if fits(i.caller, n.Component, me) && fits(i.callee, c.Component, other) {
				total += sum(c, 0, i.perN)
			}
		}
	}
	return total
}

func (w *world) value(q worldQuality, choose map[string]int) float64 {
	whole := map[string]float64{"min": math.Inf(1), "product": 1, "sum": 0}[q.rule]
	for _, f := range w.families {
		for _, component := range f.components {
			x, ok := w.choice(component, choose).qualities[q.name]
			switch {
			case !ok:
			case q.rule == "min":
				whole = min(whole, x)
			case q.rule == "product":
				whole *= x
			default:
				whole += x
			}
		}
	}
	return whole
}

func (w *world) meets(choose map[string]int, but string) bool {
	for _, q := range w.qualities {
		x := w.value(q, choose)
		if q.name != but && (q.has == 1 && x < q.least-1e-9 || q.has == 2 && x > q.most+1e-9) {
			return false
		}
	}
	return true
}

// every visits all assemblies, each as a choice for each component.
func (w *world) every(visit func(choose map[string]int)) {
	choose := map[string]int{}
	var families func(i int)
	families = func(i int) {
		if i == len(w.families) {
			visit(choose)
			return
		}
		f := w.families[i]
		var instances func(k int)
		instances = func(k int) {
			if k == len(f.components) {
				families(i + 1)
				return
			}
			for c := range f.choices {
				choose[f.components[k]] = c
				if f.bound {
					for _, other := range f.components {
						choose[other] = c
					}
					families(i + 1)
				} else {
					instances(k + 1)
				}
			}
		}
		instances(0)
	}
	families(0)
}

func TestSelectionEqualsBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := draw(t)
		plan, err := ParsePlan("w.yaml", []byte(w.yaml.String()))
		require.NoError(t, err, w.yaml.String())
		rule := prune.Rule{Alpha: rapid.SampledFrom([]float64{0, 0.1, 0.9}).Draw(t, "α"), Beta: 0.9}
		core := prune.Judge(w.root).Keep(rule)
		kept := map[*graph.Node]bool{}
		var note func(n *prune.Node)
		note = func(n *prune.Node) {
			kept[n.Node] = core.Kept(n)
			for _, c := range n.Children {
				note(c)
			}
		}
		note(core.Root)

		var times []float64
		front := map[string]map[float64]float64{} // least time by value of a quality
		for _, q := range w.qualities {
			front[q.name] = map[float64]float64{}
		}
		w.every(func(choose map[string]int) {
			time := w.time(w.root, choose, func(n *graph.Node) bool { return kept[n] })
			if math.IsInf(time, 1) || !w.meets(choose, "") {
				return
			}
			times = append(times, time)
			for _, q := range w.qualities {
				x := math.Round(w.value(q, choose)*1e9) / 1e9 // products in another order differ by rounding
				if least, ok := front[q.name][x]; !ok || time < least {
					front[q.name][x] = time
				}
			}
		})
		slices.Sort(times)

		question := Question{Graph: &graph.Graph{Root: w.root}, Plan: plan, Rule: rule, Best: 3}
		for _, q := range w.qualities {
			question.Front = append(question.Front, q.name)
		}
		a, err := Select(context.Background(), question)
		if len(times) == 0 {
			var infeasible *Infeasible
			require.ErrorAs(t, err, &infeasible)
			require.NotEmpty(t, infeasible.Reasons)
			return
		}
		require.NoError(t, err, w.yaml.String())
		require.True(t, a.Proven)
		require.InDelta(t, times[0], a.Time, 1e-9)
		chosen := map[string]int{}
		for v, variable := range a.variables {
			for _, component := range variable.instances {
				chosen[component] = a.choice[v]
			}
		}
		require.InDelta(t, times[0], w.time(w.root, chosen, func(n *graph.Node) bool { return kept[n] }), 1e-9)
		require.True(t, w.meets(chosen, ""))

		// What the answer says of its parts adds up to the whole.
		parts := a.Fixed + a.Pruned
		for _, c := range a.Choices {
			parts += c.Time
			// Next is the best assembly without this choice.
			best := math.Inf(1)
			w.every(func(choose map[string]int) {
				if i := w.choice(c.Instances[0], choose); i.name != c.Implementation && w.meets(choose, "") {
					best = min(best, w.time(w.root, choose, func(n *graph.Node) bool { return kept[n] }))
				}
			})
			if math.IsInf(best, 1) {
				require.Nil(t, c.Next)
			} else {
				require.InDelta(t, best-a.Time, c.Next.Costs, 1e-9)
			}
		}
		require.InDelta(t, a.Time, parts, 1e-9)
		for _, f := range a.Fronts {
			require.True(t, f.Complete)
			var want []run.FrontPoint // for rising quality, those that are faster than all better ones
			values := []float64{}
			for x := range front[f.Quality] {
				values = append(values, x)
			}
			slices.Sort(values)
			fastest := math.Inf(1)
			for _, x := range slices.Backward(values) {
				if time := front[f.Quality][x]; time < fastest-1e-9 {
					fastest = time
					want = append(want, run.FrontPoint{Value: x, Assembly: run.Assembly{Time: time}})
				}
			}
			slices.Reverse(want)
			require.Len(t, f.Points, len(want), "%v %v", want, f.Points)
			for i := range want {
				require.InDelta(t, want[i].Time, f.Points[i].Time, 1e-9)
				require.InDelta(t, want[i].Value, f.Points[i].Value, 1e-9)
			}
		}
	})
}

// What the explanation of infeasible limits says is so: a limit by itself cannot be met, or some together cannot.
func TestInfeasibleLimitsAreExplained(t *testing.T) {
	met := 0
	rapid.Check(t, func(t *rapid.T) {
		w := draw(t)
		plan, err := ParsePlan("w.yaml", []byte(w.yaml.String()))
		require.NoError(t, err)
		_, err = Select(context.Background(), Question{Graph: &graph.Graph{Root: w.root}, Plan: plan, Best: 1})
		var infeasible *Infeasible
		if !errors.As(err, &infeasible) || strings.Contains(err.Error(), "forbidden") {
			return
		}
		met++
		for _, q := range w.qualities {
			best, sign := math.Inf(-1), 1.0
			if q.has == 2 {
				sign = -1
			}
			w.every(func(choose map[string]int) {
				if !math.IsInf(w.time(w.root, choose, func(*graph.Node) bool { return true }), 1) {
					best = max(best, sign*w.value(q, choose))
				}
			})
			limit := map[int]float64{1: q.least, 2: q.most}[q.has]
			says := slices.ContainsFunc(infeasible.Reasons, func(r string) bool { return strings.HasPrefix(r, q.name+" is ") })
			require.Equal(t, q.has > 0 && best < sign*limit-1e-9, says, "%v: %v", q, infeasible.Reasons)
			if says {
				require.Contains(t, err.Error(), fmt.Sprintf("%.6g short of %s", math.Abs(limit-sign*best), q.name))
			}
		}
	})
	t.Logf("%d infeasible assemblies", met)
}
