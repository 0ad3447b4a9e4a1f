package run

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"marple/analysis/callgraph"
	"marple/analysis/profile"
	"marple/analysis/record"
	"marple/analysis/symbol"
)

type nameless struct{}

func (nameless) Function(callgraph.Code) string     { return "" }
func (nameless) Site(callgraph.Code) []symbol.Frame { return nil }
func (nameless) Notes(callgraph.Module) []string    { return nil }

// Who cannot go on, given the calls that ranks are in and how the others ended.
func TestDeadlocks(t *testing.T) {
	const world, pair = 9, 8
	in := func(rank int32, name string, peer int32) callgraph.Stuck {
		return callgraph.Stuck{Rank: rank, Main: true, Name: name, Peer: peer, World: peer, Comm: world, Ns: 100}
	}
	flying := func(s callgraph.Stuck) callgraph.Stuck { s.Flying = true; return s }
	on := func(comm uint64, s callgraph.Stuck) callgraph.Stuck { s.Comm = comm; return s }
	sent := []profile.Peer{{Rank: 1, To: 0, Messages: [4]uint64{record.Sent: 1}}}
	for _, c := range []struct {
		name       string
		calls      []callgraph.Stuck
		peers      []profile.Peer
		ended      map[int32]uint8
		deadlocked []int32
		says       string
		left       map[int32]uint64 // collective operations on world that ranks have come back from
	}{
		{"a circle", []callgraph.Stuck{in(0, "MPI_Recv", 1), in(1, "MPI_Recv", 0)}, nil, nil, []int32{0, 1}, "Deadlock: rank 0 waits for rank 1", nil},
		{"a message under way", []callgraph.Stuck{in(0, "MPI_Recv", 1), in(1, "MPI_Recv", 0)}, sent, nil, []int32{0, 1}, "A deadlock, unless messages", nil},
		{"an operation under way", []callgraph.Stuck{in(0, "MPI_Recv", 1), flying(in(1, "MPI_Recv", 0))}, nil, nil, []int32{0, 1}, "A deadlock, unless messages", nil},
		{"both send", []callgraph.Stuck{in(0, "MPI_Ssend", 1), in(1, "MPI_Ssend_c", 0)}, nil, nil, []int32{0, 1}, "Deadlock: ", nil},
		{"a sender and its receiver", []callgraph.Stuck{in(0, "MPI_Send", 1), in(1, "MPI_Recv", 0)}, nil, nil, nil, "", nil},
		{"an exchange", []callgraph.Stuck{in(0, "MPI_Sendrecv", 1), in(1, "MPI_Sendrecv", 0)}, nil, nil, nil, "", nil},
		{"waiting for one that computes", []callgraph.Stuck{in(0, "MPI_Recv", 1)}, nil, nil, nil, "Rank 0 was in MPI_Recv, waiting for rank 1, since", nil},
		{"waiting for one that has ended", []callgraph.Stuck{in(0, "MPI_Recv", 3)}, nil, map[int32]uint8{3: record.Exited}, []int32{0}, "Rank 0 was in MPI_Recv, waiting for rank 3, since", nil},
		{"a message and a barrier", []callgraph.Stuck{in(0, "MPI_Recv", 3), in(1, "MPI_Barrier", -3), in(2, "MPI_Barrier", -3), in(3, "MPI_Barrier", -3)}, nil, nil,
			[]int32{0, 1, 2, 3}, "Deadlock: rank 0 waits for rank 3 in MPI_Recv, rank 3 waits for rank 0 in MPI_Barrier; all", nil},
		{"two orders of communicators", []callgraph.Stuck{on(pair, in(0, "MPI_Barrier", -3)), in(1, "MPI_Barrier", -3), in(2, "MPI_Barrier", -3), in(3, "MPI_Barrier", -3)}, nil, nil,
			[]int32{0, 1, 2, 3}, "Deadlock: rank 0 waits for rank 1", nil},
		{"all in one barrier", []callgraph.Stuck{in(0, "MPI_Barrier", -3), in(1, "MPI_Barrier", -3), in(2, "MPI_Barrier", -3), in(3, "MPI_Barrier", -3)}, nil, nil, nil, "", nil},
		{"a root that does not come", []callgraph.Stuck{in(0, "MPI_Recv", 2), in(1, "MPI_Bcast", 0), in(2, "MPI_Bcast", 0)}, nil, nil, []int32{0, 1, 2},
			"Deadlock: rank 0 waits for rank 2 in MPI_Recv, rank 2 waits for rank 0 in MPI_Bcast", nil},
		{"any of several, one of which computes", []callgraph.Stuck{in(0, "MPI_Recv", record.Any), in(1, "MPI_Recv", 0), in(2, "MPI_Recv", 0)}, nil, nil, nil, "", nil},
		{"any of several, none of which can", []callgraph.Stuck{in(0, "MPI_Probe", record.Any), in(1, "MPI_Recv", 0), in(2, "MPI_Recv", 0), in(3, "MPI_Reduce", 1)}, nil, nil,
			[]int32{0, 1, 2, 3}, "Deadlock: rank 0 waits for rank 1", nil},
		{"a barrier that the other one has left", []callgraph.Stuck{in(0, "MPI_Barrier", -3), in(1, "MPI_Recv", 0), in(2, "MPI_Barrier", -3), in(3, "MPI_Recv", 1)}, nil, nil, nil,
			"Ranks 0 and 2 were in MPI_Barrier, since", map[int32]uint64{0: 3, 1: 4, 2: 3, 3: 4}},
		{"a barrier that another one has not come to", []callgraph.Stuck{in(0, "MPI_Barrier", -3), in(1, "MPI_Recv", 0), in(2, "MPI_Barrier", -3), in(3, "MPI_Barrier", -3)}, nil, nil,
			[]int32{0, 1, 2, 3}, "Deadlock: rank 0 waits for rank 1 in MPI_Barrier, rank 1 waits for rank 0", map[int32]uint64{0: 3, 1: 3, 2: 3, 3: 3}},
		{"the next barrier", []callgraph.Stuck{in(0, "MPI_Barrier", -3), in(1, "MPI_Barrier", -3), in(2, "MPI_Barrier", -3), in(3, "MPI_Barrier", -3)}, nil, nil, nil,
			"Rank 0 was in MPI_Barrier, waiting", map[int32]uint64{0: 5, 1: 4, 2: 4, 3: 4}},
		{"one that computes behind the barrier", []callgraph.Stuck{in(0, "MPI_Barrier", -3)}, nil, nil, nil,
			"Rank 0 was in MPI_Barrier, waiting for ranks 2 and 3, since", map[int32]uint64{0: 3, 1: 4, 2: 3, 3: 2}},
		{"how far others are is not known", []callgraph.Stuck{in(0, "MPI_Barrier", -3), in(1, "MPI_Recv", 0), in(2, "MPI_Barrier", -3), in(3, "MPI_Barrier", -3)}, nil, nil,
			[]int32{0, 1, 2, 3}, "A deadlock, unless", map[int32]uint64{}},
		{"what a call waits for is not known", []callgraph.Stuck{in(0, "MPI_Recv", 1), in(1, "MPI_Waitall", -3)}, nil, nil, nil, "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &profile.Profile{World: 4, Peers: c.peers, Comms: []profile.Comm{{ID: world, Members: []record.Run{{First: 0, Stride: 1, Count: 4}}},
				{ID: pair, Members: []record.Run{{First: 0, Stride: 1, Count: 2}}}}}
			p.Graph.Stuck = c.calls
			for rank := range int32(4) {
				if left, known := c.left[rank]; known || c.left == nil {
					p.Graph.Left = append(p.Graph.Left, callgraph.Left{Rank: rank, Collectives: map[uint64]uint64{world: left}})
				}
				state := uint8(record.Running)
				if how, ok := c.ended[rank]; ok {
					state = how
				}
				p.Totals = append(p.Totals, profile.Total{Rank: rank, State: state, Wall: 150})
			}
			r := New(p, nameless{})
			var deadlocked []int32
			for _, s := range r.Stuck {
				assert.EqualValues(t, 50, s.WaitedNs)
				if s.Deadlock {
					deadlocked = append(deadlocked, s.Rank)
				}
			}
			assert.Equal(t, c.deadlocked, deadlocked)
			text := ""
			for _, n := range r.Conditions {
				text += n.Text + "\n"
			}
			assert.Contains(t, text, c.says)
			if c.deadlocked == nil {
				assert.NotContains(t, text, "eadlock")
			}
		})
	}
}

