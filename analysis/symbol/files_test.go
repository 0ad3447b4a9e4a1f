package symbol

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// buildCpp builds the C++ test program in dir with extra flags.
func buildCpp(t testing.TB, dir string, flags ...string) (exe string, list []expectation) {
	t.Helper()
	p := program{"g++", "shapes.cc", append([]string{"-g", "-O1", "-Wl,--build-id"}, flags...), "pie"}
	exe, _ = p.build(t, dir)
	return exe, runProbes(t, exe)
}

// removeSplit removes the .dwo files that the compiler left in dir.
func removeSplit(t testing.TB, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.dwo"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, f := range files {
		require.NoError(t, os.Remove(f))
	}
}

// TestStorage checks the places and the ways that symbols are stored.
func TestStorage(t *testing.T) {
	for _, test := range []struct {
		name  string
		flags []string
		// change does something to the executable after it was run.
		change func(t *testing.T, dir, exe string)
		want   detail
		notes  []string // what each of the notes contains
	}{
		{name: "no -g", flags: []string{"-g0"}, want: symbolsOnly, notes: []string{"no debug information"}},
		{
			name:   "strip --strip-debug",
			change: func(t *testing.T, dir, exe string) { command(t, dir, "strip", "--strip-debug", exe) },
			want:   symbolsOnly,
			notes:  []string{"no debug information"},
		},
		{
			name:   "strip",
			change: func(t *testing.T, dir, exe string) { command(t, dir, "strip", exe) },
			want:   dynamicOnly,
			notes:  []string{"no debug information"},
		},
		{
			name:   "strip with exported symbols",
			flags:  []string{"-rdynamic", "-Wl,-export-dynamic"},
			change: func(t *testing.T, dir, exe string) { command(t, dir, "strip", exe) },
			want:   dynamicOnly,
			notes:  []string{"no debug information"},
		},
		{
			name: "no section headers",
			change: func(t *testing.T, dir, exe string) {
				data, err := os.ReadFile(exe)
				require.NoError(t, err)
				copy(data[40:48], make([]byte, 8)) // e_shoff
				copy(data[60:64], make([]byte, 4)) // e_shnum, e_shstrndx
				require.NoError(t, os.WriteFile(exe, data, 0o700))
			},
			want:  nothing,
			notes: []string{"no debug information", "no symbol table"},
		},
		{
			name:   "no .debug_aranges",
			change: func(t *testing.T, dir, exe string) { command(t, dir, "objcopy", "-R", ".debug_aranges", exe) },
		},
		{
			name:   "no .debug_line",
			change: func(t *testing.T, dir, exe string) { command(t, dir, "objcopy", "-R", ".debug_line", exe) },
			want:   noLines,
			notes:  []string{"line table"},
		},
		{
			name:   "no .debug_abbrev",
			change: func(t *testing.T, dir, exe string) { command(t, dir, "objcopy", "-R", ".debug_abbrev", exe) },
			want:   symbolsOnly,
			notes:  []string{"damaged"},
		},
		{
			name:   "no .debug_str",
			change: func(t *testing.T, dir, exe string) { command(t, dir, "objcopy", "-R", ".debug_str", exe) },
			want:   noNames,
		},
		{
			name:   "zlib",
			change: func(t *testing.T, dir, exe string) { command(t, dir, "objcopy", "--compress-debug-sections=zlib", exe) },
		},
		{
			name: "old zlib",
			change: func(t *testing.T, dir, exe string) {
				command(t, dir, "objcopy", "--compress-debug-sections=zlib-gnu", exe)
			},
		},
		{
			name: "zstd",
			change: func(t *testing.T, dir, exe string) {
				if exec.Command("objcopy", "--compress-debug-sections=zstd", exe, exe+".z").Run() != nil {
					return // objcopy does not know it
				}
				require.NoError(t, os.Rename(exe+".z", exe))
			},
		},
		{
			name: "debug link",
			change: func(t *testing.T, dir, exe string) {
				command(t, dir, "objcopy", "--only-keep-debug", exe, "prog.debug")
				command(t, dir, "strip", exe)
				command(t, dir, "objcopy", "--add-gnu-debuglink=prog.debug", exe)
			},
		},
		{
			name:  "debug link, compressed, in a directory of its own, no build id",
			flags: []string{"-Wl,--build-id=none"},
			change: func(t *testing.T, dir, exe string) {
				command(t, dir, "objcopy", "--only-keep-debug", "--compress-debug-sections", exe, "prog.debug")
				command(t, dir, "strip", "--strip-debug", exe)
				command(t, dir, "objcopy", "--add-gnu-debuglink=prog.debug", exe)
				require.NoError(t, os.Mkdir(filepath.Join(dir, ".debug"), 0o700))
				require.NoError(t, os.Rename(filepath.Join(dir, "prog.debug"), filepath.Join(dir, ".debug", "prog.debug")))
			},
		},
		{
			name: "debug link below a global directory",
			change: func(t *testing.T, dir, exe string) {
				command(t, dir, "objcopy", "--only-keep-debug", exe, "prog.debug")
				command(t, dir, "strip", exe)
				command(t, dir, "objcopy", "--add-gnu-debuglink=prog.debug", exe)
				global := filepath.Join(dir, "global", dir)
				require.NoError(t, os.MkdirAll(global, 0o700))
				require.NoError(t, os.Rename(filepath.Join(dir, "prog.debug"), filepath.Join(global, "prog.debug")))
			},
		},
		{
			name:  "debug link with another checksum",
			flags: []string{"-Wl,--build-id=none"},
			change: func(t *testing.T, dir, exe string) {
				command(t, dir, "objcopy", "--only-keep-debug", exe, "prog.debug")
				command(t, dir, "strip", "--strip-debug", exe)
				command(t, dir, "objcopy", "--add-gnu-debuglink=prog.debug", exe)
				f, err := os.OpenFile(filepath.Join(dir, "prog.debug"), os.O_APPEND|os.O_WRONLY, 0)
				require.NoError(t, err)
				_, err = f.WriteString("!")
				require.NoError(t, err)
				require.NoError(t, f.Close())
			},
			want:  symbolsOnly,
			notes: []string{"prog.debug is of another build", "no debug information"},
		},
		{
			name: "debug link to another build",
			change: func(t *testing.T, dir, exe string) {
				command(t, dir, "objcopy", "--only-keep-debug", exe, "prog.debug")
				command(t, dir, "strip", "--strip-debug", exe)
				command(t, dir, "objcopy", "--add-gnu-debuglink=prog.debug", exe)
				other := t.TempDir()
				otherExe, _ := buildCpp(t, other, "-O0")
				command(t, dir, "objcopy", "--only-keep-debug", otherExe, "prog.debug")
			},
			want:  symbolsOnly,
			notes: []string{"prog.debug is of another build", "no debug information"},
		},
		{
			name: "build id",
			change: func(t *testing.T, dir, exe string) {
				installDebug(t, exe, filepath.Join(dir, "global"))
				command(t, dir, "strip", exe)
			},
		},
		{
			name:  "build id, split",
			flags: []string{"-gsplit-dwarf"},
			change: func(t *testing.T, dir, exe string) {
				installDebug(t, exe, filepath.Join(dir, "global"))
				command(t, dir, "strip", exe)
			},
		},
		{
			name:   "split, moved with the executable",
			flags:  []string{"-gsplit-dwarf", "-fdebug-prefix-map=DIR=/nowhere"},
			change: func(t *testing.T, dir, exe string) {},
		},
		{
			name:   "split, files missing",
			flags:  []string{"-gsplit-dwarf"},
			change: func(t *testing.T, dir, exe string) { removeSplit(t, dir) },
			want:   noInlines,
			notes:  []string{"1 split debug file(s) not found, the first"},
		},
		{
			name:  "split, file of another build",
			flags: []string{"-gsplit-dwarf"},
			change: func(t *testing.T, dir, exe string) {
				other := t.TempDir()
				buildCpp(t, other, "-gsplit-dwarf", "-O0")
				files, err := filepath.Glob(filepath.Join(other, "*.dwo"))
				require.NoError(t, err)
				mine, err := filepath.Glob(filepath.Join(dir, "*.dwo"))
				require.NoError(t, err)
				require.NoError(t, os.Rename(files[0], mine[0]))
			},
			want:  noInlines,
			notes: []string{"not found"},
		},
		{
			name:  "package, DWARF 4",
			flags: []string{"-gsplit-dwarf", "-gdwarf-4"},
			change: func(t *testing.T, dir, exe string) {
				command(t, dir, "dwp", "-e", exe, "-o", exe+".dwp")
				removeSplit(t, dir)
			},
		},
		{
			name:  "package, DWARF 5",
			flags: []string{"-gsplit-dwarf", "-gdwarf-5"},
			change: func(t *testing.T, dir, exe string) {
				command(t, dir, "llvm-dwp", "-e", exe, "-o", exe+".dwp")
				removeSplit(t, dir)
			},
		},
		{
			name:  "package, compressed",
			flags: []string{"-gsplit-dwarf", "-gdwarf-4"},
			change: func(t *testing.T, dir, exe string) {
				command(t, dir, "dwp", "-e", exe, "-o", exe+".dwp")
				command(t, dir, "objcopy", "--compress-debug-sections", exe+".dwp")
				removeSplit(t, dir)
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			flags := append([]string(nil), test.flags...)
			for i, f := range flags {
				flags[i] = strings.ReplaceAll(f, "DIR", dir)
			}
			exe, list := buildCpp(t, dir, flags...)
			if test.change != nil {
				test.change(t, dir, exe)
			}
			table := open(t, exe, Limits{DebugDirs: []string{filepath.Join(dir, "global")}})
			checkProbes(t, table, list, test.want)
			notes := table.Notes()
			if assert.Len(t, notes, len(test.notes), "%q", notes) {
				for i, n := range test.notes {
					assert.Contains(t, notes[i], n)
				}
			}
		})
	}
}

