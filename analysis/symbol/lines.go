package symbol

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"sort"
	"strings"
)

// A lineRow says that the instructions from address on, up to the next row,
// belong to a line of a file.
type lineRow struct {
	address uint64
	file    uint32 // index into the program's files
	line    uint32
}

// A lineProgram is the line table of a unit as it is encoded: tables of
// directories and files, and a program for a simple machine that produces
// rows. The texts in it must not be kept.
type lineProgram struct {
	sec     *sections
	compDir string
	version uint16

	minInstLength uint64
	maxOps        uint64
	lineBase      int64
	lineRange     uint64
	opcodeBase    int
	opcodeLengths []byte // of standard opcodes, from opcode 1
	program       []byte

	dirs      [][]byte
	files     []lineFile
	inHeader  int    // how many of files are in the header
	firstFile uint64 // number of files[0]: 1 up to version 4, then 0
}

type lineFile struct {
	name []byte
	dir  uint64
}

// maxLineFiles bounds the tables of directories and files.
const maxLineFiles = 1 << 18

var errLines = errors.New("damaged line table")

// parseLineProgram reads the header of the program at an offset of .debug_line.
func parseLineProgram(u *unit, off uint64) (*lineProgram, error) {
	p := &lineProgram{sec: u.sec, compDir: u.compDir}
	c := newCursor(u.sec.line, off, u.sec.order)
	f := format{addrSize: u.addrSize}
	length, dwarf64 := c.unitLength()
	f.dwarf64 = dwarf64
	if c.bad || length > uint64(len(c.data)-c.pos) {
		return nil, errLines
	}
	c.data = c.data[:c.pos+int(length)]
	p.version = c.u16()
	if p.version < 2 || p.version > 5 {
		return nil, errLines
	}
	f.version = p.version
	if p.version >= 5 {
		f.addrSize = c.u8()
		c.u8() // size of segment selectors
	}
	headerLength := c.offset(dwarf64)
	if c.bad || headerLength > uint64(len(c.data)-c.pos) {
		return nil, errLines
	}
	p.program = c.data[c.pos+int(headerLength):]
	p.minInstLength = uint64(c.u8())
	p.maxOps = 1
	if p.version >= 4 {
		p.maxOps = uint64(c.u8())
	}
	c.u8() // default of is_stmt
	p.lineBase = int64(int8(c.u8()))
	p.lineRange = uint64(c.u8())
	p.opcodeBase = int(c.u8())
	if c.bad || p.lineRange == 0 || p.maxOps == 0 || p.opcodeBase == 0 {
		return nil, errLines
	}
	p.opcodeLengths = c.take(uint64(p.opcodeBase - 1))
	if p.version >= 5 {
		p.parseFiles5(u, &c, f)
	} else {
		p.parseFiles4(&c)
	}
	if c.bad {
		return nil, errLines
	}
	p.inHeader = len(p.files)
	return p, nil
}

// parseFiles4 reads the tables of DWARF 2 to 4: lists of strings, ended by an
// empty one. Directory 0 is that of the compilation, file 0 is none.
func (p *lineProgram) parseFiles4(c *cursor) {
	p.firstFile = 1
	p.dirs = [][]byte{nil}
	for {
		dir := c.cstring()
		if len(dir) == 0 {
			break
		}
		if len(p.dirs) < maxLineFiles {
			p.dirs = append(p.dirs, dir)
		}
	}
	for {
		name := c.cstring()
		if len(name) == 0 {
			break
		}
		p.addFile(c, name)
	}
}

// addFile reads what follows the name of a file, up to DWARF 4.
func (p *lineProgram) addFile(c *cursor, name []byte) {
	dir := c.uleb()
	c.uleb() // time of modification
	c.uleb() // length
	if len(p.files) < maxLineFiles {
		p.files = append(p.files, lineFile{name, dir})
	}
}

