package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/goccy/go-json"
	"github.com/spf13/cobra"

	"marple/analysis/machine"
	"marple/analysis/proxygen"
	"marple/analysis/run"
	"marple/analysis/selection"
	"marple/analysis/selection/graph"
)

const selectHelp = `Chooses, for families of interchangeable implementations, the assembly that takes least time. The time is that
of the call graph, in which each implementation is replaced by what its model says; what the rule of marple
prune finds insignificant may be any implementation. The search is exact; where it is stopped by --within, the
gap is given.

Problem sizes are those that were recorded: with the invocations of a run's components, as "sizes" of a JSON call
graph's nodes ([{"calls": 3, "at": {"n": 100}}]), or with marple exec --params. What they do not say, the file
says; --at and --records count more than both.

The file of families (YAML); a program may also declare parts of it, with marple_families in marple.h:

    unit: ms                           # of all times here and in a JSON call graph: s, ms, us, ns
    sizes: {n: 1000, x: {from: 1, to: 10}, q: [10, 20, 20]}   # a value, a range, or values that were met
    records: sizes.csv                 # problem sizes that were met: component, name, calls, parameters…
    machine: {clock: 2.8}              # parameters that are the machine's; or a file of marple doctor --machine
    families:
      flux:
        components: [flux1, flux2]     # its instances in the call graph; default: the family's name, or
                                       # components of its implementations' classes
        bound: yes                     # default: all instances take the same implementation
        implementations:
          efm:
            time: 0.16*q               # of one invocation, without the components it calls
                                       # or model: {file: fit.json, name: efm.compute}, from marple fit -o
            deviation: 0.02*q          # standard deviation from one invocation to the next
            error: 0.001*q             # standard error of time
            methods: {compute: {time: 2*n}}   # instead of time, or where a method differs
            inclusive: no              # yes: time includes the components it calls
            measured: no               # yes: it is the one that ran, and its time is the measured one
            fit: no                    # yes: it is the one that ran; model the records of its invocations.
                                       # With measured: yes, unless there are too few
            layout: rows
            class: EFMFlux             # for scripts; and what ran as another one's class, did not run as this
            qualities: {accuracy: 0.7}        # or measured: the mean of what invocations have reported with
                                       # marple_quality, in this run or in {run: DIRECTORY, component: NAME}
          godunov: {time: 0.315*q, layout: columns, qualities: {accuracy: 0.95}}
    interactions:                      # beside both sides' own time, for each call
      - {caller: mesh.amr, callee: flux.efm, time: 1e-3*q}     # family.implementation, family or component
      - {caller: mesh, callee: flux.godunov, forbidden: yes}
    layouts: {driver: rows}            # of components without a family
    translations:                      # between layouts of caller and callee
      - {from: rows, to: columns, time: 2e-6*n}
    qualities:
      accuracy: {rule: min, at_least: 0.8}    # min, product or sum over instances; at_least, at_most; better: lower
    assembly:                          # for --emit-rc without --from, the script that was measured
      setup: [path set /opt/cca/lib]
      instances: {driver: ShockDriver}
      connections: [driver Flux flux1 Flux]   # user, uses port, provider, provides port
      go: driver GoPort

With --machine the choice and its time are those of another machine, by models of runs on several (marple fit RUN... -o FILE); its range
holds what such machines were missed by. What has no model counts as measured, which a note says. Models that cannot tell are
refused: of one machine, of machines far from this one, or of machines that do not show what the time goes by.

Expressions know + - * / ^, exp, log, log2, log10, sqrt, min, max, if(condition, then, else).

--format json prints an object with the fields of "selection" in the schema that marple report --schema prints:
time (expected, seconds), fixed and pruned (parts of it that were measured), proven, bound, choices, core, models,
others (the next best, and what they change), fronts, across (the best by the value of the only range), quality,
measured_qualities, spread, ranges, notes, method and duration.`

