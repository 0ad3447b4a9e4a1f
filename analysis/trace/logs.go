package trace

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"marple/analysis/callgraph"
	"marple/analysis/profile"
	"marple/analysis/record"
	"marple/analysis/run"
	"marple/analysis/waitstate"
)

// ErrNoLogs says that a run has no logs to show.
var ErrNoLogs = errors.New("no trace: measure with --trace 100, for example, which gives each rank 100 MiB")

// Rank is a rank's record file beside which its logs are, and its clock: nanoseconds since the first event of any
// rank.
type Rank struct {
	file string
	At   func(tick uint64) int64
}

// Ranks lists the ranks whose logs a run directory has.
func Ranks(directory string) ([]Rank, error) {
	found, err := filepath.Glob(filepath.Join(directory, run.RawDir, "*.mrl"))
	if err != nil {
		return nil, err
	}
	var list []Rank
	var headers []*record.Header
	for _, file := range found {
		if logs, _ := filepath.Glob(file + ".*.log"); len(logs) == 0 {
			continue
		}
		p, err := readTables(file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		h := *p.Header()
		list, headers = append(list, Rank{file: file}), append(headers, &h)
	}
	if len(headers) == 0 {
		return nil, fmt.Errorf("%s: %w", directory, ErrNoLogs)
	}
	clocks, first := waitstate.Clocks(headers), int64(1<<63-1)
	common := func(h *record.Header) func(uint64) int64 {
		own, host := callgraph.CommonClockOf(h), clocks[slices.IndexFunc(clocks, func(c waitstate.Clock) bool { return c.Host == h.Host })]
		return func(tick uint64) int64 { return host.Common(own.At(tick)) }
	}
	for _, h := range headers {
		first = min(first, common(h)(h.BeginTick))
	}
	for i, h := range headers {
		at := common(h)
		list[i].At = func(tick uint64) int64 { return at(tick) - first }
	}
	return list, nil
}

// mostLogs is how many bytes of logs are replayed, of all ranks together: an event takes 6 of them, and 100 then.
const mostLogs = 64 << 20

// Logs are what ranks have logged that did not get to replay it.
type Logs struct {
	ranks []*waitstate.Rank
	bytes uint64
}

// Add takes a rank's logs, as long as there is room.
func (l *Logs) Add(p *record.Process, logs map[int]waitstate.Log) error {
	for _, log := range logs {
		l.bytes += log.Bytes()
	}
	if l.bytes > mostLogs || len(logs) == 0 || p.Header().Ranks > 1<<20 {
		return nil
	}
	rank, err := waitstate.FromProcess(p, logs)
	if err != nil {
		return err
	}
	for len(l.ranks) < int(p.Header().Ranks) {
		l.ranks = append(l.ranks, nil)
	}
	l.ranks[p.Header().Rank] = rank
	return nil
}

// Replay finds the wait states up to where the ranks had got.
func (l *Logs) Replay(p *profile.Profile) error {
	if l.bytes > mostLogs {
		return fmt.Errorf("wait states are not known: the ranks have left %d MB of logs, and %d MB can be replayed", l.bytes>>20, mostLogs>>20)
	}
	if len(l.ranks) < 2 {
		return nil
	}
	waits, err := waitstate.FindAll(l.ranks)
	if err != nil {
		return fmt.Errorf("wait states are not known: %w", err)
	}
	p.Waits = waits
	return nil
}

// Moments replays the logs that a run has kept: what each rank did, and when it waited or was on the critical path. There
// is nothing, and no error, where not all ranks have kept their logs, or these are too large to be replayed here.
func Moments(directory string) ([]*waitstate.Rank, []waitstate.Moments, error) {
	list, err := Ranks(directory)
	if err != nil {
		return nil, nil, err
	}
	logs := &Logs{}
	for _, l := range list {
		p, left, err := Read(l.file)
		if err == nil {
			err = logs.Add(p, left.Logs)
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