// TestMainOfStripped checks that main is known without symbols, by how the C
// library calls it, and nothing else.
func TestMainOfStripped(t *testing.T) {
	for _, flags := range [][]string{{"-fPIE", "-pie"}, {"-fno-pie", "-no-pie"}, {"-O3", "-fomit-frame-pointer"}} {
		dir := t.TempDir()
		exe, _ := buildCpp(t, dir, flags...)
		var main uint64
		for line := range strings.Lines(command(t, dir, "nm", exe)) {
			if f := strings.Fields(line); len(f) == 3 && f[2] == "main" {
				_, err := fmt.Sscanf(f[0], "%x", &main)
				require.NoError(t, err)
			}
		}
		require.NotZero(t, main)
		command(t, dir, "strip", exe)
		table := open(t, exe, Limits{DebugDirs: []string{}})
		assert.Equal(t, "main", table.Lookup(main).Frames[0].Function, flags)
		assert.Empty(t, table.Lookup(main - 1).Frames[0].Function, flags)
		assert.Empty(t, table.Lookup(main + 1).Frames[0].Function, flags)
	}
}

// installDebug puts the debug sections of an executable where debug files are
// found by build ID. It returns the build ID.
func installDebug(t testing.TB, exe, global string) string {
	t.Helper()
	id := buildID(t, exe)
	dir := filepath.Join(global, ".build-id", id[:2])
	require.NoError(t, os.MkdirAll(dir, 0o700))
	command(t, dir, "objcopy", "--only-keep-debug", exe, filepath.Join(dir, id[2:]+".debug"))
	return id
}

