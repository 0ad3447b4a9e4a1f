package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"marple/analysis/model"
	"marple/analysis/pipeline"
	"marple/analysis/report"
	"marple/analysis/run"
	"marple/analysis/store"
	"marple/analysis/words"
)

func dbCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "db",
		Short: "Keep runs in a database",
		Long: `Keeps runs as trials of experiments with applications. The database is the file marple.db here, a file given with
--db or MARPLE_DB, or PostgreSQL: postgres://user@host/database. PostgreSQL's own variables (PGPASSWORD, PGPASSFILE,
PGSSLMODE) count, too; Marple's tables are in a schema of their own, marple.

    marple db import marple-app-*/
    marple db query 'ranks >= 64 && parallel < 0.5'
    marple fit 'db:app/default'
    marple compare db:3 db:7
    marple db baseline main app/main`,
		Args: func(c *cobra.Command, arguments []string) error {
			if len(arguments) > 0 {
				return usage("unknown command %q; see marple db --help", arguments[0])
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	database(c, true)
	c.AddCommand(dbImport(), dbBaseline(), dbIngest(), dbList(), dbQuery(), dbShow(), dbExport(), dbDelete(), dbMigrate())
	return c
}

// database adds --db to a command, or to all below it.
func database(c *cobra.Command, below bool) {
	flags := c.Flags()
	if below {
		flags = c.PersistentFlags()
	}
	flags.String("db", "", "database: a file, or postgres://user@host/database (default: MARPLE_DB, else marple.db)")
}

// openStore opens the database that a command is to work with.
func openStore(c *cobra.Command, mode store.Mode) (*store.Store, error) {
	location, err := c.Flags().GetString("db")
	if err != nil {
		return nil, err
	}
	for _, otherwise := range []string{os.Getenv(store.Variable), store.Preset} {
		if location == "" {
			location = otherwise
		}
	}
	return store.Open(c.Context(), location, mode)
}

// withStore is the work of a command on an existing database.
func withStore(work func(c *cobra.Command, s *store.Store, arguments []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, arguments []string) error {
		s, err := openStore(c, store.Existing)
		if err != nil {
			return err
		}
		defer s.Close()
		return work(c, s, arguments)
	}
}

// one makes cobra demand exactly one argument.
func one(what string) cobra.PositionalArgs {
	return func(c *cobra.Command, arguments []string) error {
		if len(arguments) != 1 {
			return usage("%s: expected %s", c.Name(), what)
		}
		return nil
	}
}

// batch is how many runs are stored in one transaction, and batchBytes how large they may be together.
const (
	batch      = 50
	batchBytes = 64 << 20
)

func dbImport() *cobra.Command {
	c := &cobra.Command{
		Use:   "import RUN...",
		Short: "Store runs, and make the database if it is not there",
		Long: `Stores runs: run directories, directories that hold run directories, run.json files, or directories of TAU profiles. A measurement is stored once:
imported again, its findings, its report, and its place among applications and experiments become what they are now.

--format json prints {"trials": [{"path", "trial", "change"}]}; change is imported, replaced, moved or unchanged. Runs that
could not be read have an error instead, and the exit code is 1; all others are stored.`,
		ValidArgsFunction: directories,
		Args: func(_ *cobra.Command, arguments []string) error {
			if len(arguments) == 0 {
				return usage("import: expected run directories, or directories of TAU profiles")
			}
			return nil
		},
	}
	as := format(c, "text", "json")
	application := c.Flags().String("application", "", "application that the runs are of (default: the program's name)")
	experiment := c.Flags().String("experiment", "", "experiment that the runs belong to (default: default)")
	baseline := c.Flags().String("baseline", "", "name for these runs, in place of what it was for: compare baseline:NAME")
	meta := c.Flags().StringArray("meta", nil, "NAME=TEXT to keep with the runs: compiler=gcc-12")
	c.RunE = func(c *cobra.Command, arguments []string) error {
		metadata, err := parseMetadata(*meta)
		if err != nil {
			return err
		}
		for flag, name := range map[string]string{"--application": *application, "--experiment": *experiment, "--baseline": *baseline} {
			if name != "" {
				if err := store.CheckName(flag, name); err != nil {
					return usageError{Cause: err}
				}
			}
		}
		s, err := openStore(c, store.Create)
		if err != nil {
			return err
		}
		defer s.Close()
		i := importer{c: c, s: s}
		for _, path := range runPaths(arguments) {
			doing(c, "%d runs imported", i.stored)
			n, err := newTrial(path)
			if err != nil {
				i.failed(path, err)
				continue
			}
			n.Application, n.Experiment, n.Metadata = *application, *experiment, metadata
			if err := i.add(path, n); err != nil {
				return err
			}
		}
		if err := i.flush(); err != nil {
			return err
		}
		if err := i.print(*as); err != nil || *baseline == "" { // what is incomplete is no baseline
			return err
		}
		var trials []*store.Trial
		for _, r := range i.results {
			found, err := s.Select(c.Context(), fmt.Sprint(r.Trial))
			if err != nil {
				return err
			}
			trials = append(trials, found.Trials...)
		}
		return setBaseline(c, s, *baseline, trials, *as)
	}
	return c
}

// parseMetadata reads texts NAME=TEXT.
func parseMetadata(pairs []string) (map[string]string, error) {
	metadata := map[string]string{}
	for _, pair := range pairs {
		name, text, ok := strings.Cut(pair, "=")
		if err := store.CheckName("--meta", name); !ok || err != nil {
			return nil, usage("--meta: %q: expected NAME=TEXT", pair)
		}
		metadata[name] = text
	}
	return metadata, nil
}

// fromBaseline marks the trials that have a name as a side of a comparison.
const fromBaseline = "baseline:"

func dbBaseline() *cobra.Command {
	c := &cobra.Command{
		Use:   "baseline [NAME SELECTION]",
		Short: "Name the trials that others are compared with, or list these names",
		Long: `Gives trials a name, which stands for them from then on: marple compare baseline:NAME RUN... What it stood for before stays
in the database, under its numbers. Without arguments the names are listed.

` + selectionHelp + `

--format json prints {"baselines": [{"name", "application", "trials", "made"}]}; trials are numbers.`,
		Example: `  marple db baseline main app/main
  marple db baseline v2.1 3,5,8-10
  marple compare --fail-above 5% baseline:main branch`,
		Args: func(_ *cobra.Command, arguments []string) error {
			if n := len(arguments); n != 0 && n != 2 {
				return usage("baseline: expected a name and a selection of trials, or nothing to list the names")
			}
			return nil
		},
	}
	as := format(c, "text", "json")
	gone := c.Flags().String("delete", "", "remove this name; its trials stay")
	c.RunE = withStore(func(c *cobra.Command, s *store.Store, arguments []string) error {
		switch {
		case *gone != "" && len(arguments) > 0:
			return usage("--delete: expected no other arguments")
		case *gone != "":
			if _, err := s.Baseline(c.Context(), *gone); err != nil {
				return err
			}
			if err := s.SetBaseline(c.Context(), *gone, nil); err != nil {
				return err
			}
			if *as != "json" {
				_, err := fmt.Fprintf(c.OutOrStdout(), "%s: %s removed\n", s.Place(), *gone)
				return err
			}
		case len(arguments) == 2:
			if err := store.CheckName("baseline", arguments[0]); err != nil {
				return usageError{Cause: err}
			}
			found, err := s.Select(c.Context(), arguments[1])
			if err != nil {
				return err
			}
			if len(found.Trials) == 0 {
				return fmt.Errorf("%s: no trial is selected; %s stays as it was", arguments[1], arguments[0])
			}
			return setBaseline(c, s, arguments[0], found.Trials, *as)
		}
		return printBaselines(c, s, *as)
	})
	return c
}

func setBaseline(c *cobra.Command, s *store.Store, name string, trials []*store.Trial, as string) error {
	var ids []int64
	applications := map[string]bool{}
	for _, t := range trials {
		ids, applications[t.Application] = append(ids, t.ID), true
	}
	if err := s.SetBaseline(c.Context(), name, ids); err != nil {
		return err
	}
	if as == "json" {
		return printBaselines(c, s, as)
	}
	_, err := fmt.Fprintf(c.OutOrStdout(), "%s: %s is %s of %s\n", s.Place(), name, words.Count(uint64(len(ids)), "trial", "trials"),
		words.Clean(strings.Join(slices.Sorted(maps.Keys(applications)), ", ")))
	return err
}

func printBaselines(c *cobra.Command, s *store.Store, as string) error {
	list, err := s.Baselines(c.Context())
	if err != nil {
		return err
	}
	out := c.OutOrStdout()
	if as == "json" {
		return printJSON(out, map[string]any{"baselines": list})
	}
	if len(list) == 0 {
		fmt.Fprintln(out, "no baselines")
		return nil
	}
	fmt.Fprintf(out, "%-20s  %-20s  %6s  %6s  %s\n", "baseline", "application", "trials", "ranks", "since")
	for _, b := range list {
		ranks := fmt.Sprint(b.LeastRanks)
		if b.MostRanks != b.LeastRanks {
			ranks += fmt.Sprintf("-%d", b.MostRanks)
		}
		fmt.Fprintf(out, "%-20s  %-20s  %6d  %6s  %s\n", words.Fit(words.Clean(b.Name), 20), words.Fit(words.Clean(b.Application), 20), len(b.Trials), ranks,
			b.Made.Local().Format(minute))
	}
	return nil
}

// newTrial is the door for runs: whatever can be read as a run can be stored.
func newTrial(path string) (*store.New, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(path, run.File)); err == nil || !info.IsDir() {
		return store.FromDirectory(path)
	}
	r, err := pipeline.Open(path)
	if err != nil {
		return nil, err
	}
	absolute, err := filepath.Abs(path)
	return &store.New{Name: filepath.Base(absolute), Run: r}, err
}

