// Package proxygen tests the generator of proxies on headers that make it hard: each is proxied, compiled with
// every compiler there is, without a warning, and run. The program makes the same calls of a component
// directly and through its proxy, and compares what comes back; every function of the proxy must be called.
package proxygen

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"marple/test/harness"
)

var (
	update = flag.Bool("update", false, "write golden files anew")
	reader = flag.String("clang", "", "clang to read headers with; golden files are the default one's")
	marple string
)

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	flag.Parse()
	directory, err := os.MkdirTemp("", "marple-proxygen-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(directory)
	marple = filepath.Join(directory, "marple")
	if out, err := exec.Command("go", "build", "-o", marple, "../../cmd/marple").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%v\n%s", err, out)
		return 1
	}
	return m.Run()
}

func need(t *testing.T, tools ...string) {
	t.Helper()
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			harness.Missing(t, tool)
		}
	}
}

// proxygen writes a proxy to a file and returns what was said.
func proxygen(t *testing.T, out string, arguments ...string) string {
	t.Helper()
	flags := []string{"proxygen", "-o", out}
	if *reader != "" {
		flags = append(flags, "--clang", *reader)
	}
	command := exec.Command(marple, append(flags, arguments...)...)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	require.NoError(t, command.Run(), "%s", &stderr)
	said := ""
	for line := range strings.Lines(stderr.String()) {
		if !strings.HasPrefix(line, "marple: proxygen (") { // how long it takes already
			said += line
		}
	}
	return said
}

var strict = []string{"-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I../../cshim/include", "-I."}

// comment is what a source says behind a key in a comment of its own.
func comment(t *testing.T, file, key string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var list []string
	for line := range strings.SplitSeq(string(text), "\n") {
		if rest, ok := strings.CutPrefix(line, "// "+key+": "); ok {
			list = append(list, rest)
		}
	}
	return list
}

func TestPorts(t *testing.T) {
	need(t, "clang++", "g++")
	programs, err := filepath.Glob("ports/*.cpp")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(programs), 30)
	for _, program := range programs {
		name := strings.TrimSuffix(filepath.Base(program), ".cpp")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			directory := t.TempDir()
			proxy := filepath.Join(directory, name+"_proxy.hpp")
			arguments := []string{"ports/" + name + ".hpp"}
			for _, flags := range comment(t, program, "proxygen") {
				arguments = append(arguments, split(flags)...)
			}
			said := proxygen(t, proxy, arguments...)
			text, err := os.ReadFile(proxy)
			require.NoError(t, err)
			for _, line := range comment(t, program, "omitted") {
				require.Contains(t, said, line)
				require.Contains(t, string(text), "//     "+line)
			}
			if comment(t, program, "omitted") == nil {
				require.Empty(t, said)
			}
			require.NotContains(t, string(text), directory)
			golden := filepath.Join("golden", name+".hpp")
			if _, err := os.Stat(golden); err == nil && *reader == "" {
				if *update {
					require.NoError(t, os.WriteFile(golden, text, 0o600))
				}
				want, err := os.ReadFile(golden)
				require.NoError(t, err)
				require.Equal(t, string(want), string(text))
			}
			build(t, directory, program)
		})
	}
}

// build compiles a program with every compiler (small ones only in long tests), and runs it.
func build(t *testing.T, directory, program string, libraries ...string) {
	t.Helper()
	binary := filepath.Join(directory, "program")
	line := append(append([]string{}, strict...), "-I"+directory, "-Iports", "-I"+filepath.Dir(program), program)
	if harness.Long() || len(libraries) > 0 {
		out, err := exec.Command("clang++", append(line, "-fsyntax-only")...).CombinedOutput()
		require.NoError(t, err, "clang++ %s\n%s", strings.Join(line, " "), out)
	}
	out, err := exec.Command("g++", append(append(line, "-rdynamic", "-o", binary, "-ldl"), libraries...)...).CombinedOutput()
	require.NoError(t, err, "g++ %s\n%s", strings.Join(line, " "), out)
	command := exec.Command(binary)
	command.Dir = directory
	out, err = command.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// Interfaces that other people have written: the programs say which headers to proxy and what to link.
func TestLibraries(t *testing.T) {
	need(t, "clang++", "g++")
	programs, err := filepath.Glob("libraries/*.cpp")
	require.NoError(t, err)
	require.NotEmpty(t, programs)
	for _, program := range programs {
		t.Run(strings.TrimSuffix(filepath.Base(program), ".cpp"), func(t *testing.T) {
			t.Parallel()
			directory := t.TempDir()
			for _, line := range comment(t, program, "proxy") {
				fields := strings.Fields(line)
				if _, err := os.Stat(fields[1]); err != nil {
					harness.Missing(t, fields[1])
				}
				proxygen(t, filepath.Join(directory, fields[0]), fields[1:]...)
			}
			build(t, directory, program, comment(t, program, "link")...)
		})
	}
}

// split takes flags apart at blanks, but in single quotes.
func split(flags string) []string {
	var list []string
	for i, part := range strings.Split(flags, "'") {
		if i%2 == 1 {
			list = append(list, part)
		} else {
			list = append(list, strings.Fields(part)...)
		}
	}
	return list
}

// Proxies of families: who serves, on a clock that only the components move.
func TestFamilies(t *testing.T) {
	need(t, "clang++", "g++")
	for name, family := range map[string]string{"stateful": "solver", "stateless": "solver", "managed": "solver", "ruled": "solver", "volatile": "shaky"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			directory, program := t.TempDir(), filepath.Join("families", name+".cpp")
			arguments := []string{"families/" + family + ".hpp", "--families", "families/families.yaml", "--family", family}
			for _, flags := range comment(t, program, "proxygen") {
				arguments = append(arguments, split(flags)...)
			}
			proxygen(t, filepath.Join(directory, name+"_family.hpp"), arguments...)
			build(t, directory, program, "-ldl")
		})
	}
}
