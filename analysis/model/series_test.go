package model_test

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"marple/analysis/model"
	"marple/analysis/series"
)

// sizes are array sizes as in the thesis' figures.
var sizes = []float64{1000, 2000, 4000, 8000, 16000, 32000, 64000}

func notes(m *model.Model) string { return strings.Join(m.Notes, "; ") }

func TestALabelThatExplainsTheModesDividesThem(t *testing.T) {
	r := random(3)
	s := &series.Series{Name: "States.compute", Response: "time", Unit: "us", Parameters: []string{"Q"}, Labels: map[string][]string{}}
	for _, q := range sizes {
		for k := range 20 {
			y, access := 0.01*q*(1+0.05*r.NormFloat64()), "sequential"
			if k%2 == 1 {
				y, access = y*(1+3*math.Log2(q/1000)/6), "strided"
			}
			s.X, s.Y = append(s.X, []float64{q}), append(s.Y, y)
			s.Labels["access"] = append(s.Labels["access"], access)
			s.Labels["weather"] = append(s.Labels["weather"], []string{"fine", "wet"}[r.IntN(2)])
		}
	}
	var f model.Fitter
	list := f.FitSeries(s, model.Options{})
	require.Len(t, list, 2)
	require.Equal(t, map[string]string{"access": "sequential"}, list[0].Where, "the weather makes no difference")
	require.Equal(t, map[string]string{"access": "strided"}, list[1].Where)
	require.Equal(t, "States.compute time (access strided)", list[1].Title())
	for _, m := range list {
		require.Nil(t, m.Mode)
		require.Equal(t, "us", m.Unit)
	}
	require.InEpsilon(t, 640, predict(t, list[0], 64000).Mean, 0.1)
	require.InEpsilon(t, 2560, predict(t, list[1], 64000).Mean, 0.1)

	delete(s.Labels, "access")
	list = f.FitSeries(s, model.Options{})
	require.Len(t, list, 2, "without the label it stays a mixture")
	require.Equal(t, 2, list[0].Mode.Of)
	require.Nil(t, list[0].Where)
}

func TestParametersOfFewValues(t *testing.T) {
	s := &series.Series{Response: "time", Parameters: []string{"n", "threads", "nodes"}}
	for _, n := range sizes {
		for _, threads := range []float64{1, 2} {
			s.X, s.Y = append(s.X, []float64{n, threads, 4}), append(s.Y, 5+n/threads)
		}
	}
	var f model.Fitter
	list := f.FitSeries(s, model.Options{})
	require.Len(t, list, 2)
	require.Equal(t, "5 + n", list[0].Expression.String())
	require.Equal(t, "5 + 0.5*n", list[1].Expression.String())
	require.Equal(t, map[string]string{"threads": "2"}, list[1].Where)
	require.Contains(t, notes(list[0]), "nodes was 4 in all samples")
}

func TestTheContextChangesTheModelOrNot(t *testing.T) {
	for _, factor := range []float64{1, 3} {
		r := random(3)
		s := &series.Series{Name: "ICC.prolong", Response: "wall", Parameters: []string{"n"}}
		for _, n := range sizes {
			for k := range 10 {
				place := []string{"go > Advance", "go > Regrid"}[k%2]
				y := 2 + 0.01*n
				if k%2 == 1 {
					y *= factor
				}
				s.X, s.Y, s.Place = append(s.X, []float64{n}), append(s.Y, y*(1+0.05*r.NormFloat64())), append(s.Place, place)
			}
		}
		var f model.Fitter
		list := f.FitSeries(s, model.Options{AverageModes: true})
		if factor == 1 {
			require.Len(t, list, 1)
			require.Contains(t, notes(list[0]), "the context makes no difference: the same model holds for all 2 call paths")
			continue
		}
		require.Len(t, list, 3)
		require.Contains(t, notes(list[0]), "the context changes the model: 2 call paths differ")
		require.Equal(t, map[string]string{"path": "go > Regrid"}, list[2].Where)
		require.InEpsilon(t, 3*(2+640), predict(t, list[2], 64000).Mean, 0.08)
	}
}

func TestWhatTheSourceLeftOutIsTold(t *testing.T) {
	s := &series.Series{Response: "y", Parameters: []string{"n"}, LeftOut: []series.LeftOut{{Why: "the response is infinite", Count: 3, First: "line 7"}}, Notes: []string{"a note"}}
	for _, n := range sizes {
		s.X, s.Y = append(s.X, []float64{n}), append(s.Y, n)
	}
	var f model.Fitter
	m := f.FitSeries(s, model.Options{})[0]
	require.Equal(t, []model.LeftOut{{Why: "the response is infinite (first: line 7)", Count: 3}}, m.LeftOut)
	require.Equal(t, []string{"a note"}, m.Notes)
}

