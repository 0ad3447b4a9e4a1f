package series_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"marple/analysis/analysistest"
	"marple/analysis/run"
	"marple/analysis/series"
)

const ms = 1_000_000

// scaling is a run in which each rank computes 80 ms / ranks in a region and waits for ranks in a barrier.
func scaling(ranks int, size float64) *run.Run {
	r := analysistest.Run(ranks, ranks, func(r *analysistest.Rank) {
		r.Region("solve", func() {
			r.Compute(uint64(80*ms/ranks) * uint64(size))
			r.Barrier(5, uint64(ranks)*ms)
		})
	})
	r.Parameters = map[string]float64{"size": size}
	return r
}

func find(t *testing.T, list []*series.Series, name, response string) *series.Series {
	for _, s := range list {
		if s.Name == name && s.Response == response {
			return s
		}
	}
	require.Failf(t, "not found", "%s %s", name, response)
	return nil
}

func TestSeriesOfRuns(t *testing.T) {
	var runs []*run.Run
	for _, ranks := range []int{1, 2, 4, 8} {
		runs = append(runs, scaling(ranks, 1))
	}
	list, err := series.OfRuns(runs, 0.01, series.Choice{})
	require.NoError(t, err)
	root := runs[0].Root().Name
	solve := find(t, list, root+" > main > solve", "compute")
	require.Equal(t, []string{"ranks"}, solve.Parameters, "size is the same in all runs")
	require.Equal(t, [][]float64{{1}, {2}, {4}, {8}}, solve.X)
	require.InDeltaSlice(t, []float64{0.08, 0.04, 0.02, 0.01}, solve.Y, 1e-9)
	require.InDeltaSlice(t, []float64{0.001, 0.002, 0.004, 0.008}, find(t, list, root+" > main > solve", "mpi").Y, 1e-9)
	require.InDeltaSlice(t, []float64{0.081, 0.042, 0.024, 0.018}, find(t, list, root+" > main > solve", "time").Y, 1e-9)
	require.Equal(t, root, list[0].Name, "most time first")
	for _, s := range list {
		require.NotContains(t, s.Name, "between", "gaps are no paths of their own")
	}

	list, err = series.OfRuns(append(runs, scaling(4, 2)), 0, series.Choice{Parameters: []string{"size", "ranks"}, Responses: []string{"compute"}})
	require.NoError(t, err)
	require.Equal(t, [][]float64{{1, 1}, {1, 2}, {1, 4}, {1, 8}, {2, 4}}, list[0].X)

	_, err = series.OfRuns(runs, 0, series.Choice{Parameters: []string{"cells"}})
	require.EqualError(t, err, `no parameter "cells"; there are ranks, size`)
	runs[1].Parameters = nil
	_, err = series.OfRuns(runs, 0, series.Choice{Parameters: []string{"size"}})
	require.EqualError(t, err, "not all runs have a value of size; record it with: marple exec --params size=VALUE")
	_, err = series.OfRuns([]*run.Run{scaling(2, 1), scaling(2, 1)}, 0, series.Choice{})
	require.ErrorContains(t, err, "the runs differ in no parameter")
	_, err = series.OfRuns(runs, 0, series.Choice{Responses: []string{"joules"}})
	require.EqualError(t, err, `no quantity "joules"; there are time, mpi, compute`)
}

func TestAPathThatSomeRunsLack(t *testing.T) {
	extra := analysistest.Run(2, 2, func(r *analysistest.Rank) {
		r.Region("setup", func() { r.Compute(50 * ms) })
		r.Barrier(5, ms)
	})
	list, err := series.OfRuns([]*run.Run{scaling(1, 1), extra}, 0.01, series.Choice{})
	require.NoError(t, err)
	s := find(t, list, extra.Root().Name+" > main > setup", "time")
	require.Equal(t, []series.LeftOut{{Why: "the run has no such call path", Count: 1}}, s.LeftOut)
}

// Two calls in one function are one path, and a run in which nothing of a path is MPI has a sample nevertheless.
func TestPathsOfTheSameName(t *testing.T) {
	twice := func(ranks int) *run.Run {
		return analysistest.Run(ranks, ranks, func(r *analysistest.Rank) {
			r.Region("solve", func() {
				r.Compute(uint64(ranks) * ms)
				if ranks > 1 {
					r.Barrier(5, ms)
					r.Barrier(6, 2*ms)
				}
			})
		})
	}
	runs := []*run.Run{twice(1), twice(2), twice(4)}
	list, err := series.OfRuns(runs, 0.01, series.Choice{})
	require.NoError(t, err)
	solve := runs[0].Root().Name + " > main > solve"
	barrier := find(t, list, solve+" > MPI_Barrier", "time")
	require.Equal(t, [][]float64{{2}, {4}}, barrier.X)
	require.InDeltaSlice(t, []float64{0.003, 0.003}, barrier.Y, 1e-12)
	require.InDeltaSlice(t, []float64{0, 0.003, 0.003}, find(t, list, solve, "mpi").Y, 1e-12)

	runs[0].Parameters, runs[1].Parameters = map[string]float64{"n": 1}, map[string]float64{"n": 2}
	_, err = series.OfRuns(runs, 0, series.Choice{})
	require.EqualError(t, err, "some runs have no value of n, in which the others differ; leave those runs out, or choose parameters (marple fit --param)")
}

func TestSeriesOfFunctions(t *testing.T) {
	r := &run.Run{Functions: []run.Function{
		{Name: "MPI_Send", Sizes: []run.Size{{Below: 16, Calls: 4, Ns: 4000, Bytes: 40}, {Below: 1024, Calls: 2, Ns: 6000, Bytes: 2000}, {Below: 1}}},
		{Name: "MPI_Barrier", Sizes: []run.Size{{Below: 1, Calls: 7, Ns: 9}}},
	}}
	list := series.OfFunctions(r)
	require.Len(t, list, 1)
	require.Equal(t, "MPI_Send", list[0].Name)
	require.Equal(t, []string{"bytes"}, list[0].Parameters)
	require.Equal(t, [][]float64{{10}, {1000}}, list[0].X)
	require.InDeltaSlice(t, []float64{1e-6, 3e-6}, list[0].Y, 1e-15)
}
