package tauprofile

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"marple/analysis/analysistest"
	"marple/analysis/callgraph"
	"marple/analysis/diagnosis"
	"marple/analysis/record"
	"marple/analysis/report"
	"marple/analysis/run"
)

const ms = 1_000_000

var update = flag.Bool("update", false, "write golden files anew")

func sample(ranks int, region string) *run.Run {
	return analysistest.Run(ranks, 4, func(r *analysistest.Rank) {
		analysistest.Steps(3, func() {
			r.Region(region, func() {
				r.Compute(10*ms + uint64(r.Rank)*12_345)
				r.OffCore(ms)
				r.Barrier(5, uint64(r.Rank)*ms)
			})
			r.Function(10, "exchange", func() {
				r.Send(6, (r.Rank+1)%ranks, 100+uint64(r.Rank), ms)
				r.Recv(7, (r.Rank+ranks-1)%ranks, 100, ms+1)
			})
			r.Call(8, "MPI_Iprobe", record.OpTest, record.Nonblocking, record.Call{Duration: 5, Peer: record.Any})
			r.Compute(100)
			r.Call(8, "MPI_Iprobe", record.OpTest, record.Nonblocking, record.Call{Duration: 5, Peer: record.Any})
		})
	})
}

// carried is what a profile can say of a run.
func carried(r *run.Run) *run.Run {
	c := *r
	c.Findings, c.NotSeen, c.Waits, c.WithCores, c.Selection = nil, nil, nil, nil, nil
	c.Communicators, c.Modules = nil, nil
	c.Started = r.Started.Truncate(time.Microsecond)
	c.Functions = slices.Clone(r.Functions)
	for i := range c.Functions {
		f := &c.Functions[i]
		f.Out, f.In, f.Hits, f.Fails, f.Sizes = 0, 0, 0, 0, nil
	}
	c.Peers = slices.Clone(r.Peers)
	for i := range c.Peers {
		c.Peers[i].OnwardNs, c.Peers[i].BackNs, c.Peers[i].Turns = 0, 0, 0 // the order of messages
		c.Peers[i].Rounds, c.Peers[i].Alone = 0, 0
	}
	c.AtomicEvents = slices.Clone(r.AtomicEvents)
	for i := range c.AtomicEvents {
		v := &c.AtomicEvents[i].Values
		v.Deviation, v.MinRank, v.MaxRank = math.Round(v.Deviation*1e6)/1e6, 0, 0
	}
	c.CallGraph = nil
	for _, root := range r.CallGraph {
		n := carriedNode(root)
		n.Name = ""
		c.CallGraph = append(c.CallGraph, n)
	}
	return &c
}

func carriedNode(n *run.Node) *run.Node {
	c := &run.Node{Kind: n.Kind, Name: n.Name, Function: n.Function, Site: n.Site, File: n.File, Line: n.Line, Component: n.Component, Method: n.Method,
		Instance: n.Instance, Op: n.Op, Loop: n.Loop, Exclusive: n.Exclusive, Inclusive: n.Inclusive, PerRank: n.PerRank, Metrics: n.Metrics}
	if n.Calls != nil {
		calls := run.Stat{N: n.Calls.N}
		if n.Kind == "mpi" || n.Kind == "gap" {
			calls.Sum, calls.Mean = n.Calls.Sum, n.Calls.Mean
		}
		c.Calls = &calls
	}
	for _, child := range n.Children {
		c.Children = append(c.Children, carriedNode(child))
	}
	slices.SortFunc(c.Children, func(a, b *run.Node) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Line, b.Line))
	})
	return c
}

