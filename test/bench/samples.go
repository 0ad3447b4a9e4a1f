package main

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// samples prints by how much timer samples make computing longer. The kernel looks at timers of CPU time at its ticks,
// of which there may be fewer a second than are asked for.
func (b bench) samples(m mpi) {
	const rounds = 9
	b.compile(m.cc, "samples.c", "samples")
	rates := []string{"0", "100", "1000"}
	fmt.Printf("\n%s: CPU time that samples add to computing, 16 functions deep (%d rounds of 0.5 s, median and middle half)\n", m.name, rounds)
	times := map[string][]float64{}
	for range rounds {
		for _, rate := range rates {
			text := b.output([]string{"LD_PRELOAD=" + filepath.Join(b.build, "libmarple.so"), "MARPLE_SAMPLE=" + rate},
				filepath.Join(b.work, "samples"), "16", "200000000")
			ns, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
			check(err)
			times[rate] = append(times[rate], ns)
		}
	}
	for _, rate := range rates[1:] {
		var added []float64
		for i, ns := range times[rate] {
			added = append(added, 100*(ns/times["0"][i]-1))
		}
		fmt.Printf("%7s Hz %20s %%\n", rate, spread(added))
	}
}
