package model

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// several tries functions of several parameters: sums and products of one term of each, over all sets of
// parameters; then, where none of these will do, sums of products of the few terms that each parameter's
// slices speak for. The constant is on the stack.
func (s *search) several() {
	n := len(s.names)
	short := make([][]int, n) // columns of each parameter worth combining
	for p := range n {
		for i := range s.tried(p) {
			if s.stack.push(s.root, s.d.parameter[p].values(i)) {
				s.judge(s.term(p, i).price(), single(p, i))
				s.stack.pop()
			}
		}
		most := 16 / n
		if s.simple {
			most = 4
		}
		for _, set := range s.rank(p, 1)[:min(most, s.tried(p))] {
			short[p] = append(short[p], set[0])
		}
	}
	for set := 1; set < 1<<n; set++ {
		switch members := bits.OnesCount(uint(set)); {
		case members == 2:
			first := bits.TrailingZeros(uint(set))
			second := bits.TrailingZeros(uint(set &^ (1 << first)))
			s.two(first, second, short)
		case members > 2 && !s.simple:
			s.combine(set, short)
		}
	}
}

// two tries terms of one parameter with those of another: their sum, their product, and both.
func (s *search) two(p, q int, short [][]int) {
	x, y := &s.d.parameter[p], &s.d.parameter[q]
	both := make([]float64, s.points())
	try := func(price float64, columns [][]float64, products ...product) {
		depth := s.stack.depth
		pushed := true
		for _, v := range columns {
			pushed = pushed && s.stack.push(s.root, v)
		}
		if pushed {
			s.judge(price, products...)
		}
		s.stack.cut(depth)
	}
	for _, i := range short[p] {
		f, fi := x.values(i), single(p, i)
		for _, j := range short[q] {
			g, gj := y.values(j), single(q, j)
			fg := fi
			fg[q] = int16(j)
			for k := range both {
				both[k] = f[k] * g[k]
			}
			price := priceSum + x.columns[i].term.price() + y.columns[j].term.price()
			try(price, [][]float64{f, g}, fi, gj)
			try(price, [][]float64{both}, fg)
			if s.simple {
				continue
			}
			try(price+priceMixed, [][]float64{f, both}, fi, fg)
			try(price+priceMixed, [][]float64{g, both}, gj, fg)
			try(price+2*priceMixed, [][]float64{f, g, both}, fi, gj, fg)
		}
	}
}

// layouts are the ways to write a function of all of n parameters as a sum of products, each given by the set
// of its parameters.
func layouts(n int) [][]int {
	all := 1<<n - 1
	most := 3
	if n > 3 {
		most = 2
	}
	var list [][]int
	var extend func(from int, chosen []int)
	extend = func(from int, chosen []int) {
		union := 0
		for _, c := range chosen {
			union |= c
		}
		if union == all {
			list = append(list, slices.Clone(chosen))
		}
		if len(chosen) == most {
			return
		}
		for c := from; c <= all; c++ {
			extend(c+1, append(chosen, c))
		}
	}
	extend(1, nil)
	if n > most {
		var each []int
		for p := range n {
			each = append(each, 1<<p)
		}
		list = append(list, each)
	}
	return list
}

// combine tries every layout for a set of parameters with every choice of their terms.
func (s *search) combine(set int, short [][]int) {
	var members []int
	for p := range short {
		if set&(1<<p) != 0 {
			members = append(members, p)
		}
	}
	ways := layouts(len(members))
	chosen := make([]int, len(members))
	var choose func(k int)
	choose = func(k int) {
		if k < len(members) {
			for _, c := range short[members[k]] {
				chosen[k] = c
				choose(k + 1)
			}
			return
		}
		terms := float64(priceSum)
		for k, p := range members {
			terms += s.d.parameter[p].columns[chosen[k]].term.price()
		}
		for _, way := range ways {
			products := make([]product, len(way))
			for i, part := range way {
				products[i] = nothing
				for k, p := range members {
					if part&(1<<k) != 0 {
						products[i][p] = int16(chosen[k])
					}
				}
			}
			price := terms
			if len(way) > 1 && (len(way) != len(members) || way[len(way)-1] != 1<<(len(members)-1)) {
				price += priceMixed * float64(len(way)-1)
			}
			s.try(price, products...)
		}
	}
	choose(0)
}

