package symbol

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCompilers checks functions, lines and inlined functions for what
// compilers make of the test programs under many flags; under all of them
// where MARPLE_TEST_LONG=1.
func TestCompilers(t *testing.T) {
	type language struct{ gnu, llvm, source string }
	languages := []language{
		{"gcc", "clang", "chain.c"},
		{"g++", "clang++", "shapes.cc"},
		{"gfortran", "", "solver.f90"},
	}
	long := os.Getenv("MARPLE_TEST_LONG") == "1"
	var programs []program
	for _, l := range languages {
		for _, compiler := range []string{l.gnu, l.llvm} {
			if compiler == "" {
				continue
			}
			for _, opt := range []string{"-O0", "-O2"} {
				oldest := 2
				if !long && (compiler == l.llvm || opt == "-O0") {
					oldest = 4
				}
				for version := oldest; version <= 5; version++ {
					programs = append(programs, program{compiler, l.source,
						[]string{"-g", fmt.Sprintf("-gdwarf-%d", version), opt}, "pie"})
				}
				programs = append(programs,
					program{compiler, l.source, []string{"-g", opt}, "no-pie"})
				if compiler != "gfortran" {
					programs = append(programs, program{compiler, l.source, []string{"-g", opt}, "shared"})
				}
			}
			if !long && compiler == l.llvm {
				continue
			}
			for _, flags := range [][]string{
				{"-O3", "-ffunction-sections", "-Wl,--gc-sections"},
				{"-O2", "-gdwarf64"},
				{"-O2", "-gdwarf-4", "-fdebug-types-section"},
				{"-O2", "-gdwarf-5", "-fdebug-types-section"},
				{"-O2", "-gz"},
				{"-O2", "-gdwarf-3", "-gstrict-dwarf"},
				{"-O2", "-gno-column-info", "-gdwarf-aranges"},
				{"-Og", "-g3"},
				{"-O1", "-gdwarf-4", "-gsplit-dwarf"},
				{"-O2", "-gdwarf-5", "-gsplit-dwarf"},
				{"-O2", "-gdwarf-4", "-gsplit-dwarf", "-ffunction-sections"},
				{"-O2", "-gdwarf-5", "-gsplit-dwarf", "-ffunction-sections", "-fdebug-types-section"},
				{"-O2", "-gdwarf-4", "-gsplit-dwarf", "-gz"},
			} {
				programs = append(programs, program{compiler, l.source, append([]string{"-g"}, flags...), "pie"})
			}
		}
	}
	for _, fortran := range []string{"-O0", "-O2"} {
		programs = append(programs, program{"gfortran", "omp.f90", []string{"-g", "-fopenmp", fortran}, "pie"})
	}
	programs = append(programs,
		program{"gcc", "omp.c", []string{"-g", "-fopenmp", "-O2"}, "pie"},
		program{"gcc", "chain.c", []string{"-g", "-flto", "-O1"}, "pie"},
		program{"g++", "shapes.cc", []string{"-g", "-flto", "-O1"}, "pie"},
	)
	for _, p := range programs {
		t.Run(strings.Join(append([]string{p.compiler, p.source, p.link}, p.flags...), " "), func(t *testing.T) {
			t.Parallel()
			for _, flag := range []string{"-gdwarf64", "-fdebug-types-section", "-gstrict-dwarf", "-gno-column-info", "-gdwarf-aranges"} {
				if strings.Contains(strings.Join(p.flags, " "), flag) && !accepts(t, p.compiler, "-g", flag) {
					return // and there is nothing to check
				}
			}
			exe, module := p.build(t, t.TempDir())
			checkProbes(t, open(t, module, Limits{}), runProbes(t, exe), fullDetail)
		})
	}
}

// TestLinesOnly checks debug information that was asked to be small.
func TestLinesOnly(t *testing.T) {
	for _, p := range []program{
		{"clang", "chain.c", []string{"-gline-tables-only", "-O2"}, "pie"},
		{"gcc", "chain.c", []string{"-g1", "-O2"}, "pie"},
		{"clang++", "shapes.cc", []string{"-gline-tables-only", "-O2"}, "pie"},
		{"g++", "shapes.cc", []string{"-g1", "-O2"}, "pie"},
	} {
		t.Run(p.compiler, func(t *testing.T) {
			t.Parallel()
			exe, _ := p.build(t, t.TempDir())
			list := runProbes(t, exe)
			table := open(t, exe, Limits{})
			for _, e := range list {
				got := table.LookupReturn(e.offset)
				require.Equal(t, e.lines[0], got.Frames[0].Line, got)
				require.Equal(t, e.files[0], Short(got.Frames[0].File))
				require.NotEmpty(t, got.Frames[0].Function)
			}
		})
	}
}

