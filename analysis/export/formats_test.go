package export

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"marple/analysis/analysistest"
	"marple/analysis/files"
	"marple/analysis/knowledge"
	"marple/analysis/pipeline"
	"marple/analysis/record"
)

// The table in the manual is that of the command.
func TestManualHasAllFormats(t *testing.T) {
	text, err := os.ReadFile("../../docs/formats.md")
	require.NoError(t, err)
	var rows []string
	for _, f := range Formats {
		rows = append(rows, fmt.Sprintf("| `%s` | %s | %s |", f.Name, f.Reader, f.Carries))
	}
	want := "| `--to` | opened by | carries |\n|---|---|---|\n" + strings.Join(rows, "\n") + "\n"
	require.Contains(t, string(text), want, "docs/formats.md should have this table:\n%s", want)
}

// What is written of events: two ranks send to each other, and take part in a broadcast.
func TestTracesGolden(t *testing.T) {
	directory := t.TempDir()
	require.NoError(t, analysistest.KeepIn(directory, 2, func(r *analysistest.Rank) {
		analysistest.Sends(r)
		r.Invoke("Flux", "f1", "compute", func() { r.Compute(20) })
		r.Call(2, "MPI_Bcast", record.OpOneToN, 0, record.Call{Duration: 10, Peer: 1, Out: 8, Collective: true})
	}))
	in, err := files.In(directory)
	require.NoError(t, err)
	r, problems, err := pipeline.Recover(in, 0, knowledge.Library{})
	require.NoError(t, err)
	require.Empty(t, problems)
	var chrome, otf2 bytes.Buffer
	_, err = FormatOf("chrome").Export(&chrome, "", directory)
	require.NoError(t, err)
	require.NoError(t, tellOTF2(&otf2, r, directory))
	for name, got := range map[string]string{"trace.chrome.json": chrome.String(), "trace.otf2.txt": otf2.String()} {
		golden := filepath.Join("testdata", name)
		if *update {
			require.NoError(t, os.WriteFile(golden, []byte(got), 0o666))
		}
		want, err := os.ReadFile(golden)
		require.NoError(t, err)
		assert.Equal(t, string(want), got, name)
	}
}
