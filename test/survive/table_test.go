package survive

// limit starts what follows under a limit of the shell's.
func limit(what string) []string {
	return []string{"sh", "-c", "ulimit " + what + " && exec \"$@\"", "sh"}
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
}
