package store

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"marple/analysis/callgraph"
	"marple/analysis/run"
	"marple/analysis/series"
)

// MaxFile is how large a file of a run may be.
const MaxFile = 512 << 20

// MaxMetadata is how many entries a trial's metadata may have.
const MaxMetadata = 1000

// kept are the files of a run directory that a trial consists of.
var kept = []string{run.File, run.ReportFile, run.InvocationsFile}

// New is a run that is to become a trial.
type New struct {
	Application string // default: the program; of a trial that is there already: as it is
	Experiment  string // default: default; likewise
	Name        string
	Metadata    map[string]string // that the user gives
	Run         *run.Run
	// Files of the run directory. One that was not read from a directory needs none: run.json is made of Run.
	Files map[string][]byte
}

// FromDirectory reads a run directory, or a run.json by itself.
func FromDirectory(directory string) (*New, error) {
	r, err := run.Read(directory)
	if err != nil {
		return nil, err
	}
	n := &New{Run: r, Files: map[string][]byte{}}
	files := kept
	if info, err := os.Stat(directory); err == nil && !info.IsDir() {
		n.Name = strings.TrimSuffix(filepath.Base(directory), ".json")
		files, directory = []string{filepath.Base(directory)}, filepath.Dir(directory)
	}
	absolute, err := filepath.Abs(directory)
	if err != nil {
		return nil, err
	}
	if len(files) > 1 || files[0] == run.File {
		n.Name = filepath.Base(absolute)
	}
	for _, name := range files {
		data, err := readFile(filepath.Join(directory, name))
		switch {
		case errors.Is(err, os.ErrNotExist) && name != run.File:
		case err != nil:
			return nil, err
		case len(files) == 1:
			n.Files[run.File] = data
		default:
			n.Files[name] = data
		}
	}
	return n, nil
}

func readFile(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, MaxFile+1))
	if err == nil && len(data) > MaxFile {
		err = fmt.Errorf("%s: larger than %d bytes, which is most that the database takes", path, MaxFile)
	}
	return data, err
}

// Outcome says what became of a run.
type Outcome struct {
	Trial  int64
	Change Change
}

// Change is what an import has changed.
type Change string

const (
	Imported  Change = "imported"
	Replaced  Change = "replaced"  // it was there, with other findings or another report
	Moved     Change = "moved"     // to another application or experiment
	Unchanged Change = "unchanged" // it was there
)

// RefusedError says of a run why it cannot be stored, whatever the state of the database.
type RefusedError struct {
	Name string
	Err  error
}

func (e *RefusedError) Error() string { return fmt.Sprintf("%s: %v", e.Name, e.Err) }
func (e *RefusedError) Unwrap() error { return e.Err }

