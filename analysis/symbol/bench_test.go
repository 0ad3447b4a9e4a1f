package symbol

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// BenchmarkModule opens large modules and looks up a thousand addresses spread
// at random over their code. It reports the time for opening, and for the
// lookups in order of address, in order again, and in random order; and how
// much private memory the process gained, and how much of that was in use.
//
// SYMBOL_BENCH in the environment names more modules, separated by colons.
func BenchmarkModule(b *testing.B) {
	paths := filepath.SplitList(os.Getenv("SYMBOL_BENCH"))
	toolchain, _ := exec.LookPath("go")
	for _, path := range []string{
		"/lib/x86_64-linux-gnu/libc.so.6",           // with a separate debug file, if that is installed
		"/usr/lib/x86_64-linux-gnu/liblammps.so.0",  // symbols for dynamic linking only
		"/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1", // the same, many
		toolchain, // symbols only
	} {
		if _, err := os.Stat(path); err == nil {
			paths = append(paths, path)
		}
	}
	limits := Limits{}
	if n, err := strconv.ParseInt(os.Getenv("SYMBOL_BENCH_CACHE"), 10, 64); err == nil {
		limits.CacheBytes = n
	}
	for _, path := range paths {
		b.Run(filepath.Base(path), func(b *testing.B) {
			const lookups = 1000
			var open, sorted, again, random time.Duration
			var anon, heap int64
			for range b.N {
				debug.FreeOSMemory()
				anonBefore, heapBefore := privateBytes(b), heapBytes()
				start := time.Now()
				table, err := Open(path, "", limits)
				if err != nil {
					b.Fatal(err)
				}
				open += time.Since(start)
				inRandomOrder := someAddresses(table, lookups)
				inOrder := slices.Sorted(slices.Values(inRandomOrder))
				for _, run := range []struct {
					addresses []uint64
					time      *time.Duration
				}{{inOrder, &sorted}, {inOrder, &again}, {inRandomOrder, &random}} {
					start = time.Now()
					for _, a := range run.addresses {
						table.Lookup(a)
					}
					*run.time += time.Since(start)
					if run.time == &sorted {
						anon = max(anon, privateBytes(b)-anonBefore)
						runtime.GC()
						heap = max(heap, heapBytes()-heapBefore)
					}
				}
				table.Close()
			}
			ms := func(d time.Duration) float64 { return d.Seconds() * 1e3 / float64(b.N) }
			b.ReportMetric(ms(open), "ms/open")
			b.ReportMetric(ms(sorted), "ms/sorted")
			b.ReportMetric(ms(again), "ms/again")
			b.ReportMetric(ms(random), "ms/random")
			b.ReportMetric(float64(anon)/(1<<20), "MiB-private")
			b.ReportMetric(float64(heap)/(1<<20), "MiB-live")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// someAddresses returns addresses spread over the code of a module.
func someAddresses(table *Table, n int) []uint64 {
	random := rand.New(rand.NewPCG(1, 2))
	var total uint64
	for _, r := range table.code {
		total += r.hi - r.lo
	}
	list := make([]uint64, n)
	for i := range list {
		at := random.Uint64N(total)
		for _, r := range table.code {
			if at < r.hi-r.lo {
				list[i] = r.lo + at
				break
			}
			at -= r.hi - r.lo
		}
	}
	return list
}

// privateBytes returns how much memory of its own, not that of mapped files,
// the process has.
func privateBytes(b *testing.B) int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "RssAnon:")
	kb, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	if err != nil {
		b.Skip("no RssAnon in /proc/self/status")
	}
	return kb << 10
}

// heapBytes returns how much memory is allocated.
func heapBytes() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