// parseFiles5 reads the tables of DWARF 5, which begin with a description of
// what they hold.
func (p *lineProgram) parseFiles5(u *unit, c *cursor, f format) {
	for _, table := range []string{"directories", "files"} {
		const (
			contentPath = 1
			contentDir  = 2
		)
		type column struct {
			content uint64
			spec    attrSpec
		}
		var columns []column
		for n := c.u8(); n > 0; n-- {
			col := column{c.uleb(), attrSpec{form: form(c.uleb())}}
			if f.fixedSize(col.spec.form) == 0 {
				c.fail() // or there could be any number of rows
				return
			}
			columns = append(columns, col)
		}
		count := c.uleb()
		if count > maxLineFiles || len(columns) == 0 && count > 0 {
			c.fail()
			return
		}
		for ; count > 0 && !c.bad; count-- {
			var file lineFile
			for _, col := range columns {
				v := f.read(c, col.spec)
				switch col.content {
				case contentPath:
					file.name = u.bytes(v)
				case contentDir:
					file.dir = v.num
				}
			}
			if table == "files" {
				p.files = append(p.files, file)
			} else {
				p.dirs = append(p.dirs, file.name)
			}
		}
	}
}

// path returns the path of a file, "" if there is none with that number.
// Relative ones are put together with the directories that they are relative
// to, and otherwise left as they are.
func (p *lineProgram) path(number uint64) string {
	i := number - p.firstFile
	if i >= uint64(len(p.files)) { // true for 0-1, which wraps around
		return ""
	}
	file := p.files[i]
	path := cleanText(file.name)
	if path == "" {
		return ""
	}
	if file.dir < uint64(len(p.dirs)) {
		path = joinPath(cleanText(p.dirs[file.dir]), path)
	}
	if p.version >= 5 && file.dir != 0 && len(p.dirs) > 0 {
		path = joinPath(cleanText(p.dirs[0]), path)
	}
	path = joinPath(p.compDir, path)
	return strings.ToValidUTF8(path[:min(len(path), maxText)], "")
}

// joinPath puts dir before path unless path is absolute. It does not simplify
// "..", which would be wrong if the directory before it is a symbolic link.
func joinPath(dir, path string) string {
	for strings.HasPrefix(path, "./") {
		path = strings.TrimLeft(path[2:], "/")
	}
	if dir == "" || dir == "." || strings.HasPrefix(path, "/") {
		return path
	}
	return strings.TrimRight(dir, "/") + "/" + path
}

// Opcodes of line number programs.
const (
	lnsCopy           = 1
	lnsAdvancePC      = 2
	lnsAdvanceLine    = 3
	lnsSetFile        = 4
	lnsConstAddPC     = 8
	lnsFixedAdvancePC = 9
	lneEndSequence    = 1
	lneSetAddress     = 2
	lneDefineFile     = 3
)

// run executes the program. It calls emit for each row, until that returns
// false. Rows come in sequences of increasing addresses; the last row of a
// sequence, for which end is true, only says where the sequence ends.
func (p *lineProgram) run(emit func(row lineRow, end bool) bool) {
	c := newCursor(p.program, 0, p.sec.order)
	var (
		row     lineRow
		opIndex uint64 // always 0 but for instructions that come in bundles
	)
	reset := func() { row, opIndex = lineRow{file: 1, line: 1}, 0 }
	advance := func(ops uint64) {
		ops += opIndex
		row.address += p.minInstLength * (ops / p.maxOps)
		opIndex = ops % p.maxOps
	}
	reset()
	p.files = p.files[:p.inHeader] // the program may add to them
	for !c.done() {
		op := int(c.u8())
		if op >= p.opcodeBase { // a special opcode
			n := uint64(op - p.opcodeBase)
			advance(n / p.lineRange)
			row.line += uint32(p.lineBase + int64(n%p.lineRange))
			if !emit(row, false) {
				return
			}
			continue
		}
		switch op {
		case 0: // an extended opcode, with its length
			body := c
			length := body.uleb()
			args := cursor{data: body.take(length), order: c.order}
			if body.bad {
				return
			}
			c = body
			switch args.u8() {
			case lneEndSequence:
				if !emit(row, true) {
					return
				}
				reset()
			case lneSetAddress:
				row.address, opIndex = args.uint(int(length)-1), 0
			case lneDefineFile:
				if name := args.cstring(); len(name) > 0 && len(p.files) < maxLineFiles {
					p.addFile(&args, name)
				}
			}
		case lnsCopy:
			if !emit(row, false) {
				return
			}
		case lnsAdvancePC:
			advance(c.uleb())
		case lnsAdvanceLine:
			row.line += uint32(c.sleb())
		case lnsSetFile:
			row.file = uint32(min(c.uleb(), math.MaxUint32))
		case lnsConstAddPC:
			advance(uint64(255-p.opcodeBase) / p.lineRange)
		case lnsFixedAdvancePC:
			row.address, opIndex = row.address+uint64(c.u16()), 0
		default: // of no interest, or unknown
			for n := p.opcodeLengths[op-1]; n > 0; n-- {
				c.uleb()
			}
		}
	}
}

