package callgraph

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"marple/analysis/record"
)

// random records a random run of regions and calls, and returns what the whole time was spent on.
func random(t *rapid.T, rank int) (p *record.Process, spent map[Kind]uint64, whole uint64) {
	w := record.NewWriter(rank, 4)
	module := w.Module("/bin/app", []byte{1, 2, 3})
	comm := w.Comm(record.Comm{ID: 9, Size: 4}, "MPI_COMM_WORLD", []record.Run{{First: 0, Stride: 1, Count: 4}})
	begin := rapid.Uint64Range(0, 1000).Draw(t, "begin")
	thread := w.Thread(begin, true)
	now, depth := begin, 0
	spent = map[Kind]uint64{}
	for range rapid.IntRange(0, 40).Draw(t, "events") {
		gap := rapid.Uint64Range(0, 1000).Draw(t, "gap")
		var off, own uint64
		if rapid.Bool().Draw(t, "interrupted") {
			off = rapid.Uint64Range(0, gap).Draw(t, "off")
			own = rapid.Uint64Range(0, gap-off).Draw(t, "own")
			thread.Gap(off, 0, own)
		}
		now += gap
		spent[KindGap] += gap - off - own
		spent[KindOffCore] += off
		spent[KindOwn] += own
		switch what := rapid.IntRange(0, 4).Draw(t, "what"); {
		case what == 0:
			name := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "region")
			thread.Enter(w.Node(record.Node{Parent: thread.Where(), Kind: record.NodeRegion, Name: w.String(name)}), now)
			depth++
		case what == 1 && depth > 0:
			thread.Exit(now)
			depth--
		default:
			// Some functions deep, from a small set of functions and places, so that paths have parts in common.
			where := thread.Where()
			for range rapid.IntRange(0, 4).Draw(t, "frames") {
				where = w.Node(record.Node{Parent: where, Kind: record.NodeFrame, Key: rapid.Uint64Range(1, 2).Draw(t, "function"), Name: module,
					SiteModule: module, Site: rapid.Uint64Range(0, 2).Draw(t, "place")})
			}
			path := w.MPIAt(where, module, rapid.Uint64Range(1, 2).Draw(t, "site"), "MPI_Barrier", record.OpBarrier, 0)
			duration := rapid.Uint64Range(0, 1000).Draw(t, "duration")
			thread.Call(record.Call{Path: path, Start: now, Duration: duration, Comm: comm, Peer: record.NoPeer, Collective: true})
			now += duration
			spent[KindMPI] += duration
		}
	}
	tail := rapid.Uint64Range(0, 1000).Draw(t, "tail")
	spent[KindGap] += tail
	now += tail
	p, err := w.Process(now)
	require.NoError(t, err)
	return p, spent, now - begin
}

// check holds a graph against its invariant.
func check(t require.TestingT, g *Graph) {
	children := g.Children()
	seen := 0
	var visit func(i int)
	visit = func(i int) {
		seen++
		n := &g.Nodes[i]
		sum := n.Exclusive.Sum
		for _, c := range children[n.ID] {
			sum += g.Nodes[c].Inclusive.Sum
			require.Equal(t, n.ID, g.Nodes[c].Parent)
			visit(c)
		}
		require.Equal(t, n.Inclusive.Sum, sum, "inclusive is exclusive and children")
		require.Equal(t, n.Exclusive.N, n.Inclusive.N)
	}
	for i := range g.Nodes {
		if i > 0 {
			require.Less(t, g.Nodes[i-1].ID, g.Nodes[i].ID)
		}
		if g.Nodes[i].Kind == KindRoot {
			visit(i)
		}
	}
	require.Equal(t, len(g.Nodes), seen, "every node hangs below a root")
}

func TestEveryNanosecondIsChargedOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, spent, whole := random(t, 0)
		g := FromProcess(p)
		check(t, g)
		require.Equal(t, whole, g.Find(Root).Inclusive.Sum, "the root's time is the measured time")
		got := map[Kind]uint64{}
		for _, n := range g.Nodes {
			got[n.Kind] += n.Exclusive.Sum
		}
		for _, kind := range []Kind{KindGap, KindMPI, KindOffCore, KindOwn} {
			require.Equal(t, spent[kind], got[kind], kind.String())
		}
	})
}

