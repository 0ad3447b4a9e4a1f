package record

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"marple/analysis/files"
)

// randomRecord draws a record, and says as what it has to be logged.
func randomRecord(t *rapid.T, paths []uint32, now uint64) (record, []Logged) {
	r, e := randomEvent(t, paths, now)
	switch e.Kind {
	case 0:
		return r, nil
	case kindLeaf:
		e.Kind, e.Start = LogEnter, now-uint64(r.duration)
		exit := e
		exit.Kind, exit.Start = LogExit, now
		return r, []Logged{e, exit}
	case LogCall:
		if e.flags&flagBoth != 0 {
			received := Logged{Kind: LogReceived, Path: e.Path, Comm: e.Comm, Peer: e.Peer >> 16, Tag: e.Tag & 0xffff, Bytes: e.Bytes + uint64(e.Tag>>16)}
			e.Peer, e.Tag, e.flags = int32(int16(e.Peer)), received.Tag, e.flags&^flagBoth
			return r, []Logged{e, received}
		}
	case kindAside:
		e.Kind, e.Start, e.Aside = LogEnter, now-r.second(), true
		exit := e
		exit.Kind, exit.Start = LogExit, now
		return r, []Logged{e, exit}
	}
	return r, []Logged{e}
}

// randomEvent draws a record, and says as what it has to be logged, with Kind 0 if not at all.
func randomEvent(t *rapid.T, paths []uint32, now uint64) (record, Logged) {
	path := rapid.SampledFrom(paths).Draw(t, "path")
	comm := uint16(rapid.IntRange(0, 3).Draw(t, "comm"))
	peer, tag := int32(rapid.IntRange(-4, 5).Draw(t, "peer")), int32(rapid.IntRange(-1, 9).Draw(t, "tag"))
	size := rapid.Uint32().Draw(t, "bytes")
	if rapid.Bool().Draw(t, "usual size") {
		size = 8
	}
	flags := uint8(rapid.IntRange(0, 127).Draw(t, "flags"))
	if flags&flagBoth != 0 {
		peer, tag = rapid.Int32().Draw(t, "peers"), rapid.Int32().Draw(t, "tag and more")
	}
	wide := rapid.Uint64().Draw(t, "number")
	switch kind := rapid.SampledFrom([]uint8{kindCall, kindCall, kindCall, kindEnter, kindExit, kindReceived, kindPosted, kindCompleted, kindBefore,
		kindInside, kindBegin, kindLeaf, kindLeaf, kindAside, kindValues}).Draw(t, "kind"); kind {
	case kindCall:
		d := rapid.Uint32().Draw(t, "duration")
		e := Logged{Kind: LogCall, Start: now, Duration: uint64(d), Path: path, Comm: comm, Peer: peer, Tag: tag, Bytes: uint64(size), flags: flags}
		if path == paths[1] && flags&flagHit == 0 {
			e = Logged{}
		}
		return record{now, d, size, peer, tag, makeWhat(path, comm, kind, flags)}, e
	case kindReceived:
		return record{start: wide, peer: peer, tag: tag, what: makeWhat(path, comm, kind, 0)},
			Logged{Kind: LogReceived, Path: path, Comm: comm, Peer: peer, Tag: tag, Bytes: wide}
	case kindPosted, kindCompleted:
		number := rapid.Uint32().Draw(t, "operation")
		return record{wide, number, size & 7, peer, tag, makeWhat(path, comm, kind, flags)},
			Logged{Kind: LogKind(kind), Path: path, Comm: comm, Peer: peer, Tag: tag, Bytes: wide, Number: number, Thread: size & 7, flags: flags}
	case kindBefore, kindInside:
		if wide == 0 {
			return wordsRecord(kind, 0, 7, 7), Logged{}
		}
		return wordsRecord(kind, wide, uint64(size), 9), Logged{Kind: LogKind(kind), Duration: wide}
	case kindLeaf:
		return record{now, uint32(min(now, uint64(size))), 7, peer, tag, makeWhat(path, 0, kind, flags)},
			Logged{Kind: kindLeaf, Path: path, Peer: NoPeer}
	case kindAside:
		r := wordsRecord(kind, now, min(now, wide), 0)
		r.what = makeWhat(path, 0, kind, 0)
		return r, Logged{Kind: kindAside, Path: path, Peer: NoPeer}
	case kindValues:
		return wordsRecord(kind, wide, uint64(size), 9), Logged{}
	case kindBegin:
		return wordsRecord(kind, now, 0, 0), Logged{Kind: LogBegin, Start: now}
	default:
		return record{start: now, duration: size, peer: NoPeer, what: makeWhat(path, 0, kind, 0)},
			Logged{Kind: LogKind(kind), Start: now, Path: path, Peer: NoPeer}
	}
}

