package store

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"marple/analysis/analysistest"
	"marple/analysis/run"
	"marple/analysis/series"
)

// wide is a run with some 70 call paths.
func wide(ranks int) *run.Run {
	r := analysistest.Run(ranks, ranks, func(r *analysistest.Rank) {
		for region := range 30 {
			r.Region(fmt.Sprint("region ", region), func() {
				r.Compute(uint64(80*ms/ranks) * uint64(region%5))
				r.Barrier(5, uint64(ranks)*ms)
			})
		}
	})
	r.Findings = []run.Finding{{ID: "imbalance", Share: 0.2}, {ID: "late-sender", Share: 0.1}}
	return r
}

// What people do with 1,000 trials, in a file of SQLite and in PostgreSQL.
func BenchmarkTrials(b *testing.B) {
	var runs []*run.Run
	for ranks := 1; ranks <= 8; ranks++ {
		runs = append(runs, wide(ranks))
	}
	for name, fresh := range map[string]func() string{
		"SQLite": func() string { return b.TempDir() + "/runs.db" }, "PostgreSQL": func() string { return postgres.Fresh(b) },
	} {
		b.Run(name, func(b *testing.B) {
			s, err := Open(ctx, fresh(), Create)
			require.NoError(b, err)
			b.Cleanup(func() { s.Close() })
			const trials = 1_000
			for i := 0; i < trials; i += 100 {
				var list []*New
				for k := range 100 {
					r := *runs[k%len(runs)]
					r.WallNs, r.Parameters = uint64(i+k), map[string]float64{"n": float64(1000 + i%7)}
					list = append(list, &New{Name: "x", Run: &r, Experiment: fmt.Sprint(k % 3)})
				}
				_, err := s.Import(ctx, list)
				require.NoError(b, err)
			}
			b.Run("list", func(b *testing.B) {
				for b.Loop() {
					list, err := s.Experiments(ctx)
					require.NoError(b, err)
					require.Len(b, list, 3)
				}
			})
			b.Run("query", func(b *testing.B) {
				for b.Loop() {
					found, err := s.Select(ctx, `ranks > 2 && params.n < 1005 && any(findings, .id == "imbalance")`)
					require.NoError(b, err)
					require.Greater(b, len(found.Trials), trials/2)
				}
			})
			all, err := s.Trials(ctx)
			require.NoError(b, err)
			b.Run("series", func(b *testing.B) {
				for b.Loop() {
					stored, err := s.Runs(ctx, all, 0.01)
					require.NoError(b, err)
					list, err := stored.Series(0.01, series.Choice{})
					require.NoError(b, err)
					require.Len(b, list[0].Y, trials)
				}
			})
		})
	}
}
