package launch

import (
	"bytes"
	"debug/elf"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// A program is what the dynamic loader will make of a file that is to be started.
type program struct {
	why     string // nothing can be preloaded into it; empty if something can
	advice  string
	foreign bool // the loader would complain about our library at each start
	mute    bool // it tells no library when it ends
}

// look examines a file to be started; of a script, its interpreter, which the kernel starts instead.
func look(path, library string) program {
	for range 5 { // the kernel follows as many
		interpreter := interpreter(path)
		if interpreter == "" {
			break
		}
		path = interpreter
	}
	if isSelf(path) { // which will look itself at what it is to start
		return program{}
	}
	file, err := elf.Open(path)
	if err != nil {
		return program{}
	}
	defer file.Close()
	if ours, err := elf.Open(library); err == nil {
		defer ours.Close()
		if file.Class != ours.Class || file.Machine != ours.Machine {
			return program{
				why:     fmt.Sprintf("is a program for another architecture (%v, %v)", file.Machine, file.Class),
				advice:  fmt.Sprintf("build it for %v, %v", ours.Machine, ours.Class),
				foreign: true,
			}
		}
	}
	switch other := otherLoader(file); {
	case other != "":
		return program{why: fmt.Sprintf("is started by %s, not by the loader of the GNU C library", other), advice: "build it where that is the C library"}
	case !slices.ContainsFunc(file.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) && !isLoader(file):
		return program{why: "is statically linked", advice: "link it with shared libraries, MPI's too"}
	case privileged(path):
		return program{why: "gains privileges when it starts (set-user-ID, set-group-ID or capabilities)", advice: "run a copy that does not"}
	}
	return program{mute: file.Section(".go.buildinfo") != nil && !isLinkedWithMPI(file)}
}

// otherLoader is the program that is to load this one, if it is not glibc's, whose name begins alike on every architecture.
func otherLoader(file *elf.File) string {
	for _, p := range file.Progs {
		if p.Type != elf.PT_INTERP {
			continue
		}
		name := make([]byte, min(p.Filesz, 4096))
		if _, err := p.ReadAt(name, 0); err != nil {
			return ""
		}
		base := filepath.Base(string(bytes.TrimRight(name, "\x00")))
		for _, glibc := range []string{"ld-linux", "ld.so", "ld64.so"} {
			if strings.HasPrefix(base, glibc) {
				return ""
			}
		}
		return base
	}
	return ""
}

func isLinkedWithMPI(file *elf.File) bool {
	libraries, err := file.ImportedLibraries()
	return err == nil && slices.ContainsFunc(libraries, func(name string) bool { return strings.HasPrefix(name, "libmpi") })
}

// isSelf tells marple, which is the program that starts others, or the one of all commands beside it.
func isSelf(path string) bool {
	const self = "/proc/self/exe"
	places := []string{self}
	if real, err := os.Readlink(self); err == nil {
		places = append(places, filepath.Join(filepath.Dir(real), "marple"))
	}
	a, err := os.Stat(path)
	return err == nil && slices.ContainsFunc(places, func(place string) bool {
		b, err := os.Stat(place)
		return err == nil && os.SameFile(a, b)
	})
}

// Unloadable tells why nothing can be preloaded into a program, and what to do; "" if something can.
func Unloadable(path, library string) (why, advice string) {
	p := look(path, library)
	return p.why, p.advice
}

// interpreter is what the first line of a script names; empty for what is no script.
func interpreter(path string) string {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	line := make([]byte, 256) // as far as the kernel looks
	n, _ := file.Read(line)
	text, isScript := bytes.CutPrefix(line[:n], []byte("#!"))
	text, _, _ = bytes.Cut(text, []byte("\n"))
	words := strings.Fields(string(text))
	if !isScript || len(words) == 0 {
		return ""
	}
	return words[0]
}

// isLoader tells the dynamic loader itself, which may be told to start a program, from static programs.
func isLoader(file *elf.File) bool {
	names, err := file.DynString(elf.DT_SONAME)
	return err == nil && len(names) > 0
}

// privileged tells whether the loader will be in secure mode, where it ignores what is to be preloaded.
func privileged(path string) bool {
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return false
	}
	if info.Mode()&fs.ModeSetuid != 0 && int(s.Uid) != os.Getuid() || info.Mode()&fs.ModeSetgid != 0 && int(s.Gid) != os.Getgid() {
		return true
	}
	size, err := syscall.Getxattr(path, "security.capability", nil)
	return err == nil && size > 0 && os.Geteuid() != 0
}
