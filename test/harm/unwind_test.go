// The unwinder by itself, against the compiler's own and against tables that make no sense.
package harm

import (
	"marple/test/harness"

	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// oracle builds test/apps/unwind: functions of several compilers and optimisations, and the unwinder alone.
func oracle(t testing.TB, flags ...string) string {
	t.Helper()
	clang := "clang"
	if _, err := exec.LookPath(clang); err != nil {
		clang = "gcc"
	}
	directory := t.TempDir()
	object := func(compiler, source, name string, more ...string) string {
		_, err := os.ReadFile(source) // see artifact
		require.NoError(t, err)
		out := filepath.Join(directory, name+".o")
		line := append([]string{"-std=gnu11", "-D_GNU_SOURCE", "-iquote", filepath.Join(harness.Top, "cshim"), "-iquote", filepath.Join(harness.Top, "build", "gen"),
			"-Wall", "-Wextra", "-c", source, "-o", out}, more...)
		text, err := exec.Command(compiler, line...).CombinedOutput()
		require.NoError(t, err, "%s", text)
		return out
	}
	objects := []string{object("gcc", harness.Apps("unwind/oracle.c"), "oracle", "-O2"),
		object("gcc", filepath.Join(harness.Top, "cshim", "unwind.c"), "unwind", append([]string{"-O2", "-g"}, flags...)...)}
	for _, style := range []struct{ compiler, name, flags string }{
		{"gcc", "o0", "-O0"}, {"gcc", "o2", "-O2 -fomit-frame-pointer"}, {"gcc", "o3fp", "-O3 -fno-omit-frame-pointer"}, {"gcc", "os", "-Os"},
		{clang, "clang", "-O2 -Wno-unused-function"}, {"gcc", "avx", "-O3 -mavx"},
	} {
		objects = append(objects, object(style.compiler, harness.Apps("unwind/frames.c"), style.name, append(strings.Fields(style.flags), "-DSTYLE="+style.name)...))
	}
	program := filepath.Join(directory, "oracle")
	line := append(append(objects, "-o", program, "-lpthread", "-ldl"), flags...)
	text, err := exec.Command("gcc", line...).CombinedOutput()
	require.NoError(t, err, "%s", text)
	return program
}

// Millions of frames: the same as libgcc finds, at calls and wherever a timer interrupts.
func TestUnwinderAgreesWithTheCompilers(t *testing.T) {
	t.Parallel()
	program := oracle(t)
	for _, seed := range []string{"1", "2"} {
		r := harness.Command{}.Run(t, program, "5000", seed)
		require.Zero(t, r.Code, r.Stderr)
		require.Len(t, strings.Fields(r.Stdout), 3*2, "three kinds of walks")
	}
}

// Tables with wrong bytes in them lead a walk astray, but not off the stack, and to nothing undefined.
func TestUnwinderSurvivesDamagedTables(t *testing.T) {
	t.Parallel()
	program := oracle(t, "-fsanitize=undefined", "-fno-sanitize-recover=all")
	for _, seed := range []string{"1", "2", "3"} {
		r := harness.Command{}.Run(t, program, "3000", seed, "corrupt")
		require.Zero(t, r.Code, r.Stderr)
		require.NotContains(t, r.Stdout, " 0 of them astray", "the damage must matter for this to be a test")
	}
}
