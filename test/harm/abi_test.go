// What pmpi/abi.c believes about an MPI library, compared with the library's own mpi.h.
package harm

import (
	"marple/test/harness"

	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The program holds the real table, chosen by the real recognition, and prints each fact as mpi.h has it
// and as the table has it.
func TestABI(t *testing.T) {
	t.Parallel()
	harness.Each(t, func(t *testing.T, mpi *harness.Library) {
		pmpi, gen := filepath.Join(harness.Top, "pmpi"), filepath.Join(harness.Build, "gen")
		program := mpi.Compile(t, "abi", filepath.Join(pmpi, "abi.c"), filepath.Join(pmpi, "next.c"), filepath.Join(gen, "functions.gen.c"),
			"-D_GNU_SOURCE", "-I"+pmpi, "-I"+gen, "-I"+filepath.Join(harness.Top, "cshim"), "-ldl")
		r := harness.Command{}.Run(t, mpi.Launch(1, program)...)
		require.Zero(t, r.Code, r.Stderr)
		facts := strings.Split(strings.TrimSpace(r.Stdout), "\n")
		assert.Greater(t, len(facts), 35)
		for _, line := range facts {
			fields := strings.Split(line, "\t")
			require.Len(t, fields, 3, line)
			assert.Equal(t, fields[1], fields[2], "%s: mpi.h has %s, pmpi/abi.c %s", fields[0], fields[1], fields[2])
		}
	})
}
