package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"marple/analysis/formula"
	"marple/analysis/invocation"
	"marple/analysis/machine"
	"marple/analysis/model"
	"marple/analysis/pipeline"
	"marple/analysis/plot"
	"marple/analysis/report"
	"marple/analysis/run"
	"marple/analysis/series"
	"marple/analysis/setting"
	"marple/analysis/store"
)

// fitFlags are what the user asks for.
type fitFlags struct {
	format, model, out, plot, name, family, form, machine string
	responses, parameters, by, predict, machines          []string
	confidence, least                                     float64
	trials                                                []*store.Trial // that the series are of
	averageModes, negative, details, save                 bool
}

func fitCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "fit SOURCE...",
		Short: "Model how measured times depend on parameters",
		Long: `Finds a formula for mean and deviation, with intervals for every coefficient. SOURCE is one of

    data.csv         a header line, columns of parameters, and the response in the last
    RUN              a run directory: its components' invocations, and its MPI functions
                     by message size
    RUN RUN ...      runs that differ in the number of ranks, or in parameters that were
                     recorded with marple exec --params n=1000: its call paths
    db:SELECTION     the same, of trials in the database: db:3,5,8-10, db:app/experiment,
                     'db:ranks >= 8' (see marple db)

Of runs on several machines (marple exec --machine), and of a CSV file with a column machine and --machines, coefficients are functions
of what was measured of the machines, where leaving one out shows that these explain the difference; else each machine has its
own model, and a note says why. Such models predict for another machine with --model and --machine, or marple select --machine.

or, with --model FILE instead of a source, a model file that was written with -o or by hand.

Families: ` + strings.Join(model.Families(), ", ") + `
(pmnf is the performance model normal form: sums of n^a*log2(n)^b). The simplest that the
samples support is chosen by cross-validation; a runner-up that is nearly as good is told.

Model files are JSON (the output of --format json), or MathML if they are called .mml,
.mathml or .xml. In a formula stand + - * / ^, exp, log (natural), log2, log10, sqrt, abs,
min, max, floor, ceil, if(condition, then, else), parameters and machine parameters.`,
		Example: `  marple fit data.csv --predict n=1000,2000
  marple fit data.csv --response time --param n,p -o model.json --plot model.svg
  marple fit marple-app-*/ --name solve
  marple fit --model model.json --predict n=4000 --machine ghz=3.1
  marple fit a/ b/ c/ d/ -o model.json; marple fit --model model.json --predict ranks=64 --machine other.json`,
	}
	f := &fitFlags{}
	as := format(c, "text", "json")
	fl := c.Flags()
	fl.StringVar(&f.model, "model", "", "use this model file instead of fitting")
	fl.StringVarP(&f.out, "output", "o", "", "write the models to this file (.json, .mml)")
	fl.StringVar(&f.plot, "plot", "", "draw points, curve and band into this SVG file; - draws in the terminal")
	fl.StringSliceVar(&f.responses, "response", nil, "what to model: columns of a CSV file; time, mpi or compute of runs; wall, mpi or compute of invocations")
	fl.StringSliceVar(&f.parameters, "param", nil, "parameters to model it by (default: all)")
	fl.StringSliceVar(&f.by, "by", nil, "columns of a CSV file whose values get models of their own")
	fl.StringVar(&f.name, "name", "", "only what has this in its name")
	fl.StringVar(&f.family, "family", "", "only this family; polynomial:2 is one of degree 2")
	fl.StringVar(&f.form, "form", "", "fit this formula; names in it that are no parameters are coefficients")
	fl.StringArrayVar(&f.predict, "predict", nil, "values of the parameters to predict for: n=100,200 or n=100,200,p=8")
	fl.StringVar(&f.machine, "machine", "", "machine to predict for with --model: a file of marple doctor --machine, or name=number,...")
	fl.StringSliceVar(&f.machines, "machines", nil, "files of marple doctor --machine, for the column machine of a CSV file")
	fl.Float64Var(&f.confidence, "confidence", 95, "percent of intervals")
	fl.Float64Var(&f.least, "least", 1, "leave out call paths below this percentage of the time")
	fl.BoolVar(&f.averageModes, "average-modes", false, "one model even where samples fall into several modes")
	fl.BoolVar(&f.negative, "negative", false, "take negative responses as they are (default: leave them out)")
	fl.BoolVar(&f.details, "details", false, "show all details of many models")
	fl.BoolVar(&f.save, "save", false, "keep the models of db:SELECTION in the database, with the trials' experiment")
	database(c, false)
	schema := fl.Bool("schema", false, "print the JSON Schema of --format json and of model files")
	c.Args = func(_ *cobra.Command, arguments []string) error {
		switch {
		case *schema && len(arguments) == 0:
		case f.model != "" && len(arguments) > 0:
			return usage("fit: expected either --model or something to fit, not both")
		case f.model == "" && len(arguments) == 0:
			return usage("fit: expected a CSV file or run directories, or --model FILE")
		case f.machine != "" && f.model == "":
			return usage("--machine: expected together with --model")
		case f.save && (len(arguments) != 1 || !strings.HasPrefix(arguments[0], fromDatabase)):
			return usage("--save: expected together with db:SELECTION")
		}
		return nil
	}
	c.RunE = func(c *cobra.Command, arguments []string) error {
		if *schema {
			_, err := c.OutOrStdout().Write(model.SchemaJSON())
			return err
		}
		f.format = *as
		return f.run(c, arguments)
	}
	return c
}

