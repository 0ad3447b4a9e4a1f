// Package store keeps runs in a database: applications, their experiments, and the trials of these. It is one file of
// SQLite unless somebody says otherwise, and PostgreSQL where many people and many runs meet; tables and commands are
// the same.
//
// It may use run, series and model, the drivers of both databases and the language of expressions. The
// analysis core does not: nothing that bridge uses may use store.
//
// Invariant: a trial is there as a whole or not at all, and comes out as it went in. The files of a run are kept as
// they are; the tables are made of them in the same transaction, so that runs can be searched and modelled.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"marple/analysis/setting"
)

// Preset is where runs are kept if nobody says otherwise, and Variable the environment variable that says so.
const (
	Preset   = "marple.db"
	Variable = setting.Database
)

// Store is a database. It may be used by many at once.
type Store struct {
	db    *sql.DB
	kind  *dialect
	place string // for people: a path, or a URL without its password
}

// Mode says what opening may do.
type Mode int

const (
	Existing Mode = iota // the database must be there, and have this version
	Create               // make it if it is not there
	Older                // it may have an older version, and is brought to this one
)

// Open opens the database at a location: a file of SQLite, or postgres://user@host/database. A database of another
// version, or one that holds other tables than the store's, is refused.
func Open(ctx context.Context, location string, mode Mode) (*Store, error) {
	return open(ctx, location, mode, migrations)
}

func open(ctx context.Context, location string, mode Mode, steps []string) (*Store, error) {
	s := &Store{kind: dialectOf(location), place: location}
	source, err := s.kind.open(location)
	if err != nil {
		return nil, err
	}
	s.db, s.place = source.db, source.place
	if source.file != "" && mode != Create {
		if _, err := os.Stat(source.file); err != nil {
			s.Close()
			return nil, fmt.Errorf("%s: there is no such database; make one with: marple db import RUN", s.place)
		}
	}
	if err := s.prepare(ctx, mode, steps); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// prepare looks at what is there, and makes the tables where it may.
func (s *Store) prepare(ctx context.Context, mode Mode, steps []string) error {
	version, err := s.version(ctx, s.db)
	if err != nil {
		return err
	}
	if version == len(steps) {
		return nil
	}
	if version == 0 && mode != Create {
		return fmt.Errorf("%s: the database is empty; import runs with: marple db import RUN", s.place)
	}
	if err := s.known(version, steps); err != nil {
		return err
	}
	if version > 0 && mode != Older {
		return fmt.Errorf("%s: the database has version %d, and this Marple works with version %d; bring it up to date with: marple db migrate (an older Marple cannot read it afterwards)",
			s.place, version, len(steps))
	}
	return s.write(ctx, func(w *writer) error {
		if err := w.exec(s.kind.schema); err != nil {
			return err
		}
		version, err := s.version(ctx, w.tx) // another process may have been quicker
		if err == nil {
			err = s.known(version, steps)
		}
		if err != nil || version == len(steps) {
			return err
		}
		for _, step := range steps[version:] {
			if err := w.exec(s.kind.words.Replace(step)); err != nil {
				return err
			}
		}
		if err := w.exec("DELETE FROM marple_store"); err != nil {
			return err
		}
		return w.exec("INSERT INTO marple_store (version) VALUES ($1)", len(steps))
	})
}

func (s *Store) known(version int, steps []string) error {
	if version > len(steps) {
		return fmt.Errorf("%s: the database has version %d, and this Marple knows versions up to %d; use a newer Marple", s.place, version, len(steps))
	}
	return nil
}

// asker is a database or a transaction.
type asker interface {
	QueryContext(ctx context.Context, query string, arguments ...any) (*sql.Rows, error)
}

// version is that of the tables: 0 if there are none.
func (s *Store) version(ctx context.Context, db asker) (int, error) {
	tables, err := column[string](s, ctx, db, s.kind.tables)
	if err != nil {
		return 0, err
	}
	if !slices.Contains(tables, "marple_store") {
		if len(tables) > 0 {
			return 0, fmt.Errorf("%s: not a store of Marple: it holds other tables (%.40q); expected a database of its own", s.place, tables[0])
		}
		return 0, nil
	}
	versions, err := column[int](s, ctx, db, "SELECT version FROM marple_store")
	if err == nil && (len(versions) != 1 || versions[0] < 1) {
		err = fmt.Errorf("%s: not a store of Marple, or damaged: it has no version", s.place)
	}
	if err != nil {
		return 0, err
	}
	return versions[0], nil
}

// Close ends the use of the database.
func (s *Store) Close() error { return s.db.Close() }

// Place is the database's location for people.
func (s *Store) Place() string { return s.place }

// Version is that of the tables which this Marple works with.
func Version() int { return len(migrations) }

// failed says of an error of the database where it was and what can be done.
func (s *Store) failed(err error) error {
	var damaged *sqlite.Error
	if !errors.As(err, &damaged) {
		return fmt.Errorf("%s: %w", s.place, err)
	}
	switch damaged.Code() & 0xff {
	case sqlite3.SQLITE_NOTADB:
		return fmt.Errorf("%s: not an SQLite database", s.place)
	case sqlite3.SQLITE_CORRUPT:
		return fmt.Errorf("%s: the database is damaged; take a copy from before, or import the runs into a new one: %w", s.place, err)
	case sqlite3.SQLITE_BUSY:
		return fmt.Errorf("%s: another process has been writing to the database for more than a minute", s.place)
	case sqlite3.SQLITE_READONLY:
		return fmt.Errorf("%s: the database, or the directory it is in, is not writable", s.place)
	}
	return fmt.Errorf("%s: %w", s.place, err)
}

// each runs a query and visits its rows.
func (s *Store) each(ctx context.Context, db asker, query string, arguments []any, visit func(*sql.Rows) error) error {
	rows, err := db.QueryContext(ctx, query, arguments...)
	if err != nil {
		return s.failed(err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := visit(rows); err != nil {
			return s.failed(err)
		}
	}
	if err := rows.Err(); err != nil {
		return s.failed(err)
	}
	return nil
}

// column gives the only column of a query's answer.
func column[T any](s *Store, ctx context.Context, db asker, query string, arguments ...any) (list []T, err error) {
	err = s.each(ctx, db, query, arguments, func(rows *sql.Rows) error {
		var x T
		err := rows.Scan(&x)
		list = append(list, x)
		return err
	})
	return list, err
}

// clean makes a text one that both databases can hold.
func clean(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}

// MaxName is how many bytes names of applications, experiments, trials and metadata may have.
const MaxName = 200

// CheckName says what is wrong with a name that somebody gives.
func CheckName(what, name string) error {
	switch {
	case name == "" || strings.TrimSpace(name) != name:
		return fmt.Errorf("%s: %.40q: expected a name without spaces around it", what, name)
	case len(name) > MaxName:
		return fmt.Errorf("%s: %.40q…: expected at most %d bytes", what, name, MaxName)
	case clean(name) != name || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return fmt.Errorf("%s: %.40q: expected text without control characters", what, name)
	}
	return nil
}
