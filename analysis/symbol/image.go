package symbol

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"syscall"
)

// An addrRange is the half-open range [lo, hi) of addresses.
type addrRange struct{ lo, hi uint64 }

// An image is an ELF file mapped into memory.
//
// Slices of the mapping are valid until close; nothing that outlives a call of
// the package's API may refer to them.
type image struct {
	path    string
	data    []byte // the whole file
	elf     *elf.File
	buildID string   // in hexadecimal, "" if it has none
	unpack  [][]byte // decompressed sections, in memory of their own
}

// openImage maps the file at path. It fails if that is not an ELF file, and
// without blocking if it is not even a regular file, since some of the paths
// come out of files that may be damaged.
func openImage(path string) (*image, error) {
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer syscall.Close(fd) // a mapping does not need its descriptor
	var st syscall.Stat_t
	if err := syscall.Fstat(fd, &st); err != nil {
		return nil, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	if st.Mode&syscall.S_IFMT != syscall.S_IFREG {
		return nil, fmt.Errorf("%s: not a regular file", path)
	}
	if st.Size < elf.EI_NIDENT || st.Size > math.MaxInt {
		return nil, fmt.Errorf("%s: not an ELF file", path)
	}
	data, err := syscall.Mmap(fd, 0, int(st.Size), syscall.PROT_READ, syscall.MAP_PRIVATE)
	if err != nil {
		return nil, &os.PathError{Op: "mmap", Path: path, Err: err}
	}
	img := &image{path: path, data: data}
	parsed := false
	defer func() { // also if there was a fault
		if !parsed {
			img.close()
		}
	}()
	if err := img.parse(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	parsed = true
	return img, nil
}

// close unmaps the file. Closing a nil or closed image does nothing.
func (img *image) close() {
	if img == nil {
		return
	}
	for _, b := range img.unpack {
		syscall.Munmap(b)
	}
	if img.data != nil {
		syscall.Munmap(img.data)
	}
	img.unpack, img.data, img.elf = nil, nil, nil
}

func (img *image) parse() error {
	if err := checkHeaders(img.data); err != nil {
		return err
	}
	file, err := elf.NewFile(bytes.NewReader(img.data))
	if err != nil {
		return err
	}
	img.elf = file
	img.buildID = img.findBuildID()
	return nil
}

// The largest header tables that are passed on to debug/elf. Executables have
// fewer than a hundred sections.
const (
	maxSections     = 4096
	maxSectionNames = 64 << 10
)

// checkHeaders refuses files on which elf.NewFile would use memory out of
// proportion: it copies the header tables, the section name table, which may
// be compressed, and from that a name for each section.
func checkHeaders(data []byte) error {
	if len(data) < elf.EI_NIDENT || string(data[:4]) != elf.ELFMAG {
		return errors.New("not an ELF file")
	}
	var order binary.ByteOrder = binary.LittleEndian
	if elf.Data(data[elf.EI_DATA]) == elf.ELFDATA2MSB {
		order = binary.BigEndian
	}
	var (
		errHeader = errors.New("damaged ELF header")
		wide      = elf.Class(data[elf.EI_CLASS]) == elf.ELFCLASS64
		size      = 52 // of the ELF header
		shoff     uint64
		counts    = 40 // where e_ehsize and the five 16-bit numbers after it are
		phentsize = uint16(32)
		shentsize = uint16(40)
	)
	if wide {
		size, counts, phentsize, shentsize = 64, 52, 56, 64
	}
	if len(data) < size {
		return errHeader
	}
	if wide {
		shoff = order.Uint64(data[40:])
	} else {
		shoff = uint64(order.Uint32(data[32:]))
	}
	field := func(i int) uint16 { return order.Uint16(data[counts+2*i:]) }
	phnum, shnum, shstrndx := field(2), field(4), field(5)
	if phnum > 0 && field(1) != phentsize {
		return errHeader
	}
	if shoff == 0 && shnum == 0 {
		return nil // no section headers at all
	}
	if shnum == 0 || shnum > maxSections || field(3) != shentsize || shstrndx >= shnum {
		return errHeader
	}
	if shoff > uint64(len(data)) || uint64(shnum)*uint64(shentsize) > uint64(len(data))-shoff {
		return errors.New("truncated ELF file: the section headers are missing")
	}
	names := data[shoff+uint64(shstrndx)*uint64(shentsize):]
	var flags, length uint64
	if wide {
		flags, length = order.Uint64(names[8:]), order.Uint64(names[32:])
	} else {
		flags, length = uint64(order.Uint32(names[8:])), uint64(order.Uint32(names[20:]))
	}
	if flags&uint64(elf.SHF_COMPRESSED) != 0 || length > maxSectionNames {
		return errHeader
	}
	return nil
}

// section returns the section called name, nil if there is none or if it has
// no contents in this file.
func (img *image) section(name string) *elf.Section {
	for _, s := range img.elf.Sections {
		if s.Name == name && s.Type != elf.SHT_NOBITS && s.Type != elf.SHT_NULL {
			return s
		}
	}
	return nil
}

// raw returns the bytes of a section as they are in the file, nil if they are
// not all there.
func (img *image) raw(s *elf.Section) []byte {
	if s == nil || s.Type == elf.SHT_NOBITS || s.Offset > uint64(len(img.data)) || s.FileSize > uint64(len(img.data))-s.Offset {
		return nil
	}
	return img.data[s.Offset : s.Offset+s.FileSize]
}

// debugSections returns the sections called name, which must start with
// ".debug_", or if there are none its counterparts ".zdebug_" of older tools.
func (img *image) debugSections(name string) []*elf.Section {
	var list []*elf.Section
	for _, name := range []string{name, ".z" + name[1:]} {
		for _, s := range img.elf.Sections {
			if s.Name == name && s.Type != elf.SHT_NOBITS {
				list = append(list, s)
			}
		}
		if list != nil {
			break
		}
	}
	return list
}

// isCompressed reports whether the contents of s must be decompressed, and how
// large they are then.
func (img *image) isCompressed(s *elf.Section) (compressed bool, size uint64) {
	if s.Flags&elf.SHF_COMPRESSED != 0 {
		return true, s.Size
	}
	if strings.HasPrefix(s.Name, ".zdebug") {
		if raw := img.raw(s); len(raw) >= 12 && string(raw[:4]) == "ZLIB" {
			return true, binary.BigEndian.Uint64(raw[4:])
		}
	}
	return false, s.FileSize
}

// contents returns the bytes of a debug section, decompressed if need be.
//
// Decompressed bytes go to a mapping of their own rather than to the heap: so
// they neither raise the garbage collector's target nor outlive close. The
// caller has checked the size.
func (img *image) contents(s *elf.Section) ([]byte, error) {
	compressed, size := img.isCompressed(s)
	if !compressed {
		raw := img.raw(s)
		if raw == nil {
			return nil, errors.New("truncated")
		}
		return raw, nil
	}
	if size == 0 {
		return nil, nil
	}
	if size > math.MaxInt {
		return nil, errors.New("impossible size")
	}
	b, err := syscall.Mmap(-1, 0, int(size), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		return nil, err
	}
	if _, err := io.ReadFull(s.Open(), b); err != nil {
		syscall.Munmap(b)
		return nil, fmt.Errorf("cannot decompress: %w", err)
	}
	img.unpack = append(img.unpack, b)
	return b, nil
}

// code returns where the file has machine code, sorted by address. In a
// separate debug file the sections are empty but their headers are there.
func (img *image) code() []addrRange {
	var code []addrRange
	for _, s := range img.elf.Sections {
		const want = elf.SHF_ALLOC | elf.SHF_EXECINSTR
		if s.Flags&want == want && s.FileSize > 0 && s.Addr+s.FileSize > s.Addr {
			code = append(code, addrRange{s.Addr, s.Addr + s.FileSize})
		}
	}
	if len(code) == 0 { // a file without section headers
		for _, p := range img.elf.Progs {
			if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 && p.Vaddr+p.Memsz > p.Vaddr {
				code = append(code, addrRange{p.Vaddr, p.Vaddr + p.Memsz})
			}
		}
	}
	slices.SortFunc(code, func(a, b addrRange) int { return cmp.Compare(a.lo, b.lo) })
	return code
}

// inRanges reports whether address is in one of ranges, which are few.
func inRanges(ranges []addrRange, address uint64) bool {
	for _, r := range ranges {
		if r.lo <= address && address < r.hi {
			return true
		}
	}
	return false
}

// findBuildID returns the build ID in hexadecimal, "" if there is none.
func (img *image) findBuildID() string {
	// The section first, since the segments of separate debug files point
	// nowhere; but a module may have no section headers.
	if s := img.section(".note.gnu.build-id"); s != nil {
		if id := buildIDNote(img.raw(s), img.elf.ByteOrder); id != "" {
			return id
		}
	}
	for _, p := range img.elf.Progs {
		if p.Type == elf.PT_NOTE && p.Off <= uint64(len(img.data)) && p.Filesz <= uint64(len(img.data))-p.Off {
			if id := buildIDNote(img.data[p.Off:p.Off+p.Filesz], img.elf.ByteOrder); id != "" {
				return id
			}
		}
	}
	return ""
}

// buildIDNote returns the build ID among some ELF notes, "" if there is none.
func buildIDNote(notes []byte, order binary.ByteOrder) string {
	const (
		typeBuildID  = 3
		maxBuildSize = 64
	)
	c := newCursor(notes, 0, order)
	for !c.done() {
		nameSize, descSize, typ := c.u32(), c.u32(), c.u32()
		name := c.take(align4(nameSize))
		desc := c.take(align4(descSize))
		if c.bad {
			return ""
		}
		if typ == typeBuildID && string(name) == "GNU\x00" && descSize <= maxBuildSize {
			return hex.EncodeToString(desc[:descSize])
		}
	}
	return ""
}

func align4(n uint32) uint64 { return (uint64(n) + 3) &^ 3 }