func (f *fitFlags) run(c *cobra.Command, arguments []string) error {
	options, err := f.options()
	if err != nil {
		return err
	}
	points, err := parsePoints(f.predict)
	if err != nil {
		return usage("--predict: %v", err)
	}
	properties, err := machineProperties(f.machine)
	if err != nil {
		return err
	}
	var sources []*series.Series
	var fitted [][]*model.Model // by source
	if f.model != "" {
		d, err := model.Read(f.model)
		if err != nil {
			return err
		}
		for _, m := range d.Models {
			m.Predictions = nil // somebody else's
		}
		fitted = [][]*model.Model{f.named(d.Models)}
	} else {
		if sources, err = f.read(c, arguments); err != nil {
			return err
		}
		fitted = fitAll(c, sources, options)
	}
	models := slices.Concat(fitted...)
	if len(models) == 0 {
		return errors.New("nothing to model" + inName(f.name))
	}
	if err := predict(models, points, properties); err != nil {
		return err
	}
	if err := f.print(c, models); err != nil {
		return err
	}
	if err := f.write(models); err != nil {
		return err
	}
	if f.save {
		if err := f.saveModels(c, models); err != nil {
			return err
		}
	}
	if err := f.draw(c, sources, fitted, properties); err != nil {
		return err
	}
	for _, m := range models {
		if m.Expression != nil {
			return nil
		}
	}
	if len(models) == 1 {
		return fmt.Errorf("no model: %s", models[0].Reason)
	}
	return errors.New("no model: each response says why")
}

// machineProperties are those of a file of marple doctor --machine, or of name=number,….
func machineProperties(text string) (map[string]float64, error) {
	if text == "" {
		return nil, nil
	}
	if _, err := os.Stat(text); err == nil {
		m, err := machine.Read(text)
		if err != nil {
			return nil, err
		}
		return m.Properties(), nil
	}
	properties, err := setting.ParsePairs(text)
	if err != nil {
		return nil, usage("--machine: %v, or a file of marple doctor --machine", err)
	}
	return properties, nil
}

func inName(name string) string {
	if name == "" {
		return ""
	}
	return fmt.Sprintf(": no name contains %q", name)
}

