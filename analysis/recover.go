package analysis

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"marple/analysis/event"
	"marple/analysis/invocation"
	"marple/analysis/names"
	"marple/analysis/profile"
	"marple/analysis/run"
	"marple/analysis/waitstate"
)

// mergedFile holds what all ranks had gathered at rank 0, from then until the run is stored.
const mergedFile = "merged"

// Keep stores a merged profile in a run directory, for Recover. The ranks' record files are not needed
// any more.
func Keep(p *profile.Profile, directory string) error {
	return run.WriteFile(filepath.Join(directory, run.RawDir, mergedFile), profile.Encode(p))
}

// Tidy removes what was kept for Recover, once the run is stored.
func Tidy(directory string) {
	raw := filepath.Join(directory, run.RawDir)
	os.Remove(filepath.Join(raw, mergedFile))
	os.Remove(raw) // only if the ranks' record files are not kept
}

// Recover makes a run of what was left in a run directory by ranks that did not get to the end of
// MPI_Finalize. Ranks that still run are waited for so long; after that they count as far as they got. Problems
// are files that could not be read, or only in part; the error is set when nothing could.
func Recover(directory string, wait time.Duration) (r *run.Run, problems []error, err error) {
	raw := filepath.Join(directory, run.RawDir)
	if data, err := os.ReadFile(filepath.Join(raw, mergedFile)); err == nil {
		if p, err := profile.Decode(data); err == nil {
			r, problem := Conclude(p, names.Host), error(nil)
			sources, err := invocation.Load(directory)
			if err := errors.Join(err, KeepInvocations(r, directory, sources)); err != nil {
				problem = fmt.Errorf("%s: %w", run.InvocationsFile, err)
			}
			return r, collect(problem), nil
		}
		problems = append(problems, fmt.Errorf("%s: damaged", filepath.Join(raw, mergedFile)))
	}
	files, err := filepath.Glob(filepath.Join(raw, "*.mrl"))
	if err != nil {
		return nil, nil, err
	}
	slices.Sort(files)
	if len(files) == 0 {
		if _, err := os.Stat(filepath.Join(directory, run.File)); err == nil {
			return nil, nil, fmt.Errorf("%s: the run is complete; print it with: marple report %s", directory, directory)
		}
		return nil, problems, fmt.Errorf("%s: no record files in %s", directory, run.RawDir)
	}
	for until := time.Now().Add(wait); time.Now().Before(until) && slices.ContainsFunc(files, running); {
		time.Sleep(5 * time.Millisecond)
	}
	// Pairwise, like the ranks themselves: the k-th merge of a chain would cost as much as all before it.
	var level []*profile.Profile
	var sources []*invocation.Source
	seen := map[int32]string{}
	logs := &leftLogs{}
	for _, file := range files {
		p, left, err := readProcess(file)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", file, err))
		}
		if p == nil {
			continue
		}
		if other, twice := seen[p.Header().Rank]; twice {
			problems = append(problems, fmt.Errorf("%s: left out: %s is of the same rank", file, other))
			continue
		}
		seen[p.Header().Rank] = file
		level = append(level, profile.FromProcess(p, left.logs))
		if err := logs.add(p, left.logs); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", file, err))
		}
		if left.invocations != nil {
			sources = append(sources, left.invocations)
		}
	}
	if len(level) == 0 {
		return nil, problems, fmt.Errorf("%s: no record file can be read", directory)
	}
	for len(level) > 1 {
		var next []*profile.Profile
		for i := 0; i < len(level); i += 2 {
			if i+1 < len(level) {
				level[i] = profile.Merge(level[i], level[i+1])
			}
			next = append(next, level[i])
		}
		level = next
	}
	if err := logs.replay(level[0]); err != nil {
		problems = append(problems, err)
	}
	r = Conclude(level[0], names.Host)
	if err := KeepInvocations(r, directory, sources); err != nil {
		problems = append(problems, fmt.Errorf("%s: %w", run.InvocationsFile, err))
	}
	return r, problems, nil
}

// collect makes a list of an error, if it is one.
func collect(err error) []error {
	if err == nil {
		return nil
	}
	return []error{err}
}

// mostLogs is how many bytes of logs are replayed, of all ranks together: an event takes 6 of them, and 100 then.
const mostLogs = 64 << 20

// leftLogs are what ranks have logged that did not get to replay it.
type leftLogs struct {
	ranks []*waitstate.Rank
	bytes uint64
}

