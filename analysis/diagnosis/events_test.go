package diagnosis

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"marple/analysis/analysistest"
	"marple/analysis/knowledge"
	"marple/analysis/pattern"
	"marple/analysis/run"
)

// scripted is a sequence of events per rank. Paths are numbered as in ids.
type scripted struct {
	ids   []string
	ranks [][]Event
}

func (s *scripted) Node(path uint32) string         { return s.ids[path] }
func (s *scripted) Communicator(comm uint16) string { return []string{"world", "row"}[comm] }
func (s *scripted) Replay(rank int, visit func(*Event)) (begin, end uint64, err error) {
	for i := range s.ranks[rank] {
		visit(&s.ranks[rank][i])
		end = max(end, s.ranks[rank][i].Start+s.ranks[rank][i].Duration)
	}
	return 0, end, nil
}

// load reads knowledge from a text.
func load(t require.TestingT, text string) *knowledge.Knowledge {
	k, err := knowledge.Library{}.Read("test.yaml", []byte(text))
	require.NoError(t, err)
	return k
}

// parts is a run on two ranks with calls and computation inside and outside a region, and the IDs of its call paths by
// what they are.
func parts() (*run.Run, map[string]string) {
	r := analysistest.Run(2, 2, func(r *rank) {
		r.Compute(100_000)
		r.Region("solve", func() { r.Compute(10_000); r.Send(1, 1-r.Rank, 8, 1000); r.Compute(10_000) })
		r.Recv(2, 1-r.Rank, 8, 5000)
		r.Compute(20_000)
		r.Barrier(3, 1000)
	})
	ids := map[string]string{}
	r.Root().Walk(func(n *run.Node, _ int) bool {
		ids[n.Name] = n.ID
		return true
	})
	return r, ids
}

const partsModel = `
model: parts
components:
  solve: {match: {region: solve}}
  receive: {match: {op: recv, tag: "7"}}
  other: {match: {op: recv}}
  row: {match: {op: barrier, communicator: row}}
  work: {match: {computation: any}}
events:
  step: solve receive work?
  rows: row
metrics:
  steps: {value: instances(step), unit: count}
  length: {value: duration(step), unit: s}
  solving: {value: "time(solve, step)", unit: s}
  fit: {value: fitting(step), unit: share}
  before: {value: max(head(step)), unit: s}
  after: {value: max(tail(step)), unit: s}
  row_count: {value: instances(rows), unit: count}
`

// metrics gives the values of a model's metrics on a run.
func metrics(t *testing.T, r *run.Run, events Events, k *knowledge.Knowledge) map[string]float64 {
	d := newData(r)
	d.events = events
	g, err := apply(d, k, nil)
	require.NoError(t, err)
	out := map[string]float64{}
	for _, m := range k.Scopes[0].Model.Metrics {
		v, err := g.evaluators[k.Scopes[0]].metric(m.Name, "")
		require.NoError(t, err, m.Name)
		out[m.Name] = knowledge.Float(v)
	}
	return out
}

