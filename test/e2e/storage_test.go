package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"marple/analysis/run"
	"marple/test/harness"
)

// What a rank is known to have read and written goes through the kernel's account of it, beside the MPI library's own.
func TestTraffic(t *testing.T) {
	t.Parallel()
	harness.Each(t, func(t *testing.T, m *harness.Library) {
		r, end := m.Measured(t, harness.Command{}, 2, []string{m.Compile(t, "storage", "-pthread"), t.TempDir(), "totals"})
		require.Zero(t, end.Code, end.Stderr)
		require.Len(t, r.PerRank, 2)
		one, other := r.PerRank[0].Traffic, r.PerRank[1].Traffic
		if one == nil {
			t.Skip("the kernel does not say")
		}
		const mib = 1 << 20
		own := uint64(mib / 8) // of the MPI library, at most
		assert.GreaterOrEqual(t, one.Written, uint64(3*mib))
		assert.Less(t, one.Written, 3*mib+own)
		assert.GreaterOrEqual(t, one.Read, uint64(mib))
		assert.Less(t, one.Read, mib+own)
		assert.GreaterOrEqual(t, one.Writes, uint64(3))
		assert.GreaterOrEqual(t, one.Reads, uint64(1))
		assert.Less(t, other.Bytes(), own)
	})
}

func TestMemory(t *testing.T) {
	t.Parallel()
	m := harness.Mock
	r, _ := m.Measured(t, harness.Command{}, 3, []string{m.Compile(t, "storage", "-pthread"), t.TempDir(), "memory"})
	assert.True(t, slices.ContainsFunc(r.Conditions, func(n run.Note) bool { return n.ID == "memory-uneven" }), "%v", r.Conditions)
	assert.GreaterOrEqual(t, r.PerRank[1].PeakMemory, uint64(400<<20))
	r, _ = m.Measured(t, harness.Command{}, 3, []string{m.Compile(t, "storage", "-pthread"), t.TempDir(), "totals"})
	assert.False(t, slices.ContainsFunc(r.Conditions, func(n run.Note) bool { return n.ID == "memory-uneven" }), "%v", r.Conditions)
}

// A count is of calls, bytes and small calls.
type count [3]uint64

func counted(s *run.FileSum) count {
	if s == nil {
		return count{}
	}
	return count{s.Calls, s.Bytes, s.Small}
}

// used is what was done with the file of that name; of all others if it is "".
func used(t *testing.T, r *run.Run, name string) *run.UsedFile {
	require.NotNil(t, r.Files)
	if name == "" {
		return &r.Files.Others
	}
	for i := range r.Files.List {
		if filepath.Base(r.Files.List[i].Path) == name {
			return &r.Files.List[i]
		}
	}
	require.Fail(t, "no file", "%s in %v", name, r.Files.List)
	return nil
}

// storage runs a case of storage.c, which checks what its calls do, with its files counted.
func storage(t *testing.T, m *harness.Library, ranks int, what string) (*run.Run, harness.Result) {
	r, end := m.Measured(t, harness.Command{}, ranks, []string{m.Compile(t, "storage", "-pthread"), t.TempDir(), what}, "--io", "on")
	require.Zero(t, end.Code, end.Stderr)
	return r, end
}

