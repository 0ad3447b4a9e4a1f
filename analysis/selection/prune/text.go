package prune

import (
	"fmt"
	"strconv"
	"strings"

	"marple/analysis/selection/graph"
	"marple/analysis/words"
)

const (
	width      = 80
	mostPruned = 10 // branches listed in the text; the rest is counted
	mostSteps  = 30
	deepest    = 12 // levels drawn as a tree; of those below the number is told
)

type page struct{ strings.Builder }

func (p *page) line(format string, arguments ...any) {
	p.WriteString(words.Fit(strings.TrimRight(fmt.Sprintf(format, arguments...), " "), width) + "\n")
}

// time prints a time of a unit in seconds, or just the number where the unit is not known.
func time(x, unit float64) string {
	switch {
	case unit > 0:
		return words.Duration(x * unit)
	case x == float64(uint64(x)) && x < 1e12:
		return words.Number(uint64(x))
	}
	return strconv.FormatFloat(x, 'g', 4, 64)
}

// Text is the core as a tree, and what was pruned, and why.
func (c *Core) Text(g *graph.Graph) string {
	p := &page{}
	p.line("Core at α %s, β %s: %s", percent(c.Rule.Alpha), percent(c.Rule.Beta), c.size())
	if g.By == graph.Method {
		what := "by component and method"
		if c.OfComponents == 0 {
			what = "by name"
		}
		p.line("%s (--by method), of %s", what, words.Count(uint64(g.Paths), "call path", "call paths"))
	} else if g.Ranks > 0 {
		p.line("by call path (--by path)")
	}
	p.line("%s", strings.Repeat("─", width))
	p.line("%10s %6s  %s", "inclusive", "share", "call graph")
	var draw func(n *Node, depth int, lead, own string)
	draw = func(n *Node, depth int, lead, own string) {
		p.line("%10s %6s  %s", time(n.Inclusive, g.Unit), c.share(n), own+words.Clean(n.Name))
		var shown []*Node
		for _, child := range n.Children {
			if c.kept[child] {
				shown = append(shown, child)
			}
		}
		for i, child := range shown {
			branch, below := "├─ ", "│  "
			if i == len(shown)-1 {
				branch, below = "└─ ", "   "
			}
			if depth >= deepest {
				branch, below = fmt.Sprintf("… %d: ", depth+1), ""
			}
			draw(child, depth+1, lead+below, lead+branch)
		}
	}
	draw(c.Root, 0, "", "")
	for i, n := range c.Pruned {
		switch i {
		case 0:
			p.line("")
			p.line("%10s %6s  %-9s branch (α: it and its siblings in the parent's", "pruned", "share", "fails")
			p.line("%10s %6s  %-9s time; β: it to the mean of it and its siblings)", "", "", "")
		case mostPruned:
			p.line("%10s %6s  %-9s %s", "", "", "", words.Count(uint64(len(c.Pruned)-i), "more branch", "more branches"))
		}
		if i < mostPruned {
			p.line("%10s %6s  %-9s %s", time(n.Inclusive, g.Unit), c.share(n), c.fails(n), words.Clean(n.Name+" in "+n.Of.Name))
		}
	}
	for _, note := range g.About() {
		p.line("")
		for _, line := range words.Wrap(note+".", width) {
			p.line("%s", line)
		}
	}
	return p.String()
}

func (c *Core) size() string {
	components := ""
	if c.OfComponents > 0 {
		components = fmt.Sprintf(" and %d of %s", c.Components, words.Count(uint64(c.OfComponents), "component", "components"))
	}
	return fmt.Sprintf("%d of %s%s, %s of the time", c.Nodes, words.Count(uint64(c.OfNodes), "node", "nodes"), components,
		words.Percent(c.Recovered))
}

func (c *Core) share(n *Node) string {
	if c.Root.Inclusive == 0 {
		return "-"
	}
	return words.Percent(n.Inclusive / c.Root.Inclusive)
}

// fails is the part of the rule that pruned a branch, and what was compared with the threshold.
func (c *Core) fails(n *Node) string {
	if c.ByAlpha(n) {
		return "α " + percent(n.Share)
	}
	return "β " + percent(n.Ratio)
}

// percent prints thresholds and what is compared with them, with enough digits to see the difference.
func percent(x float64) string { return strconv.FormatFloat(100*x, 'g', 3, 64) + " %" }

// SweepText is a sweep as a table.
func SweepText(steps []Step, along Along) string {
	p := &page{}
	name := map[Along]string{Both: "α = β", Alpha: "α", Beta: "β"}[along]
	p.line("The core for every threshold %s; the last column leaves above it", name)
	p.line("%s", strings.Repeat("─", width))
	p.line("%10s %7s %10s %9s  %s", "up to", "nodes", "components", "recovered", "then without")
	for i, s := range steps {
		if i == mostSteps && len(steps) > mostSteps+1 {
			p.line("%10s … %s", "", words.Count(uint64(len(steps)-i), "more step", "more steps"))
			break
		}
		p.line("%10s %7d %10d %9s  %s", percent(s.UpTo), s.Nodes, s.Components, percent(s.Recovered), few(s.Leaving, width-41))
	}
	return p.String()
}

// few lists as many names as there is room for, and counts the others.
func few(names []string, room int) string {
	text := words.Clean(strings.Join(names, ", "))
	for n := len(names) - 1; n > 0 && words.Width(text) > room; n-- {
		text = words.Clean(strings.Join(names[:n], ", ")) + fmt.Sprintf(" and %d more", len(names)-n)
	}
	return text
}
