// Package analysistest makes runs for tests out of little scripts: what each rank does, one after the
// other, in exact nanoseconds.
package analysistest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"marple/analysis/callgraph"
	"marple/analysis/files"
	"marple/analysis/profile"
	"marple/analysis/record"
	"marple/analysis/run"
	"marple/analysis/symbol"
	"marple/analysis/waitstate"
)

// A script takes tables of megabytes for each rank and lets them go: with the usual limit, most of a test's time is clearing them.
func init() { debug.SetGCPercent(400) }

// Rank is one rank's script in the making.
type Rank struct {
	Rank, Ranks int
	Noise       *rand.Rand // nil: none
	now         uint64
	w           *record.Writer
	t           *record.ThreadWriter
	world       uint16
	module      uint32
	log         *record.Log
	frame       uint32 // innermost function
	numbers     []int  // ranks by what the script calls them; nil: the same
}

// Relabelled is a script in which ranks have other numbers: the one that it takes for rank i is numbers[i].
func Relabelled(numbers []int, script func(*Rank)) func(*Rank) {
	return func(r *Rank) {
		r.numbers, r.Rank = numbers, slices.Index(numbers, r.Rank)
		script(r)
		r.numbers, r.Rank = nil, numbers[r.Rank]
	}
}

// number is the rank that a script means.
func (r *Rank) number(peer int32) int32 {
	if r.numbers == nil || peer < 0 {
		return peer
	}
	return int32(r.numbers[peer])
}

// Compute lets time pass outside MPI. With noise it is up to a quarter more.
func (r *Rank) Compute(ns uint64) {
	if r.Noise != nil {
		ns += uint64(r.Noise.Int64N(int64(ns)/4 + 1))
	}
	r.now += ns
}

// OffCore lets time pass outside MPI, ready to run but without a core.
func (r *Rank) OffCore(ns uint64) {
	r.t.Gap(ns, 0, 0)
	r.now += ns
}

// Blocked lets time pass outside MPI, blocked in the system.
func (r *Rank) Blocked(ns uint64) {
	r.t.Gap(0, ns, 0)
	r.now += ns
}

// Call makes an MPI call from a line of main.c. Path, Start and Comm of c are filled in.
func (r *Rank) Call(line int, name string, op record.Op, flags record.OpFlags, c record.Call) {
	c.Path, c.Start, c.Comm = r.w.MPIAt(r.where(), r.module, uint64(line), name, op, flags), r.now, r.world
	c.Peer = r.number(c.Peer)
	r.t.Call(c)
	r.now += c.Duration
}

// Barrier takes the given time.
func (r *Rank) Barrier(line int, ns uint64) {
	r.Call(line, "MPI_Barrier", record.OpBarrier, 0, record.Call{Duration: ns, Peer: record.NoPeer, Collective: true})
}

// Send and Recv move bytes to or from another rank.
func (r *Rank) Send(line, to int, bytes, ns uint64) {
	r.Call(line, "MPI_Send", record.OpSend, 0, record.Call{Duration: ns, Peer: int32(to), Out: bytes})
}
func (r *Rank) Recv(line, from int, bytes, ns uint64) {
	r.Call(line, "MPI_Recv", record.OpRecv, 0, record.Call{Duration: ns, Peer: int32(from), Out: bytes})
}

// Arrived says that the last call at a line, which did not wait for it, has led to a message.
func (r *Rank) Arrived(line int, name string, from int, bytes uint64) {
	r.t.Completed(r.w.MPIAt(r.where(), r.module, uint64(line), name, record.OpRecv, record.Nonblocking), r.world, r.number(int32(from)), bytes, false)
}

// Region runs a script inside a region.
func (r *Rank) Region(name string, inside func()) {
	r.t.Enter(r.w.Node(record.Node{Parent: r.where(), Kind: record.NodeRegion, Name: r.w.String(name)}), r.now)
	inside()
	r.t.Exit(r.now)
}

// Aside is in a region for so long, as calls on files are recorded.
func (r *Rank) Aside(name string, ns uint64) {
	r.now += ns
	r.t.Aside(r.w.Node(record.Node{Parent: r.where(), Kind: record.NodeRegion, Name: r.w.String(name)}), r.now, ns, 0, 0)
}