func TestMergingIsAssociativeAndCommutative(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var g [4]*Graph
		for i := range g {
			p, _, _ := random(t, i)
			g[i] = FromProcess(p)
		}
		top := rapid.IntRange(1, 4).Draw(t, "ranks kept")
		merge := func(a, b *Graph) *Graph { return Merge(a, b, top) }
		chain := merge(merge(merge(g[0], g[1]), g[2]), g[3])
		tree := merge(merge(g[3], g[1]), merge(g[2], g[0]))
		require.Equal(t, chain, tree)
		check(t, chain)
	})
}

// Time between events belongs to the innermost region that both are in.
func TestGapsBelongToTheRegionAroundThem(t *testing.T) {
	w := record.NewWriter(0, 1)
	thread := w.Thread(0, true)
	call := func(start, duration uint64) {
		site := w.Node(record.Node{Parent: thread.Where(), Kind: record.NodeFrame, Key: start})
		thread.Call(record.Call{Path: w.MPI(site, "MPI_Barrier", record.OpBarrier, 0), Start: start, Duration: duration, Peer: record.NoPeer, Collective: true})
	}
	outer := w.Node(record.Node{Kind: record.NodeRegion, Name: w.String("outer")})
	inner := w.Node(record.Node{Parent: outer, Kind: record.NodeRegion, Name: w.String("inner")})
	thread.Enter(outer, 10) //  0..10 root
	call(30, 5)             // 10..30 outer
	thread.Enter(inner, 50) // 35..50 outer
	call(57, 1)             // 50..57 inner
	thread.Exit(60)         // 58..60 inner
	thread.Exit(100)        // 60..100 outer
	p, err := w.Process(105)
	require.NoError(t, err) // 100..105 root
	g := FromProcess(p)
	check(t, g)
	gaps := map[string]uint64{}
	for _, n := range g.Nodes {
		if n.Kind == KindGap {
			gaps[g.Find(n.Parent).Name] += n.Exclusive.Sum
		}
	}
	require.Equal(t, map[string]uint64{"": 15, "outer": 20 + 15 + 40, "inner": 7 + 2}, gaps)
	for name, want := range map[string][2]uint64{"outer": {90, 90}, "inner": {10, 10}} {
		for _, n := range g.Nodes {
			if n.Kind == KindRegion && n.Name == name {
				require.Equal(t, want[0], n.Inclusive.Sum, name)
				require.Equal(t, want[1], n.Calls.Sum, "the invocation's own duration")
			}
		}
	}
}

// Time between two calls belongs to the innermost function that both stacks have in common, whatever the
// functions below it were; a function called from two places, or two functions called from one, are not one.
func TestGapsBelongToTheDeepestCommonFunction(t *testing.T) {
	w := record.NewWriter(0, 1)
	module := w.Module("/bin/app", []byte{1})
	thread := w.Thread(0, true)
	function := func(parent uint32, key, site uint64) uint32 {
		return w.Node(record.Node{Parent: parent, Kind: record.NodeFrame, Key: key, Name: module, SiteModule: module, Site: site})
	}
	const main, f, g, h = 0x100, 0x200, 0x300, 0x400
	inMain := function(0, main, 0)
	inF := function(inMain, f, 10)
	call := func(start uint64, where uint32, site uint64) {
		thread.Call(record.Call{Path: w.MPIAt(where, module, site, "MPI_Barrier", record.OpBarrier, 0), Start: start, Duration: 1, Peer: record.NoPeer, Collective: true})
	}
	call(10, inMain, 5)                                   //   0..10 root: nothing is known of before
	call(21, function(inF, g, 20), 1)                     //  11..21 main
	call(42, function(inF, h, 30), 2)                     //  22..42 f
	call(73, inF, 40)                                     //  43..73 f
	call(114, function(inMain, f, 11), 40)                //  74..114 main: f again, but from elsewhere
	call(165, function(inMain, g, 11), 1)                 // 115..165 main: another function at the same place
	call(226, function(function(inMain, g, 11), f, 7), 3) // 166..226 g
	p, err := w.Process(297)                              // 227..297 root
	require.NoError(t, err)
	graph := FromProcess(p)
	check(t, graph)
	got := map[Code]uint64{}
	for _, n := range graph.Nodes {
		if n.Kind == KindGap {
			got[graph.Find(n.Parent).Code] += n.Exclusive.Sum
		}
	}
	at := func(offset uint64) Code { return Code{"01", offset} }
	require.Equal(t, map[Code]uint64{{}: 10 + 70, at(main): 10 + 40 + 50, at(f): 20 + 30, at(g): 60}, got)
}

