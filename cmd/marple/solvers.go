package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"marple/analysis/assemble"
	"marple/analysis/model"
	"marple/analysis/page"
	"marple/analysis/pipeline"
	"marple/analysis/plot"
	"marple/analysis/report"
	"marple/analysis/run"
	"marple/analysis/selection"
	"marple/analysis/selection/graph"
	"marple/analysis/words"
)

// solversDirectory is where marple assemble --petsc works if nothing else is said.
const solversDirectory = "marple-solvers"

// optionsVariable is the one that PETSc reads options from, before those of the command line.
const optionsVariable = "PETSC_OPTIONS"

// solving is what one marple assemble --petsc does.
type solving struct {
	*trying
	solvers, vary []string
	repeat        int
	line          []string
	varied        []assemble.Vary
	study         assemble.Study
	state         *assembleState
	notes         []string
	notRun        []string
	between       []assemble.Between
	models        []*model.Model
}

func solversFlags(f *pflag.FlagSet) *solving {
	s := &solving{}
	f.StringArrayVar(&s.solvers, "petsc", nil, "solvers to try: 'gmres,cg × jacobi,ilu', or 'PREFIX: gmres × ilu' for KSPs with a prefix (may be repeated)")
	f.StringArrayVar(&s.vary, "vary", nil, "with --petsc: values of a parameter, NAME=VALUE,VALUE,..., which stands as {NAME} in the command; {ranks} is their number (may be repeated)")
	f.IntVar(&s.repeat, "repeat", 1, "with --petsc: runs of each solver")
	return s
}

func (s *solving) arguments(c *cobra.Command, arguments []string) error {
	switch {
	case c.ArgsLenAtDash() != 0 || len(arguments) == 0:
		return usage("assemble --petsc: expected -- LAUNCHER PROGRAM, and nothing before --")
	case c.Flags().Changed("families"):
		return usage("assemble: --petsc and --families: expected one of them")
	case s.repeat < 1:
		return usage("assemble: --repeat: expected 1 or more")
	}
	return nil
}

