package proxygen

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Assembly says of which components to write proxies that tell a Mastermind of each call.
type Assembly struct {
	Options                        // but for Header, Ports, PerComponent and Component
	Headers    []string            // and directories of headers, which define the ports' classes
	Scripts    []string            // for Ccaffeine
	Ports      map[string]PortType // by port name, where no class of a header has that name
	Components map[string]string   // by class of component, what records call it; default: the class
	Directory  string              // where the proxies will be, as scripts are to name it
}

// PortType is what a port's name stands for.
type PortType struct {
	Class string // in C++; empty: no proxies of it
	Type  string // what the components call it; default: Class::type if there is one, or the class's last name
}

// ParsePortType reads NAME=CLASS or NAME=CLASS,TYPE.
func ParsePortType(text string) (name string, t PortType, err error) {
	name, rest, ok := strings.Cut(text, "=")
	t.Class, t.Type, _ = strings.Cut(rest, ",")
	if name, t.Class, t.Type = strings.TrimSpace(name), strings.TrimSpace(t.Class), strings.TrimSpace(t.Type); !ok || name == "" {
		return "", t, fmt.Errorf("%q: expected NAME=CLASS or NAME=CLASS,TYPE, such as flux=euler::FluxPort", text)
	}
	return name, t, nil
}

// File is one that belongs into the assembly's directory.
type File struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

const (
	assemblySource  = "proxies.cpp"
	assemblyLibrary = "libproxies.so"
	assemblyClasses = "proxies.cca"
)

// GenerateAssembly writes all that puts proxies before the ports that scripts use: a header of proxies for each header
// of ports, the components made of them, the file that tells a framework of these, and the scripts.
func GenerateAssembly(ctx context.Context, o Assembly) ([]File, []Omission, error) {
	var scripts []*Script
	for _, path := range o.Scripts {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, nil, err
		}
		s, err := ParseScript(path, string(text))
		if err != nil {
			return nil, nil, err
		}
		scripts = append(scripts, s)
	}
	headers, err := o.headers()
	if err != nil {
		return nil, nil, err
	}
	classes, unread, err := o.classes(ctx, headers)
	if err != nil {
		return nil, nil, err
	}
	ports, err := o.resolve(scripts, classes)
	if err != nil {
		return nil, nil, errors.Join(append([]error{err}, unread...)...)
	}

	var files []File
	var omitted []Omission
	all := &output{options: o.Options}
	includes := map[string]string{}
	proxies := map[string]string{} // by class of port
	for _, header := range headers {
		part := o.Options
		part.Header, part.Ports, part.PerComponent, part.Component, part.monitored = header, nil, false, "", true
		for _, t := range ports {
			if classes[t.Class] == header && !slices.Contains(part.Ports, t.Class) {
				part.Ports = append(part.Ports, t.Class)
			}
		}
		if len(part.Ports) == 0 {
			continue
		}
		slices.Sort(part.Ports)
		out, err := collect(ctx, part)
		if err != nil {
			return nil, nil, err
		}
		name := part.headerName() + "_proxy.hpp"
		if other := includes[name]; other != "" {
			return nil, nil, usage("the proxies of %s and %s would both be in %s", other, header, name)
		}
		includes[name] = header
		for _, p := range out.ports {
			if p.stateful && len(p.unseen) > 0 {
				return nil, nil, fmt.Errorf("%s: no proxy can stand before a %s: %s would work on the proxy's data and not on the component's; "+
					"make what is not virtual so, or leave the port alone (--port NAME=)", header, p.name, strings.Join(p.unseen, ", "))
			}
			proxies[p.name] = p.qualified()
		}
		all.ports, omitted = append(all.ports, out.ports...), append(omitted, out.omitted...)
		files = append(files, File{name, out.write()})
	}
	if err := all.checkNames(); err != nil {
		return nil, nil, err
	}

	components, err := o.components(scripts, ports)
	if err != nil {
		return nil, nil, err
	}
	files = append(files, File{assemblySource, o.source(scripts, components, ports, slices.Sorted(maps.Keys(includes)), proxies)},
		File{assemblyClasses, cca(scripts, components)})
	class := func(component, port string) string {
		if ports[port].Class == "" {
			return ""
		}
		return proxyClass(component, port)
	}
	for _, s := range scripts {
		name := filepath.Base(s.name)
		if slices.ContainsFunc(files, func(f File) bool { return f.Name == name }) {
			return nil, nil, usage("two files would be called %s", name)
		}
		files = append(files, File{name, s.interposed(o.Directory, class)})
	}
	return files, omitted, nil
}