// runPaths puts for each directory of run directories these.
func runPaths(paths []string) (list []string) {
	for _, path := range paths {
		found, _ := filepath.Glob(filepath.Join(quoteGlob(path), "*", run.File))
		if _, err := os.Stat(filepath.Join(path, run.File)); err == nil || len(found) == 0 {
			list = append(list, path)
			continue
		}
		for _, file := range found {
			list = append(list, filepath.Dir(file))
		}
	}
	return list
}

var globQuoter = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`)

func quoteGlob(path string) string { return globQuoter.Replace(path) }

type importer struct {
	c       *cobra.Command
	s       *store.Store
	waiting []*store.New
	paths   []string
	bytes   int
	stored  int
	results []importResult
}

type importResult struct {
	Path   string       `json:"path"`
	Trial  int64        `json:"trial,omitempty"`
	Change store.Change `json:"change,omitempty"`
	Error  string       `json:"error,omitempty"`
	Where  string       `json:"-"`
}

func (i *importer) failed(path string, err error) {
	i.results = append(i.results, importResult{Path: path, Error: err.Error()})
}

func (i *importer) add(path string, n *store.New) error {
	i.waiting, i.paths = append(i.waiting, n), append(i.paths, path)
	for _, data := range n.Files {
		i.bytes += len(data)
	}
	if len(i.waiting) < batch && i.bytes < batchBytes {
		return nil
	}
	return i.flush()
}

// flush stores what waits. If that is refused, the runs are tried one by one, to find the one that is to blame.
func (i *importer) flush() error {
	if len(i.waiting) == 0 {
		return nil
	}
	outcomes, err := i.s.Import(i.c.Context(), i.waiting)
	var refused *store.RefusedError
	if errors.As(err, &refused) {
		for k, n := range i.waiting {
			outcomes, err := i.s.Import(i.c.Context(), []*store.New{n})
			switch {
			case errors.As(err, &refused):
				i.failed(i.paths[k], err)
			case err != nil:
				return err
			default:
				i.done(i.paths[k:k+1], outcomes)
			}
		}
	} else if err != nil {
		return err
	} else {
		i.done(i.paths, outcomes)
	}
	i.waiting, i.paths, i.bytes = nil, nil, 0
	return nil
}

func (i *importer) done(paths []string, outcomes []store.Outcome) {
	for k, o := range outcomes {
		i.results = append(i.results, importResult{Path: paths[k], Trial: o.Trial, Change: o.Change})
		i.stored++
	}
}

// mostNamed is how many runs are named one by one.
const mostNamed = 20

func (i *importer) print(as string) error {
	failed := 0
	for _, r := range i.results {
		if r.Error != "" {
			failed++
			if as != "json" {
				fmt.Fprintf(i.c.ErrOrStderr(), "marple: %s\n", words.Clean(r.Error))
			}
		}
	}
	if as == "json" {
		if err := printJSON(i.c.OutOrStdout(), map[string]any{"trials": i.results}); err != nil {
			return err
		}
	} else if i.stored > 0 {
		out := i.c.OutOrStdout()
		count := map[store.Change]int{}
		for _, r := range i.results {
			if r.Error == "" {
				count[r.Change]++
				if i.stored <= mostNamed {
					fmt.Fprintf(out, "%6d  %-9s  %s\n", r.Trial, r.Change, words.Fit(words.Clean(r.Path), 60))
				}
			}
		}
		var parts []string
		for _, change := range []store.Change{store.Imported, store.Replaced, store.Moved, store.Unchanged} {
			if count[change] > 0 {
				parts = append(parts, fmt.Sprintf("%s %s", words.Number(uint64(count[change])), change))
			}
		}
		fmt.Fprintf(out, "%s: %s\n", i.s.Place(), strings.Join(parts, ", "))
	}
	if failed > 0 {
		return fmt.Errorf("%s could not be imported", words.Count(uint64(failed), "run", "runs"))
	}
	return nil
}

func dbList() *cobra.Command {
	c := &cobra.Command{
		Use:   "list [APPLICATION[/EXPERIMENT]]",
		Short: "List the experiments, or the trials of one",
		Long: `Lists the experiments with their trials counted, or the trials of an application or experiment.

