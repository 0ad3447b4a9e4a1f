package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"marple/analysis/diagnosis"
	"marple/analysis/knowledge"
	"marple/analysis/report"
)

func knowledgeCommand() *cobra.Command {
	c := &cobra.Command{Use: "knowledge", Short: "Look at, check and test what is known of parallel models",
		Long: `What Marple knows of parallel computational models stands in YAML files, one per model or composition. A file of
one's own is equal to the built-in ones: give it to marple diagnose with --model FILE.`,
		Args: func(_ *cobra.Command, arguments []string) error {
			if len(arguments) > 0 {
				return usage("knowledge: unknown command %q; see marple knowledge --help", arguments[0])
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() }}
	c.AddCommand(knowledgeList(), knowledgeShow(), knowledgeGraph(), knowledgeCheck(), knowledgeTest(), knowledgeLanguage())
	return c
}

func knowledgeList() *cobra.Command {
	c := &cobra.Command{Use: "list", Short: "List the built-in models and compositions",
		Args: func(_ *cobra.Command, arguments []string) error {
			if len(arguments) > 0 {
				return usage("knowledge list: expected no arguments, not %q", arguments[0])
			}
			return nil
		},
		Long: "Lists the built-in models and compositions. --format json prints name, title, about, models[] of each."}
	as := format(c, "text", "json")
	c.RunE = func(c *cobra.Command, _ []string) error {
		var all []*knowledge.Knowledge
		for _, name := range knowledge.Names() {
			k, err := knowledge.Library{}.Load(name)
			if err != nil {
				return err
			}
			all = append(all, k)
		}
		if *as == "json" {
			return printJSON(c.OutOrStdout(), report.KnowledgeList(all))
		}
		_, err := io.WriteString(c.OutOrStdout(), report.KnowledgeListText(all))
		return err
	}
	return c
}

// oneKnowledge makes cobra demand one model.
func oneKnowledge(c *cobra.Command, arguments []string) error {
	if len(arguments) != 1 {
		return usage("knowledge %s: expected one model, composition or YAML file", c.Name())
	}
	return nil
}

func knowledgeShow() *cobra.Command {
	c := &cobra.Command{Use: "show MODEL", Short: "Show what is known of a model", Args: oneKnowledge,
		Long: `Shows a model's components, abstract events, levels, rules, factors and advice. --source prints its file, from
which one of one's own can be made. --format json prints name, title, about, scopes[] (name, model, parent, into),
and nodes[] as marple knowledge graph does.`}
	as := format(c, "text", "json")
	source := c.Flags().Bool("source", false, "print the YAML file itself")
	c.RunE = func(c *cobra.Command, arguments []string) error {
		if *source {
			data, err := sourceOf(arguments[0])
			if err == nil {
				_, err = c.OutOrStdout().Write(data)
			}
			return err
		}
		k, err := loadKnowledge(arguments[0])
		if err != nil {
			return err
		}
		if *as == "json" {
			shown, err := report.Knowledge(k)
			if err != nil {
				return err
			}
			return printJSON(c.OutOrStdout(), shown)
		}
		text, err := report.KnowledgeText(k)
		if err == nil {
			_, err = io.WriteString(c.OutOrStdout(), text)
		}
		return err
	}
	return c
}

func sourceOf(name string) ([]byte, error) {
	if isFile(name) {
		return knowledge.ReadFile(name)
	}
	data, err := knowledge.Library{}.Source(name)
	if err != nil {
		return nil, usageError{Cause: err}
	}
	return data, nil
}

func knowledgeGraph() *cobra.Command {
	c := &cobra.Command{Use: "graph MODEL", Short: "Show the inference tree of a model or composition", Args: oneKnowledge,
		Long: `Shows which observations lead to which factors. Of a composition it shows the models' own trees or, with
--compose, the one tree that they were merged into, with the lines between delays that are waited for in another
model's component. --format json prints nodes[] (id, model, kind, title, level, from[], unless[], if[]) and links[]
(from, to, kind).`}
	as := format(c, "text", "json", "dot")
	compose := c.Flags().Bool("compose", false, "show the merged tree of a composition")
	c.RunE = func(c *cobra.Command, arguments []string) error {
		k, err := loadKnowledge(arguments[0])
		if err != nil {
			return err
		}
		pieces := []*knowledge.Knowledge{k}
		if !*compose {
			pieces = k.Apart()
		}
		for _, piece := range pieces {
			if *as == "json" {
				shown, err := report.Knowledge(piece)
				if err == nil {
					err = printJSON(c.OutOrStdout(), shown)
				}
				if err != nil {
					return err
				}
				continue
			}
			text, err := report.Tree(piece)
			if *as == "dot" {
				text, err = report.TreeDOT(piece)
			}
			if err == nil {
				_, err = io.WriteString(c.OutOrStdout(), text)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	return c
}

func knowledgeCheck() *cobra.Command {
	c := &cobra.Command{Use: "check FILE...", Short: "Check files of knowledge, and run scripts that test them",
		Long: `Checks YAML files of knowledge: names, units, cycles, rules that cannot be reached. What is wrong is printed with
file, line and column; what is only odd is a note. Files ending in .test are run: see marple knowledge test.`,
		Args: someFiles}
	c.RunE = func(c *cobra.Command, arguments []string) error {
		failed := 0
		for _, name := range arguments {
			if filepath.Ext(name) == ".test" {
				if err := testScript(c.OutOrStdout(), name); err != nil {
					fmt.Fprintln(os.Stderr, err)
					failed++
				}
				continue
			}
			k, err := loadKnowledge(name)
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				failed++
				continue
			}
			for _, note := range k.Notes {
				fmt.Fprintf(c.OutOrStdout(), "%s (note)\n", note.Error())
			}
			fmt.Fprintf(c.OutOrStdout(), "%s: ok: %s\n", name, report.Extent(k))
		}
		if failed > 0 {
			return fmt.Errorf("knowledge check: %d of %d files are not right", failed, len(arguments))
		}
		return nil
	}
	return c
}

func someFiles(c *cobra.Command, arguments []string) error {
	if len(arguments) == 0 {
		return usage("knowledge %s: expected files", c.Name())
	}
	return nil
}

func knowledgeTest() *cobra.Command {
	c := &cobra.Command{Use: "test FILE...", Short: "Run scripts that test knowledge",
		Long: `Runs scripts that say which conclusions must follow from which facts:

    knowledge master-worker
    case a master that computes
        given idle_share = 60 %
        given tasks_per_worker = 40
        given master_busy = 99 %
        given service_time = 100 µs
        holds slow-master
        rejects fine-grain because service_time
        unknown slow-start

  knowledge NAME               the model or composition; a name ending in .yaml is a file beside the script
  case TEXT                    begins a case
  given METRIC = QUANTITY      [SCOPE.]METRIC[(COMPONENT)], run.TOTAL, or cost(FACT) as a share of the core time;
                               metrics that are not given are unknown
  set THRESHOLD = QUANTITY     changes a threshold
  run PATH                     takes a stored run instead of given metrics
  holds, rejects, unknown      what must become of a fact; because METRIC or FACT: what must speak against it`,
		Args: someFiles}
	c.RunE = func(c *cobra.Command, arguments []string) error {
		failed := 0
		for _, name := range arguments {
			if err := testScript(c.OutOrStdout(), name); err != nil {
				fmt.Fprintln(os.Stderr, err)
				failed++
			}
		}
		if failed > 0 {
			return fmt.Errorf("knowledge test: %d of %d scripts failed", failed, len(arguments))
		}
		return nil
	}
	return c
}

func testScript(out io.Writer, name string) error {
	data, err := knowledge.ReadFile(name)
	if err != nil {
		return err
	}
	script, err := diagnosis.ParseScript(name, data)
	if err != nil {
		return err
	}
	if wrong := script.Run(knowledge.Library{Directory: filepath.Dir(name)}); len(wrong) > 0 {
		return wrong
	}
	if len(script.Cases) == 0 {
		return errors.New(name + ": no cases")
	}
	_, err = fmt.Fprintf(out, "%s: ok: %d %s\n", name, len(script.Cases), strings.TrimSuffix("cases", map[bool]string{true: "s"}[len(script.Cases) == 1]))
	return err
}

func knowledgeLanguage() *cobra.Command {
	c := &cobra.Command{Use: "language", Short: "List the functions of the expression language",
		Args: func(_ *cobra.Command, arguments []string) error {
			if len(arguments) > 0 {
				return usage("knowledge language: expected no arguments, not %q", arguments[0])
			}
			return nil
		},
		Long: `Lists every function that expressions in files of knowledge may use: what it takes, what it gives and in which
unit, and which measurements of a run it needs. --format json prints name, arguments[], gives, about, needs[] of each.`}
	as := format(c, "text", "json")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if *as == "json" {
			return printJSON(c.OutOrStdout(), knowledge.Language())
		}
		_, err := io.WriteString(c.OutOrStdout(), report.LanguageText(knowledge.Language()))
		return err
	}
	return c
}
