package run

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func readHosts(t testing.TB, text string) (*Hosts, error) {
	t.Helper()
	directory := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(directory, HostsFile), []byte(text), 0o666))
	return ReadHosts(directory)
}

func TestHosts(t *testing.T) {
	h, err := ReadHosts(t.TempDir())
	require.NoError(t, err)
	assert.Nil(t, h)

	h, err = readHosts(t, "run 0123456789abcdef a /w/my%20run%0A\nrecords 1 c /c\nrecords 2 b /tmp/100%25\nrecords 3 d /d\nranks 1 2 3\nranks 2 0 0\nranks 1 5 5\n")
	require.NoError(t, err)
	assert.Equal(t, &Hosts{Host: "a", Directory: "/w/my run\n", Places: []Place{{"b", "/tmp/100%", []Span{{0, 0}}}, {"c", "/c", []Span{{2, 3}, {5, 5}}}}}, h)
	assert.Equal(t, []int{3, 5}, h.Places[1].Missing([]int{0, 3, 4, 5, 6}))

	h, err = readHosts(t, "part 0123456789abcdef a /w/run\n")
	require.NoError(t, err)
	assert.Equal(t, &Hosts{Host: "a", Directory: "/w/run", Part: true}, h)
}

// What is wrong is told with its line, and what is before it is kept.
func TestHostsDamaged(t *testing.T) {
	const whole = "run 0 a /r\nrecords 1 b /b\nranks 1 4 7\n"
	for text, expected := range map[string]string{
		"":                                  `:1: expected "run ID HOST DIRECTORY"`,
		"run 0 a":                           ":1: cut off",
		"records 1 b /b\n":                  ":1: expected \"run ",
		"run 0 a %zz\n":                     ":1: expected \"run ",
		"run 0 a b c\n":                     ":1: expected \"run ",
		whole + "ranks 1 8":                 ":4: cut off",
		whole + "ranks 2 8 8\n":             ":4: expected \"records ",
		whole + "ranks 1 8 7\n":             ":4: expected \"records ",
		whole + "ranks 1 -1 7\n":            ":4: expected \"records ",
		whole + "ranks 1 8 3000000000\n":    ":4: expected \"records ",
		whole + "ranks 1 7 9\n":             ":4: expected higher ranks",
		whole + "run 0 a /r\n":              ":4: expected \"records ",
		whole + "\x00\xff\n":                ":4: expected \"records ",
		whole + strings.Repeat("x ", 10000): ":4: cut off",
	} {
		h, err := readHosts(t, text)
		assert.ErrorContains(t, err, expected, text)
		if strings.HasPrefix(text, whole) {
			assert.Equal(t, []Place{{"b", "/b", []Span{{4, 7}}}}, h.Places)
		}
	}
}

func FuzzHosts(f *testing.F) {
	f.Add("run 0 a /r\nrecords 1 b /b\nranks 1 4 7\n")
	f.Fuzz(func(t *testing.T, text string) {
		h, _ := readHosts(t, text)
		for _, p := range h.Places {
			assert.NotEmpty(t, p.Ranks)
		}
	})
}
