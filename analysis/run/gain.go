package run

import (
	"fmt"

	"marple/analysis/words"
)

// hardly is a part of the run that is nothing; also a range that is narrower says no more than the figure.
const hardly = 0.005

// Text says for people what is gained: "saves 18 % of the run (16–20 %), 1.2 s". It is "" where that is not known.
func (g *Gain) Text() string {
	if g == nil {
		return ""
	}
	if g.Share < hardly && g.High < hardly {
		if g.Behind != "" {
			return "saves nothing by itself: behind it is " + g.Behind
		}
		return "saves nothing by itself: the run would take as long for other reasons"
	}
	text := fmt.Sprintf("saves %s of the run", words.Percent(g.Share))
	switch {
	case g.AtMost:
		text = fmt.Sprintf("saves up to %s of the run", words.Percent(max(g.Share, g.High)))
	case g.High-g.Low >= 2*hardly:
		text += fmt.Sprintf(" (%.0f–%.0f %%)", 100*g.Low, 100*g.High)
	}
	return text + ", " + words.Duration(g.Seconds)
}

// Text says for people what another remedy gains; "" where that is not known.
func (x *Instead) Text() string {
	text := x.Gain.Text()
	if text == "" || x.Change != "nonblocking" {
		return ""
	}
	if x.Gain.Share < hardly && x.Gain.High < hardly {
		return "non-blocking, and waited for before the next call of MPI, it saves nothing"
	}
	return "non-blocking, and waited for before the next call of MPI, it " + text
}

// Doubt says of what may be a finding, for people, what it may be: what it costs, "5 % to 8 %", or, where that is sure, what its
// remedy saves.
func (f *Finding) Doubt() string {
	low, high := words.Percent(f.Low), words.Percent(f.Share)
	switch g := f.Gain; {
	case g != nil && g.Steady != nil:
		return fmt.Sprintf("saves %s to %s: that some passages take longer than others may be the machine's doing",
			words.Percent(*g.Steady), words.Percent(max(g.Share, g.High)))
	case g != nil && g.High >= f.Low:
		return "saves " + words.Percent(g.Low) + " to " + words.Percent(g.High)
	case low != high:
		return low + " to " + high
	case g != nil:
		return high + "; without it the run would take as long"
	}
	return high
}
