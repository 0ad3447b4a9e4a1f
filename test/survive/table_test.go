package survive

import "fmt"

// limit starts what follows under a limit of the shell's.
func limit(what string) []string {
	return []string{"sh", "-c", "ulimit " + what + " && exec \"$@\"", "sh"}
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

	// Ends.
	{name: "MPI_Abort beside eight busy threads", source: "busy.c", flags: []string{"-pthread"}, brief: true},

	// Many places.
	{name: "calls from 5,000 places", source: "sites.c", args: []string{"4"}, on: []*mpi{mpich}},
}
