package survive

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// MPI_Abort waits for its report for so much of a core's time, and no longer: this command would never end, and the
// deadline is a day.
func TestAbortIsBounded(t *testing.T) {
	for _, m := range both {
		t.Run(m.name, func(t *testing.T) {
			need(t, m.cc, m.launch[0])
			directory := t.TempDir()
			program, to := subject{source: "busy.c", flags: []string{"-pthread"}}.compile(t, m, directory), filepath.Join(directory, "run")
			for _, file := range []string{"libmarple.so", "libmarple-core.so"} {
				data, err := os.ReadFile(filepath.Join(build, file))
				require.NoError(t, err)
				require.NoError(t, os.WriteFile(filepath.Join(directory, file), data, 0o777))
			}
			require.NoError(t, os.WriteFile(filepath.Join(directory, "marple"), []byte("#!/bin/sh\nwhile :; do :; done\n"), 0o777))
			measured := run(t, directory, []string{"MARPLE_DEADLINE=86400", "MARPLE_OUT=" + to},
				slices.Concat(m.launch, []string{"-n", "1", "env", "LD_PRELOAD=" + filepath.Join(directory, "libmarple.so"), program}))
			require.Equal(t, "exit 5", measured.code, measured.err)
			said := "marple: this end of the run leaves no report; records are kept, make the report with: marple recover " + to + "\n"
			if m == openMPI { // the other one's launcher loses what is printed last
				require.Equal(t, 1, strings.Count(measured.err, said), measured.err)
			}
			recovered := run(t, directory, nil, []string{filepath.Join(build, "marple"), "recover", to})
			require.Equal(t, "exit 0", recovered.code, recovered.err)
		})
	}
}
