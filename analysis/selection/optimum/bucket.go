package optimum

import (
	"math"
	"slices"
)

// function is a table over variables, the last one's choice changing fastest.
type function struct {
	vars []int
	cost []float64
	from int // the place of the bucket that has made it; -1: it was given
}

// bucket is where a variable is eliminated: of all functions that are left, in holds those with the variable,
// and out what they tell the others, the least cost for each combination of the others' choices. Where in would
// need too large a table, out comes from parts of it, and is less than the truth.
type bucket struct {
	v       int
	in, out []function
}

// elimination is the buckets of all variables in order, for costs less what the limits' multipliers give. Start is
// a lower bound of the total cost but for rounding, which takes less than slack. Exact says that it is the
// least cost itself.
type elimination struct {
	buckets      []bucket
	start, slack float64
	exact        bool
}

func (p *Problem) eliminate(order []int, multipliers []float64, table int) *elimination {
	place := make([]int, len(order))
	for i, v := range order {
		place[v] = i
	}
	e := &elimination{buckets: make([]bucket, len(order)), exact: true}
	put := func(f function) {
		if len(f.vars) == 0 {
			e.start += f.cost[0]
			return
		}
		first := slices.MinFunc(f.vars, func(a, b int) int { return place[a] - place[b] })
		b := &e.buckets[place[first]]
		b.in = append(b.in, f)
	}
	given := func(f function) {
		e.slack += rounding * largest(f.cost)
		put(f)
	}
	for _, t := range p.Terms {
		given(function{t.Vars, t.Cost, -1})
	}
	for i, l := range p.Limits {
		if multipliers[i] == 0 {
			continue
		}
		given(function{nil, []float64{multipliers[i] * l.least()}, -1})
		for v, gain := range l.Gain {
			if gain == nil {
				continue
			}
			cost := make([]float64, len(gain))
			for c := range gain {
				cost[c] = -multipliers[i] * gain[c]
			}
			given(function{[]int{v}, cost, -1})
		}
	}
	for i := range e.buckets {
		b := &e.buckets[i]
		b.v = order[i]
		parts := p.split(b, table)
		e.exact = e.exact && len(parts) <= 1
		for _, part := range parts {
			f := p.project(part.functions, append(slices.Clip(part.vars), b.v), part.vars)
			f.from = i
			b.out = append(b.out, f)
			put(f)
		}
	}
	return e
}

// rounding is what adding up may lose, relative to the largest number.
const rounding = 1e-14

// largest is the greatest finite absolute value.
func largest(cost []float64) (most float64) {
	for _, x := range cost {
		if x = math.Abs(x); !math.IsInf(x, 0) {
			most = max(most, x)
		}
	}
	return most
}

// part is some functions of a bucket, and their variables but the bucket's.
type part struct {
	functions []function
	vars      []int
	size      float64
}

// split divides a bucket into parts whose tables are not too large, the largest functions first.
func (p *Problem) split(b *bucket, table int) (parts []part) {
	in := slices.Clone(b.in)
	slices.SortStableFunc(in, func(a, c function) int { return len(c.vars) - len(a.vars) })
next:
	for _, f := range in {
		for i := range parts {
			vars, size := parts[i].vars, parts[i].size
			for _, v := range f.vars {
				if v != b.v && !slices.Contains(vars, v) {
					vars, size = append(slices.Clip(vars), v), size*float64(p.Choices[v])
				}
			}
			if size <= float64(table) || len(vars) == len(parts[i].vars) {
				parts[i] = part{append(parts[i].functions, f), vars, size}
				continue next
			}
		}
		one := part{[]function{f}, nil, float64(p.Choices[b.v])}
		for _, v := range f.vars {
			if v != b.v {
				one.vars, one.size = append(one.vars, v), one.size*float64(p.Choices[v])
			}
		}
		parts = append(parts, one)
	}
	return parts
}

// project adds functions up over a scope, which is not empty, and takes the minimum for each combination of the
// variables to keep.
func (p *Problem) project(functions []function, scope, keep []int) function {
	steps := make([][]int, len(functions)+1)
	for i, f := range functions {
		steps[i] = p.steps(f.vars, scope)
	}
	steps[len(functions)] = p.steps(keep, scope)
	size := 1
	for _, v := range keep {
		size *= p.Choices[v]
	}
	out := function{keep, make([]float64, size), -1}
	for i := range out.cost {
		out.cost[i] = math.Inf(1)
	}
	// Where each function is read now, and out is written, for the first choice of the scope's last variable.
	n := len(scope) - 1
	at, choice, sum := make([]int, len(steps)), make([]int, n), make([]float64, p.Choices[scope[n]])
	for {
		clear(sum)
		for i, f := range functions {
			j, step := at[i], steps[i][n]
			for c := range sum {
				sum[c] += f.cost[j]
				j += step
			}
		}
		j, step := at[len(functions)], steps[len(functions)][n]
		for _, x := range sum {
			if x < out.cost[j] {
				out.cost[j] = x
			}
			j += step
		}
		k := n - 1
		for ; k >= 0; k-- {
			choice[k]++
			for i := range at {
				at[i] += steps[i][k]
			}
			if choice[k] < p.Choices[scope[k]] {
				break
			}
			for i := range at {
				at[i] -= choice[k] * steps[i][k]
			}
			choice[k] = 0
		}
		if k < 0 {
			return out
		}
	}
}

// steps is how far a table over vars moves with each variable of the scope; vars are part of the scope.
func (p *Problem) steps(vars, scope []int) []int {
	list, stride := make([]int, len(scope)), 1
	for _, v := range slices.Backward(vars) {
		list[slices.Index(scope, v)] = stride
		stride *= p.Choices[v]
	}
	return list
}

// tables is how many entries the elimination writes when nothing is split, and the largest table's.
func (p *Problem) tables(order []int) (all, largest float64) {
	place := make([]int, len(order))
	for i, v := range order {
		place[v] = i
	}
	scopes := make([]set, len(order))
	for i := range scopes {
		scopes[i] = newSet(len(order))
	}
	for _, t := range p.Terms {
		if len(t.Vars) > 0 {
			first := slices.MinFunc(t.Vars, func(a, b int) int { return place[a] - place[b] })
			for _, v := range t.Vars {
				scopes[place[first]].add(place[v])
			}
		}
	}
	for i, scope := range scopes {
		size, first := 1.0, -1
		scope.remove(i)
		scope.each(func(j int) {
			size *= float64(p.Choices[order[j]])
			if first < 0 {
				first = j
			}
		})
		if first >= 0 {
			scope.each(scopes[first].add)
		}
		all += size
		largest = max(largest, size*float64(p.Choices[order[i]]))
	}
	return all, largest
}
