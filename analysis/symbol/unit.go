package symbol

import (
	"bytes"
	"debug/dwarf"
	"errors"
	"sort"
	"strings"
	"unicode/utf8"
)

// An infoSection is a .debug_info section and where its units are.
type infoSection struct {
	sec   *sections
	spans []unitSpan // sorted
}

// A unitSpan is the part [start, end) of .debug_info that holds one unit.
type unitSpan struct{ start, end uint64 }

// maxUnits bounds how many units of a file are taken up. The largest programs
// have some ten thousand.
const maxUnits = 1 << 20

// newInfoSection finds the units by hopping from header to header.
func newInfoSection(sec *sections) *infoSection {
	s := &infoSection{sec: sec}
	c := newCursor(sec.info, 0, sec.order)
	for !c.done() && len(s.spans) < maxUnits {
		start := uint64(c.pos)
		length, _ := c.unitLength()
		c.skip(length)
		if c.bad {
			break // the rest is truncated
		}
		if length > 0 {
			s.spans = append(s.spans, unitSpan{start, uint64(c.pos)})
		}
	}
	return s
}

// find returns the index of the unit that contains the given offset into
// .debug_info, or -1.
func (s *infoSection) find(off uint64) int {
	i := sort.Search(len(s.spans), func(i int) bool { return s.spans[i].end > off })
	if i < len(s.spans) && s.spans[i].start <= off {
		return i
	}
	return -1
}

// Unit types of DWARF 5.
const (
	unitCompile      = 1
	unitType         = 2
	unitPartial      = 3
	unitSkeleton     = 4
	unitSplitCompile = 5
	unitSplitType    = 6
)

// Source languages, as far as they matter for names.
const (
	langC89       = 0x01
	langC         = 0x02
	langFortran77 = 0x07
	langFortran90 = 0x08
	langC99       = 0x0c
	langFortran95 = 0x0e
	langC11       = 0x1d
	langFortran03 = 0x22
	langFortran08 = 0x23
	langC17       = 0x2c
	langFortran18 = 0x2d
)

// isFortran reports whether lang is a version of Fortran.
func isFortran(lang uint64) bool {
	switch lang {
	case langFortran77, langFortran90, langFortran95, langFortran03, langFortran08, langFortran18:
		return true
	}
	return false
}

// isC reports whether lang is a version of C, and not of C++.
func isC(lang uint64) bool {
	switch lang {
	case langC89, langC, langC99, langC11, langC17:
		return true
	}
	return false
}

// A unit is a part of .debug_info that one compilation made. Its entries form
// a tree; the root describes the compilation, and is decoded into the fields
// here.
type unit struct {
	sec *sections
	unitSpan
	format
	unitType  uint8
	abbrevOff uint64 // into .debug_abbrev
	root      uint64 // offset of the root entry
	abbrevs   *abbrevTable

	tag      dwarf.Tag
	lang     uint64
	compDir  string
	low      uint64 // base of relative address ranges
	hasLow   bool
	high     value // kindOther if absent
	ranges   value // kindOther if absent
	stmtList value // kindOther if absent
	dwoName  string
	dwoID    uint64 // of a skeleton, and of the split unit it stands for

	// What indices are relative to. A split unit takes its addresses, and in
	// DWARF 4 its ranges, from sections of the file that has the skeleton.
	strOffsetsBase uint64
	addr           []byte
	addrBase       uint64
	rangesSec      []byte
	rangesBase     uint64
	rnglistsBase   uint64
	splitRanges    uint64 // rangesBase of the split unit, in a skeleton

	budget *budget
}

var errUnit = errors.New("damaged unit")

