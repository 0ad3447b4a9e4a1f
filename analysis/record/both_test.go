package record

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// exchange records a call that sends and receives: in one record, where that has room for it, or in two.
func exchange(tw *ThreadWriter, c Call, from, tag int32, in uint64, one bool) {
	more := int64(in) - int64(c.Out)
	if !one || c.Peer != int32(int16(c.Peer)) || from != int32(int16(from)) || c.Tag != tag || tag != int32(uint16(tag)) ||
		more != int64(int16(more)) || c.Out>>32 != 0 {
		tw.Call(c)
		tw.ReceivedAs(c.Path, c.Comm, from, tag, in)
		return
	}
	if (c.Duration|c.Out)>>31 != 0 {
		tw.put(wordsRecord(kindWide, c.Duration, c.Out, 0))
	}
	if c.Runnable|c.Blocked != 0 {
		tw.put(wordsRecord(kindInside, c.Runnable, c.Blocked, 0))
	}
	flags := uint8(flagBoth)
	if c.Failed {
		flags |= flagFailed
	}
	b := both{start: c.Start, duration: uint32(c.Duration), bytes: uint32(c.Out), to: int16(c.Peer), from: int16(from), tag: uint16(tag), more: int16(more),
		what: makeWhat(c.Path, c.Comm, kindCall, flags)}
	tw.a.t.made[OpSendrecv]++
	tw.put(*(*record)(unsafe.Pointer(&b)))
}

// The same calls in one record each and in two have the same aggregates, byte for byte, and the same events in the log.
func TestOneRecordOfACallThatSendsAndReceivesIsAsGoodAsTwo(t *testing.T) {
	single := 0
	rapid.Check(t, func(t *rapid.T) {
		var w [2]*Writer
		var tw [2]*ThreadWriter
		var logs [2]*Log
		var paths []uint32
		ready := rapid.SampledFrom([]uint32{entriesMax, entriesMax, 80}).Draw(t, "room for entries")
		for i := range w {
			w[i] = NewWriter(0, 8)
			tw[i] = w[i].Thread(0, true)
			tw[i].a.t.entriesReady, tw[i].a.t.entriesFull = ready, 1
			logs[i] = tw[i].Keep(&Budget{Memory: 1 << 24, Total: 1 << 24})
			paths = []uint32{w[i].MPI(0, "MPI_Sendrecv", OpSendrecv, 0), w[i].MPI(0, "MPI_Sendrecv_replace", OpSendrecv, 0), w[i].MPI(0, "MPI_Barrier", OpBarrier, 0), overflowNode}
		}
		now := uint64(0)
		repeat := rapid.SampledFrom([]int{1, 3, 300}).Draw(t, "repeat")
		for range rapid.IntRange(1, 40).Draw(t, "calls") {
			path := rapid.SampledFrom(paths).Draw(t, "path")
			gap := rapid.Uint64Max(1<<16).Draw(t, "gap")
			size := rapid.Uint64Max(1<<rapid.IntRange(0, 33).Draw(t, "size bits")).Draw(t, "size")
			c := Call{Path: path, Duration: rapid.Uint64Max(1<<rapid.SampledFrom([]int{8, 8, 34}).Draw(t, "duration bits")).Draw(t, "duration"),
				Comm: uint16(rapid.IntRange(1, 2).Draw(t, "comm")), Peer: rapid.Int32Range(ProcNull, 7).Draw(t, "to"), Out: size,
				Tag: rapid.SampledFrom([]int32{0, 1, 40000, 1 << 16}).Draw(t, "tag"), Failed: rapid.IntRange(0, 9).Draw(t, "cut off") == 0}
			if rapid.IntRange(0, 9).Draw(t, "off the core") == 0 {
				c.Runnable, c.Blocked = gap/2, c.Duration/2
			}
			from := rapid.SampledFrom([]int32{0, 1, 7, 40000}).Draw(t, "from")
			tag := rapid.SampledFrom([]int32{c.Tag, c.Tag, 5}).Draw(t, "their tag")
			in := uint64(max(0, int64(size)+rapid.Int64Range(-1<<16, 1<<16).Draw(t, "more")*int64(rapid.IntRange(0, 1).Draw(t, "differs"))))
			for range repeat {
				now += gap
				c.Start = now
				for i := range w {
					if path == paths[2] {
						tw[i].Call(Call{Path: path, Start: now, Duration: c.Duration, Comm: c.Comm, Peer: NoPeer, Collective: true})
					} else {
						exchange(tw[i], c, from, tag, in, i == 1)
					}
				}
				now += c.Duration
			}
		}
		for i := range w {
			require.Equal(t, Done, tw[i].a.Consume())
		}
		single += int(tw[0].a.t.head - tw[1].a.t.head)
		require.Equal(t, len(tw[0].a.Entries()), len(tw[1].a.Entries()))
		for i := range tw[0].a.Entries() {
			x, y := tw[0].a.entries[i], tw[1].a.entries[i]
			x.mark, y.mark = uint32(x.Kind()), uint32(y.Kind()) // batches are what fits a ring
			require.Equal(t, x, y)
		}
		require.Equal(t, tw[0].a.t.entriesLost, tw[1].a.t.entriesLost)
		require.Equal(t, logged(t, logs[0].Each), logged(t, logs[1].Each))
		require.Equal(t, logs[0].Events(), logs[1].Events())
	})
	require.Positive(t, single)
}

// The log of such calls has one definition, and two numbers, for both events.
func TestLogOfCallsThatSendAndReceiveIsCompact(t *testing.T) {
	w := NewWriter(0, 8)
	tw := w.Thread(0, true)
	l := tw.Keep(&Budget{Memory: 1 << 24, Total: 1 << 24})
	path := w.MPI(0, "MPI_Sendrecv", OpSendrecv, 0)
	now := uint64(0)
	step := func() {
		now += 1000
		exchange(tw, Call{Path: path, Start: now, Duration: 300, Comm: 1, Peer: 1, Out: 800}, 2, 0, 808, true)
	}
	for range 10_000 {
		step()
	}
	require.Equal(t, Done, tw.a.Consume())
	require.EqualValues(t, 10_000, tw.a.t.head)
	require.EqualValues(t, 20_000, l.Events())
	require.Less(t, float64(l.Bytes())/float64(l.Events()), 3.5)
	require.Zero(t, testing.AllocsPerRun(100, func() { step(); tw.a.Consume() }))
}
