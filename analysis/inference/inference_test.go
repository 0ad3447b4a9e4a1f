package inference

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func premises(facts ...int) []Premise {
	var list []Premise
	for _, f := range facts {
		list = append(list, Premise{Fact: f})
	}
	return list
}

func evidence(ids ...int) []Evidence {
	var list []Evidence
	for _, id := range ids {
		list = append(list, Evidence{ID: id})
	}
	return list
}

func run(t require.TestingT, facts int, rules []Rule, seen ...Truth) []Truth {
	p, err := Compile(facts, rules)
	require.NoError(t, err)
	return p.Run(func(e int, _ func(int) Truth) Truth { return seen[e] })
}

func TestRulesFireOnDerivedFacts(t *testing.T) {
	// 0 <- evidence 0; 1 <- 0, evidence 1; 2 <- 1 and not 3; 3 <- evidence 2
	rules := []Rule{
		{Then: 2, Premises: []Premise{{1, false}, {3, true}}},
		{Then: 1, Premises: premises(0), Evidence: evidence(1)},
		{Then: 0, Evidence: evidence(0)},
		{Then: 3, Evidence: evidence(2)},
	}
	require.Equal(t, []Truth{True, True, True, False}, run(t, 4, rules, True, True, False))
	require.Equal(t, []Truth{True, True, False, True}, run(t, 4, rules, True, True, True))
	require.Equal(t, []Truth{True, False, False, False}, run(t, 4, rules, True, False, False))
	require.Equal(t, []Truth{True, Unknown, Unknown, False}, run(t, 4, rules, True, Unknown, False))
	require.Equal(t, []Truth{True, True, Unknown, Unknown}, run(t, 4, rules, True, True, Unknown))
	require.Equal(t, []Truth{False, False, False, Unknown}, run(t, 4, rules, False, Unknown, Unknown))
}

func TestAlternativesAndCircles(t *testing.T) {
	// 0 and 1 imply each other; either may come from evidence.
	rules := []Rule{
		{Then: 0, Premises: premises(1)}, {Then: 1, Premises: premises(0)},
		{Then: 0, Evidence: evidence(0)}, {Then: 1, Evidence: evidence(1)},
	}
	require.Equal(t, []Truth{False, False}, run(t, 2, rules, False, False)) // nothing holds itself up
	require.Equal(t, []Truth{True, True}, run(t, 2, rules, False, True))
	require.Equal(t, []Truth{Unknown, Unknown}, run(t, 2, rules, Unknown, False))
	require.Equal(t, []Truth{True, True}, run(t, 2, rules, Unknown, True))
	require.ElementsMatch(t, []int{0, 1}, Cycle(2, rules))
	require.Nil(t, Cycle(2, rules[1:]))
}

func TestAFactMustNotDependOnItsOwnAbsence(t *testing.T) {
	for _, c := range []struct {
		rules []Rule
		cycle []int
	}{
		{[]Rule{{Then: 0, Premises: []Premise{{0, true}}}}, []int{0}},
		{[]Rule{{Then: 0, Premises: premises(1, 1)}, {Then: 1, Premises: premises(2)}, {Then: 2, Premises: []Premise{{0, true}}}}, []int{0, 1, 2}},
		{[]Rule{{Then: 0, Premises: premises(1)}, {Then: 1, Evidence: []Evidence{{0, []int{0}}}}}, []int{0, 1}},
	} {
		_, err := Compile(3, c.rules)
		var cycle *CycleError
		require.ErrorAs(t, err, &cycle)
		require.Equal(t, c.cycle, cycle.Facts)
	}
}

func TestEvidenceIsLookedAtAfterTheFactsItComesAfter(t *testing.T) {
	rules := []Rule{
		{Then: 1, Evidence: []Evidence{{ID: 1, After: []int{0}}}},
		{Then: 0, Evidence: evidence(0)},
		{Then: 2, Evidence: evidence(0)},
	}
	p, err := Compile(3, rules)
	require.NoError(t, err)
	asked := map[int]int{}
	truth := p.Run(func(e int, settled func(int) Truth) Truth {
		asked[e]++
		if e == 1 {
			return settled(0).Not()
		}
		return True
	})
	require.Equal(t, []Truth{True, False, True}, truth)
	require.Equal(t, map[int]int{0: 1, 1: 1}, asked)
}

// ruleSet draws rules over a few facts, with circles and negation.
func ruleSet(t *rapid.T, facts int) []Rule {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Rule {
		r := Rule{Then: rapid.IntRange(0, facts-1).Draw(t, "then")}
		for range rapid.IntRange(0, 3).Draw(t, "premises") {
			r.Premises = append(r.Premises, Premise{rapid.IntRange(0, facts-1).Draw(t, "fact"), rapid.IntRange(0, 4).Draw(t, "not") == 0})
		}
		for range rapid.IntRange(0, 2).Draw(t, "evidence") {
			e := Evidence{ID: rapid.IntRange(0, 7).Draw(t, "id")}
			r.Evidence = append(r.Evidence, e)
		}
		return r
	}), 0, 20).Draw(t, "rules")
}

func TestEveryRunEndsAndTheOrderOfRulesDoesNotMatter(t *testing.T) {
	refused, ran := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		facts := rapid.IntRange(1, 8).Draw(t, "facts")
		rules := ruleSet(t, facts)
		seen := rapid.SliceOfN(rapid.SampledFrom([]Truth{False, Unknown, True}), 8, 8).Draw(t, "seen")
		p, err := Compile(facts, rules)
		shuffled := rapid.Permutation(rules).Draw(t, "shuffled")
		q, again := Compile(facts, shuffled)
		if err != nil {
			refused++
			require.Error(t, again)
			return
		}
		ran++
		require.NoError(t, again)
		see := func(e int, _ func(int) Truth) Truth { return seen[e] }
		truth := p.Run(see)
		require.Equal(t, truth, q.Run(see))

		// A fact is as true as the truest rule about it, given all others: the result holds itself together.
		for fact := range facts {
			best := False
			for _, r := range rules {
				if r.Then != fact {
					continue
				}
				holds := True
				for _, premise := range r.Premises {
					t := truth[premise.Fact]
					if premise.Not {
						t = t.Not()
					}
					holds = min(holds, t)
				}
				for _, e := range r.Evidence {
					holds = min(holds, seen[e.ID])
				}
				best = max(best, holds)
			}
			require.Equal(t, best, truth[fact])
		}

		// Measuring more never takes a conclusion back: unknown evidence that becomes known leaves what was
		// certain as it was.
		known := make([]Truth, len(seen))
		for i, s := range seen {
			if known[i] = s; s == Unknown {
				known[i] = rapid.SampledFrom([]Truth{False, True}).Draw(t, "measured")
			}
		}
		for fact, now := range p.Run(func(e int, _ func(int) Truth) Truth { return known[e] }) {
			if truth[fact] != Unknown {
				require.Equal(t, truth[fact], now)
			}
		}
	})
	require.NotZero(t, refused)
	require.NotZero(t, ran)
}
