package diagnosis

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"marple/analysis/analysistest"
	"marple/analysis/knowledge"
	"marple/analysis/run"
)

// In a large call graph no phases are looked for, and that is said.
func TestPhasesOfALargeCallGraph(t *testing.T) {
	for _, large := range []bool{false, true} {
		r := analysistest.RunWithWaits(2, 2, func(r *analysistest.Rank) {
			analysistest.Steps(3, func() {
				r.Region("solve", func() { r.Compute(10_000_000) })
				r.Barrier(20, 1_000_000)
			})
		})
		if root := r.Root(); large {
			for i := range run.Large {
				root.Children = append(root.Children, &run.Node{ID: fmt.Sprintf("%016x", 1<<40+i), Kind: "region", Name: "small"})
			}
		}
		Conclude(r, knowledge.Library{})
		assert.Equal(t, large, slices.ContainsFunc(r.NotSeen, func(n run.Note) bool { return n.ID == "phases-not-sought" }))
	}
}
