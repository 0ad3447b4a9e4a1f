package proxygen

import (
	"fmt"
	"slices"
	"strings"
)

// port is a class that a proxy is written of.
type port struct {
	*class
	namespace string // that the proxy stands in
	inside    string // the class's name there
	proxy     string // the proxy's name
	component string
	unnamed   bool // it is local to whatever includes the header
	calls     []*call
	uses      []string // names of which some functions are inherited as they are
	omitted   []Omission
	unseen    []string // public functions that are not virtual: of a proxy they work on its own data
	stateful  bool     // there are such data

	impossible string   // why there is no proxy
	construct  string   // how its own base is made: "", "copy" or "arguments"
	std        string   // how that namespace is named there
	marple     string   // likewise
	warnings   []string // that its declarations give, as those of the port do
}

// call is a function that the proxy overrides.
type call struct {
	*method
	before, after string // its type around name and arguments
	types         []string
	names         []string // of arguments
	passed        []string // arguments as they are passed on
	values        []value
	label         string   // in records
	times         []string // of a family's members, as expressions; nil: the choice is not by model
	skipped       bool     // not recorded
	refused       string   // why it cannot be forwarded
	unseen        string   // why it cannot even be defined
	result        string   // type
	void          bool     // that is what the result is
	pointer       string   // type of a pointer to it, where its name alone does not tell it from others
	defaults      []int    // numbers of arguments with which it can be called besides
}

type value struct{ name, expression string }

func (p *port) omit(member, format string, arguments ...any) {
	p.omitted = append(p.omitted, Omission{p.name + "::" + member, fmt.Sprintf(format, arguments...)})
}

func (p *port) cannot(format string, arguments ...any) {
	if p.impossible == "" {
		p.impossible = fmt.Sprintf(format, arguments...)
		p.omitted = append(p.omitted, Omission{p.name, p.impossible})
	}
}

// show is a function as it is listed.
func (m *method) show() string {
	if m.template {
		return m.name + "<...>"
	}
	text := m.name + "("
	for i, parameter := range m.params {
		if i > 0 {
			text += ", "
		}
		text += parameter.typ
	}
	if m.variadic {
		text += ", ..."
		text = strings.Replace(text, "(, ", "(", 1)
	}
	return text + ")" + m.qualifiers
}

// port reads a class and decides which of its functions a proxy overrides.
func (c *clang) port(name string) (*port, error) {
	parts := splitName(name)
	k, a, err := c.find(name, func(q *questions) { askPlace(q, parts) })
	if err != nil {
		return nil, err
	}
	p := &port{class: &class{name: name, identity: k.identity, bases: k.bases, methods: k.methods, fields: k.fields}}
	p.place(parts, a)
	virtual := map[string]bool{}
	hierarchy := k.hierarchy()
	for _, k := range hierarchy {
		for _, m := range k.methods {
			virtual[m.key] = virtual[m.key] || m.virtual && !m.template
		}
	}
	seen := map[string]bool{}
	for _, from := range hierarchy {
		p.stateful = p.stateful || len(from.fields) > 0
		way := access(k.paths(from)[0])
		for _, f := range from.fields {
			if f.access == "public" && way == "public" && f.name != "" {
				p.omit(f.name, "a data member: the proxy has one of its own")
			}
		}
		for _, m := range from.methods {
			switch {
			case m.template || !virtual[m.key]:
				if m.access == "public" && way == "public" && !m.deleted {
					p.omit(m.show(), "%s", notVirtual(m))
					if !m.static {
						p.unseen = append(p.unseen, m.show())
					}
				}
				continue
			case seen[m.key]:
				continue
			}
			seen[m.key] = true
			switch {
			case m.deleted:
				p.omit(m.show(), "deleted")
			case m.final:
				p.omit(m.show(), "final: it cannot be overridden, so calls run on the proxy itself")
			case way != "public" && m.pure:
				p.cannot("%s is pure virtual and inherited from %s, which is a %s base", m.show(), from.name, way)
			case way != "public":
				p.omit(m.show(), "inherited from %s, which is a %s base", from.name, way)
			default:
				p.calls = append(p.calls, &call{method: m})
			}
		}
	}
	if len(p.calls) == 0 {
		p.cannot("it has no virtual function that could be overridden")
	}
	return p, nil
}