// buildID returns the build ID of an executable as readelf sees it.
func buildID(t testing.TB, exe string) string {
	t.Helper()
	_, id, ok := strings.Cut(command(t, ".", "readelf", "-n", exe), "Build ID: ")
	require.True(t, ok)
	return strings.Fields(id)[0]
}

// TestBuildID checks that symbols of another build than the one that was
// measured are not used.
func TestBuildID(t *testing.T) {
	dir := t.TempDir()
	exe, list := buildCpp(t, dir)
	id := buildID(t, exe)
	global := filepath.Join(dir, "global")
	require.Equal(t, id, installDebug(t, exe, global))

	t.Run("same", func(t *testing.T) {
		table, err := Open(exe, strings.ToUpper(id), Limits{DebugDirs: []string{}})
		require.NoError(t, err)
		defer table.Close()
		checkProbes(t, table, list, fullDetail)
		require.Empty(t, table.Notes())
		require.Equal(t, Module{exe, id}, table.Module())
	})

	newer := filepath.Join(t.TempDir(), "prog")
	newerExe, _ := buildCpp(t, filepath.Dir(newer), "-O0")
	require.Equal(t, newer, newerExe)
	t.Run("changed", func(t *testing.T) {
		table, err := Open(newer, id, Limits{DebugDirs: []string{}})
		require.NoError(t, err)
		defer table.Close()
		checkProbes(t, table, list, nothing)
		require.Equal(t, []string{"file changed since the run: build ids differ"}, table.Notes())
	})
	t.Run("changed, debug file installed", func(t *testing.T) {
		table, err := Open(newer, id, Limits{DebugDirs: []string{global}})
		require.NoError(t, err)
		defer table.Close()
		checkProbes(t, table, list, fullDetail)
		require.Len(t, table.Notes(), 2)
		require.Contains(t, table.Notes()[1], "using the separate debug file")
	})
	t.Run("gone, debug file installed", func(t *testing.T) {
		table, err := Open(filepath.Join(dir, "gone"), id, Limits{DebugDirs: []string{global}})
		require.NoError(t, err)
		defer table.Close()
		checkProbes(t, table, list, fullDetail)
	})
	t.Run("gone", func(t *testing.T) {
		_, err := Open(filepath.Join(dir, "gone"), id, Limits{DebugDirs: []string{}})
		require.ErrorIs(t, err, os.ErrNotExist)
	})
	t.Run("nonsense", func(t *testing.T) {
		_, err := Open(filepath.Join(dir, "gone"), "../../../etc", Limits{DebugDirs: []string{global}})
		require.ErrorIs(t, err, os.ErrNotExist)
	})
}

