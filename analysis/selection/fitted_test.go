package selection

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"marple/analysis/model"
	"marple/analysis/selection/graph"
	"marple/analysis/series"
)

// withFiles parses a plan in a directory of its own, with files beside it.
func withFiles(t *testing.T, yaml string, files map[string]string) (*Plan, error) {
	t.Helper()
	directory := t.TempDir()
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(directory, name), []byte(text), 0o666))
	}
	return ParsePlan(filepath.Join(directory, "f.yaml"), []byte(yaml))
}

const modelFile = `{"schema": 1, "models": [
 {"name": "A.go", "response": "wall", "unit": "ms", "expression": "2*x", "form": "a*x", "coefficients": {"a": 2},
  "covariance": [[0.01]], "confidence": 0.95, "degrees_of_freedom": 10, "deviation": {"family": "given", "expression": "0.1*x"},
  "range": {"x": [1, 4]}},
 {"name": "B.go", "response": "wall", "mode": {"index": 1, "of": 2, "share": 0.75}, "expression": "x"},
 {"name": "B.go", "response": "wall", "mode": {"index": 2, "of": 2, "share": 0.25}, "expression": "5*x*f/2", "machine": {"f": 9}},
 {"name": "C.go", "response": "wall", "family": "none", "reason": "too few points"}]}`

func TestModelsFromFiles(t *testing.T) {
	plan, err := withFiles(t, `
families:
  A: {implementations: {one: {model: {file: m.json, name: A.go}}}}
  B: {implementations: {one: {model: {file: m.json, name: B.go}}, two: {model: {file: m.json, name: B.go, mode: 2}}}}
machine: {f: 2}`, map[string]string{"m.json": modelFile})
	require.NoError(t, err)
	size := []graph.Size{{Calls: 10, At: map[string]float64{"x": 3}}}
	root := &graph.Node{Name: "driver", Component: "driver", Inclusive: 1, Children: []*graph.Node{
		{Name: "A.go", Component: "A", Calls: 10, Sizes: size}, {Name: "B.go", Component: "B", Calls: 10, Sizes: size}}}
	a := answer(t, Question{Graph: &graph.Graph{Root: root}, Plan: plan, Draws: 10})
	// A: 10 invocations of 6 ms; B: a mixture of 3 s and 15 s.
	require.InDelta(t, 1+0.06+10*6, a.Time, 1e-9)
	require.Equal(t, map[string]string{"A": "one", "B": "one"}, taken(a))
	require.InDelta(t, 150-60, a.Choices[1].Next.Costs, 1e-9)
	require.Empty(t, a.Notes)
	variance := 10*(0.3e-3*0.3e-3) + math.Pow(10*3*0.1e-3, 2) + 10*(0.75*9+0.25*225-36)
	require.InDelta(t, math.Sqrt(variance), a.Spread.Deviation, 1e-9)

	root.Children[0].Sizes = []graph.Size{{Calls: 10, At: map[string]float64{"x": 5}}}
	a = answer(t, Question{Graph: &graph.Graph{Root: root}, Plan: plan})
	require.Equal(t, []string{"A.one is used outside the range it was fitted for: x from 1 to 4"}, a.Notes)

	code, err := plan.Members()
	require.NoError(t, err)
	require.Contains(t, code, `predictions["Exec. Time"] = (2.0 * x_input) * 0.001;`)
	require.Contains(t, code, `0.75 * (x_input) + 0.25 * (`)

	for what, want := range map[string]string{
		`nowhere.json`:                          `f.yaml:1:47: A.one: model: `,
		`m.json`:                                `give {file, name, response}`,
		`{file: m.json, name: D.go}`:            `m.json: there is no such model; there are `,
		`{file: m.json, name: C.go}`:            `no model: too few points`,
		`{name: C.go}`:                          `A.one: model: "file" is missing`,
		`{file: m.json, name: A.go}, time: 1`:   `A.one: model: says what time, deviation and error are`,
		`{file: m.json, name: A.go, mode: 1}`:   `there is no such model`,
		`{file: broken.json}`:                   `broken.json: 1:`,
		`{file: m.json, response: compute}`:     `there is no such model`,
		`{file: m.json, name: A.go, mode: one}`: `"one": expected a number`,
	} {
		_, err := withFiles(t, `families: {A: {implementations: {one: {model: `+what+`}}}}`, map[string]string{"m.json": modelFile, "broken.json": "{]"})
		require.ErrorContains(t, err, want, what)
		require.ErrorContains(t, err, "f.yaml:1:", what)
	}
	plan, err = withFiles(t, `families: {A: {implementations: {one: {model: m.mml}}}}`, map[string]string{
		"m.mml": `<math xmlns="http://www.w3.org/1998/Math/MathML"><apply><times/><cn>2</cn><ci>x</ci></apply></math>`})
	require.NoError(t, err)
	require.Equal(t, []string{"x"}, plan.fitted[0].names)
}

