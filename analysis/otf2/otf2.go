// Package otf2 makes a run of a trace in the Open Trace Format 2, as Score-P, TAU and Extrae write them: record files and logs like
// those that ranks leave behind, from which `marple recover` makes everything else.
//
// It uses record, mpi and files. What the archive holds is read by a program of its own with the format's library (cmd/otf2); what
// that program says is untrusted and bounded.
//
// Invariant: a rank's measurement begins where it leaves MPI_Init, and ends where it leaves MPI_Finalize, as it does live. What
// the trace does not tell (time without a core, call sites, counters) is unknown, not zero.
package otf2

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"math/bits"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"marple/analysis/files"
	"marple/analysis/record"
	"marple/analysis/run"
	"marple/analysis/words"
)

// Program is what reads and writes OTF2 through that format's own library. It lies beside marple where the library was there when
// Marple was built.
const Program = "marple-otf2"

// Find is the path of Program.
func Find() (string, error) {
	program, err := exec.LookPath(Program)
	if self, failed := os.Executable(); failed == nil {
		beside := filepath.Join(filepath.Dir(self), Program)
		if _, failed := os.Stat(beside); failed == nil {
			program, err = beside, nil
		}
	}
	if err != nil {
		return "", fmt.Errorf("there is no %s beside marple: install the library of OTF2 3 (Debian: libopen-trace-format2-dev) and build Marple again", Program)
	}
	return program, nil
}

// Anchor is the .otf2 file of an archive that is given as that file or as its directory.
func Anchor(archive string) (string, error) {
	info, err := os.Stat(archive)
	if err != nil || !info.IsDir() {
		return archive, err
	}
	list, err := os.ReadDir(archive)
	if err != nil {
		return "", err
	}
	list = slices.DeleteFunc(list, func(e os.DirEntry) bool { return !strings.HasSuffix(e.Name(), ".otf2") })
	if len(list) != 1 {
		return "", fmt.Errorf("%s: expected one file *.otf2 there, as of an OTF2 archive, not %d", archive, len(list))
	}
	return filepath.Join(archive, list[0].Name()), nil
}

// Import writes the record files and logs of a trace's ranks into directory/raw, which is made.
func Import(ctx context.Context, archive, directory string) (Left, error) {
	anchor, err := Anchor(archive)
	if err != nil {
		return Left{}, err
	}
	program, err := Find()
	if err != nil {
		return Left{}, err
	}
	raw := filepath.Join(directory, run.RawDir)
	if err := os.Mkdir(raw, 0o777); err != nil {
		return Left{}, err
	}
	info, err := os.Stat(anchor)
	if err != nil {
		return Left{}, err
	}
	command := exec.CommandContext(ctx, program, "--read", anchor)
	var complaint strings.Builder
	command.Stderr = &complaint
	out, err := command.StdoutPipe()
	if err != nil {
		return Left{}, err
	}
	if err := command.Start(); err != nil {
		return Left{}, err
	}
	left, err := read(out, source{Name(anchor), info.ModTime()}, func(t *trace, process uint64) (*writer, error) { return t.writer(process, raw) },
		func(w *writer) error { return w.keep(raw) })
	if err != nil {
		_ = command.Process.Kill() // it may have more to say
	}
	_, _ = io.Copy(io.Discard, out)
	ended := command.Wait()
	if ctx.Err() != nil {
		return left, ctx.Err()
	}
	if text := strings.TrimSpace(complaint.String()); text != "" && (ended != nil || err != nil) {
		return left, fmt.Errorf("%s: %s", anchor, strings.TrimPrefix(text, Program+": "))
	}
	if err = cmp.Or(err, ended); err != nil {
		err = fmt.Errorf("%s: %w", anchor, err)
	}
	return left, err
}

// Name is what the trace is called: by its directory, since its file is mostly called traces.otf2.
func Name(anchor string) string {
	base := strings.TrimSuffix(filepath.Base(anchor), ".otf2")
	if path, err := filepath.Abs(anchor); err == nil && base == "traces" {
		base = filepath.Base(filepath.Dir(path))
	}
	return base
}

// Left is what of a trace found no place in the run, or is not known of it.
type Left struct {
	Untold  uint64 // events of one-sided operations, threads, metrics, files
	Outside uint64 // messages and operations outside of calls
	Deep    uint64 // regions inside of more than deepest others
	Threads uint64 // beyond those that a process may have
	Silent  uint64 // threads that call no function of MPI
	Early   uint64 // events before a thread's first call or the end of MPI_Init, or after MPI_Finalize
	Off     uint64 // ns for which ranks recorded nothing
	Flushed uint64 // ns for which the tool wrote what it had recorded
	Hosts   uint64 // whose clocks were not compared
	Undated uint64 // it is not known when the trace was recorded
}

