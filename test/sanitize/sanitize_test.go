// Package sanitize runs the shim (cshim, pmpi) under the tools that find what tests do not: the thread
// sanitizer, the address and undefined-behaviour sanitizers, valgrind. The MPI is the mock, built in the same
// way, since no sanitizer understands the inside of a library that was built without it.
package sanitize

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"marple/test/harness"
)

var top, build string

func TestMain(m *testing.M) {
	var err error
	if top, err = filepath.Abs("../.."); err == nil {
		build = filepath.Join(top, "build")
		var out []byte
		if out, err = exec.Command("make", "-C", top, "build", "mock").CombinedOutput(); err != nil {
			os.Stderr.Write(out)
		}
	}
	if err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// sanitized is the shim, the mock MPI and programs built with a sanitizer.
type sanitized struct{ sanitizer, directory string }

func sanitize(t *testing.T, sanitizer string) sanitized {
	t.Helper()
	s := sanitized{sanitizer, t.TempDir()}
	mock := exec.Command(filepath.Join(top, "test", "mock", "build.sh"), filepath.Join(s.directory, "mock"))
	mock.Env = append(os.Environ(), "MOCK_CFLAGS=-fsanitize="+sanitizer, "MOCK_FOREIGN=no")
	out, err := mock.CombinedOutput()
	require.NoError(t, err, "%s", out)

	var sources []string
	for _, pattern := range []string{"cshim/*.c", "cshim/adapters/*.c", "pmpi/*.c", "build/gen/functions.gen.c", "build/gen/wrappers.gen.c"} {
		files, err := filepath.Glob(filepath.Join(top, pattern))
		require.NoError(t, err)
		require.NotEmpty(t, files, pattern)
		sources = append(sources, files...)
	}
	objects := make([]string, len(sources))
	var group sync.WaitGroup
	cores := make(chan struct{}, 2)
	for i, source := range sources {
		_, err := os.ReadFile(source) // so that go test repeats this when it has changed
		require.NoError(t, err)
		objects[i] = filepath.Join(s.directory, strings.ReplaceAll(source, "/", "_")+".o")
		optimise := "-O1"
		if strings.HasSuffix(source, "wrappers.gen.c") { // whose inlined checks take a minute to optimise
			optimise = "-O0"
		}
		group.Add(1)
		go func() {
			defer group.Done()
			cores <- struct{}{}
			defer func() { <-cores }()
			compiler := exec.Command("gcc", "-std=gnu11", "-D_GNU_SOURCE", "-fPIC", "-fvisibility=hidden", "-ftls-model=initial-exec", "-g",
				"-fno-omit-frame-pointer", optimise, "-fsanitize="+sanitizer, "-I"+filepath.Join(build, "gen"), "-I"+filepath.Join(top, "cshim"),
				"-I"+filepath.Join(top, "pmpi"), "-c", source, "-o", objects[i])
			out, err := compiler.CombinedOutput()
			assert.NoError(t, err, "%s", out)
		}()
	}
	group.Wait()
	out, err = exec.Command("gcc", append(objects, "-fsanitize="+sanitizer, "-shared", "-Wl,-soname,libmarple.so", "-Wl,-z,now,-z,nodelete",
		"-o", s.shim(), "-ldl", "-lm", "-lpthread")...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return s
}

func (s sanitized) shim() string { return filepath.Join(s.directory, "libmarple.so") }

// program builds a program of test/apps.
func (s sanitized) program(t *testing.T, name string, arguments ...string) string {
	t.Helper()
	out := filepath.Join(s.directory, filepath.Base(name))
	line := append([]string{"-std=gnu11", "-O1", "-g", "-I" + filepath.Join(top, "cshim", "include"), "-fsanitize=" + s.sanitizer, "-o", out,
		apps(name + ".c")}, arguments...)
	output, err := exec.Command(filepath.Join(s.directory, "mock", "bin", "mpicc"), append(line, "-pthread", "-ldl", "-lm")...).CombinedOutput()
	require.NoError(t, err, "%s", output)
	return out
}

// tau is a program that has the stand-in for TAU in it, and the variables that make that load the library as a plugin.
func (s sanitized) tau(t *testing.T) (program string, variables []string) {
	return s.program(t, "tau/program", apps("tau/host.c"), "-rdynamic"), []string{"TAU_PLUGINS=libmarple.so", "TAU_PLUGINS_PATH=" + s.directory, "HOST_METRICS=A,B"}
}

func apps(name string) string { return filepath.Join(top, "test", "apps", name) }

// run starts ranks with a library preloaded, and returns what they say on stderr.
func run(t *testing.T, mpirun, library string, variables []string, line ...string) (stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Minute) // it hangs
	defer cancel()
	command := exec.CommandContext(ctx, mpirun, append([]string{"-n", "2", "env", "LD_PRELOAD=" + library}, line...)...)
	command.Dir = t.TempDir()
	command.Env = append(os.Environ(), variables...)
	var out, errors strings.Builder
	command.Stdout, command.Stderr = &out, &errors
	err := command.Run()
	assert.NoError(t, err, "%s\n%s", strings.Join(line, " "), tail(errors.String()))
	return out.String(), errors.String()
}

func tail(text string) string { return text[max(0, len(text)-8000):] }

func (s sanitized) run(t *testing.T, variables []string, line ...string) (stdout, stderr string) {
	t.Helper()
	return run(t, filepath.Join(s.directory, "mock", "bin", "mpirun"), s.shim(), variables, line...)
}

// With the core, which aggregates for several threads at once, and without, where they spill to files.
var cores = []string{"core", "no core"}

func core(name string) string {
	if name == "no core" {
		return "MARPLE_CORE=none"
	}
	return "MARPLE_CORE=" + filepath.Join(build, "libmarple-core.so")
}

func TestThreadSanitizer(t *testing.T) {
	s := sanitize(t, "thread")
	threads := s.program(t, "hosts/threads")
	tau, plugin := s.tau(t)
	t.Run("TAU", func(t *testing.T) {
		_, err := s.run(t, append(plugin, core("core"), "TSAN_OPTIONS=exitcode=66", "MARPLE_FULL=on"), tau, "threads")
		assert.NotContains(t, err, "WARNING: ThreadSanitizer", tail(err))
		assert.Contains(t, err, "\nReported     from threads", tail(err))
	})
	for _, name := range cores {
		t.Run(name, func(t *testing.T) {
			out, err := s.run(t, []string{core(name), "TSAN_OPTIONS=exitcode=66"}, threads, "4000")
			assert.Equal(t, 2, strings.Count(out, "ok "), out)
			assert.NotContains(t, err, "WARNING: ThreadSanitizer", tail(err))
			assert.Equal(t, name == "core", strings.Contains(err, "\nEfficiency "), tail(err))
		})
	}
}

func TestAddressAndUndefinedBehaviourSanitizers(t *testing.T) {
	s := sanitize(t, "address,undefined")
	parts, err := filepath.Glob(apps("everything/*.c"))
	require.NoError(t, err)
	everything, scratch := s.program(t, "everything", parts...), t.TempDir()
	threads, stacks, processes := s.program(t, "hosts/threads"), s.program(t, "hosts/stacks"), s.program(t, "hosts/processes")
	tau, plugin := s.tau(t)
	for _, name := range cores {
		for _, line := range [][]string{{everything, scratch}, {threads, "2000"}, {stacks, "many"}, {processes, "forks"}, {tau}} {
			t.Run(name+" "+filepath.Base(line[0]), func(t *testing.T) {
				options := []string{core(name), "ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0", "UBSAN_OPTIONS=print_stacktrace=1"}
				if line[0] == tau {
					options = append(options, plugin...)
				}
				_, err := s.run(t, options, line...)
				assert.NotContains(t, err, "ERROR: AddressSanitizer", tail(err))
				assert.NotContains(t, err, "runtime error:", tail(err))
				assert.Equal(t, name == "core", strings.Contains(err, "\nEfficiency "), tail(err))
			})
		}
	}
}

// The shim as it is built for use, and without the core: valgrind does not understand Go's stacks.
func TestMemcheck(t *testing.T) {
	if _, err := exec.LookPath("valgrind"); err != nil {
		harness.Missing(t, "valgrind")
	}
	mock, program := filepath.Join(build, "mock", "bin"), filepath.Join(t.TempDir(), "threads")
	out, err := exec.Command(filepath.Join(mock, "mpicc"), "-std=gnu11", "-O1", "-g", "-I"+filepath.Join(top, "cshim", "include"), "-o", program,
		apps("hosts/threads.c"), "-pthread", "-ldl").CombinedOutput()
	require.NoError(t, err, "%s", out)
	_, said := run(t, filepath.Join(mock, "mpirun"), filepath.Join(build, "libmarple.so"), []string{core("no core")},
		"valgrind", "--quiet", "--error-exitcode=9", "--fair-sched=yes", program, "1000")
	assert.NotContains(t, said, "==", tail(said))
}
