package waitstate

import (
	"cmp"
	"errors"
	"runtime"
	"slices"
	"sync"

	"marple/analysis/callgraph"
)

// FindAll is Replay for all ranks of a run at once, from what they have left behind. Ranks of which there is nothing
// are nil, and count as having logged nothing. Of those that are read Later no more than MostTogether events are replayed.
func FindAll(ranks []*Rank) (Table, error) {
	tables, turn := make([]Table, len(ranks)), make(chan struct{}, runtime.GOMAXPROCS(0))
	err := together(ranks, func(r *Rank, d desk) error {
		var err error
		if r.unread != nil {
			r.unread.turn = turn
		}
		tables[d.rank], err = find(r, d, limits{all: MostTogether, program: MostItems, who: Together})
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
		x, _, err := replayed(r, d, limits{program: MostItems})
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
	office := &office{boxes: make([]box, len(ranks)), busy: len(ranks), told: -1}
	for i := range office.boxes {
		b := &office.boxes[i]
		b.arrived, b.letters, b.awaited = sync.NewCond(&office.lock), map[int][][]byte{}, nobody
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
			errs[i] = do(r, desk{office, i})
			office.leave(errs[i] != nil)
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

// office is a Mail between goroutines. What ranks have left may be damaged, so that they do not agree on who
// sends whom: when all wait for each other, or one has failed, nobody waits any more.
type office struct {
	lock  sync.Mutex
	boxes []box
	busy  int // ranks that neither wait nor have ended
	shut  bool
	said  int // letters
	told  int // how many there were when all waited, and were told so
}

type box struct {
	arrived *sync.Cond
	letters map[int][][]byte // by sender
	awaited int              // sender
	posted  []letter
}

// Who is awaited otherwise.
const (
	nobody  = -1
	anybody = -2
)

// idle takes a rank out that waits, or has ended. The lock is held.
func (o *office) idle() {
	if o.busy--; o.busy > 0 {
		return
	}
	if o.told < o.said { // they may still have something to say then
		o.told = o.said
		for i := range o.boxes {
			if b := &o.boxes[i]; b.awaited == anybody {
				o.wake(b)
			}
		}
	}
	if o.busy == 0 {
		o.close()
	}
}

func (o *office) wake(b *box) {
	b.awaited = nobody
	o.busy++
	b.arrived.Signal()
}

func (o *office) close() {
	o.shut = true
	for i := range o.boxes {
		o.boxes[i].arrived.Broadcast()
	}
}

func (o *office) leave(failed bool) {
	o.lock.Lock()
	defer o.lock.Unlock()
	if failed {
		o.close()
	}
	o.idle()
}

type desk struct {
	*office
	rank int
}

func (d desk) Rank() int  { return d.rank }
func (d desk) Ranks() int { return len(d.boxes) }

func (d desk) Send(to int, data []byte) error {
	if to < 0 || to >= len(d.boxes) {
		return errDamaged
	}
	d.lock.Lock()
	defer d.lock.Unlock()
	b := &d.boxes[to]
	b.letters[d.rank] = append(b.letters[d.rank], data)
	d.said++
	if b.awaited == d.rank {
		d.wake(b)
	}
	return nil
}

func (d desk) Post(to int, data []byte) error {
	if to < 0 || to >= len(d.boxes) {
		return errDamaged
	}
	d.lock.Lock()
	defer d.lock.Unlock()
	b := &d.boxes[to]
	b.posted = append(b.posted, letter{int32(d.rank), data})
	d.said++
	if b.awaited == anybody {
		d.wake(b)
	}
	return nil
}

func (d desk) Next() (from int, data []byte, err error) {
	d.lock.Lock()
	defer d.lock.Unlock()
	b := &d.boxes[d.rank]
	if len(b.posted) == 0 && !d.shut {
		b.awaited = anybody
		for d.idle(); b.awaited == anybody && !d.shut; {
			b.arrived.Wait()
		}
	}
	switch {
	case len(b.posted) > 0:
		l := b.posted[0]
		b.posted = b.posted[1:]
		return int(l.from), l.data, nil
	case d.shut:
		return 0, nil, errDamaged
	}
	return 0, nil, nil // all wait
}

func (d desk) Receive(from int) ([]byte, error) {
	d.lock.Lock()
	defer d.lock.Unlock()
	b := &d.boxes[d.rank]
	if len(b.letters[from]) == 0 && !d.shut {
		b.awaited = from
		for d.idle(); b.awaited == from && !d.shut; {
			b.arrived.Wait()
		}
	}
	if len(b.letters[from]) == 0 {
		return nil, errDamaged
	}
	data := b.letters[from][0]
	b.letters[from] = b.letters[from][1:]
	return data, nil
}
