package survive

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// limit starts what follows under a limit of the shell's.
func limit(what string) []string {
	return []string{"sh", "-c", "ulimit " + what + " && exec \"$@\"", "sh"}
}

// goes builds the program in Go.
func goes(t *testing.T, m *mpi) string {
	need(t, m.cc)
	out := filepath.Join(t.TempDir(), "goes")
	build := exec.Command("go", "build", "-tags", "mpi", "-o", out, "./programs/goes")
	build.Env = append(os.Environ(), "CGO_ENABLED=1", "CC="+m.cc)
	output, err := build.CombinedOutput()
	require.NoError(t, err, string(output))
	return out
}

// javaMachine is the library of one that is installed.
func javaMachine() string {
	for _, pattern := range []string{"/usr/lib/jvm/default-java", "/usr/lib/jvm/*"} {
		if list, _ := filepath.Glob(pattern + "/lib/server/libjvm.so"); len(list) > 0 {
			return list[0]
		}
	}
	return "libjvm.so"
}

var generated = []string{"-I", "@build/gen", "-Wno-deprecated-declarations", "-ldl"}

func init() {
	const parts = 8
	for part := range parts {
		subjects = append(subjects, subject{name: fmt.Sprintf("wrong arguments of every function, part %d of %d", part+1, parts), source: "arguments.c", alone: true,
			on: []*mpi{openMPI}, flags: generated, args: []string{"erroneous", fmt.Sprint(part), fmt.Sprint(parts)}})
	}
}

