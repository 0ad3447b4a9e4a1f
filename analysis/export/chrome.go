package export

import (
	"io"

	"github.com/goccy/go-json"

	"marple/analysis/trace"
)

// chromeEvent is an event of the Trace Event Format: complete (X), or metadata (M). Times are microseconds.
type chromeEvent struct {
	Name      string         `json:"name"`
	Phase     string         `json:"ph"`
	Start     float64        `json:"ts"`
	Duration  float64        `json:"dur"`
	Process   int32          `json:"pid"`
	Thread    int            `json:"tid"`
	Arguments map[string]any `json:"args,omitempty"`
}

// WriteChrome writes events for chrome://tracing and Perfetto, with a process per rank.
func WriteChrome(w io.Writer, events []trace.TimelineEvent) error {
	list := []chromeEvent{}
	for _, e := range events {
		x := chromeEvent{Name: e.Name, Phase: "X", Start: float64(e.Start) / 1000, Duration: float64(e.Ns) / 1000, Process: e.Rank, Thread: e.Thread}
		if !e.Region {
			x.Arguments = map[string]any{"bytes": e.Bytes}
			if e.Peer >= 0 {
				x.Arguments["peer"], x.Arguments["tag"] = e.Peer, e.Tag
			}
		}
		list = append(list, x)
	}
	return json.NewEncoder(w).Encode(map[string]any{"traceEvents": list, "displayTimeUnit": "ns"})
}
