package assemble

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat"

	"marple/analysis/model"
	"marple/analysis/run"
	"marple/analysis/selection"
	"marple/analysis/series"
	"marple/analysis/words"
)

// Study is solvers that are run at points, and what the runs have told.
type Study struct {
	Families []*Solvers
	Points   []Point
	Repeats  int // runs of each
	Runs     []*StudyRun
	Failed   []*Trial
	Diverged []*StudyRun // those of Failed that ran to their end
}

// StudyRun is a run in which all solves went well.
type StudyRun struct {
	*Trial
	Ranks  int
	Total  float64 // seconds with a core, mean over ranks, of all the run
	Cores  float64 // share of the time for which ranks had a core
	Solved []*Solved
}

func (r *StudyRun) solved(component string) *Solved {
	if i := slices.IndexFunc(r.Solved, func(s *Solved) bool { return s.Component == component }); i >= 0 {
		return r.Solved[i]
	}
	return nil
}

// Given is the program as it is.
func (s *Study) Given() selection.Taken {
	given := selection.Taken{}
	for _, f := range s.Families {
		given[f.Component()] = Own
	}
	return given
}

// Trials are the runs that a point needs, but for solvers that have failed at a point that it is beyond.
func (s *Study) Trials(point, repeat int) []*Trial {
	var candidates []Candidates
	for _, f := range s.Families {
		c := Candidates{Family: f.Component()}
		for _, one := range f.List {
			if _, at := s.failure(f.Component(), one.Name, point); at < 0 || at == point && repeat == 0 {
				c.Others = append(c.Others, one.Name)
			}
		}
		candidates = append(candidates, c)
	}
	list := Trials(candidates, s.Given())
	for _, t := range list {
		t.Point, t.Repeat = point, repeat
	}
	return list
}

// failure is why a solver has failed at a point, or at one that this is beyond, and where; -1: it has not.
func (s *Study) failure(family, name string, point int) (why string, at int) {
	at = -1
	for _, t := range s.Failed {
		to := t.New(s.Given())
		if t.Taken[family] != name || !s.Points[point].Beyond(s.Points[t.Point]) {
			continue
		}
		if t.Blame == family || t.Blame == "" && (len(to) == 0 || len(to) == 1 && to[0] == family) {
			if at < 0 || t.Point == point {
				why, at = t.Why, t.Point
			}
		}
	}
	return why, at
}

// Judge looks whether the solvers of a run are those that were asked for and have all converged; it says why not, and which
// family is to blame if it is one.
func (s *Study) Judge(r *StudyRun) (why, blame string) {
	var list, families []string
	for _, f := range s.Families {
		solved := r.solved(f.Component())
		if solved == nil || solved.Solves == 0 {
			return fmt.Sprintf("%s was not solved with; there are %s", f.Component(), s.there(r)), ""
		}
		text := solved.Diverged()
		if ksp, pc := f.Types(r.Taken[f.Component()], r.Ranks); text == "" && ksp != "" {
			is, with, _ := strings.Cut(solved.Types, " + ")
			if is != ksp || pc != "" && with != pc {
				text = fmt.Sprintf("the options did not reach the solver, which was %s: does the program's command set it, or the program itself after KSPSetFromOptions?", solved.Types)
			}
		}
		if text == "" {
			continue
		}
		families = append(families, f.Component())
		if len(s.Families) > 1 {
			text = f.Component() + ": " + text
		}
		list = append(list, text)
	}
	if len(families) == 1 {
		blame = families[0]
	}
	return strings.Join(list, "; "), blame
}

// there are the prefixes of a run.
func (s *Study) there(r *StudyRun) string {
	var list []string
	for _, one := range r.Solved {
		list = append(list, one.Component)
	}
	if list == nil {
		return "none"
	}
	return strings.Join(list, ", ")
}

// Absent says what is wrong with the families by the first run; "" if nothing is.
func (s *Study) Absent(r *StudyRun) string {
	if len(r.Solved) == 0 {
		return "no solver of PETSc's was seen: expected a program that is linked with PETSc's shared library and lets its KSPs take options (KSPSetFromOptions)"
	}
	for _, f := range s.Families {
		if r.solved(f.Component()) != nil {
			continue
		}
		if f.Prefix == "" {
			return fmt.Sprintf("no KSP without a prefix was solved with; there are %s: expected --petsc '%s: …'", s.there(r), r.Solved[0].Component)
		}
		return fmt.Sprintf("no KSP with the prefix %s was solved with by itself; there are %s", f.Prefix, s.there(r))
	}
	return ""
}

