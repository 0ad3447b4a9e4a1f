package model

import (
	"fmt"
	"math"
	"slices"
)

// Several modes of operation at the same parameters (an array walked in sequence or in strides) show as
// samples that fall into groups with a gap between them. Their average would describe neither.

const (
	mostModes   = 4
	gapSize     = 3.5  // in standard deviations within a mode, pooled over all points
	leastInMode = 0.15 // share of a point's samples that a mode must have, and two samples
)

// looseSplit is the share of the squares that may remain after splitting, to begin with: of a single normal
// group, less remains once in a hundred.
func looseSplit(n int) float64 {
	switch {
	case n >= 12:
		return 0.1
	case n >= 8:
		return 0.07
	}
	return 0.05
}

// split is where the samples of a cell part: y[:at] and y[at:].
type split struct {
	at          int
	gap         float64
	within, all float64 // squares around the two means, and around one
	unit        float64 // size of the values there
}

// split finds where to part sorted samples so that the least squares remain, with at least so many on either
// side.
func (c *cell) split(least int) (s split, ok bool) {
	n := len(c.y)
	if n < max(2*least, 3) {
		return s, false
	}
	mean, all := summary(c.y)
	s = split{all: all, within: math.Inf(1), unit: max(math.Abs(mean), 1e-300)}
	// Running sums around the mean, which keeps them accurate.
	var sum, squares float64
	total := all
	for k := 1; k < n; k++ {
		d := c.y[k-1] - mean
		sum += d
		squares += d * d
		left := squares - sum*sum/float64(k)
		right := total - squares - sum*sum/float64(n-k)
		if k >= least && k <= n-least && left+right < s.within {
			s.at, s.within, s.gap = k, max(left+right, 0), c.y[k]-c.y[k-1]
		}
	}
	return s, s.at > 0
}

// closedGap is the share of the squares below which many samples are parted although there is no gap between the
// groups any more. Of a single group, be it normal or exponential, less than one in a thousand is below.
func closedGap(n int) float64 {
	switch {
	case n >= 50:
		return 0.13
	case n >= 30:
		return 0.09
	case n >= 15:
		return 0.055
	}
	return 0
}

// parted tells which cells fall into two modes; none if too few do for that to be more than chance. The test is
// by the gap, in units of the scatter within modes; both are relative to the values at the point.
func parted(cells []cell) (splits map[int]split, sigma float64) {
	splits = map[int]split{}
	for i := range cells {
		if s, ok := cells[i].split(max(2, int(math.Ceil(leastInMode*float64(len(cells[i].y)))))); ok {
			splits[i] = s
		}
	}
	if len(splits) == 0 {
		return nil, 0
	}
	apart := map[int]bool{}
	for i, s := range splits {
		apart[i] = s.within < looseSplit(len(cells[i].y))*s.all
	}
	for range 5 {
		var spreads []float64 // of each cell, relative
		for i, s := range splits {
			squares, freedom := s.all, float64(len(cells[i].y)-1)
			if apart[i] {
				squares, freedom = s.within, freedom-1
			}
			spreads = append(spreads, math.Sqrt(squares/freedom)/s.unit)
		}
		slices.Sort(spreads)
		sigma = median(spreads)
		for i, s := range splits {
			own := math.Sqrt(s.within/float64(len(cells[i].y)-2)) / s.unit
			apart[i] = s.gap > gapSize*max(sigma, min(own, 2*sigma))*s.unit && s.gap > 1e-6*s.unit ||
				s.within < closedGap(len(cells[i].y))*s.all
		}
	}
	found, large := 0, false
	for i := range splits {
		if !apart[i] {
			delete(splits, i)
			continue
		}
		found++
		n := len(cells[i].y)
		large = large || n >= 12 && 4*min(splits[i].at, n-splits[i].at) >= n
	}
	if found < 2 && !large || found*5 < len(cells) && found < 3 || rare(cells, splits) {
		return nil, 0
	}
	return splits, sigma
}

