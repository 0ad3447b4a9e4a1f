package tauprofile

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The format separates functions by =>, ends names at a quote and lines at a newline, and puts places into
// [{file} {line}]; readers know other marks still, and trim. So in files that Marple writes, what could be taken for
// any of that is percent-encoded, and an attribute says so.

const hexDigits = "0123456789ABCDEF"

// escape encodes a name, or the file of a place.
func escape(name string) string {
	if name == "" {
		return "%"
	}
	var b strings.Builder
	for i := 0; i < len(name); {
		r, size := utf8.DecodeRuneInString(name[i:])
		if special(name, i, r, size) {
			for _, c := range []byte(name[i : i+size]) {
				b.Write([]byte{'%', hexDigits[c>>4], hexDigits[c&15]})
			}
		} else {
			b.WriteString(name[i : i+size])
		}
		i += size
	}
	return b.String()
}

func special(name string, i int, r rune, size int) bool {
	edge := i == 0 || i+size == len(name)
	switch r {
	case '"':
		return true
	case '%': // what follows could be taken for a code
		return len(name) == 1 || i+2 < len(name) && isHex(name[i+1]) && isHex(name[i+2])
	case '{': // places begin with [{, and their files end at "} {"
		return i > 0 && name[i-1] == '['
	case '}':
		return i+1 < len(name) && name[i+1] == ' '
	case ' ', '.':
		return edge && !(r == '.' && i == 0 && len(name) > 1) // readers trim the one, and look for a line behind the other
	case '>':
		return i > 0 && name[i-1] == '='
	case '@':
		return i > 0 && name[i-1] == '['
	}
	return unicode.IsControl(r) || unicode.IsSpace(r) || r == utf8.RuneError && size == 1
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

// unescape is the inverse of escape. What is no code stays as it is.
func unescape(text string) string {
	if text == "%" {
		return ""
	}
	if !strings.Contains(text, "%") {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '%' && i+2 < len(text) {
			if c, err := strconv.ParseUint(text[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(c))
				i += 2
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// text is a step as it stands in a file.
func (s Step) text() string {
	if s.File == "" {
		return escape(s.Name)
	}
	return fmt.Sprintf("%s [{%s} {%d}]", escape(s.Name), escape(s.File), s.Line)
}

const arrow = " => "

// parsePath is the inverse of texts joined by arrows. Instrumented functions of other tools have ranges of lines
// and columns, of which the first line is taken: foo [{foo.c} {12,1}-{20,1}].
func parsePath(text string, escaped bool) []Step {
	var path []Step
	for _, part := range strings.Split(text, "=>") {
		s := Step{Name: strings.TrimSpace(part)}
		if at := strings.LastIndex(s.Name, " [{"); at >= 0 && strings.HasSuffix(s.Name, "}]") {
			file, lines, found := strings.Cut(s.Name[at+3:len(s.Name)-1], "} {")
			first := strings.TrimLeft(lines, "{")
			if end := strings.IndexFunc(first, func(r rune) bool { return r < '0' || r > '9' }); end >= 0 {
				first = first[:end]
			}
			if line, err := strconv.Atoi(first); found && err == nil && file != "" {
				s = Step{strings.TrimSpace(s.Name[:at]), file, line}
			}
		}
		if escaped {
			s.Name, s.File = unescape(s.Name), unescape(s.File)
		}
		path = append(path, s)
	}
	return path
}