func TestRunsComeBackAsTheyWere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := []byte(rapid.StringN(1, 20, 60).Draw(t, "name"))
		if rapid.Bool().Draw(t, "bytes") {
			name = rapid.SliceOfN(rapid.Byte(), 1, 20).Draw(t, "name")
		}
		name = bytes.ReplaceAll(name, []byte{0}, []byte("0")) // ends a C string
		r := sample(rapid.IntRange(1, 6).Draw(t, "ranks"), string(name))
		r.Parameters = map[string]float64{"n": 1e300, "half": 0.5}
		r.AtomicEvents = []run.AtomicEvent{{Name: string(name) + " =>", Values: run.Reals{N: 3, Sum: -9, Min: -6.5, Max: -1, Mean: -3, Deviation: math.Sqrt(14. / 3)}}}
		r.Metadata = []run.Metadata{{Name: string(name), Value: "a <b>" + string(name), Ranks: uint64(r.Ranks), Same: true}}
		if rapid.Bool().Draw(t, "files") {
			sum := &run.FileSum{Calls: 3, Bytes: 1 << 40, Small: 1}
			r.Files = &run.Files{List: []run.UsedFile{{Path: string(name), Ranks: uint64(r.Ranks), Unaligned: 1, Write: sum}}, Others: run.UsedFile{Metadata: sum}, Lost: 2}
			if !utf8.Valid(name) { // as in run.json
				r.Files.List[0].Path = "/tmp/“a <b>”"
			}
			for i := range r.PerRank {
				r.PerRank[i].Traffic = &run.Traffic{Read: 1, Written: math.MaxUint64, Writes: uint64(i)}
				r.PerRank[i].Files = &run.FileUse{Ns: ms, Written: 1 << 40, Writes: 3, Lookups: uint64(i)}
			}
		}
		for _, root := range r.CallGraph {
			root.Walk(func(n *run.Node, _ int) bool {
				for i, m := range []string{"PAPI_L2", "PAPI_TOT_INS"}[:rapid.IntRange(0, 2).Draw(t, "metrics")] {
					if n.Kind == "mpi" { // the innermost: their inclusive values are their own
						x := run.Metric{Name: m}
						for _, p := range n.PerRank {
							v := float64(p.Rank+1) * 1e9 * float64(i+1)
							x.Exclusive, x.Inclusive = x.Exclusive+v, x.Inclusive+v
							x.PerRank = append(x.PerRank, run.RankMetric{Rank: p.Rank, Exclusive: v, Inclusive: v})
						}
						n.Metrics = append(n.Metrics, x)
					}
				}
				return true
			})
		}
		directory, err := os.MkdirTemp("", "marple-test-*")
		require.NoError(t, err)
		defer os.RemoveAll(directory)
		require.NoError(t, Write(r, directory))
		require.True(t, Holds(directory))
		again, err := Read(directory)
		require.NoError(t, err)
		withoutInner(again)
		require.Equal(t, carried(r), carried(again))
	})
}

// What another program has made of our own attributes is not taken, and that is said.
func TestAttributesThatCannotBeRead(t *testing.T) {
	r := sample(2, "solve")
	r.Files = &run.Files{List: []run.UsedFile{{Path: "out.dat", Ranks: 2}}}
	directory := t.TempDir()
	require.NoError(t, Write(r, directory))
	name := filepath.Join(directory, "profile.0.0.0")
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Contains(t, string(text), "out.dat")
	require.NoError(t, os.WriteFile(name, bytes.Replace(text, []byte("opened_without_room"), []byte("opened_with_room"), 1), 0o666))
	again, err := Read(directory)
	require.NoError(t, err)
	require.Nil(t, again.Files)
	require.True(t, slices.ContainsFunc(again.NotSeen, func(n run.Note) bool {
		return n.ID == "attributes-unread" && strings.HasPrefix(n.Text, "Marple Files in the metadata")
	}), again.NotSeen)
}

// withoutInner takes metrics from callers, which have inclusive values after reading.
func withoutInner(r *run.Run) {
	for _, root := range r.CallGraph {
		root.Walk(func(n *run.Node, _ int) bool {
			if n.Kind != "mpi" {
				n.Metrics = nil
			}
			return true
		})
	}
}

// Beyond 64 ranks a run has the largest shares only: what is written adds up to what was measured.
func TestManyRanksAddUp(t *testing.T) {
	r := sample(100, "part")
	directory := t.TempDir()
	require.NoError(t, Write(r, directory))
	again, err := Read(directory)
	require.NoError(t, err)
	assert.Equal(t, r.Core, again.Core)
	want, got := carried(r), carried(again)
	var compare func(a, b *run.Node)
	compare = func(a, b *run.Node) {
		require.Equal(t, a.Name, b.Name)
		assert.Equal(t, a.Exclusive.Sum, b.Exclusive.Sum, a.Name)
		assert.Equal(t, a.Inclusive.Sum, b.Inclusive.Sum, a.Name)
		require.Len(t, b.Children, len(a.Children))
		for i := range a.Children {
			compare(a.Children[i], b.Children[i])
		}
	}
	compare(want.CallGraph[0], got.CallGraph[0])
	assert.Contains(t, fmt.Sprint(again.NotSeen), "the mean of what is left")
}