// The mean models and deviations that the thesis prints in section VII, in microseconds by array size.
var thesis = []struct {
	name            string
	options         model.Options // the family that its formula is of
	mean, deviation func(q float64) float64
	from            float64 // smallest array for which both are positive
}{
	{"States", model.Options{Family: model.Power}, func(q float64) float64 { return math.Exp(1.19*math.Log(q) - 3.68) },
		// Printed is exp(1.29 log Q), which at Q = 1000 is 79 times the mean: the additive constant must be missing.
		// In its place stands one that makes it a tenth of the mean times Q^0.1.
		func(q float64) float64 { return math.Exp(1.29*math.Log(q) - 3.68 - math.Log(10)) }, 1000},
	{"Godunov", model.Options{Family: model.Linear}, func(q float64) float64 { return -963 + 0.315*q },
		func(q float64) float64 { return -526 + 0.152*q }, 5000},
	{"EFM", model.Options{Family: model.Linear}, func(q float64) float64 { return -8.13 + 0.16*q },
		// Printed is a polynomial of degree 4 that is negative in places, one power of Q missing. In its place stands a
		// line with its constant.
		func(q float64) float64 { return 66.7 + 0.015*q }, 1000},
}

// draw measures one of the thesis' components at sizes from its smallest to thirty times that.
func draw(seed uint64, c int, points, repetitions int) *model.Samples {
	r := random(seed)
	at := make([]float64, points)
	for i := range at {
		at[i] = math.Round(thesis[c].from * math.Pow(30, float64(i)/float64(points-1)))
	}
	return measure(at, repetitions, func(q float64) float64 { return thesis[c].mean(q) + thesis[c].deviation(q)*r.NormFloat64() })
}

// covers counts, over draws, how often intervals hold the truth: of the mean in the middle, and of a new sample.
func covers(t testing.TB, c, draws, points, repetitions int, o model.Options) (mean, sample, family float64) {
	var f model.Fitter
	r := random(99)
	for seed := range draws {
		m := f.Fit(draw(uint64(1000*c+seed), c, points, repetitions), o)
		require.NotNil(t, m.Expression, m.Reason)
		q := math.Round(thesis[c].from * math.Sqrt(30))
		p := predict(t, m, q)
		truth := thesis[c].mean(q)
		if p.MeanInterval[0] <= truth && truth <= p.MeanInterval[1] {
			mean++
		}
		if y := truth + thesis[c].deviation(q)*r.NormFloat64(); p.Interval[0] <= y && y <= p.Interval[1] {
			sample++
		}
		if m.Family == thesis[c].options.Family {
			family++
		}
	}
	n := float64(draws) / 100
	return mean / n, sample / n, family / n
}

// Given the right family, 95 % intervals hold the truth in 93 to 97 % of 2,000 draws; what is left of that when
// the family is chosen by the fit, is told. The quick version has fewer draws, and room for what that means.
func TestIntervalsOfTheThesisModels(t *testing.T) {
	draws, room := 200, 4.5
	if os.Getenv("MARPLE_TEST_LONG") == "1" {
		draws, room = 2000, 2
	}
	for c := range thesis {
		mean, sample, _ := covers(t, c, draws, 8, 20, thesis[c].options)
		require.InDelta(t, 95, mean, room, "%s: intervals of the mean", thesis[c].name)
		require.InDelta(t, 95, sample, room, "%s: intervals of samples", thesis[c].name)
		chosenMean, chosenSample, family := covers(t, c, draws/2, 8, 20, model.Options{})
		require.Greater(t, family, 60.0, thesis[c].name)
		t.Logf("%-8s right family given: %.1f %% of means covered, %.1f %% of samples; chosen: right in %.0f %%, %.1f %%, %.1f %%",
			thesis[c].name, mean, sample, family, chosenMean, chosenSample)
	}
}

func TestModelsOfTheThesisPredict(t *testing.T) {
	for c := range thesis {
		var f model.Fitter
		m := f.Fit(draw(7, c, 8, 40), model.Options{})
		for _, times := range []float64{1, 2, 4} {
			q := 30 * thesis[c].from * times
			require.InEpsilon(t, thesis[c].mean(q), predict(t, m, q).Mean, 0.15, fmt.Sprint(thesis[c].name, m.Expression))
		}
		q := 15 * thesis[c].from
		require.InEpsilon(t, thesis[c].deviation(q), *predict(t, m, q).Deviation, 0.25, thesis[c].name)
	}
}
