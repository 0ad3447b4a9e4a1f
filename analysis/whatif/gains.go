// Package whatif says what a run would gain by a change: it replays what ranks did as it might have been.
//
// It may use run, waitstate, callgraph and words; it holds no state. What it is about is data: a finding's remedy, or what a
// user asks for, becomes a waitstate.Scenario.
//
// Invariant: a gain that is not known is none, not zero; one that is known has a range.
package whatif

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"marple/analysis/callgraph"
	"marple/analysis/run"
	"marple/analysis/waitstate"
)

const (
	// nothing is the share of the run from which on a gain is one.
	nothing = 0.01
	// mostReplayed is how many calls are replayed for the gains of all findings, 100 ns each; for findings beyond that
	// they are not known.
	mostReplayed = 1 << 23
	// together is how many findings' joint gain is told.
	together = 3
)

// Unknown says why nothing can be said about a run that was other than it was; "" if it can.
func Unknown(r *run.Run) string {
	if r.Replay == nil {
		return "its ranks' calls were not kept (setting log) or too uneven over the run to be replayed together, it had one rank, did not finish, or is of another tool"
	}
	if r.Replay.Threads {
		return "several threads of a rank called MPI"
	}
	for _, n := range r.NotSeen {
		if slices.Contains(run.WaitsIncomplete, n.ID) {
			return n.Text
		}
	}
	return ""
}

// Gains finds what the remedies of a run's findings would bring, and brings findings into the order of that, or of what their own
// formulas say; where neither is known, of what they cost.
func Gains(r *run.Run) {
	r.JointGain = nil
	if Unknown(r) == "" && slices.ContainsFunc(r.Findings, func(f run.Finding) bool { return f.Remedy != nil }) {
		replayed(r)
	}
	slices.SortStableFunc(r.Findings, func(a, b run.Finding) int { return cmp.Compare(weight(&b), weight(&a)) })
}

func replayed(r *run.Run) {
	p := newPlayer(r)
	scenarios := make([]waitstate.Scenario, len(r.Findings))
	by := map[string]waitstate.Scenario{}
	for i := range r.Findings {
		f := &r.Findings[i]
		if f.Remedy == nil || !p.room(mostOfGain) {
			continue
		}
		if scenarios[i] = Remedy(r, f.Remedy); scenarios[i] == nil {
			continue
		}
		saves, other := p.balance(&scenarios[i])
		by[f.ID+f.Node] = scenarios[i]
		g := p.gain(scenarios[i], saves)
		g.Low, g.High = min(g.Low, max(other, 0)), max(g.High, other)
		switch c := &scenarios[i][0]; c.Kind {
		case waitstate.Free, waitstate.Prompt, waitstate.Nonblocking:
			g.AtMost = true
		case waitstate.Balance:
			g.AtMost = r.Replay.Alone(c.Paths) // it may not be divisible
		}
		p.atMost(&g)
		f.Gain = &g
		p.disturbances(f, scenarios[i], saves.share)
		p.instead(f)
	}
	p.behind(r.Findings, scenarios)
	r.Findings = slices.DeleteFunc(r.Findings, func(f run.Finding) bool {
		if !doubtful(f.Gain) && !disturbed(&f) {
			return false
		}
		r.MayBe = append(r.MayBe, f)
		return true
	})
	if r.Loss != nil {
		r.Loss = run.Account(r)
	}
	slices.SortStableFunc(r.Findings, func(a, b run.Finding) int { return cmp.Compare(weight(&b), weight(&a)) })
	var all waitstate.Scenario
	n, atMost := 0, false
	for _, f := range r.Findings[:min(together, len(r.Findings))] {
		if by[f.ID+f.Node] == nil {
			break
		}
		all = append(all, by[f.ID+f.Node]...)
		n, atMost = n+1, atMost || f.Gain.AtMost
	}
	if n > 1 && p.room(2) {
		r.JointGain = &run.JointGain{Findings: n, Gain: p.gain(all, p.saved(p.base, all))}
		r.JointGain.AtMost = atMost
		p.atMost(&r.JointGain.Gain)
	}
}

// instead finds what a finding's other remedies would bring.
func (p *player) instead(f *run.Finding) {
	list := f.Instead[:0]
	for _, x := range f.Instead {
		s := Remedy(p.r, &x.Remedy)
		if s == nil {
			continue // there is nothing that it would change
		}
		if p.room(mostOfGain) {
			g := p.gain(s, p.saved(p.base, s))
			g.AtMost = g.AtMost || s[0].Hides()
			p.atMost(&g)
			x.Gain = &g
		}
		list = append(list, x)
	}
	f.Instead = list
}

