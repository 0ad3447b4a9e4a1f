package assemble

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"marple/analysis/run"
	"marple/analysis/selection"
	"marple/analysis/selection/graph"
	"marple/analysis/selection/prune"
)

func TestSolversAreOptions(t *testing.T) {
	for _, text := range []string{"wind_: gmres -ksp_gmres_restart 50, cg × ilu -pc_factor_levels 2,asm", "-wind_:gmres  -ksp_gmres_restart 50,cg x ilu -pc_factor_levels 2 , asm",
		"wind_: gmres -ksp_gmres_restart 50,cg×ilu -pc_factor_levels 2,asm"} {
		s, err := ParseSolvers(text)
		require.NoError(t, err)
		require.Equal(t, "wind_", s.Component())
		require.Equal(t, []string{"gmres -ksp_gmres_restart 50 + ilu -pc_factor_levels 2", "gmres -ksp_gmres_restart 50 + asm", "cg + ilu -pc_factor_levels 2", "cg + asm"}, s.names())
		require.Equal(t, strings.Fields("-wind_ksp_type gmres -wind_ksp_gmres_restart 50 -wind_pc_type ilu -wind_pc_factor_levels 2"), s.Options(s.names()[0], 1))
		// On several ranks an incomplete factorisation is that of each rank's block.
		require.Equal(t, strings.Fields("-wind_ksp_type cg -wind_pc_type bjacobi -wind_sub_pc_type ilu -wind_sub_pc_factor_levels 2"), s.Options(s.names()[2], 2))
		require.True(t, s.Blockwise(2))
		require.False(t, s.Blockwise(1))
		ksp, pc := s.Types(s.names()[2], 4)
		require.Equal(t, [2]string{"cg", "bjacobi"}, [2]string{ksp, pc})
		require.Empty(t, s.Options(Own, 4))
	}
	s, err := ParseSolvers("cg,preonly -ksp_max_it -1")
	require.NoError(t, err)
	require.Equal(t, "KSP", s.Component())
	require.Equal(t, strings.Fields("-ksp_type preonly -ksp_max_it -1"), s.Options("preonly -ksp_max_it -1", 2))
	require.Equal(t, "# of\n-a_b 1\n-c\n-d -1\n", OptionsFile([]string{"of"}, strings.Fields("-a_b 1 -c -d -1")))
	for text, want := range map[string]string{
		"":                       "expected names of types",
		"gmres,":                 "expected names of types",
		"gmres × ":               "expected names of types",
		"gmres × ilu × asm":      "expected one ×",
		"gmres ilu":              `"ilu" after gmres: expected a comma, or an option that begins with -`,
		"-ksp_type gmres":        `"-ksp_type": expected the name of a type before its options`,
		"a b: gmres":             `"a b" cannot be a prefix`,
		"gmres,cg,gmres":         "gmres stands there twice",
		"w_: cg -w_ksp_max_it 3": "-w_ksp_max_it: the prefix is put before options: expected -ksp_max_it",
	} {
		_, err := ParseSolvers(text)
		require.ErrorContains(t, err, want, text)
	}
}

func TestPoints(t *testing.T) {
	n, err := ParseVary("n=100, 2e2")
	require.NoError(t, err)
	ranks, err := ParseVary("ranks=1,4")
	require.NoError(t, err)
	points, err := Points([]Vary{n, ranks})
	require.NoError(t, err)
	require.Len(t, points, 4)
	require.Equal(t, "n 100, ranks 4", points[1].Text())
	require.Equal(t, map[string]float64{"n": 200, "ranks": 1}, points[2].At())
	require.Equal(t, []string{"mpirun", "-n", "4", "app", "-size=2e2x2e2"}, points[3].Fill([]string{"mpirun", "-n", "{ranks}", "app", "-size={n}x{n}"}))
	require.True(t, points[3].Beyond(points[1]))
	require.False(t, points[2].Beyond(points[1]), "it has fewer ranks")
	require.Equal(t, []string{"ranks"}, Missing([]Vary{n, ranks}, []string{"app", "-n", "{n}"}))
	for _, bad := range []string{"", "n", "n=", "n=a", "n=1,1", "ranks=0", "ranks=1.5", "n=inf", "{n}=1"} {
		_, err := ParseVary(bad)
		require.Error(t, err, bad)
	}
	_, err = Points([]Vary{n, n})
	require.ErrorContains(t, err, "n is varied twice")
}

