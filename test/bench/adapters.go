package main

import (
	"bufio"
	"fmt"
	"path/filepath"
	"strings"
)

// adapters prints what an event of each adapter costs: its beginning and its end; and a call on a file, with --io on.
func (b bench) adapters() {
	const rounds = 7
	b.compile("clang", "adapters.c", "adapters", "-fopenmp")
	times, names := [2]map[string][]float64{{}, {}}, []string{}
	for range rounds {
		for v, env := range [2][]string{nil, {"LD_PRELOAD=" + filepath.Join(b.build, "libmarple.so") + ":" + filepath.Join(b.build, "libmarple-io.so"), "MARPLE_IO=on"}} {
			lines := bufio.NewScanner(strings.NewReader(b.output(env, filepath.Join(b.work, "adapters"), "5", "50000")))
			for lines.Scan() {
				var name string
				var ns float64
				if n, _ := fmt.Sscan(lines.Text(), &name, &ns); n < 2 {
					continue
				}
				if times[0][name] == nil {
					names = append(names, name)
				}
				times[v][name] = append(times[v][name], ns)
			}
		}
	}
	fmt.Printf("\nNanoseconds per event of an adapter, or call on a file with --io on (thread CPU time, %d rounds, median and middle half)\n", rounds)
	fmt.Printf("%-18s %18s %18s\n", "", "bare", "Marple")
	for _, name := range names {
		fmt.Printf("%-18s %18s %18s\n", name, spread(times[0][name]), spread(times[1][name]))
	}
}