// rowsOfTests says how long calls are logged to have taken that end a row of vain ones.
type rowsOfTests struct {
	vain        uint32 // path
	loop        uint64 // ticks
	row, rowEnd uint64
	beside      uint64
}

func (x *rowsOfTests) take(r *record, events []Logged) []Logged {
	hit := r.what.flags()&flagHit != 0
	if r.what.kind() == kindBefore {
		x.beside += r.start + r.third()
	}
	if r.what.kind() == kindCall && r.what.path() == x.vain && !hit {
		if x.row == 0 || r.start-x.rowEnd > x.loop+x.beside+(r.start-x.row)/8 {
			x.row = r.start
		}
		x.rowEnd, x.beside = r.start+uint64(r.duration), 0
	}
	events = slices.Clone(events)
	for i := range events {
		e := &events[i]
		switch e.Kind {
		case LogCall:
			if hit && x.row != 0 && r.start-x.rowEnd <= x.loop+x.beside+(r.start-x.row)/8 {
				e.Start, e.Duration = x.row, e.Start+e.Duration-x.row
			}
			x.row, x.beside = 0, 0
		case LogEnter, LogExit, LogBegin:
			x.row, x.beside = 0, 0
		}
	}
	return events
}

func logged(t require.TestingT, each func(func(*Logged) bool) error) []Logged {
	list := []Logged{}
	require.NoError(t, each(func(e *Logged) bool {
		if e.Kind == LogReceived {
			e.Number = 0
		}
		list = append(list, *e)
		return true
	}))
	return list
}

// What went in comes out, whether blocks were in memory or in a file; and a log that ends has all up to there.
func TestLogGivesBackWhatItTook(t *testing.T) {
	directory := t.TempDir()
	round := 0
	rapid.Check(t, func(t *rapid.T) {
		round++
		w := NewWriter(0, 8)
		tw := w.Thread(0, true)
		paths := []uint32{w.MPI(0, "MPI_Send", OpSend, 0), w.MPI(0, "MPI_Test", OpTest, Nonblocking), w.MPI(0, "MPI_Wait", OpWait, 0)}
		file := filepath.Join(directory, fmt.Sprint(round))
		budget := &Budget{Memory: int64(rapid.IntRange(0, 2).Draw(t, "memory")) * BlockSize, Total: int64(rapid.IntRange(0, 5).Draw(t, "total")) * BlockSize, Record: fileAt(t, file)}
		l := NewLog(budget, 0, AllNodes(w.tables))
		tw.a.Keep(l)
		want := []Logged{}
		rows := rowsOfTests{vain: paths[1], loop: uint64(tw.a.loop)}
		now := uint64(0)
		repeat := rapid.SampledFrom([]int{1, 5, 400}).Draw(t, "repeat")
		for range rapid.IntRange(0, 60).Draw(t, "events") {
			now += rapid.Uint64Max(1<<40).Draw(t, "gap")
			r, e := randomRecord(t, paths, now)
			for range repeat {
				tw.put(r)
				want = append(want, rows.take(&r, e)...)
			}
		}
		tw.a.Consume()
		got := logged(t, l.Each)
		require.Len(t, got, int(l.Events()))
		ended, _ := l.Ended()
		if !ended {
			require.Len(t, got, len(want))
		}
		require.Equal(t, want[:len(got):len(got)], got)
		require.LessOrEqual(t, l.Bytes(), uint64(budget.Total))
		if len(got) > 0 {
			require.NoError(t, l.Store())
			f, err := os.Open(LogName(file, 0))
			require.NoError(t, err)
			defer f.Close()
			require.Equal(t, got, logged(t, func(visit func(*Logged) bool) error { return EachIn(f, visit) }))
		}
	})
}

// ends are events without when rows of tests began that end with them: after a kill that is not known of one.
func ends(list []Logged) []Logged {
	list = slices.Clone(list)
	for i := range list {
		if e := &list[i]; e.Kind == LogCall && e.Hit() {
			e.Start, e.Duration = e.Start+e.Duration, 0
		}
	}
	return list
}

