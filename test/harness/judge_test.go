package harness

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What fails in a body is a verdict, whatever way it fails in, and nothing else.
func TestVerdicts(t *testing.T) {
	for name, c := range map[string]struct {
		body    func(t testing.TB)
		verdict string
		seen    []string
	}{
		"holds":       {func(t testing.TB) { t.Log("12 %"); assert.True(t, true) }, Right, []string{"12 %"}},
		"does not":    {func(t testing.TB) { assert.True(t, false, "is so"); t.Log("goes on") }, Wrong, []string{"Should be true Messages: is so", "goes on"}},
		"ends":        {func(t testing.TB) { require.True(t, false); t.Log("never") }, Wrong, []string{"Should be true"}},
		"is not here": {func(t testing.TB) { t.Skip("no MPI") }, NotJudged, []string{"no MPI"}},
		"panics":      {func(t testing.TB) { panic("oh") }, Wrong, []string{"panic: oh"}},
	} {
		t.Run(name, func(t *testing.T) {
			j := judged(t, c.body)
			assert.Equal(t, c.verdict, j.verdict)
			assert.Equal(t, c.seen, j.seen)
			assert.False(t, t.Failed())
		})
	}
}