func notVirtual(m *method) string {
	switch {
	case m.template:
		return "a template: it cannot be virtual"
	case m.static:
		return "static: it is called without an object"
	}
	return "not virtual: calls run on the proxy itself"
}

var notIdentifier = pattern(`[^\pL\pN_]+`)

// plainName makes an identifier of a name; none may have two underscores in a row.
func plainName(name string) string {
	name = notIdentifier().ReplaceAllString(name, "_")
	for strings.Contains(name, "__") {
		name = strings.ReplaceAll(name, "__", "_")
	}
	return strings.Trim(name, "_")
}

// askPlace asks which parts of a class's name are namespaces, and which of them can be left out.
func askPlace(q *questions, parts []string) {
	for i := 1; i < len(parts); i++ {
		q.ask(fmt.Sprintf("namespace %d", i), "namespace marple_namespace_%d = ::%s;", i, strings.Join(parts[:i], "::"))
		without := strings.Join(append(slices.Clone(parts[:i-1]), parts[i:]...), "::")
		q.ask(fmt.Sprintf("inline %d", i), "static_assert(std::is_same_v<::%s, ::%s>);", without, strings.Join(parts, "::"))
	}
}

// place is the namespace that the proxy is to stand in: the class's own, without inline ones.
func (p *port) place(parts []string, a answers) {
	inside := 0
	var scope []string
	for i := 1; i < len(parts) && a.yes(fmt.Sprintf("namespace %d", i)); i++ {
		if !a.yes(fmt.Sprintf("inline %d", i)) {
			scope = append(scope, parts[i-1])
		}
		inside = i
	}
	if len(scope) > 0 && scope[0] == "std" {
		scope, inside = nil, 0
	}
	p.namespace = strings.Join(scope, "::")
	p.inside = strings.Join(parts[inside:], "::")
	own := parts[inside:]
	if inside == 0 {
		own = parts[len(parts)-1:]
		for i := len(parts) - 2; i >= 0 && !a.yes(fmt.Sprintf("namespace %d", i+1)); i-- {
			own = parts[i:]
		}
	}
	p.proxy = plainName(strings.Join(own, "_")) + "Proxy"
	p.unnamed = strings.Contains(p.identity, "(anonymous namespace)")
}

// splitName takes a qualified name apart.
func splitName(name string) []string {
	var parts []string
	start := 0
	for i := 0; i < len(name); i++ {
		switch name[i] {
		case '<', '(':
			i = matching(name, i) - 1
		case ':':
			if strings.HasPrefix(name[i:], "::") {
				parts = append(parts, strings.TrimSpace(name[start:i]))
				i++
				start = i + 1
			}
		}
	}
	return append(parts, strings.TrimSpace(name[start:]))
}

const traits = `#include <type_traits>
#include <utility>
namespace marple { struct probe; }
namespace marple_probe {
template <class T> using bare = std::remove_cv_t<std::remove_reference_t<T>>;
template <class T> using steady = std::bool_constant<!std::is_volatile_v<std::remove_reference_t<T>>>;
template <class T, class = void> struct complete : std::disjunction<std::is_void<T>, std::is_reference<T>> {};
template <class T> struct complete<T, std::void_t<decltype(sizeof(T))>> : std::true_type {};
template <class T> struct small : std::bool_constant<sizeof(T) <= 8> {};
template <class T> struct discrete : std::disjunction<std::is_integral<T>, std::is_enum<T>> {};
template <class T> inline constexpr bool number = std::conjunction_v<discrete<bare<T>>, steady<T>, small<bare<T>>>;
template <class T, class = void> inline constexpr bool sized = false;
template <class T> inline constexpr bool sized<T, std::void_t<decltype(std::declval<const bare<T> &>().size())>> =
    std::is_integral_v<decltype(std::declval<const bare<T> &>().size())> && steady<T>::value;
template <class T> using adjusted = std::conditional_t<std::is_array_v<T>, std::decay_t<T>, T>; // as an argument
template <class T> inline constexpr bool passable = std::disjunction_v<std::is_reference<T>, std::is_constructible<adjusted<T>, adjusted<T>>>;
template <class T> inline constexpr bool value = std::is_arithmetic_v<bare<T>> || std::is_enum_v<bare<T>>;
}`

