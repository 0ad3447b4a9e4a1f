package profile

import (
	"cmp"
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"marple/analysis/callgraph"
	"marple/analysis/files"
	"marple/analysis/record"
	"marple/analysis/stat"
)

// A coder writes or reads a profile: one description of the format serves both ways. Numbers are
// varints, since most are small.
type coder struct {
	data    []byte
	modules []callgraph.Module // that places are in
	reading bool
	failed  bool
	unfit   error // of another version
}

var errDamaged = errors.New("damaged profile")

const formatVersion = 19

// Encode gives the profile as bytes for another rank.
func Encode(p *Profile) []byte {
	c := coder{data: make([]byte, 0, 64*len(p.Graph.Nodes)+128*len(p.Totals)+1024)}
	c.profile(p)
	return c.data
}

// Decode is the inverse of Encode. Damaged data gives an error and never more memory than a constant
// times its length.
func Decode(data []byte) (*Profile, error) {
	c := coder{data: data, reading: true}
	p := &Profile{}
	c.profile(p)
	if c.unfit != nil {
		return nil, c.unfit
	}
	if c.failed || len(c.data) != 0 {
		return nil, errDamaged
	}
	return p, nil
}

func (c *coder) fail() { c.failed, c.data = true, nil }

func number[T ~uint8 | ~uint16 | ~uint32 | ~uint64](c *coder, x *T) {
	if !c.reading {
		c.data = binary.AppendUvarint(c.data, uint64(*x))
		return
	}
	v, n := binary.Uvarint(c.data)
	if n <= 0 || uint64(T(v)) != v {
		c.fail()
		return
	}
	*x, c.data = T(v), c.data[n:]
}

func signed[T ~int32 | ~int64](c *coder, x *T) {
	if !c.reading {
		c.data = binary.AppendVarint(c.data, int64(*x))
		return
	}
	v, n := binary.Varint(c.data)
	if n <= 0 || int64(T(v)) != v {
		c.fail()
		return
	}
	*x, c.data = T(v), c.data[n:]
}

// word writes a number whose bits are all used.
func word[T ~uint64](c *coder, x *T) {
	if !c.reading {
		c.data = binary.LittleEndian.AppendUint64(c.data, uint64(*x))
		return
	}
	if len(c.data) < 8 {
		c.fail()
		return
	}
	*x, c.data = T(binary.LittleEndian.Uint64(c.data)), c.data[8:]
}

func float(c *coder, x *float64) {
	bits := math.Float64bits(*x)
	word(c, &bits)
	if *x = math.Float64frombits(bits); math.IsNaN(*x) || math.IsInf(*x, 0) {
		c.fail()
	}
}

func flag(c *coder, x *bool) {
	var b uint8
	if *x {
		b = 1
	}
	number(c, &b)
	*x = b == 1
}

func (c *coder) text(s *string) {
	n := uint64(len(*s))
	number(c, &n)
	if !c.reading {
		c.data = append(c.data, *s...)
		return
	}
	if n > uint64(len(c.data)) {
		c.fail()
		return
	}
	*s, c.data = string(c.data[:n]), c.data[n:]
}

// list codes a slice; every item takes a byte at least, so its length is bounded by what is left.
func list[T any](c *coder, s *[]T, item func(*coder, *T)) {
	n := uint64(len(*s))
	number(c, &n)
	if c.reading {
		if n > uint64(len(c.data)) {
			c.fail()
			return
		}
		if n > 0 {
			*s = make([]T, 0, min(n, 4096))
		}
		for ; n > 0 && !c.failed; n-- {
			var t T
			item(c, &t)
			*s = append(*s, t)
		}
		return
	}
	for i := range *s {
		item(c, &(*s)[i])
	}
}