// Every call on a file is counted once, with what it moved, and the program gets what it would get.
func TestFilesAreCounted(t *testing.T) {
	t.Parallel()
	harness.Each(t, func(t *testing.T, m *harness.Library) {
		r, _ := storage(t, m, 2, "known")
		require.Len(t, r.Files.List, 2)
		for rank := range 2 {
			f := used(t, r, fmt.Sprintf("known-%d", rank))
			assert.Equal(t, count{3 + 100 + 2 + 1, 3<<20 + 1000 + 2*4096, 100}, counted(f.Write))
			assert.Equal(t, count{2, 100 + 8192, 1}, counted(f.Read))
			assert.Equal(t, count{1}, counted(f.Open))
			assert.Equal(t, count{1}, counted(f.Close))
			assert.Equal(t, count{2}, counted(f.Sync))
			assert.Equal(t, count{2}, counted(f.Metadata), "fstat, ftruncate")
			assert.Equal(t, uint64(101), f.Unaligned)
			assert.Equal(t, uint64(1), f.Ranks)
			use := r.PerRank[rank].Files
			assert.Equal(t, run.FileUse{Ns: use.Ns, Read: 8292, Written: 3<<20 + 1000 + 8192, Reads: 2, Writes: 106, Lookups: 7}, *use)
			assert.Positive(t, use.Ns)
		}
		assert.Equal(t, count{2 * 3}, counted(used(t, r, "").Metadata), "access, stat, unlink")
		calls := map[string]uint64{}
		r.Root().Walk(func(n *run.Node, _ int) bool {
			if n.Kind == "region" && slices.Contains(n.Groups, "file I/O") {
				calls[n.Name] += n.Calls.N
			}
			return true
		})
		assert.Equal(t, map[string]uint64{"open (file)": 2, "write (file)": 212, "read (file)": 4, "sync (file)": 4, "metadata (file)": 10, "close (file)": 2}, calls)
	})
}

func TestFilesOfAllKinds(t *testing.T) {
	t.Parallel()
	m := harness.Mock
	for what, check := range map[string]func(t *testing.T, r *run.Run, end harness.Result){
		"streams": func(t *testing.T, r *run.Run, _ harness.Result) {
			f := used(t, r, "streams")
			assert.Equal(t, count{1011, 16083}, counted(f.Write))
			assert.Equal(t, count{1, 10000}, counted(f.Read))
			assert.Equal(t, [3]count{{1}, {1}, {1}}, [3]count{counted(f.Open), counted(f.Sync), counted(f.Close)})
		},
		"errors": func(t *testing.T, r *run.Run, _ harness.Result) {
			f := used(t, r, "errors")
			assert.Equal(t, [2]count{{1, 10, 1}, {1, 10, 1}}, [2]count{counted(f.Read), counted(f.Write)}, "what failed was on no file")
			assert.Equal(t, count{2}, counted(used(t, r, "").Open))
		},
		"many": func(t *testing.T, r *run.Run, _ harness.Result) {
			require.Len(t, r.Files.List, 256)
			assert.Equal(t, uint64(44), r.Files.Lost)
			others := used(t, r, "")
			assert.Equal(t, [3]count{{44}, {44, 440, 44}, {44}}, [3]count{counted(others.Open), counted(others.Write), counted(others.Close)})
			assert.Equal(t, uint64(3000), r.PerRank[0].Files.Written)
		},
		"threads": func(t *testing.T, r *run.Run, _ harness.Result) {
			assert.Equal(t, count{3000, 30000, 3000}, counted(used(t, r, "threads-0").Write))
		},
		"children": func(t *testing.T, r *run.Run, _ harness.Result) {
			f := used(t, r, "children-0")
			assert.Equal(t, [2]count{{2, 20, 2}, {1}}, [2]count{counted(f.Write), counted(f.Close)})
		},
		"handlers": func(t *testing.T, r *run.Run, end harness.Result) {
			made, err := strconv.ParseUint(strings.Fields(end.Stdout)[1], 10, 64)
			require.NoError(t, err)
			told := counted(used(t, r, "told-0").Write)
			assert.LessOrEqual(t, told[0], made, "but for those that have interrupted Marple")
			assert.GreaterOrEqual(t, told[0], uint64(200))
			assert.Equal(t, count{20000, 2000000, 20000}, counted(used(t, r, "handlers-0").Write))
		},
		"descriptors": func(t *testing.T, r *run.Run, _ harness.Result) {
			f, before := used(t, r, "descriptors"), used(t, r, "before")
			assert.Equal(t, [2]count{{3, 12 + 13 + 14, 3}, {3}}, [2]count{counted(f.Write), counted(f.Close)})
			assert.Equal(t, [2]count{{2, 11 + 15, 2}, {1}}, [2]count{counted(before.Write), counted(before.Close)})
			assert.Len(t, r.Files.List, 2, "neither pipes nor devices")
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			r, end := storage(t, m, 1, what)
			check(t, r, end)
		})
	}
}