// What is said first of a run that did not get through MPI_Finalize, and of the ranks that are no reason for it.
func TestUntimely(t *testing.T) {
	with := func(ended string, code int) RankBalance { return RankBalance{Ended: ended, Abort: code} }
	failing := RankBalance{Ended: "failed", Abort: 6, Error: "invalid rank"}
	inside := func(rank int32, call string) Stuck {
		return Stuck{Rank: rank, Call: call, Site: "a.c:3 in f", Ended: true}
	}
	for _, c := range []struct {
		name  string
		ranks []RankBalance
		stuck []Stuck
		says  []string
	}{
		{"well", []RankBalance{with("finalized", 0), with("finalized", 0)}, nil, nil},
		{"an error", []RankBalance{with("vanished", 0), failing}, []Stuck{{Call: "MPI_Recv"}, inside(1, "MPI_Send")},
			[]string{"The run failed: rank 1 in MPI_Send at a.c:3 in f: invalid rank (error class 6)", "Rank 0 vanished after the last event (killed, crashed or _exit)"}},
		{"an error elsewhere", []RankBalance{failing, failing}, nil,
			[]string{"The run failed: ranks 0 and 1 in a call of MPI that is not recorded: invalid rank (error class 6)"}},
		{"an error and MPI_Abort", []RankBalance{with("aborted", 7), failing}, []Stuck{inside(0, "MPI_Abort"), inside(1, "MPI_Send")},
			[]string{"The run failed: rank 1 in MPI_Send at a.c:3 in f: invalid rank (error class 6)", "Rank 0 called MPI_Abort with code 7 at a.c:3 in f"}},
		{"MPI_Abort", []RankBalance{with("running", 0), with("aborted", 7)}, []Stuck{inside(1, "MPI_Abort")},
			[]string{"The run failed: rank 1 called MPI_Abort with code 7 at a.c:3 in f", "Rank 0 still ran when this was made: all records stay in raw/, and marple recover --clear reads and removes them once every rank has ended"}},
		{"MPI_Abort in a handler", []RankBalance{with("aborted", codeUnknown)}, []Stuck{inside(0, "MPI_Send")},
			[]string{"The run failed: rank 0 called MPI_Abort in MPI_Send at a.c:3 in f"}},
		{"exit", []RankBalance{with("exited", 0), with("exited", 0)}, nil, []string{"The run ended early: ranks 0 and 1 exited without MPI_Finalize"}},
		{"exit in a call", []RankBalance{with("exited", 0)}, []Stuck{inside(0, "MPI_Send")},
			[]string{"The run failed: rank 0 exited in MPI_Send at a.c:3 in f, without MPI_Finalize"}},
		{"running", []RankBalance{with("running", 0)}, nil, []string{"Rank 0 still ran when this was made: all records stay in raw/, and marple recover --clear reads and removes them once every rank has ended"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &Run{PerRank: c.ranks, Stuck: c.stuck}
			for i := range r.PerRank {
				r.PerRank[i].Rank = i
			}
			var said []string
			for i, n := range r.untimely() {
				said = append(said, n.Text)
				assert.Equal(t, i == 0 && c.name != "running", n.Failed())
			}
			assert.Equal(t, c.says, said)
		})
	}
}
