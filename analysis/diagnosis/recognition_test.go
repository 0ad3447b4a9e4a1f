package diagnosis

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"marple/analysis/analysistest"
	"marple/analysis/knowledge"
	"marple/analysis/record"
)

// What the signs of the models were set with: little scripts that have a model's form and nothing else. The programs in
// test/apps/models and those of others, which test/truth judges them by, are not among them.
var forms = []struct {
	name, model string // "": none of those that are known
	ranks       []int
	script      func(r *rank)
}{
	{"a farm", "master-worker", []int{3, 4, 8, 9, 16}, func(r *rank) {
		if r.Rank > 0 {
			analysistest.Steps(5, func() { r.Send(1, 0, 8, 10); r.Recv(2, 0, 8, 10); r.Compute(ms) })
			return
		}
		for range 5 {
			for w := 1; w < r.Ranks; w++ {
				r.Recv(3, w, 8, ms/10)
				r.Send(4, w, 8, 10)
			}
		}
	}},
	{"a farm with a barrier at each end", "master-worker", []int{5}, func(r *rank) {
		r.Barrier(1, 10)
		for range 20 {
			if r.Rank == 2 {
				for w := range r.Ranks {
					if w != 2 {
						r.Recv(3, w, 8, ms/10)
						r.Send(4, w, 8, 10)
					}
				}
			} else {
				r.Send(5, 2, 8, 10)
				r.Recv(6, 2, 8, 10)
				r.Compute(ms)
			}
		}
		r.Barrier(2, 10)
	}},
	{"a farm whose results go to a rank of their own", "master-worker", []int{5, 8, 9}, func(r *rank) {
		switch r.Rank {
		case 0:
			for range 5 {
				for w := 2; w < r.Ranks; w++ {
					r.Recv(3, w, 8, ms/10)
					r.Send(4, w, 8, 10)
				}
			}
		case 1:
			for range 5 * (r.Ranks - 2) {
				r.Recv(5, 2, 8, ms/10)
			}
		default:
			analysistest.Steps(5, func() { r.Send(1, 0, 8, 10); r.Recv(2, 0, 8, 10); r.Compute(ms); r.Send(6, 1, 800, 10) })
		}
	}},
	{"results gathered once", "", []int{4, 8}, func(r *rank) {
		r.Compute(ms)
		if r.Rank > 0 {
			r.Send(1, 0, 8, ms)
			return
		}
		for w := 1; w < r.Ranks; w++ {
			r.Recv(2, w, 8, ms)
		}
	}},
	{"a chain of stages", "pipeline", []int{3, 4, 8, 10}, func(r *rank) {
		analysistest.Steps(30, func() {
			if r.Rank > 0 {
				r.Recv(1, r.Rank-1, 100, ms)
			}
			r.Compute(ms)
			if r.Rank < r.Ranks-1 {
				r.Send(2, r.Rank+1, 100, 10)
			}
		})
	}},
	{"a ring", "", []int{5}, func(r *rank) {
		analysistest.Steps(30, func() {
			r.Recv(1, (r.Rank+r.Ranks-1)%r.Ranks, 100, ms)
			r.Compute(ms)
			r.Send(2, (r.Rank+1)%r.Ranks, 100, 10)
		})
	}},
	{"a sweep over a grid", "wavefront", []int{4, 6, 8, 9, 16}, func(r *rank) { sweep(r, 20) }},
	{"sweeps from two corners", "wavefront", []int{6, 8, 9, 16}, func(r *rank) { sweep(r, 1) }},
	{"sweeps from two corners, of several blocks", "wavefront", []int{4, 6, 9, 16}, func(r *rank) { sweep(r, 5) }},
	{"a chain of stages, forth and back", "pipeline", []int{2, 3, 4, 8}, func(r *rank) {
		analysistest.Steps(4, func() {
			for _, d := range []int{1, -1} {
				analysistest.Steps(10, func() {
					if from := r.Rank - d; from >= 0 && from < r.Ranks {
						r.Recv(1, from, 100, ms/2)
					}
					r.Compute(ms)
					if to := r.Rank + d; to >= 0 && to < r.Ranks {
						r.Send(2, to, 100, 10)
					}
				})
			}
		})
	}},
	{"rims on a grid, all sent, then all received", "geometric-decomposition", []int{4, 6, 9, 16}, func(r *rank) {
		analysistest.Steps(20, func() {
			r.Compute(ms)
			for _, n := range beside(r) {
				r.Send(1, n, 4000, 10)
			}
			for _, n := range beside(r) {
				r.Recv(2, n, 4000, ms/20)
			}
		})
	}},
	{"rims on a grid, every second rank sends first", "geometric-decomposition", []int{4, 6, 9, 16}, func(r *rank) {
		width := gridWidth(r.Ranks)
		analysistest.Steps(20, func() {
			r.Compute(ms)
			for _, n := range beside(r) {
				if (r.Rank%width+r.Rank/width)%2 == 0 {
					r.Send(1, n, 4000, 10)
					r.Recv(2, n, 4000, ms/20)
				} else {
					r.Recv(3, n, 4000, ms/20)
					r.Send(4, n, 4000, 10)
				}
			}
		})
	}},
	{"a piece of every slice on every rank", "geometric-decomposition", []int{9, 16}, func(r *rank) {
		q := gridWidth(r.Ranks)
		x, y := r.Rank%q, r.Rank/q
		at := func(x, y int) int { return (y+q)%q*q + (x+q)%q }
		analysistest.Steps(5, func() {
			for _, d := range [][2]int{{1, 0}, {0, 1}, {-1, 1}} {
				next, last := at(x+d[0], y+d[1]), at(x-d[0], y-d[1])
				r.Send(1, next, 4000, 10)
				r.Send(2, last, 4000, 10)
				r.Recv(3, last, 4000, ms/2)
				r.Recv(4, next, 4000, ms/2)
			}
			r.Compute(3 * ms)
			for _, d := range [][2]int{{1, 0}, {0, 1}, {-1, 1}} {
				for stage := range 2 * q {
					next, last := at(x+d[0], y+d[1]), at(x-d[0], y-d[1])
					if stage >= q {
						next, last = last, next
					}
					if stage%q > 0 {
						r.Recv(5, last, 400, ms/10)
					}
					r.Compute(ms / uint64(q))
					if stage%q < q-1 {
						r.Send(6, next, 400, 10)
					}
				}
			}
		})
	}},
	{"all with all over a hypercube", "butterfly", []int{4, 8, 16, 32}, func(r *rank) {
		analysistest.Steps(5, func() { hypercube(r, func(int) { r.Compute(ms / 2) }) })
	}},
	{"a sort over a hypercube", "butterfly", []int{8, 16}, func(r *rank) {
		analysistest.Steps(5, func() {
			r.Compute(map[int]uint64{8: 40 * ms, 16: 60 * ms}[r.Ranks])
			for last := 1; last < r.Ranks; last *= 2 {
				for bit := last; bit > 0; bit /= 2 {
					r.Send(6, r.Rank^bit, 4000, 10)
					r.Recv(7, r.Rank^bit, 4000, ms)
					r.Compute(ms)
				}
			}
		})
	}},
	{"rims of boxes, all at once", "geometric-decomposition", []int{8, 12, 18, 27}, func(r *rank) {
		analysistest.Steps(20, func() { r.Compute(ms); exchange(r, boxes(r, false), 4000) })
	}},
	{"rims of boxes with edges and corners", "geometric-decomposition", []int{8, 12, 27, 36}, func(r *rank) {
		analysistest.Steps(20, func() {
			r.Compute(ms)
			near := boxes(r, false)
			exchange(r, near, 8000)
			exchange(r, slices.DeleteFunc(boxes(r, true), func(n int) bool { return slices.Contains(near, n) }), 160)
		})
	}},
	{"rims of boxes, one axis after the other", "geometric-decomposition", []int{8, 12, 27}, func(r *rank) {
		analysistest.Steps(20, func() {
			r.Compute(ms)
			for _, n := range boxes(r, false) {
				r.Compute(ms / 200)
				swap(r, n, 4000)
			}
		})
	}},
	{"a sweep along each axis, each after its rims", "geometric-decomposition", []int{9, 12, 16}, func(r *rank) {
		width := gridWidth(r.Ranks)
		analysistest.Steps(20, func() {
			for axis := range 2 {
				for _, n := range beside(r) {
					if (n/width == r.Rank/width) == (axis == 0) {
						swap(r, n, 4000)
					}
				}
				r.Compute(ms)
			}
		})
	}},
	{"rims and two reductions, as in conjugate gradients", "geometric-decomposition", []int{4, 8, 12}, func(r *rank) {
		analysistest.Steps(20, func() {
			exchange(r, beside(r), 4000)
			for line := range 2 {
				r.Compute(ms)
				r.Call(10+line, "MPI_Allreduce", record.OpNToN, 0, record.Call{Duration: ms / 50, Peer: record.NoPeer, Collective: true, Out: 8, In: 8})
			}
		})
	}},
	{"shifts on a torus", "", []int{9, 16, 25}, func(r *rank) {
		q := gridWidth(r.Ranks)
		at := func(x, y int) int { return (y+q)%q*q + (x+q)%q }
		x, y := r.Rank%q, r.Rank/q
		analysistest.Steps(20, func() {
			r.Compute(ms)
			r.Send(1, at(x-1, y), 4000, 10)
			r.Recv(2, at(x+1, y), 4000, ms/20)
			r.Send(3, at(x, y-1), 4000, 10)
			r.Recv(4, at(x, y+1), 4000, ms/20)
		})
	}},
	{"halves of halves", "divide-and-conquer", []int{8, 11, 12, 16}, func(r *rank) {
		analysistest.Steps(4, func() { halves(r, 0, r.Ranks) })
	}},
	{"sums up and down a tree whose root has a part of its own", "", []int{4}, func(r *rank) {
		analysistest.Steps(10, func() {
			r.Compute(ms)
			if r.Rank > 0 {
				r.Send(1, 0, 800, 10)
				r.Recv(2, 0, 800, ms/20)
				return
			}
			for n := 1; n < r.Ranks; n++ {
				r.Recv(3, n, 800, ms/20)
			}
			r.Compute(ms / 100)
			for n := 1; n < r.Ranks; n++ {
				r.Send(4, n, 800, 10)
			}
		})
	}},
	{"two levels of masters", "", []int{9, 13}, func(r *rank) {
		tasks := func(workers []int) {
			for range 5 {
				for _, w := range workers {
					r.Recv(3, w, 8, ms/10)
					r.Send(4, w, 8, 10)
				}
			}
		}
		var below []int
		for n := 1; n < r.Ranks; n++ {
			if r.Rank == 0 && n%4 == 1 || r.Rank%4 == 1 && n > r.Rank && n < r.Rank+4 {
				below = append(below, n)
			}
		}
		switch above := (r.Rank-1)/4*4 + 1; {
		case r.Rank == 0:
			tasks(below)
		case r.Rank == above:
			analysistest.Steps(5, func() { r.Send(1, 0, 8, 10); r.Recv(2, 0, 8, 10); tasks(below) })
		default:
			analysistest.Steps(25, func() { r.Send(5, above, 8, 10); r.Recv(6, above, 8, 10); r.Compute(ms) })
		}
	}},
	{"rims of slices", "geometric-decomposition", []int{2, 4, 8}, rims},
	{"rims of slices, one after the other, and a reduction", "geometric-decomposition", []int{4, 8}, func(r *rank) {
		analysistest.Steps(20, func() {
			r.Compute(ms)
			for _, n := range []int{r.Rank - 1, r.Rank + 1} {
				if n >= 0 && n < r.Ranks {
					r.Send(1, n, 4000, ms/10)
				}
			}
			for _, n := range []int{r.Rank - 1, r.Rank + 1} {
				if n >= 0 && n < r.Ranks {
					r.Recv(2, n, 4000, ms/10)
				}
			}
			r.Call(3, "MPI_Allreduce", record.OpNToN, 0, record.Call{Duration: ms / 10, Peer: record.NoPeer, Collective: true, Out: 8, In: 8})
		})
	}},
	{"a start of many steps, then rims of slices", "geometric-decomposition", []int{4, 8}, func(r *rank) {
		for line := range 12 {
			r.Compute(ms / 2)
			r.Call(100+line, "MPI_Allreduce", record.OpNToN, 0, record.Call{Duration: ms / 4, Peer: record.NoPeer, Collective: true, Out: 8, In: 8})
		}
		rims(r)
	}},
	{"steps and reductions", "bulk-synchronous", []int{2, 8}, func(r *rank) {
		analysistest.Steps(20, func() { r.Compute(ms); r.Barrier(1, ms/2) })
	}},
	{"steps, reductions and a message now and then", "bulk-synchronous", []int{4}, func(r *rank) {
		analysistest.Steps(20, func() { r.Compute(ms); r.Barrier(1, ms/2) })
		r.Send(1, (r.Rank+1)%4, 8, ms)
		r.Recv(2, (r.Rank+3)%4, 8, ms)
	}},
	{"pairs", "", []int{4, 8}, func(r *rank) {
		analysistest.Steps(20, func() {
			if r.Rank%2 == 0 {
				r.Compute(ms)
				r.Send(1, r.Rank+1, 8, ms)
			} else {
				r.Recv(2, r.Rank-1, 8, ms)
			}
		})
	}},
	{"everybody to somebody", "", []int{8}, func(r *rank) {
		for i := range 60 {
			r.Compute(ms / 10)
			to := (r.Rank*r.Rank*r.Rank + r.Rank*i + i*i/7) % r.Ranks
			if to != r.Rank && i%(r.Rank+2) != 0 {
				r.Send(1, to, 8, uint64(i%7)*ms)
			}
		}
	}},
	{"everybody to everybody", "", []int{4, 8}, func(r *rank) {
		analysistest.Steps(10, func() {
			r.Compute(ms)
			for i := 1; i < r.Ranks; i++ {
				r.Send(1, (r.Rank+i)%r.Ranks, 800, 10)
				r.Recv(2, (r.Rank+r.Ranks-i)%r.Ranks, 800, ms/10)
			}
		})
	}},
	{"files only", "", []int{4}, func(r *rank) {
		analysistest.Steps(20, func() {
			r.Compute(ms)
			r.Call(1, "MPI_File_write", record.OpFileWrite, 0, record.Call{Duration: ms, Peer: record.NoPeer, Out: 1000})
		})
	}},
	{"nothing", "", []int{4}, func(r *rank) { r.Compute(ms) }},
	{"a mesh, by name", "amr", []int{8}, func(r *rank) { mesh(r, "exchange_blocks") }},
	{"a mesh along a tree, by name", "flash", []int{8}, func(r *rank) { mesh(r, "exchange_blocks", "restrict_blocks") }},
}

