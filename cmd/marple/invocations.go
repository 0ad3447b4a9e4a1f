package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"marple/analysis/invocation"
	"marple/analysis/pipeline"
	"marple/analysis/report"
	"marple/analysis/run"
)

func invocationsCommand() *cobra.Command {
	c := &cobra.Command{Use: "invocations RUN COMPONENT.METHOD --by PARAMETER", Short: "Show a table of a method's invocations by their parameters",
		Long: `Prints what the invocations of a component's method took, by a parameter that was recorded with them: a row for each of its
values, with the mean, the standard deviation, and the number of invocations on all ranks. --value names another column
of invocations.parquet: wall (default), mpi, compute, exclusive, overlap, quality.NAME, counter.NAME.

    marple invocations RUN sc.compute --by q --against mode --per        two modes of access, per array element
    marple invocations RUN grace.GC_Synch --by level --value mpi --after grace.GC_regrid_above

--against has a column for each value of a second parameter. --after METHOD has two: invocations that began before, and
after, the last invocation of that method had ended on their rank (METHOD#4: its fourth). Of two columns the ratio of the
second to the first is shown. Below stands whether communication rivals computation in this run.

--format json prints an object: method, value, unit, by, columns, rows (at, cells: n, mean, deviation, min, max), left_out
(invocations that lack the value or a parameter), per, least and scaling.

    marple invocations RUN --format csv         all invocations, a line for each, with the columns of invocations.parquet`,
		Args: func(c *cobra.Command, arguments []string) error {
			if all := c.Flags().Lookup("format").Value.String() == "csv"; all && len(arguments) == 1 {
				return nil
			} else if all {
				return usage("invocations --format csv: expected a run alone")
			}
			if len(arguments) != 2 {
				return usage("invocations: expected a run and a method: marple invocations RUN COMPONENT.METHOD --by PARAMETER")
			}
			return nil
		}}
	as := format(c, "text", "json", "csv")
	q := invocation.Question{}
	c.Flags().StringVar(&q.Rows, "by", "", "parameter that rows are of")
	c.Flags().StringVar(&q.Columns, "against", "", "parameter that columns are of")
	c.Flags().StringVar(&q.After, "after", "", "method whose invocation parts the columns: COMPONENT.METHOD, or COMPONENT.METHOD#NUMBER")
	c.Flags().StringVar(&q.Value, "value", "wall", "what to show of the invocations")
	least := c.Flags().Bool("minimum", false, "show the least instead of the mean: what it takes when nothing else disturbs")
	per := c.Flags().Bool("per", false, "divide by the value of --by")
	c.RunE = func(c *cobra.Command, arguments []string) error {
		directory := arguments[0]
		if filepath.Base(directory) == run.File {
			directory = filepath.Dir(directory)
		}
		file := filepath.Join(directory, run.InvocationsFile)
		if *as == "csv" {
			return invocation.CSV(c.OutOrStdout(), file)
		}
		if err := askOf(&q, arguments[1]); err != nil {
			return err
		}
		r, err := pipeline.Open(arguments[0])
		if err != nil {
			return err
		}
		if _, err := os.Stat(file); os.IsNotExist(err) {
			return fmt.Errorf("%s: no %s: no component's method was invoked, or their records were not kept (--invocations)", directory, run.InvocationsFile)
		}
		t, err := invocation.Tabulate(file, q)
		if err != nil {
			return err
		}
		all := report.InvocationsOf(t, r, *per, *least)
		text := all.Text()
		if *as == "json" {
			if text, err = all.JSON(); err != nil {
				return err
			}
		}
		_, err = fmt.Fprint(c.OutOrStdout(), text)
		return err
	}
	return c
}

// askOf completes what flags ask of a method.
func askOf(q *invocation.Question, method string) error {
	if q.Rows == "" {
		return usage("--by: which parameter?")
	}
	if q.Columns != "" && q.After != "" {
		return usage("--against, --after: expected one of them")
	}
	if after, number, ok := strings.Cut(q.After, "#"); ok {
		n, err := strconv.Atoi(number)
		if err != nil || n < 1 {
			return usage("--after %q: expected a number above 0 behind #", q.After)
		}
		q.After, q.Number = after, n
	}
	q.Method = method
	return nil
}
