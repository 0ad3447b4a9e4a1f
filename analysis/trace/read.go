// Package trace reads the events that a run has kept: record files, and the logs beside them.
//
// It uses record, callgraph, waitstate and invocation. Files are untrusted: what is damaged is an error that names the file,
// and what can be read in spite of it is returned.
package trace

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"marple/analysis/files"
	"marple/analysis/invocation"
	"marple/analysis/invocation/left"
	"marple/analysis/record"
	"marple/analysis/run"
	"marple/analysis/waitstate"
)

// readTables reads a record file without its threads.
func readTables(path string) (*record.Process, error) {
	file, err := files.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	tables := make([]byte, record.TablesSize)
	if _, err := file.ReadAt(tables, 0); err != nil {
		return nil, err
	}
	return record.Open(tables, nil)
}

// Running tells whether a record file's process still runs here and has not ended its measurement.
func Running(path string) bool {
	h, err := Header(path)
	return err == nil && h.State == record.Running && maps(h.PID, path)
}

// Header reads what a record file says of its process, which is not checked.
func Header(path string) (*record.Header, error) {
	file, err := files.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	tables := make([]byte, record.HeaderSize)
	_, err = file.ReadAt(tables, 0)
	return record.HeaderOf(tables), err
}

// maps tells whether a process has mapped a file: that of a number that is not another's by now.
func maps(pid uint32, path string) bool {
	list, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	name := filepath.Join(filepath.Base(filepath.Dir(filepath.Dir(path))), run.RawDir, filepath.Base(path))
	return err == nil && strings.Contains(string(list), name)
}

// Read reads a record file and aggregates what the process did not get to. With an error, what was
// returned is what could be read.
func Read(path string) (*record.Process, Left, error) {
	file, err := files.Open(path)
	if err != nil {
		return nil, Left{}, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, Left{}, err
	}
	here, err := files.At(path)
	if err != nil {
		return nil, Left{}, err
	}
	alive := Running(path)
	behind := Left{Logs: map[int]waitstate.Log{}}
	tails := map[int]*left.Tail{}
	p, err := readRecords(file, info.Size(), func(p *record.Process, thread int) {
		if l := p.Keep(thread, path); l != nil {
			behind.Logs[thread] = l
		}
		tails[thread] = &left.Tail{}
		p.KeepInvocations(thread, tails[thread], maxTail)
	}, func(thread int) (spillFile, error) {
		return files.Open(record.SpillName(path, thread))
	})
	if p == nil {
		return nil, Left{}, err
	}
	if alive {
		p.Header().State = record.Alive
	}
	behind.Invocations = invocation.FromProcess(p, here, tails)
	return p, behind, err
}

// Left is what a process has left beside its aggregates: the logs of those threads whose beginning is known, and
// its invocations.
type Left struct {
	Logs        map[int]waitstate.Log
	Invocations *invocation.Source
}

// readRecords is Read for any source. keep is called for each thread before its records are read.
func readRecords(file io.ReaderAt, size int64, keep func(p *record.Process, thread int), spill func(thread int) (spillFile, error)) (*record.Process, error) {
	if size < record.TablesSize {
		header := make([]byte, record.HeaderSize)
		if _, err := file.ReadAt(header, 0); err == nil {
			if err := record.HeaderOf(header).Check(); err != nil {
				return nil, err
			}
		}
		return nil, fmt.Errorf("%d bytes; a record file has at least %d", size, record.TablesSize)
	}
	threads := min((size-record.TablesSize+record.ThreadSpan-1)/record.ThreadSpan, record.ThreadsMost)
	var damage error
	var blocks [][]byte
	for i := range threads {
		at := record.TablesSize + i*record.ThreadSpan
		block, err := readBlock(io.NewSectionReader(file, at, min(record.ThreadSpan, size-at)))
		if err != nil {
			damage = errors.Join(damage, fmt.Errorf("thread %d: %w", i, err))
		}
		blocks = append(blocks, block)
	}
	// Last, because tables only grow: whatever a record that was read names is in them.
	tables := make([]byte, record.TablesSize)
	if _, err := file.ReadAt(tables, 0); err != nil {
		return nil, err
	}
	p, err := record.Open(tables, blocks)
	if err != nil {
		return nil, err
	}
	for i := range blocks {
		p.GiveRoom(i)
		keep(p, i)
		if p.Spilled(i) {
			damage = errors.Join(damage, consumeSpill(p, i, spill))
		}
		if blocks[i] != nil && p.Consume(i) == record.Broken {
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

func consumeSpill(p *record.Process, thread int, open func(thread int) (spillFile, error)) error {
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
	block, after := make([]byte, record.ThreadSpan), make([]byte, record.HotSize)
	for range attempts {
		if n, err := file.ReadAt(block[:record.HotSize], 0); err != nil {
			return nil, fmt.Errorf("cut off after %d of %d bytes", n, record.ThreadSpan)
		}
		before, extent := record.ActivityOf(block), record.Extent(block)
		n, err := file.ReadAt(block[record.HotSize:extent], record.HotSize)
		if err != nil {
			read := int64(record.HotSize + n)
			if !record.Usable(read) {
				block = nil
			}
			return block, fmt.Errorf("cut off after %d of %d bytes in use", read, extent)
		}
		if _, err := file.ReadAt(after, 0); err != nil {
			return nil, err
		}
		if record.ActivityOf(after) == before {
			return block, nil
		}
	}
	return nil, errors.New("left out: it records too fast to be read while it runs")
}