// rare tells whether the smaller groups together are so few, of all samples between the first and the last
// point that is parted, that they must be outliers.
func rare(cells []cell, splits map[int]split) bool {
	first, last, few := len(cells), 0, 0
	for i, s := range splits {
		first, last = min(first, i), max(last, i)
		few += min(s.at, len(cells[i].y)-s.at)
	}
	all := 0
	for _, c := range cells[first : last+1] {
		all += len(c.y)
	}
	return float64(few) < 0.12*float64(all)
}

// modes divides cells into those of a fast and a slow mode; ok is false if there is one mode only. Points where
// the modes cannot be told apart belong to both.
func modes(cells []cell) (fast, slow []cell, share float64, ok bool) {
	splits, sigma := parted(cells)
	if len(splits) == 0 {
		return nil, nil, 0, false
	}
	// Now that there are modes, one sample is enough to be of another.
	for i, c := range cells {
		if _, apart := splits[i]; !apart {
			if s, ok := c.split(1); ok && s.gap > gapSize*sigma*s.unit && s.within < looseSplit(len(c.y))*s.all {
				splits[i] = s
			}
		}
	}
	var below, total float64
	level := map[int][2]float64{} // means of the two modes where they are apart
	for i, s := range splits {
		low, _ := summary(cells[i].y[:s.at])
		high, _ := summary(cells[i].y[s.at:])
		level[i] = [2]float64{low, high}
		below += float64(s.at)
		total += float64(len(cells[i].y))
	}
	for i, c := range cells {
		if s, apart := splits[i]; apart {
			fast = append(fast, cell{c.x, c.y[:s.at]})
			slow = append(slow, cell{c.x, c.y[s.at:]})
			continue
		}
		low, high, known := between(cells, level, i)
		near := func(y, at, other float64) bool {
			return math.Abs(y-at) <= math.Abs(y-other) || math.Abs(y-at) < 3*sigma*math.Abs(at)
		}
		lower, upper := cell{x: c.x}, cell{x: c.x}
		for _, y := range c.y {
			if !known || near(y, low, high) {
				lower.y = append(lower.y, y)
			}
			if !known || near(y, high, low) {
				upper.y = append(upper.y, y)
			}
		}
		if len(lower.y) > 0 {
			fast = append(fast, lower)
		}
		if len(upper.y) > 0 {
			slow = append(slow, upper)
		}
	}
	return fast, slow, below / total, true
}

// between estimates both modes at a cell from the two nearest where they are apart, if possible one on either
// side: cells come in the order of the first parameter. With several parameters there is no such order.
func between(cells []cell, level map[int][2]float64, i int) (low, high float64, ok bool) {
	if len(cells[i].x) > 1 {
		return 0, 0, false
	}
	var before, after []int
	for j := i - 1; j >= 0 && len(before) < 2; j-- {
		if _, apart := level[j]; apart {
			before = append(before, j)
		}
	}
	for j := i + 1; j < len(cells) && len(after) < 2; j++ {
		if _, apart := level[j]; apart {
			after = append(after, j)
		}
	}
	near := append(before[:min(1, len(before))], after...)
	if len(near) < 2 {
		near = append(near, before[min(1, len(before)):]...)
	}
	if len(near) < 2 {
		return 0, 0, false
	}
	a, b := near[0], near[1]
	scale, back := math.Log, math.Exp // as powers of the parameter, where that is possible
	for _, v := range []float64{cells[i].x[0], cells[a].x[0], cells[b].x[0], level[a][0], level[b][0]} {
		if v <= 0 {
			scale = func(v float64) float64 { return v }
			back = scale
		}
	}
	w := (scale(cells[i].x[0]) - scale(cells[a].x[0])) / (scale(cells[b].x[0]) - scale(cells[a].x[0]))
	at := func(k int) float64 { return back(scale(level[a][k])*(1-w) + scale(level[b][k])*w) }
	return at(0), at(1), true
}

// together is how many neighbouring points stand in for repetitions where nothing was repeated.
const together = 10