// A lineTable is a line table that was run, so that it can be searched.
type lineTable struct {
	program   *lineProgram
	keep      func(uint64) bool
	rows      []lineRow
	sequences []lineSequence    // sorted by lo
	paths     map[uint32]string // of files that were asked for
	whole     bool              // rows and sequences are complete
}

// A lineSequence covers a range of addresses without gaps.
type lineSequence struct {
	addrRange
	first, last int // its rows are rows[first:last]
}

// bytes returns how much memory the table takes, approximately.
func (t *lineTable) bytes() int64 {
	return int64(16*cap(t.rows)+32*cap(t.sequences)) + int64(32*cap(t.program.files)+24*cap(t.program.dirs))
}

// newLineTable runs a program and keeps its rows, unless there are more than
// maxRows; then each search will run it again. Sequences of functions that the
// linker dropped, which keep tells from their first address, are left out.
func newLineTable(p *lineProgram, keep func(uint64) bool, maxRows int) *lineTable {
	t := &lineTable{program: p, keep: keep, paths: make(map[uint32]string), whole: true}
	first := 0 // of the current sequence
	dropped := false
	p.run(func(row lineRow, end bool) bool {
		n := len(t.rows)
		switch {
		case end:
			if n > first && t.rows[first].address < row.address {
				t.sequences = append(t.sequences, lineSequence{addrRange{t.rows[first].address, row.address}, first, n})
			} else {
				t.rows = t.rows[:first]
			}
			first, dropped = len(t.rows), false
			return true
		case dropped:
			return true
		case n == first:
			if !keep(row.address) {
				dropped = true
				return true
			}
		default:
			prev := &t.rows[n-1]
			if row.address < prev.address {
				return true // damaged
			}
			if row.address == prev.address {
				*prev = row // prev covers nothing
				return true
			}
			if row.file == prev.file && row.line == prev.line {
				return true // differs in the column and such
			}
		}
		if n >= maxRows {
			t.whole = false
			return false
		}
		t.rows = append(t.rows, row)
		return true
	})
	if !t.whole {
		t.rows, t.sequences = nil, nil
		return t
	}
	t.rows = slices.Clone(t.rows[:first]) // a sequence without end covers nothing
	slices.SortFunc(t.sequences, func(a, b lineSequence) int {
		return cmp.Or(cmp.Compare(a.lo, b.lo), cmp.Compare(a.first, b.first))
	})
	return t
}

// find returns the file number and the line of the instruction at address.
func (t *lineTable) find(address uint64) (file, line uint32, ok bool) {
	if !t.whole {
		return t.search(address)
	}
	// Sequences do not overlap in sound files.
	const maxSteps = 16
	i := sort.Search(len(t.sequences), func(i int) bool { return t.sequences[i].lo > address })
	for n := 0; i > 0 && n < maxSteps; n++ {
		i--
		s := t.sequences[i]
		if address >= s.hi {
			continue
		}
		rows := t.rows[s.first:s.last]
		k := sort.Search(len(rows), func(k int) bool { return rows[k].address > address }) - 1
		return rows[k].file, rows[k].line, true
	}
	return 0, 0, false
}

// search finds address by running the program.
func (t *lineTable) search(address uint64) (file, line uint32, ok bool) {
	var prev lineRow
	inside := false  // prev is a row of the same sequence
	dropped := false // the sequence is of no interest
	t.program.run(func(row lineRow, end bool) bool {
		if !inside {
			dropped = !t.keep(row.address)
		} else if !dropped && prev.address <= address && address < row.address {
			file, line, ok = prev.file, prev.line, true
			return false
		}
		prev, inside = row, !end
		return true
	})
	return file, line, ok
}
