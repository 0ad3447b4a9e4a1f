package symbol

import (
	"encoding/binary"
	"path/filepath"
)

// With split DWARF the module has only a skeleton of each unit: the line table,
// and the name of a .dwo file with the rest. The .dwo files of a module may
// have been collected in one .dwp file. A 64-bit number tells which skeleton
// and which split unit belong together.

// loadSplit sets p.detail to the split unit that p.unit stands for, if it can
// be found. Otherwise functions are as the skeleton has them, which is usually
// not at all.
func (t *Table) loadSplit(p *parsedUnit) {
	if t.dwp == nil {
		t.dwp = &dwpPackage{}
		t.openPackage()
	}
	if sec := t.dwp.sections(p.unit.dwoID); sec != nil {
		if u := splitUnit(sec, p.unit); u != nil {
			p.detail = u
			return
		}
	}
	for _, path := range t.splitPaths(p.unit) {
		img, err := openImage(path)
		if err != nil {
			continue
		}
		p.dwo = img
		if debugSize(img, ".dwo") <= t.limits.DebugBytes {
			if sec, err := loadSections(img, ".dwo"); err == nil {
				if u := splitUnit(sec, p.unit); u != nil {
					p.detail = u
					return
				}
			}
		}
		p.dwo.close()
		p.dwo = nil
	}
	t.notes.missDwo(p.index, p.unit.dwoName)
}

// splitPaths returns where the .dwo file of a skeleton may be: where it was
// when it was compiled, or with the module.
func (t *Table) splitPaths(u *unit) []string {
	beside := filepath.Dir(t.path)
	paths := []string{
		joinPath(u.compDir, u.dwoName),
		filepath.Join(beside, filepath.Base(u.dwoName)),
	}
	if !filepath.IsAbs(u.dwoName) {
		paths = append(paths, filepath.Join(beside, u.dwoName))
	}
	return paths
}

// splitUnit returns the unit in sec that skeleton stands for, or nil.
func splitUnit(sec *sections, skeleton *unit) *unit {
	b := &budget{unitBudget}
	for _, info := range append([][]byte{sec.info}, sec.moreInfo...) {
		sec := *sec
		sec.info = info
		for _, span := range newInfoSection(&sec).spans {
			u, err := parseUnit(&sec, span, skeleton, false, b)
			if err != nil || u.dwoID != skeleton.dwoID || u.unitType != unitCompile && u.unitType != unitSplitCompile {
				continue
			}
			if u, err = parseUnit(&sec, span, skeleton, true, b); err == nil {
				return u
			}
		}
	}
	return nil
}

// dwpIndex is the section of a .dwp file that tells where its units are.
const dwpIndex = ".debug_cu_index"

// A dwpPackage is a .dwp file; the zero value has no units.
type dwpPackage struct {
	img   *image
	whole *sections
	index []byte // the section dwpIndex
}

// openPackage sets t.dwp to the .dwp file beside the module or its debug file,
// if there is one.
func (t *Table) openPackage() {
	paths := []string{t.path + ".dwp"}
	if t.debug.path != t.path {
		paths = append(paths, t.debug.path+".dwp")
	}
	for _, path := range paths {
		img, err := openImage(path)
		if err != nil {
			continue
		}
		if size := debugSize(img, ".dwo") + sectionsSize(img, dwpIndex); size > t.limits.DebugBytes {
			t.notes.add("split debug sections of " + mebibytes(size) + " skipped")
			img.close()
			continue
		}
		pkg := &dwpPackage{img: img}
		pkg.whole, err = loadSections(img, ".dwo")
		for _, s := range img.debugSections(dwpIndex) {
			if err == nil {
				pkg.index, err = img.contents(s)
			}
		}
		if err == nil && pkg.index != nil {
			t.dwp = pkg
			return
		}
		pkg.close()
		t.notes.add("split debug file " + path + " cannot be read")
	}
}

// close unmaps the file. Closing a nil package does nothing.
func (pkg *dwpPackage) close() {
	if pkg != nil {
		pkg.img.close()
	}
}

// sections returns the shares of one unit, nil if the package does not have it.
//
// The index is a hash table from unit numbers to rows of two tables with one
// column for each section: the offsets, and the sizes, of the unit's shares.
func (pkg *dwpPackage) sections(dwoID uint64) *sections {
	if pkg.img == nil {
		return nil
	}
	order := pkg.whole.order
	c := newCursor(pkg.index, 0, order)
	version := c.u32()
	if version != 2 { // that of the GNU extension; in DWARF 5 it has 16 bits
		c = newCursor(pkg.index, 0, order)
		version = uint32(c.u16())
		c.u16()
	}
	columns, units, slots := uint64(c.u32()), uint64(c.u32()), uint64(c.u32())
	const maxColumns = 16
	if c.bad || version != 2 && version != 5 || columns > maxColumns || slots == 0 || slots&(slots-1) != 0 {
		return nil
	}
	signatures := c.take(8 * slots)
	rows := c.take(4 * slots)
	ids := c.take(4 * columns)
	offsets := c.take(4 * columns * units)
	sizes := c.take(4 * columns * units)
	if c.bad {
		return nil
	}
	row := dwpRow(signatures, rows, dwoID, order)
	if row == 0 || row > units {
		return nil
	}

	sec := &sections{order: order, str: pkg.whole.str}
	for i := uint64(0); i < columns; i++ {
		cell := 4 * ((row-1)*columns + i)
		lo := uint64(order.Uint32(offsets[cell:]))
		hi := lo + uint64(order.Uint32(sizes[cell:]))
		share := func(whole []byte) []byte {
			if hi > uint64(len(whole)) {
				return nil
			}
			return whole[lo:hi:hi]
		}
		switch order.Uint32(ids[4*i:]) {
		case 1:
			sec.info = share(pkg.whole.info)
		case 3:
			sec.abbrev = share(pkg.whole.abbrev)
		case 6:
			sec.strOffsets = share(pkg.whole.strOffsets)
		case 8:
			if version == 5 {
				sec.rnglists = share(pkg.whole.rnglists)
			}
		}
	}
	return sec
}

// dwpRow looks up a unit in the hash table of a .dwp file, which uses double
// hashing. It returns the number of the row, counted from 1, or 0.
func dwpRow(signatures, rows []byte, dwoID uint64, order binary.ByteOrder) uint64 {
	slots := uint64(len(rows) / 4)
	mask := slots - 1
	slot, step := dwoID&mask, dwoID>>32&mask|1
	for n := uint64(0); n < slots; n++ {
		row := order.Uint32(rows[4*slot:])
		if row == 0 {
			return 0
		}
		if order.Uint64(signatures[8*slot:]) == dwoID {
			return uint64(row)
		}
		slot = (slot + step) & mask
	}
	return 0
}
