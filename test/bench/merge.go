package main

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"time"

	"marple/analysis/profile"
	"marple/analysis/record"
)

// mergeLevels simulates the merge at the end of a large run: every rank's profile is made, encoded, decoded
// and merged as along the real tree, and rank 0's part is timed level by level.
func mergeLevels() {
	const paths = 500
	fmt.Printf("\nMerge of ranks with %d call paths each, at rank 0\n", paths)
	fmt.Printf("%8s %10s %14s %14s %14s\n", "ranks", "levels", "this level", "message", "heap at rank 0")
	const ranks = 65536
	level := 0
	subtree(0, ranks, ranks, paths, func(d time.Duration, bytes int, own *profile.Profile) {
		if level++; level >= 4 {
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			fmt.Printf("%8d %10d %14s %12d K %12d K\n", 1<<level, level, d.Round(time.Microsecond), bytes/1024, m.HeapAlloc/1024)
		}
		runtime.KeepAlive(own)
	})
}

// subtree merges ranks first to first+n-1; told hears of what rank 0 does, level by level.
func subtree(first, n, ranks, paths int, told func(time.Duration, int, *profile.Profile)) *profile.Profile {
	if n == 1 {
		return synthetic(first, ranks, paths)
	}
	own := subtree(first, n/2, ranks, paths, told)
	message := profile.Encode(subtree(first+n/2, n/2, ranks, paths, nil))
	start := time.Now()
	theirs, err := profile.Decode(message)
	check(err)
	own = profile.Merge(own, theirs)
	if told != nil {
		told(time.Since(start), len(message), own)
	}
	return own
}

// synthetic is a rank that exchanges with its neighbours and spends random times on every path.
func synthetic(rank, ranks, paths int) *profile.Profile {
	w := record.NewWriter(rank, ranks)
	random := rand.New(rand.NewPCG(uint64(rank), 1))
	world := w.Comm(record.Comm{ID: 9, Size: uint32(ranks), Rank: int32(rank)}, "MPI_COMM_WORLD", []record.Run{{Stride: 1, Count: uint32(ranks)}})
	module := w.Module("/opt/app", []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20})
	t := w.Thread(0, true)
	now := uint64(0)
	// A frame, an MPI call below it and the gap before it are three paths.
	for i := range paths / 3 {
		now += random.Uint64N(1_000_000)
		site := w.Node(record.Node{Kind: record.NodeFrame, Key: uint64(4096 + 16*i), Name: module})
		c := record.Call{Path: w.MPI(site, "MPI_Send", record.OpSend, 0), Start: now, Duration: random.Uint64N(100_000), Comm: world,
			Peer: int32((rank + 1 + i%26) % ranks), Out: 8192}
		t.Call(c)
		now += c.Duration
	}
	p, err := w.Process(now)
	check(err)
	return profile.FromProcess(p, nil)
}
