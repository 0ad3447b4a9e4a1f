package prune

import (
	"fmt"
	"html"
	"strings"

	"marple/analysis/selection/graph"
	"marple/analysis/words"
)

// DOT is the whole call graph for Graphviz, with pruned branches shaded.
func (c *Core) DOT(g *graph.Graph) string {
	var b strings.Builder
	b.WriteString("digraph core {\n  node [shape=box, style=filled, fillcolor=\"#dbe9f6\", fontname=\"sans-serif\"];\n")
	number := 0
	var draw func(n *Node) int
	draw = func(n *Node) int {
		me := number
		number++
		shade := ""
		if !c.kept[n] {
			shade = `, fillcolor="#e6e6e6", color="#b0b0b0", fontcolor="#707070"`
		}
		fmt.Fprintf(&b, "  n%d [label=%s%s];\n", me, quote(words.Clean(n.Name)+"\n"+time(n.Inclusive, g.Unit)), shade)
		for _, child := range n.Children {
			below, edge := draw(child), ""
			if !c.kept[child] {
				edge = ` [color="#c0392b"]`
			}
			fmt.Fprintf(&b, "  n%d -> n%d%s;\n", me, below, edge)
		}
		return me
	}
	draw(c.Root)
	b.WriteString("}\n")
	return b.String()
}

// quote makes a DOT string.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}

// Sizes of the picture, in pixels.
const (
	boxWidth, boxHeight   = 168, 34
	stepRight, stepDown   = 212, 44
	margin, heading, most = 12, 40, 24 // most: characters of a name
)

// SVG is the whole call graph as a picture that grows to the right, with pruned branches shaded.
func (c *Core) SVG(g *graph.Graph) string {
	var edges, boxes strings.Builder
	rows, deepest := 0, 0
	var draw func(n *Node, depth int) (y int)
	draw = func(n *Node, depth int) int {
		deepest = max(deepest, depth)
		x := margin + depth*stepRight
		var below []int
		for _, child := range n.Children {
			below = append(below, draw(child, depth+1))
		}
		var y int
		if len(below) == 0 {
			y = heading + margin + rows*stepDown
			rows++
		} else {
			y = (below[0] + below[len(below)-1]) / 2
		}
		for i, child := range n.Children {
			fmt.Fprintf(&edges, "<path%s d=\"M%d %dC%d %d %d %d %d %d\"/>\n", c.class(child), x+boxWidth, y+boxHeight/2,
				x+boxWidth+22, y+boxHeight/2, x+stepRight-22, below[i]+boxHeight/2, x+stepRight, below[i]+boxHeight/2)
		}
		name := words.Clean(n.Name)
		fmt.Fprintf(&boxes, "<g%s><title>%s: %s, %s</title><rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"4\"/>"+
			"<text x=\"%d\" y=\"%d\">%s</text><text class=\"t\" x=\"%d\" y=\"%d\">%s, %s</text></g>\n",
			c.class(n), html.EscapeString(name), time(n.Inclusive, g.Unit), c.share(n), x, y, boxWidth, boxHeight,
			x+8, y+14, html.EscapeString(words.Fit(name, most)), x+8, y+28, time(n.Inclusive, g.Unit), c.share(n))
		return y
	}
	draw(c.Root, 0)
	w, h := 2*margin+deepest*stepRight+boxWidth, heading+2*margin+rows*stepDown
	title := fmt.Sprintf("Core at α %s, β %s: %s", percent(c.Rule.Alpha), percent(c.Rule.Beta), c.size())
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img">
<title>%s</title>
<style>
text{font:12px sans-serif;fill:#14324d}.t{font-size:10px}.h{font-size:14px}
rect{fill:#dbe9f6;stroke:#1f5c99}path{fill:none;stroke:#1f5c99;stroke-width:1.5}
.pruned rect{fill:#e6e6e6;stroke:#b0b0b0}.pruned text{fill:#707070}path.pruned{stroke:#c0392b;stroke-dasharray:4 3}
</style>
<rect width="%d" height="%d" style="fill:#fff;stroke:none"/>
<text class="h" x="%d" y="26">%s</text>
%s%s</svg>
`, max(w, 640), h, max(w, 640), h, title, max(w, 640), h, margin, title, edges.String(), boxes.String())
}

func (c *Core) class(n *Node) string {
	if c.kept[n] {
		return ""
	}
	return ` class="pruned"`
}