func (c *coder) profile(p *Profile) {
	v := uint64(formatVersion)
	if number(c, &v); !c.failed && v != formatVersion {
		c.fail()
		c.unfit = &files.Unfit{What: "a profile", Version: int(v), Reads: formatVersion}
		return
	}
	signed(c, &p.World)
	c.text(&p.Program)
	c.text(&p.Library)
	c.text(&p.MPI)
	c.text(&p.Params)
	list(c, &p.Families, (*coder).text)
	number(c, &p.Threads)
	number(c, &p.Clocks)
	number(c, &p.Begun)
	list(c, &p.Totals, total)
	list(c, &p.Hosts, host)
	list(c, &p.Comms, comm)
	list(c, &p.Peers, peer)
	number(c, &p.Pairs)
	list(c, &p.Links, func(c *coder, l *Link) {
		word(c, &l.Node)
		peer(c, &l.Peer)
	})
	number(c, &p.Linked)
	list(c, &p.Counters, func(c *coder, x *Counter) {
		c.text(&x.Name)
		number(c, &x.Sources)
	})
	c.text(&p.Uncounted)
	list(c, &p.Graph.Modules, func(c *coder, m *callgraph.Module) {
		c.text(&m.Key)
		c.text(&m.Path)
		c.text(&m.BuildID)
		flag(c, &m.Source)
	})
	c.modules = p.Graph.Modules
	list(c, &p.Graph.Nodes, node)
	for _, x := range p.Lost.fields() {
		number(c, x)
	}
	list(c, &p.Files, file)
	number(c, &p.FilesLost)
	number(c, &p.Logged)
	for _, x := range []*uint64{&p.Sampling.Hz, &p.Sampling.Samples, &p.Sampling.Inside, &p.Sampling.Lost, &p.Sampling.Threads, &p.Sampling.Ended} {
		number(c, x)
	}
	for i := range p.Made {
		number(c, &p.Made[i])
	}
	number(c, &p.Behind)
	number(c, &p.Unmerged)
	c.reported(p)
	waits := string(p.Waits.Encode())
	if c.text(&waits); c.reading && p.Waits.Decode([]byte(waits)) != nil {
		c.fail()
	}
}

func (l *Lost) fields() []*uint64 {
	return []*uint64{&l.Paths, &l.Comms, &l.Strings, &l.Members, &l.Threads, &l.Requests, &l.Aggregates, &l.Records,
		&l.DeepRegions, &l.BadExits, &l.InMPIHooks, &l.MPIOff, &l.Statuses, &l.Values, &l.CutShort, &l.Unkept, &l.Uncounted, &l.UnknownPeers, &l.Fractions, &l.Sources,
		&l.CallsLeft, &l.FilesConfined}
}

func total(c *coder, t *Total) {
	signed(c, &t.Rank)
	word(c, &t.Host)
	number(c, &t.PID)
	number(c, &t.State)
	signed(c, &t.Abort)
	c.text(&t.Error)
	number(c, &t.Threads)
	number(c, &t.Cores)
	for _, x := range []*uint64{&t.Wall, &t.Useful, &t.MPI, &t.OffCore, &t.Waited, &t.Blocked, &t.Paused, &t.Own, &t.Init,
		&t.OtherMPI, &t.Others, &t.Memory, &t.Calls, &t.Invocations, &t.Sent, &t.SentBytes, &t.Received, &t.ReceivedBytes, &t.Longest,
		&t.Traffic.Read, &t.Traffic.Written, &t.Traffic.Reads, &t.Traffic.Writes, &t.SentSizes.Least, &t.SentSizes.Most, &t.ReceivedSizes.Least, &t.ReceivedSizes.Most} {
		number(c, x)
	}
	flag(c, &t.Traffic.Known)
	flag(c, &t.Files.Known)
	for _, x := range []*uint64{&t.Files.Ns, &t.Files.Read, &t.Files.Written, &t.Files.Reads, &t.Files.Writes, &t.Files.Lookups} {
		number(c, x)
	}
}

func host(c *coder, h *Host) {
	word(c, &h.ID)
	c.text(&h.Name)
	number(c, &h.Ranks)
	for i := range h.CPUs {
		number(c, &h.CPUs[i])
	}
}

