// Package page shows a run as one HTML file that needs nothing else: no network, no other file.
//
// What must be read is in the HTML itself, so that it can be read without scripts, printed, and heard; scripts add
// what one explores: flame graph, call tree, ranks, who talks to whom, timeline. Their data are JSON in the page.
//
// It may use everything in analysis that makes or describes results; it holds no state.
//
// Invariant: whatever names a run has, they stay text; the page asks nobody for anything (its policy forbids it).
package page

import (
	"cmp"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"marple/analysis/callgraph"
	"marple/analysis/compare"
	"marple/analysis/diagnosis"
	"marple/analysis/run"
	"marple/analysis/selection/graph"
	"marple/analysis/selection/prune"
	"marple/analysis/whatif"
	"marple/analysis/words"
)

// Page is what is to be shown. All but Run may be missing.
type Page struct {
	Run       *run.Run
	Diagnosis *diagnosis.Result
	Overview  *Overview // of the timeline
	Variants  []Variant // what replays of the run tell; see Replay
	Slices    *Slices
	Thinned   bool // the replay is of parts of the run
	Steps     *whatif.Table
	Against   *compare.Comparison // with another run, which is A
	Sources   map[string]Source   // lines of call paths, by id
	Events    []Event             // one by one, the longest, by rising start
	More      int                 // events that are not shown
	// Unreadable says why there is no timeline, although the run has kept its logs.
	Unreadable string
	Figures    []Figure
	Core       prune.Rule // which branches of the component call graph are shaded; zero: none
	Directory  string
	Version    string
	Back       string // where a list of runs is; empty: nowhere
}

// Event is a call or a region on the timeline. Times are nanoseconds since the first event.
type Event struct {
	Rank, Thread int
	Start, Ns    int64
	Name         string
	Region       bool
	Peer         int // negative: none
	Bytes        uint64
}

// Figure is a model with its points, fit and band. Without a picture, Facts say why there is no model.
type Figure struct {
	Title string
	Facts []string
	SVG   []byte
}

//go:embed page.html list.html compare.html jobs.html page.css page.js
var embedded embed.FS

// templates are parsed when the first page is written, and not by every command.
var templates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(functions).ParseFS(embedded, "*.html"))
})

var functions = template.FuncMap{
	"sentence": words.Sentence, "percent": words.Percent, "number": words.Number,
	"seconds":     func(s float64) string { return words.Duration(s) },
	"ns":          func(ns uint64) string { return words.Duration(float64(ns) / 1e9) },
	"nanoseconds": func(ns int64) string { return words.Duration(float64(ns) / 1e9) },
	"size":        func(bytes uint64) string { return words.Size(float64(bytes)) },
	"ranks":       words.Ranks,
	"css":         func(share float64) template.CSS { return template.CSS(fmt.Sprintf("%.2f%%", 100*share)) },
	"mark":        func(verdict string) string { return marks[verdict] },
	"waitState":   words.WaitState,
	"inMPI":       inMPI,
	"noCore":      noCore,
	"add":         func(a, b int) int { return a + b },
	"number64":    func(n int) string { return words.Number(uint64(n)) },
	"first": func(list any) any {
		v := reflect.ValueOf(list)
		return v.Slice(0, min(v.Len(), mostRows)).Interface()
	},
	"per": func(sum uint64, n uint64) string {
		if n == 0 {
			return "–"
		}
		return words.Duration(float64(sum) / float64(n) / 1e9)
	},
	"of": func(part, whole uint64) float64 { return float64(part) / float64(max(whole, 1)) },
}

// mostRows of a table that is sorted by what matters; the run file has the rest.
const mostRows = 200

var marks = map[string]string{"holds": "✓", "rejected": "✗", "unknown": "?"}