// Import stores runs, all in one transaction. What was measured is stored once: importing it again changes only what
// is not the measurement, such as findings, and what is said with it: application, experiment, metadata.
func (s *Store) Import(ctx context.Context, list []*New) ([]Outcome, error) {
	var prepared []*trial
	for _, n := range list {
		t, err := prepare(n)
		if err != nil {
			return nil, &RefusedError{n.Name, err}
		}
		prepared = append(prepared, t)
	}
	var outcomes []Outcome
	err := s.write(ctx, func(w *writer) error {
		outcomes = nil
		for _, t := range prepared {
			o, err := w.trial(t)
			if err != nil {
				return err
			}
			outcomes = append(outcomes, o)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return outcomes, nil
}

// trial is a run as rows.
type trial struct {
	*New
	measurement    string
	files          map[string]storedFile
	paths          []*callPath // callers before those they call
	started, total int64
}

type storedFile struct {
	digest  string
	content []byte // compressed
}

// callPath adds up the nodes of one kind and name below one call path.
type callPath struct {
	digest     string
	parent     int // in trial.paths; -1 above roots
	kind, name string
	nodes      []*run.Node
	inclusive  uint64
	mpi        uint64
}

func prepare(n *New) (*trial, error) {
	t := &trial{New: n, files: map[string]storedFile{}}
	files := maps.Clone(n.Files)
	if files[run.File] == nil {
		data, err := n.Run.Encode()
		if err != nil {
			return nil, err
		}
		files = map[string][]byte{run.File: data}
	}
	if err := n.check(); err != nil {
		return nil, err
	}
	var err error
	if t.measurement, err = measurement(files[run.File]); err != nil {
		return nil, err
	}
	for name, data := range files {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, err := z.Write(data)
		if err := errors.Join(err, z.Close()); err != nil {
			return nil, err
		}
		digest := sha256.Sum256(data)
		t.files[name] = storedFile{hex.EncodeToString(digest[:]), b.Bytes()}
	}
	if y := n.Run.Started.Year(); y >= 1970 && y < 2262 {
		t.started = n.Run.Started.UnixNano()
	}
	c := collector{trial: t, index: map[string]int{}, costs: map[*run.Node]uint64{}}
	total := uint64(0)
	for _, root := range n.Run.CallGraph {
		root.Costs(func(n *run.Node, inclusive uint64) { c.costs[n] = inclusive })
		c.collect(root, -1)
		if root == n.Run.Root() {
			total = c.costs[root]
		}
	}
	t.total = int64(total)
	for _, x := range []uint64{total, n.Run.WallNs, n.Run.CoreTime()} {
		if x > math.MaxInt64 {
			return nil, fmt.Errorf("%d ns: a time of more than 292 years cannot be stored", x)
		}
	}
	return t, nil
}

// check looks at the names, which become keys.
func (n *New) check() error {
	// What comes from a file is made a good name; what the user says must be one.
	n.Name = asName(n.Name, "run")
	for what, name := range map[string]string{"application": n.Application, "experiment": n.Experiment} {
		if name != "" {
			if err := CheckName(what, name); err != nil {
				return err
			}
		}
	}
	if len(n.Metadata) > MaxMetadata {
		return fmt.Errorf("%d entries of metadata: expected at most %d", len(n.Metadata), MaxMetadata)
	}
	for name := range n.Metadata {
		if err := CheckName("metadata", name); err != nil {
			return err
		}
	}
	for name := range n.Run.Parameters {
		if err := CheckName("parameter", name); err != nil {
			return err
		}
	}
	return nil
}

func asName(text, otherwise string) string {
	text = strings.TrimSpace(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '\uFFFD'
		}
		return r
	}, clean(text)))
	if len(text) > MaxName {
		text = strings.TrimSpace(strings.ToValidUTF8(text[:MaxName], ""))
	}
	if text == "" {
		return otherwise
	}
	return text
}

func applicationOf(r *run.Run) string {
	return asName(strings.TrimLeft(path.Base(r.Program), "./"), "unknown")
}

// conclusions are what Marple made of the measurement, and may make differently one day.
var conclusions = []string{"findings", "models", "to_go_deeper", "selection"}

// measurement is a digest of what was measured, the same whoever writes the file anew.
func measurement(runJSON []byte) (string, error) {
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal(runJSON, &members); err != nil {
		return "", fmt.Errorf("not valid JSON for a run: %w", err)
	}
	digest := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if slices.Contains(conclusions, name) {
			continue
		}
		var b bytes.Buffer
		if err := json.Compact(&b, members[name]); err != nil {
			return "", err
		}
		fmt.Fprintf(digest, "%q %d\n", name, b.Len())
		digest.Write(b.Bytes())
	}
	return hex.EncodeToString(digest.Sum(nil)), nil
}

type collector struct {
	trial *trial
	index map[string]int
	costs map[*run.Node]uint64
}

// collect adds a node and all below it to the call paths, and gives the time in MPI.
func (c *collector) collect(n *run.Node, parent int) (mpi uint64) {
	t := c.trial
	above := ""
	if parent >= 0 {
		above = t.paths[parent].digest
	}
	name := clean(n.Name)
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %q %s", above, n.Kind, name))
	digest := hex.EncodeToString(sum[:16])
	i, known := c.index[digest]
	if !known {
		i = len(t.paths)
		c.index[digest] = i
		t.paths = append(t.paths, &callPath{digest: digest, parent: parent, kind: clean(n.Kind), name: name})
	}
	if n.Kind == callgraph.KindMPI.String() {
		mpi = n.Cost()
	}
	for _, child := range n.Children {
		mpi = plus(mpi, c.collect(child, i))
	}
	p := t.paths[i]
	p.nodes = append(p.nodes, n)
	cost := c.costs[n]
	if !series.IsPath(n.Kind) { // what of the time is no cost is told where it was spent
		cost = n.Inclusive.Sum
	}
	p.inclusive = plus(p.inclusive, cost)
	p.mpi = plus(p.mpi, mpi)
	return mpi
}