// mesh fills guard cells by operations of these names, and changes.
func mesh(r *rank, parts ...string) {
	analysistest.Steps(5, func() {
		r.Compute(ms)
		r.Region("fill_guard_cells", func() {
			for _, part := range parts {
				r.Region(part, func() { r.Send(1, (r.Rank+3)%8, 8, ms); r.Recv(2, (r.Rank+5)%8, 8, ms) })
			}
		})
		r.Region("mark_refine", func() { r.Barrier(3, ms) })
		r.Region("load_balance", func() { r.Barrier(4, ms) })
	})
}

// rims are exchanged all at once.
func rims(r *rank) {
	var list []int
	for _, n := range []int{r.Rank - 1, r.Rank + 1} {
		if n >= 0 && n < r.Ranks {
			list = append(list, n)
		}
	}
	analysistest.Steps(20, func() { r.Compute(ms); exchange(r, list, 4000) })
}

// exchange is with all of some ranks at once.
func exchange(r *rank, with []int, bytes uint64) {
	for _, n := range with {
		r.Call(1, "MPI_Irecv", record.OpRecv, record.Nonblocking, record.Call{Duration: 10, Peer: record.NoPeer})
		r.Call(2, "MPI_Isend", record.OpSend, record.Nonblocking, record.Call{Duration: 10, Peer: int32(n), Out: bytes})
	}
	r.Call(3, "MPI_Waitall", record.OpWait, 0, record.Call{Duration: ms, Peer: record.NoPeer})
	for _, n := range with {
		r.Arrived(1, "MPI_Irecv", n, bytes)
	}
}

