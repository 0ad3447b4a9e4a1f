package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"marple/analysis/words"
)

// Baseline is a name for trials that others are compared with.
type Baseline struct {
	Name        string    `json:"name"`
	Application string    `json:"application"` // of the first one
	Trials      []int64   `json:"trials"`
	Made        time.Time `json:"made"`
	LeastRanks  int       `json:"-"`
	MostRanks   int       `json:"-"`
}

// SetBaseline makes a name stand for some trials, and for no others; of none, it is gone.
func (s *Store) SetBaseline(ctx context.Context, name string, trials []int64) error {
	return s.write(ctx, func(w *writer) error {
		if err := w.exec("DELETE FROM baseline WHERE name = $1", name); err != nil {
			return err
		}
		now := time.Now().UnixNano()
		for _, id := range slices.Compact(slices.Sorted(slices.Values(trials))) {
			if err := w.exec("INSERT INTO baseline (name, trial, made) VALUES ($1, $2, $3)", name, id, now); err != nil {
				return err
			}
		}
		return nil
	})
}

// Baselines lists them, by name.
func (s *Store) Baselines(ctx context.Context) ([]*Baseline, error) {
	list := []*Baseline{}
	err := s.each(ctx, s.db, `SELECT b.name, b.trial, b.made, t.ranks, a.name
		FROM baseline b JOIN trial t ON t.id = b.trial JOIN experiment e ON e.id = t.experiment JOIN application a ON a.id = e.application
		ORDER BY b.name, b.trial`, nil, func(rows *sql.Rows) error {
		var name, application string
		var id, made int64
		var ranks int
		err := rows.Scan(&name, &id, &made, &ranks, &application)
		if n := len(list); n == 0 || list[n-1].Name != name {
			list = append(list, &Baseline{Name: name, Application: application, Made: time.Unix(0, made).UTC(), LeastRanks: ranks, MostRanks: ranks})
		}
		b := list[len(list)-1]
		b.Trials, b.LeastRanks, b.MostRanks = append(b.Trials, id), min(b.LeastRanks, ranks), max(b.MostRanks, ranks)
		return err
	})
	return list, err
}

// Baseline gives the trials that a name stands for; that there are none is an error.
func (s *Store) Baseline(ctx context.Context, name string) ([]*Trial, error) {
	list, err := s.trials(ctx, condition{"t.id IN (SELECT trial FROM baseline WHERE name = $1)", []any{name}})
	if err != nil || len(list) > 0 {
		return list, err
	}
	all, err := s.Baselines(ctx)
	if err != nil {
		return nil, err
	}
	var known []string
	for _, b := range all {
		known = append(known, b.Name)
	}
	if near := words.Closest(name, known); near != "" {
		return nil, fmt.Errorf("%s: no baseline %q; did you mean %q?", s.place, name, near)
	}
	return nil, fmt.Errorf("%s: no baseline %q; marple db baseline says what there is", s.place, name)
}
