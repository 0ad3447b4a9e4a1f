package run

import (
	"bytes"
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"
)

// longestCommand is how many bytes of a command line are told; of a longer one none are.
const longestCommand = 4 << 10

// StartedAs is told how rank 0's process was started, as /proc/self/cmdline has it: words, each ended by a zero byte. What is no
// text, or is too long, is left out.
func (r *Run) StartedAs(line io.Reader) {
	words, err := io.ReadAll(io.LimitReader(line, longestCommand+1))
	if err != nil || len(words) == 0 || len(words) > longestCommand || words[0] == 0 {
		return
	}
	text := string(bytes.TrimSuffix(words, []byte{0}))
	if !utf8.ValidString(text) || strings.ContainsFunc(text, func(c rune) bool { return c != 0 && !unicode.IsPrint(c) }) {
		return
	}
	r.Command = strings.Split(text, "\x00")
}

// StartedAsThis is StartedAs for this process.
func (r *Run) StartedAsThis() {
	if line, err := os.Open("/proc/self/cmdline"); err == nil {
		defer line.Close()
		r.StartedAs(line)
	}
}

// CommandLine is the words that start the program, as far as they are known.
func (r *Run) CommandLine() []string {
	switch {
	case len(r.Command) > 0:
		return r.Command
	case strings.HasSuffix(r.Program, ".py"):
		return []string{"python3", r.Program}
	}
	return []string{r.Program}
}
