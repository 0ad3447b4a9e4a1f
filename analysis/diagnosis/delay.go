package diagnosis

import (
	"fmt"
	"slices"

	"marple/analysis/knowledge"
)

// attributed is the time that ranks wait in a component because of what others do in certain components.
func attributed(e *evaluator, args []any) (any, error) {
	at, ok := args[0].(component)
	if !ok {
		return nil, fmt.Errorf("attributed is about a component")
	}
	w := e.d.waitAt(at)
	if w == nil {
		return 0.0, nil
	}
	parts, err := e.d.attribute(w)
	if err != nil {
		return nil, err
	}
	total := 0.0
	for _, a := range args[1:] {
		if c, ok := a.(component); ok {
			if i := slices.Index(w.Causes, knowledge.ComponentRef{Scope: c.of.scope, Name: c.name}); i >= 0 {
				total += parts[i]
			}
		}
	}
	return total, nil
}

// whileDelayed is the time that ranks wait because of a delay, wherever it shows: also in components of other
// models, where these run interleaved.
func whileDelayed(e *evaluator, args []any) (any, error) {
	x := args[0].(delayed)
	var causes []string
	for _, d := range x.of.scope.Model.Delays {
		if d.Name == x.name {
			causes = d.CausedBy
		}
	}
	total := 0.0
	for _, w := range e.d.knowledge.Waits {
		own := func(c knowledge.ComponentRef) bool { return c.Scope == x.of.scope && slices.Contains(causes, c.Name) }
		if !slices.ContainsFunc(w.Causes, own) {
			continue
		}
		parts, err := e.d.attribute(w)
		if err != nil {
			return nil, err
		}
		for i, c := range w.Causes {
			if own(c) {
				total += parts[i]
			}
		}
	}
	return total, nil
}

func (g *Diagnosis) waitAt(at component) *knowledge.Wait {
	for _, w := range g.knowledge.Waits {
		if w.At == (knowledge.ComponentRef{Scope: at.of.scope, Name: at.name}) {
			return w
		}
	}
	return nil
}

// attribute divides the time that ranks wait in a component among its causes, by the replay of the logs if there was
// one. Otherwise by times: a rank waits for the one that takes longest over all causes together, as long as it takes
// that one longer than itself; each cause has its part in proportion to how much longer it takes there. Either way
// ranks wait no longer than they are in the component and have a core.
func (g *Diagnosis) attribute(w *knowledge.Wait) ([]float64, error) {
	if parts, ok := g.delays[w]; ok {
		return parts, nil
	}
	if parts := g.replayed(w); parts != nil {
		most, err := g.evaluators[w.At.Scope].time(selection{component: w.At.Name})
		if err != nil {
			return nil, err
		}
		if all := sum(parts); all > most {
			for i := range parts {
				parts[i] *= most / all
			}
		}
		g.delays[w] = parts
		return parts, nil
	}
	times := func(c knowledge.ComponentRef) ([]float64, error) {
		return g.evaluators[c.Scope].times(selection{component: c.Name})
	}
	waits, err := times(w.At)
	if err != nil {
		return nil, err
	}
	all := make([]float64, len(waits))
	var causes [][]float64
	for _, c := range w.Causes {
		v, err := times(c)
		if err != nil {
			return nil, err
		}
		causes = append(causes, v)
		for i, x := range v {
			all[i] += x
		}
	}
	parts := make([]float64, len(causes))
	if len(all) == 0 {
		return parts, nil
	}
	slow := slices.Index(all, slices.Max(all))
	for i := range waits {
		longer := 0.0
		for _, v := range causes {
			longer += max(0, v[slow]-v[i])
		}
		if longer == 0 {
			continue
		}
		lost := min(waits[i], all[slow]-all[i])
		for c, v := range causes {
			parts[c] += lost * max(0, v[slow]-v[i]) / longer
		}
	}
	g.delays[w] = parts
	return parts, nil
}
