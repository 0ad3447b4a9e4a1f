package e2e

import (
	"marple/test/harness"

	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"marple/analysis/export"
	"marple/analysis/pipeline"
	"marple/analysis/run"
)

// Runs of real programs in every format, and as far as there are tools that read them here, read by those.
func TestExports(t *testing.T) {
	t.Parallel()
	otf2(t)
	count := func(text, record string) int {
		return len(regexp.MustCompile(`(?m)^`+record+` `).FindAllString(text, -1))
	}
	harness.Each(t, func(t *testing.T, mpi *harness.Library) {
		directory := t.TempDir()
		program := mpi.Compile(t, "heat", "-lm")
		got := harness.Command{Directory: directory}.Run(t, mpi.Launch(2, harness.Artifact(t, "marple"), "exec", "--trace", "100", "--out", "run", program)...)
		require.Zero(t, got.Code, got.Stderr)
		r, err := run.Read(filepath.Join(directory, "run"))
		require.NoError(t, err)
		for _, f := range export.Formats {
			if f.Several() {
				continue
			}
			got := harness.Command{Directory: directory}.Run(t, harness.Artifact(t, "marple"), "export", "--to", f.Name, "-o", f.Name, "run")
			require.Zero(t, got.Code, "%s: %s", f.Name, got.Stderr)
		}

		got = harness.Command{Directory: directory}.Run(t, "go", "tool", "pprof", "-top", "-nodecount", "1000", "pprof")
		require.Zero(t, got.Code, got.Stderr)
		assert.Regexp(t, `(?m) MPI_Allreduce$`, got.Stdout)

		again, err := pipeline.Open(filepath.Join(directory, "tau"))
		require.NoError(t, err)
		assert.Equal(t, r.Core, again.Core)
		assert.Equal(t, r.Efficiency.Parallel, again.Efficiency.Parallel)
		assert.Equal(t, r.Efficiency.LoadBalance, again.Efficiency.LoadBalance)
		for i := range r.Peers {
			p := &r.Peers[i] // the order of messages is not in a profile
			p.OnwardNs, p.BackNs, p.Turns, p.Rounds, p.Alone = 0, 0, 0, 0, 0
		}
		assert.Equal(t, r.Peers, again.Peers)

		got = harness.Command{Directory: directory}.Run(t, "otf2-print", "--show-all", "otf2/traces.otf2")
		require.Zero(t, got.Code, got.Stderr)
		require.Empty(t, got.Stderr)
		sent, calls := 0, 0
		for _, b := range r.PerRank {
			sent += int(b.Sent)
		}
		for _, f := range r.Functions {
			calls += int(f.Calls)
			if f.Name == "MPI_Allreduce" {
				assert.Equal(t, int(f.Calls), count(got.Stdout, "MPI_COLLECTIVE_END"))
			}
		}
		assert.Equal(t, sent, count(got.Stdout, "MPI_SEND")+count(got.Stdout, "MPI_ISEND"))
		assert.Equal(t, sent, count(got.Stdout, "MPI_RECV")+count(got.Stdout, "MPI_IRECV"))
		for _, record := range []string{"ENTER", "LEAVE"} {
			assert.Len(t, regexp.MustCompile(`(?m)^`+record+` .* "MPI_`).FindAllString(got.Stdout, -1), calls, record)
			assert.Len(t, regexp.MustCompile(`(?m)^`+record+` .* "main" `).FindAllString(got.Stdout, -1), r.Ranks, record)
		}
		assert.Equal(t, sent, count(got.Stdout, "METRIC"), "the bytes sent, at each message")
		assert.Contains(t, got.Stdout, `"MPI_COMM_WORLD"`)

		// Nobody is told of a trace that is not whole.
		require.NoError(t, os.Truncate(filepath.Join(directory, "run/raw/rank-000001.mrl.0.log"), 20))
		got = harness.Command{Directory: directory}.Run(t, harness.Artifact(t, "marple"), "export", "--to", "otf2", "-o", "half", "run")
		assert.Equal(t, 1, got.Code)
		assert.Contains(t, got.Stderr, "damaged log")
		list, err := filepath.Glob(filepath.Join(directory, "*half*"))
		require.NoError(t, err)
		assert.Empty(t, list)
	})
}

