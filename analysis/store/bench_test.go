package store

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"marple/analysis/analysistest"
	"marple/analysis/run"
	"marple/analysis/series"
)

// wide is a run with some 60 call paths, and what a measured one has beside them.
func wide(ranks int, size float64) *run.Run {
	r := analysistest.Run(ranks, ranks, func(r *analysistest.Rank) {
		for region := range 8 {
			r.Region(fmt.Sprint("region ", region), func() {
				r.Compute(uint64(size) * uint64(80*ms/ranks) * uint64(1+region%5+r.Rank%2))
				r.Region("exchange", func() {
					r.Send(7, (r.Rank+1)%ranks, 4096, ms)
					r.Recv(8, (r.Rank+ranks-1)%ranks, 4096, ms)
				})
				r.Barrier(5, uint64(ranks)*ms)
			})
		}
	})
	r.Parameters = map[string]float64{"n": 1000 * size, "order": 2}
	for _, id := range []string{"imbalance", "late-sender", "polling"} {
		r.Findings = append(r.Findings, run.Finding{ID: id, Title: "Rank 1 computes longer than the others, which wait in MPI", Share: 0.1 * size, Seconds: size,
			Where: "between MPI_Waitall (heat.c:34) and MPI_Allreduce (heat.c:68) in main", Model: "general", Factor: id, Confidence: "high",
			Advice: "Give rank 1 less of the work between these calls, or distribute it by measured cost."})
	}
	r.Models = []run.Model{{Name: "geometric-decomposition", Title: "Geometric decomposition", Confidence: 1}}
	return r
}

const trials = 10_000

// rows are the tables of a trial: what is copied to another trial, and what is made different.
var rows = []struct{ table, same, key, new string }{
	{"trial", "experiment, name, imported, started, program, ranks, measured, hosts, mpi, wall, core_time, call_tree, parallel, load_balance, communication, core_availability",
		"id", "measurement"},
	{"parameter", "name, value", "trial", ""},
	{"metadata", "name, value", "trial", ""},
	{"recognized", "name, title, confidence", "trial", ""},
	{"finding", "ordinal, id, title, share, seconds, place, model, factor, advice, confidence", "trial", ""},
	{"statistic", "callpath, metric, inclusive, exclusive, ranks, least, most, deviation", "trial", ""},
	{"file", "name, digest, content", "trial", ""},
}

// fill imports some runs, which is slow, and multiplies their rows, which is not: tables and their order are those that
// importing all of them gives.
func fill(b *testing.B, s *Store) {
	var list []*New
	for size := 1; size <= 10; size++ {
		for ranks := 1; ranks <= 8; ranks++ {
			list = append(list, &New{Name: "marple-app-4711", Application: "app", Experiment: fmt.Sprint(size % 3), Run: wide(ranks, float64(size)),
				Metadata: map[string]string{"compiler": "gcc-12", "commit": "4a38c1f"}})
		}
	}
	_, err := s.Import(ctx, list)
	require.NoError(b, err)
	require.NoError(b, s.write(ctx, func(w *writer) error {
		for n := len(list); n < trials; n = min(2*n, trials) {
			for _, r := range rows {
				columns, values := "trial, "+r.same, fmt.Sprintf("trial + %d, %s", n, r.same)
				if r.new != "" { // the database numbers them
					columns, values = r.new+", "+r.same, fmt.Sprintf("%s || '-%d', %s", r.new, n, r.same)
				}
				if err := w.exec(fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM %[1]s WHERE %[4]s <= %d ORDER BY %[4]s", r.table, columns, values, r.key, min(n, trials-n))); err != nil {
					return err
				}
			}
		}
		return nil
	}))
	if s.kind.schema != "" { // PostgreSQL does so by itself within a minute
		_, err := s.db.ExecContext(ctx, "VACUUM ANALYZE")
		require.NoError(b, err)
	}
}

// What people do with 10,000 trials, in a file of SQLite and in PostgreSQL.
func BenchmarkTrials(b *testing.B) {
	for _, x := range []struct {
		name  string
		fresh func() string
	}{{"SQLite", func() string { return b.TempDir() + "/runs.db" }}, {"PostgreSQL", func() string { return postgres.Fresh(b) }}} {
		b.Run(x.name, func(b *testing.B) {
			s, err := Open(ctx, x.fresh(), Create)
			require.NoError(b, err)
			b.Cleanup(func() { s.Close() })
			fill(b, s)
			b.Run("list", func(b *testing.B) {
				for b.Loop() {
					list, err := s.Experiments(ctx)
					require.NoError(b, err)
					require.Len(b, list, 3)
				}
			})
			b.Run("query", func(b *testing.B) {
				for b.Loop() {
					found, err := s.Select(ctx, `ranks > 2 && params.n < 9000 && any(findings, .share > 0.15)`)
					require.NoError(b, err)
					require.Greater(b, len(found.Trials), trials/2)
				}
			})
			b.Run("series", func(b *testing.B) {
				for b.Loop() {
					found, err := s.Select(ctx, "app")
					require.NoError(b, err)
					stored, err := s.Runs(ctx, found.Trials, 0.01)
					require.NoError(b, err)
					list, err := stored.Series(0.01, series.Choice{})
					require.NoError(b, err)
					require.Len(b, list[0].Y, trials)
					b.ReportMetric(float64(len(list)), "series")
				}
			})
		})
	}
}
