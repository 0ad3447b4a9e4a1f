package profile

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"marple/analysis/record"
)

// one makes the profile of a rank that did a few things of its own.
func one(t *rapid.T, rank, ranks int) *Profile {
	w := record.NewWriter(rank, ranks)
	h := w.Header()
	copy(h.Program[:], rapid.SampledFrom([]string{"app", "other"}).Draw(t, "program"))
	h.Host = rapid.Uint64Range(1, 2).Draw(t, "host")
	h.CPUs[0] = rapid.Uint64Range(1, 15).Draw(t, "cpus")
	h.First.WallNs = rapid.Uint64().Draw(t, "begun")
	world := w.Comm(record.Comm{ID: 9, Size: uint32(ranks), Rank: int32(rank)}, "MPI_COMM_WORLD", []record.Run{{First: 0, Stride: 1, Count: uint32(ranks)}})
	half := w.Comm(record.Comm{ID: uint64(20 + rank%2), Size: uint32(ranks / 2)}, "", []record.Run{{First: uint32(rank % 2), Stride: 2, Count: uint32(ranks / 2)}})
	for range rapid.IntRange(0, 2).Draw(t, "declarations") {
		w.Node(record.Node{Kind: record.NodeFamilies, Name: w.String(rapid.SampledFrom([]string{"a: 1", "b: 1", "c: 1"}).Draw(t, "declared"))})
	}
	thread := w.Thread(0, true)
	now := uint64(0)
	for range rapid.IntRange(0, 20).Draw(t, "calls") {
		now += rapid.Uint64Range(0, 1000).Draw(t, "gap")
		comm, size := world, ranks
		if rapid.Bool().Draw(t, "half") {
			comm, size = half, ranks/2
		}
		c := record.Call{Start: now, Duration: rapid.Uint64Range(0, 1000).Draw(t, "duration"), Comm: comm, Out: rapid.Uint64Range(0, 100).Draw(t, "bytes")}
		if rapid.Bool().Draw(t, "send") {
			c.Path, c.Peer = w.MPI(0, "MPI_Send", record.OpSend, 0), int32(rapid.IntRange(0, max(0, size-1)).Draw(t, "peer"))
		} else {
			c.Path, c.Peer, c.Collective, c.In = w.MPI(0, "MPI_Allreduce", record.OpNToN, 0), record.NoPeer, true, c.Out
		}
		thread.Call(c)
		now += c.Duration
	}
	names := rapid.SampledFrom([]string{"a", "b", "\xff\n\"", ""})
	for range rapid.IntRange(0, 9).Draw(t, "values") {
		name := w.Node(record.Node{Kind: record.NodeAtomic, Name: w.String(names.Draw(t, "name"))})
		thread.Atomic(name, float64(rapid.IntRange(-1_000_000, 1_000_000).Draw(t, "value"))) // of which sums are exact
	}
	for range rapid.IntRange(0, 3).Draw(t, "metadata") {
		value := uint64(w.String(names.Draw(t, "value")))
		w.Node(record.Node{Kind: record.NodeMetadata, Name: w.String(names.Draw(t, "name")), Key: value})
	}
	p, err := w.Process(now)
	require.NoError(t, err)
	return FromProcess(p, nil)
}

func TestMergingIsAssociativeAndCommutative(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := [4]*Profile{one(t, 0, 4), one(t, 1, 4), one(t, 2, 4), one(t, 3, 4)}
		want := Encode(Merge(Merge(Merge(p[0], p[1]), p[2]), p[3]))
		require.Equal(t, want, Encode(Merge(Merge(p[3], p[0]), Merge(p[2], p[1]))))
		require.Equal(t, want, Encode(Merge(p[1], Merge(p[3], Merge(p[0], p[2])))))
	})
}

func TestDecodeIsTheInverseOfEncode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Merge(one(t, 0, 2), one(t, 1, 2))
		again, err := Decode(Encode(p))
		require.NoError(t, err)
		require.Equal(t, Encode(p), Encode(again))
		require.Equal(t, p.Totals, again.Totals)
		require.Equal(t, append([]string{}, p.Families...), append([]string{}, again.Families...))
		require.Equal(t, len(p.Graph.Nodes), len(again.Graph.Nodes))
	})
}

