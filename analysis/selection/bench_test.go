package selection

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"marple/analysis/selection/graph"
)

// large is a call graph of n components, three below each, and a file that gives each a family of d
// implementations, every second with another layout of data than the others.
func large(b *testing.B, n, d int) Question {
	var y strings.Builder
	y.WriteString("sizes: {n: 1000}\ntranslations:\n  - {from: rows, to: columns, time: 1e-3*n}\n  - {from: columns, to: rows, time: 2e-3*n}\nfamilies:\n")
	nodes := make([]*graph.Node, n)
	for i := range n {
		nodes[i] = &graph.Node{Name: fmt.Sprintf("c%d.go", i), Component: fmt.Sprintf("c%d", i), Inclusive: float64(2 * n), Calls: 3}
		if i > 0 {
			above := nodes[(i-1)/3]
			above.Children = append(above.Children, nodes[i])
		}
		fmt.Fprintf(&y, "  c%d:\n    implementations:\n", i)
		for k := range d {
			fmt.Fprintf(&y, "      i%d: {time: %d + 0.00%d*n*log2(n), layout: %s}\n", k, (i*7+k*5)%11, (i+k*3)%7+1, []string{"rows", "columns"}[(i+k)%2])
		}
	}
	plan, err := ParsePlan("large.yaml", []byte(y.String()))
	require.NoError(b, err)
	return Question{Graph: &graph.Graph{Root: nodes[0]}, Plan: plan, Best: 3}
}

// From the call graph and the models to the whole answer, next best choices included.
func BenchmarkSelect(b *testing.B) {
	for _, c := range []struct{ families, implementations int }{{20, 3}, {200, 10}} {
		q := large(b, c.families, c.implementations)
		b.Run(fmt.Sprintf("families=%d/implementations=%d", c.families, c.implementations), func(b *testing.B) {
			for b.Loop() {
				a, err := Select(context.Background(), q)
				require.NoError(b, err)
				require.True(b, a.Proven)
			}
		})
	}
}
