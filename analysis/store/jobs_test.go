package store

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"marple/analysis/summary"
)

// job is one of a program that has lost half of its core time of 100 s, and a share of it to load imbalance.
func job(user, program string, started time.Time, imbalance float64) Job {
	s := &summary.Summary{Schema: summary.Schema, Program: program, BuildID: "b1", Account: "geo", Ranks: 4, Measured: 4, Started: started, Wall: 25e9,
		CoreTime: 100e9, Parallel: 0.5, LoadBalance: 1 - imbalance, Findings: []summary.Finding{{ID: "imbalance", Title: "Rank 1 computes longer", Share: imbalance}}}
	return NewJob(user, s, fmt.Append(nil, user, program, started, imbalance))
}

func stores(t *testing.T, do func(t *testing.T, s *Store)) {
	places(t, func(t *testing.T, fresh func() string) {
		s, err := Open(ctx, fresh(), Create)
		require.NoError(t, err)
		defer s.Close()
		do(t, s)
	})
}

// A job is there once, however often it is taken; sums and lists are those of the jobs that are asked for.
func TestJobs(t *testing.T) {
	day := time.Date(2026, 10, 29, 12, 0, 0, 0, time.UTC) // a Thursday
	all := []Job{job("ann", "heat", day, 0.3), job("ann", "heat", day.AddDate(0, 0, 14), 0.1), job("bob", "wave", day.AddDate(0, 3, 0), 0.4),
		job("bob", "heat", day.Add(time.Hour), 0.2)}
	stores(t, func(t *testing.T, s *Store) {
		added, err := s.Ingest(ctx, all[:3])
		require.NoError(t, err)
		assert.EqualValues(t, 3, added)
		added, err = s.Ingest(ctx, all)
		require.NoError(t, err)
		assert.EqualValues(t, 1, added)

		list, err := s.Jobs(ctx, JobFilter{User: "bob"}, 10)
		require.NoError(t, err)
		require.Len(t, list, 2)
		assert.Equal(t, all[2], list[0]) // the last one first
		list, err = s.Jobs(ctx, JobFilter{Imbalance: 0.3}, 10)
		require.NoError(t, err)
		assert.Len(t, list, 2)
		list, err = s.Jobs(ctx, JobFilter{From: day, To: day.Add(time.Hour)}, 10)
		require.NoError(t, err)
		assert.Len(t, list, 1)

		sums, err := s.Sums(ctx, JobFilter{}, "program", 10)
		require.NoError(t, err)
		assert.Equal(t, []Sum{{"heat", 3, 300, 150, 1}, {"wave", 1, 100, 50, 1}}, sums)
		assert.Equal(t, 0.5, sums[0].Parallel())
		sums, err = s.Sums(ctx, JobFilter{User: "ann", Program: "heat", Account: "geo", Build: "b1"}, "week", 10)
		require.NoError(t, err)
		assert.Equal(t, []Sum{{"2026-10-29", 1, 100, 50, 1}, {"2026-11-12", 1, 100, 50, 0}}, sums)
		sums, err = s.Sums(ctx, JobFilter{User: "ann"}, "week", 1)
		require.NoError(t, err)
		assert.Equal(t, []Sum{{"2026-11-12", 1, 100, 50, 0}}, sums, "the last one")
		_, err = s.Sums(ctx, JobFilter{}, "started; DROP TABLE job", 10)
		require.ErrorContains(t, err, "nothing that jobs can be added up by")

		// What is forgotten is gone, also within a month.
		require.NoError(t, s.Forget(ctx, day.AddDate(0, 0, 14)))
		list, err = s.Jobs(ctx, JobFilter{}, 10)
		require.NoError(t, err)
		assert.Equal(t, []Job{all[2], all[1]}, list)
		require.NoError(t, s.Forget(ctx, day.AddDate(1, 0, 0)))
		list, err = s.Jobs(ctx, JobFilter{}, 10)
		require.NoError(t, err)
		assert.Empty(t, list)
		added, err = s.Ingest(ctx, all) // whose months are made again
		require.NoError(t, err)
		assert.EqualValues(t, 4, added)
	})
}

// Years of large machines add up.
func TestManyCoreHours(t *testing.T) {
	day := time.Date(2026, 10, 29, 12, 0, 0, 0, time.UTC)
	stores(t, func(t *testing.T, s *Store) {
		var jobs []Job
		for i := range 3 {
			j := job("ann", "heat", day.AddDate(0, 0, i), 0.3)
			j.CoreTime = 1<<63 - 1
			jobs = append(jobs, j)
		}
		_, err := s.Ingest(ctx, jobs)
		require.NoError(t, err)
		sums, err := s.Sums(ctx, JobFilter{}, "program", 10)
		require.NoError(t, err)
		assert.InEpsilon(t, 3*float64(1<<63)/1e9, sums[0].CoreTime, 1e-9)
	})
}

// What a site asks of a million jobs.
func BenchmarkJobs(b *testing.B) {
	const million = 1_000_000
	for name, fresh := range map[string]func() string{"SQLite": func() string { return b.TempDir() + "/jobs.db" }, "PostgreSQL": func() string { return postgres.Fresh(b) }} {
		b.Run(name, func(b *testing.B) {
			s, err := Open(ctx, fresh(), Create)
			require.NoError(b, err)
			b.Cleanup(func() { s.Close() })
			begin := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
			var last time.Time
			for at := 0; at < million; at += 10_000 {
				var jobs []Job
				for i := at; i < at+10_000; i++ {
					last = begin.Add(time.Duration(i) * time.Minute) // 1.9 years
					jobs = append(jobs, job(fmt.Sprint("user", i%331), fmt.Sprint("app", i%127), last, float64(i%50)/100))
				}
				_, err := s.Ingest(ctx, jobs)
				require.NoError(b, err)
			}
			if s.kind.schema != "" {
				_, err := s.db.ExecContext(ctx, "VACUUM ANALYZE")
				require.NoError(b, err)
			}
			recent := JobFilter{From: last.AddDate(0, -1, 0)}
			for _, x := range []struct {
				question, by string
				of           JobFilter
			}{{"programs of a month", "program", recent}, {"programs of all time", "program", JobFilter{}}, {"weeks of a program", "week", JobFilter{Program: "app7"}},
				{"weeks of a user", "week", JobFilter{User: "user7"}}} {
				b.Run(x.question, func(b *testing.B) {
					for b.Loop() {
						_, err := s.Sums(ctx, x.of, x.by, 200)
						require.NoError(b, err)
					}
				})
			}
			b.Run("imbalanced jobs of a month", func(b *testing.B) {
				recent.Imbalance = 0.3
				for b.Loop() {
					_, err := s.Jobs(ctx, recent, 200)
					require.NoError(b, err)
				}
			})
		})
	}
}

// The month of a job is that of the moment, whatever zone its rank had.
func TestJobsOfOtherZones(t *testing.T) {
	stores(t, func(t *testing.T, s *Store) {
		one, err := summary.Decode([]byte(`{"schema":1,"program":"x","ranks":1,"hosts":[],"started":"2026-11-01T00:30:00+14:00"}`))
		require.NoError(t, err)
		j := NewJob("ann", one, []byte("x"))
		j.Started = j.Started.In(time.FixedZone("", 14*3600))
		added, err := s.Ingest(ctx, []Job{j})
		require.NoError(t, err)
		assert.EqualValues(t, 1, added)
	})
}
