package structure

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// graph is written as messages from, to, count, …
func graph(ranks int, numbers ...int) *Graph {
	var edges []Edge
	for i := 0; i < len(numbers); i += 3 {
		edges = append(edges, Edge{numbers[i], numbers[i+1], uint64(numbers[i+2]), 8})
	}
	return New(ranks, edges)
}

func TestHub(t *testing.T) {
	star := graph(4, 2, 0, 10, 2, 1, 12, 2, 3, 9, 0, 2, 10, 1, 2, 12, 3, 2, 9, 0, 1, 1)
	require.Equal(t, []int{2}, star.Role("hub"))
	require.Equal(t, []int{0, 1, 3}, star.Role("spoke"))
	ring := graph(4, 0, 1, 9, 1, 2, 9, 2, 3, 9, 3, 0, 9)
	require.Nil(t, ring.Role("hub"))
	require.Nil(t, ring.Role("spoke"))
	collected := graph(5, 2, 0, 9, 0, 2, 9, 2, 3, 9, 3, 2, 9, 2, 4, 9, 4, 2, 9, 0, 1, 9, 3, 1, 9, 4, 1, 9) // results go to rank 1
	require.Equal(t, []int{2}, collected.Role("hub"))
	require.Equal(t, []int{0, 3, 4}, collected.Role("spoke"))
	require.Nil(t, graph(2, 0, 1, 9).Role("hub")) // two ranks are no star
	require.Nil(t, graph(4).Role("hub"))
}

func TestLayersOfAChain(t *testing.T) {
	chain := graph(4, 2, 0, 100, 0, 3, 100, 3, 1, 100, 1, 3, 3)
	require.Equal(t, []int{1, 3, 0, 2}, chain.Layers())
	require.Equal(t, []int{2}, chain.Role("first"))
	require.Equal(t, []int{0, 3}, chain.Role("inner"))
	require.Equal(t, []int{1}, chain.Role("last"))
	require.Nil(t, graph(3, 0, 1, 9, 1, 2, 9, 2, 0, 9).Layers()) // a circle has no beginning
	both := graph(4, 2, 0, 9, 0, 2, 9, 0, 3, 9, 3, 0, 9, 3, 1, 9, 1, 3, 9)
	require.Equal(t, []int{2, 0, 3, 1}, both.Layers()) // no direction: from the lower end
	require.Equal(t, []int{-1, 0, 1}, graph(3, 1, 2, 5).Layers())
}

func TestLayersOfAWavefront(t *testing.T) {
	// 2 x 3 ranks, messages to the right and down.
	g := graph(6, 0, 1, 5, 1, 2, 5, 3, 4, 5, 4, 5, 5, 0, 3, 5, 1, 4, 5, 2, 5, 5)
	require.Equal(t, []int{0, 1, 2, 1, 2, 3}, g.Layers())
}

func TestTree(t *testing.T) {
	g := graph(8, 0, 4, 1, 4, 0, 1, 0, 2, 1, 2, 0, 1, 0, 1, 1, 1, 0, 1, 4, 6, 1, 6, 4, 1, 4, 5, 1, 5, 4, 1, 2, 3, 1, 3, 2, 1, 6, 7, 1, 7, 6, 1)
	require.Equal(t, []int{-1, 0, 0, 2, 0, 4, 4, 6}, g.Tree())
	require.Equal(t, []int{0}, g.Role("root"))
	require.Equal(t, []int{2, 4, 6}, g.Role("branch"))
	require.Equal(t, []int{1, 3, 5, 7}, g.Role("leaf"))
	require.Equal(t, 0.25, g.Branches())
	require.Nil(t, graph(4, 0, 1, 1, 2, 3, 1).Tree())
	require.Nil(t, graph(3, 0, 1, 1, 1, 2, 1, 2, 0, 1).Role("leaf"))
}

// Whatever the messages, roles of one structure do not overlap, and renumbering ranks renumbers roles where no
// two ranks are alike.
func TestRolesAreDisjoint(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "ranks")
		rank := rapid.IntRange(-1, n)
		var edges []Edge
		for range rapid.IntRange(0, 20).Draw(t, "edges") {
			edges = append(edges, Edge{rank.Draw(t, "from"), rank.Draw(t, "to"), rapid.Uint64Range(0, 20).Draw(t, "messages"), 1})
		}
		g := New(n, edges)
		for _, roles := range [][]string{{"hub", "spoke"}, {"first", "inner", "last"}, {"root", "branch", "leaf"}} {
			seen := map[int]string{}
			for _, role := range roles {
				for _, r := range g.Role(role) {
					require.Empty(t, seen[r])
					seen[r] = role
				}
			}
		}
	})
}

