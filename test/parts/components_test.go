package parts

import (
	"marple/test/harness"

	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"

	"marple/analysis/run"
)

// invocation is a row of invocations.parquet: values by column, nil where there is none.
type invocation map[string]any

func (i invocation) name() string { return fmt.Sprintf("%v.%v", i["component"], i["method"]) }

// ns is a time in nanoseconds.
func (i invocation) ns(column string) int64 { return int64(math.Round(i[column].(float64) * 1e9)) }

// real is a number, whether or not it is whole.
func (i invocation) real(column string) float64 {
	if n, ok := i[column].(int64); ok {
		return float64(n)
	}
	return i[column].(float64)
}

func readInvocations(t testing.TB, directory string) (columns []string, rows []invocation) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(directory, run.InvocationsFile))
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
				one := invocation{}
				for _, v := range row {
					switch name := columns[v.Column()]; {
					case v.IsNull():
					case v.Kind() == parquet.Double:
						one[name] = v.Double()
					case v.Kind() == parquet.ByteArray:
						one[name] = string(v.ByteArray())
					default:
						one[name] = v.Int64()
					}
				}
				rows = append(rows, one)
			}
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err)
		}
	}
	return columns, rows
}

// addsUp checks what is true of every run: computation and MPI add up, overlap is part of computation, and
// what is nested is within what it is nested in.
func addsUp(t testing.TB, rows []invocation) {
	t.Helper()
	for _, i := range rows {
		require.InDelta(t, i["wall"], i["mpi"].(float64)+i["compute"].(float64), 1e-12, i)
		require.LessOrEqual(t, i["overlap"].(float64), i["compute"].(float64)+1e-12, i)
		require.GreaterOrEqual(t, i["start"].(float64), 0.0, i)
		require.GreaterOrEqual(t, i["mpi"].(float64), 0.0, i)
	}
}

