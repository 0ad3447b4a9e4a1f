package symbol

import "debug/dwarf"

// A form says how the value of an attribute is encoded.
type form uint16

// The forms of DWARF 2 to 5, and those of GNU extensions.
const (
	formAddr         form = 0x01
	formBlock2       form = 0x03
	formBlock4       form = 0x04
	formData2        form = 0x05
	formData4        form = 0x06
	formData8        form = 0x07
	formString       form = 0x08
	formBlock        form = 0x09
	formBlock1       form = 0x0a
	formData1        form = 0x0b
	formFlag         form = 0x0c
	formSdata        form = 0x0d
	formStrp         form = 0x0e
	formUdata        form = 0x0f
	formRefAddr      form = 0x10
	formRef1         form = 0x11
	formRef2         form = 0x12
	formRef4         form = 0x13
	formRef8         form = 0x14
	formRefUdata     form = 0x15
	formIndirect     form = 0x16
	formSecOffset    form = 0x17
	formExprloc      form = 0x18
	formFlagPresent  form = 0x19
	formStrx         form = 0x1a
	formAddrx        form = 0x1b
	formRefSup4      form = 0x1c
	formStrpSup      form = 0x1d
	formData16       form = 0x1e
	formLineStrp     form = 0x1f
	formRefSig8      form = 0x20
	formImplicit     form = 0x21
	formLoclistx     form = 0x22
	formRnglistx     form = 0x23
	formRefSup8      form = 0x24
	formStrx1        form = 0x25
	formStrx2        form = 0x26
	formStrx3        form = 0x27
	formStrx4        form = 0x28
	formAddrx1       form = 0x29
	formAddrx2       form = 0x2a
	formAddrx3       form = 0x2b
	formAddrx4       form = 0x2c
	formGNUAddrIndex form = 0x1f01
	formGNUStrIndex  form = 0x1f02
	formGNURefAlt    form = 0x1f20
	formGNUStrpAlt   form = 0x1f21
)

// Attributes that debug/dwarf has no names for.
const (
	attrMIPSLinkageName dwarf.Attr = 0x2007 // before DWARF 4
	attrGNUDwoName      dwarf.Attr = 0x2130 // the others: split DWARF 4
	attrGNUDwoID        dwarf.Attr = 0x2131
	attrGNURangesBase   dwarf.Attr = 0x2132
	attrGNUAddrBase     dwarf.Attr = 0x2133
)

// A kind tells what the number in a value means. Forms that this package has
// no use for are kindOther.
type kind uint8

const (
	kindOther    kind = iota
	kindNumber        // a constant, or an offset into some other section
	kindAddress       // an address
	kindAddrx         // an index into the unit's table of addresses
	kindRangex        // an index into the unit's table of range lists
	kindUnitRef       // an entry, as offset from the unit's start
	kindInfoRef       // an entry, as offset into .debug_info
	kindString        // the string itself, in value.text
	kindStrp          // an offset into .debug_str
	kindLineStrp      // an offset into .debug_line_str
	kindStrx          // an index into the unit's table of string offsets
)

// A value is the value of an attribute as it is encoded. What an index or an
// offset stands for is found by methods of unit when it is needed.
type value struct {
	kind kind
	num  uint64
	text []byte
}

// format is what the encoding of values depends on.
type format struct {
	version  uint16
	addrSize uint8
	dwarf64  bool
}

// offsetSize is the size of an offset into a section.
func (f format) offsetSize() int {
	if f.dwarf64 {
		return 8
	}
	return 4
}

// refAddrSize is the size of DW_FORM_ref_addr, which DWARF 2 took to be an
// address.
func (f format) refAddrSize() int {
	if f.version <= 2 {
		return int(f.addrSize)
	}
	return f.offsetSize()
}

