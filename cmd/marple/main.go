// Command marple is the command line: it sets up measured runs, and shows what was measured. It is thin:
// flags in, analysis called, output out.
//
// It may use analysis. Exit codes: 0 fine, 1 failed, 2 used wrongly.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
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
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args: func(c *cobra.Command, arguments []string) error {
			if len(arguments) > 0 {
				return usage("unknown command %q; see marple --help", arguments[0])
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usageError{fmt.Errorf("%w; see %s --help", err, c.CommandPath())}
	})
	c.AddCommand(exportCommand())
	c.AddCommand(execCommand(), reportCommand(), callgraphCommand(), waitsCommand(), timelineCommand(), invocationsCommand(), fitCommand(), pruneCommand(), selectCommand(),
		pageCommand(), serveCommand(), proxygenCommand(), assembleCommand(), assembleCommand(), dbCommand(), compareCommand(), recoverCommand(), doctorCommand(), diagnoseCommand(), knowledgeCommand(), completionCommand(), manCommand())
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
	var wrong usageError
	if errors.As(err, &wrong) {
		os.Exit(2)
	}
	os.Exit(1)
}
