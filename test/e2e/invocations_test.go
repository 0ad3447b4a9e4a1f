package e2e

import (
	"path/filepath"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"
)

// invocationRow is a row of a run's invocations.parquet, with the parameters that assemblies here have.
type invocationRow struct {
	Component string   `parquet:"component"`
	Method    string   `parquet:"method"`
	Rank      int32    `parquet:"rank"`
	Start     float64  `parquet:"start"`
	Wall      float64  `parquet:"wall"`
	MPI       float64  `parquet:"mpi"`
	Compute   float64  `parquet:"compute"`
	X         *float64 `parquet:"x,optional"`
	Q         *int64   `parquet:"q,optional"`
	Mode      *int64   `parquet:"mode,optional"`
	Level     *int64   `parquet:"level,optional"`
}

func invocations(t *testing.T, directory string) []invocationRow {
	t.Helper()
	rows, err := parquet.ReadFile[invocationRow](filepath.Join(directory, "invocations.parquet"))
	require.NoError(t, err)
	require.NotEmpty(t, rows)
	return rows
}