func comm(c *coder, m *Comm) {
	word(c, &m.ID)
	word(c, &m.Parent)
	c.text(&m.Name)
	number(c, &m.Size)
	flag(c, &m.Inter)
	list(c, &m.Members, func(c *coder, r *record.Run) {
		number(c, &r.First)
		signed(c, &r.Stride)
		number(c, &r.Count)
	})
	number(c, &m.Ranks)
	number(c, &m.Calls)
	number(c, &m.Ns)
	number(c, &m.Out)
	number(c, &m.In)
}

func peer(c *coder, p *Peer) {
	signed(c, &p.Rank)
	signed(c, &p.To)
	for d := range p.Messages {
		number(c, &p.Messages[d])
		number(c, &p.Bytes[d])
		number(c, &p.Sizes[d].Least)
		number(c, &p.Sizes[d].Most)
	}
	number(c, &p.Onward)
	number(c, &p.Back)
	number(c, &p.Turns)
	number(c, &p.Rounds)
	number(c, &p.Alone)
}

func sample(c *coder, s *stat.Stat) {
	number(c, &s.N)
	if s.N == 0 {
		return
	}
	number(c, &s.Sum)
	number(c, &s.Sq.Hi)
	number(c, &s.Sq.Lo)
	number(c, &s.Min)
	number(c, &s.Max)
	signed(c, &s.MinRank)
	signed(c, &s.MaxRank)
}

func ranked(c *coder, r *stat.Ranked) {
	signed(c, &r.Rank)
	number(c, &r.Value)
	number(c, &r.Other)
	number(c, &r.Count)
}

func edge(c *coder, e *callgraph.Edge) {
	word(c, &e.Node)
	number(c, &e.Side)
}

// code writes a place with the number of its module, counted from 1; 0 is none.
func code(c *coder, p *callgraph.Code) {
	i, known := slices.BinarySearchFunc(c.modules, p.Module, func(m callgraph.Module, key string) int { return cmp.Compare(m.Key, key) })
	at := uint64(0)
	if known {
		at = uint64(i) + 1
	}
	number(c, &at)
	number(c, &p.Offset)
	if at > uint64(len(c.modules)) {
		c.fail()
	} else if at > 0 {
		p.Module = c.modules[at-1].Key
	}
}

func node(c *coder, n *callgraph.Node) {
	word(c, &n.ID)
	word(c, &n.Parent)
	number(c, &n.Kind)
	c.text(&n.Name)
	switch n.Kind {
	case callgraph.KindFrame:
		code(c, &n.Code)
		code(c, &n.Site)
	case callgraph.KindRegion:
		code(c, &n.Site)
	case callgraph.KindCut:
		flag(c, &n.Unknown)
	case callgraph.KindPhase:
		signed(c, &n.Level)
	case callgraph.KindComponent:
		c.text(&n.Component)
		c.text(&n.Instance)
	case callgraph.KindMPI:
		code(c, &n.Site)
		number(c, &n.Op)
		number(c, &n.Flags)
		number(c, &n.First)
		number(c, &n.Last)
		list(c, &n.Sizes, func(c *coder, s *callgraph.Size) {
			number(c, &s.Class)
			number(c, &s.Calls)
			number(c, &s.Ns)
			number(c, &s.NsSq.Hi)
			number(c, &s.NsSq.Lo)
			number(c, &s.Messages)
			number(c, &s.Bytes)
		})
	case callgraph.KindGap:
		edge(c, &n.From)
		edge(c, &n.To)
		flag(c, &n.Loop)
		code(c, &n.Site)
		number(c, &n.Samples)
		word(c, &n.Of)
	}
	sample(c, &n.Calls)
	sample(c, &n.Exclusive)
	sample(c, &n.Inclusive)
	list(c, &n.Ranks, ranked)
	number(c, &n.Out)
	number(c, &n.In)
	number(c, &n.Done)
	number(c, &n.Failed)
	number(c, &n.Polled)
	number(c, &n.Runnable)
	number(c, &n.Blocked)
	list(c, &n.Counters, func(c *coder, x *callgraph.Counter) {
		c.text(&x.Name)
		sample(c, &x.Exclusive)
		sample(c, &x.Inclusive)
		list(c, &x.Ranks, ranked)
	})
}

// MaxMessage bounds what Gather accepts from another rank.
const MaxMessage = math.MaxInt32
