package main

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// paths prints what a call path adds to an MPI call: where the walk is remembered, where it is not, and beside the
// compiler's unwinder at each call.
func (b bench) paths(m mpi) {
	b.compile(m.cc, "paths.c", "paths")
	b.compile("gcc", "backtrace.c", "backtrace.so", "-shared", "-fPIC")
	marple := "LD_PRELOAD=" + filepath.Join(b.build, "libmarple.so")
	variants := []struct {
		name, kind string
		env        []string
	}{
		{"off", "hit", []string{marple, "MARPLE_CALLPATH=off"}},
		{"site", "hit", []string{marple, "MARPLE_CALLPATH=site"}},
		{"remembered", "hit", []string{marple, "MARPLE_CALLPATH=32"}},
		{"off, sixteen callers", "wrap", []string{marple, "MARPLE_CALLPATH=off"}},
		{"sixteen callers", "wrap", []string{marple, "MARPLE_CALLPATH=32"}},
		{"off, moving stack", "miss", []string{marple, "MARPLE_CALLPATH=off"}},
		{"not remembered", "miss", []string{marple, "MARPLE_CALLPATH=32"}},
		{"bare", "hit", nil},
		{"libgcc each time", "hit", []string{"LD_PRELOAD=" + filepath.Join(b.work, "backtrace.so")}},
	}
	const rounds = 9
	fmt.Printf("\n%s: nanoseconds that call paths add to an MPI_Iprobe (thread CPU time, %d rounds, median and middle half)\n", m.name, rounds)
	fmt.Printf("%-22s %20s %20s %20s %22s %22s\n", "functions on the stack", "call site only", "path remembered", "sixteen callers", "not remembered", "libgcc each time")
	for _, depth := range []int{4, 8, 16, 32} {
		times := map[string][]float64{}
		for range rounds {
			for _, v := range variants {
				text := b.output(v.env, filepath.Join(b.work, "paths"), strconv.Itoa(depth), v.kind, "5", "20000")
				ns, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
				check(err)
				times[v.name] = append(times[v.name], ns)
			}
		}
		added := func(variant, base string) string {
			var list []float64
			for i, x := range times[variant] {
				list = append(list, x-times[base][i])
			}
			return spread(list)
		}
		fmt.Printf("%-22d %20s %20s %20s %22s %22s\n", depth, added("site", "off"), added("remembered", "off"),
			added("sixteen callers", "off, sixteen callers"), added("not remembered", "off, moving stack"), added("libgcc each time", "bare"))
	}
}