// prepare settles with the compiler how each function is declared, forwarded and recorded.
func (c *clang) prepare(p *port, o Options) error {
	if p.impossible != "" {
		return nil
	}
	p.component = o.componentOf(p)
	for _, call := range p.calls {
		call.setType(p, call.written)
		call.nameArguments()
		call.skipped = slices.ContainsFunc(o.Skip, func(s string) bool { return p.matches(call, s) })
	}
	failed, err := c.settle(p, p.calls, o, true)
	if err != nil || p.impossible != "" {
		return err
	}
	if len(failed) > 0 {
		if err := c.redeclare(p, failed); err != nil {
			return err
		}
		if failed, err = c.settle(p, failed, o, false); err != nil {
			return err
		}
	}
	for _, call := range p.calls {
		if call.unseen == "" && slices.Contains(failed, call) {
			call.unseen = "it cannot be declared again: " + call.refused
		}
		if call.unseen == "" {
			continue
		}
		if call.pure {
			p.cannot("%s is pure virtual: %s", call.show(), call.unseen)
		} else {
			p.omit(call.show(), "%s", call.unseen)
		}
	}
	p.calls = slices.DeleteFunc(p.calls, func(c *call) bool { return c.unseen != "" })
	p.finish()
	return c.pointers(p)
}

func (o Options) componentOf(p *port) string {
	for _, name := range []string{p.name, p.inside} {
		if component := o.Components[name]; component != "" {
			return component
		}
	}
	switch {
	case o.Component != "":
		return o.Component
	case o.PerComponent:
		return o.headerName()
	}
	return lastName(p.name)
}

// matches tells whether a user means this function.
func (p *port) matches(c *call, text string) bool {
	text = strings.TrimPrefix(strings.ReplaceAll(text, " ", ""), "::")
	for _, of := range []string{p.name, c.class.name} {
		if strings.HasSuffix("::"+strings.ReplaceAll(of+"::"+c.name, " ", ""), "::"+text) {
			return true
		}
	}
	return false
}

// setType is given a function's type.
func (c *call) setType(p *port, typ string) {
	c.types = nil
	before, arguments, after, ok := splitFunction(typ)
	if !ok {
		return
	}
	for _, t := range splitArguments(arguments) {
		if t != "..." {
			c.types = append(c.types, vaList(t))
		}
	}
	c.before, c.after, c.result = before, after, strings.TrimSpace(before)
	if at := closing(after); at >= 0 { // the result is a pointer or reference to a function or an array
		c.result = before + after[at:]
		c.before, c.after = "auto ", after[:at]+" -> "+c.result
	} else if at := strings.Index(after, " -> "); at >= 0 {
		c.result = after[at+len(" -> "):]
	}
	if c.convertsTo != "" {
		c.name, c.before = "operator "+c.result, ""
	}
	if strings.Contains(typ, "__int128") {
		p.warn("[-Wpedantic]")
	}
}

// closing is the place of the bracket that was opened before the text; -1 if there is none.
func closing(s string) int {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '(', '<', '[':
			i = matching(s, i) - 1
		case ')':
			return i
		}
	}
	return -1
}

var vaListTag = pattern(`^(struct )?__va_list_tag \*$`)

// vaList writes the type that a va_list becomes as an argument, which only some compilers can name.
func vaList(typ string) string { return vaListTag().ReplaceAllString(typ, "va_list") }

func (c *call) nameArguments() {
	taken := map[string]bool{}
	for _, p := range c.params {
		taken[p.name] = true
	}
	for i, p := range c.params {
		name := p.name
		for n := fmt.Sprintf("arg%d", i+1); name == ""; n += "_" {
			if !taken[n] {
				name = n
			}
		}
		c.names = append(c.names, name)
	}
}

// declaration of the function with its first n arguments, without what follows it.
func (c *call) declaration(n int) (head string, arguments []string, tail string) {
	for i := range n {
		arguments = append(arguments, declare(c.types[i], c.names[i]))
	}
	if c.variadic {
		arguments = append(arguments, "...")
	}
	return c.before + c.name, arguments, c.after
}