// swap is an exchange with one.
func swap(r *rank, with int, bytes uint64) {
	r.Send(6, with, bytes, 10)
	r.Recv(7, with, bytes, ms/20)
}

// hypercube exchanges with each rank whose number differs in one bit, one after the other.
func hypercube(r *rank, before func(bit int)) {
	for bit := 1; bit < r.Ranks; bit *= 2 {
		before(bit)
		swap(r, r.Rank^bit, 4000)
	}
}

// boxes are the neighbours on a grid of three axes; those at edges and corners, too.
func boxes(r *rank, corners bool) (list []int) {
	nx := 1
	for nx*nx*nx < r.Ranks || r.Ranks%nx != 0 {
		nx++
	}
	ny := gridWidth(r.Ranks / nx)
	nz := r.Ranks / nx / ny
	x, y, z := r.Rank%nx, r.Rank/nx%ny, r.Rank/nx/ny
	for i := range 27 {
		dx, dy, dz := i%3-1, i/3%3-1, i/9-1
		far := dx*dx + dy*dy + dz*dz
		if far == 1 || far > 1 && corners {
			if x, y, z := x+dx, y+dy, z+dz; x >= 0 && y >= 0 && z >= 0 && x < nx && y < ny && z < nz {
				list = append(list, (z*ny+y)*nx+x)
			}
		}
	}
	return list
}