// TestLimits checks that the limits hold and that answers stay right.
func TestLimits(t *testing.T) {
	dir := t.TempDir()
	exe, list := buildCpp(t, dir)
	t.Run("debug bytes", func(t *testing.T) {
		table := open(t, exe, Limits{DebugBytes: 1000})
		checkProbes(t, table, list, symbolsOnly)
		require.Equal(t, []string{"debug sections of 1 MiB skipped"}, table.Notes())
	})
	t.Run("no debug sections", func(t *testing.T) {
		checkProbes(t, open(t, exe, Limits{DebugBytes: -1}), list, symbolsOnly)
	})
	t.Run("tiny cache", func(t *testing.T) {
		table := open(t, exe, Limits{CacheBytes: 1})
		for range 2 {
			checkProbes(t, table, list, fullDetail)
		}
		require.Equal(t, 1, table.units.recent.Len())
	})
	t.Run("cost is accounted for", func(t *testing.T) {
		table := open(t, exe, Limits{})
		checkProbes(t, table, list, fullDetail)
		var sum int64
		for e := table.units.recent.Front(); e != nil; e = e.Next() {
			sum += e.Value.(*parsedUnit).cost
		}
		require.NotZero(t, sum)
		require.Equal(t, sum, table.units.cost)
		require.Len(t, table.units.byIndex, table.units.recent.Len())
	})
	t.Run("closed", func(t *testing.T) {
		table := open(t, exe, Limits{})
		table.Close()
		checkProbes(t, table, list, nothing)
		table.Close()
	})
	t.Run("outside of the code", func(t *testing.T) {
		table := open(t, exe, Limits{})
		for _, a := range []uint64{0, 1, 0x10, 1 << 40, 1<<64 - 1} {
			require.Equal(t, Unresolved(exe, a), table.Lookup(a))
			require.Equal(t, fmt.Sprintf("prog+%#x", a), table.Lookup(a).String())
			require.Equal(t, Unresolved(exe, a), table.LookupReturn(a))
		}
	})
	t.Run("split file too large", func(t *testing.T) {
		dir := t.TempDir()
		exe, list := buildCpp(t, dir, "-gsplit-dwarf")
		img, err := openImage(exe)
		require.NoError(t, err)
		defer img.close()
		table := open(t, exe, Limits{DebugBytes: debugSize(img, "")})
		checkProbes(t, table, list, noInlines)
		require.Len(t, table.Notes(), 1)
	})
}