// neighbours looks for modes among points that were measured once or twice: samples are taken relative to one
// curve for all, and neighbouring points together.
func (f *Fitter) neighbours(cells []cell, names []string, o Options) (fast, slow []cell, share float64, ok bool) {
	samples := 0
	for _, c := range cells {
		samples += len(c.y)
	}
	if len(names) != 1 || len(cells) < 4*together || samples > 3*len(cells) {
		return nil, nil, 0, false
	}
	p, err := f.Fit(samplesOf(names, cells), o).Predictor(nil)
	if err != nil {
		return nil, nil, 0, false
	}
	var groups []cell
	for i, c := range cells {
		at := p.Mean(c.x)
		if !(at > 0) {
			return nil, nil, 0, false
		}
		if i%together == 0 && len(cells)-i >= together {
			groups = append(groups, cell{x: c.x})
		}
		last := &groups[len(groups)-1]
		for _, y := range c.y {
			last.y = append(last.y, y/at)
		}
	}
	for i := range groups {
		slices.Sort(groups[i].y)
	}
	splits, _ := parted(groups)
	if len(splits) == 0 {
		return nil, nil, 0, false
	}
	var below, total float64
	for _, s := range splits {
		below += float64(s.at)
	}
	for i, c := range cells {
		g := min(i/together, len(groups)-1)
		s, apart := splits[g]
		lower, upper := cell{x: c.x}, cell{x: c.x}
		for _, y := range c.y {
			ratio := y / p.Mean(c.x)
			if !apart || ratio < groups[g].y[s.at] {
				lower.y = append(lower.y, y)
			}
			if !apart || ratio >= groups[g].y[s.at] {
				upper.y = append(upper.y, y)
			}
			if apart {
				total++
			}
		}
		if len(lower.y) > 0 {
			fast = append(fast, lower)
		}
		if len(upper.y) > 0 {
			slow = append(slow, upper)
		}
	}
	return fast, slow, below / total, true
}

// FitModes models samples that may fall into several modes: one model for each, the fastest first. With
// o.AverageModes there is one model of all, which says so.
func (f *Fitter) FitModes(s *Samples, o Options) []*Model {
	type part struct {
		cells []cell
		share float64
	}
	todo, done := []part{{s.cells(), 1}}, []part{}
	for len(todo) > 0 {
		p := todo[0]
		todo = todo[1:]
		fast, slow, share, ok := modes(p.cells)
		if !ok && len(todo)+len(done) == 0 {
			fast, slow, share, ok = f.neighbours(p.cells, s.Parameters, o)
		}
		if !ok || len(done)+len(todo) >= mostModes-1 {
			done = append(done, p)
			continue
		}
		todo = append([]part{{fast, p.share * share}, {slow, p.share * (1 - share)}}, todo...)
	}
	if len(done) == 1 {
		return []*Model{f.Fit(s, o)}
	}
	if o.AverageModes {
		o.keepAll = true
		m := f.Fit(s, o)
		m.Notes = append(m.Notes, fmt.Sprintf("average of %d modes, as asked for: single samples follow one of them and not this curve", len(done)))
		return []*Model{m}
	}
	var list []*Model
	for i, p := range done {
		m := f.Fit(samplesOf(s.Parameters, p.cells), o)
		m.Mode = &Mode{Index: i + 1, Of: len(done), Share: p.share}
		m.Notes = append(m.Notes, fmt.Sprintf("one of %d modes: samples at the same parameters fall into %d groups", len(done), len(done)))
		list = append(list, m)
	}
	if whole := f.whole(s, list, o); whole != nil {
		return []*Model{whole}
	}
	return list
}

// whole is one model of all samples, where one of their modes has too few for a model of its own.
func (f *Fitter) whole(s *Samples, modes []*Model, o Options) *Model {
	lacking := slices.IndexFunc(modes, func(m *Model) bool { return m.Family == None })
	if lacking < 0 {
		return nil
	}
	m := f.Fit(s, o)
	if m.Family == None {
		return nil
	}
	m.Notes = append(m.Notes, fmt.Sprintf("average of what may be %d modes: samples at the same parameters fall into %d groups at some points, but one of these has %s",
		len(modes), len(modes), modes[lacking].Reason))
	return m
}

func samplesOf(names []string, cells []cell) *Samples {
	s := &Samples{Parameters: names}
	for _, c := range cells {
		for _, y := range c.y {
			s.X, s.Y = append(s.X, c.x), append(s.Y, y)
		}
	}
	return s
}