--format json prints {"experiments": [{"id", "application", "experiment", "trials", "least_ranks", "most_ranks", "latest",
"models"}]}, or {"trials": [...]} with the fields that marple db query --help lists.`,
		Args: func(_ *cobra.Command, arguments []string) error {
			if len(arguments) > 1 {
				return usage("list: expected at most one application or application/experiment")
			}
			return nil
		},
	}
	as := format(c, "text", "json")
	limit := limitFlag(c)
	c.RunE = withStore(func(c *cobra.Command, s *store.Store, arguments []string) error {
		if len(arguments) == 1 {
			found, err := s.Select(c.Context(), arguments[0])
			if err != nil {
				return err
			}
			return printTrials(c, found, *as, *limit)
		}
		list, err := s.Experiments(c.Context())
		if err != nil {
			return err
		}
		if *as == "json" {
			return printJSON(c.OutOrStdout(), map[string]any{"experiments": list})
		}
		out := c.OutOrStdout()
		fmt.Fprintf(out, "%-40s  %6s  %9s  %s\n", "application/experiment", "trials", "ranks", "latest")
		for _, e := range list {
			ranks := fmt.Sprint(e.LeastRanks)
			if e.MostRanks != e.LeastRanks {
				ranks += fmt.Sprintf("-%d", e.MostRanks)
			}
			name := words.Fit(words.Clean(e.Application+"/"+e.Name), 40)
			fmt.Fprintf(out, "%s%s  %6d  %9s  %s\n", name, strings.Repeat(" ", 40-words.Width(name)), e.Trials, ranks, e.Latest.Local().Format(minute))
		}
		return nil
	})
	return c
}

const minute = "2006-01-02 15:04"

func limitFlag(c *cobra.Command) *int {
	return c.Flags().Int("latest", 40, "print at most so many trials, the latest (0: all)")
}

func dbQuery() *cobra.Command {
	var fields strings.Builder
	for _, f := range store.Fields() {
		fmt.Fprintf(&fields, "    %-18s %s\n", f[0], f[1])
	}
	c := &cobra.Command{
		Use:   "query EXPRESSION",
		Short: "Find trials by what is known of them",
		Long: `Lists the trials for which an expression is true. The fields are, in --format json, too:

