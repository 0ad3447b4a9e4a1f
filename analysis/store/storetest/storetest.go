// Package storetest starts a PostgreSQL for tests, as Debian's package postgresql has it.
package storetest

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Server is a PostgreSQL of the tests' own; the zero value has none.
type Server struct {
	socket    string // directory
	databases atomic.Int32
}

// Main runs tests with a server. Without PostgreSQL those that need it are skipped, unless CI is 1.
func (s *Server) Main(m *testing.M) int {
	stop, err := s.start()
	defer func() { stop() }()
	if err != nil {
		fmt.Fprintf(os.Stderr, "PostgreSQL: %v\n", err)
		if os.Getenv("CI") == "1" {
			return 1
		}
	}
	return m.Run()
}

// start makes a cluster that listens on a socket in a temporary directory only. PostgreSQL refuses to run as root, so
// there it runs as the user that the package has made.
func (s *Server) start() (stop func(), err error) {
	stop = func() {}
	list, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(list) == 0 {
		return stop, fmt.Errorf("not installed")
	}
	programs := filepath.Dir(slices.Max(list))
	directory, err := os.MkdirTemp("", "marple-postgres-")
	if err != nil {
		return stop, err
	}
	stop = func() { os.RemoveAll(directory) }
	var as *syscall.Credential
	if os.Getuid() == 0 {
		u, err := user.Lookup("postgres")
		if err != nil {
			return stop, err
		}
		uid, _ := strconv.Atoi(u.Uid)
		gid, _ := strconv.Atoi(u.Gid)
		if err := os.Chown(directory, uid, gid); err != nil {
			return stop, err
		}
		as = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	run := func(program string, arguments ...string) error {
		c := exec.Command(filepath.Join(programs, program), arguments...)
		c.SysProcAttr, c.Dir = &syscall.SysProcAttr{Credential: as}, directory
		log, err := os.Create(filepath.Join(directory, program+".out"))
		if err != nil {
			return err
		}
		defer log.Close()
		c.Stdout, c.Stderr = log, log // no pipe, which the server would hold open
		if err := c.Run(); err != nil {
			text, _ := os.ReadFile(log.Name())
			return fmt.Errorf("%s: %w\n%s", program, err, text)
		}
		return nil
	}
	data := filepath.Join(directory, "data")
	if err := run("initdb", "-D", data, "-U", "marple", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"); err != nil {
		return stop, err
	}
	err = run("pg_ctl", "start", "-w", "-D", data, "-l", filepath.Join(directory, "log"),
		"-o", fmt.Sprintf("-c listen_addresses='' -c unix_socket_directories=%s -c fsync=off", directory))
	if err != nil {
		return stop, err
	}
	stop = func() {
		run("pg_ctl", "stop", "-m", "immediate", "-D", data)
		os.RemoveAll(directory)
	}
	s.socket = directory
	return stop, nil
}

// Fresh makes a new database and gives its location.
func (s *Server) Fresh(t testing.TB) string {
	if s.socket == "" {
		t.Skip("PostgreSQL is not installed")
	}
	name := fmt.Sprintf("d%d", s.databases.Add(1))
	s.Ask(t, "postgres", "CREATE DATABASE "+name)
	return s.location(name)
}

// Ask runs a statement as the administrator, and gives how many rows it has changed or found.
func (s *Server) Ask(t testing.TB, database, statement string) int64 {
	c, err := pgx.Connect(context.Background(), s.location(database))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	tag, err := c.Exec(context.Background(), statement)
	if err != nil {
		t.Fatal(err)
	}
	return tag.RowsAffected()
}

func (s *Server) location(database string) string {
	return (&url.URL{Scheme: "postgres", User: url.User("marple"), Path: "/" + database, RawQuery: url.Values{"host": {s.socket}}.Encode()}).String()
}
