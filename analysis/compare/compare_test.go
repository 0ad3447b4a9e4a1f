package compare_test

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"marple/analysis/analysistest"
	"marple/analysis/compare"
	"marple/analysis/run"
)

const ms = 1_000_000

// app is a run of 8 ranks in which the parts take the given times, in ms; rank 3 is later by the last.
func app(solve, exchange, late float64) *run.Run { return appOf(8, solve, exchange, late) }

func appOf(ranks int, solve, exchange, late float64) *run.Run {
	return analysistest.Run(ranks, ranks, func(r *analysistest.Rank) {
		own := 0.0
		if r.Rank == 3 {
			own = late
		}
		r.Function(10, "solve", func() {
			r.Compute(uint64((solve + own) * ms))
			r.Barrier(20, uint64((late-own)*ms))
		})
		r.Function(11, "exchange", func() {
			r.Send(30, (r.Rank+1)%ranks, 100, uint64(exchange/2*ms))
			r.Recv(31, (r.Rank+ranks-1)%ranks, 100, uint64(exchange/2*ms))
		})
	})
}

func side(name string, runs ...*run.Run) compare.Side { return compare.Side{Name: name, Runs: runs} }

func compared(t *testing.T, a, b compare.Side) *compare.Comparison {
	c, err := compare.Compare(a, b, 0.01)
	require.NoError(t, err)
	sum := c.Rest.Difference
	for _, p := range c.Places {
		sum += p.Difference
	}
	mean := func(s compare.Side) (x float64) {
		for _, r := range s.Runs {
			x += float64(r.Root().Inclusive.Sum) / 1e9 / float64(r.Measured) / float64(len(s.Runs))
		}
		return x
	}
	require.InDelta(t, mean(b)-mean(a), sum, 1e-9, "differences of places add up")
	return c
}

// noisy varies a run's times by a percentage.
func noisy(random *rand.Rand, percent, solve, exchange float64) *run.Run {
	vary := func(x float64) float64 { return x * (1 + percent/100*random.NormFloat64()) }
	return appOf(2, vary(solve), vary(exchange), 0)
}

func TestOneRunOnEachSide(t *testing.T) {
	c := compared(t, side("a", app(100, 20, 0)), side("b", app(100, 40, 0)))
	require.Equal(t, compare.Unknown, c.Wall.Verdict)
	require.Nil(t, c.Wall.P)
	require.InDelta(t, 0.02, c.Wall.Difference, 1e-9)
	require.Len(t, c.Places, 2)
	for _, p := range c.Places {
		require.Equal(t, compare.Unknown, p.Verdict)
		require.InDelta(t, 0.01, p.Difference, 1e-9)
		require.Contains(t, p.Label(), " in exchange (main.c:11) in main")
	}
	require.Contains(t, c.Caveats, "with one run on each side it cannot be known what is noise: repeat both, in turns, three times or more")
}

func TestOneRankIsLater(t *testing.T) {
	c := compared(t, side("a", app(100, 20, 0)), side("b", app(100, 20, 40)))
	require.Equal(t, "MPI_Barrier (main.c:20) in solve (main.c:10) in main", c.Places[0].Label())
	require.InDelta(t, 0.035, c.Places[0].Difference, 1e-9)
	require.Empty(t, c.Places[0].Ranks, "seven ranks wait")
	require.Equal(t, "gap", c.Places[1].Kind)
	require.InDelta(t, 0.005, c.Places[1].Difference, 1e-9)
	require.Equal(t, []int{3}, c.Places[1].Ranks)
}

// A change that is much larger than the noise is found, and nothing else is called a change.
func TestSeveralRuns(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	var a, b []*run.Run
	for range 6 {
		a = append(a, noisy(random, 2, 100, 20))
		b = append(b, noisy(random, 2, 100, 40))
	}
	c := compared(t, side("a", a...), side("b", b...))
	require.Equal(t, compare.Changed, c.Wall.Verdict)
	require.InDelta(t, 0.02, c.Wall.Difference, 0.006)
	require.Less(t, c.Wall.Interval[0], 0.02)
	require.Greater(t, c.Wall.Interval[1], 0.02)
	for _, p := range c.Places {
		want := compare.Noise
		if strings.Contains(p.Label(), " in exchange (main.c:11)") {
			want = compare.Changed
		}
		require.Equal(t, want, p.Verdict, p.Label())
	}
}

