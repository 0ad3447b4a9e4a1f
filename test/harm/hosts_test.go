// Hosts: programs with peculiarities that a guest in their process might disturb (test/apps/hosts). Each
// checks itself that nothing has changed, run bare and measured; what was measured must be exact all the same.
package harm

import (
	"debug/elf"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"marple/analysis/run"
	"marple/test/harness"
)

const hostRanks = 2

// A host is a way to run one of the programs, and what may be expected of Marple there.
type host struct {
	program, mode string
	environment   []string
	silent        bool     // there is no stderr to print the report on
	says          []string // lines that are to be said, and what else is expected with them
	lost          bool     // there is a report, but no run directory to look at
	strangers     bool     // calls are made on stacks of which nobody knows where they end: their callers stay unknown
	also          func(t testing.TB, r *run.Run)
}

var hosts = []host{
	{program: "signals", mode: "thread-stack"},
	{program: "signals", mode: "thread-stack-beside-own"},
	{program: "signals", mode: "signal-stack"},
	{program: "signals", mode: "own-signal-stack"},
	{program: "signals", mode: "faults"},
	{program: "signals", mode: "faults-on-own-stack"},
	{program: "signals", mode: "faults-beside-batches"},
	{program: "signals", mode: "calls-in-a-handler", strangers: true},
	{program: "signals", mode: "blocked"},

	{program: "floating", mode: "traps"},
	{program: "floating", mode: "all-traps"},
	{program: "floating", mode: "flags"},
	{program: "floating", mode: "rounding"},

	{program: "processes", mode: "forks", also: regions(400)},
	{program: "processes", mode: "forks-after-finalize", also: regions(100)},
	{program: "processes", mode: "forks-beside-threads", also: regions(400)},
	{program: "processes", mode: "starts", also: regions(400)},

	{program: "stacks", mode: "least"},
	{program: "stacks", mode: "tiny"},
	{program: "stacks", mode: "many"},
	{program: "stacks", mode: "fiber", strangers: true},
	{program: "locals", mode: "plain"},

	{program: "limits", mode: "address-space", environment: []string{"LEFT=100"},
		says: []string{"too little address space is left (ulimit -v); marple recover made the report"}},
	{program: "limits", mode: "address-space-before", environment: []string{"LEFT=1500"},
		says: []string{"the address space limit (ulimit -v) leaves less than 2 GB; marple recover made the report"}},
	{program: "limits", mode: "address-space", environment: []string{"LEFT=2100"}},
	{program: "limits", mode: "address-space-before", environment: []string{"LEFT=4000"}},
	{program: "limits", mode: "address-space", environment: []string{"LEFT=3000"}},
	{program: "limits", mode: "addresses-used-up",
		says: []string{"too little address space is left (ulimit -v); marple recover made the report"}},
	{program: "limits", mode: "file-size", lost: true, says: []string{"the run cannot be kept: "}},
	{program: "limits", mode: "file-size-before", says: []string{"File too large; records are kept in memory only"}},
	{program: "limits", mode: "open-files", environment: []string{"LEFT=1"}},
	{program: "limits", mode: "open-files", environment: []string{"LEFT=4"}},

	{program: "descriptors", mode: "same"},
	{program: "descriptors", mode: "nonblocking"},
	{program: "descriptors", mode: "stderr-is-data", silent: true},
	{program: "descriptors", mode: "stderr-closed", silent: true},
	{program: "descriptors", mode: "stderr-unread", silent: true},
	{program: "descriptors", mode: "closes-all"},
	{program: "descriptors", mode: "closes-all-before"},
	{program: "descriptors", mode: "elsewhere"},
	{program: "descriptors", mode: "title"},
}

func (h host) name() string {
	return strings.Join(append([]string{h.program, h.mode}, h.environment...), " ")
}

func TestHosts(t *testing.T) {
	t.Parallel()
	for _, mpi := range []*harness.Library{harness.OpenMPI, harness.Mpich} {
		t.Run(mpi.Name, func(t *testing.T) {
			mpi.Need(t)
			programs := map[string]string{}
			for _, h := range hosts {
				if programs[h.program] == "" {
					programs[h.program] = compileHost(mpi, t, h.program)
				}
				t.Run(h.name(), func(t *testing.T) { h.test(t, mpi, programs[h.program]) })
			}
		})
	}
}

// host builds a program of test/apps/hosts.
func compileHost(m *harness.Library, t testing.TB, program string, arguments ...string) string {
	t.Helper()
	_, err := os.ReadFile(harness.Apps("hosts/host.h")) // see artifact
	require.NoError(t, err)
	return m.Compile(t, filepath.Join("hosts", program), append([]string{"-pthread", "-ldl", "-lm"}, arguments...)...)
}

