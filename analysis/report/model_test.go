package report

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"marple/analysis/model"
	"marple/analysis/series"
	"marple/analysis/words"
)

// component is a series in two modes, with samples that cannot be used.
func component() *series.Series {
	r := rand.New(rand.NewPCG(1, 2))
	s := &series.Series{Name: "StatesConstructor.compute", Response: "wall", Unit: "us", Parameters: []string{"Q"},
		LeftOut: []series.LeftOut{{Why: "the response is infinite", Count: 2, First: "line 7"}}}
	for _, q := range []float64{1000, 2000, 4000, 8000, 16000, 32000} {
		for k := range 12 {
			y := 0.02 * q * (1 + 0.04*r.NormFloat64())
			if k%2 == 1 {
				y *= 1 + 3*math.Log2(q/1000)/5
			}
			s.X, s.Y = append(s.X, []float64{q}), append(s.Y, y)
		}
	}
	return s
}

func TestTextOfModels(t *testing.T) {
	var f model.Fitter
	list := f.FitSeries(component(), model.Options{})
	for _, m := range list {
		p, err := m.Predictor(nil)
		require.NoError(t, err)
		q, err := p.At([]float64{64000})
		require.NoError(t, err)
		m.Predictions = append(m.Predictions, q)
	}
	text := Models(list, false)
	golden(t, "models.txt", text)
	var many []*model.Model
	for range 5 {
		many = append(many, list...)
	}
	many = append(many, &model.Model{Name: "BC.compute", Response: "wall", Family: model.None, Reason: "too few points: 2 different values of Q, and choosing a family takes at least 5"})
	brief := Models(many, false)
	golden(t, "models_brief.txt", brief)
	for line := range strings.Lines(text + brief) {
		require.LessOrEqual(t, words.Width(strings.TrimRight(line, "\n")), 80, line)
	}
}

func TestPlotOfModels(t *testing.T) {
	var f model.Fitter
	s := component()
	list := f.FitSeries(s, model.Options{})
	p := Plot(s, list, nil)
	require.Len(t, p.Points, len(s.Y))
	require.Len(t, p.Curves, 2)
	require.Equal(t, "mode 1", p.Curves[0].Name)
	require.Equal(t, 32000.0, p.Curves[0].To)
	y, low, high := p.Curves[0].At(10000)
	require.InEpsilon(t, 200, y, 0.05)
	require.True(t, low < y && y < high)
	require.Nil(t, Plot(nil, []*model.Model{{Family: model.None}}, nil))
	require.NotNil(t, Plot(nil, list, nil), "models from a file have no points")
}