func TestTotalsBalance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		for _, total := range one(t, 1, 2).Totals {
			require.Equal(t, total.Wall, total.Useful+total.MPI+total.OffCore+total.Paused+total.Own)
		}
	})
}

// channels is a transport between goroutines; a rank in dead never answers.
type channels struct {
	rank int
	mail [][]chan []byte
	dead map[int]bool
}

func (c channels) Rank() int  { return c.rank }
func (c channels) Ranks() int { return len(c.mail) }
func (c channels) Send(to int, data []byte) error {
	c.mail[to][c.rank] <- data
	return nil
}
func (c channels) Receive(from int) ([]byte, error) {
	if c.dead[from] {
		return nil, errors.New("dead")
	}
	return <-c.mail[c.rank][from], nil
}

func gather(profiles []*Profile) (*Profile, error) {
	n := len(profiles)
	mail := make([][]chan []byte, n)
	for i := range mail {
		mail[i] = make([]chan []byte, n)
		for j := range mail[i] {
			mail[i][j] = make(chan []byte, 1)
		}
	}
	var group sync.WaitGroup
	var root *Profile
	var failed error
	for rank := range n {
		group.Add(1)
		go func() {
			defer group.Done()
			p, err := Gather(profiles[rank], channels{rank, mail, nil})
			if rank == 0 {
				root, failed = p, err
			} else if p != nil {
				panic("only rank 0 gets the profile")
			}
		}()
	}
	group.Wait()
	return root, failed
}

func TestGatherGivesTheSameAsMergingInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 9).Draw(t, "ranks")
		var profiles []*Profile
		for i := range n {
			profiles = append(profiles, one(t, i, n))
		}
		want := profiles[n-1]
		for i := n - 2; i >= 0; i-- {
			want = Merge(want, profiles[i])
		}
		got, err := gather(profiles)
		require.NoError(t, err)
		require.Equal(t, Encode(want), Encode(got))
		require.Len(t, got.Totals, n)
	})
}

func TestGatherReportsDamage(t *testing.T) {
	mail := [][]chan []byte{{nil, make(chan []byte, 1)}, nil}
	mail[0][1] <- []byte{1, 2, 3}
	_, err := Gather(&Profile{}, channels{0, mail, nil})
	require.EqualError(t, err, "from rank 1: damaged profile")
	_, err = Gather(&Profile{}, channels{0, mail, map[int]bool{1: true}})
	require.EqualError(t, err, "dead")
}

// Beyond the stated numbers the largest are kept, whatever the order of merging.
func TestPeersAreBounded(t *testing.T) {
	profile := func(rank int) *Profile {
		p := &Profile{World: 4}
		for to := range 6000 {
			peer := Peer{Rank: int32(rank), To: int32(to)}
			peer.Bytes[record.Sent] = uint64(to*7%1000 + rank)
			p.Peers = append(p.Peers, peer)
		}
		p.Pairs = 6000
		SortPeers(p.Peers)
		return p
	}
	a := Merge(Merge(profile(0), profile(1)), Merge(profile(2), profile(3)))
	b := Merge(profile(2), Merge(profile(3), Merge(profile(0), profile(1))))
	require.Equal(t, a.Peers, b.Peers)
	require.Len(t, a.Peers, MaxPeers)
	require.EqualValues(t, 24000, a.Pairs)
}

func TestWorldRanks(t *testing.T) {
	members := []record.Run{{First: 3, Stride: 2, Count: 3}, {First: 100, Stride: 1, Count: 1}, {First: 9, Stride: -3, Count: 2}}
	for i, want := range []int32{3, 5, 7, 100, 9, 6, -1} {
		require.Equal(t, want, worldRank(members, int32(i)), fmt.Sprint(i))
	}
}

func FuzzDecode(f *testing.F) {
	w := record.NewWriter(0, 1)
	thread := w.Thread(0, true)
	thread.Call(record.Call{Path: w.MPI(0, "MPI_Send", record.OpSend, 0), Start: 5, Duration: 3, Comm: w.Comm(record.Comm{ID: 1, Size: 1}, "c", []record.Run{{Stride: 1, Count: 1}}), Out: 9})
	p, err := w.Process(10)
	require.NoError(f, err)
	f.Add(Encode(FromProcess(p, nil)))
	f.Fuzz(func(t *testing.T, data []byte) {
		if p, err := Decode(data); err == nil {
			Merge(p, p)
		}
	})
}