func (h host) test(t testing.TB, mpi *harness.Library, program string) {
	c := harness.Command{Environment: h.environment, Directory: t.TempDir()}
	if os.Getenv("MARPLE_TEST_LONG") == "1" { // that the program itself is right need not be seen each time
		bare := c.Run(t, mpi.Launch(hostRanks, program, h.mode)...)
		require.Zero(t, bare.Code, "without Marple: %s\n%s", bare.Stdout, bare.Stderr)
		require.Positive(t, steps(t, bare.Stdout))
	}
	directory := filepath.Join(t.TempDir(), "run")
	r := c.Run(t, mpi.Launch(hostRanks, harness.Artifact(t, "marple"), "exec", "--out", directory, program, h.mode)...)
	if _, ranks := ended(r.Stdout); r.Code != 0 || ranks < hostRanks { // not every MPI library survives every host, each time
		const times = 16
		for range times {
			bare := c.Run(t, mpi.Launch(hostRanks, program, h.mode)...)
			if _, ranks := ended(bare.Stdout); bare.Code == r.Code && (r.Code != 0 || ranks < hostRanks) {
				t.Skipf("%s ends it without Marple, too: %d, with %d of %d ranks at their end", mpi.Name, bare.Code, ranks, hostRanks)
			}
		}
	}
	require.Zero(t, r.Code, "%s\n%s", r.Stdout, r.Stderr)
	made := steps(t, r.Stdout)

	said := r.Said()
	assert.Len(t, said, len(h.says), strings.Join(said, "\n"))
	for _, line := range h.says {
		assert.Contains(t, strings.Join(said, "\n"), line)
	}
	assert.Equal(t, !h.silent, r.Reported(), r.Stderr)
	if h.lost {
		assert.Equal(t, []string{"raw"}, harness.Entries(t, directory), "no half-written files")
		return
	}
	measured := harness.ReadRun(t, directory)
	assert.Equal(t, made, harness.Function(measured, "MPI_Sendrecv").Calls)
	known := []string{"other-threads", "waits-thinned", "log-ended"} // threads that go on as long as others take fill any log
	if h.strangers {
		known = append(known, "callers-unknown")
	}
	for _, note := range measured.NotSeen {
		assert.Contains(t, known, note.ID, note.Text)
	}
	if h.also != nil {
		h.also(t, measured)
	}
}

// What the threads that do not call MPI compute, as the program itself accounts for it: not less than its own one, and
// not more than all of them, the MPI library's and Marple's too.
func TestOtherThreads(t *testing.T) {
	t.Parallel()
	harness.EachReal(t, func(t *testing.T, mpi *harness.Library) {
		measured, r, own, all := beside(mpi, t)
		const granularity = 1e-3 // of the clocks, in seconds
		counted := otherCPU(measured)
		assert.GreaterOrEqual(t, counted, own-granularity*hostRanks)
		assert.LessOrEqual(t, counted, all+granularity*hostRanks)
		for _, rank := range measured.PerRank {
			assert.Positive(t, rank.Cores)
			assert.Equal(t, rank.Rank == 0, rank.PeakMemory > measured.PerRank[1].PeakMemory+32<<20, "rank %d: %d bytes", rank.Rank, rank.PeakMemory)
		}
		if _, tell := measured.OtherThreads(); tell {
			assert.Regexp(t, `(?m)^Threads +others than the one that calls MPI computed on \d\.\d\d cores per rank`, r.Stderr)
		}
	})
}

// The MPI library's threads and Marple's compute little.
func TestJudgeOtherThreads(t *testing.T) {
	harness.EachReal(t, func(t *testing.T, mpi *harness.Library) {
		harness.Judge(t, func(t testing.TB) {
			measured, _, own, _ := beside(mpi, t)
			t.Logf("%.3f s by Marple's account, %.3f s by the program's", otherCPU(measured), own)
			assert.InDelta(t, own, otherCPU(measured), 0.05+0.1*own)
			_, tell := measured.OtherThreads()
			assert.True(t, tell, "it is worth telling")
		})
	})
}

// beside runs the program whose other thread computes: for own seconds over all ranks by its own account, of all that
// threads other than the main one have computed.
func beside(m *harness.Library, t testing.TB) (measured *run.Run, r harness.Result, own, all float64) {
	t.Helper()
	measured, r = measuredHost(m, t, harness.Command{}, compileHost(m, t, "beside"), "beside")
	said := regexp.MustCompile(`others ([\d.]+) of ([\d.]+)`).FindAllStringSubmatch(r.Stdout, -1)
	require.Len(t, said, hostRanks, r.Stdout)
	for _, rank := range said {
		for i, sum := range []*float64{&own, &all} {
			seconds, err := strconv.ParseFloat(rank[i+1], 64)
			require.NoError(t, err)
			*sum += seconds
		}
	}
	return measured, r, own, all
}

// otherCPU is what Marple has found of it, in seconds.
func otherCPU(r *run.Run) (sum float64) {
	for _, rank := range r.PerRank {
		sum += float64(rank.OtherCPU) / 1e9
	}
	return sum
}

