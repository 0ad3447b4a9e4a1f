package run

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Who had the cores that ranks waited for: two ranks that had half of the core each asked for.
func TestCrowded(t *testing.T) {
	for name, c := range map[string]struct {
		cores  int
		others uint64 // ms
		id     string
		says   string
	}{
		"nobody of ours": {4, 10, coresShared, "Other work ran on these cores: for 50 % of the time runnable ranks waited for a CPU"},
		"bound":          {1, 50, threadsBound, "Ranks 0 and 1 have 1 core each for all their threads: for 50 %"},
		"bound to two":   {2, 145, threadsBound, "Ranks 0 and 1 have 2 cores each for all their threads: "},
		"not bound":      {4, 145, threadsShareCores, "The ranks' own other threads, and what else runs, share the cores with them: "},
	} {
		t.Run(name, func(t *testing.T) {
			r := &Run{Clocks: []string{"tsc"}, Hosts: []Host{{Name: "a", Ranks: 2, Cores: 4}}}
			for rank := range 2 {
				one := Balance{Wall: 100e6, Useful: 50e6, OffCore: 50e6}
				r.Core.Add(one)
				r.PerRank = append(r.PerRank, RankBalance{Rank: rank, Host: "a", Ended: "finalized", Balance: one, OtherCPU: c.others * 1e6, Cores: c.cores})
			}
			r.Efficiency = Efficiencies(r.PerRank)
			list := conditions(r)
			require.Len(t, list, 1)
			assert.Equal(t, c.id, list[0].ID)
			assert.True(t, list[0].OnCores())
			assert.Contains(t, list[0].Text, c.says)
		})
	}
}

func TestRowsOfTestsAreNotHidden(t *testing.T) {
	test := &Node{Kind: "mpi", Name: "MPI_Iprobe", Exclusive: Stat{Sum: 200}, Polled: 1000}
	r := &Run{CallGraph: []*Node{{Children: []*Node{test}}}, Core: Balance{Wall: 4000, Useful: 3800, MPI: 200}}
	list := conditions(r)
	require.Len(t, list, 1)
	assert.Equal(t, "for 20 % of the time ranks went around loops that test for messages; what passes between two tests counts as "+
		"computing in the efficiency", list[0].Text)
	test.Polled = 300
	assert.Empty(t, conditions(r))
}

func TestDoubt(t *testing.T) {
	f := &Finding{Low: 0.02, Share: 0.08}
	assert.Equal(t, "2 % to 8 %", f.Doubt())
	f.Gain = &Gain{High: 0.03}
	assert.Equal(t, "saves 0 % to 3 %", f.Doubt())
	f.Gain = &Gain{}
	assert.Equal(t, "2 % to 8 %", f.Doubt(), "it saves nothing, which is no range")
}
