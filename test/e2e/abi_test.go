// What pmpi/abi.c believes about an MPI library, compared with the library's own mpi.h.
package e2e

import (
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
	each(t, func(t *testing.T, mpi *library) {
		pmpi, gen := filepath.Join(top, "pmpi"), filepath.Join(build, "gen")
		program := mpi.compile(t, "abi", filepath.Join(pmpi, "abi.c"), filepath.Join(pmpi, "next.c"), filepath.Join(gen, "functions.gen.c"),
			"-D_GNU_SOURCE", "-I"+pmpi, "-I"+gen, "-I"+filepath.Join(top, "cshim"), "-ldl")
		r := command{}.run(t, mpi.launch(1, program)...)
		require.Zero(t, r.code, r.stderr)
		facts := strings.Split(strings.TrimSpace(r.stdout), "\n")
		assert.Greater(t, len(facts), 35)
		for _, line := range facts {
			fields := strings.Split(line, "\t")
			require.Len(t, fields, 3, line)
			assert.Equal(t, fields[1], fields[2], "%s: mpi.h has %s, pmpi/abi.c %s", fields[0], fields[1], fields[2])
		}
	})
}