func TestNames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		any := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
			rapid.StringOf(rapid.RuneFrom([]rune("ab =>[{}]%\"@.\\ \u00a0"))))
		path := []Step{{Name: any.Draw(t, "a")}, {any.Draw(t, "b"), "f" + any.Draw(t, "file"), rapid.IntRange(0, 1e6).Draw(t, "line")}}
		text := path[0].text() + arrow + path[1].text()
		require.Equal(t, path, parsePath(text, true))
		require.Equal(t, 1, strings.Count(text, "=>"))
		require.NotRegexp(t, `["\x00-\x1f\x7f]`, text)
	})
}

func TestWrittenFile(t *testing.T) {
	directory := t.TempDir()
	r := sample(2, `<b>"it's"</b>`)
	r.Program = "app"
	require.NoError(t, Write(r, directory))
	got, err := os.ReadFile(filepath.Join(directory, "profile.1.0.0"))
	require.NoError(t, err)
	golden := "testdata/written.txt"
	if *update {
		require.NoError(t, os.WriteFile(golden, got, 0o666))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
}

func shape(r *run.Run) string {
	var b strings.Builder
	for _, root := range r.CallGraph {
		root.Walk(func(n *run.Node, depth int) bool {
			calls := uint64(0)
			if n.Calls != nil {
				calls = n.Calls.N
			}
			fmt.Fprintf(&b, "%s%s %s %d %d\n", strings.Repeat(" ", depth), n.Kind, n.Label(), n.Inclusive.Sum/1000, calls)
			return true
		})
	}
	return b.String()
}

func TestCallPathsThatWereCutOff(t *testing.T) {
	r, err := Read("testdata/depth")
	require.NoError(t, err)
	assert.Equal(t, `root lu <a> 170000 0
 frame main (lu.c:10) 168000 2
  gap own code 90000 0
  frame exchange (lu.c:95) 78000 20
   mpi MPI_Recv 70000 20
   gap own code 8000 0
 gap own code 2000 0
`, shape(r))
	assert.Equal(t, uint64(15_000_000), r.InitNs)
	sizes := run.MessageSizes{SentLeast: 1000, SentMost: 4000}
	assert.Equal(t, []run.Peer{{Rank: 0, To: 1, Sent: 10, SentBytes: 20000, MessageSizes: sizes}, {Rank: 1, To: 0, Sent: 10, SentBytes: 20000, MessageSizes: sizes}}, r.Peers)
	findings := diagnosis.Find(r)
	require.NotEmpty(t, findings)
	assert.Equal(t, "imbalance", findings[0].ID)
	assert.Equal(t, "own code in main (lu.c:10)", findings[0].Where)
	assert.Equal(t, []int{1}, findings[0].Ranks)
}

// A function that is called from two places: which of them led on is not known.
func TestCallPathsWithoutBeginning(t *testing.T) {
	file := &File{Metric: "TIME"}
	row := func(calls, exclusive float64, path ...string) {
		r := Timer{Calls: calls, Exclusive: exclusive, Inclusive: exclusive}
		for _, name := range path {
			r.Path = append(r.Path, Step{Name: name})
		}
		file.Timers = append(file.Timers, r)
	}
	row(1, 0, "main")
	row(1, 10, "main", "a")
	row(1, 20, "main", "b")
	row(1, 1, "a", "c")
	row(2, 2, "b", "c")
	row(3, 7, "c", "MPI_Wait()")
	row(1, 5, "c", "c")
	row(2, 30, "lonely")
	row(7, 8, "c") // all of it
	row(4, 9, "MPI_Wait()")
	tree := &tree{root: 1, metrics: []string{"TIME"}, nodes: map[callgraph.ID]*node{}}
	rows, _ := join([]*File{file})
	require.NoError(t, tree.build(rows))
	var got []string
	for _, n := range tree.nodes {
		path := n.step.Name
		for up := tree.nodes[n.parent]; up != nil; up = tree.nodes[up.parent] {
			path = up.step.Name + "/" + path
		}
		got = append(got, fmt.Sprintf("%s %g %d", path, n.values[0], n.calls))
	}
	slices.Sort(got)
	assert.Equal(t, []string{
		"callers beyond the depth that was asked for 0 0",
		"callers beyond the depth that was asked for/c 0 0",
		"callers beyond the depth that was asked for/c/MPI_Wait 7 3",
		"callers beyond the depth that was asked for/c/c 0 1",
		"callers beyond the depth that was asked for/c/c/own code 5 0",
		"callers that could not be found 0 0",
		"callers that could not be found/MPI_Wait 2 1",
		"lonely 0 2", "lonely/own code 30 0",
		"main 0 1",
		"main/a 0 1", "main/a/c 0 1", "main/a/c/own code 1 0", "main/a/own code 10 0",
		"main/b 0 1", "main/b/c 0 2", "main/b/c/own code 2 0", "main/b/own code 20 0",
	}, got)
}

func TestFlatProfiles(t *testing.T) {
	r, err := Read("testdata/flat")
	require.NoError(t, err)
	assert.Equal(t, `root unknown program 11000 0
 mpi MPI_Allreduce 6000 7
 frame int main(int, char **) C 5000 1
  gap own code 5000 0
 frame say "hello" 0 1
`, shape(r))
	assert.Equal(t, uint64(56), r.Functions[0].Out)
	assert.Contains(t, fmt.Sprint(r.NotSeen), "1 row of samples was not used")
	assert.Contains(t, fmt.Sprint(r.NotSeen), "1 negative value counts as 0")
}

func TestSeveralMetrics(t *testing.T) {
	r, err := Read("testdata/several")
	require.NoError(t, err)
	assert.Equal(t, `root unknown program 600 0
 frame solve 600 6
  mpi MPI_Barrier 400 6
  gap own code 200 0
`, shape(r))
	barrier := r.CallGraph[0].Children[0].Children[0]
	assert.Equal(t, []run.Metric{{Name: "PAPI_TOT_INS", Exclusive: 400_000, Inclusive: 400_000,
		PerRank: []run.RankMetric{{Rank: 0, Exclusive: 200_000, Inclusive: 200_000}, {Rank: 1, Exclusive: 200_000, Inclusive: 200_000}}}}, barrier.Metrics)
}

func TestWhatIsNoProfile(t *testing.T) {
	const head = "1 templated_functions_MULTI_TIME\n# Name Calls Subrs Excl Incl ProfileCalls\n"
	for text, want := range map[string]string{
		"":                              `:1: the file ends too early: expected "123 templated_functions_MULTI_TIME"`,
		"hello\n":                       `:1: not a TAU profile`,
		"-1 templated_functions\n":      `:1: not a TAU profile`,
		"1 templated_functions\nx\n":    `:2: expected "# Name Calls Subrs Excl Incl ProfileCalls"`,
		head:                            `:3: the file ends too early: expected as many functions as the first line says`,
		head + "main 1 0 5 5 0\n":       `:3: expected a name in quotes, found "main 1 0 5 5 0"`,
		head + "\"main\" 1 0 5\n":       `:3: expected 4 numbers after the name, found 3`,
		head + "\"main\" 1 0 NaN 5 0\n": `:3: "NaN": expected a number`,
		head + "\"main\" 1 0 5 5 3\n":   `:3: profiles of single calls are not read`,
		head + "\"main\" 1 0 5 5 0\n\"b\" 1 0 5 5 0\n":                                                  `:4: expected "0 aggregates"; are there more functions`,
		head + "\"main\" 1 0 5 5 0\n0 aggregates\n1 userevents\n":                                       `:6: the file ends too early: expected # eventname`,
		head + "\"" + strings.Repeat("m => ", 100_000) + "x\" 1 0 5 5 0\n0 aggregates\n":                `:3: a call path of 100001 functions: expected at most 1000`,
		head + "\"main\" 1 0 1e300 5 0\n0 aggregates\n":                                                 `1e+300 µs, with "own code": more than a thread can take`,
		"99999999999999999 templated_functions_MULTI_TIME\n# Name Calls Subrs Excl Incl ProfileCalls\n": `:3: the file ends too early`,
		"0 templated_functions_MULTI_PAPI_FP_OPS\n# Name Calls Subrs Excl Incl ProfileCalls\n":          `no metric is a time: found ["PAPI_FP_OPS"]`,
	} {
		directory := t.TempDir()
		file := filepath.Join(directory, "profile.0.0.0")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o666))
		_, err := Read(directory)
		assert.ErrorContains(t, err, want)
		assert.ErrorContains(t, err, file)
	}
	_, err := Read(t.TempDir())
	assert.ErrorContains(t, err, "no TAU profiles: expected files such as profile.0.0.0")
}