// settle asks about functions as they are declared now, and about the class if wanted. It returns those
// whose declaration is not understood.
func (c *clang) settle(p *port, calls []*call, o Options, whole bool) ([]*call, error) {
	var q questions
	q.text("%s", traits)
	open, end := "", ""
	if p.namespace != "" {
		open, end = "namespace "+p.namespace+" {", "}"
	}
	if whole {
		q.ask("derive", "%s struct marple_derived : %s {}; %s", open, p.inside, end)
		q.ask("default", "%s struct marple_default : %s { marple_default() {} }; %s", open, p.inside, end)
		q.ask("copy", "%s struct marple_copy : %s { marple_copy(const %s &p) : %s(p) {} }; %s", open, p.inside, p.inside, p.inside, end)
		q.ask("destroy", "%s struct marple_destroy : %s { ~marple_destroy() {} }; %s", open, p.inside, end)
	}
	q.text("%s struct marple_members : %s {", open, p.inside)
	if whole {
		q.ask("std", "static_assert(::std::is_same_v<::std::true_type, std::true_type>);")
		q.ask("marple", "static_assert(::std::is_same_v<::marple::probe, marple::probe>);")
	}
	for i, call := range calls {
		c.askAbout(&q, p, i, call, o)
	}
	q.text("}; %s", end)
	a, err := c.answer(&q, "-Wdeprecated-declarations", "-Wignored-qualifiers", "-Wpedantic")
	if err != nil {
		return nil, err
	}
	if whole {
		p.settled(a)
	}
	var failed []*call
	for i, call := range calls {
		if message, no := a.errors[fmt.Sprint("m", i)]; no {
			call.refused = message
			failed = append(failed, call)
			continue
		}
		call.refused = ""
		if err := call.settled(p, i, a, o); err != nil {
			return nil, err
		}
		p.warn(a.warnings[fmt.Sprint("m", i)])
	}
	return failed, nil
}

func (p *port) settled(a answers) {
	if message, no := a.errors["derive"]; no {
		p.cannot("nothing can be derived from it: %s", message)
		return
	}
	if message, no := a.errors["destroy"]; no {
		p.cannot("what is derived from it cannot be destroyed: %s", message)
	}
	switch {
	case a.yes("default"):
	case a.yes("copy"):
		p.construct = "copy"
	default:
		p.construct = "arguments"
	}
	p.std, p.marple = "std::", "marple::"
	if !a.yes("std") {
		p.std = "::std::"
	}
	if !a.yes("marple") {
		p.marple = "::marple::"
	}
}

// Warnings that gcc and clang have in common, about what a proxy cannot but repeat.
var shared = pattern(`\[(-Wdeprecated-declarations|-Wignored-qualifiers|-Wpedantic)\]`)

func (p *port) warn(message string) {
	if m := shared().FindStringSubmatch(message); m != nil && !slices.Contains(p.warnings, m[1]) {
		p.warnings = append(p.warnings, m[1])
		slices.Sort(p.warnings)
	}
}

// askAbout writes the questions about the i-th function.
func (c *clang) askAbout(q *questions, p *port, i int, call *call, o Options) {
	head, arguments, tail := call.declaration(len(call.types))
	q.ask(fmt.Sprint("m", i), "%s(%s)%s override;", head, strings.Join(arguments, ", "), tail)
	for j, t := range call.types {
		tag := fmt.Sprintf("%d_%d", i, j)
		q.ask("number"+tag, "static_assert(marple_probe::number<%s>);", t)
		q.ask("sized"+tag, "static_assert(marple_probe::sized<%s>);", t)
		q.ask("complete"+tag, "static_assert(marple_probe::complete<%s>::value);", t)
		q.ask("passable"+tag, "static_assert(marple_probe::passable<%s>);", t)
		q.ask("scalar"+tag, "static_assert(::std::is_scalar_v<marple_probe::adjusted<%s>>);", t)
		q.ask("lvalue"+tag, "static_assert(::std::is_lvalue_reference_v<%s>);", t)
	}
	if strings.Contains(call.result, "decltype") { // of arguments, perhaps
		q.ask(fmt.Sprint("void", i), "static_assert(false);")
	} else {
		q.ask(fmt.Sprint("result", i), "static_assert(marple_probe::complete<%s>::value);", call.result)
		q.ask(fmt.Sprint("void", i), "static_assert(::std::is_void_v<%s>);", call.result)
	}
	for j, parameter := range o.Parameters {
		if parameter.Expression != "" && p.matches(call, parameter.Method) {
			q.ask(fmt.Sprintf("parameter%d_%d", i, j), "void marple_%d_%d(%s)%s { static_assert(marple_probe::value<decltype(%s)>); }",
				i, j, strings.Join(arguments, ", "), qualifiers(call.method), parameter.Expression)
		}
	}
}

