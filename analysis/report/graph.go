package report

import (
	"fmt"
	"strings"

	"github.com/goccy/go-json"

	"marple/analysis/callgraph"
	"marple/analysis/run"
	"marple/analysis/words"
)

// GraphOptions choose what of a call graph is shown.
type GraphOptions struct {
	Least float64 // share of the whole time below which a path is left out
	Depth int     // below which paths are left out; 0: none
	Waits bool    // show what was waited for, and caused
}

// keep tells whether a node is shown.
func (o GraphOptions) keep(n *run.Node, depth int, whole uint64) bool {
	if o.Depth > 0 && depth > o.Depth {
		return false
	}
	return float64(n.Inclusive.Sum) >= o.Least*float64(whole)
}

// GraphText draws the call graph as a tree. Times are added up over ranks.
func GraphText(r *run.Run, o GraphOptions) string {
	w := &graphWriter{writer: writer{r: r}, o: o}
	w.columns = graphColumns
	if o.Waits {
		w.columns = waitsColumns
		w.sums = map[*run.Node]waitSum{}
		w.line("%9s %6s %9s %9s  %s", "inclusive", "", "waiting", "caused", "call path (called at)")
	} else {
		w.line("%9s %6s %11s  %s", "inclusive", "", "calls", "call path (called at)")
	}
	for _, root := range r.CallGraph {
		w.sum(root)
		w.whole, w.left = root.Inclusive.Sum, 0
		w.draw(root, 0, "", "")
		if w.left > 0 {
			w.block("", "", fmt.Sprintf("%s left out: below %s of the time%s", words.Count(uint64(w.left), "branch", "branches"), words.Percent(o.Least), deeper(o)))
		}
	}
	if o.Waits {
		w.block("", "", "waiting: for other ranks, within the inclusive time; caused: for how long others waited because ranks spent longer here than they did")
	} else if w.uncounted {
		w.block("", "", "? calls of functions are not counted, unless they are compiled with -finstrument-functions")
	}
	return w.String()
}

type graphWriter struct {
	writer
	o         GraphOptions
	whole     uint64
	left      int
	columns   int
	sums      map[*run.Node]waitSum
	uncounted bool
}

// columns before the call path.
const (
	graphColumns = 30
	waitsColumns = 38
)

// waitSum adds up a node and what is below it.
type waitSum struct{ waiting, caused uint64 }

func (w *graphWriter) sum(n *run.Node) waitSum {
	s := waitSum{n.Waiting, n.Caused}
	for _, c := range n.Children {
		below := w.sum(c)
		s.waiting, s.caused = s.waiting+below.waiting, s.caused+below.caused
	}
	if w.sums != nil {
		w.sums[n] = s
	}
	return s
}

func (w *graphWriter) numbers(first, last *run.Node) string {
	text := fmt.Sprintf("%9s %6s ", words.Duration(float64(first.Inclusive.Sum)/1e9), words.Percent(share(first.Inclusive.Sum, w.whole)))
	if !w.o.Waits {
		return text + fmt.Sprintf("%11s  ", w.calls(last))
	}
	time := func(ns uint64) string {
		if ns == 0 {
			return ""
		}
		return words.Duration(float64(ns) / 1e9)
	}
	s := w.sums[first]
	return text + fmt.Sprintf("%9s %9s  ", time(s.waiting), time(s.caused))
}

// draw writes a node and what is below it; own is what stands before it, lead what stands before its children.
func (w *graphWriter) draw(n *run.Node, depth int, lead, own string) {
	first, chain := n, []*run.Node{n}
	for passes(n) && w.o.keep(n.Children[0], depth+1, w.whole) {
		n = n.Children[0]
		chain = append(chain, n)
		depth++
	}
	numbers := w.numbers(first, n)
	for i, text := range w.labels(chain, width-w.columns-words.Width(visible(own))) {
		if i > 0 {
			numbers, own = strings.Repeat(" ", w.columns), lead
		}
		w.line("%s%s%s", numbers, visible(own), text)
	}
	for _, m := range n.Metrics {
		w.line("%s%s  %s %s", strings.Repeat(" ", graphColumns), visible(lead), m.Name, words.Number(uint64(max(0, m.Inclusive))))
	}
	if t := n.Team; t != nil {
		w.line("%s%s  %s", strings.Repeat(" ", graphColumns), visible(lead), threads(t))
	}
	var shown []*run.Node
	for _, c := range n.Children {
		if w.o.keep(c, depth+1, w.whole) {
			shown = append(shown, c)
		} else {
			w.left++
		}
	}
	for i, c := range shown {
		branch, below := "├ ", "│ "
		if i == len(shown)-1 {
			branch, below = "└ ", "  "
		}
		w.draw(c, depth+1, lead+below, lead+branch)
	}
}

