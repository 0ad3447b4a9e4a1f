package symbol

// rangeList calls yield for each non-empty range in a list of address ranges,
// until it returns false or the list ends. v is the value of DW_AT_ranges.
func (u *unit) rangeList(v value, yield func(addrRange) bool) {
	if u.version >= 5 {
		u.rangeList5(v, yield)
	} else {
		u.rangeList4(v, yield)
	}
}

// rangeList4 reads a list in .debug_ranges: pairs of addresses relative to a
// base, which is the unit's lowest address until an entry changes it.
func (u *unit) rangeList4(v value, yield func(addrRange) bool) {
	if v.kind != kindNumber || v.num > uint64(len(u.rangesSec)) || u.rangesBase > uint64(len(u.rangesSec)) {
		return
	}
	c := newCursor(u.rangesSec, u.rangesBase+v.num, u.sec.order)
	base := u.low
	changeBase := uint64(1)<<(8*u.addrSize-1)<<1 - 1 // the largest address
	for u.budget.spend(1) {
		lo := c.uint(int(u.addrSize))
		hi := c.uint(int(u.addrSize))
		switch {
		case c.bad || lo == 0 && hi == 0:
			return
		case lo == changeBase:
			base = hi
		case lo < hi:
			if !yield(addrRange{base + lo, base + hi}) {
				return
			}
		}
	}
}

// Kinds of entries in .debug_rnglists.
const (
	rleEndOfList    = 0
	rleBaseAddressx = 1
	rleStartxEndx   = 2
	rleStartxLength = 3
	rleOffsetPair   = 4
	rleBaseAddress  = 5
	rleStartEnd     = 6
	rleStartLength  = 7
)

// rangeList5 reads a list in .debug_rnglists. v is its offset, or an index
// into a table of offsets, which are then relative to that table.
func (u *unit) rangeList5(v value, yield func(addrRange) bool) {
	data := u.sec.rnglists
	off := v.num
	switch v.kind {
	case kindNumber:
	case kindRangex:
		if v.num > uint64(len(data)) || u.rnglistsBase > uint64(len(data)) {
			return
		}
		c := newCursor(data, u.rnglistsBase+v.num*uint64(u.offsetSize()), u.sec.order)
		off = c.offset(u.dwarf64)
		if c.bad || off > uint64(len(data)) {
			return
		}
		off += u.rnglistsBase
	default:
		return
	}
	c := newCursor(data, off, u.sec.order)
	base := u.low
	size := int(u.addrSize)
	for u.budget.spend(1) {
		var lo, hi uint64
		known := true // that all addresses could be found
		switch c.u8() {
		case rleBaseAddress:
			base = c.uint(size)
			continue
		case rleBaseAddressx:
			base, known = u.addrAt(c.uleb())
			if !known {
				return
			}
			continue
		case rleStartxEndx:
			var knownHi bool
			lo, known = u.addrAt(c.uleb())
			hi, knownHi = u.addrAt(c.uleb())
			known = known && knownHi
		case rleStartxLength:
			lo, known = u.addrAt(c.uleb())
			hi = lo + c.uleb()
		case rleOffsetPair:
			lo = base + c.uleb()
			hi = base + c.uleb()
		case rleStartEnd:
			lo = c.uint(size)
			hi = c.uint(size)
		case rleStartLength:
			lo = c.uint(size)
			hi = lo + c.uleb()
		case rleEndOfList:
			return
		default:
			return
		}
		if c.bad {
			return
		}
		if known && lo < hi && !yield(addrRange{lo, hi}) {
			return
		}
	}
}