// TestClangOpenMP is apart since clang 14 does not name the function that a
// parallel region is in.
func TestClangOpenMP(t *testing.T) {
	p := program{"clang", "omp.c", []string{"-g", "-fopenmp", "-O1"}, "pie"}
	exe, _ := p.build(t, t.TempDir())
	list := runProbes(t, exe)
	table := open(t, exe, Limits{})
	for _, e := range list {
		got := table.LookupReturn(e.offset)
		require.Equal(t, e.lines[0], got.Frames[0].Line, got)
		last := got.Frames[len(got.Frames)-1].Function
		require.Equal(t, strings.Contains(e.names[0], "[omp"), strings.Contains(last, "[omp"), got)
	}
}

// TestReturnAddress checks that a call that does not return is attributed to
// its own function although the return address is in the next one.
func TestReturnAddress(t *testing.T) {
	p := program{"gcc", "chain.c", []string{"-g", "-O2"}, "pie"}
	exe, _ := p.build(t, t.TempDir())
	table := open(t, exe, Limits{})
	for _, e := range runProbes(t, exe) {
		if e.names[0] != "never_returns" {
			continue
		}
		require.Equal(t, "never_returns", table.LookupReturn(e.offset).Frames[0].Function)
		require.NotEqual(t, "never_returns", table.Lookup(e.offset).Frames[0].Function)
		require.Equal(t, e.offset, table.LookupReturn(e.offset).Offset)
		return
	}
	t.Fatal("no such probe")
}

// TestAddr2line compares answers for all over the code with those of another
// implementation.
func TestAddr2line(t *testing.T) {
	for _, p := range []program{
		{"gcc", "chain.c", []string{"-g", "-O2"}, "pie"},
		{"g++", "shapes.cc", []string{"-g", "-O2"}, "no-pie"},
		{"g++", "shapes.cc", []string{"-g", "-O0", "-gdwarf-4"}, "shared"},
		{"clang++", "shapes.cc", []string{"-g", "-O2", "-gdwarf-4"}, "pie"},
		{"gfortran", "solver.f90", []string{"-g", "-O2"}, "pie"},
	} {
		t.Run(p.compiler+" "+strings.Join(p.flags, " "), func(t *testing.T) {
			t.Parallel()
			_, module := p.build(t, t.TempDir())
			// addr2line has no names for contained procedures of Fortran.
			compareAddr2line(t, module, 3, p.compiler != "gfortran")
		})
	}
}

// compareAddr2line compares each step-th address of the code of a module that
// addr2line has an answer for, with names or just lines.
func compareAddr2line(t *testing.T, module string, step uint64, names bool) {
	needTool(t, "addr2line")
	table := open(t, module, Limits{})
	var addresses []uint64
	var list strings.Builder
	for _, r := range table.code {
		for a := r.lo; a < r.hi; a += step {
			addresses = append(addresses, a)
			fmt.Fprintf(&list, "%#x\n", a)
		}
	}
	file := filepath.Join(t.TempDir(), "addresses")
	require.NoError(t, os.WriteFile(file, []byte(list.String()), 0o600))
	out := command(t, ".", "addr2line", "-a", "-f", "-i", "-C", "-e", module, "@"+file)

	answers := strings.Split(out, "\n0x")
	require.Len(t, answers, len(addresses))
	compared, differ := 0, 0
	for i, answer := range answers {
		lines := strings.Split(strings.TrimSpace(answer), "\n")[1:]
		if strings.HasSuffix(lines[1], ":?") || strings.HasSuffix(lines[1], ":0") {
			continue // only a name, which may be that of a symbol far away
		}
		compared++
		got := table.Lookup(addresses[i])
		same := len(got.Frames) == len(lines)/2
		for k, f := range got.Frames {
			if !same {
				break
			}
			where, _, _ := strings.Cut(lines[2*k+1], " (discriminator")
			same = Short(where) == fmt.Sprintf("%s:%d", Short(f.File), f.Line) &&
				(!names || sameFunction(lines[2*k], f.Function))
		}
		if !same {
			if differ++; differ < 5 {
				t.Logf("%#x:\n  addr2line %q\n  symbol    %v", addresses[i], lines, got)
			}
		}
	}
	t.Logf("compared %d addresses, %d differ", compared, differ)
	require.NotZero(t, compared)
	// addr2line has mistakes of its own, notably with the names of inlined
	// constructors.
	require.LessOrEqual(t, differ, compared/50)
}

// sameFunction reports whether a name could be from the same function as the
// answer of addr2line, which includes parameters for some languages and leaves
// out qualifiers for others.
func sameFunction(answer, name string) bool {
	last := func(s string) string {
		s, _, _ = strings.Cut(s, " [")
		s = strings.ReplaceAll(s, "(anonymous namespace)", "")
		if i := strings.Index(s, "("); i > 0 && !strings.Contains(s, "operator()") {
			s = s[:i]
		}
		s, _, _ = strings.Cut(s, "<")
		return s[strings.LastIndexAny(s, ": ")+1:]
	}
	return strings.Contains(answer, last(name)) || strings.Contains(name, last(answer))
}