// view is what the template sees.
type view struct {
	Page
	CSS        template.CSS
	JS         template.JS
	Data       template.JS
	Findings   []run.Finding // those of the run: one verdict, wherever it is shown
	Levels     []tree
	Pictures   []picture
	Unmodelled []Figure
	Fronts     []front
	Cores      int
	CoreTime   float64 // seconds that count: see run.Efficiency
	Wall       []slice
	Paths      int
	Shaded     string // what the shading of the call tree means
	Printed    []row  // the paths with most time, for paper
	Waits      []Wait // the longest
	LastRank   int
	// AgainstName is the run that this one is compared with.
	AgainstName string
}

type picture struct {
	Figure
	Image template.URL // of its own, so that its styles stay its own
}

func (f Figure) picture() picture {
	return picture{f, template.URL("data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString(f.SVG))}
}

type slice struct {
	Name, Class string
	Share       float64
	Ns          uint64
}

// tree is the conclusions of one piece of knowledge about a run, each below the one that it follows from.
type tree struct {
	diagnosis.Applied
	Roots    []*branch
	Rejected []*branch
}

type branch struct {
	diagnosis.Conclusion
	Children []*branch
}

// rejected tells whether nothing in the branch holds, or might.
func (b *branch) rejected() bool {
	return b.Verdict == "rejected" && !slices.ContainsFunc(b.Children, func(c *branch) bool { return !c.rejected() })
}

// Open tells whether the branch is to be seen at once.
func (b *branch) Open() bool { return b.Followed }

// Write writes the page.
func Write(out io.Writer, p Page) error {
	css, err := embedded.ReadFile("page.css")
	if err != nil {
		return err
	}
	js, err := embedded.ReadFile("page.js")
	if err != nil {
		return err
	}
	if p.Overview == nil && len(p.Variants) > 0 {
		p.Overview = &p.Variants[0].Overview
	}
	d := build(p)
	data, err := json.Marshal(d) // this one writes <, > and & as escapes, which the page relies on
	if err != nil {
		return err
	}
	v := view{Page: p, CSS: template.CSS(css), JS: template.JS(js), Data: template.JS(data), Paths: len(d.Nodes), Shaded: d.shaded,
		CoreTime: float64(p.Run.CoreTime()) / 1e9, Printed: d.longest(40), LastRank: p.Run.Ranks - 1}
	if p.Against != nil {
		v.AgainstName = p.Against.A.Name
	}
	for _, h := range p.Run.Hosts {
		v.Cores += h.Cores
	}
	c := p.Run.Core
	for _, s := range []slice{{"useful", "useful", 0, c.Useful}, {"in MPI", "mpi", 0, c.MPI - min(c.MPI, c.Waited)},
		{"waiting for a core", "off", 0, c.OffCore + c.Waited}, {"recording off", "paused", 0, c.Paused}, {"Marple", "own", 0, c.Own}} {
		if s.Share = float64(s.Ns) / float64(max(c.Wall, 1)); s.Ns > 0 {
			v.Wall = append(v.Wall, s)
		}
	}
	for _, f := range p.Figures {
		if f.SVG == nil {
			v.Unmodelled = append(v.Unmodelled, f)
			continue
		}
		v.Pictures = append(v.Pictures, f.picture())
	}
	v.Findings = p.Run.Findings
	if p.Diagnosis != nil {
		for _, a := range p.Diagnosis.Models {
			t := tree{Applied: a}
			for _, root := range grow(a.Conclusions) {
				if root.rejected() {
					t.Rejected = append(t.Rejected, root)
				} else {
					t.Roots = append(t.Roots, root)
				}
			}
			v.Levels = append(v.Levels, t)
		}
	}
	if p.Overview != nil {
		v.Waits = p.Overview.longestWaits(p.Run, 40)
	}
	if p.Run.Selection != nil {
		for _, f := range p.Run.Selection.Fronts {
			v.Fronts = append(v.Fronts, draw(f))
		}
	}
	return templates().ExecuteTemplate(out, "page.html", v)
}

// inMPI is a rank's time in MPI, and noCore that without a core, wherever.
func inMPI(b run.RankBalance) uint64  { return b.MPI - min(b.MPI, b.Waited) }
func noCore(b run.RankBalance) uint64 { return b.OffCore + b.Waited }

// grow puts each conclusion below the first one that it follows from, or would.
func grow(list []diagnosis.Conclusion) (roots []*branch) {
	known := map[string]*branch{}
	for _, c := range list {
		b := &branch{Conclusion: c}
		parent := (*branch)(nil)
		for _, id := range c.From {
			if parent = known[id]; parent != nil {
				break
			}
		}
		if parent == nil {
			roots = append(roots, b)
		} else {
			parent.Children = append(parent.Children, b)
		}
		known[c.ID] = b
	}
	return roots
}

// data is what the scripts draw.
type data struct {
	Ranks  int        `json:"ranks"`
	Core   uint64     `json:"core"`
	Names  []string   `json:"names"`
	Kinds  []string   `json:"kinds"`
	Nodes  [][]any    `json:"nodes"` // parent, id, name, site, kind, exclusive, inclusive, calls, bytes, pruned, ranks that have it
	Shares [][]uint64 `json:"shares"`
	// Balance of a rank: rank, useful, MPI, off core, paused, Marple, calls, bytes sent, bytes received.
	Balance [][]uint64 `json:"balance"`
	Hosts   []int      `json:"hosts"` // of each rank of Balance: index into Names
	Ended   []int      `json:"ended"`
	Peers   [][]uint64 `json:"peers"`  // rank, peer, messages, bytes
	Events  [][]any    `json:"events"` // rank, thread, start, ns, name, region, peer, bytes
	More    int        `json:"more"`
	// Overview of the timeline; see Overview.
	Overview *overview         `json:"overview"`
	Variants []variant         `json:"variants,omitempty"`
	Lit      []byte            `json:"lit,omitempty"` // by lane and cell of the overview: a bit for each finding that is there
	Slices   *sliced           `json:"slices,omitempty"`
	Findings []found           `json:"findings"`
	Steps    *steps            `json:"steps,omitempty"`
	Against  *against          `json:"against,omitempty"`
	Sources  map[string]Source `json:"sources,omitempty"`

	index  map[string]int
	shaded string
}

type overview struct {
	Ns    int64     `json:"ns"`
	Per   int       `json:"per"` // ranks of a lane
	Cells int       `json:"cells"`
	Cell  []byte    `json:"cell"`  // by lane and cell; see Overview.bytes
	Waits [][]int64 `json:"waits"` // rank, for, start, ns, pattern, id of the path: both index into Names
	Parts [][]int64 `json:"parts"` // of the critical path: rank, from, to
	Whole bool      `json:"whole"` // these are all parts
}

type variant struct {
	Finding int    `json:"finding"`
	Ns      int64  `json:"ns"`
	Cells   int    `json:"cells"`
	Cell    []byte `json:"cell,omitempty"` // of the first one in Overview
}

type sliced struct {
	Count int       `json:"count"`
	Of    [][]int64 `json:"of"` // by lane and stretch, of each path: index into Nodes or -1, whether it is a call, ns, ns of it waiting
}

type found struct {
	Nodes []string `json:"nodes"`
	Ranks []int    `json:"ranks"`
}

type steps struct {
	Findings []part       `json:"findings"`
	Rows     [][3]float64 `json:"rows"` // seconds, parallel efficiency, load balance; the first finding's part rises fastest
	Cored    bool         `json:"cored"`
}

type part struct {
	Finding int       `json:"finding"`
	Steps   []float64 `json:"steps"`
}

type against struct {
	Name string             `json:"name"`
	Own  map[string]float64 `json:"own"`  // by id: ns per rank by which this run takes longer there
	Gone [][2]any           `json:"gone"` // call paths of the other run only, and their ns
}

type row struct {
	Path     string
	Ns       uint64
	Share    float64
	Calls    uint64
	Most     uint64
	MostRank int32
}

func (d *data) name(s string) int {
	if i, ok := d.index[s]; ok {
		return i
	}
	d.index[s] = len(d.Names)
	d.Names = append(d.Names, s)
	return len(d.Names) - 1
}

func build(p Page) *data {
	r := p.Run
	d := &data{Ranks: r.Ranks, Core: r.Core.Wall, Names: []string{}, Nodes: [][]any{}, Shares: [][]uint64{}, Balance: [][]uint64{}, Hosts: []int{}, Ended: []int{},
		Peers: [][]uint64{}, Events: [][]any{}, More: p.More, index: map[string]int{}}
	for k := callgraph.KindNone; k <= callgraph.KindComponent; k++ {
		d.Kinds = append(d.Kinds, k.String())
	}
	pruned := d.prune(p)
	for _, root := range r.CallGraph {
		d.nodes(root, -1, pruned)
	}
	for _, b := range r.PerRank {
		d.Balance = append(d.Balance, []uint64{uint64(b.Rank), b.Useful, inMPI(b), noCore(b), b.Paused, b.Own, b.Calls, b.SentBytes, b.ReceivedBytes})
		d.Hosts = append(d.Hosts, d.name(b.Host))
		d.Ended = append(d.Ended, d.name(b.Ended))
	}
	for _, q := range r.Peers {
		d.Peers = append(d.Peers, []uint64{uint64(q.Rank), uint64(q.To), q.Sent + q.Puts + q.Gets, q.SentBytes + q.PutBytes + q.GetBytes})
	}
	for _, e := range p.Events {
		d.Events = append(d.Events, []any{e.Rank, e.Thread, e.Start, e.Ns, d.name(e.Name), e.Region, e.Peer, e.Bytes})
	}
	if o := p.Overview; o != nil {
		d.Overview = &overview{Ns: o.Ns, Per: o.PerLane, Cells: o.Cells, Cell: o.bytes(), Waits: [][]int64{}, Parts: [][]int64{}, Whole: o.MorePart == 0}
		for _, w := range o.Waits {
			d.Overview.Waits = append(d.Overview.Waits, []int64{int64(w.Rank), int64(w.For), w.Start, w.Ns, int64(d.name(strings.ReplaceAll(w.Pattern, "-", " "))), int64(d.name(w.Node))})
		}
		for _, part := range o.Critical {
			d.Overview.Parts = append(d.Overview.Parts, []int64{int64(part.Rank), part.From, part.To})
		}
	}
	d.replays(p)
	d.Sources = p.Sources
	if c := p.Against; c != nil {
		d.Against = &against{Name: c.A.Name, Own: map[string]float64{}, Gone: [][2]any{}}
		for i := range c.Places {
			if place := &c.Places[i]; place.Node[1] != "" {
				d.Against.Own[place.Node[1]] += math.Round(1e9 * place.Difference)
			} else if len(d.Against.Gone) < mostGone {
				d.Against.Gone = append(d.Against.Gone, [2]any{place.Label(), math.Round(1e9 * place.A)})
			}
		}
	}
	return d
}

// mostGone call paths of another run are told of.
const mostGone = 5

// replays adds what replays of the run tell.
func (d *data) replays(p Page) {
	for i, v := range p.Variants {
		x := variant{Finding: v.Finding, Ns: v.Ns, Cells: v.Cells}
		if i > 0 {
			x.Cell = v.bytes()
		} else {
			d.Lit = make([]byte, len(v.Cell))
			for at, c := range v.Cell {
				d.Lit[at] = c.Lit
			}
		}
		d.Variants = append(d.Variants, x)
	}
	d.Findings = []found{}
	for i := range p.Run.Findings[:min(len(p.Run.Findings), mostLit)] {
		f := &p.Run.Findings[i]
		x := found{Nodes: []string{}, Ranks: append([]int{}, f.Ranks...)}
		if f.Node != "" {
			x.Nodes = append(x.Nodes, f.Node)
		}
		if f.Remedy != nil {
			x.Nodes = append(x.Nodes, f.Remedy.Nodes...)
		}
		d.Findings = append(d.Findings, x)
	}
	if t := p.Steps; t != nil {
		d.Steps = &steps{Cored: t.Cored}
		for _, f := range t.Findings {
			d.Steps.Findings = append(d.Steps.Findings, part{f.Finding, f.Steps})
		}
		for _, r := range t.Rows {
			d.Steps.Rows = append(d.Steps.Rows, [3]float64{r.Seconds, r.Parallel, r.LoadBalance})
		}
	}
	if s := p.Slices; s != nil {
		at := map[string]int{}
		for i, n := range d.Nodes {
			at[n[1].(string)] = i
		}
		d.Slices = &sliced{Count: s.Count, Of: make([][]int64, len(s.Of))}
		for k, list := range s.Of {
			d.Slices.Of[k] = []int64{}
			for _, x := range list {
				node, known := at[x.Node]
				if !known {
					node = -1
				}
				call := int64(0)
				if x.Call {
					call = 1
				}
				d.Slices.Of[k] = append(d.Slices.Of[k], int64(node), call, x.Ns, x.Waiting)
			}
		}
	}
}

// prune lists the run's nodes that belong to no core of the component call graph.
func (d *data) prune(p Page) map[*run.Node]bool {
	out := map[*run.Node]bool{}
	if p.Core == (prune.Rule{}) {
		return out
	}
	g, err := graph.FromRun(p.Run)
	if err != nil || !g.Root.HasComponents() {
		return out
	}
	core := prune.Judge(g.Grouped().Root).Keep(p.Core)
	d.shaded = fmt.Sprintf("Shaded: branches that pruning leaves out (α %s, β %s); %s of the time is in what is left.",
		words.Percent(p.Core.Alpha), words.Percent(p.Core.Beta), words.Percent(core.Recovered))
	for _, branch := range core.Pruned {
		for _, n := range branch.CallPaths {
			n.Walk(func(n *run.Node, _ int) bool {
				out[n] = true
				return true
			})
		}
	}
	return out
}

func (d *data) nodes(n *run.Node, parent int, pruned map[*run.Node]bool) {
	me := len(d.Nodes)
	calls := uint64(0)
	if n.Calls != nil {
		calls = n.Calls.N
	}
	shade := 0
	if pruned[n] {
		shade = 1
	}
	d.Nodes = append(d.Nodes, []any{parent, n.ID, d.name(n.Name), d.name(n.Site), int(callgraph.ParseKind(n.Kind)), n.Exclusive.Sum, n.Inclusive.Sum, calls, n.Out + n.In, shade, n.Inclusive.N})
	shares := []uint64{}
	for _, s := range n.PerRank {
		shares = append(shares, uint64(s.Rank), s.Exclusive, s.Inclusive)
	}
	d.Shares = append(d.Shares, shares)
	for _, c := range n.Children {
		d.nodes(c, me, pruned)
	}
}

// longest are the paths with most time of their own, for those who cannot explore.
func (d *data) longest(most int) (rows []row) {
	order := make([]int, len(d.Nodes))
	for i := range order {
		order[i] = i
	}
	own := func(i int) uint64 { return d.Nodes[i][5].(uint64) }
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(own(b), own(a)) })
	for _, i := range order[:min(most, len(order))] {
		if own(i) == 0 {
			break
		}
		parts := []string{}
		for j := i; j >= 0 && d.Nodes[j][0].(int) >= 0; j = d.Nodes[j][0].(int) {
			parts = append(parts, d.Names[d.Nodes[j][2].(int)])
		}
		r := row{Path: strings.Join(parts, " in "), Ns: own(i), Share: float64(own(i)) / float64(max(d.Core, 1)), Calls: d.Nodes[i][7].(uint64)}
		if len(parts) == 0 {
			r.Path = d.Names[d.Nodes[i][2].(int)]
		}
		for s := d.Shares[i]; len(s) >= 3; s = s[3:] {
			if s[1] > r.Most {
				r.Most, r.MostRank = s[1], int32(s[0])
			}
		}
		rows = append(rows, r)
	}
	return rows
}

