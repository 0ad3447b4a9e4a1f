package symbol

import (
	"cmp"
	"slices"
	"sort"
)

// An addressIndex finds the units of a .debug_info section that cover an
// address.
//
// Units can be found in three ways, each slower than the one before:
// .debug_aranges, which is a ready-made index but which not all compilers
// write; the root entry of each unit; and all entries of the units whose root
// does not say what they cover. Each is tried only if those before it did not
// find an answer.
type addressIndex struct {
	info     *infoSection
	keep     func(uint64) bool
	quick    unitRanges // from .debug_aranges, and from the roots of other units
	roots    unitRanges // from all roots, once there was need for them
	entries  unitRanges // from all entries of units whose root says nothing
	hasRoots bool       // roots and entries were read
}

// unitRanges says which unit covers which addresses.
type unitRanges []unitRange

type unitRange struct {
	addrRange
	maxHi uint64 // the largest hi up to and including this one
	unit  int32
}

// maxUnitRanges bounds the index. Programs with a section for each function
// have some hundred thousand ranges.
const maxUnitRanges = 1 << 20

// newAddressIndex makes the index. See parseFunctions for keep.
func newAddressIndex(info *infoSection, keep func(uint64) bool) *addressIndex {
	x := &addressIndex{info: info, keep: keep}
	listed := x.readAranges()
	b := &budget{indexBudget}
	for i := range info.spans {
		if !listed[i] {
			x.readRoot(i, &x.quick, b)
		}
	}
	x.quick.sort()
	return x
}

// find calls try for each unit that may cover address, until it returns true.
func (x *addressIndex) find(address uint64, try func(unit int) bool) bool {
	if x.quick.find(address, try) {
		return true
	}
	if !x.hasRoots {
		x.hasRoots = true
		b := &budget{indexBudget}
		for i := range x.info.spans {
			if done := x.readRoot(i, &x.roots, b); !done {
				x.readEntries(i, b)
			}
		}
		x.roots.sort()
		x.entries.sort()
	}
	return x.roots.find(address, try) || x.entries.find(address, try)
}

// readAranges reads .debug_aranges: for each unit a table of addresses and
// sizes, ended by a pair of zeros. It reports which units are listed.
func (x *addressIndex) readAranges() (listed []bool) {
	listed = make([]bool, len(x.info.spans))
	c := newCursor(x.info.sec.aranges, 0, x.info.sec.order)
	for !c.done() {
		start := c.pos
		length, dwarf64 := c.unitLength()
		if c.bad || length > uint64(len(c.data)-c.pos) {
			break
		}
		set := c
		set.data = c.data[:c.pos+int(length)]
		c.skip(length)

		version := set.u16()
		unit := x.info.find(set.offset(dwarf64))
		addrSize := int(set.u8())
		segmentSize := set.u8()
		if version != 2 || unit < 0 || segmentSize != 0 || addrSize != 4 && addrSize != 8 {
			continue
		}
		// Padding makes the pairs aligned, counting from the start of the set.
		if over := (set.pos - start) % (2 * addrSize); over != 0 {
			set.skip(uint64(2*addrSize - over))
		}
		for !set.done() && len(x.quick) < maxUnitRanges {
			lo, size := set.uint(addrSize), set.uint(addrSize)
			if set.bad || lo == 0 && size == 0 {
				break
			}
			if lo+size > lo && x.keep(lo) {
				x.add(&x.quick, addrRange{lo, lo + size}, unit)
				listed[unit] = true
			}
		}
	}
	return listed
}

// readRoot adds to ranges what the root entry of a unit covers. It reports
// whether the unit is of no further interest.
func (x *addressIndex) readRoot(i int, ranges *unitRanges, b *budget) (done bool) {
	u, err := parseUnit(x.info.sec, x.info.spans[i], nil, false, b)
	if err != nil || u.unitType != unitCompile && u.unitType != unitSkeleton {
		return true
	}
	return u.codeRanges(func(r addrRange) bool {
		x.add(ranges, r, i)
		return len(*ranges) < maxUnitRanges
	})
}

// readEntries adds to x.entries what the functions of a unit cover.
func (x *addressIndex) readEntries(i int, b *budget) {
	u, err := parseUnit(x.info.sec, x.info.spans[i], nil, true, b)
	if err != nil || !u.abbrevs.functions {
		return // as with units that only have types
	}
	for _, f := range parseFunctions(u, x.keep).starts {
		if len(x.entries) < maxUnitRanges {
			x.add(&x.entries, f.addrRange, i)
		}
	}
}

// add adds a range to one of the tables, if it is of interest.
func (x *addressIndex) add(ranges *unitRanges, r addrRange, unit int) {
	if x.keep(r.lo) {
		*ranges = append(*ranges, unitRange{addrRange: r, unit: int32(unit)})
	}
}

func (r unitRanges) sort() {
	slices.SortFunc(r, func(a, b unitRange) int {
		return cmp.Or(cmp.Compare(a.lo, b.lo), cmp.Compare(a.unit, b.unit))
	})
	var maxHi uint64
	for i := range r {
		maxHi = max(maxHi, r[i].hi)
		r[i].maxHi = maxHi
	}
}

// find calls try for each range that covers address, those that start closest
// before it first, until it returns true.
func (r unitRanges) find(address uint64, try func(unit int) bool) bool {
	const maxSteps = 64 // ranges overlap in damaged files only
	i := sort.Search(len(r), func(i int) bool { return r[i].lo > address })
	for n := 0; i > 0 && r[i-1].maxHi > address && n < maxSteps; n++ {
		i--
		if address < r[i].hi && try(int(r[i].unit)) {
			return true
		}
	}
	return false
}
