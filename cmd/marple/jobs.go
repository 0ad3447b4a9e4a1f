package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"marple/analysis/page"
	"marple/analysis/store"
	"marple/analysis/words"
)

// access says who sees what, where a server in front says who asks. Without a header everybody sees everything.
type access struct {
	header string
	admins []string
}

type askerKey struct{}

// identified asks for the header that names the user, once and not empty.
func (a access) identified(next http.Handler) http.Handler {
	if a.header == "" {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		names := r.Header.Values(a.header)
		if len(names) != 1 || strings.TrimSpace(names[0]) == "" || strings.Contains(names[0], ",") {
			http.Error(w, "the server in front must say in "+a.header+" who asks", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), askerKey{}, strings.TrimSpace(names[0]))))
	})
}

// only is the user whose jobs may be shown; empty: everybody's.
func (a access) only(r *http.Request) string {
	name, _ := r.Context().Value(askerKey{}).(string)
	if slices.Contains(a.admins, name) {
		return ""
	}
	return name
}

const (
	mostGroups  = 200
	allGroups   = 1 << 20
	mostJobs    = 100
	recentDays  = 30
	noSuchGroup = "(none)"
)

// jobGroups are the ways to add jobs up that the page offers; those of time have no link.
var jobGroups = []string{"program", "user", "account", "build", "finding", "day", "week", "month"}

// jobs makes the page on jobs: of one user, or of all.
func (l *library) jobs(ctx context.Context, only string, question url.Values, now time.Time) ([]byte, error) {
	if l.store == nil {
		return nil, errUnknown
	}
	by := cmp.Or(question.Get("by"), jobGroups[0])
	f := store.JobFilter{User: cmp.Or(only, question.Get("user")), Account: question.Get("account"), Program: question.Get("program"), Build: question.Get("build")}
	shown := page.Jobs{Title: "Jobs", Whose: "Jobs of everybody in " + l.store.Place(), From: question.Get("from"), Change: question.Get("change"), Imbalance: question.Get("imbalance"),
		Filters: []page.JobFilter{{Name: "program", Value: f.Program}, {Name: "account", Value: f.Account}, {Name: "build", Value: f.Build}}}
	if only != "" {
		shown.Whose = "Jobs of " + only
	} else {
		shown.Filters = append(shown.Filters, page.JobFilter{Name: "user", Value: f.User})
	}
	for _, name := range jobGroups {
		shown.Groups = append(shown.Groups, page.JobGroup{Name: name, Chosen: name == by})
	}
	if shown.From == "" {
		shown.From = now.AddDate(0, 0, -recentDays).Format(time.DateOnly)
	}
	var err error
	if f.From, err = time.Parse(time.DateOnly, shown.From); err != nil {
		shown.Error = "from: expected a day, such as 2026-11-01"
	}
	if shown.Imbalance != "" {
		percent, err := strconv.ParseFloat(shown.Imbalance, 64)
		if err != nil || !(percent >= 0 && percent <= 100) {
			shown.Error = "imbalance: expected a number from 0 to 100"
		}
		f.Imbalance = percent / 100
	}
	change, err := time.Parse(time.DateOnly, shown.Change)
	if shown.Change != "" && err != nil {
		shown.Error = "compare with before: expected a day, such as 2026-11-01"
	}
	if !slices.Contains(jobGroups, by) {
		shown.Error = "by: expected one of " + strings.Join(jobGroups, ", ")
	}
	if shown.Error == "" {
		link := func(name string) string {
			if !slices.Contains(jobGroups[:4], by) || name == "" {
				return ""
			}
			again := maps.Clone(question)
			again.Set(by, name)
			again.Set("by", "week")
			return "/jobs?" + again.Encode()
		}
		if shown.Change == "" {
			shown.Table, err = l.sums(ctx, f, by, link)
		} else {
			shown.Table, err = l.changes(ctx, f, by, change, link)
		}
		if err != nil {
			return nil, err
		}
		if shown.Jobs, err = l.lastJobs(ctx, f); err != nil {
			return nil, err
		}
	}
	var text bytes.Buffer
	err = page.WriteJobs(&text, shown)
	return text.Bytes(), err
}

