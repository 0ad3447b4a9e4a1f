package export

import (
	"archive/tar"
	"bytes"
	"encoding/binary"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"marple/analysis/analysistest"
	"marple/analysis/record"
	"marple/analysis/run"
)

const ms = 1_000_000

var update = flag.Bool("update", false, "write golden files anew")

const hostile = "<b>\"it's\" -> a\x1b,=1+1\n\xff"

func sample(ranks int, region string, n float64) *run.Run {
	r := analysistest.Run(ranks, 4, func(r *analysistest.Rank) {
		r.Region(region, func() {
			r.Compute(uint64(n)*ms + uint64(r.Rank))
			r.Barrier(5, uint64(r.Rank)*ms)
		})
		r.Function(10, "exchange", func() {
			r.Send(6, (r.Rank+1)%ranks, 100, ms)
			r.Recv(7, (r.Rank+ranks-1)%ranks, 100, ms)
		})
		if r.Rank == 0 {
			r.Call(8, "MPI_Iprobe", record.OpTest, record.Nonblocking, record.Call{Duration: 5, Peer: record.Any})
		}
	})
	r.Parameters = map[string]float64{"n": n}
	// A call whose function was inlined, as symbol tables tell it.
	r.Root().Walk(func(x *run.Node, _ int) bool {
		if x.Name == "MPI_Send" {
			x.Inlined = []run.Inlined{{Function: "inner", File: "/src/main.c", Line: 41, Site: "main.c:41"}, {Function: "outer", File: "/src/main.c", Line: 42}}
		}
		return true
	})
	return r
}

// whole is the core time of the run.
func whole(r *run.Run) (ns uint64) { return r.Root().Inclusive.Sum }

// each writes a run in every format.
func each(r *run.Run) (map[string][]byte, error) {
	all := map[string][]byte{}
	for name, write := range map[string]func(io.Writer, *run.Run) error{
		"pprof.pb.gz": Pprof, "speedscope.json": Speedscope, "hatchet.json": Hatchet, "caliper.json": Caliper, "table.csv": CSV, "cube.cubex": Cube} {
		var b bytes.Buffer
		if err := write(&b, r); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all[name] = b.Bytes()
	}
	for name, write := range map[string]func(io.Writer, []*run.Run) error{"extrap.txt": ExtraPText, "extrap.jsonl": ExtraPLines} {
		var b bytes.Buffer
		second := *r
		second.Parameters = map[string]float64{"n": r.Parameters["n"] + 1}
		if err := write(&b, []*run.Run{&second, r, r}); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all[name] = b.Bytes()
	}
	return all, nil
}

func TestGolden(t *testing.T) {
	all, err := each(sample(3, hostile, 10))
	require.NoError(t, err)
	for name, got := range all {
		switch name {
		case "pprof.pb.gz":
			p, err := profile.ParseData(got)
			require.NoError(t, err)
			name, got = "pprof.txt", []byte(p.String())
		case "cube.cubex":
			name, got = "cube-anchor.xml", untar(t, got)["anchor.xml"]
		}
		golden := filepath.Join("testdata", name)
		if *update {
			require.NoError(t, os.WriteFile(golden, got, 0o666))
		}
		want, err := os.ReadFile(golden)
		require.NoError(t, err)
		assert.Equal(t, string(want), string(got), name)
	}
}