func (f *fitFlags) options() (model.Options, error) {
	o := model.Options{Confidence: f.confidence / 100, AverageModes: f.averageModes}
	if !(f.confidence > 0 && f.confidence < 100) {
		return o, usage("--confidence: %v: expected a percentage between 0 and 100", f.confidence)
	}
	if !(f.least >= 0 && f.least <= 100) {
		return o, usage("--least: %v: expected a percentage from 0 to 100", f.least)
	}
	if f.form != "" {
		if f.family != "" {
			return o, usage("fit: expected either --family or --form, not both")
		}
		e, err := formula.Parse(f.form)
		if err != nil {
			return o, usage("--form: %v", err)
		}
		o.Form = e
	}
	if f.family == "" {
		return o, nil
	}
	name, degree, given := strings.Cut(f.family, ":")
	o.Family = name
	if given {
		d, err := strconv.Atoi(degree)
		if err != nil || name != model.Polynomial || d < 1 || d > 4 {
			return o, usage("--family: %q: expected polynomial:1 to polynomial:4", f.family)
		}
		o.Degree = d
	}
	if !slices.Contains(model.Families(), name) {
		return o, usage("--family: %q: expected one of %s", f.family, strings.Join(model.Families(), ", "))
	}
	return o, nil
}

func (f *fitFlags) choice() series.Choice {
	return series.Choice{Responses: f.responses, Parameters: f.parameters, By: f.by, Negative: f.negative}
}

// read finds out what the sources are and reads them.
func (f *fitFlags) read(c *cobra.Command, paths []string) ([]*series.Series, error) {
	isRun := func(path string) bool {
		info, err := os.Stat(path)
		return err == nil && info.IsDir() || filepath.Base(path) == run.File
	}
	var list []*series.Series
	var err error
	switch path := paths[0]; {
	case len(paths) == 1 && strings.HasPrefix(path, fromDatabase):
		list, err = f.readTrials(c, strings.TrimPrefix(path, fromDatabase))
	case len(paths) == 1 && !isRun(path) && filepath.Ext(path) == ".parquet":
		list, err = invocation.Read(path, f.choice())
	case len(paths) == 1 && !isRun(path):
		list, err = f.readCSV(path)
	case len(paths) == 1:
		list, err = f.readRun(path)
	default:
		list, err = f.readRuns(paths)
	}
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list, func(s *series.Series) bool { return !strings.Contains(s.Name, f.name) }), nil
}

// readRun gives what one run has: invocations of components, MPI functions by message size.
func (f *fitFlags) readRun(path string) ([]*series.Series, error) {
	r, err := pipeline.Open(path)
	if err != nil {
		return nil, err
	}
	directory := path
	if filepath.Base(path) == run.File {
		directory = filepath.Dir(path)
	}
	var list []*series.Series
	if _, err := os.Stat(filepath.Join(directory, run.InvocationsFile)); err == nil {
		if list, err = invocation.Read(filepath.Join(directory, run.InvocationsFile), f.choice()); err != nil {
			return nil, err
		}
	}
	if len(list) == 0 || len(f.responses) == 0 && len(f.parameters) == 0 {
		list = append(list, series.OfFunctions(r)...)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s: nothing to model: neither invocations of components nor messages; give several runs to model their call paths", path)
	}
	return list, nil
}

func (f *fitFlags) readRuns(paths []string) ([]*series.Series, error) {
	var runs []*run.Run
	for _, path := range paths {
		r, err := pipeline.Open(path)
		if err != nil {
			return nil, err
		}
		runs = append(runs, r)
	}
	list, err := series.OfRuns(runs, f.least/100, f.choice())
	if err != nil {
		return nil, err
	}
	invocations, err := f.readMachines(paths, runs)
	return append(list, invocations...), err
}

// readMachines gives the invocations of components that runs on several machines have.
func (f *fitFlags) readMachines(paths []string, runs []*run.Run) ([]*series.Series, error) {
	known, err := series.Machines(runs)
	if known == nil || err != nil || len(f.responses) > 0 {
		return nil, err
	}
	on := map[string][]*series.Series{}
	for i, path := range paths {
		if filepath.Base(path) == run.File {
			path = filepath.Dir(path)
		}
		if path = filepath.Join(path, run.InvocationsFile); runs[i].Invocations == 0 {
			continue
		}
		list, err := invocation.Read(path, series.Choice{Negative: f.negative})
		if err != nil {
			return nil, err
		}
		on[runs[i].Machine.Name] = append(on[runs[i].Machine.Name], list...)
	}
	return series.Join(on, known)
}