// plus adds, and stays at the largest number.
func plus(a, b uint64) uint64 {
	if a+b < a {
		return math.MaxUint64
	}
	return a + b
}

// statistics of a call path, by metric.
func (p *callPath) statistics(w *writer, trial, id int64) (rows [][]any, err error) {
	var exclusive, calls, out, in, messages uint64
	for _, n := range p.nodes {
		if series.IsPath(n.Kind) {
			exclusive = plus(exclusive, n.Cost())
		} else {
			exclusive = plus(exclusive, n.Exclusive.Sum)
		}
		if n.Calls != nil {
			calls = plus(calls, n.Calls.N)
		}
		out, in, messages = plus(out, n.Out), plus(in, n.In), plus(messages, n.Messages)
	}
	time := []any{trial, id, metricTime, float64(p.inclusive), float64(exclusive), nil, nil, nil, nil}
	if len(p.nodes) == 1 && p.inclusive == p.nodes[0].Inclusive.Sum { // else what one rank spent is not known
		s := p.nodes[0].Inclusive
		time = append(time[:5], int64(min(s.N, math.MaxInt64)), float64(s.Min), float64(s.Max), s.Deviation)
	}
	rows = append(rows, time)
	for metric, value := range map[int]uint64{metricMPI: p.mpi, metricCalls: calls, metricOut: out, metricIn: in, metricMessages: messages} {
		if value > 0 {
			rows = append(rows, []any{trial, id, metric, float64(value), nil, nil, nil, nil, nil})
		}
	}
	type values struct{ inclusive, exclusive float64 }
	others := map[string]values{}
	for _, n := range p.nodes {
		for _, m := range n.Metrics {
			name := asName(m.Name, "unnamed")
			others[name] = values{others[name].inclusive + m.Inclusive, others[name].exclusive + m.Exclusive}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(others)) {
		metric, err := w.metric(name)
		if err != nil {
			return nil, err
		}
		rows = append(rows, []any{trial, id, metric, others[name].inclusive, others[name].exclusive, nil, nil, nil, nil})
	}
	return rows, nil
}

// writer is a transaction, the only one that writes.
type writer struct {
	s     *Store
	ctx   context.Context
	tx    *sql.Tx
	known map[int64]map[string]knownPath // by application and digest
	ready map[string]*sql.Stmt

	metrics map[string]int64 // that runs bring along, by name
}

type knownPath struct {
	id    int64
	share float64
}

// write runs a transaction. Either all of it happens or nothing.
func (s *Store) write(ctx context.Context, do func(*writer) error) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return s.failed(err)
	}
	defer tx.Rollback()
	w := &writer{s: s, ctx: ctx, tx: tx, known: map[int64]map[string]knownPath{}, ready: map[string]*sql.Stmt{},
		metrics: map[string]int64{}}
	if err := w.exec(s.kind.lock); err != nil {
		return err
	}
	if err := do(w); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return s.failed(err)
	}
	return nil
}

func (w *writer) exec(statement string, arguments ...any) error {
	if statement == "" {
		return nil
	}
	if _, err := w.tx.ExecContext(w.ctx, statement, arguments...); err != nil {
		return w.s.failed(err)
	}
	return nil
}

// insert adds rows; names of tables and columns are ours.
func (w *writer) insert(table string, columns []string, rows [][]any) error {
	_, err := w.insertOr("", table, columns, rows)
	return err
}

