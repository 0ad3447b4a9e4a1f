// Programs of another C library than the one that Marple is linked with: they run as they are.
package harm

import (
	"marple/test/harness"

	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMusl(t *testing.T) {
	gcc, err := exec.LookPath("musl-gcc")
	if err != nil {
		harness.Missing(t, "musl-gcc")
	}
	place := t.TempDir()
	build := func(name string, arguments ...string) string {
		out := filepath.Join(place, name)
		text, err := exec.Command(gcc, append(arguments, "-o", out, harness.Apps("plain.c"))...).CombinedOutput()
		require.NoError(t, err, "%s", text)
		return out
	}
	dynamic, static := build("dynamic"), build("static", "-static")
	script := filepath.Join(place, "script")
	require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\n"+dynamic+" && "+static+" && "+dynamic+" fails\n"), 0o755))
	for _, c := range []struct {
		program []string
		stdout  string
		code    int
		said    string
	}{
		{[]string{dynamic}, "runs\n", 0, "is started by ld-musl-"},
		{[]string{dynamic, "fails"}, "runs\n", 5, "is started by ld-musl-"},
		{[]string{static, "fails"}, "runs\n", 5, "is statically linked"},
		{[]string{script}, "runs\nruns\nruns\n", 5, "nothing was measured"},
		{[]string{"/bin/sh", "-c", dynamic + " && exit 3"}, "runs\n", 3, "nothing was measured"},
	} {
		r := harness.Command{Directory: place}.Run(t, append([]string{harness.Artifact(t, "marple"), "exec", "--"}, c.program...)...)
		assert.Equal(t, c.code, r.Code, "%v: %s", c.program, r.Stderr)
		assert.Equal(t, c.stdout, r.Stdout)
		require.Len(t, r.Said(), 1, r.Stderr)
		assert.Contains(t, r.Said()[0], c.said)
	}
	assert.Empty(t, entriesLike(t, place, "marple-"))
}

func entriesLike(t *testing.T, directory, prefix string) (found []string) {
	for _, name := range harness.Entries(t, directory) {
		if len(name) >= len(prefix) && name[:len(prefix)] == prefix {
			found = append(found, name)
		}
	}
	return found
}