// Tried is all that was found of a family at a point, the least time first, then what was left out.
func (s *Study) Tried(f *Solvers, point int) []run.Tried {
	list := []run.Tried{}
	for _, name := range append([]string{Own}, f.names()...) {
		t := s.means(f, name, point)
		if why, at := s.failure(f.Component(), name, point); at >= 0 {
			t.Why, t.Time, t.Error = strings.TrimPrefix(why, f.Component()+": "), 0, 0
			if at != point {
				t.Why = fmt.Sprintf("at %s %s", s.Points[at].Text(), t.Why)
			}
		} else if t.Runs == 0 {
			t.Why = "not run: the time was up (--within)"
		}
		list = append(list, t)
	}
	slices.SortStableFunc(list, func(a, b run.Tried) int {
		switch {
		case (a.Why == "") != (b.Why == ""):
			return map[bool]int{true: -1, false: 1}[a.Why == ""]
		case a.Why != "" || a.Time == b.Time:
			return 0
		case a.Time < b.Time:
			return -1
		}
		return 1
	})
	return list
}

// means over the runs of a solver at a point, with the standard error of its time.
func (s *Study) means(f *Solvers, name string, point int) run.Tried {
	t := run.Tried{Family: f.Component(), Implementation: name, At: s.Points[point].At()}
	var times []float64
	for _, r := range s.Runs {
		solved := r.solved(f.Component())
		if r.Point != point || r.Taken[f.Component()] != name || solved == nil {
			continue
		}
		times = append(times, solved.Time)
		t.Types, t.Options = solved.Types, strings.Join(f.Options(name, r.Ranks), " ")
		t.Time += solved.Time
		t.Solves += solved.Solves
		t.Iterations += solved.Iterations
		addPhases(&t, solved.Phases)
	}
	n := float64(len(times))
	if t.Runs = len(times); t.Runs == 0 {
		return t
	}
	slices.SortFunc(t.Phases, func(a, b run.TriedPhase) int { return strings.Compare(a.Name, b.Name) })
	t.Iterations /= max(t.Solves, 1e-300)
	t.Time, t.Solves = t.Time/n, t.Solves/n
	for i := range t.Phases {
		t.Phases[i].Time /= n
		t.Phases[i].Solves /= n
	}
	if t.Runs > 1 {
		t.Error = stat.StdErr(stat.StdDev(times, nil), n)
	}
	return t
}

// addPhases adds a run's times of phases to those of the same name.
func addPhases(t *run.Tried, phases []SolvedPhase) {
	for _, p := range phases {
		k := slices.IndexFunc(t.Phases, func(known run.TriedPhase) bool { return known.Name == p.Name })
		if k < 0 {
			k = len(t.Phases)
			t.Phases = append(t.Phases, run.TriedPhase{Name: p.Name})
		}
		t.Phases[k].Time += p.Time
		t.Phases[k].Solves += p.Solves
	}
}

func (s *Solvers) names() (list []string) {
	for _, one := range s.List {
		list = append(list, one.Name)
	}
	return list
}

// Measured tells whether each family has a solver that was measured at a point, and whether all runs were there that it needs.
func (s *Study) Measured(point int) (any, all bool) {
	any, all = true, true
	for _, f := range s.Families {
		list := s.Tried(f, point)
		any = any && list[0].Why == ""
		for _, t := range list {
			all = all && (t.Runs >= s.Repeats || t.Why != "" && !strings.HasPrefix(t.Why, "not run: the time"))
		}
	}
	return any, all && any
}

// Reference is the point that is chosen for: the last one that was measured completely, or else in part; -1: there is none.
func (s *Study) Reference() int {
	last := -1
	for k := range s.Points {
		if _, all := s.Measured(k); all {
			last = k
		}
	}
	for k := range s.Points {
		if any, _ := s.Measured(k); any && last < 0 {
			last = k
		}
	}
	return last
}

