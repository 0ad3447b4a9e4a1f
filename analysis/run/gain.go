package run

import (
	"fmt"

	"marple/analysis/words"
)

// Text says for people what is gained: "saves 18 % of the run (16–20 %), 1.2 s". It is "" where that is not known.
func (g *Gain) Text() string {
	const hardly = 0.005 // of the run; also a range that is narrower says no more than the figure
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

// Doubt says of what may be a finding, for people, what it may be: "5 % to 8 %", of what it costs or, where that is sure, of what
// its remedy saves.
func (f *Finding) Doubt() string {
	if g := f.Gain; g != nil && g.High >= f.Low {
		return "saves " + words.Percent(g.Low) + " to " + words.Percent(g.High)
	}
	return words.Percent(f.Low) + " to " + words.Percent(f.Share)
}
