package main

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"marple/analysis/compare"
	"marple/analysis/diagnosis"
	"marple/analysis/model"
	"marple/analysis/page"
	"marple/analysis/pipeline"
	"marple/analysis/plot"
	"marple/analysis/report"
	"marple/analysis/run"
	"marple/analysis/selection"
	"marple/analysis/selection/prune"
	"marple/analysis/series"
	"marple/analysis/trace"
	"marple/analysis/whatif"
	"marple/analysis/words"
)

// pageFile is where `marple page` writes if nothing else is said.
const pageFile = "report.html"

// pageOptions say what a page is to show beside the run itself.
type pageOptions struct {
	models      []string
	own         string // directory of models
	most        int    // events
	alpha, beta float64
	source      string // directory of source files
	against     string // run to compare with
}

func pageCommand() *cobra.Command {
	c := &cobra.Command{Use: "page RUN", Short: "Write the report of a run as one HTML file, to be looked at", Args: oneRun,
		Long: `Writes a self-contained page: diagnosis and how it was concluded, efficiencies, call graph, functions, ranks,
messages, waits, critical path, timeline, and, where they are known, models and the choice of implementations. What ranks did
at which time comes from a replay of their calls: as it was, with a core for each rank, and without what a finding is about;
sliders on the findings say what a part of that would bring. Of runs measured with --trace each call is shown, too.
--source DIR puts lines of the source beside call paths and findings, which whoever gets the page can read then.
It asks no network for anything, and can be sent to others.`,
		Example: `  marple page marple-app-4711
  marple page --source src -o app.html marple-app-4711
  marple page --against marple-app-before marple-app-after`}
	o := pageFlags(c)
	out := c.Flags().StringP("output", "o", "", "file to write (default: "+pageFile+" in the run directory; - is stdout)")
	c.RunE = func(c *cobra.Command, arguments []string) error {
		if err := o.check(); err != nil {
			return err
		}
		doing(c, "making the page")
		p, err := o.load(arguments[0])
		if err != nil {
			return err
		}
		var text bytes.Buffer
		if err := page.Write(&text, *p); err != nil {
			return err
		}
		switch *out {
		case "-":
			_, err := c.OutOrStdout().Write(text.Bytes())
			return err
		case "":
			*out = filepath.Join(directoryOf(arguments[0]), pageFile)
		}
		if err := run.WriteFile(*out, text.Bytes()); err != nil {
			return err
		}
		_, err = fmt.Fprintln(c.OutOrStdout(), *out)
		return err
	}
	return c
}

func pageFlags(c *cobra.Command) *pageOptions {
	o := &pageOptions{}
	c.Flags().StringVar(&o.own, "knowledge", "", knowledgeUsage)
	c.Flags().StringArrayVar(&o.models, "models", nil, "model file of marple fit to show; may be repeated")
	c.Flags().IntVar(&o.most, "events", 20_000, "most calls and regions that are shown one by one on the timeline: the longest (0: no timeline)")
	c.Flags().StringVar(&o.source, "source", "", "directory with the program's source files: show the lines of call paths")
	c.Flags().StringVar(&o.against, "against", "", "run to compare with: the flame graph shows the difference, too")
	c.Flags().Float64Var(&o.alpha, "alpha", 0.1, "call graphs of components: shade what pruning with this α leaves out")
	c.Flags().Float64Var(&o.beta, "beta", 0.1, "the same for β")
	return o
}

func (o *pageOptions) check() error {
	if o.most < 0 || o.alpha < 0 || o.beta < 0 {
		return usage("--events, --alpha and --beta must not be negative")
	}
	return nil
}

func directoryOf(path string) string {
	if filepath.Base(path) == run.File {
		return filepath.Dir(path)
	}
	return path
}

// load gathers all that is known about a run.
func (o *pageOptions) load(path string) (*page.Page, error) {
	r, err := pipeline.Open(path)
	if err != nil {
		return nil, err
	}
	return o.describe(r, directoryOf(path))
}

