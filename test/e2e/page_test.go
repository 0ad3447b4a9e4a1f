package e2e

import (
	"marple/test/harness"

	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"marple/analysis/analysistest"
	"marple/analysis/page"
	"marple/analysis/run"
)

// The page of a measured run, in a real browser: every view is opened with the mouse and used with keys.
func TestPage(t *testing.T) {
	t.Parallel()
	c := harness.Command{Directory: t.TempDir()}
	r := c.Run(t, harness.Mock.Tool("mpirun"), "-n", "4", "--virtual", harness.Artifact(t, "marple"), "exec", "--clock", "external", "--trace", "10", "--out", "run", "--report", "none",
		harness.Mock.Compile(t, "waits"), "late-sender", "200")
	require.Zero(t, r.Code, r.Stderr)
	r = c.Run(t, harness.Artifact(t, "marple"), "page", "run")
	require.Zero(t, r.Code, r.Stderr)
	require.Equal(t, "run/report.html\n", r.Stdout)
	file := filepath.Join(c.Directory, "run", "report.html")

	b := openBrowser(t)
	b.open("file://" + file)
	count := func(selector string) int {
		return int(b.do(`document.querySelectorAll(%q).length`, selector).(float64))
	}
	shows := func(view string) {
		b.until(`[...document.querySelectorAll(".view.shown")].map(v => v.id).join() === %q`, view)
	}
	shows("diagnosis")
	assert.Positive(t, count(".finding"))
	assert.Positive(t, count(".tree details.followed[open]"))
	b.screenshot("diagnosis")

	for _, view := range []string{"calls", "functions", "ranks", "messages", "waits", "timeline", "about"} {
		b.do(`document.querySelector('nav a[href="#%s"]').click()`, view)
		shows(view)
		b.screenshot(view)
	}
	assert.Equal(t, 4, count("#rank-bars .stack"))
	assert.Equal(t, 1, count("#matrix canvas"))
	assert.Equal(t, 1, count("#lanes canvas"))

	// The timeline has waits, and the critical path across them; keys say what is where, and a wait of the table leads to it.
	b.do(`document.querySelector('nav a[href="#timeline"]').click()`)
	shows("timeline")
	for _, name := range []string{"wait", "text"} { // colours that something is drawn in
		b.until(`(() => { const c = document.querySelector('#lanes canvas'), p = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
			const ink = document.createElement('i'); ink.style.color = 'var(--%s)'; document.body.append(ink); const [r, g, b] = getComputedStyle(ink).color.match(/\d+/g).map(Number); ink.remove();
			for (let i = 0; i < p.length; i += 4) if (p[i] === r && p[i + 1] === g && p[i + 2] === b && p[i + 3] === 255) return true; return false })()`, name)
	}
	b.do(`document.querySelector('#lanes canvas').focus()`)
	assert.Regexp(t, `^rank 0 at `, b.do(`document.querySelector('#lanes-text').textContent`))
	b.press("ArrowDown")
	b.press("ArrowRight")
	assert.Regexp(t, `^rank 1 at `, b.do(`document.querySelector('#lanes-text').textContent`))
	assert.Positive(t, count("#long-waits tbody tr"))
	b.do(`document.querySelector('#long-waits button.link').click()`)
	assert.Regexp(t, `waits .* for rank \d \(`, b.do(`document.querySelector('#lanes-text').textContent`))
	b.screenshot("timeline")

	// A finding leads to its call path.
	b.do(`location.hash = '#diagnosis'`)
	shows("diagnosis")
	b.do(`document.querySelector('.finding dd a').click()`)
	shows("calls")
	assert.Equal(t, 1, count(`#tree tr[aria-selected="true"]`))
	assert.Positive(t, count("#path .stack"))
	// Keys move in the tree and the flame graph.
	b.do(`document.querySelector('#tree tr[aria-selected="true"]').focus()`)
	before := b.do(`document.querySelector('#tree tr[aria-selected="true"]').dataset.i`)
	b.press("ArrowUp")
	assert.NotEqual(t, before, b.do(`document.querySelector('#tree tr[aria-selected="true"]').dataset.i`))
	b.do(`document.querySelector('#flame button').focus()`)
	b.press("ArrowDown")
	assert.NotEqual(t, "0", b.do(`document.activeElement.dataset.i`))
	b.do(`document.querySelector('#find').value = 'MPI_Recv'; document.querySelector('#find').dispatchEvent(new Event('input'))`)
	b.do(`document.querySelector('#find-next').click()`)
	assert.Contains(t, b.do(`document.querySelector('#tree tr[aria-selected="true"]').textContent`), "MPI_Recv")
	// Tables can be sorted, and say how.
	b.do(`location.hash = '#functions'`)
	b.do(`document.querySelectorAll('#functions th button')[1].click()`)
	assert.Equal(t, "descending", b.do(`document.querySelectorAll('#functions th')[1].getAttribute('aria-sort')`))
	calls := `[...document.querySelectorAll('#functions table')[0].tBodies[0].rows].map(r => +r.cells[1].dataset.v)`
	assert.Equal(t, true, b.do("%s", calls+`.every((v, i, a) => !i || a[i-1] >= v)`))

	// Everything has a name for those who hear it, and fits a phone.
	assert.Equal(t, "", b.do(`[...document.querySelectorAll('canvas, [role=img], input, select, button')].filter(e => !(e.getAttribute('aria-label') || e.textContent.trim() || e.labels && e.labels.length || e.title)).map(e => e.outerHTML.slice(0, 80)).join()`))
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": 380, "height": 800, "deviceScaleFactor": 2, "mobile": true}, nil)
	b.call("Emulation.setEmulatedMedia", map[string]any{"features": []any{map[string]any{"name": "prefers-color-scheme", "value": "dark"}}}, nil)
	b.do(`location.hash = '#diagnosis'`)
	shows("diagnosis")
	b.until(`document.documentElement.scrollWidth <= 381`) // nothing is wider than the screen
	b.screenshot("phone")
	// On paper all views are there.
	b.call("Emulation.setEmulatedMedia", map[string]any{"media": "print"}, nil)
	assert.EqualValues(t, 0, b.do(`[...document.querySelectorAll('.view')].filter(v => getComputedStyle(v).display === 'none').length`))

	assert.Empty(t, b.errors)
	assert.Equal(t, []string{"file://" + file}, b.requests)
}