func FuzzRead(f *testing.F) {
	for _, file := range []string{"testdata/depth/profile.0.0.0", "testdata/flat/profile.0.0.0", "testdata/written.txt"} {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Parse("f", bytes.NewReader(data))
		if err != nil {
			return
		}
		var text bytes.Buffer
		if err := file.Write(&text); err != nil {
			t.Fatal(err)
		}
		again, err := Parse("again", &text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text.String())
		}
		for i, timer := range file.Timers {
			if !slices.Equal(timer.Path, again.Timers[i].Path) {
				t.Fatalf("%q became %q", timer.Path, again.Timers[i].Path)
			}
		}
		directory := t.TempDir()
		if err := os.WriteFile(filepath.Join(directory, "profile.0.0.0"), data, 0o666); err != nil {
			t.Fatal(err)
		}
		if r, err := Read(directory); err == nil {
			r.Findings = diagnosis.Find(r)
			report.Text(r, directory)
			if err := Write(r, t.TempDir()); err != nil && !strings.Contains(err.Error(), "deeper") && !strings.Contains(err.Error(), "would be") {
				t.Fatal(err)
			}
		}
	})
}

const oneSnapshot = `<?xml version="1.0"?><profile_xml>
<thread id="0.0.0.0" node="0" context="0" thread="0"><metadata><attribute><name>Executable</name><value>a</value></attribute></metadata></thread>
<definitions thread="*"><metric id="0"><name>TIME</name></metric><metric id="1"><name>CPU_TIME</name></metric>
<event id="0"><name>main</name><group>TAU_USER</group></event><event id="1"><name>main =&gt; MPI_Send()</name><group>MPI|TAU_CALLPATH</group></event>
<userevent id="0"><name>residual</name></userevent></definitions>
<profile thread="0.0.0.0"><interval_data metrics="0 1">
0 1 1 10 30 9 20
1 2 0 20 20 11 11
</interval_data><atomic_data>
0 2 -5.5 -8.5 -7 102.5
</atomic_data></profile></profile_xml>`

