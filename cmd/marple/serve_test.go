package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"marple/analysis/analysistest"
	"marple/analysis/run"
	"marple/analysis/store"
	"marple/analysis/summary"
)

// Without the token nothing is shown; with it everything is from then on, under a policy that no page can widen.
func TestServeAsksForItsToken(t *testing.T) {
	directory := t.TempDir()
	pipe := filepath.Join(directory, "pipe")
	require.NoError(t, os.Mkdir(pipe, 0o777))
	require.NoError(t, syscall.Mkfifo(filepath.Join(pipe, run.File), 0o666)) // which nobody ever writes to
	h := local(guarded("secret", "marple-1", handler(&library{options: &pageOptions{}, paths: []string{directory, pipe}, known: map[string]description{}})))
	ask := func(path string, cookies ...*http.Cookie) *http.Response {
		r := httptest.NewRequest("GET", "http://127.0.0.1"+path, nil)
		for _, c := range cookies {
			r.AddCookie(c)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		answer := w.Result()
		assert.Contains(t, answer.Header.Get("Content-Security-Policy"), "default-src 'none'")
		assert.Contains(t, answer.Header.Get("Content-Security-Policy"), "frame-ancestors 'none'")
		return answer
	}
	for _, path := range []string{"/", "/?token=", "/?token=secre", "/?token=secrets", "/run/d0", "/compare?a=1&b=2", "/nothing"} {
		assert.Equal(t, http.StatusForbidden, ask(path).StatusCode, path)
	}
	assert.Equal(t, http.StatusForbidden, ask("/", &http.Cookie{Name: "marple-1", Value: "guess"}).StatusCode)
	first := ask("/?q=ranks&token=secret")
	assert.Equal(t, http.StatusSeeOther, first.StatusCode)
	assert.Equal(t, "/?q=ranks", first.Header.Get("Location"))
	require.Len(t, first.Cookies(), 1)
	assert.True(t, first.Cookies()[0].HttpOnly)
	list := ask("/", first.Cookies()...)
	assert.Equal(t, http.StatusOK, list.StatusCode)
	text, err := io.ReadAll(list.Body)
	require.NoError(t, err)
	assert.Contains(t, string(text), "not a regular file but a named pipe")

	server := serverOf(nil)
	assert.Positive(t, server.IdleTimeout)
	assert.Positive(t, server.ReadTimeout)
}

// The runs of a database are served the same, whichever it is, whatever they are called.
func TestServeDatabase(t *testing.T) {
	const evil = `</script><script>alert(1)</script>"'`
	for name, location := range map[string]func(t *testing.T) string{
		"SQLite":     func(t *testing.T) string { return filepath.Join(t.TempDir(), "runs.db") },
		"PostgreSQL": func(t *testing.T) string { return postgres.Fresh(t) },
	} {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			s, err := store.Open(ctx, location(t), store.Create)
			require.NoError(t, err)
			defer s.Close()
			var list []*store.New
			for ranks := 1; ranks <= 3; ranks++ {
				r := analysistest.Run(ranks, ranks, func(r *analysistest.Rank) { r.Region(evil, func() { r.Compute(1_000_000) }) })
				r.Program, r.Findings = evil, []run.Finding{{ID: "x", Title: evil, Share: 0.5}}
				list = append(list, &store.New{Name: evil, Run: r})
			}
			_, err = s.Import(ctx, list)
			require.NoError(t, err)

			server := httptest.NewServer(local(handler(&library{options: &pageOptions{}, store: s, selections: []string{""}, known: map[string]description{}})))
			defer server.Close()
			get := func(path string) (int, string) {
				answer, err := http.Get(server.URL + path)
				require.NoError(t, err)
				defer answer.Body.Close()
				text, err := io.ReadAll(answer.Body)
				require.NoError(t, err)
				assert.NotContains(t, string(text), "<script>alert", path)
				return answer.StatusCode, string(text)
			}
			code, text := get("/")
			assert.Equal(t, 200, code)
			assert.Contains(t, text, "3 of 3 in ")
			assert.Contains(t, text, ": wall time and parallel efficiency, run after run")
			assert.Contains(t, text, ": wall time by ranks")
			assert.Contains(t, text, "too few points: 3 different values of ranks")
			assert.Less(t, strings.Index(text, `href="/run/1"`), strings.Index(text, `href="/run/3"`), "equally old ones as they came")
			_, text = get("/?q=" + url.QueryEscape("ranks == 2"))
			assert.Contains(t, text, "1 of 3 in ")
			assert.NotContains(t, text, "run after run", "one run is no trend")
			assert.Contains(t, text, `href="/run/2"`)
			_, text = get("/?q=" + url.QueryEscape("params.n > 1"))
			assert.Contains(t, text, "3 runs left out, since the expression has no value")
			_, text = get("/?by=ranks")
			assert.Less(t, strings.Index(text, `href="/run/3"`), strings.Index(text, `href="/run/1"`))
			code, text = get("/run/2")
			assert.Equal(t, 200, code)
			assert.Contains(t, text, "trial 2 of ")
			code, text = get("/compare?a=1&b=2")
			assert.Equal(t, 200, code)
			assert.Contains(t, text, "ranks")
			for _, path := range []string{"/run/9", "/run/x", "/run/-1", "/compare?a=1", "/nothing"} {
				code, _ = get(path)
				assert.Equal(t, 404, code, path)
			}
		})
	}
}

