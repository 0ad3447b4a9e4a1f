package invocation

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"marple/analysis/analysistest"
	"marple/analysis/invocation/left"
	"marple/analysis/record"
	"marple/analysis/run"
	"marple/analysis/series"
)

// rows are what a file holds, by column; what is missing is missing.
func rows(t require.TestingT, path string) (columns []string, list []map[string]any) {
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	file, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	require.NoError(t, err)
	for _, f := range file.Schema().Fields() {
		columns = append(columns, f.Name())
	}
	for _, group := range file.RowGroups() {
		reader, buffer := group.Rows(), make([]parquet.Row, 64)
		for {
			n, err := reader.ReadRows(buffer)
			for _, row := range buffer[:n] {
				one := map[string]any{}
				for _, v := range row {
					switch name := columns[v.Column()]; {
					case v.IsNull():
					case v.Kind() == parquet.ByteArray:
						one[name] = string(v.ByteArray())
					case v.Kind() == parquet.Double:
						one[name] = v.Double()
					default:
						one[name] = v.Int64()
					}
				}
				list = append(list, one)
			}
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err)
		}
		require.NoError(t, reader.Close())
	}
	return columns, list
}

// Whatever ranks and threads have recorded is in the file, in order; stored in between or not.
func TestWhatIsRecordedIsWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		directory, err := os.MkdirTemp("", "")
		require.NoError(t, err)
		defer os.RemoveAll(directory)
		raw := filepath.Join(directory, run.RawDir)
		require.NoError(t, os.Mkdir(raw, 0o777))
		stored := rapid.Bool().Draw(t, "stored")
		kinds := []struct {
			name, column  string
			real, quality bool
		}{
			{"n", "n", false, false}, {"x", "x", true, false}, {"rank", "parameter.rank", false, false}, {"quality.x", "parameter.quality.x", true, false},
			{"x", "quality.x", true, true}, {"a b.\"é", "a b.\"é", false, false},
		}
		var sources []*Source
		var want []map[string]any
		for rank := range rapid.IntRange(1, 3).Draw(t, "ranks") {
			w := record.NewWriter(rank, 3)
			file := filepath.Join(raw, fmt.Sprintf("rank-%d.mrl", rank))
			var threads []*record.ThreadWriter
			w.Header().BeginTick = 1000
			for index := range rapid.IntRange(1, 3).Draw(t, "threads") {
				threads = append(threads, w.Thread(1000, index == 0))
			}
			p, err := w.Process(1 << 62)
			require.NoError(t, err)
			now := uint64(1000)
			for index, thread := range threads {
				p.KeepInvocations(index, left.Log(analysistest.File(file), index), 1<<30)
				context := w.Node(record.Node{Kind: record.NodeRegion, Name: w.String("level 1")})
				node := w.Node(record.Node{Parent: context, Kind: record.NodeComponent, Key: uint64(w.String("Flux")) | uint64(w.String("fine"))<<32, Name: w.String("compute")})
				inner := w.Node(record.Node{Parent: node, Kind: record.NodeComponent, Key: uint64(w.String("States")), Name: w.String("compute")})
				for range rapid.IntRange(0, 20).Draw(t, "invocations") {
					row := map[string]any{"component": "Flux", "method": "compute", "instance": "fine", "path": "level 1 > Flux[fine].compute",
						"rank": int64(rank), "thread": int64(index)}
					i := record.Invocation{Path: node, Start: now, Wall: rapid.Uint64Range(2, 1<<40).Draw(t, "wall"),
						OffCore: rapid.SampledFrom([]uint64{0, 5, 1 << 40}).Draw(t, "without a core")}
					own := i.Wall
					for range rapid.IntRange(0, 2).Draw(t, "nested") {
						took := rapid.Uint64Range(0, own/2).Draw(t, "nested wall")
						thread.Invoke(record.Invocation{Path: inner, Start: now, Wall: took})
						own -= took
						want = append(want, map[string]any{"component": "States", "method": "compute", "instance": "",
							"path": "level 1 > Flux[fine].compute > States.compute", "rank": int64(rank), "thread": int64(index), "start": float64(now-1000) / 1e9,
							"wall": float64(took) / 1e9, "mpi": 0.0, "compute": float64(took) / 1e9, "overlap": 0.0, "exclusive": float64(took) / 1e9, "off_core": 0.0})
					}
					i.MPI, i.Overlap = i.Wall/2, i.Wall/4
					for k, v := range rapid.SliceOfNDistinct(rapid.SampledFrom(kinds), 0, 4, rapid.ID).Draw(t, "values") {
						value := record.Value{Name: w.String(v.name), Real: v.real, Quality: v.quality, Bits: uint64(k) << 52}
						i.Values = append(i.Values, value)
						if row[v.column] = any(int64(value.Bits)); v.real {
							row[v.column] = value.Float()
						}
					}
					seconds := func(ticks uint64) float64 { return float64(ticks) / 1e9 }
					row["start"], row["wall"], row["mpi"] = seconds(now-1000), seconds(i.Wall), seconds(i.MPI)
					row["compute"], row["overlap"], row["exclusive"] = seconds(i.Wall-i.MPI), seconds(i.Overlap), seconds(own)
					row["off_core"] = seconds(i.OffCore)
					thread.Invoke(i)
					now += i.Wall + i.OffCore
					want = append(want, row)
				}
				p.Consume(index)
			}
			if s := FromProcess(p, analysistest.File(file), nil); s != nil {
				sources = append(sources, s)
				if stored {
					require.NoError(t, s.Store())
				}
			}
		}
		if stored {
			sources, err = Load(analysistest.In(directory))
			require.NoError(t, err)
		}
		n, err := Write(analysistest.In(directory), sources)
		require.NoError(t, err)
		require.EqualValues(t, len(want), n)
		path := filepath.Join(directory, run.InvocationsFile)
		if len(want) == 0 {
			require.NoFileExists(t, path)
			return
		}
		columns, got := rows(t, path)
		require.Equal(t, names[:], columns[:fixed])
		require.Equal(t, want, got)
		list, err := Read(path, series.Choice{})
		require.NoError(t, err)
		methods := map[any]bool{}
		for _, row := range want {
			methods[row["component"]] = true
		}
		require.Len(t, list, len(methods)*len(responses))
		for _, s := range sources {
			s.Remove()
		}
		left, err := os.ReadDir(raw)
		require.NoError(t, err)
		require.Empty(t, left)
	})
}

