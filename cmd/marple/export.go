package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"marple/analysis/export"
)

func exportCommand() *cobra.Command {
	var names []string
	var table strings.Builder
	for _, f := range export.Formats {
		names = append(names, f.Name)
		fmt.Fprintf(&table, "    %-13s %-20s %s\n    %34s opened by %s\n", f.Name, f.File, f.Carries, "", f.Reader)
	}
	c := &cobra.Command{Use: "export --to FORMAT RUN...", Short: "Write a run in another tool's format",
		Long: "Writes a run, or a directory of TAU profiles, in the format of another tool:\n\n" + table.String() + `
Output goes to standard output, or to the file that -o names; formats that are directories need -o, and one that does
not exist yet. The Extra-P formats take several runs, which must differ in a parameter (marple exec --params) or in
the number of ranks. Characters that a format cannot carry are written as \x1b.`}
	to := c.Flags().String("to", "", "format: "+strings.Join(names, ", "))
	file := c.Flags().StringP("output", "o", "", "file or directory to write (default: standard output)")
	c.RunE = func(c *cobra.Command, arguments []string) error {
		f := export.FormatOf(*to)
		switch {
		case f == nil:
			return usage("--to: %q: expected one of %s", *to, strings.Join(names, ", "))
		case len(arguments) == 0 || len(arguments) > 1 && !f.Several():
			return usage("export: expected one run directory%s", map[bool]string{true: " or more"}[f.Several()])
		case f.Directory() && *file == "":
			return usage("--to %s writes several files: name a directory for them with -o", f.Name)
		case f.Binary() && *file == "" && isTerminal(c.OutOrStdout()):
			return usage("--to %s is not for terminals: name a file with -o, or redirect the output", f.Name)
		}
		out := bufio.NewWriter(c.OutOrStdout())
		note, err := f.Export(out, *file, arguments...)
		if err != nil {
			return err
		}
		if f.Logged() {
			tellMissingLogs(c.ErrOrStderr(), arguments[0])
		}
		if note != "" {
			fmt.Fprintf(c.ErrOrStderr(), "marple: %s\n", note)
		}
		return out.Flush()
	}
	return c
}

func isTerminal(w any) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
