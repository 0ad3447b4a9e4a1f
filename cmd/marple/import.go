package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"marple/analysis/files"
	"marple/analysis/otf2"
	"marple/analysis/pipeline"
	"marple/analysis/report"
	"marple/analysis/run"
)

func importCommand() *cobra.Command {
	c := &cobra.Command{Use: "import ARCHIVE", Short: "Make a run of another tool's trace (OTF2)",
		Args: func(_ *cobra.Command, arguments []string) error {
			if len(arguments) != 1 {
				return usage("import: expected one OTF2 archive: its directory, or the .otf2 file in it")
			}
			return nil
		},
		Long: `Reads a trace in the Open Trace Format 2, as Score-P, TAU and Extrae write them, finds who waited for whom, and prints the
report. A run directory keeps all of it, for every other command: marple page, waits, whatif, diagnose, timeline, ...

The run is measured from where each rank leaves MPI_Init to the end of MPI_Finalize. Regions of the trace are regions of the
run. What traces do not tell is not known: where calls stand in the source, time for which ranks had no core. Non-blocking collective
operations and one-sided ones take their time, but nobody is said to wait for whom in them.`}
	as := format(c, "text", "json")
	out := c.Flags().StringP("out", "o", "", "the run directory, which is made (default: marple- and the archive's name)")
	full := c.Flags().Bool("full", false, "print the whole report, with its tables (default: what MARPLE_FULL says)")
	clear := c.Flags().Bool("clear", false, "keep no events: without them there is no timeline")
	own := knowledgeFlag(c)
	c.RunE = func(c *cobra.Command, arguments []string) (err error) {
		library, err := ownKnowledge(*own)
		if err != nil {
			return err
		}
		anchor, err := otf2.Anchor(arguments[0])
		if err != nil {
			return err
		}
		to := *out
		if to == "" {
			to = "marple-" + otf2.Name(anchor)
		}
		path, err := filepath.Abs(to)
		if err != nil {
			return err
		}
		if err := os.Mkdir(path, 0o777); errors.Is(err, os.ErrExist) {
			return fmt.Errorf("%s is there already: say with -o where the run is to be kept", to)
		} else if err != nil {
			return err
		}
		ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		kept := false
		defer func() {
			if !kept {
				_ = os.RemoveAll(path)
			}
		}()
		left, err := otf2.Import(ctx, anchor, path)
		if err != nil {
			return err
		}
		directory, err := files.In(path)
		if err != nil {
			return err
		}
		r, problems, err := pipeline.Recover(directory, 0, library)
		for _, problem := range problems {
			fmt.Fprintf(c.ErrOrStderr(), "marple: %s\n", strings.TrimSpace(problem.Error()))
		}
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		r.NotSeen = append(slices.Concat(left.Notes(), r.NotSeen), run.Note{ID: "not-in-trace", Count: 1, Text: "for how long ranks had no core, where calls stand in the source, and counters: the trace does not tell"})
		if err := r.Write(directory, report.Full(r, path)); err != nil {
			return err
		}
		kept = true
		if *clear {
			_ = pipeline.Clear(directory, r) // what stays can be removed by hand
		}
		return printRun(c.OutOrStdout(), r, path, *as, *full || os.Getenv("MARPLE_FULL") == "on")
	}
	return c
}
