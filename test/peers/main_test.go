// Package peers tests Marple together with other tools as they are: the real TAU, and the programs that read what Marple
// exports. They are built by test/peers.sh into build/peers; where there is nothing to build them from, tests are
// skipped, unless CI=1.
package peers

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"marple/test/harness"
)

var top, build, peers string

func TestMain(m *testing.M) {
	if err := prepare(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func prepare() (err error) {
	harness.Settle()
	if top, err = filepath.Abs("../.."); err != nil {
		return err
	}
	if build = os.Getenv("MARPLE_BUILD"); build == "" {
		build = filepath.Join(top, "build")
		if out, err := exec.Command("make", "-C", top, "build").CombinedOutput(); err != nil {
			return fmt.Errorf("make build: %w\n%s", err, out)
		}
	}
	build, err = filepath.Abs(build)
	peers = filepath.Join(top, "build", "peers")
	return err
}

// peer is a file of another tool, which is built first if it is not there.
func peer(t *testing.T, tool, name string) string {
	t.Helper()
	out, err := exec.Command(filepath.Join(top, "test", "peers.sh"), tool).CombinedOutput()
	require.NoError(t, err, "%s", out)
	path := filepath.Join(peers, name)
	if _, err := os.Stat(path); err != nil {
		missing(t, tool)
	}
	return path
}

// command is one of the system's; the test is skipped without it.
func command(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		missing(t, name)
	}
	return path
}

func missing(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("CI") == "1" {
		t.Fatalf("%s is not there, and CI=1", what)
	}
	t.Skipf("%s is not there", what)
}

// run runs a command in a directory and gives what it printed, stdout first. It must end with this code.
func run(t *testing.T, directory string, code int, environment []string, arguments ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, arguments[0], arguments[1:]...)
	c.Dir = directory
	c.Env = append(append(os.Environ(), "OMPI_MCA_rmaps_base_oversubscribe=1", "MARPLE_FULL=on"), environment...)
	c.WaitDelay = 10 * time.Second
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	err := c.Run()
	if code == 0 {
		require.NoError(t, err, "%v\n%s%s", arguments, &stdout, &stderr)
	}
	require.Equal(t, code, c.ProcessState.ExitCode(), "%v\n%s%s", arguments, &stdout, &stderr)
	return stdout.String() + stderr.String()
}
