package symbol

import (
	"bytes"
	"debug/elf"
)

// mainAt returns where main begins in a program that has no symbol for it: the
// C library's code at the entry point loads that as the first argument of
// __libc_start_main. It returns false if there is no such code.
func (img *image) mainAt() (address uint64, found bool) {
	const (
		most = 64 // bytes that such code may take
		load = 7  // bytes that the instruction takes
	)
	if img == nil || img.elf.Machine != elf.EM_X86_64 {
		return 0, false
	}
	var start []byte
	entry := img.elf.Entry
	for _, s := range img.elf.Sections {
		if raw := img.raw(s); s.Flags&elf.SHF_EXECINSTR != 0 && s.Addr <= entry && entry-s.Addr < uint64(len(raw)) {
			start = raw[entry-s.Addr:]
		}
	}
	start = start[:min(len(start), most)]
	for at := 0; at+load+2 <= len(start); at++ {
		argument, after := start[at:at+load], start[at+load:]
		if !bytes.HasPrefix(after, []byte{0xff, 0x15}) && after[0] != 0xe8 && !bytes.HasPrefix(after, []byte{0x67, 0xe8}) { // call
			continue
		}
		value := uint64(int64(int32(img.elf.ByteOrder.Uint32(argument[3:]))))
		switch string(argument[:3]) {
		case "\x48\x8d\x3d": // lea value(%rip),%rdi
			return entry + uint64(at+load) + value, true
		case "\x48\xc7\xc7": // mov $value,%rdi
			return value, true
		}
	}
	return 0, false
}
