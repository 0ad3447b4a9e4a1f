package report

import (
	"encoding/xml"
	"fmt"
	"math"
	"strings"

	"marple/analysis/compare"
	"marple/analysis/words"
)

// ComparisonMarkdown is a comparison for a merge request: the answer, then the call paths that made it.
func ComparisonMarkdown(c *compare.Comparison) string {
	w := &strings.Builder{}
	mark := "✅"
	switch {
	case c.Gate.Failed():
		mark = "❌"
	case c.Gate == nil:
		mark = "ℹ️"
	}
	fmt.Fprintf(w, "### %s Marple: %s\n\n", mark, markdown(c.A.Program))
	fmt.Fprintf(w, "%s\n\n", markdown(verdict(c)))
	if c.Gate != nil {
		fmt.Fprintf(w, "**%s**\n\n", markdown(words.Sentence(c.Gate.String())))
	}
	if len(c.Places) > 0 {
		fmt.Fprintf(w, "| | call path | A | B | change | 95 %% | |\n|---|---|---:|---:|---:|---|---|\n")
	}
	guilty := map[int]bool{}
	if c.Gate != nil {
		for _, r := range c.Gate.Regressions {
			if r.Place != nil {
				guilty[*r.Place] = true
			}
		}
	}
	for i, p := range c.Places {
		if i == mostPlaces {
			fmt.Fprintf(w, "\n… %s\n", words.Count(uint64(len(c.Places)-i), "more call path", "more call paths"))
			break
		}
		at, within := "", ""
		if guilty[i] {
			at = "❌"
		}
		if p.Interval != nil {
			within = interval(p.Change)
		}
		fmt.Fprintf(w, "| %s | `%s` | %s | %s | %s | %s | %s |\n", at, strings.ReplaceAll(code(p.Label()), "|", `\|`), words.Duration(p.A), words.Duration(p.B),
			difference(p.Difference), within, verdicts[p.Verdict])
	}
	fmt.Fprintf(w, "\nTimes are per rank, means over %s of A (%s) and %s of B (%s).\n", words.Count(uint64(c.A.Runs), "run", "runs"), markdown(c.A.Name),
		words.Count(uint64(c.B.Runs), "run", "runs"), markdown(c.B.Name))
	for i, text := range c.Caveats {
		if i == mostCaveats {
			break
		}
		fmt.Fprintf(w, "\n> %s\n", markdown(words.Sentence(text)))
	}
	return w.String()
}

// code is text between backticks.
func code(text string) string { return strings.ReplaceAll(words.Clean(text), "`", "'") }

var special = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "<", "&lt;", ">", "&gt;", "[", `\[`, "]", `\]`, "|", `\|`, "#", `\#`, "~", `\~`, "@", "@\u200b")

// markdown is text that Markdown leaves as it is.
func markdown(text string) string { return special.Replace(words.Clean(text)) }

// A test suite in the form of JUnit, as CI systems read it.
type suite struct {
	XMLName  xml.Name `xml:"testsuite"`
	Name     string   `xml:"name,attr"`
	Tests    int      `xml:"tests,attr"`
	Failures int      `xml:"failures,attr"`
	Skipped  int      `xml:"skipped,attr"`
	Cases    []testCase
}

type testCase struct {
	XMLName xml.Name `xml:"testcase"`
	Class   string   `xml:"classname,attr"`
	Name    string   `xml:"name,attr"`
	Time    string   `xml:"time,attr"` // seconds of B
	Failure *outcome `xml:"failure,omitempty"`
	Skipped *outcome `xml:"skipped,omitempty"`
}

type outcome struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// ComparisonJUnit is a comparison as a test suite: a case for the wall time and one for each call path. What is slower than the
// limit allows has failed; what cannot be judged is skipped. Times are those of B, per rank.
func ComparisonJUnit(c *compare.Comparison) ([]byte, error) {
	failed := map[int]bool{}
	if c.Gate != nil {
		for _, r := range c.Gate.Regressions {
			at := -1
			if r.Place != nil {
				at = *r.Place
			}
			failed[at] = true
		}
	}
	s := suite{Name: "marple compare"}
	add := func(at int, name string, x compare.Change) {
		n := testCase{Class: "marple." + c.A.Program, Name: name, Time: fmt.Sprintf("%.9f", math.Max(x.B, 0))}
		message := fmt.Sprintf("%s → %s (%s)", words.Duration(x.A), words.Duration(x.B), difference(x.Difference))
		if x.Interval != nil {
			message += ", 95 %: " + interval(x)
		}
		switch {
		case failed[at]:
			n.Failure = &outcome{Message: message, Text: c.Gate.String()}
			s.Failures++
		case x.Verdict == compare.Unknown:
			n.Skipped = &outcome{Message: "one run on each side cannot tell a change from noise"}
			s.Skipped++
		}
		s.Cases = append(s.Cases, n)
	}
	add(-1, "wall time", c.Wall)
	for i, p := range c.Places {
		add(i, p.Label(), p.Change)
	}
	s.Tests = len(s.Cases)
	text, err := xml.MarshalIndent(s, "", "  ")
	return append([]byte(xml.Header), append(text, '\n')...), err
}

// ComparisonBadge is a small picture (SVG) for a project's page.
func ComparisonBadge(c *compare.Comparison) string {
	text, colour := "no change", "#3b7"
	if x := c.Wall; x.A > 0 {
		share := words.Percent(math.Abs(x.Difference) / x.A)
		switch {
		case c.Gate.Failed() && x.Verdict != compare.Changed:
			text, colour = "a call path is slower", "#d44"
		case x.Verdict == compare.Unknown:
			text, colour = "unknown", "#888"
		case x.Verdict == compare.Changed && x.Difference > 0:
			text, colour = share+" slower", "#d94"
			if c.Gate == nil || c.Gate.Failed() {
				colour = "#d44"
			}
		case x.Verdict == compare.Changed:
			text = share + " faster"
		}
	}
	const letter, label = 7, 84 // px: of the font's average letter, and of the left half
	right := letter*words.Width(text) + 16
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%[1]d" height="20" role="img" aria-label="performance: %[3]s">
<title>performance: %[3]s</title>
<rect width="%[2]d" height="20" fill="#555"/><rect x="%[2]d" width="%[4]d" height="20" fill="%[5]s"/>
<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle"><text x="%[6]d" y="14">performance</text><text x="%[7]d" y="14">%[3]s</text></g>
</svg>
`, label+right, label, text, right, colour, label/2, label+right/2)
}