// fixedSize returns how many bytes values of a form take, or -1 if that varies
// or the form is not known.
func (f format) fixedSize(fm form) int {
	switch fm {
	case formFlagPresent, formImplicit:
		return 0
	case formData1, formRef1, formFlag, formStrx1, formAddrx1:
		return 1
	case formData2, formRef2, formStrx2, formAddrx2:
		return 2
	case formStrx3, formAddrx3:
		return 3
	case formData4, formRef4, formStrx4, formAddrx4, formRefSup4:
		return 4
	case formData8, formRef8, formRefSig8, formRefSup8:
		return 8
	case formData16:
		return 16
	case formAddr:
		return int(f.addrSize)
	case formRefAddr:
		return f.refAddrSize()
	case formStrp, formLineStrp, formSecOffset, formStrpSup, formGNURefAlt, formGNUStrpAlt:
		return f.offsetSize()
	}
	return -1
}

// read reads a value. A form that is not known makes the cursor bad, as there
// is no telling where the next value begins.
func (f format) read(c *cursor, spec attrSpec) value {
	fm := spec.form
	if fm == formIndirect { // the form is stored with the value
		fm = form(c.uleb())
		if fm == formIndirect || fm == formImplicit {
			c.fail()
			return value{}
		}
	}
	switch fm {
	case formData1, formData2, formData4, formData8, formFlag:
		return value{kind: kindNumber, num: c.uint(f.fixedSize(fm))}
	case formUdata:
		return value{kind: kindNumber, num: c.uleb()}
	case formSdata:
		return value{kind: kindNumber, num: uint64(c.sleb())}
	case formImplicit:
		return value{kind: kindNumber, num: uint64(spec.implicit)}
	case formFlagPresent:
		return value{kind: kindNumber, num: 1}
	case formSecOffset:
		return value{kind: kindNumber, num: c.offset(f.dwarf64)}

	case formAddr:
		return value{kind: kindAddress, num: c.uint(int(f.addrSize))}
	case formAddrx, formGNUAddrIndex:
		return value{kind: kindAddrx, num: c.uleb()}
	case formAddrx1, formAddrx2, formAddrx3, formAddrx4:
		return value{kind: kindAddrx, num: c.uint(f.fixedSize(fm))}
	case formRnglistx:
		return value{kind: kindRangex, num: c.uleb()}

	case formRef1, formRef2, formRef4, formRef8:
		return value{kind: kindUnitRef, num: c.uint(f.fixedSize(fm))}
	case formRefUdata:
		return value{kind: kindUnitRef, num: c.uleb()}
	case formRefAddr:
		return value{kind: kindInfoRef, num: c.uint(f.refAddrSize())}

	case formString:
		return value{kind: kindString, text: c.cstring()}
	case formStrp:
		return value{kind: kindStrp, num: c.offset(f.dwarf64)}
	case formLineStrp:
		return value{kind: kindLineStrp, num: c.offset(f.dwarf64)}
	case formStrx, formGNUStrIndex:
		return value{kind: kindStrx, num: c.uleb()}
	case formStrx1, formStrx2, formStrx3, formStrx4:
		return value{kind: kindStrx, num: c.uint(f.fixedSize(fm))}

	case formBlock1:
		c.skip(uint64(c.u8()))
	case formBlock2:
		c.skip(uint64(c.u16()))
	case formBlock4:
		c.skip(uint64(c.u32()))
	case formBlock, formExprloc:
		c.skip(c.uleb())
	case formLoclistx:
		c.uleb()
	default:
		// What is left are references to type units and to the common file of
		// dwz, which have fixed sizes, and forms that are not known.
		size := f.fixedSize(fm)
		if size < 0 {
			c.fail()
			return value{}
		}
		c.skip(uint64(size))
	}
	return value{}
}

// skipAttrs skips the attributes of an entry.
func (f format) skipAttrs(c *cursor, a *abbrev) {
	if a.size >= 0 {
		c.skip(uint64(a.size))
		return
	}
	for _, spec := range a.attrs {
		f.read(c, spec)
	}
}
