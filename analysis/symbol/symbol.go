package symbol

import (
	"fmt"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
)

// A Module names an executable or a shared library.
type Module struct {
	Path    string // as the application loaded it
	BuildID string // in hexadecimal; "" if it has none or it is not known
}

// A Frame is one function in the answer for an address.
type Frame struct {
	Function string // readable, "" if unknown
	File     string // path as the compiler recorded it, "" if unknown
	Line     int    // 0 if unknown
	Inlined  bool   // the compiler put a copy of Function into the next frame
}

// String returns "function (file:line)" with the base name of the file,
// leaving out what is not known.
func (f Frame) String() string {
	name := f.Function
	if name == "" {
		name = "?"
	}
	switch {
	case f.File == "":
		return name
	case f.Line == 0:
		return fmt.Sprintf("%s (%s)", name, Short(f.File))
	default:
		return fmt.Sprintf("%s (%s:%d)", name, Short(f.File), f.Line)
	}
}

// A Location is what is known about one address.
type Location struct {
	// Frames holds the functions that the address belongs to, innermost
	// first: inlined callees, then the function that physically contains the
	// address. There is always at least one; if nothing is known its fields
	// are empty.
	Frames []Frame
	Module string // path of the module
	Offset uint64 // as it was passed to Lookup or LookupReturn
}

// Unresolved returns the location of which nothing is known but the module
// and the offset: what a table without symbols answers, for callers whose Open
// failed.
func Unresolved(module string, offset uint64) Location {
	return Location{Frames: []Frame{{}}, Module: module, Offset: offset}
}

// String returns the frames on one line, innermost first, or "libfoo.so+0x1234"
// if not even the function is known.
func (l Location) String() string {
	if len(l.Frames) == 0 || len(l.Frames) == 1 && l.Frames[0].Function == "" && l.Frames[0].File == "" {
		return fmt.Sprintf("%s+%#x", Short(l.Module), l.Offset)
	}
	var b strings.Builder
	for i, f := range l.Frames {
		if i > 0 {
			b.WriteString(" inlined in ")
		}
		b.WriteString(f.String())
	}
	return b.String()
}

// Short returns the base name of a path that a compiler recorded, "" for "".
func Short(path string) string {
	if path == "" {
		return ""
	}
	return filepath.Base(path)
}

// Defaults for the fields of [Limits] that are zero.
const (
	DefaultDebugBytes = 512 << 20
	DefaultCacheBytes = 32 << 20
)

// Limits says how much a [Table] may use. The zero value means the defaults.
type Limits struct {
	// DebugBytes is the largest total size of the debug sections of a module,
	// after decompression, that is looked at; the same bound applies to each
	// split debug file. A module with more is answered from its symbol table
	// only, and Notes says so. Sections that are not compressed cost address
	// space and page cache but no private memory. Zero means
	// [DefaultDebugBytes]; a negative number means no debug sections at all.
	DebugBytes int64

	// CacheBytes is how much memory the parsed form of compilation units may
	// take, approximately. One unit, the one in use, is kept even if it alone
	// is larger. Zero means [DefaultCacheBytes].
	CacheBytes int64

	// DebugDirs lists the directories that hold separate debug files, as in
	// gdb's debug-file-directory. Nil means /usr/lib/debug.
	DebugDirs []string
}

// withDefaults returns l with its zero fields filled in.
func (l Limits) withDefaults() Limits {
	if l.DebugBytes == 0 {
		l.DebugBytes = DefaultDebugBytes
	}
	if l.CacheBytes <= 0 {
		l.CacheBytes = DefaultCacheBytes
	}
	if l.DebugDirs == nil {
		l.DebugDirs = []string{"/usr/lib/debug"}
	}
	return l
}

// A Table answers questions about one module. Its methods may be called from
// several goroutines at the same time; they take turns.
//
// Those who have many questions should ask them in order of the offsets: then
// each compilation unit is parsed once, however small the cache is.
type Table struct {
	mu     sync.Mutex
	path   string
	limits Limits
	closed bool

	program *image // the module, nil if absent or not the one that was measured
	debug   *image // the file with its debug sections, nil if none; maybe program
	buildID string
	code    []addrRange // where the module has machine code, sorted

	info    *infoSection // the units of the debug information, nil if none
	units   unitCache
	index   *addressIndex // made by the first lookup
	symbols *symbolTable  // made by the first lookup that needs it
	dwp     *dwpPackage   // made by the first split unit
	notes   noteList
}

