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
