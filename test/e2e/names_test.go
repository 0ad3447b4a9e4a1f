// Every MPI function is either measured or left alone for a reason: pmpi/functions.txt against the
// libraries' own headers and against what libmarple.so exports.
package e2e

import (
	"debug/elf"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// declared are the MPI functions of the library's mpi.h, with their numbers of parameters, as the compiler
// understands them.
func (m *library) declared(t testing.TB) map[string]int {
	t.Helper()
	source, list := filepath.Join(t.TempDir(), "all.c"), filepath.Join(t.TempDir(), "all.txt")
	require.NoError(t, os.WriteFile(source, []byte("#include <mpi.h>\n"), 0o666))
	out, err := exec.Command(m.tool(m.cc), "-c", "-aux-info", list, "-o", os.DevNull, source).CombinedOutput()
	require.NoError(t, err, "%s", out)
	text, err := os.ReadFile(list)
	require.NoError(t, err)
	functions := map[string]int{}
	for _, match := range regexp.MustCompile(`(?m) extern [^(]*\b(MPI_\w+) \((.*)\);`).FindAllStringSubmatch(string(text), -1) {
		functions[match[1]] = parameters(match[2])
	}
	require.Greater(t, len(functions), 100)
	return functions
}

// parameters counts the parameters of a list; commas may also stand inside those that are functions.
func parameters(list string) int {
	if list == "void" {
		return 0
	}
	n, depth := 1, 0
	for _, c := range list {
		switch c {
		case '(', '[':
			depth++
		case ')', ']':
			depth--
		case ',':
			if depth == 0 {
				n++
			}
		}
	}
	if strings.HasSuffix(list, ", ...") {
		n-- // whose number is not fixed
	}
	return n
}

// table is what pmpi/functions.txt says.
type table struct {
	wrapped map[string]int // number of parameters
	left    []string       // patterns
}

func readTable(t testing.TB) table {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(top, "pmpi", "functions.txt"))
	require.NoError(t, err)
	functions := table{wrapped: map[string]int{}}
	row := regexp.MustCompile(`^\w+\s+MPI_(\w+)\(([^)]*)\)(.*)$`)
	for _, line := range strings.Split(string(text), "\n") {
		if strings.HasPrefix(line, "  MPI_") {
			functions.left = append(functions.left, strings.Fields(line)...)
			continue
		}
		match := row.FindStringSubmatch(line)
		if match == nil || strings.HasPrefix(line, "#") {
			continue
		}
		name, rest := match[1], strings.Fields(match[3])
		count := 0
		if match[2] != "" {
			count = parameters(match[2])
		}
		names := map[string]int{name: count}
		if slices.Contains(rest, "+i") {
			names["I"+strings.ToLower(name[:1])+name[1:]] = count + 1
		}
		if slices.Contains(rest, "+init") {
			names[name+"_init"] = count + 1
			if !strings.Contains(match[2], "dest") { // collectives take an info too
				names[name+"_init"]++
			}
		}
		for name, count := range names {
			functions.wrapped["MPI_"+name] = count
			if slices.Contains(rest, "+c") {
				functions.wrapped["MPI_"+name+"_c"] = count
			}
		}
	}
	return functions
}

func (f table) leaves(name string) bool {
	return slices.ContainsFunc(f.left, func(pattern string) bool {
		match, err := path.Match(pattern, name)
		return err == nil && match
	})
}

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
	return slices.DeleteFunc(symbols(t, artifact(t, "libmarple.so")), func(name string) bool {
		return !strings.HasPrefix(name, "MPI_") || name == strings.ToUpper(name)
	})
}

func TestEveryFunctionIsMeasuredOrLeftForAReason(t *testing.T) {
	t.Parallel()
	functions := readTable(t)
	each(t, func(t *testing.T, mpi *library) {
		var neither, both []string
		for name := range mpi.declared(t) {
			_, wrapped := functions.wrapped[name]
			switch left := functions.leaves(name); {
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
	assert.Equal(t, slices.Sorted(maps.Keys(readTable(t).wrapped)), exported(t))
}

func TestParametersAreThoseOfTheHeaders(t *testing.T) {
	t.Parallel()
	functions := readTable(t)
	seen := map[string]bool{}
	each(t, func(t *testing.T, mpi *library) {
		for name, count := range mpi.declared(t) {
			if ours, ok := functions.wrapped[name]; ok {
				seen[name] = true
				assert.Equal(t, count, ours, "parameters of %s", name)
			}
		}
	})
	var unknown []string
	for _, name := range exported(t) {
		if !seen[name] {
			unknown = append(unknown, name)
		}
	}
	if mpich.tool(mpich.cc) == "" {
		missing(t, fmt.Sprintf("%s (the only header of MPI 4)", mpich.cc))
	}
	assert.Empty(t, unknown, "in no header: %s", strings.Join(unknown, " "))
}

// Where a Fortran library has an entry point of a measured function, libmarple.so has it too: in every
// spelling, for every binding.
func TestFortranNames(t *testing.T) {
	t.Parallel()
	measured := map[string]bool{}
	for name := range readTable(t).wrapped {
		measured[strings.ToLower(name)] = true
	}
	ours := symbols(t, artifact(t, "libmarple.so"))
	entry := regexp.MustCompile(`^(mpi_\w+?|MPI_[A-Z0-9_]+?)(_|__|_f08_|_f08ts_|_f08_large_|_f08ts_large_)?$`)
	for mpi, files := range map[*library][]string{
		openMPI: {"libmpi_mpifh.so", "libmpi_usempif08.so", "libmpi_usempi_ignore_tkr.so"},
		mpich:   {"libmpichfort.so"},
	} {
		t.Run(mpi.name, func(t *testing.T) {
			mpi.need(t)
			var not []string
			for _, file := range files {
				out, err := exec.Command(mpi.tool(mpi.cc), "-print-file-name="+file).Output()
				require.NoError(t, err)
				path := strings.TrimSpace(string(out))
				if !filepath.IsAbs(path) {
					missing(t, file)
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
