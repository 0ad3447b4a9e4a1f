package record

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/big"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// reference adds up the same records slowly and obviously.
type reference struct {
	entries map[string]*Entry
	sq      map[string]*big.Int
	from    Edge
	last    uint64

	invocations []Invocation
	file        memory // of what is kept
	polling     uint64 // since when tests have found nothing
}

// memory is a file.
type memory struct{ data []byte }

func (m *memory) WriteAt(p []byte, at int64) (int, error) {
	if more := int(at) + len(p) - len(m.data); more > 0 {
		m.data = append(m.data, make([]byte, more)...)
	}
	return copy(m.data[at:], p), nil
}

func (m *reference) entry(kind EntryKind, key uint64, class uint8) (*Entry, *big.Int) {
	name := fmt.Sprint(kind, key, class)
	if m.entries[name] == nil {
		m.entries[name] = &Entry{key: key, mark: uint32(kind), Class: class, Min: ^uint64(0)}
		m.sq[name] = new(big.Int)
	}
	return m.entries[name], m.sq[name]
}

// script is a random sequence of events as a thread writes them, and what they must add up to.
func script(t *rapid.T, w *Writer, tw *ThreadWriter, m *reference) {
	comm := w.Comm(Comm{ID: 7, Size: 8}, "comm", []Run{{0, 1, 8}})
	functions := []struct {
		name  string
		op    Op
		flags OpFlags
	}{{"MPI_Send", OpSend, 0}, {"MPI_Recv", OpRecv, 0}, {"MPI_Irecv", OpRecv, Nonblocking}, {"MPI_Wait", OpWait, 0},
		{"MPI_Test", OpTest, Nonblocking}, {"MPI_Allreduce", OpNToN, 0}, {"MPI_Get", OpGet, 0}, {"MPI_Put", OpPut, 0},
		{"MPI_Send_init", OpSend, Persistent}, {"MPI_File_read", OpFileRead, 0}, {"MPI_Sendrecv", OpSendrecv, 0}}
	now := uint64(0)
	step := func(label string) uint64 {
		now += rapid.Uint64Range(0, 1<<rapid.IntRange(0, 34).Draw(t, label+" bits")).Draw(t, label)
		return now
	}
	gap := func(to Edge, own uint64) {
		e, _ := m.entry(EntryGap, gapKey(m.from, to), 0)
		e.N++
		e.Sum += now - m.last - min(own, now-m.last)
		e.Own += min(own, now-m.last)
		e.Min, e.Max = min(e.Min, now), max(e.Max, now)
		m.from, m.last = to, now
	}
	add := func(e *Entry, sq *big.Int, d uint64) {
		e.N++
		e.Sum += d
		e.Min, e.Max = min(e.Min, d), max(e.Max, d)
		x := new(big.Int).SetUint64(d)
		sq.Add(sq, x.Mul(x, x))
	}
	message := func(d Direction, path uint32, peer int32, n, ticks uint64) {
		e, _ := m.entry(EntryPeer, peerKey(makeWhat(path, comm, 0, 0), peer, d), 0)
		e.N++
		e.Sum += ticks
		e.Out += n
	}
	carried := uint64(0) // what Marple took before a region that is told at its end, which is of the gap around it
	for range rapid.IntRange(0, 60).Draw(t, "events") {
		own := carried
		carried = 0
		if rapid.IntRange(0, 5).Draw(t, "before") == 0 {
			more := rapid.Uint64Range(0, 1000).Draw(t, "own")
			tw.Gap(0, 0, more)
			own += more
		}
		start := step("gap")
		switch what := rapid.IntRange(0, 12).Draw(t, "what"); {
		case what == 12:
			node := w.Node(Node{Parent: tw.Where(), Kind: NodeRegion, Name: w.String("write")})
			d := step("duration") - start
			tw.Aside(node, now, d, 0, 0)
			e, sq := m.entry(EntryRegion, uint64(node), 0)
			add(e, sq, d)
			e, _ = m.entry(EntryGap, gapKey(Edge(node)|edgeEnter, Edge(node)|edgeExit), 0)
			e.N++
			e.Sum += d
			e.Min, e.Max = min(e.Min, now), max(e.Max, now)
			m.last, m.polling, carried = m.last+d, 0, own
		case what > 9:
			name := rapid.SampledFrom([]string{"compute", "reset"}).Draw(t, "method")
			node := w.Node(Node{Parent: tw.Where(), Kind: NodeComponent, Key: uint64(w.String("Flux")), Name: w.String(name)})
			gap(Edge(node)|edgeEnter, own)
			m.polling = 0
			i := Invocation{Path: node, Start: start, Wall: step("wall") - start}
			if what == 11 && i.Wall > 2 {
				i.MPI, i.Overlap = i.Wall/2, i.Wall/3
			}
			for v := range rapid.IntRange(0, 5).Draw(t, "values") {
				i.Values = append(i.Values, Value{Name: w.String(fmt.Sprint("v", v)), Real: v%2 == 1, Quality: v == 3, Bits: rapid.Uint64().Draw(t, "value")})
			}
			for c := range rapid.IntRange(0, 8).Draw(t, "counters") {
				x := rapid.Uint64Range(0, 1<<62).Draw(t, "count")
				i.Values = append(i.Values, Value{Name: uint32(c), Counter: true, Bits: x})
				e, sq := m.entry(EntryCounter, uint64(node)|uint64(c)<<32, 0)
				add(e, sq, x)
			}
			gap(Edge(node)|edgeExit, 0)
			e, sq := m.entry(EntryRegion, uint64(node), 0)
			add(e, sq, i.Wall)
			tw.Invoke(i)
			m.invocations = append(m.invocations, i)
		case what == 0:
			node := w.Node(Node{Parent: tw.Where(), Kind: NodeRegion, Name: w.String("region")})
			gap(Edge(node)|edgeEnter, own)
			m.polling = 0
			tw.Enter(node, start)
		case what == 1 && len(tw.open) > 0:
			node, since := tw.Where(), tw.open[len(tw.open)-1]
			gap(Edge(node)|edgeExit, own)
			m.polling = 0
			e, sq := m.entry(EntryRegion, uint64(node), 0)
			add(e, sq, start-since)
			tw.Exit(start)
		default:
			f := rapid.SampledFrom(functions).Draw(t, "function")
			path := w.MPI(tw.Where(), f.name, f.op, f.flags)
			size := rapid.Uint64Range(0, 1<<rapid.IntRange(0, 36).Draw(t, "size bits")).Draw(t, "size")
			peer := rapid.Int32Range(ProcNull, 7).Draw(t, "peer")
			to := Edge(path)
			if f.op == OpTest && start-m.last > LoopNs+own {
				to |= edgeLong
				if start-m.last > LoopNs+own+(start-m.polling)/8 {
					m.polling = 0
				}
			}
			gap(to, own)
			m.from = Edge(path)
			duration := step("duration") - start
			m.last = now
			c := Call{Path: path, Start: start, Duration: duration, Comm: comm, Peer: peer, Out: size}
			switch f.op {
			case OpNToN:
				c.Collective, c.In, c.Peer = true, size/2, NoPeer
			case OpWait, OpTest:
				c.Out, c.Peer = 0, NoPeer
				c.Hit = f.op == OpTest && size%2 == 0
			}
			if f.flags&Nonblocking != 0 && f.op == OpRecv || f.flags&Persistent != 0 {
				c.Out = 0
			}
			class, _, _ := classOf(c.Out | c.In)
			e, sq := m.entry(EntryCall, callKey(path, comm), class)
			add(e, sq, duration)
			if f.op == OpTest && m.polling == 0 {
				m.polling = start
			}
			if c.Hit {
				e.Own += now - m.polling
			}
			if f.op != OpTest || c.Hit {
				m.polling = 0
			}
			switch {
			case c.Hit:
				e.Done++
			case f.flags != 0:
			case f.op == OpSend, f.op == OpPut, f.op == OpSendrecv:
				e.Out += c.Out
			case f.op == OpRecv, f.op == OpGet, f.op == OpFileRead:
				e.In += c.Out
				if f.op == OpRecv {
					e.Done++
				}
			default:
				e.Out += c.Out
				e.In += c.In
			}
			if f.op == OpSendrecv {
				from, in := rapid.Int32Range(0, 7).Draw(t, "from"), size+rapid.Uint64Range(0, 1<<rapid.IntRange(0, 20).Draw(t, "more bits")).Draw(t, "more")
				exchange(tw, c, from, 0, in, rapid.Bool().Draw(t, "one record"))
				class, _, _ := classOf(in)
				e, _ := m.entry(EntryCall, callKey(path, comm), class)
				e.In += in
				e.Done++
				message(Received, path, from, in, 0)
			} else {
				tw.Call(c)
			}
			if directions := map[Op]Direction{OpSend: Sent, OpSendrecv: Sent, OpRecv: Received, OpGet: Got, OpPut: Put}; f.flags == 0 && c.Peer >= 0 {
				if d, ok := directions[f.op]; ok {
					message(d, path, c.Peer, c.Out, duration)
				}
			}
			if f.op == OpWait && peer >= 0 {
				tw.Completed(path, comm, peer, size, false)
				class, _, _ := classOf(size)
				e, _ := m.entry(EntryCall, callKey(path, comm), class)
				e.In += size
				e.Done++
				message(Received, path, peer, size, 0)
			}
		}
	}
}

