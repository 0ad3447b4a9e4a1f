package main

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"marple/analysis/pipeline"
	"marple/analysis/report"
	"marple/analysis/run"
	"marple/analysis/whatif"
)

func whatifCommand() *cobra.Command {
	c := &cobra.Command{Use: "whatif RUN", Short: "Replay a run as it might have been, and say what that would gain", Args: oneRun,
		Long: `Replays what the ranks of a run did, with changes: every rank does between its calls what it did, or what a change
makes of it, and goes on as soon as the messages and operations are there that it needs. Prints the wall time and
the efficiencies before and after, and what then holds the run back. Several changes hold together.

    marple whatif marple-app-1234 --scale 'assemble=0.5' --network 'latency=1us,bandwidth=10GB/s'

WHERE is a function or region by its name, an MPI call (MPI_Barrier, or MPI_Barrier@step.c:34 for one place), or an id
in the call graph. With --sample the time between calls is known by function.

--format json prints an object with the fields
  program, ranks
  replayed     part of the run's time that was replayed, 0 to 1
  before, after  seconds, parallel_efficiency, load_balance, communication_efficiency, serialization_efficiency,
               transfer_efficiency
  gain         seconds, share, low, high (of wall time)
  assumes[]    what the most that is gained rests on, in sentences
  then[]       what (imbalance, waiting, call), share (of core time), node, where`}
	as := format(c, "text", "json")
	var q whatif.Question
	c.Flags().StringArrayVar(&q.Scale, "scale", nil, "`WHERE=FACTOR`: multiply the time there; WHERE may also be 'rank 3' or 'ranks 0-2,5', which is all their computing")
	c.Flags().StringArrayVar(&q.Balance, "balance", nil, "`WHERE` ranks compute equally long: a function, before an MPI call, or all")
	c.Flags().StringVar(&q.Network, "network", "", "another network: `latency=1us,bandwidth=10GB/s`, or ideal")
	c.Flags().StringArrayVar(&q.Remove, "remove", nil, "leave the collective operations of a `CALL` out, as in MPI_Barrier@step.c:34")
	c.Flags().StringArrayVar(&q.Nonblocking, "nonblocking", nil, "a blocking `CALL` starts and is waited for before the rank's next call of MPI, or, as in 'MPI_Allreduce@step.c:34 until MPI_Bcast', before that one")
	c.Flags().StringArrayVar(&q.Early, "early", nil, "the receives of a `CALL`, as in MPI_Recv@step.c:34, are posted when the rank leaves the call of MPI before")
	c.Flags().BoolVar(&q.Cores, "cores", false, "a core for each rank")
	c.RunE = func(c *cobra.Command, arguments []string) error {
		path := arguments[0]
		r, err := pipeline.Open(path)
		if err != nil {
			return err
		}
		if filepath.Base(path) == run.File {
			path = filepath.Dir(path)
		}
		if r.Replay, err = run.ReadReplay(path); err != nil {
			return err
		}
		if why := whatif.Unknown(r); why != "" {
			return fmt.Errorf("%s: the run cannot be replayed: %s", path, why)
		}
		s, err := q.Scenario(r)
		if err != nil {
			return usageError{Cause: err}
		}
		if len(s) == 0 {
			return usage("whatif: expected a change: --scale, --balance, --network, --remove, --nonblocking, --early or --cores")
		}
		answer := whatif.Ask(r, s)
		if *as == "json" {
			return printJSON(c.OutOrStdout(), answer)
		}
		_, err = fmt.Fprint(c.OutOrStdout(), report.WhatIf(answer))
		return err
	}
	return c
}
