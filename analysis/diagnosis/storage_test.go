package diagnosis

import (
	"testing"

	"github.com/stretchr/testify/require"

	"marple/analysis/analysistest"
	"marple/analysis/run"
)

// output makes a run in which each rank computes for 10 ms, is in a call on files for as long as said, and meets the others.
func output(ranks int, call string, ns func(rank int) uint64, write run.FileSum, lookups uint64) *run.Run {
	longest := uint64(0)
	for rank := range ranks {
		longest = max(longest, ns(rank))
	}
	r := analysistest.RunWithWaits(ranks, ranks, func(r *rank) {
		analysistest.Steps(100, func() {
			r.Compute(10 * ms)
			if one := ns(r.Rank); one > 0 {
				r.Function(7, "dump", func() { r.Aside(call, one) })
			}
			r.Barrier(20, longest-ns(r.Rank)+ms/100)
		})
	})
	r.Files = &run.Files{List: []run.UsedFile{{Path: "/scratch/out.dat", Ranks: 1, Write: &write, Open: &run.FileSum{Calls: lookups, Ns: 1}}}}
	for i := range r.PerRank {
		r.PerRank[i].Files = &run.FileUse{}
	}
	r.PerRank[0].Files = &run.FileUse{Written: write.Bytes, Writes: write.Calls, Lookups: lookups}
	return r
}

func only(t *testing.T, r *run.Run, id string) run.Finding {
	found := Find(r)
	ids := []string{}
	for _, f := range found {
		ids = append(ids, f.ID)
	}
	require.Equal(t, []string{id}, ids)
	return found[0]
}

func alone(ns uint64) func(int) uint64 {
	return func(rank int) uint64 {
		if rank == 0 {
			return ns
		}
		return 0
	}
}

func same(ns uint64) func(int) uint64 { return func(int) uint64 { return ns } }

func TestSerialOutput(t *testing.T) {
	f := only(t, output(4, "write (file)", alone(5*ms), run.FileSum{Calls: 100, Bytes: 1 << 30}, 1), "serial-io")
	require.Equal(t, "Rank 0 alone reads or writes files, while the others wait in MPI", f.Title)
	require.InDelta(t, 0.25, f.Share, 0.01, "5 ms of 15, which three of four ranks wait")
	require.Contains(t, f.Where, "write (file)")
	require.Contains(t, f.Where, "in dump")
	require.Equal(t, []int{0}, f.Ranks)
	require.Equal(t, "rank 0 spends 500 ms in calls on files, ranks on average 125 ms", f.Evidence[1].Text)
	require.Equal(t, "1.00 GiB read and written, most time for /scratch/out.dat", f.Evidence[2].Text)
	require.Contains(t, f.Advice, "MPI_File_write_at_all")

	half := func(rank int) uint64 { return uint64(1-rank/2) * 5 * ms }
	f = only(t, output(4, "write (file)", half, run.FileSum{Calls: 100, Bytes: 1 << 30}, 1), "serial-io")
	require.Equal(t, "Ranks 0 and 1 read or write files longer than the others, which wait in MPI", f.Title)
}

func TestSmallWrites(t *testing.T) {
	small := run.FileSum{Calls: 100000, Bytes: 1600000, Small: 100000}
	f := only(t, output(4, "write (file)", same(5*ms), small, 1), "small-writes")
	require.InDelta(t, 1.0/3, f.Share, 0.01)
	require.Equal(t, "100 % of 100,000 writes to files carry less than 4 KiB", f.Evidence[1].Text)
	require.Equal(t, "16 B per write on average, 20.0 µs each; most time for /scratch/out.dat", f.Evidence[2].Text)
}

func TestMetadataStorm(t *testing.T) {
	f := only(t, output(4, "open (file)", same(5*ms), run.FileSum{}, 50000), "metadata-storm")
	require.Equal(t, "33 % of the core time goes into opening, closing and looking up files", f.Title)
	require.Equal(t, "50,000 calls that open, close, ask for or change files, 40.0 µs each on average", f.Evidence[1].Text)
}

// Nothing is found where ranks share the work with files, where it is little, where calls are few, or where they move much.
func TestHealthyFiles(t *testing.T) {
	for name, r := range map[string]*run.Run{
		"all write their part in large pieces": output(4, "write (file)", same(5*ms), run.FileSum{Calls: 400, Bytes: 1 << 30}, 4),
		"one rank writes a little":             output(4, "write (file)", alone(ms/10), run.FileSum{Calls: 100, Bytes: 1 << 20}, 1),
		"small writes take no time":            output(4, "write (file)", same(ms/100), run.FileSum{Calls: 100000, Small: 100000, Bytes: 1600000}, 4),
		"one slow opening":                     output(4, "open (file)", same(5*ms), run.FileSum{Calls: 400, Bytes: 1 << 30}, 4),
		"one rank by itself":                   output(1, "write (file)", alone(5*ms), run.FileSum{Calls: 100, Bytes: 1 << 30}, 1),
	} {
		require.Empty(t, Find(r), name)
	}
}
