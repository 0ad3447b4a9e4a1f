package report

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"marple/analysis/run"
)

// Names of files are the user's: they are cleaned, and of one that is too long the end is told.
func TestFiles(t *testing.T) {
	r := slowRank()
	require.NotContains(t, Full(r, ""), "written")
	long := "/scratch/" + strings.Repeat("deep/", 20) + "out.dat"
	r.Files = &run.Files{List: []run.UsedFile{
		{Path: long, Write: &run.FileSum{Calls: 1200, Bytes: 3 << 20, Ns: 5 * ms, Small: 1100}, Open: &run.FileSum{Calls: 1}},
		{Path: "/a/m\x1b[2J.h5", Read: &run.FileSum{Calls: 2, Bytes: 10, Ns: ms}, MPIRead: &run.FileSum{Calls: 1, Bytes: 6, Ns: ms}, MPIReadAll: &run.FileSum{Calls: 3, Bytes: 8, Ns: ms}},
	}, Others: run.UsedFile{Metadata: &run.FileSum{Calls: 7, Ns: ms}}}
	w := &writer{r: r}
	w.files()
	require.Equal(t, `
    read  written     calls     small     time  file
     0 B 3.00 MiB     1,201     1,100  5.00 ms  …eep/deep/deep/deep/deep/out.dat
    24 B      0 B         6         0  3.00 ms  m·[2J.h5 (MPI, 75 % collective)
     0 B      0 B         7         0  1.00 ms  (others, and calls by name)
`, w.String())
}
