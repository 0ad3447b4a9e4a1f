package analysistest

import (
	"fmt"

	"marple/analysis/run"
	"marple/analysis/waitstate"
)

// Large is a run with so many call paths and ranks: each rank exchanges messages with six others, and a path has eight
// ranks that spend most on it.
func Large(paths, ranks int) *run.Run {
	r := Run(4, 4, func(r *Rank) {
		r.Region("solve", func() { r.Compute(50_000_000) })
		r.Send(7, (r.Rank+1)%4, 4096, 1_000_000)
		r.Recv(8, (r.Rank+3)%4, 4096, 1_000_000)
		r.Barrier(9, 2_000_000)
	})
	r.Ranks, r.Measured = ranks, ranks
	first := r.PerRank[0]
	r.PerRank = nil
	for i := range ranks {
		one := first
		one.Rank, one.Useful = i, first.Useful+uint64(i)
		r.PerRank = append(r.PerRank, one)
		for k, to := range []int{1, 2, 32, ranks - 1, ranks - 2, ranks - 32} {
			r.Peers = append(r.Peers, run.Peer{Rank: i, To: (i + to) % ranks, Sent: 100, SentBytes: 1 << (10 + 2*k)})
		}
	}
	root := r.Root()
	level := []*run.Node{root}
	kinds := []string{"frame", "frame", "mpi", "gap"}
	for i := 0; i < paths; {
		var next []*run.Node
		for _, at := range level {
			for k := 0; k < 1+len(at.ID)%7 && i < paths; k++ {
				n := &run.Node{ID: fmt.Sprintf("n%d", i), Kind: kinds[i%4], Name: fmt.Sprintf("solver::level<%d>::step", i%700), Site: fmt.Sprintf("solver.cpp:%d", i),
					Exclusive: run.Stat{N: uint64(ranks), Sum: uint64(1000 * (1 + i*7919%5000))}}
				for rank := range 8 {
					n.PerRank = append(n.PerRank, run.RankTime{Rank: int32((i + rank) % ranks), Exclusive: n.Exclusive.Sum / 10, Inclusive: n.Exclusive.Sum / 10})
				}
				i++
				at.Children = append(at.Children, n)
				if n.Kind == "frame" {
					next = append(next, n)
				}
			}
		}
		level = next
		if len(level) == 0 {
			level = []*run.Node{root}
		}
	}
	var sum func(n *run.Node) uint64
	sum = func(n *run.Node) uint64 {
		n.Inclusive.Sum = n.Exclusive.Sum
		for _, c := range n.Children {
			n.Inclusive.Sum += sum(c)
		}
		return n.Inclusive.Sum
	}
	sum(root)
	return r
}

// LargeLogs is what so many ranks did in so many steps: a computation, and a call in which each waits for a neighbour that
// computes longer. The critical path goes from rank to rank.
func LargeLogs(ranks, steps int) (logs []*waitstate.Rank, moments []waitstate.Moments) {
	const step = 1_000_000
	for rank := range ranks {
		r, m := &waitstate.Rank{End: int64(steps) * step, Main: steps}, waitstate.Moments{}
		for s := range steps {
			at, busy := int64(s)*step, int64(step)*int64(1+(rank*7+s*3)%5)/6
			r.Calls = append(r.Calls, waitstate.Call{Start: at + busy, End: at + step})
			m.Waits = append(m.Waits, waitstate.Moment{Start: at + busy, Until: at + step - step/10, Pattern: waitstate.LateSender, For: int32((rank + 1) % ranks)})
			if s*ranks/steps == rank {
				m.Critical = append(m.Critical, waitstate.Span{From: at, To: at + step})
			}
		}
		logs, moments = append(logs, r), append(moments, m)
	}
	return logs, moments
}
