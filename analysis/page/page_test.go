package page

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"marple/analysis/analysistest"
	"marple/analysis/diagnosis"
	"marple/analysis/knowledge"
	"marple/analysis/run"
	"marple/analysis/selection/prune"
)

func write(t *testing.T, p Page) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, Write(&out, p))
	return out.String()
}

// assembly has components of which one takes nearly nothing.
func assembly() *run.Run {
	return analysistest.Run(4, 4, func(r *analysistest.Rank) {
		r.Invoke("driver", "", "go", func() {
			r.Invoke("solver", "", "solve", func() { r.Compute(50_000_000) })
			r.Invoke("stats", "", "compute", func() { r.Compute(1_000) })
			r.Send(7, (r.Rank+1)%4, 4096, 1_000_000)
			r.Recv(8, (r.Rank+3)%4, 4096, 1_000_000)
			r.Barrier(9, 2_000_000)
		})
	})
}

func dataOf(t *testing.T, page string) (d data) {
	t.Helper()
	m := regexp.MustCompile(`(?s)<script type="application/json" id="data">(.*?)</script>`).FindStringSubmatch(page)
	require.NotNil(t, m)
	require.NoError(t, json.Unmarshal([]byte(m[1]), &d))
	return d
}

func TestDataAreTheRun(t *testing.T) {
	r := assembly()
	d := dataOf(t, write(t, Page{Run: r}))
	var total float64
	for i, n := range d.Nodes {
		total += n[5].(float64)
		node := r.Find(n[1].(string))
		require.NotNil(t, node, i)
		assert.Equal(t, node.Name, d.Names[int(n[2].(float64))])
		assert.EqualValues(t, node.Inclusive.Sum, n[6])
		if parent := int(n[0].(float64)); parent >= 0 {
			assert.Less(t, parent, i, "parents first")
		}
	}
	assert.EqualValues(t, r.Core.Wall, total, "the times of all paths are the whole time")
	assert.Len(t, d.Balance, 4)
	assert.Len(t, d.Peers, 8, "each rank sends to one, and gets from one")
}

func TestPrunedBranchesAreShaded(t *testing.T) {
	d := dataOf(t, write(t, Page{Run: assembly(), Core: prune.Rule{Alpha: 0.1, Beta: 0.1}}))
	shaded := map[string]bool{}
	for _, n := range d.Nodes {
		shaded[d.Names[int(n[2].(float64))]] = n[9].(float64) == 1
	}
	assert.True(t, shaded["stats.compute"])
	assert.False(t, shaded["solver.solve"])
	assert.False(t, shaded["driver.go"])
}

