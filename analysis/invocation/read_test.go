package invocation

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"marple/analysis/run"
	"marple/analysis/series"
)

type stored struct {
	Component string   `parquet:"component,dict"`
	Method    string   `parquet:"method,dict"`
	Path      string   `parquet:"path,dict"`
	Rank      int32    `parquet:"rank"`
	Wall      float64  `parquet:"wall"`
	MPI       float64  `parquet:"mpi"`
	Compute   float64  `parquet:"compute"`
	Overlap   float64  `parquet:"overlap"`
	Q         *int64   `parquet:"Q,optional"`
	Accuracy  *float64 `parquet:"quality.accuracy,optional"`
}

func integer(v int64) *int64 { return &v }

func sample(t testing.TB) []byte {
	accuracy := 0.5
	var b bytes.Buffer
	w := parquet.NewGenericWriter[stored](&b)
	_, err := w.Write([]stored{
		{"Godunov", "compute", "go > flux", 0, 3, 1, 2, 0, integer(1000), nil},
		{"Godunov", "compute", "go > flux", 1, 6, 1, 5, 3.5, integer(2000), nil},
		{"Godunov", "compute", "go > regrid", 1, 6, 1, 5, 0, nil, nil},
		{"BC", "compute", "go", 1, 0.5, 0, 0.5, 0, nil, &accuracy},
		{"BC", "compute", "go", 1, -1, 0, 0.5, 0, nil, &accuracy},
	})
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.Bytes()
}

func TestInvocations(t *testing.T) {
	data := sample(t)
	path := filepath.Join(t.TempDir(), run.InvocationsFile)
	require.NoError(t, os.WriteFile(path, data, 0o600))
	list, err := Read(path, series.Choice{})
	require.NoError(t, err)
	require.Len(t, list, 6)
	require.Equal(t, &series.Series{Name: "Godunov.compute", Response: "wall", Unit: "s", Parameters: []string{"Q"}, X: [][]float64{{1000}, {2000}},
		Y: []float64{3, 6}, Place: []string{"go > flux", "go > flux"}, LeftOut: []series.LeftOut{{Why: "a parameter is missing", Count: 1}},
		Notes: []string{"1 of 3 invocations computed while non-blocking operations were in flight (29% of the computation): communication that they hid is in no time"}}, list[0])
	require.Empty(t, list[3].Parameters, "a quality is not one")
	require.Empty(t, list[3].Notes)
	require.Equal(t, []series.LeftOut{{Why: "the time is missing, negative or infinite", Count: 1, First: "row 5"}}, list[3].LeftOut)

	list, err = Read(path, series.Choice{Responses: []string{"mpi"}, Parameters: []string{"Q"}})
	require.NoError(t, err)
	require.Len(t, list, 2)
	require.Empty(t, list[1].Parameters)
	require.Equal(t, []float64{0, 0}, list[1].Y, "a method without parameters")

	list, err = Read(path, series.Choice{Responses: []string{"quality.accuracy"}})
	require.NoError(t, err)
	require.Equal(t, []float64{0.5, 0.5}, list[1].Y)
	require.Empty(t, list[1].Unit)

	_, err = Read(path, series.Choice{Responses: []string{"energy"}})
	require.EqualError(t, err, path+`: no quantity "energy"; there are wall, mpi, compute, overlap, quality.accuracy`)
	_, err = Read(path, series.Choice{Parameters: []string{"n"}})
	require.EqualError(t, err, path+`: no parameter "n"; there are Q`)
}

func TestForeignFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), run.InvocationsFile)
	require.NoError(t, os.WriteFile(path, []byte("PAR1 is not enough"), 0o600))
	_, err := Read(path, series.Choice{})
	require.ErrorContains(t, err, "not a Parquet file")
	var b bytes.Buffer
	require.NoError(t, parquet.Write(&b, []struct{ A, B int }{{1, 2}}))
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o600))
	_, err = Read(path, series.Choice{})
	require.ErrorContains(t, err, "no columns component and wall, mpi, compute, exclusive; there are A, B")
}

// A damaged file is refused or read, and nothing crashes.
func TestDamagedFiles(t *testing.T) {
	data := sample(t)
	path := filepath.Join(t.TempDir(), run.InvocationsFile)
	rapid.Check(t, func(t *rapid.T) {
		damaged := slices.Clone(data[:rapid.IntRange(0, len(data)).Draw(t, "length")])
		if rapid.Bool().Draw(t, "whole") {
			damaged = slices.Clone(data)
		}
		for range rapid.IntRange(0, 5).Draw(t, "changes") {
			if len(damaged) > 0 {
				damaged[rapid.IntRange(0, len(damaged)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "byte")
			}
		}
		require.NoError(t, os.WriteFile(path, damaged, 0o600))
		list, err := Read(path, series.Choice{})
		if err != nil {
			require.Contains(t, err.Error(), path)
		}
		for _, s := range list {
			require.Len(t, s.X, len(s.Y))
		}
	})
}

func FuzzRead(f *testing.F) {
	f.Add(sample(f))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), run.InvocationsFile)
		require.NoError(t, os.WriteFile(path, data, 0o600))
		if list, err := Read(path, series.Choice{}); err == nil {
			for _, s := range list {
				require.Len(t, s.X, len(s.Y))
			}
		}
	})
}
