package waitstate

import (
	"encoding/binary"
	"errors"
	"slices"
)

var errDamaged = errors.New("damaged message from another rank")

// out is a message in the making; in, one that is being read. Reading beyond the end gives zeros, and bad.
type out []byte

func (o *out) number(x uint64) { *o = binary.AppendUvarint(*o, x) }
func (o *out) signed(x int64)  { *o = binary.AppendVarint(*o, x) }
func (o *out) word(x uint64)   { *o = binary.LittleEndian.AppendUint64(*o, x) }
func (o *out) flag(x bool) {
	if x {
		o.number(1)
	} else {
		o.number(0)
	}
}

type in struct {
	data []byte
	bad  bool
}

func (i *in) number() uint64 {
	x, n := binary.Uvarint(i.data)
	return advance(i, x, n)
}

func (i *in) signed() int64 {
	x, n := binary.Varint(i.data)
	return advance(i, x, n)
}

func (i *in) flag() bool { return i.number() != 0 }

func (i *in) word() uint64 {
	if len(i.data) < 8 {
		return advance(i, uint64(0), 0)
	}
	return advance(i, binary.LittleEndian.Uint64(i.data), 8)
}

func advance[T int64 | uint64](i *in, x T, n int) T {
	if n <= 0 {
		i.data, i.bad = nil, true
		return 0
	}
	i.data = i.data[n:]
	return x
}

// count reads how many items follow, of which each takes a byte at least.
func (i *in) count() int {
	n := i.number()
	if n > uint64(len(i.data)) {
		i.data, i.bad = nil, true
		return 0
	}
	return int(n)
}

func (i *in) bytes() []byte {
	n := i.count()
	part := i.data[:n]
	i.data = i.data[n:]
	return part
}

type packet struct {
	from, to uint32
	data     []byte
}

// route brings packets to their ranks, in ⌈log₂ P⌉+2 exchanges between pairs of ranks: for what few ranks have
// to say to many. What arrives is ordered by nothing.
func route(t Transport, packets []packet) ([]packet, error) {
	rank, ranks := uint32(t.Rank()), uint32(t.Ranks())
	cube := uint32(1)
	for cube*2 <= ranks {
		cube *= 2
	}
	if rank >= cube { // a guest of the cube
		if err := t.Send(int(rank-cube), encodePackets(packets)); err != nil {
			return nil, err
		}
		return receivePackets(t, rank-cube)
	}
	if rank+cube < ranks {
		more, err := receivePackets(t, rank+cube)
		if err != nil {
			return nil, err
		}
		packets = append(packets, more...)
	}
	for bit := uint32(1); bit < cube; bit <<= 1 {
		var stay, leave []packet
		for _, p := range packets {
			if (p.to&(cube-1))&bit != rank&bit {
				leave = append(leave, p)
			} else {
				stay = append(stay, p)
			}
		}
		more, err := swap(t, int(rank^bit), encodePackets(leave))
		if err != nil {
			return nil, err
		}
		theirs, err := decodePackets(more)
		if err != nil {
			return nil, err
		}
		packets = append(stay, theirs...)
	}
	if rank+cube < ranks {
		var mine, guests []packet
		for _, p := range packets {
			if p.to == rank+cube {
				guests = append(guests, p)
			} else {
				mine = append(mine, p)
			}
		}
		packets = mine
		if err := t.Send(int(rank+cube), encodePackets(guests)); err != nil {
			return nil, err
		}
	}
	return packets, nil
}

// swap exchanges one message with another rank. A send may wait for its receive, so the lower rank goes first.
func swap(t Transport, other int, data []byte) ([]byte, error) {
	if t.Rank() < other {
		if err := t.Send(other, data); err != nil {
			return nil, err
		}
		return t.Receive(other)
	}
	theirs, err := t.Receive(other)
	if err != nil {
		return nil, err
	}
	return theirs, t.Send(other, data)
}

func encodePackets(packets []packet) []byte {
	size := 0
	for _, p := range packets {
		size += len(p.data) + 16
	}
	o := make(out, 0, size+8)
	o.number(uint64(len(packets)))
	for _, p := range packets {
		o.number(uint64(p.from))
		o.number(uint64(p.to))
		o.number(uint64(len(p.data)))
		o = append(o, p.data...)
	}
	return o
}

func decodePackets(data []byte) ([]packet, error) {
	i := in{data: data}
	var list []packet
	for n := i.count(); n > 0; n-- {
		list = append(list, packet{uint32(i.number()), uint32(i.number()), i.bytes()})
	}
	if i.bad {
		return nil, errDamaged
	}
	return list, nil
}

func receivePackets(t Transport, from uint32) ([]packet, error) {
	data, err := t.Receive(int(from))
	if err != nil {
		return nil, err
	}
	return decodePackets(data)
}

// agree gives all ranks what rank 0 folds together of what they tell.
func agree(t Transport, own []int64, fold func(x, y int64) int64) ([]int64, error) {
	o := out{}
	for _, x := range own {
		o.signed(x)
	}
	all, err := collect(t, packet{uint32(t.Rank()), 0, o})
	if err != nil {
		return nil, err
	}
	var answers []packet
	if t.Rank() == 0 {
		folded := slices.Clone(own)
		for _, p := range all[1:] {
			i := in{data: p.data}
			for k := range folded {
				folded[k] = fold(folded[k], i.signed())
			}
		}
		o = nil
		for _, x := range folded {
			o.signed(x)
		}
		for rank := range t.Ranks() {
			answers = append(answers, packet{0, uint32(rank), o})
		}
	}
	if answers, err = route(t, answers); err != nil {
		return nil, err
	}
	if len(answers) != 1 {
		return nil, errDamaged
	}
	i := in{data: answers[0].data}
	folded := make([]int64, len(own))
	for k := range folded {
		folded[k] = i.signed()
	}
	return folded, nil
}

func least(x, y int64) int64   { return min(x, y) }
func highest(x, y int64) int64 { return max(x, y) }
func sum(x, y int64) int64     { return x + y }