func TestEventsAreFittedIntoAbstractEvents(t *testing.T) {
	r, ids := parts()
	s := &scripted{ids: []string{
		ids["between the start and main"],
		ids["between the start of solve and MPI_Send (main.c:1)"], ids["MPI_Send"],
		ids["between MPI_Send (main.c:1) and the end of solve"],
		ids["MPI_Recv"], ids["between MPI_Recv (main.c:2) and MPI_Barrier (main.c:3)"], ids["MPI_Barrier"],
	}}
	for _, id := range s.ids {
		require.NotEmpty(t, id)
	}
	us := uint64(1000)
	one := []Event{
		{Path: 0, Start: 0, Duration: 100 * us},              // work, before the first step
		{Path: 1, Start: 100 * us, Duration: 10 * us},        // solve: three events, one component
		{Path: 2, Start: 110 * us, Duration: us},             //
		{Path: 3, Start: 111 * us, Duration: 10 * us},        //
		{Path: 5, Start: 121 * us, Duration: us},             // too short to be work
		{Path: 4, Start: 122 * us, Duration: 5 * us, Tag: 7}, // receive
		{Path: 5, Start: 127 * us, Duration: 20 * us},        // work
		{Path: 1, Start: 147 * us, Duration: 10 * us},        // solve
		{Path: 4, Start: 157 * us, Duration: 5 * us, Tag: 8}, // another tag
		{Path: 6, Start: 162 * us, Duration: us, Comm: 1},    // a row
		{Path: 6, Start: 163 * us, Duration: us, Comm: 0},    // no row
		{Path: 5, Start: 164 * us, Duration: 20 * us},        // work, of no step
	}
	s.ranks = [][]Event{one, one}
	got := metrics(t, r, s, load(t, partsModel))
	require.InDelta(t, 2, got["steps"], 0)
	require.InDelta(t, 2*47e-6, got["length"], 1e-12)
	require.InDelta(t, 2*21e-6, got["solving"], 1e-12)
	// Of six events of solve, receive and work three are in the step: the first work, the second solve and the last
	// work are not.
	require.InDelta(t, 0.5, got["fit"], 1e-12)
	require.InDelta(t, 100e-6, got["before"], 1e-12)
	require.InDelta(t, 37e-6, got["after"], 1e-12)
	require.InDelta(t, 2, got["row_count"], 0)
}

func TestWithoutEventsMetricsOfEventsAreUnknown(t *testing.T) {
	r, _ := parts()
	result, err := Diagnose(r, nil, Whole(load(t, partsModel+`
levels:
  - {title: sequence, needs: [events]}
factors:
  many-steps: {title: many steps, cost: length, advice: take fewer}
thresholds: {few: 1}
rules:
  - {if: [steps > few], then: many-steps}
`))...)
	require.NoError(t, err)
	require.Equal(t, "unknown", result.Models[0].Conclusions[0].Verdict)
	require.Equal(t, []string{"events"}, result.Models[0].Levels[0].Missing)
	require.Equal(t, "events", result.Requests[0].Measurement)
	require.Equal(t, []string{"many-steps"}, result.Requests[0].For)
}

// What an event costs: where its path says which component it belongs to, and where its tag has to be looked at.
func BenchmarkRecognizer(b *testing.B) {
	b.Run("by path", func(b *testing.B) { benchmarkRecognizer(b, "op: recv") })
	b.Run("by tag", func(b *testing.B) { benchmarkRecognizer(b, `op: recv, tag: "7"`) })
}

func benchmarkRecognizer(b *testing.B, receive string) {
	r, ids := parts()
	s := &scripted{ids: []string{ids["between the start of solve and MPI_Send (main.c:1)"], ids["MPI_Send"], ids["MPI_Recv"],
		ids["between MPI_Recv (main.c:2) and MPI_Barrier (main.c:3)"]}}
	d := newData(r)
	d.events = s
	k := load(b, strings.Replace(partsModel, `op: recv, tag: "7"`, receive, 1))
	g, err := apply(d, k, nil)
	require.NoError(b, err)
	c := g.evaluators[k.Scopes[0]].context
	count := 0
	e := k.Scopes[0].Model.Event("step")
	machine, err := pattern.Compile(e.Is, symbols(e))
	require.NoError(b, err)
	rec := c.newRecognizer(0, symbols(e), machine, func(*pattern.Instance) { count++ })
	stream := []Event{{Path: 0, Duration: 10_000}, {Path: 1, Duration: 1000}, {Path: 0, Duration: 10_000}, {Path: 2, Duration: 5000, Tag: 7}, {Path: 3, Duration: 20_000}}
	i := 0
	for b.Loop() {
		rec.feed(&stream[i])
		if i++; i == len(stream) {
			i = 0
		}
	}
	require.True(b, b.N < 100 || count > 0)
}

func TestExtensionsFitAModelToAProgram(t *testing.T) {
	directory := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(directory, "parts.yaml"), []byte(partsModel), 0o666))
	k, err := knowledge.Library{Directory: directory}.Read("mine.yaml", []byte("extends: parts\nmatch:\n  solve: {function: main}\n"))
	require.NoError(t, err)
	require.Equal(t, knowledge.Glob("main"), k.Scopes[0].Model.Component("solve").Match[0].Function[0])
}