func gridWidth(ranks int) int {
	width := 1
	for width*width < ranks || ranks%width != 0 {
		width++
	}
	return width
}

// beside are the neighbours on the nearly square grid of all ranks.
func beside(r *rank) (list []int) {
	width := gridWidth(r.Ranks)
	x, y := r.Rank%width, r.Rank/width
	for _, d := range [][2]int{{0, -1}, {-1, 0}, {1, 0}, {0, 1}} {
		if x, y := x+d[0], y+d[1]; x >= 0 && y >= 0 && x < width && y < r.Ranks/width {
			list = append(list, y*width+x)
		}
	}
	return list
}

// sweep goes over the nearly square grid of all ranks, so many blocks from one corner, then from the opposite one.
func sweep(r *rank, blocks int) {
	width := gridWidth(r.Ranks)
	x, y := r.Rank%width, r.Rank/width
	at := func(x, y int) (int, bool) { return y*width + x, x >= 0 && y >= 0 && x < width && y < r.Ranks/width }
	for i := range 20 {
		d := 1
		if i/blocks%2 == 1 {
			d = -1
		}
		for _, from := range [][2]int{{x - d, y}, {x, y - d}} {
			if n, ok := at(from[0], from[1]); ok {
				r.Recv(1, n, 100, ms)
			}
		}
		r.Compute(ms)
		for _, to := range [][2]int{{x + d, y}, {x, y + d}} {
			if n, ok := at(to[0], to[1]); ok {
				r.Send(2, n, 100, 10)
			}
		}
	}
}

