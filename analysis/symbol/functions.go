package symbol

import (
	"cmp"
	"debug/dwarf"
	"math"
	"slices"
	"sort"
)

// A functionTable is what a unit says about functions and where they are,
// without their names. As large programs have many units with many functions,
// it is kept small: entries are 32-bit offsets from the start of the unit.
type functionTable struct {
	scopes     []scope // in the order of the tree: parents before children
	ranges     []addrRange
	starts     []functionRange // of functions that are not inlined, sorted by lo
	containers []container     // sorted by start
	truncated  bool            // the unit is damaged, or too large, after this
}

// A scope is a function in machine code: one with an address of its own, or a
// copy that was inlined into another scope.
type scope struct {
	entry    uint32
	end      int32  // scopes[i+1:end] are those below scopes[i] in the tree
	ranges   int32  // index of the first; the last is before that of the next scope
	callFile uint32 // of an inlined scope: where the call stood
	callLine uint32
	inlined  bool
}

// A functionRange is one range of addresses of a function.
type functionRange struct {
	addrRange
	scope int32
}

// A container is an entry that qualifies the names of those it contains: a
// namespace, class, Fortran module, or function.
type container struct {
	start, end uint32 // entries
	parent     int32  // index of the next outer container, or -1
}

// Bounds on what is made of one unit.
const (
	maxScopes     = 1 << 20
	maxRanges     = 1 << 20
	maxContainers = 1 << 20
	maxDepth      = 4096
)

// bytes returns how much memory the table takes, approximately.
func (t *functionTable) bytes() int64 {
	return int64(24*cap(t.scopes) + 16*cap(t.ranges) + 24*cap(t.starts) + 12*cap(t.containers))
}

// parseFunctions walks over all entries of a unit once. keep tells which
// addresses are of interest: the linker leaves the entries of functions that it
// dropped in place, with meaningless addresses.
func parseFunctions(u *unit, keep func(uint64) bool) *functionTable {
	t := &functionTable{}

	// level is the state for the children of one entry.
	type level struct {
		scope     int32 // innermost scope around them, or -1
		container int32 // innermost container around them, or -1
		ends      int8  // bit set of what ends with them
	}
	const (
		endsScope     = 1
		endsContainer = 2
	)
	levels := []level{{-1, -1, 0}}

	c := u.cursor(u.root)
	if u.end-u.start > math.MaxUint32 {
		t.truncated = true
		c.fail()
	}
	for !c.done() {
		entry := uint32(uint64(c.pos) - u.start)
		here := levels[len(levels)-1]
		code := c.uleb()
		if code == 0 { // end of the children of an entry
			if here.ends&endsScope != 0 {
				t.scopes[here.scope].end = int32(len(t.scopes))
			}
			if here.ends&endsContainer != 0 {
				t.containers[here.container].end = entry
			}
			if len(levels) > 1 {
				levels = levels[:len(levels)-1]
			}
			if len(levels) == 1 {
				break // end of the children of the root
			}
			continue
		}
		a := u.abbrevs.get(code)
		if a == nil {
			t.truncated = true
			break
		}
		below := level{here.scope, here.container, 0}
		read := false // whether c is past the attributes
		if a.hasCode && (a.tag == dwarf.TagSubprogram || a.tag == dwarf.TagInlinedSubroutine && here.scope >= 0) {
			read = true
			if s, ok := t.parseScope(u, &c, a, keep); ok {
				s.entry = entry
				s.end = int32(len(t.scopes) + 1)
				below.scope = int32(len(t.scopes))
				if a.children {
					below.ends |= endsScope
				}
				t.scopes = append(t.scopes, s)
			}
		}
		if a.tag == dwarf.TagSubprogram && below.scope == here.scope {
			// It has no machine code, and what it contains is not part of the
			// function around it.
			below.scope = -1
		}
		if !read {
			u.skipAttrs(&c, a)
		}
		if c.bad || len(t.scopes) >= maxScopes || len(t.ranges) >= maxRanges || len(levels) >= maxDepth {
			t.truncated = true
			break
		}
		if !a.children {
			continue
		}
		if isContainer(a.tag) && len(t.containers) < maxContainers {
			below.container = int32(len(t.containers))
			below.ends |= endsContainer
			t.containers = append(t.containers, container{entry, uint32(u.end - u.start), here.container})
		}
		levels = append(levels, below)
	}
	t.finish()
	return t
}