// balance is what a scenario saves. Of a balance it says which of two things it is: where ranks have too much in all, they are
// given less, and what varies from one time to the next stays; where that brings less than half as much, it is what varies.
// The other one of the two saves the other share.
func (p *player) balance(s *waitstate.Scenario) (saves saving, other float64) {
	each := p.saved(p.base, *s)
	if (*s)[0].Kind != waitstate.Balance {
		return each, each.share
	}
	whole := slices.Clone(*s)
	whole[0].Whole = true
	all := p.saved(p.base, whole)
	if all.share < each.share/2 {
		return each, all.share
	}
	*s = whole
	return all, each.share
}

// disturbances looks at what of a finding's gain is left where nothing takes longer now and then than it mostly does. What
// ranks wait for in turn may be the program's doing or the machine's; only what is left is surely the program's, or what
// some ranks have too much of in all.
func (p *player) disturbances(f *run.Finding, s waitstate.Scenario, saves float64) {
	c := &s[0]
	if saves < nothing || c.Kind == waitstate.Free || !p.room(3) {
		return
	}
	inAll := 0.0
	if c.Whole { // what is the same in all parts of the run is no disturbance
		if scatter, known := p.r.Waits.Scatter(f.Ranks, p.r.Ranks); known && 2*scatter < f.Seconds {
			return
		}
	} else {
		if p.inAll == nil {
			x := p.saved(p.base, waitstate.Scenario{{Kind: waitstate.Balance, Whole: true}}).share
			p.inAll = &x
		}
		inAll = *p.inAll
	}
	steady := slices.Concat(p.base, waitstate.WithoutDisturbance())
	if p.steady == nil {
		p.steady = p.under(steady)
	}
	left := max(0, float64(p.steady.Length-p.under(slices.Concat(steady, s)).Length)/float64(p.of(p.base).Length))
	if sure := max(left, inAll); sure < saves {
		f.Low = min(f.Low, f.Share*sure/saves)
		f.Gain.Low, f.Gain.Steady = min(f.Gain.Low, sure), &sure
	}
}

// disturbed is a finding of which so much may be the machine's doing that what its remedy saves surely is not worth telling, or less
// than what it does not.
func disturbed(f *run.Finding) bool {
	g := f.Gain
	return g != nil && g.Steady != nil && (*g.Steady < f.Worth || *g.Steady < max(g.Share, g.High)/2)
}

// doubtful is a gain that is none, as far as is known: it may be one, or it is not known what else keeps the run as long. Of what
// is a gain at most, the most is none.
func doubtful(g *run.Gain) bool {
	return g != nil && g.Share < nothing && (!g.AtMost || g.High < nothing) && g.Behind == ""
}

// atMost makes a gain that may be any part of it the most that it can be. Where findings are about the run with a core for each rank,
// that is the most of it: what the crowded run would save holds waiting for cores, too.
func (p *player) atMost(g *run.Gain) {
	if !g.AtMost {
		return
	}
	if p.base != nil {
		g.High = g.Share
	}
	g.Low, g.Share, g.Seconds = 0, g.High, g.High*p.wall
}

// weight is what findings are ordered by. What is only known to be no more than that counts for no more than what is lost.
func weight(f *run.Finding) float64 {
	switch {
	case f.Gain == nil:
		return f.Share
	case f.Gain.AtMost:
		return min(f.Gain.Share, f.Share)
	}
	return f.Gain.Share
}

// behind names, for what brings nothing by itself, what it brings more with: another finding, or what ranks compute longer
// than others do.
func (p *player) behind(list []run.Finding, scenarios []waitstate.Scenario) {
	for i := range list {
		f := &list[i]
		if f.Gain == nil || f.Gain.High >= nothing || !p.room(1) {
			continue
		}
		most := nothing
		try := func(s waitstate.Scenario, alone float64, what string) {
			if more := p.saved(p.base, slices.Concat(scenarios[i], s)).share - alone; more >= most {
				most, f.Gain.Behind = more, what
			}
		}
		for j := range list {
			if j != i && list[j].Gain != nil && p.room(1) {
				try(scenarios[j], list[j].Gain.Share, "“"+list[j].Title+"”")
			}
		}
		if f.Gain.Behind != "" || !p.room(2*mostHeld) {
			continue
		}
		for _, h := range held(p.r, p.under(slices.Concat(p.base, scenarios[i]))) {
			if h.What == "imbalance" {
				s := Remedy(p.r, &run.Remedy{Change: "balance", Nodes: []string{h.Node}})
				try(s, max(p.saved(p.base, s).share, 0), "what some ranks compute longer "+h.Where)
			}
		}
	}
}

// player replays a run.
type player struct {
	r     *run.Run
	base  waitstate.Scenario // that findings are about
	wall  float64            // s, under that
	bases [2]*waitstate.Times
	calls int // to be replayed yet
	// Without disturbances; and what giving some ranks less in all would save.
	steady *waitstate.Times
	inAll  *float64
}

