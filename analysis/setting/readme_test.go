package setting

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The manual documents every setting, in the words of --help.
func TestManualHasAllSettings(t *testing.T) {
	text, err := os.ReadFile("../../docs/measure.md")
	require.NoError(t, err)
	for _, s := range Table {
		assert.Contains(t, string(text), "| `--"+s.Key+"` | "+s.Expected()+" |")
		assert.Contains(t, string(text), "| "+s.Doc+" |")
	}
}
