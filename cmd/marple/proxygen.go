package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"slices"

	"github.com/goccy/go-json"
	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"marple/analysis/proxygen"
	"marple/analysis/run"
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
		Use:   "proxygen [flags] HEADER [-- COMPILER-FLAGS]",
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

clang reads the header (apt-get install clang).`,
		Args: func(c *cobra.Command, arguments []string) error {
			if n := c.ArgsLenAtDash(); n == 1 || n < 0 && len(arguments) == 1 {
				return nil
			}
			return usage("proxygen: which header? expected: marple proxygen [flags] HEADER [-- COMPILER-FLAGS]")
		},
	}
	flags := c.Flags()
	ports := flags.StringArray("port", nil, "class to write a proxy of: ns::Class (may be repeated)")
	perComponent := flags.Bool("per-component", false, "write also one class that is all proxies at once")
	component := flags.String("component", "", "name of the component in the records (preset: the port's)")
	parameters := flags.StringArray("param", nil, "what to record of a method: METHOD:NAME=EXPRESSION (may be repeated)")
	skip := flags.StringArray("skip", nil, "method to forward without recording it (may be repeated)")
	include := flags.StringArray("include", nil, "header to include before HEADER (may be repeated)")
	config := flags.String("config", "", "YAML file with the same settings")
	compiler := flags.String("clang", "", "clang to read the header with (preset: the first one found)")
	out := flags.StringP("output", "o", "", "file to write (preset: standard output)")
	as := format(c, "text", "json")
	c.RunE = func(c *cobra.Command, arguments []string) error {
		o := proxygen.Options{Header: arguments[0], Flags: arguments[1:], Clang: *compiler}
		if *config != "" {
			if err := readProxyConfig(*config, &o); err != nil {
				return usageError{err}
			}
		}
		o.Ports = append(o.Ports, *ports...)
		o.PerComponent = o.PerComponent || *perComponent
		if *component != "" {
			o.Component = *component
		}
		o.Skip = append(o.Skip, *skip...)
		o.Include = append(o.Include, *include...)
		for _, text := range *parameters {
			p, err := proxygen.ParseParameter(text)
			if err != nil {
				return usage("--param %v", err)
			}
			o.Parameters = append(o.Parameters, p)
		}
		ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt)
		defer stop()
		result, err := proxygen.Generate(ctx, o)
		var wrong proxygen.UsageError
		if errors.As(err, &wrong) {
			return usageError{err}
		} else if err != nil {
			return err
		}
		for _, omission := range result.Omitted {
			fmt.Fprintf(c.ErrOrStderr(), "marple: %s: %s\n", omission.Member, omission.Reason)
		}
		text := result.Text
		if *as == "json" {
			data, err := json.MarshalIndent(result, "", " ")
			if err != nil {
				return err
			}
			text = string(data) + "\n"
		}
		if *out != "" {
			return run.WriteFile(*out, []byte(text))
		}
		_, err = fmt.Fprint(c.OutOrStdout(), text)
		return err
	}
	return c
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
	if err := yaml.UnmarshalWithOptions(data, &file, yaml.Strict()); err != nil {
		return fmt.Errorf("config: %s:%s", path, oneLine(err))
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
