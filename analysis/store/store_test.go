package store

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"marple/analysis/analysistest"
	"marple/analysis/diagnosis"
	"marple/analysis/knowledge"
	"marple/analysis/run"
	"marple/analysis/series"
	"marple/analysis/store/storetest"
)

const ms = 1_000_000

var ctx = context.Background()

var postgres storetest.Server

func TestMain(m *testing.M) { os.Exit(postgres.Main(m)) }

// places are the databases that the tests run on.
func places(t *testing.T, test func(t *testing.T, fresh func() string)) {
	t.Run("SQLite", func(t *testing.T) {
		test(t, func() string { return filepath.Join(t.TempDir(), "runs.db") })
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		test(t, func() string { return postgres.Fresh(t) })
	})
}

// openTest opens a database by itself.
func openTest(t testing.TB, location string) *sql.DB {
	source, err := dialectOf(location).open(location)
	require.NoError(t, err)
	t.Cleanup(func() { source.db.Close() })
	return source.db
}

func create(t *testing.T, location string) *Store {
	s, err := Open(ctx, location, Create)
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

// scaling is a run of so many ranks and that size of the problem. Each is a measurement of its own.
func scaling(ranks int, size float64, seed uint64) *run.Run {
	r := analysistest.RunWithWaits(ranks, ranks, func(r *analysistest.Rank) {
		r.Region("solve", func() {
			r.Compute(uint64(80*ms*size)/uint64(ranks) + seed)
			r.Barrier(5, uint64(ranks)*ms)
			r.Barrier(6, ms)
		})
		r.Send(7, (r.Rank+1)%ranks, 100, ms)
		r.Recv(8, (r.Rank+ranks-1)%ranks, 100, ms)
	})
	r.Parameters = map[string]float64{"size": size}
	diagnosis.Conclude(r, knowledge.Library{})
	return r
}

// directory writes a run directory.
func directory(t *testing.T, r *run.Run) string {
	path := filepath.Join(t.TempDir(), "marple-app-1")
	require.NoError(t, os.Mkdir(path, 0o777))
	require.NoError(t, r.Write(analysistest.In(path), "a report\n"))
	return path
}

func fromDirectory(t *testing.T, path string) *New {
	n, err := FromDirectory(path)
	require.NoError(t, err)
	return n
}

func importOne(t *testing.T, s *Store, n *New) Outcome {
	outcomes, err := s.Import(ctx, []*New{n})
	require.NoError(t, err)
	return outcomes[0]
}

func TestRunsComeOutAsTheyWentIn(t *testing.T) {
	places(t, func(t *testing.T, fresh func() string) {
		s := create(t, fresh())
		r := scaling(4, 2, 0)
		r.AtomicEvents = []run.AtomicEvent{{Name: "residual", Values: run.Reals{N: 80, Sum: 23440, Min: 7.5, Max: 1000, Mean: 293}}}
		r.Metadata = []run.Metadata{{Name: "Grid", Value: "64³", Rank: 1, Ranks: 3}}
		r.Families = []string{"families: []"}
		r.Stuck = []run.Stuck{{Rank: 1, Call: "MPI_Recv", Peer: -1, SinceNs: 5}}
		r.CallGraph[0].Metrics = []run.Metric{{Name: "PAPI_FP_OPS", Inclusive: 2e9, PerRank: []run.RankMetric{{Rank: 3, Inclusive: 1e9}}}}
		path := directory(t, r)
		require.NoError(t, os.WriteFile(filepath.Join(path, "invocations.parquet"), []byte("any\x00bytes\xff"), 0o666))
		require.NoError(t, os.WriteFile(filepath.Join(path, "mine.txt"), []byte("not the run's"), 0o666))
		o := importOne(t, s, fromDirectory(t, path))
		require.Equal(t, Outcome{1, Imported}, o)

		again, err := s.Run(ctx, o.Trial)
		require.NoError(t, err)
		require.Equal(t, r, again)
		files, err := s.Files(ctx, o.Trial)
		require.NoError(t, err)
		require.Len(t, files, 3)
		for name, data := range files {
			want, err := os.ReadFile(filepath.Join(path, name))
			require.NoError(t, err)
			require.Equal(t, want, data, name)
		}

		// A run that was never in a directory.
		o = importOne(t, s, &New{Name: "made", Run: scaling(2, 1, 0)})
		again, err = s.Run(ctx, o.Trial)
		require.NoError(t, err)
		require.Equal(t, scaling(2, 1, 0), again)
	})
}

func TestTrials(t *testing.T) {
	places(t, func(t *testing.T, fresh func() string) {
		s := create(t, fresh())
		r := scaling(4, 2, 0)
		r.Findings = []run.Finding{{ID: "imbalance", Title: "Rank 3 is slow", Share: 0.25, Seconds: 1.5, Where: "here", Model: "m", Factor: "f", Confidence: "high"}}
		r.Metadata = []run.Metadata{{Name: "Grid", Value: "64³"}, {Name: "compiler", Value: "unknown"}}
		r.Models = []run.Model{{Name: "pipeline", Title: "a pipeline", Confidence: 0.9}}
		importOne(t, s, &New{Name: "one", Run: r, Metadata: map[string]string{"compiler": "gcc 12"}})
		list, err := s.Trials(ctx)
		require.NoError(t, err)
		require.Len(t, list, 1)
		x := list[0]
		require.WithinDuration(t, time.Now(), x.Imported, time.Hour)
		require.Equal(t, &Trial{ID: 1, Application: "app", Experiment: "default", Name: "one", Program: "app", MPI: "Test MPI 1.0", Started: r.Started,
			Imported: x.Imported, Ranks: 4, Measured: 4, Hosts: 1, Wall: float64(r.WallNs) / 1e9, CoreTime: float64(r.CoreTime()) / 1e9,
			Parallel: r.Efficiency.Parallel, LoadBalance: r.Efficiency.LoadBalance, Communication: &r.Efficiency.Communication, CoreAvailability: 1,
			Parameters: map[string]float64{"size": 2},
			Metadata:   map[string]string{"compiler": "gcc 12", "Grid": "64³", "hosts": "node1", "mpi.family": r.MPI.Family, "thread_level": "single", "clocks": x.Metadata["clocks"]},
			Findings:   []Finding{{"imbalance", "Rank 3 is slow", 0.25, 1.5, "here", "m", "f", "high"}}, Models: []Model{{"pipeline", "a pipeline", 0.9}}, total: x.total}, x)

		experiments, err := s.Experiments(ctx)
		require.NoError(t, err)
		require.Equal(t, []*Experiment{{1, "app", "default", 1, 4, 4, r.Started, 0}}, experiments)
	})
}

// Metrics that a run brings along, even one with the name of our own.
func TestMetrics(t *testing.T) {
	places(t, func(t *testing.T, fresh func() string) {
		s := create(t, fresh())
		for i := range 2 {
			r := scaling(2, 1, uint64(i))
			r.CallGraph[0].Metrics = []run.Metric{{Name: "PAPI_TOT_INS", Inclusive: 1e12, Exclusive: 5}, {Name: "time", Inclusive: 7}}
			importOne(t, s, &New{Name: "x", Run: r})
			again, err := s.Run(ctx, int64(i+1))
			require.NoError(t, err)
			require.Equal(t, r.CallGraph[0].Metrics, again.CallGraph[0].Metrics)
		}
		values, err := column[float64](s, ctx, s.db, `SELECT s.inclusive FROM statistic s JOIN metric m ON m.id = s.metric WHERE m.unit = ''
			ORDER BY s.trial, s.inclusive`)
		require.NoError(t, err)
		require.Equal(t, []float64{7, 1e12, 7, 1e12}, values)
	})
}

func TestImportingTwice(t *testing.T) {
	places(t, func(t *testing.T, fresh func() string) {
		s := create(t, fresh())
		path := directory(t, scaling(4, 2, 0))
		statistics := func() int {
			n, err := column[int](s, ctx, s.db, "SELECT count(*) FROM statistic")
			require.NoError(t, err)
			return n[0]
		}
		require.Equal(t, Outcome{1, Imported}, importOne(t, s, fromDirectory(t, path)))
		rows := statistics()
		require.Equal(t, Outcome{1, Unchanged}, importOne(t, s, fromDirectory(t, path)))
		n := fromDirectory(t, path)
		n.Experiment, n.Metadata = "tuned", map[string]string{"by": "hand"}
		require.Equal(t, Outcome{1, Moved}, importOne(t, s, n))
		require.Equal(t, Outcome{1, Unchanged}, importOne(t, s, fromDirectory(t, path)), "it stays where it is")
		n = fromDirectory(t, path)
		n.Application = "other"
		require.Equal(t, Outcome{1, Moved}, importOne(t, s, n))

		// The same measurement, diagnosed anew.
		r, err := run.Read(path)
		require.NoError(t, err)
		r.Findings = []run.Finding{{ID: "new", Title: "Something new"}}
		require.NoError(t, r.Write(analysistest.In(path), "another report\n"))
		require.Equal(t, Outcome{1, Replaced}, importOne(t, s, fromDirectory(t, path)))
		list, err := s.Trials(ctx)
		require.NoError(t, err)
		require.Len(t, list, 1)
		require.Equal(t, "new", list[0].Findings[0].ID)
		require.Equal(t, "other/tuned", list[0].Application+"/"+list[0].Experiment)
		require.Equal(t, "hand", list[0].Metadata["by"])
		require.Equal(t, rows, statistics())
		again, err := s.Run(ctx, 1)
		require.NoError(t, err)
		require.Equal(t, r, again)

		// Two runs that differ in a nanosecond are two.
		require.Equal(t, Imported, importOne(t, s, &New{Name: "x", Run: scaling(4, 2, 1)}).Change)
		// Twice in one go is once.
		both, err := s.Import(ctx, []*New{{Name: "y", Run: scaling(4, 2, 2)}, {Name: "z", Run: scaling(4, 2, 2)}})
		require.NoError(t, err)
		require.Equal(t, []Outcome{{3, Imported}, {3, Unchanged}}, both)
	})
}

func TestSeriesAreThoseOfTheRuns(t *testing.T) {
	places(t, func(t *testing.T, fresh func() string) {
		s := create(t, fresh())
		var runs []*run.Run
		var list []*New
		for _, size := range []float64{1, 2} {
			for _, ranks := range []int{1, 2, 4, 8} {
				r := scaling(ranks, size, 0)
				runs = append(runs, r)
				list = append(list, &New{Name: fmt.Sprint(ranks), Run: r})
			}
		}
		_, err := s.Import(ctx, list)
		require.NoError(t, err)
		other := scaling(3, 3, 0)
		other.Program, other.CallGraph[0].Name = "other", "other"
		importOne(t, s, &New{Name: "other", Run: other})
		for _, least := range []float64{0, 0.01, 0.2} {
			want, err := series.OfRuns(runs, least, series.Choice{})
			require.NoError(t, err)
			found, err := s.Select(ctx, "app")
			require.NoError(t, err)
			require.Len(t, found.Trials, 8)
			stored, err := s.Runs(ctx, found.Trials, least)
			require.NoError(t, err)
			have, err := stored.Series(least, series.Choice{})
			require.NoError(t, err)
			require.Equal(t, byName(want), byName(have))
		}
		found, err := s.Select(ctx, "params.size == 2 && ranks > 1")
		require.NoError(t, err)
		stored, err := s.Runs(ctx, found.Trials, 0.01)
		require.NoError(t, err)
		have, err := stored.Series(0.01, series.Choice{})
		require.NoError(t, err)
		want, err := series.OfRuns(runs[5:], 0.01, series.Choice{})
		require.NoError(t, err)
		require.Equal(t, byName(want), byName(have))
	})
}

func TestSelections(t *testing.T) {
	places(t, func(t *testing.T, fresh func() string) {
		s := create(t, fresh())
		for i, ranks := range []int{1, 2, 4, 8} {
			n := &New{Name: fmt.Sprintf("run %d", ranks), Run: scaling(ranks, float64(i), 0), Experiment: []string{"small", "large"}[i/2]}
			if i == 0 {
				n.Run.Parameters = nil
			}
			if i == 3 {
				n.Run.Findings = []run.Finding{{ID: "imbalance", Share: 0.3}}
				n.Metadata = map[string]string{"branch": "main"}
			}
			importOne(t, s, n)
		}
		for text, want := range map[string][]int64{
			"2": {2}, "1,3-4": {1, 3, 4}, "app": {1, 2, 3, 4}, "app/large": {3, 4},
			"ranks >= 4":                        {3, 4},
			"ranks >= 4 && name matches 'n 8$'": {4},
			`experiment == "small" or any(findings, .share > 0.2)`: {1, 2, 4},
			`"size" in params && params.size < 2`:                  {2},
			`meta.branch == "main"`:                                {4},
			`meta.hosts contains "node1" && ranks == 1`:            {1},
			`started > date("2020-01-01") && started < now()`:      {1, 2, 3, 4},
			"communication != nil && communication > 2":            nil,
			"false": nil,
		} {
			found, err := s.Select(ctx, text)
			require.NoError(t, err, text)
			var ids []int64
			for _, x := range found.Trials {
				ids = append(ids, x.ID)
			}
			require.Equal(t, want, ids, text)
			require.Zero(t, found.Undecided, text)
		}
		found, err := s.Select(ctx, "params.size < 2")
		require.NoError(t, err)
		require.Len(t, found.Trials, 1)
		require.Equal(t, 1, found.Undecided, "a trial without the parameter is not one of size 0")
		require.ErrorContains(t, found.Why, "trial 1: ")

		for text, want := range map[string]string{
			"7":                                  "no trial 7",
			"9-3":                                "expected numbers of trials such as 3,5,8-10",
			"1-9999999999":                       "expected numbers of trials",
			"nothing":                            `no application or experiment "nothing"`,
			"rank > 3":                           "unknown name rank (1:1)",
			"ranks +":                            "unexpected token EOF",
			"ranks > 'x'":                        "invalid operation",
			"ranks + 1":                          "expected bool, but got int",
			"'; DROP TABLE trial":                "literal not terminated",
			"all(1..1000000000, # > 0)":          "expected it behind in",
			strings.Repeat("!", 20000) + "true ": "expected at most",
		} {
			_, err := s.Select(ctx, text)
			require.ErrorContains(t, err, want, text)
		}
	})
}

func TestDeleting(t *testing.T) {
	places(t, func(t *testing.T, fresh func() string) {
		s := create(t, fresh())
		for i := range 3 {
			importOne(t, s, &New{Name: "x", Run: scaling(2, 1, uint64(i)), Experiment: fmt.Sprint("e", i/2)})
		}
		require.NoError(t, s.Delete(ctx, []int64{2, 3, 99}))
		list, err := s.Trials(ctx)
		require.NoError(t, err)
		require.Len(t, list, 1)
		experiments, err := s.Experiments(ctx)
		require.NoError(t, err)
		require.Len(t, experiments, 1)
		_, err = s.Run(ctx, 2)
		require.ErrorContains(t, err, "trial 2: there is none")
		require.Equal(t, int64(4), importOne(t, s, &New{Name: "x", Run: scaling(2, 1, 1)}).Trial, "a number never means another trial")
		require.NoError(t, s.Delete(ctx, []int64{1, 4}))
		for _, table := range []string{"application", "experiment", "trial", "parameter", "metadata", "finding", "recognized", "callpath", "statistic", "file"} {
			n, err := column[int](s, ctx, s.db, "SELECT count(*) FROM "+table)
			require.NoError(t, err)
			require.Equal(t, []int{0}, n, table)
		}
	})
}

func TestWritersAtOnceLoseNothing(t *testing.T) {
	places(t, func(t *testing.T, fresh func() string) {
		location := fresh()
		const writers, each = 4, 6
		var all sync.WaitGroup
		errs := make(chan error, writers*each)
		for i := range writers {
			all.Add(1)
			go func() {
				defer all.Done()
				s, err := Open(ctx, location, Create) // all of them make the database
				if err != nil {
					errs <- err
					return
				}
				defer s.Close()
				for k := range each {
					// Every second run is another writer's, too.
					seed := uint64(1000*i + k)
					if k%2 == 1 {
						seed = uint64(k)
					}
					if _, err := s.Import(ctx, []*New{{Name: "x", Run: scaling(2, 1, seed), Experiment: fmt.Sprint(i % 2)}}); err != nil {
						errs <- err
					}
				}
			}()
		}
		all.Wait()
		close(errs)
		for err := range errs {
			require.NoError(t, err)
		}
		s := create(t, location)
		list, err := s.Trials(ctx)
		require.NoError(t, err)
		require.Len(t, list, writers*each/2+each/2)
		for _, x := range list {
			_, err := s.Run(ctx, x.ID)
			require.NoError(t, err)
		}
	})
}

func TestNamesFromOutside(t *testing.T) {
	places(t, func(t *testing.T, fresh func() string) {
		s := create(t, fresh())
		hostile := "'); DROP TABLE trial; --\x00\x1b[31m<script>\xff\n\"" + strings.Repeat("é", 500)
		r := scaling(2, 1, 0)
		r.Program, r.MPI.Library, r.Hosts[0].Name = hostile, hostile, hostile
		r.CallGraph[0].Walk(func(n *run.Node, _ int) bool { n.Name = hostile + n.Name; return true })
		r.Findings = []run.Finding{{ID: hostile, Title: hostile, Where: hostile}}
		importOne(t, s, &New{Name: hostile, Run: r, Metadata: map[string]string{"note": hostile}})
		list, err := s.Trials(ctx)
		require.NoError(t, err)
		require.Len(t, list, 1)
		require.LessOrEqual(t, len(list[0].Name), MaxName)
		require.NotContains(t, list[0].Name+list[0].Application, "\x00")
		require.NotContains(t, list[0].Name+list[0].Application, "\x1b")
		found, err := s.Select(ctx, list[0].Application)
		require.NoError(t, err)
		require.Len(t, found.Trials, 1)
		_, err = s.Runs(ctx, list, 0)
		require.NoError(t, err)

		for _, n := range []*New{{Application: hostile}, {Experiment: hostile}, {Experiment: " "}, {Metadata: map[string]string{hostile: ""}}, {Metadata: map[string]string{"": ""}}} {
			n.Run = scaling(2, 1, 0)
			_, err := s.Import(ctx, []*New{n})
			require.ErrorContains(t, err, "expected ")
		}
		r = scaling(2, 1, 0)
		r.Parameters = map[string]float64{hostile: 1}
		_, err = s.Import(ctx, []*New{{Run: r}})
		require.ErrorContains(t, err, "parameter: ")
		r = scaling(2, 1, 0)
		r.WallNs = 1 << 63
		_, err = s.Import(ctx, []*New{{Run: r}})
		require.ErrorContains(t, err, "a time of more than 292 years")
	})
}

func byName(list []*series.Series) map[string]series.Series {
	m := map[string]series.Series{}
	for _, s := range list {
		m[s.Name+": "+s.Response] = *s
	}
	return m
}