func (o *pageOptions) describe(r *run.Run, directory string) (*page.Page, error) {
	p := &page.Page{Run: r, Core: prune.Rule{Alpha: o.alpha, Beta: o.beta}, Directory: directory, Version: version}
	library, err := ownKnowledge(o.own)
	if err != nil {
		return nil, err
	}
	choice, err := diagnosis.Choose(r, library)
	if err != nil {
		return nil, err
	}
	if p.Diagnosis, err = choice.Diagnose(r, trace.Events(directory)); err != nil {
		return nil, err
	}
	p.Diagnosis.Settle(r)
	if o.most > 0 && directory != "" {
		if err := o.timeline(p, directory); err != nil && !errors.Is(err, trace.ErrNoLogs) {
			p.Unreadable = err.Error() // all else is known
		}
	}
	if err := o.replays(p, directory); err != nil {
		return nil, err
	}
	if o.source != "" {
		if p.Sources, err = page.ReadSources(r, o.source); err != nil {
			return nil, fmt.Errorf("--source: %w", err)
		}
		if len(p.Sources) == 0 {
			return nil, fmt.Errorf("--source: %s: expected the files that call paths are in; none is there", o.source)
		}
	}
	if o.against != "" {
		other, err := pipeline.Open(o.against)
		if err != nil {
			return nil, fmt.Errorf("--against: %w", err)
		}
		if err := compareWith(p, other, filepath.Base(o.against)); err != nil {
			return nil, err
		}
	}
	if p.Figures, err = o.figures(directory); err != nil {
		return nil, err
	}
	return p, nil
}

// replays adds what replays of the run tell.
func (o *pageOptions) replays(p *page.Page, directory string) (err error) {
	if p.Run.Replay == nil && directory != "" {
		if p.Run.Replay, err = run.ReadReplay(directory); err != nil {
			return err
		}
	}
	p.Steps = whatif.Steps(p.Run)
	p.Replay(whatif.Variants(p.Run))
	return nil
}

// compareWith adds how a run differs from another one.
func compareWith(p *page.Page, other *run.Run, name string) (err error) {
	p.Against, err = compare.Compare(compare.Side{Name: words.Fit(words.Clean(name), 30), Runs: []*run.Run{other}}, compare.Side{Name: "this run", Runs: []*run.Run{p.Run}}, 0)
	return err
}

// timeline adds what the run's logs tell: the longest events, and an overview of all.
func (o *pageOptions) timeline(p *page.Page, directory string) error {
	events, more, err := trace.Timeline(directory, trace.Window{Most: o.most, Longest: true})
	if err != nil {
		return err
	}
	p.More = more
	for _, e := range events {
		p.Events = append(p.Events, page.Event{Rank: int(e.Rank), Thread: e.Thread, Start: e.Start, Ns: e.Ns, Name: e.Name, Region: e.Region, Peer: int(e.Peer), Bytes: e.Bytes})
	}
	ranks, moments, err := trace.Moments(directory)
	if err != nil {
		return err
	}
	p.Overview = page.NewOverview(ranks, moments)
	return nil
}

// Of the models that the run's own records give, mostFigures are shown; mostTried are looked for.
const (
	mostFigures = 24
	mostTried   = 200
)

// figures are those of the models that are given or, if there are none, of what the invocations of components show. Where
// these show no model there is no picture either.
func (o *pageOptions) figures(directory string) (figures []page.Figure, err error) {
	var records []*series.Series
	if directory != "" {
		if records, err = selection.Invocations(directory); err != nil {
			return nil, err
		}
	}
	add := func(s *series.Series, models ...*model.Model) {
		if p := report.Plot(s, models, nil); p != nil {
			figures = append(figures, figure(p, models))
		}
	}
	for _, file := range o.models {
		d, err := model.Read(file)
		if err != nil {
			return nil, err
		}
		for _, m := range d.Models {
			at := slices.IndexFunc(records, func(s *series.Series) bool { return s.Name == m.Name && s.Response == m.Response })
			if at >= 0 {
				add(records[at], m)
			} else {
				add(nil, m)
			}
		}
	}
	if len(o.models) > 0 {
		return figures, nil
	}
	var fitter model.Fitter
	drawn := 0
	for _, s := range records[:min(len(records), mostTried)] {
		add(s, fitter.FitSeries(s, model.Options{})...)
		if n := len(figures); n > 0 && figures[n-1].SVG != nil {
			drawn++
		}
		if drawn == mostFigures {
			break
		}
	}
	return figures, nil
}

// figure is a plot of models with their figures of merit, or why there is no model.
func figure(p *plot.Plot, models []*model.Model) page.Figure {
	f := page.Figure{Title: p.Title}
	for _, m := range models {
		if m.Expression == nil {
			if !slices.Contains(f.Facts, m.Reason) {
				f.Facts = append(f.Facts, m.Reason)
			}
			continue
		}
		f.SVG = plot.SVG([]*plot.Plot{p})
		f.Facts = append(f.Facts, fmt.Sprintf("%s: SMAPE %.1f %%, adjusted R² %.3f, %d samples at %d points", m.Expression.Round(4), m.SMAPE, m.AdjustedR2, m.Samples, m.Points))
	}
	return f
}