// passes tells whether a function does nothing but call another one; the two are shown in one line.
func passes(n *run.Node) bool {
	return n.Kind == callgraph.KindFrame.String() && n.Calls == nil && len(n.Children) == 1 && n.Exclusive.Sum == 0
}

// visible is the part of the lines of a deep tree that there is room for.
func visible(lead string) string {
	const most = 24
	runes := []rune(lead)
	if len(runes) <= most {
		return lead
	}
	return "⋯ " + string(runes[len(runes)-most+2:])
}

func (w *graphWriter) calls(n *run.Node) string {
	switch {
	case n.Calls != nil:
		return words.Number(n.Calls.N)
	case n.Kind == callgraph.KindFrame.String():
		w.uncounted = true
		return "?"
	}
	return ""
}

// labels writes a chain of nodes in lines of at most width columns.
func (w *graphWriter) labels(chain []*run.Node, width int) []string {
	var lines []string
	line := ""
	if chain[0].Kind == callgraph.KindGap.String() {
		return words.Wrap(words.Clean(gapLabel(chain[0])), width)
	}
	for i, n := range chain {
		label := n.LabelIn(width - 2)
		if n.Kind == callgraph.KindGap.String() {
			label = words.Fit(gapLabel(n), width-2)
		} else if inlined := len(n.Inlined); inlined > 0 {
			label = words.Fit(label+" in "+words.Name(n.Inlined[0].Function, max(12, width-2-words.Width(label)-4)), width-2)
		}
		if int(n.Exclusive.N) != w.r.Measured && (i == 0 || n.Exclusive.N != chain[i-1].Exclusive.N) && n.Kind != callgraph.KindRoot.String() {
			ranks := fmt.Sprintf(" [%s]", words.Count(n.Exclusive.N, "rank", "ranks"))
			label = words.Fit(label, width-2-words.Width(ranks)) + ranks
		}
		switch {
		case i == 0:
			line = label
		case words.Width(line)+3+words.Width(label) <= width:
			line += " › " + label
		default:
			lines, line = append(lines, line), "› "+label
		}
	}
	return append(lines, line)
}

// gapLabel names computing; where it was sampled, with the functions that are inlined there and how sure that is.
func gapLabel(n *run.Node) string {
	text := n.Label()
	for _, i := range n.Inlined {
		text += " in " + i.Function
	}
	if n.Samples > 0 {
		text += ", " + words.Count(n.Samples, "sample", "samples")
	}
	return text
}

func share(part, whole uint64) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

func deeper(o GraphOptions) string {
	if o.Depth > 0 {
		return fmt.Sprintf(", or deeper than %d", o.Depth)
	}
	return ""
}

// prune copies a tree without what is not shown.
func prune(n *run.Node, depth int, whole uint64, o GraphOptions) *run.Node {
	out := *n
	out.Children = nil
	for _, c := range n.Children {
		if o.keep(c, depth+1, whole) {
			out.Children = append(out.Children, prune(c, depth+1, whole, o))
		}
	}
	return &out
}

// GraphJSON gives the trees of run.json's call_graph, without what is not shown.
func GraphJSON(r *run.Run, o GraphOptions) (string, error) {
	trees := []*run.Node{}
	for _, root := range r.CallGraph {
		trees = append(trees, prune(root, 0, root.Inclusive.Sum, o))
	}
	data, err := json.MarshalIndent(trees, "", " ")
	return string(data) + "\n", err
}

// GraphDOT gives the call graph for Graphviz; colour grows with exclusive time.
func GraphDOT(r *run.Run, o GraphOptions) string {
	var b strings.Builder
	b.WriteString("digraph callgraph {\n  node [shape=box, style=filled, fontname=\"sans-serif\"];\n")
	for _, root := range r.CallGraph {
		whole := root.Inclusive.Sum
		prune(root, 0, whole, o).Walk(func(n *run.Node, _ int) bool {
			shape := ""
			if n.Kind == callgraph.KindGap.String() {
				shape = ", shape=note"
			}
			fmt.Fprintf(&b, "  \"%s\" [label=%s, fillcolor=\"0.06 %.3f 1.0\"%s];\n", n.ID,
				quote(fmt.Sprintf("%s\ninclusive %s, exclusive %s", words.Clean(n.Label()), words.Duration(float64(n.Inclusive.Sum)/1e9),
					words.Duration(float64(n.Exclusive.Sum)/1e9))), min(1, share(n.Exclusive.Sum, whole)), shape)
			for _, c := range n.Children {
				fmt.Fprintf(&b, "  \"%s\" -> \"%s\";\n", n.ID, c.ID)
			}
			return true
		})
	}
	b.WriteString("}\n")
	return b.String()
}

// quote makes a DOT string.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}