// Whatever things are called, no name becomes markup or script.
func TestHostileNames(t *testing.T) {
	const evil = `</script><script>alert(1)</script><img src=x onerror=alert(2)>"'&` + "\x00\x1b[2J\u2028"
	r := assembly()
	r.Program = evil
	for _, root := range r.CallGraph {
		root.Walk(func(n *run.Node, _ int) bool { n.Name, n.Site = evil, evil; return true })
	}
	r.Hosts[0].Name, r.PerRank[0].Host, r.MPI.Library = evil, evil, evil
	r.Parameters = map[string]float64{evil: 1}
	r.Modules = append(r.Modules, run.Module{Path: evil, Notes: []string{evil}})
	r.Conditions = append(r.Conditions, run.Note{ID: evil, Text: evil})
	r.Findings = append(r.Findings, run.Finding{ID: evil, Title: evil, Where: evil, Node: `"><script>`, Advice: evil, Evidence: []run.Evidence{{Text: evil}}, Share: math.MaxFloat64})
	r.Communicators[0].Name = evil
	r.Functions[0].Name = evil
	text := write(t, Page{Run: r, Directory: evil, Version: evil, Back: `javascript:alert(1)`, Events: []Event{{Name: evil}},
		Figures: []Figure{{Title: evil, Facts: []string{evil}, SVG: []byte(`<svg xmlns="http://www.w3.org/2000/svg"/>`)}}})
	assert.NotContains(t, text, "<script>alert")
	assert.NotContains(t, text, "<img src=x")
	assert.NotContains(t, text, `href="javascript:`)
	assert.Equal(t, 2, strings.Count(text, "<script"), "its own")
	assert.Equal(t, 2, strings.Count(text, "</script"))
	d := dataOf(t, text)
	assert.Contains(t, strings.Join(d.Names, ""), `</script><script>alert(1)`, "it is there, as text")

	for name, show := range map[string]func(io.Writer) error{
		"list": func(out io.Writer) error {
			return WriteList(out, List{Title: evil, Places: []string{evil}, Filter: evil, Error: evil, Note: evil, Sorts: []Sort{{Title: evil, Link: "javascript:alert(1)"}},
				Items: []Item{{Key: evil, Link: "javascript:alert(1)", Name: evil, Finding: evil, Given: []string{evil}}, {Name: evil, Error: evil}}})
		},
		"comparison": func(out io.Writer) error {
			return WriteComparison(out, "javascript:alert(1)", "javascript:alert(1)", "javascript:alert(1)", "javascript:alert(1)", evil)
		},
	} {
		var text bytes.Buffer
		require.NoError(t, show(&text))
		assert.NotContains(t, text.String(), "<script", name)
		assert.NotContains(t, text.String(), "<img", name)
		assert.NotContains(t, text.String(), `href="javascript:`, name)
	}
}

// Nothing in the page leads out of it.
func TestNothingIsFetched(t *testing.T) {
	text := write(t, Page{Run: assembly()})
	assert.Contains(t, text, `default-src 'none'`)
	assert.NotRegexp(t, `(src|href)="?(https?:)?//`, text)
	assert.NotRegexp(t, `@import|url\(`, text)
	assert.NotRegexp(t, `fetch\(|XMLHttpRequest|WebSocket|sendBeacon`, text)
}

// What matters is readable without scripts.
func TestReadableWithoutScripts(t *testing.T) {
	r := assembly()
	choice, err := diagnosis.Choose(r, knowledge.Library{})
	require.NoError(t, err)
	d, err := choice.Diagnose(r, nil)
	require.NoError(t, err)
	text := regexp.MustCompile(`(?s)<(script|style).*?</(script|style)>`).ReplaceAllString(write(t, Page{Run: r, Diagnosis: d}), "")
	for _, words := range []string{"Parallel efficiency", "How this was concluded", "MPI_Barrier", "driver.go", "Not measured"} {
		assert.Contains(t, text, words)
	}
	for _, a := range d.Models {
		for _, c := range a.Conclusions {
			assert.Contains(t, text, strings.ReplaceAll(strings.ReplaceAll(c.Title, "&", "&amp;"), "+", "&#43;"))
		}
	}
}

// large is the page of a run with many call paths and ranks.
func large(paths, ranks int) Page {
	return Page{Run: analysistest.Large(paths, ranks), Overview: NewOverview(analysistest.LargeLogs(ranks, 1000))}
}

func TestLargeRunsFit(t *testing.T) {
	text := write(t, large(10_000, 1024))
	assert.Less(t, len(text), 8<<20)
	assert.Len(t, dataOf(t, text).Balance, 1024)
}

func BenchmarkLarge(b *testing.B) {
	p := large(10_000, 1024)
	for b.Loop() {
		var out bytes.Buffer
		if err := Write(&out, p); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(out.Len())/1e6, "MB")
	}
}

// Whatever a run file says, its page has the page's scripts and no others.
func FuzzPage(f *testing.F) {
	seed, err := assembly().Encode()
	require.NoError(f, err)
	f.Add(seed)
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := run.Decode(data)
		if err != nil {
			return
		}
		text := write(t, Page{Run: r, Core: prune.Rule{Alpha: 0.1, Beta: 0.1}})
		require.Equal(t, 2, strings.Count(strings.ToLower(text), "<script"))
		dataOf(t, text)
	})
}
