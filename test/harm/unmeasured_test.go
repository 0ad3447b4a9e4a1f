// What `marple exec` says where nothing is measured: one line over all ranks and all processes; nothing else changes.
package harm

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"marple/test/harness"
)

// notSeen is said of a program by this name.
func notSeen(name string) string {
	return "^marple: nothing was measured: no call of MPI_Init was seen in " + name + " or in what it started"
}

const endedBefore = "^marple: nothing was measured: (sh|.*/unmeasured) ended before it called MPI_Init$"

// In lines, CODE stands for the exit code, APP for a program that is linked with MPI, MARPLE for marple; bare, for nothing.
var unmeasured = []struct {
	name, says string // nothing where it is measured
	line       []string
}{
	{"ends before MPI_Init", endedBefore, []string{"APP", "CODE"}},
	{"ends with _exit", notSeen(".*/unmeasured") + "$", []string{"APP", "CODE", "_exit"}},
	{"takes addresses from the library", "/unmeasured has looked up MPI's functions in the library itself", []string{"APP", "CODE", "dlsym"}},
	{"a child is measured", "", []string{"APP", "CODE", "child"}},
	{"a shell", notSeen("sh"), []string{"sh", "-c", "echo a shell; exit CODE"}},
	{"a shell that starts many", notSeen("bash"), []string{"bash", "-c", "echo b | sed s/b/d/; env A=1 sh -c :; (exit 9); exit CODE"}},
	{"a script", notSeen("./script"), []string{"./script", "APP", "CODE"}},
	{"a script of a measured program", "", []string{"./script", "APP", "CODE", "MPI_Init"}},
	{"a script that becomes a measured program", "", []string{"sh", "-c", "exec APP CODE MPI_Init"}},
	{"a script that becomes another program", endedBefore, []string{"sh", "-c", "exec APP CODE"}},
	{"marple in a script", "", []string{"./script", "MARPLE", "APP", "CODE", "MPI_Init"}},
	{"marple in a script, and nothing to measure", endedBefore, []string{"./script", "MARPLE", "APP", "CODE"}},
	{"a script of a static program", notSeen("./script"), []string{"./script", "./static", "CODE"}},
	{"marple in a script of a static program", "^marple: ./static is statically linked: .*; link it with shared libraries", []string{"./script", "MARPLE", "./static", "CODE"}},
	{"a static program that may lie anywhere", "^marple: ./static-pie is statically linked: .*; link it with shared libraries", []string{"./static-pie", "CODE"}},
	{"a file that is not there", "^marple: exec: .*./nothing: no such file", []string{"./nothing", "CODE"}},
	{"a file that is no program", "^marple: exec: .*./text.*permission denied", []string{"./text", "CODE"}},
	{"a script of nobody knows what", "^marple: exec: ./lines: exec format error; a script needs #!", []string{"./lines", "CODE"}},
}

func TestUnmeasured(t *testing.T) {
	t.Parallel()
	harness.Each(t, func(t *testing.T, mpi *harness.Library) {
		program, scratch := mpi.Compile(t, "unmeasured", "-ldl"), t.TempDir()
		for name, text := range map[string]string{"script": "#!/bin/sh\n\"$@\"\nexit $?\n", "lines": "exit 0\n"} {
			require.NoError(t, os.WriteFile(filepath.Join(scratch, name), []byte(text), 0o777))
		}
		require.NoError(t, os.WriteFile(filepath.Join(scratch, "text"), nil, 0o666))
		for _, how := range []string{"static", "static-pie"} {
			static := exec.Command("gcc", "-"+how, "-o", filepath.Join(scratch, how), "-xc", "-")
			static.Stdin = strings.NewReader("#include <stdlib.h>\nint main(int argc, char **argv) { return atoi(argv[argc - 1]); }\n")
			out, err := static.CombinedOutput()
			require.NoError(t, err, "%s", out)
		}

		for _, u := range unmeasured {
			for _, code := range []int{0, 3} {
				ranks := 3
				if code != 0 {
					ranks = 1 // a launcher may stop the others where one has failed
				}
				if code != 0 && mpi != harness.Mock {
					continue
				}
				t.Run(fmt.Sprintf("%s %d", u.name, code), func(t *testing.T) {
					c := harness.Command{Directory: scratch, Environment: []string{"TMPDIR=" + t.TempDir()}}
					report := filepath.Join(t.TempDir(), "run")
					line := func(marple ...string) (line []string) {
						for _, word := range u.line {
							if word == "MARPLE" {
								line = append(line, marple...)
								continue
							}
							line = append(line, strings.NewReplacer("CODE", fmt.Sprint(code), "APP", program).Replace(word))
						}
						return line
					}
					before := harness.Entries(t, scratch)
					want := mpi.Bare(t, c, ranks, line()...)
					r := mpi.Under(t, c, ranks, report, line(harness.Artifact(t, "marple"), "exec", "--"))
					if !strings.HasPrefix(u.says, "^marple: exec:") {
						assert.Equal(t, want.Code, r.Code, r.Stderr)
						assert.Equal(t, code, r.Code, r.Stderr)
						assert.Equal(t, sorted(want.Stdout), sorted(r.Stdout))
					}
					assert.Equal(t, u.says == "", r.Reported(), r.Stderr)
					if said := r.Said(); u.says == "" {
						assert.Empty(t, said)
						assert.DirExists(t, report)
					} else if assert.Len(t, said, 1, r.Stderr) {
						assert.Regexp(t, u.says, said[0])
						assert.NoDirExists(t, report)
					}
					assert.Equal(t, before, harness.Entries(t, scratch))
					marks, err := filepath.Glob(strings.TrimPrefix(c.Environment[0], "TMPDIR=") + "/marple-*")
					assert.NoError(t, err)
					assert.Empty(t, marks)
				})
			}
		}
	})
}

