package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"marple/analysis/run"
)

// proxies prints what a generated proxy adds to a component's method, and what its records take.
func (b bench) proxies() {
	programs := filepath.Join("test", "bench", "programs")
	for name, flags := range map[string][]string{
		"port_proxy.hpp": nil,
		"port_family.hpp": {"--families", filepath.Join(programs, "port.yaml"), "--family", "port", "--policy", "model",
			"--rules", filepath.Join(programs, "rules.yaml"), "--stateless"},
	} {
		line := append([]string{"proxygen", filepath.Join(programs, "port.hpp"), "--port", "bench::Port", "-o", filepath.Join(b.work, name)}, flags...)
		if text, err := exec.Command(filepath.Join(b.build, "marple"), line...).CombinedOutput(); err != nil {
			fmt.Printf("\nproxies are left out: %s", text)
			return
		}
	}
	b.compile("g++", "proxies.cpp", "proxies", "-std=c++17", "-I"+filepath.Join("cshim", "include"), "-I"+b.work, "-I"+programs)
	program := filepath.Join(b.work, "proxies")
	marple := "LD_PRELOAD=" + filepath.Join(b.build, "libmarple.so")
	out := filepath.Join(b.work, "run")
	variants := []struct {
		name, kind string
		env        []string
	}{
		{"virtual call", "direct", nil},
		{"two clock_gettime", "gettime", nil},
		{"proxy, no Marple", "proxy", nil},
		{"proxy, method off", "proxy", []string{marple, "MARPLE_SKIP=Port", "MARPLE_OUT=" + out}},
		{"proxy, no records", "proxy", []string{marple, "MARPLE_INVOCATIONS=0", "MARPLE_OUT=" + out}},
		{"proxy, records", "proxy", []string{marple, "MARPLE_OUT=" + out}},
		{"family, no Marple", "fixed:first", nil},
		{"... by model", "model", nil},
		{"... by trial", "trial", nil},
		{"... by rules", "rules", nil},
		{"family, records", "fixed:first", []string{marple, "MARPLE_OUT=" + out}},
		{"... by trial, records", "trial", []string{marple, "MARPLE_OUT=" + out}},
	}
	const rounds = 9
	times := map[string]map[string][]float64{} // variant, parameters
	for range rounds {
		for _, v := range variants {
			check(os.RemoveAll(out))
			lines := bufio.NewScanner(strings.NewReader(b.output(v.env, program, v.kind, "5", "100000")))
			for lines.Scan() {
				var parameters string
				var ns float64
				fmt.Sscan(lines.Text(), &parameters, &ns)
				if times[v.name] == nil {
					times[v.name] = map[string][]float64{}
				}
				times[v.name][parameters] = append(times[v.name][parameters], ns)
			}
		}
	}
	fmt.Printf("\nNanoseconds per call of a component's method (thread CPU time, %d rounds, median and middle half)\n", rounds)
	fmt.Printf("%-22s %20s %20s %20s\n", "parameters", "0", "1", "4")
	for _, v := range variants {
		fmt.Printf("%-22s %20s %20s %20s\n", v.name, spread(times[v.name]["0"]), spread(times[v.name]["1"]), spread(times[v.name]["4"]))
	}

	const calls = 5_000_000
	var rates []float64
	var last *run.Run
	raw, stored := int64(0), int64(0)
	for range 3 {
		check(os.RemoveAll(out))
		text := b.output([]string{marple, "MARPLE_OUT=" + out, "MARPLE_KEEP_RAW=on"}, program, "sustained", "5", strconv.Itoa(calls/5))
		rate, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		check(err)
		rates = append(rates, rate/1e6)
		last, err = run.Read(out)
		check(err)
		logs, err := filepath.Glob(filepath.Join(out, run.RawDir, "*.calls"))
		check(err)
		if raw = 0; len(logs) > 0 {
			raw = size(logs[0])
		}
		stored = size(filepath.Join(out, run.InvocationsFile))
	}
	slices.Sort(rates)
	fmt.Printf("Invocations with a parameter, one after the other: %s million per second; of %d, %d found no room\n",
		spread(rates), last.Invocations, last.Unkept())
	fmt.Printf("Bytes per invocation: 32 in memory, %.1f kept while the program runs, %.1f in %s\n",
		float64(raw)/calls, float64(stored)/calls, run.InvocationsFile)
}

// monitors prints what the ports of the Mastermind and of TAU's component take, with Marple and without.
func (b bench) monitors() {
	b.compile("g++", "monitor.cpp", "monitor", "-std=c++17", "-I"+filepath.Join("cshim", "include"), "-I"+filepath.Join("test", "cca", "include"))
	out := filepath.Join(b.work, "run")
	variants := [][]string{nil, {"LD_PRELOAD=" + filepath.Join(b.build, "libmarple.so"), "MARPLE_OUT=" + out}}
	const rounds = 7
	var names []string
	times := [2]map[string][]float64{{}, {}}
	for round := range rounds {
		for v, env := range variants {
			check(os.RemoveAll(out))
			lines := bufio.NewScanner(strings.NewReader(b.output(env, filepath.Join(b.work, "monitor"))))
			for lines.Scan() {
				var name string
				var ns float64
				fmt.Sscan(lines.Text(), &name, &ns)
				times[v][name] = append(times[v][name], ns)
				if round == 0 && v == 0 {
					names = append(names, name)
				}
			}
		}
	}
	fmt.Printf("\nNanoseconds of a start and a stop, or of an event (thread CPU time, %d rounds, median and middle half)\n", rounds)
	fmt.Printf("%-24s %24s %24s\n", "port", "without Marple", "with it")
	for _, name := range names {
		fmt.Printf("%-24s %24s %24s\n", strings.ReplaceAll(name, "-", " "), spread(times[0][name]), spread(times[1][name]))
	}
}

func size(file string) int64 {
	info, err := os.Stat(file)
	check(err)
	return info.Size()
}
