package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"marple/analysis/compare"
	"marple/analysis/model"
	"marple/analysis/page"
	"marple/analysis/plot"
	"marple/analysis/report"
	"marple/analysis/run"
	"marple/analysis/series"
	"marple/analysis/store"
	"marple/analysis/words"
)

func serveCommand() *cobra.Command {
	c := &cobra.Command{Use: "serve RUN... | db:SELECTION...", Short: "Show runs in a browser, on this computer only", Annotations: endless,
		Long: `Shows a list of runs and, of each, the page that marple page writes, at an address that only this computer can
reach. The list can be sorted, and filtered by what is known of the runs; two of them can be compared. A directory that
is no run itself stands for the runs in it, also for those that come later. db: stands for all trials in the database,
and db:SELECTION for some: an application, numbers, or an expression (see marple db query --help). Ends when
interrupted.

Of a site's jobs (see marple db ingest) /jobs shows what each program, user or account costs and loses, how that went on,
and what has changed since a day. With --user-header a server in front, which knows its users, says who asks: they see
their own jobs, and those named with --admin everything. Let it come through --socket: on a port, every user of this
computer who knows the token could say to be anybody.

Other users of this computer can reach the address, too, so it ends in a token, without which nothing is shown; --open
does without.`,
		Example: `  marple serve .
  marple serve db: --db postgres://user@host/database
  marple serve 'db:ranks >= 64'`}
	o := pageFlags(c)
	database(c, false)
	port := c.Flags().Int("port", 8137, "port on 127.0.0.1 (0: any that is free)")
	open := c.Flags().Bool("open", false, "show the runs to every user of this computer: no token in the address")
	socket := c.Flags().String("socket", "", "listen on a Unix socket instead, which its group may use")
	header := c.Flags().String("user-header", "", "header in which a server in front says who asks: users see their own jobs only")
	admins := c.Flags().StringSlice("admin", nil, "user who sees everything, with --user-header; several separated by commas")
	c.Args = func(_ *cobra.Command, arguments []string) error {
		if len(*admins) > 0 && *header == "" {
			return usage("--admin: expected --user-header, too")
		}
		if *open && *header != "" {
			return usage("--open: with --user-header every user of this computer could say to be another; expected --socket, or neither")
		}
		if len(arguments) == 0 {
			return usage("serve: expected runs, directories that hold runs, or db: for those in the database")
		}
		return nil
	}
	c.RunE = func(c *cobra.Command, arguments []string) error {
		if err := o.check(); err != nil {
			return err
		}
		l := &library{options: o, known: map[string]description{}, access: access{*header, *admins}}
		for _, argument := range arguments {
			if selection, ok := strings.CutPrefix(argument, fromDatabase); ok {
				l.selections = append(l.selections, selection)
				continue
			}
			if _, err := os.Stat(argument); err != nil {
				return err
			}
			l.paths = append(l.paths, argument)
		}
		if len(l.selections) > 0 {
			s, err := openStore(c, store.Existing)
			if err != nil {
				return err
			}
			defer s.Close()
			l.store = s
			for _, selection := range l.selections { // mistakes are said at once
				if _, err := l.selected(c.Context(), selection); err != nil {
					return err
				}
			}
		}
		listener, err := listen(*socket, *port)
		if err != nil {
			return err
		}
		ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		served, address := handler(l), fmt.Sprintf("http://%s/", listener.Addr())
		switch {
		case *socket != "":
			address = *socket
		case !*open:
			token := rand.Text()
			served = guarded(token, "marple-"+strings.TrimPrefix(listener.Addr().String(), "127.0.0.1:"), served)
			address += "?token=" + token
		}
		server := serverOf(local(served))
		go func() {
			<-ctx.Done()
			_ = server.Shutdown(context.WithoutCancel(ctx))
		}()
		fmt.Fprintln(c.OutOrStdout(), address)
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	}
	return c
}

