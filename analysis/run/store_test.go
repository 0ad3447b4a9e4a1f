package run

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A large call graph is written on one line, and read like any other.
func TestLargeCallGraphs(t *testing.T) {
	for _, nodes := range []int{10, Large + 10} {
		root := &Node{ID: "root", Kind: "root"}
		for range nodes {
			root.Children = append(root.Children, &Node{ID: "x", Kind: "region", Name: "a place"})
		}
		data, err := (&Run{Schema: 1, CallGraph: []*Node{root}}).Encode()
		require.NoError(t, err)
		assert.Equal(t, nodes > Large, bytes.Count(data, []byte("\n")) == 1)
		again := &Run{}
		require.NoError(t, json.Unmarshal(data, again))
		assert.Len(t, again.CallGraph[0].Children, nodes)
	}
}
