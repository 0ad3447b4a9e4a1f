package symbol

import (
	"bytes"
	"encoding/binary"
)

// A budget bounds the work that goes into something, so that a damaged file
// cannot make it endless. Most work is bounded by the size of what is read; a
// budget is for tables that many entries may share, and which would be read
// for each of them.
type budget struct{ left int64 }

// The work that is reasonable for one unit, and for finding all units: several
// times what the largest programs need, and some seconds at most.
const (
	unitBudget  = 1 << 25
	indexBudget = 1 << 27
)

// spend takes n from the budget and reports whether there was that much.
func (b *budget) spend(n int64) bool {
	b.left -= n
	return b.left >= 0
}

// A cursor reads numbers and strings from a section, one after the other.
//
// Once a read goes past the end, or a number is malformed, the cursor is bad:
// it stays at the end, and all reads give zero. So a caller can read a whole
// record and then ask once whether it was all there; but each loop over a
// cursor must end when it is bad.
type cursor struct {
	data  []byte
	pos   int // index into data of the next byte
	order binary.ByteOrder
	bad   bool
}

// newCursor returns a cursor at data[pos]. A pos outside of data makes it bad.
func newCursor(data []byte, pos uint64, order binary.ByteOrder) cursor {
	if pos > uint64(len(data)) {
		return cursor{data: data, pos: len(data), order: order, bad: true}
	}
	return cursor{data: data, pos: int(pos), order: order}
}

// done reports whether there is nothing left to read.
func (c *cursor) done() bool { return c.pos >= len(c.data) }

func (c *cursor) fail() {
	c.bad = true
	c.pos = len(c.data)
}

// take returns the next n bytes, which must not be modified or kept.
func (c *cursor) take(n uint64) []byte {
	if n > uint64(len(c.data)-c.pos) {
		c.fail()
		return nil
	}
	b := c.data[c.pos : c.pos+int(n)]
	c.pos += int(n)
	return b
}

func (c *cursor) skip(n uint64) { c.take(n) }

func (c *cursor) u8() uint8 {
	if c.pos >= len(c.data) {
		c.bad = true
		return 0
	}
	b := c.data[c.pos]
	c.pos++
	return b
}

func (c *cursor) u16() uint16 {
	if b := c.take(2); b != nil {
		return c.order.Uint16(b)
	}
	return 0
}

func (c *cursor) u32() uint32 {
	if b := c.take(4); b != nil {
		return c.order.Uint32(b)
	}
	return 0
}

func (c *cursor) u64() uint64 {
	if b := c.take(8); b != nil {
		return c.order.Uint64(b)
	}
	return 0
}

// uint returns an unsigned number of 1, 2, 3, 4 or 8 bytes.
func (c *cursor) uint(size int) uint64 {
	switch size {
	case 1:
		return uint64(c.u8())
	case 2:
		return uint64(c.u16())
	case 3:
		b := c.take(3)
		if b == nil {
			return 0
		}
		if c.order.Uint16([]byte{0, 1}) == 1 { // big endian
			return uint64(b[0])<<16 | uint64(b[1])<<8 | uint64(b[2])
		}
		return uint64(b[2])<<16 | uint64(b[1])<<8 | uint64(b[0])
	case 4:
		return uint64(c.u32())
	case 8:
		return c.u64()
	}
	c.fail()
	return 0
}

// offset returns an offset into a section, whose size depends on whether the
// unit is in the 32-bit or the 64-bit DWARF format.
func (c *cursor) offset(dwarf64 bool) uint64 {
	if dwarf64 {
		return c.u64()
	}
	return uint64(c.u32())
}

// unitLength returns the length that starts a unit, and the format that it
// implies: the 64-bit format is marked by an impossible 32-bit length.
func (c *cursor) unitLength() (length uint64, dwarf64 bool) {
	n := c.u32()
	switch {
	case n == 0xffffffff:
		return c.u64(), true
	case n >= 0xfffffff0: // reserved
		c.fail()
		return 0, false
	}
	return uint64(n), false
}

// uleb returns an unsigned LEB128 number. Bits beyond the 64th are dropped.
func (c *cursor) uleb() uint64 {
	var n uint64
	for shift := uint(0); ; shift += 7 {
		if c.pos >= len(c.data) {
			c.bad = true
			return 0
		}
		b := c.data[c.pos]
		c.pos++
		if shift < 64 {
			n |= uint64(b&0x7f) << shift
		}
		if b&0x80 == 0 {
			return n
		}
	}
}

// sleb returns a signed LEB128 number.
func (c *cursor) sleb() int64 {
	var n int64
	for shift := uint(0); ; {
		if c.pos >= len(c.data) {
			c.bad = true
			return 0
		}
		b := c.data[c.pos]
		c.pos++
		if shift < 64 {
			n |= int64(b&0x7f) << shift
		}
		shift += 7
		if b&0x80 == 0 {
			if b&0x40 != 0 && shift < 64 {
				n |= -1 << shift
			}
			return n
		}
	}
}

// cstring returns the bytes up to the next zero byte, which must not be
// modified or kept.
func (c *cursor) cstring() []byte {
	n := bytes.IndexByte(c.data[c.pos:], 0)
	if n < 0 {
		c.fail()
		return nil
	}
	s := c.data[c.pos : c.pos+n]
	c.pos += n + 1
	return s
}