// Compile is the command that makes the proxies' library: with the flags that the headers are read with, and where these
// lie, and further directories of headers.
func (o Assembly) Compile(compiler string, include ...string) ([]string, error) {
	line := []string{compiler, "-std=c++17", "-O2", "-shared", "-fPIC"}
	headers, err := o.headers()
	if err != nil {
		return nil, err
	}
	for _, header := range headers {
		o.Header = header
		if o.included() == filepath.Base(header) {
			include = append(include, filepath.Dir(header))
		}
	}
	line = append(line, o.Flags...)
	for i, directory := range include {
		if !slices.Contains(include[:i], directory) && !slices.Contains(o.Flags, "-I"+directory) {
			line = append(line, "-I"+directory)
		}
	}
	return append(line, filepath.Join(o.Directory, assemblySource), "-o", filepath.Join(o.Directory, assemblyLibrary), "-ldl"), nil
}

// headers are the files meant: of a directory those that look like headers of C++.
func (o Assembly) headers() ([]string, error) {
	var list []string
	for _, path := range o.Headers {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			list = append(list, path)
			continue
		}
		entries, err := os.ReadDir(path)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if slices.Contains([]string{".h", ".hh", ".hpp", ".hxx", ".H"}, filepath.Ext(e.Name())) {
				list = append(list, filepath.Join(path, e.Name()))
			}
		}
	}
	if len(list) == 0 {
		return nil, usage("no header in %s", strings.Join(o.Headers, ", "))
	}
	return list, nil
}

// classes are the abstract ones, and the header that defines each. Headers that happen to be in a directory need not
// compile: what is wrong with them is told to whoever misses a class.
func (o Assembly) classes(ctx context.Context, headers []string) (defined map[string]string, unread []error, err error) {
	defined = map[string]string{}
	for _, header := range headers {
		part := o.Options
		part.Header = header
		compiler, err := newClang(ctx, part)
		if err != nil {
			return nil, nil, err
		}
		names, err := compiler.abstractClasses()
		if err != nil && slices.Contains(o.Headers, header) || ctx.Err() != nil {
			return nil, nil, err
		} else if err != nil {
			unread = append(unread, err)
		}
		for _, name := range names {
			if defined[name] == "" {
				defined[name] = header
			}
		}
	}
	return defined, unread, nil
}

// resolve says what each port that the scripts use stands for.
func (o Assembly) resolve(scripts []*Script, classes map[string]string) (map[string]PortType, error) {
	names := slices.Sorted(maps.Keys(classes))
	ports := map[string]PortType{}
	var unknown []string
	for _, s := range scripts {
		for _, p := range s.used {
			if _, known := ports[p.port]; known {
				continue
			}
			t, told := o.Ports[p.port]
			if told {
				t.Class = strings.TrimPrefix(t.Class, "::")
				if t.Class != "" && classes[t.Class] == "" {
					return nil, usage("port %s: no header defines an abstract class %s; there are: %s", p.port, t.Class, strings.Join(names, ", "))
				}
			} else {
				same := named(p.port, names)
				if len(same) != 1 {
					unknown = append(unknown, fmt.Sprintf("%s of %s", p.port, p.instance))
					continue
				}
				t.Class = same[0]
			}
			if t.Type == "" {
				t.Type = lastName(t.Class)
			}
			ports[p.port] = t
		}
	}
	if unknown != nil {
		return nil, usage("which class is port %s? say --port NAME=CLASS, or --port NAME= to leave it alone; there are: %s",
			strings.Join(slices.Compact(unknown), ", port "), strings.Join(names, ", "))
	}
	for _, name := range slices.Sorted(maps.Keys(o.Ports)) {
		if _, used := ports[name]; !used {
			return nil, usage("port %s: no script uses a port of this name", name)
		}
	}
	return ports, nil
}

