package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"marple/analysis/summary"
)

// Job is a run that a site has measured, and whose it was.
type Job struct {
	ID   string // the digest of its file
	User string
	*summary.Summary
}

// NewJob is a job of a user, by the file of its summary.
func NewJob(user string, s *summary.Summary, file []byte) Job {
	sum := sha256.Sum256(file)
	return Job{hex.EncodeToString(sum[:16]), clean(user), s}
}

// jobColumns are those that are asked for; the summary has the rest.
var jobColumns = []string{"started", "digest", "ingested", "owner", "account", "program", "build", "ranks", "wall", "core_time", "lost", "load_balance", "finding", "summary"}

// Ingest stores jobs, all or none. Those that are there already are left as they are, and not counted.
func (s *Store) Ingest(ctx context.Context, jobs []Job) (added int64, err error) {
	if len(jobs) == 0 {
		return 0, nil
	}
	err = s.write(ctx, func(w *writer) error {
		months := map[time.Time]bool{}
		var rows [][]any
		for _, j := range jobs {
			started := j.Started.UTC()
			month := time.Date(started.Year(), started.Month(), 1, 0, 0, 0, 0, time.UTC)
			if !months[month] {
				months[month] = true
				if err := w.month(month); err != nil {
					return err
				}
			}
			finding := ""
			if len(j.Findings) > 0 {
				finding = clean(j.Findings[0].ID)
			}
			text, err := json.Marshal(j.Summary)
			if err != nil {
				return err
			}
			rows = append(rows, []any{j.Started.UnixNano(), j.ID, time.Now().UnixNano(), j.User, clean(j.Account), clean(j.Program), clean(j.BuildID), j.Ranks,
				int64(j.Wall), int64(j.CoreTime), (1 - min(1, j.Parallel)) * float64(j.CoreTime), j.LoadBalance, finding, clean(string(text))})
		}
		added, err = w.insertOr(" ON CONFLICT DO NOTHING", "job", jobColumns, rows)
		return err
	})
	return added, err
}

// partition is the table that has a month's jobs, where the database divides them.
func partition(month time.Time) string { return month.Format("job_2006_01") }

func (w *writer) month(month time.Time) error {
	if w.s.kind.partition == "" {
		return nil
	}
	return w.exec(fmt.Sprintf(w.s.kind.partition, partition(month), month.UnixNano(), month.AddDate(0, 1, 0).UnixNano()))
}

// Forget removes the jobs of before: whole months at once where the database divides them, and the rest one by one.
func (s *Store) Forget(ctx context.Context, before time.Time) error {
	return s.write(ctx, func(w *writer) error {
		if s.kind.partition != "" {
			tables, err := column[string](s, ctx, w.tx, s.kind.tables)
			if err != nil {
				return err
			}
			for _, table := range tables {
				if month, err := time.Parse("job_2006_01", table); err == nil && !month.AddDate(0, 1, 0).After(before) {
					if err := w.exec("DROP TABLE " + partition(month)); err != nil {
						return err
					}
				}
			}
		}
		return w.exec("DELETE FROM job WHERE started < $1", before.UnixNano())
	})
}

// JobFilter says which jobs are meant. What is empty counts for all.
type JobFilter struct {
	From, To               time.Time // they started then, To excluded
	User, Account, Program string
	Build                  string
	// Imbalance is the least share of the time that ranks lose because others have more to do: 1 − load balance.
	Imbalance float64
}

func (q JobFilter) where() (string, []any) {
	var terms []string
	var values []any
	add := func(term string, value any) {
		values = append(values, value)
		terms = append(terms, fmt.Sprintf(term, len(values)))
	}
	if !q.From.IsZero() {
		add("started >= $%d", q.From.UnixNano())
	}
	if !q.To.IsZero() {
		add("started < $%d", q.To.UnixNano())
	}
	for name, value := range map[string]string{"owner": q.User, "account": q.Account, "program": q.Program, "build": q.Build} {
		if value != "" {
			add(name+" = $%d", value)
		}
	}
	if q.Imbalance > 0 {
		add("load_balance <= $%d", 1-q.Imbalance)
	}
	if len(terms) == 0 {
		return "", nil
	}
	return " WHERE " + strings.Join(terms, " AND "), values
}

// Sum adds jobs up. Times are seconds of core time.
type Sum struct {
	Name       string
	Jobs       int64
	CoreTime   float64
	Lost       float64 // of it, that a parallel efficiency of 1 would have saved
	Imbalanced int64   // jobs that lose 30 % or more because some ranks have more to do
}

// Parallel is the parallel efficiency of all of it.
func (s Sum) Parallel() float64 {
	if s.CoreTime == 0 {
		return 0
	}
	return 1 - s.Lost/s.CoreTime
}

// groups are what jobs can be added up by, and their columns.
var groups = map[string]string{
	"program": "program", "user": "owner", "account": "account", "build": "build", "finding": "finding",
}

// periods are the groups that are spans of time: weeks begin on Thursdays, as 1970 did; months are of 30 days.
var periods = map[string]time.Duration{"day": 24 * time.Hour, "week": 7 * 24 * time.Hour, "month": 30 * 24 * time.Hour}

// Sums adds jobs up by a group, those that lose most first; spans of time one after the other, named by their first day. Of more than
// `most` those that lose least are left out, and of spans the earliest.
func (s *Store) Sums(ctx context.Context, q JobFilter, group string, most int) (list []Sum, err error) {
	by, known := groups[group]
	order := "4 DESC, 1"
	period, timely := periods[group]
	if timely {
		by, order = fmt.Sprintf("started / %d", int64(period)), "1 DESC"
	} else if !known {
		return nil, fmt.Errorf("%q: nothing that jobs can be added up by", group)
	}
	where, values := q.where()
	query := fmt.Sprintf(`SELECT %s, count(*), sum(CAST(core_time AS DOUBLE PRECISION)), sum(lost), sum(CASE WHEN load_balance <= 0.7 THEN 1 ELSE 0 END) FROM job%s GROUP BY 1 ORDER BY %s LIMIT %d`, by, where, order, most)
	err = s.each(ctx, s.db, query, values, func(rows *sql.Rows) error {
		var x Sum
		var number int64
		name := any(&x.Name)
		if timely {
			name = &number
		}
		if err := rows.Scan(name, &x.Jobs, &x.CoreTime, &x.Lost, &x.Imbalanced); err != nil {
			return err
		}
		if timely {
			x.Name = time.Unix(0, number*int64(period)).UTC().Format(time.DateOnly)
		}
		x.CoreTime, x.Lost = x.CoreTime/1e9, x.Lost/1e9
		list = append(list, x)
		return nil
	})
	if timely {
		slices.Reverse(list)
	}
	return list, err
}

// Jobs gives jobs, the last ones first.
func (s *Store) Jobs(ctx context.Context, q JobFilter, most int) (list []Job, err error) {
	where, values := q.where()
	query := fmt.Sprintf("SELECT digest, owner, summary FROM job%s ORDER BY started DESC, digest LIMIT %d", where, most)
	err = s.each(ctx, s.db, query, values, func(rows *sql.Rows) error {
		j := Job{Summary: &summary.Summary{}}
		var text string
		if err := rows.Scan(&j.ID, &j.User, &text); err != nil {
			return err
		}
		list = append(list, j)
		return json.Unmarshal([]byte(text), j.Summary)
	})
	return list, err
}