// TestConcurrent is for the race detector.
func TestConcurrent(t *testing.T) {
	exe, list := buildCpp(t, t.TempDir())
	table := open(t, exe, Limits{CacheBytes: 1 << 16})
	var wg sync.WaitGroup
	for range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for _, e := range list {
				if got := table.LookupReturn(e.offset); got.Frames[0].Line != e.lines[0] {
					t.Errorf("%v: want line %d", got, e.lines[0])
				}
				table.Notes()
			}
		}()
	}
	wg.Wait()
}

// TestManyUnits checks programs of several units, with functions inlined from
// one into the other by optimization at link time.
func TestManyUnits(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write("a.c", `#include "probe.h"
int b(int line); int f(int x) { return x + 1; }
int main(void) { int n = b(__LINE__); PROBE("main"); return n > 100; }
`)
	write("b.c", `#include "probe.h"
int c(int line0, int line1);
__attribute__((always_inline)) inline int b(int line) { return c(__LINE__, line); }
extern int b(int line);
`)
	write("c.c", `#include "probe.h"
volatile int v;
int c(int line0, int line1)
{
	PROBE3("c|b|main", line0, line1);
	return v;
}
`)
	include := "-I" + filepath.Dir(testdata(t, "probe.h"))
	command(t, dir, "gcc", "-c", "-O1", "-o", "probe.o", testdata(t, "probe.c"))
	for _, flags := range [][]string{
		{"-g", "-O2", "-flto", "-flto-partition=none"},
		{"-g", "-O2", "-flto", "-gdwarf-4"},
	} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			command(t, dir, "gcc", append(append([]string{"-o", "prog", include}, flags...), "a.c", "b.c", "c.c", "probe.o")...)
			exe := filepath.Join(dir, "prog")
			table := open(t, exe, Limits{})
			for _, e := range runProbes(t, exe) {
				got := table.LookupReturn(e.offset)
				// What is inlined is up to the compiler.
				require.Equal(t, e.names[0], got.Frames[0].Function, got)
				require.Equal(t, e.lines[0], got.Frames[0].Line, got)
				for i, f := range got.Frames {
					require.Equal(t, e.names[i], f.Function, got)
					require.Equal(t, e.lines[i], f.Line, got)
				}
			}
		})
	}
}

