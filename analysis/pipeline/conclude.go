// Package pipeline joins the stages: from what all ranks have measured, or have left behind, to a run with its findings.
//
// MPI_Finalize and the commands call the same functions.
package pipeline

import (
	"fmt"

	"marple/analysis/diagnosis"
	"marple/analysis/files"
	"marple/analysis/invocation"
	"marple/analysis/knowledge"
	"marple/analysis/names"
	"marple/analysis/profile"
	"marple/analysis/run"
	"marple/analysis/whatif"
)

// Conclude turns a merged profile into a run with its findings, by the knowledge of a library.
func Conclude(p *profile.Profile, budget names.Budget, library knowledge.Library) *run.Run {
	r := run.New(p, names.Of(&p.Graph, budget))
	diagnosis.Conclude(r, library)
	whatif.Gains(r)
	return r
}

// KeepInvocations writes the records of component invocations into a run directory, and notes in the run how many
// of them are missing. The error tells why.
func KeepInvocations(r *run.Run, directory files.Directory, sources []*invocation.Source) error {
	if r.Invocations == 0 {
		return nil
	}
	rows, err := invocation.Write(directory, sources)
	if missing := r.Invocations - min(r.Invocations, rows+r.Unkept()); missing > 0 {
		text := fmt.Sprintf("%d invocations of components are in the call graph, but their records could not be read", missing)
		if err != nil {
			text += fmt.Sprintf(" (%v)", err)
		} else if h, _ := run.ReadHosts(directory.String()); h != nil && len(h.Places) > 0 {
			text += " (put the run directory where all hosts see it)"
		}
		r.NotSeen = append(r.NotSeen, run.Note{ID: "invocations-missing", Text: text, Count: missing})
	}
	if err == nil {
		if err = invocation.Exchanged(sources, r.Exchanged, float64(r.WallNs)/1e9); err != nil {
			r.NotSeen = append(r.NotSeen, run.Note{ID: "exchanged", Text: fmt.Sprintf("what exchanged implementations served is not known: %v", err)})
		}
	}
	return err
}
