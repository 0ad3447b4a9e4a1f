// One program in five forms (test/apps/forms): every binding is measured alike.
package e2e

import (
	"marple/test/harness"

	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The same calls, bytes, peers and communicators, whatever the language. The table is the C form's.
func TestFiveForms(t *testing.T) {
	t.Parallel()
	const ranks = 4
	for _, mpi := range harness.Libraries {
		t.Run(mpi.Name, func(t *testing.T) {
			mpi.Need(t)
			forms := map[string][]string{"C": {mpi.Compile(t, filepath.Join("forms", "form"))}}
			fortran := mpi.Tool(strings.Replace(mpi.Cc, "mpicc", "mpifort", 1))
			if fortran == "" {
				harness.Missing(t, "mpifort")
			}
			for name, source := range map[string]string{"mpif.h": "form_mpif", "use mpi": "form_mpi", "use mpi_f08": "form_f08"} {
				if mpi == harness.Mock && source == "form_f08" {
					continue
				}
				program := filepath.Join(t.TempDir(), source)
				build := exec.Command(fortran, "-O1", "-g", "-fallow-argument-mismatch", "-o", program, source+".f90")
				build.Dir = harness.Apps("forms")
				out, err := build.CombinedOutput()
				require.NoError(t, err, "%s", out)
				forms[name] = []string{program}
			}
			if mpi == harness.OpenMPI { // Debian's mpi4py is built with it
				forms["mpi4py"] = []string{"/usr/bin/python3", harness.Apps("forms/form.py")}
			}
			want := account{}
			for _, name := range []string{"C", "mpif.h", "use mpi", "use mpi_f08", "mpi4py"} {
				if forms[name] == nil {
					continue
				}
				measured, r := mpi.Measured(t, harness.Command{}, ranks, forms[name])
				require.Zero(t, r.Code, "%s: %s", name, r.Stderr)
				got := found(measured)
				if name == "C" {
					want = got
					for f, row := range got.functions {
						t.Logf("%-28s %6d calls %8d B out %8d B in", f, row["calls"], row["out"], row["in"])
					}
				}
				wrong := append(differences("function", want.functions, got.functions), differences("peers", want.peers, got.peers)...)
				wrong = append(wrong, differences("communicator", want.communicators, got.communicators)...)
				assert.Empty(t, wrong, "%s:\n%s", name, strings.Join(wrong, "\n"))
				t.Logf("%-12s %d functions, %d pairs of ranks, %d communicators", name, len(got.functions), len(got.peers), len(got.communicators))
			}
		})
	}
}

// Fortran compiled without an underscore behind its names.
func TestPlainFortran(t *testing.T) {
	t.Parallel()
	const ranks, calls = 2, 10
	harness.EachReal(t, func(t *testing.T, mpi *harness.Library) {
		fortran := mpi.Tool(strings.Replace(mpi.Cc, "mpicc", "mpifort", 1))
		if fortran == "" {
			harness.Missing(t, "mpifort")
		}
		directory := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(directory, "plain.f90"), fmt.Appendf(nil, `program plain
  include 'mpif.h'
  integer :: ierr, i, in(4)
  call mpi_init(ierr)
  do i = 1, %d
    call mpi_sendrecv([1, 2, 3, i], 4, MPI_INTEGER, 0, 0, in, 4, MPI_INTEGER, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE, ierr)
    if (in(4) /= i) stop 3
    call mpi_barrier(MPI_COMM_WORLD, ierr)
  end do
  call mpi_finalize(ierr)
end program
`, calls), 0o666))
		build := exec.Command(fortran, "-fno-underscoring", "-o", "plain", "plain.f90")
		build.Dir = directory
		out, err := build.CombinedOutput()
		if strings.Contains(string(out), "undefined reference to `mpi_init'") {
			t.Log("this library has no such names")
			return
		}
		require.NoError(t, err, "%s", out)
		measured, r := mpi.Measured(t, harness.Command{}, ranks, []string{filepath.Join(directory, "plain")})
		require.Zero(t, r.Code, r.Stderr)
		for _, f := range []string{"MPI_Sendrecv", "MPI_Barrier"} {
			assert.EqualValues(t, ranks*calls, harness.Function(measured, f).Calls, f)
		}
		assert.EqualValues(t, ranks*calls*16, harness.Function(measured, "MPI_Sendrecv").Out)
	})
}
