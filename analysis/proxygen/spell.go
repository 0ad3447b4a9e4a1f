package proxygen

import (
	"strings"
)

// Types are handled as the text that clang prints for them. That text is C++, in which a declaration's name
// has its place: this file finds it, and nothing else is taken apart.

func isWord(c byte) bool {
	return c == '_' || c >= 0x80 || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// matching is the position behind the bracket that closes the one at i. Angle brackets count as such but in
// parentheses, where they compare.
func matching(s string, i int) int {
	var open []byte
	for ; i < len(s); i++ {
		switch c := s[i]; c {
		case '(', '[', '{':
			open = append(open, c)
		case '<':
			if len(open) == 0 || open[len(open)-1] == '<' {
				open = append(open, c)
			} else if !strings.ContainsAny(s[i:min(i+2, len(s))], "= ") { // a template's, in a type in parentheses
				open = append(open, c)
			}
		case '>':
			if i > 0 && s[i-1] != '-' && len(open) > 0 && open[len(open)-1] == '<' {
				open = open[:len(open)-1]
			}
		case ')', ']', '}':
			for len(open) > 0 && open[len(open)-1] == '<' {
				open = open[:len(open)-1]
			}
			if len(open) > 0 {
				open = open[:len(open)-1]
			}
		case '\'', '"':
			for i++; i < len(s) && s[i] != c; i++ {
				if s[i] == '\\' {
					i++
				}
			}
		}
		if len(open) == 0 {
			return i + 1
		}
	}
	return len(s)
}

var pointerOperator = pattern(`^(&&|[&*^]|(?:::)?[A-Za-z_])`)

// operatorEnd tells whether a pointer operator begins at i: *, &, && or Class::*, and where it ends.
func operatorEnd(s string, i int) (int, bool) {
	if !pointerOperator().MatchString(s[i:]) {
		return i, false
	}
	switch {
	case strings.HasPrefix(s[i:], "&&"):
		return i + 2, true
	case s[i] == '*' || s[i] == '&' || s[i] == '^':
		return i + 1, true
	}
	for i < len(s) {
		for i < len(s) && (isWord(s[i]) || s[i] == ':') {
			i++
		}
		switch {
		case i < len(s) && s[i] == '*' && strings.HasSuffix(s[:i], "::"):
			return i + 1, true
		case i < len(s) && s[i] == '<':
			i = matching(s, i)
		default:
			return i, false
		}
	}
	return i, false
}

// declarator is the place of the name in a declaration of this type.
func declarator(s string) int {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '<':
			i = matching(s, i) - 1
		case '[':
			return i
		case '(':
			if i > 0 && isWord(s[i-1]) { // decltype(...)
				i = matching(s, i) - 1
				continue
			}
			if _, ok := operatorEnd(s, i+1); ok {
				return inGroup(s, i+1)
			}
			return i
		}
	}
	return len(s)
}

// inGroup is the place of the name behind the pointer operators at i.
func inGroup(s string, i int) int {
	for i < len(s) {
		if end, ok := operatorEnd(s, i); ok {
			i = end
			continue
		}
		switch {
		case s[i] == ' ':
			i++
		case isWord(s[i]): // const, volatile, __restrict
			for i < len(s) && isWord(s[i]) {
				i++
			}
		case s[i] == '(':
			if _, ok := operatorEnd(s, i+1); ok {
				i++
				continue
			}
			return i
		default:
			return i
		}
	}
	return i
}

// declare puts a name into a type.
func declare(typ, name string) string {
	at := declarator(typ)
	before := typ[:at]
	if at > 0 && (isWord(typ[at-1]) || typ[at-1] == '>' || typ[at-1] == ')') {
		before += " "
	}
	return before + name + typ[at:]
}

// splitFunction takes a function's type apart: what comes before the name, the arguments in parentheses, and
// what comes behind. False if it is no function's.
func splitFunction(typ string) (before, arguments, after string, ok bool) {
	at := declarator(typ)
	if at >= len(typ) || typ[at] != '(' {
		return "", "", "", false
	}
	end := matching(typ, at)
	return typ[:at], typ[at:end], typ[end:], true
}

// arguments are the types in a list in parentheses.
func splitArguments(list string) []string {
	list = strings.TrimSuffix(strings.TrimPrefix(list, "("), ")")
	var types []string
	start := 0
	for i := 0; i < len(list); i++ {
		switch list[i] {
		case '<', '(', '[', '{':
			i = matching(list, i) - 1
		case ',':
			types = append(types, strings.TrimSpace(list[start:i]))
			start = i + 1
		}
	}
	if last := strings.TrimSpace(list[start:]); last != "" && last != "void" {
		types = append(types, last)
	}
	return types
}

// Words of types that are no names.
var keywords = map[string]bool{}

func init() {
	for _, word := range strings.Fields(`const volatile unsigned signed long short int char bool float double void auto struct class union
		enum typename wchar_t char8_t char16_t char32_t __int128 _Bool noexcept true false nullptr sizeof restrict __restrict decltype
		__float128 _Complex operator`) {
		keywords[word] = true
	}
}

var identifier = pattern(`[\pL_][\pL\pN_]*`)

// rooted names everything from the global namespace, so that it means the same wherever it stands.
func rooted(typ string) string {
	var b strings.Builder
	last := 0
	for _, m := range identifier().FindAllStringIndex(typ, -1) {
		from, to := m[0], m[1]
		if keywords[typ[from:to]] || strings.HasSuffix(typ[:from], "::") || from > 0 && isWord(typ[from-1]) {
			continue
		}
		b.WriteString(typ[last:from])
		b.WriteString("::")
		last = from
	}
	b.WriteString(typ[last:])
	return b.String()
}