// What replays tell, in a real browser: the first picture in which findings light up their places, sliders, variants, what is selected,
// and the call graph of that, of one rank, and of the difference from another run. No trace is needed for it.
func TestPageReplays(t *testing.T) {
	t.Parallel()
	c := harness.Command{Directory: t.TempDir()}
	for name, ailment := range map[string]string{"run": "slow-rank", "before": "healthy"} {
		r := c.Run(t, harness.Mock.Tool("mpirun"), "-n", "8", "--virtual", harness.Artifact(t, "marple"), "exec", "--clock", "external", "--out", name, "--report", "none",
			harness.Mock.Compile(t, "ailments"), ailment)
		require.Zero(t, r.Code, r.Stderr)
	}
	r := c.Run(t, harness.Artifact(t, "marple"), "page", "--source", filepath.Join(harness.Top, "test", "apps"), "--against", "before", "run")
	require.Zero(t, r.Code, r.Stderr)

	b := openBrowser(t)
	b.open("file://" + filepath.Join(c.Directory, "run", "report.html"))
	text := func(selector string) string {
		return b.do(`document.querySelector(%q).textContent`, selector).(string)
	}
	b.until(`document.querySelector('#picture').width > 100`)
	assert.Regexp(t, `^The run: [\d.]+ m?s, parallel efficiency \d+ %, load balance \d+ %\.$`, text("#would"))
	picture := func() any { return b.do(`document.querySelector('#picture').toDataURL()`) }
	plain := picture()
	b.do(`document.querySelector('.finding').dispatchEvent(new PointerEvent('pointerenter'))`)
	assert.NotEqual(t, plain, picture(), "the finding lights up its place")
	b.screenshot("lit")
	b.do(`document.querySelector('.finding').dispatchEvent(new PointerEvent('pointerleave'))`)
	assert.Equal(t, plain, picture())
	slide := func(to string) {
		b.do(`(() => { const s = document.querySelector('.slider input'); s.value = %s; s.dispatchEvent(new Event('input')) })()`, to)
	}
	slide("2")
	assert.Regexp(t, `^Without 50 % of finding 1: .*saves `, text("#would"))
	slide("4")
	assert.Regexp(t, `^Without 100 % of finding 1: .*load balance 100 %\.$`, text("#would"))
	assert.NotEqual(t, plain, picture(), "the run without it")
	b.screenshot("slid")
	slide("0")
	assert.Equal(t, plain, picture())
	assert.Contains(t, text(".finding .source .hot"), "MPI_Allreduce", "of the place's two calls the one that its function makes")

	b.do(`document.querySelector('nav a[href="#timeline"]').click()`)
	b.until(`document.querySelector('#timeline.shown #lanes canvas') !== null`)
	b.do(`(() => { document.querySelector('#select-ranks').value = '6-7'; document.querySelector('[data-lanes="in"]').click(); document.querySelector('#select').requestSubmit() })()`)
	assert.Regexp(t, `^Selected: ranks 6 to 7, .* to .*s$`, text("#selection h3"))
	assert.Regexp(t, `load balance75 %`, text("#selection table"), "2 ms and 4 ms a step")
	assert.Positive(t, b.do(`document.querySelectorAll('#selection a').length`))
	b.screenshot("selected")
	b.do(`document.querySelector('#selection button').click()`)
	b.until(`document.querySelector('#calls.shown #flame button') !== null`)
	assert.Equal(t, "selection", b.do(`document.querySelector('#weights').value`))
	assert.Regexp(t, `^Only ranks 6 to 7, `, text("#weights-text"))
	weigh := func(of string) {
		b.do(`(() => { const s = document.querySelector('#weights'); s.value = %q; s.dispatchEvent(new Event('change')) })()`, of)
	}
	weigh("rank")
	assert.Regexp(t, `^Rank 0: [\d.]+ m?s\.$`, text("#weights-text"))
	weigh("against")
	assert.Contains(t, text("#weights-text"), "differ from before")
	assert.Positive(t, b.do(`document.querySelectorAll('#flame .more').length`), "the slow rank's work")
	b.screenshot("difference")
	b.do(`document.querySelector('nav a[href="#ranks"]').click()`)
	b.do(`(() => { const s = document.querySelector('#grid-of'); s.value = '4x2'; s.dispatchEvent(new Event('input')) })()`)
	assert.Positive(t, b.do(`document.querySelector('#grid').width`))
	b.screenshot("grid")
	assert.Empty(t, b.errors)
}