// add takes a rank's logs, as long as there is room.
func (l *leftLogs) add(p *event.Process, logs map[int]waitstate.Log) error {
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

// replay finds the wait states up to where the ranks had got.
func (l *leftLogs) replay(p *profile.Profile) error {
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

// running tells whether a record file's process still runs here and has not ended its measurement.
func running(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	tables := make([]byte, event.HeaderSize)
	if _, err := file.ReadAt(tables, 0); err != nil {
		return false
	}
	h := event.HeaderOf(tables)
	return h.State == event.Running && maps(h.PID, path)
}

// maps tells whether a process has mapped a file: that of a number that is not another's by now.
func maps(pid uint32, path string) bool {
	list, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	name := filepath.Join(filepath.Base(filepath.Dir(filepath.Dir(path))), run.RawDir, filepath.Base(path))
	return err == nil && strings.Contains(string(list), name)
}

// readProcess reads a record file and aggregates what the process did not get to. With an error, what was
// returned is what could be read.
func readProcess(path string) (*event.Process, leavings, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, leavings{}, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, leavings{}, err
	}
	if !info.Mode().IsRegular() {
		return nil, leavings{}, errors.New("not a regular file")
	}
	alive := running(path)
	left := leavings{logs: map[int]waitstate.Log{}}
	tails := map[int]*invocation.Tail{}
	p, err := readRecords(file, info.Size(), func(p *event.Process, thread int) {
		if l := p.Keep(thread, path); l != nil {
			left.logs[thread] = l
		}
		tails[thread] = &invocation.Tail{}
		p.KeepInvocations(thread, tails[thread], maxTail)
	}, func(thread int) (spillFile, error) {
		return os.Open(event.SpillName(path, thread))
	})
	if p == nil {
		return nil, leavings{}, err
	}
	if alive {
		p.Header().State = event.Alive
	}
	left.invocations = invocation.FromProcess(p, path, tails)
	return p, left, err
}

// leavings are what a process has left beside its aggregates: the logs of those threads whose beginning is known, and
// its invocations.
type leavings struct {
	logs        map[int]waitstate.Log
	invocations *invocation.Source
}

// readRecords is readProcess for any source. keep is called for each thread before its records are read.
func readRecords(file io.ReaderAt, size int64, keep func(p *event.Process, thread int), spill func(thread int) (spillFile, error)) (*event.Process, error) {
	if size < event.TablesSize {
		return nil, fmt.Errorf("%d bytes; a record file has at least %d", size, event.TablesSize)
	}
	threads := min((size-event.TablesSize+event.ThreadSpan-1)/event.ThreadSpan, event.ThreadsMost)
	var damage error
	var blocks [][]byte
	for i := range threads {
		at := event.TablesSize + i*event.ThreadSpan
		block, err := readBlock(io.NewSectionReader(file, at, min(event.ThreadSpan, size-at)))
		if err != nil {
			damage = errors.Join(damage, fmt.Errorf("thread %d: %w", i, err))
		}
		blocks = append(blocks, block)
	}
	// Last, because tables only grow: whatever a record that was read names is in them.
	tables := make([]byte, event.TablesSize)
	if _, err := file.ReadAt(tables, 0); err != nil {
		return nil, err
	}
	p, err := event.Open(tables, blocks)
	if err != nil {
		return nil, err
	}
	for i := range blocks {
		p.GiveRoom(i)
		keep(p, i)
		if p.Spilled(i) {
			damage = errors.Join(damage, consumeSpill(p, i, spill))
		}
		if blocks[i] != nil && p.Consume(i) == event.Broken {
			damage = errors.Join(damage, fmt.Errorf("thread %d: damaged records left out", i))
		}
	}
	return p, damage
}

// maxTail is more than a thread can have kept, and not yet written.
const maxTail = 1 << 62

// spillFile is a thread's file of records that found no room in its ring.
type spillFile interface {
	io.ReaderAt
	io.Closer
}

func consumeSpill(p *event.Process, thread int, open func(thread int) (spillFile, error)) error {
	file, err := open(thread)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = p.ConsumeSpilled(thread, file)
	return err
}

// attempts to copy a block while its thread is not handing over records, which takes it 50 µs every 4,024 events.
const attempts = 100

// readBlock copies a thread's block, as of one moment even if the thread still runs.
func readBlock(file *io.SectionReader) ([]byte, error) {
	block, after := make([]byte, event.ThreadSpan), make([]byte, event.HotSize)
	for range attempts {
		if n, err := file.ReadAt(block[:event.HotSize], 0); err != nil {
			return nil, fmt.Errorf("cut off after %d of %d bytes", n, event.ThreadSpan)
		}
		before, extent := event.ActivityOf(block), event.Extent(block)
		n, err := file.ReadAt(block[event.HotSize:extent], event.HotSize)
		if err != nil {
			read := int64(event.HotSize + n)
			if !event.Usable(read) {
				block = nil
			}
			return block, fmt.Errorf("cut off after %d of %d bytes in use", read, extent)
		}
		if _, err := file.ReadAt(after, 0); err != nil {
			return nil, err
		}
		if event.ActivityOf(after) == before {
			return block, nil
		}
	}
	return nil, errors.New("left out: it records too fast to be read while it runs")
}
