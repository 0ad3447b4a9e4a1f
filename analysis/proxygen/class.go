package proxygen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ianlancetaylor/demangle"
)

// class is one that is a port, or one of its bases.
type class struct {
	name     string // as the compiler writes it, from the global namespace
	identity string // the same for the same class, however it was named
	bases    []base
	methods  []*method
	fields   []field
}

type base struct {
	*class
	access  string
	virtual bool
}

type field struct{ name, access string }

// method is a member function.
type method struct {
	class      *class
	name       string
	access     string
	key        string   // the same in a class and in a base whose function it overrides
	args       []string // canonical types of its arguments
	qualifiers string   // const, volatile, & and &&
	convertsTo string   // canonical type of a conversion function

	written string // its type, as clang writes it
	params  []parameter

	virtual, pure, final, deleted, variadic, static, template bool
	attributes                                                []string
}

type parameter struct {
	name, typ  string
	hasDefault bool
}

// lastName is the last identifier of a class name, without template arguments.
func lastName(class string) string {
	depth, end := 0, len(class)
	for i := len(class) - 1; i >= 0; i-- {
		switch c := class[i]; {
		case c == '>':
			depth++
		case c == '<':
			if depth--; depth == 0 {
				end = i
			}
		case depth == 0 && c == ':':
			return strings.TrimSpace(class[i+1 : end])
		}
	}
	return strings.TrimSpace(class[:end])
}

var className = pattern(`^[^\x00-\x1f"\\;{}#=]+$`)

// find reads a class and its bases. The name is taken from the global namespace. Further questions may be asked
// on the way.
func (c *clang) find(name string, ask func(*questions)) (*class, answers, error) {
	none := answers{}
	if !className().MatchString(name) || lastName(name) == "" {
		return nil, none, usage("%q is no class name", name)
	}
	last := lastName(name)
	var q questions
	q.text("#include <type_traits>")
	ask(&q)
	q.ask("kind", "static_assert(std::is_class_v<::%s>);", name)
	q.ask("polymorphic", "static_assert(std::is_polymorphic_v<::%s>);", name)
	q.ask("class", "namespace marple_probe { void %s_marple(::%s *); inline constexpr unsigned long size = sizeof(::%s); }", last, name, name)
	nodes, list, err := c.dump(q.source.String(), last, "-fno-access-control")
	if err != nil {
		return nil, none, err
	}
	a, err := c.collect(list)
	if err != nil {
		return nil, none, err
	}
	if message, no := a.errors["class"]; no {
		return nil, none, usage("%s: no class %s that is defined there: %s", c.shown, name, message)
	}
	identity := ""
	for _, n := range nodes {
		if n.Kind == "FunctionDecl" && n.Name == last+"_marple" {
			identity = pointee(n.MangledName)
		}
	}
	if identity == "" || !a.yes("kind") {
		return nil, none, usage("%s: %s is no class", c.shown, name)
	}
	if known := c.classes[identity]; known != nil {
		return known, a, nil
	}
	found := record(nodes, identity)
	// The name may have been an alias, and what is inside of templates is shown with them only.
	parts := splitName(identity)
	for i := len(parts) - 1; i >= 0 && found == nil; i-- {
		if filter := lastName(parts[i]); filter != last && filter != "" {
			if nodes, _, err = c.dump(q.source.String(), filter, "-fno-access-control"); err != nil {
				return nil, none, err
			}
			found = record(nodes, identity)
		}
		if !a.yes("polymorphic") {
			break
		}
	}
	if found == nil && a.yes("polymorphic") {
		return nil, none, fmt.Errorf("%s: the definition of %s cannot be read", c.shown, name)
	}
	k := &class{name: name, identity: identity}
	c.classes[identity] = k
	if found == nil {
		return k, a, nil // it has no functions
	}
	return k, a, c.read(k, found)
}

