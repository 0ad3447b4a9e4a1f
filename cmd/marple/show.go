package main

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"marple/analysis/pipeline"
	"marple/analysis/report"
	"marple/analysis/run"
)

// oneRun makes cobra demand exactly one run directory.
func oneRun(c *cobra.Command, arguments []string) error {
	if len(arguments) != 1 {
		return usage("%s: expected one run directory", c.Name())
	}
	return nil
}

// format adds --format; the first choice is the default.
func format(c *cobra.Command, choices ...string) *string {
	value := c.Flags().String("format", choices[0], "output: "+strings.Join(choices, ", "))
	complete(c, "format", choices)
	c.PreRunE = func(c *cobra.Command, _ []string) error {
		if !slices.Contains(choices, *value) {
			return usage("--format: %q: expected one of %s", *value, strings.Join(choices, ", "))
		}
		return nil
	}
	return value
}

// complete lets shells complete a flag's value.
func complete(c *cobra.Command, flag string, values []string) {
	// It fails for flags that there are not, and for a second time.
	_ = c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

func reportCommand() *cobra.Command {
	c := &cobra.Command{Use: "report RUN", Short: "Print the report of a run again", Args: oneRun,
		Long: `Prints the report of a run directory, as it was printed when the program ended: what held it back, where, and what to
change, in at most 25 lines. --full adds the tables. --format json prints everything that is known of the run; its fields are
described by the JSON Schema that --schema prints.

RUN may also be a directory of TAU profiles (profile.0.0.0, or MULTI__TIME/profile.0.0.0 and the same of other
metrics), here and in the other commands: they are diagnosed as far as profiles allow.`}
	as := format(c, "text", "json")
	full := c.Flags().Bool("full", false, "with all of its tables: waiting, MPI functions, call paths, messages, counters")
	schema := c.Flags().Bool("schema", false, "print the JSON Schema of --format json and of run.json")
	c.Args = func(c *cobra.Command, arguments []string) error {
		if *schema && len(arguments) == 0 {
			return nil
		}
		return oneRun(c, arguments)
	}
	c.RunE = func(c *cobra.Command, arguments []string) error {
		if *schema {
			_, err := c.OutOrStdout().Write(run.SchemaJSON())
			return err
		}
		r, err := pipeline.Open(arguments[0])
		if err != nil {
			return err
		}
		return printRun(c.OutOrStdout(), r, arguments[0], *as, *full)
	}
	return c
}

func printRun(out io.Writer, r *run.Run, path, as string, full bool) error {
	if as == "json" {
		data, err := r.Encode()
		if err != nil {
			return err
		}
		_, err = out.Write(data)
		return err
	}
	if filepath.Base(path) == run.File {
		path = filepath.Dir(path)
	}
	text := report.Text(r, path)
	if full {
		text = report.Full(r, path)
	}
	_, err := io.WriteString(out, text)
	return err
}

func callgraphCommand() *cobra.Command {
	c := &cobra.Command{Use: "callgraph RUN", Short: "Show where the time went, call path by call path", Args: oneRun,
		Long: `Prints the call graph: the time of every call path, added up over ranks, with each function and MPI call at the
place where it was called. Time outside MPI is shown below the innermost function that both MPI calls around it have
in common, between what that function called; what else it called meanwhile is not known, nor how often functions
are called, unless they are compiled with -finstrument-functions or marked as regions.

--components prints the methods of components instead, wherever they were called: exclusive time (without the
methods that they call), inclusive time and its share of all, time in MPI, calls, and the number of places in the
components' call graph. With --format json it prints an object: time and mpi (seconds, means over ranks), routines
(component, method, exclusive, inclusive, share, exclusive_mpi, inclusive_mpi, invocations, places), and scaling,
where communication rivals computation.`}
	as := format(c, "text", "json", "dot")
	least := c.Flags().Float64("least", 0.5, "leave out paths below this percentage of the time")
	depth := c.Flags().Int("depth", 0, "leave out paths deeper than this (0: all)")
	waits := c.Flags().Bool("waits", false, "show for each path how long it waited for other ranks, and how long others waited because of it")
	components := c.Flags().Bool("components", false, "show a table of components' methods")
	c.RunE = func(c *cobra.Command, arguments []string) error {
		if *components && *as == "dot" {
			return usage("--components: a table is text or json, not dot")
		}
		if *least < 0 || *least > 100 {
			return usage("--least: %v: expected a percentage from 0 to 100", *least)
		}
		r, err := pipeline.Open(arguments[0])
		if err != nil {
			return err
		}
		if *waits && r.Waits == nil {
			return noWaits(arguments[0])
		}
		o := report.GraphOptions{Least: *least / 100, Depth: *depth, Waits: *waits}
		var text string
		switch {
		case *components && *as == "json":
			text, err = report.ComponentsJSON(r)
		case *components:
			text = report.ComponentsText(r)
		case *as == "json":
			text, err = report.GraphJSON(r, o)
		case *as == "dot":
			text = report.GraphDOT(r, o)
		default:
			text = report.GraphText(r, o)
		}
		if err == nil {
			_, err = fmt.Fprint(c.OutOrStdout(), text)
		}
		return err
	}
	return c
}
