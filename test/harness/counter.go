package harness

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

// Calls of each function, by rank.
type Calls []map[string]uint64

// Counters are the preload libraries made so far, by the name of the MPI library. They are built once: it
// takes longer than most programs run.
var Counters = struct {
	sync.Mutex
	Directory string // removed in the end
	made      map[string]string
}{made: map[string]string{}}

// counter is the preload library for this MPI library: it counts all that its mpi.h declares.
func counter(m *Library, t testing.TB) string {
	t.Helper()
	Counters.Lock()
	defer Counters.Unlock()
	if made := Counters.made[m.Name]; made != "" {
		return made
	}
	directory, err := os.MkdirTemp(Counters.Directory, "")
	require.NoError(t, err)
	var list strings.Builder
	for name := range Declared(m, t) {
		switch name {
		case "MPI_Finalize", "MPI_Pcontrol": // the counter's own; variadic
		default:
			fmt.Fprintf(&list, "COUNT(%s)\n", name)
		}
	}
	require.NoError(t, os.WriteFile(filepath.Join(directory, "functions.h"), []byte(list.String()), 0o666))
	made := filepath.Join(directory, "counter.so")
	source := filepath.Join(Top, "test", "counter", "counter.cc")
	_, err = os.ReadFile(source) // see artifact
	require.NoError(t, err)
	out, err := exec.Command(m.Tool(m.Cc), "-x", "c++", "-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-Wno-deprecated-declarations",
		"-fno-exceptions", "-fno-rtti", "-fvisibility=hidden", "-shared", "-fPIC", "-I"+directory, source, "-o", made).CombinedOutput()
	require.NoError(t, err, "%s", out)
	Counters.made[m.Name] = made
	return made
}

// Counting preloads the counter between the launcher and what follows; account reads what it has counted.
func (m *Library) Counting(t testing.TB, c Command) (counted Command, account func() Calls) {
	t.Helper()
	directory := t.TempDir()
	c.Before = append([]string{"env", "LD_PRELOAD=" + counter(m, t), "COUNTER_OUT=" + directory}, c.Before...)
	return c, func() Calls {
		t.Helper()
		list := make(Calls, len(Entries(t, directory)))
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

// ToRecord leaves those calls that Marple records.
func (c Calls) ToRecord(functions table) Calls {
	left := make(Calls, len(c))
	for rank := range c {
		left[rank] = map[string]uint64{}
		for name, n := range c[rank] {
			if _, wrapped := functions.Wrapped[name]; wrapped && !notRecorded[name] {
				left[rank][name] = n
			}
		}
	}
	return left
}

// Recorded are the calls of a run, as its call graph has them.
func Recorded(t testing.TB, r *run.Run) Calls {
	t.Helper()
	list := make(Calls, r.Ranks)
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