// pointee is the class that the only argument of a function points to.
func pointee(mangled string) string {
	ast, err := demangle.ToAST(mangled)
	if err != nil {
		return ""
	}
	typed, ok := ast.(*demangle.Typed)
	if !ok {
		return ""
	}
	f, ok := typed.Type.(*demangle.FunctionType)
	if !ok || len(f.Args) != 1 {
		return ""
	}
	p, ok := f.Args[0].(*demangle.PointerType)
	if !ok {
		return ""
	}
	return demangle.ASTToString(p.Base)
}

// record finds a class's definition.
func record(nodes []node, identity string) *node {
	for i := range nodes {
		n := &nodes[i]
		switch n.Kind {
		case "CXXRecordDecl", "ClassTemplateSpecializationDecl":
			if n.CompleteDefinition && scopeOf(n) == identity {
				return n
			}
		case "ClassTemplateDecl", "NamespaceDecl", "LinkageSpecDecl":
		default:
			continue
		}
		if found := record(n.Inner, identity); found != nil {
			return found
		}
	}
	return nil
}

// scopeOf is the identity of a class, told by the mangled name of one of its functions.
func scopeOf(n *node) string {
	for i := range n.Inner {
		if mangled := n.Inner[i].MangledName; mangled != "" {
			if s, err := readSignature(mangled); err == nil {
				return s.scope
			}
		}
	}
	return ""
}

// signature is what a mangled name tells of a member function.
type signature struct {
	scope      string
	key        string
	args       []string
	qualifiers string
	convertsTo string
}

func readSignature(mangled string) (signature, error) {
	ast, err := demangle.ToAST(mangled)
	if err != nil {
		return signature{}, err
	}
	typed, ok := ast.(*demangle.Typed)
	if !ok {
		return signature{}, fmt.Errorf("%s: no function", mangled)
	}
	var s signature
	typ, name := typed.Type, typed.Name
	// Qualifiers may wrap the type or the name.
	for range 2 {
		if m, ok := typ.(*demangle.MethodWithQualifiers); ok {
			typ = m.Method
			s.addQualifiers(m)
		}
		if m, ok := name.(*demangle.MethodWithQualifiers); ok {
			name = m.Method
			s.addQualifiers(m)
		}
	}
	f, ok := typ.(*demangle.FunctionType)
	if !ok {
		return s, fmt.Errorf("%s: no function type", mangled)
	}
	q, ok := name.(*demangle.Qualified)
	if !ok {
		return s, fmt.Errorf("%s: no member", mangled)
	}
	s.scope = demangle.ASTToString(q.Scope)
	for _, a := range f.Args {
		if text := demangle.ASTToString(a); text != "void" || len(f.Args) > 1 {
			s.args = append(s.args, text)
		}
	}
	last := q.Name
	if t, ok := last.(*demangle.TaggedName); ok {
		last = t.Name
	}
	if cast, ok := last.(*demangle.Cast); ok {
		s.convertsTo = demangle.ASTToString(cast.To)
	}
	s.key = demangle.ASTToString(last) + "(" + strings.Join(s.args, ", ") + ")" + s.qualifiers
	return s, nil
}

func (s *signature) addQualifiers(m *demangle.MethodWithQualifiers) {
	if m.Qualifiers != nil {
		words := strings.Fields(demangle.ASTToString(m.Qualifiers))
		slices.Sort(words)
		for _, word := range words {
			if word == "const" || word == "volatile" {
				s.qualifiers += " " + word
			}
		}
	}
	if m.RefQualifier != "" {
		s.qualifiers += " " + m.RefQualifier
	}
}

// Attributes that mean something to those who call a proxy.
var attributeNames = map[string]string{
	"WarnUnusedResultAttr": "nodiscard", "DeprecatedAttr": "deprecated",
}

