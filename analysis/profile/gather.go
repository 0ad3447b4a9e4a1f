package profile

import "fmt"

// Transport moves messages between ranks. Errors are final: the transport is not used afterwards.
type Transport interface {
	Rank() int
	Ranks() int
	Send(to int, data []byte) error
	Receive(from int) ([]byte, error)
}

// Gather merges the profiles of all ranks along a binomial tree. Rank 0 gets the merged profile, others
// nil. Every rank sends one message at most, and receives at most ⌈log₂ P⌉, one after the other.
func Gather(own *Profile, t Transport) (*Profile, error) {
	rank, ranks := t.Rank(), t.Ranks()
	for bit := 1; bit < ranks; bit <<= 1 {
		if rank&bit != 0 {
			return nil, t.Send(rank-bit, Encode(own))
		}
		if rank+bit >= ranks {
			continue
		}
		data, err := t.Receive(rank + bit)
		if err != nil {
			return nil, err
		}
		theirs, err := Decode(data)
		if err != nil {
			return nil, fmt.Errorf("from rank %d: %w", rank+bit, err)
		}
		own = Merge(own, theirs)
	}
	return own, nil
}