// On the virtual clock every time is known: see the program.
func TestComponentsExactly(t *testing.T) {
	t.Parallel()
	harness.Mock.Need(t)
	program := harness.Mock.Compile(t, "components", "-ldl")
	directory := t.TempDir()
	line := append([]string{harness.Mock.Tool("mpirun"), "-n", "3", "--virtual"},
		harness.Artifact(t, "marple"), "exec", "--clock", "external", "--skip", "Mesh.skipped", "--out", "run", "--", program)
	r := harness.Command{Directory: directory}.Run(t, line...)
	require.Zero(t, r.Code, r.Stderr)
	columns, rows := readInvocations(t, filepath.Join(directory, "run"))
	require.Equal(t, []string{"component", "method", "instance", "path", "rank", "thread", "start", "wall", "mpi", "compute", "overlap",
		"exclusive", "off_core", "half", "n", "overlapped", "parameter.rank", "quality.accuracy"}, columns)
	addsUp(t, rows)
	type one struct {
		path                      string
		start, wall, mpi, overlap int64
		exclusive                 int64
	}
	want := []one{
		{"Driver.go > Flux.compute", 0, 1000, 0, 0, 1000},
		{"Driver.go > Flux.compute", 1000, 2000, 0, 0, 2000},
		{"Driver.go > Flux.compute", 3000, 3000, 0, 0, 3000},
		{"Driver.go > Mesh[fine].exchange > level 1 > Flux.compute", 6000, 3000, 0, 3000, 3000},
		{"Driver.go > Mesh[fine].exchange", 6000, 3500, 0, 3000, 500},
		{"Driver.go > Mesh[fine].exchange", 9500, 1100, 700, 400, 1100},
	}
	require.Len(t, rows, 3*(len(want)+1))
	for rank := range 3 {
		for k, w := range want {
			i := rows[rank*(len(want)+1)+k]
			require.Equal(t, w, one{i["path"].(string), i.ns("start"), i.ns("wall"), i.ns("mpi"), i.ns("overlap"), i.ns("exclusive")}, "rank %d: %v", rank, i)
			require.EqualValues(t, rank, i["rank"])
		}
		last := rows[rank*(len(want)+1)+len(want)]
		require.Equal(t, "Driver.go", last["path"])
		require.EqualValues(t, rank, last["parameter.rank"])
		// All leave the barrier when the slowest has come, and the latency later.
		require.EqualValues(t, 10600+14000+1000, last.ns("wall"))
		require.EqualValues(t, 700+14000-7000*rank+1000, last.ns("mpi"))
		require.EqualValues(t, 3400, last.ns("overlap"))
		require.EqualValues(t, 14000+1000, last.ns("exclusive"))
	}
	require.Equal(t, invocation{"component": "Flux", "method": "compute", "instance": "", "path": "Driver.go > Flux.compute", "rank": int64(0), "thread": int64(0),
		"start": rows[2]["start"], "wall": rows[2]["wall"], "mpi": 0.0, "compute": rows[2]["wall"], "overlap": 0.0, "exclusive": rows[2]["wall"], "off_core": 0.0,
		"n": int64(3), "half": 1.5, "quality.accuracy": 1 / 3.}, rows[2])
	require.EqualValues(t, 1000, rows[4]["n"])
	require.EqualValues(t, 1, rows[4]["overlapped"])

	// The call graph has each method once per path, and tells its component.
	measured := harness.ReadRun(t, filepath.Join(directory, "run"))
	require.EqualValues(t, len(rows), measured.Invocations)
	found := map[string]uint64{}
	measured.Root().Walk(func(n *run.Node, _ int) bool {
		if n.Component != "" {
			found[n.Name] += n.Calls.N
		}
		return true
	})
	require.Equal(t, map[string]uint64{"Driver.go": 3, "Flux.compute": 12, "Mesh[fine].exchange": 6}, found)
	require.Empty(t, measured.NotSeen)

	// A table of the records.
	table := func(arguments ...string) string {
		r := harness.Command{Directory: directory}.Run(t, append([]string{harness.Artifact(t, "marple"), "invocations", "run"}, arguments...)...)
		require.Zero(t, r.Code, r.Stderr)
		return r.Stdout
	}
	require.Equal(t, `Flux.compute: wall by n; mean ± standard deviation from one invocation to the
next, and how many there are

           n                     before                      after   ratio
           1         1.00 µs ± 0      3                          –
           2         2.00 µs ± 0      3                          –
           3         3.00 µs ± 0      6                          –

This run is unlikely to scale: 36 % of its time is spent in MPI, and one
invocation of Driver.go communicates 3.6 times as long as one of Flux.compute
computes.
`, table("Flux.compute", "--by", "n", "--after", "Mesh.exchange"))
	require.Contains(t, table("Mesh.exchange", "--by", "n", "--against", "overlapped", "--per", "--value", "compute", "--format", "json"), `"overlapped 1"`)

	// What invocations report of their results can count as the implementation's quality.
	plan := "families:\n  flux: {components: [Flux], implementations: {one: {measured: yes, qualities: {accuracy: measured}}, " +
		"two: {time: 1, qualities: {accuracy: 0.9}}}}\nqualities: {accuracy: {rule: min}}\n"
	require.NoError(t, os.WriteFile(filepath.Join(directory, "families.yaml"), []byte(plan), 0o666))
	choose := func(arguments ...string) string {
		r := harness.Command{Directory: directory}.Run(t, append([]string{harness.Artifact(t, "marple"), "select", "run", "--families", "families.yaml"}, arguments...)...)
		require.Zero(t, r.Code, r.Stderr)
		return r.Stdout
	}
	text := choose()
	require.Regexp(t, `(?m)^flux +one\b`, text)
	require.Contains(t, text, "accuracy 0.5417 ± 0.29 in 12 invocations, 0.3333 to 1\n")
	require.Regexp(t, `(?m)^flux +two\b`, choose("--limit", "accuracy>=0.8"))
	require.Contains(t, strings.Join(strings.Fields(choose("--limit", "accuracy>=0.5")), " "), "whether flux.one has accuracy ≥ 0.5 is not sure: it is 0.5417 ± 0.16")
	require.NoDirExists(t, filepath.Join(directory, "run", run.RawDir))
}

