package diagnosis

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"marple/analysis/analysistest"
	"marple/analysis/knowledge"
	"marple/analysis/run"
)

// Reading built-in knowledge is part of what MPI_Finalize costs.
func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		_, err := knowledge.Library{}.Load("general")
		require.NoError(b, err)
	}
}

func BenchmarkFindSmall(b *testing.B) {
	r := analysistest.Run(4, 4, func(r *rank) {
		analysistest.Steps(10, func() { r.Compute(10 * ms); r.Barrier(20, ms) })
	})
	k, err := knowledge.Library{}.Load("general")
	require.NoError(b, err)
	for b.Loop() {
		_, err := Diagnose(r, nil, Whole(k)...)
		require.NoError(b, err)
	}
}

// large is a run with many call paths and every rank's share of each, which is more than Marple keeps of so many.
func large(paths, ranks int) *run.Run {
	r := &run.Run{Schema: run.Schema, Program: "large", Ranks: ranks, Measured: ranks, WallNs: 10e9, Efficiency: run.Efficiency{CoreAvailability: 1, LoadBalance: 0.9}}
	root := &run.Node{ID: "0", Kind: "root", Name: "large"}
	r.CallGraph = []*run.Node{root}
	for i := range paths / 2 {
		site := &run.Node{ID: fmt.Sprint("s", i), Kind: "frame", Name: fmt.Sprint("f", i), Function: fmt.Sprint("f", i)}
		call := &run.Node{ID: fmt.Sprint("m", i), Kind: "mpi", Name: []string{"MPI_Recv", "MPI_Send", "MPI_Allreduce"}[i%3], Op: []string{"recv", "send", "n-to-n"}[i%3],
			Calls: &run.Stat{N: uint64(ranks), Sum: uint64(ranks) * 1000, Mean: 1000}, Out: 8, Sizes: []run.Size{{Below: 16, Calls: uint64(ranks)}}}
		gap := &run.Node{ID: fmt.Sprint("g", i), Kind: "gap", From: call.ID, To: call.ID, Calls: &run.Stat{N: uint64(ranks)}}
		for rank := range ranks {
			t := uint64(1000 + (rank*7+i*13)%500)
			call.PerRank = append(call.PerRank, run.RankTime{Rank: int32(rank), Exclusive: t, Inclusive: t, Calls: 1})
			gap.PerRank = append(gap.PerRank, run.RankTime{Rank: int32(rank), Exclusive: 2 * t, Inclusive: 2 * t, Calls: 1})
			call.Exclusive.Sum += t
			gap.Exclusive.Sum += 2 * t
			call.Exclusive.Max, gap.Exclusive.Max = max(call.Exclusive.Max, t), max(gap.Exclusive.Max, 2*t)
		}
		call.Exclusive.N, gap.Exclusive.N = uint64(ranks), uint64(ranks)
		site.Children = []*run.Node{call}
		root.Children = append(root.Children, site, gap)
	}
	for rank := range ranks {
		r.PerRank = append(r.PerRank, run.RankBalance{Rank: rank, Balance: run.Balance{Wall: 10e9, Useful: 7e9, MPI: 3e9}, Sent: 10, Received: 10})
		r.Core.Wall += 10e9
		r.Core.Useful += 7e9
		r.Core.MPI += 3e9
		if rank > 0 {
			r.Peers = append(r.Peers, run.Peer{Rank: 0, To: rank, Sent: 10}, run.Peer{Rank: rank, To: 0, Sent: 10})
		}
	}
	return r
}

// 1,000 call paths on 1,024 ranks with each piece of knowledge.
func BenchmarkDiagnose(b *testing.B) {
	r := large(1000, 1024)
	for _, name := range knowledge.Names() {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				k, err := knowledge.Library{}.Load(name)
				require.NoError(b, err)
				_, err = Diagnose(r, nil, Whole(k)...)
				require.NoError(b, err)
			}
		})
	}
}

// What rank 0 does of this at MPI_Finalize: the first time, of a program that loses time and has a design.
func BenchmarkConclude(b *testing.B) {
	r := analysistest.Run(4, 4, func(r *rank) { sweep(r, 20) })
	for b.Loop() {
		Conclude(r, knowledge.Library{})
	}
}

func BenchmarkSigns(b *testing.B) {
	for b.Loop() {
		for _, name := range (knowledge.Library{}).Recognizable() {
			_, err := knowledge.Library{}.Signs(name)
			require.NoError(b, err)
		}
	}
}