// Where nothing changed, changes are claimed no more often than the level says: of the whole in 5 % of comparisons, of
// any place in at most 5 %.
func TestFalseAlarms(t *testing.T) {
	random := rand.New(rand.NewSource(2))
	const trials = 200
	whole, somewhere := 0, 0
	for range trials {
		var a, b []*run.Run
		for range 4 {
			a, b = append(a, noisy(random, 5, 50, 50)), append(b, noisy(random, 5, 50, 50))
		}
		c := compared(t, side("a", a...), side("b", b...))
		if c.Wall.Verdict == compare.Changed {
			whole++
		}
		for _, p := range c.Places {
			if p.Verdict == compare.Changed {
				somewhere++
				break
			}
		}
	}
	require.LessOrEqual(t, whole, trials*10/100)
	require.LessOrEqual(t, somewhere, trials*10/100)
}

// Against a table: Welch's example of R's t.test(c(1,2,3,4), c(2,4,6,8,10)).
func TestWelch(t *testing.T) {
	wall := func(list ...float64) (s compare.Side) {
		for _, x := range list {
			r := app(1, 1, 0)
			r.WallNs = uint64(x * 1e9)
			s.Runs = append(s.Runs, r)
		}
		return s
	}
	// mean 2.5 and 6, variances 5/3 and 10: t = 3.5/√(5/12+2) = 2.2517, 5.5202 degrees of freedom.
	c := compared(t, wall(1, 2, 3, 4), wall(2, 4, 6, 8, 10))
	require.InDelta(t, 3.5, c.Wall.Difference, 1e-12)
	require.InDelta(t, 0.0691, *c.Wall.P, 5e-4)
	require.Equal(t, compare.Noise, c.Wall.Verdict)
	// One against four: Student's with the four's variance; t = 4.5/√(5/3·5/4) = 3.118, 3 degrees of freedom.
	c = compared(t, wall(7), wall(1, 2, 3, 4))
	require.InDelta(t, 0.0526, *c.Wall.P, 5e-4)
	require.Contains(t, c.Caveats, "one side has one run; it is supposed to vary as much as the runs of the other side do")
	// Runs that are all the same, as simulated ones are.
	c = compared(t, wall(1, 1), wall(2, 2))
	require.Zero(t, *c.Wall.P)
	c = compared(t, wall(1, 1), wall(1, 1))
	require.Equal(t, 1., *c.Wall.P)
	require.Equal(t, compare.Noise, c.Wall.Verdict)
}

// Calls are the same though their lines have moved.
func TestLinesMove(t *testing.T) {
	code := func(line int, first, second uint64) *run.Run {
		return analysistest.Run(2, 2, func(r *analysistest.Rank) {
			r.Function(line, "work", func() {
				r.Compute(10 * ms)
				r.Barrier(line+10, first)
				r.Compute(10 * ms)
				r.Barrier(line+20, second)
			})
		})
	}
	c := compared(t, side("a", code(100, 5*ms, 50*ms)), side("b", code(107, 50*ms, 5*ms)))
	require.Len(t, c.Places, 2, "each barrier with its own")
	require.Equal(t, "MPI_Barrier (main.c:117) in work (main.c:107) in main", c.Places[0].Label())
	require.InDelta(t, 0.045, c.Places[0].Difference, 1e-9)
	require.InDelta(t, -0.045, c.Places[1].Difference, 1e-9)

	// With a call more it is not clear which is which.
	more := analysistest.Run(2, 2, func(r *analysistest.Rank) {
		r.Function(100, "work", func() {
			for line := range 3 {
				r.Compute(10 * ms)
				r.Barrier(110+3*line, 50*ms)
			}
		})
	})
	c = compared(t, side("a", code(100, 5*ms, 50*ms)), side("b", more))
	require.Equal(t, "MPI_Barrier (up to 3 places) in work (main.c:100) in main", c.Places[0].Label())
	require.InDelta(t, 0.095, c.Places[0].Difference, 1e-9)
}