// Best is the solver of each family that took least at a point.
func (s *Study) Best(point int) selection.Taken {
	taken := selection.Taken{}
	for _, f := range s.Families {
		if list := s.Tried(f, point); list[0].Why == "" {
			taken[f.Component()] = list[0].Implementation
		}
	}
	return taken
}

// Run is the one of some solvers at a point, with its number among those; nil: there is none.
func (s *Study) Run(taken selection.Taken, point int) *StudyRun {
	for _, r := range s.Runs {
		if r.Point == point && maps.Equal(r.Taken, taken) {
			return r
		}
	}
	return nil
}

// Any is a run at a point, of the program as it is if that is there; nil: there is none.
func (s *Study) Any(point int) *StudyRun {
	if r := s.Run(s.Given(), point); r != nil {
		return r
	}
	for _, r := range s.Runs {
		if r.Point == point {
			return r
		}
	}
	return nil
}

// solves of a family that times are divided by at a point: those of Any.
func (s *Study) solves(f *Solvers, point int) float64 {
	if r := s.Any(point); r != nil {
		if solved := r.solved(f.Component()); solved != nil && solved.Solves > 0 {
			return solved.Solves
		}
	}
	return math.NaN()
}

// PerSolve are the times of solvers at all points, for models: seconds divided by the number of solves that the program as it is
// has made there, against the parameters.
func (s *Study) PerSolve() []*series.Series {
	var list []*series.Series
	for _, f := range s.Families {
		for _, name := range append([]string{Own}, f.names()...) {
			out := &series.Series{Name: f.Component() + "." + name, Response: "time", Unit: "s", Parameters: s.Points[0].Names, Labels: map[string][]string{}}
			for _, r := range s.Runs {
				if solved := r.solved(f.Component()); r.Taken[f.Component()] == name && solved != nil {
					out.X, out.Y = append(out.X, s.Points[r.Point].Values), append(out.Y, solved.Time/s.solves(f, r.Point))
				}
			}
			if len(out.Y) > 0 {
				list = append(list, out)
			}
		}
	}
	return list
}

// Models of the times of solvers that have run at all points that were measured, by family and name; why is there where one could
// not be made.
func (s *Study) Models() (models []*model.Model, why string) {
	if len(s.Points) < 2 {
		return nil, ""
	}
	fitter := &model.Fitter{}
	for _, one := range s.PerSolve() {
		for _, m := range fitter.FitSeries(one, model.Options{AverageModes: true}) {
			if m.Expression == nil {
				why = m.Reason
				continue
			}
			models = append(models, m)
		}
	}
	return models, why
}

// Plan is a file of families for marple select: with what solvers took at a point for each solve, or with models that are in a file
// of this name.
func (s *Study) Plan(point int, models []*model.Model, file string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Solvers of PETSc's, by the prefix of their options; written by marple assemble.\nunit: s\nfamilies:\n")
	for _, f := range s.Families {
		fmt.Fprintf(&b, "  %q:\n    implementations:\n", f.Component())
		for _, t := range s.Tried(f, point) {
			name := f.Component() + "." + t.Implementation
			switch {
			case t.Why != "":
				continue
			case models == nil:
				fmt.Fprintf(&b, "      %q: {inclusive: yes, time: %s}\n", t.Implementation, strconv.FormatFloat(t.Time/s.solves(f, point), 'g', -1, 64))
			case slices.ContainsFunc(models, func(m *model.Model) bool { return m.Name == name }):
				fmt.Fprintf(&b, "      %q: {inclusive: yes, model: {file: %q, name: %q}}\n", t.Implementation, file, name)
			}
		}
	}
	return b.String()
}

// Part is a part of a parameter's range in which a solver of a family is best, as models have it.
type Part struct {
	From float64 `json:"from"`
	To   float64 `json:"to"`
	Best string  `json:"best"`
}

// Between is which solver of a family is best where, between the points that were measured.
type Between struct {
	Family    string             `json:"family"`
	Parameter string             `json:"parameter"`
	Others    map[string]float64 `json:"others,omitempty"` // values of the other parameters
	Parts     []Part             `json:"parts"`
	Error     float64            `json:"cv_error"` // percent, of the worst of the family's models there
	// Otherwise are measured values of the parameter at which another solver took least than the models say.
	Otherwise []float64 `json:"otherwise,omitempty"`
	// Why is there where models are too uncertain to say it.
	Why string `json:"why,omitempty"`
}

