package proxygen

import (
	"fmt"
	"slices"
	"strings"
)

// output writes the text.
type output struct {
	options Options
	ports   []*port
	omitted []Omission
	text    strings.Builder
}

const width = 110

func (w *output) line(format string, arguments ...any) {
	fmt.Fprintf(&w.text, format+"\n", arguments...)
}

// checkNames tells when a user has named methods that no port has, or two proxies would have one name.
func (w *output) checkNames() error {
	named := func(text string) bool {
		return slices.ContainsFunc(w.ports, func(p *port) bool {
			return slices.ContainsFunc(p.calls, func(c *call) bool { return p.matches(c, text) })
		})
	}
	var methods []string
	for _, p := range w.options.Parameters {
		methods = append(methods, p.Method)
	}
	for _, text := range append(methods, w.options.Skip...) {
		if len(w.ports) > 0 && !named(text) {
			return usage("%s: no port has a virtual function of this name", text)
		}
	}
	seen := map[string]string{}
	for _, p := range w.ports {
		name := p.namespace + "::" + p.proxy
		if other := seen[name]; other != "" {
			return usage("the proxies of %s and %s would both be called %s", other, p.name, p.proxy)
		}
		seen[name] = p.name
	}
	return nil
}

func (p *port) qualified() string {
	if p.namespace == "" {
		return p.proxy
	}
	return p.namespace + "::" + p.proxy
}

func (w *output) write() string {
	first := w.ports[0]
	component := "component"
	if w.options.Family != nil {
		component = w.introduction()
	} else {
		w.line("// Proxies of %s, written by `marple proxygen`. A proxy forwards each call to the component", w.options.included())
		w.line("// behind it, and records it when the program runs under Marple:")
	}
	w.line("//")
	if first.construct == "arguments" {
		w.line("//     %s proxy(%s, /* arguments of %s's constructor */);", first.qualified(), component, first.name)
	} else {
		w.line("//     %s proxy(%s);", first.qualified(), component)
	}
	w.line("//")
	w.line("// What a proxy does not do is listed at the end.")
	var guard []string
	for _, p := range w.ports {
		guard = append(guard, strings.ToUpper(plainName(p.qualified())))
	}
	w.line("#ifndef MARPLE_%s\n#define MARPLE_%s\n", strings.Join(guard, "_"), strings.Join(guard, "_"))
	for _, include := range append(slices.Clone(w.options.Include), w.options.included()) {
		if strings.HasPrefix(include, "/") {
			include = include[strings.LastIndexByte(include, '/')+1:]
		}
		w.line("#include \"%s\"", include)
	}
	w.line("")
	w.line("#include <%s>\n", w.runtime())
	for _, include := range w.includes() {
		w.line("#include <%s>", include)
	}
	w.line("")
	for _, p := range w.ports {
		w.proxy(p)
	}
	if w.options.PerComponent {
		w.component()
	}
	w.line("#endif")
	w.listOmitted()
	return w.text.String()
}

