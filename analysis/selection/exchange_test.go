package selection

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Only what will all be known of a run is exchanged.
func TestExchangeOfMany(t *testing.T) {
	exchange := func(n, length int) error {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf("i%0*d: {time: 1}", length-1, i))
		}
		plan, err := ParsePlan("f.yaml", []byte("families: {f: {implementations: {"+strings.Join(list, ", ")+"}}}"))
		require.NoError(t, err)
		_, err = plan.Exchange("f", "trial")
		return err
	}
	require.NoError(t, exchange(16, 8))
	require.EqualError(t, exchange(17, 8), "f.yaml:1:12: family f: 17 implementations: at most 16 can be exchanged")
	// exchanged: {f: {policies: ["fixed:NAME"], implementations: ["NAME", …]}}
	require.NoError(t, exchange(16, 52))
	require.EqualError(t, exchange(16, 56), "f.yaml:1:12: family f: the names of its implementations are too long: what the proxy tells of them takes 1073 bytes, and at most 1023 are kept")

	plan, err := Declared([]string{"families: {solver: {implementations: {flat: {time: 1}, linear: {time: 1}, rough: {time: 1}, steep: {time: 1}}}}"})
	require.NoError(t, err)
	// As test/proxygen/families/stateful.cpp has it declared.
	require.Equal(t, len(`exchanged: {solver: {policies: ["fixed:linear"], implementations: ["flat", "linear", "rough", "steep"]}}`), declaredLength(plan.Families[0]))
}
