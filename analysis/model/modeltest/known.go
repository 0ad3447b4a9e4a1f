package modeltest

import (
	"math/rand/v2"

	"marple/analysis/model"
)

// A Known is a function as costs of programs are, or as one was published, at the points where somebody would measure it.
type Known struct {
	*Truth
	Runs bool // its samples scatter as those of runs do
}

// KnownFunctions are the functions by which fits of several tools are compared.
func KnownFunctions() []Known {
	p, n := []float64{4, 8, 16, 32, 64}, []float64{1000, 2000, 4000, 8000, 16000}
	q := []float64{10000, 25000, 50000, 75000, 100000, 150000}
	list := []struct {
		name, form string
		c          []float64
		axes       map[string][]float64
		runs       bool
	}{
		{"constant", "c0", []float64{5}, map[string][]float64{"p": p}, false},
		{"log p", "c0 + c1*log2(p)", []float64{1, 0.4}, map[string][]float64{"p": p}, false},
		{"p", "c0 + c1*p", []float64{1, 0.05}, map[string][]float64{"p": p}, false},
		{"p log p", "c0 + c1*p*log2(p)", []float64{1, 0.02}, map[string][]float64{"p": p}, false},
		{"1/p", "c0 + c1*p^-1", []float64{1, 100}, map[string][]float64{"p": p}, false},
		{"n^2", "c0 + c1*n^2", []float64{1, 1e-7}, map[string][]float64{"n": n}, false},
		{"n^1.5 log n", "c0 + c1*n^(3/2)*log2(n)", []float64{1, 1e-6}, map[string][]float64{"n": n}, false},
		{"n + n^2", "c0 + c1*n + c2*n^2", []float64{1, 1e-3, 1e-7}, map[string][]float64{"n": n}, false},
		{"n*p", "c0 + c1*n*p", []float64{1, 1e-4}, map[string][]float64{"n": n, "p": p}, false},
		{"n log n + p", "c0 + c1*n*log2(n) + c2*p", []float64{1, 1e-5, 0.05}, map[string][]float64{"n": n, "p": p}, false},
		{"n/p + log p", "c0 + c1*n*p^-1 + c2*log2(p)", []float64{0.1, 1e-3, 0.05}, map[string][]float64{"n": n, "p": p}, false},
		{"States", "exp(c0*log(q) - c1)", []float64{1.19, 3.68}, map[string][]float64{"q": q}, true},
		{"GodunovFlux", "c0*q - c1", []float64{0.315, 963}, map[string][]float64{"q": q}, true},
		{"EFMFlux", "c0*q - c1", []float64{0.16, 8.13}, map[string][]float64{"q": q}, true},
		{"halo exchange", "c0 + c1*n*p^-1 + c2*n^(1/2)*p^(-1/2) + c3*log2(p)", []float64{0.5, 0.01, 0.05, 0.2}, map[string][]float64{"n": n, "p": p}, true},
		{"collective, n*log p", "c0 + c1*n*log2(p)", []float64{20, 0.002}, map[string][]float64{"n": n, "p": p}, true},
	}
	var all []Known
	for _, k := range list {
		t := &Truth{Family: k.name, Points: [][]float64{{}}}
		for _, name := range []string{"n", "p", "q"} {
			if k.axes[name] == nil {
				continue
			}
			t.Parameters = append(t.Parameters, name)
			var next [][]float64
			for _, point := range t.Points {
				for _, v := range k.axes[name] {
					next = append(next, append(point[:len(point):len(point)], v))
				}
			}
			t.Points = next
		}
		t.set(k.form, k.c...)
		all = append(all, Known{t, k.runs})
	}
	return all
}

// Samples measures the function, with this noise: normal, or as that of runs.
func (k Known) Samples(r *rand.Rand, repetitions int, noise float64) *model.Samples {
	if !k.Runs {
		return k.Truth.Samples(r, repetitions, noise)
	}
	return k.Disturbed(r, repetitions, noise)
}

// Disturbed measures the function as runs do: nothing makes one faster, much makes one slower a bit, and one of 25 is
// disturbed by something else and takes half as long again. The mean of the undisturbed ones is the function.
func (t *Truth) Disturbed(r *rand.Rand, repetitions int, noise float64) *model.Samples {
	s := &model.Samples{Parameters: t.Parameters}
	for _, x := range t.Points {
		for range repetitions {
			v := t.mean(x) * (1 + noise*(r.ExpFloat64()-1))
			if noise > 0 && r.IntN(25) == 0 {
				v *= 1.5
			}
			s.X = append(s.X, x)
			s.Y = append(s.Y, v)
		}
	}
	return s
}
