// Package plot draws measured points and the curves fitted to them: as SVG, and with characters in a terminal.
//
// It uses the standard library only, and holds no state.
//
// Invariant: whatever the figures and names, the output is well-formed and of bounded size; what lies outside
// the measured range is drawn dashed.
package plot

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Plot is one pair of axes.
type Plot struct {
	Title  string
	X, Y   string // labels of the axes
	Points []Point
	Curves []Curve
}

// Point is a measured value; Out marks those that no curve rests on.
type Point struct {
	X, Y float64
	Out  bool
}

// Curve is a function with the band in which single samples are expected.
type Curve struct {
	Name     string
	From, To float64 // range in which it was fitted
	At       func(x float64) (y, low, high float64)
}

// mostPoints are drawn; of more, evenly chosen ones.
const mostPoints = 5000

const steps = 160 // of a curve

// beyond is how far curves are drawn beyond the last point.
const beyond = 1.5

// axis maps values to 0 … 1.
type axis struct {
	low, high float64
	log       bool
}

func (a axis) at(v float64) float64 {
	if a.log {
		return math.Log(v/a.low) / math.Log(a.high/a.low)
	}
	return (v - a.low) / (a.high - a.low)
}

func (a axis) value(t float64) float64 {
	if a.log {
		return a.low * math.Pow(a.high/a.low, t)
	}
	return a.low + t*(a.high-a.low)
}

// sampled is a curve's values at steps+1 places along the axis.
type sampled struct {
	name            string
	x, y, low, high []float64
	inside          []bool
}

// layout chooses the axes and computes the curves on them.
func (p *Plot) layout() (x, y axis, curves []sampled) {
	lowX, highX := math.Inf(1), math.Inf(-1)
	for _, q := range p.Points {
		if usable(q.X) {
			lowX, highX = min(lowX, q.X), max(highX, q.X)
		}
	}
	for _, c := range p.Curves {
		if usable(c.From) && usable(c.To) {
			lowX, highX = min(lowX, c.From), max(highX, c.To)
		}
	}
	if !(lowX <= highX) {
		lowX, highX = 0, 1
	}
	x = axis{lowX, highX + (beyond-1)*math.Abs(highX), lowX > 0 && highX > 20*lowX}
	if x.high <= x.low {
		x.high = x.low + 1
	}
	lowY, highY := math.Inf(1), math.Inf(-1)
	smallest := math.Inf(1)
	see := func(v float64) {
		if usable(v) {
			lowY, highY = min(lowY, v), max(highY, v)
			if v > 0 {
				smallest = min(smallest, v)
			}
		}
	}
	for _, q := range p.Points {
		see(q.Y)
	}
	for _, c := range p.Curves {
		s := sampled{name: c.Name}
		for i := range steps + 1 {
			v := x.value(float64(i) / steps)
			y, low, high := c.At(v)
			s.x, s.y, s.low, s.high = append(s.x, v), append(s.y, y), append(s.low, low), append(s.high, high)
			s.inside = append(s.inside, v >= c.From*(1-1e-9) && v <= c.To*(1+1e-9))
			see(y)
		}
		curves = append(curves, s)
	}
	if !(lowY <= highY) {
		lowY, highY = 0, 1
	}
	if y.log = lowY > 0 && highY > 50*lowY; y.log {
		y.low, y.high = lowY/1.2, highY*1.2
		return x, y, curves
	}
	if lowY > 0 && lowY < 0.5*highY {
		lowY = 0
	}
	if highY == lowY {
		highY, lowY = highY+max(math.Abs(highY), 1)/2, lowY-max(math.Abs(lowY), 1)/2
	}
	y.low, y.high = lowY, highY+(highY-lowY)*0.05
	return x, y, curves
}

func usable(v float64) bool { return !math.IsNaN(v) && math.Abs(v) < 1e300 }

// points are those that are drawn.
func (p *Plot) points() []Point {
	every := max(1, (len(p.Points)+mostPoints-1)/mostPoints)
	var list []Point
	for i := 0; i < len(p.Points); i += every {
		if q := p.Points[i]; usable(q.X) && usable(q.Y) {
			list = append(list, q)
		}
	}
	return list
}

// ticks gives round values within an axis, about so many.
func (a axis) ticks(about int) []float64 {
	var list []float64
	if a.log {
		first, last := math.Floor(math.Log10(a.low)), math.Ceil(math.Log10(a.high))
		within := []float64{1, 2, 5}
		if last-first > 4 {
			within = within[:1]
		}
		every := max(1, math.Ceil((last-first)/12))
		for e := first; e <= last; e += every {
			for _, m := range within {
				if v := m * math.Pow(10, e); v >= a.low && v <= a.high {
					list = append(list, v)
				}
			}
		}
		return list
	}
	step := math.Pow(10, math.Floor(math.Log10((a.high-a.low)/float64(about))))
	for _, m := range []float64{1, 2, 5, 10} {
		if (a.high-a.low)/(step*m) <= float64(about) {
			step *= m
			break
		}
	}
	for k := math.Ceil(a.low / step); k*step <= a.high && len(list) < 20; k++ {
		list = append(list, k*step)
	}
	return list
}

// label writes a tick.
func label(v float64) string {
	if v == 0 {
		return "0"
	}
	if m := math.Abs(v); m >= 1e6 || m < 1e-3 {
		text := strconv.FormatFloat(v, 'e', 1, 64)
		mantissa, exponent, _ := strings.Cut(text, "e")
		e, err := strconv.Atoi(exponent)
		if err == nil {
			return fmt.Sprintf("%se%d", strings.TrimSuffix(mantissa, ".0"), e)
		}
	}
	if rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 4, 64), 64); err == nil {
		v = rounded
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}
