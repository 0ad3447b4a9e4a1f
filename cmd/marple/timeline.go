package main

import (
	"bufio"
	"fmt"
	"time"

	"github.com/goccy/go-json"
	"github.com/spf13/cobra"

	"marple/analysis/export"
	"marple/analysis/pipeline"
	"marple/analysis/trace"
	"marple/analysis/words"
)

func timelineCommand() *cobra.Command {
	c := &cobra.Command{Use: "timeline RUN", Short: "Show events one by one, from the logs that a run has kept", Args: oneRun,
		Long: "Prints the MPI calls and regions of a window of a run that was measured with --trace, by rising start.\n" +
			"--format json has one object per event; --format chrome is read by chrome://tracing and Perfetto: one process per\nrank. With --keep-raw on instead of\n--trace there are no tests and probes that found nothing, and only what fits the log."}
	as := format(c, "text", "json", "chrome")
	from := c.Flags().Duration("from", 0, "begin of the window, after the first event")
	length := c.Flags().Duration("length", 0, "length of the window (0: to the end)")
	most := c.Flags().Int("most", 10_000, "most events to show; how many more there are is said on stderr")
	c.RunE = func(c *cobra.Command, arguments []string) error {
		if *from < 0 || *length < 0 || *most < 1 {
			return usage("--from and --length must not be negative, --most must be positive")
		}
		w := trace.Window{From: int64(*from), Most: *most}
		if *length > 0 {
			w.Until = int64(*from + *length)
		}
		out := bufio.NewWriter(c.OutOrStdout())
		var events []trace.TimelineEvent
		var more int
		var err error
		if *as == "chrome" {
			r, _ := pipeline.Open(arguments[0]) // for names; a run that is not over may have none
			more, err = export.WriteChrome(out, r, arguments[0], w)
		} else {
			events, more, err = trace.Timeline(arguments[0], w)
		}
		if err != nil {
			return err
		}
		tellMissingLogs(c.ErrOrStderr(), arguments[0])
		if more > 0 {
			fmt.Fprintf(c.ErrOrStderr(), "marple: %s not shown; see --most, --from and --length\n", words.Count(uint64(more), "more event is", "more events are"))
		}
		switch *as {
		case "json":
			err = json.NewEncoder(out).Encode(events)
		case "text":
			fmt.Fprintf(out, "%14s %12s %5s %6s  %-24s %5s %7s %8s\n", "start (s)", "time", "rank", "thread", "call", "peer", "tag", "bytes")
			for _, e := range events {
				peer, tag := "", ""
				if e.Peer >= 0 {
					peer = fmt.Sprint(e.Peer)
					tag = fmt.Sprint(e.Tag)
				}
				fmt.Fprintf(out, "%14.9f %12s %5d %6d  %-24s %5s %7s %8d\n", time.Duration(e.Start).Seconds(), words.Duration(float64(e.Ns)/1e9), e.Rank, e.Thread,
					words.Fit(words.Clean(e.Name), 24), peer, tag, e.Bytes)
			}
		}
		if err == nil {
			err = out.Flush()
		}
		return err
	}
	return c
}
