package page

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"marple/analysis/analysistest"
	"marple/analysis/diagnosis"
	"marple/analysis/knowledge"
	"marple/analysis/run"
	"marple/analysis/whatif"
)

const ms = 1_000_000

// uneven has rank 3 compute for 30 ms where others compute for 10 ms.
func uneven() *run.Run {
	r := analysistest.RunWithWaits(4, 4, func(r *analysistest.Rank) {
		analysistest.Steps(20, func() {
			slow := uint64(r.Rank/3) * 20 * ms
			r.Region("solve", func() { r.Compute(10*ms + slow) })
			r.Barrier(20, 21*ms-slow)
		})
	})
	diagnosis.Conclude(r, knowledge.Library{})
	whatif.Gains(r)
	return r
}

// The replay as it was shows the run's times, slices add up to them, and the finding lights up where the slow rank computes.
func TestReplay(t *testing.T) {
	r := uneven()
	require.NotEmpty(t, r.Findings)
	p := Page{Run: r, Steps: whatif.Steps(r)}
	p.Replay(whatif.Variants(r))
	require.Equal(t, 2, len(p.Variants))
	was := &p.Variants[0].Overview
	var useful, waiting float64
	for _, c := range was.Cell {
		useful, waiting = useful+c.Useful, waiting+c.Waiting
	}
	assert.InDelta(t, 20*60*ms, useful, ms)
	assert.InDelta(t, 20*60*ms, waiting, 10*ms, "three ranks for 20 ms each")
	var sliced, waits int64
	for _, list := range p.Slices.Of {
		for _, s := range list {
			sliced, waits = sliced+s.Ns, waits+s.Waiting
		}
	}
	assert.InDelta(t, 4*20*31*ms, sliced, 2*ms)
	assert.InDelta(t, waiting, waits, ms)
	lit := [4]int{}
	for at, c := range was.Cell {
		if c.Lit&1 != 0 {
			lit[at/was.Cells]++
		}
	}
	assert.Greater(t, lit[3], was.Cells/2, "the rank that computes longer")
	for _, other := range lit[:3] {
		assert.Less(t, other, lit[3])
	}

	d := dataOf(t, write(t, p))
	require.Equal(t, 2, len(d.Variants))
	assert.Equal(t, 0, d.Variants[1].Finding)
	assert.Less(t, d.Variants[1].Ns, int64(20*31*ms)+1)
	assert.Equal(t, len(was.Cell), len(d.Lit))
	assert.Len(t, d.Steps.Rows, 5)
	for _, list := range d.Slices.Of {
		for k := 0; k < len(list); k += 4 {
			assert.Less(t, list[k], int64(len(d.Nodes)))
		}
	}
}

// Lines are those of the file that shares most of the path; what the directory does not have is left out.
func TestSources(t *testing.T) {
	r := assembly()
	var n *run.Node
	r.Root().Walk(func(x *run.Node, _ int) bool {
		if x.Kind == "mpi" && n == nil {
			n = x
		}
		return true
	})
	n.File, n.Line = "/build/app/src/step.c", 5
	directory := t.TempDir()
	for path, text := range map[string]string{"src/step.c": "1\n2\n3\n4\n\tMPI_Send(…);\n6\n7\n8\n9\n", "other/step.c": "a\nb\nc\nd\ne\n", ".git/src/step.c": "no\n"} {
		require.NoError(t, os.MkdirAll(filepath.Join(directory, filepath.Dir(path)), 0o777))
		require.NoError(t, os.WriteFile(filepath.Join(directory, path), []byte(text), 0o666))
	}
	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(directory, "link.c")))
	sources, err := ReadSources(r, directory)
	require.NoError(t, err)
	assert.Equal(t, Source{File: "step.c", First: 2, From: 5, To: 5, Lines: []string{"2", "3", "4", "    MPI_Send(…);", "6", "7", "8"}}, sources[n.ID])
	require.NoError(t, os.WriteFile(filepath.Join(directory, "src/step.c"), []byte("\t\tfor (;;) {\r\n\n\t\t\tMPI_Send(…);  \n\t\t}\n  "), 0o666))
	n.Line = 3
	sources, err = ReadSources(r, directory)
	require.NoError(t, err)
	assert.Equal(t, []string{"for (;;) {", "", "    MPI_Send(…);", "}", ""}, sources[n.ID].Lines, "without what all lines are indented by")
	// Between a call of another function and one of the gap's own the lines are not one piece.
	inner := &run.Node{ID: "inner", Kind: "frame", Children: []*run.Node{{ID: "a", Kind: "mpi", File: "src/step.c", Line: 1}}}
	gap, end := &run.Node{ID: "gap", Kind: "gap", From: "a", To: "b"}, &run.Node{ID: "b", Kind: "mpi", File: "src/step.c", Line: 4}
	r.CallGraph = append(r.CallGraph, &run.Node{ID: "outer", Kind: "frame", Children: []*run.Node{inner, gap, end}})
	sources, err = ReadSources(r, directory)
	require.NoError(t, err)
	assert.Equal(t, [2]int{4, 4}, [2]int{sources["gap"].From, sources["gap"].To})
	inner.Children, r.CallGraph[len(r.CallGraph)-1].Children = nil, []*run.Node{inner.Children[0], gap, end}
	sources, err = ReadSources(r, directory)
	require.NoError(t, err)
	assert.Equal(t, [2]int{1, 4}, [2]int{sources["gap"].From, sources["gap"].To})
	n.Line = 500
	sources, err = ReadSources(r, directory)
	require.NoError(t, err)
	assert.NotContains(t, sources, n.ID, "another version of the file")
	n.File = "link.c"
	n.Line = 1
	sources, err = ReadSources(r, directory)
	require.NoError(t, err)
	assert.NotContains(t, sources, n.ID, "links are not followed")
	_, err = ReadSources(r, filepath.Join(directory, "nowhere"))
	assert.Error(t, err)
}