// A process may be killed at any moment: what it has logged by then, and what it has recorded since, is all.
func TestLogGoesOnAfterAKill(t *testing.T) {
	directory := t.TempDir()
	round := 0
	rapid.Check(t, func(t *rapid.T) {
		round++
		w := NewWriter(0, 8)
		tw := w.Thread(0, true)
		paths := []uint32{w.MPI(0, "MPI_Send", OpSend, 0), w.MPI(0, "MPI_Test", OpTest, Nonblocking), w.MPI(0, "MPI_Wait", OpWait, 0)}
		file := filepath.Join(directory, fmt.Sprint(round))
		total := int64(rapid.SampledFrom([]int{1, 2, 1000}).Draw(t, "total")) * BlockSize
		tw.a.Keep(NewLog(&Budget{Total: total, Record: fileAt(t, file)}, 0, AllNodes(w.tables)))
		want := []Logged{}
		now := uint64(0)
		repeat := rapid.SampledFrom([]int{1, 5, 400}).Draw(t, "repeat")
		put := func() {
			for range rapid.IntRange(0, 40).Draw(t, "events") {
				now += rapid.Uint64Max(1<<40).Draw(t, "gap")
				r, e := randomRecord(t, paths, now)
				for range repeat {
					tw.put(r)
					want = append(want, e...)
				}
			}
		}
		put()
		if tw.a.t.consumed == 0 { // the core was not open yet
			return
		}
		p, err := Open(w.tables, w.blocks)
		require.NoError(t, err)
		l := p.Keep(0, file)
		require.NotNil(t, l)
		p.Consume(0)
		got := logged(t, l.Each)
		require.Len(t, got, int(l.Events()))
		if ended, _ := l.Ended(); !ended {
			require.Len(t, got, len(want))
		}
		require.Equal(t, ends(want[:len(got):len(got)]), ends(got))
	})
}

// What a step of a usual program takes: 4 operations started, completed together, and a reduction.
func steps(w *Writer, tw *ThreadWriter) func() {
	world := w.Comm(Comm{ID: 9, Size: 4}, "MPI_COMM_WORLD", []Run{{Stride: 1, Count: 4}})
	irecv, isend := w.MPI(0, "MPI_Irecv", OpRecv, Nonblocking), w.MPI(0, "MPI_Isend", OpSend, Nonblocking)
	waitall, allreduce := w.MPI(0, "MPI_Waitall", OpWait, 0), w.MPI(0, "MPI_Allreduce", OpNToN, 0)
	now, number := uint64(1<<40), uint32(0)
	call := func(path uint32, peer int32, duration uint64, collective bool, flags uint8) {
		now += 200 + now%1000
		tw.put(record{start: now, duration: uint32(duration), bytes: 8192, peer: peer, tag: 1, what: makeWhat(path, world, kindCall, flags)})
		now += duration
	}
	return func() {
		for i := range int32(2) {
			call(irecv, i, 300, false, flagStarted)
			call(isend, i, 900, false, flagStarted)
		}
		now += 100_000
		call(waitall, NoPeer, 20_000+now%5000, false, 0)
		for i := range uint32(4) {
			path, flags := irecv, uint8(0)
			if i%2 == 1 {
				path, flags = isend, flagIsSend
			}
			tw.put(record{start: 8192, duration: number + i, peer: int32(i / 2), tag: 1, what: makeWhat(path, world, kindCompleted, flags)})
		}
		number += 4
		call(allreduce, NoPeer, 40_000+now%9000, true, flagCollective)
	}
}

func TestLogIsCompact(t *testing.T) {
	w := NewWriter(0, 4)
	tw := w.Thread(0, true)
	l := NewLog(&Budget{Memory: 1 << 24, Total: 1 << 24}, 0, AllNodes(w.tables))
	tw.a.Keep(l)
	step := steps(w, tw)
	for range 10_000 {
		step()
	}
	tw.a.Consume()
	assert.EqualValues(t, 100_000, l.Events())
	assert.Less(t, float64(l.Bytes())/float64(l.Events()), 7.0)
	require.Zero(t, testing.AllocsPerRun(100, func() { step(); tw.a.Consume() }))
}

func FuzzLog(f *testing.F) {
	w := NewWriter(0, 4)
	tw := w.Thread(0, true)
	l := NewLog(&Budget{Memory: 1 << 24, Total: 1 << 24}, 0, AllNodes(w.tables))
	tw.a.Keep(l)
	steps(w, tw)()
	tw.a.Consume()
	f.Add(bytes.Clone(l.block[:l.used]))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) { eachIn(data, func(*Logged) bool { return true }) })
}

func BenchmarkLog(b *testing.B) {
	for _, keep := range []bool{false, true} {
		b.Run(fmt.Sprintf("log=%v", keep), func(b *testing.B) {
			w := NewWriter(0, 4)
			tw := w.Thread(0, true)
			var l *Log
			if keep {
				l = NewLog(&Budget{Memory: 1 << 31, Total: 1 << 31}, 0, AllNodes(w.tables))
				tw.a.Keep(l)
			}
			step := steps(w, tw)
			for range 400 {

				step()
			}
			tw.a.Consume()
			for range 400 {
				step()
			}
			head := tw.a.t.head
			from := tw.a.t.consumed
			b.ResetTimer()
			// The same records again and again: writing them is not what is measured.
			for i := 0; i < b.N; i += int(head - from) {
				tw.a.t.consumed = from
				if keep {
					l.next = from
				}
				tw.a.Consume()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N), "ns/record")
			if keep {
				b.ReportMetric(float64(l.Bytes())/float64(l.Events()), "B/event")
			}

		})
	}
}

func fileAt(t require.TestingT, path string) files.File {
	f, err := files.At(path)
	require.NoError(t, err)
	return f
}