func TestAPathOnOneSideOnly(t *testing.T) {
	other := analysistest.Run(8, 8, func(r *analysistest.Rank) {
		r.Function(10, "fresh", func() { r.Compute(50 * ms); r.Barrier(12, 60*ms) })
	})
	c := compared(t, side("a", app(100, 20, 0)), side("b", other))
	found := false
	for _, p := range c.Places {
		if strings.Contains(p.Label(), " in fresh (main.c:10)") {
			found = true
			require.Equal(t, [2]int{0, 1}, p.Runs)
			require.Empty(t, p.Node[0])
			require.NotNil(t, other.Find(p.Node[1]))
		}
	}
	require.True(t, found)
}

func TestCircumstances(t *testing.T) {
	a, b := app(10, 2, 0), app(10, 2, 0)
	a.Parameters, b.Parameters = map[string]float64{"n": 100}, map[string]float64{"n": 200, "m": 1}
	b.MPI.Library = "Other MPI 2"
	b.Started = a.Started.Add(time.Hour)
	c := compared(t, side("a", a, a), side("b", b))
	require.Contains(t, c.Differences, compare.Difference{What: "MPI library", A: "Test MPI 1.0", B: "Other MPI 2"})
	require.Contains(t, c.Differences, compare.Difference{What: "parameter n", A: "100", B: "200"})
	require.Contains(t, c.Differences, compare.Difference{What: "parameter m", A: "none", B: "1"})
	require.Contains(t, c.Same, "executable")
	require.Contains(t, c.Same, "ranks")
	require.Contains(t, c.Caveats[1], "all runs of one side were made before those of the other")
	mixed := app(10, 2, 0)
	mixed.Parameters = map[string]float64{"n": 300}
	c = compared(t, side("a", a, mixed), side("b", b))
	require.Contains(t, c.Caveats, "the runs of A differ among themselves in parameter n: 100, 300")
}

func TestDesigns(t *testing.T) {
	a, b := app(100, 20, 0), app(100, 20, 0)
	a.Models = []run.Model{{Name: "pipeline", Phase: "solve"}, {Name: "wavefront"}, {Name: "pipeline"}}
	b.Models = []run.Model{{Name: "master-worker"}}
	c := compared(t, side("a", a), side("b", b))
	require.Contains(t, c.Differences, compare.Difference{What: "design", A: "pipeline + wavefront", B: "master-worker"})
	require.Contains(t, compared(t, side("a", a), side("b", a)).Same, "design")
}

func TestFindings(t *testing.T) {
	a, b := app(10, 2, 0), app(10, 2, 0)
	a.Findings = []run.Finding{{ID: "one", Title: "One", Share: 0.2, Model: "pipeline"}, {ID: "both", Title: "Both", Share: 0.3}}
	b.Findings = []run.Finding{{ID: "both", Title: "Both now", Share: 0.31}}
	c := compared(t, side("a", a), side("b", b))
	require.Equal(t, []compare.Finding{{"one", "One", "pipeline", [2]int{1, 0}, [2]float64{0.2, 0}}, {"both", "Both now", "", [2]int{1, 1}, [2]float64{0.3, 0.31}}}, c.Findings)
}

func TestWhatCannotBeCompared(t *testing.T) {
	_, err := compare.Compare(side("a"), side("b", app(1, 1, 0)), 0)
	require.Error(t, err)
	_, err = compare.Compare(side("a", &run.Run{Ranks: 1}), side("b", app(1, 1, 0)), 0)
	require.EqualError(t, err, "a: a run without a call graph cannot be compared")
}

