package yaml

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const size = 120_000

// Whatever nests without end is refused, and says where.
func TestDepth(t *testing.T) {
	blocks := ""
	for i := range 2 * MaxDepth {
		blocks += strings.Repeat(" ", i) + "a:\n"
	}
	for name, text := range map[string]string{
		"lists":             strings.Repeat("[", size),
		"mappings":          strings.Repeat("{", size),
		"both":              strings.Repeat("[{", size/2),
		"pairs":             strings.Repeat("{a: ", size/4),
		"pairs in lists":    strings.Repeat("[a: ", size/4),
		"lists in pairs":    strings.Repeat("a: [", size/4),
		"lists on one line": strings.Repeat("- ", size/2),
		"keys":              strings.Repeat("? ", size/2),
		"tags":              strings.Repeat("!a ", size/3),
		"anchors":           strings.Repeat("- &a ", size/5),
		"blocks":            blocks,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse([]byte(text))
			var where *Error
			require.ErrorAs(t, err, &where)
			assert.Contains(t, where.Message, "nested deeper than 100")
			assert.Positive(t, where.Line)
			assert.Positive(t, where.Column)
		})
	}
}

// What is long but shallow is read.
func TestLong(t *testing.T) {
	for name, text := range map[string]string{
		"a list":       strings.Repeat("- a\n", 20_000),
		"a mapping":    "a:\n" + strings.Repeat("  - b: 1 # a comment\n    c: {d: [1, 2]}\n", 2_000),
		"in brackets":  "[" + strings.Repeat("[a, {b: c}], ", 2_000) + "]",
		"text":         "a: |\n" + strings.Repeat("  [[[{{{- - -\n", 10_000),
		"quoted":       "a: \"" + strings.Repeat("[{", 10_000) + "\"",
		"as deep":      strings.Repeat("[", MaxDepth-2) + strings.Repeat("]", MaxDepth-2),
		"up and down":  strings.Repeat("a:\n  b:\n    c:\n      d: 1\n---\n", 100),
		"only comment": strings.Repeat("# [\n", 1000),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse([]byte(text))
			assert.NoError(t, err)
		})
	}
}

func TestErrors(t *testing.T) {
	_, err := Parse([]byte("a: 1\nb: [1\n"))
	assert.ErrorContains(t, err, "2:4: sequence end token ']' not found")
}
