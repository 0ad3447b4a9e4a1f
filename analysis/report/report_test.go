package report

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"marple/analysis/analysistest"
	"marple/analysis/diagnosis"
	"marple/analysis/record"
	"marple/analysis/run"
	"marple/analysis/words"
)

var update = flag.Bool("update", false, "write the golden files anew")

const ms = 1_000_000

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

// slowRank is a run with everything in it that a report shows.
func slowRank() *run.Run {
	r := analysistest.Run(8, 8, func(r *analysistest.Rank) {
		analysistest.Steps(100, func() {
			extra := uint64(0)
			if r.Rank == 3 {
				extra = 9 * ms
			}
			r.Region("assemble", func() {
				r.Compute(10*ms + extra)
				r.Barrier(21, 9*ms-extra+ms/5)
			})
			r.Region("exchange", func() {
				r.Send(40, (r.Rank+1)%8, 4096, ms/10)
				r.Recv(41, (r.Rank+7)%8, 4096, ms/10)
			})
			r.Call(50, "MPI_Allreduce", record.OpNToN, 0, record.Call{Duration: ms / 5, Peer: record.NoPeer, Collective: true, Out: 8, In: 8})
		})
		r.Call(60, "MPI_Bcast", record.OpOneToN, 0, record.Call{Duration: ms, Peer: 0, Collective: true, In: 80})
		r.Call(61, "MPI_Reduce", record.OpNToOne, 0, record.Call{Duration: ms, Peer: 0, Collective: true, Out: 80})
	})
	r.Findings = diagnosis.Find(r)
	r.Loss = run.Account(r)
	return r
}

// lateSender: rank 1 computes longer before it sends to rank 0, for whom ranks 2 and 3 wait at the barrier.
func lateSender() *run.Run {
	r := analysistest.RunWithWaits(4, 4, func(r *analysistest.Rank) {
		analysistest.Steps(10, func() {
			switch r.Rank {
			case 0:
				r.Compute(10 * ms)
				r.Recv(20, 1, 4096, 30*ms)
				r.Barrier(30, ms)
			case 1:
				r.Region("assemble", func() { r.Compute(39 * ms) })
				r.Send(10, 0, 4096, ms)
				r.Barrier(30, ms)
			default:
				r.Compute(11 * ms)
				r.Barrier(30, 30*ms)
			}
		})
	})
	r.Findings = diagnosis.Find(r)
	return r
}

func TestWaits(t *testing.T) {
	r := lateSender()
	golden(t, "waits.txt", WaitsText(r))
	golden(t, "waits-report.txt", Full(r, "marple-app-1"))
	for _, line := range strings.Split(WaitsText(r), "\n") {
		require.LessOrEqual(t, words.Width(line), width)
	}
}

func crowded() *run.Run {
	r := analysistest.Run(4, 2, func(r *analysistest.Rank) {
		analysistest.Steps(50, func() { r.OffCore(10 * ms); r.Barrier(19, 0); r.Compute(10 * ms); r.Barrier(20, ms/10) })
	})
	r.Findings = diagnosis.Find(r)
	return r
}

// crowdedLateSender has a rank that computes long before it sends, and has no core for as long again.
func crowdedLateSender() *run.Run {
	r := analysistest.RunWithWaits(3, 2, func(r *analysistest.Rank) {
		analysistest.Steps(50, func() {
			switch r.Rank {
			case 0:
				r.Compute(2 * ms)
				r.Recv(20, 1, 4096, 38*ms+ms/10)
			case 1:
				r.Compute(20 * ms)
				r.OffCore(20 * ms)
				r.Send(10, 0, 4096, ms/10)
			default:
				r.Compute(20 * ms)
				r.OffCore(20*ms + ms/10)
			}
			r.Barrier(30, 0)
		})
	})
	r.Findings = diagnosis.Find(r)
	return r
}

func TestReports(t *testing.T) {
	silent := analysistest.Run(1, 1, func(r *analysistest.Rank) { r.Compute(5 * ms) })
	broken := slowRank()
	broken.Program = "name\x1b[31m with\nescapes"
	broken.NotSeen = []run.Note{{ID: "a", Text: "one thing"}, {ID: "b", Text: strings.Repeat("a long story ", 20)}, {ID: "c", Text: "3"}, {ID: "d", Text: "4"}}
	for name, c := range map[string]struct {
		r         *run.Run
		directory string
	}{
		"slow-rank": {slowRank(), "/scratch/marple-app-4711"}, "crowded": {crowded(), ""}, "crowded-waits": {crowdedLateSender(), ""},
		"silent": {silent, "marple-app-1"}, "hostile": {broken, "/very/long/" + strings.Repeat("directory/", 12)},
	} {
		t.Run(name, func(t *testing.T) {
			whole, brief := Full(c.r, c.directory), Text(c.r, c.directory)
			golden(t, name+".txt", whole)
			golden(t, name+"-brief.txt", brief)
			require.LessOrEqual(t, strings.Count(whole, "\n"), 48)
			require.LessOrEqual(t, strings.Count(brief, "\n"), 25)
			for _, line := range strings.Split(whole+brief, "\n") {
				require.LessOrEqual(t, words.Width(line), 80, line)
				require.NotContains(t, line, "\x1b")
			}
		})
	}
}