` + fields.String() + `
The language is Expr (expr-lang.org): == != < <= > >= && || !, in, contains, matches, any(list, condition on .field).
A trial without a parameter that the expression asks for is left out, and counted; "n" in params asks whether there is one.
--format json prints {"trials": [...], "undecided": 0}.`,
		Example: `  marple db query 'application == "heat" && ranks >= 64'
  marple db query 'any(findings, .id == "imbalance" && .share > 0.2)'
  marple db query '"n" in params && params.n > 1000 && meta.compiler contains "gcc"'
  marple db query 'started > date("2026-11-01") && parallel < 0.5'`,
		Args: one("one expression; quote it"),
	}
	as := format(c, "text", "json")
	limit := limitFlag(c)
	c.RunE = withStore(func(c *cobra.Command, s *store.Store, arguments []string) error {
		f, err := store.ParseFilter(arguments[0])
		if err != nil {
			return usageError{Cause: err}
		}
		found, err := s.Query(c.Context(), f)
		if err != nil {
			return err
		}
		return printTrials(c, found, *as, *limit)
	})
	return c
}

// printTrials prints the latest of the trials.
func printTrials(c *cobra.Command, found *store.Selection, as string, limit int) error {
	if limit < 0 {
		return usage("--latest: %d: expected a number of trials, or 0 for all", limit)
	}
	list := slices.Clone(found.Trials)
	slices.SortStableFunc(list, func(x, y *store.Trial) int { return y.Started.Compare(x.Started) })
	left := 0
	if limit > 0 && len(list) > limit {
		left, list = len(list)-limit, list[:limit]
	}
	if found.Undecided > 0 {
		fmt.Fprintf(c.ErrOrStderr(), "marple: %s left out, since the expression has no value: %v\n",
			words.Count(uint64(found.Undecided), "trial", "trials"), found.Why)
	}
	out := c.OutOrStdout()
	if as == "json" {
		if list == nil {
			list = []*store.Trial{}
		}
		return printJSON(out, map[string]any{"trials": list, "undecided": found.Undecided, "left_out": left})
	}
	if len(list) == 0 {
		fmt.Fprintln(out, "no trials")
		return nil
	}
	fmt.Fprintf(out, "%6s  %-16s  %6s  %8s  %8s  %s\n", "trial", "started", "ranks", "wall", "parallel", "application/experiment, parameters")
	for _, t := range list {
		what := words.Clean(t.Application + "/" + t.Experiment)
		if p := parameters(t.Parameters); p != "" {
			what += ", " + p
		}
		fmt.Fprintf(out, "%6d  %s  %6d  %8s  %8s  %s\n", t.ID, t.Started.Local().Format(minute), t.Ranks, words.Duration(t.Wall),
			words.Percent(t.Parallel), words.Fit(what, 40))
	}
	if left > 0 {
		fmt.Fprintf(out, "… %s more; --latest 0 shows all\n", words.Number(uint64(left)))
	}
	return nil
}

func parameters(values map[string]float64) string {
	var parts []string
	for name, value := range values {
		parts = append(parts, fmt.Sprintf("%s=%v", words.Clean(name), value))
	}
	slices.Sort(parts)
	return strings.Join(parts, " ")
}

func dbShow() *cobra.Command {
	c := &cobra.Command{
		Use:   "show TRIAL | APPLICATION[/EXPERIMENT]",
		Short: "Show a trial with its report, or an experiment with its models",
		Long: `Shows a trial: what the database knows of it, and the run's report. Of an application or experiment it shows the
