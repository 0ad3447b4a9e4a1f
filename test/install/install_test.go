// Package install tests what make install leaves: a tree that works wherever it is moved, for users who had no
// part in making it.
package install

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"marple/test/harness"
)

const program = `#include <marple.h>
int main(void)
{
    marple_region_begin("stir");
    for (volatile int i = 0; i < 10000000; i++)
        ;
    marple_region_end("stir");
    return 0;
}
`

// tool is a program of the system, or skips the test; a machine that calls itself CI has to have it.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		harness.Missing(t, name)
	}
	return path
}

// lmod is Debian's Lmod, as test/setup.sh unpacks it.
func lmod(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../../build/lmod/usr/share/lmod/lmod/libexec/lmod")
	require.NoError(t, err)
	if _, err := os.Stat(path); err != nil {
		harness.Missing(t, "build/lmod")
	}
	return path
}

// open is a temporary directory that everybody may look into.
func open(t *testing.T) string {
	t.Helper()
	directory, err := os.MkdirTemp("", "marple-install-")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(directory) })
	require.NoError(t, os.Chmod(directory, 0o777))
	return directory
}

// A distribution's Go has no licence in GOROOT.
func TestLicencesOfADistributionsGo(t *testing.T) {
	real, err := exec.LookPath("go")
	require.NoError(t, err)
	bin, root, out := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "licenses")
	script := "#!/bin/sh\n[ \"$*\" = \"env GOROOT\" ] && exec echo " + root + "\nexec " + real + " \"$@\"\n"
	require.NoError(t, os.WriteFile(filepath.Join(bin, "go"), []byte(script), 0o755))
	c := exec.Command("../../cmd/install/licenses", out)
	c.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
	text, err := c.CombinedOutput()
	require.NoError(t, err, "%s", text)
	licence, err := os.ReadFile(filepath.Join(out, "go", "LICENSE"))
	require.NoError(t, err)
	assert.Contains(t, string(licence), "The Go Authors")
}

// installed is a tree that was installed in one place and moved to another.
func installed(t *testing.T) string {
	t.Helper()
	top := open(t)
	staged, moved := filepath.Join(top, "staged"), filepath.Join(top, "elsewhere", "marple")
	out, err := exec.Command("make", "-C", "../..", "install", "DESTDIR="+staged, "PREFIX=/opt/marple").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.NoError(t, os.MkdirAll(filepath.Dir(moved), 0o777))
	require.NoError(t, os.Rename(filepath.Join(staged, "opt", "marple"), moved))
	return moved
}

