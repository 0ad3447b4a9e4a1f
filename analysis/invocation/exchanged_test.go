package invocation

import (
	"fmt"
	"math"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"marple/analysis/analysistest"
	"marple/analysis/invocation/left"
	"marple/analysis/record"
	"marple/analysis/run"
)

// call is one of an implementation of family f, with a parameter n, in seconds.
type call struct {
	member   string
	at, wall float64
	n        float64
}

// ranks that have made these calls.
func ranks(t testing.TB, calls ...[]call) (sources []*Source) {
	raw := t.TempDir()
	for rank, list := range calls {
		w := record.NewWriter(rank, len(calls))
		w.Header().BeginTick = 1000
		thread := w.Thread(1000, true)
		p, err := w.Process(1 << 62)
		require.NoError(t, err)
		file := analysistest.File(filepath.Join(raw, fmt.Sprintf("rank-%d.mrl", rank)))
		p.KeepInvocations(0, left.Log(file, 0), 1<<30)
		for _, c := range list {
			node := w.Node(record.Node{Kind: record.NodeComponent, Key: uint64(w.String(c.member)) | uint64(w.String("f"))<<32, Name: w.String("work")})
			thread.Invoke(record.Invocation{Path: node, Start: 1000 + uint64(c.at*1e9), Wall: uint64(c.wall * 1e9),
				Values: []record.Value{{Name: w.String("n"), Real: true, Bits: math.Float64bits(c.n)}}})
		}
		p.Consume(0)
		sources = append(sources, FromProcess(p, file, nil))
		require.NoError(t, sources[rank].Store())
	}
	return sources
}

func families(policy string) []run.Exchanged {
	return []run.Exchanged{{Family: "f", Policies: []string{policy}, Implementations: []run.Served{{Name: "a"}, {Name: "b"}}, Spells: []run.Spell{}}}
}

// An implementation is compared for calls that lie between its own ones of the same size, near each other.
func TestExchangedBetween(t *testing.T) {
	calls := []call{
		{"b", 0, 5, 1},                                    // before any of a's
		{"a", 10, 1, 1}, {"b", 12, 2, 1}, {"b", 14, 4, 1}, // two between a's: by a 1 to 3
		{"a", 20, 3, 1},
		{"b", 22, 7, 4}, // of another size
		{"a", 24, 3, 1},
		{"b", 26, 9, 1}, // between a's that are far from each other: a may have changed
		{"a", 80, 30, 1},
		{"b", 85, 9, 1}, // after all of a's
	}
	list := families("trial")
	require.NoError(t, Exchanged(ranks(t, calls, calls), list, 100))
	a := list[0].Implementations[0]
	require.EqualValues(t, 8, a.Calls)
	require.EqualValues(t, 12, a.Compared)
	require.InDelta(t, 2*(1+2+4+3+3+30), a.Took, 1e-6)
	require.InDelta(t, 2*(1+2*2+3+3+30), a.Always, 1e-6)
	require.InDelta(t, 2*math.Sqrt(2*2*2*2/2), a.Error, 1e-6)
	require.InDelta(t, 2*(5+7+2+4+9+9+1+3+3+30), list[0].Time, 1e-6)
	require.Equal(t, "b", list[0].Spells[0].Implementation)

	// Who serves by a model is chosen by the parameters' values: calls of others are not alike.
	calls = []call{{"a", 0, 1, 2}, {"b", 1, 2, 3}, {"a", 2, 1, 2}}
	for policy, compared := range map[string]uint64{"trial": 3, "model": 2} {
		list = families(policy)
		require.NoError(t, Exchanged(ranks(t, calls), list, 100))
		require.Equal(t, compared, list[0].Implementations[0].Compared, policy)
	}
}

// Where the records of one rank cannot be read nothing is said of the others.
func TestExchangedUnread(t *testing.T) {
	sources := ranks(t, []call{{"a", 0, 1, 1}}, []call{{"b", 0, 1, 1}})
	sources[1].Remove()
	list := families("trial")
	require.Error(t, Exchanged(sources, list, 100))
	require.Equal(t, families("trial"), list)
}

