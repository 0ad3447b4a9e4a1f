package otf2

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"marple/analysis/analysistest"
	"marple/analysis/knowledge"
	"marple/analysis/pipeline"
	"marple/analysis/run"
)

// definitions of two ranks on two hosts, with a clock of 2 GHz that began at 1000, as Score-P has them; rank 1 has a second thread.
const definitions = `t 2000000000 1000 9000000 1700000000000000000
s 0 0:
s 1 7:machine
s 2 4:node
s 3 2:n1
s 4 2:n2
s 5 5:rank0
s 6 5:rank1
s 7 6:thread
s 8 4:main
s 9 5:solve
s 10 9:MPI_Init 
s 11 9:MPI_Isend
s 12 9:MPI_Irecv
s 13 11:MPI_Waitall
s 14 13:MPI_Allreduce
s 15 12:MPI_Finalize
s 16 14:MPI_COMM_WORLD
s 17 8:MPI_Recv
s 18 8:MPI_Send
n 0 1 1 4294967295
n 1 3 2 0
n 2 4 2 0
g 7 5 1
g 8 6 2
r 0 8 0
r 1 9 0
r 2 10 1
r 3 11 1
r 4 12 1
r 5 13 1
r 6 14 1
r 7 15 1
r 8 17 1
r 9 18 1
o 0 7 7 99
o 1 7 8 99
o 4294967297 7 8 4
p 0 0 1 2 0 1
p 1 0 0 2 0 1
c 0 16 1
`

// lines has times in µs after the clock's beginning.
func lines(format string, times ...int) string {
	var list []any
	for _, t := range times {
		list = append(list, 1000+2000*t)
	}
	return fmt.Sprintf(format, list...)
}

// exchange is a rank that computes for so many µs, sends to the other one and receives from it, and waits until both are done.
func exchange(location, other, compute, arrives int) string {
	start := 100 + compute
	return fmt.Sprintf("k 2\nl %d\n", location) +
		lines("E %d 0\nE %d 2\nL %d 2\nE %d 1\n", 0, 10, 100, 100) +
		lines("E %d 4\nP %d 2\nL %d 4\n", start, start, start+1) +
		lines("E %d 3\nI %d "+fmt.Sprint(other)+" 0 5 800 1\nL %d 3\n", start+1, start+1, start+2) +
		lines("E %d 5\nJ %d 1\nQ %d "+fmt.Sprint(other)+" 0 5 800 2\nL %d 5\n", start+2, arrives, arrives, arrives) +
		lines("E %d 6\nC %d\nD %d 4 0 4294967295 8 8\nL %d 6\n", arrives, arrives, arrives+10, arrives+10) +
		lines("L %d 1\nE %d 7\nL %d 7\nL %d 0\n", arrives+10, arrives+10, arrives+20, arrives+25)
}

// kept makes a run of what is said of a trace.
func kept(t testing.TB, text string) (*run.Run, Left, error) {
	t.Helper()
	directory := t.TempDir()
	raw := filepath.Join(directory, run.RawDir)
	require.NoError(t, os.Mkdir(raw, 0o777))
	left, err := read(strings.NewReader(text), source{name: "app"}, func(t *trace, process uint64) (*writer, error) { return t.writer(process, raw) },
		func(w *writer) error { return w.keep(raw) })
	if err != nil {
		return nil, left, err
	}
	r, problems, err := pipeline.Recover(analysistest.In(directory), 0, knowledge.Library{})
	require.NoError(t, err)
	require.Empty(t, problems)
	return r, left, nil
}

// Rank 0 waits 399 µs of 525 for rank 1, which computes so much longer, in a region of the program's.
func TestWaitsOfATrace(t *testing.T) {
	const late = 500 + 100
	r, left, err := kept(t, definitions+exchange(0, 1, 100, late+5)+exchange(1, 0, 500, late+5)+
		"l 4294967297\n"+lines("E %d 1\nL %d 1\n", 120, 200)+"u 3\n.\n")
	require.NoError(t, err)
	assert.Equal(t, Left{Untold: 3, Silent: 1, Early: 5}, left, "of each rank, main's beginning and its end")
	assert.Equal(t, 2, r.Ranks)
	assert.Equal(t, "app", r.Program)
	require.Len(t, r.Hosts, 2)
	assert.Equal(t, "n1", r.Hosts[0].Name)
	assert.EqualValues(t, 525_000, r.WallNs, "from the end of MPI_Init to that of MPI_Finalize")
	require.NotNil(t, r.Waits)
	require.Equal(t, "late-sender", r.Waits.Patterns[0].Pattern)
	assert.EqualValues(t, 399_000, r.Waits.Patterns[0].Ns, "from MPI_Waitall of rank 0 to MPI_Isend of rank 1")
	for _, f := range r.Functions {
		if f.Name == "MPI_Isend" {
			assert.EqualValues(t, []uint64{2, 1600}, []uint64{f.Calls, f.Out})
		}
	}
	for _, b := range r.PerRank {
		assert.EqualValues(t, []uint64{1, 1, 800}, []uint64{b.Sent, b.Received, b.ReceivedBytes})
	}
	names := map[string]bool{}
	r.Root().Walk(func(n *run.Node, _ int) bool { names[n.Name] = true; return true })
	assert.True(t, names["main"] && names["solve"], "%v", names)
	assert.Empty(t, r.NotSeen)
}