func (w *output) includes() []string {
	list := []string{"string", "utility"}
	if w.options.Family != nil {
		list = append(list, "algorithm", "cmath", "cstddef")
	}
	for _, p := range w.ports {
		for _, c := range p.calls {
			if c.refused != "" {
				list = append(list, "exception", "stdexcept")
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func (w *output) listOmitted() {
	if len(w.omitted) == 0 {
		return
	}
	w.line("\n// Not forwarded, or not like the rest:\n//")
	for _, o := range w.omitted {
		w.line("//     %s: %s", oneLine(o.Member), oneLine(o.Reason))
	}
}

// oneLine keeps a comment a comment.
func oneLine(s string) string {
	return strings.TrimRight(strings.Join(strings.Fields(s), " "), "\\")
}

// wrapped writes a declaration, on several lines if it is long.
func (w *output) wrapped(indent, head string, arguments []string, tail string) {
	line := indent + head + "(" + strings.Join(arguments, ", ") + ")" + tail
	if len(line) <= width {
		w.line("%s", line)
		return
	}
	line = indent + head + "("
	deeper := indent + "        "
	for i, a := range arguments {
		if i < len(arguments)-1 {
			a += ","
		} else {
			a += ")" + tail
		}
		switch {
		case i == 0:
			line += a
		case len(line)+1+len(a) > width:
			w.line("%s", line)
			line = deeper + a
		default:
			line += " " + a
		}
	}
	if len(arguments) == 0 {
		line += ")" + tail
	}
	w.line("%s", line)
}

func (w *output) proxy(p *port) {
	if len(p.warnings) > 0 {
		w.line("#pragma GCC diagnostic push")
		for _, warning := range p.warnings {
			w.line("#pragma GCC diagnostic ignored \"%s\"", warning)
		}
		w.line("")
	}
	w.exposures(p)
	if p.namespace != "" {
		w.line("namespace %s {\n", p.namespace)
	}
	if p.unnamed {
		w.line("namespace {\n")
	}
	recorded := p.recorded()
	w.line("// Forwards %s.", p.name)
	w.line("class %s : public %s {\npublic:", p.proxy, p.inside)
	if w.options.Family != nil {
		w.familyHead(p, len(recorded))
	} else {
		w.constructor(p, len(recorded))
	}
	if len(recorded) > 0 && w.options.Family == nil {
		w.line("\n    // Which functions are recorded, to be changed at any time.")
		w.line("    %s<%d> &marple_methods() { return marple_methods_; }", w.methods(p), len(recorded))
	}
	if len(p.uses) > 0 {
		w.line("")
		for _, name := range p.uses {
			w.line("    using %s::%s;", p.inside, name)
		}
	}
	access := "public"
	for _, level := range []string{"public", "protected", "private"} {
		for _, c := range p.calls {
			if c.access != level {
				continue
			}
			if access != level {
				w.line("\n%s:", level)
				access = level
			} else {
				w.line("")
			}
			w.call(p, c, slices.Index(recorded, c))
		}
	}
	if access != "private" {
		w.line("\nprivate:")
	} else {
		w.line("")
	}
	if len(recorded) > 0 {
		w.line("    static constexpr const char *marple_names_[] = {")
		for i, c := range recorded {
			comma := ","
			if i == len(recorded)-1 {
				comma = "};"
			}
			w.line("        \"%s\"%s", quoted(c.label), comma)
		}
		if w.options.Family == nil {
			w.line("    mutable %s<%d> marple_methods_;", w.methods(p), len(recorded))
		}
	}
	if w.options.Family != nil {
		w.familyTail(p, recorded)
	} else {
		w.line("    %starget<%s> marple_target_;", p.marple, p.inside)
	}
	w.line("};\n")
	if p.unnamed {
		w.line("}\n")
	}
	if p.namespace != "" {
		w.line("}\n")
	}
	if len(p.warnings) > 0 {
		w.line("#pragma GCC diagnostic pop\n")
	}
}

// runtime is the header that does the rest.
func (w *output) runtime() string {
	switch {
	case w.options.Family != nil:
		return "marple_optimizer.hpp"
	case w.options.monitored:
		return "marple_cca.hpp"
	}
	return "marple.hpp"
}

// methods and invocation are the classes that record.
func (w *output) methods(p *port) string {
	if w.options.monitored {
		return p.marple + "cca::monitored_methods"
	}
	return p.marple + "methods"
}

func (w *output) invocation(p *port) string {
	if w.options.monitored {
		return p.marple + "cca::monitored"
	}
	return p.marple + "invocation"
}

func quoted(s string) string { return strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) }

func (p *port) recorded() []*call {
	var list []*call
	for _, c := range p.calls {
		if !c.skipped && c.refused == "" {
			list = append(list, c)
		}
	}
	return list
}

func (w *output) constructor(p *port, recorded int) {
	var members []string
	names := fmt.Sprintf("const %sstring &component = \"%s\", const %sstring &instance = \"\"", p.std, quoted(p.component), p.std)
	target := p.marple + "target<" + p.inside + "> target"
	head := fmt.Sprintf("    explicit %s(%s, %s)", p.proxy, target, names)
	component, instance := "component", "instance"
	switch p.construct {
	case "copy":
		members = append(members, p.inside+"(target())")
	case "arguments":
		w.line("    template <class... Base>")
		head = fmt.Sprintf("    explicit %s(%s, Base &&...base)", p.proxy, target)
		component, instance = "\""+quoted(p.component)+"\"", "\"\""
		members = append(members, fmt.Sprintf("%s(%sforward<Base>(base)...)", p.inside, p.std))
	}
	if recorded > 0 {
		members = append(members, fmt.Sprintf("marple_methods_(%s, %s, marple_names_)", component, instance))
	} else if p.construct != "arguments" {
		head = fmt.Sprintf("    explicit %s(%s, const %sstring & = {}, const %sstring & = {})", p.proxy, target, p.std, p.std)
	}
	w.line("%s", head)
	w.line("        : %s\n    {\n    }", strings.Join(append(members, "marple_target_(target)"), ", "))
}

// exposures makes functions that are not public callable. Access is not checked in an explicit instantiation,
// so that the pointer to the function can be had there.
func (w *output) exposures(p *port) {
	open := false
	for i, c := range p.calls {
		if c.access == "public" || c.refused != "" {
			continue
		}
		if !open {
			w.line("namespace marple {\n\n// Functions of %s that are not public.", p.name)
			open = true
		}
		tag := p.tag(i)
		function := "&" + p.fromRoot(c.class) + "::" + c.method.name
		if c.pointer != "" {
			function = fmt.Sprintf("static_cast<%s>(%s)", c.pointer, function)
		}
		w.line("struct %s {\n    friend auto exposed(%s);\n};", tag, tag)
		w.line("template struct expose<%s, %s>;", tag, function)
	}
	if open {
		w.line("\n}\n")
	}
}

// tag names the type that stands for the i-th function.
func (p *port) tag(i int) string {
	return fmt.Sprintf("%s_%d", plainName(p.qualified()), i)
}

// fromRoot names a class of the port's from the global namespace.
func (p *port) fromRoot(k *class) string {
	if k.identity == p.identity {
		return rooted(p.name)
	}
	return rooted(k.name)
}

// call writes one function.
func (w *output) call(p *port, c *call, index int) {
	attributes := ""
	for _, a := range c.attributes {
		attributes += "[[" + a + "]] "
	}
	head, arguments, tail := c.declaration(len(c.types))
	if c.refused != "" {
		for i, t := range c.types {
			arguments[i] = strings.TrimSpace(declare(t, ""))
		}
		w.wrapped("    ", attributes+head, arguments, tail+" override")
		w.refuse(p, c)
		return
	}
	w.wrapped("    ", attributes+head, arguments, tail+" override")
	w.line("    {")
	self := ""
	if strings.Contains(c.qualifiers, "volatile") && (index >= 0 || w.options.Family != nil) {
		self = fmt.Sprintf("const_cast<%s *>(this)->", p.proxy)
	}
	if index >= 0 && w.options.Family != nil {
		w.served(p, c, index, self)
	} else if index >= 0 {
		local := c.local("call")
		w.line("        %s %s(%smarple_methods_[%d]);", w.invocation(p), local, self, index)
		for _, v := range c.values {
			w.line("        %s.parameter(\"%s\", %s);", local, quoted(v.name), v.expression)
		}
	}
	result := "return "
	if c.void {
		result = ""
	}
	target := p.target(c, w.behind(c, index, self))
	forward := c.local("forward")
	switch {
	case c.access != "public":
		w.line("        const auto %s = exposed(%s%s{});", forward, p.marple, p.tag(slices.Index(p.calls, c)))
		w.wrapped("        ", fmt.Sprintf("%s(%s.*%s)", result, target, forward), c.passed, ";")
	case p.rivalled(c): // by its type
		class := p.inside
		if c.class.identity != p.identity {
			class = rooted(c.class.name)
		}
		w.wrapped("        ", fmt.Sprintf("%s(%s::*const %s)", c.before, class, forward), c.types,
			fmt.Sprintf("%s = &%s::%s;", c.after, class, c.name))
		w.wrapped("        ", fmt.Sprintf("%s(%s.*%s)", result, target, forward), c.passed, ";")
	default:
		w.wrapped("        ", result+target+"."+c.name, c.passed, ";")
	}
	w.line("    }")
	for _, n := range c.defaults {
		w.withDefaults(p, c, n, attributes)
	}
}

// local gives a name that no argument has.
func (c *call) local(name string) string {
	for slices.Contains(c.names, name) {
		name += "_"
	}
	return name
}

// refuse is the body of a function that cannot be forwarded and has to exist.
func (w *output) refuse(p *port, c *call) {
	w.line("    {")
	if strings.Contains(c.after, "noexcept") && !strings.Contains(c.after, "noexcept(false)") {
		w.line("        %sterminate();", p.std)
	} else {
		w.line("        throw %slogic_error(\"%s::%s: %s\");", p.std, quoted(p.name), quoted(c.name), quoted(oneLine(c.refused)))
	}
	w.line("    }")
}

// withDefaults writes the call with the first n arguments: the port fills in the others.
func (w *output) withDefaults(p *port, c *call, n int, attributes string) {
	head, arguments, tail := c.declaration(n)
	w.line("")
	w.wrapped("    ", attributes+head, arguments, tail)
	cv := strings.TrimSpace(strings.ReplaceAll(c.qualifiers, "&", ""))
	reference := "&"
	if strings.HasSuffix(c.qualifiers, "&&") {
		reference = "&&"
	}
	result := "return "
	if c.void {
		result = ""
	}
	object := fmt.Sprintf("static_cast<%s %s>(*this)", strings.TrimSpace(cv+" "+p.inside), reference)
	w.line("    {")
	w.wrapped("        ", result+object+"."+c.name, c.passed[:n], ";")
	w.line("    }")
}

// behind is the component that a call is forwarded to, by self's members.
func (w *output) behind(c *call, index int, self string) string {
	switch {
	case w.options.Family == nil:
		return "marple_target_()"
	case index < 0: // not recorded: no choice of its own
		return self + "marple_family_[" + self + "marple_family_.current()]"
	}
	return self + "marple_family_[" + c.local("chosen") + "]"
}

// target is the component as the object that a function is called of: of the class where it is found, if that
// is not sure, and as const or volatile as the function.
func (p *port) target(c *call, text string) string {
	cv := strings.TrimSpace(strings.ReplaceAll(c.qualifiers, "&", ""))
	if cv != "" {
		cv += " "
	}
	ways := p.paths(c.class)
	if c.class.identity == p.identity {
		ways = nil
	}
	switch {
	case len(ways) > 1:
		for _, step := range ways[0] {
			text = fmt.Sprintf("static_cast<%s%s &>(%s)", cv, rooted(step.name), text)
		}
	case len(ways) == 1 && p.elsewhere(c):
		text = fmt.Sprintf("static_cast<%s%s &>(%s)", cv, rooted(c.class.name), text)
	case cv != "" && (p.overloaded(c) || strings.Contains(cv, "volatile")) && c.access == "public":
		text = fmt.Sprintf("static_cast<%s%s &>(%s)", cv, p.inside, text)
	}
	if strings.HasSuffix(c.qualifiers, "&&") {
		text = p.std + "move(" + text + ")"
	}
	return text
}

// elsewhere tells whether another class of the port has a member of this name.
func (p *port) elsewhere(c *call) bool {
	for _, k := range p.hierarchy() {
		if k.identity == c.class.identity {
			continue
		}
		if slices.ContainsFunc(k.methods, func(m *method) bool { return m.name == c.method.name }) ||
			slices.ContainsFunc(k.fields, func(f field) bool { return f.name == c.method.name }) {
			return true
		}
	}
	return false
}

// component writes the class that is all proxies at once.
func (w *output) component() {
	namespace := w.ports[0].namespace
	for _, p := range w.ports {
		if p.namespace != namespace {
			namespace = ""
		}
	}
	name := w.options.Component
	if name == "" {
		name = w.options.headerName()
	}
	class := plainName(name) + "Proxy"
	if namespace != "" {
		w.line("namespace %s {\n", namespace)
	}
	var bases, members []string
	for _, p := range w.ports {
		proxy := p.proxy
		if namespace == "" && p.namespace != "" {
			proxy = "::" + p.qualified()
		}
		bases = append(bases, "public "+proxy)
		members = append(members, proxy+"(target, component, instance)")
	}
	w.line("// All ports of a component.")
	w.line("class %s : %s {\npublic:", class, strings.Join(bases, ", "))
	w.line("    template <class Component>")
	w.line("    explicit %s(Component &target, const std::string &component = \"%s\", const std::string &instance = \"\")", class, quoted(name))
	w.line("        : %s\n    {\n    }", strings.Join(members, ",\n          "))
	w.common()
	w.line("};\n")
	if namespace != "" {
		w.line("}\n")
	}
}

// common overrides what several ports have from one virtual base, of which each proxy has its own.
func (w *output) common() {
	seen := map[string]bool{}
	for i, p := range w.ports {
		for _, c := range p.calls {
			shared := slices.ContainsFunc(w.ports[i+1:], func(other *port) bool {
				return slices.ContainsFunc(other.calls, func(x *call) bool { return x.key == c.key && virtually(p, c) && virtually(other, x) })
			})
			if !shared || seen[c.key] {
				continue
			}
			seen[c.key] = true
			head, arguments, tail := c.declaration(len(c.types))
			w.line("")
			w.wrapped("    ", head, arguments, tail+" override")
			w.line("    {")
			w.wrapped("        ", "return "+p.proxy+"::"+c.name, c.passed, ";")
			w.line("    }")
		}
	}
}

// virtually tells whether a function is inherited through a virtual base.
func virtually(p *port, c *call) bool {
	ways := p.paths(c.class)
	return len(ways) > 0 && slices.ContainsFunc(ways[0], func(b base) bool { return b.virtual })
}
