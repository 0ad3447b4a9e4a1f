package store

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"marple/analysis/callgraph"
	"marple/analysis/machine"
	"marple/analysis/model"
	"marple/analysis/run"
	"marple/analysis/series"
)

// Trial is what the database says of a run beside its files. The names are those of expressions, too.
type Trial struct {
	ID          int64     `json:"id" doc:"number of the trial"`
	Application string    `json:"application" doc:"text"`
	Experiment  string    `json:"experiment" doc:"text"`
	Name        string    `json:"name" doc:"text: the run directory's"`
	Program     string    `json:"program" doc:"text"`
	MPI         string    `json:"mpi" doc:"text: what the MPI library says of itself"`
	Started     time.Time `json:"started" doc:"date"`
	Imported    time.Time `json:"imported" doc:"date"`
	Ranks       int       `json:"ranks" doc:"number of ranks in MPI_COMM_WORLD"`
	Measured    int       `json:"measured" doc:"number of ranks that have reported"`
	Hosts       int       `json:"hosts" doc:"number of hosts"`
	Wall        float64   `json:"wall" doc:"seconds from MPI_Init to MPI_Finalize"`
	CoreTime    float64   `json:"core_time" doc:"seconds, of all ranks together"`
	// Efficiencies are shares from 0 to 1.
	Parallel         float64  `json:"parallel" doc:"parallel efficiency, 0 to 1"`
	LoadBalance      float64  `json:"load_balance" doc:"0 to 1"`
	Communication    *float64 `json:"communication" doc:"communication efficiency, 0 to 1; nil if it is not defined"`
	CoreAvailability float64  `json:"core_availability" doc:"share of the time for which ranks had a core, 0 to 1"`

	Parameters map[string]float64 `json:"params" doc:"numbers by name, as given with marple exec --params: params.n"`
	Metadata   map[string]string  `json:"meta" doc:"texts by name: meta.hosts, and what was given with --meta"`
	Findings   []Finding          `json:"findings" doc:"list with id, title, share, seconds, where, model, factor, confidence"`

	Models []Model `json:"models" doc:"computational models that the program embodies: list with name, title, confidence"`

	total uint64 // core time of the main call tree, ns
}

// Finding is one of a trial's findings; see run.Finding.
type Finding struct {
	ID         string  `json:"id" expr:"id"`
	Title      string  `json:"title" expr:"title"`
	Share      float64 `json:"share" expr:"share"`
	Seconds    float64 `json:"seconds" expr:"seconds"`
	Where      string  `json:"where" expr:"where"`
	Model      string  `json:"model" expr:"model"`
	Factor     string  `json:"factor" expr:"factor"`
	Confidence string  `json:"confidence" expr:"confidence"`
}

// Model is one that the program embodies; see run.Model.
type Model struct {
	Name       string  `json:"name" expr:"name"`
	Title      string  `json:"title" expr:"title"`
	Confidence float64 `json:"confidence" expr:"confidence"`
}

// Describe is what a database would say of a run that is in none.
func Describe(r *run.Run) *Trial {
	t := &Trial{Application: applicationOf(r), Program: r.Program, MPI: r.MPI.Library, Started: r.Started.UTC(), Ranks: r.Ranks, Measured: r.Measured, Hosts: len(r.Hosts),
		Wall: float64(r.WallNs) / 1e9, CoreTime: float64(r.CoreTime()) / 1e9, Parallel: r.Efficiency.Parallel, LoadBalance: r.Efficiency.LoadBalance,
		CoreAvailability: r.Efficiency.CoreAvailability, Parameters: r.Parameters, Metadata: metadataOf(r), Findings: []Finding{}, Models: []Model{}}
	if r.Efficiency.Defined {
		t.Communication = &r.Efficiency.Communication
	}
	for _, f := range r.Findings {
		t.Findings = append(t.Findings, Finding{f.ID, f.Title, f.Share, f.Seconds, f.Where, f.Model, f.Factor, f.Confidence})
	}
	for _, m := range r.Models {
		t.Models = append(t.Models, Model{m.Name, m.Title, m.Confidence})
	}
	return t
}

// Experiment is an experiment with its trials counted.
type Experiment struct {
	ID          int64     `json:"id"`
	Application string    `json:"application"`
	Name        string    `json:"experiment"`
	Trials      int       `json:"trials"`
	LeastRanks  int       `json:"least_ranks"`
	MostRanks   int       `json:"most_ranks"`
	Latest      time.Time `json:"latest"` // start of the latest trial
	Models      int       `json:"models"`
}