// readCSV reads a table; --machines tells what is known of the machines in its column.
func (f *fitFlags) readCSV(path string) ([]*series.Series, error) {
	list, err := series.ReadCSV(path, f.choice())
	if err != nil || len(f.machines) == 0 {
		return list, err
	}
	known := map[string]map[string]float64{}
	for _, file := range f.machines {
		m, err := machine.Read(file)
		if err != nil {
			return nil, err
		}
		known[m.Name] = m.Properties()
	}
	for _, s := range list {
		if s.Labels[series.Machine] == nil {
			return nil, fmt.Errorf("%s: no column %s, with names of the machines of --machines", path, series.Machine)
		}
		if err := s.On(known); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return list, nil
}

// fromDatabase begins the names of what is not in directories, but in the database.
const fromDatabase = "db:"

func (f *fitFlags) readTrials(c *cobra.Command, selection string) ([]*series.Series, error) {
	s, err := openStore(c, store.Existing)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	found, err := s.Select(c.Context(), selection)
	if err != nil {
		return nil, err
	}
	if len(found.Trials) == 0 {
		return nil, fmt.Errorf("%s: no trial is selected by %s", s.Place(), selection)
	}
	f.trials = found.Trials
	runs, err := s.Runs(c.Context(), found.Trials, f.least/100)
	if err != nil {
		return nil, err
	}
	return runs.Series(f.least/100, f.choice())
}

// saveModels keeps the models with the experiment that all trials are of.
func (f *fitFlags) saveModels(c *cobra.Command, models []*model.Model) error {
	first := f.trials[0]
	for _, t := range f.trials {
		if t.Application != first.Application || t.Experiment != first.Experiment {
			return fmt.Errorf("--save: the trials are of several experiments (%s/%s and %s/%s); expected one, which the models are kept with",
				first.Application, first.Experiment, t.Application, t.Experiment)
		}
	}
	s, err := openStore(c, store.Existing)
	if err != nil {
		return err
	}
	defer s.Close()
	good := slices.DeleteFunc(slices.Clone(models), func(m *model.Model) bool { return m.Expression == nil })
	return s.SaveModels(c.Context(), first.Application, first.Experiment, good)
}

func (f *fitFlags) named(list []*model.Model) []*model.Model {
	return slices.DeleteFunc(list, func(m *model.Model) bool { return !strings.Contains(m.Name, f.name) })
}

// fitAll models all series, and says on stderr how far it is when that takes long.
func fitAll(c *cobra.Command, list []*series.Series, o model.Options) [][]*model.Model {
	var fitter model.Fitter
	var out [][]*model.Model
	for i, s := range list {
		doing(c, "%d of %d responses modelled", i, len(list))
		out = append(out, fitter.FitSeries(s, o))
	}
	return out
}

// mostPoints are predicted at once.
const mostPoints = 100_000

// parsePoints reads n=100,200,p=8 as the points (100,8) and (200,8); each text gives points of its own.
func parsePoints(texts []string) ([]map[string]float64, error) {
	var list []map[string]float64
	for _, text := range texts {
		names, values, err := parseValues(text)
		if err != nil {
			return nil, err
		}
		points := []map[string]float64{{}}
		for _, name := range names {
			var next []map[string]float64
			for _, p := range points {
				for _, v := range values[name] {
					q := map[string]float64{name: v}
					for k, w := range p {
						q[k] = w
					}
					next = append(next, q)
				}
			}
			if points = next; len(points)+len(list) > mostPoints {
				return nil, fmt.Errorf("more than %d points", mostPoints)
			}
		}
		list = append(list, points...)
	}
	return list, nil
}

// parseValues reads NAME=NUMBER,NUMBER,NAME=...
func parseValues(text string) (names []string, values map[string][]float64, err error) {
	values = map[string][]float64{}
	for _, part := range strings.Split(text, ",") {
		name, value, given := strings.Cut(part, "=")
		if !given {
			if len(names) == 0 {
				return nil, nil, fmt.Errorf("%q: expected name=number", part)
			}
			name, value = names[len(names)-1], part
		} else {
			name = strings.TrimSpace(name)
			if name == "" || slices.Contains(names, name) {
				return nil, nil, fmt.Errorf("%q: expected name=number, each name once", part)
			}
			names = append(names, name)
		}
		v, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, nil, fmt.Errorf("%q: expected a number for %s", value, name)
		}
		values[name] = append(values[name], v)
	}
	return names, values, nil
}

