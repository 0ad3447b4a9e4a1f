// Package proxygen writes proxies of C++ port classes: classes of the same interface that forward every call
// to the component behind them and record it through Marple's hooks.
//
// It may use knowledge, run and a demangler, and runs clang, which knows C++; it holds no state. Whatever
// can be asked of the compiler is asked and not guessed: which class a name means, whether a type can be
// named where the proxy stands, whether an argument is a number.
//
// Invariant: the same header, options and compiler give the same text, in which no path of the machine
// occurs; what cannot be proxied is never left out silently.
package proxygen

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Options say what to write proxies of, and how.
type Options struct {
	Header       string   // as the compiler is to be given it
	Ports        []string // class names; empty: every abstract class that the header defines
	PerComponent bool     // one more class that is all the proxies at once
	Component    string   // name of the component in records; empty: the port's, or with PerComponent the header's
	Components   map[string]string
	Parameters   []Parameter
	Skip         []string // methods that are forwarded without being recorded: method or Class::method
	Include      []string // headers to include before Header
	Flags        []string // compiler flags
	Clang        string   // compiler to run; empty: the first one found
	Family       *Family  // the proxy holds all its implementations; of one port

	monitored bool // calls are told to a Monitor port
}

// Parameter is a value to record of a method's invocations: a C++ expression of its arguments.
type Parameter struct {
	Method     string // method or Class::method
	Name       string // empty: the method has no parameters
	Expression string
}

// ParseParameter reads METHOD:NAME=EXPRESSION. The method may be qualified.
func ParseParameter(text string) (Parameter, error) {
	left, expression, ok := strings.Cut(text, "=")
	if at := strings.LastIndex(left, ":"); ok && at > 0 && left[at-1] != ':' {
		p := Parameter{strings.TrimSpace(left[:at]), strings.TrimSpace(left[at+1:]), strings.TrimSpace(expression)}
		if p.Method != "" && p.Name != "" && p.Expression != "" && !strings.ContainsAny(p.Name, "\"\\\n") {
			return p, nil
		}
	}
	return Parameter{}, fmt.Errorf("%q: expected METHOD:NAME=EXPRESSION, such as compute:n=size*2", text)
}

// Result is the text of the proxies, and what they do not do.
type Result struct {
	Text    string     `json:"text"`
	Omitted []Omission `json:"omitted"`
	Notes   []string   `json:"notes,omitempty"` // of rules: what may not be meant
}

// Omission is a member, or a whole class, that calls do not go through a proxy for.
type Omission struct {
	Member string `json:"member"`
	Reason string `json:"reason"`
}

// UsageError is a mistake in the options.
type UsageError struct{ error }

func usage(format string, arguments ...any) error {
	return UsageError{fmt.Errorf(format, arguments...)}
}

// Generate writes the proxies. The error names what in the header, or in the options, is in the way.
func Generate(ctx context.Context, o Options) (*Result, error) {
	out, err := collect(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := out.checkNames(); err != nil {
		return nil, err
	}
	result := &Result{Text: out.write(), Omitted: out.omitted}
	if o.Family != nil && o.Family.manager != nil {
		for _, note := range o.Family.manager.Notes {
			result.Notes = append(result.Notes, note.Error())
		}
	}
	return result, nil
}

// collect finds out how to write the proxies.
func collect(ctx context.Context, o Options) (*output, error) {
	compiler, err := newClang(ctx, o)
	if err != nil {
		return nil, err
	}
	names := o.Ports
	if len(names) == 0 {
		if names, err = compiler.abstractClasses(); err != nil {
			return nil, err
		}
		if len(names) == 0 {
			return nil, fmt.Errorf("%s: defines no abstract class; name a port with --port", o.Header)
		}
	}
	out := &output{options: o}
	for _, name := range slices.Compact(names) {
		port, err := compiler.port(strings.TrimPrefix(name, "::"))
		if err != nil {
			return nil, err
		}
		if err := compiler.prepare(port, o); err != nil {
			return nil, err
		}
		if o.Family != nil && port.impossible == "" {
			if err := o.Family.behind(port); err != nil {
				return nil, err
			}
		}
		out.omitted = append(out.omitted, port.omitted...)
		if port.impossible != "" && len(o.Ports) > 0 {
			return nil, fmt.Errorf("%s: %s cannot be proxied: %s", o.Header, port.name, port.impossible)
		}
		if port.impossible == "" {
			out.ports = append(out.ports, port)
		}
	}
	if o.Family != nil && len(out.ports) > 1 {
		return nil, usage("--family: which port has family %s? expected one --port of %s", o.Family.Name, strings.Join(slices.Compact(names), ", "))
	}
	if len(out.ports) == 0 {
		var reasons []error
		for _, omission := range out.omitted {
			reasons = append(reasons, fmt.Errorf("%s: %s", omission.Member, omission.Reason))
		}
		return nil, errors.Join(append([]error{fmt.Errorf("%s: no class can be proxied", o.Header)}, reasons...)...)
	}
	return out, nil
}

// included is how the header is named in an #include line: below one of the -I directories, or by itself.
func (o Options) included() string {
	header, err := filepath.Abs(o.Header)
	if err != nil {
		return filepath.Base(o.Header)
	}
	best := filepath.Base(header)
	for i, flag := range o.Flags {
		directory, ok := strings.CutPrefix(flag, "-I")
		if !ok {
			continue
		}
		if directory == "" && i+1 < len(o.Flags) {
			directory = o.Flags[i+1]
		}
		if absolute, err := filepath.Abs(directory); err == nil {
			if inside, err := filepath.Rel(absolute, header); err == nil && !strings.HasPrefix(inside, "..") && len(inside) > len(best) {
				best = inside
			}
		}
	}
	return filepath.ToSlash(best)
}
