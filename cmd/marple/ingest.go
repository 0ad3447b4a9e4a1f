package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"marple/analysis/files"
	"marple/analysis/store"
	"marple/analysis/summary"
	"marple/analysis/words"
)

func dbIngest() *cobra.Command {
	c := &cobra.Command{
		Use:   "ingest SPOOL [DATABASE]",
		Short: "Take the summaries of a site's jobs from the spool directory",
		Long: `Takes the summaries that jobs measured for the site (see marple environment) have left in the spool directory into the
database, and removes their files: each once, however often this is interrupted. A file counts as a job of the user who
owns it; one that says otherwise, or is no summary, is refused and removed. Files that are not named as Marple names summaries are
left alone.

With --watch it goes on until it is interrupted, and looks again every so many seconds; a database that cannot be
reached is tried again.

--format json prints {"ingested", "known", "refused"}; known are those that the database had already.`,
		Args: func(_ *cobra.Command, arguments []string) error {
			if len(arguments) < 1 || len(arguments) > 2 {
				return usage("ingest: expected a spool directory, and perhaps a database")
			}
			return nil
		},
	}
	as := format(c, "text", "json")
	watch := c.Flags().Bool("watch", false, "go on until interrupted")
	every := c.Flags().Duration("every", 10*time.Second, "how often to look, with --watch")
	keep := c.Flags().String("keep", "", "remove jobs that started longer ago, and take none: 24 months, 90 days (default: keep all)")
	c.RunE = func(c *cobra.Command, arguments []string) error {
		i := &ingester{spool: arguments[0], out: c, users: map[uint32]userName{}}
		var err error
		if i.keep, err = parseKeep(*keep); err != nil {
			return usage("%w", err)
		}
		if *every < time.Second {
			return usage("--every: %v: expected a second at least", *every)
		}
		if len(arguments) == 2 {
			if err := c.Flags().Set("db", arguments[1]); err != nil {
				return err
			}
		}
		if _, err := files.In(i.spool); err != nil {
			return err
		}
		if *watch {
			silence(c)
			ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return i.watch(ctx, *every)
		}
		if err := i.pass(c.Context()); err != nil {
			return err
		}
		if *as == "json" {
			return printJSON(c.OutOrStdout(), map[string]any{"ingested": i.added, "known": i.taken - i.added, "refused": i.refused})
		}
		_, err = fmt.Fprintf(c.OutOrStdout(), "%s ingested, %d refused\n", words.Count(uint64(i.added), "job", "jobs"), i.refused)
		return err
	}
	return c
}

// parseKeep reads how long jobs are kept, as a function that says what the first day is; nil: all are kept.
func parseKeep(text string) (func(now time.Time) time.Time, error) {
	if text == "" {
		return nil, nil
	}
	parts := strings.Fields(text)
	if len(parts) == 2 {
		n, err := strconv.Atoi(parts[0])
		if err == nil && n > 0 && n <= 10_000 {
			switch strings.TrimSuffix(parts[1], "s") {
			case "month":
				return func(now time.Time) time.Time { return now.AddDate(0, -n, 0) }, nil
			case "day":
				return func(now time.Time) time.Time { return now.AddDate(0, 0, -n) }, nil
			}
		}
	}
	return nil, fmt.Errorf("--keep: %q: expected a number of months or days: 24 months", text)
}

type ingester struct {
	spool string
	out   *cobra.Command
	keep  func(now time.Time) time.Time
	users map[uint32]userName // of this pass
	// What is wrong with files that stay, and with the database, is said when it is new: before is what the last pass said.
	before, said map[string]bool
	more         int // lines that are not said, since there are too many

	taken, added int64
	refused      int
}

// watch passes until it is told to stop. What fails is said, and tried again.
func (i *ingester) watch(ctx context.Context, every time.Duration) error {
	failed := "" // what the last pass could not do
	for {
		if err := i.pass(ctx); err != nil && ctx.Err() == nil {
			if text := err.Error(); text != failed {
				i.print(text)
			}
			failed = err.Error()
		} else {
			failed = ""
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(every):
		}
	}
}

// mostSaid lines of a pass are said one by one: whoever lays thousands of files there is not to fill a log.
const mostSaid = 1000

// say says what is wrong with a file, unless the last pass has said so.
func (i *ingester) say(format string, arguments ...any) {
	text := fmt.Sprintf(format, arguments...)
	switch {
	case i.said[text]:
	case len(i.said) >= mostSaid:
		i.more++
	default:
		i.said[text] = true
		if !i.before[text] {
			i.print(text)
		}
	}
}

func (i *ingester) print(text string) {
	fmt.Fprintln(i.out.ErrOrStderr(), "marple: "+words.Clean(text))
}