// Notes say what was left out, or is not known: each is one of the run's.
func (l Left) Notes() (notes []run.Note) {
	spent := func(ns uint64) string { return words.Duration(float64(ns) / 1e9) }
	for _, x := range []struct {
		id   string
		n    uint64
		text string
	}{
		{"trace-messages", l.Outside, words.Counted("%d {message or operation|messages or operations} of the trace {is|are} outside of MPI calls, and left out", l.Outside)},
		{"trace-paused", l.Off, "the trace recorded nothing for " + spent(l.Off) + " of the ranks' time, which counts as computing"},
		{"trace-flushed", l.Flushed, "the tool that made the trace wrote it for " + spent(l.Flushed) + " of the ranks' time, which counts as the program's"},
		{"trace-clocks", l.Hosts, fmt.Sprintf("the clocks of the trace's %d hosts were not compared: waits between them are as wrong as those are", l.Hosts)},
		{"trace-untold", l.Untold, words.Counted("%d {event|events} of the trace {is|are} left out (one-sided operations, threads, metrics, files)", l.Untold)},
		{"trace-deep", l.Deep, words.Counted("%d {region|regions} inside of", l.Deep) + fmt.Sprintf(" %d others are left out", deepest)},
		{"trace-threads", l.Threads, words.Counted("%d {thread|threads}", l.Threads) + fmt.Sprintf(" beyond the first %d of a process are left out", record.ThreadsMost)},
		{"trace-undated", l.Undated, "when it was recorded: the date is that of the trace's file"},
	} {
		if x.n > 0 {
			notes = append(notes, run.Note{ID: x.id, Text: x.text, Count: x.n})
		}
	}
	return notes
}

// Bounds of what is read; more is damage.
const (
	mostText    = 1 << 16 // bytes of one
	mostTexts   = 1 << 26 // of all
	mostMembers = 1 << 26 // of all groups
	mostThings  = 1 << 22 // of each other kind
	deepest     = 128     // regions inside each other
)

const undefined = 1<<32 - 1

type located struct {
	id, name, process, events uint64
}

type group struct {
	kind    uint64 // see cmd/otf2/read.c
	members []uint64
}

type communicator struct{ name, group uint64 }

// trace is what the definitions say.
type trace struct {
	source
	compared                     bool // the clocks of its locations were
	resolution, offset, realtime uint64
	texts                        map[uint64]string
	nodes                        map[uint64][3]uint64 // name, class, parent
	processes                    map[uint64][2]uint64 // name, node
	locations                    map[uint64]located
	regions                      map[uint64]region
	groups                       map[uint64]group
	comms                        map[uint64]communicator
	ranks                        map[uint64]int32 // by process
	world                        []uint64         // processes by rank
	mains                        map[uint64]bool  // locations that are ranks
}

type region struct {
	name string
	mpi  bool
}

// ns of a time after the trace's beginning.
func (t *trace) ns(ticks uint64) uint64 {
	ticks -= min(ticks, t.offset)
	if t.resolution == 1e9 {
		return ticks
	}
	hi, lo := bits.Mul64(ticks, 1e9)
	if hi >= t.resolution {
		return 1<<63 - 1
	}
	ns, _ := bits.Div64(hi, lo, t.resolution)
	return min(ns, 1<<63-1)
}

// settle finds out which process is which rank, once all definitions are known.
func (t *trace) settle() error {
	t.ranks, t.mains = map[uint64]int32{}, map[uint64]bool{}
	for _, k := range slices.Sorted(maps.Keys(t.groups)) {
		g := t.groups[k]
		if g.kind != 1 {
			continue
		}
		if len(t.world) > 0 {
			return errors.New("there are two lists of the ranks' locations")
		}
		for _, id := range g.members {
			l, known := t.locations[id]
			if !known {
				return fmt.Errorf("a rank at location %d, of which nothing is said", id)
			}
			if _, twice := t.ranks[l.process]; twice {
				return fmt.Errorf("process %d is two ranks", l.process)
			}
			t.ranks[l.process] = int32(len(t.world))
			t.world, t.mains[id] = append(t.world, l.process), true
		}
	}
	if len(t.world) == 0 {
		return errors.New("there is no MPI in this trace")
	}
	return nil
}

