package optimum

import "math/bits"

// set is a set of variables.
type set []uint64

func newSet(n int) set     { return make(set, (n+63)/64) }
func (s set) add(v int)    { s[v/64] |= 1 << (v % 64) }
func (s set) remove(v int) { s[v/64] &^= 1 << (v % 64) }

func (s set) each(visit func(v int)) {
	for w, word := range s {
		for ; word != 0; word &= word - 1 {
			visit(64*w + bits.TrailingZeros64(word))
		}
	}
}

func (s set) common(t set) (n int) {
	for w, word := range s {
		n += bits.OnesCount64(word & t[w])
	}
	return n
}

// order says in which order to eliminate variables: always one that makes the fewest new pairs of neighbours,
// and among those the smallest table. The width is that of the order.
func (p *Problem) order() (order []int, width int) {
	n := len(p.Choices)
	neighbours, size := make([]set, n), make([]int, n)
	for v := range neighbours {
		neighbours[v] = newSet(n)
	}
	for _, t := range p.Terms {
		for _, v := range t.Vars {
			for _, w := range t.Vars {
				if v != w {
					neighbours[v].add(w)
				}
			}
		}
	}
	type price struct {
		fill  int
		table float64
	}
	prices, stale, left := make([]price, n), newSet(n), newSet(n)
	for v := range n {
		stale.add(v)
		left.add(v)
		size[v] = neighbours[v].common(neighbours[v])
	}
	for range n {
		stale.each(func(v int) {
			stale.remove(v)
			prices[v] = price{0, float64(p.Choices[v])}
			neighbours[v].each(func(w int) {
				prices[v].fill += size[v] - 1 - neighbours[v].common(neighbours[w])
				prices[v].table *= float64(p.Choices[w])
			})
		})
		best := -1
		left.each(func(v int) {
			if best < 0 || prices[v].fill < prices[best].fill || prices[v].fill == prices[best].fill && prices[v].table < prices[best].table {
				best = v
			}
		})
		order, width = append(order, best), max(width, size[best])
		left.remove(best)
		neighbours[best].each(func(v int) {
			neighbours[best].each(func(w int) {
				if v != w {
					neighbours[v].add(w)
				}
			})
			neighbours[v].remove(best)
			size[v] = neighbours[v].common(neighbours[v])
			// Prices change for those whose neighbours, or whose neighbours' neighbours, have changed.
			stale.add(v)
			neighbours[v].each(stale.add)
		})
	}
	return order, width
}