// qualifiers without references, for a function that is only asked about.
func qualifiers(m *method) string {
	return strings.ReplaceAll(m.qualifiers, "&", "")
}

// settled takes the answers about the i-th function.
func (c *call) settled(p *port, i int, a answers, o Options) error {
	c.passed, c.values = nil, nil
	for j, name := range c.names {
		tag := fmt.Sprintf("%d_%d", i, j)
		switch {
		case !a.yes("complete" + tag):
			c.unseen = fmt.Sprintf("%s is passed by value, and its definition is not seen: include it with --include", c.types[j])
		case !a.yes("passable" + tag):
			c.refused = fmt.Sprintf("%s is passed by value, and can be neither moved nor copied", c.types[j])
		}
		if a.yes("lvalue" + tag) {
			c.passed = append(c.passed, name)
		} else if a.yes("scalar" + tag) {
			c.passed = append(c.passed, name)
		} else {
			c.passed = append(c.passed, p.std+"move("+name+")")
		}
		switch {
		case a.yes("number" + tag):
			c.values = append(c.values, value{name, name})
		case a.yes("sized" + tag):
			c.values = append(c.values, value{name + ".size", name + ".size()"})
		}
	}
	c.void = a.yes(fmt.Sprint("void", i))
	if !a.yes(fmt.Sprint("result", i)) {
		c.unseen = fmt.Sprintf("%s is returned by value, and its definition is not seen: include it with --include", c.result)
	}
	if c.variadic {
		c.refused = "C variadic arguments cannot be passed on"
	}
	named := false
	for j, parameter := range o.Parameters {
		if !p.matches(c, parameter.Method) {
			continue
		}
		if !named {
			c.values = nil
		}
		named = true
		if parameter.Expression == "" {
			continue
		}
		if message, no := a.errors[fmt.Sprintf("parameter%d_%d", i, j)]; !no {
			c.values = append(c.values, value{parameter.Name, parameter.Expression})
		} else if !p.overloaded(c) {
			return usage("parameter %s of %s::%s: %q: %s", parameter.Name, p.name, c.name, parameter.Expression, message)
		}
	}
	return nil
}

// overloaded tells whether a class of the port has another function of this name.
func (p *port) overloaded(c *call) bool {
	for _, k := range p.hierarchy() {
		for _, m := range k.methods {
			if m != c.method && m.name == c.method.name && m.key != c.key {
				return true
			}
		}
	}
	return false
}

// rivalled tells whether another function differs in taking an argument by value or by reference only, so that a
// call may mean either.
func (p *port) rivalled(c *call) bool {
	for _, k := range p.hierarchy() {
		for _, m := range k.methods {
			if m.name != c.method.name || len(m.args) != len(c.args) || m.key == c.key {
				continue
			}
			for j, mine := range c.args {
				theirs := m.args[j]
				if bareType(mine) == bareType(theirs) && strings.HasSuffix(mine, "&") != strings.HasSuffix(theirs, "&") {
					return true
				}
			}
		}
	}
	return false
}

// bareType is a canonical type without reference and const.
func bareType(t string) string {
	return strings.TrimSuffix(strings.TrimRight(t, "&"), " const")
}