var subjects = []subject{
	{name: "a ring of messages", source: "sends.c", ranks: 2, brief: true},
	{name: "a ring of messages, without call paths", source: "sends.c", ranks: 2, exec: []string{"--callpath", "off"}, brief: true},
	{name: "a ring of messages, with functions alone", source: "sends.c", ranks: 2, exec: []string{"--callpath", "1"}},

	// Code that comes and goes.
	{name: "plugins opened and closed in turn", source: "plugins.c", flags: []string{"-ldl"}, args: []string{"./large.so", "./small.so"},
		made: []string{"large.so: -shared -fPIC -DPLUGIN=9 @/plugin.c", "small.so: -shared -fPIC -DPLUGIN=1 @/plugin.c"}, brief: true},

	// Little stack.
	{name: "MPI_Finalize on a fiber", source: "stacks.c", flags: []string{"-pthread"}, args: []string{"fiber"}, brief: true},
	{name: "MPI_Finalize in a thread of 64 KiB", source: "stacks.c", flags: []string{"-pthread"}, args: []string{"thread"}, brief: true},
	{name: "MPI_Finalize in main under ulimit -s 128", source: "stacks.c", flags: []string{"-pthread"}, args: []string{"main"}, before: limit("-s 128"), brief: true},

	{name: "little data, under ulimit -d", source: "sends.c", ranks: 2, before: limit("-d 200000"), brief: true},

	{name: "calls below 60,000 others", source: "deep.c", flags: []string{"-pthread"}, args: []string{"recursion"}, brief: true},
	{name: "16 threads under MPI_THREAD_MULTIPLE", source: "deep.c", flags: []string{"-pthread"}, args: []string{"threads"}, brief: true},
	{name: "MPI_Comm_spawn", source: "deep.c", flags: []string{"-pthread"}, args: []string{"spawn"}, on: []*mpi{openMPI}}, // MPICH's launcher refuses it here

	// Hosts: how a program is built, and what it runs in.
	{name: "an executable stack", source: "sends.c", ranks: 2, flags: []string{"-z", "execstack"}},
	{name: "gprof", source: "sends.c", ranks: 2, flags: []string{"-pg"}, env: []string{"GMON_OUT_PREFIX=./gmon"}},
	{name: "the address sanitizer", source: "sends.c", ranks: 2, flags: []string{"-fsanitize=address"}, env: []string{"ASAN_OPTIONS=detect_leaks=0"}},
	{name: "the sanitizer of undefined behaviour", source: "sends.c", ranks: 2, flags: []string{"-fsanitize=undefined"}},
	{name: "the thread sanitizer", source: "sends.c", ranks: 2, on: []*mpi{openMPI}, // MPICH dies of it at its end, bare as well
		flags: []string{"-fsanitize=thread"}, env: []string{"TSAN_OPTIONS=report_bugs=0"}},
	{name: "a Java virtual machine in the process", source: "jvm.c", flags: []string{"-ldl"}, args: []string{javaMachine()}, needs: []string{"java"}}, // default-jre-headless
	{name: "jemalloc, linked", source: "sends.c", ranks: 2, flags: []string{"-l:libjemalloc.so.2"}, brief: true},
	{name: "tcmalloc, preloaded", source: "sends.c", ranks: 2, before: []string{"env", "LD_PRELOAD=libtcmalloc_minimal.so.4"}},
	{name: "fibers of Boost.Context", source: "context.cpp", flags: []string{"-lboost_context"}},
	{name: "two Go runtimes", program: goes},
	{name: "valgrind", source: "sends.c", on: []*mpi{mpich}, needs: []string{"valgrind"}, inside: []string{"valgrind", "-q"}},

	// Sandboxes that are closed after MPI_Init.
	{name: "a seccomp filter that kills on openat", source: "sandbox.c", args: []string{"openat-kills"}, brief: true},
	{name: "a seccomp filter that denies openat", source: "sandbox.c", args: []string{"openat-denied"}, brief: true},
	{name: "a seccomp filter that denies mmap", source: "sandbox.c", args: []string{"mmap-denied"}, brief: true},
	{name: "chroot", source: "sandbox.c", args: []string{"chroot"}, brief: true},

	// Other tools.
	{name: "a tool behind listens to MPI_Pcontrol", source: "pcontrol.c", brief: true, before: []string{"env", "LD_PRELOAD=./listener.so"},
		made: []string{"listener.so: -shared -fPIC @/listener.c"}},

	// Arguments.
	{name: "arguments that are null, or may be undefined", source: "probes.c", alone: true, brief: true,
		flags: []string{"-Wno-nonnull", "-Wno-unused-value"}},

	// Every function of the table. Open MPI dies of many of the arguments, and begins slowly again.
	{name: "wrong arguments of every function", source: "arguments.c", alone: true, brief: true, on: []*mpi{mpich}, flags: generated, args: []string{"erroneous"}},
	{name: "arguments that are ignored, of every function", source: "arguments.c", ranks: 3, brief: true, flags: generated, args: []string{"ignored"}},

	// Calls that do not return.
	{name: "exceptions out of an error handler and an operation", source: "throws.cpp", brief: true},
	{name: "longjmp out of an error handler", source: "leaves.c", flags: []string{"-pthread"}, args: []string{"longjmps"}, brief: true},
	{name: "longjmp out of an error handler, checked", source: "leaves.c", args: []string{"longjmps"}, brief: true,
		flags: []string{"-pthread", "-O2", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2"}},
	{name: "longjmp within an operation", source: "leaves.c", flags: []string{"-pthread"}, args: []string{"within"}, brief: true},
	{name: "siglongjmp from a signal stack out of an error handler", source: "leaves.c", flags: []string{"-pthread"}, args: []string{"signals"}, brief: true},
	{name: "pthread_exit in an error handler", source: "leaves.c", flags: []string{"-pthread"}, args: []string{"threads"}, brief: true},
	{name: "longjmp out of MPI_Waitany", source: "leaves.c", on: []*mpi{openMPI}, // MPICH keeps a lock
		flags: []string{"-pthread"}, args: []string{"held"}, brief: true},
	{name: "a thread that is to be cancelled", source: "leaves.c", flags: []string{"-pthread"}, args: []string{"cancelled"}, brief: true},

	// Ends.
	{name: "MPI_Abort beside eight busy threads", source: "busy.c", flags: []string{"-pthread"}, brief: true},

	// Legal, and rare.
	{name: "MPI in a thread that is not the first", source: "unusual.c", ranks: 2, flags: []string{"-pthread"}, args: []string{"another_thread"}},
	{name: "operations that ask the library", source: "unusual.c", ranks: 2, flags: []string{"-pthread"}, args: []string{"operations"}},
	{name: "attributes whose functions call MPI", source: "unusual.c", ranks: 2, flags: []string{"-pthread"}, args: []string{"attributes"}},
	{name: "generalized requests", source: "unusual.c", ranks: 2, flags: []string{"-pthread"}, args: []string{"generalized"}},
	{name: "MPI_T before MPI_Init and after MPI_Finalize", source: "unusual.c", ranks: 2, on: []*mpi{mpich}, // Open MPI dies of it, bare as well
		flags: []string{"-pthread"}, args: []string{"before_and_after"}},
	{name: "a timer of 1 kHz", source: "unusual.c", ranks: 2, flags: []string{"-pthread"}, args: []string{"timer"}},
	{name: "vfork, posix_spawn, system, popen, a daemon", source: "unusual.c", ranks: 2, flags: []string{"-pthread"}, args: []string{"starts"}},
	{name: "low limits after MPI_Init", source: "unusual.c", ranks: 2, on: []*mpi{openMPI}, // MPICH's UCX prints without end
		flags: []string{"-pthread"}, args: []string{"limits"}},
	{name: "another user after MPI_Init", source: "unusual.c", ranks: 2, brief: true, flags: []string{"-pthread"}, args: []string{"another_user"}},
	{name: "all memory locked", source: "unusual.c", ranks: 2, flags: []string{"-pthread"}, args: []string{"locked"}},
	{name: "all memory locked, under ulimit -l", source: "unusual.c", ranks: 2, brief: true, flags: []string{"-pthread"}, args: []string{"locked_in_limits"}},
	{name: "MPI_BOTTOM, types of several pieces and of none", source: "unusual.c", ranks: 2, flags: []string{"-pthread"}, args: []string{"bottom"}},
	{name: "ports, intercommunicators, MPI_Comm_disconnect", source: "unusual.c", ranks: 2, flags: []string{"-pthread"}, args: []string{"halves"}},
	{name: "persistent requests, cancelled and freed ones", source: "unusual.c", ranks: 2, flags: []string{"-pthread"}, args: []string{"persistent"}},
	{name: "partitioned communication", source: "unusual.c", ranks: 2, on: []*mpi{mpich}, flags: []string{"-pthread"}, args: []string{"partitioned"}},
	{name: "a function of the program's called clone", source: "unusual.c", ranks: 2, brief: true, flags: []string{"-pthread", "-fno-builtin", "-DNAMES"},
		args: []string{"early"}},
	{name: "MPI_Finalize in a destructor", source: "unusual.c", ranks: 2, flags: []string{"-pthread"}, args: []string{"destructor"}},

	// Many places.
	{name: "calls from 5,000 places", source: "sites.c", args: []string{"4"}, on: []*mpi{mpich}},
}