func (m *reference) compare(t require.TestingT, entries []Entry) {
	for i := range entries {
		e := &entries[i]
		name := fmt.Sprint(e.Kind(), e.key, e.Class)
		want := m.entries[name]
		require.NotNil(t, want, "unexpected entry %s", name)
		delete(m.entries, name)
		got := Entry{key: e.key, mark: uint32(e.Kind()), Class: e.Class, N: e.N, Sum: e.Sum, Min: e.Min, Max: e.Max, Out: e.Out, In: e.In, Done: e.Done, Own: e.Own}
		switch e.Kind() {
		case EntryPeer:
			got.Min, got.Max = want.Min, want.Max // not kept
		case EntryGap:
		default:
			sq := new(big.Int).SetUint64(e.SqHi)
			sq.Lsh(sq, 64).Add(sq, new(big.Int).SetUint64(e.SqLo))
			require.Equal(t, m.sq[name].String(), sq.String(), name)
		}
		require.Equal(t, *want, got, name)
	}
	require.Empty(t, m.entries, "entries that are missing")
}

// compareKept compares what was kept with what was recorded.
func (m *reference) compareKept(t require.TestingT, a *Aggregator) {
	require.EqualValues(t, len(m.invocations), a.t.invocations)
	require.Zero(t, a.t.unkept)
	require.LessOrEqual(t, a.t.kept, uint64(len(m.file.data)))
	var kept []Invocation
	require.NoError(t, ReadInvocations(bytes.NewReader(m.file.data[:a.t.kept]), func(i *Invocation) error {
		c := *i
		c.Values = append([]Value(nil), i.Values...)
		kept = append(kept, c)
		return nil
	}))
	require.Equal(t, m.invocations, kept)
}

