package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// What fails once is told and passes; what fails again, or is no test of whole programs, has failed.
func TestWhatFailsIsTriedAgain(t *testing.T) {
	command := filepath.Join(t.TempDir(), "suite")
	out, err := exec.Command("go", "build", "-o", command, ".").CombinedOutput()
	require.NoError(t, err, string(out))
	for _, c := range []struct {
		name, pkg, test string
		passes          bool
		says            []string
	}{
		{"passes", "test/e2e", `t.Run("a", func(t *testing.T) {})`, true, []string{"2 passed, 0 failed"}},
		{"fails once", "test/e2e", `t.Run("a b", func(t *testing.T) { once(t) }); t.Run("c", func(t *testing.T) {})`, true,
			[]string{"again    test/e2e TestIt/a_b, 3 times", "unstable test/e2e TestIt/a_b: failed once", "3 passed, 0 failed"}},
		{"fails always", "test/e2e", `t.Run("a", func(t *testing.T) { t.Fatal("no") })`, false, []string{"failed   test/e2e TestIt/a", "1 passed, 1 failed"}},
		{"fails now and then", "test/e2e", `t.Run("a", func(t *testing.T) { often(t) })`, false, []string{"again ", "failed   test/e2e TestIt/a"}},
		{"by itself", "test/e2e", `once(t)`, true, []string{"unstable test/e2e TestIt: failed once", "2 passed, 0 failed"}},
		{"another package", "analysis", `once(t)`, false, []string{"failed   analysis TestIt"}},
		{"ends after it", "test/e2e", `_, err := os.Stat("made"); t.Run("a", once); if err != nil { os.Exit(1) }`, false, []string{"failed   test/e2e"}},
		{"is killed after it", "test/e2e", `_, err := os.Stat("made"); t.Run("a", once); if err != nil { p, _ := os.FindProcess(os.Getpid()); _ = p.Kill(); select {} }`, false,
			[]string{"failed   test/e2e"}},
		{"panics beside it", "test/e2e", `_, err := os.Stat("made"); t.Run("a", once); if err != nil { go func() { panic("no") }(); select {} }`, false, []string{"failed   test/e2e"}},
		{"panics", "test/e2e", `_, err := os.Stat("made"); once2(); if err != nil { panic("no") }`, false, []string{"failed   test/e2e TestIt"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			directory := t.TempDir()
			pkg := filepath.Join(directory, c.pkg)
			require.NoError(t, os.MkdirAll(pkg, 0o777))
			require.NoError(t, os.WriteFile(filepath.Join(directory, "go.mod"), []byte("module marple\n\ngo 1.24\n"), 0o666))
			require.NoError(t, os.WriteFile(filepath.Join(pkg, "it_test.go"), []byte(`package it

import (
	"os"
	"testing"
)

func once2() { _ = os.WriteFile("made", nil, 0o666) }

func once(t *testing.T) {
	if _, err := os.Stat("made"); err != nil {
		once2()
		t.Fatal("the first time")
	}
}

// often fails at odd times.
func often(t *testing.T) {
	if os.Remove("made") != nil {
		once2()
		t.Fatal("now")
	}
}

func TestIt(t *testing.T) { `+c.test+` }

func TestOther(t *testing.T) {}
`), 0o666))
			run := exec.Command(command, "--", "./...")
			run.Dir = directory
			run.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off", "CI=1")
			out, err := run.CombinedOutput()
			require.Equal(t, c.passes, err == nil, string(out))
			for _, says := range c.says {
				require.Contains(t, string(out), says)
			}
		})
	}
}
