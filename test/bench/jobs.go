package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// usage is what a job has taken.
type usage struct{ wall, cpu, memory float64 } // s, s of all processes, MiB of the largest

// job runs a command with a run directory of its own.
func (b bench) job(variables []string, name string, arguments ...string) usage {
	directory, err := os.MkdirTemp(b.work, "job-")
	check(err)
	defer os.RemoveAll(directory)
	c := exec.Command(name, arguments...)
	c.Dir = directory
	c.Env = append(os.Environ(), variables...)
	begin := time.Now()
	if text, err := c.CombinedOutput(); err != nil {
		check(fmt.Errorf("%s: %w\n%s", name, err, text))
	}
	wall := time.Since(begin).Seconds()
	return usage{wall, (c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Seconds(),
		float64(c.ProcessState.SysUsage().(*syscall.Rusage).Maxrss) / 1024}
}

// jobs prints what a whole job takes, from its start to the end of its launcher: bare, without a log of events, and as it is
// by default. The difference between the last two is what keeping and replaying the log costs.
func (b bench) jobs(m mpi) {
	const rounds = 7
	b.compile(m.cc, "ring.c", "ring")
	program := filepath.Join(b.work, "ring")
	marple := filepath.Join(b.build, "marple")
	variants := [][]string{{program}, {marple, "exec", "--log", "0", program}, {marple, "exec", program}}
	fmt.Printf("\n%s: a whole job of a ring exchange, %d rounds, median and middle half\n", m.name, rounds)
	fmt.Printf("%5s %9s %10s %22s %22s %22s %6s %12s %10s %10s\n", "ranks", "steps", "calls/rank", "bare (ms)", "Marple, no log (ms)",
		"Marple (ms)", "ratio", "CPU +s/rank", "MiB bare", "MiB Marple")
	for _, size := range []struct{ ranks, steps int }{{2, 0}, {2, 10_000}, {2, 100_000}, {2, 400_000}, {16, 0}, {16, 1000}} {
		var walls, cpus, memories [3][]float64
		for range rounds {
			for v, command := range variants {
				line := append(append([]string{"-n", fmt.Sprint(size.ranks)}, m.oversized...), slices.Concat(command, []string{fmt.Sprint(size.steps)})...)
				u := b.job(nil, m.run, line...)
				walls[v], cpus[v], memories[v] = append(walls[v], 1000*u.wall), append(cpus[v], u.cpu), append(memories[v], u.memory)
			}
		}
		fmt.Printf("%5d %9d %10d %22s %22s %22s %6.2f %12.3f %10.0f %10.0f\n", size.ranks, size.steps, 3*size.steps, spread(walls[0]), spread(walls[1]),
			spread(walls[2]), median(walls[2])/median(walls[0]), (median(cpus[2])-median(cpus[0]))/float64(size.ranks), median(memories[0]),
			median(memories[2]))
	}
}