// Whatever runs are compared: differences add up, probabilities are such, and swapping the sides changes signs only.
func TestAnyRuns(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		draw := func(name string) compare.Side {
			var runs []*run.Run
			for range rapid.IntRange(1, 3).Draw(r, name) {
				time := rapid.Float64Range(0, 30)
				runs = append(runs, appOf(4, time.Draw(r, "solve"), time.Draw(r, "exchange"), time.Draw(r, "late")))
			}
			return side(name, runs...)
		}
		a, b := draw("a"), draw("b")
		there, back := compared(t, a, b), compared(t, b, a)
		require.InDelta(t, there.Wall.Difference, -back.Wall.Difference, 1e-12)
		for _, p := range there.Places {
			require.False(t, math.IsNaN(p.Difference))
			require.Equal(t, len(a.Runs)+len(b.Runs) > 2, p.P != nil)
			if p.P != nil {
				require.True(t, *p.P >= 0 && *p.P <= 1)
				require.True(t, p.Interval[0] <= p.Difference && p.Difference <= p.Interval[1])
			}
		}
	})
}

func TestPublishedSchema(t *testing.T) {
	fresh := filepath.Join(t.TempDir(), "schema.json")
	command := exec.Command("go", "run", "./analysis/run/schemagen", "./analysis/compare", fresh)
	command.Dir = "../.."
	out, err := command.CombinedOutput()
	require.NoError(t, err, string(out))
	data, err := os.ReadFile(fresh)
	require.NoError(t, err)
	require.Equal(t, string(data), string(compare.SchemaJSON()), "make schema writes it anew")

	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	require.NoError(t, err)
	compiler := jsonschema.NewCompiler()
	require.NoError(t, compiler.AddResource("compare.json", document))
	schema, err := compiler.Compile("compare.json")
	require.NoError(t, err)
	for _, b := range []compare.Side{side("b", app(100, 40, 9)), side("b", app(100, 40, 9), app(100, 41, 8))} {
		text, err := json.Marshal(compared(t, side("a", app(100, 20, 0)), b))
		require.NoError(t, err)
		instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		require.NoError(t, err)
		require.NoError(t, schema.Validate(instance))
	}
	require.Error(t, schema.Validate(map[string]any{}))
}

// A function that takes 5 % of the run more is found in 95 of 100 comparisons of five runs a side that vary by 1 %, by
// name; equal programs are suspected in 5 of 100 at most, whatever the limit.
func TestGateInNoise(t *testing.T) {
	const trials = 100
	random := rand.New(rand.NewSource(7))
	vary := func(x float64) uint64 { return uint64(x * (1 + 0.01*random.NormFloat64()) * ms) }
	runs := func(solve float64) (list []*run.Run) {
		for range 5 {
			times := [2]uint64{vary(solve), vary(40)}
			list = append(list, analysistest.Run(2, 2, func(r *analysistest.Rank) {
				r.Region("solve", func() { r.Compute(times[0]) })
				r.Region("exchange", func() { r.Compute(times[1]) })
			}))
		}
		return list
	}
	caught, named, false0, falseLimit := 0, 0, 0, 0
	for range trials {
		c := compared(t, side("a", runs(60)...), side("b", runs(65)...))
		require.NoError(t, c.Guard(0.03))
		if c.Gate.Failed() {
			caught++
		}
		if slices.ContainsFunc(c.Gate.Regressions, func(r compare.Regression) bool { return strings.Contains(r.What, "solve") }) {
			named++
		}
		same := compared(t, side("a", runs(60)...), side("b", runs(60)...))
		require.NoError(t, same.Guard(0))
		if same.Gate.Failed() {
			false0++
		}
		require.NoError(t, same.Guard(0.03))
		if same.Gate.Failed() {
			falseLimit++
		}
	}
	t.Logf("of %d: caught %d, by name %d; false %d without a limit, %d above 3 %%", trials, caught, named, false0, falseLimit)
	require.GreaterOrEqual(t, caught, trials*95/100)
	require.GreaterOrEqual(t, named, trials*95/100)
	require.LessOrEqual(t, false0, trials*5/100)
	require.LessOrEqual(t, falseLimit, trials*5/100)
}

func TestGateNeedsRuns(t *testing.T) {
	c := compared(t, side("a", app(100, 20, 0)), side("b", app(100, 40, 0)))
	require.ErrorIs(t, c.Guard(0.05), compare.ErrNoNoise)
}