// Whatever is in a run, its report fits; what cannot be left out is cut, and that is said.
func TestLongReports(t *testing.T) {
	r := lateSender()
	r.Findings = append(r.Findings, slowRank().Findings...)
	for i := range r.Findings {
		r.Findings[i].Where = strings.Repeat("in a function with a long name ", 8)
	}
	crowd := crowded()
	r.Conditions, r.Functions, r.CallGraph = crowd.Conditions, slowRank().Functions, slowRank().CallGraph
	for range 12 {
		r.NotSeen = append(r.NotSeen, run.Note{ID: "x", Text: strings.Repeat("a story ", 20)})
		text := Full(r, "marple-app-1")
		require.LessOrEqual(t, strings.Count(text, "\n"), longest, text)
		require.Contains(t, text, "\nDetails      marple-app-1\n")
		require.Contains(t, text, "\n1. ")
		text = Text(r, "marple-app-1")
		require.LessOrEqual(t, strings.Count(text, "\n"), shortest, text)
		require.Contains(t, text, "marple report --full marple-app-1\n")
		require.Contains(t, text, "\n1. ")
		r.Findings = append(r.Findings, r.Findings[0])
	}
	for range longest {
		r.Conditions = append(r.Conditions, run.Note{ID: "y", Text: "There is something about this run"})
	}
	text := Full(r, "marple-app-1")
	require.Equal(t, longest, strings.Count(text, "\n"))
	require.True(t, strings.HasSuffix(text, "\n… more in the details\n"))
	text = Text(r, "marple-app-1")
	require.Equal(t, shortest, strings.Count(text, "\n"))
	require.True(t, strings.HasSuffix(text, "\n… more: marple report --full marple-app-1\n"))
}

// Ranks that lack cores now and then may have problems that nobody can know of.
func TestNothingIsSaidWithoutCores(t *testing.T) {
	r := analysistest.Run(2, 2, func(r *analysistest.Rank) {
		analysistest.Steps(10, func() { r.OffCore(2 * ms); r.Compute(8 * ms); r.Barrier(20, 4*ms) })
	})
	r.Findings = diagnosis.Find(r)
	require.Empty(t, r.Findings)
	require.Contains(t, Full(r, ""), "No significant problem that could be told from the lack of cores.\n")
}

// However many kinds of waiting there are, the first is told.
func TestWaitsOfManyKinds(t *testing.T) {
	r := lateSender()
	r.Waits.Ns = r.Core.Wall / 900
	r.Waits.Patterns = []run.WaitPattern{{Pattern: "late-sender", Ns: r.Core.Wall / 1800, Share: 1. / 1800}, {Pattern: "wait-at-nxn", Ns: r.Core.Wall / 1800, Share: 1. / 1800}}
	require.Contains(t, Full(r, ""), "\nWaiting      Late Sender 0.1 % of all time\n")
}

// What is known of a part of the run only is said so, and not cut.
func TestEfficiencyOfTheFirstPart(t *testing.T) {
	r := lateSender()
	r.Efficiency.Serialization, r.Efficiency.Transfer, r.Efficiency.Replayed = 0.71, 1, 0.009
	require.Contains(t, Full(r, ""), "serialization 71 % × transfer 100 % (of the\n             first 0.9 %)\n")
}

func TestCallGraphs(t *testing.T) {
	r := slowRank()
	golden(t, "callgraph.txt", GraphText(r, GraphOptions{Least: 0.005}))
	golden(t, "callgraph_depth1.txt", GraphText(r, GraphOptions{Depth: 1}))
	golden(t, "callgraph.dot", GraphDOT(r, GraphOptions{Least: 0.02}))
	golden(t, "callgraph-waits.txt", GraphText(lateSender(), GraphOptions{Waits: true}))
	text, err := GraphJSON(r, GraphOptions{Least: 0.3, Depth: 2})
	require.NoError(t, err)
	golden(t, "callgraph.json", text)
}

// A stored run gives the report that the live one gave.
func TestStoredRunsReportTheSame(t *testing.T) {
	r := slowRank()
	data, err := r.Encode()
	require.NoError(t, err)
	again, err := run.Decode(data)
	require.NoError(t, err)
	require.Equal(t, Text(r, "d"), Text(again, "d"))
	require.Equal(t, r.Findings, diagnosis.Find(again))
}

func TestPeakMemory(t *testing.T) {
	r := lateSender()
	for i := range r.PerRank {
		r.PerRank[i].PeakMemory = 64 << 20
	}
	r.PerRank[2].PeakMemory = 96 << 20
	require.Contains(t, Full(r, ""), "\nMemory       at most 72.0 MiB per rank, 96.0 MiB of rank 2; with Marple's own\n")
	r.PerRank[1].PeakMemory = 0
	require.NotContains(t, Full(r, ""), "\nMemory ", "not known of every rank")
}

// A run that cannot be judged tells how it can be: by a command that a shell takes as it stands, however long it is.
func TestHowToMeasureAgain(t *testing.T) {
	r := analysistest.Run(4, 2, func(r *analysistest.Rank) {
		analysistest.Steps(50, func() { r.OffCore(30 * ms); r.Barrier(19, 0); r.Compute(10 * ms); r.Barrier(20, ms/10) })
	})
	long := strings.Repeat("long", 20)
	for _, c := range []struct {
		command []string
		line    string
	}{
		{nil, "mpirun -n 2 marple exec app"},
		{[]string{"./app", "-in", "a file", long, "it's", long, long}, "mpirun -n 2 marple exec ./app -in 'a file' " + long + ` 'it'\''s' ` + long + " " + long},
	} {
		r.Command = c.command
		text := Text(r, "")
		_, told, found := strings.Cut(text, "Run it so:\n")
		require.True(t, found, text)
		words := strings.Fields(strings.ReplaceAll(told[:strings.Index(told, "4 ranks")], "\\\n", " "))
		assert.Equal(t, c.line, strings.Join(words, " "), text)
	}
}
