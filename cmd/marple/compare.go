package main

import (
	"fmt"
	"os"
	"path/filepath"
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
directories, quoted patterns of these, or db:SELECTION for trials in the database (see marple db).

With two or more runs on a side, the difference of means is tested (Welch's t test; for call paths adjusted after Holm for
their number) and has an interval of 95 % confidence. With one run on each side the differences are shown, but whether
they are noise cannot be known. Call paths are matched by name, and by line as far as lines have not moved.

--format json prints the fields "a" and "b" (the sides), "wall", "efficiencies", "places", "rest", "findings",
"differences", "same" and "caveats"; a change has "a", "b", "difference", "interval", "p" and "verdict" (changed, noise,
unknown). Times are seconds, of places per rank. --schema prints their JSON Schema.`,
		Example: `  marple compare marple-app-1 marple-app-2
  marple compare before/ after/
  marple compare 'runs/old-*' 'runs/new-*'
  marple compare 'db:experiment == "before"' db:app/after`,
	}
	as := format(c, "text", "json")
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
		if *as == "json" {
			return printJSON(c.OutOrStdout(), x)
		}
		_, err = fmt.Fprint(c.OutOrStdout(), report.Comparison(x))
		return err
	}
	return c
}

// readSide reads the runs of one side.
func readSide(c *cobra.Command, text string) (compare.Side, error) {
	side := compare.Side{Name: words.Fit(words.Clean(text), 30)}
	add := func(r *run.Run, err error) error {
		doing(c, "%d runs of %s read", len(side.Runs), side.Name)
		side.Runs = append(side.Runs, r)
		return err
	}
	if selection, ok := strings.CutPrefix(text, fromDatabase); ok {
		s, err := openStore(c, store.Existing)
		if err != nil {
			return side, err
		}
		defer s.Close()
		found, err := s.Select(c.Context(), selection)
		if err != nil {
			return side, err
		}
		for _, t := range found.Trials {
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
