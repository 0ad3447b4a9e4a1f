package analysis

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"

	"marple/analysis/event"
	"marple/analysis/names"
	"marple/analysis/profile"
	"marple/analysis/run"
)

// Recover makes a run of the record files in a run directory. Problems are files that could not be read, or
// only in part; the error is set when nothing could.
func Recover(directory string) (r *run.Run, problems []error, err error) {
	files, err := filepath.Glob(filepath.Join(directory, run.RawDir, "*.mrl"))
	if err != nil {
		return nil, nil, err
	}
	sort.Strings(files)
	if len(files) == 0 {
		if _, err := os.Stat(filepath.Join(directory, run.File)); err == nil {
			return nil, nil, fmt.Errorf("%s: the run is complete; print it with: marple report %s", directory, directory)
		}
		return nil, nil, fmt.Errorf("%s: no record files in %s", directory, run.RawDir)
	}
	// Pairwise, like the ranks themselves: the k-th merge of a chain would cost as much as all before it.
	var level []*profile.Profile
	seen := map[int32]string{}
	for _, file := range files {
		p, err := readProcess(file)
		if p == nil {
			problems = append(problems, fmt.Errorf("%s: %w", file, err))
			continue
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", file, err))
		}
		if other, twice := seen[p.Header().Rank]; twice {
			problems = append(problems, fmt.Errorf("%s: left out: %s is of the same rank", file, other))
			continue
		}
		seen[p.Header().Rank] = file
		level = append(level, profile.FromProcess(p))
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
	return Conclude(level[0], names.Host), problems, nil
}

// readProcess reads a record file and aggregates what the process did not get to. With an error, what was
// returned is what could be read.
func readProcess(path string) (*event.Process, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	tables := make([]byte, event.TablesSize)
	if _, err := file.ReadAt(tables, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if info.Size() < event.TablesSize {
		return nil, fmt.Errorf("%d bytes; a record file has at least %d", info.Size(), event.TablesSize)
	}
	threads := (info.Size() - event.TablesSize + event.ThreadSpan - 1) / event.ThreadSpan
	var damage error
	var blocks [][]byte
	for i := range threads {
		block := make([]byte, event.ThreadSpan)
		n, err := file.ReadAt(block, event.TablesSize+i*event.ThreadSpan)
		if err != nil && !(errors.Is(err, io.EOF) && n == len(block)) {
			damage = fmt.Errorf("thread %d: cut off after %d of %d bytes", i, n, len(block))
			if !event.Usable(n) {
				block = nil
			}
		}
		blocks = append(blocks, block)
	}
	p, err := event.Open(tables, blocks)
	if err != nil {
		return nil, err
	}
	for i := range blocks {
		p.GiveRoom(i)
		if p.Spilled(i) {
			err = consumeSpill(p, path, i)
			damage = errors.Join(damage, err)
		}
		if blocks[i] != nil && p.Consume(i) == event.Broken {
			damage = errors.Join(damage, fmt.Errorf("thread %d: damaged records left out", i))
		}
	}
	return p, damage
}

func consumeSpill(p *event.Process, path string, thread int) error {
	spill, err := os.Open(event.SpillName(path, thread))
	if err != nil {
		return err
	}
	defer spill.Close()
	_, err = p.ConsumeSpilled(thread, spill)
	return err
}
