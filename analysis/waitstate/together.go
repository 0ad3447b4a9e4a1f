package waitstate

import (
	"errors"
	"sync"

	"marple/analysis/stat"
)

// FindAll is Find for all ranks of a run at once, from what they have left behind. Ranks of which there is nothing
// are nil, and count as having logged nothing.
func FindAll(ranks []*Rank) (Table, error) {
	office := &office{boxes: make([]box, len(ranks))}
	for i := range office.boxes {
		b := &office.boxes[i]
		b.arrived, b.letters = sync.NewCond(&b.lock), map[int][][]byte{}
	}
	for i, r := range ranks {
		if r == nil {
			ranks[i] = &Rank{Lost: Lost{Ended: 1}, Sight: someSight(ranks)}
		}
	}
	var all sync.WaitGroup
	tables, errs := make([]Table, len(ranks)), make([]error, len(ranks))
	for i, r := range ranks {
		all.Go(func() {
			desk := desk{office, i}
			own, err := Replay(r, desk)
			if err == nil {
				own, err = gather(desk, own, stat.Top(len(ranks)))
			}
			if tables[i], errs[i] = own, err; err != nil {
				office.shut()
			}
		})
	}
	all.Wait()
	return tables[0], errors.Join(errs...)
}

func someSight(ranks []*Rank) sight {
	for _, r := range ranks {
		if r != nil {
			return r.Sight
		}
	}
	return sight{}
}

// office is a transport between goroutines.
type office struct{ boxes []box }

type box struct {
	lock    sync.Mutex
	arrived *sync.Cond
	letters map[int][][]byte // by sender
	shut    bool
}

// shut ends all waiting: somebody will not send any more.
func (o *office) shut() {
	for i := range o.boxes {
		b := &o.boxes[i]
		b.lock.Lock()
		b.shut = true
		b.arrived.Broadcast()
		b.lock.Unlock()
	}
}

type desk struct {
	*office
	rank int
}

func (d desk) Rank() int  { return d.rank }
func (d desk) Ranks() int { return len(d.boxes) }

func (d desk) Send(to int, data []byte) error {
	b := &d.boxes[to]
	b.lock.Lock()
	b.letters[d.rank] = append(b.letters[d.rank], data)
	b.arrived.Broadcast()
	b.lock.Unlock()
	return nil
}

func (d desk) Receive(from int) ([]byte, error) {
	b := &d.boxes[d.rank]
	b.lock.Lock()
	defer b.lock.Unlock()
	for len(b.letters[from]) == 0 {
		if b.shut {
			return nil, errDamaged
		}
		b.arrived.Wait()
	}
	data := b.letters[from][0]
	b.letters[from] = b.letters[from][1:]
	return data, nil
}
