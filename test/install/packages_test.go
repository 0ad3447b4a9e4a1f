package install

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"marple/test/harness"
)

// Each package is installed into a directory as its own tool does, and measures a program there.
func TestPackages(t *testing.T) {
	if !harness.Long() {
		return
	}
	source := filepath.Join(open(t), "stir.c")
	require.NoError(t, os.WriteFile(source, []byte(program), 0o666))
	plain := source[:len(source)-len(".c")]
	output(t, "cc -I ../../cshim/include "+source+" -o "+plain+" -ldl")
	for _, c := range []struct{ tool, target, install, prefix string }{
		{"tar", "dist", "tar -C $ROOT -xzf ../../build/marple-*-linux-*.tar.gz --strip-components 1", ""},
		{"dpkg", "deb", "mkdir -p $ROOT/var/lib/dpkg/info $ROOT/var/lib/dpkg/updates && touch $ROOT/var/lib/dpkg/status && " +
			"dpkg --root=$ROOT --force-not-root --force-depends --force-script-chrootless -i ../../build/marple_*.deb", "usr"},
		{"rpmbuild", "rpm", "rpm --root $ROOT --initdb && rpm --root $ROOT --nodeps -i ../../build/$(uname -m)/marple-*.rpm", "usr"},
	} {
		t.Run(c.target, func(t *testing.T) {
			tool(t, c.tool)
			root := open(t)
			output(t, "rm -rf ../../build/marple[-_]*.tar.gz ../../build/marple_*.deb ../../build/$(uname -m)/*.rpm; make -C ../.. "+c.target)
			output(t, c.install, "ROOT="+root)
			if c.target == "rpm" { // where another package has a directory with other rights, both cannot be installed
				for _, line := range strings.Split(output(t, "rpm -qp --queryformat '[%{FILEMODES:perms} %{FILENAMES}\n]' ../../build/$(uname -m)/marple-*.rpm"), "\n") {
					assert.True(t, !strings.HasPrefix(line, "d") || strings.Contains(line, "marple"), line)
				}
			}
			marple := filepath.Join(root, c.prefix, "bin", "marple")
			out, err := stranger(t, marple+" exec --out run "+plain+" && "+marple+" callgraph run && "+marple+" version")
			require.NoError(t, err, out)
			assert.Contains(t, out, "Marple: stir, 1 rank")
			assert.NotContains(t, out, "unmeasured")
		})
	}
}
