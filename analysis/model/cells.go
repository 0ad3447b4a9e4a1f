package model

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Samples are the measured values of one response: Y[i] was measured at parameter values X[i].
type Samples struct {
	Parameters []string
	X          [][]float64
	Y          []float64
}

// Bounds of what is fitted.
const (
	MaxParameters = 4       // with which one response is modelled
	MaxSamples    = 1 << 22 // of one response
	leastValues   = 5       // different values of a parameter, to choose a family
	leastOthers   = 3       // the same where there are several parameters
)

// cell is all samples at one point: the same value of every parameter.
type cell struct {
	x []float64
	y []float64 // sorted
}

// cells groups samples by their point, in the order of the points. Samples that are not finite are none.
func (s *Samples) cells() []cell {
	order := make([]int, 0, len(s.Y))
	for i, y := range s.Y {
		if finite(y) && !slices.ContainsFunc(s.X[i], func(x float64) bool { return !finite(x) }) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int {
		return cmp.Or(slices.Compare(s.X[i], s.X[j]), cmp.Compare(s.Y[i], s.Y[j]))
	})
	var list []cell
	for _, i := range order {
		if len(list) == 0 || slices.Compare(list[len(list)-1].x, s.X[i]) != 0 {
			list = append(list, cell{x: s.X[i]})
		}
		last := &list[len(list)-1]
		last.y = append(last.y, s.Y[i])
	}
	return list
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// summary gives mean and sum of squared differences from it.
func summary(y []float64) (mean, squares float64) {
	for _, v := range y {
		mean += v / float64(len(y))
	}
	for _, v := range y {
		squares += (v - mean) * (v - mean)
	}
	return mean, squares
}

// median of sorted values.
func median(sorted []float64) float64 {
	n := len(sorted)
	if n == 0 {
		return math.NaN()
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// distinct counts the different values of a parameter.
func distinct(cells []cell, parameter int) int {
	seen := map[float64]bool{}
	for _, c := range cells {
		seen[c.x[parameter]] = true
	}
	return len(seen)
}

// unusable says why no family can be chosen for these cells, and "" if one can.
func unusable(names []string, cells []cell) string {
	least := leastValues
	if len(names) > 1 {
		least = leastOthers
	}
	for p, name := range names {
		n := distinct(cells, p)
		switch {
		case n == 1 && len(cells) > 0:
			return fmt.Sprintf("%s has one value only, %g: nothing can be said about how the response depends on it", name, cells[0].x[p])
		case n < least:
			return fmt.Sprintf("too few points: %d different values of %s, and choosing a family takes at least %d", n, name, least)
		}
	}
	if len(names) == 0 {
		if len(cells) == 1 && len(cells[0].y) < 2 {
			return "one sample only"
		}
		return "" // a constant
	}
	if len(cells) < leastValues {
		return fmt.Sprintf("too few points: %d, and choosing a family takes at least %d", len(cells), leastValues)
	}
	return ""
}
