package launch

import (
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"marple/analysis/words"
)

// Preload makes the loader load the library first of all, and more of Marple's right behind it: then an MPI call meets it before it meets another
// tool, which passes calls on to the MPI library directly.
func Preload(environment []string, library string, more ...string) []string {
	libraries := forGlibc(library)
	for _, another := range more {
		libraries += ":" + forGlibc(another)
	}
	if others := os.Getenv("LD_PRELOAD"); others != "" {
		libraries += ":" + others
	}
	// The address sanitizer would stop a program, or a child of it, where it is not the first library. To preload
	// it in front would have the leaks of every shell reported.
	const order = "verify_asan_link_order"
	options := os.Getenv("ASAN_OPTIONS")
	if !strings.Contains(options, order) {
		options = strings.TrimPrefix(options+":"+order+"=0", ":")
	}
	return SetVariable(SetVariable(environment, "LD_PRELOAD", libraries), "ASAN_OPTIONS", options)
}

// forGlibc is a path of the library that only the loader of the GNU C library can follow, which puts a directory's name
// in the place of $LIB: above the root there is nothing but the root. Every child of a program inherits LD_PRELOAD, and
// a loader that loads what it cannot link, as musl's does, would not start it; what it cannot find it passes over.
func forGlibc(library string) string {
	for _, name := range []string{"lib64", "lib"} {
		if info, err := os.Stat(filepath.Join("/usr", name)); err == nil && info.IsDir() {
			return "/usr/$LIB" + strings.Repeat("/..", 8) + library
		}
	}
	return library
}

// unloadable are the characters at which the loader takes LD_PRELOAD apart, or that mean something to it.
const unloadable = " :$"

// preloadable is a path of the library that LD_PRELOAD can hold: its own, or one through a link to its directory.
func preloadable(library string) (string, error) {
	if !strings.ContainsAny(library, unloadable) {
		return library, nil
	}
	directory, name := filepath.Split(library)
	link, err := linkTo(filepath.Clean(directory))
	if err != nil {
		return "", fmt.Errorf("a blank, colon or $ in its path keeps %s from being preloaded, and there can be no link to it: %w", library, err)
	}
	return filepath.Join(link, name), nil
}

// linkTo makes a symbolic link to a directory, in a directory that nobody else can write to. All ranks on a host share it.
func linkTo(directory string) (string, error) {
	place := filepath.Join(temporary(), fmt.Sprintf("marple-%d", os.Geteuid()))
	if err := os.Mkdir(place, 0o700); err != nil && !os.IsExist(err) {
		return "", err
	}
	info, err := os.Lstat(place)
	if err != nil {
		return "", err
	}
	if s, ok := info.Sys().(*syscall.Stat_t); !ok || !info.IsDir() || int(s.Uid) != os.Geteuid() || info.Mode().Perm()&0o022 != 0 {
		return "", fmt.Errorf("%s is not a directory that only you can write to", place)
	}
	sum := fnv.New64a()
	sum.Write([]byte(directory))
	link := filepath.Join(place, strconv.FormatUint(sum.Sum64(), 36))
	if err := os.Symlink(directory, link); err != nil && !os.IsExist(err) {
		return "", err
	}
	if to, err := os.Readlink(link); err != nil || to != directory {
		return "", fmt.Errorf("%s is not a link to %s", link, directory)
	}
	return link, nil
}

// temporary is a directory for what is needed as long as a program runs.
func temporary() string {
	if place := os.TempDir(); filepath.IsAbs(place) && !strings.ContainsAny(place, unloadable) {
		return place
	}
	return "/tmp"
}

// askedVariable tells the library in which process the user waits for an answer: its id, the mark that processes it
// has started leave when they have given one, and its name. See cshim/answer.c.
const askedVariable = "MARPLE_EXEC"

func asks(program string, enabled bool) string {
	outer := strings.Fields(os.Getenv(askedVariable))
	pid := strconv.Itoa(os.Getpid())
	if len(outer) > 1 && outer[0] != "0" && outer[0] != pid && isFirst(ranks) { // a script's, say: it is here that it is given
		if mark, err := os.OpenFile(outer[1], os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); err == nil {
			mark.Close()
		}
	}
	if !enabled {
		pid = "0"
	}
	mark := filepath.Join(temporary(), fmt.Sprintf("marple-%s-%s", pid, strconv.FormatInt(time.Now().UnixNano(), 36)))
	return strings.Join([]string{pid, mark, words.Clean(program)}, " ")
}
