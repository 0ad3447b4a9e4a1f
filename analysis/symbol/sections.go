package symbol

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
)

// sections holds the DWARF sections that belong together: those of one file,
// or one unit's shares of a .dwp package. Those that are absent are nil.
type sections struct {
	order      binary.ByteOrder
	info       []byte // the tree of entries
	abbrev     []byte // how the entries are encoded
	str        []byte // strings
	lineStr    []byte // strings, DWARF 5
	strOffsets []byte // tables of offsets into str
	line       []byte // line number programs
	addr       []byte // tables of addresses
	ranges     []byte // address range lists, up to DWARF 4
	rnglists   []byte // address range lists, DWARF 5
	aranges    []byte // addresses to units

	// moreInfo holds further sections like info. Split debug files, which are
	// not linked, have one for each type if types have units of their own.
	moreInfo [][]byte
}

// fields lists the sections by name. Others, such as those that describe
// variables and call frames, are of no use here and are never touched.
func (s *sections) fields() []struct {
	name string
	data *[]byte
} {
	return []struct {
		name string
		data *[]byte
	}{
		{".debug_info", &s.info},
		{".debug_abbrev", &s.abbrev},
		{".debug_str", &s.str},
		{".debug_line_str", &s.lineStr},
		{".debug_str_offsets", &s.strOffsets},
		{".debug_line", &s.line},
		{".debug_addr", &s.addr},
		{".debug_ranges", &s.ranges},
		{".debug_rnglists", &s.rnglists},
		{".debug_aranges", &s.aranges},
	}
}

// impossibleSize is larger than any section, but leaves room to add to it.
const impossibleSize = 1 << 60

// debugSize returns the total size, after decompression, of the sections that
// loadSections would load.
func debugSize(img *image, suffix string) (total int64) {
	for _, f := range new(sections).fields() {
		total = min(total+sectionsSize(img, f.name+suffix), impossibleSize)
	}
	return total
}

// sectionsSize returns the total size, after decompression, of the debug
// sections called name.
func sectionsSize(img *image, name string) (total int64) {
	for _, s := range img.debugSections(name) {
		_, size := img.isCompressed(s)
		total = min(total+int64(min(size, impossibleSize)), impossibleSize)
	}
	return total
}

// loadSections loads the debug sections of a file; suffix is "" for the usual
// ones, or ".dwo" for those of a split debug file. The caller has checked
// their size. It fails only if there is nothing to be had without the section
// that cannot be read.
func loadSections(img *image, suffix string) (*sections, error) {
	if img.elf.Type == elf.ET_REL && suffix == "" {
		return nil, errors.New("not linked")
	}
	sec := &sections{order: img.elf.ByteOrder}
	for _, f := range sec.fields() {
		for _, s := range img.debugSections(f.name + suffix) {
			data, err := img.contents(s)
			if err != nil && (f.data == &sec.info || f.data == &sec.abbrev) {
				return nil, fmt.Errorf("%s: %w", s.Name, err)
			}
			if *f.data == nil {
				*f.data = data
			} else if f.data == &sec.info {
				sec.moreInfo = append(sec.moreInfo, data)
			}
		}
	}
	return sec, nil
}
