package symbol

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// fuzzSource is a program as small as can be that has all there is to read.
const fuzzSource = `
static inline __attribute__((always_inline)) int in(int x) { return x * 3; }
__attribute__((noinline)) int f(int x) { x += in(x); if (x > 3) x -= in(x + 1); return x; }
__attribute__((cold)) int g(int x) { return f(x) + in(x); }
`

// fuzzSeeds returns small modules of many kinds, none if there is no compiler.
func fuzzSeeds(f testing.TB) [][]byte {
	dir := f.TempDir()
	source := filepath.Join(dir, "a.c")
	if err := os.WriteFile(source, []byte(fuzzSource), 0o600); err != nil {
		f.Fatal(err)
	}
	var seeds [][]byte
	for _, args := range [][]string{
		{"gcc", "-g", "-gdwarf-2"},
		{"gcc", "-g", "-gdwarf-4", "-ffunction-sections"},
		{"gcc", "-g", "-gdwarf-5", "-ffunction-sections"},
		{"gcc", "-g", "-gdwarf-5", "-gdwarf64"},
		{"gcc", "-g", "-gz"},
		{"gcc", "-g", "-m32"},
		{"gcc", "-g", "-gdwarf-4", "-gsplit-dwarf"},
		{"gcc", "-g", "-gdwarf-5", "-gsplit-dwarf"},
		{"clang", "-g", "-gdwarf-5", "-ffunction-sections"},
		{"clang", "-g", "-gdwarf-4", "-gsplit-dwarf"},
	} {
		out := filepath.Join(dir, "a.so")
		cmd := exec.Command(args[0], append(args[1:], "-O1", "-shared", "-fPIC", "-nostdlib",
			"-Wl,-z,noseparate-code,--build-id", "-o", out, source)...)
		cmd.Dir = dir
		if err := cmd.Run(); err != nil {
			f.Logf("%v: %v", args, err)
			continue
		}
		seed, err := os.ReadFile(out)
		if err != nil {
			f.Fatal(err)
		}
		seeds = append(seeds, seed)
	}
	return seeds
}

// checkBounded calls try and fails if that takes too much memory, or so much processor time that it grows faster
// than its input.
func checkBounded(t *testing.T, try func()) {
	const (
		maxBytes = 512 << 20
		maxTime  = 5 * time.Minute // on a machine that is busy, too; hours are what it is held against
	)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := processorTime()
	try()
	elapsed := processorTime() - start
	runtime.ReadMemStats(&after)
	// This never shrinks, so it tells the largest amount in between.
	if n := after.HeapSys - before.HeapSys; n > maxBytes && after.HeapSys > before.HeapSys {
		t.Errorf("%d bytes of memory taken", n)
	}
	if elapsed > maxTime*slowdown {
		t.Errorf("took %v", elapsed)
	}
}

func processorTime() time.Duration {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// tryLookups looks up addresses all over the code.
func tryLookups(t *testing.T, table *Table) {
	for round := range 2 {
		for _, r := range table.code {
			for i := uint64(0); i <= 32; i++ {
				if loc := table.LookupReturn(r.lo + (r.hi-r.lo)/32*i); len(loc.Frames) == 0 {
					t.Error("no frames")
				} else if loc.String() == "" {
					t.Error("no text")
				}
			}
		}
		if round == 0 { // again from scratch, and without room
			table.units.clear()
			table.limits.CacheBytes = 1
		}
	}
	table.Notes()
}

// FuzzOpen feeds whole files.
func FuzzOpen(f *testing.F) {
	for _, seed := range fuzzSeeds(f) {
		f.Add(seed)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := os.CreateTemp(dir, "fuzz")
		if err != nil {
			t.Fatal(err)
		}
		defer os.Remove(file.Name())
		if _, err := file.Write(data); err != nil {
			t.Fatal(err)
		}
		file.Close()
		checkBounded(t, func() {
			table, err := Open(file.Name(), "", Limits{DebugBytes: 1 << 20, DebugDirs: []string{}})
			if err != nil {
				return
			}
			defer table.Close()
			tryLookups(t, table)
			checkNoPanic(t, table)
		})
	})
}