// DuckDB, which test/setup.sh installs where it can, reads the same.
func TestInvocationsForDuckDB(t *testing.T) {
	t.Parallel()
	library := filepath.Join(harness.Top, "build", "node", "node_modules", "@duckdb", "node-api")
	if _, err := exec.LookPath("node"); err != nil {
		harness.Missing(t, "node")
	}
	if _, err := os.Stat(library); err != nil {
		harness.Missing(t, "@duckdb/node-api")
	}
	harness.Mock.Need(t)
	program := harness.Mock.Compile(t, "components", "-ldl")
	directory := t.TempDir()
	r := harness.Command{Directory: directory}.Run(t, harness.Mock.Tool("mpirun"), "-n", "3", "--virtual", harness.Artifact(t, "marple"), "exec", "--out", "run", "--", program)
	require.Zero(t, r.Code, r.Stderr)
	script := filepath.Join(directory, "read.mjs")
	require.NoError(t, os.WriteFile(script, []byte(`
const [library, file] = process.argv.slice(2)
const { DuckDBInstance } = await import(library)
const connection = await (await DuckDBInstance.create(':memory:')).connect()
const rows = await connection.runAndReadAll("SELECT * FROM '" + file + "'")
console.log(JSON.stringify(rows.getRowObjectsJS(), (_, v) => typeof v === 'bigint' ? Number(v) : v))
`), 0o666))
	out, err := exec.Command("node", script, filepath.Join(library, "lib", "index.js"), filepath.Join(directory, "run", run.InvocationsFile)).CombinedOutput()
	require.NoError(t, err, "%s", out)
	_, rows := readInvocations(t, filepath.Join(directory, "run"))
	for _, i := range rows {
		for column, value := range i {
			if n, ok := value.(int64); ok {
				i[column] = float64(n)
			}
		}
	}
	var theirs []invocation
	require.NoError(t, json.Unmarshal(out, &theirs), "%s", out)
	for _, i := range theirs {
		maps.DeleteFunc(i, func(_ string, value any) bool { return value == nil })
	}
	require.Equal(t, rows, theirs)
}

// Real MPI libraries: the same records, with times that are at least those of the work.
func TestComponents(t *testing.T) {
	t.Parallel()
	harness.Each(t, func(t *testing.T, mpi *harness.Library) {
		program := mpi.Compile(t, "components", "-ldl")
		directory := t.TempDir()
		r := harness.Command{Directory: directory}.Run(t, mpi.Launch(2, harness.Artifact(t, "marple"), "exec", "--skip", "Mesh.skipped", "--out", "run", "--", program)...)
		require.Zero(t, r.Code, r.Stderr)
		_, rows := readInvocations(t, filepath.Join(directory, "run"))
		addsUp(t, rows)
		require.Len(t, rows, 2*7)
		for k, i := range rows {
			if i.name() == "Flux.compute" {
				require.GreaterOrEqual(t, i.ns("wall")+i.ns("off_core"), 1000*i["n"].(int64), i)
				require.Zero(t, i["mpi"], i)
			}
			// Around the one before, in which all is overlap. Time without a core may be noticed later than it was.
			if i["overlapped"] == int64(1) && i.ns("off_core") == 0 && rows[k-1].ns("off_core") == 0 {
				require.Equal(t, rows[k-1]["wall"], rows[k-1]["overlap"])
				require.GreaterOrEqual(t, i["overlap"], rows[k-1]["overlap"], i)
			}
			if i.name() == "Driver.go" || i.name() == "Mesh.exchange" {
				require.Positive(t, i.ns("mpi")+i.ns("off_core"), i)
				if i.ns("off_core") == 0 {
					require.Positive(t, i["overlap"], i)
				}
			}
		}
	})
}

// A run that is killed leaves every invocation that had ended, once.
func TestComponentsAfterAKill(t *testing.T) {
	t.Parallel()
	harness.Mock.Need(t)
	program := harness.Mock.Compile(t, "components", "-ldl")
	directory := t.TempDir()
	c := harness.Command{Directory: directory, Environment: []string{"MARPLE_REPORT=none"}}
	r := c.Run(t, harness.Mock.Launch(2, harness.Artifact(t, "marple"), "exec", "--skip", "Mesh.skipped", "--out", "run", "--", program, "leave")...)
	require.NotZero(t, r.Code)
	for range 2 { // it can be repeated
		r = c.Run(t, harness.Artifact(t, "marple"), "recover", "run")
		require.Zero(t, r.Code, r.Stderr)
		_, rows := readInvocations(t, filepath.Join(directory, "run"))
		addsUp(t, rows)
		require.Len(t, rows, 2*6) // all but the driver's, which had not ended
		require.EqualValues(t, len(rows), harness.ReadRun(t, filepath.Join(directory, "run")).Invocations)
	}
}