func newReference() *reference {
	return &reference{entries: map[string]*Entry{}, sq: map[string]*big.Int{}}
}

func TestAggregatesWhatWasRecorded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, m := NewWriter(0, 8), newReference()
		tw := w.Thread(0, true)
		tw.a.KeepInvocations(&m.file, 1<<30)
		script(t, w, tw, m)
		require.Equal(t, Done, tw.a.Consume())
		m.compare(t, tw.a.Entries())
		m.compareKept(t, tw.a)
	})
}

// A process killed in the middle of a batch: the block is copied at that moment, and read again.
func TestEveryRecordCountsOnceAfterAKill(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, m := NewWriter(0, 8), newReference()
		tw := w.Thread(0, true)
		tw.a.KeepInvocations(&m.file, 1<<30)
		// An earlier batch, so that there is something to damage.
		script(t, w, tw, m)
		if rapid.Bool().Draw(t, "two batches") {
			tw.a.Consume()
		}
		keep := m.last
		script2 := func() { // goes on where the first ended
			tw.Call(Call{Path: w.MPI(0, "MPI_Test", OpTest, Nonblocking), Start: keep, Comm: 1, Peer: NoPeer})
			e, _ := m.entry(EntryGap, gapKey(m.from, Edge(w.MPI(0, "MPI_Test", OpTest, Nonblocking))), 0)
			e.N++
			e.Min, e.Max = min(e.Min, keep), max(e.Max, keep)
			m.from = Edge(w.MPI(0, "MPI_Test", OpTest, Nonblocking))
			c, _ := m.entry(EntryCall, callKey(w.MPI(0, "MPI_Test", OpTest, Nonblocking), 1), 0)
			c.N++
			c.Min = min(c.Min, 0)
		}
		for range rapid.IntRange(0, 20).Draw(t, "more") {
			script2()
		}
		a := tw.a
		at, head := a.t.consumed, a.t.head
		a.begin()
		if at < head {
			killed := a.some(a.ring, at, at+rapid.Uint64Range(0, head-at).Draw(t, "killed after"))
			if rapid.Bool().Draw(t, "written") {
				a.keepInvocations(a.ring, at, killed)
			}
		}
		corpse := bytes.Clone(unsafe.Slice((*byte)(unsafe.Pointer(a.t)), ThreadSpan))
		again := NewAggregator(corpse, AllNodes(w.tables), 1e9)
		again.KeepInvocations(&m.file, 1<<30)
		require.Equal(t, Done, again.Consume())
		m.compare(t, again.Entries())
		m.compareKept(t, again)
	})
}

