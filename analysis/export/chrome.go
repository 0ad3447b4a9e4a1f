package export

import (
	"bufio"
	"fmt"
	"io"
	"strconv"

	"github.com/goccy/go-json"

	"marple/analysis/record"
	"marple/analysis/run"
	"marple/analysis/trace"
)

// chromeEvent is an event of the Trace Event Format: a slice (X), the begin (s) or end (f) of a flow, a counter (C), or
// metadata (M). Times are microseconds.
type chromeEvent struct {
	Name      string         `json:"name"`
	Phase     string         `json:"ph"`
	Category  string         `json:"cat,omitempty"`
	ID        string         `json:"id,omitempty"`
	Binding   string         `json:"bp,omitempty"` // of a flow's end: "e", the slice that it lies in
	Start     float64        `json:"ts"`
	Duration  *float64       `json:"dur,omitempty"`
	Process   int32          `json:"pid"`
	Thread    int            `json:"tid"`
	Arguments map[string]any `json:"args,omitempty"`
}

// chrome writes events of a window. Slices beyond the most are counted.
type chrome struct {
	out    *bufio.Writer
	window trace.Window
	paths  map[string]*frame // of the thread that called MPI_Init, by the id of their node
	order  map[chromeEnvelope]int
	slices int
	more   int
	any    bool
	err    error
}

// chromeEnvelope is what tells messages apart that overtake each other from such that do not: the k-th one sent is the k-th one
// received.
type chromeEnvelope struct {
	from, to, tag int32
	comm          uint64
	sent          bool
}

// WriteChrome writes the events of a window, of which a run directory has kept the logs, for Perfetto and chrome://tracing: a process
// per rank; its MPI calls, regions and the functions on the way to them as slices, a function's from the first event in it to
// the last; messages as flows; the bytes sent as a counter. Times are those of the first rank's clock. The run gives names; it may be
// nil. More tells how many slices the window has beyond the most.
func WriteChrome(w io.Writer, r *run.Run, directory string, window trace.Window) (more int, err error) {
	list, err := trace.Ranks(directory)
	if err != nil {
		return 0, err
	}
	c := &chrome{out: bufio.NewWriterSize(w, 1<<16), window: window, order: map[chromeEnvelope]int{}}
	about := map[string]any{"exporter": "marple"}
	hosts := map[int32]string{}
	if r != nil {
		about["program"], about["time_base"], about["ranks"] = plain(r.Program), r.TimeBase(), r.Ranks
		for _, b := range r.PerRank {
			hosts[int32(b.Rank)] = plain(b.Host)
		}
		if c.paths, err = paths(r); err != nil {
			return 0, err
		}
	}
	head, err := json.Marshal(about)
	if err != nil {
		return 0, err
	}
	fmt.Fprintf(c.out, `{"displayTimeUnit":"ns","otherData":%s,"traceEvents":[`, head)
	for _, rank := range list {
		for t, err := range rank.Threads() {
			if err == nil {
				err = c.thread(t, hosts[t.Header().Rank])
			}
			if err != nil {
				return 0, err
			}
		}
	}
	c.out.WriteString("]}\n")
	if c.err == nil {
		c.err = c.out.Flush()
	}
	return c.more, c.err
}

func (c *chrome) write(e chromeEvent) {
	if c.any {
		c.out.WriteByte(',')
	}
	c.any = true
	text, err := json.Marshal(e)
	if err != nil && c.err == nil {
		c.err = err
	}
	c.out.Write(text)
}

func microseconds(ns int64) float64 { return float64(ns) / 1000 }

func (c *chrome) thread(t *trace.Thread, host string) error {
	rank := t.Header().Rank
	name := fmt.Sprintf("rank %d", rank)
	if host != "" {
		name += " on " + host
	}
	if t.Number == 0 {
		c.write(chromeEvent{Name: "process_name", Phase: "M", Process: rank, Arguments: map[string]any{"name": name}})
		c.write(chromeEvent{Name: "process_sort_index", Phase: "M", Process: rank, Arguments: map[string]any{"sort_index": rank}})
	}
	label := "thread " + strconv.Itoa(t.Number)
	if t.Number == 0 {
		label = "main thread"
	}
	c.write(chromeEvent{Name: "thread_name", Phase: "M", Process: rank, Thread: t.Number, Arguments: map[string]any{"name": label}})

	seen := func(begin, end int64) bool {
		return end >= c.window.From && (c.window.Until == 0 || begin <= c.window.Until)
	}
	slice := func(name, category string, begin, end int64, arguments map[string]any) {
		if !seen(begin, end) {
			return
		}
		if c.slices == c.window.Most {
			c.more++
			return
		}
		c.slices++
		long := microseconds(end - begin)
		c.write(chromeEvent{Name: name, Phase: "X", Category: category, Start: microseconds(begin), Duration: &long, Process: rank, Thread: t.Number, Arguments: arguments})
	}
	in := insideOf(t, c.paths)
	in.left = func(v visit, end int64) {
		category := "function"
		if v.region {
			category = "region"
		}
		slice(v.name, category, v.begin, end, nil)
	}
	var call struct{ begin, end int64 }
	var bytes uint64
	flow := func(e *trace.Event, sent bool, at int64) {
		peer, comms := t.WorldRank(int(e.Comm), e.Peer), t.Comms()
		if peer < 0 || int(e.Comm) >= len(comms) || !seen(at, at) {
			return
		}
		envelope := chromeEnvelope{from: rank, to: peer, tag: e.Tag, comm: comms[e.Comm].ID, sent: sent}
		x := chromeEvent{Name: "message", Phase: "s", Category: "message", Start: microseconds(at), Process: rank, Thread: t.Number}
		if !sent {
			envelope.from, envelope.to = peer, rank
			x.Phase, x.Binding = "f", "e"
		}
		c.order[envelope]++
		x.ID = fmt.Sprintf("%d>%d.%d.%x.%d", envelope.from, envelope.to, envelope.tag, envelope.comm, c.order[envelope])
		c.write(x)
		if sent {
			bytes += e.Bytes
			c.write(chromeEvent{Name: "bytes sent", Phase: "C", Start: microseconds(at), Process: rank, Arguments: map[string]any{"bytes": bytes}})
		}
	}
	for e, err := range t.Events() {
		if err != nil {
			return err
		}
		switch e.Kind {
		case record.LogEnter:
			in.region(e, e.Begin)
		case record.LogExit:
			in.end(e.Begin)
		case record.LogCall:
			in.reach(e.Path, e.Begin)
			arguments := map[string]any{"bytes": e.Bytes}
			if e.Peer >= 0 {
				arguments["peer"] = e.Peer
				if !e.Collective() {
					arguments["tag"] = e.Tag
				}
			}
			slice(plain(e.Name), "MPI", e.Begin, e.End, arguments)
			call.begin, call.end, in.last = e.Begin, e.End, e.End
		}
		sent, received := carries(e)
		if sent {
			flow(e, true, call.begin)
		}
		if received {
			flow(e, false, max(call.begin, call.end-1))
		}
	}
	in.leave(0, in.last)
	return nil
}
