package knowledge

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Every function is described, with what it takes and gives.
func TestLanguage(t *testing.T) {
	list := Language()
	require.Len(t, list, len(functions))
	gives := map[string]string{}
	for _, x := range list {
		require.NotEmpty(t, x.About, x.Name)
		require.NotEmpty(t, x.Gives, x.Name)
		gives[x.Name] = x.Gives
	}
	require.Equal(t, "a number in s", gives["time"])
	require.Equal(t, "a number in s", gives["best_block"])
	require.Equal(t, "a number in count", gives["ramp"])
	require.Equal(t, "a number in the unit of the arguments", gives["sum"])
}