// halves divides what lies on n ranks from first on.
func halves(r *rank, first, n int) {
	if n == 1 {
		r.Compute(ms)
		return
	}
	other := first + n/2
	switch {
	case r.Rank == first:
		r.Compute(ms / 10)
		r.Send(1, other, 100, 10)
		halves(r, first, n/2)
		r.Recv(2, other, 100, ms)
		r.Compute(ms / 10)
	case r.Rank == other:
		r.Recv(3, first, 100, ms)
		halves(r, other, n-n/2)
		r.Send(4, first, 100, 10)
	case r.Rank < other:
		halves(r, first, n/2)
	default:
		halves(r, other, n-n/2)
	}
}

// recognizedAs is what a run of a script looks like: a model, or those of its phases, or "".
func recognizedAs(t require.TestingT, ranks int, script func(r *rank)) (got string, c *Choice) {
	r := analysistest.Run(ranks, ranks, script)
	c, err := Choose(r, knowledge.Library{})
	require.NoError(t, err)
	var names []string
	for _, m := range c.Models(r) {
		if names = append(names, m.Name); c.Phases == nil {
			break
		}
	}
	return strings.Join(names, " + "), c
}

func TestFormsAreRecognized(t *testing.T) {
	for _, f := range forms {
		for _, n := range f.ranks {
			t.Run(fmt.Sprint(f.name, " on ", n), func(t *testing.T) {
				got, c := recognizedAs(t, n, f.script)
				text := ""
				for _, l := range c.Looks[:min(3, len(c.Looks))] {
					text += fmt.Sprintf("%s %.2f %v\n", l.Model, l.Confidence, l.Signs)
				}
				require.Equal(t, f.model, got, text)
			})
		}
	}
}