// steps adds up what the ranks say of themselves: how many calls of MPI_Sendrecv they have made.
func steps(t testing.TB, stdout string) uint64 {
	t.Helper()
	sum, ranks := ended(stdout)
	require.Equal(t, hostRanks, ranks, stdout)
	return sum
}

// ended is that sum, and how many ranks have said so at their end.
func ended(stdout string) (sum uint64, ranks int) {
	words := strings.Fields(strings.ReplaceAll(stdout, "ok", " ok")) // MPICH may join the ranks' lines
	for i := 0; i+1 < len(words); i++ {
		var n uint64
		if k, _ := fmt.Sscan(words[i+1], &n); words[i] == "ok" && k == 1 {
			sum += n
			ranks++
		}
	}
	return sum, ranks
}

// regions expects each rank to have entered region "part" so many times.
func regions(each uint64) func(testing.TB, *run.Run) {
	return func(t testing.TB, r *run.Run) {
		entered := uint64(0)
		for _, root := range r.CallGraph {
			root.Walk(func(n *run.Node, _ int) bool {
				if n.Kind == "region" && n.Name == "part" && n.Calls != nil {
					entered += n.Calls.N
				}
				return true
			})
		}
		assert.Equal(t, each*hostRanks, entered, "entries of region part")
	}
}

// measuredHost runs a host that has no modes, or whose command line is another one, and returns what was measured.
func measuredHost(m *harness.Library, t testing.TB, c harness.Command, program ...string) (*run.Run, harness.Result) {
	t.Helper()
	measured, r := m.Measured(t, c, hostRanks, program)
	require.Zero(t, r.Code, "%s\n%s", r.Stdout, r.Stderr)
	assert.True(t, r.Reported())
	assert.Equal(t, steps(t, r.Stdout), harness.Function(measured, "MPI_Sendrecv").Calls)
	return measured, r
}

// What a program that ends without MPI_Finalize has opened in the place of stderr is its own, too.
func TestDataInThePlaceOfStderr(t *testing.T) {
	t.Parallel()
	harness.EachReal(t, func(t *testing.T, mpi *harness.Library) {
		c := harness.Command{Directory: t.TempDir()}
		r := c.Run(t, harness.Artifact(t, "marple"), "exec", "--out", "run", compileHost(mpi, t, "descriptors"), "stderr-is-data-at-exit")
		require.Zero(t, r.Code, "%s\n%s", r.Stdout, r.Stderr)
		assert.Equal(t, "ok 10000\n", r.Stdout)
		text, err := os.ReadFile(filepath.Join(c.Directory, "data"))
		require.NoError(t, err)
		assert.Equal(t, "data", string(text))
		assert.EqualValues(t, 10000, harness.Function(harness.ReadRun(t, filepath.Join(c.Directory, "run")), "MPI_Sendrecv").Calls)
	})
}

// The figures are computed as if the program had asked for no rounding of its own.
func TestRounding(t *testing.T) {
	t.Parallel()
	program := compileHost(harness.Mock, t, "rounded")
	figures := func(arguments ...string) []byte {
		directory := filepath.Join(t.TempDir(), "run")
		launcher := append([]string{harness.Mock.Tool("mpirun"), "-n", "3", "--virtual", harness.Artifact(t, "marple"), "exec", "--clock", "external", "--out", directory, program},
			arguments...)
		r := harness.Command{}.Run(t, launcher...)
		require.Zero(t, r.Code, r.Stderr)
		measured := harness.ReadRun(t, directory)
		measured.Started = time.Time{}
		for i := range measured.PerRank {
			measured.PerRank[i].PeakMemory = 0
		}
		text, err := measured.Encode()
		require.NoError(t, err)
		return text
	}
	assert.Equal(t, string(figures()), string(figures("up")))
}

func TestHostsThreadLevels(t *testing.T) {
	t.Parallel()
	harness.EachReal(t, func(t *testing.T, mpi *harness.Library) {
		program := compileHost(mpi, t, "plain")
		for level, name := range []string{"single", "funneled", "serialized", "multiple"} {
			measured, _ := measuredHost(mpi, t, harness.Command{}, program, fmt.Sprint(level))
			assert.Equal(t, name, measured.ThreadLevel)
		}
	})
}

// An error is the library's to deal with: Open MPI ends the program, MPICH tells it.
func TestHostsInitTwice(t *testing.T) {
	t.Parallel()
	harness.EachReal(t, func(t *testing.T, mpi *harness.Library) {
		program := compileHost(mpi, t, "twice")
		bare := harness.Command{}.Run(t, mpi.Launch(hostRanks, program)...)
		directory := filepath.Join(t.TempDir(), "run")
		r := harness.Command{}.Run(t, mpi.Launch(hostRanks, harness.Artifact(t, "marple"), "exec", "--out", directory, program)...)
		assert.Equal(t, bare.Code, r.Code)
		assert.Equal(t, lines(bare.Stdout), lines(r.Stdout))
		if bare.Code == 0 {
			assert.Equal(t, steps(t, r.Stdout), harness.Function(harness.ReadRun(t, directory), "MPI_Sendrecv").Calls)
		}
	})
}