// speedscope itself, which test/setup.sh installs where it can, opens what it says it opens, and shows the time of a function.
func TestExportsInSpeedscope(t *testing.T) {
	t.Parallel()
	application := filepath.Join(harness.Top, "build", "node", "node_modules", "speedscope", "dist", "release", "index.html")
	if _, err := os.Stat(application); err != nil {
		harness.Missing(t, "speedscope")
	}
	c := harness.Command{Directory: t.TempDir()}
	got := c.Run(t, harness.Mock.Tool("mpirun"), "-n", "2", "--virtual", harness.Artifact(t, "marple"), "exec", "--clock", "external", "--trace", "10", "--out", "run", "--report", "none",
		harness.Mock.Compile(t, "waits"), "late-sender", "200")
	require.Zero(t, got.Code, got.Stderr)
	r, err := run.Read(filepath.Join(c.Directory, "run"))
	require.NoError(t, err)
	of := map[int32]uint64{} // time of MPI_Recv by rank
	for _, root := range r.CallGraph {
		root.Walk(func(n *run.Node, _ int) bool {
			for _, s := range n.PerRank {
				if n.Name == "MPI_Recv" {
					of[s.Rank] += s.Exclusive
				}
			}
			return true
		})
	}
	require.NotZero(t, of[0])
	b := openBrowser(t, "--enable-unsafe-swiftshader")
	for _, x := range []struct {
		format, file string
		ns           uint64
	}{{"speedscope", "run.speedscope.json", of[0]}, {"pprof", "run.pb.gz", of[0] + of[1]}, {"chrome", "run.trace.json", of[0]}} {
		got := c.Run(t, harness.Artifact(t, "marple"), "export", "--to", x.format, "-o", x.file, "run")
		require.Zero(t, got.Code, got.Stderr)
		data, err := os.ReadFile(filepath.Join(c.Directory, x.file))
		require.NoError(t, err)
		load := filepath.Join(c.Directory, x.format+".js")
		text := fmt.Sprintf("speedscope.loadFileFromBase64(%q, %q)", x.file, base64.StdEncoding.EncodeToString(data))
		require.NoError(t, os.WriteFile(load, []byte(text), 0o666))
		b.open("about:blank")
		b.open("file://" + application + "#localProfilePath=" + load)
		table := b.do(`(async () => { for (;;) {
			const view = [...document.querySelectorAll('div')].find(x => !x.children.length && x.textContent === 'Sandwich') || [...document.querySelectorAll('div')].find(x => x.textContent.endsWith('Sandwich') && x.textContent.length < 12)
			if (view) view.click()
			if (document.body.innerText.includes('Symbol Name') && document.body.innerText.includes('MPI_Recv')) break
			await new Promise(done => setTimeout(done, 50))
		} return document.body.innerText })()`)
		shown := fmt.Sprintf("%.2fms", float64(x.ns)/1e6)
		if x.ns >= 1e9 {
			shown = fmt.Sprintf("%.2fs", float64(x.ns)/1e9)
		}
		assert.Regexp(t, regexp.QuoteMeta(shown)+` \([<>]?[\d.]+%\)\s+MPI_Recv\b`, table, x.format)
	}
}

// otf2 is what the tests of OTF2 need.
func otf2(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("otf2-print"); err != nil {
		harness.Missing(t, "otf2-print")
	}
	if _, err := os.Stat(filepath.Join(harness.Build, "marple-otf2")); err != nil {
		harness.Missing(t, "the library of OTF2")
	}
	harness.Artifact(t, "marple-otf2")
}

// Every MPI function there is, and what a program may do with requests and communicators.
func TestOTF2OfEverything(t *testing.T) {
	t.Parallel()
	otf2(t)
	harness.Mock.Need(t)
	directory := t.TempDir()
	program := everythingWith(harness.Mock, t)
	got := harness.Command{Directory: directory}.Run(t, harness.Mock.Launch(everythingRanks, harness.Artifact(t, "marple"), "exec", "--trace", "100", "--out", "run", program, directory)...)
	require.Zero(t, got.Code, got.Stderr)
	got = harness.Command{Directory: directory}.Run(t, harness.Artifact(t, "marple"), "export", "--to", "otf2", "-o", "trace", "run")
	require.Zero(t, got.Code, got.Stderr)
	got = harness.Command{Directory: directory}.Run(t, "otf2-print", "--show-all", "trace/traces.otf2")
	require.Zero(t, got.Code, got.Stderr)
	require.Empty(t, got.Stderr)
	assert.Equal(t, strings.Count(got.Stdout, "\nENTER "), strings.Count(got.Stdout, "\nLEAVE "))
	assert.Equal(t, strings.Count(got.Stdout, "\nMPI_COLLECTIVE_BEGIN "), strings.Count(got.Stdout, "\nMPI_COLLECTIVE_END "))
	const failed = 2 // per rank: errors.c receives them into too small a buffer
	count := func(kinds ...string) (n int) {
		for _, kind := range kinds {
			n += strings.Count(got.Stdout, "\n"+kind+" ")
		}
		return n
	}
	assert.Equal(t, count("MPI_SEND", "MPI_ISEND"), count("MPI_RECV", "MPI_IRECV")+failed*everythingRanks)
}
