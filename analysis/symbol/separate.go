package symbol

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"path/filepath"
	"strings"
)

// open finds the files that answer for the module and loads what is needed to
// know how good the answers will be. See Open for the rules.
func (t *Table) open(wantBuildID string) error {
	want := strings.ToLower(wantBuildID)
	program, err := openImage(t.path)
	if err == nil {
		t.buildID = program.buildID
		if want != "" && program.buildID != want {
			program.close()
			program = nil
			t.notes.add("file changed since the run: build ids differ")
		}
	}
	t.program = program

	switch {
	case program == nil:
		// Only the build ID can still lead to the symbols of what was measured.
		if t.debug = t.debugByBuildID(want); t.debug == nil {
			return err
		}
		t.notes.add("using the separate debug file " + t.debug.path)
		t.code = t.debug.code()
	case program.debugSections(".debug_info") != nil:
		t.debug = program
		t.code = program.code()
	default:
		t.code = program.code()
		t.debug = t.debugByBuildID(program.buildID)
		if t.debug == nil {
			t.debug = t.debugByLink(program)
		}
	}
	if t.debug == nil {
		t.notes.add("no debug information")
		return nil
	}
	t.loadDebugInfo()
	return nil
}

// loadDebugInfo takes up the debug sections of t.debug, if the limits allow.
func (t *Table) loadDebugInfo() {
	if t.debug.debugSections(".debug_info") == nil {
		t.notes.add("no debug information")
		return
	}
	if size := debugSize(t.debug, ""); size > t.limits.DebugBytes {
		t.notes.add(fmt.Sprintf("debug sections of %s skipped", mebibytes(size)))
		return
	}
	sec, err := loadSections(t.debug, "")
	if err != nil {
		t.notes.add(fmt.Sprintf("debug information cannot be read: %v", err))
		return
	}
	t.info = newInfoSection(sec)
	if len(t.info.spans) == 0 {
		t.notes.add("debug information cannot be read: no units")
		t.info = nil
	}
}

// mebibytes writes a size, rounded up.
func mebibytes(n int64) string {
	return fmt.Sprintf("%d MiB", n>>20+min(1, n&(1<<20-1)))
}

// debugByBuildID returns the installed debug file for a build ID, or nil.
func (t *Table) debugByBuildID(id string) *image {
	if _, err := hex.DecodeString(id); err != nil || len(id) < 4 {
		return nil
	}
	for _, dir := range t.limits.DebugDirs {
		img, err := openImage(filepath.Join(dir, ".build-id", id[:2], id[2:]+".debug"))
		if err != nil {
			continue
		}
		if img.buildID == id {
			return img
		}
		img.close()
	}
	return nil
}

// debugByLink returns the debug file that the .gnu_debuglink section of the
// program names, or nil. Candidates with another build ID, or if there is none
// with another checksum than in the section, are passed over.
func (t *Table) debugByLink(program *image) *image {
	// The section is a file name with its zero byte, padding, and a checksum.
	raw := program.raw(program.section(".gnu_debuglink"))
	end := bytes.IndexByte(raw, 0)
	if end <= 0 || int(align4(uint32(end+1)))+4 > len(raw) {
		return nil
	}
	name := string(raw[:end])
	sum := program.elf.ByteOrder.Uint32(raw[align4(uint32(end+1)):])
	if name != filepath.Base(name) {
		return nil // never a path, in files made by objcopy
	}

	dirs := []string{filepath.Dir(t.path)}
	if real, err := filepath.EvalSymlinks(t.path); err == nil && filepath.Dir(real) != dirs[0] {
		dirs = append(dirs, filepath.Dir(real))
	}
	var paths []string
	for _, dir := range dirs {
		paths = append(paths, filepath.Join(dir, name), filepath.Join(dir, ".debug", name))
		if abs, err := filepath.Abs(dir); err == nil {
			for _, global := range t.limits.DebugDirs {
				paths = append(paths, filepath.Join(global, abs, name))
			}
		}
	}
	rejected := ""
	for _, path := range paths {
		img, err := openImage(path)
		if err != nil {
			continue
		}
		if program.buildID != "" && img.buildID == program.buildID {
			return img
		}
		if program.buildID == "" && crc32.ChecksumIEEE(img.data) == sum {
			return img
		}
		img.close()
		rejected = cleanText([]byte(path))
	}
	if rejected != "" {
		t.notes.add(fmt.Sprintf("separate debug file %s is of another build", rejected))
	}
	return nil
}