// lines counts each line of an output, wherever it stands.
func lines(text string) map[string]int {
	count := map[string]int{}
	for _, line := range strings.Split(text, "\n") {
		count[line]++
	}
	return count
}

// Each world has a run of its own: parents and children, started by hand or by a preloaded launcher.
func TestDynamicProcesses(t *testing.T) {
	t.Parallel()
	harness.EachReal(t, func(t *testing.T, mpi *harness.Library) {
		program := compileHost(mpi, t, "spawn")
		// Where it cannot, Open MPI 5 waits for ever.
		bare := harness.Command{Limit: 5 * time.Minute}.Run(t, mpi.Launch(hostRanks, program, program)...)
		if strings.Contains(bare.Stderr, "Error in spawn call") || bare.Code != 0 {
			t.Log("this MPI cannot start processes, or not now, with or without Marple: there is nothing to compare", bare.Stderr)
			return
		}
		marple, out := harness.Artifact(t, "marple"), filepath.Join(t.TempDir(), "run")
		again := harness.Command{Directory: t.TempDir()}
		for name, r := range map[string]harness.Result{
			"exec": again.Run(t, mpi.Launch(hostRanks, marple, "exec", "--out", out, program, marple, "exec", "--out", out, program)...),
			"preloaded": harness.Command{Directory: filepath.Dir(out), Environment: []string{"LD_PRELOAD=" + harness.Artifact(t, "libmarple.so"),
				"MARPLE_OUT=" + out + "-preloaded"}}.Run(t, mpi.Launch(hostRanks, program, program)...),
		} {
			assert.Zero(t, r.Code, "%s: %s", name, r.Stderr)
			assert.Equal(t, lines(bare.Stdout), lines(r.Stdout), name)
			assert.Empty(t, r.Said(), name)
		}
		for _, directory := range []string{out, out + "-preloaded"} {
			var made []uint64
			for _, world := range []string{directory, directory + "-2"} {
				measured := harness.ReadRun(t, world)
				assert.Equal(t, hostRanks, measured.Measured)
				made = append(made, harness.Function(measured, "MPI_Sendrecv").Calls)
			}
			assert.ElementsMatch(t, []uint64{2 * 10000, 2 * 5000}, made, "parents and children")
		}
	})
}

// Without a world the ranks' records are kept, and merged afterwards.
func TestSessions(t *testing.T) {
	t.Parallel()
	harness.Mpich.Need(t)
	program := compileHost(harness.Mpich, t, "sessions")
	c := harness.Command{Directory: t.TempDir()}
	for round, flags := range [][]string{{"--out", "run"}, {"--out", "run"}, {}} {
		line := append([]string{harness.Artifact(t, "marple"), "exec"}, flags...)
		r := c.Run(t, harness.Mpich.Launch(hostRanks, append(line, program)...)...)
		require.Zero(t, r.Code, r.Stderr)
		require.Empty(t, r.Said(), r.Stderr)
		assert.True(t, r.Reported(), r.Stderr)
		directory := regexp.MustCompile(`(?m)^Details +(\S+)`).FindStringSubmatch(r.Stderr)[1]
		assert.Equal(t, round == 1, strings.HasSuffix(directory, "run-2"), "a directory of its own: %s", directory)
		measured := harness.ReadRun(t, directory)
		assert.Equal(t, hostRanks, measured.Measured)
		assert.Equal(t, steps(t, r.Stdout), harness.Function(measured, "MPI_Sendrecv").Calls)
		for _, rank := range measured.PerRank {
			assert.Equal(t, "finalized", rank.Ended)
		}
		for _, p := range measured.Peers {
			if p.Rank != p.To {
				assert.EqualValues(t, 10, p.Sent)
			}
		}
	}
}

// A plugin's own functions with Fortran's names without an underscore stay its own.
func TestOwnNames(t *testing.T) {
	t.Parallel()
	harness.EachReal(t, func(t *testing.T, mpi *harness.Library) {
		plugin := "PLUGIN=" + compileHost(mpi, t, "names", "-shared", "-fPIC", "-DPLUGIN")
		host{program: "names", mode: "own", environment: []string{plugin}}.test(t, mpi, compileHost(mpi, t, "names"))
	})
}