// parseUnit reads the header and the root entry of a unit. Only if all is
// true are its other entries of interest.
//
// skeleton is nil but for a split unit. The unit goes on to spend from b.
func parseUnit(sec *sections, span unitSpan, skeleton *unit, all bool, b *budget) (*unit, error) {
	u := &unit{sec: sec, unitSpan: span, addr: sec.addr, rangesSec: sec.ranges, budget: b}
	if span.end > uint64(len(sec.info)) {
		return nil, errUnit
	}
	c := newCursor(sec.info[:span.end], span.start, sec.order)
	_, u.dwarf64 = c.unitLength()
	u.version = c.u16()
	switch {
	case u.version >= 2 && u.version <= 4:
		u.unitType = unitCompile
		u.abbrevOff = c.offset(u.dwarf64)
		u.addrSize = c.u8()
	case u.version == 5:
		u.unitType = c.u8()
		u.addrSize = c.u8()
		u.abbrevOff = c.offset(u.dwarf64)
		switch u.unitType {
		case unitSkeleton, unitSplitCompile:
			u.dwoID = c.u64()
		case unitType, unitSplitType:
			c.u64()             // signature
			c.offset(u.dwarf64) // entry of the type
		}
	default:
		return nil, errUnit
	}
	if c.bad || u.addrSize != 4 && u.addrSize != 8 {
		return nil, errUnit
	}
	u.root = uint64(c.pos)
	if skeleton != nil {
		u.inherit(skeleton)
	}

	only := uint64(0)
	if !all {
		peek := c
		only = peek.uleb()
	}
	var err error
	if u.abbrevs, err = parseAbbrevs(sec, u.abbrevOff, u.format, only, b); err != nil {
		return nil, err
	}
	return u, u.parseRoot()
}

// inherit sets what a split unit takes from its skeleton, and the places
// where the tables of its own file begin, which it does not mention: after
// their headers, which only DWARF 5 has.
func (u *unit) inherit(skeleton *unit) {
	u.addr, u.addrBase = skeleton.addr, skeleton.addrBase
	u.rangesSec, u.rangesBase = skeleton.rangesSec, skeleton.splitRanges
	u.low, u.hasLow = skeleton.low, skeleton.hasLow
	if u.version >= 5 {
		lengthSize := uint64(4)
		if u.dwarf64 {
			lengthSize = 12
		}
		u.strOffsetsBase = lengthSize + 4 // version and padding
		u.rnglistsBase = lengthSize + 8   // version, two sizes, count
	}
}

// parseRoot decodes the root entry.
func (u *unit) parseRoot() error {
	var compDir, low, entry, dwoName, dwoID value
	c := u.cursor(u.root)
	a := u.abbrevs.get(c.uleb())
	if a == nil {
		return errUnit
	}
	u.tag = a.tag
	for _, spec := range a.attrs {
		v := u.read(&c, spec)
		if c.bad {
			return errUnit
		}
		switch spec.attr {
		case dwarf.AttrCompDir:
			compDir = v
		case dwarf.AttrLanguage:
			u.lang = v.num
		case dwarf.AttrLowpc:
			low = v
		case dwarf.AttrEntrypc:
			entry = v
		case dwarf.AttrHighpc:
			u.high = v
		case dwarf.AttrRanges:
			u.ranges = v
		case dwarf.AttrStmtList:
			u.stmtList = v
		case dwarf.AttrDwoName, attrGNUDwoName:
			dwoName = v
		case attrGNUDwoID:
			dwoID = v
		case dwarf.AttrStrOffsetsBase:
			u.strOffsetsBase = v.num
		case dwarf.AttrAddrBase, attrGNUAddrBase:
			u.addrBase = v.num
		case dwarf.AttrRnglistsBase:
			u.rnglistsBase = v.num
		case attrGNURangesBase:
			u.splitRanges = v.num
		}
	}
	// Only now are the bases known that these may depend on.
	u.compDir = u.text(compDir)
	u.dwoName = u.text(dwoName)
	if dwoID.kind == kindNumber {
		u.dwoID = dwoID.num
	}
	if a, ok := u.address(low); ok {
		u.low, u.hasLow = a, true
	} else if a, ok := u.address(entry); ok {
		u.low = a // some old compilers give the base of ranges so
	}
	return nil
}

// cursor returns a cursor over the unit's entries, at an offset into
// .debug_info. An offset outside of the unit makes it bad.
func (u *unit) cursor(off uint64) cursor {
	if off < u.start {
		off = u.end + 1
	}
	return newCursor(u.sec.info[:u.end], off, u.sec.order)
}