// stranger runs a command as somebody else where that is allowed, in a directory of its own.
func stranger(t *testing.T, line string) (string, error) {
	t.Helper()
	command := exec.Command("sh", "-c", line)
	command.Dir = open(t)
	command.Env = []string{"PATH=/usr/bin:/bin", "HOME=/nonexistent"}
	if os.Getuid() == 0 {
		command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	out, err := command.CombinedOutput()
	return string(out), err
}

func output(t *testing.T, line string, environment ...string) string {
	t.Helper()
	command := exec.Command("sh", "-c", line)
	command.Env = append(os.Environ(), environment...)
	out, err := command.CombinedOutput()
	require.NoError(t, err, "%s: %s", line, out)
	return string(out)
}

func TestInstalled(t *testing.T) {
	tree := installed(t)
	source := filepath.Join(open(t), "stir.c")
	require.NoError(t, os.WriteFile(source, []byte(program), 0o666))
	plain, linked := strings.TrimSuffix(source, ".c"), strings.TrimSuffix(source, ".c")+"-linked"

	t.Run("pkg-config", func(t *testing.T) {
		tool(t, "pkg-config")
		path := "PKG_CONFIG_PATH=" + filepath.Join(tree, "lib", "pkgconfig")
		output(t, "cc "+source+" -o "+plain+" $(pkg-config --cflags marple) -ldl", path)
		output(t, "cc "+source+" -o "+linked+" $(pkg-config --cflags --libs marple)", path)
		assert.Regexp(t, `^\d+\.\d+`, output(t, "pkg-config --modversion marple", path))
		out, err := stranger(t, linked)
		require.NoError(t, err, out)
		assert.Contains(t, out, "Marple: stir-linked, 1 rank")
	})
	t.Run("models are frozen", func(t *testing.T) { // as the build has read them; see analysis/knowledge/freeze.go
		for _, built := range []string{"libmarple-core.so", "marple-commands"} {
			data, err := os.ReadFile(filepath.Join("../../build", built))
			require.NoError(t, err)
			assert.Contains(t, string(data), "pipeline, signs", built)
		}
	})
	t.Run("licences", func(t *testing.T) {
		list := output(t, `cd ../.. && go version -m build/marple build/libmarple-core.so | awk '$1 == "dep" { print $2 }'`)
		linked := append(strings.Fields(list), "marple", "go")
		require.Greater(t, len(linked), 10, list)
		for _, module := range linked {
			files, err := filepath.Glob(filepath.Join(tree, "share", "doc", "marple", "licenses", module, "[LCc][IOo][CPp]*")) // LICENSE, COPYING, Debian's copyright
			require.NoError(t, err)
			assert.NotEmpty(t, files, module)
		}
		out, err := stranger(t, "cat "+filepath.Join(tree, "share", "doc", "marple", "licenses", "marple", "LICENSE"))
		require.NoError(t, err, out)
	})
	t.Run("exec", func(t *testing.T) {
		tool(t, "pkg-config")
		out, err := stranger(t, filepath.Join(tree, "bin", "marple")+" exec --out run "+plain+" && "+filepath.Join(tree, "bin", "marple")+" callgraph run")
		require.NoError(t, err, out)
		assert.Contains(t, out, "Marple: stir, 1 rank")
		assert.Contains(t, out, "stir")
		assert.NotContains(t, out, "unmeasured")
	})
	t.Run("doctor", func(t *testing.T) {
		out, err := stranger(t, filepath.Join(tree, "bin", "marple")+" doctor true")
		require.NoError(t, err, out)
		assert.Regexp(t, `(?m)^ok .*core`, out)
	})
	t.Run("environment module", func(t *testing.T) {
		tool(t, "modulecmd")
		out := output(t, "modulecmd sh load marple 2>&1", "MODULEPATH="+filepath.Join(tree, "share", "modulefiles"))
		assert.Contains(t, out, "PATH="+filepath.Join(tree, "bin"))
		assert.Contains(t, out, "MARPLE_ROOT="+tree)
		out = output(t, "modulecmd sh whatis marple 2>&1", "MODULEPATH="+filepath.Join(tree, "share", "modulefiles"))
		assert.Contains(t, out, "why a parallel program is slow")
	})
	t.Run("Lmod", func(t *testing.T) {
		lmod := lmod(t)
		out := output(t, `bash -c 'eval "$(`+lmod+` bash load marple)" && command -v marple && echo $MARPLE_ROOT && `+lmod+` bash whatis marple 2>&1'`,
			"MODULEPATH="+filepath.Join(tree, "share", "modulefiles"), "HOME="+open(t))
		assert.True(t, strings.HasPrefix(out, filepath.Join(tree, "bin", "marple")+"\n"+tree+"\n"), out)
		assert.Contains(t, out, "why a parallel program is slow")
	})
	// The module of docs/site: who has it loaded is measured, for the site.
	t.Run("Lmod for all jobs", func(t *testing.T) {
		lmod, modules, spool := lmod(t), open(t), open(t)
		program := filepath.Join(modules, "results")
		output(t, tool(t, "mpicc.openmpi")+" -g -O1 ../apps/results.c -o "+program)
		require.NoError(t, os.Chmod(spool, 0o773|os.ModeSticky))
		module, err := os.ReadFile("../../docs/site/marple-site.lua")
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(modules, "marple-site.lua"), module, 0o666))
		for _, enable := range []string{"off", "on"} {
			out := output(t, `bash -c 'eval "$(`+lmod+` bash load marple-site)" && MARPLE_SPOOL=`+spool+` `+program+` 2>/dev/null; ls `+spool+` | wc -l'`,
				"MODULEPATH="+modules, "HOME="+open(t), "MARPLE_ROOT="+tree, "MARPLE_ENABLE="+enable, "OMPI_MCA_btl=^tcp")
			assert.Equal(t, map[string]string{"off": "the sum is 0\n0\n", "on": "the sum is 0\n1\n"}[enable], out)
		}
		assert.NotContains(t, output(t, `bash -c 'eval "$(`+lmod+` bash load marple-site)"; eval "$(`+lmod+` bash unload marple-site)"; env'`,
			"MODULEPATH="+modules, "HOME="+open(t), "MARPLE_ROOT="+tree), "libmarple")
	})
	// There is no PBS and no Apptainer in Debian: what the files of docs/site ask them for.
	t.Run("PBS", func(t *testing.T) {
		python := tool(t, "python3")
		directory := open(t)
		stub := `LOG_WARNING = 4
class Event:
    env = {"HOME": "/nonexistent", "PBS_JOBID": "12.server", "LD_PRELOAD": "/another/tool.so"}
    def accept(self):
        for name in sorted(self.env):
            print(name + "=" + self.env[name])
def event(): return Event()
def logmsg(level, text): print("logged:", text)
`
		require.NoError(t, os.WriteFile(filepath.Join(directory, "pbs.py"), []byte(stub), 0o666))
		hook, err := os.ReadFile("../../docs/site/pbs-launch-hook.py")
		require.NoError(t, err)
		site := filepath.Join(directory, "site.yaml")
		require.NoError(t, os.WriteFile(site, []byte("site: 1\nspool: /var/spool/marple\n"), 0o666))
		for _, root := range []string{tree, "/nowhere"} {
			text := strings.ReplaceAll(string(hook), "/opt/marple", root)
			text = strings.Replace(text, "env=variables", "env=variables | {'MARPLE_CONFIG': '"+site+"'}", 1)
			require.NoError(t, os.WriteFile(filepath.Join(directory, "hook.py"), []byte(text), 0o666))
			out := output(t, python+" "+filepath.Join(directory, "hook.py"))
			if root == "/nowhere" {
				assert.Contains(t, out, "logged: marple: ")
				assert.Contains(t, out, "LD_PRELOAD=/another/tool.so\n", "the job goes on as it was")
				continue
			}
			assert.NotContains(t, out, "logged:")
			assert.Regexp(t, `(?m)^LD_PRELOAD=.*/lib/libmarple\.so:/another/tool\.so$`, out)
			assert.Contains(t, out, "MARPLE_SITE=1\n")
		}
	})
	t.Run("Apptainer", func(t *testing.T) {
		out := output(t, `env -i PATH="$PATH" MARPLE_SITE=1 MARPLE_SPOOL='/var/spool/a b' APPTAINER_BIND=/scratch sh -eu -c '. ../../docs/site/apptainer.sh; env'`)
		assert.Contains(t, out, "APPTAINER_BIND=/scratch,/opt/marple:/opt/marple:ro,/var/spool/marple\n")
		assert.Contains(t, out, "APPTAINERENV_MARPLE_SITE=1\n")
		assert.Contains(t, out, "APPTAINERENV_MARPLE_SPOOL=/var/spool/a b\n")
		assert.Regexp(t, `(?m)^APPTAINERENV_LD_PRELOAD=/usr/\$LIB/.*/opt/marple/lib/libmarple\.so$`, out)
		assert.NotContains(t, out, "marple_")
	})
	t.Run("manual", func(t *testing.T) {
		pages, err := filepath.Glob(filepath.Join(tree, "share/man/man1/marple*.1"))
		require.NoError(t, err)
		assert.Greater(t, len(pages), 10)
		text := output(t, tool(t, "mandoc")+" -T utf8 "+filepath.Join(tree, "share/man/man1/marple-exec.1")+" | col -b")
		assert.Contains(t, text, "--keep-raw")
		assert.Contains(t, text, "MARPLE_CONFIG")
	})
	for shell, file := range map[string]string{
		"bash": "bash-completion/completions/marple",
		"zsh":  "zsh/site-functions/_marple",
		"fish": "fish/vendor_completions.d/marple.fish",
	} {
		t.Run(shell, func(t *testing.T) { output(t, tool(t, shell)+" -n "+filepath.Join(tree, "share", file)) })
	}
	t.Run("bash completes", func(t *testing.T) {
		// COMP_* and the call are what bash does when Tab is pressed.
		script := `. ` + filepath.Join(tree, "share/bash-completion/completions/marple") + `
COMP_WORDS=(marple rep) COMP_CWORD=1 COMP_LINE="marple rep" COMP_POINT=10
_get_comp_words_by_ref() { cur=rep prev=marple words=("${COMP_WORDS[@]}") cword=1; }
__start_marple; echo "${COMPREPLY[@]}"`
		command := exec.Command(tool(t, "bash"), "-c", script)
		command.Env = append(os.Environ(), "PATH="+filepath.Join(tree, "bin")+":"+os.Getenv("PATH"))
		out, err := command.CombinedOutput()
		require.NoError(t, err, "%s", out)
		assert.Contains(t, string(out), "report")
	})
}