// listen opens a port on this computer, or a socket, which the file's permissions guard. Of a server that has ended without
// removing it, the socket is replaced; what is none stays.
func listen(socket string, port int) (net.Listener, error) {
	if socket == "" {
		return net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	}
	if info, err := os.Lstat(socket); err == nil && info.Mode()&os.ModeSocket != 0 {
		if c, err := net.Dial("unix", socket); err == nil {
			c.Close()
			return nil, fmt.Errorf("%s: somebody is serving there already", socket)
		}
		if err := os.Remove(socket); err != nil {
			return nil, err
		}
	}
	defer syscall.Umask(syscall.Umask(0o117))
	return net.Listen("unix", socket)
}

// serverOf bounds how long a connection takes something from it, idle ones too, and not how long a page takes to be made.
func serverOf(h http.Handler) *http.Server {
	return &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 10 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 1 << 16}
}

// guarded asks for a token, once in the address, and in a cookie from then on.
func guarded(token, cookie string, next http.Handler) http.Handler {
	same := func(text string) bool { return subtle.ConstantTimeCompare([]byte(text), []byte(token)) == 1 }
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		question := r.URL.Query()
		if question.Has("token") && same(question.Get("token")) {
			http.SetCookie(w, &http.Cookie{Name: cookie, Value: token, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
			question.Del("token")
			http.Redirect(w, r, (&url.URL{Path: r.URL.Path, RawQuery: question.Encode()}).String(), http.StatusSeeOther)
			return
		}
		if c, err := r.Cookie(cookie); err != nil || !same(c.Value) {
			http.Error(w, "open the address that marple serve has printed, with the token in it", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// policy is what all pages together need, and nothing from elsewhere; none is shown inside another one.
const policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; form-action 'self'; " +
	"base-uri 'none'; frame-ancestors 'none'"

// local refuses requests that name another host, or come from another site's page: such a page must neither read runs
// by giving this address a name of its own, nor have this server work for it.
func local(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", policy)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Referrer-Policy", "no-referrer")
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		if host != "127.0.0.1" && host != "localhost" {
			http.Error(w, "this address is 127.0.0.1", http.StatusForbidden)
			return
		}
		if from := r.Header.Get("Sec-Fetch-Site"); from == "cross-site" || from == "same-site" {
			http.Error(w, "this page is not opened from others; type its address", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// library is the runs that are shown: those in directories, and those in a database.
type library struct {
	options    *pageOptions
	paths      []string
	store      *store.Store
	selections []string
	access     access

	lock  sync.Mutex
	known map[string]description // by path
}

// description is what a run file said when it was read.
type description struct {
	changed time.Time
	trial   *store.Trial
	err     error
}

// entry is one run of the list: a trial, or a path with what a database would say of the run there.
type entry struct {
	*store.Trial
	path string
	err  error
}

// key is the entry's name in addresses: it stays the same whatever other runs come.
func (e *entry) key() string {
	if e.path == "" {
		return strconv.FormatInt(e.ID, 10)
	}
	sum := sha256.Sum256([]byte(e.path))
	return "d" + hex.EncodeToString(sum[:8])
}

func (e *entry) name() string {
	if e.path != "" {
		return e.path
	}
	return fmt.Sprintf("%s/%s: %s (%d)", e.Application, e.Experiment, e.Name, e.ID)
}

func (l *library) places() (list []string) {
	list = slices.Clone(l.paths)
	for _, selection := range l.selections {
		list = append(list, strings.TrimSuffix(l.store.Place()+": "+selection, ": "))
	}
	return list
}

// runsIn lists the runs that are there now, among what paths stand for.
func runsIn(paths []string) []string {
	return slices.DeleteFunc(runPaths(paths), func(path string) bool {
		info, err := os.Stat(path)
		if err == nil && info.IsDir() {
			_, err = os.Stat(filepath.Join(path, run.File))
		}
		return err != nil
	})
}

func (l *library) selected(ctx context.Context, selection string) ([]*store.Trial, error) {
	if selection == "" {
		return l.store.Trials(ctx)
	}
	found, err := l.store.Select(ctx, selection)
	if err != nil {
		return nil, err
	}
	return found.Trials, nil
}

// entries are all runs that are there now.
func (l *library) entries(ctx context.Context) (list []*entry, err error) {
	for _, path := range runsIn(l.paths) {
		d := l.describe(path)
		list = append(list, &entry{d.trial, path, d.err})
	}
	seen := map[int64]bool{}
	for _, selection := range l.selections {
		trials, err := l.selected(ctx, selection)
		if err != nil {
			return nil, err
		}
		for _, t := range trials {
			if !seen[t.ID] {
				seen[t.ID] = true
				list = append(list, &entry{t, "", nil})
			}
		}
	}
	return list, nil
}

// describe reads a run file if it is another one than before.
func (l *library) describe(path string) description {
	file := path
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		file = filepath.Join(path, run.File)
	}
	info, err := os.Stat(file)
	if err != nil {
		return description{err: err}
	}
	l.lock.Lock()
	defer l.lock.Unlock()
	if d, ok := l.known[path]; ok && d.changed.Equal(info.ModTime()) {
		return d
	}
	d := description{changed: info.ModTime()}
	if r, err := run.Read(path); err != nil {
		d.err = err
	} else {
		d.trial = store.Describe(r)
	}
	l.known[path] = d
	return d
}

var errUnknown = errors.New("there is no such run here, or not any more")

// find gives the run that a key stands for, and the directory with its files, which is removed when done is called.
func (l *library) find(ctx context.Context, key string) (e *entry, r *run.Run, directory string, done func(), err error) {
	done = func() {}
	if id, err := strconv.ParseInt(key, 10, 64); err == nil && l.store != nil {
		e := &entry{Trial: &store.Trial{ID: id}}
		files, err := l.store.Files(ctx, id)
		if err != nil || files[run.File] == nil {
			return nil, nil, "", done, cmp.Or(err, errUnknown)
		}
		directory, err := os.MkdirTemp("", "marple-trial-")
		if err != nil {
			return nil, nil, "", done, err
		}
		done = func() { os.RemoveAll(directory) }
		for name, data := range files {
			if err := run.WriteFile(filepath.Join(directory, name), data); err != nil {
				return nil, nil, "", done, err
			}
		}
		r, err := run.Read(directory)
		return e, r, directory, done, err
	}
	for _, path := range runsIn(l.paths) {
		if e := (&entry{path: path}); e.key() == key {
			r, err := run.Read(path)
			return e, r, directoryOf(path), done, err
		}
	}
	return nil, nil, "", done, errUnknown
}

// page makes the page of one run; with the difference from another one, if that is named.
func (l *library) page(ctx context.Context, key, against string) ([]byte, error) {
	e, r, directory, done, err := l.find(ctx, key)
	defer done()
	if err != nil {
		return nil, err
	}
	p, err := l.options.describe(r, directory)
	if err != nil {
		return nil, err
	}
	if against != "" {
		_, other, _, done, err := l.find(ctx, against)
		done()
		if err != nil {
			return nil, err
		}
		if err := compareWith(p, other, "the other run"); err != nil {
			return nil, err
		}
	}
	if p.Back = "/"; e.path == "" {
		p.Directory = fmt.Sprintf("trial %d of %s", e.ID, l.store.Place())
	}
	var text bytes.Buffer
	err = page.Write(&text, *p)
	return text.Bytes(), err
}

// comparison makes the page on two runs.
func (l *library) comparison(ctx context.Context, keys ...string) ([]byte, error) {
	var sides [2]compare.Side
	for i, key := range keys {
		e, r, _, done, err := l.find(ctx, key)
		done()
		if err != nil {
			return nil, err
		}
		name := filepath.Base(e.path)
		if e.path == "" {
			name = fmt.Sprintf("trial %d", e.ID)
		}
		sides[i] = compare.Side{Name: words.Fit(words.Clean(name), 30), Runs: []*run.Run{r}}
	}
	c, err := compare.Compare(sides[0], sides[1], 0.01)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	err = page.WriteComparison(&text, "/run/"+keys[0], "/run/"+keys[1], "/run/"+keys[1]+"?against="+url.QueryEscape(keys[0])+"#calls", "/", report.Comparison(c))
	return text.Bytes(), err
}

// mostListed runs are on one page; a filter finds the others.
const mostListed = 200

// orders are the columns of the list that it can be sorted by.
var orders = []struct {
	by, title string
	number    bool
	compare   func(x, y *store.Trial) int
}{
	{"name", "Run", false, func(x, y *store.Trial) int {
		return cmp.Or(strings.Compare(x.Application, y.Application), strings.Compare(x.Experiment, y.Experiment), cmp.Compare(x.ID, y.ID))
	}},
	{"started", "Started", true, func(x, y *store.Trial) int { return x.Started.Compare(y.Started) }},
	{"ranks", "Ranks", true, func(x, y *store.Trial) int { return cmp.Compare(x.Ranks, y.Ranks) }},
	{"wall", "Wall", true, func(x, y *store.Trial) int { return cmp.Compare(x.Wall, y.Wall) }},
	{"parallel", "Parallel", true, func(x, y *store.Trial) int { return cmp.Compare(x.Parallel, y.Parallel) }},
}

// list makes the page with the runs that a question asks for: q is a filter, by a column, up the order.
func (l *library) list(ctx context.Context, question url.Values) ([]byte, error) {
	all, err := l.entries(ctx)
	if err != nil {
		return nil, err
	}
	shown := page.List{Title: "Runs", Places: l.places(), Filter: strings.TrimSpace(question.Get("q")), Fields: store.Fields(), All: len(all)}
	if l.store != nil {
		shown.Jobs = "/jobs"
	}
	if shown.Filter != "" {
		all, shown.Error, shown.Note = filtered(all, shown.Filter)
	}
	by, up := cmp.Or(question.Get("by"), "started"), question.Get("up") != ""
	for _, o := range orders {
		s := page.Sort{Title: o.title, Number: o.number}
		again := url.Values{"by": {o.by}}
		if shown.Filter != "" {
			again.Set("q", shown.Filter)
		}
		if o.by == by {
			s.Sorted = "descending"
			if up {
				s.Sorted = "ascending"
			} else {
				again.Set("up", "1")
			}
			slices.SortStableFunc(all, func(x, y *entry) int { // what cannot be shown is last
				if x.Trial == nil || y.Trial == nil {
					return cmp.Compare(btoi(x.Trial == nil), btoi(y.Trial == nil))
				}
				if up {
					return o.compare(x.Trial, y.Trial)
				}
				return o.compare(y.Trial, x.Trial)
			})
		}
		s.Link = "/?" + again.Encode()
		shown.Sorts = append(shown.Sorts, s)
	}
	shown.Found, shown.Figures = len(all), figuresOf(all)
	for _, e := range all[:min(len(all), mostListed)] {
		shown.Items = append(shown.Items, e.item())
	}
	var text bytes.Buffer
	err = page.WriteList(&text, shown)
	return text.Bytes(), err
}

// Of so many runs of one application there is a picture.
const (
	leastTrend = 3
	mostTrend  = 2000 // the latest
)

// figuresOf shows how runs of one application went, and how they scale, with a model of that. Of several applications it shows
// nothing: a filter chooses one.
func figuresOf(all []*entry) (list []page.Figure) {
	var trials []*store.Trial
	for _, e := range all {
		if e.Trial == nil || e.Trial.Wall <= 0 {
			continue
		}
		if len(trials) > 0 && e.Application != trials[0].Application {
			return nil
		}
		trials = append(trials, e.Trial)
	}
	if len(trials) < leastTrend {
		return nil
	}
	slices.SortStableFunc(trials, func(x, y *store.Trial) int { return x.Started.Compare(y.Started) })
	trials = trials[max(0, len(trials)-mostTrend):]
	s := &series.Series{Name: trials[0].Application, Response: "wall time", Unit: "s", Parameters: []string{"ranks"}}
	trend := &plot.Plot{Title: "Wall time, run after run", X: "run, by when it was started", Y: "wall time (s)"}
	loss := &plot.Plot{Title: "Parallel efficiency, run after run", X: "run, by when it was started", Y: "parallel efficiency (%)"}
	ranks := map[int]bool{}
	for i, t := range trials {
		trend.Points = append(trend.Points, plot.Point{X: float64(i + 1), Y: t.Wall})
		loss.Points = append(loss.Points, plot.Point{X: float64(i + 1), Y: 100 * t.Parallel})
		s.X, s.Y = append(s.X, []float64{float64(t.Ranks)}), append(s.Y, t.Wall)
		ranks[t.Ranks] = true
	}
	first, last := trials[0].Started.Local().Format(minute), trials[len(trials)-1].Started.Local().Format(minute)
	list = append(list, page.Figure{Title: trials[0].Application + ": wall time and parallel efficiency, run after run",
		Facts: []string{fmt.Sprintf("%d runs, from %s to %s", len(trials), first, last)}, SVG: plot.SVG([]*plot.Plot{trend, loss})})
	if len(ranks) < leastTrend {
		return list
	}
	var fitter model.Fitter
	models := fitter.FitSeries(s, model.Options{})
	if p := report.Plot(s, models, nil); p != nil {
		f := page.Figure{Title: trials[0].Application + ": wall time by ranks", SVG: plot.SVG([]*plot.Plot{p})}
		for _, m := range models {
			if m.Expression != nil {
				f.Facts = append(f.Facts, fmt.Sprintf("%s: SMAPE %.1f %%, %d runs at %d numbers of ranks; the band is where single runs are expected", m.Expression.Round(4), m.SMAPE, m.Samples, m.Points))
			} else {
				f.Facts = append(f.Facts, m.Reason)
			}
		}
		list = append(list, f)
	}
	return list
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// filtered are those of the entries for which an expression is true. A mistake in it leaves all.
func filtered(all []*entry, text string) (some []*entry, mistake, note string) {
	f, err := store.ParseFilter(text)
	if err != nil {
		return all, err.Error(), ""
	}
	undecided, why := 0, error(nil)
	for _, e := range all {
		if e.Trial == nil {
			continue
		}
		yes, err := f.Match(e.Trial)
		if err != nil {
			if undecided++; why == nil {
				why = err
			}
		} else if yes {
			some = append(some, e)
		}
	}
	if undecided > 0 {
		note = fmt.Sprintf("%s left out, since the expression has no value: %v", words.Count(uint64(undecided), "run", "runs"), why)
	}
	return some, "", note
}

func (e *entry) item() page.Item {
	if e.Trial == nil {
		return page.Item{Name: e.name(), Error: e.err.Error()}
	}
	i := page.Item{Key: e.key(), Link: "/run/" + e.key(), Name: e.name(), Started: e.Started, Ranks: e.Ranks, Wall: e.Wall, Parallel: e.Parallel, Given: strings.Fields(parameters(e.Parameters))}
	if len(e.Findings) > 0 {
		i.Finding, i.Share = words.Fit(e.Findings[0].Title, 200), e.Findings[0].Share
	}
	return i
}

func handler(l *library) http.Handler {
	mux := http.NewServeMux()
	answer := func(pattern string, make func(r *http.Request) ([]byte, error)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if l.access.only(r) != "" && pattern != ofJobs { // runs are nobody's in particular
				if r.URL.Path == "/" {
					http.Redirect(w, r, "/jobs", http.StatusSeeOther)
				} else {
					http.Error(w, errUnknown.Error(), http.StatusNotFound)
				}
				return
			}
			text, err := make(r)
			switch {
			case errors.Is(err, errUnknown):
				http.Error(w, err.Error(), http.StatusNotFound)
			case err != nil:
				http.Error(w, err.Error(), http.StatusInternalServerError)
			default:
				w.Header().Set("Content-Type", "text/html; charset=utf-8")
				w.Header().Set("Cache-Control", "no-store")
				_, _ = w.Write(text)
			}
		})
	}
	answer(ofJobs, func(r *http.Request) ([]byte, error) {
		return l.jobs(r.Context(), l.access.only(r), r.URL.Query(), time.Now())
	})
	answer("GET /{$}", func(r *http.Request) ([]byte, error) { return l.list(r.Context(), r.URL.Query()) })
	answer("GET /run/{key}", func(r *http.Request) ([]byte, error) {
		return l.page(r.Context(), r.PathValue("key"), r.URL.Query().Get("against"))
	})
	answer("GET /compare", func(r *http.Request) ([]byte, error) {
		return l.comparison(r.Context(), r.URL.Query().Get("a"), r.URL.Query().Get("b"))
	})
	return l.access.identified(mux)
}

// ofJobs is the page that users see of their own.
const ofJobs = "GET /jobs"
