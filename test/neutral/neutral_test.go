package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"marple/test/harness"
)

// A guest that changes something is found out, whatever it is.
func TestWhatDiffersIsFound(t *testing.T) {
	directory := t.TempDir()
	for name, c := range map[string]struct {
		guest, program string // the guest is given the program, and must run it
		parts          []string
		status         string
		level          int
	}{
		"nothing":                  {`exec "$@"`, "echo a; exit 3", nil, "exit 3", 0},
		"exit status":              {`"$@"; exit 0`, "exit 3", nil, "exit 0", 0},
		"signal made exit status":  {`"$@"; exit $?`, "kill -TERM $$", []string{"stderr"}, "exit 143", 0},
		"a line more":              {`"$@"; s=$?; echo more; exit $s`, "echo a", []string{"stdout"}, "exit 0", 0},
		"a line on stderr":         {`echo x >&2; exec "$@"`, "echo a", []string{"stderr"}, "exit 0", 0},
		"Marple's line on stderr":  {`echo "marple: x" >&2; exec "$@"`, "echo a", nil, "exit 0", 0},
		"a file more":              {`touch new; exec "$@"`, "echo a", []string{"file new"}, "exit 0", 0},
		"a file changed":           {`"$@"; echo b >>f`, "echo a >f", []string{"file f"}, "exit 0", 0},
		"numbers, where volatile":  {`exec "$@"`, "date +%N", nil, "exit 0", 2},
		"words, beside numbers":    {`"$@"; echo b`, "date +%N", []string{"stdout"}, "exit 0", 2},
		"another number, not free": {`"$@"; echo 2`, "echo 1", []string{"stdout"}, "exit 0", 0},
	} {
		t.Run(name, func(t *testing.T) {
			guest := filepath.Join(directory, "guest-"+fmt.Sprint(len(name)))
			require.NoError(t, os.WriteFile(guest, []byte("#!/bin/sh\n"+c.guest+"\n"), 0o777))
			r := Checker{Under: guest, Limit: time.Minute}.Check(Command{Line: quote([]string{"sh", "-c", c.program})})
			require.NoError(t, r.Err)
			assert.Equal(t, c.parts, r.Parts)
			assert.Equal(t, c.status, r.Status[1])
			assert.Equal(t, c.level, r.Level)
			assert.Equal(t, c.parts == nil && r.Status[0] == c.status, r.Same())
		})
	}
}

func TestLists(t *testing.T) {
	directory := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(directory, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o666))
		return path
	}
	a, b := write("a.in", ""), write("b.in", "")
	list, err := ReadList(write("list", "# comment\n%need sh\n%name title $EACH\n%each "+directory+"/*.in\n%mask [0-9]+\ncat {} $EACH\n\ntrue\n"))
	require.NoError(t, err)
	require.Len(t, list, 3)
	assert.Equal(t, []string{"title " + a, "title " + b, "true"}, []string{list[0].Title(), list[1].Title(), list[2].Title()})
	assert.Len(t, list[0].Mask, 1)
	assert.Empty(t, list[2].Mask, "what is said is about one command")
	for text, message := range map[string]string{
		"true\n%nonsense x\n": ":2: unknown %nonsense; expected %name",
		"%mask (\n":           ":1: error parsing regexp",
	} {
		_, err := ReadList(write("wrong", text))
		assert.ErrorContains(t, err, message)
	}
	assert.Equal(t, "nowhere-to-be-found", Command{Need: []string{"sh", "nowhere-to-be-found"}}.Missing())
}

// Programs do under Marple what they do without it. MARPLE_TEST_LONG=1 takes all there are.
func TestNeutrality(t *testing.T) {
	top, err := filepath.Abs("../..")
	require.NoError(t, err)
	out, err := exec.Command("make", "-C", top, "build").CombinedOutput()
	require.NoError(t, err, "%s", out)
	_, err = os.Stat(filepath.Join(top, "build", "libmarple.so")) // so that go test repeats this when it has changed
	require.NoError(t, err)
	programs := t.TempDir()
	for _, program := range []string{"heat", "ailments", "hosts/plain", "hosts/threads"} {
		for _, mpi := range []string{"openmpi", "mpich"} {
			if compiler, err := exec.LookPath("mpicc." + mpi); err == nil {
				out, err := exec.Command(compiler, "-std=gnu11", "-O1", "-g", "-w", "-I"+filepath.Join(top, "cshim", "include"), "-o",
					filepath.Join(programs, filepath.Base(program)+"."+mpi), filepath.Join(top, "test", "apps", program+".c"), "-pthread", "-ldl", "-lm").CombinedOutput()
				require.NoError(t, err, "%s", out)
			}
		}
	}
	t.Setenv("APPS", programs)
	t.Setenv("INPUTS", filepath.Join(top, "test", "neutral", "testdata", "inputs"))
	harness.Settle()
	lists := []string{"testdata/short.txt"}
	if os.Getenv("MARPLE_TEST_LONG") == "1" {
		lists = append(lists, "testdata/long.txt", "testdata/field.txt")
	}
	c := Checker{Under: filepath.Join(top, "build", "marple") + " exec", Limit: 30 * time.Minute}
	for _, list := range lists {
		commands, err := ReadList(list)
		require.NoError(t, err)
		var table bytes.Buffer
		assert.True(t, c.Table(&table, commands, true))
		t.Logf("%s:\n%s", list, &table)
	}
}
