// Hosts: programs with peculiarities that a guest in their process might disturb (test/apps/hosts). Each
// checks itself that nothing has changed, run bare and measured; what was measured must be exact all the same.
package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"marple/analysis/run"
)

const hostRanks = 2

// A host is a way to run one of the programs, and what may be expected of Marple there.
type host struct {
	program, mode string
	environment   []string
	silent        bool     // there is no stderr to print the report on
	says          []string // lines that are to be said, and what else is expected with them
	lost          bool     // there is a report, but no run directory to look at
	also          func(t *testing.T, r *run.Run)
}

var hosts = []host{
	{program: "signals", mode: "thread-stack"},
	{program: "signals", mode: "thread-stack-beside-own"},
	{program: "signals", mode: "signal-stack"},
	{program: "signals", mode: "own-signal-stack"},
	{program: "signals", mode: "faults"},
	{program: "signals", mode: "faults-on-own-stack"},
	{program: "signals", mode: "faults-beside-batches"},
	{program: "signals", mode: "calls-in-a-handler"},
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
	{program: "stacks", mode: "fiber"},

	{program: "limits", mode: "address-space", environment: []string{"LEFT=100"},
		says: []string{"the address space limit (ulimit -v) leaves less than 2 GB; marple recover made the report"}},
	{program: "limits", mode: "address-space", environment: []string{"LEFT=2100"}},
	{program: "limits", mode: "address-space", environment: []string{"LEFT=3000"}},
	{program: "limits", mode: "addresses-used-up",
		says: []string{"too little address space is left (ulimit -v); marple recover made the report"}},
	{program: "limits", mode: "file-size", lost: true, says: []string{"the run cannot be kept: "}},
	{program: "limits", mode: "file-size-before", says: []string{"File too large; rank 0 keeps its records in memory only",
		"File too large; rank 1 keeps its records in memory only"}},
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
	for _, mpi := range []*library{openMPI, mpich} {
		t.Run(mpi.name, func(t *testing.T) {
			mpi.need(t)
			programs := map[string]string{}
			for _, h := range hosts {
				if programs[h.program] == "" {
					programs[h.program] = mpi.host(t, h.program)
				}
				t.Run(h.name(), func(t *testing.T) { h.test(t, mpi, programs[h.program]) })
			}
		})
	}
}

// host builds a program of test/apps/hosts.
func (m *library) host(t *testing.T, program string, arguments ...string) string {
	t.Helper()
	_, err := os.ReadFile(apps("hosts/host.h")) // see artifact
	require.NoError(t, err)
	return m.compile(t, filepath.Join("hosts", program), append([]string{"-pthread", "-ldl", "-lm"}, arguments...)...)
}

func (h host) test(t *testing.T, mpi *library, program string) {
	c := command{environment: h.environment, directory: t.TempDir()}
	bare := c.run(t, mpi.launch(hostRanks, program, h.mode)...)
	require.Zero(t, bare.code, "without Marple: %s\n%s", bare.stdout, bare.stderr)
	require.Positive(t, steps(t, bare.stdout))

	directory := filepath.Join(t.TempDir(), "run")
	r := c.run(t, mpi.launch(hostRanks, artifact(t, "marple"), "exec", "--out", directory, program, h.mode)...)
	require.Zero(t, r.code, "%s\n%s", r.stdout, r.stderr)
	made := steps(t, r.stdout)

	said := r.said()
	assert.Len(t, said, len(h.says), strings.Join(said, "\n"))
	for _, line := range h.says {
		assert.Contains(t, strings.Join(said, "\n"), line)
	}
	assert.Equal(t, !h.silent, r.reported(), r.stderr)
	if h.lost {
		assert.Equal(t, []string{"raw"}, entries(t, directory), "no half-written files")
		return
	}
	measured := readRun(t, directory)
	assert.Equal(t, made, function(measured, "MPI_Sendrecv").Calls)
	for _, note := range measured.NotSeen {
		assert.Equal(t, "other-threads", note.ID, note.Text)
	}
	if h.also != nil {
		h.also(t, measured)
	}
}

// steps adds up what the ranks say of themselves: how many calls of MPI_Sendrecv they have made.
func steps(t *testing.T, stdout string) uint64 {
	t.Helper()
	sum, ranks := uint64(0), 0
	words := strings.Fields(strings.ReplaceAll(stdout, "ok", " ok")) // MPICH may join the ranks' lines
	for i := 0; i+1 < len(words); i++ {
		var n uint64
		if k, _ := fmt.Sscan(words[i+1], &n); words[i] == "ok" && k == 1 {
			sum += n
			ranks++
		}
	}
	require.Equal(t, hostRanks, ranks, stdout)
	return sum
}

// regions expects each rank to have entered region "part" so many times.
func regions(each uint64) func(*testing.T, *run.Run) {
	return func(t *testing.T, r *run.Run) {
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