func BenchmarkWrite(b *testing.B) {
	directory := b.TempDir()
	w := record.NewWriter(0, 1)
	t := w.Thread(0, true)
	p, err := w.Process(1 << 62)
	require.NoError(b, err)
	file := filepath.Join(directory, "rank-0.mrl")
	p.KeepInvocations(0, left.Log(analysistest.File(file), 0), 1<<40)
	node := w.Node(record.Node{Kind: record.NodeComponent, Key: uint64(w.String("Flux")), Name: w.String("compute")})
	const invocations = 1 << 18
	for i := range uint64(invocations) {
		t.Invoke(record.Invocation{Path: node, Start: i * 1000, Wall: 100 + i*i%397, Values: []record.Value{{Name: w.String("n"), Bits: i % 1000}}})
		p.Consume(0)
	}
	source := FromProcess(p, analysistest.File(file), nil)
	for b.Loop() {
		_, err := Write(analysistest.In(directory), []*Source{source})
		require.NoError(b, err)
	}
	info, err := os.Stat(filepath.Join(directory, run.InvocationsFile))
	require.NoError(b, err)
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/invocations, "ns/row")
	b.ReportMetric(float64(info.Size())/invocations, "bytes/row")
	b.ReportMetric(float64(source.Threads[0].Bytes)/invocations, "raw-bytes/row")
}