// Phase runs a script in a phase that the program has numbered with MPI_Pcontrol.
func (r *Rank) Phase(level uint64, inside func()) {
	r.t.Enter(r.w.Node(record.Node{Parent: r.where(), Kind: record.NodePhase, Key: level}), r.now)
	inside()
	r.t.Exit(r.now)
}

// Invoke runs a script in an invocation of a component's method.
func (r *Rank) Invoke(component, instance, method string, inside func()) {
	names := uint64(r.w.String(component)) | uint64(r.w.String(instance))<<32
	r.t.Enter(r.w.Node(record.Node{Parent: r.where(), Kind: record.NodeComponent, Key: names, Name: r.w.String(method)}), r.now)
	inside()
	r.t.Exit(r.now)
}

// Families declares families of components.
func (r *Rank) Families(text string) {
	r.w.Node(record.Node{Kind: record.NodeFamilies, Name: r.w.String(text)})
}

// Function runs a script in a function, of eight letters at most, that is called from a line of main.c.
func (r *Rank) Function(line int, name string, inside func()) {
	var letters [8]byte
	copy(letters[:], name)
	outer := r.frame
	r.frame = r.w.Node(record.Node{Parent: r.where(), Kind: record.NodeFrame, Key: binary.BigEndian.Uint64(letters[:]), Name: r.module,
		SiteModule: r.module, Site: uint64(line)})
	inside()
	r.frame = outer
}

// where is the innermost function or region.
func (r *Rank) where() uint32 {
	if where := r.t.Where(); where > r.frame {
		return where // nodes are made from the outside in
	}
	return r.frame
}

// play runs the script for every rank on a host with this many cores. A rank's log may go beside its record file.
func play(ranks, cores int, file func(rank int) string, script func(*Rank)) (all []*Rank) {
	for i := range ranks {
		w := record.NewWriter(i, ranks)
		h := w.Header()
		copy(h.Program[:], "app")
		copy(h.Library[:], "Test MPI 1.0")
		copy(h.MPIName[:], "MPI-5 standard ABI")
		copy(h.HostName[:], "node1")
		h.Host, h.PID, h.First.WallNs = 1, uint32(100+i), 1_700_000_000_000_000_000
		for c := range cores {
			h.CPUs[c/64] |= 1 << (c % 64)
		}
		r := &Rank{Rank: i, Ranks: ranks, w: w, t: w.Thread(0, true), module: w.Module("/bin/app", []byte{0xab})}
		r.world = w.Comm(record.Comm{ID: 9, Size: uint32(ranks), Rank: int32(i)}, "MPI_COMM_WORLD", []record.Run{{Stride: 1, Count: uint32(ranks)}})
		budget := &record.Budget{Memory: 1 << 30, Total: 1 << 30}
		if name := file(i); name != "" {
			budget.Record = File(name)
		}
		r.log = r.t.Keep(budget)
		r.Function(0, "main", func() { script(r) })
		all = append(all, r)
	}
	return all
}

func nowhere(int) string { return "" }

// In is the directory of a path.
func In(path string) files.Directory {
	d, err := files.In(path)
	if err != nil {
		panic(err)
	}
	return d
}

// File is the file of a path.
func File(path string) files.File {
	f, err := files.At(path)
	if err != nil {
		panic(err)
	}
	return f
}

// Profile merges what the ranks have recorded. All end with the slowest, in MPI_Finalize.
func Profile(ranks, cores int, script func(*Rank)) *profile.Profile {
	merged, _, _ := end(play(ranks, cores, nowhere, script))
	return merged
}

func end(all []*Rank) (merged *profile.Profile, processes []*record.Process, logs []*record.Log) {
	var end uint64
	for _, r := range all {
		end = max(end, r.now)
	}
	for _, r := range all {
		r.Function(0, "main", func() {
			r.Call(999, "MPI_Finalize", record.OpFinalize, 0, record.Call{Duration: end - r.now, Peer: record.NoPeer})
		})
		p, err := r.w.Process(end)
		if err != nil {
			panic(err)
		}
		if own := profile.FromProcess(p, profile.Logs{0: r.log}); merged == nil {
			merged = own
		} else {
			merged = profile.Merge(merged, own)
		}
		processes, logs = append(processes, p), append(logs, r.log)
	}
	return merged, processes, logs
}

