package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-json"
	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"marple/analysis/files"
	"marple/analysis/proxygen"
	"marple/analysis/run"
	"marple/analysis/selection"
	bounded "marple/analysis/yaml"
)

// proxyConfig is the file that --config of proxygen names.
type proxyConfig struct {
	Ports        []string                 `yaml:"ports"`
	PerComponent bool                     `yaml:"per-component"`
	Component    string                   `yaml:"component"`
	Components   map[string]string        `yaml:"components"` // by port
	Parameters   map[string]yaml.MapSlice `yaml:"parameters"` // by method: name: expression
	Skip         []string                 `yaml:"skip"`
	Include      []string                 `yaml:"include"`
}

func proxygenCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "proxygen [flags] HEADER... [-- COMPILER-FLAGS]",
		Short: "Write C++ proxies that record the calls of component ports",
		Long: `Writes, for each port class, a class of the same interface that forwards every call to the component behind
it and records it: wall time, time in MPI, parameters. The component's source is not needed.

    marple proxygen flux.hpp --port euler::FluxPort -o flux_proxy.hpp -- -Iinclude

    #include "flux_proxy.hpp"
    euler::FluxPortProxy proxy(flux);      // give this to whoever uses the port

The proxy of ns::Class is ns::ClassProxy. It compiles as C++17 with marple.hpp, and costs next to nothing when
the program does not run under Marple. Without --port, proxies are written of all abstract classes that HEADER
defines. What cannot be proxied is listed, with the reason, on stderr and at the end of the text.

Recorded are, if nothing else is said, all integers among the arguments and the sizes of containers. --param
names what to record of a method instead, as C++ expressions of its arguments.

The file given with --config may hold all this as YAML:

    ports: [euler::FluxPort, euler::MeshPort]
    component: Flux
    parameters:
      compute: {n: size*2, level: mesh.level()}
    skip: [reset]

With --mastermind it does all that a whole assembly of CCA components needs to be measured: it reads its script for
Ccaffeine and writes into the directory of -o, for each port that is connected or started there, a component that
stands before it and tells the Mastermind's MonitorPort of each call; and the script with these in between. HEADERs,
or directories of them, define the ports' classes. A port is of the class of its name (flux: Flux or FluxPort);
--port says so of others, with the type that the components give it if that is neither Class::type nor the class's
name, and --component what records call a class of components:

    marple proxygen --mastermind assembly.rc -o measured --port bc=euler::BoundaryPort --component EFMFlux=efm ports/ cca.h

With --family the proxy holds all implementations of a family of the file of families (see marple select --help) behind
one port, and exchanges them while the program runs:

    marple proxygen flux.hpp --families flux.yaml --family flux --policy trial --stateless -o flux_family.hpp

    #include "flux_family.hpp"
    euler::FluxPortFamily proxy({efm, godunov});   // in the file's order

--policy says who serves: fixed:NAME; model, whose model predicts the least time for the call's parameters; trial,
who has taken least time so far, by powers of two of the parameters. Implementations that the limits of qualities in
the file leave out never serve. With --stateless each call is served by its own; without, one implementation serves
until the application says proxy.marple_quiet(), and state that is marple::migratable moves to the next one. With --agree
it says proxy.marple_quiet(sum) instead, on all ranks at once, and all take the same one. See marple_optimizer.hpp.

With --rules the policy is rules: those of a component manager choose who serves and set or tune the parameters of components that
are marple::tunable, those of a composition manager say who provides the port:

    manager: component
    family: flux
    thresholds: {large: 1000, small: 800, slow: 50 µs}
    told: {error: count}
    rules:
      - {rule: large, when: n >= large, until: n < small, for: 3, then: {migrate: godunov, set: {order: 2}}}
      - {rule: poor, when: error > 0.1, priority: 1, then: {select: efm}}
      - {rule: block, when: serving.efm, then: {tune: {parameters: block, policy: simplex, calls: 8}}}

Conditions are over parameters of calls, time_per_call, calls_since_change, failures, imbalance (with --agree), what the component says
by proxy.marple_tell(name, value), setting.NAME and serving.NAME. Rules that can be on at once and want different things need
priorities. See docs/components.md and marple_rules.hpp.

clang reads the header (apt-get install clang).`,
		Args: func(c *cobra.Command, arguments []string) error {
			n := c.ArgsLenAtDash()
			if n < 0 {
				n = len(arguments)
			}
			if n == 1 || n > 1 && c.Flags().Changed("mastermind") {
				return nil
			}
			return usage("proxygen: which header? expected: marple proxygen [flags] HEADER [-- COMPILER-FLAGS]; several with --mastermind")
		},
	}
	o := proxyFlags{as: format(c, "text", "json")}
	flags := c.Flags()
	flags.StringArrayVar(&o.ports, "port", nil, "class to write a proxy of: ns::Class (may be repeated)")
	flags.BoolVar(&o.perComponent, "per-component", false, "write also one class that is all proxies at once")
	flags.StringArrayVar(&o.component, "component", nil, "name of the component in the records (default: the port's); with --mastermind CLASS=NAME (may be repeated)")
	flags.StringArrayVar(&o.scripts, "mastermind", nil, "script of an assembly to put proxies into that use the Mastermind (may be repeated)")
	flags.StringArrayVar(&o.parameters, "param", nil, "what to record of a method: METHOD:NAME=EXPRESSION (may be repeated)")
	flags.StringArrayVar(&o.skip, "skip", nil, "method to forward without recording it (may be repeated)")
	flags.StringArrayVar(&o.include, "include", nil, "header to include before HEADER (may be repeated)")
	flags.StringVar(&o.families, "families", "", "file of families, in YAML, that --family is in")
	flags.StringVar(&o.family, "family", "", "write the proxy of a family, which exchanges its implementations")
	flags.StringVar(&o.policy, "policy", "trial", "with --family: who serves at first: fixed:NAME, model, trial or rules")
	flags.StringVar(&o.rules, "rules", "", "with --family: file of rules, in YAML, by which it is managed; the policy is rules then, unless --policy says otherwise")
	flags.BoolVar(&o.stateless, "stateless", false, "with --family: implementations have no state, and each call is served by its own")
	flags.BoolVar(&o.agree, "agree", false, "with --family: ranks take the same implementation")
	flags.StringVar(&o.config, "config", "", "YAML file with the same settings")
	flags.StringVar(&o.compiler, "clang", "", "clang to read the header with (default: the first one found)")
	flags.StringVarP(&o.out, "output", "o", "", "file to write (default: standard output); with --mastermind a directory")
	c.RunE = o.run
	return c
}

