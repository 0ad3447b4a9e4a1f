package store

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"marple/analysis/run"
)

var described = Describe(scaling(4, 2, 0))

// What takes long or much room whatever the data is refused: a filter also comes out of a browser.
func TestFiltersAreBounded(t *testing.T) {
	for text, want := range map[string]string{
		`all(1..1000000, all(1..1000000, true))`:                           "ranks in 8..64",
		`len(reduce(findings, #acc + #acc, "xx")) > 3`:                     "reduce",
		`let a = program + program; len(a) > 3`:                            "let",
		`len(repeat(program, 1000000)) > 3`:                                "repeat",
		`len(replace(program, "", program)) > 3`:                           "replace",
		`any(findings, any(findings, any(findings, any(findings, true))))`: "at most 3 within each other",
		strings.Repeat("ranks + ", 600) + "1 > 0":                          "exceeds maximum allowed nodes",
		strings.Repeat(" ", 20_000) + "true":                               "expected at most 10000",
		"ranks +":                                                          "unexpected token",
	} {
		_, err := ParseFilter(text)
		assert.ErrorContains(t, err, want, text)
	}
	for _, text := range []string{
		`ranks in 2..64 && "size" in params && params.size == 2`, `ranks not in 5..9`, `any(findings, .share >= 0) || len(findings) == 0`,
		`now() - started > duration("1h")`, `started > date("1970-01-01")`, `count(findings, .share > 0.1) >= 0`, `lower(program) contains "a" || true`,
		`meta["mpi.family"] matches "^.*$" || true`,
	} {
		f, err := ParseFilter(text)
		require.NoError(t, err, text)
		yes, err := f.Match(described)
		require.NoError(t, err, text)
		assert.True(t, yes, text)
	}
}

// A run says of itself what a database says of it.
func TestDescriptionsAreThoseOfTheDatabase(t *testing.T) {
	places(t, func(t *testing.T, fresh func() string) {
		r := scaling(4, 2, 0)
		s := create(t, fresh())
		importOne(t, s, &New{Name: "x", Run: r})
		list, err := s.Trials(ctx)
		require.NoError(t, err)
		have, want := *Describe(r), *list[0]
		want.ID, want.Name, want.Experiment, want.Imported, want.total = 0, "", "", time.Time{}, 0
		assert.Equal(t, want, have)
	})
}

// Whatever somebody asks for, there is an answer or a refusal.
func FuzzFilter(f *testing.F) {
	for _, text := range []string{`ranks > 2 && params.size < 3`, `any(findings, .id == "imbalance" && .share > 0.2)`, `meta.compiler contains "gcc"`,
		`started > date("2026-11-01")`, `communication == nil`, `models[0].name matches "a(b|c)*"`, `findings?.[0].id`, "let x = 1; x", `ranks in [1, 2] ? true : false`,
		`sum(findings, .share) ** 2 > 1`, `params | keys() | len() > 0`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_, _ = parseIDs(text)
		filter, err := ParseFilter(text)
		if err != nil {
			return
		}
		_, _ = filter.Match(described)
	})
}

// Whatever a run file says, it is refused or comes out as it went in.
func FuzzImport(f *testing.F) {
	seed, err := scaling(2, 1, 0).Encode()
	require.NoError(f, err)
	f.Add(seed, "a name")
	f.Add([]byte(`{"schema": 1}`), "\x00\u202e")
	s, err := Open(ctx, filepath.Join(f.TempDir(), "runs.db"), Create)
	require.NoError(f, err)
	f.Cleanup(func() { s.Close() })
	f.Fuzz(func(t *testing.T, data []byte, name string) {
		r, err := run.Decode(data)
		if err != nil {
			return
		}
		outcomes, err := s.Import(ctx, []*New{{Name: name, Run: r, Files: map[string][]byte{run.File: data}}})
		if err != nil {
			return
		}
		files, err := s.Files(ctx, outcomes[0].Trial)
		require.NoError(t, err)
		require.Equal(t, data, files[run.File])
		found, err := s.Select(ctx, fmt.Sprint(outcomes[0].Trial))
		require.NoError(t, err)
		require.Len(t, found.Trials, 1)
		require.NoError(t, s.Delete(ctx, []int64{outcomes[0].Trial}))
	})
}
