package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"marple/analysis/analysistest"
	"marple/analysis/run"
	"marple/analysis/store"
)

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