// checkNoPanic fails if lookups went wrong in a way that only the last resort
// caught.
func checkNoPanic(t *testing.T, table *Table) {
	for _, n := range table.Notes() {
		if strings.HasPrefix(n, "damaged file: ") {
			t.Error(n)
		}
	}
}

// FuzzSections feeds debug sections, which is where most of what can go wrong
// is, without the ELF file around them.
func FuzzSections(f *testing.F) {
	dir := f.TempDir()
	for _, seed := range fuzzSeeds(f) {
		path := filepath.Join(dir, "seed")
		if err := os.WriteFile(path, seed, 0o600); err != nil {
			f.Fatal(err)
		}
		img, err := openImage(path)
		if err != nil {
			f.Fatal(err)
		}
		sec, err := loadSections(img, "")
		if err != nil {
			f.Fatal(err)
		}
		for _, field := range sec.fields() {
			*field.data = bytes.Clone(*field.data)
		}
		code := img.code()
		img.close()
		f.Add(sec.info, sec.abbrev, sec.line, sec.str, sec.lineStr, sec.strOffsets, sec.addr, sec.ranges, sec.rnglists, sec.aranges, code[0].lo, false)
	}
	f.Fuzz(func(t *testing.T, info, abbrev, line, str, lineStr, strOffsets, addr, ranges, rnglists, aranges []byte, lo uint64, big bool) {
		sec := &sections{order: binary.LittleEndian,
			info: info, abbrev: abbrev, line: line, str: str, lineStr: lineStr, strOffsets: strOffsets,
			addr: addr, ranges: ranges, rnglists: rnglists, aranges: aranges}
		if big {
			sec.order = binary.BigEndian
		}
		if lo > 1<<63 {
			return
		}
		checkBounded(t, func() { trySections(t, sec, lo) })
	})
}

// trySections looks up addresses from lo on with the help of some sections.
func trySections(t *testing.T, sec *sections, lo uint64) *Table {
	table := &Table{path: "/nonexistent/fuzz", limits: Limits{}.withDefaults(), symbols: &symbolTable{}, debug: &image{path: "x"}}
	table.code = []addrRange{{lo, lo + 0x100}, {lo + 0x100, lo + 0x20000}}
	if table.info = newInfoSection(sec); len(table.info.spans) > 0 {
		tryLookups(t, table)
		checkNoPanic(t, table)
	}
	return table
}