// The recipe says what make understands.
func TestSpackRecipe(t *testing.T) {
	output(t, tool(t, "python3")+` - <<'END'
import sys, types
made = types.ModuleType("spack.package")
class MakefilePackage: pass
made.MakefilePackage = MakefilePackage
for name in ("license", "version", "variant", "depends_on"):
    setattr(made, name, lambda *a, **k: None)
made.__all__ = ["MakefilePackage", "license", "version", "variant", "depends_on"]
sys.modules["spack"] = types.ModuleType("spack")
sys.modules["spack.package"] = made
scope = {}
exec(open("../../cmd/install/package.py").read(), scope)
recipe = scope["Marple"]()
recipe.prefix, recipe.spec = "/opt/spack/marple", types.SimpleNamespace(version="main", satisfies=lambda spec: spec == "+otf2")
import subprocess
subprocess.run(["make", "-C", "../..", "-n", *recipe.build_targets, *recipe.install_targets], check=True, stdout=subprocess.DEVNULL)
END`)
}

// What a packager's compiler is, the build does not mind: here is one that warns of other things than the usual one.
func TestOtherCompiler(t *testing.T) {
	tool(t, "clang")
	build := t.TempDir()
	output(t, "make -C ../.. BUILD="+build+" CC=clang CFLAGS=-O0 "+build+"/libmarple.so")
}
