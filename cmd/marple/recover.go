package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"marple/analysis/files"
	"marple/analysis/machine"
	"marple/analysis/pipeline"
	"marple/analysis/report"
	"marple/analysis/run"
)

// absent are the ranks of which nothing is known.
func absent(r *run.Run) (list []int) {
	there := map[int]bool{}
	for _, p := range r.PerRank {
		there[p.Rank] = true
	}
	for rank := range min(r.Ranks, mostRanks) {
		if !there[rank] {
			list = append(list, rank)
		}
	}
	return list
}

func recoverCommand() *cobra.Command {
	c := &cobra.Command{Use: "recover RUN...", Short: "Finish a run that did not get to its report",
		Args: func(_ *cobra.Command, arguments []string) error {
			if len(arguments) == 0 {
				return usage("recover: expected the run directory, and further ones with records of the same run")
			}
			return nil
		},
		Long: `Reads the records that ranks have left in a run directory (RUN/raw) when the program was killed, crashed, or
could not be analysed at its end; merges them, prints the report and writes run.json, as the end of the run
would have done. Of each rank it says how it ended. Where the records of one run are in several directories, give all of
them; the run is written to the first. Hosts that do not see the run directory have kept records in one of their own: which ranks' that are,
where, and what command fetches them is told. Records stay where they are, so that it can be repeated, unless
--clear says otherwise.

Records do not hold what marple doctor --machine has measured: give the file again, where models of several machines need it.`}
	as := format(c, "text", "json")
	wait := c.Flags().Duration("wait", 0, "wait so long for ranks that still run")
	own := knowledgeFlag(c)
	full := c.Flags().Bool("full", false, "print the whole report, with its tables (default: what MARPLE_FULL says)")
	on := c.Flags().String("machine", "", "what marple doctor --machine has measured of the machine that the run was on (default: MARPLE_MACHINE, if it is of this one)")
	clear := c.Flags().Bool("clear", false, "remove the records when the run is stored, unless a rank still runs or a record could not be read")
	c.RunE = func(c *cobra.Command, arguments []string) error {
		library, err := ownKnowledge(*own)
		if err != nil {
			return err
		}
		var measured *machine.Machine
		if *on != "" {
			if measured, err = machine.Read(*on); err != nil {
				return err
			}
		}
		path, err := filepath.Abs(arguments[0])
		if err != nil {
			return err
		}
		directory, err := files.In(path)
		if err != nil {
			return err
		}
		r, problems, err := pipeline.Recover(directory, *wait, library, arguments[1:]...)
		for _, problem := range problems {
			fmt.Fprintf(c.ErrOrStderr(), "marple: %v\n", problem)
		}
		if err != nil {
			return err
		}
		tellMissing(c.ErrOrStderr(), absent(r), "records", path, arguments[1:],
			"; where they are in other directories, give all of them: marple recover RUN OTHER-RUN")
		if r.Machine = measured; measured == nil {
			pipeline.Carry(r, os.Getenv("MARPLE_MACHINE"))
		}
		pipeline.Choose(r, os.Getenv("MARPLE_FAMILIES"), path)
		kept := r.Write(directory, report.Full(r, path))
		if kept != nil {
			fmt.Fprintf(c.ErrOrStderr(), "marple: the run cannot be kept: %v\n", kept)
		}
		// Ranks that are about to leave wait for the records to go, and their leaving may be what ends this process.
		err = printRun(c.OutOrStdout(), r, path, *as, *full || os.Getenv("MARPLE_FULL") == "on")
		if *clear && kept == nil && len(problems) == 0 {
			_ = pipeline.Clear(directory, r) // what stays can be removed by hand
		}
		return err
	}
	return c
}