// proxyFlags are the flags of proxygen.
type proxyFlags struct {
	ports, component, scripts, parameters, skip, include   []string
	families, family, policy, rules, config, compiler, out string
	perComponent, stateless, agree                         bool
	as                                                     *string
}

func (f *proxyFlags) run(c *cobra.Command, arguments []string) error {
	headers := len(arguments)
	if n := c.ArgsLenAtDash(); n >= 0 {
		headers = n
	}
	o, err := f.options(arguments[0], arguments[headers:])
	if err != nil {
		return err
	}
	if o.Family, err = f.exchange(c, o); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt)
	defer stop()
	if len(f.scripts) > 0 {
		if f.out == "" {
			return usage("--mastermind: which directory? give it with -o")
		}
		a := proxygen.Assembly{Options: o, Headers: arguments[:headers], Scripts: f.scripts, Directory: f.out}
		return assembly(ctx, c, a, f.component, *f.as)
	}
	for i, text := range o.Ports { // in a file for both, a port may have its name before it
		if _, t, err := proxygen.ParsePortType(text); err == nil {
			o.Ports[i] = t.Class
		}
	}
	if len(f.component) > 1 {
		return usage("--component: given %d times; only --mastermind has several", len(f.component))
	} else if len(f.component) == 1 {
		o.Component = f.component[0]
	}
	result, err := proxygen.Generate(ctx, o)
	var wrong proxygen.UsageError
	if errors.As(err, &wrong) {
		return usageError{Cause: err}
	} else if err != nil {
		return err
	}
	return f.write(c, result)
}

// options are those of the file and of the flags together.
func (f *proxyFlags) options(header string, compiler []string) (proxygen.Options, error) {
	o := proxygen.Options{Header: header, Flags: compiler, Clang: f.compiler}
	if f.config != "" {
		if err := readProxyConfig(f.config, &o); err != nil {
			return o, usageError{Cause: err}
		}
	}
	o.Ports = append(o.Ports, f.ports...)
	o.PerComponent = o.PerComponent || f.perComponent
	o.Skip = append(o.Skip, f.skip...)
	o.Include = append(o.Include, f.include...)
	for _, text := range f.parameters {
		p, err := proxygen.ParseParameter(text)
		if err != nil {
			return o, usage("--param %v", err)
		}
		o.Parameters = append(o.Parameters, p)
	}
	return o, nil
}

// exchange is the family that the proxy is to be of; nil: none was asked for.
func (f *proxyFlags) exchange(c *cobra.Command, o proxygen.Options) (*proxygen.Family, error) {
	if f.family == "" {
		for _, name := range []string{"families", "policy", "rules", "stateless", "agree"} {
			if c.Flags().Changed(name) {
				return nil, usage("--%s: expected --family with it", name)
			}
		}
		return nil, nil
	}
	policy := f.policy
	switch {
	case len(f.scripts) > 0 || o.PerComponent:
		return nil, usage("--family: expected neither --mastermind nor --per-component with it")
	case f.stateless && f.agree:
		return nil, usage("--agree: expected no --stateless with it: ranks agree at quiet points, not on each call")
	case f.rules != "" && !c.Flags().Changed("policy"):
		policy = "rules"
	case f.rules == "" && policy == "rules":
		return nil, usage("--policy rules: which? expected --rules FILE with it")
	}
	plan, err := readPlan(f.families, nil)
	if err != nil {
		return nil, err
	}
	family, err := plan.Exchange(f.family, policy)
	if err != nil {
		return nil, usageError{Cause: err}
	}
	family.Stateless, family.Agree = f.stateless, f.agree
	if f.rules != "" {
		data, err := files.Read(f.rules, maxConfig)
		if err != nil {
			return nil, usage("--rules: %v", err)
		}
		family.Rules = &proxygen.Rules{File: f.rules, Data: data, Families: plan.Implementations(), Longest: selection.MaxDeclaration}
	}
	return family, nil
}