// predict adds predictions to the models that have the parameters for them.
func predict(models []*model.Model, points []map[string]float64, machine map[string]float64) error {
	var problem error
	predicted := len(points) == 0
	for _, m := range models {
		if m.Expression == nil || len(points) == 0 {
			continue
		}
		p, err := m.Predictor(machine)
		if err != nil {
			return fmt.Errorf("%s: %w", m.Title(), err)
		}
		for _, point := range points {
			x, err := coordinates(p.Names(), point)
			if err != nil {
				problem = err
			}
			if len(x) < len(p.Names()) {
				continue
			}
			q, err := p.At(x)
			if err != nil {
				m.Notes = append(m.Notes, err.Error())
				continue
			}
			predicted = true
			m.Predictions = append(m.Predictions, q)
		}
	}
	if len(models) == 1 || !predicted {
		return problem
	}
	return nil
}

// coordinates are a point's values of parameters, in their order. The error says what is missing, or is none of them.
func coordinates(names []string, point map[string]float64) (x []float64, problem error) {
	for _, name := range names {
		if v, ok := point[name]; ok {
			x = append(x, v)
		} else {
			problem = usage("--predict: expected a value for %s", strings.Join(names, ", "))
		}
	}
	for name := range point {
		if !slices.Contains(names, name) {
			problem = usage("--predict: the model has no parameter %q; it has %s", name, strings.Join(names, ", "))
		}
	}
	return x, problem
}

func (f *fitFlags) print(c *cobra.Command, models []*model.Model) error {
	if f.format == "json" {
		data, err := (&model.Document{Schema: model.Schema, Models: models}).Encode()
		if err == nil {
			_, err = c.OutOrStdout().Write(data)
		}
		return err
	}
	_, err := fmt.Fprint(c.OutOrStdout(), report.Models(models, f.details))
	return err
}

// write writes the model file.
func (f *fitFlags) write(models []*model.Model) error {
	if f.out == "" {
		return nil
	}
	var good []*model.Model
	for _, m := range models {
		if m.Expression != nil {
			one := *m
			one.Predictions = nil
			good = append(good, &one)
		}
	}
	var data []byte
	var err error
	switch {
	case len(good) == 0:
		return nil
	case model.IsMathML(f.out) && len(good) > 1:
		return fmt.Errorf("%s: a MathML file holds one model, and there are %d; choose one with --name and --response, or write JSON", f.out, len(good))
	case model.IsMathML(f.out):
		data, err = good[0].MathML()
	default:
		data, err = (&model.Document{Schema: model.Schema, Models: good}).Encode()
	}
	if err != nil {
		return err
	}
	return run.WriteFile(f.out, data)
}

// mostPanels are drawn into one file.
const mostPanels = 50

func (f *fitFlags) draw(c *cobra.Command, sources []*series.Series, fitted [][]*model.Model, machine map[string]float64) error {
	if f.plot == "" {
		return nil
	}
	var panels []*plot.Plot
	for i, models := range fitted {
		var s *series.Series
		if i < len(sources) {
			s = sources[i]
		}
		if p := report.Plot(s, models, machine); p != nil && len(panels) < mostPanels {
			panels = append(panels, p)
		}
	}
	if f.plot != "-" {
		return run.WriteFile(f.plot, plot.SVG(panels))
	}
	for _, p := range panels {
		if _, err := fmt.Fprintf(c.OutOrStdout(), "\n%s", p.Text(80, 18)); err != nil {
			return err
		}
	}
	return nil
}