// What a killed rank has done is in its record file.
func TestFilesOfAKilledRun(t *testing.T) {
	t.Parallel()
	m, directory := harness.Mock, filepath.Join(t.TempDir(), "run")
	end := m.Under(t, harness.Command{}, 2, directory, []string{m.Compile(t, "storage", "-pthread"), t.TempDir(), "killed"}, "--io", "on")
	require.NotZero(t, end.Code)
	out, err := exec.Command(harness.Artifact(t, "marple"), "recover", directory).CombinedOutput()
	require.NoError(t, err, "%s", out)
	r := harness.ReadRun(t, directory)
	for rank := range 2 {
		assert.Equal(t, count{100, 1000, 100}, counted(used(t, r, fmt.Sprintf("killed-%d", rank)).Write))
	}
}

// MPI's functions are counted by file, apart from what the library does for them.
func TestFilesOfMPI(t *testing.T) {
	t.Parallel()
	harness.EachReal(t, func(t *testing.T, m *harness.Library) {
		r, _ := storage(t, m, 2, "mpi")
		require.Len(t, r.Files.List, 1)
		f := used(t, r, "mpi")
		assert.Equal(t, count{2 * 4, 2 * (30 + 8192), 2 * 3}, counted(f.MPIWrite))
		assert.Equal(t, count{2, 2 * 8192}, counted(f.MPIWriteAll))
		assert.Equal(t, count{2, 200, 2}, counted(f.MPIRead))
		assert.Equal(t, count{2, 2 * 8192}, counted(f.MPIReadAll))
		assert.Nil(t, f.Write)
	})
}

// Nothing is known of files, and nothing stands before their functions, unless that is asked for.
func TestFilesAreNotCountedByDefault(t *testing.T) {
	t.Parallel()
	m := harness.Mock
	r, _ := m.Measured(t, harness.Command{}, 1, []string{m.Compile(t, "storage", "-pthread"), t.TempDir(), "known"})
	assert.Nil(t, r.Files)
	assert.Nil(t, r.PerRank[0].Files)
}

// A library that the user has preloaded before the C library's functions still gets every call.
func TestFilesBehindAnotherWrapper(t *testing.T) {
	t.Parallel()
	m, place := harness.Mock, t.TempDir()
	source, library := filepath.Join(place, "w.c"), filepath.Join(place, "w.so")
	require.NoError(t, os.WriteFile(source, []byte(`#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static long calls;
ssize_t write(int fd, const void *data, size_t size)
{
    ssize_t (*next)(int, const void *, size_t) = dlsym(RTLD_NEXT, "write");
    calls += size == 10;
    return next(fd, data, size);
}
__attribute__((destructor)) static void tell(void)
{
    if (calls && getenv("TELL")) {
        FILE *f = fopen(getenv("TELL"), "w");
        fprintf(f, "%ld", calls);
        fclose(f);
    }
}
`), 0o600))
	out, err := exec.Command("gcc", "-shared", "-fPIC", "-o", library, source, "-ldl").CombinedOutput()
	require.NoError(t, err, "%s", out)
	told := filepath.Join(place, "told")
	c := harness.Command{Environment: []string{"LD_PRELOAD=" + library, "TELL=" + told}}
	r, end := m.Measured(t, c, 1, []string{m.Compile(t, "storage", "-pthread"), t.TempDir(), "known"}, "--io", "on")
	require.Zero(t, end.Code, end.Stderr)
	assert.Equal(t, uint64(106), used(t, r, "known-0").Write.Calls)
	text, err := os.ReadFile(told)
	require.NoError(t, err)
	assert.Equal(t, "100", string(text))
}
