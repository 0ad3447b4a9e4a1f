package export

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"marple/analysis/analysistest"
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

func TestChromeTrace(t *testing.T) {
	var b bytes.Buffer
	directory := t.TempDir()
	require.NoError(t, analysistest.KeepIn(directory, 2, analysistest.Sends))
	_, err := FormatOf("chrome").Export(&b, "", directory)
	require.NoError(t, err)
	var trace struct {
		TraceEvents []struct {
			Name    string
			Phase   string `json:"ph"`
			TS, Dur float64
			PID     int
			Args    map[string]any
		}
	}
	require.NoError(t, json.Unmarshal(b.Bytes(), &trace))
	require.Len(t, trace.TraceEvents, 14)
	e := trace.TraceEvents[3]
	assert.Equal(t, "MPI_Send X 0.01 0.005 1 map[bytes:100 peer:0 tag:7]", fmt.Sprint(e.Name, " ", e.Phase, " ", e.TS, e.Dur, e.PID, e.Args))
}
