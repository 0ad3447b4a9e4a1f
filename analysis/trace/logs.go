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

const (
	// mostMoments is how many bytes of logs are replayed in full, of all ranks together: an event takes 6 of them, and 100 then.
	mostMoments = 64 << 20
	// mostOpen processes stay in memory, of a few MiB each; others are read again when their logs are.
	mostOpen = 32
)

// Logs are what ranks have logged that did not get to replay it.
type Logs struct {
	ranks []*waitstate.Rank
	files []string // likewise by rank
	open  int
}

// Add takes the logs of the rank whose record file this is.
func (l *Logs) Add(file string, p *record.Process, logs map[int]waitstate.Log) {
	if len(logs) == 0 || p.Header().Ranks > 1<<20 {
		return
	}
	open := func() (*record.Process, map[int]waitstate.Log, error) { return p, logs, nil }
	if l.open++; l.open > mostOpen {
		open = func() (*record.Process, map[int]waitstate.Log, error) {
			p, left, err := Read(file)
			if p != nil { // what of it could be read was counted in the first time
				err = nil
			}
			return p, left.Logs, err
		}
	}
	for len(l.ranks) < int(p.Header().Ranks) {
		l.ranks, l.files = append(l.ranks, nil), append(l.files, "")
	}
	l.files[p.Header().Rank] = file
	l.ranks[p.Header().Rank] = waitstate.Later(p, logs, open)
}

// Replay finds the wait states up to where the ranks had got.
func (l *Logs) Replay(p *profile.Profile) error {
	if len(l.ranks) < 2 {
		return nil
	}
	waits, err := waitstate.FindAll(l.ranks)
	if err != nil {
		return fmt.Errorf("wait states are not known: %w", err)
	}
	p.Waits = waits
	for i, rank := range l.ranks {
		if problem := rank.Unread(); problem != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", l.files[i], problem))
		}
	}
	return err
}

// Moments replays the logs that a run has kept: what each rank did, and when it waited or was on the critical path. There
// is nothing, and no error, where not all ranks have kept their logs, or these are too large to be replayed here.
func Moments(directory string) ([]*waitstate.Rank, []waitstate.Moments, error) {
	list, err := Ranks(directory)
	if err != nil {
		return nil, nil, err
	}
	var ranks []*waitstate.Rank
	bytes := uint64(0)
	for _, l := range list {
		p, left, err := Read(l.file)
		var rank *waitstate.Rank
		if err == nil {
			for _, log := range left.Logs {
				bytes += log.Bytes()
			}
			if bytes > mostMoments || p.Header().Ranks > 1<<20 {
				return nil, nil, nil
			}
			rank, err = waitstate.FromProcess(p, left.Logs)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", l.file, err)
		}
		for len(ranks) < int(p.Header().Ranks) {
			ranks = append(ranks, nil)
		}
		ranks[p.Header().Rank] = rank
	}
	if len(ranks) < 2 || slices.Contains(ranks, nil) {
		return nil, nil, nil
	}
	moments, err := waitstate.FindMoments(ranks)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", directory, err)
	}
	return ranks, moments, nil
}
