package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"marple/analysis/compare"
	"marple/analysis/pipeline"
	"marple/analysis/report"
	"marple/analysis/run"
	"marple/analysis/store"
	"marple/analysis/words"
)

func compareCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "compare A B",
		Short: "What became slower, where, by how much, and is it noise?",
		Long: `Compares two runs, or better two sets of several runs each. A and B are run directories, directories that hold run
directories, quoted patterns of these, db:SELECTION for trials in the database, or baseline:NAME for those that have
a name there (see marple db baseline).

With two or more runs on a side, the difference of means is tested (Welch's t test; for call paths adjusted after Holm for
their number) and has an interval of 95 % confidence. With one run on each side the differences are shown, but whether
they are noise cannot be known. Call paths are matched by name, and by line as far as lines have not moved.

--fail-above 5% is for CI: it exits with 3 if B is slower by more than 5 % of A's wall time, in all or in one call path, and
that is more than noise. It needs three runs a side to be of use. --format markdown is for merge requests, junit for
CI systems, badge a small picture (SVG).

--format json prints the fields "a" and "b" (the sides), "wall", "efficiencies", "places", "rest", "findings",
"differences", "same", "caveats" and, with a limit, "gate"; a change has "a", "b", "difference", "interval", "p" and "verdict" (changed, noise,
unknown). Times are seconds, of places per rank. --schema prints their JSON Schema.`,
		Example: `  marple compare marple-app-1 marple-app-2
  marple compare before/ after/
  marple compare 'runs/old-*' 'runs/new-*'
  marple compare --fail-above 5% --format markdown 'main/*' 'branch/*'
  marple compare --fail-above 5% baseline:main branch
  marple compare 'db:experiment == "before"' db:app/after`,
	}
	as := format(c, "text", "json", "markdown", "junit", "badge")
	above := c.Flags().String("fail-above", "", "exit with 3 if B's wall time, or a call path, is slower by more than this percentage of A's wall time (5%), and by more than noise")
	least := c.Flags().Float64("least", 1, "list call paths that differ by this percentage of A's time or more")
	schema := c.Flags().Bool("schema", false, "print the JSON Schema of --format json")
	database(c, false)
	c.Args = func(_ *cobra.Command, arguments []string) error {
		if len(arguments) != 2 && !(*schema && len(arguments) == 0) {
			return usage("compare: expected two sides, each a run or several: a directory, a quoted pattern, or db:SELECTION")
		}
		return nil
	}
	c.ValidArgsFunction = directories
	c.RunE = func(c *cobra.Command, arguments []string) error {
		if *schema && len(arguments) == 0 {
			_, err := c.OutOrStdout().Write(compare.SchemaJSON())
			return err
		}
		if !(*least >= 0 && *least <= 100) {
			return usage("--least: %v: expected a percentage from 0 to 100", *least)
		}
		limit, err := percentage(*above)
		if err != nil {
			return usage("--fail-above: %v", err)
		}
		var sides [2]compare.Side
		for i, text := range arguments {
			var err error
			if sides[i], err = readSide(c, text); err != nil {
				return err
			}
		}
		x, err := compare.Compare(sides[0], sides[1], *least/100)
		if err != nil {
			return err
		}
		if limit >= 0 {
			if err := x.Guard(limit / 100); err != nil {
				return err
			}
		}
		if err := printComparison(c.OutOrStdout(), x, *as); err != nil {
			return err
		}
		if x.Gate.Failed() {
			return regression{fmt.Errorf("slower than allowed: %v", x.Gate)}
		}
		return nil
	}
	return c
}

// regression is what a build fails for.
type regression struct{ error }

// percentage reads "5%" or "5"; nothing is -1.
func percentage(text string) (float64, error) {
	if text == "" {
		return -1, nil
	}
	x, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(text, "%")), 64)
	if err != nil || !(x >= 0 && x <= 1000) {
		return 0, fmt.Errorf("%q: expected a percentage, 5%% for example", text)
	}
	return x, nil
}

func printComparison(out io.Writer, x *compare.Comparison, as string) error {
	switch as {
	case "json":
		return printJSON(out, x)
	case "junit":
		text, err := report.ComparisonJUnit(x)
		if err == nil {
			_, err = out.Write(text)
		}
		return err
	}
	text := map[string]func(*compare.Comparison) string{"text": report.Comparison, "markdown": report.ComparisonMarkdown, "badge": report.ComparisonBadge}
	_, err := io.WriteString(out, text[as](x))
	return err
}

// readSide reads the runs of one side.
func readSide(c *cobra.Command, text string) (compare.Side, error) {
	side := compare.Side{Name: words.Fit(words.Clean(text), 30)}
	add := func(r *run.Run, err error) error {
		doing(c, "%d runs of %s read", len(side.Runs), side.Name)
		side.Runs = append(side.Runs, r)
		return err
	}
	selection, stored := strings.CutPrefix(text, fromDatabase)
	name, named := strings.CutPrefix(text, fromBaseline)
	if stored || named {
		s, err := openStore(c, store.Existing)
		if err != nil {
			return side, err
		}
		defer s.Close()
		var trials []*store.Trial
		if named {
			trials, err = s.Baseline(c.Context(), name)
		} else if found, failed := s.Select(c.Context(), selection); failed == nil {
			trials = found.Trials
		} else {
			err = failed
		}
		if err != nil {
			return side, err
		}
		for _, t := range trials {
			if err := add(s.Run(c.Context(), t.ID)); err != nil {
				return side, err
			}
		}
		if len(side.Runs) == 0 {
			return side, fmt.Errorf("%s: no trial is selected by %s", s.Place(), selection)
		}
		return side, nil
	}
	paths := []string{text}
	if _, err := os.Lstat(text); err != nil {
		if found, err := filepath.Glob(text); err == nil && len(found) > 0 {
			paths = found
		}
	}
	for _, path := range runPaths(paths) {
		if err := add(pipeline.Open(path)); err != nil {
			return side, err
		}
	}
	return side, nil
}
