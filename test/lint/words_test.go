package lint

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// worse are words of our own for what the field, and English, has a word for.
var worse = []struct{ old, better string }{
	{`\(preset\b|\bpreset:`, "default"},
	{`(?i)\bwaits? at nxn\b`, "Wait at N×N"},
	{`\bdear(est|er|ly)?\b`, "expensive, the most expensive, at too high a cost"},
	{`\bcomes? late\b`, "is late"},
	{`could go on had no core`, "runnable ranks waited for a CPU"},
	{`[Pp]ieces have too much rim`, "subdomains have too high a surface-to-volume ratio"},
	{`nothing that Marple knows of`, "none known"},
	{`\bNot seen\b`, "Not measured"},
	{`\bsynchronisation\b|\bsynchronise\b`, "synchronization, synchronize (as the MPI standard)"},
}

// What people read is in the words of the field: the manual, helps, reports, and the sentences of knowledge.
func TestWords(t *testing.T) {
	for _, root := range []string{"README.md", "docs", "examples", "cmd/marple", "cmd/launch", "analysis/report", "analysis/run", "analysis/page", "analysis/setting", "analysis/knowledge/models"} {
		require.NoError(t, filepath.WalkDir(filepath.Join("../..", root), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			data, err := os.ReadFile(path)
			for i, line := range strings.Split(string(data), "\n") {
				for _, text := range read(path, line) {
					for _, w := range worse {
						assert.NotRegexp(t, w.old, text, "%s:%d: better: %s", path, i+1, w.better)
					}
				}
			}
			return err
		}))
	}
}

var (
	literal  = regexp.MustCompile("\"(?:[^\"\\\\]|\\\\.)*\"|^[^\"]*$")
	sentence = regexp.MustCompile(`\b(?:title|says|advice|text): .*`)
)

// read are the parts of a line that people get to read: of Go's what stands in strings, of knowledge its sentences.
func read(path, line string) []string {
	switch {
	case strings.HasSuffix(path, "_test.go"):
		return nil
	case strings.HasSuffix(path, ".go"):
		if trimmed := strings.TrimSpace(line); strings.HasPrefix(trimmed, "//") || strings.HasPrefix(trimmed, "{Key:") && !strings.Contains(line, "Doc:") {
			return nil
		}
		return literal.FindAllString(line, -1)
	case strings.HasSuffix(path, ".yaml"):
		return sentence.FindAllString(line, -1)
	case strings.HasSuffix(path, ".md"), strings.HasSuffix(path, ".html"), strings.HasSuffix(path, ".txt"):
		return []string{line}
	}
	return nil
}