// TestPackage checks .dwp files with several units, and one that is broken.
func TestPackage(t *testing.T) {
	include := "-I" + filepath.Dir(testdata(t, "probe.h"))
	for _, test := range []struct{ version, packer string }{
		{"-gdwarf-4", "dwp"},
		{"-gdwarf-5", "llvm-dwp"},
	} {
		t.Run(test.packer, func(t *testing.T) {
			dir := t.TempDir()
			const units = 20
			args := []string{"-o", "prog", include, "-g", "-O1", test.version, "-gsplit-dwarf"}
			calls, declarations := "", ""
			for i := range units {
				name := fmt.Sprintf("u%d.c", i)
				require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(fmt.Sprintf(`#include "probe.h"
static INLINE void in%[1]d(int line) { PROBE3("in%[1]d|f%[1]d", line, 0); }
void f%[1]d(void) { in%[1]d(__LINE__); }
`, i)), 0o600))
				args = append(args, name)
				calls += fmt.Sprintf("f%d();", i)
				declarations += fmt.Sprintf("void f%d(void);", i)
			}
			main := declarations + "int main(void) {" + calls + "return 0; }\n"
			require.NoError(t, os.WriteFile(filepath.Join(dir, "main.c"), []byte(main), 0o600))
			command(t, dir, "gcc", "-c", "-O1", "-o", "probe.o", testdata(t, "probe.c"))
			command(t, dir, "gcc", append(args, "main.c", "probe.o")...)
			exe := filepath.Join(dir, "prog")
			list := runProbes(t, exe)
			require.Len(t, list, units)

			// gcc names the file in the probes as it was called.
			checkProbes(t, open(t, exe, Limits{}), list, fullDetail)
			command(t, dir, test.packer, "-e", exe, "-o", exe+".dwp")
			removeSplit(t, dir)
			table := open(t, exe, Limits{})
			checkProbes(t, table, list, fullDetail)
			require.Empty(t, table.Notes())
			require.Equal(t, (*sections)(nil), table.dwp.sections(1234567))

			broken, err := os.ReadFile(exe + ".dwp")
			require.NoError(t, err)
			for n := 0; n < len(broken); n += 1 + len(broken)/20 {
				require.NoError(t, os.WriteFile(exe+".dwp", broken[:n], 0o600))
				table := open(t, exe, Limits{})
				checkProbes(t, table, list, noInlines)
				require.NotEmpty(t, table.Notes())
			}
		})
	}
}

// TestSymbolSizes checks symbols that are not as compilers make them.
func TestSymbolSizes(t *testing.T) {
	dir := t.TempDir()
	command(t, dir, "gcc", "-shared", "-nostdlib", "-o", "a.so", testdata(t, "sizes.s"))
	table := open(t, filepath.Join(dir, "a.so"), Limits{})
	require.Len(t, table.code, 1)
	at := table.code[0].lo
	for i, want := range []string{
		"sized", "sized", "",
		"whole", "nested", "whole",
		"first", "first",
		"second",
		"nameless_tail", "nameless_tail",
	} {
		require.Equal(t, want, table.Lookup(at + uint64(i)).Frames[0].Function, "at %d", i)
	}
	require.Equal(t, []string{"no debug information"}, table.Notes())
}

// Test32Bit checks a 32-bit module, which cannot be run here, by way of
// addr2line.
func Test32Bit(t *testing.T) {
	dir := t.TempDir()
	needTool(t, "gcc", "addr2line")
	file := filepath.Join(dir, "a.c")
	require.NoError(t, os.WriteFile(file, []byte(`
static inline __attribute__((always_inline)) int in(int x) { return x * 3; }
int f(int x) { x += in(x);
	return x; }
int g(int x) { return f(x) + in(x); }
`), 0o600))
	for version := 2; version <= 5; version++ {
		t.Run(fmt.Sprint("DWARF ", version), func(t *testing.T) {
			command(t, dir, "gcc", "-m32", "-shared", "-nostdlib", "-fPIC", "-g", "-O1", fmt.Sprintf("-gdwarf-%d", version), "-o", "a.so", file)
			compareAddr2line(t, filepath.Join(dir, "a.so"), 1, true)
		})
	}
}

// TestDwz checks a module of which parts of the debug information were moved
// to a file that many modules share, which this package does not look at.
func TestDwz(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the test program is for amd64")
	}
	dir := t.TempDir()
	command(t, dir, "gcc", "-shared", "-nostdlib", "-o", "a.so", testdata(t, "dwz.s"))
	table := open(t, filepath.Join(dir, "a.so"), Limits{})
	start, _, _ := strings.Cut(command(t, dir, "nm", "a.so"), " T outer")
	address, err := strconv.ParseUint(start[strings.LastIndex(start, "\n")+1:], 16, 64)
	require.NoError(t, err)
	require.Equal(t, "outer (dwz.c:10)", table.Lookup(address).String())
	require.Equal(t, "? (dwz.c:3) inlined in outer (dwz.c:10)", table.Lookup(address+1).String())
	require.Equal(t, "outer (dwz.c:11)", table.Lookup(address+2).String())
	require.Empty(t, table.Notes())
}

