// Calls as Marple counts them, and as test/counter does, which has nothing to do with pmpi/.
package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"marple/analysis/callgraph"
	"marple/analysis/run"
)

// calls of each function, by rank.
type calls []map[string]uint64

// counters are the preload libraries made so far, by the name of the MPI library. They are built once: it
// takes longer than most programs run.
var counters = struct {
	sync.Mutex
	directory string // removed in the end
	made      map[string]string
}{made: map[string]string{}}

// counter is the preload library for this MPI library: it counts all that its mpi.h declares.
func (m *library) counter(t testing.TB) string {
	t.Helper()
	counters.Lock()
	defer counters.Unlock()
	if made := counters.made[m.name]; made != "" {
		return made
	}
	directory, err := os.MkdirTemp(counters.directory, "")
	require.NoError(t, err)
	var list strings.Builder
	for name := range m.declared(t) {
		switch name {
		case "MPI_Finalize", "MPI_Pcontrol": // the counter's own; variadic
		default:
			fmt.Fprintf(&list, "COUNT(%s)\n", name)
		}
	}
	require.NoError(t, os.WriteFile(filepath.Join(directory, "functions.h"), []byte(list.String()), 0o666))
	made := filepath.Join(directory, "counter.so")
	source := filepath.Join(top, "test", "counter", "counter.cc")
	_, err = os.ReadFile(source) // see artifact
	require.NoError(t, err)
	out, err := exec.Command(m.tool(m.cc), "-x", "c++", "-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-Wno-deprecated-declarations",
		"-fno-exceptions", "-fno-rtti", "-fvisibility=hidden", "-shared", "-fPIC", "-I"+directory, source, "-o", made).CombinedOutput()
	require.NoError(t, err, "%s", out)
	counters.made[m.name] = made
	return made
}

// counting preloads the counter between the launcher and what follows; account reads what it has counted.
func (m *library) counting(t testing.TB, c command) (counted command, account func() calls) {
	t.Helper()
	directory := t.TempDir()
	c.before = append([]string{"env", "LD_PRELOAD=" + m.counter(t), "COUNTER_OUT=" + directory}, c.before...)
	return c, func() calls {
		t.Helper()
		list := make(calls, len(entries(t, directory)))
		for rank := range list {
			list[rank] = map[string]uint64{}
			text, err := os.ReadFile(filepath.Join(directory, fmt.Sprint(rank)))
			require.NoError(t, err)
			for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
				var name string
				var n uint64
				_, err := fmt.Sscan(line, &name, &n)
				require.NoError(t, err, line)
				list[rank][name] = n
			}
		}
		return list
	}
}

// Measured functions that are not recorded as calls.
var notRecorded = map[string]bool{"MPI_Init": true, "MPI_Init_thread": true, "MPI_Abort": true, "MPI_Pcontrol": true, "MPI_Comm_set_name": true,
	"MPI_Session_init": true, "MPI_Session_finalize": true}

// toRecord leaves those calls that Marple records.
func (c calls) toRecord(functions table) calls {
	left := make(calls, len(c))
	for rank := range c {
		left[rank] = map[string]uint64{}
		for name, n := range c[rank] {
			if _, wrapped := functions.wrapped[name]; wrapped && !notRecorded[name] {
				left[rank][name] = n
			}
		}
	}
	return left
}

// recorded are the calls of a run, as its call graph has them.
func recorded(t testing.TB, r *run.Run) calls {
	t.Helper()
	list := make(calls, r.Ranks)
	total := map[string]uint64{}
	for rank := range list {
		list[rank] = map[string]uint64{}
	}
	for _, root := range r.CallGraph {
		root.Walk(func(n *run.Node, _ int) bool {
			if n.Kind == callgraph.KindMPI.String() {
				for _, p := range n.PerRank {
					list[p.Rank][n.Name] += p.Calls
					total[n.Name] += p.Calls
				}
			}
			return true
		})
	}
	inTable := map[string]uint64{}
	for _, f := range r.Functions {
		inTable[f.Name] = f.Calls
	}
	assert.Equal(t, total, inTable, "the table of functions against the call graph")
	for _, p := range r.PerRank {
		sum := uint64(0)
		for _, n := range list[p.Rank] {
			sum += n
		}
		assert.Equal(t, sum, p.Calls, "calls of rank %d", p.Rank)
	}
	return list
}

// A second tool below Marple sees every call that Marple sees, and each once.
func TestCallsAreThoseOfAnIndependentCounter(t *testing.T) {
	t.Parallel()
	functions := readTable(t)
	steps := scale(3, 100)
	programs := []struct {
		name      string
		ranks     int
		program   func(t *testing.T, m *library) []string
		paused    map[string]int // calls of each rank while recording is off
		different bool           // calls differ from run to run
	}{
		{name: "heat", ranks: 3, program: func(t *testing.T, m *library) []string {
			return []string{m.compile(t, "heat"), "64", fmt.Sprint(10 * steps)}
		}},
		{name: "deterministic", ranks: 3, program: func(t *testing.T, m *library) []string {
			return []string{m.compile(t, "deterministic"), fmt.Sprint(steps)}
		}, paused: map[string]int{"MPI_Barrier": steps}},
		{name: "polling", ranks: 2, program: func(t *testing.T, m *library) []string {
			return []string{m.compile(t, "ailments"), "polling", "4"}
		}, different: true},
	}
	each(t, func(t *testing.T, mpi *library) {
		for _, p := range programs {
			t.Run(p.name, func(t *testing.T) {
				program := p.program(t, mpi)
				c, account := mpi.counting(t, command{})
				measured, r := mpi.measured(t, c, p.ranks, program)
				require.Zero(t, r.code, r.stderr)
				counted, found := account().toRecord(functions), recorded(t, measured)
				for _, list := range found {
					for name, n := range p.paused {
						list[name] += uint64(n)
					}
				}
				assert.Equal(t, counted, found)
				if p.different {
					return
				}
				c, account = mpi.counting(t, command{})
				require.Zero(t, mpi.bare(t, c, p.ranks, program...).code)
				assert.Equal(t, counted, account().toRecord(functions), "the same program without Marple")
			})
		}
	})
}