func (s *solving) run(t *trying, line []string, as string) error {
	s.trying, s.line = t, line
	if s.out == "" {
		s.out = solversDirectory
	}
	if err := s.rule.check(); err != nil {
		return err
	}
	if err := s.prepare(); err != nil {
		return err
	}
	if s.dry {
		return s.plan()
	}
	ctx, stop := signal.NotifyContext(s.c.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	silence(s.c)
	if err := os.MkdirAll(s.path("runs"), 0o777); err != nil {
		return err
	}
	if err := s.measure(ctx); err != nil {
		return err
	}
	answer, reference, err := s.choose(ctx)
	if err != nil {
		return err
	}
	if as == "json" {
		return printJSON(s.c.OutOrStdout(), struct {
			*run.Selection
			*assembleState
			At      map[string]float64 `json:"at"`
			Between []assemble.Between `json:"between"`
			Options string             `json:"options_file"`
		}{answer, s.state, s.study.Points[reference].At(), s.between, s.path(optionsFile)})
	}
	_, err = fmt.Fprint(s.c.OutOrStdout(), s.text(answer, reference))
	return err
}

func (s *solving) prepare() error {
	s.study.Repeats = s.repeat
	for _, text := range s.solvers {
		f, err := assemble.ParseSolvers(text)
		if err != nil {
			return usage("--petsc: %v", err)
		}
		if slices.ContainsFunc(s.study.Families, func(o *assemble.Solvers) bool { return o.Component() == f.Component() }) {
			return usage("--petsc: %s stands there twice", f.Component())
		}
		s.study.Families = append(s.study.Families, f)
	}
	for _, text := range s.vary {
		v, err := assemble.ParseVary(text)
		if err != nil {
			return usage("--vary: %v", err)
		}
		s.varied = append(s.varied, v)
	}
	if names := assemble.Missing(s.varied, s.line); len(names) > 0 {
		return usage("--vary: the command has no {%s}: expected it where the value is to stand", names[0])
	}
	var err error
	if s.study.Points, err = assemble.Points(s.varied); err != nil {
		return usage("--vary: %v", err)
	}
	digest := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q %q", s.solvers, s.vary, s.line, s.verify, os.Getenv(optionsVariable)))
	s.state = &assembleState{Digest: hex.EncodeToString(digest[:])}
	before, err := s.before(s.state.Digest, "command, --petsc, --vary, --verify or "+optionsVariable)
	if before != nil {
		s.state = before
	}
	return err
}

// ranks at a point, where that is given; else 0.
func (s *solving) ranks(point int) int {
	return int(s.study.Points[point].At()[assemble.Ranks])
}

// command is what is run, and its environment.
func (s *solving) command(taken selection.Taken, point, ranks int) (line []string, environment map[string]string) {
	var options []string
	for _, f := range s.study.Families {
		options = append(options, f.Options(taken[f.Component()], ranks)...)
	}
	environment = map[string]string{}
	for _, word := range s.study.Points[point].Fill(s.line) {
		if word == "{}" {
			line = append(line, options...)
			continue
		}
		line = append(line, word)
	}
	if !slices.Contains(s.line, "{}") && options != nil {
		if already := os.Getenv(optionsVariable); already != "" {
			options = append([]string{already}, options...)
		}
		environment[optionsVariable] = strings.Join(options, " ")
	}
	var parameters []string
	if already := os.Getenv("MARPLE_PARAMS"); already != "" {
		parameters = append(parameters, already)
	}
	for i, name := range s.study.Points[point].Names {
		if name != assemble.Ranks { // which every run has
			parameters = append(parameters, fmt.Sprintf("%s=%s", name, s.study.Points[point].Texts[i]))
		}
	}
	if parameters != nil {
		environment["MARPLE_PARAMS"] = strings.Join(parameters, ",")
	}
	return line, environment
}

// plan says what would be run.
func (s *solving) plan() error {
	out, n := s.c.OutOrStdout(), 0
	for point := range s.study.Points {
		for repeat := range s.study.Repeats {
			for _, t := range s.study.Trials(point, repeat) {
				n++
				line, environment := s.command(t.Taken, point, s.ranks(point))
				text := strings.Join(line, " ")
				if options := environment[optionsVariable]; options != "" {
					text = optionsVariable + "='" + options + "' " + text
				}
				state := ""
				if s.known(t) != nil {
					state = " (kept from before)"
				}
				fmt.Fprintf(out, "run %d%s: %s\n", n, state, text)
			}
		}
	}
	fmt.Fprintf(out, "%s, in %s\n", words.Count(uint64(n), "run", "runs"), s.out)
	for _, f := range s.study.Families {
		if f.Blockwise(2) && !slices.Contains(s.study.Points[0].Names, assemble.Ranks) {
			fmt.Fprintf(out, "On several ranks ilu and icc are done in each rank's block: bjacobi with -%ssub_pc_type.\n", f.Prefix)
		}
	}
	return nil
}

// known is a trial that has run, of the same solvers at the same point, and whose run is still there.
func (s *solving) known(t *assemble.Trial) *assemble.Trial {
	for _, o := range s.state.Trials {
		if o.State == "" || o.Point != t.Point || o.Repeat != t.Repeat || !maps.Equal(o.Taken, t.Taken) {
			continue
		}
		if o.State == assemble.Done && !s.there(o) {
			s.state.Trials = slices.DeleteFunc(s.state.Trials, func(x *assemble.Trial) bool { return x == o })
			return nil
		}
		return o
	}
	return nil
}

func (s *solving) there(t *assemble.Trial) bool {
	_, err := os.Stat(s.path("runs", t.Name, run.File))
	return err == nil
}

// name is one that no trial has.
func (s *solving) name() string {
	most := 0
	for _, t := range s.state.Trials {
		var n int
		if _, err := fmt.Sscan(t.Name, &n); err == nil {
			most = max(most, n)
		}
	}
	return fmt.Sprint(most + 1)
}

// what a trial is, for people.
func (s *solving) what(t *assemble.Trial) string {
	text := t.Text(s.study.Given())
	if len(t.New(s.study.Given())) == 0 {
		text = "the program as it is"
	}
	if len(s.study.Families) == 1 {
		text = strings.TrimPrefix(text, s.study.Families[0].Component()+": ")
	}
	if at := s.study.Points[t.Point].Text(); at != "" {
		text = at + ": " + text
	}
	return text
}

// measure runs what has not run.
func (s *solving) measure(ctx context.Context) error {
	number, ranks := 0, 0
	for point := range s.study.Points {
		for repeat := range s.study.Repeats {
			list := s.study.Trials(point, repeat)
			for n := 0; n < len(list); n++ {
				number++
				t, err := s.try(ctx, list[n], number, &ranks)
				if err != nil {
					return err
				}
				if t == nil {
					continue
				}
				if t.State == assemble.Failed {
					list = append(list, t.Apart(s.study.Given())...)
				}
				if n == 0 && repeat == 0 {
					s.first, s.original = time.Duration(t.Ns), s.path("runs", t.Name+".out")
				}
			}
		}
	}
	return nil
}

// try runs a trial, unless it has run; nil: the time was up.
func (s *solving) try(ctx context.Context, t *assemble.Trial, number int, ranks *int) (*assemble.Trial, error) {
	if given := s.ranks(t.Point); given > 0 {
		*ranks = given
	}
	known := s.known(t)
	switch {
	case known != nil:
		t = known
		s.say("run %d, %s: kept from before", number, s.what(t))
	case number > 1 && s.late():
		s.notRun = append(s.notRun, s.what(t))
		return nil, nil
	default:
		if err := s.start(ctx, t, number, *ranks); err != nil {
			return nil, err
		}
	}
	var done *assemble.StudyRun
	if s.there(t) && (t.State == assemble.Done || t.Blame != "") {
		var err error
		if done, err = s.learn(t); err != nil {
			return nil, err
		}
		*ranks = done.Ranks
	}
	if known == nil {
		if err := s.judge(t, done, number); err != nil {
			return nil, err
		}
	}
	switch {
	case t.State == assemble.Done:
		s.study.Runs = append(s.study.Runs, done)
	default:
		s.study.Failed = append(s.study.Failed, t)
		if done != nil && t.Blame != "" {
			s.study.Diverged = append(s.study.Diverged, done)
		}
	}
	return t, nil
}

// start runs a trial that has not run.
func (s *solving) start(ctx context.Context, t *assemble.Trial, number, ranks int) error {
	s.say("run %d: %s", number, s.what(t))
	t.Name, t.Began = s.name(), time.Now()
	line, environment := s.command(t.Taken, t.Point, ranks)
	if t.Repeat == 0 && len(t.New(s.study.Given())) == 0 {
		s.first, s.original = 0, "" // another point
	}
	err := s.execute(ctx, t.Name, line, environment)
	if ctx.Err() != nil {
		return fmt.Errorf("interrupted; the same command goes on with run %d", number)
	}
	t.Ns, t.State = time.Since(t.Began).Nanoseconds(), assemble.Done
	if err != nil {
		t.State, t.Why = assemble.Failed, s.why(t, err)
	}
	return nil
}

// judge says how a trial has ended that has just run, of which done is what was learned, and keeps it. Nothing is compared with a first one that failed.
func (s *solving) judge(t *assemble.Trial, done *assemble.StudyRun, number int) error {
	if number == 1 && done == nil {
		return fmt.Errorf("the program as it is: %s", t.Why)
	}
	if number == 1 {
		if why := s.study.Absent(done); why != "" {
			return fmt.Errorf("%s", why)
		}
	}
	if done != nil {
		if t.Why, t.Blame = s.study.Judge(done); t.Why != "" {
			t.State = assemble.Failed
		}
	}
	if t.State == assemble.Failed {
		s.say("%s: %s", s.what(t), t.Why)
	}
	s.state.Trials = append(s.state.Trials, t)
	return s.save(s.state)
}

// message is where PETSc says what is wrong, on standard error.
var message = regexp.MustCompile(`(?m)^\[\d+\]PETSC ERROR: -+ Error Message -+\n\[\d+\]PETSC ERROR: (.*)$`)

// why a run has failed: what PETSc says of it, if it does.
func (s *solving) why(t *assemble.Trial, err error) string {
	const most = 1 << 20
	if text, problem := os.ReadFile(s.path("runs", t.Name+".err")); problem == nil {
		if m := message.FindSubmatch(text[:min(len(text), most)]); m != nil {
			return "PETSc: " + words.Clean(string(m[1]))
		}
	}
	return err.Error()
}

func (s *solving) learn(t *assemble.Trial) (*assemble.StudyRun, error) {
	directory := s.path("runs", t.Name)
	r, err := pipeline.Open(directory)
	if err != nil {
		return nil, err
	}
	out := &assemble.StudyRun{Trial: t, Ranks: r.Ranks, Cores: r.Efficiency.CoreAvailability}
	out.Solved, out.Total, err = assemble.ReadSolved(r, directory)
	return out, err
}

// Files that are left.
const (
	optionsFile  = "petsc.options"
	familiesFile = "families.yaml"
	modelsFile   = "models.json"
)

// choose selects for the last point that was measured, verifies, and leaves options, families, models and page.
func (s *solving) choose(ctx context.Context) (*run.Selection, int, error) {
	reference := s.study.Reference()
	if reference < 0 {
		for _, t := range s.study.Failed {
			s.say("%s: %s", s.what(t), t.Why)
		}
		return nil, 0, fmt.Errorf("no solver went well with all that was to be solved")
	}
	if err := s.verifyTogether(ctx, reference); err != nil {
		return nil, 0, err
	}
	given := s.study.Any(reference)
	directory := s.path("runs", given.Name)
	r, err := pipeline.Open(directory)
	if err != nil {
		return nil, 0, err
	}
	g, err := graph.FromRun(r)
	if err != nil {
		return nil, 0, err
	}
	measured, err := selection.ParsePlan(s.path(familiesFile), []byte(s.study.Plan(reference, nil, "")))
	if err != nil {
		return nil, 0, err
	}
	answer, err := selection.Select(ctx, selection.Question{Graph: g.Grouped(), Plan: measured, Rule: s.rule.Rule, Best: 3, Within: 10 * time.Second})
	if err != nil {
		return nil, 0, err
	}
	a := &answer.Selection
	a.Notes = append(a.Notes, s.study.Chance(reference)...)
	a.Notes = append(a.Notes, s.study.Apart(reference)...)
	for point := range s.study.Points {
		for _, f := range s.study.Families {
			a.Tried = append(a.Tried, s.study.Tried(f, point)...)
		}
	}
	if slices.ContainsFunc(s.study.Families, func(f *assemble.Solvers) bool { return f.Blockwise(given.Ranks) }) {
		a.Notes = append(a.Notes, "ilu and icc are done in each rank's block (-pc_type bjacobi -sub_pc_type ilu): PETSc has none for a matrix that is spread over ranks")
	}
	why := ""
	if s.models, why = s.study.Models(); len(s.models) > 0 {
		if s.between, err = s.study.Between(s.models); err != nil {
			return nil, 0, err
		}
	}
	if len(s.study.Points) > 1 {
		a.Notes = append(a.Notes, "Only the points that were measured are known"+map[bool]string{true: ", and by models what is between them", false: ""}[len(s.between) > 0])
		if why != "" {
			a.Notes = append(a.Notes, "Not all solvers have a model: "+why)
		}
	}
	return a, reference, s.leave(a, reference, r, directory)
}

// verifyTogether runs the chosen solvers of all prefixes together, if they have not run so.
func (s *solving) verifyTogether(ctx context.Context, reference int) error {
	best := s.study.Best(reference)
	if s.study.Run(best, reference) == nil {
		ranks := s.study.Any(reference).Ranks
		t := &assemble.Trial{Taken: best, Point: reference}
		s.say("verifying: the chosen solvers together")
		t, err := s.try(ctx, t, len(s.state.Trials)+1, &ranks)
		if err != nil {
			return err
		}
		if t == nil {
			return nil
		}
		if t.State == assemble.Failed {
			s.notes = append(s.notes, "The chosen solvers do not go together: "+t.Why)
		}
	}
	chosen, first := s.study.Run(best, reference), s.study.Run(s.study.Given(), reference)
	if chosen != nil && first != nil && chosen != first {
		s.state.Verified = &verified{First: first.Total, Chosen: chosen.Total}
	}
	return s.save(s.state)
}

// leave writes what stays.
func (s *solving) leave(a *run.Selection, reference int, r *run.Run, directory string) error {
	a.Notes = append(a.Notes, s.notes...)
	var options []string
	for _, f := range s.study.Families {
		options = append(options, f.Options(s.study.Best(reference)[f.Component()], s.study.Any(reference).Ranks)...)
	}
	title := []string{"The solvers that took least, as marple assemble has measured: ./app -options_file " + optionsFile}
	if options == nil {
		title[0] = "The program's own solvers took least, as marple assemble has measured: there is nothing to set."
	}
	if at := s.study.Points[reference].Text(); at != "" {
		title = append(title, "Measured at "+at+".")
	}
	files := map[string][]byte{
		optionsFile:  []byte(assemble.OptionsFile(title, options)),
		familiesFile: []byte(s.study.Plan(reference, s.models, modelsFile)),
		"report.txt": []byte(s.text(a, reference) + ran(s.state.Trials, s.what)),
	}
	var err error
	if files[modelsFile], err = (&model.Document{Schema: model.Schema, Models: append([]*model.Model{}, s.models...)}).Encode(); err != nil {
		return err
	}
	r.Selection = a
	o := pageOptions{alpha: s.rule.Alpha, beta: s.rule.Beta}
	p, err := o.describe(r, directory)
	if err != nil {
		return err
	}
	for _, one := range s.study.PerSolve() {
		var of []*model.Model
		for _, m := range s.models {
			if m.Name == one.Name {
				of = append(of, m)
			}
		}
		if drawn := report.Plot(one, of, nil); drawn != nil && len(of) > 0 {
			f := page.Figure{Title: drawn.Title, SVG: plot.SVG([]*plot.Plot{drawn})}
			for _, m := range of {
				f.Facts = append(f.Facts, fmt.Sprintf("%s: SMAPE %.1f %%, adjusted R² %.3f, %d samples at %d points", m.Expression.Round(4), m.SMAPE, m.AdjustedR2, m.Samples, m.Points))
			}
			p.Figures = append(p.Figures, f)
		}
	}
	var text bytes.Buffer
	if err := page.Write(&text, *p); err != nil {
		return err
	}
	files["report.html"] = text.Bytes()
	for name, data := range files {
		if err := run.WriteFile(s.path(name), data); err != nil {
			return err
		}
	}
	return nil
}

// text is the choice for people.
func (s *solving) text(a *run.Selection, reference int) string {
	text := assemble.Text(&s.study, a, reference, s.between)
	tail := ""
	switch v := s.state.Verified; {
	case v != nil:
		tail = fmt.Sprintf("Verified     the run with them took %s, the one as it is %s\n", words.Duration(v.Chosen), words.Duration(v.First))
		if v.Chosen > v.First {
			tail += "             It took longer here: the choice, or this run, is chance.\n"
		}
	case maps.Equal(s.study.Best(reference), s.study.Given()):
		tail = "Verified     they are the program's own\n"
	}
	for _, what := range s.notRun {
		tail += words.Fit(fmt.Sprintf("Not run      %s: the time was up (--within)", words.Clean(what)), 80) + "\n"
	}
	tail += fmt.Sprintf("Options      %s, for -options_file or .petscrc\n", s.path(optionsFile))
	failed := 0
	for _, t := range s.state.Trials {
		if t.State == assemble.Failed {
			failed++
		}
	}
	tail += fmt.Sprintf("Runs         %d, of which %d failed; %s has their times\n", len(s.state.Trials), failed, s.path("report.txt"))
	return text + tail
}
