// Package lint keeps the rooms of the house apart: who may use whom is a table here, and nothing else.
package lint

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Stages of analysis, each of which may use those before it.
var stages = []string{"stat", "setting", "words", "files", "machine", "yaml", "formula", "plot", "pattern", "inference", "structure", "record", "mpi", "callgraph", "waitstate", "profile", "symbol", "names", "knowledge", "run", "proxygen", "whatif", "tauprofile", "series",
	"invocation/left", "invocation", "summary", "model", "diagnosis", "compare", "report", "selection/graph", "selection/prune", "selection/optimum", "selection", "assemble", "trace", "otf2", "pipeline", "export", "page", "store", ""}

// Libraries that a room may use beside Go's own.
var libraries = map[string][]string{
	"analysis": {"gonum.org/v1/gonum", "github.com/goccy/go-json", "github.com/goccy/go-yaml", "github.com/google/pprof/profile", "github.com/ianlancetaylor/demangle", "github.com/parquet-go/parquet-go", "github.com/expr-lang/expr"},
	"bridge":   {"github.com/mattn/go-pointer"},
	// The database's drivers are large, and nobody else's business.
	"analysis/store": {"modernc.org/sqlite", "github.com/jackc/pgx"},
	"cmd":            {"github.com/spf13/cobra", "github.com/spf13/pflag", "github.com/goccy/go-json", "github.com/goccy/go-yaml"},
}

// Generators run at build time and are part of nothing.
var generators = []string{"cshim/gen", "pmpi/gen", "bridge/gen", "analysis/run/schemagen", "analysis/knowledge/freeze", "analysis/analysistest", "analysis/model/modeltest",
	"analysis/store/storetest"}

type goPackage struct {
	ImportPath string
	Imports    []string
	CgoFiles   []string
}

func packages(t *testing.T) []goPackage {
	command := exec.Command("go", "list", "-json=ImportPath,Imports,CgoFiles", "./...")
	command.Dir = "../.."
	out, err := command.Output()
	require.NoError(t, err)
	var list []goPackage
	for d := json.NewDecoder(strings.NewReader(string(out))); d.More(); {
		var p goPackage
		require.NoError(t, d.Decode(&p))
		list = append(list, p)
	}
	return list
}

func TestGoRooms(t *testing.T) {
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, "marple/")
		room, stage, _ := strings.Cut(name, "/")
		if slices.Contains(generators, name) || room == "test" {
			continue
		}
		if room != "bridge" {
			require.Empty(t, p.CgoFiles, "%s: only the bridge speaks C", name)
		}
		for _, used := range p.Imports {
			switch {
			case used == "C" && room == "bridge":
			case used == "marple/cmd/launch" && room == "cmd":
			case strings.HasPrefix(used, "marple/analysis"):
				if room != "analysis" {
					break
				}
				theirs := strings.TrimPrefix(strings.TrimPrefix(used, "marple/analysis"), "/")
				mine, after := slices.Index(stages, stage), slices.Index(stages, theirs)
				require.GreaterOrEqual(t, mine, 0, "%s is no stage of analysis that is known here", name)
				require.Less(t, after, mine, "%s uses %s, which comes after it", name, used)
			case strings.HasPrefix(used, "marple/"):
				t.Errorf("%s uses %s: rooms meet in analysis only", name, used)
			case strings.Contains(used, "."):
				allowed := slices.ContainsFunc(slices.Concat(libraries[room], libraries[name]), func(l string) bool { return used == l || strings.HasPrefix(used, l+"/") })
				require.True(t, allowed, "%s uses %s, which is not on its list", name, used)
			}
		}
	}
}

// The core is loaded into programs that somebody else waits for, and each rank starts with marple exec: what they do not
// need must not be in them.
func TestWhatEachRankLoadsStaysSmall(t *testing.T) {
	database := append(libraries["analysis/store"], "marple/analysis/store", "marple/analysis/export")
	for room, without := range map[string][]string{"bridge": database, "cmd/front": append(database, libraries["analysis"]...)} {
		command := exec.Command("go", "list", "-deps", "./"+room)
		command.Dir = "../.."
		out, err := command.Output()
		require.NoError(t, err)
		for _, used := range strings.Fields(string(out)) {
			for _, large := range without {
				require.False(t, used == large || strings.HasPrefix(used, large+"/"), "%s needs %s", room, used)
			}
		}
	}
}

var include = regexp.MustCompile(`(?m)^#include ([<"])([^>"]+)[>"]`)

// The shim is libc only, and knows nothing of MPI; pmpi knows the shim.
func TestCRooms(t *testing.T) {
	for room, mayInclude := range map[string][]string{
		"cshim": {"cshim", "cshim/include"}, "cshim/include": {"cshim/include"}, "cshim/adapters": {"cshim", "cshim/adapters", "cshim/include"}, "pmpi": {"pmpi", "cshim"}, "cshim/posix": {"cshim/posix", "cshim"},
	} {
		for _, pattern := range []string{"*.c", "*.h", "*.hpp"} {
			files, err := filepath.Glob(filepath.Join("../..", room, pattern))
			require.NoError(t, err)
			for _, file := range files {
				text, err := os.ReadFile(file)
				require.NoError(t, err)
				for _, m := range include.FindAllStringSubmatch(string(text), -1) {
					if m[1] == "<" {
						require.NotContains(t, m[2], "mpi", "%s: handles are opaque here, there is no mpi.h", file)
						continue
					}
					if strings.HasSuffix(m[2], ".gen.h") {
						continue
					}
					target, err := filepath.Rel("../..", filepath.Join("../..", room, m[2]))
					require.NoError(t, err)
					require.Contains(t, mayInclude, filepath.Dir(target), "%s includes %s", file, m[2])
				}
			}
		}
	}
}

// What one must not find in any file: see the house rules.
func TestFilesSpeakOfTheProjectOnly(t *testing.T) {
	command := exec.Command("git", "ls-files", "-z")
	command.Dir = "../.."
	out, err := command.Output()
	if err != nil {
		t.Skip("not a git checkout: there is no list of files")
	}
	bad := regexp.MustCompile(`(^|["\s=(])/(w` + `ork|ho` + `me)/|\b(TO` + `DO|FIX` + `ME|X` + `XX)\b`)
	for _, file := range strings.Split(strings.TrimRight(string(out), "\x00"), "\x00") {
		switch filepath.Ext(file) {
		case ".go", ".c", ".h", ".hpp", ".md", ".sh", ".txt", "":
		default:
			continue
		}
		text, err := os.ReadFile(filepath.Join("../..", file))
		if err != nil {
			continue // removed, and not yet committed
		}
		require.Empty(t, bad.FindString(string(text)), file)
	}
}

var link = regexp.MustCompile(`[^\[]\]\(([^)#:]+)(#[^)]*)?\)`) // and no lambda of C++

// The first page stays one that is read, and links lead somewhere.
func TestManual(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	require.LessOrEqual(t, strings.Count(string(text), "\n"), 150, "README.md is for what one needs first; the rest is in docs/")
	var pages []string
	for _, pattern := range []string{"*.md", "docs/*.md", "examples/*.md", "examples/*/*.md"} {
		files, err := filepath.Glob(filepath.Join("../..", pattern))
		require.NoError(t, err)
		pages = append(pages, files...)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			_, err := os.Stat(filepath.Join(filepath.Dir(page), m[1]))
			require.NoError(t, err, "%s: a link to %s", page, m[1])
		}
	}
}