// Another PMPI tool sees what it sees without Marple, and Marple sees everything, in whatever order they are
// loaded, even if the tool is part of the program.
func TestOtherTools(t *testing.T) {
	t.Parallel()
	harness.EachReal(t, func(t *testing.T, mpi *harness.Library) {
		ours, plain, source := harness.Artifact(t, "libmarple.so"), compileHost(mpi, t, "plain"), harness.Apps("hosts/tool.c")
		tool := compileHost(mpi, t, "tool", "-shared", "-fPIC")
		whole := compileHost(mpi, t, "tool", "-shared", "-fPIC", "-DTOOL_INIT", "-Wl,-z,relro,-z,now")
		for _, c := range []struct {
			name, preload string
			exec          bool
			program       string
		}{
			{"before exec", tool, true, plain},
			{"after", ours + ":" + tool, false, plain},
			{"before", tool + ":" + ours, false, plain},
			{"before, with MPI_Init", whole + ":" + ours, false, plain},
			{"part of the program", ours, false, compileHost(mpi, t, "plain", source)},
			{"part of the program, with MPI_Init", ours, false, compileHost(mpi, t, "plain", source, "-DTOOL_INIT")},
		} {
			t.Run(c.name, func(t *testing.T) {
				directory := filepath.Join(t.TempDir(), "run")
				line := []string{"env", "LD_PRELOAD=" + c.preload, "MARPLE_OUT=" + directory}
				if c.exec {
					line = append(line, harness.Artifact(t, "marple"), "exec")
				}
				r := harness.Command{}.Run(t, mpi.Launch(hostRanks, append(line, c.program)...)...)
				require.Zero(t, r.Code, r.Stderr)
				assert.Empty(t, r.Said())
				assert.Equal(t, hostRanks, strings.Count(r.Stdout, "tool: 10000"), r.Stdout)
				measured := harness.ReadRun(t, directory)
				assert.EqualValues(t, hostRanks*10000, harness.Function(measured, "MPI_Sendrecv").Calls)
				assert.EqualValues(t, hostRanks, harness.Function(measured, "MPI_Finalize").Calls)
			})
		}
		t.Run("never called", func(t *testing.T) { // behind the MPI library, where no call comes
			needed := compileHost(mpi, t, "plain", "-Wl,--no-as-needed", "-l"+strings.TrimPrefix(strings.TrimSuffix(mpi.Shared, ".so"), "lib"),
				"-L"+harness.Build, "-lmarple", "-Wl,-rpath,"+harness.Build)
			r := harness.Command{Directory: t.TempDir()}.Run(t, mpi.Launch(hostRanks, needed)...)
			assert.Zero(t, r.Code)
			assert.Len(t, r.Said(), 1, r.Stderr)
			assert.Contains(t, r.Stderr, "other functions are taken by")
		})
	})
}

// Sanitizers find what they find without Marple: its libraries neither stop them nor leak.
func TestSanitizers(t *testing.T) {
	harness.EachReal(t, func(t *testing.T, mpi *harness.Library) {
		for _, compiler := range []string{"gcc", "clang"} {
			if _, err := exec.LookPath(compiler); err != nil {
				harness.Missing(t, compiler)
			}
			for _, sanitizer := range []string{"address,undefined", "undefined"} {
				t.Run(compiler+" "+sanitizer, func(t *testing.T) {
					t.Setenv("OMPI_CC", compiler)
					t.Setenv("MPICH_CC", compiler)
					program := compileHost(mpi, t, "plain", "-fsanitize="+sanitizer, "-Wno-unknown-warning-option")
					// hwloc looks for devices with libraries of theirs, at some of which clang's sanitizer ends the program, bare.
					c := harness.Command{Directory: t.TempDir(), Environment: []string{"HWLOC_COMPONENTS=-opencl"}}
					bare := c.Run(t, mpi.Launch(hostRanks, program)...)
					r := c.Run(t, mpi.Launch(hostRanks, harness.Artifact(t, "marple"), "exec", "--out", "run", program)...)
					assert.Equal(t, bare.Code, r.Code)
					assert.Equal(t, lines(bare.Stdout), lines(r.Stdout))
					// How many ranks say so before the launcher ends them differs.
					assert.Equal(t, slices.Sorted(maps.Keys(summaries(bare.Stderr))), slices.Sorted(maps.Keys(summaries(r.Stderr))), "what leaks")
					assert.Empty(t, leaks(t, r.Stderr), "what leaks is not ours")
					assert.True(t, r.Reported())
					assert.EqualValues(t, hostRanks*10000, harness.Function(harness.ReadRun(t, filepath.Join(c.Directory, "run")), "MPI_Sendrecv").Calls)
				})
			}
		}
	})
}

// summaries are the last words of the ranks' sanitizers. How much an MPI library leaks differs from run to run, bare: by the
// length of numbers in names, and by a few of some thousand allocations.
func summaries(stderr string) map[string]int {
	found := lines(regexp.MustCompile(`\d+ (byte|allocation)`).ReplaceAllString(stderr, "$1"))
	maps.DeleteFunc(found, func(line string, _ int) bool { return !strings.HasPrefix(line, "SUMMARY: ") })
	return found
}

