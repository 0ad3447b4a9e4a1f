package callgraph

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"marple/analysis/record"
)

// Samples divide the computing time of a gap; what is blocked, or hit no known place below the gap, stays its own.
func TestSamplesShareComputingTime(t *testing.T) {
	w := record.NewWriter(0, 1)
	w.Header().SampleHz = 100
	module := w.Module("/bin/app", []byte{1})
	thread := w.Thread(0, true)
	frame := func(parent uint32, key, site uint64) uint32 {
		return w.Node(record.Node{Parent: parent, Kind: record.NodeFrame, Key: key, Name: module, SiteModule: module, Site: site})
	}
	place := func(parent uint32, at uint64) uint32 {
		return w.Node(record.Node{Parent: parent, Kind: record.NodePlace, Key: at, Name: module})
	}
	main := frame(0, 0x100, 0)
	heavy, light := frame(main, 0x200, 0x111), frame(main, 0x300, 0x122)
	call := func(start uint64) {
		thread.Call(record.Call{Path: w.MPIAt(main, module, 5, "MPI_Barrier", record.OpBarrier, 0), Start: start, Duration: 1, Peer: record.NoPeer, Collective: true})
	}
	call(0)
	thread.Sampled(place(heavy, 0x210), 2)
	thread.Sampled(place(heavy, 0x214), 1)
	thread.Sampled(light, 1)
	thread.Gap(30, 200, 10) // 1000 to 1: 760 ns of computing, 200 blocked
	call(1001)
	thread.Sampled(0, 1)           // not known
	thread.Sampled(place(1, 7), 1) // not below main: 1/6 each of what both gaps have
	call(1242)
	thread.SampledElsewhere(place(frame(0, 0x400, 0), 0x410), 3)
	call(1300)
	p, err := w.Process(1301)
	require.NoError(t, err)
	g := FromProcess(p)
	check(t, g)
	type got struct{ function, site, samples, ns uint64 }
	var gaps []got
	var whole uint64
	for _, n := range g.Nodes {
		if n.Kind == KindGap && n.Samples > 0 {
			gaps = append(gaps, got{g.Find(n.Parent).Code.Offset, n.Site.Offset, n.Samples, n.Exclusive.Sum})
		}
		whole += n.Exclusive.Sum
	}
	computing := uint64(1000-30-10) + 240 + 57 - 200
	require.ElementsMatch(t, []got{
		{0x100, 0, 2, 200 + computing - computing*4/6},
		{0x200, 0x210, 2, computing * 2 / 6},
		{0x200, 0x214, 1, computing*3/6 - computing*2/6},
		{0x300, 0x301, 1, computing*4/6 - computing*3/6},
		{0x400, 0x410, 3, 30_000_000},
	}, gaps)
	require.EqualValues(t, 1301+30_000_000, whole)
}

// Two calls with one path may be of two calls of the function that makes them. A sample between them, in a function beside
// that one, tells so; in another region it tells nothing.
func TestSamplesBesideTheGap(t *testing.T) {
	w := record.NewWriter(0, 1)
	module := w.Module("/bin/app", []byte{1})
	thread := w.Thread(0, true)
	frame := func(parent uint32, key uint64) uint32 {
		return w.Node(record.Node{Parent: parent, Kind: record.NodeFrame, Key: key, Name: module})
	}
	main := frame(0, 0x100)
	exchange, solve := frame(main, 0x200), frame(main, 0x300)
	region := w.Node(record.Node{Parent: main, Kind: record.NodeRegion, Name: w.String("r")})
	for i := range uint64(2) {
		thread.Call(record.Call{Path: w.MPIAt(exchange, module, 5, "MPI_Barrier", record.OpBarrier, 0), Start: 101 * i, Duration: 1, Peer: record.NoPeer, Collective: true})
		thread.Sampled(w.Node(record.Node{Parent: solve, Kind: record.NodePlace, Key: 0x310, Name: module}), 3)
		thread.Sampled(w.Node(record.Node{Parent: region, Kind: record.NodePlace, Key: 0x310, Name: module}), 1)
	}
	p, err := w.Process(102)
	require.NoError(t, err)
	g := FromProcess(p)
	check(t, g)
	found := map[uint64]uint64{}
	for _, n := range g.Nodes {
		if n.Kind == KindGap && n.Exclusive.Sum > 0 {
			found[g.Find(n.Parent).Code.Offset] += n.Exclusive.Sum
		}
	}
	require.Equal(t, map[uint64]uint64{0x200: 25, 0x300: 75}, found)
}

// Whatever is sampled, all time is charged once.
func TestSamplesChangeNoSums(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := record.NewWriter(0, 1)
		module := w.Module("/bin/app", []byte{1})
		thread := w.Thread(0, true)
		now := uint64(0)
		path := func() uint32 {
			var node uint32
			for range rapid.IntRange(0, 3).Draw(t, "frames") {
				node = w.Node(record.Node{Parent: node, Kind: record.NodeFrame, Key: rapid.Uint64Range(1, 2).Draw(t, "function"), Name: module})
			}
			return node
		}
		for range rapid.IntRange(0, 30).Draw(t, "events") {
			for range rapid.IntRange(0, 40).Draw(t, "places") {
				node := path()
				if rapid.Bool().Draw(t, "line") {
					node = w.Node(record.Node{Parent: node, Kind: record.NodePlace, Key: rapid.Uint64Range(1, 9).Draw(t, "at"), Name: module})
				}
				thread.Sampled(node, rapid.Uint64Range(0, 5).Draw(t, "samples"))
			}
			now += rapid.Uint64Range(0, 1000).Draw(t, "gap")
			if rapid.Bool().Draw(t, "region") {
				thread.Enter(w.Node(record.Node{Parent: thread.Where(), Kind: record.NodeRegion, Name: w.String("r")}), now)
			}
			thread.Call(record.Call{Path: w.MPIAt(path(), module, 3, "MPI_Barrier", record.OpBarrier, 0), Start: now, Duration: 1, Peer: record.NoPeer, Collective: true})
			now++
		}
		p, err := w.Process(now)
		require.NoError(t, err)
		g := FromProcess(p)
		check(t, g)
		require.Equal(t, now, g.Find(Root).Inclusive.Sum)
	})
}
