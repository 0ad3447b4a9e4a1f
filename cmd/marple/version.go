package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"marple/cmd/launch"
)

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version, and which library would measure",
		Args: func(_ *cobra.Command, arguments []string) error {
			if len(arguments) > 0 {
				return usage("version: expected no arguments")
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error {
			library, err := launch.Library()
			if err != nil {
				library = err.Error()
			}
			fmt.Fprintf(c.OutOrStdout(), "marple %s (%s, %s/%s)\nlibrary %s\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH, library)
			return nil
		},
	}
}