// A run of test/apps/adapters/solvers.c on two ranks, of which only the path to the solves is kept.
func TestReadSolved(t *testing.T) {
	directory := filepath.Join("testdata", "solved")
	r, err := run.Read(directory)
	require.NoError(t, err)
	list, total, err := ReadSolved(r, directory)
	require.NoError(t, err)
	require.Len(t, list, 2)
	heat, wind := list[0], list[1]
	require.Equal(t, "heat_", heat.Component)
	require.Equal(t, "cg + bjacobi", heat.Types)
	require.Equal(t, "cg + jacobi", wind.Types)
	require.Equal(t, []float64{3, 42, 90}, []float64{heat.Solves, heat.Iterations, wind.Iterations})
	require.Empty(t, heat.Diverged())
	require.Equal(t, "it did not converge: DIVERGED_ITS in Transport", wind.Diverged())
	require.Equal(t, 6, wind.Phases[0].Diverged)
	// The times are those of the call graph, setting up included.
	node := r.Root().Children[0].Children[0]
	require.Equal(t, "heat_.solve", node.Name)
	require.InEpsilon(t, float64(node.Inclusive.Sum)/2e9, heat.Time, 1e-9)
	require.Equal(t, heat.Time, heat.Phases[0].Time)
	require.Equal(t, "Diffusion", heat.Phases[0].Name)
	require.Greater(t, total, heat.Time+wind.Time)
}

// studied makes a study of runs that take a time by their solvers and point; one below 0 has failed.
func studied(t *testing.T, families, vary []string, repeats int, seconds func(family, solver string, at map[string]float64, repeat int) float64) *Study {
	t.Helper()
	s := &Study{Repeats: repeats}
	for _, text := range families {
		f, err := ParseSolvers(text)
		require.NoError(t, err)
		s.Families = append(s.Families, f)
	}
	var list []Vary
	for _, text := range vary {
		v, err := ParseVary(text)
		require.NoError(t, err)
		list = append(list, v)
	}
	var err error
	s.Points, err = Points(list)
	require.NoError(t, err)
	for point := range s.Points {
		for repeat := range repeats {
			trials := s.Trials(point, repeat)
			for n := 0; n < len(trials); n++ {
				r := &StudyRun{Trial: trials[n], Ranks: 2, Cores: 1}
				r.Name, r.State = fmt.Sprint(len(s.Runs)+len(s.Failed)+1), Done
				for _, f := range s.Families {
					one := &Solved{Component: f.Component(), Solves: 2, Iterations: 20, Types: "gmres + bjacobi"}
					if ksp, pc := f.Types(r.Taken[f.Component()], 2); ksp != "" {
						one.Types = ksp + " + " + pc
					}
					one.Time = seconds(f.Component(), r.Taken[f.Component()], s.Points[point].At(), repeat)
					one.Phases = []SolvedPhase{{Name: "stage", Time: one.Time, Solves: 2}}
					if one.Time < 0 {
						one.Phases[0].Diverged, one.Phases[0].Reason = 1, reasons[-3]
					}
					r.Solved = append(r.Solved, one)
				}
				if r.Why, r.Blame = s.Judge(r); r.Why == "" {
					s.Runs = append(s.Runs, r)
					continue
				}
				r.State = Failed
				s.Failed = append(s.Failed, r.Trial)
				trials = append(trials, r.Apart(s.Given())...)
			}
		}
	}
	return s
}

