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
	f := selectFlags{as: format(c, "text", "json"), families: familiesFlag(c), sizes: sizeFlags(c), rule: thresholds(c), by: byFlag(c)}
	flags := c.Flags()
	flags.StringArrayVar(&f.limits, "limit", nil, "a limit, such as accuracy>=0.9, in place of the file's")
	flags.StringSliceVar(&f.q.Front, "front", nil, "qualities to show the front of time against")
	flags.IntVar(&f.q.Best, "best", 3, "how many of the best assemblies to find")
	flags.IntVar(&f.q.Draws, "draws", 1000, "draws of the models' errors, for the probability that the choice is right")
	flags.DurationVar(&f.q.Within, "within", 10*time.Second, "most time to search")
	flags.BoolVar(&f.script, "emit-rc", false, "print a script for Ccaffeine that makes and runs the assembly")
	flags.StringVar(&f.from, "from", "", "with --emit-rc: the script that was measured, of which all but the exchanged classes is kept")
	flags.BoolVar(&f.members, "emit-cpp", false, "print C++ classes that predict what the models do (needs no GRAPH)")
	flags.StringVar(&f.machine, "machine", "", "predict for another machine: a file of marple doctor --machine")
	flags.StringVarP(&f.out, "output", "o", "", "file to write to")
	c.Args = func(c *cobra.Command, arguments []string) error {
		if f.members && len(arguments) == 0 {
			return nil
		}
		return oneGraph(c, arguments)
	}
	c.RunE = f.run
	return c
}

// selectFlags are the flags of select.
type selectFlags struct {
	q                  selection.Question
	as, families, by   *string
	sizes              *sizes
	rule               *ruleFlags
	limits             []string
	script, members    bool
	from, machine, out string
}

func (f *selectFlags) run(c *cobra.Command, arguments []string) error {
	text, err := "", error(nil)
	if f.members {
		text, err = f.predictors()
	} else {
		text, err = f.choose(c, arguments[0])
	}
	if err != nil {
		return err
	}
	if f.out != "" {
		return run.WriteFile(f.out, []byte(text))
	}
	_, err = fmt.Fprint(c.OutOrStdout(), text)
	return err
}

// predictors are C++ classes that predict what the models do.
func (f *selectFlags) predictors() (string, error) {
	plan, err := readPlan(*f.families, nil)
	if err != nil {
		return "", err
	}
	if err := plan.Measure(""); err != nil {
		return "", err
	}
	return plan.Members()
}

// choose answers the question in the form that was asked for.
func (f *selectFlags) choose(c *cobra.Command, path string) (string, error) {
	if err := f.ask(path); err != nil {
		return "", err
	}
	doing(c, "choosing; at most %v (--within)", f.q.Within)
	a, err := selection.Select(c.Context(), f.q)
	if err != nil {
		return "", err
	}
	switch {
	case f.script && f.from != "":
		return scriptFrom(a, f.from)
	case f.script:
		return a.Script()
	case *f.as == "json":
		data, err := json.MarshalIndent(a.Selection, "", " ")
		return string(data) + "\n", err
	}
	return selection.Text(&a.Selection), nil
}

// ask makes the question of flags and a call graph.
func (f *selectFlags) ask(path string) (err error) {
	if err := f.rule.check(); err != nil {
		return err
	}
	if f.from != "" && !f.script {
		return usage("--from: expected together with --emit-rc")
	}
	if f.q.Best < 1 || f.q.Draws < 0 || f.q.Within <= 0 {
		return usage("--best, --draws, --within: expected numbers above 0")
	}
	if f.q.Graph, f.q.Plan, f.q.Given, err = readQuestion(path, *f.families, *f.by, f.sizes); err != nil {
		return err
	}
	if f.machine != "" {
		if f.q.Machine, err = machine.Read(f.machine); err != nil {
			return err
		}
	}
	f.q.Rule = f.rule.Rule
	for _, l := range f.limits {
		if err := f.q.Plan.Limit(l); err != nil {
			return usage("--limit: %v", err)
		}
	}
	for _, name := range f.q.Front {
		if _, err := f.q.Plan.Quality(name); err != nil {
			return usage("--front: %v", err)
		}
	}
	return nil
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
