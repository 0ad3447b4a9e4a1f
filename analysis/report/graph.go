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
	w := &writer{r: r}
	w.line("%10s %6s %10s %10s %6s  %s", "inclusive", "", "exclusive", "calls", "ranks", "call path")
	for _, root := range r.CallGraph {
		whole := root.Inclusive.Sum
		left := 0
		var draw func(n *run.Node, depth int, lead, own string)
		draw = func(n *run.Node, depth int, lead, own string) {
			calls := ""
			if n.Calls != nil {
				calls = words.Number(n.Calls.N)
			}
			share := 0.0
			if whole > 0 {
				share = float64(n.Inclusive.Sum) / float64(whole)
			}
			fmt.Fprintf(w, "%10s %6s %10s %10s %6d  %s%s\n", words.Duration(float64(n.Inclusive.Sum)/1e9), words.Percent(share),
				words.Duration(float64(n.Exclusive.Sum)/1e9), calls, n.Exclusive.N, own, words.Clean(n.Name))
			var shown []*run.Node
			for _, c := range n.Children {
				if o.keep(c, depth+1, whole) {
					shown = append(shown, c)
				} else {
					left++
				}
			}
			for i, c := range shown {
				branch, below := "├─ ", "│  "
				if i == len(shown)-1 {
					branch, below = "└─ ", "   "
				}
				draw(c, depth+1, lead+below, lead+branch)
			}
		}
		draw(root, 0, "", "")
		if left > 0 {
			w.line("%s left out: below %s of the time%s", words.Count(uint64(left), "branch", "branches"), words.Percent(o.Least), deeper(o))
		}
	}
	return w.String()
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
			share := 0.0
			if whole > 0 {
				share = float64(n.Exclusive.Sum) / float64(whole)
			}
			shape := ""
			if n.Kind == callgraph.KindGap.String() {
				shape = ", shape=note"
			}
			fmt.Fprintf(&b, "  \"%s\" [label=%s, fillcolor=\"0.06 %.3f 1.0\"%s];\n", n.ID,
				quote(fmt.Sprintf("%s\ninclusive %s, exclusive %s", words.Clean(n.Name), words.Duration(float64(n.Inclusive.Sum)/1e9),
					words.Duration(float64(n.Exclusive.Sum)/1e9))), min(1, share), shape)
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
