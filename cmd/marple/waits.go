package main

import (
	"fmt"

	"github.com/goccy/go-json"
	"github.com/spf13/cobra"

	"marple/analysis/pipeline"
	"marple/analysis/report"
)

func noWaits(directory string) error {
	return fmt.Errorf("%s: wait states are not known: the run kept no logs (setting log), had one rank, did not finish, or is a TAU profile", directory)
}

func waitsCommand() *cobra.Command {
	c := &cobra.Command{Use: "waits RUN", Short: "Show who waits for whom, and because of what", Args: oneRun,
		Long: "Prints the wait states of a run: how long ranks waited for each other, in which calls, which paths of the ranks\nthat were waited for caused it, and the critical path. --format json prints the field \"waits\" of run.json."}
	as := format(c, "text", "json")
	c.RunE = func(c *cobra.Command, arguments []string) error {
		r, err := pipeline.Open(arguments[0])
		if err != nil {
			return err
		}
		if r.Waits == nil {
			return noWaits(arguments[0])
		}
		if *as == "json" {
			data, err := json.MarshalIndent(r.Waits, "", " ")
			if err == nil {
				_, err = fmt.Fprintln(c.OutOrStdout(), string(data))
			}
			return err
		}
		_, err = fmt.Fprint(c.OutOrStdout(), report.WaitsText(r))
		return err
	}
	return c
}
