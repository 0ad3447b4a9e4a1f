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
	"os"
	"strings"

	"github.com/spf13/cobra"

	"marple/analysis/knowledge"
	"marple/cmd/launch"
)

// version is set by the build.
var version = "development"

type usageError = launch.UsageError

var usage = launch.Usage

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
				return usage("unknown command %q%s; see marple --help", arguments[0], launch.Meant(c.SuggestionsFor(arguments[0])))
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usageError{Cause: fmt.Errorf("%w; see %s --help", err, c.CommandPath())}
	})
	c.AddCommand(exportCommand())
	c.AddCommand(execCommand(), reportCommand(), callgraphCommand(), waitsCommand(), whatifCommand(), timelineCommand(), invocationsCommand(), fitCommand(), pruneCommand(), selectCommand(),
		pageCommand(), serveCommand(), proxygenCommand(), assembleCommand(), dbCommand(), compareCommand(), recoverCommand(), importCommand(), doctorCommand(), environmentCommand(), diagnoseCommand(), knowledgeCommand(), completionCommand(), manCommand(), versionCommand())
	c.CompletionOptions.DisableDefaultCmd = true
	for _, command := range c.Commands() {
		if strings.Contains(command.Use, "RUN") {
			command.ValidArgsFunction = directories
		}
	}
	return c
}

func execCommand() *cobra.Command {
	c := launch.Command(readConfig, func(directory string) error { return knowledge.Library{Directory: directory}.Check() })
	c.Annotations = endless
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
	if command.Name() == launch.Name {
		launch.Fail(err)
	}
	fmt.Fprintf(os.Stderr, "marple: %v\n", err)
	os.Exit(exitCode(err))
}

func exitCode(err error) int {
	var wrong usageError
	var slower regression
	switch {
	case errors.As(err, &wrong):
		return 2
	case errors.As(err, &slower):
		return 3
	}
	return 1
}