// leaks returns the lines by which a sanitizer says that Marple's code allocated what leaks. What a library that is
// closed by then has left is told as an offset in whatever file is mapped there now, where there need not be code.
func leaks(t *testing.T, stderr string) []string {
	t.Helper()
	found := regexp.MustCompile(`#1 .* \S*(cshim|pmpi)/\S*:\d+`).FindAllString(stderr, -1)
	for _, m := range regexp.MustCompile(`#1 .*?(/\S*/libmarple\S*\.so)\+(0x[0-9a-f]+)`).FindAllStringSubmatch(stderr, -1) {
		offset, err := strconv.ParseUint(m[2], 0, 64)
		require.NoError(t, err)
		library, err := elf.Open(m[1])
		require.NoError(t, err)
		for _, s := range library.Progs {
			if s.Type == elf.PT_LOAD && s.Flags&elf.PF_X != 0 && offset >= s.Vaddr && offset < s.Vaddr+s.Memsz {
				found = append(found, m[0])
			}
		}
		require.NoError(t, library.Close())
	}
	return found
}

func TestLeaksOfOthersAreNotOurs(t *testing.T) {
	library := harness.Artifact(t, "libmarple.so")
	f, err := elf.Open(library)
	require.NoError(t, err)
	defer f.Close()
	text := f.Section(".text").Addr
	line := func(offset uint64) string { return fmt.Sprintf("    #1 0x7f07ffff2cae  (%s+%#x)", library, offset) }
	assert.Len(t, leaks(t, line(text+8)), 1)
	assert.Len(t, leaks(t, "    #1 0x7f07ffff2cae in mrl_open /src/marple/cshim/log.c:12"), 1)
	assert.Empty(t, leaks(t, line(0x40)+"\n    #1 0x7f02e2914cae  (<unknown module>)"))
}

// Eight threads in MPI at once, and everything they did is counted.
func TestThreads(t *testing.T) {
	t.Parallel()
	harness.EachReal(t, func(t *testing.T, mpi *harness.Library) {
		measured, r := measuredHost(mpi, t, harness.Command{}, compileHost(mpi, t, "threads"), "100000")
		for _, line := range strings.Split(r.Stdout, "\n") {
			name, count, ok := strings.Cut(line, " ")
			if !ok || name == "ok" {
				continue
			}
			n, err := strconv.ParseUint(strings.TrimSpace(count), 10, 64)
			require.NoError(t, err, line)
			if name == "part" {
				regions(n)(t, measured)
			} else {
				assert.Equal(t, hostRanks*n, harness.Function(measured, name).Calls, name)
			}
		}
		for _, note := range measured.NotSeen {
			assert.Contains(t, []string{"other-threads", "callers-unknown", "waits-thinned"}, note.ID, note.Text)
		}
	})
}

// What an application thread could wait for, or share with others.
var waitsOrAllocates = regexp.MustCompile(`^call ((pthread_(mutex|rwlock|spin|cond|barrier|once|create|join)|sem_|flock|lockf|malloc|calloc|realloc|` +
	`free|aligned_alloc|posix_memalign|dlsym|dlopen|fopen|fclose|printf|fprintf|sleep|usleep|nanosleep|sched_yield|poll).*)`)

// While eight threads make MPI calls, and hand over full buffers, the library calls nothing that takes a lock
// or memory; and of short bursts of calls most make no call to anything at all.
func TestNoLockOnTheEventPath(t *testing.T) {
	t.Parallel()
	if runtime.GOARCH != "amd64" {
		t.Skip("the program writes machine code")
	}
	harness.EachReal(t, func(t *testing.T, mpi *harness.Library) {
		r := harness.Command{Directory: t.TempDir()}.Run(t, mpi.Launch(1, harness.Artifact(t, "marple"), "exec", compileHost(mpi, t, "outward"))...)
		require.Zero(t, r.Code, "%s\n%s", r.Stdout, r.Stderr)
		called, mapped := 0, map[string]string{}
		for _, line := range strings.Split(r.Stdout, "\n") {
			assert.NotRegexp(t, waitsOrAllocates, line)
			if words := strings.Fields(line); len(words) == 3 {
				mapped[words[1]] = words[2]
			}
			if strings.HasPrefix(line, "call ") {
				called++
			}
			if quiet, ok := strings.CutPrefix(line, "quiet "); ok {
				n, err := strconv.Atoi(quiet)
				require.NoError(t, err)
				assert.Greater(t, n, 30, "bursts in which nothing was called, of 300")
			}
		}
		assert.Greater(t, called, 5, "the counters do not count")
		assert.Equal(t, mapped["mmap"], mapped["munmap"], "whether there is room is tried when a buffer is handed over, and none is taken")
	})
}

