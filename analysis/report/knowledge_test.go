package report

import (
	"testing"

	"github.com/stretchr/testify/require"

	"marple/analysis/knowledge"
)

// The merged trees. That of FLASH is figure 2 of Li and Malony: below the subtrees of AMR hang those of PRT.
func TestMergedTrees(t *testing.T) {
	for _, name := range []string{"flash", "pdlahqr", "merged-pipelines", "pipeline-of-farms", "mumps"} {
		k, err := knowledge.Library{}.Load(name)
		require.NoError(t, err)
		tree, err := Tree(k)
		require.NoError(t, err)
		golden(t, "tree_"+name+".txt", tree)
	}
	k, err := knowledge.Library{}.Load("pdlahqr")
	require.NoError(t, err)
	dot, err := TreeDOT(k)
	require.NoError(t, err)
	golden(t, "tree_pdlahqr.dot", dot)
	text, err := KnowledgeText(k)
	require.NoError(t, err)
	golden(t, "knowledge_pdlahqr.txt", text)
}

// Whatever is composed, nothing of the models is lost: every factor of every model is in the merged tree, once for each
// place that the model is in, but for those that are one with the same factor of another.
func TestNothingIsLostInMerging(t *testing.T) {
	for _, name := range knowledge.Names() {
		k, err := knowledge.Library{}.Load(name)
		require.NoError(t, err)
		nodes, err := k.Tree()
		require.NoError(t, err)
		kinds := map[string]string{}
		for _, n := range nodes {
			require.Empty(t, kinds[n.ID], "%s is there twice", n.ID)
			kinds[n.ID] = n.Kind
		}
		for _, s := range k.Scopes {
			for _, f := range s.Model.Facts {
				if _, same := s.Same[f.Name]; f.Factor && !same {
					require.Equal(t, "factor", kinds[s.Full(knowledge.FactName{Name: f.Name})], "%s: %s", name, f.Name)
				}
			}
		}
	}
}