func TestTracesThatCannotBeRead(t *testing.T) {
	rank0, rank1 := exchange(0, 1, 100, 205), exchange(1, 0, 100, 205)
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", "it ends too early"},
		{"no MPI", "t 1 0 0 0\n.\n", "there is no MPI in this trace"},
		{"no dot", definitions + rank0 + rank1, "it ends too early"},
		{"a rank is missing", definitions + rank0 + ".\n", "nothing is told of rank 1"},
		{"twice", definitions + rank0 + rank1 + "l 0\n.\n", "the locations of process 7 are not told one after the other"},
		{"an unknown location", definitions + "l 9\n", "events of location 9, of which nothing is said"},
		{"an unknown rank", strings.Replace(definitions, "p 0 0 1 2 0 1", "p 0 0 1 2 0 9", 1) + rank0, "a rank at location 9"},
		{"one process twice", strings.Replace(definitions, "p 0 0 1 2 0 1", "p 0 0 1 3 0 1 0", 1) + rank0, "process 7 is two ranks"},
		{"left too often", definitions + "l 0\n" + lines("L %d 0\n", 1), "main is left, and was not entered"},
		{"out of order", definitions + "l 0\n" + lines("E %d 2\nL %d 2\nE %d 8\nL %d 0\n", 1, 2, 3, 4), "main is left in the middle of MPI_Recv"},
		{"no clock", "t 0 0 0 0\n", "a clock that does not tick"},
		{"no number", "t x\n", "expected a number"},
		{"a number too large", "t 99999999999999999999999 0 0 0\n", "expected a number"},
		{"a text too long", "s 0 99999999:x\n", "expected a text of reasonable length"},
		{"a definition that is none", "z 1\n", "unknown definition 'z'"},
		{"an event that is none", definitions + "l 0\nZ 1\n", "unknown event 'Z'"},
		{"too many members", "p 0 0 1 99999999999 1\n", "the groups have too many members"},
	} {
		_, _, err := kept(t, c.text)
		assert.ErrorContains(t, err, c.want, c.name)
	}
}

// A trace that ends within a call is one of a rank that did not come back from it.
func TestTraceThatEndsInACall(t *testing.T) {
	rank1 := "k 2\nl 1\n" + lines("E %d 0\nE %d 2\nL %d 2\nE %d 8\n", 0, 10, 100, 150)
	r, _, err := kept(t, definitions+exchange(0, 1, 100, 605)+rank1+".\n")
	require.NoError(t, err)
	assert.Equal(t, []string{"finalized", "vanished"}, []string{r.PerRank[0].Ended, r.PerRank[1].Ended})
	require.NotEmpty(t, r.Stuck)
	assert.Equal(t, "MPI_Recv", r.Stuck[0].Call)
	assert.EqualValues(t, 1, r.Stuck[0].Rank)
	finalize := "k 2\nl 1\n" + lines("E %d 0\nE %d 2\nL %d 2\nE %d 7\n", 0, 10, 100, 150)
	r, _, err = kept(t, definitions+exchange(0, 1, 100, 605)+finalize+".\n")
	require.NoError(t, err)
	assert.Equal(t, "finalized", r.PerRank[1].Ended, "the tool wrote its trace there")
}

// What a trace does not tell is told of it, and keeps sure statements on waits away.
func TestWhatATraceDoesNotTell(t *testing.T) {
	rank0 := strings.Replace(exchange(0, 1, 100, 605), "k 2", "k 0", 1)
	rank1 := "k 0\nl 1\n" + lines("E %d 0\nE %d 2\nL %d 2\n", 0, 10, 100) + lines("M %d 0\nM %d 1\n", 200, 210) +
		lines("B %d %d\n", 220, 240) + lines("R %d 0 0 5 8\n", 250) + lines("E %d 7\nL %d 7\n", 300, 310)
	text := strings.Replace(definitions, "1700000000000000000", "18446744073709551615", 1) + rank0 + rank1 + "u 1\n.\n"
	_, left, err := kept(t, text)
	require.NoError(t, err)
	ids := map[string]uint64{}
	for _, n := range left.Notes() {
		ids[n.ID] = n.Count
	}
	assert.Equal(t, map[string]uint64{"trace-paused": 10_000, "trace-flushed": 20_000, "trace-messages": 1, "trace-clocks": 2,
		"trace-untold": 1, "trace-undated": 1}, ids)
	written := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	_, err = read(strings.NewReader(text), source{"app", written}, func(x *trace, process uint64) (*writer, error) {
		assert.EqualValues(t, written.UnixNano(), x.realtime)
		return x.writer(process, "")
	}, func(*writer) error { return nil })
	require.NoError(t, err)
}

func TestAnchor(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "a[1]")
	require.NoError(t, os.MkdirAll(directory, 0o777))
	_, err := Anchor(directory)
	assert.ErrorContains(t, err, "expected one file *.otf2 there, as of an OTF2 archive, not 0")
	anchor := filepath.Join(directory, "traces.otf2")
	require.NoError(t, os.WriteFile(anchor, nil, 0o666))
	found, err := Anchor(directory)
	require.NoError(t, err)
	assert.Equal(t, anchor, found)
}

// Whatever is said, it is read or refused, and what is read is a run.
func FuzzRead(f *testing.F) {
	f.Add(definitions + exchange(0, 1, 100, 605) + exchange(1, 0, 500, 605) + ".\n")
	f.Add(definitions + "l 0\n" + lines("E %d 9\nS %d 1 0 1 8\nL %d 9\n", 1, 1, 2) + "l 1\n" + lines("E %d 8\nR %d 0 0 1 8\nL %d 8\n", 1, 1, 2) + "u 0\n.\n")
	f.Add("t 1000000000 0 0 0\ns 0 3:a\nb\n")
	f.Fuzz(func(t *testing.T, text string) {
		_, _ = read(strings.NewReader(text), source{name: "app"}, func(t *trace, process uint64) (*writer, error) {
			if len(t.world) > 4 { // each takes some MiB
				return nil, os.ErrInvalid
			}
			return t.writer(process, "")
		}, func(w *writer) error {
			_, err := w.Process(w.end)
			return err
		})
	})
}