// often is how often something random is tried: more where MARPLE_TEST_LONG=1.
func often(usual, long uint64) uint64 {
	if os.Getenv("MARPLE_TEST_LONG") == "1" {
		return long
	}
	return usual
}

// Which rank has which number says nothing: a form is recognized whatever they are.
func TestNumbersOfRanksSayNothing(t *testing.T) {
	for _, f := range forms {
		for _, n := range f.ranks {
			want, as := recognizedAs(t, n, f.script)
			for seed := range often(1, 3) {
				numbers := rand.New(rand.NewPCG(seed, uint64(n))).Perm(n)
				got, c := recognizedAs(t, n, analysistest.Relabelled(numbers, f.script))
				require.Equal(t, want, got, "%s on %d", f.name, n)
				for i := range c.Looks {
					require.InDelta(t, confidenceOf(as, c.Looks[i].Model), c.Looks[i].Confidence, 0.1, "%s on %d as %s", f.name, n, c.Looks[i].Model)
				}
			}
		}
	}
}

// Whatever two ranks are part of, their messages go from one to the other: that they are pieces of a field is not sure. Nor is it
// that a tree of messages divides a problem.
func TestWhatLooksLikeOtherThingsIsNotSure(t *testing.T) {
	field := func(n int) float64 {
		_, c := recognizedAs(t, n, rims)
		return confidenceOf(c, "geometric-decomposition")
	}
	require.Equal(t, 0.65, field(2))
	require.Equal(t, 1., field(4))
	for _, n := range []int{4, 8, 16} { // sums that are added up by hand; exchanges with all at once are none
		_, c := recognizedAs(t, n, func(r *rank) {
			analysistest.Steps(20, func() { r.Compute(ms); hypercube(r, func(int) { r.Compute(ms / 100) }) })
		})
		require.Equal(t, 0.8, confidenceOf(c, "geometric-decomposition"), "%d", n)
		_, c = recognizedAs(t, n, func(r *rank) {
			var with []int
			for bit := 1; bit < n; bit *= 2 {
				with = append(with, r.Rank^bit)
			}
			analysistest.Steps(20, func() { r.Compute(ms); exchange(r, with, 4000) })
		})
		require.Equal(t, 1., confidenceOf(c, "geometric-decomposition"), "%d", n)
	}
	_, c := recognizedAs(t, 8, func(r *rank) { analysistest.Steps(4, func() { halves(r, 0, r.Ranks) }) })
	require.Equal(t, 0.8, c.Looks[0].Confidence)
	require.Equal(t, Sign{"Sums over a tree whose nodes are spread over the ranks have the same messages", 0.8}, c.Looks[0].Signs[len(c.Looks[0].Signs)-1])
}

// Sums over a hypercube with nothing computed in between are a butterfly where no boxes have its messages: on sixteen ranks, by their
// numbers, and on six, of which two are folded onto others.
func TestSumsOverAHypercube(t *testing.T) {
	for n, size := range map[int]int{16: 16, 6: 4} {
		_, c := recognizedAs(t, n, func(r *rank) {
			analysistest.Steps(20, func() {
				r.Compute(ms)
				if r.Rank >= size {
					r.Send(1, r.Rank-size, 4000, 10)
					r.Recv(2, r.Rank-size, 4000, ms/10)
					return
				}
				if r.Rank+size < n {
					r.Recv(3, r.Rank+size, 4000, ms/10)
				}
				for bit := 1; bit < size; bit *= 2 {
					swap(r, r.Rank^bit, 4000)
				}
				if r.Rank+size < n {
					r.Send(4, r.Rank+size, 4000, 10)
				}
			})
		})
		require.Equal(t, "butterfly", c.Looks[0].Model, "%d", n)
		require.Equal(t, 1., c.Looks[0].Confidence, "%d", n)
	}
}

