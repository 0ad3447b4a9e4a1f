package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"marple/analysis/analysistest"
	"marple/analysis/run"
	"marple/analysis/store"
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
			assert.Less(t, strings.Index(text, `href="/run/1"`), strings.Index(text, `href="/run/3"`), "equally old ones as they came")
			_, text = get("/?q=" + url.QueryEscape("ranks == 2"))
			assert.Contains(t, text, "1 of 3 in ")
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
