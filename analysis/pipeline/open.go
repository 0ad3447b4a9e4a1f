package pipeline

import (
	"marple/analysis/diagnosis"
	"marple/analysis/knowledge"
	"marple/analysis/run"
	"marple/analysis/tauprofile"
)

// Open reads a run directory, a run.json by itself, or a directory of TAU profiles, which are diagnosed here.
func Open(path string) (*run.Run, error) {
	r, err := tauprofile.Open(path)
	if err == nil && r.Findings == nil {
		again := *r
		diagnosis.Conclude(&again, knowledge.Library{})
		r.Findings, r.MayBe, r.Loss = again.Findings, again.MayBe, again.Loss
	}
	return r, err
}
