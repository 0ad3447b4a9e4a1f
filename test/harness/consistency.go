package harness

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"marple/analysis/run"
	"marple/analysis/words"
)

// The report: 80 columns, and at most so many lines.
const (
	reportWidth = 80
	reportLines = 50
)

// Sound holds a stored run to it; it is called for each run of the suite.
func Sound(t testing.TB, directory string, r *run.Run) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(directory, run.File))
	require.NoError(t, err)
	instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	require.NoError(t, err)
	assert.NoError(t, schema().Validate(instance))

	wrong := unbalanced(r)
	assert.Empty(t, wrong, strings.Join(wrong, "\n"))

	text, err := os.ReadFile(filepath.Join(directory, run.ReportFile))
	require.NoError(t, err)
	oneVerdict(t, directory, string(text), r)
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	assert.LessOrEqual(t, len(lines), reportLines, "%s", text)
	for _, line := range lines {
		assert.LessOrEqual(t, words.Width(line), reportWidth, line)
	}
}

var schema = sync.OnceValue(func() *jsonschema.Schema {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(run.SchemaJSON()))
	if err != nil {
		panic(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(run.File, document); err != nil {
		panic(err)
	}
	return c.MustCompile(run.File)
})

// unbalanced lists where times do not add up: inclusive is exclusive and children, in every path of every
// rank; the root's is the time from Init to Finalize; and that is the sum of what it was spent on.
func unbalanced(r *run.Run) []string {
	var wrong []string
	differ := func(want, got uint64, format string, arguments ...any) {
		if want != got {
			wrong = append(wrong, fmt.Sprintf(format+": %d, expected %d", append(arguments, got, want)...))
		}
	}
	for i, root := range r.CallGraph {
		root.Walk(func(n *run.Node, _ int) bool {
			if n.Inclusive.N != uint64(len(n.PerRank)) {
				return true // of many ranks only the largest are listed
			}
			sum := map[int32]uint64{}
			for _, c := range n.Children {
				for _, p := range c.PerRank {
					sum[p.Rank] += p.Inclusive
				}
			}
			total := run.RankTime{}
			for _, p := range n.PerRank {
				differ(p.Exclusive+sum[p.Rank], p.Inclusive, "rank %d: inclusive time of %s", p.Rank, n.Name)
				delete(sum, p.Rank)
				total.Exclusive += p.Exclusive
				total.Inclusive += p.Inclusive
			}
			for rank := range sum {
				differ(0, sum[rank], "rank %d is below %s and not there: time", rank, n.Name)
			}
			differ(n.Exclusive.Sum, total.Exclusive, "%s: exclusive time of all ranks", n.Name)
			differ(n.Inclusive.Sum, total.Inclusive, "%s: inclusive time of all ranks", n.Name)
			return true
		})
		if i > 0 {
			continue // threads that came and went
		}
		whole := map[int]uint64{}
		for _, p := range root.PerRank {
			whole[int(p.Rank)] = p.Inclusive
		}
		for _, p := range r.PerRank {
			differ(p.Wall, whole[p.Rank], "rank %d: time of the root", p.Rank)
			differ(p.Wall, p.Useful+p.MPI+p.OffCore+p.Paused+p.Own, "rank %d: sum of what time was spent on", p.Rank)
		}
	}
	return wrong
}
