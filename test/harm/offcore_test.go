package harm

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"marple/test/harness"
)

// Wherever a core is lost while the kernel is asked how long there was none: the time without it is found whole, and none of it is
// taken for time in which the thread was blocked.
func TestCoresLostWhileTheKernelIsAsked(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "offcore")
	line := []string{"-std=gnu11", "-D_GNU_SOURCE", "-O2", "-ffunction-sections", "-Wl,--gc-sections", "-o", program, "-iquote", filepath.Join(harness.Top, "cshim"),
		"-iquote", filepath.Join(harness.Top, "build", "gen"), harness.Apps("offcore.c"), "-lpthread"}
	_, err := os.ReadFile(filepath.Join(harness.Top, "cshim", "cpu.c")) // see artifact
	require.NoError(t, err)
	text, err := exec.Command("gcc", line...).CombinedOutput()
	require.NoError(t, err, "%s", text)
	r := harness.Command{}.Run(t, program)
	require.Zero(t, r.Code, r.Stderr)
	const moments = 15 // at least: three times the kernel is asked, five things each
	found := strings.Split(strings.TrimSpace(r.Stdout), "\n")
	require.Greater(t, len(found), moments)
	for moment, is := range found {
		require.Equal(t, "25000000 0", is, "moment %d", moment+1)
	}
}