// What cannot be measured runs all the same, and it is said why.
func TestProgramsThatNothingCanBePreloadedInto(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	source := filepath.Join(directory, "p.c")
	require.NoError(t, os.WriteFile(source, []byte(`#include <stdio.h>
#include <sys/auxv.h>
int main(int argc, char **argv) { printf("%s secure %lu\n", argv[argc - 1], getauxval(AT_SECURE)); return 7; }
`), 0o666))
	path := func(name string) string { return filepath.Join(directory, name) }
	cc := func(name string, flags ...string) {
		out, err := exec.Command("gcc", append(flags, "-o", path(name), source)...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	cc("static", "-static")
	cc("static-pie", "-static-pie")
	cc("dynamic")
	cc("privileged")
	require.NoError(t, os.WriteFile(path("script"), []byte("#!"+path("static")+" option\n"), 0o777))
	// exit(7) for i386, the smallest program of another architecture.
	foreign := "\x7fELF\x01\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x03\x00\x01\x00\x00\x00\x54\x80\x04\x08\x34\x00\x00\x00" +
		"\x00\x00\x00\x00\x00\x00\x00\x00\x34\x00\x20\x00\x01\x00\x28\x00\x00\x00\x00\x00" +
		"\x01\x00\x00\x00\x00\x00\x00\x00\x00\x80\x04\x08\x00\x80\x04\x08\x60\x00\x00\x00\x60\x00\x00\x00\x05\x00\x00\x00\x00\x10\x00\x00" +
		"\xb8\x01\x00\x00\x00\xbb\x07\x00\x00\x00\xcd\x80"
	require.NoError(t, os.WriteFile(path("foreign"), []byte(foreign), 0o777))

	for _, c := range []struct{ program, says string }{
		{"dynamic", "nothing was measured: no call of MPI_Init was seen in ./dynamic"},
		{"static", "./static is statically linked"},
		{"static-pie", "./static-pie is statically linked"},
		{"script", "./script is statically linked"},
		{"foreign", "./foreign is a program for another architecture"},
		{"privileged", "./privileged gains privileges when it starts"},
	} {
		t.Run(c.program, func(t *testing.T) {
			if c.program == "privileged" {
				if os.Getuid() != 0 {
					t.Skip("only root can give a program to somebody else")
				}
				require.NoError(t, os.Chmod(directory, 0o755))
				require.NoError(t, os.Chown(path("privileged"), nobody, nobody))
				require.NoError(t, os.Chmod(path("privileged"), os.ModeSetuid|0o755))
			}
			run := harness.Command{Directory: directory}
			var start *os.PathError
			if err := exec.Command(path(c.program)).Start(); errors.As(err, &start) {
				t.Skipf("does not run here: %v", err)
			}
			bare := run.Run(t, "./"+c.program, "argument")
			r := run.Run(t, harness.Artifact(t, "marple"), "exec", "./"+c.program, "argument")
			assert.Equal(t, bare.Stdout, r.Stdout)
			assert.Equal(t, 7, bare.Code)
			assert.Equal(t, bare.Code, r.Code)
			assert.Equal(t, 1, strings.Count(r.Stderr, "\n"), "one line, and none of the loader's: %s", r.Stderr)
			assert.Contains(t, r.Stderr, "marple: "+c.says)
		})
	}
}

const nobody = 65534

// A program may lose the variables on its way; then it is not measured, and nothing else.
func TestClearedEnvironment(t *testing.T) {
	t.Parallel()
	harness.EachReal(t, func(t *testing.T, mpi *harness.Library) {
		program := compileHost(mpi, t, "cleared")
		c := harness.Command{Directory: t.TempDir()}
		r := c.Run(t, mpi.Launch(hostRanks, harness.Artifact(t, "marple"), "exec", program)...)
		assert.Zero(t, r.Code, r.Stderr)
		steps(t, r.Stdout)
		assert.Empty(t, r.Said())
		assert.False(t, r.Reported())
		assert.Empty(t, harness.Entries(t, c.Directory))
	})
}

// The library is in every process that inherits it: launchers, shells, their children.
func TestPreloadedIntoEverything(t *testing.T) {
	t.Parallel()
	harness.EachReal(t, func(t *testing.T, mpi *harness.Library) {
		program := compileHost(mpi, t, "plain")
		script := filepath.Join(t.TempDir(), "script")
		require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\nfor i in 1 2 3; do (true); done\ndate >/dev/null | cat\nexec "+program+" \"$@\"\n"), 0o777))
		marple, preload := harness.Artifact(t, "marple"), "LD_PRELOAD="+harness.Artifact(t, "libmarple.so")
		for name, start := range map[string]struct {
			environment string
			line        []string
		}{
			"launcher preloaded":       {preload, mpi.Launch(hostRanks, program)},
			"launcher under exec":      {"A=B", append([]string{marple, "exec"}, mpi.Launch(hostRanks, program)...)},
			"script under exec":        {"A=B", mpi.Launch(hostRanks, marple, "exec", script)},
			"shell under exec":         {"A=B", mpi.Launch(hostRanks, marple, "exec", "sh", "-c", script)},
			"exec in a preloaded one":  {preload, mpi.Launch(hostRanks, marple, "exec", script)},
			"exec under exec, as well": {"A=B", mpi.Launch(hostRanks, marple, "exec", marple, "exec", program)},
		} {
			t.Run(name, func(t *testing.T) {
				c := harness.Command{Directory: t.TempDir(), Environment: []string{start.environment, "MARPLE_OUT=run"}}
				r := c.Run(t, start.line...)
				require.Zero(t, r.Code, r.Stderr)
				assert.Empty(t, r.Said())
				assert.Equal(t, 1, strings.Count(r.Stderr, "\nEfficiency "), "one report: %s", r.Stderr)
				assert.Equal(t, []string{"run"}, harness.Entries(t, c.Directory))
				assert.Equal(t, steps(t, r.Stdout), harness.Function(harness.ReadRun(t, filepath.Join(c.Directory, "run")), "MPI_Sendrecv").Calls)
			})
		}
	})
}