// front is a Pareto front, in a picture's coordinates.
type front struct {
	run.Front
	Dots  []dot
	Line  string
	Least string
	Most  string
	Low   string
	High  string
}

type dot struct {
	X, Y  float64
	Title string
}

// draw places the points of a front in a picture 600 by 240: time to the right, quality upwards.
func draw(f run.Front) front {
	out := front{Front: f}
	x, y := [2]float64{math.Inf(1), math.Inf(-1)}, [2]float64{math.Inf(1), math.Inf(-1)}
	for _, p := range f.Points {
		x = [2]float64{min(x[0], p.Time), max(x[1], p.Time)}
		y = [2]float64{min(y[0], p.Value), max(y[1], p.Value)}
	}
	at := func(v float64, r [2]float64, from, to float64) float64 {
		if r[1] <= r[0] {
			return (from + to) / 2
		}
		return from + (to-from)*(v-r[0])/(r[1]-r[0])
	}
	line := []string{}
	for _, p := range f.Points {
		changes := []string{}
		for name, implementation := range p.Changes {
			changes = append(changes, name+": "+implementation)
		}
		slices.Sort(changes)
		title := strings.Join(changes, ", ")
		if title == "" {
			title = "the best assembly"
		}
		d := dot{at(p.Time, x, 60, 560), at(p.Value, y, 200, 30), fmt.Sprintf("%s: %s, %s %.4g", title, words.Duration(p.Time), f.Quality, p.Value)}
		out.Dots = append(out.Dots, d)
		line = append(line, fmt.Sprintf("%.1f,%.1f", d.X, d.Y))
	}
	out.Line = strings.Join(line, " ")
	if len(f.Points) > 0 {
		out.Least, out.Most = words.Duration(x[0]), words.Duration(x[1])
		out.Low, out.High = fmt.Sprintf("%.4g", y[0]), fmt.Sprintf("%.4g", y[1])
	}
	return out
}

