package optimum

import (
	"math"
	"slices"
)

// function is a table over variables, the last one's choice changing fastest.
type function struct {
	vars []int
	cost []float64
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
		given(function{t.Vars, t.Cost})
	}
	for i, l := range p.Limits {
		if multipliers[i] == 0 {
			continue
		}
		given(function{nil, []float64{multipliers[i] * l.least()}})
		for v, gain := range l.Gain {
			if gain == nil {
				continue
			}
			cost := make([]float64, len(gain))
			for c := range gain {
				cost[c] = -multipliers[i] * gain[c]
			}
			given(function{[]int{v}, cost})
		}
	}
	for i := range e.buckets {
		b := &e.buckets[i]
		b.v = order[i]
		parts := p.split(b, table)
		e.exact = e.exact && len(parts) <= 1
		for _, part := range parts {
			f := p.least(b.v, part)
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

// least adds a part's functions up and takes the minimum over v.
func (p *Problem) least(v int, part part) function {
	n, size := len(part.vars), 1
	for _, w := range part.vars {
		size *= p.Choices[w]
	}
	out := function{part.vars, make([]float64, size)}
	// For each function: where it is read now, and how far that moves with each variable's choice, v's last.
	at, step := make([]int, len(part.functions)), make([][]int, len(part.functions))
	for i, f := range part.functions {
		step[i] = make([]int, n+1)
		stride := 1
		for j := len(f.vars) - 1; j >= 0; j-- {
			k := slices.Index(part.vars, f.vars[j])
			if k < 0 {
				k = n
			}
			step[i][k] = stride
			stride *= p.Choices[f.vars[j]]
		}
	}
	choice, sum := make([]int, n), make([]float64, p.Choices[v])
	for o := range out.cost {
		clear(sum)
		for i, f := range part.functions {
			j, s := at[i], step[i][n]
			for c := range sum {
				sum[c] += f.cost[j]
				j += s
			}
		}
		least := math.Inf(1)
		for _, x := range sum {
			least = min(least, x)
		}
		out.cost[o] = least
		for k := n - 1; k >= 0; k-- {
			choice[k]++
			for i := range at {
				at[i] += step[i][k]
			}
			if choice[k] < p.Choices[part.vars[k]] {
				break
			}
			for i := range at {
				at[i] -= choice[k] * step[i][k]
			}
			choice[k] = 0
		}
	}
	return out
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
