package diagnosis

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"marple/analysis/analysistest"
	"marple/analysis/knowledge"
	"marple/analysis/record"
	"marple/analysis/run"
)

// stealing has four ranks that work, look for work in vain, and take some from each other.
func stealing() *run.Run {
	const us = 1000
	return analysistest.RunWithWaits(4, 4, func(r *analysistest.Rank) {
		look := func(hit bool) {
			r.Call(40, "MPI_Test", record.OpTest, record.Nonblocking, record.Call{Duration: us, Hit: hit, Peer: record.NoPeer})
		}
		analysistest.Steps(30, func() {
			r.Compute(2000 * us)
			for range 400 {
				look(false)
				r.Compute(us)
			}
			for away := 1; away < 4; away++ {
				r.Send(30, (r.Rank+away)%4, 64, us)
				r.Recv(31, (r.Rank+4-away)%4, 64, us)
				look(true)
			}
		})
	})
}

// A model of one's own is recognized and diagnoses like a built-in one; it is the one that the manual shows.
func TestKnowledgeOfOnesOwn(t *testing.T) {
	own := knowledge.Library{Directory: "../../examples/knowledge"}
	require.NoError(t, own.Check())
	r := stealing()
	Conclude(r, own)
	require.NotEmpty(t, r.Models)
	require.Equal(t, "task-stealing", r.Models[0].Name)
	require.NotEmpty(t, r.Findings)
	require.Equal(t, "nothing-left", r.Findings[0].ID)
	require.Equal(t, "task-stealing", r.Findings[0].Model)

	r = stealing()
	Conclude(r, knowledge.Library{})
	for _, m := range r.Models {
		require.NotEqual(t, "task-stealing", m.Name)
	}
}

// What is wrong with it is said, and the run is diagnosed without it.
func TestWrongKnowledgeOfOnesOwn(t *testing.T) {
	directory := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(directory, "mine.yaml"), []byte("model: mine\nrules: 5\n"), 0o666))
	own := knowledge.Library{Directory: directory}
	require.ErrorContains(t, own.Check(), filepath.Join(directory, "mine.yaml")+":2:8: ")
	r, plain := stealing(), stealing()
	Conclude(r, own)
	Conclude(plain, knowledge.Library{})
	require.Equal(t, plain.Findings, r.Findings)
	require.Equal(t, "knowledge-failed", r.NotSeen[len(r.NotSeen)-1].ID)
	require.ErrorContains(t, knowledge.Library{Directory: t.TempDir()}.Check(), "expected files of knowledge")
}
