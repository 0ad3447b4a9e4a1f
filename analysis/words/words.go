// Package words writes figures for people, the same way everywhere. It uses the standard library only.
package words

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Duration prints seconds with three digits.
func Duration(s float64) string {
	switch {
	case s >= 1:
		return digits(s) + " s"
	case s >= 1e-3:
		return digits(s*1e3) + " ms"
	case s >= 1e-6:
		return digits(s*1e6) + " µs"
	}
	return fmt.Sprintf("%.0f ns", s*1e9)
}

// Size prints bytes with three digits.
func Size(bytes float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1 << 40, "TiB"}, {1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if bytes >= unit.size {
			return digits(bytes/unit.size) + " " + unit.name
		}
	}
	return fmt.Sprintf("%.0f B", bytes)
}

func digits(x float64) string {
	switch {
	case x >= 100:
		return Number(uint64(x + 0.5))
	case x >= 10:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.2f", x)
}

// Percent prints a share from 0 to 1.
func Percent(share float64) string {
	if share > 0 && share < 0.0095 {
		return fmt.Sprintf("%.1f %%", 100*share)
	}
	return fmt.Sprintf("%.0f %%", 100*share)
}

// Number prints 1234567 as 1,234,567.
func Number(n uint64) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// Real prints a number of any size and sign: whole ones as Number does, others with four digits.
func Real(x float64) string {
	switch {
	case x < 0:
		return "-" + Real(-x)
	case x == math.Trunc(x) && x < 1e15, x >= 1000 && x < 1e15:
		return Number(uint64(x + 0.5))
	}
	return strconv.FormatFloat(x, 'g', 4, 64)
}

// Counted is a text about n things: %d is their number, and {one|many} the form that it asks for.
func Counted(text string, n uint64) string {
	text = forms.ReplaceAllStringFunc(text, func(both string) string {
		one, many, _ := strings.Cut(both[1:len(both)-1], "|")
		return Plural(int(min(n, 2)), one, many)
	})
	return strings.ReplaceAll(text, "%d", Number(n))
}

var forms = regexp.MustCompile(`\{[^{}|]*\|[^{}|]*\}`)

// Count prints a number with the right form of its noun.
func Count(n uint64, one, many string) string { return Number(n) + " " + Plural(int(n), one, many) }

// Plural chooses a word's form.
func Plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// Ranks is "rank 3", "ranks 0 and 5" or "ranks 0, 1, 2 and 4 more".
func Ranks(ranks []int) string {
	const most = 4
	if len(ranks) == 0 {
		return "some ranks"
	}
	var named []string
	for _, r := range ranks[:min(len(ranks), most)] {
		named = append(named, fmt.Sprint(r))
	}
	last := named[len(named)-1]
	named = named[:len(named)-1]
	if len(ranks) > most {
		last = fmt.Sprintf("%d more", len(ranks)-most+1)
	}
	if len(named) == 0 {
		return "rank " + last
	}
	return "ranks " + strings.Join(named, ", ") + " and " + last
}

// Spans is "rank 3", "ranks 0-3" or "ranks 0, 4-7, 12 and 29 more", of rising ranks.
func Spans(ranks []int) string {
	const most = 8
	var named []string
	i := 0
	for i < len(ranks) && len(named) < most {
		last := i
		for last+1 < len(ranks) && ranks[last+1] == ranks[last]+1 {
			last++
		}
		text := fmt.Sprint(ranks[i])
		if last > i {
			text += fmt.Sprintf("-%d", ranks[last])
		}
		named, i = append(named, text), last+1
	}
	text := Plural(len(ranks), "rank ", "ranks ") + strings.Join(named, ", ")
	if i < len(ranks) {
		text += fmt.Sprintf(" and %d more", len(ranks)-i)
	}
	return text
}

// Width is the number of columns a text takes.
func Width(s string) int { return utf8.RuneCountInString(s) }

// mostOfWord is how many lines a word that is longer than a line may take.
const mostOfWord = 12

// together stands for a space at which no line is broken.
const together = "\x00"

// Wrap breaks a text into lines of at most width columns, but not before a percent sign. Words longer than that are cut,
// those much longer in the middle.
func Wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(strings.ReplaceAll(text, " %", together+"%")) {
		word = strings.ReplaceAll(word, together, " ")
		if Width(word) > width && line != "" {
			lines, line = append(lines, line), ""
		}
		if Width(word) > width {
			runes := []rune(Fit(word, mostOfWord*width))
			for ; len(runes) > width; runes = runes[width:] {
				lines = append(lines, string(runes[:width]))
			}
			word = string(runes)
		}
		switch {
		case line == "":
			line = word
		case Width(line)+1+Width(word) <= width:
			line += " " + word
		default:
			lines, line = append(lines, line), word
		}
	}
	return append(lines, line)
}

