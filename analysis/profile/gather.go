package profile

import (
	"encoding/binary"
	"fmt"
)

// Transport moves messages between ranks. Errors are final: the transport is not used afterwards.
type Transport interface {
	Rank() int
	Ranks() int
	Send(to int, data []byte) error
	Receive(from int) ([]byte, error)
}

// Gather merges the profiles of all ranks along a binomial tree. Rank 0 gets the merged profile, others
// nil. Every rank sends one message at most, and receives at most ⌈log₂ P⌉, one after the other. A message is
// a number of frames, because a rank that cannot merge passes on what it gets.
func Gather(own *Profile, t Transport) (*Profile, error) {
	rank, ranks := t.Rank(), t.Ranks()
	for bit := 1; bit < ranks; bit <<= 1 {
		if rank&bit != 0 {
			return nil, t.Send(rank-bit, frame(Encode(own)))
		}
		if rank+bit >= ranks {
			continue
		}
		data, err := t.Receive(rank + bit)
		if err != nil {
			return nil, err
		}
		for len(data) > 0 {
			theirs, rest, err := unframe(data)
			if err != nil {
				return nil, fmt.Errorf("from rank %d: %w", rank+bit, err)
			}
			own, data = Merge(own, theirs), rest
		}
	}
	return own, nil
}

func frame(data []byte) []byte {
	return append(binary.LittleEndian.AppendUint64(make([]byte, 0, 8+len(data)), uint64(len(data))), data...)
}

func unframe(data []byte) (p *Profile, rest []byte, err error) {
	if len(data) < 8 || binary.LittleEndian.Uint64(data) > uint64(len(data)-8) {
		return nil, nil, errDamaged
	}
	n := binary.LittleEndian.Uint64(data)
	p, err = Decode(data[8 : 8+n])
	return p, data[8+n:], err
}
