package symbol

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// needTool skips the test if a program is not installed. Where everything
// should be installed, which CI=1 in the environment says, it fails instead.
func needTool(t testing.TB, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			if os.Getenv("CI") == "1" {
				t.Fatalf("%s is not installed", name)
			}
			t.Skipf("%s is not installed", name)
		}
	}
}

// command runs a program in dir and returns what it prints.
func command(t testing.TB, dir, name string, args ...string) string {
	t.Helper()
	needTool(t, name)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	limited := fmt.Sprintf(`ulimit -t %d; exec "$@"`, processor)
	cmd := exec.CommandContext(ctx, "sh", slices.Concat([]string{"-c", limited, "sh", name}, args)...)
	cmd.Dir = dir
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var exit *exec.ExitError
	if ctx.Err() != nil || errors.As(err, &exit) && slices.Contains([]syscall.Signal{syscall.SIGXCPU, syscall.SIGKILL}, exit.Sys().(syscall.WaitStatus).Signal()) {
		t.Skipf("%s does not end", name) // llvm-dwp 19, of what gcc 14 has compiled
	}
	require.NoError(t, err, "%s %s\n%s", name, strings.Join(args, " "), stderr.String())
	return string(out)
}

// A compiler, or another tool, is taken for hung after so long, or when it has computed for so many seconds: none takes three.
const (
	patience  = 5 * time.Minute
	processor = 60
)

// accepts reports whether a compiler knows some flags.
func accepts(t testing.TB, compiler string, flags ...string) bool {
	t.Helper()
	needTool(t, compiler)
	args := append([]string{"-x", "c", "-", "-c", "-Werror", "-o", filepath.Join(t.TempDir(), "a.o")}, flags...)
	cmd := exec.Command(compiler, args...)
	cmd.Stdin = strings.NewReader("int x;\n")
	return cmd.Run() == nil
}

// testdata returns the absolute path of a file in testdata, so that compilers
// can be run elsewhere.
func testdata(t testing.TB, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("testdata", name))
	require.NoError(t, err)
	return path
}

// A program is a test program to be built.
type program struct {
	compiler string   // of source
	source   string   // a file in testdata
	flags    []string // for source; those that begin with "-Wl," are for the linker
	link     string   // "pie", "no-pie", or "shared": source is in a shared library
}

// cCompiler returns the C compiler of the same family.
func (p program) cCompiler() string {
	return map[string]string{"g++": "gcc", "clang++": "clang", "gfortran": "gcc"}[p.compiler]
}

// build builds the program in dir. It returns the executable, and the module
// with the code of source, which is the same but for shared libraries.
func (p program) build(t testing.TB, dir string) (exe, module string) {
	t.Helper()
	var compile, link []string
	for _, f := range p.flags {
		if strings.HasPrefix(f, "-Wl,") {
			link = append(link, f)
		} else {
			compile = append(compile, f)
		}
	}
	mode := "-fPIE"
	switch p.link {
	case "no-pie":
		mode = "-fno-pie"
	case "shared":
		mode = "-fPIC"
	}
	compile = append(compile, mode)
	cc := p.cCompiler()
	if cc == "" {
		cc = p.compiler
	}

	source := slices.Clone(compile)
	if p.compiler == "gfortran" {
		source = append(source, "-cpp", "-DFILE='"+p.source+" '")
	}
	compiled(t, dir, "source.o", p.compiler, append(source, testdata(t, p.source))...)
	// The rest must not have debug information, or the test might pass
	// because of that.
	compiled(t, dir, "probe.o", cc, "-O1", mode, testdata(t, "probe.c"))
	compiled(t, dir, "main.o", cc, "-O1", mode, testdata(t, "main.c"))
	objects := []string{"source.o", "probe.o"}
	if p.compiler != "gfortran" && p.link != "shared" {
		objects = append(objects, "main.o")
	}
	if p.compiler == "clang" && p.source == "omp.c" {
		command(t, dir, cc, "-c", "-O1", mode, "-o", "kmpc.o", testdata(t, "kmpc.c"))
		objects = append(objects, "kmpc.o")
	} else if p.source == "omp.c" || p.source == "omp.f90" {
		link = append(link, "-fopenmp")
	}
	for _, f := range compile {
		if strings.HasPrefix(f, "-flto") || strings.HasPrefix(f, "-g") || strings.HasPrefix(f, "-O") {
			link = append(link, f)
		}
	}

	exe = filepath.Join(dir, "prog")
	switch p.link {
	case "shared":
		module = filepath.Join(dir, "libprog.so")
		command(t, dir, p.compiler, append(append([]string{"-shared", "-o", module}, objects...), link...)...)
		command(t, dir, cc, "-o", exe, "main.o", module, "-Wl,-rpath,"+dir)
		return exe, module
	case "no-pie":
		link = append(link, "-no-pie")
	default:
		link = append(link, "-pie")
	}
	command(t, dir, p.compiler, append(append([]string{"-o", exe}, objects...), link...)...)
	return exe, exe
}

// An object is what a compiler has made of a file.
type object struct {
	sync.Mutex
	data []byte
}

// objects are all there are, by command line: many tests use the same.
var objects sync.Map

