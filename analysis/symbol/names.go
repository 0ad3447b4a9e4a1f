package symbol

import (
	"debug/dwarf"
	"strings"
)

// scopeName returns the readable name of a function or inlined function of a
// unit, "" if the debug information does not have it.
func (t *Table) scopeName(p *parsedUnit, scope int32) string {
	name, ok := p.names[scope]
	if !ok {
		name = t.entryName(place{p, p.detail.start + uint64(p.functions.scopes[scope].entry)}, 0)
		p.names[scope] = name
		t.units.grow(p, int64(64+len(name)))
	}
	return name
}

// A place is an entry in some unit.
type place struct {
	unit  *parsedUnit
	entry uint64 // offset into .debug_info
}

// entryName returns the readable name of a function.
//
// The entry with the address may have no name but refer to one that has: the
// declaration in a class, or the description of which it is an inlined copy.
//
// nesting is the number of functions below in which this one is nested, or 0.
func (t *Table) entryName(at place, nesting int) string {
	// A chain of two references is the longest that compilers make.
	const maxReferences = 8
	var linkage, name string
	named := at // the entry that has name
	for n := 0; n < maxReferences; n++ {
		a := at.unit.detail.readNames(at.entry)
		if linkage == "" {
			linkage = a.linkage
		}
		if name == "" && a.name != "" {
			name, named = a.name, at
		}
		if linkage != "" && name != "" || !a.refers {
			break
		}
		next, ok := t.place(at.unit, a.ref)
		if !ok {
			break
		}
		at = next
	}

	lang := named.unit.detail.lang
	if isFortran(lang) {
		// Linkage names do not say in which procedure one is contained. But
		// they, and names made of them, end in an underscore if the procedure
		// is external.
		base, mark := splitClone(name)
		if name == "" {
			base, mark = splitClone(linkage)
		}
		if name == "" || mark != "" {
			if !strings.HasSuffix(base, "__") {
				base = strings.TrimSuffix(base, "_")
			}
			return readableName(base) + mark
		}
	} else if readable := readableName(linkage); name == "" || readable != linkage {
		// A linkage name is qualified, so it is better than the name, but only
		// if it can be demangled.
		return readable
	}
	if isC(lang) || !isPlain(name) {
		return readableName(name)
	}
	return limitName(t.qualifiers(named, name, nesting) + name)
}

// place finds the unit of an entry that an entry of from refers to.
func (t *Table) place(from *parsedUnit, entry uint64) (place, bool) {
	if entry >= from.detail.root && entry < from.detail.end {
		return place{from, entry}, true
	}
	if from.detail != from.unit {
		return place{}, false // a split unit is alone in its file
	}
	i := t.info.find(entry)
	if i < 0 {
		return place{}, false
	}
	p := t.load(i)
	// This may remove from from the cache. It stays usable, as only split
	// units have a file that is closed then.
	t.units.trim(t.limits.CacheBytes, p)
	if p.err != nil || p.detail != p.unit || entry < p.detail.root {
		return place{}, false
	}
	return place{p, entry}, true
}

// entryNames is what an entry has to say about its name.
type entryNames struct {
	tag     dwarf.Tag
	linkage string // mangled
	name    string // as in the source
	refers  bool   // to the entry at ref, which may say more
	ref     uint64
}

// readNames reads the attributes of the entry at an offset of .debug_info that
// concern its name.
func (u *unit) readNames(entry uint64) (names entryNames) {
	c := u.cursor(entry)
	a := u.abbrevs.get(c.uleb())
	if a == nil {
		return names
	}
	names.tag = a.tag
	for _, spec := range a.attrs {
		v := u.read(&c, spec)
		if c.bad {
			break
		}
		switch spec.attr {
		case dwarf.AttrName:
			names.name = u.text(v)
		case dwarf.AttrLinkageName, attrMIPSLinkageName:
			names.linkage = u.text(v)
		case dwarf.AttrAbstractOrigin, dwarf.AttrSpecification:
			if ref, ok := u.ref(v); ok {
				names.ref, names.refers = ref, true
			}
		}
	}
	return names
}

// qualifiers returns the names of the namespaces, classes, modules and
// functions around a function, each followed by "::". For nesting see entryName.
func (t *Table) qualifiers(at place, function string, nesting int) string {
	const (
		maxQualifiers = 16
		maxNesting    = 4
	)
	var names []string // innermost first
	table, u := at.unit.functions, at.unit.detail
	for i := table.containerAt(uint32(at.entry - u.start)); i >= 0 && len(names) < maxQualifiers; i = table.containers[i].parent {
		entry := u.start + uint64(table.containers[i].start)
		e := u.readNames(entry)
		if e.tag == dwarf.TagSubprogram {
			// The name of a function includes what is around it.
			if nesting < maxNesting {
				if name := t.entryName(place{at.unit, entry}, nesting+1); name != "" {
					names = append(names, name)
				}
			}
			break
		}
		switch {
		case e.name != "":
			names = append(names, e.name)
		case e.tag == dwarf.TagNamespace:
			names = append(names, "(anonymous namespace)")
		case function == "operator()":
			names = append(names, "{lambda}")
		default:
			names = append(names, "(unnamed)")
		}
	}
	var b strings.Builder
	for i := len(names) - 1; i >= 0; i-- {
		b.WriteString(names[i])
		b.WriteString("::")
	}
	return b.String()
}