// Callers that are left out of two paths need not be the same ones, but time between the paths is theirs.
func TestGapsBelowCutPaths(t *testing.T) {
	w := record.NewWriter(0, 1)
	thread := w.Thread(0, true)
	cut := w.Node(record.Node{Kind: record.NodeCut, Key: record.CutUnknown})
	for i := range uint64(2) {
		frame := w.Node(record.Node{Parent: cut, Kind: record.NodeFrame, Key: 0x100 + i})
		thread.Call(record.Call{Path: w.MPI(frame, "MPI_Barrier", record.OpBarrier, 0), Start: 10 + 10*i, Duration: 1, Peer: record.NoPeer, Collective: true})
	}
	p, err := w.Process(21)
	require.NoError(t, err)
	graph := FromProcess(p)
	check(t, graph)
	for _, n := range graph.Nodes {
		if n.Kind == KindCut {
			require.True(t, n.Unknown)
			require.EqualValues(t, 9+2, n.Inclusive.Sum)
			return
		}
	}
	require.Fail(t, "no node for callers")
}

// Ranks with different call trees: a node stands for the ranks that have it.
func TestRanksWithDifferentTrees(t *testing.T) {
	graph := func(rank int, name string, duration uint64) *Graph {
		w := record.NewWriter(rank, 2)
		thread := w.Thread(0, true)
		for i, n := range []string{"MPI_Barrier", name} {
			thread.Call(record.Call{Path: w.MPI(0, n, record.OpBarrier, 0), Start: uint64(i) * duration, Duration: duration, Peer: record.NoPeer, Collective: true})
		}
		p, err := w.Process(2 * duration)
		require.NoError(t, err)
		return FromProcess(p)
	}
	g := Merge(graph(1, "MPI_Wait", 30), graph(0, "MPI_Bcast", 10), 8)
	check(t, g)
	ranks := map[string]uint64{}
	for _, n := range g.Nodes {
		if n.Kind == KindMPI {
			ranks[n.Name] = n.Exclusive.N
		}
	}
	require.Equal(t, map[string]uint64{"MPI_Barrier": 2, "MPI_Wait": 1, "MPI_Bcast": 1}, ranks)
	barrier := g.Find((&Node{Parent: Root, Kind: KindMPI, Name: "MPI_Barrier"}).identity())
	require.EqualValues(t, 20, barrier.Exclusive.Mean())
	require.EqualValues(t, 10, barrier.Exclusive.Deviation())
	require.EqualValues(t, 1, barrier.Exclusive.MaxRank)
	require.EqualValues(t, 0, barrier.Exclusive.MinRank)
}

// A program that was killed has no end: its last known moment ends it.
func TestTimeAfterTheLastEvent(t *testing.T) {
	w := record.NewWriter(0, 1)
	thread := w.Thread(100, true)
	thread.Call(record.Call{Path: w.MPI(0, "MPI_Barrier", record.OpBarrier, 0), Start: 150, Duration: 10, Peer: record.NoPeer, Collective: true})
	p, err := w.Process(0)
	require.NoError(t, err)
	p.Header().Last.Ticks = 400
	g := FromProcess(p)
	check(t, g)
	require.EqualValues(t, 300, g.Find(Root).Inclusive.Sum)
}

// Code that was made at run time lies in no module: its place is its address, and its upper half no name.
func TestCodeInNoModule(t *testing.T) {
	for _, address := range []uint64{0x1000, 0x7f2e_f45c_b000} {
		w := record.NewWriter(0, 1)
		where := w.Node(record.Node{Kind: record.NodeFrame, Name: math.MaxUint32, SiteModule: math.MaxUint32, Key: address})
		thread := w.Thread(0, true)
		thread.Call(record.Call{Path: w.MPI(where, "MPI_Barrier", record.OpBarrier, 0), Start: 10, Duration: 1, Peer: record.NoPeer, Collective: true})
		p, err := w.Process(20)
		require.NoError(t, err)
		for _, n := range FromProcess(p).Nodes {
			if n.Kind == KindFrame {
				require.Equal(t, Code{Offset: address}, n.Code)
				require.Empty(t, n.Name)
			}
		}
	}
}
