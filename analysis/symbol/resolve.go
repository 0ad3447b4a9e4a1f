package symbol

import "fmt"

// frames returns the frames for the instruction at address, innermost first,
// none if nothing is known.
func (t *Table) frames(address uint64) []Frame {
	if !inRanges(t.code, address) {
		return nil
	}
	frames := t.debugFrames(address)
	if len(frames) == 0 {
		frames = []Frame{{}}
	}
	if physical := &frames[len(frames)-1]; physical.Function == "" {
		physical.Function = t.symbolAt(address)
	}
	return frames
}

// isCode reports whether address is in the machine code of the module.
func (t *Table) isCode(address uint64) bool { return inRanges(t.code, address) }

// debugFrames returns the frames that the debug information gives for address.
func (t *Table) debugFrames(address uint64) []Frame {
	if t.info == nil {
		return nil
	}
	if t.index == nil {
		t.index = newAddressIndex(t.info, t.isCode)
	}
	var frames []Frame
	t.index.find(address, func(index int) bool {
		p := t.load(index)
		f := t.unitFrames(p, address)
		t.units.trim(t.limits.CacheBytes, p)
		// A unit that knows just the line may be the right one, as with
		// assembly, but one that knows the function is better.
		if len(f) > 0 && (frames == nil || f[len(f)-1].Function != "") {
			frames = f
		}
		return len(frames) > 0 && frames[len(frames)-1].Function != ""
	})
	return frames
}

// unitFrames returns the frames that one unit gives for address, none if it
// does not know the address.
func (t *Table) unitFrames(p *parsedUnit, address uint64) []Frame {
	if p.err != nil {
		return nil
	}
	// Where the instruction is in the source; then for each inlined function,
	// going outwards, where the call of it was.
	var here Frame
	known := false
	lines := t.lines(p)
	if lines != nil {
		if file, line, ok := lines.find(address); ok {
			here.File, here.Line, known = t.filePath(p, file), int(line), true
		}
	}
	chain := p.functions.find(address)
	if len(chain) == 0 {
		if known {
			return []Frame{here} // the name is up to the symbol table
		}
		return nil
	}
	frames := make([]Frame, 0, len(chain))
	for i := len(chain) - 1; i >= 0; i-- {
		s := &p.functions.scopes[chain[i]]
		here.Function = t.scopeName(p, chain[i])
		here.Inlined = s.inlined
		frames = append(frames, here)
		here = Frame{Line: int(s.callLine)}
		if s.inlined && lines != nil {
			here.File = t.filePath(p, s.callFile)
		}
	}
	return frames
}

// load returns the unit with an index, parsed.
func (t *Table) load(index int) *parsedUnit {
	p := t.units.get(index)
	if p == nil {
		p = t.parse(index)
		t.units.add(p)
	}
	return p
}

// parse parses a unit. If that is not possible the result says so, so that it
// is not tried again and again.
func (t *Table) parse(index int) *parsedUnit {
	p := &parsedUnit{index: index, names: make(map[int32]string), cost: 1 << 10}
	u, err := parseUnit(t.info.sec, t.info.spans[index], nil, true, &budget{unitBudget})
	if err != nil {
		p.err = err
		t.notes.add(fmt.Sprintf("debug information is damaged: unit at %#x", t.info.spans[index].start))
		return p
	}
	p.unit, p.detail = u, u
	done := false
	defer func() {
		if !done { // there was a fault
			p.dwo.close()
		}
	}()
	if u.dwoName != "" {
		t.loadSplit(p)
	}
	p.functions = parseFunctions(p.detail, t.isCode)
	if p.functions.truncated {
		t.notes.add(fmt.Sprintf("debug information is damaged or too large: unit at %#x", u.start))
	}
	p.cost += p.functions.bytes() + u.abbrevs.bytes
	if p.detail != u {
		p.cost += p.detail.abbrevs.bytes
	}
	if p.dwo != nil {
		for _, b := range p.dwo.unpack {
			p.cost += int64(len(b))
		}
	}
	done = true
	return p
}

// lines returns the line table of a unit, nil if there is none.
func (t *Table) lines(p *parsedUnit) *lineTable {
	if p.hasLines || p.unit.stmtList.kind != kindNumber {
		return p.lines
	}
	p.hasLines = true
	program, err := parseLineProgram(p.unit, p.unit.stmtList.num)
	if err != nil {
		t.notes.add(fmt.Sprintf("line table is damaged: unit at %#x", p.unit.start))
		return nil
	}
	maxRows := min(t.limits.CacheBytes/32, 1<<30) // half of the memory there is
	p.lines = newLineTable(program, t.isCode, int(maxRows))
	t.units.grow(p, p.lines.bytes())
	return p.lines
}

// filePath returns the path of a file of a unit that has a line table.
func (t *Table) filePath(p *parsedUnit, file uint32) string {
	path, ok := p.lines.paths[file]
	if !ok {
		path = p.lines.program.path(uint64(file))
		p.lines.paths[file] = path
		t.units.grow(p, int64(64+len(path)))
	}
	return path
}