performance models that marple fit --save has kept.

--format json prints {"trial": {...}, "run": {...}} with the fields of marple db query and of marple report --schema, or what
marple fit prints.`,
		Args: one("the number of a trial, or application/experiment"),
	}
	as := format(c, "text", "json")
	c.RunE = withStore(func(c *cobra.Command, s *store.Store, arguments []string) error {
		found, err := s.Select(c.Context(), arguments[0])
		if err != nil {
			return err
		}
		if !found.ByID {
			return showModels(c, s, arguments[0], *as)
		}
		if len(found.Trials) != 1 {
			return usage("show: expected the number of one trial")
		}
		t := found.Trials[0]
		r, err := s.Run(c.Context(), t.ID)
		if err != nil {
			return err
		}
		out := c.OutOrStdout()
		if *as == "json" {
			return printJSON(out, map[string]any{"trial": t, "run": r})
		}
		where := fmt.Sprintf("trial %d of %s", t.ID, s.Place())
		lines := [][2]string{{"Trial", fmt.Sprintf("%d: %s/%s, %s", t.ID, t.Application, t.Experiment, t.Name)},
			{"Started", t.Started.Local().Format(minute) + ", imported " + t.Imported.Local().Format(minute)}, {"MPI", t.MPI},
			{"Parameters", parameters(t.Parameters)}}
		var names []string
		for name := range t.Metadata {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			lines = append(lines, [2]string{name, t.Metadata[name]})
		}
		for _, l := range lines {
			if l[1] != "" {
				fmt.Fprintf(out, "%-12s %s\n", words.Fit(words.Clean(l[0]), 12), words.Fit(words.Clean(l[1]), 67))
			}
		}
		_, err = fmt.Fprintf(out, "\n%s", report.Full(r, where))
		return err
	})
	return c
}

func showModels(c *cobra.Command, s *store.Store, name, as string) error {
	models, err := s.Models(c.Context(), name)
	if err != nil {
		return err
	}
	if as == "json" {
		data, err := (&model.Document{Schema: model.Schema, Models: models}).Encode()
		if err == nil {
			_, err = c.OutOrStdout().Write(data)
		}
		return err
	}
	if len(models) == 0 {
		fmt.Fprintf(c.OutOrStdout(), "no models; make them with: marple fit 'db:%s' --save\n", words.Clean(name))
		return nil
	}
	_, err = fmt.Fprint(c.OutOrStdout(), report.Models(models, false))
	return err
}

const selectionHelp = `SELECTION is trials by number (3 or 3,5,8-10), an application, application/experiment, or an expression as for
marple db query.`

func dbExport() *cobra.Command {
	c := &cobra.Command{
		Use:   "export SELECTION",
		Short: "Make run directories of trials again",
		Long: `Makes run directories of trials, with the files that were imported. One trial becomes the directory given with -o (default:
the name that it had); several become directories in it, named after their numbers.

