package report

import (
	"testing"

	"github.com/stretchr/testify/require"

	"marple/analysis/run"
)

// What is known of few calls is not told as if it were of all.
func TestExchanged(t *testing.T) {
	w := &writer{r: &run.Run{Exchanged: []run.Exchanged{{Family: "f", Policies: []string{"trial"}, Calls: 1000, Time: 10, Crowded: 3,
		Implementations: []run.Served{
			{Name: "a", Calls: 500, Time: 4, Compared: 540, Took: 4.4, Always: 4.2, Error: 0.01},
			{Name: "b", Calls: 450, Time: 5, Compared: 900, Took: 9, Always: 10, Error: 0.1},
			{Name: "c", Calls: 50, Time: 1, Compared: 1000, Took: 10, Always: 10.05, Error: 0.1},
			{Name: "d"},
		}}}}}
	w.exchanged()
	require.Equal(t, `
Exchanged    f by trial: 1,000 calls took 10.0 s
             a served 50 %; what it would have taken for most other calls is
               not known
             b served 45 %; by it the 90 % of calls that can be compared would
               have taken 10.0 s ± 100 ms, 1.00 s more than they took
             c served 5 %; by it all calls would have taken 10.1 s ± 100 ms,
               about what they took
             never served: d
             3 calls not compared: there were too many methods and sizes
`, w.String())
}

// What rules have done is told with its reasons, and what has no records is counted.
func TestFirings(t *testing.T) {
	firing := func(rule, did, tuning string, why ...run.Reason) run.Firing {
		return run.Firing{At: 0.25, Rank: 3, Ranks: 1, Rule: rule, Did: did, Tuning: tuning, Why: why}
	}
	e := run.Exchanged{Family: "f", Policies: []string{"rules"}, Recorded: 20, Changes: 30, Made: 30,
		Rules: []run.ManagerRule{{Name: "big", At: "r.yaml:4", Fired: 12}, {Name: "block", At: "r.yaml:9", Fired: 11}, {Name: "idle"}},
		Firings: []run.Firing{
			firing("big", "a → b", "", run.Reason{Metric: "n", Value: 1024}, run.Reason{Metric: "time_per_call", Value: 2e-3}, run.Reason{Metric: "imbalance", Value: 0.25},
				run.Reason{Metric: "serving.a", Value: 1}, run.Reason{Metric: "serving.b", Value: 0}),
			firing("block", "block = 1", "begins"),
			firing("block", "block = 1", "measured"),
			firing("block", "block = 16", "found", run.Reason{Metric: "evaluations", Value: 9}, run.Reason{Metric: "measured", Value: 1e-3}),
			firing("block", "block = 16", "inputs"),
		}}
	e.Firings[0].Overruled = 1
	e.Firings[3].Ranks = 4
	e.Firings[4].Holding = 3
	w := &writer{r: &run.Run{Ranks: 4, Exchanged: []run.Exchanged{e}}}
	w.exchanged()
	require.Equal(t, `
Exchanged    f by rules: no records of its calls
             rule big (r.yaml:4): a → b at 250 ms; n was 1,024, time_per_call
               was 2.00 ms, imbalance was 25 %, a served, b did not serve; 1
               rule of less priority wanted otherwise; rank 3
             rule block (r.yaml:9): block = 16 at 250 ms, the best of 9
               points: 1.00 ms a call; so on 4 ranks
             rule block (r.yaml:9): block = 16 at 250 ms; it is tuned anew,
               because the calls' parameters are others, on 3 of 4 ranks
             rule that did nothing: idle
             the rules have made all 30 changes that they may make: from then
               on nothing changed
             3 firings are not told: there are no records of them
`, w.String())
}
