package world

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// The tests script whole ranks and compare what every call returned: its time,
// "<s" for data or an envelope from source s, "@i" for position i of a wait,
// "-" for a test that failed and "x" for a cancelled receive.

// Costs are chosen so that no two add up alike: G(b) = b/10.
var (
	machine = Config{Virtual: true, Latency: 1000, Bandwidth: 10000, Eager: 4096, Tick: 100}
	busy    = Config{Virtual: true, Latency: 1000, Bandwidth: 10000, Eager: 4096, Tick: 100, Overhead: 300}
	weak    = Config{Virtual: true, Latency: 1000, Bandwidth: 10000, Eager: 4096, Tick: 100, Weak: true}
)

type step struct {
	compute uint64
	name    string
	block   bool
	op      Op
	wait    []int // the requests of a Wait, Cancel or Free by order of posting
	mrecv   bool  // receive the message held last
}

func compute(ns uint64) step { return step{compute: ns} }

func do(op Op) step   { return step{name: fmt.Sprintf("%T", op), block: true, op: op} }
func post(op Op) step { return step{name: fmt.Sprintf("%T", op), op: op} }

const context = 1

func send(dest, bytes int) *Send {
	return &Send{Dest: dest, Tag: 7, Context: context, Data: make([]byte, bytes)}
}

func mode(m Mode, s *Send) *Send       { s.Mode = m; return s }
func tagged(tag int, s *Send) *Send    { s.Tag = tag; return s }
func on(context uint64, s *Send) *Send { s.Context = context; return s }

func recv(source int) *Recv         { return &Recv{Source: source, Tag: AnyTag, Context: context} }
func recvTag(source, tag int) *Recv { return &Recv{Source: source, Tag: tag, Context: context} }
func recvOn(c uint64, s int) *Recv  { return &Recv{Source: s, Tag: AnyTag, Context: c} }
func probe(source int) *Probe       { return &Probe{Source: source, Tag: AnyTag, Context: context} }
func mprobe(source int) *Probe {
	return &Probe{Source: source, Tag: AnyTag, Context: context, Take: true}
}

func wait(need Need, requests ...int) step {
	return step{name: "wait", block: true, op: &Wait{Need: need}, wait: requests}
}

func test(need Need, requests ...int) step {
	return step{name: "test", op: &Wait{Need: need}, wait: requests}
}

func peek(request int) step {
	return step{name: "peek", op: &Wait{Need: All, Peek: true}, wait: []int{request}}
}

func cancel(request int) step { return step{name: "cancel", op: &Cancel{}, wait: []int{request}} }
func free(request int) step   { return step{name: "free", op: &Free{}, wait: []int{request}} }

func mrecv() step { return step{name: "mrecv", block: true, op: &Recv{}, mrecv: true} }

