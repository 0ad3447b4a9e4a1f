package survive

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Why MPI_Finalize gave up is said once, with what became of the report, whichever rank knows it and whichever reports.
func TestReasonIsSaidOnce(t *testing.T) {
	shim := []string{"-I", filepath.Join(top, "cshim")}
	silent := "silent.so: -shared -fPIC @/silent.c -ldl"
	for _, c := range []struct {
		name     string
		subject  subject
		deadline string
		says     string // as a pattern
	}{
		{"records of another rank are missing", subject{source: "mismatch.c", flags: shim, args: []string{"RUN", "2", "made"}}, "86400",
			`MPI_Finalize could not merge 3 records \(send 3\)`},
		{"the core fails while another rank runs", subject{source: "fails.c", flags: shim, args: []string{"RUN", "1"}}, "86400",
			`the core failed, see raw/rank-000001\.mrl\.panic`},
		{"the core of another rank cannot read its records", subject{source: "mismatch.c", flags: shim, args: []string{"RUN", "1", "damaged"}}, "86400",
			"MPI_Finalize could not read the records: .+"},
		{"another rank hangs", subject{source: "sends.c", made: []string{silent}}, "4", `rank \d has not answered rank \d for 4 s`},
	} {
		for _, m := range both {
			t.Run(c.name+"/"+m.name, func(t *testing.T) {
				need(t, m.cc, m.launch[0])
				directory := t.TempDir()
				to := filepath.Join(directory, "run")
				line := []string{c.subject.compile(t, m, directory)}
				for _, a := range c.subject.args {
					line = append(line, strings.Replace(a, "RUN", to, 1))
				}
				environment := []string{"MARPLE_DEADLINE=" + c.deadline, "SILENT=" + to}
				launch := append(slices.Clone(m.launch), "-n", "3")
				if c.subject.made != nil {
					launch = append(launch, "env", "LD_PRELOAD="+filepath.Join(directory, "silent.so"))
				}
				measured := run(t, directory, environment, slices.Concat(launch, []string{filepath.Join(build, "marple"), "exec", "--out", to, "--"}, line))
				require.Equal(t, "exit 0", measured.code, measured.err)
				said := regexp.MustCompile("(?m)^marple: " + c.says + "; marple recover made the report$")
				require.Len(t, said.FindAllString(measured.err, -1), 1, measured.err)
				require.FileExists(t, filepath.Join(to, "report.txt"))
			})
		}
	}
}

// Where fewer records were merged than made, that is said before anything else, marple recover makes the report, and the record
// files stay.
func TestRecordsMissing(t *testing.T) {
	for _, m := range both {
		t.Run(m.name, func(t *testing.T) {
			need(t, m.cc, m.launch[0])
			directory := t.TempDir()
			program, to := subject{source: "mismatch.c", flags: []string{"-I", filepath.Join(top, "cshim")}}.compile(t, m, directory), filepath.Join(directory, "run")
			measured := run(t, directory, nil, slices.Concat(m.launch, []string{"-n", "2", filepath.Join(build, "marple"), "exec", "--out", to, "--", program, to, "0", "made"}))
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
