package waitstate

import (
	"fmt"
	"math/bits"
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"marple/analysis/callgraph"
	"marple/analysis/record"
)

// script writes what one rank would have logged, without those of others: so that there may be many.
type script struct {
	r    *Rank
	now  int64
	rank int
	n    int // ranks
}

func (s *script) call(ns int64) uint32 {
	s.now += 100 + int64(s.rank*7919%37)
	s.r.Calls = append(s.r.Calls, Call{Start: s.now, End: s.now + ns, Path: 1, Gap: 2})
	s.r.Main++
	s.now += ns
	return uint32(len(s.r.Calls) - 1)
}

func (s *script) send(to int) { s.message(&s.r.Sends, to, NotDone) }

// receive posts a receive that done completes: a later call, or the one that posts it.
func (s *script) receive(from int, done uint32) { s.message(&s.r.Receives, from, done) }

func (s *script) message(list *[]Message, peer int, done uint32) {
	call := s.call(10)
	*list = append(*list, Message{Comm: 7, Peer: int32(peer), Bytes: 64, At: call, Done: done})
	if done == itself {
		(*list)[len(*list)-1].Done = call
	}
}

const itself = NotDone - 1

func (s *script) meet(comm uint32, kind Kind, root int32) {
	call := s.call(20)
	s.r.Collectives = append(s.r.Collectives, Collective{Comm: comm, Kind: kind, Pattern: patternOf[kind], Root: root, At: call, Done: call})
}

const scaleSteps = 12

// designs of programs, on a square number of ranks that is a multiple of 16.
var designs = map[string]func(s *script, side int){
	"halo": func(s *script, side int) {
		x, y := s.rank%side, s.rank/side
		neighbours := []int{(x+1)%side + y*side, (x+side-1)%side + y*side, x + (y+1)%side*side, x + (y+side-1)%side*side}
		for range scaleSteps {
			wait := uint32(len(s.r.Calls) + 8)
			for k := range 4 {
				s.receive(neighbours[k], wait)
			}
			for k := range 4 {
				s.send(neighbours[k])
			}
			s.call(30)
		}
		s.meet(0, AllToAll, 0)
	},
	"wavefront": func(s *script, side int) {
		x, y := s.rank%side, s.rank/side
		for step := range scaleSteps {
			back := 1 - 2*(step/4%2) // from the other corner
			for _, d := range [][2]int{{-back, 0}, {0, -back}} {
				if u, v := x+d[0], y+d[1]; u >= 0 && u < side && v >= 0 && v < side {
					s.receive(u+v*side, itself)
				}
			}
			for _, d := range [][2]int{{back, 0}, {0, back}} {
				if u, v := x+d[0], y+d[1]; u >= 0 && u < side && v >= 0 && v < side {
					s.send(u + v*side)
				}
			}
		}
	},
	"farm": func(s *script, _ int) {
		for range scaleSteps {
			if s.rank > 0 {
				s.send(0)
				s.receive(0, itself)
				continue
			}
			for worker := 1; worker < s.n; worker++ {
				s.receive(worker, itself)
				s.send(worker)
			}
		}
	},
	"tree": func(s *script, _ int) {
		for step := range scaleSteps {
			s.meet(0, ToRoot, int32(step*31%s.n))
			s.meet(0, FromRoot, int32(step*17%s.n))
			s.meet(0, Prefix, 0)
			s.meet(1, AllToAll, 0)
		}
	},
	"all-to-all": func(s *script, _ int) {
		group := s.rank / 16 * 16
		for range scaleSteps / 4 {
			for k := 1; k < 16; k++ {
				s.send(group + (s.rank+k)%16)
			}
			for k := 1; k < 16; k++ {
				s.receive(group+(s.rank+16-k)%16, itself)
			}
			s.meet(0, AllToAll, 0)
		}
	},
}

func scripted(design string, rank, n, side int) *Rank {
	r := &Rank{Paths: []callgraph.ID{OffCore, 10, 4}}
	r.Comms = []Comm{{ID: 7, Members: []record.Run{{Stride: 1, Count: uint32(n)}}, Size: uint32(n), Me: int32(rank)}}
	row := uint32(rank / side * side)
	r.Comms = append(r.Comms, Comm{ID: 100 + uint64(row), Members: []record.Run{{First: row, Stride: 1, Count: uint32(side)}}, Size: uint32(side), Me: int32(rank % side)})
	s := &script{r: r, rank: rank, n: n}
	designs[design](s, side)
	r.End = s.now
	r.number()
	return r
}

// What a replay by all ranks takes of each, and of rank 0, whose events no other rank's are: messages and bytes for each event, and
// memory, are about the same however many ranks there are. In a tree rank 0 has a message more for each doubling of ranks.
func TestScaleOfReplay(t *testing.T) {
	sizes := []int{16, 64, 256}
	if os.Getenv("MARPLE_TEST_LONG") != "" {
		sizes = append(sizes, 1024, 4096, 16384)
	}
	type cost struct{ messages, bytes, memory float64 }
	for design := range designs {
		costs := map[int]cost{}
		for _, n := range sizes {
			side := 1 << (bits.Len(uint(n)) / 2)
			ranks := make([]*Rank, n)
			for i := range ranks {
				ranks[i] = scripted(design, i, n, side)
			}
			own, heap := make([]*Program, n), heapNow()
			require.NoError(t, together(ranks, func(r *Rank, d desk) error {
				x := newReplay(r, d)
				if err := x.match(); err != nil {
					return err
				}
				told, err := x.tell()
				if err != nil {
					return err
				}
				p, err := x.apart(told)
				if err != nil {
					return err
				}
				before := p.with.posted
				own[d.rank] = p
				if _, err = p.under(IdealNetwork()); err != nil {
					return err
				}
				if design == "tree" && d.rank == 0 {
					// Three operations of all ranks in four, one of a row; reports and verdicts.
					most := uint64(scaleSteps*3*bits.Len(uint(n)) + scaleSteps*bits.Len(uint(side)) + bits.Len(uint(n)))
					assert.LessOrEqual(t, p.with.posted-before, most, "rank 0 of %d", n)
				}
				return nil
			}))
			memory := heapNow() - heap
			var events, c = 0., cost{}
			for i, p := range own {
				events += float64(len(ranks[i].Calls))
				c.messages, c.bytes = c.messages+float64(p.with.posted), c.bytes+float64(p.with.bytes)
			}
			c = cost{c.messages / events / 2, c.bytes / events / 2, memory / events} // two replays: as it was, and ideal
			costs[n] = c
			t.Logf("%-10s %6d ranks, %4.1f events each: %.2f messages and %4.1f bytes an event and replay; %3.0f bytes of memory an event", design, n, events/float64(n), c.messages, c.bytes, c.memory)
			runtime.KeepAlive(own)
		}
		for _, n := range sizes[1:] {
			assert.Less(t, costs[n].messages, 2., "%s on %d ranks: an operation has a message up the tree and one down", design, n)
			for what, pair := range map[string][2]float64{"messages": {costs[n].messages, costs[sizes[0]].messages}, "bytes": {costs[n].bytes, costs[sizes[0]].bytes}, "memory": {costs[n].memory, costs[sizes[0]].memory}} {
				assert.Less(t, pair[0], 1.6*pair[1], fmt.Sprintf("%s of %s on %d ranks", what, design, n))
			}
		}
	}
}

func heapNow() float64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}
