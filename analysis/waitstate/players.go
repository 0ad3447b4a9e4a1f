package waitstate

import (
	"math/bits"
	"time"
)

// Players says who replays a run under scenarios.
type Players uint8

const (
	Alone    Players = iota // rank 0, from what all ranks tell it
	Together                // all ranks, each its own calls, whatever that takes
	Auto                    // all ranks, where rank 0 has no room for the calls of all and it is said to be quick
)

const (
	// callCost is how long a core takes for a call that ranks replay under a scenario together, ns, without the messages.
	callCost = 400
	// What a run is replayed under, beside as it was to begin with; and once more, with a core for each, where cores were short.
	scenariosUsually, scenariosCrowded = 2, 5
)

// decide has ranks agree on who replays. It is foreseen how long they take together: for as many messages as the rank with most of them
// gets, or as the critical path goes from rank to rank; each takes what ranks here have taken for one just now.
func (x *replay) decide() error {
	if _, able := x.t.(Mail); !able || x.within.who == Alone || x.within.who == Auto && x.less == nil {
		return nil
	}
	if x.within.who == Together {
		x.across = true
		return nil
	}
	missed := int64(0)
	for i := range x.r.Calls {
		missed += x.r.Calls[i].OffCore + x.r.Calls[i].Coreless
	}
	sums, err := agree(x.t, []int64{missed, x.r.End - x.r.Begin, int64(len(x.segments))}, sum)
	if err != nil {
		return err
	}
	begin := time.Now()
	most, err := agree(x.t, []int64{int64(x.r.Main), x.letters(), max(int64(x.span), x.r.End-x.r.Begin)}, highest)
	if err != nil {
		return err
	}
	took, err := agree(x.t, []int64{int64(time.Since(begin))}, highest)
	if err != nil {
		return err
	}
	scenarios := int64(scenariosUsually)
	if float64(sums[0]) >= CoresShort*float64(sums[1]) {
		scenarios = scenariosCrowded
	}
	trip := took[0] / int64(2*bits.Len(uint(x.t.Ranks()-1))+2) // up a tree, and down through a hypercube
	budget := max(most[2]/budgetPart, leastBudget)
	if x.across = quick(max(most[1], sums[2]), trip, most[0], scenarios, budget); x.across {
		x.latest = time.Now().Add(time.Duration(budget))
	}
	return nil
}

// quick foretells whether scenarios are replayed together within ns of budget: so many calls and messages, one after the other.
func quick(messages, trip, calls, scenarios, budget int64) bool {
	return float64(scenarios)*(float64(messages)*float64(trip)+float64(calls)*callCost) <= float64(budget)
}

// letters are how many messages this rank gets in a replay, at most.
func (x *replay) letters() int64 {
	n := len(x.depends)
	for _, c := range x.meetings() {
		n += 2 * bits.Len32(x.r.Comms[c.Comm].Size-1)
	}
	return int64(n)
}
