package run

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// What is attributed and what is not add up to what is lost, whatever findings say.
func TestLossIsExplainedOrNot(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		time := rapid.Uint64Range(0, 1<<50)
		r := &Run{Core: Balance{Useful: time.Draw(t, "useful"), MPI: time.Draw(t, "MPI"), Waited: time.Draw(t, "waited")}}
		for _, share := range rapid.SliceOfN(rapid.Float64Range(0, 1), 0, 5).Draw(t, "findings") {
			r.Findings = append(r.Findings, Finding{Share: share})
		}
		l := Account(r)
		if l == nil {
			require.Zero(t, r.Core.Useful)
			return
		}
		require.InDelta(t, l.Lost, l.Explained+l.Unexplained, 1e-12)
		for _, share := range []float64{l.Lost, l.Explained, l.Unexplained} {
			require.GreaterOrEqual(t, share, 0.0)
			require.LessOrEqual(t, share, 1.0)
		}
	})
}

func TestTwoFindingsOfTheSameWaitingExplainNoMoreThanIsLost(t *testing.T) {
	r := &Run{Core: Balance{Useful: 700, MPI: 400, Waited: 100}, Findings: []Finding{{Share: 0.1}}}
	require.InDelta(t, 0.2, Account(r).Unexplained, 1e-12)
	r.Findings = append(r.Findings, Finding{Share: 0.25})
	require.Equal(t, Loss{Lost: 0.3, Explained: 0.3}, *Account(r))
	require.Nil(t, Account(&Run{}))
}
