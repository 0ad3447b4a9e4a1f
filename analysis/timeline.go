package analysis

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"marple/analysis/callgraph"
	"marple/analysis/event"
	"marple/analysis/run"
	"marple/analysis/waitstate"
)

// TimelineEvent is an MPI call, or a region, of one thread. Times are nanoseconds since the first event of any rank.
type TimelineEvent struct {
	Rank   int32  `json:"rank"`
	Thread int    `json:"thread"`
	Start  int64  `json:"start_ns"`
	Ns     int64  `json:"ns"`
	Name   string `json:"name"`
	Region bool   `json:"region,omitempty"`
	Peer   int32  `json:"peer"` // rank in the communicator; negative: none, or any
	Tag    int32  `json:"tag"`
	Bytes  uint64 `json:"bytes"`
}

// Window bounds a timeline. Until 0 means the end.
type Window struct {
	From, Until int64 // ns
	Most        int   // events
	Longest     bool  // rather than the first
}

// ErrNoLogs says that a run has no logs to show.
var ErrNoLogs = errors.New("no trace: measure with --trace 100, for example, which gives each rank 100 MiB")

// rankLogs is a rank's record file beside which its logs are, and its clock: nanoseconds since the first event of any
// rank.
type rankLogs struct {
	file string
	at   func(tick uint64) int64
}

// logsOf lists the ranks whose logs a run directory has.
func logsOf(directory string) ([]rankLogs, error) {
	files, err := filepath.Glob(filepath.Join(directory, run.RawDir, "*.mrl"))
	if err != nil {
		return nil, err
	}
	var list []rankLogs
	var headers []*event.Header
	for _, file := range files {
		if logs, _ := filepath.Glob(file + ".*.log"); len(logs) == 0 {
			continue
		}
		p, err := readTables(file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		h := *p.Header()
		list, headers = append(list, rankLogs{file: file}), append(headers, &h)
	}
	if len(headers) == 0 {
		return nil, fmt.Errorf("%s: %w", directory, ErrNoLogs)
	}
	clocks, first := waitstate.Clocks(headers), int64(1<<63-1)
	common := func(h *event.Header) func(uint64) int64 {
		own, host := callgraph.CommonClockOf(h), clocks[slices.IndexFunc(clocks, func(c waitstate.Clock) bool { return c.Host == h.Host })]
		return func(tick uint64) int64 { return host.Common(own.At(tick)) }
	}
	for _, h := range headers {
		first = min(first, common(h)(h.BeginTick))
	}
	for i, h := range headers {
		at := common(h)
		list[i].at = func(tick uint64) int64 { return at(tick) - first }
	}
	return list, nil
}

// threads opens the log of each of a rank's threads. Errors name the file.
func (l rankLogs) threads(visit func(p *event.Process, thread int, log io.ReaderAt) error) error {
	p, err := readTables(l.file)
	if err != nil {
		return fmt.Errorf("%s: %w", l.file, err)
	}
	for thread := range event.ThreadsMost {
		name := event.LogName(l.file, thread)
		log, err := os.Open(name)
		if err != nil {
			if thread >= int(p.Header().Threads) {
				break
			}
			continue
		}
		err = visit(p, thread, log)
		log.Close()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// Timeline reads the events of a window from the logs that a run has kept, by rising start. More tells how many
// more events the window has than were asked for.
func Timeline(directory string, w Window) (events []TimelineEvent, more int, err error) {
	list, err := logsOf(directory)
	if err != nil {
		return nil, 0, err
	}
	for _, l := range list {
		err := l.threads(func(p *event.Process, thread int, log io.ReaderAt) error {
			own, n, err := threadEvents(p, log, thread, l.at, w)
			events, more = append(events, own...), more+n
			if w.Longest {
				events, more = longestOf(events, more, w.Most)
			}
			return err
		})
		if err != nil {
			return nil, 0, err
		}
	}
	if w.Longest {
		events, more = longestOf(events, more, w.Most)
	}
	slices.SortStableFunc(events, func(a, b TimelineEvent) int { return cmp.Compare(a.Start, b.Start) })
	if len(events) > w.Most {
		more += len(events) - w.Most
		events = events[:w.Most]
	}
	return events, more, nil
}

// longestOf keeps so many events, and counts the others.
func longestOf(events []TimelineEvent, more, most int) ([]TimelineEvent, int) {
	if len(events) <= most {
		return events, more
	}
	slices.SortStableFunc(events, func(a, b TimelineEvent) int { return cmp.Compare(b.Ns, a.Ns) })
	return events[:most], more + len(events) - most
}

// Moments replays the logs that a run has kept: what each rank did, and when it waited or was on the critical path. There
// is nothing, and no error, where not all ranks have kept their logs, or these are too large to be replayed here.
func Moments(directory string) ([]*waitstate.Rank, []waitstate.Moments, error) {
	list, err := logsOf(directory)
	if err != nil {
		return nil, nil, err
	}
	logs := &leftLogs{}
	for _, l := range list {
		p, left, err := readProcess(l.file)
		if err == nil {
			err = logs.add(p, left.logs)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", l.file, err)
		}
	}
	if logs.bytes > mostLogs || len(logs.ranks) < 2 || slices.Contains(logs.ranks, nil) {
		return nil, nil, nil
	}
	moments, err := waitstate.FindMoments(logs.ranks)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", directory, err)
	}
	return logs.ranks, moments, nil
}

func readTables(path string) (*event.Process, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	tables := make([]byte, event.TablesSize)
	if _, err := file.ReadAt(tables, 0); err != nil {
		return nil, err
	}
	return event.Open(tables, nil)
}

func threadEvents(p *event.Process, log io.ReaderAt, thread int, at func(tick uint64) int64, w Window) (events []TimelineEvent, more int, err error) {
	nodes := p.Nodes()
	var open []int64 // regions
	add := func(start, end int64, e *event.Logged, region bool) {
		if end < w.From || w.Until > 0 && start > w.Until {
			return
		}
		if w.Longest && len(events) >= 2*w.Most+1000 {
			events, more = longestOf(events, more, w.Most)
		} else if !w.Longest && len(events) == w.Most {
			more++
			return
		}
		name := ""
		if int(e.Path) < len(nodes) {
			name = p.String(nodes[e.Path].Name)
		}
		one := TimelineEvent{Rank: p.Header().Rank, Thread: thread, Start: start, Ns: end - start, Name: name, Region: region, Peer: e.Peer, Tag: e.Tag, Bytes: e.Bytes}
		if e.Collective() || region {
			one.Tag = 0
		}
		events = append(events, one)
	}
	err = event.EachIn(log, func(e *event.Logged) bool {
		start := at(e.Start)
		switch e.Kind {
		case event.LogCall:
			add(start, at(e.Start+e.Duration), e, false)
		case event.LogEnter:
			open = append(open, start)
		case event.LogExit:
			if n := len(open); n > 0 {
				add(open[n-1], start, e, true)
				open = open[:n-1]
			}
		}
		return true
	})
	return events, more, err
}
