package selection

import (
	"testing"

	"github.com/stretchr/testify/require"

	"marple/analysis/run"
	"marple/analysis/selection/graph"
	"marple/analysis/series"
)

// Two implementations declare themselves and a third is known of; what they say of the same things is joined.
var declared = []string{
	`families: {flux: {implementations: {efm: {class: EFMFlux, fit: yes, qualities: {accuracy: 0.8}}}}}`,
	"qualities: {accuracy: {rule: min}}\nfamilies:\n  flux:\n    implementations:\n      roe: {class: RoeFlux, time: 1e-3*q, qualities: {accuracy: 0.9}}\n",
	`{qualities: {accuracy: {rule: min}}, families: {flux: {implementations: {godunov: {class: GodunovFlux, fit: yes, measured: yes}}}}}`,
	``,
}

func TestWhatComponentsDeclareIsJoined(t *testing.T) {
	plan, err := Declared(declared)
	require.NoError(t, err)
	require.NoError(t, plan.Limit("accuracy>=0.1"))
	root := &graph.Node{Name: "driver", Component: "driver", Inclusive: 1, Children: []*graph.Node{
		{Name: "EFMFlux[f1].compute", Component: "f1", Inclusive: 0.3, Calls: 10},
		{Name: "GodunovFlux[f2].compute", Component: "f2", Inclusive: 0.3, Calls: 10}}}
	q := Question{Graph: &graph.Graph{Root: root}, Plan: plan, Given: Sizes{Values: map[string]float64{"q": 20}}}

	efm := &series.Series{Name: "EFMFlux.compute", Response: "wall", Unit: "s", Parameters: []string{"q"}}
	for _, x := range []float64{10, 20, 30, 40, 50, 60} {
		efm.X, efm.Y, efm.Place = append(efm.X, []float64{x}), append(efm.Y, 0.0001*x), append(efm.Place, "")
	}
	godunov := &series.Series{Name: "GodunovFlux.compute", Response: "wall", Unit: "s", Parameters: []string{"q"},
		X: [][]float64{{10}}, Y: []float64{0.001}, Place: []string{""}}
	require.NoError(t, plan.Fit([]*series.Series{efm, godunov}))

	// Of Godunov there are too few records, and where the other one ran its time was not measured.
	_, err = Select(t.Context(), q)
	require.EqualError(t, err, "declared by the program:1:74: flux.godunov: measured: yes, but what ran as EFMFlux[f1].compute is of class EFMFlux: expected time: or model:")
	require.Len(t, plan.notes, 1)
	require.Contains(t, plan.notes[0], "flux.godunov counts as it was measured: GodunovFlux.compute wall: no model: q has one value only")

	godunov.X, godunov.Y, godunov.Place = efm.X, nil, efm.Place
	for _, x := range godunov.X {
		godunov.Y = append(godunov.Y, 0.0003*x[0])
	}
	require.NoError(t, plan.Fit([]*series.Series{efm, godunov}))
	a := answer(t, q)
	require.Equal(t, map[string]string{"flux": "efm"}, taken(a))
	require.Equal(t, []string{"f1", "f2"}, a.Choices[0].Instances)
	require.InDelta(t, 0.4+20*0.002, a.Time, 1e-9)
	require.InDelta(t, 20*0.004, a.Choices[0].Next.Costs, 1e-9)
	require.Equal(t, []run.CostModel{
		{Implementation: "flux.efm", Method: "compute", Expression: "0.0001*q", Deviation: "0", Unit: "s", Family: "linear", Samples: 6, Points: 6, Range: map[string][2]float64{"q": {10, 60}}},
		{Implementation: "flux.roe", Expression: "0.001*q", Unit: "s"},
		{Implementation: "flux.godunov", Method: "compute", Expression: "0.0003*q", Deviation: "0", Unit: "s", Family: "linear", Samples: 6, Points: 6, Range: map[string][2]float64{"q": {10, 60}}},
	}, a.Models)
}

func TestMistakesInWhatIsDeclared(t *testing.T) {
	const efm = `families: {flux: {implementations: {efm: {time: 1}}}}`
	for _, c := range []struct {
		texts []string
		want  string
	}{
		{nil, `declared by the program:1:1: expected "families:"`},
		{[]string{"# nothing"}, `declared by the program:1:1: expected "families:"`},
		{[]string{efm, `families: {flux: {implementations: {efm: {time: 2}}}}`}, `declared by the program:1:49: time: something else is declared of it already: "1"`},
		{[]string{efm, `families: {flux: 3}`}, `declared by the program:1:18: flux: expected lines of the form  key: value`},
		{[]string{efm, `families: {flux: {implementations: {roe: {time: 2*foo(x)}}}}`}, `declared by the program:1:51: flux.roe: time: no function "foo"`},
		{[]string{efm, `families: {`}, `declared by the program:1:`},
		{[]string{`families: [1]`, efm}, `declared by the program:1:12: families: something else is declared of it already: "[1]"`},
		{[]string{`sizes: {n: [1, 2]}`, `sizes: {n: 5}`}, `n: something else is declared of it already: "[1, 2]"`},
		{[]string{`families: {flux: {implementations: {efm: {time: ` + string(make([]byte, 2000))}, ` is longer than 1023 bytes; it can be said in several parts`},
	} {
		_, err := Declared(c.texts)
		require.ErrorContains(t, err, c.want, "%q", c.texts)
	}
	plan, err := Declared([]string{efm, efm, `families: {flux: {components: [a, b]}}`, `families: {flux: {components: [b, c]}}`})
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b", "c"}, plan.Families[0].Components)
}

// Texts of any content are joined or refused.
func FuzzDeclared(f *testing.F) {
	f.Add(declared[0], declared[1])
	f.Add(`a: &x [1, *x]`, `a: [2]`)
	f.Fuzz(func(t *testing.T, a, b string) { Declared([]string{a, b}) })
}
