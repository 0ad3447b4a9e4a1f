package world

import "fmt"

// This file completes operations. A request is complete at a time that is known
// at the latest when that time comes; a waiter is looked at again at exactly the
// times at which it may be satisfied.

type request struct {
	id        uint64
	rank      int
	posted    uint64
	done      bool
	at        uint64 // when it completes, once done
	result    Result
	isReceive bool
	cancel    func() // withdraws it, while that is possible
	waiter    *waiter
}

// Need says how many of the requests of a Wait must be complete.
type Need int

// Any returns one request, Some and All every complete one.
const (
	Any Need = iota
	Some
	All
)

// Wait completes requests. Request 0 stands for one that is complete already.
// Without Call.Block it is a test and costs a tick; Peek leaves the requests as
// they are and returns no data.
type Wait struct {
	Need     Need
	Peek     bool
	Requests []uint64
}

// Cancel withdraws a receive that has no message yet, and does nothing else.
type Cancel struct{ Request uint64 }

// Free gives up a request. If it is a receive its data follows in Reply.Late.
type Free struct{ Request uint64 }

type waiter struct {
	call     *call
	need     Need
	requests []*request
	open     int    // how many are not done
	latest   uint64 // when the last of the others is
	finished bool
}

func (w *World) newRequest(rank int) *request {
	w.lastID++
	return &request{id: w.lastID, rank: rank, posted: w.now}
}

// posted answers the call that created r: with its result, or with its name at the given time.
func (w *World) posted(c *call, r *request, at uint64) {
	if c.Block {
		w.wait(&waiter{call: c, need: All, requests: []*request{r}})
		return
	}
	w.requests[r.id] = r
	w.reply(c, at, Reply{Request: r.id})
}

func (w *World) complete(r *request, at uint64) {
	r.done, r.at, r.cancel = true, at, nil
	if t := r.waiter; t != nil {
		t.open--
		t.latest = max(t.latest, at)
		w.wakeFor(t, at)
	}
}

// wakeFor arranges for t to be looked at when a request done at the given time
// may satisfy it.
func (w *World) wakeFor(t *waiter, at uint64) {
	if t.need == All {
		if t.open > 0 {
			return
		}
		at = t.latest
	}
	w.at(at, classWake, t.call.rank, func() error {
		if !t.finished && t.satisfied(w.now) {
			w.finish(t, w.now, true)
		}
		return nil
	})
}

func (w *World) wait(t *waiter) {
	for _, r := range t.requests {
		if !r.done {
			t.open++
			r.waiter = t
		} else {
			t.latest = max(t.latest, r.at)
		}
	}
	if t.satisfied(w.now) {
		w.finish(t, w.now, true)
		return
	}
	for _, r := range t.requests {
		if r.done {
			w.wakeFor(t, r.at)
			if t.need == All {
				return
			}
		}
	}
}

func (t *waiter) satisfied(now uint64) bool {
	if t.need == All {
		return t.open == 0 && t.latest <= now
	}
	for _, r := range t.requests {
		if r.done && r.at <= now {
			return true
		}
	}
	return false
}

// finish answers a wait or test with the requests that are complete now.
func (w *World) finish(t *waiter, at uint64, flag bool) {
	t.finished = true
	peek := false
	if op, ok := t.call.Op.(*Wait); ok {
		peek = op.Peek
	}
	reply := Reply{Flag: flag}
	for i, r := range t.requests {
		r.waiter = nil
		if !flag || !r.done || r.at > w.now || t.need == Any && len(reply.Results) == 1 {
			continue
		}
		result := r.result
		result.Key = uint64(i)
		if peek {
			result.Chunks = nil
		} else {
			delete(w.requests, r.id)
		}
		reply.Results = append(reply.Results, result)
	}
	w.reply(t.call, at, reply)
}

func (op *Wait) begin(w *World, c *call) error {
	t := &waiter{call: c, need: op.Need, requests: make([]*request, len(op.Requests))}
	for i, id := range op.Requests {
		r := &request{done: true}
		if id != 0 {
			var err error
			if r, err = w.find(c, id); err != nil {
				return err
			}
		}
		t.requests[i] = r
	}
	if c.Block {
		w.wait(t)
		return nil
	}
	for _, r := range t.requests {
		if !r.done {
			t.open++
		} else {
			t.latest = max(t.latest, r.at)
		}
	}
	w.finish(t, w.now+w.cfg.Tick, t.satisfied(w.now))
	return nil
}

func (op *Cancel) begin(w *World, c *call) error {
	r, err := w.find(c, op.Request)
	if err != nil {
		return err
	}
	if r.cancel != nil {
		r.cancel()
		r.result = Result{Cancelled: true}
		w.complete(r, w.now)
	}
	w.reply(c, w.now, Reply{})
	return nil
}

func (op *Free) begin(w *World, c *call) error {
	r, err := w.find(c, op.Request)
	if err != nil {
		return err
	}
	delete(w.requests, r.id)
	if r.isReceive {
		w.ranks[c.rank].late = append(w.ranks[c.rank].late, r)
	}
	w.reply(c, w.now, Reply{})
	return nil
}

func (w *World) takeLate(k *rank, at uint64) []Result {
	var results []Result
	waiting := k.late[:0]
	for _, r := range k.late {
		if !r.done || r.at > at {
			waiting = append(waiting, r)
			continue
		}
		r.result.Key = r.id
		results = append(results, r.result)
	}
	k.late = waiting
	return results
}

func (w *World) find(c *call, id uint64) (*request, error) {
	r := w.requests[id]
	if r == nil || r.rank != c.rank {
		return nil, fmt.Errorf("rank %d has no request %d in %s", c.rank, id, c.Name)
	}
	return r, nil
}