func TestPprof(t *testing.T) {
	r := sample(3, "solve", 10)
	all, err := each(r)
	require.NoError(t, err)
	p, err := profile.ParseData(all["pprof.pb.gz"])
	require.NoError(t, err)
	var sum, calls int64
	for _, s := range p.Sample {
		sum += s.Value[1]
		if s.Location[0].Line[0].Function.Name == "MPI_Send" && s.NumLabel["rank"][0] == 0 {
			calls += s.Value[0]
		}
	}
	assert.Equal(t, whole(r), uint64(sum))
	assert.Equal(t, int64(1), calls)
	file := filepath.Join(t.TempDir(), "p")
	require.NoError(t, os.WriteFile(file, all["pprof.pb.gz"], 0o666))
	out, err := exec.Command("go", "tool", "pprof", "-top", "-unit=ms", file).Output()
	require.NoError(t, err)
	assert.Regexp(t, `(?m)^ +30ms .* between the start of solve and MPI_Barrier`, string(out))
	for rank := range 3 {
		out, err = exec.Command("go", "tool", "pprof", "-raw", fmt.Sprintf("-tagfocus=rank=%d", rank), file).Output()
		require.NoError(t, err)
		found := map[string]bool{}
		for _, m := range regexp.MustCompile(`rank:\[(\d+)`).FindAllStringSubmatch(string(out), -1) {
			found[m[1]] = true
		}
		assert.Equal(t, map[string]bool{fmt.Sprint(rank): true}, found)
	}
	out, err = exec.Command("go", "tool", "pprof", "-peek", "^MPI_Send$", file).Output()
	require.NoError(t, err)
	assert.Regexp(t, `(?m)inner$`, string(out))
}

func TestSpeedscope(t *testing.T) {
	text, err := os.ReadFile("testdata/speedscope-schema.json") // of the npm package speedscope
	require.NoError(t, err)
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource("speedscope.json", document))
	schema, err := c.Compile("speedscope.json")
	require.NoError(t, err)
	for _, ranks := range []int{3, 100} {
		r := sample(ranks, hostile, 10)
		var b bytes.Buffer
		require.NoError(t, Speedscope(&b, r))
		instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(b.Bytes()))
		require.NoError(t, err)
		require.NoError(t, schema.Validate(instance))
		var file struct {
			Shared   struct{ Frames []struct{ Name string } }
			Profiles []struct {
				Samples  [][]int
				Weights  []uint64
				EndValue uint64
			}
		}
		require.NoError(t, json.Unmarshal(b.Bytes(), &file))
		sum := uint64(0)
		for _, p := range file.Profiles {
			require.Len(t, p.Weights, len(p.Samples))
			sum += p.EndValue
		}
		assert.Equal(t, whole(r), sum)
	}
	require.Error(t, schema.Validate(map[string]any{"profiles": []any{}}), "a schema that accepts anything proves nothing")
}

// What hatchet's readers rely on.
func TestHatchet(t *testing.T) {
	r := sample(3, hostile, 10)
	all, err := each(r)
	require.NoError(t, err)
	var split struct {
		Data           [][]float64
		Columns        []string
		ColumnMetadata []struct {
			IsValue bool `json:"is_value"`
		} `json:"column_metadata"`
		Nodes []struct {
			Label, Column string
			Parent        *int
		}
	}
	require.NoError(t, json.Unmarshal(all["caliper.json"], &split))
	require.Equal(t, []string{"mpi.rank", "sum#time.duration", "inclusive#sum#time.duration", "calls", "path"}, split.Columns)
	require.Len(t, split.ColumnMetadata, len(split.Columns))
	for i, n := range split.Nodes {
		require.Equal(t, "path", n.Column)
		require.Equal(t, i == 0, n.Parent == nil)
		require.True(t, n.Parent == nil || *n.Parent < i, "parents come first")
	}
	sum, seen := 0., map[[2]float64]bool{}
	for _, row := range split.Data {
		require.Len(t, row, len(split.Columns))
		require.Less(t, int(row[4]), len(split.Nodes))
		require.False(t, seen[[2]float64{row[0], row[4]}], "one row per node and rank")
		seen[[2]float64{row[0], row[4]}] = true
		sum += row[1]
	}
	assert.InDelta(t, seconds(whole(r)), sum, 1e-12)

	type node struct {
		Frame    map[string]string
		Metrics  map[string]float64
		Children []node
	}
	var literal []node
	require.NoError(t, json.Unmarshal(all["hatchet.json"], &literal))
	var check func(n node) float64
	check = func(n node) float64 {
		require.NotEmpty(t, n.Frame["name"])
		require.NotEmpty(t, n.Frame["type"])
		inclusive := n.Metrics["time"]
		for _, c := range n.Children {
			inclusive += check(c)
		}
		require.InDelta(t, inclusive, n.Metrics["time (inc)"], 1e-12)
		return inclusive
	}
	assert.InDelta(t, seconds(whole(r)), check(literal[0]), 1e-12)
}

