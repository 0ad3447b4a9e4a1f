package survive

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Where fewer records were merged than made, that is said before anything else, marple recover makes the report, and the record
// files stay.
func TestRecordsMissing(t *testing.T) {
	for _, m := range both {
		t.Run(m.name, func(t *testing.T) {
			need(t, m.cc, m.launch[0])
			directory := t.TempDir()
			program, to := subject{source: "mismatch.c", flags: []string{"-I", filepath.Join(top, "cshim")}}.compile(t, m, directory), filepath.Join(directory, "run")
			measured := run(t, directory, nil, slices.Concat(m.launch, []string{"-n", "2", filepath.Join(build, "marple"), "exec", "--out", to, "--", program, to}))
			require.Equal(t, "exit 0", measured.code, measured.err)
			require.Equal(t, 1, strings.Count(measured.err, "marple: MPI_Finalize could not merge 3 records (send 3); marple recover made the report\n"), measured.err)

			report, err := os.ReadFile(filepath.Join(to, "report.txt"))
			require.NoError(t, err)
			_, below, _ := strings.Cut(string(report), "─\n") // the heading's line
			require.True(t, strings.HasPrefix(strings.Join(strings.Fields(below), " "),
				"3 records of what the ranks did (send 3) are missing from all that follows; the record files are kept. "), string(report))
			k, err := read(to)
			require.NoError(t, err)
			require.Equal(t, "records-missing", k.Conditions[0].ID)
			for _, f := range k.Functions {
				if f.Name == "MPI_Send" || f.Name == "MPI_Recv" {
					require.EqualValues(t, 1000, f.Calls, f.Name)
				}
			}
			for _, name := range []string{"rank-000000.mrl", "rank-000001.mrl"} {
				require.FileExists(t, filepath.Join(to, "raw", name))
			}
		})
	}
}
