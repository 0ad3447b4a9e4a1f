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

// newer builds a libmarple.so of a later version: one more in each constant that says what its neighbours may expect.
func newer(t *testing.T) string {
	t.Helper()
	directory := t.TempDir()
	here := func(path string) string { return filepath.Join(directory, path) }
	for _, room := range []string{"cshim", "pmpi"} {
		require.NoError(t, os.CopyFS(here(room), os.DirFS(filepath.Join(top, room))))
	}
	for header, constant := range map[string]string{"cshim/layout.h": "MRL_VERSION", "cshim/core.h": "MRL_CORE_VERSION"} {
		text, err := os.ReadFile(here(header))
		require.NoError(t, err)
		before, after, found := strings.Cut(string(text), "#define "+constant+" ")
		require.True(t, found)
		var version int
		_, err = fmt.Sscan(strings.TrimRight(strings.Fields(after)[0], "u"), &version)
		require.NoError(t, err)
		_, after, _ = strings.Cut(after, "\n")
		require.NoError(t, os.WriteFile(here(header), fmt.Appendf(nil, "%s#define %s %du\n%s", before, constant, version+1, after), 0o666))
	}
	changed := []string{"cshim/core", "cshim/store", "pmpi/lifecycle"} // those that name the constants
	var objects []string
	for _, pattern := range []string{"*/*.o", "*/*/*.o"} {
		list, err := filepath.Glob(filepath.Join(build, "obj", pattern))
		require.NoError(t, err)
		objects = append(objects, list...)
	}
	objects = slices.DeleteFunc(objects, func(o string) bool {
		return slices.ContainsFunc(changed, func(c string) bool { return strings.HasSuffix(o, "/"+c+".o") })
	})
	gcc := func(arguments ...string) {
		out, err := exec.Command("gcc", arguments...).CombinedOutput()
		require.NoError(t, err, string(out))
	}
	for _, c := range changed {
		gcc("-std=gnu11", "-D_GNU_SOURCE", "-fPIC", "-fvisibility=hidden", "-ftls-model=initial-exec", "-O1", "-I", filepath.Join(build, "gen"),
			"-I", here("cshim"), "-I", here("pmpi"), "-c", here(c+".c"), "-o", here(filepath.Base(c)+".o"))
		objects = append(objects, here(filepath.Base(c)+".o"))
	}
	library := here("libmarple.so")
	gcc(append([]string{"-shared", "-o", library, "-Wl,-soname,libmarple.so", "-Wl,-z,now", "-Wl,-z,nodelete", "-ldl", "-lm", "-lpthread"}, objects...)...)
	return library
}

// Library, core and command of two versions, and ranks with two: the program runs, and one line says what to do.
func TestVersions(t *testing.T) {
	need(t, "gcc")
	library := newer(t)
	for _, file := range []string{"marple", "libmarple-core.so"} {
		require.NoError(t, os.Symlink(filepath.Join(build, file), filepath.Join(filepath.Dir(library), file)))
	}
	for _, m := range both {
		t.Run(m.name, func(t *testing.T) {
			need(t, m.cc, m.launch[0])
			directory := t.TempDir()
			program, to := subject{source: "sends.c"}.compile(t, m, directory), filepath.Join(directory, "run")
			rank := func(library string) []string {
				return []string{"-n", "1", "env", "LD_PRELOAD=" + library, "MARPLE_OUT=" + to, program}
			}
			said := func(o outcome) (lines []string) {
				for l := range strings.Lines(o.err) {
					if strings.HasPrefix(l, "marple: ") {
						lines = append(lines, strings.TrimSpace(l))
					}
				}
				return lines
			}

			bare := run(t, directory, nil, slices.Concat(m.launch, []string{"-n", "2", program}))
			measured := run(t, directory, nil, slices.Concat(m.launch, rank(library), []string{":"}, rank(library)))
			require.Equal(t, bare.code, measured.code, measured.err)
			require.Equal(t, bare.printed(), measured.printed())
			require.Len(t, said(measured), 2)
			require.Regexp(t, "^marple: "+to+`/raw/rank-000000.mrl: a record file of version \d+; this Marple reads version \d+: use the newer Marple that wrote it$`, said(measured)[0])
			require.Equal(t, "marple: the core cannot be opened: it is of another version than libmarple.so: install marple and all of libmarple*.so of one build ("+
				filepath.Join(filepath.Dir(library), "libmarple-core.so")+"); records are kept, make the report with: marple recover "+to, said(measured)[1])

			require.NoError(t, os.RemoveAll(to))
			measured = run(t, directory, nil, slices.Concat(m.launch, rank(filepath.Join(build, "libmarple.so")), []string{":"}, rank(library)))
			require.Equal(t, bare.code, measured.code, measured.err)
			require.Equal(t, bare.printed(), measured.printed())
			require.Equal(t, []string{"marple: the ranks have different versions of Marple, so nothing is measured: install one on all hosts"}, said(measured))
			require.NoDirExists(t, to)
		})
	}
}