// TestHostile checks files that are small for what they ask for: tables that
// all of many entries refer to, so that reading them each time would take
// hours, or memory without end.
func TestHostile(t *testing.T) {
	if testing.Short() || slowdown > 1 {
		t.Skip("takes seconds, and a minute with the race detector")
	}
	large := func(n int) int { return n / 10 } // what takes time that grows faster than its input still takes minutes
	if os.Getenv("MARPLE_TEST_LONG") == "1" {
		large = func(n int) int { return n }
	}
	const code = 0x1000
	var (
		uleb = func(b []byte, numbers ...uint64) []byte {
			for _, n := range numbers {
				b = binary.AppendUvarint(b, n)
			}
			return b
		}
		u32 = binary.LittleEndian.AppendUint32
		u64 = binary.LittleEndian.AppendUint64
		// unit appends a unit of DWARF 4 with some entries.
		unit = func(info, entries []byte) []byte {
			info = u32(info, uint32(7+len(entries)))
			info = append(info, 4, 0) // version
			info = u32(info, 0)       // abbreviations
			info = append(info, 8)    // address size
			return append(info, entries...)
		}
		address = u64(nil, code)
	)
	const (
		low, high, ranges, name, origin, stmtList = 0x11, 0x12, 0x55, 0x03, 0x31, 0x10 // attributes
		addr, data4, secOffset, str, ref4         = 0x01, 0x06, 0x17, 0x08, 0x13       // forms
	)
	for _, test := range []struct {
		name string
		sec  func() *sections
	}{
		{"abbreviations that all units search", func() *sections {
			var sec sections
			const last = uint64(60_000)
			for n := uint64(1); n < last; n++ {
				sec.abbrev = uleb(sec.abbrev, n, 0x24, 0, 0, 0)
			}
			sec.abbrev = uleb(sec.abbrev, last, 0x11, 0, low, addr, 0, 0, 0)
			entries := append(uleb(nil, last), address...)
			for range 500_000 {
				sec.info = unit(sec.info, entries)
			}
			return &sec
		}},
		{"ranges that all functions share", func() *sections {
			var sec sections
			sec.abbrev = uleb(nil, 1, 0x11, 1, low, addr, high, data4, 0, 0, 2, 0x2e, 0, ranges, secOffset, 0, 0, 0)
			entries := u32(append(uleb(nil, 1), address...), 0x1000)
			for range large(1_000_000) {
				entries = u32(append(entries, 2), 0)
			}
			sec.info = unit(nil, append(entries, 0))
			for n := range uint64(large(1_000_000)) {
				sec.ranges = u64(u64(sec.ranges, 1<<40+n), 1<<40+n+1)
			}
			return &sec
		}},
		{"ranges that all units share", func() *sections {
			var sec sections
			sec.abbrev = uleb(nil, 1, 0x11, 0, ranges, secOffset, 0, 0, 0)
			for range large(500_000) {
				sec.info = unit(sec.info, u32(uleb(nil, 1), 0))
			}
			for n := range uint64(large(1_000_000)) {
				sec.ranges = u64(u64(sec.ranges, code+n%100), code+n%100+1)
			}
			return &sec
		}},
		{"functions inlined into each other", func() *sections {
			var sec sections
			sec.abbrev = uleb(nil, 1, 0x11, 1, low, addr, high, data4, 0, 0,
				2, 0x2e, 1, low, addr, high, data4, name, str, 0, 0,
				3, 0x1d, 1, low, addr, high, data4, origin, ref4, 0, 0, 0)
			entries := u32(append(uleb(nil, 1), address...), 0x1000)
			function := uint32(11 + len(entries))
			entries = append(u32(append(append(entries, 2), address...), 0x1000), "f\x00"...)
			for range large(1_000_000) {
				entries = u32(u32(append(append(entries, 3), address...), 0x1000), function)
			}
			sec.info = unit(nil, entries)
			return &sec
		}},
		{"a function that is described by itself", func() *sections {
			var sec sections
			sec.abbrev = uleb(nil, 1, 0x11, 1, low, addr, high, data4, 0, 0,
				2, 0x2e, 1, low, addr, high, data4, origin, ref4, 0, 0, 0)
			entries := u32(append(uleb(nil, 1), address...), 0x1000)
			function := uint32(11 + len(entries))
			sec.info = unit(nil, append(u32(u32(append(append(entries, 2), address...), 0x1000), function), 0, 0))
			return &sec
		}},
		{"names without end", func() *sections {
			var sec sections
			sec.abbrev = uleb(nil, 1, 0x11, 1, low, addr, high, data4, 0x13, data4, 0, 0,
				2, 0x39, 1, name, 0x0e, 0, 0, // namespace
				3, 0x2e, 0, low, addr, high, data4, name, 0x0e, 0, 0, 0)
			entries := u32(u32(append(uleb(nil, 1), address...), 0x2000), 4)
			for range 1000 {
				entries = u32(append(entries, 2), 0)
			}
			for n := range uint64(large(100_000)) {
				entries = u32(u32(u64(append(entries, 3), code+n), 1), 0)
			}
			sec.info = unit(nil, entries)
			sec.str = bytes.Repeat([]byte("x"), 16<<20)
			return &sec
		}},
		{"files without end", func() *sections {
			var sec sections
			sec.abbrev = uleb(nil, 1, 0x11, 0, low, addr, high, data4, stmtList, secOffset, 0, 0, 0)
			sec.info = unit(nil, u32(u32(append(uleb(nil, 1), address...), 0x1000), 0))
			sec.lineStr = bytes.Repeat([]byte("x"), 16<<20)
			header := []byte{1, 1, 1, 0, 4, 1} // a special opcode advances by one line
			header = uleb(header, 1, 1, 0x1f)  // directories: path, line_strp
			header = uleb(header, 1)
			header = u32(header, 0)
			header = uleb(header, 1, 1, 0x1f)
			header = uleb(header, uint64(large(200_000)))
			for range large(200_000) {
				header = u32(header, 0)
			}
			program := u64([]byte{0, 9, 2}, code)
			for n := range uint64(large(200_000)) {
				program = append(uleb(append(program, 4), n), 1, 2, 1)
			}
			line := append([]byte{5, 0, 8, 0}, u32(nil, uint32(len(header)))...)
			line = append(append(line, header...), program...)
			sec.line = append(u32(nil, uint32(len(line))), line...)
			return &sec
		}},
		{"a table of files that takes no room", func() *sections {
			var sec sections
			sec.abbrev = uleb(nil, 1, 0x11, 0, low, addr, high, data4, stmtList, secOffset, 0, 0, 0)
			sec.info = unit(nil, u32(u32(append(uleb(nil, 1), address...), 0x1000), 0))
			header := []byte{1, 1, 1, 0, 4, 1}
			header = uleb(header, 1, 1, 0x19) // flag_present
			header = uleb(header, 1<<60)
			line := append([]byte{5, 0, 8, 0}, u32(nil, uint32(len(header)))...)
			line = append(line, header...)
			sec.line = append(u32(nil, uint32(len(line))), line...)
			return &sec
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			sec := test.sec()
			sec.order = binary.LittleEndian
			checkBounded(t, func() { t.Log(trySections(t, sec, code).Notes()) })
		})
	}
}

