// Command gen lays a Go tree for building the core: links to the one that is in use, with three files of the
// runtime changed, so that it can be a guest in somebody else's process. (An overlay of go build would do the
// same, but not where Go has fetched its toolchain as a module: nothing below its cache may be replaced.)
//
//   - Signals: the runtime unblocks SIGCHLD, SIGPROF and some others in each of its threads, whatever the
//     mask it was started with, and would thereby take signals that the application has blocked, or let its
//     handlers run on Go's stacks. What stays unblocked is faults, and the two that the C library uses
//     between threads.
//   - The network poller: it keeps descriptors, and dies when an application that closes all of them has
//     closed these, or ends up polling a file of the application's.
//   - The monitor thread: it looks every 20 µs whether what Go calls takes long, to run something else meanwhile. A rank that waits
//     for others in MPI has nothing else; waking threads for it costs more than all that the rank does at the end.
//
// The changes are checked against what they expect. For a Go whose runtime looks different a change is left
// out, with a warning: the core works without, as a less careful guest.
//
//	gen DIRECTORY
package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

//go:embed netpoll.go.txt
var poller []byte

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: gen DIRECTORY")
	}
	log.SetFlags(0)
	tree, err := filepath.Abs(os.Args[1])
	check(err)
	out, err := exec.Command("go", "env", "GOROOT").Output()
	check(err)
	check(lay(strings.TrimSpace(string(out)), tree))
}

// lay makes the tree anew, for whichever Go is in use now.
func lay(goroot, tree string) error {
	if err := os.RemoveAll(tree); err != nil {
		return err
	}
	runtime := filepath.Join("src", "runtime")
	for directory, apart := range map[string]string{"": "src", "src": "runtime", runtime: ""} {
		if err := link(filepath.Join(goroot, directory), filepath.Join(tree, directory), apart); err != nil {
			return err
		}
	}
	for name, change := range map[string]func([]byte) ([]byte, error){
		"sigtab_linux_generic.go": blockable,
		"netpoll_epoll.go":        withoutDescriptors,
		"proc.go":                 patient,
	} {
		text, err := os.ReadFile(filepath.Join(goroot, runtime, name))
		if err == nil {
			text, err = change(text)
		}
		if err != nil {
			log.Printf("the Go runtime is left as it is: %s: %v", name, err)
			continue
		}
		file := filepath.Join(tree, runtime, name)
		if err := os.Remove(file); err != nil {
			return err
		}
		if err := os.WriteFile(file, text, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// link fills a directory with links to all that is in another one, but for the entry that is laid apart.
func link(from, to, apart string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o777); err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.Name() == apart {
			continue
		}
		if err := os.Symlink(filepath.Join(from, entry.Name()), filepath.Join(to, entry.Name())); err != nil {
			return err
		}
	}
	return nil
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

var unblocked = regexp.MustCompile(`(?m)^(\t/\* (\d+) \*/ \{.*)_SigUnblock`)

// unblockable are faults, and SIGCANCEL and SIGSETXID of the C library.
var unblockable = map[string]bool{"4": true, "5": true, "7": true, "8": true, "11": true, "32": true, "33": true}

// blockable changes the runtime's table of signals.
func blockable(text []byte) ([]byte, error) {
	var changed []string
	out := unblocked.ReplaceAllFunc(text, func(line []byte) []byte {
		m := unblocked.FindSubmatch(line)
		if unblockable[string(m[2])] {
			return line
		}
		changed = append(changed, string(m[2]))
		return append(m[1], '0')
	})
	if found := strings.Join(changed, " "); found != "16 17 27 34" { // SIGSTKFLT, SIGCHLD, SIGPROF, SIGRTMIN
		return nil, fmt.Errorf("signals that are never blocked: expected 16 17 27 34, found %s", found)
	}
	return out, nil
}

var declared = regexp.MustCompile(`(?m)^func .*\{`)

// withoutDescriptors is our own poller, if it has the functions that the runtime's has.
func withoutDescriptors(text []byte) ([]byte, error) {
	functions := func(source []byte) string {
		list := strings.Split(string(bytes.Join(declared.FindAll(source, -1), []byte("\n"))), "\n")
		for i, line := range list {
			list[i], _, _ = strings.Cut(line, "{")
		}
		slices.Sort(list)
		return strings.Join(list, "\n")
	}
	if found, ours := functions(text), functions(poller); found != ours {
		return nil, fmt.Errorf("the poller has other functions than expected:\n%s", found)
	}
	return poller, nil
}

var shortest = regexp.MustCompile(`\bdelay = 20\b`)

// patient makes the monitor begin with the longest of its intervals.
func patient(text []byte) ([]byte, error) {
	if found := len(shortest.FindAll(text, -1)); found != 2 {
		return nil, fmt.Errorf("the monitor's shortest interval: expected in 2 places, found in %d", found)
	}
	return shortest.ReplaceAll(text, []byte("delay = 10 * 1000")), nil
}
