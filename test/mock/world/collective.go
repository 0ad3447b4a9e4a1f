package world

import (
	"fmt"
	"slices"
)

// This file joins the members of a collective. All collectives are one routing
// of chunks: a member contributes either one chunk for every receiver or one
// chunk for each, and the shape says who receives from whom and when each member
// leaves. A member joins the oldest collective of its context, tag and group
// that it is not in yet, which is MPI's rule of order.

// Shape is who waits for whom.
type Shape int

// AllToAll: everyone for everyone. FromRoot: everyone for the root. ToRoot: the
// root for everyone. Prefix and PrefixExclusive: everyone for those before it.
const (
	AllToAll Shape = iota
	FromRoot
	ToRoot
	Prefix
	PrefixExclusive
)

// Collective is one member's part in a collective operation.
type Collective struct {
	Context uint64
	Tag     int64
	Members []int // ranks of the world, the same list at every member
	Shape   Shape
	Root    int
	Bytes   uint64 // what this member is charged for
	Free    bool   // costs neither latency nor transfer
	Chunks  [][]byte
}

// Finalize is a rank's last call: an empty collective of all ranks.
type Finalize struct{}

type gangKey struct {
	context uint64
	tag     int64
	members string
}

type part struct {
	name    string
	bytes   uint64
	chunks  [][]byte
	request *request
}

type gang struct {
	op     *Collective
	base   uint64
	parts  []*part
	joined int
	done   int
}

func (*Finalize) begin(w *World, c *call) error {
	all := make([]int, len(w.ranks))
	for i := range all {
		all[i] = i
	}
	return (&Collective{Members: all}).begin(w, c)
}

func (op *Collective) begin(w *World, c *call) error {
	me := slices.Index(op.Members, c.rank)
	if me < 0 {
		return fmt.Errorf("rank %d is not a member of its %s", c.rank, c.Name)
	}
	key := gangKey{op.Context, op.Tag, fmt.Sprint(op.Members)}
	g := w.join(key, op, me)
	for i, p := range g.parts {
		if p != nil && (op.Shape != g.op.Shape || op.Root != g.op.Root) {
			return fmt.Errorf("collective mismatch: rank %d in %s (root %d), rank %d in %s (root %d)",
				op.Members[i], p.name, g.op.Root, c.rank, c.Name, op.Root)
		}
	}
	r := w.newRequest(c.rank)
	g.parts[me] = &part{c.Name, op.Bytes, op.Chunks, r}
	g.joined++
	for i, p := range g.parts {
		if p == nil || p.request.done {
			continue
		}
		if at, ok := g.leaves(i, w.cfg); ok {
			p.request.result = Result{Base: g.base, Chunks: g.received(i)}
			w.complete(p.request, at)
			g.done++
		}
	}
	if g.done == len(g.parts) {
		w.gangs[key] = w.gangs[key][1:]
		if len(w.gangs[key]) == 0 {
			delete(w.gangs, key)
		}
	}
	w.posted(c, r, w.now)
	return nil
}

func (w *World) join(key gangKey, op *Collective, me int) *gang {
	for _, g := range w.gangs[key] {
		if g.parts[me] == nil {
			return g
		}
	}
	g := &gang{op: op, base: w.nextBase, parts: make([]*part, len(op.Members))}
	w.nextBase += uint64(len(op.Members))
	w.gangs[key] = append(w.gangs[key], g)
	return g
}

// leaves says when member i completes, once everyone it waits for has joined.
func (g *gang) leaves(i int, cfg Config) (uint64, bool) {
	at := g.parts[i].request.posted
	if g.op.Shape == AllToAll {
		if g.joined < len(g.parts) {
			return 0, false
		}
		var most uint64
		for _, p := range g.parts {
			at = max(at, p.request.posted)
			most = max(most, p.bytes)
		}
		if g.op.Free {
			return at, true
		}
		return at + cfg.Latency + cfg.Transfer(most), true
	}
	for _, j := range g.senders(i) {
		p := g.parts[j]
		if p == nil {
			return 0, false
		}
		if j == i {
			continue
		}
		bytes := p.bytes
		if g.op.Shape == FromRoot {
			bytes = uint64(len(p.chunk(i)))
		}
		at = max(at, p.request.posted+cfg.Latency+cfg.Transfer(bytes))
	}
	return at, true
}

// senders are the members whose chunks member i receives, in order.
func (g *gang) senders(i int) []int {
	first, end := 0, len(g.parts)
	switch g.op.Shape {
	case FromRoot:
		first, end = g.op.Root, g.op.Root+1
	case ToRoot:
		if i != g.op.Root {
			end = 0
		}
	case Prefix:
		end = i + 1
	case PrefixExclusive:
		end = i
	}
	var list []int
	for j := first; j < end; j++ {
		list = append(list, j)
	}
	return list
}

func (g *gang) received(i int) [][]byte {
	var chunks [][]byte
	for _, j := range g.senders(i) {
		chunks = append(chunks, g.parts[j].chunk(i))
	}
	return chunks
}

// chunk is what the part holds for member i.
func (p *part) chunk(i int) []byte {
	switch len(p.chunks) {
	case 0:
		return nil
	case 1:
		return p.chunks[0]
	}
	return p.chunks[i]
}