// TestMutated changes a few bytes in the debug sections, over and over. It
// gets further than a fuzzer in the time that a test may take, as the files
// stay well-formed for the most part.
func TestMutated(t *testing.T) {
	seeds := fuzzSeeds(t)
	if len(seeds) == 0 {
		needTool(t, "gcc")
	}
	rounds := 400
	if n, err := strconv.Atoi(os.Getenv("SYMBOL_MUTATIONS")); err == nil {
		rounds = n
	}
	random := rand.New(rand.NewPCG(1, uint64(rounds)))
	path := filepath.Join(t.TempDir(), "seed")
	for _, seed := range seeds {
		if err := os.WriteFile(path, seed, 0o600); err != nil {
			t.Fatal(err)
		}
		img, err := openImage(path)
		if err != nil {
			t.Fatal(err)
		}
		var parts [][2]int // of the debug sections
		for _, s := range img.elf.Sections {
			if len(s.Name) > 6 && s.Name[:6] == ".debug" && s.FileSize > 0 {
				parts = append(parts, [2]int{int(s.Offset), int(s.Offset + s.FileSize)})
			}
		}
		img.close()
		for range rounds {
			data := bytes.Clone(seed)
			for range 1 + random.IntN(4) {
				part := parts[random.IntN(len(parts))]
				at := part[0] + random.IntN(part[1]-part[0])
				switch random.IntN(4) {
				case 0:
					data[at] ^= 1 << random.IntN(8)
				case 1:
					data[at] = byte(random.Uint32())
				case 2:
					copy(data[at:part[1]], "\xff\xff\xff\xff\xff\xff\xff\xff"[:1+random.IntN(8)])
				case 3:
					from := part[0] + random.IntN(part[1]-part[0])
					copy(data[at:part[1]], data[from:min(from+8, part[1])])
				}
			}
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			checkBounded(t, func() {
				table, err := Open(path, "", Limits{DebugBytes: 1 << 20, DebugDirs: []string{}})
				if err != nil {
					return
				}
				defer table.Close()
				tryLookups(t, table)
				checkNoPanic(t, table)
			})
			if t.Failed() {
				kept := filepath.Join(os.TempDir(), "symbol-mutated")
				os.WriteFile(kept, data, 0o600)
				t.Fatalf("see %s", kept)
			}
		}
	}
}