// Runs in directories and in a database, in one list: filtered, sorted, shown and compared in a real browser.
func TestServe(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	c := harness.Command{Directory: directory}
	for i, name := range []string{"one", "two"} {
		r := c.Run(t, harness.Mock.Tool("mpirun"), "-n", "2", "--virtual", harness.Artifact(t, "marple"), "exec", "--clock", "external", "--out", name, "--report", "none",
			"--params", fmt.Sprint("steps=", 10*(i+1)), harness.Mock.Compile(t, "heat"), fmt.Sprint(10*(i+1)))
		require.Zero(t, r.Code, r.Stderr)
	}
	r := c.Run(t, harness.Artifact(t, "marple"), "db", "import", "one", "two", "--experiment", "steps")
	require.Zero(t, r.Code, r.Stderr)
	// What was replayed is in a run's directory only.
	require.NoError(t, os.Remove(filepath.Join(directory, "two", run.ReplayFile)))
	server := exec.Command(harness.Artifact(t, "marple"), "serve", "--port", "0", ".", "db:heat")
	server.Dir = directory
	out, err := server.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, server.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	address := strings.TrimSpace(line)
	assert.Regexp(t, `^http://127\.0\.0\.1:\d+/\?token=\w{20,}$`, address)
	site, _, _ := strings.Cut(address, "?")

	b := openBrowser(t)
	names := func() any {
		return b.do(`[...document.querySelectorAll('#list tbody th')].map(x => x.textContent).join()`)
	}
	follow := func(format string, arguments ...any) {
		b.loaded = false
		b.do(format, arguments...)
		for !b.loaded {
			b.read()
		}
	}
	b.open(address)
	b.screenshot("list")
	assert.EqualValues(t, 4, b.do(`document.querySelectorAll('#list tbody a').length`))
	ask := func(filter string) {
		follow(`document.querySelector('#q').value = %q; document.querySelector('#q').form.requestSubmit()`, filter)
	}
	ask(`experiment == "steps" && params.steps > 10`)
	assert.Equal(t, "heat/steps: two (2)", names())
	ask(`ranks > 2`)
	assert.Equal(t, "", names())
	ask(`params.steps ==`)
	assert.Contains(t, b.do(`document.querySelector('[role=alert]').textContent`), "unexpected token")
	ask(`experiment == ""`)
	for _, x := range [][2]string{{"ascending", "one,two"}, {"descending", "two,one"}} {
		follow(`[...document.querySelectorAll('#list thead a')].find(x => x.textContent === 'Started').click()`)
		assert.Equal(t, x[0], b.do(`[...document.querySelectorAll('#list thead th')].find(x => x.textContent === 'Started').getAttribute('aria-sort')`))
		assert.Equal(t, x[1], names())
	}
	follow(`document.querySelector('form[action="/compare"]').requestSubmit()`)
	assert.Contains(t, b.do(`document.body.textContent`), "Whether that is noise cannot be known")
	b.screenshot("comparison")

	// The run from the database is the run.
	shown := func(name string) any {
		b.open(address)
		follow(`[...document.querySelectorAll('#list tbody a')].find(x => x.textContent === %q).click()`, name)
		assert.EqualValues(t, 1, b.do(`document.querySelectorAll('#diagnosis.shown').length`))
		return b.do(`document.querySelector('#diagnosis').textContent + document.querySelector('#data').textContent`)
	}
	assert.Equal(t, shown("two"), shown("heat/steps: two (2)"))
	assert.Empty(t, b.errors)
	for _, url := range b.requests {
		assert.True(t, strings.HasPrefix(url, site), url)
	}
	// Another host's name for this address is refused.
	request, err := http.NewRequest("GET", address, nil)
	require.NoError(t, err)
	request.Host = "elsewhere.example"
	answer, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	_, _ = io.Copy(io.Discard, answer.Body)
	answer.Body.Close()
	assert.Equal(t, http.StatusForbidden, answer.StatusCode)
	// So is what a page from elsewhere asks.
	request, err = http.NewRequest("GET", address, nil)
	require.NoError(t, err)
	request.Header.Set("Sec-Fetch-Site", "cross-site")
	answer, err = http.DefaultClient.Do(request)
	require.NoError(t, err)
	answer.Body.Close()
	assert.Equal(t, http.StatusForbidden, answer.StatusCode)

	require.NoError(t, server.Process.Signal(os.Interrupt))
	assert.NoError(t, server.Wait())
}