// Four ranks that all exchange messages with all may be anything: how sure it is that they have pieces of a field is said, and is no more
// than chance.
func TestFourRanksThatAllTalkWithAll(t *testing.T) {
	_, c := recognizedAs(t, 4, func(r *rank) {
		analysistest.Steps(20, func() {
			r.Compute(ms)
			exchange(r, slices.DeleteFunc([]int{0, 1, 2, 3}, func(n int) bool { return n == r.Rank }), 4000)
		})
	})
	require.Equal(t, 0.4, confidenceOf(c, "geometric-decomposition"))
}

func confidenceOf(c *Choice, model string) float64 {
	for _, l := range c.Looks {
		if l.Model == model {
			return l.Confidence
		}
	}
	return 0
}

// noisy is a form as it is found in a program: what it computes takes not always as long, all ranks start together with
// something else, and end together.
func noisy(script func(r *rank), seed uint64) func(r *rank) {
	return func(r *rank) {
		r.Noise = rand.New(rand.NewPCG(seed, uint64(r.Rank)))
		r.Compute(ms / 5)
		r.Call(501, "MPI_Bcast", record.OpOneToN, 0, record.Call{Duration: ms / 10, Peer: record.NoPeer, Collective: true, In: 100})
		r.Function(502, "form", func() { script(r) })
		r.Call(503, "MPI_Reduce", record.OpNToOne, 0, record.Call{Duration: ms / 10, Peer: record.NoPeer, Collective: true, Out: 8})
	}
}

// The confidence from which on a program is said to embody a model lies between that of wrong models and that of right
// ones, with room on both sides. It was chosen so, and the signs' ramps were, with these forms only.
func TestTheThresholdSeparatesWrongModelsFromRightOnes(t *testing.T) {
	right, wrong, tried := 1.0, 0.0, 0
	for _, f := range forms {
		for _, n := range f.ranks {
			for seed := range often(2, 5) {
				got, c := recognizedAs(t, n, noisy(f.script, seed))
				require.Equal(t, f.model, got, "%s on %d", f.name, n)
				tried++
				for _, l := range c.Looks {
					if l.Model == f.model {
						right = min(right, l.fits) // what a doubt takes is no matter of how well it fits
					} else if f.model == "" {
						wrong = max(wrong, l.Confidence)
					}
				}
			}
		}
	}
	t.Logf("%d runs; right models are at least %.2f sure, where none is right others are at most %.2f", tried, right, wrong)
	require.Less(t, wrong+0.1, Recognized)
	require.Greater(t, right-0.1, Recognized)
}

// To recognize a run only what signs need is read of a model's file, and says the same as all of it.
func TestSignsSayWhatTheWholeModelSays(t *testing.T) {
	var whole, signs []*knowledge.Knowledge
	for _, name := range (knowledge.Library{}).Recognizable() {
		k, err := knowledge.Library{}.Load(name)
		require.NoError(t, err)
		s, err := knowledge.Library{}.Signs(name)
		require.NoError(t, err)
		whole, signs = append(whole, k), append(signs, s)
	}
	for _, f := range forms {
		r := analysistest.Run(f.ranks[0], f.ranks[0], f.script)
		want, err := Recognize(r, whole...)
		require.NoError(t, err)
		got, err := Recognize(r, signs...)
		require.NoError(t, err)
		for i := range want {
			got[i].parts = want[i].parts
		}
		require.Equal(t, want, got, f.name)
	}
}

// times is how often forms must be repeated to take as long as each other, more or less.
func times(n int, scripts ...func(r *rank)) []int {
	var took []float64
	for _, s := range scripts {
		took = append(took, newData(analysistest.Run(n, n, s)).core)
	}
	var list []int
	for _, x := range took {
		list = append(list, max(1, int(slices.Max(took)/x+0.5)))
	}
	return list
}

