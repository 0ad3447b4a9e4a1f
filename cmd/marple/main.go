// Command marple is the command line: it sets up measured runs, and shows what was measured. It is thin:
// flags in, analysis called, output out.
//
// It may use analysis. Exit codes: 0 fine, 1 failed, 2 used wrongly, 3 slower than compare --fail-above allows; of exec the
// program's, or 127 and 126 where there is no such program, or it cannot be executed.
package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

// version is set by the build.
var version = "development"

// usageError is a mistake in how the command was called.
type usageError struct{ error }

func usage(format string, arguments ...any) error {
	return usageError{fmt.Errorf(format, arguments...)}
}

func root() *cobra.Command {
	c := &cobra.Command{
		Use:   "marple",
		Short: "Why is my parallel program slow, and what should I change?",
		Long: `Marple measures MPI programs as they are and says what holds them back.

    mpirun -n 8 marple exec ./app     measure a run; the report is printed when it ends
    marple report marple-app-1234     print it again`,
		Version:                    version,
		SuggestionsMinimumDistance: 2,
		SilenceUsage:               true,
		SilenceErrors:              true,
		Args: func(c *cobra.Command, arguments []string) error {
			if len(arguments) > 0 {
				return usage("unknown command %q%s; see marple --help", arguments[0], meant(c.SuggestionsFor(arguments[0])))
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usageError{fmt.Errorf("%w; see %s --help", err, c.CommandPath())}
	})
	c.AddCommand(exportCommand())
	c.AddCommand(execCommand(), reportCommand(), callgraphCommand(), waitsCommand(), whatifCommand(), timelineCommand(), invocationsCommand(), fitCommand(), pruneCommand(), selectCommand(),
		pageCommand(), serveCommand(), proxygenCommand(), assembleCommand(), dbCommand(), compareCommand(), recoverCommand(), doctorCommand(), environmentCommand(), diagnoseCommand(), knowledgeCommand(), completionCommand(), manCommand(), versionCommand())
	c.CompletionOptions.DisableDefaultCmd = true
	for _, command := range c.Commands() {
		if strings.Contains(command.Use, "RUN") {
			command.ValidArgsFunction = directories
		}
	}
	return c
}

func main() {
	c := root()
	end := withProgress(c)
	command, err := c.ExecuteContextC(context.Background())
	end()
	if err == nil {
		return
	}
	if command.Name() != execName || isFirst(localRanks) {
		fmt.Fprintf(os.Stderr, "marple: %v\n", err)
	} else {
		time.Sleep(time.Second) // one on each host says it for all, if the launcher does not end it first because of others
	}
	os.Exit(exitCode(command.Name(), err))
}

// meant offers what was perhaps meant.
func meant(suggestions []string) string {
	if len(suggestions) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(suggestions, " or ") + "?"
}

// exitCode is that of a command that failed. Of exec it is what shells give where a program cannot be started.
func exitCode(command string, err error) int {
	var wrong usageError
	var slower regression
	switch {
	case errors.As(err, &wrong):
		return 2
	case errors.As(err, &slower):
		return 3
	case command != execName:
		return 1
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return 127
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.ENOEXEC):
		return 126
	}
	return 1
}