func untar(t require.TestingT, data []byte) map[string][]byte {
	files := map[string][]byte{}
	for in := tar.NewReader(bytes.NewReader(data)); ; {
		h, err := in.Next()
		if err == io.EOF {
			return files
		}
		require.NoError(t, err)
		files[h.Name], err = io.ReadAll(in)
		require.NoError(t, err)
	}
}

// The format as pyCubexR, the reader of Extra-P, documents it.
func TestCube(t *testing.T) {
	r := sample(3, hostile, 10)
	all, err := each(r)
	require.NoError(t, err)
	files := untar(t, all["cube.cubex"])
	require.Len(t, files, 5)
	require.True(t, bytes.HasPrefix(files["anchor.xml"], []byte("<?xml")))
	type cnode struct {
		ID       int     `xml:"id,attr"`
		Callee   int     `xml:"calleeId,attr"`
		Children []cnode `xml:"cnode"`
	}
	var anchor struct {
		Regions []struct {
			ID   int    `xml:"id,attr"`
			Name string `xml:"name"`
		} `xml:"program>region"`
		Roots     []cnode `xml:"program>cnode"`
		Locations []struct {
			ID int `xml:"Id,attr"`
		} `xml:"system>systemtreenode>systemtreenode>locationgroup>location"`
	}
	require.NoError(t, xml.Unmarshal(files["anchor.xml"], &anchor))
	require.Len(t, anchor.Roots, 1)
	require.Len(t, anchor.Locations, 3)
	var order []cnode // depth first, as data of exclusive metrics is
	var visit func(n cnode)
	visit = func(n cnode) {
		order = append(order, n)
		for _, c := range n.Children {
			visit(c)
		}
	}
	visit(anchor.Roots[0])
	index := files["0.index"]
	require.Equal(t, "CUBEX.INDEX", string(index[:11]))
	require.Equal(t, []byte{1, 0, 0, 0, 0, 0, 1}, index[11:18])
	require.Equal(t, len(order), int(binary.LittleEndian.Uint32(index[18:])))
	require.Len(t, index, 22+4*len(order))
	require.Equal(t, index, files["1.index"])
	sum := 0.
	for i, n := range order {
		require.Equal(t, i, n.ID)
		require.Equal(t, i, int(binary.LittleEndian.Uint32(index[22+4*i:])))
		for rank := range 3 {
			at := 10 + 8*(3*i+rank)
			sum += math.Float64frombits(binary.LittleEndian.Uint64(files["0.data"][at:]))
			if anchor.Regions[n.Callee].Name == "MPI_Send" {
				require.Equal(t, uint64(1), binary.LittleEndian.Uint64(files["1.data"][at:]))
			}
		}
	}
	require.Equal(t, "CUBEX.DATA", string(files["0.data"][:10]))
	require.Len(t, files["0.data"], 10+8*3*len(order))
	assert.InDelta(t, seconds(whole(r)), sum, 1e-12)
}

func TestCSV(t *testing.T) {
	r := sample(100, hostile, 10)
	var b bytes.Buffer
	require.NoError(t, CSV(&b, r))
	rows, err := csv.NewReader(&b).ReadAll()
	require.NoError(t, err)
	sum := 0.
	for _, row := range rows[1:] {
		x, err := strconv.ParseFloat(row[7], 64)
		require.NoError(t, err)
		require.Equal(t, plain(r.TimeBase()), row[9])
		sum += x
		for _, cell := range row {
			require.NotContains(t, "=+-@", cell[:min(1, len(cell))]+"#", cell)
		}
	}
	assert.InDelta(t, seconds(whole(r)), sum, 1e-9)
}