// Any two forms are both seen, one after the other and in turns, if they are of different models, and are one where they
// are of the same. Reductions that take turns with something else are a part of that, and so is what takes turns with
// something that has the names of a model.
func TestPhasesAreRecognized(t *testing.T) {
	const n = 8
	type order struct {
		turns int
		alike bool
	}
	tried, right := map[order]int{}, map[order]int{}
	for i, one := range forms {
		for j, other := range forms {
			if i != j && (i+j)%int(often(3, 1)) != 0 {
				continue
			}
			if one.model == "" || other.model == "" || !slices.Contains(one.ranks, n) || !slices.Contains(other.ranks, n) {
				continue
			}
			steps := times(n, one.script, other.script)
			for _, turns := range []int{1, 4} {
				want := []string{one.model, other.model}
				slices.Sort(want)
				if turns > 1 && one.model != other.model && (slices.Contains(want, "bulk-synchronous") || slices.Contains(want, "amr") || slices.Contains(want, "flash")) {
					continue
				}
				got, _ := recognizedAs(t, n, noisy(func(r *rank) {
					for range turns {
						r.Function(601, "one", func() { analysistest.Steps(steps[0], func() { one.script(r) }) })
						r.Function(602, "other", func() { analysistest.Steps(steps[1], func() { other.script(r) }) })
					}
				}, 1))
				names := strings.Split(got, " + ")
				slices.Sort(names)
				kind := order{turns, one.model == other.model}
				if tried[kind]++; slices.Equal(slices.Compact(want), names) {
					right[kind]++
				} else {
					t.Logf("%s, then %s, %d times: %s", one.name, other.name, turns, got)
				}
			}
		}
	}
	for kind, n := range tried {
		t.Logf("%d times, alike %v: %d of %d", kind.turns, kind.alike, right[kind], n)
		require.GreaterOrEqual(t, 20*right[kind], 19*n)
		require.True(t, !kind.alike || right[kind] == n)
	}
}

// Phases that the program numbers (MPI_Pcontrol) are told apart where neither time nor functions tell: here two designs take
// turns in one function. A number alone makes no phase.
func TestNumberedPhasesAreRecognized(t *testing.T) {
	script := map[string]func(*rank){}
	for _, f := range forms {
		script[f.model] = f.script
	}
	farm, field := script["master-worker"], script["geometric-decomposition"]
	steps := times(8, farm, field)
	inTurns := func(phase func(r *rank, level uint64, inside func())) string {
		got, _ := recognizedAs(t, 8, func(r *rank) {
			for range 4 {
				phase(r, 2, func() { analysistest.Steps(steps[0], func() { farm(r) }) })
				phase(r, 3, func() { analysistest.Steps(steps[1], func() { field(r) }) })
			}
		})
		return got
	}
	numbered := inTurns(func(r *rank, level uint64, inside func()) { r.Phase(level, inside) })
	require.ElementsMatch(t, []string{"master-worker", "geometric-decomposition"}, strings.Split(numbered, " + "))
	require.NotEqual(t, numbered, inTurns(func(_ *rank, _ uint64, inside func()) { inside() }))

	alone, _ := recognizedAs(t, 8, func(r *rank) {
		for level := range uint64(4) {
			r.Phase(level+1, func() { analysistest.Steps(steps[1], func() { field(r) }) })
		}
	})
	require.Equal(t, "geometric-decomposition", alone)
}

// Every function of the language is there.
func TestTheLanguageIsWhole(t *testing.T) {
	for _, name := range knowledge.Functions() {
		require.NotNil(t, functionTable[name], name)
	}
	require.Len(t, functionTable, len(knowledge.Functions()))
}

// Where ranks have nothing to do with each other they look like no model, whatever time they lose, and none is looked at.
func TestNothingIsLookedForWhereRanksAreAlone(t *testing.T) {
	for name, c := range map[string]struct {
		op    record.Op
		looks bool
	}{"MPI_Finalize": {record.OpFinalize, false}, "MPI_Comm_rank": {record.OpLocal, false}, "MPI_Barrier": {record.OpBarrier, true}, "MPI_Put": {record.OpPut, true}} {
		r := analysistest.Run(2, 2, func(r *rank) {
			r.Compute(ms)
			r.Call(1, name, c.op, 0, record.Call{Duration: 100 * ms, Peer: record.NoPeer, Collective: c.op.Collective()})
		})
		choice, err := Choose(r, knowledge.Library{})
		require.NoError(t, err)
		require.Equal(t, c.looks, len(choice.Looks) > 0, name)
	}
}