// Fit cuts a text to width columns, with an ellipsis in the middle, since both ends matter in names. Of what has no room
// at all nothing is left.
func Fit(s string, width int) string {
	if width < 1 {
		return ""
	}
	runes := []rune(s)
	if len(runes) <= width {
		return s
	}
	head := (width - 1) / 2
	return string(runes[:head]) + "…" + string(runes[len(runes)-(width-1-head):])
}

// longest name that is looked at in parts.
const longest = 1000

// Name shortens the name of a C++ or Fortran function that is wider than width: first what is between angle
// brackets goes, then the outer qualifiers. What is still too wide is cut in the middle.
func Name(s string, width int) string {
	if Width(s) <= width {
		return s
	}
	s = withoutArguments(Fit(s, max(width, longest)))
	for Width(s) > width {
		_, rest, found := strings.Cut(s, "::")
		if !found {
			return Fit(s, max(width, 8))
		}
		s = "…" + rest
	}
	return s
}

// withoutArguments puts … for everything between outermost angle brackets, but for those of operators.
func withoutArguments(s string) string {
	var b strings.Builder
	depth := 0
	for i, r := range s {
		operator := strings.HasSuffix(strings.TrimRight(s[:i], "<>=-"), "operator")
		switch {
		case r == '<' && !operator:
			if depth == 0 {
				b.WriteString("<…>")
			}
			depth++
		case r == '>' && depth > 0 && !operator:
			depth--
		case depth == 0:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Clean replaces control characters, which names from outside may contain, and those that change the direction of text.
func Clean(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cc, unicode.Bidi_Control, unicode.Zl, unicode.Zp) || r == utf8.RuneError {
			return '·'
		}
		return r
	}, s)
}

// Shell writes a word of a command so that a shell takes it as it is.
func Shell(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// Sentence begins with a capital letter.
func Sentence(s string) string {
	r, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[size:]
}

// WaitState is the name of a wait state as Scalasca writes it, such as Late Sender or Wait at N×N, from our own such as
// late-sender.
func WaitState(id string) string {
	parts := strings.Split(id, "-")
	for i, part := range parts {
		switch part {
		case "at", "":
		case "nxn":
			parts[i] = "N×N"
		default:
			parts[i] = strings.ToUpper(part[:1]) + part[1:]
		}
	}
	return strings.Join(parts, " ")
}

// Method is a component's method: States.compute, or of one of several instances States[fine].compute.
func Method(component, instance, method string) string {
	if instance != "" {
		component += "[" + instance + "]"
	}
	return component + "." + method
}

// Closest suggests a name for one that is not known; "" if none is near.
func Closest(name string, known []string) string {
	best, at := 3, ""
	for _, k := range known {
		if d := distance(name, k); d < best && d < len(name) {
			best, at = d, k
		}
	}
	return at
}

// distance is how many letters must be changed, put in or left out.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := before
			if a[i] != b[j] {
				cost++
			}
			before = row[j+1]
			row[j+1] = min(cost, row[j]+1, before+1)
		}
	}
	return row[len(b)]
}
