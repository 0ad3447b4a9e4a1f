package export

import (
	"marple/analysis/callgraph"
	"marple/analysis/run"
	"marple/analysis/trace"
)

// paths finds the call paths of the thread that called MPI_Init by the ids of their nodes.
func paths(r *run.Run) (map[string]*frame, error) {
	list := map[string]*frame{}
	roots, err := frames(r)
	if err != nil {
		return nil, err
	}
	walk(roots[:1], func(f *frame) {
		if f.node != nil {
			list[f.node.ID] = f
		}
	})
	return list, nil
}

// inside is what a thread is in as its events come: regions, and the functions on the way to them and to calls. A function lasts from
// the first event in it to the last: nothing is known of it before and after.
type inside struct {
	paths  map[string]*frame // of this thread
	places *callgraph.Places
	above  map[uint32][]*frame
	open   []visit
	last   int64 // end of the last event
	// Both are told in the order of time.
	entered func(visit)
	left    func(v visit, end int64)
}

// visit is a function or a region that is open.
type visit struct {
	of     *frame
	name   string
	region bool
	begin  int64
}

// insideOf is that of a thread; paths are known of its process's first one only.
func insideOf(t *trace.Thread, paths map[string]*frame) *inside {
	if t.Number > 0 {
		paths = nil
	}
	return &inside{paths: paths, places: callgraph.PlacesOf(t.Process), above: map[uint32][]*frame{}, entered: func(visit) {}}
}

func (in *inside) frame(path uint32) *frame {
	if len(in.paths) == 0 {
		return nil
	}
	return in.paths[run.NodeID(in.places.Call(path).ID)]
}

// on are the functions and regions on the way to a call path, which is left out itself.
func (in *inside) on(path uint32) []*frame {
	chain, known := in.above[path]
	if known {
		return chain
	}
	if f := in.frame(path); f != nil {
		for f = f.parent; f != nil && f.parent != nil; f = f.parent {
			chain = append([]*frame{f}, chain...)
		}
	}
	in.above[path] = chain
	return chain
}

// leave ends all but the outermost ones.
func (in *inside) leave(depth int, end int64) {
	for len(in.open) > depth {
		v := in.open[len(in.open)-1]
		in.open = in.open[:len(in.open)-1]
		in.left(v, max(end, v.begin))
	}
}

func (in *inside) enter(v visit) {
	in.open = append(in.open, v)
	in.entered(v)
}

// reach leaves the functions that an event is not in, and enters those that it is in. Regions end by themselves.
func (in *inside) reach(path uint32, begin int64) {
	chain, same := in.on(path), 0
	for same < len(in.open) && same < len(chain) && in.open[same].of == chain[same] {
		same++
	}
	for i := same; i < len(in.open); i++ {
		if in.open[i].region {
			same = i + 1
		}
	}
	in.leave(same, in.last)
	for i := same; i < len(chain); i++ {
		in.enter(visit{of: chain[i], name: chain[i].name, begin: begin})
	}
}

// region begins one.
func (in *inside) region(e *trace.Event, begin int64) {
	in.reach(e.Path, begin)
	in.enter(visit{of: in.frame(e.Path), name: plain(e.Name), region: true, begin: begin})
	in.last = begin
}

// end ends the innermost region, if there is one.
func (in *inside) end(at int64) {
	for depth := len(in.open); depth > 0; depth-- {
		if in.open[depth-1].region {
			in.leave(depth, in.last)
			in.leave(depth-1, at)
			break
		}
	}
	in.last = at
}