// Users see their own jobs and nothing else, admins everything, and whoever has no name nothing.
func TestServeJobs(t *testing.T) {
	const evil = `</script><script>alert(1)</script>"'`
	ctx := context.Background()
	s, err := store.Open(ctx, filepath.Join(t.TempDir(), "jobs.db"), store.Create)
	require.NoError(t, err)
	defer s.Close()
	now := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	var jobs []store.Job
	for i, user := range []string{"ann", "bob", "bob", "cid"} {
		jobs = append(jobs, store.NewJob(user, &summary.Summary{Program: "code-" + user, Account: evil, Started: now.AddDate(0, 0, -i), Ranks: 2, Wall: 1e9, CoreTime: 7200e9,
			Parallel: 0.25, LoadBalance: 0.6, Findings: []summary.Finding{{ID: "imbalance", Title: evil, Where: "solve of " + user}}}, fmt.Append(nil, i)))
	}
	_, err = s.Ingest(ctx, jobs)
	require.NoError(t, err)
	_, err = s.Import(ctx, []*store.New{{Name: "run", Run: analysistest.Run(1, 1, func(r *analysistest.Rank) { r.Compute(1_000_000) })}})
	require.NoError(t, err)
	l := &library{options: &pageOptions{}, store: s, selections: []string{""}, known: map[string]description{}, access: access{"X-Remote-User", []string{"root", "eve"}}}
	h := local(handler(l))
	ask := func(path string, users ...string) (int, string) {
		r := httptest.NewRequest("GET", "http://localhost"+path, nil)
		r.Header["X-Remote-User"] = users
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		assert.NotContains(t, w.Body.String(), "<script>alert", path)
		return w.Code, w.Body.String()
	}
	for _, users := range [][]string{nil, {""}, {"ann", "eve"}, {"ann,eve"}, {"ann, eve"}} {
		code, _ := ask("/jobs", users...)
		assert.Equal(t, http.StatusForbidden, code, users)
	}
	const since = "from=2026-10-21"
	for _, question := range []string{"", "&user=ann", "&by=user", "&by=week", "&by=account&imbalance=30", "&change=2026-11-19"} {
		code, text := ask("/jobs?"+since+question, "bob")
		assert.Equal(t, 200, code)
		assert.Contains(t, text, "solve of bob", question)
		for _, other := range []string{"ann", "cid"} {
			assert.NotContains(t, text, "code-"+other, question)
			assert.NotContains(t, text, "solve of "+other, question)
		}
		code, text = ask("/jobs?"+since+strings.ReplaceAll(question, "&user=ann", ""), "eve")
		assert.Equal(t, 200, code)
		for _, user := range []string{"ann", "bob", "cid"} {
			assert.Contains(t, text, "solve of "+user, question)
		}
	}
	_, text := ask("/jobs?"+since, "bob")
	assert.Contains(t, text, `<th scope="row"><a href="/jobs?by=week&amp;from=2026-10-21&amp;program=code-bob">code-bob</a></th><td class="n">2</td><td class="n">4</td><td class="n">3</td><td class="n">25 %</td><td class="n">2</td>`)
	_, text = ask("/jobs?"+since+"&imbalance=50", "bob")
	assert.Contains(t, text, "There are no such jobs.")
	for question, mistake := range map[string]string{"from=yesterday": "from: expected a day", "by=x": "by: expected one of", "imbalance=NaN": "expected a number from 0", "change=1": "before: expected a day"} {
		_, text := ask("/jobs?"+question, "bob")
		assert.Contains(t, text, mistake)
	}
	for path, code := range map[string]int{"/": http.StatusSeeOther, "/run/1": http.StatusNotFound, "/compare?a=1&b=1": http.StatusNotFound} {
		got, _ := ask(path, "bob")
		assert.Equal(t, code, got, path)
		got, _ = ask(path, "root")
		assert.Equal(t, http.StatusOK, got, path)
	}
}

// Through the socket come those whom its permissions let, and a server that is there is not pushed aside.
func TestServeSocket(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := listen(socket, 0)
	require.NoError(t, err)
	info, err := os.Stat(socket)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o660), info.Mode().Perm())
	_, err = listen(socket, 0)
	require.ErrorContains(t, err, "somebody is serving there already")
	listener.(*net.UnixListener).SetUnlinkOnClose(false)
	require.NoError(t, listener.Close())
	again, err := listen(socket, 0) // of a server that was killed
	require.NoError(t, err)
	require.NoError(t, again.Close())
	require.NoError(t, os.WriteFile(socket, nil, 0o600))
	_, err = listen(socket, 0)
	require.Error(t, err)
}