// compiled compiles a file, once for all tests that ask for the same; but for those that leave further files in their directory.
func compiled(t testing.TB, dir, file, compiler string, args ...string) {
	t.Helper()
	line := append([]string{"-c", "-o", file}, args...)
	if slices.Contains(args, "-gsplit-dwarf") || compiler == "gfortran" {
		command(t, dir, compiler, line...)
		return
	}
	found, _ := objects.LoadOrStore(fmt.Sprintf("%s %q", compiler, line), &object{})
	o := found.(*object)
	o.Lock()
	defer o.Unlock()
	if o.data == nil {
		command(t, dir, compiler, line...)
		data, err := os.ReadFile(filepath.Join(dir, file))
		require.NoError(t, err)
		o.data = data
		return
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, file), o.data, 0o666))
}

// An expectation is what a test program says about one of its addresses.
type expectation struct {
	offset uint64   // of the return address
	names  []string // innermost first
	files  []string // base names
	lines  []int
}

// runProbes runs a test program and returns what it says.
func runProbes(t testing.TB, exe string) []expectation {
	t.Helper()
	var list []expectation
	for _, line := range strings.Split(command(t, filepath.Dir(exe), exe), "\n") {
		f := strings.Split(line, "\t")
		if f[0] != "PROBE" {
			continue
		}
		require.Len(t, f, 8, "%q", line)
		offset, err := strconv.ParseUint(f[1], 0, 64)
		require.NoError(t, err)
		e := expectation{offset: offset, names: strings.Split(f[3], "|")}
		files := strings.Split(f[4], "|")
		for i := range e.names {
			n, err := strconv.Atoi(f[5+i])
			require.NoError(t, err)
			e.names[i] = strings.ReplaceAll(e.names[i], "@", " ") // Fortran
			e.lines = append(e.lines, n)
			e.files = append(e.files, Short(files[min(i, len(files)-1)]))
		}
		list = append(list, e)
	}
	require.NotEmpty(t, list)
	return list
}

// matches reports whether name is what a pattern of a test program stands for.
func matches(pattern, name string) bool {
	re := strings.ReplaceAll(regexp.QuoteMeta(pattern), "%", ".+")
	return regexp.MustCompile("^" + re + "$").MatchString(name)
}

// How much of what a test program expects a test expects.
type detail int

const (
	fullDetail detail = iota // functions, inlined functions, lines
	noInlines                // functions and lines
	noLines                  // functions and inlined functions
	noNames                  // lines, and some name
	symbolsOnly
	dynamicOnly // functions that are visible from outside
	nothing
)

// checkProbes compares what a table says with what a test program expects.
func checkProbes(t testing.TB, table *Table, list []expectation, want detail) {
	t.Helper()
	for _, e := range list {
		got := table.LookupReturn(e.offset)
		require.NotEmpty(t, got.Frames)
		last := len(e.names) - 1 // the function that is not inlined
		physical := got.Frames[len(got.Frames)-1]
		label := func() string { return strings.Join(e.names, "|") + " at " + got.String() }
		switch want {
		case nothing:
			require.Equal(t, Unresolved(table.path, e.offset), got)
		case dynamicOnly:
			require.Empty(t, physical.File)
			if physical.Function != "" {
				require.True(t, matches(symbolName(e.names[last]), physical.Function), label())
			}
		case symbolsOnly:
			require.Len(t, got.Frames, 1)
			require.Equal(t, Frame{Function: physical.Function}, physical, label())
			require.True(t, matches(symbolName(e.names[last]), physical.Function), label())
		case noLines:
			for i, f := range got.Frames[:len(e.names)] {
				require.True(t, matches(e.names[i], f.Function), label())
				require.Empty(t, f.File)
			}
		case noNames:
			require.NotEmpty(t, physical.Function)
			for i, f := range got.Frames[:len(e.names)] {
				require.Equal(t, e.files[i], Short(f.File), label())
				require.Equal(t, e.lines[i], f.Line, label())
			}
		case noInlines:
			require.Len(t, got.Frames, 1, label())
			require.True(t, matches(symbolName(e.names[last]), physical.Function) || matches(e.names[last], physical.Function), label())
			require.Equal(t, e.files[0], Short(physical.File), label())
			require.Equal(t, e.lines[0], physical.Line, label())
		case fullDetail:
			// A function may be inlined into more than the program knows of.
			require.GreaterOrEqual(t, len(got.Frames), len(e.names), label())
			for i, f := range got.Frames[:len(e.names)] {
				require.True(t, matches(e.names[i], f.Function), "%q is not %q in %s", f.Function, e.names[i], label())
				require.Equal(t, e.files[i], Short(f.File), label())
				require.Equal(t, e.lines[i], f.Line, label())
				require.Equal(t, i < len(got.Frames)-1, f.Inlined, label())
			}
		}
	}
}

// symbolName returns what the symbol table makes of a name that debug
// information would give.
func symbolName(name string) string {
	switch name {
	case "solver::step::inner":
		return "inner%" // as in inner.0
	case "driver":
		return "MAIN"
	case "ext":
		return "ext_"
	case "ext [omp 0]":
		return "ext_ [omp 0]"
	}
	return name
}

// open opens a table that is closed at the end of the test. It looks for debug
// files only in dirs, so that what is installed here does not matter.
func open(t testing.TB, path string, lim Limits) *Table {
	t.Helper()
	if lim.DebugDirs == nil {
		lim.DebugDirs = []string{}
	}
	table, err := Open(path, "", lim)
	require.NoError(t, err)
	t.Cleanup(table.Close)
	return table
}