func selectCommand() *cobra.Command {
	c := &cobra.Command{Use: "select GRAPH", Short: "Choose the implementations that take least time", Args: oneGraph, Long: selectHelp}
	as := format(c, "text", "json")
	q := selection.Question{}
	families, sizes, rule, by := familiesFlag(c), sizeFlags(c), thresholds(c), byFlag(c)
	limits := c.Flags().StringArray("limit", nil, "a limit, such as accuracy>=0.9, in place of the file's")
	c.Flags().StringSliceVar(&q.Front, "front", nil, "qualities to show the front of time against")
	c.Flags().IntVar(&q.Best, "best", 3, "how many of the best assemblies to find")
	c.Flags().IntVar(&q.Draws, "draws", 1000, "draws of the models' errors, for the probability that the choice is right")
	c.Flags().DurationVar(&q.Within, "within", 10*time.Second, "most time to search")
	script := c.Flags().Bool("emit-rc", false, "print a script for Ccaffeine that makes and runs the assembly")
	from := c.Flags().String("from", "", "with --emit-rc: the script that was measured, of which all but the exchanged classes is kept")
	members := c.Flags().Bool("emit-cpp", false, "print C++ classes that predict what the models do (needs no GRAPH)")
	elsewhere := c.Flags().String("machine", "", "predict for another machine: a file of marple doctor --machine")
	out := c.Flags().StringP("output", "o", "", "file to write to")
	write := func(text string) error {
		if *out != "" {
			return run.WriteFile(*out, []byte(text))
		}
		_, err := fmt.Fprint(c.OutOrStdout(), text)
		return err
	}
	c.Args = func(c *cobra.Command, arguments []string) error {
		if *members && len(arguments) == 0 {
			return nil
		}
		return oneGraph(c, arguments)
	}
	c.RunE = func(c *cobra.Command, arguments []string) error {
		if *members {
			plan, err := readPlan(*families, nil)
			if err != nil {
				return err
			}
			if err := plan.Measure(""); err != nil {
				return err
			}
			text, err := plan.Members()
			if err != nil {
				return err
			}
			return write(text)
		}
		if err := rule.check(); err != nil {
			return err
		}
		if *from != "" && !*script {
			return usage("--from: expected together with --emit-rc")
		}
		if q.Best < 1 || q.Draws < 0 || q.Within <= 0 {
			return usage("--best, --draws, --within: expected numbers above 0")
		}
		var err error
		if q.Graph, q.Plan, q.Given, err = readQuestion(arguments[0], *families, *by, sizes); err != nil {
			return err
		}
		if *elsewhere != "" {
			if q.Machine, err = machine.Read(*elsewhere); err != nil {
				return err
			}
		}
		q.Rule = rule.Rule
		for _, l := range *limits {
			if err := q.Plan.Limit(l); err != nil {
				return usage("--limit: %v", err)
			}
		}
		for _, name := range q.Front {
			if _, err := q.Plan.Quality(name); err != nil {
				return usage("--front: %v", err)
			}
		}
		doing(c, "choosing; at most %v (--within)", q.Within)
		a, err := selection.Select(c.Context(), q)
		if err != nil {
			return err
		}
		text := ""
		switch {
		case *script && *from != "":
			text, err = scriptFrom(a, *from)
		case *script:
			text, err = a.Script()
		case *as == "json":
			var data []byte
			data, err = json.MarshalIndent(a.Selection, "", " ")
			text = string(data) + "\n"
		default:
			text = selection.Text(&a.Selection)
		}
		if err != nil {
			return err
		}
		return write(text)
	}
	return c
}

// scriptFrom is the script of the chosen assembly, made of another's.
func scriptFrom(a *selection.Answer, path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	s, err := proxygen.ParseScript(path, string(text))
	if err != nil {
		return "", err
	}
	return a.ScriptFrom(s)
}

func familiesFlag(c *cobra.Command) *string {
	return c.Flags().String("families", "", "file of families, in YAML (default: what the program has declared)")
}

// sizes are --at and --records.
type sizes struct {
	at      []string
	records string
}

func sizeFlags(c *cobra.Command) *sizes {
	s := &sizes{}
	c.Flags().StringSliceVar(&s.at, "at", nil, "problem size, such as n=1000 or n=100..1000, in place of what was recorded")
	c.Flags().StringVar(&s.records, "records", "", "problem sizes that were met (CSV), in place of what was recorded")
	return s
}

// readPlan reads the file of families or, if there is none, what the program has declared.
func readPlan(families string, declared []string) (*selection.Plan, error) {
	if families == "" && len(declared) == 0 {
		return nil, usage("--families: expected a file of models; marple select --help tells what it says")
	}
	return selection.PlanOf(families, declared)
}

func readQuestion(path, families, by string, s *sizes) (g *graph.Graph, p *selection.Plan, given selection.Sizes, err error) {
	for _, text := range s.at {
		if err := given.ParseSize(text); err != nil {
			return nil, nil, given, usage("--at: %v", err)
		}
	}
	if g, err = readGraph(path, by); err != nil {
		return nil, nil, given, err
	}
	if p, err = readPlan(families, g.Families); err != nil {
		return nil, nil, given, err
	}
	invocations, err := selection.Invocations(path)
	if err != nil {
		return nil, nil, given, err
	}
	if err := p.Fit(invocations); err != nil {
		return nil, nil, given, err
	}
	if err := p.Measure(path); err != nil {
		return nil, nil, given, err
	}
	given.Records = selection.Recorded(invocations)
	if s.records != "" {
		given.Records, err = selection.ReadRecords(s.records)
	}
	return g, p, given, err
}

// chosen reads family=implementation.
func chosen(list []string) (map[string]string, error) {
	names := map[string]string{}
	for _, text := range list {
		family, implementation, ok := strings.Cut(text, "=")
		if !ok {
			return nil, usage("--choose: %q: expected family=implementation", text)
		}
		names[family] = implementation
	}
	return names, nil
}