// address returns the address that v stands for.
func (u *unit) address(v value) (address uint64, ok bool) {
	switch v.kind {
	case kindAddress:
		return v.num, true
	case kindAddrx:
		return u.addrAt(v.num)
	}
	return 0, false
}

// addrAt returns the address at an index of the unit's table of addresses.
func (u *unit) addrAt(index uint64) (address uint64, ok bool) {
	if index > uint64(len(u.addr)) || u.addrBase > uint64(len(u.addr)) {
		return 0, false
	}
	c := newCursor(u.addr, u.addrBase+index*uint64(u.addrSize), u.sec.order)
	address = c.uint(int(u.addrSize))
	return address, !c.bad
}

// ref returns the offset into .debug_info of the entry that v refers to. It
// may be in another unit.
func (u *unit) ref(v value) (off uint64, ok bool) {
	switch v.kind {
	case kindUnitRef:
		return u.start + v.num, v.num < u.end-u.start
	case kindInfoRef:
		return v.num, true
	}
	return 0, false
}

// bytes returns the string that v stands for. The result must not be kept.
func (u *unit) bytes(v value) []byte {
	switch v.kind {
	case kindString:
		return v.text
	case kindStrp:
		return stringAt(u.sec.str, v.num)
	case kindLineStrp:
		return stringAt(u.sec.lineStr, v.num)
	case kindStrx:
		if v.num > uint64(len(u.sec.strOffsets)) || u.strOffsetsBase > uint64(len(u.sec.strOffsets)) {
			return nil
		}
		c := newCursor(u.sec.strOffsets, u.strOffsetsBase+v.num*uint64(u.offsetSize()), u.sec.order)
		if off := c.offset(u.dwarf64); !c.bad {
			return stringAt(u.sec.str, off)
		}
	}
	return nil
}

// text returns the string that v stands for, fit to be kept.
func (u *unit) text(v value) string { return cleanText(u.bytes(v)) }

// maxText bounds the length of names and paths. Only absurd ones are longer.
const maxText = 16 << 10

// stringAt returns the zero-terminated string at an offset of a section, cut
// off if it is too long.
func stringAt(data []byte, off uint64) []byte {
	if off >= uint64(len(data)) {
		return nil
	}
	data = data[off:min(off+maxText, uint64(len(data)))]
	if n := bytes.IndexByte(data, 0); n >= 0 {
		return data[:n]
	}
	return data
}

// cleanText copies bytes out of a file into a string that is safe to print:
// valid UTF-8, without control characters, and of limited length.
func cleanText(b []byte) string {
	if len(b) > maxText {
		b = b[:maxText]
	}
	for _, c := range b {
		if c < ' ' || c >= 0x7f {
			return strings.Map(func(r rune) rune {
				if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == utf8.RuneError {
					return '?'
				}
				return r
			}, string(b))
		}
	}
	return string(b)
}

// codeRanges calls yield for each range of addresses that the unit covers,
// until it returns false. It reports whether the unit says what it covers.
func (u *unit) codeRanges(yield func(addrRange) bool) (says bool) {
	return u.entryRanges(value{kind: kindAddress, num: u.low}, u.hasLow, u.high, u.ranges, yield)
}

// entryRanges calls yield for each non-empty range of addresses that an entry
// with the given attributes covers, until it returns false. It reports whether
// the attributes say what is covered.
func (u *unit) entryRanges(low value, hasLow bool, high, ranges value, yield func(addrRange) bool) (says bool) {
	if ranges.kind != kindOther {
		u.rangeList(ranges, yield)
		return true
	}
	if !hasLow || high.kind == kindOther {
		return false
	}
	lo, ok := u.address(low)
	if !ok {
		return false
	}
	hi, ok := u.address(high)
	if !ok {
		hi = lo + high.num // since DWARF 4 high may be a size
	}
	if lo < hi {
		yield(addrRange{lo, hi})
	}
	return true
}
