package store

import (
	"database/sql"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// nextVersion adds a column, as a version to come may.
var nextVersion = append(slices.Clone(migrations), "ALTER TABLE trial ADD COLUMN energy DOUBLE PRECISION; UPDATE trial SET energy = ranks")

func TestMigration(t *testing.T) {
	places(t, func(t *testing.T, fresh func() string) {
		location := fresh()
		s := create(t, location)
		importOne(t, s, &New{Name: "x", Run: scaling(4, 1, 0)})
		s.Close()

		for _, mode := range []Mode{Existing, Create} {
			_, err := open(ctx, location, mode, nextVersion)
			require.ErrorContains(t, err, fmt.Sprintf("the database has version %d, and this Marple works with version %d; bring it up to date with: marple db migrate", Version(), Version()+1))
		}
		s, err := open(ctx, location, Older, nextVersion)
		require.NoError(t, err)
		defer s.Close()
		energy, err := column[float64](s, ctx, s.db, "SELECT energy FROM trial")
		require.NoError(t, err)
		require.Equal(t, []float64{4}, energy)
		again, err := open(ctx, location, Existing, nextVersion)
		require.NoError(t, err)
		again.Close()

		for _, mode := range []Mode{Existing, Create, Older} {
			_, err = Open(ctx, location, mode)
			require.ErrorContains(t, err, fmt.Sprintf("the database has version %d, and this Marple knows versions up to %d; use a newer Marple", Version()+1, Version()))
		}
	})
}

// A database of every version before becomes one of today, with what is in it.
func TestOlderDatabases(t *testing.T) {
	places(t, func(t *testing.T, fresh func() string) {
		for version := 1; version < Version(); version++ {
			location := fresh()
			old, err := open(ctx, location, Create, migrations[:version])
			require.NoError(t, err)
			id := importOne(t, old, &New{Name: "x", Run: scaling(4, 1, 0)}).Trial
			old.Close()
			_, err = Open(ctx, location, Existing)
			require.ErrorContains(t, err, "bring it up to date with: marple db migrate")
			s, err := Open(ctx, location, Older)
			require.NoError(t, err)
			defer s.Close()
			have, err := s.Run(ctx, id)
			require.NoError(t, err)
			require.Equal(t, 4, have.Ranks)
		}
	})
}

// A series of one call path is read from one place, in order, however many trials there are.
func TestSeriesNeedNoTable(t *testing.T) {
	s := create(t, filepath.Join(t.TempDir(), "runs.db"))
	importOne(t, s, &New{Name: "x", Run: scaling(4, 1, 0)})
	var plan []string
	require.NoError(t, s.each(ctx, s.db, "EXPLAIN QUERY PLAN "+timesOfPath, []any{1, metricTime, 1, 2}, func(rows *sql.Rows) error {
		var id, parent, unused int
		var step string
		err := rows.Scan(&id, &parent, &unused, &step)
		plan = append(plan, step)
		return err
	}))
	require.Len(t, plan, 1, "nothing is sorted: %q", plan)
	require.Contains(t, plan[0], "USING COVERING INDEX statistic_series (callpath=? AND metric=? AND trial>? AND trial<?)")
}

// A step that fails leaves the version before.
func TestMigrationIsAllOrNothing(t *testing.T) {
	places(t, func(t *testing.T, fresh func() string) {
		location := fresh()
		s := create(t, location)
		importOne(t, s, &New{Name: "x", Run: scaling(4, 1, 0)})
		_, err := open(ctx, location, Older, append(nextVersion, "ALTER TABLE nothing ADD COLUMN x BIGINT"))
		require.Error(t, err)
		_, err = s.Trials(ctx)
		require.NoError(t, err)
		again, err := Open(ctx, location, Existing)
		require.NoError(t, err)
		again.Close()
	})
}

func TestDatabasesOfOthers(t *testing.T) {
	places(t, func(t *testing.T, fresh func() string) {
		for name, statement := range map[string]string{
			"other tables": "CREATE TABLE %strial (x BIGINT)",
			"a view":       "CREATE VIEW %smarple AS SELECT 1",
		} {
			location := fresh()
			db := openTest(t, location)
			prefix := ""
			if dialectOf(location).schema != "" {
				if name == "a view" {
					continue // in somebody else's schema there is nothing to mistake it for
				}
				_, err := db.Exec(dialectOf(location).schema)
				require.NoError(t, err)
				prefix = "marple."
			}
			_, err := db.Exec(fmt.Sprintf(statement, prefix))
			require.NoError(t, err)
			for _, mode := range []Mode{Existing, Create, Older} {
				_, err = Open(ctx, location, mode)
				require.ErrorContains(t, err, "not a store of Marple: it holds other tables", name)
			}
		}
		location := fresh()
		create(t, location)
		_, err := openTest(t, location).Exec("DELETE FROM marple_store")
		require.NoError(t, err)
		_, err = Open(ctx, location, Create)
		require.ErrorContains(t, err, "not a store of Marple, or damaged: it has no version")

		_, err = Open(ctx, fresh(), Existing)
		require.Regexp(t, "there is no such database; make one with: marple db import|the database is empty; import runs", err)
	})
}

// PostgreSQL may hold other things: TAU's and PerfDMF's tables have the same names.
func TestBesideOtherTables(t *testing.T) {
	location := postgres.Fresh(t)
	db := openTest(t, location)
	_, err := db.Exec("CREATE TABLE public.trial (x BIGINT); CREATE TABLE public.application (x BIGINT)")
	require.NoError(t, err)
	s := create(t, location)
	importOne(t, s, &New{Name: "x", Run: scaling(2, 1, 0)})
	list, err := s.Trials(ctx)
	require.NoError(t, err)
	require.Len(t, list, 1)
}

func TestPlacesThatAreNone(t *testing.T) {
	_, err := Open(ctx, "", Create)
	require.ErrorContains(t, err, "expected a file, or postgres://user@host/database")
	_, err = Open(ctx, "postgres://user:secret@localhost:1/x?connect_timeout=2", Existing)
	require.ErrorContains(t, err, "postgres://user:xxxxx@localhost:1/x: ")
	require.NotContains(t, err.Error(), "secret")
	_, err = Open(ctx, "postgres://user:secret@local host:1/x", Existing)
	require.Error(t, err)
	require.NotContains(t, err.Error(), "secret")
	directory := t.TempDir()
	_, err = Open(ctx, directory, Create)
	require.Error(t, err)
	text := filepath.Join(directory, "notes.txt")
	require.NoError(t, os.WriteFile(text, []byte("this is a text and no database, and long enough to have a header"), 0o666))
	_, err = Open(ctx, text, Create)
	require.EqualError(t, err, text+": not an SQLite database")
	data, err := os.ReadFile(text)
	require.NoError(t, err)
	require.Contains(t, string(data), "this is a text", "it is left as it was")
	odd := filepath.Join(directory, "a?b#c%20 'd'.db")
	importOne(t, create(t, odd), &New{Name: "x", Run: scaling(2, 1, 0)})
	_, err = os.Stat(odd)
	require.NoError(t, err)
}

// Whatever the bytes of the file are: an error or an answer, and never another run than the one that was stored.
func TestDamagedFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.db")
	s := create(t, path)
	for i := range 5 {
		importOne(t, s, &New{Name: "x", Run: scaling(4, 1, uint64(i))})
	}
	s.Close()
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	refused := 0
	for seed := range int64(150) {
		random := rand.New(rand.NewSource(seed))
		data := slices.Clone(whole)
		switch seed % 3 {
		case 0:
			data = data[:random.Intn(len(data))]
		case 1:
			for range 20 {
				data[random.Intn(len(data))] ^= byte(1 << random.Intn(8))
			}
		case 2: // a page of something else
			at := random.Intn(len(data)/4096) * 4096
			random.Read(data[at : at+4096])
		}
		broken := filepath.Join(t.TempDir(), "broken.db")
		require.NoError(t, os.WriteFile(broken, data, 0o666))
		if err := use(broken); err != nil {
			refused++
			require.Contains(t, err.Error(), "broken.db")
		}
	}
	require.Greater(t, refused, 50)
}

// use does everything once.
func use(location string) error {
	s, err := Open(ctx, location, Create)
	if err != nil {
		return err
	}
	defer s.Close()
	list, err := s.Trials(ctx)
	if err != nil {
		return err
	}
	for _, x := range list {
		if _, err := s.Run(ctx, x.ID); err != nil {
			return err
		}
	}
	if _, err := s.Runs(ctx, list, 0); err != nil {
		return err
	}
	if _, err := s.Import(ctx, []*New{{Name: "new", Run: scaling(2, 1, 77)}}); err != nil {
		return err
	}
	return s.Delete(ctx, []int64{1})
}
