package selection

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"

	"marple/analysis/run"
)

type reporting struct {
	Component string   `parquet:"component"`
	Method    string   `parquet:"method"`
	Wall      float64  `parquet:"wall"`
	N         *int64   `parquet:"n,optional"` // some invocations have no parameters
	Accuracy  *float64 `parquet:"quality.accuracy,optional"`
}

func TestReportedQualities(t *testing.T) {
	directory := t.TempDir()
	number := func(x float64) *float64 { return &x }
	n := int64(3)
	require.NoError(t, os.Mkdir(filepath.Join(directory, "old"), 0o777))
	require.NoError(t, parquet.WriteFile(filepath.Join(directory, run.InvocationsFile), []reporting{
		{"Flux", "compute", 1, &n, number(0.5)}, {"Flux", "compute", 1, nil, number(-0.1)}, {"Flux", "reset", 1, nil, nil},
		{"Flux", "limit", 1, nil, number(0.8)}, {"Mesh", "sync", 1, nil, number(7)}}))
	require.NoError(t, parquet.WriteFile(filepath.Join(directory, "old", run.InvocationsFile), []reporting{
		{"Godunov", "compute", 1, nil, number(0.9)}, {"Godunov", "compute", 1, nil, number(0.9)}, {"Mesh", "sync", 1, nil, number(7)}}))
	parse := func(quality string) (*Plan, error) {
		return ParsePlan(filepath.Join(directory, "f.yaml"), []byte(`families:
  flux: {components: [Flux], implementations: {efm: {time: 1, qualities: {accuracy: measured}}, Godunov: {time: 2, qualities: {accuracy: `+quality+`}}}}
qualities: {accuracy: {rule: min}}`))
	}
	plan, err := parse("{run: old}")
	require.NoError(t, err)
	require.NoError(t, plan.Measure(directory))
	got := plan.measuredQualities()
	require.Len(t, got, 2)
	require.InDelta(t, 0.4, got[0].Mean, 1e-15)
	require.InDelta(t, 0.4582575694955840, got[0].Deviation, 1e-15)
	got[0].Mean, got[0].Deviation = 0, 0
	require.Equal(t, []run.MeasuredQuality{{Implementation: "flux.efm", Quality: "accuracy", N: 3, Min: -0.1, Max: 0.8},
		{Implementation: "flux.Godunov", Quality: "accuracy", N: 2, Mean: 0.9, Min: 0.9, Max: 0.9}}, got)

	for quality, want := range map[string]string{
		"{run: none}":                   "f.yaml:2:139: flux.Godunov: accuracy: " + filepath.Join(directory, "none") + " has no records of invocations: name a run that has, as {run: DIRECTORY}",
		"{run: old, component: Gudnov}": "f.yaml:2:139: flux.Godunov: accuracy: none of its invocations has reported it; who has: Godunov, Mesh",
		"measured":                      "f.yaml:2:138: flux.Godunov: accuracy: the records of Flux count for flux.efm; say with class",
	} {
		plan, err := parse(quality)
		require.NoError(t, err)
		require.ErrorContains(t, plan.Measure(directory), want)
	}
	_, err = parse("{ran: old}")
	require.ErrorContains(t, err, "f.yaml:2:")
	_, err = parse("much")
	require.ErrorContains(t, err, `"much": expected a number`)
	require.ErrorContains(t, plan.Measure(""), "expected the run that has its records, as {run: DIRECTORY}")
}
