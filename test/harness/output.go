package harness

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"testing"
)

// RankByRank makes Open MPI's launcher write what each rank prints into files of its own, and returns the command line to
// run instead, and what adds the files to what the launcher has printed itself, rank by rank. It passes output on in pieces
// otherwise, and where several ranks print much, a line of one has a piece of another in its middle: bare as well as measured.
// Other command lines stay what they are, and that of Open MPI 5, which loses what is to go to files.
func RankByRank(t testing.TB, line []string) (instead []string, add func(stdout, stderr *bytes.Buffer)) {
	t.Helper()
	if filepath.Base(line[0]) != "mpirun.openmpi" || !writesFiles() {
		return line, func(_, _ *bytes.Buffer) {}
	}
	directory := t.TempDir()
	return slices.Insert(slices.Clone(line), 1, "--output-filename", directory+":nocopy"), func(stdout, stderr *bytes.Buffer) {
		_ = filepath.WalkDir(directory, func(path string, _ fs.DirEntry, err error) error {
			into := map[string]*bytes.Buffer{"stdout": stdout, "stderr": stderr}[filepath.Base(path)]
			if err != nil || into == nil {
				return err
			}
			text, err := os.ReadFile(path)
			into.Write(text)
			return err
		})
	}
}

// writesFiles tells whether Open MPI's launcher can write files of what ranks print.
var writesFiles = sync.OnceValue(func() bool {
	version, err := exec.Command("mpirun.openmpi", "--version").Output()
	return err == nil && regexp.MustCompile(`\) [1-4]\.`).Match(version)
})