// What marple fit writes of a run has several responses, and modes that a parameter tells apart.
func TestModelsOfAllThatFitWrites(t *testing.T) {
	const file = `{"schema": 1, "models": [
 {"name": "sc.compute", "response": "wall", "unit": "s", "expression": "100*q"},
 {"name": "sc.compute", "response": "mpi", "unit": "s", "family": "none", "reason": "all are 0"},
 {"name": "sc.compute", "response": "exclusive", "unit": "s", "expression": "q", "where": {"mode": "0"}, "samples": 30},
 {"name": "sc.compute", "response": "exclusive", "unit": "s", "expression": "4*q", "where": {"mode": "1"}, "samples": 10},
 {"name": "sc.compute", "response": "exclusive", "unit": "s", "expression": "7*q", "where": {"path": "a > b"}, "samples": 10}]}`
	const yaml = `families: {sc: {implementations: {one: {model: {file: m.json, name: sc.compute}}}}}`
	for _, c := range []struct {
		what  string
		sizes []graph.Size
		want  float64
	}{
		{"the modes' shares", []graph.Size{{Calls: 4, At: map[string]float64{"q": 2}}}, 4 * 2 * (0.75*1 + 0.25*4)},
		{"the recorded sequence", []graph.Size{{Calls: 1, At: map[string]float64{"q": 2, "mode": 0}}, {Calls: 3, At: map[string]float64{"q": 2, "mode": 1}}}, 2*1 + 3*2*4},
	} {
		plan, err := withFiles(t, yaml, map[string]string{"m.json": file})
		require.NoError(t, err)
		root := &graph.Node{Name: "driver.go", Component: "driver", Children: []*graph.Node{{Name: "sc.compute", Component: "sc", Calls: 4, Sizes: c.sizes}}}
		a := answer(t, Question{Graph: &graph.Graph{Root: root}, Plan: plan})
		require.InDelta(t, c.want, a.Time, 1e-9, c.what)
		require.Equal(t, []string{"sc.one is modelled by the response exclusive of m.json"}, a.Notes)
	}
	plan, err := withFiles(t, strings.Replace(yaml, "{model:", "{inclusive: yes, model:", 1), map[string]string{"m.json": file})
	require.NoError(t, err)
	require.Equal(t, []string{"sc.one is modelled by the response wall of m.json"}, plan.notes)
}

// A component with two modes is modelled from the records of the run.
func TestModesFittedFromTheRun(t *testing.T) {
	plan, err := ParsePlan("f.yaml", []byte(`families: {sc: {implementations: {one: {fit: yes}}}}`))
	require.NoError(t, err)
	s := &series.Series{Name: "sc.compute", Response: "exclusive", Unit: "s", Parameters: []string{"mode", "q"}}
	for q := 1.0; q <= 8; q++ {
		for _, mode := range []float64{0, 1} {
			s.X, s.Y, s.Place = append(s.X, []float64{mode, q}), append(s.Y, q+3*q*mode), append(s.Place, "")
		}
	}
	require.NoError(t, plan.Fit([]*series.Series{s}))
	root := &graph.Node{Name: "driver.go", Component: "driver", Children: []*graph.Node{{Name: "sc.compute", Component: "sc", Calls: 16}}}
	a := answer(t, Question{Graph: &graph.Graph{Root: root}, Plan: plan, Given: Sizes{Records: Recorded([]*series.Series{s})}})
	require.InEpsilon(t, 36+4*36, a.Time, 1e-6)
	// One model of both is their mean.
	models := (&model.Fitter{}).FitSeries(s, model.Options{AverageModes: true})
	require.Len(t, models, 1)
	p, err := models[0].Predictor(nil)
	require.NoError(t, err)
	require.InEpsilon(t, 2.5*6, p.Mean([]float64{6}), 1e-6)
	require.Contains(t, models[0].Notes, "average over mode 0, 1, as asked for")
}

// Thesis chapter VI with models fitted from records, in place of the known ones.
func TestValidationWithFittedModels(t *testing.T) {
	functions := map[string]func(x float64) float64{
		"A1": func(x float64) float64 { return 2 * x }, "A2": func(x float64) float64 { return x * x },
		"B1": func(x float64) float64 { return x * x * x }, "B2": func(x float64) float64 { return 2 * x * x },
	}
	document := &model.Document{Schema: model.Schema}
	fitter := &model.Fitter{}
	for _, name := range []string{"A1", "A2", "B1", "B2"} {
		s := &model.Samples{Parameters: []string{"x"}}
		for i := 1; i <= 20; i++ {
			x := float64(i) / 4
			s.X, s.Y = append(s.X, []float64{x}), append(s.Y, functions[name](x))
		}
		m := fitter.Fit(s, model.Options{})
		m.Name = name
		document.Models = append(document.Models, m)
	}
	data, err := document.Encode()
	require.NoError(t, err)
	for _, c := range []struct{ run, a, b string }{{"below", "A2", "B1"}, {"above", "A1", "B2"}, {"mixed", "A1", "B2"}} {
		q := question(t, "validation-"+c.run+".json", "validation.yaml")
		q.Plan, err = withFiles(t, `
families:
  A: {implementations: {A1: {model: {file: m.json, name: A1}}, A2: {model: {file: m.json, name: A2}}}}
  B: {implementations: {B1: {model: {file: m.json, name: B1}}, B2: {model: {file: m.json, name: B2}}}}`, map[string]string{"m.json": string(data)})
		require.NoError(t, err)
		require.Equal(t, map[string]string{"A": c.a, "B": c.b}, taken(answer(t, q)), c.run)
	}
}