// isContainer reports whether entries with a tag qualify the names of those
// below them.
func isContainer(tag dwarf.Tag) bool {
	switch tag {
	case dwarf.TagNamespace, dwarf.TagModule, dwarf.TagSubprogram,
		dwarf.TagClassType, dwarf.TagStructType, dwarf.TagUnionType, dwarf.TagInterfaceType:
		return true
	}
	return false
}

// parseScope reads the attributes of a function or of an inlined copy. It
// reports whether the entry stands for machine code of interest.
func (t *functionTable) parseScope(u *unit, c *cursor, a *abbrev, keep func(uint64) bool) (s scope, ok bool) {
	var low, high, ranges value
	hasLow := false
	for _, spec := range a.attrs {
		v := u.read(c, spec)
		switch spec.attr {
		case dwarf.AttrLowpc:
			low, hasLow = v, true
		case dwarf.AttrHighpc:
			high = v
		case dwarf.AttrRanges:
			ranges = v
		case dwarf.AttrCallFile:
			s.callFile = uint32(v.num)
		case dwarf.AttrCallLine:
			s.callLine = uint32(v.num)
		}
	}
	if c.bad {
		return s, false
	}
	s.inlined = a.tag == dwarf.TagInlinedSubroutine
	s.ranges = int32(len(t.ranges))
	u.entryRanges(low, hasLow, high, ranges, func(r addrRange) bool {
		if keep(r.lo) {
			t.ranges = append(t.ranges, r)
		}
		return len(t.ranges) < maxRanges
	})
	return s, int(s.ranges) < len(t.ranges)
}

// finish sorts the ranges of the functions that are not inlined, and gives
// back memory that was reserved for more.
func (t *functionTable) finish() {
	for i := range t.scopes {
		if t.scopes[i].inlined {
			continue
		}
		for _, r := range t.rangesOf(int32(i)) {
			t.starts = append(t.starts, functionRange{r, int32(i)})
		}
	}
	slices.SortFunc(t.starts, func(a, b functionRange) int {
		return cmp.Or(cmp.Compare(a.lo, b.lo), cmp.Compare(a.scope, b.scope))
	})
	t.scopes = slices.Clone(t.scopes)
	t.ranges = slices.Clone(t.ranges)
	t.starts = slices.Clone(t.starts)
	t.containers = slices.Clone(t.containers)
}

// rangesOf returns what a scope covers.
func (t *functionTable) rangesOf(scope int32) []addrRange {
	end := int32(len(t.ranges))
	if next := scope + 1; next < int32(len(t.scopes)) {
		end = t.scopes[next].ranges
	}
	return t.ranges[t.scopes[scope].ranges:end]
}

// find returns the indices of the scopes that contain address, outermost first:
// the function, and what was inlined there. Their number is bounded.
func (t *functionTable) find(address uint64) (chain []int32) {
	const maxInlined = 256
	f := t.function(address)
	if f < 0 {
		return nil
	}
	chain = append(chain, f)
	for i, end := f+1, t.scopes[f].end; i < end; {
		s := &t.scopes[i]
		if !s.inlined || !inRanges(t.rangesOf(i), address) {
			i = s.end
			continue
		}
		chain = append(chain, i)
		if len(chain) > maxInlined {
			break
		}
		i, end = i+1, s.end
	}
	return chain
}

// function returns the index of the function that contains address, or -1.
func (t *functionTable) function(address uint64) int32 {
	// Functions do not overlap, save for some that the linker made one, so the
	// answer is the last that starts before the address or close to that.
	const maxSteps = 64
	i := sort.Search(len(t.starts), func(i int) bool { return t.starts[i].lo > address })
	for n := 0; i > 0 && n < maxSteps; n++ {
		i--
		if address < t.starts[i].hi {
			return t.starts[i].scope
		}
	}
	return -1
}

// containerAt returns the index of the innermost container around an entry
// other than itself, or -1.
func (t *functionTable) containerAt(entry uint32) int32 {
	i := int32(sort.Search(len(t.containers), func(i int) bool { return t.containers[i].start >= entry })) - 1
	for i >= 0 && t.containers[i].end <= entry {
		i = t.containers[i].parent
	}
	return i
}
