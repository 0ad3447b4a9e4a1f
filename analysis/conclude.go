// Package analysis is the road from what the ranks have measured to what a person reads. The packages
// below it are its stages, in the order event, callgraph, profile, run, diagnosis, report; each uses only
// those before it.
package analysis

import (
	"marple/analysis/callgraph"
	"marple/analysis/diagnosis"
	"marple/analysis/profile"
	"marple/analysis/report"
	"marple/analysis/run"
)

// Where the analysis runs.
type Where int

const (
	InProcess Where = iota // inside the application: memory and time are its own
	Afterwards
)

type hex struct{}

func (hex) Name(m callgraph.Module, offset uint64) (string, string, int) { return "", "", 0 }
func (hex) Notes(m callgraph.Module) []string                            { return nil }

// Conclude turns a merged profile into a run with its findings.
func Conclude(p *profile.Profile, where Where) *run.Run {
	r := run.New(p, hex{})
	r.Findings = diagnosis.Find(r)
	return r
}

// Report is the text for a run whose details lie in a directory.
func Report(r *run.Run, directory string) string { return report.Text(r, directory) }
