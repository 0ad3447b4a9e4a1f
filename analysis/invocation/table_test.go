package invocation

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"
)

type tabled struct {
	Component string   `parquet:"component"`
	Method    string   `parquet:"method"`
	Rank      int32    `parquet:"rank"`
	Start     float64  `parquet:"start"`
	Wall      float64  `parquet:"wall"`
	MPI       float64  `parquet:"mpi"`
	Level     *int64   `parquet:"level,optional"`
	Mode      *int64   `parquet:"mode,optional"`
	Accuracy  *float64 `parquet:"quality.accuracy,optional"`
}

func TestTabulate(t *testing.T) {
	file := filepath.Join(t.TempDir(), "invocations.parquet")
	n := func(x int64) *int64 { return &x }
	x := 0.5
	require.NoError(t, parquet.WriteFile(file, []tabled{
		{"mesh", "sync", 0, 1, 0.1, 0.01, n(0), n(0), &x}, {"mesh", "sync", 0, 2, 0.3, 0.03, n(0), n(1), nil}, {"mesh", "sync", 1, 1, 0.5, 0.05, n(0), n(0), nil},
		{"mesh", "spread", 0, 3, 1, 0, nil, nil, nil}, {"mesh", "spread", 1, 0, 0.5, 0, nil, nil, nil}, {"mesh", "spread", 0, 7, 1, 0, nil, nil, nil}, {"mesh", "spread", 1, 8, 1, 0, nil, nil, nil},
		{"mesh", "sync", 0, 5, 0.2, 0.02, n(1), n(0), nil}, {"mesh", "sync", 1, 9, 0.2, 0.08, n(0), n(0), nil}, {"mesh", "sync", 1, 9, 0.2, 0.08, nil, n(0), nil},
	}))
	ask := func(q Question) *Table {
		t.Helper()
		table, err := Tabulate(file, q)
		require.NoError(t, err)
		for _, r := range table.Rows {
			for k := range r.Cells {
				r.Cells[k].squares = 0
			}
		}
		return table
	}
	got := ask(Question{Method: "mesh.sync", Value: "wall", Rows: "level"})
	require.Equal(t, []string{""}, got.Columns)
	require.Equal(t, 1, got.LeftOut)
	require.Equal(t, "s", got.Unit)
	require.Len(t, got.Rows, 2)
	require.Equal(t, 4, got.Rows[0].Cells[0].N)
	require.InDelta(t, 0.275, got.Rows[0].Cells[0].Mean, 1e-15)
	require.InDelta(t, 0.17078251276599331, got.Rows[0].Cells[0].Deviation, 1e-15)
	require.Equal(t, []float64{0.1, 0.5}, []float64{got.Rows[0].Cells[0].Min, got.Rows[0].Cells[0].Max})
	require.Equal(t, Row{1, []Cell{{N: 1, Mean: 0.2, Min: 0.2, Max: 0.2}}}, got.Rows[1])

	got = ask(Question{Method: "mesh.sync", Value: "mpi", Rows: "level", Columns: "mode"})
	require.Equal(t, []string{"mode 0", "mode 1"}, got.Columns)
	require.Equal(t, []int{3, 1}, []int{got.Rows[0].Cells[0].N, got.Rows[0].Cells[1].N})
	require.Equal(t, []int{1, 0}, []int{got.Rows[1].Cells[0].N, got.Rows[1].Cells[1].N})

	// Before and after a moment of the same rank: here 4 and 0.5, and at last 8 and 9.
	got = ask(Question{Method: "mesh.sync", Value: "mpi", Rows: "level", After: "mesh.spread", Number: 1})
	require.Equal(t, []string{"before", "after"}, got.Columns)
	require.Equal(t, []int{2, 2}, []int{got.Rows[0].Cells[0].N, got.Rows[0].Cells[1].N})
	got = ask(Question{Method: "mesh.sync", Value: "mpi", Rows: "level", After: "mesh.spread"})
	require.Equal(t, []int{3, 1}, []int{got.Rows[0].Cells[0].N, got.Rows[0].Cells[1].N})
	got = ask(Question{Method: "mesh.sync", Value: "quality.accuracy", Rows: "level"})
	require.Equal(t, 1, got.Rows[0].Cells[0].N)
	require.Empty(t, got.Unit)
	require.Equal(t, 5, got.LeftOut)

	for _, test := range []struct {
		want string
		q    Question
	}{
		{`no invocation of mesh.sink; there are those of mesh.spread, mesh.sync`, Question{Method: "mesh.sink", Value: "wall", Rows: "level"}},
		{`no invocation of mesh.sink; there are those of mesh.spread, mesh.sync`, Question{Method: "mesh.sync", Value: "wall", Rows: "level", After: "mesh.sink"}},
		{`no numbers "q"; there are rank, start, wall, mpi, level, mode, quality.accuracy`, Question{Method: "mesh.sync", Value: "wall", Rows: "q"}},
		{`no numbers "method"; there are rank, start, wall, mpi, level, mode, quality.accuracy`, Question{Method: "mesh.sync", Value: "wall", Rows: "level", Columns: "method"}},
		{`mesh.spread was invoked 2 times on rank`, Question{Method: "mesh.sync", Value: "wall", Rows: "level", After: "mesh.spread", Number: 3}},
	} {
		_, err := Tabulate(file, test.q)
		require.ErrorContains(t, err, test.want)
		require.ErrorContains(t, err, file)
	}
	damaged := filepath.Join(t.TempDir(), "invocations.parquet")
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	for i := 0; i < len(data); i += 7 {
		data[i] ^= 0x40
		require.NoError(t, os.WriteFile(damaged, data, 0o666))
		_, _ = Tabulate(damaged, Question{Method: "mesh.sync", Value: "wall", Rows: "level"}) // refused or read, no panic
		data[i] ^= 0x40
	}
}