// Of two prefixes, each solver is measured; where one diverges it is left out, and the other one of that run is run again.
func TestStudyChoosesTheLeastThatConverges(t *testing.T) {
	times := map[string]float64{"a_cg + jacobi": 1, "a_gmres + jacobi": 3, "b_cg + jacobi": -1, "b_gmres + jacobi": 2}
	s := studied(t, []string{"a_: cg,gmres × jacobi", "b_: cg,gmres × jacobi"}, nil, 1, func(family, solver string, _ map[string]float64, _ int) float64 {
		if solver == Own {
			return 5
		}
		return times[family+solver]
	})
	require.Len(t, s.Runs, 3, "as it is, a_'s cg alone, and gmres of both")
	require.Len(t, s.Failed, 1)
	require.Equal(t, "b_", s.Failed[0].Blame)
	require.Equal(t, selection.Taken{"a_": "cg + jacobi", "b_": "gmres + jacobi"}, s.Best(0))
	require.Nil(t, s.Run(s.Best(0), 0), "which have not run together")
	list := s.Tried(s.Families[1], 0)
	require.Equal(t, "it did not converge: DIVERGED_ITS in stage", list[2].Why)
	any, all := s.Measured(0)
	require.True(t, any && all)
	require.Equal(t, 10.0, list[0].Iterations)

	// The same choice comes of the families that are left for marple select, on the call graph of the first run.
	plan, err := selection.ParsePlan("families.yaml", []byte(s.Plan(0, nil, "")))
	require.NoError(t, err)
	a, err := selection.Select(t.Context(), selection.Question{Plan: plan, Rule: prune.Rule{Alpha: 0.1, Beta: 0.1}, Best: 2, Graph: callGraph(11)})
	require.NoError(t, err)
	require.InDelta(t, 4.0, a.Time, 1e-9, "1 of the program, 1 and 2")
	require.Equal(t, "cg + jacobi", a.Choices[0].Implementation)
	require.Equal(t, "gmres + jacobi: 2.00 s", a.Choices[0].Next.Implementation+": "+fmt.Sprintf("%.2f s", a.Choices[0].Next.Costs))
	text := Text(s, &run.Selection{Choices: a.Choices, Time: a.Time, Tried: append(s.Tried(s.Families[0], 0), list...), Notes: s.Chance(0)}, 0, nil)
	require.Contains(t, text, "\nb_             gmres + jacobi                2.00 s  its own: 3.00 s more\n")
	require.Contains(t, text, "\n  cg + jacobi                     left out: it did not converge: DIVERGED_ITS in\n")
	require.Contains(t, text, "--repeat 3 tells")
	for line := range strings.Lines(text) {
		require.LessOrEqual(t, len([]rune(line)), 81, line)
	}
}

func callGraph(total float64) *graph.Graph {
	return &graph.Graph{Unit: 1, Ranks: 2, Root: &graph.Node{Name: "app", Inclusive: total, Children: []*graph.Node{
		{Name: "a_.solve", Component: "a_", Inclusive: 5, Calls: 2}, {Name: "b_.solve", Component: "b_", Inclusive: 5, Calls: 2}}}}
}

// A solver that has failed at a point is not run at points beyond it, and not chosen between them.
func TestStudyLeavesOutWhatFailedBefore(t *testing.T) {
	s := studied(t, []string{"cg,gmres"}, []string{"n=1,2", "ranks=1,2"}, 2, func(_, solver string, at map[string]float64, _ int) float64 {
		if solver == "cg" && at["ranks"] == 2 {
			return -1
		}
		return map[string]float64{"cg": 1, "gmres": 2, Own: 3}[solver]
	})
	require.Len(t, s.Failed, 1, "at n 1 on 2 ranks, and not again at n 2")
	require.Equal(t, "cg", s.Best(2)["KSP"], "on one rank it goes well")
	require.Equal(t, "gmres", s.Best(3)["KSP"])
	list := s.Tried(s.Families[0], 3)
	require.Equal(t, "at n 1, ranks 2 it did not converge: DIVERGED_ITS in stage", list[2].Why)
	require.Equal(t, 2, list[0].Runs)
	require.Equal(t, 3, s.Reference())
}