// Open opens the module at path, and its separate debug file if there is one.
//
// wantBuildID is the build ID, in hexadecimal, that the module had when it was
// measured; "" means unknown. If the file at path has another one it was
// replaced since, and its symbols would be wrong: the table then answers from
// the separate debug file of the measured build if that is installed, and
// otherwise leaves all addresses unresolved; [Table.Notes] says which.
//
// Open fails if the file cannot be read or is not a well-formed ELF file and
// there is no separate debug file for wantBuildID either. Files that are
// damaged in other ways, and missing debug information, are no error.
func Open(path, wantBuildID string, lim Limits) (table *Table, err error) {
	t := &Table{path: path, limits: lim.withDefaults()}
	defer faultsArePanics()()
	defer func() {
		if r := recover(); r != nil {
			t.release()
			table, err = nil, fmt.Errorf("symbol: %s: damaged file: %v", path, r)
		}
	}()
	if err := t.open(wantBuildID); err != nil {
		t.release()
		return nil, fmt.Errorf("symbol: %w", err)
	}
	return t, nil
}

// Lookup returns what is known about the instruction at offset. On a closed
// table, and for an offset outside of the module's code, that is nothing.
func (t *Table) Lookup(offset uint64) Location {
	return t.lookup(offset, offset)
}

// LookupReturn returns what is known about the call whose return address is
// offset.
//
// A return address is that of the instruction after the call, which may belong
// to the next line or, if the callee does not return, to the next function.
// The byte before it belongs to the call, and that is the one looked up.
func (t *Table) LookupReturn(offset uint64) Location {
	if offset == 0 {
		return t.lookup(0, 0)
	}
	return t.lookup(offset, offset-1)
}

// Module returns the module as it was opened: the path, and the build ID of
// the file found there, "" if it has none.
func (t *Table) Module() Module {
	return Module{Path: t.path, BuildID: t.buildID}
}

// Notes returns, in words for the user, why answers may be poorer than one
// might expect, such as "no debug information". Lookups may add to them.
func (t *Table) Notes() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.notes.list()
}

// Close releases the memory of the table. Later lookups are answered with
// unresolved locations.
func (t *Table) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.release()
}

// release unmaps all files and forgets everything derived from them.
func (t *Table) release() {
	t.closed = true
	t.units.clear()
	t.dwp.close()
	if t.debug != nil && t.debug != t.program {
		t.debug.close()
	}
	t.program.close()
	t.program, t.debug, t.info, t.index, t.symbols, t.dwp = nil, nil, nil, nil, nil, nil
	t.code = nil
}

// lookup answers for the byte at address, and labels the answer with offset.
func (t *Table) lookup(offset, address uint64) (loc Location) {
	t.mu.Lock()
	defer t.mu.Unlock()
	loc = Unresolved(t.path, offset)
	if t.closed {
		return loc
	}
	defer faultsArePanics()()
	defer func() {
		// The readers check all they read, so this is for mistakes in them
		// and for files that were truncated while mapped.
		if r := recover(); r != nil {
			loc = Unresolved(t.path, offset)
			t.notes.add(fmt.Sprintf("damaged file: %v", r))
		}
	}()
	if frames := t.frames(address); len(frames) > 0 {
		loc.Frames = frames
	}
	return loc
}

// faultsArePanics makes access to a mapped page that no longer has a file
// behind it (because the file was truncated) a panic, which the caller
// recovers from, instead of the end of the process. It returns the function
// that restores the former state.
func faultsArePanics() (restore func()) {
	old := debug.SetPanicOnFault(true)
	return func() { debug.SetPanicOnFault(old) }
}

// A noteList collects remarks, each once, and not without end.
type noteList struct {
	notes []string
	more  int // how many were left out

	// Missing split debug files are counted rather than listed, as there is
	// one for each source file.
	missingDwo map[int]bool // by unit
	firstDwo   string
}

const maxNotes = 16

func (n *noteList) add(note string) {
	for _, old := range n.notes {
		if old == note {
			return
		}
	}
	if len(n.notes) == maxNotes {
		n.more++
		return
	}
	n.notes = append(n.notes, note)
}

// missDwo notes that the split debug file of a unit is missing.
func (n *noteList) missDwo(unit int, name string) {
	if n.missingDwo == nil {
		n.missingDwo, n.firstDwo = make(map[int]bool), name
	}
	n.missingDwo[unit] = true
}

func (n *noteList) list() []string {
	list := append([]string(nil), n.notes...)
	if len(n.missingDwo) > 0 {
		list = append(list, fmt.Sprintf("no inlined functions in parts: %d split debug file(s) not found, the first %s", len(n.missingDwo), n.firstDwo))
	}
	if n.more > 0 {
		list = append(list, fmt.Sprintf("and %d more", n.more))
	}
	return list
}