func TestShapes(t *testing.T) {
	star := graph(4, 2, 0, 10, 2, 1, 12, 2, 3, 9, 0, 2, 10, 1, 2, 12, 3, 2, 9)
	chain := graph(4, 0, 1, 10, 1, 2, 10, 2, 3, 10)
	halo := graph(4, 0, 1, 10, 1, 2, 10, 2, 3, 10, 1, 0, 10, 2, 1, 10, 3, 2, 10)
	tree := graph(8, 0, 4, 1, 4, 0, 1, 0, 2, 1, 2, 0, 1, 0, 1, 1, 1, 0, 1, 4, 6, 1, 6, 4, 1, 4, 5, 1, 5, 4, 1, 2, 3, 1, 3, 2, 1, 6, 7, 1, 7, 6, 1)
	half := graph(8, 0, 1, 5, 1, 0, 5)
	for _, c := range []struct {
		name                                       string
		g                                          *Graph
		star, active, degree, returned, even, flow float64
		levels                                     int
	}{
		{"star", star, 1, 1, 1.5, 1, 1, 0, 2},
		{"chain", chain, 2. / 3, 1, 1.5, 0, 1, 1, 3},
		{"halo", halo, 4. / 6, 1, 1.5, 1, 1, 0, 3},
		{"tree", tree, 6. / 14, 1, 14. / 8, 1, 1, 0, 4},
		{"a pair", half, 0, 0.25, 1, 1, 1, 0, 2},
		{"nothing", graph(4), 0, 0, 0, 0, 0, 0, 0},
	} {
		messages, _ := c.g.Star()
		require.InDelta(t, c.star, messages, 1e-9, c.name)
		require.InDelta(t, c.active, c.g.Active(), 1e-9, c.name)
		require.InDelta(t, c.degree, c.g.Degree(), 1e-9, c.name)
		require.InDelta(t, c.returned, c.g.Returned(), 1e-9, c.name)
		require.InDelta(t, c.even, c.g.Even(), 1e-9, c.name)
		require.InDelta(t, c.flow, c.g.Chained(), 1e-9, c.name)
		require.Equal(t, c.levels, c.g.TreeLevels(), c.name)
	}
	_, partners := star.Star()
	require.InDelta(t, 1, partners, 1e-9)
	require.InDelta(t, 1./3, graph(3, 0, 1, 100, 1, 2, 4, 0, 2, 1).Even(), 1e-9) // one of three pairs is like the median
}

func TestMutual(t *testing.T) {
	require.InDelta(t, 1./2, graph(3, 0, 1, 10, 1, 0, 3, 1, 2, 10).Mutual(), 1e-9) // however many come back
	require.InDelta(t, 0, graph(3, 0, 1, 10, 1, 0, 1, 1, 2, 10).Mutual(), 1e-9)    // but for one that ends it all
	require.Zero(t, graph(3).Mutual())
}

func TestButterfly(t *testing.T) {
	// fold is the rank that stands for a number of the butterfly, mate the folded rank that it works for, or -1.
	butterfly := func(ranks, size int, fold, mate func(i int) int) *Graph {
		var edges []Edge
		both := func(a, b int) { edges = append(edges, Edge{a, b, 3, 24}, Edge{b, a, 3, 24}) }
		for i := range size {
			for bit := 1; bit < size; bit *= 2 {
				edges = append(edges, Edge{fold(i), fold(i ^ bit), 3, 24})
			}
			if m := mate(i); m >= 0 {
				both(fold(i), m)
			}
		}
		return New(ranks, edges)
	}
	same, nobody := func(i int) int { return i }, func(int) int { return -1 }
	for _, n := range []int{4, 8, 16, 64} {
		require.Equal(t, 1.0, butterfly(n, n, same, nobody).Butterfly(), n)
	}
	require.Equal(t, 1.0, butterfly(6, 4, same, func(i int) int { return map[bool]int{true: 4 + i, false: -1}[i < 2] }).Butterfly())
	require.Equal(t, 1.0, butterfly(6, 4, func(i int) int { return map[bool]int{true: 2*i + 1, false: i + 2}[i < 2] },
		func(i int) int { return map[bool]int{true: 2 * i, false: -1}[i < 2] }).Butterfly())
	require.Zero(t, butterfly(2, 2, same, nobody).Butterfly()) // two ranks are anything
	ring := func(n int) *Graph {
		var edges []Edge
		for r := range n {
			edges = append(edges, Edge{r, (r + 1) % n, 3, 24}, Edge{(r + 1) % n, r, 3, 24})
		}
		return New(n, edges)
	}
	for _, n := range []int{4, 5, 6, 8, 16} {
		require.LessOrEqual(t, ring(n).Butterfly(), 0.5, n)
	}
	torus := func(n int) *Graph { // n by n
		var edges []Edge
		for r := range n * n {
			i, j := r%n, r/n
			for _, to := range []int{(i+1)%n + j*n, (i+n-1)%n + j*n, i + (j+1)%n*n, i + (j+n-1)%n*n} {
				edges = append(edges, Edge{r, to, 3, 24})
			}
		}
		return New(n*n, edges)
	}
	require.LessOrEqual(t, torus(4).Butterfly(), 0.5) // the same graph with other numbers
	require.Equal(t, 1.0, torus(2).Butterfly())       // four boxes, two to a side, are both
	uneven := graph(4, 0, 1, 9, 1, 0, 1, 2, 3, 9, 3, 2, 1, 0, 2, 9, 2, 0, 1, 1, 3, 9, 3, 1, 1)
	require.Zero(t, uneven.Butterfly()) // nothing comes back
	require.Zero(t, graph(4).Butterfly())
}

func TestCube(t *testing.T) {
	cube := func(n int) *Graph {
		var edges []Edge
		for r := range n {
			for bit := 1; bit < n; bit *= 2 {
				edges = append(edges, Edge{r, r ^ bit, 1, 8})
			}
		}
		return New(n, edges)
	}
	for _, n := range []int{4, 8, 64} {
		require.True(t, cube(n).Cube(), n)
	}
	require.False(t, cube(2).Cube()) // two ranks are anything
	require.False(t, graph(4, 0, 1, 1, 1, 2, 1, 2, 3, 1).Cube())
	require.False(t, graph(6, 0, 1, 1, 1, 2, 1, 2, 3, 1, 3, 4, 1, 4, 5, 1, 5, 0, 1).Cube())
	require.False(t, graph(4).Cube())
}
