package truth

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"marple/analysis/run"
	"marple/test/harness"
)

// What is said of files, by whole programs on storage whose time is known: 10 ms of computing a step, and calls that take 5 µs and
// 1 ns a byte, or 50 µs for an opening.
func TestFindingsOfFiles(t *testing.T) {
	t.Parallel()
	m := harness.Mock
	program, disk := m.Compile(t, "output"), filepath.Join(t.TempDir(), "slowdisk.so")
	out, err := exec.Command("gcc", "-D_GNU_SOURCE", "-shared", "-fPIC", "-o", disk, harness.Apps("slowdisk.c"), "-ldl").CombinedOutput()
	require.NoError(t, err, "%s", out)
	measured := func(t *testing.T, how string, environment ...string) *run.Run {
		c := harness.Command{Environment: append([]string{"LD_PRELOAD=" + disk}, environment...)}
		return m.Virtual(t, c, 4, []string{program, t.TempDir(), how})
	}
	const step, mib = 10e6, 1 << 20
	for how, want := range map[string]struct {
		id    string
		share float64
		title string
	}{
		"serial": {"serial-io", 0.75 * 4 * (mib + 5000) / (step + 4*(mib+5000)), "Rank 0 alone reads or writes files, while the others wait in MPI"},
		"small":  {"small-writes", 400 * 5016 / (step + 400*5016.0), "Many small writes to files: the time goes into system calls"},
		"storm":  {"metadata-storm", 40 * 50000 / (step + 40*50000.0), "17 % of the core time goes into opening, closing and looking up files"},
		"shared": {}, "little": {},
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			r := measured(t, how, "MARPLE_IO=on")
			if want.id == "" {
				require.Empty(t, r.Findings)
				return
			}
			require.Len(t, r.Findings, 1)
			f := r.Findings[0]
			assert.Equal(t, want.id, f.ID)
			assert.Equal(t, want.title, f.Title)
			assert.InDelta(t, want.share, f.Share, 0.01)
			assert.Contains(t, f.Where, "(file)")
			assert.Contains(t, f.Where, "output.c:")
			require.NotNil(t, f.Gain)
		})
	}
	// Without it, rank 0 is known to move all data, and the finding says how to find out.
	t.Run("not counted", func(t *testing.T) {
		t.Parallel()
		r := measured(t, "serial")
		require.Len(t, r.Findings, 1)
		f := r.Findings[0]
		assert.Equal(t, "imbalance", f.ID)
		assert.Equal(t, []int{0}, f.Ranks)
		assert.Contains(t, f.Advice, "marple exec --io on")
	})
}