// TestNotElf checks what is not even an ELF file.
func TestNotElf(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"empty":   "",
		"text":    "#!/bin/sh\nexit 0\n",
		"magic":   "\x7fELF",
		"zeros":   strings.Repeat("\x00", 1000),
		"partial": "\x7fELF\x02\x01\x01" + strings.Repeat("\x00", 1000),
		"ones":    "\x7fELF\x02\x01\x01" + strings.Repeat("\xff", 1000),
	} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		_, err := Open(path, "", Limits{})
		require.Error(t, err, name)
		require.Contains(t, err.Error(), path)
	}
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600))
	for _, name := range []string{"fifo", "", "missing"} {
		_, err := Open(filepath.Join(dir, name), "", Limits{})
		require.Error(t, err, name)
	}
}

// TestTruncatedWhileMapped checks that a file that shrinks under the table's
// hands, as when a program is rebuilt during its own run, does no harm.
func TestTruncatedWhileMapped(t *testing.T) {
	exe, list := buildCpp(t, t.TempDir())
	table := open(t, exe, Limits{})
	require.NoError(t, os.Truncate(exe, 100))
	for _, e := range list {
		require.NotEmpty(t, table.LookupReturn(e.offset).Frames)
	}
	require.NotEmpty(t, table.Notes())
	require.Contains(t, table.Notes()[0], "damaged file")
}

// TestTruncated checks files that end too early.
func TestTruncated(t *testing.T) {
	dir := t.TempDir()
	exe, list := buildCpp(t, dir)
	data, err := os.ReadFile(exe)
	require.NoError(t, err)
	short := filepath.Join(dir, "short")
	for n := 0; n < len(data); n += 1 + len(data)/50 {
		require.NoError(t, os.WriteFile(short, data[:n], 0o600))
		table, err := Open(short, "", Limits{DebugDirs: []string{}})
		if err != nil {
			continue
		}
		for _, e := range list {
			require.NotEmpty(t, table.LookupReturn(e.offset).Frames)
		}
		table.Close()
	}
}

// TestImpossibleSizes checks headers that promise what cannot be.
func TestImpossibleSizes(t *testing.T) {
	dir := t.TempDir()
	exe, list := buildCpp(t, dir)
	command(t, dir, "objcopy", "--compress-debug-sections=zlib", exe)
	data, err := os.ReadFile(exe)
	require.NoError(t, err)
	img, err := openImage(exe)
	require.NoError(t, err)
	defer img.close()
	shoff := binary.LittleEndian.Uint64(data[40:])
	for i, s := range img.elf.Sections {
		if !strings.HasPrefix(s.Name, ".debug") {
			continue
		}
		for name, change := range map[string]func(b []byte){
			"decompressed": func(b []byte) { binary.LittleEndian.PutUint64(b[s.Offset+8:], 1<<60) },
			"in the file":  func(b []byte) { binary.LittleEndian.PutUint64(b[shoff+uint64(64*i)+32:], 1<<60) },
			"offset":       func(b []byte) { binary.LittleEndian.PutUint64(b[shoff+uint64(64*i)+24:], 1<<62) },
			"a bit more":   func(b []byte) { binary.LittleEndian.PutUint64(b[s.Offset+8:], 1<<20) },
			"stream":       func(b []byte) { copy(b[s.Offset+40:], bytes.Repeat([]byte{0x55}, 30)) },
		} {
			broken := append([]byte(nil), data...)
			change(broken)
			path := filepath.Join(dir, "broken")
			require.NoError(t, os.WriteFile(path, broken, 0o600))
			table, err := Open(path, "", Limits{DebugDirs: []string{}})
			if err != nil {
				continue
			}
			for _, e := range list {
				physical := table.LookupReturn(e.offset).Frames
				require.NotEmpty(t, physical[len(physical)-1].Function, "%s %s", s.Name, name)
			}
			table.Close()
		}
	}
}
