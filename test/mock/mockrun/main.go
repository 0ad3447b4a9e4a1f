// Command mockrun starts the ranks of a mock MPI job and is the server that all
// their MPI calls go through. It is installed as mpirun.
//
//	mockrun -n 4 [--virtual] [options] PROG ARGS... [: -n 2 PROG ARGS...]
//
// Options are read from the first program's part of the command line; -n counts
// for its own part.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"

	"marple/test/mock/world"
)

// app is one program of the job and how many ranks run it.
type app struct {
	ranks int
	argv  []string
}

type plan struct {
	apps  []app
	hosts int
	skew  int64 // of each host's clock against the one before, ns
	drift int64 // likewise, ns per s
	cpu   bool  // computing takes virtual time: for as long as its thread has a core
	world world.Config
}

func parse(args []string) (*plan, error) {
	p := &plan{world: world.Config{Eager: 4096}}
	cost := world.Config{}
	for len(args) > 0 {
		var a app
		flags := flag.NewFlagSet("mockrun", flag.ContinueOnError)
		flags.IntVar(&a.ranks, "n", 1, "ranks of this program")
		flags.IntVar(&a.ranks, "np", 1, "the same")
		if p.apps == nil {
			flags.BoolVar(&p.world.Virtual, "virtual", false, "run on the virtual clock")
			flags.BoolVar(&p.cpu, "cpu", false, "run on the virtual clock, and have it go on while a rank computes: by its thread's CPU time")
			flags.Uint64Var(&cost.Latency, "latency", 1000, "virtual latency of a message in `ns`")
			flags.Uint64Var(&cost.Bandwidth, "bandwidth", 10000, "virtual bandwidth in `bytes` per µs")
			flags.Uint64Var(&cost.Overhead, "overhead", 0, "virtual time in `ns` for which a message keeps its sender busy, and its receiver")
			flags.IntVar(&p.world.Eager, "eager", 4096, "largest send that does not wait for its receive, in `bytes`")
			flags.BoolVar(&p.world.Weak, "weak", false, "move larger ones only while both ranks are in a call")
			flags.Uint64Var(&cost.Tick, "tick", 100, "virtual cost of a test or non-blocking probe in `ns`")
			flags.IntVar(&p.hosts, "hosts", 1, "spread the ranks over so many fake hosts")
			flags.Int64Var(&p.skew, "skew", 0, "how far the virtual clock that tools see is ahead of the host before, in `ns`")
			flags.Int64Var(&p.drift, "drift", 0, "how much faster it is, in `ns` per second")
		}
		if err := flags.Parse(args); err != nil {
			return nil, err
		}
		args = flags.Args()
		for len(args) > 0 && args[0] != ":" {
			a.argv, args = append(a.argv, args[0]), args[1:]
		}
		if len(args) > 0 {
			args = args[1:]
		}
		if len(a.argv) == 0 {
			return nil, errors.New("no program to run")
		}
		if a.ranks < 1 {
			return nil, fmt.Errorf("cannot run %d ranks of %s", a.ranks, a.argv[0])
		}
		p.apps = append(p.apps, a)
		p.world.Ranks += a.ranks
	}
	if p.apps == nil {
		return nil, errors.New("no program to run")
	}
	p.world.Virtual = p.world.Virtual || p.cpu
	if p.world.Virtual {
		p.world.Latency, p.world.Bandwidth, p.world.Overhead, p.world.Tick = cost.Latency, cost.Bandwidth, cost.Overhead, cost.Tick
	}
	p.hosts = min(max(p.hosts, 1), p.world.Ranks)
	return p, nil
}

// The kernel kills a rank when the thread that started it ends; the main thread
// ends with the process.
func init() { runtime.LockOSThread() }

func main() {
	p, err := parse(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(0)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mockrun:", err)
		os.Exit(2)
	}
	os.Exit(run(p))
}
