package store

import (
	"database/sql"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// dialect is what differs between the databases.
type dialect struct {
	schemes []string
	open    func(location string) (source, error)
	words   *strings.Replacer // of migrations
	schema  string            // makes the place for the tables
	tables  string            // lists them
	// partition makes the table that has a span of time of the jobs; empty: they are all in one.
	partition string
	lock      string // makes a transaction the only one that writes
	rows      int    // inserted by one statement
	// snapshot is the isolation in which several queries see the same state.
	snapshot sql.IsolationLevel
}

type source struct {
	db    *sql.DB
	place string
	file  string // that must be there
}

var dialects = []*dialect{
	{
		schemes: []string{"postgres://", "postgresql://"},
		open:    openPostgres,
		words:   strings.NewReplacer("{id}", "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY", "{bytes}", "BYTEA", "{clustered}", "", "{monthly}", "PARTITION BY RANGE (started)"),
		// Beside the tables of others: PerfDMF's have the same names.
		schema:    "CREATE SCHEMA IF NOT EXISTS marple",
		tables:    "SELECT tablename FROM pg_catalog.pg_tables WHERE schemaname = 'marple' ORDER BY tablename",
		partition: "CREATE TABLE IF NOT EXISTS %s PARTITION OF job FOR VALUES FROM (%d) TO (%d)",
		lock:      "SELECT pg_advisory_xact_lock(7954766)",
		rows:      100, snapshot: sql.LevelRepeatableRead,
	},
	{
		schemes: []string{""},
		open:    openSQLite,
		words:   strings.NewReplacer("{id}", "INTEGER PRIMARY KEY AUTOINCREMENT", "{bytes}", "BLOB", "{clustered}", "WITHOUT ROWID", "{monthly}", "WITHOUT ROWID"),
		schema:  "",
		tables:  "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name",
		rows:    1, // binding many values at once takes the driver quadratic time
	},
}

func dialectOf(location string) *dialect {
	for _, d := range dialects {
		for _, scheme := range d.schemes {
			if strings.HasPrefix(location, scheme) {
				return d
			}
		}
	}
	return nil
}

// openSQLite keeps the classic journal: with a write-ahead log, databases on network file systems break. A transaction
// that writes takes its lock when it begins, so that none has to be tried again. What a file's schema says is not run.
func openSQLite(location string) (source, error) {
	if location == "" {
		return source{}, fmt.Errorf("no database: expected a file, or postgres://user@host/database")
	}
	path, err := filepath.Abs(location)
	if err != nil {
		return source{}, err
	}
	name := url.URL{Scheme: "file", Path: path, RawQuery: url.Values{
		"_txlock": {"immediate"},
		"_pragma": {"busy_timeout(60000)", "foreign_keys(1)", "trusted_schema(0)", "cell_size_check(1)", "cache_size(-65536)"},
	}.Encode()}
	db, err := sql.Open("sqlite", name.String())
	return source{db, location, path}, err
}

func openPostgres(location string) (source, error) {
	config, err := pgx.ParseConfig(location)
	if err != nil {
		return source{}, err // the password is not in it
	}
	place := "postgres database"
	if u, err := url.Parse(location); err == nil {
		u.RawQuery = ""
		place = u.Redacted()
	}
	config.RuntimeParams["search_path"] = "marple"
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "marple"
	}
	return source{stdlib.OpenDB(*config), place, ""}, nil
}