// canonical are the canonical types of functions, which mean the same everywhere, without qualifiers; "" of
// those that the compiler cannot tell.
func (c *clang) canonical(calls []*call) ([]string, error) {
	var q questions
	q.text("namespace marple_probe { template <int, class> struct canonical;")
	for i, call := range calls {
		var arguments []string
		for _, a := range call.args {
			arguments = append(arguments, rooted(a))
		}
		list := strings.Join(arguments, ", ")
		name := call.method.name
		if call.convertsTo != "" {
			name = "operator " + rooted(call.convertsTo)
		}
		class := "::" + strings.TrimPrefix(call.class.name, "::")
		q.ask(fmt.Sprint("c", i), "template <class R> canonical<%d, R (%s)> pick_%d(R (%s::*)(%s)%s); using type_%d = decltype(pick_%d(&%s::%s));",
			i, list, i, class, list, call.qualifiers, i, i, class, name)
	}
	q.text("}")
	nodes, _, err := c.dump(q.source.String(), "marple_probe::canonical", "-fno-access-control")
	types := make([]string, len(calls))
	for _, n := range nodes {
		for _, special := range n.Inner {
			if special.Kind != "ClassTemplateSpecializationDecl" || len(special.Inner) < 2 {
				continue
			}
			if i, ok := special.Inner[0].Value.(float64); ok && int(i) >= 0 && int(i) < len(calls) {
				types[int(i)] = rooted(special.Inner[1].Type.QualType)
			}
		}
	}
	return types, err
}

// redeclare gives functions their canonical types.
func (c *clang) redeclare(p *port, calls []*call) error {
	types, err := c.canonical(calls)
	for i, call := range calls {
		if types == nil || types[i] == "" {
			continue
		}
		noexcept := ""
		if at := strings.Index(call.after, "noexcept"); at >= 0 {
			noexcept = " " + call.after[at:]
		}
		call.setType(p, types[i]+call.qualifiers+noexcept)
	}
	return err
}

// pointers finds the types of pointers to functions that are not public and that their names do not tell apart.
func (c *clang) pointers(p *port) error {
	var list []*call
	for _, call := range p.calls {
		if call.access != "public" && p.overloaded(call) {
			list = append(list, call)
		}
	}
	if len(list) == 0 {
		return nil
	}
	types, err := c.canonical(list)
	for i, call := range list {
		if before, arguments, after, ok := splitFunction(types[i]); ok {
			call.pointer = before + "(" + p.fromRoot(call.class) + "::*)" + arguments + after + call.qualifiers
		}
	}
	return err
}

// finish is what follows from all that is settled.
func (p *port) finish() {
	count := map[string]int{}
	for _, c := range p.calls {
		count[c.name]++
	}
	existing := map[string]bool{}
	for _, k := range p.hierarchy() {
		for _, m := range k.methods {
			existing[m.key] = true
		}
	}
	for _, c := range p.calls {
		c.label = c.name
		if count[c.name] > 1 {
			c.label += "(" + strings.Join(c.types, ", ") + ")" + c.qualifiers
		}
		if slices.Contains(c.attributes, "deprecated") {
			p.warn("[-Wdeprecated-declarations]")
		}
		for n := len(c.params) - 1; n >= 0 && c.params[n].hasDefault && c.access == "public" && c.refused == ""; n-- {
			key := keyName(c.key) + "(" + strings.Join(c.args[:n], ", ") + ")" + c.qualifiers
			if !existing[key] {
				c.defaults = append(c.defaults, n)
			}
		}
		if c.refused != "" {
			p.omit(c.show(), "%s", c.refused)
		} else if c.access == "private" {
			p.omit(c.show(), "private: forwarded and recorded where the port's own functions call it")
		}
	}
	if !slices.ContainsFunc(p.calls, func(c *call) bool { return c.refused == "" }) {
		p.cannot("none of its functions can be forwarded")
	}
	p.calls = slices.DeleteFunc(p.calls, func(c *call) bool { return c.refused != "" && !c.pure })
	for _, c := range p.calls {
		if !slices.Contains(p.uses, c.name) && c.convertsTo == "" && p.inherits(c) {
			p.uses = append(p.uses, c.name)
		}
	}
}

func keyName(key string) string {
	name := key
	if rest, ok := strings.CutPrefix(key, "operator()"); ok {
		return "operator()" + rest[:strings.IndexByte(rest, '(')]
	}
	if at := strings.IndexByte(key, '('); at >= 0 {
		name = key[:at]
	}
	return name
}

// inherits tells whether the port has further functions of this name, which the proxy would hide.
func (p *port) inherits(c *call) bool {
	found := false
	for _, k := range p.hierarchy() {
		for _, m := range k.methods {
			if m.name != c.method.name || slices.ContainsFunc(p.calls, func(x *call) bool { return x.key == m.key && !m.template }) {
				continue
			}
			if m.access != "public" {
				return false
			}
			found = true
		}
	}
	return found
}