// Sizes are those by which marple_optimizer.hpp chooses: see test/proxygen/families/stateless.cpp.
func TestSizes(t *testing.T) {
	for x, expected := range map[float64]uint64{0: 0, 0.99: 0, -0.99: 0, 5e-324: 0, 1: 1, 1.99: 1, 2: 2, 1e308: 1024, -1: 2049, -3.5: 2050,
		math.Inf(1): 0, math.Inf(-1): 0} {
		require.Equal(t, expected, size(x), x)
	}
	require.Zero(t, size(math.NaN()))
	require.Zero(t, size(math.Copysign(math.NaN(), -1)))
}

// What rules have done is the same on ranks that agree, and told once; there is an end to what is told, and none to what is counted.
func TestFirings(t *testing.T) {
	raw := t.TempDir()
	var sources []*Source
	const many = run.MaxFirings + 10
	for rank := range 2 {
		w := record.NewWriter(rank, 2)
		thread := w.Thread(0, true)
		p, err := w.Process(1 << 62)
		require.NoError(t, err)
		file := analysistest.File(filepath.Join(raw, fmt.Sprintf("rank-%d.mrl", rank)))
		p.KeepInvocations(0, left.Log(file, 0), 1<<30)
		node := w.Node(record.Node{Kind: record.NodeComponent, Key: uint64(w.String("rules")) | uint64(w.String("f"))<<32, Name: w.String("big")})
		real := func(name string, x float64) record.Value {
			return record.Value{Name: w.String(name), Real: true, Quality: name != "measured", Bits: math.Float64bits(x)}
		}
		whole := func(name string, x int64) record.Value { return record.Value{Name: w.String(name), Bits: uint64(x)} }
		at := uint64(0)
		fire := func(values ...record.Value) {
			at += 1_000_000_000
			thread.Invoke(record.Invocation{Path: node, Start: at + uint64(rank), Wall: 10, Values: values})
			p.Consume(0)
		}
		fire(real("n", 1024), real("error", math.NaN()), whole("change", 1), whole("overruled", 2), whole("ranks", 2), whole("from", 0), whole("to", 1))
		fire(whole("change", 2), whole("tuning", 2), whole("evaluations", 9), real("measured", 1e-3), whole("set.block", 16))
		fire(whole("change", 3), whole("from", 7), whole("to", int64(rank)))
		for i := range many - 3 {
			fire(whole("change", int64(4+i)), whole("set.block", int64(i)))
		}
		sources = append(sources, FromProcess(p, file, nil))
		require.NoError(t, sources[rank].Store())
	}
	list := families("rules")
	list[0].Rules = []run.ManagerRule{{Name: "big"}}
	require.NoError(t, Exchanged(sources, list, 100))
	e := list[0]
	require.EqualValues(t, 2*many, e.Recorded)
	require.Zero(t, e.Calls)
	require.Equal(t, many, e.Made)
	require.Len(t, e.Firings, run.MaxFirings)
	first, second, third := e.Firings[0], e.Firings[1], e.Firings[2]
	require.InDelta(t, 1, first.At, 1e-6)
	first.At = 0
	require.Equal(t, run.Firing{Ranks: 2, Rule: "big", Did: "a → b", Why: []run.Reason{{Metric: "n", Value: 1024}}, Change: 1, Overruled: 2, Holding: 2}, first)
	require.Equal(t, []any{"block = 16", "found", 2}, []any{second.Did, second.Tuning, second.Ranks})
	require.Equal(t, []any{"? → a", 1}, []any{third.Did, third.Ranks}) // the other one's lies beyond the end

	list = families("trial") // a component that is called so is none, where there are no rules
	require.NoError(t, Exchanged(sources, list, 100))
	require.Zero(t, list[0].Recorded)
}
