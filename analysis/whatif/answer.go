package whatif

import (
	"cmp"
	"slices"

	"marple/analysis/callgraph"
	"marple/analysis/run"
	"marple/analysis/waitstate"
)

// Answer is a run as it was, and as it would have been, in the form of `marple whatif --format json`. Shares are from 0 to 1.
type Answer struct {
	Program string `json:"program"`
	Ranks   int    `json:"ranks"`
	// Replayed is the part of the run's time that was replayed.
	Replayed float64  `json:"replayed"`
	Before   State    `json:"before"`
	After    State    `json:"after"`
	Gain     run.Gain `json:"gain"`
	// Assumes is what the most that is gained rests on, in sentences.
	Assumes []string `json:"assumes"`
	// Then is what holds the run back then, the most expensive first.
	Then []Held `json:"then"`
}

// State is how a run goes. Efficiencies are those of POP.
type State struct {
	Seconds       float64 `json:"seconds"` // wall time
	Parallel      float64 `json:"parallel_efficiency"`
	LoadBalance   float64 `json:"load_balance"`
	Communication float64 `json:"communication_efficiency"`
	Serialization float64 `json:"serialization_efficiency"`
	Transfer      float64 `json:"transfer_efficiency"`
}

// Held is what ranks' time is lost to.
type Held struct {
	What  string  `json:"what"` // imbalance, waiting, or call (beside waiting)
	Share float64 `json:"share"`
	Node  string  `json:"node"`
	Where string  `json:"where"`
}

// mostHeld is how much is told of what holds a run back.
const mostHeld = 3

// Ask replays a run of which that can be done; see Unknown.
func Ask(r *run.Run, s waitstate.Scenario) Answer {
	p := newPlayer(r)
	p.base, p.wall = nil, float64(r.WallNs)/1e9
	a := Answer{Program: r.Program, Ranks: r.Ranks, Replayed: 1, Assumes: assumed(s), Then: []Held{}}
	if replay := r.Replay; replay.Looked > 0 {
		a.Replayed = min(float64(replay.Looked)/float64(max(replay.Whole, 1)), 1)
	}
	saves := p.saved(nil, s)
	was, then := p.of(nil), saves.then
	per := p.wall / float64(max(was.Length, 1)) // s of the run, for each ns that is replayed
	a.Before, a.After = p.state(nil, was, per), p.state(s, then, per)
	a.Gain = p.gain(s, saves)
	if len(a.Assumes) > 0 { // nothing may go on meanwhile
		shown := slices.DeleteFunc(slices.Clone(s), func(c waitstate.Change) bool { return c.Hides() })
		a.Gain.Low = min(a.Gain.Low, max(p.saved(nil, shown).share, 0))
	}
	a.Then = append(a.Then, held(r, then)...)
	return a
}

// assumed says when what does not block is waited for, or posted.
func assumed(s waitstate.Scenario) []string {
	list := []string{}
	for i := range s {
		text := "A receive that is posted early is posted when its rank leaves the call of MPI before."
		switch c := &s[i]; {
		case c.Kind == waitstate.Nonblocking && c.Until == nil:
			text = "A non-blocking call is waited for before its rank's next call of MPI."
		case c.Kind == waitstate.Nonblocking:
			text = "A non-blocking call is waited for before the call that is named, or its rank's last one."
		case c.Kind != waitstate.Early:
			continue
		}
		if !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	if len(list) > 0 {
		list = append(list, "The range is from an MPI library that does nothing in between to one that does all that it can.")
	}
	return list
}

func (p *player) state(s waitstate.Scenario, t *waitstate.Times, per float64) State {
	sum, most := useful(t)
	ideal := float64(p.r.Replay.Under(slices.Concat(s, waitstate.IdealNetwork())).Length)
	length := float64(t.Length)
	x := State{Seconds: length * per}
	if most > 0 && length > 0 && ideal > 0 {
		mean := sum / float64(len(t.Gaps))
		x.Parallel, x.LoadBalance, x.Communication = mean/length, mean/most, most/length
		x.Serialization, x.Transfer = min(1, most/ideal), min(1, ideal/length)
	}
	return x
}

// useful is what all ranks, and what one of them at most, spend outside MPI, ns.
func useful(t *waitstate.Times) (sum, most float64) {
	for _, gaps := range t.Gaps {
		var rank float64
		for _, g := range gaps {
			rank += float64(g)
		}
		sum, most = sum+rank, max(most, rank)
	}
	return sum, most
}

// held adds up what ranks lose, by call path: in waiting, in calls beside that, and in computing less than the slowest.
func held(r *run.Run, t *waitstate.Times) (list []Held) {
	type key struct {
		what string
		path callgraph.ID
	}
	lost := map[key]float64{}
	most, sum := map[callgraph.ID]float64{}, map[callgraph.ID]float64{}
	for rank := range r.Replay.Lanes {
		l := &r.Replay.Lanes[rank]
		here := map[callgraph.ID]float64{}
		for k := range l.Calls {
			c := &l.Calls[k]
			if own := t.Own[rank][k]; own > 0 {
				lost[key{"call", l.Paths[c.Path]}] += float64(own)
			}
			lost[key{"waiting", l.Paths[c.Path]}] += float64(t.Left[rank][k] - t.Entered[rank][k] - t.Own[rank][k])
			if later := t.Deferred[rank]; later != nil {
				lost[key{"waiting", l.Paths[c.Path]}] += float64(later[k])
			}
			here[l.Paths[c.GapPath]] += float64(t.Gaps[rank][k])
		}
		for path, ns := range here {
			most[path], sum[path] = max(most[path], ns), sum[path]+ns
		}
	}
	for path := range most {
		lost[key{"imbalance", path}] = most[path]*float64(len(r.Replay.Lanes)) - sum[path]
	}
	paths := r.Paths()
	for k, ns := range lost {
		share := ns / (float64(max(t.Length, 1)) * float64(len(r.Replay.Lanes)))
		if share < nothing { // of most: looking for a node is dear
			continue
		}
		if n := r.Find(run.NodeID(k.path)); n != nil {
			list = append(list, Held{k.what, share, n.ID, paths.Path(n)})
		}
	}
	slices.SortFunc(list, func(a, b Held) int {
		return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(a.What, b.What), cmp.Compare(a.Node, b.Node))
	})
	return list[:min(len(list), mostHeld)]
}
