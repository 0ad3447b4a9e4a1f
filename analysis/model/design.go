package model

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
)

// design is what a search needs that depends on the parameters' values alone: every column of every
// hypothesis. Responses measured at the same points share it.
type design struct {
	x         [][]float64 // points × parameters
	parameter []axis
}

// axis is one parameter. Columns are computed when they are first used.
type axis struct {
	x           []float64 // at each point
	least, most float64
	columns     []column    // terms of the normal form; rising first, then falling
	rising      int         // how many of them rise
	fourth      int         // the column of x^4, which the normal form has not, as an index into columns
	logs        []float64   // log(x/most); nil unless all x > 0
	shifted     []float64   // (x-most)/(most-least)
	powers      [][]float64 // (x/most)^b for b of powerGrid
	rates       [][]float64 // exp(b*shifted) for b of rateGrid
}

// column is a term at all points, divided by scale; ahead is its value at four times the range.
type column struct {
	term         term
	v            []float64
	scale, ahead float64
}

var powerGrid, rateGrid = grids()

func grids() (powers, rates []float64) {
	for b := -4.0; b <= 6; b += 0.25 {
		if b != 0 {
			powers = append(powers, b)
		}
	}
	for b := 0.05; b < 60; b *= 1.4 {
		rates = append(rates, b, -b)
	}
	return powers, rates
}

func newDesign(x [][]float64) *design {
	d := &design{x: x, parameter: make([]axis, len(x[0]))}
	for p := range d.parameter {
		d.parameter[p].fill(x, p)
	}
	return d
}

func (a *axis) fill(x [][]float64, p int) {
	a.least, a.most = math.Inf(1), math.Inf(-1)
	for i := range x {
		a.x = append(a.x, x[i][p])
		a.least, a.most = min(a.least, x[i][p]), max(a.most, x[i][p])
	}
	add := func(t term) {
		if !t.usable(a.least) {
			return
		}
		// Terms are monotonic, so they are largest at one of the ends.
		c := column{term: t, scale: max(math.Abs(t.at(a.least)), math.Abs(t.at(a.most)))}
		c.ahead = t.at(4*a.most) / c.scale
		if c.scale > 0 && finite(c.scale) && finite(c.ahead) {
			a.columns = append(a.columns, c)
		}
	}
	for _, t := range terms {
		add(t)
	}
	a.rising = len(a.columns)
	for _, t := range falling {
		add(t)
	}
	a.fourth = len(a.columns)
	add(term{4, 1, 0})
	for _, x := range a.x {
		a.shifted = append(a.shifted, (x-a.most)/(a.most-a.least))
		if a.least > 0 {
			a.logs = append(a.logs, math.Log(x/a.most))
		}
	}
}

// values of a column.
func (a *axis) values(i int) []float64 {
	c := &a.columns[i]
	if c.v == nil {
		c.v = make([]float64, len(a.x))
		for k, x := range a.x {
			c.v[k] = c.term.at(x) / c.scale
		}
	}
	return c.v
}

// grid gives the columns of all exponents that offsets are looked for with.
func (a *axis) grid(k kind) (exponents []float64, columns [][]float64) {
	exponents, along, columns := rateGrid, a.shifted, a.rates
	if k == power {
		exponents, along, columns = powerGrid, a.logs, a.powers
	}
	if columns == nil {
		for _, b := range exponents {
			columns = append(columns, exponentials(along, b))
		}
		if k == power {
			a.powers = columns
		} else {
			a.rates = columns
		}
	}
	return exponents, columns
}

func exponentials(v []float64, b float64) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = math.Exp(b * x)
	}
	return out
}

// column finds a term among the columns; -1 if it cannot be used here.
func (a *axis) column(t term) int {
	for i := range a.columns {
		if a.columns[i].term == t {
			return i
		}
	}
	return -1
}

// slices are the points that differ in one parameter only, in its order; slices of fewer than three points are
// left out.
func (d *design) slices(p int) [][]int {
	at := map[string]int{}
	var list [][]int
	for i, x := range d.x {
		var others []byte
		for q, v := range x {
			if q != p {
				others = binary.LittleEndian.AppendUint64(others, math.Float64bits(v))
			}
		}
		k, ok := at[string(others)]
		if !ok {
			k = len(list)
			at[string(others)] = k
			list = append(list, nil)
		}
		list[k] = append(list[k], i)
	}
	list = slices.DeleteFunc(list, func(points []int) bool { return len(points) < 3 })
	for _, points := range list {
		slices.SortStableFunc(points, func(i, j int) int { return cmp.Compare(d.x[i][p], d.x[j][p]) })
	}
	return list
}

// key tells sets of points apart.
func key(cells []cell) string {
	var b []byte
	for _, c := range cells {
		for _, x := range c.x {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
		}
		b = append(b, 0)
	}
	return string(b)
}