func (c *clang) read(k *class, n *node) error {
	access := "private"
	if n.TagUsed != "class" {
		access = "public"
	}
	for i := range n.Inner {
		member := &n.Inner[i]
		switch member.Kind {
		case "AccessSpecDecl":
			access = member.Access
		case "FieldDecl":
			k.fields = append(k.fields, field{member.Name, access})
		case "FunctionTemplateDecl":
			if len(member.Inner) > 0 && !strings.HasPrefix(member.Name, "~") && !constructs(member) {
				k.methods = append(k.methods, &method{class: k, name: member.Name, access: access, template: true})
			}
		case "CXXMethodDecl", "CXXConversionDecl":
			if m, err := readMethod(k, member, access); err != nil {
				return fmt.Errorf("%s::%s: %w", k.name, member.Name, err)
			} else if !member.IsImplicit || m.virtual {
				k.methods = append(k.methods, m)
			}
		}
	}
	for _, b := range n.Bases {
		name := b.Type.DesugaredQualType
		if name == "" {
			name = b.Type.QualType
		}
		name = strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(name, "class "), "struct "), "::")
		found, _, err := c.find(name, func(*questions) {})
		if err != nil {
			return fmt.Errorf("%s: its base: %w", k.name, err)
		}
		k.bases = append(k.bases, base{found, b.Access, b.IsVirtual})
	}
	return nil
}

func constructs(template *node) bool {
	return slices.ContainsFunc(template.Inner, func(n node) bool { return n.Kind == "CXXConstructorDecl" })
}

func readMethod(k *class, n *node, access string) (*method, error) {
	s, err := readSignature(n.MangledName)
	if err != nil {
		return nil, err
	}
	written := n.Type.QualType
	if _, _, _, ok := splitFunction(written); !ok { // a typedef of a function's type
		written = n.Type.DesugaredQualType
	}
	m := &method{class: k, name: n.Name, access: access, key: s.key, args: s.args, qualifiers: s.qualifiers, convertsTo: s.convertsTo,
		written: strings.Replace(written, " throw()", " noexcept", 1),
		virtual: n.Virtual, pure: n.Pure, deleted: n.ExplicitlyDeleted, variadic: n.Variadic, static: n.StorageClass == "static"}
	for i := range n.Inner {
		switch inner := &n.Inner[i]; inner.Kind {
		case "ParmVarDecl":
			m.params = append(m.params, parameter{inner.Name, vaList(inner.Type.QualType), inner.Init != ""})
		case "FinalAttr":
			m.final = true
		case "OverrideAttr":
			m.virtual = true
		default:
			if a := attributeNames[inner.Kind]; a != "" && !slices.Contains(m.attributes, a) {
				m.attributes = append(m.attributes, a)
			}
		}
	}
	slices.Sort(m.attributes)
	return m, nil
}

// hierarchy lists a class and its bases, each before its own bases.
func (k *class) hierarchy() []*class {
	var list []*class
	seen := map[*class]bool{}
	var visit func(*class)
	visit = func(k *class) {
		if seen[k] {
			return
		}
		seen[k] = true
		for i := len(k.bases) - 1; i >= 0; i-- {
			visit(k.bases[i].class)
		}
		list = append(list, k)
	}
	visit(k)
	slices.Reverse(list)
	return list
}

// paths are the ways from a class up to one of its bases, itself first. What is behind a virtual base is
// the same whichever way it is reached, so that one of these is enough.
func (k *class) paths(to *class) [][]base {
	if k == to {
		return [][]base{{}}
	}
	var all [][]base
	virtually := false
	for _, b := range k.bases {
		for _, rest := range b.paths(to) {
			way := append([]base{b}, rest...)
			if b.virtual || slices.ContainsFunc(rest, func(b base) bool { return b.virtual }) {
				if virtually {
					continue
				}
				virtually = true
			}
			all = append(all, way)
		}
	}
	return all
}

// access of what a class inherits along a way.
func access(way []base) string {
	worst := "public"
	for _, b := range way {
		if b.access == "private" || worst == "private" {
			worst = "private"
		} else if b.access == "protected" {
			worst = "protected"
		}
	}
	return worst
}