func TestExtraP(t *testing.T) {
	var b bytes.Buffer
	require.ErrorContains(t, ExtraPText(&b, []*run.Run{sample(2, "a", 1)}), "differ in no parameter")
	runs := []*run.Run{sample(4, "a", 20), sample(2, "a", 10), sample(2, "a", 12), sample(4, "b", 10)}
	for _, r := range runs[1:3] {
		r.Parameters = map[string]float64{"n": 10}
	}
	require.NoError(t, ExtraPText(&b, runs))
	text := b.String()
	comments := ""
	for _, r := range runs {
		comments += "# " + r.TimeBase() + "\n"
	}
	assert.True(t, strings.HasPrefix(text, comments+"PARAMETER ranks\nPARAMETER n\nPOINTS (2 10) (4 10) (4 20)\n"), text[:len(comments)+60])
	assert.Contains(t, text, "\nMETRIC time\nREGION main program->main->a\nDATA 0.0105000005 0.0125000005\nDATA 0\nDATA 0.0215000015\n")
	assert.Contains(t, text, "\nMETRIC visits\nREGION main program->main->b\nDATA 0 0\nDATA 1\nDATA 0\n")
	b.Reset()
	require.NoError(t, ExtraPLines(&b, runs))
	assert.Contains(t, b.String(), `{"params":{"n":10,"ranks":2},"callpath":"main program->main->a","metric":"time","value":[0.0105000005,0.0125000005]}`+"\n")
	assert.NotContains(t, b.String(), `"value":null`)
}

// No name breaks a format.
func TestNames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
			rapid.StringOf(rapid.RuneFrom([]rune("ab->\"'<&>,;\n\r\t\\\u2028=")))).Draw(t, "name")
		r := sample(2, "region", 10)
		r.Program, r.Root().Name = name, name
		for _, n := range r.Root().Children {
			n.Name, n.Site, n.File = name, name, name
		}
		r.PerRank[0].Host, r.Parameters = name, map[string]float64{name + "x": 3, "n": 1}
		all, err := each(r)
		require.NoError(t, err)
		p, err := profile.ParseData(all["pprof.pb.gz"])
		require.NoError(t, err)
		require.NoError(t, p.CheckValid())
		for _, file := range []string{"speedscope.json", "hatchet.json", "caliper.json"} {
			require.True(t, json.Valid(all[file]), file)
		}
		require.NoError(t, xml.Unmarshal(untar(t, all["cube.cubex"])["anchor.xml"], new(struct{})))
		rows, err := csv.NewReader(bytes.NewReader(all["table.csv"])).ReadAll()
		require.NoError(t, err)
		require.Contains(t, []string{plain(name), "'" + plain(name)}, rows[1][1])
		for _, line := range strings.Split(strings.TrimSpace(string(all["extrap.txt"])), "\n") {
			require.Regexp(t, `^((# elapsed time of each rank, .*|PARAMETER \w+|POINTS( \([0-9.e+ -]+\))+|METRIC (time|visits)|REGION main program.*|DATA( [0-9.e+-]+)+))?$`, line)
		}
		for _, line := range bytes.Split(bytes.TrimSpace(all["extrap.jsonl"]), []byte("\n")) {
			require.True(t, json.Valid(line))
		}
	})
}

func TestDeepPathsAreRefused(t *testing.T) {
	r := sample(2, "a", 1)
	at := r.Root()
	for range 5000 {
		at.Children = []*run.Node{{Kind: "region", Name: "x"}}
		at = at.Children[0]
	}
	require.ErrorContains(t, CSV(io.Discard, r), "deeper than 1000")
	r.CallGraph = nil
	require.ErrorContains(t, CSV(io.Discard, r), "no call graph")
}
