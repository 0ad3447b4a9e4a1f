package record

import "testing"

// A ring full of calls, as a time step of a stencil code leaves them: 2×(Irecv, Isend), Waitall with two
// completions, Allreduce.
func BenchmarkConsume(b *testing.B) {
	block := make([]byte, ThreadSpan)
	nodes := make([]Node, 64)
	ops := []Op{OpRecv, OpRecv, OpSend, OpSend, OpWait, OpNToN}
	for i, op := range ops {
		nodes[i+10] = Node{Kind: NodeMPI, Op: op}
		if i < 4 {
			nodes[i+10].Flags = Nonblocking
		}
	}
	a := NewAggregator(block, nodes, 1e9)
	a.t.entriesReady = entriesMax
	tick := uint64(1000)
	var pattern []record
	add := func(path uint32, peer int32, bytes uint32, kind, flags uint8) {
		pattern = append(pattern, record{duration: 50, peer: peer, bytes: bytes, what: makeWhat(path, 1, kind, flags)})
	}
	add(10, 1, 0, kindCall, flagStarted)
	add(11, 2, 0, kindCall, flagStarted)
	add(12, 1, 800, kindCall, flagStarted|flagComplete)
	add(13, 2, 800, kindCall, flagStarted|flagComplete)
	add(14, NoPeer, 0, kindCall, 0)
	add(10, 1, 0, kindCompleted, 0)
	add(11, 2, 0, kindCompleted, 0)
	add(15, NoPeer, 8, kindCall, flagCollective)
	for i := range a.ring {
		a.ring[i] = pattern[i%len(pattern)]
		r := &a.ring[i]
		if r.what.kind() == kindCall {
			r.start = tick
			tick += 100
		} else {
			r.start = 800
		}
	}
	for b.Loop() {
		a.t.head += records
		if a.Consume() != Done {
			b.Fatal()
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/records, "ns/record")
	b.ReportAllocs()
}

func BenchmarkConsumeOneCall(b *testing.B) {
	block := make([]byte, ThreadSpan)
	nodes := make([]Node, 64)
	nodes[10] = Node{Kind: NodeMPI, Op: OpTest, Flags: Nonblocking}
	a := NewAggregator(block, nodes, 1e9)
	a.t.entriesReady = entriesMax
	for i := range a.ring {
		a.ring[i] = record{start: uint64(i) * 100, duration: 50, what: makeWhat(10, 1, kindCall, 0)}
	}
	for b.Loop() {
		a.t.head += records
		if a.Consume() != Done {
			b.Fatal()
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/records, "ns/record")
}

// Invocations of two methods by turns, in which nothing happens, with a parameter each.
func BenchmarkConsumeInvocations(b *testing.B) {
	for _, kept := range []bool{false, true} {
		b.Run(map[bool]string{false: "counted", true: "kept"}[kept], func(b *testing.B) {
			block := make([]byte, ThreadSpan)
			a := NewAggregator(block, make([]Node, 64), 1e9)
			a.t.entriesReady = entriesMax
			if kept {
				a.KeepInvocations(discard{}, 1<<60)
			}
			for i := range a.ring {
				a.ring[i] = record{start: uint64(i+1) * 100, duration: 50, bytes: 7, what: makeWhat(10+uint32(i&1), 0, kindLeaf, 0)}
			}
			for b.Loop() {
				a.t.head += records
				if a.Consume() != Done {
					b.Fatal()
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/records, "ns/invocation")
			b.ReportAllocs()
		})
	}
}

type discard struct{}

func (discard) WriteAt(p []byte, _ int64) (int, error) { return len(p), nil }
