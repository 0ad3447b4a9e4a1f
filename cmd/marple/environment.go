package main

import (
	"cmp"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"marple/analysis/setting"
	"marple/cmd/launch"
)

// siteConfig is where a site's settings are if nobody says otherwise.
const siteConfig = "/etc/marple/site.yaml"

func environmentCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "environment",
		Short: "Print the variables that have all MPI programs of a job measured",
		Long: `Prints what marple exec would set, for a batch system to set it for whole jobs: lines NAME=VALUE after the word export, as
Slurm's TaskProlog takes them, or for a shell's eval. Settings come from ` + siteConfig + `, or from the file given with --config
or MARPLE_CONFIG; variables that are set already stay. Nothing is printed where MARPLE_ENABLE is off, or there is no such
file.

    site: 1                       # every job; 10: one in ten
    spool: /var/spool/marple      # where summaries go`,
		Args: cobra.NoArgs,
	}
	as := format(c, "slurm", "sh")
	config := c.Flags().String("config", "", "YAML file of settings (default: MARPLE_CONFIG, else "+siteConfig+")")
	c.RunE = func(c *cobra.Command, _ []string) error {
		file := cmp.Or(*config, os.Getenv("MARPLE_CONFIG"))
		if file == "" {
			file = siteConfig
			if _, err := os.Stat(file); os.IsNotExist(err) {
				return nil
			}
		}
		set, err := readConfig(file)
		if err != nil {
			return usage("%w", err)
		}
		if v, ok := os.LookupEnv("MARPLE_ENABLE"); ok {
			set["enable"] = v
		}
		if set["enable"] == "off" {
			return nil
		}
		library, err := launch.Library()
		if err != nil {
			return err
		}
		for _, line := range append(launch.Preload(nil, library), unset(set)...) {
			if strings.ContainsAny(line, "\n\r") {
				return usage("%s: a value has more than one line", file)
			}
			if *as == "sh" {
				name, value, _ := strings.Cut(line, "=")
				line = name + "='" + strings.ReplaceAll(value, "'", `'\''`) + "'"
			}
			fmt.Fprintf(c.OutOrStdout(), "export %s\n", line)
		}
		return nil
	}
	return c
}

// unset are settings as variables, but for those that are set already.
func unset(set map[string]string) (lines []string) {
	for _, s := range setting.Table {
		value, ok := set[s.Key]
		if _, there := os.LookupEnv(s.Variable()); ok && !there {
			lines = append(lines, s.Variable()+"="+value)
		}
	}
	return lines
}
