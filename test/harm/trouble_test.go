// When things are wrong with the measurement: one clear line on stderr over all ranks, and the application
// runs on with the same results and exit code.
package harm

import (
	"marple/test/harness"

	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"marple/analysis/run"
)

const troubledRanks = 3

// What becomes of the measurement.
type outcome int

const (
	reported    outcome = iota // the report is printed, and not kept
	kept                       // and kept
	recoverable                // and kept, as are the ranks' records that it was made of
)

type trouble struct {
	name        string
	libraries   []*harness.Library // all of them, if nil
	flags       []string           // of exec; RUN stands for the run directory that is asked for
	environment []string
	before      []string // between the launcher and marple
	arguments   []string // of the program, after its exit code
	says        string   // as a pattern; nothing if all is well for the user
	outcome     outcome
}

// limited lowers a limit for ranks (a shell pattern), and then runs what follows.
func limited(ranks, limit string) []string {
	script := fmt.Sprintf(`case ${PMIX_RANK-$PMI_RANK} in %s) ulimit %s;; esac; exec "$@"`, ranks, limit)
	return []string{"sh", "-c", script, "sh"}
}

const (
	little = "-v 1500000" // KiB of address space: enough for marple exec, and not for the core
	cannot = "the core cannot be opened: "
	anyway = "; marple recover made the report$"
)

var troubles = []trouble{
	{name: "no core", flags: []string{"--core", "/nowhere/core.so"},
		says: cannot + "/nowhere/core.so: No such file or directory" + anyway, outcome: recoverable},
	{name: "a core that is none", flags: []string{"--core", "/etc/hostname"},
		says: cannot + "/etc/hostname: (file too short|invalid ELF header)" + anyway, outcome: recoverable},
	{name: "another library for a core", flags: []string{"--core", "libm.so.6"}, // as the loader finds it
		says: cannot + ".*libm.so.6", outcome: recoverable},
	{name: "little address space", before: limited("*", little),
		says: cannot + `the address space limit \(ulimit -v\) leaves less than 2 GB` + anyway, outcome: recoverable},
	{name: "little address space on rank 0", before: limited("0", little),
		says: cannot + "the address space limit.*" + anyway, outcome: recoverable},
	{name: "little address space on another rank", before: limited("1", little),
		says: cannot + "the address space limit.*" + anyway, outcome: recoverable},
	{name: "little address space on the last rank", before: limited("2", little),
		says: cannot + "the address space limit.*" + anyway, outcome: recoverable},
	{name: "a place that is none", flags: []string{"--out", "/proc/nowhere/run"},
		says: "cannot make the run directory /proc/nowhere/run: No such file or directory; the report will be printed but not kept$", outcome: reported},
	{name: "files may not be large", libraries: []*harness.Library{harness.Mock}, before: limited("*", "-f 100"), // the others need larger ones
		says: "cannot write to .*/run: File too large; records are kept in memory only$", outcome: kept},
	{name: "files may not be large on one rank", libraries: []*harness.Library{harness.Mock}, before: limited("2", "-f 100"),
		says: "cannot write to .*/run: File too large; records are kept in memory only$", outcome: kept},
	{name: "the run directory goes away", arguments: []string{"RUN", "RUN-gone"},
		says: "the run cannot be kept: .*no such file or directory$", outcome: reported},
	{name: "a word that no setting has", environment: []string{"MARPLE_CALLPATH=deep"},
		says: `MARPLE_CALLPATH="deep": expected .*; using`, outcome: kept},
	{name: "a number that is none", environment: []string{"MARPLE_DEADLINE=soon"},
		says: `MARPLE_DEADLINE="soon": expected a whole number from 1 to 86400; using 60$`, outcome: kept},
	{name: "a clock that is not there", environment: []string{"MARPLE_CLOCK=external"},
		says: `MARPLE_CLOCK=external, but this program has no simulated clock \(marple_clock_external\); using CLOCK_MONOTONIC$`, outcome: kept},
}

func TestTrouble(t *testing.T) {
	t.Parallel()
	harness.Each(t, func(t *testing.T, mpi *harness.Library) {
		program := mpi.Compile(t, "results")
		want := mpi.Bare(t, harness.Command{}, troubledRanks, program, "3")
		require.Equal(t, 3, want.Code)
		for _, trouble := range troubles {
			if trouble.libraries != nil && !slices.Contains(trouble.libraries, mpi) {
				continue
			}
			t.Run(trouble.name, func(t *testing.T) { trouble.check(t, mpi, program, want, filepath.Join(t.TempDir(), "run")) })
		}
	})
}

func (x trouble) check(t testing.TB, mpi *harness.Library, program string, want harness.Result, directory string) {
	t.Helper()
	line := []string{program, "3"}
	for _, argument := range x.arguments {
		line = append(line, strings.ReplaceAll(argument, "RUN", directory))
	}
	c := harness.Command{Environment: x.environment, Before: x.before, Directory: filepath.Dir(directory)}
	r := mpi.Under(t, c, troubledRanks, directory, line, x.flags...)
	assert.Equal(t, want.Code, r.Code)
	assert.Equal(t, want.Stdout, r.Stdout)
	assert.Contains(t, r.Stderr, "a word\n")
	if x.says == "" {
		assert.Empty(t, r.Said())
	} else if said := r.Said(); assert.Len(t, said, 1, r.Stderr) {
		assert.Regexp(t, "^marple: "+x.says, said[0])
	}
	assert.True(t, r.Reported(), r.Stderr)
	if x.outcome == reported {
		assert.Contains(t, r.Stderr, "\nDetails      not kept\n")
		_, err := run.Read(directory)
		assert.Error(t, err)
		return
	}
	measured := harness.ReadRun(t, directory)
	defer func() {
		if t.Failed() {
			t.Log(r.Stderr)
		}
	}()
	harness.Sound(t, directory, measured)
	assert.Equal(t, troubledRanks, measured.Measured)
	assert.EqualValues(t, 10*troubledRanks, harness.Function(measured, "MPI_Allreduce").Calls)
	files := []string{"report.txt", "run.json"}
	if x.outcome == recoverable {
		files = append([]string{"raw"}, files...)
	}
	kept := slices.DeleteFunc(harness.Entries(t, directory), func(name string) bool { return name == run.ReplayFile }) // if there is room
	assert.Equal(t, files, kept)
}

