// Package symbol turns places in machine code into places in source code.
//
// A profile records call sites and stacks as (module, offset) pairs: which
// executable or shared library, and where in it. This package opens one such
// module and answers, for an offset, which function that is, which file and
// line, and which functions the compiler inlined there.
//
//	table, err := symbol.Open("/opt/app/bin/solver", buildID, symbol.Limits{})
//	if err != nil { … }
//	defer table.Close()
//	where := table.LookupReturn(offset) // offset is a return address
//	fmt.Println(where)                  // solver::step (solver.f90:120)
//
// # What an offset is
//
// An offset is an address minus the load bias of its module. For shared
// libraries and position-independent executables that is what subtracting
// dladdr's dli_fbase or dl_iterate_phdr's dlpi_addr gives; for executables
// linked with -no-pie the bias is zero. In every case it is an address in the
// space of the ELF file's p_vaddr fields.
//
// # Where the answers come from
//
// In this order, each where the one before says nothing:
//
//   - DWARF versions 2 to 5, in the module itself, in a separate debug file
//     (found by build ID or .gnu_debuglink), and in .dwo and .dwp files;
//   - the symbol table .symtab, of the module or of its debug file;
//   - the dynamic symbol table .dynsym.
//
// # What the package may use
//
// It runs inside the measured application at the end of the run as well as in
// a command-line tool. It is therefore pure Go, keeps no global state, starts
// no goroutine, and is sparing with memory: files are mapped read-only rather
// than read, only the compilation units that are asked for are parsed, and
// what is parsed sits in a cache of bounded size (see [Limits]).
//
// The ELF headers are read with debug/elf. The DWARF is read by this package
// and not by debug/dwarf, which is used for its constants only, because
// debug/dwarf parses the abbreviations of all units up front, allocates for
// each entry it passes, does not know the forms that split DWARF 4 and dwz
// use, and by its own documentation is not meant for files one cannot trust.
//
// # Invariant
//
// A file can only make answers poorer. Whatever bytes the module or its debug
// files hold, even if they change while they are mapped, Open returns a table
// or an error and Lookup returns a location with at least one frame; neither
// panics, nor loops, nor uses memory beyond a small multiple of the limits.
// And a table never answers from a file other than the one that was measured,
// provided that the caller knows its build ID.
package symbol