// The page of a run with 10,000 call paths on 1,024 ranks, in a real browser: how large it is, how long it takes until it
// can be read, and until the views that are drawn from its data are there.
func BenchmarkPage(b *testing.B) {
	p := page.Page{Run: analysistest.Large(10_000, 1024), Overview: page.NewOverview(analysistest.LargeLogs(1024, 1000))}
	for i := range 20_000 {
		p.Events = append(p.Events, page.Event{Rank: i % 1024, Start: int64(i) * 40_000, Ns: 500_000, Name: "MPI_Recv", Peer: i % 7, Bytes: 4096})
	}
	file := filepath.Join(b.TempDir(), "large.html")
	out, err := os.Create(file)
	require.NoError(b, err)
	require.NoError(b, page.Write(out, p))
	size, err := out.Seek(0, io.SeekCurrent)
	require.NoError(b, err)
	require.NoError(b, out.Close())
	w := openBrowser(b)
	sums := map[string]float64{}
	for b.Loop() {
		w.open("file://" + file)
		sums["load"] += w.do(`performance.getEntriesByType('navigation')[0].loadEventEnd`).(float64)
		for _, view := range []string{"calls", "ranks", "messages", "timeline"} {
			sums[view] += w.do(`new Promise(done => { const began = performance.now(); addEventListener('hashchange', () => requestAnimationFrame(() => setTimeout(() => done(performance.now() - began))), { once: true }); location.hash = '#%s' })`, view).(float64)
		}
	}
	for name, ms := range sums {
		b.ReportMetric(ms/float64(b.N), name+"-ms")
	}
	b.ReportMetric(float64(size)/1e6, "MB")
	w.screenshot("large")
	require.Empty(b, w.errors)
}