// lastJobs are the last ones, each with what was found first.
func (l *library) lastJobs(ctx context.Context, f store.JobFilter) (shown []page.Job, err error) {
	list, err := l.store.Jobs(ctx, f, mostJobs)
	for _, j := range list {
		one := page.Job{Program: j.Program, User: j.User, Account: j.Account, Job: j.Job, Started: j.Started, Ranks: j.Ranks, Wall: float64(j.Wall) / 1e9,
			Parallel: j.Parallel, LoadBalance: j.LoadBalance, Incomplete: j.Incomplete}
		if len(j.Findings) > 0 {
			one.Finding, one.Where, one.Advice = j.Findings[0].Title, j.Findings[0].Where, j.Findings[0].Advice
		}
		shown = append(shown, one)
	}
	return shown, err
}

func heads(by string, titles ...string) []page.Sort {
	list := []page.Sort{{Title: words.Sentence(by)}}
	for _, t := range titles {
		list = append(list, page.Sort{Title: t, Number: true})
	}
	return list
}

func coreHours(seconds float64) string { return strconv.FormatFloat(seconds/3600, 'g', 3, 64) }

// most are the groups that lose most, or the last spans of time; what is left out is said.
func (l *library) most(ctx context.Context, f store.JobFilter, by string) (sums []store.Sum, cut string, err error) {
	sums, err = l.store.Sums(ctx, f, by, mostGroups+1)
	if len(sums) <= mostGroups {
		return sums, "", err
	}
	if slices.Contains(jobGroups[5:], by) {
		return sums[1:], fmt.Sprintf("These are the last %d; there are earlier ones.", mostGroups), err
	}
	return sums[:mostGroups], fmt.Sprintf("These are the %d that lose most; there are more.", mostGroups), err
}

// sums says what each group costs, and what of that it loses.
func (l *library) sums(ctx context.Context, f store.JobFilter, by string, link func(string) string) (page.JobTable, error) {
	t := page.JobTable{Head: heads(by, "Jobs", "Core hours", "Lost", "Parallel", "With an imbalance of 30 % or more")}
	sums, cut, err := l.most(ctx, f, by)
	t.Cut = cut
	for _, s := range sums {
		t.Rows = append(t.Rows, page.JobRow{Name: cmp.Or(s.Name, noSuchGroup), Link: link(s.Name),
			Cells: []string{words.Number(uint64(s.Jobs)), coreHours(s.CoreTime), coreHours(s.Lost), words.Percent(s.Parallel()), words.Number(uint64(s.Imbalanced))}})
	}
	return t, err
}

// changes sets what started from a day on against what started between f.From and it.
func (l *library) changes(ctx context.Context, f store.JobFilter, by string, day time.Time, link func(string) string) (page.JobTable, error) {
	t := page.JobTable{Head: heads(by, "Jobs before", "Jobs since", "Core hours a job before", "Since", "Parallel before", "Since")}
	before, since := f, f
	before.To, since.From = day, day
	first, err := l.store.Sums(ctx, before, by, allGroups) // one that lost little before may be among those that lose most since
	if err != nil {
		return t, err
	}
	second, cut, err := l.most(ctx, since, by)
	t.Cut = cut
	was := map[string]store.Sum{}
	for _, s := range first {
		was[s.Name] = s
	}
	each := func(s store.Sum) string {
		if s.Jobs == 0 {
			return "–"
		}
		return coreHours(s.CoreTime / float64(s.Jobs))
	}
	parallel := func(s store.Sum) string {
		if s.Jobs == 0 {
			return "–"
		}
		return words.Percent(s.Parallel())
	}
	row := func(w, s store.Sum) {
		name := cmp.Or(s.Name, w.Name)
		t.Rows = append(t.Rows, page.JobRow{Name: cmp.Or(name, noSuchGroup), Link: link(name),
			Cells: []string{fmt.Sprint(w.Jobs), fmt.Sprint(s.Jobs), each(w), each(s), parallel(w), parallel(s)}})
	}
	for _, s := range second {
		row(was[s.Name], s)
		delete(was, s.Name)
	}
	for _, w := range first { // there are none of these any more
		if _, gone := was[w.Name]; gone && cut == "" && len(t.Rows) < mostGroups {
			row(w, store.Sum{})
		}
	}
	return t, err
}