// mostError is the error in cross-validation, in percent, up to which models are believed between points.
const mostError = 25

// A curve is what a model predicts over one parameter, the others as they are.
type curve struct {
	name  string // of the solver
	model *model.Model
	at    func(x float64) float64 // s
}

// Between follows the models over the parameter that has most values, for each combination of the others' values that was
// measured.
func (s *Study) Between(models []*model.Model) ([]Between, error) {
	along := s.along()
	if along < 0 || len(models) == 0 {
		return nil, nil
	}
	list := []Between{}
	for _, f := range s.Families {
		for _, others := range s.others(along) {
			curves, err := s.curves(f, others, along, models)
			if err != nil {
				return nil, err
			}
			at := s.measuredAlong(others, along)
			if len(curves) == 0 || len(at) < 2 {
				continue
			}
			list = append(list, s.between(f, others, along, curves, at))
		}
	}
	return list, nil
}

// curves of a family's solvers that have a model and have nowhere failed along the parameter.
func (s *Study) curves(f *Solvers, others Point, along int, models []*model.Model) (list []curve, err error) {
	for _, name := range append([]string{Own}, f.names()...) {
		for _, m := range models {
			if m.Name != f.Component()+"."+name || s.failedAt(f, name, others, along) {
				continue
			}
			p, err := m.Predictor(nil)
			if err != nil {
				return nil, err
			}
			list = append(list, curve{name, m, func(x float64) float64 {
				values := make([]float64, len(p.Names()))
				for i, n := range p.Names() {
					k := slices.Index(others.Names, n)
					if values[i] = others.Values[k]; k == along {
						values[i] = x
					}
				}
				return p.Mean(values)
			}})
		}
	}
	return list, nil
}

// measuredAlong are the points that were measured for these values of the other parameters, by the value of the one.
func (s *Study) measuredAlong(others Point, along int) map[float64]int {
	points := map[float64]int{}
	for k, p := range s.Points {
		if any, _ := s.Measured(k); any && same(p, others, along) {
			points[p.Values[along]] = k
		}
	}
	return points
}

// between says which curve is lowest where between points, which are given by their value of the parameter.
func (s *Study) between(f *Solvers, others Point, along int, curves []curve, points map[float64]int) Between {
	b := Between{Family: f.Component(), Parameter: others.Names[along], Others: map[string]float64{}}
	for i, n := range others.Names {
		if i != along {
			b.Others[n] = others.Values[i]
		}
	}
	for _, c := range curves {
		if b.Error = max(b.Error, c.model.CVError); c.model.CVError > mostError {
			b.Why = fmt.Sprintf("the model of %s misses points that are left out by %.2g %%", c.name, c.model.CVError)
		}
	}
	if b.Why != "" {
		return b
	}
	best := func(x float64) int {
		k := 0
		for i := range curves {
			if curves[i].at(x) < curves[k].at(x) {
				k = i
			}
		}
		return k
	}
	values := slices.Sorted(maps.Keys(points))
	for _, part := range parts(values[0], values[len(values)-1], best) {
		b.Parts = append(b.Parts, Part{part.from, part.to, curves[part.best].name})
	}
	for _, x := range values {
		if s.Best(points[x])[f.Component()] != curves[best(x)].name {
			b.Otherwise = append(b.Otherwise, x)
		}
	}
	return b
}

type part struct {
	from, to float64
	best     int
}

// parts of a range in which one is best: steps of a 64th of it, and bisection where two neighbours differ.
func parts(from, to float64, best func(x float64) int) []part {
	const steps, halvings = 64, 40
	list := []part{{from, to, best(from)}}
	at := from
	for i := 1; i <= steps; i++ {
		x := from + (to-from)*float64(i)/steps
		for last := &list[len(list)-1]; best(x) != last.best; last = &list[len(list)-1] {
			low, high := at, x
			for range halvings {
				if middle := (low + high) / 2; best(middle) == last.best {
					low = middle
				} else {
					high = middle
				}
			}
			last.to = high
			list = append(list, part{high, to, best(high)})
			at = high
			if len(list) > steps {
				break
			}
		}
		at = x
	}
	return list
}

