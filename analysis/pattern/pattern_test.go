package pattern

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestExpressionsAreReadAndWritten(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"a", "a"},
		{" a  b\tc ", "a b c"},
		{"a|b c&d", "a | b c & d"},
		{"(a|b) (c&d)", "(a | b) (c & d)"},
		{"((a))* b+ (c d)?", "a* b+ (c d)?"},
		{"pipeline.receive (amr.work)+", "pipeline.receive amr.work+"},
	} {
		e, err := Parse(c.text)
		require.NoError(t, err, c.text)
		require.Equal(t, c.want, e.String())
	}
}

func TestMistakesAreNamedWhereTheyAre(t *testing.T) {
	for _, c := range []struct {
		text, message string
		at            int
	}{
		{"", "expected a component or a parenthesis", 0},
		{"a |", "expected a component or a parenthesis", 3},
		{"a (b c", "this parenthesis is not closed", 2},
		{"a ) b", `expected a component, an operator or the end, not ")"`, 2},
		{"a*?", `"?" follows another repetition; use parentheses, or one of the two`, 2},
		{"a - b", `expected a component, an operator or the end, not "-"`, 2},
		{"* a", `expected a component or a parenthesis, not "*"`, 0},
		{strings.Repeat("(", 100) + "a", "more than 64 parentheses inside each other", 64},
		{strings.Repeat("a ", 300), "more than 256 components", 513},
	} {
		_, err := Parse(c.text)
		var mistake *Error
		require.True(t, errors.As(err, &mistake), c.text)
		require.Equal(t, c.message, mistake.Message)
		require.Equal(t, c.at, mistake.At, c.text)
	}
}

func machine(t require.TestingT, text string) *Machine {
	e, err := Parse(text)
	require.NoError(t, err)
	m, err := Compile(e, []string{"a", "b", "c", "d"})
	require.NoError(t, err)
	return m
}

// instances gives what the matcher finds in a stream of letters, by start time, and what is stray.
func instances(m *Machine, stream string) (found []string, stray string) {
	f := NewMatcher(m, func(i *Instance) { found = append(found, stream[i.Start:i.End]) })
	for at, c := range stream {
		f.Feed(int(c-'a'), uint64(at), 1)
	}
	f.Flush()
	for s, n := range f.Stray {
		stray += strings.Repeat(m.Symbols[s], int(n))
	}
	return found, stray
}

func TestStreamsAreFittedIntoInstances(t *testing.T) {
	for _, c := range []struct {
		expr, stream string
		want         []string
		stray        string
	}{
		{"a b", "ababab", []string{"ab", "ab", "ab"}, ""},
		{"(a b)+", "ababab", []string{"ababab"}, ""},
		{"a b+ c?", "abbcabab", []string{"abbc", "ab", "ab"}, ""},
		{"a b c", "abababc", []string{"abc"}, "aabb"},
		{"a (b c)?", "abab", []string{"a", "a"}, "bb"}, // the longest that was complete
		{"a & b", "abba", []string{"ab", "ba"}, ""},
		{"a b & c d", "acbdcadb", []string{"acbd", "cadb"}, ""},
		{"a* & b", "aabaa", []string{"aabaa"}, ""},
		{"a", "bbb", nil, "bbb"},
	} {
		found, stray := instances(machine(t, c.expr), c.stream)
		require.Equal(t, c.want, found, "%s in %s", c.expr, c.stream)
		require.Equal(t, c.stray, stray, "%s in %s", c.expr, c.stream)
	}
}

func TestInstancesTellTheirTimes(t *testing.T) {
	var got Instance
	f := NewMatcher(machine(t, "a b+"), func(i *Instance) { got = Instance{i.Start, i.End, slices.Clone(i.Parts)} })
	f.Feed(0, 100, 5)
	f.Feed(1, 110, 20)
	f.Feed(1, 140, 3)
	f.Flush()
	require.Equal(t, Instance{100, 143, []Part{{5, 1}, {23, 2}, {}, {}}}, got)
}

func TestWhatMayFollowWhat(t *testing.T) {
	pairs := func(text string, around bool) string {
		e, err := Parse(text)
		require.NoError(t, err)
		list, err := e.Follow(around)
		require.NoError(t, err)
		var parts []string
		for _, p := range list {
			parts = append(parts, e.Leaves()[p.Last].Name+e.Leaves()[p.Next].Name)
		}
		return strings.Join(parts, " ")
	}
	require.Equal(t, "ab bc", pairs("a b c", false))
	require.Equal(t, "ab bc ca", pairs("a b c", true))
	require.Equal(t, "ab ac bb bc", pairs("a b* c", false))
	require.Equal(t, "ab ac bc cb", pairs("a (b & c)", false))
	require.Equal(t, "aa ab ba", pairs("a a b", true))
}