// A file system that takes nothing, a little, or almost enough: from no rank's file to all but one.
func TestFullDirectory(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root may mount a small file system")
	}
	harness.Each(t, func(t *testing.T, mpi *harness.Library) {
		program := mpi.Compile(t, "results")
		want := mpi.Bare(t, harness.Command{}, troubledRanks, program, "3")
		sizes := []int{12, 200, 280, 400, 1000} // the second and third end in the tables of some rank, mostly
		for size := 100; size < harness.Scale(0, 2000); size += 100 {
			sizes = append(sizes, size)
		}
		for _, size := range sizes {
			t.Run(fmt.Sprint(size, " KiB"), func(t *testing.T) {
				place := t.TempDir()
				if err := syscall.Mount("marple-test", place, "tmpfs", 0, fmt.Sprintf("size=%dk", size)); err != nil {
					t.Skipf("a small file system cannot be mounted here: %v", err)
				}
				defer func() { require.NoError(t, syscall.Unmount(place, syscall.MNT_DETACH)) }() // a launcher may be there still
				x := trouble{says: "cannot write to .*/run: No space left on device; records are kept in memory only$", outcome: kept}
				if size < 40 {
					x.outcome = reported
				}
				x.check(t, mpi, program, want, filepath.Join(place, "run"))
			})
		}
	})
}

// An MPI library that is none of those whose binary interface is known: nothing is measured, nothing left behind.
func TestForeignMPI(t *testing.T) {
	t.Parallel()
	harness.Mock.Need(t)
	foreign := *harness.Mock
	foreign.Cc = "mpicc-foreign"
	program := foreign.Compile(t, "results")
	want := foreign.Bare(t, harness.Command{}, troubledRanks, program, "3")
	directory := t.TempDir()
	r := foreign.Bare(t, harness.Command{Directory: directory}, troubledRanks, harness.Artifact(t, "marple"), "exec", program, "3")
	assert.Equal(t, want.Code, r.Code)
	assert.Equal(t, want.Stdout, r.Stdout)
	assert.Equal(t, []string{"marple: this MPI library is not one Marple knows, so nothing is measured: Foreign MPI 1.0"}, r.Said())
	assert.Empty(t, harness.Entries(t, directory))
}

// marple alone, without the library it preloads.
func TestNoLibrary(t *testing.T) {
	t.Parallel()
	harness.Each(t, func(t *testing.T, mpi *harness.Library) {
		program := mpi.Compile(t, "results")
		want := mpi.Bare(t, harness.Command{}, troubledRanks, program, "3")
		text, err := os.ReadFile(harness.Artifact(t, "marple"))
		require.NoError(t, err)
		alone, directory := filepath.Join(t.TempDir(), "marple"), t.TempDir()
		require.NoError(t, os.WriteFile(alone, text, 0o777))
		r := mpi.Bare(t, harness.Command{Directory: directory}, troubledRanks, alone, "exec", program, "3")
		assert.Equal(t, want.Code, r.Code)
		assert.Equal(t, want.Stdout, r.Stdout)
		if said := r.Said(); assert.Len(t, said, 1, r.Stderr) {
			assert.Regexp(t, "^marple: libmarple.so is neither beside .* nor in ../lib; .*results runs unmeasured$", said[0])
		}
		assert.Empty(t, harness.Entries(t, directory))
	})
}

// A program that does nothing between MPI_Init and MPI_Finalize has no problem.
func TestNothingToMeasure(t *testing.T) {
	t.Parallel()
	harness.Each(t, func(t *testing.T, mpi *harness.Library) {
		measured, r := mpi.Measured(t, harness.Command{}, troubledRanks, []string{mpi.Compile(t, "nothing")})
		assert.Zero(t, r.Code)
		assert.Empty(t, r.Stdout)
		assert.Regexp(t, "\n(No significant problem|Nothing else stands out)[.]\n", r.Stderr)
		assert.Empty(t, measured.Findings)
		assert.Len(t, measured.Functions, 1)
		assert.EqualValues(t, troubledRanks, harness.Function(measured, "MPI_Finalize").Calls)
		assert.Empty(t, measured.NotSeen)
	})
}

// On the virtual clock a deadlock is seen, and Marple's waiting in MPI_Finalize must not look like life.
func TestDeadlockStaysOne(t *testing.T) {
	t.Parallel()
	const deadlock = 86 // see test/mock/README.md
	harness.Mock.Need(t)
	onClock := *harness.Mock
	onClock.Mpirun = append(onClock.Mpirun, "--virtual")
	program := onClock.Compile(t, "deadlock")
	require.Equal(t, deadlock, onClock.Bare(t, harness.Command{}, 2, program).Code)
	r := onClock.Under(t, harness.Command{}, 2, filepath.Join(t.TempDir(), "run"), []string{program})
	assert.Equal(t, deadlock, r.Code, r.Stderr)
}
