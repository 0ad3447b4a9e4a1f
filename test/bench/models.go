package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"syscall"
	"time"

	"marple/analysis/model"
	"marple/analysis/model/modeltest"
)

// models prints how well functions are found that the fitting has never seen, and how fast. The functions are
// drawn anew each time; the seed is printed so that a table can be had again.
func models() {
	seed := uint64(time.Now().UnixNano())
	fmt.Printf("\nModels of functions drawn at random (seed %d): 5 to 7 points per parameter (10 for piecewise), 5 repetitions,\n", seed)
	fmt.Println("normal relative noise. Exact: the share of draws whose form was found, term by term. 2x, 4x: median relative")
	fmt.Println("error of predictions so far beyond the range, in all parameters. Covered: true means at the middle of the")
	fmt.Println("range within their 95 % intervals, after the family was chosen.")
	fmt.Printf("%-24s", "")
	noises := []float64{0, 0.02, 0.05, 0.10}
	for _, noise := range noises {
		fmt.Printf(" | %8s%2.0f %% noise     ", "", 100*noise)
	}
	fmt.Printf("\n%-24s", "")
	for range noises {
		fmt.Printf(" | %5s %5s %5s %5s", "exact", "2x", "4x", "cover")
	}
	fmt.Println()
	for _, group := range []struct {
		name     string
		families []string
		draws    int
	}{{"one parameter", modeltest.One, 400}, {"two parameters", modeltest.Two, 100}, {"three parameters", modeltest.Three, 20}} {
		all := make([]score, len(noises))
		for _, family := range group.families {
			fmt.Printf("%-24s", family)
			for i, noise := range noises {
				s := judge(family, noise, group.draws, seed)
				fmt.Printf(" | %s", s.text())
				all[i].add(s)
			}
			fmt.Println()
		}
		fmt.Printf("%-24s", "  "+group.name)
		for i := range noises {
			fmt.Printf(" | %s", all[i].text())
		}
		fmt.Printf("\n\n")
	}
	speed()
}

// score adds up fits.
type score struct {
	draws, exact, covered int
	twice, fourfold       []float64
}

func (s *score) add(t score) {
	s.draws += t.draws
	s.exact += t.exact
	s.covered += t.covered
	s.twice, s.fourfold = append(s.twice, t.twice...), append(s.fourfold, t.fourfold...)
}

func (s score) text() string {
	n := float64(s.draws)
	return fmt.Sprintf("%3.0f %% %5.1f %5.1f %3.0f %%", 100*float64(s.exact)/n, 100*median(s.twice), 100*median(s.fourfold), 100*float64(s.covered)/n)
}

func judge(family string, noise float64, draws int, seed uint64) score {
	r := rand.New(rand.NewPCG(seed, uint64(1000*noise)))
	var f model.Fitter
	s := score{draws: draws}
	for range draws {
		truth := modeltest.Draw(r, family)
		m := f.Fit(truth.Samples(r, 5, noise), model.Options{})
		p, err := m.Predictor(nil)
		check(err)
		if m.Form != nil && modeltest.Same(truth.Form, m.Form.String()) {
			s.exact++
		}
		off := func(times float64) float64 {
			x := truth.Beyond(times)
			return math.Abs(p.Mean(x)/truth.Mean(x) - 1)
		}
		s.twice, s.fourfold = append(s.twice, off(2)), append(s.fourfold, off(4))
		middle := truth.Points[len(truth.Points)/2]
		q, err := p.At(middle)
		check(err)
		if v := truth.Mean(middle); q.MeanInterval != nil && q.MeanInterval[0]-1e-6*v <= v && v <= q.MeanInterval[1]+1e-6*v {
			s.covered++
		}
	}
	return s
}

// speed times fits on one core, all call paths measured at the same points.
func speed() {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	fmt.Println("CPU time of fitting, garbage collection included, noise 5 %; all call paths measured at the same points, which the fitter makes use of")
	fmt.Printf("%-60s %20s %20s\n", "", "seconds", "every path by itself")
	for _, c := range []struct {
		what     string
		families []string
		paths    int
	}{{"1,000 call paths x 25 samples (5 points), one parameter", modeltest.One[:10], 1000}, {"100 call paths x 125 samples (25 points), two parameters", modeltest.Two[:4], 100}} {
		r := rand.New(rand.NewPCG(1, 2))
		var samples []*model.Samples
		for i := range c.paths {
			truth := modeltest.Draw(r, c.families[i%len(c.families)])
			truth.Points = shared(len(truth.Parameters))
			samples = append(samples, truth.Samples(r, 5, 0.05))
		}
		var together, alone []float64
		for range 7 {
			start := cpu()
			var f model.Fitter
			for _, s := range samples {
				f.Fit(s, model.Options{})
			}
			together = append(together, cpu()-start)
			start = cpu()
			for _, s := range samples {
				var f model.Fitter
				f.Fit(s, model.Options{})
			}
			alone = append(alone, cpu()-start)
		}
		fmt.Printf("%-60s %20s %20s\n", c.what, thousandths(together), thousandths(alone))
	}
}

// cpu is the processor time of this process so far, in seconds.
func cpu() float64 {
	var u syscall.Rusage
	check(syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// shared are five values of each parameter, in all combinations.
func shared(parameters int) [][]float64 {
	points := [][]float64{{}}
	for range parameters {
		var next [][]float64
		for _, p := range points {
			for _, v := range []float64{8, 16, 32, 64, 128} {
				next = append(next, append(slices.Clone(p), v))
			}
		}
		points = next
	}
	return points
}

func thousandths(list []float64) string {
	sorted := slices.Sorted(slices.Values(list))
	return fmt.Sprintf("%.3f (%.3f…%.3f)", median(list), sorted[len(sorted)/4], sorted[len(sorted)*3/4])
}