func members(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

func collective(shape Shape, root, n int, bytes ...int) *Collective {
	c := &Collective{Context: context, Members: members(n), Shape: shape, Root: root}
	for _, b := range bytes {
		c.Bytes += uint64(b)
		c.Chunks = append(c.Chunks, make([]byte, b))
	}
	return c
}

type script struct {
	steps    []step
	requests []uint64
	held     uint64
	trace    []string
}

// next submits the rank's next call after a reply at the given time.
func (s *script) next(w *World, rank int, now uint64) ([]Reply, error) {
	for len(s.steps) > 0 {
		st := s.steps[0]
		s.steps = s.steps[1:]
		if st.op == nil {
			now += st.compute
			continue
		}
		switch op := st.op.(type) {
		case *Wait:
			for _, i := range st.wait {
				id := uint64(0)
				if i >= 0 {
					id = s.requests[i]
				}
				op.Requests = append(op.Requests, id)
			}
		case *Cancel:
			op.Request = s.requests[st.wait[0]]
		case *Free:
			op.Request = s.requests[st.wait[0]]
		case *Recv:
			if st.mrecv {
				op.Message = s.held
			}
		}
		return w.Submit(rank, Call{Name: st.name, Time: now, Block: st.block, Op: st.op})
	}
	return w.Exit(rank)
}

func (s *script) record(op Op, block bool, r Reply) {
	text := fmt.Sprint(r.Time)
	_, isWait := op.(*Wait)
	_, isProbe := op.(*Probe)
	if (isWait || isProbe) && !r.Flag {
		text += "-"
	}
	for _, result := range r.Results {
		if isWait {
			text += fmt.Sprintf("@%d", result.Key)
		}
		if isProbe {
			s.held = result.Base
		}
		if isProbe || len(result.Chunks) == 1 && result.Base == 0 {
			text += fmt.Sprintf("<%d", result.Source)
		}
		if result.Cancelled {
			text += "x"
		}
	}
	for _, result := range r.Late {
		text += fmt.Sprintf(" late<%d", result.Source)
	}
	switch op.(type) {
	case *Send, *Recv, *Collective:
		if !block {
			s.requests = append(s.requests, r.Request)
		}
	}
	s.trace = append(s.trace, text)
}

// play runs the scripts, submitting in the given order where there is a choice,
// which must make no difference in virtual time.
func play(cfg Config, programs [][]step, order []int) ([]string, *World, error) {
	cfg.Ranks = len(programs)
	w := New(cfg)
	scripts := make([]*script, len(programs))
	for i, p := range programs {
		scripts[i] = &script{steps: slices.Clone(p)}
		for j := range scripts[i].steps {
			scripts[i].steps[j].op = clone(scripts[i].steps[j].op)
		}
	}
	current := make([]step, len(programs))
	resume := make(map[int]uint64)
	for i := range scripts {
		resume[i] = 0
	}
	for len(resume) > 0 {
		for _, i := range order {
			now, ok := resume[i]
			if !ok {
				continue
			}
			delete(resume, i)
			for _, s := range scripts[i].steps {
				if s.op != nil {
					current[i] = s
					break
				}
			}
			replies, err := scripts[i].next(w, i, now)
			if err != nil {
				return nil, w, err
			}
			for _, r := range replies {
				c := current[r.Rank]
				scripts[r.Rank].record(c.op, c.block, r)
				if _, last := c.op.(*Finalize); !last {
					resume[r.Rank] = r.Time
				}
			}
		}
	}
	var traces []string
	for _, s := range scripts {
		traces = append(traces, strings.Join(s.trace, " "))
	}
	return traces, w, nil
}

func clone(op Op) Op {
	switch o := op.(type) {
	case *Wait:
		c := *o
		return &c
	case *Cancel:
		return &Cancel{}
	case *Free:
		return &Free{}
	case *Recv:
		c := *o
		return &c
	}
	return op
}

func TestVirtualTime(t *testing.T) {
	bcast := func(n int) *Collective { return collective(FromRoot, 0, n, 500) }
	for _, tc := range []struct {
		name     string
		cfg      *Config
		programs [][]step
		want     []string
	}{
		{
			name: "eager send goes on at once, receive completes on arrival",
			programs: [][]step{
				{compute(50), do(send(1, 100)), do(send(1, 0))},
				{do(recv(0)), do(recv(0))},
			},
			want: []string{"50 50", "1060<0 1060<0"},
		},
		{
			name: "messages keep both sides busy",
			cfg:  &busy,
			programs: [][]step{
				{compute(50), do(send(1, 100)), post(send(1, 0)), wait(All, 0), do(send(1, 5000))},
				{do(recv(0)), do(recv(0)), do(recv(0))},
			},
			want: []string{"350 650 650@0 3460", "1660<0 1960<0 3760<0"},
		},
		{
			name: "a late receive completes when it is posted",
			programs: [][]step{
				{do(send(1, 100))},
				{compute(5000), do(recv(0))},
			},
			want: []string{"0", "5000<0"},
		},
		{
			name: "a small message does not overtake a big one of its pair",
			programs: [][]step{
				{do(send(1, 4000)), compute(10), do(send(1, 0))},
				{do(recv(0)), do(recv(0))},
			},
			want: []string{"0 10", "1400<0 1400<0"},
		},
		{
			name: "FIFO binds only messages of the same context",
			programs: [][]step{
				{do(send(1, 4000)), compute(10), do(on(2, send(1, 0)))},
				{do(recvOn(2, 0)), do(recv(0))},
			},
			want: []string{"0 10", "1010<0 1400<0"},
		},
		{
			name: "and only of the same source",
			programs: [][]step{
				{do(send(2, 4000))},
				{compute(10), do(send(2, 0))},
				{do(recv(AnySource)), do(recv(AnySource))},
			},
			want: []string{"0", "10", "1010<1 1400<0"},
		},
		{
			name: "the eager limit is inclusive; one byte more is a rendezvous",
			programs: [][]step{
				{do(send(1, 4096)), do(send(1, 4097))},
				{compute(3000), do(recv(0)), do(recv(0))},
			},
			want: []string{"0 4409", "3000<0 4409<0"},
		},
		{
			name: "rendezvous with an early receive starts at the send",
			programs: [][]step{
				{compute(2000), do(send(1, 10000))},
				{do(recv(0))},
			},
			want: []string{"4000", "4000<0"},
		},
		{
			name: "rendezvous of a non-blocking receive starts when it was posted",
			programs: [][]step{
				{do(send(1, 10000))},
				{compute(1500), post(recv(0)), compute(9000), wait(All, 0)},
			},
			want: []string{"3500", "1500 10500@0<0"},
		},
		{
			name: "with weak progress a rendezvous waits for who computes",
			cfg:  &weak,
			programs: [][]step{
				{post(send(1, 10000)), compute(9000), wait(All, 0)},
				{do(recv(0))},
			},
			want: []string{"0 11000@0", "11000<0"},
		},
		{
			name: "which may be the receiver",
			cfg:  &weak,
			programs: [][]step{
				{do(send(1, 10000))},
				{post(recv(0)), compute(9000), wait(All, 0)},
			},
			want: []string{"11000", "0 11000@0<0"},
		},
		{
			name: "synchronous sends wait at any size",
			programs: [][]step{
				{do(mode(Synchronous, send(1, 10)))},
				{compute(700), do(recv(0))},
			},
			want: []string{"1701", "1701<0"},
		},
		{
			name: "ready and buffered sends are eager at any size",
			programs: [][]step{
				{do(mode(Eager, send(1, 20000)))},
				{do(recv(0))},
			},
			want: []string{"0", "3000<0"},
		},
		{
			name: "a rendezvous is not complete before its envelope may arrive",
			programs: [][]step{
				{do(mode(Eager, send(1, 20000))), do(mode(Synchronous, send(1, 0)))},
				{do(recv(0)), do(recv(0))},
			},
			want: []string{"0 4000", "3000<0 4000<0"},
		},
		{
			name: "with the second receive posted early, FIFO sets the time",
			programs: [][]step{
				{do(mode(Eager, send(1, 20000))), do(mode(Synchronous, send(1, 0)))},
				{post(recv(0)), post(recv(0)), wait(All, 0, 1)},
			},
			want: []string{"0 3000", "0 0 3000@0<0@1<0"},
		},
		{
			name: "non-blocking sends: eager is complete, rendezvous at its end",
			programs: [][]step{
				{post(send(1, 10)), post(send(1, 5000)), compute(20), wait(All, 1)},
				{do(recv(0)), compute(100), do(recv(0))},
			},
			want: []string{"0 0 2601@0", "1001<0 2601<0"},
		},
		{
			name: "wait completes at once for what is complete",
			programs: [][]step{
				{do(send(1, 10))},
				{post(recv(0)), compute(4000), wait(All, 0)},
			},
			want: []string{"0", "0 4000@0<0"},
		},
		{
			name: "wildcard takes the earliest arrival",
			programs: [][]step{
				{compute(30), do(send(2, 0))},
				{compute(20), do(send(2, 0))},
				{do(recv(AnySource)), do(recv(AnySource))},
			},
			want: []string{"30", "20", "1020<1 1030<0"},
		},
		{
			name: "wildcard ties go to the lowest source, posted before or after",
			programs: [][]step{
				{do(recv(AnySource)), compute(1000), do(recv(AnySource)), do(recv(AnySource))},
				{compute(500), do(send(0, 0))},
				{compute(500), do(send(0, 0))},
				{compute(500), do(send(0, 0))},
			},
			want: []string{"1500<1 2500<2 2500<3", "500", "500", "500"},
		},
		{
			name: "for a wildcard a rendezvous arrives with its envelope",
			programs: [][]step{
				{do(send(2, 10000))},
				{compute(50), do(send(2, 10))},
				{do(recv(AnySource)), do(recv(AnySource))},
			},
			want: []string{"2000", "50", "2000<0 2000<1"},
		},
		{
			name: "tags select, order is kept within a tag",
			programs: [][]step{
				{do(tagged(1, send(1, 0))), do(tagged(2, send(1, 10))), do(tagged(1, send(1, 20)))},
				{do(recvTag(0, 2)), do(recvTag(0, 1)), do(recvTag(0, 1))},
			},
			want: []string{"0 0 0", "1001<0 1001<0 1002<0"},
		},
		{
			name: "blocking probe completes when the envelope arrives",
			programs: [][]step{
				{compute(100), do(send(1, 10000))},
				{do(probe(0)), compute(1), do(recv(0)), do(probe(AnySource)), do(recv(2))},
				{compute(4000), do(send(1, 10))},
			},
			want: []string{"3101", "1100<0 3101<0 5001<2 5001<2", "4000"},
		},
		{
			name: "probe of what has arrived completes at once",
			programs: [][]step{
				{do(send(1, 10))},
				{compute(2000), do(probe(0)), do(recv(0))},
			},
			want: []string{"0", "2000<0 2000<0"},
		},
		{
			name: "a non-blocking probe costs one tick either way",
			programs: [][]step{
				{do(send(1, 10))},
				{compute(950), post(probe(0)), post(probe(0)), do(recv(0))},
			},
			want: []string{"0", "1050- 1150<0 1150<0"},
		},
		{
			name: "what arrives at the instant of a probe is seen",
			programs: [][]step{
				{do(send(1, 0))},
				{compute(1000), post(probe(0)), do(recv(0))},
			},
			want: []string{"0", "1100<0 1100<0"},
		},
		{
			name: "a matched probe takes the message out of other receives' sight",
			programs: [][]step{
				{do(send(1, 10)), do(send(1, 6000))},
				{do(mprobe(0)), do(recv(0)), mrecv()},
			},
			want: []string{"0 2601", "1001<0 2601<0 2601<0"},
		},
		{
			name: "a rendezvous that a probe took starts when its receive is posted",
			programs: [][]step{
				{do(send(1, 6000))},
				{do(mprobe(0)), compute(10), mrecv()},
			},
			want: []string{"2610", "1000<0 2610<0"},
		},
		{
			name: "test looks on entry and costs one tick",
			programs: [][]step{
				{do(send(1, 0))},
				{post(recv(0)), compute(900), test(All, 0), test(All, 0)},
			},
			want: []string{"0", "0 1000- 1100@0<0"},
		},
		{
			name: "peek leaves the request",
			programs: [][]step{
				{do(send(1, 0))},
				{post(recv(0)), peek(0), compute(1000), peek(0), wait(All, 0)},
			},
			want: []string{"0", "0 100- 1200@0 1200@0<0"},
		},
		{
			name: "a test that is satisfied only in part returns nothing for All",
			programs: [][]step{
				{do(send(1, 0)), compute(3000), do(send(1, 0))},
				{
					post(recv(0)), post(recv(0)), compute(2000),
					test(All, 0, 1), test(Some, 0, 1), test(Any, 1), wait(Any, 1),
				},
			},
			want: []string{"0 3000", "0 0 2100- 2200@0<0 2300- 4000@0<0"},
		},
		{
			name: "waitany returns at the first completion, lowest position first",
			programs: [][]step{
				{compute(500), do(send(2, 0))},
				{compute(200), do(send(2, 0))},
				{
					post(recv(0)), post(recv(1)), wait(Any, 0, 1), compute(5000),
					wait(Any, 0),
				},
			},
			want: []string{"500", "200", "0 0 1200@1<1 6200@0<0"},
		},
		{
			name: "of two that are complete waitany takes the lower position",
			programs: [][]step{
				{compute(500), do(send(2, 0))},
				{compute(200), do(send(2, 0))},
				{post(recv(0)), post(recv(1)), compute(5000), wait(Any, 0, 1), wait(Any, 1)},
			},
			want: []string{"500", "200", "0 0 5000@0<0 5000@0<1"},
		},
		{
			name: "waitsome returns all that complete at that instant",
			programs: [][]step{
				{do(send(3, 0))},
				{do(send(3, 0))},
				{compute(1), do(send(3, 0))},
				{post(recv(0)), post(recv(1)), post(recv(2)), wait(Some, 2, 0, 1), wait(Some, 2)},
			},
			want: []string{"0", "0", "1", "0 0 0 1000@1<0@2<1 1001@0<2"},
		},
		{
			name: "waitall returns at the last completion",
			programs: [][]step{
				{compute(400), do(send(2, 0))},
				{compute(300), do(send(2, 10000))},
				{post(recv(0)), post(recv(1)), wait(All, 1, 0)},
			},
			want: []string{"400", "2300", "0 0 2300@0<1@1<0"},
		},
		{
			name: "request 0 is complete",
			programs: [][]step{
				{post(send(1, 1)), wait(All, 0), wait(Any, -1), test(Some, -1)},
				{do(recv(0))},
			},
			want: []string{"0 0@0 0@0 100@0", "1000<0"},
		},
		{
			name: "cancel withdraws a receive without a message",
			programs: [][]step{
				{compute(100), do(send(1, 0))},
				{post(recv(0)), compute(10), cancel(0), wait(All, 0), do(recv(0))},
			},
			want: []string{"100", "0 10 10@0x 1100<0"},
		},
		{
			name: "cancel leaves a matched receive alone",
			programs: [][]step{
				{do(send(1, 0))},
				{post(recv(0)), compute(1010), cancel(0), wait(All, 0)},
			},
			want: []string{"0", "0 1010 1010@0<0"},
		},
		{
			name: "a freed receive delivers with the first reply after its completion",
			programs: [][]step{
				{do(send(1, 0)), compute(2000), do(send(1, 0))},
				{post(recv(0)), free(0), compute(1000), post(probe(1)), do(recv(0))},
			},
			want: []string{"0 2000", "0 0 1100- late<0 3000<0"},
		},
		{
			name: "barrier: all leave at the last entry plus latency",
			programs: [][]step{
				{compute(100), do(collective(AllToAll, 0, 3))},
				{compute(2500), do(collective(AllToAll, 0, 3))},
				{do(collective(AllToAll, 0, 3))},
			},
			want: []string{"3500", "3500", "3500"},
		},
		{
			name: "all-to-all is charged for the member that brings most",
			programs: [][]step{
				{compute(10), do(collective(AllToAll, 0, 3, 100))},
				{compute(30), do(collective(AllToAll, 0, 3, 1, 2, 597))},
				{compute(20), do(collective(AllToAll, 0, 3, 0))},
			},
			want: []string{"1090", "1090", "1090"},
		},
		{
			name: "a collective of one rank costs the same",
			programs: [][]step{
				{do(collective(AllToAll, 0, 1, 100)), do(collective(FromRoot, 0, 1, 100)),
					do(collective(ToRoot, 0, 1, 100)), do(collective(Prefix, 0, 1, 100))},
			},
			want: []string{"1010 1010 1010 1010"},
		},
		{
			name: "an exchange that is free costs only the waiting",
			programs: [][]step{
				{compute(10), do(&Collective{Members: members(2), Free: true, Bytes: 500})},
				{compute(30), do(&Collective{Members: members(2), Free: true, Bytes: 500})},
			},
			want: []string{"30", "30"},
		},
		{
			name: "from the root: it leaves at once, others when its data arrives",
			programs: [][]step{
				{compute(300), do(bcast(3))},
				{do(bcast(3))},
				{compute(5000), do(bcast(3))},
			},
			want: []string{"300", "1350", "5000"},
		},
		{
			name: "scatter is charged for what each receives",
			programs: [][]step{
				{do(collective(FromRoot, 1, 3))},
				{compute(7), do(collective(FromRoot, 1, 3, 100, 200, 3000))},
				{do(collective(FromRoot, 1, 3))},
			},
			want: []string{"1017", "7", "1307"},
		},
		{
			name: "to the root: others leave at once, it waits for the last",
			programs: [][]step{
				{compute(100), do(collective(ToRoot, 0, 3, 90000))},
				{compute(600), do(collective(ToRoot, 0, 3, 50))},
				{compute(500), do(collective(ToRoot, 0, 3, 3000))},
			},
			want: []string{"1800", "600", "500"},
		},
		{
			name: "to the root that comes last",
			programs: [][]step{
				{compute(9000), do(collective(ToRoot, 0, 2, 10))},
				{do(collective(ToRoot, 0, 2, 10))},
			},
			want: []string{"9000", "0"},
		},
		{
			name: "scan waits for those before",
			programs: [][]step{
				{compute(100), do(collective(Prefix, 0, 4, 200))},
				{compute(50), do(collective(Prefix, 0, 4, 200))},
				{compute(4000), do(collective(Prefix, 0, 4, 200))},
				{do(collective(Prefix, 0, 4, 200))},
			},
			want: []string{"100", "1120", "4000", "5020"},
		},
		{
			name: "exscan likewise",
			programs: [][]step{
				{compute(100), do(collective(PrefixExclusive, 0, 2, 200))},
				{compute(50), do(collective(PrefixExclusive, 0, 2, 200))},
			},
			want: []string{"100", "1120"},
		},
		{
			name: "non-blocking collectives count from posting",
			programs: [][]step{
				{compute(10), post(collective(AllToAll, 0, 2, 100)), compute(3000), wait(All, 0)},
				{compute(40), post(collective(AllToAll, 0, 2, 100)), wait(All, 0)},
			},
			want: []string{"10 3010@0", "40 1050@0"},
		},
		{
			name: "two collectives in flight join in order of posting",
			programs: [][]step{
				{post(bcast(2)), compute(100), post(collective(AllToAll, 0, 2, 70)), wait(All, 0, 1)},
				{compute(60), post(bcast(2)), compute(20), post(collective(AllToAll, 0, 2, 70)),
					wait(Any, 0, 1), wait(Any, 1)},
			},
			want: []string{"0 100 1107@0@1", "60 80 1050@0 1107@0"},
		},
		{
			name: "communicators of the same ranks and nested ones are apart",
			programs: [][]step{
				{do(&Collective{Context: 5, Members: []int{0, 1}}),
					do(&Collective{Context: 4, Members: []int{0, 1, 2}})},
				{compute(30), do(&Collective{Context: 5, Members: []int{0, 1}}),
					do(&Collective{Context: 4, Members: []int{0, 1, 2}})},
				{compute(2), do(&Collective{Context: 4, Members: []int{0, 1, 2}})},
			},
			want: []string{"1030 2030", "1030 2030", "2030"},
		},
		{
			name: "groups that share context and tag are apart",
			programs: [][]step{
				{do(&Collective{Context: 5, Tag: 3, Members: []int{0, 1}})},
				{compute(30), do(&Collective{Context: 5, Tag: 3, Members: []int{0, 1}})},
				{compute(200), do(&Collective{Context: 5, Tag: 3, Members: []int{3, 2}})},
				{compute(2), do(&Collective{Context: 5, Tag: 3, Members: []int{3, 2}})},
			},
			want: []string{"1030", "1030", "1200", "1200"},
		},
		{
			name: "finalize is a barrier",
			programs: [][]step{
				{post(&Init{}), compute(10), do(&Finalize{})},
				{post(&Init{}), compute(70), do(&Finalize{})},
			},
			want: []string{"0 1070", "0 1070"},
		},
		{
			name: "infinite bandwidth and no latency",
			cfg:  &Config{Virtual: true, Eager: 4096, Tick: 1},
			programs: [][]step{
				{compute(10), do(send(1, 1<<20)), do(send(1, 5))},
				{do(recv(0)), do(recv(0))},
			},
			want: []string{"10 10", "10<0 10<0"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cfg := machine
			if tc.cfg != nil {
				cfg = *tc.cfg
			}
			for _, order := range orders(len(tc.programs)) {
				got, w, err := play(cfg, tc.programs, order)
				if err != nil {
					t.Fatalf("order %v: %v", order, err)
				}
				for i := range got {
					if got[i] != tc.want[i] {
						t.Errorf("order %v: rank %d: got %q, want %q", order, i, got[i], tc.want[i])
					}
				}
				if n := w.inFlight(); n != 0 {
					t.Errorf("order %v: %d things left in the world", order, n)
				}
			}
		})
	}
}

// orders are rotations of the ranks, both ways.
func orders(n int) [][]int {
	var list [][]int
	for i := range n {
		o := append(members(n)[i:], members(n)[:i]...)
		r := slices.Clone(o)
		slices.Reverse(r)
		list = append(list, o, r)
	}
	return list
}

// inFlight counts what the world holds.
func (w *World) inFlight() int {
	return len(w.requests) + len(w.boxes) + len(w.held) + len(w.gangs) + len(w.events)
}

func TestDeadlockNamesEveryBlockedCall(t *testing.T) {
	_, _, err := play(machine, [][]step{
		{compute(5), {name: "MPI_Recv", block: true, op: recvTag(1, 9)}},
		{do(send(2, 10)), {name: "MPI_Ssend", block: true, op: mode(Synchronous, send(0, 1))}},
		{{name: "MPI_Barrier", block: true, op: collective(AllToAll, 0, 3)}},
		{compute(50)},
	}, members(4))
	want := "deadlock at 1001 ns\n" +
		"  rank 0 blocked in MPI_Recv since 5 ns\n" +
		"  rank 1 blocked in MPI_Ssend since 0 ns\n" +
		"  rank 2 blocked in MPI_Barrier since 0 ns"
	var d *Deadlock
	if !errors.As(err, &d) || err.Error() != want {
		t.Fatalf("got %v, want %s", err, want)
	}
}

func TestMisuse(t *testing.T) {
	for _, tc := range []struct {
		programs [][]step
		want     string
	}{
		{
			[][]step{{do(collective(AllToAll, 0, 2))}, {do(collective(FromRoot, 0, 2))}},
			"collective mismatch: rank 0 in *world.Collective (root 0), " +
				"rank 1 in *world.Collective (root 0)",
		},
		{
			[][]step{{do(collective(ToRoot, 0, 2))}, {do(collective(ToRoot, 1, 2))}},
			"collective mismatch: rank 0 in *world.Collective (root 0), " +
				"rank 1 in *world.Collective (root 1)",
		},
		{
			[][]step{{do(&Collective{Members: []int{1}})}, {do(&Collective{Members: []int{1}})}},
			"rank 0 is not a member of its *world.Collective",
		},
		{
			[][]step{{do(&Recv{Message: 99})}},
			"rank 0 holds no message 99 in *world.Recv",
		},
		{
			[][]step{{do(&Wait{Requests: []uint64{3}})}},
			"rank 0 has no request 3 in *world.Wait",
		},
	} {
		_, _, err := play(machine, tc.programs, members(len(tc.programs)))
		if err == nil || err.Error() != tc.want {
			t.Errorf("got %v, want %s", err, tc.want)
		}
	}
	w := New(Config{Ranks: 1, Virtual: true})
	w.Submit(0, Call{Time: 10, Op: &Init{}})
	if _, err := w.Submit(0, Call{Time: 9, Op: &Init{}}); err == nil {
		t.Error("a clock went back unnoticed")
	}
}

func TestChunksAreRoutedAndBasesAreFresh(t *testing.T) {
	text := func(r Reply) string {
		var b strings.Builder
		for _, c := range r.Results[0].Chunks {
			fmt.Fprintf(&b, "[%s]", c)
		}
		return b.String()
	}
	one := func(i int) [][]byte { return [][]byte{[]byte(fmt.Sprintf("%d*", i))} }
	each := func(i int) [][]byte {
		var list [][]byte
		for j := range 3 {
			list = append(list, []byte(fmt.Sprintf("%d%d", i, j)))
		}
		return list
	}
	bases := map[uint64]bool{}
	for _, tc := range []struct {
		shape  Shape
		chunks func(i int) [][]byte
		want   []string
	}{
		{AllToAll, one, []string{"[0*][1*][2*]", "[0*][1*][2*]", "[0*][1*][2*]"}},
		{AllToAll, each, []string{"[00][10][20]", "[01][11][21]", "[02][12][22]"}},
		{FromRoot, one, []string{"[1*]", "[1*]", "[1*]"}},
		{FromRoot, each, []string{"[10]", "[11]", "[12]"}},
		{ToRoot, one, []string{"", "[0*][1*][2*]", ""}},
		{Prefix, one, []string{"[0*]", "[0*][1*]", "[0*][1*][2*]"}},
		{PrefixExclusive, one, []string{"", "[0*]", "[0*][1*]"}},
	} {
		w := New(Config{Ranks: 3})
		w.nextBase = FirstBase + uint64(3*len(bases))
		got := make([]string, 3)
		var base uint64
		for i := range 3 {
			replies, err := w.Submit(i, Call{Block: true, Op: &Collective{
				Context: 1, Members: members(3), Shape: tc.shape, Root: 1, Chunks: tc.chunks(i),
			}})
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range replies {
				got[r.Rank] = text(r)
				base = r.Results[0].Base
			}
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("shape %d: got %q, want %q", tc.shape, got, tc.want)
		}
		bases[base] = true
	}
	if len(bases) != 7 {
		t.Errorf("bases repeat: %v", bases)
	}
}

func TestRealTimeAnswersAtOnceInOrderOfSubmission(t *testing.T) {
	w := New(Config{Ranks: 3, Eager: 10})
	submit := func(rank int, id uint32, block bool, op Op) string {
		replies, err := w.Submit(rank, Call{ID: id, Block: block, Op: op})
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, r := range replies {
			fmt.Fprintf(&b, "%d.%d", r.Rank, r.ID)
			for _, result := range r.Results {
				if len(result.Chunks) > 0 {
					fmt.Fprintf(&b, "<%d", result.Source)
				}
			}
			b.WriteString(" ")
		}
		return strings.TrimSpace(b.String())
	}
	for _, tc := range []struct {
		got, want string
	}{
		{submit(0, 1, true, recv(AnySource)), ""},
		{submit(2, 1, true, send(0, 5)), "2.1 0.1<2"},
		{submit(2, 2, true, send(0, 5)), "2.2"},
		{submit(1, 1, true, send(0, 5)), "1.1"},
		{submit(0, 2, true, recv(AnySource)), "0.2<2"},
		{submit(1, 2, true, send(0, 11)), ""},
		{submit(0, 3, true, recv(1)), "0.3<1"},
		{submit(0, 4, true, recv(1)), "0.4<1 1.2"},
		{submit(0, 5, true, recv(1)), ""},
		{submit(0, 6, true, recv(2)), ""},
		{submit(2, 3, true, send(0, 1)), "2.3 0.6<2"},
		{submit(1, 3, true, send(0, 1)), "1.3 0.5<1"},
		{submit(0, 7, false, probe(AnySource)), "0.7"},
	} {
		if tc.got != tc.want {
			t.Errorf("got %q, want %q", tc.got, tc.want)
		}
	}
	if n := w.inFlight(); n != 0 {
		t.Errorf("%d things left in the world", n)
	}
}
