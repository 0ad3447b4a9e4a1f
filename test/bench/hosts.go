package main

import (
	"bufio"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// threads prints the time added to each MPI call when one thread calls, and when two do at once.
func (b bench) threads(m mpi) {
	const rounds = 7
	program := filepath.Join(b.work, "threads")
	b.compile(m.cc, "threads.c", "threads", "-pthread")
	added := map[string]map[string][]float64{} // threads, call
	bare := map[string][]float64{}
	var names []string
	for range rounds {
		for _, n := range []string{"1", "2"} {
			times := [2]map[string]float64{{}, {}}
			for v, env := range [2][]string{nil, {"LD_PRELOAD=" + filepath.Join(b.build, "libmarple.so")}} {
				lines := bufio.NewScanner(strings.NewReader(b.output(env, program, n, "10", "50000")))
				for lines.Scan() {
					var name string
					var ns float64
					fmt.Sscan(lines.Text(), &name, &ns)
					times[v][name] = ns
					if added[n] == nil {
						added[n] = map[string][]float64{}
					}
					if v == 0 && len(added["1"][name]) == 0 && n == "1" {
						names = append(names, name)
					}
				}
			}
			for name, ns := range times[0] {
				added[n][name] = append(added[n][name], times[1][name]-ns)
				bare[n+name] = append(bare[n+name], ns)
			}
		}
	}
	fmt.Printf("\n%s: nanoseconds added per call, one thread and two at once (thread CPU time, %d rounds)\n", m.name, rounds)
	fmt.Printf("%-22s %10s %20s %10s %20s %8s\n", "", "bare, 1", "added, 1 thread", "bare, 2", "added, 2 threads", "ratio")
	for _, name := range names {
		one, two := added["1"][name], added["2"][name]
		fmt.Printf("%-22s %10.1f %20s %10.1f %20s %8.2f\n", name, median(bare["1"+name]), spread(one), median(bare["2"+name]), spread(two),
			median(two)/max(median(one), 0.1))
	}
}

// start prints what `marple exec` adds to the start of a process, and what the preloaded library does.
func (b bench) start() {
	const rounds = 100
	marple, library := filepath.Join(b.build, "marple"), filepath.Join(b.build, "libmarple.so")
	lines := [][]string{{"/bin/true"}, {"env", "LD_PRELOAD=" + library, "/bin/true"}, {"env", "A=B", "/bin/true"}, {marple, "exec", "/bin/true"}}
	times := make([][]float64, len(lines))
	for range rounds {
		for i, line := range lines {
			begin := time.Now()
			check(exec.Command(line[0], line[1:]...).Run())
			times[i] = append(times[i], float64(time.Since(begin).Microseconds())/1000)
		}
	}
	preload := median(times[1]) - median(times[2])
	fmt.Printf("\nStart of a process, /bin/true, %d rounds (ms)\n", rounds)
	fmt.Printf("%-40s %20s\n", "bare", spread(times[0]))
	fmt.Printf("%-40s %20s %+8.2f\n", "under marple exec", spread(times[3]), median(times[3])-median(times[0]))
	fmt.Printf("%-40s %20s %+8.2f\n", "  of that, the library's loading", "", preload)
}