// Go's threads sleep while the program runs, from soon after a hand-over on: nothing of ours wakes up by itself.
func TestThreadsSleepWhileTheProgramRuns(t *testing.T) {
	program := filepath.Join(t.TempDir(), "quiet")
	out, err := exec.Command("gcc", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-I"+filepath.Join(harness.Top, "cshim", "include"), harness.Apps("quiet.c"), "-o", program, "-ldl").CombinedOutput()
	require.NoError(t, err, "%s", out)
	c := harness.Command{Directory: t.TempDir()}
	r := c.Run(t, harness.Artifact(t, "marple"), "exec", "--out", "run", "--", program)
	require.Zero(t, r.Code, r.Stderr)
	var threads, ran int
	_, err = fmt.Sscan(r.Stdout, &threads, &ran)
	require.NoError(t, err)
	require.Positive(t, threads, "the core was not open")
	require.Zero(t, ran)
	measured := harness.ReadRun(t, filepath.Join(c.Directory, "run"))
	require.Positive(t, measured.LongestInterruption())
	require.Less(t, measured.LongestInterruption(), measured.Core.Own)
}

// Without MPI the report comes at exit, and every thread's invocations are there.
func TestComponentsWithoutMPI(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("g++"); err != nil {
		harness.Missing(t, "g++")
	}
	program := filepath.Join(t.TempDir(), "alone")
	out, err := exec.Command("g++", "-std=c++17", "-O1", "-g", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I"+filepath.Join(harness.Top, "cshim", "include"),
		harness.Apps("alone.cpp"), "-o", program, "-pthread", "-ldl").CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, variant := range []struct{ name, variable string }{
		{"with the core", "MARPLE_REPORT=stderr"}, {"without a core", "MARPLE_CORE=none"}, {"little room", "MARPLE_INVOCATIONS=0"},
	} {
		t.Run(variant.name, func(t *testing.T) {
			directory := t.TempDir()
			c := harness.Command{Directory: directory, Environment: []string{variant.variable}}
			r := c.Run(t, harness.Artifact(t, "marple"), "exec", "--out", "run", "--", program, "3", "4")
			require.Zero(t, r.Code, r.Stderr)
			require.True(t, r.Reported(), r.Stderr)
			measured := harness.ReadRun(t, filepath.Join(directory, "run"))
			require.EqualValues(t, 1+3*(4+1+10000), measured.Invocations)
			if variant.variable == "MARPLE_INVOCATIONS=0" {
				require.NoFileExists(t, filepath.Join(directory, "run", run.InvocationsFile))
				require.EqualValues(t, measured.Invocations, measured.Unkept())
				return
			}
			_, rows := readInvocations(t, filepath.Join(directory, "run"))
			require.Len(t, rows, 1+3*(4+1+10000))
			addsUp(t, rows)
			compareAccount(t, r.Stdout, rows)
		})
	}
}

// The name of a value may lie anywhere, and its address may hold another one the next time.
func TestNamesOfValues(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	program := filepath.Join(directory, "values")
	out, err := exec.Command("gcc", "-O1", "-Wall", "-Wextra", "-Werror", "-I"+filepath.Join(harness.Top, "cshim", "include"), harness.Apps("values.c"), "-o", program, "-ldl").CombinedOutput()
	require.NoError(t, err, "%s", out)
	r := harness.Command{Directory: directory}.Run(t, harness.Artifact(t, "marple"), "exec", "--out", "run", "--", program)
	require.Zero(t, r.Code, r.Stderr)
	_, rows := readInvocations(t, filepath.Join(directory, "run"))
	require.Len(t, rows, 3*(20*2*2+1))
	for k, i := range rows {
		name, value := strings.Repeat("n", 255), int64(9)
		if k %= 81; k < 80 {
			length := k/4 + 1
			name, value = "an often used name of a value"[:length-1]+string("xy"[k/2%2]), int64(100*length+k/2%2)
		}
		require.Equal(t, value, i[name], "%s in %v", name, i)
	}
}

// compareAccount compares records with the times that the program has taken itself.
func compareAccount(t testing.TB, account string, rows []invocation) {
	t.Helper()
	own := map[string]int64{}
	for lines := bufio.NewScanner(strings.NewReader(account)); lines.Scan(); {
		var thread, n, ns int64
		_, err := fmt.Sscanf(lines.Text(), "%d sleep %d %d", &thread, &n, &ns)
		require.NoError(t, err)
		own[fmt.Sprint(thread, n)] = ns
	}
	counts, threads := map[string]int{}, map[any]bool{}
	for _, i := range rows {
		counts[i.name()]++
		threads[i["thread"]] = true
		switch i.name() {
		case "Worker.sleep":
			ns := own[fmt.Sprint(i["parameter.thread"], i["n"])]
			require.Positive(t, ns)
			require.LessOrEqual(t, i.ns("wall")+i.ns("off_core"), ns)
			require.GreaterOrEqual(t, i.ns("wall")+i.ns("off_core"), 100_000*i["n"].(int64))
		case "Worker.fail":
			require.EqualValues(t, 200, i["n"])
		case "Worker.many":
			require.Equal(t, float64(i["n"].(int64))/2, i["quality.x"])
		}
	}
	require.Equal(t, map[string]int{"Driver.go": 1, "Worker.sleep": 12, "Worker.fail": 3, "Worker.many": 30000}, counts)
	require.Len(t, threads, 3)
}

// A component of which there is a stripped library and a header is measured through its proxy, what it does in MPI
// included.
func TestComponentWithoutSource(t *testing.T) {
	t.Parallel()
	harness.Mock.Need(t)
	for _, tool := range []string{"g++", "strip", "clang"} {
		if _, err := exec.LookPath(tool); err != nil {
			harness.Missing(t, tool)
		}
	}
	directory := t.TempDir()
	marple, hidden, lib := harness.Artifact(t, "marple"), harness.Apps("hidden"), filepath.Join(harness.Build, "mock", "lib")
	do := func(line ...string) {
		t.Helper()
		c := exec.Command(line[0], line[1:]...)
		c.Dir = directory
		out, err := c.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	gxx := func(arguments ...string) {
		t.Helper()
		do(append([]string{"g++", "-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-I" + filepath.Join(harness.Build, "mock", "include"), "-I" + hidden, "-I.",
			"-I" + filepath.Join(harness.Top, "cshim", "include"), "-L.", "-L" + lib, "-Wl,-rpath," + directory + ":" + lib}, arguments...)...)
	}
	gxx("-shared", "-fPIC", filepath.Join(hidden, "component.cpp"), "-o", "libsolver.so", "-lmpi_abi", "-ldl")
	do("strip", "--strip-all", "libsolver.so")
	do(marple, "proxygen", filepath.Join(hidden, "solver.hpp"), "--port", "vendor::Solver", "-o", "solver_proxy.hpp")
	gxx(filepath.Join(hidden, "main.cpp"), "-o", "program", "-lsolver", "-lmpi_abi", "-ldl")
	r := harness.Command{Directory: directory}.Run(t, harness.Mock.Tool("mpirun"), "-n", "2", "--virtual", marple, "exec", "--clock", "external", "--out", "run", "--", "./program")
	require.Zero(t, r.Code, r.Stderr)
	_, rows := readInvocations(t, filepath.Join(directory, "run"))
	addsUp(t, rows)
	require.Len(t, rows, 2*3)
	for k, i := range rows {
		require.Equal(t, "Solver.solve", i.name())
		require.EqualValues(t, 1+k%3, i["n"])
		require.EqualValues(t, 10, i["start.size"])
		require.EqualValues(t, 1000*(1+k%3), i.ns("compute"))
		require.EqualValues(t, 1000, i.ns("mpi")) // the latency of a barrier to which all come at once
	}
}