// along is the parameter with most values; -1: none has two.
func (s *Study) along() int {
	most, at := 1, -1
	for i := range s.Points[0].Names {
		values := map[float64]bool{}
		for _, p := range s.Points {
			values[p.Values[i]] = true
		}
		if len(values) > most {
			most, at = len(values), i
		}
	}
	return at
}

// others are points that differ in more than one parameter.
func (s *Study) others(along int) (list []Point) {
	for _, p := range s.Points {
		if !slices.ContainsFunc(list, func(o Point) bool { return same(p, o, along) }) {
			list = append(list, p)
		}
	}
	return list
}

// same tells whether two points differ in one parameter only.
func same(a, b Point, but int) bool {
	for i := range a.Values {
		if i != but && a.Values[i] != b.Values[i] {
			return false
		}
	}
	return true
}

func (s *Study) failedAt(f *Solvers, name string, others Point, along int) bool {
	for k, p := range s.Points {
		if _, at := s.failure(f.Component(), name, k); at >= 0 && same(p, others, along) {
			return true
		}
	}
	return false
}

// worthwhile is the share of a prefix' time from which on it is told that another solver would save it in one phase.
const worthwhile = 0.1

// Apart are notes on prefixes with several phases in which different solvers take least.
func (s *Study) Apart(point int) (notes []string) {
	for _, f := range s.Families {
		list := s.Tried(f, point)
		if list[0].Why != "" || len(list[0].Phases) < 2 {
			continue
		}
		var text []string
		for _, chosen := range list[0].Phases {
			best, least := s.bestInPhase(f, point, list, chosen)
			if best != "" && chosen.Time-least > worthwhile*list[0].Time {
				text = append(text, fmt.Sprintf("in %s %s took least (%s instead of %s)", phaseName(chosen.Name), best, words.Duration(least), words.Duration(chosen.Time)))
			}
		}
		if text != nil {
			notes = append(notes, f.Component()+": "+strings.Join(text, ", ")+"; solvers with prefixes of their own (KSPSetOptionsPrefix) could be chosen apart")
		}
	}
	return notes
}

// bestInPhase is the solver that took less in a phase than the chosen one, and its time; "" if none did. One that failed in another
// phase only counts as well.
func (s *Study) bestInPhase(f *Solvers, point int, list []run.Tried, chosen run.TriedPhase) (best string, least float64) {
	least = chosen.Time
	for _, t := range list {
		for _, p := range t.Phases {
			if t.Why == "" && p.Name == chosen.Name && p.Time < least {
				best, least = t.Implementation, p.Time
			}
		}
	}
	for _, r := range s.Diverged {
		solved := r.solved(f.Component())
		if r.Point != point || solved == nil || r.Blame != f.Component() {
			continue
		}
		for _, p := range solved.Phases {
			if p.Name == chosen.Name && p.Diverged == 0 && p.Time < least {
				best, least = r.Taken[f.Component()], p.Time
			}
		}
	}
	return best, least
}

func phaseName(name string) string {
	if name == "" {
		return "no stage"
	}
	return name
}

// crowded is the share of the time with a core below which a run says little.
const crowded = 0.9

// Chance says what is not known of the differences at a point.
func (s *Study) Chance(point int) (notes []string) {
	runs, short := 0, 0
	for _, r := range s.Runs {
		if r.Point == point {
			runs++
			if r.Cores < crowded {
				short++
			}
		}
	}
	if short > 0 {
		notes = append(notes, fmt.Sprintf("In %d of %s ranks had a core for less than %s of the time: which solver takes least may be chance; measure where nothing else runs",
			short, words.Count(uint64(runs), "run", "runs"), words.Percent(crowded)))
	}
	if s.Repeats < 2 {
		return append(notes, "Each solver ran once: how much of the differences is chance is not known; --repeat 3 tells")
	}
	for _, f := range s.Families {
		list := s.Tried(f, point)
		var near []string
		for _, t := range list[1:] {
			if t.Why == "" && list[0].Why == "" && t.Time-list[0].Time < 2*math.Hypot(t.Error, list[0].Error) {
				near = append(near, t.Implementation)
			}
		}
		if near != nil {
			notes = append(notes, fmt.Sprintf("%s: the runs do not tell %s from %s: the difference is less than two standard errors", f.Component(), list[0].Implementation, strings.Join(near, ", ")))
		}
	}
	return notes
}
