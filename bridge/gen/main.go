// Command gen writes an overlay for building the core (go build -overlay): the Go runtime's table of
// signals, changed in one respect. The runtime unblocks SIGCHLD, SIGPROF and some others in each of its
// threads whatever the mask it was started with, and would thereby take signals that the application has
// blocked, or let its handlers run on Go's stacks. What stays unblocked is faults, and the two that the C
// library uses between threads.
//
//	gen DIRECTORY
package main

import (
	"encoding/json"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

const table = "sigtab_linux_generic.go"

var unblocked = regexp.MustCompile(`(?m)^(\t/\* (\d+) \*/ \{.*)_SigUnblock`)

// faults, and SIGCANCEL and SIGSETXID of the C library.
var stay = map[string]bool{"4": true, "5": true, "7": true, "8": true, "11": true, "32": true, "33": true}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: gen DIRECTORY")
	}
	directory, err := filepath.Abs(os.Args[1])
	check(err)
	root, err := exec.Command("go", "env", "GOROOT").Output()
	check(err)
	original := filepath.Join(strings.TrimSpace(string(root)), "src", "runtime", table)
	text, err := os.ReadFile(original)
	check(err)
	changed := 0
	out := unblocked.ReplaceAllStringFunc(string(text), func(line string) string {
		m := unblocked.FindStringSubmatch(line)
		if stay[m[2]] {
			return line
		}
		changed++
		return m[1] + "0"
	})
	if changed < 3 { // SIGSTKFLT, SIGCHLD, SIGPROF
		log.Fatalf("%s: not what was expected: only %d signals to keep blocked", original, changed)
	}
	replacement := filepath.Join(directory, table)
	check(os.WriteFile(replacement, []byte(out), 0o666))
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {original: replacement}})
	check(err)
	check(os.WriteFile(filepath.Join(directory, "overlay.json"), overlay, 0o666))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
