// Command front is the program that is called marple. It is marple exec, which every rank of a job starts with, in a
// process that is small; for everything else it becomes the program of all commands, which lies beside it.
//
// It says nothing itself about how it was called: then the other one does.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"marple/cmd/launch"
)

const commands = "marple-commands"

func main() {
	if len(os.Args) < 3 || os.Args[1] != launch.Name || strings.HasPrefix(os.Args[2], cobra.ShellCompRequestCmd) {
		forward()
	}
	c := launch.Command(func(string) (map[string]string, error) { return nil, forward() }, func(string) error { return forward() })
	c.SilenceUsage, c.SilenceErrors = true, true
	c.SetHelpFunc(func(*cobra.Command, []string) { forward() })
	c.SetFlagErrorFunc(func(*cobra.Command, error) error { return forward() })
	c.SetArgs(os.Args[2:])
	err := c.Execute()
	if wrong := (launch.UsageError{}); errors.As(err, &wrong) {
		forward()
	}
	if err != nil {
		launch.Fail(err)
	}
}

// forward does not return: this process becomes that of all commands, or ends.
func forward() error {
	self, err := os.Executable()
	if err == nil {
		if real, err := filepath.EvalSymlinks(self); err == nil {
			self = real
		}
		self = filepath.Join(filepath.Dir(self), commands)
		err = syscall.Exec(self, os.Args, os.Environ())
	}
	fmt.Fprintf(os.Stderr, "marple: %s: %v; it belongs beside marple: install both\n", self, err)
	os.Exit(1)
	return nil
}
