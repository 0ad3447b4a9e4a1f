// Every MPI function is either measured or left alone for a reason: pmpi/functions.txt against the
// libraries' own headers and against what libmarple.so exports.
package e2e

import (
	"marple/test/harness"

	"debug/elf"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// symbols are the functions that a shared library defines for others.
func symbols(t testing.TB, path string) []string {
	t.Helper()
	file, err := elf.Open(path)
	require.NoError(t, err)
	defer file.Close()
	all, err := file.DynamicSymbols()
	require.NoError(t, err)
	var names []string
	for _, s := range all {
		if s.Section != elf.SHN_UNDEF && elf.ST_TYPE(s.Info) == elf.STT_FUNC {
			names = append(names, s.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// exported are the C functions that libmarple.so puts before the MPI library's; Fortran's are written in
// one case.
func exported(t testing.TB) []string {
	t.Helper()
	return slices.DeleteFunc(symbols(t, harness.Artifact(t, "libmarple.so")), func(name string) bool {
		return !strings.HasPrefix(name, "MPI_") || name == strings.ToUpper(name)
	})
}

func TestEveryFunctionIsMeasuredOrLeftForAReason(t *testing.T) {
	t.Parallel()
	functions := harness.ReadTable(t)
	harness.Each(t, func(t *testing.T, mpi *harness.Library) {
		var neither, both []string
		for name := range harness.Declared(mpi, t) {
			_, wrapped := functions.Wrapped[name]
			switch left := functions.Leaves(name); {
			case wrapped && left:
				both = append(both, name)
			case !wrapped && !left:
				neither = append(neither, name)
			}
		}
		slices.Sort(neither)
		slices.Sort(both)
		assert.Empty(t, neither, "neither in pmpi/functions.txt nor left alone there: %s", strings.Join(neither, " "))
		assert.Empty(t, both, "both measured and left alone: %s", strings.Join(both, " "))
	})
}

func TestTheLibraryExportsTheTable(t *testing.T) {
	t.Parallel()
	assert.Equal(t, slices.Sorted(maps.Keys(harness.ReadTable(t).Wrapped)), exported(t))
}

func TestParametersAreThoseOfTheHeaders(t *testing.T) {
	t.Parallel()
	functions := harness.ReadTable(t)
	seen := map[string]bool{}
	harness.Each(t, func(t *testing.T, mpi *harness.Library) {
		for name, count := range harness.Declared(mpi, t) {
			if ours, ok := functions.Wrapped[name]; ok {
				seen[name] = true
				assert.Equal(t, count, ours, "parameters of %s", name)
			}
		}
	})
	var unknown []string
	for _, name := range exported(t) {
		if !seen[name] && functions.Since[name] == "" {
			unknown = append(unknown, name)
		}
	}
	if harness.Mpich.Tool(harness.Mpich.Cc) == "" {
		harness.Missing(t, fmt.Sprintf("%s (the only header of MPI 4)", harness.Mpich.Cc))
	}
	assert.Empty(t, unknown, "in no header: %s", strings.Join(unknown, " "))
}

// Where a Fortran library has an entry point of a measured function, libmarple.so has it too: in every
// spelling, for every binding.
func TestFortranNames(t *testing.T) {
	t.Parallel()
	measured := map[string]bool{}
	for name := range harness.ReadTable(t).Wrapped {
		measured[strings.ToLower(name)] = true
	}
	ours := symbols(t, harness.Artifact(t, "libmarple.so"))
	entry := regexp.MustCompile(`^(mpi_\w+?|MPI_[A-Z0-9_]+?)(_|__|_f08_|_f08ts_|_f08_large_|_f08ts_large_|_c_f08_|_c_f08ts_)?$`)
	for mpi, files := range map[*harness.Library][]string{
		harness.OpenMPI: {"libmpi_mpifh.so", "libmpi_usempif08.so", "libmpi_usempi_ignore_tkr.so"},
		harness.Mpich:   {"libmpichfort.so"},
	} {
		t.Run(mpi.Name, func(t *testing.T) {
			mpi.Need(t)
			var not []string
			for _, file := range files {
				out, err := exec.Command(mpi.Tool(mpi.Cc), "-print-file-name="+file).Output()
				require.NoError(t, err)
				path := strings.TrimSpace(string(out))
				if !filepath.IsAbs(path) {
					harness.Missing(t, file)
				}
				for _, name := range symbols(t, path) {
					match := entry.FindStringSubmatch(name)
					if _, found := slices.BinarySearch(ours, name); match != nil && measured[strings.ToLower(match[1])] && !found {
						not = append(not, name)
					}
				}
			}
			assert.Empty(t, not, "not intercepted: %s", strings.Join(not, " "))
		})
	}
}
