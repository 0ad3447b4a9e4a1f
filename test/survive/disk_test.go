package survive

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A disk that is full, at whatever point of the run, changes nothing for the program: it is whole, or what is missing is said.
func TestFullDisks(t *testing.T) {
	if os.Getenv("MARPLE_TEST_LONG") != "1" {
		return // in make test-long, as root: it mounts a file system of each size
	}
	for _, m := range both {
		need(t, m.cc, m.launch[0])
		directory := t.TempDir()
		program := subject{source: "sends.c"}.compile(t, m, directory)
		launch := append(slices.Clone(m.launch), "-n", "2")
		bare := run(t, directory, nil, append(slices.Clone(launch), program))
		for _, kib := range []int{4, 8, 16, 64, 128, 256, 384, 512, 768, 1024, 1280, 2048, 4096, 8192, 16384, 30720} {
			name := fmt.Sprintf("a disk of %d KiB", kib)
			t.Run(m.name+" "+name, func(t *testing.T) {
				disk := t.TempDir()
				out, err := exec.Command("mount", "-t", "tmpfs", "-o", fmt.Sprintf("size=%dk", kib), "marple", disk).CombinedOutput()
				require.NoError(t, err, string(out))
				t.Cleanup(func() { _ = exec.Command("umount", "-l", disk).Run() })
				to := filepath.Join(disk, "run")
				measured := run(t, directory, nil, slices.Concat(launch, []string{filepath.Join(build, "marple"), "exec", "--trace", "100", "--out", to, "--", program}))
				result := compared(name, m, bare, measured)
				require.Equal(t, bare.code, measured.code, measured.err)
				require.Equal(t, bare.printed(), measured.printed())
				require.NotContains(t, measured.err, "goroutine ")
				said := strings.Contains(measured.err, "marple: ") || strings.Contains(measured.err, "missing")
				if k, err := read(to); err == nil {
					_, problem := subject{}.compare(t, to, measured.counted())
					said = said || len(k.NotSeen) > 0
					require.True(t, problem == "" || said, "%s\n%s", problem, measured.err)
					result.counts = "whole"
					if problem != "" {
						result.counts = "some, said"
					}
				} else {
					require.True(t, said, measured.err)
					result.counts = "no run, said"
				}
				table.add(result)
			})
		}
	}
}
