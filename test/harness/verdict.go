package harness

import (
	"bytes"
	"html"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"marple/analysis/diagnosis"
	"marple/analysis/page"
	"marple/analysis/report"
	"marple/analysis/run"
	"marple/analysis/store"
)

// oneVerdict holds a stored run to it that report, diagnosis, page and database tell its findings, with their numbers, in their order;
// text is the report that was made when the program ended.
func oneVerdict(t testing.TB, directory, text string, r *run.Run) {
	t.Helper()
	want := Titles(r.Findings)
	var d diagnosis.Result
	d.Settle(r)
	for where, told := range map[string]string{run.ReportFile: text, "marple report": report.Text(r, directory), "marple report --full": report.Full(r, directory), "marple diagnose": report.Diagnosis(&d, r, false)} {
		titles := Told(told) // the first ones, where there is no room for all
		assert.True(t, len(titles) <= len(want) && (len(titles) > 0 || len(want) == 0), "%s: %s", where, told)
		assert.Equal(t, want[:min(len(titles), len(want))], titles, "%s: %s", where, told)
	}
	var written bytes.Buffer
	require.NoError(t, page.Write(&written, page.Page{Run: r}))
	assert.Equal(t, want, Shown(written.String()), "marple page")
	stored := store.Describe(r).Findings
	require.Len(t, stored, len(r.Findings))
	for i, f := range r.Findings {
		assert.Equal(t, []any{f.ID, f.Title, f.Share, f.Seconds, f.Where}, []any{stored[i].ID, stored[i].Title, stored[i].Share, stored[i].Seconds, stored[i].Where})
	}
}

// Titles of findings.
func Titles(findings []run.Finding) (titles []string) {
	for _, f := range findings {
		titles = append(titles, f.Title)
	}
	return titles
}

var (
	numbered = regexp.MustCompile(`^\d+\. `)
	shared   = regexp.MustCompile(` \([^()]* %, [^()]*\)\.$`)
)

// Told are the titles of the numbered findings in a text, which may go on in further lines.
func Told(text string) (titles []string) {
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		if !numbered.MatchString(lines[i]) {
			continue
		}
		title := numbered.ReplaceAllString(lines[i], "")
		for !shared.MatchString(title) && i+1 < len(lines) && strings.HasPrefix(lines[i+1], "   ") {
			i++
			title += " " + strings.TrimSpace(lines[i])
		}
		titles = append(titles, shared.ReplaceAllString(title, ""))
	}
	return titles
}

// Shown are the titles of the findings on a page.
func Shown(page string) (titles []string) {
	for _, m := range regexp.MustCompile(`(?s)<article class="finding".*?</a> (.*?)</h3>`).FindAllStringSubmatch(page, -1) {
		titles = append(titles, html.UnescapeString(m[1]))
	}
	return titles
}
