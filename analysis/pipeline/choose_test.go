package pipeline

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"

	"marple/analysis/analysistest"
	"marple/analysis/report"
)

// At the end of a run, implementations are chosen if families are configured; if they cannot be, the report says
// why, and is there all the same.
func TestChoose(t *testing.T) {
	const ms = 1_000_000
	r := analysistest.Run(2, 2, func(r *analysistest.Rank) {
		r.Region("solve", func() { r.Compute(100 * ms) })
		r.Region("print", func() { r.Compute(ms) })
	})
	path := filepath.Join(t.TempDir(), "families.yaml")
	require.NoError(t, os.WriteFile(path, []byte(`
families:
  solve: {implementations: {slow: {measured: yes}, fast: {time: 0.02, error: 0.001}}}
  print: {implementations: {one: {measured: yes}, other: {time: 0.002}}}
`), 0o666))
	Choose(r, "", "")
	require.Nil(t, r.Selection)
	require.NotContains(t, report.Full(r, "d"), "Best choice")

	Choose(r, path, "")
	require.NotNil(t, r.Selection)
	require.InDelta(t, 0.021, r.Selection.Time, 1e-9)
	require.Contains(t, report.Full(r, "d"), "\nBest choice  solve: fast; 21.0 ms a rank expected; without fast it takes 80.0 ms\n             more; any will do for print\n")

	// What the program declares counts where there is no file.
	r.Families = []string{"families: {solve: {implementations: {slow: {measured: yes}, fast: {time: 0.03}}}}"}
	Choose(r, path, "")
	require.InDelta(t, 0.021, r.Selection.Time, 1e-9)
	Choose(r, "", "")
	require.InDelta(t, 0.031, r.Selection.Time, 1e-9)
	r.Families = append(r.Families, "families: {solve: 5}")
	Choose(r, "", "")
	require.Contains(t, r.NotSeen[len(r.NotSeen)-1].Text, "implementations were not chosen: declared by the program:1:19: solve: expected lines")

	r.Selection, r.Families = nil, nil
	require.NoError(t, os.WriteFile(path, []byte("families: {solve: {}}"), 0o666))
	Choose(r, path, "")
	require.Nil(t, r.Selection)
	require.Contains(t, r.NotSeen[len(r.NotSeen)-1].Text, "implementations were not chosen: "+path+`:1:19: family solve: "implementations" is missing`)
}

// Implementations declare themselves on the ranks where they are; their models come from the records of their
// invocations, and stand in the report.
func TestChooseFromRecords(t *testing.T) {
	const us = 1000
	sizes := []float64{10, 20, 30, 40, 50, 60}
	r := analysistest.Run(2, 2, func(r *analysistest.Rank) {
		r.Families([]string{
			"families: {flux: {implementations: {efm: {class: EFMFlux, fit: yes}}}}",
			"families: {flux: {implementations: {godunov: {class: GodunovFlux, fit: yes}, exact: {time: 1e-3*q}}}}",
		}[r.Rank])
		for _, q := range sizes {
			r.Invoke("EFMFlux", "f1", "compute", func() { r.Compute(uint64(100 * us * q)) })
			r.Invoke("GodunovFlux", "f2", "compute", func() { r.Compute(uint64(300 * us * q)) })
		}
	})
	require.Len(t, r.Families, 2)
	directory := t.TempDir()
	file, err := os.Create(filepath.Join(directory, "invocations.parquet"))
	require.NoError(t, err)
	type record struct {
		Component string  `parquet:"component,dict"`
		Method    string  `parquet:"method,dict"`
		Wall      float64 `parquet:"wall"`
		Q         float64 `parquet:"q"`
	}
	w := parquet.NewGenericWriter[record](file)
	for _, q := range sizes {
		_, err := w.Write([]record{{"EFMFlux", "compute", 1e-4 * q, q}, {"GodunovFlux", "compute", 3e-4 * q, q}})
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	require.NoError(t, file.Close())

	Choose(r, "", directory)
	require.Empty(t, r.NotSeen)
	require.NotNil(t, r.Selection)
	text := report.Full(r, "d")
	require.Contains(t, text, "\nBest choice  flux: efm; 42.0 ms a rank expected; without efm it takes 84.0 ms\n             more\n")
	require.Contains(t, text, "\nModels       flux.efm compute = 0.0001*q s (linear, 6 points, error 0 %)\n"+
		"             flux.godunov compute = 0.0003*q s (linear, 6 points, error 0 %)\n")
}
