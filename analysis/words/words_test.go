package words

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestCounted(t *testing.T) {
	const text = "on %d {rank|ranks} {it was|they were} late"
	assert.Equal(t, "on 1 rank it was late", Counted(text, 1))
	assert.Equal(t, "on 12,345 ranks they were late", Counted(text, 12345))
	assert.Equal(t, "on 18,446,744,073,709,551,615 ranks they were late", Counted(text, math.MaxUint64))
}

func TestFit(t *testing.T) {
	for _, x := range []struct {
		text  string
		width int
		want  string
	}{{"abcdef", 6, "abcdef"}, {"abcdef", 5, "ab…ef"}, {"abcdef", 2, "…f"}, {"abcdef", 1, "…"}, {"abcdef", 0, ""}, {"abcdef", -5, ""}, {"", -1, ""}, {"äöü", 3, "äöü"}} {
		assert.Equal(t, x.want, Fit(x.text, x.width), "%q in %d", x.text, x.width)
	}
}

// Names are somebody else's: what a terminal would obey, or turn around, is replaced.
func TestClean(t *testing.T) {
	assert.Equal(t, "a·b·c·d·e·f·g·h", Clean("a\x00b\x1bc\x7fd\u009be\u202ef\u2066g\u2028h"))
	assert.Equal(t, "ünïcödé 名前 → “x”", Clean("ünïcödé 名前 → “x”"))
}

// A name of a megabyte takes milliseconds; which took minutes.
func TestLongNames(t *testing.T) {
	const size = 1 << 20
	lines := Wrap("a "+strings.Repeat("x", size)+" b", 64)
	assert.Len(t, lines, 1+mostOfWord+1, "nor does it fill screens")
	assert.Equal(t, []string{"a", "bcd", "e"}, Wrap("a bcde", 3))
	assert.Equal(t, []string{"it takes", "(41 %)"}, Wrap("it takes (41 %)", 13))
	for _, unit := range []string{"x", "a::", "<", "operator<", "a<b>::"} {
		assert.LessOrEqual(t, Width(Name(strings.Repeat(unit, size/len(unit)), 40)), 40, unit)
	}
}

func TestSpans(t *testing.T) {
	for expected, ranks := range map[string][]int{
		"rank 3":       {3},
		"ranks 0-3":    {0, 1, 2, 3},
		"ranks 0, 4-5": {0, 4, 5},
		"ranks 0, 2, 4, 6, 8, 10, 12, 14 and 3 more": {0, 2, 4, 6, 8, 10, 12, 14, 16, 17, 18},
	} {
		assert.Equal(t, expected, Spans(ranks))
	}
}

func TestShell(t *testing.T) {
	for word, shell := range map[string]string{"-in=a.txt": "-in=a.txt", "": "''", "a b": "'a b'", "it's": `'it'\''s'`, "*": "'*'", "$HOME": "'$HOME'"} {
		assert.Equal(t, shell, Shell(word))
	}
}
