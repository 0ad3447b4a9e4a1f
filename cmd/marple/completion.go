package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"
)

// shells, and what writes a completion script for each.
var shells = map[string]func(root *cobra.Command, out io.Writer) error{
	"bash": func(root *cobra.Command, out io.Writer) error { return root.GenBashCompletionV2(out, true) },
	"fish": func(root *cobra.Command, out io.Writer) error { return root.GenFishCompletion(out, true) },
	"zsh":  func(root *cobra.Command, out io.Writer) error { return root.GenZshCompletion(out) },
}

func completionCommand() *cobra.Command {
	names := slices.Sorted(maps.Keys(shells))
	return &cobra.Command{
		Use:   "completion " + strings.Join(names, "|"),
		Short: "Print a script that makes a shell complete marple's commands and flags",
		Long: `Prints a script for a shell; make install puts all three where the shells look for them. Without that:

    source <(marple completion bash)
    marple completion zsh > "${fpath[1]}/_marple"
    marple completion fish > ~/.config/fish/completions/marple.fish`,
		ValidArgs: names,
		Args: func(_ *cobra.Command, arguments []string) error {
			if len(arguments) != 1 || shells[arguments[0]] == nil {
				return usage("completion: expected one of %s", strings.Join(names, ", "))
			}
			return nil
		},
		RunE: func(c *cobra.Command, arguments []string) error {
			return shells[arguments[0]](c.Root(), c.OutOrStdout())
		},
	}
}

// directories makes shells complete run directories.
func directories(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// manCommand is for those who install or package Marple.
func manCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "man DIRECTORY",
		Short:  "Write a manual page for each command",
		Long:   "Writes marple.1 and a page for each command into a directory, from what --help prints.",
		Hidden: true,
		Args: func(_ *cobra.Command, arguments []string) error {
			if len(arguments) != 1 {
				return usage("man: expected one directory")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, arguments []string) error {
			if err := os.MkdirAll(arguments[0], 0o777); err != nil {
				return err
			}
			c := root()
			c.DisableAutoGenTag = true
			asMarkdown(c)
			header := &doc.GenManHeader{Source: "Marple " + version, Manual: "Marple"}
			if err := doc.GenManTree(c, header, arguments[0]); err != nil {
				return fmt.Errorf("man: %s: %w", filepath.Clean(arguments[0]), err)
			}
			return nil
		},
	}
}

// asMarkdown makes the texts of a command, and of those below it, say in Markdown what they say as they are.
func asMarkdown(c *cobra.Command) {
	lines := strings.Split(c.Long, "\n")
	for i, line := range lines {
		if !strings.HasPrefix(line, "    ") { // these are code
			lines[i] = markdown.Replace(line)
		}
	}
	c.Long = strings.Join(lines, "\n")
	c.Short = markdown.Replace(c.Short)
	use, rest, _ := strings.Cut(c.Use, " ")
	c.Use = strings.TrimSpace(use + " " + markdown.Replace(rest))
	c.Flags().VisitAll(func(f *pflag.Flag) { f.Usage = markdown.Replace(f.Usage) })
	for _, below := range c.Commands() {
		asMarkdown(below)
	}
}

var markdown = strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "`", "\\`", "<", `\<`, ">", `\>`, "[", `\[`, "]", `\]`, "#", `\#`, "|", `\|`)
