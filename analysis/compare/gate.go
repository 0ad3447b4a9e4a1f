package compare

import (
	"errors"
	"fmt"
)

// Gate is what a build may fail for: B is slower than A by more than a limit, and by more than noise.
type Gate struct {
	Limit       float64      `json:"limit"`       // share of A's wall time
	Regressions []Regression `json:"regressions"` // the wall time first, then call paths by what they add
}

// Regression is what became slower.
type Regression struct {
	What     string  `json:"what"`            // "wall time", or the call path's label
	Increase float64 `json:"increase"`        // share of A's wall time by which it is more
	Place    *int    `json:"place,omitempty"` // index in places
	Change
}

// ErrNoNoise says that two single runs were given to a gate.
var ErrNoNoise = errors.New("one run on each side cannot tell a regression from noise: give three or more of each, made in turns")

// Guard looks for regressions: of the wall time and of call paths, each per rank, that B has more of than A by more than a
// share of A's wall time, with a verdict of Changed. Tests are two-sided at 5 %, and of the call paths adjusted for their
// number, so that of 100 comparisons of equal runs 5 at most have any.
func (c *Comparison) Guard(limit float64) error {
	if c.Wall.Verdict == Unknown {
		return ErrNoNoise
	}
	c.Gate = &Gate{Limit: limit, Regressions: []Regression{}}
	look := func(what string, x Change, place *int) {
		if x.Verdict == Changed && c.Wall.A > 0 && x.Difference > limit*c.Wall.A {
			c.Gate.Regressions = append(c.Gate.Regressions, Regression{what, x.Difference / c.Wall.A, place, x})
		}
	}
	look("wall time", c.Wall, nil)
	for i := range c.Places {
		look(c.Places[i].Label(), c.Places[i].Change, &i)
	}
	return nil
}

// Failed tells whether there is a regression.
func (g *Gate) Failed() bool { return g != nil && len(g.Regressions) > 0 }

// String is one line on what was found.
func (g *Gate) String() string {
	if !g.Failed() {
		return fmt.Sprintf("nothing is slower by more than %.3g %% and more than noise", 100*g.Limit)
	}
	first := g.Regressions[0]
	text := fmt.Sprintf("%s: %.1f %% of A's wall time more (limit %.3g %%)", first.What, 100*first.Increase, 100*g.Limit)
	if more := len(g.Regressions) - 1; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}