// Where two lines cross is found, and it is said where runs say otherwise; models that foretell nothing say nothing.
func TestBetween(t *testing.T) {
	vary := []string{"n=10,20,40,80,160"}
	s := studied(t, []string{"cg,gmres"}, vary, 1, func(_, solver string, at map[string]float64, _ int) float64 {
		return map[string]float64{"cg": 1 + at["n"], "gmres": 51 + at["n"]/2, Own: 1000 + at["n"]}[solver]
	})
	models, why := s.Models()
	require.Empty(t, why)
	list, err := s.Between(models)
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.Len(t, list[0].Parts, 2)
	require.Equal(t, "n", list[0].Parameter)
	require.Equal(t, []string{"cg", "gmres"}, []string{list[0].Parts[0].Best, list[0].Parts[1].Best})
	require.InDelta(t, 100, list[0].Parts[0].To, 0.5)
	require.Equal(t, [2]float64{10, 160}, [2]float64{list[0].Parts[0].From, list[0].Parts[1].To})
	require.Empty(t, list[0].Otherwise)

	s = studied(t, []string{"cg,gmres"}, vary, 1, func(_, solver string, at map[string]float64, _ int) float64 {
		wild := 1 + 0.9*math.Sin(7*at["n"])
		return map[string]float64{"cg": 10 * wild, "gmres": 51 + at["n"]/2, Own: 1000 + at["n"]}[solver]
	})
	models, _ = s.Models()
	list, err = s.Between(models)
	require.NoError(t, err)
	for _, b := range list {
		require.Empty(t, b.Parts)
		require.Contains(t, b.Why, "the model of cg misses points that are left out by")
	}
	few := studied(t, []string{"cg"}, []string{"n=1,2,3"}, 1, func(string, string, map[string]float64, int) float64 { return 1 })
	models, why = few.Models()
	require.Empty(t, models)
	require.Contains(t, why, "too few points: 3 different values of n")
}

// What the runs do not tell apart is said.
func TestChance(t *testing.T) {
	noise := []float64{0, 0.2, -0.2}
	s := studied(t, []string{"cg,gmres"}, nil, 3, func(_, solver string, _ map[string]float64, repeat int) float64 {
		return map[string]float64{"cg": 1, "gmres": 1.05, Own: 3}[solver] + noise[repeat]
	})
	require.Equal(t, []string{"KSP: the runs do not tell cg from gmres: the difference is less than two standard errors"}, s.Chance(0))
	for _, r := range s.Runs {
		r.Cores = 0.5
	}
	require.Contains(t, s.Chance(0)[0], "In 9 of 9 runs ranks had a core for less than 90 % of the time")
}

// A solver that the program sets itself is not taken for the one that was asked for.
func TestOptionsThatDoNotArrive(t *testing.T) {
	s := studied(t, []string{"cg × jacobi"}, nil, 1, func(string, string, map[string]float64, int) float64 { return 1 })
	r := s.Run(selection.Taken{"KSP": "cg + jacobi"}, 0)
	r.Solved[0].Types = "gmres + jacobi"
	why, blame := s.Judge(r)
	require.Contains(t, why, "the options did not reach the solver, which was gmres + jacobi")
	require.Equal(t, "KSP", blame)
	require.Contains(t, s.Absent(&StudyRun{}), "no solver of PETSc's was seen")
	r.Solved[0].Component = "heat_"
	require.Equal(t, "no KSP without a prefix was solved with; there are heat_: expected --petsc 'heat_: …'", s.Absent(r))
}
