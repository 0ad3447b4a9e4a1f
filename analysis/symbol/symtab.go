package symbol

import (
	"cmp"
	"debug/elf"
	"fmt"
	"slices"
	"sort"
)

// A symbolTable finds functions by address in an ELF symbol table.
type symbolTable struct {
	functions []functionSymbol // sorted, see compare
	names     []byte           // the string table
	main      uint64           // where main begins, if it has no symbol
}

// A functionSymbol is a symbol for a function.
type functionSymbol struct {
	address uint64
	size    uint64
	name    uint32 // offset into the string table
	rank    uint8  // if several names are for the same address, the highest is best
}

// maxSymbols bounds the table; the largest libraries have about a million.
const maxSymbols = 1 << 22

// symbolAt returns the readable name of the function that contains address
// according to the symbol table, "" if there is none.
func (t *Table) symbolAt(address uint64) string {
	if t.symbols == nil {
		t.symbols = t.loadSymbols()
		t.symbols.main, _ = t.program.mainAt()
	}
	name := t.symbols.find(address, t.code)
	if name == "" && address == t.symbols.main {
		name = "main"
	}
	return readableName(name)
}

// loadSymbols reads the best symbol table there is: the full one, which may
// have been moved to the debug file, or else the one for dynamic linking.
func (t *Table) loadSymbols() *symbolTable {
	for _, typ := range []elf.SectionType{elf.SHT_SYMTAB, elf.SHT_DYNSYM} {
		for _, img := range []*image{t.program, t.debug} {
			if img == nil {
				continue
			}
			s := parseSymbols(img, typ)
			if len(s.functions) == maxSymbols {
				t.notes.add(fmt.Sprintf("symbol table is too large: only %d functions used", maxSymbols))
			}
			if len(s.functions) > 0 {
				return s
			}
		}
	}
	t.notes.add("no symbol table")
	return &symbolTable{}
}

// parseSymbols reads the symbol table of a type, which may be absent.
func parseSymbols(img *image, typ elf.SectionType) *symbolTable {
	t := &symbolTable{}
	section := img.elf.SectionByType(typ)
	data := img.raw(section)
	if data == nil || section.Link >= uint32(len(img.elf.Sections)) {
		return t
	}
	t.names = img.raw(img.elf.Sections[section.Link])
	order := img.elf.ByteOrder
	size := elf.Sym64Size
	if img.elf.Class == elf.ELFCLASS32 {
		size = elf.Sym32Size
	}
	for ; len(data) >= size && len(t.functions) < maxSymbols; data = data[size:] {
		var (
			f     functionSymbol
			info  byte
			index uint16 // of the section that it is in
		)
		f.name = order.Uint32(data)
		if size == elf.Sym64Size {
			info, index = data[4], order.Uint16(data[6:])
			f.address, f.size = order.Uint64(data[8:]), order.Uint64(data[16:])
		} else {
			f.address, f.size = uint64(order.Uint32(data[4:])), uint64(order.Uint32(data[8:]))
			info, index = data[12], order.Uint16(data[14:])
		}
		if typ := elf.ST_TYPE(info); typ != elf.STT_FUNC && typ != elf.STT_GNU_IFUNC || index == uint16(elf.SHN_UNDEF) {
			continue
		}
		f.rank = t.rank(f.name, elf.ST_BIND(info))
		t.functions = append(t.functions, f)
	}
	slices.SortFunc(t.functions, functionSymbol.compare)
	return t
}

// compare sorts by address, and for the same address the best name last.
func (f functionSymbol) compare(g functionSymbol) int {
	return cmp.Or(cmp.Compare(f.address, g.address), cmp.Compare(f.rank, g.rank), cmp.Compare(g.name, f.name))
}

// rank says how good a name is compared to others of the same function, of
// which libraries often have several: "malloc" is better than "__libc_malloc",
// and a global name is better than a local one.
func (t *symbolTable) rank(name uint32, bind elf.SymBind) uint8 {
	rank := uint8(0)
	switch bind {
	case elf.STB_GLOBAL:
		rank = 2
	case elf.STB_WEAK:
		rank = 1
	}
	const maxUnderscores = 3
	underscores := 0
	for underscores < maxUnderscores && uint64(name)+uint64(underscores) < uint64(len(t.names)) && t.names[int(name)+underscores] == '_' {
		underscores++
	}
	return rank + 4*uint8(maxUnderscores-underscores)
}

// find returns the name of the function that contains address, "" if none
// does. code is where the module has machine code.
func (t *symbolTable) find(address uint64, code []addrRange) string {
	// Symbols may be nested, so the search goes on past those that end before
	// the address; but not far, as that is rare.
	const maxSteps = 64
	last := sort.Search(len(t.functions), func(i int) bool { return t.functions[i].address > address }) - 1
	for i := last; i >= 0 && i > last-maxSteps; i-- {
		if f := t.functions[i]; address-f.address < f.size {
			return t.text(f.name)
		}
	}
	// Hand-written assembly may not give the size; then the function extends
	// to the next symbol.
	if last >= 0 && t.functions[last].size == 0 {
		for _, r := range code {
			if r.lo <= t.functions[last].address && address < r.hi {
				return t.text(t.functions[last].name)
			}
		}
	}
	return ""
}

func (t *symbolTable) text(name uint32) string {
	return cleanText(stringAt(t.names, uint64(name)))
}
