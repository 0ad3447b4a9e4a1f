package harness

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const keptFor = 7 * 24 * time.Hour // what nobody has asked for is removed then

// Cc has a compiler make the file out. What it makes is kept in build/compiled for all tests, beside each other and later, that ask for
// the same: the same compiler in the same version, called in the same directory with the same arguments, and of the project's own files
// that are among them, or that those include, the same contents.
func Cc(t testing.TB, out, compiler string, arguments ...string) {
	t.Helper()
	key, shared := compiled(t, compiler, arguments)
	if !shared {
		compile(t, out, compiler, arguments)
		return
	}
	directory := filepath.Join(Top, "build", "compiled")
	require.NoError(t, os.MkdirAll(directory, 0o777))
	kept := filepath.Join(directory, key)
	held, err := os.OpenFile(kept+".lock", os.O_CREATE|os.O_RDWR, 0o666)
	require.NoError(t, err)
	require.NoError(t, held.Close())
	unlock, err := lock(kept + ".lock")
	require.NoError(t, err)
	defer func() { _ = unlock() }()
	if _, err := os.Stat(kept); err != nil {
		compile(t, kept+".new", compiler, arguments)
		require.NoError(t, os.Rename(kept+".new", kept))
	}
	now := time.Now()
	require.NoError(t, os.Chtimes(kept, now, now))
	copied(t, kept, out)
}

func compile(t testing.TB, out, compiler string, arguments []string) {
	t.Helper()
	line := append(slices.Clone(arguments), "-o", out)
	output, err := exec.Command(compiler, line...).CombinedOutput()
	require.NoError(t, err, "%s %s\n%s", compiler, strings.Join(line, " "), output)
}

// copied makes a copy of a program: tests change theirs.
func copied(t testing.TB, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	require.NoError(t, err)
	require.NoError(t, os.RemoveAll(to))
	require.NoError(t, os.WriteFile(to, data, 0o777))
}

// compiled names what a compiler makes; it is not shared if any of it is of a file that the test has written.
func compiled(t testing.TB, compiler string, arguments []string) (key string, shared bool) {
	t.Helper()
	path, err := exec.LookPath(compiler)
	require.NoError(t, err)
	here, err := os.Getwd()
	require.NoError(t, err)
	sum := sha256.New()
	fmt.Fprintf(sum, "%q %q %q\n", path, version(t, path), here)
	for _, name := range []string{"OMPI_CC", "OMPI_CXX", "MPICH_CC", "MPICH_CXX", "CPATH", "LIBRARY_PATH"} {
		fmt.Fprintf(sum, "%q\n", os.Getenv(name))
	}
	var sources, directories []string
	before := ""
	for _, a := range arguments {
		of, short := strings.CutPrefix(a, "-I")
		info, err := os.Stat(of)
		directory := err == nil && info.IsDir() && (short || before == "-I" || before == "-iquote" || before == "-isystem")
		if directory && ours(of) {
			directories = append(directories, of)
		} else if err == nil && info.Mode().IsRegular() && ours(of) {
			sources = append(sources, of)
		}
		if !directory || !temporary(of) { // of which what is included counts
			fmt.Fprintf(sum, "%q\n", a)
		}
		before = a
	}
	for i := 0; i < len(sources); i++ { // with those found on the way
		for _, found := range included(t, sources[i], directories) {
			if !slices.Contains(sources, found) {
				sources = append(sources, found)
			}
		}
	}
	for _, source := range sources {
		if temporary(source) {
			return "", false
		}
		fmt.Fprintf(sum, "%q %x\n", source, contents(t, source))
	}
	return hex.EncodeToString(sum.Sum(nil)[:16]), true
}

// ours tells whether a file is the project's or a test's own: others change with the version of what is installed.
func ours(path string) bool {
	return !filepath.IsAbs(path) || strings.HasPrefix(path, Top+"/") || temporary(path)
}

func temporary(path string) bool {
	return strings.HasPrefix(path, os.TempDir()+"/") && !strings.HasPrefix(path, Top+"/")
}

var include = regexp.MustCompile(`(?m)^[ \t]*#[ \t]*include[ \t]*["<]([^">\n]+)[">]`)

// included are the files that a source includes, whatever the condition, where they are in its directory or in one of those.
func included(t testing.TB, source string, directories []string) (list []string) {
	t.Helper()
	if !slices.Contains([]string{".h", ".hpp", ".hh", ".inc", ".c", ".cc", ".cpp"}, filepath.Ext(source)) {
		return nil
	}
	text, err := os.ReadFile(source)
	require.NoError(t, err)
	for _, name := range include.FindAllSubmatch(text, -1) {
		for _, directory := range append([]string{filepath.Dir(source)}, directories...) {
			path := filepath.Join(directory, string(name[1]))
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
				list = append(list, path)
				break
			}
		}
	}
	return list
}

var (
	sums     sync.Map // of files, by name, time and size
	versions sync.Map // of compilers
)

func contents(t testing.TB, path string) []byte {
	t.Helper()
	file, err := os.Open(path) // go test repeats a test when such a file has changed
	require.NoError(t, err)
	defer file.Close()
	info, err := file.Stat()
	require.NoError(t, err)
	key := fmt.Sprint(path, info.ModTime().UnixNano(), info.Size())
	known, ok := sums.Load(key)
	if !ok {
		own := sha256.New()
		_, err = io.Copy(own, file)
		require.NoError(t, err)
		known = own.Sum(nil)
		sums.Store(key, known)
	}
	return known.([]byte)
}

// version is what a compiler says of itself, and when it was installed.
func version(t testing.TB, path string) string {
	t.Helper()
	if known, ok := versions.Load(path); ok {
		return known.(string)
	}
	said, err := exec.Command(path, "--version").CombinedOutput()
	require.NoError(t, err, "%s", said)
	info, err := os.Stat(path)
	require.NoError(t, err)
	known := fmt.Sprint(string(said), info.ModTime().UnixNano(), info.Size())
	versions.Store(path, known)
	return known
}

// forget removes what was compiled for nobody since long.
func forget() {
	list, _ := filepath.Glob(filepath.Join(Top, "build", "compiled", "*"))
	for _, file := range list {
		if info, err := os.Stat(file); err == nil && time.Since(info.ModTime()) > keptFor {
			_ = os.Remove(file)
		}
	}
}