// insertOr is insert with what is done about rows that are there; it counts those that were not.
func (w *writer) insertOr(otherwise, table string, columns []string, rows [][]any) (added int64, err error) {
	for some := range slices.Chunk(rows, w.s.kind.rows) {
		var values []string
		var arguments []any
		for _, row := range some {
			var marks []string
			for _, x := range row {
				arguments = append(arguments, x)
				marks = append(marks, fmt.Sprintf("$%d", len(arguments)))
			}
			values = append(values, "("+strings.Join(marks, ", ")+")")
		}
		statement := fmt.Sprintf("INSERT INTO %s (%s) VALUES %s%s", table, strings.Join(columns, ", "), strings.Join(values, ", "), otherwise)
		if w.ready[statement] == nil {
			ready, err := w.tx.PrepareContext(w.ctx, statement)
			if err != nil {
				return added, w.s.failed(err)
			}
			w.ready[statement] = ready
		}
		result, err := w.ready[statement].ExecContext(w.ctx, arguments...)
		if err != nil {
			return added, w.s.failed(err)
		}
		n, err := result.RowsAffected()
		if err != nil {
			return added, w.s.failed(err)
		}
		added += n
	}
	return added, nil
}

// create makes a row and gives its id.
func (w *writer) create(table string, columns []string, values ...any) (int64, error) {
	var marks []string
	for i := range columns {
		marks = append(marks, fmt.Sprintf("$%d", i+1))
	}
	ids, err := column[int64](w.s, w.ctx, w.tx, fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s) RETURNING id", table, strings.Join(columns, ", "),
		strings.Join(marks, ", ")), values...)
	if err != nil {
		return 0, err
	}
	return ids[0], nil
}

// experiment gives the id of an experiment, which is made if it is not there, as is its application.
func (w *writer) experiment(application, experiment string) (int64, error) {
	ids, err := column[int64](w.s, w.ctx, w.tx, "SELECT id FROM application WHERE name = $1", application)
	if err == nil && len(ids) == 0 {
		var id int64
		id, err = w.create("application", []string{"name"}, application)
		ids = []int64{id}
	}
	if err != nil {
		return 0, err
	}
	of := ids[0]
	ids, err = column[int64](w.s, w.ctx, w.tx, "SELECT id FROM experiment WHERE application = $1 AND name = $2", of, experiment)
	if err != nil || len(ids) == 1 {
		return append(ids, 0)[0], err
	}
	return w.create("experiment", []string{"application", "name"}, of, experiment)
}

// trial stores one run.
func (w *writer) trial(t *trial) (Outcome, error) {
	application, experiment := t.Application, t.Experiment
	was := struct {
		id                      int64
		application, experiment string
	}{}
	err := w.s.each(w.ctx, w.tx, `SELECT t.id, a.name, e.name FROM trial t
		JOIN experiment e ON e.id = t.experiment JOIN application a ON a.id = e.application WHERE t.measurement = $1`,
		[]any{t.measurement}, func(rows *sql.Rows) error {
			return rows.Scan(&was.id, &was.application, &was.experiment)
		})
	if err != nil {
		return Outcome{}, err
	}
	there := was.id != 0
	if application == "" {
		application = was.application
	}
	if application == "" {
		application = applicationOf(t.Run)
	}
	if experiment == "" {
		experiment = was.experiment
	}
	if experiment == "" {
		experiment = "default"
	}
	different, err := w.different(t, was.id)
	if err != nil {
		return Outcome{}, err
	}
	change := Unchanged
	switch {
	case !there:
		change = Imported
	case different:
		change = Replaced
	case application != was.application || experiment != was.experiment:
		change = Moved
	}
	home, err := w.experiment(application, experiment)
	if err != nil {
		return Outcome{}, err
	}
	id := was.id
	switch {
	case !there || change == Replaced || application != was.application:
		// Call paths are those of the application, so all rows are made anew.
		if id, err = w.rows(t, was.id, home); err != nil {
			return Outcome{}, err
		}
	case change == Moved:
		err = w.exec("UPDATE trial SET experiment = $1 WHERE id = $2", home, id)
	}
	if err == nil && there {
		err = w.sweep()
	}
	for name, value := range t.Metadata {
		if err == nil {
			err = w.exec("INSERT INTO metadata (trial, name, value) VALUES ($1, $2, $3) ON CONFLICT (trial, name) DO UPDATE SET value = excluded.value",
				id, name, clean(value))
		}
	}
	return Outcome{id, change}, err
}