// Broken snapshots are refused in one line, which names the file.
func TestBrokenSnapshots(t *testing.T) {
	_, err := parseSnapshots("f", strings.NewReader(oneSnapshot))
	require.NoError(t, err)
	for was, is := range map[string]string{
		`<event id="0">`:                 `<event id="99999999999999999999">`,
		`<metric id="0">`:                `<metric id="x">`,
		`</interval_data>`:               ``,
		`1 2 0 20 20 11 11`:              `1 2 0 20 20 11 1e999`,
		`metrics="0 1"`:                  `metrics="` + strings.Repeat("0 ", 1000) + `"`,
		`</atomic_data></profile></prof`: ``,
		`node="0"`:                       `node="-1"`,
		`</metadata>`:                    `&unknown;</metadata>`,
	} {
		require.Contains(t, oneSnapshot, was)
		_, err := parseSnapshots("f", strings.NewReader(strings.Replace(oneSnapshot, was, is, 1)))
		if assert.Error(t, err, is) {
			assert.Regexp(t, `^f:\d+: [^\n]*$`, err.Error())
			assert.Less(t, len(err.Error()), 300)
		}
	}
}

func FuzzSnapshot(f *testing.F) {
	f.Add([]byte(oneSnapshot))
	f.Add([]byte(oneSnapshot + "\x00" + oneSnapshot))
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := parseSnapshots("f", bytes.NewReader(data)); err != nil {
			if text := err.Error(); !strings.HasPrefix(text, "f:") || strings.Contains(text, "\n") || len(text) > 1000 {
				t.Fatalf("%q", text)
			}
		}
	})
}

// What TAU has counted of messages goes out as it came in.
func TestMessageSizesComeBack(t *testing.T) {
	const events = `"Message size sent to all nodes" 3 4000 8 1400 5880000
"Message size sent to node 1" 3 4000 8 1400 5880000
"Message size received from node 1" 2 64 64 64 8192
`
	in, out := t.TempDir(), filepath.Join(t.TempDir(), "out")
	require.NoError(t, os.Mkdir(out, 0o777))
	for rank, events := range []string{events, ""} {
		text := "1 templated_functions_MULTI_TIME\n# Name Calls Subrs Excl Incl ProfileCalls # <metadata></metadata>\n" +
			"\".TAU application\" 1 0 5000 5000 0 GROUP=\"TAU_DEFAULT\"\n0 aggregates\n"
		if events != "" {
			text += "3 userevents\n# eventname numevents max min mean sumsqr\n" + events
		}
		require.NoError(t, os.WriteFile(filepath.Join(in, fmt.Sprintf("profile.%d.0.0", rank)), []byte(text), 0o666))
	}
	r, err := Read(in)
	require.NoError(t, err)
	require.NoError(t, Write(r, out))
	written, err := os.ReadFile(filepath.Join(out, "profile.0.0.0"))
	require.NoError(t, err)
	for _, line := range strings.Split(strings.TrimSpace(events), "\n") {
		assert.Contains(t, string(written), line)
	}
}