// Experiments lists them all, by name.
func (s *Store) Experiments(ctx context.Context) ([]*Experiment, error) {
	list := []*Experiment{}
	err := s.each(ctx, s.db, `SELECT e.id, a.name, e.name, count(t.id), min(t.ranks), max(t.ranks), max(t.started),
			(SELECT count(*) FROM model m WHERE m.experiment = e.id)
		FROM experiment e JOIN application a ON a.id = e.application JOIN trial t ON t.experiment = e.id
		GROUP BY e.id, a.name, e.name ORDER BY a.name, e.name, e.id`, nil,
		func(rows *sql.Rows) error {
			e := &Experiment{}
			var latest int64
			err := rows.Scan(&e.ID, &e.Application, &e.Name, &e.Trials, &e.LeastRanks, &e.MostRanks, &latest, &e.Models)
			e.Latest = time.Unix(0, latest).UTC()
			list = append(list, e)
			return err
		})
	return list, err
}

// condition is part of a statement, with values for its places.
type condition struct {
	text      string
	arguments []any
}

var everything = condition{"TRUE", nil}

func byID(id int64) condition         { return condition{"t.id = $1", []any{id}} }
func byExperiment(id int64) condition { return condition{"t.experiment = $1", []any{id}} }

// trials reads those that meet a condition, in the order of their ids, at one moment.
func (s *Store) trials(ctx context.Context, c condition) ([]*Trial, error) {
	tx, err := s.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true, Isolation: s.kind.snapshot})
	if err != nil {
		return nil, s.failed(err)
	}
	defer tx.Rollback()
	list := []*Trial{}
	found := map[int64]*Trial{}
	err = s.each(ctx, tx, `SELECT t.id, a.name, e.name, t.name, t.program, t.mpi, t.started, t.imported, t.ranks, t.measured, t.hosts, t.wall,
			t.core_time, t.call_tree, t.parallel, t.load_balance, t.communication, t.core_availability
		FROM trial t JOIN experiment e ON e.id = t.experiment JOIN application a ON a.id = e.application
		WHERE `+c.text+` ORDER BY t.id`, c.arguments,
		func(rows *sql.Rows) error {
			t := &Trial{Parameters: map[string]float64{}, Metadata: map[string]string{}, Findings: []Finding{}, Models: []Model{}}
			var started, imported, wall, core, total int64
			err := rows.Scan(&t.ID, &t.Application, &t.Experiment, &t.Name, &t.Program, &t.MPI, &started, &imported, &t.Ranks, &t.Measured, &t.Hosts,
				&wall, &core, &total, &t.Parallel, &t.LoadBalance, &t.Communication, &t.CoreAvailability)
			t.Started, t.Imported = time.Unix(0, started).UTC(), time.Unix(0, imported).UTC()
			t.Wall, t.CoreTime, t.total = float64(wall)/1e9, float64(core)/1e9, uint64(max(total, 0))
			list = append(list, t)
			found[t.ID] = t
			return err
		})
	if err != nil {
		return nil, err
	}
	of := func(table string) string {
		return "FROM " + table + " x JOIN trial t ON t.id = x.trial WHERE " + c.text
	}
	err = s.each(ctx, tx, "SELECT x.trial, x.name, x.value "+of("parameter"), c.arguments, func(rows *sql.Rows) error {
		var id int64
		var name string
		var value float64
		err := rows.Scan(&id, &name, &value)
		if t := found[id]; t != nil {
			t.Parameters[name] = value
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	err = s.each(ctx, tx, "SELECT x.trial, x.name, x.value "+of("metadata"), c.arguments, func(rows *sql.Rows) error {
		var id int64
		var name, value string
		err := rows.Scan(&id, &name, &value)
		if t := found[id]; t != nil {
			t.Metadata[name] = value
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	err = s.each(ctx, tx, "SELECT x.trial, x.id, x.title, x.share, x.seconds, x.place, x.model, x.factor, x.confidence "+of("finding")+
		" ORDER BY x.trial, x.ordinal", c.arguments, func(rows *sql.Rows) error {
		var id int64
		var f Finding
		err := rows.Scan(&id, &f.ID, &f.Title, &f.Share, &f.Seconds, &f.Where, &f.Model, &f.Factor, &f.Confidence)
		if t := found[id]; t != nil {
			t.Findings = append(t.Findings, f)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	err = s.each(ctx, tx, "SELECT x.trial, x.name, x.title, x.confidence "+of("recognized")+" ORDER BY x.trial, x.confidence DESC, x.name", c.arguments,
		func(rows *sql.Rows) error {
			var id int64
			var m Model
			err := rows.Scan(&id, &m.Name, &m.Title, &m.Confidence)
			if t := found[id]; t != nil {
				t.Models = append(t.Models, m)
			}
			return err
		})
	return list, err
}

// Trials are all of them, in the order of their ids.
func (s *Store) Trials(ctx context.Context) ([]*Trial, error) { return s.trials(ctx, everything) }

// Selection is what a selection finds.
type Selection struct {
	Trials []*Trial
	// ByID tells that the trials were asked for one by one.
	ByID bool
	// Undecided trials are those for which the expression has no value, Why with the first.
	Undecided int
	Why       error
}

// Select finds trials: by their numbers (3 or 3,5,8-10), by application or application/experiment, or by an expression
// over the fields of Trial. It is no error if an expression finds none.
func (s *Store) Select(ctx context.Context, text string) (*Selection, error) {
	if ids, err := parseIDs(text); err != nil {
		return nil, err
	} else if ids != nil {
		found := &Selection{ByID: true}
		for _, id := range ids {
			list, err := s.trials(ctx, byID(id))
			if err != nil {
				return nil, err
			}
			if len(list) == 0 {
				return nil, fmt.Errorf("%s: no trial %d", s.place, id)
			}
			found.Trials = append(found.Trials, list...)
		}
		return found, nil
	}
	found, err := s.named(ctx, text)
	if err != nil {
		return nil, err
	}
	if len(found) > 0 {
		all := &Selection{}
		for _, e := range found {
			list, err := s.trials(ctx, byExperiment(e.ID))
			if err != nil {
				return nil, err
			}
			all.Trials = append(all.Trials, list...)
		}
		slices.SortFunc(all.Trials, func(x, y *Trial) int { return cmp.Compare(x.ID, y.ID) })
		return all, nil
	}
	filter, err := ParseFilter(text)
	if err != nil {
		if !strings.ContainsAny(text, " =<>(") {
			return nil, fmt.Errorf("%s: no application or experiment %q; marple db list says what there is", s.place, text)
		}
		return nil, err
	}
	return s.Query(ctx, filter)
}

// Query finds trials by an expression.
func (s *Store) Query(ctx context.Context, f *Filter) (*Selection, error) {
	list, err := s.Trials(ctx)
	if err != nil {
		return nil, err
	}
	found := &Selection{}
	for _, t := range list {
		yes, err := f.Match(t)
		switch {
		case err != nil:
			if found.Undecided++; found.Why == nil {
				found.Why = fmt.Errorf("trial %d: %w", t.ID, err)
			}
		case yes:
			found.Trials = append(found.Trials, t)
		}
	}
	return found, nil
}

// named are the experiments that a name stands for.
func (s *Store) named(ctx context.Context, name string) ([]*Experiment, error) {
	list, err := s.Experiments(ctx)
	return slices.DeleteFunc(list, func(e *Experiment) bool {
		return e.Application != name && e.Application+"/"+e.Name != name
	}), err
}

const mostIDs = 100_000

// parseIDs reads 3,5,8-10; nil if it is something else.
func parseIDs(text string) (ids []int64, err error) {
	for _, part := range strings.Split(text, ",") {
		first, last, span := strings.Cut(strings.TrimSpace(part), "-")
		if !span {
			last = first
		}
		from, err1 := strconv.ParseInt(first, 10, 64)
		to, err2 := strconv.ParseInt(last, 10, 64)
		if err1 != nil || err2 != nil || from < 1 {
			return nil, nil
		}
		if to < from || to-from > mostIDs || len(ids) > mostIDs {
			return nil, fmt.Errorf("%q: expected numbers of trials such as 3,5,8-10", text)
		}
		for id := from; id <= to; id++ {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// Files are those of a trial's run directory.
func (s *Store) Files(ctx context.Context, id int64) (map[string][]byte, error) {
	return s.files(ctx, "SELECT name, content FROM file WHERE trial = $1", id)
}

func (s *Store) files(ctx context.Context, query string, arguments ...any) (map[string][]byte, error) {
	files := map[string][]byte{}
	err := s.each(ctx, s.db, query, arguments, func(rows *sql.Rows) error {
		var name string
		var content []byte
		if err := rows.Scan(&name, &content); err != nil {
			return err
		}
		if !slices.Contains(kept, name) {
			return nil // made by somebody else
		}
		z, err := gzip.NewReader(bytes.NewReader(content))
		if err != nil {
			return fmt.Errorf("%s: damaged: %w", name, err)
		}
		data, err := io.ReadAll(io.LimitReader(z, MaxFile+1))
		if err != nil {
			return fmt.Errorf("%s: damaged: %w", name, err)
		}
		if len(data) > MaxFile {
			return fmt.Errorf("%s: damaged: larger than %d bytes", name, MaxFile)
		}
		files[name] = data
		return nil
	})
	return files, err
}

// Run is a trial's run.
func (s *Store) Run(ctx context.Context, id int64) (*run.Run, error) {
	files, err := s.files(ctx, "SELECT name, content FROM file WHERE trial = $1 AND name = $2", id, run.File)
	if err != nil {
		return nil, err
	}
	if files[run.File] == nil {
		return nil, fmt.Errorf("%s: trial %d: there is none, or its %s is missing", s.place, id, run.File)
	}
	r, err := run.Decode(files[run.File])
	if err != nil {
		return nil, fmt.Errorf("%s: trial %d: %w", s.place, id, err)
	}
	return r, nil
}

// Runs are what series are made of, for some trials: call paths that may take at least a share of the time in one.
func (s *Store) Runs(ctx context.Context, trials []*Trial, least float64) (*series.Runs, error) {
	all := &series.Runs{}
	at := map[int64]int{} // points, by trial
	first, last := int64(math.MaxInt64), int64(0)
	var applications []string
	machines := map[string]*machine.Machine{}
	for i, t := range trials {
		name := t.Metadata[machineKey]
		if _, known := machines[name]; name != "" && !known {
			r, err := s.Run(ctx, t.ID)
			if err != nil {
				return nil, err
			}
			machines[name] = r.Machine
		}
		at[t.ID] = i
		first, last = min(first, t.ID), max(last, t.ID)
		all.Points = append(all.Points, series.Point{Ranks: t.Ranks, Measured: t.Measured, Parameters: t.Parameters, Machine: machines[name], Total: t.total})
		if !slices.Contains(applications, t.Application) {
			applications = append(applications, t.Application)
		}
	}
	g := gatherer{s: s, ctx: ctx, all: all, at: at, index: map[string]int{}, times: make([]map[int]int, len(trials)), first: first, last: last}
	for _, name := range applications {
		if err := g.application(name, least); err != nil {
			return nil, err
		}
	}
	return all, nil
}

type gatherer struct {
	s     *Store
	ctx   context.Context
	all   *series.Runs
	at    map[int64]int
	index map[string]int // in all.Paths, by name
	times []map[int]int  // in Times of a point, by path

	first, last int64 // of the trials
}

func (g *gatherer) application(name string, least float64) error {
	type node struct {
		parent     sql.NullInt64
		kind, name string
		share      float64
	}
	nodes := map[int64]node{}
	err := g.s.each(g.ctx, g.s.db, `SELECT c.id, c.parent, c.kind, c.name, c.share FROM callpath c JOIN application a ON a.id = c.application
		WHERE a.name = $1`, []any{name}, func(rows *sql.Rows) error {
		var id int64
		var n node
		err := rows.Scan(&id, &n.parent, &n.kind, &n.name, &n.share)
		nodes[id] = n
		return err
	})
	if err != nil {
		return err
	}
	// Paths that differ in kinds only have one name.
	shares := map[string]float64{}
	names := map[int64]string{}
	for id, n := range nodes {
		if series.IsPath(n.kind) {
			parts := []string{n.name}
			for p := n.parent; p.Valid && len(parts) <= len(nodes); p = nodes[p.Int64].parent {
				parts = append(parts, nodes[p.Int64].name)
			}
			slices.Reverse(parts)
			names[id] = strings.Join(parts, series.Separator)
			shares[names[id]] += n.share
		}
	}
	for _, id := range slices.Sorted(maps.Keys(names)) {
		if shares[names[id]] < least*(1-1e-9) {
			continue
		}
		path, known := g.index[names[id]]
		inside := nodes[id].kind == callgraph.KindMPI.String()
		if !known {
			path = len(g.all.Paths)
			g.index[names[id]] = path
			g.all.Paths = append(g.all.Paths, series.Path{Name: names[id], MPI: inside})
		}
		if err := g.path(id, path, inside); err != nil {
			return err
		}
	}
	return nil
}

const timesOfPath = "SELECT trial, inclusive FROM statistic WHERE callpath = $1 AND metric = $2 AND trial BETWEEN $3 AND $4 ORDER BY trial"

// path reads one call path's times in all trials. All of an MPI call is in MPI, so that is not asked for.
func (g *gatherer) path(id int64, path int, inside bool) error {
	metrics := []int{metricTime, metricMPI}
	if inside {
		metrics = metrics[:1]
	}
	for _, metric := range metrics {
		err := g.s.each(g.ctx, g.s.db, timesOfPath, []any{id, metric, g.first, g.last}, func(rows *sql.Rows) error {
			var trial int64
			var value float64
			if err := rows.Scan(&trial, &value); err != nil {
				return err
			}
			at, wanted := g.at[trial]
			if !wanted || !(value >= 0 && value < 1<<63) {
				return nil
			}
			if g.times[at] == nil {
				g.times[at] = map[int]int{}
			}
			p := &g.all.Points[at]
			i, seen := g.times[at][path]
			if !seen {
				i = len(p.Times)
				g.times[at][path] = i
				p.Times = append(p.Times, series.Time{Path: path})
			}
			if metric == metricTime {
				p.Times[i].Ns += uint64(value)
			}
			if metric == metricMPI || inside {
				p.Times[i].MPI += uint64(value)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// SaveModels keeps models with an experiment; one of the same name, response and part of the samples replaces an older.
func (s *Store) SaveModels(ctx context.Context, application, experiment string, models []*model.Model) error {
	return s.write(ctx, func(w *writer) error {
		ids, err := column[int64](s, ctx, w.tx, "SELECT e.id FROM experiment e JOIN application a ON a.id = e.application WHERE a.name = $1 AND e.name = $2",
			application, experiment)
		if err != nil {
			return err
		}
		if len(ids) == 0 {
			return fmt.Errorf("%s: no experiment %s/%s", s.place, application, experiment)
		}
		for _, m := range models {
			document, err := (&model.Document{Schema: model.Schema, Models: []*model.Model{m}}).Encode()
			if err != nil {
				return err
			}
			part := partOf(m)
			digest := sha256.Sum256(fmt.Appendf(nil, "%q %q %q", m.Name, m.Response, part))
			err = w.exec(`INSERT INTO model (experiment, name, response, part, digest, family, expression, smape, samples, saved, document)
				VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT (experiment, digest) DO UPDATE SET family = excluded.family,
				expression = excluded.expression, smape = excluded.smape, samples = excluded.samples, saved = excluded.saved, document = excluded.document`,
				ids[0], clean(m.Name), clean(m.Response), clean(part), hex.EncodeToString(digest[:]), m.Family, m.Expression.String(), m.SMAPE, m.Samples,
				time.Now().UnixNano(), clean(string(document)))
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// partOf says which samples a model is of.
func partOf(m *model.Model) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(m.Where)) {
		parts = append(parts, name+"="+m.Where[name])
	}
	if m.Mode != nil {
		parts = append(parts, fmt.Sprintf("mode %d of %d", m.Mode.Index, m.Mode.Of))
	}
	return strings.Join(parts, ", ")
}

// Models are those kept with an application or application/experiment.
func (s *Store) Models(ctx context.Context, name string) ([]*model.Model, error) {
	experiments, err := s.named(ctx, name)
	if err != nil {
		return nil, err
	}
	if len(experiments) == 0 {
		return nil, fmt.Errorf("%s: no application or experiment %q; marple db list says what there is", s.place, name)
	}
	models := []*model.Model{}
	for _, e := range experiments {
		documents, err := column[string](s, ctx, s.db, "SELECT document FROM model WHERE experiment = $1 ORDER BY id", e.ID)
		if err != nil {
			return nil, err
		}
		for _, text := range documents {
			d, err := model.Decode([]byte(text))
			if err != nil {
				return nil, fmt.Errorf("%s: a model of %s/%s: %w", s.place, e.Application, e.Name, err)
			}
			models = append(models, d.Models...)
		}
	}
	return models, nil
}
