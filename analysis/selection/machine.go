package selection

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"marple/analysis/machine"
	"marple/analysis/series"
)

// on makes the models ready for the machine that is asked for, or else the one that was measured. What is only known of
// the one that was measured says nothing of another.
func (p *Plan) on(measured, wanted *machine.Machine) error {
	other := wanted != nil && elsewhere(measured, wanted)
	if wanted == nil {
		wanted = measured
	}
	for _, fam := range p.Families {
		for _, i := range fam.Implementations {
			if other && (i.fit || i.measured) {
				return p.file.fail(i.at, "%s: what this run has measured says nothing of the machine %s: expected model: of runs on several machines (marple fit RUN... -o FILE)",
					i, wanted.Name)
			}
		}
	}
	if wanted != nil {
		if p.home != nil { // what only that one has been measured for says nothing here
			clear(p.machine)
		}
		maps.Copy(p.machine, wanted.Properties())
	}
	for _, f := range p.fitted {
		if err := f.on(p.machine, wanted, other); err != nil {
			return p.file.fail(f.at, "%s: %v", f.what, err)
		}
	}
	return nil
}

// measured is the machine that the call graph is of, as far as is known.
func (q *Question) measured() *machine.Machine { return cmp.Or(q.Graph.Machine, q.Plan.home) }

// elsewhere tells whether a machine is not the one that was measured, as far as is known.
func elsewhere(measured, m *machine.Machine) bool { return measured == nil || measured.Name != m.Name }

// on takes the models that count on a machine.
func (f *fitted) on(properties map[string]float64, m *machine.Machine, other bool) error {
	var of []string // machines that have models of their own
	general := false
	f.models = nil
	for _, one := range f.all {
		name, own := one.Where[series.Machine]
		if general = general || one.Machines != nil || len(one.Machine) > 0; own && !slices.Contains(of, name) {
			of = append(of, name)
		}
		if !own || m != nil && name == m.Name {
			f.models = append(f.models, one)
		}
	}
	switch {
	case len(of) > 0 && m == nil:
		return fmt.Errorf("each machine has a model of its own (%s), and the run does not say on which it was: give --machine FILE", few(of))
	case len(f.models) == 0:
		return fmt.Errorf("no property of %s explains how they differ, so that each has a model of its own; nothing is known of %s", strings.Join(of, ", "), m.Name)
	case other && len(of) == 0 && !general:
		return fmt.Errorf("the model is of one machine, and says nothing of %s: expected one of runs on several (marple fit RUN... -o FILE)", m.Name)
	}
	if err := f.settled(properties); err != nil {
		return err
	}
	return f.prepare(properties)
}

// settled tells whether it is known of which machine a model is to tell.
func (f *fitted) settled(properties map[string]float64) error {
	for _, m := range f.models {
		if m.Machines != nil && len(m.Machines.Range) > 0 && len(properties) == 0 {
			return fmt.Errorf("the model goes by properties of the machine (%s), and the run does not say on which it was: give --machine FILE, or machine: FILE in the file of families",
				strings.Join(slices.Sorted(maps.Keys(m.Machines.Range)), ", "))
		}
	}
	return nil
}

// placed tells whether it is known of which machine all models are to tell.
func (p *Plan) placed() error {
	for _, f := range p.fitted {
		if err := f.settled(p.machine); err != nil {
			return p.file.fail(f.at, "%s: %v", f.what, err)
		}
	}
	return nil
}