// List is the page that leads to several runs.
type List struct {
	Title  string
	Places []string // where the runs are
	Jobs   string   // address of the page on jobs; empty: there is none
	Filter string   // which of them are shown
	Error  string   // that the filter has
	Note   string
	Fields [][2]string // that a filter may ask for, with what they mean
	Sorts  []Sort
	Items  []Item
	// Figures are of all that are found: how they went, and scale.
	Figures []Figure
	Found   int // runs, of which Items are the first
	All     int
}

// Sort is a column by which the list can be sorted.
type Sort struct {
	Title, Link string
	Sorted      string // ascending or descending; empty: by another column
	Number      bool
}

// Item is one run of a list.
type Item struct {
	Key, Link string // Key: of a run that can be compared
	Name      string
	Error     string // why it cannot be shown
	Started   time.Time
	Ranks     int
	Wall      float64
	Parallel  float64
	Finding   string // the most expensive
	Share     float64
	Given     []string // parameters, with their values
}

// WriteList writes the page that leads to several runs.
func WriteList(out io.Writer, l List) error { return styled(out, "list.html", l) }

// Pictures are the figures, as the page has them.
func (l List) Pictures() (list []picture) {
	for _, f := range l.Figures {
		list = append(list, f.picture())
	}
	return list
}

// WriteComparison writes the page on two runs that report.Comparison has compared, with links to them, to the difference in the call graph, and to all.
func WriteComparison(out io.Writer, a, b, difference, back, text string) error {
	return styled(out, "compare.html", struct{ A, B, Difference, Back, Text string }{a, b, difference, back, text})
}

func styled(out io.Writer, name string, page any) error {
	css, err := embedded.ReadFile("page.css")
	if err != nil {
		return err
	}
	return templates().ExecuteTemplate(out, name, struct {
		Page any
		CSS  template.CSS
	}{page, template.CSS(css)})
}