func newPlayer(r *run.Run) *player {
	p := &player{r: r, wall: float64(r.WallNs) / 1e9, calls: mostReplayed}
	if r.WithCores != nil {
		p.base, p.wall = waitstate.CoreForEach(), float64(r.WithCores.WallNs)/1e9
	}
	return p
}

// room tells whether so many more replays may be made.
func (p *player) room(n int) bool {
	return p.calls >= n*p.r.Replay.Size()
}

func (p *player) under(s waitstate.Scenario) *waitstate.Times {
	p.calls -= p.r.Replay.Size()
	return p.r.Replay.Under(s)
}

// saving is what a scenario saves of the run, and how that goes then.
type saving struct {
	share float64
	then  *waitstate.Times
}

// of is the run under one of the scenarios that others are compared with: as it was, or with a core for each rank.
func (p *player) of(base waitstate.Scenario) *waitstate.Times {
	t := &p.bases[min(len(base), 1)]
	if *t == nil {
		*t = p.under(base)
	}
	return *t
}

// saved is what a scenario saves of the run under another one.
func (p *player) saved(base, s waitstate.Scenario) saving {
	was, then := p.of(base), p.under(slices.Concat(base, s))
	if was.Length <= 0 {
		return saving{0, then}
	}
	return saving{1 - float64(then.Length)/float64(was.Length), then}
}

// mostOfGain replays are what a gain takes at most.
const mostOfGain = 7

// gain is what a scenario saves. Its range is that between calls that take what they took, and such that take what the
// quickest do, on a core of their own; and what parts of the run differ by, where not all of it is replayed.
func (p *player) gain(s waitstate.Scenario, saves saving) run.Gain {
	g := run.Gain{Share: saves.share}
	other := waitstate.CoreForEach()
	if p.base != nil {
		other = nil
	}
	x := p.saved(other, s).share
	g.Low, g.High = min(g.Share, x), max(g.Share, x)
	if p.r.Replay.Looked > 0 {
		e := deviation(p.of(p.base), saves.then)
		g.Low, g.High = g.Low-e, g.High+e
	}
	g.Share, g.Low, g.High = max(g.Share, 0), max(g.Low, 0), min(max(g.High, 0), 1)
	g.Seconds = g.Share * p.wall
	return g
}

// deviation is twice the standard error of the share that is saved, by how it differs between eight parts of the run.
func deviation(was, then *waitstate.Times) float64 {
	const parts = 8
	var before, after [parts + 1]float64 // of parts: when ranks, on average, came to the end of them
	for rank, left := range was.Left {
		for k := range before {
			i, _ := slices.BinarySearch(left, was.Length*int64(k)/parts)
			if i > 0 {
				before[k] += float64(left[i-1])
				after[k] += float64(then.Left[rank][i-1])
			}
		}
	}
	var list []float64
	for k := range parts {
		if d := before[k+1] - before[k]; d > 0 {
			list = append(list, 1-(after[k+1]-after[k])/d)
		}
	}
	if len(list) < 2 {
		return 1
	}
	var mean, square float64
	for _, x := range list {
		mean += x / float64(len(list))
	}
	for _, x := range list {
		square += (x - mean) * (x - mean)
	}
	n := float64(len(list))
	return 2 * math.Sqrt(square/(n-1)/n)
}

// Remedy is the scenario of a finding's remedy; nil if the run's replay knows nothing of where it is.
func Remedy(r *run.Run, x *run.Remedy) waitstate.Scenario {
	c := waitstate.Change{Kind: changes[x.Change], Pattern: waitstate.PatternOf(x.Pattern)}
	if c.Kind == waitstate.Nonblocking && len(x.Nodes) == 0 {
		return nil // not all calls have such a form
	}
	if len(x.Nodes) > 0 {
		c.Paths = map[callgraph.ID]float64{}
		for _, id := range x.Nodes {
			n, err := strconv.ParseUint(id, 16, 64)
			if err != nil || c.Kind == waitstate.Nonblocking && !is(r.Find(id), blocks) {
				continue
			}
			c.Paths[callgraph.ID(n)] = 1
		}
		if !r.Replay.Has(c.Paths) {
			return nil
		}
	}
	for _, rank := range x.Ranks {
		c.Ranks = append(c.Ranks, int32(rank))
	}
	slices.Sort(c.Ranks)
	if _, known := changes[x.Change]; !known {
		return nil
	}
	return waitstate.Scenario{c}
}

var changes = map[string]waitstate.What{"balance": waitstate.Balance, "free": waitstate.Free, "remove": waitstate.Remove, "prompt": waitstate.Prompt,
	"nonblocking": waitstate.Nonblocking}