// different tells whether a trial's files are not those that are stored, and leaves only those to store. A stored file
// that is not given stays as it is.
func (w *writer) different(t *trial, id int64) (bool, error) {
	err := w.s.each(w.ctx, w.tx, "SELECT name, digest FROM file WHERE trial = $1", []any{id}, func(rows *sql.Rows) error {
		var name, digest string
		err := rows.Scan(&name, &digest)
		if f, given := t.files[name]; given && f.digest == digest {
			delete(t.files, name)
		}
		return err
	})
	return len(t.files) > 0, err
}

// rows makes all rows of a trial. One that was there keeps its id, its name, and the metadata that was given with it.
func (w *writer) rows(t *trial, id, experiment int64) (int64, error) {
	r := t.Run
	var communication any
	if r.Efficiency.Defined {
		communication = r.Efficiency.Communication
	}
	columns := []string{"experiment", "name", "measurement", "imported", "started", "program", "ranks", "measured", "hosts", "mpi",
		"wall", "core_time", "call_tree", "parallel", "load_balance", "communication", "core_availability"}
	values := []any{experiment, t.Name, t.measurement, time.Now().UnixNano(), t.started, clean(r.Program), r.Ranks, r.Measured, len(r.Hosts),
		clean(r.MPI.Library), int64(r.WallNs), int64(r.CoreTime()), t.total, r.Efficiency.Parallel, r.Efficiency.LoadBalance, communication,
		r.Efficiency.CoreAvailability}
	there := id != 0
	if there {
		if err := w.forget(t, id, experiment); err != nil {
			return 0, err
		}
	} else {
		var err error
		if id, err = w.create("trial", columns, values...); err != nil {
			return 0, err
		}
	}
	var parameters, metadata, findings, recognized, files [][]any
	for name, value := range r.Parameters {
		parameters = append(parameters, []any{id, name, value})
	}
	for i, f := range r.Findings {
		findings = append(findings, []any{id, i + 1, clean(f.ID), clean(f.Title), f.Share, f.Seconds, clean(f.Where), clean(f.Model), clean(f.Factor),
			clean(f.Advice), clean(f.Confidence)})
	}
	for _, m := range r.Models {
		recognized = append(recognized, []any{id, clean(m.Name), clean(m.Title), m.Confidence})
	}
	for name, f := range t.files {
		files = append(files, []any{id, name, f.digest, f.content})
	}
	if !there { // the same measurement has the same
		for name, value := range metadataOf(r) {
			if _, given := t.Metadata[name]; !given {
				metadata = append(metadata, []any{id, name, clean(value)})
			}
		}
	}
	statistics, err := w.statistics(t, id, experiment)
	if err != nil {
		return 0, err
	}
	for _, x := range []struct {
		table   string
		columns []string
		rows    [][]any
	}{
		{"parameter", []string{"trial", "name", "value"}, parameters},
		{"metadata", []string{"trial", "name", "value"}, metadata},
		{"finding", []string{"trial", "ordinal", "id", "title", "share", "seconds", "place", "model", "factor", "advice", "confidence"}, findings},
		{"recognized", []string{"trial", "name", "title", "confidence"}, recognized},
		{"file", []string{"trial", "name", "digest", "content"}, files},
		{"statistic", []string{"trial", "callpath", "metric", "inclusive", "exclusive", "ranks", "least", "most", "deviation"}, statistics},
	} {
		if err := w.insert(x.table, x.columns, x.rows); err != nil {
			return 0, err
		}
	}
	return id, nil
}

// forget removes the rows of a trial that are written anew, and puts it into an experiment.
func (w *writer) forget(t *trial, id, experiment int64) error {
	for _, table := range []string{"parameter", "finding", "recognized", "statistic"} {
		if err := w.exec("DELETE FROM "+table+" WHERE trial = $1", id); err != nil {
			return err
		}
	}
	for name := range t.files {
		if err := w.exec("DELETE FROM file WHERE trial = $1 AND name = $2", id, name); err != nil {
			return err
		}
	}
	return w.exec("UPDATE trial SET experiment = $1 WHERE id = $2", experiment, id)
}