// write says what could not be proxied, and writes the proxies.
func (f *proxyFlags) write(c *cobra.Command, result *proxygen.Result) error {
	for _, omission := range result.Omitted {
		fmt.Fprintf(c.ErrOrStderr(), "marple: %s: %s\n", omission.Member, omission.Reason)
	}
	for _, note := range result.Notes {
		fmt.Fprintf(c.ErrOrStderr(), "marple: %s\n", note)
	}
	text := result.Text
	if *f.as == "json" {
		data, err := json.MarshalIndent(result, "", " ")
		if err != nil {
			return err
		}
		text = string(data) + "\n"
	}
	if f.out != "" {
		return run.WriteFile(f.out, []byte(text))
	}
	_, err := fmt.Fprint(c.OutOrStdout(), text)
	return err
}

// assembly writes the proxies of an assembly.
func assembly(ctx context.Context, c *cobra.Command, a proxygen.Assembly, components []string, as string) error {
	a.Ports = map[string]proxygen.PortType{}
	for _, text := range a.Options.Ports {
		name, t, err := proxygen.ParsePortType(text)
		if err != nil {
			return usage("--port %v", err)
		}
		a.Ports[name] = t
	}
	a.Components = maps.Clone(a.Options.Components)
	for _, text := range components {
		class, name, ok := strings.Cut(text, "=")
		if !ok || class == "" || name == "" {
			return usage("--component %q: expected CLASS=NAME with --mastermind, such as EFMFlux=efm", text)
		}
		if a.Components == nil {
			a.Components = map[string]string{}
		}
		a.Components[class] = name
	}
	files, omitted, err := proxygen.GenerateAssembly(ctx, a)
	var wrong proxygen.UsageError
	if errors.As(err, &wrong) {
		return usageError{Cause: err}
	} else if err != nil {
		return err
	}
	for _, omission := range omitted {
		fmt.Fprintf(c.ErrOrStderr(), "marple: %s: %s\n", omission.Member, omission.Reason)
	}
	for _, script := range a.Scripts {
		if sameFile(script, filepath.Join(a.Directory, filepath.Base(script))) {
			return usage("-o %s: the script %s is there, and would be overwritten; expected another directory", a.Directory, script)
		}
	}
	if err := os.MkdirAll(a.Directory, 0o777); err != nil {
		return err
	}
	for _, f := range files {
		if err := run.WriteFile(filepath.Join(a.Directory, f.Name), []byte(f.Text)); err != nil {
			return err
		}
	}
	var include []string
	if own := headers(); own != "" {
		include = append(include, own)
	}
	line, err := a.Compile("mpicxx", include...)
	if err != nil {
		return err
	}
	fmt.Fprintf(c.ErrOrStderr(), "marple: compile them with: %s\n", strings.Join(line, " "))
	if as == "json" {
		data, err := json.MarshalIndent(struct {
			Files   []proxygen.File     `json:"files"`
			Omitted []proxygen.Omission `json:"omitted"`
		}{files, omitted}, "", " ")
		if err == nil {
			fmt.Fprintf(c.OutOrStdout(), "%s\n", data)
		}
		return err
	}
	for _, f := range files {
		fmt.Fprintf(c.OutOrStdout(), "%s\n", filepath.Join(a.Directory, f.Name))
	}
	return nil
}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

func readProxyConfig(path string, o *proxygen.Options) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("config: %w", err)
	}
	if len(data) > maxConfig {
		return fmt.Errorf("config: %s: larger than %d bytes", path, maxConfig)
	}
	var file proxyConfig
	if err := bounded.Unmarshal(data, &file); err != nil {
		return fmt.Errorf("config: %s:%w", path, err)
	}
	o.Ports, o.PerComponent, o.Component, o.Components = file.Ports, file.PerComponent, file.Component, file.Components
	o.Skip, o.Include = file.Skip, file.Include
	for _, method := range slices.Sorted(maps.Keys(file.Parameters)) {
		list := file.Parameters[method]
		if len(list) == 0 {
			o.Parameters = append(o.Parameters, proxygen.Parameter{Method: method})
		}
		for _, item := range list {
			o.Parameters = append(o.Parameters, proxygen.Parameter{Method: method, Name: fmt.Sprint(item.Key), Expression: fmt.Sprint(item.Value)})
		}
	}
	return nil
}
