// Command gen writes an overlay for building the core (go build -overlay): the Go runtime with two files
// changed, so that it can be a guest in somebody else's process.
//
//   - Signals: the runtime unblocks SIGCHLD, SIGPROF and some others in each of its threads, whatever the
//     mask it was started with, and would thereby take signals that the application has blocked, or let its
//     handlers run on Go's stacks. What stays unblocked is faults, and the two that the C library uses
//     between threads.
//   - The network poller: it keeps descriptors, and dies when an application that closes all of them has
//     closed these, or ends up polling a file of the application's.
//
// The changes are checked against what they expect, so that a Go with other sources fails to build here.
//
//	gen DIRECTORY
package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

//go:embed netpoll.go.txt
var poller []byte

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: gen DIRECTORY")
	}
	directory, err := filepath.Abs(os.Args[1])
	check(err)
	root, err := exec.Command("go", "env", "GOROOT").Output()
	check(err)
	replace := map[string]string{}
	for name, change := range map[string]func([]byte) ([]byte, error){
		"sigtab_linux_generic.go": blockable,
		"netpoll_epoll.go":        func([]byte) ([]byte, error) { return poller, nil },
	} {
		original := filepath.Join(strings.TrimSpace(string(root)), "src", "runtime", name)
		text, err := os.ReadFile(original)
		check(err)
		changed, err := change(text)
		if err != nil {
			log.Fatalf("%s: %v", original, err)
		}
		replace[original] = filepath.Join(directory, name)
		check(os.WriteFile(replace[original], changed, 0o666))
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	check(err)
	check(os.WriteFile(filepath.Join(directory, "overlay.json"), overlay, 0o666))
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
