package harness

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Declared are the MPI functions of the library's mpi.h, with their numbers of parameters, as the compiler
// understands them.
func Declared(m *Library, t testing.TB) map[string]int {
	t.Helper()
	source, list := filepath.Join(t.TempDir(), "all.c"), filepath.Join(t.TempDir(), "all.txt")
	require.NoError(t, os.WriteFile(source, []byte("#include <mpi.h>\n"), 0o666))
	out, err := exec.Command(m.Tool(m.Cc), "-c", "-aux-info", list, "-o", os.DevNull, source).CombinedOutput()
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
	Wrapped map[string]int    // number of parameters
	Since   map[string]string // version of the standard, of functions that are newer than the headers here
	left    []string          // patterns
}

func ReadTable(t testing.TB) table {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(Top, "pmpi", "functions.txt"))
	require.NoError(t, err)
	functions := table{Wrapped: map[string]int{}, Since: map[string]string{}}
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
			for _, form := range forms(name, rest) {
				functions.Wrapped[form] = count
				for _, word := range rest {
					if version, ok := strings.CutPrefix(word, "since="); ok {
						functions.Since[form] = version
					}
				}
			}
		}
	}
	return functions
}

// forms are a function's bindings in C.
func forms(name string, variants []string) []string {
	if slices.Contains(variants, "+c") {
		return []string{"MPI_" + name, "MPI_" + name + "_c"}
	}
	return []string{"MPI_" + name}
}

func (f table) Leaves(name string) bool {
	return slices.ContainsFunc(f.left, func(pattern string) bool {
		match, err := path.Match(pattern, name)
		return err == nil && match
	})
}