func TestTooManyInterleavingsAreRefused(t *testing.T) {
	e, err := Parse("(a b c d a b c d a b c d) & (b c d a b c d a b c d a) & (c d a b c d a b c d a b) & (d c b a d c b a)")
	require.NoError(t, err)
	_, err = Compile(e, []string{"a", "b", "c", "d"})
	require.ErrorContains(t, err, "too many ways to interleave")
}

// expression draws expressions that regexp knows too.
func expression() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string { return draw(t, 3) })
}

func draw(t *rapid.T, depth int) string {
	kind := rapid.IntRange(0, 5).Draw(t, "kind")
	if depth == 0 {
		kind = 0
	}
	part := func() string { return "(" + draw(t, depth-1) + ")" }
	switch kind {
	case 1:
		return part() + " " + part()
	case 2:
		return part() + "|" + part()
	case 3:
		return part() + "*"
	case 4:
		return part() + "+"
	case 5:
		return part() + "?"
	}
	return rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "leaf")
}

// Without concurrency expressions are regular expressions, for which there is an oracle.
func TestMachinesAgreeWithRegularExpressions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := expression().Draw(t, "expression")
		m := machine(t, text)
		oracle := regexp.MustCompile("^(?:" + strings.ReplaceAll(text, " ", "") + ")$")
		word := rapid.StringOfN(rapid.SampledFrom([]rune("abc")), 0, 8, -1).Draw(t, "word")
		state := 0
		for _, c := range word {
			if state >= 0 {
				state = m.Next(state, int(c-'a'))
			}
		}
		require.Equal(t, oracle.MatchString(word), state >= 0 && m.Accepts(state))
		e, err := Parse(text)
		require.NoError(t, err)
		require.Equal(t, e.Nullable(), m.Accepts(0))
		again, err := Parse(e.String())
		require.NoError(t, err)
		require.Equal(t, e.String(), again.String())
	})
}

// shuffles of two words are what two concurrent sequences accept, and nothing else.
func TestConcurrentPartsAcceptTheirInterleavings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringOfN(rapid.SampledFrom([]rune("abc")), 1, 4, -1)
		x, y := word.Draw(t, "x"), word.Draw(t, "y")
		m := machine(t, strings.Join(strings.Split(x, ""), " ")+" & "+strings.Join(strings.Split(y, ""), " "))
		all := map[string]bool{}
		var interleave func(done, x, y string)
		interleave = func(done, x, y string) {
			if x == "" || y == "" {
				all[done+x+y] = true
				return
			}
			interleave(done+x[:1], x[1:], y)
			interleave(done+y[:1], x, y[1:])
		}
		interleave("", x, y)
		got := map[string]bool{}
		var walk func(state int, done string)
		walk = func(state int, done string) {
			if m.Accepts(state) {
				got[done] = true
			}
			for s := range m.Symbols {
				if next := m.Next(state, s); next >= 0 {
					walk(next, done+m.Symbols[s])
				}
			}
		}
		walk(0, "")
		require.Equal(t, all, got)
	})
}

// Every event is in exactly one instance or stray, and instances are in order.
func TestNoEventIsLostOrCountedTwice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := machine(t, expression().Draw(t, "expression"))
		stream := rapid.StringOfN(rapid.SampledFrom([]rune("abcd")), 0, 30, -1).Draw(t, "stream")
		var events, end uint64
		f := NewMatcher(m, func(i *Instance) {
			require.GreaterOrEqual(t, i.Start, end)
			end = i.End
			for _, part := range i.Parts {
				events += part.Count
			}
			require.NotZero(t, i.End-i.Start)
		})
		for at, c := range stream {
			f.Feed(int(c-'a'), uint64(at), 1)
		}
		f.Flush()
		for _, n := range f.Stray {
			events += n
		}
		require.Equal(t, uint64(len(stream)), events)
	})
}

func FuzzParse(f *testing.F) {
	f.Add("a (b | c)* & d+")
	f.Add("((((")
	f.Add("a & b & c & d & e & f & g")
	f.Fuzz(func(t *testing.T, text string) {
		e, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(e.String())
		require.NoError(t, err)
		require.Equal(t, e.String(), again.String())
		if len(e.Leaves()) < 20 {
			Compile(e, []string{"a", "b", "c"})
			e.Follow(true)
		}
	})
}

func BenchmarkFeed(b *testing.B) {
	e, _ := Parse("a (b | c d)+ a?")
	m, _ := Compile(e, []string{"a", "b", "c", "d"})
	n := 0
	f := NewMatcher(m, func(*Instance) { n++ })
	stream := []int{0, 1, 2, 3, 1, 0}
	for i := 0; b.Loop(); i++ {
		f.Feed(stream[i%len(stream)], uint64(i), 1)
	}
}