// Links are transports between so many ranks in memory; a send waits for its receive, as MPI's may.
func Links(ranks int) []Link {
	wires := make([][]chan []byte, ranks)
	links := make([]Link, ranks)
	for i := range wires {
		for range ranks {
			wires[i] = append(wires[i], make(chan []byte))
		}
		links[i] = Link{i, wires}
	}
	return links
}

// Link is one rank's transport.
type Link struct {
	rank  int
	wires [][]chan []byte // from, to
}

func (l Link) Rank() int  { return l.rank }
func (l Link) Ranks() int { return len(l.wires) }
func (l Link) Send(to int, data []byte) error {
	l.wires[l.rank][to] <- data
	return nil
}
func (l Link) Receive(from int) ([]byte, error) { return <-l.wires[from][l.rank], nil }

// RunWithWaits is Run, and what the replay of the ranks' logs finds.
func RunWithWaits(ranks, cores int, script func(*Rank)) *run.Run {
	merged, processes, logs := end(play(ranks, cores, nowhere, script))
	var all sync.WaitGroup
	for i, link := range Links(ranks) {
		all.Add(1)
		go func() {
			defer all.Done()
			waits, err := waitstate.Find(processes[i], map[int]waitstate.Log{0: logs[i]}, link, waitstate.Alone)
			if err != nil {
				panic(err)
			}
			if i == 0 {
				merged.Waits = waits
			}
		}()
	}
	all.Wait()
	return run.New(merged, Names{})
}

// Files are the record files of ranks that vanished at the end of the script.
func Files(ranks, cores int, script func(*Rank)) (files [][]byte) {
	for _, r := range play(ranks, cores, nowhere, script) {
		r.w.Header().State = record.Running
		files = append(files, r.w.File())
	}
	return files
}

// Keep leaves behind what ranks do whose record files are kept: these files, which have names, and their logs.
func Keep(ranks, cores int, file func(rank int) string, script func(*Rank)) error {
	all := play(ranks, cores, file, script)
	end(all)
	for i, r := range all {
		if err := errors.Join(r.log.Store(), os.WriteFile(file(i), r.w.File(), 0o666)); err != nil {
			return err
		}
	}
	return nil
}

// Sends is a script in which each rank sends five messages, one after 10 ns and the others 20 ns apart, inside a region.
func Sends(r *Rank) {
	r.Compute(5)
	r.Region("solve", func() {
		r.Compute(5)
		Steps(5, func() {
			r.Call(1, "MPI_Send", record.OpSend, 0, record.Call{Duration: 5, Peer: int32(1 - r.Rank), Tag: 7, Out: 100})
			r.Compute(15)
		})
		r.Compute(90)
	})
}

// RankFile is a rank's record file in a run directory.
func RankFile(directory string, rank int) string {
	return filepath.Join(directory, run.RawDir, fmt.Sprintf("rank-%06d.mrl", rank))
}

// KeepIn is Keep in a run directory.
func KeepIn(directory string, ranks int, script func(*Rank)) error {
	if err := os.MkdirAll(filepath.Join(directory, run.RawDir), 0o777); err != nil {
		return err
	}
	return Keep(ranks, ranks, func(rank int) string { return RankFile(directory, rank) }, script)
}

// Names says that the call at offset n is line n of main.c, and reads a function's name from the offset it begins at.
type Names struct{}

func (Names) Site(c callgraph.Code) []symbol.Frame {
	return []symbol.Frame{{File: "/src/main.c", Line: int(c.Offset)}}
}
func (Names) Function(c callgraph.Code) string {
	return strings.TrimRight(string(binary.BigEndian.AppendUint64(nil, c.Offset)), "\x00")
}
func (Names) Notes(callgraph.Module) []string { return nil }

// Run is Profile as a run, without findings.
func Run(ranks, cores int, script func(*Rank)) *run.Run {
	return run.New(Profile(ranks, cores, script), Names{})
}

// Steps repeats a script.
func Steps(n int, step func()) {
	for range n {
		step()
	}
}