// Nobody wants to know.
func TestNotToBeMeasured(t *testing.T) {
	t.Parallel()
	harness.Each(t, func(t *testing.T, mpi *harness.Library) {
		program := mpi.Compile(t, "unmeasured", "-ldl")
		for _, line := range [][]string{{program, "3"}, {program, "3", "MPI_Init"}, {"sh", "-c", "exit 3"}} {
			r := mpi.Under(t, harness.Command{}, 1, filepath.Join(t.TempDir(), "run"), line, "--enable", "off")
			assert.Equal(t, 3, r.Code)
			assert.Empty(t, r.Said())
			assert.False(t, r.Reported())
		}
		r := mpi.Bare(t, harness.Command{}, 1, harness.Artifact(t, "marple"), "exec", "env", "MARPLE_ENABLE=off", program, "3", "MPI_Init")
		assert.Equal(t, 3, r.Code)
		assert.Empty(t, r.Said())
	})
}

// moved is a copy of the build in a directory of this name.
func moved(t testing.TB, name string) string {
	t.Helper()
	directory := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.Mkdir(directory, 0o777))
	for _, file := range []string{"marple", "marple-commands", "libmarple.so", "libmarple-core.so", "libmarple-ranks.so"} {
		from, err := os.Open(harness.Artifact(t, file))
		require.NoError(t, err)
		defer from.Close()
		to, err := os.OpenFile(filepath.Join(directory, file), os.O_CREATE|os.O_WRONLY, 0o777)
		require.NoError(t, err)
		_, err = io.Copy(to, from)
		require.NoError(t, err)
		require.NoError(t, to.Close())
	}
	return filepath.Join(directory, "marple")
}

// Characters that LD_PRELOAD cannot hold are no reason not to be measured.
func TestPlacesThatCannotBePreloaded(t *testing.T) {
	t.Parallel()
	marple := moved(t, "a place: of $ORIGIN")
	harness.Each(t, func(t *testing.T, mpi *harness.Library) {
		program, temporary := mpi.Compile(t, "results"), t.TempDir()
		c := harness.Command{Environment: []string{"TMPDIR=" + temporary}, Directory: t.TempDir()}
		want := mpi.Bare(t, c, troubledRanks, program, "3")
		under := func(flags ...string) harness.Result {
			r := mpi.Bare(t, c, troubledRanks, append(append([]string{marple, "exec", "--out", "run"}, flags...), program, "3")...)
			assert.Equal(t, want.Code, r.Code)
			assert.Equal(t, want.Stdout, r.Stdout)
			require.NoError(t, os.RemoveAll(filepath.Join(c.Directory, "run")))
			return r
		}
		r := under()
		assert.Empty(t, r.Said())
		assert.True(t, r.Reported(), r.Stderr)

		r = under("--core", "/nowhere/core.so")
		if assert.Len(t, r.Said(), 1, r.Stderr) {
			assert.Contains(t, r.Said()[0], "; marple recover made the report", "the command is found")
		}

		if mpi != harness.Mpich && !harness.Long() { // before any library is loaded
			return
		}
		place := filepath.Join(temporary, fmt.Sprintf("marple-%d", os.Geteuid()))
		for why, spoil := range map[string]func() error{
			"others may write":     func() error { return os.Chmod(place, 0o777) },
			"is a file":            func() error { return os.WriteFile(place, nil, 0o600) },
			"is a link":            func() error { return os.Symlink(t.TempDir(), place) },
			"is somebody else's":   func() error { return os.Chown(place, nobody, nobody) },
			"leads somewhere else": func() error { return elsewhere(place, t.TempDir()) },
		} {
			t.Run(why, func(t *testing.T) {
				if why == "is somebody else's" && os.Getuid() != 0 {
					t.Skip("only root can give a directory to somebody else")
				}
				require.NoError(t, os.RemoveAll(place))
				if !strings.HasPrefix(why, "is a ") {
					under()
				}
				require.NoError(t, spoil())
				r := under()
				if assert.Len(t, r.Said(), 1, r.Stderr) {
					assert.Regexp(t, "^marple: a blank, colon or [$] in its path keeps .*libmarple.so from being preloaded, and there can be no link to it: .*results runs unmeasured$", r.Said()[0])
				}
				assert.False(t, r.Reported())
			})
		}
	})
	r := harness.Command{}.Run(t, marple, "doctor", "true")
	assert.Zero(t, r.Code, r.Stderr)
	assert.Contains(t, r.Stdout, "ok  analysis core")
}

// elsewhere makes the links in a directory lead to another place.
func elsewhere(links, to string) error {
	list, err := os.ReadDir(links)
	for _, link := range list {
		path := filepath.Join(links, link.Name())
		if err == nil {
			err = os.Remove(path)
		}
		if err == nil {
			err = os.Symlink(to, path)
		}
	}
	return err
}
