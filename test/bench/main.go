// Command bench measures what Marple costs, side by side with what it is compared with, in one run:
// A B A B …, so that whatever else the machine does hits all alike. It prints medians, and the spread as
// the range of the middle half. It is no test: nothing fails because a figure is bad.
//
//	bench [BUILD-DIRECTORY [PART]]
package main

import (
	"bufio"
	"bytes"
	"fmt"
	"log"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

type mpi struct {
	name      string
	cc, run   string
	oversized []string // flags for more ranks than cores
	peers     []peer
}

// peer is another tool that looks at each call.
type peer struct {
	name, library string
	env           []string
}

var libraries = []mpi{
	{"Open MPI", "mpicc.openmpi", "mpirun.openmpi", []string{"--oversubscribe"}, []peer{
		{"IPM", "ipm/libipm.so", []string{"IPM_REPORT=none", "IPM_LOG=none"}},
		{"TALP", "dlb/libdlb_mpi.so", []string{"DLB_ARGS=--talp"}},
	}},
	{"MPICH", "mpicc.mpich", "mpirun.mpich", nil, nil},
}

func main() {
	log.SetFlags(0)
	build := "build"
	if len(os.Args) > 1 {
		build = os.Args[1]
	}
	build, err := filepath.Abs(build)
	check(err)
	work, err := os.MkdirTemp("", "marple-bench-")
	check(err)
	defer os.RemoveAll(work)
	os.Setenv("OMPI_ALLOW_RUN_AS_ROOT", "1")
	os.Setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
	os.Setenv("MARPLE_REPORT", "none")
	b := bench{build: build, work: work}
	b.compile("gcc", "clocks.c", "gettime.so", "-shared", "-fPIC")
	b.compile("gcc", "clocks.c", "tsc.so", "-shared", "-fPIC", "-DTSC")
	for _, m := range libraries {
		if _, err := exec.LookPath(m.cc); err != nil {
			fmt.Printf("%s is not installed: left out\n", m.name)
			continue
		}
		if part("jobs") {
			b.jobs(m)
		}
		if part("calls") {
			b.calls(m)
		}
		if part("paths") {
			b.paths(m)
		}
		if part("samples") {
			b.samples(m)
		}
		if part("threads") {
			b.threads(m)
		}
		if part("finalize") {
			b.finalize(m)
		}
	}
	if part("start") {
		b.start()
	}
	if part("proxies") {
		b.proxies()
	}
	if part("adapters") {
		b.adapters()
	}
	if part("monitors") {
		b.monitors()
	}
	if part("merge") {
		mergeLevels()
	}
	if part("models") {
		models()
	}
	if part("models") || part("rivals") {
		b.rivals()
	}
}

// part tells whether a part of the measurements is wanted.
func part(name string) bool { return len(os.Args) < 3 || os.Args[2] == name }

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

type bench struct{ build, work string }

func (b bench) compile(cc, source, out string, flags ...string) {
	arguments := append([]string{"-O2", "-w", filepath.Join("test", "bench", "programs", source), "-o", filepath.Join(b.work, out)}, flags...)
	if text, err := exec.Command(cc, append(arguments, "-ldl")...).CombinedOutput(); err != nil {
		log.Fatalf("%s: %v\n%s", source, err, text)
	}
}

// output runs a command in the work directory with variables added.
func (b bench) output(variables []string, name string, arguments ...string) string {
	c := exec.Command(name, arguments...)
	c.Dir = b.work
	c.Env = append(os.Environ(), variables...)
	var errors bytes.Buffer
	c.Stderr = &errors
	out, err := c.Output()
	if err != nil {
		log.Fatalf("%s: %v\n%s", name, err, errors.String())
	}
	return string(out)
}

// calls prints the time added to each MPI call.
func (b bench) calls(m mpi) {
	program := filepath.Join(b.work, "calls")
	b.compile(m.cc, "calls.c", "calls")
	variants := []struct {
		name string
		env  []string
	}{
		{"bare", nil},
		{"two rdtsc", []string{"LD_PRELOAD=" + filepath.Join(b.work, "tsc.so")}},
		{"two clock_gettime", []string{"LD_PRELOAD=" + filepath.Join(b.work, "gettime.so")}},
		{"Marple", []string{"LD_PRELOAD=" + filepath.Join(b.build, "libmarple.so")}},
	}
	for _, p := range m.peers {
		library := filepath.Join(b.build, "peers", p.library)
		if _, err := os.Stat(library); err != nil {
			fmt.Printf("%s is not in build/peers (test/peers.sh): left out\n", p.name)
			continue
		}
		variants = append(variants, struct {
			name string
			env  []string
		}{p.name, append([]string{"LD_PRELOAD=" + library}, p.env...)})
	}
	const rounds = 7
	times := map[string]map[string][]float64{} // variant, call
	var names []string
	for round := range rounds {
		for _, v := range variants {
			lines := bufio.NewScanner(strings.NewReader(b.output(v.env, program, "5", "50000")))
			for lines.Scan() {
				var name string
				var ns float64
				if n, _ := fmt.Sscan(lines.Text(), &name, &ns); n < 2 || v.name != "bare" && !slices.Contains(names, name) {
					continue // what a tool says of itself
				}
				if times[v.name] == nil {
					times[v.name] = map[string][]float64{}
				}
				times[v.name][name] = append(times[v.name][name], ns)
				if round == 0 && v.name == "bare" {
					names = append(names, name)
				}
			}
		}
	}
	fmt.Printf("\n%s: nanoseconds added per call on MPI_COMM_SELF (thread CPU time, %d rounds, median and middle half)\n", m.name, rounds)
	fmt.Printf("%-22s %8s", "", "bare")
	for _, v := range variants[1:] {
		fmt.Printf(" %20s", v.name)
	}
	fmt.Printf(" %9s %9s\n", "/gettime", "/cheapest")
	for _, name := range names {
		fmt.Printf("%-22s %8.1f", name, median(times["bare"][name]))
		added, cheapest := map[string]float64{}, math.Inf(1)
		for i, v := range variants[1:] {
			var list []float64
			for k, x := range times[v.name][name] {
				list = append(list, x-times["bare"][name][k])
			}
			added[v.name] = median(list)
			if i >= 3 {
				cheapest = min(cheapest, added[v.name])
			}
			fmt.Printf(" %20s", spread(list))
		}
		fmt.Printf(" %9.2f", added["Marple"]/max(added["two clock_gettime"], 0.1))
		if !math.IsInf(cheapest, 1) {
			fmt.Printf(" %9.2f", added["Marple"]/max(cheapest, 0.1))
		}
		fmt.Println()
	}
}

// finalize prints the time of MPI_Finalize with many ranks, and the memory it takes.
func (b bench) finalize(m mpi) {
	const ranks, rounds = 16, 7
	b.compile(m.cc, "finalize.c", "finalize")
	base := append([]string{"-n", fmt.Sprint(ranks)}, m.oversized...)
	program := filepath.Join(b.work, "finalize")
	var times, before, after [2][]float64
	for range rounds {
		for v, command := range [2][]string{{program}, {filepath.Join(b.build, "marple"), "exec", program}} {
			var longest float64
			lines := bufio.NewScanner(strings.NewReader(b.output(nil, m.run, append(slices.Clone(base), command...)...)))
			for lines.Scan() {
				var seconds, least, most float64
				if n, _ := fmt.Sscanf(lines.Text(), "finalize %f before %f after %f", &seconds, &least, &most); n == 3 {
					longest = max(longest, seconds)
					before[v] = append(before[v], least/1024)
					after[v] = append(after[v], most/1024)
				}
			}
			times[v] = append(times[v], longest*1000)
		}
	}
	fmt.Printf("\n%s: %d ranks on the cores of this machine, %d rounds\n", m.name, ranks, rounds)
	fmt.Printf("%-40s %20s %20s %8s\n", "", "bare", "Marple", "ratio")
	fmt.Printf("%-40s %20s %20s %8.2f\n", "MPI_Finalize, longest of the ranks (ms)", spread(times[0]), spread(times[1]), median(times[1])/median(times[0]))
	fmt.Printf("%-40s %20s %20s %+7.1f\n", "private memory before it (MiB)", spread(before[0]), spread(before[1]), median(before[1])-median(before[0]))
	fmt.Printf("%-40s %20s %20s %+7.1f\n", "private memory after it (MiB)", spread(after[0]), spread(after[1]), median(after[1])-median(after[0]))
	fmt.Printf("%-40s %20s %20s %+7.1f\n", "the same, most of any rank", "", fmt.Sprintf("%.1f", slices.Max(after[1])), slices.Max(after[1])-median(after[0]))
}

func median(list []float64) float64 {
	sorted := slices.Sorted(slices.Values(list))
	if len(sorted) == 0 {
		return 0
	}
	return sorted[len(sorted)/2]
}

// spread prints the median and the range of the middle half.
func spread(list []float64) string {
	sorted := slices.Sorted(slices.Values(list))
	if len(sorted) == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f (%.1f…%.1f)", median(list), sorted[len(sorted)/4], sorted[len(sorted)*3/4])
}
