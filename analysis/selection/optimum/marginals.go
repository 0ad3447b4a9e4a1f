package optimum

import (
	"math"
	"slices"
)

// Marginals gives for every choice of every variable what the cheapest assignment with it costs; +Inf if there is
// none. It takes about as long as Solve. Not possible with limits, or where tables would be too large; then ok is
// false.
func (p *Problem) Marginals(o Options) (marginals [][]float64, ok bool) {
	if o.Table == 0 {
		o.Table = MaxTable
	}
	order, _ := p.order()
	if all, largest := p.tables(order); len(p.Limits) > 0 || largest > float64(o.Table) || all > MaxTables {
		return nil, false
	}
	e := p.eliminate(order, nil, o.Table)
	// What the buckets after it tell a bucket, about the variables that it has told them of.
	back := make([]*function, len(order))
	marginals = make([][]float64, len(p.Choices))
	for i := len(order) - 1; i >= 0; i-- {
		b := &e.buckets[i]
		known, scope := slices.Clip(b.in), []int{b.v}
		if back[i] != nil {
			known, scope = append(known, *back[i]), append(slices.Clone(back[i].vars), b.v)
		}
		least, own := math.Inf(1), p.project(known, scope, scope[len(scope)-1:])
		for _, x := range own.cost {
			least = min(least, x)
		}
		for c, x := range own.cost {
			if own.cost[c] = e.start + (x - least); math.IsInf(e.start, 1) {
				own.cost[c] = e.start
			}
		}
		marginals[b.v] = own.cost
		for k, f := range b.in {
			if f.from >= 0 {
				others := append(slices.Clone(known[:k]), known[k+1:]...)
				told := p.project(others, scope, f.vars)
				back[f.from] = &told
			}
		}
	}
	return marginals, true
}