// host is the name of the machine that a process runs on: of the innermost node that is called one, or else of its parent.
func (t *trace) host(process uint64) string {
	first := t.processes[process][1]
	at := first
	for range 64 {
		n, known := t.nodes[at]
		if !known {
			break
		}
		if strings.EqualFold(t.texts[n[1]], "node") {
			return t.texts[n[0]]
		}
		at = n[2]
	}
	return t.texts[t.nodes[first][0]]
}

// members of a communicator, as ranks in the world; nil if they are not known.
func (t *trace) members(c communicator, me int32) []uint64 {
	switch g, known := t.groups[c.group]; {
	case !known:
		return nil
	case g.kind == 2:
		return []uint64{uint64(me)}
	case g.kind == 1:
		all := make([]uint64, len(t.world))
		for i := range all {
			all[i] = uint64(i)
		}
		return all
	default:
		for _, m := range g.members {
			if m >= uint64(len(t.world)) {
				return nil
			}
		}
		return g.members
	}
}

// runs are ranks, as record files have them.
func runs(members []uint64) (list []record.Run) {
	for _, m := range members {
		if k := len(list) - 1; k >= 0 {
			last := &list[k]
			stride := int64(m) - int64(last.First)
			if last.Count > 1 {
				stride = int64(m) - (int64(last.First) + int64(last.Stride)*int64(last.Count-1))
			}
			if last.Count == 1 && stride != 0 || stride == int64(last.Stride) {
				last.Stride = int32(stride)
				last.Count++
				continue
			}
		}
		list = append(list, record.Run{First: uint32(m), Stride: 1, Count: 1})
	}
	return list
}

func hash(text string) uint64 {
	h := fnv.New64a()
	io.WriteString(h, text)
	return h.Sum64()
}

// writer makes one rank's record file.
type writer struct {
	*record.Writer
	t       *trace
	rank    int32
	comms   map[uint64]uint16
	threads int
	logs    []*record.Log
	budget  *record.Budget
	end     uint64
}

func (t *trace) writer(process uint64, raw string) (*writer, error) {
	rank := t.ranks[process]
	w := &writer{Writer: record.NewWriter(int(rank), len(t.world)), t: t, rank: rank, comms: map[uint64]uint16{}}
	h := w.Header()
	copy(h.Program[:len(h.Program)-1], t.name)
	copy(h.Library[:len(h.Library)-1], "not known: a trace in OTF2")
	host := t.host(process)
	copy(h.HostName[:len(h.HostName)-1], host)
	h.Host, h.PID = hash(host), uint32(process)
	h.First = record.Instant{WallNs: t.realtime}
	h.FirstOffset = record.Offset{Known: 1} // the trace's clocks are one
	w.budget = &record.Budget{Memory: 1 << 62, Total: 1 << 62}
	if raw != "" {
		file, err := files.At(w.file(raw))
		if err != nil {
			return nil, err
		}
		w.budget.Record = file
	}
	return w, nil
}

func (w *writer) file(raw string) string {
	return filepath.Join(raw, fmt.Sprintf("rank-%06d.mrl", w.rank))
}

// keep stores the record file and the logs of a rank whose events are all told.
func (w *writer) keep(raw string) error {
	h := w.Header()
	h.Last = record.Instant{Ticks: w.end, RawNs: w.end, WallNs: w.t.realtime + w.end}
	if _, err := w.Process(w.end); err != nil {
		return err
	}
	var err error
	for _, l := range w.logs {
		err = errors.Join(err, l.Store())
	}
	return errors.Join(err, w.Store(w.file(raw)))
}

// world is the communicator of all ranks, whatever the trace calls it.
func (w *writer) world() uint16 {
	for _, id := range slices.Sorted(maps.Keys(w.t.comms)) { // the same one on all ranks
		c := w.t.comms[id]
		members := w.t.members(c, w.rank)
		if len(members) == len(w.t.world) && slices.IsSorted(members) && w.t.groups[c.group].kind != 2 {
			return w.comm(id)
		}
	}
	return 0
}

// comm is the number of a communicator in this rank's table; 0 if it is not known.
func (w *writer) comm(id uint64) uint16 {
	at, known := w.comms[id]
	if known {
		return at
	}
	if c, defined := w.t.comms[id]; defined {
		members := w.t.members(c, w.rank)
		me := int32(slices.Index(members, uint64(w.rank)))
		kept := record.Comm{ID: id + 1, Size: uint32(len(members)), Rank: me}
		if members == nil {
			kept.Flags = record.CommInter
		}
		at = w.Comm(kept, w.t.texts[c.name], runs(members))
	}
	w.comms[id] = at
	return at
}
