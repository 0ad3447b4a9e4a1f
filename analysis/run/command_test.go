package run

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestCommand(t *testing.T) {
	for line, command := range map[string][]string{
		"./app\x00":                      {"./app"},
		"./app\x00-in\x00a file\x00\x00": {"./app", "-in", "a file", ""},
		"no end":                         {"no end"},
		"":                               nil,
		"\x00":                           nil,
		"./app\x00\x1b[2J\x00":           nil,
		"./app\x00\xff\x00":              nil,
		"app\x00" + strings.Repeat("x", longestCommand-5) + "\x00": {"app", strings.Repeat("x", longestCommand-5)},
		"app\x00" + strings.Repeat("x", longestCommand-4) + "\x00": nil,
	} {
		r := &Run{}
		r.StartedAs(strings.NewReader(line))
		assert.Equal(t, command, r.Command, "%q", line)
	}
}
