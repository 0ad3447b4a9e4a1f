// Package stat holds the statistics that are merged over calls, threads and ranks. Those of time are made of
// integers only, so that merging is exactly associative and commutative: a tree of any shape over the
// ranks gives the same bits.
//
// It uses the standard library only and holds no state.
package stat

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// Uint128 is an unsigned sum of squares.
type Uint128 struct{ Hi, Lo uint64 }

// Plus adds; overflow beyond 128 bits wraps.
func (a Uint128) Plus(b Uint128) Uint128 {
	lo, carry := bits.Add64(a.Lo, b.Lo, 0)
	hi, _ := bits.Add64(a.Hi, b.Hi, carry)
	return Uint128{hi, lo}
}

// Square is x².
func Square(x uint64) Uint128 {
	hi, lo := bits.Mul64(x, x)
	return Uint128{hi, lo}
}

// Float is the nearest float64.
func (a Uint128) Float() float64 { return math.Ldexp(float64(a.Hi), 64) + float64(a.Lo) }

// Scaled is a·f rounded down; f must not be negative.
func (a Uint128) Scaled(f float64) Uint128 {
	x := a.Float() * f
	hi := math.Floor(math.Ldexp(x, -64))
	if hi >= math.Ldexp(1, 64) {
		return Uint128{math.MaxUint64, math.MaxUint64}
	}
	return Uint128{uint64(hi), uint64(x - math.Ldexp(hi, 64))}
}

// Stat describes samples, such as the durations of calls in nanoseconds. The zero value describes none.
// MinRank and MaxRank are ranks where the extremes were seen, the lowest where there are several.
type Stat struct {
	N                uint64
	Sum              uint64
	Sq               Uint128
	Min, Max         uint64
	MinRank, MaxRank int32
}

// Of describes one sample.
func Of(x uint64, rank int32) Stat {
	return Stat{N: 1, Sum: x, Sq: Square(x), Min: x, Max: x, MinRank: rank, MaxRank: rank}
}

// Merge describes the samples of both.
func (s Stat) Merge(t Stat) Stat {
	if s.N == 0 {
		return t
	}
	if t.N == 0 {
		return s
	}
	m := Stat{N: s.N + t.N, Sum: s.Sum + t.Sum, Sq: s.Sq.Plus(t.Sq), Min: s.Min, MinRank: s.MinRank, Max: s.Max, MaxRank: s.MaxRank}
	if t.Min < s.Min || t.Min == s.Min && t.MinRank < s.MinRank {
		m.Min, m.MinRank = t.Min, t.MinRank
	}
	if t.Max > s.Max || t.Max == s.Max && t.MaxRank < s.MaxRank {
		m.Max, m.MaxRank = t.Max, t.MaxRank
	}
	return m
}

// Mean is 0 for no samples.
func (s Stat) Mean() float64 {
	if s.N == 0 {
		return 0
	}
	return float64(s.Sum) / float64(s.N)
}

// Deviation is the standard deviation of the samples themselves (the population's, divided by N).
func (s Stat) Deviation() float64 { return s.DeviationOver(s.N) }

// MeanOver and DeviationOver count n-N further samples of value 0, such as ranks that never came here.
func (s Stat) MeanOver(n uint64) float64 {
	if n == 0 {
		return 0
	}
	return float64(s.Sum) / float64(n)
}

func (s Stat) DeviationOver(n uint64) float64 {
	if n == 0 {
		return 0
	}
	mean := float64(s.Sum) / float64(n)
	// Exact integers up to here; their difference is what may cancel.
	variance := s.Sq.Float()/float64(n) - mean*mean
	return math.Sqrt(max(0, variance))
}

// Reals describes values that somebody reports, in whatever unit and of whatever sign. Their sums are exact for whole
// numbers below 2^53, and rounded for others. The zero value describes none.
type Reals struct {
	N                      uint64
	Sum, Squares, Min, Max float64
	MinRank, MaxRank       int32
}

// RealOf describes one value. Infinity counts as the largest number.
func RealOf(x float64, rank int32) Reals {
	x = finite(x)
	return Reals{1, x, finite(x * x), x, x, rank, rank}
}

func finite(x float64) float64 { return min(max(x, -math.MaxFloat64), math.MaxFloat64) }

// Merge describes the values of both.
func (r Reals) Merge(s Reals) Reals {
	if r.N == 0 {
		return s
	}
	if s.N == 0 {
		return r
	}
	m := Reals{r.N + s.N, finite(r.Sum + s.Sum), finite(r.Squares + s.Squares), r.Min, r.Max, r.MinRank, r.MaxRank}
	if s.Min < r.Min || s.Min == r.Min && s.MinRank < r.MinRank {
		m.Min, m.MinRank = s.Min, s.MinRank
	}
	if s.Max > r.Max || s.Max == r.Max && s.MaxRank < r.MaxRank {
		m.Max, m.MaxRank = s.Max, s.MaxRank
	}
	return m
}

// Mean is 0 for no values.
func (r Reals) Mean() float64 {
	if r.N == 0 {
		return 0
	}
	return r.Sum / float64(r.N)
}

// Deviation is the standard deviation of the values themselves.
func (r Reals) Deviation() float64 {
	if r.N == 0 {
		return 0
	}
	mean := r.Mean()
	return finite(math.Sqrt(max(0, r.Squares/float64(r.N)-mean*mean)))
}

const (
	// AllRanks is the number of ranks up to which every rank's share in something is kept.
	AllRanks = 64
	// TopRanks is how many of the largest shares are kept beyond that.
	TopRanks = 8
)

// Top is how many ranks' shares are kept of so many.
func Top(ranks int) int {
	if ranks <= AllRanks {
		return AllRanks
	}
	return TopRanks
}

// Ranked is one rank's share in something.
type Ranked struct {
	Rank  int32
	Value uint64 // what ranks are ordered by: exclusive time in ns
	Other uint64 // inclusive time in ns
	Count uint64 // calls
}

// MergeTop keeps the n largest of two lists that are each ordered by Largest. Because every rank is in
// one list at most, keeping n at every step of a tree gives the same as keeping n at its root.
func MergeTop(a, b []Ranked, n int) []Ranked {
	merged := make([]Ranked, 0, min(n, len(a)+len(b)))
	for len(merged) < n && (len(a) > 0 || len(b) > 0) {
		if len(b) == 0 || len(a) > 0 && Largest(a[0], b[0]) <= 0 {
			merged, a = append(merged, a[0]), a[1:]
		} else {
			merged, b = append(merged, b[0]), b[1:]
		}
	}
	return merged
}

// Largest orders by falling value, then by rising rank.
func Largest(a, b Ranked) int {
	if a.Value != b.Value {
		return cmp.Compare(b.Value, a.Value)
	}
	return cmp.Compare(a.Rank, b.Rank)
}

// SortTop puts a list into the order that MergeTop needs.
func SortTop(list []Ranked) { slices.SortFunc(list, Largest) }

// MergeSorted merges two lists that are both in the order of compare. Equal items are joined, or both kept
// if join is nil.
func MergeSorted[T any](a, b []T, compare func(T, T) int, join func(T, T) T) []T {
	merged := make([]T, 0, max(len(a), len(b)))
	for len(a) > 0 && len(b) > 0 {
		switch c := compare(a[0], b[0]); {
		case c < 0, c == 0 && join == nil:
			merged, a = append(merged, a[0]), a[1:]
		case c > 0:
			merged, b = append(merged, b[0]), b[1:]
		default:
			merged, a, b = append(merged, join(a[0], b[0])), a[1:], b[1:]
		}
	}
	return append(append(merged, a...), b...)
}