// Storage for entries is given in small steps, and batches are longer than the undo log.
func TestAsksForRoomAndGoesOn(t *testing.T) {
	w := NewWriter(0, 1)
	tw := w.Thread(0, true)
	tw.a.t.entriesReady = 0
	for i := range 3000 {
		path := w.MPI(w.Node(Node{Parent: 0, Kind: NodeFrame, Key: uint64(i)}), "MPI_Barrier", OpBarrier, 0)
		tw.Call(Call{Path: path, Start: uint64(10 * i), Duration: 5, Comm: 1, Peer: NoPeer, Collective: true})
	}
	asked := 0
	for tw.a.Consume() == MoreEntries {
		tw.a.t.entriesReady += 512
		asked++
	}
	require.Equal(t, 12, asked)
	require.Len(t, tw.a.Entries(), 6000)
	for _, e := range tw.a.Entries() {
		require.EqualValues(t, 1, e.N)
	}
}

// More combinations than entries, or than there is storage for: the rest share one per kind, and the sums stay
// right.
func TestFullTableKeepsTheSums(t *testing.T) {
	for _, ready := range []uint32{0, 64, 512, entriesMax} {
		t.Run(fmt.Sprint(ready, " ready"), func(t *testing.T) { testFullTable(t, ready) })
	}
}

func testFullTable(t *testing.T, ready uint32) {
	w := NewWriter(0, 1)
	tw := w.Thread(0, true)
	tw.a.t.entriesReady, tw.a.t.entriesFull = ready, 1
	const paths, calls = 20000, 60000
	for i := range calls {
		path := w.MPI(w.Node(Node{Parent: 0, Kind: NodeFrame, Key: uint64(i % paths)}), "MPI_Barrier", OpBarrier, 0)
		tw.Call(Call{Path: path, Start: uint64(10 * i), Duration: 4, Comm: uint16(1 + i/paths), Peer: NoPeer, Collective: true})
	}
	require.Equal(t, Done, tw.a.Consume())
	var n, sum [8]uint64
	for i := range tw.a.Entries() {
		e := &tw.a.Entries()[i]
		n[e.Kind()] += e.N
		sum[e.Kind()] += e.Sum
		if e.Kind() == EntryCall {
			require.Equal(t, OpBarrier, e.Op, "what share an entry are calls of one operation")
		}
	}
	require.EqualValues(t, calls, n[EntryCall])
	require.EqualValues(t, calls, n[EntryGap])
	require.EqualValues(t, 4*calls, sum[EntryCall])
	require.EqualValues(t, 6*(calls-1), sum[EntryGap])
	require.Positive(t, tw.a.t.entriesLost)
	require.LessOrEqual(t, len(tw.a.Entries()), int(max(ready, entriesSpared)))
}