// named are the classes of a port's name: flux is of Flux or FluxPort.
func named(port string, classes []string) (same []string) {
	for _, name := range classes {
		if last := lastName(name); strings.EqualFold(last, port) || strings.EqualFold(last, port+"port") {
			same = append(same, name)
		}
	}
	return same
}

// component is a class of proxies as the framework knows it.
type component struct{ class, of, port string }

// proxyClass names the proxies of a component's port: Flux's "flux" is FluxFluxProxy.
func proxyClass(component, port string) string {
	port = plainName(port)
	if port != "" {
		port = strings.ToUpper(port[:1]) + port[1:]
	}
	return plainName(component) + port + "Proxy"
}

func (o Assembly) components(scripts []*Script, ports map[string]PortType) ([]component, error) {
	var list []component
	for _, s := range scripts {
		for _, p := range s.used {
			if ports[p.port].Class == "" {
				continue
			}
			c := component{of: s.instances[p.instance], port: p.port}
			c.class = proxyClass(c.of, c.port)
			at := slices.IndexFunc(list, func(other component) bool { return other.class == c.class })
			switch {
			case at < 0:
				list = append(list, c)
			case list[at] != c:
				return nil, usage("the proxies of %s's port %s and %s's port %s would both be %s", list[at].of, list[at].port, c.of, c.port, c.class)
			}
		}
	}
	if len(list) == 0 {
		return nil, errors.New("the scripts use no port that proxies could be put before")
	}
	for class := range o.Components {
		if !slices.ContainsFunc(list, func(c component) bool { return c.of == class }) {
			return nil, usage("component %s: no script creates one of this class whose ports are used", class)
		}
	}
	slices.SortFunc(list, func(a, b component) int { return strings.Compare(a.class, b.class) })
	return list, nil
}

// own tells whether the Mastermind is to come with the proxies: a script that makes one knows where to find it.
func own(scripts []*Script) bool {
	return slices.ContainsFunc(scripts, func(s *Script) bool { _, made := s.mastermind(); return !made })
}

// source is the components' text.
func (o Assembly) source(scripts []*Script, components []component, ports map[string]PortType, includes []string, proxies map[string]string) string {
	var b strings.Builder
	b.WriteString(`// An assembly's proxies as components, written by ` + "`marple proxygen --mastermind`" + `. They tell the Mastermind of each call:
//
//     mpicxx -std=c++17 -O2 -shared -fPIC -I... proxies.cpp -o ` + assemblyLibrary + ` -ldl
`)
	b.WriteString("#include <marple_cca.hpp>\n\n")
	for _, include := range includes {
		fmt.Fprintf(&b, "#include \"%s\"\n", include)
	}
	b.WriteString("\nusing classic::gov::cca::Component;\n\nextern \"C\" {\n")
	for _, c := range components {
		t := ports[c.port]
		name := o.Components[c.of]
		if name == "" {
			name = c.of
		}
		fmt.Fprintf(&b, "Component *create_%s()\n{\n    return new marple::cca::Proxied<::%s, ::%s>(\"%s\",\n        marple::cca::type_of<::%s>(\"%s\"), \"%s\");\n}\n",
			c.class, t.Class, proxies[t.Class], quoted(c.port), t.Class, quoted(t.Type), quoted(name))
	}
	if own(scripts) {
		fmt.Fprintf(&b, "Component *create_%s() { return new marple::cca::Mastermind; }\n", mastermindClass)
	}
	b.WriteString("}\n")
	return b.String()
}

// cca is the file by which a framework finds the components.
func cca(scripts []*Script, components []component) string {
	text := "!componentType=classic\n" + assemblyLibrary + "\n"
	for _, c := range components {
		text += fmt.Sprintf("create_%s %s\n", c.class, c.class)
	}
	if own(scripts) {
		text += fmt.Sprintf("create_%s %s\n", mastermindClass, mastermindClass)
	}
	return text
}
