package run

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// What there is no room for is said.
func TestExchangedOfMany(t *testing.T) {
	for name, c := range map[string]struct {
		families, implementations, policies int
		problem                             string
	}{
		"room":            {16, 16, 19, ""},
		"families":        {17, 1, 1, "more than 16 families"},
		"implementations": {1, 17, 1, "family f0 has more than 16 implementations"},
		"policies":        {1, 16, 20, "family f0 has more than 19 policies"},
	} {
		t.Run(name, func(t *testing.T) {
			var texts []string
			for f := range c.families {
				for i := range max(c.implementations, c.policies) {
					texts = append(texts, fmt.Sprintf(`exchanged: {f%d: {policies: [p%d], implementations: [i%d]}}`, f, min(i, c.policies-1), min(i, c.implementations-1)))
				}
			}
			list, rest, err := exchanged(append(texts, "other"))
			require.Equal(t, []string{"other"}, rest)
			require.Len(t, list, min(c.families, 16))
			if c.problem == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, c.problem)
			}
		})
	}
}

// Rules are declared one by one; what they have fired is counted by the call graph, of their own family.
func TestRulesOfManagers(t *testing.T) {
	texts := []string{`exchanged: {f: {policies: ["rules"], implementations: ["a", "b"]}}`}
	for i := range maxRules + 1 {
		texts = append(texts, fmt.Sprintf(`exchanged: {f: {rules: [{rule: r%02d, when: "n > %d", then: "select a", at: "x.yaml:3"}], changes: 7}}`, i, i))
	}
	list, _, err := exchanged(texts[:maxRules+1])
	require.NoError(t, err)
	require.Len(t, list[0].Rules, maxRules)
	require.Equal(t, 7, list[0].Changes)
	require.Equal(t, ManagerRule{Name: "r07", When: "n > 7", Then: "select a", At: "x.yaml:3"}, list[0].Rules[7])
	_, _, err = exchanged(texts)
	require.EqualError(t, err, "family f has more than 64 rules")

	node := func(component, method, instance string, n uint64) *Node {
		return &Node{Component: component, Method: method, Instance: instance, Calls: &Stat{N: n}}
	}
	r := &Run{Exchanged: list, CallGraph: []*Node{{Children: []*Node{node("rules", "r07", "f", 5), node("rules", "r07", "g", 9), node("a", "r07", "f", 9)}}, node("rules", "r08", "f", 2)}}
	r.fired()
	require.EqualValues(t, 5, r.Exchanged[0].Rules[7].Fired)
	require.EqualValues(t, 7, r.Exchanged[0].Fired())
}