// machineKey is the metadata's name for the machine that a run says it was on.
const machineKey = "machine"

// metadataOf a run is what it says of its circumstances.
func metadataOf(r *run.Run) map[string]string {
	hosts := []string{}
	for _, h := range r.Hosts {
		hosts = append(hosts, h.Name)
	}
	of := map[string]string{"mpi.family": r.MPI.Family, "thread_level": r.ThreadLevel, "clocks": strings.Join(r.Clocks, " "), "hosts": strings.Join(hosts, " ")}
	if r.Machine != nil {
		of[machineKey] = r.Machine.Name
	}
	for _, m := range r.Metadata {
		if name := asName(m.Name, "unnamed"); of[name] == "" && len(of) < MaxMetadata {
			of[name] = m.Value
		}
	}
	maps.DeleteFunc(of, func(_, value string) bool { return value == "" })
	return of
}

// statistics of all call paths; the application gets those that it does not have yet.
func (w *writer) statistics(t *trial, id, experiment int64) (rows [][]any, err error) {
	applications, err := column[int64](w.s, w.ctx, w.tx, "SELECT application FROM experiment WHERE id = $1", experiment)
	if err != nil {
		return nil, err
	}
	application := applications[0]
	known := w.known[application]
	if known == nil {
		known = map[string]knownPath{}
		err := w.s.each(w.ctx, w.tx, "SELECT id, digest, share FROM callpath WHERE application = $1", []any{application}, func(rows *sql.Rows) error {
			var digest string
			var k knownPath
			err := rows.Scan(&k.id, &digest, &k.share)
			known[digest] = k
			return err
		})
		if err != nil {
			return nil, err
		}
		w.known[application] = known
	}
	for _, p := range t.paths {
		share := float64(p.inclusive) / float64(max(t.total, 1))
		k, there := known[p.digest]
		switch {
		case !there:
			var parent any
			if p.parent >= 0 {
				parent = known[t.paths[p.parent].digest].id
			}
			id, err := w.create("callpath", []string{"application", "digest", "parent", "kind", "name", "share"}, application, p.digest, parent, p.kind, p.name, share)
			if err != nil {
				return nil, err
			}
			k = knownPath{id, share}
		case share > k.share:
			k.share = share
			if err := w.exec("UPDATE callpath SET share = $1 WHERE id = $2", share, k.id); err != nil {
				return nil, err
			}
		}
		known[p.digest] = k
		more, err := p.statistics(w, id, k.id)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

// metric gives the id of a metric that runs bring along.
func (w *writer) metric(name string) (int64, error) {
	if id := w.metrics[name]; id != 0 {
		return id, nil
	}
	ids, err := column[int64](w.s, w.ctx, w.tx, "SELECT id FROM metric WHERE name = $1 AND unit = ''", name)
	if err == nil && len(ids) == 0 {
		ids, err = column[int64](w.s, w.ctx, w.tx, "INSERT INTO metric (id, name, unit) SELECT max(id) + 1, $1, '' FROM metric RETURNING id", name)
	}
	if err != nil {
		return 0, err
	}
	w.metrics[name] = ids[0]
	return ids[0], nil
}

// sweep removes experiments without trials, and applications without experiments.
func (w *writer) sweep() error {
	clear(w.known)
	return errors.Join(
		w.exec("DELETE FROM experiment WHERE NOT EXISTS (SELECT 1 FROM trial WHERE trial.experiment = experiment.id)"),
		w.exec("DELETE FROM application WHERE NOT EXISTS (SELECT 1 FROM experiment WHERE experiment.application = application.id)"))
}

// Delete removes trials; experiments without trials go too, with their models.
func (s *Store) Delete(ctx context.Context, ids []int64) error {
	return s.write(ctx, func(w *writer) error {
		for _, id := range ids {
			if err := w.exec("DELETE FROM trial WHERE id = $1", id); err != nil {
				return err
			}
		}
		return w.sweep()
	})
}
