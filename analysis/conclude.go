// Package analysis is the road from what the ranks have measured to what a person reads. The packages
// below it are its stages, in the order event, callgraph, profile, run, diagnosis, report; each uses only
// those before it.
package analysis

import (
	"marple/analysis/diagnosis"
	"marple/analysis/names"
	"marple/analysis/profile"
	"marple/analysis/report"
	"marple/analysis/run"
)

// Conclude turns a merged profile into a run with its findings.
func Conclude(p *profile.Profile, budget names.Budget) *run.Run {
	r := run.New(p, names.Of(&p.Graph, budget))
	diagnosis.Conclude(r)
	return r
}

// Report is the text for a run whose details lie in a directory.
func Report(r *run.Run, directory string) string { return report.Text(r, directory) }