` + selectionHelp + `

--format json prints {"trials": [{"trial", "directory"}]}.`,
		Args: one("a selection of trials; see marple db export --help"),
	}
	as := format(c, "text", "json")
	to := c.Flags().StringP("output", "o", "", "directory to make")
	c.RunE = withStore(func(c *cobra.Command, s *store.Store, arguments []string) error {
		found, err := s.Select(c.Context(), arguments[0])
		if err != nil {
			return err
		}
		if len(found.Trials) == 0 {
			return errors.New("no trials to export")
		}
		type exported struct {
			Trial     int64  `json:"trial"`
			Directory string `json:"directory"`
		}
		var list []exported
		for i, t := range found.Trials {
			doing(c, "%d of %d trials exported", i, len(found.Trials))
			directory := *to
			switch {
			case len(found.Trials) > 1:
				directory = filepath.Join(*to, fmt.Sprintf("trial-%d", t.ID))
			case directory == "":
				directory = fileName(t)
			}
			if err := exportTrial(c, s, t, directory); err != nil {
				return err
			}
			list = append(list, exported{t.ID, directory})
			if *as != "json" {
				fmt.Fprintf(c.OutOrStdout(), "%6d  %s\n", t.ID, directory)
			}
		}
		if *as == "json" {
			return printJSON(c.OutOrStdout(), map[string]any{"trials": list})
		}
		return nil
	})
	return c
}

// fileName is a trial's name where it can be one of a directory here.
func fileName(t *store.Trial) string {
	if t.Name == filepath.Base(t.Name) && t.Name != "." && t.Name != ".." && !strings.HasPrefix(t.Name, "-") {
		return t.Name
	}
	return fmt.Sprintf("trial-%d", t.ID)
}

// exportTrial makes a run directory, as a whole or not at all.
func exportTrial(c *cobra.Command, s *store.Store, t *store.Trial, directory string) error {
	if _, err := os.Lstat(directory); err == nil {
		return fmt.Errorf("%s: there is something of that name already; choose another with -o", directory)
	}
	files, err := s.Files(c.Context(), t.ID)
	if err != nil {
		return err
	}
	if files[run.File] == nil {
		return fmt.Errorf("%s: trial %d has no %s", s.Place(), t.ID, run.File)
	}
	if err := os.MkdirAll(filepath.Dir(filepath.Clean(directory)), 0o777); err != nil {
		return err
	}
	return run.WriteDirectory(directory, func(beside string) error {
		for name, data := range files {
			if err := run.WriteFile(filepath.Join(beside, name), data); err != nil {
				return err
			}
		}
		return nil
	})
}

func dbDelete() *cobra.Command {
	c := &cobra.Command{
		Use:   "delete SELECTION",
		Short: "Remove trials",
		Long: `Removes trials. Those given by number are removed at once; other selections only with --yes. An experiment without trials