// The same with the models of what ran made from the run's own records, as at the end of a run.
func TestValidationFittedFromTheRun(t *testing.T) {
	for _, c := range []struct{ run, a, b string }{{"below", "A2", "B1"}, {"above", "A1", "B2"}, {"mixed", "A1", "B2"}} {
		q := question(t, "validation-"+c.run+".json", "validation.yaml")
		var invocations []*series.Series
		for k, name := range []string{"A.go", "B.go"} {
			s := &series.Series{Name: name, Response: "wall", Unit: "s", Parameters: []string{"x"}}
			for _, size := range q.Graph.Root.Children[k].Sizes {
				x := size.At["x"]
				s.X, s.Y, s.Place = append(s.X, []float64{x}), append(s.Y, []float64{2 * x, x * x * x}[k]), append(s.Place, "")
			}
			invocations = append(invocations, s)
		}
		var err error
		q.Plan, err = ParsePlan("f.yaml", []byte(`
families:
  A: {implementations: {A1: {fit: yes}, A2: {time: x^2}}}
  B: {implementations: {B1: {fit: yes}, B2: {time: 2*x^2}}}`))
		require.NoError(t, err)
		require.NoError(t, q.Plan.Fit(invocations))
		a := answer(t, q)
		require.Equal(t, map[string]string{"A": c.a, "B": c.b}, taken(a), c.run)
		// What was fitted to the wall time holds the components below, which are not counted again.
		require.InDelta(t, 0.5, a.Fixed, 1e-9)
	}
	q := two(t, `families: {A: {implementations: {one: {fit: yes}}}}`)
	_, err := Select(context.Background(), q)
	require.EqualError(t, err, "f.yaml:1:34: A.one: fit: yes needs records of invocations of A.go, and the run has kept none")
	err = q.Plan.Fit([]*series.Series{{Name: "A.go", Response: "wall", Parameters: []string{"x"}, X: [][]float64{{1}}, Y: []float64{1}, Place: []string{""}}})
	require.ErrorContains(t, err, "f.yaml:1:34: A.one: fit: ")
}

// A component with a choice may call another with a choice, where records say what each took by itself.
func TestFittedWithoutWhatItCalls(t *testing.T) {
	plan, err := ParsePlan("f.yaml", []byte(`
families:
  A: {implementations: {A1: {fit: yes}, A2: {time: x^2}}}
  C: {implementations: {C1: {fit: yes}, C2: {time: 9}}}`))
	require.NoError(t, err)
	sizes := []graph.Size{}
	record := func(name, response string, y func(x float64) float64) *series.Series {
		s := &series.Series{Name: name, Response: response, Unit: "s", Parameters: []string{"x"}}
		for i := range 6 {
			x := float64(i + 1)
			s.X, s.Y, s.Place = append(s.X, []float64{x}), append(s.Y, y(x)), append(s.Place, "")
			sizes = append(sizes, graph.Size{Calls: 1, At: map[string]float64{"x": x}})
		}
		return s
	}
	invocations := []*series.Series{
		record("A.go", "wall", func(x float64) float64 { return 2*x + 1 }), record("A.go", "exclusive", func(x float64) float64 { return 2 * x }),
		record("C.go", "wall", func(x float64) float64 { return 1 }), record("C.go", "exclusive", func(x float64) float64 { return 1 }),
	}
	root := &graph.Node{Name: "driver", Component: "driver", Inclusive: 50, Children: []*graph.Node{
		{Name: "A.go", Component: "A", Inclusive: 48, Calls: 6, Sizes: sizes[:6], Children: []*graph.Node{
			{Name: "C.go", Component: "C", Inclusive: 6, Calls: 6, Sizes: sizes[:6]}}}}}
	require.NoError(t, plan.Fit(invocations))
	a := answer(t, Question{Graph: &graph.Graph{Root: root}, Plan: plan})
	require.Equal(t, map[string]string{"A": "A1", "C": "C1"}, taken(a))
	require.InDelta(t, 2+42+6, a.Time, 1e-9)

	require.NoError(t, plan.Fit([]*series.Series{invocations[0], invocations[2]}))
	_, err = Select(t.Context(), Question{Graph: &graph.Graph{Root: root}, Plan: plan})
	require.EqualError(t, err, "f.yaml:3:25: A.A1: inclusive: yes is not possible, since A.go calls C.go, which has a choice of its own")
}
