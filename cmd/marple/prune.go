package main

import (
	"fmt"

	"github.com/goccy/go-json"
	"github.com/spf13/cobra"

	"marple/analysis/selection"
	"marple/analysis/selection/graph"
	"marple/analysis/selection/prune"
)

const pruneHelp = `Cuts off the branches of a call graph that do not matter, by the published rule: the children of a node go
together when the sum of their times is below --alpha of the node's; otherwise each child goes that is below
--beta of the mean of all of them. A branch goes with everything below it. Only components' nodes count as
children; MPI calls are part of their caller's time. If no node has a component, every node counts.

GRAPH is a run, or a JSON file (- for standard input) of nested objects, of which component, calls and
children may be missing:

    {"name": "rk2.Advance", "component": "rk2", "inclusive": 34411, "calls": 40, "children": [...]}

With --families, --at, --records or --choose the times are modelled (see marple select): at --at, for the
implementations that --choose names, else those that ran, else the first of each family.

Of a run, times are elapsed time with a core, the mean over its ranks; for how long ranks had none, the last line says.
Its nodes are components' methods, each below the methods that led to it, as in the published call graphs; with --by path
calls of a method from several places are several nodes, which may leave another core.

--format json prints the same objects without the pruned ones; of a run, times are nanoseconds.
With --sweep it prints a list of cores, the largest first: up_to (the greatest threshold with this core),
nodes, components, recovered (share of the root's time outside pruned branches) and leaving (names of the
nodes that the next core does not have).`

func pruneCommand() *cobra.Command {
	c := &cobra.Command{Use: "prune GRAPH", Short: "Reduce a call graph to the components that matter", Args: oneGraph, Long: pruneHelp}
	as := format(c, "text", "json", "dot", "svg")
	rule := thresholds(c)
	along := c.Flags().String("sweep", "", "show what every threshold leaves: both (α = β), alpha, or beta (the other stays)")
	c.Flags().Lookup("sweep").NoOptDefVal = string(prune.Both)
	families, sizes, by := familiesFlag(c), sizeFlags(c), byFlag(c)
	choose := c.Flags().StringSlice("choose", nil, "implementations, such as flux=efm, for modelled times")
	c.RunE = func(c *cobra.Command, arguments []string) error {
		if err := rule.check(); err != nil {
			return err
		}
		g, err := pruneGraph(arguments[0], *families, sizes, *by, *choose)
		if err != nil {
			return err
		}
		judged := prune.Judge(g.Root)
		var text string
		if c.Flags().Changed("sweep") {
			text, err = sweepText(judged, rule.Rule, *along, *as)
		} else {
			text, err = coreText(judged.Keep(rule.Rule), g, *as)
		}
		if err == nil {
			_, err = fmt.Fprint(c.OutOrStdout(), text)
		}
		return err
	}
	return c
}

// pruneGraph reads a call graph, with modelled times if there are families.
func pruneGraph(path, families string, s *sizes, by string, choose []string) (*graph.Graph, error) {
	if families == "" && len(s.at) == 0 && s.records == "" && len(choose) == 0 {
		return readGraph(path, by)
	}
	names, err := chosen(choose)
	if err != nil {
		return nil, err
	}
	g, plan, given, err := readQuestion(path, families, by, s)
	if err != nil {
		return nil, err
	}
	return selection.Modelled(selection.Question{Graph: g, Plan: plan, Given: given}, names)
}

// byFlag is what is one node.
func byFlag(c *cobra.Command) *string {
	return c.Flags().String("by", "", "what is one node: method (of a component, below the methods that call it) or path (default: method of a run; the nodes of a JSON call graph as they are)")
}

// readGraph reads a call graph with the nodes that are wanted.
func readGraph(path, by string) (*graph.Graph, error) {
	switch graph.By(by) {
	case graph.Method, graph.Path, "":
	default:
		return nil, usage("--by: %q: expected method or path", by)
	}
	g, err := graph.Read(path)
	if err != nil {
		return nil, err
	}
	if graph.By(by) == graph.Method || by == "" && g.Ranks > 0 {
		g = g.Grouped()
	}
	return g, nil
}

func oneGraph(c *cobra.Command, arguments []string) error {
	if len(arguments) != 1 {
		return usage("%s: expected one run directory or call graph", c.Name())
	}
	return nil
}

// ruleFlags is --alpha and --beta.
type ruleFlags struct{ prune.Rule }

func thresholds(c *cobra.Command) *ruleFlags {
	r := &ruleFlags{}
	c.Flags().Float64Var(&r.Alpha, "alpha", 0.1, "least share of the children together in their parent's time")
	c.Flags().Float64Var(&r.Beta, "beta", 0.1, "least ratio of a child's time to the mean of its siblings and it")
	return r
}

func (r *ruleFlags) check() error {
	for name, value := range map[string]float64{"alpha": r.Alpha, "beta": r.Beta} {
		if !(value >= 0 && value <= 1) {
			return usage("--%s: %v: expected a number from 0 to 1", name, value)
		}
	}
	return nil
}

func coreText(core *prune.Core, g *graph.Graph, as string) (string, error) {
	switch as {
	case "json":
		data, err := core.Tree().JSON()
		return string(data), err
	case "dot":
		return core.DOT(g), nil
	case "svg":
		return core.SVG(g), nil
	}
	return core.Text(g), nil
}

func sweepText(judged *prune.Node, rule prune.Rule, along, as string) (string, error) {
	switch prune.Along(along) {
	case prune.Both, prune.Alpha, prune.Beta:
	default:
		return "", usage("--sweep: %q: expected one of both, alpha, beta", along)
	}
	steps := judged.Sweep(rule, prune.Along(along))
	switch as {
	case "json":
		data, err := json.MarshalIndent(steps, "", " ")
		return string(data) + "\n", err
	case "text":
		return prune.SweepText(steps, prune.Along(along)), nil
	}
	return "", usage("--sweep: expected --format text or json")
}