goes, too, with its models.

` + selectionHelp + `

--format json prints {"deleted": [number, ...]}.`,
		Args: one("a selection of trials; see marple db delete --help"),
	}
	as := format(c, "text", "json")
	yes := c.Flags().Bool("yes", false, "remove the trials that a name or an expression finds")
	c.RunE = withStore(func(c *cobra.Command, s *store.Store, arguments []string) error {
		found, err := s.Select(c.Context(), arguments[0])
		if err != nil {
			return err
		}
		ids := []int64{}
		for _, t := range found.Trials {
			ids = append(ids, t.ID)
		}
		if !found.ByID && !*yes {
			return usage("delete: %s would be removed; add --yes to do so", words.Count(uint64(len(ids)), "trial", "trials"))
		}
		if err := s.Delete(c.Context(), ids); err != nil {
			return err
		}
		if *as == "json" {
			return printJSON(c.OutOrStdout(), map[string]any{"deleted": ids})
		}
		_, err = fmt.Fprintf(c.OutOrStdout(), "%s: %s removed\n", s.Place(), words.Count(uint64(len(ids)), "trial", "trials"))
		return err
	})
	return c
}

func dbMigrate() *cobra.Command {
	c := &cobra.Command{
		Use:   "migrate",
		Short: "Bring a database to the version of this Marple",
		Long: `Brings the tables of a database to the version that this Marple works with, all or nothing. An older Marple cannot read
it afterwards. --format json prints {"version"}.`,
		Args: func(_ *cobra.Command, arguments []string) error {
			if len(arguments) > 0 {
				return usage("migrate: expected no arguments")
			}
			return nil
		},
	}
	as := format(c, "text", "json")
	c.RunE = func(c *cobra.Command, _ []string) error {
		s, err := openStore(c, store.Older)
		if err != nil {
			return err
		}
		defer s.Close()
		if *as == "json" {
			return printJSON(c.OutOrStdout(), map[string]any{"version": store.Version()})
		}
		_, err = fmt.Fprintf(c.OutOrStdout(), "%s: version %d\n", s.Place(), store.Version())
		return err
	}
	return c
}