// Beyond the room for them, and where nothing can be written, invocations are counted.
func TestInvocationsWithoutRoomAreCounted(t *testing.T) {
	for _, c := range []struct {
		name   string
		file   io.WriterAt
		most   uint64
		unkept uint64
	}{
		{"room", &memory{}, 1 << 30, 0},
		{"some room", &memory{}, 1, 10000 - records}, // what is begun is finished
		{"no room", &memory{}, 0, 10000},
		{"no file", nil, 1 << 30, 10000},
		{"a full disk", fullDisk{}, 1 << 30, 10000},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := NewWriter(0, 1)
			tw := w.Thread(0, true)
			if c.file != nil {
				tw.a.KeepInvocations(c.file, c.most)
			}
			node := w.Node(Node{Kind: NodeComponent, Key: uint64(w.String("Flux")), Name: w.String("compute")})
			for i := range uint64(10000) {
				tw.Invoke(Invocation{Path: node, Start: 100 * i, Wall: 60, Values: []Value{{Name: 1, Bits: i}}})
			}
			require.Equal(t, Done, tw.a.Consume())
			require.EqualValues(t, 10000, tw.a.t.invocations)
			require.EqualValues(t, c.unkept, tw.a.t.unkept)
			kept := uint64(0)
			if file, ok := c.file.(*memory); ok {
				require.NoError(t, ReadInvocations(bytes.NewReader(file.data[:tw.a.t.kept]), func(i *Invocation) error {
					require.Equal(t, Invocation{Path: node, Start: 100 * kept, Wall: 60, Values: []Value{{Name: 1, Bits: kept}}}, *i)
					kept++
					return nil
				}))
			}
			require.EqualValues(t, 10000, kept+c.unkept)
			require.Len(t, tw.a.Entries(), 4)
		})
	}
}

type fullDisk struct{}

func (fullDisk) WriteAt([]byte, int64) (int, error) { return 0, errors.New("no space") }

func TestConsumingDoesNotAllocate(t *testing.T) {
	w := NewWriter(0, 8)
	tw := w.Thread(0, true)
	path := w.MPI(0, "MPI_Send", OpSend, 0)
	now := uint64(0)
	batch := func() {
		for range 1000 {
			now += 10
			tw.Call(Call{Path: path, Start: now, Duration: 3, Comm: 1, Peer: int32(now % 7), Out: 100})
		}
		tw.a.Consume()
	}
	batch()
	require.Zero(t, testing.AllocsPerRun(100, batch))
}

// Whatever a damaged file holds, reading it ends, without a panic.
func FuzzConsume(f *testing.F) {
	f.Add([]byte{0, 0, 3, 2, 0xff, 0, 0, 7, 9, 1}, uint64(5), uint64(0))
	f.Fuzz(func(t *testing.T, noise []byte, head, consumed uint64) {
		w := NewWriter(0, 2)
		tw := w.Thread(0, true)
		block := unsafe.Slice((*byte)(unsafe.Pointer(tw.a.t)), ThreadSpan)
		for i, b := range noise {
			block[(uint64(i)*2654435761+uint64(b))%uint64(len(block))] = b
		}
		if len(noise) > 0 {
			copy(block[ringAt:], bytes.Repeat(noise, min(200, 1+100000/len(noise))))
		}
		tw.a.t.head, tw.a.t.consumed = head, consumed
		p, err := Open(w.tables, [][]byte{block})
		require.NoError(t, err)
		p.GiveRoom(0)
		p.Consume(0)
		p.Threads()
	})
}

func FuzzReadInvocations(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{7, 0, 0, 0, kindLeaf << 4, 5, 100, 3, 0, kindLeaf << 4, 5})
	f.Fuzz(func(t *testing.T, data []byte) {
		n := 0
		_ = ReadInvocations(bytes.NewReader(data), func(i *Invocation) error {
			n++
			return nil
		})
		require.LessOrEqual(t, n, len(data))
	})
}

// Calls of the overflow node itself, for which the table of nodes was full, find no more room than others.
func TestFullTableOfCallsWithoutPath(t *testing.T) {
	w := NewWriter(0, 1)
	a := w.Thread(0, true).a
	a.t.entriesReady, a.t.entriesFull = 512, 1
	for comm := range uint64(400) {
		for _, bytes := range []uint64{8, 1000, 100000} {
			a.find(EntryCall, uint64(overflowNode)|comm<<32, bytes)
		}
	}
	require.LessOrEqual(t, a.t.entries, uint32(512))
	require.Positive(t, a.t.entriesLost)
}