const (
	ingestBatch = 500            // summaries in one transaction
	abandoned   = 24 * time.Hour // after which a file that nobody has finished is removed
	ahead       = 24 * time.Hour // clocks of hosts may differ by so much
)

// pass takes what is in the spool directory now.
func (i *ingester) pass(ctx context.Context) error {
	i.before, i.said, i.more = i.said, map[string]bool{}, 0
	defer func() {
		if i.more > 0 {
			i.print(fmt.Sprintf("and %s more", words.Count(uint64(i.more), "file", "files")))
		}
	}()
	spool, err := files.In(i.spool)
	if err != nil {
		return err
	}
	names, err := spool.Names()
	if err != nil {
		return err
	}
	s, err := openStore(i.out, store.Create)
	if err != nil {
		return err
	}
	defer s.Close()
	clear(i.users)
	slices.Sort(names)
	for some := range slices.Chunk(names, ingestBatch) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := i.take(ctx, s, spool, some); err != nil {
			return err
		}
	}
	if i.keep != nil {
		return s.Forget(ctx, i.keep(time.Now()))
	}
	return nil
}

// mostFailed files after each other may be what the database does not take; more, and it is the database.
const mostFailed = 3

// take stores some files, and removes them when they are stored: whoever is killed in between finds them known next time.
func (i *ingester) take(ctx context.Context, s *store.Store, spool files.Directory, names []string) error {
	var jobs []store.Job
	var done []files.File
	for _, name := range names {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		file := spool.File(name)
		whole, unfinished := summary.Named(name)
		if unfinished {
			if info, err := os.Lstat(filepath.Join(i.spool, name)); err == nil && time.Since(info.ModTime()) > abandoned {
				_ = file.Remove() // never a directory
			}
		}
		if !whole {
			continue
		}
		found, data, err := summary.Read(spool, name)
		var refused *summary.Refused
		switch {
		case errors.Is(err, os.ErrNotExist): // another one that ingests has taken it
		case errors.As(err, &refused):
			i.refuse(file, err)
		case err != nil:
			i.say("%v", err)
		case found.Started.After(time.Now().Add(ahead)):
			i.refuse(file, fmt.Errorf("%s: started in the future", file))
		case i.keep != nil && found.Started.Before(i.keep(time.Now())):
			done = append(done, file)
		default:
			name, err := i.userOf(ctx, found.UID)
			if err != nil {
				i.say("user %d cannot be looked up, whose jobs stay: %v", found.UID, err)
				continue
			}
			jobs = append(jobs, store.NewJob(name, found, data))
			done = append(done, file)
		}
	}
	added, err := s.Ingest(ctx, jobs)
	if err != nil && len(names) > 1 && ctx.Err() == nil { // one that the database does not take keeps no others from it
		failed := 0
		for _, name := range names {
			if one := i.take(ctx, s, spool, []string{name}); one == nil {
				failed = 0
			} else if failed++; failed > mostFailed {
				return one
			} else {
				i.say("%s stays: %v", spool.File(name), one)
			}
		}
		return ctx.Err()
	}
	if err != nil {
		return err
	}
	i.added, i.taken = i.added+added, i.taken+int64(len(jobs))
	for _, file := range done {
		i.remove(file)
	}
	return nil
}

func (i *ingester) refuse(file files.File, err error) {
	i.refused++
	i.say("%v; refused", err)
	i.remove(file)
}

func (i *ingester) remove(file files.File) {
	if err := file.Remove(); err != nil && !errors.Is(err, os.ErrNotExist) {
		i.say("%v; this must run as the owner of the spool directory", err)
	}
}

// noSuchKey is how getent ends where it knows of no such user.
const noSuchKey = 2

type userName struct {
	name string
	err  error
}

// userOf names a user as the system does, which may have to ask a directory service: getent does. One that there is no more is
// called by the number; where that cannot be known now, there is an error.
func (i *ingester) userOf(ctx context.Context, uid uint32) (name string, err error) {
	if u, known := i.users[uid]; known {
		return u.name, u.err
	}
	defer func() { i.users[uid] = userName{name, err} }()
	id := strconv.FormatUint(uint64(uid), 10)
	if u, err := user.LookupId(id); err == nil {
		name = u.Username
	} else {
		ctx, end := context.WithTimeout(ctx, 10*time.Second)
		defer end()
		line, err := exec.CommandContext(ctx, "getent", "passwd", id).Output()
		var ended *exec.ExitError
		switch {
		case errors.Is(err, exec.ErrNotFound), errors.As(err, &ended) && ended.ExitCode() == noSuchKey:
			return id, nil
		case err != nil:
			return "", fmt.Errorf("getent: %w", cmp.Or(ctx.Err(), err))
		}
		if name, _, _ = strings.Cut(string(line), ":"); name == "" {
			return id, nil
		}
	}
	return name, nil
}
