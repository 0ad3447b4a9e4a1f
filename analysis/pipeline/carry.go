package pipeline

import (
	"fmt"

	"marple/analysis/machine"
	"marple/analysis/run"
)

// Carry gives a run what marple doctor --machine has written of the machine. A note says why it has not got it.
func Carry(r *run.Run, path string) {
	if path == "" {
		return
	}
	m, err := machine.Read(path)
	if err == nil {
		if here := machine.Processor(); m.Processor != here && here != "" {
			err = fmt.Errorf("%s: it is of another machine, with %q; this one has %q", path, m.Processor, here)
		}
	}
	if err != nil {
		r.NotSeen = append(r.NotSeen, run.Note{ID: "machine", Text: fmt.Sprintf("the run does not say on which machine it was: %v", err)})
		return
	}
	r.Machine = m
}
