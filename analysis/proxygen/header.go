package proxygen

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// headerName is the header's name without its ending, as an identifier.
func (o Options) headerName() string {
	name := filepath.Base(o.Header)
	name = strings.TrimSuffix(name, filepath.Ext(name))
	return plainName(name)
}

// abstractClasses are those that the header itself defines. Which words might be class names is read off its
// text, behind the preprocessor; whether they are is asked.
func (c *clang) abstractClasses() ([]string, error) {
	text, stderr, err := c.run("", "-E")
	if err != nil && len(stderr) == 0 {
		return nil, err
	}
	if err := c.complaint(diagnostics(stderr)); err != nil {
		return nil, err
	}
	candidates := definedClasses(ownLines(string(text), c.header))
	var q questions
	q.text("#include <type_traits>")
	for i, name := range candidates {
		q.ask(fmt.Sprint("abstract", i), "static_assert(std::is_abstract_v<::%s>);", name)
	}
	a, err := c.answer(&q)
	if err != nil {
		return nil, err
	}
	var names []string
	for i, name := range candidates {
		if a.yes(fmt.Sprint("abstract", i)) {
			names = append(names, name)
		}
	}
	return names, nil
}

var lineMarker = pattern(`^# \d+ "((?:[^"\\]|\\.)*)"`)

// ownLines are the lines of preprocessed text that come from a file itself, and not from what it includes.
func ownLines(text, file string) string {
	var b strings.Builder
	own := false
	for line := range strings.Lines(text) {
		if m := lineMarker().FindStringSubmatch(line); m != nil {
			own = strings.NewReplacer(`\\`, `\`, `\"`, `"`).Replace(m[1]) == file
		} else if own {
			b.WriteString(line)
		}
	}
	return b.String()
}

var (
	tokens = pattern(`(?s)//[^\n]*|/\*.*?\*/|R"([^()\\ ]*)\(.*?\)|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|(?m:^[ \t]*#(?:\\\r?\n|[^\n])*)|[\pL_][\pL\pN_]*|::|\[\[.*?\]\]|\S`)
	word   = pattern(`^[\pL_][\pL\pN_]*$`)
)

// pattern is compiled when it is first used: every process that marple exec starts would pay for it.
func pattern(s string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(s) })
}

// definedClasses lists the classes defined in a text, by qualified name, but templates.
func definedClasses(text string) []string {
	var list []string
	var open []scope
	var words []string // since the last ; { or }
	for _, token := range tokens().FindAllString(text, -1) {
		switch {
		case strings.HasPrefix(token, "//"), strings.HasPrefix(token, "/*"), strings.HasPrefix(strings.TrimSpace(token), "#"), strings.HasPrefix(token, "[["):
		case token == "{":
			s, class := begin(words, open)
			if class != "" {
				list = append(list, class)
			}
			open = append(open, s)
			words = nil
		case token == "}":
			if len(open) > 0 {
				open = open[:len(open)-1]
			}
			words = nil
		case token == ";":
			words = nil
		case token == ":" && len(words) == 1: // public:
			words = nil
		default:
			words = append(words, token)
		}
	}
	return list
}

// scope is what braces are around.
type scope struct {
	name   string // "" of what has no name
	hidden bool   // a function, a template, ...
}

// begin is the scope that words begin within open ones, and the class that it defines, which others can see; "": none.
func begin(words []string, open []scope) (s scope, class string) {
	name, kind := defines(words)
	if kind == "" {
		return scope{hidden: true}, ""
	}
	s = scope{name: name, hidden: kind == "template"}
	if kind != "class" {
		return s, ""
	}
	for _, around := range slices.Backward(open) {
		s.hidden = s.hidden || around.hidden
		if around.name != "" {
			name = around.name + "::" + name
		}
	}
	if s.hidden {
		return s, ""
	}
	return s, name
}

// defines tells what the words before a { define: a namespace, a class or a template of classes.
func defines(words []string) (name, kind string) {
	for i, w := range words {
		switch w {
		case "namespace":
			return strings.Join(words[i+1:], ""), "namespace"
		case "extern":
			if len(words) == 2 && strings.HasPrefix(words[1], `"`) {
				return "", "namespace"
			}
		case "enum", "union", "(", "=":
			return "", ""
		case "template":
			return "", "template"
		case "class", "struct":
			for _, next := range words[i+1:] {
				if next == ":" {
					break
				}
				if next == "<" { // a specialisation
					return "", "template"
				}
				if word().MatchString(next) && next != "final" {
					name = next
				}
			}
			return name, "class"
		}
	}
	return "", ""
}
