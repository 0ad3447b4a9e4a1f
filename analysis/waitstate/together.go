package waitstate

import (
	"cmp"
	"errors"
	"slices"
	"sync"

	"marple/analysis/callgraph"
)

// FindAll is Replay for all ranks of a run at once, from what they have left behind. Ranks of which there is nothing
// are nil, and count as having logged nothing.
func FindAll(ranks []*Rank) (Table, error) {
	tables := make([]Table, len(ranks))
	err := together(ranks, func(r *Rank, d desk) error {
		var err error
		tables[d.rank], err = find(r, d)
		return err
	})
	return tables[0], err
}

// Moments are when a rank waited, and when the critical path was on it.
type Moments struct {
	Waits    []Moment // by rising start
	Critical []Span
}

// Moment is one wait of the thread that called MPI_Init. Times are nanoseconds on the clock of rank 0's host.
type Moment struct {
	Start, Until int64
	Pattern      Pattern
	For          int32        // rank
	Path         callgraph.ID // of the waiting call
}

// Span is a part of the critical path.
type Span struct{ From, To int64 }

// FindMoments is FindAll, and gives for each rank when it was. The ranks' times are on the clock of rank 0's host then.
func FindMoments(ranks []*Rank) ([]Moments, error) {
	all := make([]Moments, len(ranks))
	err := together(ranks, func(r *Rank, d desk) error {
		x, _, err := replayed(r, d)
		m := &all[d.rank]
		for _, w := range x.needs {
			if c := &r.Calls[w.call]; int(w.call) < r.Main {
				m.Waits = append(m.Waits, Moment{c.Start, w.until, w.pattern, w.by, r.Paths[c.Path]})
			}
		}
		for _, s := range x.segments {
			m.Critical = append(m.Critical, Span{s.from, s.to})
		}
		slices.SortFunc(m.Critical, func(a, b Span) int { return cmp.Compare(a.From, b.From) })
		return err
	})
	return all, err
}

// together has all ranks do something at once, with messages between them. Those of which there is nothing become empty.
func together(ranks []*Rank, do func(r *Rank, d desk) error) error {
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
	errs := make([]error, len(ranks))
	for i, r := range ranks {
		all.Add(1)
		go func() {
			defer all.Done()
			if errs[i] = do(r, desk{office, i}); errs[i] != nil {
				office.shut()
			}
		}()
	}
	all.Wait()
	return errors.Join(errs...)
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