// try judges the sum of products on top of what is on the stack.
func (s *search) try(price float64, products ...product) {
	depth := s.stack.depth
	pushed := true
	for _, f := range products {
		pushed = pushed && s.stack.push(s.root, s.column(f))
	}
	if pushed {
		s.judge(price, products...)
	}
	s.stack.cut(depth)
}

// rank orders the columns of a parameter, or the pairs of them, by how well they describe the response along it
// while the others stay the same, with coefficients free in every slice. Without slices it takes the response
// as if the other parameters did not matter.
func (s *search) rank(p, size int) [][]int {
	a := &s.d.parameter[p]
	parts := s.d.slices(p)
	if len(parts) == 0 {
		all := make([]int, s.points())
		for i := range all {
			all[i] = i
		}
		parts = [][]int{all}
	}
	type entry struct {
		columns []int
		error   float64
	}
	var list []entry
	for i := range s.tried(p) {
		if size == 1 {
			list = append(list, entry{[]int{i}, 0})
			continue
		}
		for j := range i {
			list = append(list, entry{[]int{i, j}, 0})
		}
	}
	for _, points := range parts {
		if len(points) < size+2 {
			continue
		}
		st := newStack(len(points))
		root := pick(s.root, points)
		columns := make([][]float64, s.tried(p))
		for i := range columns {
			columns[i] = pick(a.values(i), points)
		}
		st.reset(pick(s.y, points))
		st.push(root, pick(s.ones, points))
		below := -1 // the column on the stack that pairs share
		for k := range list {
			set := list[k].columns
			if below != set[0] {
				st.cut(1)
				below = set[0]
				if !st.push(root, columns[below]) {
					below = -1
				}
			}
			pushed := below >= 0
			if pushed && size == 2 {
				pushed = st.push(root, columns[set[1]])
			}
			if !pushed {
				list[k].error = math.Inf(1)
				continue
			}
			list[k].error += max(st.rss[st.depth], 0)
			st.cut(2)
		}
	}
	slices.SortStableFunc(list, func(x, y entry) int { return cmp.Compare(x.error, y.error) })
	out := make([][]int, len(list))
	for i := range list {
		out[i] = list[i].columns
	}
	return out
}

func pick(v []float64, at []int) []float64 {
	out := make([]float64, len(at))
	for i, k := range at {
		out[i] = v[k]
	}
	return out
}

// adequate tells whether the best candidate leaves no more than the scatter of repeated samples would.
func (s *search) adequate() bool {
	if len(s.best) == 0 {
		return false
	}
	b := s.best[0]
	if b.error < 1e4*s.exact*s.signal {
		return true
	}
	if s.pure == 0 {
		return false
	}
	pureFreedom := s.N - float64(s.points())
	lack := (b.error - s.pure) / float64(s.points()-b.p)
	return lack < 2*s.pure/pureFreedom
}

// mix tries functions that have two terms of one parameter, of which one or both are multiplied by a term of
// another: c0 + c1*f(x) + c2*g(x)*h(y), and the like. Along each parameter they are sums of one or two terms,
// which the slices tell.
func (s *search) mix() {
	const pairs, singles = 12, 4
	for p := range s.names {
		ranked := s.rank(p, 2)
		for q := range s.names {
			if p == q {
				continue
			}
			others := s.rank(q, 1)
			for _, pair := range ranked[:min(pairs, len(ranked))] {
				f, g := single(p, pair[0]), single(p, pair[1])
				for _, other := range others[:min(singles, len(others))] {
					fh, gh := f, g
					fh[q], gh[q] = int16(other[0]), int16(other[0])
					price := 0.0
					for _, t := range []term{s.term(p, pair[0]), s.term(p, pair[1]), s.term(q, other[0])} {
						price += t.price()
					}
					price = pricePair + price/2
					s.try(price, f, gh)
					s.try(price, g, fh)
					s.try(price, fh, gh)
					s.try(price+priceMixed, f, g, gh)
					s.try(price+priceMixed, g, f, fh)
					s.try(price+priceMixed, f, g, single(q, other[0]))
				}
			}
		}
	}
}

func (s *search) term(p, column int) term { return s.d.parameter[p].columns[column].term }
