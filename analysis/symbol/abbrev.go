package symbol

import (
	"debug/dwarf"
	"errors"
)

// An abbrev describes how the entries with a certain code are encoded.
type abbrev struct {
	tag      dwarf.Tag
	children bool
	hasCode  bool // entries may say which addresses they cover
	size     int  // of the attributes, if that is the same for all entries, or -1
	attrs    []attrSpec
}

// An attrSpec describes one attribute of an entry.
type attrSpec struct {
	attr     dwarf.Attr
	form     form
	implicit int64 // the value, if form is formImplicit
}

// An abbrevTable maps codes to abbrevs. Compilers number them from 1, so most
// tables are a slice.
type abbrevTable struct {
	dense  []abbrev // code minus 1 is the index
	sparse map[uint64]*abbrev
	bytes  int64 // memory that the table takes, approximately

	functions bool // there may be functions with machine code
}

// Bounds on what is made of the abbreviations of one unit. Large C++ units
// have a few thousand, with ten attributes each.
const (
	maxAbbrevs     = 1 << 16
	maxAbbrevAttrs = 1 << 20
)

var errAbbrev = errors.New("damaged abbreviations")

// get returns the abbrev with a code, nil if there is none.
func (t *abbrevTable) get(code uint64) *abbrev {
	if code-1 < uint64(len(t.dense)) { // false for 0, which wraps around
		return &t.dense[code-1]
	}
	return t.sparse[code]
}

// parseAbbrevs reads the table at offset off of .debug_abbrev, for units of
// the given format.
//
// If only is not 0, just the abbrev with that code is wanted, and the result
// holds no other. This serves to look at the first entry of each unit without
// parsing the tables of all of them.
func parseAbbrevs(sec *sections, off uint64, f format, only uint64, b *budget) (*abbrevTable, error) {
	t := &abbrevTable{}
	effort := int64(1) // for each abbrev and attribute
	if only == 0 {
		effort = 16 // memory must be allocated
	}
	c := newCursor(sec.abbrev, off, sec.order)
	attrs := 0
	for n := 0; ; n++ {
		code := c.uleb()
		if code == 0 {
			break
		}
		if n == maxAbbrevs || !b.spend(effort) {
			return nil, errAbbrev
		}
		wanted := only == 0 || code == only
		a := abbrev{tag: dwarf.Tag(c.uleb()), children: c.u8() != 0}
		count, ok := a.parse(&c, f, wanted, maxAbbrevAttrs-attrs, func() bool { return b.spend(effort) })
		if attrs += count; !ok {
			return nil, errAbbrev
		}
		if !wanted {
			continue
		}
		t.functions = t.functions || a.hasCode && a.tag == dwarf.TagSubprogram
		if code == uint64(len(t.dense))+1 {
			t.dense = append(t.dense, a)
		} else {
			if t.sparse == nil {
				t.sparse = make(map[uint64]*abbrev)
			}
			t.sparse[code] = &a
		}
		if only != 0 {
			break
		}
	}
	if c.bad {
		return nil, errAbbrev
	}
	t.bytes = int64(64*(len(t.dense)+2*len(t.sparse)) + 24*attrs)
	return t, nil
}

// parse reads the attributes of an abbrev, up to a number of them, and keeps them if they are wanted. It returns how many there are.
func (a *abbrev) parse(c *cursor, f format, wanted bool, most int, spend func() bool) (count int, ok bool) {
	for {
		spec := attrSpec{attr: dwarf.Attr(c.uleb()), form: form(c.uleb())}
		if spec.form == formImplicit {
			spec.implicit = c.sleb()
		}
		if spec.attr == 0 && spec.form == 0 {
			return count, !c.bad
		}
		count++
		if c.bad || count > most || !spend() {
			return count, false
		}
		if wanted {
			a.attrs = append(a.attrs, spec)
		}
		if spec.attr == dwarf.AttrLowpc || spec.attr == dwarf.AttrRanges {
			a.hasCode = true
		}
		if size := f.fixedSize(spec.form); size < 0 || a.size < 0 {
			a.size = -1
		} else {
			a.size += size
		}
	}
}
