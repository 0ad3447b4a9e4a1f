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
		"room":            {16, 16, 18, ""},
		"families":        {17, 1, 1, "more than 16 families"},
		"implementations": {1, 17, 1, "family f0 has more than 16 implementations"},
		"policies":        {1, 16, 19, "family f0 has more than 18 policies"},
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