// disk mounts a file system of a few KiB, or a read-only one.
func disk(t testing.TB, options string) string {
	t.Helper()
	directory := t.TempDir()
	if err := syscall.Mount("tmpfs", directory, "tmpfs", 0, options); err != nil {
		t.Skipf("no file system can be mounted here (this needs root): %v", err)
	}
	t.Cleanup(func() { assert.NoError(t, syscall.Unmount(directory, 0)) })
	return directory
}

func TestDisks(t *testing.T) {
	t.Parallel()
	harness.EachReal(t, func(t *testing.T, mpi *harness.Library) {
		plain, limits := compileHost(mpi, t, "plain"), compileHost(mpi, t, "limits")
		exact := func(t *testing.T, r harness.Result) {
			require.Zero(t, r.Code, r.Stderr)
			assert.True(t, r.Reported(), r.Stderr)
			assert.Regexp(t, fmt.Sprintf(`(?m)^MPI_Sendrecv +%d `, steps(t, r.Stdout)), strings.ReplaceAll(r.Stderr, ",", ""))
		}
		launch := func(c harness.Command, program ...string) harness.Result {
			return c.Run(t, mpi.Launch(hostRanks, append([]string{harness.Artifact(t, "marple"), "exec", "--out", "run"}, program...)...)...)
		}
		t.Run("full from the start", func(t *testing.T) {
			directory := disk(t, "size=64k")
			r := launch(harness.Command{Directory: directory}, plain)
			exact(t, r)
			assert.Contains(t, r.Stderr, "No space left on device; records are kept in memory only")
		})
		t.Run("full later", func(t *testing.T) {
			directory := disk(t, "size=8m")
			r := launch(harness.Command{Directory: directory}, limits, "disk")
			exact(t, r)
			assert.Empty(t, r.Said(), "what the record files took is enough for what is kept")
			measured := harness.ReadRun(t, filepath.Join(directory, "run"))
			assert.Equal(t, steps(t, r.Stdout), harness.Function(measured, "MPI_Sendrecv").Calls)
			require.Len(t, measured.NotSeen, 1)
			assert.Equal(t, "threads-lost", measured.NotSeen[0].ID)
			assert.EqualValues(t, hostRanks, measured.NotSeen[0].Count)
		})
		t.Run("read-only", func(t *testing.T) {
			directory := disk(t, "size=64k,ro")
			r := launch(harness.Command{Directory: directory}, plain)
			exact(t, r)
			require.Len(t, r.Said(), 1)
			assert.Contains(t, r.Said()[0], "Read-only file system")
		})
	})
}

// The number of threads is limited for other users than root only.
func TestLimitedThreads(t *testing.T) {
	t.Parallel()
	harness.EachReal(t, func(t *testing.T, mpi *harness.Library) {
		program, directory := compileHost(mpi, t, "limits"), filepath.Join(os.TempDir(), fmt.Sprintf("marple-host-%d", os.Getpid()))
		require.NoError(t, os.Mkdir(directory, 0o777))
		t.Cleanup(func() { os.RemoveAll(directory) })
		prefix := []string{}
		if os.Getuid() == 0 {
			if _, err := exec.LookPath("setpriv"); err != nil {
				harness.Missing(t, "setpriv")
			}
			require.NoError(t, os.Chmod(directory, 0o777))
			for d := program; d != os.TempDir() && d != "/"; d = filepath.Dir(d) {
				require.NoError(t, os.Chmod(d, 0o755))
			}
			prefix = []string{"setpriv", fmt.Sprintf("--reuid=%d", nobody), fmt.Sprintf("--regid=%d", nobody), "--clear-groups"}
		}
		c := harness.Command{Directory: directory, Environment: []string{"HOME=" + directory, "TMPDIR=" + directory}}
		bare := c.Run(t, append(prefix, mpi.Launch(hostRanks, program, "processes")...)...)
		require.Zero(t, bare.Code, bare.Stderr)
		r := c.Run(t, append(prefix, mpi.Launch(hostRanks, harness.Artifact(t, "marple"), "exec", "--out", "run", program, "processes")...)...)
		require.Zero(t, r.Code, r.Stderr)
		require.Empty(t, r.Said(), "all threads that are needed were started in MPI_Init")
		assert.Equal(t, steps(t, r.Stdout), harness.Function(harness.ReadRun(t, filepath.Join(directory, "run")), "MPI_Sendrecv").Calls)
	})
}
